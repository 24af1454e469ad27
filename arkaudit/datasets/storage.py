"""The place of a dataset: files that appear whole, and records that only the first who makes them gets to make."""

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

# Object storage (S3 and what speaks like it): documents are read from there, and datasets are made there.


_SCHEME = "s3"
#: What is fetched of an object at a time.
_BLOCK_BYTES = 8 * 2**20
_WILD = frozenset("*?[")


def is_object(name: str) -> bool:
    """Return whether *name* names objects, and no local file.

    >>> is_object("s3://bucket/a.warc.gz"), is_object("papers/")
    (True, False)
    """
    return name.lower().startswith(f"{_SCHEME}://")


class ObjectStorage:
    """The objects below a prefix, as the place of a dataset."""

    def __init__(self, url: str) -> None:
        self.place = checked(url).rstrip("/")
        self._prefix = self.place.partition("://")[2]
        self._scratch = tempfile.TemporaryDirectory(prefix="arkaudit-")

    def create(self, name: str, data: bytes) -> bool:
        """Make an object on the condition that there is none."""
        with _failing(self.place), contextlib.suppress(FileExistsError):
            object_files().pipe_file(self._key(name), data, mode="create")
            return True
        return self.read(name) == data  # it was made, but the answer got lost, and it was asked again

    def replace(self, name: str, data: bytes) -> None:
        """Make an object, or another one in its place."""
        with _failing(self.place):
            object_files().pipe_file(self._key(name), data)

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """Give a local file."""
        return _scratch_in(Path(self._scratch.name))

    def put(self, scratch: Path, name: str) -> None:
        """Send a local file there."""
        with _failing(self.place):
            object_files().put_file(str(scratch), self._key(name))

    def read(self, name: str) -> bytes | None:
        """Return what is in an object."""
        with _failing(self.place), contextlib.suppress(FileNotFoundError):
            return bytes(object_files().cat_file(self._key(name)))
        return None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A copy, which is removed afterwards."""
        with self.scratch() as path:
            with _failing(self.place):
                object_files().get_file(self._key(name), str(path))
            yield path

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of an object."""
        digest = hashlib.sha256()
        try:
            with opened_object(f"{self.place}/{name}") as stream:
                while piece := stream.read(_BLOCK_BYTES):
                    digest.update(piece)
        except FileNotFoundError:
            return None
        return digest.hexdigest()

    def names(self, folder: str) -> list[str]:
        """The names of the objects in a folder."""
        return [name for name, kind in self._listed(folder) if kind == "file"]

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""
        return [name for name, kind in self._listed(folder) if kind == "directory"]

    def remove(self, name: str) -> None:
        """Remove an object."""
        with _failing(self.place), contextlib.suppress(FileNotFoundError):
            object_files().rm_file(self._key(name))

    def remove_folder(self, folder: str) -> None:
        """Do nothing: a folder in which there is no object is none."""

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}".rstrip("/")

    def _listed(self, folder: str) -> list[tuple[str, str]]:
        key = self._key(folder)
        with _failing(self.place), contextlib.suppress(FileNotFoundError):
            entries = object_files().ls(key, detail=True)
            return sorted(
                (entry["name"].rpartition("/")[2], entry["type"]) for entry in entries if entry["name"] != key
            )
        return []


