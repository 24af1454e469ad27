"""The expectations of a conformance test about answers, one function for each requirement. No I/O.

Each takes the answers about one ARK, and returns a `Finding`. The rules of verdicts decide about objects, metadata and
commitments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from arkaudit.features.conform.plan import NAMES_A_MINUTE, ORIGIN, QUERY
from arkaudit.features.conform.spellings import NOT_EQUAL, SpellingAnswer, SpellingTreatment, judge_form
from crawler.answers.claims import WITHIN_PAGES
from crawler.answers.erc import QUESTIONS
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.answers.likeness import same_answer
from crawler.answers.structured import kernel
from crawler.model.observations import (
    DESCRIBED,
    ChainEnd,
    CommitmentOutcome,
    Family,
    Hop,
    MetadataOutcome,
    ObjectOutcome,
    Question,
    Verdict,
)
from crawler.model.resolving import PASSING_STATUSES, REDIRECTS
from crawler.verdicts.verdict import VerdictContext, judge
from extractors.find import find_arks
from extractors.model.urls import split_url

#: The largest number of redirects to the object.
MOST_REDIRECTS = 5
#: Outcomes that leave open whether the object is described.
_UNDECIDED = frozenset({MetadataOutcome.BLOCKED, MetadataOutcome.UNDETERMINED, MetadataOutcome.NOT_ASKED})
#: Ends of redirects that lead nowhere.
_ENDLESS = (ChainEnd.LOOP, ChainEnd.TOO_MANY_REDIRECTS)
#: The longest time that a redirect may be cached.
LONGEST_KEPT = timedelta(days=1)
_MAX_AGE = re.compile(r"(?:s-maxage|max-age)\s*=\s*\"?(?P<seconds>\d{1,12})", re.IGNORECASE)
_KERNEL_LABEL = re.compile(rf"\b({'|'.join(QUESTIONS)})\s*:", re.IGNORECASE)
#: The beginning of an ERC: "erc:", "erc.who:", "erc" as a key.
_OPENING = re.compile(r"(?<![\w-])erc[\"']?\s*[.:]", re.IGNORECASE)
#: The beginning of another story of an ERC: "erc-support:".
_STORY = re.compile(r"\berc-\w+\s*:", re.IGNORECASE)
#: The year in a date: "2021-05-04", "on 4 May 2021", "in 2021".
_DATE = re.compile(r"\b(?:19|20)\d{2}\b")
_COPYRIGHT = re.compile(r"\N{COPYRIGHT SIGN}\D{0,60}[\d\N{EN DASH}-]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of an expectation for one ARK, with the reason; *is_met* is None if the answers allow no judgement."""

    is_met: bool | None
    reason: str


