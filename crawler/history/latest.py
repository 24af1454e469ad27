"""Keep `latest` and `event` up to date: the status of every ARK at every URL, in the transaction of what changed it.

All of it follows from the other tables: `rebuild` makes the same of them that run after run has made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    exists,
    func,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from crawler.history import triaging
from crawler.history.ark_status import (
    MISSES_EXPECTED,
    ArkState,
    ArkStatus,
    DatedVerdict,
    EventKind,
    Seen,
    StatusPolicy,
    assess,
    contacts_of,
    described,
    host_of,
    promised,
    step,
)
from crawler.history.rechecking import KnownArk
from crawler.model import schema
from crawler.model.observations import ACCESS, FAMILY_OF, DocumentOutcome, Family, ObjectOutcome

# -- the contact of each run with each host, and what that proves


def record_contacts(connection: Connection, run_id: int) -> bool:
    """Keep what a run met at its hosts, and whether it is suspect, which is what comes back.

    What was kept of this run before is replaced. Every earlier run must have been recorded.
    """
    contact, assessment = schema.contact, schema.assessment
    connection.execute(delete(contact).where(contact.c.run_id == run_id))
    met = contacts_of(_chains(connection, run_id))
    if met:
        connection.execute(
            insert(contact), [{"run_id": run_id, **asdict(met[host])} for host in sorted(met)]
        )
    outages = assess(met.values(), _misses(connection, run_id, met))
    values = asdict(outages)
    connection.execute(
        insert(assessment)
        .values(run_id=run_id, **values)
        .on_conflict_do_update(index_elements=["run_id"], set_=values)
    )
    return outages.is_suspect


def _chains(
    connection: Connection, run_id: int
) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for table, end in (
        (schema.document, schema.document.c.outcome),
        (schema.observation, schema.observation.c.chain_end),
    ):
        for row in connection.execute(select(end, table.c.hops).where(table.c.run_id == run_id)):
            yield row[0], row[1]


def _misses(connection: Connection, run_id: int, hosts: Iterable[str]) -> dict[str, int]:
    """Return how many of the last runs that asked them, in a row, these hosts left without an answer, as far as it
    counts.
    """
    contact, run, wanted = schema.contact.c, schema.run.c, set(hosts)
    this = select(run.started_at, run.run_id).where(run.run_id == run_id).subquery()
    back = func.row_number().over(
        partition_by=contact.host, order_by=(run.started_at.desc(), run.run_id.desc())
    )
    earlier = (
        select(contact.host, contact.answered, back.label("back"))
        .join(schema.run)
        .where(tuple_(run.started_at, run.run_id) < select(this).scalar_subquery())
        .subquery()
    )
    query = select(earlier.c.host, earlier.c.answered).where(earlier.c.back <= MISSES_EXPECTED)
    last: dict[str, list[int]] = {}
    for host, answered in connection.execute(query.order_by(earlier.c.host, earlier.c.back)):
        if host in wanted:
            last.setdefault(host, []).append(answered)
    return {
        host: next((at for at, count in enumerate(counts) if count), len(counts))
        for host, counts in last.items()
    }


#: What is written of an ARK once, when it is first seen.
_KEPT = ("ark_id", "request_url", "host", "first_seen_at")
#: What follows from the other tables, each after those that it refers to.
DERIVED = (schema.contact, schema.assessment, schema.latest, schema.event)
#: Verdicts that are noted at a time: of a run of a million not all are in memory.
_PAGE = 500
#: Moments of a status, by the names of their columns.
_MOMENTS = ("first_strike_at", "last_strike_at", "worked_at")
_OF_VERDICT = (
    "verdict_id",
    "ark_id",
    "request_url",
    "object",
    "metadata",
    "metadata_parsed",
    "commitment",
    "commitment_parsed",
    "final_url",
)
_OF_ANSWER = ("request_url", "final_url", "at", "body_sha256", "body_complete", "similarity")


def policy_of(connection: Connection) -> StatusPolicy:
    """The policy by which the status in this store is kept."""
    policy = schema.policy
    row = connection.execute(select(policy).where(policy.c.policy_id == 1)).one_or_none()
    if row is None:
        return StatusPolicy()
    return StatusPolicy(row.strikes, row.days, row.turns, row.turn_days, row.likeness)


def keep_by(connection: Connection, policy: StatusPolicy) -> None:
    """Keep the status by *policy* from now on; where it was another, all history is read again by this one."""
    if policy == policy_of(connection):
        return
    values = asdict(policy)
    connection.execute(
        insert(schema.policy)
        .values(policy_id=1, **values)
        .on_conflict_do_update(index_elements=["policy_id"], set_=values)
    )
    rebuild(connection)


def note_verdicts(connection: Connection, run_id: int) -> None:
    """Bring the status up to date with the verdicts of a run, which have just been recorded."""
    if _is_late(connection, run_id):
        rebuild(connection)
    else:
        _note_verdicts(connection, run_id)
    triaging.use_up(connection)


def note_end(connection: Connection, run_id: int) -> None:
    """Bring history up to date with a run that has ended, also one that could not be judged."""
    if not connection.scalar(select(exists().where(schema.assessment.c.run_id == run_id))):
        note_verdicts(connection, run_id)
    note_citations(connection, run_id)


def note_citations(connection: Connection, run_id: int) -> None:
    """Bring up to date what documents cite, with those of a run that has ended; twice does no harm."""
    if not has_followers(connection, run_id):
        _note_citations(connection, run_id)
    else:
        rebuild(connection)


def rebuild(connection: Connection, *, until: int | None = None) -> None:
    """Make all that is kept of history again from the other tables, run after run in the order of their beginnings.

    The run *until* is the last of them, if one is given. One that was killed before it was judged has no history yet.
    """
    run, verdict = schema.run, schema.verdict
    noted = {
        run_id for (run_id,) in connection.exec_driver_sql("SELECT run_id FROM main.assessment")
    }
    noted |= set(connection.scalars(select(verdict.c.run_id).distinct()))
    for table in reversed(DERIVED):
        connection.execute(delete(table))
    for row in connection.execute(select(run).order_by(run.c.started_at, run.c.run_id)).all():
        if row.ended_at is not None or row.run_id in noted:
            _note_verdicts(connection, row.run_id)
        if row.ended_at is not None:
            _note_citations(connection, row.run_id)
        if row.run_id == until:
            break


def rebuild_beside(connection: Connection, *, until: int | None = None) -> None:
    """The same in temporary tables, which are before those of the store until *connection* is closed.

    A store that may only be read stays as it is.
    """
    for table in DERIVED:
        made = (
            select(text("sql")).select_from(text("main.sqlite_master")).where(text("name = :name"))
        )
        sql = connection.execute(made, {"name": table.name}).scalar_one()
        connection.exec_driver_sql(sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    rebuild(connection, until=until)


def _is_late(connection: Connection, run_id: int) -> bool:
    """Return whether this run, or one that began after it, has been noted already."""
    is_noted = exists().where(schema.assessment.c.run_id == run_id)
    return bool(connection.scalar(select(is_noted))) or has_followers(connection, run_id)


def has_followers(connection: Connection, run_id: int) -> bool:
    """Return whether a run that began after this one has been noted."""
    run, this = schema.run.c, schema.run.alias("this")
    later = (
        select(run.run_id)
        .join_from(schema.run, schema.assessment)
        .join(this, this.c.run_id == run_id)
        .where(tuple_(run.started_at, run.run_id) > tuple_(this.c.started_at, this.c.run_id))
    )
    return bool(connection.scalar(select(later.exists())))


def _note_verdicts(connection: Connection, run_id: int) -> None:
    is_suspect = record_contacts(connection, run_id)
    policy = policy_of(connection)
    for verdicts in _judged(connection, run_id):
        statuses = _known(connection, run_id, verdicts)
        answers = _Answers(connection, run_id, [row.request_url for row in verdicts])
        rows: list[dict[str, Any]] = []
        events: list[dict[str, Any]] = []
        for row in verdicts:
            here = statuses.get((row.ark_id, row.request_url))
            before = status_in(here) if here is not None and here.checked_at is not None else None
            ark_status, happened = step(
                before, check_in(row, answers.followers(row), is_suspect=is_suspect), policy
            )
            at = moment(ark_status.checked_at)
            pair = {"ark_id": row.ark_id, "request_url": row.request_url}
            first_seen_at = at if here is None else here.first_seen_at
            first = {"host": host_of(row.request_url) or "", "first_seen_at": first_seen_at}
            rows.append(
                {
                    **pair,
                    **first,
                    "verdict_id": row.verdict_id,
                    "checked_at": at,
                    **_columns(ark_status),
                }
            )
            events += [
                {
                    "run_id": run_id,
                    **pair,
                    "at": at,
                    "event": event.kind.value,
                    "detail": event.detail,
                }
                for event in happened
                if event.kind is not EventKind.NEW or here is None
            ]
        statement = insert(schema.latest)
        changed = {name: statement.excluded[name] for name in rows[0] if name not in _KEPT}
        connection.execute(
            statement.on_conflict_do_update(index_elements=["ark_id", "request_url"], set_=changed),
            rows,
        )
        if events:
            connection.execute(insert(schema.event), events)


def _judged(connection: Connection, run_id: int) -> Iterator[Sequence[Any]]:
    """The verdicts of a run, with the moment at which it began; a page at a time."""
    verdict, last = schema.verdict.c, 0
    query = (
        select(*(verdict[name] for name in _OF_VERDICT), schema.run.c.started_at)
        .join_from(schema.verdict, schema.run)
        .where(verdict.run_id == run_id, verdict.verdict_id > bindparam("last"))
        .order_by(verdict.verdict_id)
        .limit(_PAGE)
    )
    while rows := connection.execute(query, {"last": last}).all():
        yield rows
        last = rows[-1].verdict_id


def _known(
    connection: Connection, run_id: int, verdicts: Sequence[Any]
) -> dict[tuple[int, str], Row[Any]]:
    """Return what is kept of the ARKs that these *verdicts* of a run are about, which follow one another."""
    latest, verdict = schema.latest.c, schema.verdict.c
    together = (latest.ark_id == verdict.ark_id) & (latest.request_url == verdict.request_url)
    query = select(schema.latest, verdict.object).join_from(schema.verdict, schema.latest, together)
    these = verdict.verdict_id.between(verdicts[0].verdict_id, verdicts[-1].verdict_id)
    rows = connection.execute(query.where(verdict.run_id == run_id, these))
    return {(row.ark_id, row.request_url): row for row in rows}


class _Answers:
    """The observations that verdicts on the object at some URLs may rest on."""

    def __init__(self, connection: Connection, run_id: int, request_urls: Sequence[str]) -> None:
        observation = schema.observation.c
        columns: list[Any] = [observation[name] for name in _OF_ANSWER]
        ways = [question.value for question in ACCESS]
        query = (
            select(*columns)
            .where(
                observation.run_id == run_id,
                observation.request_url.in_(request_urls),
                observation.question.in_(ways),
            )
            .order_by(observation.observation_id)
        )
        self._last: dict[str | tuple[str, str], Row[Any]] = {}
        for row in connection.execute(query):
            self._last[row.request_url] = self._last[row.request_url, row.final_url] = row

    def followers(self, verdict: Row[Any]) -> Row[Any] | None:
        """The last that ended where the verdict says that the object is, or else the last of all."""
        url = verdict.request_url
        return self._last.get((url, verdict.final_url or ""), self._last.get(url))


def known_arks(connection: Connection) -> Iterator[KnownArk]:
    """Every ARK at every URL with its status, in the order of the store."""
    latest, ark = schema.latest.c, schema.ark.c
    columns = (latest.request_url, latest.host, latest.state, latest.checked_at, latest.gone_at)
    query = select(ark.ark_id, ark.ark, ark.naan, *columns).join_from(schema.latest, schema.ark)
    wanted = triaging.wanted(connection)
    rows = connection.execute(query.order_by(latest.latest_id))
    for ark_id, name, naan, url, host, state, checked_at, gone_at in rows:
        asked_at = wanted.get((ark_id, url))
        yield KnownArk(
            name, naan, url, host, ArkState(state), _when(checked_at), gone_at is None, asked_at
        )


# -- rows and values


def check_in(verdict: Row[Any], answer: Row[Any] | None, *, is_suspect: bool) -> DatedVerdict:
    """The check that a row of `verdict` is, with the answer that it rests on, if any was asked for."""
    at = datetime.fromisoformat((answer.at if answer is not None else "") or verdict.started_at)
    outcome = ObjectOutcome(verdict.object)
    if FAMILY_OF[outcome] is not Family.WORKS or answer is None:
        return DatedVerdict(at, outcome, is_suspect, Seen(landing=verdict.final_url))
    landing = Seen(
        landing=verdict.final_url,
        sketch=answer.similarity,
        digest=answer.body_sha256 if answer.body_complete else None,
        description=described(verdict.metadata, verdict.metadata_parsed),
        promise=promised(verdict.commitment, verdict.commitment_parsed),
    )
    return DatedVerdict(at, outcome, is_suspect, landing)


def status_in(row: Row[Any]) -> ArkStatus:
    """The status in a row of `latest` that has the object's outcome as well."""
    return ArkStatus(
        state=ArkState(row.state),
        since=datetime.fromisoformat(row.since),
        reason=row.reason,
        checked_at=datetime.fromisoformat(row.checked_at),
        object=ObjectOutcome(row.object),
        strikes=row.strikes,
        **{name: _when(row._mapping[name]) for name in _MOMENTS},
        turns=tuple(map(datetime.fromisoformat, row.memory.get("turns", ()))),
        known=Seen(**row.memory.get("known", {})),
    )


