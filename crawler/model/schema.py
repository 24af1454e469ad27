"""The tables of the store, defined once, for SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    select,
    text,
)
from sqlalchemy.dialects.sqlite import Insert, insert

from crawler.model.crawl_requests import FrontierState, Reach, RequestKind, SourceKind
from crawler.model.observations import ChainEnd, DecidedOn, Question
from crawler.model.outcomes import (
    ArkState,
    CommitmentOutcome,
    DocumentOutcome,
    EventKind,
    MementoOutcome,
    MetadataOutcome,
    ObjectOutcome,
)
from extractors.mentions.rows import MENTION_COLUMNS, ColumnKind, FlatColumn
from extractors.model.documents import Role
from extractors.wraps.rules import Confidence

#: ``PRAGMA application_id`` of arkaudit's files ("ARKA"). Foreign SQLite files are refused and never changed.
APPLICATION_ID = 0x41524B41
#: ``PRAGMA user_version``, increased by every change to the tables below.
SCHEMA_VERSION = 9

#: The states of a run. A run that is "running" although no process has its store open has crashed.
RUN_STATES = (RUNNING, FINISHED, INTERRUPTED, FAILED) = ("running", "finished", "interrupted", "failed")

tables = MetaData()


#: JSON that may be missing: None is stored as NULL.
_OPTIONAL_JSON = JSON(none_as_null=True)


class Moment(Text):
    """A time as text, in ISO 8601, in UTC and milliseconds."""


def required(
    name: str,
    kind: Any,
    comment: str,
    unit: str | None = None,
    *,
    nullable: bool = False,
    words: Iterable[str] = (),
    **options: Any,
) -> Column[Any]:
    """Return a column with a value in each row; *unit* describes its values, *words* are the only ones, if given."""
    info = {"unit": unit} if unit else {}
    word_list = ", ".join(f"'{word}'" for word in words)
    checks = [CheckConstraint(f"{name} IN ({word_list})")] if word_list else []
    return Column(name, kind, *checks, nullable=nullable, comment=comment, info=info, **options)


#: A column that may lack a value.
optional = partial(required, nullable=True)


def reference(name: str, comment: str, **options: Any) -> Column[Any]:
    """Return a column with the keys of rows of another table, whose key has the same *name*."""
    kind = ForeignKey(f"{name.removesuffix('_id')}.{name}")
    return required(name, kind, comment, **options)


def key(name: str, comment: str = "key") -> Column[int]:
    """Return the primary key, which other tables refer to."""
    return Column(name, Integer, primary_key=True, comment=comment)


def upsert(table: Table, *unique: str) -> Insert:
    """Return the statement that adds a row, or replaces the row with the same values in the *unique* columns."""
    new_row = insert(table)
    new_values = {column.name: new_row.excluded[column.name] for column in table.c if not column.primary_key}
    return new_row.on_conflict_do_update(index_elements=unique, set_=new_values)


def at_one_url(left: Any, right: Any) -> ColumnElement[bool]:
    """Return the condition that rows of two tables, given as their columns, are about one ARK at one URL."""
    return and_(left.ark_id == right.ark_id, left.request_url == right.request_url)


run = Table(
    "run",
    tables,
    key("run_id", "run number, increasing"),
    required(
        "uuid", Text, "random key of the run, which identifies it in feeds", unique=True, default=lambda: str(uuid4())
    ),
    required("command", Text, "command of the run: crawl, check …"),
    required("started_at", Moment, "start of the run"),
    optional("ended_at", Moment, "end of the run; missing while it runs, and after a crash"),
    required("state", Text, "running, finished, interrupted or failed", words=RUN_STATES),
    required("version", Text, "version of arkaudit that made the run"),
    required("resolver", Text, "resolver for ARKs without one of their own"),
    required("user_agent", Text, "User-Agent header of the run"),
    required("seeds", JSON, "URLs and paths at the start of the run", "list of text"),
    optional(
        "plan",
        _OPTIONAL_JSON,
        # also `judged_by`, the digest of the rules of its verdicts, and for the command `run` `reported`, if its report
        # was written and its news sent
        "settings that determine the requests: a command with other settings does not resume the run",
    ),
    comment="One row per audit.",
)

document = Table(
    "document",
    tables,
    key("document_id"),
    reference("run_id", "run that requested it"),
    required("url", Text, "URL that was requested, or path of a file"),
    optional("found_on", Text, "document that led here; missing for a starting point"),
    required("fetched_at", Moment, "moment of the last answer or failure"),
    required(
        "outcome",
        Text,
        "read, incomplete (cut off on the way), paused (a page about a pause in its place), unreadable, redirected (to a "
        "document with a row of its own), referer (not requested: the page in a log that visitors came from), or the "
        "object outcome of the request",
        words=(*DocumentOutcome, *ObjectOutcome),
    ),
    optional(
        "status",
        Integer,
        "status of the last answer, or of the redirect; missing for a file, or without an answer",
        "HTTP status",
    ),
    optional(
        "final_url", Text, "URL at the end of the redirects; of outcome redirected the name of the document's row"
    ),
    optional("media_type", Text, "media type as the reader determined it"),
    optional("title", Text, "title of the document"),
    optional("body_bytes", Integer, "size of the received body", "bytes"),
    optional("body_sha256", Text, "digest of the received body, in hexadecimal"),
    required("hops", JSON, "every request and redirect", "list of hops"),
    UniqueConstraint("run_id", "url"),
    comment="One row per document that was requested in a run; unique by run and URL.",
)

finding = Table(
    "finding",
    tables,
    key("finding_id"),
    reference("run_id", "run with the finding"),
    reference("document_id", "document that it is about; missing for other subjects", nullable=True),
    required("subject", Text, "subject of the finding, usually the URL of a document"),
    required("kind", Text, "kind of finding: unreadable, encrypted, not-fetched, namespace-mention …"),
    required("detail", Text, "the finding in words"),
    UniqueConstraint("run_id", "subject", "kind", "detail"),
    comment="One row per finding for the reader of the report; unique by run, subject, kind and detail.",
)

ark = Table(
    "ark",
    tables,
    key("ark_id"),
    required("ark", Text, "ARK in normal form (draft-kunze-ark-38, 3.2)", unique=True),
    required("naan", Text, "Name Assigning Authority Number"),
    optional("shoulder", Text, "letters of the name up to and with the first digit; missing without one"),
    required("name", Text, "base name, up to the first slash or dot"),
    required("qualifier", Text, "components and variants, each with its delimiter; may be empty"),
    CheckConstraint("ark = 'ark:' || naan || '/' || name || qualifier"),
    comment="One row per ARK of any run.",
)

#: Fields of a mention that a run computes from all ARKs, or that another table stores.
_NOT_STORED = frozenset({"ark", "check", "suggestions"})
_MENTION_WORDS: Mapping[str, Iterable[str]] = {"role": Role, "confidence": [level.token for level in Confidence]}


def _mention_column(column: FlatColumn) -> Column[Any]:
    """Return the stored column for a field of a mention."""
    kind, unit = {
        ColumnKind.TEXT: (Text, column.unit),
        ColumnKind.NUMBER: (Integer, column.unit),
        ColumnKind.TEXTS: (JSON, "list of text"),
        ColumnKind.PAIRS: (JSON, f"list of pairs of {column.unit}"),
    }[column.kind]
    words = _MENTION_WORDS.get(column.field, ())
    return required(column.field, kind, column.meaning, unit, nullable=column.is_optional, words=words)


mention = Table(
    "mention",
    tables,
    key("mention_id"),
    reference("document_id", "document that it is in"),
    required("ordinal", Integer, "place among the mentions of the document", "number from 1"),
    required(
        "decided",
        Integer,
        "basis of the decision: 1 its document, 2 all documents of the run, 3 the answers of resolvers",
        "number from 1",
    ),
    reference("ark_id", "ARK that is cited"),
    optional("request_url", Text, "URL that is requested for this mention; missing if nothing is requested"),
    *(_mention_column(column) for column in MENTION_COLUMNS if column.field not in _NOT_STORED),
    optional("doubt", _OPTIONAL_JSON, "text around an uncertain mention, with its links and lines; missing for others"),
    optional("asked", Integer, "of a mention in a log: number of requests", "requests"),
    optional("answered", Integer, "of a mention in a log: status of the answers", "HTTP status"),
    UniqueConstraint("document_id", "ordinal", "decided"),
    Index("mention_by_ark", "ark_id"),
    comment="One row per mention of an ARK and decision about it; unique by document, ordinal and decided. The last "
    "decision counts.",
)
_later = mention.alias("later")


def _is_last(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that a row has the last decision about its mention among rows with these *conditions*."""
    return ~(
        select(_later.c.mention_id)
        .where(
            _later.c.document_id == mention.c.document_id,
            _later.c.ordinal == mention.c.ordinal,
            _later.c.decided > mention.c.decided,
            *conditions,
        )
        .exists()
    )


