"""A small file system in memory, which only the commands that join its namespaces see; needs no root."""

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def small_disk(folder: Path, *, kilobytes: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield the content of a file system at *folder*, for the tests, and what a command must call `first` to see it.

    It ends with the process that holds it, so a killed test leaves nothing mounted.
    """
    script = f"mount -t tmpfs -o size={kilobytes}k tmpfs '{folder}' && echo mounted && exec cat"
    with subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout
        if not holder.stdout.readline():
            pytest.skip("no user namespaces: no small file system can be made")
        yield Path(f"/proc/{holder.pid}/root{folder}"), partial(_join, holder.pid)


def _join(pid: int) -> None:
    """Move this process into the namespaces of another one."""
    for kind in ("user", "mnt"):
        with Path(f"/proc/{pid}/ns/{kind}").open() as namespace:
            if _LIBC.setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"the {kind} namespace can't be joined")
