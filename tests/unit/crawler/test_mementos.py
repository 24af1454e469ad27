"""Archived copies by the Memento protocol: what to ask an archive, decided from the store, and what its answer means."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.mementos import (
    ArchiveAnswer,
    MementoOutcome,
    WantedCapture,
    may_ask_again,
    memento_links,
    memento_record,
    wanted_capture,
)
from crawler.model.observations import ChainEnd, Hop
from extractors.model.ark import Ark
from tests.vectors import vectors

GATE = "https://archive.example/web"
ARK = Ark.parse("ark:12148/x5")
URL = "https://n2t.net/ark:12148/x5"
NOW = datetime(2026, 11, 23, tzinfo=UTC)


def in_full(text: str) -> str:
    return f"{GATE}{text[1:]}" if text.startswith("G/") else text.replace("<G/", f"<{GATE}/")


def answer_of(asked: str, chain: list[dict[str, Any]]) -> ArchiveAnswer:
    hops, end, detail = [], ChainEnd.ANSWERED, ""
    for row in chain:
        headers = {
            name: in_full(row[key])
            for name, key in (("Memento-Datetime", "captured"), ("Link", "link"), ("Content-Location", "location"))
            if key in row
        }
        location = in_full(row["to"]) if "to" in row else None
        url = in_full(row.get("url", asked))
        hops.append(Hop(url, "GET", "2026-11-23T00:00:00+00:00", row.get("status", 200), location, headers=headers))
        end, detail = ChainEnd(row.get("end", "answered")), row.get("detail", "")
    return ArchiveAnswer(tuple(hops), end, detail, chain[-1].get("fault"))


@pytest.mark.parametrize("vector", vectors("mementos"))
def test_answer_of_an_archive_gives_one_record(vector: dict[str, Any]) -> None:
    dates = {name: datetime.fromisoformat(vector[name]) for name in ("worked_at", "cited_at") if name in vector}
    wanted = WantedCapture(ARK, URL, vector.get("original", "http://lib.example/x5"), **dates)
    answer = answer_of(f"{GATE}/{wanted.original}", vector["chain"])
    record = memento_record(wanted, f"{GATE}/", answer)
    assert (record.outcome.value, record.hops) == (vector["outcome"], answer.hops)
    for name in ("reason", "memento_at", "original_url"):
        assert getattr(record, name) == vector.get(name, getattr(record, name))
    assert record.memento_url == (in_full(vector["memento_url"]) if "memento_url" in vector else None)


@given(st.text(), st.text(max_size=30))
def test_any_text_can_be_links(text: str, other: str) -> None:
    memento_links(f'<{text}>; rel="memento"; datetime="{other}", {text}', f"{GATE}/")


# -- what to ask for


@pytest.mark.parametrize(
    ("known", "original"),
    [
        pytest.param({}, URL, id="the requested URL of a first failure"),
        pytest.param(
            {"good_url": "http://lib.example/item/7", "led_to": "http://new.example/x5"},
            "http://lib.example/item/7",
            id="where it led when it worked",
        ),
        pytest.param(
            {"led_to": "http://new.example/x5"}, "http://new.example/x5", id="where it leads now, by its name"
        ),
        pytest.param({"led_to": "http://lib.example/404"}, URL, id="a page for all that is missing is not the object"),
    ],
)
def test_capture_is_asked_for_at_the_best_known_address(known: dict[str, str], original: str) -> None:
    assert wanted_capture(ARK, URL, **known).original == original


def cited(fetched_at: str, last_modified: str | None = None) -> tuple[str, list[Hop]]:
    headers = {} if last_modified is None else {"Last-Modified": last_modified}
    return f"{fetched_at}T00:00:00.000+00:00", [Hop("https://a.example/", "GET", fetched_at, 200, headers=headers)]


@pytest.mark.parametrize(
    ("worked", "documents", "wanted"),
    [
        pytest.param(None, [], None, id="nothing is known: the newest"),
        pytest.param("2020-01-01", [cited("2026-11-01", "Sun, 04 Mar 2018 05:06:07 GMT")], "2020-01-01", id="it worked"),
        pytest.param(None, [cited("2026-11-01", "Sun, 04 Mar 2018 05:06:07 GMT")], "2018-03-04", id="as the server states"),
        pytest.param(None, [cited("2026-11-01", "soon"), cited("2025-02-03")], "2025-02-03", id="the oldest that was fetched"),
        pytest.param(None, [("2025-02-03T00:00:00.000+00:00", [])], "2025-02-03", id="a file"),
    ],
)  # fmt: skip
def test_capture_is_asked_for_the_day_of_the_last_success_or_of_the_document(
    worked: str | None, documents: list[tuple[str, list[Hop]]], wanted: str | None
) -> None:
    worked_at = None if worked is None else datetime.fromisoformat(f"{worked}T00:00:00+00:00")
    capture = wanted_capture(ARK, URL, worked_at=worked_at, documents=documents)
    assert (capture.wanted_at and f"{capture.wanted_at:%Y-%m-%d}") == wanted
    assert bool(capture.headers) == (wanted is not None)


@pytest.mark.parametrize(
    ("outcome", "days", "worked_days", "due"),
    [
        pytest.param("captured", 29, None, False, id="an answer holds for thirty days"),
        pytest.param("no-capture", 31, None, True, id="and not for longer"),
        pytest.param("no-answer", 0, None, True, id="no answer holds for nothing"),
        pytest.param("captured", 10, 5, True, id="a URL that has worked since is asked for again"),
        pytest.param("captured", 10, 15, False, id="a URL that worked before is not"),
    ],
)
def test_an_archive_is_asked_again_when_its_answer_is_old(
    outcome: str, days: int, worked_days: int | None, due: bool
) -> None:
    worked_at = None if worked_days is None else NOW - timedelta(days=worked_days)
    asked_at = NOW - timedelta(days=days)
    assert may_ask_again(MementoOutcome(outcome), asked_at, now=NOW, max_age_s=30 * 86_400, worked_at=worked_at) is due