def _columns(ark_status: ArkStatus) -> dict[str, Any]:
    known = {name: value for name, value in asdict(ark_status.known).items() if value is not None}
    moments = {name: getattr(ark_status, name) for name in _MOMENTS}
    return {
        "state": ark_status.state.value,
        "since": moment(ark_status.since),
        "reason": ark_status.reason,
        "strikes": ark_status.strikes,
        **{name: moment(at) if at else None for name, at in moments.items()},
        "memory": {"turns": [moment(turn) for turn in ark_status.turns], "known": known},
    }


def moment(at: datetime) -> str:
    """A moment as the store writes it.

    >>> moment(datetime.fromisoformat("2026-11-21T10:00:00.5+00:00"))
    '2026-11-21T10:00:00.500+00:00'
    """
    return at.isoformat(timespec="milliseconds")


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


# -- The ARKs that the documents cite today: new ones, and those that are gone


#: Outcomes of a document that say what it cites now: it was read, or it is there no more.
_TOLD = frozenset({DocumentOutcome.READ.value, ObjectOutcome.BROKEN.value})
_REDIRECTED = DocumentOutcome.REDIRECTED.value

#: ARKs that are read at a time; each time all mentions of a run are looked through.
_CITED_PAGE = 5000


def _note_citations(connection: Connection, run_id: int) -> None:
    """Bring `latest` up to date with the documents of a run; ARKs that no one cites any more are gone.

    Only a run that has finished shows that something is gone. What its documents no longer cite is gone unless one
    of the documents that did could not be had this time, or the last finished run from other seeds cites it.
    """
    run, latest = schema.run.c, schema.latest.c
    this = connection.execute(select(schema.run).where(run.run_id == run_id)).one()
    _add_new(connection, this)
    cited = tuple_(latest.ark_id, latest.request_url).in_(_cited_in(run_id))
    again = select(latest.ark_id, latest.request_url).where(cited, latest.gone_at.is_not(None))
    _happened(connection, this, connection.execute(again).all(), EventKind.NEW, "cited again")
    connection.execute(update(schema.latest).where(cited).values(cited_in=run_id, gone_at=None))
    if this.state == "finished" and this.seeds:
        _note_gone(connection, this)


