"""Pure: judge the three services of one ARK, from the answers about it and the control's.

Reports only read what is decided here. One observation is never called dead: a verdict is about today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from crawler.answers.claims import policy_link
from crawler.answers.facts import AnswerFacts, status_outcome
from crawler.answers.metadata_facts import MetadataFacts
from crawler.answers.object_facts import ControlContrast, ObjectFacts, Signs
from crawler.asking.probes import landing_pattern, place_of
from crawler.asking.questions import reached, seems_absent
from crawler.model.observations import (
    ACCESS,
    DESCRIBED,
    FAMILY_OF,
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
from crawler.verdicts.access import RenderedFacts, by_what_is_shown, is_app_shell, judge_object
from crawler.verdicts.answer_sets import is_about_resolver
from crawler.verdicts.commitment import CommitmentFacts, about_policy, judge_commitment
from crawler.verdicts.inflection import judge_metadata
from crawler.verdicts.remarks import (
    EXPECTED_TO_RESOLVE,
    TlsResults,
    another_remarks,
    chain_remarks,
    metadata_remarks,
    plain_remarks,
    tls_remarks,
)
from crawler.verdicts.rules import RuleTable, VerdictRule, always
from extractors.model.ark import Ark
from extractors.model.naan import RegistryEntry, naan_and_name


@dataclass(frozen=True, slots=True)
class ClosedCollection:
    """The ARKs of one NAAN whose names begin alike, and why no one is let in."""

    naan: str
    beginning: str = ""
    reason: str = ""

    @classmethod
    def of(cls, arks: str, reason: str = "") -> ClosedCollection:
        """The collection of the ARKs that begin as *arks*: a NAAN, or a NAAN and the beginning of names.

        Raises `extractors.model.normalize.NotAnArk`.

        >>> ClosedCollection.of("ark:/98765/k3-", "reading room only").holds(Ark.parse("ark:98765/k3x7"))
        True
        """
        return cls(*naan_and_name(arks), reason)

    def holds(self, ark: Ark) -> bool:
        """Return whether *ark* belongs to it."""
        return ark.naan == self.naan and (ark.name + ark.qualifier).startswith(self.beginning)


def closed_for(ark: Ark, collections: Iterable[ClosedCollection]) -> ClosedCollection | None:
    """The collection that *ark* belongs to; of several the one with the longest beginning."""
    holding = [collection for collection in collections if collection.holds(ark)]
    return max(holding, key=lambda collection: len(collection.beginning), default=None)


@dataclass(frozen=True, slots=True)
class ClosedFacts:
    """The facts of a refusal by a collection that is meant to be closed."""

    refusal: ServiceVerdict[ObjectOutcome]
    closed: ClosedCollection
    control: AnswerFacts | None

    @property
    def control_status(self) -> int | None:
        """The status of the answer for a name that can't exist."""
        return self.control.seen.status if self.control is not None else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return why it is refused, and why that is no wonder."""
        reason = f": {self.closed.reason}" if self.closed.reason else ""
        return (
            *self.refusal.evidence,
            f"it belongs to a collection that is meant to be closed{reason}",
        )


#: A refusal shows that an object is there where a name that can't exist is not found.
CLOSED_RULES: RuleTable[ClosedFacts, ObjectOutcome] = RuleTable.of(
    "A refusal by a collection that is meant to be closed",
    VerdictRule(
        "there is no answer for a name that can't exist",
        lambda facts: facts.control_status is None,
        ObjectOutcome.BLOCKED,
        lambda facts: facts.evidence,
    ),
    VerdictRule(
        "a name that can't exist is not found",
        lambda facts: status_outcome(facts.control_status or 0) is ObjectOutcome.BROKEN,
        ObjectOutcome.EXPLAINED,
        lambda facts: [
            *facts.evidence,
            f"a name that can't exist is answered {facts.control_status}",
        ],
        basis="2023, 5.1",
    ),
    VerdictRule(
        "a name that can't exist gets another answer",
        always,
        ObjectOutcome.BLOCKED,
        lambda facts: [*facts.evidence, _shows_nothing(facts)],
    ),
)


def _shows_nothing(facts: ClosedFacts) -> str:
    status = facts.control_status
    return f"a name that can't exist is answered {status}, so that nothing shows that the object is there"


def as_expected(facts: ClosedFacts) -> ServiceVerdict[ObjectOutcome]:
    """The verdict on a refusal by a collection that is meant to be closed."""
    return replace(CLOSED_RULES.judge(facts), parsed=facts.refusal.parsed)


# -- a verdict on the three services


#: What the success of another way to ask means for the object, when the first way fails, and the words for it.
WAYS: Mapping[Question, tuple[str, str]] = {
    Question.NO_SLASH: (
        "without its trailing slash:",
        "the resolver takes a trailing slash for part of the name",
    ),
    Question.HYPHENS: ("without its hyphens:", "the resolver takes hyphens for part of the name"),
    Question.OTHER_LABEL: (
        "with the other form of the label:",
        "the resolver knows only the other form of the label",
    ),
    Question.PLAIN: (
        "with the other form of the label, and without its hyphens and slash:",
        "the resolver knows only the other form of the label, and takes hyphens or a slash for part of the name",
    ),
    Question.CONFIRMED: (
        "at the global resolver:",
        "the registry's target does not know it, the global resolver does",
    ),
    Question.AT_PATH: (
        "under the path that the host names:",
        "the resolver has moved to another path of its host",
    ),
    Question.AT_REGISTRY: (
        "at the registry's target:",
        "the resolver as written fails; the registry's target works",
    ),
    Question.AT_GLOBAL: (
        "at the global resolver:",
        "the resolver as written fails; the global resolver works",
    ),
}
#: Ways that lead past the resolver as written: their success is that the ARK works elsewhere.
_ELSEWHERE = frozenset({Question.AT_PATH, Question.AT_REGISTRY, Question.AT_GLOBAL})
#: When an outcome is by itself, whatever the answers show.
WITHOUT_RULES: Sequence[tuple[ObjectOutcome, str]] = (
    (ObjectOutcome.INVALID, "a line of input holds no ARK that could be asked for"),
    (
        ObjectOutcome.SKIPPED,
        "the NAAN is for examples or tests (12345, 99999): it is never requested",
    ),
    (ObjectOutcome.UNDETERMINED, "nothing was observed, because the run ended early"),
    (
        ObjectOutcome.WORKS_ELSEWHERE,
        "as written it fails, and it is reached under a path that its host names, or at another resolver",
    ),
)
#: Why nothing was asked about metadata, by the family of the object's outcome.
_UNASKED_METADATA: Mapping[Family, str] = {
    Family.WORKS: "nothing was asked about metadata",
    Family.FAILS: "the object was not found, so nothing was asked about its metadata",
    Family.UNREACHABLE: "the object's host gave no answer, so nothing was asked about metadata",
    Family.NOT_JUDGED: "the object could not be asked for, so nothing was asked about its metadata",
}


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """The answer that means the object, the way by which it came, and the verdict on it."""

    way: Question
    answer: AnswerFacts
    verdict: ServiceVerdict[ObjectOutcome]

    @property
    def family(self) -> Family:
        """The family of its outcome."""
        return FAMILY_OF[self.verdict.outcome]


def _unasked_metadata(family: Family, words: str) -> VerdictRule[ObjectAccess, MetadataOutcome]:
    return VerdictRule(
        f"the outcome for the object is of the family {family.value}",
        lambda access: access.family is family,
        MetadataOutcome.NOT_ASKED,
        lambda access: words,
    )


#: The rules about metadata where no inflection was asked, by the object's outcome.
UNASKED_RULES: RuleTable[ObjectAccess, MetadataOutcome] = RuleTable.of(
    "The metadata, where no inflection was asked",
    *(_unasked_metadata(family, words) for family, words in _UNASKED_METADATA.items()),
)


def skipped(ark: Ark, request_url: str, reason: str) -> Verdict:
    """The verdict on an ARK that was recorded and not requested."""
    return Verdict(
        ark=ark,
        request_url=request_url,
        object=ServiceVerdict(ObjectOutcome.SKIPPED, (reason,)),
        metadata=ServiceVerdict(MetadataOutcome.NOT_ASKED),
        commitment=ServiceVerdict(CommitmentOutcome.NOT_ASKED),
    )


def unasked(ark: Ark, request_url: str) -> Verdict:
    """The verdict on an ARK about which nothing was observed, though it should have been."""
    why = ServiceVerdict(ObjectOutcome.UNDETERMINED, ("nothing was observed: the run ended early",))
    return replace(skipped(ark, request_url, ""), object=why)


@dataclass(frozen=True, slots=True)
class VerdictContext:
    """The rest of a run that bears on the verdict about one ARK."""

    control: AnswerFacts | None = None
    """What the same resolver answers for a name that can't exist, under the same NAAN and shoulder where it can be."""
    control_as_written: AnswerFacts | None = None
    """The same of the resolver as written, where another one has reached the object."""
    control_info: AnswerFacts | None = None
    """The same as *control*, to an inflection."""
    control_landing: AnswerFacts | None = None
    """What the host to which redirects have led answers for what can't exist."""
    control_rendered: AnswerFacts | None = None
    """The same as *control*, as a browser has shown it."""
    tls: TlsResults = field(default_factory=dict)
    """What was seen of the certificates of hosts, by host and port."""
    neighbours: int = 0
    """How many ARKs of other objects ended at the same URL."""
    earlier: Sequence[Observation] = ()
    """Attempts at the same questions before those whose answers are."""
    policies: Mapping[str, AnswerFacts] = field(default_factory=dict)
    """What came of asking for the pages where commitments are in full, by the URL asked."""
    own_path: AnswerFacts | None = None
    """What the host says of its resolver's path, where that was asked."""
    closed: ClosedCollection | None = None
    """The collection that is meant to be closed, and holds this ARK."""
    registered: RegistryEntry | None = None
    """What the NAAN registry has about anyone who assigns such names."""


