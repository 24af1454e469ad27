"""Records: every point of the ERC (draft-kunze-ark-10, 7), and the other forms of metadata."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.answers.answer import parse_record, read_answer
from crawler.answers.erc import CODES_OF_MISSING, QUESTIONS, decode, missing_code, parse_dates, parse_erc, parse_value
from crawler.answers.structured import from_turtle, from_xml, from_yaml
from extractors.model.ark import Ark
from tests.growth import LINEAR, growth
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("records"))
def test_record(vector: dict[str, Any]) -> None:
    ark = Ark.parse(vector["ark"]) if "ark" in vector else None
    assert parse_record(vector.get("type", "text/plain"), vector["text"], ark) == vector["record"]


@pytest.mark.parametrize("vector", vectors("erc"))
def test_erc(vector: dict[str, Any]) -> None:
    """A record's answers, and its missing answers."""
    erc = parse_erc(vector["text"])
    if vector["segments"] is None:
        assert erc is None
        return
    assert erc is not None
    assert erc.display() == vector["segments"]
    if "unanswered" in vector:
        assert erc.anchoring_story is not None
        assert set(QUESTIONS) - erc.anchoring_story.answered_questions == set(vector["unanswered"])


@pytest.mark.parametrize("vector", vectors("erc_values"))
def test_value(vector: dict[str, Any]) -> None:
    value = parse_value(vector["written"])
    assert (value.text, value.code) == (vector["text"], vector.get("code"))


@pytest.mark.parametrize("vector", vectors("erc_dates"))
def test_dates(vector: dict[str, Any]) -> None:
    dates = parse_dates(vector["written"])
    assert (None if dates is None else str(dates)) == vector["normal"]


@given(
    st.binary() | st.text(alphabet="erc:who -|%{}!,.[](u\n#{}<>&*:", max_size=200).map(str.encode),
    st.sampled_from(
        [
            "text/plain", "application/json", "text/html", "application/xml; charset=nonsense", None, "", "text/turtle",
            "text/yaml", "application/rdf+xml", "application/ld+json", "text/plain; charset=utf-16",
        ]
    ),
)  # fmt: skip
def test_no_body_is_too_odd_to_be_read(body: bytes, content_type: str | None) -> None:
    read_answer(body, content_type)


@given(st.text())
def test_unknown_escapes_stay(text: str) -> None:
    assert decode(text.replace("%", "")) == text.replace("%", "")


@given(
    st.text(alphabet=st.characters(exclude_characters="%|,[(\r\n", exclude_categories=["Cs", "Zs", "Cc"]), min_size=1)
)
def test_a_value_without_markers_is_pure_data(text: str) -> None:
    assert parse_value(text).text == text.strip()


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(st.integers(1000, 2999), min_size=1, max_size=6))
def test_dates_in_normal_form_stay_as_they_are(years: list[int]) -> None:
    written = ",".join(map(str, years))
    assert str(parse_dates(written)) == written


@pytest.mark.parametrize("code", sorted(CODES_OF_MISSING))
def test_codes_of_missing_values(code: str) -> None:
    assert missing_code(f"(:{code}) in words") == code
    assert missing_code(f"(:{code})") == code


def test_an_alias_in_yaml_is_refused() -> None:
    assert from_yaml("title: &a [x]\ncreator: *a\n") is None


def test_of_descriptions_in_rdf_that_tell_as_much_the_same_one_counts_each_time() -> None:
    described = '[] dc:title "{0}" ; dc:creator "{0}" .\n'
    text = "@prefix dc: <http://purl.org/dc/terms/> .\n" + "".join(map(described.format, "abcd"))
    assert [from_turtle(text) for _ in range(20)] == [from_turtle(text)] * 20


def test_entities_in_xml_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    markup = bomb + b'<r xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>x&b;</dc:title></r>'
    assert from_xml(markup) == {"rdf": {"title": "x"}}


def record_of(kind: str) -> Callable[[str], object]:
    return lambda text: parse_record(kind, text)


def page_of(text: str) -> object:
    return read_answer(text.encode(), "text/html")


