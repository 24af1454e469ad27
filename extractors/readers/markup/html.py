"""HTML: what a page shows, where it links to and what it says about itself, as far as it may be about an ARK.

lxml parses; from there on the page is well-formed markup, in which a tag is ``<[^>]*>`` whatever stood in the source.
In it the places are looked for where a label may stand; only around these the page is read, so that a page without an
ARK costs little more than its parsing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from lxml import etree
from w3lib.encoding import html_body_declared_encoding

from extractors.document_model import Block, Finding, Reading
from extractors.readers.markup.following import Following, unfollowed_links
from extractors.readers.markup.html_source import CONTROLS, flat, parseable, with_controls_spelled
from extractors.readers.markup.no_label import holds_no_label, nests_little
from extractors.readers.markup.page import MarkupPage, plain
from extractors.readers.markup.scripts import script_blocks
from extractors.readers.markup.targets import leads_to_document, may_hold_ark
from extractors.readers.plain import decode
from extractors.readers.recognized import is_hocr, read_recognized

MEDIA_TYPE = "text/html"
MOST_BYTES = 32 * 2**20

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4."""

#: Elements of which nothing is seen but their attributes.
_UNSEEN = ("iframe", "noembed", "script", "style", "template")

#: Links to follow. Attributes are matched one by one: a value may hold what looks like an attribute.
_ATTRIBUTES = r'(?: =?[^ =]*="[^"]*")*?'
_LINK = re.compile(rf'<a(?:rea)?{_ATTRIBUTES} href="([^"]*)"')
_LINK_OR_FRAME = re.compile(rf'<(?:a(?:rea)?{_ATTRIBUTES} href|i?frame{_ATTRIBUTES} src)="([^"]*)"')

