"""Pure: describe what a crawl asks for: requests, the sources that list them, and the scope that it stays within.

Two requests are the same if their URLs have one canonical form; URLs are sent as they were found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import blake2b
from urllib.parse import SplitResult, urlsplit

from publicsuffixlist import PublicSuffixList
from w3lib.url import canonicalize_url

from crawler.model.addresses import is_literal
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.urls import DEFAULT_PORTS, authority_of

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
_CAMPAIGN_PARAMETER = re.compile(
    r"(?:utm_[a-z_]+|fbclid|gclid|dclid|yclid|msclkid|igshid|mc_cid|mc_eid|_ga|_gl)=.*", re.IGNORECASE
)
#: What signs a URL, or names the moment at which it expires: storage in the cloud, content networks, log-ins.
_PERMIT = re.compile(
    r"""
    (?: x-[a-z]+-signature | signature | sig | hdnea | hdnts | expires ) = .{8,}
    | (?: token | access_token | ticket ) = (?= .*[0-9] ) .{16,}
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=2**13)  # pages of a site mostly link to the same
def same_document(url: str) -> str:
    """The form in which *url* is compared: two URLs with one form are asked for once. Raises ValueError for no URL.

    >>> same_document("HTTP://Www.Example.org:80/%7Ea/./b;jsessionid=1A2B?z=1&a=%c3%a9&utm_source=x#top")
    'http://www.example.org/~a/b?a=%C3%A9&z=1'
    >>> same_document("https://example.org/ark:/12148/x?"), same_document("https://example.org")
    ('https://example.org/ark:/12148/x?', 'https://example.org/')
    """
    scheme, authority, path, query, _ = urlsplit(url)
    path = _SESSION_IN_PATH.sub("", path)
    kept = [
        parameter
        for parameter in query.split("&")
        if not (_SESSION_PARAMETER.fullmatch(parameter) or _CAMPAIGN_PARAMETER.fullmatch(parameter))
    ]
    compared = canonicalize_url(f"{scheme}://{_authority(scheme, authority)}{path or '/'}?{'&'.join(kept)}")
    is_bare = not query and url.partition("#")[0].endswith("?")
    return f"{compared}?" if is_bare else compared


def names_session(url: str) -> bool:
    """Return whether a session id is part of *url*.

    >>> names_session("http://example.org/a;jsessionid=1A2B"), names_session("http://example.org/?sid=12")
    (True, False)
    """
    parts = urlsplit(url)
    return _SESSION_IN_PATH.search(parts.path) is not None or any(
        _SESSION_PARAMETER.fullmatch(parameter) for parameter in parts.query.split("&")
    )


def is_for_once(url: str) -> bool:
    """Return whether *url* holds a permit that expires, so that it is no one's name for what is there now.

    >>> is_for_once("https://bucket.example/1.pdf?X-Amz-Expires=60&X-Amz-Signature=0123456789abcdef")
    True
    >>> is_for_once("https://example.org/auction?token=3"), is_for_once("https://example.org/1.pdf")
    (False, False)
    """
    return any(_PERMIT.fullmatch(parameter) for parameter in urlsplit(url).query.split("&"))


def _authority(scheme: str, authority: str) -> str:
    """Host and port without what is understood.

    >>> _authority("https", "me:secret@Example.org.:443"), _authority("http", "[::1]:8080")
    ('example.org', '[::1]:8080')
    """
    host_and_port = authority.rpartition("@")[2].lower()
    host, colon, port = host_and_port.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = host_and_port, ""
    if port and (not port.isascii() or not port.isdigit()):
        raise ValueError(f"not a port: {port!r}")
    is_default = not port or int(port) == DEFAULT_PORTS.get(scheme)
    return host.rstrip(".") + ("" if is_default else f":{int(port)}")


# -- when two URLs are taken for the same document. They are compared in this form, and sent as they were found


#: Among a hundred million documents, two have the same key with a chance of one in four thousand.
KEY_BYTES = 8


class RequestKind(StrEnum):
    """The kind of a crawl request, which is how its answer is to be read."""

    PAGE = "page"
    """A URL whose answer is a document."""
    FILE = "file"
    """A document on the local disk."""
    ARK = "ark"
    """An ARK, asked about at a URL."""


