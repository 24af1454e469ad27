"""HTML: the visible text, links and metadata of a page, as far as they may hold an ARK.

lxml parses the page and writes it as well-formed markup, where each tag matches ``<[^>]*>``. Only the text around
places of possible labels is read, so that a page without an ARK costs little more than its parsing.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Iterator
from itertools import islice

from lxml import etree
from w3lib.encoding import html_body_declared_encoding

from extractors.mentions.possible_labels import holds_no_label_in_markup, label_sign_offsets, may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import text_of, whole_characters
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.urls import leads_to_document
from extractors.readers.markup.page import SEPARATE_ELEMENTS, MarkupPage, PageFacts
from extractors.readers.markup.xml import Element

# Preparation of the source for libxml2: corrections of its errors, and limits on time and memory.


#: Every element takes memory, and a page may consist of tags only.
MOST_TAGS = 1_000_000
#: Maximum number of characters or quoted values read in one tag: libxml2 takes quadratic time over attributes.
MOST_PIECES = 4000

_XHTML = re.compile(r"<\?xml\s|<html[^<>]*\sxmlns", re.IGNORECASE)
_PROLOG_CHARS = 2000
_EMPTY_RAW_ELEMENT = re.compile(
    r"<(?P<tag>iframe|noembed|noframes|script|style|textarea|title|xmp)(?P<attributes>(?:\s[^<>]*)?)/>", re.IGNORECASE
)

#: Long tags are looked for only if some stretch of this length has no tag end, or the page is long.
_STRETCH_CHARS = 8192
#: In pages of this length, long tags are always looked for, because values may hold ``>``.
_LONG_PAGE_CHARS = 2**19
_PIECE = r"""(?:[^>"']|"[^"]*+"|'[^']*+')"""
_TAG_TO_LIMIT = re.compile(rf"<[a-z]{_PIECE}{{0,{MOST_PIECES}}}+", re.IGNORECASE)
#: A whole tag, or a comment or script, which contain no tags. (Without IGNORECASE, long runs are read faster; the
#: letters are those that match [a-z] with it.)
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

#: Safe nesting depth: libxml2 reads 2,048 open elements, including some that it adds.
_SURE_DEPTH = 2000
#: An element that contains only text. (Inside an attribute value, its tag doesn't count as opened.)
_LEAF = re.compile(
    r"""<([a-zA-Z]++)(?:[ \t\n\r][^<>"']*+(?:"[^<>"]*+"[^<>"']*+|'[^<>']*+'[^<>"']*+)*+)?>[^<>]*+</\1>"""
)

# XML can't represent most control characters; they are replaced by noncharacters, which don't occur in text.
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f]|&#(?:0*([1-9]|[12][0-9]|3[01])|[xX]0*([1-9a-fA-F]|1[0-9a-fA-F]));")
_FIRST_NONCHARACTER = 0xFDD0
CONTROLS = {_FIRST_NONCHARACTER + code: code for code in range(32)}
"""The table for `str.translate` that restores the characters replaced by `with_controls_spelled`."""

_TAG_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)")
#: Elements that can't nest in themselves, or are empty.
_NOT_NESTED = frozenset(
    """
    a area base body br col embed frame head hr html iframe img input link meta noembed param script style
    textarea title xmp
    """.split()  # noqa: SIM905 (as a list, twenty lines)
)


def prepare_source(markup: str) -> tuple[str, list[Finding], list[Block]]:
    """Return *markup* without what libxml2 parses in more than linear time, findings, and blocks of removed attributes.

    >>> prepare_source("<?xml version='1.0'?><title/>")[0]
    "<?xml version='1.0'?><title></title>"
    """
    findings: list[Finding] = []
    if _XHTML.search(markup, 0, _PROLOG_CHARS):  # an HTML parser takes <title/> for an opening tag
        markup = _EMPTY_RAW_ELEMENT.sub(r"<\g<tag>\g<attributes>></\g<tag>>", markup)
    if len(markup) > MOST_TAGS and markup.count("<") > MOST_TAGS:
        findings.append(Finding("cut-off", f"not read beyond tag {MOST_TAGS}"))
        markup = "<".join(markup.split("<", MOST_TAGS)[:MOST_TAGS])
    stretch_ends = range(_STRETCH_CHARS, len(markup) + 1, _STRETCH_CHARS)
    if len(markup) < _LONG_PAGE_CHARS and all(markup.find(">", end - _STRETCH_CHARS, end) >= 0 for end in stretch_ends):
        return markup, findings, []
    markup, removed_pieces = _without_long_tags(markup)
    if removed_pieces:
        findings.append(Finding("cut-off", f"elements with too many attributes: {len(removed_pieces)}"))
    removed_blocks = [Block(rest, Role.METADATA) for rest in map(html.unescape, removed_pieces) if may_hold_ark(rest)]
    return markup, findings, removed_blocks


