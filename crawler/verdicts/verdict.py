"""Judge the three services of one ARK, by the answers about it and the answers to the control.

Reports only read the decisions of this module. A verdict describes one day: one failed observation does not show that
an ARK is dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from crawler.answers.claims import policy_link
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.answers.likeness import same_answer
from crawler.answers.object_facts import ObjectFacts, reached_answer, seems_absent
from crawler.answers.probes import resolver_or_host
from crawler.model.observations import (
    ACCESS,
    ChainEnd,
    CommitmentOutcome,
    Family,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.model.resolving import INFLECTED, requests_sent
from crawler.verdicts.access import OBJECT_RULES, is_app_shell, judge_rendered
from crawler.verdicts.commitment import COMMITMENT_RULES, CommitmentFacts, policy_evidence
from crawler.verdicts.controls import facts_at_landing
from crawler.verdicts.inflection import judge_inflections
from crawler.verdicts.remarks import another_remarks, certificate_remarks, chain_remarks
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always
from extractors.model.ark import Ark
from extractors.model.naan import RegistryEntry

#: The limit of CPU time for the verdict on an ARK, for its next questions, its explanation or its conformance test; most
#: need a thousandth of it.
JUDGING_CPU_S = 2.0
TOO_LONG_TO_JUDGE = f"the verdict took more than {JUDGING_CPU_S:g} s of CPU time"


def bug_reason(bug: Exception) -> str:
    """Return the reason of a verdict that an exception of arkaudit prevented.

    >>> bug_reason(KeyError("object"))
    "a bug of arkaudit, please report it: KeyError: 'object'"
    """
    return f"a bug of arkaudit, please report it: {type(bug).__name__}: {bug}"


# -- a verdict on the three services


#: The evidence and the remark for the success of another request, if the request as written fails.
WAYS: Mapping[Question, tuple[str, str]] = {
    Question.NO_SLASH: ("without its trailing slash:", "the resolver treats a trailing slash as part of the name"),
    Question.HYPHENS: ("without its hyphens:", "the resolver treats hyphens as part of the name"),
    Question.OTHER_LABEL: ("with the other form of the label:", "the resolver knows only the other form of the label"),
    Question.PLAIN: (
        "with the other form of the label, and without its hyphens and slash:",
        "the resolver knows only the other form of the label, and treats hyphens or a slash as part of the name",
    ),
    Question.CONFIRMED: (
        "at the global resolver:",
        "the registry's target does not know it, but the global resolver does",
    ),
    Question.AT_PATH: ("under the path that the host names:", "the resolver has moved to another path of its host"),
    Question.AT_REGISTRY: ("at the registry's target:", "the resolver as written fails; the registry's target works"),
    Question.AT_GLOBAL: ("at the global resolver:", "the resolver as written fails; the global resolver works"),
}
#: Requests that do not use the resolver as written: if one succeeds, the ARK works elsewhere.
_ELSEWHERE_QUESTIONS = frozenset({Question.AT_PATH, Question.AT_REGISTRY, Question.AT_GLOBAL})
#: Outcomes that are set without rules, and when.
OUTCOMES_WITHOUT_RULES: Sequence[tuple[ObjectOutcome, str]] = (
    (ObjectOutcome.INVALID, "the ARK or its URL is malformed, so that nothing can be requested"),
    (ObjectOutcome.SKIPPED, "the NAAN is for examples or tests (12345, 99999): it is never requested"),
    (ObjectOutcome.UNDETERMINED, "nothing was observed, because the run ended early"),
    (
        ObjectOutcome.WORKS_ELSEWHERE,
        "it fails as written, and works under a path that its host names, or at another resolver",
    ),
)
#: The reason why no metadata was requested, by the family of the object's outcome.
_REASONS_WITHOUT_METADATA: Mapping[Family, str] = {
    Family.WORKS: "no metadata was requested",
    Family.FAILS: "the object was not found, so no metadata was requested",
    Family.UNREACHABLE: "the object's host gave no answer, so no metadata was requested",
    Family.NOT_JUDGED: "the object could not be checked, so no metadata was requested",
}


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """The answer about the object, the verdict on it, and the question (*way*) that got it, such as `Question.HYPHENS`."""

    way: Question
    answer: AnswerFacts
    verdict: ServiceVerdict[ObjectOutcome]

    @property
    def family(self) -> Family:
        """The family of the outcome."""
        return self.verdict.outcome.family


def _unasked_metadata(family: Family, evidence: str) -> VerdictRule[Family, MetadataOutcome]:
    return VerdictRule(
        f"the outcome of the object belongs to the family {family.value}",
        lambda reached: reached is family,
        MetadataOutcome.NOT_ASKED,
        lambda reached: evidence,
    )


#: The rules about metadata if no inflection was requested, by the family of the object's outcome.
UNASKED_RULES: RuleTable[Family, MetadataOutcome] = RuleTable(
    "The metadata, if no inflection was requested",
    (RuleGroup("always", always, tuple(_unasked_metadata(*row) for row in _REASONS_WITHOUT_METADATA.items())),),
)


def skipped_verdict(ark: Ark, request_url: str, reason: str) -> Verdict:
    """Return the verdict on an ARK that was recorded and not requested."""
    return Verdict(
        ark=ark,
        request_url=request_url,
        object=ServiceVerdict(ObjectOutcome.SKIPPED, (reason,)),
        metadata=ServiceVerdict(MetadataOutcome.NOT_ASKED),
        commitment=ServiceVerdict(CommitmentOutcome.NOT_ASKED),
    )


def unobserved_verdict(ark: Ark, request_url: str) -> Verdict:
    """Return the verdict on an ARK without any observation, although it should have been requested."""
    object_verdict = ServiceVerdict(ObjectOutcome.UNDETERMINED, ("nothing was observed: the run ended early",))
    return replace(skipped_verdict(ark, request_url, ""), object=object_verdict)


@dataclass(frozen=True, slots=True)
class VerdictContext:
    """The facts of a run, apart from the answers about one ARK, that affect the verdict on this ARK."""

    control: AnswerFacts | None = None
    """The answer to a name that can't exist, at the resolver that was asked, with the ARK's NAAN and, if possible, shoulder."""
    control_as_written: AnswerFacts | None = None
    """The answer to such a name at the resolver as written, even if another resolver reached the object."""
    repeated_controls: Sequence[AnswerFacts] = ()
    """The answers to `control_as_written`, requested again after several objects had got the same answer."""
    second_controls: Sequence[AnswerFacts] = ()
    """The answers to second names that can't exist, at the resolver or at the landing host."""
    control_info: AnswerFacts | None = None
    """The answer to the name of `control` with an inflection."""
    control_landing: AnswerFacts | None = None
    """The landing host's answer to a name that can't exist."""
    control_rendered: AnswerFacts | None = None
    """The page of `control`, rendered by a browser."""
    neighbour_count: int = 0
    """The number of ARKs of other objects that ended at the same URL."""
    copies_by_digest: Mapping[str, int] = field(default_factory=dict)
    """The numbers of other objects with the same answer at another address of the host, by its `page_digest`."""
    described_arks: Sequence[str] = ()
    """ARKs of other objects that pages of the same host describe; a few, if there are many."""
    earlier_attempts: Sequence[Observation] = ()
    """Earlier attempts at the same questions."""
    policy_answers: Mapping[str, AnswerFacts] = field(default_factory=dict)
    """The answers for pages with the full text of a commitment, by the URL requested."""
    own_path_answer: AnswerFacts | None = None
    """The host's answer about the path of its resolver, if requested."""
    registry_entry: RegistryEntry | None = None
    """The NAAN registry's entry for the assigner of such names."""

    @property
    def changed_controls(self) -> Sequence[AnswerFacts]:
        """The answers of `repeated_controls` that differ from the first answer to that control."""
        first = self.control_as_written or self.control
        return [control for control in self.repeated_controls if first is None or not same_answer(first, control)]


