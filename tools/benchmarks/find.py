"""Speed of finding ARKs in prose with one per two kilobytes, with a profile, relative to a naive pattern.

The naive pattern (``ark:/?`` and the text up to a space) finds half of the broken ARKs, and repairs none. Then whole
documents with many ARKs are read, from bytes to mentions. All times are CPU times.
"""

from __future__ import annotations

import cProfile
import pstats
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath
from random import Random
from statistics import median

from extractors.extraction import extraction_of
from extractors.find import find_arks
from extractors.mentions.labels import label_signs
from tools.benchmarks.prose import with_arks

CHARS = 8_000_000
EVERY = 2_000
ROUNDS = 5
FLOOR_MB_S = 50.0
FLOOR_OF_NAIVE = 1.8
DENSE = 100_000
MOST_SECONDS = 8.0
_NAIVE = re.compile(r"(?:https?://\S*?/)?ark:/?\d{5}/\S+", re.IGNORECASE)


def main() -> int:
    """Print the speed and the shares of modules; return 1 below a floor."""
    text = with_arks(CHARS, every=EVERY, seed=2)
    ours = median(_seconds(lambda: find_arks(text)) for _ in range(ROUNDS))
    scan = median(_seconds(lambda: list(label_signs(text))) for _ in range(ROUNDS))
    naive = median(_seconds(lambda: _NAIVE.findall(text)) for _ in range(ROUNDS))
    speed = len(text) / ours / 1e6
    print(
        f"find: {speed:.1f} MB/s with one ARK in {EVERY} characters (floor {FLOOR_MB_S:.0f}), {naive / ours:.2f} of "
        f"the speed of a naive pattern (floor {FLOOR_OF_NAIVE}); {scan / ours:.0%} of the time is the scan for labels, "
        f"the rest: {_shares(text)}"
    )
    taken = {kind: _seconds(partial(extraction_of, data, name=kind)) for kind, data in _dense_documents()}
    shown = ", ".join(f"{seconds:.1f} s for {kind}" for kind, seconds in taken.items())
    print(f"find: {DENSE:,} ARKs in a document take {shown} (bound {MOST_SECONDS:.0f} s each)")
    return int(speed < FLOOR_MB_S or naive / ours < FLOOR_OF_NAIVE or max(taken.values()) > MOST_SECONDS)


def _dense_documents() -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of documents with an ARK in each line."""
    random = Random(3)
    names = ["".join(random.choices("0123456789bcdfghjkmnpqrstvwxz", k=12)) for _ in range(DENSE)]
    words = "of the list is at https://n2t.net/ark:/67531"
    yield (
        "prose.txt",
        "".join(f"Item {at} {words}/{name} and more follows.\n" for at, name in enumerate(names)).encode(),
    )
    yield "list.txt", "".join(f"ark:/67531/{name}\n" for name in names).encode()
    rows = "".join(f"{at},The title of {at},https://n2t.net/ark:/67531/{name}\n" for at, name in enumerate(names))
    yield "table.csv", f"id,title,url\n{rows}".encode()


def _seconds(work: object) -> float:
    assert callable(work)
    started = time.process_time()
    work()
    return time.process_time() - started


def _shares(text: str) -> str:
    """Return the shares of the slowest modules by a profile, which exaggerates small functions."""
    profile = cProfile.Profile()
    profile.runcall(find_arks, text)
    spent: dict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own_s, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        spent[PurePath(file).stem if "extractors" in file else "patterns and builtins"] += own_s
    whole = sum(spent.values())
    most = sorted(spent.items(), key=lambda item: -item[1])[:6]
    return ", ".join(f"{name} {own_s / whole:.0%}" for name, own_s in most)


if __name__ == "__main__":
    sys.exit(main())