def judge(
    answers: Mapping[Question, AnswerFacts],
    *,
    context: VerdictContext | None = None,
) -> Verdict:
    """The verdict on one ARK at one request URL, from the *answers* about it, of which the object's is one."""
    around = context or VerdictContext()
    access = decide_access(answers, around)
    metadata, describing = _judge_metadata(answers, access, around)
    commitment = judge_commitment(CommitmentFacts(answers, metadata, describing))
    policy = _policy_page(commitment, around)
    asked_object = answers[Question.OBJECT]
    sent = (*around.earlier, *(answer.seen for answer in answers.values()))
    asked = [
        observation
        for observation in sent
        if not is_about_resolver(observation.question, asked_object)
    ]
    shared = (
        around.control,
        around.control_as_written,
        around.control_info,
        around.control_landing if access.answer.is_success else None,
        around.control_rendered if Question.RENDERED in answers else None,
        around.own_path,
        policy,
    )
    answer = access.answer.seen
    return Verdict(
        ark=answer.ark,
        request_url=answer.request_url,
        object=access.verdict,
        metadata=metadata,
        commitment=_with_policy_page(commitment, policy),
        final_url=answer.final_url if answer.end is ChainEnd.ANSWERED else None,
        hops=answer.hops,
        requests=requests_sent(asked),
        remarks=tuple(dict.fromkeys(_remarks(answers, access, describing, around))),
        rests_on=tuple(
            dict.fromkeys(answer_.seen.asked_url for answer_ in shared if answer_ is not None)
        ),
        naan_policy=_naan_policy(around.registered),
    )


