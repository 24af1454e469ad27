"""The frontier: pending requests of a run are recorded once, in the order of their discovery."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from crawler.model.crawl_requests import CrawlRequest, FrontierState, RequestKind
from crawler.model.observations import DocumentOutcome, DocumentRecord
from crawler.store import StoreUnwritable
from crawler.store.frontier import ARKS, DOCUMENTS, Frontier, SettledEntry
from crawler.store.store import Store
from extractors.model.ark import Ark

AT = "2026-11-21T00:00:00.000+00:00"
SITE = "https://library.example"


def page_requests(urls: Iterable[str], *, depth: int, found_on: str | None) -> Iterator[CrawlRequest]:
    """Return the requests for *urls*, in their order, once each; texts that are no URL give no request."""
    keys: set[str] = set()
    for url in urls:
        try:
            crawl_request = CrawlRequest.to_page(url, depth=depth, found_on=found_on)
        except ValueError:
            continue
        if crawl_request.canonical not in keys:
            keys.add(crawl_request.canonical)
            yield crawl_request


def begin_run(store: Store) -> int:
    return store.begin_run(command="run", at=AT, version="0", resolver="https://n2t.net/", user_agent="t", seeds=["a"])


def pages(*paths: str, host: str = "library.example") -> list[CrawlRequest]:
    return [CrawlRequest.to_page(f"https://{host}/{path}") for path in paths]


def record_of(crawl_request: CrawlRequest, new_requests: tuple[CrawlRequest, ...]) -> DocumentRecord:
    """Return the record of a document that was read and leads to new requests."""
    url, settles = crawl_request.url, crawl_request.canonical
    return DocumentRecord(url, None, AT, DocumentOutcome.READ, new_requests=new_requests, settles=settles)


def urls(frontier: Frontier, host: str = "library.example", *, most: int = 100) -> list[str]:
    return [entry.crawl_request.url for entry in frontier.claim({host: most})]


def test_entries_are_claimed_once_in_order_of_discovery() -> None:
    with Store.open(None) as store:
        frontier = Frontier(store, begin_run(store), DOCUMENTS)
        frontier.add(pages("c", "a", "b"))
        assert urls(frontier, most=2) == [f"{SITE}/c", f"{SITE}/a"]
        assert urls(frontier) == [f"{SITE}/b"]
        assert urls(frontier) == []


def test_urls_are_the_same_by_their_canonical_form_and_are_sent_as_they_were_found_first() -> None:
    with Store.open(None) as store:
        frontier = Frontier(store, begin_run(store), DOCUMENTS)
        frontier.add(pages("%7eada?b=2&a=1"))
        frontier.add(pages("~ada?a=1&b=2", "ada"))
        assert urls(frontier) == [f"{SITE}/%7eada?b=2&a=1", f"{SITE}/ada"]


def test_each_octet_of_an_arks_url_counts() -> None:
    new_requests = [
        CrawlRequest.to_ark(Ark("12x45", "x5"), f"{SITE}/ark:/12x45/x5{query}")
        for query in ("", "?b=1&a=2", "?a=2&b=1")
    ]
    with Store.open(None) as store:
        frontier = Frontier(store, begin_run(store), ARKS)
        frontier.add(new_requests)
        assert list(frontier.requests()) == new_requests
        assert [entry.crawl_request for entry in frontier.claim({"library.example": 9})] == new_requests


def test_runs_and_spiders_have_each_their_own() -> None:
    with Store.open(None) as store:
        first, second = begin_run(store), begin_run(store)
        for of in (Frontier(store, first, DOCUMENTS), Frontier(store, first, ARKS), Frontier(store, second, DOCUMENTS)):
            of.add(pages("a"))
            assert urls(of) == [f"{SITE}/a"]


def test_links_and_completion_are_recorded_with_the_document() -> None:
    with Store.open(None) as store:
        run_id = begin_run(store)
        frontier = Frontier(store, run_id, DOCUMENTS)
        [seed] = pages("")
        frontier.add([seed])
        frontier.claim({"library.example": 1})
        new_requests = tuple(page_requests([f"{SITE}/b", f"{SITE}/a", f"{SITE}/b#x"], depth=1, found_on=seed.url))
        store.record(run_id, [record_of(seed, new_requests)])
        assert frontier.counts() == {FrontierState.WAITING: 2, FrontierState.CLAIMED: 0, FrontierState.DONE: 1}
        found = frontier.claim({"library.example": 9})
    assert [(each.crawl_request.url, each.crawl_request.depth, each.crawl_request.found_on) for each in found] == [
        (f"{SITE}/b", 1, seed.url),
        (f"{SITE}/a", 1, seed.url),
    ]


def test_when_a_document_can_not_be_recorded_nothing_of_it_is(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        frontier = Frontier(store, run_id, DOCUMENTS)
        [seed] = pages("")
        frontier.add([seed])
        frontier.claim({"library.example": 1})
        with store.transaction() as connection:
            count = connection.exec_driver_sql("pragma page_count").scalar_one()
        store._engine.raw_connection().execute(f"pragma max_page_count={count + 2}")
        new_requests = tuple(page_requests((f"{SITE}/{n}" for n in range(1000)), depth=1, found_on=seed.url))
        with pytest.raises(StoreUnwritable, match="full"):
            store.record(run_id, [record_of(seed, new_requests)])
        assert frontier.counts() == {FrontierState.WAITING: 0, FrontierState.CLAIMED: 1, FrontierState.DONE: 0}
        assert store.counts(run_id)["documents"] == 0


def test_claimed_entries_are_known_after_a_crash(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        frontier = Frontier(store, run_id, DOCUMENTS)
        frontier.add(pages("a", "b", "c"))
        frontier.claim({"library.example": 2})
        store.record(run_id, [SettledEntry(DOCUMENTS, f"{SITE}/a")])
    with Store.open(tmp_path / "a.db") as store:
        frontier = Frontier(store, run_id, DOCUMENTS)
        assert [(entry.crawl_request.url, entry.attempts) for entry in frontier.claim_again()] == [(f"{SITE}/b", 2)]
        assert urls(frontier) == [f"{SITE}/c"]


def test_where_redirects_lead_is_theirs_unless_it_was_found_before_or_is_asked_for(tmp_path: Path) -> None:
    before, way, after, new = pages("before", "way", "after", "new")
    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        frontier = Frontier(store, run_id, DOCUMENTS)
        frontier.add([before, way, after])
        assert [frontier.claim_redirect_target(crawl_request) for crawl_request in (before, after, new, new)] == [
            False, False, True, False,
        ]  # fmt: skip
        states = (FrontierState.WAITING, FrontierState.CLAIMED)
        assert [frontier.take_over(before, state, by=way) for state in states] == [False, False], "found before"
        assert [frontier.take_over(new, state, by=way) for state in states] == [False, False], "they are there already"
        assert frontier.take_over(after, FrontierState.WAITING, by=way)
        assert urls(frontier) == [f"{SITE}/before", f"{SITE}/way"]
        assert frontier.handed_out_count() == 2
        assert frontier.take_over(way, FrontierState.CLAIMED, by=before)
    with Store.open(tmp_path / "a.db") as store:
        frontier = Frontier(store, run_id, DOCUMENTS)
        assert [entry.crawl_request.url for entry in frontier.claim_again()] == [f"{SITE}/before"]
        assert urls(frontier) == [f"{SITE}/way", f"{SITE}/after", f"{SITE}/new"], "after a crash they wait again"


def test_hosts_come_in_order_of_discovery() -> None:
    with Store.open(None) as store:
        frontier = Frontier(store, begin_run(store), DOCUMENTS)
        frontier.add(
            [*pages("a", host="b.example"), *pages("a", "b", host="a.example"), CrawlRequest.to_file("thesis.pdf")]
        )
        assert frontier.hosts() == ["b.example", "a.example", ""]
        frontier.claim({"b.example": 1})
        assert frontier.hosts() == ["a.example", ""]
        assert frontier.claim({"": 1})[0].crawl_request.kind is RequestKind.FILE


def test_claiming_looks_at_no_more_rows_than_it_takes() -> None:
    statements: list[tuple[str, Any]] = []
    with Store.open(None) as store:
        frontier = Frontier(store, begin_run(store), DOCUMENTS)
        frontier.add(pages("a"))
        event.listen(store._engine, "before_cursor_execute", lambda *told: statements.append((told[2], told[3])))
        frontier.claim({"library.example": 5})
        [(sql, values)] = statements
        with store.read_connection() as connection:
            steps = [row[3] for row in connection.exec_driver_sql(f"explain query plan {sql}", values)]
    assert any("frontier_waiting (run_id=? AND spider=? AND host=?)" in step for step in steps), steps
    assert not any(step.startswith("SCAN") for step in steps), steps
