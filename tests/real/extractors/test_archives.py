"""Archives that are made to take time, memory or disk."""

import ast
import bz2
import gzip
import lzma
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest

from tests.unit.extractors.packages import zip_archive
from tests.unit.extractors.test_archives import ARK, record, zstd

ROOT = Path(__file__).parents[3]


# -- hostile archives

LIMITED = """
import io, resource, sys, time
from extractors.archives.walk import members
from extractors.archives.members import Limits, ArchiveMember

data = sys.stdin.buffer.read()
resource.setrlimit(resource.RLIMIT_AS, (600 * 2**20, 600 * 2**20))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
read = {}
for each in members(io.BytesIO(data), name="bomb"):
    if isinstance(each, ArchiveMember):
        read["bytes"] = read.get("bytes", 0) + len(each.data)
        for finding in each.findings:
            read[finding.kind] = read.get(finding.kind, 0) + 1
        read[each.name[-7:]] = bytes(each.data[:4])
    else:
        read[each.kind] = read.get(each.kind, 0) + 1
print(read)
"""


def read_within_limits(data: bytes) -> dict[str, object]:
    """Read an archive in a process with 600 MiB of address space and a minute of CPU time."""
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, input=data, capture_output=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = ast.literal_eval(done.stdout.decode())
    assert isinstance(found, dict)
    return found


def deflated_zeros(mebibytes: int) -> bytes:
    """Return raw deflate data of *mebibytes* MiB of zeros, made faster than it is inflated."""
    packer = zlib.compressobj(9, wbits=-15)
    piece = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * mebibytes + packer.flush()


def gzip_member(deflated: bytes) -> bytes:
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflated + bytes(8)


TEN_GIB = 10 * 2**10


def zstd_gib() -> bytes:
    return zstd.compress(bytes(2**26)) * 16


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip_member(deflated_zeros(TEN_GIB)),
    "gzip in gzip": lambda: gzip.compress(gzip_member(deflated_zeros(TEN_GIB))),
    "gzip in ZIP: 10 GiB in 50 KB": lambda: zip_archive({"a.gz": gzip_member(deflated_zeros(TEN_GIB))}),
    "bzip2": lambda: bz2.compress(bytes(2**24)) * 640,
    "XZ": lambda: lzma.compress(bytes(2**24)) * 64,
    "Zstandard": zstd_gib,
    "many in one": lambda: zip_archive({f"{number}.zst": zstd_gib() for number in range(20)}),
    "Brotli in WARC": lambda: b"".join(
        record(number, fields=b"Content-Encoding: br\r\n", body=brotli.compress(bytes(2**28), quality=1))
        for number in range(9)
    ),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_takes_bounded_time_and_memory(bomb: Callable[[], bytes]) -> None:
    found = read_within_limits(bomb())
    assert int(str(found["bytes"])) <= 300 * 2**20
    assert "cut-off" in found or "archive-limit" in found


def test_members_before_a_bomb_are_read() -> None:
    found = read_within_limits(zip_archive({"see.txt": ARK, "b.gz": gzip_member(deflated_zeros(TEN_GIB))}))
    assert found["see.txt"] == ARK[:4]


def test_files_that_overlap_are_unpacked_up_to_the_limit() -> None:
    kernel = deflated_zeros(64)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(kernel), 2**26, 1, 0) + b"a"
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, len(kernel), 2**26, 1, 0, 0, 0, 0, 0, 0)
    directory = (entry + b"a") * 30_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 30_000, 30_000, len(directory), len(local + kernel), 0)
    found = read_within_limits(local + kernel + directory + end)
    assert int(str(found["bytes"])) <= 300 * 2**20
    assert found["archive-limit"]


def test_a_directory_of_millions_is_not_loaded() -> None:
    local = zip_archive({"see.txt": ARK})[: -22 - 46 - 7]
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    directory = entry * 3_000_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(directory), len(local), 0)
    assert read_within_limits(local + directory + end) == {"unreadable": 1}


def test_tar_headers_of_any_length_take_bounded_memory() -> None:
    pax = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
    info = tarfile.TarInfo("a.txt")
    info.type, info.size = tarfile.XHDTYPE, len(pax)
    sparse = info.tobuf() + pax.ljust(512, b"\0")
    info.type, info.size = tarfile.REGTYPE, 2**40
    sparse += info.tobuf() + b"9" * 9 + b"\n" + b"1\n" * 2**26
    assert set(read_within_limits(gzip.compress(sparse, 1))) == {"damaged"}
    info.type, info.size = tarfile.XHDTYPE, 2**30
    assert set(read_within_limits(info.tobuf() + bytes(2**28))) == {"damaged"}
