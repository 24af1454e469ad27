"""Other spellings of an ARK that resolves: their URLs, and the findings from the answers. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import INFLECTIONS, SUCCESSES, asked_url, resolver_of, with_other_label
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL

#: The questions with other spellings of an ARK, which show whether the resolver treats equal ARKs alike (2020, 7.1).
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
#: The length of name and qualifier in bytes that a resolver must accept (2023, 3.1).
LONGEST = 255
#: A component that no object has.
_UNKNOWN = "zzqqxx"


class SpellingTreatment(StrEnum):
    """The treatment of another form of an ARK, compared with the form as found."""

    SAME = "same"
    """The same answer: the resolver takes both forms as one ARK."""
    OTHER = "other"
    """Another success than for the form as found."""
    REFUSED = "refused"
    """Refused, as not found or as a bad request."""
    UNDETERMINED = "undetermined"
    """No answer, or no answer that can be compared."""


#: Forms that mean another ARK; all others are equal, and a resolver must treat them alike (2023, 3.2).
NOT_EQUAL = frozenset({Question.UNKNOWN_QUALIFIER, Question.QUALIFIED_INFO, Question.LONG_NAME})
_REFUSALS = frozenset({400, 404, 405, 406, 410, 414, 422, 501})


@dataclass(frozen=True, slots=True)
class SpellingAnswer:
    """The fields of an answer that are compared."""

    asked_url: str
    end: ChainEnd
    status: int | None
    final_url: str
    media_type: str | None = None
    title: str | None = None
    body_bytes: int | None = None

    @classmethod
    def from_observation(cls, observation: Observation) -> SpellingAnswer:
        """Return the fields of *observation*."""
        return cls(**{column.name: getattr(observation, column.name) for column in fields(cls)})

    @property
    def succeeds(self) -> bool:
        """True if the chain ends with a success (2020, 7.1.3)."""
        return self.end is ChainEnd.NON_WEB or (self.end is ChainEnd.ANSWERED and self.status in SUCCESSES)

    @property
    def was_redirected(self) -> bool:
        """True if the final URL differs from the requested one."""
        return self.final_url != self.asked_url


@dataclass(frozen=True, slots=True)
class SpellingFinding:
    """The finding about one form: its treatment, the conformance, and the reason."""

    treatment: SpellingTreatment
    conforms: bool | None
    """True if it conforms to the specifications; None if they leave it open, or if no comparison was possible."""
    reason: str


def forms(url: str, ark: Ark) -> Iterator[tuple[Question, str]]:
    """Yield the questions about the resolver of *url* that *ark* is suitable for, each with its URL.

    >>> dict(forms("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84")))[Question.UPPER_LABEL]
    'https://n2t.net/ARK:/12148/btv1b84'
    """
    for question in SPELLINGS:
        asked = form_url(url, ark, question)
        if asked is not None and asked != url:
            yield question, asked


def form_url(url: str, ark: Ark, question: Question) -> str | None:
    """Return the URL that requests *ark* in another form than *url*; None if that form makes no sense.

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
            name_at = url.find("/" + ark.name, len(resolver_of(url))) + 1
            middle = name_at + (len(ark.name) + 1) // 2
            if name_at <= 0 or len(ark.name) < 2 or "%" in url[middle - 2 : middle]:  # no hyphen inside an escape
                return None
            return f"{url[:middle]}-{url[middle:]}"
        case Question.DOUBLED_SLASH:
            naan_ends = url.find("/", label.end())
            return None if naan_ends < 0 else f"{url[:naan_ends]}/{url[naan_ends:]}"
        case Question.TRAILING_SLASH:
            return url.rstrip("/") + "/"
        case Question.TRAILING_DOT:
            return url.rstrip(".") + "."
        case Question.UNKNOWN_QUALIFIER:
            return f"{url}/{_UNKNOWN}"
        case Question.QUALIFIED_INFO:
            return f"{url}/{_UNKNOWN}{INFLECTIONS[Question.INFO]}"
        case Question.LONG_NAME:
            # A component that makes name and qualifier as long as a resolver must accept.
            name = url[label.end() :].lstrip("/").partition("/")[2]
            missing = LONGEST - len(name) - 1
            return f"{url}/{'z' * missing}" if missing > 0 else None
    return None


def judge_form(question: Question, reply: SpellingAnswer, plain: SpellingAnswer) -> SpellingFinding:
    """Return the finding about the form of *question*, compared with the *plain* form, which resolves."""
    if not plain.succeeds:
        return _unknown("the ARK as found does not resolve, so nothing can be compared")
    if reply.end is not ChainEnd.ANSWERED and not reply.succeeds:
        if question is Question.LONG_NAME and reply.end is ChainEnd.RESET:
            return _refusal("the host broke off the connection; only 414 would be acceptable", conforms=False)
        return _unknown(f"no answer: {reply.end.value}")
    if question is Question.LONG_NAME:
        if reply.status in (400, 414, 431) or (reply.status or 0) >= 500:
            return _refusal(f"answered {reply.status} for a length that must be accepted", conforms=False)
        words = f"accepted: answered {reply.status or 'with a redirect out of the web'}"
        return SpellingFinding(SpellingTreatment.SAME, True, words)
    if reply.succeeds:
        is_equal = question not in NOT_EQUAL
        if _is_same(reply, plain):
            same = "for the ARK as found" if is_equal else "without the qualifier"
            return SpellingFinding(SpellingTreatment.SAME, True if is_equal else None, f"the same answer as {same}")
        words = f"passed on to {reply.final_url}" if reply.was_redirected else "an answer of its own"
        if is_equal:
            words = f"a success, but another one: {reply.final_url}"
        return SpellingFinding(SpellingTreatment.OTHER, None, words)
    if reply.status not in _REFUSALS:
        return _unknown(f"answered {reply.status}, which shows nothing about the form")
    if question not in NOT_EQUAL:
        return _refusal(f"answered {reply.status}, though it means the same ARK", conforms=False)
    return _refusal(f"answered {reply.status}: unknown qualifiers are not passed on", conforms=None)


def _unknown(reason: str) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.UNDETERMINED, None, reason)


def _refusal(reason: str, *, conforms: bool | None) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.REFUSED, conforms, reason)


def _is_same(reply: SpellingAnswer, plain: SpellingAnswer) -> bool:
    """Return True if two successes are the same by their final URLs, or else by their titles or sizes."""
    if plain.was_redirected and reply.was_redirected:
        return reply.final_url.partition("?")[0] == plain.final_url.partition("?")[0]
    if (reply.status, reply.media_type) != (plain.status, plain.media_type):
        return False
    if plain.title or reply.title:
        return reply.title == plain.title
    return reply.body_bytes is not None and reply.body_bytes == plain.body_bytes