@dataclass(frozen=True)
class Answers:
    """The answers about one ARK under test, by question."""

    by_question: AnswersByQuestion

    def __getitem__(self, question: Question) -> AnswerFacts:
        return self.by_question[question]

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the ARK, as a check makes it from ?info."""
        return self.judged_by(Question.INFO)

    def judged_by(self, inflection: Question) -> Verdict:
        """Return the verdict from the answer to one *inflection*, if it was asked."""
        asked = [question for question in (Question.OBJECT, inflection) if question in self.by_question]
        context = VerdictContext(
            control=self.by_question.get(Question.CONTROL), control_info=self.by_question.get(Question.CONTROL_INFO)
        )
        return judge({question: self[question] for question in asked}, context=context)

    def judge_likeness(self, question: Question) -> Finding:
        """Judge whether the form of *question* is treated like the ARK itself."""
        plain, reply = self[Question.OBJECT], self[question]
        form = question if question in NOT_EQUAL else Question.EXTRA_HYPHEN
        judgement = judge_form(form, SpellingAnswer.from_observation(reply), SpellingAnswer.from_observation(plain))
        control = self[Question.CONTROL]
        is_same = judgement.conforms or same_answer(reply, plain)
        if is_same and same_answer(plain, control) and question is not Question.LONG_NAME:
            return Finding(None, "a name that can't exist is answered so, too")
        if reply.end in _ENDLESS and SpellingAnswer.from_observation(plain).succeeds:
            return Finding(False, f"no answer: {reply.end.value}")
        if judgement.treatment is not SpellingTreatment.OTHER:
            return Finding(judgement.conforms, judgement.reason)
        if is_same:
            return Finding(True, "the same page as for the ARK as written")
        if same_answer(reply, control):
            return Finding(False, "answered as a name that can't exist is")
        return Finding(None, judgement.reason)


Expectation = Callable[[Answers], Finding]
#: An expectation, after the questions that it depends on.
Rule = tuple[Sequence[Question], Expectation]


def _form(question: Question) -> Sequence[Rule]:
    """Return the rule that the resolver treats the form of *question* like the ARK itself."""
    questions = (Question.OBJECT, Question.CONTROL, question)
    return [(questions, lambda answers: answers.judge_likeness(question))]


def _status(answer: AnswerFacts) -> str:
    return f"answered {answer.status}" if answer.is_answered else f"no answer ({answer.end.value})"


def _no_answer(answer: AnswerFacts) -> Finding | None:
    """Return the finding for a missing answer, or for one that refuses access to programs; otherwise None."""
    if not answer.is_answered and answer.end is not ChainEnd.NON_WEB:
        return Finding(None, _status(answer))
    if answer.keeps_out:
        return Finding(None, f"{_status(answer)}, which keeps programs out")
    return None


def _for_answer(question: Question) -> Callable[[Callable[[Answers, AnswerFacts], Finding]], Expectation]:
    """Decorate a function that judges the answer to *question*; a missing or refusing answer gives no judgement."""

    def expectation(function: Callable[[Answers, AnswerFacts], Finding]) -> Expectation:
        def of_answer(answers: Answers) -> Finding:
            answer = answers[question]
            return _no_answer(answer) or function(answers, answer)

        return of_answer

    return expectation


def _gets_no_success(question: Question) -> Expectation:
    """Return the expectation that a name that can't exist gets no success, whatever its page says."""

    @_for_answer(question)
    def is_refused(answers: Answers, answer: AnswerFacts) -> Finding:
        is_met = not answer.is_reached and answer.outcome is not ObjectOutcome.SERVER_ERROR
        return Finding(is_met, _status(answer))

    return is_refused


def other_naan(answers: Answers) -> Finding:
    answer = answers[Question.OTHER_NAAN]
    if same_answer(answer, answers[Question.OBJECT]):
        return Finding(False, "answered as the ARK under test is")
    if not answer.is_resolvers_own:
        return Finding(True, f"passed on to {answer.final_url}")
    return _gets_no_success(Question.OTHER_NAAN)(answers)


def _is_no_fault(question: Question) -> Sequence[Rule]:
    """Return the rule that a server does not fail on an unusual request."""

    def is_no_fault(answers: Answers) -> Finding:
        answer = answers[question]
        is_broken_off = answer.end in (ChainEnd.RESET, ChainEnd.PROTOCOL_ERROR)
        if not is_broken_off and (unanswered := _no_answer(answer)) is not None:
            return unanswered
        is_met = not is_broken_off and answer.outcome is not ObjectOutcome.SERVER_ERROR
        return Finding(is_met, _status(answer))

    return [((question,), is_no_fault)]


@_for_answer(Question.LONG_NAAN)
def long_naan(answers: Answers, answer: AnswerFacts) -> Finding:
    short = answers[Question.OTHER_NAAN]
    is_refused = answer.status in (400, 414, 422) or answer.outcome is ObjectOutcome.SERVER_ERROR
    if is_refused and answer.status == short.status:
        return Finding(None, f"{_status(answer)}, as for an unknown NAAN of 5 octets")
    if same_answer(answer, short):
        return Finding(None, f"{_status(answer)}, as under any NAAN")
    return Finding(not is_refused, _status(answer))


