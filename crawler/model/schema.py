"""The tables of the store: one definition, for SQLite today."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
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

from crawler.model.observations import DecidedOn

#: ``PRAGMA application_id`` of our files ("ARKA"), so that a foreign SQLite file is refused and never written to.
APPLICATION_ID = 0x41524B41
#: ``PRAGMA user_version``: raised by every change to the tables below.
SCHEMA_VERSION = 2

tables = MetaData()


class Moment(Text):
    """A moment as text, in ISO 8601, in UTC and milliseconds."""


def required(
    name: str, kind: Any, comment: str, unit: str | None = None, *, nullable: bool = False, **options: Any
) -> Column[Any]:
    """Return a column that has a value in each row; *unit* says more of its values than their type."""
    info = {"unit": unit} if unit else {}
    return Column(name, kind, nullable=nullable, comment=comment, info=info, **options)


#: A column that may be without a value.
optional = partial(required, nullable=True)


def reference(name: str, comment: str, **options: Any) -> Column[Any]:
    """Return the column that refers to a row of another table by its key, which has the same *name*."""
    kind = ForeignKey(f"{name.removesuffix('_id')}.{name}")
    return required(name, kind, comment, **options)


def key(name: str, comment: str = "key") -> Column[int]:
    """Return the column by whose numbers other tables refer to a row."""
    return Column(name, Integer, primary_key=True, comment=comment)


def replacing(table: Table, *unique: str) -> Insert:
    """Return the statement that adds a row, or puts it in place of the one with the same *unique* values."""
    new = insert(table)
    others = {column.name: new.excluded[column.name] for column in table.c if not column.primary_key}
    return new.on_conflict_do_update(index_elements=unique, set_=others)


def at_one_url(one: Any, other: Any) -> ColumnElement[bool]:
    """Return whether rows of two tables, by their columns, are about one ARK at one URL."""
    return and_(one.ark_id == other.ark_id, one.request_url == other.request_url)


run = Table(
    "run",
    tables,
    key("run_id", "number of the run, counted up"),
    required("command", Text, "verb that made the run: crawl, check …"),
    required("started_at", Moment, "moment at which the run began"),
    optional("ended_at", Moment, "moment at which it ended; missing while it runs, and after a crash"),
    required("state", Text, "running, finished, interrupted or failed"),
    required("version", Text, "version of arkaudit that made the run"),
    required("resolver", Text, "resolver that ARKs without one of their own were sent to"),
    required("user_agent", Text, "how the run introduced itself to servers"),
    required("seeds", JSON, "URLs and paths that the run began with", "list of text"),
    optional(
        "plan",
        JSON(none_as_null=True),
        "settings that decide what is asked: a command that differs in them does not resume the run; `judged_by`, the "
        "digest of what its verdicts rest on; of "
        "`run` also whether it was `reported`, its report written and its news sent",
    ),
    comment="One row per audit.",
)

document = Table(
    "document",
    tables,
    key("document_id"),
    reference("run_id", "run that asked for it"),
    required("url", Text, "URL that was asked for, or path of a file"),
    optional("found_on", Text, "document that led here; missing for a starting point"),
    required("fetched_at", Moment, "moment of the last answer or failure"),
    required(
        "outcome",
        Text,
        "read, unreadable, redirected (to a document with a row of its own), referer (not asked for: a log names it "
        "as where visitors came from), or what the request came to, in the words of an object outcome",
    ),
    optional(
        "status",
        Integer,
        "status of the last answer, or of the redirect; missing for a file, or without an answer",
        "HTTP status",
    ),
    optional(
        "final_url", Text, "URL that the redirects ended at; of one that is redirected the name of the document's row"
    ),
    optional("media_type", Text, "media type as the reader determined it"),
    optional("title", Text, "title that the document gives itself"),
    optional("body_bytes", Integer, "size of what arrived", "bytes"),
    optional("body_sha256", Text, "digest of what arrived, in hexadecimal"),
    required(
        "hops",
        JSON,
        "every request and redirect on the way; the request that brought a document has its own row",
        "list of hops",
    ),
    UniqueConstraint("run_id", "url"),
    comment="One row per document that was asked for in a run; unique by run and URL.",
)

finding = Table(
    "finding",
    tables,
    key("finding_id"),
    reference("run_id", "run that made the remark"),
    reference("document_id", "document that it is about; missing when it is about none", nullable=True),
    required("subject", Text, "what the finding is about: mostly the URL of a document"),
    required("kind", Text, "kind of finding: unreadable, encrypted, not-fetched, namespace-mention …"),
    required("detail", Text, "the finding in words"),
    UniqueConstraint("run_id", "subject", "kind", "detail"),
    comment="One row per remark that a reader of the report must know; unique by run, subject, kind and detail.",
)

ark = Table(
    "ark",
    tables,
    key("ark_id"),
    required("ark", Text, "ARK in normal form (draft-kunze-ark-38, 3.2)", unique=True),
    required("naan", Text, "Name Assigning Authority Number"),
    optional("shoulder", Text, "consonants up to and with the first digit of the name; missing when it has none"),
    required("name", Text, "base name, up to the first slash or dot"),
    required("qualifier", Text, "components and variants, each with its delimiter; may be empty"),
    comment="One row per ARK that any run has seen.",
)

mention = Table(
    "mention",
    tables,
    key("mention_id"),
    reference("document_id", "document that it is in"),
    required("ordinal", Integer, "place among the mentions of the document", "number from 1"),
    required(
        "decided",
        Integer,
        "1 when its document was read, 2 again in the light of all documents of the run, 3 by what resolvers answered",
        "number from 1",
    ),
    required(
        "citation", Integer, "which citation of the document; a link and its visible text are one", "number from 1"
    ),
    reference("ark_id", "ARK that is cited"),
    required("as_written", Text, "what the document has, unchanged"),
    required("repaired", Text, "the same, whole again; hyphens, label and resolver as found"),
    optional("request_url", Text, "URL that is asked for this mention; missing when none is"),
    optional("resolver", Text, "URL before the label, with its final slash; missing for an ARK without one"),
    required("inflection", Text, "?info, ??, ? or empty"),
    required("fragment", Text, "what was written after #; never sent, and no part of identity"),
    required("role", Text, "text, link-target, metadata, link-annotation or structured-data"),
    optional("page", Integer, "page of a paginated document", "page number from 1"),
    required("place", Text, "element and attribute, or rectangle on the page in points; may be empty"),
    required(
        "spans",
        JSON,
        "where it is in the reader's block of text: begin and end, several across a gap",
        "list of pairs of code points",
    ),
    required("context", Text, "text around it"),
    required("repairs", JSON, "repairs that were made, in order", "list of text"),
    required("confidence", Text, "certain, likely or ambiguous"),
    required("reason", Text, "rule that led to the least certain decision"),
    required("alternatives", JSON, "ARKs that the other decisions would have given", "list of ARKs"),
    required("remarks", JSON, "how its spelling departs from the specifications", "list of text"),
    optional(
        "doubt",
        JSON(none_as_null=True),
        "text around a mention that was not certain, with its links and lines; missing for others",
    ),
    optional("asked", Integer, "of a mention in a log: how often people asked so, in what was read of it", "requests"),
    optional("asked_by_robots", Integer, "likewise, how often robots did", "requests"),
    optional("answered", Integer, "likewise, with which status they were answered", "HTTP status"),
    UniqueConstraint("document_id", "ordinal", "decided"),
    Index("mention_by_ark", "ark_id"),
    comment="One row per place that cites an ARK, as decided once; unique by document, ordinal and decided. The "
    "last decision counts.",
)
_later = mention.alias("later")


def _is_last(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Of the rows about one place in a document, the one that was decided last of those with these *conditions*."""
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
#: The row by which resolvers were asked: what their answers have settled comes later.
is_asked_mention = and_(
    mention.c.decided < DecidedOn.SETTLED.value, _is_last(_later.c.decided < DecidedOn.SETTLED.value)
)

