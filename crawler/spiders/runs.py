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

from crawler.answers.object_facts import ENOUGH_DESCRIBED_ARKS
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
    intended_ark,
    other_readings,
    readings_of,
    settle,
    suggested_readings,
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
    """Record finders of documents, decisions on doubtful mentions, and findings about NAANs and shoulders.

    These need all documents of a run. A repetition changes nothing.
    """
    store.note_finders(run_id)
    decide_unresolved(store, run_id, resolver=resolver, declared=declared)
    record_registry_findings(store, run_id, registry)


def decide_unresolved(store: Store, run_id: int, *, resolver: str, declared: Declared = NOTHING_DECLARED) -> None:
    """Decide doubtful mentions again with the ARKs of all documents; record those that change as further rows.

    *resolver* is used for compact ARKs. A repetition changes nothing.
    """
    doubtful = list(store.unresolved_mentions(run_id))
    if not doubtful:
        return
    repeated_arks = frozenset(store.whole_arks(run_id, in_documents=2))
    evidence = Evidence.from_arks(store.whole_arks(run_id), repeated_arks, declared=declared)
    decisions: list[tuple[StoredUnresolvedMention, CitedMention]] = []
    for document_id, document_mentions in groupby(doubtful, key=attrgetter("document_id")):
        mentions_by_index = {stored_mention.unresolved.index: stored_mention for stored_mention in document_mentions}
        budget = TimeBudget(DECIDING_CPU_S)
        with use_budget(budget):
            for index, mention in changed_mentions(
                ((doubt.unresolved, doubt.mention) for doubt in mentions_by_index.values()), evidence
            ):
                stored_mention, new_mention = mentions_by_index[index], annotate(mention, evidence)
                url = url_again(stored_mention.mention, new_mention, stored_mention.request_url, resolver=resolver)
                decisions.append((stored_mention, CitedMention(new_mention, url, decided=DecidedOn.TOGETHER)))
        if budget.findings:
            store.record_findings(run_id, store.document_url(document_id), budget.findings)
    store.record_decisions(decisions)


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
        detail = f"{ark} names a shoulder, not an object, in {registry.title}"
        store.record_findings(run_id, str(ark), [Finding("namespace-mention", detail)])


def url_again(earlier_mention: Mention, new_mention: Mention, url: str, *, resolver: str) -> str:
    """Return the request URL of *new_mention*, the new decision about *earlier_mention*, which was requested at *url*.

    A relative link refers to the resolver of its page, which only *url* still contains.
    """
    if new_mention.repaired == earlier_mention.repaired:
        return url
    is_relative = new_mention.resolver == earlier_mention.resolver and (
        new_mention.resolver is None or new_mention.resolver.startswith("//")
    )
    page_resolver = resolver_of(url) if is_relative and new_mention.role is Role.LINK_TARGET else None
    return mention_url(new_mention.repaired, new_mention.resolver, page_resolver, resolver)


def settle_readings(store: Store, run_id: int) -> None:
    """Choose the reading of each doubtful mention that works, and record it as a further row, with a finding.

    A reading that worked in an earlier run stays until another one works: an ARK that breaks is not another ARK. A
    mention without such a reading and with missing answers stays as it is. Repeating it changes nothing.
    """
    open_mentions = list(store.open_mentions(run_id))
    readings_by_target = other_readings(open_mentions)
    if not readings_by_target:
        return
    urls = dict.fromkeys(
        url for ark, rest in readings_by_target.items() for url in (ark, *(reading.url for reading in rest))
    )
    shared_answers = AnswerSets.from_observations(store.observations(run_id, SHARED))
    answer_sets = shared_answers.with_those_about(store.observations_about(run_id, list(urls)))
    mentions_by_url: dict[str, list[StoredMention]] = defaultdict(list)
    for reading in open_mentions:
        mentions_by_url[reading.request_url].append(reading)
    decisions: list[tuple[StoredMention, CitedMention]] = []
    for url, rest in readings_by_target.items():
        ark = mentions_by_url[url][0].mention.ark
        readings = readings_of(ark, url, rest)
        established_url = store.established_reading(run_id, ark, url)
        earlier = next((reading for reading in readings if reading.url == established_url), None)
        decision, has_living = None, False
        with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
            forms = list(map(answer_sets.form, readings))
            has_living = any(form.state is FormState.LIVES for form in forms)
            # A single answer settles nothing: the first reading lives, or the others were not asked.
            is_asked = sum(form.answer is not None for form in forms) > 1 or (has_living and earlier is not None)
            decision = settle(forms) if is_asked else None
        if earlier is not None and not has_living:
            decision = SettledReading(
                earlier, (f"{earlier.spelling} worked before", *(decision.evidence if decision else ()))
            )
        if decision is None:
            continue
        kind = "settled-reading" if decision.reading else "unsettled-reading"
        store.record_findings(run_id, str(ark), [Finding(kind, "; ".join(decision.evidence))])
        if decision.reading is not None:
            decisions += _decisions(
                mentions_by_url[url], decision.reading, Reason.READING_WORKS if has_living else Reason.READING_WORKED
            )
    store.record_decisions(decisions)


