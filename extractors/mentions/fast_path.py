"""Read clean ARKs, whole among plain characters, by one pattern instead of step by step.

Most ARKs of most documents are clean. The result equals that of the full reader
(`extractors.mentions.mention_reader`) in every field; any doubtful case is left to it.
"""

from __future__ import annotations

import re

from extractors.mentions.endings import (
    LETTER_FOR_ZERO,
    ends_and_doubts,
    is_plain,
    marked_text,
    may_end_in_digits,
    start_of_no_ark,
)
from extractors.mentions.labels import label_signs
from extractors.mentions.mention import Mention
from extractors.mentions.mention_reader import CONTEXT_CHARS
from extractors.mentions.open_ends import GUTTER_CHARS, interruptions_of, may_go_on_below
from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter, Zones
from extractors.model.documents import Block, Role
from extractors.model.offset_map import RIGHT_TO_LEFT
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

_CHAR = "[0-9A-Za-z=~+_]"
#: The label and an ARK in normal form, except for single hyphens in its name; it ends in a letter or digit.
_ARK = rf"""
    ark:/?
    (?P<chars>
        (?P<naan> [0-9]{{5}} )
        / (?P<name> {_CHAR}++ (?: (?<=[0-9A-Za-z]) - (?=[0-9A-Za-z]) {_CHAR}++ )*+ )
        (?P<qualifier> (?: / {_CHAR}++ )*+ (?: \. {_CHAR}++ )*+ )
        (?<= [0-9A-Za-z] )
    )
    """
_RESOLVER = r"https?://[0-9A-Za-z.-]++/(?:[0-9A-Za-z.~-]++/)*+"
#: A value that consists of one ARK, bare or in its URL: ``https://n2t.net/ark:/12148/btv1b84``.
_VALUE = re.compile(rf"(?P<resolver> {_RESOLVER} )? {_ARK} \Z", re.VERBOSE)
_LONGEST_VALUE = 300

#: Visible characters, except ``%``, ``&`` and the backslash, which begin escapes.
_VISIBLE = r"[!-$'-\[\]-~\xa1-\xac\xae-\u02ff\u0370-\u058f\u2010-\u2027\u4e00-\u9fff]"
#: The end of an ARK without doubt: an optional period, then a bracket, a quote, a blank, a comma before a non-digit, an
#: empty line, or another ARK or URL on the next line.
_END = rf"""
    \.?
    (?: [ ]{{1,40}} (?= {_VISIBLE} )
      | [)\]}}>|;`"'<]
      | , (?= [ \r\n] | [!-$'-.:-\[\]-~] | \Z )
      | [:!] (?: \Z | [ ]{{1,40}} (?= {_VISIBLE} ) )
      | (?P<paragraph> [ ]{{0,40}} \r?\n [ ]{{0,40}} (?: \r?\n [ ]{{0,40}} ){{1,4}} ) (?= {_VISIBLE} )
      | [ ]{{0,40}} \r?\n [ ]{{0,40}} (?P<another> https?: | ark: )
      | \Z
    )
    """
_CLEAN = re.compile(_ARK + _END, re.VERBOSE)
_BEFORE_LABEL = re.compile(rf"{_RESOLVER}\Z")
_WITHIN_LINE = re.compile(r"[^\n\f]{8}\Z")
_LONGEST_RESOLVER = 300
#: Characters that separate a resolver from the text before it.
_BEFORE_RESOLVER = frozenset(" \n\"<>'")
#: The same, with characters in between that begin no URL or label: ``(see=https://…``, cells of a row.
_APART = re.compile(r"(?:\A|[ \n\"<>'])[0-9B-Zb-z.,;()\[\]=|]{1,40}\Z")
_APART_CHARS = 42
#: Characters that separate a label from the text before it and don't mark a quoted line.
_BEFORE_COMPACT = frozenset("\"'(<[=,`")
#: Characters after which a blank separates it, too. (After a hyphen or slash, a line may continue; ``>`` and ``#`` may
#: mark a quoted line.)
_BEFORE_BLANK = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,:()'\"]")
_MOST_BLANKS = 40

