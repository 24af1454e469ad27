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
_ENDLESS_CHAINS = (ChainEnd.LOOP, ChainEnd.TOO_MANY_REDIRECTS)
#: The longest time that a redirect may be cached.
MAX_CACHE_TIME = timedelta(days=1)
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
        """The verdict of a check, from the answers for the ARK and for its metadata by ?info."""
        return self.verdict_with(Question.INFO)

    def verdict_with(self, inflection: Question) -> Verdict:
        """Return the verdict from the answers for the ARK and for its metadata by *inflection*."""
        questions = [question for question in (Question.OBJECT, inflection) if question in self.by_question]
        context = VerdictContext(
            control=self.by_question.get(Question.CONTROL), control_info=self.by_question.get(Question.CONTROL_INFO)
        )
        return judge({question: self[question] for question in questions}, context=context)

    def judge_likeness(self, question: Question) -> Finding:
        """Return the finding on whether the ARK in the form of *question*, such as with a hyphen, is answered like the ARK."""
        object_answer, form_answer = self[Question.OBJECT], self[question]
        form = question if question in NOT_EQUAL else Question.EXTRA_HYPHEN
        spelling_finding = judge_form(
            form, SpellingAnswer.from_observation(form_answer), SpellingAnswer.from_observation(object_answer)
        )
        control = self[Question.CONTROL]
        is_same = spelling_finding.is_conforming or same_answer(form_answer, object_answer)
        if is_same and same_answer(object_answer, control) and question is not Question.LONG_NAME:
            return Finding(None, "a name that can't exist is answered so, too")
        if form_answer.end in _ENDLESS_CHAINS and SpellingAnswer.from_observation(object_answer).is_success:
            return Finding(False, f"no answer: {form_answer.end.value}")
        if spelling_finding.treatment is not SpellingTreatment.OTHER:
            return Finding(spelling_finding.is_conforming, spelling_finding.reason)
        if is_same:
            return Finding(True, "the same page as for the ARK as written")
        if same_answer(form_answer, control):
            return Finding(False, "answered as a name that can't exist is")
        return Finding(None, spelling_finding.reason)


Expectation = Callable[[Answers], Finding]
#: An expectation, after the questions that it depends on.
Rule = tuple[Sequence[Question], Expectation]


def _rule_of_equal_form(question: Question) -> Sequence[Rule]:
    """Return the rule that the resolver answers another form of the ARK, that of *question*, like the ARK itself."""
    questions = (Question.OBJECT, Question.CONTROL, question)
    return [(questions, lambda answers: answers.judge_likeness(question))]


def _status(answer: AnswerFacts) -> str:
    return f"answered {answer.status}" if answer.is_answered else f"no answer ({answer.end.value})"


def _no_answer(answer: AnswerFacts) -> Finding | None:
    """Return a finding without judgement if *answer* is missing or refuses programs; None for other answers."""
    if not answer.is_answered and answer.end is not ChainEnd.NON_WEB:
        return Finding(None, _status(answer))
    if answer.refuses_access:
        return Finding(None, f"{_status(answer)}, which keeps programs out")
    return None


def _for_answer(question: Question) -> Callable[[Callable[[Answers, AnswerFacts], Finding]], Expectation]:
    """Return a decorator for a function that judges the answer to *question*.

    If the answer is missing or refuses programs, the function is not called, and `is_met` is None.
    """

    def expectation(function: Callable[[Answers, AnswerFacts], Finding]) -> Expectation:
        def judge_answers(answers: Answers) -> Finding:
            answer = answers[question]
            return _no_answer(answer) or function(answers, answer)

        return judge_answers

    return expectation


def _expect_no_success(question: Question) -> Expectation:
    """Return the expectation that *question*, about a name that can't exist, is not answered with a success."""

    @_for_answer(question)
    def judge_refusal(answers: Answers, answer: AnswerFacts) -> Finding:
        is_met = not answer.is_reached and answer.outcome is not ObjectOutcome.SERVER_ERROR
        return Finding(is_met, _status(answer))

    return judge_refusal


def expect_no_unknown_naan(answers: Answers) -> Finding:
    answer = answers[Question.OTHER_NAAN]
    if same_answer(answer, answers[Question.OBJECT]):
        return Finding(False, "answered as the ARK under test is")
    if not answer.is_from_resolver:
        return Finding(True, f"passed on to {answer.final_url}")
    return _expect_no_success(Question.OTHER_NAAN)(answers)