class FrontierState(StrEnum):
    """The state of an entry."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """Handed to a spider; there is no outcome yet."""
    DONE = "done"
    """Its outcome is in the store."""


class Reach(StrEnum):
    """The reach of a document's links."""

    SITE = "site"
    """Its links are followed within the scope of the crawl."""
    ITEM = "item"
    """One that a source lists, such as a landing page: only documents that it links to are asked for."""
    LEAF = "leaf"
    """It leads nowhere: a document on a content host, or one of an item."""


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """Something to ask for, and how it was come by."""

    url: str
    """As it is sent; the name of a file."""
    canonical: str
    """What it is compared by: a run asks once for all requests that have this in common."""
    host: str
    """Name and port, in lower case; empty for a file. Hosts are asked in turn."""
    kind: RequestKind = RequestKind.PAGE
    depth: int = 0
    found_on: str | None = None
    ark: Ark | None = None
    reach: Reach = Reach.SITE
    source: SourceKind | None = None
    """How its answer is to be read: by the user's order, or as a further part of a source; None: its content says."""
    part: int = 0
    """For a further part of a source, how many came before it."""

    @property
    def is_seed(self) -> bool:
        """True if the user has named it."""
        return self.found_on is None

    @property
    def key(self) -> bytes:
        """The key of what it leads to (`document_key`)."""
        return document_key(self.canonical)

    @property
    def is_urgent(self) -> bool:
        """True if it comes before what waits at its host: a resumption token of OAI-PMH may expire."""
        return self.source is SourceKind.OAI and self.part > 0

    def led_to(self, url: str) -> CrawlRequest:
        """The request for the document at *url*, where redirects of this one have led; this one, if that is the same.

        What holds for this one holds for that: a redirect is no step, and no document that anything was found on.
        Sessions are no part of its name; and a URL that is good for once names nothing.

        >>> seed = CrawlRequest.to_page("http://library.example/")
        >>> seed.led_to("http://library.example/en/").is_seed, seed.led_to("http://LIBRARY.example/#top") is seed
        (True, True)
        >>> seed.led_to("http://library.example/en;jsessionid=1A2B").url
        'http://library.example/en'
        """
        canonical = same_document(url)
        if canonical == self.canonical or is_for_once(url):
            return self
        name = canonical if names_session(url) else url
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
        """The request for the document at *url*, which is sent as it is. Raises ValueError for what is no URL.

        >>> CrawlRequest.to_page("https://Library.example/b?y=1&x=2").canonical
        'https://library.example/b?x=2&y=1'
        """
        return cls(
            url,
            same_document(url),
            authority_of(url),
            depth=depth,
            found_on=found_on,
            reach=reach,
            source=source,
            part=part,
        )

    @classmethod
    def to_file(cls, name: str) -> CrawlRequest:
        """The request for a document on the local disk."""
        return cls(name, name, "", RequestKind.FILE)

    @classmethod
    def to_ark(cls, ark: Ark, url: str) -> CrawlRequest:
        """The request for *ark* at *url*: every octet of which counts, for it may be significant to its resolver."""
        return cls(url, url, authority_of(url), RequestKind.ARK, ark=ark)


@dataclass(frozen=True, slots=True)
class Outlinks:
    """Links of a document, in their order, also those to what was known already."""

    found_on: str
    """Where they are: the document, or a record in it; or the robots.txt that names sitemaps."""
    targets: str
    """The keys of the documents that they lead to, one after the other, in hexadecimal digits."""

    def target_keys(self) -> Iterator[bytes]:
        """The keys of the documents that they lead to.

        >>> links = Outlinks.to("http://a.example/", document_key("b") + document_key("c"))
        >>> [key.hex() for key in links.target_keys()]
        ['8472c2e34d854f75', '373f6364cd072c1b']
        """
        keys = bytes.fromhex(self.targets)
        return (keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES))

    @classmethod
    def to(cls, found_on: str, keys: bytes) -> Outlinks:
        """Return links to the documents with these *keys*, one after the other."""
        return cls(found_on, keys.hex())


def outlinks_of(leads: Iterable[CrawlRequest]) -> tuple[Outlinks, ...]:
    """Return the links that *leads* are, by where they were found."""
    return by_place(
        (crawl_request.found_on, crawl_request.key) for crawl_request in leads if crawl_request.found_on is not None
    )


def by_place(links: Iterable[tuple[str, bytes]]) -> tuple[Outlinks, ...]:
    """Return *links*, each with where it was found and the key of what it leads to, by where they were found."""
    targets: dict[str, bytearray] = {}
    for found_on, key in links:
        targets.setdefault(found_on, bytearray()).extend(key)
    return tuple(Outlinks.to(found_on, bytes(keys)) for found_on, keys in targets.items())


def document_key(canonical: str) -> bytes:
    """Return a digest by which a document is known among the targets of links: eight bytes instead of a long URL.

    >>> len(document_key("http://a.example/")) == KEY_BYTES
    True
    """
    return blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


# -- what a document is as a source, and what it lists


class SourceKind(StrEnum):
    """The kind of a document as a source of further ones; before a seed (``oai:https://…``) it is an order."""

    PAGE = "page"
    SITEMAP = "sitemap"
    OAI = "oai"
    FEED = "feed"
    IIIF = "iiif"
    LIST = "list"
    LOG = "log"
    """Of the requests to a server: files, never fetched."""


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item that a source lists."""

    url: str
    """As it is sent."""
    found_on: str | None = None
    """The document within the source that names it, such as a record; None for the source itself."""
    is_elsewhere: bool = True
    """Whether it is asked for wherever it is; otherwise only within the scope of the crawl."""


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A document within a source: the metadata of one OAI record."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The reading of one document as a source."""

    kind: SourceKind
    items: tuple[ListedItem, ...] = ()
    """What it lists, in order."""
    further: tuple[str, ...] = ()
    """Where the source goes on: the next page, the sitemaps of an index, nested collections."""
    records: tuple[ListedRecord, ...] = ()
    listed: tuple[str, ...] = ()
    """Names of what it holds next to its items, such as the identifiers of all records: two parts of a source that list
    the same are one and the same part."""
    findings: tuple[Finding, ...] = ()
    is_faulty: bool = False
    """Whether it says that it can't give what it was asked for, or says nothing at all."""
    is_document: bool = True
    """Whether it is also read as a document itself; one of records is not, or each would be read twice."""


