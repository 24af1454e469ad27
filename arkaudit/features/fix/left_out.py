"""What is never written: formats, files and places, each with the reason. Pure functions of names and text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from arkaudit.features.fix import regions
from arkaudit.features.fix.regions import CODE, QUOTATION, Region
from arkaudit.features.fix.sources import Occurrence, Unfixable
from extractors.model.formats import FORMATS, Format
from extractors.readers.plain import HUNK

IDENTIFIER = "it is an identifier"
ATTRIBUTE = "it is in an attribute other than a link"

# -- files


@dataclass(frozen=True, slots=True)
class Form:
    """A format of text that people write, and that corrections may be written to."""

    format: Format
    suffixes: str
    left_out: Callable[[str], Iterable[Region]]
    """Returns the parts of a text that are never corrected."""
    is_prose: bool = True
    """True if the format has sentences, with quotations and examples."""


_FORMS: Sequence[Form] = (
    Form(Format.PLAIN, ".txt .text", regions.plain_regions),
    Form(Format.PLAIN, ".adoc .asciidoc", regions.asciidoc_regions),
    Form(Format.PLAIN, ".ris", regions.ris_regions, is_prose=False),
    Form(Format.MARKDOWN, ".md .markdown", regions.markdown_regions),
    Form(Format.RESTRUCTURED, ".rst .rest", regions.restructured_regions),
    Form(Format.LATEX, ".tex .ltx .latex", regions.latex_regions),
    Form(Format.BIBTEX, ".bib .bibtex", regions.bibtex_regions, is_prose=False),
    Form(Format.TABULAR, ".csv .tsv .tab", regions.table_regions, is_prose=False),
    Form(Format.HTML, ".html .htm .xhtml .xht", regions.html_regions),
    Form(Format.XML, ".xml .tei", regions.xml_regions, is_prose=False),
)
#: Signatures in a text: OpenPGP (RFC 9580, 7), SSH (PROTOCOL.sshsig), XML-DSig (its namespace).
_SIGNATURES = ("-----BEGIN PGP SIGN", "-----BEGIN SSH SIGN", "http://www.w3.org/2000/09/xmldsig#")
#: Texts of which no part is written, by their beginning or by a line: programs, Turtle and SPARQL, diffs.
_NO_PROSE = {
    re.compile(r"\A(?:#!|<\?php|User-agent:)", re.IGNORECASE): "it is a program",
    re.compile(r"^@?prefix [\w.-]{0,30}:[ ]?<", re.MULTILINE | re.IGNORECASE): "it has RDF",
    HUNK: "it is a diff",
}
#: Names of signatures and time stamps of one file; of files that list the checksums of others (BagIt, RFC 8493; OCFL;
#: checksum programs); and of either, if there is a file of that name.
_SEALS = re.compile(
    r"""
    (?P<file> .+ ) \. (?: asc | sig | sign | minisig | p7s | ots | tsr | sigstore )
  | bagit\.txt | (?: tag )? manifest-\w+\.txt | 0=ocfl_.+ | check_?sums? (?: [-_.]\w+ )*
  | (?: sha | md5 | b2 | b3 ) [\w-]* sums? \w* (?: \.\w+ )? | (?: sha-?\d+ | md5 ) (?: \.txt )?
  | (?P<list> .+ ) \. (?: md5 | sha\d+ | sfv | (?: md5 | sha\d+ ) sums? )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def form_of(name: str, file_format: str) -> Form:
    """Return the form of a file by its *name* and the format of its content. Raises `Unfixable` if there is none.

    >>> form_of("run.sh", Format.PLAIN)
    Traceback (most recent call last):
    ...
    arkaudit.features.fix.sources.Unfixable: plain text in .sh files is only listed
    """
    suffix = PurePath(name).suffix.lower()
    for form in _FORMS:
        if form.format is file_format and suffix in form.suffixes.split():
            return form
    title, is_written = FORMATS[file_format].title, any(form.format is file_format for form in _FORMS)
    subject = f"in {suffix or 'other'} files is" if is_written else "files are"
    raise Unfixable(f"{title} {subject} only listed")


