"""Verdicts made while a run still asks, in the time in which it waits; at its end those that hold need no judging.

A verdict rests on the answers about its own ARK and on its surroundings: controls, certificates, policies, shared
landing pages. What was looked up there is kept with the verdict, and looked up again at the end. Where anything
differs, the ARK is judged again. So nothing changes but the moment.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import pickle
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

from crawler.answers.facts import AnswerFacts
from crawler.judging import Background, JudgedTarget, RunJudge, path_of
from crawler.observations import Observation, Question, TlsResult, Verdict
from crawler.storage.frontier_rows import SettledEntry
from crawler.storage.store import Recordable, Store
from crawler.verdicts.answer_sets import SHARED, AnswerSet, AnswerSets, control_as_written
from crawler.verdicts.verdict import judge
from extractors.ark import Ark

logger = logging.getLogger(__name__)

#: So long an ARK waits after its last answer: what is asked about its resolver is on record by then, mostly.
WAIT_S = 2.0
#: Between two ARKs the event loop has at least so long for what it is there for; where this took so much of that
#: time, there is enough to do, and nothing is added for another while. When nothing is due, it is looked again later.
PAUSE_S = 0.004
BUSY = 0.8
LOOK_S = 0.05
#: As long as it takes to read an answer; no turn is put off for longer.
SLICE_S = 0.001
#: ARKs whose answers are read at a time.
READ_AT_A_TIME = 8
#: So many wait at most: of a run that leaves no time, the first are judged at its end.
MOST_WAITING = 50_000
#: The most that is kept, on disk; what is beyond that is judged at the end.
MOST_BYTES = 2**28

K = TypeVar("K")
V = TypeVar("V")

#: The key of an observation within its run. What is recorded never changes, so it stands for it.
AnswerKey = tuple[str, Question, int]


def _key(answer: AnswerFacts | None) -> AnswerKey | None:
    return None if answer is None else (answer.seen.request_url, answer.seen.question, answer.seen.attempt)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The rest of a run as it bore on one verdict, each part by what it was looked up by."""

    ark: Ark
    observed: int
    """How many observations there were at its URL."""
    asked_url: str
    """Where its controls are looked up."""
    written_url: str
    """Where that of the resolver as written is looked up."""
    control: AnswerKey | None
    control_as_written: AnswerKey | None
    control_info: AnswerKey | None
    control_rendered: AnswerKey | None
    ended_at: str
    """Where that of the landing host is looked up."""
    control_landing: AnswerKey | None
    landed_at: str
    """Where the ARKs of other objects may end as well."""
    neighbours: int
    path_of: str | None
    """The host that may have said where its resolver is."""
    own_path: AnswerKey | None
    certificates: tuple[tuple[tuple[str, int], TlsResult | None], ...]
    policies: tuple[tuple[str, AnswerKey | None], ...]


class _Noting(Mapping[K, V]):
    """A mapping that notes what is looked up in it; it can't be gone through."""

    def __init__(self, found: Mapping[K, V]) -> None:
        self._found = found
        self.noted: dict[K, V | None] = {}

    def __getitem__(self, key: K) -> V:
        self.noted[key] = self._found.get(key)
        return self._found[key]

    def __iter__(self) -> Iterator[K]:
        raise TypeError("who goes through all of it rests on all of it")

    def __len__(self) -> int:
        raise TypeError("who counts all of it rests on all of it")


