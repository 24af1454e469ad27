"""Decide the meaning of a doubtful or mistyped ARK: the reading to request next, and the reading that works."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import same_answer
from crawler.answers.object_facts import ObjectFacts
from crawler.model.observations import Family, IntendedArk, ObjectOutcome, ServiceVerdict, StoredMention
from crawler.model.resolving import sendable
from crawler.verdicts.access import OBJECT_RULES
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.check_characters import NOTHING_DECLARED, Declared, suggestions
from extractors.model.normalize import LABEL
from extractors.model.offset_map import ODD_BLANK, WRAP, offset_map
from extractors.wraps.evidence import Evidence

# -- the choice between several readings of a damaged ARK, by the resolver's answer to each


@dataclass(frozen=True, slots=True)
class CandidateReading:
    """One ARK that a mention may mean, and the URL that requests it."""

    ark: Ark
    url: str

    @property
    def spelling(self) -> str:
        """The ARK as it is requested, with its hyphens.

        >>> CandidateReading(Ark("12148", "x57w"), "https://n2t.net/ark:/12148/x5-7w").spelling
        'ark:12148/x5-7w'
        """
        label = LABEL.search(self.url)
        return f"ark:{self.url[label.end() :]}" if label else str(self.ark)


class FormState(StrEnum):
    """The result of the object request for one reading of a mention."""

    UNASKED = "unasked"
    LIVES = "lives"
    FAILS = "fails"
    UNKNOWN = "unknown"
    """The host gave no answer, refuses programs, or answers the control in the same way."""


@dataclass(frozen=True)
class Form:
    """One reading of a mention with the resolver's answer. Lists of forms begin with the likeliest form."""

    reading: CandidateReading
    answer: AnswerFacts | None = None
    """The last answer to the object question at this form's own URL; None until it is requested."""
    control: AnswerFacts | None = None
    """The answer of the same resolver to a name that can't exist."""

    def __str__(self) -> str:
        return self.reading.spelling

    @property
    def ark(self) -> Ark:
        """The ARK of the reading."""
        return self.reading.ark

    @cached_property
    def verdict(self) -> ServiceVerdict[ObjectOutcome] | None:
        """The verdict on the answer, or None without an answer."""
        if self.answer is None:
            return None
        return OBJECT_RULES.judge(ObjectFacts(self.answer, self.control))

    @property
    def state(self) -> FormState:
        """The state of the reading, by the verdict on the answer."""
        if self.verdict is None:
            return FormState.UNASKED
        family = self.verdict.outcome.family
        return {Family.WORKS: FormState.LIVES, Family.FAILS: FormState.FAILS}.get(family, FormState.UNKNOWN)

    @property
    def own_locations(self) -> frozenset[str]:
        """The parts of the page that name this ARK, such as ``canonical``; perhaps only repetitions of the request."""
        return frozenset(self.answer.facts.locations_of(str(self.ark)) if self.answer is not None else ())

    @property
    def declares_itself(self) -> bool:
        """True if the page identifies itself as that of this ARK, and does not only repeat any requested name.

        The control's page must not name the control in the same part, such as ``canonical``.
        """
        return self.answer is not None and ObjectFacts(self.answer, self.control).declares_itself

    def extends(self, other: Form) -> bool:
        """Return True if the ARK of *other* is a proper beginning of this ARK."""
        return str(self.ark) != str(other.ark) and str(self.ark).startswith(str(other.ark))


@dataclass(frozen=True, slots=True)
class SettledReading:
    """The reading that works, or None, with the reasons in sentences for a librarian."""

    reading: CandidateReading | None
    evidence: tuple[str, ...]


