"""Pure: the user's patterns for links, each search under a limit: a careless one may need longer than the world lasts.

The limit is processor time, so that what passes doesn't depend on what else the machine does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import regex

from extractors.shared_errors import ArkauditError

#: Seconds of processor time that a pattern may take for one URL, which is of 4,096 characters at most.
PATTERN_S = 0.25
#: A pattern that has been cut off so often is searched for no more: none of its links is followed.
MOST_CUT_OFF = 3


class TooSlow(ArkauditError):
    """Raised where a pattern was cut off, so that nobody knows whether it is found."""


class LinkPatterns:
    """Patterns of which any may be found in a URL. Raises `regex.error` for what is none.

    >>> LinkPatterns([r"/maps/", r"[.]pdf$"]).is_found("https://a.example/maps/1")
    True
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [regex.compile(each) for each in patterns]
        self._cut_off: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def is_found(self, url: str) -> bool:
        """Return whether one of them is found in *url*.

        Raises `TooSlow` where none is, but not all could be searched.
        """
        is_sure = True
        for pattern in self._patterns:
            if self._cut_off[pattern.pattern] >= MOST_CUT_OFF:
                is_sure = False
                continue
            try:
                if pattern.search(url, timeout=PATTERN_S):
                    return True
            except TimeoutError:
                self._cut_off[pattern.pattern] += 1
                is_sure = False
        if not is_sure:
            raise TooSlow
        return False
