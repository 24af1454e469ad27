"""Notify people of the changes that a run found: by a file, a command, an Apprise service (mail, chat, webhook), an issue."""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from queue import Empty, Queue
from string import Template
from threading import Thread
from typing import Any
from urllib.parse import quote

from arkaudit.configuration.config import Config
from arkaudit.hooks import Channel
from arkaudit.output.exits import command, say
from crawler.model.durable_files import make_durable
from crawler.store import StoreError
from crawler.store.store import Delivery, Store
from extractors.model.errors import ArkauditError, UserMistake
from extractors.model.files import is_file
from reports.formats.digest import FORMATS, Digest, digest_of, subject
from reports.languages import Language
from reports.store.frames import load_frames
from reports.tables.news import news_of
from reports.tables.report_tables import Report

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())

#: Time limit of a command in seconds.
PATIENCE_S = 60.0
#: Time limit in seconds of a delivery as a whole, with all attempts.
DEADLINE_S = 300.0
#: Number of further attempts after a service refused, and seconds before each.
RETRIES = 2
RETRY_WAIT_S = 2.0
#: Characters for a title that a service puts into the text.
_TITLE_CHARS = 250


def channels(config: Config) -> Iterator[Channel]:
    """Yield the channels of a configuration, those of plug-ins last. Raises `UserMistake`."""
    notify = config.notify
    render = FORMATS[notify.format or "markdown"]
    if notify.file is not None:
        yield Channel(f"add to {notify.file}", f"file:{notify.file}", partial(_add_to_file, notify.file, render))
    if notify.command:
        action = f"run {notify.command[0]}"
        yield Channel(action, f"command:{shlex.join(notify.command)}", partial(_run_command, notify.command, render))
    for url in notify.urls:
        action = f"send to {_service(url, {}).url(privacy=True)}"
        yield Channel(action, url, partial(_send_by_apprise, url, notify.format))
    yield from config.channels()


def check_channels(config: Config, *, are_needed: bool) -> None:
    """Raise `UserMistake` for a bad channel, or if no channel is configured but *are_needed* or [notify] is given."""
    if not [*channels(config)] and (are_needed or config.notify.model_fields_set):
        raise UserMistake("the configuration has no target for notifications: set one in [notify], such as file")


def _key(channel: Channel, audit: str) -> str:
    """Return the key of a channel in the store: the digest of its target and of the name of the *audit*."""
    return sha256(f"{audit}\n{channel.target}".encode("utf-8", "surrogateescape")).hexdigest()


def _add_to_file(path: Path, render: Callable[[Digest, Language], str], digest: Digest, language: Language) -> None:
    """Append the news to a file, in the form that *render* gives. Raises `ArkauditError`."""
    try:
        with path.open("a", encoding="utf-8") as file:
            body = render(digest, language)
            # JSON is one line; other messages are apart from each other.
            file.write(body if body.count("\n") == 1 else f"{body}\n")
        make_durable(path)
        make_durable(path.parent)
    except OSError as problem:
        raise ArkauditError(f"{path} can't be written: {problem.strerror}") from None


def _run_command(
    command: Sequence[str], render: Callable[[Digest, Language], str], digest: Digest, language: Language
) -> None:
    """Run *command*, without a shell, with the formatted digest on its standard input. Raises `ArkauditError`."""
    environment = os.environ | {"ARKAUDIT_SUBJECT": subject(digest, language)}
    try:
        subprocess.run(
            command, input=render(digest, language).encode(), env=environment, check=True, timeout=PATIENCE_S
        )
    except subprocess.CalledProcessError as problem:
        raise ArkauditError(f"{command[0]} ended with {problem.returncode}") from None
    except subprocess.TimeoutExpired:
        raise ArkauditError(f"{command[0]} did not end within {PATIENCE_S:g} s") from None
    except OSError as problem:
        raise ArkauditError(f"{command[0]} can't be run: {problem.strerror}") from None


def _send_by_apprise(url: str, format_name: str | None, digest: Digest, language: Language) -> None:
    """Send the digest through the Apprise service at *url*, with secrets from environment variables.

    If *format_name* is None, the service gets the format that it shows best, as short as it requires. Raises
    `ArkauditError`.
    """
    import apprise

    missing_variables = [name for name in Template(url).get_identifiers() if name not in os.environ]
    if missing_variables:
        raise ArkauditError(f"set the environment variable {', '.join(missing_variables)}")
    service = _service(url, os.environ)
    format_name = format_name or service.resolve_format().value
    max_chars = service.body_maxlen - (0 if service.title_maxlen else _TITLE_CHARS)
    text = FORMATS[format_name](digest, language, limit=max_chars)
    apprise_services = apprise.Apprise()
    apprise_services.add(service)
    body_format = apprise.NotifyFormat.TEXT if format_name == "json" else apprise.NotifyFormat(format_name)
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log_lines:  # type: ignore[no-untyped-call]
        is_sent = apprise_services.notify(text, title=subject(digest, language), body_format=body_format)
        if not is_sent:
            raise ArkauditError(" ".join(log_lines.getvalue().split()) or "the service did not take it")


def _service(url: str, secrets: Mapping[str, str]) -> Any:
    """Return the Apprise service at *url*, with *secrets* for its variables. Raises `UserMistake` for a bad URL."""
    import apprise

    quoted_secrets = {name: quote(secret, safe="") for name, secret in secrets.items()}
    # Apprise would log its own line about the mistake.
    apprise_log = logging.getLogger("apprise")
    apprise_log.disabled = True
    service = apprise.Apprise.instantiate(Template(url).safe_substitute(quoted_secrets))
    apprise_log.disabled = False
    if service is None:
        raise UserMistake(f"notify.urls: Apprise knows no service {url.partition(':')[0]!r} with such an address")
    if "retry=" not in url:
        service.retry, service.wait = RETRIES, RETRY_WAIT_S
    return service