def _decisions(
    mentions: Sequence[StoredMention], living: CandidateReading, reason: Reason
) -> Iterator[tuple[StoredMention, CitedMention]]:
    """Yield each of *mentions* that may mean *living*, the reading that works, with its new form, which has *reason*."""
    for stored_mention in mentions:
        mention = stored_mention.mention
        own_reading = CandidateReading(mention.ark, stored_mention.request_url)
        further_readings = other_readings([stored_mention]).get(stored_mention.request_url, ())
        if not further_readings or living not in (own_reading, *further_readings):
            continue
        repaired = mention.repaired
        if living.url != stored_mention.request_url:
            label = LABEL.search(repaired)
            label_text = repaired[: label.end()] if label else "ark:"
            repaired = label_text + living.spelling.removeprefix("ark:")
        spellings = dict.fromkeys((own_reading.spelling, *mention.alternatives))
        new_mention = replace(
            mention,
            ark=living.ark,
            repaired=repaired,
            alternatives=tuple(spelling for spelling in spellings if Ark.parse(spelling) != living.ark),
            confidence=max(mention.confidence, Confidence.LIKELY),
            reason=reason,
        )
        yield stored_mention, CitedMention(new_mention, living.url, decided=DecidedOn.SETTLED)


# -- verdicts


def _raise_bug(bug: Exception) -> NoReturn:
    raise bug