#: Characters before a colon that are not a k, can't be between a k and its colon, and don't mark a quoted line. A b
#: ends the escape of a k.
_NOT_K = frozenset("\"'()[]{}<,.!?=~@$^`+:_bB")
_LETTERS_AND_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_NOT_R = _LETTERS_AND_DIGITS - frozenset("rR")
_NOT_A = _LETTERS_AND_DIGITS - frozenset("aA")
_NOT_K_BEFORE_BLANK = (_LETTERS_AND_DIGITS - frozenset("kK")) | frozenset(".,)")
#: The end of mark, park and bookmark, before a colon without a NAAN. (``ARKark:/12148/x5`` has a label after another
#: ark.)
_LAST_OF_WORDS = frozenset(("ar", "AR"))
_BEHIND_LABEL = frozenset("/0123456789")
_BLANKS = frozenset(" \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}")
#: In ASCII: the first characters of escapes, the signs of ARKs in file names, a form feed, and an escape.
_ASCII_HINTS = ("%", "&", "\\", "_", "+", "\f", "\x1b")
#: Characters that repairing decodes or removes, so that a label appears, and the signs of ARKs in file names. The set
#: excludes characters that repairing doesn't change: plain ASCII, and letters that are visible and not full-width.
_MAY_HIDE = re.compile(
    "[^\t\n\r -$'-\\[\\]-~\xa0-\xac\xae-\u02ff\u0370-\u058f\u1e00-\u1fff\u2010-\u2027\u202f-\u205e\u20a0-\u20bf"
    "\u2190-\u22ff\u3001-\u303f\u3041-\u30ff\u4e00-\u9fff]|[kK](?:/?\\+|_)"
)


def clean_value(block: Block, zones: Zones) -> Mention | None:
    """Return the mention in a *block* that is only an ARK, such as a link target; None in any doubt.

    >>> clean_value(Block("https://n2t.net/ark:/12148/btv1b842", Role.LINK_TARGET), Zones())
    <Mention ark:12148/btv1b842, certain>
    >>> clean_value(Block("ark:/12148/btv1b842?info", Role.LINK_TARGET), Zones())
    """
    text = block.text
    if len(text) > _LONGEST_VALUE or (match := _VALUE.match(text)) is None:
        return None
    if block.seams or block.page_breaks or (block.page is not None and block.role is Role.TEXT):
        return None
    if block.following or block.is_recognized:
        return None
    ark = _ark(block, match, 0, zones)
    if ark is None:
        return None
    resolver = match["resolver"]
    return Mention(
        ark, text, ((0, len(text)),), text, resolver, "", block.role, block.page, block.place, text, (),
        Confidence.CERTAIN, Reason.COMPLETE, (), "", block.link_at(len(resolver or "")),
    )  # fmt: skip


def clean_mention(block: Block, label_start: int, start: int, end: int, zones: Zones) -> Mention | None:
    """Return the mention with its label at *label_start*; None unless the text from *start* to *end* shows it is clean.

    >>> text = "see https://n2t.net/ark:/12148/btv1b842, a scan"
    >>> clean_mention(Block(text), 20, 0, len(text), Zones())
    <Mention ark:12148/btv1b842, certain>
    >>> clean_mention(Block("ark:/12148/btv1b842-\\n49691v"), 0, 0, 26, Zones())
    """
    text = block.text
    if not text.startswith("ark:", label_start):
        return None
    match = _CLEAN.match(text, label_start, end)
    if match is None or (match.end() + 2 > end and end < len(text)):
        return None
    if label_start and text[label_start - 1] == "/":
        mention_start = _resolver_start(text, label_start)
        if mention_start < 0:
            return None
        resolver = text[mention_start:label_start]
    elif _stands_apart(text, label_start):
        mention_start, resolver = label_start, None
    else:
        return None
    ark_end = match.end("chars")
    if (mention_start - 2 < start and start) or (block.page is not None and not _may_be_on_page(block, match)):
        return None
    if block.is_recognized or (block.following and block.is_blank_after(ark_end)):
        return None
    if block.seams or (
        block.page_breaks and any(mention_start < page_break < ark_end for page_break in block.page_breaks)
    ):
        return None
    if match["paragraph"] and may_go_on_below(text, ark_end):
        return None
    is_at_line_end = match["paragraph"] or not _WITHIN_LINE.search(
        text, max(0, mention_start - GUTTER_CHARS), mention_start
    )
    if is_at_line_end and mention_start and interruptions_of(block):
        return None
    ark = _ark(block, match, mention_start, zones)
    if ark is None:
        return None
    as_written = text[mention_start:ark_end]
    return Mention(
        ark, as_written, ((mention_start, ark_end),), as_written, resolver, "", block.role,
        block.page_at(mention_start), block.place, block.context(mention_start, ark_end), (), Confidence.CERTAIN,
        Reason.COMPLETE if match["another"] is None else Reason.ENDS_BEFORE_IDENTIFIER, (), "", block.link_at(label_start),
    )  # fmt: skip


def holds_no_label(text: str) -> bool:
    """Return True if *text* certainly contains no label.

    >>> holds_no_label("The Ark of Noah, a mark: dark:blue, a work: 3, Park/Lane")
    True
    >>> any(map(holds_no_label, ["an ark:/12148/x5", "ar-\\n  k:/12148/x5", "ar%6B%3A", "ar&shy;k :"]))
    False
    """
    has_signs = False
    for sign in label_signs(text):
        if text[sign] != ":" or not is_no_label(text, sign):
            return False
        has_signs = True
    return not (has_signs and has_hints(text) and may_hide_label(text, 0, len(text)))