def _rule_of_no_fault(question: Question) -> Sequence[Rule]:
    """Return the rule that the server does not fail on *question*, an unusual request."""

    def judge_answers(answers: Answers) -> Finding:
        answer = answers[question]
        is_broken_off = answer.end in (ChainEnd.RESET, ChainEnd.PROTOCOL_ERROR)
        if not is_broken_off and (no_answer := _no_answer(answer)) is not None:
            return no_answer
        is_met = not is_broken_off and answer.outcome is not ObjectOutcome.SERVER_ERROR
        return Finding(is_met, _status(answer))

    return [((question,), judge_answers)]


@_for_answer(Question.LONG_NAAN)
def expect_long_naan(answers: Answers, answer: AnswerFacts) -> Finding:
    short_naan_answer = answers[Question.OTHER_NAAN]
    is_refused = answer.status in (400, 414, 422) or answer.outcome is ObjectOutcome.SERVER_ERROR
    if is_refused and answer.status == short_naan_answer.status:
        return Finding(None, f"{_status(answer)}, as for an unknown NAAN of 5 octets")
    if same_answer(answer, short_naan_answer):
        return Finding(None, f"{_status(answer)}, as under any NAAN")
    return Finding(not is_refused, _status(answer))


@_for_answer(Question.UNKNOWN_QUALIFIER)
def expect_passthrough(answers: Answers, answer: AnswerFacts) -> Finding:
    suffix = answer.asked_url.removeprefix(answers[Question.OBJECT].asked_url)
    targets = [hop.location or "" for hop in _redirects(answer)]
    is_met = any(target.endswith(suffix) for target in targets)
    return Finding(is_met, f"{_status(answer)}{f' at {answer.final_url}' if targets else ''}")


@_for_answer(Question.QUALIFIED_INFO)
def expect_ancestor(answers: Answers, answer: AnswerFacts) -> Finding:
    control = answers[Question.CONTROL_INFO]
    if control.is_success and control.is_record:
        return Finding(None, "even a name that can't exist is described")
    return Finding(answer.is_success and answer.is_record, _status(answer))


def expect_case_sensitive_names(answers: Answers) -> Finding:
    if answers[Question.CONTROL].is_reached:
        return Finding(None, "even a name that can't exist gets a success")
    answer = answers[Question.OTHER_CASE]
    return _no_answer(answer) or Finding(
        answers.judge_likeness(Question.OTHER_CASE).is_met is not True, _status(answer)
    )


def expect_few_hops(answers: Answers) -> Finding:
    answer = answers[Question.OBJECT]
    redirect_count = len(_redirects(answer))
    is_endless = answer.end in _ENDLESS_CHAINS
    if not redirect_count and (no_answer := _no_answer(answer)) is not None:
        return no_answer
    reason = f"{redirect_count} redirect{'' if redirect_count == 1 else 's'}"
    return Finding(redirect_count <= MOST_REDIRECTS and not is_endless, reason)


def expect_https(answers: Answers) -> Finding:
    http_urls = [hop.url for hop in answers[Question.OBJECT].hops if split_url(hop.url).scheme != "https"]
    if http_urls:
        return Finding(False, f"{http_urls[0]} is asked over http")
    answer = answers.by_question.get(Question.PLAIN_HTTP)
    if answer is None or not answer.hops or not answer.is_answered:
        return Finding(True, "all addresses are https")
    leads_to_https = len(answer.hops) > 1 and split_url(answer.hops[1].url).scheme == "https"
    reason = "http leads to https" if leads_to_https else f"http is {_status(answer)}, and does not lead to https"
    return Finding(leads_to_https, reason)


def expect_access(answers: Answers) -> Finding:
    verdict = answers.verdict.object
    is_met = {Family.WORKS: True, Family.FAILS: False}.get(verdict.outcome.family)
    return Finding(is_met, f"{verdict.outcome.value}: {'; '.join(verdict.evidence[:2])}")


def _redirects(answer: AnswerFacts) -> list[Hop]:
    return [hop for hop in answer.hops if hop.status in REDIRECTS]


def _for_redirects(function: Callable[[Sequence[Hop]], Finding], question: Question = Question.OBJECT) -> Expectation:
    """Return the expectation that calls *function* with the redirects in the answer to *question*.

    Without redirects, `is_met` is None.
    """

    def judge_answers(answers: Answers) -> Finding:
        answer = answers[question]
        hops = _redirects(answer)
        if hops:
            return function(hops)
        reason = "the resolver shows the object itself" if answer.is_reached else _status(answer)
        return Finding(None, reason)

    return judge_answers


def expect_temporary_redirect(hops: Sequence[Hop]) -> Finding:
    return Finding(hops[0].status not in (301, 308), f"redirected by {hops[0].status}")


