"""Check the requirements of an audit on this machine, without a request."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from platform import platform, python_version
from urllib.parse import urlsplit
from urllib.request import getproxies

from rich.table import Table
from rich.text import Text

from arkaudit import __version__
from arkaudit.configuration.config import Config
from arkaudit.configuration.config_files import ConfigError, load_audits
from arkaudit.output.exits import EXIT_FINDING
from arkaudit.output.output_rows import print_whole, write_json
from arkaudit.own_packages import NAMES, WAYS_OUT, foreign_packages
from crawler.model.registry import cache_folder, load_registry
from crawler.rendering import find_browser
from extractors.isolated import PARSING_BYTES
from extractors.model.errors import ArkauditError
from extractors.model.files import is_folder, path_exists
from extractors.model.naan import Registry
from extractors.processes.sandbox import SandboxMeasure, active_measures
from extractors.processes.worker import Worker, WorkerError
from reports.languages.display import count_noun, escape_invisible

#: Age in days from which a copy of the NAAN registry is called old. New NAANs are assigned every week.
OLD_DAYS = 90


class State(StrEnum):
    """The result of a check."""

    GOOD = "good"
    NOTE = "note"
    """An audit works without it, but does less, or is less polite."""
    FAULT = "fault"
    """An audit would fail, or would not be safe."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of a check and its message."""

    name: str
    state: State
    words: str


def _good(name: str, words: str) -> Diagnosis:
    return Diagnosis(name, State.GOOD, words)


def _note(name: str, words: str) -> Diagnosis:
    return Diagnosis(name, State.NOTE, words)


def _fault(name: str, words: str) -> Diagnosis:
    return Diagnosis(name, State.FAULT, words)


#: The extras of pyproject.toml: the module that each installs, and its purpose.
EXTRAS: Mapping[str, tuple[str, str]] = {
    "duckdb": ("duckdb", "datasets"),
    "dns": ("dns", "resolve.maptr, the historical look-up of NAANs"),
    "cluster": ("distributed", "dataset make --workers"),
    "render": ("playwright", "pages that only a browser shows"),
    "s3": ("s3fs", "documents and datasets on object storage"),
    "schedule": ("cronsim", "audits on a schedule"),
    "xlsx": ("xlsxwriter", "report --format xlsx"),
    "notify": ("apprise", "notifications by mail, chat and webhooks"),
    "identity": ("http_message_signatures", "signed requests ([identity])"),
    "demo": ("arklet", "demo"),
}


def examine(config_file: Path | None, store: Path | None, *, show: str) -> None:
    """Print the results of all checks, as JSON if *show* is "json"; exit with 1 if an audit would fail.

    Without *config_file*, ``arkaudit.toml`` is checked if it exists.
    """
    rows = list(_diagnose(config_file, store))
    if show == "json":
        write_json([asdict(row) for row in rows])
    else:
        styles = {State.GOOD: "green", State.NOTE: "yellow", State.FAULT: "bold red"}
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for row in rows:
            state = Text(row.state.value, style=styles[row.state])
            table.add_row(state, Text(row.name), Text(escape_invisible(row.words)))
        print_whole(table)
    if any(row.state is State.FAULT for row in rows):
        sys.exit(EXIT_FINDING)


def _diagnose(config_file: Path | None, store: Path | None) -> Iterator[Diagnosis]:
    words = f"{__version__}, Python {python_version()}, {platform(terse=True)}"
    yield _good("arkaudit", words)
    yield diagnose_extras({name: find_spec(module) is not None for name, (module, _) in EXTRAS.items()})
    yield diagnose_names(dict(foreign_packages([str(Path.cwd()), *filter(None, sys.path)])))
    yield diagnose_sandbox(_means_held)
    yield diagnose_browser(find_browser(), is_root=os.geteuid() == 0)
    file = config_file or Path("arkaudit.toml")
    if config_file is None and not path_exists(file):
        words = "none: there is no arkaudit.toml here; name another file by -c"
        yield _note("configuration", words)
        yield diagnose_contact({None: Config()})
    else:
        try:
            audits = load_audits(file)
        except ConfigError as mistake:
            yield _fault("configuration", str(mistake))
        else:
            names = ", ".join(name for name in audits if name)
            held = f", with {count_noun(len(audits) - 1, 'named audit')}: {names}" if names else ""
            yield _good("configuration", f"{file} is valid{held}")
            yield diagnose_contact(audits)
            yield diagnose_archive(audits)
            yield diagnose_hosts(audits)
            variables = {name for config in audits.values() for name in config.notify.variables}
            for name in sorted(variables):
                if not os.environ.get(name):
                    words = f"set the environment variable {name}, which [notify] uses"
                    yield _fault("notify", words)
            yield from diagnose_run(audits, store)
            yield from diagnose_stores(audits, store)
            store = None
    if store is not None:
        yield diagnose_store(store)
    yield diagnose_cache(cache_folder())
    yield diagnose_registry(load_registry(), datetime.now(UTC))
    yield diagnose_proxies(getproxies())


