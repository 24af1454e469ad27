"""The killable process: its results, its deaths, and its recovery for the next call."""

import contextlib
import errno
import gc
import os
import pickle
import resource
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from extractors.model.ark import Ark
from extractors.processes.worker import Worker, WorkerDied, WorkerError, WorkerOutOfMemory, WorkerTimeout
from extractors.readers.pdf.pdf_reader import read_pdf
from tests.real.waiting import PATIENCE_S, wait_until
from tests.unit.extractors.test_pdf_reader import FIXTURES, WHOLE, texts

ROOT = Path(__file__).parents[3]

LONG_S = 600

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits on Windows")


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The worker finds this module as we do, however pytest was started: a spawned process gets our path."""
    monkeypatch.syspath_prepend(ROOT)


def act(deed, *args, **kwargs):
    """Run a deed in the worker: one function for all deeds, so that a death and the next call share a worker."""
    return DEEDS[deed](*args, **kwargs)


def spin():
    while True:
        pass


def take_memory(size_bytes):
    return len(bytearray(size_bytes))


def raise_error(message):
    raise KeyError(message)


DEEDS = {
    "abort": os.abort,
    "exit": sys.exit,
    "kill": lambda number: os.kill(os.getpid(), number),
    "length": len,
    "nothing": lambda: None,
    "pid": os.getpid,
    "raise": raise_error,
    "return what can't be sent": lambda: threading.Lock(),
    "sleep": time.sleep,
    "spin": spin,
    "take memory": take_memory,
    "zeros": bytes,
}


def answer_evil(payload, size=None):
    """Answer instead of the program of the process, as code injected into a parser could."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, struct.pack("!Q??", size or len(payload), False, False) + payload)
    time.sleep(LONG_S)


def lift_limits():
    """Try to raise all limits; return the limits after that."""
    limits = {}
    for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE"):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        limits[name] = resource.getrlimit(getattr(resource, name))[1]
    return limits


def environment():
    return dict(os.environ)


class _Spell:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_calls_have_arguments_and_results_and_share_a_process():
    with Worker(act) as worker:
        first = worker.call("pid")
        assert worker.call("length", "abc") == 3
        assert worker.call("nothing") is None
        assert len(worker.call("zeros", 5_000_000)) == 5_000_000
        assert worker.call("pid") == first != os.getpid()
    assert not is_running(first)


@pytest.mark.parametrize(
    ("deed", "error", "message"),
    [
        pytest.param(["abort"], WorkerDied, "killed by SIGABRT", id="abort", marks=ON_POSIX),
        pytest.param(["kill", 9], WorkerDied, "killed by SIGKILL", id="killed from outside", marks=ON_POSIX),
        pytest.param(["kill", 50], WorkerDied, "killed by ", id="killed by a real-time signal", marks=ON_POSIX),
        pytest.param(["spin"], WorkerTimeout, "1 s of CPU time", id="CPU time", marks=ON_POSIX),
        pytest.param(["exit", 3], WorkerDied, "exited with status 3", id="exit"),
        pytest.param(["take memory", 2**40], WorkerOutOfMemory, "more than", id="memory", marks=ON_POSIX),
        pytest.param(["raise", "oh"], WorkerError, "KeyError: 'oh'", id="exception"),
        pytest.param(["return what can't be sent"], WorkerError, "TypeError: .*JSON", id="odd result"),
    ],
)
@pytest.mark.promise
def test_after_any_end_the_next_call_is_answered(deed, error, message):
    with Worker(act, memory_bytes=2**30, cpu_s=1) as worker:
        with pytest.raises(error, match=message) as caught:
            worker.call(*deed)
        assert isinstance(caught.value, WorkerError)
        assert worker.call("length", "abc") == 3


@pytest.mark.promise
def test_a_call_that_takes_too_long_is_killed():
    with Worker(act, timeout_s=4.0) as worker:
        first = worker.call("pid")
        with pytest.raises(WorkerTimeout):
            worker.call("sleep", LONG_S)
        assert not is_running(first)
        assert worker.call("pid") != first


def test_the_time_limit_holds_while_arguments_are_on_their_way():
    with Worker(act, timeout_s=4.0) as worker:
        os.kill(worker.call("pid"), signal.SIGSTOP)  # it doesn't read, and the pipe is full long before the end
        with pytest.raises(WorkerTimeout):
            worker.call("length", bytes(10_000_000))
        assert worker.call("length", "abc") == 3


def burn(time_s):
    end_s = time.process_time() + time_s
    while time.process_time() < end_s:
        pass
    return os.getpid()


