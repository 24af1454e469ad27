"""The page of a report: its content, words, order and limits."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st

from reports.languages import ENGLISH
from reports.languages.display import escape_invisible, link
from reports.page import document as pages
from reports.page import shown_tables
from reports.page.charts import CHART_TABLES, Chart, charts_of, naan_chart
from reports.page.document import SCRIPTS
from reports.page.shown_tables import change_lists, columns_of, pack_rows
from reports.page.translations import WORDS
from reports.store.frames import Frames, load_frames
from reports.tables.definitions import DECLARED
from reports.tables.report_tables import DEFINITIONS, TABLES, Tables
from tests.real.browser import Page
from tests.report_world import BTV_AT_N2T, GUIDE, LANDING, RIGHT_TO_LEFT_OVERRIDE, TERM, page, write_store

TablesByName = Mapping[str, pd.DataFrame]


@pytest.fixture(scope="module")
def html(frames: Frames, tables: TablesByName) -> str:
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
    assert only(soup.select("title")).text == "Which ARKs persist? https://library.example/guide.html, 2026-11-20"
    assert only(soup.select("h1")).text == "Which ARKs persist?"
    assert all(len(soup.select(landmark)) == 1 for landmark in ("header", "nav", "main", "footer"))
    skip = soup.select("body > a")[0]
    assert skip["href"] == f"#{only(soup.select('main'))['id']}"


def test_page_order_is_verdict_causes_tables(soup: BeautifulSoup) -> None:
    said = "1 of 4 judged ARKs fails; 1 gave no answer today; 4 were not judged; 2 causes to act on; nothing to compare with yet."
    assert only(soup.select("header .lede")).text == said
    headings = [heading.text for heading in soup.select("main h2")]
    assert headings == ["To act on", "At a glance", *(topic["title"] for topic in DECLARED["topic"])]
    named = {
        topic["name"]: [heading["id"] for heading in soup.select(f"#{topic['name']} ~ .table h3")]
        for topic in DECLARED["topic"]
    }
    assert named == {topic["name"]: topic["tables"] for topic in DECLARED["topic"]}


def test_every_table_has_one_topic() -> None:
    in_topics = sorted(name for topic in DECLARED["topic"] for name in topic["tables"])
    assert in_topics == sorted(table.name for table in TABLES), "put it into a topic of reports/tables/tables.toml"
    assert all(sorted(map(repr, columns_of(table))) == sorted(map(repr, table.columns)) for table in TABLES)


def test_every_table_with_rows_is_folded_and_has_a_caption_and_scopes(
    soup: BeautifulSoup, tables: TablesByName
) -> None:
    folds = {str(fold["data-table"]): fold for fold in soup.select("details[data-table]")}
    assert set(folds) == {table.name for table in TABLES if len(tables[table.name])}
    assert not soup.select("details[open]")
    for table in TABLES:
        if table.name in folds:
            assert only(folds[table.name].select("table caption")).text == table.caption
    for table in soup.select("table"):
        assert all(head["scope"] == "col" for head in table.select("thead th"))
        assert all(head["scope"] == "row" for head in table.select("tbody th"))


def test_an_empty_table_is_one_line(soup: BeautifulSoup, tables: TablesByName) -> None:
    empty = {line.h3["id"]: only(line.select("p")).text for line in soup.select(".table.empty") if line.h3}
    assert set(empty) == {table.name for table in TABLES if tables[table.name].empty}
    assert all(empty.values())
    assert "No rows." not in only(soup.select("main")).get_text()


def test_a_first_audit_has_nothing_to_compare_instead_of_rows_of_new(frames: Frames, tables: TablesByName) -> None:
    event = {"event": "new", "ark": "ark:99152/p0v", "request_url": TERM}
    new = tables["changes"].reindex([0]).assign(**event).astype(tables["changes"].dtypes)
    told = BeautifulSoup(page(frames, {**tables, "changes": new}), "html.parser")
    line = only([line for line in told.select(".table.empty") if line.h3 and line.h3["id"] == "changes"])
    assert line.get_text(" ", strip=True).startswith("Changes Nothing to compare with yet")
    confirmed = new.assign(event="confirmed")  # only a later check can know that
    told = BeautifulSoup(page(frames, {**tables, "changes": confirmed}), "html.parser")
    assert "ark:99152/p0v" in only(told.select("details[data-table=changes]")).get_text()
    later = BeautifulSoup(page(replace(frames, compared_run=frames), {**tables, "changes": new}), "html.parser")
    assert "ark:99152/p0v" in only(later.select("details[data-table=changes]")).get_text()


def test_comparison_of_two_runs_lists_each_ark_once(frames: Frames, tables: TablesByName) -> None:
    changes = pd.DataFrame(
        {
            "event": ["failing", "failing", "recovered", "gone", *["new"] * 17],
            "ark": ["ark:1/a", "ark:1/a", "ark:1/b", "ark:1/c\u202e", *(f"ark:1/n{number}" for number in range(17))],
        }
    )
    lists = change_lists(changes)
    assert {event: len(arks) for event, arks in lists.items()} == {"failing": 1, "recovered": 1, "new": 17, "gone": 1}
    assert lists["gone"] == ["ark:1/c[U+202E]"]
    compared = tables["changes"].reindex([0]).assign(event="confirmed", ark="ark:1/x")
    soup = BeautifulSoup(page(replace(frames, compared_run=frames), {**tables, "changes": compared}), "html.parser")
    shown = [each.get_text(" ", strip=True) for each in soup.select(".change-lists section")]
    assert shown[0].startswith("Newly confirmed broken 1 ark:")
    assert soup.select_one(".change-lists a[href='#changes?event=confirmed']") is not None
    assert shown[1] == "Newly failing 0 No ARK."


def test_terms_have_their_meaning_in_order(soup: BeautifulSoup) -> None:
    terms = [each.text for each in soup.select(".legend dt")]
    assert terms == ["works", "fails", "no answer today", "not judged", "failing", "confirmed broken"]


def test_ids_are_unique_and_every_inner_reference_leads_somewhere(soup: BeautifulSoup) -> None:
    ids = [tag["id"] for tag in soup.select("[id]")]
    assert len(ids) == len(set(ids))
    inner = [str(tag["href"]).removeprefix("#").partition("?")[0] for tag in soup.select("a[href^='#']")]
    labels = [name for tag in soup.select("[aria-labelledby]") for name in str(tag["aria-labelledby"]).split()]
    made_when_opened = {"detail-name"}
    places = {name for name in inner if not name.startswith("ark=")}  # these open the dialog
    assert places | set(labels) <= {*ids, *made_when_opened}


def test_foot_describes_the_making_of_the_report(soup: BeautifulSoup) -> None:
    facts = {item.dt.text: item.dd.text for item in soup.select("footer dl > div") if item.dt and item.dd}
    assert facts == {
        "arkaudit": "0.1.0",
        "Run": "2 (crawl, finished)",
        "Started": "2026-11-20 10:00:00 UTC",
        "Ended": "2026-11-20 10:05:00 UTC",
        "Resolver for ARKs without one": "https://n2t.net/",
        "User agent": "arkaudit/0.1 (+https://library.example/bot)",
        "Requests": "12",
        "Drawn with": "DataTables (MIT) and Apache ECharts (Apache-2.0), embedded in this page",
    }


# -- words


def card(soup: BeautifulSoup, cause: str) -> Tag:
    """Return the card of the first cause of this token among the causes to act on."""
    return soup.select(f"ol.actions > li[data-cause={cause}]")[0]


def test_cause_has_words_remedy_and_evidence(soup: BeautifulSoup) -> None:
    told = card(soup, "unknown-naan")
    said = [part.get_text(" ", strip=True) for part in told.find_all(["h3", "p", "dl"], recursive=False)]
    facts = "Urgency low Affects 2 citations of 1 ARK in 2 documents Responsible the organization of the NAAN: Musée du Louvre"
    assert said == [
        "the resolver resolves no ARK of this NAAN: museum.example",
        "Ask the organization of this NAAN where its ARKs resolve, and cite them there.",
        f"{facts} Should be ark:53355/cl010120338 Because it was probably meant, and works",
        "Show 2 citations",
    ]
    assert told.select("details")[-1].get_text(" ", strip=True) == (
        "Evidence Cause unknown-naan Addresses http://museum.example/ark:/53355/{name} For example "
        f"ark:53355/cl010120339 Cited in {GUIDE} Evidence the page is titled [U+202E]dnuof toN"
    )


def test_ark_that_works_elsewhere_names_the_place(soup: BeautifulSoup) -> None:
    assert f"Should be {BTV_AT_N2T}" in card(soup, "refused-here").get_text(" ", strip=True)


def test_missing_answer_is_not_called_link_rot(soup: BeautifulSoup) -> None:
    assert "No answer today; not link rot." in only(soup.select("dl.legend")).text


def test_badge_text_repeats_its_colour(soup: BeautifulSoup) -> None:
    badges = {(badge["class"][-1], badge.text) for badge in soup.select("table .badge")}
    assert {("fails", "broken"), ("unreachable", "timeout"), ("not-judged", "skipped"), ("works", "erc")} <= badges
    assert all(badge.text for badge in soup.select(".badge"))


def test_page_limits_causes_and_rows_and_counts_the_rest(
    frames: Frames, tables: TablesByName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_CAUSES", 1)
    monkeypatch.setattr(shown_tables, "MOST_LISTED", 3)
    text = BeautifulSoup(page(frames, tables), "html.parser").get_text(" ", strip=True)
    assert "And 2 more causes. All causes" in text
    assert "The first 3 of 11 rows." in text


def test_a_column_without_a_value_is_not_shown(soup: BeautifulSoup) -> None:
    summary = only(soup.select("[data-table=summary]"))
    assert [head.text for head in summary.select("th[scope=col]")] == ["measure", "value", "note"]


def test_suspect_run_is_announced_first(frames: Frames, tables: TablesByName) -> None:
    suspect = frames.run.assign(is_suspect=pd.array([True], dtype="boolean"), suspicion="most hosts gave no answer")
    soup = BeautifulSoup(page(replace(frames, run=suspect), tables), "html.parser")
    told = "The failures of this run prove nothing: most hosts gave no answer."
    assert only(soup.select("header .note")).get_text() == told


def test_empty_store_gives_an_explaining_page(tmp_path: Path) -> None:
    frames = load_frames(write_store(tmp_path / "empty.sqlite", {}))
    text = BeautifulSoup(page(frames, Tables(frames)), "html.parser").get_text(" ", strip=True)
    assert "0 citations of 0 ARKs in 0 documents" in text
    assert "No ARK fails." in text
    assert "no run: the store is empty" in text


def test_script_texts_are_listed_exactly() -> None:
    folder = Path(pages.__file__).parent / "static"
    ours = "".join((folder / name).read_text("utf-8") for name in SCRIPTS if not name.endswith(".min.js"))
    said = set(re.findall(r'say\(\s*"([^"]+)"', ours))
    assert said <= set(WORDS)
    assert [name for name in WORDS if f'"{name}"' not in ours and f'"{name.removesuffix(" again")}"' not in ours] == []


# -- nothing from the web is trusted


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_exactly_the_style_and_the_scripts_that_are_there(soup: BeautifulSoup, html: str) -> None:
    scripts = [script.text for script in soup.select("script:not([type])")]
    assert len(scripts) == len(SCRIPTS)
    scripts.append(only(soup.select("#library-charts")).text)
    assert only(soup.select("meta[http-equiv='Content-Security-Policy']"))["content"] == (
        f"default-src 'none'; script-src {' '.join(map(digest, scripts))}; "
        f"style-src {digest(only(soup.select('style')).text)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert {str(script.get("type")) for script in soup.select("script[type]")} == {
        "application/json",
        "application/octet-stream",
        "text/plain",
    }
    assert not soup.select("iframe, object, embed, form, base, [style], script[src]")
    assert not [name for tag in soup.find_all(True) for name in tag.attrs if name.startswith("on")]
    assert "<script>alert" not in html


def test_the_libraries_are_those_of_the_list_unchanged() -> None:
    folder = Path(pages.__file__).parent / "static"
    listed = dict(re.findall(r"\| `([\w.]+)` \|.*\| `([0-9a-f]{64})` \|", (folder / "README.md").read_text("utf-8")))
    assert set(listed) == {path.name for path in folder.glob("*.min.js")}
    for name, expected in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected
    named = re.findall(r"`([\w.-]+\.txt)`", (folder / "README.md").read_text("utf-8"))
    assert {path.name for path in folder.glob("*.txt")} == set(named)


def test_a_title_that_is_markup_is_shown_as_it_is(soup: BeautifulSoup) -> None:
    assert only(soup.find_all("td", string="<script>alert('guide')</script>"))


def test_only_web_addresses_become_links_without_referrer(soup: BeautifulSoup) -> None:
    links = soup.select("a[href]")
    outer = [tag for tag in links if re.match("(?i)[a-z][a-z0-9+.-]*:", str(tag["href"]))]
    assert {str(tag["href"]).partition(":")[0] for tag in outer} == {"http", "https"}
    assert all(tag["rel"] == ["noreferrer", "nofollow"] for tag in outer)
    inner = [str(tag["href"]) for tag in links if tag not in outer]
    known = (
        r"#[\w-]+|#ark=ark%3A[\w%/.-]+|#failures\?(?:number=\d+|document=[\w%.-]+)"
        r"|#(?:arks|citations|documents)\?[\w=&-]*|tables/\w+\.csv"
    )
    assert all(re.fullmatch(known, href) for href in inner)
    assert LANDING in {str(tag["href"]) for tag in outer}


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example/", "https://a.example/\u202e"],
)
def test_only_plain_web_addresses_are_links(address: str) -> None:
    assert link(address) is None


def test_a_poisoned_store_stays_harmless_and_visible(frames: Frames, tables: TablesByName) -> None:
    evil = f"javascript:alert(1)//</style><script>{RIGHT_TO_LEFT_OVERRIDE}\x00\ud800"
    run = frames.run.assign(user_agent=evil.replace("\ud800", ""), resolver=evil.replace("\ud800", ""))
    ours = {"causes": ("cause", "fault", "advice", "grade"), "changes": ("event",), "failures": ("cause", "fault")}
    everything = {
        name: table.assign(
            **{
                column: evil.replace("\ud800", "")  # which `reports.store.frames` has spelled out by then
                for column in table.columns
                if table[column].dtype == "str" and column not in (*ours.get(name, ()), "family", "object")
            }
        )
        for name, table in tables.items()
        if name not in ("summary", "services")  # these two hold only our own words
    }
    html = page(replace(frames, run=run), {**tables, **everything})
    soup = BeautifulSoup(html, "html.parser")
    assert len(soup.select("script:not([type])")) == len(SCRIPTS)
    assert not soup.select("a[href^='javascript']")
    assert not set(html) & {RIGHT_TO_LEFT_OVERRIDE, "\x00", "\ud800"}
    assert "[U+202E][U+0000]" in html


@given(st.text())
def test_escaped_text_has_nothing_left_that_hides(text: str) -> None:
    shown = escape_invisible(text)
    assert all(char.isprintable() or char.isspace() for char in shown)
    assert not set(shown) & set("\n\r\t\u2028\u2029\u200b\u200e\u202e\u2066\ufeff\xad")
    assert escape_invisible(shown) == shown


# -- embedded data


def unpack(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return content


def test_a_table_is_embedded_column_by_column_with_every_text_once() -> None:
    columns = tuple(column for column in DEFINITIONS["arks"].columns if column.name in ("ark", "citations", "since"))
    table = pd.DataFrame(
        {
            "ark": pd.Series(["ark:1/x", None, "ark:1/x"], dtype="str"),
            "since": pd.to_datetime(pd.Series(["2026-11-20T10:00:00.123Z", None, None])).dt.as_unit("ms"),
            "citations": pd.array([2, None, 0], dtype="Int64"),
        }
    )
    assert unpack(pack_rows(table, columns)) == {
        "rows": 3,
        "columns": [{"d": ["ark:1/x"], "i": [0, -1, 0]}, {"v": [1795168800123, None, None]}, {"v": [2, None, 0]}],
    }


def test_texts_are_embedded_as_they_are() -> None:
    columns = tuple(column for column in DEFINITIONS["arks"].columns if column.name == "ark")
    texts = [
        "plain", 'a "quote"', "back\\slash", "é", "\N{GRINNING FACE}", "del\x7f", "tab\t", "", "~", " ", None, "plain",
    ]  # fmt: skip
    shown = ["plain", 'a "quote"', "back\\slash", "é", "\N{GRINNING FACE}", "del[U+007F]", "tab[U+0009]", "", "~", " "]
    table = pd.DataFrame({"ark": pd.Series(texts, dtype="str")})
    assert unpack(pack_rows(table, columns))["columns"] == [{"d": shown, "i": [*range(10), -1, 0]}]
    assert unpack(pack_rows(table.head(0), columns)) == {"rows": 0, "columns": [{"d": [], "i": []}]}


def test_more_rows_than_the_page_holds_are_counted(
    frames: Frames, tables: TablesByName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_tables, "MOST_EMBEDDED", 4)
    soup = BeautifulSoup(page(frames, tables), "html.parser")
    assert "The first 4 of 11 rows." in only(soup.select("[data-table=citations]")).get_text(" ", strip=True)
    assert unpack(only(soup.select("#data-citations")).text)["rows"] == 4


# -- charts


def charts(tables: TablesByName, frames: Frames) -> list[Chart]:
    return [chart for name in CHART_TABLES for chart in charts_of(name, tables[name], frames, ENGLISH)]


def test_charts_hold_the_numbers_of_their_tables(tables: TablesByName, frames: Frames) -> None:
    of_naans, *services = charts(tables, frames)
    names = of_naans.drawing["names"]
    assert names[0] == "Bibliothèque nationale de France 12148"
    unnamed = tables["naans"].loc[tables["naans"]["organization"].isna(), "naan"]
    assert len(unnamed)
    assert set(unnamed) <= set(names)  # a NAAN without a known owner is listed alone
    drawn = {series["name"]: series["values"] for series in of_naans.drawing["series"]}
    assert drawn["works"] == tables["naans"]["works"].tolist()
    assert drawn["no answer today"] == tables["naans"]["unreachable"].tolist()
    assert [chart.name for chart in services] == ["service-object", "service-metadata", "service-commitment"]
    assert "stated" in services[2].drawing["names"]
    assert len({chart.drawing["most"] for chart in services}) == 1  # of one scale, or they can't be compared


def test_chart_has_a_sentence_of_its_content(soup: BeautifulSoup) -> None:
    assert [words.text for words in soup.select("figure .words")] == [
        (
            "Stacked bars of 9 ARKs under 8 NAANs: 3 work, 1 fails, 1 gave no answer today, 4 were not judged. "
            "The NAAN with most ARKs is 12148, with 2."
        ),
        "3 of 8 ARKs provide this. Answers: resolved 3; broken 1; timeout 1; robots 1; skipped 2.",
        ("2 of 8 ARKs provide this. Answers: erc 1; structured 1; query-ignored 1; blocked 1; not-asked 4."),
        "1 of 8 ARKs provides this. Answers: stated 1; placeholder 1; absent 1; not-asked 5.",
    ]


def test_a_chart_of_many_naans_draws_the_small_ones_together(tables: TablesByName) -> None:
    many = pd.concat([tables["naans"].assign(naan=str(number)) for number in range(10000, 10004)], ignore_index=True)
    for works in (100, 1):  # also where the others together are more than the greatest
        great = many.assign(works=many["works"].where(many.index != 0, works))
        bars = naan_chart(great, ENGLISH).drawing
        assert bars["names"][-1] == "19 other NAANs"
        drawn = sum(value for series in bars["series"] for value in series["values"])
        assert drawn == great[["works", "fails", "unreachable", "not_judged"]].sum().sum()


def rows(browser: Page, name: str) -> list[str]:
    """Return the first cells of the rows that an interactive table shows."""
    cells: list[str] = browser.value(
        f"[...document.querySelectorAll('#table-{name} tbody tr')].map(row => row.cells[0].textContent)"
    )
    return cells
