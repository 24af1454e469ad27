"""The last lines of a command's output: a list of problems with their places, the total, and the next step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.languages import ENGLISH, Language

#: The number of problems listed, and of places listed for each.
MOST_FAULTS = 10
MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem for a list, with the places that cite its ARK."""

    words: str
    """The problem in words, for example from `failing_words`."""
    places: Sequence[str] = ()
    """The places that cite the ARK."""
    should_be: str | None = None
    """The citation that is right, if known."""


def failing_words(ark: str, outcome: str, *, is_unreachable: bool, language: Language = ENGLISH) -> str:
    """Describe an ARK that fails, or whose host did not answer.

    >>> failing_words("ark:12148/x5", "timeout", is_unreachable=True)
    'ark:12148/x5 gave no answer today (timeout)'
    """
    if is_unreachable:
        return language.gettext("{ark} gave no answer today ({outcome})", ark=ark, outcome=outcome)
    return language.gettext("{ark} fails ({outcome})", ark=ark, outcome=outcome)


def fault_lines(faults: Sequence[Fault], count: int, language: Language = ENGLISH) -> Iterator[str]:
    """Yield a line for each of the first of *count* faults, and one for the others.

    >>> list(fault_lines([Fault("ark:12148/x5 fails (broken)", ["a.txt:1", "b.pdf, p. 2", "c.html", "d.html"])], 24))
    ['ark:12148/x5 fails (broken), cited in a.txt:1; b.pdf, p. 2; c.html; and 1 more', 'and 23 more']
    >>> next(fault_lines([Fault("ark:12148/x5 fails (broken)", ["a.txt:1"], "ark:12148/x7")], 1))
    'ark:12148/x5 fails (broken), cited in a.txt:1; it should be ark:12148/x7'
    """
    shown = faults[:MOST_FAULTS]
    for fault in shown:
        places, more = [*fault.places[:MOST_PLACES]], len(fault.places) - MOST_PLACES
        if more > 0:
            places.append(language.ngettext("and {number} more", "and {number} more", more))
        words = fault.words
        if places:
            words = language.gettext("{fault}, cited in {places}", fault=words, places="; ".join(places))
        if fault.should_be:
            words = language.gettext("{fault}; it should be {citation}", fault=words, citation=fault.should_be)
        yield words
    rest = count - len(shown)
    if rest:
        yield language.ngettext("and {number} more", "and {number} more", rest)


def next_words(command: str, language: Language = ENGLISH) -> str:
    """Return the command to run next, with its label."""
    return language.gettext("next: {command}", command=command)