# -- the object


def decide_access(answers: Mapping[Question, AnswerFacts], around: VerdictContext) -> ObjectAccess:
    """The first way by which the object is reached, or else the way as written, with what the others gave.

    A way counts only while the one before it fails: what blocks a program is not mended by asking elsewhere. Of
    successes that may all say that the name is unknown, only the first was held against a control.
    """
    first = _access(Question.OBJECT, answers[Question.OBJECT], around, answers)
    evidence = [*first.verdict.evidence, *_about_attempts(first, around.earlier)]
    if _is_settled(first):
        return _with_evidence(first, evidence)
    unjudged: ObjectAccess | None = None
    for way in ACCESS[1:]:
        if way not in answers:
            continue
        if way in _ELSEWHERE and first.answer.is_reached and _is_no_better(answers[way], answers):
            evidence.append(
                f"{WAYS[way][0]} {answers[way].seen.asked_url}: {answers[way].signs_of_absence[0]}"
            )
            continue
        other = _access(way, answers[way], around, answers)
        how, *more = other.verdict.evidence
        evidence += [f"{WAYS[way][0]} {how}", *more, *_about_attempts(other, around.earlier)]
        if other.family is Family.WORKS:
            is_reached = (
                other.verdict.outcome is not ObjectOutcome.EXPLAINED
            )  # which is no less than that elsewhere
            outcome = (
                ObjectOutcome.WORKS_ELSEWHERE
                if way in _ELSEWHERE and is_reached
                else other.verdict.outcome
            )
            access_found = replace(other, verdict=replace(other.verdict, outcome=outcome))
            return _with_evidence(access_found, evidence)
        is_led = way not in _ELSEWHERE and other.answer.is_redirected and other.answer.is_success
        if is_led and other.verdict.outcome is ObjectOutcome.UNDETERMINED:
            unjudged = unjudged or other
    if unjudged is not None and first.family is Family.FAILS:
        first = unjudged  # the resolver knows the name in another spelling, and what it leads to can't be judged
    return _with_evidence(first, evidence)


