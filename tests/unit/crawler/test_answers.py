"""Facts read from a body on arrival: content, similarity, and the data that supports judgements."""

import re
import tomllib
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from crawler.answers.answer import read_answer
from crawler.answers.answer_pages import read_page
from crawler.answers.likeness import TEXT_LIMIT, likeness, same_answer, same_page, sketch
from crawler.answers.notices import PageWords, is_notice, says_not_found, sure_words
from crawler.answers.own_part import letters_in
from crawler.answers.quirks import Phrases, bare, plain, quirks
from crawler.answers.withdrawals import withdrawals_in
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from extractors.model.ark import Ark
from tests.vectors import vectors

URL = "https://r.example/ark:12x45/x5"


@pytest.mark.parametrize("vector", vectors("pages"))
def test_page(vector: dict[str, Any]) -> None:
    _, _, facts, _, _ = read_page(vector["markup"].encode(), "utf-8")
    assert [list(named) for named in facts.arks] == vector["arks"]
    for fact in ("canonical", "refresh", "challenge", "asks_password", "kernel_values"):
        if fact in vector:
            assert getattr(facts, fact) == vector[fact]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("Università".encode("utf-16"), "text/plain; charset=utf-16", "Università"),
        ("Università".encode("utf-16"), "text/plain", "Università"),
        ("Università".encode("cp1252"), "text/plain; charset=windows-1252", "Università"),
        ("\N{ZERO WIDTH NO-BREAK SPACE}Università".encode(), "text/plain; charset=utf8mb4", "Università"),
        ("<p>Страница".encode("cp1251"), "text/html; charset=windows-1251", "Страница"),
        (b"\xff\xd8\xff", "image/jpeg", None),
        (b"", "text/plain", None),
    ],
)
def test_characters(body: bytes, content_type: str, text: str | None) -> None:
    assert read_answer(body, content_type).text == text


def seen(body: str, **changed: Any) -> Observation:
    hops = (Hop(URL, "GET", "", 200),)
    answer = read_answer(body.encode(), "text/plain")
    read = {"text": answer.text, "similarity": answer.similarity, "media_type": "text/plain"}
    return Observation(
        Ark.parse("ark:12x45/x5"), URL, Question.OBJECT, URL, hops, ChainEnd.ANSWERED,
        **{**read, **changed},
    )  # fmt: skip


def test_long_texts_are_compared_as_a_whole() -> None:
    words = [
        f"word{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}" for number in range(4_000)
    ]
    long = " ".join(words)
    changed_behind = " ".join([*words[:2_000], *reversed(words[2_000:])])
    assert len(seen(long).text or "") == len(seen(changed_behind).text or "") == TEXT_LIMIT
    assert same_answer(seen(long), seen(long + " ark:/12x45/x5 at 10:15"))
    assert seen(long).text == seen(changed_behind).text
    assert not same_answer(seen(long), seen(changed_behind))


def test_an_empty_body_is_not_one_that_could_not_be_read() -> None:
    empty, unread = (seen("", text=None, body_bytes=0, body_complete=complete) for complete in (True, False))
    assert same_answer(empty, empty)
    assert not same_answer(empty, unread)
    assert not same_answer(unread, unread)


@given(st.text(max_size=400))
def test_text_is_similar_to_itself_for_any_request(text: str) -> None:
    one, other = sketch(text + " ark:/12x45/x5 10"), sketch(text + " ark:/12x45/zzzz 11")
    assert one == other
    assert one is None or likeness(one, one) == 1.0
    assert same_page(text, text)


@given(st.lists(st.text(alphabet="abcdefghij", min_size=3, max_size=6), min_size=3, max_size=60), st.data())
def test_likeness_is_symmetric_and_a_share(words: list[str], data: st.DataObject) -> None:
    one = sketch(" ".join(words)) or ""
    other = sketch(" ".join(data.draw(st.permutations(words)))) or ""
    assert likeness(one, other) == likeness(other, one)
    assert 0.0 <= likeness(one, other) <= 1.0


def test_the_data_about_servers_and_languages_is_well_formed() -> None:
    told = tomllib.loads(files("crawler.answers").joinpath("quirks.toml").read_text("utf-8"))
    languages = ("not_found", "pause", "faults", "withdrawn", "restricted")
    phrases = [phrase for table in languages for words in told[table].values() for phrase in words]
    phrases += [*told["about_request"]["phrase"], *told["check"]["word"], *told["check"]["widget"]]
    for table in (told["placeholder"]["phrase"], told["placeholder"]["word"], told["login"]["title"]):
        phrases += table
    for row in told["challenge"]:
        assert row.keys() - {"name", "since"} <= {"header", "title", "text", "markup", "blank"}
        assert all(": " in header for header in row.get("header", ()))
        phrases += [*row.get("title", ()), *row.get("text", ()), *(sign.lower() for sign in row.get("markup", ()))]
    assert [phrase for phrase in phrases if phrase != plain(phrase)] == []
    assert all(row["since"] for row in [*told["challenge"], *told["host"]])
    labels = [label for words in told["labels"].values() for label in words]
    assert len(set(labels)) == len(labels), "a label that answers two questions"


