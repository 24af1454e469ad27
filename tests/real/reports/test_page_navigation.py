"""Where the links of the page lead: each arrives at its heading, at any width, whatever grows on the way."""

import json
from collections.abc import Iterator

import pytest

from reports.exports import write_report
from reports.store.frames import Frames
from tests.real.browser import Page, PageAndReport, browser_page, needs_browser
from tests.unit.reports.test_report_page import rows

#: Largest distance of a heading from the navigation after a link to it, in CSS pixels.
MOST_PX = 16
WIDTHS = [1400, 390]


@pytest.fixture(scope="module")
def page_and_folder(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageAndReport]:
    folder = tmp_path_factory.mktemp("navigation")
    index = write_report(frames, folder / "report", ["html"]).files[0]
    with browser_page() as browser:
        yield browser, index


def links_of(browser: Page) -> list[str]:
    """Return the targets of links within the page, once each."""
    hrefs = "[...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href'))"
    links: list[str] = json.loads(browser.value(f"JSON.stringify([...new Set({hrefs})])"))
    return [link for link in links if not link.startswith("#ark=") and link != "#report"]


def click(browser: Page, link: str) -> None:
    """Click a link to *link*, and wait until the page has come to rest."""
    browser.value(f"document.querySelector('a[href=\"{link}\"]').click()")
    browser.settled("arkaudit.arrived()")


def place_px(browser: Page, link: str) -> float:
    """Return the distance of the heading that *link* names from the top of the window, in CSS pixels."""
    name = link.removeprefix("#").partition("?")[0]
    return float(browser.value(f"document.getElementById('{name}').getBoundingClientRect().top"))


def below_bar_px(browser: Page, link: str) -> float:
    """Return the distance of that heading from the navigation, which stays on top, in CSS pixels."""
    return place_px(browser, link) - float(browser.value("document.querySelector('body > nav').offsetHeight"))


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_every_link_arrives_at_its_heading(page_and_folder: PageAndReport, width: int) -> None:
    browser, index = page_and_folder
    browser.open(index, width=width)
    links = links_of(browser)
    assert len(links) > 18
    for link in links:
        click(browser, link)
        assert 0 <= below_bar_px(browser, link) <= MOST_PX, link
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_every_heading_can_be_opened_by_its_address(page_and_folder: PageAndReport, width: int) -> None:
    browser, index = page_and_folder
    browser.open(index, width=width)
    names = browser.value("JSON.stringify([...document.querySelectorAll('main h2, main h3[id]')].map(h => h.id))")
    for name in json.loads(names)[::4]:  # one of each kind is enough: each opens the page again
        browser.open(index, width=width, fragment=f"#{name}")
        browser.settled("arkaudit.arrived()")
        browser.value("arkaudit.drawCharts()")
        assert 0 <= below_bar_px(browser, name) <= MOST_PX, name


@needs_browser
def test_address_of_a_cause_leads_to_its_card(page_and_folder: PageAndReport) -> None:
    browser, index = page_and_folder
    cards = {"unreachable-host%7Cnobody%7Cslow.example%7C": "H3", "dead-host%7C%": "H2"}
    for key, heading in cards.items():
        browser.open(index, fragment=f"#cause={key}")
        browser.settled("arkaudit.arrived()")
        focused = browser.value("[document.activeElement.tagName, document.activeElement.textContent]")
        assert (focused[0], "slow.example" in focused[1]) == (heading, heading == "H3")
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_causes_to_act_on_are_on_the_first_screen(page_and_folder: PageAndReport, width: int) -> None:
    browser, index = page_and_folder
    browser.open(index, width=width)
    assert place_px(browser, "#to-act-on") < 640  # a small phone shows 660


@needs_browser
def test_navigation_stays_and_marks_the_section(page_and_folder: PageAndReport) -> None:
    browser, index = page_and_folder
    browser.open(index, width=390)
    for name in ("#services-given", "#to-act-on", "#the-audit"):
        click(browser, name)
        browser.wait_for(f"document.querySelector('nav [aria-current]')?.hash === '{name}'")
        [left, right] = browser.value(
            "(() => { const box = document.querySelector('nav [aria-current]').getBoundingClientRect();"
            " return [box.left, box.right]; })()"
        )
        assert left >= 0
        assert right <= 390
        assert browser.value("document.querySelector('body > nav').getBoundingClientRect().top") == 0


