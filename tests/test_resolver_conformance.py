"""Treatment of other spellings by resolvers: the questions, the conclusions, and the table of them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.asking.probes import FORMS, LONGEST, SpellingAnswer, form_url, forms, judge_form
from crawler.model import schema
from crawler.model.observations import CONFORMANCE, ChainEnd, Question
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL
from reports.store.frames import load_frames
from reports.tables.definitions import rows_of
from reports.tables.services import SPELLING_TABLE
from tests.report_world import RUN, ark_row, observation_row, write_store
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
    assert (found.treatment, found.conforms) == (vector["treatment"], vector["conforms"])
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
    assert all(len(asked) <= len(CONFORMANCE) for asked in (hyphenated, plain))


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
            assert len(whole) == LONGEST


def test_every_question_has_words() -> None:
    assert set(FORMS) == set(CONFORMANCE)


def test_table_has_a_row_for_each_form_of_resolving_arks(tmp_path: Path) -> None:
    good, bad = "https://r.example/ark:/12148/btv1b84", "https://r.example/ark:/12148/cb1zz"
    landing = {"url": "https://i.example/7", "status": 200}
    rows = [
        observation_row(1, good, "object", [{"url": good, "status": 302}, landing]),
        observation_row(1, good, "trailing slash", [{"url": f"{good}/", "status": 503}], attempt=1),
        observation_row(
            1, good, "trailing slash",
            [{"url": f"{good}/", "status": 302}, landing], attempt=2,
        ),
        observation_row(1, good, "upper-case label", [{"url": good.replace("ark:", "ARK:"), "status": 404}]),
        observation_row(2, bad, "object", [{"url": bad, "status": 404}]),
        observation_row(2, bad, "trailing slash", [{"url": f"{bad}/", "status": 404}]),
    ]  # fmt: skip
    store = write_store(
        tmp_path / "a.db",
        {
            schema.run: [RUN, RUN],
            schema.ark: [ark_row(1, "ark:12148/btv1b84"), ark_row(2, "ark:12148/cb1zz")],
            schema.observation: rows,
        },
    )
    table = SPELLING_TABLE.table(load_frames(store, run_id=2))
    assert list(table.columns) == [column.name for column in SPELLING_TABLE.columns]
    told = [(row[0], row[1], row[2], row[5], row[7], row[8]) for row in rows_of(table)]
    assert told == [
        ("https://r.example/", "12148", "btv1", 404, "refused", False),
        ("https://r.example/", "12148", "btv1", 200, "same", True),
    ]


def test_a_run_that_asked_no_forms_has_an_empty_table(tmp_path: Path) -> None:
    assert len(SPELLING_TABLE.table(load_frames(write_store(tmp_path / "a.db", {schema.run: [RUN]})))) == 0
