"""Pure: decide what a doubtful or mistyped ARK means: which reading to ask about next, and which of them lives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from crawler.answers.claims import declares
from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import same_answer
from crawler.answers.object_facts import ObjectFacts
from crawler.model.observations import Family, KeptMention, Meant, ObjectOutcome, ServiceVerdict
from crawler.model.resolving import sendable
from crawler.verdicts.access import OBJECT_RULES
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.check_characters import suggestions
from extractors.model.normalize import LABEL, NotAnArk
from extractors.model.offset_map import ODD_BLANK, WRAP, offset_map
from extractors.wraps.evidence import Evidence

# -- which of several readings of a damaged ARK lives, by what the resolver answers about each


@dataclass(frozen=True, slots=True)
class CandidateReading:
    """One ARK that a mention may mean, and where it is asked for."""

    ark: Ark
    url: str

    @property
    def spelled(self) -> str:
        """The ARK as it is asked for, hyphens included.

        >>> CandidateReading(Ark("12148", "x57w"), "https://n2t.net/ark:/12148/x5-7w").spelled
        'ark:12148/x5-7w'
        """
        label = LABEL.search(self.url)
        return f"ark:{self.url[label.end() :]}" if label else str(self.ark)


class FormState(StrEnum):
    """The meaning of an answer for the existence of one form."""

    UNASKED = "unasked"
    LIVES = "lives"
    FAILS = "fails"
    UNKNOWN = "unknown"
    """No one can say: the host gave no answer, keeps programs out, or says the same of a name that can't exist."""


@dataclass(frozen=True)
class Form:
    """One reading of a mention, and what the resolver answered about it; the likeliest reading comes first."""

    reading: CandidateReading
    answer: AnswerFacts | None = None
    """The last answer to the object question at this form's own URL; None while it has not been asked."""
    control: AnswerFacts | None = None
    """What the same resolver answers for a name that can't exist."""

    def __str__(self) -> str:
        return self.reading.spelled

    @property
    def ark(self) -> Ark:
        """The ARK that it is."""
        return self.reading.ark

    @cached_property
    def verdict(self) -> ServiceVerdict[ObjectOutcome] | None:
        """The verdict on the answer, if there is one."""
        if self.answer is None:
            return None
        return OBJECT_RULES.judge(ObjectFacts(self.answer, self.control))

    @property
    def state(self) -> FormState:
        """What the answer shows of this form's existence."""
        if self.verdict is None:
            return FormState.UNASKED
        family = self.verdict.outcome.family
        return {Family.WORKS: FormState.LIVES, Family.FAILS: FormState.FAILS}.get(family, FormState.UNKNOWN)

    @property
    def own_places(self) -> frozenset[str]:
        """Return where the page that answers names this very form; a page may just repeat what it was asked for."""
        return _places(self.answer, self.ark)

    @property
    def declares_itself(self) -> bool:
        """True if the page says that it is this form's, in a place where the control's page doesn't say so too."""
        echoed: frozenset[str] = frozenset()
        with suppress(NotAnArk):
            if self.control is not None:
                echoed = _places(self.control, Ark.parse(self.control.asked_url))
        return declares(self.own_places - echoed)

    def extends(self, other: Form) -> bool:
        """Return whether *other* is the beginning of this form."""
        return str(self.ark) != str(other.ark) and str(self.ark).startswith(str(other.ark))


@dataclass(frozen=True, slots=True)
class SettledReading:
    """The one of several readings that lives, if one does, and why, in words for a librarian."""

    reading: CandidateReading | None
    evidence: tuple[str, ...]


def next_form(forms: Sequence[Form]) -> Form | None:
    """The form to ask about next, or None when no further answer would change the arbitration.

    *forms* are in the order of likelihood. The first that lives ends the search, except that a form which goes on
    where it ends is asked too, and so is its own beginning unless the page says that it is this form's: a truncated ARK
    often lives, and so does one with a word too many.

    >>> forms = [Form(CandidateReading(Ark("12148", name), f"https://r.example/{name}")) for name in ("bpt6", "bpt6k")]
    >>> next_form(forms) is forms[0]
    True
    """
    unasked = [form for form in forms if form.answer is None]
    if not unasked:  # as with most ARKs, of which there is one reading; and to judge an answer takes its time
        return None
    states = [form.state for form in forms]
    living = [form for form, state in zip(forms, states, strict=True) if state is FormState.LIVES]
    if not living:
        return None if FormState.UNKNOWN in states else unasked[0]
    longest = max(living, key=_length)
    longer = (form for form in unasked if any(form.extends(other) for other in living))
    shorter = (form for form in unasked if longest.extends(form) and not longest.declares_itself)
    return next(longer, None) or next(shorter, None)


