"""Pure: the addresses at which redirects end for what is not there: error pages, searches, log-ins, home pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from crawler.answers.quirks import quirks

_NOT_FOUND_PATH = re.compile(
    r"/(?:404|(?:page|item|object|record|ark)?[-_]?not[-_]?found|errors?|missing|no[-_]?results?)(?:\.\w+)?/?\Z",
    re.IGNORECASE,
)
_NOT_FOUND_QUERY = re.compile(
    r"(?:\A|[&=])(?:404|(?:page|item|ark)?[-_+]?not[-_+]?found|unknown|missing)(?:&|\Z)", re.IGNORECASE
)
_SEARCH = (
    r"/(?:search\w*|find|results?|discover|recherche\w*|suche\w*|trefferliste|busca\w*|b[uú]squeda|ricerca|pesquisa|zoeken"
    r"|s[oö]k|haku|szukaj|hledat|kereses|query|browse)(?:\.\w+)?"
)
_SEARCH_PATH = re.compile(rf"{_SEARCH}(?:/|\Z)", re.IGNORECASE)
_SEARCH_FORM = re.compile(rf"{_SEARCH}/?\Z", re.IGNORECASE)
_ROOT_PATH = re.compile(
    r"/?(?:[a-z]{2}(?:[-_][a-z]{2})?/)?(?:index\.\w+|default\.aspx?|(?:home|homepage|accueil|startseite|inicio|portada|welcome)/?)?\Z",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?:[a-z]+:)?//(?:[^/?#@]*@)?(?P<host>[^/?#:]+)", re.IGNORECASE)
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


def is_sent_away(urls: Sequence[str], name: str) -> bool:
    """Return whether a host that was asked for more leads to its own home page or search form, and forgets *name*.

    A resolver that leads to the home page of another host may mean that: an ARK can name a site. A query may hold
    what the host calls the object.

    >>> is_sent_away(["https://library.example/item/7", "https://library.example/"], "x5")
    True
    >>> is_sent_away(["https://resolver.example/ark:/12148/x5", "https://site.example/"], "x5")
    False
    >>> is_sent_away(["https://library.example/ark:/12148/x5", "https://library.example/index.php?id=7"], "x5")
    False
    """
    *before, last = map(urlsplit, urls)
    is_general = bool(_ROOT_PATH.match(last.path)) or _SEARCH_FORM.search(last.path) is not None
    if not is_general or last.query or last.fragment or name in unquote(last.path):
        return False
    return any(parts.hostname == last.hostname and not _ROOT_PATH.match(parts.path) for parts in before)


def is_log_in(url: str) -> bool:
    """Return whether a URL is where people log in, by its path or its host.

    >>> is_log_in("https://library.example/login?next=x5"), is_log_in("https://library.example/catalogue")
    (True, False)
    """
    parts, vocabulary = urlsplit(url), quirks()
    first_label = (parts.hostname or "").partition(".")[0]
    return first_label in vocabulary.login_hosts or vocabulary.login_paths.search(parts.path.lower()) is not None


def is_visitor_counter(url: str) -> bool:
    """Return whether a URL, or a reference, is of a host that counts the visitors of others.

    >>> is_visitor_counter("//www.google-analytics.com/analytics.js"), is_visitor_counter("/app.js")
    (True, False)
    """
    host = _HOST.match(url)
    name = host["host"].lower() if host else ""
    return any(
        name == visitor_counter or name.endswith(f".{visitor_counter}") for visitor_counter in quirks().visitor_counters
    )


def refresh_target(value: str) -> str | None:
    """Return where a refresh leads, by the value of its header or meta element; None for one that reloads the page.

    >>> refresh_target("5; URL='/item/7'"), refresh_target("30")
    ('/item/7', None)
    """
    match = _REFRESH.match(value)
    return match["url"].strip() if match else None
