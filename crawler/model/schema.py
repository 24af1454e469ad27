"""The tables of the store: one definition, for SQLite today."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
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

from crawler.model.observations import DecidedOn

#: ``PRAGMA application_id`` of our files ("ARKA"), so that a foreign SQLite file is refused and never written to.
APPLICATION_ID = 0x41524B41
#: ``PRAGMA user_version``: raised by every change to the tables below.
SCHEMA_VERSION = 1

tables = MetaData()


class Moment(Text):
    """A moment as text, in ISO 8601, in UTC and milliseconds."""


def unit(words: str) -> dict[str, str]:
    """Return the unit or the form of a column's values, in addition to their type."""
    return {"unit": words}


run = Table(
    "run",
    tables,
    Column("run_id", Integer, primary_key=True, comment="number of the run, counted up"),
    Column("command", Text, nullable=False, comment="verb that made the run: crawl, check …"),
    Column("started_at", Moment, nullable=False, comment="moment at which the run began"),
    Column("ended_at", Moment, comment="moment at which it ended; missing while it runs, and after a crash"),
    Column("state", Text, nullable=False, comment="running, finished, interrupted or failed"),
    Column("version", Text, nullable=False, comment="version of arkaudit that made the run"),
    Column("resolver", Text, nullable=False, comment="resolver that ARKs without one of their own were sent to"),
    Column("user_agent", Text, nullable=False, comment="how the run introduced itself to servers"),
    Column("seeds", JSON, nullable=False, comment="URLs and paths that the run began with", info=unit("list of text")),
    Column(
        "plan",
        JSON(none_as_null=True),
        comment="settings that decide what is asked: a command that differs in them does not resume the run; of "
        "`run` also whether it was `reported`, its report written and its news sent",
    ),
    comment="One row per audit.",
)

document = Table(
    "document",
    tables,
    Column("document_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asked for it"),
    Column("url", Text, nullable=False, comment="URL that was asked for, or path of a file"),
    Column("found_on", Text, comment="document that led here; missing for a starting point"),
    Column("fetched_at", Moment, nullable=False, comment="moment of the last answer or failure"),
    Column(
        "outcome",
        Text,
        nullable=False,
        comment="read, unreadable, redirected (to a document with a row of its own), or what the request came to, in "
        "the words of an object outcome",
    ),
    Column(
        "status",
        Integer,
        comment="status of the last answer, or of the redirect; missing for a file, or without an answer",
        info=unit("HTTP status"),
    ),
    Column(
        "final_url",
        Text,
        comment="URL that the redirects ended at; of one that is redirected the name of the document's row",
    ),
    Column("media_type", Text, comment="media type as the reader determined it"),
    Column("title", Text, comment="title that the document gives itself"),
    Column("body_bytes", Integer, comment="size of what arrived", info=unit("bytes")),
    Column("body_sha256", Text, comment="digest of what arrived, in hexadecimal"),
    Column(
        "hops",
        JSON,
        nullable=False,
        comment="every request and redirect on the way; the request that brought a document has its own row",
        info=unit("list of hops"),
    ),
    UniqueConstraint("run_id", "url"),
    comment="One row per document that was asked for in a run; unique by run and URL.",
)

finding = Table(
    "finding",
    tables,
    Column("finding_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that made the remark"),
    Column(
        "document_id",
        ForeignKey("document.document_id"),
        comment="document that it is about; missing when it is about none",
    ),
    Column("subject", Text, nullable=False, comment="what the finding is about: mostly the URL of a document"),
    Column(
        "kind", Text, nullable=False, comment="kind of finding: unreadable, encrypted, not-fetched, namespace-mention …"
    ),
    Column("detail", Text, nullable=False, comment="the finding in words"),
    UniqueConstraint("run_id", "subject", "kind", "detail"),
    comment="One row per remark that a reader of the report must know; unique by run, subject, kind and detail.",
)

