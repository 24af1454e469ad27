"""Write corrected files: each is replaced as a whole, with a backup next to it, and read again."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from functools import cache
from itertools import count
from pathlib import Path

from arkaudit.audits.fixing import FixedFile
from crawler.model.durable_files import durable_file
from extractors.corrections.sources import Unfixable
from extractors.documents import BACKUP_SUFFIX


def reason_to_leave(path: Path) -> str:
    """Return why the file at *path* is not replaced; empty if it may be."""
    try:
        status = path.lstat()
    except OSError as problem:
        return problem.strerror or str(problem)
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link; name the file that it leads to"
    if status.st_nlink > 1:
        return "it has several names (hard links), and only one of them would be corrected"
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        return "it is read-only"
    return ""


class WorkTrees:
    """The git work trees of the files, with the state of each tree before the first file in it was replaced."""

    def __init__(self) -> None:
        self._states = cache(_state_of)

    def reason_to_leave(self, path: Path) -> str:
        """Return why a file in a work tree is not replaced; empty if git has all changes, or there is no work tree."""
        tree = next((folder for folder in path.absolute().parents if (folder / ".git").exists()), None)
        return "" if tree is None else self._states(tree)


def _state_of(tree: Path) -> str:
    command = ("git", "-C", str(tree), "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain")
    # A hook runs with the variables of another work tree.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        changed = subprocess.run(
            (*command, "--untracked-files=no"), capture_output=True, env=environment, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return f"git can't tell if {tree} has uncommitted changes; --force corrects its files all the same"
    return f"{tree} has uncommitted changes; commit them, or give --force" if changed else ""


def write_corrected(file: FixedFile, *, with_backup: bool) -> Path | None:
    """Replace a file by its corrected content, and return its backup, if any.

    Its mode and owner stay. Raises `Unfixable` and OSError; the file is then as it was before.
    """
    path, status = file.path, file.path.stat()
    old = path.read_bytes()
    new = file.new_data(old)
    backup = _write_backup(path, old, status) if with_backup else None
    try:
        _replace(path, new, status, old)
        if path.read_bytes() != new:
            _replace(path, old, status)
            raise Unfixable("it was not stored as written, and is restored")
    except BaseException:
        if backup is not None and path.read_bytes() == old:
            backup.unlink()
        raise
    return backup


def _write_backup(path: Path, old: bytes, status: os.stat_result) -> Path:
    for number in count(1):
        backup = path.with_name(f"{path.name}{f'.{number}' if number > 1 else ''}{BACKUP_SUFFIX}")
        try:
            with durable_file(backup, replaces=False, mode=stat.S_IMODE(status.st_mode)) as file:
                file.write(old)
        except FileExistsError:
            continue
        shutil.copystat(path, backup)
        return backup
    raise AssertionError


def _replace(path: Path, new: bytes, status: os.stat_result, old: bytes | None = None) -> None:
    """Replace the content of *path*; if it is not *old* any more, raise `Unfixable`."""
    with durable_file(path, mode=stat.S_IMODE(status.st_mode)) as file:
        file.write(new)
        file.flush()
        if hasattr(os, "fchmod"):
            created = os.fstat(file.fileno())
            if (created.st_uid, created.st_gid) != (status.st_uid, status.st_gid):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        if old is not None and path.read_bytes() != old:
            raise Unfixable("it has changed since it was read; run arkaudit fix again")
