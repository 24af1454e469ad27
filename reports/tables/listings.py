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
from reports.tables.definitions import (
    ARCHIVED_COLUMNS,
    ARK_COLUMN,
    ASKED_COLUMNS,
    CITATIONS_COLUMN,
    CITED_COLUMNS,
    DID_YOU_MEAN_COLUMN,
    DOCUMENT_COLUMN,
    DOCUMENTS_COLUMN,
    EVIDENCE_COLUMN,
    EXPECTED_URL_COLUMN,
    JUDGED_AT_COLUMN,
    KNOWN_COLUMN,
    LAST_GOOD_COLUMNS,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    PAIR,
    PLACE_COLUMNS,
    REQUEST_URL_COLUMN,
    STATE_COLUMN,
    STATUS_COLUMN,
    TableDefinition,
    count_column,
    first_commitment_field,
    in_order,
    map_parsed,
    moment_column,
    rows_of,
    tally,
    text_column,
    token_column,
    truth_column,
    url_column,
)
from reports.tables.known import known_pairs
from reports.tables.wording import naan_policy_words

_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|examples?|sample|placeholder|dummy|documentation|tutorial|handbook|manual|how[- ]?to"
    r"|par exemple|exemples?|beispiele?|zum beispiel|z\. ?b\.|ejemplos?|por ejemplo|esempi|esempio|voorbeeld(?:en)?"
    r"|bijvoorbeeld|test(?:ing|s)?|demo)\b",
    re.IGNORECASE,
)


def repairs(frames: Frames) -> pd.DataFrame:
    """Return one row per kind of repair."""
    mentions = judged_mentions(frames, "object")
    mended = in_order(mentions[mentions["repairs"].fillna("").ne("")], "document", "ordinal")
    mended = mended.assign(repair=mended["repairs"].str.split(JOINT), family=families(mended["object"]))
    mended = mended.explode("repair")
    rows = mended.groupby("repair", as_index=False).agg(
        places=("mention_id", "nunique"),
        as_written=("as_written", "first"),
        repaired=("repaired", "first"),
        document=("document", "first"),
    )
    rows = rows.merge(citation_counts(mended, "repair"), on="repair")
    return rows.merge(family_counts(mended, "repair"), on="repair")


def example_sign(texts: Iterable[str | None]) -> str | None:
    """Return the word in *texts* around a citation that marks it as an example, or None.

    >>> example_sign(["Suppose, as the handbooks do, that for example ark:12345/x6np1wh8k is yours."])
    'for example'
    >>> example_sign(["The deed is kept as ark:12345/x6np1wh8k.", None]) is None
    True
    """
    signs = (_EXAMPLE.search(text) for text in texts if isinstance(text, str))
    return next((sign[0].lower() for sign in signs if sign), None)


REPAIRS = TableDefinition(
    "repairs",
    "Repairs",
    "One row per kind of repair that was made to citations; a citation with several counts at each.",
    repairs,
    (
        text_column("repair", "kind of repair"),
        count_column("places", "places that were repaired in this way", "places"),
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        count_column("works", "places whose ARK works at the URL that is asked for it", "places"),
        count_column("fails", "places whose ARK fails there", "places"),
        count_column("unreachable", "places whose ARK gave no answer there today", "places"),
        count_column("not_judged", "places whose ARK was not judged", "places"),
        text_column("as_written", "one of them as written in its document"),
        text_column("repaired", "the same, whole again"),
        url_column("document", "document that contains it"),
    ),
    order=("-places", "repair"),
)


#: Number of referring pages named for an ARK.
_MOST_PAGES = 5
#: The order of families: those that need attention first.
ATTENTION = (Family.FAILS, Family.UNREACHABLE, Family.NOT_JUDGED, Family.WORKS)


