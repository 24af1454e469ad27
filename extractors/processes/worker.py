"""A process that may be killed: for parsers that abort, hang or take all memory over a stranger's file.

Its errors; after each of them, the next call finds a working process again:

    WorkerError
    ├── WorkerDied          the process aborted or crashed
    │   └── WorkerKilled    it was killed twice, as the system does when it has no memory left
    ├── WorkerTimeout       the call took more CPU time than `cpu_s`, or longer than `timeout_s`, and was killed
    ├── WorkerOutOfMemory   the function wanted more than `memory_bytes`
    └── WorkerFailed        the function raised any other exception

The limits contain accidents and bombs. Where the kernel has the means (`sandbox.py`), the process can neither read nor
write files but those of Python, nor reach the network, nor start programs; elsewhere it may do all that its user may.

Nothing that it sends back is trusted: its answers are plain data, made into values of the type that the function
returns (`extractors.processes.codec`). Of the environment it gets what Python needs to start, so that it sees no
password, and it can't lift its limits. What is sent to it is pickled.

It is begun as a program of its own. What `multiprocessing` spawns would import the script of the user first, and so run
it again, unless the script guards against that; and its daemons may have no children.
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
from extractors.processes.codec import decoded, encoded, result_type
from extractors.processes.sandbox import confine

if sys.platform != "win32":  # there, only the timeout holds
    import resource

P = ParamSpec("P")
R = TypeVar("R")

#: The program of the process. It finds modules where its parent does, but first where Python, its libraries and this
#: package are: a module of the user may be called as one of those.
_PROGRAM = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); from extractors.processes.worker import serve; serve()"
)
_HOME = str(Path(__file__).resolve().parents[2])
#: What Python needs to start, of the environment.
_ENVIRONMENT = frozenset({"HOME", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"})
_LENGTH = struct.Struct("!Q")
#: Before each answer: its length, whether it says which exception was raised, and whether it is the last one.
_ANSWER = struct.Struct("!Q??")
#: The process takes calls for so many times the CPU time of one, and then ends for a new one. This limit it can't
#: lift.
_CALLS_CPU = 4

#: The exit status of a process without memory, which can't be trusted to send a message.
_OUT_OF_MEMORY = errno.ENOMEM
_START_TIMEOUT_S = 120.0
_FAREWELL_S = 5.0


class WorkerError(ArkauditError):
    """A call that gave no result."""


class WorkerDied(WorkerError):
    """The process ended during the call; the reason names the signal (``killed by SIGABRT``) or status."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerKilled(WorkerDied):
    """The process was killed (SIGKILL), and so was the new one that was given the same call."""


class WorkerTimeout(WorkerError):
    """The call took more CPU time than it may, or waited for too long."""


class WorkerOutOfMemory(WorkerError):
    """The function wanted more memory than the process may have."""