def expect_no_303(hops: Sequence[Hop]) -> Finding:
    statuses = [hop.status for hop in hops]
    return Finding(303 not in statuses, f"redirected by {', '.join(map(str, statuses))}")


@_for_answer(Question.TOMBSTONE)
def expect_tombstone(answers: Answers, answer: AnswerFacts) -> Finding:
    verdict = judge({Question.OBJECT: answer}).object
    faults = [] if answer.status == 410 else [f"{_status(answer)}, not 410"]
    is_dated = _DATE.search(_COPYRIGHT.sub("", answer.text or "")) is not None
    if verdict.outcome is not ObjectOutcome.EXPLAINED:
        if is_dated and answer.status == 410 and (quotation := answer.words.withdrawn):
            return Finding(True, f"410, which says {quotation!r} with a date")
        if is_dated and answer.status in (404, 410):
            reason = f"{_status(answer)}; it is unknown whether its page gives a reason"
            return Finding(None, reason)
        return Finding(False, "; ".join([*faults, "no reason is given"]))
    if not is_dated:
        faults.append("no date is given")
    return Finding(not faults, "; ".join(faults) or "410, with a reason and a date")


def expect_policy(answers: Answers) -> Finding:
    verdict = answers.verdict.commitment
    vocabularies = (answers[Question.INFO].record or {}).keys()
    if verdict.outcome is CommitmentOutcome.ABSENT and vocabularies & WITHIN_PAGES:
        return Finding(None, "none is in the page's record; its prose may state one")
    is_met = {CommitmentOutcome.UNDETERMINED: None, CommitmentOutcome.ABSENT: False}.get(verdict.outcome, True)
    return Finding(is_met, "; ".join(verdict.evidence[:2]) or verdict.outcome.value)


def expect_meaningful_policy(answers: Answers) -> Finding:
    verdict = answers.verdict.commitment
    is_met = {CommitmentOutcome.STATED: True, CommitmentOutcome.PLACEHOLDER: False}.get(verdict.outcome)
    return Finding(is_met, "; ".join(verdict.evidence[:2]) or verdict.outcome.value)


@_for_answer(Question.INFO)
def expect_description(answers: Answers, answer: AnswerFacts) -> Finding:
    verdict = answers.verdict.metadata
    is_met = None if verdict.outcome in _UNDECIDED else verdict.outcome in DESCRIBED
    return Finding(is_met, f"{verdict.outcome.value}: {'; '.join(verdict.evidence[:1])}")


def _record(answers: Answers) -> Mapping[str, str]:
    """Return labels and values of the metadata at ?info; empty without metadata.

    Of an ERC with the story ``erc``, only the values of this story.
    """
    record = answers[Question.INFO].record or {}
    return record.get("erc") or {key: value for story in record.values() for key, value in story.items()}


def _for_description(function: Expectation) -> Expectation:
    """Decorate an expectation that applies only if ?info describes the object; otherwise `is_met` is None."""

    def judge_answers(answers: Answers) -> Finding:
        if answers.verdict.metadata.outcome not in DESCRIBED:
            return Finding(None, "?info does not describe the object")
        return function(answers)

    return judge_answers


@_for_description
def expect_kernel(answers: Answers) -> Finding:
    answers_by_label = {**kernel(_record(answers)), **answers[Question.INFO].facts.kernel_values}
    missing_labels = [question for question in QUESTIONS if not answers_by_label.get(question, "").strip()]
    return Finding(
        not missing_labels, f"without {', '.join(missing_labels)}" if missing_labels else "all four are answered"
    )


@_for_description
def expect_where_with_ark(answers: Answers) -> Finding:
    ark = answers[Question.INFO].ark
    page_values = answers[Question.INFO].facts.kernel_values
    for label, value in (*_record(answers).items(), *page_values.items()):
        if any(mention.ark.base == ark.base for mention in find_arks(value)):
            return Finding(True, f"{label}: {value}")
    return Finding(False, "the record names it nowhere")


@_for_description
def expect_utf8_text(answers: Answers) -> Finding:
    header = answers[Question.INFO].headers.get("Content-Type", "")
    media_type, _, parameters = header.partition(";")
    is_utf8 = "utf-8" in parameters.lower()
    if answers.verdict.metadata.outcome is not MetadataOutcome.ERC:
        return Finding(None, f"the description is not an ERC ({header or 'no type'})")
    is_met = media_type.strip().lower() in ("text/plain", "text/anvl") and is_utf8
    return Finding(is_met, header or "no Content-Type")


