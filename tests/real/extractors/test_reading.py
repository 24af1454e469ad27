"""Archives and large files from end to end: on disk, on standard input and on the web."""

import gzip
import io
import subprocess
import sys
import tarfile
from itertools import chain
from pathlib import Path

import pytest

from extractors.archives.members import ArchiveMember
from extractors.documents import Document, documents_in, documents_in_file
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.unit.extractors.packages import zip_archive

ROOT = Path(__file__).parents[3]


def warc_of(pages: dict[str, str]) -> bytes:
    records = []
    for uri, page in pages.items():
        block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
        head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {uri}\r\nContent-Length: {len(block)}\r\n\r\n"
        records.append(gzip.compress(f"{head}{block}\r\n\r\n".encode()))
    return b"".join(records)


def binary(body: bytes, media_type: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def test_extract_reads_the_archives_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(
        zip_archive({"b.html": "<p>ark:/12148/btv1b1", "c.txt": "ark:/12148/btv1b2", "d.png": "x"})
    )
    (tmp_path / "b.warc.gz").write_bytes(warc_of({"http://x.example/p": "ark:/12148/btv1b3"}))
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"ark:/12148/btv1b7 or ark:/12148/btv1b4")[:-8])
    done = run_command("extract", tmp_path, "--findings", tmp_path / "findings.jsonl")
    assert [(Path(row["document"]).name, row["ark"]) for row in json_lines(done.stdout)] == [
        ("b.html", "ark:12148/btv1b1"),
        ("c.txt", "ark:12148/btv1b2"),
        ("p", "ark:12148/btv1b3"),
        ("c.txt", "ark:12148/btv1b7"),
        ("c.txt", "ark:12148/btv1b4"),
    ]
    whole, cut = json_lines(done.stdout)[-2:]
    assert (whole["confidence"], cut["confidence"], cut["reason"]) == ("likely", "ambiguous", "ends-at-read-limit")
    assert json_lines(done.stdout)[2]["document"] == f"{tmp_path}/b.warc.gz!/http://x.example/p"
    found = {Path(row["document"]).name: row["kind"] for row in json_lines((tmp_path / "findings.jsonl").read_text())}
    assert found == {"a.zip": "members-skipped", "c.txt": "damaged"}


def test_extract_reads_an_archive_on_standard_input() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = 17
        archive.addfile(info, io.BytesIO(b"ark:/12148/btv1b1"))
    done = subprocess.run(
        [sys.executable, "-m", "arkaudit", "extract", "-"], input=made.getvalue(), capture_output=True, check=True
    )
    [row] = json_lines(done.stdout.decode())
    assert (row["document"], row["ark"]) == ("-!/a.txt", "ark:12148/btv1b1")


