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

    message: str
    """The problem, for example from `failing_words`."""
    places: Sequence[str] = ()
    """The places that cite the ARK."""
    should_be: str | None = None
    """The correct citation, or None if it is unknown."""


def failing_words(ark: str, outcome: str, *, is_unreachable: bool, language: Language = ENGLISH) -> str:
    """Return a message about an ARK that fails, or with *is_unreachable* about an ARK whose host did not answer.

    >>> failing_words("ark:12148/x5", "timeout", is_unreachable=True)
    'ark:12148/x5 gave no answer today (timeout)'
    """
    if is_unreachable:
        return language.gettext("{ark} gave no answer today ({outcome})", ark=ark, outcome=outcome)
    return language.gettext("{ark} fails ({outcome})", ark=ark, outcome=outcome)


def fault_lines(faults: Sequence[Fault], fault_count: int, language: Language = ENGLISH) -> Iterator[str]:
    """Yield lines for the first `MOST_FAULTS` of *faults*, then a line with the rest of *fault_count*, if any.

    >>> list(fault_lines([Fault("ark:12148/x5 fails (broken)", ["a.txt:1", "b.pdf, p. 2", "c.html", "d.html"])], 24))
    ['ark:12148/x5 fails (broken), cited in a.txt:1; b.pdf, p. 2; c.html; and 1 more', 'and 23 more']
    >>> next(fault_lines([Fault("ark:12148/x5 fails (broken)", ["a.txt:1"], "ark:12148/x7")], 1))
    'ark:12148/x5 fails (broken), cited in a.txt:1; it should be ark:12148/x7'
    """
    listed_faults = faults[:MOST_FAULTS]
    for fault in listed_faults:
        listed_places, more_places = [*fault.places[:MOST_PLACES]], len(fault.places) - MOST_PLACES
        if more_places > 0:
            listed_places.append(language.ngettext("and {number} more", "and {number} more", more_places))
        line = fault.message
        if listed_places:
            line = language.gettext("{fault}, cited in {places}", fault=line, places="; ".join(listed_places))
        if fault.should_be:
            line = language.gettext("{fault}; it should be {citation}", fault=line, citation=fault.should_be)
        yield line
    hidden_count = fault_count - len(listed_faults)
    if hidden_count:
        yield language.ngettext("and {number} more", "and {number} more", hidden_count)


def next_words(command: str, language: Language = ENGLISH) -> str:
    """Return the message that suggests *command* as the next step, ``next: COMMAND``."""
    return language.gettext("next: {command}", command=command)
