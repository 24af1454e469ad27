"""Adds credentials to the requests of their hosts over trusted connections, and removes secrets from the answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from twisted.internet.ssl import Certificate, trustRootFromCertificates
from twisted.web.client import BrowserLikePolicyForHTTPS
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from crawler.answers.mementos import MementoRecord
from crawler.model.observations import DocumentRecord, HostTraffic, Observation, Pause
from crawler.politeness.throttle import HostThrottle, throttle_of
from crawler.wire.credentials import Credential, Credentials, proxy_credential
from crawler.wire.handlers import ExactDownloadHandler
from crawler.wire.middlewares import exception_names, failure_words
from crawler.wire.redaction import Redactor
from extractors.model.urls import Origin

logger = logging.getLogger(__name__)


#: The number of former cookie values that are removed from answers: some hosts set new values with every answer.
MOST_FORMER = 4


class Sessions:
    """The credentials of a run, with the cookie values that hosts have replaced in answers."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._replaced: dict[Origin, dict[str, list[str]]] = {}
        """The values of replaced cookies by origin and name, the present one last."""

    def __bool__(self) -> bool:
        return bool(self._credentials)

    def find(self, url: str) -> tuple[Origin, Credential] | None:
        """Return the origin of *url* with its credential, or None."""
        origin_and_credential = self._credentials.find(url)
        if origin_and_credential is None or origin_and_credential[0] not in self._replaced:
            return origin_and_credential
        origin, credential = origin_and_credential
        replaced = self._replaced[origin]
        cookies = {
            name: replaced[name][-1] if name in replaced else value for name, value in credential.cookies.items()
        }
        former_values = (*credential.cookies.values(), *(value for values in replaced.values() for value in values))
        return origin, Credential(credential.headers, cookies, former_values)

    def keep(self, response: Response, request: Request) -> None:
        """Keep the values that *response* sets for cookies of the credential for *request*."""
        origin_and_credential = self._credentials.find(request.url)
        if origin_and_credential is None or not response.headers.get("Set-Cookie"):
            return
        origin, credential = origin_and_credential
        for cookie in CookieJar().make_cookies(response, request):
            if cookie.name in credential.cookies and cookie.value and not cookie.is_expired():
                values = self._replaced.setdefault(origin, {}).setdefault(cookie.name, [])
                values[:] = [*values, cookie.value][-MOST_FORMER:]


_SESSIONS: WeakKeyDictionary[HostThrottle, Sessions] = WeakKeyDictionary()


def sessions_of(crawler: Crawler) -> Sessions:
    """Return the sessions of a crawler's run, shared by all crawlers with the same throttle."""
    throttle = throttle_of(crawler)
    if throttle not in _SESSIONS:
        _SESSIONS[throttle] = Sessions(crawler.settings.get("ARKAUDIT_CREDENTIALS") or Credentials())
    return _SESSIONS[throttle]


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
            policy: Any = _TrustForCredentials(verifying, self._contextFactory, self._has_credentials)
            self._contextFactory = policy

    def _has_credentials(self, origin: Origin) -> bool:
        return self._credentials.find(str(origin)) is not None and origin not in self._distrusted

    async def _exchange(self, request: Request, *rest: Any) -> Response:
        """Send a request with the credentials for its host, or without them if its certificate can't be trusted."""
        origin_and_credential = self._credentials.find(request.url)
        if origin_and_credential is None:
            return await super()._exchange(request, *rest)
        origin, credential = origin_and_credential
        if origin not in self._distrusted:
            try:
                with _with_credential(request, credential):
                    return await super()._exchange(request, *rest)
            except Exception as failure:
                reason = _distrust_reason(failure)
                if reason is None:
                    raise
            # The handshake failed, so nothing has been sent. The host is now asked without credentials.
            self._distrusted[origin] = reason
            logger.warning("%s: %s, so no credentials are sent there", origin, reason)
        return await super()._exchange(request, *rest)


