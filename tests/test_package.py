"""Packages: damage, lies and bombs; readable parts are read, and the rest is reported."""

import struct
import zipfile
import zlib
from io import BytesIO

import pytest

from extractors.readers.office import package as packages
from extractors.readers.office.package import Package
from tests.growth import LINEAR, growth
from tests.packages import zip_archive
from tests.readings import kinds


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


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "deflated"])
def test_members_are_read(stored):
    package = Package(zip_archive({"a": b"one" * 5000, "b/c": b""}, stored=stored))
    assert package.names == ("a", "b/c")
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


def test_a_stated_size_is_no_limit_and_no_promise():
    packed = deflate(b"x" * 1000)
    local = local_entry(b"a", packed)
    for size, packed_size in ((1, 1), (2**31, 2**31)):
        entry = central_entry(b"a", offset=0, size=size, packed=packed_size, crc=zlib.crc32(b"x" * 1000))
        package = Package(local + directory([entry], offset=len(local)))
        assert (package.read("a"), package.findings) == (b"x" * 1000, [])


def test_a_member_that_explodes_is_read_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(packages, "MOST_MEMBER_BYTES", 10_000)
    package = Package(zip_archive({"a": bytes(5_000_000), "b": bytes(10_000)}))
    assert (len(package.read("a")), kinds(package)) == (10_000, ["cut-off"])
    assert (len(package.read("b")), kinds(package)) == (10_000, ["cut-off"])


def test_many_members_explode_no_further_than_one(monkeypatch):
    monkeypatch.setattr(packages, "MOST_BYTES", 10_000)
    package = Package(zip_archive({str(number): bytes(4_000) for number in range(10)}))
    read = [len(package.read(name)) for name in package.names]
    assert read == [4_000, 4_000, 2_000, *[0] * 7]
    assert set(kinds(package)) == {"cut-off"}


def test_members_that_share_their_bytes_are_read_once():
    kernel = local_entry(b"a", deflate(bytes(100_000)))
    entries = [central_entry(b"%d" % number, offset=0, packed=200) for number in range(1_000)]
    package = Package(kernel + directory(entries, offset=len(kernel)))
    assert len(package.names) == 1
    assert set(kinds(package)) == {"unreadable-part"}
    assert len(package.findings) == 50  # and not a thousand


def test_a_directory_beyond_all_measure_is_not_read(monkeypatch):
    monkeypatch.setattr(packages, "MOST_MEMBERS", 20)
    package = Package(zip_archive({str(number): "x" for number in range(50)}))
    assert len(package.names) == 20
    assert (package.read("3"), kinds(package)) == (b"x", ["cut-off"])


def test_headers_without_content_take_linear_time():
    def read_all(count):
        package = Package(local_entry(b"a", b"", flags=8) * count)
        for name in package.names:
            package.read(name)

    assert growth(read_all, 10_000) < LINEAR


def test_inflating_nothing_at_all_is_bounded_as_well(monkeypatch):
    monkeypatch.setattr(packages, "MOST_BYTES", 50_000)
    empty_blocks = b"\x00\x00\x00\xff\xff" * 8_000  # stored, of no bytes, and not the last
    local = local_entry(b"a", empty_blocks)
    package = Package(local + directory([central_entry(b"a", offset=0)], offset=len(local)))
    assert [package.read("a") for _ in range(3)] == [b""] * 3
    assert kinds(package) == ["unreadable-part", "cut-off"]


@pytest.mark.parametrize("flags", [0, 8], ids=["with sizes", "with sizes behind"])
def test_without_its_directory_the_members_are_looked_for(flags):
    members = [local_entry(name, deflate(b"x" * 3000), flags=flags, packed=0 if flags else None, crc=0)
               for name in (b"a", b"b")]  # fmt: skip
    package = Package(b"".join(members) + b"PK\x01\x02 and no more")
    assert package.names == ("a", "b")
    assert (package.read("a"), package.read("b")) == (b"x" * 3000,) * 2
    assert kinds(package)[0] == "unreadable"


def test_a_zip_within_a_zip_is_no_part_of_it():
    inner = zip_archive({"inner.txt": "x"}, stored=True)
    whole = zip_archive({"embedded.zip": inner, "a": "y"}, stored=True)
    package = Package(whole[: whole.rindex(b"PK\x05\x06")])
    assert package.names == ("embedded.zip", "a")


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
    data = bytearray(zip_archive({"a": "one"}, stored=True))
    data[data.index(b"one")] = ord("O")
    package = Package(bytes(data))
    assert (package.read("a"), kinds(package)) == (b"One", ["unreadable-part"])


def test_other_methods_have_no_place():
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", bytes(1000))
    package = Package(file.getvalue())
    assert (package.read("a"), kinds(package)) == (b"", ["unreadable-part"])


def test_an_encrypted_member_asks_for_a_password():
    local = local_entry(b"a", b"\x00" * 20, flags=1)
    package = Package(local + directory([central_entry(b"a", offset=0, packed=20, flags=1)], offset=len(local)))
    assert (package.read("a"), package.head("a"), kinds(package)) == (b"", b"", ["encrypted"])


@pytest.mark.parametrize("offset", [5, 10**6, 0xFFFFFFF0])
def test_a_member_that_is_not_where_it_should_be(offset):
    local = local_entry(b"a", deflate(b"x"))
    entries = [central_entry(b"a", offset=0, crc=zlib.crc32(b"x")), central_entry(b"b", offset=offset)]
    package = Package(local + directory(entries, offset=len(local)))
    assert (package.read("b"), package.read("a")) == (b"", b"x")
    assert kinds(package) == ["unreadable-part"]


def test_a_directory_that_leads_nowhere_is_that_of_no_archive():
    local = local_entry(b"a", deflate(b"x"), crc=zlib.crc32(b"x"))
    package = Package(local + directory([central_entry(b"a", offset=5)], offset=len(local)))
    assert (package.read("a"), kinds(package)) == (b"x", ["unreadable"])


def test_names_mean_nothing_to_this_machine():
    package = Package(zip_archive({"../../etc/passwd": "x", "/a": "y", "C:\\b": "z"}))
    assert [package.read(name) for name in package.names] == [b"x", b"y", b"z"]


def test_a_name_in_a_finding_is_short_and_printable():
    name = "a\n\x1b[31m" + "b" * 300
    data = bytearray(zip_archive({name: "one"}, stored=True))
    data[data.index(b"one")] = ord("O")
    package = Package(bytes(data))
    package.read(*package.names)
    assert package.findings[0].detail.isprintable()
    assert len(package.findings[0].detail) < 200