@_for_answer(Question.UNKNOWN_QUALIFIER)
def passthrough(answers: Answers, answer: AnswerFacts) -> Finding:
    suffix = answer.asked_url.removeprefix(answers[Question.OBJECT].asked_url)
    targets = [hop.location or "" for hop in _redirects(answer)]
    is_met = any(target.endswith(suffix) for target in targets)
    return Finding(is_met, f"{_status(answer)}{f' at {answer.final_url}' if targets else ''}")


@_for_answer(Question.QUALIFIED_INFO)
def ancestor(answers: Answers, answer: AnswerFacts) -> Finding:
    control = answers[Question.CONTROL_INFO]
    if control.is_success and control.is_record:
        return Finding(None, "even a name that can't exist is described")
    return Finding(answer.is_success and answer.is_record, _status(answer))


def name_case(answers: Answers) -> Finding:
    if answers[Question.CONTROL].is_reached:
        return Finding(None, "even a name that can't exist gets a success")
    answer = answers[Question.OTHER_CASE]
    return _no_answer(answer) or Finding(
        answers.judge_likeness(Question.OTHER_CASE).is_met is not True, _status(answer)
    )


def few_hops(answers: Answers) -> Finding:
    answer = answers[Question.OBJECT]
    redirects = len(_redirects(answer))
    is_endless = answer.end in _ENDLESS
    if not redirects and (unanswered := _no_answer(answer)) is not None:
        return unanswered
    words = f"{redirects} redirect{'' if redirects == 1 else 's'}"
    return Finding(redirects <= MOST_REDIRECTS and not is_endless, words)


def over_https(answers: Answers) -> Finding:
    plain = [hop.url for hop in answers[Question.OBJECT].hops if split_url(hop.url).scheme != "https"]
    if plain:
        return Finding(False, f"{plain[0]} is asked over http")
    answer = answers.by_question.get(Question.PLAIN_HTTP)
    if answer is None or not answer.hops or not answer.is_answered:
        return Finding(True, "all addresses are https")
    is_led = len(answer.hops) > 1 and split_url(answer.hops[1].url).scheme == "https"
    words = "http leads to https" if is_led else f"http is {_status(answer)}, and does not lead to https"
    return Finding(is_led, words)


def access(answers: Answers) -> Finding:
    judged = answers.verdict.object
    is_met = {Family.WORKS: True, Family.FAILS: False}.get(judged.outcome.family)
    return Finding(is_met, f"{judged.outcome.value}: {'; '.join(judged.evidence[:2])}")


def _redirects(answer: AnswerFacts) -> list[Hop]:
    return [hop for hop in answer.hops if hop.status in REDIRECTS]


def _for_redirects(function: Callable[[Sequence[Hop]], Finding], question: Question = Question.OBJECT) -> Expectation:
    """Return the expectation for the redirects of *question*; without redirects, there is no judgement."""

    def of_redirects(answers: Answers) -> Finding:
        answer = answers[question]
        hops = _redirects(answer)
        if hops:
            return function(hops)
        words = "the resolver shows the object itself" if answer.is_reached else _status(answer)
        return Finding(None, words)

    return of_redirects


def temporary_redirect(hops: Sequence[Hop]) -> Finding:
    return Finding(hops[0].status not in (301, 308), f"redirected by {hops[0].status}")


def not_just_related(hops: Sequence[Hop]) -> Finding:
    statuses = [hop.status for hop in hops]
    return Finding(303 not in statuses, f"redirected by {', '.join(map(str, statuses))}")


@_for_answer(Question.TOMBSTONE)
def tombstone(answers: Answers, answer: AnswerFacts) -> Finding:
    verdict = judge({Question.OBJECT: answer}).object
    lacking = [] if answer.status == 410 else [f"{_status(answer)}, not 410"]
    is_dated = _DATE.search(_COPYRIGHT.sub("", answer.text or "")) is not None
    if verdict.outcome is not ObjectOutcome.EXPLAINED:
        if is_dated and answer.status == 410 and (said := answer.words.withdrawn):
            return Finding(True, f"410, which says {said!r} with a date")
        if is_dated and answer.status in (404, 410):
            words = f"{_status(answer)}; it is unknown whether its page gives a reason"
            return Finding(None, words)
        return Finding(False, "; ".join([*lacking, "no reason is given"]))
    if not is_dated:
        lacking.append("no date is given")
    return Finding(not lacking, "; ".join(lacking) or "410, with a reason and a date")


