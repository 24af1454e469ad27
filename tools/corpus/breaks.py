#!/usr/bin/env python3
"""Make documents whose breaks only the layout explains: marks, gutters, columns, letterspacing.

    python tools/corpus/breaks.py            all of them (WeasyPrint and Typst for the PDFs: pip install weasyprint typst)
    python tools/corpus/breaks.py KIND …     only those of these kinds

`make.py` makes the texts and pages with all others, and the PDFs with --pdf.
"""

from __future__ import annotations

import html
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from documents import Document
from markup import tex_text
from names import KNOWN, Citation, citations
from prose import Prose

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "typesetting"))
import typeset  # noqa: E402  (the demo's typesetters, with their fixed dates)

_MARKS = ("1", "a", "*", "2,3", "[4]", "5a", "\N{DAGGER}", "6-8")
_NUMBERED_TEX = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}\usepackage{lmodern}\usepackage{textcomp}\usepackage{xurl}\urlstyle{same}
\usepackage[paperwidth=12cm,paperheight=18cm,margin=1.8cm]{geometry}\usepackage{lineno}
\begin{document}%s
%s
\end{document}
"""
_CSS = "@page{size:A4;margin:2cm} body{font:10pt/1.35 'Liberation Serif','DejaVu Serif',serif}"

#: A paragraph: prose, citations, and the marks behind them.
Paragraph = tuple[str | Citation, ...]
Render = Callable[[Citation, str], str]


class _Texts:
    """Random paragraphs with citations, reproducible for each half and kind of document."""

    def __init__(self, half: str, kind: str, language: str) -> None:
        random = Random(f"{half} breaks {kind}")
        self._source = citations(KNOWN[half], random)
        self._prose = Prose(language, half, random)
        self.random = random

    def paragraphs(self, count: int) -> list[Paragraph]:
        """Return *count* paragraphs with one citation each."""
        found: list[Paragraph] = []
        while len(found) < count:
            citation = next(self._source)
            if not citation.written.startswith("ARK"):
                before, _, after = self._prose.led_to(citation.written).partition(citation.written)
                found.append((f"{self._prose.sentence()} {before}", citation, f"{after} {self._prose.sentence()}"))
        return found


def texts(half: str) -> Iterator[Document]:
    """Yield plain texts, program texts and a page."""
    language = {"dev": "de", "held-out": "fr"}[half]
    for kind, made in (("gutter", _gutter), ("soft-blank", _soft_blank), ("comments", _comments)):
        known = _Texts(half, kind, language)
        paragraphs = known.paragraphs(24)
        suffix = "py" if kind == "comments" else "txt"
        yield _document(f"plain/{kind}-{language}.{suffix}", kind, language, made(paragraphs, known.random), paragraphs)
    for kind, suffix, mark, code in (
        ("comments-sql", "sql", "-- ", "select {n} from t{n};"),
        ("comments-c", "c", "// ", "x{n}(b{n});"),
    ):
        known = _Texts(half, kind, language)
        paragraphs = known.paragraphs(24)
        data = _comments_with_code(paragraphs, mark, code)
        yield _document(f"layout/{kind}-{language}.{suffix}", kind, language, data, paragraphs)
    for kind, table in (("table-bars", _bar_table), ("table-blanks", _space_table)):
        known = _Texts(half, kind, language)
        paragraphs = known.paragraphs(24)
        yield _document(f"layout/{kind}-{language}.txt", kind, language, table(paragraphs, known), paragraphs)
    # The page of this half would cite an ARK of another document.
    if half == "held-out":
        return
    paragraphs = _Texts(half, "marks-html", language).paragraphs(16)
    raised = '<span style="vertical-align:super;font-size:70%">{}</span>'
    page = _page(paragraphs, language, "", lambda each, mark: html.escape(each.written) + raised.format(mark))
    yield _document(f"html/marks-{language}.html", "marks", language, page.encode(), paragraphs)


def pdfs(half: str) -> Iterator[Document]:
    """Yield PDFs by WeasyPrint, Typst and LaTeX."""
    import typst
    from weasyprint import HTML

    language = {"dev": "en", "held-out": "de"}[half]
    plain = _CSS + "i{font-style:normal;letter-spacing:.2em;overflow-wrap:anywhere}"
    narrow = _CSS + "body{columns:3;text-align:justify;hyphens:auto;overflow-wrap:anywhere;font-size:8.5pt}"
    pages = (
        "@page{size:90mm 72mm;margin:12mm 9mm;@top-left{content:'Annual report';font-size:7pt}"
        "@bottom-center{content:counter(page);font-size:8pt}}"
        "body{font:10pt/1.3 'Liberation Serif';word-break:break-all;orphans:1;widows:1} p{margin:0}"
    )
    for kind, css, render in (
        ("weasyprint-marks", _CSS, lambda each, mark: f"{html.escape(each.written)}<sup>{html.escape(mark)}</sup>"),
        ("weasyprint-letterspaced", plain, lambda each, _: f"<i>{html.escape(each.written)}</i>"),
        ("weasyprint-narrow", narrow, lambda each, _: html.escape(each.written)),
        ("weasyprint-pages", pages, lambda each, _: html.escape(each.written)),
    ):
        paragraphs = _Texts(half, kind, language).paragraphs(24)
        data = HTML(string=_page(paragraphs, language, css, render)).write_pdf()
        yield _document(f"pdf/{kind}-{language}.pdf", kind, language, data, paragraphs)
    for kind, setup, render in (
        ("typst-gutter", '#set par.line(numbering: "1")\n', lambda each, _: _with_breaks(each)),
        ("typst-columns", "#set page(columns: 2)\n#set par(justify: true)\n", lambda each, _: _with_breaks(each)),
        ("typst-table", "", lambda each, _: _with_breaks(each)),
    ):
        known = _Texts(half, kind, language)
        paragraphs = known.paragraphs(24)
        source = f'#set page(width: 13cm, height: 18cm)\n#set text(lang: "{language}")\n{setup}'
        if kind == "typst-table":
            source += _typst_table(paragraphs, known.random)
        else:
            source += "\n\n".join(_render(each, _typst, render) for each in paragraphs)
        with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
            written = Path(folder, "document.typ")
            written.write_text(source, "utf-8")
            data = typst.compile(str(written))
        group = "layout" if kind == "typst-table" else "pdf"
        yield _document(f"{group}/{kind}-{language}.pdf", kind, language, data, paragraphs)

    for kind, setup in (("latex-lineno", "\\linenumbers"), ("latex-lineno-right", "\\rightlinenumbers")):
        paragraphs = _Texts(half, kind, language).paragraphs(24)
        body = "\n\n".join(_render(each, tex_text, lambda cited, _: f"\\url{{{cited.written}}}") for each in paragraphs)
        with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
            written = Path(folder, "document.tex")
            written.write_text(_NUMBERED_TEX % (setup, body), "utf-8")
            data = typeset.pdf_of(written, epoch=typeset.DEFAULT_EPOCH)
        yield _document(f"layout/{kind}-{language}.pdf", kind, language, data, paragraphs)
    paragraphs = _Texts(half, "weasyprint-table", language).paragraphs(24)
    data = HTML(string=_table_page(paragraphs, language, Random(f"{half} cells"))).write_pdf()
    yield _document(f"layout/weasyprint-table-{language}.pdf", "weasyprint-table", language, data, paragraphs)


def _document(path: str, kind: str, language: str, data: bytes, paragraphs: list[Paragraph]) -> Document:
    arks = tuple(each.ark for paragraph in paragraphs for each in paragraph if isinstance(each, Citation))
    return Document(path, kind, language, "known", data, arks)


def _render(paragraph: Paragraph, escaped: Callable[[str], str], render: Render) -> str:
    mark = _MARKS[sum(map(ord, str(paragraph[0]))) % len(_MARKS)]
    return "".join(render(each, mark) if isinstance(each, Citation) else escaped(each) for each in paragraph)


def _page(paragraphs: list[Paragraph], language: str, css: str, render: Render) -> str:
    body = "\n".join(f"<p>{_render(each, html.escape, render)}</p>" for each in paragraphs)
    return f'<!doctype html><html lang="{language}"><meta charset="utf-8"><style>{css}</style>\n{body}\n</html>'


def _typst(text: str) -> str:
    return re.sub(r"([\\#$*_`<>@\[\]~\"'/=+-])", r"\\\1", text)


def _with_breaks(citation: Citation) -> str:
    """Return a citation for Typst with a possible break before each letter and digit."""
    return re.sub(r"(?<=[\w/.:=-])(?=\w)", "\N{ZERO WIDTH SPACE}", _typst(citation.written))


def _lines(paragraph: Paragraph, width: int) -> list[str]:
    text = _render(paragraph, str, lambda each, _: each.written)
    return textwrap.wrap(text, width, break_long_words=True, break_on_hyphens=False)


def _gutter(paragraphs: list[Paragraph], _: Random) -> bytes:
    """Return narrow text with line numbers in the left margin, where long words break anywhere."""
    lines = [line for paragraph in paragraphs for line in _lines(paragraph, 40)]
    return "".join(f"{number:4}  {line}\n" for number, line in enumerate(lines, start=1)).encode()


def _soft_blank(paragraphs: list[Paragraph], random: Random) -> bytes:
    """Return text with a soft hyphen and a space (a former line end) within each name."""

    def break_citation(citation: Citation, _: str) -> str:
        written = citation.written
        inside = [at for at in range(len(written) - 6, len(written)) if re.match(r"\w\w", written[at - 1 : at + 1])]
        at = random.choice(inside or [len(written) - 3])
        return f"{written[:at]}\N{SOFT HYPHEN} {written[at:]}"

    return "\n\n".join(_render(each, str, break_citation) for each in paragraphs).encode()


def _comments(paragraphs: list[Paragraph], _: Random) -> bytes:
    """Return a program with wrapped comments."""
    pieces = []
    for number, paragraph in enumerate(paragraphs):
        pieces += [f"# {line}" for line in _lines(paragraph, 58)] + [f"item_{number} = {number}", ""]
    return "\n".join(pieces).encode()


def _comments_with_code(paragraphs: list[Paragraph], mark: str, code: str) -> bytes:
    """Return a program with comments above its lines: some wrapped, some of one line that ends with an ARK."""
    pieces = []
    for number, paragraph in enumerate(paragraphs):
        if number % 2:
            pieces += [f"{mark}See {_citation(paragraph).written}"]
        else:
            pieces += [mark + line for line in _lines(paragraph, 54)]
        pieces += [code.format(n=number), ""]
    return "\n".join(pieces).encode()


def _citation(paragraph: Paragraph) -> Citation:
    return next(each for each in paragraph if isinstance(each, Citation))


def _cell(random: Random) -> str:
    """Return text for the cell next to an ARK."""
    return random.choice((str(random.randint(2, 999)), str(random.randint(1500, 1960)), f"{random.randint(2, 40)} ff."))


def _rows(paragraphs: list[Paragraph], known: _Texts, width: int) -> Iterator[list[tuple[str, str]]]:
    """Yield rows of a plain text table as lines of two cells: a piece of the ARK, broken at *width*, and other text."""
    for index, paragraph in enumerate(paragraphs):
        left = textwrap.wrap(_citation(paragraph).written, width, break_on_hyphens=False)
        prose = str(paragraph[0]).strip() if index % 3 == 0 else _cell(known.random)
        right = textwrap.wrap(prose, 20)[:4]
        count = max(len(left), len(right))
        yield list(zip(left + [""] * (count - len(left)), right + [""] * (count - len(right)), strict=True))


def _bar_table(paragraphs: list[Paragraph], known: _Texts) -> bytes:
    """Return a table drawn with bars and rules, with the ARKs in its second column."""
    rule = f"+{'-' * 22}+{'-' * 24}+\n"
    rows = ("".join(f"| {right:20} | {left:22} |\n" for left, right in row) for row in _rows(paragraphs, known, 22))
    return (rule + rule.join(rows) + rule).encode()


def _space_table(paragraphs: list[Paragraph], known: _Texts) -> bytes:
    """Return a table whose columns are separated by spaces only."""
    rows = (
        "".join(f"{left:28}  {right}".rstrip() + "\n" for left, right in row) for row in _rows(paragraphs, known, 28)
    )
    return "\n".join(rows).encode()


def _typst_table(paragraphs: list[Paragraph], random: Random) -> str:
    cells = (
        f"[{_with_breaks(_citation(each))}], [{_typst(_cell(random))}], [{_typst(_cell(random))}]"
        for each in paragraphs
    )
    return "#table(columns: (3.4cm, 1fr, 1fr), stroke: none,\n" + ",\n".join(cells) + ")\n"


def _table_page(paragraphs: list[Paragraph], language: str, random: Random) -> str:
    """Return a page with a table of ARKs in narrow cells between numbers."""
    css = (
        "@page{size:A5;margin:1.5cm} table{table-layout:fixed;width:100%;font:9pt 'Liberation Sans'}"
        "td{word-break:break-all;vertical-align:top} td.a{width:3.2cm}"
    )
    rows = (
        f"<tr><td>{_cell(random)}<td class=a>{html.escape(_citation(each).written)}<td>{_cell(random)}"
        for each in paragraphs
    )
    head = f'<!doctype html><html lang="{language}"><meta charset="utf-8"><style>{css}</style>\n'
    return f"{head}<table><colgroup><col style='width:2cm'><col style='width:3.2cm'></colgroup>{''.join(rows)}</table>"


def main() -> None:
    """Write the documents of both halves, and update their lines in the files of truth."""
    only = set(sys.argv[1:])
    for half in ("dev", "held-out"):
        truth = HERE / half / "truth.jsonl"
        rows = {json.loads(line)["document"]: line for line in truth.read_text("utf-8").splitlines()}
        for document in (*texts(half), *pdfs(half)):
            if only and document.kind not in only:
                continue
            path = HERE / half / "documents" / document.path
            path.write_bytes(document.data)
            rows[document.path] = document.truth()
        truth.write_text("\n".join(rows.values()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
