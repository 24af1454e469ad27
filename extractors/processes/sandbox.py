"""Takes from a process what parsing needs no more: files but its own, the network, and programs to run.

Two means of Linux, as far as the kernel has them: Landlock (from 5.13 on) for files, TCP and signals, and a seccomp
filter for sockets, programs and other processes. Neither can be taken back, nor by what the process starts. `docs/adr`
has why no library does this. What a kernel lacks is not made up for: `confine` says what holds.
"""

from __future__ import annotations

import ctypes
import mimetypes
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path


class Means(StrEnum):
    """A means that keeps a process from doing more than it should."""

    LANDLOCK = "landlock"
    """It reads no files but those of Python and its libraries, and writes none."""
    SECCOMP = "seccomp"
    """It opens no socket, starts no program, and looks into no other process."""


_done: frozenset[Means] | None = None


def held() -> frozenset[Means]:
    """By what means this process is confined."""
    return _done or frozenset()


def confine() -> frozenset[Means]:
    """Confine this process, for good; returns by what means that was possible."""
    global _done
    if _done is None:
        _done = _confined()
    return _done


def _confined() -> frozenset[Means]:
    if not sys.platform.startswith("linux"):
        return frozenset()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return frozenset()
    done = set()
    with suppress(OSError):
        _restrict_files(libc)
        done.add(Means.LANDLOCK)
    with suppress(OSError):
        _filter_calls(libc)
        done.add(Means.SECCOMP)
    return frozenset(done)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses it")
    return result


# -- Landlock: https://docs.kernel.org/userspace-api/landlock.html

_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
#: How many rights of files each version of the interface knows; those of the first version are 13.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_FILE_RIGHTS = 16
_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def _restrict_files(libc: ctypes.CDLL) -> None:
    """Let nothing be read but what `_readable` names, and nothing be written. Raises OSError."""
    version = _checked(libc.syscall(_CREATE_RULESET, None, 0, _VERSION))
    rights = (1 << _FILE_RIGHTS.get(version, _ALL_FILE_RIGHTS)) - 1
    handled = [rights, *([_TCP] if version >= 4 else []), *([_ABSTRACT_SOCKETS_AND_SIGNALS] if version >= 6 else [])]
    attributes = struct.pack(f"={len(handled)}Q", *handled)
    rules = _checked(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path in _readable():
            _allow(libc, rules, path, _READ_FILE | _READ_DIR)
        _allow(libc, rules, Path(os.devnull), _READ_FILE | _WRITE_FILE)
        _checked(libc.syscall(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it isn't there
        return
    try:
        rights &= ~0 if path.is_dir() else ~_READ_DIR
        libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _readable() -> Iterator[Path]:
    """Return where modules and shared libraries are, which are read when they are first needed; fonts, time zones,
    types.
    """
    own = {*sysconfig.get_paths().values(), str(Path(__file__).parents[2]), *filter(os.path.isabs, sys.path)}
    shared = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
    data = ("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/zoneinfo", "/dev/urandom")
    for path in sorted({*own, *shared, *data, *map(str, mimetypes.knownfiles), "/sys/devices/system/cpu"}):
        if Path(path) not in (Path("/"), Path("/etc"), Path.home()):
            yield Path(path)


# -- seccomp: https://docs.kernel.org/userspace-api/seccomp_filter.html

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ERRNO with EPERM
_LOAD, _IS_EQUAL, _IS_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_CALL_AT, _ARCHITECTURE_AT = 0, 4  # of struct seccomp_data
_X32 = 0x40000000  # calls of x32, under the same architecture as those of x86-64

#: The architecture as the kernel names it, and the calls that are refused there: socket, socketpair, connect, accept,
#: bind, listen and accept4; execve and execveat; ptrace, process_vm_readv and process_vm_writev; io_uring, by which
#: sockets can be had as well; and memory that is looked at from outside (userfaultfd, bpf, perf_event_open).
_REFUSED: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (41, 53, 42, 43, 49, 50, 288, 59, 322, 101, 310, 311, 425, 426, 427, 323, 321, 298)),
    "aarch64": (0xC00000B7, (198, 199, 203, 202, 200, 201, 242, 221, 281, 117, 270, 271, 425, 426, 427, 282, 280, 241)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_calls(libc: ctypes.CDLL) -> None:
    """Refuse some calls of the kernel from now on. Raises OSError."""
    refused = _REFUSED.get(platform.machine())
    if refused is None or sys.maxsize < 2**32:
        raise OSError("this architecture's calls are not known here")
    steps = b"".join(_steps(*refused))
    program = _Program(len(steps) // 8, steps)
    _checked(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def _steps(architecture: int, refused: Iterable[int]) -> Iterator[bytes]:
    """The filter: what is of another architecture, of x32 or among *refused* is refused, and all else allowed."""
    yield _step(_LOAD, _ARCHITECTURE_AT)
    yield _step(_IS_EQUAL, architecture, over=1)
    yield _step(_RETURN, _REFUSE)
    yield _step(_LOAD, _CALL_AT)
    yield _step(_IS_AT_LEAST, _X32, over_unless=1)
    yield _step(_RETURN, _REFUSE)
    for call in refused:
        yield _step(_IS_EQUAL, call, over_unless=1)
        yield _step(_RETURN, _REFUSE)
    yield _step(_RETURN, _ALLOW)


def _step(code: int, value: int, *, over: int = 0, over_unless: int = 0) -> bytes:
    """One instruction (struct sock_filter); a comparison passes *over* so many where it holds, or where it doesn't."""
    return struct.pack("=HBBI", code, over, over_unless, value)
