"""Decide doubtful mentions again: in the light of all documents of a run, then by what resolvers have answered.

Names are compared with a registry as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from crawler.model.observations import CitedMention, DecidedOn, KeptMention, KeptUnresolvedMention
from crawler.model.resolving import mention_url, resolver_of
from crawler.store.store import Store
from crawler.verdicts.answer_sets import SHARED, AnswerSets
from crawler.verdicts.readings import CandidateReading, other_readings, readings_of, settled
from extractors.extraction import described, may_decide
from extractors.find import decided_again
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, TimeBudget, spending
from extractors.model.documents import Finding, Role
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import Confidence


def conclude_documents(store: Store, run_id: int, registry: Registry, *, resolver: str) -> None:
    """Record what follows from all documents of a run together. Doing it twice changes nothing."""
    store.note_finders(run_id)
    decide_unresolved(store, run_id, resolver=resolver)
    record_registry_findings(store, run_id, registry)


def decide_unresolved(store: Store, run_id: int, *, resolver: str) -> int:
    """Decide again what was doubtful when its document was read, and keep what changed as rows of their own.

    Returns how many did. *resolver* is asked about compact ARKs. Doing it twice changes nothing.
    """
    doubtful = list(store.unresolved_mentions(run_id))
    if not doubtful:
        return 0
    evidence = Evidence.of(store.whole_arks(run_id))
    changed: list[tuple[KeptUnresolvedMention, CitedMention]] = []
    for document_id, in_document in groupby(doubtful, key=attrgetter("document_id")):
        budget = TimeBudget(DECIDING_CPU_S)
        with spending(budget):
            changed += _changed(in_document, evidence, resolver)
        if budget.findings:
            store.record_findings(run_id, store.document_url(document_id), budget.findings)
    store.record_decisions(changed, DecidedOn.TOGETHER)
    return len(changed)


def record_registry_findings(store: Store, run_id: int, registry: Registry) -> None:
    """Keep what *registry* says against what the documents of a run cite: NAANs it doesn't know, shoulders alone."""
    naans: set[str] = set()
    shoulders: set[Ark] = set()
    for ark in store.arks_cited(run_id):
        naans.add(ark.naan)
        if registry.names_only(ark):
            shoulders.add(ark)
    for naan in sorted(naans):
        remark = registry.unregistered(naan)
        if remark is not None:
            store.record_findings(run_id, f"NAAN {naan}", [Finding("unregistered-naan", remark)])
    for ark in sorted(shoulders):
        said = f"{ark} names a shoulder, not an object, in {registry.title}"
        store.record_findings(run_id, str(ark), [Finding("namespace-mention", said)])


def _changed(
    doubtful: Iterable[KeptUnresolvedMention], evidence: Evidence, resolver: str
) -> Iterator[tuple[KeptUnresolvedMention, CitedMention]]:
    for mention in doubtful:
        if not may_decide():
            return
        again = described(decided_again(mention.unresolved, mention.mention, evidence), evidence)
        if (again.ark, again.reason) == (mention.mention.ark, mention.mention.reason):
            continue
        yield (
            mention,
            CitedMention(
                again, url_again(mention.mention, again, mention.request_url, resolver=resolver)
            ),
        )


def url_again(before: Mention, again: Mention, url: str, *, resolver: str) -> str:
    """Return the URL that asks for a mention as it was decided *again*, where *url* asked for it *before*.

    A relative link means the resolver that its page is on, which only that URL has kept.
    """
    if again.repaired == before.repaired:
        return url
    is_bare_link = (
        again.resolver is None and before.resolver is None and again.role is Role.LINK_TARGET
    )
    return mention_url(
        again.repaired, again.resolver, resolver_of(url) if is_bare_link else None, resolver
    )


# -- The choice of the reading of each doubtful mention that lives, made when resolvers have answered about them


#: The reason of a mention that was settled.
LIVES = "the reading that lives at its resolver"


def settle_readings(store: Store, run_id: int) -> int:
    """Settle which reading of each doubtful mention lives, and keep that as rows of their own, with a finding.

    Returns how many mentions were settled that were not before. A mention about which an answer is missing, or of
    which no reading lives, stays as it is. Doing it twice changes nothing.
    """
    kept = list(store.open_mentions(run_id))
    others = other_readings(kept)
    if not others:
        return 0
    urls = dict.fromkeys(
        url for first, rest in others.items() for url in (first, *(reading.url for reading in rest))
    )
    shared = AnswerSets.of(store.observations(run_id, SHARED))
    answer_sets = shared.with_those_about(store.observations_about(run_id, list(urls)))
    by_url: dict[str, list[KeptMention]] = defaultdict(list)
    for reading in kept:
        by_url[reading.request_url].append(reading)
    decisions: list[tuple[KeptMention, CitedMention]] = []
    for url, rest in others.items():
        first = by_url[url][0].mention.ark
        readings = readings_of(first, url, rest)
        if sum(answer_sets.answer(reading.url) is not None for reading in readings) < 2:
            continue  # the first settled it, or nothing was asked
        done = settled(readings, *answer_sets.about_readings(readings))
        if done is None:
            continue
        kind = "settled-reading" if done.reading else "unsettled-reading"
        store.record_findings(run_id, str(first), [Finding(kind, "; ".join(done.evidence))])
        if done.reading is not None:
            decisions += _decisions(by_url[url], done.reading)
    return store.record_decisions(decisions, DecidedOn.SETTLED)


def _decisions(
    mentions: Sequence[KeptMention], living: CandidateReading
) -> Iterator[tuple[KeptMention, CitedMention]]:
    """The mentions that the *living* reading is one of, as that reading; of others it says nothing."""
    for kept in mentions:
        others = other_readings([kept]).get(kept.request_url, ())
        if others and living in (CandidateReading(kept.mention.ark, kept.request_url), *others):
            yield kept, CitedMention(_as(living, kept), living.url)


def _as(living: CandidateReading, kept: KeptMention) -> Mention:
    mention = kept.mention
    label = LABEL.search(mention.repaired)
    before = mention.repaired[: label.end()] if label else "ark:"
    is_first = living.url == kept.request_url
    possible = dict.fromkeys((str(mention.ark), *mention.alternatives))
    return replace(
        mention,
        ark=living.ark,
        repaired=mention.repaired if is_first else before + living.spelled.removeprefix("ark:"),
        alternatives=tuple(
            alternative for alternative in possible if alternative != str(living.ark)
        ),
        confidence=max(mention.confidence, Confidence.LIKELY),
        reason=LIVES,
    )
