"""The facts that the targets of a run share: answers that are asked for once, and those learned from others. No I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import same_answer
from crawler.answers.probes import (
    Neighbourhood,
    Shoulders,
    control_url,
    landing_control,
    landing_pattern,
    resolver_or_host,
)
from crawler.asking.questions import label_authority
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import Question
from crawler.model.resolving import Patience, label_of, names_skipped_ark, path_of_resolver, sendable, url_fault
from extractors.model.ark import Ark
from extractors.model.check_characters import Declared
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL
from extractors.model.urls import authority_of

Target = tuple[Ark, str]
"""An ARK, and the URL that requests its object."""

Fact = tuple[Question, Hashable]
"""A question, and its subject: a neighbourhood, an origin, a pattern of addresses or a URL."""

#: Maximum length of the address of a policy, in characters.
MOST_URL_CHARS = 2000
#: Maximum number of address patterns with a control at one landing host; sites with more have irregular addresses.
MOST_PATTERNS_OF_HOST = 3
#: The number of failures with the other form after which a host counts as indifferent to the form.
ENOUGH_FAILURES = 3


@dataclass(frozen=True, slots=True)
class AskingRules:
    """The rules for the questions that are asked, and for their recipients."""

    registry: Registry = field(default_factory=Registry.builtin)
    resolver: str = GLOBAL_RESOLVER
    """The global resolver."""
    direct: bool = False
    """True if compact ARKs are requested at the registry's targets."""
    legacy: bool = True
    """True if ``??`` and ``?`` may be sent."""
    rendering: bool = False
    """True if a browser renders pages that need scripts."""
    patience: Patience = field(default_factory=Patience)
    declared: Declared = field(default_factory=dict)
    """The check characters that the user declares, by which mistyped ARKs are found."""


def may_be_requested(url: str) -> bool:
    """Return True if a URL from a record or redirect is short and valid, and names no ARK for examples."""
    return len(url) <= MOST_URL_CHARS and url_fault(sendable(url)) is None and not names_skipped_ark(url)


@dataclass(slots=True)
class LabelForms:
    """The forms of the label, ``ark:`` or ``ark:/``, that hosts have accepted, and the attempts with others."""

    _accepted_forms: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _attempt_counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def on_answer(self, answer: AnswerFacts) -> None:
        """Note the label form of an answer that reached an object, for its resolver and the host that got the ARK."""
        if answer.is_reached:
            asked_url = answer.asked_url
            for resolver in {resolver_or_host(asked_url), label_authority(asked_url, answer)}:
                self._accepted_forms[resolver].add(label_of(asked_url))

    def note_attempt(self, url: str, answer: AnswerFacts | None) -> None:
        """Count a request with the other form of the label, sent because of *answer* at *url*."""
        self._attempt_counts[label_authority(url, answer), label_of(url)] += 1

    def is_settled(self, url: str, answer: AnswerFacts | None) -> bool:
        """Return True if the other form need not be tried.

        The host has accepted the form of *url*, or has accepted none although the other was tried `ENOUGH_FAILURES` times.
        """
        resolver, label = label_authority(url, answer), label_of(url)
        accepted_forms = self._accepted_forms[resolver]
        return label in accepted_forms or (
            not accepted_forms and self._attempt_counts[resolver, label] >= ENOUGH_FAILURES
        )


