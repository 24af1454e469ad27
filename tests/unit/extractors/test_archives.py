"""Archives as their documents: the content, the cost of damage, and the limits that every archive meets."""

import bz2
import gzip
import io
import lzma
import resource
import struct
import sys
import tarfile
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.archives.members import ArchiveMember, Limits
from extractors.archives.walk import archive_kind, members
from extractors.model.documents import Finding
from tests.unit.extractors.packages import zip_archive
from tests.vectors import vectors

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


ARK = b"see ark:/12148/btv1b8449691v"


def read_members(data: bytes, name: str = "a.zip", **limits: int) -> tuple[dict[str, bytes], list[str]]:
    """Return the documents by name, and the kinds of all findings."""
    found = list(members(io.BytesIO(data), name=name, limits=Limits(**limits)))
    documents = [each for each in found if isinstance(each, ArchiveMember)]
    findings = [each for each in found if isinstance(each, Finding)]
    findings += [finding for member in documents for finding in member.findings]
    assert len({member.name for member in documents}) == len(documents)
    return {member.name: member.data for member in documents}, [finding.kind for finding in findings]


def tar_of(files: dict[str, bytes], mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


# -- ZIP


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_archive_is_the_documents_in_it(method: int) -> None:
    data = zip_archive({"b/c.html": b"<p>" + ARK, "a.txt": ARK, "folder/": b"", "empty.txt": b""}, method)
    assert read_members(data) == ({"a.zip!/b/c.html": b"<p>" + ARK, "a.zip!/a.txt": ARK}, [])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(zip_archive({}), id="ZIP of nothing"),
        pytest.param(zip_archive({"a.txt": b""}), id="ZIP of an empty file"),
        pytest.param(zip_archive({"a.zip": zip_archive({"b.txt": b""})}), id="ZIP of such a ZIP"),
        pytest.param(tar_of({"a.txt": b""}), id="tar"),
        pytest.param(gzip.compress(b""), id="gzip"),
        pytest.param(
            b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", id="WARC without a page"
        ),
    ],
)
def test_empty_archive_is_read_with_a_finding(data: bytes) -> None:
    assert list(members(io.BytesIO(data), name="a")) == [Finding("empty", "it contains nothing to read")]


def test_archives_in_archives_are_read_down_to_the_limit() -> None:
    data = ARK
    for number in range(5):
        data = zip_archive({f"{number}.zip" if number else "a.txt": data, f"{number}.txt": b"beside"})
    documents, findings = read_members(data, "top.zip")
    assert sorted(documents) == ["top.zip!/4.txt", "top.zip!/4.zip!/3.txt", "top.zip!/4.zip!/3.zip!/2.txt"]
    assert findings == ["archive-limit"]


def test_packages_are_documents_and_no_archives() -> None:
    word = zip_archive({"word/document.xml": b"<w/>", "[Content_Types].xml": b"<Types/>"})
    book = zip_archive({"mimetype": b"application/epub+zip", "a.xhtml": ARK}, zipfile.ZIP_STORED)
    assert read_members(word, "thesis.docx") == ({"thesis.docx": word}, [])
    documents, findings = read_members(zip_archive({"thesis.docx": word, "book.epub": book}))
    assert (documents, findings) == ({"a.zip!/thesis.docx": word, "a.zip!/book.epub": book}, [])


def test_members_that_are_no_documents_are_skipped_and_reported_once() -> None:
    pictures = {f"{number}.jpg": b"\xff\xd8\xff" for number in range(50)}
    documents, findings = read_members(
        zip_archive({**pictures, ".git/config": b"x", "__MACOSX/a.txt": b"x", "a.svg": ARK})
    )
    assert list(documents) == ["a.zip!/a.svg"]
    assert findings == ["members-skipped"]


