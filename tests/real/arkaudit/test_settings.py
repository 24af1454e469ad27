"""Every setting acts: the same command with two values of it does not do the same."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from pydantic import BaseModel

from arkaudit.cli import cli
from arkaudit.commands.options import SettingOption
from arkaudit.configuration.config_files import models
from arkaudit.configuration.settings import TABLE, settings_in
from arkaudit.hooks import plugins
from tests.real.library import sitemap
from tests.real.loopback import RawServer, reply, run_command, select

ROOT = Path(__file__).parents[3]
SITE = "http://site.example"
ARK = f"{SITE}/ark:/98765/x5"
PAGE = f"""<title>Site</title><p>See {ARK} and ark:98765/y6
<a href="/a.html">a</a> <a href="/hidden.html" rel="nofollow">hidden</a> <a href="/theses/t.html">t</a>
<a href="http://sub.site.example/s.html">s</a> <a href="http://files.example/d.txt">d</a>"""
RECORD = "<title>Deed of 1720</title><h1>Deed of 1720</h1><p>Parchment, with the seal of the town, kept since 1850."


class Meeting:
    """Counts the requests that a host has at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._present = self._most = 0

    def arrive(self) -> None:
        """Stay for half a second."""
        with self._lock:
            self._present += 1
            self._most = max(self._most, self._present)
        time.sleep(0.5)
        with self._lock:
            self._present -= 1

    def most(self) -> int:
        """Return the largest number of requests at once, and begin again."""
        most, self._most = self._most, 0
        return most


MEETING = Meeting()


def answer(target: str) -> bytes | None:
    """Return the answer of every host."""
    name = target.partition("?")[0]
    if name == "/far/20":
        return reply(body=RECORD)
    if name.startswith("/far/"):
        return reply("302 Found", Location=f"/far/{int(name[5:]) + 1}")
    if name == "/extra.xml":
        return reply(body=sitemap(f"{SITE}/extra.html")[0], media_type="text/xml")
    answers = {
        "/": PAGE,
        "/ark:/98765/x5": RECORD,
        "/ark:98765/y6": RECORD.replace("1720", "1730"),
        "/ark:/98765/far": reply("302 Found", Location="/far/13"),
        "/ark:/98765/busy": reply("503 Service Unavailable"),
        "/ark:/98765/wait": reply("503 Service Unavailable", Retry_After="3"),
        "/ark:/98765/no": reply("403 Forbidden"),
        "/ark:/98765/empty": "",
        "/ark:/98765/slow": RECORD,
    }
    if name == "/ark:/98765/slow":
        time.sleep(2)
    if name.startswith("/ark:/98765/together"):
        MEETING.arrive()
    if name in answers:
        found = answers[name]
        return reply(body=found) if isinstance(found, str) else found
    return reply(body="<title>A page</title><p>Text.") if name.endswith(".html") else reply("404 Not Found")


@dataclass
class Seen:
    """What a command did, as people and hosts see it."""

    folder: Path
    stdout: str
    stderr: str
    servers: tuple[RawServer, RawServer]

    @property
    def targets(self) -> set[str]:
        return {target for server in self.servers for target in server.targets}

    def asked(self, target: str) -> int:
        return sum(server.targets.count(target) for server in self.servers)

    def headers(self, name: str) -> set[str]:
        lines = (line for server in self.servers for head in server.heads for line in head.splitlines())
        return {line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name.lower()}:")}

    def outcome(self) -> list[str]:
        return [json.loads(line)["object"]["outcome"] for line in self.stdout.splitlines()]

    def report(self) -> str:
        return (self.folder / "report/report.md").read_text("utf-8")


CRAWL, RUN = ("crawl",), ("run", "--out", "report", "--format", "md", "--format", "csv")


def check(name: str = "x5", *options: str) -> tuple[str, ...]:
    return ("check", f"{SITE}/ark:/98765/{name}", *options)


@dataclass
class Case:
    """A command that does something else with another value of a setting."""

    values: tuple[object, object]
    command: tuple[str, ...]
    see: Callable[[Seen], object]
    others: Mapping[str, object] = field(default_factory=dict)
    """Settings that this needs, by dotted name."""
    before: tuple[str, ...] = ()
    """A command that runs before, with the same settings."""


