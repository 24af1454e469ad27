"""A small file system in memory, which only the commands that join its namespaces see."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def small_disk(folder: Path, *, kilobytes: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield the content of a file system at *folder*, for the tests, and the function that a command calls to see it.

    It ends with the process that holds it, so a killed test leaves nothing mounted.
    """
    # Root can mount without a user namespace, which some machines forbid.
    kinds = {"mount": "mnt"} if os.geteuid() == 0 else {"user": "user", "mount": "mnt"}
    options = [*(f"--{kind}" for kind in kinds), *(["--map-root-user"] if "user" in kinds else [])]
    if shutil.which("unshare") is None:
        pytest.skip("a small file system needs `unshare` of Linux")
    script = f"mount -t tmpfs -o size={kilobytes}k tmpfs '{folder}' && echo mounted && exec cat"
    with subprocess.Popen(
        ["unshare", *options, "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout
        assert holder.stderr
        if not holder.stdout.readline():
            pytest.skip(f"no small file system can be made here: {holder.stderr.read()}")
        yield Path(f"/proc/{holder.pid}/root{folder}"), partial(_join, holder.pid, list(kinds.values()))


def _join(pid: int, kinds: Sequence[str]) -> None:
    """Move this process into the namespaces of another one."""
    for kind in kinds:
        with Path(f"/proc/{pid}/ns/{kind}").open() as namespace:
            if _LIBC.setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"the {kind} namespace can't be joined")
