"""The finder of a document follows from the links between documents, not from the order of answers."""

import random
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import CrawlRequest, Outlinks, document_key
from crawler.model.observations import DocumentOutcome, DocumentRecord
from crawler.sources.source_reading import finders
from crawler.store.frontier import DOCUMENTS, Frontier
from crawler.store.store import Store
from tests.interrupted import Command, counts
from tests.library import Page, Web, record, records, sitemap
from tests.loopback import ON_LOOPBACK, select
from tests.test_frontier import AT, begin_run
from tests.test_redirected import links_to, to
from tests.waiting import PATIENCE_S, wait_until

WWW, MAPS = "w.example", "m.example"
HOME, MAP = f"http://{WWW}/", f"http://{MAPS}/map.xml"
ROBOTS = {WWW: f"Sitemap: {MAP}\n"}
FINDERS = "select url, found_on from document"


# -- the rule

Graph = Mapping[int, Sequence[int]]


def found_in(seeds: Sequence[int], links: Graph, redirects: Mapping[int, int] | None = None) -> dict[int, int | None]:
    """Return the finder of each document, by numbers instead of keys and URLs."""
    keys = {document_key(str(each)): each for each in links}
    by_number = {number: key for key, number in keys.items()}
    led_to = {key: by_number.get((redirects or {}).get(number, -1)) for key, number in keys.items()}
    stored = {
        by_number[number]: [Outlinks.to(str(number), b"".join(document_key(str(each)) for each in targets))]
        for number, targets in links.items()
    }
    found = finders(
        [document_key(str(each)) for each in seeds], led_to, lambda asked: {each: stored[each] for each in asked}
    )
    return {keys[key]: None if finder is None else int(finder) for key, finder in found.items()}


GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.fixed_dictionaries(
        {number: st.lists(st.integers(0, size + 2), max_size=6) for number in range(size)}
    )
)


def distances(seeds: Sequence[int], links: Graph) -> dict[int, int]:
    """Return the length of the shortest path from a seed to each document, by repetition until nothing changes."""
    far = dict.fromkeys((each for each in seeds if each in links), 0)
    for _ in links:
        for number, targets in links.items():
            for target in targets:
                if number in far and target in links:
                    far[target] = min(far.get(target, len(links)), far[number] + 1)
    return far


@given(GRAPHS, st.data())
def test_finder_is_the_first_document_on_a_shortest_path(links: dict[int, list[int]], data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.sampled_from(sorted(links)), min_size=1, max_size=3, unique=True))
    found, far = found_in(seeds, links), distances(seeds, links)
    assert set(found) == set(far)
    order = list(found)  # the order of their discovery
    for number, finder in found.items():
        nearest = [each for each in order if number in links[each] and far[each] + 1 == far[number]]
        assert finder == (None if number in seeds else nearest[0])


@given(GRAPHS, st.randoms(use_true_random=False))
def test_order_of_records_does_not_change_finders(links: dict[int, list[int]], chance: random.Random) -> None:
    shuffled = list(links)
    chance.shuffle(shuffled)
    assert found_in([0], {number: links[number] for number in shuffled}) == found_in([0], links)


def test_of_documents_that_are_as_near_the_one_that_was_found_first_counts() -> None:
    links = {0: [2, 1], 1: [3], 2: [3, 4], 3: [], 4: [3]}
    assert found_in([0], links) == {0: None, 2: 0, 1: 0, 3: 2, 4: 2}
    assert found_in([1, 2], links) == {1: None, 2: None, 3: 1, 4: 2}


def test_target_of_redirects_has_the_finder_of_the_first_redirect() -> None:
    links: Graph = {0: [1, 2], 1: [3], 2: [4], 3: [], 4: [], 5: [6], 6: []}
    assert found_in([0], links, {3: 5, 4: 5}) == {0: None, 1: 0, 2: 0, 3: 1, 5: 1, 4: 2, 6: 5}
    assert found_in([3, 0], links, {3: 5, 4: 5})[5] is None, "a seed that leads there"


