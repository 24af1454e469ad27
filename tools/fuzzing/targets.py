"""Targets of coverage-guided fuzzing by atheris: ``make fuzz``.

Each target takes any bytes, and fails if its function breaks a promise, above all that it never raises. Seeds and
former failures are in `tools/fuzzing/corpus/`, which `tests/unit/project/test_fuzz_corpus.py` runs without atheris.
"""

from __future__ import annotations

import io
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from protego import Protego
from scrapy import Request
from scrapy.http import Response

from arkaudit.configuration.config_files import load
from arkaudit.configuration.schedule import Schedule
from arkaudit.schedules.last_run import LastRunFile, due_now
from crawler.answers.answer import read_answer
from crawler.answers.facts import AnswerFacts
from crawler.answers.mementos import memento_links
from crawler.model import schema
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from crawler.model.resolving import next_step, retry_after_s
from crawler.sources.source_reading import read_source
from crawler.sources.xml_sources import Selection
from crawler.store import StoreError
from crawler.store.database import unreadable_rows
from crawler.store.files import damage_in
from crawler.store.store import Store
from crawler.verdicts.verdict import VerdictContext, judge
from crawler.wire.middlewares import KEPT_HEADERS, ChainCookies, codings_of
from crawler.wire.redaction import HIDDEN, Redactor
from crawler.wire.robots import applicable_rules, rules_text
from extractors.archives.members import ArchiveMember, Limits
from extractors.archives.walk import members
from extractors.extraction import extraction_of
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from extractors.model.formats import FORMATS, parse_content_type
from reports.store.known_problems import read_known
from reports.store.store_reading import read_store

#: File names that select the readers; the first byte of an input chooses one.
NAMES = (*(f"a{declared.suffixes.split()[0]}" for declared in FORMATS.values()), "a.tsv", "")
#: Media types and, below, headers of answers; the first byte of an input chooses one.
MEDIA_TYPES = (
    "text/html",
    "text/plain",
    "application/json",
    "application/xml",
    "application/rdf+xml",
    "text/turtle",
    "application/n-triples",
    "application/yaml",
    "application/ld+json",
    "text/html; charset=utf-16",
    "text/plain; charset=iso-2022-jp",
    None,
)
HEADERS = (*KEPT_HEADERS, "Location", "Set-Cookie", "Content-Encoding", "Content-Disposition")
_URL, _AT = "http://a.example/ark:/98765/x12", "2026-11-21T00:00:00.000+00:00"
_SECRET = "S3cr3t/42+x"


def find(data: bytes) -> None:
    """Find ARKs in any text; their spans must lie within it."""
    text = data.decode("utf-8", "replace")
    for mention in find_arks(text):
        for start, end in mention.spans:
            assert 0 <= start < end <= len(text)


def readers(data: bytes) -> None:
    """Read any bytes as a document of any format."""
    extraction_of(data[1:], name=NAMES[data[0] % len(NAMES)] if data else "")


def answers(data: bytes) -> None:
    """Read and judge any bytes as an answer of any media type, then read them as a source."""
    media_type = MEDIA_TYPES[data[0] % len(MEDIA_TYPES)] if data else None
    answer = read_answer(data[1:], media_type)
    _judge(
        {"Content-Type": media_type or ""},
        title=answer.title,
        text=answer.text,
        record=answer.record,
        facts=answer.facts,
    )
    read_source(data[1:], url="http://a.example/", named_kind=None, harvests=False, selection=Selection())


def headers(data: bytes) -> None:
    """Read any bytes as the value of any header, and judge an answer with it."""
    name = HEADERS[data[0] % len(HEADERS)] if data else HEADERS[0]
    value = data[1:].decode("latin-1")
    retry_after_s(value, at=_AT)
    parse_content_type(value)
    memento_links(value, _URL)
    codings_of([value])
    next_step([_URL], 302, value, max_hops=5)
    request = Request(_URL)
    answered = Response(_URL, headers={name: data[1:].replace(b"\n", b""), "Set-Cookie": data[1:]})
    ChainCookies().process_response(request, answered)
    _judge({name: value}, location=value)


