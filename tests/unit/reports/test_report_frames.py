"""From the store to typed frames: one run, every dtype, and stores that can't be read."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from crawler.answers.facts import AnswerFacts
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
from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.store import Store
from crawler.verdicts.verdict import judge
from extractors.find import find_arks
from extractors.model.documents import Finding
from reports.store import selections
from reports.store.frames import Frames, load_frames
from reports.store.typed_columns import WORD, Columns, content
from tests.report_world import (
    BPT,
    BTV_AT_N2T,
    GUIDE,
    LANDING,
    MOMENT,
    ark_row,
    hop,
    mention_row,
    observation_row,
    write_store,
    write_world,
)

DTYPES = {
    "run": {"run_id": "Int64", "started_at": "datetime64[ms, UTC]", "seeds": "str"},
    "later": {"run_id": "Int64", "started_at": "datetime64[ms, UTC]", "command": "str"},
    "passed_over": {"run_id": "Int64", "state": "str"},
    "documents": {"document_id": "Int64", "fetched_at": "datetime64[ms, UTC]", "outcome": "category"},
    "findings": {"document_id": "Int64", "kind": "str"},
    "arks": {"ark_id": "Int64", "naan": "str"},
    "mentions": {"page": "Int64", "role": "category", "confidence": "category", "repairs": "str"},
    "observations": {"question": "category", "chain_end": "category"},
    "hops": {"ordinal": "Int64", "status": "Int64", "elapsed_s": "Float64", "at": "datetime64[ms, UTC]"},
    "pauses": {"host": "str", "asked_s": "Float64", "is_kept": "boolean"},
    "traffic": {"requests": "Int64", "interval_s": "Float64", "given_up": "str"},
    "verdicts": {"object": "category", "object_evidence": "str", "commitment_parsed": "object"},
    "fetches": {"document_id": "Int64", "ordinal": "Int64", "at": "datetime64[ms, UTC]"},
    "history": {"run_id": "Int64", "started_at": "datetime64[ms, UTC]", "object": "category"},
    "last_good": {"ark_id": "Int64", "good_at": "datetime64[ms, UTC]", "good_url": "str"},
    "mementos": {"ark_id": "Int64", "at": "datetime64[ms, UTC]", "outcome": "category", "memento_url": "str"},
    "registered": {"naan": "str", "organization": "str"},
    "latest": {"state": "category", "since": "datetime64[ms, UTC]"},
    "events": {"event": "category", "at": "datetime64[ms, UTC]"},
    "known": {"ark_id": "Int64", "document": "str", "known": "str"},
    "inventory": {"ark": "str", "is_cited": "bool", "is_chosen": "bool", "checked_at": "datetime64[ms, UTC]"},
}


def dtypes(frames: Frames) -> dict[str, dict[str, str]]:
    return {
        field.name: {name: str(dtype) for name, dtype in getattr(frames, field.name).dtypes.items()}
        for field in fields(Frames)
        if isinstance(getattr(frames, field.name), pd.DataFrame)
    }


def test_the_newest_run_that_holds_anything_is_read_and_only_that_run(frames: Frames) -> None:
    assert list(frames.run["run_id"]) == [2]
    assert frames.documents["title"].iloc[0] == "<script>alert('guide')</script>"
    assert len(frames.mentions) == 11
    assert "ark:29072/old" not in set(frames.arks["ark"])


def test_an_older_run_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    older = load_frames(write_world(tmp_path / "world.sqlite"), run_id=1)
    assert list(older.arks["ark"]) == ["ark:29072/old"]
    assert list(older.documents["title"]) == ["as it was"]
    assert older.verdicts.empty


def test_every_frame_has_the_stated_dtypes(frames: Frames) -> None:
    found = dtypes(frames)
    assert found.keys() == DTYPES.keys()
    for name, stated in DTYPES.items():
        assert found[name].items() >= stated.items()


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param({}, id="a store without a run"),
        pytest.param({schema.run: [{"run_id": 1}]}, id="a run in which nothing has happened"),
    ],
)
def test_empty_frames_have_the_same_dtypes_as_full_ones(tmp_path: Path, frames: Frames, rows: dict) -> None:
    empty = load_frames(write_store(tmp_path / "empty.sqlite", rows))
    assert dtypes(empty) == dtypes(frames)
    assert len(empty.run) == len(rows)
    assert empty.hops.empty


def test_categories_hold_every_word_of_the_vocabulary_in_its_order(frames: Frames) -> None:
    assert list(frames.verdicts["object"].cat.categories) == [str(outcome) for outcome in ObjectOutcome]
    assert list(frames.hops["question"].cat.categories) == [str(question) for question in Question]
    assert list(frames.mentions["confidence"].cat.categories) == ["ambiguous", "likely", "certain"]


@given(st.lists(st.lists(st.sampled_from(["b", "a", "", "é", None]), min_size=1, max_size=5), max_size=3))
def test_words_are_the_categories_that_pandas_would_make(chunks: list[list[str | None]]) -> None:
    columns = Columns({"word": WORD})
    for chunk in chunks:
        columns.add([(word,) for word in chunk])
    expected = pd.Series([word for chunk in chunks for word in chunk], dtype="str").astype("category")
    pd.testing.assert_series_equal(columns.frame()["word"], expected, check_names=False)


def test_a_hop_is_a_row_that_knows_its_question(frames: Frames) -> None:
    asked = frames.observations.loc[frames.observations["request_url"].eq(BTV_AT_N2T), "observation_id"]
    rows = frames.hops[frames.hops["observation_id"].isin(asked)]
    columns = ["question", "ordinal", "url", "status", "location", "content_type"]
    assert rows[columns].astype("object").where(rows[columns].notna(), None).to_numpy().tolist() == [
        ["object", 1, BTV_AT_N2T, 302, LANDING, None],
        ["object", 2, LANDING, 200, None, "text/html"],
        ["?info", 1, f"{BTV_AT_N2T}?info", 200, None, None],
    ]
    assert rows["at"].iloc[0] == pd.Timestamp("2026-11-20T10:00:00.123Z")


def test_lists_become_joined_text_and_a_parsed_record_stays_one(frames: Frames) -> None:
    verdict = frames.verdicts.iloc[0]
    assert verdict["commitment_evidence"] == "an erc-support block; with a rating"
    assert verdict["commitment_parsed"] == {"who": "The Library", "what": "Permanent: Stable Content"}
    assert frames.verdicts["remarks"].iloc[3] == "unregistered NAAN"


def test_malformed_time_is_missing(tmp_path: Path) -> None:
    asked = observation_row(1, GUIDE, "object", [hop(GUIDE, at="")], at="")
    rows = {schema.run: [{"run_id": 2}], schema.ark: [ark_row(1, "ark:12148/x5")], schema.observation: [asked]}
    frames = load_frames(write_store(tmp_path / "store.sqlite", rows), run_id=2)
    assert frames.observations["at"].isna().all()
    assert frames.hops["at"].isna().all()


def test_a_store_that_is_being_written_is_read_as_of_one_moment(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    writer = in_wal_mode(path)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM verdict")
    assert len(load_frames(path).verdicts) == 9
    writer.execute("COMMIT")
    assert load_frames(path).verdicts.empty
    writer.close()


def in_wal_mode(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    return connection


def test_reading_changes_nothing_in_the_store_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    in_wal_mode(path).close()
    before = path.read_bytes()
    load_frames(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_whose_writer_was_killed_is_read_with_all_that_was_committed(tmp_path: Path) -> None:
    path, killed = write_world(tmp_path / "world.sqlite"), tmp_path / "killed.sqlite"
    writer = in_wal_mode(path)
    writer.execute("DELETE FROM verdict WHERE ark_id = 1")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{killed}{suffix}")
    writer.close()
    assert len(load_frames(killed).verdicts) == 7


def test_a_store_that_is_written_to_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_world(tmp_path / "world.sqlite")
    writers: list[sqlite3.Connection] = []

    def written_meanwhile(text: str) -> Any:
        if not writers:
            writers.append(in_wal_mode(path))
            writers[0].execute("DELETE FROM verdict")
        return content(text)

    monkeypatch.setattr(selections, "content", written_meanwhile)
    assert load_frames(path).verdicts.empty
    writers[0].close()


HOPS_IN_A_STORE = {
    "as we write them": (
        [hop(GUIDE, headers={"Content-Type": "text/html", "Vary": "*"}, sent=False)],
        {"content_type": "text/html", "sent": False},
    ),
    "names of headers in capitals": (
        [hop(GUIDE, headers={"CONTENT-TYPE": "text/html"})],
        {"content_type": "text/html"},
    ),
    "no headers": ([{"url": GUIDE, "headers": None}, {"url": LANDING}], {"url": GUIDE}),
    "half a character": ([hop(GUIDE, location="\ud83d")], {"location": "\\ud83d"}),
    "a character of two halves, and NUL": ([hop(GUIDE, location="\U0001f600\x00")], {"location": "\U0001f600\x00"}),
    "a number in another form": ([hop(GUIDE, elapsed_s=1) | {"status": 404.0}], {"elapsed_s": 1.0, "status": 404}),
    "fields of a later version": ([hop(GUIDE, protocol={"name": "h3"})], {"url": GUIDE}),
    "a moment of another zone": (
        [hop(GUIDE, at="2026-11-20T12:00:00+02:00"), hop(GUIDE, at="soon")],
        {"at": pd.Timestamp("2026-11-20T10:00:00Z")},
    ),
}


@pytest.mark.parametrize(("chain", "first"), HOPS_IN_A_STORE.values(), ids=HOPS_IN_A_STORE)
def test_hops_are_read_whatever_their_form(
    tmp_path: Path, chain: Sequence[dict[str, Any]], first: dict[str, Any]
) -> None:
    path = write_world(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE observation SET hops = ? WHERE observation_id = 1", (json.dumps(chain, indent=1),))
    hops = load_frames(path).hops
    rows = hops[hops["observation_id"].eq(1)]
    assert len(rows) == len(chain)
    assert {name: rows.iloc[0][name] for name in first} == first


def test_a_question_without_a_hop_has_no_row(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE observation SET hops = '[]' WHERE observation_id = 1")
    found = load_frames(path)
    assert found.hops[found.hops["observation_id"].eq(1)].empty
    assert found.observations.set_index("observation_id").loc[1, "request_count"] == 0


def test_values_of_another_type_are_converted(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE observation SET asked_url = 7, media_type = 7.5 WHERE observation_id = 1")
        store.execute("UPDATE document SET status = 404.0")
    found = load_frames(path)
    asked = found.observations.set_index("observation_id").loc[1]
    assert (asked["asked_url"], asked["media_type"]) == ("7", "7.5")
    assert set(found.documents["status"]) == {404}


def test_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE document SET title = CAST(x'ff41' AS TEXT)")
    with pytest.raises(StoreDamaged):
        load_frames(path)


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "50% of what? #1"
    folder.mkdir()
    assert len(load_frames(write_world(folder / "a b?mode=rw.sqlite")).verdicts) == 9


def test_missing_file_is_reported_and_not_created(tmp_path: Path) -> None:
    path = tmp_path / "nothing.sqlite"
    with pytest.raises(StoreUnopenable, match="there is no such file"):
        load_frames(path)
    assert not path.exists()


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnopenable, match="is a folder, not a store"):
        load_frames(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a spreadsheet " * 100], ids=["empty", "something else"])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreUnopenable, match="store of arkaudit"):
        load_frames(path)


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "browser-history.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (run_id INTEGER)")
    connection.close()
    with pytest.raises(StoreUnopenable, match="is not a store of arkaudit"):
        load_frames(path)


@pytest.mark.parametrize("version", [schema.SCHEMA_VERSION - 1, schema.SCHEMA_VERSION + 1])
def test_another_schema_is_refused_with_both_numbers(tmp_path: Path, version: int) -> None:
    path = write_store(tmp_path / "store.sqlite", {}, version=version)
    with pytest.raises(StoreUnopenable, match=rf"schema {version}; this one reads {schema.SCHEMA_VERSION}"):
        load_frames(path)


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnopenable, match="has no run 7"):
        load_frames(write_world(tmp_path / "world.sqlite"), run_id=7)


@pytest.mark.parametrize(
    ("statement", "what"),
    [("UPDATE observation SET hops = '[{'", "can't read"), ("DROP TABLE pause", "lacks its table pause")],
    ids=["JSON that was cut", "a table that is gone"],
)
def test_a_damaged_store_is_refused_in_one_clear_error(tmp_path: Path, statement: str, what: str) -> None:
    path = write_world(tmp_path / "world.sqlite")
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
    with pytest.raises(StoreDamaged, match=what):
        load_frames(path)


def test_structures_inside_lists_are_kept_as_json(tmp_path: Path) -> None:
    alternatives = ["ark:12148/x5y", {"ark": "ark:12148/x5z"}]
    rows = {
        schema.run: [{"run_id": 2}],
        schema.ark: [ark_row(1, "ark:12148/x5")],
        schema.document: [{"document_id": 1, "url": GUIDE}],
        schema.mention: [mention_row(1, 1, 1, GUIDE, alternatives=alternatives)],
    }
    frames = load_frames(write_store(tmp_path / "store.sqlite", rows))
    assert frames.mentions["alternatives"].iloc[0] == f"ark:12148/x5y; {json.dumps(alternatives[1])}"


def test_a_store_that_the_crawler_wrote_is_read_back(tmp_path: Path) -> None:
    """Records that the crawler writes are reported unchanged."""
    [mention] = find_arks("Kept at https://n2t.net/ark:/12148/btv1b8449691v since 2009.")
    answer = Hop(BTV_AT_N2T, "GET", MOMENT, 404, headers={"Server": "rslv"}, elapsed_s=0.2)
    observation = Observation(mention.ark, BTV_AT_N2T, Question.OBJECT, BTV_AT_N2T, (answer,), ChainEnd.ANSWERED)
    seeds = {"at": MOMENT, "version": "1", "resolver": "https://n2t.net/", "user_agent": "us", "seeds": [GUIDE]}
    with Store.open(tmp_path / "store.sqlite") as store:
        run_id = store.begin_run(command="crawl", **seeds)
        document = DocumentRecord(
            GUIDE,
            None,
            MOMENT,
            DocumentOutcome.READ,
            hops=(Hop(GUIDE, "GET", MOMENT, 200),),
            mentions=(CitedMention(mention, BTV_AT_N2T),),
            findings=(Finding("page-limit", "only 10 of 20 pages were read"),),
        )
        store.record(run_id, [document, observation])
        store.record_verdicts(run_id, [judge({Question.OBJECT: AnswerFacts.from_observation(observation)})])
        store.end_run(run_id, at=MOMENT, state="finished")
    frames = load_frames(tmp_path / "store.sqlite")
    assert frames.documents[["url", "outcome", "request_count"]].to_numpy().tolist() == [[GUIDE, "read", 1]]
    assert frames.verdicts[["ark", "object", "hop_count"]].to_numpy().tolist() == [[str(mention.ark), "broken", 0]]
    assert frames.hops[["status", "server", "elapsed_s"]].to_numpy().tolist() == [[404, "rslv", 0.2]]
    assert frames.mentions["request_url"].tolist() == [BTV_AT_N2T]
    assert frames.findings["detail"].tolist() == ["only 10 of 20 pages were read"]
    assert frames.run["ended_at"].notna().all()


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        pytest.param(("01", "02", "02"), ("03", "04", "04"), 2, id="one after the other: the later one"),
        pytest.param(("01", "09", "08"), ("03", "04", "04"), 1, id="gone on with behind a later one"),
        pytest.param(("01", None, "08"), ("03", "04", "04"), 1, id="the same, and never ended"),
        pytest.param(("01", "09", "02"), ("03", "04", "04"), 2, id="ended behind a later one, and answered before it"),
        pytest.param(("01", None, "02"), ("03", None, "04"), 2, id="neither has ended"),
        pytest.param(("01", "03", "03"), ("03", "04", None), 2, id="one ends as the other begins"),
    ],
)
def test_of_two_checks_the_one_that_was_answered_last_counts(
    tmp_path: Path, first: tuple[str, str | None, str | None], second: tuple[str, str | None, str | None], counts: int
) -> None:
    def at(day: str | None) -> str | None:
        return None if day is None else f"2026-11-{day}T10:00:00.000+00:00"

    times = {1: first, 2: second}
    about = {"ark_id": 1, "request_url": BPT}
    store = write_store(
        tmp_path / "a.db",
        {
            schema.ark: [ark_row(1, "ark:12148/bpt6k107371t")],
            schema.run: [
                {"run_id": run, "command": "check", "started_at": at(begin), "ended_at": at(end)}
                for run, (begin, end, _) in times.items()
            ],
            schema.verdict: [{"run_id": run, "verdict_id": run, "object": "resolved", **about} for run in times],
            schema.observation: [
                observation_row(1, BPT, "object", [hop(BPT)], run_id=run, at=at(answer))
                for run, (_, _, answer) in times.items()
                if answer is not None
            ],
        },
    )
    assert list(load_frames(store).verdicts["run_id"]) == [counts]
