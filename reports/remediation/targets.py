"""New targets for a resolver's table, from the redirects of landing sites. No I/O."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from crawler.history.ark_status import comparable_landing_url
from crawler.model.resolving import sendable
from extractors.model.urls import authority_of
from reports.languages.display import neutralize_formula

#: Every formula that calls a function or another program has one of these signs.
_CALL_SIGN = re.compile(r"[(|!]")
#: Redirects by which a site says that a page has moved for good.
PERMANENT = (301, 308)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
#: Characters that mean the same in a path whether or not they are percent-encoded.
_UNRESERVED = re.compile(r"[A-Za-z0-9._~:@!$'()*,-]")
#: An ARK in a path. Both forms of its label are equivalent, and hyphens are ignored.
_ARK = re.compile(r"/ark:/*([0-9b-z]+/[^?]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class TargetMove:
    """A URL in the table of a resolver that should be replaced, with its proposed replacement."""

    ark: str
    present_target: str
    proposed_target: str
    evidence: str


#: The columns of each layout of the file, with the attribute that fills it. EZID writes ARKs with a slash.
LAYOUTS: Mapping[str, Mapping[str, str]] = {
    "table": {name: name for name in ("ark", "present_target", "proposed_target", "evidence")},
    "ezid": {"_id": "ark", "_target": "proposed_target"},
    "arklet": {"ark": "ark", "url": "proposed_target"},
}


def present_target(hops: Sequence[tuple[str, int | None]]) -> str | None:
    """Return the first URL of *hops* (URL, status) that is at another host than the first hop and contains no ARK.

    This is the target in the resolver's table. None if there is no such URL.
    """
    first_host = authority_of(hops[0][0])
    later_urls = (
        url for url, _ in hops if authority_of(url) != first_host and "ark:" not in url.lower().replace("%3a", ":")
    )
    return next(later_urls, None)


def same_object(first_url: str, second_url: str) -> bool:
    """Return True if two URLs identify the same object, as far as the URLs show.

    The comparison ignores: the scheme, the case of the host, ``www.``, the default port, a trailing slash, the
    fragment, the order of query parameters, session and campaign parameters, percent-encoding of plain characters, and
    the spelling of an ARK in the path.

    >>> same_object("http://Library.example:80/view/a%7Eb/", "https://www.library.example/view/a~b?utm_source=x#top")
    True
    >>> same_object("https://library.example/ark:/12148/x5-7", "https://library.example/ark%3A12148/x57")
    True
    >>> same_object("https://library.example/view/7", "https://library.example/view/8")
    False
    """
    return _canonical(first_url) == _canonical(second_url)


def _canonical(url: str) -> str:
    unescaped_url = _ESCAPE.sub(_unescape_plain, sendable(url.strip()))
    with_one_spelling = _ARK.sub(lambda ark_path: "/ark:" + ark_path[1].replace("-", ""), unescaped_url)
    return comparable_landing_url(with_one_spelling).removeprefix("www.")


def _unescape_plain(escape: re.Match[str]) -> str:
    character = unquote(escape[0])
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()


def target_moves(chains: Iterable[tuple[str, Sequence[tuple[str, int | None]]]]) -> list[TargetMove]:
    """Return the targets to replace, sorted, from *chains* (ARK, hops of URL and status) of ARKs that work.

    A target has moved if all redirects from it to the end of the chain are permanent. ARKs with two new targets, and
    targets of several ARKs, are left out.

    >>> chain = [("https://r.example/ark:/12148/x", 302), ("https://m.example/old", 301), ("https://m.example/new", 200)]
    >>> [(move.present_target, move.proposed_target) for move in target_moves([("ark:12148/x", chain)])]
    [('https://m.example/old', 'https://m.example/new')]
    """
    moves = []
    for ark, hops in chains:
        old_target, new_target = present_target(hops), hops[-1][0]
        redirects = (
            [status for _, status in hops[[url for url, _ in hops].index(old_target) : -1]] if old_target else []
        )
        if old_target and not same_object(old_target, new_target) and all(status in PERMANENT for status in redirects):
            evidence = f"the target redirects permanently ({', '.join(map(str, redirects))})"
            moves.append(TargetMove(ark, old_target, new_target, evidence))
    distinct = {(move.ark, move.proposed_target): move for move in moves}
    ark_counts, target_counts = Counter(ark for ark, _ in distinct), Counter(target for _, target in distinct)
    # A page to which targets of several ARKs lead, such as a home page, is no new place of any of them.
    return sorted(move for (ark, target), move in distinct.items() if ark_counts[ark] == target_counts[target] == 1)


def targets_text(moves: Iterable[TargetMove], layout: str) -> str:
    """Return *moves* as CSV in one of `LAYOUTS`.

    In the layout ``table``, which people open, cells that a spreadsheet might run as formulas are neutralized.
    """
    columns, text = LAYOUTS[layout], io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for move in moves:
        cells = [getattr(move, name) for name in columns.values()]
        if layout == "ezid":
            cells[0] = cells[0].replace("ark:", "ark:/", 1)
        writer.writerow(
            neutralize_formula(cell) if layout == "table" and _CALL_SIGN.search(cell) else cell for cell in cells
        )
    return text.getvalue()
