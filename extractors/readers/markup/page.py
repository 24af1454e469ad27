"""A page as well-formed markup, read only around the places where a label may stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from extractors.budget import as_time_allows
from extractors.document_model import Block, Role
from extractors.readers.markup.runs import TextRun
from extractors.readers.markup.targets import label_places, may_hold_ark

#: Elements whose text stands apart from the text around it. All others, unknown or not, are within the line.
BLOCK_ELEMENTS = frozenset(
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
APART = BLOCK_ELEMENTS | _FOOTNOTE_MARKS

#: Attributes that are link targets wherever they point.
_TARGETS = frozenset(
    """
    a/@href area/@href frame/@src iframe/@src blockquote/@cite cite/@cite del/@cite embed/@src ins/@cite
    link/@href object/@data q/@cite
    """.split()  # noqa: SIM905
)
#: Link targets on any other element.
_URL_ATTRIBUTES = frozenset({"action", "data", "formaction", "href", "poster", "src", "xlink:href"})
_META_KEYS = ("name", "property", "itemprop", "http-equiv")

# lxml writes one space before each attribute. A name may hold anything else, even other kinds of blanks.
_TAG = re.compile(r"<(/?)([^ />]+)([^>]*)>")
_TAG_OR_TEXT = re.compile(r"<(/?)([^ />]+)([^>]*)>|[^<]+")
_ATTRIBUTE = re.compile(r' (=?[^ =]*)="([^"]*)"')
#: What comes next of the text, in whatever elements.
_FOLLOWING = re.compile(r"(?:\s*<[^>]*>){0,40}\s*(?P<text>[^<]{1,80})")
_REFERENCE = re.compile(r"&#(?:([0-9]+)|x([0-9A-Fa-f]+));")


def plain(value: str) -> str:
    """A text or value of well-formed markup, its references resolved (and not, as in HTML, mended).

    >>> plain("a&amp;#58;&#13;")
    'a&#58;\\r'
    """
    if "&" not in value:
        return value
    if "&#" in value:
        value = _REFERENCE.sub(lambda found: chr(int(found[1] or found[2], 10 if found[1] else 16)), value)
    return value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


class MarkupPage:
    """A page and how far it has been read. Everything goes forward, or back no further than that.

    >>> page = MarkupPage('<body><p>no</p><p>see <a href="/x">ark:/12148/x5</a></p></body>')
    >>> [(block.place, block.text) for block in page.blocks()]
    [('a/@href', '/x'), ('p', 'see ark:/12148/x5')]
    """

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self._blocks: list[Block] = []
        self._read_to = 0
        self._floor = 0
        """A place before which nothing is looked for again: the start of a tag, or of the page."""
        self._link_numbers: dict[int, int] = {}
        """By where the tag of the link stands."""
        self._told: set[int] = set()
        """Links whose target is among the blocks."""
        self._open_link = len(markup)
        self._link_known_to = 0
        self._open_elements = [""]
        self._elements_known_to = 0

    def blocks(self) -> list[Block]:
        """All texts and values that may hold an ARK, in page order; the targets of a text's links before it."""
        for place in as_time_allows(label_places(self.markup), "label"):
            if place >= self._read_to:
                self._read_around(place)
        return self._blocks

    def _read_around(self, place: int) -> None:
        start = self._boundary_before(place)
        tag = _TAG.match(self.markup, start)
        if tag is None:  # there is no element before it
            self._read_run(start, None)
        elif place < tag.end():
            self._read_attributes(tag, attributes_of(tag[3]))
            self._floor, self._read_to = start, tag.end()
        else:
            begins = not tag[1] and not tag[3].endswith("/")
            self._read_run(tag.end(), tag[2] if begins else None)

    def _boundary_before(self, place: int) -> int:
        """Return where the tag begins that parts the text at *place* from what stands before it."""
        end = place
        while True:
            tag_end = self.markup.rfind(">", self._floor, end)
            start = self.markup.find("<", tag_end + 1 if tag_end >= 0 else self._floor, end)
            tag = _TAG.match(self.markup, start) if start >= 0 else None
            if tag is not None and tag[2] in APART:
                return start
            if tag_end < 0:
                return self._floor
            end = tag_end

    def _read_run(self, start: int, element: str | None) -> None:
        """Read the text from *start*, where *element* begins if any, to the next tag that parts it."""
        run = TextRun()
        targets: dict[int, Block] = {}
        link = _TAG.match(self.markup, self._link_at(start))
        if link is not None:
            self._enter_link(link, attributes_of(link[3]), run, targets)
        pos = start
        for token in _TAG_OR_TEXT.finditer(self.markup, start):
            closing, name, rest = token.groups()
            if name is None:
                run.write(plain(token[0]))
            elif name in APART:
                break
            elif name != "wbr":  # a place for a break is none
                run.element()
                attributes = attributes_of(rest) if rest and not closing else {}
                if name == "br":
                    run.break_line()
                elif name == "a":
                    run.link(None)
                    if not rest.endswith("/"):
                        self._enter_link(token, attributes, run, targets)
                if attributes:
                    self._read_attributes(token, attributes)
            pos = token.end()
        self._floor = self._read_to = pos
        block = run.block(element or "")
        if block is not None:
            found = _FOLLOWING.match(self.markup, pos)
            block = replace(block, following=plain(found["text"]) if found else "")
        self._keep(block, targets, None if element else start)

    def _keep(self, text: Block | None, targets: Mapping[int, Block], start: int | None) -> None:
        """Add *text* to the blocks if it may hold an ARK; its element, if not known, is that around *start*."""
        if text is None or not may_hold_ark(text.text):
            return
        for anchor in text.anchors:
            if anchor.link not in self._told:
                self._told.add(anchor.link)
                self._blocks.append(targets[anchor.link])
        self._blocks.append(text if start is None else replace(text, place=self._element_at(start)))

    def _enter_link(
        self, tag: re.Match[str], attributes: Mapping[str, str], run: TextRun, targets: dict[int, Block]
    ) -> None:
        """Let *run* go on within the link of *tag*, if that has a target."""
        target = attributes.get("href")
        if target:
            number = self._link_number(tag.start())
            targets[number] = Block(target, Role.LINK_TARGET, place="a/@href", link=number)
            run.link(number)

    def _link_number(self, tag_start: int) -> int:
        return self._link_numbers.setdefault(tag_start, len(self._link_numbers))

    def _link_at(self, place: int) -> int:
        """Return where the tag of the link begins in which *place* is; the end of the markup if it is in none."""
        markup, known, none = self.markup, self._link_known_to, len(self.markup)
        opened = max(
            markup.rfind("<a ", known, place), markup.rfind("<a>", known, place), markup.rfind("<a/>", known, place)
        )
        closed = markup.rfind("</a>", known, place)
        if opened > closed:
            is_empty = self.markup[self.markup.find(">", opened) - 1] == "/"
            self._open_link = none if is_empty else opened
        elif closed >= 0:
            self._open_link = none
        self._link_known_to = place
        return self._open_link

    def _element_at(self, place: int) -> str:
        """The innermost block element in which *place* is."""
        for tag in _TAG.finditer(self.markup, self._elements_known_to, place):
            if tag[2] not in APART:
                continue
            if tag[1]:
                self._open_elements.pop()
            elif not tag[3].endswith("/"):
                self._open_elements.append(tag[2])
        self._elements_known_to = place
        return self._open_elements[-1]

    def _read_attributes(self, tag: re.Match[str], attributes: Mapping[str, str]) -> None:
        place = _meta_place(attributes) if tag[2] == "meta" else tag[2]
        for name, value in attributes.items():
            if not may_hold_ark(value):
                continue
            where = f"{place}/@{name}"
            link = None
            if where == "a/@href":
                link = self._link_number(tag.start())
                self._told.add(link)
            role = Role.LINK_TARGET if where in _TARGETS or name in _URL_ATTRIBUTES else Role.METADATA
            self._blocks.append(Block(value, role, place=where, link=link))


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag, by what is written behind its name.

    >>> attributes_of(' href="/?a=1&amp;b" hidden=""')
    {'href': '/?a=1&b', 'hidden': ''}
    """
    return {name: plain(value) for name, value in _ATTRIBUTE.findall(written)}


def _meta_place(attributes: Mapping[str, str]) -> str:
    """Return what distinguishes a ``meta`` element from its neighbours.

    >>> _meta_place({"name": "DC.identifier", "content": "ark:/12148/btv1b8"})
    'meta[name=DC.identifier]'
    """
    for key in _META_KEYS:
        if key in attributes:
            return f"meta[{key}={attributes[key].strip()}]"
    return "meta"
