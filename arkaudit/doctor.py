"""Look at what an audit needs: whether everything is here, without any request."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from platform import platform, python_version
from urllib.parse import urlsplit
from urllib.request import getproxies

from rich.console import Console
from rich.table import Table
from rich.text import Text

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.config_files import ConfigError, load_audits
from arkaudit.exits import EXIT_FINDING
from arkaudit.output_rows import whole, write
from arkaudit.own_packages import NAMES, WAYS_OUT, foreign_packages
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from crawler.rendering import find_browser
from extractors.isolated import PARSING_BYTES
from extractors.model.naan import Registry
from extractors.processes.sandbox import Means, held
from extractors.processes.worker import Worker, WorkerError
from reports.languages.display import counted, escaped

#: Days after which a copy of the NAAN registry is called old: new NAANs are assigned every week.
OLD_DAYS = 90


class State(StrEnum):
    """The state of one thing that was looked at."""

    GOOD = "good"
    NOTE = "note"
    """An audit works without it, but does less, or is less polite."""
    FAULT = "fault"
    """An audit would fail, or would not be safe."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at, and what is to be said of it."""

    name: str
    state: State
    words: str


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of the package: the module that it brings, and what that is for."""

    module: str
    purpose: str


#: The extras of pyproject.toml, by name.
EXTRAS: Mapping[str, Extra] = {
    "duckdb": Extra("duckdb", "report --dataset"),
    "dns": Extra("dns", "resolve.maptr, the historical look-up of NAANs"),
    "cluster": Extra("distributed", "extract --workers"),
    "render": Extra("playwright", "pages that only a browser shows"),
    "s3": Extra("s3fs", "documents and datasets on object storage"),
    "schedule": Extra("cronsim", "audits on a schedule"),
    "xlsx": Extra("xlsxwriter", "report --format xlsx"),
    "notify": Extra("apprise", "notifications by mail, chat and webhooks"),
    "demo": Extra("arklet", "demo"),
}


def examine(config_file: Path | None, store: Path | None, *, show: str) -> None:
    """Print what is here and what is not; exit with 1 if an audit would fail.

    *config_file* is looked at if it is there; it must be, if it was named. With *show* "json" it is JSON.
    """
    rows = list(_examined(config_file, store))
    if show == "json":
        write(
            json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False) + "\n",
            sys.stdout,
        )
    else:
        console = Console()
        with whole(console):
            console.print(_table(rows))
    if any(row.state is State.FAULT for row in rows):
        sys.exit(EXIT_FINDING)


def _table(rows: list[Examined]) -> Table:
    styles = {State.GOOD: "green", State.NOTE: "yellow", State.FAULT: "bold red"}
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(
            Text(row.state.value, style=styles[row.state]), Text(row.name), Text(escaped(row.words))
        )
    return table


def _examined(config_file: Path | None, store: Path | None) -> Iterator[Examined]:
    yield Examined(
        "arkaudit", State.GOOD, f"{__version__}, Python {python_version()}, {platform(terse=True)}"
    )
    yield examined_extras(
        {name: find_spec(extra.module) is not None for name, extra in EXTRAS.items()}
    )
    yield examined_names(dict(foreign_packages([str(Path.cwd()), *filter(None, sys.path)])))
    yield examined_sandbox(_means_held)
    yield examined_browser(find_browser(), is_root=os.geteuid() == 0)
    file = config_file or Path("arkaudit.toml")
    if config_file is None and not file.exists():
        yield Examined(
            "configuration",
            State.NOTE,
            "none: there is no arkaudit.toml here, and no other was named (-c)",
        )
        yield examined_contact({None: Config()})
    else:
        try:
            audits = load_audits(file)
        except ConfigError as mistake:
            yield Examined("configuration", State.FAULT, str(mistake))
        else:
            yield examined_audits(file, audits)
            yield examined_contact(audits)
            yield examined_archive(audits)
            yield examined_hosts(audits)
            yield from examined_notifications(audits, os.environ)
            yield from _examined_stores(audits, given=store)
            store = None
    if store is not None:
        yield examined_store(store)
    yield examined_cache(cache_folder())
    yield examined_registry(load_registry(cache_folder()), datetime.now(UTC))
    yield examined_proxies(getproxies())


def examined_extras(is_installed: Mapping[str, bool]) -> Examined:
    """Say which extras are installed.

    >>> examined_extras({"dns": True, "demo": False}).words
    "dns. Not installed: demo (demo). To install one: pip install 'arkaudit[demo]'"
    """
    here = ", ".join(name for name, is_here in is_installed.items() if is_here) or "none"
    missing = [name for name, is_here in is_installed.items() if not is_here]
    if not missing:
        return Examined("extras", State.GOOD, here)
    lacking = ", ".join(f"{name} ({EXTRAS[name].purpose})" for name in missing)
    install = f"To install one: pip install 'arkaudit[{missing[0]}]'"
    return Examined("extras", State.NOTE, f"{here}. Not installed: {lacking}. {install}")


def examined_names(foreign: Mapping[str, str]) -> Examined:
    """Say which modules of others, by name, have the name of a package of ours.

    >>> examined_names({"crawler": "/project/crawler/__init__.py"}).words.partition(":")[0]
    '/project/crawler/__init__.py has the name of a package of arkaudit'
    """
    if not foreign:
        return Examined(
            "names",
            State.GOOD,
            f"nothing else here is called {', '.join(NAMES[:-1])} or {NAMES[-1]}",
        )
    files = ", ".join(foreign.values())
    words = f"{files} has the name of a package of arkaudit: a program here gets one of the two"
    return Examined("names", State.NOTE, f"{words}; {WAYS_OUT}")


def _means_held() -> frozenset[Means]:
    with Worker(held, memory_bytes=PARSING_BYTES) as worker:
        return worker.call()


def examined_sandbox(means_held: Callable[[], frozenset[Means]]) -> Examined:
    """Say how the process is confined that parses documents; *means_held* asks one.

    >>> examined_sandbox(lambda: frozenset(Means)).words
    'documents are parsed in a process that the kernel confines (landlock, seccomp)'
    """
    try:
        means = means_held()
    except WorkerError as failure:
        return Examined(
            "parsing", State.FAULT, f"no process can be started that parses documents: {failure}"
        )
    missing = [mean.value for mean in Means if mean not in means]
    if missing:
        words = f"this system doesn't confine the process that parses documents by {' or '.join(missing)}"
        return Examined(
            "parsing", State.NOTE, f"{words}; its memory and its time are limited all the same"
        )
    names = ", ".join(mean.value for mean in Means)
    return Examined(
        "parsing",
        State.GOOD,
        f"documents are parsed in a process that the kernel confines ({names})",
    )


def examined_browser(browser: Path | None, *, is_root: bool) -> Examined:
    """Say which Chromium would show pages that need JavaScript.

    >>> examined_browser(Path("/usr/bin/chromium"), is_root=False).words
    '/usr/bin/chromium would show pages that need JavaScript, where [render] is enabled'
    """
    if browser is None:
        return Examined(
            "browser", State.NOTE, "no Chromium on the PATH: [render] needs one to be named"
        )
    words = "would show pages that need JavaScript, where [render] is enabled"
    if is_root:
        return Examined("browser", State.NOTE, f"{browser} {words}; run as root, it has no sandbox")
    return Examined("browser", State.GOOD, f"{browser} {words}")


def examined_audits(file: Path, audits: Mapping[str | None, Config]) -> Examined:
    """Say what a valid configuration holds."""
    names = [name for name in audits if name]
    held_in = f", with {counted(len(names), 'named audit')}: {', '.join(names)}" if names else ""
    return Examined("configuration", State.GOOD, f"{file} is valid{held_in}")


def examined_contact(audits: Mapping[str | None, Config]) -> Examined:
    """Say whether hosts learn whom they can write to.

    >>> examined_contact({None: Config()}).state
    <State.NOTE: 'note'>
    """
    anonymous = [name or "the top" for name, config in audits.items() if config.is_anonymous]
    if not anonymous:
        contacts = sorted(
            {config.politeness.contact or config.user_agent for config in audits.values()}
        )
        return Examined("contact", State.GOOD, f"hosts can write to {', '.join(contacts)}")
    where = f" ({', '.join(anonymous)})" if len(audits) > 1 else ""
    advice = 'set politeness.contact = "you@example.org", or give --contact'
    return Examined("contact", State.NOTE, f"hosts don't learn who asks{where}: {advice}")


def examined_archive(audits: Mapping[str | None, Config]) -> Examined:
    """Say which archive is asked about what fails.

    >>> examined_archive({None: Config()}).words
    'no archive is asked about ARKs that fail: [memento] timegate names one'
    """
    gates = sorted(
        {config.memento.timegate for config in audits.values() if config.memento.timegate}
    )
    if not gates:
        return Examined(
            "archive",
            State.GOOD,
            "no archive is asked about ARKs that fail: [memento] timegate names one",
        )
    without = [name or "the top" for name, config in audits.items() if not config.memento.timegate]
    rest = f"; not by {', '.join(without)}" if without else ""
    return Examined(
        "archive", State.GOOD, f"{', '.join(gates)} is asked about ARKs that fail{rest}"
    )


def examined_hosts(audits: Mapping[str | None, Config]) -> Examined:
    """Say at which hosts of one's own an audit logs in, or shows credentials; never with what.

    Of a configuration that is valid, the environment has all of these secrets.
    """
    forms = sorted(
        {name for config in audits.values() for name, host in config.hosts.items() if host.login}
    )
    shown = sorted(
        {
            name
            for config in audits.values()
            for name, host in config.hosts.items()
            if host.headers or host.cookies
        }
    )
    parts = [
        *([f"logs in at {', '.join(forms)}"] if forms else []),
        *([f"shows headers or cookies to {', '.join(shown)}"] if shown else []),
    ]
    if not parts:
        return Examined(
            "log-ins", State.GOOD, 'none: nothing is shown to any host ([hosts."NAME"])'
        )
    return Examined(
        "log-ins", State.GOOD, f"{'; '.join(parts)}; the variables that hold their secrets are set"
    )


def examined_notifications(
    audits: Mapping[str | None, Config], environment: Mapping[str, str]
) -> Iterator[Examined]:
    """Say which secrets of services for notification the environment lacks."""
    missing = {
        name
        for config in audits.values()
        for name in config.notify.variables
        if not environment.get(name)
    }
    for name in sorted(missing):
        yield Examined(
            "notify",
            State.FAULT,
            f"there is no environment variable {name}, which notify.urls names",
        )


def _examined_stores(
    audits: Mapping[str | None, Config], *, given: Path | None
) -> Iterator[Examined]:
    if given is not None:
        yield examined_store(given)
        return
    top = audits[None].store
    stores = {name: config.store for name, config in audits.items() if name and config.store}
    for name, store in stores.items() or ([("audit", top)] if top else []):
        if store.exists():
            yield examined_store(store)
        else:
            yield Examined(
                "store", State.GOOD, f"{store} isn't there yet: the first run of {name} makes it"
            )


def examined_store(store: Path) -> Examined:
    """Say whether *store* can be read, and how large it is."""
    from crawler.store import StoreError
    from reports.store.store_reading import StoreUnreadable, read

    try:
        runs = read(
            store,
            lambda connection: connection.exec_driver_sql("SELECT count(*) FROM run").scalar_one(),
        )
    except (StoreError, StoreUnreadable) as problem:
        return Examined("store", State.FAULT, str(problem))
    megabytes = f"{store.stat().st_size / 1e6:,.1f} MB"
    if not os.access(store, os.W_OK):
        return Examined("store", State.FAULT, f"{store} can't be written to")
    return Examined("store", State.GOOD, f"{store} has {counted(runs, 'run')}, {megabytes}")


def examined_cache(folder: Path) -> Examined:
    """Say whether audits of this machine can share what they know: the pace of hosts, and the NAAN registry."""
    shared = "the pace of each host and the NAAN registry are kept there"
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        words = f"{folder} can't be used: {problem.strerror or problem}; ARKAUDIT_CACHE names another one"
        return Examined("cache", State.FAULT, words)
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
    return Examined("cache", State.GOOD, f"{folder}: {shared}")


def examined_registry(registry: Registry, now: datetime) -> Examined:
    """Say how old the copy of the NAAN registry is.

    >>> examined_registry(Registry.builtin(), datetime.now(UTC)).state
    <State.NOTE: 'note'>
    """
    advice = "arkaudit registry update fetches the newest"
    if registry.warning:
        return Examined("NAAN registry", State.NOTE, registry.warning)
    if registry.fetched_at is None:
        where = (
            "a few well-known NAANs that are built in"
            if registry.source == "built in"
            else registry.source
        )
        return Examined("NAAN registry", State.NOTE, f"{where}; {advice}")
    days = (now - registry.fetched_at).days
    words = f"asked for {counted(days, 'day')} ago at {registry.source}"
    if days > OLD_DAYS:
        return Examined("NAAN registry", State.NOTE, f"{words}; {advice}")
    return Examined("NAAN registry", State.GOOD, words)


def examined_proxies(proxies: Mapping[str, str]) -> Examined:
    """Say through which proxies requests go, without the passwords in their addresses.

    >>> examined_proxies({"https": "http://me:secret@proxy.example:3128"}).words
    'requests go through https: proxy.example:3128'
    """
    used = {scheme: proxies[scheme] for scheme in ("http", "https") if scheme in proxies}
    if not used:
        return Examined("proxy", State.GOOD, "none")
    named = ", ".join(f"{scheme}: {_without_user(url)}" for scheme, url in used.items())
    return Examined("proxy", State.NOTE, f"requests go through {named}")


def _without_user(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url.rpartition("@")[2]
