"""Reports in four languages: catalogues without a gap, letters with the same facts, a page that speaks all of them."""

import ast
import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from babel.messages.catalog import Message
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, nodes

import reports
from reports.exports import text_of, write_report
from reports.languages import FOLDER, LANGUAGES, NAMES, Forms, LanguageChoice
from reports.languages.display import ColumnType
from reports.page.document import page
from reports.page.letters import letter
from reports.page.translations import Texts, changes
from reports.remediation.causes import Cause
from reports.store.frames import Frames
from reports.tables.definitions import NAAN_COLUMN, UNITS
from reports.tables.report_tables import TABLES, Report, Tables
from reports.tables.summary import Summary
from reports.tables.wording import FORMATS
from tests.browser import Page, barriers, browser_page, needs_browser
from tests.loopback import run_command
from tests.test_cards import seen_arks
from tests.test_report_charts import TEXTS_AMISS
from tests.test_report_page import LIVING
from tests.vectors import vectors
from tools.catalogues import TRANSLATED, extract_sentences, load_catalogue, untranslated_sentences, update_catalogue
from tools.catalogues import text_of as text_of_catalogue

FRENCH, GERMAN, SPANISH = (LANGUAGES[code] for code in ("fr", "de", "es"))


# -- the catalogues


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_catalogue_holds_every_sentence_and_no_other(code: str) -> None:
    again = "run: make generated, then translate the empty entries"
    assert (FOLDER / f"{code}.po").read_bytes() == text_of_catalogue(update_catalogue(code)), again
    assert [message.id for message in untranslated_sentences(load_catalogue(code))] == [], again
    assert not any(message.fuzzy for message in load_catalogue(code) if message.id)


@pytest.mark.parametrize("code", TRANSLATED)
def test_tables_and_columns_are_explained_in_every_language(code: str) -> None:
    language = LANGUAGES[code]
    for definition in TABLES:
        said = [definition.caption, *(column.meaning for column in definition.columns)]
        same = [sentence for sentence in said if language.gettext(sentence) == sentence]
        assert [sentence for sentence in same if not _FORMULA.fullmatch(sentence)] == [], definition.name
        assert {column.unit for column in definition.columns} <= {*UNITS, "", "1", "UTC"}, definition.name


#: Words that occur in names of columns only.
_FORMULA = re.compile(r"[a-z_ ()+/-]+|text, link-target.*")


#: Mistakes in a language: a second gender of a word, one word for two things, a date without its article.
_NEVER_SAID: Mapping[str, Sequence[str]] = {
    "en": (
        r"(?i)\bone row an? ",
        r"(?i)\b(nobody (yet|can)|somebody|whoever|beside|behind|stands?|gone on with|raised? (it )?no)\b",
        r"(?i)\bgoes without saying\b",
    ),
    "fr": (
        r"préfixe «",
        r"réponse (du service|pour les métadonnées|pour l’engagement)|meilleure réponse (de|du|sur)\b",
        r"lien mort|\bhôte",
        r" ;|« | »| :(?! ?$)",
    ),
    "de": (r"\b([Dd]er|[Ee]in|[Dd]en|[Dd]em|[Ee]inem|jeden) NAAN\b", r"(?i)\bkeiner? \w+ nicht mehr", r"\bHost\b"),
    "es": (r"\b(de|a|desde|hasta) \{(began|ended|day)\}|\bregistros (desde|hasta) \{", r"enlace muerto|por defecto"),
}


@pytest.mark.parametrize("code", NAMES)
def test_a_language_has_one_word_for_each_thing(code: str) -> None:
    never = _NEVER_SAID.get(code, ())
    catalogue = extract_sentences() if code == "en" else load_catalogue(code)
    for message in catalogue:
        said = message.id if code == "en" else message.string
        for sentence in said if isinstance(said, tuple) else (said,):
            assert not [pattern for pattern in never if message.id and re.search(pattern, sentence)], sentence


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_translation_has_the_places_and_the_forms_of_its_sentence(code: str) -> None:
    catalogue = load_catalogue(code)
    assert catalogue.num_plurals == 2
    for message in catalogue:
        if message.id:
            assert amiss(message) == "", message.id


def amiss(message: Message) -> str:
    """Return the fault of a translation, or an empty text."""
    sentences = message.id if isinstance(message.id, tuple) else (message.id,)
    said = message.string if isinstance(message.string, tuple) else (message.string,)
    if len(sentences) != len(said):
        return "not as many forms"
    allowed = [places(sentence) for sentence in sentences]
    for at, text in enumerate(said):
        # The form for one may name its number where English does not: French uses it for zero as well.
        if places(text) not in (allowed[at], allowed[-1]):
            return f"other places: {text}"
        if sentences[at].endswith(".") != text.endswith("."):
            return f"another end: {text}"
    return ""


def places(sentence: str) -> frozenset[str]:
    """Return the placeholders of a sentence, with those of DataTables."""
    named = {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}
    return frozenset(named | set(re.findall(r"_[A-Z]+_", sentence)))


