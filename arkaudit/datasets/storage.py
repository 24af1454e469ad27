"""The storage of a dataset, whose files appear whole under their names, and input files on object storage."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast

from crawler.model.durable_files import make_folder, put_in_place
from extractors.model.errors import DatasetError, UserMistake
from extractors.model.files import is_file, is_folder, path_exists
from extractors.model.urls import split_url

# -- object storage (S3 and compatible services)

_SCHEME = "s3"
#: Size of the blocks that are fetched of an object.
_BLOCK_BYTES = 8 * 2**20
_WILD = frozenset("*?[")


def is_object(name: str) -> bool:
    """Return True if *name* is a URL of objects, not a local path.

    >>> is_object("s3://bucket/a.warc.gz"), is_object("papers/")
    (True, False)
    """
    return name.lower().startswith(f"{_SCHEME}://")


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of a dataset."""

    name: str
    """Path or URL, as given."""
    size: int
    """Size in bytes, compressed."""
    stamp: str
    """The time of the last change, or the entity tag of an object."""


@contextlib.contextmanager
def open_object(url: str) -> Iterator[BinaryIO]:
    """Give the content of an object. Raises FileNotFoundError, and `DatasetError` after any failure to read it.

    The failure is remembered, because a reader of archives may take it for damage.
    """
    failures: list[Exception] = []
    with _raise_dataset_error(url):
        stream = object_files().open(url, "rb", cache_type="readahead", block_size=_BLOCK_BYTES)
    fetch_from_network = stream.cache.fetcher

    def fetch(start: int, end: int) -> bytes:
        try:
            return bytes(fetch_from_network(start, end))
        except Exception as problem:
            failures.append(problem)
            raise

    stream.cache.fetcher = fetch
    try:
        with stream:
            yield cast("BinaryIO", stream)
    finally:
        if failures:
            raise DatasetError(f"{url} could not be read to its end: {reason_of(failures[0])}") from None


def objects_of(places: Iterable[str]) -> list[InputFile]:
    """Return the objects in *places*: each is an object, a prefix or a pattern.

    Raises `UserMistake` for a place without objects, and `DatasetError`.
    """
    inputs: list[InputFile] = []

    # A long list may name many objects of one folder.
    @cache
    def entries_in(folder: str) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            return {entry["name"]: entry for entry in object_files().ls(folder, detail=True)}
        return {}

    for url in places:
        key = require_valid_url(url).partition("://")[2]
        with _raise_dataset_error(url):
            is_pattern = bool(_WILD & set(key))
            at_key = entries_in(key.rpartition("/")[0]).get(key) if "/" in key and not is_pattern else None
            if is_pattern:
                some = object_files().glob(key, detail=True).values()
            elif at_key is not None and at_key["type"] == "file":
                some = [at_key]
            else:
                some = object_files().find(key.rstrip("/"), detail=True).values()
            objects = [entry for entry in some if entry["type"] == "file"]
        if not objects:
            raise UserMistake(f"there is no object at {url}")
        for entry in objects:
            stamp = str(entry.get("ETag", "")).strip('"')
            inputs.append(InputFile(f"{_SCHEME}://{entry['name']}", int(entry["size"]), stamp))
    return inputs


def require_valid_url(url: str) -> str:
    """Return *url* if it is valid. Raises `UserMistake` if it is not, or s3fs is missing."""
    if "@" in split_url(url).netloc:
        raise UserMistake("put keys into the environment (AWS_ACCESS_KEY_ID …), not into an address")
    if not split_url(url).netloc:
        raise UserMistake(f"{url!r} has no bucket")
    if find_spec("s3fs") is None:
        raise UserMistake(f"{url} needs s3fs: pip install 'arkaudit[s3]'")
    return url


@cache
def object_files() -> Any:
    """Return the fsspec file system of the objects, which is configured by the environment."""
    import fsspec

    return fsspec.filesystem(_SCHEME, use_listings_cache=False)