def next_form(forms: Sequence[Form]) -> Form | None:
    """Return the form to request next, or None if no further answer would change the choice.

    *forms* are ordered by likelihood. The first form that works ends the search, with two exceptions. A longer form
    that begins with it is requested too. So is a shorter form that it begins with, unless the page identifies itself
    as the longer one. A truncated ARK often works, and so does an ARK with an extra word.

    >>> forms = [Form(CandidateReading(Ark("12148", name), f"https://r.example/{name}")) for name in ("bpt6", "bpt6k")]
    >>> next_form(forms) is forms[0]
    True
    """
    unasked = [form for form in forms if form.answer is None]
    # Most ARKs have one reading, and judging an answer takes time.
    if not unasked:
        return None
    states = [form.state for form in forms]
    living = [form for form, state in zip(forms, states, strict=True) if state is FormState.LIVES]
    if not living:
        return None if FormState.UNKNOWN in states else unasked[0]
    longest_living = max(living, key=_length)
    longer_forms = (form for form in unasked if any(form.extends(other) for other in living))
    shorter_forms = (form for form in unasked if longest_living.extends(form) and not longest_living.declares_itself)
    return next(longer_forms, None) or next(shorter_forms, None)


def arbitrate(forms: Sequence[Form]) -> SettledReading:
    """Return the longest reading that works and exists, with evidence; the reading is None if none works.

    A longer form exists if it gets another answer than the shorter ones, or if its page names it in places where theirs
    do not. A page that repeats any requested name proves nothing.
    """
    living = sorted((form for form in forms if form.state is FormState.LIVES), key=_length)
    if not living:
        states = {form.state for form in forms}
        is_open = FormState.UNKNOWN in states or states <= {FormState.UNASKED}
        result = "could be checked" if is_open else "works"
        return SettledReading(None, (f"no reading {result}", *_form_notes(forms)))
    chosen, *longer = living
    evidence: list[str] = []
    equal_forms: list[Form] = []
    for form in longer:
        assert form.answer is not None
        assert chosen.answer is not None
        is_like_it = form.extends(chosen) and form.own_locations <= chosen.own_locations
        if is_like_it and same_answer(form.answer, chosen.answer):
            evidence.append(f"{form} gets the answer of {chosen}: the resolver ignores the extra characters")
            equal_forms.append(form)
        else:
            chosen = form
    remaining_forms = [form for form in forms if form is not chosen and form not in equal_forms]
    return SettledReading(chosen.reading, (f"{chosen} works", *evidence, *_form_notes(remaining_forms)))


def _length(form: Form) -> int:
    return len(str(form.ark))


def _form_notes(forms: Sequence[Form]) -> tuple[str, ...]:
    notes = {
        FormState.UNASKED: "was not requested",
        FormState.LIVES: "works too",
        FormState.FAILS: "does not work",
        FormState.UNKNOWN: "could not be checked",
    }
    return tuple(f"{form} {notes[form.state]}" for form in forms)


# -- the other meaning of a hyphen at the end of a line: part of the name, or inserted by typesetting

_HYPHEN_AT_WRAP = re.compile(rf"-{WRAP}")
_NO_SIGN = re.compile(rf"[-{WRAP}{ODD_BLANK}]")


def other_hyphenation(as_written: str, repaired: str) -> str | None:
    """Return *repaired* with the opposite choice for each hyphen at a line wrap of *as_written*, or None.

    Both spellings are one ARK, but some resolvers treat hyphens as part of the name. None if no line of the name ends
    in a hyphen, or if more than hyphens and blanks was repaired. A soft hyphen always comes from typesetting.

    >>> other_hyphenation("r.example/ark:/12148/x5-\\n7w", "r.example/ark:/12148/x57w")
    'r.example/ark:/12148/x5-7w'
    >>> other_hyphenation("r.example/ark:/12148/x-5\\N{EN DASH}\\n7w", "r.example/ark:/12148/x-5-7w")
    'r.example/ark:/12148/x-57w'
    """
    offsets = offset_map(as_written)
    written_text, label = offsets.text, LABEL.search(repaired)
    if label is None or _NO_SIGN.sub("", written_text) != _NO_SIGN.sub("", repaired):
        return None
    respelled, is_changed = repaired, False
    typeset = offsets.repair_offsets("soft hyphen", 0, len(written_text))
    for wrap in reversed(list(_HYPHEN_AT_WRAP.finditer(written_text))):
        position = _position_after(repaired, len(_NO_SIGN.sub("", written_text[: wrap.start()])))
        if "/" not in repaired[label.end() : position] or wrap.start() in typeset:
            continue
        is_changed = True
        respelled = respelled[:position] + (
            respelled[position + 1 :] if respelled[position : position + 1] == "-" else "-" + respelled[position:]
        )
    return respelled if is_changed else None


