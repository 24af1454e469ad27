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
from crawler.verdicts.commitment import COMMITMENT_RULES, CommitmentFacts, about_policy
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
_ELSEWHERE = frozenset({Question.AT_PATH, Question.AT_REGISTRY, Question.AT_GLOBAL})
#: Outcomes that are set without rules, and when.
WITHOUT_RULES: Sequence[tuple[ObjectOutcome, str]] = (
    (ObjectOutcome.INVALID, "the ARK or its URL is malformed, so that nothing can be requested"),
    (ObjectOutcome.SKIPPED, "the NAAN is for examples or tests (12345, 99999): it is never requested"),
    (ObjectOutcome.UNDETERMINED, "nothing was observed, because the run ended early"),
    (
        ObjectOutcome.WORKS_ELSEWHERE,
        "it fails as written, and works under a path that its host names, or at another resolver",
    ),
)
#: The reason why no metadata was requested, by the family of the object's outcome.
_UNASKED_METADATA: Mapping[Family, str] = {
    Family.WORKS: "no metadata was requested",
    Family.FAILS: "the object was not found, so no metadata was requested",
    Family.UNREACHABLE: "the object's host gave no answer, so no metadata was requested",
    Family.NOT_JUDGED: "the object could not be checked, so no metadata was requested",
}


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """The answer about the object, the request that got it, and the verdict on it."""

    way: Question
    answer: AnswerFacts
    verdict: ServiceVerdict[ObjectOutcome]

    @property
    def family(self) -> Family:
        """The family of the outcome."""
        return self.verdict.outcome.family


def _unasked_metadata(family: Family, words: str) -> VerdictRule[Family, MetadataOutcome]:
    return VerdictRule(
        f"the outcome of the object belongs to the family {family.value}",
        lambda reached: reached is family,
        MetadataOutcome.NOT_ASKED,
        lambda reached: words,
    )