def _is_settled(access: ObjectAccess) -> bool:
    """Return whether the way as written decides: it works, or what it gave would be no other elsewhere."""
    answer = access.answer
    is_doubtful = answer.is_unknown and (answer.is_left_to_scripts or answer.describes_itself)
    return access.family is Family.WORKS or (access.family is Family.NOT_JUDGED and not is_doubtful)


def _is_no_better(answer: AnswerFacts, answers: Mapping[Question, AnswerFacts]) -> bool:
    """Return whether an answer is a success that may say that the name is unknown, as the one before it did."""
    return answer.is_reached and answer is not reached(answers) and seems_absent(answer)


def _access(
    way: Question,
    answer: AnswerFacts,
    around: VerdictContext,
    answers: Mapping[Question, AnswerFacts],
) -> ObjectAccess:
    is_as_written = place_of(answer.seen.asked_url) == place_of(
        answers[Question.OBJECT].seen.asked_url
    )
    control = (
        around.control_as_written if is_as_written and around.control_as_written else around.control
    )
    neighbours = around.neighbours if way is Question.OBJECT else 0
    facts = facts_at_landing(
        facts_beside(answer, answers, control, neighbours), around.control_landing
    )
    verdict = judge_object(facts)
    rendered = answers.get(Question.RENDERED)
    if (
        rendered is not None
        and rendered.seen.asked_url == answer.seen.asked_url
        and is_app_shell(facts)
    ):
        verdict = by_what_is_shown(verdict, RenderedFacts(facts, rendered, around.control_rendered))
    if (
        around.closed is not None
        and verdict.outcome is ObjectOutcome.BLOCKED
        and answer.asks_for_a_right
    ):
        verdict = as_expected(ClosedFacts(verdict, around.closed, control))
    return ObjectAccess(way, answer, verdict)


def facts_beside(
    answer: AnswerFacts,
    answers: Mapping[Question, AnswerFacts],
    control: AnswerFacts | None,
    neighbours: int = 0,
) -> ObjectFacts:
    """The facts of an answer for the object next to the *control*'s, and next to further *answers* at its place."""
    inflected = (answers[question] for question in INFLECTED if question in answers)
    again = [
        other
        for other in inflected
        if other.seen.asked_url.partition("?")[0] == answer.seen.asked_url
    ]
    return ObjectFacts(answer, control, neighbours, again)