# -- which links belong to the site of a seed, and which documents next to it


@cache
def _suffixes() -> PublicSuffixList:
    """The list of public suffixes that comes with the package; nothing is fetched."""
    return PublicSuffixList(accept_unknown=False, only_icann=True)


class Extent(StrEnum):
    """The extent of a seed's site that is crawled."""

    SITE = "site"
    """Every host under the same registered domain."""
    HOST = "host"
    """The seed's own host and port."""
    PATH = "path"
    """What begins with the seed's own path, up to its last slash."""


def site_of(url: str) -> str:
    """The registered domain of a URL's host; host and port where there is none, as with an address.

    Of a suffix that no one has listed the last label counts, as the list itself says (its rule ``*``).

    >>> site_of("https://gallica.bnf.fr/ark:/12148/x"), site_of("http://127.0.0.1:8000/"), site_of("http://localhost/")
    ('bnf.fr', '127.0.0.1:8000', 'localhost')
    >>> site_of("https://www.library.example/")
    'library.example'
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if is_literal(host):
        domain = None
    elif "." in host and _suffixes().publicsuffix(host) is None:
        domain = ".".join(host.rsplit(".", 2)[-2:])
    else:
        domain = _suffixes().privatesuffix(host)
    return domain or authority_of(url)


def is_public_suffix(domain: str) -> bool:
    """Return whether anybody may register below *domain*, so that no cookie is for all of it; a host's own name is
    none.

    >>> is_public_suffix(".co.uk"), is_public_suffix("bnf.fr"), is_public_suffix("localhost")
    (True, False, False)
    """
    name = domain.lower().strip(".")
    return bool(name) and _suffixes().publicsuffix(name) == name


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope that a crawl stays within."""

    sites: frozenset[str]
    places: frozenset[str] = frozenset()
    """Where the crawl is narrower than the sites: the beginnings of URLs, without their scheme."""
    content_hosts: frozenset[str] = frozenset()
    """Hosts whose documents belong to the sites as well."""

    @classmethod
    def of(cls, seeds: Iterable[str], *, extent: Extent = Extent.SITE, content_hosts: Iterable[str] = ()) -> Scope:
        """The scope of some seeds: the registered domain of each, or as much of it as *extent* says."""
        urls = list(seeds)
        places = []
        for url in urls if extent is not Extent.SITE else ():
            beginning = _host_and_path(urlsplit(url))
            last = beginning.rindex("/") if extent is Extent.PATH else beginning.index("/")
            places.append(beginning[: last + 1])
        hosts = (host.lower().rstrip(".") for host in content_hosts)
        return cls(frozenset(map(site_of, urls)), frozenset(places), frozenset(hosts))

    def holds(self, url: str) -> bool:
        """Return whether *url* is http or https and within the scope, so that its links are followed.

        >>> scope = Scope.of(["https://www.bnf.fr/"])
        >>> scope.holds("https://gallica.bnf.fr/x"), scope.holds("https://n2t.net/"), scope.holds("ftp://bnf.fr/")
        (True, False, False)
        >>> scope = Scope.of(["https://www.bnf.fr/maps/index.html"], extent=Extent.PATH)
        >>> scope.holds("http://www.bnf.fr/maps/x"), scope.holds("https://www.bnf.fr/")
        (True, False)
        """
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or site_of(url) not in self.sites:
                return False
            host_and_path = _host_and_path(parts) if self.places else ""
        except ValueError:
            return False
        return not self.places or any(host_and_path.startswith(beginning) for beginning in self.places)

    def holds_document(self, url: str) -> bool:
        """Return whether a document at *url* belongs to the sites although no page there is followed.

        >>> scope = Scope.of(["https://www.bnf.fr/"], extent=Extent.HOST, content_hosts=["cdn.example"])
        >>> scope.holds_document("https://files.bnf.fr/x.pdf"), scope.holds_document("https://a.example/x.pdf")
        (True, False)
        """
        try:
            return site_of(url) in self.sites or self.is_content_host(url)
        except ValueError:
            return False

    def is_content_host(self, url: str) -> bool:
        """Return whether *url* is on a host that was named for its documents, whatever is there.

        >>> Scope.of([], content_hosts=["CDN.example"]).is_content_host("https://cdn.example/bitstream/1")
        True
        """
        try:
            return (urlsplit(url).hostname or "").rstrip(".") in self.content_hosts
        except ValueError:
            return False


def _host_and_path(parts: SplitResult) -> str:
    host = parts.netloc.lower().rpartition("@")[2].removesuffix(":80").removesuffix(":443")
    return host + (parts.path or "/")
