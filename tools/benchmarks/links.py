"""CPU time of a request of `check`, relative to a page of a bare Scrapy spider and to a request of lychee.

The bare spider follows the same number of links of another site on loopback without reading pages
(`tools/benchmarks/bare_spider.py`). lychee, a link checker in Rust, gets the same list of URLs.

One host on loopback answers all requests, up to twenty at a time without pauses. The work differs: lychee requests each
URL once and looks at the status. arkaudit requests object, metadata and commitment of each ARK, and names that can't
exist, reads every answer, stores it, and judges.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.crawl import environment
from tools.benchmarks.makespan import NAAN, serve
from tools.benchmarks.site import serve_site

ARKS = 2_000
#: CPU time of a request relative to a page of the bare spider, for whole processes.
MOST, AIM = 0.9, 0.4
AT_A_TIME = 20
_LYCHEE = Path(sys.prefix, "lychee", "bin", "lychee")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of a program."""

    requests: int
    cpu_s: float
    seconds: float

    @property
    def per_request(self) -> float:
        """Milliseconds of CPU per request."""
        return self.cpu_s / self.requests * 1000

    def __str__(self) -> str:
        return f"{self.per_request:.2f} ms of CPU a request, {self.requests} requests in {self.seconds:.1f} s"


def main() -> int:
    """Print two lines; return 1 if the bound is exceeded."""
    ours, again = _measure(_check), _measure(_check)
    bare = _bare(ours.requests)
    theirs = _measure(_lychee) if _LYCHEE.exists() else "lychee is not installed"
    share = min(ours.per_request, again.per_request) / bare.per_request
    print(
        f"links: a request of check takes {share:.2f} of a page of bare Scrapy (at most {MOST:g}, aim {AIM:g}): "
        f"{ours} and {again}; bare Scrapy {bare}\n"
        f"  {ARKS} ARKs; lychee {theirs}"
    )
    return int(share > MOST)


def _check(folder: Path, port: int) -> list[str]:
    Path(folder, "arkaudit.toml").write_text(
        f'[network]\nonly_routed = true\nconnect_to = ["127.0.0.1:{port}=127.0.0.1:{port}"]\n\n'
        f'[hosts."http://127.0.0.1:{port}"]\ninterval = 0\nconcurrency = {AT_A_TIME}\n'
    )
    options = ["-c", "arkaudit.toml", "--from", "urls.txt", "--store", "audit.db"]
    return [sys.executable, "-P", "-m", "arkaudit", "check", *options]


def _lychee(folder: Path, port: int) -> list[str]:
    most = [f"--max-concurrency={AT_A_TIME}", f"--host-concurrency={AT_A_TIME}", "--host-request-interval=0ms"]
    return [str(_LYCHEE), "--no-progress", "--cache=false", *most, "urls.txt"]


def _bare(pages: int) -> Measurement:
    cores = sorted(os.sched_getaffinity(0))
    with serve_site(pages, core=cores[-1]) as site, tempfile.TemporaryDirectory() as place:
        before, started = _children_cpu_s(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "tools.benchmarks.bare_spider", site.url],
            env={**os.environ, **environment(Path(place))},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return Measurement(pages, _children_cpu_s() - before, time.perf_counter() - started)


def _measure(command: object) -> Measurement:
    assert callable(command)
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        urls = [f"http://127.0.0.1:{port}/ark:/{NAAN}/b7{number:04}k" for number in range(ARKS)]
        (folder / "urls.txt").write_text("\n".join(urls) + "\n")
        arguments: Sequence[str] = command(folder, port)
        before, started = _children_cpu_s(), time.perf_counter()
        done = subprocess.run(
            arguments, cwd=folder, env={**os.environ, **environment(folder)}, stdout=subprocess.DEVNULL, check=False
        )
        seconds, cpu_s = time.perf_counter() - started, _children_cpu_s() - before
    ours.send("done")
    requests = sum(map(len, ours.recv().values()))
    server.terminate()
    assert done.returncode == 0, arguments
    assert requests >= ARKS, "some were not asked"
    return Measurement(requests, cpu_s, seconds)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
