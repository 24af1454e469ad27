"""The place of a dataset: files that appear whole, and records that only the first who makes them gets to make."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Protocol

from extractors.shared_errors import UserMistake

#: Where files are written before they are put into their place.
SCRATCH: Final = "work/scratch"


class Storage(Protocol):
    """Files by names with slashes, below one place."""

    place: str
    """The folder or URL, for whoever opens it elsewhere."""

    def create(self, name: str, data: bytes) -> bool:
        """Make a file unless there is one already, whole and durable; returns whether it was made."""

    def replace(self, name: str, data: bytes) -> None:
        """Make a file, or another one in its place, whole and durable."""

    def scratch(self) -> Path:
        """Return a local file that isn't there yet, to be written and then put into its place."""

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file into its place, durable."""

    def read(self, name: str) -> bytes | None:
        """Return what is in a file, or None where there is none."""

    def local(self, name: str) -> contextlib.AbstractContextManager[Path]:
        """A local file with the same content. Raises FileNotFoundError."""

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file in hexadecimal, or None where there is none."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without it, sorted; none where there is no such folder."""

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, likewise."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, if nothing is in it."""


class LocalStorage:
    """A folder of this machine, or one that several machines share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = LocalStorage(Path(folder))
    ...     storage.create("a/b", b"first"), storage.create("a/b", b"second"), storage.read("a/b"), storage.names("a")
    (True, False, b'first', ['b'])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self.place = str(self._folder)

    def create(self, name: str, data: bytes) -> bool:
        """Make a file by a link to one that is whole, which fails if there is one already."""
        scratch, target = self._written(data), self._target(name)
        try:
            os.link(scratch, target)
        except FileExistsError:
            return scratch.stat().st_nlink == 2  # NFS: it was made, but the answer got lost, and it was asked again
        finally:
            scratch.unlink()
        _make_durable(target.parent)
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Make a file, or another one in its place."""
        self._move(self._written(data), name)

    def scratch(self) -> Path:
        """Return a file in a folder of its own, on the same file system."""
        folder = self._folder / SCRATCH
        folder.mkdir(parents=True, exist_ok=True)
        return folder / secrets.token_hex(8)

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file into its place."""
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        self._move(scratch, name)

    def read(self, name: str) -> bytes | None:
        """Return what is in a file; a pipe, or what else is none, is not read."""
        path = self._folder / name
        return path.read_bytes() if path.is_file() else None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """The file itself."""
        path = self._folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        yield path

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file."""
        path = self._folder / name
        return digest_of_file(path) if path.is_file() else None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        try:
            return sorted(each.name for each in os.scandir(self._folder / folder) if each.is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""
        try:
            return sorted(each.name for each in os.scandir(self._folder / folder) if each.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, if nothing is in it."""
        with contextlib.suppress(OSError):
            (self._folder / folder).rmdir()

    def _written(self, data: bytes) -> Path:
        scratch = self.scratch()
        try:
            with scratch.open("wb") as file:
                _write_all(file, data)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        return scratch

    def _move(self, scratch: Path, name: str) -> None:
        target = self._target(name)
        scratch.replace(target)
        _make_durable(target.parent)

    def _target(self, name: str) -> Path:
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the file at *path* in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_storage(place: str) -> Storage:
    """Return the storage at *place*, a folder or a prefix. Raises `UserMistake` where there can be none."""
    if "://" in place:
        from extractors.dataset.object_storage import ObjectStorage, is_object

        if not is_object(place):
            raise UserMistake(f"a dataset is in a folder, or at s3://BUCKET/PREFIX, not at {place}")
        return ObjectStorage(place)
    folder = Path(place)
    if folder.exists() and not folder.is_dir():
        raise UserMistake(f"{place} is no folder: a dataset is one")
    return LocalStorage(folder)


def _write_all(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _make_durable(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
