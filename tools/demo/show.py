"""`make demo`: start the loopback web, run the command on it as a user would, and show the result."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from arkaudit.commands.schedule_command import OWN_PROCESS
from crawler.model.registry import CACHE_VARIABLE
from reports.exports import check_out
from tools.demo.resolvers import ARKLET_NAMES, HOSTS, TOO_SLOW_S
from tools.demo.web import ARKLET_HOST, SEED, LoopbackWeb

#: Formats of the demo's report.
FORMATS = ("html", "csv", "md")
#: The demo owns its hosts, so it does not wait between requests.
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
    """Return an ``arkaudit.toml`` that routes the hosts of the demo to the loopback web and fails other names."""
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
    """Give the path of an ``arkaudit.toml`` whose hosts answer on loopback until the context ends.

    No packet leaves this machine. The *store* is next to the file by default.
    """
    with LoopbackWeb() as web, tempfile.TemporaryDirectory(prefix="arkaudit-demo-") as folder:
        config = Path(folder, "arkaudit.toml")
        config.write_text(configuration(web, store or Path(folder, "audit.db")), "utf-8")
        yield config


def show(out: Path, console: Console, *, lang: str | None = None) -> int:
    """Run the demo, write its report to the folder *out* in the language *lang*, and return the exit code of the audit.

    Raises `UserMistake` before the audit if the report can't be written there.
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
        # An empty cache, so that only built-in NAANs are known and the report is the same on every machine.
        environment = {**os.environ, CACHE_VARIABLE: str(folder)}
        code = subprocess.run([*command, *formats], check=False, cwd=folder, env=environment).returncode
        if code == 0:
            tested = ["conform", f"https://{ARKLET_HOST}/", "--ark", f"ark:13960/{ARKLET_NAMES[0]}"]
            command = [*OWN_PROCESS, *tested, "-c", str(config), "--quiet"]
            done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
            last = (done.stderr if done.returncode else done.stdout).splitlines()[-1]
            words = f"\n$ {' '.join(['arkaudit', *tested])}\n{last}\n"
            console.print(words, highlight=False, markup=False, soft_wrap=True)
    if code == 0:
        console.print(closing_words(out), highlight=False, markup=False, soft_wrap=True)
    return code


def opening_words(out: Path, options: Sequence[str] = ()) -> str:
    """Return the text before the audit."""
    shown = " ".join(["arkaudit run -c arkaudit.toml --out", out.name, *options])
    return (
        f"A library's site, Internet Archive's arklet and {len(HOSTS)} other hosts answer on loopback; "
        f"no packet leaves this machine.\n\n$ {shown}"
    )


def closing_words(out: Path) -> str:
    """Return the text after the audit."""
    return (
        f"Open that page in a browser. The tables are in {out / 'tables'}, "
        f"every request and answer in {out / 'audit.db'}."
    )
