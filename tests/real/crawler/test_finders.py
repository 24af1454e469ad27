"""Finders in crawls: the same whatever is answered last, and after a kill."""

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.crawler.test_redirected import links_to, to
from tests.real.interrupted import Command, counts
from tests.real.library import Page, Web, record, records, sitemap
from tests.real.loopback import ON_LOOPBACK, select
from tests.real.waiting import PATIENCE_S, wait_until
from tests.unit.crawler.test_finders import FINDERS, HOME, MAP, MAPS, WWW

ROBOTS = {WWW: f"Sitemap: {MAP}\n"}


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
