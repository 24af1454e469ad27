"""Reads the problems of ARKs from a store: outcomes that may need action, with the hosts and documents concerned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Select, Text, cast, exists, select

from crawler.model import schema
from crawler.model.observations import Problem, Question
from crawler.model.outcomes import SEVERITY, ObjectOutcome
from crawler.verdicts.verdict import WAYS
from extractors.model.urls import authority_of

Pair = tuple[int, str]
"""The key of an ARK, and the URL requested for it."""

_ark, _latest = schema.ark.c, schema.latest.c
_observation, _verdict = schema.observation.c, schema.verdict.c
#: Remarks of ARKs that were reached in another way.
_OTHERWISE = frozenset(remark for _, remark in WAYS.values())
#: The condition for all problems; other verdicts with remarks meet it too.
_is_amiss = _verdict.object.in_((*SEVERITY, ObjectOutcome.WORKS_ELSEWHERE)) | (cast(_verdict.remarks, Text) != "[]")


def problems_of(connection: Connection, verdicts: Select[Any], run_id: int) -> dict[Pair, Problem]:
    """Return the problems among *verdicts* (a query for keys), in the order of the ARKs.

    An ARK that was reached in another way than as it is cited has the outcome `works-elsewhere`. The documents are those
    of the run *run_id*, or if it has none, those of the last run with any.
    """
    query = (
        select(_verdict.ark_id, _ark.ark, _verdict.request_url, _verdict.object, _verdict.final_url, _verdict.remarks)
        .join_from(schema.verdict, schema.ark)
        .where(_verdict.verdict_id.in_(verdicts), _is_amiss)
        .order_by(_ark.ark, _verdict.request_url)
    )
    outcomes = ((row, _outcome(row)) for row in connection.execute(query))
    rows = [(row, outcome) for row, outcome in outcomes if outcome is not None]
    problem_arks = select(_verdict.ark_id).where(_verdict.verdict_id.in_(verdicts), _is_amiss)
    ends, documents = _chain_ends(connection, verdicts), _documents(connection, run_id, problem_arks)
    problems = {}
    for row, outcome in rows:
        pair = (row.ark_id, row.request_url)
        urls = (row.request_url, row.final_url or "", *ends.get(pair, ()))
        hosts = frozenset(filter(None, map(authority_of, urls)))
        problems[pair] = Problem(outcome, row.ark, hosts, tuple(documents.get(pair, ())))
    return problems


def _outcome(row: Any) -> str | None:
    """Return the outcome of the problem in a verdict's row, or None if the verdict is no problem."""
    if row.object in SEVERITY:
        return str(row.object)
    is_otherwise = row.object == ObjectOutcome.WORKS_ELSEWHERE or not _OTHERWISE.isdisjoint(row.remarks)
    return ObjectOutcome.WORKS_ELSEWHERE.value if is_otherwise else None


def _chain_ends(connection: Connection, verdicts: Select[Any]) -> Mapping[Pair, Collection[str]]:
    """Return the final URLs of all chains about the ARKs of *verdicts*, by pair."""
    is_about_pair = (_observation.run_id == _verdict.run_id) & (_observation.request_url == _verdict.request_url)
    query = (
        select(_verdict.ark_id, _verdict.request_url, _observation.final_url)
        .join_from(schema.verdict, schema.observation, is_about_pair)
        .where(_verdict.verdict_id.in_(verdicts), _is_amiss)
        .where(_observation.question == Question.OBJECT)
    )
    ends: defaultdict[Pair, set[str]] = defaultdict(set)
    for ark_id, url, final_url in connection.execute(query):
        ends[ark_id, url].add(final_url)
    return ends


def _documents(connection: Connection, run_id: int, arks: Select[Any]) -> Mapping[Pair, list[str]]:
    """Return the URLs of documents that cite the *arks* (a query for keys), by pair."""
    of_run = schema.document.c.run_id == run_id
    has_documents = connection.scalar(select(exists().where(of_run)))
    query = citation_query().where(of_run) if has_documents else in_last_run(citation_query())
    documents: defaultdict[Pair, list[str]] = defaultdict(list)
    for ark_id, url, document_url in connection.execute(query.where(schema.mention.c.ark_id.in_(arks))):
        documents[ark_id, url].append(document_url)
    return documents


def citation_query(*columns: Any) -> Select[Any]:
    """Return the query for ARK key, request URL, document URL and *columns* of all citations, ordered by document."""
    document, mention = schema.document.c, schema.mention.c
    return (
        select(mention.ark_id, mention.request_url, document.url, *columns)
        .join_from(schema.mention, schema.document)
        .where(schema.is_current_mention, mention.request_url.is_not(None))
        .distinct()
        .order_by(document.url, *columns)
    )


def in_last_run(query: Select[Any]) -> Select[Any]:
    """Return *query* (`citation_query`) restricted, for each ARK, to the last run with documents that cite it."""
    is_same_pair = schema.at_one_url(_latest, schema.mention.c)
    return query.join(schema.latest, is_same_pair).where(_latest.cited_in == schema.document.c.run_id)