def _judge(headers: Mapping[str, str], *, location: str | None = None, **seen: Any) -> None:
    """Judge an answer with these headers for the object, its metadata and the control."""
    hop = Hop(_URL, "GET", _AT, 200, headers=headers, location=location)
    ark = Ark.parse("ark:/98765/x12")
    answer = AnswerFacts.from_observation(
        Observation(ark, _URL, Question.OBJECT, _URL, (hop,), ChainEnd.ANSWERED, **seen).within_limits()
    )
    judge({Question.OBJECT: answer, Question.INFO: answer}, context=VerdictContext(control=answer, control_info=answer))


def robots(data: bytes) -> None:
    """Read any bytes as a robots.txt."""
    text = rules_text(data)
    ours = Protego.parse(applicable_rules(text, "arkaudit").decode())
    for path in ("/", "/a", "/ark:/12148/x"):
        ours.can_fetch(f"http://a.example{path}", "arkaudit")


def archives(data: bytes) -> None:
    """Read any bytes as an archive; the size of its members must be limited."""
    limits = Limits(member_bytes=2**16, total_bytes=2**20, ratio=1, members=100)
    parts = members(io.BytesIO(data), name="a", path="a", limits=limits)
    size = sum(len(part.data) for part in parts if isinstance(part, ArchiveMember))
    assert size <= 2**21 + 4 * len(data), size


def stores(data: bytes) -> None:
    """Overwrite a part of a store by any bytes; it must be readable, or damaged with a `StoreError`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        whole = bytearray(_store())
        at = int.from_bytes(data[:2], "big") * 97 % len(whole)
        whole[at : at + len(data) - 2] = data[2:]
        path.write_bytes(whole)
        damage_in(path)
        try:
            read_store(path, lambda connection: list(unreadable_rows(connection)))
            Store.open(path).close()
        except StoreError:
            return


def cells(data: bytes) -> None:
    """Put any bytes into a cell of a store; they must be readable, or damage with a `StoreError`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        path.write_bytes(_store())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            tables = schema.tables.sorted_tables
            table = tables[(data[0] if data else 0) % len(tables)]
            columns = [each.name for each in table.columns if not each.primary_key]
            column = columns[(data[1] if len(data) > 1 else 0) % len(columns)]
            try:
                connection.execute(f"UPDATE {table.name} SET {column} = CAST(? AS TEXT)", (data[2:],))
            except sqlite3.IntegrityError:
                return
        try:
            read_store(path, lambda connection: list(unreadable_rows(connection)))
        except StoreError:
            return


def last_runs(data: bytes) -> None:
    """Read any bytes as the last run of an audit; a fault must be one line, and the file must stay the same when read again."""
    now = datetime(2026, 11, 22, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as folder:
        file = LastRunFile(Path(folder), "a")
        (Path(folder) / "a.json").write_bytes(data)
        try:
            last = file.read(now)
        except UserMistake as mistake:
            _require_one_line(str(mistake))
            return
        assert file.read(now) == last
        due_now(Schedule("0 3 * * *"), last, now)


def toml(data: bytes) -> None:
    """Read any bytes as a configuration and as a list of known problems; a fault must be one line."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        for read_file in (_load_config, read_known):
            try:
                read_file(Path(file.name))
            except UserMistake as mistake:
                _require_one_line(str(mistake))


def _load_config(path: Path) -> None:
    load(path, {})


def _require_one_line(words: str) -> None:
    assert len(words.splitlines()) <= 1, words


def redaction(data: bytes) -> None:
    """Redact a secret between any bytes."""
    cleaned = Redactor.for_secrets([_SECRET]).bytes(data + _SECRET.encode() + data)
    assert _SECRET.encode() not in cleaned
    assert HIDDEN.encode() in cleaned or b"[\0s\0" in cleaned


_made: list[bytes] = []


def _store() -> bytes:
    """Return the bytes of a small store."""
    if not _made:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.db"
            with Store.open(path) as store:
                at = "2026-11-21T00:00:00.000+00:00"
                run = store.begin_run(command="run", at=at, version="0", resolver="", user_agent="t", seeds=["a"])
                store.end_run(run, at=at, state="finished")
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode=DELETE")
            _made.append(path.read_bytes())
    return _made[0]


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "find": find,
    "readers": readers,
    "answers": answers,
    "headers": headers,
    "robots": robots,
    "archives": archives,
    "stores": stores,
    "cells": cells,
    "last_runs": last_runs,
    "toml": toml,
    "redaction": redaction,
}
