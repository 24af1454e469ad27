"""HTML: what a page shows, where it links to and what it says about itself, in one pass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import PreformattedString, Tag
from bs4.exceptions import ParserRejectedMarkup
from lxml import etree
from w3lib.encoding import html_body_declared_encoding

from extractors.documents import Block, Finding, Reading, Role
from extractors.readers.plain import decode
from extractors.readers.targets import leads_to_document, may_hold_ark

MEDIA_TYPE = "text/html"
MOST_BYTES = 32 * 2**20

#: Elements whose text stands apart from the text around it. All others, unknown or not, are within the line.
_APART = frozenset(
    """
    address article aside audio blockquote body button canvas caption center col colgroup dd details dialog
    dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html
    iframe img input legend li listing main math menu meter nav noframes noscript object ol optgroup option p
    plaintext pre progress search section select summary svg table tbody td textarea tfoot th thead title tr
    ul video xmp
    """.split()  # noqa: SIM905 (as a list, sixty lines)
)
#: Within the line for the eye, but ``<i>ark:/12345/x5</i><sup>3</sup>`` must not become ark:12345/x53.
_FOOTNOTE_MARKS = frozenset({"sup"})
_UNSEEN = frozenset({"iframe", "noembed", "script", "style", "template"})

#: Attributes that are link targets, and whether they may lead to a further document.
_TARGETS: Mapping[tuple[str, str], bool] = {
    ("a", "href"): True,
    ("area", "href"): True,
    ("frame", "src"): True,
    ("iframe", "src"): True,
    ("blockquote", "cite"): False,
    ("cite", "cite"): False,
    ("del", "cite"): False,
    ("embed", "src"): False,
    ("ins", "cite"): False,
    ("link", "href"): False,
    ("object", "data"): False,
    ("q", "cite"): False,
}
#: Link targets on any other element; read, as all other attributes, only where they may hold an ARK.
_URL_ATTRIBUTES = frozenset({"action", "data", "formaction", "href", "poster", "src", "xlink:href"})
_META_KEYS = ("name", "property", "itemprop", "http-equiv")

_XHTML = re.compile(r"<\?xml\s|<html[^<>]*\sxmlns", re.IGNORECASE)
_PROLOG_CHARS = 2000
_EMPTY_RAW_ELEMENT = re.compile(
    r"<(?P<tag>iframe|noembed|noframes|script|style|textarea|title|xmp)(?P<attributes>(?:\s[^<>]*)?)/>",
    re.IGNORECASE,
)

#: JSON can spell what no text can hold (``"\\ud800"``), and no file or database takes it.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def read_html(data: bytes, *, charset: str | None = None) -> Reading:
    """The text, link targets, metadata and JSON-LD of a page; *charset* is what HTTP declared, if anything.

    >>> reading = read_html(b'<p>See <a href="/ark:/12148/btv1b8">ark:/12148/<wbr>btv1b8</a>.')
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', 'a/@href', '/ark:/12148/btv1b8'), ('text', 'p', 'See ark:/12148/btv1b8.')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("size-limit", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset, html_body_declared_encoding(data))
    findings += decoded.findings
    markup = _for_html_parser(decoded.text)
    page = _page_by_lxml(markup)
    if page is None:
        page = _page_by_soup(markup)
        findings.append(Finding("malformed-markup", "lxml gave up on it; left to html.parser"))
    links = tuple(dict.fromkeys(filter(leads_to_document, page.targets)))
    return Reading(MEDIA_TYPE, tuple(page.blocks), links, page.base, page.title, tuple(findings))


def _for_html_parser(markup: str) -> str:
    """*markup* with ``<title/>`` spelled out if it is XHTML: an HTML parser takes that tag for an opening."""
    if not _XHTML.search(markup, 0, _PROLOG_CHARS):
        return markup
    return _EMPTY_RAW_ELEMENT.sub(r"<\g<tag>\g<attributes>></\g<tag>>", markup)


