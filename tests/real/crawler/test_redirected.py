"""A document that redirects also reach is recorded once, in any order of arrival, with all redirects to it."""

from pathlib import Path

import pandas as pd
import pytest

from reports.store.frames import load_frames
from reports.tables.report_tables import Tables
from tests.real.interrupted import Command, counts, tables, with_trouble
from tests.real.library import Page, Web, arks, documents, feed, pdf, record, records, sitemap
from tests.real.loopback import ON_LOOPBACK, reply, run_command, select
from tests.real.waiting import rows_if_any, wait_until

WWW = "w.example"
HOME = f"http://{WWW}/"
REDIRECTED = "select url, found_on, status, final_url from document where outcome = 'redirected' order by url"


def to(place: str, **headers: str) -> Page:
    """Return a redirect."""
    return reply("302 Found", Location=place, **headers), "whole"


def links_to(*places: str) -> str:
    return "".join(f"<a href='{place}'>x</a>" for place in places)


def assert_same(found: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table, obj=name)


@pytest.mark.parametrize("cookie", [{}, {"Set_Cookie": "s=1"}], ids=["plain", "with a cookie"])
def test_order_of_links_does_not_matter(tmp_path: Path, cookie: dict[str, str]) -> None:
    found = []
    for order in (("/a", "/b"), ("/b", "/a")):
        store = tmp_path / f"{order[0][1]}.db"
        with Web({WWW: {"/": links_to(*order), "/a": to("/b", **cookie), "/b": "ark:/12148/b1"}}) as web:
            assert "3 documents, 2 read, 1 redirected, 1 citation" in web.crawl(HOME, store=store)
        assert select(store, REDIRECTED) == [(f"{HOME}a", HOME, 302, f"{HOME}b")]
        found.append(tables(store))
    assert_same(*found)
    assert found[0]["documents"].set_index("document")["led_to"].dropna().to_dict() == {f"{HOME}a": f"{HOME}b"}


def test_first_redirect_fetches_the_page_for_all(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": links_to("/a", "/1"), "/a": to("/b"), "/1": links_to("/2"), "/2": links_to("/3"), "/3": links_to("/b", "/a2"),
        "/a2": to("/b"), "/b": links_to("/c") + "ark:/12148/b1", "/c": "ark:/12148/c1",
    }  # fmt: skip
    store = tmp_path / "a.db"
    with Web({WWW: pages}) as web:
        web.crawl(HOME, store=store)
        asked = web.targets(WWW)
    assert asked.count("/b") == 2, "for each that leads there, and never for itself"
    assert sorted(documents(store)) == [f"{HOME}{name}" for name in ("", "1", "2", "3", "a", "a2", "b", "c")]
    assert sorted(arks(store)) == ["ark:12148/b1", "ark:12148/c1"]
    assert select(store, "select url, found_on from document where url like '%/b' or url like '%/c'") == [
        (f"{HOME}b", HOME), (f"{HOME}c", f"{HOME}b"),
    ]  # fmt: skip
    assert select(store, "select sum(json_array_length(hops)) from document") == [(len(asked),)], (
        "each is on record once"
    )


