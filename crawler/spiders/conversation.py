"""The conversation with resolvers about the ARKs of a run: an answer comes in, and the next questions go out.

The questions depend only on the answers and their order, so the same answers lead to the same questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import same_answer
from crawler.answers.object_facts import ControlContrast, ObjectFacts
from crawler.asking.probes import (
    Neighbourhood,
    Shoulders,
    control_url,
    landing_control,
    landing_pattern,
    resolver_or_host,
)
from crawler.asking.questions import (
    AskingContext,
    FallbackUrls,
    LabelForms,
    next_question,
    next_resolver,
    question_url,
    reached_answer,
    resolver_path,
    seems_absent,
)
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import ACCESS, ObjectOutcome, Observation, Question
from crawler.model.resolving import (
    INFLECTED,
    INFLECTIONS,
    Patience,
    attempt_wait_s,
    names_skipped_ark,
    path_of_resolver,
    sendable,
    url_fault,
)
from crawler.verdicts.access import OBJECT_RULES, is_app_shell
from crawler.verdicts.answer_sets import SHARED
from crawler.verdicts.readings import CandidateReading, Form, evidence_of_targets, meant_by, next_reading, readings_of
from crawler.verdicts.verdict import Description, described_by, facts_beside
from extractors.model.ark import Ark
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL
from extractors.model.urls import authority_of, origin_of

Target = tuple[Ark, str]

#: Maximum length of the address of a policy, in characters.
LONGEST_POLICY = 2000
#: Maximum number of address patterns with a control at one landing host; sites with more have irregular addresses.
PATTERNS_A_HOST = 3
#: Questions whose answers show the form of the label that a resolver accepts.
_IN_SOME_FORM = frozenset({Question.OBJECT, Question.OTHER_LABEL, Question.PLAIN})


@dataclass(frozen=True, slots=True)
class QuestionToSend:
    """A question to send, with the URL, the attempt and the wait."""

    ark: Ark
    request_url: str
    """The URL of the object question that it belongs to."""
    question: Question
    url: str
    """The URL to request, as it is recorded."""
    after: Observation | None = None
    """The answer to the attempt before, which counts if this one is not sent."""
    wait_s: float = 0.0
    """Seconds to wait after that answer."""

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return 1 if self.after is None else self.after.attempt + 1

    @property
    def key(self) -> tuple[str, Question, int]:
        """The request URL, question and attempt, which an answer shares with its question."""
        return self.request_url, self.question, self.attempt


@dataclass(frozen=True, slots=True)
class FinishedTarget:
    """A target without further questions."""

    request_url: str


@dataclass(frozen=True, slots=True)
class AskingRules:
    """The rules for the questions that are asked, and for their recipients."""

    registry: Registry = field(default_factory=Registry.builtin)
    resolver: str = GLOBAL_RESOLVER
    """The global resolver."""
    direct: bool = False
    """True if compact ARKs are requested at the registry's targets."""
    legacy: bool = True
    """True if ``??`` and ``?`` may be sent."""
    rendering: bool = False
    """True if a browser renders pages that need scripts."""
    patience: Patience = field(default_factory=Patience)


def _raise_bug(bug: Exception) -> NoReturn:
    raise bug


def is_worth_asking(policy: str) -> bool:
    """Return True if the address of a policy may be requested. Anyone may have written it into a record."""
    return len(policy) <= LONGEST_POLICY and url_fault(sendable(policy)) is None and not names_skipped_ark(policy)


