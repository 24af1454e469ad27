"""The table of how resolvers treat other spellings of ARKs that they resolve."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crawler.observations import CONFORMANCE, ChainEnd, Question
from crawler.resolving import resolver_of
from crawler.verdicts.spellings import FORMS, MOST_QUESTIONS, SpellingAnswer, judge_form
from reports.frames import Frames

__all__ = ["COLUMNS", "MOST_QUESTIONS", "conformance"]

COLUMNS = {
    "resolver": "str",
    "naan": "str",
    "shoulder": "str",
    "form": "str",
    "asked_url": "str",
    "status": "Int64",
    "final_url": "str",
    "treatment": "str",
    "conforms": "boolean",
    "reason": "str",
}
#: What `Reply` is made of, and what the rows are ordered and joined by.
_REPLY = ["asked_url", "chain_end", "status", "final_url", "media_type", "title", "body_bytes"]
_SAMPLE = ["ark_id", "request_url"]


def conformance(frames: Frames) -> pd.DataFrame:
    """One row a resolver, shoulder and form that was asked; in this order, the forms in that of the vocabulary.

    An ARK that does not resolve is no sample: what its other forms got is left out.
    """
    asked = _last_attempts(frames)
    plain = asked[asked["question"].eq(Question.OBJECT)]
    forms = asked[asked["question"].isin(CONFORMANCE)]
    pairs = forms.merge(plain[[*_SAMPLE, *_REPLY]], on=_SAMPLE, suffixes=("", "_plain"))
    pairs = pairs.merge(frames.arks[["ark_id", "naan", "shoulder"]], on="ark_id")
    rows = [row for pair in pairs.to_dict("records") if (row := _row(pair)) is not None]
    table = pd.DataFrame(rows, columns=[*COLUMNS, "rank"]).astype(COLUMNS)
    ordered = table.sort_values(["resolver", "naan", "shoulder", "rank", "asked_url"], ignore_index=True)
    once = ordered.drop_duplicates(["resolver", "naan", "shoulder", "rank"], ignore_index=True)
    return once[list(COLUMNS)]


def _last_attempts(frames: Frames) -> pd.DataFrame:
    """The observations without those that a later attempt has replaced."""
    ordered = frames.observations.sort_values("attempt", kind="stable")
    return ordered.drop_duplicates([*_SAMPLE, "question"], keep="last")


def _row(pair: dict[Any, Any]) -> dict[str, Any] | None:
    question = Question(pair["question"])
    plain = _reply(pair, "_plain")
    if not plain.succeeds:
        return None
    finding = judge_form(question, _reply(pair, ""), plain)
    return {
        "resolver": resolver_of(pair["request_url"]),
        "naan": pair["naan"],
        "shoulder": _known(pair["shoulder"]),
        "form": FORMS[question],
        "asked_url": pair["asked_url"],
        "status": _known(pair["status"]),
        "final_url": pair["final_url"],
        "treatment": finding.treatment.value,
        "conforms": finding.conforms,
        "reason": finding.reason,
        "rank": CONFORMANCE.index(question),
    }


def _reply(pair: dict[Any, Any], suffix: str) -> SpellingAnswer:
    fields = {name: _known(pair[name + suffix]) for name in _REPLY}
    end = ChainEnd(fields.pop("chain_end"))
    return SpellingAnswer(end=end, **fields)


def _known(value: Any) -> Any:
    return None if pd.isna(value) else value