def judge(answers: AnswersByQuestion, *, context: VerdictContext | None = None) -> Verdict:
    """Return the verdict on one ARK at one request URL, by its *answers*, which include that to the object question."""
    run_context = context or VerdictContext()
    access = decide_access(answers, run_context)
    inflection_verdict, describing_inflections = judge_inflections(
        answers,
        access.answer,
        run_context.control_info,
        run_context.changed_controls,
        outcome=access.verdict.outcome,
        copies=run_context.copies_by_digest,
    )
    metadata = inflection_verdict or UNASKED_RULES.judge(access.family)
    commitment = COMMITMENT_RULES.judge(CommitmentFacts(answers, describing_inflections))
    is_stated = commitment.outcome is CommitmentOutcome.STATED
    policy_url = policy_link(commitment.parsed) if is_stated else None
    policy_answer = run_context.policy_answers.get(policy_url) if policy_url else None
    if policy_answer is not None:
        evidence = (*commitment.evidence, policy_evidence(policy_answer))
        commitment = replace(commitment, evidence=evidence)
    observations = (*run_context.earlier_attempts, *answers.values())
    shared_answers = (
        run_context.control,
        run_context.control_as_written,
        *run_context.repeated_controls,
        *run_context.second_controls,
        run_context.control_info,
        run_context.control_landing if access.answer.is_success or access.answer.may_be_explained else None,
        run_context.control_rendered if Question.RENDERED in answers else None,
        run_context.own_path_answer,
        policy_answer,
    )
    answer = access.answer
    return Verdict(
        ark=answer.ark,
        request_url=answer.request_url,
        object=access.verdict,
        metadata=metadata,
        commitment=commitment,
        final_url=answer.final_url if answer.end is ChainEnd.ANSWERED else None,
        hops=answer.hops,
        requests=requests_sent(observations),
        remarks=tuple(dict.fromkeys(_remarks(answers, access, run_context))),
        rests_on=tuple(dict.fromkeys(other.asked_url for other in shared_answers if other)),
        naan_policy=_naan_policy(run_context.registry_entry),
    )


