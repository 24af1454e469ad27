"""Compare the pages of a host for several objects by a digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote

from crawler.answers.likeness import ANY_ARK
from crawler.answers.quirks import quirks, without_marks
from crawler.model.crawl_requests import has_session_id
from extractors.model.ark import Ark
from extractors.model.urls import UrlParts, authority_of, split_url

#: A page for this number of objects, each at another address of the host, shows none of them.
ENOUGH_PAGES = 2
#: Words with digits that change with each request: times, durations, keys. Others identify things.
_CHANGING_WORD = re.compile(r"\d{1,2}:\d\d\S*|\d{4}-\d\d-\d\dt\S+|0[.,]\d+|\d{9,}|(?=.*[a-f])[0-9a-f-]{8,}|\w{16,}")
#: A scheme of addresses that lead to no page: of mail, telephones, scripts, inline data.
OTHER_SCHEME = re.compile(r"(?!https?:)[a-z]+:", re.IGNORECASE)


def page_digest(titles: Iterable[str], text: str, references: Iterable[str], url: str, ark: Ark) -> str | None:
    """Return a digest of the words and the addresses on a page, by which the pages of a host are compared; None without words.

    Its title and headings count (*titles*). So do the words of its *text* and its *references*, except its own *url*, the
    *ark*, and parts that change with each request: error pages repeat these, but rarely as their title.

    >>> pages = [page_digest(["Library"], f"Sorry: {name} at 10:1{name}", ["/help", f"/en/item/{name}"],
    ...                      f"https://a.example/item/{name}", Ark("12148", f"x{name}")) for name in "78"]
    >>> item = page_digest(["Library"], "Sorry", ["/7.jpg"], "https://a.example/item/7", Ark("12148", "x7"))
    >>> len(set(pages)), item in pages
    (1, False)
    """
    own_url_parts, ark_name = split_url(url), f"{ark.naan}/{ark.name}"
    echoed = {ark.name, *re.findall(r"\w+", unquote(url).lower())}
    previous_words, words = ["", ""], []
    for token in ANY_ARK.sub(" ", text).lower().split():
        word = without_marks(token)
        if any(map(str.isdigit, word)):
            is_key = not quirks().passing.word.isdisjoint(previous_words) or _CHANGING_WORD.fullmatch(word)
            word = "" if word in echoed or is_key else word
        previous_words = [previous_words[1], word]
        words.append(word)
    addresses = set()
    for reference in references:
        address, _, query = reference.partition("#")[0].partition("?")
        is_left_out = has_session_id(reference) or OTHER_SCHEME.match(address) or address.endswith(ark_name)
        if not (is_left_out or _is_own_address(address, query, own_url_parts)):
            is_echo = _path_and_query(own_url_parts) in unquote(query) or ark.name in unquote(query)
            addresses.add(address if is_echo else f"{address}?{query}")
    compared_text = "\n".join((authority_of(url), *titles, *words, *sorted(addresses)))
    return hashlib.sha256(compared_text.encode("utf-8", "replace")).hexdigest()[:16] if any(words) else None


def _is_own_address(address: str, query: str, own_url_parts: UrlParts) -> bool:
    """Return True if a reference leads to the page that it is on, perhaps in another language or format.

    >>> own = split_url("https://a.example/item/7")
    >>> _is_own_address("/fr/item/7", "", own), _is_own_address("7", "print=1", own), _is_own_address("/item/7/scan.jpg", "", own)
    (True, True, False)
    >>> _is_own_address("/", "lang=fr&id=7", split_url("https://a.example?id=7"))
    True
    """
    path = (address.partition("://")[2].partition("/")[2] if "://" in address else address).strip("./")
    own_path = own_url_parts.path.strip("/")
    if own_url_parts.query:
        is_same_page = not path or path == own_path or path.endswith(f"/{own_path}")
        return is_same_page and set(own_url_parts.query.split("&")) <= set(query.split("&"))
    if not (path and own_path):
        return path == own_path
    return f"/{own_path}".endswith(f"/{path}") or f"/{path}".endswith(f"/{own_path}")


def _path_and_query(own_url_parts: UrlParts) -> str:
    """Return path and query of a page's own URL."""
    return (
        f"{own_url_parts.path or '/'}?{own_url_parts.query}"
        if own_url_parts.query
        else own_url_parts.path.rstrip("/") or own_url_parts.netloc
    )
