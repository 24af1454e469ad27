"""The storage of a dataset, whose files appear whole under their names, and input files on object storage."""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from crawler.model.durable_files import make_folder, put_in_place
from extractors.model.errors import EXIT_UNFINISHED, ArkauditError, UserMistake

_SCHEME = "s3://"


class DatasetError(ArkauditError):
    """Raised if the storage of a dataset, a part of it or its cluster fails, maybe temporarily; finished parts stay."""

    exit_code = EXIT_UNFINISHED


def is_object(name: str) -> bool:
    """Return True if *name* is a URL of objects, not a local path.

    >>> is_object("s3://bucket/a.warc.gz"), is_object("papers/")
    (True, False)
    """
    return name.startswith(_SCHEME)


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of a dataset."""

    name: str
    """Path or URL, as given."""
    size: int
    """Size in bytes, compressed."""
    stamp: str
    """The time of the last change."""


def objects_at(url: str) -> list[InputFile]:
    """Return the object at *url* and those below this prefix.

    Raises `UserMistake` if there is none, and `DatasetError` if the storage fails.
    """
    with network_errors(url):
        files, path = file_system(url)
        selector = fs.FileSelector(path.rstrip("/"), recursive=True, allow_not_found=True)
        entries = [files.get_file_info(path), *files.get_file_info(selector)]
        objects = [entry for entry in entries if entry.type is fs.FileType.File]
    if not objects:
        raise UserMistake(f"there is no object at {url}")
    return [InputFile(f"{_SCHEME}{entry.path}", entry.size, str(entry.mtime_ns)) for entry in objects]


@contextmanager
def object_copy(url: str) -> Iterator[Path]:
    """Yield a temporary local copy of the object at *url*, with its file name. Raises OSError."""
    files, path = file_system(url)
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        local_copy = Path(folder, path.rpartition("/")[2])
        fs.copy_files(path, str(local_copy), source_filesystem=files)
        yield local_copy


def file_system(location: str) -> tuple[fs.FileSystem, str]:
    """Return Arrow's file system for a path or URL, and the path in it. Raises `UserMistake` for an invalid URL."""
    if not is_object(location):
        return fs.LocalFileSystem(), str(Path(location).absolute())
    path = location.removeprefix(_SCHEME)
    bucket = path.partition("/")[0]
    if not bucket or "@" in bucket:
        raise UserMistake(
            "name a bucket, as in s3://BUCKET/PREFIX; keys come from the environment (AWS_ACCESS_KEY_ID …)"
        )
    return bucket_files(bucket), path


@cache
def bucket_files(bucket: str) -> fs.FileSystem:
    """Return the file system of an S3 bucket, configured by environment variables."""
    return fs.FileSystem.from_uri(f"{_SCHEME}{bucket}")[0]


@contextmanager
def network_errors(location: str) -> Iterator[None]:
    """Raise `DatasetError` for an OSError in the ``with`` block if *location* is a URL of objects."""
    try:
        yield
    except OSError as problem:
        if not is_object(location):
            raise
        raise DatasetError(f"{location}: {reason_of(problem)}") from None


def reason_of(problem: BaseException) -> str:
    """Return the type and message of an exception in one line of at most 300 characters."""
    return f"{type(problem).__name__}: {problem}".partition("\n")[0][:300]


#: The folder of files that are still being written.
SCRATCH = "work/scratch"
#: The names of files that may be removed: of a part, of one to read again, and of one that is still being written.
OWN_FILE = re.compile(r"[0-9a-f]{16}(?:-[0-9a-f]{16})?(?:\.parquet)?")


class Storage:
    """Files below a folder or a prefix by names with slashes, and scratch files, which `put` moves to their names.

    All methods raise OSError.
    """

    def __init__(self, location: str) -> None:
        if "://" in location and not is_object(location):
            raise UserMistake(f"a dataset needs a folder or s3://BUCKET/PREFIX, not {location}")
        files, root = file_system(location)
        self.location = location if is_object(location) else root
        """The folder or URL, for another process that opens it."""
        self._files = fs.SubTreeFileSystem(root, files)

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder, without its path; none if there is no such folder."""
        selector = fs.FileSelector(folder, allow_not_found=True)
        return sorted(entry.base_name for entry in self._files.get_file_info(selector))

    def is_file(self, name: str) -> bool:
        """Return True if there is a file of this name."""
        return self._files.get_file_info(name).type is fs.FileType.File

    def open(self, name: str) -> pa.NativeFile:
        """Open a file for reading. Raises FileNotFoundError if it is missing."""
        return self._files.open_input_file(name)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield the path of a new local file, and remove the file after the ``with`` block if it still exists."""
        folder = Path(tempfile.gettempdir() if is_object(self.location) else f"{self.location}/{SCRATCH}")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / secrets.token_hex(8)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file to its final *name* atomically; in a folder it then survives loss of power."""
        if is_object(self.location):
            fs.copy_files(str(scratch), name, destination_filesystem=self._files)
            return
        target = Path(self.location, name)
        make_folder(target.parent)
        put_in_place((scratch, target))

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            self._files.delete_file(name)
