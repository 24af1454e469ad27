"""The choice of the reading of each doubtful mention that lives, made when resolvers have answered about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crawler.model.observations import CitedMention, DecidedOn, KeptMention, Question
from crawler.store.store import Store
from crawler.verdicts.answer_sets import SHARED, AnswerSets
from crawler.verdicts.readings import CandidateReading, SettledReading, other_readings, readings_of, settled
from extractors.mentions.mention import Mention
from extractors.model.documents import Finding
from extractors.model.normalize import LABEL
from extractors.wraps.rules import Confidence

#: The reason of a mention that was settled.
LIVES = "the reading that lives at its resolver"


def settle_readings(store: Store, run_id: int) -> int:
    """Settle which reading of each doubtful mention lives, and keep that as rows of their own, with a finding.

    Returns how many mentions were settled that were not before. A mention about which an answer is missing, or of
    which no reading lives, stays as it is. Doing it twice changes nothing.
    """
    kept = list(store.open_mentions(run_id))
    others = other_readings(kept)
    if not others:
        return 0
    urls = dict.fromkeys(url for first, rest in others.items() for url in (first, *(reading.url for reading in rest)))
    shared = AnswerSets.of(store.observations(run_id, SHARED))
    answer_sets = shared.with_those_about(store.observations_about(run_id, list(urls)))
    by_url: dict[str, list[KeptMention]] = defaultdict(list)
    for reading in kept:
        by_url[reading.request_url].append(reading)
    decisions: list[tuple[KeptMention, CitedMention]] = []
    for url, rest in others.items():
        first = by_url[url][0].mention.ark
        readings = readings_of(first, url, rest)
        if sum(answer_sets.answer(reading.url) is not None for reading in readings) < 2:
            continue  # the first settled it, or nothing was asked
        done = _settled(readings, answer_sets)
        if done is None:
            continue
        kind = "settled-reading" if done.reading else "unsettled-reading"
        store.record_findings(run_id, str(first), [Finding(kind, "; ".join(done.evidence))])
        if done.reading is not None:
            decisions += _decisions(by_url[url], done.reading)
    return store.record_decisions(decisions, DecidedOn.SETTLED)


def _settled(readings: Sequence[CandidateReading], answer_sets: AnswerSets) -> SettledReading | None:
    heard = {reading.url: answer_sets.answer(reading.url) for reading in readings}
    controls = {
        reading.url: answer_sets.control(reading.ark, answer.seen.asked_url, Question.CONTROL)
        for reading in readings
        if (answer := heard[reading.url]) is not None
    }
    return settled(readings, heard, controls)


def _decisions(mentions: Sequence[KeptMention], living: CandidateReading) -> Iterator[tuple[KeptMention, CitedMention]]:
    """The mentions that the *living* reading is one of, as that reading; of others it says nothing."""
    for kept in mentions:
        others = other_readings([kept]).get(kept.request_url, ())
        if others and living in (CandidateReading(kept.mention.ark, kept.request_url), *others):
            yield kept, CitedMention(_as(living, kept), living.url)


def _as(living: CandidateReading, kept: KeptMention) -> Mention:
    mention = kept.mention
    label = LABEL.search(mention.repaired)
    before = mention.repaired[: label.end()] if label else "ark:"
    is_first = living.url == kept.request_url
    possible = dict.fromkeys((str(mention.ark), *mention.alternatives))
    return replace(
        mention,
        ark=living.ark,
        repaired=mention.repaired if is_first else before + living.spelled.removeprefix("ark:"),
        alternatives=tuple(alternative for alternative in possible if alternative != str(living.ark)),
        confidence=max(mention.confidence, Confidence.LIKELY),
        reason=LIVES,
    )
