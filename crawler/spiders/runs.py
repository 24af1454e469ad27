"""Decisions that need a whole run: doubtful mentions, the choice of their readings, and the verdicts.

Mentions are decided with all documents, then by the answers of resolvers; names are compared with a registry. Each ARK
is judged by its answers and the shared facts of the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import attrgetter
from typing import NoReturn

from crawler.answers.object_facts import ENOUGH_DESCRIBED
from crawler.answers.probes import resolver_or_host
from crawler.asking.shared import Target
from crawler.model.observations import (
    CitedMention,
    DecidedOn,
    IntendedArk,
    Question,
    StoredMention,
    StoredUnresolvedMention,
    Verdict,
)
from crawler.model.resolving import mention_url, resolver_of, without_inflection
from crawler.store.ark_tables import ReachedPage
from crawler.store.frontier import ARKS, Frontier
from crawler.store.store import Store
from crawler.verdicts.answer_sets import SHARED, AnswerSet, AnswerSets
from crawler.verdicts.readings import (
    CandidateReading,
    FormState,
    SettledReading,
    evidence_of_targets,
    meant_by,
    meant_instead,
    other_readings,
    readings_of,
    settle,
)
from crawler.verdicts.remarks import own_findings
from crawler.verdicts.verdict import (
    JUDGING_CPU_S,
    TOO_LONG_TO_JUDGE,
    VerdictContext,
    bug_reason,
    judge,
    skipped_verdict,
)
from extractors.extraction import annotate, changed_mentions
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, OverBudget, TimeBudget, cpu_limit, use_budget
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import Finding, Role
from extractors.model.naan import SHARED_NAANS, Registry
from extractors.model.normalize import LABEL
from extractors.model.urls import authority_of, origin_of
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

# -- doubtful mentions


def conclude_documents(store: Store, run_id: int, registry: Registry, *, resolver: str, declared: Declared) -> None:
    """Record the results of all documents of a run together. Repeating it changes nothing."""
    store.note_finders(run_id)
    decide_unresolved(store, run_id, resolver=resolver, declared=declared)
    record_registry_findings(store, run_id, registry)


def decide_unresolved(store: Store, run_id: int, *, resolver: str, declared: Declared = NOTHING_DECLARED) -> None:
    """Decide doubtful mentions again with all documents, and record the changed ones as rows of their own.

    *resolver* is used for compact ARKs. Repeating it changes nothing.
    """
    doubtful = list(store.unresolved_mentions(run_id))
    if not doubtful:
        return
    repeated = frozenset(store.whole_arks(run_id, in_documents=2))
    evidence = Evidence.from_arks(store.whole_arks(run_id), repeated, declared=declared)
    changed: list[tuple[StoredUnresolvedMention, CitedMention]] = []
    for document_id, in_document in groupby(doubtful, key=attrgetter("document_id")):
        by_index = {kept.unresolved.index: kept for kept in in_document}
        budget = TimeBudget(DECIDING_CPU_S)
        with use_budget(budget):
            for index, mention in changed_mentions(
                ((kept.unresolved, kept.mention) for kept in by_index.values()), evidence
            ):
                kept, again = by_index[index], annotate(mention, evidence)
                url = url_again(kept.mention, again, kept.request_url, resolver=resolver)
                changed.append((kept, CitedMention(again, url, decided=DecidedOn.TOGETHER)))
        if budget.findings:
            store.record_findings(run_id, store.document_url(document_id), budget.findings)
    store.record_decisions(changed)


def record_registry_findings(store: Store, run_id: int, registry: Registry) -> None:
    """Record NAANs in the documents of a run that *registry* does not contain, and names that are only shoulders."""
    naans: set[str] = set()
    shoulders: set[Ark] = set()
    for ark in store.cited_arks(run_id):
        naans.add(ark.naan)
        if registry.is_shoulder(ark):
            shoulders.add(ark)
    for naan in sorted(naans):
        remark = registry.unregistered_remark(naan)
        if remark is not None:
            store.record_findings(run_id, f"NAAN {naan}", [Finding("unregistered-naan", remark)])
    for ark in sorted(shoulders):
        said = f"{ark} names a shoulder, not an object, in {registry.title}"
        store.record_findings(run_id, str(ark), [Finding("namespace-mention", said)])


def url_again(before: Mention, again: Mention, url: str, *, resolver: str) -> str:
    """Return the request URL of *again*, the new decision about the mention *before*, whose request URL was *url*.

    A relative link refers to the resolver of its page, which only *url* still contains.
    """
    if again.repaired == before.repaired:
        return url
    is_relative = again.resolver == before.resolver and (again.resolver is None or again.resolver.startswith("//"))
    of_page = resolver_of(url) if is_relative and again.role is Role.LINK_TARGET else None
    return mention_url(again.repaired, again.resolver, of_page, resolver)


def settle_readings(store: Store, run_id: int) -> None:
    """Choose the reading of each doubtful mention that works; record it as a row of its own, with a finding.

    A reading that worked in an earlier run stays until another one works: an ARK that breaks is not another ARK. A
    mention without such a reading and with missing answers stays as it is. Repeating it changes nothing.
    """
    kept = list(store.open_mentions(run_id))
    others = other_readings(kept)
    if not others:
        return
    urls = dict.fromkeys(url for first, rest in others.items() for url in (first, *(reading.url for reading in rest)))
    shared = AnswerSets.from_observations(store.observations(run_id, SHARED))
    answer_sets = shared.with_those_about(store.observations_about(run_id, list(urls)))
    by_url: dict[str, list[StoredMention]] = defaultdict(list)
    for reading in kept:
        by_url[reading.request_url].append(reading)
    decisions: list[tuple[StoredMention, CitedMention]] = []
    for url, rest in others.items():
        first = by_url[url][0].mention.ark
        readings = readings_of(first, url, rest)
        established = store.established_reading(run_id, first, url)
        earlier = next((reading for reading in readings if reading.url == established), None)
        done, lives = None, False
        with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
            forms = list(map(answer_sets.form, readings))
            lives = any(form.state is FormState.LIVES for form in forms)
            # A single answer settles nothing: the first reading lives, or the others were not asked.
            is_asked = sum(form.answer is not None for form in forms) > 1 or (lives and earlier is not None)
            done = settle(forms) if is_asked else None
        if earlier is not None and not lives:
            done = SettledReading(earlier, (f"{earlier.spelling} worked before", *(done.evidence if done else ())))
        if done is None:
            continue
        kind = "settled-reading" if done.reading else "unsettled-reading"
        store.record_findings(run_id, str(first), [Finding(kind, "; ".join(done.evidence))])
        if done.reading is not None:
            decisions += _decisions(by_url[url], done.reading, Reason.READING_WORKS if lives else Reason.READING_WORKED)
    store.record_decisions(decisions)


def _decisions(
    mentions: Sequence[StoredMention], living: CandidateReading, reason: Reason
) -> Iterator[tuple[StoredMention, CitedMention]]:
    """Yield those *mentions* that have the *living* reading, decided as that reading for this *reason*."""
    for kept in mentions:
        mention = kept.mention
        own = CandidateReading(mention.ark, kept.request_url)
        others = other_readings([kept]).get(kept.request_url, ())
        if not others or living not in (own, *others):
            continue
        repaired = mention.repaired
        if living.url != kept.request_url:
            label = LABEL.search(repaired)
            before = repaired[: label.end()] if label else "ark:"
            repaired = before + living.spelling.removeprefix("ark:")
        possible = dict.fromkeys((own.spelling, *mention.alternatives))
        again = replace(
            mention,
            ark=living.ark,
            repaired=repaired,
            alternatives=tuple(spelling for spelling in possible if Ark.parse(spelling) != living.ark),
            confidence=max(mention.confidence, Confidence.LIKELY),
            reason=reason,
        )
        yield kept, CitedMention(again, living.url, decided=DecidedOn.SETTLED)


# -- verdicts


def _raise_bug(bug: Exception) -> NoReturn:
    raise bug


#: The number of ARKs that are judged at a time, because the observations of a million do not fit into memory.
_AT_A_TIME = 200


@dataclass(frozen=True, slots=True)
class Background:
    """The facts, apart from observations, that affect the verdicts of a run."""

    registry: Registry | None = None
    """The source of policies that are shown with commitments."""
    readings: Mapping[str, Sequence[CandidateReading]] = field(default_factory=dict)
    """Other readings of targets, by the URL that requests them."""
    declared: Declared = field(default_factory=dict)


def verdicts_of_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    recorded: Collection[str] = (),
    on_bug: Callable[[Exception], None] = _raise_bug,
) -> Iterator[Verdict]:
    """Yield a verdict for each of *targets*, in order: answers are judged, examples and tests are skipped.

    Targets at the URLs *recorded* already have one. A target that was never requested, because the run ended early, has
    none. Only the observations of a few hundred ARKs are in memory at a time. *on_bug* gets an exception in judging one
    target, which is then undetermined.
    """
    asked = list(targets)
    shared = AnswerSets.from_observations(store.observations(run_id, SHARED))
    pages = store.repeated_pages(run_id)
    reached = store.reached_pages(run_id)
    run_judge = RunJudge(shared, background, asked, reached, pages, on_bug)
    remaining = (target for target in asked if target[1] not in recorded)
    while batch := list(islice(remaining, _AT_A_TIME)):
        cases = [run_judge.case(ark, url) for ark, url in batch]
        urls = list(dict.fromkeys(url for case in cases for url in case.urls))
        answer_sets = shared.with_those_about(store.observations_about(run_id, urls))
        for case in cases:
            verdict = run_judge.verdict(case, answer_sets)
            if verdict is not None:
                yield verdict


def judge_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    is_whole: bool = True,
    recorded: Collection[str] | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
    on_progress: Callable[[], None] = lambda: None,
    on_bug: Callable[[Exception], None] = _raise_bug,
) -> None:
    """Judge and record all observations of a run, with findings that need all of it if it is whole.

    *on_verdict* is called with each verdict, in the order of the *targets*; without it, those at the URLs *recorded*
    (`Store.begin_verdicts`) are not judged again. *on_progress* is called after each, *on_bug* with each exception.
    """

    def judge_targets() -> Iterator[Verdict]:
        needless = recorded if on_verdict is None else None
        verdicts = verdicts_of_run(store, run_id, targets, background, recorded=needless or (), on_bug=on_bug)
        for verdict in verdicts:
            on_progress()
            if on_verdict is not None:
                on_verdict(verdict)
            yield verdict

    if not is_whole:
        store.record_verdicts(run_id, judge_targets())
        return
    store.record_verdicts(run_id, judge_targets(), recorded, own_findings)


def judge_settled(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background,
    *,
    on_verdict: Callable[[Verdict], None] | None,
    on_bug: Callable[[Exception], None] = _raise_bug,
) -> None:
    """Judge and record those of *targets* that an unfinished run completed."""
    finished = Frontier(store, run_id, ARKS).settled_forms()
    done = [(ark, url) for ark, url in targets if url in finished or ark.is_skipped]
    if done:
        judge_run(store, run_id, done, background, is_whole=False, on_verdict=on_verdict, on_bug=on_bug)


@dataclass(frozen=True, slots=True)
class TargetReadings:
    """An ARK at a request URL, with the readings of a doubtful mention that may be meant instead."""

    ark: Ark
    url: str
    readings: tuple[CandidateReading, ...] = ()
    """The readings of its mention, itself first."""
    suggested: tuple[CandidateReading, ...] = ()
    """The ARKs that may be meant if its check character is wrong."""

    @property
    def urls(self) -> list[str]:
        """The URLs of all readings and suggested ARKs."""
        return [reading.url for reading in (*self.readings, *self.suggested)]


class RunJudge:
    """The shared facts of all verdicts of a run."""

    def __init__(
        self,
        shared: AnswerSets,
        background: Background | None,
        asked: Sequence[Target],
        reached: Mapping[str, ReachedPage],
        pages: Mapping[str, Mapping[Ark, set[str]]],
        on_bug: Callable[[Exception], None] = _raise_bug,
    ) -> None:
        self._shared = shared
        self._policies = shared.policies()
        self._pages = pages
        self._at_one_address = Counter(
            (digest, *addresses)
            for digest, objects in pages.items()
            for addresses in objects.values()
            if len(addresses) == 1
        )
        """The number of objects that have a page at one address only, by the page's digest and the address."""
        self._background = background or Background()
        self._on_bug = on_bug
        self._evidence = evidence_of_targets(asked, self._background.readings, self._background.declared)
        objects: dict[str, set[Ark]] = defaultdict(set)
        described: dict[str, set[Ark]] = defaultdict(set)
        for ark, url in asked:
            page = reached.get(url)
            if page is None:
                continue
            if page.is_redirected:
                objects[page.url].add(ark.base)
            if page.describes and len(of_host := described[authority_of(page.url)]) <= ENOUGH_DESCRIBED:
                of_host.add(ark.base)
        self._described = described
        """The first objects that pages of a host describe, by host: as many as a verdict on any object needs."""
        self._objects = {url: arks for url, arks in objects.items() if len(arks) > 1}
        """The objects whose ARKs are redirected to one URL; parts of one object count once."""

    def case(self, ark: Ark, url: str) -> TargetReadings:
        """Return a target with its readings, or without readings if it is skipped."""
        if ark.is_skipped:
            return TargetReadings(ark, url)
        readings = readings_of(ark, url, self._background.readings.get(url, ()))
        return TargetReadings(ark, url, readings, meant_by(readings[0], self._evidence))

    def verdict(self, case: TargetReadings, answer_sets: AnswerSets) -> Verdict | None:
        """Return the verdict on one target, or None if its object was never requested."""
        ark = case.ark
        if ark.is_skipped:
            shared = SHARED_NAANS.get(ark.naan)
            purpose = shared.purpose if shared is not None else "examples and tests"
            words = f"NAAN {ark.naan} is for {purpose}; recorded, not requested"
            return skipped_verdict(ark, case.url, words)
        answer_set = answer_sets.about.get(case.url)
        if answer_set is None or Question.OBJECT not in answer_set.last:
            return None
        try:
            with cpu_limit(JUDGING_CPU_S):
                return self._judge(case, answer_sets, answer_set)
        except OverBudget:
            reason = TOO_LONG_TO_JUDGE
        except Exception as bug:
            self._on_bug(bug)
            reason = bug_reason(bug)
        return judge({question: answer.unread(reason) for question, answer in answer_set.last.items()})

    def _judge(self, case: TargetReadings, answer_sets: AnswerSets, answer_set: AnswerSet) -> Verdict:
        verdict = judge(answer_set.last, context=self._context(case.ark, answer_set))
        if len(case.urls) < 2:  # most have only one reading
            return verdict
        intended, other_urls = _intended_ark(case, answer_sets)
        return replace(verdict, did_you_mean=intended, rests_on=tuple(dict.fromkeys((*verdict.rests_on, *other_urls))))

    def _context(self, ark: Ark, answer_set: AnswerSet) -> VerdictContext:
        """Return the other facts of the run for *ark* with these answers, which include the object's."""
        answer = answer_set.answer
        assert answer is not None
        asked_url, registry = answer.asked_url, self._background.registry
        written = answer_set.last[Question.OBJECT]
        at_landing = self._objects.get(written.final_url, set())
        return VerdictContext(
            control=self._shared.control(ark, asked_url, Question.CONTROL),
            control_as_written=self._shared.control(ark, written.asked_url, Question.CONTROL),
            controls_again=self._shared.answers_about(Question.CONTROL_AGAIN, resolver_or_host(written.asked_url)),
            other_controls=self._shared.other_controls(ark, answer),
            control_info=self._shared.control(ark, asked_url, Question.CONTROL_INFO),
            control_landing=self._shared.control_at_landing_host(answer),
            control_rendered=self._shared.control(ark, asked_url, Question.CONTROL_RENDERED),
            neighbours=len(at_landing) - (ark.base in at_landing),
            copies=self._copies(answer_set),
            described=sorted(map(str, self._described[authority_of(written.final_url)] - {ark.base})),
            earlier=tuple(answer_set.earlier),
            policies=self._policies,
            own_path=(
                self._shared.last(Question.WELL_KNOWN, origin_of(written.asked_url)) if written.is_unknown else None
            ),
            registered=registry.entry(ark) if registry else None,
        )

    def _copies(self, answer_set: AnswerSet) -> Mapping[str, int]:
        """Return the numbers of other objects with the same answer at another address, by its digest."""
        copies = {}
        for answer in answer_set.last.values():
            digest = answer.page_digest
            if digest is not None and digest in self._pages:
                objects, address = self._pages[digest], without_inflection(answer.final_url)
                is_own_elsewhere = bool(objects.get(answer.ark.base, set()) - {address})
                copies[digest] = len(objects) - self._at_one_address[digest, address] - is_own_elsewhere
        return copies


def _intended_ark(case: TargetReadings, answer_sets: AnswerSets) -> tuple[IntendedArk | None, list[str]]:
    """Return the ARK that was probably meant instead of a target, and the URLs that were requested to find it."""
    forms, suggested = (list(map(answer_sets.form, readings)) for readings in (case.readings, case.suggested))
    asked = [form for form in (*forms, *suggested) if form.answer is not None]
    if len(asked) < 2:
        return None, []
    others = [form.answer.asked_url for form in asked if form.answer is not None and form.reading.url != case.url]
    return meant_instead(forms, suggested), others
