"""Ask about one ARK at one URL, from its object to its page in a browser, in a generator of questions. No I/O.

`OpenTarget.ask` is the whole course, from top to bottom.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field

from crawler.answers.facts import AnswerFacts
from crawler.answers.object_facts import ControlContrast, ObjectFacts, reached_answer, seems_absent
from crawler.answers.probes import Neighbourhood, landing_control, landing_pattern
from crawler.asking.questions import AskingContext, FallbackUrls, Request, next_question, resolver_path
from crawler.asking.shared import Fact, SharedFacts, may_be_requested
from crawler.model.observations import ACCESS, ObjectOutcome, Observation, Question
from crawler.model.resolving import INFLECTED, INFLECTIONS
from crawler.verdicts.access import OBJECT_RULES, is_app_shell
from crawler.verdicts.readings import CandidateReading, Form, next_reading
from crawler.verdicts.verdict import Description, description_of, facts_beside
from extractors.model.ark import Ark
from extractors.model.urls import origin_of

#: Questions whose answers show the form of the label that a resolver accepts.
_QUESTIONS_WITH_LABEL = frozenset({Question.OBJECT, Question.OTHER_LABEL, Question.PLAIN})


@dataclass(frozen=True, slots=True)
class QuestionToSend:
    """A question to send to a host, with its URL and the answer to the attempt before."""

    ark: Ark
    request_url: str
    """The URL of the object question of the ARK."""
    question: Question
    url: str
    """The URL to request, as recorded in the store."""
    after: Observation | None = None
    """The answer to the attempt before, which counts if this one is not sent."""
    wait_s: float = 0.0
    """Seconds to wait after the attempt before."""

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return 1 if self.after is None else self.after.attempt + 1

    @property
    def key(self) -> tuple[str, Question, int]:
        """The request URL, question and attempt, which an answer shares with its question."""
        return self.request_url, self.question, self.attempt


Steps = Generator[QuestionToSend | Fact | CandidateReading, AnswerFacts, None]
"""A generator of the questions about a target, which is sent the answer to each question that it yields.

