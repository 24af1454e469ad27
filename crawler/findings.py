"""Pure: what only the verdicts of a whole run together show: shared landing pages, split objects, foreign records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from crawler.observations import FAMILY_OF, Family, MetadataOutcome, ObjectOutcome, Verdict
from extractors.ark import Ark
from extractors.documents import Finding
from extractors.find import find_arks

#: ARKs that a finding names; the tables have them all.
MOST_NAMED = 10

Findings = dict[str, tuple[Finding, ...]]


def run_findings(verdicts: Iterable[Verdict]) -> Findings:
    """Findings by what they are about: a URL or an ARK. None of them is an error by itself.

    ``shared-landing``: several objects' ARKs end at one URL, which may stand for all of them, or for none.
    ``split-object``: one ARK ends at several URLs, by the resolvers in its citations. ``foreign-record``: the record
    for one ARK is, by its anchoring ``where``, about another. ``page-of-another``: so is the landing page.
    ``did-you-mean``: an ARK is not found, and one that differs from it by a single edit lives.
    """
    verdicts = list(verdicts)
    judged = [verdict for verdict in verdicts if FAMILY_OF[ObjectOutcome(verdict.object.outcome)] is Family.WORKS]
    found: dict[str, list[Finding]] = defaultdict(list)
    for subject, finding in (
        *_shared_landings(judged),
        *_split_objects(judged),
        *_foreign(judged),
        *_meant(verdicts),
    ):
        found[subject].append(finding)
    return {subject: tuple(dict.fromkeys(findings)) for subject, findings in sorted(found.items())}


def _shared_landings(judged: Sequence[Verdict]) -> Iterable[tuple[str, Finding]]:
    arks: dict[str, set[Ark]] = defaultdict(set)
    for verdict in judged:
        if verdict.final_url is not None and len(verdict.hops) > 1:
            arks[verdict.final_url].add(Ark.parse(verdict.ark).base)
    for url, landed in arks.items():
        if len(landed) > 1:
            yield url, Finding("shared-landing", f"{len(landed)} ARKs end here: {_named(map(str, landed))}")


def _split_objects(judged: Sequence[Verdict]) -> Iterable[tuple[str, Finding]]:
    places: dict[str, set[str]] = defaultdict(set)
    for verdict in judged:
        if verdict.final_url is not None and len(verdict.hops) > 1:
            places[verdict.ark].add(_without_scheme(verdict.final_url))
    for ark, urls in places.items():
        if len(urls) > 1:
            yield ark, Finding("split-object", f"it ends at {len(urls)} places: {_named(urls)}")


def _foreign(judged: Sequence[Verdict]) -> Iterable[tuple[str, Finding]]:
    for verdict in judged:
        own = Ark.parse(verdict.ark).base
        if verdict.metadata.outcome == MetadataOutcome.ERC:
            named = [mention.ark for mention in find_arks(str(verdict.metadata.parsed.get("where", "")))]
            if named and all(ark.base != own for ark in named):
                yield verdict.ark, Finding("foreign-record", f"its record is about {_named(map(str, named))}")
        if "about" in verdict.object.parsed:
            about = verdict.object.parsed["about"]
            yield verdict.ark, Finding("page-of-another", f"its landing page says that it is about {about}")


def _meant(verdicts: Sequence[Verdict]) -> Iterable[tuple[str, Finding]]:
    for verdict in verdicts:
        if verdict.did_you_mean is not None:
            told = "; ".join(verdict.did_you_mean.evidence)
            yield verdict.ark, Finding("did-you-mean", f"{verdict.did_you_mean.ark}: {told}")


def _without_scheme(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.")


def _named(names: Iterable[str]) -> str:
    shown = sorted(set(names))
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more
