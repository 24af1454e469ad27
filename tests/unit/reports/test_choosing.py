"""A part of a run: by NAAN, document, outcome, state, event or cause; every table is about that part alone."""

from pathlib import Path
from typing import Any

import pytest

from crawler.model import schema
from crawler.store import StoreUnopenable
from reports.page.document import REQUESTS
from reports.store.frames import Frames, load_frames
from reports.tables.filters import Choice, select_part
from reports.tables.report_tables import TABLES, Tables
from tests.report_world import (
    BPT,
    BTV_AT_GALLICA,
    GUIDE,
    LIST,
    MOMENT,
    MUSEUM,
    hop,
    observation_row,
    write_store,
    write_world,
)


def arks(frames: Frames) -> list[str]:
    return sorted(set(frames.mentions["ark"]) | set(frames.verdicts["ark"]))


def test_an_empty_choice_leaves_everything_as_it_is(frames: Frames) -> None:
    assert select_part(frames, Choice()) is frames
    assert not Choice()
    assert Choice(naans=("12148",), only=("broken", "dns")).words == "NAAN 12148; only broken, dns"


def test_a_naan(frames: Frames) -> None:
    part = select_part(frames, Choice(naans=("12148",)))
    assert arks(part) == ["ark:12148/bpt6k107371t", "ark:12148/btv1b8449691v"]
    assert set(part.documents["url"]) == {GUIDE, LIST}
    assert set(part.hops["observation_id"]) == set(part.observations["observation_id"])
    assert set(REQUESTS.function(part)["ark"]) == set(part.observations["ark"]) == set(arks(part))
    assert len(Tables(part)["naans"]) == 1


@pytest.mark.parametrize(
    ("pattern", "documents"),
    [
        (LIST, {LIST}),
        ("https://library.example/", {GUIDE, LIST, "https://library.example/closed.pdf"}),
        ("*.pdf", {LIST, "https://library.example/closed.pdf"}),
        ("https://elsewhere.example/", set()),
    ],
)
def test_documents_by_address_beginning_or_pattern(frames: Frames, pattern: str, documents: set[str]) -> None:
    part = select_part(frames, Choice(documents=(pattern,)))
    assert set(part.documents["url"]) == documents
    assert set(part.mentions["document"]) <= documents


def test_of_an_ark_at_two_urls_only_the_one_that_the_document_cites_counts(frames: Frames) -> None:
    part = select_part(frames, Choice(documents=(LIST,)))
    urls = set(part.verdicts.loc[part.verdicts["ark"].eq("ark:12148/btv1b8449691v"), "request_url"])
    assert urls == {BTV_AT_GALLICA}


@pytest.mark.parametrize(
    ("token", "urls"),
    [
        ("broken", {BTV_AT_GALLICA, MUSEUM}),
        ("fails", {BTV_AT_GALLICA, MUSEUM}),
        ("unknown-naan", {MUSEUM}),
        ("stated", {"https://n2t.net/ark:/12148/btv1b8449691v"}),
        ("gone", set()),
    ],
)
def test_a_token_of_any_vocabulary(frames: Frames, token: str, urls: set[str]) -> None:
    assert set(select_part(frames, Choice(only=(token,))).verdicts["request_url"]) == urls


def test_choices_of_different_kinds_must_all_fit(frames: Frames) -> None:
    part = select_part(frames, Choice(naans=("12148",), documents=(GUIDE,), only=("fails",)))
    assert arks(part) == []


@pytest.mark.parametrize("choice", [Choice(naans=("00000",)), Choice(only=("flapping",)), Choice(documents=("x",))])
def test_a_choice_that_leaves_nothing_gives_empty_tables(frames: Frames, choice: Choice) -> None:
    tables = Tables(select_part(frames, choice))
    assert list(tables) == [table.name for table in TABLES]
    assert tables["arks"].empty


def test_states_and_events_are_chosen_by_what_is_kept_of_them(tmp_path: Path) -> None:
    path = write_world(tmp_path / "world.sqlite")
    latest = {
        "ark_id": 3, "request_url": MUSEUM, "host": "museum.example", "first_seen_at": MOMENT, "verdict_id": 4,
        "state": "confirmed-broken", "since": MOMENT, "reason": "three strikes", "strikes": 3, "memory": {},
    }  # fmt: skip
    event = {"run_id": 2, "ark_id": 2, "request_url": "u", "at": MOMENT, "event": "gone", "detail": "no document"}
    frames = load_frames(write_store(path, {schema.latest: [latest], schema.event: [event]}))
    assert arks(select_part(frames, Choice(only=("confirmed-broken",)))) == ["ark:53355/cl010120339"]
    table = Tables(select_part(frames, Choice(only=("gone",))))["changes"]
    assert table["ark"].tolist() == ["ark:12148/bpt6k107371t"]
    causes = Tables(frames)["causes"].set_index("host")["cause"]
    assert causes["museum.example"] == "unknown-naan"


@pytest.mark.parametrize("token", ["broken", "fails", "unknown-naan"])
def test_of_a_run_that_is_compared_with_the_same_arks_are_chosen(tmp_path: Path, token: str) -> None:
    path = write_world(tmp_path / "world.sqlite")
    before: dict[Any, Any] = {
        schema.observation: [
            {**observation_row(ark, url, "object", [hop(url, status)]), "run_id": 1}
            for ark, url, status in ((3, MUSEUM, 200), (1, BTV_AT_GALLICA, 404), (2, BPT, 404))
        ],
        schema.verdict: [
            {"run_id": 1, "ark_id": ark, "request_url": url, "object": outcome, "final_url": url}
            for ark, url, outcome in ((3, MUSEUM, "resolved"), (1, BTV_AT_GALLICA, "broken"), (2, BPT, "broken"))
        ],
    }
    store = write_store(path, before)
    part = select_part(load_frames(store, run_id=2, since=1), Choice(only=(token,)))
    assert MUSEUM in set(part.verdicts["request_url"])
    assert part.compared_run is not None
    assert set(part.compared_run.verdicts["request_url"]) == set(part.verdicts["request_url"])
    assert not Tables(part)["summary"].empty
    with pytest.raises(StoreUnopenable, match="run 2 is not earlier than run 1"):
        load_frames(store, run_id=1, since=2)