def test_extract_reads_a_text_in_parts_and_locates_bad_bytes(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.write(
            b"ark:/12148/btv1b1 is first\n" + (b"text and text and so on\n" * 44_000) * 70 + b"ark:/12148/btv1b2\n"
        )
        file.truncate(8 * 2**30)
    bounded = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30)); "
    run = "from arkaudit.cli import main; import sys; sys.argv = ['arkaudit', 'extract', sys.argv[1]]; main()"
    done = subprocess.run(
        [sys.executable, "-c", bounded + run, big], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12148/btv1b1", "ark:12148/btv1b2"]
    assert "big.txt!/part-3: cut-off: only its first 67,108,864 bytes were read" in done.stderr
    assert "1 not readable" in done.stderr.splitlines()[-2]


def test_documents_can_be_iterated_repeatedly(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_archive({"b.txt": "one", "c.txt": "two", "d.png": "x"}))
    (tmp_path / "e.txt").write_text("three")
    given = io.BytesIO(b"zero")
    files = [tmp_path / "a.zip", tmp_path / "missing", tmp_path / "e.txt"]
    once, twice = (
        [*documents_in(given, "-", path=""), *chain.from_iterable(map(documents_in_file, files))] for _ in range(2)
    )
    assert once == twice
    assert [each.data for each in once if isinstance(each, ArchiveMember)] == [b"zero", b"one", b"two", b"three"]
    assert [each.findings[0].kind for each in once if isinstance(each, Document)] == ["members-skipped", "unreadable"]


def test_a_crawl_gives_each_document_of_an_archive_its_row(tmp_path: Path) -> None:
    archive = zip_archive(
        {"b.html": "<a href='c.html'>c</a> <a href='/ark:/12x45/x5'>it</a>", "c.html": "<p>ark:/12148/btv1b2"}
    )
    with RawServer(
        lambda target: reply(body="<a href='/a.zip'>all</a>") if target == "/" else binary(archive, "application/zip")
    ) as server:
        done = run_command("crawl", *ON_LOOPBACK, f"{server.url}/", "--store", tmp_path / "a.db")
        assert done.returncode == 0, done.stderr
        assert server.targets == ["/", "/a.zip"]
        url = f"{server.url}/a.zip"
    assert select(
        tmp_path / "a.db", "select url, found_on, outcome, status, media_type from document order by url"
    ) == [
        (f"{server.url}/", None, "read", 200, "text/html"),
        (url, f"{server.url}/", "read", 200, "application/zip"),
        (f"{url}!/b.html", url, "read", None, "text/html"),
        (f"{url}!/c.html", url, "read", None, "text/html"),
    ]
    assert select(tmp_path / "a.db", "select request_url from mention order by mention_id") == [
        ("https://n2t.net/ark:/12x45/x5",),  # the page's original address is unknown
        ("https://n2t.net/ark:/12148/btv1b2",),
    ]


def test_a_relative_link_in_a_web_archive_is_asked_where_its_page_was(tmp_path: Path) -> None:
    page = "<a href='/ark:/12148/btv1b1'>it</a> <a href='http://other.example/page'>elsewhere</a>"
    archive = b""
    with RawServer(lambda _: binary(archive, "application/gzip")) as server:
        archive = warc_of({"http://gallica.example/p": page, f"{server.url}/page": "ark:/12148/btv1b2"})
        run_command("crawl", *ON_LOOPBACK, f"{server.url}/a.warc.gz", "--store", tmp_path / "a.db")
        assert server.targets == ["/a.warc.gz"]
        url = f"{server.url}/a.warc.gz"
    assert select(tmp_path / "a.db", "select url from document order by document_id") == [
        (f"{url}!/http://gallica.example/p",),
        (f"{url}!/{server.url}/page",),
        (url,),
    ]
    asked = select(tmp_path / "a.db", "select request_url from mention order by mention_id")
    assert asked == [("http://gallica.example/ark:/12148/btv1b1",), ("https://n2t.net/ark:/12148/btv1b2",)]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_captures_of_one_page_in_two_archives_are_two_documents(names: tuple[str, str], tmp_path: Path) -> None:
    first, second = (tmp_path / f"{name}.warc.gz" for name in names)
    first.write_bytes(warc_of({"http://x.example/p": "ark:/12148/btv1b1 and ark:/12148/btv1b2"}))
    second.write_bytes(warc_of({"http://x.example/p": "ark:/12148/btv1b2 and ark:/12148/btv1b3"}))
    run_command("crawl", "--store", tmp_path / "a.db", tmp_path / "a.warc.gz", tmp_path / "b.warc.gz")
    cited = select(
        tmp_path / "a.db", "select url, as_written from mention join document using (document_id) order by url, ordinal"
    )
    assert cited == sorted(
        [
            (f"{first}!/http://x.example/p", "ark:/12148/btv1b1"),
            (f"{first}!/http://x.example/p", "ark:/12148/btv1b2"),
            (f"{second}!/http://x.example/p", "ark:/12148/btv1b2"),
            (f"{second}!/http://x.example/p", "ark:/12148/btv1b3"),
        ]
    )


def test_false_archive_is_unreadable_alone(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and nothing else")
    (tmp_path / "b.zip").write_bytes(zip_archive({"b.txt": "ark:/12148/btv1b1"}))
    run_command("crawl", tmp_path / "a.zip", tmp_path / "b.zip", tmp_path, "--store", tmp_path / "a.db")
    found = select(tmp_path / "a.db", "select url, outcome, found_on from document order by document_id")
    assert [(Path(str(url)).name, outcome, found_on and Path(str(found_on)).name) for url, outcome, found_on in found][
        :3
    ] == [("a.zip", "unreadable", None), ("b.txt", "read", "b.zip"), ("b.zip", "read", None)]


def test_extract_prints_the_documents_of_a_fetched_archive_in_order() -> None:
    with RawServer(
        lambda target: (
            binary(zip_archive({"b.txt": "ark:/12148/btv1b1", "c.txt": "ark:/12148/btv1b2"}), "application/zip")
            if target == "/a.zip"
            else reply(body="ark:/12148/btv1b3")
        )
    ) as server:
        done = run_command("extract", *ON_LOOPBACK, f"{server.url}/a.zip", f"{server.url}/page")
    assert [row["ark"][-1] for row in json_lines(done.stdout)] == ["1", "2", "3"]
