"""Pure: what a doubtful or mistyped ARK may stand for: what to ask about next, and what lives when all is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crawler.answers.facts import AnswerFacts
from crawler.model.observations import KeptMention, Meant
from crawler.model.resolving import sendable
from crawler.verdicts.arbitration import Form, FormState, arbitrate, did_you_mean, next_form
from crawler.verdicts.hyphenation import other_hyphenation
from extractors.ark import Ark
from extractors.mentions.mention import Mention
from extractors.normalize import LABEL
from extractors.suggestions import suggestions
from extractors.wraps.evidence import Evidence

#: So many of the ARKs that may have been meant, where a check character fails, are asked about; one after the other.
MEANT = 2

Answers = Mapping[str, AnswerFacts | None]


@dataclass(frozen=True, slots=True)
class CandidateReading:
    """One ARK that a mention may stand for, and where it is asked for."""

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


@dataclass(frozen=True, slots=True)
class AwaitedReading:
    """A reading is being asked about: its answer decides."""


@dataclass(frozen=True, slots=True)
class SettledReading:
    """The one of several readings that lives, if one does, and why."""

    reading: CandidateReading | None
    evidence: tuple[str, ...]


# -- what there is to ask about


def other_readings(mentions: Iterable[KeptMention]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return what else *mentions* may stand for, by the URL that asks for the likeliest reading.

    The same with the other hyphenation of its line wraps comes first, then the other ways to join or cut it.
    """
    found: dict[str, dict[CandidateReading, None]] = {}
    for kept in mentions:
        mention, url = kept.mention, kept.request_url
        label = LABEL.search(url)
        if label is None or mention.ark.is_skipped:
            continue
        others = [CandidateReading(ark, _at(url, str(ark))) for ark in map(Ark.parse, mention.alternatives)]
        hyphenated = other_hyphenation(mention.as_written, mention.repaired)
        if hyphenated is not None and (at := LABEL.search(hyphenated)):
            others.insert(0, CandidateReading(mention.ark, sendable(_at(url, hyphenated[at.start() :]))))
        if others:
            found.setdefault(url, {}).update(dict.fromkeys(others))
    return {url: tuple(others) for url, others in found.items()}


def readings_of_mentions(mentions: Iterable[tuple[Mention, str]]) -> dict[str, tuple[CandidateReading, ...]]:
    """Return what else ARKs that were given one by one may stand for, by the URL that asks for each."""
    found = {
        url: tuple(CandidateReading(ark, _at(url, str(ark))) for ark in map(Ark.parse, mention.alternatives))
        for mention, url in mentions
        if LABEL.search(url) and not mention.ark.is_skipped
    }
    return {url: others for url, others in found.items() if others}


def readings_of(ark: Ark, url: str, others: Iterable[CandidateReading] = ()) -> tuple[CandidateReading, ...]:
    """The readings of a mention, the likeliest, which is asked for at *url*, first; examples are none."""
    first = CandidateReading(ark, url)
    rest = {each.url: each for each in others if each.url != url and not each.ark.is_skipped}
    return (first, *rest.values())


def learned(targets: Iterable[tuple[Ark, str]]) -> Evidence:
    """Return what the ARKs of a run tell of their check characters and shapes."""
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
    found = suggestions(reading.ark, zones=evidence.zones, fits=shapes.allows, is_seen=evidence.holds, limit=MEANT)
    return tuple(CandidateReading(each.ark, _at(reading.url, str(each.ark))) for each in found)


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
    readings: Sequence[CandidateReading], meant: Sequence[CandidateReading], heard: Answers, controls: Answers
) -> CandidateReading | AwaitedReading | None:
    """The reading to ask about next, whether to wait for one, or None when all that helps is known.

    *heard* has the answer about each URL that was asked for, None while it is on its way; *controls* what a name that
    can't exist is asked about beside each. What was *meant* is asked about when every reading fails.
    """
    if any(each.url in heard and heard[each.url] is None for each in readings):
        return AwaitedReading()
    forms = _forms(readings, heard, controls)
    following = next_form(forms)
    if following is not None:
        return next(reading for reading, form in zip(readings, forms, strict=True) if form is following)
    all_fail = bool(meant and forms) and all(form.state is FormState.FAILS for form in forms)
    return _next_meant(meant, heard, controls) if all_fail else None


def _next_meant(
    meant: Sequence[CandidateReading], heard: Answers, controls: Answers
) -> CandidateReading | AwaitedReading | None:
    for each in meant:
        if each.url not in heard:
            return each
        answer = heard[each.url]
        if answer is None:
            return AwaitedReading()
        if Form(each.ark, answer, controls.get(each.url)).state is FormState.LIVES:
            return None
    return None


# -- what lives


def settled(readings: Sequence[CandidateReading], heard: Answers, controls: Answers) -> SettledReading | None:
    """Return which of several *readings* lives; None while an answer is missing that would change it."""
    forms = _forms(readings, heard, controls)
    if len(forms) < 2 or forms[0].state is FormState.UNASKED or next_form(forms) is not None:
        return None
    done = arbitrate(forms)
    living = (reading for reading, form in zip(readings, forms, strict=True) if form is done.form)
    return SettledReading(next(living, None), done.evidence)


def meant_instead(
    readings: Sequence[CandidateReading], meant: Sequence[CandidateReading], heard: Answers, controls: Answers
) -> Meant | None:
    """The first ARK with a right check character that lives, where every reading of a mistyped one fails."""
    forms = _forms(readings, heard, controls)
    if any(form.state is FormState.LIVES for form in forms[1:]):
        return _in_lower_case(readings, forms)
    candidates = _forms(meant, heard, controls)
    found = did_you_mean(forms[0], candidates)
    if found is None or found.verdict is None:
        return None
    url = next(reading.url for reading, form in zip(meant, candidates, strict=True) if form is found)
    evidence = (f"the check character of {found.ark} is right", *found.verdict.evidence)
    return Meant(found.ark, url, evidence)


def _in_lower_case(readings: Sequence[CandidateReading], forms: Sequence[Form]) -> Meant | None:
    """The lower-case form of an ARK that was set in capitals, where that one fails and this one lives."""
    first = forms[0]
    for reading, form in zip(readings[1:], forms[1:], strict=True):
        is_it = str(reading.ark) == str(first.ark).lower() and form.state is FormState.LIVES
        if is_it and form.verdict is not None and first.state is FormState.FAILS:
            evidence = (
                "it is all in capitals, and names are case-sensitive",
                *form.verdict.evidence,
            )
            return Meant(reading.ark, reading.url, evidence)
    return None


def _forms(readings: Sequence[CandidateReading], heard: Answers, controls: Answers) -> list[Form]:
    return [Form(each.ark, heard.get(each.url), controls.get(each.url), each.spelled) for each in readings]
