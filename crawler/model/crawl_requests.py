"""The requests of a crawl, the sources that list them, and the scope of the crawl.

Two requests are the same if their URLs have the same canonical form; URLs are sent as they were found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import blake2b

from publicsuffixlist import PublicSuffixList

from crawler.model.addresses import is_literal
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.urls import Origin, UrlParts, authority_of, split_url

_SESSION_NAME = r"(?:jsessionid|phpsessid|aspsessionid[a-z]*|session_?id|cfid|cftoken|oscsid|xtcsid|zenid)"
#: ``;jsessionid=1A2B`` of Java, ``/(S(1a2b))`` of ASP.NET.
_SESSION_IN_PATH = re.compile(rf";{_SESSION_NAME}=[^/;]*|/\([A-Z]\([a-z0-9]{{20,}}\)\)(?=/|\Z)", re.IGNORECASE)
_SESSION_PARAMETER = re.compile(
    rf"""
    {_SESSION_NAME} = .*
    | (?: sid | sess | session ) = (?= [a-z]*+ [0-9] ) [0-9a-z]{{16,}}   # short ones may name a series
    """,
    re.VERBOSE | re.IGNORECASE,
)
CAMPAIGN_PARAMETER = re.compile(
    r"(?:utm_[a-z_]+|fbclid|gclid|dclid|yclid|msclkid|igshid|mc_cid|mc_eid|_ga|_gl)=.*", re.IGNORECASE
)
#: Names of query parameters for the presentation of a page or list.
PRESENTATION_NAME = re.compile(
    r"(?:sort|order|dir|direction|asc|desc|rpp|per_?page|limit|count|size|view|display|layout|format|mode|etal|tab|theme"
    r"|lang|language|locale|ln|hl)(?:[_-]?(?:by|order|field|dir|type|size|mode))?",
    re.IGNORECASE,
)
#: Parameters that sign a URL or give its expiry time: cloud storage, content networks, log-ins.
_PERMIT = re.compile(
    r"""
    (?: x-[a-z]+-signature | signature | sig | hdnea | hdnts | expires ) = .{8,}
    | (?: token | access_token | ticket ) = (?= .*[0-9] ) .{16,}
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=2**13)  # the pages of a site share most of their links
def canonical_form(url: str) -> str:
    """Return the canonical form of *url*, or *url* itself if it is invalid. URLs with the same form are requested once.

    >>> canonical_form("HTTP://Www.Example.org:80/%7Ea/./b;jsessionid=1A2B?z=1&a=%c3%a9&utm_source=x#top")
    'http://www.example.org/~a/b?a=%C3%A9&z=1'
    >>> canonical_form("https://example.org/ark:/12148/x?"), canonical_form("https://example.org")
    ('https://example.org/ark:/12148/x?', 'https://example.org/')
    """
    from w3lib.url import canonicalize_url  # it imports a client for HTTP

    parts = split_url(url)
    if parts.fault is not None or not parts.hostname:
        return url
    path, query = _SESSION_IN_PATH.sub("", parts.path), parts.query
    kept_parameters = [
        parameter
        for parameter in query.split("&")
        if not (_SESSION_PARAMETER.fullmatch(parameter) or CAMPAIGN_PARAMETER.fullmatch(parameter))
    ]
    canonical_url = canonicalize_url(f"{parts.scheme}://{_authority(parts)}{path or '/'}?{'&'.join(kept_parameters)}")
    is_bare = not query and url.partition("#")[0].endswith("?")
    return f"{canonical_url}?" if is_bare else canonical_url


def has_session_id(url: str) -> bool:
    """Return True if *url* contains a session id.

    >>> has_session_id("http://example.org/a;jsessionid=1A2B"), has_session_id("http://example.org/?sid=12")
    (True, False)
    """
    parts = split_url(url)
    return _SESSION_IN_PATH.search(parts.path) is not None or any(
        _SESSION_PARAMETER.fullmatch(parameter) for parameter in parts.query.split("&")
    )