def _due(state: str, name: str, **others: object) -> dict[str, Case]:
    """Return the cases of the intervals of a state, in which the ARK *name* is after a check."""
    return {
        f"recheck{part}.{state}": Case(
            (0, 30),
            ("recheck", "--store", "audit.db", "--dry-run"),
            lambda seen: seen.stdout + seen.stderr,
            {"politeness.attempts": 1, **others},
            before=check(name, "--store", "audit.db"),
        )
        for part in ("", ".naan", ".host")
    }


#: The key of a table of values, in the names of settings within it.
KEYS = {"hosts": SITE, "recheck.naan": "98765", "recheck.host": "site.example", "naans": "98765"}

CASES: dict[str, Case] = {
    "seeds": Case(([f"{SITE}/a.html"], [f"{SITE}/b.html"]), CRAWL, lambda seen: seen.targets),
    "store": Case(
        ("a.db", "b.db"), ("run",), lambda seen: [(seen.folder / name).exists() for name in ("a.db", "b.db")]
    ),
    "out": Case(("a", "b"), ("run",), lambda seen: [(seen.folder / name).exists() for name in ("a", "b")]),
    "inventory": Case(
        (None, "inventory.csv"), RUN, lambda seen: len((seen.folder / "report/tables/inventory.csv").read_text())
    ),
    "resolver": Case(
        ("http://site.example/", "http://files.example/"), ("check", "ark:98765/y6"), lambda seen: seen.headers("Host")
    ),
    "schedule": Case(("0 3 * * 1", "30 4 * * 2"), ("schedule", "list"), lambda seen: seen.stdout),
    "timezone": Case(
        ("UTC", "Asia/Tokyo"), ("schedule", "list", "--format", "json"), lambda seen: json.loads(seen.stdout)[0]["next"]
    ),
    "politeness.delay": Case((1, 30), check("x5", "--dry-run"), lambda seen: seen.stdout + seen.stderr),
    "politeness.timeout": Case((0.5, 30), check("slow"), lambda seen: seen.outcome(), {"politeness.attempts": 1}),
    "politeness.attempts": Case((1, 3), check("busy"), lambda seen: seen.asked("/ark:/98765/busy")),
    "politeness.backoff": Case(
        (0, 2), check("busy"), lambda seen: longest_pause(seen, "/ark:/98765/busy") > 1.5, {"politeness.attempts": 2}
    ),
    "politeness.longest_wait": Case(
        (1, 60), check("wait"), lambda seen: seen.asked("/ark:/98765/wait") > 1, {"politeness.attempts": 2}
    ),
    "politeness.user_agent": Case(("one/1", "two/2"), check(), lambda seen: seen.headers("User-Agent")),
    "politeness.contact": Case(("a@a.example", "b@b.example"), check(), lambda seen: seen.headers("User-Agent")),
    "network.connect_to": Case(
        (["site.example:80=127.0.0.1:{first}"], ["site.example:80=127.0.0.1:{second}"]),
        check(),
        lambda seen: [bool(server.targets) for server in seen.servers],
    ),
    "network.only_routed": Case(
        (False, True), ("check", "http://localhost:{first}/ark:/98765/x5"), lambda seen: seen.outcome()
    ),
    "network.allow_addresses": Case(
        ([], ["127.0.0.0/8"]),
        ("check", "http://localhost:{first}/ark:/98765/x5"),
        lambda seen: seen.outcome(),
        {"network.only_routed": False},
    ),
    "hosts.interval": Case((0.1, 50), check("x5", "--dry-run"), lambda seen: seen.stdout + seen.stderr),
    "hosts.concurrency": Case(
        (1, 4),
        ("check", *(f"{SITE}/ark:/98765/together{number}" for number in range(8))),
        lambda seen: MEETING.most() > 1,
        {"hosts.interval": 0},
    ),
    "hosts.headers": Case(({"X-Key": "one"}, {"X-Key": "two"}), check(), lambda seen: seen.headers("X-Key")),
    "hosts.cookies": Case(({"key": "one"}, {"key": "two"}), check(), lambda seen: seen.headers("Cookie")),
    "crawl.depth": Case((0, 1), CRAWL, lambda seen: seen.targets),
    "crawl.max_pages": Case((1, 9), CRAWL, lambda seen: len(seen.targets)),
    "crawl.max_time": Case(("0.001s", "1h"), CRAWL, lambda seen: len(seen.targets)),
    "crawl.scope": Case(("host", "site"), CRAWL, lambda seen: seen.targets),
    "crawl.include": Case(([], ["/theses/"]), CRAWL, lambda seen: seen.targets),
    "crawl.exclude": Case(([], ["/theses/"]), CRAWL, lambda seen: seen.targets),
    "crawl.content_hosts": Case(([], ["files.example"]), CRAWL, lambda seen: seen.targets),
    "crawl.ignore_nofollow": Case((False, True), CRAWL, lambda seen: seen.targets),
    "crawl.sitemaps": Case((False, True), CRAWL, lambda seen: seen.targets),
    **{
        f"crawl.oai.{name}": Case(values, ("crawl", "oai:http://site.example/oai"), lambda seen: seen.targets)
        for name, values in {
            "prefix": ("oai_dc", "mods"),
            "set": ("maps", "deeds"),
            "from": ("2026-01-01", "2026-02-01"),
            "until": ("2026-11-01", "2026-12-01"),
        }.items()
    },
    "resolve.max_hops": Case((5, 20), check("far"), lambda seen: seen.outcome()),
    "resolve.legacy_inflections": Case((False, True), check(), lambda seen: seen.targets),
    "log.file": Case(
        ("a.log", "b.log"), check(), lambda seen: (seen.folder / "a.log").exists(), {"log.level": "debug"}
    ),
    "log.level": Case(
        ("error", "debug"), check(), lambda seen: len((seen.folder / "a.log").read_text()), {"log.file": "a.log"}
    ),
    "log.format": Case(
        ("text", "json"),
        check(),
        lambda seen: (seen.folder / "a.log").read_text().startswith("{"),
        {"log.file": "a.log", "log.level": "debug"},
    ),
    "memento.timegate": Case(
        ("http://files.example/web/", "http://files.example/memento/"),
        ("run", f"list:{SITE}/none.html", "ark.txt"),
        lambda seen: {target for target in seen.targets if "/web/" in target or "/memento/" in target},
    ),
    **_due("healthy", "x5"),
    **_due("failing", "gone"),
    **_due("confirmed_broken", "gone", **{"recheck.strikes": 1, "recheck.strike_days": 0}),
    **_due("blocked", "no"),
    **_due("undetermined", "empty"),
    "recheck.strikes": Case(
        (1, 3), check("gone", "--store", "audit.db"), lambda seen: states(seen), {"recheck.strike_days": 0}
    ),
    "recheck.strike_days": Case(
        (0, 7), check("gone", "--store", "audit.db"), lambda seen: states(seen), {"recheck.strikes": 1}
    ),
    "naans.check_character": Case((True, False), ("extract", "ark.txt"), lambda seen: seen.stdout),
    "report.lang": Case(("en", "fr"), RUN, lambda seen: seen.report()),
    "known.file": Case((None, "known.csv"), RUN, lambda seen: seen.report()),
}
#: Settings that need a browser, a mail server or an archive, with the file of the test; others with the reason.
ELSEWHERE = {
    "name": "the key of the table of a named audit",
    "jobs": "results do not depend on it",
    "identity.key": "real/features/identity/test_identity.py",
    "identity.agent": "real/features/identity/test_identity.py",
    "network.ca_file": "real/features/registry/test_registry.py",
    "resolve.maptr": "real/crawler/test_maptr.py",
    "resolve.direct": "real/crawler/test_asking.py",
    "memento.max_age": "real/crawler/test_archived_copies.py",
    **{
        f"render.{name}": "real/features/rendering/test_rendering.py"
        for name in ("enabled", "browser", "max_requests", "max_bytes", "seconds")
    },
    **{
        f"notify.{name}": "real/arkaudit/test_notify.py"
        for name in ("on", "file", "command", "urls", "format", "monthly")
    },
    "notify.issue": "real/features/living_issue/test_living_issue.py",
    "report.url": "real/arkaudit/test_notify.py",
    "overview.out": "real/features/overview/test_overview.py",
}