def _without_long_tags(markup: str) -> tuple[str, list[str]]:
    """Return *markup* with its tags cut after `MOST_PIECES`, and the removed ends of tags."""
    kept_pieces: list[str] = []
    removed_pieces: list[str] = []
    copied_to = pos = 0
    while tag := _TAG.search(markup, pos):
        start, pos = tag.span()
        if pos - start <= MOST_PIECES or tag["tag"] is None:
            continue
        to_limit = _TAG_TO_LIMIT.match(markup, start)
        pos = to_limit.end() if to_limit is not None else pos
        rest_of_tag = _REST_OF_TAG.match(markup, pos)
        if rest_of_tag is not None and rest_of_tag[0]:
            last_blank = max(markup.rfind(blank, start, pos) for blank in "\t\n\r ")
            cut_offset = pos if last_blank < 0 else last_blank
            kept_pieces.append(markup[copied_to:cut_offset])
            copied_to = pos = rest_of_tag.end()
            removed_pieces.append(markup[cut_offset:copied_to])
    return "".join([*kept_pieces, markup[copied_to:]]), removed_pieces


def with_controls_spelled(markup: str) -> str:
    """Return *markup* with each control character, raw or as a reference, replaced by a valid character.

    >>> ascii(with_controls_spelled("a\\x02b&#2;c&#10;").translate(CONTROLS))
    "'a\\\\x02b\\\\x02c&#10;'"
    """
    return _CONTROL.sub(_valid_character, markup.replace("\f", "\n\n"))


def _valid_character(control: re.Match[str]) -> str:
    decimal, hexadecimal = control.groups()
    code = int(decimal) if decimal else int(hexadecimal, 16) if hexadecimal else ord(control[0])
    return control[0] if chr(code) in "\t\n\r" else chr(_FIRST_NONCHARACTER + code)


def flatten(markup: str) -> str:
    """Return *markup* with elements replaced by empty ones, for pages that are nested more deeply than libxml2 allows.

    >>> flatten("<div class=x><b>ark:</b><a href=y>z</a></div>")
    '<hr class=x><param>ark:<param><a href=y>z</a><hr>'
    """
    return _TAG_NAME.sub(_flat_tag, markup)


