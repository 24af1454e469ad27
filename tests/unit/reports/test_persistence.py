"""Persistence over time: survival compared with published examples, spells with the status itself."""

import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.history.ark_status import DatedVerdict, EventKind, StatusPolicy
from crawler.model.observations import ObjectOutcome
from crawler.store.store import Store
from reports.languages import ENGLISH
from reports.page.charts import survival_chart
from reports.store.frames import Frames, Timeline, load_frames
from reports.store.selections import JUDGED_RUNS, OBJECT, STANDINGS, empty_columns
from reports.tables import persistence
from reports.tables.persistence import kaplan_meier, median_days
from reports.tables.report_tables import DEFINITIONS, Tables
from tests.report_world import write_store, write_world
from tests.unit.crawler.test_ark_status import status_of
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit, audit_spell
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("survival"))
def test_survival_is_that_of_the_published_example(vector: dict[str, Any]) -> None:
    rows = [(days, True) for days in vector["died"]] + [(days, False) for days in vector["censored"]]
    lives = pd.DataFrame(rows, columns=["days", "died"]).assign(group="a")
    curve = kaplan_meier(lives, ["group"])
    by_day = curve.set_index("days")
    assert {day: by_day.at_risk[int(day)] for day in vector["at_risk"]} == vector["at_risk"]
    for day, survival in vector["survival"].items():
        assert by_day.survival[int(day)] == pytest.approx(survival, abs=0.0006)
    for day, error in vector["error"].items():
        row = by_day.loc[int(day)]
        spread = 1.959964 * error / (row.survival * abs(math.log(row.survival)))
        assert row.low == pytest.approx(row.survival ** math.exp(spread), abs=0.003)
        assert row.high == pytest.approx(row.survival ** math.exp(-spread), abs=0.003)
    [median] = median_days(curve, ["group"])["median"]
    assert (None if pd.isna(median) else median) == vector["median"]


LIVES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.booleans()), min_size=1)


@given(LIVES)
def test_a_curve_only_falls_and_everybody_is_counted_once(rows: list[tuple[str, int, bool]]) -> None:
    lives = pd.DataFrame(rows, columns=["group", "days", "died"])
    curves = kaplan_meier(lives, ["group"])
    assert curves["failed"].sum() + curves["censored"].sum() == len(rows)
    for _, curve in curves.groupby("group"):
        assert curve["survival"].is_monotonic_decreasing
        assert curve["at_risk"].is_monotonic_decreasing
        assert curve["survival"].between(0, 1).all()
        bounded = curve.dropna(subset="low")
        assert (bounded["low"] <= bounded["survival"]).all()
        assert (bounded["survival"] <= bounded["high"]).all()


# -- spells, lives and states are those that the standing has

START = datetime(2026, 1, 1, tzinfo=UTC)
OUTCOMES = st.sampled_from(["resolved", "resolved", "broken", "broken", "timeout", "blocked", "undetermined"])
HISTORIES = st.lists(st.lists(st.one_of(st.none(), OUTCOMES), min_size=8, max_size=8), min_size=1, max_size=4)


def timeline_of(histories: list[list[str | None]], suspect: list[bool]) -> Timeline:
    """Return the timeline of ARKs with an outcome or None for each run; a run every three days."""
    at = [START + timedelta(days=3 * run) for run in range(8)]
    runs = pd.DataFrame(
        {"run_id": range(1, 9), "started_at": pd.to_datetime(pd.Series(at)).dt.as_unit("ms"), "is_suspect": suspect}
    ).astype({column.name: dtype for column, dtype in JUDGED_RUNS.items()})
    rows = [
        (pair, run, outcome)
        for pair, history in enumerate(histories, start=1)
        for run, outcome in enumerate(history)
        if outcome is not None
    ]
    checks = pd.DataFrame(rows, columns=["pair", "run", "object"])
    checks = checks.astype({"pair": "Int64", "run": "int64", "object": OBJECT})
    checks = checks.join(runs[["started_at", "is_suspect"]], on="run")
    return Timeline(StatusPolicy(), runs, checks, empty_columns(STANDINGS).frame())


@given(HISTORIES, st.lists(st.booleans(), min_size=8, max_size=8))
def test_spells_and_states_are_those_of_the_standing(histories: list[list[str | None]], suspect: list[bool]) -> None:
    suspect = [False if at % 2 else each for at, each in enumerate(suspect)]
    timeline = timeline_of(histories, suspect)
    spells = persistence.failure_spells(timeline)
    lives = persistence.link_lifetimes(timeline).set_index("pair")
    last = {"working": 0, "failing": 0, "confirmed_broken": 0}
    for pair, history in enumerate(histories, start=1):
        checks = [
            DatedVerdict(START + timedelta(days=3 * run), ObjectOutcome(outcome), suspect[run])
            for run, outcome in enumerate(history)
            if outcome is not None
        ]
        standing, events = status_of(checks)
        ours = spells[spells["pair"] == pair]
        broke = sum(event.kind is EventKind.CONFIRMED for _, event in events)
        recovered = sum(event.kind is EventKind.RECOVERED for _, event in events)
        assert (ours["confirmed"].sum(), ours["recovered_at"].notna().sum()) == (broke, recovered)
        has_worked = any(check.works for check in checks)
        assert (pair in lives.index) == has_worked
        if standing is not None and (standing.strikes or standing.worked_at):
            confirmed = standing.state == "confirmed-broken"
            last["confirmed_broken" if confirmed else "failing" if standing.strikes else "working"] += 1
    assert dict(persistence.runs(timeline)[[*last]].iloc[-1]) == last


