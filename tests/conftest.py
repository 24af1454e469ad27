"""Tiers of tests, profiles of Hypothesis, and the order and number of the processes that run the tests.

Modules that take long to import are imported by the fixtures: each of the processes reads this file before it collects.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.real import preloaded

if TYPE_CHECKING:
    from reports.store.frames import Frames
    from reports.tables.report_tables import Report, Tables

# A shell starts background jobs with SIGINT ignored, and every process that the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first two profiles try the same examples every time, so that a test passes in CI if it passes here. Only
# `make properties` looks for new counterexamples.
for profile, examples in (("quick", 10), ("thorough", 50)):
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=True,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile("search", max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("quick")

#: Tests that may start processes, servers and browsers.
REAL = Path(__file__).parent / "real"


def pytest_collection() -> None:
    """Collect in half the time: leave garbage, and import early a module that inspects the stack and all modules."""
    gc.disable()
    import scrapy.core.downloader.handlers.http11  # noqa: F401


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a promise where nothing else of `tests/real` is wanted: they take seconds to import."""
    if not config.option.markexpr.endswith("or promise") or not collection_path.is_relative_to(REAL):
        return None
    is_test = collection_path.name.startswith("test_")
    return True if is_test and "mark.promise" not in collection_path.read_text("utf-8") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that may start processes, and begin with the files of those that one process must run.

    Tests that may run anywhere follow, and fill the gaps; the tests without processes fill them last.
    """
    count: Counter[Path] = Counter()
    for item in items:
        if item.path.is_relative_to(REAL):
            item.add_marker(pytest.mark.process)
            count[item.path] += 1
    items.sort(key=lambda item: (not count[item.path], may_be_shared(item.path), -count[item.path]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the server of processes if the selected tests will need it: its imports take seconds."""
    gc.freeze()  # from here on, garbage is not looked for among all modules and tests
    gc.enable()
    if any(item.get_closest_marker("process") for item in session.items):
        preloaded.start()


@pytest.fixture(scope="session")
def world_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of `write_world`, which tests only read: made once by each process that runs tests."""
    from tests.report_world import write_world

    return write_world(tmp_path_factory.mktemp("world") / "world.sqlite")


@pytest.fixture(scope="session")
def report(world_store: Path) -> Report:
    """Return the report on that store; its tables are made when they are first asked for, and then kept."""
    from reports.store.frames import load_frames
    from reports.tables.report_tables import Report, Tables

    class KeptTables(Tables):
        def drop(self, name: str) -> None:
            """Keep the table, unlike a command that writes it only once."""

    frames = load_frames(world_store)
    return Report(frames, KeptTables(frames))


@pytest.fixture(scope="session")
def frames(report: Report) -> Frames:
    return report.frames


@pytest.fixture(scope="session")
def tables(report: Report) -> Tables:
    return report.tables


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail in continuous integration the tests that are skipped on machines without the programs they start."""
    report = yield
    if report.skipped and "CI" in os.environ and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = ("failed", f"skipped, which nothing may be in CI: {report.longrepr}")
    return report


@cache
def may_be_shared(file: Path) -> bool:
    """Return True if several processes may run the tests of a file: they start processes, and share no fixture."""
    text = file.read_text("utf-8")
    return "from tests.real.loopback import" in text and 'scope="module"' not in text


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduling of `--dist loadfile`, but for the files that several processes may share."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid.partition("[")[0] if may_be_shared(config.rootpath / file) else file

    return Scheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return twice the number of cores: many tests wait for servers, commands and browsers.

    One process per core gives the first result of a selection sooner, because each process collects all tests.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if config.option.keyword else 2 * cores
