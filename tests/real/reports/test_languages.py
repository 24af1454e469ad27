"""The language of a page: chosen by option, configuration, browser or reader."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from reports.languages import LANGUAGES, NAMES
from reports.languages.display import ColumnType
from reports.tables.report_tables import DEFINITIONS
from tests.real.browser import Page, barriers, browser_page, needs_browser
from tests.real.loopback import run_command
from tests.real.reports.test_report_charts import TEXTS_AMISS
from tests.real.reports.test_report_page import LIVING
from tests.unit.reports import test_languages
from tools.catalogues import TRANSLATED

language_pages = test_languages.language_pages


def test_the_language_of_a_report_is_asked_for_by_option_or_configuration(
    world_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "fr_CA.UTF-8")
    config = tmp_path / "arkaudit.toml"
    config.write_text(f'store = "{world_store}"\n[report]\nlang = "es"\n', "utf-8")
    arguments = ("report", "--store", world_store, "--format", "md", "--out", "-")
    assert run_command(*arguments).stdout.startswith("# Which ARKs persist?"), "not by the environment"
    assert run_command(*arguments, "--lang", "auto").stdout.startswith("# Quels ARK sont pérennes")
    assert run_command(*arguments, "-c", config, "--lang", "de").stdout.startswith("# Welche ARKs sind beständig?")
    done = run_command("report", "-c", config, "--format", "md", "--out", tmp_path / "report")
    assert done.stdout.startswith("1 de 4 ARK evaluados falla;")
    assert "el informe está en" in done.stderr
    assert (tmp_path / "report" / "report.md").read_text("utf-8").startswith("# ¿Qué ARK")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page() as page:
        yield page


#: All texts of a page before it is used, with attributes.
SAID = """JSON.stringify([document.title, document.documentElement.lang,
  document.body.innerText,
  [...document.querySelectorAll('textarea, input')].map(each => each.value),
  [...document.querySelectorAll('[aria-label], [title], a')].map(
    each => [each.getAttribute('aria-label'), each.title, each.getAttribute('href')])])"""


@needs_browser
def test_switched_page_equals_one_written_in_that_language(browser: Page, language_pages: dict[str, Path]) -> None:
    said = {}
    for code in NAMES:
        browser.open(language_pages[code])
        said[code] = browser.value(SAID)
        assert browser.value("document.getElementById('language').value") == code
    for code, following in pairwise([*NAMES, *NAMES][: len(NAMES) + 1]):
        browser.open(language_pages[code])
        for other in (following, code):
            browser.value(f"arkaudit.speak({other!r})")
            assert browser.value(SAID) == said[other], (code, other)
        assert browser.complaints == []
        assert browser.requested_urls == [language_pages[code].resolve().as_uri()]


@needs_browser
def test_the_browser_chooses_unless_a_language_was_asked_for(browser: Page, language_pages: dict[str, Path]) -> None:
    agent = browser.value("navigator.userAgent")
    for asked, language_choice in {
        "de-AT,fr;q=0.5": "de",
        "it,es-MX;q=0.8": "es",
        "nl,it": "en",
        "EN-gb,fr": "en",
    }.items():
        browser.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=asked)
        browser.open(language_pages["any"])
        assert browser.value("document.documentElement.lang") == language_choice
        browser.open(language_pages["fr"])
        assert browser.value("document.documentElement.lang") == "fr"
    browser.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage="en-US,en")


def choose(browser: Page, code: str) -> None:
    """Choose a language as a reader does."""
    browser.value(
        f"(select => {{ select.value = {code!r}; select.dispatchEvent(new Event('change')); }})"
        "(document.getElementById('language'))"
    )


@needs_browser
def test_a_choice_is_kept_and_what_was_done_stays(browser: Page, language_pages: dict[str, Path]) -> None:
    browser.open(language_pages["any"], fragment="#arks?q=gallica&family=works")
    browser.settled("arkaudit.arrived()")
    browser.value("document.getElementById('letter-1').value += 'Anna'")
    browser.value("document.querySelectorAll('[data-tick]')[0].click()")
    rows = "document.querySelectorAll('[data-table=arks] tbody tr').length"
    found = browser.value(rows)
    choose(browser, "fr")
    browser.settled("arkaudit.renewed()")
    assert browser.value("document.documentElement.lang") == "fr"
    assert browser.value("document.querySelector('h1').textContent").startswith("Quels ARK")
    assert browser.value("document.querySelector('.check-list [role=status]').textContent") == "1 sur 3 traitées"
    assert browser.value("arkaudit.checkList().includes('- [x] **le résolveur ne résout aucun ARK')")
    assert browser.value("document.getElementById('letter-1').value").endswith(
        "Anna"
    )  # a letter that was changed stays
    assert browser.value(rows) == found
    table = browser.value("document.querySelector('[data-table=arks]').innerText")
    assert "Rechercher" in table
    assert "fonctionne" in table
    assert browser.value("document.querySelector('[data-table=arks] input[type=search]').value") == "gallica"
    browser.open(language_pages["de"], fragment="#ark=ark:12148/btv1b8449691v")
    assert browser.value("document.documentElement.lang") == "fr"
    browser.wait_for("document.querySelector('dialog[open]').innerText.includes('Redirections vers l’objet')")
    choose(browser, "es")
    browser.wait_for("document.querySelector('dialog[open]').innerText.includes('Redirecciones hasta el objeto')")
    browser.value("localStorage.clear()")
    assert browser.complaints == []


@needs_browser
def test_a_browser_that_keeps_nothing_still_lets_choose(browser: Page, language_pages: dict[str, Path]) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=refuse)["identifier"]
    try:
        browser.open(language_pages["any"])
        choose(browser, "de")
        assert browser.value("document.documentElement.lang") == "de"
        assert browser.complaints == []
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@needs_browser
def test_without_scripts_the_page_is_in_the_language_that_it_is_written_in(
    browser: Page, language_pages: dict[str, Path]
) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for name, code in {"any": "en", "es": "es"}.items():
            browser.open(language_pages[name])
            assert browser.value("document.documentElement.lang") == code
            assert not browser.value("document.getElementById('language').offsetParent")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


VALUES = [0, 1, 2, 5, 11, 999, 1000, 1234, 9999, 10000, 12345, 1234567]

FRACTIONS = [0.0, 0.125, 0.0005, 0.4445, 0.6665, 0.875, 0.99949, 1.005, 2.675, 1234.565, 98765.4321]

MOMENTS = ["2026-11-01T08:05:09Z", "1999-12-31T23:59:59Z"]


@needs_browser
def test_scripts_and_python_write_numbers_and_days_alike(browser: Page, language_pages: dict[str, Path]) -> None:
    browser.open(language_pages["any"])
    for code, language in LANGUAGES.items():
        browser.value(f"arkaudit.speak({code!r})")
        for kind, values in {"count": VALUES, "number": FRACTIONS, "share": FRACTIONS}.items():
            told = json.loads(browser.value(f"JSON.stringify({json.dumps(values)}.map(arkaudit.shown.{kind}))"))
            assert told == [language.format_cell(value, ColumnType(kind)) for value in values], (code, kind)
        told = json.loads(
            browser.value(f"JSON.stringify({json.dumps(MOMENTS)}.map(Date.parse).map(arkaudit.shown.moment))")
        )
        assert told == [language.moment(pd.Timestamp(moment)) for moment in MOMENTS]
        chosen = json.loads(
            browser.value(f"JSON.stringify({VALUES}.map(each => new Intl.PluralRules({code!r}).select(each)))")
        )
        forms = language.forms({"one": "{number} citation", "many": "{number} citations"})
        assert [language.ngettext("{number} citation", "{number} citations", value) for value in VALUES] == [
            forms.get(name, forms["other"]).format(number=language.number(value))
            for name, value in zip(chosen, VALUES, strict=True)
        ]


@needs_browser
def test_column_headings_are_explained_in_the_page_language(browser: Page, language_pages: dict[str, Path]) -> None:
    browser.open(language_pages["any"])
    browser.settled("arkaudit.show('naans').then(() => null)")
    told = "[...document.querySelectorAll('#table-naans th[title]')].map(cell => cell.title)[0]"
    for code, language in LANGUAGES.items():
        browser.value(f"arkaudit.speak({code!r})")
        browser.settled("arkaudit.renewed()")
        assert browser.value(told) == language.gettext(DEFINITIONS["naans"].columns[0].meaning)
        caption = browser.value("document.querySelector('#table-naans caption').textContent")
        assert caption == language.gettext(DEFINITIONS["naans"].caption)


#: How many links of the navigation one would have to scroll for.
OUT_OF_VIEW = """(() => {
  scrollTo(0, 2500);
  const links = [...document.querySelectorAll('body > nav a')].map(link => link.getBoundingClientRect());
  return links.filter(box => box.left < 0 || box.right > innerWidth || box.top < 0).length;
})()"""


@needs_browser
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("code", TRANSLATED)
def test_nothing_is_cut_in_any_language(browser: Page, language_pages: dict[str, Path], code: str, width: int) -> None:
    browser.open(language_pages["any"], width=width)
    browser.value(f"arkaudit.speak({code!r})")
    browser.value("arkaudit.drawCharts()")
    assert json.loads(browser.value(TEXTS_AMISS)) == []
    assert json.loads(browser.value(CUT)) == []
    assert browser.value("[...document.querySelectorAll('.picture')].every(one => one.scrollWidth <= one.clientWidth)")
    for narrow in (width, min(width, 1024), min(width, 768)):
        browser.call("Emulation.setDeviceMetricsOverride", width=narrow, height=900, deviceScaleFactor=1, mobile=False)
        assert browser.value(OUT_OF_VIEW) == 0
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    browser.value("['arks', 'failures', 'services'].forEach(name => arkaudit.show(name))")
    browser.value("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    browser.settled(LIVING)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    # The English page is tried in both colour schemes; the longest words are German.
    if (code, width) == ("de", 390):
        assert barriers(browser) == []


#: Words that overflow their box: tiles, cards, the legend, headings and buttons.
CUT = """JSON.stringify([...document.querySelectorAll(
    '.tile dt, .tile dd, .actions h3, .actions dt, .actions dd, .legend .badge, .legend dd, figcaption, h1, h2')]
  .filter(each => {
    if (!each.checkVisibility()) return false;
    const range = document.createRange();
    range.selectNodeContents(each);
    const frame = each.closest('.tile, .actions > li, .legend dt, .legend dd, body').getBoundingClientRect();
    return range.getBoundingClientRect().right > frame.right - (each.closest('.tile') ? 2 : 0);
  }).map(each => each.textContent))"""