def judged_early(
    court: RunJudge, case: JudgedTarget, answer_set: AnswerSet, observed: int
) -> tuple[Surroundings, Verdict] | None:
    """The verdict on a target that may stand for nothing but itself, and what else it rests on.

    None for others, and where its object was never asked for.
    """
    context = court.context(case.ark, answer_set)
    answer = answer_set.answer
    if context is None or answer is None or not case.stands_alone:
        return None
    tls, policies = _Noting(context.tls), _Noting(context.policies)
    verdict = judge(answer_set.last, context=replace(context, tls=tls, policies=policies))
    surroundings = Surroundings(
        ark=case.ark,
        observed=observed,
        asked_url=answer.seen.asked_url,
        written_url=answer_set.last[Question.OBJECT].seen.asked_url,
        control=_key(context.control),
        control_as_written=_key(context.control_as_written),
        control_info=_key(context.control_info),
        control_rendered=_key(context.control_rendered),
        ended_at=answer.seen.final_url,
        control_landing=_key(context.control_landing),
        landed_at=answer_set.last[Question.OBJECT].seen.final_url,
        neighbours=context.neighbours,
        path_of=path_of(answer_set),
        own_path=_key(context.own_path),
        certificates=tuple(tls.noted.items()),
        policies=tuple((url, _key(page)) for url, page in policies.noted.items()),
    )
    return surroundings, verdict


def holds(court: RunJudge, case: JudgedTarget, before: Surroundings, observed: int) -> bool:
    """Return whether *court* would find what was found *before*, with so many observations at the target's URL now."""
    shared, ark = court.shared, case.ark
    return (
        case.stands_alone
        and ark == before.ark
        and observed == before.observed
        and _key(shared.control(ark, before.asked_url, Question.CONTROL)) == before.control
        and _key(control_as_written(shared, ark, before.written_url, before.asked_url)) == before.control_as_written
        and _key(shared.control(ark, before.asked_url, Question.CONTROL_INFO)) == before.control_info
        and _key(shared.control(ark, before.asked_url, Question.CONTROL_RENDERED)) == before.control_rendered
        and _key(shared.landing(before.ended_at)) == before.control_landing
        and court.neighbours(ark, before.landed_at) == before.neighbours
        and (before.path_of is None or _key(shared.paths.get(before.path_of)) == before.own_path)
        and all(court.tls.get(host) == result for host, result in before.certificates)
        and all(_key(shared.policies.get(url)) == page for url, page in before.policies)
    )


