"""A folder that is read-only even for root; and a root without its privileges on files."""

from __future__ import annotations

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
        pytest.skip("root, and no mount: nothing here can be made unwritable")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True, capture_output=True)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """A file system in memory at *folder* of 200 kB, too small for a store; needs root."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no mount: no disk can be filled")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def as_anybody() -> None:
    """Make file modes hold for this process, even as root; called in a child before its program begins."""
    drop, rights = 24, (1, 2)  # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    for right in rights:
        ctypes.CDLL(None).prctl(drop, right, 0, 0, 0)