#: The number of ARKs that are judged at a time, because the observations of a million do not fit into memory.
_JUDGED_AT_ONCE = 200


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

    Targets at the URLs *recorded*, and those never requested because the run ended early, are left out. Only the
    observations of a few hundred ARKs are in memory at a time. *on_bug* gets an exception in judging one target, which
    is then undetermined.
    """
    target_list = list(targets)
    shared_answers = AnswerSets.from_observations(store.observations(run_id, SHARED))
    repeated_pages = store.repeated_pages(run_id)
    reached_pages = store.reached_pages(run_id)
    run_judge = RunJudge(shared_answers, background, target_list, reached_pages, repeated_pages, on_bug)
    remaining = (target for target in target_list if target[1] not in recorded)
    while batch := list(islice(remaining, _JUDGED_AT_ONCE)):
        cases = [run_judge.case(ark, url) for ark, url in batch]
        urls = list(dict.fromkeys(url for case in cases for url in case.urls))
        answer_sets = shared_answers.with_those_about(store.observations_about(run_id, urls))
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
    """Judge and record all observations of a run; if *is_whole*, also findings that need the whole run.

    *on_verdict* is called with each verdict, in the order of *targets*. Without *on_verdict*, targets at the URLs
    *recorded* (`Store.begin_verdicts`) are not judged again. *on_progress* is called after each verdict, *on_bug* with
    each exception.
    """

    def judge_targets() -> Iterator[Verdict]:
        skipped_urls = recorded if on_verdict is None else None
        verdicts = verdicts_of_run(store, run_id, targets, background, recorded=skipped_urls or (), on_bug=on_bug)
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
    finished_urls = Frontier(store, run_id, ARKS).settled_forms()
    finished_targets = [(ark, url) for ark, url in targets if url in finished_urls or ark.is_skipped]
    if finished_targets:
        judge_run(store, run_id, finished_targets, background, is_whole=False, on_verdict=on_verdict, on_bug=on_bug)


@dataclass(frozen=True, slots=True)
class TargetReadings:
    """An ARK at a request URL, with the readings of a doubtful mention that may be meant instead."""

    ark: Ark
    url: str
    readings: tuple[CandidateReading, ...] = ()
    """The readings of the mention, the ARK itself first."""
    suggested: tuple[CandidateReading, ...] = ()
    """The ARKs that may be meant if the check character is wrong."""

    @property
    def urls(self) -> list[str]:
        """The URLs of all readings and suggested ARKs."""
        return [reading.url for reading in (*self.readings, *self.suggested)]


class RunJudge:
    """Judges the targets of a run by their answers and the facts that they share."""

    def __init__(
        self,
        shared_answers: AnswerSets,
        background: Background | None,
        targets: Sequence[Target],
        reached_pages: Mapping[str, ReachedPage],
        repeated_pages: Mapping[str, Mapping[Ark, set[str]]],
        on_bug: Callable[[Exception], None] = _raise_bug,
    ) -> None:
        self._shared = shared_answers
        self._policies = shared_answers.policy_answers()
        self._pages = repeated_pages
        self._at_one_address = Counter(
            (digest, *addresses)
            for digest, objects in repeated_pages.items()
            for addresses in objects.values()
            if len(addresses) == 1
        )
        """The number of objects that have a page at one address only, by the page's digest and the address."""
        self._background = background or Background()
        self._on_bug = on_bug
        self._evidence = evidence_of_targets(targets, self._background.readings, self._background.declared)
        objects: dict[str, set[Ark]] = defaultdict(set)
        described_arks: dict[str, set[Ark]] = defaultdict(set)
        for ark, url in targets:
            page = reached_pages.get(url)
            if page is None:
                continue
            if page.is_redirected:
                objects[page.url].add(ark.base)
            if page.describes and len(host_arks := described_arks[authority_of(page.url)]) <= ENOUGH_DESCRIBED_ARKS:
                host_arks.add(ark.base)
        self._described = described_arks
        """The first objects that pages of a host describe, by host: as many as a verdict on any object needs."""
        self._objects = {url: arks for url, arks in objects.items() if len(arks) > 1}
        """The objects whose ARKs are redirected to one URL; parts of one object count once."""

    def case(self, ark: Ark, url: str) -> TargetReadings:
        """Return a target with its readings, or without readings if it is skipped."""
        if ark.is_skipped:
            return TargetReadings(ark, url)
        readings = readings_of(ark, url, self._background.readings.get(url, ()))
        return TargetReadings(ark, url, readings, suggested_readings(readings[0], self._evidence))

    def verdict(self, case: TargetReadings, answer_sets: AnswerSets) -> Verdict | None:
        """Return the verdict on one target, or None if its object was never requested."""
        ark = case.ark
        if ark.is_skipped:
            naan_sharing = SHARED_NAANS.get(ark.naan)
            purpose = naan_sharing.purpose if naan_sharing is not None else "examples and tests"
            message = f"NAAN {ark.naan} is for {purpose}; recorded, not requested"
            return skipped_verdict(ark, case.url, message)
        answer_set = answer_sets.by_url.get(case.url)
        if answer_set is None or Question.OBJECT not in answer_set.last_answers:
            return None
        try:
            with cpu_limit(JUDGING_CPU_S):
                return self._judge(case, answer_sets, answer_set)
        except OverBudget:
            reason = TOO_LONG_TO_JUDGE
        except Exception as bug:
            self._on_bug(bug)
            reason = bug_reason(bug)
        return judge({question: answer.unread(reason) for question, answer in answer_set.last_answers.items()})

    def _judge(self, case: TargetReadings, answer_sets: AnswerSets, answer_set: AnswerSet) -> Verdict:
        verdict = judge(answer_set.last_answers, context=self._context(case.ark, answer_set))
        if len(case.urls) < 2:  # most have only one reading
            return verdict
        intended, other_urls = _intended_ark(case, answer_sets)
        return replace(verdict, did_you_mean=intended, rests_on=tuple(dict.fromkeys((*verdict.rests_on, *other_urls))))

    def _context(self, ark: Ark, answer_set: AnswerSet) -> VerdictContext:
        """Return the facts of the run about *ark*, apart from its answers in *answer_set*, which has an object's."""
        answer = answer_set.answer
        assert answer is not None
        asked_url, registry = answer.asked_url, self._background.registry
        object_answer = answer_set.last_answers[Question.OBJECT]
        landing_arks = self._objects.get(object_answer.final_url, set())
        return VerdictContext(
            control=self._shared.control(ark, asked_url, Question.CONTROL),
            control_as_written=self._shared.control(ark, object_answer.asked_url, Question.CONTROL),
            repeated_controls=self._shared.answers_about(
                Question.CONTROL_AGAIN, resolver_or_host(object_answer.asked_url)
            ),
            second_controls=self._shared.second_controls(ark, answer),
            control_info=self._shared.control(ark, asked_url, Question.CONTROL_INFO),
            control_landing=self._shared.control_at_landing_host(answer),
            control_rendered=self._shared.control(ark, asked_url, Question.CONTROL_RENDERED),
            neighbour_count=len(landing_arks) - (ark.base in landing_arks),
            copies_by_digest=self._copies(answer_set),
            described_arks=sorted(map(str, self._described[authority_of(object_answer.final_url)] - {ark.base})),
            earlier_attempts=tuple(answer_set.earlier_attempts),
            policy_answers=self._policies,
            own_path_answer=(
                self._shared.last_answer(Question.WELL_KNOWN, origin_of(object_answer.asked_url))
                if object_answer.is_unknown
                else None
            ),
            registry_entry=registry.entry(ark) if registry else None,
        )

    def _copies(self, answer_set: AnswerSet) -> Mapping[str, int]:
        """Return the number of other objects with the same page at another URL, by page digest of each answer."""
        copy_counts = {}
        for answer in answer_set.last_answers.values():
            digest = answer.page_digest
            if digest is not None and digest in self._pages:
                objects, address = self._pages[digest], without_inflection(answer.final_url)
                is_own_elsewhere = bool(objects.get(answer.ark.base, set()) - {address})
                copy_counts[digest] = len(objects) - self._at_one_address[digest, address] - is_own_elsewhere
        return copy_counts


def _intended_ark(case: TargetReadings, answer_sets: AnswerSets) -> tuple[IntendedArk | None, list[str]]:
    """Return the ARK that was probably meant instead of a target, or None, and the URLs requested for readings."""
    forms, suggested_forms = (list(map(answer_sets.form, readings)) for readings in (case.readings, case.suggested))
    requested_forms = [form for form in (*forms, *suggested_forms) if form.answer is not None]
    if len(requested_forms) < 2:
        return None, []
    other_urls = [
        form.answer.asked_url for form in requested_forms if form.answer is not None and form.reading.url != case.url
    ]
    return intended_ark(forms, suggested_forms), other_urls
