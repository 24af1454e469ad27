"""Decisions that need all documents of a run: unresolved mentions decided again, names compared with a registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from crawler.model.observations import CitedMention, DecidedOn, KeptUnresolvedMention
from crawler.model.resolving import mention_url, resolver_of
from crawler.store.store import Store
from extractors.extraction import described, may_decide
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, TimeBudget, spending
from extractors.model.documents import Finding, Role
from extractors.model.naan import Registry
from extractors.unresolved import decided_again
from extractors.wraps.evidence import Evidence


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
        yield mention, CitedMention(again, url_again(mention.mention, again, mention.request_url, resolver=resolver))


def url_again(before: Mention, again: Mention, url: str, *, resolver: str) -> str:
    """Return the URL that asks for a mention as it was decided *again*, where *url* asked for it *before*.

    A relative link means the resolver that its page is on, which only that URL has kept.
    """
    if again.repaired == before.repaired:
        return url
    is_bare_link = again.resolver is None and before.resolver is None and again.role is Role.LINK_TARGET
    return mention_url(again.repaired, again.resolver, resolver_of(url) if is_bare_link else None, resolver)
