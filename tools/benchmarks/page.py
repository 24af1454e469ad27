"""Size of the page with 100,000 ARKs, and the times in which a real browser opens and filters it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from reports.exports import write_report
from reports.store.frames import load_frames
from tests.real.browser import Page, browser_page, chromium
from tools.benchmarks.stores import make_store

ARKS = 100_000
MOST_MB = 25.0
#: Bound on the time of a filter, a search or an order.
MOST_ANSWER_MS = 200.0
#: ARKs of a small page, such as the demo's, and the bound on the time to open it.
FEW_ARKS = 100
MOST_OPEN_S = 1.0

_TIMED = "(() => {{ const began = performance.now(); {what}; return performance.now() - began; }})()"
_USABLE = "arkaudit.show('arks').then(shown => { shown.search('e', {}); return performance.now(); })"
ANSWERS = {
    "a filter": "commands.search('', {family: 'fails'})",
    "a search": "commands.search('81055 timeout', {})",
    "another search": "commands.search('b7', {})",
    "everything again": "commands.search('', {})",
    "an order by number": "commands.living.order([commands.living.column('citations:name').index(), 'desc']).draw()",
}


def main() -> int:
    """Print the size and the times; return 1 if a bound is exceeded."""
    if chromium() is None:
        print("page: skipped, because Chromium is not installed")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = (_page(folder, arks) for arks in (ARKS, FEW_ARKS))
        megabytes = large.stat().st_size / 1e6
        with browser_page() as browser:
            # The first page includes the start of the browser.
            browser.open(small)
            opened = min(_opening_s(browser, small) for _ in range(3))
            opened_large = _opening_s(browser, large)
            browser.settled("arkaudit.show('arks').then(shown => { window.commands = shown; })")
            taken = {what: _best_ms(browser, code) for what, code in ANSWERS.items()}
    slowest = max(taken, key=lambda what: taken[what])
    print(
        f"page: {ARKS:,} ARKs in {megabytes:.1f} MB (bound {MOST_MB:.0f}), usable after {opened_large:.1f} s; "
        f"slowest answer {taken[slowest]:.0f} ms ({slowest}; bound {MOST_ANSWER_MS:.0f}); "
        f"{FEW_ARKS} ARKs are usable after {opened:.2f} s (bound {MOST_OPEN_S:.0f})"
    )
    return int(megabytes > MOST_MB or taken[slowest] > MOST_ANSWER_MS or opened > MOST_OPEN_S)


def _page(folder: Path, arks: int) -> Path:
    store = make_store(folder / f"{arks}.db", arks=arks)
    paths = write_report(load_frames(store), folder / f"report-{arks}", ["html"])
    return paths.files[0]


def _opening_s(browser: Page, index: Path) -> float:
    """Return the time from navigation until the table of all ARKs has answered a search."""
    browser.open(index)
    return float(browser.settled(_USABLE)) / 1000


def _best_ms(browser: Page, code: str) -> float:
    """Return the shortest of three times; the first may include the preparation of a column."""
    return min(float(browser.value(_TIMED.format(what=code))) for _ in range(3))


if __name__ == "__main__":
    sys.exit(main())
