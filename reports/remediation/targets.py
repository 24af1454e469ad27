"""New targets for a resolver's table, from the redirects of landing sites. No I/O."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from extractors.model.urls import authority_of
from reports.languages.display import neutralize_formula
from reports.remediation.expectations import same_object

#: Redirects by which a site says that a page has moved for good.
_PERMANENT = (301, 308)


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


def moved_target(hops: Sequence[tuple[str, int | None]]) -> tuple[str, str] | None:
    """Return the present and the new target of an ARK that works, from the URLs and statuses of its chain, or None.

    The target is the first URL off the requested host that does not hold the ARK label, which a resolver's own URL
    does. It has moved if every redirect from there on is permanent.

    >>> moved_target([("https://r.example/ark:/12148/x", 302), ("https://m.example/old", 301), ("https://m.example/new", 200)])
    ('https://m.example/old', 'https://m.example/new')
    """
    asked = authority_of(hops[0][0])
    for place, (url, _) in enumerate(hops):
        if authority_of(url) != asked and "ark:" not in url.lower().replace("%3a", ":"):
            final = hops[-1][0]
            is_moved = all(status in _PERMANENT for _, status in hops[place:-1])
            return (url, final) if is_moved and not same_object(url, final) else None
    return None


def target_moves(chains: Iterable[tuple[str, Sequence[tuple[str, int | None]]]]) -> list[TargetMove]:
    """Return the targets to replace, from the chain of each ARK that works; sorted.

    A page to which targets of several ARKs lead, such as a home page, is no new place of any of them. ARKs with two
    different new targets are left out.
    """
    moves = {}
    for ark, hops in chains:
        found = moved_target(hops)
        if found is not None:
            redirects = ", ".join(str(status) for url, status in hops[[url for url, _ in hops].index(found[0]) : -1])
            moves[ark, found[1]] = TargetMove(ark, *found, f"the target redirects permanently ({redirects})")
    arks, places = Counter(ark for ark, _ in moves), Counter(place for _, place in moves)
    return sorted(move for (ark, place), move in moves.items() if arks[ark] == places[place] == 1)


def targets_text(moves: Iterable[TargetMove], layout: str) -> str:
    """Return *moves* as CSV in one of `LAYOUTS`."""
    columns, text = LAYOUTS[layout], io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for move in moves:
        cells = [getattr(move, name) for name in columns.values()]
        if layout == "ezid":
            cells[0] = cells[0].replace("ark:", "ark:/", 1)
        writer.writerow(map(neutralize_formula, cells))
    return text.getvalue()
