"""The storage of a dataset: atomic writes of files, and records that only one process can create."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from crawler.model.durable_files import make_folder, put_in_place
from extractors.model.errors import StorageFailed, UserMistake
from extractors.model.files import is_file, is_folder, path_exists

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


class ObjectStorage:
    """The objects below a prefix as the storage of a dataset; methods as in `LocalStorage`."""

    def __init__(self, url: str) -> None:
        self.place = require_valid_url(url).rstrip("/")
        self._prefix = self.place.partition("://")[2]
        self._scratch = tempfile.TemporaryDirectory(prefix="arkaudit-")

    def create(self, name: str, data: bytes) -> bool:
        """Create an object unless it exists; return True if this call created it."""
        with _raise_storage_failed(self.place), contextlib.suppress(FileExistsError):
            object_files().pipe_file(self._key(name), data, mode="create")
            return True
        # It has this content if it was created, but the answer was lost and the request repeated.
        return self.read(name) == data

    def replace(self, name: str, data: bytes) -> None:
        """Create or replace an object."""
        with _raise_storage_failed(self.place):
            object_files().pipe_file(self._key(name), data)

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """Give the path of a temporary local file."""
        return _scratch_in(Path(self._scratch.name))

    def put(self, scratch: Path, name: str) -> None:
        """Upload a local file."""
        with _raise_storage_failed(self.place):
            object_files().put_file(str(scratch), self._key(name))

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None."""
        with _raise_storage_failed(self.place), contextlib.suppress(FileNotFoundError):
            return bytes(object_files().cat_file(self._key(name)))
        return None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Give a local copy, which is removed afterwards."""
        with self.scratch() as path:
            with _raise_storage_failed(self.place):
                object_files().get_file(self._key(name), str(path))
            yield path

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of an object, or None."""
        digest = hashlib.sha256()
        try:
            with open_object(f"{self.place}/{name}") as stream:
                while piece := stream.read(_BLOCK_BYTES):
                    digest.update(piece)
        except FileNotFoundError:
            return None
        return digest.hexdigest()

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in a folder."""
        return [name for name, kind in self._list_folder(folder) if kind == "file"]

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        return [name for name, kind in self._list_folder(folder) if kind == "directory"]

    def remove(self, name: str) -> None:
        """Remove an object."""
        with _raise_storage_failed(self.place), contextlib.suppress(FileNotFoundError):
            object_files().rm_file(self._key(name))

    def remove_folder(self, folder: str) -> None:
        """Do nothing: empty folders don't exist on object storage."""

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}".rstrip("/")

    def _list_folder(self, folder: str) -> list[tuple[str, str]]:
        key = self._key(folder)
        with _raise_storage_failed(self.place), contextlib.suppress(FileNotFoundError):
            entries = object_files().ls(key, detail=True)
            return sorted(
                (entry["name"].rpartition("/")[2], entry["type"]) for entry in entries if entry["name"] != key
            )
        return []


class WatchedStream(io.BufferedIOBase):
    """The content of an object. It remembers the first failure, which its reader may take for damage."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        return bytes(self._remember_failure(self._stream.read, -1 if size is None else size))

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._remember_failure(self._stream.seek, offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _remember_failure(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as problem:
            self.failure = self.failure or problem
            raise


@contextlib.contextmanager
def open_object(url: str) -> Iterator[BinaryIO]:
    """Give the content of an object. Raises FileNotFoundError, and `StorageFailed` after any failure to read it."""
    with _raise_storage_failed(url):
        stream = WatchedStream(object_files().open(url, "rb", cache_type="readahead", block_size=_BLOCK_BYTES))
    try:
        with stream:
            yield cast("BinaryIO", stream)
    finally:
        if stream.failure is not None:
            raise StorageFailed(f"{url} could not be read to its end: {reason_of(stream.failure)}") from None


def objects_of(places: Iterable[str]) -> list[InputFile]:
    """Return the objects in *places*: each is an object, a prefix or a pattern.

    Raises `UserMistake` for a place without objects, and `StorageFailed`.
    """
    inputs: list[InputFile] = []
    folders: dict[str, dict[str, Any]] = {}
    for url in places:
        key = require_valid_url(url).partition("://")[2]
        with _raise_storage_failed(url):
            if _WILD & set(key):
                some = object_files().glob(key, detail=True).values()
            else:
                parent = key.rpartition("/")[0]
                # A long list may name many objects of one folder.
                if parent not in folders:
                    folders[parent] = {entry["name"]: entry for entry in _entries(parent)} if "/" in key else {}
                at_key = folders[parent].get(key)
                is_file = at_key is not None and at_key["type"] == "file"
                some = [at_key] if is_file else object_files().find(key.rstrip("/"), detail=True).values()
            objects = [_input(entry) for entry in some if entry and entry["type"] == "file"]
        if not objects:
            raise UserMistake(f"there is no object at {url}")
        inputs += objects
    return inputs


def require_valid_url(url: str) -> str:
    """Return *url* if it is valid. Raises `UserMistake` if it is not, or s3fs is missing."""
    if "@" in urlsplit(url).netloc:
        raise UserMistake("put keys into the environment (AWS_ACCESS_KEY_ID …), not into an address")
    if not urlsplit(url).netloc:
        raise UserMistake(f"{url!r} has no bucket")
    if find_spec("s3fs") is None:
        raise UserMistake(f"{url} needs s3fs: pip install 'arkaudit[s3]'")
    return url


def _entries(folder: str) -> list[dict[str, Any]]:
    try:
        return list(object_files().ls(folder, detail=True))
    except FileNotFoundError:
        return []


def _input(entry: dict[str, Any]) -> InputFile:
    return InputFile(f"{_SCHEME}://{entry['name']}", int(entry["size"]), str(entry.get("ETag", "")).strip('"'))


@cache
def object_files() -> Any:
    """Return the fsspec file system of the objects, which is configured by the environment."""
    import fsspec

    return fsspec.filesystem(_SCHEME, use_listings_cache=False)


@contextlib.contextmanager
def _raise_storage_failed(url: str) -> Iterator[None]:
    """Raise `StorageFailed` for all exceptions except missing or existing files."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, UserMistake, StorageFailed):
        raise
    # Exceptions of botocore, aiohttp, asyncio, the system …
    except Exception as problem:
        raise StorageFailed(f"{url}: {reason_of(problem)}") from None


