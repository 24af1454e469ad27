"""Logs in at hosts of one's own, once a host and run; cookies go to exactly the origin that has set them.

The requests for that go the way of all others: guard, throttle and limits. They are in no answer's chain, and nothing
of what they send or get is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http.cookies import CookieJar
from scrapy.http.request import NO_CALLBACK

from crawler.model.resolving import REDIRECTS, BadLocation, resolved_location
from crawler.politeness.throttle import HostThrottle, throttle_of
from crawler.wire.credentials import Credential, Credentials, Origin
from crawler.wire.failures import failure_kind, failure_text
from crawler.wire.log_in_forms import FORM_LIMIT, LogIn, NoLogIn, filled_form, require_success
from crawler.wire.middlewares import NotSent, RunStopped, exception_names, failure_words

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


#: Values of cookies that are looked for in what a host repeats: some hosts give new ones with every answer.
MOST_FORMER = 4


class LogInFailed(NotSent):
    """Raised for each request to a host at which logging in has failed; nothing has been sent for it then."""


class Sessions:
    """The credentials of a run: those of the configuration, and the cookies of hosts at which it has logged in."""

    def __init__(self, credentials: Credentials, log_ins: Iterable[LogIn] = ()) -> None:
        self._credentials = credentials
        self.log_ins: Mapping[Origin, LogIn] = {log_in.origin: log_in for log_in in log_ins}
        self._cookies: dict[Origin, dict[str, str]] = {origin: {} for origin in self.log_ins}
        self._former: dict[Origin, dict[str, None]] = {origin: {} for origin in self.log_ins}
        """Values that cookies have had, the last ones: as secret as those that they have."""
        self.tasks: dict[Origin, asyncio.Task[None]] = {}

    def __bool__(self) -> bool:
        return bool(self._credentials) or bool(self.log_ins)

    def log_in(self, url: str) -> LogIn | None:
        """The way to log in at the origin of *url*; None where there is none."""
        try:
            return self.log_ins.get(Origin.of(url)) if self.log_ins else None
        except ValueError:
            return None

    def find(self, url: str) -> tuple[Origin, Credential] | None:
        """The origin of *url* with what is for it; None when nothing is."""
        credential = self._credentials.find(url)
        log_in = self.log_in(url)
        if log_in is None:
            return credential
        own = credential[1] if credential is not None else Credential()
        origin = log_in.origin
        cookies = {**own.cookies, **self._cookies[origin]}
        return origin, Credential(own.headers, cookies, (*log_in.secrets, *self._former[origin]))

    def keep(self, origin: Origin, request: Request, response: Response) -> list[str]:
        """Keep the cookies that an answer of *origin* sets, and return their names."""
        cookies, named = self._cookies[origin], []
        for cookie in CookieJar().make_cookies(response, request):
            if cookie.value is None or cookie.is_expired():
                cookies.pop(cookie.name, None)
                continue
            named.append(cookie.name)
            cookies[cookie.name] = cookie.value
            former = self._former[origin]
            former.pop(cookie.value, None)
            former[cookie.value] = None
            for oldest in list(former)[:-MOST_FORMER]:
                del former[oldest]
        return named

    def knows(self, origin: Origin, name: str) -> bool:
        """Return whether a cookie is part of the session at *origin*."""
        return name in self._cookies[origin]


_SESSIONS: WeakKeyDictionary[HostThrottle, Sessions] = WeakKeyDictionary()


def sessions_of(crawler: Crawler) -> Sessions:
    """The credentials of a crawler's run, which it has in common with those that share its throttle."""
    throttle = throttle_of(crawler)
    if throttle not in _SESSIONS:
        settings = crawler.settings
        credentials = settings.get("ARKAUDIT_CREDENTIALS") or Credentials()
        _SESSIONS[throttle] = Sessions(credentials, settings.get("ARKAUDIT_LOG_INS") or ())
    return _SESSIONS[throttle]


class LogIns:
    """Comes next to the wire: has the first request to a host wait until the log-in is done, and those after it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._sessions = sessions_of(crawler)
        if not self._sessions.log_ins:
            raise NotConfigured

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LogIns:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Raise `LogInFailed` for a request to a host at which the log-in has failed."""
        log_in = self._sessions.log_in(request.url)
        if log_in is None or "log_in" in request.meta or request.meta.get("dont_obey_robotstxt"):
            return
        tasks = self._sessions.tasks
        if log_in.origin not in tasks:
            tasks[log_in.origin] = asyncio.ensure_future(self._log_in(log_in))
        await asyncio.shield(tasks[log_in.origin])

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep what the session's cookies have become; each answer of the log-in is looked at where it is asked for."""
        log_in = self._sessions.log_in(request.url)
        if log_in is not None and response.headers.get("Set-Cookie"):
            if "log_in" in request.meta:
                request.meta["log_in"] += self._sessions.keep(log_in.origin, request, response)
            else:
                self._refresh(log_in.origin, request, response)
        return response

    def _refresh(self, origin: Origin, request: Request, response: Response) -> None:
        jar = CookieJar()
        if any(self._sessions.knows(origin, cookie.name) for cookie in jar.make_cookies(response, request)):
            self._sessions.keep(origin, request, response)

    async def _log_in(self, log_in: LogIn) -> None:
        try:
            await self._through_form(log_in)
        except RunStopped:
            raise
        except Exception as failure:
            words = str(failure) if isinstance(failure, NoLogIn) else _words(failure)
            logger.warning("%s: the log-in failed: %s; nothing else is asked there", log_in.origin, words)
            raise LogInFailed(words) from None

    async def _through_form(self, log_in: LogIn) -> None:
        page, _ = await self._answer(Request(log_in.url), log_in)
        form = filled_form(page.body, page.url, log_in)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Referer": page.url}
        sent = Request(form.url, method="POST", body=form.body, headers=headers)
        answer, cookies = await self._answer(sent, log_in)
        status, text = answer.status, _text(answer)
        if log_in.text is not None and status in REDIRECTS:
            host = _place(answer)
            if host is not None and self._sessions.log_in(host) is log_in:
                text = _text((await self._answer(Request(host), log_in))[0])
        require_success(log_in, status, cookies, text)

    async def _answer(self, request: Request, log_in: LogIn) -> tuple[Response, list[str]]:
        """The answer to a request of the log-in, with the cookies that it set; a form's redirect is not followed."""
        engine = self._crawler.engine
        assert engine is not None
        meta = {
            "log_in": [],
            "dont_obey_robotstxt": True,
            "dont_merge_cookies": True,
            "body_limit": FORM_LIMIT,
            "dont_redirect": request.method == "POST",
        }
        asked = request.replace(meta=meta, callback=NO_CALLBACK, dont_filter=True)
        response = await engine.download_async(asked)
        ended = response.request.url if response.request is not None else response.url
        if self._sessions.log_in(ended) is not log_in:
            raise NoLogIn(f"{request.url} leads to another host, {ended}")
        return response, response.meta["log_in"]


def _place(answer: Response) -> str | None:
    try:
        return resolved_location(answer.url, (answer.headers.get("Location") or b"").decode("latin-1"))
    except BadLocation:
        return None


def _text(answer: Response) -> str:
    return answer.text if hasattr(answer, "encoding") else answer.body.decode("utf-8", "replace")


def _words(failure: Exception) -> str:
    kind = failure_kind(list(exception_names(failure)))
    return failure_text(kind, failure_words(failure))