ark = Table(
    "ark",
    tables,
    Column("ark_id", Integer, primary_key=True, comment="key"),
    Column("ark", Text, nullable=False, unique=True, comment="ARK in normal form (draft-kunze-ark-38, 3.2)"),
    Column("naan", Text, nullable=False, comment="Name Assigning Authority Number"),
    Column("shoulder", Text, comment="consonants up to and with the first digit of the name; missing when it has none"),
    Column("name", Text, nullable=False, comment="base name, up to the first slash or dot"),
    Column("qualifier", Text, nullable=False, comment="components and variants, each with its delimiter; may be empty"),
    comment="One row per ARK that any run has seen.",
)

mention = Table(
    "mention",
    tables,
    Column("mention_id", Integer, primary_key=True, comment="key"),
    Column("document_id", ForeignKey("document.document_id"), nullable=False, comment="document that it is in"),
    Column(
        "ordinal",
        Integer,
        nullable=False,
        comment="place among the mentions of the document",
        info=unit("number from 1"),
    ),
    Column(
        "decided",
        Integer,
        nullable=False,
        comment="1 when its document was read, 2 again in the light of all documents of the run, 3 by what resolvers "
        "answered",
        info=unit("number from 1"),
    ),
    Column(
        "citation",
        Integer,
        nullable=False,
        comment="which citation of the document; a link and its visible text are one",
        info=unit("number from 1"),
    ),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK that is cited"),
    Column("as_written", Text, nullable=False, comment="what the document has, unchanged"),
    Column("repaired", Text, nullable=False, comment="the same, whole again; hyphens, label and resolver as found"),
    Column("request_url", Text, comment="URL that is asked for this mention; missing when none is"),
    Column("resolver", Text, comment="URL before the label, with its final slash; missing for an ARK without one"),
    Column("inflection", Text, nullable=False, comment="?info, ??, ? or empty"),
    Column("fragment", Text, nullable=False, comment="what was written after #; never sent, and no part of identity"),
    Column("role", Text, nullable=False, comment="text, link-target, metadata, link-annotation or structured-data"),
    Column("page", Integer, comment="page of a paginated document", info=unit("page number from 1")),
    Column(
        "place", Text, nullable=False, comment="element and attribute, or rectangle on the page in points; may be empty"
    ),
    Column(
        "spans",
        JSON,
        nullable=False,
        comment="where it is in the reader's block of text: begin and end, several across a gap",
        info=unit("list of pairs of code points"),
    ),
    Column("context", Text, nullable=False, comment="text around it"),
    Column("repairs", JSON, nullable=False, comment="repairs that were made, in order", info=unit("list of text")),
    Column("confidence", Text, nullable=False, comment="certain, likely or ambiguous"),
    Column("reason", Text, nullable=False, comment="rule that led to the least certain decision"),
    Column(
        "alternatives",
        JSON,
        nullable=False,
        comment="ARKs that the other decisions would have given",
        info=unit("list of ARKs"),
    ),
    Column(
        "remarks",
        JSON,
        nullable=False,
        comment="how its spelling departs from the specifications",
        info=unit("list of text"),
    ),
    Column(
        "doubt",
        JSON(none_as_null=True),
        comment="text around a mention that was not certain, with its links and lines; missing for others",
    ),
    UniqueConstraint("document_id", "ordinal", "decided"),
    Index("mention_by_ark", "ark_id"),
    comment="One row per place that cites an ARK, as decided once; unique by document, ordinal and decided. The "
    "last decision counts.",
)
_later = mention.alias("later")
#: Of the rows about one place in a document, the one that was decided last.
is_current_mention = ~(
    select(_later.c.mention_id)
    .where(
        _later.c.document_id == mention.c.document_id,
        _later.c.ordinal == mention.c.ordinal,
        _later.c.decided > mention.c.decided,
    )
    .exists()
)
#: Of these rows, the one by which resolvers were asked: what their answers have settled comes later.
is_asked_mention = and_(
    mention.c.decided < DecidedOn.SETTLED.value,
    ~(
        select(_later.c.mention_id)
        .where(
            _later.c.document_id == mention.c.document_id,
            _later.c.ordinal == mention.c.ordinal,
            _later.c.decided > mention.c.decided,
            _later.c.decided < DecidedOn.SETTLED.value,
        )
        .exists()
    ),
)

