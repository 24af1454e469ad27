"""Speed of the PDF reader relative to PDFium's own text extraction over the same files.

Files are of two kinds: prose with an ARK on every tenth page; and the PDFs of the demo, where nearly every line is
near an ARK, so that the geometry of all pages matters.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from statistics import median

import pikepdf
from pypdfium2 import PdfDocument

from extractors.readers.pdf.pdf_reader import read_pdf

FLOOR = 0.8
ROUNDS = 15
PAGES = 60
LINES = 48
DEMO = Path(__file__).parents[2] / "tools" / "demo" / "site"
PROSE = (
    "the collection of the museum was moved to its new rooms after the flood and every box was opened listed and "
    "photographed before it went on to the shelves where readers may ask for it by the number on its card"
)


def main() -> int:
    """Print a line; return 1 if prose is read slower than the floor."""
    prose = _ratio([prose_pdf()])
    dense = _ratio([path.read_bytes() for path in sorted(DEMO.glob("*.pdf"))])
    print(
        f"pdf: {prose:.2f} of the speed of pypdfium2's own text extraction on prose (floor {FLOOR}), "
        f"{dense:.2f} on pages full of ARKs"
    )
    return int(prose < FLOOR)


def _ratio(files: Sequence[bytes]) -> float:
    """Return the median of the speed relative to PDFium, over rounds in which both take turns."""
    # Without the time of imports and first allocations.
    _seconds(read_pdf, files)
    return median(_seconds(_text_by_pdfium, files) / _seconds(read_pdf, files) for _ in range(ROUNDS))


def _seconds(read: Callable[[bytes], object], files: Sequence[bytes]) -> float:
    started = time.perf_counter()
    for data in files:
        read(data)
    return time.perf_counter() - started


def _text_by_pdfium(data: bytes) -> list[str]:
    """Return the text of each page, as in the documentation of pypdfium2."""
    texts = []
    with PdfDocument(data) as document:
        for page in document:
            text_page = page.get_textpage()
            texts.append(text_page.get_text_range())
            text_page.close()
            page.close()
    return texts


def prose_pdf(*, pages: int = PAGES, first: int = 0) -> bytes:
    """Return a PDF of plain pages numbered from *first*; every tenth cites an ARK that is broken over two lines."""
    document = pikepdf.new()
    font = document.make_indirect(
        pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name("/Times-Roman"))
    )
    for number in range(pages):
        document.add_blank_page(page_size=(595, 842))
        page = document.pages[number]
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
        page.Contents = document.make_stream(_page(first + number))
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def _page(number: int) -> bytes:
    words = PROSE.split()
    lines = [" ".join(words[(number + 7 * row + at) % len(words)] for at in range(15)) for row in range(LINES)]
    if number % 10 == 0:
        lines[20:22] = ["which is to be seen at https://example.org/ark:/12345/x5", "4xz321 by all who wish to see it"]
    return b"BT /F 11 Tf 72 770 Td 14 TL " + b"".join(f"({line}) ' ".encode("ascii") for line in lines) + b"ET"


if __name__ == "__main__":
    sys.exit(main())