@contextlib.contextmanager
def _raise_dataset_error(url: str) -> Iterator[None]:
    """Raise `DatasetError` for all exceptions except missing or existing files."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, UserMistake, DatasetError):
        raise
    # Exceptions of botocore, aiohttp, asyncio, the system …
    except Exception as problem:
        raise DatasetError(f"{url}: {reason_of(problem)}") from None


def reason_of(problem: BaseException) -> str:
    """Return type and message of an exception in a line."""
    return f"{type(problem).__name__}: {problem}".partition("\n")[0][:300]


# -- the storage of a dataset

#: The folder of files that are still being written.
SCRATCH = "work/scratch"


class Storage:
    """Files below a local or shared folder by names with slashes, and scratch files, which `put` moves to their place.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = Storage(Path(folder))
    ...     storage.create("a/b", b"first"), storage.create("a/b", b"second"), storage.read("a/b"), storage.names("a")
    (True, False, b'first', ['b'])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self.place = str(self._folder)
        """The folder or URL, for another process that opens it."""
        self.scratch_folder = self._folder / SCRATCH

    def create(self, name: str, data: bytes) -> bool:
        """Create a durable file unless it exists; return True if this call created it."""
        with self.scratch() as scratch:
            scratch.write_bytes(data)
            try:
                put_in_place((scratch, self._target(name)), replaces=False)
            except FileExistsError:
                # Over NFS, the link may have been made although the answer was lost and the request repeated.
                return scratch.stat().st_nlink == 2
        return True

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file to its place, atomically and durably."""
        put_in_place((scratch, self._target(name)))

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Give the path of a local file with the content. Raises FileNotFoundError."""
        path = self._folder / name
        if not is_file(path):
            raise FileNotFoundError(path)
        yield path

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder, without its path; those of folders end with a slash."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder / folder) as entries:
            return sorted(entry.name + "/" * entry.is_dir() for entry in entries)
        return []

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self._folder / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give the path of a new file, and remove the file afterwards if it is still there."""
        self.scratch_folder.mkdir(parents=True, exist_ok=True)
        path = self.scratch_folder / secrets.token_hex(8)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        with contextlib.suppress(FileNotFoundError), self.local(name) as path:
            return path.read_bytes()
        return None

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file in hexadecimal, or None."""
        with contextlib.suppress(FileNotFoundError), self.local(name) as path:
            return digest_of_file(path)
        return None

    def _target(self, name: str) -> Path:
        target = self._folder / name
        make_folder(target.parent)
        return target


class ObjectStorage(Storage):
    """Files below a prefix of an object store, with the methods of `Storage`."""

    def __init__(self, url: str) -> None:
        self.place = require_valid_url(url).rstrip("/")
        self._prefix = self.place.partition("://")[2]
        self._temporary = tempfile.TemporaryDirectory(prefix="arkaudit-")
        self.scratch_folder = Path(self._temporary.name)

    def create(self, name: str, data: bytes) -> bool:
        """Create an object unless it exists; return True if this call created it."""
        with _raise_dataset_error(self.place), contextlib.suppress(FileExistsError):
            object_files().pipe_file(self._key(name), data, mode="create")
            return True
        # It has this content if it was created, but the answer was lost and the request repeated.
        return self.read(name) == data

    def put(self, scratch: Path, name: str) -> None:
        """Upload a local file."""
        with _raise_dataset_error(self.place):
            object_files().put_file(str(scratch), self._key(name))

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Give a local copy, which is removed afterwards."""
        with self.scratch() as path:
            with _raise_dataset_error(self.place):
                object_files().get_file(self._key(name), str(path))
            yield path

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder."""
        key = self._key(folder)
        with _raise_dataset_error(self.place), contextlib.suppress(FileNotFoundError):
            entries = object_files().ls(key, detail=True)
            names = ((entry["name"].rpartition("/")[2], entry) for entry in entries if entry["name"] != key)
            return sorted(name + "/" * (entry["type"] == "directory") for name, entry in names)
        return []

    def remove(self, name: str) -> None:
        """Remove an object."""
        with _raise_dataset_error(self.place), contextlib.suppress(FileNotFoundError):
            object_files().rm_file(self._key(name))

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}".rstrip("/")


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the file at *path* in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_storage(name: str) -> Storage:
    """Return the storage at *name*, a folder or a URL prefix. Raises `UserMistake`."""
    if "://" in name:
        if not is_object(name):
            raise UserMistake(f"a dataset needs a folder or s3://BUCKET/PREFIX, not {name}")
        return ObjectStorage(name)
    folder = Path(name)
    if path_exists(folder) and not is_folder(folder):
        raise UserMistake(f"{name} is not a folder, which a dataset needs")
    return Storage(folder)
