"""Every table of a report, defined once: for the CSV file, the page and the data dictionary alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from crawler.history.standing import State
from reports import conformance, listings, overviews, persistence
from reports import summary as summaries
from reports.display import ColumnType
from reports.frames import Frames


@dataclass(frozen=True, slots=True)
class Column:
    """One published column."""

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One published table: what a row is, and how its frame is made."""

    name: str
    title: str
    caption: str
    function: Callable[[Frames], pd.DataFrame]
    columns: tuple[Column, ...]
    is_listing: bool = False
    """Whether it lists single things rather than counts: too much for paper."""


def tables_of(frames: Frames) -> Mapping[str, pd.DataFrame]:
    """Every table of one run, by name, in the order of `TABLES`."""
    return {table.name: table.function(frames) for table in TABLES}


def rows_of(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """The rows of a table as plain values, None for what is missing."""
    values = table.astype("object")
    return values.where(table.notna(), None).itertuples(index=False, name=None)


TEXT, TOKEN, URL = ColumnType.TEXT, ColumnType.TOKEN, ColumnType.URL
NAAN, ARK = ColumnType.NAAN, ColumnType.ARK
COUNT, NUMBER, SHARE = ColumnType.COUNT, ColumnType.NUMBER, ColumnType.SHARE
TRUTH, MOMENT = ColumnType.TRUTH, ColumnType.MOMENT

_NAAN: Final = Column("naan", NAAN, "Name Assigning Authority Number, as it stands in the normal form")
_ARKS: Final = Column("arks", COUNT, "distinct ARKs of this row", "ARKs")
_CITATIONS: Final = Column(
    "citations", COUNT, "citations of these ARKs in documents; a link and its text are one", "citations"
)
_DOCUMENTS: Final = Column("documents", COUNT, "documents that cite them", "documents")
_FAMILIES: Final = (
    Column("works", COUNT, "ARKs that lead to their object or to the provider's words about it", "ARKs"),
    Column("fails", COUNT, "ARKs for which the provider answers, and not with the object", "ARKs"),
    Column("unreachable", COUNT, "ARKs whose server gave no answer today; not link rot", "ARKs"),
    Column("not_judged", COUNT, "ARKs that were skipped, held back, refused to programs, or not asked", "ARKs"),
)
_REQUEST_URL: Final = Column("request_url", URL, "URL that was asked for the object; empty when none was")
_OBJECT: Final = Column("object", TOKEN, "outcome of the object service at this URL; empty when it was not asked")

SUMMARY: Final = TableDefinition(
    "summary",
    "Summary",
    "One row a measure. ARKs count once each, with the best outcome of all URLs that they were asked at; "
    "citations count with the outcome of the very URL that is cited.",
    summaries.summary,
    (
        Column("measure", TEXT, "what was counted"),
        Column("value", COUNT, "how many there are", "as the measure says"),
        Column("note", TEXT, "how the measure is to be read"),
    ),
)

SERVICES: Final = TableDefinition(
    "services",
    "The three services",
    "One row an answer that occurred. An ARK gives access to its object, to a description of the object, and "
    "to a statement of commitment. Each ARK that was asked counts once a service, with its best answer.",
    summaries.services,
    (
        Column("service", TOKEN, "object, metadata or commitment"),
        Column("outcome", TOKEN, "outcome of that service"),
        Column("given", TRUTH, "whether this outcome means that the service is given"),
        _ARKS,
        Column("meaning", TEXT, "the outcome in words"),
    ),
)

SHARED_NAANS: Final = TableDefinition(
    "shared_naans",
    "Shared NAANs",
    "One row a NAAN under which anybody may assign names. 12345 and 99999 are for examples and tests: "
    "they are counted but never requested.",
    overviews.shared_naans,
    (
        _NAAN,
        Column("purpose", TEXT, "what the NAAN is for (draft-kunze-ark-38, table 2)"),
        Column("expected_to_resolve", TEXT, "whether its ARKs are expected to resolve: yes or maybe"),
        Column("long_term_reference", TRUTH, "whether its ARKs are fit for long-term reference"),
        _ARKS,
        _CITATIONS,
        _DOCUMENTS,
        Column("observed", TEXT, "how often each outcome was the best of an ARK, the most frequent first"),
    ),
)

NAANS: Final = TableDefinition(
    "naans",
    "By organization",
    "One row a NAAN. Each ARK counts once, with the best outcome of all URLs that it was asked at. The share "
    "that works is works / (works + fails): ARKs that gave no answer today, and ARKs that were not judged, "
    "are not in the denominator; the share is empty when nothing is.",
    overviews.naans,
    (
        _NAAN,
        Column("organization", TEXT, "organization behind a well-known NAAN; empty for others"),
        _ARKS,
        _CITATIONS,
        _DOCUMENTS,
        *_FAMILIES,
        Column("described", COUNT, "ARKs that were described when asked: outcome erc, structured or html", "ARKs"),
        Column("committed", COUNT, "ARKs for which a commitment is stated", "ARKs"),
        Column("share_works", SHARE, "works / (works + fails); empty when both are 0", "1"),
    ),
)

RESOLVERS: Final = TableDefinition(
    "resolvers",
    "By resolver",
    "One row a host that was asked first. An ARK counts once a host, with its best outcome at that host; one "
    "that was asked at several hosts counts at each.",
    overviews.resolvers,
    (
        Column("host", TEXT, "host of the first request, with its port unless that goes without saying"),
        _ARKS,
        *_FAMILIES,
        Column("info_answers", TEXT, "URLs by metadata outcome: how ?info is answered, the most frequent first"),
        Column(
            "http_only",
            TRUTH,
            "whether the host was spoken to, and never over HTTPS; empty when not spoken to",
        ),
        Column("tls", TEXT, "what its certificate is worth: ok, or the reason why not; empty when not looked at"),
        Column("mean_redirects", NUMBER, "mean number of redirects that followed the first request", "redirects"),
        Column("landing_hosts", TEXT, "the three hosts where most chains ended, with their number of URLs"),
    ),
)

CONFORMANCE: Final = TableDefinition(
    "conformance",
    "Other spellings",
    "One row a resolver, shoulder and form. Equal spellings of an ARK are one ARK, and a resolver must treat "
    "them alike: asked about one ARK that resolves, where the audit was told to.",
    conformance.conformance,
    (
        Column("resolver", URL, "resolver that was asked: the address before the ARK"),
        _NAAN,
        Column("shoulder", TEXT, "shoulder of the ARK that was asked about; empty when it has none"),
        Column("form", TEXT, "form in which the ARK was asked for"),
        Column("asked_url", URL, "URL that was asked"),
        Column("status", COUNT, "HTTP status of the last answer; empty when there was none", "HTTP status"),
        Column("final_url", URL, "URL that the chain of redirects ended at"),
        Column("treatment", TOKEN, "same, other, refused or undetermined, beside the form as found"),
        Column("conforms", TRUTH, "whether the specifications ask for this; empty where they leave it open"),
        Column("reason", TEXT, "what was seen"),
    ),
)

DOCUMENTS: Final = TableDefinition(
    "documents",
    "By document",
    "One row a document, those with failing ARKs first. An ARK is judged by the URLs cited there.",
    overviews.documents,
    (
        Column("document", URL, "URL or path of the document"),
        Column("title", TEXT, "title that the document gives itself"),
        Column("found_on", URL, "document that led here; empty for a starting point"),
        Column("outcome", TOKEN, "what became of the request for the document"),
        Column("media_type", TEXT, "media type of the document"),
        Column("citations", COUNT, "citations of ARKs in the document", "citations"),
        _ARKS,
        *_FAMILIES,
        Column("repaired", COUNT, "citations that typesetting or markup had broken", "citations"),
        Column("findings", COUNT, "remarks about the document", "findings"),
    ),
)

ARKS: Final = TableDefinition(
    "arks",
    "Every ARK",
    "One row an ARK and URL that was cited or asked: those that fail first, then those without an answer "
    "today, those not judged, and those that work.",
    listings.arks,
    (
        Column("ark", ARK, "ARK in normal form"),
        _NAAN,
        _REQUEST_URL,
        _OBJECT,
        Column("family", TOKEN, "what the outcome amounts to: works, fails, unreachable or not-judged"),
        Column("metadata", TOKEN, "outcome of the metadata service"),
        Column("commitment", TOKEN, "outcome of the commitment service"),
        Column("permanence", TEXT, "what the commitment says of permanence, in the provider's words"),
        Column("guarantor", TEXT, "who makes the commitment, in the provider's words"),
        Column("final_url", URL, "URL that the object's chain of redirects ended at"),
        Column("hop_count", COUNT, "redirects between the first request for the object and the last", "redirects"),
        Column("request_count", COUNT, "requests that this verdict rests on", "requests"),
        Column("citations", COUNT, "citations of this ARK with this URL", "citations"),
        Column("documents", COUNT, "documents with such a citation", "documents"),
        Column("first_document", URL, "document with the first such citation"),
        Column("check", TOKEN, "what its check character says: passes, fails, none or unknown"),
        Column("suggestions", TEXT, "ARKs that may have been meant where the check character fails"),
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
    "One row a mention of an ARK, in the order of the documents: what was written, and what we made of it.",
    listings.citations,
    (
        Column("document", URL, "URL or path of the document"),
        Column("citation", COUNT, "which citation of the document; a link and its text are one", "number from 1"),
        Column("page", COUNT, "page of a paginated document", "page number from 1"),
        Column("place", TEXT, "element and attribute, or rectangle on the page in points"),
        Column("role", TOKEN, "text, link-target, metadata, link-annotation or structured-data"),
        Column("as_written", TEXT, "what stands in the document"),
        Column("ark", ARK, "ARK in normal form"),
        Column("repaired", TEXT, "what was written, whole again: this is what is sent"),
        Column("repairs", TEXT, "repairs that were made, in order; empty for none"),
        Column("confidence", TOKEN, "certain, likely or ambiguous"),
        Column("reason", TEXT, "rule behind the least sure decision"),
        Column("alternatives", TEXT, "ARKs that the other decisions would have given"),
        Column("spelling", TEXT, "how its spelling departs from the specifications"),
        _REQUEST_URL,
        _OBJECT,
    ),
    is_listing=True,
)

FINDINGS: Final = TableDefinition(
    "findings",
    "Findings about documents",
    "One row a remark: why a document could not be read, or what stands in it besides ARKs.",
    listings.findings,
    (
        Column("subject", TEXT, "what the finding is about: mostly a document"),
        Column("kind", TOKEN, "kind of finding"),
        Column("detail", TEXT, "the finding in words"),
    ),
)

REQUESTS: Final = TableDefinition(
    "requests",
    "Every request",
    "One row a request for an ARK, redirects included: how each verdict can be traced.",
    listings.requests,
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
        Column("at", MOMENT, "moment of the answer or failure", "UTC"),
        Column("elapsed_s", NUMBER, "time from the request to the answer", "seconds"),
    ),
    is_listing=True,
)

# -- over time

_GROUPING: Final = Column("grouping", TOKEN, "what the rows are grouped by: all, naan or resolver")
_GROUP: Final = Column("group", TEXT, "the group: all, a NAAN, or the host that is asked first")
_STATES: Final = tuple(
    Column(state.value.replace("-", "_"), COUNT, f"ARKs that are {state.value}", "ARKs") for state in State
)

STANDINGS: Final = TableDefinition(
    "standings",
    "Standing",
    "One row a NAAN. How its ARKs stand after all checks up to this run: failing ones are not yet confirmed, and one "
    "bad day is no link rot. An ARK that was asked at several URLs counts once, with its best standing; those that "
    "no document cites any more are left out.",
    persistence.standings,
    (_NAAN, _ARKS, *_STATES),
)

RUNS: Final = TableDefinition(
    "runs",
    "Run by run",
    "One row a run up to this one. What it checked itself, and how all ARKs known by then stood at their last check "
    "that proved something. Failures in a suspect run, in which most hosts failed, are held against nobody.",
    persistence.runs,
    (
        Column("run_id", COUNT, "number of the run", "number"),
        Column("started_at", MOMENT, "moment at which it began", "UTC"),
        Column("command", TOKEN, "verb that made it"),
        Column("state", TOKEN, "running, finished, interrupted or failed"),
        Column("suspect", TRUTH, "whether most hosts failed in it"),
        Column("reason", TEXT, "why it is suspect; empty when it is not"),
        Column("checked", COUNT, "ARKs at a URL that it judged", "ARKs at a URL"),
        Column("works", COUNT, "of these, those that worked", "ARKs at a URL"),
        Column("fails", COUNT, "of these, those that failed", "ARKs at a URL"),
        Column("unreachable", COUNT, "of these, those whose server gave no answer", "ARKs at a URL"),
        Column("not_judged", COUNT, "of these, those that could not be judged", "ARKs at a URL"),
        Column("working", COUNT, "known by then, and working at their last proof", "ARKs at a URL"),
        Column("failing", COUNT, "known by then, and failing, not yet confirmed", "ARKs at a URL"),
        Column("confirmed_broken", COUNT, "known by then, and confirmed broken", "ARKs at a URL"),
        Column("share_working", SHARE, "working / (working + failing + confirmed_broken)", "1"),
        Column("share_not_broken", SHARE, "(working + failing) / (working + failing + confirmed_broken)", "1"),
    ),
)

SURVIVAL: Final = TableDefinition(
    "survival",
    "Survival",
    "One row a group and day: the Kaplan-Meier estimate of the share that is still alive so many days after it was "
    "first seen to work. A subject is an ARK at one URL; it dies with the first failure of those that confirmed it, "
    "and else was last seen alive when it last worked. What never worked while we watched is not in it.",
    persistence.survival,
    (
        _GROUPING,
        _GROUP,
        Column("days", COUNT, "time since it was first seen to work", "days"),
        Column("at_risk", COUNT, "subjects alive and still watched on that day", "ARKs at a URL"),
        Column("failed", COUNT, "subjects that died on that day", "ARKs at a URL"),
        Column("censored", COUNT, "subjects last seen alive on that day", "ARKs at a URL"),
        Column("survival", SHARE, "estimated share still alive after that day", "1"),
        Column("low", SHARE, "lower bound of it (95 %, log-log); empty before the first death", "1"),
        Column("high", SHARE, "upper bound of it", "1"),
    ),
    is_listing=True,
)

RECOVERIES: Final = TableDefinition(
    "recoveries",
    "Failures and recoveries",
    "One row a group. How long until an ARK is broken, and how long until one that fails works again: medians of the "
    "Kaplan-Meier estimate, empty where not half came to that.",
    persistence.recoveries,
    (
        _GROUPING,
        _GROUP,
        Column("watched", COUNT, "ARKs at a URL that were seen to work at least once", "ARKs at a URL"),
        Column("died", COUNT, "of these, those that were confirmed broken later", "ARKs at a URL"),
        Column("days_to_failure", NUMBER, "median time from first working to the first failure of that", "days"),
        Column("spells", COUNT, "spells of failures, however short", "spells"),
        Column("confirmed", COUNT, "of these, those that lasted long enough to be confirmed", "spells"),
        Column("recovered", COUNT, "of these spells, those after which it worked again", "spells"),
        Column("days_to_recovery", NUMBER, "median time from the first failure of a spell to working again", "days"),
    ),
)

OUTAGES: Final = TableDefinition(
    "outages",
    "Outages of hosts",
    "One row an outage: runs, one after the other, in which a host gave no HTTP answer at all, suspect runs left "
    "out; the last to begin first. It may have been longer than it was seen.",
    persistence.outages,
    (
        Column("host", TEXT, "host, with its port unless that goes without saying"),
        Column("since", MOMENT, "moment of its first failure", "UTC"),
        Column("last_at", MOMENT, "moment of the last failure that was seen", "UTC"),
        Column("until", MOMENT, "moment at which it was first seen to answer again; empty when it was not", "UTC"),
        Column("is_over", TRUTH, "whether it has answered again"),
        Column("runs", COUNT, "runs that saw it", "runs"),
        Column("days", NUMBER, "time from the first failure to the last that was seen", "days"),
        Column("failure", TOKEN, "how it failed last"),
    ),
)

PERSISTENCE: Final = TableDefinition(
    "persistence",
    "Persistence statement",
    "One row a set of ARKs: all, by NAAN, and by section of the documents that cite them in this run. An ARK counts "
    "once, with its best standing. Permanent is only what its provider calls so.",
    persistence.persistence,
    (
        Column("grouping", TOKEN, "what the rows are grouped by: all, naan or documents"),
        Column("group", TEXT, "the set: all, a NAAN, or host and first folder of the documents"),
        _ARKS,
        Column("judged", COUNT, "ARKs that are healthy, flapping, failing or confirmed broken", "ARKs"),
        Column("resolving", COUNT, "ARKs that are healthy", "ARKs"),
        Column("share_resolving", SHARE, "resolving / judged; empty when none is judged", "1"),
        Column("described", COUNT, "of those that resolve, those that were described when asked", "ARKs"),
        Column("share_described", SHARE, "described / resolving; empty when none resolves", "1"),
        Column("committed", COUNT, "of those that resolve, those with a stated commitment", "ARKs"),
        Column("share_committed", SHARE, "committed / resolving; empty when none resolves", "1"),
        Column("permanent", COUNT, "of those, those that the commitment calls permanent", "ARKs"),
        Column("confirmed_broken", COUNT, "ARKs that are confirmed broken", "ARKs"),
        Column("first_at", MOMENT, "moment at which the first of them was first seen", "UTC"),
        Column("last_at", MOMENT, "moment of the last check of any of them", "UTC"),
        Column("statement", TEXT, "the row in sentences"),
    ),
)

TABLES: Final = (
    SUMMARY,
    SERVICES,
    SHARED_NAANS,
    NAANS,
    RESOLVERS,
    CONFORMANCE,
    DOCUMENTS,
    ARKS,
    CITATIONS,
    FINDINGS,
    REQUESTS,
    STANDINGS,
    RUNS,
    SURVIVAL,
    RECOVERIES,
    OUTAGES,
    PERSISTENCE,
)