observation = Table(
    "observation",
    tables,
    Column("observation_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asked"),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK that the question is about"),
    Column(
        "request_url",
        Text,
        nullable=False,
        comment="URL of the object question that this belongs to, without inflection",
    ),
    Column(
        "question",
        Text,
        nullable=False,
        comment="what was asked: object, ?info, ??, ?, control and others, as in `Question`",
    ),
    Column("attempt", Integer, nullable=False, comment="which attempt at this question", info=unit("number from 1")),
    Column("asked_url", Text, nullable=False, comment="URL whose target was sent first, byte for byte"),
    Column("at", Moment, nullable=False, comment="moment at which the chain ended"),
    Column("chain_end", Text, nullable=False, comment="how the chain of hops ended, before anything is judged"),
    Column("detail", Text, nullable=False, comment="words for how it ended; empty where there are none"),
    Column("status", Integer, comment="status of the last hop; missing without an answer", info=unit("HTTP status")),
    Column("final_url", Text, nullable=False, comment="URL that the chain ended at"),
    Column(
        "hop_count",
        Integer,
        nullable=False,
        comment="redirects between the first request and the last",
        info=unit("redirects"),
    ),
    Column(
        "hops",
        JSON,
        nullable=False,
        comment="every request: url, method, at, status, location, address, elapsed_s (seconds), headers, error, "
        "sent (whether anything went out for it), body_bytes and body_sha256 (as they came)",
        info=unit("list of hops"),
    ),
    Column("media_type", Text, comment="media type of the answer"),
    Column("title", Text, comment="title of the page that was answered"),
    Column(
        "text",
        Text,
        comment="beginning of the answer's readable text, white space folded; of a page its title and its own text, "
        "menus, banners and footers left out",
    ),
    Column("body_bytes", Integer, comment="size of the part of the body that was read", info=unit("bytes")),
    Column("body_sha256", Text, comment="digest of that part, in hexadecimal"),
    Column("body_complete", Boolean, nullable=False, comment="whether the body was read to its end"),
    Column("record", JSON, comment="what was parsed from a metadata answer", info=unit("mapping")),
    Column("similarity", Text, comment="sketch of all of that text, for comparing answers, in hexadecimal"),
    Column(
        "facts",
        JSON,
        nullable=False,
        comment="what the page says of itself: arks and their places, canonical, refresh, challenge, asks_password, "
        "runs_scripts, signs_on, headings, kernel_values",
        info=unit("mapping"),
    ),
    Column("remarks", JSON, nullable=False, comment="what else was noticed", info=unit("list of text")),
    Column(
        "rendering",
        JSON(none_as_null=True),
        comment="where a browser has shown the page, how that went: browser, requests (of the page, as `hops`), "
        "lacking (what it asked for and didn't get), left_out (number of requests), fault",
        info=unit("mapping"),
    ),
    UniqueConstraint("run_id", "request_url", "question", "attempt"),
    Index("observation_by_ark", "ark_id"),
    comment="One row per question that was asked of the world, and its answer; unique by run, request URL, "
    "question and attempt.",
)

tls_probe = Table(
    "tls_probe",
    tables,
    Column("tls_probe_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that looked"),
    Column("host", Text, nullable=False, comment="name of the host"),
    Column("port", Integer, nullable=False, comment="port of the handshake"),
    Column(
        "at",
        Moment,
        nullable=False,
        comment="moment of the handshake; before the run, where one of the same day was taken over",
    ),
    Column("trusted", Boolean, comment="whether the certificate holds; missing when the handshake could not be made"),
    Column(
        "reason",
        Text,
        nullable=False,
        comment="ok, expired, not-yet-valid, self-signed, unknown-issuer, wrong-host, or the failure's words",
    ),
    Column(
        "means",
        Text,
        nullable=False,
        server_default=text("''"),
        comment="whose authorities were trusted, and the route that was taken where there was one",
    ),
    UniqueConstraint("run_id", "host", "port"),
    Index("tls_probe_by_host", "host", "port", "at"),
    comment="One row per host whose certificate was looked at; unique by run, host and port. One handshake a day "
    "(UTC) is enough for all runs of a store.",
)

