"""The rules that decide whether an ARK continues after a line wrap; the first one that decides counts.

They are ordered by the strength of their evidence, measured on about ten thousand wraps of real typesetters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import regex

from extractors.model.ark import Ark
from extractors.model.check_characters import SHORTEST_CHECKED, CheckCharacter
from extractors.model.normalize import NotAnArk
from extractors.model.offset_map import UNSPACED
from extractors.wraps.evidence import Evidence, Fit, completes_word, kind_of
from extractors.wraps.reasons import Reason

# A line end in or after an ARK, and the decision about it.

_LEAD = regex.compile(rf"[[\p{{L}}\p{{Nd}}/.=_~%+@$*:-]--{UNSPACED}]*", regex.VERSION1)
_SENTENCE_END = regex.compile(r"(?<![.,;:!?'\"])[.,;:!?'\"]++\Z")
_DELIMITED = regex.compile(r"[/.=:?&][\p{L}\p{Nd}]")
#: Characters after which typesetters break URLs.
_BREAK_AFTER = "/.=_:~+@%&?-"
#: The maximum distance of lines that count as evidence.
NEAR_CHARS = 2500
NEAR_LINES = 12
#: The number of a line or item: ``12``, ``12.``, ``[012]``, ``12|``.
LINE_NUMBER = regex.compile(r"\s{0,40}[(\[]?(\d{1,4})(?:[.):\]]*(?:\s+|\Z)|[:|\]]\s*)")
#: The number or letter of an item in a list.
_ITEM = regex.compile(r"[ \t]{0,8}(?P<open>[(\[]?)(?P<item>\d{1,3}|[A-Za-z])(?P<close>[.)\]])[ \t]+(?=\S)")
#: A count and its unit in a list of records: ``18 leaves``.
_COUNTED = regex.compile(r"\s{0,40}\d{1,4}[ \t]+(\p{L}{2,40})")
_FEWEST_COUNTED = 3
#: The name of a field of data: ``key=…``, ``:date: …``.
_FIELD = regex.compile(r"[ \t]{0,8}(?:[\w.-]{1,80}[ \t]?=|:[\w-]{1,80}:[ \t])")
_FEWEST_LINES = 4
_LABEL_IN_LINE = regex.compile("ark:/?[0-9]{5}/[0-9A-Za-z]", regex.IGNORECASE)


class Confidence(IntEnum):
    """The confidence in a mention: that of its least certain decision."""

    AMBIGUOUS = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def token(self) -> str:
        """The value in the store and in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Wrap:
    """A line end where an ARK may end or continue."""

    left: str
    """The ARK read up to now, from the label on, without a hyphen at the wrap: ``ark:/12148/bpt6k10``."""
    right: str
    """The next token, up to a blank or a character that doesn't occur in ARKs."""
    hyphen: bool
    """True if a hyphen of any kind is directly before the wrap."""
    line_slack: float | None = None
    """Number of further characters that fit in the line; None if unknown."""
    beyond: str = ""
    """The text after the next token."""
    is_paged: bool = False
    """True if it is on a page, where the next text may be elsewhere visually."""
    is_continued: bool = False
    """True if a backslash at the end of the line continues it."""
    is_numbered: bool = False
    """True if a number at the beginning of the next line continues the numbers of the lines around it."""
    is_interrupted: bool = False
    """True if there is a page break, or the number of a line, between the lines (`Block.interruptions`)."""
    is_link_cut: bool = False
    """True if the link annotation of this text ends at the line end, too, as in viewers that link each line."""

    @property
    def next_part(self) -> str:
        """The next token without the punctuation that may end a sentence.

        >>> Wrap("ark:/12148/bpt6k10", "7371t).", hyphen=False).next_part
        '7371t'
        """
        return str(_SENTENCE_END.sub("", _LEAD.match(self.right)[0]))

    @property
    def ark(self) -> Ark | None:
        """The ARK if it ends at the line end, or None."""
        return ark_of(self.left)

    @property
    def joined_ark(self) -> Ark | None:
        """The ARK if it continues after the line end, or None."""
        return ark_of(self.left + self.next_part)

    @property
    def is_beyond_name(self) -> bool:
        """True if the line end is after the name: the ARK has the same name whether it ends or continues."""
        left, joined = self.ark, self.joined_ark
        return left is not None and joined is not None and left.name == joined.name

    @property
    def is_wrapped_again(self) -> bool:
        """True if the next token ends with its line, too, so that the name may continue on a third."""
        return self.right.endswith("-") or self.beyond.startswith("\n")

    @property
    def is_full(self) -> bool:
        """True if the line had no space left."""
        return self.line_slack is not None and self.line_slack <= 1

    @property
    def is_at_delimiter(self) -> bool:
        """True if the wrap is at a delimiter, where typesetters break URLs."""
        return self.left[-1:] in _BREAK_AFTER or _DELIMITED.match(self.right) is not None


