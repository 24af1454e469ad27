"""Pure: which of all documents that link to another has found it, whichever was read first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from crawler.model.crawl_requests import Outlinks

#: So many documents are looked at together: that many lists of links are in memory.
AT_ONCE = 500

Key = bytes
#: Returns the links of documents, by their keys.
ReadLinks = Callable[[Sequence[Key]], Mapping[Key, Sequence[Outlinks]]]


def finders(seeds: Iterable[Key], documents: Mapping[Key, Key | None], links_of: ReadLinks) -> dict[Key, str | None]:
    """Return where each document was found: on which of those from which the fewest links lead to it from a seed.

    Of several the first, and these are in the order in which they are found themselves: seeds as given, then what
    links lead to, in the order of the links. A redirect is no step: *documents* has the key of where each one's
    redirects led, and that was found where the first that leads there was. A seed was found nowhere (None); what no
    links lead to from a seed is left out.

    >>> from crawler.model.crawl_requests import document_key as key
    >>> home, near, far = map(key, ("home", "near", "far"))
    >>> targets = {home: ("home", near), near: ("near", far + home), far: ("far", near)}
    >>> links = {each: [Outlinks.to(*targets[each])] for each in targets}
    >>> found = finders([home], dict.fromkeys(links), lambda keys: {each: links[each] for each in keys})
    >>> found[home], found[near], found[far]
    (None, 'home', 'near')
    """
    finder_of: dict[Key, str | None] = {}
    queue: deque[Key] = deque()

    def find(key: Key | None, finder: str | None) -> None:
        while key is not None and key in documents and key not in finder_of:
            finder_of[key] = finder
            queue.append(key)
            key = documents[key]

    for seed in seeds:
        find(seed, None)
    while queue:
        some = [queue.popleft() for _ in range(min(len(queue), AT_ONCE))]
        links = links_of(some)
        for document in some:
            for outlinks in links.get(document, ()):
                for target in outlinks.target_keys():
                    find(target, outlinks.found_on)
    return finder_of