def arbitrate(forms: Sequence[Form]) -> SettledReading:
    """Return which of *forms* lives: the longest that truly exists, or None when none does or no one can say.

    A longer form exists truly when it gets another answer than the shorter ones get, or when its page names it where
    theirs don't name them: a page that repeats whatever it was asked for proves nothing.
    """
    living = sorted((form for form in forms if form.state is FormState.LIVES), key=_length)
    if not living:
        states = {form.state for form in forms}
        nobody_knows = FormState.UNKNOWN in states or states <= {FormState.UNASKED}
        what = "could be settled" if nobody_knows else "lives"
        return SettledReading(None, (f"none of the readings {what}", *_form_notes(forms)))
    chosen, *longer = living
    evidence: list[str] = []
    passed_through: list[Form] = []
    for form in longer:
        assert form.answer is not None
        assert chosen.answer is not None
        is_like_it = form.extends(chosen) and form.own_places <= chosen.own_places
        if is_like_it and same_answer(form.answer.seen, chosen.answer.seen):
            evidence.append(f"{form} gets the answer of {chosen}: what is too much was passed through")
            passed_through.append(form)
        else:
            chosen = form
    others = [form for form in forms if form is not chosen and form not in passed_through]
    return SettledReading(chosen.reading, (f"{chosen} lives", *evidence, *_form_notes(others)))


def did_you_mean(asked: Form, suggestions: Sequence[Form]) -> Form | None:
    """The first of *suggestions* that lives, when *asked* fails: a mistyped ARK's likely intention, never more.

    >>> did_you_mean(Form(CandidateReading(Ark("12148", "x5"), "https://r.example/")), []) is None
    True
    """
    if asked.state is not FormState.FAILS:
        return None
    return next((form for form in suggestions if form.state is FormState.LIVES), None)


def _places(answer: AnswerFacts | None, ark: Ark) -> frozenset[str]:
    return frozenset(answer.seen.facts.places_of(str(ark)) if answer is not None else ())


def _length(form: Form) -> int:
    return len(str(form.ark))


def _form_notes(forms: Sequence[Form]) -> tuple[str, ...]:
    words = {
        FormState.UNASKED: "was not asked",
        FormState.LIVES: "lives too",
        FormState.FAILS: "does not live",
        FormState.UNKNOWN: "could not be settled",
    }
    return tuple(f"{form} {words[form.state]}" for form in forms)


# -- the other way to read a hyphen at the end of a line: as a part of the name, or as the typesetter's

_HYPHEN_AT_WRAP = re.compile(rf"-{WRAP}")
_NO_SIGN = re.compile(rf"[-{WRAP}{ODD_BLANK}]")


def other_hyphenation(as_written: str, repaired: str) -> str | None:
    """*repaired* with the hyphens at the line wraps of *as_written* kept where it drops them, and the other way round.

    The two are one ARK, but some resolvers take hyphens for part of the name. None where no line ends so within the
    name, or where more than hyphens and blanks was repaired; a soft hyphen is always the typesetter's.

    >>> other_hyphenation("r.example/ark:/12148/x5-\\n7w", "r.example/ark:/12148/x57w")
    'r.example/ark:/12148/x5-7w'
    >>> other_hyphenation("r.example/ark:/12148/x-5\\N{EN DASH}\\n7w", "r.example/ark:/12148/x-5-7w")
    'r.example/ark:/12148/x-57w'
    """
    offsets = offset_map(as_written)
    written, label = offsets.text, LABEL.search(repaired)
    if label is None or _NO_SIGN.sub("", written) != _NO_SIGN.sub("", repaired):
        return None
    other, changed = repaired, False
    typeset = offsets.places("soft hyphen", 0, len(written))
    for wrap in reversed(list(_HYPHEN_AT_WRAP.finditer(written))):
        at = _place(repaired, len(_NO_SIGN.sub("", written[: wrap.start()])))
        if "/" not in repaired[label.end() : at] or wrap.start() in typeset:
            continue
        changed = True
        other = other[:at] + (other[at + 1 :] if other[at : at + 1] == "-" else "-" + other[at:])
    return other if changed else None


def _place(text: str, signs: int) -> int:
    """Return where in *text* the first so many characters that are no hyphens end."""
    for at, char in enumerate(text):
        if signs == 0:
            return at
        signs -= char != "-"
    return len(text)


#: So many of the ARKs that may have been meant, where a check character fails, are asked about; one after the other.
MEANT = 2

# -- what there is to ask about