def policy(answers: Answers) -> Finding:
    judged = answers.verdict.commitment
    kinds = (answers[Question.INFO].record or {}).keys()
    if judged.outcome is CommitmentOutcome.ABSENT and kinds & WITHIN_PAGES:
        return Finding(None, "none is in the page's record; its prose may state one")
    is_met = {CommitmentOutcome.UNDETERMINED: None, CommitmentOutcome.ABSENT: False}.get(judged.outcome, True)
    return Finding(is_met, "; ".join(judged.evidence[:2]) or judged.outcome.value)


def policy_says_something(answers: Answers) -> Finding:
    judged = answers.verdict.commitment
    is_met = {CommitmentOutcome.STATED: True, CommitmentOutcome.PLACEHOLDER: False}.get(judged.outcome)
    return Finding(is_met, "; ".join(judged.evidence[:2]) or judged.outcome.value)


@_for_answer(Question.INFO)
def description(answers: Answers, answer: AnswerFacts) -> Finding:
    judged = answers.verdict.metadata
    is_met = None if judged.outcome in _UNDECIDED else judged.outcome in DESCRIBED
    return Finding(is_met, f"{judged.outcome.value}: {'; '.join(judged.evidence[:1])}")


def _record(answers: Answers) -> Mapping[str, str]:
    """Return the elements of the record that describes the object; of an ERC, its first story."""
    record = answers[Question.INFO].record or {}
    return record.get("erc") or {key: value for story in record.values() for key, value in story.items()}


def _for_description(function: Expectation) -> Expectation:
    """Decorate an expectation that applies only if ?info describes the object; otherwise there is no judgement."""

    def about_description(answers: Answers) -> Finding:
        if answers.verdict.metadata.outcome not in DESCRIBED:
            return Finding(None, "?info does not describe the object")
        return function(answers)

    return about_description


@_for_description
def kernel_answered(answers: Answers) -> Finding:
    answered = {**kernel(_record(answers)), **answers[Question.INFO].facts.kernel_values}
    lacking = [question for question in QUESTIONS if not answered.get(question, "").strip()]
    return Finding(not lacking, f"without {', '.join(lacking)}" if lacking else "all four are answered")


@_for_description
def where_names_it(answers: Answers) -> Finding:
    ark = answers[Question.INFO].ark
    shown = answers[Question.INFO].facts.kernel_values
    for label, value in (*_record(answers).items(), *shown.items()):
        if any(mention.ark.base == ark.base for mention in find_arks(value)):
            return Finding(True, f"{label}: {value}")
    return Finding(False, "the record names it nowhere")


@_for_description
def text_in_utf8(answers: Answers) -> Finding:
    header = answers[Question.INFO].headers.get("Content-Type", "")
    media_type, _, parameters = header.partition(";")
    is_utf8 = "utf-8" in parameters.lower()
    if answers.verdict.metadata.outcome is not MetadataOutcome.ERC:
        return Finding(None, f"the description is not an ERC ({header or 'no type'})")
    is_met = media_type.strip().lower() in ("text/plain", "text/anvl") and is_utf8
    return Finding(is_met, header or "no Content-Type")


@_for_description
def is_erc(answers: Answers) -> Finding:
    outcome = answers.verdict.metadata.outcome
    if outcome is MetadataOutcome.ERC and not _OPENING.search(answers[Question.INFO].text or ""):
        return Finding(False, "elements without erc: before them")
    return Finding(outcome is MetadataOutcome.ERC, outcome.value)


