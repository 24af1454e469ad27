"""Other spellings of an ARK that resolves: their URLs, and the findings from the answers. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import INFLECTIONS, SUCCESSES, asked_url, resolver_of, with_other_label
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL

#: The questions with other spellings of an ARK, which show whether the resolver answers equal ARKs alike
#: (draft-castelan-ark-uri, 7.1).
SPELLINGS = (
    Question.OTHER_LABEL,
    Question.UPPER_LABEL,
    Question.HYPHENS,
    Question.EXTRA_HYPHEN,
    Question.DOUBLED_SLASH,
    Question.TRAILING_SLASH,
    Question.TRAILING_DOT,
    Question.UNKNOWN_QUALIFIER,
    Question.QUALIFIED_INFO,
    Question.LONG_NAME,
)
#: The length of name and qualifier in bytes that a resolver must accept (draft-kunze-ark-38, 3.1).
MAX_BYTES = 255
#: A component that no object has.
_UNKNOWN_COMPONENT = "zzqqxx"


class SpellingTreatment(StrEnum):
    """The answer to another form of an ARK, compared with that to the ARK as written."""

    SAME = "same"
    """The same answer: for the resolver, both forms are one ARK."""
    OTHER = "other"
    """A success, but with another final URL or page."""
    REFUSED = "refused"
    """A refusal: not found, or a bad request."""
    UNDETERMINED = "undetermined"
    """No answer, or no answer that can be compared."""


#: Forms that mean another ARK; all others are equal, and a resolver must treat them alike (draft-kunze-ark-38, 3.2).
NOT_EQUAL = frozenset({Question.UNKNOWN_QUALIFIER, Question.QUALIFIED_INFO, Question.LONG_NAME})
_REFUSALS = frozenset({400, 404, 405, 406, 410, 414, 422, 501})


@dataclass(frozen=True, slots=True)
class SpellingAnswer:
    """The fields of an answer that a comparison of forms uses."""

    asked_url: str
    end: ChainEnd
    status: int | None
    final_url: str
    media_type: str | None = None
    title: str | None = None
    body_bytes: int | None = None

    @classmethod
    def from_observation(cls, observation: Observation) -> SpellingAnswer:
        """Return these fields of *observation*."""
        return cls(**{column.name: getattr(observation, column.name) for column in fields(cls)})

    @property
    def is_success(self) -> bool:
        """True if the chain ends with a success (draft-castelan-ark-uri, 7.1.3)."""
        return self.end is ChainEnd.NON_WEB or (self.end is ChainEnd.ANSWERED and self.status in SUCCESSES)

    @property
    def is_redirected(self) -> bool:
        """True if the final URL differs from the requested one."""
        return self.final_url != self.asked_url


@dataclass(frozen=True, slots=True)
class SpellingFinding:
    """How a resolver treats one spelling of an ARK, if the drafts allow that, and the reason for this judgement."""

    treatment: SpellingTreatment
    is_conforming: bool | None
    """True if the treatment conforms to the drafts; None if these leave it open, or if no comparison was possible."""
    reason: str


def forms(url: str, ark: Ark) -> Iterator[tuple[Question, str]]:
    """Yield the questions about other spellings of *ark*, each with the URL that requests it in place of *url*.

    >>> dict(forms("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84")))[Question.UPPER_LABEL]
    'https://n2t.net/ARK:/12148/btv1b84'
    """
    for question in SPELLINGS:
        other_url = form_url(url, ark, question)
        if other_url is not None and other_url != url:
            yield question, other_url


def form_url(url: str, ark: Ark, question: Question) -> str | None:
    """Return *url*, which requests *ark*, with the ARK in the form of *question*; None if there is no such form.

    >>> form_url("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84"), Question.EXTRA_HYPHEN)
    'https://n2t.net/ark:/12148/btv1-b84'
    """
    label = LABEL.search(url)
    if label is None or "?" in url:
        return None
    match question:
        case Question.OTHER_LABEL:
            return with_other_label(url)
        case Question.UPPER_LABEL:
            return url[: label.start()] + label[0].upper() + url[label.end() :]
        case Question.HYPHENS:
            return asked_url(url, question)
        case Question.EXTRA_HYPHEN:
            name_start = url.find("/" + ark.name, len(resolver_of(url))) + 1
            hyphen_position = name_start + (len(ark.name) + 1) // 2
            if (
                name_start <= 0 or len(ark.name) < 2 or "%" in url[hyphen_position - 2 : hyphen_position]
            ):  # no hyphen inside an escape
                return None
            return f"{url[:hyphen_position]}-{url[hyphen_position:]}"
        case Question.DOUBLED_SLASH:
            naan_end = url.find("/", label.end())
            return None if naan_end < 0 else f"{url[:naan_end]}/{url[naan_end:]}"
        case Question.TRAILING_SLASH:
            return url.rstrip("/") + "/"
        case Question.TRAILING_DOT:
            return url.rstrip(".") + "."
        case Question.UNKNOWN_QUALIFIER:
            return f"{url}/{_UNKNOWN_COMPONENT}"
        case Question.QUALIFIED_INFO:
            return f"{url}/{_UNKNOWN_COMPONENT}{INFLECTIONS[Question.INFO]}"
        case Question.LONG_NAME:
            # A component that makes name and qualifier as long as a resolver must accept.
            name = url[label.end() :].lstrip("/").partition("/")[2]
            missing_bytes = MAX_BYTES - len(name) - 1
            return f"{url}/{'z' * missing_bytes}" if missing_bytes > 0 else None
    return None


def judge_form(question: Question, form_answer: SpellingAnswer, object_answer: SpellingAnswer) -> SpellingFinding:
    """Return the finding about the form of *question* from its answer and the *object_answer* for the ARK as written."""
    if not object_answer.is_success:
        return _no_judgement("the ARK as found does not resolve, so nothing can be compared")
    if form_answer.end is not ChainEnd.ANSWERED and not form_answer.is_success:
        if question is Question.LONG_NAME and form_answer.end is ChainEnd.RESET:
            return _refusal("the host broke off the connection; only 414 would be acceptable", conforms=False)
        return _no_judgement(f"no answer: {form_answer.end.value}")
    if question is Question.LONG_NAME:
        if form_answer.status in (400, 414, 431) or (form_answer.status or 0) >= 500:
            return _refusal(f"answered {form_answer.status} for a length that must be accepted", conforms=False)
        reason = f"accepted: answered {form_answer.status or 'with a redirect out of the web'}"
        return SpellingFinding(SpellingTreatment.SAME, True, reason)
    if form_answer.is_success:
        is_equal = question not in NOT_EQUAL
        if _is_same_success(form_answer, object_answer):
            same_words = "for the ARK as found" if is_equal else "without the qualifier"
            return SpellingFinding(
                SpellingTreatment.SAME, True if is_equal else None, f"the same answer as {same_words}"
            )
        reason = f"passed on to {form_answer.final_url}" if form_answer.is_redirected else "an answer of its own"
        if is_equal:
            reason = f"a success, but another one: {form_answer.final_url}"
        return SpellingFinding(SpellingTreatment.OTHER, None, reason)
    if form_answer.status not in _REFUSALS:
        return _no_judgement(f"answered {form_answer.status}, which shows nothing about the form")
    if question not in NOT_EQUAL:
        return _refusal(f"answered {form_answer.status}, though it means the same ARK", conforms=False)
    return _refusal(f"answered {form_answer.status}: unknown qualifiers are not passed on", conforms=None)


def _no_judgement(reason: str) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.UNDETERMINED, None, reason)


def _refusal(reason: str, *, conforms: bool | None) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.REFUSED, conforms, reason)


def _is_same_success(form_answer: SpellingAnswer, object_answer: SpellingAnswer) -> bool:
    """Return True if two successes have the same final URL after redirects, or else the same title or size."""
    if object_answer.is_redirected and form_answer.is_redirected:
        return form_answer.final_url.partition("?")[0] == object_answer.final_url.partition("?")[0]
    if (form_answer.status, form_answer.media_type) != (object_answer.status, object_answer.media_type):
        return False
    if object_answer.title or form_answer.title:
        return form_answer.title == object_answer.title
    return form_answer.body_bytes is not None and form_answer.body_bytes == object_answer.body_bytes
