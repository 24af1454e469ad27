"""CPU time and memory of `fix` relative to `extract`, over folders of HTML pages of 100 kB.

One page in five has a citation to correct. The second figure is for a fault on every page.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.benchmarks.html_pages import made_page

PAGES = 1_000
#: The most CPU time relative to `extract`, by the share of pages with a fault: one in this number.
CEILINGS = {5: 1.25, 1: 1.5}
#: The same for memory.
MEMORY_CEILING = 1.3


def main() -> int:
    """Print a line for each share of faults; return 1 above a ceiling."""
    is_slow = False
    for every, ceiling in CEILINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            for number in range(PAGES):
                fault = "<p>ark:/12148/bpt6k10\N{EN DASH}7371t</p>" if number % every == 0 else ""
                page = made_page(random.Random(number), 5, 0.4) + fault.encode()
                Path(folder, f"{number:04}.html").write_bytes(page)
            (extract_s, extract_kb), (fix_s, fix_kb) = _cost("extract", folder), _cost("fix", folder)
        ratio, memory = fix_s / extract_s, fix_kb / extract_kb
        words = f"{ratio:.2f} of the CPU time of extract (ceiling {ceiling}), {memory:.2f} of its memory"
        print(f"fix: {words} (ceiling {MEMORY_CEILING}), a fault on one page in {every}")
        is_slow |= ratio > ceiling or memory > MEMORY_CEILING
    return int(is_slow)


def _cost(command: str, folder: str) -> tuple[float, int]:
    """Return the CPU seconds of a command with its processes, and the most memory of one of them, in kB."""
    arguments = [sys.executable, "-P", "-m", "arkaudit", command, folder]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss


if __name__ == "__main__":
    sys.exit(main())