def _flat_tag(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if name in _NOT_NESTED:
        return tag[0]
    return "<hr" if name in SEPARATE_ELEMENTS else "<param"


def is_shallow(source: str) -> bool:
    """Return True if the elements of a page are certainly nested less deeply than the parser's limit.

    >>> is_shallow("<p>" * 3000), is_shallow("<b>x</b>" * 3000)
    (False, True)
    """
    open_count = source.count("<") - source.count("</")
    leaves = islice(_LEAF.finditer(source), max(0, open_count - _SURE_DEPTH))  # no more are needed
    return open_count - sum(1 for _ in leaves) <= _SURE_DEPTH


# Scripts in a page: JSON of any kind, and the string literals of programs, as far as they may hold an ARK.


_JSON_TYPES = frozenset({"importmap", "speculationrules"})

_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPED_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": ""}
_QUOTES = "\"'`"
_END_OF_LITERAL = re.compile(rf"[{_QUOTES}\n\r\u2028\u2029]")
#: A variable that a program joins to a literal.
_JOINED_VARIABLE = re.compile(rf"[{_QUOTES}]\s?\+\s?[A-Za-z$_(]")
#: A literal is read up to this distance from a label: scripts may be one line of megabytes.
_REACH_CHARS = 2000


def script_blocks(source: str, media_type: str) -> Iterator[Block]:
    r"""Yield the decoded strings of a script that may hold an ARK: the values of JSON, the literals of other scripts.

    *media_type* is the script's ``type``, or empty. Strings assembled from several literals are missing.

    >>> [block.text for block in script_blocks(r'{"@id": "ark\u003a\/12148\/x5", "is": ["y", 1]}', "application/json")]
    ['ark:/12148/x5']
    >>> [block.text for block in script_blocks(r'let a = "\x61rk:\/12148/x5", b = "c";', "")]
    ['ark:/12148/x5']
    """
    if not label_sign_offsets(source):
        return
    script_type = media_type.partition(";")[0].strip().lower()
    values = _literals(source)
    if script_type.endswith("json") or script_type in _JSON_TYPES:
        with contextlib.suppress(ValueError, RecursionError):
            values = _strings(json.loads(source))
    location = f"script[type={script_type}]" if script_type else "script"
    for value in values:
        if may_hold_ark(value):
            yield Block(whole_characters(value), Role.STRUCTURED_DATA, place=location)


def _strings(document: object) -> Iterator[str]:
    """Yield the string values of a JSON document, in order."""
    pending_values = [document]
    while pending_values:  # a stack, not recursion, because the depth may be hostile
        value = pending_values.pop()
        if isinstance(value, dict):
            pending_values.extend(reversed(value.values()))
        elif isinstance(value, list):
            pending_values.extend(reversed(value))
        elif isinstance(value, str):
            yield value


def _literals(source: str) -> Iterator[str]:
    """Yield the string literals of a script that contain a label, decoded as in JavaScript.

    The source of a variable that is joined to a literal is added, because the ARK continues in it. A literal ends at any
    quote, even if another kind opened it; one that ends at a line end is left out.
    """
    read_to = 0
    for label_offset in as_time_allows(label_sign_offsets(source), "label"):
        if label_offset < read_to:
            continue
        first_offset = max(read_to, label_offset - _REACH_CHARS)
        literal_beginning = _END_OF_LITERAL.split(source[first_offset:label_offset])[-1]
        start = label_offset - len(literal_beginning)
        end_match = _END_OF_LITERAL.search(source, label_offset, label_offset + _REACH_CHARS)
        end = end_match.start() if end_match else min(len(source), label_offset + _REACH_CHARS)
        is_long = start == first_offset > read_to
        has_beginning = is_long or (start > 0 and source[start - 1] in _QUOTES)
        if has_beginning and (end_match is None or end_match[0] in _QUOTES):
            variable = _JOINED_VARIABLE.match(source, end)
            yield _ESCAPE.sub(_unescape, source[start : variable.end() if variable else end])
        read_to = end


def _unescape(escape: re.Match[str]) -> str:
    code_point, code_unit, octet, character = escape.groups()
    if character is not None:
        return _ESCAPED_CONTROLS.get(character, character)
    code = int(code_point or code_unit or octet, 16)
    return chr(code) if code <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"


MEDIA_TYPE = "text/html"
MOST_BYTES = 32 * 2**20

#: Elements whose content is invisible.
_INVISIBLE_ELEMENTS = ("iframe", "noembed", "script", "style", "template")

#: CSS that raises text, like `sup`; in a style sheet, with the class.
_RAISING_DECLARATION = (
    r"(?:vertical-align\s*:\s*(?:super|text-top|\+?(?!0)[0-9.]+(?:em|ex|px|pt|%))|font-variant-position\s*:\s*super)"
)
_RAISED_STYLE = re.compile(_RAISING_DECLARATION, re.IGNORECASE)
_RAISED_CLASS = re.compile(rf"\.([\w-]+)\s*\{{[^{{}}]*{_RAISING_DECLARATION}", re.IGNORECASE)
#: Anchored at the hyphen, which `re` finds by `memchr`; a pattern that begins with a letter is slower.
_RAISING_PROPERTY = re.compile("-(?:(?<=vertical-)align|(?<=font-)variant-position)", re.IGNORECASE)
_NOTE_MARK = re.compile(r"\s*[\[(]?[0-9]{1,3}[\])]?\s*")
_INLINE_ELEMENTS = frozenset({"a", "b", "em", "font", "i", "small", "span", "strong"})
_MOST_STYLE_CHARS = 2**20
_COMMENT = re.compile(
    r"<(?P<raw>script|style|textarea|xmp)\b(?:.*?</(?P=raw)\b|.*)|<!--(?P<comment>.*?)(?:-->|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ARK_WORD = re.compile(r"ark:/?[0-9a-z]{5}/[^\s\"'<>]*[^\s\"'<>.,;:)]", re.IGNORECASE)
#: A part of each such word; `re` skips from colon to colon.
_LABEL_AND_NAAN = re.compile(r":(?<=ark:)/?[0-9a-z]{5}/", re.IGNORECASE)
_MOST_NAMED_ARKS = 10

_TITLE = re.compile("<[tT][iI][tT][lL][eE]")
_END_OF_TITLE = re.compile(r"</[tT][iI][tT][lL][eE](?P<is_whole>\s*>)?")

#: libxml2 writes this for a character that is invalid in XML.
_INVALID_CHARACTER = "&#xFFFD;"


def read_html(data: bytes, *, charset: str | None = None, with_links: bool = True) -> Reading:
    """Return the text, links, title and base of a page; *charset* is the encoding declared by HTTP, if any.

    Text, link targets and metadata come in page order, then scripts. Text without anything like a label is skipped, and
    so are targets that neither look like an ARK nor belong to such a text. If *with_links* is False, a page that
    certainly holds no ARK is not parsed.

    >>> reading = read_html(b'<p>Not here.<p>See <a href="/ark:/12148/btv1b8">ark:/12148/<wbr>btv1b8</a>.')
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', 'a/@href', '/ark:/12148/btv1b8'), ('text', 'p', 'See ark:/12148/btv1b8.')]
    """
    text, findings = text_of(data, MOST_BYTES, charset, html_body_declared_encoding(data))
    markup, source_findings, removed_blocks = prepare_source(text)
    findings += [*source_findings, *_comment_findings(text)]
    if not with_links and not removed_blocks and holds_no_label_in_markup(markup) and is_shallow(markup):
        title = _title_of(markup)
        if title is not None:
            return Reading(MEDIA_TYPE, title=title, findings=tuple(findings))
    root, fault = _parse(markup)
    if fault is not None:
        findings.append(Finding("malformed-markup", f"read without its structure: {fault}"))
        markup = flatten(markup)
        root, _ = _parse(markup)
    if root is None:
        return Reading(MEDIA_TYPE, tuple(removed_blocks), findings=tuple(findings))
    facts = _take_page_facts(root, has_raising_style=_RAISING_PROPERTY.search(markup) is not None)
    page = MarkupPage(_well_formed(root, markup))
    links = dict.fromkeys(filter(leads_to_document, [*facts.links, *facts.targets]))
    return Reading(
        MEDIA_TYPE,
        (*page.blocks(), *facts.scripts, *removed_blocks),
        tuple(links),
        facts.base,
        facts.title,
        tuple(findings),
        documents=tuple(facts.documents),
        parts=tuple(facts.parts),
        unfollowed=tuple(target for target, is_unfollowed in facts.targets.items() if is_unfollowed),
        robots=tuple(facts.robots),
    )


def _comment_findings(markup: str) -> list[Finding]:
    """Return a finding that names the ARKs in comments, which a page doesn't show; empty without such ARKs.

    >>> page = "<!-- was ark:/12148/x5. --><script><!-- ark:/12148/x6 --></script>"
    >>> [finding.detail for finding in _comment_findings(page)]
    ['in comments, which the page does not show: ark:/12148/x5']
    """
    may_have_arks = "<!--" in markup and _LABEL_AND_NAAN.search(markup) is not None
    comments = (comment_match["comment"] for comment_match in _COMMENT.finditer(markup)) if may_have_arks else ()
    hidden_arks = dict.fromkeys(
        word for comment in comments if comment and may_hold_ark(comment) for word in _ARK_WORD.findall(comment)
    )
    if not hidden_arks:
        return []
    ark_list = ", ".join(list(hidden_arks)[:_MOST_NAMED_ARKS])
    remainder = f" and {len(hidden_arks) - _MOST_NAMED_ARKS} more" if len(hidden_arks) > _MOST_NAMED_ARKS else ""
    return [Finding("hidden-ark", f"in comments, which the page does not show: {ark_list}{remainder}")]


def _title_of(markup: str) -> str | None:
    """Return the title of a page, read from its beginning; empty without one, None if more of the page must be parsed.

    >>> _title_of("<title>An <i>ark</title><svg><title>x"), _title_of("<p>No more"), _title_of("<title></title>")
    ('An <i>ark', '', None)
    """
    title_end = _END_OF_TITLE.search(markup)
    if title_end is None:
        return None if _TITLE.search(markup) else ""
    if not title_end["is_whole"]:  # "</titles>"
        return None
    root, _ = _parse(markup[: title_end.end()])
    return None if root is None else _take_page_facts(root, has_raising_style=False).title or None


def _parse(markup: str) -> tuple[Element | None, str | None]:
    """Return the root of *markup* (None if it can't be parsed), and the fault that ended the parsing early (None if none did).

    A limit of libxml2, such as 2,048 open elements, ends the parsing without an exception. It is then the last
    error in the log. `huge_tree` lifts the limit of 10 MB for one text; `MOST_BYTES` limits the whole.
    """
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.LxmlError as error:
        return None, str(error)
    if root is not None:  # lxml begins another element of that name after "</html>"
        root.extend(list(root.itersiblings()))
    last_error = parser.error_log[-1] if parser.error_log else None
    if last_error is not None and last_error.level == etree.ErrorLevels.FATAL:
        return root, last_error.message
    return root, None


def _take_page_facts(root: Element, *, has_raising_style: bool) -> PageFacts:
    """Return title, base, links and scripts of a page, and change its tree: remove invisible content, mark raised text.

    Raised text becomes ``sup`` elements. *has_raising_style* is True if the CSS of the page may raise text.
    """
    facts = PageFacts()
    if has_raising_style:
        # Elements raised by a style become `sup`: a raised 3 after an ARK is a footnote mark, not a part of it.
        css = "".join(element.text or "" for element in root.iter("style"))[:_MOST_STYLE_CHARS]
        raised_classes = set(_RAISED_CLASS.findall(css))
        for element in root.xpath("//*[@style or @class]"):
            is_raised = not raised_classes.isdisjoint(element.get("class", "").split())
            is_raised = is_raised or _RAISED_STYLE.search(element.get("style", "")) is not None
            if is_raised and element.tag in _INLINE_ELEMENTS and not may_hold_ark(element.get("href", "")):
                element.tag = "sup"
    for element in root.iter("title", "base", "embed", "link", "meta", "object", *_INVISIBLE_ELEMENTS):
        if element.tag not in _INVISIBLE_ELEMENTS:
            facts.read(element)
            continue
        if element.tag == "script" and element.text:
            facts.scripts += script_blocks(element.text, element.get("type", ""))
        del element[:]
        element.text = None
    for link in root.iter("a", "area", "frame", "iframe"):  # only now, without the invisible ones
        facts.read(link)
        # So does the reference to a note: "x5.<a href='#n3'>3</a>".
        if "#" in link.get("href", "") and _is_reference_to_note(link):
            link.tag = "sup"
    return facts


def _is_reference_to_note(link: Element) -> bool:
    """Return True if the text of *link* is only the number of a note, no word follows directly, and its target is no ARK."""
    is_in_word = (link.tail or "")[:1].isalnum()
    is_number = _NOTE_MARK.fullmatch("".join(link.itertext())) is not None
    return is_number and not is_in_word and not may_hold_ark(link.get("href", ""))


def _well_formed(root: Element, markup: str) -> str:
    """Return the tree of *root* as well-formed markup; *markup* is its source, for characters invalid in XML."""
    well_formed_markup = _serialize(root)
    if _INVALID_CHARACTER not in well_formed_markup:
        return well_formed_markup
    root, fault = _parse(with_controls_spelled(markup))
    if root is None or fault is not None:
        return well_formed_markup
    _take_page_facts(root, has_raising_style=_RAISING_PROPERTY.search(markup) is not None)
    return _serialize(root).translate(CONTROLS)


def _serialize(root: Element) -> str:
    root.getroottree().docinfo.clear()  # for XHTML, libxml2 would add attributes and elements
    return str(etree.tostring(root, encoding="unicode"))