def facts_at_landing(facts: ObjectFacts, landing: AnswerFacts | None) -> ObjectFacts:
    """The same facts next to the *landing* host's reply for what can't exist, where the resolver's says nothing of it.

    A page that names this ARK for another address as well, or describes an object there, is known by another part of
    that address. A page that says in more than its title that nothing is there is not made better by what others get.
    """
    answer = facts.answer
    if landing is None or facts.reply not in (
        ControlContrast.REFUSED_BEFORE,
        ControlContrast.NOTHING,
    ):
        return facts
    if not answer.is_redirected or landing_pattern(answer.seen.final_url) != landing_pattern(
        landing.seen.asked_url
    ):
        return facts
    with_landing = replace(facts, control=landing)
    if with_landing.reply is ControlContrast.REFUSED_THERE:
        is_title_alone = answer.words.is_titled_absent and not answer.words.is_absence_repeated
        return (
            facts if facts.weight_of_signs is Signs.SEVERAL and not is_title_alone else with_landing
        )
    is_its_own = answer.is_record or answer.tells_of_object or bool(landing.places_of(answer.ark))
    is_alike = with_landing.reply is not ControlContrast.ANOTHER
    if with_landing.reply is ControlContrast.NOTHING or (
        is_alike and not facts.signs and is_its_own
    ):
        return facts
    return with_landing


def _with_evidence(access: ObjectAccess, evidence: Sequence[str]) -> ObjectAccess:
    return replace(access, verdict=replace(access.verdict, evidence=tuple(evidence)))


def _about_attempts(access: ObjectAccess, earlier: Iterable[Observation]) -> Iterator[str]:
    """Return how often a question was put, and what the earlier attempts gave; nothing where one attempt was enough."""
    answer = access.answer.seen
    before = [
        attempt
        for attempt in earlier
        if attempt.question is answer.question and attempt.attempt < answer.attempt
    ]
    if answer.attempt > 1:
        gave = [
            str(attempt.status) if attempt.end is ChainEnd.ANSWERED else attempt.end.value
            for attempt in before
        ]
        earlier_words = f"; before: {', '.join(gave)}" if gave else ""
        yield f"asked {answer.attempt} times{_span([*before, answer])}{earlier_words}"
    elif access.way is Question.OBJECT and access.family in (Family.FAILS, Family.UNREACHABLE):
        yield "asked once"


def _span(attempts: Sequence[Observation]) -> str:
    """The time from the first answer to the last, in words; nothing where that isn't known."""
    moments = sorted(hop.at for attempt in attempts for hop in attempt.hops if hop.at)
    if len(moments) < 2:
        return ""
    seconds = (
        datetime.fromisoformat(moments[-1]) - datetime.fromisoformat(moments[0])
    ).total_seconds()
    return f" over {seconds:.0f} s" if seconds >= 1 else " within a second"


# -- metadata


@dataclass(frozen=True, slots=True)
class Description:
    """The outcomes of an object's answers to inflections, as far as it was asked: what to ask next rests on them."""

    by: Question | None = None
    """The inflection that was answered with a description."""
    states_commitment: bool = False
    policy_url: str | None = None
    """Where the commitment is stated in full."""


def described_by(answers: Mapping[Question, AnswerFacts]) -> Description:
    """Return which inflection has described the object, and whether a commitment was stated with it."""
    living = reached(answers)
    verdicts = _verdicts_on_metadata(answers, living, None) if living is not None else {}
    if not verdicts:
        return Description()
    metadata, describing = _best(verdicts)
    commitment = judge_commitment(CommitmentFacts(answers, metadata, describing))
    is_stated = commitment.outcome is CommitmentOutcome.STATED
    by = describing[0] if describing else None
    return Description(by, is_stated, policy_link(commitment.parsed) if is_stated else None)


