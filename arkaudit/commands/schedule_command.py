"""The commands `schedule` and `notify`."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import (
    audit_option,
    audits_option,
    config_of,
    flag,
    required_config_option,
    store_file_option,
    table_option,
)
from arkaudit.configuration.schedule import Schedule
from arkaudit.hooks import plugins
from arkaudit.output.exits import EXIT_FINDING, closed, say
from arkaudit.schedules.last_run import FOLDER, Due, LastRun, LastRunFile, due_now
from extractors.model.errors import EXIT_INTERRUPTED, EXIT_MISTAKE, EXIT_UNFINISHED, UserMistake

if TYPE_CHECKING:
    from rich.table import Table

    from arkaudit.configuration.config import Config

logger = logging.getLogger(__name__)

#: Beginning of a child process's command line. -P ignores packages of the same names in the working directory.
OWN_PROCESS = (sys.executable, "-P", "-m", "arkaudit")


@click.group()
def schedule() -> None:
    """Run the named audits of a configuration when they are due, without overlap; a missed audit runs once.

    \b
    arkaudit schedule list -c arkaudit.toml
    arkaudit schedule due -c arkaudit.toml        run due audits, and exit: for cron, systemd, Kubernetes, CI
    arkaudit schedule run -c arkaudit.toml        keep running, and start each audit when it is due
    """


@schedule.command("list", short_help="Show the next run and the last result of each audit.")
@audits_option
@table_option
def schedule_list(config_file: Path, output_format: str) -> None:
    """Print the next run and the last result of each audit."""
    from arkaudit.output.output_rows import print_table, write_json

    audits = [row(audit, datetime.now(UTC)) for audit in load_scheduled_audits(config_file)]
    if output_format == "json":
        write_json(audits)
    else:
        print_table(table(audits))


@schedule.command("due", short_help="Run the audits that are due, and exit.")
@audits_option
@flag("--dry-run", help="Only print the audits that are due.")
def schedule_due(config_file: Path, dry_run: bool) -> None:
    """Run the audits that are due, one after the other, and exit with the highest of their exit codes.

    An audit is due if its schedule had a time since its last start, or since its schedule was first seen. It runs once,
    even if several times have passed. Unfinished runs are resumed first.
    """
    audits = load_scheduled_audits(config_file)
    if dry_run:
        for audit in audits:
            due = audit.due(datetime.now(UTC))
            if due is not None:
                say(f"{audit.name}: due since {due.moment:%Y-%m-%d %H:%M} UTC")
        return
    runs = Runs(config_file)
    with until_stopped(runs):
        exit_codes = run_due(audits, runs, {})
    sys.exit(max(exit_codes.values(), default=0, key=abs))


@schedule.command("run", short_help="Keep running, and start each audit when it is due.")
@audits_option
def schedule_run(config_file: Path) -> None:
    """Keep running, and run each audit when it is due, one after the other; missed and unfinished ones first.

    On a signal (Ctrl-C, SIGTERM) running audits finish their requests in flight and end. They are resumed when this
    command is started again.
    """
    sys.exit(serve(load_scheduled_audits(config_file), Runs(config_file)))


@click.command()
@required_config_option
@audit_option
@store_file_option(help="[default: the configuration's]")
@click.option("--run", "run_id", type=int, help="The last run to report.  [default: the newest audit]")
@flag("--dry-run", help="Only print the message and its targets.")
def notify(config_file: Path, audit: str | None, store_file: Path | None, run_id: int | None, dry_run: bool) -> None:
    """Send each configured channel the changes up to a run since its last message, if there are any.

    A run does this at its end. This command is for tests, and for messages that could not be sent.

    \b
    arkaudit notify -c arkaudit.toml --audit theses --dry-run
    """
    from arkaudit.schedules.notification import send_news_again

    config = config_of(config_file, {}, audit=audit)
    if not send_news_again(config, store_file, run_id, config_file=config_file, is_dry=dry_run):
        sys.exit(EXIT_FINDING)


# -- Each audit runs in a child process, because Twisted's reactor can be started only once in a process.

#: Maximum wait between two checks for due audits, which include unfinished ones.
_LOOK_AGAIN = timedelta(minutes=1)
#: Exit codes of successful and interrupted runs. SIGTERM kills a child that has not installed its handlers yet.
_NO_FAILURES = frozenset({0, EXIT_FINDING, EXIT_INTERRUPTED, -signal.SIGTERM})
#: Seconds until a run that still finishes its requests in flight gets a second signal.
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class ScheduledAudit:
    """A named audit with a schedule."""

    name: str
    schedule: Schedule
    last_run: LastRunFile
    config: Config

    def due(self, now: datetime) -> Due | None:
        """Return the due time for which the audit has to run now; None if it is not due, or is running."""
        return None if self.last_run.is_running() else due_now(self.schedule, self.last_run.read(now), now)


def scheduled_audits(audits: Mapping[str | None, Config], config_file: Path) -> list[ScheduledAudit]:
    """Return the audits of a configuration that have a schedule, in order."""
    folder = config_file.parent / FOLDER
    return [
        ScheduledAudit(name, Schedule.parse(config.schedule, config.timezone), LastRunFile(folder, name), config)
        for name, config in audits.items()
        if name is not None and config.schedule is not None
    ]


def load_scheduled_audits(config_file: Path) -> list[ScheduledAudit]:
    """Return the audits with a schedule in a file. Raises `ConfigError`, or `UserMistake` if no audit has a schedule."""
    from arkaudit.configuration.config_files import load_audits

    audits = scheduled_audits(load_audits(config_file), config_file)
    if not audits:
        raise UserMistake(f"{config_file} has no audit with a schedule: see [audits.NAME]")
    return audits


class Runs:
    """The runs of this scheduler: child processes, one after the other, which a signal ends."""

    def __init__(self, config_file: Path) -> None:
        self._config_file = config_file
        self._child: subprocess.Popen[bytes] | None = None
        self.ended = threading.Event()
        """Set when no more runs begin."""

    def run(self, name: str, due: Due) -> int:
        """Run the audit *name* in a child process, and return its exit code: negative for a signal that ended it."""
        command = [*OWN_PROCESS, "run", "-c", str(self._config_file), "--audit", name]
        resumed_words = ", resumed" if due.is_resumption else ""
        if self.ended.is_set():
            return EXIT_INTERRUPTED
        begun_s = time.monotonic()
        say(f"{name}: due {due.moment:%Y-%m-%d %H:%M} UTC{resumed_words}: begins")
        self._child = subprocess.Popen(
            [*command, "--scheduled", due.moment.isoformat()],
            stdin=subprocess.DEVNULL,
            # A closed standard output must not become another file of the child.
            stdout=subprocess.DEVNULL if sys.stdout.fileno() in closed else None,
        )
        exit_code = self._child.wait()
        ending_words = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
        say(f"{name}: ended with {ending_words}, after {time.monotonic() - begun_s:.0f} s")
        return exit_code

    def finish(self, audit: ScheduledAudit) -> None:
        """Call the hook `after_run` of plug-ins; an exception is printed, and changes no exit code."""
        try:
            plugins().hook.after_run(config=audit.config, config_file=self._config_file)
        # Whatever a foreign module raises.
        except Exception as problem:
            message = f"{audit.name}: a plug-in failed after the run: {type(problem).__name__}: {problem}"
            say(message, level=logging.ERROR)

    def stop(self) -> None:
        """Start no more runs, and send SIGTERM to the running one, which finishes its requests in flight.

        After `_PATIENCE_S` the signal is sent again. It also reaches a run that was just being started.
        """
        is_first = not self.ended.is_set()
        self.ended.set()
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGTERM)
        if is_first:
            second_stop = threading.Timer(_PATIENCE_S, self.stop)
            second_stop.daemon = True
            second_stop.start()


def run_due(audits: Iterable[ScheduledAudit], runs: Runs, problems: dict[str, str]) -> dict[str, int]:
    """Run due audits one after the other; return exit codes by name, of audits that ran or could not be started.

    *problems* maps an audit to the problem that prevented its last run, or "". It is updated, and new ones are printed.
    """
    exit_codes = {}
    for audit in audits:
        exit_code, problem = _run_if_due(audit, runs, datetime.now(UTC))
        if problem and problem != problems.get(audit.name):
            say(problem, level=logging.ERROR)
        if exit_code is not None or problems.get(audit.name):
            exit_codes[audit.name] = exit_code or 0
        problems[audit.name] = problem
    return exit_codes


def serve(audits: Sequence[ScheduledAudit], runs: Runs) -> int:
    """Run audits when they are due, until a signal comes or until all of them fail to start.

    Returns the highest exit code of the last runs of all audits, or 0 if none of these failed.
    """
    problems: dict[str, str] = {}
    exit_codes: dict[str, int] = {}
    with until_stopped(runs):
        while not runs.ended.is_set():
            exit_codes |= run_due(audits, runs, problems)
            if all(problems.values()):
                break
            now = datetime.now(UTC)
            waiting_time = min(audit.schedule.next_after(now) for audit in audits) - now
            runs.ended.wait(min(_LOOK_AGAIN, waiting_time).total_seconds())
    failure_codes = (exit_code for exit_code in exit_codes.values() if exit_code not in _NO_FAILURES)
    return max((EXIT_UNFINISHED if exit_code < 0 else exit_code for exit_code in failure_codes), default=0)


def _run_if_due(audit: ScheduledAudit, runs: Runs, now: datetime) -> tuple[int | None, str]:
    """Run an audit if it is due; return its exit code, or None, and the problem that prevented the run, or ""."""
    try:
        due = audit.due(now)
        if due is None:
            return None, ""
        exit_code = runs.run(audit.name, due)
        runs.finish(audit)
        return exit_code, ""
    # An unusable file must not stop the other audits.
    except UserMistake as problem:
        return EXIT_MISTAKE, f"{audit.name}: {problem}"
    except Exception as bug:
        logger.critical("this is a bug", exc_info=bug)
        return (EXIT_UNFINISHED, f"{audit.name}: can't run, which is a bug of arkaudit: {type(bug).__name__}: {bug}")


@contextmanager
def until_stopped(runs: Runs) -> Iterator[None]:
    """Call `Runs.stop` on SIGINT and SIGTERM during the ``with`` block."""

    def stop(*_: object) -> None:
        say("stopping: running audits finish their requests in flight; they are resumed the next time")
        runs.stop()

    old_handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


# -- the list of audits

_OUTCOMES = {
    0: "done",
    EXIT_FINDING: "done, with findings",
    EXIT_MISTAKE: "mistake in its configuration",
    EXIT_UNFINISHED: "could not finish",
    EXIT_INTERRUPTED: "interrupted",
}


def row(audit: ScheduledAudit, now: datetime) -> dict[str, Any]:
    """Return the next run and the last result of an audit, as JSON values by the names of `schedule list`."""
    is_running = audit.last_run.is_running()
    due = audit.due(now)
    last_run = audit.last_run.read(now)
    return {
        "audit": audit.name,
        "schedule": audit.schedule.expression,
        "timezone": str(audit.schedule.zone or "UTC"),
        "next": (due.moment if due else audit.schedule.next_after(now)).isoformat(),
        "is_due": due is not None,
        "last_started": last_run.started.isoformat() if last_run.attempts else None,
        "last_ended": last_run.ended.isoformat() if last_run.ended else None,
        "outcome": outcome(last_run, is_running=is_running),
    }


def outcome(last_run: LastRun, *, is_running: bool) -> str:
    """Return the result of the last run of an audit in a few words.

    >>> outcome(LastRun(datetime(2026, 3, 1, tzinfo=UTC), attempts=1), is_running=False)
    'killed'
    """
    if is_running:
        return "running"
    if not last_run.attempts:
        return "not yet run"
    if last_run.ended is None:
        return "killed"
    return _OUTCOMES.get(
        last_run.exit_code if last_run.exit_code is not None else -1, f"exit code {last_run.exit_code}"
    )


def table(audit_rows: Iterable[dict[str, Any]]) -> Table:
    """Return the table of `schedule list`, from the results of `row`."""
    from rich.table import Table

    audit_table = Table("audit", "schedule", "next (UTC)", "last began (UTC)", "took", "outcome", box=None)
    for audit_row in audit_rows:
        end_time = datetime.fromisoformat(audit_row["last_ended"]) if audit_row["last_ended"] else None
        next_at = "now" if audit_row["is_due"] else _minute(audit_row["next"])
        audit_table.add_row(
            audit_row["audit"],
            audit_row["schedule"],
            next_at,
            _minute(audit_row["last_started"]),
            # The clock may have been set back during the run.
            str(max(end_time - datetime.fromisoformat(audit_row["last_started"]), timedelta())) if end_time else "",
            audit_row["outcome"],
        )
    return audit_table


def _minute(iso_time: str | None) -> str:
    return f"{datetime.fromisoformat(iso_time).astimezone(UTC):%Y-%m-%d %H:%M}" if iso_time else ""
