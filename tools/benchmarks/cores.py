"""Speed of `extract` with two processes relative to one, by the clock, over folders of PDFs, HTML and text.

Both take turns, and must print the same bytes. The benchmark needs two cores.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from extractors.model.budget import core_count
from tools.benchmarks.pdf import prose_pdf
from tools.benchmarks.prose import with_arks

ROUNDS = 3
PDFS, TEXTS, CHARS = 200, 400, 100_000
FLOORS = {"PDF": 1.5, "HTML": 1.5, "text": 1.5}
AIM = 1.8


def main() -> int:
    """Print the ratios; return 1 below a floor."""
    if core_count() < 2:
        print("cores: skipped, because this machine has only one")
        return 0
    failed, figures = False, []
    with tempfile.TemporaryDirectory() as place:
        for kind, folder in _folders(Path(place)).items():
            ratios, extra, rates = [], [], []
            for _ in range(ROUNDS):
                one_s, one_cpu_s, one = _extract(folder, 1)
                two_s, two_cpu_s, two = _extract(folder, 2)
                if one != two:
                    print(f"cores: two processes print something else than one for {kind}")
                    return 1
                ratios.append(one_s / two_s)
                extra.append(two_cpu_s / one_cpu_s)
                rates.append(len(list(folder.iterdir())) / two_s)
            ratio = median(ratios)
            failed = failed or ratio < FLOORS[kind]
            words = f"{kind} {ratio:.2f} (floor {FLOORS[kind]}) at {median(extra):.2f} of the CPU"
            figures.append(f"{words}, {median(rates):.0f} documents/s")
    print(f"cores: two processes relative to one (aim {AIM}): {'; '.join(figures)}")
    return int(failed)


def _folders(place: Path) -> dict[str, Path]:
    folders = {kind: place / kind for kind in FLOORS}
    for folder in folders.values():
        folder.mkdir()
    for number in range(PDFS):
        (folders["PDF"] / f"{number:03}.pdf").write_bytes(prose_pdf(pages=12, first=number))
    for number in range(TEXTS):
        text = with_arks(CHARS, every=2_000, seed=number)
        (folders["text"] / f"{number:03}.txt").write_text(text)
        paragraphs = "".join(f"<p>{each}</p>\n" for each in text.replace("<", "").replace("&", "").split("\n\n"))
        (folders["HTML"] / f"{number:03}.html").write_text(f"<!DOCTYPE html><title>A</title><body>{paragraphs}")
    return folders


def _extract(folder: Path, jobs: int) -> tuple[float, float, bytes]:
    """Run `extract`, and return seconds by the clock, seconds of CPU, and its output."""
    command = [sys.executable, "-P", "-m", "arkaudit", "extract", "--jobs", str(jobs), str(folder)]
    before, started = _children_cpu_s(), time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started, _children_cpu_s() - before, done.stdout


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
