"""The listings: one row per ARK and URL, or per citation. Every count can be traced to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter

import pandas as pd

from crawler.model.observations import Family, Question
from extractors.model.ark import SKIPPED_NAANS, Ark
from extractors.model.check_characters import CheckCharacter, Zones, suggestions
from extractors.wraps.evidence import Shapes
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import (
    archived_copies,
    ark_statuses,
    citation_counts,
    cited_urls,
    families,
    family_counts,
    findings_about,
    judged_mentions,
    last_answers,
)
from reports.tables.definitions import PAIR, first_commitment_field, in_order, map_parsed, rows_of, tally
from reports.tables.known import known_pairs

_EXAMPLE_SIGN = re.compile(
    r"\b(?:e\.g\.|for example|examples?|sample|placeholder|dummy|documentation|tutorial|handbook|manual|how[- ]?to"
    r"|par exemple|exemples?|beispiele?|zum beispiel|z\. ?b\.|ejemplos?|por ejemplo|esempi|esempio|voorbeeld(?:en)?"
    r"|bijvoorbeeld|test(?:ing|s)?|demo)\b",
    re.IGNORECASE,
)


def repairs(frames: Frames) -> pd.DataFrame:
    """Return one row per kind of repair: first example, and numbers of places, citations and outcomes."""
    mentions = judged_mentions(frames, "object")
    repaired_mentions = in_order(mentions[mentions["repairs"].fillna("").ne("")], "document", "ordinal")
    repaired_mentions = repaired_mentions.assign(
        repair=repaired_mentions["repairs"].str.split(JOINT), family=families(repaired_mentions["object"])
    )
    repaired_mentions = repaired_mentions.explode("repair")
    rows = repaired_mentions.groupby("repair", as_index=False).agg(
        places=("mention_id", "nunique"),
        as_written=("as_written", "first"),
        repaired=("repaired", "first"),
        document=("document", "first"),
    )
    rows = rows.merge(citation_counts(repaired_mentions, "repair"), on="repair")
    return rows.merge(family_counts(repaired_mentions, "repair"), on="repair")


def example_sign(texts: Iterable[str | None]) -> str | None:
    """Return the word in *texts* around a citation that marks it as an example, or None.

    >>> example_sign(["Suppose, as the handbooks do, that for example ark:12345/x6np1wh8k is yours."])
    'for example'
    >>> example_sign(["The deed is kept as ark:12345/x6np1wh8k.", None]) is None
    True
    """
    signs = (_EXAMPLE_SIGN.search(text) for text in texts if isinstance(text, str))
    return next((sign[0].lower() for sign in signs if sign), None)


#: Number of referring pages named for an ARK.
_MOST_PAGES = 5
#: The order of families: those that need attention first.
ATTENTION = (Family.FAILS, Family.UNREACHABLE, Family.NOT_JUDGED, Family.WORKS)


def arks(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that was cited or requested; ordered fails, unreachable, not judged, works."""
    statuses = ark_statuses(frames)[["ark_id", "family", "shoulder"]].rename(columns={"family": "ark_family"})
    last_object_answers = last_answers(frames, [Question.OBJECT])
    rows = cited_urls(frames)
    for pair_frame in (
        requests_in_logs(frames),
        frames.latest[[*PAIR, "state", "since"]],
        archived_copies(frames),
        last_object_answers[[*PAIR, "status"]],
    ):
        rows = rows.merge(pair_frame, on=PAIR, how="left")
    rows = rows.merge(known_pairs(frames), on=PAIR, how="left")
    for ark_frame in (frames.last_good, check_characters(frames), statuses):
        rows = rows.merge(ark_frame, on="ark_id", how="left")
    is_not_working = rows["family"].ne(Family.WORKS)
    commitments = rows["commitment_parsed"]
    expected_urls = frames.inventory.drop_duplicates("ark").set_index("ark")["expected_url"]
    findings = findings_about(frames, rows["ark"])
    return rows.assign(
        last_good_url=rows["good_url"].where(is_not_working),
        last_good_at=rows["good_at"].where(is_not_working),
        expected_url=rows["ark"].map(expected_urls).astype("str"),
        permanence=first_commitment_field(commitments, "permanence", "what"),
        guarantor=first_commitment_field(commitments, "guarantor", "who"),
        did_you_mean=map_parsed(rows["did_you_mean"], itemgetter("ark")),
        remarks=rows["remarks"].str.cat(findings, sep=JOINT, na_rep="").str.removeprefix(JOINT).str.removesuffix(JOINT),
        attention=rows["family"].map(ATTENTION.index).astype("Int64"),
    )


def requests_in_logs(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that logs name: number of requests, and tallies of referring pages and answers."""
    mentions = frames.mentions[frames.mentions["asked"].notna()]
    counts = mentions.groupby(PAIR)[["asked"]].sum()
    referring_pages = tally(mentions, PAIR, "document", most=_MOST_PAGES, weight_column="asked")
    answers = tally(mentions, PAIR, "answered", weight_column="asked")
    return counts.assign(asked_from=referring_pages, answered=answers).reset_index()


def citations(frames: Frames) -> pd.DataFrame:
    """Return one row per mention, with the outcome at its URL and the sign of an example, in the order of documents."""
    rows = judged_mentions(frames, "object").rename(columns={"remarks": "spelling"})
    # Citations of example and test ARKs: whether the context marks them as such, and the word.
    titles = frames.documents[["document_id", "title"]]
    skipped_mentions = frames.mentions[frames.mentions["naan"].isin(sorted(SKIPPED_NAANS))].merge(
        titles, on="document_id"
    )
    texts = skipped_mentions.groupby("citation_id").agg(
        context=("context", lambda texts: " ".join(texts.dropna())), title=("title", "first"), url=("document", "first")
    )
    signs = pd.Series([example_sign(row) for row in rows_of(texts)], index=texts.index, dtype="str")
    examples = pd.DataFrame({"is_example": signs.notna().astype("boolean"), "sign": signs})
    return rows.assign(again=rows["decided"].gt(1)).join(examples, on="citation_id")


@lru_cache(maxsize=2)
def check_characters(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK that is cited or judged: the `check` of its check character, and `suggestions`.

    Suggestions are ARKs that may be right if the check character fails, as one text; else empty.
    """
    is_of_run = frames.arks["ark_id"].isin(ark_statuses(frames)["ark_id"])
    named_arks = frames.arks[is_of_run].sort_values("ark")
    arks = {
        normal_form: Ark(*parts) for normal_form, *parts in rows_of(named_arks[["ark", "naan", "name", "qualifier"]])
    }
    zones = Zones.from_arks(arks.values(), frames.declared)
    checks = {normal_form: zones.check(ark).value for normal_form, ark in arks.items()}
    failing_arks = [normal_form for normal_form, check in checks.items() if check == CheckCharacter.FAILS]
    # Suggested names have the shape of the other names.
    shapes = Shapes.learn({ark.base for ark in arks.values()} if failing_arks else ())
    suggestion_texts = dict.fromkeys(arks, "")
    for normal_form in failing_arks:
        proposals = suggestions(
            arks[normal_form], zones=zones, is_allowed=shapes.allows, occurs_elsewhere=arks.__contains__
        )
        suggestion_texts[normal_form] = JOINT.join(str(proposal.ark) for proposal in proposals)
    rows = named_arks[["ark_id"]].assign(check=list(checks.values()), suggestions=list(suggestion_texts.values()))
    return rows.astype({"check": "str", "suggestions": "str"})
