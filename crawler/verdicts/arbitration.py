"""Pure: which of several readings of a damaged ARK lives, by what the resolver answers about each.

The likeliest is asked first, and the next only when that helps. A longer form that gets what a shorter one gets does
not truly exist: many resolvers hand what they don't know on to the target (suffix pass-through).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import same_answer
from crawler.answers.object_facts import ObjectFacts
from crawler.answers.subject import declares
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome, ServiceVerdict
from crawler.verdicts.access import judge_object
from extractors.ark import Ark
from extractors.normalize import NotAnArk


class FormState(StrEnum):
    """The meaning of an answer for the existence of one form."""

    UNASKED = "unasked"
    LIVES = "lives"
    FAILS = "fails"
    UNKNOWN = "unknown"
    """Nobody can say: the host gave no answer, keeps programs out, or tells the same of a name that can't exist."""


@dataclass(frozen=True)
class Form:
    """One reading of a mention, and what the resolver answered about it; the likeliest reading comes first."""

    ark: Ark
    answer: AnswerFacts | None = None
    """The last answer to the object question at this form's own URL; None while it has not been asked."""
    control: AnswerFacts | None = None
    """What the same resolver answers for a name that can't exist."""
    spelled: str = ""
    """The ARK as it was asked for, where that differs from its normal form."""

    def __str__(self) -> str:
        return self.spelled or str(self.ark)

    @cached_property
    def verdict(self) -> ServiceVerdict[ObjectOutcome] | None:
        """The verdict on the answer, if there is one."""
        return judge_object(ObjectFacts(self.answer, self.control)) if self.answer is not None else None

    @property
    def state(self) -> FormState:
        """True if this form exists, as far as the answer shows."""
        if self.verdict is None:
            return FormState.UNASKED
        family = FAMILY_OF[self.verdict.outcome]
        return {Family.WORKS: FormState.LIVES, Family.FAILS: FormState.FAILS}.get(family, FormState.UNKNOWN)

    @property
    def own_places(self) -> frozenset[str]:
        """Return where the page that answers names this very form; a page may just repeat what it was asked for."""
        return _places(self.answer, self.ark) if self.answer is not None else frozenset()

    @property
    def declares_itself(self) -> bool:
        """True if the page says that it is this form's, in a place where the control's page doesn't say so too."""
        echoed = _own_places(self.control)
        return declares(tuple(self.own_places - echoed))

    def extends(self, other: Form) -> bool:
        """Return whether *other* is the beginning of this form."""
        return str(self.ark) != str(other.ark) and str(self.ark).startswith(str(other.ark))


@dataclass(frozen=True, slots=True)
class Arbitration:
    """The form that lives, if one does, and why, in words for a librarian."""

    form: Form | None
    evidence: tuple[str, ...]


def next_form(forms: Sequence[Form]) -> Form | None:
    """The form to ask about next, or None when no further answer would change the arbitration.

    *forms* stand in the order of likelihood. The first that lives ends the search, except that a form which goes on
    where it ends is asked too, and so is its own beginning unless the page says that it is this form's: a truncated ARK
    often lives, and so does one with a word too many.

    >>> forms = [Form(Ark.parse("ark:12148/bpt6k1073")), Form(Ark.parse("ark:12148/bpt6k107371t"))]
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


def arbitrate(forms: Sequence[Form]) -> Arbitration:
    """Return which of *forms* lives: the longest that truly exists, or None when none does or nobody can say.

    A longer form exists truly when it gets another answer than the shorter ones get, or when its page names it where
    theirs don't name them: a page that repeats whatever it was asked for proves nothing.
    """
    living = sorted((form for form in forms if form.state is FormState.LIVES), key=_length)
    if not living:
        states = {form.state for form in forms}
        nobody_knows = FormState.UNKNOWN in states or states <= {FormState.UNASKED}
        words = "none of the readings could be settled" if nobody_knows else "none of the readings lives"
        return Arbitration(None, (words, *_form_notes(forms)))
    chosen, *longer = living
    evidence: list[str] = []
    passed_through: list[Form] = []
    for form in longer:
        if form.extends(chosen) and form.own_places <= chosen.own_places and _gets_the_same(form, chosen):
            evidence.append(f"{form} gets the answer of {chosen}: what is too much was passed through")
            passed_through.append(form)
        else:
            chosen = form
    others = [form for form in forms if form is not chosen and form not in passed_through]
    return Arbitration(chosen, (f"{chosen} lives", *evidence, *_form_notes(others)))


def did_you_mean(asked: Form, suggestions: Sequence[Form]) -> Form | None:
    """The first of *suggestions* that lives, when *asked* fails: a mistyped ARK's likely intention, never more.

    >>> did_you_mean(Form(Ark.parse("ark:12148/x5")), []) is None
    True
    """
    if asked.state is not FormState.FAILS:
        return None
    return next((form for form in suggestions if form.state is FormState.LIVES), None)


def _gets_the_same(longer: Form, shorter: Form) -> bool:
    """Return whether two forms get one answer; a target with the surplus at its end is the same target handed on."""
    if longer.answer is None or shorter.answer is None:
        return False
    return same_answer(longer.answer.seen, shorter.answer.seen)


def _own_places(control: AnswerFacts | None) -> frozenset[str]:
    """Return where the page for a name that can't exist names that very name."""
    try:
        return frozenset() if control is None else _places(control, Ark.parse(control.seen.asked_url))
    except NotAnArk:
        return frozenset()


def _places(answer: AnswerFacts, ark: Ark) -> frozenset[str]:
    return frozenset(answer.seen.facts.places_of(str(ark)))


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