@_for_description
def erc_order(answers: Answers) -> Finding:
    if answers.verdict.metadata.outcome is not MetadataOutcome.ERC:
        return Finding(None, "there is no ERC")
    first_story = _STORY.split(answers[Question.INFO].text or "")[0]
    written = _KERNEL_LABEL.findall(first_story)
    labels = list(dict.fromkeys(label.lower() for label in written))
    return Finding(labels == sorted(labels, key=QUESTIONS.index), ", ".join(labels))


def _header(name: str) -> Expectation:
    @_for_description
    def has_header(answers: Answers) -> Finding:
        value = answers[Question.INFO].headers.get(name)
        is_met = value is not None and (name != "Link" or "describes" in value)
        return Finding(is_met, f"{name}: {value}" if value else f"no {name}")

    return has_header


def _inflection(question: Question) -> Sequence[Rule]:
    """Return the rule that an older inflection returns a description."""

    @_for_answer(question)
    def describes(answers: Answers, answer: AnswerFacts) -> Finding:
        judged = answers.judged_by(question).metadata
        return Finding(judged.outcome in DESCRIBED, judged.outcome.value)

    return [((Question.OBJECT, question), describes)]


def head_as_get(answers: Answers) -> Finding:
    head, get = answers[Question.HEAD], answers[Question.OBJECT]
    if len(get.hops) < 2 and (kept_out := _no_answer(answers[Question.OBJECT])) is not None:
        return kept_out
    if (unanswered := _no_answer(answers[Question.HEAD])) is not None and head.status not in (401, 403):
        return unanswered
    of_head, of_get = (
        [(hop.status, (hop.location or "").partition("?")[0]) for hop in answer.hops[:1]] for answer in (head, get)
    )
    words = f"HEAD {head.hops[0].status}, GET {get.hops[0].status}" if head.hops and get.hops else "no answer"
    return Finding(of_head == of_get, words)


@_for_answer(Question.ACCEPT)
def accept_is_no_error(answers: Answers, answer: AnswerFacts) -> Finding:
    if not answers[Question.OBJECT].is_reached:
        return Finding(None, "the ARK does not lead to its object")
    is_refused_well = answer.status == 406 and bool(answer.body_bytes)
    words = ", without a word" if answer.status == 406 and not is_refused_well else ""
    return Finding(answer.is_reached or is_refused_well, _status(answer) + words)


def query_is_kept(hops: Sequence[Hop]) -> Finding:
    targets = [hop.location or "" for hop in hops]
    lost = [target for target in targets if QUERY not in target]
    return Finding(not lost, f"{lost[0]} is without it" if lost else f"{targets[-1]} has it")


@_for_answer(Question.FROM_SCRIPT)
def scripts_may_read(answers: Answers, answer: AnswerFacts) -> Finding:
    allowed = [hop.headers.get("Access-Control-Allow-Origin") for hop in answer.hops]
    is_met = all(value in ("*", ORIGIN) for value in allowed)
    return Finding(is_met, f"Access-Control-Allow-Origin: {', '.join(str(value) for value in allowed)}")


def asked_again_soon(hops: Sequence[Hop]) -> Finding:
    header = hops[0].headers.get("Cache-Control")
    if header is None:
        is_kept = hops[0].status in (301, 308)  # browsers may cache these for any time
        return Finding(not is_kept, f"{hops[0].status} without Cache-Control")
    ages = [int(match["seconds"]) for match in _MAX_AGE.finditer(header)]
    is_met = max(ages, default=0) <= LONGEST_KEPT.total_seconds() and "immutable" not in header.lower()
    return Finding(is_met, f"Cache-Control: {header}")


@_for_answer(Question.FRONT_PAGE)
def front_page(answers: Answers, answer: AnswerFacts) -> Finding:
    media_type = answer.media_type or ""
    is_page = ("html" in media_type or media_type == "text/plain") and bool(answer.text)
    words = "" if is_page else f", and not with a page ({answer.media_type or 'no type'})"
    return Finding(answer.is_success and is_page, _status(answer) + words)


