"""How properties are tested: with the same examples every time, or in search of new ones; and how commands are run.

And in which order files are begun, and by how many processes.
"""

import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests import preloaded

# What a shell starts in the background is deaf to Ctrl-C, and so would be all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
preloaded.start()

# What passes here passes in continuous integration, too; `make properties` is where new examples are found.
settings.register_profile(
    "same",
    max_examples=50,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("same")

#: The files that take longest, longest first: begun last, one of them would be what a single process ends with.
LONGEST = (
    "test_resuming",
    "test_cluster",
    "test_damaged_stores",
    "test_schedules",
    "test_rendering",
    "test_report_tables",
    "test_zoo",
    "test_stopping",
    "test_report_page",
    "test_datasets",
    "test_politeness",
    "test_library",
    "test_packaging",
    "test_awkward_hosts",
    "test_cards",
    "test_corpus",
    "test_finders",
    "test_limits",
    "test_redirected",
    "test_demo",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail in continuous integration that is skipped elsewhere, where a machine lacks what it starts."""
    report = yield
    if report.skipped and "CI" in os.environ and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = (
            "failed",
            f"skipped, which nothing may be in CI: {report.longrepr}",
        )
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Twice as many processes as there are cores: most tests wait for servers, commands and browsers."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 * cores
