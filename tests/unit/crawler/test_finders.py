"""The finder of a document follows from the links between documents, not from the order of answers."""

import random
from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import CrawlRequest, Outlinks, document_key
from crawler.model.observations import DocumentOutcome, DocumentRecord
from crawler.sources.source_reading import finders
from crawler.store.frontier import DOCUMENTS, Frontier
from crawler.store.store import Store
from tests.unit.crawler.test_frontier import AT, begin_run

WWW, MAPS = "w.example", "m.example"


HOME, MAP = f"http://{WWW}/", f"http://{MAPS}/map.xml"


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
