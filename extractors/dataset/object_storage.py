"""Object storage (S3 and what speaks like it): documents are read from there, and datasets are made there.

Who we are is known from the environment only (``AWS_…``): it stands in no plan and no manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from urllib.parse import urlsplit

from extractors.dataset.plan import InputFile
from extractors.shared_errors import StorageFailed, UserMistake

_SCHEME: Final = "s3"
#: What is fetched of an object at a time.
_BLOCK_BYTES: Final = 8 * 2**20
_WILD = frozenset("*?[")


def is_object(place: str) -> bool:
    """Return whether *place* names objects, and no local file.

    >>> is_object("s3://bucket/a.warc.gz"), is_object("papers/")
    (True, False)
    """
    return place.lower().startswith(f"{_SCHEME}://")


class ObjectStorage:
    """The objects below a prefix, as the place of a dataset."""

    def __init__(self, place: str) -> None:
        self.place = checked(place).rstrip("/")
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

    def scratch(self) -> Path:
        """Return a local file."""
        return Path(self._scratch.name, secrets.token_hex(8))

    def put(self, scratch: Path, name: str) -> None:
        """Send a local file there."""
        with _failing(self.place):
            object_files().put_file(str(scratch), self._key(name))
        scratch.unlink()

    def read(self, name: str) -> bytes | None:
        """Return what is in an object."""
        with _failing(self.place), contextlib.suppress(FileNotFoundError):
            return bytes(object_files().cat_file(self._key(name)))
        return None

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A copy, which is removed afterwards."""
        path = self.scratch()
        with _failing(self.place):
            object_files().get_file(self._key(name), str(path))
        try:
            yield path
        finally:
            path.unlink()

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
            found = object_files().ls(key, detail=True)
            return sorted((each["name"].rpartition("/")[2], each["type"]) for each in found if each["name"] != key)
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
def opened_object(place: str) -> Iterator[BinaryIO]:
    """Give the content of an object. Raises FileNotFoundError, and `StorageFailed` whenever reading it has failed."""
    with _failing(place):
        stream = WatchedStream(object_files().open(place, "rb", cache_type="readahead", block_size=_BLOCK_BYTES))
    try:
        with stream:
            yield cast("BinaryIO", stream)
    finally:
        if stream.failure is not None:
            raise StorageFailed(f"{place} could not be read to its end: {_reason(stream.failure)}") from None


def objects_of(places: Iterable[str]) -> list[InputFile]:
    """Return the objects that *places* name: one, all below a prefix, or those that fit a pattern.

    Raises `UserMistake` for a place where there is none, and `StorageFailed`.
    """
    found: list[InputFile] = []
    folders: dict[str, dict[str, Any]] = {}
    for place in places:
        key = checked(place).partition("://")[2]
        with _failing(place):
            if _WILD & set(key):
                some = object_files().glob(key, detail=True).values()
            else:
                parent = key.rpartition("/")[0]
                if parent not in folders:  # once for all that a long list names there
                    folders[parent] = {each["name"]: each for each in _entries(parent)} if "/" in key else {}
                known = folders[parent].get(key)
                is_file = known is not None and known["type"] == "file"
                some = [known] if is_file else object_files().find(key.rstrip("/"), detail=True).values()
            objects = [_input(each) for each in some if each and each["type"] == "file"]
        if not objects:
            raise UserMistake(f"there is nothing at {place}")
        found += objects
    return found


def checked(place: str) -> str:
    """Return *place* if it can be used as it is. Raises `UserMistake`, also where what reads it isn't installed."""
    if "@" in urlsplit(place).netloc:
        raise UserMistake("keys belong into the environment (AWS_ACCESS_KEY_ID …), not into an address")
    if not urlsplit(place).netloc:
        raise UserMistake(f"no bucket is named: {place!r}")
    if find_spec("s3fs") is None:
        raise UserMistake(f"{place} needs s3fs: pip install 'arkaudit[s3]'")
    return place


def _entries(folder: str) -> list[dict[str, Any]]:
    try:
        return list(object_files().ls(folder, detail=True))
    except FileNotFoundError:
        return []


def _input(known: dict[str, Any]) -> InputFile:
    return InputFile(f"{_SCHEME}://{known['name']}", int(known["size"]), str(known.get("ETag", "")).strip('"'))


@cache
def object_files() -> Any:
    """Return the file system of fsspec in which objects are; what it needs to know stands in the environment."""
    import fsspec

    return fsspec.filesystem(_SCHEME, use_listings_cache=False)


@contextlib.contextmanager
def _failing(place: str) -> Iterator[None]:
    """Raise `StorageFailed` for whatever goes wrong, but for what is missing or there already."""
    try:
        yield
    except (FileNotFoundError, FileExistsError, UserMistake, StorageFailed):
        raise
    except Exception as problem:  # of botocore, aiohttp, asyncio, the system …
        raise StorageFailed(f"{place}: {_reason(problem)}") from None


def _reason(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".partition("\n")[0][:300]