observation = Table(
    "observation",
    tables,
    key("observation_id"),
    reference("run_id", "run that asked"),
    reference("ark_id", "ARK that the question is about"),
    required("request_url", Text, "URL of the object question that this belongs to, without inflection"),
    required("question", Text, "what was asked: object, ?info, ??, ?, control and others, as in `Question`"),
    required("attempt", Integer, "which attempt at this question", "number from 1"),
    required("asked_url", Text, "URL whose target was sent first, byte for byte"),
    required("at", Moment, "moment at which the chain ended"),
    required("chain_end", Text, "how the chain of hops ended, before anything is judged"),
    required("detail", Text, "words for how it ended; empty where there are none"),
    optional("status", Integer, "status of the last hop; missing without an answer", "HTTP status"),
    required("final_url", Text, "URL that the chain ended at"),
    required("hop_count", Integer, "redirects between the first request and the last", "redirects"),
    required(
        "hops",
        JSON,
        "every request: url, method, at, status, location, address, elapsed_s (seconds), headers, error, "
        "sent (whether anything went out for it), body_bytes and body_sha256 (as they came)",
        "list of hops",
    ),
    optional("media_type", Text, "media type of the answer"),
    optional("title", Text, "title of the page that was answered"),
    optional(
        "text",
        Text,
        "beginning of the answer's readable text, white space folded; of a page its title and its own text, "
        "menus, banners and footers left out",
    ),
    optional("body_bytes", Integer, "size of the part of the body that was read", "bytes"),
    optional("body_sha256", Text, "digest of that part, in hexadecimal"),
    required("body_complete", Boolean, "whether the body was read to its end"),
    optional("record", JSON, "what was parsed from a metadata answer", "mapping"),
    optional("similarity", Text, "sketch of all of that text, for comparing answers, in hexadecimal"),
    required(
        "facts",
        JSON,
        "what the page says of itself: arks and their places, canonical, refresh, challenge, asks_password, "
        "runs_scripts, signs_on, headings, kernel_values",
        "mapping",
    ),
    required("remarks", JSON, "what else was noticed", "list of text"),
    optional(
        "rendering",
        JSON(none_as_null=True),
        "where a browser has shown the page, how that went: browser, requests (of the page, as `hops`), "
        "lacking (what it asked for and didn't get), left_out (number of requests), fault",
        "mapping",
    ),
    UniqueConstraint("run_id", "request_url", "question", "attempt"),
    Index("observation_by_ark", "ark_id"),
    comment="One row per question that was asked of the world, and its answer; unique by run, request URL, "
    "question and attempt.",
)

