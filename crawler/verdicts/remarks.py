"""Make remarks on a chain (conformance, safety), and find records and pages of other ARKs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from urllib.parse import unquote

from crawler.answers.facts import AnswerFacts
from crawler.model.crawl_requests import site_of
from crawler.model.observations import Family, Hop, MetadataOutcome, Observation, Verdict
from extractors.find import find_arks
from extractors.model.documents import Finding
from extractors.model.normalize import LABEL
from extractors.model.urls import host_name_of

#: The numbers of redirects after which clients give up; many allow more (2020, 7.1.3).
CLIENTS_BY_LIMIT: Mapping[int, str] = {5: "some libraries", 10: "many libraries", 20: "browsers", 50: "curl"}


def chain_remarks(answer: Observation) -> Iterator[str]:
    """Return remarks on a chain: permanent redirects of a resolver, a step from https to http, too many redirects."""
    hops = answer.hops
    for hop, next_hop in pairwise(hops):
        if hop.status in (301, 308) and is_resolvers(hop, next_hop):
            yield f"the resolver {host_name_of(hop.url)} redirects with {hop.status}, and should with 302 or 307"
        if _scheme(hop.url) == "https" and _scheme(next_hop.url) == "http":
            yield f"from https to plain http: {host_name_of(hop.url)} leads to http://{host_name_of(next_hop.url)}"
    redirect_count = len(hops) - 1
    exceeded_limits = [f"{clients} ({limit})" for limit, clients in CLIENTS_BY_LIMIT.items() if redirect_count > limit]
    if exceeded_limits:
        yield f"{redirect_count} redirects, more than are followed by {', '.join(exceeded_limits)}"


def another_remarks(answer: AnswerFacts) -> Iterator[str]:
    """Return at most one remark: the ARK ends at another ARK's page of its site, by the final URL or by the page.

    This is correct if two names were merged, and wrong if a table of targets has shifted.
    """
    if not answer.is_success or site_of(answer.hops[0].url) != site_of(answer.final_url):
        return
    if len(answer.hops) > 1:
        named_arks = [mention.ark for mention in find_arks(unquote(answer.final_url))]
        if named_arks and all(ark.base != answer.ark.base for ark in named_arks):
            status = next((hop.status for hop in reversed(answer.hops[:-1])), None)
            yield f"it ends at another ARK of the same host: {status} leads to {named_arks[0]}"
            return
    if answer.other_ark is not None:
        yield f"it ends at another ARK's page of the same host: the page identifies itself as {answer.other_ark}"


def certificate_remarks(hops: Iterable[Hop]) -> Iterator[str]:
    """Return a sentence for each hop whose certificate has a fault that was accepted."""
    for hop in hops:
        if hop.certificate_fault:
            yield f"the certificate of {host_name_of(hop.url)} {hop.certificate_fault}"


def is_resolvers(hop: Hop, following: Hop) -> bool:
    """Return True if *hop* is at a resolver that redirects to a target, *following*: its URL has an ARK.

    A redirect that only changes the scheme, ``www.``, a final slash, or the host within a site does not count.

    >>> is_resolvers(Hop("http://n2t.net/ark:/1/x", "GET", ""), Hop("https://n2t.net/ark:/1/x", "GET", ""))
    False
    """
    if not LABEL.search(hop.url):
        return False
    requested_path, target_path = (_path(url).rstrip("/") for url in (hop.url, following.url))
    host, other_host = (host_name_of(url).removeprefix("www.") for url in (hop.url, following.url))
    return requested_path != target_path or (host != other_host and site_of(hop.url) != site_of(following.url))


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _path(url: str) -> str:
    return url.split("://", 1)[-1].partition("/")[2]


# -- findings about single ARKs

#: The number of ARKs that a finding names; the tables list all.
MOST_NAMED = 10


def own_findings(verdict: Verdict) -> Iterator[Finding]:
    """Return the findings about an ARK that its *verdict* supports, each with a kind:

    ``foreign-record``: its record names another ARK. ``page-of-another``: its landing page names another.
    ``did-you-mean``: it is not found, and one that differs from it by a single edit works.
    """
    if verdict.object.outcome.family is Family.WORKS:
        yield from _foreign_page_findings(verdict)
    if verdict.did_you_mean is not None:
        suggestion = f"{verdict.did_you_mean.ark}: {'; '.join(verdict.did_you_mean.evidence)}"
        yield Finding("did-you-mean", suggestion)


def _foreign_page_findings(verdict: Verdict) -> Iterator[Finding]:
    outcome, parsed = verdict.metadata.outcome, verdict.metadata.parsed
    if outcome is MetadataOutcome.ERC:
        named_arks = [mention.ark for mention in find_arks(str(parsed.get("where", "")))]
        if named_arks and all(ark.base != verdict.ark.base for ark in named_arks):
            yield Finding("foreign-record", f"its record is about {_name_list(map(str, named_arks))}")
    if outcome is MetadataOutcome.UNDETERMINED and "about" in parsed:
        yield Finding("foreign-record", f"its record is about {parsed['about']}")
    if "about" in verdict.object.parsed:
        other_ark = verdict.object.parsed["about"]
        yield Finding("page-of-another", f"its landing page is about {other_ark}")


def _name_list(names: Iterable[str]) -> str:
    distinct_names = sorted(set(names))
    rest_note = f" and {len(distinct_names) - MOST_NAMED} more" if len(distinct_names) > MOST_NAMED else ""
    return ", ".join(distinct_names[:MOST_NAMED]) + rest_note
