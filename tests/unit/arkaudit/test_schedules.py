"""The configuration of named audits, and the file that notes their last run."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arkaudit.configuration.schedule import Schedule
from arkaudit.schedules.last_run import AuditRunning, Due, LastRun, LastRunFile, due_now
from extractors.model.errors import UserMistake
from tests.real.loopback import RawServer

CONFIGURATION = """
[politeness]
delay = 0
backoff = 0
timeout = 900
contact = "librarian@example.org"

[network]
only_routed = true
allow_addresses = ["127.0.0.0/8"]

[resolve]
legacy_inflections = false

[audits.theses]
seeds = ["theses.txt"]
schedule = "{schedule}"
"""


def write_configuration(folder: Path, server: RawServer | None, *, schedule: str = "0 3 * * *", arks: int = 1) -> Path:
    file = folder / "arkaudit.toml"
    file.write_text(CONFIGURATION.format(schedule=schedule))
    url = server.url if server else "https://n2t.net"
    (folder / "theses.txt").write_text("\n".join(f"{url}/ark:/12148/x{number}" for number in range(arks)))
    return file


#: The first look at a schedule, last year.
SEEN = {"started": "2025-01-01T00:00:00+00:00", "due": None, "ended": None, "exit_code": None, "attempts": 0}


def seen_long_ago(folder: Path, **values: Any) -> Path:
    """Write a file that knows the schedule since last year."""
    file = file_of(folder)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(SEEN | values))
    return file


def file_of(folder: Path) -> Path:
    return folder / ".arkaudit" / "theses.json"


def test_a_named_audit_has_the_values_of_the_top_and_its_own_over_them(tmp_path: Path) -> None:
    from arkaudit.configuration.config_files import load

    file = write_configuration(tmp_path, None)
    file.write_text(file.read_text() + "\n[audits.theses.politeness]\ntimeout = 7\n")
    audit = load(file, {}, audit="theses")
    assert (audit.politeness.timeout, audit.politeness.contact) == (7, "librarian@example.org")
    assert (audit.store, audit.seeds) == (tmp_path / "theses.db", [str(tmp_path / "theses.txt")])


DAMAGED = {
    "nothing": "",
    "a brace": "{",
    "a list": "[]",
    "null": "null",
    "no beginning": json.dumps(SEEN | {"started": None}),
    "a beginning that is a word": json.dumps(SEEN | {"started": "garbage"}),
    "a beginning that is a number": json.dumps(SEEN | {"started": 1764000000}),
    "a beginning before all time": json.dumps(SEEN | {"started": "0001-01-01T00:00:00+14:00"}),
    "no number": json.dumps(SEEN).replace("0}", "NaN}"),
    "a huge number": json.dumps(SEEN).replace("0}", "9" * 5000 + "}"),
    "a code that is a text": json.dumps(SEEN | {"exit_code": "0"}),
    "an end that is a list": json.dumps(SEEN | {"ended": [1]}),
    "a missing value": '{"started": "2026-03-01T00:00:00Z"}',
    "a deep nest": "[" * 100_000,
    "bytes": "\ud800",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_file_is_refused_and_stays(text: str, tmp_path: Path) -> None:
    file = seen_long_ago(tmp_path)
    file.write_bytes(data := text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UserMistake, match=r"^the last run in .*theses\.json can't be read: it holds no run"):
        LastRunFile(file.parent, "theses").read(NOW)
    assert file.read_bytes() == data


def test_pipe_is_no_last_run(tmp_path: Path) -> None:
    file = seen_long_ago(tmp_path)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UserMistake, match="it is not a file"):
        LastRunFile(file.parent, "theses").read(NOW)


NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)

NEXT_YEAR = "2027-11-27T03:00:00+00:00"


def test_future_times_are_reset_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = dict.fromkeys(("started", "due", "ended"), NEXT_YEAR)
    file = LastRunFile(seen_long_ago(tmp_path, **times, exit_code=0, attempts=1).parent, "theses")
    last = file.read(NOW)
    assert capsys.readouterr().err.count("\n") == 1
    assert last == LastRun(NOW, NOW, NOW, 0, 1)
    tomorrow = NOW + timedelta(days=1)
    assert (file.read(tomorrow), capsys.readouterr().err) == (last, "")
    daily = Schedule("0 3 * * *")
    assert due_now(daily, last, NOW) is None
    assert due_now(daily, last, tomorrow) == Due(datetime(2026, 11, 28, 3, tzinfo=UTC))


def test_moment_that_another_has_run_for_is_not_run_again(tmp_path: Path) -> None:
    file = LastRunFile(seen_long_ago(tmp_path).parent, "theses")
    due = datetime(2026, 3, 1, 12, tzinfo=UTC)
    with file.turn(due=due):
        pass
    with pytest.raises(AuditRunning, match="has run for 2026-03-01 12:00 UTC already"), file.turn(due=due):
        pass
