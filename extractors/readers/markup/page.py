"""Well-formed markup, read only around the places of possible labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from extractors.mentions.possible_labels import label_sign_offsets, may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.documents import Block, Role
from extractors.model.urls import refresh_target
from extractors.readers.markup.xml import Element
from extractors.readers.running_text import InlineText

#: Elements that separate their text from the text around them. All others, even unknown ones, are inline.
BLOCK_ELEMENTS = frozenset(
    """
    address article aside audio blockquote body button canvas caption center col colgroup dd details dialog
    dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html
    iframe img input legend li listing main math menu meter nav noframes noscript object ol optgroup option p
    plaintext pre progress search section select summary svg table tbody td text textarea tfoot th thead title tr
    ul video xmp
    """.split()  # noqa: SIM905 (as a list, sixty lines)
)
#: Inline, but ``<i>ark:/12345/x5</i><sup>3</sup>`` must not become ark:12345/x53.
_FOOTNOTE_MARKS = frozenset({"sub", "sup"})
SEPARATE_ELEMENTS = BLOCK_ELEMENTS | _FOOTNOTE_MARKS

#: Attributes that are link targets, whatever their value.
_TARGET_ATTRIBUTES = frozenset(
    """
    a/@href area/@href frame/@src iframe/@src blockquote/@cite cite/@cite del/@cite embed/@src ins/@cite
    link/@href object/@data q/@cite
    """.split()  # noqa: SIM905
)
#: Link targets on any other element.
_URL_ATTRIBUTES = frozenset({"action", "data", "formaction", "href", "poster", "src", "xlink:href"})
_META_KEYS = ("name", "property", "itemprop", "http-equiv")

# lxml writes one space before each attribute. A name may contain anything else, even other blanks.
_TAG = re.compile(r"<(/?)([^ />]++)([^>]*+)(?:>|\Z)")
_TAG_OR_TEXT = re.compile(rf"{_TAG.pattern}|[^<]++")
_ATTRIBUTE = re.compile(r' (=?[^ =]*)="([^"]*)"')
#: The following text, in any elements.
_FOLLOWING_TEXT = re.compile(r"(?:\s*<[^>]*>){0,40}\s*(?P<text>[^<]{1,80})")
_REFERENCE = re.compile(r"&#(?:([0-9]+)|x([0-9A-Fa-f]+));")


def decode_references(value: str) -> str:
    """Return *value*, a text or attribute value of well-formed markup, with its references decoded once.

    >>> decode_references("a&amp;#58;&#13;")
    'a&#58;\\r'
    """
    if "&" not in value:
        return value
    if "&#" in value:
        value = _REFERENCE.sub(
            lambda reference: chr(int(reference[1] or reference[2], 10 if reference[1] else 16)), value
        )
    return value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


class MarkupPage:
    """A page in well-formed *markup*, read only around possible labels of ARKs.

    >>> page = MarkupPage('<body><p>no</p><p>see <a href="/x">ark:/12148/x5</a></p></body>')
    >>> [(block.place, block.text) for block in page.blocks()]
    [('a/@href', '/x'), ('p', 'see ark:/12148/x5')]
    """

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self._blocks: list[Block] = []
        self._link_numbers: dict[int, int] = {}
        """The number of a link by the offset of its tag."""
        self._written_links: set[int] = set()
        """The numbers of links whose target is already among the blocks."""
        self._open_link: re.Match[str] | None = None
        self._links_read_to = 0
        self._open_elements = [""]
        self._elements_read_to = 0

    def blocks(self) -> list[Block]:
        """Return all texts and values that may hold an ARK, in page order; targets of links come before their text."""
        read_to = 0
        for label_offset in as_time_allows(label_sign_offsets(self.markup), "label"):
            if label_offset < read_to:
                continue
            tag = self._separating_tag_before(label_offset)
            if tag is not None and label_offset < tag.end():
                self._read_attributes(tag, attributes_of(tag[3]))
                read_to = tag.end()
                continue
            start = tag.end() if tag is not None else 0
            read_to = self._read_text(start, self._link_at(start), self._element_after(tag))
        return self._blocks

    def _separating_tag_before(self, offset: int) -> re.Match[str] | None:
        """Return the last tag of `SEPARATE_ELEMENTS` that begins before *offset*, or None."""
        while (offset := self.markup.rfind("<", 0, offset)) >= 0:
            tag = _TAG.match(self.markup, offset)
            if tag is not None and tag[2] in SEPARATE_ELEMENTS:
                return tag
        return None

    def _link_at(self, pos: int) -> re.Match[str] | None:
        """Return the tag of the link that is open at *pos*, or None. Calls must be in page order."""
        start, self._links_read_to = self._links_read_to, pos
        tag_start = max(self.markup.rfind(beginning, start, pos) for beginning in ("<a>", "<a ", "<a/", "</a>"))
        if tag_start >= 0:
            tag = _TAG.match(self.markup, tag_start)
            self._open_link = tag if tag is not None and _begins_element(tag) else None
        return self._open_link

    def _element_after(self, tag: re.Match[str] | None) -> str:
        """Return the name of the innermost of `SEPARATE_ELEMENTS` open after *tag*; empty if *tag* is None.

        Calls must be in page order, because a call reads the tags since the last.
        """
        if tag is None:
            return ""
        if _begins_element(tag):
            return tag[2]
        for earlier_tag in _TAG.finditer(self.markup, self._elements_read_to, tag.end()):
            if earlier_tag[2] in SEPARATE_ELEMENTS:
                if earlier_tag[1]:
                    self._open_elements.pop()
                elif _begins_element(earlier_tag):
                    self._open_elements.append(earlier_tag[2])
        self._elements_read_to = tag.end()
        return self._open_elements[-1]

    def _read_text(self, start: int, link: re.Match[str] | None, element: str) -> int:
        """Add the block of the text from *start* to the next tag of `SEPARATE_ELEMENTS`; return the offset of that tag.

        *link* is the tag of the link that is open at *start*, *element* the name of the element around the text.
        """
        text = InlineText()
        targets: dict[int, str] = {}
        if link is not None:
            self._enter_link(link, attributes_of(link[3]), text, targets)
        pos = start
        for token in _TAG_OR_TEXT.finditer(self.markup, start):
            slash, name, rest_of_tag = token.groups()
            if name is None:
                # In hOCR the end of a line follows that of its last word.
                is_second_blank = token[0].isspace() and text.last_piece[-1:].isspace()
                if not is_second_blank:
                    text.write(decode_references(token[0]))
            elif name in SEPARATE_ELEMENTS:
                break
            else:
                if slash:
                    text.end_element()
                elif name != "wbr":  # marks a possible line break only
                    text.begin_element()
                    if rest_of_tag.endswith("/"):
                        text.end_element()
                attributes = attributes_of(rest_of_tag) if rest_of_tag and not slash else {}
                if name == "br":
                    text.break_line()
                elif name == "a":
                    text.set_link(None)
                    if not rest_of_tag.endswith("/"):
                        self._enter_link(token, attributes, text, targets)
                if attributes:
                    self._read_attributes(token, attributes)
            pos = token.end()
        following_text = _FOLLOWING_TEXT.match(self.markup, pos)
        block = text.block(element, following=decode_references(following_text["text"]) if following_text else "")
        if block is not None and may_hold_ark(block.text):
            for anchor in block.anchors:
                if anchor.link not in self._written_links:
                    self._add_target(targets[anchor.link], anchor.link)
            self._blocks.append(block)
        return pos

    def _enter_link(
        self, tag: re.Match[str], attributes: Mapping[str, str], text: InlineText, targets: dict[int, str]
    ) -> None:
        """Begin the link of *tag* in *text*, and add its target to *targets* by link number; do nothing without a target."""
        target = attributes.get("href")
        if target:
            number = self._link_number(tag.start())
            targets[number] = target
            text.set_link(number)

    def _add_target(self, target: str, number: int) -> None:
        self._written_links.add(number)
        self._blocks.append(Block(target, Role.LINK_TARGET, place="a/@href", link=number))

    def _link_number(self, tag_start: int) -> int:
        return self._link_numbers.setdefault(tag_start, len(self._link_numbers))

    def _read_attributes(self, tag: re.Match[str], attributes: Mapping[str, str]) -> None:
        element_location = _meta_location(attributes) if tag[2] == "meta" else tag[2]
        for name, value in attributes.items():
            # The address of an archived copy (a Robust Link) cites no other object.
            is_copy = name == "data-versionurl" or (name == "data-originalurl" and value == attributes.get("href"))
            if is_copy or not may_hold_ark(value):
                continue
            location = f"{element_location}/@{name}"
            if location == "a/@href":
                self._add_target(value, self._link_number(tag.start()))
                continue
            role = Role.LINK_TARGET if location in _TARGET_ATTRIBUTES or name in _URL_ATTRIBUTES else Role.METADATA
            self._blocks.append(Block(value, role, place=location))


def _begins_element(tag: re.Match[str]) -> bool:
    """Return True if *tag* opens an element that another tag closes."""
    return not tag[1] and not tag[3].endswith("/")


def attributes_of(source: str) -> dict[str, str]:
    """Return the attributes of a tag by name; *source* is the text after the name of the tag.

    >>> attributes_of(' href="/?a=1&amp;b" hidden=""')
    {'href': '/?a=1&b', 'hidden': ''}
    """
    return {name: decode_references(value) for name, value in _ATTRIBUTE.findall(source)}


def _meta_location(attributes: Mapping[str, str]) -> str:
    """Return the location of a ``meta`` element, which names it by one of its *attributes*.

    >>> _meta_location({"name": "DC.identifier", "content": "ark:/12148/btv1b8"})
    'meta[name=DC.identifier]'
    """
    for key in _META_KEYS:
        if key in attributes:
            return f"meta[{key}={attributes[key].strip()}]"
    return "meta"


# Links to other documents except plain links, and the page's instructions to crawlers.

#: Relations of a ``link`` element that lead to another document or another part of this one. Left out are ``canonical``
#: and ``cite-as`` (this page again), ``search``, ``license`` and those for the page's appearance.
_FOLLOWED_RELATIONS = frozenset({"chapter", "contents", "describedby", "item", "next", "prev", "previous", "section"})
#: Media types of alternates for readers. Other alternates are the many export formats of a repository, and feeds and
#: oEmbed, which repeat the pages.
_READER_TYPES = re.compile(
    r"|text/html|application/(?:xhtml\+xml|pdf|epub\+zip|msword|vnd\.(?:ms-|oasis\.|openxmlformats-).*)", re.IGNORECASE
)
#: ``meta`` elements with the URL of the document itself, as library catalogues and Google Scholar read them.
_DOCUMENT_META = frozenset({"bepress_citation_pdf_url", "citation_pdf_url", "eprints.document_url"})
_CRAWLER_NAMES = frozenset({"arkaudit", "robots"})


@dataclass(slots=True)
class PageFacts:
    """The title, links and scripts of a page, collected from its elements in order."""

    title: str = ""
    base: str | None = None
    scripts: list[Block] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    targets: dict[str, bool] = field(default_factory=dict)
    """Targets of plain links and frames; True if all links to a target have ``rel=nofollow``."""
    documents: list[str] = field(default_factory=list)
    """Targets with the document that the page describes, or embeds."""
    parts: list[str] = field(default_factory=list)
    """Targets of frames and refreshes, whose pages belong to this page."""
    robots: list[str] = field(default_factory=list)
    """Instructions to crawlers."""

    def read(self, element: Element) -> None:
        """Add the facts of *element*: a title, a base, a link, a frame, an embedded document, or metadata."""
        match element.tag:
            case "title":
                self.title = self.title or " ".join("".join(element.itertext()).split())
            case "base":
                self.base = element.get("href") if self.base is None else self.base
            case "a" | "area":
                if target := element.get("href"):
                    is_nofollow = "nofollow" in (element.get("rel") or "").lower().split()
                    self.targets[target] = self.targets.get(target, True) and is_nofollow
            case "link":
                self._read_link(element)
            case "meta":
                self._read_meta(element)
            case "frame" | "iframe":  # in the order of other links
                if target := element.get("src"):
                    self.targets.setdefault(target, False)
                    self.parts.append(target)
            case "embed":
                self._add_link(element.get("src"), self.documents)
            case "object":
                self._add_link(element.get("data"), self.documents)

    def _read_link(self, element: Element) -> None:
        relations = set((element.get("rel") or "").lower().split())
        media_type = (element.get("type") or "").partition(";")[0].strip()
        is_alternate = "alternate" in relations and "stylesheet" not in relations
        if "item" in relations:
            self._add_link(element.get("href"), self.documents)
        elif relations & _FOLLOWED_RELATIONS or (is_alternate and _READER_TYPES.fullmatch(media_type)):
            self._add_link(element.get("href"), None)

    def _read_meta(self, element: Element) -> None:
        name = (element.get("name") or "").strip().lower()
        content = element.get("content") or ""
        if name in _CRAWLER_NAMES:
            self.robots.append(content)
        elif name in _DOCUMENT_META:
            self._add_link(content, self.documents)
        elif (element.get("http-equiv") or "").strip().lower() == "refresh":
            self._add_link(refresh_target(content), self.parts)

    def _add_link(self, target: str | None, group: list[str] | None) -> None:
        if target:
            self.links.append(target)
            if group is not None:
                group.append(target)
