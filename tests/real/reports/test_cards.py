"""The cards of causes in a browser, and the commands that they show."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.exports import write_report
from reports.page.cards import action_cards
from reports.store.frames import Frames, load_frames
from reports.store.known_problems import read_known
from reports.tables.report_tables import Tables
from tests.real.browser import Page, browser_page, needs_browser
from tests.real.loopback import run_command

# -- commands


def test_the_command_makes_it_a_known_problem(world_store: Path, frames: Frames, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    cards = action_cards(frames, Tables(frames), 9)
    assert [card.row["cause"] for card in cards] == ["unknown-naan", "refused-here", "unreachable-host"]
    for left, card in zip((2, 1, 0), cards, strict=True):
        name, *arguments = shlex.split(card.command)
        assert name == "arkaudit"
        assert arguments[-1] == "world.sqlite"
        done = run_command(*arguments[:-1], world_store, "--known", known)
        assert done.returncode == 0, done.stderr
        assert len(Tables(load_frames(world_store, known_list=read_known(known)))["causes"]) == left


@pytest.fixture(scope="module")
def page_and_folder(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> Iterator[tuple[Page, Path]]:
    folder = tmp_path_factory.mktemp("browser")
    index = write_report(frames, folder / "report", ["html"]).files[0]
    with browser_page() as browser:
        yield browser, index


@needs_browser
def test_cards_are_ticked_off_by_keyboard_and_stay_so(page_and_folder: tuple[Page, Path]) -> None:
    browser, index = page_and_folder
    browser.open(index)
    assert browser.value("document.querySelector('.check-list [role=status]').textContent") == "0 of 3 done"
    browser.value("document.querySelectorAll('[data-tick]')[1].focus()")
    browser.press(" ", 32, text=" ")
    assert browser.value("document.querySelector('.check-list [role=status]').textContent") == "1 of 3 done"
    lines = browser.value("arkaudit.checkList()").splitlines()
    assert [line[:5] for line in lines[2:]] == ["- [ ]", "- [x]", "- [ ]"]
    browser.open(index)
    assert browser.value("document.querySelector('.check-list [role=status]').textContent") == "1 of 3 done"
    browser.value("document.querySelectorAll('[data-tick]')[1].click()")
    assert browser.value("arkaudit.checkList().includes('[x]')") is False
    assert browser.complaints == []
    assert browser.requested_urls == [index.resolve().as_uri()]


@needs_browser
def test_a_letter_can_be_changed_and_copied(page_and_folder: tuple[Page, Path]) -> None:
    browser, index = page_and_folder
    browser.open(index)
    browser.value("document.querySelector('.actions details').open = true")
    browser.value("document.getElementById('letter-1').value += '\\nAnna'")
    browser.value(
        "navigator.clipboard.writeText = async (text) => { window.pasted = text; }, "
        "document.querySelector('[data-copy=letter-1]').click()"
    )
    browser.wait_for("document.querySelector('[data-copy=letter-1]').textContent === 'Copied'")
    pasted = browser.value("window.pasted")
    assert pasted.startswith("Dear colleagues,")
    assert pasted.endswith("\nAnna")
    assert "ark:53355/cl010120339" in pasted


@needs_browser
def test_blocked_clipboard_is_reported(page_and_folder: tuple[Page, Path]) -> None:
    browser, index = page_and_folder
    browser.open(index)
    browser.value(
        "navigator.clipboard.writeText = () => Promise.reject(new Error('no')), document.execCommand = () => false, "
        "document.querySelector('[data-check-list=copy]').click()"
    )
    browser.wait_for("document.querySelector('[data-check-list=copy]').textContent.includes('select the text')")


@needs_browser
def test_cards_name_their_places(page_and_folder: tuple[Page, Path]) -> None:
    browser, index = page_and_folder
    browser.open(index)
    told = json.loads(
        browser.value("JSON.stringify([...document.querySelectorAll('.actions .show a')].map(a => a.textContent))")
    )
    assert told == ["Show 2 citations", "Show 1 citation", "Show 1 citation"]


@needs_browser
def test_without_scripts_the_page_says_what_to_do_and_offers_no_button_that_does_nothing(
    page_and_folder: tuple[Page, Path],
) -> None:
    browser, index = page_and_folder
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(index)
        told = browser.value("document.querySelector('.actions').innerText")
        assert "Ask the organization of this NAAN" in told
        assert "Done" not in told
        assert not browser.value("[...document.querySelectorAll('button')].some(each => each.offsetParent)")
        browser.value("document.querySelector('[data-table=arks]').open = true")
        assert "ark:53355/cl010120339" in browser.value("document.querySelector('[data-table=arks]').innerText")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
