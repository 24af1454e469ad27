"""Well-formed markup, read only around the places of possible labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from extractors.mentions.possible_labels import label_places, may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.documents import Block, Role
from extractors.model.urls import refresh_target
from extractors.readers.markup.xml import Element
from extractors.readers.running_text import TextRun

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
APART = BLOCK_ELEMENTS | _FOOTNOTE_MARKS

#: Attributes that are link targets, whatever their value.
_TARGETS = frozenset(
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
_FOLLOWING = re.compile(r"(?:\s*<[^>]*>){0,40}\s*(?P<text>[^<]{1,80})")
_REFERENCE = re.compile(r"&#(?:([0-9]+)|x([0-9A-Fa-f]+));")


def decode_references(value: str) -> str:
    """Return a text or value of well-formed markup with its references decoded, exactly as written.

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
    """A page, read only around possible labels.

    >>> page = MarkupPage('<body><p>no</p><p>see <a href="/x">ark:/12148/x5</a></p></body>')
    >>> [(block.place, block.text) for block in page.blocks()]
    [('a/@href', '/x'), ('p', 'see ark:/12148/x5')]
    """

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self._blocks: list[Block] = []
        self._link_numbers: dict[int, int] = {}
        """By the offset of the link's tag."""
        self._written_links: set[int] = set()
        """Links whose target is already among the blocks."""
        self._open_link: re.Match[str] | None = None
        self._link_known_to = 0
        self._open_elements = [""]
        self._elements_known_to = 0

    def blocks(self) -> list[Block]:
        """Return all texts and values that may hold an ARK, in page order; targets of links come before their text."""
        done = 0
        for at in as_time_allows(label_places(self.markup), "label"):
            if at < done:
                continue
            tag = self._separating_tag_before(at)
            if tag is not None and at < tag.end():
                self._read_attributes(tag, attributes_of(tag[3]))
                done = tag.end()
                continue
            start = tag.end() if tag is not None else 0
            done = self._read_run(start, self._link_at(start), self._element_after(tag))
        return self._blocks

    def _separating_tag_before(self, at: int) -> re.Match[str] | None:
        """Return the last tag before *at* that separates text, or None."""
        while (at := self.markup.rfind("<", 0, at)) >= 0:
            tag = _TAG.match(self.markup, at)
            if tag is not None and tag[2] in APART:
                return tag
        return None

    def _link_at(self, pos: int) -> re.Match[str] | None:
        """Return the tag of the link that is open at *pos*, or None. Positions of later calls are not smaller."""
        first, self._link_known_to = self._link_known_to, pos
        last = max(self.markup.rfind(begun, first, pos) for begun in ("<a>", "<a ", "<a/", "</a>"))
        if last >= 0:
            tag = _TAG.match(self.markup, last)
            self._open_link = tag if tag is not None and _begins_element(tag) else None
        return self._open_link

    def _element_after(self, tag: re.Match[str] | None) -> str:
        """Return the name of the innermost element that separates text and is open after *tag*; empty if *tag* is None.

        Calls must come in page order, because each reads the tags since the last one.
        """
        if tag is None:
            return ""
        if _begins_element(tag):
            return tag[2]
        for earlier in _TAG.finditer(self.markup, self._elements_known_to, tag.end()):
            if earlier[2] in APART:
                if earlier[1]:
                    self._open_elements.pop()
                elif _begins_element(earlier):
                    self._open_elements.append(earlier[2])
        self._elements_known_to = tag.end()
        return self._open_elements[-1]

    def _read_run(self, start: int, link: re.Match[str] | None, element: str) -> int:
        """Read the text in *element* from *start*, inside *link* if given, to the next tag that separates text.

        Return the offset of that tag.
        """
        run = TextRun()
        targets: dict[int, str] = {}
        if link is not None:
            self._enter_link(link, attributes_of(link[3]), run, targets)
        pos = start
        for token in _TAG_OR_TEXT.finditer(self.markup, start):
            closing, name, rest = token.groups()
            if name is None:
                run.write(decode_references(token[0]))
            elif name in APART:
                break
            else:
                if closing:
                    run.end_element()
                elif name != "wbr":  # marks a possible line break only
                    run.begin_element()
                    if rest.endswith("/"):
                        run.end_element()
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
        following = _FOLLOWING.match(self.markup, pos)
        block = run.block(element, following=decode_references(following["text"]) if following else "")
        if block is not None and may_hold_ark(block.text):
            for anchor in block.anchors:
                if anchor.link not in self._written_links:
                    self._add_target(targets[anchor.link], anchor.link)
            self._blocks.append(block)
        return pos

    def _enter_link(
        self, tag: re.Match[str], attributes: Mapping[str, str], run: TextRun, targets: dict[int, str]
    ) -> None:
        """Continue *run* inside the link of *tag*, if it has a target, and note it in *targets*."""
        target = attributes.get("href")
        if target:
            number = self._link_number(tag.start())
            targets[number] = target
            run.link(number)

    def _add_target(self, target: str, number: int) -> None:
        self._written_links.add(number)
        self._blocks.append(Block(target, Role.LINK_TARGET, place="a/@href", link=number))

    def _link_number(self, tag_start: int) -> int:
        return self._link_numbers.setdefault(tag_start, len(self._link_numbers))

    def _read_attributes(self, tag: re.Match[str], attributes: Mapping[str, str]) -> None:
        location = _meta_place(attributes) if tag[2] == "meta" else tag[2]
        for name, value in attributes.items():
            # The address of an archived copy (a Robust Link) cites no other object.
            is_copy = name == "data-versionurl" or (name == "data-originalurl" and value == attributes.get("href"))
            if is_copy or not may_hold_ark(value):
                continue
            where = f"{location}/@{name}"
            if where == "a/@href":
                self._add_target(value, self._link_number(tag.start()))
                continue
            role = Role.LINK_TARGET if where in _TARGETS or name in _URL_ATTRIBUTES else Role.METADATA
            self._blocks.append(Block(value, role, place=where))


