"""Documents as sources and their lists of URLs: sitemaps, OAI-PMH, feeds, IIIF, lists."""

import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import SourceKind
from crawler.sources.source_reading import decompress, may_be_source, read_source, source_kind
from crawler.sources.xml_sources import MOST_ENTRIES, Selection, next_url, read_oai, read_sitemap
from tests.vectors import vectors

URL = "https://a.example/"
WHOLE = Selection()


@pytest.mark.parametrize("vector", vectors("sources"))
def test_source_is_recognized_by_content_and_lists_its_urls(vector: dict[str, Any]) -> None:
    order = SourceKind(vector["order"]) if "order" in vector else None
    data = vector["data"].encode()
    for sent in (data, gzip.compress(data)):
        read = read_source(sent, url=URL, named_kind=order, harvests=False, selection=WHOLE)
        if vector["kind"] is None:
            assert read is None
            continue
        assert read is not None
        assert read.kind == vector["kind"]
        assert [item.url for item in read.items] == vector.get("items", [])
        assert list(read.further) == vector.get("further", [])
        assert [finding.kind for finding in read.findings] == vector.get("findings", [])
        assert read.is_faulty is vector.get("faulty", False)


@pytest.mark.parametrize("vector", vectors("oai_pmh"))
def test_an_answer_of_a_repository_holds_records_and_leads_on(vector: dict[str, Any]) -> None:
    prefix = "o:" if "prefixed" in vector else ""
    body = vector["body"].replace("DEEP", "<x>" * 5000 + "</x>" * 5000)
    declared = f"xmlns{':o' if prefix else ''}='http://www.openarchives.org/OAI/2.0/'"
    data = f"<{prefix}OAI-PMH {declared}><responseDate/>{body}</{prefix}OAI-PMH>\n ".encode()
    data = data[: -vector["cut"]] if "cut" in vector else data
    read = read_oai(data, url=vector["url"], selection=Selection(**vector.get("selection", {})))
    assert source_kind(data) is SourceKind.OAI
    assert [record.name for record in read.records] == vector.get("records", [])
    if "items" in vector:
        assert [[item.url, item.found_on, item.is_elsewhere] for item in read.items] == vector["items"]
    assert list(read.further) == vector.get("further", [])
    assert [finding.kind for finding in read.findings] == vector.get("findings", [])
    assert [finding.detail for finding in read.findings] == vector.get("details", [f.detail for f in read.findings])
    assert read.is_faulty is vector.get("faulty", False)


def test_the_metadata_of_a_record_is_well_formed_alone() -> None:
    body = (
        "<record><header/><metadata><dc:x xmlns:dc='d'>ark:/12148/x5 &amp; <!-- no --> more</dc:x></metadata></record>"
    )
    data = f"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><ListRecords>{body}</ListRecords></OAI-PMH>"
    [record] = read_oai(data.encode(), url=f"{URL}oai?verb=ListRecords", selection=WHOLE).records
    assert record.data.startswith(b'<dc:x xmlns:dc="d"')
    assert b"ark:/12148/x5 &amp;  more</dc:x>" in record.data


@given(st.text(min_size=1).filter(lambda token: token.strip() == token))
def test_a_token_comes_back_exactly(token: str) -> None:
    from urllib.parse import parse_qs, urlsplit

    url = next_url("https://r.example/oai?page=x&verb=ListRecords&metadataPrefix=oai_dc&set=y", token)
    assert url.isascii()
    assert parse_qs(urlsplit(url).query, keep_blank_values=True) == {
        "page": ["x"], "verb": ["ListRecords"], "resumptionToken": [token],
    }  # fmt: skip


@pytest.mark.parametrize("date", ["2026", "yesterday", "2026-1-1", "2026-01-01T00:00:00"])
def test_a_date_that_the_protocol_does_not_know_is_refused(date: str) -> None:
    with pytest.raises(ValueError, match="neither a day"):
        Selection(since=date)


@pytest.mark.slow
def test_a_sitemap_has_so_many_entries_and_the_others_are_counted() -> None:
    entries = "".join(f"<url><loc>{URL}{number}</loc></url>" for number in range(MOST_ENTRIES + 7))
    read = read_sitemap(f"<urlset>{entries}</urlset>".encode(), url=URL)
    assert len(read.items) == MOST_ENTRIES
    assert [finding.detail for finding in read.findings] == [f"a sitemap lists {MOST_ENTRIES} at most; left out: 7"]


def test_a_bomb_in_gzip_is_unpacked_up_to_a_limit_and_a_broken_one_as_far_as_it_goes() -> None:
    assert len(decompress(gzip.compress(bytes(80 * 2**20)))) == 64 * 2**20
    data = gzip.compress(b"<urlset><url><loc>https://a.example/1</loc></url>" + bytes(range(256)) * 500)
    assert decompress(data[:200]).startswith(b"<urlset")
    assert decompress(b"\x1f\x8b\x08 and nothing else") == b""


def test_entities_of_a_stranger_are_not_expanded() -> None:
    doctype = (
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
    )
    read = read_sitemap(f"{doctype}<urlset><url><loc>{URL}&b;&c;x</loc></url></urlset>".encode(), url=URL)
    assert all("root:" not in item.url and "aaaa" not in item.url for item in read.items)


@pytest.mark.parametrize("size", [10, 100_000])
def test_kind_of_a_source_follows_from_its_head(size: int) -> None:
    entries = "".join(f"<url><loc>{URL}{number}</loc></url>" for number in range(size))
    for sitemap in (f"<urlset>{entries}</urlset>".encode(), f"<urlset>\n{entries}</urlset>".encode()):
        assert may_be_source(sitemap)
        assert may_be_source(gzip.compress(sitemap))
    listed = "".join(f"{URL}{number}\n" for number in range(size)).encode()
    assert may_be_source(listed)


@given(st.binary(max_size=300), st.sampled_from([b"", b"<urlset>", b"<rss>", b"{", b"\x1f\x8b\x08", b"\xff\xfe<\0"]))
def test_no_bytes_are_too_odd(data: bytes, start: bytes) -> None:
    for order in (None, *SourceKind):
        read_source(start + data, url=URL, named_kind=order, harvests=True, selection=WHOLE)
