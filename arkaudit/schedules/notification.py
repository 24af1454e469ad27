"""Notify people of the changes that a run found: by a file, a command, an Apprise service (mail, chat, webhook), an issue."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import which
from string import Template
from typing import Any
from urllib.parse import quote

from arkaudit.configuration.config import Config, Notify
from arkaudit.output.exits import command, say
from arkaudit.schedules.living_issue import NotSent, keep_issue
from crawler.model.durable_files import make_durable
from crawler.store import StoreUnopenable
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from extractors.model.files import is_file, is_folder
from reports.formats.digest import FORMATS, Digest, digest_of, subject
from reports.languages import Language, LanguageChoice
from reports.store.frames import load_frames
from reports.store.known_problems import NOTHING_KNOWN, KnownProblems, read_known
from reports.tables.report_tables import Report

_NO_TARGET = "the configuration has no target for notifications: set file, command, urls or issue in [notify]"
#: Time limit of a command in seconds.
PATIENCE_S = 60.0
#: Number of further attempts after a service refused, and seconds before each.
RETRIES = 2
RETRY_WAIT_S = 2.0
#: Characters for a title that a service puts into the text.
_TITLE_CHARS = 250


def channels(notify: Notify) -> Iterator[tuple[str, Callable[[Digest, Language], None]]]:
    """Yield the channels of a configuration: a description, and a function that delivers or raises `NotSent`."""
    text = FORMATS[notify.format or "markdown"]
    if notify.file is not None:
        yield f"add to {notify.file}", partial(_add_to_file, notify.file, text)
    if notify.command:
        yield f"run {notify.command[0]}", partial(_run_command, notify.command, text)
    for url in notify.urls:
        shown = _service(url, {}).url(privacy=True)
        yield f"send to {shown}", partial(_send_by_apprise, url, notify.format)


def check_channels(config: Config) -> None:
    """Raise `UserMistake` if the section ``[notify]`` has no target, or one that cannot be used."""
    if not config.notify.is_wanted:
        if config.notify.model_fields_set:
            raise UserMistake(_NO_TARGET)
        return
    for _ in channels(config.notify):
        pass
    command = config.notify.command
    if command and which(command[0]) is None:
        raise UserMistake(f"notify.command: there is no program {command[0]!r} that can be run")
    file = config.notify.file
    if file is not None and (is_folder(file) or not is_folder(file.parent)):
        raise UserMistake(f"notify.file: {file} {'is a folder' if is_folder(file) else 'has no folder'}")


def _add_to_file(path: Path, text: Callable[[Digest, Language], str], digest: Digest, language: Language) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            body = text(digest, language)
            # JSON is one line; other messages are apart from each other.
            file.write(body if body.count("\n") == 1 else f"{body}\n")
        make_durable(path)
        make_durable(path.parent)
    except OSError as problem:
        raise NotSent(f"{path} can't be written: {problem.strerror}") from None


def _run_command(
    command: Sequence[str], text: Callable[[Digest, Language], str], digest: Digest, language: Language
) -> None:
    """Run a program, without a shell, with the message on its standard input."""
    environment = os.environ | {"ARKAUDIT_SUBJECT": subject(digest, language)}
    try:
        subprocess.run(command, input=text(digest, language).encode(), env=environment, check=True, timeout=PATIENCE_S)
    except subprocess.CalledProcessError as problem:
        raise NotSent(f"{command[0]} ended with {problem.returncode}") from None
    except subprocess.TimeoutExpired:
        raise NotSent(f"{command[0]} did not end within {PATIENCE_S:g} s") from None
    except OSError as problem:
        raise NotSent(f"{command[0]} can't be run: {problem.strerror}") from None


def _send_by_apprise(url: str, form: str | None, digest: Digest, language: Language) -> None:
    """Send the message through the service at *url*, with secrets from environment variables.

    Without *form* the service gets the format that it shows best, as short as it requires.
    """
    import apprise

    missing = [name for name in Template(url).get_identifiers() if name not in os.environ]
    if missing:
        raise NotSent(f"set the environment variable {', '.join(missing)}")
    service = _service(url, os.environ)
    form = form or service.resolve_format().value
    limit = service.body_maxlen - (0 if service.title_maxlen else _TITLE_CHARS)
    text = FORMATS[form](digest, language, limit=limit)
    services = apprise.Apprise()
    services.add(service)
    sent_as = apprise.NotifyFormat.TEXT if form == "json" else apprise.NotifyFormat(form)
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:  # type: ignore[no-untyped-call]
        is_sent = services.notify(text, title=subject(digest, language), body_format=sent_as)
        if not is_sent:
            raise NotSent(" ".join(log.getvalue().split()) or "the service did not take it")


def _service(url: str, secrets: Mapping[str, str]) -> Any:
    """Return the Apprise service at *url*. Raises `UserMistake` if there is no such service."""
    import apprise

    quoted = {name: quote(secret, safe="") for name, secret in secrets.items()}
    # Apprise would log its own line about the mistake.
    apprise_log = logging.getLogger("apprise")
    apprise_log.disabled = True
    service = apprise.Apprise.instantiate(Template(url).safe_substitute(quoted))
    apprise_log.disabled = False
    if service is None:
        raise UserMistake(f"notify.urls: Apprise knows no service {url.partition(':')[0]!r} with such an address")
    if "retry=" not in url:
        service.retry, service.wait = RETRIES, RETRY_WAIT_S
    return service


def send_news(
    config: Config,
    store_file: Path,
    report: Report,
    *,
    known_list: KnownProblems = NOTHING_KNOWN,
    config_file: Path | None,
    is_dry: bool = False,
) -> bool:
    """Send the news of the run in *report* through all configured channels; return True if all succeeded.

    The issue is updated after each run, without problems in *known_list*. With *is_dry*, only print the message and its targets.
    """
    notify, language = config.notify, report.language_choice.language
    audit = config.name or store_file.stem

    def digest_since(run_id: int, at: str) -> Digest | None:
        """Return the digest with the changes since an earlier run, or None if the store has no such run."""
        run = int(report.frames.run["run_id"].iloc[0])
        try:
            frames = load_frames(store_file, run_id=run, since=run_id, known_list=known_list)
        except StoreUnopenable:
            return None
        if frames.since is None or at != f"{frames.since.run['started_at'].iloc[0]:%Y-%m-%dT%H:%M:%S}":
            return None
        since = Report.from_frames(frames, language_choice=report.language_choice)
        return digest_of(since, audit, page=config.report.url, kinds=notify.on)

    digest = digest_of(report, audit, page=config.report.url, kinds=notify.on)
    targets: list[tuple[str, Callable[[Digest, Language], None]]] = []
    if digest.changes or digest.news.is_unread or (notify.monthly and digest.news.opens_month):
        targets += channels(notify)
    elif is_dry:
        say("nothing has changed: no message would be sent")
    if notify.issue:
        targets.append((f"update the issue at {notify.issue}", partial(keep_issue, notify.issue, digest_since)))
    all_sent = True
    for target, send in targets:
        if is_dry:
            say(f"would {target}: {subject(digest, language)}")
            continue
        try:
            send(digest, language)
        except NotSent as problem:
            named = ("--audit", config.name) if config.name else ()
            run = ("--store", store_file, "--run", str(digest.news.run_id))
            # Without a configuration the only target is an issue, and the next run updates it.
            again = f"; send it again by {command('notify', '-c', config_file, *named, *run)}" if config_file else ""
            say(f"not notified ({target}): {problem}{again}", level=logging.WARNING)
            all_sent = False
    if is_dry and targets:
        print(FORMATS[notify.format or "markdown"](digest, language), end="")
    return all_sent


def send_news_again(
    config: Config, store_file: Path | None, run_id: int | None, *, config_file: Path, is_dry: bool
) -> bool:
    """Send the changes of a stored run, by default the newest audit; return True if all channels succeeded.

    Raises `extractors.model.errors.UserMistake` and `crawler.store.StoreError`.
    """
    store_file = store_file or config.store or Path("audit.db")
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    if not config.notify.is_wanted:
        raise UserMistake(_NO_TARGET)
    check_channels(config)
    known_list = read_known(config.known.file)
    with Store.open(store_file) as store:
        runs, audits = store.run_ids(), store.runs("run")
    if not runs or (run_id is not None and run_id not in runs):
        raise UserMistake(f"{store_file} has no {f'run {run_id}' if runs else 'runs'}")
    if run_id is None:
        # A later check of single ARKs is no audit.
        run_id = audits[0].run_id if audits else runs[-1]
    frames = load_frames(store_file, run_id=run_id, known_list=known_list)
    report = Report.from_frames(frames, language_choice=LanguageChoice.parse(config.report.lang))
    return send_news(config, store_file, report, known_list=known_list, config_file=config_file, is_dry=is_dry)
