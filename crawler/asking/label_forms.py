"""Pure: which forms of the label hosts take, ``ark:`` or ``ark:/``, by what was answered in a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from crawler.answers.facts import AnswerFacts
from crawler.asking.controls import place_of
from crawler.asking.questions import label_place
from crawler.model.resolving import label_of

#: So many ARKs are asked for in the other form in vain before a host counts as indifferent to it.
TRIES = 3


@dataclass(slots=True)
class LabelForms:
    """The forms that hosts were seen to take, and those that were tried otherwise."""

    _taken: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _tried: Counter[tuple[str, str]] = field(default_factory=Counter)

    def heard(self, answer: AnswerFacts) -> None:
        """Note the form that an object was reached by; where it was passed on, the next host has taken it, too."""
        if answer.is_reached:
            asked = answer.seen.asked_url
            for place in {place_of(asked), label_place(asked, answer)}:
                self._taken[place].add(label_of(asked))

    def tried(self, url: str, answer: AnswerFacts | None) -> None:
        """Note that an object is asked for in the other form, after *answer* at *url*."""
        self._tried[label_place(url, answer), label_of(url)] += 1

    def is_settled(self, url: str, answer: AnswerFacts | None) -> bool:
        """Return whether another form than that of *url* can't help: its host has taken that, or is indifferent."""
        place, label = label_place(url, answer), label_of(url)
        taken = self._taken.get(place) or set[str]()
        return label in taken or (not taken and self._tried[place, label] >= TRIES)