def test_encrypted_member_is_reported_and_others_are_read() -> None:
    data = bytearray(zip_archive({"a.txt": ARK, "b.txt": ARK}))
    data[6] |= 1  # of the first local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # of the first entry in the directory
    assert read_members(bytes(data)) == ({"a.zip!/b.txt": ARK}, ["encrypted"])


def test_zip_archive_without_its_directory_is_unreadable() -> None:
    data = zip_archive({f"{number}.txt": ARK for number in range(4)})
    assert read_members(data[: data.index(b"PK\x01\x02")]) == ({}, ["unreadable"])


def test_an_entry_that_is_not_where_it_should_be_costs_only_itself() -> None:
    data = bytearray(zip_archive({"a.txt": ARK, "b.txt": ARK}))
    entry = data.index(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = struct.pack("<L", 7)
    assert read_members(bytes(data)) == ({"a.zip!/b.txt": ARK}, ["unreadable"])


def test_damage_inside_a_member_loses_the_rest() -> None:
    text = bytes(range(32, 127)) * 40
    data = bytearray(zip_archive({"a.txt": text, "b.txt": ARK}))
    data[60] ^= 255
    documents, findings = read_members(bytes(data))
    assert documents["a.zip!/b.txt"] == ARK
    assert "damaged" in findings or "unreadable" in findings


# -- tar, and files that are only compressed


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_goes_by_one_name_however_it_is_compressed(mode: str) -> None:
    data = tar_of({"./folder/a.txt": ARK, "/etc/b.txt": b"b", "../c.txt": b"c" * 1024}, mode)
    documents, findings = read_members(data, "a.tgz")
    assert documents == {"a.tgz!/folder/a.txt": ARK, "a.tgz!//etc/b.txt": b"b", "a.tgz!/../c.txt": b"c" * 1024}
    assert findings == []


def test_only_regular_files_of_a_tar_archive_are_read() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo(f"special-{kind!r}")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("a.txt")
        info.size = len(ARK)
        archive.addfile(info, io.BytesIO(ARK))
    assert read_members(made.getvalue(), "a.tar") == ({"a.tar!/a.txt": ARK}, [])


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_in_a_tar_archive_are_whole(form: int) -> None:
    name = "/".join(["a" * 40] * 4) + "/\N{LATIN SMALL LETTER E WITH ACUTE}.txt"
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(ARK)
        archive.addfile(info, io.BytesIO(ARK))
    assert read_members(made.getvalue(), "a.tar") == ({f"a.tar!/{name}": ARK}, [])


def test_behind_a_damaged_header_the_next_file_is_found() -> None:
    data = bytearray(tar_of({f"{number}.txt": ARK for number in range(3)}))
    data[1024 + 150] ^= 255  # the checksum of the second
    documents, findings = read_members(bytes(data), "a.tar")
    assert (list(documents), findings) == (["a.tar!/0.txt", "a.tar!/2.txt"], ["damaged"])


def test_damaged_header_of_an_empty_file_is_reported() -> None:
    data = bytearray(tar_of({"0.txt": b"", "1.txt": ARK}))
    data[150] ^= 255
    first = tar_of({"a.txt": ARK}).rstrip(b"\0").ljust(1024, b"\0")
    assert read_members(first + bytes(data), "a.tar") == ({"a.tar!/a.txt": ARK, "a.tar!/1.txt": ARK}, ["damaged"])


def test_tar_archives_in_one_file_are_read() -> None:
    data = tar_of({"a.txt": ARK}) + tar_of({"b.txt": ARK})
    assert read_members(data, "a.tar") == ({"a.tar!/a.txt": ARK, "a.tar!/b.txt": ARK}, [])


def test_sparse_file_is_reported() -> None:
    info = tarfile.TarInfo("a.txt")
    info.type = tarfile.GNUTYPE_SPARSE
    data = info.tobuf(tarfile.GNU_FORMAT) + tar_of({"b.txt": ARK})
    assert read_members(data, "a.tar") == ({"a.tar!/b.txt": ARK}, ["unreadable"])


def test_truncated_tar_archive_gives_its_first_members() -> None:
    data = tar_of({"a.txt": ARK, "b.txt": ARK * 100})
    documents, findings = read_members(data[: 1024 + 512 + 100], "a.tar")
    assert documents == {"a.tar!/a.txt": ARK}
    assert findings == ["damaged", "unreadable"]


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("a.txt.gz", gzip.compress),
        ("a.txt.bz2", bz2.compress),
        ("a.txt.xz", lzma.compress),
        ("a.txt.zst", zstd.compress),
    ],
)
def test_a_compressed_file_holds_one_document_of_one_or_more_pieces(name: str, compress) -> None:
    assert read_members(compress(ARK) + compress(b" twice"), name) == ({f"{name}!/a.txt": ARK + b" twice"}, [])


