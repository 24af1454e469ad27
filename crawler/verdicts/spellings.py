"""Pure: does a resolver treat equal spellings of an ARK alike? Which URLs ask that, and what their answers show.

Asked about one ARK that resolves, once a resolver and shoulder (draft-castelan-ark-uri, 7.1; draft-kunze-ark-38, 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from crawler.asking.questions import with_other_label
from crawler.model.observations import CONFORMANCE, ChainEnd, Observation, Question
from crawler.model.resolving import INFLECTIONS, SUCCESSES, asked_url, resolver_of
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL

#: Shoulders of one resolver that are looked at.
SHOULDERS_A_RESOLVER = 4
#: Octets that a name with its qualifier may have, at least, before a resolver may refuse it (2023, 3.1).
LONGEST = 255
#: A component that no object has; its letters spell nothing.
_UNKNOWN = "zzqqxx"


class SpellingTreatment(StrEnum):
    """The treatment of another form of an ARK, next to the form in which it was found."""

    SAME = "same"
    """With the same answer: the two forms are one ARK to this resolver."""
    OTHER = "other"
    """With another success than the form as found."""
    REFUSED = "refused"
    """Not at all: as not found, or as a bad request."""
    UNDETERMINED = "undetermined"
    """No answer, or none that allows a comparison."""


#: Forms of one and the same ARK, which a resolver must treat alike (2023, 3.2).
_EQUAL = frozenset(
    {
        Question.OTHER_LABEL,
        Question.UPPER_LABEL,
        Question.HYPHENS,
        Question.EXTRA_HYPHEN,
        Question.DOUBLED_SLASH,
        Question.TRAILING_SLASH,
        Question.TRAILING_DOT,
    }
)
_REFUSALS = frozenset({400, 404, 405, 406, 410, 414, 422, 501})


@dataclass(frozen=True, slots=True)
class SpellingAnswer:
    """As much of an answer as says whether two are alike."""

    asked_url: str
    end: ChainEnd
    status: int | None
    final_url: str
    media_type: str | None = None
    title: str | None = None
    body_bytes: int | None = None

    @classmethod
    def of(cls, observation: Observation) -> SpellingAnswer:
        """Return what *observation* has of it."""
        return cls(
            asked_url=observation.asked_url,
            end=observation.end,
            status=observation.status,
            final_url=observation.final_url,
            media_type=observation.media_type,
            title=observation.title,
            body_bytes=observation.body_bytes,
        )

    @property
    def succeeds(self) -> bool:
        """True if the chain ends in success (2020, 7.1.3)."""
        return self.end is ChainEnd.NON_WEB or (self.end is ChainEnd.ANSWERED and self.status in SUCCESSES)

    @property
    def was_redirected(self) -> bool:
        """True if something else than what was asked for has answered."""
        return self.final_url != self.asked_url


@dataclass(frozen=True, slots=True)
class SpellingFinding:
    """The finding about one form: its treatment, what that means for the rules, and why."""

    treatment: SpellingTreatment
    conforms: bool | None
    """Whether this is as the specifications ask; None where they leave it open, or where nothing was seen."""
    reason: str


def forms(url: str, ark: Ark) -> Iterator[tuple[Question, str]]:
    """The questions about the resolver after *url* that *ark* can serve for, each with the URL that puts it.

    >>> dict(forms("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84")))[Question.UPPER_LABEL]
    'https://n2t.net/ARK:/12148/btv1b84'
    """
    for question in CONFORMANCE:
        asked = form_url(url, ark, question)
        if asked is not None and asked != url:
            yield question, asked


def form_url(url: str, ark: Ark, question: Question) -> str | None:
    """The URL that asks for *ark* in another form than *url* does; None where that form makes no sense.

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
            return _with_hyphen(url, ark)
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
            return _longest(url, label.end())
    return None


def _with_hyphen(url: str, ark: Ark) -> str | None:
    """*url* with a hyphen in the middle of the name; None where the name has one, or can't hold one."""
    resolver = resolver_of(url)
    name_at = url.find("/" + ark.name, len(resolver)) + 1
    if name_at <= 0 or len(ark.name) < 2:
        return None
    middle = name_at + (len(ark.name) + 1) // 2
    inside_escape = "%" in url[middle - 2 : middle]
    return None if inside_escape else f"{url[:middle]}-{url[middle:]}"


