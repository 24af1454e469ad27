"""The table of how resolvers treat other spellings of ARKs that they resolve."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from crawler.asking.probes import FORMS, SpellingAnswer, judge_form
from crawler.model.observations import CONFORMANCE, ChainEnd, Question
from crawler.model.resolving import resolver_of
from reports.store.frames import Frames
from reports.tables.definitions import COUNT, NAAN_COLUMN, TEXT, TOKEN, TRUTH, URL, Column, TableDefinition

__all__ = ["SPELLING_TABLE", "conformance"]

#: What `Reply` is made of, and what the rows are ordered and joined by.
_REPLY = ["asked_url", "chain_end", "status", "final_url", "media_type", "title", "body_bytes"]
_SAMPLE = ["ark_id", "request_url"]


def conformance(frames: Frames) -> pd.DataFrame:
    """One row per resolver, shoulder and form that was asked; in this order, the forms in that of the vocabulary.

    An ARK that does not resolve is no sample: what its other forms got is left out.
    """
    asked = _last_attempts(frames)
    plain = asked[asked["question"].eq(Question.OBJECT)]
    forms = asked[asked["question"].isin(CONFORMANCE)]
    pairs = forms.merge(plain[[*_SAMPLE, *_REPLY]], on=_SAMPLE, suffixes=("", "_plain"))
    pairs = pairs.merge(frames.arks[["ark_id", "naan", "shoulder"]], on="ark_id")
    rows = [row for pair in pairs.to_dict("records") if (row := _row(pair)) is not None]
    names = [column.name for column in SPELLING_TABLE.columns]
    table = pd.DataFrame(rows, columns=[*names, "rank"])
    ordered = table.sort_values(["resolver", "naan", "shoulder", "rank", "asked_url"], ignore_index=True)
    once = ordered.drop_duplicates(["resolver", "naan", "shoulder", "rank"], ignore_index=True)
    return SPELLING_TABLE.shaped(once)


def _last_attempts(frames: Frames) -> pd.DataFrame:
    """The observations of objects and of other forms, without those that a later attempt has replaced."""
    is_asked = frames.observations["question"].isin([Question.OBJECT, *CONFORMANCE])
    asked = frames.observations.loc[is_asked, [*_SAMPLE, "question", "attempt", *_REPLY]]
    ordered = asked.sort_values("attempt", kind="stable")
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


SPELLING_TABLE: Final = TableDefinition(
    "conformance",
    "Other spellings",
    "One row per resolver, shoulder and form. Equal spellings of an ARK are one ARK, and a resolver must treat "
    "them alike: asked about one ARK that resolves, at most 10 questions per shoulder and 4 shoulders per resolver.",
    conformance,
    (
        Column("resolver", URL, "resolver that was asked: the address before the ARK"),
        NAAN_COLUMN,
        Column("shoulder", TEXT, "shoulder of the ARK that was asked about; empty when it has none"),
        Column("form", TEXT, "form in which the ARK was asked for"),
        Column("asked_url", URL, "URL that was asked"),
        Column("status", COUNT, "HTTP status of the last answer; empty when there was none", "HTTP status"),
        Column("final_url", URL, "URL that the chain of redirects ended at"),
        Column("treatment", TOKEN, "same, other, refused or undetermined, compared with the form as found"),
        Column("conforms", TRUTH, "whether the specifications ask for this; empty where they leave it open"),
        Column("reason", TEXT, "what was seen"),
    ),
)