# -- the object


def decide_access(answers: AnswersByQuestion, context: VerdictContext) -> ObjectAccess:
    """Return the first request that reached the object, or else the request as written, with the evidence of all.

    A further request counts only if the one before failed: a host that blocks programs can't be judged by another host.
    A later success elsewhere that may be an error page is only mentioned, because no control was requested for it.
    """
    written_access = _access(Question.OBJECT, answers[Question.OBJECT], context, answers)
    evidence = [*written_access.verdict.evidence, *_about_attempts(written_access, context.earlier_attempts)]
    may_show_object = written_access.answer.is_left_to_scripts or written_access.answer.describes_itself
    is_doubtful = written_access.answer.is_unknown and may_show_object
    if written_access.family is Family.WORKS or (written_access.family is Family.NOT_JUDGED and not is_doubtful):
        return _with_evidence(written_access, evidence)
    unjudged_access: ObjectAccess | None = None
    for way in ACCESS[1:]:
        if way not in answers:
            continue
        answer = answers[way]
        is_no_better = answer is not reached_answer(answers) and seems_absent(answer)
        if way in _ELSEWHERE_QUESTIONS and written_access.answer.is_reached and is_no_better:
            sign = answer.signs_of_absence[0]
            evidence.append(f"{WAYS[way][0]} {answer.asked_url}: {sign}")
            continue
        further_access = _access(way, answer, context, answers)
        first_sentence, *further_sentences = further_access.verdict.evidence
        evidence += [
            f"{WAYS[way][0]} {first_sentence}",
            *further_sentences,
            *_about_attempts(further_access, context.earlier_attempts),
        ]
        if further_access.family is Family.WORKS:
            outcome = further_access.verdict.outcome
            if way in _ELSEWHERE_QUESTIONS and outcome is not ObjectOutcome.EXPLAINED:
                outcome = ObjectOutcome.WORKS_ELSEWHERE
            return _with_evidence(further_access, evidence, outcome)
        is_led = (
            way not in _ELSEWHERE_QUESTIONS and further_access.answer.is_redirected and further_access.answer.is_success
        )
        if is_led and further_access.verdict.outcome is ObjectOutcome.UNDETERMINED:
            unjudged_access = unjudged_access or further_access
    if unjudged_access is not None and written_access.family is Family.FAILS:
        # The resolver knows the name in another spelling, but its target can't be judged.
        written_access = unjudged_access
    return _with_evidence(written_access, evidence)


def _access(way: Question, answer: AnswerFacts, context: VerdictContext, answers: AnswersByQuestion) -> ObjectAccess:
    """Return the *answer* to the question *way* with the verdict on it, which depends on the controls in *context*."""
    written_url = answers[Question.OBJECT].asked_url
    is_as_written = resolver_or_host(answer.asked_url) == resolver_or_host(written_url)
    is_reached = answer is reached_answer(answers)
    facts = replace(
        facts_beside(answer, answers, (context.control_as_written if is_as_written else None) or context.control),
        neighbour_count=context.neighbour_count if way is Question.OBJECT else 0,
        second_controls=context.second_controls,
        changed_controls=context.changed_controls if is_as_written else (),
        copy_count=context.copies_by_digest.get(answer.page_digest or "", 0) if is_reached else 0,
        described_arks=context.described_arks if is_reached else (),
    )
    facts = facts_at_landing(facts, context.control_landing)
    verdict = OBJECT_RULES.judge(facts)
    rendered = answers.get(Question.RENDERED)
    is_shown = rendered is not None and rendered.asked_url == answer.asked_url
    if rendered is not None and is_shown and is_app_shell(facts):
        verdict = judge_rendered(verdict, rendered, context.control_rendered)
    return ObjectAccess(way, answer, verdict)