class SharedFacts:
    """The facts that targets share. The first target that needs a fact asks for it; other targets may wait."""

    def __init__(self, targets: Callable[[], Iterable[Target]], rules: AskingRules) -> None:
        """Learn the shoulders of all *targets*."""
        self.rules = rules
        self.facts: dict[Fact, Any] = {}
        """The answer by fact, or the value read from it; None if no answer came."""
        self.label_forms = LabelForms()
        self.changed_facts: list[Fact] = []
        """The facts with a new value, for which waiting targets have not been continued yet."""
        self._claimed_facts: set[Fact] = set()
        self.shoulders = Shoulders.among((ark for ark, _ in targets()), rules.registry)
        self._first_arks: dict[Neighbourhood, Ark] = {}
        """The first target in each neighbourhood; the name of its control has the same shape."""
        for ark, url in targets():
            self._first_arks.setdefault(self.shoulders.neighbourhood(url, ark), ark)
        self._landing_patterns: defaultdict[str, set[str]] = defaultdict(set)
        """The address patterns of redirect targets with a control, by host."""
        self._ark_by_end: dict[int, Ark] = {}
        """The first ARK that each resolver redirected to a URL, by a hash of both."""
        self._last_successes: dict[str, AnswerFacts] = {}
        """The last success of each resolver."""
        self._repetition_counts = Counter[int]()
        """The number of objects that got the answer of another object, by a hash of its address and title."""

    # -- what is asked for once

    def is_asked(self, fact: Fact) -> bool:
        """Return True if a target has asked for *fact*."""
        return fact in self._claimed_facts

    def is_awaited(self, fact: Fact) -> bool:
        """Return True if a target has asked for *fact*, and the answer has not come."""
        return fact in self._claimed_facts and fact not in self.facts

    @contextmanager
    def promise(self, fact: Fact) -> Iterator[None]:
        """Mark *fact* as asked within this context; at its end, announce the value of the fact, None if none was set."""
        self._claimed_facts.add(fact)
        try:
            yield
        finally:
            self.facts.setdefault(fact, None)
            self.changed_facts.append(fact)

    def claim_landing_control(self, answer: AnswerFacts) -> str | None:
        """Return the URL of a control at the landing host of *answer*, and note that it is requested; or None.

        None if its address pattern has a control, if the resolver's control covers that host, or if the host has had
        enough controls.
        """
        url = answer.final_url
        pattern, host, landing_control_url = landing_pattern(url), authority_of(url), landing_control(url)
        patterns = self._landing_patterns[host]
        is_covered = path_of_resolver(url) == path_of_resolver(answer.asked_url)
        if pattern in patterns or (is_covered and host == authority_of(answer.asked_url)):
            return None
        if len(patterns) >= MOST_PATTERNS_OF_HOST or not may_be_requested(landing_control_url):
            return None
        patterns.add(pattern)
        return landing_control_url

    def control_url(self, ark: Ark, neighbourhood: Neighbourhood, url: str, *, is_second: bool = False) -> str | None:
        """Return the URL of the control of *ark* at *url*, with a name shaped like the first target of *neighbourhood*."""
        model_ark = self._first_arks.get(neighbourhood, ark) if LABEL.search(url) is not None else ark
        return control_url(url, model_ark, self.rules.registry, is_second=is_second)

    # -- the same answer for several objects

    def is_control_due_again(self, answer: AnswerFacts, control: AnswerFacts) -> bool:
        """Return True if the *control* is to be requested again, because several objects got the success *answer*.

        The host may have begun to send all visitors to a log-in page. The control is due for the second, third, fifth and
        ninth object with that answer, and so on. *answer* is kept for comparison with the next objects.
        """
        resolver, ark = resolver_or_host(answer.asked_url), answer.ark.base
        last_success, self._last_successes[resolver] = self._last_successes.get(resolver), answer
        end_hash = hash((resolver, answer.final_url))
        is_repeated = answer.is_redirected and self._ark_by_end.setdefault(end_hash, ark) != ark
        if not is_repeated and last_success is not None and last_success.title == answer.title:
            is_repeated = last_success.ark.base != ark and same_answer(last_success, answer)
        if not is_repeated or same_answer(control, answer):
            return False
        page_url = answer.final_url.partition("?")[0] if answer.is_redirected else resolver
        page_hash = hash((page_url, answer.title))
        self._repetition_counts[page_hash] += 1
        return self._repetition_counts[page_hash].bit_count() == 1
