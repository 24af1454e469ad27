"""Corrections that rest on the checks of a store, asked of the store itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, select

from arkaudit.features.fix.corrections import Correction, Kind, escape_refusal, location_of
from crawler.history.ark_status import StatusPolicy
from crawler.history.latest import policy_of
from crawler.model import schema
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import Family, ObjectOutcome, Question
from crawler.model.outcomes import MementoOutcome
from crawler.model.resolving import request_url
from extractors.mentions.mention import Mention
from extractors.model.naan import Registry
from extractors.model.urls import authority_of
from reports.store.store_reading import read_store

#: An ARK in normal form, and the URL of its checks.
Pair = tuple[str, str]
#: The time of a check, and the address at which it found the object instead of the cited one; None if as cited.
Check = tuple[datetime, str | None]

_DETOUR_QUESTIONS = [Question.AT_PATH, Question.AT_REGISTRY, Question.AT_GLOBAL]
_PROBLEM_OUTCOMES = [outcome for outcome in ObjectOutcome if outcome.family in (Family.FAILS, Family.UNREACHABLE)]


def lasting_address(checks: Sequence[Check], policy: StatusPolicy) -> str | None:
    """Return the address (URL) in the last of *checks* if enough checks before it have the same one; else None.

    *checks* are those of one ARK at one URL, oldest first. As many must agree, over as many days, as confirm a failure
    by *policy*.

    >>> week = [(datetime(2026, 11, day), "https://n2t.net/") for day in (1, 4, 8)]
    >>> lasting_address(week, StatusPolicy()), lasting_address(week[:2], StatusPolicy())
    ('https://n2t.net/', None)
    """
    last_time, address = checks[-1]
    differing_positions = (number for number, (_, url) in enumerate(reversed(checks)) if url != address)
    agreeing_count = next(differing_positions, len(checks))
    is_confirmed = last_time - checks[-agreeing_count][0] >= timedelta(days=policy.days)
    return address if agreeing_count >= policy.strikes and is_confirmed else None


@dataclass(frozen=True, slots=True)
class Checks:
    """The results of checks in a store that a correction may rest on, by ARK and request URL."""

    addresses: Mapping[Pair, str]
    """The address at which the last checks found the object, instead of the cited one."""
    listed_corrections: Mapping[Pair, tuple[Kind, str | None, str]]
    """Kind, correct ARK (None if unchanged) and reason of a correction that is listed but never written."""
    registry: Registry
    hosts: frozenset[str] = frozenset()
    """Hosts that the user allows in corrections, in addition to those that the registry has for a NAAN."""

    def corrections_of(self, mention: Mention, earlier_correction: Correction | None) -> Iterator[Correction]:
        """Yield the corrections of *mention* that rest on checks.

        They correct its text after *earlier_correction*, or as written if this is None.
        """
        # In the query of another URL, a correction would have to be encoded, too.
        if "percent-encoding" in mention.repairs:
            return
        as_written, ark = earlier_correction.correct if earlier_correction else mention.as_written, str(mention.ark)
        pair = ark, request_url(mention.repaired, mention.resolver, GLOBAL_RESOLVER)
        if pair in self.listed_corrections:
            kind, correct, reason = self.listed_corrections[pair]
            yield Correction(as_written, correct or as_written, ark, (kind,), reason, location_of(mention))
        address = self.addresses.get(pair) if mention.resolver is not None else None
        kind, reason = Kind.MOVED, "the cited resolver fails; the ARK works at this one"
        if address == _with_https(pair[1]):
            kind, address, reason = Kind.HTTPS, _with_https(as_written), "the resolver redirects http to https"
        if address is None or address == as_written:
            return
        host, entry = authority_of(address), self.registry.entry(mention.ark)
        registered_hosts = {authority_of(target.template) for target in entry.targets} if entry else set()
        refusal = escape_refusal(as_written, address)
        if host not in registered_hosts | self.hosts:
            refusal = f"neither you (--host) nor the NAAN registry names {host}"
        yield Correction(as_written, address, ark, (kind,), reason, location_of(mention), refusal)


def _with_https(url: str) -> str:
    return f"https{url.removeprefix('http')}" if url.startswith("http://") else url


def checks_of(store: Path, registry: Registry, hosts: Iterable[str]) -> Checks:
    """Return the checks in *store*, with the *registry* and the *hosts* that the user allows.

    Raises `crawler.store.StoreUnopenable` and `StoreDamaged`.
    """

    def load(connection: Connection) -> Checks:
        policy, checks = policy_of(connection), dict[Pair, list[Check]]()
        for pair, check in _checks(connection):
            checks.setdefault(pair, []).append(check)
        address_by_pair = ((pair, lasting_address(pair_checks, policy)) for pair, pair_checks in checks.items())
        addresses = {pair: address for pair, address in address_by_pair if address is not None}
        return Checks(addresses, dict(_listed_corrections(connection)), registry, frozenset(hosts))

    return read_store(store, load)


def _checks(connection: Connection) -> Iterator[tuple[Pair, Check]]:
    """Yield checks of ARKs that work at another address, or were requested by http, by time; without suspect runs."""
    verdict, run, observation = schema.verdict.c, schema.run.c, schema.observation.c
    suspect_runs = select(schema.assessment.c.run_id).where(schema.assessment.c.is_suspect)
    arks_elsewhere = select(verdict.ark_id).where(verdict.object == ObjectOutcome.WORKS_ELSEWHERE)
    is_same_check = (observation.run_id == verdict.run_id) & (observation.request_url == verdict.request_url)
    query = (
        select(schema.ark.c.ark, verdict.request_url, verdict.object, run.started_at)
        .add_columns(observation.question, observation.asked_url, observation.hops)
        .join_from(schema.verdict, schema.ark)
        .join(schema.run, run.run_id == verdict.run_id)
        .join(schema.observation, is_same_check)
        .where(verdict.run_id.not_in(suspect_runs), observation.question.in_([Question.OBJECT, *_DETOUR_QUESTIONS]))
        .where(verdict.request_url.startswith("http://") | verdict.ark_id.in_(arks_elsewhere))
        .order_by(run.started_at, verdict.verdict_id, observation.observation_id)
    )
    last_addresses: dict[tuple[Pair, datetime], str | None] = {}
    for row in connection.execute(query):
        https_url, address = _with_https(row.request_url), None
        # The last detour that was tried is the one that found the object.
        if row.object == ObjectOutcome.WORKS_ELSEWHERE and row.question in _DETOUR_QUESTIONS:
            address = row.asked_url
        elif row.object == ObjectOutcome.RESOLVED and https_url != row.request_url:
            address = https_url if any(hop["url"] == https_url and hop["status"] for hop in row.hops) else None
        last_addresses[(row.ark, row.request_url), datetime.fromisoformat(row.started_at)] = address
    return ((pair, (checked_at, address)) for (pair, checked_at), address in last_addresses.items())


def _listed_corrections(connection: Connection) -> Iterator[tuple[Pair, tuple[Kind, str | None, str]]]:
    """Yield corrections that are listed but never written, from the last verdicts: kind, correct ARK and reason."""
    verdict, memento = schema.verdict.c, schema.memento.c
    is_same_target = (memento.ark_id == verdict.ark_id) & (memento.request_url == verdict.request_url)
    query = (
        select(schema.ark.c.ark, verdict.request_url, verdict.object, verdict.did_you_mean)
        .add_columns(memento.outcome, memento.memento_url, memento.memento_at)
        .join_from(schema.verdict, schema.ark)
        .outerjoin(schema.memento, is_same_target)
        .where(verdict.verdict_id.in_(select(schema.latest.c.verdict_id)))
        .where(verdict.did_you_mean.is_not(None) | (memento.outcome == MementoOutcome.CAPTURED))
        .order_by(memento.at)
    )
    for row in connection.execute(query):
        if row.did_you_mean is not None:
            yield (
                (row.ark, row.request_url),
                (Kind.MISTYPED, row.did_you_mean["ark"], "it is not found; this one works"),
            )
        elif row.object in _PROBLEM_OUTCOMES:
            reason = f"it fails; {row.memento_url} is a copy of {row.memento_at[:10]}"
            yield (row.ark, row.request_url), (Kind.ARCHIVED, None, reason)
