"""The rows of a store about the ARKs of an inventory, up to one run: which are cited, and their last results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd
from sqlalchemy import Connection, Select, func, select

from crawler.model.observations import ACCESS, ObjectOutcome, Question
from crawler.model.schema import ark, document, mention, observation, run, verdict
from reports.remediation.expectations import same_object
from reports.store.run_queries import NO_RUN

#: One row per ARK of the inventory and URL at which it was asked for, with what the last check there found. Status,
#: password and the URLs on the way are there only where they matter.
DTYPES: Final = {
    "ark": "str",
    "request_url": "str",
    "object": "str",
    "judged_at": "datetime64[ms, UTC]",
    "final_url": "str",
    "status": "Int64",
    "asks_password": "boolean",
    "passed": "object",
}
_AT_ONCE: Final = 500


def with_citations(connection: Connection, inventory: pd.DataFrame, run_id: int | None) -> pd.DataFrame:
    """*inventory* with which of its ARKs any document has cited in this run or an earlier one."""
    begun = _begun(run_id)
    query = (
        select(ark.c.ark)
        .join_from(mention, ark)
        .join(document, document.c.document_id == mention.c.document_id)
        .join(run, run.c.run_id == document.c.run_id)
        .where(run.c.started_at <= begun)
        .distinct()
    )
    cited = set(_in_parts(connection, query, inventory))
    return inventory.assign(
        is_cited=pd.array([name in cited for name in inventory["ark"]], dtype="boolean"),
        is_chosen=pd.array([True] * len(inventory), dtype="boolean"),
    )


def _in_parts(connection: Connection, query: Select[Any], inventory: pd.DataFrame) -> Iterator[str]:
    for some in _parts(inventory):
        yield from connection.scalars(query.where(ark.c.ark.in_(some)))


def _parts(inventory: pd.DataFrame) -> Iterator[list[str]]:
    arks = inventory["ark"].tolist()
    return (arks[first : first + _AT_ONCE] for first in range(0, len(arks), _AT_ONCE))


def stock(connection: Connection, inventory: pd.DataFrame, run_id: int | None) -> pd.DataFrame:
    """The last checks of the ARKs of *inventory* at each URL, in this run or before it; skipping is no check."""
    age = func.row_number().over(
        partition_by=(verdict.c.ark_id, verdict.c.request_url),
        order_by=(run.c.started_at.desc(), verdict.c.verdict_id.desc()),
    )
    all_checks = (
        select(ark.c.ark, verdict.c.ark_id, verdict.c.run_id, verdict.c.request_url, verdict.c.object)
        .add_columns(run.c.started_at, verdict.c.final_url, age.label("age"))
        .join_from(verdict, ark)
        .join(run, run.c.run_id == verdict.c.run_id)
        .where(run.c.started_at <= _begun(run_id), verdict.c.object != ObjectOutcome.SKIPPED.value)
    )
    expected = dict(zip(inventory["ark"], inventory["expected_url"], strict=True))
    rows: list[tuple[Any, ...]] = []
    for some in _parts(inventory):
        checks = all_checks.where(ark.c.ark.in_(some)).subquery()
        last = select(checks).where(checks.c.age == 1).order_by(checks.c.ark, checks.c.request_url)
        for row in connection.execute(last).all():
            is_clear = _is_clear(row.object, row.final_url, expected[row.ark])
            status, asks_password, passed = (None, False, []) if is_clear else _chain(connection, row)
            last_check = (row.ark, row.request_url, row.object, row.started_at, row.final_url)
            rows.append((*last_check, status, asks_password, passed))
    return _typed(rows)


def _is_clear(outcome: str, final_url: str | None, expected: object) -> bool:
    """Return whether the end of a chain says enough: mostly so, and it saves a look at each."""
    if outcome == ObjectOutcome.BLOCKED:
        return False
    return not isinstance(expected, str) or final_url is None or same_object(expected, final_url)


def _chain(connection: Connection, row: Any) -> tuple[int | None, bool, list[str]]:
    """Status of the answer of a verdict, whether it asks for a password, and the URLs on the way to it.

    It is the last that ended where the verdict says, asked in whichever way, or else the last to the object question.
    """
    columns = (observation.c.status, observation.c.facts, observation.c.hops, observation.c.final_url)
    query = (
        select(*columns, observation.c.question)
        .where(
            observation.c.run_id == row.run_id,
            observation.c.request_url == row.request_url,
            observation.c.question.in_([question.value for question in ACCESS]),
        )
        .order_by(observation.c.observation_id.desc())
    )
    answers = connection.execute(query).all()
    there = [answer_ for answer_ in answers if answer_.final_url == row.final_url]
    asked = [answer_ for answer_ in answers if answer_.question == Question.OBJECT]
    answer = next(iter([*there, *asked]), None)
    if answer is None:
        return None, False, []
    facts = answer.facts if isinstance(answer.facts, dict) else json.loads(answer.facts or "{}")
    return answer.status, bool(facts.get("asks_password")), [hop["url"] for hop in answer.hops]


def no_stock() -> pd.DataFrame:
    """Nothing known."""
    return _typed([])


def _typed(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = dict(zip(DTYPES, zip(*rows, strict=True) if rows else ((),) * len(DTYPES), strict=True))
    frame = pd.DataFrame(
        {
            name: pd.Series(list(columns[name]), dtype="str" if name == "judged_at" else dtype)
            for name, dtype in DTYPES.items()
        }
    )
    moments = pd.to_datetime(frame["judged_at"], utc=True, format="ISO8601").dt.as_unit("ms")
    return frame.assign(judged_at=moments)


def _begun(run_id: int | None) -> Any:
    return select(run.c.started_at).where(run.c.run_id == (NO_RUN if run_id is None else run_id)).scalar_subquery()
