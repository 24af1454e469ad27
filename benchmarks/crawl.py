"""How many pages a second a crawl gets through on one core, beside a bare Scrapy spider and LinkChecker.

The site is on loopback, served from the other core where there is one. Measured is the whole process, from its start
to its end, by the clock and by the time of the core that it took, which other programs don't change as much and which
decides: ours reads each page, finds the ARKs in it, and keeps both in a store. The bare spider only follows links
(`benchmarks/bare_spider.py`), over the same download handler: once with Scrapy's own settings, and once with those of
ours that are quicker. LinkChecker's throttle is lifted by the header that it wants for that. All take turns in several
rounds, and of each the best counts: what other programs take is nobody's speed.

    python -m benchmarks.crawl [PAGES [ROUNDS]]
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

from benchmarks.site import LINKS, Site, served

PAGES, ROUNDS = "2000", "3"
AIM, FLOOR = 2.0, 1.1
AT_ONCE = 64
#: `make bench` sets it up; its libraries are its own.
LINKCHECKER = Path(os.environ.get("LINKCHECKER", Path(sys.prefix, "linkchecker", "bin", "linkchecker")))
OURS, BARE, TUNED, OTHER = "arkaudit", "bare Scrapy", "bare Scrapy, tuned", "LinkChecker"


@dataclass(frozen=True, slots=True, order=True)
class Crawl:
    """What one crawl of the site took."""

    cpu_s: float
    wall_s: float


def main(arguments: Sequence[str] = ()) -> int:
    """Prints a table; 1 when ours is slower than its floor."""
    pages, rounds = (int(each) for each in [*arguments, *(PAGES, ROUNDS)[len(arguments) :]])
    cores = sorted(os.sched_getaffinity(0))
    best: dict[str, Crawl] = {}
    with served(pages, core=cores[-1]) as site, tempfile.TemporaryDirectory(prefix="arkaudit-crawl-") as folder:
        for number in range(rounds):
            for name, command in _commands(site, Path(folder), number).items():
                seen = _crawled(command, site, pages, Path(folder), core=cores[0])
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
        print(f"  LinkChecker is not there ({LINKCHECKER}), and was not measured: make bench sets it up")
    return int(times < FLOOR)


def _commands(site: Site, folder: Path, number: int) -> Mapping[str, Sequence[str]]:
    """How each of them is called; ours with a new store every time."""
    ours = folder / "arkaudit.toml"
    ours.write_text(configuration(site))
    other = folder / "linkcheckerrc"
    other.write_text("[checking]\nmaxrequestspersecond=1000000\n")
    store = folder / f"{number}.db"
    options = ("-q", "--ignore-url", "^https:", "--config", str(other))
    bare = (sys.executable, "-m", "benchmarks.bare_spider", site.url)
    commands: dict[str, Sequence[str]] = {
        OURS: (sys.executable, "-m", "arkaudit", "crawl", site.url, "-c", str(ours), "--store", str(store)),
        BARE: bare,
        TUNED: (*bare, "tuned"),
    }
    if LINKCHECKER.exists():
        commands[OTHER] = (str(LINKCHECKER), *options, site.url)
    return commands


def configuration(site: Site) -> str:
    """Our configuration, by which the host of *site* is one's own, and may be asked without intervals."""
    host = f"127.0.0.1:{site.port}"
    return (
        f'[network]\nonly_routed = true\nconnect_to = ["{host}={host}"]\n\n'
        f'[hosts."{host}"]\ninterval = 0\nconcurrency = {AT_ONCE}\n'
    )


def _crawled(command: Sequence[str], site: Site, pages: int, folder: Path, *, core: int) -> Crawl:
    """What a crawl took, on one core; it must have had every page."""
    cpu_s, started = _cpu_s(), time.perf_counter()
    done = subprocess.run(
        command,
        env=environment(folder),
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    seen = Crawl(_cpu_s() - cpu_s, time.perf_counter() - started)
    requests, different = site.taken()
    if different != pages:
        raise SystemExit(f"crawl: {command[0]} ended with {done.returncode} and asked for {different} of {pages} pages")
    if requests > pages * 1.01:
        raise SystemExit(f"crawl: {command[0]} asked {requests} times for {pages} pages")
    return seen


def environment(folder: Path) -> Mapping[str, str]:
    """Ours, in which what Python has compiled is kept, as it is wherever programs are installed."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"ARKAUDIT_CACHE": str(folder / "cache"), "PYTHONPATH": str(Path.cwd())}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
