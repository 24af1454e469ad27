"""Archived copies by the Memento protocol: the searches, decided from the answers of archives."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.mementos import (
    MOST_CAPTURES,
    ArchiveAnswer,
    ArchiveAsk,
    CaptureWish,
    MementoOutcome,
    MementoRecord,
    capture_search,
    capture_wish,
    may_search_again,
    memento_links,
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


def answer_in(asked: str, chain: list[dict[str, Any]]) -> ArchiveAnswer:
    hops, end, detail = [], ChainEnd.ANSWERED, ""
    for told in chain:
        headers = {
            name: in_full(told[key])
            for name, key in (("Memento-Datetime", "captured"), ("Link", "link"), ("Content-Location", "location"))
            if key in told
        }
        location = in_full(told["to"]) if "to" in told else None
        url = in_full(told.get("url", asked))
        hops.append(Hop(url, "GET", "2026-11-23T00:00:00+00:00", told.get("status", 200), location, headers=headers))
        end, detail = ChainEnd(told.get("end", "answered")), told.get("detail", "")
    return ArchiveAnswer(tuple(hops), end, detail, in_full(chain[-1].get("text", "")), chain[-1].get("fault"))


@pytest.mark.parametrize("vector", vectors("mementos"))
def test_an_archive_is_understood(vector: dict[str, Any]) -> None:
    worked_at = datetime.fromisoformat(vector["worked_at"]) if "worked_at" in vector else None
    search = capture_search(CaptureWish(ARK, URL, tuple(vector["originals"]), worked_at), f"{GATE}/")
    archive = {in_full(url): chain for url, chain in vector["archive"].items()}
    ask, asked = next(search), []
    while True:
        asked.append(ask.url)
        try:
            ask = search.send(answer_in(ask.url, archive[ask.url]))
        except StopIteration as over:
            record: MementoRecord = over.value
            break
    assert (record.outcome.value, len(record.hops)) == (vector["outcome"], sum(len(archive[url]) for url in asked))
    for name in ("reason", "memento_at", "original_url"):
        assert getattr(record, name) == vector.get(name, getattr(record, name))
    assert record.memento_url == (in_full(vector["memento_url"]) if "memento_url" in vector else None)
    assert list(record.evidence) == vector.get("evidence", list(record.evidence))
    assert asked == [in_full(url) for url in vector.get("asked", asked)]


class Archive:
    """Captures of one URL, one each day, the first ones good: a TimeGate, and a list of them."""

    def __init__(self, good: int, bad: int) -> None:
        self._days = [NOW - timedelta(days=good + bad - number) for number in range(good + bad)]
        self._good = good
        self.looked_at: list[int] = []

    def answer(self, ask: ArchiveAsk) -> ArchiveAnswer:
        if ask.wants_list:
            lines = (self._link(number) for number in range(len(self._days)))
            return self._answered(ask.url, {}, ",\n".join(lines))
        if ask.url == f"{GATE}/{URL}":
            wanted = ask.accept_datetime or self._days[-1]
            number = min(range(len(self._days)), key=lambda each: abs(self._days[each] - wanted))
        else:
            number = int(ask.url.rpartition("/")[2])
        self.looked_at.append(number)
        headers = {
            "Memento-Datetime": format_datetime(self._days[number], usegmt=True),
            "Link": f'{self._link(number)}, <{GATE}/map>; rel="timemap"',
            "Content-Location": f"{GATE}/{number}",
        }
        return self._answered(ask.url, headers, status=200 if number < self._good else 404)

    def _link(self, number: int) -> str:
        moment = format_datetime(self._days[number], usegmt=True)
        return f'<{GATE}/{number}>; rel="memento"; datetime="{moment}"'

    @staticmethod
    def _answered(url: str, headers: dict[str, str], text: str = "", status: int = 200) -> ArchiveAnswer:
        hop = Hop(url, "GET", "2026-11-23T00:00:00+00:00", status, headers=headers)
        return ArchiveAnswer((hop,), ChainEnd.ANSWERED, text=text)


@given(good=st.integers(0, 40), bad=st.integers(0, 23), worked_days=st.none() | st.integers(0, 70))
def test_the_last_good_capture_is_found_by_looking_at_few(good: int, bad: int, worked_days: int | None) -> None:
    if not good + bad:
        return
    archive = Archive(good, bad)
    worked_at = None if worked_days is None else NOW - timedelta(days=worked_days, hours=-1)
    search = capture_search(CaptureWish(ARK, URL, (URL,), worked_at), f"{GATE}/")
    ask = next(search)
    while True:
        try:
            ask = search.send(archive.answer(ask))
        except StopIteration as over:
            record: MementoRecord = over.value
            break
    in_time = [number for number in range(good) if worked_days is None or good + bad - number >= worked_days]
    best = max(in_time, default=None)
    assert len(set(archive.looked_at)) <= MOST_CAPTURES + 1
    if best is not None and len(archive.looked_at) <= MOST_CAPTURES:
        assert record.memento_url == f"{GATE}/{best}"
    elif not good:
        assert record.outcome is MementoOutcome.NO_CAPTURE
    assert record.memento_url is None or int(record.memento_url.rpartition("/")[2]) < good


@given(st.text(), st.text(max_size=30))
def test_any_text_can_be_links(text: str, other: str) -> None:
    memento_links(f'<{text}>; rel="memento"; datetime="{other}", {text}', f"{GATE}/")


# -- URLs to search for


@pytest.mark.parametrize(
    ("known", "originals"),
    [
        pytest.param({}, (URL,), id="the requested URL of a first failure"),
        pytest.param(
            {"good_url": "http://lib.example/item/7", "led_to": "http://new.example/x5"},
            ("http://lib.example/item/7", "http://new.example/x5", URL),
            id="where it led when it worked comes first",
        ),
        pytest.param(
            {"led_to": "http://lib.example/404"}, (URL,), id="a page for all that is missing is not the object"
        ),
        pytest.param({"led_to": URL}, (URL,), id="each address once"),
    ],
)
def test_captures_are_searched_by_known_addresses(known: dict[str, str], originals: tuple[str, ...]) -> None:
    assert capture_wish(ARK, URL, **known).originals == originals


@pytest.mark.parametrize(
    ("outcome", "days", "worked_days", "due"),
    [
        pytest.param("captured", 29, None, False, id="an answer holds for thirty days"),
        pytest.param("no-capture", 31, None, True, id="and not for longer"),
        pytest.param("not-told", 0, None, True, id="no answer holds for nothing"),
        pytest.param("captured", 10, 5, True, id="a URL that has worked since is searched again"),
        pytest.param("captured", 10, 15, False, id="a URL that worked before is not"),
    ],
)
def test_an_archive_is_asked_again_when_its_answer_is_old(
    outcome: str, days: int, worked_days: int | None, due: bool
) -> None:
    worked_at = None if worked_days is None else NOW - timedelta(days=worked_days)
    asked_at = NOW - timedelta(days=days)
    assert (
        may_search_again(MementoOutcome(outcome), asked_at, now=NOW, max_age_s=30 * 86_400, worked_at=worked_at) is due
    )