@dataclass(frozen=True, slots=True)
class WrapDecision:
    """The decision whether the ARK continues, with its reason and confidence."""

    join: bool
    reason: Reason
    confidence: Confidence = Confidence.CERTAIN


def slack_in_text(text: str, at: int) -> float | None:
    """Return how much shorter the line that ends at *at* is than the longest line near it, in characters.

    None if there are too few lines, or all have one length, like items of a list. Lines without a blank don't count,
    because tools can't break a long word; but a longer ARK shows that the line of another had room.

    >>> slack_in_text("The quick brown fox\\njumps over\\nthe lazy dog and the\\nfoxes that are\\n", 30)
    10
    """
    before = text[max(0, at - NEAR_CHARS) : at].split("\n")
    after = text[at : at + NEAR_CHARS].split("\n")
    current = (before[-1] + after[0]).rstrip()
    near = (*before[-NEAR_LINES - 1 : -1], current, *after[1 : NEAR_LINES + 1])
    is_word = " " not in current.strip()
    lengths = [len(line.rstrip()) for line in near if " " in line.strip() or (is_word and _LABEL_IN_LINE.search(line))]
    if len(lengths) < _FEWEST_LINES or len(set(lengths)) == 1:
        return None
    return max(lengths) - len(current)


def is_numbered(text: str, at: int) -> bool:
    r"""Return True if the line after the break at *at* begins with the next number in the series of its neighbours.

    >>> text = "1. see it\n2. see ark:/12148/x5\n3. end"
    >>> is_numbered(text, text.index("\n3")), is_numbered("see ark:/12148/x5\n3 maps", 17)
    (True, False)
    """
    before = text[max(0, at - NEAR_CHARS) : at].split("\n")[-NEAR_LINES:]
    after = text[at : at + NEAR_CHARS].lstrip("\r").split("\n")[1 : NEAR_LINES + 1]
    numbers_before, (number, *numbers_after) = map(_line_number, before), [*map(_line_number, after)] or [None]
    if number is None:
        return False
    earlier, later = {*numbers_before}, {*numbers_after}
    if _line_number(before[-1]) == number - 1 or (number - 1 in earlier and number + 1 in later):
        return True
    if any(number - step in earlier and number + step in later for step in (5, 10)):
        return True
    if numbers_after[:2] == [number + 1, number + 2]:  # a column of numbers
        return True
    units = [counted[1] for line in (*before, *after) if (counted := _COUNTED.match(line))]
    return any(units.count(first[1]) >= _FEWEST_COUNTED for first in [_COUNTED.match(after[0])] if first)


def is_next_item(text: str, at: int) -> bool:
    r"""Return True if the line after the break at *at* begins the next item of a numbered list, or the next field.

    >>> text = "1. see\nark:/12148/x5.\n2. end"
    >>> is_next_item(text, text.index("\n2")), is_next_item("1. see ark:/12148/x5.\n3. end", 21)
    (True, False)
    """
    after = at + 1 + text.startswith("\r\n", at)
    *_, line = lines = text[max(0, at - NEAR_CHARS) : at].split("\n")
    if _FIELD.match(line) and _FIELD.match(text, after):
        return True
    following = _ITEM.match(text, after, at + NEAR_CHARS)
    if following is None:
        return False
    item = next(filter(None, map(_ITEM.match, reversed(lines))), None)
    marks = following["open"], following["close"]
    if item is None or (item["open"], item["close"]) != marks:
        return False
    here, there = item["item"], following["item"]
    if here.isdigit() and there.isdigit():
        return int(here) + 1 == int(there)
    return bool(chr(ord(here[0]) + 1) == there)


def _line_number(line: str) -> int | None:
    number = LINE_NUMBER.match(line)
    return int(number[1]) if number else None