is_current_mention = _is_last()
#: The row that determined the requests; decisions by their answers come later.
is_asked_mention = and_(
    mention.c.decided < DecidedOn.SETTLED.value, _is_last(_later.c.decided < DecidedOn.SETTLED.value)
)

observation = Table(
    "observation",
    tables,
    key("observation_id"),
    reference("run_id", "run that sent the requests"),
    reference("ark_id", "ARK that the question is about"),
    required("request_url", Text, "URL of the object question that this belongs to, without inflection"),
    required("question", Text, "question: object, ?info, ??, ?, control and others, as in `Question`", words=Question),
    required("attempt", Integer, "number of the attempt at this question", "number from 1"),
    required("asked_url", Text, "URL of the first request, byte for byte"),
    required("at", Moment, "end of the chain"),
    required("chain_end", Text, "end of the chain of hops, before any verdict", words=ChainEnd),
    required("detail", Text, "words for the end of the chain; may be empty"),
    optional("status", Integer, "status of the last hop; missing without an answer", "HTTP status"),
    required("final_url", Text, "URL at the end of the chain"),
    required("hop_count", Integer, "redirects between the first request and the last", "redirects"),
    required(
        "hops",
        JSON,
        "every request: url, method, at, status, location, address, elapsed_s (seconds), headers, error, "
        "sent (true if anything was sent), body_bytes and body_sha256 (as transferred), certificate_fault",
        "list of hops",
    ),
    optional("media_type", Text, "media type of the answer"),
    optional("title", Text, "title of the page in the answer"),
    optional(
        "text",
        Text,
        "beginning of the answer's readable text, with folded white space; of a page its title and its own text, "
        "without menus, banners and footers",
    ),
    optional("body_bytes", Integer, "size of the part of the body that was read", "bytes"),
    optional("body_sha256", Text, "digest of that part, in hexadecimal"),
    required("body_complete", Boolean, "whether the body was read to its end"),
    optional("record", _OPTIONAL_JSON, "parsed metadata of the answer", "mapping"),
    optional("similarity", Text, "sketch of the whole text, for comparing answers, in hexadecimal"),
    optional(
        "page_digest", Text, "digest of words, links and media of a page, to find its copies at a host, in hexadecimal"
    ),
    required(
        "facts",
        JSON,
        # arks and their places, canonical, refresh, challenge, asks_password, runs_scripts, signs_on, is_unfilled,
        # is_only_text, headings, kernel_values
        "facts in the page, for the rules of verdicts",
        "mapping",
    ),
    required("remarks", JSON, "what else was noticed", "list of text"),
    optional(
        "rendering",
        _OPTIONAL_JSON,
        # browser, requests (of the page, as `hops`), lacking (requests without an answer), left_out (number of
        # requests), fault
        "rendering of the page by a browser",
        "mapping",
    ),
    UniqueConstraint("run_id", "request_url", "question", "attempt"),
    Index("observation_by_ark", "ark_id"),
    comment="One row per question with its answer; unique by run, request URL, question and attempt.",
)