If it yields a fact, it continues when the fact has a value. If it yields a reading, it continues when the object of the
reading was requested.
"""


@dataclass(slots=True, eq=False)
class OpenTarget:
    """One ARK at one URL, with its answers. The questions follow from these and the shared facts alone."""

    ark: Ark
    request_url: str
    first_url: str
    """The first URL to request: the request URL, or the registry's target."""
    fallbacks: FallbackUrls
    shared: SharedFacts
    find_target: Callable[[CandidateReading], OpenTarget | None]
    """Returns the target that was opened for a reading, or None."""
    readings: tuple[CandidateReading, ...] = ()
    """The readings of its mention, the target first; empty for a target that only another mention may mean."""
    suggested: tuple[CandidateReading, ...] = ()
    """The corrections of the ARK if its check character is wrong."""
    is_guess: bool = False
    """True if this ARK is only a suggested correction of another target: then only its object is requested."""
    answers: dict[Question, AnswerFacts] = field(default_factory=dict)
    steps: Steps | None = None
    """The generator of the present questions; None before the first, and after it has ended."""
    is_settled: bool = False
    """True if the requests for the object, and their controls, have answers."""
    _questions_sent: set[Question] = field(default_factory=set)
    _described: Description | None = None

    # -- the course

    def ask(self) -> Steps:
        """Ask about the object, other readings of its mention, other ways to the object, metadata, policy and rendered page.

        The spelling without hyphens is requested before other readings. A new course continues from the answers so far.
        """
        if Question.OBJECT not in self.answers:
            yield from self._ask(Question.OBJECT, self.first_url)
        while True:
            self.is_settled = True
            self.shared.changed_facts.append((Question.OBJECT, self.request_url))
            next_request = self._next_request()
            prerequisite = self._prerequisite(next_request)
            if prerequisite is not None:
                yield prerequisite
                continue
            if next_request is None or self.is_guess or (not self.readings and self.reached is None):
                break
            question, url = next_request
            if question is Question.WELL_KNOWN:
                yield from self._ask_once(*self._path_fact, url)
                yield from self._wait_for(self._path_fact)
            elif question is Question.DOUBLE and self.description.inflection is not None:
                yield from self._ask_for_commitment(url)
            else:
                yield from self._ask(question, url)
        yield from self._ask_for_policy()
        yield from self._render()

    def _next_request(self) -> Request | None:
        """Return the next question about this ARK with its URL, or None."""
        shared, description = self.shared, self.description
        context = AskingContext(
            is_described=description.inflection is not None,
            is_commitment_stated=description.states_commitment,
            allows_legacy=shared.rules.legacy,
            adds_no_commitment=shared.facts.get((Question.DOUBLE, self.neighbourhood)) is False,
            own_path=shared.facts.get(self._path_fact),
            has_asked_path=self._path_fact in shared.facts,
            is_soft_404=self._is_error_page,
            control=self.control,
            accepts_label_form=shared.label_forms.is_settled(self.first_url, self.answers[Question.OBJECT]),
        )
        return next_question(self.answers, context, self.fallbacks, first_url=self.first_url)

    def _prerequisite(self, next_request: Request | None) -> Fact | CandidateReading | None:
        """Return what must come before *next_request*: a reading to request, or an object question to wait for; or None."""
        candidates = (*self.readings, *self.suggested)
        is_spelling = next_request is not None and next_request[0] is Question.HYPHENS
        if len(candidates) < 2 or is_spelling or not self.answers.keys().isdisjoint(INFLECTED):
            return None
        targets = list(map(self.find_target, candidates))
        forms = [
            Form(reading) if target is None else target.form(reading)
            for reading, target in zip(candidates, targets, strict=True)
        ]
        pending = [target.request_url for target in targets if target is not None and not target.is_settled]
        own_count = len(self.readings)
        reading, is_awaited = next_reading(forms[:own_count], forms[own_count:], pending)
        return (Question.OBJECT, pending[0]) if is_awaited else reading

    def _ask_for_commitment(self, url: str) -> Steps:
        """Ask ``??`` after a record without a commitment, unless it stated none for another ARK of the neighbourhood."""
        fact = (Question.DOUBLE, self.neighbourhood)
        yield from self._wait_for(fact)
        if self.shared.facts.get(fact) is not False:
            with self.shared.promise(fact):
                yield from self._ask(Question.DOUBLE, url)
                self.shared.facts.setdefault(fact, self.description.states_commitment)

    # -- what its answers show

    @property
    def reached(self) -> AnswerFacts | None:
        """The answer that reached the object, or None."""
        return reached_answer(self.answers)

    @property
    def description(self) -> Description:
        """The inflection that describes the object, and the commitment, by the answers so far."""
        if self._described is None:
            self._described = description_of(self.answers)
        return self._described

    @property
    def neighbourhood(self) -> Neighbourhood:
        """The neighbourhood of the answer that reached the object, or else of the first URL."""
        reached = self.reached
        return self.shared.shoulders.neighbourhood(reached.asked_url if reached else self.first_url, self.ark)

    @property
    def control(self) -> AnswerFacts | None:
        """The answer for a name that can't exist in this neighbourhood, or None before it came."""
        control: AnswerFacts | None = self.shared.facts.get((Question.CONTROL, self.neighbourhood))
        return control

    @property
    def _path_fact(self) -> Fact:
        return Question.WELL_KNOWN, origin_of(self.first_url)

    def form(self, reading: CandidateReading) -> Form:
        """Return *reading*, which this target was opened for, with its answer and control."""
        return Form(reading, self.reached or self.answers.get(Question.OBJECT), self.control)

    @property
    def _is_error_page(self) -> bool:
        """True if the page of the object may report absence, and is also sent for a name that can't exist."""
        reached, control = self.reached, self.control
        if reached is None or control is None or not control.is_success or not seems_absent(reached):
            return False
        verdict = OBJECT_RULES.judge(facts_beside(reached, self.answers, control))
        return verdict.outcome is ObjectOutcome.SOFT_404

    # -- one question

    def _question(self, question: Question, url: str) -> QuestionToSend:
        if question is Question.CONTROL and question in self._questions_sent:
            question = Question.CONTROL_ELSEWHERE
        self._questions_sent.add(question)
        return QuestionToSend(self.ark, self.request_url, question, url)

    def _ask(self, question: Question, url: str) -> Steps:
        """Ask *question* at *url*, keep the answer, and ask for the controls that it needs."""
        self.is_settled = question not in ACCESS
        if question is Question.OTHER_LABEL:
            self.shared.label_forms.note_attempt(self.first_url, self.answers[Question.OBJECT])
        answer = self.answers[question] = yield self._question(question, url)
        self._described = None
        if question in _QUESTIONS_WITH_LABEL:
            self.shared.label_forms.on_answer(answer)
        if question in ACCESS:
            yield from self._ask_controls(answer)
        elif self.description.inflection is question and self.control is not None:
            url = self.control.asked_url + INFLECTIONS[question]
            yield from self._ask_once(Question.CONTROL_INFO, self.neighbourhood, url)

    def _ask_once(self, question: Question, subject: Hashable, url: str | None) -> Steps:
        """Ask *question* about a *subject* that targets share, and note the answer for them.

        Ask nothing if *url* is None, or if a target has asked before.
        """
        fact = (question, subject)
        if url is not None and not self.shared.is_asked(fact):
            with self.shared.promise(fact):
                answer = yield self._question(question, url)
                if question is Question.CONTROL:
                    self.shared.facts[fact] = answer
                elif question is Question.WELL_KNOWN:
                    self.shared.facts[fact] = resolver_path(answer)

    def _wait_for(self, fact: Fact) -> Steps:
        """Yield *fact* if another target has asked for it and the answer has not come."""
        if self.shared.is_awaited(fact):
            yield fact

    # -- names that can't exist

    def _ask_controls(self, answer: AnswerFacts) -> Steps:
        """Ask for names that can't exist: at the resolver of an *answer* for the object, and at its landing host."""
        object_answer, fact = self.reached, (Question.CONTROL, self.neighbourhood)
        decisive_answer = object_answer or self._refusal
        if decisive_answer is not None:
            if not self.shared.is_asked(fact):
                yield from self._ask_once(*fact, self._control_url(decisive_answer))
            yield from self._wait_for(fact)
        if self.is_guess:
            return
        if answer.is_redirected and (answer.is_success or answer.may_be_explained):
            yield from self._ask_landing_control(answer)
        control = self.control
        if control is None or object_answer is None:
            return
        is_first = answer.question is Question.OBJECT and answer.is_success
        if is_first and self.shared.is_control_due_again(answer, control):
            yield self._question(Question.CONTROL_AGAIN, control.asked_url)
        fact = (Question.CONTROL_OTHER, self.neighbourhood)
        if not self.shared.is_asked(fact) and self._reply_to(control) is ControlContrast.ANOTHER:
            yield from self._ask_once(*fact, self._control_url(object_answer, is_second=True))

    def _control_url(self, answer: AnswerFacts, *, is_second: bool = False) -> str | None:
        return self.shared.control_url(self.ark, self.neighbourhood, answer.asked_url, is_second=is_second)

    @property
    def _refusal(self) -> AnswerFacts | None:
        """The error answer that may explain a withdrawal, or None. A control shows if other names get it too."""
        answer = self.answers[Question.OBJECT]
        is_gone = answer.is_answered and answer.status == 404 and ObjectFacts(answer).claimed_withdrawal is not None
        return answer if is_gone or answer.may_be_explained else None

    def _reply_to(self, control: AnswerFacts) -> ControlContrast:
        """Return how the object's answer differs from the answer to *control*; `NOTHING` if that can't be known.

        This is so without an object, without text, or after a second control.
        """
        reached = self.reached
        is_asked = not self._questions_sent.isdisjoint((Question.CONTROL_OTHER, Question.CONTROL_EVERY_PART))
        if reached is None or control.text is None or is_asked:
            return ControlContrast.NOTHING
        return ObjectFacts(reached, control).control_contrast

    def _ask_landing_control(self, answer: AnswerFacts) -> Steps:
        """Ask for a name that can't exist at the landing host of an *answer*, and for a second if the first may mislead.

        Hosts that make up pages send another page for each name. If the host sends the same page, every part of the
        address is changed, because it may ignore the part that the first control changed.
        """
        landing_url = answer.final_url
        control_url = (
            None if Question.CONTROL_LANDING in self._questions_sent else self.shared.claim_landing_control(answer)
        )
        if control_url is None:
            return
        control = yield self._question(Question.CONTROL_LANDING, control_url)
        reply = self._reply_to(control)
        pattern, every_part_pattern = landing_pattern(landing_url), landing_pattern(landing_url, every=True)
        if reply is ControlContrast.ANOTHER:
            yield from self._ask_once(Question.CONTROL_OTHER, pattern, landing_control(landing_url, is_second=True))
        elif reply is ControlContrast.THE_SAME and every_part_pattern != pattern:
            yield from self._ask_once(
                Question.CONTROL_EVERY_PART, every_part_pattern, landing_control(landing_url, every=True)
            )

    # -- at last, the policy and the browser

    def _ask_for_policy(self) -> Steps:
        policy_url = self.description.policy_url
        if policy_url is not None and may_be_requested(policy_url):
            yield from self._ask_once(Question.POLICY_LINK, policy_url, policy_url)

    def _render(self) -> Steps:
        """Send the page of an app shell to a browser, and, once per neighbourhood, that of the control.

        All other questions come before, because further answers show more of the page.
        """
        reached, control = self.reached, self.control
        if (
            not self.shared.rules.rendering
            or self.is_guess
            or not self.readings
            or Question.RENDERED in self._questions_sent
        ):
            return
        if reached is None or control is None or not is_app_shell(facts_beside(reached, self.answers, control)):
            return
        yield self._question(Question.RENDERED, reached.asked_url)
        yield from self._ask_once(Question.CONTROL_RENDERED, self.neighbourhood, control.asked_url)
