"""Progress on standard error: a bar on a terminal, a plain line each minute in a log, nothing with `--quiet`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from arkaudit.exits import errors, quiet
from crawler.model.observations import DocumentRecord, Observation, Question
from reports.languages.display import counted, duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from scrapy.crawler import Crawler

    from crawler.answers.mementos import MementoRecord

#: Seconds between two lines where there is no terminal.
LINE_EVERY_S = 60.0
#: The stage after all questions; a line about it says nothing once it has ended.
JUDGING = "verdicts"


class Progress:
    """The progress through one stage after the other, each with a number of things that are done."""

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
        """Begin another stage; *total* is the number of its things, if known, of which so many were *done* before."""
        self._name, self._total, self._before, self._began = name, total, done, self._clock()
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(name, total=total, completed=done)

    def show(self, done: int, more: str = "") -> None:
        """Show how many things of the stage are done, and *more* about them."""
        now = self._clock()
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=done, description=f"{self._name}{more}")
        elif not quiet.is_on and now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            sys.stderr.write(f"{self.line(done, more)}{self._left(done, now)}\n")

    def line(self, done: int, more: str = "") -> str:
        """The stage in one line."""
        of = "" if self._total is None else f" of {self._total:,}"
        return f"{self._name}: {done:,}{of}{more}"

    def _left(self, done: int, now: float) -> str:
        if self._total is None or not self._before < done < self._total:
            return ""
        seconds = (self._total - done) * (now - self._began) / (done - self._before)
        return f"; about {duration(seconds)} left"


class RunProgress(Progress):
    """The progress of a run: the documents that were read, the URLs of ARKs that were asked, the verdicts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._done = self._citations = self._requests = 0
        self._urls: set[str] | None = None

    def __exit__(self, *ending: object) -> None:
        super().__exit__(*ending)
        self._end_stage()

    def stage(self, name: str, total: int | None = None, *, done: int = 0, urls: set[str] | None = None) -> None:
        """Begin another stage; of the URLs that are asked, only *urls* count, which this takes over."""
        self._end_stage()
        super().stage(name, total, done=done)
        self._done, self._requests, self._urls = done, 0, urls

    def watch(self, crawler: Crawler) -> None:
        """Follow what a crawler's spider yields."""
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
        """Return whether this is the first answer for the object at a URL that belongs to the stage."""
        if item.question is not Question.OBJECT or item.attempt > 1:
            return False
        if self._urls is None:
            return True
        is_expected = item.request_url in self._urls
        self._urls.discard(item.request_url)
        return is_expected

    def _end_stage(self) -> None:
        if self._name not in ("", JUDGING) and not quiet.is_on:
            errors().print(self.line(self._done, self._more()), highlight=False, soft_wrap=True)

    def _more(self) -> str:
        if self._name == JUDGING:
            return ""
        if self._name == "documents":
            return f", {counted(self._citations, 'citation')}"
        return f", {counted(self._requests, 'request')}"
