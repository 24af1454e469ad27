"""Reports in four languages: catalogues without a gap, and the form of numbers and days."""

import ast
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
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
from reports.languages import FOLDER, LANGUAGES, NAMES, LanguageChoice
from reports.languages.display import ColumnType
from reports.page.cards import letter
from reports.page.translations import Texts, changes
from reports.remediation.causes import Cause
from reports.store.frames import Frames
from reports.tables.report_tables import TABLES, Report, Tables
from reports.tables.summary import Summary
from reports.tables.wording import FORMATS
from tests.report_world import page
from tests.unit.reports.test_cards import seen_arks
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
TEXTS = {"gettext": 1, "N_": 1, "pgettext": 2, "ngettext": 2, "npgettext": 3}


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
    assert "| 1 | unknown-naan | organization | museum.example |" in said


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


def test_all_tables_of_a_year_are_translated(frames: Frames) -> None:
    """Charts over time, a run to compare with, known problems: all tables of a year of audits, in every language."""
    earlier = replace(frames, compared_run=frames)
    tables = Tables(earlier)
    for language in (FRENCH, GERMAN, SPANISH):
        text = page(earlier, tables, language_choice=LanguageChoice(language))
        assert language.gettext("as before") in text