def _position_after(text: str, sign_count: int) -> int:
    """Return the offset in *text* after its first *sign_count* characters that are not hyphens."""
    for position, char in enumerate(text):
        if sign_count == 0:
            return position
        sign_count -= char != "-"
    return len(text)


#: The number of suggested ARKs that are requested, one after the other, if a check character is wrong.
MOST_SUGGESTIONS = 2

# -- the readings to request


def other_readings(mentions: Iterable[StoredMention]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return the other readings of *mentions*, by the URL that requests the likeliest reading.

    The same ARK with the other hyphenation of its line wraps comes first, then the other ways to join or cut it.
    """
    readings_by_url: dict[str, dict[CandidateReading, None]] = {}
    for stored in mentions:
        mention, url = stored.mention, stored.request_url
        label = LABEL.search(url)
        if label is None or mention.ark.is_skipped:
            continue
        alternatives = list(_alternative_readings(mention, url))
        hyphenated = other_hyphenation(mention.as_written, mention.repaired)
        if hyphenated is not None and (hyphenated_label := LABEL.search(hyphenated)):
            hyphenated_url = sendable(_url_for_ark(url, hyphenated[hyphenated_label.start() :]))
            alternatives.insert(0, CandidateReading(mention.ark, hyphenated_url))
        if alternatives:
            readings_by_url.setdefault(url, {}).update(dict.fromkeys(alternatives))
    return {url: tuple(alternatives) for url, alternatives in readings_by_url.items()}


def readings_of_mentions(mentions: Iterable[tuple[Mention, str]]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return the alternative readings of *mentions* (pairs of mention and request URL), by request URL.

    Mentions without alternatives are left out.
    """
    by_url = {
        url: tuple(_alternative_readings(mention, url))
        for mention, url in mentions
        if LABEL.search(url) and not mention.ark.is_skipped
    }
    return {url: alternatives for url, alternatives in by_url.items() if alternatives}


def _alternative_readings(mention: Mention, url: str) -> Iterator[CandidateReading]:
    for text in mention.alternatives:
        yield CandidateReading(Ark.parse(text), _url_for_ark(url, text))


def readings_of(ark: Ark, url: str, alternatives: Iterable[CandidateReading] = ()) -> tuple[CandidateReading, ...]:
    """Return *ark* at *url*, then the *alternatives* at other URLs, except ARKs for examples."""
    likeliest = CandidateReading(ark, url)
    alternatives_by_url = {other.url: other for other in alternatives if other.url != url and not other.ark.is_skipped}
    return (likeliest, *alternatives_by_url.values())


def evidence_of_targets(
    targets: Iterable[tuple[Ark, str]], doubtful: Container[str], declared: Declared = NOTHING_DECLARED
) -> Evidence:
    """Return the evidence about check characters and shapes from the *targets* (ARK, request URL) of a run.

    Targets at *doubtful* URLs do not count. *declared* are the user's rules for check characters.
    """
    arks = (ark for ark, url in targets if not ark.is_skipped and url not in doubtful)
    return Evidence.from_arks(arks, declared=declared)


def suggested_readings(reading: CandidateReading, evidence: Evidence) -> tuple[CandidateReading, ...]:
    """Return corrections of a *reading* with a wrong check character, the likeliest first; empty without any.

    >>> [reading.url for reading in suggested_readings(CandidateReading(Ark("12148", "btv1b8449961v"), "https://r.example/ark:/12148/btv1b8449961v"),
    ...                                Evidence())]
    ['https://r.example/ark:/12148/btv1b8449961vz', 'https://r.example/ark:/12148/btv1b8449691v']
    """
    if LABEL.search(reading.url) is None:
        return ()
    shapes = evidence.shapes
    best_suggestions = suggestions(
        reading.ark,
        zones=evidence.zones,
        is_allowed=shapes.allows,
        occurs_elsewhere=evidence.has_whole_ark,
        limit=MOST_SUGGESTIONS,
    )
    return tuple(
        CandidateReading(suggestion.ark, _url_for_ark(reading.url, str(suggestion.ark)))
        for suggestion in best_suggestions
    )


def _url_for_ark(url: str, ark: str) -> str:
    """Return the URL that requests *ark* in place of the ARK in *url*, with the same form of the label.

    >>> _url_for_ark("https://n2t.net/ark:/12148/x5y", "ark:12148/x5")
    'https://n2t.net/ark:/12148/x5'
    """
    url_label, ark_label = LABEL.search(url), LABEL.search(ark)
    # Typesetting in capitals also changed the label.
    if url_label and url_label[0].isupper() and ark == ark.lower():
        return url[: url_label.start()] + url_label[0].lower() + ark[ark_label.end() if ark_label else 0 :]
    return url[: url_label.end() if url_label else len(url)] + ark[ark_label.end() if ark_label else 0 :]


# -- the next request


def next_reading(
    forms: Sequence[Form], suggested: Sequence[Form], pending: Collection[str]
) -> tuple[CandidateReading | None, bool]:
    """Return the reading to request next, or None, and True if an answer must arrive first.

    *forms* are the readings of a mention. The ARKs in *suggested* are requested when all readings fail. *pending* are the
    URLs whose answers have not arrived.
    """
    if any(form.reading.url in pending for form in forms):
        return None, True
    next_choice = next_form(forms)
    if next_choice is not None:
        return next_choice.reading, False
    all_fail = bool(forms) and all(form.state is FormState.FAILS for form in forms)
    for form in suggested if all_fail else ():
        if form.reading.url in pending:
            return None, True
        if form.answer is None:
            return form.reading, False
        if form.state is FormState.LIVES:
            break
    return None, False


# -- the reading that works


def settle(forms: Sequence[Form]) -> SettledReading | None:
    """Return the choice between several readings; None for a single reading, or while an answer is missing."""
    if len(forms) < 2 or forms[0].state is FormState.UNASKED or next_form(forms) is not None:
        return None
    return arbitrate(forms)


def intended_ark(forms: Sequence[Form], suggested: Sequence[Form]) -> IntendedArk | None:
    """Return the ARK that was probably meant by one that fails, the first of *forms*, or None.

    If one of the other *forms* works, it is the form in lower case. Otherwise it is the first of *suggested* that works.
    *suggested* are corrections of a wrong check character.
    """
    written_form, *alternatives = forms
    if written_form.state is not FormState.FAILS:
        return None
    living_alternatives = [form for form in alternatives if form.state is FormState.LIVES]
    lowercase_forms = [form for form in living_alternatives if str(form.ark) == str(written_form.ark).lower()]
    choice = next(
        (form for form in (lowercase_forms if living_alternatives else suggested) if form.state is FormState.LIVES),
        None,
    )
    if choice is None or choice.verdict is None:
        return None
    reason = f"the check character of {choice.ark} is correct"
    if living_alternatives:
        reason = "it is written in capitals, and names are case-sensitive"
    return IntendedArk(choice.ark, choice.reading.url, (reason, *choice.verdict.evidence))
