"""The process in which sources are parsed that might crash or hang their parser, with the limits of documents."""

from __future__ import annotations

from crawler.sources.source_reader import SourceWorker
from crawler.sources.source_reading import read_source
from extractors.isolated import PARSING_BYTES, PARSING_CPU_S, PARSING_S
from extractors.worker import Worker


def source_worker() -> SourceWorker:
    """Return the process that reads large sitemaps, feeds and harvests; it is started when there is one."""
    return Worker(read_source, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)
