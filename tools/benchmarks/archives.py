"""Speed of `extract` over web archives without ARKs: pages (WARC), their text (WET), and PDFs in a ZIP.

Another archive resembles that of a library's own site: small pages, with an ARK in every tenth. The figure is the CPU
time of the whole command with one process, without its start. The baseline reads the pages by FastWARC and parses them
by lxml.
"""

from __future__ import annotations

import gzip
import io
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from random import Random

from tools.benchmarks.html_pages import made_page
from tools.benchmarks.pdf import prose_pdf
from tools.benchmarks.prose import prose

PAGES = 600
#: A page has 5 kB with head, script and menu.
SMALL_PAGES, SMALL_CHARS = 6_000, 2_000
TEXTS, TEXT_CHARS = 8_000, 6_000
PDFS, PDF_PAGES = 30, 12
#: MB/s of raw data per core; for PDF, pages per second.
FLOORS = {"WARC": 30.0, "WARC of small pages with ARKs": 3.0, "WET": 25.0, "PDF": 200.0}
_BASELINE = """
import sys, lxml.html
from fastwarc.warc import ArchiveIterator, WarcRecordType
for record in ArchiveIterator(open(sys.argv[1], "rb"), record_types=WarcRecordType.response):
    lxml.html.fromstring(record.reader.read().decode())
"""


def main() -> int:
    """Print a line for each kind; return 1 below a floor."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        nothing = place / "nothing.txt"
        nothing.write_text("nothing")
        start = _cpu_s(_extract(nothing))
        for kind, path, size, unit in _archives(place):
            seconds = _cpu_s(_extract(path)) - start
            rate = size / seconds
            failed |= rate < FLOORS[kind]
            figure = f"archives: {kind} {rate:.0f} {unit} a core (floor {FLOORS[kind]:.0f})"
            if kind == "WARC":
                baseline = _cpu_s([sys.executable, "-c", _BASELINE, str(path)])
                figure += f", {baseline / seconds:.2f} of the speed of FastWARC with bare lxml"
            if unit == "MB/s":
                figure += f"; a raw terabyte takes {10**6 / rate / 3600:.1f} core hours"
            print(figure)
    return int(failed)


def _archives(place: Path) -> Iterable[tuple[str, Path, float, str]]:
    """Make the archives, and yield kind, file, size and unit of speed of each."""
    random = Random(5)
    pages = [made_page(random, 0, random.choice((0.1, 0.4, 0.9))) for _ in range(PAGES)]
    heads = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    warc = place / "pages.warc.gz"
    warc.write_bytes(_records("response", "application/http; msgtype=response", (heads + page for page in pages)))
    yield "WARC", warc, sum(map(len, pages)) / 1e6, "MB/s"
    small = [made_page(random, number % 10 == 0, 0.4, SMALL_CHARS) for number in range(SMALL_PAGES)]
    warc = place / "small.warc.gz"
    warc.write_bytes(_records("response", "application/http; msgtype=response", (heads + page for page in small)))
    yield "WARC of small pages with ARKs", warc, sum(map(len, small)) / 1e6, "MB/s"
    text = prose(TEXTS * TEXT_CHARS, seed=6).encode()
    wet = place / "texts.warc.wet.gz"
    texts = (text[at : at + TEXT_CHARS] for at in range(0, len(text), TEXT_CHARS))
    wet.write_bytes(_records("conversion", "text/plain", texts))
    yield "WET", wet, len(text) / 1e6, "MB/s"
    packed = place / "papers.zip"
    with zipfile.ZipFile(packed, "w") as papers:
        for number in range(PDFS):
            papers.writestr(f"{number}.pdf", prose_pdf(pages=PDF_PAGES, first=number))
    yield "PDF", packed, PDFS * PDF_PAGES, "pages/s"


def _records(kind: str, media_type: str, blocks: Iterable[bytes]) -> bytes:
    """Return a WARC file with each of *blocks* as a record, compressed separately as in web archives."""
    written = io.BytesIO()
    for number, block in enumerate(blocks):
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://example.org/{number}\r\n"
            f"WARC-Date: 2026-11-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
            f"Content-Type: {media_type}\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        written.write(gzip.compress(head.encode() + block + b"\r\n\r\n", 6))
    return written.getvalue()


def _extract(path: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "arkaudit", "extract", "--jobs", "1", str(path)]


def _cpu_s(command: list[str]) -> float:
    """Return the CPU time of *command* and the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