def _cited_in(run_id: int) -> Select[Any]:
    mention, document = schema.mention.c, schema.document.c
    return (
        select(mention.ark_id, mention.request_url)
        .join(schema.document, document.document_id == mention.document_id)
        .where(
            document.run_id == run_id, mention.request_url.is_not(None), schema.is_current_mention
        )
        .distinct()
    )


def _add_new(connection: Connection, this: Any) -> None:
    """ARKs that are cited and have never been checked; some thousands at a time, for there may be millions."""
    latest, cited = schema.latest, _cited_in(this.run_id).subquery()
    is_known = exists().where(
        latest.c.ark_id == cited.c.ark_id, latest.c.request_url == cited.c.request_url
    )
    query = (
        select(cited)
        .where(~is_known)
        .order_by(cited.c.ark_id, cited.c.request_url)
        .limit(_CITED_PAGE)
    )
    unchecked = {
        "first_seen_at": this.started_at,
        "state": ArkState.UNDETERMINED.value,
        "since": this.started_at,
        "reason": "it was never checked",
        "strikes": 0,
        "memory": {},
    }
    while new := connection.execute(query).all():
        _happened(connection, this, new, EventKind.NEW, "")
        rows = [
            {**row._mapping, "host": host_of(row.request_url) or "", **unchecked} for row in new
        ]
        connection.execute(insert(latest), rows)