pause = Table(
    "pause",
    tables,
    key("pause_id"),
    reference("run_id", "run that got the answer"),
    required("host", Text, "scheme, name and port of the host"),
    required("url", Text, "URL of the request"),
    required("at", Moment, "moment of the answer"),
    required("asked_s", Float, "length of the pause that it wants", "seconds"),
    required(
        "is_kept",
        Boolean,
        "whether arkaudit waits that long; otherwise it is contacted again only if the time has passed anyway",
    ),
    UniqueConstraint("run_id", "url", "at"),
    comment="One row per request of a host for a pause (Retry-After); unique by run, URL and moment.",
)

host_traffic = Table(
    "host_traffic",
    tables,
    key("host_traffic_id"),
    reference("run_id", "run that sent the requests"),
    required("host", Text, "scheme, name and port of the host"),
    required("requests", Integer, "all requests: questions, documents, redirects, attempts, robots.txt", "requests"),
    required("failures", Integer, "requests without an answer", "requests"),
    required("interval_s", Float, "shortest interval between two requests, without back-off", "seconds"),
    optional("crawl_delay_s", Float, "interval that its robots.txt wants; missing without one", "seconds"),
    optional("given_up", Text, "reason why it was not contacted any more; missing otherwise"),
    UniqueConstraint("run_id", "host"),
    comment="One row per host that was contacted in a run; unique by run and host.",
)

