"""Adds credentials to the requests of their hosts over trusted connections, and removes secrets from the answers.

It also logs in at the operator's own hosts, once per host and run; cookies go only to the origin that set them. The
requests for a log-in pass the same guard, throttle and limits as all others. They appear in no chain of an answer, and
their contents are not stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.cookiejar import Cookie
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import getproxies
from weakref import WeakKeyDictionary

from cryptography.x509 import load_pem_x509_certificates
from OpenSSL.crypto import X509
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.http.request import NO_CALLBACK
from twisted.internet.ssl import Certificate, trustRootFromCertificates
from twisted.web.client import BrowserLikePolicyForHTTPS
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from crawler.answers.mementos import MementoRecord
from crawler.model.observations import DocumentRecord, HostTraffic, Observation, Pause, TlsResult
from crawler.model.resolving import REDIRECTS, BadLocation, resolved_location
from crawler.politeness.throttle import HostThrottle, throttle_of
from crawler.wire.credentials import (
    FORM_LIMIT,
    Credential,
    Credentials,
    LogIn,
    NoLogIn,
    fill_form,
    proxy_credential,
    require_success,
)
from crawler.wire.handlers import ExactDownloadHandler
from crawler.wire.middlewares import (
    CrawlerPart,
    NotSent,
    RunStopped,
    end_and_words,
    exception_names,
    failure_words,
    header_of,
)
from crawler.wire.redaction import Redactor
from extractors.model.urls import Origin

logger = logging.getLogger(__name__)


#: The number of former cookie values that are removed from answers: some hosts set new values with every answer.
MOST_FORMER = 4


class LogInFailed(NotSent):
    """Raised for each request to a host where the log-in has failed; the request has not been sent."""


class Sessions:
    """The credentials of a run: those of the configuration, and the cookies of log-ins."""

    def __init__(self, credentials: Credentials, log_ins: Iterable[LogIn] = ()) -> None:
        self._credentials = credentials
        self.log_ins: Mapping[Origin, LogIn] = {log_in.origin: log_in for log_in in log_ins}
        self._cookies: dict[Origin, dict[str, str]] = {origin: {} for origin in self.log_ins}
        self._former: dict[Origin, dict[str, None]] = {origin: {} for origin in self.log_ins}
        """The last former values of cookies, which are as secret as the present ones."""
        self.tasks: dict[Origin, asyncio.Task[None]] = {}

    def __bool__(self) -> bool:
        return bool(self._credentials) or bool(self.log_ins)

    def log_in(self, url: str) -> LogIn | None:
        """Return the log-in for the origin of *url*, or None."""
        try:
            return self.log_ins.get(Origin.parse(url)) if self.log_ins else None
        except ValueError:
            return None

    def find(self, url: str) -> tuple[Origin, Credential] | None:
        """Return the origin of *url* with its credential, or None."""
        credential = self._credentials.find(url)
        log_in = self.log_in(url)
        if log_in is None:
            return credential
        own = credential[1] if credential is not None else Credential()
        origin = log_in.origin
        cookies = {**own.cookies, **self._cookies[origin]}
        return origin, Credential(own.headers, cookies, (*log_in.secrets, *self._former[origin]))

    def keep(self, origin: Origin, given: Iterable[Cookie]) -> list[str]:
        """Store the cookies that an answer of *origin* sets, and return their names."""
        cookies, named = self._cookies[origin], []
        for cookie in given:
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
        """Return True if a cookie is part of the session at *origin*."""
        return name in self._cookies[origin]


_SESSIONS: WeakKeyDictionary[HostThrottle, Sessions] = WeakKeyDictionary()


def sessions_of(crawler: Crawler) -> Sessions:
    """Return the sessions of a crawler's run, shared by all crawlers with the same throttle."""
    throttle = throttle_of(crawler)
    if throttle not in _SESSIONS:
        settings = crawler.settings
        credentials = settings.get("ARKAUDIT_CREDENTIALS") or Credentials()
        _SESSIONS[throttle] = Sessions(credentials, settings.get("ARKAUDIT_LOG_INS") or ())
    return _SESSIONS[throttle]