@pytest.mark.parametrize(
    ("sentence", "said", "what"),
    [
        pytest.param("{a} of {b}.", "{a} von {b}.", "", id="the same places"),
        pytest.param("{a} of {b}.", "{b}: {a}.", "", id="in another order"),
        pytest.param("{a} of {b}.", "{a} von {c}.", "other places", id="a place with another name"),
        pytest.param("Rows _START_", "Zeilen", "other places", id="a place of DataTables that is lost"),
        pytest.param(("one", "{number}"), ("eins",), "not as many forms", id="a form too few"),
        pytest.param("Done.", "Fertig", "another end", id="a full stop that is lost"),
    ],
)
def test_a_careless_translation_is_found(sentence: Any, said: Any, what: str) -> None:
    assert amiss(Message(sentence, said)).startswith(what)
    assert bool(amiss(Message(sentence, said))) == bool(what)


#: The number of arguments that are texts, by function.
TEXTS = {"gettext": 1, "N_": 1, "pgettext": 2, "ngettext": 2, "npgettext": 3, "Forms": 2}


def test_no_sentence_hides_where_the_tool_does_not_look() -> None:
    """A sentence inside of an f-string, or put together from parts, would be in no catalogue."""
    ids = [message.id if isinstance(message.id, tuple) else (message.id,) for message in extract_sentences()]
    known = {sentence for forms in ids for sentence in forms}
    for path in Path(reports.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        # Babel reads the calls inside an f-string in Python 3.12 and later only.
        in_strings = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part != node
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                given = node.args[: TEXTS.get(name, 0)][(1 if name in ("pgettext", "npgettext") else 0) :]
                assert not any(isinstance(each, ast.JoinedStr | ast.BinOp) for each in given), (path, node.lineno)
                said = {each.value for each in given if isinstance(each, ast.Constant)}
                assert said <= known, (path, node.lineno)
                assert not said or node not in in_strings, (path, node.lineno)


def test_sentences_in_templates_are_whole_arguments() -> None:
    """Babel does not find a sentence that is part of an expression, such as one of two behind a condition."""
    for path in Path(reports.__file__).parent.rglob("*.j2"):
        for call in Environment().parse(path.read_text("utf-8")).find_all(nodes.Call):
            count = TEXTS.get(call.node.name, 0) if isinstance(call.node, nodes.Name) else 0
            for argument in call.args[:count]:
                parts = [part for part in argument.find_all(nodes.Const) if isinstance(part.value, str)]
                assert isinstance(argument, nodes.Const) or not parts, (path, call.lineno)


def test_a_brace_in_a_value_is_nothing_but_a_brace() -> None:
    assert FRENCH.gettext("requested at {url}", url="https://a.example/{host}{0}") == (
        "demandé à l’adresse https://a.example/{host}{0}"
    )


# -- numbers and days


@pytest.mark.parametrize("vector", vectors("languages"))
def test_numbers_and_days_are_written_as_people_write_them_there(vector: dict[str, Any]) -> None:
    language = LANGUAGES[vector["language"]]
    assert [language.number(each) for each in (1, 1234, 12345, 1234567)] == vector["numbers"]
    assert [language.share(each) for each in (0, 0.0625, 0.875, 1)] == vector["shares"]
    assert language.day(date(2026, 11, 1)) == vector["day"]
    assert language.day(date(2026, 11, 1), compared_with=date(2026, 12, 31)) == vector["day of this year"]
    assert language.moment(pd.Timestamp("2026-11-01T08:05:09Z")) == vector["moment"]
    assert language.format_cell(1234.5, ColumnType.NUMBER) == vector["number with digits"]
    assert Summary(48, 7, 2, 5, 7, date(2026, 11, 23), date(2026, 11, 1), 2, 1).headline(language) == vector["verdict"]
    assert Summary(9, 1, causes=1, day=date(2026, 11, 23)).headline(language) == vector["verdict of one"]


@given(st.builds(Summary, *(st.integers(0, 3) for _ in range(5)), st.just(date(2026, 11, 23)), st.dates()))
def test_a_verdict_is_whole_in_every_language(summary: Summary) -> None:
    said = {code: summary.headline(language) for code, language in LANGUAGES.items()}
    assert len(set(said.values())) == len(said)
    for text in said.values():
        assert text.endswith(".")
        assert not set(text) & set("{}")


# -- letters


@pytest.mark.parametrize("code", NAMES)
@pytest.mark.parametrize("vector", vectors("letters"))
def test_letter_has_the_same_facts_in_every_language(vector: dict[str, Any], code: str) -> None:
    language = LANGUAGES[code]
    seen = seen_arks(vector)
    told = letter(Cause(vector["cause"]), seen, vector["count"], language)
    english = vector["body"]
    paragraphs = told.body.removesuffix("\n").split("\n\n")
    assert len(paragraphs) == len(english)
    assert (told.subject == vector["subject"]) == (code == "en")
    for mine, theirs in zip(paragraphs, english, strict=True):
        assert facts_of(mine) == facts_of(theirs)
        assert (mine == theirs) == (code == "en")
    for each in seen:
        if each.day:
            assert language.day(each.day) in told.body


def facts_of(paragraph: str) -> list[str]:
    """The ARKs, addresses and files of a paragraph, and how many lines it has."""
    return [*re.findall(r"ark:\S+|https?://\S+|\w[\w\[\]+]*\.pdf", paragraph), str(paragraph.count("\n"))]


# -- formats


def test_machine_readable_files_are_not_translated(report: Report, tmp_path: Path) -> None:
    formats = sorted(set(FORMATS) - {"html", "md", "csv-bom"})
    told = []
    for at, language_choice in enumerate((LanguageChoice(), LanguageChoice(FRENCH, is_asked_for=True))):
        files = write_report(replace(report, language_choice=language_choice), tmp_path / str(at), formats).files
        told.append({path.relative_to(tmp_path / str(at)): path.read_bytes() for path in files})
    assert len(told[0]) > len(formats)
    assert told[0] == told[1]


@pytest.mark.parametrize("code", NAMES)
def test_markdown_begins_with_the_verdict_and_keeps_its_columns_and_tokens(report: Report, code: str) -> None:
    language_choice = LanguageChoice(LANGUAGES[code])
    english, said = (
        text_of(replace(report, language_choice=each), "md") for each in (LanguageChoice(), language_choice)
    )
    title, _, verdict, *_ = said.splitlines()
    assert title.startswith(f"# {language_choice.language.gettext('Which ARKs persist?')} ")
    assert re.fullmatch(r"\*\*.+\*\*", verdict)
    heads = re.compile(r"^\| (?:number|NAAN|measure|host) \|.*$", re.MULTILINE)
    assert heads.findall(english) == heads.findall(said) != []
    assert "| 1 | unknown-naan | resolver | museum.example |" in said


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


# -- the page holds all of them


def test_differences_between_languages_are_located() -> None:
    texts = Texts("en")
    title, text = (
        texts.mark(lambda each, words=words: words[each.code != "en"]) for words in (("a", "b"), ("x < y", "z > y"))
    )
    name = texts.mark(lambda each: "k")
    hello = texts.gettext("Dear colleagues,")
    page = f'<p title="{title}">{text}</p>\n<textarea>\n{hello}</textarea><script></script><i class="{name}">same</i>'
    places = texts.places(page)
    assert places["en"] == {"texts": {}, "attributes": {}}
    assert places["fr"] == {"texts": {0: "z > y", 1: "Chères et chers collègues,"}, "attributes": {0: {"title": "b"}}}
    assert texts.fill_page(page).startswith('<p title="a">x &lt; y</p>\n<textarea>\nDear colleagues,<')


def test_multilingual_page_equals_each_single_one() -> None:
    texts = Texts("de")
    amount = texts.ngettext("{number} ARK", "{number} ARKs", 12345)
    day = texts.day(date(2026, 11, 1))
    sentence = texts.gettext("since {day}, {changes}", day=day, changes=amount)
    for code, language in LANGUAGES.items():
        assert texts.fill_marks([sentence], code) == [
            language.gettext(
                "since {day}, {changes}",
                day=language.day(date(2026, 11, 1)),
                changes=language.ngettext("{number} ARK", "{number} ARKs", 12345),
            )
        ]
    assert texts.fill_page(texts.apply(str.upper, day)) == "1. NOVEMBER 2026"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_unchanged_results_are_not_reported_as_changed(value: Any) -> None:
    assert changes({"a": value}, {"a": value}) == []


def test_a_page_is_written_in_the_language_that_was_asked_for(language_pages: dict[str, Path]) -> None:
    for code, language in LANGUAGES.items():
        soup = BeautifulSoup(language_pages[code].read_text("utf-8"), "html.parser")
        assert soup.select_one(f"html[lang={code}]")
        assert soup.select_one("h1").text == language.gettext("Which ARKs persist?")  # type: ignore[union-attr]
        assert [option["value"] for option in soup.select("#language option")] == list(NAMES)


@pytest.fixture(scope="module")
def language_pages(tmp_path_factory: pytest.TempPathFactory, report: Report) -> dict[str, Path]:
    """Return pages: one for each requested language, and one with a choice."""
    folder = tmp_path_factory.mktemp("pages")
    asked = {code: LanguageChoice(language, is_asked_for=True) for code, language in LANGUAGES.items()}
    return {
        name: write_report(replace(report, language_choice=language_choice), folder / name, ["html"]).files[0]
        for name, language_choice in {"any": LanguageChoice(), **asked}.items()
    }


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
        forms = language.forms(Forms("{number} citation", "{number} citations"))
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
        assert browser.value(told) == language.gettext(NAAN_COLUMN.meaning)
        caption = browser.value("document.querySelector('#table-naans caption').textContent")
        assert caption == language.gettext(next(each.caption for each in TABLES if each.name == "naans"))


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


def test_all_tables_of_a_year_are_translated(frames: Frames) -> None:
    """Charts over time, a run to compare with, known problems: all tables of a year of audits, in every language."""
    earlier = replace(frames, since=frames)
    tables = Tables(earlier)
    for language in (FRENCH, GERMAN, SPANISH):
        text = page(earlier, tables, language_choice=LanguageChoice(language))
        assert language.gettext("as before") in text
