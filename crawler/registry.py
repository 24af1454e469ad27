"""The copy of the NAAN registry in the user's cache: brought up to date in one step, or left as it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from platformdirs import user_cache_path
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from extractors.naan import Registry
from extractors.naan_records import NotARegistry, read_registry

#: The public registry, where the README of CDLUC3/naan_reg_public, which came before it, sends its readers.
REGISTRY_URL = "https://cdluc3.github.io/naan_reg_priv/naan_records.json"
#: Overrides where the copy is kept.
CACHE_VARIABLE = "ARKAUDIT_CACHE"
#: Bytes of a registry, before and after decompression; the public one had a little over one million in 2024.
REGISTRY_LIMIT = 64 * 2**20

_COPY = "naan-registry"
_PROVENANCE = "naan-registry.provenance.json"


class RegistryRefused(Exception):
    """Raised by `update` when nothing came, or no registry; the copy in the cache is what it was."""


class CacheUnwritable(Exception):
    """Raised by `update` when the copy can't be put into the cache; what was there before is still there."""


class Provenance(BaseModel):
    """Where a copy comes from, and how to ask whether it is still the newest; kept beside it."""

    model_config = ConfigDict(frozen=True)

    source: str
    checked_at: AwareDatetime
    """When the source was last asked."""
    sha256: str
    """Of the copy: a provenance beside other bytes is not theirs."""
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """The headers of a request that wants an answer only if there is something newer (RFC 9110, 13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


@dataclass(frozen=True, slots=True)
class Updated:
    """What `update` came to."""

    registry: Registry
    path: Path
    """Where the copy is."""
    changed: bool
    """Whether the copy is another one than before."""


def cache_folder() -> Path:
    """The folder of the user's cache in which the copy is kept; ``ARKAUDIT_CACHE`` overrides it."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("arkaudit", appauthor=False)


def load(folder: Path) -> Registry:
    """The copy in *folder*; without one, what is built in. One that can't be used is told in `Registry.warning`.

    >>> load(Path("/no/such/folder")).source
    'built in'
    """
    path = folder / _COPY
    try:
        return _kept(path)[0]
    except FileNotFoundError:
        return Registry.builtin()
    except OSError as problem:
        fault = problem.strerror or str(problem)
    except NotARegistry as problem:
        fault = str(problem)
    warning = f"the copy of the NAAN registry at {path} can't be used: {fault}; `arkaudit registry update` replaces it"
    return replace(Registry.builtin(), warning=warning)


def update(source: str | Path, folder: Path, *, now: datetime, settings: Mapping[str, Any]) -> Updated:
    """Replace the copy in *folder* by what *source* has, a URL or a file, if that is a registry and another one.

    *settings* are Scrapy's for the request. Raises `RegistryRefused` and `CacheUnwritable`, and for a URL
    `crawler.process.RunInterrupted`; a process can ask a URL only once.
    """
    if isinstance(source, Path):
        name = str(source.absolute()).encode("utf-8", "backslashreplace").decode()  # file names hold what no text can
        return _replaced(folder, _file_bytes(source), Provenance(source=name, checked_at=now, sha256=""))
    from crawler.spiders.registry import fetch_registry  # Scrapy is heavy, and only this needs it

    provenance = _unchanged_since(folder, source)
    answer = fetch_registry(source, provenance.conditions if provenance else {}, settings)
    if fault := answer.fault:
        raise RegistryRefused(f"{source} has no registry: {fault}")
    if answer.status == 304:
        if provenance is None:
            raise RegistryRefused(f"{source} has no registry: it answered 304 though nothing was known of it")
        return _confirmed(folder, provenance, now)
    fetched = Provenance(source=source, checked_at=now, sha256="", etag=answer.etag, last_modified=answer.last_modified)
    return _replaced(folder, answer.body, fetched)


# -- what is there


def _kept(path: Path) -> tuple[Registry, Provenance | None]:
    """The copy at *path* and its provenance, if that is this copy's. Raises OSError and `NotARegistry`."""
    data = _bounded(path)
    provenance = _provenance_of(path, data)
    if provenance is None:
        return read_registry(data, source=str(path)), None
    return read_registry(data, source=provenance.source, fetched_at=provenance.checked_at), provenance


def _provenance_of(path: Path, data: bytes) -> Provenance | None:
    try:
        provenance = Provenance.model_validate_json(path.with_name(_PROVENANCE).read_bytes())
    except (OSError, ValidationError):
        return None
    return provenance if provenance.sha256 == hashlib.sha256(data).hexdigest() else None


def _unchanged_since(folder: Path, url: str) -> Provenance | None:
    """The provenance of a usable copy that came from *url*: only then is "not modified" an answer."""
    with suppress(OSError, NotARegistry):
        provenance = _kept(folder / _COPY)[1]
        return provenance if provenance and provenance.source == url else None
    return None


def _file_bytes(path: Path) -> bytes:
    try:
        return _bounded(path)
    except OSError as problem:
        raise RegistryRefused(f"{path} can't be read: {problem.strerror or problem}") from None
    except NotARegistry as problem:
        raise RegistryRefused(f"{path} has no registry: {problem}") from None


def _bounded(path: Path) -> bytes:
    """The bytes of a file that isn't larger than a registry may be. Raises OSError and `NotARegistry`."""
    with path.open("rb") as file:
        data = file.read(REGISTRY_LIMIT + 1)
    if len(data) > REGISTRY_LIMIT:
        raise NotARegistry(f"more than {REGISTRY_LIMIT} bytes")
    return data


# -- what is put there


def _replaced(folder: Path, data: bytes, provenance: Provenance) -> Updated:
    try:
        registry = read_registry(data, source=provenance.source, fetched_at=provenance.checked_at)
    except NotARegistry as problem:
        raise RegistryRefused(f"{provenance.source} has no registry: {problem}") from None
    path = folder / _COPY
    changed = True
    with suppress(OSError):  # no copy yet, or one that can't be read
        changed = path.read_bytes() != data
    provenance = provenance.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
    # The copy first: with the old provenance beside it, it is only asked for once more.
    if changed:
        _put(path, data)
    _put(path.with_name(_PROVENANCE), provenance.model_dump_json(indent=2).encode())
    return Updated(registry, path, changed)


def _confirmed(folder: Path, provenance: Provenance, now: datetime) -> Updated:
    confirmed = provenance.model_copy(update={"checked_at": now})
    _put(folder / _PROVENANCE, confirmed.model_dump_json(indent=2).encode())
    return Updated(load(folder), folder / _COPY, changed=False)


def _put(path: Path, data: bytes) -> None:
    """Put *data* at *path* in one step: whoever looks sees the old file or the new one, never a part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
            try:
                part.write(data)
                part.flush()
                os.fsync(part.fileno())
                Path(part.name).replace(path)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except OSError as problem:
        raise CacheUnwritable(f"{path} can't be written: {problem.strerror or problem}") from None
