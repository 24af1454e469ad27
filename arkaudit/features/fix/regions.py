"""The parts of a text that are left out, by its format: code, comments, quotations, and all but links in data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from operator import itemgetter

from markdown_it import MarkdownIt

from extractors.readers.markup.markdown import MOST_BYTES

Region = tuple[int, int, str]
"""A part of a text: start, end and the reason to leave it out."""

CODE = "it is in code"
COMMENT = "it is in a comment"
DATA = "it is in data about the document"
QUOTATION = "it is quoted"
INDENTED = "it is in an indented paragraph: code or a quotation"
TEXT_OF_XML = "it is not in a link of TEI, JATS or EAD"
NOT_A_URL_FIELD = "it is not in a field for a URL"


def without_overlaps(overlapping_regions: Iterable[Region]) -> Iterator[Region]:
    """Yield *overlapping_regions* in order, each without the part that an earlier one covers.

    >>> list(without_overlaps([(5, 9, "b"), (0, 6, "a"), (1, 2, "c")]))
    [(0, 6, 'a'), (6, 9, 'b')]
    """
    covered_end = 0
    for start, end, reason in sorted(overlapping_regions):
        if end > covered_end:
            yield max(start, covered_end), end, reason
            covered_end = end


def _outside(kept_spans: Iterable[tuple[int, int]], text: str, reason: str) -> Iterator[Region]:
    """Yield the regions before, between and after *kept_spans* of *text*, which are in order, with this *reason*."""
    edges = [0, *(edge for part in kept_spans for edge in part), len(text)]
    return ((start, end, reason) for start, end in list(pairwise(edges))[::2])


def _matches(text: str, patterns: Mapping[re.Pattern[str], str]) -> Iterator[Region]:
    return ((*match.span(), reason) for pattern, reason in patterns.items() for match in pattern.finditer(text))


def _end_of(end_mark: str, text: str, start: int) -> int:
    """Return the offset after the first *end_mark* from *start* on, or the length of *text*."""
    end = text.find(end_mark, start)
    return end + len(end_mark) if end >= 0 else len(text)


# -- plain text, reStructuredText and AsciiDoc: fences, paragraphs by their first line, and parts of a line

_FENCE = re.compile(r"^[ \t]*+(?P<fence>```|~~~)", re.MULTILINE)
_ASCIIDOC_FENCE = re.compile(r"^(?P<fence>-{4,}|\.{4,}|\+{4,}|/{4,}|_{4,})", re.MULTILINE)
_PARTS = {
    re.compile(r"^[ \t]*+>.*", re.MULTILINE): QUOTATION,
    re.compile(r"^//.*", re.MULTILINE): COMMENT,
    # A link of reStructuredText has an address in angle brackets.
    re.compile(r"``[^`]{1,500}``|`[^`<\n]{1,500}`|(?<!\w)\+[^+\n]{1,500}\+(?!\w)"): CODE,
}
_PARAGRAPH = re.compile(r"(?:^[ \t]*+\S.*+\n?+)++", re.MULTILINE)
_FIRST_LINES = {
    re.compile(r"[ \t]++(?!(?:[-*+•.]{1,5}|\(?(?:\w|\d{1,3}|#)[.)])[ \t])"): INDENTED,
    re.compile(
        r">>>|\[(?:source|listing|literal|quote|verse)|\.\. (?:code|raw|math|parsed-literal|[\w-]{0,9}test)"
    ): CODE,
    # A character more or less would break the grid of a table of reStructuredText.
    re.compile(r"\+[-=]|={1,500}[ ]{1,20}="): "it is in a table of fixed columns",
    # No target (_), footnote ([), substitution (|) or directive of reStructuredText.
    re.compile(r"\.\.(?![ ](?:[\[_|]|[\w:+.-]{1,60}::))(?=\s|\Z)"): COMMENT,
}


def _between_fences(text: str, fence: re.Pattern[str]) -> Iterator[Region]:
    """Yield the code from a line that begins with a *fence* to the next line with the same one, or to the end."""
    first_line: re.Match[str] | None = None
    for line in fence.finditer(text):
        if first_line is None:
            first_line = line
        elif first_line["fence"] == line["fence"]:
            yield first_line.start(), line.end(), CODE
            first_line = None
    if first_line is not None:
        yield first_line.start(), len(text), CODE


def plain_regions(text: str) -> Iterator[Region]:
    """Yield the quoted lines and the code of a plain text."""
    yield from _between_fences(text, _FENCE)
    yield from _matches(text, _PARTS)


def restructured_regions(text: str) -> Iterator[Region]:
    """Yield code, comments and quotations of reStructuredText."""
    yield from plain_regions(text)
    for paragraph in _PARAGRAPH.finditer(text):
        for pattern, reason in _FIRST_LINES.items():
            if pattern.match(text, *paragraph.span()):
                yield *paragraph.span(), reason


def asciidoc_regions(text: str) -> Iterator[Region]:
    """Yield code, comments and quotations of AsciiDoc, whose paragraphs are like those of reStructuredText."""
    yield from restructured_regions(text)
    yield from _between_fences(text, _ASCIIDOC_FENCE)


# -- Markdown

_FENCE_OF_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n")
_LINE_END = re.compile(r"\r\n|\n|\r")
_BACKTICKS = re.compile(r"(?P<marks>(?<!\\)`++)|\n[ \t]*+\r?\n")
_STRUCK = {re.compile(r"~~[^~\n]{1,500}~~"): QUOTATION}
_BLOCKS = {"fence": CODE, "code_block": CODE, "blockquote_open": QUOTATION}


def markdown_regions(text: str) -> Iterator[Region]:
    """Yield the front matter, code and quotations of Markdown, and the `html_regions` of its HTML."""
    if len(text) > MOST_BYTES:
        yield 0, len(text), "the file is too long"
        return
    body_start = 0
    if matter := _FENCE_OF_MATTER.match(text):
        body_start = _end_of(f"\n{matter[1]}", text, matter.end() - 1)
        yield 0, body_start, DATA
    lines = [body_start, *(end.end() for end in _LINE_END.finditer(text, body_start)), len(text)]
    for block in MarkdownIt("commonmark").disable("inline").parse(text[body_start:]):
        if block.type in _BLOCKS and block.map:
            yield lines[block.map[0]], lines[min(block.map[1], len(lines) - 1)], _BLOCKS[block.type]
    yield from _code_spans(text)
    yield from _matches(text, _STRUCK)
    yield from html_regions(text)


def _code_spans(text: str) -> Iterator[Region]:
    """Yield the code spans of Markdown (CommonMark 0.31, 6.1): the text between equally many backticks.

    >>> [text[start:end] for text in ("a `b` ``c ` d`` `e",) for start, end, _ in _code_spans(text)]
    ['`b`', '``c ` d``', '` d`` `']
    """
    starts_by_length: dict[int, int] = {}
    for marks in _BACKTICKS.finditer(text):
        length = len(marks["marks"] or "")
        if length == 0:
            starts_by_length.clear()
        elif length in starts_by_length:
            yield starts_by_length.pop(length), marks.end(), CODE
        else:
            starts_by_length[length] = marks.start()


# -- HTML and XML

#: Elements of HTML, TEI, JATS and EAD by what they hold, by their local names.
_CODE = "code kbd math pre preformat samp script style svg template textarea tt var egxml"
_QUOTED = "blockquote cit del disp-quote orig q quote s sic strike"
_ELEMENTS: Mapping[str, str] = dict.fromkeys(_CODE.split(), CODE) | dict.fromkeys(_QUOTED.split(), QUOTATION)
#: By their first letters, between which the pattern chooses at once.
_NAMES = "|".join(
    f"{first}(?:{'|'.join(sorted((name[1:] for name in names), key=len, reverse=True))})"
    for first, names in groupby(sorted(_ELEMENTS), key=itemgetter(0))
)
_MARKUP = re.compile(
    rf"""
    < (?: (?P<end> / )? (?: [\w.-]{{1,30}}+ : )?+ (?P<name> {_NAMES} ) \b [^<>]* >
        | (?P<comment> !-- ) | (?P<data> !\[CDATA\[ ) | (?P<program> [?%] ) )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_MARKUP_ENDS = {"comment": ("-->", COMMENT), "data": ("]]>", CODE), "program": ("{0}>", CODE)}
#: Expressions of Jinja, Liquid, Hugo, Vue and the like.
_TEMPLATES = {re.compile(r"\{(?:\{[^{}]{0,500}\}|%[^{}]{0,500}%|\#[^{}]{0,500}\#)\}"): CODE}


def html_regions(text: str) -> Iterator[Region]:
    """Yield comments, programs, and elements with code or quotations, which reach to the end of *text* if not closed."""
    yield from _matches(text, _TEMPLATES)
    name, depth, element_start, position = "", 0, 0, 0
    while token := _MARKUP.search(text, position):
        position = token.end()
        if token.lastgroup in _MARKUP_ENDS:
            end_mark, reason = _MARKUP_ENDS[token.lastgroup]
            position = _end_of(end_mark.format(token[token.lastgroup]), text, position)
            yield token.start(), position, reason
        elif not name and not (token["end"] or token[0].endswith("/>")):
            name, depth, element_start = token["name"].lower(), 1, token.start()
        elif name == token["name"].lower():
            depth += -1 if token["end"] else 1
            if depth == 0:
                yield element_start, position, _ELEMENTS[name]
                name = ""
    if name:
        yield element_start, len(text), _ELEMENTS[name]


_ROOT = re.compile(r"<(?:[\w.-]++:)?+([\w.-]++)")
_VOCABULARIES = frozenset({"tei", "teicorpus", "tei.2", "article", "ead"})
#: A link with its text, or any other tag.
_LINK = re.compile(
    r"<(?P<name>(?:[\w.-]{1,30}+:)?+(?:ref|ext-link|uri|self-uri|extref|archref|bibref))\b"
    r"[^<>]*(?:(?<=/)>|>[^<]*+</(?P=name)[ \t\r\n]*+>)|<[A-Za-z][^<>]*>"
)


def xml_regions(text: str) -> Iterator[Region]:
    """Yield all but the links of TEI, JATS and EAD, and the `html_regions`."""
    root = _ROOT.search(text)
    has_known_vocabulary = root is not None and root[1].lower() in _VOCABULARIES
    yield from _outside((tag.span() for tag in _LINK.finditer(text)) if has_known_vocabulary else (), text, TEXT_OF_XML)
    yield from html_regions(text)


# -- LaTeX, BibTeX and RIS

_TEX = re.compile(
    r"""
    (?P<comment> % )
  | \\ (?: begin \{ (?P<code> [A-Za-z]{0,20}?
             (?: [vV]erbatim | listing | minted | alltt | [cC]ode | Highlighting | filecontents | comment ) [a-z]{0,9} )
         | begin \{ (?P<quotation> [a-z]{0,20}? (?: quot | verse | epigraph ) [a-z]{0,9} )
         | (?: [vV]erb | lstinline | code | mint (?: inline )? (?: \{ \w{0,30} \} )? ) \*? (?: \[ [^\]\n]{0,200} \] )?
           (?P<sign> [^\w\s*\[] )
         | (?P<definition> (?: re | provide )? newcommand | def | hypersetup | lstset ) \b
         | (?P<false> iffalse ) \b
         | (?: [a-z]{0,20}? quote | epigraph ) \b (?P<quoting> [^{}\n]{0,200} \{ )
         | . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: The ends of these parts.
_TEX_ENDS = {
    "comment": ("\n", COMMENT),
    "code": ("\\end{{{0}", CODE),
    "quotation": ("\\end{{{0}", QUOTATION),
    "sign": ("{0}", CODE),
    "definition": ("\n\n", CODE),
    "false": ("\\fi", COMMENT),
}
_BEGIN_DOCUMENT = "\\begin{document}"
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)


def latex_regions(text: str) -> Iterator[Region]:
    """Yield the preamble, comments, verbatim text, quotations and definitions of LaTeX."""
    position = _end_of(_BEGIN_DOCUMENT, text, 0) if _BEGIN_DOCUMENT in text else 0
    yield 0, position, DATA
    while token := _TEX.search(text, position):
        position, kind = token.end(), token.lastgroup
        if kind == "quoting":
            position = _end_of_arguments(text, position)
            yield token.start(), position, QUOTATION
        elif kind is not None:
            end_mark, reason = _TEX_ENDS[kind]
            position = _end_of(end_mark.format(token[kind].replace("{", "}")), text, position)
            yield token.start(), position, reason


def _end_of_arguments(text: str, start: int) -> int:
    """Return the offset after the arguments of a LaTeX command, whose first brace ends at *start*; or the length."""
    depth = 1
    for brace in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and not text.startswith("{", brace.end()):
            return brace.end()
    return len(text)


#: The values of fields for URLs, and the arguments of links.
_BIBTEX_ADDRESS = re.compile(
    r"(?:\b(?:url(?:raw)?|link|ee|pdf|bdsk-url-\d)\s{0,20}=\s{0,20}[{\"]|\\(?:url|href|nolinkurl)\s?\{)[^{}\"]*",
    re.IGNORECASE,
)
_BIBTEX_COMMENTS = {re.compile(r"@\s?(?:comment|string|preamble)\b[^@]*", re.IGNORECASE): COMMENT}
#: Fields of RIS with the address of a work, its files and its pictures, with the lines that continue them.
_RIS_ADDRESS = re.compile(r"^(?:UR|L[1-4]|LK)  -(?:.*\n?)(?:(?![A-Z][A-Z0-9]  -).+\n?)*+", re.MULTILINE)


def bibtex_regions(text: str) -> Iterator[Region]:
    """Yield all but the fields for URLs and the links of BibTeX entries."""
    yield from _matches(text, _BIBTEX_COMMENTS)
    yield from _outside((value.span() for value in _BIBTEX_ADDRESS.finditer(text)), text, NOT_A_URL_FIELD)


def ris_regions(text: str) -> Iterator[Region]:
    """Yield all but the fields for URLs of RIS."""
    return _outside((value.span() for value in _RIS_ADDRESS.finditer(text)), text, NOT_A_URL_FIELD)


def table_regions(text: str) -> Iterator[Region]:
    """Yield nothing: all cells of a table are text."""
    return iter(())