@_for_description
def expect_erc(answers: Answers) -> Finding:
    outcome = answers.verdict.metadata.outcome
    if outcome is MetadataOutcome.ERC and not _OPENING.search(answers[Question.INFO].text or ""):
        return Finding(False, "elements without erc: before them")
    return Finding(outcome is MetadataOutcome.ERC, outcome.value)


@_for_description
def expect_erc_order(answers: Answers) -> Finding:
    if answers.verdict.metadata.outcome is not MetadataOutcome.ERC:
        return Finding(None, "there is no ERC")
    first_story = _STORY.split(answers[Question.INFO].text or "")[0]
    written_labels = _KERNEL_LABEL.findall(first_story)
    labels = list(dict.fromkeys(label.lower() for label in written_labels))
    return Finding(labels == sorted(labels, key=QUESTIONS.index), ", ".join(labels))


def _expect_header(name: str) -> Expectation:
    @_for_description
    def judge_header(answers: Answers) -> Finding:
        value = answers[Question.INFO].headers.get(name)
        is_met = value is not None and (name != "Link" or "describes" in value)
        return Finding(is_met, f"{name}: {value}" if value else f"no {name}")

    return judge_header


def _rule_of_inflection(question: Question) -> Sequence[Rule]:
    """Return the rule that the older inflection of *question* (``??`` or ``?``) is answered with a description."""

    @_for_answer(question)
    def judge_description(answers: Answers, answer: AnswerFacts) -> Finding:
        verdict = answers.verdict_with(question).metadata
        return Finding(verdict.outcome in DESCRIBED, verdict.outcome.value)

    return [((Question.OBJECT, question), judge_description)]


def expect_head_like_get(answers: Answers) -> Finding:
    head, get = answers[Question.HEAD], answers[Question.OBJECT]
    if len(get.hops) < 2 and (no_answer := _no_answer(answers[Question.OBJECT])) is not None:
        return no_answer
    if (no_head_answer := _no_answer(answers[Question.HEAD])) is not None and head.status not in (401, 403):
        return no_head_answer
    head_redirect, get_redirect = (
        [(hop.status, (hop.location or "").partition("?")[0]) for hop in answer.hops[:1]] for answer in (head, get)
    )
    reason = f"HEAD {head.hops[0].status}, GET {get.hops[0].status}" if head.hops and get.hops else "no answer"
    return Finding(head_redirect == get_redirect, reason)


@_for_answer(Question.ACCEPT)
def expect_no_accept_error(answers: Answers, answer: AnswerFacts) -> Finding:
    if not answers[Question.OBJECT].is_reached:
        return Finding(None, "the ARK does not lead to its object")
    has_error_page = answer.status == 406 and bool(answer.body_bytes)
    detail = ", without a word" if answer.status == 406 and not has_error_page else ""
    return Finding(answer.is_reached or has_error_page, _status(answer) + detail)


def expect_kept_query(hops: Sequence[Hop]) -> Finding:
    targets = [hop.location or "" for hop in hops]
    lossy_targets = [target for target in targets if QUERY not in target]
    return Finding(not lossy_targets, f"{lossy_targets[0]} is without it" if lossy_targets else f"{targets[-1]} has it")


@_for_answer(Question.FROM_SCRIPT)
def expect_cors(answers: Answers, answer: AnswerFacts) -> Finding:
    allowed_origins = [hop.headers.get("Access-Control-Allow-Origin") for hop in answer.hops]
    is_met = all(value in ("*", ORIGIN) for value in allowed_origins)
    return Finding(is_met, f"Access-Control-Allow-Origin: {', '.join(str(value) for value in allowed_origins)}")


def expect_short_caching(hops: Sequence[Hop]) -> Finding:
    header = hops[0].headers.get("Cache-Control")
    if header is None:
        is_cached_forever = hops[0].status in (301, 308)  # browsers may cache these for any time
        return Finding(not is_cached_forever, f"{hops[0].status} without Cache-Control")
    ages = [int(match["seconds"]) for match in _MAX_AGE.finditer(header)]
    is_met = max(ages, default=0) <= MAX_CACHE_TIME.total_seconds() and "immutable" not in header.lower()
    return Finding(is_met, f"Cache-Control: {header}")


@_for_answer(Question.FRONT_PAGE)
def expect_front_page(answers: Answers, answer: AnswerFacts) -> Finding:
    media_type = answer.media_type or ""
    is_page = ("html" in media_type or media_type == "text/plain") and bool(answer.text)
    detail = "" if is_page else f", and not with a page ({answer.media_type or 'no type'})"
    return Finding(answer.is_success and is_page, _status(answer) + detail)