def _note_gone(connection: Connection, this: Any) -> None:
    run, latest = schema.run.c, schema.latest.c
    alike = select(run.run_id).where(run.seeds == this.seeds, run.run_id != this.run_id)
    candidates = {
        (row.ark_id, row.request_url): row.cited_in
        for row in connection.execute(
            select(latest.ark_id, latest.request_url, latest.cited_in).where(
                latest.gone_at.is_(None), latest.cited_in.in_(alike)
            )
        )
    }
    if not candidates:
        return
    open_documents = _open_documents(connection, this)
    citing = _citing_documents(connection, set(candidates.values()))
    elsewhere = _cited_elsewhere(connection, this)
    gone = [
        pair
        for pair, cited_in in candidates.items()
        if pair not in elsewhere and open_documents.isdisjoint(citing[cited_in, *pair])
    ]
    here = (latest.ark_id == bindparam("its_ark")) & (latest.request_url == bindparam("its_url"))
    if gone:
        connection.execute(
            update(schema.latest).where(here).values(gone_at=this.started_at),
            [{"its_ark": ark_id, "its_url": request_url} for ark_id, request_url in gone],
        )
    _happened(
        connection, this, gone, EventKind.GONE, "no document that could be read cites it any more"
    )


def _open_documents(connection: Connection, this: Any) -> set[str]:
    """The documents of which a run does not show what they cite now; a redirect shows what its document does."""
    document = schema.document.c
    query = select(document.url, document.outcome, document.final_url).where(
        document.run_id == this.run_id
    )
    untold = [row for row in connection.execute(query) if row.outcome not in _TOLD]
    urls = {row.url for row in untold if row.outcome != _REDIRECTED}
    return urls | {
        row.url for row in untold if row.outcome == _REDIRECTED and row.final_url in urls
    }


