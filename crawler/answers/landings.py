"""Pure: the addresses at which redirects end for what is not there: error pages, searches, log-ins, home pages."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from crawler.answers.quirks import quirks

_NOT_FOUND_PATH = re.compile(
    r"/(?:404|(?:page|item|object|record|ark)?[-_]?not[-_]?found|errors?|missing|no[-_]?results?)(?:\.\w+)?/?\Z",
    re.IGNORECASE,
)
_NOT_FOUND_QUERY = re.compile(
    r"(?:\A|[&=])(?:404|(?:page|item|ark)?[-_+]?not[-_+]?found|unknown|missing)(?:&|\Z)", re.IGNORECASE
)
_SEARCH_PATH = re.compile(
    r"/(?:search\w*|find|results?|discover|recherche\w*|suche\w*|trefferliste|busca\w*|b[uú]squeda|ricerca|pesquisa|zoeken"
    r"|s[oö]k|haku|szukaj|hledat|kereses|query|browse)(?:\.\w+)?(?:/|\Z)",
    re.IGNORECASE,
)
_ROOT_PATH = re.compile(r"/?(?:index\.\w+|home/?|default\.aspx?)?\Z", re.IGNORECASE)
_REFRESH = re.compile(
    r"""\s*+\d*+(?:\.\d*+)?\s*+(?:[;,]\s*+(?:url\s*+=)?|url\s*+=)\s*+['"]?(?P<url>[^'"\s][^'"]*)""", re.IGNORECASE
)


def absent_address(url: str) -> str | None:
    """The path and query of a URL that says of itself that something is not there; None of any other.

    >>> absent_address("https://library.example/page-not-found"), absent_address("https://library.example/item/404x")
    ('/page-not-found', None)
    """
    parts = urlsplit(url)
    if _NOT_FOUND_PATH.search(parts.path) or _NOT_FOUND_QUERY.search(parts.query):
        return parts.path + ("?" + parts.query if parts.query else "")
    return None


def is_absent_path(url: str) -> bool:
    """Return whether the path of a URL, or of a reference, says that something is not there; queries are not
    looked at.
    """
    return _NOT_FOUND_PATH.search(url.partition("?")[0]) is not None


def is_search(url: str) -> bool:
    """Return whether a URL is that of search results: many sites search for what they don't know.

    >>> is_search("https://library.example/search?q=x5"), is_search("https://library.example/research/x5")
    (True, False)
    """
    return _SEARCH_PATH.search(urlsplit(url).path) is not None


def is_home_page(url: str, name: str) -> bool:
    """Return whether a URL is the home page of a site, and doesn't hold *name* in its query."""
    parts = urlsplit(url)
    return bool(_ROOT_PATH.match(parts.path)) and name not in parts.query


def is_log_in(url: str) -> bool:
    """Return whether a URL is where people log in, by its path or its host.

    >>> is_log_in("https://library.example/login?next=x5"), is_log_in("https://library.example/catalogue")
    (True, False)
    """
    parts, known = urlsplit(url), quirks()
    first_label = (parts.hostname or "").partition(".")[0]
    return first_label in known.login_hosts or known.login_paths.search(parts.path.lower()) is not None


def refresh_target(value: str) -> str | None:
    """Return where a refresh leads, by the value of its header or meta element; None for one that reloads the page.

    >>> refresh_target("5; URL='/item/7'"), refresh_target("30")
    ('/item/7', None)
    """
    found = _REFRESH.match(value)
    return found["url"].strip() if found else None