@dataclass(slots=True)
class Case:
    """One ARK at one URL, with its current answers."""

    ark: Ark
    request_url: str
    first_url: str
    """The first URL to request: the request URL, or the registry's target."""
    fallbacks: FallbackUrls
    readings: tuple[CandidateReading, ...] = ()
    """The readings of its mention, itself first; empty if it is only a reading of another mention."""
    suggested: tuple[CandidateReading, ...] = ()
    """The ARKs that may be meant if its check character is wrong."""
    is_guess: bool = False
    """True if it is only such a suggested ARK of another case: then only its object is requested."""
    answers: dict[Question, AnswerFacts] = field(default_factory=dict)
    opened: set[Question] = field(default_factory=set)
    """The questions that were sent because of it, controls included."""
    pending: int = 0
    """The number of its unanswered questions, and of answers about other ARKs that it waits for."""
    _described: Description | None = None

    def add(self, question: Question, answer: AnswerFacts) -> None:
        """Keep the answer to a question."""
        self.answers[question] = answer
        self._described = None

    @property
    def description(self) -> Description:
        """The outcomes of the inflections so far: the one that describes the object, and the commitment."""
        if self._described is None:
            self._described = described_by(self.answers)
        return self._described

    @property
    def answer(self) -> AnswerFacts | None:
        """The answer that reached the object, or else the first one; None while that is open."""
        return reached_answer(self.answers) or self.answers.get(Question.OBJECT)

    def waits_for(self, url: str) -> bool:
        """Return True if the answer at *url* is about another reading of this case."""
        return url != self.request_url and any(reading.url == url for reading in (*self.readings, *self.suggested))


Outgoing = QuestionToSend | FinishedTarget


