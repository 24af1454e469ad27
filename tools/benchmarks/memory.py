"""Memory of a crawl of many pages, relative to one of few pages.

The figure is the maximum resident size of the command's process. Processes for parsers are not started for small pages
such as these. The site is that of `tools.benchmarks.crawl`.

    python -m tools.benchmarks.memory [FEW [MANY]]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.benchmarks.crawl import configuration, environment
from tools.benchmarks.site import serve_site

FEW, MANY = "2000", "50000"
MOST = 1.25


def main(arguments: Sequence[str] = ()) -> int:
    """Print a line; return 1 if the longer crawl takes too much memory."""
    few, many = (int(each) for each in [*arguments, *(FEW, MANY)[len(arguments) :]])
    (few_bytes, few_s), (many_bytes, many_s) = _crawl(few), _crawl(many)
    growth = many_bytes / few_bytes
    print(
        f"memory: {growth:.2f} times as much for {many} pages as for {few} (at most {MOST}): {many_bytes / 1e6:.0f} MB "
        f"and {few_bytes / 1e6:.0f} MB at most, in {many_s:.0f} s and {few_s:.0f} s"
    )
    return int(growth > MOST)


def _crawl(pages: int) -> tuple[int, float]:
    """Crawl a site of *pages*, and return the maximum memory in bytes and the time in seconds."""
    with serve_site(pages) as site, tempfile.TemporaryDirectory(prefix="arkaudit-memory-") as name:
        folder = Path(name)
        folder.joinpath("arkaudit.toml").write_text(configuration(site))
        command = (sys.executable, "-m", "arkaudit", "crawl", site.url, "-c", "arkaudit.toml", "--store", "audit.db")
        started = time.perf_counter()
        running = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        taken_s = time.perf_counter() - started
        _, different = site.take_counts()
    if running.returncode or different != pages:
        raise SystemExit(f"memory: the crawl ended with {running.returncode} and {different} of {pages} pages")
    return used.ru_maxrss * 1024, taken_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