tls_probe = Table(
    "tls_probe",
    tables,
    key("tls_probe_id"),
    reference("run_id", "run that looked"),
    required("host", Text, "name of the host"),
    required("port", Integer, "port of the handshake"),
    required("at", Moment, "moment of the handshake; before the run, where one of the same day was taken over"),
    optional("trusted", Boolean, "whether the certificate holds; missing when the handshake could not be made"),
    required(
        "reason", Text, "ok, expired, not-yet-valid, self-signed, unknown-issuer, wrong-host, or the failure's words"
    ),
    required(
        "means",
        Text,
        "whose authorities were trusted, and the route that was taken where there was one",
        server_default=text("''"),
    ),
    UniqueConstraint("run_id", "host", "port"),
    Index("tls_probe_by_host", "host", "port", "at"),
    comment="One row per host whose certificate was looked at; unique by run, host and port. One handshake a day "
    "(UTC) is enough for all runs of a store.",
)

pause = Table(
    "pause",
    tables,
    key("pause_id"),
    reference("run_id", "run that was asked"),
    required("host", Text, "scheme, name and port of the host"),
    required("url", Text, "URL of the request that was answered so"),
    required("at", Moment, "moment of the answer"),
    required("asked_s", Float, "how long it wants to be left alone", "seconds"),
    required(
        "is_kept",
        Boolean,
        "whether that is within our patience; otherwise it was asked again only if there was time anyway",
    ),
    UniqueConstraint("run_id", "url", "at"),
    comment="One row per time that a host asked to be left alone (Retry-After); unique by run, URL and moment.",
)

