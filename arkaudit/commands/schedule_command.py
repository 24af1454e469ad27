"""Run named audits when they are due."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.__main__ import OWN_PROCESS
from arkaudit.exits import EXIT_FINDING, EXIT_INTERRUPTED, EXIT_MISTAKE, EXIT_UNFINISHED, closed, say
from arkaudit.options import (
    audit_option,
    config_of,
    config_option,
    flag,
    required_config_option,
    store_file_option,
    table_option,
)
from arkaudit.schedule_ledger import FOLDER, Due, Ledger, Schedule, ScheduledRun, due_now
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from rich.table import Table

    from arkaudit.config import Config

logger = logging.getLogger(__name__)


@click.group()
def schedule() -> None:
    """Run the named audits of a configuration when they are due: never two of one at once, a missed one once.

    \b
    arkaudit schedule list -c arkaudit.toml
    arkaudit schedule due -c arkaudit.toml        run what is due, and end: for cron, systemd, Kubernetes, CI
    arkaudit schedule run -c arkaudit.toml        stay, and run each when its time comes
    """


_SCHEDULED = config_option(default=Path("arkaudit.toml"), show_default=True, help="The configuration with the audits.")


@schedule.command("list", short_help="When each audit runs next, and how its last run ended.")
@_SCHEDULED
@table_option
def schedule_list(config_file: Path, form: str) -> None:
    """Print when each audit runs next, and how its last run ended."""
    from arkaudit.output_rows import print_whole, write_json

    audits = [row(audit, datetime.now(UTC)) for audit in planned_in(config_file)]
    if form == "json":
        write_json(audits)
    else:
        print_whole(table(audits))


@schedule.command("due", short_help="Run what is due now, and end.")
@_SCHEDULED
@flag("--dry-run", help="Only say what would run.")
def schedule_due(config_file: Path, dry_run: bool) -> None:
    """Run what is due now, one audit after the other, and end with the greatest of their exit codes.

    An audit is due when a moment of its schedule has passed since it last began, or since its schedule was first seen;
    however many have passed, it runs once. A run that did not come to its end goes on first.
    """
    audits = planned_in(config_file)
    if dry_run:
        for audit in audits:
            due = audit.due(datetime.now(UTC))
            if due is not None:
                say(f"{audit.name}: due since {due.moment:%Y-%m-%d %H:%M} UTC")
        return
    runs = Runs(config_file)
    with until_stopped(runs):
        codes = run_due(audits, runs, now=lambda: datetime.now(UTC))
    sys.exit(max(codes, default=0, key=abs))


@schedule.command("run", short_help="Stay, and run each audit when its time comes.")
@_SCHEDULED
def schedule_run(config_file: Path) -> None:
    """Stay, and run each audit when its time comes; first what was missed, or did not come to its end.

    A signal (Ctrl-C, or what a service manager sends) lets what runs finish what it has in flight; it goes on when
    this is started again.
    """
    sys.exit(serve(planned_in(config_file), Runs(config_file)))


# Notify people of what a run has changed.


@click.command()
@required_config_option
@audit_option
@store_file_option(help="[default: the configuration's]")
@click.option("--run", "run_id", type=int, help="The run to report.  [default: the newest]")
@flag("--dry-run", help="Only say what would be sent, and to whom.")
def notify(config_file: Path, audit: str | None, store_file: Path | None, run_id: int | None, dry_run: bool) -> None:
    """Notify people of what a run has changed, as the configuration says; of nothing, if nothing has.

    A run does this itself at its end; this is to try it out, and to send again what could not be sent then.

    \b
    arkaudit notify -c arkaudit.toml --audit theses --dry-run
    """
    from arkaudit.notification import send_news_again

    if not send_news_again(config_of(config_file, {}, audit=audit), store_file, run_id, is_dry=dry_run):
        sys.exit(EXIT_FINDING)


# Runs the named audits that are due, each as a process of its own: Twisted's reactor can be started only once.

#: A run that did not come to its end is looked after at least this often.
_LOOK_AGAIN = timedelta(minutes=1)
#: Seconds between two looks at whether a run has ended.
_SLICE_S = 1.0
#: Exit codes of runs that are no failure of the scheduler: done, done with findings, interrupted by a stop, which may
#: come before a run heeds signals.
_NO_FAILURES = frozenset({0, EXIT_FINDING, EXIT_INTERRUPTED, -signal.SIGTERM})
#: After the first signal a run finishes what is in flight; after so many seconds it is signalled again.
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Planned:
    """A named audit with a schedule."""

    name: str
    schedule: Schedule
    ledger: Ledger

    def due(self, now: datetime) -> Due | None:
        """Return whether it is to run now; None also while it is running."""
        if self.ledger.is_running():
            return None
        content = self.ledger.content(now)
        return due_now(self.schedule, content.entries, since=content.since, now=now)


def planned(audits: Mapping[str | None, Config], config_file: Path) -> list[Planned]:
    """The audits of a configuration that have a schedule, in its order."""
    folder = config_file.parent / FOLDER
    return [
        Planned(name, Schedule.parse(config.schedule, config.timezone), Ledger(folder, name))
        for name, config in audits.items()
        if name is not None and config.schedule is not None
    ]


def planned_in(config_file: Path) -> list[Planned]:
    """The audits with a schedule in a configuration file. Raises `ConfigError`, and `UserMistake` if there are none."""
    from arkaudit.config_files import load_audits

    audits = planned(load_audits(config_file), config_file)
    if not audits:
        raise UserMistake(f"{config_file} has no audit with a schedule: see [audits.NAME]")
    return audits


class Runs:
    """The runs that this process has begun, so that a signal can end them."""

    def __init__(self, config_file: Path) -> None:
        self._config_file = config_file
        self._children: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self.is_stopping = False

    def run(self, name: str, due: Due) -> int:
        """Run one audit to its end; returns its exit code."""
        command = [*OWN_PROCESS, "run", "-c", str(self._config_file), "--audit", name]
        resumed = ", goes on" if due.resumes else ""
        with self._guard:
            if self.is_stopping:
                return EXIT_INTERRUPTED
            begun = time.monotonic()
            say(f"{name}: due {due.moment:%Y-%m-%d %H:%M} UTC{resumed}: begins")
            child = subprocess.Popen(
                [*command, "--scheduled", due.moment.isoformat()],
                stdin=subprocess.DEVNULL,
                # no summary is printed
                stdout=subprocess.DEVNULL if sys.stdout.fileno() in closed else None,
            )
            self._children.add(child)
        code = child.wait()
        with self._guard:
            self._children.discard(child)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        say(f"{name}: ended with {how}, after {time.monotonic() - begun:.0f} s")
        return code

    def stop(self) -> None:
        """Let nothing begin any more, and what runs finish what it has in flight; later once more, with emphasis."""
        with self._guard:
            is_first, self.is_stopping = not self.is_stopping, True
            for child in self._children:
                with suppress(ProcessLookupError):
                    child.send_signal(signal.SIGTERM)
        if is_first:
            again = threading.Timer(_PATIENCE_S, self.stop)
            again.daemon = True
            again.start()


def run_due(audits: Iterable[Planned], runs: Runs, *, now: Callable[[], datetime]) -> list[int]:
    """Run what is due, one after the other; returns the exit codes."""
    codes = []
    for audit in audits:
        code, problem = _run_if_due(audit, runs, now())
        if problem:
            say(problem, level=logging.ERROR)
        codes += [] if code is None else [code]
    return codes


def serve(audits: Sequence[Planned], runs: Runs) -> int:
    """Run every audit when it is due, until a signal comes; first what was missed or did not end.

    Different audits run in parallel, each host at its own pace all the same. Ends by itself when none of them can run.
    Returns the greatest exit code of the last runs that failed, and of what kept audits from running; 0 without one.
    """
    ended = threading.Event()
    under_way: dict[str, Future[tuple[int | None, str]]] = {}
    problems: dict[str, str] = {}
    codes: dict[str, int] = {}

    def settle(name: str) -> None:
        code, problem = under_way.pop(name).result()
        if problem and problem != problems.get(name):
            say(problem, level=logging.ERROR)
        if code is not None or problems.get(name):
            codes[name] = code or 0
        problems[name] = problem

    with until_stopped(runs, ended), ThreadPoolExecutor(len(audits)) as pool:
        while not ended.is_set():
            now = datetime.now(UTC)
            for audit in audits:
                if audit.name not in under_way:
                    under_way[audit.name] = pool.submit(_run_if_due, audit, runs, now)
            following = min(audit.schedule.next_after(now) for audit in audits) - now
            # By a clock that is never set; in slices, for a signal to be handled at once.
            wake_s = time.monotonic() + min(_LOOK_AGAIN, following).total_seconds()
            while not ended.wait(_SLICE_S) and time.monotonic() < wake_s:
                for name in [name for name, future in under_way.items() if future.done()]:
                    settle(name)
                if all(problems.get(audit.name) for audit in audits):
                    ended.set()
    for name in list(under_way):
        settle(name)
    failed = (code for code in codes.values() if code not in _NO_FAILURES)
    return max((EXIT_UNFINISHED if code < 0 else code for code in failed), default=0)


def _run_if_due(audit: Planned, runs: Runs, now: datetime) -> tuple[int | None, str]:
    """Run an audit if it is due; returns the exit code, if any, and what kept it from running."""
    try:
        due = audit.due(now)
        return (None if due is None else runs.run(audit.name, due)), ""
    except UserMistake as problem:  # its ledger can't be read or written: no other audit suffers
        return EXIT_MISTAKE, f"{audit.name}: {problem}"
    except Exception as bug:
        logger.critical("this is a bug", exc_info=bug)
        return (EXIT_UNFINISHED, f"{audit.name}: can't run, which is a bug of arkaudit: {type(bug).__name__}: {bug}")


@contextmanager
def until_stopped(runs: Runs, ended: threading.Event | None = None) -> Iterator[None]:
    """Until Ctrl-C, or what a service manager sends: then let what runs end, and begin nothing more."""

    def stop(*_: object) -> None:
        say("stops; what runs finishes what it has in flight, and goes on the next time")
        runs.stop()
        if ended is not None:
            ended.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# An overview of the planned runs and the results of the last ones.

_OUTCOMES = {
    0: "done",
    EXIT_FINDING: "done, with findings",
    EXIT_MISTAKE: "a mistake in its configuration",
    EXIT_UNFINISHED: "could not finish",
    EXIT_INTERRUPTED: "interrupted",
}


def row(audit: Planned, now: datetime) -> dict[str, Any]:
    """When an audit with a schedule runs next, and how its last run ended."""
    is_running = audit.ledger.is_running()
    due = audit.due(now)
    entries = audit.ledger.content(now).entries
    last = entries[-1] if entries else None
    return {
        "audit": audit.name,
        "schedule": audit.schedule.expression,
        "timezone": str(audit.schedule.zone or "UTC"),
        "next": (due.moment if due else audit.schedule.next_after(now)).isoformat(),
        "is_due": due is not None,
        "last_started": last.started.isoformat() if last else None,
        "last_ended": last.ended.isoformat() if last and last.ended else None,
        "outcome": outcome(last, is_running=is_running),
    }


def outcome(last: ScheduledRun | None, *, is_running: bool) -> str:
    """Return how the last run ended, in a word or two.

    >>> outcome(ScheduledRun(datetime(2026, 3, 1, tzinfo=UTC)), is_running=False)
    'killed'
    """
    if is_running:
        return "running"
    if last is None:
        return "not yet run"
    if last.ended is None:
        return "killed"
    return _OUTCOMES.get(last.exit_code if last.exit_code is not None else -1, f"exit code {last.exit_code}")


def table(listed: Iterable[dict[str, Any]]) -> Table:
    """The rows for people."""
    from rich.table import Table

    shown = Table("audit", "schedule", "next (UTC)", "last began (UTC)", "took", "outcome", box=None)
    for row in listed:
        ended = datetime.fromisoformat(row["last_ended"]) if row["last_ended"] else None
        next_at = "now" if row["is_due"] else _minute(row["next"])
        shown.add_row(
            row["audit"],
            row["schedule"],
            next_at,
            _minute(row["last_started"]),
            # the clock may have been set back meanwhile
            str(max(ended - datetime.fromisoformat(row["last_started"]), timedelta())) if ended else "",
            row["outcome"],
        )
    return shown


def _minute(moment: str | None) -> str:
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""
