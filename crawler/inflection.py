"""Pure: is the answer to an inflection metadata about the object, the object again, a registry record, a refusal?

Nothing is believed on sight: the answer is held against the object's own, against the way that the query took, and
against what a name that can't exist is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from crawler.answers import NOT_FOUND, same_page
from crawler.erc import missing_code
from crawler.observations import (
    DESCRIBED,
    ChainEnd,
    CommitmentOutcome,
    MetadataOutcome,
    Observation,
    Question,
    ServiceVerdict,
)
from crawler.resolving import INFLECTIONS, SUCCESSES
from extractors.ark import Ark
from extractors.find import find_arks
from extractors.normalize import NotAnArk

BLOCKED = frozenset({401, 403, 407, 429, 451, 999})
_REFUSALS_OF_THE_QUESTION = frozenset({400, 404, 405, 406, 410, 414, 501})
_LABELLED = re.compile(r"\b(?P<label>who|what|when|creator|author|title|date|publisher)\s*:", re.IGNORECASE)
_KERNEL = re.compile(r"\bwho\b.{1,300}\bwhat\b.{1,300}\bwhen\b", re.IGNORECASE)
_NO_DESCRIPTION = re.compile(
    NOT_FOUND.pattern + r"|\blog\s*in\b|\bsign\s+in\b|\bpassword\b|\bsearch\s+results\b", re.IGNORECASE
)
_NAMESPACE = re.compile(r"(?:https?://\S+?/)?ark:/?[0-9a-z]{5}/?", re.IGNORECASE)
_ANY_ARK = re.compile(r"(?:https?://\S*?/)?ark:/?\S+", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"\A\W*(?:none|null|n/?a|unknown|tba|to be (?:announced|defined)|our institution\b.*|lorem ipsum.*|)\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_LEVEL = re.compile(r"not guaranteed|permanent\W+(?:dynamic|stable|unchanging)(?:\W+content)?", re.IGNORECASE)


def judge_metadata(
    answer: Observation, *, object_answer: Observation, control: Observation | None = None
) -> ServiceVerdict:
    """What the answer to ``?info``, ``??`` or ``?`` is, with the reasons (draft-kunze-ark-38, 5.1.2).

    *control* is the answer to the same inflection for a name that can't exist at the same resolver.
    """
    asked = INFLECTIONS[answer.question]
    refusal = _refusal(answer, object_answer, asked)
    if refusal:
        return refusal
    if answer.record is not None:
        return _judge_record(answer, object_answer, asked, control)
    return _judge_page(answer, object_answer, asked, control)


def _verdict(outcome: MetadataOutcome, *evidence: str, parsed: Mapping[str, Any] | None = None) -> ServiceVerdict:
    return ServiceVerdict(outcome.value, evidence, parsed or {})


def _refusal(answer: Observation, object_answer: Observation, asked: str) -> ServiceVerdict | None:
    """The verdict when there is no successful answer to look at."""
    if answer.end is ChainEnd.ROBOTS:
        return _verdict(MetadataOutcome.BLOCKED, f"robots.txt forbids asking {asked}")
    if answer.end is not ChainEnd.ANSWERED or answer.status is None:
        return _verdict(MetadataOutcome.UNDETERMINED, f"{asked}: no answer ({answer.end.value})")
    thump = _thump_code(answer)
    if answer.status in SUCCESSES and thump is not None and thump >= 400:
        return _verdict(MetadataOutcome.UNSUPPORTED, f"{asked} was answered {answer.status}, but THUMP-Status {thump}")
    if answer.status in SUCCESSES:
        return None
    if answer.status in BLOCKED:
        return _verdict(MetadataOutcome.BLOCKED, f"{asked} was answered {answer.status}")
    works = object_answer.status in SUCCESSES
    if works and answer.status in _REFUSALS_OF_THE_QUESTION:
        return _verdict(
            MetadataOutcome.UNSUPPORTED,
            f"{asked} was answered {answer.status}, while the object itself answers",
        )
    return _verdict(MetadataOutcome.UNDETERMINED, f"{asked} was answered {answer.status}")


def _thump_code(answer: Observation) -> int | None:
    """The code of a THUMP-Status header (``0.6 200 OK``), which outweighs the HTTP status (2023, 5.2)."""
    found = re.match(r"\s*\S+\s+(\d{3})\b", answer.hops[-1].headers.get("THUMP-Status", ""))
    return int(found[1]) if found else None


def _judge_record(
    answer: Observation, object_answer: Observation, asked: str, control: Observation | None
) -> ServiceVerdict:
    record = answer.record or {}
    if "registry" in record or _names_only_a_namespace(record):
        return _verdict(
            MetadataOutcome.REGISTRY_LEVEL,
            f"{asked} gave a record about the NAAN or shoulder, not the object",
        )
    if (
        control is not None
        and control.record is not None
        and _told_the_same(record, control.record, _name(answer.asked_url), _name(control.asked_url))
    ):
        return _verdict(
            MetadataOutcome.ANSWERS_ANYTHING,
            f"{asked} gave a record, but the same one for a name that can't exist ({control.asked_url})",
        )
    if "json" in record and (again := _again(answer, object_answer, asked)):
        return again
    kind = MetadataOutcome.STRUCTURED if "json" in record else MetadataOutcome.ERC
    evidence = [f"{asked} gave {answer.media_type or 'an untyped body'} with " + _told(record)]
    if _names(record, answer.ark):
        evidence.append("the record names this ARK")
    elif (other := _other_ark(record, answer.ark)) is not None:
        evidence.append(f"the record names another ARK: {other}")
    return _verdict(kind, *evidence, parsed=record.get("erc", record.get("json", {})))


def _judge_page(
    answer: Observation, object_answer: Observation, asked: str, control: Observation | None
) -> ServiceVerdict:
    """The verdict about a successful answer that is no record: a page, or the object itself."""
    if again := _again(answer, object_answer, asked):
        return again
    if control is not None and control.status in SUCCESSES and _same_answer(answer, control):
        return _verdict(
            MetadataOutcome.ANSWERS_ANYTHING,
            f"{asked} gave a page, but the same one for a name that can't exist ({control.asked_url})",
        )
    if answer.text is None:
        kind = answer.media_type or "an untyped body"
        return _verdict(MetadataOutcome.UNDETERMINED, f"{asked} gave {kind}, which was not read")
    text = answer.text
    told = {word["label"].lower() for word in _LABELLED.finditer(text)}
    same_title = bool(answer.title) and answer.title == object_answer.title
    if told and same_title and told <= {word["label"].lower() for word in _LABELLED.finditer(object_answer.text or "")}:
        return _verdict(
            MetadataOutcome.QUERY_IGNORED, f"{asked} gave a page that tells what the object's own page tells"
        )
    told |= {"who", "what", "when"} if _KERNEL.search(text) else set()
    if len(told) >= 3 and _mentions(text, answer.ark) and not _NO_DESCRIPTION.search(f"{answer.title} {text[:60]}"):
        return _verdict(MetadataOutcome.HTML, f"{asked} gave a page that tells {', '.join(sorted(told))}")
    if lost := _lost_at(answer, asked):
        return _verdict(MetadataOutcome.QUERY_DROPPED, f"{asked} was lost in the redirect from {lost}")
    return _verdict(
        MetadataOutcome.UNDETERMINED,
        f"{asked} gave another page than the object, but no description could be read",
    )


def _again(answer: Observation, object_answer: Observation, asked: str) -> ServiceVerdict | None:
    """The verdict when the answer is the object's own: ignored at the end of the chain, or lost on the way."""
    if not _is_object_again(answer, object_answer):
        return None
    if lost := _lost_at(answer, asked):
        return _verdict(MetadataOutcome.QUERY_DROPPED, f"{asked} was lost in the redirect from {lost}")
    return _verdict(MetadataOutcome.QUERY_IGNORED, f"{asked} gave the object's own answer again")