def _judge_metadata(
    answers: Mapping[Question, AnswerFacts], access: ObjectAccess, around: VerdictContext
) -> tuple[ServiceVerdict[MetadataOutcome], tuple[Question, ...]]:
    """The best of what the inflections gave, in the order in which they were asked, and which of them describe."""
    verdicts = _verdicts_on_metadata(answers, access.answer, around.control_info)
    if not verdicts:
        return UNASKED_RULES.judge(access), ()
    first, describing = _best(verdicts)
    others = tuple(
        words for verdict in verdicts.values() if verdict is not first for words in verdict.evidence
    )
    return replace(first, evidence=first.evidence + others), describing


def _verdicts_on_metadata(
    answers: Mapping[Question, AnswerFacts], living: AnswerFacts, control: AnswerFacts | None
) -> dict[Question, ServiceVerdict[MetadataOutcome]]:
    """The verdict on each inflection that was asked, held against the object's answer at its own URL."""
    verdicts = {}
    for question in INFLECTED:
        if question in answers:
            base = answers[question].seen.asked_url.partition("?")[0]
            at_base = (
                answers[way]
                for way in ACCESS
                if way in answers and answers[way].seen.asked_url == base
            )
            verdicts[question] = judge_metadata(
                MetadataFacts(answers[question], next(at_base, living), control)
            )
    return verdicts


def _best(
    verdicts: Mapping[Question, ServiceVerdict[MetadataOutcome]],
) -> tuple[ServiceVerdict[MetadataOutcome], tuple[Question, ...]]:
    """The first verdict that finds a description, or else the first, and the inflections that describe."""
    describing = tuple(
        question for question, verdict in verdicts.items() if verdict.outcome in DESCRIBED
    )
    return verdicts[describing[0]] if describing else next(iter(verdicts.values())), describing


def _policy_page(
    commitment: ServiceVerdict[CommitmentOutcome], around: VerdictContext
) -> AnswerFacts | None:
    """Return what came of asking for the page where a stated commitment is said to be in full."""
    link = (
        policy_link(commitment.parsed) if commitment.outcome == CommitmentOutcome.STATED else None
    )
    return around.policies.get(link) if link else None


def _with_policy_page(
    commitment: ServiceVerdict[CommitmentOutcome], page: AnswerFacts | None
) -> ServiceVerdict[CommitmentOutcome]:
    if page is None:
        return commitment
    return replace(commitment, evidence=(*commitment.evidence, about_policy(page)))


def _naan_policy(registered: RegistryEntry | None) -> Mapping[str, Any]:
    """Return what a registry says of an assigner's policy, under the registry's own names; nothing where it says
    nothing.
    """
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


def _remarks(
    answers: Mapping[Question, AnswerFacts],
    access: ObjectAccess,
    describing: Sequence[Question],
    around: VerdictContext,
) -> Iterator[str]:
    asked, answer = answers[Question.OBJECT].seen, access.answer.seen
    yield from asked.remarks
    if access.way in WAYS:
        yield WAYS[access.way][1]
    yield from chain_remarks(answer)
    yield from another_remarks(access.answer)
    yield from plain_remarks(answer.hops, around.tls)
    yield from tls_remarks(asked.hops, around.tls)
    if access.way is not Question.OBJECT:
        yield from tls_remarks(answer.hops, around.tls)
    for question in describing[:1]:
        yield from metadata_remarks(answers[question].seen, answer)
    is_explained = access.verdict.outcome is ObjectOutcome.EXPLAINED and access.answer.is_success
    if is_explained and ObjectFacts(access.answer).regional is None:
        yield f"withdrawn without 410: the page that says so is answered {answer.status}"
    if access.family is not Family.WORKS and answer.ark.naan in EXPECTED_TO_RESOLVE:
        yield "this NAAN is for terms and agents that are expected to resolve: that it doesn't is unusual"