def test_truncated_gzip_data_gives_its_beginning() -> None:
    text = b"".join(b"%d " % number for number in range(10_000))
    documents, findings = read_members(gzip.compress(text)[:-2000], "a.gz")
    assert findings == ["damaged"]
    assert text.startswith(documents["a.gz!/a"])
    assert len(documents["a.gz!/a"]) > len(text) // 2


def test_wrong_checksum_is_reported_and_costs_nothing() -> None:
    data = bytearray(gzip.compress(ARK))
    data[-8] ^= 1
    assert read_members(bytes(data), "a.gz") == ({"a.gz!/a": ARK}, ["damaged"])


def test_non_archive_is_its_own_document() -> None:
    assert read_members(ARK, "a.txt") == ({"a.txt": ARK}, [])
    assert read_members(b"", "a.txt") == ({"a.txt": b""}, [])
    assert read_members(b"WARC/1.0 is a format, PK is another", "a.txt")[1] == []


def test_a_long_document_is_read_up_to_the_limit() -> None:
    assert read_members(ARK + bytes(1000), "a.txt", member_bytes=len(ARK)) == ({"a.txt": ARK}, ["cut-off"])
    documents, findings = read_members(zip_archive({"a.txt": ARK + bytes(1000), "b.txt": ARK}), member_bytes=len(ARK))
    assert (documents, findings) == ({"a.zip!/a.txt": ARK, "a.zip!/b.txt": ARK}, ["cut-off"])


# -- WARC

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n%s\r\n"