pause = Table(
    "pause",
    tables,
    Column("pause_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that was asked"),
    Column("host", Text, nullable=False, comment="scheme, name and port of the host"),
    Column("url", Text, nullable=False, comment="URL of the request that was answered so"),
    Column("at", Moment, nullable=False, comment="moment of the answer"),
    Column("asked_s", Float, nullable=False, comment="how long it wants to be left alone", info=unit("seconds")),
    Column(
        "is_kept",
        Boolean,
        nullable=False,
        comment="whether that is within our patience; otherwise it was asked again only if there was time anyway",
    ),
    UniqueConstraint("run_id", "url", "at"),
    comment="One row per time that a host asked to be left alone (Retry-After); unique by run, URL and moment.",
)

host_traffic = Table(
    "host_traffic",
    tables,
    Column("host_traffic_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asked"),
    Column("host", Text, nullable=False, comment="scheme, name and port of the host"),
    Column(
        "requests",
        Integer,
        nullable=False,
        comment="everything that went there: questions, documents, redirects, attempts, robots.txt, the look at its "
        "certificate",
        info=unit("requests"),
    ),
    Column("failures", Integer, nullable=False, comment="how many of them got no answer", info=unit("requests")),
    Column(
        "interval_s",
        Float,
        nullable=False,
        comment="what was kept between two of them at least, back-off apart",
        info=unit("seconds"),
    ),
    Column(
        "crawl_delay_s",
        Float,
        comment="interval that its robots.txt wants; missing when it wants none",
        info=unit("seconds"),
    ),
    Column("given_up", Text, comment="why it was not asked any more; missing when it was"),
    UniqueConstraint("run_id", "host"),
    comment="One row per host that was asked in a run; unique by run and host.",
)

verdict = Table(
    "verdict",
    tables,
    Column("verdict_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that judged"),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK that is judged"),
    Column("request_url", Text, nullable=False, comment="URL that was asked for the object"),
    Column("object", Text, nullable=False, comment="outcome of the object service"),
    Column("object_evidence", JSON, nullable=False, comment="sentences that support it", info=unit("list of text")),
    Column("metadata", Text, nullable=False, comment="outcome of the metadata service"),
    Column("metadata_evidence", JSON, nullable=False, comment="sentences that support it", info=unit("list of text")),
    Column(
        "metadata_parsed", JSON, nullable=False, comment="description of the object, as parsed", info=unit("mapping")
    ),
    Column("commitment", Text, nullable=False, comment="outcome of the commitment service"),
    Column("commitment_evidence", JSON, nullable=False, comment="sentences that support it", info=unit("list of text")),
    Column(
        "commitment_parsed",
        JSON,
        nullable=False,
        comment="statement of commitment, as parsed: who, what, when, where",
        info=unit("mapping"),
    ),
    Column("final_url", Text, comment="URL that the object's chain ended at; missing when nothing answered there"),
    Column(
        "hop_count",
        Integer,
        nullable=False,
        comment="redirects between the first request for the object and the last",
        info=unit("redirects"),
    ),
    Column(
        "request_count",
        Integer,
        nullable=False,
        comment="requests about this ARK at this URL, each attempt and redirect",
        info=unit("requests"),
    ),
    Column("remarks", JSON, nullable=False, comment="what else was noticed", info=unit("list of text")),
    Column(
        "rests_on",
        JSON,
        nullable=False,
        server_default=text("'[]'"),
        comment="asked for others as well: controls, policies, a host's path, other readings; `asked_url` of "
        "observations",
        info=unit("list of URLs"),
    ),
    Column(
        "did_you_mean",
        JSON(none_as_null=True),
        comment="ARK that was probably meant and lives: ark, url, evidence",
        info=unit("mapping"),
    ),
    Column(
        "naan_policy",
        JSON,
        nullable=False,
        server_default=text("'{}'"),
        comment="what the NAAN registry says of the assigner: of, organization, practices, org_type, url; may be empty",
        info=unit("mapping"),
    ),
    UniqueConstraint("run_id", "request_url"),
    Index("verdict_by_ark", "ark_id"),
    comment="One row per ARK at one URL, judged; unique by run and request URL.",
)