def send_news(
    config: Config, store_file: Path, report: Report, *, config_file: Path | None, is_dry: bool = False
) -> bool:
    """Send the news up to the run in *report* through all configured channels; return True if all succeeded.

    Each channel gets the changes since its last news, without known problems. With *is_dry*, only print the
    messages and their targets.
    """
    configured_channels = [*channels(config)]
    if not configured_channels:
        return True
    audit, language = config.name or store_file.stem, report.language_choice.language
    run_id = int(report.frames.run["run_id"].iloc[0])
    digest_since = _digests(config, store_file, report, audit)
    printed_digest = None
    is_all_sent = True
    try:
        with Store.open(store_file) as store:
            run_ids = store.run_ids()
            for channel in configured_channels:
                last_delivery = store.delivery(_key(channel, audit))
                if last_delivery.run_id is not None and run_ids.index(last_delivery.run_id) >= run_ids.index(run_id):
                    say(f"nothing to {channel.words}: it has the news up to run {last_delivery.run_id}")
                    continue
                digest = digest_since(last_delivery)
                is_due = digest.changes or digest.news.is_unread or channel.is_updated
                is_due = is_due or (config.notify.monthly and digest.news.opens_month)
                if is_dry and is_due:
                    say(f"would {channel.words}: {subject(digest, language)}")
                    printed_digest = printed_digest or digest
                elif is_dry:
                    say(f"nothing to {channel.words}: nothing has changed")
                elif is_due and (problem := _deliver(channel, digest, language)):
                    audit_option = ("--audit", config.name) if config.name else ()
                    retry_command = (
                        command("notify", "-c", config_file, *audit_option, "--store", store_file)
                        if config_file
                        else ""
                    )
                    retry_words = f", or by {retry_command}" if retry_command else ""
                    say(
                        f"not notified ({channel.words}): {problem}; the next run sends it{retry_words}",
                        level=logging.WARNING,
                    )
                    is_all_sent = False
                else:
                    store.record_delivery(_key(channel, audit), Delivery(run_id, digest.failures_sent))
    except StoreError as problem:
        say(f"not notified, or it may be sent again: {problem}", level=logging.WARNING)
        return False
    if printed_digest is not None:
        print(FORMATS[config.notify.format or "markdown"](printed_digest, language), end="")
    return is_all_sent


def _digests(config: Config, store_file: Path, report: Report, audit: str) -> Callable[[Delivery], Digest]:
    """Return a function that takes the last `Delivery` of a channel, and returns the digest of all changes since."""
    compared_frames = report.frames.compared_run
    compared_run = None if compared_frames is None else int(compared_frames.run["run_id"].iloc[0])

    @cache
    def report_since(last_run: int | None) -> Report:
        if last_run in (None, compared_run):
            return report
        run_id = int(report.frames.run["run_id"].iloc[0])
        frames = load_frames(
            store_file, run_id=run_id, since=last_run, known_list=config.known_list, declared=config.check_characters
        )
        return Report.from_frames(frames, language_choice=report.language_choice)

    def digest_since(last_delivery: Delivery) -> Digest:
        report, failures_sent = report_since(last_delivery.run_id), last_delivery.failures_sent
        news = news_of(report.frames, failures_sent=failures_sent, last_run=last_delivery.run_id)
        return digest_of(
            report, audit, news, page=config.report.url, kinds=config.notify.on, failures_sent=failures_sent
        )

    return digest_since


def _deliver(channel: Channel, digest: Digest, language: Language) -> str:
    """Deliver a digest within `DEADLINE_S`; return the reason of a failure on one line, or "".

    A destination that never ends its answer keeps a thread, which ends with the process.
    """
    problems: Queue[str] = Queue()

    def deliver() -> None:
        """Deliver the news, and report the problem, or an empty text for none."""
        try:
            channel.deliver(digest, language)
            problems.put("")
        except ArkauditError as error:
            problems.put(str(error))
        # Whatever a destination answers, the run is reported and the other channels get their news.
        except Exception as bug:
            logger.error("%s", channel.words, exc_info=bug)
            problems.put(f"{type(bug).__name__}: {bug}")

    Thread(target=deliver, daemon=True).start()
    try:
        return " ".join(problems.get(timeout=DEADLINE_S).split())
    except Empty:
        return f"it did not end within {DEADLINE_S:g} s"


def send_news_again(
    config: Config, store_file: Path | None, run_id: int | None, *, config_file: Path, is_dry: bool
) -> bool:
    """Send the changes up to a stored run, by default the newest audit; return True if all channels succeeded.

    Raises `extractors.model.errors.UserMistake` and `crawler.store.StoreError`.
    """
    store_file = store_file or config.store or Path("audit.db")
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    check_channels(config, are_needed=True)
    config.notify.check()
    with Store.open(store_file) as store:
        run_ids, audit_runs = store.run_ids(), store.runs("run")
    if not run_ids or (run_id is not None and run_id not in run_ids):
        raise UserMistake(f"{store_file} has no {f'run {run_id}' if run_ids else 'runs'}")
    if run_id is None:
        # A later check of single ARKs is no audit.
        run_id = audit_runs[0].run_id if audit_runs else run_ids[-1]
    frames = load_frames(store_file, run_id=run_id, known_list=config.known_list, declared=config.check_characters)
    report = Report.from_frames(frames, language_choice=config.language_choice)
    return send_news(config, store_file, report, config_file=config_file, is_dry=is_dry)
