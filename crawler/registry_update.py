"""Brings the copy of the NAAN registry in the user's cache up to date in one step, or leaves it as it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from crawler.model.observations import ChainEnd
from crawler.model.registry import COPY, PROVENANCE, REGISTRY_LIMIT, Provenance, bounded, kept, load
from extractors.model.errors import ArkauditError
from extractors.model.naan import NotARegistry, Registry, read_registry

if TYPE_CHECKING:
    from crawler.spiders.naan_registry_spider import RegistryAnswer

#: The public registry, where the README of CDLUC3/naan_reg_public, which came before it, sends its readers.
REGISTRY_URL = "https://cdluc3.github.io/naan_reg_priv/naan_records.json"


class RegistryRefused(ArkauditError):
    """Raised by `update` when nothing came, or no registry; the copy in the cache is what it was."""


class CacheUnwritable(ArkauditError):
    """Raised by `update` when the copy can't be put into the cache; what was there before is still there."""


@dataclass(frozen=True, slots=True)
class Updated:
    """The result of `update`."""

    registry: Registry
    path: Path
    """Where the copy is."""
    changed: bool
    """Whether the copy is another one than before."""


def update(
    source: str | Path, folder: Path, *, now: datetime, settings: Mapping[str, Any]
) -> Updated:
    """Replace the copy in *folder* by what *source* has, a URL or a file, if that is a registry and another one.

    *settings* are Scrapy's for the request. Raises `RegistryRefused` and `CacheUnwritable`, and for a URL
    `extractors.model.errors.RunInterrupted`; a process can ask a URL only once.
    """
    if isinstance(source, Path):
        name = (
            str(source.absolute()).encode("utf-8", "backslashreplace").decode()
        )  # file names hold what no text can
        return _replaced(
            folder, _file_bytes(source), Provenance(source=name, checked_at=now, sha256="")
        )
    provenance = _unchanged_since(folder, source)
    answer = _fetched(source, provenance.conditions if provenance else {}, settings)
    if fault := answer.fault:
        raise RegistryRefused(f"{source} has no registry: {fault}")
    if answer.status == 304:
        if provenance is None:
            raise RegistryRefused(
                f"{source} has no registry: it answered 304 though nothing was known of it"
            )
        confirmed = provenance.model_copy(update={"checked_at": now})
        _put(folder / PROVENANCE, confirmed.model_dump_json(indent=2).encode())
        return Updated(load(folder), folder / COPY, changed=False)
    fetched = Provenance(
        source=source,
        checked_at=now,
        sha256="",
        etag=answer.etag,
        last_modified=answer.last_modified,
    )
    return _replaced(folder, answer.body, fetched)


def _fetched(
    url: str, conditions: Mapping[str, str], settings: Mapping[str, Any]
) -> RegistryAnswer:
    """Return what *url* answers, redirects followed, if it has something newer than the *conditions* say."""
    from crawler.process import SpiderStage, run_stages  # Scrapy is heavy, and only this needs it
    from crawler.spiders.naan_registry_spider import (
        RegistryAnswer,
        RegistrySpider,
        VerifyingDownloadHandler,
    )
    from crawler.spiders.settings import DOWNLOAD_HANDLERS

    answers: list[RegistryAnswer] = []
    arguments = {"url": url, "headers": conditions, "deliver": answers.append}
    handler = f"{VerifyingDownloadHandler.__module__}.{VerifyingDownloadHandler.__name__}"
    ours = {
        "DOWNLOAD_HANDLERS": {**DOWNLOAD_HANDLERS, "https": handler},
        "ITEM_PIPELINES": {},  # nothing is recorded: this is no part of an audit
        "ARKAUDIT_DECOMPRESSED_LIMIT": REGISTRY_LIMIT,
    }
    run_stages(
        [SpiderStage(RegistrySpider, lambda: arguments)],
        {**settings, **ours},
        on_start=lambda crawler: None,
    )
    return (
        answers[0]
        if answers
        else RegistryAnswer((), ChainEnd.UNDETERMINED, "the request was never sent")
    )


# -- what is there


def _unchanged_since(folder: Path, url: str) -> Provenance | None:
    """The provenance of a usable copy that came from *url*: only then is "not modified" an answer."""
    with suppress(OSError, NotARegistry):
        provenance = kept(folder / COPY)[1]
        return provenance if provenance and provenance.source == url else None
    return None


def _file_bytes(path: Path) -> bytes:
    try:
        return bounded(path)
    except OSError as problem:
        raise RegistryRefused(f"{path} can't be read: {problem.strerror or problem}") from None
    except NotARegistry as problem:
        raise RegistryRefused(f"{path} has no registry: {problem}") from None


# -- what is put there


def _replaced(folder: Path, data: bytes, provenance: Provenance) -> Updated:
    try:
        registry = read_registry(data, source=provenance.source, fetched_at=provenance.checked_at)
    except NotARegistry as problem:
        raise RegistryRefused(f"{provenance.source} has no registry: {problem}") from None
    path = folder / COPY
    changed = True
    with suppress(OSError):  # no copy yet, or one that can't be read
        changed = path.read_bytes() != data
    provenance = provenance.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
    # The copy first: with the old provenance next to it, it is only asked for once more.
    if changed:
        _put(path, data)
    _put(path.with_name(PROVENANCE), provenance.model_dump_json(indent=2).encode())
    return Updated(registry, path, changed)


def _put(path: Path, data: bytes) -> None:
    """Put *data* at *path* in one step: anyone who looks sees the old file or the new one, never a part of it."""
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
