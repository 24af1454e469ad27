"""The charts over time of several runs: their data, their words and numbers, and their drawing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from lxml import etree

from crawler.store.store import Store
from reports.exports import write_report
from reports.languages import ENGLISH
from reports.page.charts import CHART_TABLES, Chart, alive_of, charts_of, survival_of
from reports.page.document import page
from reports.store.frames import Frames, load_frames
from reports.tables.persistence import runs
from reports.tables.report_tables import Tables
from tests.browser import Page, PageAndReport, barriers, browser_page, needs_browser
from tests.report_world import write_world
from tests.test_history import GUIDE, ONE, OTHER, audit
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Two ARKs that work; a month later one of them is gone, and is confirmed to be in the fourth run."""
    path = tmp_path_factory.mktemp("years") / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 200})
        for day in (30, 33, 38):
            audit(store, day, answers={ONE: 404, OTHER: 200}, seeds=[])
        audit(store, 46, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 404, OTHER: 200})
    return load_frames(path)


@pytest.fixture(scope="module")
def charts(frames: Frames) -> dict[str, Chart]:
    tables = Tables(frames)
    return {chart.name: chart for name in CHART_TABLES for chart in charts_of(name, tables[name], frames, ENGLISH)}


def test_the_share_alive_is_that_of_the_runs(charts: dict[str, Chart]) -> None:
    chart = charts["share-alive"]
    assert [share for _, share in chart.drawing["lines"][0]["points"]] == [1.0, 0.5, 0.5, 0.5, 0.5]
    assert [share for _, share in chart.drawing["lines"][1]["points"]] == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert "went from 100.0 % (2 of 2) after run 1 to 50.0 % (1 of 2) after run 5; " in chart.alt
    assert "50.0 % (1 of 2) are not confirmed broken." in chart.alt


@needs_browser
def test_runs_of_one_day_differ_by_the_minute(tmp_path: Path, frames: Frames) -> None:
    of_runs = frames.timeline.runs
    hours = pd.to_timedelta(range(len(of_runs)), unit="h")
    close = of_runs.assign(started_at=of_runs["started_at"].iloc[0] + hours)
    worlds = {"close": replace(frames, timeline=replace(frames.timeline, runs=close)), "apart": frames}
    drawn = {}
    with browser_page() as browser:
        for name, world in worlds.items():
            browser.open(write_report(world, tmp_path / name, ["html"]).files[0], width=1400)
            browser.value("arkaudit.drawCharts()")
            browser.wait_for("document.querySelectorAll('.picture svg text').length > 20")
            drawn[name] = browser.value("document.querySelector('.chart-share-alive svg').textContent")
    assert "01-01 04:00" in drawn["close"]
    assert "2026-02-01" in drawn["apart"]


def test_a_survival_curve_stands_beside_its_numbers_at_risk(charts: dict[str, Chart]) -> None:
    chart = charts["survival-naan"]
    assert chart.drawing["lines"][0] == {"name": "all", "points": [(0, 1.0), (30, 0.5), (46, 0.5)]}
    assert "(Kaplan-Meier): share of 2 links still working" in chart.alt
    assert "At the end: all 50.0 %" in chart.alt


def test_single_check_has_no_curve(frames: Frames) -> None:
    tables = Tables(frames)
    assert alive_of(runs(frames.timeline).head(1), ENGLISH) is None
    assert survival_of(tables["survival"].assign(days=0), "naan", ENGLISH) is None
    assert survival_of(tables["survival"].head(0), "resolver", ENGLISH) is None


def test_only_the_greatest_groups_are_drawn(frames: Frames) -> None:
    survival = Tables(frames)["survival"]
    one = survival[survival["grouping"].eq("naan")]
    many = [one.assign(group=str(10_000 + number), at_risk=one["at_risk"] + number) for number in range(9)]
    chart = survival_of(pd.concat([survival, *many]), "naan", ENGLISH)
    assert chart is not None
    assert [line["name"] for line in chart.drawing["lines"]] == ["all", "10008", "10007", "10006", "10005", "10004"]