def _same_answer(answer: Observation, control: Observation) -> bool:
    return same_page(answer.text, control.text, _name(answer.asked_url), _name(control.asked_url))


def _name(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _lost_at(answer: Observation, asked: str) -> str | None:
    """The URL of the hop whose redirect forgot the inflection, if one did."""
    for hop, following in zip(answer.hops, answer.hops[1:], strict=False):
        if hop.url.endswith(asked) and asked.strip("?") not in following.url.partition("?")[2]:
            return hop.url
        if asked in ("?", "??") and hop.url.endswith(asked) and "?" not in following.url:
            return hop.url
    return None


def _is_object_again(answer: Observation, object_answer: Observation) -> bool:
    """The same final URL apart from its query, or the same body, or a text that is nearly the same."""
    if answer.body_sha256 and answer.body_sha256 == object_answer.body_sha256:
        return True
    if answer.text and (answer.text, answer.title) == (object_answer.text, object_answer.title):
        return True
    if answer.text is None or object_answer.text is None:
        return False  # a body that was not read is no evidence
    same_place = answer.final_url.partition("?")[0] == object_answer.final_url.partition("?")[0]
    if same_place and answer.media_type == object_answer.media_type:
        return same_page(answer.text, object_answer.text)
    return bool(answer.text) and same_page(answer.text, object_answer.text)


def _told(record: Mapping[str, Mapping[str, str]]) -> str:
    labels = [label for label in ("who", "what", "when", "where") if label in record.get("erc", {})]
    return ", ".join(labels) if labels else f"{sum(len(segment) for segment in record.values())} fields"


def _arks(text: str) -> list[Ark]:
    return [mention.ark for mention in find_arks(text)]


def _mentions(text: str, ark: str) -> bool:
    return any(str(found) == ark for found in _arks(text))


def _anchoring(record: Mapping[str, Mapping[str, str]]) -> str:
    """What the record calls its object: ``where`` of the anchoring segment, or every value of a structured one."""
    if "erc" in record:
        return record["erc"].get("where", "")
    return "\n".join(value for segment in record.values() for value in segment.values())


def _names(record: Mapping[str, Mapping[str, str]], ark: str) -> bool:
    return _mentions(_anchoring(record), ark)


def _other_ark(record: Mapping[str, Mapping[str, str]], ark: str) -> str | None:
    """Another ARK than *ark* in the anchoring ``where``; parts of one object are not others."""
    try:
        base = Ark.parse(ark).base
    except NotAnArk:
        return None
    found = _arks(record.get("erc", {}).get("where", ""))
    return next((str(other) for other in found if other.base != base), None)


def _names_only_a_namespace(record: Mapping[str, Mapping[str, str]]) -> bool:
    told = record.get("erc") or record.get("json") or {}
    return any(_NAMESPACE.fullmatch(told.get(label, "").strip()) for label in ("what", "where"))


def _told_the_same(record: Mapping[str, Any], control: Mapping[str, Any], *names: str) -> bool:
    """Whether two records differ in nothing but where the object is, what it is called, and numbers and clocks."""

    def told(of: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        return sorted(
            (segment, label, " ".join(re.sub(r"\d+", "", _ANY_ARK.sub("", _nameless(value))).split()))
            for segment, labels in of.items()
            for label, value in labels.items()
            if label not in ("where", "id", "@id", "identifier")
        )

    def _nameless(value: str) -> str:
        for name in names:
            value = value.replace(name, "")
        return value

    return told(record) == told(control)


def judge_commitment(answers: Mapping[Question, Observation], metadata: ServiceVerdict) -> ServiceVerdict:
    """What the provider promises, as the genuine answers to ``?info`` and ``??`` state it (5.1.1).

    An answer to ``?`` can't show that there is none; ``Not Guaranteed`` is a statement, not its absence.
    """
    asked = [question for question in (Question.INFO, Question.DOUBLE) if question in answers]
    if not asked:
        return ServiceVerdict(CommitmentOutcome.NOT_ASKED.value)
    if MetadataOutcome(metadata.outcome) not in DESCRIBED:
        return ServiceVerdict(
            CommitmentOutcome.UNDETERMINED.value, ("no genuine metadata answer, so nothing could be read",)
        )
    for question in asked:
        statement = _statement(answers[question].record or {})
        if statement is not None:
            return _judge_statement(statement, INFLECTIONS[question])
    if all(answers[question].record is None for question in asked):
        return ServiceVerdict(CommitmentOutcome.UNDETERMINED.value, ("a page was answered, not a record",))
    return ServiceVerdict(
        CommitmentOutcome.ABSENT.value,
        (f"the record behind {INFLECTIONS[asked[-1]]} says nothing of a commitment",),
    )


def _statement(record: Mapping[str, Mapping[str, str]]) -> Mapping[str, str] | None:
    if "erc-support" in record:
        return record["erc-support"]
    policy = record.get("erc", {}).get("policy")
    return None if policy is None else {"what": policy}


def _judge_statement(statement: Mapping[str, str], asked: str) -> ServiceVerdict:
    what = statement.get("what", "").strip().rstrip(":")
    code = missing_code(what)
    if code in ("unap", "unal"):
        return ServiceVerdict(
            CommitmentOutcome.STATED.value,
            (f"{asked} states on purpose that there is none",),
            dict(statement),
        )
    if code or _PLACEHOLDER.match(what):
        return ServiceVerdict(
            CommitmentOutcome.PLACEHOLDER.value,
            (f"{asked} gave a statement that says nothing: {what!r}",),
            dict(statement),
        )
    level = _LEVEL.search(what)
    words = f"{asked} states {level.group() if level else 'a commitment'}: {what}"
    return ServiceVerdict(CommitmentOutcome.STATED.value, (words,), dict(statement))
