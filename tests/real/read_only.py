"""A folder that is read-only even for root; and a root without its privileges on files."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Make *folder* read-only meanwhile: by its mode, or by a mount for root."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
        return
    bound = subprocess.run(["mount", "--bind", folder, folder], check=False, capture_output=True)
    if bound.returncode:
        pytest.skip(f"root can write to any folder, and no mount makes one read-only here: {bound.stderr.decode()}")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True, capture_output=True)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def as_anybody() -> None:
    """Make file modes hold for this process and those that it starts, even as root; called before its program begins."""
    libc, rights = ctypes.CDLL(None), (1, 2)  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # _LINUX_CAPABILITY_VERSION_3
    libc.capget(header, sets)
    for right in rights:
        libc.prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP
        for place in range(3):  # effective, permitted, inheritable
            sets[place] &= ~(1 << right)
    libc.capset(header, sets)