class LogIns(CrawlerPart):
    """A middleware next to the wire: the first request to a host waits until the log-in is done."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._sessions = sessions_of(crawler)
        if not self._sessions.log_ins:
            raise NotConfigured

    async def process_request(self, request: Request) -> None:
        """Raise `LogInFailed` for a request to a host where the log-in has failed."""
        log_in = self._sessions.log_in(request.url)
        if log_in is None or "log_in" in request.meta or request.meta.get("dont_obey_robotstxt"):
            return
        tasks = self._sessions.tasks
        if log_in.origin not in tasks:
            tasks[log_in.origin] = asyncio.ensure_future(self._log_in(log_in))
        await asyncio.shield(tasks[log_in.origin])

    def process_response(self, request: Request, response: Response) -> Response:
        """Store the cookies of an answer: all of a log-in's, and others if they belong to the session."""
        log_in = self._sessions.log_in(request.url)
        if log_in is None or not response.headers.get("Set-Cookie"):
            return response
        cookies = CookieJar().make_cookies(response, request)
        if "log_in" in request.meta:
            request.meta["log_in"] += self._sessions.keep(log_in.origin, cookies)
        elif any(self._sessions.knows(log_in.origin, cookie.name) for cookie in cookies):
            self._sessions.keep(log_in.origin, cookies)
        return response

    async def _log_in(self, log_in: LogIn) -> None:
        try:
            await self._through_form(log_in)
        except RunStopped:
            raise
        except Exception as failure:
            words = str(failure) if isinstance(failure, NoLogIn) else end_and_words(failure)[1]
            logger.warning("%s: the log-in failed: %s; nothing else is asked there", log_in.origin, words)
            raise LogInFailed(words) from None

    async def _through_form(self, log_in: LogIn) -> None:
        page, _ = await self._answer(Request(log_in.url), log_in)
        form = fill_form(page.body, page.url, log_in)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Referer": page.url}
        sent = Request(form.url, method="POST", body=form.body, headers=headers)
        answer, cookies = await self._answer(sent, log_in)
        shown = answer
        if log_in.text is not None and answer.status in REDIRECTS:
            location = header_of(answer.headers, "Location")
            with suppress(BadLocation):
                target = resolved_location(answer.url, location)
                if self._sessions.log_in(target) is log_in:
                    shown, _ = await self._answer(Request(target), log_in)
        is_text = hasattr(shown, "encoding")
        text = shown.text if is_text else shown.body.decode("utf-8", "replace")
        require_success(log_in, answer.status, cookies, text)

    async def _answer(self, request: Request, log_in: LogIn) -> tuple[Response, list[str]]:
        """Return an answer of the log-in and the names of its cookies; don't follow the redirect of a form."""
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


T = TypeVar("T")

_DISTRUST = frozenset({"VerificationError", "CertificateError"})