def is_no_label(text: str, sign: int) -> bool:
    """Return True if the colon at *sign*, one of `label_signs`, is certainly not the colon of a label.

    Valid only for a text without hidden labels (`may_hide_label`).

    >>> from extractors.mentions.labels import label_signs
    >>> text = "A (list): link: a mark: an ark : that ark: now"
    >>> [is_no_label(text, at) for at in label_signs(text)]
    [True, True, True, False, False]
    """
    previous_char = text[sign - 1]
    if previous_char in _NOT_K:
        return True
    if previous_char in "kK":
        word = text[max(0, sign - 4) : sign - 1]
        if len(word) < 3:
            return len(word) < 2  # at the beginning of the text
        if word[2] in _NOT_R or (word[2] in "rR" and word[1] in _NOT_A):
            return True
        is_another_word = word[1:] in _LAST_OF_WORDS and word[0] in _NOT_K_BEFORE_BLANK and word[0].isalpha()
        return is_another_word and text[sign + 1 : sign + 2] not in _BEHIND_LABEL
    if previous_char in _BLANKS:
        char_before = text[sign - 2] if sign > 1 else ""
        return char_before in _NOT_K_BEFORE_BLANK or (char_before > "\x7f" and char_before.isalpha())
    return previous_char > "\x7f" and previous_char.isalpha()


def has_hints(text: str) -> bool:
    """Return True if *text* contains any character that `may_hide_label` looks for."""
    return not text.isascii() or any(hint in text for hint in _ASCII_HINTS)


def may_hide_label(text: str, start: int, end: int) -> bool:
    """Return True if repairing the text between *start* and *end* might reveal labels that have no sign there.

    >>> may_hide_label("an ARK", 0, 6), may_hide_label("ar%6B:/12148/x5", 0, 15), may_hide_label("ark_ab123_x5", 0, 12)
    (False, True, True)
    """
    return _MAY_HIDE.search(text, start, end) is not None


def _ark(block: Block, match: re.Match[str], mention_start: int, zones: Zones) -> Ark | None:
    """Return the ARK of *match* in a mention that begins at *mention_start*; None in any doubt.

    There is doubt if the ARK includes a label, is a shoulder, fails its check, or a row of `ENDINGS` applies.
    """
    chars, naan, name, qualifier = match.group("chars", "naan", "name", "qualifier")
    if "ark" in chars.lower() or LETTER_FOR_ZERO.search(name):
        return None
    ark = Ark(naan, name.replace("-", ""), qualifier)
    check = zones.check(ark)
    if zones.is_shoulder(ark) or check is CheckCharacter.FAILS:
        return None
    ark_start, ark_end = match.span("chars")
    if is_plain(chars, block.text, ark_end) and not may_end_in_digits(ark, check):
        return ark
    text, start = marked_text(block, mention_start, block.text[mention_start:ark_start], chars, block.text, ark_end)
    if start_of_no_ark(block, text, start) is not None:
        return None
    return None if any(ends_and_doubts(block, text, start, ark, zones)) else ark


def _resolver_start(text: str, label_start: int) -> int:
    """Return the offset at which the resolver before *label_start* begins; -1 in any doubt."""
    start = text.rfind("http", max(0, label_start - _LONGEST_RESOLVER), label_start)
    if start < 0 or _BEFORE_LABEL.match(text, start, label_start) is None:
        return -1
    if start == 0 or text[start - 1] in _BEFORE_RESOLVER or _APART.search(text[max(0, start - _APART_CHARS) : start]):
        return start
    return -1


def _stands_apart(text: str, label_start: int) -> bool:
    """Return True if the label at *label_start* certainly has no resolver before it, in its line or the line before."""
    if not label_start:
        return True
    previous_char = text[label_start - 1]
    if previous_char in _BEFORE_COMPACT:
        return True
    if previous_char not in " \n":
        return False
    if text[label_start - 2 : label_start - 1] in _BEFORE_BLANK and previous_char == " ":
        return True
    text_before = text[max(0, label_start - _MOST_BLANKS) : label_start].rstrip(" \r\n")
    # It may be escaped twice.
    is_slash = text_before[-2:] in ("2f", "2F") and text_before[:-1].rstrip("25")[-1:] in ("%", "")
    return text_before[-1:] in _BEFORE_BLANK and not is_slash


def _may_be_on_page(block: Block, match: re.Match[str]) -> bool:
    """Return True if *match* is neither at the end of its page nor before another label nor near right-to-left text."""
    if match["another"] is not None:
        return False
    if block.role is not Role.TEXT:
        return True
    near_range = max(0, match.start() - CONTEXT_CHARS), match.end() + CONTEXT_CHARS
    return match.end("chars") < len(block.text) and RIGHT_TO_LEFT.search(block.text, *near_range) is None