def has_expiring_permit(url: str) -> bool:
    """Return True if *url* contains a permit that expires, so that it does not identify the document.

    >>> has_expiring_permit("https://bucket.example/1.pdf?X-Amz-Expires=60&X-Amz-Signature=0123456789abcdef")
    True
    >>> has_expiring_permit("https://example.org/auction?token=3"), has_expiring_permit("https://example.org/1.pdf")
    (False, False)
    """
    return any(_PERMIT.fullmatch(parameter) for parameter in split_url(url).query.split("&"))


def _authority(parts: UrlParts) -> str:
    """Return host and port, without user, default port and final dot; of any scheme.

    >>> _authority(split_url("https://me:secret@Example.org.:443")), _authority(split_url("http://[::1]:8080"))
    ('example.org', '[::1]:8080')
    """
    return Origin(parts.scheme, parts.hostname, parts.port).authority


# -- requests


#: Length of a key. Among a hundred million documents, two have the same key with a chance of one in four thousand.
KEY_BYTES = 8


class RequestKind(StrEnum):
    """The kind of a crawl request, which determines how its answer is read."""

    PAGE = "page"
    """A URL whose answer is a document."""
    FILE = "file"
    """A document on the local disk."""
    ARK = "ark"
    """An ARK to check at a URL."""


class FrontierState(StrEnum):
    """The state of an entry of the frontier."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """Given to a spider, without an outcome yet."""
    DONE = "done"
    """Its outcome is in the store."""


class Reach(StrEnum):
    """The kinds of links that are followed from a document."""

    SITE = "site"
    """Links within the scope of the crawl."""
    ITEM = "item"
    """Only links to documents, for an item of a source such as a landing page."""
    LEAF = "leaf"
    """No links, for a document on a content host or of an item."""


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """A request, with the document that led to it."""

    url: str
    """The URL as it is sent; for a file its name."""
    canonical: str
    """The form for comparisons: requests with the same form are sent once in a run."""
    host: str
    """Name and port, in lower case; empty for a file. Requests alternate between hosts."""
    kind: RequestKind = RequestKind.PAGE
    depth: int = 0
    """Number of links from a seed."""
    found_on: str | None = None
    """URL or name of the linking document; None for a seed."""
    ark: Ark | None = None
    reach: Reach = Reach.SITE
    source: SourceKind | None = None
    """The kind of source to read, by the user's prefix or for a further part; None if the content decides."""
    part: int = 0
    """For a further part of a source, the number of parts before it."""

    @property
    def is_seed(self) -> bool:
        """True if the user named the URL or file."""
        return self.found_on is None

    @property
    def key(self) -> bytes:
        """The key of its document (`document_key`)."""
        return document_key(self.canonical)

    @property
    def is_urgent(self) -> bool:
        """True if the request precedes others to its host: a resumption token of OAI-PMH may expire."""
        return self.source is SourceKind.OAI and self.part > 0

    def redirected_to(self, url: str) -> CrawlRequest:
        """Return the request for the document at *url*, where the redirects of this one end; itself if unchanged.

        The result keeps all other values: a redirect is neither a step nor a document with links. Session ids are
        removed from its name, and a URL with an expiring permit is no name at all.

        >>> seed = CrawlRequest.to_page("http://library.example/")
        >>> seed.redirected_to("http://library.example/en/").is_seed
        True
        >>> seed.redirected_to("http://LIBRARY.example/#top") is seed
        True
        >>> seed.redirected_to("http://library.example/en;jsessionid=1A2B").url
        'http://library.example/en'
        """
        canonical = canonical_form(url)
        if canonical == self.canonical or has_expiring_permit(url):
            return self
        name = canonical if has_session_id(url) else url
        return replace(self, url=name, canonical=canonical, host=authority_of(url))

    @classmethod
    def to_page(
        cls,
        url: str,
        *,
        depth: int = 0,
        found_on: str | None = None,
        reach: Reach = Reach.SITE,
        source: SourceKind | None = None,
        part: int = 0,
    ) -> CrawlRequest:
        """Return the request for the document at *url*, which is sent unchanged.

        >>> CrawlRequest.to_page("https://Library.example/b?y=1&x=2").canonical
        'https://library.example/b?x=2&y=1'
        """
        return cls(
            url,
            canonical_form(url),
            authority_of(url),
            depth=depth,
            found_on=found_on,
            reach=reach,
            source=source,
            part=part,
        )

    @classmethod
    def to_file(cls, name: str) -> CrawlRequest:
        """Return the request for a document on the local disk."""
        return cls(name, name, "", RequestKind.FILE)

    @classmethod
    def to_ark(cls, ark: Ark, url: str) -> CrawlRequest:
        """Return the request for *ark* at *url*, unchanged, because each octet may matter to its resolver."""
        return cls(url, url, authority_of(url), RequestKind.ARK, ark=ark)


