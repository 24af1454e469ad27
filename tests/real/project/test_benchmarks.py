"""Each benchmark of `make bench` runs, on its smallest size. Its floors hold only for its own size."""

import re
from importlib import import_module
from pathlib import Path

import pytest

#: Values of the constants of each benchmark, by their names in `tools/benchmarks`.
SMALLEST: dict[str, dict[str, object]] = {
    "start": {"start.ROUNDS": 1},
    "scan": {"scan.CHARS": 4_000, "scan.PIECE": 4_000, "scan.ROUNDS": 1},
    "find": {"find.CHARS": 4_000, "find.ROUNDS": 1, "find.DENSE": 10},
    "cores": {"cores.ROUNDS": 1, "cores.PDFS": 1, "cores.TEXTS": 1},
    "archives": {"archives.PAGES": 1, "archives.SMALL_PAGES": 1, "archives.TEXTS": 1, "archives.PDFS": 1},
    "growth": {"growth.CHARS": 100},
    "html_pages": {"html_pages.PAGES": 1, "html_pages.ROUNDS": 1},
    "pdf": {"pdf.ROUNDS": 1, "pdf.DEMO": Path("no demo")},
    "crawl": {"crawl.PAGES": "100", "crawl.ROUNDS": "1"},
    "memory": {"memory.FEW": "2", "memory.MANY": "4"},
    "judging": {"judging.FEW": "4", "judging.MANY": "8"},
    "makespan": {"makespan.HOSTS": "1", "makespan.ARKS": "2", "makespan.INTERVAL_S": "0.1"},
    "late_turns": {"late_turns.HOSTS": "1", "late_turns.ARKS": "2", "late_turns.INTERVAL": "0.1"},
    "links": {"links.ARKS": 2},
    "own_hosts": {"own_hosts.ROUNDS": "1", "own_hosts.PDFS": 1, "own_hosts.PDF_PAGES": 1},
    "history": {"years.ARKS": 36, "years.DOCUMENTS": 4},
    "page": {"page.ARKS": 4, "page.FEW_ARKS": 2},
    "overview": {"overview.AUDITS": 2, "overview.ARKS": 2},
    "fix": {"fix.PAGES": 1},
}


def test_all_benchmarks_are_listed() -> None:
    [names] = re.findall(
        r"for each in ([a-z_ ]+); do \$\(BIN\)/python -m tools.benchmarks", Path("Makefile").read_text()
    )
    assert names.split() == list(SMALLEST)


@pytest.mark.parametrize("name", SMALLEST)
def test_benchmark_runs(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for constant, value in SMALLEST[name].items():
        monkeypatch.setattr(f"tools.benchmarks.{constant}", value)
    monkeypatch.setattr("sys.argv", [f"tools.benchmarks.{name}"])
    assert import_module(f"tools.benchmarks.{name}").main() in (0, 1)
    assert re.match("[a-z]+", capfd.readouterr().out)
