"""A process that can be killed, for parsers that abort, hang or exhaust memory over a document.

After each of these errors, the next call starts a new process:

    WorkerError
    ├── WorkerDied          the process aborted or crashed
    │   └── WorkerKilled    it was killed twice, as the system does when memory runs out
    ├── WorkerTimeout       the call exceeded `cpu_s` of CPU time or `timeout_s`, and was killed
    └── WorkerOutOfMemory   the function needed more than `memory_bytes`

The limits contain accidents and bombs. Where the kernel supports it (`sandbox.py`), the process can neither access
files other than Python's, nor the network, nor start programs; elsewhere it has all rights of its user.

Its answers are not trusted: they are plain data, converted to the return type of the function
(`extractors.processes.codec`). It gets only the environment variables that Python needs, so that it sees no password,
and it can't lift its limits. Calls are sent to it as pickles.

It is started as a program of its own. A process of `multiprocessing` would import the user's script first, and so run
it again unless the script guards against that; and its daemons may have no children.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Generic, ParamSpec, Self, TypeVar

from extractors.model.errors import ArkauditError
from extractors.model.formats import PLUGIN_FORMATS, add_formats
from extractors.processes.codec import from_json, result_type, to_json
from extractors.processes.sandbox import confine

if sys.platform != "win32":  # Windows has only the timeout
    import resource

P = ParamSpec("P")
R = TypeVar("R")

#: The program of the process. It imports from Python, its libraries and this package first, because a module of the
#: user may have the same name, and then from the path of its parent.
_PROGRAM = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); from extractors.processes.worker import serve; serve()"
)
_HOME = str(Path(__file__).resolve().parents[2])
#: The environment variables that Python needs to start.
_ENVIRONMENT = frozenset({"HOME", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"})
_LENGTH = struct.Struct("!Q")
#: Before each answer: its length, whether it is an exception, and whether it is the last one.
_ANSWER = struct.Struct("!Q??")
#: The ratio of the CPU time of a process, a limit it can't lift, to that of one call. It is replaced before.
_CPU_RATIO = 4

#: The exit status of a process without memory, which may be unable to send a message.
_OUT_OF_MEMORY = errno.ENOMEM
_START_TIMEOUT_S = 120.0
_EXIT_WAIT_S = 5.0


class WorkerError(ArkauditError):
    """A call without a result; the message has the class and message of an exception that the function raised."""


class WorkerDied(WorkerError):
    """The process ended during the call; the reason gives the signal (``killed by SIGABRT``) or status."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerKilled(WorkerDied):
    """The process was killed (SIGKILL), and so was the second process for the same call."""


class WorkerTimeout(WorkerError):
    """The call exceeded its CPU time or its timeout."""


class WorkerOutOfMemory(WorkerError):
    """The function needed more memory than allowed."""


#: The values that the parent shares with this process.
_parent_values: dict[str, Any] = {}


def sharing_message(values: Mapping[str, Any]) -> bytes:
    """Return the message that shares *values* (by name) with a process, for `Worker.share`."""
    return _pickle_value((_receive_shared, (values,), {}))


def _pickle_value(value: Any) -> bytes:
    """Return *value* as a pickle, to send it to a process. Raises TypeError for a value that can't be pickled."""
    try:
        return pickle.dumps(value)
    # Which of them depends on the version of Python.
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as problem:
        raise TypeError(f"cannot be sent to a process: {problem}") from problem


def _receive_shared(values: Mapping[str, Any]) -> None:
    _parent_values.update(values)


def shared_value(name: str) -> Any:
    """Return the value that the parent shares with this process as *name*. Raises KeyError for an unknown name."""
    return _parent_values[name]