memento = Table(
    "memento",
    tables,
    Column("memento_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asked"),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK that failed"),
    Column("request_url", Text, nullable=False, comment="URL at which it failed"),
    Column("timegate", Text, nullable=False, comment="TimeGate of the archive that was asked (RFC 7089)"),
    Column("at", Moment, nullable=False, comment="moment of the archive's last answer"),
    Column(
        "wanted_at",
        Moment,
        comment="moment near which a capture was wanted: when the ARK worked last; missing for the newest capture",
    ),
    Column(
        "outcome",
        Text,
        nullable=False,
        comment="captured, no-capture (the archive has none that is good) or not-told (it did not say)",
    ),
    Column("reason", Text, nullable=False, comment="the outcome in words"),
    Column("original_url", Text, comment="URL that was captured; missing without a capture"),
    Column("memento_url", Text, comment="address of the last good capture; missing without one"),
    Column("memento_at", Moment, comment="moment of that capture"),
    Column("evidence", JSON, nullable=False, comment="sentences that support it", info=unit("list of text")),
    Column(
        "hops",
        JSON,
        nullable=False,
        comment="every request to the archive, as in `observation`",
        info=unit("list of hops"),
    ),
    UniqueConstraint("run_id", "request_url"),
    Index("memento_by_url", "request_url"),
    comment="One row per ARK that fails at one URL, and what an archive has of it; unique by run and request URL. It "
    "changes no verdict.",
)