host_traffic = Table(
    "host_traffic",
    tables,
    key("host_traffic_id"),
    reference("run_id", "run that asked"),
    required("host", Text, "scheme, name and port of the host"),
    required(
        "requests",
        Integer,
        "everything that went there: questions, documents, redirects, attempts, robots.txt, the look at its "
        "certificate",
        "requests",
    ),
    required("failures", Integer, "how many of them got no answer", "requests"),
    required("interval_s", Float, "what was kept between two of them at least, back-off apart", "seconds"),
    optional("crawl_delay_s", Float, "interval that its robots.txt wants; missing when it wants none", "seconds"),
    optional("given_up", Text, "why it was not asked any more; missing when it was"),
    UniqueConstraint("run_id", "host"),
    comment="One row per host that was asked in a run; unique by run and host.",
)

verdict = Table(
    "verdict",
    tables,
    key("verdict_id"),
    reference("run_id", "run that judged"),
    reference("ark_id", "ARK that is judged"),
    required("request_url", Text, "URL that was asked for the object"),
    required("object", Text, "outcome of the object service"),
    required("object_evidence", JSON, "sentences that support it", "list of text"),
    required("metadata", Text, "outcome of the metadata service"),
    required("metadata_evidence", JSON, "sentences that support it", "list of text"),
    required("metadata_parsed", JSON, "description of the object, as parsed", "mapping"),
    required("commitment", Text, "outcome of the commitment service"),
    required("commitment_evidence", JSON, "sentences that support it", "list of text"),
    required("commitment_parsed", JSON, "statement of commitment, as parsed: who, what, when, where", "mapping"),
    optional("final_url", Text, "URL that the object's chain ended at; missing when nothing answered there"),
    required("hop_count", Integer, "redirects between the first request for the object and the last", "redirects"),
    required("request_count", Integer, "requests about this ARK at this URL, each attempt and redirect", "requests"),
    required("remarks", JSON, "what else was noticed", "list of text"),
    required(
        "rests_on",
        JSON,
        "asked for others as well: controls, policies, a host's path, other readings; `asked_url` of observations",
        "list of URLs",
        server_default=text("'[]'"),
    ),
    optional(
        "did_you_mean", JSON(none_as_null=True), "ARK that was probably meant and lives: ark, url, evidence", "mapping"
    ),
    required(
        "naan_policy",
        JSON,
        "what the NAAN registry says of the assigner: of, organization, practices, org_type, url; may be empty",
        "mapping",
        server_default=text("'{}'"),
    ),
    UniqueConstraint("run_id", "request_url"),
    Index("verdict_by_ark", "ark_id"),
    comment="One row per ARK at one URL, judged; unique by run and request URL.",
)

memento = Table(
    "memento",
    tables,
    key("memento_id"),
    reference("run_id", "run that asked"),
    reference("ark_id", "ARK that failed"),
    required("request_url", Text, "URL at which it failed"),
    required("timegate", Text, "TimeGate of the archive that was asked (RFC 7089)"),
    required("at", Moment, "moment of the archive's last answer"),
    optional(
        "wanted_at",
        Moment,
        "moment near which a capture was wanted: when the ARK worked last; missing for the newest capture",
    ),
    required("outcome", Text, "captured, no-capture (the archive has none that is good) or not-told (it did not say)"),
    required("reason", Text, "the outcome in words"),
    optional("original_url", Text, "URL that was captured; missing without a capture"),
    optional("memento_url", Text, "address of the last good capture; missing without one"),
    optional("memento_at", Moment, "moment of that capture"),
    required("evidence", JSON, "sentences that support it", "list of text"),
    required("hops", JSON, "every request to the archive, as in `observation`", "list of hops"),
    UniqueConstraint("run_id", "request_url"),
    Index("memento_by_url", "request_url"),
    comment="One row per ARK that fails at one URL, and what an archive has of it; unique by run and request URL. It "
    "changes no verdict.",
)

