"""What makes a page of a library's site large: styles, scripts, a menu, and a description in divisions and tables."""

from __future__ import annotations

from functools import cache
from random import Random

from benchmarks.html_pages import prose_piece, words

#: Bytes of a page: half of those on the web have more, with all that stands in them (HTTP Archive, 2024: 30 to 70 kB).
PAGE_BYTES = 60_000
MENU_LINKS = 10
_SCRIPTS, _SCRIPT_BYTES = 8, 3_000
_STYLE_BYTES = 4_000


@cache
def large_part(seed: int) -> str:
    """All of a large page but for what a small one has: some 56 kB, always the same for a *seed*."""
    chance = Random(seed)
    rules = _repeated(lambda: f".c{chance.randrange(999)} > li{{margin:{chance.randrange(9)}px}}\n", _STYLE_BYTES)
    scripts = "".join(
        f"<script>{_repeated(lambda: _statement(chance), _SCRIPT_BYTES)}</script>" for _ in range(_SCRIPTS)
    )
    menu = "".join(
        f'<li class="nav-item"><a class="nav-link" href="/about/{number}"><span>{words(chance, 2)}</span></a></li>\n'
        for number in range(MENU_LINKS)
    )
    head = f"<style>{rules}</style>{scripts}<nav><ul>{menu}</ul></nav>\n"
    return head + _repeated(lambda: prose_piece(chance), PAGE_BYTES - 4_000 - len(head))


def _statement(chance: Random) -> str:
    one, other = words(chance, 2).split()
    return f"function f{chance.randrange(999)}(a, b) {{ return a < b ? '<{one}>' : state['{other}']; }}\n"


def _repeated(piece: object, size: int) -> str:
    assert callable(piece)
    pieces, length = [], 0
    while length < size:
        pieces.append(piece())
        length += len(pieces[-1])
    return "".join(pieces)