def facts_beside(answer: AnswerFacts, answers: AnswersByQuestion, control: AnswerFacts | None) -> ObjectFacts:
    """Return the facts of *answer*, with *control* and those of *answers* that are to inflections of its URL."""
    inflection_answers = [answers[question] for question in INFLECTED if question in answers]
    further_answers = [other for other in inflection_answers if other.asked_url.partition("?")[0] == answer.asked_url]
    return ObjectFacts(answer, control, further_answers=further_answers)


def _with_evidence(access: ObjectAccess, evidence: Sequence[str], outcome: ObjectOutcome | None = None) -> ObjectAccess:
    outcome = outcome or access.verdict.outcome
    return replace(access, verdict=replace(access.verdict, outcome=outcome, evidence=tuple(evidence)))


def _about_attempts(access: ObjectAccess, earlier_attempts: Iterable[Observation]) -> Iterator[str]:
    """Yield a sentence with the number of attempts, their time span and earlier results.

    A single attempt as written that failed gives "requested once", and any other single attempt nothing.
    """
    answer = access.answer
    if answer.attempt > 1:
        attempts = [attempt for attempt in earlier_attempts if attempt.question is answer.question]
        previous_attempts = [attempt for attempt in attempts if attempt.attempt < answer.attempt]
        earlier_results = ", ".join(
            str(attempt.status) if attempt.end is ChainEnd.ANSWERED else attempt.end.value
            for attempt in previous_attempts
        )
        earlier_note = f"; before: {earlier_results}" if earlier_results else ""
        yield f"requested {answer.attempt} times{_span([*previous_attempts, answer])}{earlier_note}"
    elif access.way is Question.OBJECT and access.family in (Family.FAILS, Family.UNREACHABLE):
        yield "requested once"


def _span(attempts: Sequence[Observation]) -> str:
    """Return the time from the first hop to the last (" over 90 s"), or an empty text with fewer than two times."""
    hops = (hop for attempt in attempts for hop in attempt.hops)
    answer_times = sorted(datetime.fromisoformat(hop.at) for hop in hops if hop.at)
    if len(answer_times) < 2:
        return ""
    seconds = (answer_times[-1] - answer_times[0]).total_seconds()
    return f" over {seconds:.0f} s" if seconds >= 1 else " within a second"


# -- metadata


@dataclass(frozen=True, slots=True)
class Description:
    """The facts that decide which inflections are still useful: if the object is described, and its commitment stated."""

    inflection: Question | None = None
    """The first inflection whose answer describes the object, or None."""
    states_commitment: bool = False
    policy_url: str | None = None
    """The address of the full text of the commitment, or None."""


def description_of(answers: AnswersByQuestion) -> Description:
    """Return the description by *answers*; an empty one if the object was not reached or no inflection requested."""
    object_answer = reached_answer(answers)
    if object_answer is None:
        return Description()
    metadata, describing_inflections = judge_inflections(answers, object_answer, None)
    if metadata is None:
        return Description()
    commitment = COMMITMENT_RULES.judge(CommitmentFacts(answers, describing_inflections))
    is_stated = commitment.outcome is CommitmentOutcome.STATED
    first_inflection = describing_inflections[0] if describing_inflections else None
    return Description(first_inflection, is_stated, policy_link(commitment.parsed) if is_stated else None)


def _naan_policy(entry: RegistryEntry | None) -> Mapping[str, Any]:
    """Return the policy in a registry *entry*, under the registry's names; empty if there is no entry or policy."""
    if entry is None or not (entry.policy.practices or entry.policy.url):
        return {}
    policy = entry.policy
    return {
        "of": entry.key,
        "organization": entry.organization,
        "practices": list(policy.practices),
        "org_type": policy.org_type,
        "url": policy.url,
    }


# -- remarks


def _remarks(answers: AnswersByQuestion, access: ObjectAccess, context: VerdictContext) -> Iterator[str]:
    """Yield remarks about the object's chain, page and certificates, in sentences."""
    written_answer, answer = answers[Question.OBJECT], access.answer
    yield from written_answer.remarks
    if access.way in WAYS:
        yield WAYS[access.way][1]
    yield from chain_remarks(answer)
    yield from another_remarks(access.answer)
    yield from certificate_remarks((*written_answer.hops, *answer.hops))
    is_explained = access.verdict.outcome is ObjectOutcome.EXPLAINED and access.answer.is_success
    if is_explained and ObjectFacts(access.answer).regional is None:
        yield f"withdrawn without 410: the page that explains this has the status {answer.status}"
