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
        self._earlier_count = 0
        self._start_s = self._last_line_s = clock()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and errors().is_interactive and not quiet.is_on:
            from rich import progress as rich

            description = rich.TextColumn("{task.description}")
            count_columns = rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn()
            columns = rich.SpinnerColumn(), description, rich.BarColumn(), *count_columns
            self._bar = rich.Progress(*columns, console=errors(), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, name: str, total: int | None = None, *, done_count: int = 0) -> None:
        """Begin a stage with *total* items (None: unknown), *done_count* of them already done in an earlier run."""
        self._name, self._total, self._earlier_count, self._start_s = name, total, done_count, self._clock()
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(name, total=total, completed=done_count)

    def show(self, done_count: int, detail: str = "") -> None:
        """Show the number of items that are done, followed by *detail*, such as ``, 3 citations``."""
        now = self._clock()
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=done_count, description=f"{self._name}{detail}")
        elif not quiet.is_on and now - self._last_line_s >= LINE_EVERY_S:
            self._last_line_s = now
            remaining_words = ""
            if self._total is not None and self._earlier_count < done_count < self._total:
                remaining_words = f"; about {duration(self._remaining_s(done_count, now - self._start_s))} left"
            sys.stderr.write(f"{self.line(done_count, detail)}{remaining_words}\n")

    def line(self, done_count: int, detail: str = "") -> str:
        """Return a line about the stage, such as ``documents: 3 of 7, 5 citations``."""
        total_words = "" if self._total is None else f" of {self._total:,}"
        return f"{self._name}: {done_count:,}{total_words}{detail}"

    def _remaining_s(self, done_count: int, elapsed_s: float) -> float:
        """Return the estimated seconds until the end of the stage, which began *elapsed_s* ago."""
        assert self._total is not None
        return (self._total - done_count) * elapsed_s / (done_count - self._earlier_count)


class RunProgress(Progress):
    """Shows the progress of a run: documents, URLs of ARKs, verdicts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._done_count = self._citation_count = self._request_count = 0
        self._open_urls: set[str] | None = None
        self._done_by_host: Counter[str] = Counter()
        """Number of URLs of the stage that were answered, by host."""

    def __exit__(self, *exception_info: object) -> None:
        super().__exit__(*exception_info)
        self._end_stage()

    def stage(self, name: str, total: int | None = None, *, done_count: int = 0, urls: set[str] | None = None) -> None:
        """Begin a stage; only answers at *urls* count (None: all). The set loses each URL that is answered."""
        self._end_stage()
        super().stage(name, total, done_count=done_count)
        self._done_count, self._request_count, self._open_urls, self._done_by_host = done_count, 0, urls, Counter()

    def watch(self, crawler: Crawler) -> None:
        """Count the items of a crawler's spider."""
        from scrapy import signals

        crawler.signals.connect(self.count, signal=signals.item_scraped, weak=False)

    def count(self, item: DocumentRecord | Observation | MementoRecord | object) -> None:
        """Count one more item that a spider yielded, and show the progress."""
        if isinstance(item, DocumentRecord):
            self._done_count += len(item.rows)
            self._citation_count += len({citation.mention.citation for citation in item.mentions})
        else:
            self._done_count += not isinstance(item, Observation) or self._take_expected(item)
            self._request_count += sum(hop.sent for hop in getattr(item, "hops", ()))
        self.show(self._done_count, self._detail())

    def count_verdict(self) -> None:
        """Count one more verdict, and show the progress."""
        self._done_count += 1
        self.show(self._done_count)

    def _take_expected(self, item: Observation) -> bool:
        """Return True if *item* is the first answer about an object at a URL that the stage still expects.

        The URL is then no longer expected. If the stage has no set of URLs, each first answer counts.
        """
        if item.question is not Question.OBJECT or item.attempt > 1:
            return False
        if self._open_urls is None:
            return True
        is_expected = item.request_url in self._open_urls
        self._done_by_host[origin_of(item.request_url)] += is_expected
        self._open_urls.discard(item.request_url)
        return is_expected

    def _remaining_s(self, done_count: int, elapsed_s: float) -> float:
        """Return the estimated seconds until the slowest host is done; hosts are asked at the same time."""
        if not self._open_urls:
            return super()._remaining_s(done_count, elapsed_s)
        open_counts = Counter(map(origin_of, self._open_urls))
        return max(url_count * elapsed_s / max(self._done_by_host[host], 1) for host, url_count in open_counts.items())

    def _end_stage(self) -> None:
        if self._name not in ("", JUDGING) and not quiet.is_on:
            errors().print(self.line(self._done_count, self._detail()), highlight=False, soft_wrap=True)

    def _detail(self) -> str:
        if self._name == JUDGING:
            return ""
        if self._name == "documents":
            return f", {count_noun(self._citation_count, 'citation')}"
        return f", {count_noun(self._request_count, 'request')}"