@pytest.mark.parametrize(
    ("lowest", "foot"),
    [
        pytest.param(0.993, 0.95, id="an axis does not begin so high that a hair's breadth looks like ruin"),
        pytest.param(0.72, 0.7, id="an axis begins where there is something to see"),
        pytest.param(0.49, 0.0, id="where half is lost the axis begins at nothing"),
    ],
)
def test_axis_without_zero_is_marked(frames: Frames, lowest: float, foot: float) -> None:
    survival = Tables(frames)["survival"]
    curves = survival.assign(survival=survival["survival"].clip(lower=lowest))
    chart = survival_of(curves, "resolver", ENGLISH)
    assert chart is not None
    assert chart.drawing["foot"] == foot
    assert (f"The axis begins at {100 * foot:.0f} %." in chart.alt) == (foot > 0)


def test_numbers_at_risk_stand_on_the_page(frames: Frames) -> None:
    soup = BeautifulSoup(page(frames, Tables(frames)), "html.parser")
    at_risk = [cell.text for cell in soup.select(".chart-survival-naan > .numbers tr > *")]
    assert at_risk[:6] == ["", "0 days", "15 days", "31 days", "46 days", "share still working (95 %)"]
    assert at_risk[6:11] == ["all", "2", "2", "1", "1"]
    runs = [cell.text for cell in soup.select(".chart-share-alive tr:last-child > *")]
    assert runs[-7:] == ["5", "2026-02-16", "1", "0", "1", "50.0 %", ""]


# -- in a real browser