def states(seen: Seen) -> list[Any]:
    return select(seen.folder / "audit.db", "SELECT state FROM latest")


def longest_pause(seen: Seen, target: str) -> float:
    """Return the longest time between two requests for *target*, in seconds."""
    times = [
        moment for server in seen.servers for line, moment in zip(server.request_lines, server.times, strict=True)
        if line.split(" ")[1] == target
    ]  # fmt: skip
    return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0)


def setting_names(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings; the keys of tables such as ``[hosts."a.example"]`` are left out."""
    for name, declared in section.model_fields.items():
        place = f"{prefix}{declared.alias or name}"
        kinds = [kind for kind in (declared.annotation, *get_args(declared.annotation)) if isinstance(kind, type)]
        inner = next((kind for kind in kinds if issubclass(kind, BaseModel)), None)
        if inner is None:
            yield place
        else:
            yield from setting_names(inner, f"{place}.")


def toml(value: object) -> str:
    """Return a value as inline TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


def put(settings: dict[str, Any], name: str, value: object) -> None:
    """Set the setting of a dotted name; None leaves it out."""
    if value is None:
        return
    *sections, key = name.split(".")
    place = ""
    for section in sections:
        settings = settings.setdefault(section, {})
        place = f"{place}.{section}".strip(".")
        if place in KEYS:
            settings = settings.setdefault(KEYS[place], {})
    settings[key] = value


@pytest.mark.parametrize("name", sorted(setting_names(models()["Config"])))
def test_setting_acts(name: str, tmp_path: Path) -> None:
    if name in ELSEWHERE:
        place = ROOT / "tests" / ELSEWHERE[name]
        key = name.rpartition(".")[2]
        assert place.suffix != ".py" or key in place.read_text("utf-8").replace("-", "_"), "the test does not name it"
        return
    assert name in CASES, f"add a row for {name} to CASES: a command that does something else with another value of it"
    case = CASES[name]
    seen = [observe(case, name, value, tmp_path / str(number)) for number, value in enumerate(case.values)]
    assert seen[0] != seen[1]


def observe(case: Case, name: str, value: object, folder: Path) -> object:
    """Return what is seen of the command of *case* with this *value* of the setting *name*."""
    folder.mkdir()
    (folder / "ark.txt").write_text(f"see {SITE}/ark:/98765/gone and ark:98765/abc\n")
    (folder / "inventory.csv").write_text("ark\nark:98765/x5\nark:98765/lost\n")
    (folder / "known.csv").write_text("what,state,reason,until,who\nark:98765/*,broken,a test,,\n")
    robots = reply(body=f"User-agent: *\nAllow: /\nSitemap: {SITE}/extra.xml\n", media_type="text/plain")
    with RawServer(answer, robots=robots) as first, RawServer(answer, robots=robots) as second:
        ports = {"first": first.port, "second": second.port}
        settings: dict[str, Any] = {}
        hosts = ("site.example", "sub.site.example", "files.example")
        base = {
            "seeds": [f"{SITE}/"],
            "network.connect_to": [f"{host}:80=127.0.0.1:{first.port}" for host in hosts],
            "network.only_routed": True,
            "network.allow_addresses": ["127.0.0.0/8"],
            "politeness.delay": 0,
            "politeness.backoff": 0,
            "resolver": f"{SITE}/",
        }
        for key, given in {**base, **case.others, name: value}.items():
            put(settings, key, given)
        if case.command[0] == "schedule":
            settings["audits"] = {"a": {"schedule": "0 3 * * 1"} | ({"schedule": value} if name == "schedule" else {})}
            settings.pop("schedule", None)
        text = "".join(f"{key} = {toml(given)}\n" for key, given in settings.items())
        (folder / "arkaudit.toml").write_text(filled(text, ports))
        for command in (case.before, case.command):
            if command:
                arguments = [filled(argument, ports) for argument in command]
                done = run_command(*arguments, "-c", "arkaudit.toml", folder=folder)
                assert done.returncode in (0, 3), done.stderr
        return case.see(Seen(folder, done.stdout, done.stderr, (first, second)))


def filled(text: str, ports: Mapping[str, int]) -> str:
    for name, port in ports.items():
        text = text.replace(f"{{{name}}}", str(port))
    return text


def commands(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    """Yield the commands of a group and of the groups in it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, context) if isinstance(command, click.Group) else [command]


def test_every_option_in_the_table_belongs_to_a_command() -> None:
    options = [
        option
        for command in commands(cli, click.Context(cli))
        for option in command.params
        if isinstance(option, SettingOption)
    ]
    assert len(options) > 100
    added = (
        row
        for kinds in plugins().hook.settings()
        for name, kind in kinds.items()
        for row in settings_in(kind, f"{name}.")
    )
    in_table = {name for name, row in (*TABLE.items(), *added) if row.option}
    words = "add setting_options(NAME) to the commands that use it, or added_options(SECTION) for a plug-in"
    assert {option.name for option in options} == in_table, words
