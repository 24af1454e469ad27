"""Updates the copy of the NAAN registry in the user's cache in one step, or leaves it unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.model.durable_files import durable_file, make_folder
from crawler.model.observations import ChainEnd
from crawler.model.registry import (
    COPY,
    PROVENANCE,
    REGISTRY_LIMIT,
    Provenance,
    load_registry,
    load_registry_copy,
    read_bounded,
)
from crawler.model.resolving import sendable
from crawler.process import RunFaults, SpiderStage, run_stages
from crawler.spiders import settings as ours
from crawler.wire.credentialed import verifying_policy
from crawler.wire.failures import STOPPED, body_faults
from crawler.wire.handlers import ExactDownloadHandler
from crawler.wire.middlewares import chain_of, header_of
from extractors.model.errors import UserMistake
from extractors.model.naan import NotARegistry, Registry, read_registry

#: The public registry. The README of its predecessor, CDLUC3/naan_reg_public, links to it.
REGISTRY_URL = "https://cdluc3.github.io/naan_reg_priv/naan_records.json"


@dataclass(frozen=True, slots=True)
class RegistryUpdate:
    """The result of `update`."""

    registry: Registry
    path: Path
    """The path of the copy."""
    changed: bool
    """True if the copy differs from the copy before."""


def update(source: str | Path, folder: Path, *, now: datetime, settings: Mapping[str, Any]) -> RegistryUpdate:
    """Replace the copy in *folder* by the registry at *source*, a URL or a file, if it differs.

    *settings* are Scrapy's for the request. Raises `NotARegistry` or `UserMistake`, and for a URL also
    `extractors.model.errors.RunInterrupted`. A process can request a URL only once.
    """
    if isinstance(source, Path):
        name = str(source.absolute()).encode("utf-8", "backslashreplace").decode()  # a file name may be invalid text
        try:
            data = read_bounded(source)
        except OSError as problem:
            message = problem.strerror or problem
            raise NotARegistry(f"{source} can't be read: {message}") from None
        except NotARegistry as problem:
            raise NotARegistry(f"{source} has no registry: {problem}") from None
        return _replace_copy(folder, data, Provenance(source=name, checked_at=now, sha256=""))
    provenance = None
    with suppress(OSError, NotARegistry):
        provenance = load_registry_copy(folder / COPY)[1]
    if provenance is not None and provenance.source != source:
        provenance = None  # "not modified" would say nothing about a copy from another source
    response = _fetch(source, provenance.conditions if provenance else {}, settings)
    if response.status == 304:
        if provenance is None:
            raise NotARegistry(f"{source} has no registry: it answered 304 though nothing was known of it")
        confirmed_provenance = provenance.model_copy(update={"checked_at": now})
        _put(folder / PROVENANCE, confirmed_provenance.model_dump_json(indent=2).encode())
        return RegistryUpdate(load_registry(folder), folder / COPY, changed=False)
    new_provenance = Provenance(
        source=source,
        checked_at=now,
        sha256="",
        etag=header_of(response.headers, "ETag") or None,
        last_modified=header_of(response.headers, "Last-Modified") or None,
    )
    return _replace_copy(folder, response.body, new_provenance)


# -- fetching: one request, through the same guard, routes and redirects as all others


#: The last request of a chain, and its answer.
Answer = tuple[Request, Response | None]


class VerifyingDownloadHandler(ExactDownloadHandler):
    """Trusts only certificates of known authorities, because the answer is used, not just observed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._contextFactory = verifying_policy(crawler.settings.get("ARKAUDIT_CA_FILE"))


class RegistrySpider(Spider):
    """Follows one chain, and appends its end to *answers*."""

    name = "registry"

    def __init__(self, *, url: str, headers: Mapping[str, str], answers: list[Answer], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._url = url
        self._headers = dict(headers)
        self._answers = answers

    async def start(self) -> AsyncIterator[Request]:
        meta = {"body_limit": REGISTRY_LIMIT + 1}
        yield Request(
            sendable(self._url),
            headers=self._headers,
            callback=self.on_answer,
            errback=self.on_failure,
            dont_filter=True,
            meta={"verbatim_url": True, "dont_merge_cookies": True, **meta},
        )

    def on_answer(self, response: Response) -> None:
        assert response.request is not None
        self._answers.append((response.request, response))

    def on_failure(self, failure: Failure) -> None:
        self._answers.append((failure.request, None))  # type: ignore[attr-defined]


def _fetch(url: str, conditions: Mapping[str, str], settings: Mapping[str, Any]) -> Response:
    """Return the answer of *url* after redirects; *conditions* are request headers (`Provenance.conditions`).

    Raises `NotARegistry` if the answer can't be the registry.
    """
    answers: list[Answer] = []
    arguments = {"url": url, "headers": conditions, "answers": answers}
    handler = f"{VerifyingDownloadHandler.__module__}.{VerifyingDownloadHandler.__name__}"
    handler_settings = {
        "DOWNLOAD_HANDLERS": {**ours.DOWNLOAD_HANDLERS, "https": handler},
        "ARKAUDIT_DECOMPRESSED_LIMIT": REGISTRY_LIMIT,
    }
    stages = [SpiderStage(RegistrySpider, lambda: arguments)]
    run_stages(stages, {**settings, **handler_settings}, faults=RunFaults(), on_start=lambda crawler: None)
    fault: str | None = "undetermined: the request was never sent"
    for request, response in answers:
        fault = _fault(request, response)
        if response is not None and fault is None:
            return response
    raise NotARegistry(f"{url} has no registry: {fault}")


def _fault(request: Request, response: Response | None) -> str | None:
    """Return the reason why *response* to the last *request* of a chain is not reliable, or None."""
    hops, end, detail = chain_of(request)
    if response is None or end is not ChainEnd.ANSWERED:
        return f"{end.value}: {detail}" if detail else end.value
    is_https = [hop.url.lower().startswith("https:") for hop in hops]
    if is_https[:1] == [True] and not all(is_https):
        return f"a redirect from https to {hops[is_https.index(False)].url}"
    if response.status not in (200, 304):
        return f"{hops[-1].url} answered {response.status}"
    if STOPPED in response.flags:
        return f"more than {REGISTRY_LIMIT} bytes"
    return next((missing_part.detail for missing_part in body_faults(response.flags, len(response.body))), None)


# -- storing


def _replace_copy(folder: Path, data: bytes, provenance: Provenance) -> RegistryUpdate:
    try:
        registry = read_registry(data, source=provenance.source, fetched_at=provenance.checked_at)
    except NotARegistry as problem:
        raise NotARegistry(f"{provenance.source} has no registry: {problem}") from None
    path = folder / COPY
    changed = True
    with suppress(OSError):  # no copy yet, or one that can't be read
        changed = path.read_bytes() != data
    provenance = provenance.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
    # The copy first: a copy with the old provenance is just fetched once more.
    if changed:
        _put(path, data)
    _put(path.with_name(PROVENANCE), provenance.model_dump_json(indent=2).encode())
    return RegistryUpdate(registry, path, changed)


def _put(path: Path, data: bytes) -> None:
    """Write *data* to *path* in one step: readers see the old file or the new one, never a part."""
    try:
        make_folder(path.parent)
        with durable_file(path) as file:
            file.write(data)
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror or problem}") from None
