"""Who has found a document follows from a stated order of all who name it, and not from whose answer came first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from crawler.leads import Lead
from crawler.observations import DocumentRecord
from crawler.storage.frontier import Frontier
from crawler.storage.frontier_rows import DOCUMENTS
from crawler.storage.store import Store
from tests.interrupted import Command, tables
from tests.library import Page, Web, rows, sitemap
from tests.loopback import ON_LOOPBACK
from tests.test_frontier import AT, begun
from tests.test_redirected import assert_same, linking, to

WWW, MAPS = "w.example", "m.example"
HOME, MAP = f"http://{WWW}/", f"http://{MAPS}/map.xml"
#: A page that home and the site map name, one that a page and the map name, and one behind redirects of both.
PAGES: dict[str, Page] = {
    "/": linking("/p", "/way"), "/p": linking("/q", "/end"), "/way": linking("/old"), "/old": to("/new"),
    "/q": linking("/z") + "ark:/12148/q1", "/z": "ark:/12148/z1", "/new": linking("/y"), "/y": "ark:/12148/y1",
    "/r": "r", "/end": "ark:/12148/e1",
}  # fmt: skip
LISTED = sitemap(*(f"{HOME}{name}" for name in ("p", "q", "r", "old")))
FOUND_ON = {
    "": None, "p": MAP, "way": HOME, "q": MAP, "r": MAP, "old": MAP, "new": MAP, "end": f"{HOME}p", "y": f"{HOME}new",
    "z": f"{HOME}q",
}  # fmt: skip
FINDERS = "select url, found_on from document"
#: So long an answer that is held back waits for what it is held back for; a test that needs it has failed.
PATIENCE_S = 30


class HeldBack:
    """Pages of both hosts, of which one (*late*) is answered only when all of *until* have been asked for."""

    def __init__(self, late: str, *until: str) -> None:
        self.late = late
        self._missing = set(until)
        self.asked = threading.Event()
        self._free = threading.Event()

    def release(self) -> None:
        """Hold nothing back any more."""
        self._free.set()

    def of(self, pages: dict[str, Page]) -> Callable[[str], Page]:
        def find(target: str) -> Page:
            self._missing.discard(target)
            if not self._missing:
                self.asked.set()
            if target == self.late:
                (self.asked if self._until_asked else self._free).wait(PATIENCE_S)
            return pages.get(target)

        return find

    _until_asked = True


class HeldForKill(HeldBack):
    """As `HeldBack`, but answered only when it is released."""

    _until_asked = False


def web_of(held: HeldBack) -> Web:
    hosts = {WWW: held.of(PAGES), MAPS: held.of({"/map.xml": LISTED})}
    return Web(hosts, robots={WWW: f"Sitemap: {MAP}\n"})


def found_on(store: Path) -> dict[str, object]:
    return {str(url).removeprefix(HOME): finder for url, finder in rows(store, FINDERS) if str(url).startswith(HOME)}


@pytest.mark.parametrize("held", [("/map.xml", "/z", "/y", "/end"), ("/p", "/r")], ids=["map last", "map first"])
def test_it_makes_no_difference_whether_a_page_or_a_sitemap_is_answered_first(
    tmp_path: Path, held: tuple[str, ...]
) -> None:
    late = HeldBack(*held)
    with web_of(late) as web:
        web.crawl(HOME, store=tmp_path / "a.db")
    assert late.asked.is_set(), "the order was not the one that is meant"
    assert found_on(tmp_path / "a.db") == FOUND_ON


def test_a_crawl_that_is_killed_before_the_sitemap_is_answered_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    late = HeldForKill("/map.xml", "/map.xml", "/z", "/y", "/end")
    with web_of(late) as web:
        command = ["crawl", *ON_LOOPBACK, *web.routes, HOME, "--store", killed]
        with Command(command) as running:
            assert late.asked.wait(PATIENCE_S)
            running.kill()
        late.release()
        with Command(command) as running:
            assert running.exit_code() == 0, running.errors
        web.crawl(HOME, store=whole)
    assert found_on(killed) == found_on(whole) == FOUND_ON
    assert_same(tables(killed), tables(whole))


LEADS = [
    Lead.to_page(f"{HOME}x", depth=depth, part=part, found_on=finder)
    for depth, part, finder in ((1, 0, f"{HOME}b"), (1, 0, f"{HOME}c"), (1, 2, f"{HOME}a"), (2, 0, HOME))
]


@pytest.mark.parametrize("order", list(permutations(LEADS)))
def test_the_nearest_lead_is_kept_in_whatever_order_they_come(order: tuple[Lead, ...]) -> None:
    with Store.open(None) as store:
        run_id = begun(store)
        frontier = Frontier(store, run_id, DOCUMENTS)
        frontier.add(order[:1])
        document = DocumentRecord(f"{HOME}x", order[0].found_on, AT, "read", settles=order[0].canonical)
        store.record(run_id, [document])
        for each in order[1:]:
            frontier.add([each])
        assert list(frontier.leads()) == [LEADS[0]]
        assert frontier.settled() == {LEADS[0].canonical}, "what has its outcome is not asked for again"
        store.end_run(run_id, at=AT, state="finished")
        with store.reading() as connection:
            assert connection.exec_driver_sql(FINDERS).all() == [(f"{HOME}x", f"{HOME}b")]


def test_a_seed_is_found_by_nobody_whoever_links_to_it() -> None:
    seed = Lead.to_page(HOME)
    with Store.open(None) as store:
        frontier = Frontier(store, begun(store), DOCUMENTS)
        frontier.add([seed, Lead.to_page(HOME, depth=1, found_on=f"{HOME}a")])
        frontier.add([seed])
        assert list(frontier.leads()) == [seed]


def test_pages_of_a_list_that_lead_to_each_other_are_found_from_where_the_list_was_come_by(tmp_path: Path) -> None:
    def listed(target: str) -> Page:
        if target == "/":
            return linking("/list?page=3")
        number = int(target.partition("=")[2])
        return linking(*(f"/list?page={each}" for each in (number - 1, number + 1) if 0 < each < 6))

    with Web({WWW: listed}) as web:
        web.crawl(HOME, "--depth", "2", store=tmp_path / "a.db")
    finders = {1: 2, 2: 3, 4: 3, 5: 4}
    expected = {f"list?page={one}": f"{HOME}list?page={other}" for one, other in finders.items()}
    assert found_on(tmp_path / "a.db") == {"": None, "list?page=3": HOME, **expected}
