"""The command `overview`, and its page in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.languages import LANGUAGES
from tests.real.browser import Page, barriers, browser_page, needs_browser
from tests.real.loopback import run_command
from tests.unit.features.overview import test_overview
from tests.unit.features.overview.test_overview import rows_of

config = test_overview.config

site = test_overview.site


def test_overview_without_audits_or_a_folder_is_one_line(tmp_path: Path) -> None:
    config = tmp_path / "arkaudit.toml"
    for text, arguments, said in (
        ("", ("--out", tmp_path / "site"), "has no named audit"),
        ("[audits.x]", (), "name the folder of the overview by --out"),
    ):
        config.write_text(text)
        done = run_command("overview", "-c", config, *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["arkaudit.toml"]


@pytest.mark.promise
def test_command_writes_the_overview(config: Path, tmp_path: Path) -> None:
    done = run_command("overview", "-c", config, "--out", tmp_path / "site")
    assert done.returncode == 2
    said = dict(line.split(": ", 2)[1:] for line in done.stderr.splitlines()[:3])
    assert (list(said), said["new"]) == (["new", "damaged", "old"], "has no run yet")
    assert sorted(rows_of(tmp_path / "site")) == ["damaged", "maps", "new", "old", "theses"]


# -- a real browser


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Page]:
    with browser_page() as page:
        yield page


@needs_browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.promise
def test_overview_has_no_barrier_and_fits(browser: Page, site: Path, scheme: str, width: int) -> None:
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(site / "index.html", width=width)
    assert barriers(browser) == []
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(252, 251, 248)", "dark": "rgb(21, 24, 29)"}[scheme]
    assert browser.complaints == []
    assert browser.requested_urls == [(site / "index.html").resolve().as_uri()]


@needs_browser
def test_script_updates_ages_in_every_language(browser: Page, site: Path) -> None:
    browser.open(site / "index.html", width=390)
    assert browser.value("document.querySelector('#theses').classList.contains('late')"), "by the clock of the reader"
    for code, begins in (("fr", "il y a"), ("de", "vor"), ("es", "hace"), ("en", "")):
        browser.value(f"arkaudit.speak({code!r})")
        assert browser.value("document.querySelector('#theses .age').textContent").startswith(begins)
        assert browser.value("document.querySelector('h1').textContent") == LANGUAGES[code].gettext("ARK audits")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
