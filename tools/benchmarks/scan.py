"""Speed of the scan for labels over text without ARKs, relative to ripgrep's search for one spelling of the label.

Ripgrep gets the text as a file, and its start and reading count. The scan gets it in memory, and finds all spellings.
The CPU times of both are compared; they take turns.

The aim of half of ripgrep's speed was not reached. The scan takes 0.5 nanoseconds per character: half for five signs
rarer than the colon, each at the speed of `memchr` (17 GB/s), half for the colons of prose. Hyperscan with all signs at
once reaches 1.4 GB/s; google-re2 with one sign 0.7. stringzilla finds ``k:`` at 14, but the colon of a label may also
follow a space, a line break or an escape. Reading a clean text takes 1.4 nanoseconds per character. With half of
ripgrep's speed it would take 1.1, which is not worth another library. (Scanning each text once instead of twice saved
as much.)
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from extractors.mentions.labels import label_signs
from tools.benchmarks.prose import prose

CHARS = 200_000_000
PIECE = 4_000_000
ROUNDS = 5
FLOOR = 0.1


def main() -> int:
    """Print a line; return 1 below the floor."""
    text = prose(PIECE, seed=1) * (CHARS // PIECE)
    colons = text.count(":") / len(text) * 1000
    if shutil.which("rg") is None:
        ours = median(_seconds_of_scan(text) for _ in range(ROUNDS))
        print(f"{_speed_words(text, ours, colons)}; ripgrep is not installed")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prose.txt"
        file.write_text(text, "utf-8")
        pairs = [(_seconds_of_scan(text), _seconds_of_ripgrep(file)) for _ in range(ROUNDS)]
    ours, theirs = (median(each) for each in zip(*pairs, strict=True))
    ratio = median(ripgrep / scan for scan, ripgrep in pairs)
    print(
        f"{_speed_words(text, ours, colons)}, {ratio:.2f} of the speed of rg -i 'ark:' "
        f"({len(text) / theirs / 1e6:,.0f} MB/s; floor {FLOOR})"
    )
    return int(ratio < FLOOR)


def _speed_words(text: str, seconds: float, colons: float) -> str:
    speed = len(text) / seconds / 1e6
    return f"scan: {speed:,.0f} MB/s over text without ARKs ({colons:.1f} colons in 1,000 characters)"


def _seconds_of_scan(text: str) -> float:
    started = time.process_time()
    for _ in label_signs(text):
        pass
    return time.process_time() - started


def _seconds_of_ripgrep(file: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["rg", "-i", "-j1", "--count-matches", "ark:", str(file)], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