@lru_cache(maxsize=256)
def ark_of(text: str) -> Ark | None:
    """Return the ARK of *text*, or None."""
    try:
        return Ark.parse(text)
    except NotAnArk:
        return None


# The rules.

_ARK_LIKE = regex.compile(r"[\p{L}\p{Nd}/.=_~%+@$*?-]|:[\p{L}\p{Nd}]")
_LIST_MARK = regex.compile(r"[-*\p{Pd}\N{BULLET}\N{MIDDLE DOT}]+\Z")
#: Letters and digits that are not Latin: directly after a Latin letter or digit, they belong to the sentence.
OTHER_SCRIPT = regex.compile(r"[\p{L}\p{Nd}--\p{Latin}--[0-9]]", regex.VERSION1)
_ALPHANUMERIC = regex.compile(r"[\p{L}\p{Nd}]")
NEW_IDENTIFIER = regex.compile(
    r"(?:[_*@=+~/]{0,2}\d{0,3}(?:https?|ftp|ark|doi|urn|hdl|info|isbn|issn|mailto):|http/[12]|[a-z][a-z0-9+-]{1,15}://|www\.|10\.\d{4,}/)",
    regex.IGNORECASE,
)
#: A date, a time or both: ``12.5.2023``, ``2023-05-01T10:00:00Z``, ``01/May/2023:10:00:00``, ``10:00``, ``1936/37``.
_DATE = regex.compile(
    r"(?:(?:\d{1,4}([./-])(?:\d{1,2}|\p{L}{3})\1\d{1,4}|\d{8}(?=T))(?:[T:]\d[\d:.]*+(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?|(?:1[0-9]|20)\d\d/\d\d)[.,;:)]*\Z"
)
#: A label with a beginning of a NAAN, and with its end. All NAANs of the registry have five characters.
_NAAN_ALONE = regex.compile(r"ark:/*([^/]*)\Z", regex.IGNORECASE)
_NAAN_COMPLETED = regex.compile(r"[0-9a-z]{5}/", regex.IGNORECASE)
_YEAR = regex.compile(r"(?:1[0-9]|20)\d\d[.,;:)]*\Z")
_NUMBER = regex.compile(r"\d+[/.,;:)]*\Z")
#: Longer than a year or a postal code.
_LONG_NUMBER = regex.compile(r"\d{6}")
#: A name whose length is known: a UUID, and a name of INIST.
_WHOLE_NAME = regex.compile(
    r"(?:(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|67375/[0-9B-Z]{3}-[0-9B-Z]{8}-[0-9B-Z])(?![0-9A-Za-z-])"
)
#: A person or record of FamilySearch; some have one more character.
_FAMILY_NAME = regex.compile(r"61903/[1-3]:[12]:[0-9A-Z]{4}-[0-9A-Z]{3,4}(?![0-9A-Za-z-])")
_PERSON = regex.compile(r"61903/[12]:1:[0-9A-Z]{4}-[0-9A-Z]{3,4}\Z")
_MIXED = regex.compile(r"(?=.*\d)(?=.*\p{L})")
#: The beginning of a file path in prose, not of an ARK.
_UNIX_PATH = regex.compile(
    r"/(?:bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)(?:/|\W*\Z)"
)
#: Consonants that begin no word.
_CONSONANTS = "(?i:[b-df-hj-np-tv-xz]{5})"
_NO_WORD = regex.compile(_CONSONANTS)
_DELIMITER_FIRST = regex.compile(rf"[/.=:_~@+][\p{{L}}\p{{Nd}}]|-(?:[A-Z]*\d|{_CONSONANTS})")
_SENTENCE_START = regex.compile(
    r"(?:\d{1,3}[.)]?)?\p{Lu}\p{Ll}|\d{1,3}(?=\p{Ll}*[aeiou])\p{Ll}{3,}\Z|\p{Lu}\p{L}*\d*\p{L}*[,;:]?\Z|(?:1[4-9]|20)\d\d[.,;:)]*\Z"
)
#: ``2nd`` and ``19th``, which are no part of a name.
_ORDINAL = regex.compile(r"\d{1,4}(?:st|nd|rd|th|er|ère|ème)(?![\p{L}\p{Nd}])")
_SCHEME = regex.compile(r"[a-z]+:", regex.IGNORECASE)
_NAME_PART = regex.compile(r"[\p{L}\p{Nd}=~*+@_$]*")
_CONSONANTS_ONLY = regex.compile(r"[b-df-hj-np-tv-xz]+\W*")
#: Small letters without a vowel: more are no abbreviation.
_LONGEST_ABBREVIATION = 4
_WORD = regex.compile(r"\p{L}++(?:['’-]\p{L}++)*+[.,;:!?)\]»”’\"']*+\Z")
_WRITTEN_PARTS = regex.compile(r"ark:/*[^/]*/+[^/.]*(?P<qualifier>.*)\Z", regex.IGNORECASE | regex.DOTALL)


