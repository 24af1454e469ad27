"""Every table of a report, defined once: for the CSV file, the page and the data dictionary alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from reports import comparing, listings, overviews, places, politeness, services
from reports import spelling_tables as conformance
from reports import summary as summaries
from reports.definitions import (
    ARK,
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    FAMILY_COUNT_COLUMNS,
    MOMENT,
    NAAN_COLUMN,
    NUMBER,
    OBJECT_COLUMN,
    ORGANIZATION_COLUMN,
    REQUEST_URL_COLUMN,
    SHARE,
    SHARE_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
    rows_of,
)
from reports.frames import Frames
from reports.over_time import OVER_TIME
from reports.remediation import actions, corrections, inventory, known, pairs
from reports.remediation import written_forms as mending

__all__ = ["COUNT", "SHARE", "TABLES", "Column", "TableDefinition", "rows_of", "tables_of"]


def tables_of(frames: Frames) -> Mapping[str, pd.DataFrame]:
    """Every table of one run, by name, in the order of `TABLES`."""
    return {table.name: table.function(frames) for table in TABLES}


SUMMARY: Final = TableDefinition(
    "summary",
    "Summary",
    "One row a measure. ARKs count once each, with the best outcome of all URLs that they were asked at; "
    "citations count with the outcome of the very URL that is cited.",
    summaries.summary,
    (
        Column("measure", TEXT, "what was counted"),
        Column("value", COUNT, "how many there are", "as the measure says"),
        Column(
            "previous",
            COUNT,
            "how many there were in the run before that did the same; empty for the first",
            "as the measure says",
        ),
        Column("change", COUNT, "value - previous", "as the measure says"),
        Column(
            "since",
            COUNT,
            "how many there were in the run that was chosen to compare with; empty without one",
            "as the measure says",
        ),
        Column("since_change", COUNT, "value - since", "as the measure says"),
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
        ARKS_COLUMN,
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
        NAAN_COLUMN,
        Column("purpose", TEXT, "what the NAAN is for (draft-kunze-ark-38, table 2)"),
        Column("expected_to_resolve", TEXT, "whether its ARKs are expected to resolve: yes or maybe"),
        Column("long_term_reference", TRUTH, "whether its ARKs are fit for long-term reference"),
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
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
        NAAN_COLUMN,
        ORGANIZATION_COLUMN,
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        Column("described", COUNT, "ARKs that were described when asked: outcome erc, structured or html", "ARKs"),
        Column("committed", COUNT, "ARKs for which a commitment is stated", "ARKs"),
        Column("policy", TEXT, "what the NAAN registry says of the policy of whoever assigns there"),
        SHARE_COLUMN,
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
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
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
    f"them alike: asked about one ARK that resolves, {conformance.MOST_QUESTIONS}.",
    conformance.conformance,
    (
        Column("resolver", URL, "resolver that was asked: the address before the ARK"),
        NAAN_COLUMN,
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
        Column("led_to", URL, "where it is redirected to; that document has a row of its own. Else empty"),
        Column("media_type", TEXT, "media type of the document"),
        Column("citations", COUNT, "citations of ARKs in the document", "citations"),
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
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
        NAAN_COLUMN,
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
        Column("family", TOKEN, "what the outcome amounts to: works, fails, unreachable or not-judged"),
        Column("state", TOKEN, "status after all checks; empty when it is not known"),
        Column("since", MOMENT, "moment of the check that brought it to this state", "UTC", varies=True),
        Column("judged_at", MOMENT, "beginning of the run whose verdict this is", "UTC", varies=True),
        Column("metadata", TOKEN, "outcome of the metadata service"),
        Column("commitment", TOKEN, "outcome of the commitment service"),
        Column("permanence", TEXT, "what the commitment says of permanence, in the provider's words"),
        Column("guarantor", TEXT, "who makes the commitment, in the provider's words"),
        Column("naan_policy", TEXT, "what the NAAN registry says of the policy of whoever assigns such names"),
        Column("final_url", URL, "URL that the object's chain of redirects ended at"),
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
        Column("did_you_mean", ARK, "the one of them that lives, where this ARK is not found; empty for none"),
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
        REQUEST_URL_COLUMN,
        OBJECT_COLUMN,
    ),
    is_listing=True,
)

FINDINGS: Final = TableDefinition(
    "findings",
    "Findings",
    "One row a remark: why a document could not be read, what stands in it besides ARKs, which reading of a doubtful "
    "ARK lives, and what several verdicts together show.",
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
        Column("at", MOMENT, "moment of the answer or failure", "UTC", varies=True),
        Column("elapsed_s", NUMBER, "time from the request to the answer", "seconds", varies=True),
    ),
    is_listing=True,
)

TABLES: Final = (
    SUMMARY,
    comparing.CHANGES,
    actions.CAUSES,
    known.KNOWN_PROBLEMS,
    inventory.INVENTORY,
    inventory.EXTRA,
    SERVICES,
    services.LEVEL_TABLE,
    services.INFO_ANSWERS,
    services.PERMANENCE,
    SHARED_NAANS,
    NAANS,
    places.SHOULDERS,
    RESOLVERS,
    places.LANDING_HOSTS,
    CONFORMANCE,
    DOCUMENTS,
    places.SECTIONS,
    inventory.COLLECTIONS,
    mending.REPAIRS,
    mending.JOINS,
    mending.CHECK_FAILURES,
    mending.UNFIT,
    pairs.DUPLICATES,
    pairs.CONTAINERS,
    politeness.HOSTS,
    politeness.LEFT_OUT,
    FINDINGS,
    actions.FAILURES,
    corrections.CORRECTIONS,
    corrections.TARGETS,
    ARKS,
    CITATIONS,
    REQUESTS,
    *OVER_TIME,
)