class Worker(Generic[P, R]):
    """Runs calls of *function*, an importable one, in a separate process, which is started again after it has died.

    The limits are those of one call. Threads may share a worker; their calls take turns.

    >>> with Worker(int, timeout_s=30) as worker:
    ...     worker.call("42")
    42
    """

    def __init__(
        self, function: Callable[P, R], *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60
    ) -> None:
        # Raises TypeError here, not at the first call, if it can't be pickled by reference.
        _pickle_value(function)
        self._function = function
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._cpu_s = cpu_s
        self._child: _Child | None = None
        self._shared_message = self._sent_message = b""
        """The message with the current shared values, and the one that the process has received."""
        self._is_closed = False
        self._call_lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of the worker's function for these arguments; raises a `WorkerError` if there is none.

        Starting the process and importing the function don't count towards the timeout.
        """
        result: R = self.call_other(self._function, *args, **kwargs)
        return result

    def call_other(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the result of *function*, another importable one; raises a `WorkerError` if there is none.

        If the process is killed from outside, the call is repeated once in a new process: when memory runs out, the
        system kills the largest process, whichever is at fault.
        """
        message, return_type = _pickle_value((function, args, kwargs)), result_type(function)
        with self._call_lock:
            try:
                return self._call_once(message, return_type)
            except WorkerKilled:
                if self._is_closed:
                    raise
                return self._call_once(message, return_type)

    def _call_once(self, message: bytes, return_type: Any) -> Any:
        """Return the result of one call with *message*, in a child that is started first if there is none."""
        if self._child is not None and self._child.process.poll() is not None:
            self._end_child()
        if self._child is None:
            self._child, self._sent_message = _Child(self._memory_bytes, self._cpu_s), b""
            if self._is_closed:  # checked only now, when `close` can see the child
                self._end_child()
                raise WorkerDied("the worker is closed")
            if PLUGIN_FORMATS:
                self._exchange(_pickle_value((add_formats, (PLUGIN_FORMATS,), {})), _START_TIMEOUT_S, None)
            self._exchange(_pickle_value((callable, (self._function,), {})), _START_TIMEOUT_S, bool)
        if (shared_message := self._shared_message) is not self._sent_message:
            self._exchange(shared_message, _START_TIMEOUT_S, None)
            self._sent_message = shared_message
        return self._exchange(message, self._timeout_s, return_type)

    def share(self, message: bytes) -> None:
        """Send *message* (of `sharing_message`) before the next call; functions read its values by `shared_value`."""
        self._shared_message = message

    def close(self) -> None:
        """End the process. A call that is under way in another thread, and each later call, raises `WorkerDied`."""
        self._is_closed = True
        if not self._call_lock.acquire(blocking=False):
            child = self._child
            if child is not None:
                child.process.kill()
            self._call_lock.acquire()
        try:
            self._end_child()
        finally:
            self._call_lock.release()

    def _exchange(self, message: bytes, timeout_s: float, return_type: Any) -> Any:
        """Return the child's result for *message*, a value of *return_type*. Raises WorkerError, and ends the child."""
        child = self._child
        assert child is not None
        try:
            answer, has_raised, is_last = child.answer(message, timeout_s, self._memory_bytes)
            result = from_json(answer, tuple[str, str] if has_raised else return_type)
        except ValueError as error:  # the answer is not of the return type
            child.process.kill()
            self._end_child()
            raise WorkerError(f"ValueError: {error}") from None
        except (EOFError, OSError):
            status = self._end_child()
            if child.is_timed_out:
                raise WorkerTimeout(f"no answer within {timeout_s:g} s") from None
            if status == _OUT_OF_MEMORY:
                raise WorkerOutOfMemory(f"wanted more than {self._memory_bytes} bytes") from None
            if status == -signal.SIGXCPU:
                raise WorkerTimeout(f"no answer within {self._cpu_s} s of CPU time") from None
            error_type = WorkerKilled if status == -signal.SIGKILL else WorkerDied
            raise error_type(_exit_reason(status)) from None
        except BaseException:  # for example Ctrl-C; the next call must not receive this answer
            child.process.kill()
            self._end_child()
            raise
        if child.is_timed_out or is_last:  # killed just after its answer, or near its CPU limit
            self._end_child()
        if has_raised:
            raise WorkerError("{}: {}".format(*result))
        return result

    def _end_child(self) -> int | None:
        child, self._child = self._child, None
        return child.exit_status() if child is not None else None


class WorkerExecutor(Executor):
    """An executor of *jobs* killable processes; each starts with the first call for which no other is free.

    A call raises the `WorkerError` that describes how its process ended; the next call starts a new one.

    >>> with WorkerExecutor(2, timeout_s=30) as executor:
    ...     [executor.submit(int, "42").result(), executor.submit(len, "abc").result()]
    [42, 3]
    """

    def __init__(self, jobs: int, *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60) -> None:
        self.jobs = jobs
        self._workers = [
            Worker(callable, timeout_s=timeout_s, memory_bytes=memory_bytes, cpu_s=cpu_s) for _ in range(jobs)
        ]
        #: Last in, first out: a process that has been started is used first.
        self._free_workers: queue.LifoQueue[Worker[..., bool]] = queue.LifoQueue()
        for worker in self._workers:
            self._free_workers.put(worker)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="worker")
        self._shared_values: dict[str, Any] = {}

    def share(self, name: str, value: Any) -> None:
        """Share *value* with all processes, before their next calls; functions read it by ``shared_value(name)``."""
        if self._shared_values.get(name) is value:
            return
        self._shared_values = {**self._shared_values, name: value}
        message = sharing_message(self._shared_values)
        for worker in self._workers:
            worker.share(message)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call *fn*, an importable function, in one of the processes; return the future of its result."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after their calls if *wait* is True and *cancel_futures* is False, else at once."""
        if not wait or cancel_futures:
            for worker in self._workers:
                worker.close()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.close()

    def _call(self, fn: Callable[..., R], args: Any, kwargs: Any) -> R:
        worker = self._free_workers.get()  # never blocks: there are as many processes as threads
        try:
            result: R = worker.call_other(fn, *args, **kwargs)
            return result
        finally:
            self._free_workers.put(worker)


