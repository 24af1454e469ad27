"""The copy of the NAAN registry in the user's cache, as far as it can be used."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from extractors.model.naan import Registry
from extractors.model.naan_records import NotARegistry, read_registry

#: Overrides where the copy is kept.
CACHE_VARIABLE = "ARKAUDIT_CACHE"
#: Bytes of a registry, before and after decompression; the public one had a little over one million in 2024.
REGISTRY_LIMIT = 64 * 2**20

#: The names of the copy, and of what is known of it.
COPY = "naan-registry"
PROVENANCE = "naan-registry.provenance.json"


class Provenance(BaseModel):
    """The provenance of a copy, and how to ask whether it is still the newest; kept next to it."""

    model_config = ConfigDict(frozen=True)

    source: str
    checked_at: AwareDatetime
    """When the source was last asked."""
    sha256: str
    """Of the copy: a provenance next to other bytes is not theirs."""
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """The headers of a request that wants an answer only if there is something newer (RFC 9110, 13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def cache_folder() -> Path:
    """The folder of the user's cache in which the copy is kept; ``ARKAUDIT_CACHE`` overrides it."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("arkaudit", appauthor=False)


def load(folder: Path) -> Registry:
    """The copy in *folder*; without one, what is built in. `Registry.warning` names one that can't be used.

    >>> load(Path("/no/such/folder")).source
    'built in'
    """
    path = folder / COPY
    try:
        return kept(path)[0]
    except FileNotFoundError:
        return Registry.builtin()
    except OSError as problem:
        fault = problem.strerror or str(problem)
    except NotARegistry as problem:
        fault = str(problem)
    warning = f"the copy of the NAAN registry at {path} can't be used: {fault}; `arkaudit registry update` replaces it"
    return replace(Registry.builtin(), warning=warning)


def kept(path: Path) -> tuple[Registry, Provenance | None]:
    """The copy at *path* and its provenance, if that is this copy's. Raises OSError and `NotARegistry`."""
    data = bounded(path)
    provenance = _provenance_of(path, data)
    if provenance is None:
        return read_registry(data, source=str(path)), None
    return read_registry(data, source=provenance.source, fetched_at=provenance.checked_at), provenance


def _provenance_of(path: Path, data: bytes) -> Provenance | None:
    try:
        provenance = Provenance.model_validate_json(path.with_name(PROVENANCE).read_bytes())
    except (OSError, ValidationError):
        return None
    return provenance if provenance.sha256 == hashlib.sha256(data).hexdigest() else None


def bounded(path: Path) -> bytes:
    """The bytes of a file that isn't larger than a registry may be. Raises OSError and `NotARegistry`."""
    with path.open("rb") as file:
        data = file.read(REGISTRY_LIMIT + 1)
    if len(data) > REGISTRY_LIMIT:
        raise NotARegistry(f"more than {REGISTRY_LIMIT} bytes")
    return data
