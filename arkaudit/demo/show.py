"""`arkaudit demo`: the loopback web is started, the command is run on it as a user would, and the result is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from rich.console import Console

from arkaudit.__main__ import OWN_PROCESS
from arkaudit.demo.resolvers import HOSTS, TOO_SLOW_S
from arkaudit.demo.web import SEED, LoopbackWeb
from crawler.model.registry import CACHE_VARIABLE
from reports.definitions import TableDefinition
from reports.exports import check_out
from reports.formats.comma_separated import csv_text
from reports.formats.markdown_report import markdown
from reports.formats.report import Report
from reports.frames import load_frames
from reports.summary import REQUESTS_SENT
from reports.tables import TABLES

#: What the demo's report is made of.
FORMATS = ("html", "csv", "md")
#: The demo owns its hosts, so it need not wait between requests to them.
_CONFIGURATION = """\
# The configuration of the demo: it is the operator of all hosts, so their interval is 0.
seeds = ["{seed}"]
store = "{store}"

[politeness]
delay = 0
backoff = 0
timeout = {timeout}
contact = "demo@{host}"

[network]
only_routed = true
ca_file = "{ca_file}"
connect_to = [
{connect_to}
]
"""


def configuration(web: LoopbackWeb, store: Path) -> str:
    """An ``arkaudit.toml`` that leads every host of the demo to the loopback web, and no other name anywhere."""
    return _CONFIGURATION.format(
        seed=SEED,
        store=store,
        host="library.example",
        timeout=TOO_SLOW_S / 3,
        ca_file=web.ca_file,
        connect_to="\n".join(f'    "{route}",' for route in web.connect_to),
    )


@contextmanager
def loopback_audit(store: Path | None = None) -> Iterator[Path]:
    """Give an ``arkaudit.toml`` whose hosts all answer on this machine's loopback, as long as the context lasts.

    For trying things out: no packet leaves this machine. The *store* is next to it unless another file is named.
    """
    with LoopbackWeb() as web, tempfile.TemporaryDirectory(prefix="arkaudit-demo-") as folder:
        config = Path(folder, "arkaudit.toml")
        config.write_text(configuration(web, store or Path(folder, "audit.db")), "utf-8")
        yield config


def show(out: Path, console: Console, *, lang: str | None = None) -> int:
    """Run the demo, with a report in the language of this code; returns the exit code of the audit.

    Raises `reports.exports.ReportUnwritable`, before anything has begun.
    """
    out = out.absolute()
    check_out(out, FORMATS)
    out.mkdir(parents=True, exist_ok=True)
    with loopback_audit(out / "audit.db") as config:
        folder = config.parent
        spoken = ["--lang", lang] if lang else []
        console.print(opening_words(out, spoken), highlight=False, markup=False, soft_wrap=True)
        command = [*OWN_PROCESS, "run", "-c", str(config), "--out", str(out), *spoken]
        formats = [word for name in FORMATS for word in ("--format", name)]
        # What is known of NAANs is what is built in, so that the report is the same on every machine.
        environment = {**os.environ, CACHE_VARIABLE: str(folder)}
        code = subprocess.run([*command, *formats], check=False, cwd=folder, env=environment).returncode
    if code == 0:
        console.print(closing_words(out), highlight=False, markup=False, soft_wrap=True)
    return code


def opening_words(out: Path, options: Sequence[str] = ()) -> str:
    """Return what is said before the audit."""
    shown = " ".join(["arkaudit run -c arkaudit.toml --out", out.name, *options])
    return (
        f"A library's site, Internet Archive's arklet and {len(HOSTS)} other hosts answer on loopback; "
        f"no packet leaves this machine.\n\n$ {shown}"
    )


def closing_words(out: Path) -> str:
    """Return where to look next."""
    return (
        f"Open that page in a browser. The tables are in {out / 'tables'}, "
        f"every request and answer in {out / 'audit.db'}."
    )


# The demo's report as examples for the documentation: what is the same in every run of the demo.

#: Tables whose very rows depend on which answer came first (which ARK represents its shoulder is a matter of chance),
#: or that hold nothing but times.
LEFT_OUT = frozenset({"requests", "conformance", "outages", "persistence", "runs"})
#: How often a host that is silent was asked depends on what else was going on.
_ATTEMPTS = re.compile(r"; asked \d+ times(?:; before: [\w ,-]+)?")
#: How long the attempts of a question took, and how many questions that made of an ARK.
_TIMES = re.compile(r" over [0-9]+ s\b|[0-9]+ questions asked about [^;\n]*;? ?")


#: When it was: the day of the demo, and its moments.
_MOMENTS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2} UTC)?")
_SOME_DAY = "2026-11-01"


def examples(store: Path) -> Mapping[str, str]:
    """The files of the documentation by name: tables as CSV without columns of time and cost, and the summary.

    All days are one. Left out are the columns that a definition says vary, the counts of requests and of attempts, and
    the tables `LEFT_OUT`.
    """
    report = Report.of(load_frames(store))
    tables = {
        f"{definition.name}.csv": csv_text(_without_chance(report, definition))
        for definition in TABLES
        if definition.name not in LEFT_OUT
    }
    lines = (line for line in markdown(report).splitlines() if "requests sent" not in line)
    texts = {**tables, "report.md": _MOMENTS.sub(_SOME_DAY, "\n".join(lines)) + "\n"}
    return {name: _TIMES.sub("", _ATTEMPTS.sub("", text)) for name, text in texts.items()}


def _without_chance(report: Report, definition: TableDefinition) -> pd.DataFrame:
    table = report.tables[definition.name][[column.name for column in definition.columns if not column.varies]]
    return table[table["measure"].ne(REQUESTS_SENT)] if definition.name == "summary" else table


def write(store: Path, folder: Path) -> None:
    """Bring the examples in *folder* up to date."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in examples(store).items():
        (folder / name).write_bytes(text.encode())  # as it is: cells hold line breaks of every kind


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
