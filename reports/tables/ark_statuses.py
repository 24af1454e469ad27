"""The status of ARKs that were requested at several URLs: each ARK counts once, with its best verdict."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pandas as pd

from crawler.model.outcomes import (
    BEST_FIRST,
    BEST_STATE_FIRST,
    DESCRIBED,
    FAMILY_OF,
    CommitmentOutcome,
    Family,
    MementoOutcome,
    ObjectOutcome,
)
from reports.store.frames import Frames
from reports.store.selections import OBJECT
from reports.store.typed_columns import JOINT, vocabulary
from reports.tables.definitions import PAIR

FAMILY = vocabulary(Family)

#: The columns that count ARKs by family, in the order of the enum.
FAMILY_COLUMNS = {family: family.value.replace("-", "_") for family in Family}

#: The position in `FAMILY` of each outcome's family, by its position in `OBJECT`; the last is for no outcome.
_FAMILY_CODES = FAMILY.categories.get_indexer(
    pd.Index([*(str(FAMILY_OF[outcome]) for outcome in ObjectOutcome), str(Family.NOT_JUDGED)])
)
BEST_STATE = pd.CategoricalDtype(list(map(str, BEST_STATE_FIRST)), ordered=True)
BEST_OBJECT = pd.CategoricalDtype(list(map(str, BEST_FIRST)), ordered=True)
SERVICES = ["object", "metadata", "commitment"]


def families(outcomes: pd.Series) -> pd.Series:
    """Return the family of each object outcome; ARKs without an outcome are not judged."""
    codes = _FAMILY_CODES[outcomes.astype(OBJECT).cat.codes]
    family_words = pd.Categorical.from_codes(codes, dtype=FAMILY)
    return pd.Series(family_words, index=outcomes.index, name=outcomes.name)


def cited_urls(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that was cited or requested, with its verdict if any; unsorted."""
    pair_columns = ["ark_id", "ark", "naan", "request_url"]
    cited_pairs = citation_counts(frames.mentions, pair_columns)
    # An outer join would sort all ARKs and URLs.
    cited_verdicts = cited_pairs.merge(frames.verdicts, on=pair_columns, how="left")
    uncited_verdicts = frames.verdicts[~frames.verdicts["verdict_id"].isin(cited_verdicts["verdict_id"])]
    rows = with_counts(pd.concat([cited_verdicts, uncited_verdicts], ignore_index=True), ["citations", "documents"])
    return rows.assign(family=families(rows["object"]))


def judged_mentions(frames: Frames, *columns: str) -> pd.DataFrame:
    """Return the mentions with *columns* of the verdict on their ARK and URL, if any."""
    return frames.mentions.merge(frames.verdicts[[*PAIR, *columns]], on=PAIR, how="left")


def best(verdicts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return one row per group: the best outcome of each of `SERVICES`, and the family; ordered by *by*.

    *by* are the columns of *verdicts* that define a group. The enums of metadata and commitment begin with the best.
    """
    ranked_verdicts = verdicts.astype({"object": BEST_OBJECT})
    rows = ranked_verdicts.groupby(by, as_index=False)[SERVICES].min().astype({"object": OBJECT})
    return rows.assign(family=families(rows["object"]))


@lru_cache(maxsize=2)
def ark_statuses(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK that is cited or judged: NAAN, shoulder and best outcomes; in the order of the store.

    `described` and `committed` tell whether it returns metadata, and has a stated commitment.
    A rejected reading of a doubtful citation is not an ARK of the run.
    """
    best_outcomes = best(frames.verdicts, ["ark_id"]).drop(columns="family")
    ark_ids = pd.concat([frames.mentions["ark_id"], best_outcomes["ark_id"]])
    rows = frames.arks.loc[frames.arks["ark_id"].isin(ark_ids), ["ark_id", "ark", "naan", "shoulder"]].merge(
        best_outcomes, on="ark_id", how="left"
    )
    return rows.assign(
        family=families(rows["object"]),
        described=rows["metadata"].isin(DESCRIBED),
        committed=rows["commitment"].eq(CommitmentOutcome.STATED),
    )


def ark_states(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK that has a status: its `ark_id`, and the best `state` of its URLs; ordered by `ark_id`."""
    return frames.latest.astype({"state": BEST_STATE}).groupby("ark_id", as_index=False)[["state"]].min()


def family_counts(standings: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """Return one row per group of *standings*, which has one row per ARK and group, with its `family`.

    The columns are those of *by*, `arks`, `FAMILY_COLUMNS` and `share_works`.
    """
    is_of_family = {column: standings["family"].eq(family) for family, column in FAMILY_COLUMNS.items()}
    counts = standings.assign(arks=1, **is_of_family)
    rows = counts.groupby(by)[["arks", *is_of_family]].sum().astype("Int64").reset_index()
    return rows.assign(share_works=share(rows["works"], rows["works"] + rows["fails"]))


def share(part: pd.Series, whole: pd.Series) -> pd.Series:
    """Return *part* / *whole*, rounded to four decimals; missing if *whole* is 0."""
    return (part.astype("Float64") / whole.where(whole > 0).astype("Float64")).round(4)


def citation_counts(mentions: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """Return one row per group of *mentions* by the columns *by*: number of citations and documents, first document."""
    rows = mentions.sort_values(["document", "ordinal"]).groupby(by, dropna=False, as_index=False, sort=False)
    return rows.agg(
        citations=("citation_id", "nunique"), documents=("document_id", "nunique"), first_document=("document", "first")
    )


def findings_about(frames: Frames, subjects: pd.Series) -> pd.Series:
    """Return the findings about each of *subjects* (a document, an ARK, or ``NAAN 12148``) as one text; else missing."""
    rows = frames.findings.sort_values(["subject", "kind", "detail"])
    finding_texts = (rows["kind"] + ": " + rows["detail"]).groupby(rows["subject"]).agg(JOINT.join)
    return subjects.map(finding_texts).astype("str")


def with_counts(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return *rows* with 0 for each missing value in *columns*."""
    return rows.assign(**{column: rows[column].astype("Int64").fillna(0) for column in columns})


def last_answers(frames: Frames, questions: Iterable[str]) -> pd.DataFrame:
    """Return the observations of *questions*, only the last attempt for each ARK, URL and question."""
    key = [*PAIR, "question"]
    attempts = frames.observations.loc[frames.observations["question"].isin(list(questions)), [*key, "attempt"]]
    last_attempts = attempts.sort_values("attempt", kind="stable").drop_duplicates(key, keep="last")
    return frames.observations.loc[last_attempts.index]


def is_among(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """Return a boolean for each row: True if its `PAIR` of ARK and URL occurs in *pairs*."""
    joined = rows[PAIR].merge(pairs[PAIR].drop_duplicates(), how="left", indicator="is_among")
    return joined["is_among"].eq("both").set_axis(rows.index)


def archived_copies(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that fails or gives no answer, and was looked up in an archive; unsorted.

    ARKs that work again need no copy. A copy changes no verdict.
    """
    ailing_verdicts = frames.verdicts[families(frames.verdicts["object"]).isin([Family.FAILS, Family.UNREACHABLE])]
    rows = frames.mementos.merge(ailing_verdicts[PAIR], on=PAIR)
    is_captured = rows["outcome"].eq(MementoOutcome.CAPTURED)
    return rows[PAIR].assign(
        archived_copy=rows["memento_url"].where(is_captured),
        archived_at=rows["memento_at"].where(is_captured),
        archive=rows["reason"],
    )
