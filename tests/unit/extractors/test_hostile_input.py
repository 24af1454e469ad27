"""Hostile input is read in time and memory bounded by its size, and one file harms no other."""

import gzip
import io
from collections.abc import Callable
from functools import cache

import pytest

from crawler.model.resolving import retry_after_s
from crawler.sources.links import Traps, header_links
from extractors.archives.members import ArchiveMember
from extractors.archives.walk import members
from extractors.extraction import Extraction, extraction_of
from extractors.find import MOST_LABELS_IN_ARK, find_arks
from extractors.mentions.mention import relative_resolvers
from extractors.model.documents import Finding
from extractors.model.formats import parse_content_type
from extractors.readers.structured_data import read_tabular
from tests.growth import LINEAR, growth, seconds

ARK = "ark:/12148/bpt6k107371t"

AT = "2026-11-21T10:00:00+00:00"


def record(number: int, http: str, body: bytes) -> bytes:
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{http}\r\n".encode() + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\n"
        f"WARC-Target-URI: http://x.example/{number}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


PACKED_OFTEN = record(1, f"Content-Encoding: {'gzip,' * 1000}\r\n", gzip.compress(ARK.encode()))

PAGE = record(2, "", f"<p>{ARK}".encode())


def walk(data: bytes) -> tuple[list[str], list[Finding]]:
    parts = list(members(io.BytesIO(data), name="a.warc"))
    names = [part.name for part in parts if isinstance(part, ArchiveMember)]
    return names, [part for part in parts if isinstance(part, Finding)]


def test_a_capture_that_was_compressed_too_often_is_left_out() -> None:
    names, findings = walk(PACKED_OFTEN + PAGE)
    assert names == ["a.warc!/http://x.example/2"]
    assert findings == [Finding("unreadable", "a.warc!/http://x.example/1: it was compressed 1000 times")]


def test_a_fault_in_an_archive_is_a_finding() -> None:
    class Faulty(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 0:
                raise RecursionError
            return super().read(size)

    parts = list(members(Faulty(PAGE * 1000), name="a.warc"))
    assert parts[-1] == Finding("unreadable", "it could not be read further: RecursionError")


def labels(size: int) -> None:
    found = extraction_of(("info:ark/12148/abc" * size).encode(), name="a.txt")
    assert not found.mentions
    assert {finding.kind for finding in found.findings} == {"malformed-ark"}


@cache
def page_of_relative_links(size: int) -> Extraction:
    return extraction_of("".join(f"<a href=/ark:/12148/x{number}>" for number in range(size)).encode(), name="a.html")


def relative_links(size: int) -> None:
    page = page_of_relative_links(size)
    assert set(relative_resolvers(page.mentions, page.reading, "http://a.example/b")) == {"http://a.example/"}


@pytest.mark.parametrize("base", ["http://[zz]/", "http://[::1", "//[zz]"])
def test_malformed_base_is_ignored(base: str) -> None:
    page = extraction_of(f'<base href="{base}"><a href="/ark:/12148/btv1b8449691v">x</a>'.encode(), name="a.html")
    assert list(relative_resolvers(page.mentions, page.reading, "http://a.example/b")) == ["http://a.example/"]


def nested_links(size: int) -> None:
    traps = Traps()
    for number in range(size):
        names = "&".join(f"a{name}={number}" for name in range(1 + number % 50))
        if traps.rule(url := f"http://h.example/?{names}") is None:
            traps.remember(url)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "size"),
    [
        (lambda size: walk(PAGE + b"\nWARC/" * size), 50_000),
        (labels, 1000),
        (nested_links, 500),
        (relative_links, 500),
        (lambda size: read_tabular((f"a,{ARK}," + "," * 9).encode() * size), 3000),
        (lambda size: retry_after_s("0h" + " " * size + "x", at=AT), 50_000),
        (lambda size: parse_content_type('text/html; a="' + ";" * size), 50_000),
        (lambda size: list(header_links("<a>; a=" + '"\\' * size)), 20_000),
    ],
    ids=["WARC marks", "labels", "links", "relative links", "wide row", "Retry-After", "Content-Type", "Link"],
)
def test_hostile_input_takes_time_in_line_with_its_length(work: Callable[[int], object], size: int) -> None:
    assert growth(work, size) < LINEAR


def test_text_after_an_ark_costs_nothing() -> None:
    arks = "".join(f"see ark:/12148/b{number}-\n{number % 7} " for number in range(100))
    more = arks + "x y " * 2_000_000
    assert seconds(lambda: find_arks(more), 5) < LINEAR * seconds(lambda: find_arks(arks), 5)


def test_labels_within_an_ark_are_read_a_few_times_only() -> None:
    found = extraction_of(("info:ark/12148/abc" * 60).encode(), name="a.txt")
    assert len(found.mentions) == MOST_LABELS_IN_ARK + 1
    assert {finding.kind for finding in found.findings} == {"malformed-ark"}
