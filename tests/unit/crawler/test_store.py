"""The store: records are kept, once each, and foreign files are never written to."""

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import text

from crawler.model import schema
from crawler.model.observations import (
    ChainEnd,
    CitedMention,
    DocumentOutcome,
    DocumentRecord,
    Hop,
    HostTraffic,
    ObjectOutcome,
    Observation,
    PageFacts,
    Pause,
    Question,
    Verdict,
)
from crawler.model.schema import SCHEMA_VERSION
from crawler.spiders.runs import judge_run
from crawler.store import StoreUnopenable, StoreUnwritable
from crawler.store.database import row_of
from crawler.store.store import Store
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from reports.store.frames import load_frames
from tests.real.loopback import select

AT = "2026-11-21T00:00:00.000+00:00"
URL = "https://n2t.net/ark:/12x45/x5"


def begin_run(store: Store) -> int:
    return store.begin_run(command="run", at=AT, version="0", resolver="https://n2t.net/", user_agent="t", seeds=["a"])


def document(
    url: str = "https://library.example/a.html", cited: str = "see ark:/12x45/x5 and ark:/12345/x6"
) -> DocumentRecord:
    mentions = tuple(CitedMention(each, f"https://n2t.net/{each.repaired}") for each in find_arks(cited))
    return DocumentRecord(
        url, None, AT, DocumentOutcome.READ, mentions=mentions, findings=(Finding("empty", "nothing"),)
    )


def observation(question: Question = Question.OBJECT) -> Observation:
    hop = Hop(URL, "GET", AT, 200, None, "127.0.0.1", 0.1, {"Server": "x"})
    return Observation(
        Ark.parse("ark:12x45/x5"),
        URL,
        question,
        URL,
        (hop,),
        ChainEnd.ANSWERED,
        text="an object",
        record={"erc": {"who": "A"}},
    )


def test_records_are_read_back_unchanged() -> None:
    with Store.open(None) as store:
        run_id = begin_run(store)
        store.record(run_id, [document(), observation()])
        assert list(store.observations(run_id)) == [observation()]
        assert store.cited_targets(run_id) == [
            (Ark("12x45", "x5"), URL),
            (Ark("12345", "x6"), "https://n2t.net/ark:/12345/x6"),
        ]
        assert store.counts(run_id) == {"documents": 1, "read": 1, "redirected": 0, "referers": 0, "citations": 1}


def test_requests_to_a_host_are_summed_over_stages(tmp_path: Path) -> None:
    wish = Pause("http://r.example", URL, AT, 30.0, True)
    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        store.record(run_id, [HostTraffic("http://r.example", 5, 1, 1.0, None), wish])
        store.record(run_id, [HostTraffic("http://r.example", 2, 0, 2.0, 2.0, "not asked: dead"), wish])
        store.record(begin_run(store), [HostTraffic("http://r.example", 1, 0, 1.0)])
    columns = "requests, failures, interval_s, crawl_delay_s, given_up"
    assert select(tmp_path / "a.db", f"select {columns} from host_traffic") == [
        (7, 1, 2.0, 2.0, "not asked: dead"),
        (1, 0, 1.0, None, None),
    ]
    assert select(tmp_path / "a.db", "select asked_s, is_kept from pause") == [(30.0, 1)]


def test_unsent_requests_are_not_counted(tmp_path: Path) -> None:
    def refused_hops(*sent: bool) -> tuple[Hop, ...]:
        return tuple(Hop("http://r.example/", "GET", AT, error="refused", sent=each) for each in sent)

    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        chains = {"http://r.example/1": refused_hops(True, False), "http://r.example/2": refused_hops(False)}
        store.record(
            run_id, [DocumentRecord(url, None, AT, ObjectOutcome.REFUSED, hops) for url, hops in chains.items()]
        )
    assert list(load_frames(tmp_path / "a.db").documents["request_count"]) == [1, 0]


def test_recording_twice_does_no_harm(tmp_path: Path) -> None:
    with Store.open(tmp_path / "audit.db") as store:
        run_id = begin_run(store)
        for _ in range(2):
            store.record(run_id, [document(), observation()])
    counts = [
        select(tmp_path / "audit.db", f"select count(*) from {table}")[0][0]
        for table in ("document", "mention", "observation", "finding")
    ]
    assert counts == [1, 2, 1, 1]