def arks(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that was cited or requested; ordered fails, unreachable, not judged, works."""
    statuses = ark_statuses(frames)[["ark_id", "family", "shoulder"]].rename(columns={"family": "ark_family"})
    last = last_answers(frames, [Question.OBJECT])
    rows = cited_urls(frames)
    for of_pair in (
        requests_in_logs(frames),
        frames.latest[[*PAIR, "state", "since"]],
        archived_copies(frames),
        last[[*PAIR, "status"]],
    ):
        rows = rows.merge(of_pair, on=PAIR, how="left")
    rows = rows.merge(known_pairs(frames), on=PAIR, how="left")
    for of_ark in (frames.last_good, check_characters(frames), statuses):
        rows = rows.merge(of_ark, on="ark_id", how="left")
    is_amiss = rows["family"].ne(Family.WORKS)
    promises = rows["commitment_parsed"]
    expected = frames.inventory.drop_duplicates("ark").set_index("ark")["expected_url"]
    findings = findings_about(frames, rows["ark"])
    return rows.assign(
        last_good_url=rows["good_url"].where(is_amiss),
        last_good_at=rows["good_at"].where(is_amiss),
        expected_url=rows["ark"].map(expected).astype("str"),
        permanence=first_commitment_field(promises, "permanence", "what"),
        guarantor=first_commitment_field(promises, "guarantor", "who"),
        naan_policy=map_parsed(rows["naan_policy"], naan_policy_words),
        did_you_mean=map_parsed(rows["did_you_mean"], itemgetter("ark")),
        remarks=rows["remarks"].str.cat(findings, sep=JOINT, na_rep="").str.removeprefix(JOINT).str.removesuffix(JOINT),
        attention=rows["family"].map(ATTENTION.index).astype("Int64"),
    )


def requests_in_logs(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL in logs: number of requests, referring pages and answers."""
    mentions = frames.mentions[frames.mentions["asked"].notna()]
    counts = mentions.groupby(PAIR)[["asked"]].sum()
    asked_from = tally(mentions, PAIR, "document", most=_MOST_PAGES, of="asked")
    answered = tally(mentions, PAIR, "answered", of="asked")
    return counts.assign(asked_from=asked_from, answered=answered).reset_index()


def citations(frames: Frames) -> pd.DataFrame:
    """Return one row per mention, in the order of the documents."""
    rows = judged_mentions(frames, "object").rename(columns={"remarks": "spelling"})
    # Citations of example and test ARKs: whether the context marks them as such, and the word.
    titles = frames.documents[["document_id", "title"]]
    cited = frames.mentions[frames.mentions["naan"].isin(sorted(SKIPPED_NAANS))].merge(titles, on="document_id")
    texts = cited.groupby("citation_id").agg(
        context=("context", lambda texts: " ".join(texts.dropna())), title=("title", "first"), url=("document", "first")
    )
    signs = pd.Series([example_sign(row) for row in rows_of(texts)], index=texts.index, dtype="str")
    examples = pd.DataFrame({"is_example": signs.notna().astype("boolean"), "sign": signs})
    return rows.assign(again=rows["decided"].gt(1)).join(examples, on="citation_id")


@lru_cache(maxsize=2)
def check_characters(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK that is cited or judged: the `check` of its check character, and `suggestions`.

    Suggestions are ARKs that may have been meant if the check character fails.
    """
    is_meant = frames.arks["ark_id"].isin(ark_statuses(frames)["ark_id"])
    named = frames.arks[is_meant].sort_values("ark")
    arks = {form: Ark(*parts) for form, *parts in rows_of(named[["ark", "naan", "name", "qualifier"]])}
    zones = Zones.from_arks(arks.values())
    checks = {form: zones.check(ark).value for form, ark in arks.items()}
    failing = [form for form, check in checks.items() if check == CheckCharacter.FAILS]
    shapes = Shapes.learn({ark.base for ark in arks.values()} if failing else ())  # names are formed as all others are
    meant = dict.fromkeys(arks, "")
    for form in failing:
        proposals = suggestions(arks[form], zones=zones, fits=shapes.allows, is_seen=arks.__contains__)
        meant[form] = JOINT.join(str(proposal.ark) for proposal in proposals)
    rows = named[["ark_id"]].assign(check=list(checks.values()), suggestions=list(meant.values()))
    return rows.astype({"check": "str", "suggestions": "str"})


ARKS = TableDefinition(
    "arks",
    "Every ARK",
    "One row per ARK and URL that was cited or requested: first those that fail, then those without an "
    "answer today, those not judged, and those that work. Within each group, the ARKs most requested by "
    "visitors come first.",
    arks,
    (
        ARK_COLUMN,
        NAAN_COLUMN,
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
        token_column("family", "family of the outcome: works, fails, unreachable or not-judged"),
        token_column("ark_family", "family of the best outcome of all URLs of the ARK; ARKs are counted by it"),
        STATE_COLUMN,
        moment_column("since", "moment of the check that brought it to this state", varies=True),
        KNOWN_COLUMN,
        JUDGED_AT_COLUMN,
        token_column("metadata", "outcome of the metadata service"),
        token_column("commitment", "outcome of the commitment service"),
        text_column("permanence", "permanence in the commitment, in the provider's words"),
        text_column("guarantor", "who makes the commitment, in the provider's words"),
        text_column("shoulder", "beginning of its name, up to its first digit; empty for names without one"),
        text_column("naan_policy", "policy of the assigning organization in the NAAN registry"),
        url_column("final_url", "URL that the object's chain of redirects ended at"),
        STATUS_COLUMN,
        *LAST_GOOD_COLUMNS,
        EXPECTED_URL_COLUMN,
        count_column("hop_count", "redirects between the first request for the object and the last", "redirects"),
        count_column(
            "request_count", "requests about this ARK at this URL, each attempt and redirect", "requests", varies=True
        ),
        text_column("rests_on", "URLs requested for several ARKs: controls, policies, a host's path, other readings"),
        *ASKED_COLUMNS,
        text_column(
            "asked_from",
            "pages that visitors came from, with the number of requests, or the log if no page is named; at most five",
        ),
        text_column("answered", "statuses of the answers to visitors, with their number"),
        count_column("citations", "citations of this ARK with this URL", "citations"),
        *CITED_COLUMNS,
        token_column("check", "state of its check character: passes, fails, none or unknown"),
        text_column("suggestions", "ARKs that may have been meant, if the check character fails"),
        DID_YOU_MEAN_COLUMN,
        *ARCHIVED_COLUMNS,
        text_column("archive", "answer of the web archive: a capture, no capture, or no answer; empty if not asked"),
        EVIDENCE_COLUMN,
        text_column("metadata_evidence", "evidence for the metadata outcome"),
        text_column("commitment_evidence", "evidence for the commitment outcome"),
        text_column("remarks", "further remarks, and findings about the ARK"),
    ),
    order=("attention", "-asked", "-citations", "ark", "request_url"),
    is_listing=True,
)

CITATIONS = TableDefinition(
    "citations",
    "Every citation",
    "One row per mention of an ARK, in the order of the documents: the text as written, and its interpretation.",
    citations,
    (
        DOCUMENT_COLUMN,
        count_column(
            "citation", "number of the citation in the document; a link and its text are one", "number from 1"
        ),
        *PLACE_COLUMNS,
        ARK_COLUMN,
        text_column("repaired", "repaired text, which is sent to the resolver"),
        text_column("repairs", "repairs in order; empty without repairs"),
        token_column("confidence", "certain, likely or ambiguous"),
        text_column("reason", "rule that led to the least certain decision"),
        text_column("alternatives", "ARKs that the other decisions would have given"),
        truth_column("again", "true if decided again with the evidence of all documents, or of the resolvers' answers"),
        text_column("spelling", "how its spelling departs from the specifications"),
        truth_column(
            "is_example",
            "for ARKs under 12345 or 99999: true if the context, the title or the address marks it as an "
            "example; such ARKs are not fit for long-term reference",
        ),
        text_column("sign", "the word that marks it; empty without one"),
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
    ),
    order=("document", "ordinal"),
    is_listing=True,
)
