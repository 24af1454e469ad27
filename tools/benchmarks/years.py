"""A generated store of twelve audits of 200,000 ARKs with 1,000,000 observations."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Table

from crawler.model import schema
from crawler.store.store import Store
from extractors.model.ark import Ark
from tools.benchmarks.stores import MENTION, insert_rows

RUNS, ARKS, OBSERVATIONS = 12, 200_000, 1_000_000
NAANS, HOSTS, DOCUMENTS = 60, 400, 5_000
#: A run checks this many of every eighteen ARKs, and the metadata of two of three that work.
ASKED, OF = 5, 18
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_TEXT = "the river has a bridge of seven arches that was built when the town was still inside its walls " * 2


@dataclass(frozen=True, slots=True)
class Subject:
    """An ARK and its future outcomes."""

    number: int
    dies_in: int
    """The first run in which it fails; beyond the last run for most."""

    @property
    def naan(self) -> str:
        return str(10_000 + 37 * (self.number % NAANS))

    @property
    def host(self) -> str:
        return f"resolver{self.number % HOSTS}.example"

    @property
    def ark(self) -> Ark:
        return Ark(self.naan, f"x{self.number % 10}bc{self.number}")

    @property
    def url(self) -> str:
        return f"https://{self.host}/{self.ark}"

    def status(self, run: int) -> int | None:
        """Return the status in a run: hosts are down now and then, and all of them in the seventh run."""
        if run == 7 or (self.number % HOSTS + run) % 97 == 0:
            return None
        if self.number % 50 == 3:
            return 403
        return 404 if run >= self.dies_in else 200


def make(path: Path) -> None:
    """Write the store, the same each time."""
    lots = random.Random(2026)
    subjects = [Subject(n, lots.randrange(2, 40) if lots.random() < 0.5 else 99) for n in range(ARKS)]
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("PRAGMA foreign_keys=OFF")
        raw.executemany(_into(schema.ark), _arks(subjects))
        keys = _Keys()
        for run in range(1, RUNS + 1):
            _add_run(raw, run, subjects, keys)
        raw.commit()
    with Store.open(path) as store, store.transaction() as connection:
        from crawler.history.latest import rebuild

        rebuild(connection)


#: Columns of each table that name an ARK, which copies change.
_NAMING: Mapping[str, tuple[str, ...]] = {
    "ark": ("ark", "name"),
    "document": ("url", "final_url", "hops"),
    "mention": ("as_written", "repaired", "request_url"),
    "observation": ("request_url", "asked_url", "final_url", "hops"),
    "verdict": ("request_url", "object_evidence", "final_url"),
    "latest": ("request_url",),
    "event": ("request_url",),
}
_KEYS = {f"{table}_id" for table in _NAMING}


def multiply(path: Path, times: int) -> None:
    """Multiply the ARKs of a store from `make`, under other names, within minutes.

    The copies have the landing pages and hosts of the first ARKs.
    """
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("PRAGMA foreign_keys=OFF")
        last = {f"{table}_id": raw.execute(f"SELECT max({table}_id) FROM {table}").fetchone()[0] for table in _NAMING}
        for number in range(1, times):
            for name, naming in _NAMING.items():
                columns = [column.name for column in schema.tables.tables[name].columns]
                copied = ", ".join(_copy_expression(column, column in naming, number, last) for column in columns)
                raw.execute(
                    f"INSERT INTO {name} ({', '.join(columns)}) "
                    f"SELECT {copied} FROM {name} WHERE {name}_id <= {last[f'{name}_id']}"
                )
            raw.commit()
        raw.execute("UPDATE contact SET answered = answered * ?1, met = met * ?1, silent = silent * ?1", (times,))
        raw.commit()


def _copy_expression(column: str, is_named: bool, number: int, last: Mapping[str, int]) -> str:
    """Return the SQL expression of a column for a copy: keys continue those of the last copy, names differ."""
    if column in _KEYS:
        return f"{column} + {number * last[column]}"
    return f"replace(replace({column}, 'bc', 'bc{number}b'), '/library.', '/library{number}.')" if is_named else column


@dataclass(slots=True)
class _Keys:
    """The last key of each table."""

    observation: int = 0
    verdict: int = 0
    document: int = 0
    mention: int = 0


def _arks(subjects: list[Subject]) -> Iterator[tuple[Any, ...]]:
    for subject in subjects:
        ark = subject.ark
        yield subject.number + 1, str(ark), ark.naan, ark.shoulder, ark.name, ark.qualifier


def _moment(run: int, second: float = 0) -> str:
    at = BEGINNING + timedelta(days=30 * (run - 1), seconds=second)
    return at.isoformat(timespec="milliseconds")


def _add_run(raw: sqlite3.Connection, run: int, subjects: list[Subject], keys: _Keys) -> None:
    command = "run" if run in (1, RUNS) else "check"
    seeds = '["https://library.example/"]' if command == "run" else "[]"
    about = ("finished", "0.1.0", "https://n2t.net/", "arkaudit/0.1.0", seeds)
    raw.execute(_into(schema.run, 10), (run, str(UUID(int=run)), command, _moment(run), _moment(run, 80_000), *about))
    if command == "run":
        _add_documents(raw, run, subjects, keys)
    asked = [subject for subject in subjects if (subject.number + 3 * run) % OF < ASKED]
    raw.executemany(_into(schema.observation, 25), _observations(run, asked, keys))
    raw.executemany(_into(schema.verdict, 16), _verdicts(run, asked, keys))


def _into(table: Table, width: int | None = None) -> str:
    """Return the statement that inserts the first *width* columns of *table*, or all; others get their defaults."""
    names = [column.name for column in table.columns][:width]
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _add_documents(raw: sqlite3.Connection, run: int, subjects: list[Subject], keys: _Keys) -> None:
    first = keys.document
    raw.executemany(
        _into(schema.document),
        ((first + page + 1, run, *_document(page, _moment(run, page))) for page in range(DOCUMENTS)),
    )
    keys.document += DOCUMENTS
    each = len(subjects) // DOCUMENTS

    def mentions() -> Iterator[dict[str, Any]]:
        for subject in subjects:
            keys.mention += 1
            page, place = divmod(subject.number, each)
            yield MENTION | {
                "mention_id": keys.mention,
                "document_id": first + page + 1,
                "ordinal": place + 1,
                "citation": place + 1,
                "ark_id": subject.number + 1,
                **dict.fromkeys(("as_written", "repaired", "request_url"), subject.url),
                "resolver": f"https://{subject.host}/",
                "role": "link-target",
                "place": "a/@href",
                "context": "a line of text around it",
            }

    insert_rows(raw, "mention", mentions())


def _document(page: int, at: str) -> tuple[Any, ...]:
    url = f"https://library.example/{page // 100}/{page}"
    hops = json.dumps([_hop(url, 200, at)])
    return url, None, at, "read", 200, url, "text/html", f"Page {page}", 9000, None, hops


def _hop(url: str, status: int | None, at: str) -> dict[str, Any]:
    headers = {"Content-Type": "text/html; charset=utf-8", "Server": "nginx", "Content-Length": "9000"}
    error = None if status else "no connection in time"
    return {
        "url": url, "method": "GET", "at": at, "status": status, "location": None, "address": "192.0.2.7",
        "elapsed_s": 0.25, "headers": headers if status else {}, "error": error,
    }  # fmt: skip


def _observations(run: int, asked: list[Subject], keys: _Keys) -> Iterator[tuple[Any, ...]]:
    for second, subject in enumerate(asked):
        status, at = subject.status(run), _moment(run, second)
        questions = ["object", "?info"] if status == 200 and subject.number // OF % 3 else ["object"]
        for question in questions:
            keys.observation += 1
            url = subject.url + (question if question != "object" else "")
            landing = f"https://objects{subject.number % HOSTS}.example/{subject.number}"
            hops = [_hop(url, status, at)]
            if status == 200 and question == "object":
                hops = [_hop(url, 302, at) | {"location": landing}, _hop(landing, 200, at)]
            yield (
                keys.observation, run, subject.number + 1, subject.url, question, 1, url, at,
                "answered" if status else "timeout", "", status, hops[-1]["url"], len(hops) - 1, json.dumps(hops),
                "text/html", f"Object {subject.number}", _TEXT, 9000, f"{subject.number:064x}", 1,
                None, f"{subject.number:08x}", None, "{}", "[]",
            )  # fmt: skip


_OUTCOMES = {200: "resolved", 403: "blocked", 404: "broken", None: "timeout"}


def _verdicts(run: int, asked: list[Subject], keys: _Keys) -> Iterator[tuple[Any, ...]]:
    for subject in asked:
        keys.verdict += 1
        status = subject.status(run)
        is_described = status == 200 and bool(subject.number // OF % 3)
        landing = f"https://objects{subject.number % HOSTS}.example/{subject.number}"
        parsed = {"who": "A Library", "what": f"Object {subject.number}", "when": "1784"}
        promise = {"who": "A Library", "what": "Permanent: Stable Content", "level": "Permanent: Stable Content"}
        is_promised = is_described and subject.number % 3 == 0
        yield (
            keys.verdict, run, subject.number + 1, subject.url, _OUTCOMES[status],
            json.dumps([f"{landing if status == 200 else subject.url} answered {status}"]),
            "erc" if is_described else "not-asked", '["?info gave an ERC"]', json.dumps(parsed if is_described else {}),
            "stated" if is_promised else "absent" if is_described else "not-asked", "[]",
            json.dumps(promise if is_promised else {}),
            landing if status == 200 else subject.url if status else None, int(status == 200), 1 + is_described, "[]",
        )  # fmt: skip