def diagnose_extras(is_installed: Mapping[str, bool]) -> Diagnosis:
    """Report the installed extras.

    >>> diagnose_extras({"dns": True, "demo": False}).words
    "dns. Not installed: demo (demo). To install one: pip install 'arkaudit[demo]'"
    """
    here = ", ".join(name for name, is_here in is_installed.items() if is_here) or "none"
    missing = [name for name, is_here in is_installed.items() if not is_here]
    if not missing:
        return _good("extras", here)
    lacking = ", ".join(f"{name} ({EXTRAS[name][1]})" for name in missing)
    install = f"To install one: pip install 'arkaudit[{missing[0]}]'"
    return _note("extras", f"{here}. Not installed: {lacking}. {install}")


def diagnose_names(foreign: Mapping[str, str]) -> Diagnosis:
    """Report foreign modules with the name of a package of arkaudit; *foreign* maps names to files.

    >>> diagnose_names({"crawler": "/project/crawler/__init__.py"}).words.partition(":")[0]
    '/project/crawler/__init__.py has the name of a package of arkaudit'
    """
    if not foreign:
        words = f"no other package here is called {', '.join(NAMES[:-1])} or {NAMES[-1]}"
        return _good("names", words)
    files = ", ".join(foreign.values())
    words = f"{files} has the name of a package of arkaudit: a program here imports only one of the two"
    return _note("names", f"{words}; {WAYS_OUT}")


def _means_held() -> frozenset[SandboxMeasure]:
    with Worker(active_measures, memory_bytes=PARSING_BYTES) as worker:
        return worker.call()


def diagnose_sandbox(means_held: Callable[[], frozenset[SandboxMeasure]]) -> Diagnosis:
    """Report how processes that parse documents are confined; *means_held* starts one and returns its mechanisms.

    >>> diagnose_sandbox(lambda: frozenset(SandboxMeasure)).words
    'documents are parsed in a process that the kernel confines (landlock, seccomp)'
    """
    try:
        means = means_held()
    except WorkerError as failure:
        words = f"the process that parses documents can't be started: {failure}"
        return _fault("parsing", words)
    missing = " or ".join(mean.value for mean in SandboxMeasure if mean not in means)
    if missing:
        words = (
            f"this system doesn't confine the process that parses documents by {missing}; "
            "its memory and its time are still limited"
        )
        return _note("parsing", words)
    words = "documents are parsed in a process that the kernel confines"
    return _good("parsing", f"{words} ({', '.join(mean.value for mean in SandboxMeasure)})")


def diagnose_browser(browser: Path | None, *, is_root: bool) -> Diagnosis:
    """Report the Chromium for pages that need JavaScript.

    >>> diagnose_browser(Path("/usr/bin/chromium"), is_root=False).words
    '/usr/bin/chromium renders pages that need JavaScript, if [render] is enabled'
    """
    if browser is None:
        words = "no Chromium on the PATH: for [render], name one as render.browser"
        return _note("browser", words)
    words = "renders pages that need JavaScript, if [render] is enabled"
    if is_root:
        return _note("browser", f"{browser} {words}; under root it has no sandbox")
    return _good("browser", f"{browser} {words}")


def diagnose_contact(audits: Mapping[str | None, Config]) -> Diagnosis:
    """Report whether requests name a contact.

    >>> diagnose_contact({None: Config()}).state
    <State.NOTE: 'note'>
    """
    anonymous = [name or "the top" for name, config in audits.items() if config.is_anonymous]
    if not anonymous:
        contacts = {config.politeness.contact or config.user_agent for config in audits.values()}
        return _good("contact", f"hosts can write to {', '.join(sorted(contacts))}")
    where = f" ({', '.join(anonymous)})" if len(audits) > 1 else ""
    advice = 'set politeness.contact = "you@example.org", or give --contact'
    return _note("contact", f"hosts can't tell who is asking{where}: {advice}")


def diagnose_archive(audits: Mapping[str | None, Config]) -> Diagnosis:
    """Report the archives that are asked about failing ARKs.

    >>> diagnose_archive({None: Config()}).words
    'no archive is asked about ARKs that fail: [memento] timegate names one'
    """
    gates = {name or "the top": config.memento.timegate for name, config in audits.items()}
    asked = ", ".join(sorted({gate for gate in gates.values() if gate}))
    if not asked:
        words = "no archive is asked about ARKs that fail: [memento] timegate names one"
        return _good("archive", words)
    without = ", ".join(name for name, gate in gates.items() if not gate)
    rest = f"; not by {without}" if without else ""
    return _good("archive", f"{asked} is asked about ARKs that fail{rest}")