def test_a_death_between_calls_goes_unnoticed():
    with Worker(act) as worker:
        os.kill(worker.call("pid"), signal.SIGKILL)
        time.sleep(0.3)
        assert worker.call("length", "abc") == 3


def test_an_exception_does_not_cost_the_process():
    with Worker(act) as worker:
        first = worker.call("pid")
        with pytest.raises(WorkerError) as caught:
            worker.call("raise", "oh")
        assert str(caught.value) == "KeyError: 'oh'"
        assert worker.call("pid") == first


def test_value_that_cannot_be_sent_is_type_error():
    with pytest.raises(TypeError, match="cannot be sent to a process"):
        Worker(lambda: None)
    with Worker(act) as worker:
        with pytest.raises(TypeError, match="cannot be sent to a process"):
            worker.call("length", threading.Lock())
        assert worker.call("length", "abc") == 3


def test_threads_take_turns():
    with Worker(act) as worker, ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda size: len(worker.call("zeros", size)), range(200)))
    assert results == list(range(200))


def test_workers_die_side_by_side():
    def lives_and_dies(_):
        with Worker(act, timeout_s=4.0) as worker:
            for deed in (["abort"], ["sleep", LONG_S], ["exit", 1]):
                with pytest.raises(WorkerError):
                    worker.call(*deed)
            return worker.call("length", "abc")

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lives_and_dies, range(2))) == [3] * 2


def test_closing_ends_a_call_that_is_under_way():
    worker = Worker(act)
    worker.call("nothing")
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(worker.call, "sleep", LONG_S)
        wait_until(worker._call_lock.locked, "a call")
        worker.close()
        with pytest.raises(WorkerDied):
            call.result()
    worker.close()
    with pytest.raises(WorkerDied, match="closed"):
        worker.call("nothing")


def test_closing_between_the_turn_and_the_message_ends_the_call_alike(monkeypatch):
    worker = Worker(act)
    worker.call("nothing")
    call_once = worker._call_once

    def close_first(*arguments):
        worker._is_closed = True
        worker._child.process.kill()
        worker._child.process.wait()
        return call_once(*arguments)

    monkeypatch.setattr(worker, "_call_once", close_first)
    with pytest.raises(WorkerDied):
        worker.call("nothing")
    worker.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_neither_files_nor_processes_are_left():
    with Worker(act) as worker:
        worker.call("nothing")  # `multiprocessing` starts its resource tracker once, and keeps a pipe to it
    gc.collect()
    before = open_files()
    for _ in range(2):
        with Worker(act, timeout_s=4.0) as worker:
            for deed in (["abort"], ["sleep", LONG_S], ["raise", "oh"], ["nothing"]):
                try:
                    worker.call(*deed)
                except WorkerError:
                    continue
    assert open_files() == before
    assert own_zombies() == []


def own_zombies():
    states = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name_and_state = status.read_text().rpartition(")")
        except OSError:
            continue
        state, parent, *_ = name_and_state[2].split()
        if int(parent) == os.getpid() and state == "Z":
            states.append(status.parent.name)
    return states


def test_ctrl_c_is_not_for_the_worker():
    with Worker(act) as worker:
        first = worker.call("pid")
        os.kill(first, signal.SIGINT)
        assert worker.call("pid") == first


SCRIPT = """
import os, sys
from extractors.processes.worker import Worker
from tests.real.extractors.test_worker import act

if __name__ == "__main__":
    worker = Worker(act)
    print(worker.call("pid"), flush=True)
    {ending}
"""


@contextlib.contextmanager
def run_script(tmp_path, ending):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(ending=ending))
    with subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def wait_for_end(pid, *, patience_s=PATIENCE_S):
    deadline_s = time.monotonic() + patience_s
    while is_running(pid) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return not is_running(pid)


@ON_POSIX
@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("pass", id="without closing"),
        pytest.param("worker.close()", id="after closing"),
        pytest.param("os._exit(0)", id="at once"),
        pytest.param("os.kill(os.getpid(), 9)", id="killed"),
        pytest.param(
            "import threading; threading.Timer(0.3, os.kill, (os.getpid(), 9)).start(); worker.call('sleep', 600)",
            id="killed during a call",
        ),
    ],
)
def test_the_worker_ends_with_its_parent_and_without_a_word(tmp_path, ending):
    with run_script(tmp_path, ending) as parent:
        output, errors = parent.communicate(timeout=PATIENCE_S)
    assert wait_for_end(int(output))
    assert errors == ""


