"""The tables that list: one row per ARK and URL, a citation, a finding, a request. They trace every count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from crawler.model.observations import Family, Question
from extractors.model.ark import SKIPPED_NAANS, Ark
from extractors.model.check_characters import CheckCharacter, Zones
from extractors.model.suggestions import suggestions
from extractors.wraps.evidence import Shapes
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT, joined
from reports.tables.archived import ARCHIVE, ARCHIVED_AT, ARCHIVED_COPY, archived_copies
from reports.tables.ark_statuses import FAMILY_COLUMNS, ark_statuses, cited_urls, families
from reports.tables.definitions import (
    ARK,
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    MOMENT,
    NAAN_COLUMN,
    NUMBER,
    OBJECT_COLUMN,
    REQUEST_URL_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
    rows_of,
)
from reports.tables.distinct import by_identity
from reports.tables.wording import naan_policy_words

# The table of repairs, and the words by which a citation is an example.


_EXAMPLE: Final = re.compile(
    r"\b(?:e\.g\.|for example|examples?|sample|placeholder|dummy|documentation|tutorial|handbook|manual|how[- ]?to"
    r"|par exemple|exemples?|beispiele?|zum beispiel|z\. ?b\.|ejemplos?|por ejemplo|esempi|esempio|voorbeeld(?:en)?"
    r"|bijvoorbeeld|test(?:ing|s)?|demo)\b",
    re.IGNORECASE,
)


def repairs(frames: Frames) -> pd.DataFrame:
    """One row per kind of repair; ordered by places, the most first, then by kind."""
    mended = frames.mentions[frames.mentions["repairs"].fillna("").ne("")]
    mended = mended.merge(
        frames.verdicts[["ark_id", "request_url", "object"]], on=["ark_id", "request_url"], how="left"
    )
    mended = mended.sort_values(["document", "ordinal"])
    places = mended.assign(repair=mended["repairs"].str.split(JOINT), family=families(mended["object"])).explode(
        "repair"
    )
    places = places.assign(**{column: places["family"].eq(family) for family, column in FAMILY_COLUMNS.items()})
    table = places.groupby("repair", as_index=False).agg(
        places=("mention_id", "nunique"),
        citations=("citation_id", "nunique"),
        documents=("document_id", "nunique"),
        **{column: (column, "sum") for column in FAMILY_COLUMNS.values()},
        as_written=("as_written", "first"),
        repaired=("repaired", "first"),
        document=("document", "first"),
    )
    ordered = table.sort_values(["places", "repair"], ascending=[False, True], ignore_index=True)
    return REPAIRS.shaped(ordered)


def example_sign(texts: Iterable[str | None]) -> str | None:
    """The word by which *texts* around a citation say that it is an example; none when nothing says so.

    >>> example_sign(["Suppose, as the handbooks do, that for example ark:12345/x6np1wh8k is yours."])
    'for example'
    >>> example_sign(["The deed is kept as ark:12345/x6np1wh8k.", None]) is None
    True
    """
    signs = (_EXAMPLE.search(text) for text in texts if isinstance(text, str))
    return next((sign[0].lower() for sign in signs if sign), None)


REPAIRS: Final = TableDefinition(
    "repairs",
    "Repairs",
    "One row per kind of repair that was made to citations; a citation with several counts at each.",
    repairs,
    (
        Column("repair", TEXT, "what was repaired"),
        Column("places", COUNT, "places that were repaired in this way", "places"),
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        Column("works", COUNT, "places whose ARK works at the URL that is asked for it", "places"),
        Column("fails", COUNT, "places whose ARK fails there", "places"),
        Column("unreachable", COUNT, "places whose ARK gave no answer there today", "places"),
        Column("not_judged", COUNT, "places whose ARK was not judged", "places"),
        Column("as_written", TEXT, "one of them as written in its document"),
        Column("repaired", TEXT, "the same, whole again"),
        Column("document", URL, "document that contains it"),
    ),
)


#: Who needs attention comes first.
ATTENTION: Final = (Family.FAILS, Family.UNREACHABLE, Family.NOT_JUDGED, Family.WORKS)


def arks(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that was cited or asked; ordered fails, unreachable, not judged, works.

    Inside these by the number of citations, the greatest first, then by ARK and URL.
    """
    standing = frames.latest[["ark_id", "request_url", "state", "since"]]
    rows = cited_urls(frames).merge(standing, on=["ark_id", "request_url"], how="left")
    rows = rows.merge(archived_copies(frames), on=["ark_id", "request_url"], how="left")
    rows = rows.merge(_last_statuses(frames), on=["ark_id", "request_url"], how="left")
    rows = rows.merge(frames.last_good, on="ark_id", how="left")
    is_amiss = families(rows["object"]).ne(Family.WORKS)
    promises = rows["commitment_parsed"]
    check, meant = checks_at(frames, rows["ark_id"])
    rows = rows.assign(
        check=check,
        suggestions=meant,
        last_good_url=rows["good_url"].where(is_amiss),
        last_good_at=rows["good_at"].where(is_amiss),
        expected_url=rows["ark"].map(frames.inventory.set_index("ark")["expected_url"]).astype("str"),
        permanence=by_identity(promises, _permanence),
        guarantor=by_identity(promises, _guarantor),
        naan_policy=by_identity(rows["naan_policy"], _naan_policy),
        did_you_mean=by_identity(rows["did_you_mean"], _meant),
        attention=rows["family"].map(ATTENTION.index).astype("Int64"),
        ark_family=_families_of_arks(frames, rows["ark_id"]),
    )
    order = {"attention": True, "citations": False, "ark": True, "request_url": True}
    shown = rows[[*(column.name for column in ARKS.columns), "attention"]]
    return ARKS.shaped(shown.sort_values(list(order), ascending=list(order.values()), ignore_index=True))