#: What a run has still to ask for; read and written by `crawler.store.frontier` alone.
frontier = Table(
    "frontier",
    tables,
    key("frontier_id", "key; grows in the order of discovery"),
    reference("run_id", "run that asks"),
    required("spider", Text, "which part of the run asks: documents or arks"),
    required("canonical", Text, "form that two equal ones share; of an ARK the URL itself"),
    required("url", Text, "URL as it is sent, or path of a file"),
    required("kind", Text, "page, file or ark: how the answer is to be read"),
    required("host", Text, "host and port that are asked; empty for a file"),
    required("depth", Integer, "links followed from a starting point to here", "links"),
    optional("found_on", Text, "document that led here first; missing for a starting point"),
    optional("ark", Text, "ARK in normal form that is asked about; missing for a document"),
    required("reach", Text, "how far it leads: site (its links are followed), item (only to its documents) or leaf"),
    optional("source", Text, "kind of source as which its answer is read; missing when its content shows it"),
    required("part", Integer, "for a further part of a source, how many came before it; else 0"),
    required("rank", Integer, "0 for what comes before the others of its host, as it may expire; else 1"),
    required(
        "state",
        Text,
        "waiting, claimed (handed to a spider, without an outcome yet) or done (its outcome is in the store)",
    ),
    required(
        "attempts",
        Integer,
        "how often it was handed to a spider; more than once after a crash, never if a redirect led there first",
    ),
    optional("claimed_until", Moment, "moment until which a claim holds; missing unless claimed"),
    optional(
        "listed",
        Text,
        "digest of what it has listed as a source, by which one that goes in circles is recognized; missing if nothing",
    ),
    UniqueConstraint("run_id", "spider", "canonical"),
    comment="One row per thing that a run has to ask for, or has asked for; unique by run, spider and canonical form.",
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

#: What each document of a crawl links to; read and written by `crawler.store.document_tables` alone.
outlinks = Table(
    "outlinks",
    tables,
    key("outlinks_id"),
    reference("run_id", "run that read the document"),
    reference("document_id", "document"),
    required(
        "key",
        LargeBinary,
        "digest of the form in which URLs are compared, by which others link to it: BLAKE2b, 8 bytes",
    ),
    required(
        "found_on", Text, "where the links are: the document, a record in it, or the robots.txt that names its sitemaps"
    ),
    required(
        "targets",
        LargeBinary,
        "keys of the documents that are linked to, 8 bytes each, in order; also of those that were known already",
    ),
    Index("outlinks_by_key", "run_id"),
    comment="One row per document of a crawl and place where its links are, also for one without links; in the "
    "order of the links.",
)

# -- history: what follows from the tables above, kept so that no one need read all runs for it

provenance = Table(
    "provenance",
    tables,
    reference("run_id", "run", primary_key=True),
    required("uuid", Text, "key of the run, drawn when it began", unique=True),
    optional(
        "imported_at", Moment, "moment at which it was brought in from another store; missing for a run of this one"
    ),
    comment="One row per run: how it is known in any store that it is brought into; unique by key.",
)

contact = Table(
    "contact",
    tables,
    key("contact_id"),
    reference("run_id", "run that asked"),
    required("host", Text, "host, with its port unless it is the default one"),
    required("answered", Integer, "requests that got an HTTP answer, whatever its status", "requests"),
    required(
        "met", Integer, "requests that were refused, cut off or answered with nonsense: someone is there", "requests"
    ),
    required("silent", Integer, "requests without any sign of the host: no address, or no word in time", "requests"),
    required("first_at", Moment, "moment of the first answer or failure"),
    required("last_at", Moment, "moment of the last one"),
    optional("failure", Text, "how it failed last, in the words of a chain's end; missing when it never did"),
    UniqueConstraint("run_id", "host"),
    Index("contact_by_host", "host"),
    comment="One row per run and host that a request was sent to: what it met there. Requests that our own guard "
    "or robots.txt held back are not in it.",
)

assessment = Table(
    "assessment",
    tables,
    reference("run_id", "run", primary_key=True),
    required("is_suspect", Boolean, "whether most hosts failed in it, so that its failures prove nothing"),
    required("reason", Text, "why it is suspect; empty when it is not"),
    required(
        "expected",
        Integer,
        "hosts that were asked and expected to answer: not silent in the last two runs that asked them",
        "hosts",
    ),
    required("missing", Integer, "how many of these did not answer", "hosts"),
    comment="One row per run: whether its failures may be held against anybody.",
)

policy = Table(
    "policy",
    tables,
    key("policy_id", "always 1"),
    required("strikes", Integer, "failures that confirm, without a good answer between them", "failures"),
    required("days", Float, "time that must lie between the first and the last of them", "days"),
    required("turns", Integer, "turns between working and failing that make an ARK flapping", "turns"),
    required("turn_days", Float, "time within which these must lie", "days"),
    required("likeness", Float, "share of phrases that a text must keep not to count as another", "1"),
    comment="One row at most: by what rules the standing in this store is kept; the built-in ones without it.",
)

latest = Table(
    "latest",
    tables,
    key("latest_id"),
    reference("ark_id", "ARK"),
    required("request_url", Text, "URL at which it is asked for"),
    required("host", Text, "host that is asked first; empty for a URL without one"),
    required(
        "first_seen_at", Moment, "moment of its first check, or beginning of the run whose documents first cited it"
    ),
    optional("cited_in", ForeignKey("run.run_id"), "last run whose documents cite it; missing when none did"),
    optional(
        "gone_at", Moment, "beginning of the run that showed that no document cites it any more; missing while one does"
    ),
    reference("verdict_id", "last verdict; missing when it was never checked", nullable=True),
    optional("checked_at", Moment, "moment of the last check"),
    required("state", Text, "healthy, failing, confirmed-broken, flapping, blocked, skipped or undetermined"),
    required("since", Moment, "moment of the check that brought it to this state"),
    required("reason", Text, "why it is in this state, in words"),
    required("strikes", Integer, "failures of its own since it worked last", "failures"),
    optional("first_strike_at", Moment, "moment of the first of them"),
    optional("last_strike_at", Moment, "moment of the last of them"),
    optional("worked_at", Moment, "moment of the last check in which it worked"),
    required(
        "memory",
        JSON,
        "what the next check is held against: turns, landing, sketch, digest, description, promise",
        "mapping",
    ),
    UniqueConstraint("ark_id", "request_url"),
    Index("latest_by_verdict", "verdict_id"),
    comment="One row per ARK at one URL: its status after all its checks; follows from the other tables.",
)

event = Table(
    "event",
    tables,
    key("event_id"),
    reference("run_id", "run that showed it"),
    reference("ark_id", "ARK"),
    required("request_url", Text, "URL at which it is asked for"),
    required("at", Moment, "moment of the check that showed it, or beginning of the run whose documents did"),
    required("event", Text, "new, gone, recovered, moved, changed or broke"),
    required("detail", Text, "what exactly, in words; may be empty"),
    Index("event_by_run", "run_id"),
    Index("event_by_ark", "ark_id", "request_url"),
    comment="One row something that happened to an ARK at one URL; follows from the other tables.",
)

#: What people have decided about known problems; what follows from it is worked out where it is asked for.
triage = Table(
    "triage",
    tables,
    key("triage_id"),
    required("action", Text, "acknowledge, ignore, assign or recheck"),
    required("kind", Text, "by what it is known which ARKs are meant: ark, pattern, host or document"),
    required(
        "target",
        Text,
        "ARK in normal form, pattern with *, host with its port unless it is the default one, or address of documents",
    ),
    required("at", Moment, "moment of the decision"),
    required("reason", Text, "why, in the words of the person who decided; may be empty"),
    optional("until", Text, "day on which something ignored counts again; missing for the other actions", "ISO 8601"),
    optional("assignee", Text, "who looks after it; missing for the other actions"),
    required("from_file", Boolean, "whether it is in a file, and goes when it is taken out there"),
    UniqueConstraint("action", "kind", "target"),
    comment="One row per decision about known problems; unique by action, kind and target. What follows from it is "
    "worked out where it is asked for.",
)