class _Page:
    """A target for the events of a parser, and what they amount to.

    Events, because a tree has limits where a page has none: at 256 open elements (2,048 with `huge_tree`)
    libxml2 drops all that follows, and lxml raises nothing.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.targets: list[str] = []
        self.base: str | None = None
        self.title = ""
        self._run: list[str] = []
        self._places = [""]
        self._unseen_depth = 0
        self._json_ld: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins. Raw text, scripts and templates are passed over with all that is in them."""
        if self._unseen_depth:
            self._unseen_depth += 1
            return
        if attributes:
            self._read_attributes(tag, attributes)
        if tag in _APART or tag in _FOOTNOTE_MARKS:
            self._end_run()
            self._places.append(tag)
        elif tag == "br":
            self._run.append("\n")
        if tag in _UNSEEN:
            self._unseen_depth = 1
            if attributes.get("type", "").partition(";")[0].strip().lower() == "application/ld+json":
                self._json_ld = []

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""
        if not self._unseen_depth:
            self._run.append(text)
        elif self._json_ld is not None:
            self._json_ld.append(text)

    def end(self, tag: str) -> None:
        """An element ends: every one that began, in order."""
        if self._unseen_depth:
            self._unseen_depth -= 1
            if self._unseen_depth:
                return
            self._end_json_ld()
        if tag in _APART or tag in _FOOTNOTE_MARKS:
            self._end_run()
            self._places.pop()

    def close(self) -> _Page:
        """The page, read to its end."""
        self._end_run()
        return self

    def _end_run(self) -> None:
        if not self._run:
            return
        text = "".join(self._run).strip()
        self._run.clear()
        if not text:
            return
        self.blocks.append(Block(text, place=self._places[-1]))
        if self._places[-1] == "title" and not self.title:
            self.title = " ".join(text.split())

    def _end_json_ld(self) -> None:
        if self._json_ld is not None:
            self.blocks.extend(_json_blocks("".join(self._json_ld), "script[type=application/ld+json]"))
            self._json_ld = None

    def _read_attributes(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "base" and self.base is None:
            self.base = attributes.get("href")
        place = _meta_place(attributes) if tag == "meta" else tag
        for name, value in attributes.items():
            leads_on = _TARGETS.get((tag, name))
            if leads_on:
                self.targets.append(value)
            is_target = leads_on is not None
            is_content = (tag, name) == ("meta", "content")
            if value.strip() and (is_target or is_content or may_hold_ark(value)):
                role = Role.LINK_TARGET if is_target or name in _URL_ATTRIBUTES else Role.METADATA
                self.blocks.append(Block(value, role, place=f"{place}/@{name}"))


def _meta_place(attributes: Mapping[str, str]) -> str:
    """How a ``meta`` element is told from its neighbours.

    >>> _meta_place({"name": "DC.identifier", "content": "ark:/12148/btv1b8"})
    'meta[name=DC.identifier]'
    """
    for key in _META_KEYS:
        if key in attributes:
            return f"meta[{key}={attributes[key].strip()}]"
    return "meta"


def _json_blocks(source: str, place: str) -> Iterator[Block]:
    """One block for each string that *source* holds as a value, or the source itself where it is no JSON.

    >>> [block.text for block in _json_blocks('{"@id": "ark:\\\\/12148\\\\/x5", "is": ["y", 1]}', "script")]
    ['ark:/12148/x5', 'y']
    """
    try:
        pending = [json.loads(source)]
    except (ValueError, RecursionError):
        if source.strip():
            yield Block(source, Role.STRUCTURED_DATA, place=place)
        return
    while pending:  # a stack, not recursion: strangers choose the depth
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(reversed(value.values()))
        elif isinstance(value, list):
            pending.extend(reversed(value))
        elif isinstance(value, str) and value.strip():
            yield Block(_LONE_SURROGATE.sub(_UNKNOWN, value), Role.STRUCTURED_DATA, place=place)


def _page_by_lxml(markup: str) -> _Page | None:
    """The page as lxml reads it, or None where lxml gives up.

    The markup is decoded, for lxml takes bytes without a declared charset for Latin-1; `huge_tree` lifts the limit
    of 10 MB for one run of text, and `MOST_BYTES` bounds the whole.
    """
    page = _Page()
    target: Any = page  # lxml's published types are those of version 4
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    try:
        etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return None
    faults = parser.error_log  # a limit of libxml2 ends the parsing without an exception, as the last fault
    return None if faults and faults[-1].level == etree.ErrorLevels.FATAL else page


def _page_by_soup(markup: str) -> _Page:
    """The page as html.parser reads it: without limits, but in quadratic time where a stranger wants it so."""
    page = _Page()
    try:
        soup = BeautifulSoup(markup, "html.parser", multi_valued_attributes=None, on_duplicate_attribute="ignore")
    except ParserRejectedMarkup:
        return page
    open_tags: list[str] = []
    pending = [iter(soup.contents)]
    while pending:  # a stack, not recursion: strangers choose the depth
        for node in pending[-1]:
            if isinstance(node, Tag):
                page.start(node.name, {name: str(value) for name, value in node.attrs.items()})
                open_tags.append(node.name)
                pending.append(iter(node.contents))
                break
            if not isinstance(node, PreformattedString):  # comments, declarations
                page.data(str(node))
        else:
            pending.pop()
            if open_tags:
                page.end(open_tags.pop())
    return page.close()
