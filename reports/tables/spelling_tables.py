"""The table of how resolvers treat other spellings of ARKs that they resolve."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crawler.asking.probes import FORMS, SpellingAnswer, judge_form
from crawler.model.observations import CONFORMANCE, ChainEnd, Question
from crawler.model.resolving import resolver_of
from reports.store.frames import Frames
from reports.tables.ark_statuses import last_answers
from reports.tables.definitions import (
    NAAN_COLUMN,
    PAIR,
    STATUS_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
    in_order,
    records_of,
)

#: What a `SpellingAnswer` is made of, in its order.
_REPLY = ["asked_url", "chain_end", "status", "final_url", "media_type", "title", "body_bytes"]


def conformance(frames: Frames) -> pd.DataFrame:
    """One row per resolver, shoulder and form that was asked; in this order, the forms in that of the vocabulary.

    An ARK that does not resolve is no sample: what its other forms got is left out.
    """
    asked = last_answers(frames, [Question.OBJECT, *CONFORMANCE])
    asked = asked.merge(frames.arks[["ark_id", "naan", "shoulder"]], on="ark_id")
    records = list(records_of(asked[[*PAIR, "naan", "shoulder", "question", *_REPLY]]))
    plain = {
        (record["ark_id"], record["request_url"]): _answer(record)
        for record in records
        if record["question"] == Question.OBJECT
    }
    rows = []
    for record in records:
        compared = plain.get((record["ark_id"], record["request_url"]))
        if record["question"] != Question.OBJECT and compared and compared.succeeds:
            rows.append(_row(record, compared))
    table = pd.DataFrame(rows, columns=[*(column.name for column in SPELLING_TABLE.columns), "rank"])
    key = ["resolver", "naan", "shoulder", "rank"]
    return in_order(table, *key, "asked_url").drop_duplicates(key)


def _row(record: dict[str, Any], plain: SpellingAnswer) -> dict[str, Any]:
    question = Question(record["question"])
    finding = judge_form(question, _answer(record), plain)
    return {
        **record,
        "resolver": resolver_of(record["request_url"]),
        "form": FORMS[question],
        "treatment": finding.treatment.value,
        "conforms": finding.conforms,
        "reason": finding.reason,
        "rank": CONFORMANCE.index(question),
    }


def _answer(record: dict[str, Any]) -> SpellingAnswer:
    asked_url, end, *others = (record[name] for name in _REPLY)
    return SpellingAnswer(asked_url, ChainEnd(end), *others)


SPELLING_TABLE = TableDefinition(
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
        STATUS_COLUMN,
        Column("final_url", URL, "URL that the chain of redirects ended at"),
        Column("treatment", TOKEN, "same, other, refused or undetermined, compared with the form as found"),
        Column("conforms", TRUTH, "whether the specifications ask for this; empty where they leave it open"),
        Column("reason", TEXT, "what was seen"),
    ),
)
