"""Packages: damage, lies and bombs; readable parts are read, and the rest is reported."""

import struct
import zipfile
import zlib

import pytest

from extractors.readers.office import package as packages
from extractors.readers.office.package import Package
from tests.unit.extractors.packages import zip_archive
from tests.unit.extractors.readings import kinds


def central_entry(name, *, offset, size=0, packed=0, method=8, flags=0, crc=0):
    fields = (20, 20, flags, method, 0, 0, crc, packed, size, len(name), 0, 0, 0, 0, 0, offset)
    return b"PK\x01\x02" + struct.pack("<6H3L5H2L", *fields) + name


def local_entry(name, content, *, method=8, flags=0, packed=None, crc=0):
    size = len(content) if packed is None else packed
    return b"PK\x03\x04" + struct.pack("<5H3L2H", 20, flags, method, 0, 0, crc, size, 0, len(name), 0) + name + content


def directory(entries, *, offset):
    listed = b"".join(entries)
    count = min(len(entries), 0xFFFF)
    return listed + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, count, count, len(listed), offset, 0)


def deflate(content):
    squeeze = zlib.compressobj(9, wbits=-15)
    return squeeze.compress(content) + squeeze.flush()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_members_are_read(method):
    package = Package(zip_archive({"a": b"one" * 5000, "b/c": b""}, method))
    assert list(package.members) == ["a", "b/c"]
    assert (package.read("a"), package.read("b/c"), package.read("d")) == (b"one" * 5000, b"", b"")
    assert package.head("a") == (b"one" * 5000)[:4096]
    assert package.findings == []


def test_an_archive_behind_junk_is_read():
    package = Package(b"HTTP/1.1 200 OK\r\n\r\n" + zip_archive({"a": "x"}))
    assert (package.read("a"), package.findings) == (b"x", [])


def test_last_member_of_a_name_is_read_with_a_finding():
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zip_archive([("a", "one"), ("a", "two")])
    package = Package(data)
    assert (package.read("a"), kinds(package)) == (b"two", ["duplicate-member"])


def test_a_member_that_explodes_is_read_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(packages, "MOST_MEMBER_BYTES", 10_000)
    package = Package(zip_archive({"a": bytes(5_000_000), "b": bytes(10_000)}))
    assert (len(package.read("a")), kinds(package)) == (10_000, ["cut-off"])
    assert (len(package.read("b")), kinds(package)) == (10_000, ["cut-off"])


def test_many_members_explode_no_further_than_one(monkeypatch):
    monkeypatch.setattr(packages, "MOST_BYTES", 10_000)
    package = Package(zip_archive({str(number): bytes(4_000) for number in range(10)}))
    read = [len(package.read(name)) for name in package.members]
    assert read == [4_000, 4_000, 2_000, *[0] * 7]
    assert set(kinds(package)) == {"cut-off"}


def test_members_that_share_their_bytes_are_read_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(packages, "MOST_BYTES", 250_000)
    content = bytes(100_000)
    kernel = local_entry(b"a", deflate(content))
    listed = [central_entry(b"a", offset=0, size=len(content), packed=200, crc=zlib.crc32(content))]
    package = Package(kernel + directory(listed * 1_000, offset=len(kernel)))
    assert sum(len(package.read("a")) for _ in range(1_000)) <= 250_000
    assert set(kinds(package)) == {"duplicate-member", "cut-off"}
    assert len(package.findings) <= 50  # and not a thousand


def test_directory_beyond_all_measure_is_not_read():
    entries = [central_entry(b"%d" % number, offset=0) for number in range(200_000)]
    assert kinds(Package(local_entry(b"a", b"") + directory(entries, offset=31))) == ["unreadable"]


def test_inflating_nothing_at_all_is_bounded_as_well(monkeypatch):
    monkeypatch.setattr(packages, "MOST_BYTES", 50_000)
    empty_blocks = b"\x00\x00\x00\xff\xff" * 8_000  # stored, of no bytes, and not the last
    local = local_entry(b"a", empty_blocks)
    entry = central_entry(b"a", offset=0, size=9, packed=len(empty_blocks))
    package = Package(local + directory([entry], offset=len(local)))
    assert [package.read("a") for _ in range(3)] == [b""] * 3
    assert kinds(package) == ["cut-off"]


def test_package_without_its_directory_is_unreadable():
    package = Package(local_entry(b"a", deflate(b"x" * 3000)) + b"PK\x01\x02 and no more")
    assert (package.members, kinds(package)) == ({}, ["unreadable"])


def test_damage_in_a_member_keeps_text_before_it():
    content = "".join(f"{number * number}," for number in range(20_000)).encode()
    data = bytearray(zip_archive({"a": content}))
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    package = Package(bytes(data))
    read = package.read("a")
    assert len(read) > len(content) // 4
    assert kinds(package) == ["unreadable-part"]


def test_wrong_checksum_is_reported():
    data = bytearray(zip_archive({"a": "one"}, zipfile.ZIP_STORED))
    data[data.index(b"one")] = ord("O")
    package = Package(bytes(data))
    assert (package.read("a"), kinds(package)) == (b"", ["unreadable-part"])


def test_an_encrypted_member_asks_for_a_password():
    local = local_entry(b"a", b"\x00" * 20, flags=1)
    package = Package(local + directory([central_entry(b"a", offset=0, packed=20, flags=1)], offset=len(local)))
    assert (package.read("a"), package.head("a"), kinds(package)) == (b"", b"", ["encrypted"])


@pytest.mark.parametrize("offset", [5, 10**6, 0xFFFFFFF0])
def test_member_that_is_not_where_it_should_be_costs_only_itself(offset):
    local = local_entry(b"a", deflate(b"x"))
    entries = [
        central_entry(b"a", offset=0, size=1, packed=3, crc=zlib.crc32(b"x")),
        central_entry(b"b", offset=offset),
    ]
    package = Package(local + directory(entries, offset=len(local)))
    assert (package.read("b"), package.read("a")) == (b"", b"x")
    assert kinds(package) == ["unreadable-part"]


def test_names_mean_nothing_to_this_machine():
    package = Package(zip_archive({"../../etc/passwd": "x", "/a": "y", "C:\\b": "z"}))
    assert [package.read(name) for name in package.members] == [b"x", b"y", b"z"]


def test_a_name_in_a_finding_is_short_and_printable():
    name = "a\n\x1b[31m" + "b" * 300
    data = bytearray(zip_archive({name: "one"}, zipfile.ZIP_STORED))
    data[data.index(b"one")] = ord("O")
    package = Package(bytes(data))
    package.read(*package.members)
    assert package.findings[0].detail.isprintable()
    assert len(package.findings[0].detail) < 200