@dataclass(frozen=True, slots=True)
class Outlinks:
    """The links of a document, in order, also those to known documents."""

    found_on: str
    """The place of the links: the document, a record in it, or the robots.txt that names sitemaps."""
    targets: str
    """The keys of the linked documents, one after the other, in hexadecimal digits."""

    def target_keys(self) -> Iterator[bytes]:
        """Return the keys of the linked documents.

        >>> links = Outlinks.to("http://a.example/", document_key("b") + document_key("c"))
        >>> [key.hex() for key in links.target_keys()]
        ['8472c2e34d854f75', '373f6364cd072c1b']
        """
        keys = bytes.fromhex(self.targets)
        return (keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES))

    @classmethod
    def to(cls, found_on: str, keys: bytes) -> Outlinks:
        """Return the links from *found_on* to the documents whose concatenated keys are *keys*."""
        return cls(found_on, keys.hex())


def outlinks_of(new_requests: Iterable[CrawlRequest]) -> tuple[Outlinks, ...]:
    """Return *new_requests* as links, grouped by linking document; requests without one are left out."""
    return links_by_document(
        (crawl_request.found_on, crawl_request.key)
        for crawl_request in new_requests
        if crawl_request.found_on is not None
    )


def links_by_document(links: Iterable[tuple[str, bytes]]) -> tuple[Outlinks, ...]:
    """Return *links*, pairs of a linking document's URL and a target key, grouped by linking document."""
    targets: dict[str, bytearray] = {}
    for found_on, key in links:
        targets.setdefault(found_on, bytearray()).extend(key)
    return tuple(Outlinks.to(found_on, bytes(keys)) for found_on, keys in targets.items())


def document_key(canonical: str) -> bytes:
    """Return the eight-byte digest of a document's canonical URL, which identifies it among link targets.

    >>> len(document_key("http://a.example/")) == KEY_BYTES
    True
    """
    return blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


# -- sources and the items that they list


class SourceKind(StrEnum):
    """The kind of a source of further documents; the user may give it before a seed (``oai:https://…``)."""

    PAGE = "page"
    SITEMAP = "sitemap"
    OAI = "oai"
    FEED = "feed"
    IIIF = "iiif"
    LIST = "list"
    LOG = "log"
    """A server's log of requests: files, never fetched."""


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item that a source lists."""

    url: str
    """The URL as it is sent."""
    found_on: str | None = None
    """The record in the source that names it; None if the source itself does."""
    is_elsewhere: bool = True
    """True if the item is requested even outside of the scope of the crawl."""


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A document within a source: the metadata of one OAI record."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The items, records and further parts in one document that is a source."""

    kind: SourceKind
    items: tuple[ListedItem, ...] = ()
    """The listed items, in order."""
    further: tuple[str, ...] = ()
    """Further parts of the source: the next page, the sitemaps of an index, nested collections."""
    records: tuple[ListedRecord, ...] = ()
    listed: tuple[str, ...] = ()
    """Names that identify this part, such as the identifiers of its records: another part with them is a repetition."""
    findings: tuple[Finding, ...] = ()
    is_faulty: bool = False
    """True if the source reports an error, or is empty."""
    is_document: bool = True
    """True if the source is also read as a document. A source of records is not, or records would be read twice."""


# -- the scope: the site of a seed, and the documents that belong to it


@cache
def _suffixes() -> PublicSuffixList:
    """Return the list of public suffixes in the package; nothing is fetched."""
    return PublicSuffixList(accept_unknown=False, only_icann=True)


class Extent(StrEnum):
    """The part of a seed's site that is crawled."""

    SITE = "site"
    """Every host under the same registered domain."""
    HOST = "host"
    """The seed's own host and port."""
    PATH = "path"
    """URLs that begin with the seed's own path, up to its last slash."""


