"""Waiting entries are handed out in bounded parts, hosts in turn, until every entry has its outcome."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import CrawlRequest, FrontierState
from crawler.model.observations import DocumentOutcome, DocumentRecord
from crawler.store import StoreUnwritable
from crawler.store.feeding import Bounds, Feed, Recorder, Rotation
from crawler.store.frontier import DOCUMENTS, Frontier, FrontierEntry, SettledEntry
from crawler.store.store import Store
from tests.unit.crawler.test_frontier import AT, begin_run, record_of

#: Fates of an entry that was handed out.
Work = Callable[["Crawl", FrontierEntry], Awaitable[None]]


class Crawl:
    """A feed, and workers that process its entries."""

    def __init__(self, store: Store, bounds: Bounds, run_id: int | None = None) -> None:
        self.run_id = begin_run(store) if run_id is None else run_id
        self.frontier = Frontier(store, self.run_id, DOCUMENTS)
        self.failures: list[StoreUnwritable] = []
        self.recorder = Recorder(store, self.run_id, on_failure=self.failures.append)
        self.feed = Feed(self.frontier, self.recorder, bounds, is_idle=lambda: not self.busy, on_lost=self.lose)
        self.busy: set[asyncio.Task[None]] = set()
        self.order: list[str] = []
        self.lost: list[str] = []
        self.most_in_hand = self.most_waiting = self.most_hosts = 0

    def lose(self, entry: FrontierEntry) -> None:
        self.lost.append(entry.crawl_request.url)
        self.settle(entry)

    def settle(self, entry: FrontierEntry, new_requests: Iterable[CrawlRequest] = ()) -> None:
        self.recorder.add(record_of(entry.crawl_request, tuple(new_requests)))
        self.feed.note_outcome(entry.crawl_request.canonical)

    async def run(self, work: Work) -> None:
        async for entry in self.feed.entries():
            self.order.append(entry.crawl_request.url)
            task = asyncio.ensure_future(work(self, entry))
            self.busy.add(task)
            task.add_done_callback(self.busy.discard)
            self.most_in_hand = max(self.most_in_hand, len(self.feed._in_hand))
            self.most_waiting = max(self.most_waiting, len(self.feed._rotation))
            self.most_hosts = max(self.most_hosts, self.feed._rotation.hosts)
        self.recorder.commit()


def run_crawl(store: Store, work: Work, new_requests: Iterable[CrawlRequest], bounds: Bounds | None = None) -> Crawl:
    crawl = Crawl(store, bounds or Bounds())
    crawl.frontier.add(new_requests)
    asyncio.run(crawl.run(work))
    return crawl


def page(host: str, path: str | int) -> CrawlRequest:
    return CrawlRequest.to_page(f"http://{host}/{path}")


async def answer(crawl: Crawl, entry: FrontierEntry) -> None:
    await asyncio.sleep(0)
    crawl.settle(entry)


# -- whose turn it is


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60), st.integers(1, 3))
def test_hosts_take_turns_within_their_limits(steps: list[tuple[str, bool]], per_host: int) -> None:
    rotation: Rotation[int] = Rotation(per_host)
    waiting: dict[str, list[int]] = {host: [] for host in "abcd"}
    out: Counter[str] = Counter()
    for number, (host, is_put) in enumerate(steps):
        if is_put:
            rotation.put(host, [number])
            waiting[host].append(number)
        elif out[host]:
            rotation.give_back(host)
            out[host] -= 1
        else:
            found = rotation.take()
            may_go = [each for each in waiting if waiting[each] and out[each] < per_host]
            assert (found is None) == (not may_go)
            if found is not None:
                assert found[0] in may_go
                assert found[1] == waiting[found[0]].pop(0), "in the order of arrival"
                out[found[0]] += 1
        assert len(rotation) == sum(map(len, waiting.values()))
        assert rotation.hosts == sum(map(bool, waiting.values()))


# -- entries handed out


def test_entries_and_their_links_are_handed_out_once() -> None:
    async def work(crawl: Crawl, entry: FrontierEntry) -> None:
        await asyncio.sleep(0)
        number = int(entry.crawl_request.url.rpartition("/")[2])
        crawl.settle(entry, [page(f"h{each % 7}.example", each) for each in (2 * number, 2 * number + 1) if each < 200])

    with Store.open(None) as store:
        crawl = run_crawl(store, work, [page("h1.example", 1)])
        assert sorted(int(url.rpartition("/")[2]) for url in crawl.order) == list(range(1, 200))
        assert crawl.frontier.counts() == {FrontierState.WAITING: 0, FrontierState.CLAIMED: 0, FrontierState.DONE: 199}
        assert not crawl.lost


def test_a_big_host_does_not_hold_up_the_others() -> None:
    new_requests = [
        *(page("big.example", number) for number in range(500)),
        *(page(f"s{each}.example", 0) for each in range(9)),
    ]
    with Store.open(None) as store:
        crawl = run_crawl(store, answer, new_requests)
    first = [url.split("/")[2] for url in crawl.order[:20]]
    assert {f"s{each}.example" for each in range(9)} <= set(first)


def test_of_a_host_that_does_not_answer_only_a_few_entries_are_out() -> None:
    async def work(crawl: Crawl, entry: FrontierEntry) -> None:
        if entry.crawl_request.host == "slow.example":
            while any(
                crawl_request.host == "quick.example"
                for crawl_request in (each.crawl_request for each in crawl.feed._in_hand.values())
            ):
                await asyncio.sleep(0.01)
            out.append(sum(each.crawl_request.host == "slow.example" for each in crawl.feed._in_hand.values()))
        crawl.settle(entry)

    out: list[int] = []
    new_requests = [page(host, number) for number in range(40) for host in ("slow.example", "quick.example")]
    with Store.open(None) as store:
        run_crawl(store, work, new_requests, Bounds(per_host=3))
    assert max(out) <= 3


@pytest.mark.parametrize("hosts", [1, 30, 300])
def test_memory_is_bounded_and_the_rest_waits_in_the_store(hosts: int) -> None:
    bounds = Bounds(in_hand=50, per_host=4, waiting=100, hosts=20, share=40, least_share=4)
    new_requests = [page(f"h{number % hosts}.example", number) for number in range(1500)]
    with Store.open(None) as store:
        crawl = run_crawl(store, answer, new_requests, bounds)
    assert len(crawl.order) == 1500
    assert crawl.most_in_hand <= 50
    assert crawl.most_waiting <= 100
    assert crawl.most_hosts <= 20


@pytest.mark.parametrize("hosts", [1, 3, 50])
def test_limit_holds_for_any_number_of_hosts_without_files(hosts: int) -> None:
    new_requests = [page(f"h{number % hosts}.example", number) for number in range(100)]
    files = [CrawlRequest.to_file(f"{number}.pdf") for number in range(5)]
    with Store.open(None) as store:
        crawl = run_crawl(store, answer, [*new_requests, *files], Bounds(most=20))
        assert len([url for url in crawl.order if url.startswith("http")]) == 20
        assert len([url for url in crawl.order if url.endswith(".pdf")]) == 5
        assert crawl.feed.is_full
        assert crawl.frontier.counts() == {FrontierState.WAITING: 80, FrontierState.CLAIMED: 0, FrontierState.DONE: 20}


def test_with_a_limit_on_one_host_pages_are_fetched_in_the_order_of_their_discovery() -> None:
    with Store.open(None) as store:
        crawl = run_crawl(store, answer, [page("h.example", number) for number in range(30)], Bounds(most=7))
    assert crawl.order == [f"http://h.example/{number}" for number in range(7)]


# -- failures


def test_lost_entries_are_settled_and_the_crawl_ends() -> None:
    async def work(crawl: Crawl, entry: FrontierEntry) -> None:
        if not entry.crawl_request.url.endswith("3"):
            crawl.settle(entry)

    with Store.open(None) as store:
        crawl = run_crawl(store, work, [page("h.example", number) for number in range(6)])
        assert crawl.lost == ["http://h.example/3"]
        assert crawl.frontier.counts()[FrontierState.DONE] == 6


def test_entries_in_flight_come_first_after_a_crash(tmp_path: Path) -> None:
    done: set[str] = set()

    async def work(crawl: Crawl, entry: FrontierEntry) -> None:
        if len(crawl.order) >= 50:
            crawl.feed.stop()
        if not entry.crawl_request.url.endswith("1"):
            done.add(entry.crawl_request.url)
            crawl.settle(entry)

    with Store.open(tmp_path / "a.db") as store:
        crawl = Crawl(store, Bounds(per_host=9))
        crawl.frontier.add(page("h.example", number) for number in range(600))
        asyncio.run(crawl.run(work))
        in_hand = [url for url in crawl.order if url not in done]
        assert len(in_hand) >= 5
    with Store.open(tmp_path / "a.db") as store:
        again = Crawl(store, Bounds(), run_id=crawl.run_id)
        asyncio.run(again.run(answer))
        assert again.order[: len(in_hand)] == in_hand
        assert len(again.order) == 600 - len(done)
        assert not done & set(again.order)
        assert again.frontier.counts()[FrontierState.DONE] == 600


def test_a_store_that_fills_up_ends_the_feed(tmp_path: Path) -> None:
    async def work(crawl: Crawl, entry: FrontierEntry) -> None:
        crawl.settle(entry, [page("h.example", f"{entry.entry_id}/{number}/{'x' * 500}") for number in range(20)])

    async def main(crawl: Crawl) -> None:
        try:
            await crawl.run(work)
        except StoreUnwritable as failure:
            crawl.failures.append(failure)

    with Store.open(tmp_path / "a.db") as store:
        crawl = Crawl(store, Bounds())
        crawl.frontier.add([page("h.example", "")])
        with store.transaction() as connection:
            count = connection.exec_driver_sql("pragma page_count").scalar_one()
            connection.exec_driver_sql(f"pragma max_page_count={count + 30}")
        crawl.recorder._on_failure = lambda failure: (crawl.failures.append(failure), crawl.feed.stop())[0]
        asyncio.run(main(crawl))
        assert "full" in str(crawl.failures[0])


# -- groups of records


def test_records_are_committed_within_a_moment_and_in_their_order(tmp_path: Path) -> None:
    async def main(store: Store, run_id: int) -> list[int]:
        recorder = Recorder(store, run_id, on_failure=lambda failure: None)
        seen = []
        recorder.on_commit = lambda items: seen.append(len(items))
        for number in range(130):
            recorder.add(DocumentRecord(f"http://h.example/{number}", None, AT, DocumentOutcome.READ))
        assert seen == [100], "a hundred are enough"
        await asyncio.sleep(0.3)
        assert seen == [100, 30]
        recorder.add(SettledEntry(DOCUMENTS, "x"), SettledEntry(DOCUMENTS, "y"))
        assert recorder.commit()
        assert not recorder.commit()
        return seen

    with Store.open(tmp_path / "a.db") as store:
        run_id = begin_run(store)
        assert asyncio.run(main(store, run_id)) == [100, 30, 2]
        with store.read_connection() as connection:
            urls = connection.exec_driver_sql("select url from document order by document_id").scalars().all()
        assert urls == [f"http://h.example/{number}" for number in range(130)]


def test_records_that_no_store_can_keep_end_the_run_rather_than_be_lost_in_silence(tmp_path: Path) -> None:
    failures: list[StoreUnwritable] = []

    async def main(store: Store, run_id: int) -> None:
        recorder = Recorder(store, run_id, on_failure=failures.append)
        recorder.add(DocumentRecord("http://h.example/\ud800", None, AT, DocumentOutcome.READ))
        await asyncio.sleep(0.4)
        recorder.add(DocumentRecord("http://h.example/", None, AT, DocumentOutcome.READ))
        assert not recorder.commit(), "and nothing is recorded behind them"

    with Store.open(tmp_path / "a.db") as store:
        asyncio.run(main(store, begin_run(store)))
        with store.read_connection() as connection:
            assert connection.exec_driver_sql("select count(*) from document").scalar_one() == 0
    (failure,) = failures
    assert "can't be kept: UnicodeEncodeError" in str(failure)