def _citing_documents(
    connection: Connection, runs: set[int]
) -> dict[tuple[int, int, str], set[str]]:
    """The documents that cite each ARK and URL, in each of *runs*."""
    mention, document = schema.mention.c, schema.document.c
    documents: defaultdict[tuple[int, int, str], set[str]] = defaultdict(set)
    query = (
        select(document.run_id, mention.ark_id, mention.request_url, document.url)
        .join_from(schema.mention, schema.document)
        .where(document.run_id.in_(runs), schema.is_current_mention)
    )
    for row in connection.execute(query):
        documents[row.run_id, row.ark_id, row.request_url].add(row.url)
    return documents


def _cited_elsewhere(connection: Connection, this: Any) -> set[tuple[int, str]]:
    """Return what the last finished run from each other set of seeds cites, up to this run."""
    run = schema.run.c
    before = tuple_(run.started_at, run.run_id) < tuple_(this.started_at, this.run_id)
    order = func.row_number().over(
        partition_by=run.seeds, order_by=(run.started_at.desc(), run.run_id.desc())
    )
    ranked = (
        select(run.run_id, order.label("back"))
        .where(run.state == "finished", run.seeds != this.seeds, before)
        .subquery()
    )
    pairs: set[tuple[int, str]] = set()
    for run_id in connection.scalars(select(ranked.c.run_id).where(ranked.c.back == 1)).all():
        pairs.update((row.ark_id, row.request_url) for row in connection.execute(_cited_in(run_id)))
    return pairs


def _happened(
    connection: Connection, this: Any, rows: Iterable[Any], kind: EventKind, detail: str
) -> None:
    values = {"run_id": this.run_id, "at": this.started_at, "event": kind.value, "detail": detail}
    events = [
        {"ark_id": ark_id, "request_url": request_url, **values} for ark_id, request_url in rows
    ]
    if events:
        connection.execute(insert(schema.event), events)