class WatchedStream(io.BufferedIOBase):
    """The content of an object; it remembers what has failed, whatever its reader takes that for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to *size* bytes."""
        return bytes(self._watched(self._stream.read, -1 if size is None else size))

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a position."""
        return int(self._watched(self._stream.seek, offset, whence))

    def tell(self) -> int:
        """Return the position."""
        return int(self._stream.tell())

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that its position can be set."""
        return True

    def close(self) -> None:
        """Let it go."""
        self._stream.close()
        super().close()

    def _watched(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as problem:
            self.failure = self.failure or problem
            raise


@contextlib.contextmanager
def opened_object(url: str) -> Iterator[BinaryIO]:
    """Give the content of an object. Raises FileNotFoundError, and `StorageFailed` whenever reading it has failed."""
    with _failing(url):
        stream = WatchedStream(object_files().open(url, "rb", cache_type="readahead", block_size=_BLOCK_BYTES))
    try:
        with stream:
            yield cast("BinaryIO", stream)
    finally:
        if stream.failure is not None:
            raise StorageFailed(f"{url} could not be read to its end: {reason_of(stream.failure)}") from None


def objects_of(places: Iterable[str]) -> list[InputFile]:
    """Return the objects that *places* name: one, all below a prefix, or those that fit a pattern.

    Raises `UserMistake` for a place where there is none, and `StorageFailed`.
    """
    inputs: list[InputFile] = []
    folders: dict[str, dict[str, Any]] = {}
    for url in places:
        key = checked(url).partition("://")[2]
        with _failing(url):
            if _WILD & set(key):
                some = object_files().glob(key, detail=True).values()
            else:
                parent = key.rpartition("/")[0]
                if parent not in folders:  # once for all that a long list names there
                    folders[parent] = {entry["name"]: entry for entry in _entries(parent)} if "/" in key else {}
                at_key = folders[parent].get(key)
                is_file = at_key is not None and at_key["type"] == "file"
                some = [at_key] if is_file else object_files().find(key.rstrip("/"), detail=True).values()
            objects = [_input(entry) for entry in some if entry and entry["type"] == "file"]
        if not objects:
            raise UserMistake(f"there is nothing at {url}")
        inputs += objects
    return inputs


def checked(url: str) -> str:
    """Return *url* if it can be used as it is. Raises `UserMistake`, also where what reads it isn't installed."""
    if "@" in urlsplit(url).netloc:
        raise UserMistake("keys belong into the environment (AWS_ACCESS_KEY_ID …), not into an address")
    if not urlsplit(url).netloc:
        raise UserMistake(f"no bucket is named: {url!r}")
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
    """Return the file system of fsspec in which objects are; what it needs to know is in the environment."""
    import fsspec

    return fsspec.filesystem(_SCHEME, use_listings_cache=False)


@contextlib.contextmanager
def _failing(url: str) -> Iterator[None]:
    """Raise `StorageFailed` for whatever goes wrong, but for what is missing or there already."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, UserMistake, StorageFailed):
        raise
    except Exception as problem:  # of botocore, aiohttp, asyncio, the system …
        raise StorageFailed(f"{url}: {reason_of(problem)}") from None


def reason_of(problem: BaseException) -> str:
    """Return what went wrong, in a line."""
    return f"{type(problem).__name__}: {problem}".partition("\n")[0][:300]


@contextlib.contextmanager
def _scratch_in(folder: Path) -> Iterator[Path]:
    """Give a file that isn't there yet, and remove what is left of it."""
    path = folder / secrets.token_hex(8)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


#: Where files are written before they are put into their place.
SCRATCH = "work/scratch"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that a dataset is made of."""

    name: str
    """Its path or URL, as it was given."""
    size: int
    """Its bytes, compressed as it is."""
    stamp: str
    """What is another when the file has changed: a moment, or what its storage calls an entity tag."""


class LocalStorage:
    """Files by names with slashes, below a folder of this machine, or of one that several machines share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = LocalStorage(Path(folder))
    ...     storage.create("a/b", b"first"), storage.create("a/b", b"second"), storage.read("a/b"), storage.names("a")
    (True, False, b'first', ['b'])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self.place = str(self._folder)
        """The folder or URL, for a program that opens it elsewhere."""

    def create(self, name: str, data: bytes) -> bool:
        """Make a file unless there is one already, whole and durable; returns whether it was made.

        It becomes a link to one that is whole, which fails if there is one already.
        """
        with self.scratch() as scratch:
            scratch.write_bytes(data)
            try:
                put_in_place((scratch, self._target(name)), replaces=False)
            except FileExistsError:
                # over NFS, it may have been made while the answer got lost, and been asked for again
                return scratch.stat().st_nlink == 2
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Make a file, or another one in its place, whole and durable."""
        with self.scratch() as scratch:
            scratch.write_bytes(data)
            self.put(scratch, name)

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """Give a local file that isn't there yet, to be written and put into its place: on the same file system."""
        folder = self._folder / SCRATCH
        folder.mkdir(parents=True, exist_ok=True)
        return _scratch_in(folder)

    def put(self, scratch: Path, name: str) -> None:
        """Move a scratch file into its place, durable."""
        put_in_place((scratch, self._target(name)))

    def read(self, name: str) -> bytes | None:
        """Return what is in a file, or None where there is none; a pipe, or what else is none, is not read."""
        path = self._folder / name
        return path.read_bytes() if path.is_file() else None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A local file with the same content: the file itself. Raises FileNotFoundError."""
        path = self._folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        yield path

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file in hexadecimal, or None where there is none."""
        path = self._folder / name
        return digest_of_file(path) if path.is_file() else None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without it, sorted; none where there is no such folder."""
        return sorted(entry.name for entry in self._listed(folder) if entry.is_file())

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, likewise."""
        return sorted(entry.name for entry in self._listed(folder) if entry.is_dir())

    def _listed(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            return list(os.scandir(self._folder / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self._folder / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder, if nothing is in it."""
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


#: The place of a dataset; what each of its methods promises is said at those of a folder.
Storage = LocalStorage | ObjectStorage


def open_storage(name: str) -> Storage:
    """Return the storage at *name*, a folder or a prefix. Raises `UserMistake` where there can be none."""
    if "://" in name:
        if not is_object(name):
            raise UserMistake(f"a dataset is in a folder, or at s3://BUCKET/PREFIX, not at {name}")
        return ObjectStorage(name)
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UserMistake(f"{name} is no folder: a dataset is one")
    return LocalStorage(folder)