class WorkerFailed(WorkerError):
    """The function raised an exception: its class and message."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(f"{exception}: {message}")
        self.exception = exception
        self.message = message


#: What the parent shares with this process.
_shared: dict[str, Any] = {}


def shared_values(values: Mapping[str, Any]) -> bytes:
    """Return *values* as they are sent to processes, pickled once for all of them."""
    return pickle.dumps((_take, (values,), {}))


def _take(values: Mapping[str, Any]) -> None:
    _shared.update(values)


def shared(name: str) -> Any:
    """Return a value that the parent shares with this process. Raises KeyError if it shares none of this name."""
    return _shared[name]


class Worker(Generic[P, R]):
    """Runs an importable function in a process of its own, call after call, restarted after each death.

    Threads may share it; their calls take turns.

    >>> with Worker(int, timeout_s=30) as worker:
    ...     worker.call("42")
    42
    """

    def __init__(
        self, function: Callable[P, R], *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60
    ) -> None:
        pickle.dumps(function)  # raises here, not at the first call, if it can't be sent by reference
        self._function = function
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._cpu_s = cpu_s
        self._child: _Child | None = None
        self._shared = self._sent = b""
        """The call that shares values, and the one that the process at work has had."""
        self._is_closed = False
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns for these arguments; raises a `WorkerError` when it returns nothing.

        The time that the process takes to start, and to import the function, doesn't count.
        """
        result: R = self.call_other(self._function, *args, **kwargs)
        return result

    def call_other(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return what another importable function returns, in the same way.

        A call whose process is killed from outside is made once more in a new one: the system kills what is largest
        when it has no memory left, whose fault that may be.
        """
        message, returns = pickle.dumps((function, args, kwargs)), result_type(function)
        with self._turn:
            try:
                return self._call_once(message, returns)
            except WorkerKilled:
                if self._is_closed:
                    raise
                return self._call_once(message, returns)

    def _call_once(self, message: bytes, returns: Any) -> Any:
        if self._child is not None and self._child.process.poll() is not None:
            self._bury_child()
        if self._child is None:
            self._child, self._sent = _Child(self._memory_bytes, self._cpu_s), b""
            if self._is_closed:  # looked at after the child is there for `close` to see
                self._bury_child()
                raise RuntimeError("the worker is closed")
            self._exchange(pickle.dumps((callable, (self._function,), {})), _START_TIMEOUT_S, bool)
        if (shared := self._shared) is not self._sent:
            self._exchange(shared, _START_TIMEOUT_S, None)
            self._sent = shared
        return self._exchange(message, self._timeout_s, returns)

    def share(self, values: bytes) -> None:
        """Let each process from the next call on have *values* (`shared_values`), which calls find with `shared`."""
        self._shared = values

    def close(self) -> None:
        """Ends the process. A call that is under way in another thread ends with `WorkerDied`."""
        self._is_closed = True
        if not self._turn.acquire(blocking=False):
            child = self._child
            if child is not None:
                child.process.kill()
            self._turn.acquire()
        try:
            self._bury_child()
        finally:
            self._turn.release()

    def _exchange(self, message: bytes, timeout_s: float, returns: Any) -> Any:
        """The child's result for *message*, of the type *returns*; the child is gone if there is none to be had."""
        child = self._child
        assert child is not None
        try:
            answer, has_raised, is_last = child.answer(message, timeout_s, self._memory_bytes)
            outcome = decoded(answer, tuple[str, str] if has_raised else returns)
        except ValueError as error:  # what it has sent is not what the function returns
            child.process.kill()
            self._bury_child()
            raise WorkerFailed("ValueError", str(error)) from None
        except (EOFError, OSError):
            status = self._bury_child()
            if child.timed_out:
                raise WorkerTimeout(f"no answer within {timeout_s:g} s") from None
            if status == _OUT_OF_MEMORY:
                raise WorkerOutOfMemory(f"wanted more than {self._memory_bytes} bytes") from None
            if status == -signal.SIGXCPU:
                raise WorkerTimeout(f"no answer within {self._cpu_s} s of CPU time") from None
            died = WorkerKilled if status == -signal.SIGKILL else WorkerDied
            raise died(_cause_of_death(status)) from None
        except BaseException:  # Ctrl-C; the answer to this call must not meet the next
            child.process.kill()
            self._bury_child()
            raise
        if child.timed_out or is_last:  # killed the moment after it had answered, or at the end of its time
            self._bury_child()
        if has_raised:
            raise WorkerFailed(*outcome)
        return outcome

    def _bury_child(self) -> int | None:
        child, self._child = self._child, None
        return child.exit_status() if child is not None else None


class WorkerExecutor(Executor):
    """So many killable processes; each starts with the first call for which no other is free.

    A call raises the `WorkerError` that says how its process ended; the next call finds a new one.

    >>> with WorkerExecutor(2, timeout_s=30) as executor:
    ...     [executor.submit(int, "42").result(), executor.submit(len, "abc").result()]
    [42, 3]
    """

    def __init__(self, jobs: int, *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60) -> None:
        self.jobs = jobs
        self._workers = [
            Worker(callable, timeout_s=timeout_s, memory_bytes=memory_bytes, cpu_s=cpu_s) for _ in range(jobs)
        ]
        #: The one that was at work last has been started, and comes first.
        self._free: queue.LifoQueue[Worker[..., bool]] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="worker")
        self._values: dict[str, Any] = {}

    def share(self, name: str, value: Any) -> None:
        """Let each process have *value*, which calls find with `shared`; it is sent once, before its next call."""
        self._values = {**self._values, name: value}
        values = shared_values(self._values)
        for worker in self._workers:
            worker.share(values)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run an importable function in one of the processes; what it returns comes back as plain data."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: when what was submitted is done, or at once, if it is not waited for."""
        if not wait or cancel_futures:
            for worker in self._workers:
                worker.close()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.close()

    def _call(self, fn: Callable[..., R], args: Any, kwargs: Any) -> R:
        worker = self._free.get()  # there are as many threads as processes: one is free
        try:
            result: R = worker.call_other(fn, *args, **kwargs)
            return result
        finally:
            self._free.put(worker)