#: The rules about metadata if no inflection was requested, by the family of the object's outcome.
UNASKED_RULES: RuleTable[Family, MetadataOutcome] = RuleTable(
    "The metadata, if no inflection was requested",
    (RuleGroup("always", always, tuple(_unasked_metadata(*row) for row in _UNASKED_METADATA.items())),),
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
    why = ServiceVerdict(ObjectOutcome.UNDETERMINED, ("nothing was observed: the run ended early",))
    return replace(skipped_verdict(ark, request_url, ""), object=why)


@dataclass(frozen=True, slots=True)
class VerdictContext:
    """The other facts of a run that affect the verdict on one ARK."""

    control: AnswerFacts | None = None
    """The same resolver's answer to a name that can't exist, with the same NAAN and, if possible, shoulder."""
    control_as_written: AnswerFacts | None = None
    """The same at the resolver as written, even if another one reached the object."""
    controls_again: Sequence[AnswerFacts] = ()
    """The same at the resolver as written, requested again after several objects had got one answer."""
    other_controls: Sequence[AnswerFacts] = ()
    """The answers to second names that can't exist, at the resolver or at the landing host."""
    control_info: AnswerFacts | None = None
    """The same as *control*, with an inflection."""
    control_landing: AnswerFacts | None = None
    """The landing host's answer to a name that can't exist."""
    control_rendered: AnswerFacts | None = None
    """The same as *control*, rendered by a browser."""
    neighbours: int = 0
    """The number of ARKs of other objects that ended at the same URL."""
    copies: Mapping[str, int] = field(default_factory=dict)
    """The numbers of other objects with the same answer at another address of the host, by its `page_digest`."""
    described: Sequence[str] = ()
    """ARKs of other objects that pages of the same host describe; a few, if there are many."""
    earlier: Sequence[Observation] = ()
    """Earlier attempts at the same questions."""
    policies: Mapping[str, AnswerFacts] = field(default_factory=dict)
    """The answers for pages with the full text of a commitment, by the URL requested."""
    own_path: AnswerFacts | None = None
    """The host's answer about the path of its resolver, if requested."""
    registered: RegistryEntry | None = None
    """The NAAN registry's entry for the assigner of such names."""

    @property
    def changed_controls(self) -> Sequence[AnswerFacts]:
        """The answers to controls requested again that differ from the first control's answer."""
        first = self.control_as_written or self.control
        return [one for one in self.controls_again if first is None or not same_answer(first, one)]


def judge(answers: AnswersByQuestion, *, context: VerdictContext | None = None) -> Verdict:
    """Return the verdict on one ARK at one request URL, by its *answers*, which include the object's."""
    around = context or VerdictContext()
    access = decide_access(answers, around)
    described, describing = judge_inflections(
        answers,
        access.answer,
        around.control_info,
        around.changed_controls,
        outcome=access.verdict.outcome,
        copies=around.copies,
    )
    metadata = described or UNASKED_RULES.judge(access.family)
    commitment = COMMITMENT_RULES.judge(CommitmentFacts(answers, describing))
    is_stated = commitment.outcome is CommitmentOutcome.STATED
    link = policy_link(commitment.parsed) if is_stated else None
    policy = around.policies.get(link) if link else None
    if policy is not None:
        words = (*commitment.evidence, about_policy(policy))
        commitment = replace(commitment, evidence=words)
    sent = (*around.earlier, *answers.values())
    shared = (
        around.control,
        around.control_as_written,
        *around.controls_again,
        *around.other_controls,
        around.control_info,
        around.control_landing if access.answer.is_success or access.answer.may_be_explained else None,
        around.control_rendered if Question.RENDERED in answers else None,
        around.own_path,
        policy,
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
        requests=requests_sent(sent),
        remarks=tuple(dict.fromkeys(_remarks(answers, access, around))),
        rests_on=tuple(dict.fromkeys(other.asked_url for other in shared if other)),
        naan_policy=_naan_policy(around.registered),
    )


# -- the object


def decide_access(answers: AnswersByQuestion, around: VerdictContext) -> ObjectAccess:
    """Return the first request that reached the object, or else the request as written, with the evidence of all.

    A further request counts only if the one before failed: a host that blocks programs can't be judged by another host.
    Only the first of several successes that may be error pages was compared with a control.
    """
    first = _access(Question.OBJECT, answers[Question.OBJECT], around, answers)
    evidence = [*first.verdict.evidence, *_about_attempts(first, around.earlier)]
    doubtful = first.answer.is_left_to_scripts or first.answer.describes_itself
    is_doubtful = first.answer.is_unknown and doubtful
    if first.family is Family.WORKS or (first.family is Family.NOT_JUDGED and not is_doubtful):
        return _with_evidence(first, evidence)
    unjudged: ObjectAccess | None = None
    for way in ACCESS[1:]:
        if way not in answers:
            continue
        answer = answers[way]
        is_no_better = answer is not reached_answer(answers) and seems_absent(answer)
        if way in _ELSEWHERE and first.answer.is_reached and is_no_better:
            sign = answer.signs_of_absence[0]
            evidence.append(f"{WAYS[way][0]} {answer.asked_url}: {sign}")
            continue
        other = _access(way, answer, around, answers)
        how, *more = other.verdict.evidence
        evidence += [f"{WAYS[way][0]} {how}", *more, *_about_attempts(other, around.earlier)]
        if other.family is Family.WORKS:
            outcome = other.verdict.outcome
            if way in _ELSEWHERE and outcome is not ObjectOutcome.EXPLAINED:
                outcome = ObjectOutcome.WORKS_ELSEWHERE
            return _with_evidence(other, evidence, outcome)
        is_led = way not in _ELSEWHERE and other.answer.is_redirected and other.answer.is_success
        if is_led and other.verdict.outcome is ObjectOutcome.UNDETERMINED:
            unjudged = unjudged or other
    if unjudged is not None and first.family is Family.FAILS:
        # The resolver knows the name in another spelling, but its target can't be judged.
        first = unjudged
    return _with_evidence(first, evidence)


def _access(way: Question, answer: AnswerFacts, around: VerdictContext, answers: AnswersByQuestion) -> ObjectAccess:
    written = answers[Question.OBJECT].asked_url
    is_as_written = resolver_or_host(answer.asked_url) == resolver_or_host(written)
    is_reached = answer is reached_answer(answers)
    facts = replace(
        facts_beside(answer, answers, (around.control_as_written if is_as_written else None) or around.control),
        neighbours=around.neighbours if way is Question.OBJECT else 0,
        others=around.other_controls,
        changed_controls=around.changed_controls if is_as_written else (),
        copies=around.copies.get(answer.page_digest or "", 0) if is_reached else 0,
        described=around.described if is_reached else (),
    )
    facts = facts_at_landing(facts, around.control_landing)
    verdict = OBJECT_RULES.judge(facts)
    rendered = answers.get(Question.RENDERED)
    is_shown = rendered is not None and rendered.asked_url == answer.asked_url
    if rendered is not None and is_shown and is_app_shell(facts):
        verdict = judge_rendered(verdict, rendered, around.control_rendered)
    return ObjectAccess(way, answer, verdict)


def facts_beside(answer: AnswerFacts, answers: AnswersByQuestion, control: AnswerFacts | None) -> ObjectFacts:
    """Return the facts of an answer for the object with the *control* and further *answers* at the same address."""
    inflected = [answers[question] for question in INFLECTED if question in answers]
    again = [other for other in inflected if other.asked_url.partition("?")[0] == answer.asked_url]
    return ObjectFacts(answer, control, again=again)


def _with_evidence(access: ObjectAccess, evidence: Sequence[str], outcome: ObjectOutcome | None = None) -> ObjectAccess:
    outcome = outcome or access.verdict.outcome
    return replace(access, verdict=replace(access.verdict, outcome=outcome, evidence=tuple(evidence)))


def _about_attempts(access: ObjectAccess, earlier: Iterable[Observation]) -> Iterator[str]:
    """Return the number of attempts and the results of the earlier ones, if there was more than one."""
    answer = access.answer
    if answer.attempt > 1:
        attempts = [attempt for attempt in earlier if attempt.question is answer.question]
        before = [attempt for attempt in attempts if attempt.attempt < answer.attempt]
        gave = ", ".join(
            str(attempt.status) if attempt.end is ChainEnd.ANSWERED else attempt.end.value for attempt in before
        )
        earlier_words = f"; before: {gave}" if gave else ""
        yield f"requested {answer.attempt} times{_span([*before, answer])}{earlier_words}"
    elif access.way is Question.OBJECT and access.family in (Family.FAILS, Family.UNREACHABLE):
        yield "requested once"


def _span(attempts: Sequence[Observation]) -> str:
    """Return the time from the first answer to the last in words, or an empty text if unknown."""
    hops = (hop for attempt in attempts for hop in attempt.hops)
    moments = sorted(datetime.fromisoformat(hop.at) for hop in hops if hop.at)
    if len(moments) < 2:
        return ""
    seconds = (moments[-1] - moments[0]).total_seconds()
    return f" over {seconds:.0f} s" if seconds >= 1 else " within a second"


# -- metadata


@dataclass(frozen=True, slots=True)
class Description:
    """The current outcomes of the inflections, which decide the next questions."""

    by: Question | None = None
    """The inflection whose answer is a description."""
    states_commitment: bool = False
    policy_url: str | None = None
    """The address of the full text of the commitment."""


def described_by(answers: AnswersByQuestion) -> Description:
    """Return the inflection that described the object, and whether a commitment was stated with it."""
    living = reached_answer(answers)
    if living is None:
        return Description()
    metadata, describing = judge_inflections(answers, living, None)
    if metadata is None:
        return Description()
    commitment = COMMITMENT_RULES.judge(CommitmentFacts(answers, describing))
    is_stated = commitment.outcome is CommitmentOutcome.STATED
    by = describing[0] if describing else None
    return Description(by, is_stated, policy_link(commitment.parsed) if is_stated else None)


def _naan_policy(registered: RegistryEntry | None) -> Mapping[str, Any]:
    """Return the registry's data about an assigner's policy, under the registry's own names, or an empty mapping."""
    if registered is None or not (registered.policy.practices or registered.policy.url):
        return {}
    policy = registered.policy
    return {
        "of": registered.key,
        "organization": registered.organization,
        "practices": list(policy.practices),
        "org_type": policy.org_type,
        "url": policy.url,
    }


# -- remarks


def _remarks(answers: AnswersByQuestion, access: ObjectAccess, around: VerdictContext) -> Iterator[str]:
    asked, answer = answers[Question.OBJECT], access.answer
    yield from asked.remarks
    if access.way in WAYS:
        yield WAYS[access.way][1]
    yield from chain_remarks(answer)
    yield from another_remarks(access.answer)
    yield from certificate_remarks((*asked.hops, *answer.hops))
    is_explained = access.verdict.outcome is ObjectOutcome.EXPLAINED and access.answer.is_success
    if is_explained and ObjectFacts(access.answer).regional is None:
        yield f"withdrawn without 410: the page that explains this has the status {answer.status}"
