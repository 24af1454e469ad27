"""Asks a resolver what a conformance test is about, for one ARK after the other. It decides nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from scrapy import Request
from scrapy.http import Response

from arkaudit.features.conform.plan import Probe
from crawler.asking.target import QuestionToSend
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import Observation
from crawler.model.resolving import PASSING_STATUSES, attempt_wait_s, sendable
from crawler.spiders.arks_spider import observe
from crawler.spiders.auditing import AuditSpider
from crawler.store.feeding import Bounds
from crawler.store.frontier import SettledEntry

#: Maximum number of ARKs that are checked at a time.
ARKS_AT_A_TIME = 20


class ConformanceSpider(AuditSpider):
    """Sends the probes of each ARK on its frontier, except those with an answer in the store."""

    name = "conformance"
    exported = Observation

    def __init__(self, *, probes: Iterable[Probe], **kwargs: Any) -> None:
        super().__init__(bounds=Bounds(in_hand=ARKS_AT_A_TIME, per_host=ARKS_AT_A_TIME), **kwargs)
        self._probes: dict[str, list[Probe]] = {}
        """The probes of each ARK, by the URL that requests it."""
        for probe in probes:
            self._probes.setdefault(probe.request_url, []).append(probe)
        self._open: dict[str, int] = {}
        """The number of open probes of each ARK."""
        self.frontier.add(CrawlRequest.to_ark(asked[0].ark, url) for url, asked in self._probes.items())

    async def begin(self) -> AsyncIterator[Request]:
        async for entry in self.feed.entries():
            url = entry.crawl_request.url
            last = {answer.question: answer for answer in self.store.observations_at(self.run_id, url)}
            left = [(probe, last.get(probe.question)) for probe in self._probes.get(url, ())]
            left = [pair for pair in left if self._wait_s(*pair) is not None]
            self._open[url] = len(left)
            for probe, after in left:
                yield self._request(probe, after)
            if not left:
                self.recorder.add(SettledEntry(self.name, entry.crawl_request.canonical))

    def _wait_s(self, probe: Probe, last: Observation | None) -> float | None:
        """Return the seconds to wait before a probe is repeated or gets its next name, or None if it is done."""
        if last is None:
            return 0.0
        if probe.times == 1:
            return attempt_wait_s(last, self.patience)
        is_refused = last.status is None or last.status in PASSING_STATUSES
        return None if is_refused or last.attempt >= probe.times else 0.0

    def _request(self, probe: Probe, after: Observation | None = None, wait_s: float = 0.0) -> Request:
        url = probe.url if after is None or probe.times == 1 else f"{probe.url}{after.attempt}"
        ask = QuestionToSend(probe.ark, probe.request_url, probe.question, url, after, wait_s)
        return Request(
            sendable(ask.url),
            method=probe.method,
            headers=dict(probe.headers),
            callback=self.handle_answer,
            errback=self.handle_failure,
            cb_kwargs={"ask": ask, "probe": probe},
            dont_filter=True,
            meta={"verbatim_url": True, "text_only": True, "body_limit": self.settings.getint("ARKAUDIT_BODY_LIMIT")},
        )

    async def on_answer(
        self, request: Request, response: Response | None, ask: QuestionToSend, probe: Probe
    ) -> AsyncIterator[Observation]:
        observation = await observe(ask, request, response, self.answers)
        is_unsent = ask.after is not None and not any(hop.sent for hop in observation.hops)
        wait_s = None if is_unsent else self._wait_s(probe, observation)
        if not is_unsent:
            self.recorder.add(observation)
            yield self.redact(observation)
        if wait_s is not None:
            self.ask_later(self._request(probe, observation, wait_s), wait_s)
            return
        self._open[ask.request_url] -= 1
        if not self._open[ask.request_url]:
            self.recorder.add(SettledEntry(self.name, ask.request_url))
