"""Growth of the time to read texts that are made to be slow, relative to their length."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from extractors.find import find_arks

CHARS = 20_000
TIMES = 8
#: An eightfold text may take twelve times as long, because it exceeds caches and other programs run.
MOST_GROWTH = 12.0
SLOWEST_MB_S = 0.05

TEXTS: Mapping[str, Callable[[int], str]] = {
    "labels": lambda n: "ark:" * (n // 4),
    "labels with a NAAN": lambda n: "ark:/1/" * (n // 7),
    "colons": lambda n: ":" * n,
    "ends of labels": lambda n: "k:" * (n // 2),
    "one endless name": lambda n: "ark:/12345/" + "a" * n,
    "one endless name of escapes": lambda n: "ark:/12345/" + "%C2%AD" * (n // 6),
    "a wrap behind each hyphen": lambda n: "ark:/12345/" + "a-\n" * (n // 3),
    "a short name a line": lambda n: "ark:/12345/x\n" * (n // 13),
    "a name and a word a line": lambda n: "ark:/12345/x5\nword " * (n // 19),
    "blanks": lambda n: "ark:" + " " * n,
    "line breaks": lambda n: "ark:" + "\n" * n,
    "soft hyphens": lambda n: "ark:/12345/x" + "\N{SOFT HYPHEN}" * n,
    "dashes": lambda n: "ark:/12345/x" + "\N{EM DASH}" * n,
    "escaped colons": lambda n: "ark%3A" * (n // 6),
    "entities": lambda n: "ark&#58;" * (n // 8),
    "backslashes": lambda n: "ark:\\/12345\\/" + "\\" * n,
    "quotation marks": lambda n: "ark:/12345/x\n" + "> " * (n // 2),
    "form feeds": lambda n: "ark:/12345/x" + "\f" * n,
    "brackets before": lambda n: "(" * n + "ark:/12345/x",
    "schemes before": lambda n: "https://" * (n // 8) + "ark:/12345/x",
    "a path before": lambda n: "https://" + "a.b/" * (n // 4) + "ark:/12345/x",
    "pairtrees": lambda n: "ark+=12345=" * (n // 11),
}


def main() -> int:
    """Print the slowest text and the fastest growing one; return 1 if a bound is exceeded."""
    rows = []
    for why, text in TEXTS.items():
        short, long = _seconds(text(CHARS)), _seconds(text(TIMES * CHARS))
        rows.append((long / max(short, 1e-3), TIMES * CHARS / long / 1e6, why))
    growth, _, grown = max(rows)
    _, speed, slow = min(rows, key=lambda row: row[1])
    print(
        f"growth: {len(rows)} texts made to be slow; at {TIMES} times the length at most {growth:.1f} times the time "
        f"({grown}; bound {MOST_GROWTH:.0f}); the slowest is read at {speed:.2f} MB/s ({slow}; bound {SLOWEST_MB_S})"
    )
    return int(growth > MOST_GROWTH or speed < SLOWEST_MB_S)


def _seconds(text: str) -> float:
    """Return the shortest of three CPU times."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        find_arks(text)
        taken.append(time.process_time() - started)
    return min(taken)


if __name__ == "__main__":
    sys.exit(main())
