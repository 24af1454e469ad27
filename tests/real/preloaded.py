"""The command as a process of its own, without waiting for its imports: forked from a process that has made them.

A short command spends nine tenths of its time on imports. Here a server process imports the modules once, and
every command is a fork of it, with its own arguments, environment and streams.
"""

import gc
import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.real.waiting import PATIENCE_S

#: Modules that take long to import, and one that makes other things of long ones.
IMPORTED = (
    "arkaudit.commands.audit_command", "arkaudit.commands.check_command", "arkaudit.commands.extract_command",
    "arkaudit.features.fix.command", "arkaudit.commands.report_command", "arkaudit.features.datasets.making",
    "arkaudit.features.explain.explanation", "arkaudit.features.explain.history", "arkaudit.output.logs",
    "arkaudit.output.reporting", "arkaudit.audits.resuming", "babel.dates",
    "babel.messages.pofile", "babel.numbers", "click", "crawler.answers.answer_pages", "crawler.history.problems",
    "crawler.model.registry", "crawler.politeness.request_queue", "crawler.process",
    "arkaudit.features.registry.updates", "crawler.spiders.arks_spider", "crawler.spiders.documents_spider",
    "crawler.spiders.mementos_spider", "crawler.spiders.runs", "crawler.wire.handlers", "crawler.wire.middlewares",
    "crawler.wire.robots", "cronsim", "distributed", "extractors.two_passes", "jinja2", "pandas.core.arrays.arrow._arrow_utils",
    "pandas.core.methods.to_dict", "pandas.core.reshape.reshape", "pyarrow.acero", "pydantic",
    "reports.exports", "rich._emoji_codes", "rich.progress", "scrapy.core.engine", "scrapy.core.scheduler",
    "scrapy.crawler", "scrapy.downloadermiddlewares.defaultheaders", "scrapy.downloadermiddlewares.downloadtimeout",
    "scrapy.downloadermiddlewares.httpproxy", "scrapy.downloadermiddlewares.useragent", "scrapy.dupefilters",
    "scrapy.logformatter", "scrapy.pqueues", "scrapy.robotstxt", "scrapy.squeues", "scrapy.statscollectors",
    "tests.real.made_once", "twisted.internet.asyncioreactor",
)  # fmt: skip
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(list(IMPORTED))


def start() -> None:
    """Start the server process, which then imports the modules."""
    forkserver.ensure_running()


def run(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    program: str | None = None,
    first: Callable[[], None] | None = None,
    folder: Path | None = None,
    stdin: str = "",
    stdout: int | None = None,
    timeout_s: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Return the result of ``python -m arkaudit`` with these arguments, as `subprocess.run` would.

    Another *program* may run instead, as by ``python -c``. The process calls *first*, which must be importable,
    before anything else. It works in *folder*, or else in that of the tests.

    Its streams have the encoding ``PYTHONIOENCODING`` of the *environment*; its output may go to the file descriptor
    *stdout* instead. Raises `subprocess.TimeoutExpired`.
    """
    encoding = environment["PYTHONIOENCODING"]
    with TemporaryFile() as given, TemporaryFile() as printed, TemporaryFile() as said:
        given.write(stdin.encode(encoding))
        given.seek(0)
        streams = [given.fileno(), printed.fileno() if stdout is None else stdout, said.fileno()]
        command = _Command(list(arguments), dict(environment), streams, program, folder)
        process = _FORKS.Process(target=_run, args=(command, first))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["arkaudit", *arguments], timeout_s)
        told = []
        for file in (printed, said):
            file.seek(0)
            told.append(file.read().decode(encoding))
        return subprocess.CompletedProcess(["arkaudit", *arguments], process.exitcode, *told)


class _Command:
    """A command for the fork; its streams are sent with it."""

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str],
        streams: list[int],
        program: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self._arguments, self._environment, self._streams = arguments, environment, streams
        self._program = program
        self._folder = folder or Path.cwd()

    def __getstate__(self) -> tuple[Any, ...]:
        return (
            self._arguments,
            self._environment,
            self._program,
            self._folder,
            [DupFd(stream) for stream in self._streams],
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._arguments, self._environment, self._program, self._folder, sent = state
        self._streams = [stream.detach() for stream in sent]

    def __call__(self) -> None:
        gc.freeze()  # imported objects are never garbage: the collector skips them
        for number, stream in enumerate(self._streams):
            os.dup2(stream, number)
            os.close(stream)
        encoding = self._environment["PYTHONIOENCODING"]
        sys.stdin, sys.stdout = _text(0, "r", encoding), _text(1, "w", encoding)
        sys.stderr = _text(2, "w", encoding, errors="backslashreplace")
        os.chdir(self._folder)
        os.environ.clear()
        os.environ.update(self._environment)
        if self._program is not None:
            sys.argv = ["-c", *self._arguments]
            exec(compile(self._program, "<string>", "exec"), {"__name__": "__main__"})
            return
        sys.argv = ["arkaudit", *self._arguments]
        runpy.run_module("arkaudit", run_name="__main__", alter_sys=True)


def _text(stream: int, mode: str, encoding: str, errors: str = "strict") -> Any:
    return os.fdopen(stream, mode, encoding=encoding, errors=errors, closefd=False)


def begin(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    prints: IO[bytes],
    says: IO[bytes],
    first: Callable[[], None] | None = None,
) -> BaseProcess:
    """Start the command without waiting; its output goes to one file, and its errors to another.

    The process calls *first*, which must be importable, before anything else.
    """
    with Path(os.devnull).open("rb") as nothing:
        streams = [nothing.fileno(), prints.fileno(), says.fileno()]
        process = _FORKS.Process(target=_run, args=(_Command(list(arguments), dict(environment), streams), first))
        process.start()
    return process


def _run(command: _Command, first: Callable[[], None] | None) -> None:
    if first is not None:
        first()
    command()
