"""Pure: app shells, whose pages only a browser shows, and the verdict by what it has shown.

An app shell is the same page for every name, so that it proves nothing. What a browser makes of it is judged by the
rules for any page, next to what it makes of the control's; where either is not whole, the verdict stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from crawler.answers.facts import AnswerFacts
from crawler.answers.object_facts import ControlContrast, ObjectFacts
from crawler.model.observations import ObjectOutcome, ServiceVerdict
from crawler.verdicts.access import judge_object

#: Replies to the control that say nothing from another page.
_UNTOLD = frozenset({ControlContrast.THE_SAME, ControlContrast.NO_OTHER, ControlContrast.NOT_COMPARED})
#: Outcomes that rest on what the page says, as far as no one has run its scripts.
_OPEN = frozenset({ObjectOutcome.UNDETERMINED, ObjectOutcome.SOFT_404})
#: So many things that a page lacks are named.
_MOST_NAMED = 3


def is_app_shell(facts: ObjectFacts) -> bool:
    """Return whether an answer may be an app shell: a page with scripts that is no other for a name that can't
    exist.
    """
    observation = facts.answer.seen
    is_page = facts.answer.is_success and observation.body_complete and "html" in (observation.media_type or "")
    if not (is_page and observation.facts.runs_scripts and facts.control is not None and facts.reply in _UNTOLD):
        return False
    return judge_object(facts).outcome in _OPEN


@dataclass(frozen=True, slots=True)
class RenderedFacts:
    """The facts of an app shell as it came, and as a browser has shown it."""

    shell: ObjectFacts
    rendered: AnswerFacts
    control: AnswerFacts | None
    """The page of a name that can't exist, as a browser has shown it."""

    @property
    def as_page(self) -> ObjectFacts:
        """The facts of what was shown, next to those of what was shown for the control."""
        return ObjectFacts(self.rendered, self.control)

    @property
    def fault(self) -> str | None:
        """Return why what was shown says nothing; None where it does."""
        own = fault_of(self.rendered)
        if own is not None:
            return own
        if self.control is None:
            return "the page for a name that can't exist was not rendered"
        of_control = fault_of(self.control)
        return None if of_control is None else f"of the page for a name that can't exist, {of_control}"


def fault_of(answer: AnswerFacts) -> str | None:
    """Return why an answer says nothing of what a browser shows; None where it does."""
    rendering = answer.seen.rendering
    if rendering is None:
        status = answer.seen.status
        came = f"it was answered {status}" if answer.is_answered else answer.seen.detail or answer.seen.end.value
        return f"nothing was rendered, for this time {came}"
    if rendering.fault is not None:
        return rendering.fault
    if rendering.lacking:
        more = len(rendering.lacking) - _MOST_NAMED
        others = f" and {more} more" if more > 0 else ""
        return f"it lacks what it asked for: {'; '.join(rendering.lacking[:_MOST_NAMED])}{others}"
    return None


def by_what_is_shown(verdict: ServiceVerdict[ObjectOutcome], facts: RenderedFacts) -> ServiceVerdict[ObjectOutcome]:
    """The verdict by what a browser has shown, or else *verdict*, with the reason why that says nothing."""
    if facts.fault is not None:
        said = f"rendered with {_browser(facts)}, which tells nothing: {facts.fault}"
        return replace(verdict, evidence=(*verdict.evidence, said))
    shown = judge_object(facts.as_page)
    first, *others = shown.evidence
    return replace(shown, evidence=(first, *_how(facts), *others))


def _browser(facts: RenderedFacts) -> str:
    rendering = facts.rendered.seen.rendering
    return rendering.browser if rendering is not None else "a browser"


def _how(facts: RenderedFacts) -> Iterator[str]:
    rendering = facts.rendered.seen.rendering
    assert rendering is not None
    requests = sum(1 for hop in rendering.requests if hop.location is None)
    yield (
        f"without its scripts it shows the same for any name; rendered with {rendering.browser}, for which it made"
        f" {requests} request{'' if requests == 1 else 's'}"
    )
