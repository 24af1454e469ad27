"""Reads documents as sources, the large ones in a process that can be killed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from crawler.model.listing import SourceKind, SourceReading
from crawler.sources.oai_pmh import Selection
from crawler.sources.source_reading import read_source, source_kind, unpacked
from extractors.document_model import Finding
from extractors.worker import Worker, WorkerError

#: The process that reads what might hang or crash its parser.
SourceWorker = Worker[..., "SourceReading | None"]

#: Larger sources are read in that process.
_INLINE_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads each document as a source, if it is one, and the links that it leads to."""

    worker: SourceWorker
    selection: Selection
    """Of the records of repositories."""

    async def read(self, data: bytes, *, url: str, order: SourceKind | None, harvests: bool) -> SourceReading | None:
        """As `read_source`; what kills its reader is a finding."""
        options = {"url": url, "order": order, "harvests": harvests, "selection": self.selection}
        if len(data) <= _INLINE_BYTES:
            return read_source(data, **options)  # type: ignore[arg-type]
        if order is None and not may_be_source(data):
            return None
        try:
            return await asyncio.to_thread(self.worker.call, data, **options)
        except WorkerError as failure:
            fault = Finding("unreadable-source", f"its reader failed: {failure}")
            return SourceReading(order or SourceKind.PAGE, findings=(fault,), is_faulty=True)


def may_be_source(data: bytes) -> bool:
    """Return whether *data* is a source by its beginning."""
    return source_kind(unpacked_head(data)) is not None


def unpacked_head(data: bytes) -> bytes:
    """The beginning of *data* without gzip around it: enough to tell whether it is a source.

    A list is recognized by all of its lines; of a long one the first must do here, and the reader looks at the rest.
    """
    return unpacked(data[:_INLINE_BYTES])[:_INLINE_BYTES].rpartition(b"\n")[0] or unpacked(data[:_INLINE_BYTES])