def names_a_minute(answers: Answers) -> Finding:
    answer = answers[Question.RATE]
    if answer.attempt == 1 and (unanswered := _no_answer(answer)) is not None:
        return unanswered
    is_met = answer.is_answered and answer.status not in PASSING_STATUSES
    return Finding(is_met, f"name {answer.attempt} of {NAMES_A_MINUTE} {_status(answer)}")


#: The questions of most expectations: the object and its description.
_DESCRIPTION = (Question.OBJECT, Question.INFO)
#: The expectations of each requirement by its name, after the questions that they depend on. The first whose questions
#: were asked applies.
EXPECTATIONS: Mapping[str, Sequence[Rule]] = {
    "label-forms": _form(Question.OTHER_LABEL),
    "label-case": _form(Question.UPPER_LABEL),
    "naan-case": _form(Question.OTHER_CASE_NAAN),
    "naan-length": [((Question.LONG_NAAN, Question.OTHER_NAAN), long_naan)],
    "passthrough": [((Question.OBJECT, Question.UNKNOWN_QUALIFIER), passthrough)],
    "ancestor": [((Question.QUALIFIED_INFO, Question.CONTROL_INFO), ancestor)],
    "final-slash": _form(Question.TRAILING_SLASH),
    "final-period": _form(Question.TRAILING_DOT),
    "length": _form(Question.LONG_NAME),
    "look-alikes": _form(Question.LOOK_ALIKE),
    "odd-octets": _is_no_fault(Question.ODD_OCTETS),
    "hyphens": [*_form(Question.EXTRA_HYPHEN), *_form(Question.HYPHENS)],
    "name-case": [((Question.OBJECT, Question.CONTROL, Question.OTHER_CASE), name_case)],
    "escapes": _form(Question.NEEDLESS_ESCAPE),
    "doubled-slash": _form(Question.DOUBLED_SLASH),
    "unknown-name": [((Question.CONTROL,), _gets_no_success(Question.CONTROL))],
    "unknown-naan": [((Question.OBJECT, Question.OTHER_NAAN), other_naan)],
    "few-hops": [((Question.OBJECT,), few_hops)],
    "https": [((Question.OBJECT, Question.PLAIN_HTTP), over_https), ((Question.OBJECT,), over_https)],
    "access": [((Question.OBJECT, Question.CONTROL), access)],
    "temporary-redirect": [((Question.OBJECT,), _for_redirects(temporary_redirect))],
    "not-just-related": [((Question.OBJECT,), _for_redirects(not_just_related))],
    "tombstone": [((Question.TOMBSTONE,), tombstone)],
    "policy": [(_DESCRIPTION, _for_description(policy))],
    "policy-says-something": [(_DESCRIPTION, _for_description(policy_says_something))],
    "description": [(_DESCRIPTION, description)],
    "kernel": [(_DESCRIPTION, kernel_answered)],
    "where": [(_DESCRIPTION, where_names_it)],
    "description-of-nothing": [((Question.CONTROL_INFO,), _gets_no_success(Question.CONTROL_INFO))],
    "media-type": [(_DESCRIPTION, text_in_utf8)],
    "thump-status": [(_DESCRIPTION, _header("THUMP-Status"))],
    "describes-link": [(_DESCRIPTION, _header("Link"))],
    "double": _inflection(Question.DOUBLE),
    "single": _inflection(Question.SINGLE),
    "erc": [(_DESCRIPTION, is_erc)],
    "erc-order": [(_DESCRIPTION, erc_order)],
    "head": [((Question.OBJECT, Question.HEAD), head_as_get)],
    "accept": [((Question.OBJECT, Question.ACCEPT), accept_is_no_error)],
    "query": [((Question.QUERY,), _for_redirects(query_is_kept, Question.QUERY))],
    "cors": [((Question.FROM_SCRIPT,), scripts_may_read)],
    "caching": [((Question.OBJECT,), _for_redirects(asked_again_soon))],
    "front-page": [((Question.FRONT_PAGE,), front_page)],
    "over-long": _is_no_fault(Question.OVER_LONG),
    "rate": [((Question.RATE,), names_a_minute)],
}