class _Child:
    """The process and the pipes to it, as the parent holds them."""

    def __init__(self, memory_bytes: int, cpu_s: int) -> None:
        self.timed_out = False
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
        """Return the answer to *message*, whether it is an exception, and whether the child takes no call after it.

        Raises EOFError or OSError when the child doesn't live to give it, and ValueError when it has more than
        *most_bytes*.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timer = threading.Timer(timeout_s, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            self.process.stdin.write(_LENGTH.pack(len(message)))
            self.process.stdin.write(message)
            self.process.stdin.flush()
            size, has_raised, is_last = _ANSWER.unpack(_exactly(self.process.stdout, _ANSWER.size))
            if size > most_bytes:
                raise ValueError(f"an answer of {size} bytes")
            return _exactly(self.process.stdout, size), has_raised, is_last
        finally:
            timer.cancel()
            timer.join()

    def _time_out(self) -> None:
        self.timed_out = True
        self.process.kill()

    def exit_status(self) -> int | None:
        """Return how the process ended (negative: by which signal); it is made to, and nothing of it is left."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):  # what could not be sent to the dead
            process.stdin.close()
        try:
            process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        return process.returncode


def _cause_of_death(status: int | None) -> str:
    """Return what an exit status means.

    >>> _cause_of_death(-signal.SIGABRT), _cause_of_death(3)
    ('killed by SIGABRT', 'exited with status 3')
    """
    if status is None or status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-status}"


def serve() -> None:
    """Answer calls until the parent closes its pipe, or is gone: the life of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory_bytes, cpu_s = (int(argument) for argument in sys.argv[2:4])
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # what a parser prints is no answer
    confine()  # before there is another thread, for which it would not hold
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, messages), daemon=True).start()
    try:
        while True:
            message = messages.get()
            _limit_call(memory_bytes, cpu_s)
            answer, has_raised = _answer(message)
            # the last one where the CPU time that is left doesn't suffice for another call
            is_last = sys.platform != "win32" and _cpu_used_s() + 2 * cpu_s > cpu_s * _CALLS_CPU
            answers.write(_ANSWER.pack(len(answer), has_raised, is_last))
            answers.write(answer)
            answers.flush()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except OSError:
        os._exit(0)
    except SystemExit as end:  # at once: the end of the pipe is not to come before that of the process
        os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))


def _listen(asked: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Take calls from the parent; when it closes the pipe, or is gone, the process ends in the middle of a call."""
    try:
        while True:
            (size,) = _LENGTH.unpack(_exactly(asked, _LENGTH.size))
            messages.put(_exactly(asked, size))
    except (EOFError, OSError):
        os._exit(0)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _limit_call(memory_bytes: int, cpu_s: int) -> None:
    """Bound the address space, and the CPU time from now on; no core file when either runs out."""
    if sys.platform == "win32":
        return
    cpu_end_s = _cpu_used_s() + cpu_s
    limits = {
        resource.RLIMIT_AS: (memory_bytes, memory_bytes),
        resource.RLIMIT_CPU: (cpu_end_s, cpu_s * _CALLS_CPU),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, (soft, hard) in limits.items():
        _, hard_now = resource.getrlimit(kind)
        if hard_now != resource.RLIM_INFINITY:
            hard = min(hard, hard_now)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses to limit the address space
            resource.setrlimit(kind, (min(soft, hard), hard))


def _cpu_used_s() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return math.ceil(used.ru_utime + used.ru_stime)


def _answer(message: bytes) -> tuple[bytes, bool]:
    """Return what a call returns, or the class and message of what it raises, and whether it is that."""
    try:
        function, args, kwargs = pickle.loads(message)
        return encoded(function(*args, **kwargs)), False
    except MemoryError:
        raise
    except Exception as error:
        return encoded((type(error).__qualname__, str(error))), True
