"""How fast the scan for labels is over text without ARKs, beside ripgrep's search for one spelling of the label.

Ripgrep is given the text as a file, and its start and the reading of the file count; the scan is given it in memory,
and looks for all spellings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.prose import prose
from extractors.mentions.labels import label_signs

CHARS = 200_000_000
PIECE = 4_000_000
ROUNDS = 5
FLOOR = 0.5


def main() -> int:
    """Prints one line; 1 if the scan is slower than the floor allows."""
    text = prose(PIECE, seed=1) * (CHARS // PIECE)
    colons = text.count(":") / len(text) * 1000
    ours = median(_seconds_of_scan(text) for _ in range(ROUNDS))
    figures = (
        f"scan: {len(text) / ours / 1e6:,.0f} MB/s over text without ARKs ({colons:.1f} colons in 1,000 characters)"
    )
    if shutil.which("rg") is None:
        print(f"{figures}; ripgrep is not here to compare with")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prose.txt"
        file.write_text(text, "utf-8")
        theirs = median(_seconds_of_ripgrep(file) for _ in range(ROUNDS))
    ratio = theirs / ours
    print(f"{figures}, {ratio:.2f} of the speed of rg -i 'ark:' ({len(text) / theirs / 1e6:,.0f} MB/s; floor {FLOOR})")
    return int(ratio < FLOOR)


def _seconds_of_scan(text: str) -> float:
    started = time.perf_counter()
    for _ in label_signs(text):
        pass
    return time.perf_counter() - started


def _seconds_of_ripgrep(file: Path) -> float:
    started = time.perf_counter()
    subprocess.run(["rg", "-i", "-j1", "--count-matches", "ark:", str(file)], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
