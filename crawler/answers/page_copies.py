"""Tell by a digest whether a host shows one page for several objects."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote

from crawler.answers.likeness import ANY_ARK
from crawler.answers.quirks import quirks, without_marks
from crawler.model.crawl_requests import names_session
from extractors.model.ark import Ark
from extractors.model.urls import authority_of, split_url

#: A page for this number of objects, each at another address of the host, is the page of none of them.
ENOUGH_PAGES = 3
#: Words with digits that change with each request: times, durations, keys. Others identify things.
_PASSING = re.compile(r"\d{1,2}:\d\d\S*|\d{4}-\d\d-\d\dt\S+|0[.,]\d+|\d{9,}|(?=.*[a-f])[0-9a-f-]{8,}|\w{16,}")


def page_digest(titles: Iterable[str], text: str, references: Iterable[str], url: str, ark: Ark) -> str | None:
    """Return a digest of what a page says and shows, by which the pages of a host are compared; None without words.

    Its title and headings count (*titles*). The words of its *text* and the addresses on it count too, except its own
    *url*, the *ark*, and what changes with each request: error pages repeat these, but rarely as their title.

    >>> pages = [page_digest(["Library"], f"Sorry: {name} at 10:1{name}", ["/help", f"/en/item/{name}"],
    ...                      f"https://a.example/item/{name}", Ark("12148", f"x{name}")) for name in "78"]
    >>> item = page_digest(["Library"], "Sorry", ["/7.jpg"], "https://a.example/item/7", Ark("12148", "x7"))
    >>> len(set(pages)), item in pages
    (1, False)
    """
    own, name = split_url(url), f"{ark.naan}/{ark.name}"
    echoed = {ark.name, *re.findall(r"\w+", unquote(url).lower())}
    labels, said = ["", ""], []
    for token in ANY_ARK.sub(" ", text).lower().split():
        word = without_marks(token)
        if any(map(str.isdigit, word)):
            is_key = not quirks().passing.word.isdisjoint(labels) or _PASSING.fullmatch(word)
            word = "" if word in echoed or is_key else word
        labels = [labels[1], word]
        said.append(word)
    shown = set()
    for reference in references:
        address, _, query = reference.partition("#")[0].partition("?")
        path = address.partition("://")[2].partition("/")[2] if "://" in address else address
        is_own = f"/{path}".endswith((own.path, name)) or own.path.endswith(f"/{path.lstrip('./')}")
        if not (is_own or names_session(reference) or re.match(r"(?!https?:)[a-z]+:", address)):
            is_echo = own.path in unquote(query) or ark.name in unquote(query)
            shown.add(address if is_echo else f"{address}?{query}")
    compared = "\n".join((authority_of(url), *titles, *said, *sorted(shown)))
    return hashlib.sha256(compared.encode("utf-8", "replace")).hexdigest()[:16] if any(said) else None
