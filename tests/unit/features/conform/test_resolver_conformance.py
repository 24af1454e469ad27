"""Treatment of other spellings by resolvers: the questions and the conclusions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.conform.spellings import MAX_BYTES, SPELLINGS, SpellingAnswer, form_url, forms, judge_form
from crawler.model.observations import ChainEnd, Question
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL
from tests.vectors import vectors

URL = "https://r.example/ark:/12x45/x5"


def reply(told: dict[str, Any], *, asked: str) -> SpellingAnswer:
    end = ChainEnd(told.get("end", "answered"))
    return SpellingAnswer(
        asked_url=asked,
        end=end,
        status=told.get("status", 200),
        final_url=told.get("final_url", asked),
        media_type="text/html",
        title=told.get("title"),
        body_bytes=told.get("body_bytes"),
    )


@pytest.mark.parametrize("vector", vectors("resolver_conformance"))
def test_treatment(vector: dict[str, Any]) -> None:
    question = Question(vector["question"])
    asked = form_url(URL, Ark.parse(URL), question)
    assert asked is not None
    found = judge_form(question, reply(vector["reply"], asked=asked), reply(vector["plain"], asked=URL))
    assert (found.treatment, found.is_conforming) == (vector["treatment"], vector["conforms"])
    assert found.reason


def test_the_forms_of_an_ark_are_asked_as_they_are_meant() -> None:
    asked = dict(forms("https://r.example/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v")))
    assert asked.pop(Question.LONG_NAME) == "https://r.example/ark:/12148/btv1b8449691v/" + "z" * 241
    assert asked == {
        Question.OTHER_LABEL: "https://r.example/ark:12148/btv1b8449691v",
        Question.UPPER_LABEL: "https://r.example/ARK:/12148/btv1b8449691v",
        Question.EXTRA_HYPHEN: "https://r.example/ark:/12148/btv1b84-49691v",
        Question.DOUBLED_SLASH: "https://r.example/ark:/12148//btv1b8449691v",
        Question.TRAILING_SLASH: "https://r.example/ark:/12148/btv1b8449691v/",
        Question.TRAILING_DOT: "https://r.example/ark:/12148/btv1b8449691v.",
        Question.UNKNOWN_QUALIFIER: "https://r.example/ark:/12148/btv1b8449691v/zzqqxx",
        Question.QUALIFIED_INFO: "https://r.example/ark:/12148/btv1b8449691v/zzqqxx?info",
    }


def test_a_name_with_hyphens_is_asked_for_without_them_and_one_without_with_one() -> None:
    hyphenated = dict(forms("https://r.example/ark:/12x45/x5-7w", Ark.parse("ark:12x45/x5-7w")))
    assert hyphenated[Question.HYPHENS] == "https://r.example/ark:/12x45/x57w"
    assert Question.EXTRA_HYPHEN not in hyphenated
    plain = dict(forms("https://r.example/ark:/12x45/x57w", Ark.parse("ark:12x45/x57w")))
    assert plain[Question.EXTRA_HYPHEN] == "https://r.example/ark:/12x45/x5-7w"
    assert Question.HYPHENS not in plain
    assert all(len(asked) <= len(SPELLINGS) for asked in (hyphenated, plain))


NAMES = st.from_regex(r"[0-9b-z%=~*+@_$.][0-9b-z%=~*+@_$./-]{0,80}", fullmatch=True)


@given(name=NAMES, label=st.sampled_from(["ark:", "ark:/", "ARK:/"]))
def test_equal_forms_name_the_same_ark_and_the_long_one_is_as_long_as_may_be(name: str, label: str) -> None:
    url = f"https://r.example/{label}12148/{name}"
    found = [mention.ark for mention in find_arks(url)]
    if len(found) != 1:
        return
    [ark] = found
    for question, asked in forms(url, ark):
        if question in (
            Question.OTHER_LABEL,
            Question.UPPER_LABEL,
            Question.HYPHENS,
            Question.EXTRA_HYPHEN,
            Question.DOUBLED_SLASH,
        ):
            assert [mention.ark for mention in find_arks(asked)] == [ark], question
        if question is Question.LONG_NAME:
            whole = LABEL.split(asked, maxsplit=1)[-1].lstrip("/").partition("/")[2]
            assert len(whole) == MAX_BYTES
