"""Pure: is the answer to an inflection metadata about the object, the object again, a registry record, a refusal?

Nothing is believed on sight: the answer is held against the object's own, against the way that the query took, and
against what a name that can't exist is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from crawler.answers.answer import is_textual
from crawler.answers.erc import QUESTIONS
from crawler.answers.erc_dates import parse_dates
from crawler.answers.erc_values import missing_code, says_something
from crawler.answers.likeness import last_part, same_answer
from crawler.answers.notices import asks_to_log_in, challenge_of, says_not_found
from crawler.answers.quirks import plain
from crawler.answers.records import STRUCTURED
from crawler.answers.structured import KERNEL, kernel
from crawler.answers.subject import describes, subject_of
from crawler.answers.thump import thump_code
from crawler.observations import ChainEnd, MetadataOutcome, Observation, ServiceVerdict
from crawler.resolving import INFLECTIONS, SUCCESSES
from crawler.verdicts.commitment import judge_commitment
from crawler.verdicts.repetition import is_at_place_of, is_object_again, lost_at
from crawler.verdicts.statuses import BLOCKED

__all__ = ["BLOCKED", "judge_commitment", "judge_metadata"]

#: Errors for the question; 502, 503 and 504 speak of the moment.
_REFUSALS_OF_THE_QUESTION = frozenset({400, 404, 405, 406, 410, 414, 422, 500, 501})
#: Questions that a page or a structured record must answer to pass for a description.
ENOUGH_ANSWERS = 3
_LABEL_WORDS = "who|what|when|creator|author|title|date|publisher"
_LABELLED = re.compile(rf"\b(?P<label>{_LABEL_WORDS})\s*:\s*(?!(?:{_LABEL_WORDS}|where)\s*:)(?=\S)", re.IGNORECASE)
_ANY_ARK = re.compile(r"(?:https?://\S*?/)?ark:/?\S+", re.IGNORECASE)
_INDIVIDUAL = frozenset({"where", "id", "@id", "identifier", "success", "pid", "ark", "_target"})


def judge_metadata(
    answer: Observation, *, object_answer: Observation, control: Observation | None = None
) -> ServiceVerdict[MetadataOutcome]:
    """What the answer to ``?info``, ``??`` or ``?`` is, with the reasons (draft-kunze-ark-38, 5.1.2).

    *control* is the answer to an inflection for a name that can't exist at the same resolver.
    """
    asked = INFLECTIONS[answer.question]
    refusal = _refusal(answer, object_answer, asked)
    if refusal:
        return refusal
    if answer.record is not None:
        return _judge_record(answer, answer.record, object_answer, asked, control)
    return _judge_page(answer, object_answer, asked, control)


def _verdict(
    outcome: MetadataOutcome, *evidence: str, parsed: Mapping[str, Any] | None = None
) -> ServiceVerdict[MetadataOutcome]:
    return ServiceVerdict(outcome, evidence, parsed or {})


# -- refusals


def _refusal(answer: Observation, object_answer: Observation, asked: str) -> ServiceVerdict[MetadataOutcome] | None:
    """The verdict when there is no successful answer to look at."""
    if answer.end is ChainEnd.ROBOTS:
        return _verdict(MetadataOutcome.BLOCKED, f"robots.txt forbids asking {asked}")
    if answer.end is object_answer.end is ChainEnd.NON_WEB and _led_to(answer) == _led_to(object_answer):
        return _verdict(MetadataOutcome.QUERY_IGNORED, f"{asked} led to the object's own address: {_led_to(answer)}")
    if answer.end is not ChainEnd.ANSWERED or answer.status is None:
        words = answer.detail or answer.end.value
        return _verdict(MetadataOutcome.UNDETERMINED, f"{asked}: no answer ({words})")
    if challenge := challenge_of(answer):
        return _verdict(MetadataOutcome.BLOCKED, f"{asked} was answered with a check for programs by {challenge}")
    thump = thump_code(answer)
    if answer.status in SUCCESSES and thump is not None and thump >= 400:
        return _verdict(MetadataOutcome.UNSUPPORTED, f"{asked} was answered {answer.status}, but THUMP-Status {thump}")
    if answer.status in SUCCESSES and "error" in (answer.record or {}):
        return _verdict(
            MetadataOutcome.UNSUPPORTED, f"{asked} was answered {answer.status}, but with a record of an error"
        )
    if answer.status in SUCCESSES and asks_to_log_in(answer):
        return _verdict(MetadataOutcome.BLOCKED, f"{asked} was answered with a page to log in")
    if answer.status in SUCCESSES:
        return None
    if answer.status in BLOCKED:
        return _verdict(MetadataOutcome.BLOCKED, f"{asked} was answered {answer.status}")
    works = object_answer.status in SUCCESSES or object_answer.end is ChainEnd.NON_WEB
    if works and answer.status in _REFUSALS_OF_THE_QUESTION:
        return _verdict(
            MetadataOutcome.UNSUPPORTED,
            f"{asked} was answered {answer.status}, while the object itself answers",
        )
    return _verdict(MetadataOutcome.UNDETERMINED, f"{asked} was answered {answer.status}")


def _led_to(answer: Observation) -> str:
    return (answer.hops[-1].location if answer.hops else None) or answer.detail


# -- records


def _judge_record(
    answer: Observation,
    record: Mapping[str, Mapping[str, str]],
    object_answer: Observation,
    asked: str,
    control: Observation | None,
) -> ServiceVerdict[MetadataOutcome]:
    ark = answer.ark
    subject = subject_of(answer, record, ark)
    if "registry" in record or subject.names_namespace:
        about = f" ({subject.names_namespace})" if subject.names_namespace else ""
        return _verdict(
            MetadataOutcome.REGISTRY_LEVEL,
            f"{asked} gave a record about the NAAN or shoulder{about}, not the object",
        )
    is_erc = "erc" in record
    if (not is_erc or _is_markup(answer)) and (again := _again(answer, object_answer, asked)):
        return again
    if control is not None and control.record is not None and _is_same_record(answer, record, control):
        return _verdict(
            MetadataOutcome.ANSWERS_ANYTHING,
            f"{asked} gave a record, but the same one for a name that can't exist ({control.asked_url})",
        )
    answers = record["erc"] if is_erc else kernel(_flat(record))
    answered = [question for question in QUESTIONS if says_something(answers.get(question, ""))]
    if not set(answered) - {"where"} or (not is_erc and len(answered) < 2 and not subject.names_this):
        return _verdict(
            MetadataOutcome.UNDETERMINED,
            f"{asked} gave {_kind(answer)} that answers none of who, what and when"
            if not answered
            else f"{asked} gave {_kind(answer)} that tells too little to be a description: {', '.join(answered)}",
        )
    outcome = MetadataOutcome.ERC if is_erc else MetadataOutcome.STRUCTURED
    evidence = [
        f"{asked} gave {_kind(answer)} with {', '.join(answered)}",
        *_about(subject, answer, object_answer, answers),
    ]
    if unanswered := [question for question in QUESTIONS if question not in answered]:
        evidence.append("it does not answer " + ", ".join(_reason(question, answers) for question in unanswered))
    parsed = answers if is_erc else {**_flat(record), **answers}
    dates = parse_dates(answers.get("when", ""))
    return _verdict(outcome, *evidence, parsed={**parsed, "dates": str(dates)} if dates else parsed)


def _about(subject: Any, answer: Observation, object_answer: Observation, answers: Mapping[str, str]) -> list[str]:
    """Why the record is, or is not, about the ARK that was asked about; silence alone condemns none (2023, 5.2)."""
    if subject.names_this:
        return [f"the record names this ARK, by {subject.names_this}"]
    if subject.names_other:
        return [f"the record names another ARK: {subject.names_other}"]
    if subject.names_base:
        return ["the record names the ARK of the whole, not that of the part that was asked about"]
    title, what = plain(object_answer.title or ""), plain(answers.get("what", ""))
    if len(what) >= 5 and (what in title or (len(title) >= 5 and title in what)):
        return ["the record's title is that of the object's page"]
    return ["the record does not say which ARK it is about"]


def _reason(question: str, answers: Mapping[str, str]) -> str:
    code = missing_code(answers.get(question, ""))
    return f"{question} (:{code})" if code else question


def _kind(answer: Observation) -> str:
    return answer.media_type or "an untyped body"


def _flat(record: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {label: value for kind in STRUCTURED for label, value in record.get(kind, {}).items()}


def _is_markup(answer: Observation) -> bool:
    return "html" in (answer.media_type or "") or bool(answer.title)


def _is_same_record(answer: Observation, record: Mapping[str, Any], control: Observation) -> bool:
    """Whether two records differ in nothing but where the object is, what it is called, and numbers and clocks."""
    names = (last_part(answer.asked_url), last_part(control.asked_url))

    def values(of: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        return sorted(
            (segment, label, " ".join(re.sub(r"\d+", "", _ANY_ARK.sub("", nameless(value))).split()))
            for segment, labels in of.items()
            for label, value in labels.items()
            if label not in _INDIVIDUAL and segment != "set"
        )

    def nameless(value: str) -> str:
        for name in names:
            value = value.replace(name, "") if name else value
        return value

    return values(record) == values(control.record or {})


# -- pages


def _judge_page(
    answer: Observation, object_answer: Observation, asked: str, control: Observation | None
) -> ServiceVerdict[MetadataOutcome]:
    """The verdict about a successful answer that is no record: a page, or the object itself."""
    if again := _again(answer, object_answer, asked):
        return again
    if control is not None and same_answer(answer, control):
        return _verdict(
            MetadataOutcome.ANSWERS_ANYTHING,
            f"{asked} gave a page, but the same one for a name that can't exist ({control.asked_url})",
        )
    if answer.text is None:
        return _verdict(MetadataOutcome.UNDETERMINED, f"{asked} gave {_kind(answer)}, {_why_unread(answer)}")
    answered = _questions_answered(answer)
    if _tells_no_more(answer, object_answer, answered):
        return _verdict(
            MetadataOutcome.QUERY_IGNORED, f"{asked} gave a page that tells what the object's own page tells"
        )
    if _is_description(answer, answered, control):
        parsed = {question: answer.facts.told[question] for question in QUESTIONS if question in answer.facts.told}
        words = f"{asked} gave a page that tells {', '.join(sorted(answered))}"
        return _verdict(MetadataOutcome.HTML, words, parsed=parsed)
    if lost := lost_at(answer, asked):
        return _verdict(MetadataOutcome.QUERY_DROPPED, f"{asked} was lost in the redirect from {lost}")
    return _verdict(
        MetadataOutcome.UNDETERMINED,
        f"{asked} gave another page than the object, but no description could be read",
    )


def _questions_answered(answer: Observation) -> set[str]:
    """The questions that a page answers, under labels that people put before such answers."""
    text = answer.text or ""
    answered = {KERNEL[word["label"].lower()] for word in _LABELLED.finditer(text)}
    if answer.facts.told:  # the page's own structure tells values from empty labels
        answered &= answer.facts.told.keys() if answer.facts.told.keys() & set(QUESTIONS) else answered
        answered |= answer.facts.told.keys() & set(QUESTIONS)
    return answered


def _is_description(answer: Observation, answered: set[str], control: Observation | None) -> bool:
    """Whether a page that is neither the object's nor everybody's describes the object."""
    opening = plain(f"{answer.title or ''} {(answer.text or '')[:60]}")
    if says_not_found(opening) or re.search(r"\b(?:log ?in|sign in|password|search results)\b", opening):
        return False
    ark = answer.ark
    is_named = describes(answer, ark) or bool(answer.facts.places_of(str(ark)))
    is_refused = control is not None and control.status is not None and control.status not in SUCCESSES
    is_particular = is_refused and ark.name in answer.final_url  # a home page is nobody's, whoever is sent there
    answers = answered | ({"commitment"} & answer.facts.told.keys())
    return (
        len(answers) >= ENOUGH_ANSWERS
        and bool(answered - {"where"})
        and (is_named or ark.name in (answer.text or "") or is_particular)
    )


def _again(answer: Observation, object_answer: Observation, asked: str) -> ServiceVerdict[MetadataOutcome] | None:
    """The verdict when the answer is the object's own: ignored at the end of the chain, or lost on the way."""
    if not is_object_again(answer, object_answer):
        return None
    if lost := lost_at(answer, asked):
        return _verdict(MetadataOutcome.QUERY_DROPPED, f"{asked} was lost in the redirect from {lost}")
    return _verdict(MetadataOutcome.QUERY_IGNORED, f"{asked} gave the object's own answer again")


def _tells_no_more(answer: Observation, object_answer: Observation, answered: set[str]) -> bool:
    """Whether a page with the object's title answers no question that the object's page doesn't.

    A page that answers none at all is the object's when it stands where that does: its news may differ each time.
    """
    same_title = bool(answer.title) and answer.title == object_answer.title
    return (
        same_title
        and (bool(answered) or is_at_place_of(answer, object_answer))
        and answered <= _questions_answered(object_answer)
    )


def _why_unread(answer: Observation) -> str:
    if not is_textual(answer.media_type):
        return "which is no text"
    return "which was not read to the end" if answer.body_bytes else "whose body could not be read"