verdict = Table(
    "verdict",
    tables,
    key("verdict_id"),
    reference("run_id", "run with the verdict"),
    reference("ark_id", "ARK of the verdict"),
    required("request_url", Text, "URL that was requested for the object"),
    required("object", Text, "outcome of the object service", words=ObjectOutcome),
    required("object_evidence", JSON, "sentences that support it", "list of text"),
    required("metadata", Text, "outcome of the metadata service", words=MetadataOutcome),
    required("metadata_evidence", JSON, "sentences that support it", "list of text"),
    required("metadata_parsed", JSON, "description of the object, as parsed", "mapping"),
    required("commitment", Text, "outcome of the commitment service", words=CommitmentOutcome),
    required("commitment_evidence", JSON, "sentences that support it", "list of text"),
    required("commitment_parsed", JSON, "statement of commitment, as parsed: who, what, when, where", "mapping"),
    optional("final_url", Text, "URL at the end of the object's chain; missing without an answer"),
    required("hop_count", Integer, "redirects between the first request for the object and the last", "redirects"),
    required("request_count", Integer, "requests about this ARK at this URL, each attempt and redirect", "requests"),
    required("remarks", JSON, "what else was noticed", "list of text"),
    required(
        "rests_on",
        JSON,
        "shared answers that it depends on: controls, policies, a host's path, other readings; `asked_url` of observations",
        "list of URLs",
        server_default=text("'[]'"),
    ),
    optional("did_you_mean", _OPTIONAL_JSON, "ARK that was probably meant and works: ark, url, evidence", "mapping"),
    required(
        "naan_policy",
        JSON,
        "policy of the assigner in the NAAN registry: of, organization, practices, org_type, url; may be empty",
        "mapping",
        server_default=text("'{}'"),
    ),
    optional(
        "state", Text, "status of the ARK at this URL after this check, as in `latest`; missing before it is noted"
    ),
    UniqueConstraint("run_id", "request_url"),
    Index("verdict_by_ark", "ark_id"),
    comment="One row per verdict on an ARK at one URL; unique by run and request URL.",
)

memento = Table(
    "memento",
    tables,
    key("memento_id"),
    reference("run_id", "run that sent the requests"),
    reference("ark_id", "ARK that failed"),
    required("request_url", Text, "URL of the failure"),
    required("timegate", Text, "TimeGate of the archive (RFC 7089)"),
    required("at", Moment, "moment of the archive's last answer"),
    optional(
        "wanted_at",
        Moment,
        "moment near which a capture was wanted, when the ARK worked last, or the date of a document that cites it; "
        "missing for the newest capture",
    ),
    required(
        "outcome",
        Text,
        "captured, no-capture (there is none, or it shows an error) or no-answer (the archive gave no usable answer)",
        words=MementoOutcome,
    ),
    required("reason", Text, "the outcome in words"),
    optional("original_url", Text, "captured URL; missing without a capture"),
    optional("memento_url", Text, "address of the capture; missing without one"),
    optional("memento_at", Moment, "moment of that capture"),
    required("hops", JSON, "every request to the archive, as in `observation`", "list of hops"),
    UniqueConstraint("run_id", "request_url"),
    Index("memento_by_url", "request_url"),
    comment="One row per request to an archive for an ARK that fails at one URL; unique by run and request URL. It "
    "changes no verdict.",
)