def _longest(url: str, label_end: int) -> str | None:
    """*url* with a component that makes name and qualifier as long as a resolver must accept."""
    name = url[label_end:].lstrip("/").partition("/")[2]
    missing = LONGEST - len(name) - 1
    return f"{url}/{'z' * missing}" if missing > 0 else None


def judge_form(question: Question, reply: SpellingAnswer, plain: SpellingAnswer) -> SpellingFinding:
    """Return how the form after *question* was treated next to the *plain* one, which resolves."""
    if not plain.succeeds:
        return SpellingFinding(
            SpellingTreatment.UNDETERMINED, None, "the ARK as found does not resolve, so nothing can be compared"
        )
    if reply.end is not ChainEnd.ANSWERED and not reply.succeeds:
        if question is Question.LONG_NAME and reply.end is ChainEnd.RESET:
            return SpellingFinding(
                SpellingTreatment.REFUSED, False, "the host broke off; it should have said 414 at most"
            )
        return SpellingFinding(SpellingTreatment.UNDETERMINED, None, f"no answer: {reply.end.value}")
    if question is Question.LONG_NAME:
        return _judge_long(reply)
    if reply.succeeds:
        return _judge_success(question, reply, plain)
    if reply.status in _REFUSALS:
        return _judge_refusal(question, reply)
    return SpellingFinding(
        SpellingTreatment.UNDETERMINED, None, f"answered {reply.status}, which says nothing of the form"
    )


def _judge_success(question: Question, reply: SpellingAnswer, plain: SpellingAnswer) -> SpellingFinding:
    if _is_same(reply, plain):
        if question in _EQUAL:
            return SpellingFinding(SpellingTreatment.SAME, True, "the same answer as for the ARK as found")
        return SpellingFinding(SpellingTreatment.SAME, None, "the same answer as without the qualifier")
    if question in _EQUAL:
        return SpellingFinding(SpellingTreatment.OTHER, None, f"a success, but another one: {reply.final_url}")
    passed_on = f"passed on to {reply.final_url}" if reply.was_redirected else "an answer of its own"
    return SpellingFinding(SpellingTreatment.OTHER, None, passed_on)


def _judge_refusal(question: Question, reply: SpellingAnswer) -> SpellingFinding:
    if question in _EQUAL:
        return SpellingFinding(
            SpellingTreatment.REFUSED, False, f"answered {reply.status}, though it means the same ARK"
        )
    return SpellingFinding(
        SpellingTreatment.REFUSED, None, f"answered {reply.status}: what is not known is not passed on"
    )


def _judge_long(reply: SpellingAnswer) -> SpellingFinding:
    if reply.status in (400, 414, 431) or (reply.status or 0) >= 500:
        return SpellingFinding(
            SpellingTreatment.REFUSED, False, f"answered {reply.status} for a length that must be accepted"
        )
    return SpellingFinding(
        SpellingTreatment.SAME, True, f"accepted: answered {reply.status or 'with a redirect out of the web'}"
    )


def _is_same(reply: SpellingAnswer, plain: SpellingAnswer) -> bool:
    """Return whether two successes are one: by where they ended, else by what the page calls itself."""
    if plain.was_redirected and reply.was_redirected:
        return reply.final_url.partition("?")[0] == plain.final_url.partition("?")[0]
    if (reply.status, reply.media_type) != (plain.status, plain.media_type):
        return False
    if plain.title or reply.title:
        return reply.title == plain.title
    return reply.body_bytes is not None and reply.body_bytes == plain.body_bytes


#: The forms in words, for those who read a table.
FORMS: Mapping[Question, str] = {
    Question.OTHER_LABEL: "the other label form (ark: for ark:/, or the other way round)",
    Question.UPPER_LABEL: "the label in capitals",
    Question.HYPHENS: "the hyphens left out",
    Question.EXTRA_HYPHEN: "a hyphen in the name",
    Question.DOUBLED_SLASH: "a doubled slash behind the NAAN",
    Question.TRAILING_SLASH: "a slash at the end",
    Question.TRAILING_DOT: "a full stop at the end",
    Question.UNKNOWN_QUALIFIER: "a qualifier that it can't know",
    Question.QUALIFIED_INFO: "?info after such a qualifier",
    Question.LONG_NAME: "255 characters",
}