def _last_statuses(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that was asked for the object: the status of the last answer."""
    asked = frames.observations[frames.observations["question"].eq(Question.OBJECT)]
    last = asked.sort_values("attempt", kind="stable").drop_duplicates(["ark_id", "request_url"], keep="last")
    return last[["ark_id", "request_url", "status"]]


def _families_of_arks(frames: Frames, ark_ids: pd.Series) -> pd.Series:
    """Return for each of *ark_ids* what the best outcome of all its URLs amounts to."""
    states = ark_statuses(frames)
    places = pd.Index(states["ark_id"]).get_indexer(pd.Index(ark_ids))
    return states["family"].take(places).set_axis(ark_ids.index)


def citations(frames: Frames) -> pd.DataFrame:
    """One row per mention; ordered by document, then by place in it."""
    outcomes = frames.verdicts[["ark_id", "request_url", "object"]]
    rows = frames.mentions.merge(outcomes, on=["ark_id", "request_url"], how="left")
    rows = rows.rename(columns={"remarks": "spelling"}).assign(again=rows["decided"].gt(1))
    rows = rows.join(_examples(frames), on="citation_id")
    shown = [column.name for column in CITATIONS.columns]
    return CITATIONS.shaped(rows[[*shown, "ordinal"]].sort_values(["document", "ordinal"], ignore_index=True))


def _examples(frames: Frames) -> pd.DataFrame:
    """One row per citation of an example or test ARK, by its number: whether it is one by its words, and by which."""
    titles = frames.documents[["document_id", "title"]]
    cited = frames.mentions[frames.mentions["naan"].isin(sorted(SKIPPED_NAANS))].merge(titles, on="document_id")
    texts = cited.groupby("citation_id").agg(
        context=("context", lambda texts: " ".join(texts.dropna())), title=("title", "first"), url=("document", "first")
    )
    signs = pd.Series([example_sign(row) for row in rows_of(texts)], index=texts.index, dtype="str")
    return pd.DataFrame({"is_example": signs.notna().astype("boolean"), "sign": signs})


def findings(frames: Frames) -> pd.DataFrame:
    """One row per finding; ordered by subject, kind and detail."""
    return FINDINGS.shaped(frames.findings.sort_values(["subject", "kind", "detail"], ignore_index=True))


def requests(frames: Frames) -> pd.DataFrame:
    """One row per hop of a question about an ARK; ordered by ARK, URL, question, attempt and hop."""
    hops, asked = frames.hops, frames.observations
    owners = pd.Index(asked["observation_id"]).get_indexer(pd.Index(hops["observation_id"]))
    turns = asked.groupby(_OF_OWNER, observed=True, dropna=False).ngroup().to_numpy()  # each question is sorted once
    order = np.lexsort((hops["ordinal"].to_numpy("int64"), turns[owners]))
    owned = asked[_OF_OWNER].take(owners[order]).reset_index(drop=True)
    of_hop = [column.name for column in REQUESTS.columns if column.name not in ("hop", *_OF_OWNER)]
    rows = hops[["ordinal", *of_hop]].take(order).reset_index(drop=True).rename(columns={"ordinal": "hop"})
    return REQUESTS.shaped(pd.concat([owned, rows], axis="columns"))


_OF_OWNER: Final = ["ark", "request_url", "question", "attempt"]


def checks_at(frames: Frames, ark_ids: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return for each of *ark_ids* what its check character says in the light of all of them, and what may have been
    meant where it fails.
    """
    of_ark = _checks(frames)
    places = of_ark.index.get_indexer(pd.Index(ark_ids))
    check, suggestions = (of_ark[name].take(places) for name in ("check", "suggestions"))
    return check.set_axis(ark_ids.index), suggestions.set_axis(ark_ids.index)


@lru_cache(maxsize=2)
def _checks(frames: Frames) -> pd.DataFrame:
    """One row per ARK that is cited or judged, by its number: `check` and `suggestions`."""
    counting = frames.arks["ark_id"].isin(ark_statuses(frames)["ark_id"])
    named = frames.arks[counting].sort_values("ark").set_index("ark_id")[["ark", "naan", "name", "qualifier"]]
    arks = {form: Ark(*parts) for form, *parts in rows_of(named)}
    zones = Zones.of(arks.values())
    checks = {form: zones.check(ark) for form, ark in arks.items()}
    meant = dict.fromkeys(arks, "")
    if CheckCharacter.FAILS in checks.values():
        shapes = Shapes.learned({ark.base for ark in arks.values()})  # names are formed as all others are
        for form, check in checks.items():
            if check is CheckCharacter.FAILS:
                proposals = suggestions(arks[form], zones=zones, fits=shapes.allows, is_seen=arks.__contains__)
                meant[form] = JOINT.join(str(proposal.ark) for proposal in proposals)
    words = pd.DataFrame({"check": [check.value for check in checks.values()], "suggestions": list(meant.values())})
    return words.astype("str").set_axis(named.index, axis="index")


def _permanence(promise: Any) -> str | None:
    """Return what a parsed commitment says of permanence: that field, or the *what* of an erc-support."""
    return _said(promise, "permanence", "what")


def _guarantor(promise: Any) -> str | None:
    """Return who makes a parsed commitment."""
    return _said(promise, "guarantor", "who")


def _naan_policy(policy: Any) -> str | None:
    return naan_policy_words(policy) if isinstance(policy, Mapping) and policy else None


def _meant(meant: Any) -> str | None:
    """The ARK that was probably meant."""
    return meant["ark"] if isinstance(meant, Mapping) else None


def _said(promise: Any, *names: str) -> str | None:
    if not isinstance(promise, Mapping):
        return None
    fields = {str(name).lower(): value for name, value in promise.items()}
    return next((joined(fields[name]) for name in names if fields.get(name)), None)


ARKS: Final = TableDefinition(
    "arks",
    "Every ARK",
    "One row per ARK and URL that was cited or asked: those that fail first, then those without an answer "
    "today, those not judged, and those that work.",
    arks,
    (
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
        Column("family", TOKEN, "what the outcome amounts to: works, fails, unreachable or not-judged"),
        Column("ark_family", TOKEN, "the same of the best outcome of all URLs of the ARK, by which ARKs are counted"),
        Column("state", TOKEN, "status after all checks; empty when it is not known"),
        Column("since", MOMENT, "moment of the check that brought it to this state", "UTC", varies=True),
        Column("judged_at", MOMENT, "beginning of the run whose verdict this is", "UTC", varies=True),
        Column("metadata", TOKEN, "outcome of the metadata service"),
        Column("commitment", TOKEN, "outcome of the commitment service"),
        Column("permanence", TEXT, "what the commitment says of permanence, in the provider's words"),
        Column("guarantor", TEXT, "who makes the commitment, in the provider's words"),
        Column(
            "naan_policy",
            TEXT,
            "what the NAAN registry says about the policy of the organization that assigns such names",
        ),
        Column("final_url", URL, "URL that the object's chain of redirects ended at"),
        Column("status", COUNT, "HTTP status of the last answer; empty when there was none", "HTTP status"),
        Column("last_good_url", URL, "where the ARK led when it last worked, in an earlier run; empty if it never did"),
        Column("last_good_at", MOMENT, "beginning of that run", "UTC", varies=True),
        Column("expected_url", URL, "URL at which it should land, as the inventory says; empty without one"),
        Column("hop_count", COUNT, "redirects between the first request for the object and the last", "redirects"),
        Column(
            "request_count",
            COUNT,
            "requests about this ARK at this URL, each attempt and redirect",
            "requests",
            varies=True,
        ),
        Column("rests_on", TEXT, "URLs asked for others as well: controls, policies, a host's path, other readings"),
        Column("citations", COUNT, "citations of this ARK with this URL", "citations"),
        Column("documents", COUNT, "documents with such a citation", "documents"),
        Column("first_document", URL, "document with the first such citation"),
        Column("check", TOKEN, "what its check character says: passes, fails, none or unknown"),
        Column("suggestions", TEXT, "ARKs that may have been meant where the check character fails"),
        Column("did_you_mean", ARK, "the one of them that works, where this ARK is not found; empty for none"),
        ARCHIVED_COPY,
        ARCHIVED_AT,
        ARCHIVE,
        Column("object_evidence", TEXT, "why the object outcome is what it is"),
        Column("metadata_evidence", TEXT, "why the metadata outcome is what it is"),
        Column("commitment_evidence", TEXT, "why the commitment outcome is what it is"),
        Column("remarks", TEXT, "what else was noticed"),
    ),
    is_listing=True,
)

CITATIONS: Final = TableDefinition(
    "citations",
    "Every citation",
    "One row per mention of an ARK, in the order of the documents: what was written, and what we made of it.",
    citations,
    (
        Column("document", URL, "URL or path of the document"),
        Column("citation", COUNT, "which citation of the document; a link and its text are one", "number from 1"),
        Column("page", COUNT, "page of a paginated document", "page number from 1"),
        Column("place", TEXT, "element and attribute, or rectangle on the page in points"),
        Column("role", TOKEN, "text, link-target, metadata, link-annotation or structured-data"),
        Column("as_written", TEXT, "what the document contains there"),
        Column("ark", ARK, "ARK in normal form"),
        Column("repaired", TEXT, "what was written, whole again: this is what is sent"),
        Column("repairs", TEXT, "repairs that were made, in order; empty for none"),
        Column("confidence", TOKEN, "certain, likely or ambiguous"),
        Column("reason", TEXT, "rule that led to the least certain decision"),
        Column("alternatives", TEXT, "ARKs that the other decisions would have given"),
        Column("again", TRUTH, "whether it was decided again in the light of all documents, or of what resolvers said"),
        Column("spelling", TEXT, "how its spelling departs from the specifications"),
        Column(
            "is_example",
            TRUTH,
            "of an ARK under 12345 or 99999: whether the text around, the title or the address says that it is an "
            "example; in earnest it is unfit for long-term reference",
        ),
        Column("sign", TEXT, "the word that says so; empty when none does"),
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
    ),
    is_listing=True,
)

FINDINGS: Final = TableDefinition(
    "findings",
    "Findings",
    "One row per finding: why a document could not be read, what it contains besides ARKs, which reading of a "
    "doubtful ARK works, and what several verdicts together show.",
    findings,
    (
        Column("subject", TEXT, "what the finding is about: mostly a document"),
        Column("kind", TOKEN, "kind of finding"),
        Column("detail", TEXT, "the finding in words"),
    ),
)

REQUESTS: Final = TableDefinition(
    "requests",
    "Every request",
    "One row per request for an ARK, redirects included: how each verdict can be traced.",
    requests,
    (
        Column("ark", ARK, "ARK that was asked about"),
        Column("request_url", URL, "URL of the object question that the request belongs to"),
        Column("question", TOKEN, "what was asked: object, ?info, ??, ?, control, another form of the ARK …"),
        Column("attempt", COUNT, "which attempt at this question", "number from 1"),
        Column("hop", COUNT, "which request of the chain", "number from 1"),
        Column("url", URL, "URL that was requested"),
        Column("status", COUNT, "HTTP status of the answer; empty when there was none", "HTTP status"),
        Column("location", TEXT, "Location header as received"),
        Column("error", TEXT, "why there was no answer, in the failure's own words"),
        Column("at", MOMENT, "moment of the answer or failure", "UTC", varies=True),
        Column("elapsed_s", NUMBER, "time from the request to the answer", "seconds", varies=True),
    ),
    is_listing=True,
)