class EarlyVerdicts:
    """Judges what a run has settled while it still asks, and keeps that until its end, in a file without a name.

    Used within the event loop that asks, between its turns. Whatever goes wrong, all is judged at the end.
    """

    def __init__(self, store: Store, run_id: int, background: Background) -> None:
        self._store = store
        self._run_id = run_id
        self._background = background
        self._waiting: deque[tuple[float, str]] = deque(maxlen=MOST_WAITING)
        """Targets that are settled, each with the moment from which it may be judged."""
        self._read: deque[tuple[JudgedTarget, AnswerSet, int]] = deque()
        """Those whose answers were read."""
        self._noted: deque[tuple[float, Observation]] = deque(maxlen=MOST_WAITING)
        """Answers that bear on many ARKs, each with the moment at which it is on record."""
        self._court: RunJudge | None = None
        self._tls: dict[tuple[str, int], TlsResult] = {}
        self._kept = _Kept(store.path)
        self.held = self.again = 0
        """How many held at the end, and how many were judged again."""

    # -- while the run asks

    def recorded(self, items: Sequence[Recordable], now: float) -> None:
        """Take note of what is recorded at the moment *now* of the event loop."""
        for item in items:
            if isinstance(item, SettledEntry):
                self._waiting.append((now + WAIT_S, item.canonical))
            elif isinstance(item, TlsResult):
                self._tls[item.host, item.port] = item
            elif isinstance(item, Observation) and item.question in SHARED:
                self._noted.append((now + WAIT_S / 2, item))

    async def judge_in_pauses(self) -> None:
        """Judge one target after another, as long as nothing else is to be done; until it is cancelled."""
        clock = asyncio.get_running_loop().time
        try:
            while not self._kept.is_full:
                before, cpu_before = clock(), time.thread_time()
                await asyncio.sleep(PAUSE_S)
                now = clock()
                if time.thread_time() - cpu_before < BUSY * (now - before) and not self._judge_for_a_moment(now):
                    await asyncio.sleep(LOOK_S)
        except Exception as problem:  # it is met again at the end, where it counts
            logger.debug("the rest is judged at the end", exc_info=problem)

    def _judge_for_a_moment(self, now: float) -> bool:
        """Do some of what is due; whether anything was."""
        end = time.monotonic() + SLICE_S
        while has_done := self.judge_some(now):
            if time.monotonic() >= end:
                break
        return has_done

    def judge_some(self, now: float) -> bool:
        """Do a little of what is due; whether anything was."""
        if self._court is None:
            shared = AnswerSets.of(self._store.observations(self._run_id, SHARED))
            self._noted.clear()
            self._court = RunJudge(shared, self._store.tls_results(self._run_id), self._background, (), {})
            self._court.tls.update(self._tls)
            self._tls = self._court.tls
        elif self._noted and self._noted[0][0] <= now:
            seen = self._noted.popleft()[1]
            known = self._store.observations_at(self._run_id, seen.request_url, seen.question, seen.attempt)
            for each in known:
                self._court.shared.add(each)
        elif self._read:
            case, answer_set, observed = self._read.popleft()
            judged = judged_early(self._court, case, answer_set, observed)
            if judged is not None:
                self._kept.add(case.url, judged)
        else:
            self._read.extend(self._answers([url for _, url in self._due(now)]))
            return bool(self._read)
        return True

    def _due(self, now: float) -> Iterator[tuple[float, str]]:
        for _ in range(READ_AT_A_TIME):
            if self._waiting and self._waiting[0][0] <= now:
                yield self._waiting.popleft()

    def _answers(self, urls: Sequence[str]) -> Iterator[tuple[JudgedTarget, AnswerSet, int]]:
        assert self._court is not None
        observations = list(self._store.observations_about(self._run_id, urls)) if urls else []
        observed = Counter(seen.request_url for seen in observations)
        for url, answer_set in AnswerSets.of(observations).about.items():
            asked = answer_set.last.get(Question.OBJECT)
            if asked is not None and not asked.ark.is_skipped:
                yield self._court.case(asked.ark, url), answer_set, observed[url]

    # -- at its end

    def holding(self, cases: Sequence[JudgedTarget], court: RunJudge) -> Mapping[JudgedTarget, Verdict]:
        """Return the verdicts on *cases* that hold: each was made by the same facts that *court* has of it."""
        is_same = court.background.registry is self._background.registry
        if not is_same or court.background.closed != self._background.closed:
            return {}
        found: dict[JudgedTarget, tuple[Surroundings, Verdict]] = {}
        for case in cases:
            judged = self._kept.find(case.url)
            if judged is not None:
                found[case] = judged
        observed = self._store.observed_at(self._run_id, [case.url for case in found])
        holding = {
            case: verdict
            for case, (before, verdict) in found.items()
            if holds(court, case, before, observed.get(case.url, 0))
        }
        self.held += len(holding)
        self.again += len(found) - len(holding)
        return holding

    def close(self) -> None:
        """Let go of all that is kept."""
        logger.debug("%d verdicts were made while the run asked, and %d of them again", self.held, self.again)
        self._kept.close()


class _Kept:
    """Values by their URLs, in a file beside the store that has no name, and so is gone with the process."""

    def __init__(self, store: Path | None) -> None:
        self._folder = None if store is None else store.absolute().parent
        self._file: IO[bytes] | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    @property
    def is_full(self) -> bool:
        return self._end > MOST_BYTES

    def add(self, url: str, value: Any) -> None:
        """Keep *value*, in place of what was kept before, unless it is full. Raises OSError."""
        if self.is_full:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  (closed by `close`)
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if os.pwrite(self._file.fileno(), data, self._end) != len(data):
            raise OSError(errno.ENOSPC, "only a part was written")
        self._places[url] = self._end, len(data)
        self._end += len(data)

    def find(self, url: str) -> Any:
        """Return what is kept under *url*, or None. Raises OSError."""
        if self._file is None or url not in self._places:
            return None
        start, size = self._places[url]
        return pickle.loads(os.pread(self._file.fileno(), size, start))  # nobody else has written there

    def close(self) -> None:
        """Forget all that is kept, and keep nothing more."""
        self._places.clear()
        self._end = MOST_BYTES + 1
        if self._file is not None:
            self._file.close()
            self._file = None