# -- tables


@pytest.fixture(scope="module")
def spell_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that tests only read."""
    path = tmp_path_factory.mktemp("spell") / "audit.db"
    audit_spell(path)
    with Store.open(path) as store:
        audit(store, 46, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 404, OTHER: 200})
    return path


@pytest.fixture(scope="module")
def spell(spell_path: Path) -> Frames:
    return load_frames(spell_path)


@pytest.fixture
def store_path(spell_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(spell_path, tmp_path))


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    values = table[list(columns)].astype("object")
    return list(values.where(values.notna(), None).itertuples(index=False, name=None))


def test_run_by_run_one_reads_how_it_stood_then(spell: Frames) -> None:
    table = persistence.runs(spell.timeline)
    assert rows(table, "run_id", "is_suspect", "working", "failing", "confirmed_broken") == [
        (1, False, 2, 0, 0),
        (2, False, 1, 1, 0),
        (3, False, 1, 1, 0),
        (4, False, 1, 0, 1),
        (5, True, 1, 0, 1),
        (6, False, 1, 0, 1),
    ]
    assert list(table["share_not_broken"]) == [1, 1, 1, 0.5, 0.5, 0.5]


def test_the_one_that_died_died_on_the_day_of_its_first_failure(spell: Frames) -> None:
    table = DEFINITIONS["survival"].table(spell)
    assert rows(table[table["grouping"] == "all"], "days", "at_risk", "failed", "censored", "survival") == [
        (30, 2, 1, 0, 0.5),
        (46, 1, 0, 1, 0.5),
    ]
    assert set(table["group"]) == {"all", "12x45", "a.example", "b.example"}


def test_survival_counts_the_arks_that_never_worked(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        for day in (0, 30, 60):
            audit(store, day, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 404})
    table = DEFINITIONS["survival"].table(load_frames(path))
    counts = rows(table, "group", "at_risk", "survival", "never_worked")
    assert counts == [("all", 1, 1, 1), ("12x45", 1, 1, 1), ("a.example", 1, 1, 0)]
    chart = survival_chart(table, "naan", ENGLISH)
    assert chart is not None
    assert "At the end: all 100.0 %; 12x45 100.0 %. 1 link that never worked is not included." in chart.alt


def test_failures_and_recoveries_have_their_medians(spell: Frames, store_path: Path) -> None:
    table = DEFINITIONS["persistence"].table(spell)
    [row] = rows(table[table["grouping"] == "all"], "watched", "died", "days_to_failure", "spells", "recovered")
    assert row == (2, 1, 30, 1, 0)
    with Store.open(store_path) as store:
        audit(store, 50, answers={ONE: 200, OTHER: 200}, seeds=[])
    table = DEFINITIONS["persistence"].table(load_frames(store_path))
    [row] = rows(table[table["grouping"] == "all"], "spells", "confirmed", "recovered", "days_to_recovery")
    assert row == (1, 1, 1, 20)


def test_place_to_correct_names_the_last_working_target(spell: Frames) -> None:
    table = Tables(spell)["failures"]
    assert rows(table, "ark", "last_good_url", "last_good_at") == [("ark:12x45/x5", ONE, pd.Timestamp(START))]


def test_the_statement_gives_shares_with_dates_and_denominators(spell: Frames) -> None:
    table = DEFINITIONS["persistence"].table(spell)
    assert rows(table, "grouping", "group", "arks", "followed", "resolving", "confirmed_broken", "permanent") == [
        ("all", "all", 2, 2, 1, 1, 0),
        ("naan", "12x45", 2, 2, 1, 1, 0),
        ("resolver", "a.example", None, None, None, None, None),
        ("resolver", "b.example", None, None, None, None, None),
        ("documents", "library.example/", 2, 2, 1, 1, 0),
    ]
    assert table["statement"][0] == (
        "Of 2 ARKs that could be followed between 2026-01-01 and 2026-02-16, 1 (50.0%) resolves; confirmed broken: 1. "
        "Of those that resolve, metadata describes 0 (0.0%), and a stated commitment covers 0 (0.0%); the "
        "providers call 0 of them permanent."
    )


def test_an_earlier_run_is_reported_as_it_was_then(spell: Frames, store_path: Path) -> None:
    then = load_frames(store_path, run_id=3)
    assert len(persistence.runs(then.timeline)) == 3
    assert rows(DEFINITIONS["persistence"].table(then), "resolving", "failing", "confirmed_broken")[0] == (1, 1, 0)
    assert rows(DEFINITIONS["persistence"].table(spell), "resolving", "failing", "confirmed_broken")[0] == (1, 0, 1)
    assert [path.name for path in store_path.parent.iterdir()] == ["audit.db"], "and nothing is written for it"


@pytest.mark.parametrize("make", ["empty", "no history"])
def test_without_history_the_tables_are_empty_and_have_their_columns(make: str, tmp_path: Path) -> None:
    store = write_store(tmp_path / "a.db", {}) if make == "empty" else write_world(tmp_path / "a.db")
    frames = load_frames(store)
    full_path = tmp_path / "full.db"
    with Store.open(full_path) as full_store:
        audit(full_store, 0, documents={GUIDE: f"see {ONE}"}, answers={ONE: 200, OTHER: None})
        audit(full_store, 1, answers={ONE: None}, seeds=[])
    full = load_frames(full_path)
    for definition in (DEFINITIONS["survival"], DEFINITIONS["persistence"]):
        table = definition.table(frames)
        assert list(table.columns) == [column.name for column in definition.columns]
        assert table.empty
        assert table.dtypes.equals(definition.table(full).dtypes)
