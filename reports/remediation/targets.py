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
_CALL = re.compile(r"[(|!]")
#: Redirects by which a site says that a page has moved for good.
PERMANENT = (301, 308)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
#: Characters that mean the same in a path whether or not they are percent-encoded.
_PLAIN = re.compile(r"[A-Za-z0-9._~:@!$'()*,-]")
#: An ARK in a path. Both forms of its label are equivalent, and hyphens are ignored.
_ARK = re.compile(r"/ark:/*([0-9b-z]+/[^?]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class TargetMove:
    """A target of a resolver that should be replaced."""

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
    """Return the first URL of a chain off the requested host without the ARK label, which a resolver's own URL has."""
    asked = authority_of(hops[0][0])
    beyond = (url for url, _ in hops if authority_of(url) != asked and "ark:" not in url.lower().replace("%3a", ":"))
    return next(beyond, None)


def same_object(one: str, other: str) -> bool:
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
    return _canonical(one) == _canonical(other)


def _canonical(url: str) -> str:
    plain = _ESCAPE.sub(_unescape_plain, sendable(url.strip()))
    as_one = _ARK.sub(lambda ark_path: "/ark:" + ark_path[1].replace("-", ""), plain)
    return comparable_landing_url(as_one).removeprefix("www.")


def _unescape_plain(escape: re.Match[str]) -> str:
    char = unquote(escape[0])
    return char if _PLAIN.fullmatch(char) else escape[0].upper()


def target_moves(chains: Iterable[tuple[str, Sequence[tuple[str, int | None]]]]) -> list[TargetMove]:
    """Return the targets to replace, from the chain (URLs and statuses) of each ARK that works; sorted.

    A target has moved if all redirects from it to the end of the chain are permanent. ARKs with two new targets, and
    targets of several ARKs, are left out.

    >>> chain = [("https://r.example/ark:/12148/x", 302), ("https://m.example/old", 301), ("https://m.example/new", 200)]
    >>> [(move.present_target, move.proposed_target) for move in target_moves([("ark:12148/x", chain)])]
    [('https://m.example/old', 'https://m.example/new')]
    """
    moves = []
    for ark, hops in chains:
        target, final = present_target(hops), hops[-1][0]
        redirects = [status for _, status in hops[[url for url, _ in hops].index(target) : -1]] if target else []
        if target and not same_object(target, final) and all(status in PERMANENT for status in redirects):
            why = f"the target redirects permanently ({', '.join(map(str, redirects))})"
            moves.append(TargetMove(ark, target, final, why))
    distinct = {(move.ark, move.proposed_target): move for move in moves}
    arks, places = Counter(ark for ark, _ in distinct), Counter(place for _, place in distinct)
    # A page to which targets of several ARKs lead, such as a home page, is no new place of any of them.
    return sorted(move for (ark, place), move in distinct.items() if arks[ark] == places[place] == 1)


def targets_text(moves: Iterable[TargetMove], layout: str) -> str:
    """Return *moves* as CSV in one of `LAYOUTS`.

    A cell that a spreadsheet might run is defused in the table, which people open; programs get each URL as it is.
    """
    columns, text = LAYOUTS[layout], io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for move in moves:
        cells = [getattr(move, name) for name in columns.values()]
        if layout == "ezid":
            cells[0] = cells[0].replace("ark:", "ark:/", 1)
        writer.writerow(
            neutralize_formula(cell) if layout == "table" and _CALL.search(cell) else cell for cell in cells
        )
    return text.getvalue()