def record(number: int, **given: bytes | int) -> bytes:
    """Return a WARC record; *given* replaces its type, HTTP header, body, length, version and end."""
    body = given.get("body", b"<p>%d %s" % (number, ARK))
    block = given.get("http", HTML % given.get("fields", b"")) + body
    lines = [
        b"WARC/1.0",
        b"WARC-Type: " + given.get("kind", b"response"),
        b"WARC-Record-ID: <urn:uuid:%d>" % number,
        b"WARC-Target-URI: " + given.get("uri", b"http://x.example/%d" % number),
        b"Content-Type: " + given.get("media_type", b"application/http; msgtype=response"),
        b"Content-Length: %s" % given.get("length", b"%d" % len(block)),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + block + given.get("end", b"\r\n\r\n")


def numbers(data: bytes) -> tuple[list[int], list[str]]:
    """Return the numbers of the documents with a complete ARK, and the kinds of the findings."""
    documents, findings = read_members(data, "a.warc")
    whole = [name for name, body in documents.items() if b" " + ARK in body and body.count(ARK) == 1]
    return [int(name.rpartition("/")[2]) for name in whole], findings


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_each_successful_response_is_a_document_by_its_archive_and_uri(compress) -> None:
    kinds = [b"warcinfo", b"request", b"metadata", b"revisit", b"continuation"]
    others = [record(number, kind=kind) for number, kind in enumerate(kinds)]
    missing = record(8, http=b"HTTP/1.1 404 Not Found\r\n\r\n")
    picture = record(9, http=b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
    dns = record(10, media_type=b"text/dns", http=b"")
    data = b"".join(map(compress, [*others, record(11), missing, picture, dns, record(12)]))
    found = [each for each in members(io.BytesIO(data), name="a.warc") if isinstance(each, ArchiveMember)]
    assert [(each.name, each.url, each.media_type, each.charset) for each in found] == [
        (f"a.warc!/http://x.example/{number}", f"http://x.example/{number}", "text/html", "iso-8859-1")
        for number in (11, 12)
    ]
    assert found[0].data == b"<p>11 " + ARK
    assert read_members(data, "a.warc")[1] == ["members-skipped"] * 3


def test_texts_and_resources_are_documents_without_http() -> None:
    text = record(1, kind=b"conversion", media_type=b"text/plain", http=b"", body=ARK)
    file = record(2, kind=b"resource", media_type=b"text/html", http=b"", body=ARK, uri=b"<file:///a.html>")
    found = [each for each in members(io.BytesIO(text + file), name="a.wet") if isinstance(each, ArchiveMember)]
    assert [(each.name, each.url, each.media_type, each.data) for each in found] == [
        ("a.wet!/http://x.example/1", "http://x.example/1", "text/plain", ARK),
        ("a.wet!/file:///a.html", None, "text/html", ARK),
    ]


def test_record_with_a_malformed_uri_is_read() -> None:
    uri = "http://[zz]/ark:/12148/x9"
    assert list(read_members(record(1, uri=uri.encode()), "a.warc")[0]) == [f"a.warc!/{uri}"]


def test_a_page_that_was_archived_twice_is_two_documents() -> None:
    data = record(1) + record(1, body=b"changed") + record(2) + record(1, body=b"again")
    assert list(read_members(data, "a.warc")[0]) == [
        "a.warc!/http://x.example/1",
        "a.warc!/http://x.example/1 (2)",
        "a.warc!/http://x.example/2",
        "a.warc!/http://x.example/1 (3)",
    ]


CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        pytest.param(b"Content-Encoding: gzip\r\n", gzip.compress(ARK), id="gzip"),
        pytest.param(b"Content-Encoding: x-gzip\r\n", gzip.compress(ARK), id="gzip by its old name"),
        pytest.param(b"Content-Encoding: br\r\n", brotli.compress(ARK), id="Brotli"),
        pytest.param(b"Content-Encoding: zstd\r\n", zstd.compress(ARK), id="Zstandard"),
        pytest.param(b"Content-Encoding: deflate\r\n", zlib.compress(ARK), id="deflate as specified"),
        pytest.param(b"Content-Encoding: deflate\r\n", zlib.compress(ARK)[2:-4], id="deflate as Microsoft sent it"),
        pytest.param(b"Content-Encoding: br, gzip\r\n", gzip.compress(brotli.compress(ARK)), id="two encodings"),
        pytest.param(b"Content-Encoding: gzip\r\n", ARK, id="an encoding that the archive has taken off"),
        pytest.param(b"Content-Encoding: br\r\n", ARK, id="Brotli that the archive has taken off"),
        pytest.param(b"Content-Encoding: utf-8\r\n", ARK, id="an unknown encoding"),
        pytest.param(CHUNKED, b"4\r\nsee \r\n18;x=y\r\n" + ARK[4:] + b"\r\n0\r\n\r\n", id="chunks"),
        pytest.param(CHUNKED, b"4\nsee \n18\n" + ARK[4:] + b"\n0\n\n", id="chunks with bare line feeds"),
        pytest.param(CHUNKED, b"4\r\nsee \r\nffff\r\n" + ARK[4:], id="chunks that were cut off"),
        pytest.param(CHUNKED, ARK, id="chunks that the archive has joined"),
        pytest.param(
            CHUNKED + b"Content-Encoding: gzip\r\n",
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(ARK)), gzip.compress(ARK)),
            id="compressed chunks",
        ),
    ],
)
def test_a_body_is_read_as_it_was_meant(fields: bytes, body: bytes) -> None:
    assert read_members(record(1, fields=fields, body=body), "a.warc") == ({"a.warc!/http://x.example/1": ARK}, [])