@pytest.fixture(scope="module")
def chart_page(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> Iterator[PageAndReport]:
    folder = tmp_path_factory.mktemp("browser")
    index = write_report(frames, folder / "report", ["html"]).files[0]
    with browser_page() as browser:
        yield browser, index


@needs_browser
@pytest.mark.parametrize("width", [1280, 360])
def test_every_chart_is_drawn_and_nothing_sticks_out(chart_page: PageAndReport, width: int) -> None:
    browser, index = chart_page
    browser.open(index, width=width)
    browser.value("arkaudit.drawCharts()")
    browser.wait_for("document.querySelectorAll('.picture svg').length === 7")
    assert browser.value("document.querySelector('.chart-share-alive svg').textContent.includes('100 %')")
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.complaints == []


#: Texts of a chart that stick out of its picture, and pairs of texts that overlap.
TEXTS_AMISS = """(() => {
  const amiss = [];
  for (const svg of document.querySelectorAll('.picture svg')) {
    const whole = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([text, box], at) => {
      const isIn = box.left > whole.left - 1 && box.right < whole.right + 1;
      if (!isIn || box.top < whole.top - 1 || box.bottom > whole.bottom + 1) amiss.push(['cut', text]);
      for (const [other, there] of texts.slice(at + 1)) {
        const isBeside = box.left > there.right - 1 || there.left > box.right - 1;
        if (!isBeside && box.top < there.bottom - 3 && there.top < box.bottom - 3) amiss.push([text, other]);
      }
    });
  }
  return JSON.stringify(amiss);
})()"""


@needs_browser
def test_no_text_of_a_chart_is_cut_or_covered_by_another(tmp_path: Path, chart_page: PageAndReport) -> None:
    browser, index = chart_page
    others = [write_report(each, tmp_path / name, ["html"]).files[0] for name, each in odd_worlds(tmp_path).items()]
    for each, width in product((index, *others), (1400, 390)):
        browser.open(each, width=width)
        height = browser.value("document.documentElement.scrollHeight")
        browser.value("arkaudit.drawCharts()")
        browser.wait_for("document.querySelectorAll('.picture svg text').length > 20")
        assert json.loads(browser.value(TEXTS_AMISS)) == []
        assert browser.value("document.documentElement.scrollHeight") == height  # room was kept for them
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")


@needs_browser
def test_room_is_measured_in_the_drawn_font(chart_page: PageAndReport) -> None:
    browser, index = chart_page
    browser.open(index, width=1400)
    browser.value(
        """(() => {
          const pen = CanvasRenderingContext2D.prototype, measure = pen.measureText;
          window.fonts = {};
          pen.measureText = function (text) {
            if (text.length > 1) window.fonts[this.font.replace(/^[^"]*?px /, "")] = text;
            return measure.call(this, text);
          };
        })()"""
    )
    browser.value("arkaudit.drawCharts()")
    browser.wait_for("document.querySelectorAll('.picture svg text').length > 20")
    assert list(json.loads(browser.value("JSON.stringify(window.fonts)"))) == [
        browser.value("getComputedStyle(document.body).fontFamily")
    ]


def odd_worlds(folder: Path) -> dict[str, Frames]:
    """Return reports about organizations and hosts with names that are hard to draw."""
    world = load_frames(write_world(folder / "world.sqlite"))
    named = world.registered["naan"].eq("12148")
    landed = world.verdicts["final_url"].notna()
    odd = {
        "long": (
            "Institut de recherche et d’histoire des textes du Centre national de la recherche, Orléans",
            "a.example",
        ),
        "word": ("x" * 300, f"{'.'.join(['subdomain' * 6] * 4)}.example"),
        "wide": ("国立国会図書館デジタルコレクション" * 4, "xn--" + "8" * 59 + ".example"),
    }
    return {
        name: replace(
            world,
            registered=world.registered.assign(organization=world.registered["organization"].mask(named, organization)),
            verdicts=world.verdicts.assign(final_url=world.verdicts["final_url"].mask(landed, f"https://{host}/")),
        )
        for name, (organization, host) in odd.items()
    }


@needs_browser
def test_charts_are_redrawn_when_a_phone_is_turned(chart_page: PageAndReport) -> None:
    browser, index = chart_page
    for before, after in ((844, 390), (390, 844)):
        browser.open(index, width=before)
        browser.value("arkaudit.drawCharts()")
        size = {"width": after, "height": before, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
        browser.wait_for(f"document.querySelector('.chart-arks-by-naan svg').getBoundingClientRect().right < {after}")
        browser.settled("new Promise(requestAnimationFrame)")
        assert json.loads(browser.value(TEXTS_AMISS)) == []
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")


@needs_browser
def test_a_chart_is_saved_as_a_picture_of_its_own(chart_page: PageAndReport, charts: dict[str, Chart]) -> None:
    browser, index = chart_page
    browser.open(index)
    for name, chart in charts.items():
        root = etree.fromstring(browser.value(f"arkaudit.picture('{name}').text").encode())
        texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert chart.title in texts
        assert " ".join(texts).endswith(chart.alt)
        assert not [value for each in root.iter() for value in each.attrib.values() if "http" in value]
    [size, kind] = browser.settled("arkaudit.pixels('arks-by-naan').then(blob => [blob.size, blob.type])")
    assert kind == "image/png"
    assert size > 5_000
    browser.value(
        "arkaudit.save = (name, content, type) => { window.saved = [name, type]; }, "
        "document.querySelector('[data-save=png][data-chart=arks-by-naan]').click()"
    )
    browser.wait_for("window.saved !== undefined")
    assert browser.value("window.saved") == ["arks-by-naan.png", "image/png"]
    assert browser.complaints == []


@needs_browser
def test_a_browser_saves_pictures_and_the_check_list_as_files(tmp_path: Path, chart_page: PageAndReport) -> None:
    browser, index = chart_page
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(index)
    for button, name, begins in (
        ("[data-save=svg][data-chart=arks-by-naan]", "arks-by-naan.svg", b"<svg "),
        ("[data-save=png][data-chart=arks-by-naan]", "arks-by-naan.png", b"\x89PNG"),
        ("[data-check-list=save]", "to-act-on.md", b"# To act on: "),
    ):
        browser.value(f"document.querySelector('{button}').click()")
        wait_until((tmp_path / name).exists, f"{name} was saved")
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_life_of_an_ark_is_drawn_and_can_be_read(chart_page: PageAndReport, scheme: str) -> None:
    browser, index = chart_page
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    ark = frames_ark(browser, index)
    browser.value(f"location.hash = '#ark=' + encodeURIComponent('{ark}')")
    browser.wait_for("document.querySelector('dialog .life svg') !== null")
    assert browser.value("document.querySelector('dialog .life svg').textContent.includes('fails')")
    told = browser.value("document.querySelector('dialog').innerText")
    assert "5 checks" in told
    assert told.count("broken") >= 4
    assert barriers(browser) == []
    assert browser.complaints == []


def frames_ark(browser: Page, index: Path) -> str:
    """The ARK that fails, as the page has it."""
    browser.open(index)
    return str(browser.settled("arkaudit.load('arks').then(arks => arks.column('ark').text(0))"))


@needs_browser
def test_axe_finds_no_barrier_among_the_charts(chart_page: PageAndReport) -> None:
    browser, index = chart_page
    browser.open(index)
    browser.value("arkaudit.drawCharts()")
    assert barriers(browser) == []
