"""One rewrite rule that explains the moves of a site's pages, as text for its web server. No I/O."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

#: Least number of moves that a rule explains, and of the failing pages that it is proposed for.
_LEAST = 3
#: Least share of the moves with a matching path that a rule explains.
_LEAST_SHARE = 0.9
#: Limits, so that a site with very many moves takes no longer than a few seconds.
_MOST_MOVES, _MOST_CANDIDATES, _LONGEST = 300, 20, 300
_PLAIN = re.compile("[A-Za-z0-9/._~:?=&+-]+")
_URL = re.compile(r"(https?://[^/?#]+)([^?#]*)")


@dataclass(frozen=True, slots=True, order=True)
class RewriteRule:
    """A rule for the paths of one site: a common beginning and end are replaced, and the text between them is kept."""

    site: str
    """The scheme and host of the old addresses."""
    before: str
    after: str
    new_before: str
    """The new beginning, with scheme and host."""
    new_after: str

    def target(self, url: str) -> str | None:
        """Return the new address of an old one, or None if the rule does not apply to it."""
        start, end = self.site + self.before, self.after
        is_there = _site(url) == self.site and url.startswith(start) and url.endswith(end)
        if not is_there or len(url) <= len(start) + len(end):
            return None
        return f"{self.new_before}{url[len(start) : len(url) - len(end)]}{self.new_after}"

    def __str__(self) -> str:
        path = f"{re.escape(self.before)}(.+){re.escape(self.after)}$"
        new = f"{self.new_before}$1{self.new_after}"
        return f"nginx:  rewrite ^{path} {new} permanent;\nApache: RedirectMatch permanent ^{path} {new}\n"


def rewrite_rules(moves: Iterable[tuple[str, str]], failing: Iterable[str]) -> Iterator[tuple[RewriteRule, str]]:
    """Yield a rule, with its support in words, for each site of *failing* addresses whose *moves* it explains.

    Each move that supports a rule is explained by a rule that the other moves suggest. A rule may be wrong for a page,
    so it is a proposal only.
    """
    known, lost = defaultdict(list), defaultdict(list)
    for old, new in sorted(set(moves)):
        known[_site(old)].append((old, new))
    for url in sorted(set(failing)):
        lost[_site(url)].append(url)
    for site, urls in lost.items():
        found = _best_rule(site, known[site][:_MOST_MOVES], urls) if site else None
        if found is not None:
            yield found


def _best_rule(site: str, moves: Sequence[tuple[str, str]], failing: Sequence[str]) -> tuple[RewriteRule, str] | None:
    counts = Counter(rule for old, new in moves for rule in set(_candidates(site, old, new)))
    best = None
    for rule, right in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_CANDIDATES]:
        matching = sum(rule.target(old) is not None for old, _ in moves)
        helped = sum(rule.target(url) is not None for url in failing)
        if min(right, helped) >= _LEAST and right >= _LEAST_SHARE * matching:
            rank = (right, len(rule.before) + len(rule.after), rule)
            words = f"{right} of {matching} known moves, for {helped} failing pages of {site}"
            best = max(best, (*rank, words)) if best else (*rank, words)
    return best[2:] if best else None


def _candidates(site: str, old: str, new: str) -> Iterator[RewriteRule]:
    """Yield every rule that explains one move; a query is no part of a rule for a path."""
    # Other characters could end the directive into which the text is copied.
    if not (_PLAIN.fullmatch(old) and _PLAIN.fullmatch(new)) or "?" in old or max(len(old), len(new)) > _LONGEST:
        return
    path = old.removeprefix(site)
    for at, there, length in SequenceMatcher(None, path, new, autojunk=False).get_matching_blocks():
        text = path[at : at + length]
        starts = [0, *(match.end() for match in re.finditer(r"[/.=_-]", text))]
        ends = [length, *(match.start() for match in re.finditer(r"[/.=]", text))]
        for start in starts:
            for end in (end for end in ends if end > start):
                kept = (path[: at + start], path[at + end :])
                if not (site + kept[0] == new[: there + start] and kept[1] == new[there + end :]):
                    yield RewriteRule(site, *kept, new[: there + start], new[there + end :])


def _site(url: str) -> str:
    match = _URL.match(url)
    return match[1] if match else ""