def test_an_archive_inside_of_a_web_archive_is_named_by_both() -> None:
    inner = record(1, body=zip_archive({"b.html": ARK}), uri=b"http://x.example/a.zip")
    outer = record(2, http=b"", kind=b"resource", media_type=b"application/warc", body=record(3) * 2)
    assert list(read_members(inner + outer, "a.warc")[0]) == [
        "a.warc!/http://x.example/a.zip!/b.html",
        "a.warc!/http://x.example/2!/http://x.example/3",
        "a.warc!/http://x.example/2!/http://x.example/3 (2)",
    ]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("vector", vectors("wrong_records"))
def test_a_record_that_is_wrong_costs_no_document(vector, compress) -> None:
    wrong = {name: text.encode("latin-1") for name, text in vector.items() if name != "why"}
    pieces = [compress(record(number, **(wrong if number == 2 else {}))) for number in range(5)]
    assert numbers(b"".join(pieces))[0] == [0, 1, 2, 3, 4]


def test_a_gzip_member_that_was_cut_off_costs_only_its_end() -> None:
    pieces = [gzip.compress(record(number)) for number in range(5)]
    pieces[2] = pieces[2][:-60]
    whole, findings = numbers(b"".join(pieces))
    assert whole == [0, 1, 3, 4]
    assert "damaged" in findings


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(b"JUNK" * 99, id="junk"),
        pytest.param(bytes(512), id="zeros"),
        pytest.param(b"\x1f\x8b\x08", id="a lie"),
    ],
)
def test_bytes_between_gzip_members_are_skipped(between: bytes) -> None:
    pieces = [gzip.compress(record(number)) for number in range(5)]
    assert numbers(pieces[0] + between + b"".join(pieces[1:]))[0] == [0, 1, 2, 3, 4]


def test_records_may_share_a_gzip_member_or_stretch_over_several() -> None:
    data = b"".join(map(record, range(5)))
    assert numbers(gzip.compress(data)) == ([0, 1, 2, 3, 4], [])
    cuts = [0, 100, 700, 1500, len(data)]
    assert numbers(b"".join(gzip.compress(data[start:end]) for start, end in pairwise(cuts)))[0] == [0, 1, 2, 3, 4]


def test_a_web_archive_of_bare_line_feeds_is_read() -> None:
    assert numbers(b"".join(map(record, range(5))).replace(b"\r\n", b"\n"))[0] == [0, 1, 2, 3, 4]


def test_the_end_of_a_file_may_be_missing_anywhere() -> None:
    data = b"".join(map(record, range(3)))
    first, second = len(record(0)), len(record(0) + record(1))
    for size in range(len(data)):
        whole, _ = numbers(data[:size]) if size > 12 else ([], [])
        assert whole[: (size >= first) + (size >= second)] == [0, 1][: (size >= first) + (size >= second)]


def test_a_web_archive_without_a_record_is_unreadable() -> None:
    assert read_members(b"WARC/1.0\r\nWARC-Type: " + b"x" * 100_000, "a.warc") == ({}, ["unreadable"])


def test_a_long_record_is_read_up_to_the_limit_and_the_next_one_found() -> None:
    data = record(0) + record(1, body=ARK + b"x" * 10_000) + record(2)
    documents, findings = read_members(data, "a.warc", member_bytes=300)
    assert [name[-1] for name in documents] == ["0", "1", "2"]
    assert findings == ["cut-off"]


