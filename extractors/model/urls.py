"""URLs in parts, and their hosts. Nothing here raises for any text, except `Origin.parse`.

| question | for ``https://me@N2T.net:443/ark:/12148/x5`` |
|---|---|
| `origin_of`: where is it requested | ``https://n2t.net`` |
| `authority_of`: which server is it | ``n2t.net`` |
| `host_name_of`: which name is looked up | ``n2t.net`` |

Case, user information, a default port and a dot at the end make no difference (https://url.spec.whatwg.org/).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
#: The value of a refresh (HTML, 4.2.4.3), with more tolerance for a missing time.
_REFRESH = re.compile(r"\s*+(?P<seconds>\d*+)[\d.]*+(?=[;,\s])\s*+[;,]?\s*+(?:url\s*+=\s*+)?+", re.IGNORECASE)
_REFRESH_CHARS = 4096
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SCHEME_AND_AUTHORITY = re.compile(r"[a-z][a-z0-9+.-]*+://[^/?#]*+", re.IGNORECASE)
#: The parts of any text (RFC 3986, appendix B).
_PARTS = re.compile(
    r"(?:(?P<scheme>[^:/?#]+):)?(?://(?P<netloc>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:\#(?P<fragment>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class UrlParts:
    """The parts of a URL, as written except for scheme and host name, which are in lower case."""

    scheme: str
    netloc: str
    path: str
    query: str
    fragment: str
    hostname: str
    """Without the dot at the end; empty without a valid host."""
    port: int | None
    """None without a valid port."""
    fault: str | None = None
    """Why it is no URL, in words, or None."""


@lru_cache(maxsize=2**14)  # a page's links are asked about many times
def split_url(url: str) -> UrlParts:
    """Return the parts of *url*, also of a text that is no URL.

    >>> split_url("http://N2T.net:80/ark:/12148/x5?info").hostname, split_url("http://[zz]/ark:/12148/x9").fault
    ('n2t.net', "'zz' does not appear to be an IPv4 or IPv6 address")
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError as problem:
        match = _PARTS.match(url)
        assert match is not None, "the pattern matches any text"
        written = match.groupdict(default="")
        return UrlParts(**written | {"scheme": written["scheme"].lower()}, hostname="", port=None, fault=str(problem))
    return UrlParts(parts.scheme, parts.netloc, parts.path, parts.query, parts.fragment, host, port)


def join_url(base: str, reference: str) -> str | None:
    """Return the URL of a *reference* on a page at *base*; None if that is no URL.

    >>> join_url("http://a.example/b/", "../c"), join_url("http://a.example/", "http://[zz]/")
    ('http://a.example/c', None)
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Scheme, host name and port of a URL."""

    scheme: str
    host: str
    port: int | None
    """None for a scheme without a default port, if the URL has no port."""

    @classmethod
    def parse(cls, url: str) -> Origin:
        """Return the origin of an http or https URL. Raises ValueError for other texts.

        >>> Origin.parse("https://Repository.example/x")
        Origin(scheme='https', host='repository.example', port=443)
        """
        origin = find_origin(url)
        if origin is None or origin.scheme not in DEFAULT_PORTS:
            raise ValueError("not the origin of an http or https URL")
        return origin

    @classmethod
    def from_name(cls, name: str) -> Origin:
        """Return the origin that a configuration names; its scheme is https by default, because it gets secrets.

        >>> str(Origin.from_name("repository.example")), str(Origin.from_name("http://localhost:8000"))
        ('https://repository.example', 'http://localhost:8000')
        """
        return cls.parse(name if "://" in name else f"https://{name}")

    @property
    def authority(self) -> str:
        """The host with its port, unless that is the default port of the scheme.

        >>> Origin("http", "::1", 8080).authority
        '[::1]:8080'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (None, DEFAULT_PORTS.get(self.scheme)) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def is_web_url(text: str) -> bool:
    """Return True if a text begins like an http or https URL.

    >>> is_web_url("HTTPS://n2t.net/"), is_web_url("ftp://n2t.net/"), is_web_url("n2t.net")
    (True, False, False)
    """
    return text[:8].lower().startswith(("http://", "https://"))


def leads_to_document(target: str) -> bool:
    """Return True if a link target, as written, may lead to another document on the web.

    >>> list(filter(leads_to_document, ["/a.html", "#top", "mailto:a@b.org", "ark:/12148/btv1b8"]))
    ['/a.html']
    """
    if target.startswith(("https://", "http://", "/")):
        return True
    target = target.strip()
    if not target or target.startswith("#"):
        return False
    scheme = _SCHEME.match(target)
    return scheme is None or scheme[0].lower() in {"http:", "https:"}


def find_origin(url: str) -> Origin | None:
    """Return the origin of a URL of any scheme, or None.

    >>> find_origin("https://[broken/"), find_origin("ark:12148/x5"), find_origin("papers/a.pdf")
    (None, None, None)
    """
    match = _SCHEME_AND_AUTHORITY.match(url)
    return None if match is None else _origin(match[0])


@lru_cache(maxsize=10_000)
def _origin(url: str) -> Origin | None:
    parts = split_url(url)
    if not parts.hostname:
        return None
    return Origin(parts.scheme, parts.hostname, DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port)


def origin_of(url: str) -> str:
    """Return scheme, host and port, without a default port; empty without a host.

    >>> origin_of("HTTPS://N2T.net.:443/ark:/12148/x5"), origin_of("http://[::1]:8080/?x")
    ('https://n2t.net', 'http://[::1]:8080')
    """
    origin = find_origin(url)
    return "" if origin is None else str(origin)


def authority_of(url: str) -> str:
    """Return the host with its port unless that is the default; empty without a host.

    >>> authority_of("https://me@N2T.net:443/ark:/12148/x5"), authority_of("http://n2t.net:443/"), authority_of("a.pdf")
    ('n2t.net', 'n2t.net:443', '')
    """
    origin = find_origin(url)
    return "" if origin is None else origin.authority


def host_name_of(url: str) -> str:
    """Return the host without a port; empty without a host.

    >>> host_name_of("http://127.0.0.1:8000/ark:/12148/x5")
    '127.0.0.1'
    """
    origin = find_origin(url)
    return "" if origin is None else origin.host


def refresh_target(value: str, *, within_s: int | None = None) -> str | None:
    """Return the target of a refresh, in a header or a meta element; None if it only reloads the page.

    With *within_s*, a later refresh gives None too.

    >>> refresh_target("5; url='/b'"), refresh_target("0;/c"), refresh_target("30"), refresh_target("5;/b", within_s=3)
    ('/b', '/c', None, None)
    """
    value = value[:_REFRESH_CHARS]
    match = _REFRESH.match(value)
    if match is None or (within_s is not None and int(match["seconds"][:9] or 0) > within_s):
        return None
    url = value[match.end() :]
    if url.startswith(("'", '"')):
        url = url[1:].partition(url[0])[0]
    return url.strip() or None