@needs_browser
def test_a_tile_leads_to_the_rows_that_it_counts(page_and_folder: PageAndReport) -> None:
    browser, index = page_and_folder
    browser.open(index)
    told = json.loads(
        browser.value(
            "JSON.stringify([...document.querySelectorAll('.tile a')].map(a => [a.getAttribute('href'), a.innerText]))"
        )
    )
    counted = {link: int(number) for link, number in told if link.startswith("#arks")}
    assert len(counted) == 7
    for link, number in counted.items():
        click(browser, link)
        found = [ark for ark in rows(browser, "arks") if ark.startswith("ark:")]
        assert len(set(found)) == number, link
    click(browser, "#arks?metadata=erc&metadata=html&metadata=structured")
    chosen = browser.value("document.querySelector('[data-table=arks] select[name=metadata]').selectedOptions[0].text")
    assert chosen == "erc, html, structured"


@needs_browser
@pytest.mark.parametrize("is_living", [False, True])
def test_the_row_of_a_document_leads_to_its_places_to_fix(page_and_folder: PageAndReport, is_living: bool) -> None:
    browser, index = page_and_folder
    browser.open(index)
    if is_living:
        click(browser, "#documents")
    table = "document.querySelector('[data-table=documents]')"
    links = json.loads(
        browser.value(
            f"JSON.stringify([...{table}.querySelectorAll('td a[href*=document]')].map(a => "
            "[a.getAttribute('href'), a.textContent]))"
        )
    )
    assert [text for _, text in links] == ["2", "2"]
    for link, _ in links:
        click(browser, link)
        assert len(rows(browser, "failures")) == 2, link


@needs_browser
def test_filter_of_a_link_can_be_removed(page_and_folder: PageAndReport) -> None:
    browser, index = page_and_folder
    browser.open(index)
    link = "#failures?number=1"
    click(browser, link)
    shown = rows(browser, "failures")
    whole = "document.querySelector('[data-table=failures] .whole')"
    assert not browser.value(f"{whole}.hidden")
    browser.value(f"{whole}.click()")
    assert len(rows(browser, "failures")) > len(shown)
    assert browser.value("location.hash") == "#failures"
    assert browser.value(f"{whole}.hidden")
    assert browser.value("document.activeElement.tagName") == "SUMMARY"


@needs_browser
def test_a_link_leads_there_again_after_the_reader_has_gone_elsewhere(page_and_folder: PageAndReport) -> None:
    browser, index = page_and_folder
    browser.open(index, width=390)
    for _ in range(2):
        click(browser, "#arks?ark_family=fails")
        assert rows(browser, "arks") == ["ark:53355/cl010120339"]
        browser.value("scrollTo(0, 0), null")
    browser.value("document.querySelector('[data-table=arks]').open = false")
    click(browser, "#arks?ark_family=fails")
    assert browser.value("document.querySelector('[data-table=arks]').open")


@needs_browser
@pytest.mark.parametrize("fragment", ["#nothing", "#arks?%E0%A4%A=x&q=%00", "#ark", "#-", "#data-arks?x=y"])
def test_a_link_that_leads_nowhere_does_no_harm(page_and_folder: PageAndReport, fragment: str) -> None:
    browser, index = page_and_folder
    browser.open(index, fragment=fragment)
    browser.settled("arkaudit.arrived()")
    assert browser.complaints == []


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_wide_table_keeps_its_first_column_and_shows_overflow(page_and_folder: PageAndReport, width: int) -> None:
    browser, index = page_and_folder
    browser.open(index, width=width)
    click(browser, "#arks")
    frame = "document.querySelector('[data-table=arks] .scroll')"
    assert not browser.value("document.querySelector('[data-table=arks] .sideways').hidden")
    first = f"{frame}.querySelector('tbody th').getBoundingClientRect()"
    before = browser.value(f"{first}.left")
    browser.value(f"{frame}.scrollLeft = 300, null")
    assert browser.value(f"{first}.left") == before
    assert browser.value(f"{first}.width") <= width / 2
    browser.value(f"{frame}.scrollLeft = 100000, null")
    browser.wait_for("document.querySelector('[data-table=arks] .sideways').hidden")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