@pytest.mark.parametrize("vector", vectors("notices"))
def test_title_that_says_that_something_is_not_there(vector: dict[str, Any]) -> None:
    if "is_notice" in vector:
        assert is_notice(vector["title"]) is vector["is_notice"]
    else:
        assert (says_not_found(vector["title"]) is not None) is vector["says_not_found"]


def test_each_challenge_is_known_by_each_of_its_signs() -> None:
    for challenge in quirks().challenge:
        for name, _, part in (header.partition(": ") for header in challenge.header):
            assert quirks().challenge_in_headers({name.title(): f"x {part}"}) == challenge.name
        for title in challenge.title:
            assert quirks().challenge_in_page("", title.upper(), "") is not None
        for text in challenge.text:
            assert quirks().challenge_in_page("", None, f"Please {text}.") is not None
        for markup in challenge.markup + challenge.blank:
            assert quirks().challenge_in_page(f"<p>{markup.upper()}", None, "") is not None


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
def test_letters_are_counted_alike_in_ascii_and_beyond(text: str) -> None:
    assert letters_in(text) == len(re.sub(r"[\W\d_]+", "", text))


def test_a_sentence_that_was_read_before_is_read_again_for_an_object_of_another_name() -> None:
    sentence = "Sonata in B flat was withdrawn."
    found = [list(withdrawals_in("", (), sentence, names=names)) for names in ((), ("Sonata in B flat",), ())]
    assert [[each.words for each in said] for said in found] == [[], ["\N{HORIZONTAL ELLIPSIS} was withdrawn"], []]


@given(st.text(st.characters(max_codepoint=127)))
def test_a_sketch_is_the_same_by_the_pattern_for_ascii_and_by_that_for_any_text(text: str) -> None:
    assert sketch(text) == sketch(f"{text} \N{MIDDLE DOT}")


@pytest.mark.parametrize("space", [" ", "\n", "\x1c", "\x1f", "\N{NO-BREAK SPACE}"])
def test_an_ark_ends_at_white_space_of_any_kind(space: str) -> None:
    assert sketch(f"ark:/1/x5{space}nothing is known here") == sketch("nothing is known here")


def _flat(phrases: Phrases) -> re.Pattern[str]:
    """Return all of *phrases* as alternatives, without shared prefixes."""
    ways: dict[bool, list[str]] = {True: [], False: []}
    for phrase in phrases.phrases:
        ways[phrase[0].islower() or phrase[0].isdigit()].append(
            r"\b[^.!?]{1,30}?".join(map(re.escape, phrase.split(" ... ")))
        )
    beginning = [rf"(?<![^\W_])(?:{'|'.join(ways[True])})"] if ways[True] else []
    return re.compile("|".join([*beginning, *ways[False]]))


SECTIONS = [quirks(), *(section for _, section in quirks() if isinstance(section, BaseModel))]
KINDS_OF_PHRASES = {
    f"{type(section).__name__}.{name}": each
    for section in SECTIONS
    for name in dir(type(section)) + list(type(section).model_fields)
    if not name.startswith(("_", "model_")) and isinstance(each := getattr(section, name), Phrases)
}


@pytest.mark.parametrize("name", KINDS_OF_PHRASES)
def test_phrases_that_share_their_beginning_are_found_as_if_each_stood_alone(name: str) -> None:
    phrases = KINDS_OF_PHRASES[name]
    flat = _flat(phrases)
    found = [bare(plain(each.replace(" ... ", between))) for each in phrases.phrases for between in (" ", " a b ", "")]
    joined = [f"{one} {other}" for one, other in pairwise(found)]
    for text in [*found, *joined, *(f"{each[:-1]}\N{LATIN SMALL LETTER E WITH ACUTE}{each}s" for each in found)]:
        spans = [(each.start, each.end) for each in phrases.in_plain(text)]
        assert spans == [each.span() for each in flat.finditer(bare(text))], text
        assert phrases.is_in_plain(text) is bool(spans)


def test_words_shared_with_the_control_do_not_count() -> None:
    phrases = Phrases.from_texts(["is closed", "is restricted"])
    text = "The reading room is closed. This item is restricted."
    assert sure_words(phrases, text) == "is closed"
    assert sure_words(phrases, text, PageWords(text="The reading room  IS closed.")) == "is restricted"
    assert sure_words(phrases, text, PageWords(text=text)) is None


def test_withdrawal_notice_of_control_does_not_count_for_objects() -> None:
    control = PageWords(text="This item was withdrawn.")
    for name in ("x5", "x6"):
        page = PageWords(text=f"This item was withdrawn. This record was deleted. ark:/12x45/{name}")
        of_all, of_own = ([each.words for each in page.withdrawals(page.text, name, of)] for of in (None, control))
        assert of_all == ["this item was withdrawn", "this record was deleted"]
        assert of_own == ["this record was deleted"]