def site_of(url: str) -> str:
    """Return the registered domain of a URL's host, or host and port if there is none, as for an address.

    For an unlisted suffix the last label counts, by the list's own rule ``*``.

    >>> site_of("https://gallica.bnf.fr/ark:/12148/x"), site_of("http://127.0.0.1:8000/"), site_of("http://localhost/")
    ('bnf.fr', '127.0.0.1:8000', 'localhost')
    >>> site_of("https://www.library.example/")
    'library.example'
    """
    parts = split_url(url)
    host = parts.hostname
    if is_literal(host):
        domain = None
    elif "." in host and _suffixes().publicsuffix(host) is None:
        domain = ".".join(host.rsplit(".", 2)[-2:])
    else:
        domain = _suffixes().privatesuffix(host)
    return domain or authority_of(url)


def is_public_suffix(domain: str) -> bool:
    """Return True if anyone may register names below *domain*, so that it can't have cookies.

    >>> is_public_suffix(".co.uk"), is_public_suffix("bnf.fr"), is_public_suffix("localhost")
    (True, False, False)
    """
    name = domain.lower().strip(".")
    return bool(name) and _suffixes().publicsuffix(name) == name


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a crawl."""

    sites: frozenset[str]
    url_prefixes: frozenset[str] = frozenset()
    """Beginnings of URLs without their scheme, if the crawl is limited to a part of the sites."""
    content_hosts: frozenset[str] = frozenset()
    """Hosts whose documents belong to the sites too."""

    @classmethod
    def from_seeds(
        cls, seeds: Iterable[str], *, extent: Extent = Extent.SITE, content_hosts: Iterable[str] = ()
    ) -> Scope:
        """Return the scope of *seeds*, which are URLs: their registered domains, or the parts that *extent* selects."""
        urls = list(seeds)
        prefixes = []
        for url in urls if extent is not Extent.SITE else ():
            host_and_path = _host_and_path(split_url(url))
            end = host_and_path.rindex("/") if extent is Extent.PATH else host_and_path.index("/")
            prefixes.append(host_and_path[: end + 1])
        hosts = (host.lower().rstrip(".") for host in content_hosts)
        return cls(frozenset(map(site_of, urls)), frozenset(prefixes), frozenset(hosts))

    def holds(self, url: str) -> bool:
        """Return True if *url* is http or https and within the scope, so that its links are followed.

        >>> scope = Scope.from_seeds(["https://www.bnf.fr/"])
        >>> scope.holds("https://gallica.bnf.fr/x"), scope.holds("https://n2t.net/"), scope.holds("ftp://bnf.fr/")
        (True, False, False)
        >>> scope = Scope.from_seeds(["https://www.bnf.fr/maps/index.html"], extent=Extent.PATH)
        >>> scope.holds("http://www.bnf.fr/maps/x"), scope.holds("https://www.bnf.fr/")
        (True, False)
        """
        parts = split_url(url)
        if parts.scheme not in ("http", "https") or site_of(url) not in self.sites:
            return False
        host_and_path = _host_and_path(parts) if self.url_prefixes else ""
        return not self.url_prefixes or any(host_and_path.startswith(prefix) for prefix in self.url_prefixes)

    def holds_document(self, url: str) -> bool:
        """Return True if a document at *url* belongs to the sites, even if its links are not followed.

        >>> scope = Scope.from_seeds(["https://www.bnf.fr/"], extent=Extent.HOST, content_hosts=["cdn.example"])
        >>> scope.holds_document("https://files.bnf.fr/x.pdf"), scope.holds_document("https://a.example/x.pdf")
        (True, False)
        """
        return site_of(url) in self.sites or self.is_content_host(url)

    def is_content_host(self, url: str) -> bool:
        """Return True if the host of *url* is one of `content_hosts`.

        >>> Scope.from_seeds([], content_hosts=["CDN.example"]).is_content_host("https://cdn.example/bitstream/1")
        True
        """
        return split_url(url).hostname in self.content_hosts


def _host_and_path(parts: UrlParts) -> str:
    host = parts.netloc.lower().rpartition("@")[2].removesuffix(":80").removesuffix(":443")
    return host + (parts.path or "/")