#: What a run has still to ask for; read and written by `crawler.store.frontier` alone.
frontier = Table(
    "frontier",
    tables,
    Column("frontier_id", Integer, primary_key=True, comment="key; grows in the order of discovery"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asks"),
    Column("spider", Text, nullable=False, comment="which part of the run asks: documents or arks"),
    Column("canonical", Text, nullable=False, comment="form that two equal ones share; of an ARK the URL itself"),
    Column("url", Text, nullable=False, comment="URL as it is sent, or path of a file"),
    Column("kind", Text, nullable=False, comment="page, file or ark: how the answer is to be read"),
    Column("host", Text, nullable=False, comment="host and port that are asked; empty for a file"),
    Column(
        "depth", Integer, nullable=False, comment="links followed from a starting point to here", info=unit("links")
    ),
    Column("found_on", Text, comment="document that led here first; missing for a starting point"),
    Column("ark", Text, comment="ARK in normal form that is asked about; missing for a document"),
    Column(
        "reach",
        Text,
        nullable=False,
        comment="how far it leads: site (its links are followed), item (only to its documents) or leaf",
    ),
    Column("source", Text, comment="kind of source as which its answer is read; missing when its content shows it"),
    Column("part", Integer, nullable=False, comment="for a further part of a source, how many came before it; else 0"),
    Column(
        "rank",
        Integer,
        nullable=False,
        comment="0 for what comes before the others of its host, as it may expire; else 1",
    ),
    Column(
        "state",
        Text,
        nullable=False,
        comment="waiting, claimed (handed to a spider, without an outcome yet) or done (its outcome is in the store)",
    ),
    Column(
        "attempts",
        Integer,
        nullable=False,
        comment="how often it was handed to a spider; more than once after a crash, never if a redirect led there "
        "first",
    ),
    Column("claimed_until", Moment, comment="moment until which a claim holds; missing unless claimed"),
    Column(
        "listed",
        Text,
        comment="digest of what it has listed as a source, by which one that goes in circles is recognized; missing if "
        "nothing",
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

#: What each document of a crawl links to; read and written by `crawler.store.outlinks` alone.
outlinks = Table(
    "outlinks",
    tables,
    Column("outlinks_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that read the document"),
    Column("document_id", ForeignKey("document.document_id"), nullable=False, comment="document"),
    Column(
        "key",
        LargeBinary,
        nullable=False,
        comment="digest of the form in which URLs are compared, by which others link to it: BLAKE2b, 8 bytes",
    ),
    Column(
        "found_on",
        Text,
        nullable=False,
        comment="where the links are: the document, a record in it, or the robots.txt that names its sitemaps",
    ),
    Column(
        "targets",
        LargeBinary,
        nullable=False,
        comment="keys of the documents that are linked to, 8 bytes each, in order; also of those that were known "
        "already",
    ),
    Index("outlinks_by_key", "run_id", "key"),
    comment="One row per document of a crawl and place where its links are, also for one without links; in the "
    "order of the links.",
)

# -- history: what follows from the tables above, kept so that no one need read all runs for it

provenance = Table(
    "provenance",
    tables,
    Column("run_id", ForeignKey("run.run_id"), primary_key=True, comment="run"),
    Column(
        "uuid",
        Text,
        nullable=False,
        unique=True,
        comment="key of the run, drawn when it began",
    ),
    Column(
        "imported_at",
        Moment,
        comment="moment at which it was brought in from another store; missing for a run of this one",
    ),
    comment="One row per run: how it is known in any store that it is brought into; unique by key.",
)

contact = Table(
    "contact",
    tables,
    Column("contact_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that asked"),
    Column("host", Text, nullable=False, comment="host, with its port unless it is the default one"),
    Column(
        "answered",
        Integer,
        nullable=False,
        comment="requests that got an HTTP answer, whatever its status",
        info=unit("requests"),
    ),
    Column(
        "met",
        Integer,
        nullable=False,
        comment="requests that were refused, cut off or answered with nonsense: someone is there",
        info=unit("requests"),
    ),
    Column(
        "silent",
        Integer,
        nullable=False,
        comment="requests without any sign of the host: no address, or no word in time",
        info=unit("requests"),
    ),
    Column("first_at", Moment, nullable=False, comment="moment of the first answer or failure"),
    Column("last_at", Moment, nullable=False, comment="moment of the last one"),
    Column("failure", Text, comment="how it failed last, in the words of a chain's end; missing when it never did"),
    UniqueConstraint("run_id", "host"),
    Index("contact_by_host", "host"),
    comment="One row per run and host that a request was sent to: what it met there. Requests that our own guard "
    "or robots.txt held back are not in it.",
)

assessment = Table(
    "assessment",
    tables,
    Column("run_id", ForeignKey("run.run_id"), primary_key=True, comment="run"),
    Column(
        "is_suspect",
        Boolean,
        nullable=False,
        comment="whether most hosts failed in it, so that its failures prove nothing",
    ),
    Column("reason", Text, nullable=False, comment="why it is suspect; empty when it is not"),
    Column(
        "expected",
        Integer,
        nullable=False,
        comment="hosts that were asked and expected to answer: not silent in the last two runs that asked them",
        info=unit("hosts"),
    ),
    Column("missing", Integer, nullable=False, comment="how many of these did not answer", info=unit("hosts")),
    comment="One row per run: whether its failures may be held against anybody.",
)

policy = Table(
    "policy",
    tables,
    Column("policy_id", Integer, primary_key=True, comment="always 1"),
    Column(
        "strikes",
        Integer,
        nullable=False,
        comment="failures that confirm, without a good answer between them",
        info=unit("failures"),
    ),
    Column(
        "days",
        Float,
        nullable=False,
        comment="time that must lie between the first and the last of them",
        info=unit("days"),
    ),
    Column(
        "turns",
        Integer,
        nullable=False,
        comment="turns between working and failing that make an ARK flapping",
        info=unit("turns"),
    ),
    Column("turn_days", Float, nullable=False, comment="time within which these must lie", info=unit("days")),
    Column(
        "likeness",
        Float,
        nullable=False,
        comment="share of phrases that a text must keep not to count as another",
        info=unit("1"),
    ),
    comment="One row at most: by what rules the standing in this store is kept; the built-in ones without it.",
)

latest = Table(
    "latest",
    tables,
    Column("latest_id", Integer, primary_key=True, comment="key"),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK"),
    Column("request_url", Text, nullable=False, comment="URL at which it is asked for"),
    Column("host", Text, nullable=False, comment="host that is asked first; empty for a URL without one"),
    Column(
        "first_seen_at",
        Moment,
        nullable=False,
        comment="moment of its first check, or beginning of the run whose documents first cited it",
    ),
    Column("cited_in", ForeignKey("run.run_id"), comment="last run whose documents cite it; missing when none did"),
    Column(
        "gone_at",
        Moment,
        comment="beginning of the run that showed that no document cites it any more; missing while one does",
    ),
    Column("verdict_id", ForeignKey("verdict.verdict_id"), comment="last verdict; missing when it was never checked"),
    Column("checked_at", Moment, comment="moment of the last check"),
    Column(
        "state",
        Text,
        nullable=False,
        comment="healthy, failing, confirmed-broken, flapping, blocked, skipped or undetermined",
    ),
    Column("since", Moment, nullable=False, comment="moment of the check that brought it to this state"),
    Column("reason", Text, nullable=False, comment="why it is in this state, in words"),
    Column(
        "strikes", Integer, nullable=False, comment="failures of its own since it worked last", info=unit("failures")
    ),
    Column("first_strike_at", Moment, comment="moment of the first of them"),
    Column("last_strike_at", Moment, comment="moment of the last of them"),
    Column("worked_at", Moment, comment="moment of the last check in which it worked"),
    Column(
        "memory",
        JSON,
        nullable=False,
        comment="what the next check is held against: turns, landing, sketch, digest, description, promise",
        info=unit("mapping"),
    ),
    UniqueConstraint("ark_id", "request_url"),
    Index("latest_by_verdict", "verdict_id"),
    comment="One row per ARK at one URL: its status after all its checks; follows from the other tables.",
)

event = Table(
    "event",
    tables,
    Column("event_id", Integer, primary_key=True, comment="key"),
    Column("run_id", ForeignKey("run.run_id"), nullable=False, comment="run that showed it"),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False, comment="ARK"),
    Column("request_url", Text, nullable=False, comment="URL at which it is asked for"),
    Column(
        "at",
        Moment,
        nullable=False,
        comment="moment of the check that showed it, or beginning of the run whose documents did",
    ),
    Column("event", Text, nullable=False, comment="new, gone, recovered, moved, changed or broke"),
    Column("detail", Text, nullable=False, comment="what exactly, in words; may be empty"),
    Index("event_by_run", "run_id"),
    Index("event_by_ark", "ark_id", "request_url"),
    comment="One row something that happened to an ARK at one URL; follows from the other tables.",
)

#: What people have decided about known problems; what follows from it is worked out where it is asked for.
triage = Table(
    "triage",
    tables,
    Column("triage_id", Integer, primary_key=True, comment="key"),
    Column("action", Text, nullable=False, comment="acknowledge, ignore, assign or recheck"),
    Column(
        "kind", Text, nullable=False, comment="by what it is known which ARKs are meant: ark, pattern, host or document"
    ),
    Column(
        "target",
        Text,
        nullable=False,
        comment="ARK in normal form, pattern with *, host with its port unless it is the default one, or address "
        "of documents",
    ),
    Column("at", Moment, nullable=False, comment="moment of the decision"),
    Column("reason", Text, nullable=False, comment="why, in the words of the person who decided; may be empty"),
    Column(
        "until",
        Text,
        comment="day on which something ignored counts again; missing for the other actions",
        info=unit("ISO 8601"),
    ),
    Column("assignee", Text, comment="who looks after it; missing for the other actions"),
    Column(
        "from_file", Boolean, nullable=False, comment="whether it is in a file, and goes when it is taken out there"
    ),
    UniqueConstraint("action", "kind", "target"),
    comment="One row per decision about known problems; unique by action, kind and target. What follows from it is "
    "worked out where it is asked for.",
)