class Conversation:
    """The state of the conversation about all targets of a run: call `begin` for each, and `on_answer` for each answer."""

    def __init__(
        self,
        targets: Callable[[], Iterable[Target]],
        rules: AskingRules,
        readings: Mapping[str, Sequence[CandidateReading]] | None = None,
        *,
        recall: Callable[[str], Iterable[Observation]] = lambda url: (),
        on_bug: Callable[[Exception], None] = _raise_bug,
    ) -> None:
        """Learn the shoulders, and the evidence for mistyped names, from all *targets*; *readings* are theirs, by URL.

        *recall* returns the answers at the URL of a finished target, because they are not kept here. *on_bug* gets an
        exception in the questions about a target that waited for another one; only its own questions are lost.
        """
        self._rules = rules
        self._recall = recall
        self._on_bug = on_bug
        self._readings = readings or {}
        self._evidence = evidence_of_targets(targets(), self._readings)
        self._shoulders = Shoulders.among((ark for ark, _ in targets()), rules.registry)
        self._cases: dict[str, Case] = {}
        """The unfinished cases by request URL, and those opened as other readings of a mention."""
        self._finished: set[int] = set()
        """Hashes of the URLs of finished cases."""
        self._waiting: dict[str, Case] = {}
        """Cases by request URL, whose next question depends on the answer about another reading."""
        self._waiting_for: dict[Hashable, list[Case]] = {}
        """Cases by the shared answer that they wait for: an origin for the path of its resolver, or a neighbourhood for
        its control.
        """
        self._controls: dict[Neighbourhood, AnswerFacts] = {}
        self._paths: dict[str, str | None] = {}
        """The resolver path that each host states, or None."""
        self.begun: list[Outgoing] = []
        """The questions opened since the last answer came."""
        self._ark_by_end: dict[int, Ark] = {}
        """The first ARK that each resolver redirected to a URL, by a hash of both."""
        self._last_successes: dict[str, AnswerFacts] = {}
        """The last success of each resolver."""
        self._shared = Counter[int]()
        """The number of objects that got the answer of another object, by a hash of its address and title."""
        self._landing_patterns: defaultdict[str, set[str]] = defaultdict(set)
        """The address patterns of redirect targets with a control, by host."""
        self._label_forms = LabelForms()
        self._asked: set[tuple[Question, Hashable]] = set()
        """The questions that are sent once, with the neighbourhood, address pattern or policy that they are about."""
        self._doubles_add_commitment: dict[Neighbourhood, bool | None] = {}
        """True if ``??`` states a commitment that the record at ``?info`` lacks; None until a first answer."""
        self._first_arks: dict[Neighbourhood, Ark] = {}
        """The first target in each neighbourhood; the name of its control has the same shape."""
        for ark, url in targets():
            self._first_arks.setdefault(self._shoulders.neighbourhood(url, ark), ark)

    # -- input

    def begin(self, ark: Ark, url: str) -> list[Outgoing]:
        """Return the first question about a target, or the next questions if another target opened it as a reading."""
        if hash(url) in self._finished:
            return [FinishedTarget(url)]
        readings = readings_of(ark, url, self._readings.get(url, ()))
        case = self._cases.get(url)
        if case is None:
            return [self._open_case(ark, url, readings)]
        if case.readings:
            return []  # a replay has begun it
        case.readings, case.is_guess = readings, False
        case.suggested = meant_by(readings[0], self._evidence)
        following = self._proceed(case) if Question.OBJECT in case.answers else ()
        return [*following, *self._finish(case)]

    def on_answer(self, observation: Observation, *, is_last: bool = False) -> list[Outgoing]:
        """Return the questions after an answer: the same again, unless it *is last*, or the next ones."""
        case = self._cases[observation.request_url]
        self.begun = []
        case.pending -= 1
        return [*self._next_questions(case, observation, is_last=is_last), *self._finish(case)]

    def on_unread(self, observation: Observation) -> list[Outgoing]:
        """Return the next questions if `on_answer` was interrupted, including those that it had already begun."""
        begun = self.begun
        self._cases[observation.request_url].pending += 1
        return [*begun, *self.on_answer(observation, is_last=True)]

    def _next_questions(self, case: Case, observation: Observation, *, is_last: bool) -> Iterator[Outgoing]:
        """Add an answer to its case and to the shared facts, and yield what follows for all cases that it concerns."""
        question = observation.question
        wait_s = None if is_last else attempt_wait_s(observation, self._rules.patience)
        if wait_s is not None:
            yield self._open_question(case, question, observation.asked_url, after=observation, wait_s=wait_s)
            return
        if question in (Question.CONTROL, Question.CONTROL_ELSEWHERE):
            self._controls[self._neighbourhood(case)] = AnswerFacts.from_observation(observation)
            yield from self._resume_all(list(self._waiting.values()))
            yield from self._resume_waiting(self._neighbourhood(case))
            for sharing in self._waiting_for.pop((self._neighbourhood(case), Question.CONTROL_AGAIN), []):
                sharing.pending -= 1
                yield from self._control_again(sharing)
                yield from self._finish(sharing)
        if question in (Question.CONTROL, Question.CONTROL_ELSEWHERE, Question.CONTROL_LANDING):
            yield from self._second_control(case, AnswerFacts.from_observation(observation))
        if question is Question.WELL_KNOWN:
            origin = origin_of(observation.asked_url)
            self._paths[origin] = resolver_path(observation)
            yield from self._resume_waiting(origin)
            return
        if question in SHARED:
            return
        case.add(question, AnswerFacts.from_observation(observation))
        neighbourhood = self._neighbourhood(case)
        if question is Question.DOUBLE and self._doubles_add_commitment.get(neighbourhood, False) is None:
            self._doubles_add_commitment[neighbourhood] = case.description.states_commitment
            yield from self._resume_waiting((neighbourhood, Question.DOUBLE))
        if question in _IN_SOME_FORM:
            self._label_forms.on_answer(case.answers[question])
        yield from self._resolver_questions(case, question)
        yield from self._landing_control(case, question)
        yield from self._wall_control(case, question)
        if question in ACCESS and (control := self._controls.get(neighbourhood)) is not None:
            yield from self._second_control(case, control)
        yield from self._proceed(case)
        yield from self._resume_all([case_ for case_ in self._waiting.values() if case_.waits_for(case.request_url)])

    # -- output

    def _open_case(
        self, ark: Ark, url: str, readings: tuple[CandidateReading, ...] = (), *, is_guess: bool = False
    ) -> QuestionToSend:
        case = self._cases[url] = self._new_case(ark, url)
        case.readings, case.is_guess = readings, is_guess
        if readings:
            case.suggested = meant_by(readings[0], self._evidence)
        return self._open_question(case, Question.OBJECT, case.first_url)

    def _new_case(self, ark: Ark, url: str) -> Case:
        fallbacks = FallbackUrls.for_ark(ark, url, registry=self._rules.registry, global_resolver=self._rules.resolver)
        first_url = url
        if self._rules.direct and fallbacks.at_registry and not fallbacks.at_global:
            first_url, fallbacks = fallbacks.at_registry, FallbackUrls(at_global=url, is_target=True)
        return Case(ark, url, first_url, fallbacks)

    def _open_question(
        self, case: Case, question: Question, url: str, *, after: Observation | None = None, wait_s: float = 0.0
    ) -> QuestionToSend:
        case.pending += 1
        case.opened.add(question)
        opened = QuestionToSend(case.ark, case.request_url, question, url, after, wait_s)
        self.begun.append(opened)
        return opened

    def _finish(self, case: Case) -> Iterator[FinishedTarget]:
        """Drop a target without further questions, and yield that it is finished."""
        if case.readings and not case.pending and self._cases.get(case.request_url) is case:
            self._finished.add(hash(case.request_url))
            del self._cases[case.request_url]
            yield FinishedTarget(case.request_url)

    def _resume_all(self, waiting: Iterable[Case]) -> Iterator[Outgoing]:
        for case in waiting:
            if self._waiting.pop(case.request_url, None) is not None:
                yield from self._resume(case)

    def _resume_waiting(self, subject: Hashable) -> Iterator[Outgoing]:
        for case in self._waiting_for.pop(subject, []):
            yield from self._resume(case)

    def _resume(self, case: Case) -> Iterator[Outgoing]:
        """Yield the next questions about a case that has waited for the answer about another; report bugs in them."""
        case.pending -= 1
        try:
            yield from self._proceed(case)
        except Exception as bug:
            case.pending += 1  # it never ends
            self._on_bug(bug)
        yield from self._finish(case)

    def _proceed(self, case: Case) -> Iterator[Outgoing]:
        """Yield the next questions about a case; if it needs another answer first, let it wait, and yield none.

        Equal spellings come first, then other readings, other resolvers, metadata and rendering.
        """
        if self._awaits_control(case) and (self._may_be_error_page(case) or self._may_be_explained(case)):
            # Only the control can show whether to request the object elsewhere.
            self._wait_for(self._neighbourhood(case), case)
            return
        following = next_question(case.answers, self._context(case), case.fallbacks, first_url=case.first_url)
        if following is not Question.HYPHENS and case.answers.keys().isdisjoint(INFLECTED):
            reading, is_awaited = self._next_reading(case)
            if reading is not None or is_awaited:
                case.pending += case.request_url not in self._waiting
                self._waiting[case.request_url] = case
                if reading is not None:
                    yield self._open_case(reading.ark, reading.url, is_guess=reading in case.suggested)
                return
        if following is None or case.is_guess or (not case.readings and reached_answer(case.answers) is None):
            yield from self._render_questions(case)
            return
        if following in case.opened:  # already sent, when the case was opened as a reading
            return
        if following is Question.OTHER_LABEL:
            self._label_forms.note_attempt(case.first_url, case.answers.get(Question.OBJECT))
        if following is Question.WELL_KNOWN:
            is_asked = origin_of(case.first_url) in self._waiting_for
            self._wait_for(origin_of(case.first_url), case)
            if is_asked:
                return
        if following is Question.DOUBLE and case.description.by is not None:
            neighbourhood = self._neighbourhood(case)
            if self._doubles_add_commitment.get(neighbourhood, False) is None:
                self._wait_for((neighbourhood, Question.DOUBLE), case)
                return
            self._doubles_add_commitment.setdefault(neighbourhood)
        own_path = self._paths.get(origin_of(case.first_url))
        yield self._open_question(
            case, following, question_url(following, case.first_url, case.answers, case.fallbacks, own_path=own_path)
        )

    def _wait_for(self, subject: Hashable, case: Case) -> None:
        """Let a case wait for a shared answer: the control of a neighbourhood, or the path of an origin."""
        waiting = self._waiting_for.setdefault(subject, [])
        if not any(queued is case for queued in waiting):
            waiting.append(case)
            case.pending += 1

    def _may_be_error_page(self, case: Case) -> bool:
        """Return True if the resolver as written may have sent an error page, and another resolver can be requested."""
        reached = reached_answer(case.answers)
        return (
            reached is not None
            and not case.is_guess
            and reached is case.answers.get(Question.OBJECT)
            and next_resolver(case.answers, case.fallbacks) is not None
            and seems_absent(reached)
        )

    def _may_be_explained(self, case: Case) -> bool:
        """Return True if the answer is a 410 that the control may show to be an explanation."""
        answer = case.answers.get(Question.OBJECT)
        return answer is not None and answer.may_be_explained and reached_answer(case.answers) is None

    def _is_error_page(self, case: Case) -> bool:
        """Return True if the page of the object is also sent for a name that can't exist."""
        reached, control = reached_answer(case.answers), self._controls.get(self._neighbourhood(case))
        if reached is None or control is None:
            return False
        if not control.is_success or not self._may_be_error_page(case):
            return False
        verdict = OBJECT_RULES.judge(facts_beside(reached, case.answers, control))
        return verdict.outcome is ObjectOutcome.SOFT_404

    def _render_questions(self, case: Case) -> Iterator[QuestionToSend]:
        """Send the page of an app shell to a browser, and, once per neighbourhood, that of the control.

        All other questions come before, because further answers show more of the page.
        """
        reached = reached_answer(case.answers)
        if not self._rules.rendering or Question.RENDERED in case.opened:
            return
        if case.is_guess or not case.readings or reached is None:
            return
        neighbourhood = self._neighbourhood(case)
        control = self._controls.get(neighbourhood)
        if control is None:
            if (Question.CONTROL, neighbourhood) in self._asked and reached.facts.runs_scripts:
                self._wait_for(neighbourhood, case)
            return
        if not is_app_shell(facts_beside(reached, case.answers, control)):
            return
        yield self._open_question(case, Question.RENDERED, reached.asked_url)
        if self._claim(Question.CONTROL_RENDERED, neighbourhood):
            yield self._open_question(case, Question.CONTROL_RENDERED, control.asked_url)

    # -- other readings

    def _next_reading(self, case: Case) -> tuple[CandidateReading | None, bool]:
        """Return the reading of a case's mention to request next, or None, and whether to wait for one."""
        candidates = (*case.readings, *case.suggested)
        begun = {reading.url: begun for reading in candidates if (begun := self._case_at(reading)) is not None}
        if len(candidates) > 1 and any(map(self._awaits_control, begun.values())):
            return None, True
        forms, suggested = (
            [self._form(reading, begun.get(reading.url)) for reading in readings]
            for readings in (case.readings, case.suggested)
        )
        pending = {url for url, case in begun.items() if case.answer is None}
        return next_reading(forms, suggested, pending)

    def _form(self, reading: CandidateReading, case: Case | None) -> Form:
        if case is None:
            return Form(reading)
        return Form(reading, case.answer, self._controls.get(self._neighbourhood(case)))

    def _case_at(self, reading: CandidateReading) -> Case | None:
        """Return the case of a reading that was opened, with recalled answers if it was finished."""
        case = self._cases.get(reading.url)
        if case is None and hash(reading.url) in self._finished:
            case = self._new_case(reading.ark, reading.url)
            for observation in self._recall(reading.url):
                case.add(observation.question, AnswerFacts.from_observation(observation))
        return case

    def _awaits_control(self, case: Case) -> bool:
        """Return True if the control that shows the meaning of a case's answer is open."""
        neighbourhood = self._neighbourhood(case)
        is_asked = (Question.CONTROL, neighbourhood) in self._asked
        is_open = is_asked and neighbourhood not in self._controls
        return is_open and (reached_answer(case.answers) is not None or self._may_be_explained(case))

    # -- resolvers

    def _context(self, case: Case) -> AskingContext:
        origin = origin_of(case.first_url)
        return AskingContext(
            described=case.description.by is not None,
            stated=case.description.states_commitment,
            legacy=self._rules.legacy,
            says_no_more=self._doubles_add_commitment.get(self._neighbourhood(case)) is False,
            own_path=self._paths.get(origin),
            has_asked_path=origin in self._paths,
            is_soft=self._is_error_page(case),
            control=self._controls.get(self._neighbourhood(case)),
            takes_label=self._label_forms.is_settled(case.first_url, case.answers.get(Question.OBJECT)),
        )

    def _neighbourhood(self, case: Case) -> Neighbourhood:
        reached = reached_answer(case.answers)
        return self._shoulders.neighbourhood(reached.asked_url if reached else case.first_url, case.ark)

    def _resolver_questions(self, case: Case, question: Question) -> Iterator[Outgoing]:
        """Yield questions about the resolver: the control, its metadata, and the policy.

        The control is sent once per neighbourhood, and again with the inflection that returned a description.
        """
        reached, described = reached_answer(case.answers), case.description
        neighbourhood = self._neighbourhood(case)
        decisive = reached or self._refusal(case)
        if decisive is None:
            return
        wants_control = question in ACCESS and (Question.CONTROL, neighbourhood) not in self._asked
        is_described = question in INFLECTED and described.by is question
        wants_info = is_described and (Question.CONTROL_INFO, neighbourhood) not in self._asked
        policy = described.policy_url
        if policy is not None and ((Question.POLICY_LINK, policy) in self._asked or not is_worth_asking(policy)):
            policy = None
        # Most cases end here, before a name is invented.
        if not (wants_control or wants_info or policy):
            return
        control = self._control_url(case, decisive.asked_url)
        if control is None:
            return
        if wants_control:
            self._claim(Question.CONTROL, neighbourhood)
            is_second = question is not Question.OBJECT and case.answers[Question.OBJECT].is_reached
            yield self._open_question(case, Question.CONTROL_ELSEWHERE if is_second else Question.CONTROL, control)
        if wants_info:
            self._claim(Question.CONTROL_INFO, neighbourhood)
            yield self._open_question(case, Question.CONTROL_INFO, control + INFLECTIONS[question])
        if policy is not None:
            self._claim(Question.POLICY_LINK, policy)
            yield self._open_question(case, Question.POLICY_LINK, policy)

    def _landing_control(self, case: Case, question: Question) -> Iterator[QuestionToSend]:
        """Return the control at the landing host, once per address pattern; the resolver's control does not cover it."""
        answer = case.answers[question]
        is_left_out = question not in ACCESS or case.is_guess or Question.CONTROL_LANDING in case.opened
        if is_left_out or not answer.is_redirected or not (answer.is_success or answer.may_be_explained):
            return
        url = answer.final_url
        pattern, host, control = landing_pattern(url), authority_of(url), landing_control(url)
        patterns = self._landing_patterns[host]
        is_covered = path_of_resolver(url) == path_of_resolver(answer.asked_url)
        if pattern in patterns or (is_covered and host == authority_of(answer.asked_url)):
            return
        if len(patterns) >= PATTERNS_A_HOST or not is_worth_asking(control):
            return
        patterns.add(pattern)
        yield self._open_question(case, Question.CONTROL_LANDING, control)

    def _second_control(self, case: Case, control: AnswerFacts) -> Iterator[QuestionToSend]:
        """Return a second control, once per neighbourhood, if *control* got another page than an object.

        Hosts that make up pages send another page for each name. If a landing host sends the same page, every part of
        the address is changed, because it may ignore the part that the first control changed.
        """
        reached, is_landing = reached_answer(case.answers), control.question is Question.CONTROL_LANDING
        is_asked = not case.opened.isdisjoint((Question.CONTROL_OTHER, Question.CONTROL_EVERY_PART))
        if reached is None or case.is_guess or is_asked or control.text is None:
            return
        reply = ObjectFacts(reached, control).reply
        is_every = is_landing and reply is ControlContrast.THE_SAME
        if reply is not ControlContrast.ANOTHER and not is_every:
            return
        subject = landing_pattern(reached.final_url, every=is_every) if is_landing else self._neighbourhood(case)
        url = self._control_url(case, reached.asked_url, is_second=True)
        if is_landing:
            url = landing_control(reached.final_url, is_second=not is_every, every=is_every)
        if url is None or (is_every and subject == landing_pattern(reached.final_url)):
            return
        if self._claim(Question.CONTROL_OTHER, subject):
            yield self._open_question(case, Question.CONTROL_EVERY_PART if is_every else Question.CONTROL_OTHER, url)

    def _wall_control(self, case: Case, question: Question) -> Iterator[QuestionToSend]:
        """Return the control again if another object got the same answer: a log-in may now block all objects."""
        answer = case.answers[question]
        if question is not Question.OBJECT or case.is_guess or not answer.is_success:
            return
        resolver, ark, neighbourhood = resolver_or_host(answer.asked_url), case.ark.base, self._neighbourhood(case)
        before, self._last_successes[resolver] = self._last_successes.get(resolver), answer
        is_shared = answer.is_redirected and self._ark_by_end.setdefault(hash((resolver, answer.final_url)), ark) != ark
        if not is_shared and before is not None and before.title == answer.title:
            is_shared = before.ark.base != ark and same_answer(before, answer)
        if is_shared and (Question.CONTROL, neighbourhood) in self._asked and neighbourhood not in self._controls:
            self._wait_for((neighbourhood, Question.CONTROL_AGAIN), case)
        elif is_shared:
            yield from self._control_again(case)

    def _control_again(self, case: Case) -> Iterator[QuestionToSend]:
        """Return the control again, unless it got the answer of this object before.

        It is sent after the second object with an answer, the third, the fifth, the ninth, because some shared pages
        are right, such as those of collections.
        """
        answer, control = case.answers[Question.OBJECT], self._controls.get(self._neighbourhood(case))
        if control is not None and same_answer(control, answer):
            return
        page = answer.final_url.partition("?")[0] if answer.is_redirected else resolver_or_host(answer.asked_url)
        shared = hash((page, answer.title))
        self._shared[shared] += 1
        is_next = self._shared[shared].bit_count() == 1
        asked = self._control_url(case, answer.asked_url) if is_next else None
        if asked is not None:
            yield self._open_question(case, Question.CONTROL_AGAIN, asked)

    def _control_url(self, case: Case, asked_url: str, *, is_second: bool = False) -> str | None:
        """Return the control of an answer at *asked_url*, in the shape of the neighbourhood's first target."""
        is_labelled = LABEL.search(asked_url) is not None
        shaped_by = self._first_arks.get(self._neighbourhood(case), case.ark) if is_labelled else case.ark
        return control_url(asked_url, shaped_by, self._rules.registry, is_second=is_second)

    def _refusal(self, case: Case) -> AnswerFacts | None:
        """Return a refusal of an object that is withdrawn. A control shows if all names get it."""
        answer = case.answers[Question.OBJECT]
        is_gone = answer.is_answered and answer.status == 404 and ObjectFacts(answer).claim is not None
        return answer if is_gone or answer.may_be_explained else None

    def _claim(self, question: Question, subject: Hashable) -> bool:
        """Note that a question about a subject is sent; return False if it was sent before."""
        is_new = (question, subject) not in self._asked
        self._asked.add((question, subject))
        return is_new