def nothing_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left.isascii() and OTHER_SCRIPT.match(wrap.right):
        return WrapDecision(False, Reason.ENDS_BEFORE_OTHER_TEXT, Confidence.LIKELY)
    if not wrap.right or not _ARK_LIKE.match(wrap.right) or not _ALPHANUMERIC.search(wrap.right):
        is_clear = not wrap.is_paged and (_LIST_MARK.match(wrap.right) or not (wrap.right or wrap.beyond))
        return WrapDecision(False, Reason.ENDS_BEFORE_OTHER_TEXT, Confidence.CERTAIN if is_clear else Confidence.LIKELY)
    return None


def another_identifier(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if NEW_IDENTIFIER.match(wrap.right):
        return WrapDecision(
            False, Reason.ENDS_BEFORE_IDENTIFIER, Confidence.LIKELY if wrap.is_paged else Confidence.CERTAIN
        )
    return None


def no_name_yet(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    if wrap.ark:
        return None
    if wrap.joined_ark is not None and evidence.holds(str(wrap.joined_ark)):
        return _decision_elsewhere(wrap.joined_ark, evidence, join=True)
    naan = _NAAN_ALONE.match(wrap.left)
    if naan and not (_NAAN_COMPLETED.match(naan[1] + wrap.right)):  # a number, which belongs to no NAAN
        return WrapDecision(False, Reason.ENDS_BEFORE_NUMBER, Confidence.LIKELY)
    is_in_cell = wrap.beyond.startswith("\n") and _LONG_NUMBER.match(wrap.beyond, 1)  # "uva-lib." before "9270560"
    is_word = _WORD.match(wrap.right) and not _NO_WORD.match(wrap.right)
    if (is_word or _DATE.match(wrap.right)) and not (wrap.hyphen or is_in_cell):
        return WrapDecision(False, Reason.NO_NAME_BEFORE_WORD, Confidence.LIKELY)
    return WrapDecision(True, Reason.NO_NAME_YET, Confidence.LIKELY)


def whole_elsewhere(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined_ark
    if left is None or joined is None:
        return None
    ends = not wrap.is_link_cut and evidence.holds(str(left))
    goes_on = joined != left and evidence.holds(str(joined))
    if ends and goes_on:  # both are whole elsewhere, so that other evidence must decide
        return None
    if goes_on or (joined != left and not ends and wrap.is_wrapped_again and evidence.begins_whole_ark(str(joined))):
        return _decision_elsewhere(joined, evidence, join=True)
    if ends and not wrap.is_at_delimiter:
        return _decision_elsewhere(left, evidence, join=False)
    return None


def _decision_elsewhere(ark: Ark, evidence: Evidence, *, join: bool) -> WrapDecision:
    """Return the decision for *ark*, which is whole elsewhere: certain only with independent support."""
    confidence = Confidence.CERTAIN if evidence.supports(ark) else Confidence.LIKELY
    return WrapDecision(join, Reason.COMPLETE_ELSEWHERE, confidence)


def check_character_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined_ark
    if left is None or joined is None or left.name == joined.name:
        return None
    zones = evidence.zones
    match CheckCharacter.FAILS if zones.names_shoulder(left) else zones.check(left), zones.check(joined):
        case CheckCharacter.FAILS, CheckCharacter.PASSES:
            join, name = True, joined.name
        case CheckCharacter.PASSES, CheckCharacter.FAILS if not wrap.hyphen:
            join, name = False, left.name
        case _:
            return None
    # A piece may pass by chance: bpt6 does, and fails with the text of the next line.
    is_short = len(name) < SHORTEST_CHECKED
    if is_short and not join and wrap.is_wrapped_again:
        return None
    return WrapDecision(join, Reason.CHECK_CHARACTER, Confidence.LIKELY if is_short else Confidence.CERTAIN)


def numbering_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.is_numbered and not wrap.hyphen:
        return WrapDecision(False, Reason.ENDS_BEFORE_LINE_NUMBER, Confidence.AMBIGUOUS)
    return None


def date_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if _DATE.match(wrap.right) and not wrap.hyphen:
        return WrapDecision(False, Reason.ENDS_BEFORE_NUMBER, Confidence.LIKELY)
    return None


def shape_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined_ark
    if left is None or joined is None or left.name == joined.name:
        return None
    is_whole = _WHOLE_NAME.search(wrap.left) is not None
    both = wrap.left + (wrap.hyphen or lacks_hyphen(wrap)) * "-" + wrap.next_part
    if is_whole or _WHOLE_NAME.search(both) or (_FAMILY_NAME.search(both) and not _FAMILY_NAME.search(wrap.left)):
        return WrapDecision(not is_whole, Reason.NAME_SHAPE, Confidence.LIKELY)
    if _PERSON.search(wrap.left) and not _FAMILY_NAME.search(both):
        return WrapDecision(False, Reason.NAME_SHAPE, Confidence.LIKELY)
    match evidence.shapes.fit(left, kind=kind_of(joined)), evidence.shapes.fit(joined):
        case Fit.TOO_SHORT, Fit.FITS:
            return WrapDecision(True, Reason.NAME_SHAPE, Confidence.LIKELY)
        case Fit.FITS, Fit.TOO_LONG if not wrap.hyphen:
            return WrapDecision(False, Reason.NAME_SHAPE, Confidence.LIKELY)
    return None


def lacks_hyphen(wrap: Wrap) -> bool:
    """Return True if only a hyphen at the line end gives a name the length of its parts: ``KX9W``, ``TM2``."""
    others = (wrap.left, wrap.left + wrap.next_part)
    return any(
        shape.search(f"{wrap.left}-{wrap.next_part}") and not any(map(shape.search, others))
        for shape in (_WHOLE_NAME, _FAMILY_NAME)
    )


def qualifier_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    written = _WRITTEN_PARTS.match(wrap.left)
    if not written or not written["qualifier"]:
        return None
    completed = completes_word(written["qualifier"], wrap.next_part, evidence.qualifiers)
    if completed is None or (not completed and wrap.hyphen):
        return None
    return WrapDecision(completed, Reason.QUALIFIER_WORD, Confidence.LIKELY)


def hyphen_at_wrap(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    joins = wrap.hyphen or wrap.is_continued
    return WrapDecision(True, Reason.HYPHEN_AT_LINE_END, Confidence.LIKELY) if joins else None


def would_have_fitted(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    # In a narrow cell; a capital or digit begins a shelf mark or an ordinal.
    if wrap.left.endswith("/") and wrap.right[0].islower() and _MIXED.match(wrap.right) and wrap.beyond[:1] == "\n":
        return None
    blank = 2 if wrap.is_paged else 1  # on pages, character widths vary
    if wrap.line_slack is not None and wrap.line_slack >= blank + len(wrap.right):
        return WrapDecision(False, Reason.ENDS_IN_SHORT_LINE, Confidence.LIKELY)
    return None


def structure_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left.endswith(".") and wrap.right.startswith("."):
        return WrapDecision(False, Reason.ENDS_AT_DELIMITER, Confidence.LIKELY)
    if _UNIX_PATH.match(wrap.right):
        return WrapDecision(False, Reason.ENDS_BEFORE_PATH, Confidence.AMBIGUOUS)
    if _DELIMITER_FIRST.match(wrap.right) or (wrap.right.startswith("-") and "-" in wrap.left):
        return WrapDecision(True, Reason.DELIMITER_AT_LINE_START, Confidence.LIKELY)
    return None


def structure_before(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left.endswith(("=", "_")):
        return WrapDecision(True, Reason.DELIMITER_AT_LINE_END, Confidence.LIKELY)
    if wrap.left[-1:] not in "/.:+@":
        return None
    ends_sentence = wrap.left.endswith(".") and _SENTENCE_START.match(wrap.right)
    if ends_sentence or _WORD.match(wrap.right):
        return WrapDecision(False, Reason.ENDS_AT_DELIMITER, Confidence.LIKELY)
    if wrap.left.endswith(".") and _NUMBER.match(wrap.right) and not _is_digitless_before_long_number(wrap):
        return WrapDecision(False, Reason.ENDS_AT_DELIMITER, Confidence.LIKELY)
    if _YEAR.match(wrap.right):
        return WrapDecision(False, Reason.ENDS_AT_DELIMITER, Confidence.AMBIGUOUS)
    return WrapDecision(True, Reason.DELIMITER_AT_LINE_END, Confidence.LIKELY)


def word_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _WORD.match(wrap.right):
        return None
    if _CONSONANTS_ONLY.fullmatch(wrap.right) and (wrap.is_full or len(wrap.next_part) > _LONGEST_ABBREVIATION):
        return WrapDecision(True, Reason.CONSONANTS_FOLLOW, Confidence.AMBIGUOUS)
    return WrapDecision(False, Reason.ENDS_BEFORE_WORD, Confidence.LIKELY)


def mixed_token(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _MIXED.match(wrap.right):
        return None
    if _ORDINAL.match(wrap.right):
        return WrapDecision(False, Reason.ENDS_BEFORE_WORD, Confidence.LIKELY)
    return WrapDecision(
        True, Reason.LETTERS_AND_DIGITS_FOLLOW, Confidence.LIKELY if wrap.is_full else Confidence.AMBIGUOUS
    )


def _is_digitless_before_long_number(wrap: Wrap) -> bool:
    """Return True if a name without a digit is before a number that is longer than a year."""
    return bool(wrap.ark and not any(map(str.isdigit, wrap.ark.name)) and _LONG_NUMBER.match(wrap.right))


def number_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _NUMBER.match(wrap.right):
        return None
    if _is_digitless_before_long_number(wrap):
        return WrapDecision(True, Reason.NUMBER_FOLLOWS, Confidence.LIKELY)
    if _YEAR.match(wrap.right) or not wrap.is_full or wrap.is_interrupted:
        return WrapDecision(False, Reason.ENDS_BEFORE_NUMBER, Confidence.AMBIGUOUS)
    return WrapDecision(True, Reason.NUMBER_FOLLOWS, Confidence.AMBIGUOUS)


Rule = Callable[[Wrap, Evidence], WrapDecision | None]

#: In order: clear ends, the evidence of documents, check characters, shapes of names, and words.
RULES: tuple[Rule, ...] = (
    nothing_follows,
    another_identifier,
    no_name_yet,
    whole_elsewhere,
    check_character_decides,
    numbering_follows,
    date_follows,
    shape_decides,
    qualifier_decides,
    hyphen_at_wrap,
    would_have_fitted,
    structure_follows,
    structure_before,
    word_follows,
    mixed_token,
    number_follows,
)


def first_decision(rules: Iterable[Rule], wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    """Return the decision of the first of *rules* that makes one, or None."""
    return next((decision for rule in rules if (decision := rule(wrap, evidence)) is not None), None)


def decide(wrap: Wrap, evidence: Evidence) -> WrapDecision:
    """Return the decision whether the ARK continues after *wrap*, by the first rule that decides.

    >>> decide(Wrap("ark:/12148/bpt6k10", "7371t", hyphen=False), Evidence())
    WrapDecision(join=True, reason=<Reason.CHECK_CHARACTER: 'check-character'>, confidence=<Confidence.CERTAIN: 3>)
    >>> decide(Wrap("ark:/12148/bpt6k107371t", "and", hyphen=False), Evidence()).join
    False
    """
    no_evidence = WrapDecision(False, Reason.NO_EVIDENCE, Confidence.AMBIGUOUS)
    return first_decision(RULES, wrap, evidence) or no_evidence


def may_be_rest(following: str) -> bool:
    """Return True if a unit (a cell, a box, a paragraph) that begins like *following* may be the rest of a name.

    >>> [may_be_rest(unit) for unit in ("7371t", "7371t and more", "/f12.item", "0120339")]
    [True, True, True, True]
    >>> [may_be_rest(unit) for unit in ("Paris", "1902", "12 maps", "https://n2t.net/", "")]
    [False, False, False, False, False]
    """
    token, *more = following.split(maxsplit=1) or [""]
    part = str(_NAME_PART.match(token)[0])
    if _DELIMITER_FIRST.match(token):
        return not _UNIX_PATH.match(token)
    if not part or part == "ark" or _SCHEME.match(token) or (more and _DATE.match(token)):
        return False
    if _MIXED.match(part):
        return not _ORDINAL.match(token)
    return not more and part.isdecimal() and not _YEAR.match(token)
