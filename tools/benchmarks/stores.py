"""Generated stores of any size: ARKs of many providers, cited in many documents, checked in one or several runs."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from sqlalchemy import URL, create_engine

from crawler.model import schema
from crawler.store.database import row_of
from extractors.find import find_arks
from extractors.model.ark import shoulder_of

NAANS: Final = ("53355", "61903", "65665", "67531", "81055", "86073", "20775", "24407", "31389", "45487", "54721")
_ALPHABET: Final = "0123456789bcdfghjkmnpqrstvwxz"
_FIRST: Final = datetime(2026, 1, 5, 3, 0, tzinfo=UTC)
#: Outcomes of ARKs, weighted by repetition.
_FATES: Final = ("resolved",) * 88 + ("broken",) * 6 + ("timeout",) * 3 + ("blocked",) * 3
[_CITED] = find_arks("ark:12148/bpt6k107371t")
#: The row of an ordinary mention, without its keys.
MENTION: Final = {
    name: json.dumps(value) if isinstance(value, list) else value
    for name, value in row_of(_CITED, schema.mention, confidence="certain", decided=1).items()
}


def make_store(path: Path, *, arks: int, runs: int = 1, asked_share: float = 1.0, seed: int = 1) -> Path:
    """Make a store at *path* with *runs* a month apart, each of which checks *asked_share* of *arks* ARKs."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    schema.tables.create_all(engine)
    engine.dispose()
    chance = random.Random(seed)
    names = sorted({_name(chance) for _ in range(arks)})
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA journal_mode = OFF")
        store.execute("PRAGMA synchronous = OFF")
        store.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        store.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
        insert_rows(store, "ark", _arks(names))
        for run_id in range(1, runs + 1):
            asked = [number for number in range(1, len(names) + 1) if chance.random() < asked_share]
            insert_rows(store, "run", [_run(run_id)])
            insert_rows(store, "document", _documents(run_id, len(names)))
            insert_rows(store, "mention", _mentions(run_id, names))
            fates = [chance.choice(_FATES) for _ in asked]
            insert_rows(store, "observation", _observations(run_id, names, asked, fates))
            insert_rows(store, "verdict", _verdicts(run_id, names, asked, fates))
    return path


def insert_rows(store: sqlite3.Connection, table: str, rows: Any) -> None:
    """Insert *rows*, which all have the same columns in the same order."""
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return
    columns = ", ".join(first)
    places = ", ".join("?" for _ in first)
    statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"
    store.execute(statement, tuple(first.values()))
    store.executemany(statement, (tuple(row.values()) for row in iterator))


def _name(chance: random.Random) -> str:
    naan = chance.choice(NAANS)
    shoulder = f"{chance.choice('bcmt')}{chance.randrange(10)}"
    return f"ark:{naan}/{shoulder}{''.join(chance.choices(_ALPHABET, k=9))}"


def _arks(names: list[str]) -> Iterator[dict[str, Any]]:
    for number, ark in enumerate(names, start=1):
        naan, _, name = ark.removeprefix("ark:").partition("/")
        yield {"ark_id": number, "ark": ark, "naan": naan, "shoulder": shoulder_of(name), "name": name, "qualifier": ""}


def _at(run_id: int, seconds: float = 0.0) -> str:
    return (_FIRST + timedelta(days=30 * run_id, seconds=seconds)).isoformat(timespec="milliseconds")


def _run(run_id: int) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "uuid": str(UUID(int=run_id)),
        "command": "run",
        "started_at": _at(run_id),
        "ended_at": _at(run_id, 86_000),
        "state": "finished",
        "version": "0.1.0",
        "resolver": "https://n2t.net/",
        "user_agent": "arkaudit/0.1",
        "seeds": '["https://library.example/"]',
    }


#: Number of ARKs per document.
_IN_DOCUMENT: Final = 100


def _documents(run_id: int, arks: int) -> Iterator[dict[str, Any]]:
    for number in range(-(-arks // _IN_DOCUMENT)):
        yield {
            "document_id": _document_id(run_id, number),
            "run_id": run_id,
            "url": f"https://library.example/{number % 40}/paper-{number}.html",
            "fetched_at": _at(run_id, number),
            "outcome": "read",
            "status": 200,
            "media_type": "text/html",
            "title": f"Paper {number}",
            "hops": "[]",
        }


def _document_id(run_id: int, number: int) -> int:
    return run_id * 1_000_000 + number


def _mentions(run_id: int, names: list[str]) -> Iterator[dict[str, Any]]:
    for place, ark in enumerate(names):
        yield MENTION | {
            "document_id": _document_id(run_id, place // _IN_DOCUMENT),
            "ordinal": place % _IN_DOCUMENT,
            "citation": place % _IN_DOCUMENT + 1,
            "ark_id": place + 1,
            "as_written": ark,
            "repaired": ark,
            "request_url": _url(ark),
            "place": "p",
            "spans": f"[[{place}, {place + len(ark)}]]",
            "context": f"The deed is kept as {ark} in the archive.",
        }


def _url(ark: str) -> str:
    return f"https://n2t.net/{ark}"


def _landing_url(ark: str) -> str:
    naan, _, name = ark.removeprefix("ark:").partition("/")
    return f"https://digital.{naan}.example/items/{name}"


def _observations(run_id: int, names: list[str], asked: list[int], fates: list[str]) -> Iterator[dict[str, Any]]:
    for place, (number, fate) in enumerate(zip(asked, fates, strict=True)):
        ark = names[number - 1]
        status = {"resolved": 200, "broken": 404, "blocked": 403}.get(fate)
        at = _at(run_id, place * 0.37)
        hops = [
            {
                "url": _url(ark),
                "method": "GET",
                "at": at,
                "status": 302,
                "location": _landing_url(ark),
                "elapsed_s": 0.1 + place % 97 / 500,
            },
            {
                "url": _landing_url(ark),
                "method": "GET",
                "at": at,
                "status": status,
                "elapsed_s": 0.2 + place % 89 / 300,
            },
        ]
        yield {
            "run_id": run_id,
            "ark_id": number,
            "request_url": _url(ark),
            "question": "object",
            "attempt": 1,
            "asked_url": _url(ark),
            "at": at,
            "chain_end": "answered" if status else "timeout",
            "detail": "",
            "status": status,
            "final_url": _landing_url(ark),
            "hop_count": 1,
            "hops": json.dumps(hops),
            "body_complete": 1,
            "facts": "{}",
            "remarks": "[]",
        }


def _verdicts(run_id: int, names: list[str], asked: list[int], fates: list[str]) -> Iterator[dict[str, Any]]:
    for number, fate in zip(asked, fates, strict=True):
        ark = names[number - 1]
        fine = fate == "resolved"
        yield {
            "run_id": run_id,
            "ark_id": number,
            "request_url": _url(ark),
            "object": fate,
            "object_evidence": json.dumps([f"{_landing_url(ark)} came to {fate} after 1 redirect"]),
            "metadata": "query-ignored" if fine else "not-asked",
            "metadata_evidence": '["?info gave the object\'s own answer again"]',
            "metadata_parsed": "{}",
            "commitment": "undetermined",
            "commitment_evidence": '["no genuine metadata answer, so nothing could be read"]',
            "commitment_parsed": "{}",
            "final_url": None if fate == "timeout" else _landing_url(ark),
            "hop_count": 1,
            "request_count": 2,
            "remarks": "[]",
        }
