"""The page: what it shows and in which words, what it never does, and what a real browser says of it."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pandas as pd
import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st

from reports import page as pages
from reports.charts import charts_of
from reports.display import escaped, link
from reports.exports import write_report
from reports.frames import Frames, load_frames
from reports.page import page
from reports.tables import TABLES, tables_of
from tests.browser import Page, browser_page, chromium
from tests.report_world import (
    BTV_AT_N2T,
    GUIDE,
    LANDING,
    MUSEUM,
    RIGHT_TO_LEFT_OVERRIDE,
    write_store,
    write_world,
)

#: A page without a browser to try it is only accepted on a developer's machine.
needs_browser = pytest.mark.skipif(chromium() is None and "CI" not in os.environ, reason="no Chromium here")


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    return load_frames(write_world(tmp_path_factory.mktemp("world") / "world.sqlite"))


@pytest.fixture(scope="module")
def tables(frames: Frames) -> Mapping[str, pd.DataFrame]:
    return tables_of(frames)


@pytest.fixture(scope="module")
def html(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> str:
    return page(frames, tables)


@pytest.fixture(scope="module")
def soup(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


def only(found: list[Tag]) -> Tag:
    [tag] = found
    return tag


# -- structure


def test_the_page_has_a_language_a_title_one_h1_landmarks_and_a_skip_link(soup: BeautifulSoup) -> None:
    assert only(soup.select("html"))["lang"] == "en"
    assert only(soup.select("title")).text == "Which ARKs persist? Report of an audit"
    assert only(soup.select("h1")).text == "Which ARKs persist?"
    assert all(len(soup.select(landmark)) == 1 for landmark in ("header", "nav", "main", "footer"))
    skip = soup.select("body > a")[0]
    assert skip["href"] == f"#{only(soup.select('main'))['id']}"


def test_the_summary_comes_first_then_what_to_act_on_then_the_tables(soup: BeautifulSoup) -> None:
    headings = [heading.text for heading in soup.select("main h2")]
    assert headings == ["At a glance", "To act on", *(table.title for table in TABLES)]


def test_every_table_has_a_caption_and_scopes(soup: BeautifulSoup) -> None:
    tables = soup.select("table")
    assert [only(table.select("caption")).text for table in tables] == [table.caption for table in TABLES]
    for table in tables:
        assert all(head["scope"] == "col" for head in table.select("thead th"))
        assert all(head["scope"] == "row" for head in table.select("tbody th"))


def test_ids_are_unique_and_every_inner_reference_leads_somewhere(soup: BeautifulSoup) -> None:
    ids = [tag["id"] for tag in soup.select("[id]")]
    assert len(ids) == len(set(ids))
    inner = [tag["href"].removeprefix("#") for tag in soup.select("a[href^='#']")]
    labels = [tag["aria-labelledby"] for tag in soup.select("[aria-labelledby]")]
    assert set(inner) | set(labels) <= set(ids)


def test_the_foot_says_how_the_report_came_about(soup: BeautifulSoup) -> None:
    facts = {item.dt.text: item.dd.text for item in soup.select("footer dl > div") if item.dt and item.dd}
    assert facts == {
        "arkaudit": "0.1.0",
        "Run": "2 (crawl, finished)",
        "Started": "2026-11-20 10:00:00 UTC",
        "Ended": "2026-11-20 10:05:00 UTC",
        "Resolver for ARKs without one": "https://n2t.net/",
        "User agent": "arkaudit/0.1 (+https://library.example/bot)",
        "Requests": "12",
    }


# -- words


def test_a_failing_ark_is_told_in_words_with_its_evidence(soup: BeautifulSoup) -> None:
    group = only([heading for heading in soup.select("h3") if "museum.example" in heading.text])
    assert group.text == "museum.example 1 ARK"
    told = group.find_next("li").get_text(" ", strip=True)
    assert told == (
        "broken ark:53355/cl010120339 The provider answered that it does not know this identifier. "
        f"Evidence: the page is titled [U+202E]dnuof toN Asked {MUSEUM} "
        f"Cited 2 citations in 2 documents, first in {GUIDE}"
    )


def test_an_ark_that_fails_here_and_works_elsewhere_says_where(soup: BeautifulSoup) -> None:
    group = only([heading for heading in soup.select("h3") if "gallica.example" in heading.text])
    assert f"Works at {BTV_AT_N2T}" in group.find_next("li").get_text(" ", strip=True)


def test_no_answer_is_said_to_be_no_link_rot(soup: BeautifulSoup) -> None:
    assert "No answer today; not link rot." in only(soup.select("dl.legend")).text


def test_a_badge_says_in_text_what_its_colour_says(soup: BeautifulSoup) -> None:
    badges = {(badge["class"][-1], badge.text) for badge in soup.select("table .badge")}
    assert {
        ("fails", "broken"),
        ("unreachable", "timeout"),
        ("not-judged", "skipped"),
        ("works", "erc"),
    } <= badges
    assert all(badge.text for badge in soup.select(".badge"))


def test_only_so_many_hosts_arks_and_rows_are_shown_and_the_rest_is_counted(
    frames: Frames, tables: Mapping[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_HOSTS", 1)
    monkeypatch.setattr(pages, "MOST_ACTIONS", 0)
    monkeypatch.setattr(pages, "MOST_ROWS", 3)
    text = BeautifulSoup(page(frames, tables), "html.parser").get_text(" ", strip=True)
    assert "And 1 more at this server." in text
    assert "And 1 more server." in text
    assert "The first 3 of 11 rows. As a file: tables/citations.csv" in text


def test_an_empty_store_gives_a_page_that_says_so(tmp_path: Path) -> None:
    frames = load_frames(write_store(tmp_path / "empty.sqlite", {}))
    text = BeautifulSoup(page(frames, tables_of(frames)), "html.parser").get_text(" ", strip=True)
    assert "0 citations of 0 ARKs in 0 documents" in text
    assert "No ARK fails." in text
    assert "none: the store is empty" in text


# -- nothing from the web is trusted


def test_the_policy_allows_exactly_the_style_that_is_there_and_no_script(soup: BeautifulSoup, html: str) -> None:
    style = only(soup.select("style")).text
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert only(soup.select("meta[http-equiv='Content-Security-Policy']"))["content"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not soup.select("script, iframe, object, embed, form, base, [style]")
    assert not [name for tag in soup.find_all(True) for name in tag.attrs if name.startswith("on")]
    assert "<script>alert" not in html


def test_a_title_that_is_markup_is_shown_as_it_is(soup: BeautifulSoup) -> None:
    assert only(soup.find_all("td", string="<script>alert('guide')</script>"))


def test_only_web_addresses_become_links_and_none_tells_where_it_came_from(soup: BeautifulSoup) -> None:
    links = soup.select("a[href]")
    outer = [tag for tag in links if re.match("(?i)[a-z][a-z0-9+.-]*:", str(tag["href"]))]
    assert {str(tag["href"]).partition(":")[0] for tag in outer} == {"http", "https"}
    assert all(tag["rel"] == ["noreferrer", "nofollow"] for tag in outer)
    inner = [str(tag["href"]) for tag in links if tag not in outer]
    assert all(re.fullmatch(r"#[\w-]+|tables/\w+\.csv", href) for href in inner)
    assert LANDING in {str(tag["href"]) for tag in outer}


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example/",
        "https://a.example/\u202e",
    ],
)
def test_what_is_no_plain_web_address_is_no_link(address: str) -> None:
    assert link(address) is None


def test_a_poisoned_store_stays_harmless_and_visible(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> None:
    evil = f"javascript:alert(1)//</style><script>{RIGHT_TO_LEFT_OVERRIDE}\x00\ud800"
    run = frames.run.assign(user_agent=evil, resolver=evil)
    everything = {
        name: table.assign(**{column: evil for column in table.columns if table[column].dtype == "str"})
        for name, table in tables.items()
        if name not in ("summary", "services")  # these two hold no words but ours
    }
    html = page(replace(frames, run=run), {**tables, **everything})
    soup = BeautifulSoup(html, "html.parser")
    assert not soup.select("script")
    assert not soup.select("a[href^='javascript']")
    assert not set(html) & {RIGHT_TO_LEFT_OVERRIDE, "\x00", "\ud800"}
    assert "[U+202E][U+0000][U+D800]" in html


@given(st.text())
def test_escaped_text_has_nothing_left_that_hides(text: str) -> None:
    shown = escaped(text)
    assert all(char.isprintable() or char.isspace() for char in shown)
    assert not set(shown) & set("\n\r\t\u2028\u2029\u200b\u200e\u202e\u2066\ufeff\xad")
    assert escaped(shown) == shown


# -- charts


def test_charts_are_well_formed_svg_that_holds_its_words_as_text(tables: Mapping[str, pd.DataFrame]) -> None:
    by_naan, by_service = charts_of(tables)
    for chart in (by_naan, by_service):
        assert ElementTree.fromstring(chart.svg).tag.endswith("svg")
    assert "Bibliothèque nationale de Fra… 12148" in by_naan.svg
    assert "no answer today" in by_naan.svg
    assert "Commitment: given for 1 of 8 ARKs" in by_service.svg


def test_a_chart_says_in_a_sentence_what_it_shows(soup: BeautifulSoup) -> None:
    assert [image["alt"] for image in soup.select("figure img")] == [
        (
            "Stacked bars of 9 ARKs under 8 NAANs: 3 works, 1 fails, 1 no answer today, 4 not judged. "
            "The NAAN with most ARKs is 12148, with 2."
        ),
        (
            "Bars of how many ARKs give each service, and what the others answered: "
            "object 3 of 8, metadata 2 of 8, commitment 1 of 8."
        ),
    ]


def test_charts_are_the_same_bytes_every_time(tables: Mapping[str, pd.DataFrame]) -> None:
    assert charts_of(tables) == charts_of(tables)


def test_charts_do_not_depend_on_how_the_user_has_set_up_matplotlib(tables: Mapping[str, pd.DataFrame]) -> None:
    drawn = charts_of(tables)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "text.usetex": True}):
        assert charts_of(tables) == drawn


def test_a_chart_of_many_naans_draws_the_small_ones_together(tables: Mapping[str, pd.DataFrame]) -> None:
    many = pd.concat([tables["naans"].assign(naan=str(number)) for number in range(10000, 10004)], ignore_index=True)
    assert "21 other NAANs" in charts_of({**tables, "naans": many})[0].svg


def test_a_name_can_neither_break_a_chart_nor_be_taken_for_mathematics(
    tables: Mapping[str, pd.DataFrame],
) -> None:
    naans = tables["naans"].assign(organization="$\\frac{1}{2}$ <&> \x00")
    chart = charts_of({**tables, "naans": naans})[0]
    assert "$\\frac{1}{2}$" in "".join(ElementTree.fromstring(chart.svg).itertext())


# -- a real browser


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> Iterator[tuple[Page, Path]]:
    folder = tmp_path_factory.mktemp("browser")
    paths = write_report(frames, folder / "report")
    with browser_page(folder / "profile") as browser:
        yield browser, paths.index


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [1280, 360])
def test_a_browser_opens_the_page_without_a_complaint_and_asks_for_nothing_else(
    opened: tuple[Page, Path], width: int
) -> None:
    browser, index = opened
    browser.open(index, width=width)
    assert browser.complaints == []
    assert browser.requested_urls == [index.resolve().as_uri()]
    assert browser.value("document.title") == "Which ARKs persist? Report of an audit"


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [1280, 360])
def test_style_and_charts_are_applied_and_nothing_sticks_out_of_the_window(
    opened: tuple[Page, Path], width: int
) -> None:
    browser, index = opened
    browser.open(index, width=width)
    assert browser.value("[...document.images].every(image => image.complete && image.naturalWidth > 500)")
    assert browser.value("document.images.length") == 2
    assert browser.value("getComputedStyle(document.querySelector('thead th')).position") == "sticky"
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
@needs_browser
def test_the_policy_stops_a_script_that_got_in(opened: tuple[Page, Path]) -> None:
    browser, index = opened
    poisoned = index.with_name("poisoned.html")
    page_text = index.read_text("utf-8")
    poisoned.write_text(page_text.replace("</main>", "<script>document.title = 'owned'</script></main>"), "utf-8")
    browser.open(poisoned)
    assert browser.value("document.title") == "Which ARKs persist? Report of an audit"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


@pytest.mark.browser
@needs_browser
def test_the_page_is_dark_for_those_who_prefer_dark(opened: tuple[Page, Path]) -> None:
    browser, index = opened
    colours = {}
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(index)
        colours[scheme] = browser.value("getComputedStyle(document.body).backgroundColor")
    assert colours == {"light": "rgb(252, 251, 248)", "dark": "rgb(21, 24, 29)"}