def test_archives_written_by_warcio_are_read() -> None:
    writer = pytest.importorskip("warcio.warcwriter")
    headers = pytest.importorskip("warcio.statusandheaders")
    for is_compressed in (False, True):
        made = io.BytesIO()
        warc = writer.WARCWriter(made, gzip=is_compressed)
        warc.write_record(warc.create_warcinfo_record("a.warc", {"software": "a test"}))
        for number in range(3):
            told = headers.StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            page = io.BytesIO(b"<p>%d %s" % (number, ARK))
            uri = f"http://x.example/{number}"
            warc.write_record(warc.create_warc_record(uri, "response", payload=page, http_headers=told))
        assert numbers(made.getvalue()) == ([0, 1, 2], [])


def test_members_are_counted_and_no_more_are_looked_at() -> None:
    data = zip_archive({f"{number}.txt": ARK for number in range(50)})
    for archive, name in ((data, "a.zip"), (tar_of({str(n): ARK for n in range(50)}, "w:gz"), "a.tgz")):
        documents, findings = read_members(archive, name, members=20)
        assert len(documents) == 20
        assert findings == ["archive-limit"]


def test_file_that_claims_exabytes_is_damaged() -> None:
    info = tarfile.TarInfo("a.txt")
    info.size = 2**60
    data = info.tobuf(tarfile.GNU_FORMAT) + ARK
    assert read_members(data, "a.tar") == ({}, ["damaged", "unreadable"])
    info.type = tarfile.XHDTYPE
    assert read_members(info.tobuf(tarfile.GNU_FORMAT) + ARK, "a.tar") == ({}, ["damaged"])


def test_xz_stream_that_needs_gigabytes_is_refused() -> None:
    wide = {"id": lzma.FILTER_LZMA2, "dict_size": 2**28, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "nice_len": 8}
    packer = lzma.LZMACompressor(filters=[wide])
    data = packer.compress(ARK) + packer.flush()
    assert read_members(data, "a.xz") == ({}, ["unreadable"])


SAMPLES = [
    zip_archive({"a.txt": ARK, "b.zip": zip_archive({"c.html": ARK})}),
    tar_of({"a.txt": ARK, "b" * 200: ARK * 30}),
    tar_of({"a.txt": ARK, "b.gz": gzip.compress(ARK)}, "w:gz"),
    b"".join(map(record, range(3))),
    b"".join(gzip.compress(record(number)) for number in range(3)),
    record(1, fields=CHUNKED + b"Content-Encoding: gzip\r\n", body=b"5\r\n" + gzip.compress(ARK)),
    lzma.compress(ARK),
    bz2.compress(ARK),
    zstd.compress(ARK),
]


EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(st.binary(max_size=20), st.sampled_from(SAMPLES))),
    max_size=4,
)


@settings(max_examples=8 * settings.default.max_examples)
@given(st.sampled_from(SAMPLES), EDITS)
def test_no_bytes_raise_an_error(data: bytes, edits: list[tuple[float, int, bytes]]) -> None:
    for where, size, put in edits:
        at = int(where * len(data))
        data = data[:at] + put + data[at + size :]
    limits = Limits(member_bytes=10_000, total_bytes=100_000, ratio=1, members=50)
    found = list(members(io.BytesIO(data), name="a", limits=limits))
    assert all(len(each.data) <= 10_000 for each in found if isinstance(each, ArchiveMember))
    assert len({each.name for each in found if isinstance(each, ArchiveMember)}) <= 60
    assert len([each for each in found if isinstance(each, Finding)]) <= 12


@given(st.binary(max_size=2000))
def test_kind_of_any_bytes_is_recognized(data: bytes) -> None:
    if archive_kind(data) is None:
        assert [each.data for each in members(io.BytesIO(data), name="a") if isinstance(each, ArchiveMember)] == [data]


def test_a_file_of_gigabytes_is_not_loaded(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.write(ARK)
        file.truncate(3 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with big.open("rb") as stream:
        [member] = members(stream, name="big.txt", limits=Limits(member_bytes=2**20))
    assert isinstance(member, ArchiveMember)
    assert (member.data[: len(ARK)], [each.kind for each in member.findings]) == (ARK, ["cut-off"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16
