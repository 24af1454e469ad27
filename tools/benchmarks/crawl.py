"""Pages per second of a crawl on one core, compared with a bare Scrapy spider and LinkChecker.

The site is on loopback, served from another core if there is one. Whole processes are measured by the clock and by CPU
time, which decides because other programs disturb it less. arkaudit reads each page, finds its ARKs, and stores both.
The bare spider only follows links (`tools/benchmarks/bare_spider.py`) by the same download handler, once with Scrapy's
settings and once with faster ones. A header of the site lifts LinkChecker's throttle. All take turns in several rounds,
and the best of each counts.

    python -m tools.benchmarks.crawl [PAGES [ROUNDS]]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.site import LINKS, Site, serve_site

PAGES, ROUNDS = "2000", "3"
AIM, FLOOR = 2.0, 1.1
AT_ONCE = 64
#: `make bench` installs it in an environment of its own.
LINKCHECKER = Path(os.environ.get("LINKCHECKER", Path(sys.prefix, "linkchecker", "bin", "linkchecker")))
OURS, BARE, TUNED, OTHER = "arkaudit", "bare Scrapy", "bare Scrapy, tuned", "LinkChecker"


@dataclass(frozen=True, slots=True, order=True)
class Crawl:
    """The time of one crawl of the site."""

    cpu_s: float
    wall_s: float


def main(arguments: Sequence[str] = ()) -> int:
    """Print a table; return 1 if arkaudit is slower than its floor."""
    pages, rounds = (int(each) for each in [*arguments, *(PAGES, ROUNDS)[len(arguments) :]])
    cores = sorted(os.sched_getaffinity(0))
    best: dict[str, Crawl] = {}
    with serve_site(pages, core=cores[-1]) as site, tempfile.TemporaryDirectory(prefix="arkaudit-crawl-") as folder:
        for number in range(rounds):
            for name, command in _commands(site, Path(folder), number).items():
                seen = _crawl(command, site, pages, Path(folder), core=cores[0])
                best[name] = min(seen, best.get(name, seen))
    bare = best[BARE]
    times = bare.cpu_s / best[OURS].cpu_s
    print(
        f"crawl: {times:.2f} times as fast as a bare Scrapy spider (floor {FLOOR:g}, aim {AIM:g}), by the clock "
        f"{bare.wall_s / best[OURS].wall_s:.2f}; {pages} pages with {LINKS} links each, the best of {rounds} rounds, "
        f"whole process, one core of {len(cores)}"
    )
    for name, seen in best.items():
        print(
            f"  {name:<20}{pages / seen.wall_s:6.0f} pages/s{seen.cpu_s / pages * 1000:7.2f} ms of CPU a page"
            f"{bare.cpu_s / seen.cpu_s:6.2f} of bare Scrapy"
        )
    if OTHER not in best:
        print(f"  LinkChecker was not measured, because {LINKCHECKER} is missing: make bench installs it")
    return int(times < FLOOR)


def _commands(site: Site, folder: Path, number: int) -> Mapping[str, Sequence[str]]:
    """Return the command of each program; arkaudit's has a new store for each *number*."""
    ours = folder / "arkaudit.toml"
    ours.write_text(configuration(site))
    other = folder / "linkcheckerrc"
    other.write_text("[checking]\nmaxrequestspersecond=1000000\n")
    store = folder / f"{number}.db"
    options = ("-q", "--ignore-url", "^https:", "--config", str(other))
    bare = (sys.executable, "-m", "tools.benchmarks.bare_spider", site.url)
    commands: dict[str, Sequence[str]] = {
        OURS: (sys.executable, "-m", "arkaudit", "crawl", site.url, "-c", str(ours), "--store", str(store)),
        BARE: bare,
        TUNED: (*bare, "tuned"),
    }
    if LINKCHECKER.exists():
        commands[OTHER] = (str(LINKCHECKER), *options, site.url)
    return commands


def configuration(site: Site) -> str:
    """Return a configuration with the host of *site* as the operator's own, without intervals."""
    host = f"127.0.0.1:{site.port}"
    return (
        f'[network]\nonly_routed = true\nconnect_to = ["{host}={host}"]\n\n'
        f'[hosts."{host}"]\ninterval = 0\nconcurrency = {AT_ONCE}\n'
    )


def _crawl(command: Sequence[str], site: Site, pages: int, folder: Path, *, core: int) -> Crawl:
    """Return the time of a crawl on one core. Raises SystemExit unless it fetched every page once."""
    cpu_s, started = _cpu_s(), time.perf_counter()
    done = subprocess.run(
        command,
        env=environment(folder),
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    seen = Crawl(_cpu_s() - cpu_s, time.perf_counter() - started)
    requests, different = site.take_counts()
    if different != pages:
        raise SystemExit(f"crawl: {command[0]} ended with {done.returncode} and asked for {different} of {pages} pages")
    if requests > pages * 1.01:
        raise SystemExit(f"crawl: {command[0]} asked {requests} times for {pages} pages")
    return seen


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment of a measured command: Python keeps its bytecode, as in an installation."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"ARKAUDIT_CACHE": str(folder / "cache"), "PYTHONPATH": str(Path.cwd())}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
