"""The source of a page, made fit for libxml2: what it misreads, and what would take it too much time or memory."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from extractors.document_model import Block, Finding, Role
from extractors.readers.markup.page import APART
from extractors.readers.markup.targets import may_hold_ark

#: Every element takes memory, and a page may be nothing but tags.
MOST_TAGS = 1_000_000
#: libxml2 takes quadratic time over the attributes of one element: so many characters or quoted values are read.
MOST_PIECES = 4000

_XHTML = re.compile(r"<\?xml\s|<html[^<>]*\sxmlns", re.IGNORECASE)
_PROLOG_CHARS = 2000
_EMPTY_RAW_ELEMENT = re.compile(
    r"<(?P<tag>iframe|noembed|noframes|script|style|textarea|title|xmp)(?P<attributes>(?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)

#: In markup, no stretch of this length is without a tag's end but in long texts and values, and in tags too long.
_STRETCH = 8192
#: From this length on, a page is looked through for long tags in any case: values may hold ``>``.
_ALWAYS_FROM = 2**19
_PIECE = r"""(?:[^>"']|"[^"]*+"|'[^']*+')"""
_TAG_TO_LIMIT = re.compile(rf"<[a-z]{_PIECE}{{0,{MOST_PIECES}}}+", re.IGNORECASE)
#: A whole tag; or a comment or script, in which there are none. (Without IGNORECASE the long runs are read faster;
#: with it, [a-z] are these, too.)
_TAG = re.compile(
    r"""
    <(?: !-- [^-]*+ (?: -(?!->) [^-]*+ )*+ (?: --> )?
       | (?P<raw> (?i: script | style ) )\b [^<]*+ (?: <(?! / (?i: (?P=raw) )\b ) [^<]*+ )*+ (?: </ (?i: (?P=raw) ) )?
       | (?P<tag> [a-zA-Z\u0130\u0131\u017F\u212A] (?: [^>"']++ | "[^"]*+" | '[^']*+' )*+ )
    )
    """,
    re.VERBOSE,
)
_REST_OF_TAG = re.compile(rf"{_PIECE}*+")

# XML can't spell most control characters; they travel as noncharacters, which no text holds.
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f]|&#(?:0*([1-9]|[12][0-9]|3[01])|[xX]0*([1-9a-fA-F]|1[0-9a-fA-F]));")
_STAND_IN = 0xFDD0
CONTROLS = {_STAND_IN + code: code for code in range(32)}
"""To be translated back when the page has been parsed."""

_TAG_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)")
#: Elements that can't nest in themselves, or hold nothing.
_NOT_NESTED = frozenset(
    """
    a area base body br col embed frame head hr html iframe img input link meta noembed param script style
    textarea title xmp
    """.split()  # noqa: SIM905 (as a list, twenty lines)
)


@dataclass(frozen=True, slots=True)
class HtmlSource:
    """Markup that libxml2 parses in linear time, and what was left out of it."""

    markup: str
    findings: tuple[Finding, ...] = ()
    left_out: tuple[Block, ...] = ()


def parseable(markup: str) -> HtmlSource:
    """*markup* within limits that no page reaches which was made for readers.

    >>> parseable("<?xml version='1.0'?><title/>").markup
    "<?xml version='1.0'?><title></title>"
    """
    findings = []
    if _XHTML.search(markup, 0, _PROLOG_CHARS):  # an HTML parser takes <title/> for an opening tag
        markup = _EMPTY_RAW_ELEMENT.sub(r"<\g<tag>\g<attributes>></\g<tag>>", markup)
    if len(markup) > MOST_TAGS and markup.count("<") > MOST_TAGS:
        findings.append(Finding("cut-off", f"not read beyond tag {MOST_TAGS}"))
        markup = "<".join(markup.split("<", MOST_TAGS)[:MOST_TAGS])
    if not _may_hold_long_tag(markup):
        return HtmlSource(markup, tuple(findings))
    markup, rests = _without_long_tags(markup)
    if rests:
        findings.append(Finding("cut-off", f"elements with too many attributes: {len(rests)}"))
    left_out = tuple(Block(rest, Role.METADATA) for rest in map(html.unescape, rests) if may_hold_ark(rest))
    return HtmlSource(markup, tuple(findings), left_out)


def _may_hold_long_tag(markup: str) -> bool:
    if len(markup) >= _ALWAYS_FROM:
        return True
    ends = range(_STRETCH, len(markup) + 1, _STRETCH)
    return any(markup.find(">", end - _STRETCH, end) < 0 for end in ends)


def _without_long_tags(markup: str) -> tuple[str, list[str]]:
    """*markup* with each long tag cut at the limit, and what was cut off."""
    kept: list[str] = []
    rests: list[str] = []
    done = pos = 0
    while tag := _TAG.search(markup, pos):
        start, pos = tag.span()
        if pos - start <= MOST_PIECES or tag["tag"] is None:
            continue
        to_limit = _TAG_TO_LIMIT.match(markup, start)
        pos = to_limit.end() if to_limit is not None else pos
        rest = _REST_OF_TAG.match(markup, pos)
        if rest is not None and rest[0]:
            last_blank = max(markup.rfind(blank, start, pos) for blank in "\t\n\r ")
            cut = pos if last_blank < 0 else last_blank
            kept.append(markup[done:cut])
            done = pos = rest.end()
            rests.append(markup[cut:done])
    return "".join([*kept, markup[done:]]), rests


def with_controls_spelled(markup: str) -> str:
    """*markup* in which each control character, raw or as a reference, is one that XML can spell.

    >>> ascii(with_controls_spelled("a\\x02b&#2;c&#10;").translate(CONTROLS))
    "'a\\\\x02b\\\\x02c&#10;'"
    """
    return _CONTROL.sub(_stand_in, markup.replace("\f", "\n\n"))


def _stand_in(control: re.Match[str]) -> str:
    decimal, hexadecimal = control.groups()
    if decimal or hexadecimal:
        code = int(decimal or hexadecimal, 10 if decimal else 16)
        return control[0] if chr(code) in "\t\n\r" else chr(_STAND_IN + code)
    return chr(_STAND_IN + ord(control[0]))


def flat(markup: str) -> str:
    """*markup* without any nesting, for pages that nest deeper than libxml2 reads.

    >>> flat("<div class=x><b>ark:</b><a href=y>z</a></div>")
    '<hr class=x><param>ark:<param><a href=y>z</a><hr>'
    """
    return _TAG_NAME.sub(_flat_tag, markup)


def _flat_tag(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if name in _NOT_NESTED:
        return tag[0]
    return "<hr" if name in APART else "<param"
