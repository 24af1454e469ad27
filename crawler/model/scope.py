"""Pure: which links belong to the site of a seed, and which documents next to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from urllib.parse import SplitResult, urlsplit

from publicsuffixlist import PublicSuffixList

from crawler.model.addresses import is_literal


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
    return _site(urlsplit(url).netloc)


@lru_cache(maxsize=4096)  # most URLs of a run are those of a few hosts
def _site(authority: str) -> str:
    host = (urlsplit(f"//{authority}").hostname or "").lower().rstrip(".")
    domain = None if is_literal(host) else _registered_domain(host)
    return domain or authority.lower().rpartition("@")[2]


def _registered_domain(host: str) -> str | None:
    """The registered domain of a *host*; None for one without a dot, and for a public suffix."""
    if "." in host and _suffixes().publicsuffix(host) is None:
        return ".".join(host.rsplit(".", 2)[-2:])
    domain: str | None = _suffixes().privatesuffix(host)
    return domain


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
        places = [] if extent is Extent.SITE else [_place(urlsplit(url), extent) for url in urls]
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
            if parts.scheme.lower() not in ("http", "https") or site_of(url) not in self.sites:
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


def _place(parts: SplitResult, extent: Extent) -> str:
    host_and_path = _host_and_path(parts)
    return host_and_path[: host_and_path.rindex("/") + 1] if extent is Extent.PATH else f"{_host(parts)}/"


def _host_and_path(parts: SplitResult) -> str:
    return _host(parts) + (parts.path or "/")


def _host(parts: SplitResult) -> str:
    return parts.netloc.lower().rpartition("@")[2].removesuffix(":80").removesuffix(":443")