def _begins_element(tag: re.Match[str]) -> bool:
    """Return True if *tag* opens an element and does not close it itself."""
    return not tag[1] and not tag[3].endswith("/")


def attributes_of(written: str) -> dict[str, str]:
    """Return the attributes of a tag, from the text after its name.

    >>> attributes_of(' href="/?a=1&amp;b" hidden=""')
    {'href': '/?a=1&b', 'hidden': ''}
    """
    return {name: decode_references(value) for name, value in _ATTRIBUTE.findall(written)}


def _meta_place(attributes: Mapping[str, str]) -> str:
    """Return a name for a ``meta`` element that distinguishes it from the others.

    >>> _meta_place({"name": "DC.identifier", "content": "ark:/12148/btv1b8"})
    'meta[name=DC.identifier]'
    """
    for key in _META_KEYS:
        if key in attributes:
            return f"meta[{key}={attributes[key].strip()}]"
    return "meta"


# Links to other documents except plain links, and the page's instructions to crawlers.

#: Relations of a ``link`` element that lead to another document or another part of this one. Left out are ``canonical``
#: and ``cite-as`` (this page again), ``search``, ``license`` and those for the page's appearance.
_FOLLOWED = frozenset({"chapter", "contents", "describedby", "item", "next", "prev", "previous", "section"})
#: Media types of alternates for readers. Other alternates are the many export formats of a repository, and feeds and
#: oEmbed, which repeat the pages.
_FOR_READERS = re.compile(
    r"|text/html|application/(?:xhtml\+xml|pdf|epub\+zip|msword|vnd\.(?:ms-|oasis\.|openxmlformats-).*)", re.IGNORECASE
)
#: ``meta`` elements with the URL of the document itself, as library catalogues and Google Scholar read them.
_DOCUMENT_META = frozenset({"bepress_citation_pdf_url", "citation_pdf_url", "eprints.document_url"})
_CRAWLERS = frozenset({"arkaudit", "robots"})


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
    parts: list[str] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)

    def read(self, element: Element) -> None:
        """Read an element that is a link, a frame or an embedded document, or describes the page."""
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
                self._link(element)
            case "meta":
                self._meta(element)
            case "frame" | "iframe":  # in the order of other links
                if target := element.get("src"):
                    self.targets.setdefault(target, False)
                    self.parts.append(target)
            case "embed":
                self._add(element.get("src"), self.documents)
            case "object":
                self._add(element.get("data"), self.documents)

    def _link(self, element: Element) -> None:
        relations = set((element.get("rel") or "").lower().split())
        media_type = (element.get("type") or "").partition(";")[0].strip()
        is_alternate = "alternate" in relations and "stylesheet" not in relations
        if "item" in relations:
            self._add(element.get("href"), self.documents)
        elif relations & _FOLLOWED or (is_alternate and _FOR_READERS.fullmatch(media_type)):
            self._add(element.get("href"), None)

    def _meta(self, element: Element) -> None:
        name = (element.get("name") or "").strip().lower()
        content = element.get("content") or ""
        if name in _CRAWLERS:
            self.robots.append(content)
        elif name in _DOCUMENT_META:
            self._add(content, self.documents)
        elif (element.get("http-equiv") or "").strip().lower() == "refresh":
            self._add(refresh_target(content), self.parts)

    def _add(self, target: str | None, among: list[str] | None) -> None:
        if target:
            self.links.append(target)
            if among is not None:
                among.append(target)