@ON_POSIX
@pytest.mark.parametrize("delay_s", [0.05, 0.15, 0.3, 0.6])
def test_ctrl_c_in_the_terminal_gives_one_traceback_the_parents(tmp_path, delay_s):
    ending = "\n    ".join(["while True:", "    with Worker(act) as other:", "        other.call('nothing')"])
    with run_script(tmp_path, ending) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(delay_s)
        os.killpg(parent.pid, signal.SIGINT)
        _, errors = parent.communicate(timeout=PATIENCE_S)
    assert wait_for_end(pid)
    assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == 1, errors


def test_a_function_that_cannot_be_imported_is_a_failure_of_the_call(tmp_path, monkeypatch):
    (tmp_path / "vanishing.py").write_text("def function(): pass")
    monkeypatch.syspath_prepend(tmp_path)
    import vanishing  # type: ignore[import-not-found]

    with Worker(vanishing.function) as worker:
        (tmp_path / "vanishing.py").unlink()
        with pytest.raises(WorkerError, match="ModuleNotFoundError"):
            worker.call()


@ON_POSIX
def test_lack_of_memory_for_the_arguments_is_lack_of_memory():
    with Worker(act, memory_bytes=300 * 2**20) as worker:
        assert worker.call("length", b"x") == 1
        with pytest.raises(WorkerOutOfMemory):
            worker.call("length", bytes(400 * 2**20))


def test_the_exit_status_for_lack_of_memory_is_known():
    with Worker(act) as worker, pytest.raises(WorkerOutOfMemory):
        worker.call("exit", errno.ENOMEM)


@ON_POSIX
def test_answers_of_a_process_run_no_code(tmp_path):
    with Worker(answer_evil) as worker, pytest.raises(WorkerError):
        worker.call(pickle.dumps(_Spell(tmp_path / "evil")))
    assert not (tmp_path / "evil").exists()


def named() -> list[Ark]:
    return []


@ON_POSIX
@pytest.mark.parametrize(
    ("payload", "size"),
    [
        pytest.param(b"no JSON", None, id="no JSON"),
        pytest.param(b'{"naan": "12148"}', None, id="JSON of another type"),
        pytest.param(b'[{"naan": "12148"}]', None, id="a value without all of its fields"),
        pytest.param(b"[" * 100_000, None, id="JSON of any depth"),
        pytest.param(b"[]", 2**62, id="a length beyond all memory"),
    ],
)
def test_malformed_answer_is_a_failure_and_the_next_call_is_answered(payload, size):
    with Worker(named, timeout_s=60) as worker:
        with pytest.raises(WorkerError, match=r"^ValueError: "):
            worker.call_other(evil_arks, payload, size)
        assert worker.call() == []


def evil_arks(payload, size) -> list[Ark]:
    answer_evil(payload, size)
    return []


@ON_POSIX
def test_a_process_can_not_lift_its_limits():
    with Worker(lift_limits, memory_bytes=2**30, cpu_s=3) as worker:
        limits = worker.call()
    assert limits["RLIMIT_AS"] == 2**30
    assert 0 < limits["RLIMIT_CPU"] <= 100
    assert limits["RLIMIT_CORE"] == 0


@ON_POSIX
def test_each_call_has_cpu_time_of_its_own_and_a_process_that_has_used_it_makes_room_for_a_new_one():
    with Worker(burn, cpu_s=1) as worker:
        assert len({worker.call(0.5) for _ in range(5)}) == 2


def test_a_process_sees_no_secret_of_the_environment(monkeypatch):
    monkeypatch.setenv("ARKAUDIT_TEST_PASSWORD", "s3cr3t")
    with Worker(environment) as worker:
        assert "s3cr3t" not in worker.call().values()


@ON_POSIX
def test_a_call_whose_process_is_killed_from_outside_is_made_once_more():
    with Worker(act) as worker, ThreadPoolExecutor(1) as threads:
        first = worker.call("pid")
        sleeping = threads.submit(worker.call, "sleep", 1)
        os.kill(first, signal.SIGKILL)
        assert sleeping.result(PATIENCE_S) is None
        assert worker.call("pid") != first


def test_crash_of_pdfium_kills_a_worker_and_the_next_file_is_read():
    bomb = (FIXTURES / "recursive_form.pdf").read_bytes()
    with Worker(read_pdf, memory_bytes=512 * 2**20) as worker:
        with pytest.raises(WorkerDied, match="killed by SIG"):
            worker.call(bomb)
        assert texts(worker.call(WHOLE)) == [(1, "see ark:/12345/x5")]
