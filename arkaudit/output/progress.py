"""Show progress on standard error: a bar on a terminal, a line each minute elsewhere, nothing with `--quiet`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from arkaudit.output.exits import errors, quiet
from crawler.model.observations import DocumentRecord, Observation, Question
from extractors.model.urls import origin_of
from reports.languages.display import count_noun, duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from scrapy.crawler import Crawler

    from crawler.answers.mementos import MementoRecord

#: Seconds between two lines without a terminal.
LINE_EVERY_S = 60.0
#: The last stage; it has no line at its end.
JUDGING = "verdicts"


class Progress:
    """Shows the progress of successive stages, each with a count of items."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bar: Bar | None = None
        self._name = ""
        self._total: int | None = None
        self._before = 0
        self._began = self._last_line = clock()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and errors().is_interactive and not quiet.is_on:
            from rich import progress as rich

            words = rich.TextColumn("{task.description}")
            counts = rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn()
            columns = rich.SpinnerColumn(), words, rich.BarColumn(), *counts
            self._bar = rich.Progress(*columns, console=errors(), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, name: str, total: int | None = None, *, done: int = 0) -> None:
        """Begin a stage with *total* items, if known; *done* is the number done in an earlier run."""
        self._name, self._total, self._before, self._began = name, total, done, self._clock()
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(name, total=total, completed=done)

    def show(self, done: int, more: str = "") -> None:
        """Show the number of items *done*, followed by *more*."""
        now = self._clock()
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=done, description=f"{self._name}{more}")
        elif not quiet.is_on and now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            left = ""
            if self._total is not None and self._before < done < self._total:
                left = f"; about {duration(self._remaining_s(done, now - self._began))} left"
            sys.stderr.write(f"{self.line(done, more)}{left}\n")

    def line(self, done: int, more: str = "") -> str:
        """Return a line about the stage."""
        of = "" if self._total is None else f" of {self._total:,}"
        return f"{self._name}: {done:,}{of}{more}"

    def _remaining_s(self, done: int, elapsed_s: float) -> float:
        """Return the estimated time until the end of the stage."""
        assert self._total is not None
        return (self._total - done) * elapsed_s / (done - self._before)


class RunProgress(Progress):
    """Shows the progress of a run: documents, URLs of ARKs, verdicts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._done = self._citations = self._requests = 0
        self._urls: set[str] | None = None
        self._done_at: Counter[str] = Counter()
        """Number of URLs of the stage that were answered, by host."""

    def __exit__(self, *ending: object) -> None:
        super().__exit__(*ending)
        self._end_stage()

    def stage(self, name: str, total: int | None = None, *, done: int = 0, urls: set[str] | None = None) -> None:
        """Begin a stage; only answers at *urls* count. The set is modified."""
        self._end_stage()
        super().stage(name, total, done=done)
        self._done, self._requests, self._urls, self._done_at = done, 0, urls, Counter()

    def watch(self, crawler: Crawler) -> None:
        """Count the items of a crawler's spider."""
        from scrapy import signals

        crawler.signals.connect(self.count, signal=signals.item_scraped, weak=False)

    def count(self, item: DocumentRecord | Observation | MementoRecord | object) -> None:
        """Count one more item of a spider."""
        if isinstance(item, DocumentRecord):
            self._done += len(item.rows)
            self._citations += len({cited.mention.citation for cited in item.mentions})
        else:
            self._done += not isinstance(item, Observation) or self._is_expected(item)
            self._requests += sum(hop.sent for hop in getattr(item, "hops", ()))
        self.show(self._done, self._more())

    def count_verdict(self) -> None:
        """Count one more verdict."""
        self._done += 1
        self.show(self._done)

    def _is_expected(self, item: Observation) -> bool:
        """Return True for the first answer about an object at a URL of the stage."""
        if item.question is not Question.OBJECT or item.attempt > 1:
            return False
        if self._urls is None:
            return True
        is_expected = item.request_url in self._urls
        self._done_at[origin_of(item.request_url)] += is_expected
        self._urls.discard(item.request_url)
        return is_expected

    def _remaining_s(self, done: int, elapsed_s: float) -> float:
        """Return the estimate for the host that takes longest: hosts are asked side by side, each at its own rate."""
        if not self._urls:
            return super()._remaining_s(done, elapsed_s)
        left = Counter(map(origin_of, self._urls))
        return max(number * elapsed_s / max(self._done_at[host], 1) for host, number in left.items())

    def _end_stage(self) -> None:
        if self._name not in ("", JUDGING) and not quiet.is_on:
            errors().print(self.line(self._done, self._more()), highlight=False, soft_wrap=True)

    def _more(self) -> str:
        if self._name == JUDGING:
            return ""
        if self._name == "documents":
            return f", {count_noun(self._citations, 'citation')}"
        return f", {count_noun(self._requests, 'request')}"
