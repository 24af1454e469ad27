"""The history of an ARK in the store."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import select

from arkaudit.features.explain.explanation import print_history
from arkaudit.features.explain.history import load_ark_history
from crawler.history.ark_status import StatusPolicy
from crawler.history.latest import rebuild
from crawler.model import schema
from crawler.model.observations import (
    ChainEnd,
    CitedMention,
    DocumentOutcome,
    DocumentRecord,
    Hop,
    ObjectOutcome,
    Observation,
    Question,
)
from crawler.spiders.runs import judge_run
from crawler.store.store import Store
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from tests.vectors import vectors

ONE, OTHER = "http://a.example/ark:/12x45/x5", "http://b.example/ark:/12x45/x7"


GUIDE = "http://library.example/guide"


def moment(day: float) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)).isoformat(timespec="milliseconds")


def seen(url: str, day: float, status: int | None) -> Observation:
    hop = Hop(url, "GET", moment(day), status)
    end = ChainEnd.ANSWERED if status else ChainEnd.TIMEOUT
    return Observation(Ark.parse(url), url, Question.OBJECT, url, (hop,), end, text="an object")


def audit(
    store: Store,
    day: float,
    *,
    documents: dict[str, str] | None = None,
    answers: dict[str, int | None] | None = None,
    findings: dict[str, list[str]] | None = None,
    state: str = "finished",
    seeds: Sequence[str] = (GUIDE,),
) -> int:
    """Record one run: documents by URL with their text, and the answer of each ARK.

    A text in brackets is the outcome of the document, with the target of a redirect. A name with an exclamation mark is
    that of a document in an archive. *findings* are kinds of findings by document.
    """
    run_id = store.begin_run(
        command="run", at=moment(day), version="0", resolver="https://n2t.net/", user_agent="t", seeds=seeds
    )
    for url, text in (documents or {}).items():
        outcome, _, led_to = text.strip("[]").partition(" ") if text.startswith("[") else ("read", "", "")
        mentions = tuple(CitedMention(each, each.repaired) for each in find_arks("" if outcome != "read" else text))
        status = {"broken": 404, "timeout": None}.get(outcome, 200)
        hops = () if url.startswith("/") else (Hop(url, "GET", moment(day), status),)
        became = (DocumentOutcome if outcome in set(DocumentOutcome) else ObjectOutcome)(outcome)
        container = url.partition("!")[0] if "!" in url else None
        row = DocumentRecord(
            url, container, moment(day), became, hops=() if container else hops, mentions=mentions,
            findings=tuple(Finding(kind, "") for kind in (findings or {}).get(url, ())), led_to=led_to or None,
        )  # fmt: skip
        store.record(run_id, [row])
    store.record(run_id, [seen(url, day, status) for url, status in (answers or {}).items()])
    judge_run(store, run_id, [(Ark.parse(url), url) for url in answers or {}])
    store.end_run(run_id, at=moment(day), state=state)
    return run_id


def events(store: Store) -> list[tuple[int, str, str]]:
    event = schema.event
    with store._engine.connect() as connection:
        query = select(event.c.run_id, event.c.request_url, event.c.event).order_by(event.c.event_id)
        return [tuple(row) for row in connection.execute(query)]


def derived_rows(store: Store) -> list[object]:
    with store._engine.connect() as connection:
        return [
            sorted(tuple(row)[table is not schema.assessment :] for row in connection.execute(select(table)).all())
            for table in (schema.latest, schema.event, schema.contact, schema.assessment)
        ]


def assert_rebuilt_the_same(store: Store) -> None:
    before = str(derived_rows(store))
    with store.transaction() as connection:
        rebuild(connection)
    assert str(derived_rows(store)) == before


def test_a_cited_ark_is_new_before_it_is_ever_checked_and_only_once() -> None:
    with Store.open(None) as store:
        first = audit(store, 0, documents={GUIDE: f"see {ONE}"})
        [known] = store.known_arks()
        assert (known.state, known.checked_at, known.host) == ("undetermined", None, "a.example")
        audit(store, 1, documents={GUIDE: f"see {ONE}"}, answers={ONE: 200})
        assert events(store) == [(first, ONE, "new")]
        assert [each.state for each in store.known_arks()] == ["healthy"]
        assert_rebuilt_the_same(store)


def test_uncited_ark_is_gone_and_returns_as_new() -> None:
    with Store.open(None) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 200})
        gone = audit(store, 1, documents={GUIDE: f"see {OTHER}"}, answers={OTHER: 200})
        assert [each.is_cited for each in store.known_arks()] == [False, True]
        again = audit(store, 2, documents={GUIDE: f"see {ONE}, {OTHER}"}, answers={ONE: 200, OTHER: 200})
        assert [each for each in events(store) if each[1] == ONE][1:] == [(gone, ONE, "gone"), (again, ONE, "new")]
        assert all(each.is_cited for each in store.known_arks())
        assert_rebuilt_the_same(store)


def test_ark_cited_at_another_url_is_neither_gone_nor_new() -> None:
    respelled = ONE.replace("ark:/", "ark:")
    with Store.open(None) as store:
        first = audit(store, 0, documents={GUIDE: f"see {ONE}"}, answers={ONE: 200})
        audit(store, 1, documents={GUIDE: f"see {respelled}"}, answers={respelled: 200})
        audit(store, 2, documents={GUIDE: f"see {ONE} and {respelled}"})
        audit(store, 3, documents={GUIDE: f"see {ONE}"})
        assert events(store) == [(first, ONE, "new")]
        gone = audit(store, 4, documents={GUIDE: "nothing"})
        again = audit(store, 5, documents={GUIDE: f"see {respelled}"}, answers={respelled: 200})
        assert events(store)[1:] == [(gone, ONE, "gone"), (again, respelled, "new")]
        assert_rebuilt_the_same(store)


@pytest.mark.parametrize("vector", vectors("absences"))
def test_only_observed_absence_is_gone(vector: dict[str, Any]) -> None:
    with Store.open(None) as store:
        for number, run in enumerate(vector["audits"]):
            audit(store, 4 * number, answers=None if number else {ONE: 200}, **run)
        assert [each.is_cited for each in store.known_arks()] == [vector["is_cited"]]
        assert_rebuilt_the_same(store)


def test_judging_a_run_again_leaves_its_history_as_it_would_have_been() -> None:
    with Store.open(None) as store:
        audit(store, 0, answers={ONE: 404, OTHER: 200})
        run_id = audit(store, 3, answers={ONE: 404, OTHER: 200})
        before = derived_rows(store)
        judge_run(store, run_id, [(Ark.parse(url), url) for url in (ONE, OTHER)])
        assert str(derived_rows(store)) == str(before)


def test_run_without_answers_gives_no_strike() -> None:
    with Store.open(None) as store:
        for day in (0, 30, 60):
            audit(store, day, answers={ONE: None, OTHER: None})
        assert {each.state for each in store.known_arks()} == {"undetermined"}


def test_another_policy_reads_all_history_again() -> None:
    with Store.open(None) as store:
        for day in (0, 2, 4):
            audit(store, day, answers={ONE: 404, OTHER: 200})
        store.set_status_policy(StatusPolicy(days=3))
        assert [each.state for each in store.known_arks()] == ["confirmed-broken", "healthy"]
        assert (3, ONE, "confirmed") in events(store)
        store.set_status_policy(StatusPolicy())
        assert [each.state for each in store.known_arks()] == ["failing", "healthy"]
        assert_rebuilt_the_same(store)


# -- output of the command


def audit_spell(path: Path) -> None:
    """Record a run in which two ARKs work, three in which one fails, and one without answers."""
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 200})
        for day in (30, 33, 38):
            audit(store, day, answers={ONE: 404, OTHER: 200}, seeds=[])
        audit(store, 45, answers={ONE: None, OTHER: None}, seeds=[])


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    audit_spell(path)
    with Store.open(path) as store:
        audit(store, 46, documents={GUIDE: f"see {ONE}"}, answers={ONE: 200})
    return path


def test_a_life_has_its_citations_checks_and_transitions(store_path: Path) -> None:
    found = load_ark_history(store_path, Ark("12x45", "x5"))
    assert found is not None
    [cited] = found["citations"]
    assert (cited["document"], cited["first_at"][:10], cited["last_at"][:10]) == (GUIDE, "2026-01-01", "2026-02-16")
    [at_url] = found["urls"]
    assert [(check["object"], check["state"]) for check in at_url["checks"]] == [
        ("resolved", "healthy"),
        ("broken", "failing"),
        ("broken", "failing"),
        ("broken", "confirmed-broken"),
        ("timeout", "confirmed-broken"),
        ("resolved", "healthy"),
    ]
    assert [check["is_suspect"] for check in at_url["checks"]] == [False, False, False, False, True, False]
    assert [event["event"] for event in at_url["events"]] == ["new", "confirmed", "recovered"]
    assert at_url["spark"] == "#___-#"
    for encoding, spark in (("utf-8", "█▁▁▁▄█"), ("ascii", "#___-#")):
        terminal = io.TextIOWrapper(io.BytesIO(), encoding)
        print_history(found, Console(file=terminal))
        terminal.seek(0)
        assert f"\n  {spark}\n" in terminal.read()
    assert load_ark_history(store_path, Ark("12x45", "never")) is None


def test_the_states_of_a_life_are_those_of_the_store(store_path: Path) -> None:
    for ark in ("x5", "x7"):
        found = load_ark_history(store_path, Ark("12x45", ark))
        assert found is not None
        assert all(each["checks"][-1]["state"] == each["state"] for each in found["urls"])