def test_documents_that_lead_to_each_other_by_redirects_are_found_once() -> None:
    assert found_in([0], {0: [1], 1: [], 2: []}, {1: 2, 2: 1}) == {0: None, 1: 0, 2: 0}


def test_document_without_recorded_path_keeps_its_finder() -> None:
    with Store.open(None) as store:
        run_id = begin_run(store)
        Frontier(store, run_id, DOCUMENTS).add([CrawlRequest.to_page(HOME)])
        store.record(run_id, [DocumentRecord(f"{HOME}x", f"{HOME}y", AT, DocumentOutcome.READ, settles=f"{HOME}x")])
        store.note_finders(run_id)
        with store.read_connection() as connection:
            assert connection.exec_driver_sql(FINDERS).all() == [(f"{HOME}x", f"{HOME}y")]


LINKING = {"": ("a", "b"), "a": ("c", "b"), "b": ("c", "d"), "c": ("d",), "d": ("",)}


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c", "d"])))
def test_finders_in_the_store_do_not_depend_on_order(order: tuple[str, ...]) -> None:
    def document_record(name: str) -> DocumentRecord:
        targets = b"".join(document_key(f"{HOME}{each}") for each in LINKING[name])
        finder = None if name == "" else "whoever came first"
        links = (Outlinks.to(f"{HOME}{name}", targets),)
        return DocumentRecord(
            f"{HOME}{name}", finder, AT, DocumentOutcome.READ, settles=f"{HOME}{name}", outlinks=links
        )

    with Store.open(None) as store:
        run_id = begin_run(store)
        Frontier(store, run_id, DOCUMENTS).add([CrawlRequest.to_page(HOME)])
        for name in ("", *order):
            store.record(run_id, [document_record(name)])
        store.note_finders(run_id)
        with store.read_connection() as connection:
            found = {url.removeprefix(HOME): finder for url, finder in connection.exec_driver_sql(FINDERS)}
    assert found == {"": None, "a": HOME, "b": HOME, "c": f"{HOME}a", "d": f"{HOME}b"}


# -- crawls whose answers come in one order or another

#: A page that home and the site map name, one that a page and the map name, and one behind redirects of both.
PAGES: dict[str, Page] = {
    "/": links_to("/p", "/way"), "/p": links_to("/q", "/end"), "/way": links_to("/old"), "/old": to("/new"),
    "/q": links_to("/z") + "ark:/12148/q1", "/z": "ark:/12148/z1", "/new": links_to("/y"), "/y": "ark:/12148/y1",
    "/r": links_to("/z"), "/end": "ark:/12148/e1",
}  # fmt: skip
LISTED = sitemap(*(f"{HOME}{name}" for name in ("p", "q", "r", "old")))
FOUND_ON = {
    "": None, "p": HOME, "way": HOME, "q": f"{HOME}p", "end": f"{HOME}p", "old": f"{HOME}way", "new": f"{HOME}way",
    "r": MAP, "z": f"{HOME}q", "y": f"{HOME}new",
}  # fmt: skip


class HeldBack:
    """Pages of both hosts; the answer to *late* waits until all of *until* have been requested."""

    def __init__(self, late: str, *until: str) -> None:
        self.late = late
        self._missing = set(until)
        self.asked = threading.Event()

    def of(self, pages: dict[str, Page]) -> Callable[[str], Page]:
        def find(target: str) -> Page:
            self._missing.discard(target)
            if not self._missing:
                self.asked.set()
            if target == self.late:
                self.asked.wait(PATIENCE_S)
            return pages.get(target)

        return find


def four_at_a_time(folder: Path) -> Path:
    """Return a configuration by which one answer that is held back delays no other."""
    (folder / "arkaudit.toml").write_text(f'[hosts."{WWW}"]\ninterval = 0\nconcurrency = 4\n')
    return folder / "arkaudit.toml"


def found_on(store: Path) -> dict[str, object]:
    return {str(url).removeprefix(HOME): finder for url, finder in select(store, FINDERS) if str(url).startswith(HOME)}