class _Child:
    """The process of a worker and the pipes to it, as its parent has them."""

    def __init__(self, memory_bytes: int, cpu_s: int) -> None:
        self.is_timed_out = False
        path = json.dumps([_HOME, *sys.path])
        command = [sys.executable, "-P", "-c", _PROGRAM, path, str(memory_bytes), str(cpu_s)]
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent
        )

    def answer(self, message: bytes, timeout_s: float, most_bytes: int) -> tuple[bytes, bool, bool]:
        """Return the encoded answer to *message*, True if it is an exception, and True if the child ends after it.

        Raises EOFError or OSError if the child dies before it answers, and ValueError for an answer over *most_bytes*.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timer = threading.Timer(timeout_s, self._kill_at_timeout)
        timer.daemon = True
        timer.start()
        try:
            self.process.stdin.write(_LENGTH.pack(len(message)))
            self.process.stdin.write(message)
            self.process.stdin.flush()
            size, has_raised, is_last = _ANSWER.unpack(_read_exactly(self.process.stdout, _ANSWER.size))
            if size > most_bytes:
                raise ValueError(f"an answer of {size} bytes")
            return _read_exactly(self.process.stdout, size), has_raised, is_last
        finally:
            timer.cancel()
            timer.join()

    def _kill_at_timeout(self) -> None:
        self.is_timed_out = True
        self.process.kill()

    def exit_status(self) -> int | None:
        """End the process and return its exit status (negative: the signal)."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):  # unsent data for a dead process
            process.stdin.close()
        try:
            process.wait(_EXIT_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        return process.returncode


def _exit_reason(status: int | None) -> str:
    """Return a phrase for an exit status, where a negative one is that of a signal.

    >>> _exit_reason(-signal.SIGABRT), _exit_reason(3)
    ('killed by SIGABRT', 'exited with status 3')
    """
    if status is None or status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-status}"


def serve() -> None:
    """Answer calls until the parent closes its pipe or is gone: the main loop of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory_bytes, cpu_s = (int(argument) for argument in sys.argv[2:4])
    call_pipe, answer_pipe = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.close(null_device)
    os.dup2(2, 1)  # output of a parser must not mix with the answers
    confine()  # before any other thread, which it would not confine
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_calls, args=(call_pipe, messages), daemon=True).start()
    try:
        while True:
            message = messages.get()
            _limit_call(memory_bytes, cpu_s)
            answer, has_raised = _answer(message)
            # Last if the remaining CPU time isn't enough for another call.
            is_last = sys.platform != "win32" and _cpu_used_s() + 2 * cpu_s > cpu_s * _CPU_RATIO
            answer_pipe.write(_ANSWER.pack(len(answer), has_raised, is_last))
            answer_pipe.write(answer)
            answer_pipe.flush()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except OSError:
        os._exit(0)
    except SystemExit as end:  # exit at once, so that the pipe doesn't close before the process ends
        os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))


def _receive_calls(call_pipe: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Read calls from the parent; end the process, even during a call, when the parent closes the pipe or is gone."""
    try:
        while True:
            (size,) = _LENGTH.unpack(_read_exactly(call_pipe, _LENGTH.size))
            messages.put(_read_exactly(call_pipe, size))
    except (EOFError, OSError):
        os._exit(0)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _limit_call(memory_bytes: int, cpu_s: int) -> None:
    """Limit the address space of this process, and its CPU time from now on; a limit writes no core file."""
    if sys.platform == "win32":
        return
    cpu_end_s = _cpu_used_s() + cpu_s
    limits = {
        resource.RLIMIT_AS: (memory_bytes, memory_bytes),
        resource.RLIMIT_CPU: (cpu_end_s, cpu_s * _CPU_RATIO),
        resource.RLIMIT_CORE: (0, 0),
    }
    for limit, (soft, hard) in limits.items():
        _, hard_now = resource.getrlimit(limit)
        if hard_now != resource.RLIM_INFINITY:
            hard = min(hard, hard_now)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses to limit the address space
            resource.setrlimit(limit, (min(soft, hard), hard))


def _cpu_used_s() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return math.ceil(usage.ru_utime + usage.ru_stime)


def _answer(message: bytes) -> tuple[bytes, bool]:
    """Return the encoded result of the call in *message* and False, or class and message of its exception and True."""
    try:
        function, args, kwargs = pickle.loads(message)
        return to_json(function(*args, **kwargs)), False
    except MemoryError:
        raise
    except Exception as error:
        return to_json((type(error).__qualname__, str(error))), True