def test_runs_are_separate(tmp_path: Path) -> None:
    with Store.open(tmp_path / "audit.db") as store:
        first = begin_run(store)
        store.record(first, [document(), observation()])
    with Store.open(tmp_path / "audit.db") as store:
        second = begin_run(store)
        assert second != first
        assert list(store.observations(second)) == []
        assert list(store.observations(first)) == [observation()]


def test_judging_a_run_gives_each_cited_ark_its_verdict_and_again_the_same() -> None:
    with Store.open(None) as store:
        run_id = begin_run(store)
        store.record(run_id, [document(), observation()])
        first, again = list[Verdict](), list[Verdict]()
        judge_run(store, run_id, store.cited_targets(run_id), on_verdict=first.append)
        judge_run(store, run_id, store.cited_targets(run_id), on_verdict=again.append)
    assert [verdict.object.outcome for verdict in first] == ["resolved", "skipped"]
    assert again == first


def test_unasked_ark_has_no_verdict() -> None:
    with Store.open(None) as store:
        run_id = begin_run(store)
        store.record(run_id, [document(cited="ark:/12x45/x5 ark:/12x45/x7"), observation()])
        judged = list[Verdict]()
        judge_run(store, run_id, store.cited_targets(run_id), on_verdict=judged.append)
        assert [str(verdict.ark) for verdict in judged] == ["ark:12x45/x5"]


def test_a_commit_is_durable_and_readable_while_another_process_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "audit.db") as store:
        run_id = begin_run(store)
        store.record(run_id, [observation()])
        assert select(tmp_path / "audit.db", "pragma journal_mode")[0] == ("wal",)
        assert select(tmp_path / "audit.db", "select count(*) from observation")[0] == (1,)
        with store._engine.connect() as connection:
            assert connection.scalar(text("pragma synchronous")) == 2


def test_a_store_that_was_killed_before_it_had_tables_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("pragma journal_mode=wal")
    assert path.stat().st_size > 0
    with Store.open(path) as store:
        store.begin_run(command="run", at=AT, version="0", resolver="", user_agent="", seeds=[])


def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    database, text_file = tmp_path / "places.sqlite", tmp_path / "thesis.txt"
    with sqlite3.connect(database) as foreign:
        foreign.execute("create table bookmarks (url)")
    text_file.write_text("This is not a database, but it is longer than a hundred bytes. " * 4)
    for path in (database, text_file):
        before = path.read_bytes()
        with pytest.raises(StoreUnopenable):
            Store.open(path)
        assert path.read_bytes() == before


def test_a_store_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    version = SCHEMA_VERSION + 1
    path = tmp_path / "audit.db"
    Store.open(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"pragma user_version={version}")
    before = path.read_bytes()
    with pytest.raises(StoreUnopenable, match=f"schema {version}; this one reads {SCHEMA_VERSION}"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["", "no/such/folder/audit.db"])
def test_a_place_where_no_store_can_be_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(StoreUnopenable):
        Store.open(tmp_path / place)


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "audit.db") as store:
        run_id = begin_run(store)
        store.record(run_id, [document("https://library.example/first")])
        with store._engine.connect() as connection:
            pages = connection.scalar(text("pragma page_count"))
            connection.execute(text(f"pragma max_page_count={pages}"))
        many = [document(f"https://library.example/{number}") for number in range(200)]
        with pytest.raises(StoreUnwritable, match="full"):
            store.record(run_id, many)
        kept = store.counts(run_id)["documents"]
        assert kept >= 1
    assert select(tmp_path / "audit.db", "pragma integrity_check")[0] == ("ok",)
    assert select(tmp_path / "audit.db", "select count(*) from document")[0] == (kept,)


def test_a_store_may_have_a_name_that_means_something_to_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open(Path(":memory:")).close()
    assert [path.name for path in tmp_path.iterdir()] == [":memory:"]


def test_all_facts_of_a_page_are_stored_as_they_are() -> None:
    facts = PageFacts(
        arks=(("ark:12x45/x5", "canonical"),),
        canonical=URL,
        refresh="https://n2t.net/",
        challenge="a puzzle for people",
        asks_password=True,
        signs_on=True,
        headings=("A map", "Its parts"),
        kernel_values={"who": "Rossi, Ada"},
    )
    seen = Observation(
        Ark.parse("ark:12x45/x5"),
        URL,
        Question.OBJECT,
        URL,
        (Hop(URL, "GET", AT, 200),),
        ChainEnd.ANSWERED,
        facts=facts,
    )
    stored = row_of(seen, schema.observation)["facts"]
    assert json.dumps(stored) == json.dumps(asdict(facts))
