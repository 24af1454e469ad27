"""Pure: what only the verdicts of a whole run together show: shared landing pages, split objects, foreign records."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from crawler.model.observations import FAMILY_OF, Family, MetadataOutcome, Verdict
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.documents import Finding

#: An ARK and nothing else, of which nothing else can be made.
_PLAIN = re.compile(r"ark:/?[0-9a-z]+/[0-9A-Za-z]+")
#: ARKs that a finding names; the tables have them all.
MOST_NAMED = 10

Findings = dict[str, tuple[Finding, ...]]


@dataclass(slots=True)
class RunFindings:
    """Findings of a whole run, from its verdicts as they come; none of them is an error by itself.

    ``shared-landing``: several objects' ARKs end at one URL, which may mean all of them, or none.
    ``split-object``: one ARK ends at several URLs, by the resolvers in its citations. ``foreign-record``: the record
    for one ARK is, by what it names, about another. ``page-of-another``: so is the landing page.
    ``did-you-mean``: an ARK is not found, and one that differs from it by a single edit lives.
    """

    _landed: defaultdict[str, set[Ark]] = field(default_factory=lambda: defaultdict(set))
    """The objects whose ARKs end at each URL."""
    _ends: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The places at which each ARK ends."""
    _of_others: list[tuple[str, Finding]] = field(default_factory=list)
    _meant: list[tuple[str, Finding]] = field(default_factory=list)

    def on_verdict(self, verdict: Verdict) -> None:
        """Take note of one more verdict."""
        if verdict.did_you_mean is not None:
            evidence = "; ".join(verdict.did_you_mean.evidence)
            self._meant.append((str(verdict.ark), Finding("did-you-mean", f"{verdict.did_you_mean.ark}: {evidence}")))
        if FAMILY_OF[verdict.object.outcome] is not Family.WORKS:
            return
        self._of_others += _foreign(verdict)
        if verdict.final_url is not None and len(verdict.hops) > 1:
            self._landed[verdict.final_url].add(verdict.ark.base)
            self._ends[str(verdict.ark)].add(verdict.final_url.partition("://")[2].removeprefix("www."))

    def findings(self) -> Findings:
        """The findings by what they are about: a URL or an ARK."""
        by_subject: dict[str, list[Finding]] = defaultdict(list)
        for url, landed in self._landed.items():
            if len(landed) > 1:
                words = f"{len(landed)} ARKs end here: {_named(map(str, landed))}"
                by_subject[url].append(Finding("shared-landing", words))
        for ark, urls in self._ends.items():
            if len(urls) > 1:
                by_subject[ark].append(Finding("split-object", f"it ends at {len(urls)} places: {_named(urls)}"))
        for subject, finding in (*self._of_others, *self._meant):
            by_subject[subject].append(finding)
        return {subject: tuple(dict.fromkeys(findings)) for subject, findings in sorted(by_subject.items())}


def _foreign(verdict: Verdict) -> Iterator[tuple[str, Finding]]:
    if verdict.metadata.outcome == MetadataOutcome.ERC:
        own, where = verdict.ark.base, str(verdict.metadata.parsed.get("where", ""))
        is_own = _PLAIN.fullmatch(where) is not None and Ark.parse(where) == own  # as with most, and soon seen
        named = [] if is_own else [mention.ark for mention in find_arks(where)]
        if named and all(ark.base != own for ark in named):
            yield str(verdict.ark), Finding("foreign-record", f"its record is about {_named(map(str, named))}")
    if verdict.metadata.outcome is MetadataOutcome.UNDETERMINED and "about" in verdict.metadata.parsed:
        yield str(verdict.ark), Finding("foreign-record", f"its record is about {verdict.metadata.parsed['about']}")
    if "about" in verdict.object.parsed:
        about = verdict.object.parsed["about"]
        yield str(verdict.ark), Finding("page-of-another", f"its landing page says that it is about {about}")


def _named(names: Iterable[str]) -> str:
    shown = sorted(set(names))
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more