def _file_refusal(text: str, form: Form) -> str:
    """Return the reason why no part of *text* may be corrected; empty if some parts may be."""
    if any(signature in text for signature in _SIGNATURES):
        return "it is signed"
    patterns = _NO_PROSE.items() if form.format is Format.PLAIN else ()
    return next((reason for pattern, reason in patterns if pattern.search(text)), "")


def seals_in(names: Collection[str]) -> Mapping[str | None, str]:
    """Return the signatures and checksums among the *names* in a folder, by the name of the file that they verify.

    The key None has one that may verify any file of the folder.

    >>> seals_in(["a", "a.sig", "b", "b.md5"]), seals_in(["SHA256SUMS"]), seals_in(["a", "c.md5"])
    ({'a': 'a.sig', 'b': 'b.md5'}, {None: 'SHA256SUMS'}, {None: 'c.md5'})
    """
    seals = [seal for name in sorted(names) if (seal := _SEALS.fullmatch(name))]
    return {seal["file"] or (seal["list"] if seal["list"] in names else None): seal[0] for seal in seals}


# -- places

#: Characters around a citation that show how it is used.
_AROUND = 400
#: Links of HTML, TEI P5, JATS and EAD, and the attributes with their addresses.
_LINKS = re.compile(
    r"<(?:[\w.-]{1,30}:)?(?:a|area|ref|ptr|ext-link|uri|self-uri|extref|extptr|dao|daoloc|archref|bibref)\b",
    re.IGNORECASE,
)
_ADDRESSES = frozenset({"href", "target", "xlink:href"})
#: RDFa (RDFa Core 1.1, 5) and microdata, whose links name things.
_RDFA = re.compile(
    r"\s(?:(?:property|about|resource|typeof|itemprop|itemid|rev)=|rel=[\"']?[^\"'>]{0,200}\w:)", re.IGNORECASE
)
#: Not a link of Markdown in angle brackets.
_TAG_BEGINS = re.compile("<(?!https?:)[/!?A-Za-z]")
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]{1,50})\s?=\s?(?:\"[^\"]*|'[^']*|[^\s\"'<>]*)\Z")
_TAG = re.compile(r"<(?P<end>/)?(?P<name>[A-Za-z][\w-]*+)?[^<>]*>")
_INLINE = frozenset("a abbr b bdi bdo cite em font i mark small span strong sub sup u wbr".split())  # noqa: SIM905
_ADDRESS_BEFORE = re.compile(r"[^\s<>\"'“”«»()\[\]{}|\\^`]*\Z")
_OUTER_ADDRESS = re.compile(r"://|\?|%3A")
_LITERAL = re.compile(r"(?:[=(\[{,:]\s?|\b(?:curl|wget)\s)[\"'`]\Z")
_COMMAND = re.compile(r"(?:[$%] |PS>|(?:curl|wget)\b|(?:export )?[A-Z_]+=).*\Z|(?:\w+ )?[\w.]+ ?:?= ?[\"']?\Z")
_SIC = re.compile(r"\W{0,3}[\[(]?sic\b")
#: Text in quotation marks, in the usual pairs.
_QUOTED = re.compile(r"„[^„“”]*+[“”]|“[^“”]*+”|«[^«»]*+»|»[^«»]*+«|``[^`']*+''|\"[^\"]*+\"|‹[^‹›]*+›|‘[^‘’]*+’")
_PARAGRAPH_END = re.compile(r"\n[ \t]*+\r?\n")


