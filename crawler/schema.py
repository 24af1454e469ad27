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

from crawler.mention_rows import DecidedOn

#: ``PRAGMA application_id`` of our files ("ARKA"), so that a foreign SQLite file is refused and never written to.
APPLICATION_ID = 0x41524B41
#: ``PRAGMA user_version``: raised by every change to the tables below.
SCHEMA_VERSION = 8

tables = MetaData()

run = Table(
    "run",
    tables,
    Column("run_id", Integer, primary_key=True),
    Column("command", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("state", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("resolver", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("seeds", JSON, nullable=False),
    Column("plan", JSON(none_as_null=True)),
)

document = Table(
    "document",
    tables,
    Column("document_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("url", Text, nullable=False),
    Column("found_on", Text),
    Column("fetched_at", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("status", Integer),
    Column("final_url", Text),
    Column("media_type", Text),
    Column("title", Text),
    Column("body_bytes", Integer),
    Column("body_sha256", Text),
    Column("hops", JSON, nullable=False),
    UniqueConstraint("run_id", "url"),
)

finding = Table(
    "finding",
    tables,
    Column("finding_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("document_id", ForeignKey("document.document_id")),
    Column("subject", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("detail", Text, nullable=False),
    UniqueConstraint("run_id", "subject", "kind", "detail"),
)

ark = Table(
    "ark",
    tables,
    Column("ark_id", Integer, primary_key=True),
    Column("ark", Text, nullable=False, unique=True),
    Column("naan", Text, nullable=False),
    Column("shoulder", Text),
    Column("name", Text, nullable=False),
    Column("qualifier", Text, nullable=False),
)

mention = Table(
    "mention",
    tables,
    Column("mention_id", Integer, primary_key=True),
    Column("document_id", ForeignKey("document.document_id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("decided", Integer, nullable=False),
    Column("citation", Integer, nullable=False),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False),
    Column("as_written", Text, nullable=False),
    Column("repaired", Text, nullable=False),
    Column("request_url", Text),
    Column("resolver", Text),
    Column("inflection", Text, nullable=False),
    Column("fragment", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("page", Integer),
    Column("place", Text, nullable=False),
    Column("spans", JSON, nullable=False),
    Column("context", Text, nullable=False),
    Column("repairs", JSON, nullable=False),
    Column("confidence", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("alternatives", JSON, nullable=False),
    Column("remarks", JSON, nullable=False),
    Column("doubt", JSON(none_as_null=True)),
    UniqueConstraint("document_id", "ordinal", "decided"),
    Index("mention_by_ark", "ark_id"),
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
    Column("observation_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False),
    Column("request_url", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("asked_url", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("chain_end", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("status", Integer),
    Column("final_url", Text, nullable=False),
    Column("hop_count", Integer, nullable=False),
    Column("hops", JSON, nullable=False),
    Column("media_type", Text),
    Column("title", Text),
    Column("text", Text),
    Column("body_bytes", Integer),
    Column("body_sha256", Text),
    Column("body_complete", Boolean, nullable=False),
    Column("record", JSON),
    Column("similarity", Text),
    Column("facts", JSON, nullable=False),
    Column("remarks", JSON, nullable=False),
    UniqueConstraint("run_id", "request_url", "question", "attempt"),
    Index("observation_by_ark", "ark_id"),
)

tls_probe = Table(
    "tls_probe",
    tables,
    Column("tls_probe_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("trusted", Boolean),
    Column("reason", Text, nullable=False),
    Column("means", Text, nullable=False, server_default=text("''")),
    UniqueConstraint("run_id", "host", "port"),
    Index("tls_probe_by_host", "host", "port", "at"),
)

pause = Table(
    "pause",
    tables,
    Column("pause_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("host", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("asked_s", Float, nullable=False),
    Column("is_kept", Boolean, nullable=False),
    UniqueConstraint("run_id", "url", "at"),
)

host_traffic = Table(
    "host_traffic",
    tables,
    Column("host_traffic_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("host", Text, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("interval_s", Float, nullable=False),
    Column("crawl_delay_s", Float),
    Column("given_up", Text),
    UniqueConstraint("run_id", "host"),
)

verdict = Table(
    "verdict",
    tables,
    Column("verdict_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False),
    Column("request_url", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("object_evidence", JSON, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("metadata_evidence", JSON, nullable=False),
    Column("metadata_parsed", JSON, nullable=False),
    Column("commitment", Text, nullable=False),
    Column("commitment_evidence", JSON, nullable=False),
    Column("commitment_parsed", JSON, nullable=False),
    Column("final_url", Text),
    Column("hop_count", Integer, nullable=False),
    Column("request_count", Integer, nullable=False),
    Column("remarks", JSON, nullable=False),
    Column("rests_on", JSON, nullable=False, server_default=text("'[]'")),
    Column("did_you_mean", JSON(none_as_null=True)),
    Column("naan_policy", JSON, nullable=False, server_default=text("'{}'")),
    UniqueConstraint("run_id", "request_url"),
    Index("verdict_by_ark", "ark_id"),
)

#: What a run has still to ask for; read and written by `crawler.storage.frontier` alone.
frontier = Table(
    "frontier",
    tables,
    Column("frontier_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("spider", Text, nullable=False),
    Column("canonical", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("found_on", Text),
    Column("ark", Text),
    Column("reach", Text, nullable=False),
    Column("source", Text),
    Column("part", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("claimed_until", Text),
    Column("listed", Text),
    UniqueConstraint("run_id", "spider", "canonical"),
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

#: What each document of a crawl links to; read and written by `crawler.storage.outlinks` alone.
outlinks = Table(
    "outlinks",
    tables,
    Column("outlinks_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("document_id", ForeignKey("document.document_id"), nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("found_on", Text, nullable=False),
    Column("targets", LargeBinary, nullable=False),
    Index("outlinks_by_key", "run_id", "key"),
)

# -- history: what follows from the tables above, kept so that nobody need read all runs for it

provenance = Table(
    "provenance",
    tables,
    Column("run_id", ForeignKey("run.run_id"), primary_key=True),
    Column("uuid", Text, nullable=False, unique=True),
    Column("imported_at", Text),
)

contact = Table(
    "contact",
    tables,
    Column("contact_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("host", Text, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("met", Integer, nullable=False),
    Column("silent", Integer, nullable=False),
    Column("first_at", Text, nullable=False),
    Column("last_at", Text, nullable=False),
    Column("failure", Text),
    UniqueConstraint("run_id", "host"),
    Index("contact_by_host", "host"),
)

assessment = Table(
    "assessment",
    tables,
    Column("run_id", ForeignKey("run.run_id"), primary_key=True),
    Column("is_suspect", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("expected", Integer, nullable=False),
    Column("missing", Integer, nullable=False),
)

policy = Table(
    "policy",
    tables,
    Column("policy_id", Integer, primary_key=True),
    Column("strikes", Integer, nullable=False),
    Column("days", Float, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("turn_days", Float, nullable=False),
    Column("likeness", Float, nullable=False),
)

latest = Table(
    "latest",
    tables,
    Column("latest_id", Integer, primary_key=True),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False),
    Column("request_url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("first_seen_at", Text, nullable=False),
    Column("cited_in", ForeignKey("run.run_id")),
    Column("gone_at", Text),
    Column("verdict_id", ForeignKey("verdict.verdict_id")),
    Column("checked_at", Text),
    Column("state", Text, nullable=False),
    Column("since", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("strikes", Integer, nullable=False),
    Column("first_strike_at", Text),
    Column("last_strike_at", Text),
    Column("worked_at", Text),
    Column("memory", JSON, nullable=False),
    UniqueConstraint("ark_id", "request_url"),
    Index("latest_by_verdict", "verdict_id"),
)

event = Table(
    "event",
    tables,
    Column("event_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False),
    Column("ark_id", ForeignKey("ark.ark_id"), nullable=False),
    Column("request_url", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Index("event_by_run", "run_id"),
    Index("event_by_ark", "ark_id", "request_url"),
)

#: What people have decided about known problems; what follows from it is worked out where it is asked for.
triage = Table(
    "triage",
    tables,
    Column("triage_id", Integer, primary_key=True),
    Column("action", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("until", Text),
    Column("assignee", Text),
    Column("from_file", Boolean, nullable=False),
    UniqueConstraint("action", "kind", "target"),
)
