"""Pure: which links belong to the site of a seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import tldextract

from crawler.addresses import is_literal

#: The list of public suffixes that comes with the package; nothing is fetched.
_SUFFIXES = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def site_of(url: str) -> str:
    """The registered domain of a URL's host; host and port where there is none, as with an address.

    Of a suffix that nobody has listed the last label counts, as the list itself says (its rule ``*``).

    >>> site_of("https://gallica.bnf.fr/ark:/12148/x"), site_of("http://127.0.0.1:8000/"), site_of("http://localhost/")
    ('bnf.fr', '127.0.0.1:8000', 'localhost')
    >>> site_of("https://www.library.example/")
    'library.example'
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower().rstrip(".")
    found = None if is_literal(host) else _SUFFIXES(host)
    if found is not None and not found.suffix and "." in host:
        return ".".join(host.rsplit(".", 2)[-2:])
    domain = found.top_domain_under_public_suffix if found is not None else ""
    return domain or parts.netloc.lower().rpartition("@")[2]


def is_public_suffix(domain: str) -> bool:
    """Whether anybody may register below *domain*, so that no cookie is for all of it; a host's own name is none.

    >>> is_public_suffix(".co.uk"), is_public_suffix("bnf.fr"), is_public_suffix("localhost")
    (True, False, False)
    """
    found = _SUFFIXES(domain.lower().strip("."))
    return bool(found.suffix) and not found.domain


@dataclass(frozen=True, slots=True)
class Scope:
    """The sites that a crawl stays within."""

    sites: frozenset[str]

    @classmethod
    def of(cls, seeds: Iterable[str]) -> Scope:
        """The scope of some seeds: the registered domain of each."""
        return cls(frozenset(site_of(seed) for seed in seeds))

    def holds(self, url: str) -> bool:
        """Whether *url* is http or https and in one of the sites.

        >>> scope = Scope.of(["https://www.bnf.fr/"])
        >>> scope.holds("https://gallica.bnf.fr/x"), scope.holds("https://n2t.net/"), scope.holds("ftp://bnf.fr/")
        (True, False, False)
        """
        try:
            return urlsplit(url).scheme.lower() in ("http", "https") and site_of(url) in self.sites
        except ValueError:
            return False
