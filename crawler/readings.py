"""Pure: which reading of a doubtful or mistyped ARK to ask about next, while its others are being asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawler.arbitration import Form, Standing, next_form
from crawler.observations import Observation
from extractors.ark import Ark
from extractors.normalize import LABEL
from extractors.suggestions import suggestions

#: So many of the ARKs that may have been meant, where a check character fails, are asked about; one after the other.
MEANT = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """One ARK that a mention may stand for, and where it is asked for."""

    ark: Ark
    url: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A reading is being asked about: its answer decides."""


def readings_of(ark: Ark, url: str, alternatives: Sequence[Ark] = ()) -> tuple[Reading, ...]:
    """The readings of a mention, the likeliest, which is asked for at *url*, first.

    >>> [each.url for each in readings_of(Ark("12148", "x5y"), "https://n2t.net/ark:/12148/x5y", [Ark("12148", "x5")])]
    ['https://n2t.net/ark:/12148/x5y', 'https://n2t.net/ark:/12148/x5']
    """
    label = LABEL.search(url)
    if label is None:
        return (Reading(ark, url),)
    others = (other for other in dict.fromkeys(alternatives) if other != ark and not other.is_skipped)
    return (Reading(ark, url), *(Reading(each, url[: label.end()] + str(each).removeprefix("ark:")) for each in others))


def meant_by(reading: Reading) -> tuple[Reading, ...]:
    """What may have been meant by a *reading* whose check character fails, the likeliest first."""
    found = suggestions(reading.ark, limit=MEANT)
    return readings_of(reading.ark, reading.url, [suggestion.ark for suggestion in found])[1:]


def next_reading(
    readings: Sequence[Reading],
    meant: Sequence[Reading],
    heard: Mapping[str, Observation | None],
    controls: Mapping[str, Observation | None],
) -> Reading | Wait | None:
    """The reading to ask about next, whether to wait for one, or None when all that helps is known.

    *heard* has the answer about each URL that was asked for, None while it is on its way; *controls* what a name that
    can't exist is told beside each. What was *meant* is asked about when every reading fails.
    """
    if any(each.url in heard and heard[each.url] is None for each in readings):
        return Wait()
    forms = [Form(each.ark, heard.get(each.url), controls.get(each.url)) for each in readings]
    following = next_form(forms)
    if following is not None:
        return readings[forms.index(following)]
    all_fail = bool(forms) and all(form.standing is Standing.FAILS for form in forms)
    return _next_meant(meant, heard, controls) if all_fail else None


def _next_meant(
    meant: Sequence[Reading], heard: Mapping[str, Observation | None], controls: Mapping[str, Observation | None]
) -> Reading | Wait | None:
    for each in meant:
        if each.url not in heard:
            return each
        answer = heard[each.url]
        if answer is None:
            return Wait()
        if Form(each.ark, answer, controls.get(each.url)).standing is Standing.LIVES:
            return None
    return None
