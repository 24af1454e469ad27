"""URLs in parts, and their hosts. No function raises for any text, except `Origin.parse` and `Origin.from_name`.

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
    """The parts of a URL as written, except for scheme and host name in lower case; missing parts are empty."""

    scheme: str
    netloc: str
    """User information, host and port."""
    path: str
    query: str
    fragment: str
    hostname: str
    """Without the dot at the end; empty without a valid host."""
    port: int | None
    """None without a valid port."""
    fault: str | None = None
    """Why the text is not a URL, as a message; None for a URL."""


@lru_cache(maxsize=2**14)  # a page's links are asked about many times
def split_url(url: str) -> UrlParts:
    """Return the parts of *url*, which may be a text that is not a URL (`UrlParts.fault`).

    >>> split_url("http://N2T.net:80/ark:/12148/x5?info").hostname, split_url("http://[zz]/ark:/12148/x9").fault
    ('n2t.net', "'zz' does not appear to be an IPv4 or IPv6 address")
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError as problem:
        match = _PARTS.match(url)
        assert match is not None, "the pattern matches any text"
        written_parts = match.groupdict(default="")
        return UrlParts(
            **written_parts | {"scheme": written_parts["scheme"].lower()}, hostname="", port=None, fault=str(problem)
        )
    return UrlParts(parts.scheme, parts.netloc, parts.path, parts.query, parts.fragment, host, port)


def join_url(base: str, reference: str) -> str | None:
    """Return the URL that a *reference* on a page at the URL *base* leads to; None for an invalid reference.

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
        """Return the origin for *name* in a configuration: a URL, or a host, which gets the scheme https.

        Raises ValueError for other texts.

        >>> str(Origin.from_name("repository.example")), str(Origin.from_name("http://localhost:8000"))
        ('https://repository.example', 'http://localhost:8000')
        """
        return cls.parse(name if "://" in name else f"https://{name}")

    @property
    def authority(self) -> str:
        """The host, with its port unless the scheme has this default port.

        >>> Origin("http", "::1", 8080).authority
        '[::1]:8080'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (None, DEFAULT_PORTS.get(self.scheme)) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def is_web_url(text: str) -> bool:
    """Return True if *text* begins with ``http://`` or ``https://``, in any case.

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
    """Return the origin of a URL of any scheme; None without a scheme, ``//`` and a valid host.

    >>> find_origin("https://[broken/"), find_origin("ark:12148/x5"), find_origin("papers/a.pdf")
    (None, None, None)
    """
    scheme_and_authority = _SCHEME_AND_AUTHORITY.match(url)
    return None if scheme_and_authority is None else _origin(scheme_and_authority[0])


@lru_cache(maxsize=10_000)
def _origin(url: str) -> Origin | None:
    parts = split_url(url)
    if not parts.hostname:
        return None
    return Origin(parts.scheme, parts.hostname, DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port)


def origin_of(url: str) -> str:
    """Return scheme, host and port of *url*, without a default port; empty without a host.

    >>> origin_of("HTTPS://N2T.net.:443/ark:/12148/x5"), origin_of("http://[::1]:8080/?x")
    ('https://n2t.net', 'http://[::1]:8080')
    """
    origin = find_origin(url)
    return "" if origin is None else str(origin)


def authority_of(url: str) -> str:
    """Return the host of *url*, with its port unless the scheme has this default port; empty without a host.

    >>> authority_of("https://me@N2T.net:443/ark:/12148/x5"), authority_of("http://n2t.net:443/"), authority_of("a.pdf")
    ('n2t.net', 'n2t.net:443', '')
    """
    origin = find_origin(url)
    return "" if origin is None else origin.authority


def host_name_of(url: str) -> str:
    """Return the host of *url* without its port; empty without a host.

    >>> host_name_of("http://127.0.0.1:8000/ark:/12148/x5")
    '127.0.0.1'
    """
    origin = find_origin(url)
    return "" if origin is None else origin.host


def refresh_target(value: str, *, within_s: int | None = None) -> str | None:
    """Return the URL in *value*, a Refresh header or meta element; None if the refresh only reloads the page.

    None, too, for a refresh after more than *within_s* seconds.

    >>> refresh_target("5; url='/b'"), refresh_target("0;/c"), refresh_target("30"), refresh_target("5;/b", within_s=3)
    ('/b', '/c', None, None)
    """
    value = value[:_REFRESH_CHARS]
    time_match = _REFRESH.match(value)
    if time_match is None or (within_s is not None and int(time_match["seconds"][:9] or 0) > within_s):
        return None
    url = value[time_match.end() :]
    if url.startswith(("'", '"')):
        url = url[1:].partition(url[0])[0]
    return url.strip() or None