def test_a_link_that_is_found_while_a_redirect_is_followed_changes_nothing(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/": links_to("/a", "/n"), "/a": to("/b"), "/n": links_to("/b"), "/b": "ark:/12148/b1"}
    store = tmp_path / "a.db"
    with Web({WWW: pages}) as web:
        web.crawl(HOME, "--max-pages", "3", store=store)
        assert web.targets(WWW) == ["/", "/a", "/n", "/b"], "the link is there before the redirect has led anywhere"
    assert select(store, "select found_on, json_array_length(hops) from document where url like '%/b'") == [(HOME, 1)]
    assert select(store, "select depth, attempts from frontier where url like '%/b'") == [(1, 0)]


def test_chain_ends_before_waiting_requests_of_its_host(tmp_path: Path) -> None:
    pages: dict[str, Page] = {f"/{number}": "a page" for number in range(9)}
    pages |= {"/": links_to("/a", *pages), "/a": to("/b"), "/b": to("/c"), "/c": "ark:/12148/c1"}
    with Web({WWW: pages}) as web:
        web.crawl(HOME, store=tmp_path / "a.db")
        assert web.targets(WWW).index("/c") <= 6, "each hop waits for one request, which was at hand"


def test_many_redirects_to_one_page_are_recorded_and_the_page_once(tmp_path: Path) -> None:
    pages: dict[str, Page] = {f"/item/{number}": to("/catalogue") for number in range(5)}
    pages |= {"/": links_to(*pages), "/catalogue": "<title>Catalogue</title> ark:/12148/l1"}
    store = tmp_path / "a.db"
    with Web({WWW: pages}) as web:
        web.crawl(HOME, store=store)
    assert select(store, REDIRECTED) == [(f"{HOME}item/{n}", HOME, 302, f"{HOME}catalogue") for n in range(5)]
    assert arks(store) == ["ark:12148/l1"]
    summary = Tables(load_frames(store))["summary"].set_index("measure")["value"]
    assert [summary[f"documents{of}"] for of in ("", " read", " redirected", " not reached")] == [7, 2, 5, 0]


def test_where_a_seed_leads_is_the_seed_with_its_links_and_sitemaps(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": to("/en/"), "/en/": links_to("/", "/en/1"), "/en/1": links_to("/en/2"), "/en/2": "too deep",
        "/map.xml": sitemap(f"{HOME}listed"), "/listed": "ark:/12148/x1",
    }  # fmt: skip
    store = tmp_path / "a.db"
    with Web({WWW: pages}, robots={WWW: f"Sitemap: {HOME}map.xml\n"}) as web:
        web.crawl(HOME, "--depth", "1", store=store)
        assert web.targets(WWW) == ["/", "/en/", "/en/1", "/map.xml", "/listed"]
    assert select(store, "select url, found_on, outcome from document order by document_id limit 3") == [
        (HOME, None, "redirected"), (f"{HOME}en/", None, "read"), (f"{HOME}en/1", f"{HOME}en/", "read"),
    ]  # fmt: skip


def test_seed_redirected_to_a_known_page_keeps_its_depth(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/start": links_to("/atom"), "/feed": to("/atom"), "/atom": feed("http://f.example/1", "http://f.example/2"),
    }  # fmt: skip
    store = tmp_path / "a.db"
    with Web({WWW: pages, "f.example": lambda target: f"ark:/12148/x{target[1:]}"}) as web:
        web.crawl(f"{HOME}start", f"feed:{HOME}feed", store=store)
        assert sorted(web.targets("f.example")) == ["/1", "/2"]
    assert sorted(documents(store)) == sorted(set(documents(store)))
    assert sorted(arks(store)) == ["ark:12148/x1", "ark:12148/x2"]


def test_a_repository_that_has_moved_is_harvested_there_and_each_record_is_there_once(tmp_path: Path) -> None:
    def moved(target: str) -> Page:
        if not target.startswith("/new"):
            return to(f"/new{target}")
        is_last = "resumptionToken" in target
        return records(record(f"oai:r:{is_last:d}", text="ark:/12148/r1"), token=None if is_last else "t")

    store = tmp_path / "a.db"
    with Web({WWW: moved}) as web:
        web.crawl(f"oai:{HOME}oai", store=store)
        assert len(web.targets(WWW)) == len(set(web.targets(WWW)))
    names = select(store, "select url, found_on from document where url like 'oai:%' order by url")
    assert [(name, str(found_on)[:24]) for name, found_on in names] == [
        ("oai:r:0", f"{HOME}new/oai?verb="[:24]), ("oai:r:1", f"{HOME}new/oai?verb="[:24]),
    ]  # fmt: skip


def test_a_redirect_out_of_the_scope_is_read_there_and_followed_no_further(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    elsewhere: dict[str, Page] = {"/x": links_to("/y") + "ark:/12148/x1"}
    with Web({WWW: {"/": links_to("/a"), "/a": to("http://e.example/x")}, "e.example": elsewhere}) as web:
        web.crawl(HOME, store=store)
        assert web.targets("e.example") == ["/x"]
    assert documents(store) == [HOME, f"{HOME}a", "http://e.example/x"]
    assert arks(store) == ["ark:12148/x1"]


def test_a_wall_of_cookies_and_a_session_in_the_url_lead_to_the_document_itself(tmp_path: Path) -> None:
    seen: list[str] = []

    def walled(target: str) -> Page:
        seen.append(target)
        if target == "/wall":
            return to("/a", Set_Cookie="ok=1")
        if target == "/a":
            return "ark:/12148/a1" if seen.count("/wall") else to("/wall")
        return "ark:/12148/s1" if "jsessionid" in target else to(f"{target};jsessionid=1A2B")

    store = tmp_path / "a.db"
    with Web({WWW: lambda target: links_to("/a", "/s") if target == "/" else walled(target)}) as web:
        web.crawl(HOME, store=store)
    assert select(store, "select url, outcome from document order by url") == [
        (HOME, "read"), (f"{HOME}a", "read"), (f"{HOME}s", "read"),
    ]  # fmt: skip


def test_a_url_that_is_good_for_once_names_no_document_and_a_session_is_no_part_of_a_name(tmp_path: Path) -> None:
    signed = "http://s3.example/x?X-Amz-Expires=60&X-Amz-Signature=0123456789abcdef"
    pages: dict[str, Page] = {
        "/": links_to("/bitstream/1", "/2", "/3"), "/bitstream/1": to(signed),
        "/2": to("/two;jsessionid=1A2B"), "/two;jsessionid=1A2B": links_to("/two") + "ark:/12148/s2",
        "/3": to("/two;jsessionid=9Z8Y"), "/two;jsessionid=9Z8Y": links_to("/two") + "ark:/12148/s2",
    }  # fmt: skip
    store = tmp_path / "a.db"
    with Web({WWW: pages, "s3.example": lambda _: pdf("ark:/12148/s1")}) as web:
        web.crawl(HOME, store=store)
        assert "/two" not in web.targets(WWW)
    assert select(store, REDIRECTED) == [(f"{HOME}{number}", HOME, 302, f"{HOME}two") for number in (2, 3)]
    assert select(store, "select url, final_url from document where outcome = 'read' order by url") == [
        (HOME, HOME), (f"{HOME}bitstream/1", signed), (f"{HOME}two", f"{HOME}two;jsessionid=1A2B"),
    ]  # fmt: skip


def test_redirect_to_a_missing_page_is_reported_for_its_source(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with Web({WWW: {"/": links_to("/a", "/b"), "/a": to("/gone"), "/b": to("/c"), "/c": to("/b")}}) as web:
        web.crawl(HOME, store=store)
    assert select(store, "select url, outcome from document order by url") == [
        (HOME, "read"), (f"{HOME}a", "broken"), (f"{HOME}b", "loop"),
    ]  # fmt: skip


def test_a_limit_of_pages_counts_a_redirect_and_its_document_as_one(tmp_path: Path) -> None:
    pages: dict[str, Page] = {f"/{number}": to(f"/to/{number}") for number in range(9)}
    pages |= {"/": links_to(*pages)} | {f"/to/{number}": "x" for number in range(9)}
    with Web({WWW: pages}) as web:
        said = web.crawl(HOME, "--max-pages", "4", store=tmp_path / "a.db")
        assert sorted(web.targets(WWW)) == ["/", "/0", "/1", "/2", "/to/0", "/to/1", "/to/2"]
    assert "stopped at 4 documents (--max-pages); 6 more" in said


def test_crawl_killed_while_reading_a_redirect_target_ends_the_same(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": links_to("/a", "/2", "/b2"), "/a": to("/b"), "/b": "slow ark:/12148/b1 " + links_to("/c"),
        "/2": links_to("/c"), "/b2": to("/b"), "/c": "ark:/12148/c1",
    }  # fmt: skip
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    with Web({WWW: pages}) as web:
        web.crawl(HOME, "--max-pages", "5", store=whole)
        command = ["crawl", *ON_LOOPBACK, *web.routes, HOME, "--max-pages", "5", "--store", killed]
        with Command(command, first=with_trouble) as running:
            claimed = f"select state from frontier where url = '{HOME}b' and state = 'claimed'"
            wait_until(lambda: rows_if_any(killed, claimed), "a claim of the page")
            running.kill()
        assert run_command(*command).returncode == 0
    assert_same(tables(killed), tables(whole))
    assert counts(killed) == counts(whole)