class LeftOut:
    """The parts of one text that are never corrected. Raises `Unfixable` if no part may be corrected."""

    def __init__(self, text: str, form: Form) -> None:
        if refusal := _file_refusal(text, form):
            raise Unfixable(refusal)
        self._form = form
        self._regions = list(regions.without_overlaps(form.left_out(text)))
        self._starts = [start for start, _, _ in self._regions]

    def reason(self, occurrence: Occurrence) -> str:
        """Return the reason why an occurrence is not corrected; empty if it may be."""
        source, start, end = occurrence.source, occurrence.start, occurrence.end
        region_index = bisect_right(self._starts, end - 1)
        if region_index and self._regions[region_index - 1][1] > start:
            return self._regions[region_index - 1][2]
        text_before = _ADDRESS_BEFORE.search(source, max(0, start - _AROUND), start)
        if (text_before and _OUTER_ADDRESS.search(text_before[0])) or source.count("://", start, end) > 1:
            return "it is within another address"
        is_markup = self._form.format in (Format.HTML, Format.XML, Format.MARKDOWN)
        if is_markup and _TAG_BEGINS.match(occurrence.tag):
            return _reason_in_tag(occurrence)
        if self._form.format is Format.TABULAR:
            return _reason_in_table(occurrence)
        if not self._form.is_prose:
            return ""
        context_start = max(0, start - _AROUND)
        text = source[context_start : end + _AROUND]
        if is_markup:
            if _is_value(occurrence):
                return IDENTIFIER
            text = _TAG.sub(_blank, text)
        return _reason_in_prose(text, start - context_start, end - context_start)


def _reason_in_tag(occurrence: Occurrence) -> str:
    attribute = _ATTRIBUTE.search(occurrence.tag)
    if attribute is None or attribute[1].lower() not in _ADDRESSES or not _LINKS.match(occurrence.tag):
        return ATTRIBUTE
    if _RDFA.search(
        occurrence.source[occurrence.start - len(occurrence.tag) : occurrence.source.find(">", occurrence.end)]
    ):
        return IDENTIFIER
    return CODE if "javascript:" in occurrence.tag.lower() else ""


def _is_value(occurrence: Occurrence) -> bool:
    """Return True if an occurrence is the whole value of an element in RDFa or microdata."""
    text_before = occurrence.source[max(0, occurrence.start - _AROUND) : occurrence.start].rstrip()
    is_alone = text_before.endswith(">") and occurrence.source[occurrence.end :][:_AROUND].lstrip().startswith("<")
    return is_alone and _RDFA.search(text_before, max(0, text_before.rfind("<"))) is not None


def _blank(tag: re.Match[str]) -> str:
    """Return blanks as long as a *tag*, which begin with an empty line unless the tag is inline."""
    return ("" if (tag["name"] or "").lower() in _INLINE else "\n\n").ljust(len(tag[0]))


def _reason_in_table(occurrence: Occurrence) -> str:
    source, start = occurrence.source, occurrence.start
    if source.endswith('""', 0, start):  # a string within a quoted cell
        return CODE
    if "\n" in source[start : occurrence.end] and source.count('"', 0, start) % 2 == 0:
        return "it goes over several rows"
    cell = max(source.rfind(sign, 0, start) for sign in ",;\t\n") + 1
    return CODE if source[cell:start].lstrip(' "').startswith("=") else ""


def _reason_in_prose(text: str, start: int, end: int) -> str:
    """Return the reason why the citation from *start* to *end* of running text is not corrected; empty if it may be."""
    line_start = text.rfind("\n", 0, start) + 1
    if _LITERAL.search(text, max(0, start - 20), start) or _COMMAND.match(text[line_start:start].lstrip()):
        return CODE
    if _SIC.match(text, end):
        return QUOTATION
    paragraph_start = max((blank_line.end() for blank_line in _PARAGRAPH_END.finditer(text, 0, start)), default=0)
    paragraph_end = _PARAGRAPH_END.search(text, end)
    for quotation in _QUOTED.finditer(text, paragraph_start, paragraph_end.start() if paragraph_end else len(text)):
        other_text = f"{text[quotation.start() : start]} {text[end : quotation.end()]}"
        if quotation.start() < start and end < quotation.end() and re.search(r"\w", other_text):
            return QUOTATION
    return ""
