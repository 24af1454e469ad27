"""Speed from a page to its mentions, relative to a bare pass of lxml over the same pages.

The baseline decodes, parses (`lxml.html.fromstring`) and collects texts, tails and attribute values in one `iter()`.
That is the minimum of any extraction with lxml. A second baseline uses the plainer elements of `lxml.etree`. The generated pages
have about 100 kB each, and are always the same. (A module named ``html.py`` would hide Python's own.)
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import lxml.html
from lxml import etree

from extractors.extraction import extraction_of

ROUNDS = 15
PAGES = 12
PAGE_CHARS = 100_000
WORDS = """
    the of and a to in archive manuscript collection record object digital library link mark book work museum note
    folio image page view item title author date source right network context about reading number card room
""".split()  # noqa: SIM905


def main() -> int:
    """Print a line for each kind of page; return 1 below a floor."""
    is_slow = False
    for kind, arks_per_page, link_share, floor in (
        ("prose without an ARK", 0, 0.1, 0.9),
        ("lists of links without an ARK", 0, 0.9, 0.9),
        ("pages with one ARK, linked", 1, 0.4, 0.85),
        ("pages with ten ARKs", 10, 0.4, 0.6),
        ("a catalogue, an ARK in each of its 300 entries", 300, 0.4, 0.14),
    ):
        pages = [made_page(random.Random(seed), arks_per_page, link_share) for seed in range(PAGES)]
        ratio, beside_etree = _ratio(_by_lxml_html, pages), _ratio(_by_etree, pages)
        print(f"html: {ratio:.2f} of the speed of lxml.html (floor {floor}), {beside_etree:.2f} of lxml.etree: {kind}")
        is_slow |= ratio < floor
    return int(is_slow)


def _ratio(baseline: Callable[[bytes], object], pages: Sequence[bytes]) -> float:
    """Return the median of the speed relative to *baseline*, over rounds in which both take turns."""
    # Without the time of imports and first allocations.
    _seconds(_extract, pages)
    return median(_seconds(baseline, pages) / _seconds(_extract, pages) for _ in range(ROUNDS))


def _seconds(read: Callable[[bytes], object], pages: Sequence[bytes]) -> float:
    started = time.process_time()
    for page in pages:
        read(page)
    return time.process_time() - started


def _extract(page: bytes) -> object:
    return extraction_of(page, media_type="text/html")


def _by_lxml_html(page: bytes) -> list[str | None]:
    return _collect(lxml.html.fromstring(page.decode()))


def _by_etree(page: bytes) -> list[str | None]:
    return _collect(etree.fromstring(page.decode(), etree.HTMLParser()))


def _collect(root: Any) -> list[str | None]:
    collected: list[str | None] = []
    for element in root.iter():
        collected.append(element.text)
        collected.append(element.tail)
        collected.extend(element.attrib.values())
    return collected


def made_page(chance: random.Random, arks: int, link_share: float, chars: int = PAGE_CHARS) -> bytes:
    """Return a page like those of a library: head, scripts, navigation, prose, lists, tables."""
    pieces = list(_pieces(chance, link_share, chars))
    for _ in range(arks):
        name = "".join(chance.choices("0123456789bcdfghjkmnpqrstvwxz", k=9))
        cited = f'<p>See <a href="https://n2t.net/ark:/12345/{name}">ark:/12345/{name}</a>, {words(chance, 9)}.</p>\n'
        pieces.insert(chance.randrange(len(pieces)), cited)
    head = "".join(f'<meta name="{key}" content="{words(chance, 9)}">\n' for key in ("description", "og:title", "dc"))
    script = f"var state = {{'a': 1}}; function go() {{ {words(chance, 300)} }}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{words(chance, 5)}</title>\n{head}'
        f'<link rel="stylesheet" href="/static/site.css"><script>{script}</script></head>\n'
        f'<body class="dark:page">{"".join(pieces)}</body></html>'
    ).encode()


def _pieces(chance: random.Random, link_share: float, chars: int) -> Iterator[str]:
    length = 0
    while length < chars:
        piece = _link_item(chance) if chance.random() < link_share else prose_piece(chance)
        length += len(piece)
        yield piece


def _link_item(chance: random.Random) -> str:
    return (
        f'<li class="item"><a class="link" href="/collection/{chance.randrange(10**6)}?view={chance.randrange(99)}" '
        f'title="{words(chance, 2)}">{words(chance, 4)}</a> <span class="count">{chance.randrange(999)}</span></li>\n'
    )


def prose_piece(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.3:
        cells = "".join(f'<td class="n">{words(chance, 3)}</td>' for _ in range(4))
        return f"<tr>{cells}</tr>\n"
    if kind < 0.5:
        return f"<dl><dt><b>{words(chance, 1)}</b>:</dt><dd>{words(chance, 6)}: <em>{words(chance, 2)}</em></dd></dl>\n"
    text = f"{words(chance, 40)} <i>{words(chance, 2)}</i>."
    return f'<div class="row" id="c{chance.randrange(10**6)}"><p>{text}</p></div>\n'


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


if __name__ == "__main__":
    sys.exit(main())