def other_readings(mentions: Iterable[KeptMention]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return what else *mentions* may mean, by the URL that asks for the likeliest reading.

    The same with the other hyphenation of its line wraps comes first, then the other ways to join or cut it.
    """
    readings_by_url: dict[str, dict[CandidateReading, None]] = {}
    for kept in mentions:
        mention, url = kept.mention, kept.request_url
        label = LABEL.search(url)
        if label is None or mention.ark.is_skipped:
            continue
        others = list(_alternatives(mention, url))
        hyphenated = other_hyphenation(mention.as_written, mention.repaired)
        if hyphenated is not None and (at := LABEL.search(hyphenated)):
            again = sendable(_at(url, hyphenated[at.start() :]))
            others.insert(0, CandidateReading(mention.ark, again))
        if others:
            readings_by_url.setdefault(url, {}).update(dict.fromkeys(others))
    return {url: tuple(others) for url, others in readings_by_url.items()}


def readings_of_mentions(mentions: Iterable[tuple[Mention, str]]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return what else ARKs that were given one by one may mean, by the URL that asks for each."""
    by_url = {
        url: tuple(_alternatives(mention, url))
        for mention, url in mentions
        if LABEL.search(url) and not mention.ark.is_skipped
    }
    return {url: others for url, others in by_url.items() if others}


def _alternatives(mention: Mention, url: str) -> Iterator[CandidateReading]:
    for text in mention.alternatives:
        yield CandidateReading(Ark.parse(text), _at(url, text))


def readings_of(ark: Ark, url: str, others: Iterable[CandidateReading] = ()) -> tuple[CandidateReading, ...]:
    """The readings of a mention, the likeliest, which is asked for at *url*, first; examples are none."""
    first = CandidateReading(ark, url)
    rest = {other.url: other for other in others if other.url != url and not other.ark.is_skipped}
    return (first, *rest.values())


def learned(targets: Iterable[tuple[Ark, str]]) -> Evidence:
    """Return what the ARKs of a run say of their check characters and shapes."""
    return Evidence.of(ark for ark, _ in targets if not ark.is_skipped)


def meant_by(reading: CandidateReading, evidence: Evidence) -> tuple[CandidateReading, ...]:
    """Return what may have been meant by a *reading* whose check character fails, the likeliest first.

    >>> [each.url for each in meant_by(CandidateReading(Ark("12148", "btv1b8449961v"), "https://r.example/ark:/12148/btv1b8449961v"),
    ...                                Evidence())]
    ['https://r.example/ark:/12148/btv1b8449961vz', 'https://r.example/ark:/12148/btv1b8449691v']
    """
    if LABEL.search(reading.url) is None:
        return ()
    shapes = evidence.shapes
    suggested = suggestions(reading.ark, zones=evidence.zones, fits=shapes.allows, is_seen=evidence.holds, limit=MEANT)
    return tuple(CandidateReading(suggestion.ark, _at(reading.url, str(suggestion.ark))) for suggestion in suggested)


def _at(url: str, ark: str) -> str:
    """The URL that asks for *ark* where *url* asks for another, with the same form of the label.

    >>> _at("https://n2t.net/ark:/12148/x5y", "ark:12148/x5")
    'https://n2t.net/ark:/12148/x5'
    """
    there, here = LABEL.search(url), LABEL.search(ark)
    if there and there[0].isupper() and ark == ark.lower():  # what was set in capitals was so with its label
        return url[: there.start()] + there[0].lower() + ark[here.end() if here else 0 :]
    return url[: there.end() if there else len(url)] + ark[here.end() if here else 0 :]


# -- what to ask about next


def next_reading(
    forms: Sequence[Form], meant: Sequence[Form], pending: Collection[str]
) -> tuple[CandidateReading | None, bool]:
    """The reading to ask about next, if one helps, and whether to wait for the answer about one.

    *forms* are the readings of a mention; what was *meant* is asked about when every one of them fails. *pending* are
    the URLs of those whose answer is on its way.
    """
    if any(form.reading.url in pending for form in forms):
        return None, True
    following = next_form(forms)
    if following is not None:
        return following.reading, False
    all_fail = bool(forms) and all(form.state is FormState.FAILS for form in forms)
    for form in meant if all_fail else ():
        if form.reading.url in pending:
            return None, True
        if form.answer is None:
            return form.reading, False
        if form.state is FormState.LIVES:
            break
    return None, False


# -- what lives


def settled(forms: Sequence[Form]) -> SettledReading | None:
    """Return which of several readings lives; None while an answer is missing that would change it."""
    if len(forms) < 2 or forms[0].state is FormState.UNASKED or next_form(forms) is not None:
        return None
    return arbitrate(forms)


def meant_instead(forms: Sequence[Form], meant: Sequence[Form]) -> Meant | None:
    """The first ARK with a right check character that lives, where every reading of a mistyped one fails."""
    asked, *others = forms
    if any(form.state is FormState.LIVES for form in others):
        lowered = [form for form in others if str(form.ark) == str(asked.ark).lower()]
        choice = did_you_mean(asked, lowered)
        why = "it is all in capitals, and names are case-sensitive"
    else:
        choice = did_you_mean(asked, meant)
        why = f"the check character of {choice.ark} is right" if choice is not None else ""
    if choice is None or choice.verdict is None:
        return None
    return Meant(choice.ark, choice.reading.url, (why, *choice.verdict.evidence))
