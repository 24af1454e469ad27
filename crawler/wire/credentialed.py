"""Puts credentials on the requests that they are for, over connections that are trusted, and takes them out again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies

from cryptography.x509 import load_pem_x509_certificates
from OpenSSL.crypto import X509
from scrapy.exceptions import NotConfigured
from twisted.internet.ssl import Certificate, trustRootFromCertificates
from twisted.web.client import BrowserLikePolicyForHTTPS
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from crawler.answers.mementos import MementoRecord
from crawler.model.observations import DocumentRecord, HostTraffic, Observation, Pause, TlsResult
from crawler.wire.credentials import Credential, Credentials, Origin, of_proxy
from crawler.wire.handlers import ExactDownloadHandler
from crawler.wire.log_in_forms import NoLogIn
from crawler.wire.middlewares import exception_names, failure_words
from crawler.wire.redaction import Redactor
from crawler.wire.sessions import Sessions, sessions_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

T = TypeVar("T")

_DISTRUST = frozenset({"VerificationError", "CertificateError"})


class CredentialedDownloadHandler(ExactDownloadHandler):
    """Sends a host of one's own what it asks for. Over https, only where its certificate is trusted: else without."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._credentials = sessions_of(crawler)
        self._distrusted: set[Origin] = set()
        if self._credentials:
            verifying = verifying_policy(crawler.settings.get("ARKAUDIT_CA_FILE"))
            policy: Any = _TrustWhereItCounts(verifying, self._contextFactory, self._has_credentials)
            self._contextFactory = policy

    def _has_credentials(self, origin: Origin) -> bool:
        return self._credentials.find(str(origin)) is not None and origin not in self._distrusted

    async def _exchange(self, request: Request, *rest: Any) -> Response:
        origin_and_credential = self._credentials.find(request.url)
        if (
            origin_and_credential is not None
            and origin_and_credential[0] in self._distrusted
            and "log_in" in request.meta
        ):
            raise NoLogIn("its certificate can't be trusted, so the form is not sent")
        if origin_and_credential is None or origin_and_credential[0] in self._distrusted:
            return await super()._exchange(request, *rest)
        origin, credential = origin_and_credential
        try:
            with _dressed(request, credential):
                return await super()._exchange(request, *rest)
        except Exception as failure:
            why = _distrust(failure)
            if why is None:
                raise
            if "log_in" in request.meta:
                raise NoLogIn(f"{why}, so the form is not sent") from failure
            # Nothing has been sent, for the handshake failed; whatever connects there now, is asked as a stranger.
            self._distrusted.add(origin)
            logger.warning("%s: %s, so no credentials are sent there", origin, why)
            return await super()._exchange(request, *rest)


@implementer(IPolicyForHTTPS)
class _TrustWhereItCounts:
    """Verifies the certificates of hosts that credentials are for; the others are observed as they are."""

    def __init__(self, verifying: Any, observing: Any, has_credentials: Any) -> None:
        self._verifying = verifying
        self._observing = observing
        self._has_credentials = has_credentials

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        is_strict = self._has_credentials(Origin("https", hostname.decode("ascii").strip("[]").lower(), port))
        return (self._verifying if is_strict else self._observing).creatorForNetloc(hostname, port)


class Redaction:
    """Comes first after the wire; takes out of an answer the secrets that its host, or a proxy on the way, has."""

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
        for credential in self._sent_with(request):
            quiet = credential.redactor
            for name, values in response.headers.items():
                response.headers[name] = [quiet.bytes(value) for value in values]
            if "log_in" not in request.meta:  # of a log-in nothing is kept, and a form repeats what it wants back
                response = response.replace(body=quiet.bytes(response.body))
        return response

    def _sent_with(self, request: Request) -> Iterator[Credential]:
        """Return what went out with *request*, for the host and for a proxy on the way."""
        origin_and_credential = self._credentials.find(request.url)
        if origin_and_credential is not None:
            yield origin_and_credential[1]
        to_proxy = request.headers.get("Proxy-Authorization")
        if to_proxy:
            yield Credential({"Proxy-Authorization": to_proxy.decode("latin-1")})


class Withholding:
    """Takes out of what is recorded the secrets that its hosts have: what was packed when it came can show them still.

    What an answer is asked for by, and what it settles, stays as it is: it was asked for so.
    """

    def __init__(self, credentials: Credentials | Sessions) -> None:
        self._credentials = credentials
        self._of_proxies = [secret for url in getproxies().values() for secret in of_proxy(url).secrets]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Withholding:
        return cls(sessions_of(crawler))

    def __call__(self, item: T) -> T:
        """*item*, without the secrets of the hosts that it is about."""
        if not self._credentials and not self._of_proxies:
            return item
        secrets = {
            secret
            for url in _urls_of(item)
            if (origin_and_credential := self._credentials.find(url))
            for secret in origin_and_credential[1].secrets
        }
        quiet = Redactor.of((*secrets, *self._of_proxies))
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
    """The URLs of the hosts that a record is about."""
    yield from (hop.url for hop in getattr(item, "hops", ()))
    rendering = getattr(item, "rendering", None)
    yield from (hop.url for hop in rendering.requests) if rendering is not None else ()
    for name in ("url", "found_on", "host"):
        if isinstance(url := getattr(item, name, None), str):
            yield url


def verifying_policy(ca_file: str | None) -> Any:
    """A policy that trusts only certificates which a known authority has signed, or one in *ca_file*."""
    authorities: Any = None
    if ca_file:
        loaded = load_pem_x509_certificates(Path(ca_file).read_bytes())
        certificates = [Certificate(X509.from_cryptography(certificate)) for certificate in loaded]  # type: ignore[no-untyped-call]
        authorities = trustRootFromCertificates(certificates)  # type: ignore[no-untyped-call]
    return BrowserLikePolicyForHTTPS(authorities)  # type: ignore[no-untyped-call]


@contextmanager
def _dressed(request: Request, credential: Credential) -> Iterator[None]:
    """For as long as it is under way, *request* has what its host asks for; a redirect is made of it afterwards."""
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
    """Return why a host is not trusted with credentials, if that is what a request failed by."""
    words = failure_words(failure)
    if "certificate verify failed" in words or not _DISTRUST.isdisjoint(exception_names(failure)):
        return "its certificate can't be trusted"
    if "unsafe legacy renegotiation" in words:  # anyone who is on the way could put words of his own before ours
        return "its TLS is older than RFC 5746"
    return None
