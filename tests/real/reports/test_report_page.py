"""The page of a report in a browser."""

import base64
import json
from collections.abc import Iterator

import pandas as pd
import pypdfium2
import pytest

from reports.exports import write_report
from reports.formats.table_files import csv_text
from reports.languages.display import escape_invisible
from reports.page.shown_tables import columns_of
from reports.store.frames import Frames
from reports.tables.report_tables import TABLES
from tests.real.browser import Page, PageAndReport, barriers, browser_page, needs_browser
from tests.report_world import BTV_AT_N2T, LANDING
from tests.unit.reports.test_report_page import TablesByName, rows

# -- a real browser


@pytest.fixture(scope="module")
def page_and_files(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> Iterator[PageAndReport]:
    folder = tmp_path_factory.mktemp("browser")
    paths = write_report(frames, folder / "report")
    with browser_page() as browser:
        yield browser, paths.index


@needs_browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.promise
def test_a_browser_opens_the_page_without_a_complaint_and_asks_for_nothing_else(
    page_and_files: PageAndReport, width: int
) -> None:
    browser, index = page_and_files
    browser.open(index, width=width)
    assert browser.complaints == []
    assert browser.requested_urls == [index.resolve().as_uri()]
    assert browser.value("document.title") == "Which ARKs persist? https://library.example/guide.html, 2026-11-20"


@needs_browser
@pytest.mark.parametrize("width", [1280, 360])
def test_style_and_charts_are_applied_and_nothing_sticks_out_of_the_window(
    page_and_files: PageAndReport, width: int
) -> None:
    browser, index = page_and_files
    browser.open(index, width=width)
    browser.value("document.querySelector('.charts').scrollIntoView()")
    browser.wait_for("document.querySelectorAll('.picture svg').length === 4")
    assert browser.value("document.querySelector('.picture svg').textContent.includes('12148')")
    assert browser.value("getComputedStyle(document.querySelector('thead th')).position") == "sticky"
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


@needs_browser
@pytest.mark.parametrize("width", [360, 700, 1000, 1160, 1280])
def test_no_tile_breaks_its_number(page_and_files: PageAndReport, width: int) -> None:
    browser, index = page_and_files
    browser.open(index, width=width)
    browser.value("document.querySelectorAll('.tile dd a').forEach(number => { number.textContent = '12,328'; })")
    heights = "[...document.querySelectorAll('.tile dd')].every(one => one.offsetHeight < 40)"
    assert browser.value(heights)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


LIVING = (
    "Promise.all([...document.querySelectorAll('details[data-table]')]"
    ".map(one => arkaudit.show(one.dataset.table))).then(() => null)"
)


@needs_browser
@pytest.mark.promise
def test_a_table_searches_filters_and_sorts(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index)
    browser.settled("arkaudit.show('arks').then(shown => { window.arks = shown.living; })")
    browser.value("arks.search('GALLICA.example broken').draw() && null")
    assert rows(browser, "arks") == ["ark:12148/btv1b8449691v"]
    assert browser.value("location.hash") == "#arks?q=GALLICA.example+broken"
    browser.value("arks.search('').draw() && null")
    select = "document.querySelector('[data-table=arks] select[name=family]')"
    browser.value(f"{select}.value = 'works', {select}.dispatchEvent(new Event('change')) && null")
    assert set(rows(browser, "arks")) == {"ark:12148/bpt6k107371t", "ark:12148/btv1b8449691v", "ark:99152/p0v"}
    browser.value(f"{select}.value = '', {select}.dispatchEvent(new Event('change')) && null")
    browser.value("arks.order([0, 'desc']).draw() && null")
    assert rows(browser, "arks")[0] == "ark:99999/fk4ks86n31"
    assert browser.value("document.querySelector('#table-arks th').getAttribute('aria-sort')") == "descending"
    assert browser.complaints == []


def saved_view(browser: Page, name: str) -> str:
    """Return the file that a table of the page saves, without its byte order mark."""
    browser.value("arkaudit.save = (name, text) => { window.saved = [name, text]; }; null")
    browser.value(f"document.querySelector('[data-export={name}]').click()")
    file, text = browser.value("window.saved")
    assert (file, text[0]) == (f"{name}.csv", "\N{ZERO WIDTH NO-BREAK SPACE}")
    return str(text[1:])


def as_shown(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a table that the page shows, in its order, with invisible characters spelled out."""
    [definition] = [table for table in TABLES if table.name == name]
    columns = [column.name for column in columns_of(definition) if table[column.name].notna().any()]
    shown = table[columns]
    texts = shown.select_dtypes(["str", "category"]).columns
    return shown.assign(**{text: shown[text].astype("str").map(escape_invisible, na_action="ignore") for text in texts})


@needs_browser
@pytest.mark.promise
def test_saved_view_has_the_shown_rows_and_columns(page_and_files: PageAndReport, tables: TablesByName) -> None:
    browser, index = page_and_files
    browser.open(index)
    browser.settled(LIVING)
    for name in (table.name for table in TABLES if len(tables[table.name])):
        assert saved_view(browser, name) == csv_text(as_shown(name, tables[name])), name
    box = "document.querySelector('[data-table=arks] .tools input[value=request_url]')"
    browser.value(f"{box}.click()")
    browser.settled("arkaudit.show('arks').then(shown => { shown.search('n2t', {family: 'works'}); })")
    browser.settled("arkaudit.show('arks').then(shown => { shown.living.order([0, 'desc']).draw(); })")
    arks = tables["arks"]
    chosen = arks[arks["family"].eq("works") & arks["request_url"].str.contains("n2t")].sort_values("ark")[::-1]
    assert len(chosen) > 1
    expected = as_shown("arks", arks).loc[chosen.index].drop(columns="request_url")
    assert saved_view(browser, "arks") == csv_text(expected)
    assert not browser.value(
        "[...document.querySelectorAll('#table-arks th')].some(th => th.innerText == 'request URL')"
    )
    browser.value("arkaudit.speak('de'); null")
    browser.settled("arkaudit.renewed()")
    assert saved_view(browser, "arks") == csv_text(expected), "a column stays hidden in another language"
    assert browser.complaints == []


@needs_browser
def test_saved_view_neutralizes_formulas_like_other_files(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index)
    signs = "=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
    before = [
        "", " ", "\t", "a;", "a;\t ", 'b\r\n"', "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH NO-BREAK SPACE}", "a", "\x0b;;",
    ]  # fmt: skip
    texts = [f"{first}{sign}1+1" for first in before for sign in signs] + ["-3,5", "é\u2028=x", "\\1'$1", '"', ""]
    browser.value(f"window.texts = {json.dumps(texts)}; null")
    script = """arkaudit.load('arks').then(table => {
        const column = Object.assign(table.column('object_evidence'), {texts, codes: Int32Array.from(texts.keys())});
        return table.csv([...texts.keys()], [column]);
    })"""
    assert browser.settled(script) == csv_text(pd.DataFrame({"object_evidence": pd.Series(texts, dtype="str")}))


@needs_browser
def test_twelve_failures_fit_on_a_screen(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index, width=1280, height=800, fragment="#failures")
    browser.settled("arkaudit.arrived()")
    measure = "(row => [row.getBoundingClientRect().top, row.offsetHeight])"
    top, height = browser.value(f"{measure}(document.querySelector('#table-failures tbody tr'))")
    heights = browser.value("[...document.querySelectorAll('#table-failures tbody tr')].map(row => row.offsetHeight)")
    assert set(heights) == {height}
    assert (800 - top) / height >= 12
    browser.value("document.querySelector('[data-table=failures] .tools label input:not([value])').click()")
    assert browser.value("document.querySelector('#table-failures tbody').offsetHeight") > sum(heights)


@needs_browser
@pytest.mark.promise
def test_a_deep_link_opens_one_ark_with_its_chain_its_citations_and_its_evidence(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index, fragment="#ark=ark%3A12148%2Fbtv1b8449691v")
    browser.settled("arkaudit.showArk()")
    told = browser.value("document.querySelector('dialog[open]').innerText")
    assert told.split("\n")[0] == "Close"
    assert "ark:12148/btv1b8449691v" in told
    assert "200 after one redirect" in told
    assert f"{BTV_AT_N2T} answered 302" in told
    assert f"{LANDING} answered 200" in told
    assert "Permanent: Stable Content" in told
    assert "Cited in 2 places" in told
    assert "Cite the ARK at the address that works" in told
    assert browser.value("document.activeElement.id") == "detail-name"
    browser.value("document.querySelector('dialog .close').click()")
    browser.wait_for("document.querySelector('dialog[open]') === null && !location.hash.includes('ark=')")
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("name", ["ark:/12148/btv1b8449691v", "ARK:12148/btv1b8449691v", "ark%3A12148%2Fbtv1b8449691v"])
def test_each_ark_has_a_link_that_can_be_copied(page_and_files: PageAndReport, name: str) -> None:
    browser, index = page_and_files
    browser.open(index, fragment=f"#ark={name}")
    browser.settled("arkaudit.showArk()")
    browser.value(
        "navigator.clipboard.writeText = async (text) => { window.pasted = text; }, "
        "document.querySelector('dialog .permalink button').click()"
    )
    browser.wait_for("document.querySelector('dialog .permalink button').textContent === 'Copied'")
    address = browser.value("window.pasted")
    assert address == f"{index.resolve().as_uri()}#ark=ark%3A12148%2Fbtv1b8449691v"
    browser.open(index, fragment=address.removeprefix(index.resolve().as_uri()))
    browser.settled("arkaudit.showArk()")
    assert "Cited in 2 places" in browser.value("document.querySelector('dialog[open]').innerText")


@needs_browser
def test_deep_link_to_a_missing_ark_is_reported(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index, fragment="#ark=<img src=x onerror=alert(1)>%E0%A4%A")
    browser.settled("arkaudit.showArk()")
    assert "contains no data about this ARK" in browser.value("document.querySelector('dialog[open]').innerText")
    assert browser.complaints == []


@needs_browser
def test_a_deep_link_leads_to_a_table_that_is_filtered(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index, fragment="#arks?family=fails&q=louvre%20museum")
    browser.settled("arkaudit.show('arks').then(() => null)")
    assert browser.value("document.querySelector('[data-table=arks] select[name=family]').value") == "fails"
    assert rows(browser, "arks") == ["No matching rows."]


@needs_browser
def test_an_ark_is_opened_by_keyboard_and_closed_by_escape(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index, fragment="#arks")
    browser.settled("arkaudit.arrived()")
    browser.value("document.querySelector('#table-arks tbody a.ark').focus()")
    browser.press("Enter", 13, text="\r")
    browser.wait_for("document.querySelector('dialog[open]') !== null")
    browser.press("Escape", 27)
    browser.wait_for("document.querySelector('dialog[open]') === null")
    assert browser.value("document.activeElement.className") == "ark"


@needs_browser
@pytest.mark.parametrize(("scheme", "width"), [pytest.param("light", 1400, marks=pytest.mark.promise), ("dark", 390)])
def test_axe_finds_no_barrier(page_and_files: PageAndReport, scheme: str, width: int) -> None:
    browser, index = page_and_files
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(index, width=width)
    browser.value("arkaudit.drawCharts()")
    assert barriers(browser) == []
    browser.settled(LIVING)
    browser.value("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    browser.value("document.querySelector('[data-tick]:not(:checked)').click()")
    assert barriers(browser) == []
    assert empty_headings(browser) == []
    filters = json.loads(browser.value(FILTERS))
    assert len(filters) == len(set(filters))
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    browser.value("location.hash = '#ark=' + encodeURIComponent('ark:12148/btv1b8449691v')")
    browser.wait_for("document.querySelector('dialog[open]') !== null")
    assert barriers(browser) == []
    browser.value("document.querySelector('dialog').append(document.createElement('img')), null")
    assert [name for name, _ in barriers(browser)] == ["image-alt"]  # axe does look


FILTERS = (
    "JSON.stringify([...document.querySelectorAll('[data-table=arks] .filters label span')].map(e => e.innerText))"
)


def empty_headings(browser: Page) -> list[str]:
    """Return the empty headings of columns and rows."""
    rule = "{runOnly: {type: 'rule', values: ['empty-table-header']}}"
    found: list[str] = browser.settled(
        f"axe.run(document, {rule}).then(result => result.violations.map(each => each.id))"
    )
    return found


@needs_browser
def test_the_page_prints_its_counts_and_its_charts_and_no_listing(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    browser.open(index)
    text = "\n".join(sheets(browser))
    assert "Which ARKs persist?" in text
    assert "Bibliothèque nationale de France 12148" in text
    assert "By organization" in text
    assert "Every request" not in text
    assert "A letter to send" not in text
    assert not browser.value("document.querySelectorAll('details[open]').length")


def sheets(browser: Page) -> list[str]:
    """Return the text of each sheet of paper that the page is printed on."""
    printed = browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
    return [
        sheet.get_textpage().get_text_range().replace("\r\n", "\n")
        for sheet in pypdfium2.PdfDocument(base64.b64decode(printed))
    ]


@needs_browser
def test_the_policy_stops_a_script_that_got_in(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    poisoned = index.with_name("poisoned.html")
    page_text = index.read_text("utf-8")
    poisoned.write_text(page_text.replace("</main>", "<script>document.title = 'owned'</script></main>"), "utf-8")
    browser.open(poisoned)
    assert browser.value("document.title") == "Which ARKs persist? https://library.example/guide.html, 2026-11-20"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


@needs_browser
def test_the_page_is_dark_for_those_who_prefer_dark(page_and_files: PageAndReport) -> None:
    browser, index = page_and_files
    colours = {}
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(index)
        colours[scheme] = browser.value("getComputedStyle(document.body).backgroundColor")
    assert colours == {"light": "rgb(252, 251, 248)", "dark": "rgb(21, 24, 29)"}