def xml_of(text: str) -> object:
    return from_xml(text.encode())


TITLE = "<http://a/b> <http://purl.org/dc/terms/title> "
TERMS = '<r xmlns:dc="http://purl.org/dc/terms/">'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "body", "size"),
    [
        pytest.param(record_of("text/plain"), lambda n: "who: a\n b" * n, 8000, id="folds"),
        pytest.param(record_of("text/plain"), lambda n: "erc:\nwho: " + "|" * n, 60000, id="pipes"),
        pytest.param(record_of("text/plain"), lambda n: "erc:\nwhat: " + "%{ " * n, 20000, id="blocks"),
        pytest.param(record_of("text/plain"), lambda n: "a" * n, 60000, id="no colon"),
        pytest.param(record_of("text/yaml"), lambda n: "[" * n, 2000, id="yaml"),
        pytest.param(record_of("application/json"), lambda n: "[" * n, 60000, id="json"),
        pytest.param(record_of("application/javascript"), lambda n: "a(" * n, 25000, id="calls"),
        pytest.param(from_turtle, lambda n: 'dc:title "' * n, 6000, id="turtle"),
        pytest.param(from_turtle, lambda n: TITLE + "[ <http://a/c> " * n, 1200, id="brackets"),
        pytest.param(parse_dates, lambda n: "1999," * n, 12000, id="dates"),
        pytest.param(page_of, lambda n: "<dl><dt>who" * n, 5000, id="lists"),
        pytest.param(page_of, lambda n: "<table><tr><td>who<td>" * n, 2500, id="tables"),
        pytest.param(page_of, lambda n: "who:\n" * n, 12000, id="lines"),
        pytest.param(page_of, lambda n: "<div><a href=x>who</a>" * n, 2500, id="menus"),
        pytest.param(xml_of, lambda n: TERMS + "<dc:title>a" * n, 2500, id="xml"),
    ],
)
def test_a_body_made_to_be_slow_takes_linear_time(read: Any, body: Callable[[int], str], size: int) -> None:
    assert growth(lambda n: read(body(n)), size) < LINEAR


@pytest.mark.parametrize(
    "markup",
    [
        b"<!DOCTYPE r [<!ENTITY a 'aaaa'>]><r>&a;<title>&a;</title></r>",
        b"<r><a/><?pi b?><!-- c --></r>",
        b"<?xml version='1.0'?><?pi?><!-- only --><r/>",
        b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>&c;</rdf:RDF>",
        b"\xff\xfe<\x00r\x00>\x00",
        b"<r xmlns='not a uri'><title>a",
        b"<rdf:RDF><undeclared:title>a</undeclared:title></rdf:RDF>",
    ],
)
def test_odd_xml_is_no_record(markup: bytes) -> None:
    assert from_xml(markup) is None


PIECES = st.sampled_from(
    [
        "<div>", "</div>", "<main>", "</main>", "<h1>", "</h1>", "<a href=x>", "</a>", "<nav>", "<header>", "<li>",
        "<td>", "<pre>{", "<script type='application/ld+json'>[", "<meta name=DC.title content=x>",
        "<b itemprop='name x'>", "who:", "<dt>who<dd>", "<title>", "<th>", "<!--", "&#0;", "ark:/12x45/x5",
        "not found", "\x00", "<svg>", "<template>", "<rdf:RDF>", "<?xml version='1.0'?>", "<?pi?>", "@prefix a: <b> .",
        '{"a":', "[", "erc:\n", "who: x\n", "%{", "<error>", "&x;", "<![CDATA[", "]]>",
    ]
)  # fmt: skip


TYPES = st.sampled_from(
    [
        "text/html", "text/plain", "text/xml", "application/rdf+xml", "text/turtle", "application/json", "text/yaml",
        "application/javascript", "application/octet-stream", None,
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40), TYPES)
def test_no_answer_is_too_odd_to_read(pieces: list[str], content_type: str | None) -> None:
    answer = read_answer("".join(pieces).encode(), content_type)
    assert answer.text is None or "\n" not in answer.text