def reason_of(problem: BaseException) -> str:
    """Return type and message of an exception in a line."""
    return f"{type(problem).__name__}: {problem}".partition("\n")[0][:300]


@contextlib.contextmanager
def _scratch_in(folder: Path) -> Iterator[Path]:
    """Give the path of a new file in *folder*, and remove the file afterwards if it is still there."""
    path = folder / secrets.token_hex(8)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


#: The folder of files that are still being written.
SCRATCH = "work/scratch"


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of a dataset."""

    name: str
    """Path or URL, as given."""
    size: int
    """Size in bytes, compressed."""
    stamp: str
    """The time of the last change, or the entity tag of an object."""


class LocalStorage:
    """Files below a local or shared folder, by names with slashes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = LocalStorage(Path(folder))
    ...     storage.create("a/b", b"first"), storage.create("a/b", b"second"), storage.read("a/b"), storage.names("a")
    (True, False, b'first', ['b'])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self.place = str(self._folder)
        """The folder or URL, for another process that opens it."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a durable file unless it exists; return True if this call created it.

        A hard link to a complete scratch file fails if the name exists.
        """
        with self.scratch() as scratch:
            scratch.write_bytes(data)
            try:
                put_in_place((scratch, self._target(name)), replaces=False)
            except FileExistsError:
                # Over NFS, the link may have been made although the answer was lost and the request repeated.
                return scratch.stat().st_nlink == 2
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Create or replace a durable file atomically."""
        with self.scratch() as scratch:
            scratch.write_bytes(data)
            self.put(scratch, name)

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """Give the path of a scratch file on the same file system, for `put`."""
        folder = self._folder / SCRATCH
        folder.mkdir(parents=True, exist_ok=True)
        return _scratch_in(folder)

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file to its place, durably."""
        put_in_place((scratch, self._target(name)))

    def read(self, name: str) -> bytes | None:
        """Return the content of a regular file, or None."""
        path = self._folder / name
        return path.read_bytes() if is_file(path) else None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Give the path of a local file with the content. Raises FileNotFoundError."""
        path = self._folder / name
        if not is_file(path):
            raise FileNotFoundError(path)
        yield path

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file in hexadecimal, or None."""
        path = self._folder / name
        return digest_of_file(path) if is_file(path) else None

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder, without its path; empty if there is no such folder."""
        return sorted(entry.name for entry in self._list_folder(folder) if entry.is_file())

    def folders(self, folder: str) -> list[str]:
        """Return the sorted names of the folders in a folder."""
        return sorted(entry.name for entry in self._list_folder(folder) if entry.is_dir())

    def _list_folder(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            return list(os.scandir(self._folder / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, if it is empty."""
        with contextlib.suppress(OSError):
            (self._folder / folder).rmdir()

    def _target(self, name: str) -> Path:
        target = self._folder / name
        make_folder(target.parent)
        return target


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the file at *path* in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Storage = LocalStorage | ObjectStorage


def open_storage(name: str) -> Storage:
    """Return the storage at *name*, a folder or a URL prefix. Raises `UserMistake`."""
    if "://" in name:
        if not is_object(name):
            raise UserMistake(f"a dataset needs a folder or s3://BUCKET/PREFIX, not {name}")
        return ObjectStorage(name)
    folder = Path(name)
    if path_exists(folder) and not is_folder(folder):
        raise UserMistake(f"{name} is not a folder, which a dataset needs")
    return LocalStorage(folder)