class CredentialedDownloadHandler(ExactDownloadHandler):
    """Sends credentials to their hosts. Over https, only if the certificate is trusted; else the request has none."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._credentials = sessions_of(crawler)
        self._distrusted: dict[Origin, str] = {}
        """The reasons why hosts get no credentials."""
        if self._credentials:
            verifying = verifying_policy(crawler.settings.get("ARKAUDIT_CA_FILE"))
            policy: Any = _TrustWhereItCounts(verifying, self._contextFactory, self._has_credentials)
            self._contextFactory = policy

    def _has_credentials(self, origin: Origin) -> bool:
        return self._credentials.find(str(origin)) is not None and origin not in self._distrusted

    async def _exchange(self, request: Request, *rest: Any) -> Response:
        origin_and_credential = self._credentials.find(request.url)
        if origin_and_credential is None:
            return await super()._exchange(request, *rest)
        origin, credential = origin_and_credential
        if origin not in self._distrusted:
            try:
                with _with_credential(request, credential):
                    return await super()._exchange(request, *rest)
            except Exception as failure:
                why = _distrust(failure)
                if why is None:
                    raise
                if "log_in" in request.meta:
                    raise NoLogIn(f"{why}, so the form is not sent") from failure
            # The handshake failed, so nothing has been sent. The host is now asked without credentials.
            self._distrusted[origin] = why
            logger.warning("%s: %s, so no credentials are sent there", origin, why)
        elif "log_in" in request.meta:
            raise NoLogIn(f"{self._distrusted[origin]}, so the form is not sent")
        return await super()._exchange(request, *rest)


@implementer(IPolicyForHTTPS)
class _TrustWhereItCounts:
    """Verifies the certificates of hosts with credentials; other hosts are observed without verification."""

    def __init__(self, verifying: Any, observing: Any, has_credentials: Any) -> None:
        self._verifying = verifying
        self._observing = observing
        self._has_credentials = has_credentials

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        host = hostname.decode("ascii").strip("[]").lower()
        is_strict = self._has_credentials(Origin("https", host, port))
        policy = self._verifying if is_strict else self._observing
        return policy.creatorForNetloc(hostname, port)


class Redaction:
    """The middleware nearest to the wire: removes the secrets of a host, or of a proxy, from its answer."""

    def __init__(self, credentials: Credentials | Sessions) -> None:
        self._credentials = credentials

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Redaction:
        credentials = sessions_of(crawler)
        is_proxied = crawler.settings.getbool("HTTPPROXY_ENABLED") and bool(getproxies())
        if not credentials and not is_proxied:
            raise NotConfigured
        return cls(credentials)

    def process_response(self, request: Request, response: Response) -> Response:
        origin_and_credential = self._credentials.find(request.url)
        sent = [] if origin_and_credential is None else [origin_and_credential[1]]
        to_proxy = request.headers.get("Proxy-Authorization")
        if to_proxy:
            sent.append(Credential({"Proxy-Authorization": to_proxy.decode("latin-1")}))
        for credential in sent:
            quiet = Redactor.for_secrets(credential.secrets)
            for name, values in response.headers.items():
                response.headers[name] = [quiet.bytes(value) for value in values]
            if "log_in" not in request.meta:  # a log-in's answers are not stored, and its form needs its own values
                response = response.replace(body=quiet.bytes(response.body))
        return response


class RecordRedactor:
    """Removes the secrets of hosts from records, because packed contents may still contain them.

    The fields that identify a request stay unchanged.
    """

    def __init__(self, credentials: Credentials | Sessions) -> None:
        self._credentials = credentials
        self._of_proxies = [secret for url in getproxies().values() for secret in proxy_credential(url).secrets]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RecordRedactor:
        return cls(sessions_of(crawler))

    def __call__(self, item: T) -> T:
        """Return *item* without the secrets of the hosts that it is about."""
        if not self._credentials and not self._of_proxies:
            return item
        secrets = {
            secret
            for url in _urls_of(item)
            if (origin_and_credential := self._credentials.find(url))
            for secret in origin_and_credential[1].secrets
        }
        quiet = Redactor.for_secrets((*secrets, *self._of_proxies))
        match item:
            case Observation():
                return quiet.record(item, kept=frozenset({"ark", "request_url", "asked_url"}))
            case MementoRecord():
                return quiet.record(item, kept=frozenset({"ark", "request_url", "timegate"}))
            case DocumentRecord():
                way = None if item.led_by is None else self(item.led_by)
                cleaned = quiet.record(item, kept=frozenset({"settles", "led_by"}))
                return cleaned if way is item.led_by else replace(cleaned, led_by=way)
            case Pause() | HostTraffic() | TlsResult():
                return quiet.record(item)
        return item


def _urls_of(item: object) -> Iterator[str]:
    """Yield the URLs of the hosts that a record is about."""
    yield from (hop.url for hop in getattr(item, "hops", ()))
    rendering = getattr(item, "rendering", None)
    yield from (hop.url for hop in rendering.requests) if rendering is not None else ()
    for name in ("url", "found_on", "host"):
        if isinstance(url := getattr(item, name, None), str):
            yield url


def verifying_policy(ca_file: str | None) -> Any:
    """Return a policy that trusts certificates signed by a known authority, or by one in *ca_file*."""
    authorities: Any = None
    if ca_file:
        loaded = load_pem_x509_certificates(Path(ca_file).read_bytes())
        certificates = [Certificate(X509.from_cryptography(certificate)) for certificate in loaded]  # type: ignore[no-untyped-call]
        authorities = trustRootFromCertificates(certificates)  # type: ignore[no-untyped-call]
    return BrowserLikePolicyForHTTPS(authorities)  # type: ignore[no-untyped-call]


@contextmanager
def _with_credential(request: Request, credential: Credential) -> Iterator[None]:
    """Add a credential to *request* while it is in flight; a redirect is made from the request without it."""
    headers = request.headers
    added = dict(credential.headers)
    if credential.cookie:
        others = [cookie.decode("latin-1") for cookie in headers.getlist("Cookie")]
        added["Cookie"] = "; ".join((credential.cookie, *others))
    before = {name: headers.getlist(name) for name in added}
    headers.update(added)
    try:
        yield
    finally:
        for name, values in before.items():
            headers[name] = values
            if not values:
                del headers[name]


def _distrust(failure: Exception) -> str | None:
    """Return why a host is not trusted with credentials, or None if a request failed for another reason."""
    words = failure_words(failure)
    if "certificate verify failed" in words or not _DISTRUST.isdisjoint(exception_names(failure)):
        return "its certificate can't be trusted"
    if "unsafe legacy renegotiation" in words:  # an attacker on the way could put a request before this one
        return "its TLS is older than RFC 5746"
    return None
