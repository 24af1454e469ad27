"""Crawls keep the same with any number of processes that read."""

import asyncio
import io
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import ParamSpec, TypeVar

from crawler.model.observations import Hop
from crawler.spiders.document_reading import DocumentReader, DocumentSource, Row
from extractors.isolated import document_executor
from extractors.processes.worker import WorkerExecutor
from tests.real.extractors.test_two_passes import members
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command, select
from tests.unit.extractors.test_pdf_reader import typeset

P = ParamSpec("P")

R = TypeVar("R")


class EndingWorkers(WorkerExecutor):
    """Processes that end at the given calls."""

    ends = 1

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        self.ends -= 1
        return super().submit(os.abort) if self.ends >= 0 else super().submit(fn, *args, **kwargs)


def test_a_crawl_of_files_keeps_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for each in members(40):
        (folder / each.name).write_bytes(each.data)
    (folder / "041-empty.txt").write_bytes(b"")
    (folder / "042.pdf").write_bytes(b"%PDF-1.7 which it is not")
    kept = []
    for jobs in ("1", "3"):
        store = tmp_path / f"{jobs}.db"
        done = run_command("crawl", "--jobs", jobs, "--store", store, folder)
        assert done.returncode == 0, done.stderr
        kept.append(
            [
                select(store, "SELECT url, outcome, body_sha256, media_type FROM document"),
                select(store, "SELECT document_id, ark_id, as_written, reason, spans FROM mention"),
                select(store, "SELECT document_id, kind, detail FROM finding"),
            ]
        )
    assert kept[0] == kept[1]
    assert len(kept[0][0]) == 42
    assert len(kept[0][1]) > 300


# -- fetched documents

_PROSE = "<p>Forty leaves, with drawings of the harbour of Livorno, and a map that is folded.</p>\n" * 800

_PDFS = [
    typeset(*([(72, 700 - 14 * line, f"See ark:/12148/bpt6k10{number}73{line:02}t.") for line in range(15)],) * 2)
    for number in range(5)
]


def site(target: str) -> bytes:
    """Yield a site of large pages, PDFs (some damaged or behind redirects), and lists that are sources."""
    name, _, ending = target.lstrip("/").partition(".")
    number = int("".join(filter(str.isdigit, name)) or 0)
    if target == "/":
        links = [f"/p{each}.html" for each in range(4)] + [f"/d{each}.pdf" for each in range(5)] + ["/list.txt"]
        links += ["/old1.pdf", "/old7.pdf", "/bad.pdf", "/d0.pdf.gz"]
        return reply(body="".join(f"<a href='{each}'>{each}</a> " for each in links))
    if name.startswith("old"):
        return reply("302 Found", Location=f"/d{number}.pdf")
    if ending == "html":
        further = f"<a href='/d{number + 6}.pdf'>more</a> <a href='/p{number + 1}.html'>next</a>" * (number < 6)
        cited = f"See ark:/12148/bpt6k10{number}7371t and <a href='/ark:/12148/btv1b8{number}'>it</a>."
        return reply(body=f"<title>Page {number}</title>{_PROSE}{cited}{further}")
    if target == "/list.txt":
        lines = "".join(f"http://127.0.0.1/nothing/{each:0200}\n" for each in range(400))
        return reply(media_type="text/plain", body=lines)
    if target == "/bad.pdf":
        return reply(media_type="application/pdf", body="%PDF-1.7 which it is not")
    if number < len(_PDFS) and name.startswith("d"):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: {len(_PDFS[number])}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + _PDFS[number]
    return reply("404 Not Found")


#: Columns of a crawl without times and row numbers.
KEPT = {
    "documents": "select url, outcome, body_sha256, media_type, title, found_on, final_url from document",
    "mentions": "select url, ordinal, ark_id, as_written, reason, spans, request_url, citation from mention"
    " join document using (document_id)",
    "findings": "select url, kind, detail from finding join document using (document_id)",
    "frontier": "select canonical, found_on, depth, reach, state from frontier",
    "links": "select url, outlinks.found_on, targets from outlinks join document using (document_id)",
}


def test_a_crawl_keeps_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    kept, ordered = [], []
    with RawServer(site) as server:
        for jobs in ("1", "3"):
            store = tmp_path / f"{jobs}.db"
            done = run_command("crawl", *ON_LOOPBACK, "--jobs", jobs, "--store", store, f"{server.url}/")
            assert done.returncode == 0, done.stderr
            with sqlite3.connect(store) as raw:
                kept.append({name: sorted(raw.execute(query).fetchall(), key=repr) for name, query in KEPT.items()})
                # A host gets one request after the other, but the target of a redirect is one more.
                urls = raw.execute("select url from document where url not like '%old%' order by document_id")
                ordered.append(urls.fetchall())
    assert kept[0] == kept[1]
    assert ordered[0] == ordered[1]
    assert len(kept[0]["documents"]) > 20
    assert len(kept[0]["mentions"]) > 150
    assert [row for row in kept[0]["documents"] if "d1.pdf" in row[0] and row[1] == "read"], (
        "found once, at its own URL"
    )


def document_source(data: bytes, path: str, media_type: str) -> DocumentSource:
    url = f"http://a.example{path}"
    hop = Hop(url, "GET", "2026-11-21T10:00:00.000+00:00", 200)
    return DocumentSource(url, io.BytesIO(data), path, hops=(hop,), media_type=media_type)


def rows(reader: DocumentReader, source: DocumentSource) -> list[Row]:
    """Return the rows on fetched documents, with early reading where that pays."""

    async def read() -> list[Row]:
        begun = reader.begin(source)
        return [row async for row in reader.rows(source, begun)]

    return asyncio.run(read())


def test_document_that_ends_its_process_gets_a_finding() -> None:
    pdf = document_source(_PDFS[0], "/d0.pdf", "application/pdf")
    with EndingWorkers(2) as executor:
        reader = DocumentReader(executor, resolver="https://n2t.net/")
        first, second = (rows(reader, pdf), rows(reader, document_source(_PDFS[0], "/d0.pdf", "application/pdf")))
    assert [each.kind for row in first for each in row.record.findings] == ["parser-crashed"]
    assert [len(row.record.mentions) > 0 for row in second] == [True]


def test_small_pages_and_archives_are_read_in_their_turn() -> None:
    with document_executor(2) as executor:
        reader = DocumentReader(executor, resolver="https://n2t.net/")
        assert reader.begin(document_source(b"<p>See ark:/12148/btv1b84", "/a.html", "text/html")) is None
        assert reader.begin(document_source(b"PK\x03\x04" + b"x" * 100_000, "/a.zip", "application/zip")) is None
        begun = reader.begin(document_source(_PROSE.encode(), "/a.html", "text/html"))
        assert begun is not None
        begun.result()