def expect_names_a_minute(answers: Answers) -> Finding:
    answer = answers[Question.RATE]
    if answer.attempt == 1 and (no_answer := _no_answer(answer)) is not None:
        return no_answer
    is_met = answer.is_answered and answer.status not in PASSING_STATUSES
    return Finding(is_met, f"name {answer.attempt} of {NAMES_A_MINUTE} {_status(answer)}")


#: The questions of most expectations: the object and its description.
_DESCRIPTION = (Question.OBJECT, Question.INFO)
#: The expectations of each requirement by its name, after the questions that they depend on. The first whose questions
#: were asked applies.
EXPECTATIONS: Mapping[str, Sequence[Rule]] = {
    "label-forms": _rule_of_equal_form(Question.OTHER_LABEL),
    "label-case": _rule_of_equal_form(Question.UPPER_LABEL),
    "naan-case": _rule_of_equal_form(Question.OTHER_CASE_NAAN),
    "naan-length": [((Question.LONG_NAAN, Question.OTHER_NAAN), expect_long_naan)],
    "passthrough": [((Question.OBJECT, Question.UNKNOWN_QUALIFIER), expect_passthrough)],
    "ancestor": [((Question.QUALIFIED_INFO, Question.CONTROL_INFO), expect_ancestor)],
    "final-slash": _rule_of_equal_form(Question.TRAILING_SLASH),
    "final-period": _rule_of_equal_form(Question.TRAILING_DOT),
    "length": _rule_of_equal_form(Question.LONG_NAME),
    "look-alikes": _rule_of_equal_form(Question.LOOK_ALIKE),
    "odd-octets": _rule_of_no_fault(Question.ODD_OCTETS),
    "hyphens": [*_rule_of_equal_form(Question.EXTRA_HYPHEN), *_rule_of_equal_form(Question.HYPHENS)],
    "name-case": [((Question.OBJECT, Question.CONTROL, Question.OTHER_CASE), expect_case_sensitive_names)],
    "escapes": _rule_of_equal_form(Question.NEEDLESS_ESCAPE),
    "doubled-slash": _rule_of_equal_form(Question.DOUBLED_SLASH),
    "unknown-name": [((Question.CONTROL,), _expect_no_success(Question.CONTROL))],
    "unknown-naan": [((Question.OBJECT, Question.OTHER_NAAN), expect_no_unknown_naan)],
    "few-hops": [((Question.OBJECT,), expect_few_hops)],
    "https": [((Question.OBJECT, Question.PLAIN_HTTP), expect_https), ((Question.OBJECT,), expect_https)],
    "access": [((Question.OBJECT, Question.CONTROL), expect_access)],
    "temporary-redirect": [((Question.OBJECT,), _for_redirects(expect_temporary_redirect))],
    "not-just-related": [((Question.OBJECT,), _for_redirects(expect_no_303))],
    "tombstone": [((Question.TOMBSTONE,), expect_tombstone)],
    "policy": [(_DESCRIPTION, _for_description(expect_policy))],
    "policy-says-something": [(_DESCRIPTION, _for_description(expect_meaningful_policy))],
    "description": [(_DESCRIPTION, expect_description)],
    "kernel": [(_DESCRIPTION, expect_kernel)],
    "where": [(_DESCRIPTION, expect_where_with_ark)],
    "description-of-nothing": [((Question.CONTROL_INFO,), _expect_no_success(Question.CONTROL_INFO))],
    "media-type": [(_DESCRIPTION, expect_utf8_text)],
    "thump-status": [(_DESCRIPTION, _expect_header("THUMP-Status"))],
    "describes-link": [(_DESCRIPTION, _expect_header("Link"))],
    "double": _rule_of_inflection(Question.DOUBLE),
    "single": _rule_of_inflection(Question.SINGLE),
    "erc": [(_DESCRIPTION, expect_erc)],
    "erc-order": [(_DESCRIPTION, expect_erc_order)],
    "head": [((Question.OBJECT, Question.HEAD), expect_head_like_get)],
    "accept": [((Question.OBJECT, Question.ACCEPT), expect_no_accept_error)],
    "query": [((Question.QUERY,), _for_redirects(expect_kept_query, Question.QUERY))],
    "cors": [((Question.FROM_SCRIPT,), expect_cors)],
    "caching": [((Question.OBJECT,), _for_redirects(expect_short_caching))],
    "front-page": [((Question.FRONT_PAGE,), expect_front_page)],
    "over-long": _rule_of_no_fault(Question.OVER_LONG),
    "rate": [((Question.RATE,), expect_names_a_minute)],
}