@pytest.mark.parametrize(
    "held", [("/map.xml", "/z", "/y", "/end"), ("/p", "/r"), ("/way", "/z", "/new")], ids=["map", "page", "way"]
)
def test_it_makes_no_difference_whether_a_page_or_a_sitemap_is_answered_last(
    tmp_path: Path, held: tuple[str, ...]
) -> None:
    late = HeldBack(*held)
    with Web({WWW: late.of(PAGES), MAPS: late.of({"/map.xml": LISTED})}, robots=ROBOTS) as web:
        web.crawl("-c", four_at_a_time(tmp_path), HOME, store=tmp_path / "a.db")
    assert late.asked.is_set(), "the order was not the one that is meant"
    assert found_on(tmp_path / "a.db") == FOUND_ON


@pytest.mark.parametrize("late", ["a", "b"])
def test_a_record_of_two_harvests_was_found_in_the_one_that_was_named_first(tmp_path: Path, late: str) -> None:
    answers = HeldBack(f"/{late}?verb=ListRecords&metadataPrefix=oai_dc", "/item")
    listed = records(record("oai:r:1", f"{HOME}item", text="ark:/12148/r1"))
    pages: dict[str, Page] = {f"/{name}?verb=ListRecords&metadataPrefix=oai_dc": listed for name in "ab"}
    with Web({WWW: answers.of(pages | {"/item": "ark:/12148/i1"})}) as web:
        seeds = (f"oai:{HOME}a", f"oai:{HOME}b")
        web.crawl("-c", four_at_a_time(tmp_path), *seeds, store=tmp_path / "a.db")
    assert answers.asked.is_set()
    found = dict(select(tmp_path / "a.db", FINDERS))
    assert found["oai:r:1"] == f"{HOME}a?verb=ListRecords&metadataPrefix=oai_dc"
    assert found[f"{HOME}item"] == "oai:r:1"


# -- crawls that are killed

ALL = 12


def cross_linked(chance: random.Random) -> Callable[[str], Page]:
    """Pages that link to each other, are listed by a sitemap, and cite the same ARKs."""

    def find(target: str) -> Page:
        time.sleep(0.003)
        if target == "/map.xml":
            time.sleep(chance.uniform(0, 0.3))
            return sitemap(*(f"{HOME}p{number}" for number in range(ALL)), f"{HOME}old")
        if target == "/":
            return links_to(*(f"/p{number}" for number in range(0, ALL, 3)))
        if target.startswith("/p"):
            number = int(target[2:])
            others = [f"/p{(number * each) % ALL}" for each in (5, 7, 11)]
            return links_to(*others, f"/s{number // 4}", f"/p{(number + 1) % ALL}", "/old")
        if target == "/old":
            return to("/new")
        return f"ark:/12148/{target[1:]}" if target == "/new" or target.startswith("/s") else None

    return find


@pytest.mark.parametrize("seed", range(3))
def test_a_crawl_of_a_sitemap_and_pages_that_is_killed_finds_documents_where_an_undisturbed_one_does(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    find = cross_linked(chance)
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    last, released = 10**6, threading.Event()

    def held_at_last(target: str) -> Page:
        if len(web.targets(WWW)) >= last:
            released.wait(PATIENCE_S)
        return find(target)

    with Web({WWW: held_at_last, MAPS: find}, robots=ROBOTS) as web:
        web.crawl(HOME, store=whole)
        command = ["crawl", *ON_LOOPBACK, *web.routes, HOME, "--store", killed]
        for most in (6, 14):
            last = len(web.targets(WWW)) + chance.randint(1, most)
            with Command(command) as running:
                wait_until(lambda last=last: len(web.targets(WWW)) >= last, "the last request")  # type: ignore[misc]
                running.wait(chance.uniform(0, 0.1))
                running.kill()
                assert running.exit_code() == -signal.SIGKILL
            last = 10**6
            released.set()
            released.clear()
        with Command([*command, "--resume"]) as running:
            assert running.exit_code() == 0, running.errors
    assert dict(select(killed, FINDERS)) == dict(select(whole, FINDERS))
    assert counts(killed) == counts(whole)