#: The requests of a run; only `crawler.store.frontier` reads and writes them.
frontier = Table(
    "frontier",
    tables,
    key("frontier_id", "key; grows in the order of discovery"),
    reference("run_id", "run that sends the request"),
    required("spider", Text, "part of the run that sends it: documents or arks"),
    required("canonical", Text, "form for comparisons; of an ARK the URL itself"),
    required("url", Text, "URL as it is sent, or path of a file"),
    required("kind", Text, "page, file or ark: determines how the answer is read", words=RequestKind),
    required("host", Text, "host and port of the URL; empty for a file"),
    required("depth", Integer, "links followed from a starting point to here", "links"),
    optional("found_on", Text, "document that led here first; missing for a starting point"),
    optional("ark", Text, "ARK in normal form; missing for a document"),
    required(
        "reach",
        Text,
        "links that are followed: site (all in the scope), item (only to its documents) or leaf (none)",
        words=Reach,
    ),
    optional("source", Text, "kind of source of its answer; missing if its content decides", words=SourceKind),
    required("part", Integer, "for a further part of a source, the number of parts before it; else 0"),
    required("rank", Integer, "0 if it goes before the others of its host, because it may expire; else 1"),
    required(
        "state",
        Text,
        "waiting, claimed (given to a spider, without an outcome yet) or done (its outcome is in the store)",
        words=FrontierState,
    ),
    required(
        "attempts",
        Integer,
        "number of times it was given to a spider; several after a crash, 0 if a redirect led there first",
    ),
    optional("listed", Text, "digest of the items that it listed as a source, to detect cycles; missing without items"),
    UniqueConstraint("run_id", "spider", "canonical"),
    comment="One row per pending or completed request of a run; unique by run, spider and canonical form.",
)
Index(
    "frontier_waiting",
    frontier.c.run_id,
    frontier.c.spider,
    frontier.c.host,
    frontier.c.rank,
    frontier.c.frontier_id,
    sqlite_where=text("state = 'waiting'"),
)

#: The links of each document of a crawl; only `crawler.store.document_tables` reads and writes them.
outlinks = Table(
    "outlinks",
    tables,
    key("outlinks_id"),
    reference("run_id", "run that read the document"),
    reference("document_id", "document"),
    required("key", LargeBinary, "digest of the document's canonical URL: BLAKE2b, 8 bytes; links refer to it"),
    required(
        "found_on", Text, "place of the links: the document, a record in it, or the robots.txt that names its sitemaps"
    ),
    required("targets", LargeBinary, "keys of the linked documents, 8 bytes each, in order; also of known ones"),
    Index("outlinks_by_key", "run_id"),
    comment="One row per document of a crawl and place of its links, also without links; in the order of the links.",
)

# -- history: derived from the tables above, so that not all runs must be read

contact = Table(
    "contact",
    tables,
    key("contact_id"),
    reference("run_id", "run that sent the requests"),
    required("host", Text, "host, with its port unless it is the default one"),
    required("answered", Integer, "requests with an HTTP answer of any status", "requests"),
    required(
        "met", Integer, "requests that were refused, cut off or answered with invalid data: the host exists", "requests"
    ),
    required("silent", Integer, "requests without any sign of the host: no address, or a timeout", "requests"),
    required("first_at", Moment, "moment of the first answer or failure"),
    required("last_at", Moment, "moment of the last one"),
    optional("failure", Text, "its last failure, as the end of a chain; missing without a failure"),
    UniqueConstraint("run_id", "host"),
    Index("contact_by_host", "host"),
    comment="One row per run and contacted host, with its answers. Requests that the address guard or robots.txt "
    "prevented are not counted.",
)

assessment = Table(
    "assessment",
    tables,
    reference("run_id", "run", primary_key=True),
    required("is_suspect", Boolean, "whether most hosts failed in it, so that its failures prove nothing"),
    required("reason", Text, "why it is suspect; empty when it is not"),
    comment="One row per run: whether its failures count.",
)

policy = Table(
    "policy",
    tables,
    key("policy_id", "always 1"),
    required("strikes", Integer, "failures without a success between them that confirm a breakage", "failures"),
    required("days", Float, "minimum time between the first and the last of them", "days"),
    required("turns", Integer, "changes between working and failing that make an ARK flapping", "turns"),
    required("turn_days", Float, "maximum time for these changes", "days"),
    required("likeness", Float, "minimum share of common phrases of texts that count as the same", "1"),
    comment="At most one row: the rules for the status of ARKs in this store. Without it the defaults apply.",
)

