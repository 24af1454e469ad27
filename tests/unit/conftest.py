"""Tests that start nothing: one that starts a process or opens a connection fails."""

import sys
from collections.abc import Generator

import pytest

#: Audit events of Python: a process starts, or a socket listens or connects.
STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "socket.bind", "socket.connect", "subprocess.Popen"}
_running: list[pytest.Item] = []


def _refuse_starts(event: str, _arguments: tuple[object, ...]) -> None:
    if event in STARTS and _running:
        pytest.fail(f"{_running[-1].nodeid} raises {event}: move a test that starts something to tests/real")


sys.addaudithook(_refuse_starts)


@pytest.hookimpl(wrapper=True, trylast=True)
def _watch(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse starts of a test or its fixtures."""
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()


pytest_runtest_setup = pytest_runtest_call = _watch
