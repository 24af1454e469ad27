"""Remove the rights that parsing doesn't need: other files, the network, and starting programs.

Two mechanisms of Linux are used where the kernel has them: Landlock (from 5.13) for files, TCP and signals, and a
seccomp filter for sockets, programs and other processes. Neither can be undone, not even by child processes.
`docs/adr` explains why no library does this. `confine` returns the mechanisms that work.
"""

from __future__ import annotations

import ctypes
import mimetypes
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path


class SandboxMeasure(StrEnum):
    """A mechanism that confines a process."""

    LANDLOCK = "landlock"
    """The process reads only the files of Python and its libraries, and writes none."""
    SECCOMP = "seccomp"
    """The process opens no socket, starts no program, and inspects no other process."""


_measures: frozenset[SandboxMeasure] | None = None


def confine() -> frozenset[SandboxMeasure]:
    """Confine this process permanently, once; return the mechanisms that worked."""
    global _measures
    if _measures is None:
        _measures = _apply_measures()
    return _measures


def _apply_measures() -> frozenset[SandboxMeasure]:
    """Restrict this process by the means that its Linux has, and return them; none on other systems."""
    if not sys.platform.startswith("linux"):
        return frozenset()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return frozenset()
    measures = set()
    with suppress(OSError):
        _restrict_files(libc)
        measures.add(SandboxMeasure.LANDLOCK)
    with suppress(OSError):
        _filter_calls(libc)
        measures.add(SandboxMeasure.SECCOMP)
    return frozenset(measures)


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses it")
    return result


# -- Landlock: https://docs.kernel.org/userspace-api/landlock.html

_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
#: Number of file rights in each version of the interface; the first version has 13.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ALL_FILE_RIGHTS = 16
_TCP_RIGHTS = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def _restrict_files(libc: ctypes.CDLL) -> None:
    """Allow this process to read the paths of `_readable_paths` only, and to write none. Raises OSError."""
    version = _check_result(libc.syscall(_CREATE_RULESET, None, 0, _VERSION))
    rights = (1 << _FILE_RIGHTS.get(version, _ALL_FILE_RIGHTS)) - 1
    handled_rights = [
        rights,
        *([_TCP_RIGHTS] if version >= 4 else []),
        *([_ABSTRACT_SOCKETS_AND_SIGNALS] if version >= 6 else []),
    ]
    attributes = struct.pack(f"={len(handled_rights)}Q", *handled_rights)
    rules = _check_result(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path in _readable_paths():
            _allow_path(libc, rules, path, _READ_FILE | _READ_DIR)
        _allow_path(libc, rules, Path(os.devnull), _READ_FILE | _WRITE_FILE)
        _check_result(libc.syscall(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow_path(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    """Add to *rules* that this process may use *path* with *rights*; a missing path is left out."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # missing
        return
    try:
        rights &= ~0 if path.is_dir() else ~_READ_DIR
        libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _readable_paths() -> Iterator[Path]:
    """Yield the paths of modules, shared libraries, fonts, time zones and media types, which are read on first use."""
    python_paths = {*sysconfig.get_paths().values(), str(Path(__file__).parents[2]), *filter(os.path.isabs, sys.path)}
    library_paths = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
    data_paths = ("/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/zoneinfo", "/dev/urandom")
    for path in sorted(
        {*python_paths, *library_paths, *data_paths, *map(str, mimetypes.knownfiles), "/sys/devices/system/cpu"}
    ):
        if Path(path) not in (Path("/"), Path("/etc"), Path.home()):
            yield Path(path)


# -- seccomp: https://docs.kernel.org/userspace-api/seccomp_filter.html

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ERRNO with EPERM
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_CALL_OFFSET, _ARCHITECTURE_OFFSET = 0, 4  # offsets in struct seccomp_data
_FIRST_X32_CALL = 0x40000000  # calls of x32, under the same architecture as those of x86-64

#: The kernel's number of the architecture, and the calls refused there: socket, socketpair, connect, accept, bind,
#: listen and accept4; execve and execveat; ptrace, process_vm_readv and process_vm_writev; io_uring, which can open
#: sockets, too; and calls that inspect memory (userfaultfd, bpf, perf_event_open).
_REFUSED_CALLS: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (41, 53, 42, 43, 49, 50, 288, 59, 322, 101, 310, 311, 425, 426, 427, 323, 321, 298)),
    "aarch64": (0xC00000B7, (198, 199, 203, 202, 200, 201, 242, 221, 281, 117, 270, 271, 425, 426, 427, 282, 280, 241)),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_calls(libc: ctypes.CDLL) -> None:
    """Refuse the calls of `_REFUSED_CALLS` to this process from now on. Raises OSError."""
    refused_calls = _REFUSED_CALLS.get(platform.machine())
    if refused_calls is None or sys.maxsize < 2**32:
        raise OSError("this architecture's calls are not known here")
    architecture, calls = refused_calls
    # Calls of another architecture, of x32 or among these are refused, all others allowed.
    instructions = b"".join(
        (
            _instruction(_LOAD, _ARCHITECTURE_OFFSET),
            _instruction(_JUMP_IF_EQUAL, architecture, skip_if_true=1),
            _instruction(_RETURN, _REFUSE),
            _instruction(_LOAD, _CALL_OFFSET),
            _instruction(_JUMP_IF_AT_LEAST, _FIRST_X32_CALL, skip_if_false=1),
            _instruction(_RETURN, _REFUSE),
            *(_instruction(_JUMP_IF_EQUAL, call, skip_if_false=1) + _instruction(_RETURN, _REFUSE) for call in calls),
            _instruction(_RETURN, _ALLOW),
        )
    )
    program = _Program(len(instructions) // 8, instructions)
    _check_result(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def _instruction(code: int, value: int, *, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    """Return an instruction of a filter (struct sock_filter).

    A comparison with *value* skips the next *skip_if_true* instructions if it holds, else the next *skip_if_false*.
    """
    return struct.pack("=HBBI", code, skip_if_true, skip_if_false, value)