latest = Table(
    "latest",
    tables,
    key("latest_id"),
    reference("ark_id", "ARK"),
    required("request_url", Text, "URL of its checks"),
    required("host", Text, "host of the first request; empty for a URL without one"),
    required("first_seen_at", Moment, "moment of its first check, or start of the run whose documents first cited it"),
    optional("cited_in", ForeignKey("run.run_id"), "last run whose documents cite it; missing without one"),
    optional("gone_at", Moment, "start of the first run without a document that cites it; missing while one does"),
    reference("verdict_id", "last verdict; missing if it was never checked", nullable=True),
    optional("checked_at", Moment, "moment of the last check"),
    required(
        "state", Text, "healthy, failing, confirmed-broken, flapping, blocked, skipped or undetermined", words=ArkState
    ),
    required("since", Moment, "moment of the check that changed it to this state"),
    required("reason", Text, "reason for this state"),
    required("strikes", Integer, "its failures since it last worked", "failures"),
    optional("first_strike_at", Moment, "moment of the first of them"),
    optional("last_strike_at", Moment, "moment of the last of them"),
    optional("worked_at", Moment, "moment of the last successful check"),
    required(
        "memory",
        JSON,
        # turns; known, and of the last working check if it differs: landing, sketch, digest, description, promise
        "values for comparison with the next check",
        "mapping",
    ),
    UniqueConstraint("ark_id", "request_url"),
    Index("latest_by_verdict", "verdict_id"),
    comment="One row per ARK at one URL: its status after all its checks; derived from the other tables.",
)

event = Table(
    "event",
    tables,
    key("event_id"),
    reference("run_id", "run of the event"),
    reference("ark_id", "ARK"),
    required("request_url", Text, "URL of its checks"),
    required("at", Moment, "moment of the check, or start of the run whose documents showed it"),
    required("event", Text, "new, gone, recovered, moved, changed or confirmed", words=EventKind),
    required("detail", Text, "details in words; may be empty"),
    Index("event_by_run", "run_id"),
    Index("event_by_ark", "ark_id", "request_url"),
    comment="One row per change of an ARK at one URL; derived from the other tables.",
)

delivery = Table(
    "delivery",
    tables,
    key("delivery_id"),
    required("channel", Text, "digest of the audit's name and the destination, which may hold a secret", unique=True),
    reference("run_id", "last run whose news it got, or that had none for it"),
    required(
        "failures_sent",
        JSON,
        "failing ARKs in the news it got, with the kind of news: confirmed, failing or unreachable; without those whose "
        "recovery it got",
        "mapping",
    ),
    comment="One row per channel of notifications, with the news that it got.",
)


# -- conditions that SQLite checks in each row

#: A moment in UTC of a year that Python knows. SQLite itself accepts more, such as ``now``, and 30 February.
_IS_MOMENT = (
    "{0} GLOB '[0-9][0-9][0-9][0-9]-*T*+00:00' AND {0} > '0001' AND instr({0}, char(0)) = 0"
    " AND date({0}, '+0 days') = substr({0}, 1, 10)"
)
#: The types of SQLite for the values of a column.
_TYPES: Mapping[type[Any], str] = {
    Boolean: "'integer'",
    Integer: "'integer'",
    Float: "'integer', 'real'",
    Text: "'text'",
    JSON: "'text'",
    LargeBinary: "'blob'",
}


def _conditions(column: Column[Any]) -> Iterator[str]:
    """Yield the SQL conditions that each value of a column must meet, unless it is NULL."""
    kind = Integer() if column.foreign_keys else column.type
    yield f"typeof({column.name}) IN ({next(types for class_, types in _TYPES.items() if isinstance(kind, class_))})"
    if isinstance(kind, Boolean):
        yield f"{column.name} IN (0, 1)"
    if isinstance(kind, Moment):
        is_moment = _IS_MOMENT.format(column.name)
        yield f"{column.name} = '' OR ({is_moment})" if column is observation.c.at else is_moment


for _table in tables.sorted_tables:
    for _column in list(_table.columns):
        for _condition in () if _column.primary_key else _conditions(_column):
            _table.append_constraint(CheckConstraint(f"{_column.name} IS NULL OR ({_condition})"))
