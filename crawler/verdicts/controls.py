"""Choose the control that counts, if the resolver and the host at the end of its redirects were both tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from crawler.answers.facts import AnswerFacts
from crawler.answers.object_facts import ControlContrast, ObjectFacts, Signs
from crawler.answers.probes import landing_pattern
from crawler.answers.quirks import is_log_in
from crawler.model.resolving import same_host
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always


class CountedControl(StrEnum):
    """The control with which an answer is compared."""

    RESOLVERS = "resolver"
    LANDING = "landing"


@dataclass(frozen=True, eq=False)
class ControlFacts:
    """An answer for an object with two controls: one at the resolver, one at the landing host."""

    resolvers: ObjectFacts
    """The facts of the answer with the resolver's control."""
    landing: AnswerFacts
    """The answer to the landing host's control."""

    @property
    def answer(self) -> AnswerFacts:
        """The answer for the object."""
        return self.resolvers.answer

    @cached_property
    def at_landing(self) -> ObjectFacts:
        """The facts of the answer with the landing host's control."""
        return replace(self.resolvers, control=self.landing)

    @property
    def covers_landing(self) -> bool:
        """True if the resolver's control was answered by the host that answered for the object, or with a success."""
        return self.resolvers.control_contrast not in (ControlContrast.REFUSED_BEFORE, ControlContrast.NOTHING)

    @property
    def is_refused_there(self) -> bool:
        """True if the landing host answers its control with an error status."""
        return self.at_landing.control_contrast is ControlContrast.REFUSED_THERE

    @property
    def leads_to_log_in(self) -> bool:
        """True if the host of the first request sends the last redirect, and it leads to a log-in page."""
        hops = self.answer.hops
        return is_log_in(self.answer.final_url) and same_host(hops[0].url, hops[-2].url)

    @property
    def is_at_another_address(self) -> bool:
        """True if the control's address at the landing host has another form than the answer's."""
        patterns = {landing_pattern(url, every=True) for url in (self.answer.final_url, self.landing.asked_url)}
        return len(patterns) > 1

    @property
    def has_several_signs_of_absence(self) -> bool:
        """True if several signs report an absence on a page that is no tombstone. Signs only in the title are not enough."""
        words = self.answer.words
        is_title_alone = words.is_titled_absent and not words.is_absence_repeated
        is_absent = self.resolvers.weight_of_signs is Signs.SEVERAL and not is_title_alone
        return is_absent and not self.at_landing.tombstone

    @property
    def belongs_to_object(self) -> bool:
        """True if the page has no sign of absence, and either describes an object or its ARK is named by the control's page."""
        answer = self.answer
        is_own = answer.is_record or answer.describes_object or self.landing.locations_of(answer.ark)
        return bool(is_own) and not self.resolvers.signs


def _row(
    when: str, holds: Callable[[ControlFacts], bool], control: CountedControl
) -> VerdictRule[ControlFacts, CountedControl]:
    return VerdictRule(when, holds, control, lambda facts: ())


_SUCCESS_THERE = (ControlContrast.ANOTHER, ControlContrast.AT_RANDOM)
#: Which control counts, if a control was sent to the host at the end of the redirects too.
CONTROL_RULES: RuleTable[ControlFacts, CountedControl] = RuleTable(
    "The control that counts",
    (
        RuleGroup(
            "answers at the end of redirects, if that host was sent a control of its own",
            always,
            (
                _row(
                    "the resolver's control got its answer from the same host, or is answered too",
                    lambda facts: facts.covers_landing,
                    CountedControl.RESOLVERS,
                ),
                _row("the ARK is that of a site", lambda facts: facts.resolvers.is_site, CountedControl.RESOLVERS),
                _row(
                    "the resolver itself leads to a log-in page, which is the same for any name",
                    lambda facts: facts.leads_to_log_in,
                    CountedControl.RESOLVERS,
                ),
                _row(
                    "the addresses of answer and control at that host have different forms",
                    lambda facts: facts.is_at_another_address,
                    CountedControl.RESOLVERS,
                ),
                _row(
                    "the answer is no success, or the control there gets another page",
                    lambda facts: not facts.answer.is_success or facts.at_landing.control_contrast in _SUCCESS_THERE,
                    CountedControl.LANDING,
                ),
                _row(
                    "the control there is refused, and several signs report an absence, not only the title",
                    lambda facts: facts.is_refused_there and facts.has_several_signs_of_absence,
                    CountedControl.RESOLVERS,
                ),
                _row("the control there is refused", lambda facts: facts.is_refused_there, CountedControl.LANDING),
                _row(
                    "the control there gets no answer",
                    lambda facts: facts.at_landing.control_contrast is ControlContrast.NOTHING,
                    CountedControl.RESOLVERS,
                ),
                _row(
                    "the control there gets any other success, and the page describes an object, or the control's names this ARK",
                    lambda facts: facts.belongs_to_object,
                    CountedControl.RESOLVERS,
                ),
                _row("the control there gets any other success", always, CountedControl.LANDING),
            ),
        ),
    ),
)


def facts_at_landing(facts: ObjectFacts, landing: AnswerFacts | None) -> ObjectFacts:
    """Return *facts*, with the answer to the *landing* host's control if that counts by `CONTROL_RULES`.

    *facts* are unchanged if *landing* is None, or if the answer was not redirected.
    """
    if landing is None or not facts.answer.is_redirected:
        return facts
    controls = ControlFacts(facts, landing)
    is_landings = CONTROL_RULES.first_rule(controls).outcome is CountedControl.LANDING
    return controls.at_landing if is_landings else facts