def diagnose_hosts(audits: Mapping[str | None, Config]) -> Diagnosis:
    """Report the hosts that get credentials, without the secrets. The configuration is valid here, so these are there."""
    hosts = [named for config in audits.values() for named in config.hosts.items()]
    shown = ", ".join(sorted({name for name, host in hosts if host.headers or host.cookies}))
    if not shown:
        words = 'none: no host gets credentials ([hosts."NAME"])'
        return _good("credentials", words)
    return _good("credentials", f"headers or cookies go to {shown}; their secrets and files are there")


def diagnose_run(audits: Mapping[str | None, Config], store: Path | None) -> Iterator[Diagnosis]:
    """Report the mistakes for which `run` would refuse each audit; those of its store are reported apart."""
    from arkaudit.upkeep.preflight import checks_before_run
    from crawler.spiders.seeds import Seeds

    named = {name: config for name, config in audits.items() if name}
    for name, config in (named or audits).items():
        store_file = store or config.store or Path("audit.db")
        checks: dict[str, Callable[[], object]] = {**checks_before_run(config, store_file, config.out)}
        checks["seeds"] = partial(Seeds.parse, config.seeds, takes_logs=True)
        for topic, check in checks.items():
            try:
                if topic != "store":
                    check()
            except (ArkauditError, OSError) as problem:
                yield _fault(topic, f"{name}: {problem}" if name else str(problem))


def diagnose_stores(audits: Mapping[str | None, Config], given: Path | None = None) -> Iterator[Diagnosis]:
    """Report on the *given* store, or on those of the audits."""
    if given is not None:
        yield diagnose_store(given)
        return
    top = audits[None].store
    stores = {name: config.store for name, config in audits.items() if name and config.store}
    for name, store in stores.items() or ([("audit", top)] if top else []):
        if os.path.lexists(store):
            yield diagnose_store(store)
        else:
            words = f"{store} doesn't exist yet: the first run of {name} makes it"
            is_possible = is_folder(store.parent)
            yield _good("store", words) if is_possible else _fault("store", f"{store}: there is no such folder")


def diagnose_store(store: Path) -> Diagnosis:
    """Report the number of runs and the size of *store*, or why it can't be used."""
    from crawler.store import StoreError
    from reports.store.store_reading import read_store

    try:
        runs = read_store(store, lambda connection: connection.exec_driver_sql("SELECT count(*) FROM run").scalar_one())
    except StoreError as problem:
        return _fault("store", str(problem))
    megabytes = f"{store.stat().st_size / 1e6:,.1f} MB"
    if not os.access(store, os.W_OK):
        return _fault("store", f"{store} can't be written to")
    return _good("store", f"{store} has {count_noun(runs, 'run')}, {megabytes}")


def diagnose_cache(folder: Path) -> Diagnosis:
    """Report whether the cache folder is usable, through which audits of this machine share the pace of hosts."""
    shared = "holds the pace of each host and the NAAN registry"
    is_new = False
    try:
        is_new = not path_exists(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        words = f"{folder} can't be used: {problem.strerror or problem}; set ARKAUDIT_CACHE to another folder"
        return _fault("cache", words)
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
    return _good("cache", f"{folder} {shared}")


def diagnose_registry(registry: Registry, now: datetime) -> Diagnosis:
    """Report the age of the copy of the NAAN registry.

    >>> diagnose_registry(Registry.builtin(), datetime.now(UTC)).state
    <State.NOTE: 'note'>
    """
    advice = "run arkaudit registry update to fetch the newest"
    if registry.warning:
        return _note("NAAN registry", registry.warning)
    days = None if registry.fetched_at is None else (now - registry.fetched_at).days
    if days is not None:
        words = f"fetched {count_noun(days, 'day')} ago from {registry.source}"
    elif registry.source == "built in":
        words = "only a few well-known NAANs, built in"
    else:
        words = registry.source
    if days is None or days > OLD_DAYS:
        return _note("NAAN registry", f"{words}; {advice}")
    return _good("NAAN registry", words)


def diagnose_proxies(proxies: Mapping[str, str]) -> Diagnosis:
    """Report the proxies of requests, without the passwords in their addresses.

    >>> diagnose_proxies({"https": "http://me:secret@proxy.example:3128"}).words
    'requests go through https: proxy.example:3128'
    """
    used = []
    for scheme in ("http", "https"):
        if url := proxies.get(scheme):
            host = urlsplit(url).netloc.rpartition("@")[2] or url.rpartition("@")[2]
            used.append(f"{scheme}: {host}")
    if not used:
        return _good("proxy", "none")
    return _note("proxy", f"requests go through {', '.join(used)}")
