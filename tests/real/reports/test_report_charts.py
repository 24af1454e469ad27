"""The charts of a report, drawn in a browser."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from lxml import etree

from reports.exports import write_report
from reports.page.charts import Chart
from reports.store.frames import Frames, load_frames
from tests.real.browser import Page, PageAndReport, barriers, browser_page, needs_browser
from tests.real.waiting import wait_until
from tests.report_world import write_world
from tests.unit.reports import test_report_charts

charts = test_report_charts.charts

frames = test_report_charts.frames


# -- in a real browser


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