#: What raises text, as `sup` does; in a style sheet, with the class that has it.
_RAISE = (
    r"(?:vertical-align\s*:\s*(?:super|text-top|\+?(?!0)[0-9.]+(?:em|ex|px|pt|%))|font-variant-position\s*:\s*super)"
)
_RAISED_STYLE = re.compile(_RAISE, re.IGNORECASE)
_RAISED_CLASS = re.compile(rf"\.([\w-]+)\s*\{{[^{{}}]*{_RAISE}", re.IGNORECASE)
#: From hyphen to hyphen, which `re` leaps to (`memchr`): it looks at each letter of a pattern that begins with one.
_SPEAKS_OF_RAISING = re.compile("-(?:(?<=vertical-)align|(?<=font-)variant-position)", re.IGNORECASE)
_INLINE = frozenset({"a", "b", "em", "font", "i", "small", "span", "strong"})
_MOST_STYLE_CHARS = 2**20
_COMMENT = re.compile(
    r"<(?P<raw>script|style|textarea|xmp)\b(?:.*?</(?P=raw)\b|.*)|<!--(?P<comment>.*?)(?:-->|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ARK_WORD = re.compile(r"ark:/?[0-9a-z]{5}/[^\s\"'<>]*[^\s\"'<>.,;:)]", re.IGNORECASE)
#: What each such word holds; `re` leaps from colon to colon.
_LABEL_AND_NAAN = re.compile(r":(?<=ark:)/?[0-9a-z]{5}/", re.IGNORECASE)
_MOST_HIDDEN = 10

_TITLE = re.compile("<[tT][iI][tT][lL][eE]")
_END_OF_TITLE = re.compile(r"</[tT][iI][tT][lL][eE](?P<is_whole>\s*>)?")

#: How libxml2 writes a character that XML can't spell.
_UNSPELLABLE = "&#xFFFD;"


def read_html(data: bytes, *, charset: str | None = None, with_links: bool = True) -> Reading:
    """Return what may hold an ARK in a page, its links, title and base; *charset* is what HTTP declared, if anything.

    Text, link targets and metadata come in page order, then what stands in scripts. Text is passed over in which
    nothing looks like a label, and so are targets that neither look like an ARK nor belong to such a text. Where its
    links are not wanted, a page that surely holds no ARK is not parsed.

    >>> reading = read_html(b'<p>Not here.<p>See <a href="/ark:/12148/btv1b8">ark:/12148/<wbr>btv1b8</a>.')
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', 'a/@href', '/ark:/12148/btv1b8'), ('text', 'p', 'See ark:/12148/btv1b8.')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("cut-off", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset, html_body_declared_encoding(data))
    source = parseable(decoded.text)
    findings += [*decoded.findings, *source.findings, *_comment_findings(decoded.text)]
    markup = source.markup
    if not with_links and not source.left_out and holds_no_label(markup) and nests_little(markup):
        title = _title_of(markup)
        if title is not None:
            return Reading(MEDIA_TYPE, title=title, findings=tuple(findings))
    tree = _parsed(markup)
    if tree.is_cut_short:
        findings.append(Finding("malformed-markup", f"read without its structure: {tree.fault}"))
        markup = flat(markup)
        tree = _parsed(markup)
    if tree.root is None:
        return Reading(MEDIA_TYPE, source.left_out, findings=tuple(findings))
    if is_hocr(markup):
        return replace(read_recognized(tree.root, MEDIA_TYPE), findings=tuple(findings))
    beside = _beside_the_text(tree.root, speaks_of_raising=_SPEAKS_OF_RAISING.search(markup) is not None)
    page = MarkupPage(_well_formed(tree.root, markup))
    targets = dict.fromkeys((_LINK_OR_FRAME if beside.has_frames else _LINK).findall(page.markup))
    following = beside.following
    links = dict.fromkeys(filter(leads_to_document, [*following.links, *map(plain, targets)]))
    return Reading(
        MEDIA_TYPE,
        (*page.blocks(), *beside.scripts, *source.left_out),
        tuple(links),
        beside.base,
        beside.title,
        tuple(findings),
        documents=tuple(following.documents),
        parts=tuple(following.parts),
        unfollowed=tuple(unfollowed_links(page.markup)),
        robots=tuple(following.robots),
    )


def _comment_findings(markup: str) -> list[Finding]:
    """Return a finding that names ARKs in comments: no reader of the page sees them, so that it doesn't cite them.

    >>> page = "<!-- was ark:/12148/x5. --><script><!-- ark:/12148/x6 --></script>"
    >>> [finding.detail for finding in _comment_findings(page)]
    ['in comments, which the page does not show: ark:/12148/x5']
    """
    may_be = "<!--" in markup and _LABEL_AND_NAAN.search(markup) is not None
    comments = (found["comment"] for found in _COMMENT.finditer(markup)) if may_be else ()
    hidden = dict.fromkeys(
        word for comment in comments if comment and may_hold_ark(comment) for word in _ARK_WORD.findall(comment)
    )
    if not hidden:
        return []
    named = ", ".join(list(hidden)[:_MOST_HIDDEN])
    more = f" and {len(hidden) - _MOST_HIDDEN} more" if len(hidden) > _MOST_HIDDEN else ""
    return [Finding("hidden-ark", f"in comments, which the page does not show: {named}{more}")]


def _title_of(markup: str) -> str | None:
    """The title, from the page as far as the end of the first one; None where more must be read for it.

    >>> _title_of("<title>An <i>ark</title><svg><title>x"), _title_of("<p>No more"), _title_of("<title></title>")
    ('An <i>ark', '', None)
    """
    end = _END_OF_TITLE.search(markup)
    if end is None:
        return None if _TITLE.search(markup) else ""
    if not end["is_whole"]:  # "</titles>"
        return None
    root = _parsed(markup[: end.end()]).root
    return None if root is None else _beside_the_text(root, speaks_of_raising=False).title or None


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree that lxml made of a page, and why it stopped if it did."""

    root: Element | None
    is_cut_short: bool = False
    fault: str = ""


def _parsed(markup: str) -> _Tree:
    """The tree of decoded *markup*, for lxml takes bytes without a declared charset for Latin-1.

    A limit of libxml2, such as 2,048 open elements, ends the parsing without an exception, as the last fault.
    `huge_tree` lifts the limit of 10 MB for one run of text, and `MOST_BYTES` bounds the whole.
    """
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.LxmlError as error:
        return _Tree(None, is_cut_short=True, fault=str(error))
    if root is not None:
        root.extend(list(root.itersiblings()))  # behind "</html>", lxml begins another element of that name
    faults = parser.error_log
    is_cut_short = bool(faults) and faults[-1].level == etree.ErrorLevels.FATAL
    return _Tree(root, is_cut_short, faults[-1].message if is_cut_short else "")


@dataclass(slots=True)
class _PageFacts:
    """The facts of a page beside its text."""

    title: str = ""
    base: str | None = None
    has_frames: bool = False
    scripts: list[Block] = field(default_factory=list)
    following: Following = field(default_factory=Following)


def _mark_raised(root: Element) -> None:
    """Make `sup` of what a style raises: a raised 3 behind an ARK is a footnote mark, not its last character."""
    sheets = "".join(element.text or "" for element in root.iter("style"))[:_MOST_STYLE_CHARS]
    raised = set(_RAISED_CLASS.findall(sheets))
    for element in root.xpath("//*[@style or @class]"):
        is_raised = not raised.isdisjoint(element.get("class", "").split())
        is_raised = is_raised or _RAISED_STYLE.search(element.get("style", "")) is not None
        if is_raised and element.tag in _INLINE and not may_hold_ark(element.get("href", "")):
            element.tag = "sup"


def _beside_the_text(root: Element, *, speaks_of_raising: bool) -> _PageFacts:
    """Title, base and what stands in scripts; what isn't seen of the page is taken out of the tree."""
    found = _PageFacts()
    if speaks_of_raising:
        _mark_raised(root)
    for element in root.iter("title", "base", "embed", "frame", "link", "meta", "object", *_UNSEEN):
        if element.tag == "title":
            found.title = found.title or " ".join("".join(element.itertext()).split())
        elif element.tag == "base":
            found.base = element.get("href") if found.base is None else found.base
        elif element.tag in ("embed", "link", "meta", "object"):
            found.following.read(element)
        else:
            if element.tag in ("frame", "iframe"):
                found.has_frames = True
                found.following.read(element)
            if element.tag == "script" and element.text:
                found.scripts += script_blocks(element.text, element.get("type", ""))
            del element[:]
            element.text = None
    return found


def _well_formed(root: Element, markup: str) -> str:
    """The tree as markup that is well-formed, but for characters that XML can't spell: they are kept, too."""
    written = _written(root)
    if _UNSPELLABLE not in written:
        return written
    tree = _parsed(with_controls_spelled(markup))
    if tree.root is None or tree.is_cut_short:
        return written
    _beside_the_text(tree.root, speaks_of_raising=_SPEAKS_OF_RAISING.search(markup) is not None)
    return _written(tree.root).translate(CONTROLS)


def _written(root: Element) -> str:
    root.getroottree().docinfo.clear()  # for XHTML, libxml2 would add attributes and elements of its own
    return str(etree.tostring(root, encoding="unicode"))
