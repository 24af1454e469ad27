"""The rights of a parser in its process, where the kernel can restrict them."""

import ctypes
import os
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extractors.extraction import extraction_of
from extractors.processes import sandbox
from extractors.processes.sandbox import _REFUSED_CALLS, SandboxMeasure
from extractors.processes.worker import Worker, WorkerError

LIBC = ctypes.CDLL(None, use_errno=True)
LANDLOCK = LIBC.syscall(444, None, 0, 1) if sys.platform.startswith("linux") else -1


def means() -> list[str]:
    return sorted(sandbox._measures or ())


def head_of(path: str) -> bytes:
    return Path(path).read_bytes()[:10]


def names_in(path: str) -> list[str]:
    return [each.name for each in Path(path).iterdir()]


def write(path: str) -> None:
    Path(path).write_bytes(b"x")


def append(path: str) -> None:
    with Path(path).open("ab") as file:
        file.write(b"x")


def remove(path: str) -> None:
    Path(path).unlink()


def make_folder(path: str) -> None:
    Path(f"{path}.d").mkdir()


def link(path: str) -> None:
    Path(f"{path}.l").symlink_to("/etc/passwd")


def temporary(_: str) -> None:
    tempfile.TemporaryFile().close()


def connect(address: str) -> None:
    host, port = address.rsplit(":", 1)
    socket.create_connection((host, int(port)), timeout=5).close()


def datagram(_: str) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def local_socket(_: str) -> None:
    socket.socket(socket.AF_UNIX).close()


def pair(_: str) -> None:
    for each in socket.socketpair():
        each.close()


def run_program(_: str) -> None:
    subprocess.run(["/bin/true"], check=True)


def trace(_: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    libc.ptrace(17, os.getppid(), 0, 0)


def ring(_: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 8, ctypes.create_string_buffer(120)) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")


@pytest.fixture
def worker() -> Iterator[Worker[..., Any]]:
    with Worker(means, timeout_s=60.0, memory_bytes=2**30) as worker:
        yield worker


def outcome(worker: Worker[..., Any], function: Callable[[str], object], argument: str) -> str:
    try:
        worker.call_other(function, argument)
    except WorkerError as failure:
        return str(failure).partition(":")[0]
    return "done"


def test_all_means_that_the_kernel_has_are_used(worker: Worker[..., Any]) -> None:
    expected = [SandboxMeasure.LANDLOCK] if LANDLOCK > 0 else []
    expected += (
        [SandboxMeasure.SECCOMP] if platform.machine() in _REFUSED_CALLS and sys.platform.startswith("linux") else []
    )
    assert worker.call() == expected


@pytest.mark.skipif(LANDLOCK <= 0, reason="this kernel has no Landlock")
@pytest.mark.promise
def test_a_parser_reads_and_writes_no_files_but_those_of_python(worker: Worker[..., Any], tmp_path: Path) -> None:
    own = tmp_path / "a.txt"
    own.write_text("x")
    for function, path in (
        (head_of, "/etc/passwd"), (head_of, "/proc/self/environ"), (head_of, own), (names_in, "/"), (names_in, Path.home()),
        (names_in, tmp_path), (write, own), (write, tmp_path / "new"), (append, own), (remove, own), (make_folder, own),
        (link, own), (temporary, own), (write, Path(__file__).parent / "new"),
    ):  # fmt: skip
        assert outcome(worker, function, str(path)) in ("PermissionError", "FileNotFoundError"), (function, path)
    assert own.read_text() == "x"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert outcome(worker, head_of, os.__file__) == "done", "modules are read when they are needed"


@pytest.mark.skipif(platform.machine() not in _REFUSED_CALLS, reason="the calls of this architecture are not known")
def test_a_parser_reaches_no_network_and_starts_no_program(worker: Worker[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for function in (connect, datagram, local_socket, pair, run_program, trace, ring):
            assert outcome(worker, function, address) == "PermissionError", function
        with pytest.raises(TimeoutError):
            server.accept()


def test_documents_are_read_as_without(worker: Worker[..., Any]) -> None:
    folder = Path(__file__).parents[3] / "tools" / "demo" / "site"
    documents = sorted(each for each in folder.rglob("*") if each.suffix in (".pdf", ".html", ".docx", ".xml"))
    assert documents
    for path in documents:
        data = path.read_bytes()
        assert worker.call_other(extraction_of, data, name=path.name) == extraction_of(data, name=path.name), path