@implementer(IPolicyForHTTPS)
class _TrustForCredentials:
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

    def __init__(self, credentials: Sessions) -> None:
        self._credentials = credentials

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Redaction:
        credentials = sessions_of(crawler)
        is_proxied = crawler.settings.getbool("HTTPPROXY_ENABLED") and bool(getproxies())
        if not credentials and not is_proxied:
            raise NotConfigured
        return cls(credentials)

    def process_response(self, request: Request, response: Response) -> Response:
        self._credentials.keep(response, request)
        origin_and_credential = self._credentials.find(request.url)
        sent_credentials = [] if origin_and_credential is None else [origin_and_credential[1]]
        proxy_authorization = request.headers.get("Proxy-Authorization")
        if proxy_authorization:
            sent_credentials.append(Credential({"Proxy-Authorization": proxy_authorization.decode("latin-1")}))
        for credential in sent_credentials:
            redactor = Redactor.for_secrets(credential.secrets)
            for name, values in response.headers.items():
                response.headers[name] = [redactor.bytes(value) for value in values]
            response = response.replace(body=redactor.bytes(response.body))
        return response


class RecordRedactor:
    """Removes the secrets of hosts from records, because packed contents may still contain them.

    The fields that identify a request stay unchanged.
    """

    def __init__(self, credentials: Credentials | Sessions) -> None:
        self._credentials = credentials
        self._proxy_secrets = [secret for url in getproxies().values() for secret in proxy_credential(url).secrets]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RecordRedactor:
        return cls(sessions_of(crawler))

    def __call__(self, item: T) -> T:
        """Return *item* without the secrets of hosts in its URLs, and without those of proxies."""
        if not self._credentials and not self._proxy_secrets:
            return item
        secrets = {
            secret
            for url in _urls_of(item)
            if (origin_and_credential := self._credentials.find(url))
            for secret in origin_and_credential[1].secrets
        }
        redactor = Redactor.for_secrets((*secrets, *self._proxy_secrets))
        match item:
            case Observation():
                return redactor.record(item, kept_fields=frozenset({"ark", "request_url", "asked_url"}))
            case MementoRecord():
                return redactor.record(item, kept_fields=frozenset({"ark", "request_url", "timegate"}))
            case DocumentRecord():
                redirect = None if item.redirected_from is None else self(item.redirected_from)
                record = redactor.record(item, kept_fields=frozenset({"settles", "redirected_from"}))
                return record if redirect is item.redirected_from else replace(record, redirected_from=redirect)
            case Pause() | HostTraffic():
                return redactor.record(item)
        return item


def _urls_of(item: object) -> Iterator[str]:
    """Yield the URLs in the fields of a record, which name the hosts that it is about."""
    yield from (hop.url for hop in getattr(item, "hops", ()))
    rendering = getattr(item, "rendering", None)
    yield from (hop.url for hop in rendering.requests) if rendering is not None else ()
    for name in ("url", "found_on", "host"):
        if isinstance(url := getattr(item, name, None), str):
            yield url


def verifying_policy(ca_file: str | None) -> Any:
    """Return a Twisted policy that trusts the authorities in *ca_file* (PEM), or those of the system for None."""
    authorities: Any = None
    if ca_file:
        ca_certificates = load_pem_x509_certificates(Path(ca_file).read_bytes())
        certificates = [Certificate(X509.from_cryptography(ca)) for ca in ca_certificates]  # type: ignore[no-untyped-call]
        authorities = trustRootFromCertificates(certificates)  # type: ignore[no-untyped-call]
    return BrowserLikePolicyForHTTPS(authorities)  # type: ignore[no-untyped-call]


@contextmanager
def _with_credential(request: Request, credential: Credential) -> Iterator[None]:
    """Add a credential to *request* while it is in flight; a redirect is made from the request without it."""
    headers = request.headers
    credential_headers = dict(credential.headers)
    if credential.cookie:
        request_cookies = [cookie.decode("latin-1") for cookie in headers.getlist("Cookie")]
        credential_headers["Cookie"] = "; ".join((credential.cookie, *request_cookies))
    previous_values = {name: headers.getlist(name) for name in credential_headers}
    headers.update(credential_headers)
    try:
        yield
    finally:
        for name, values in previous_values.items():
            headers[name] = values
            if not values:
                del headers[name]


def _distrust_reason(failure: Exception) -> str | None:
    """Return the message of *failure* if a certificate is not trusted, or None for a failure of another kind."""
    message = failure_words(failure)
    if "certificate verify failed" in message or not _DISTRUST.isdisjoint(exception_names(failure)):
        return "its certificate can't be trusted"
    if "unsafe legacy renegotiation" in message:  # an attacker on the way could put a request before this one
        return "its TLS is older than RFC 5746"
    return None
