"""Notify people of the changes that a run found: by a file, a command, or an Apprise service (mail, chat, webhook)."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from string import Template
from typing import Any
from urllib.parse import quote

from arkaudit.configuration.config import Config, Notify
from arkaudit.output.exits import say
from crawler.model.durable_files import make_durable
from crawler.store.store import Store
from extractors.model.errors import ArkauditError, UserMistake
from extractors.model.files import is_file, is_folder
from reports.languages import ENGLISH, N_, Forms, Language, LanguageChoice
from reports.languages.display import escape_invisible
from reports.remediation.causes import Cause
from reports.store.frames import Frames, load_frames
from reports.tables.failing import diagnosed_failures
from reports.tables.news import News, NewsItem, news_of
from reports.tables.wording import CAUSE_NAMES

#: The kinds of news, the most severe first, with their headings.
HEADINGS = {
    "confirmed": N_("Confirmed broken, by several checks over days"),
    "failing": N_("Failing, not yet confirmed"),
    "unreachable": N_("No answer, which is not link rot: check again"),
    "moved": N_("Leads to another address than before"),
    "changed": N_("Changed"),
    "gone": N_("No longer cited"),
    "new": N_("Newly cited"),
    "recovered": N_("Works again"),
}
_FIRST_HEADINGS = HEADINGS | {"new": N_("Cited in the documents")}
#: The number of ARKs of each kind, for the subject.
_COUNTS = {
    "confirmed": Forms("{number} confirmed broken", "{number} confirmed broken"),
    "failing": Forms("{number} failing", "{number} failing"),
    "unreachable": Forms("{number} without an answer", "{number} without an answer"),
    "moved": Forms("{number} moved", "{number} moved"),
    "changed": Forms("{number} changed", "{number} changed"),
    "gone": Forms("{number} no longer cited", "{number} no longer cited"),
    "new": Forms("{number} newly cited", "{number} newly cited"),
    "recovered": Forms("{number} recovered", "{number} recovered"),
}
_FIRST_COUNTS = _COUNTS | {"new": Forms("{number} cited", "{number} cited")}
#: The kinds of news that `failing` in the configuration selects.
_FAILING = frozenset({"failing", "unreachable"})
#: Number of ARKs of a kind that a message lists.
MOST_LISTED = 50


@dataclass(frozen=True, slots=True)
class Message:
    """A message; the text is Markdown."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class ArkFacts:
    """Facts from a report about a failing ARK."""

    cause: str
    """The cause of the failure in words, with the host."""
    documents: tuple[str, ...] = ()


def message(
    news: News,
    *,
    kinds: Collection[str],
    audit: str,
    report: str | None = None,
    facts: Mapping[str, ArkFacts] | None = None,
    language: Language = ENGLISH,
) -> Message | None:
    """Return the message about news of *kinds*, or None without such news.

    *facts* has the report's facts about failing ARKs.
    """
    known_facts = facts or {}
    wanted = {*kinds, *(_FAILING if "failing" in kinds else ())}
    chosen: dict[str, dict[str, list[NewsItem]]] = {kind: {} for kind in HEADINGS if kind in wanted}
    for item in news.items:
        if item.kind in chosen:
            chosen[item.kind].setdefault(item.ark, []).append(item)
    chosen = {kind: arks for kind, arks in chosen.items() if arks}
    if not chosen:
        return None
    counted, headings = (_FIRST_COUNTS, _FIRST_HEADINGS) if news.is_first else (_COUNTS, HEADINGS)
    counts = ", ".join(language.ngettext(counted[kind].one, counted[kind].many, len(chosen[kind])) for kind in chosen)
    run = {"run": str(news.run_id), "at": f"{news.at[:16]} UTC"}
    begins = (
        language.gettext("The first audit (run {run}, {at}):", **run)
        if news.is_first
        else language.gettext("Changes since the last audit (run {run}, {at}):", **run)
    )
    lines = [f"# {escape_invisible(audit)}: {counts}", "", begins]
    for kind, arks in chosen.items():
        lines += ["", f"## {language.gettext(headings[kind])} ({language.number(len(arks))})", ""]
        lines += [_line(items, known_facts.get(ark), report, language) for ark, items in [*arks.items()][:MOST_LISTED]]
        more = len(arks) - MOST_LISTED
        if more > 0:
            more_words = language.ngettext("and {number} more, in the report", "and {number} more, in the report", more)
            lines.append(f"- {more_words}")
    lines.append("")
    if news.known_problems:
        lines.append(
            language.ngettext(
                "Already reported: {number} ARK with problems.",
                "Already reported: {number} ARKs with problems.",
                news.known_problems,
            )
        )
    if news.triaged:
        lines.append(news.triaged)
    if news.suspect:
        lines.append(language.gettext("This run confirms no failure: {why}.", why=escape_invisible(news.suspect)))
    if report:
        lines.append(language.gettext("The report: {address}", address=escape_invisible(report)))
    return Message(f"arkaudit: {escape_invisible(audit)}: {counts}", "\n".join(lines).rstrip() + "\n")


def _line(items: Sequence[NewsItem], facts: ArkFacts | None, report: str | None, language: Language) -> str:
    """Return the line about an ARK. Texts from documents and hosts are code, so that their Markdown has no effect."""
    first, *others = items
    where = {"ark": _code(first.ark), "url": _code(first.request_url)}
    line = language.gettext("{ark} at {url}", **where)
    if others:
        line = language.ngettext(
            "{ark} at {url} and {number} other URL", "{ark} at {url} and {number} other URLs", len(others), **where
        )
    if citations := sum(item.citations for item in items):
        line += ", " + language.ngettext("cited {number} time", "cited {number} times", citations)
    if facts and facts.documents:
        document, *more = facts.documents
        line += " " + language.gettext("in {document}", document=_code(document))
        if more:
            line += " " + language.ngettext("and {number} other document", "and {number} other documents", len(more))
    if first.detail:
        line += f": {_code(first.detail)}"
    if facts and first.kind in ("confirmed", "failing", "unreachable"):
        line += f"; {_code(facts.cause)}"
    if report:
        line += "; " + language.gettext("see {address}", address=_code(f"{report}#ark={first.ark}"))
    return f"- {line}"


def _code(text: str) -> str:
    """Return *text* as Markdown code, even if it contains backticks.

    >>> _code("a`b")
    '`` a`b ``'
    """
    shown = escape_invisible(text).replace("\n", " ")
    fence = "`"
    while fence in shown:
        fence += "`"
    return f"{fence} {shown} {fence}" if len(fence) > 1 else f"`{shown}`"


_NO_TARGET = "the configuration has no target for notifications: set file, command or urls in [notify]"
#: Time limit of a command in seconds.
PATIENCE_S = 60.0
#: Number of further attempts after a service refused, and seconds before each.
RETRIES = 2
RETRY_WAIT_S = 2.0


class NotSent(ArkauditError):
    """Raised by a channel that could not deliver a message."""


def channels(notify: Notify) -> Iterator[tuple[str, Callable[[Message], None]]]:
    """Yield the channels of a configuration: a description, and a function that delivers or raises `NotSent`."""
    if notify.file is not None:
        yield f"add to {notify.file}", partial(_add_to_file, notify.file)
    if notify.command:
        yield f"run {notify.command[0]}", partial(_run_command, notify.command)
    for url in notify.urls:
        shown = _service(url, {}).url(privacy=True)
        yield f"send to {shown}", partial(_send_by_apprise, url)


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


def _add_to_file(path: Path, message: Message) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(message.text + "\n")
        make_durable(path)
        make_durable(path.parent)
    except OSError as problem:
        raise NotSent(f"{path} can't be written: {problem.strerror}") from None


def _run_command(command: Sequence[str], message: Message) -> None:
    """Run a program, without a shell, with the message on its standard input."""
    environment = os.environ | {"ARKAUDIT_SUBJECT": message.subject}
    try:
        subprocess.run(command, input=message.text.encode(), env=environment, check=True, timeout=PATIENCE_S)
    except subprocess.CalledProcessError as problem:
        raise NotSent(f"{command[0]} ended with {problem.returncode}") from None
    except subprocess.TimeoutExpired:
        raise NotSent(f"{command[0]} did not end within {PATIENCE_S:g} s") from None
    except OSError as problem:
        raise NotSent(f"{command[0]} can't be run: {problem.strerror}") from None


def _send_by_apprise(url: str, message: Message) -> None:
    """Send the message through the service at *url*, with secrets from environment variables."""
    import apprise

    missing = [name for name in Template(url).get_identifiers() if name not in os.environ]
    if missing:
        raise NotSent(f"set the environment variable {', '.join(missing)}")
    services = apprise.Apprise()
    services.add(_service(url, os.environ))
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:  # type: ignore[no-untyped-call]
        is_sent = services.notify(message.text, title=message.subject, body_format=apprise.NotifyFormat.TEXT)
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


def send_news(config: Config, store_file: Path, run_id: int, *, is_dry: bool = False) -> bool:
    """Send the changes of a run through all configured channels; return True if all succeeded.

    With *is_dry*, only print the message and its targets.
    """
    frames = load_frames(store_file, run_id=run_id)
    language = LanguageChoice.parse(config.report.lang).language
    new = message(
        news_of(frames, language),
        kinds=config.notify.on,
        audit=config.name or store_file.stem,
        report=config.report.url,
        facts=_facts(frames, language),
        language=language,
    )
    if new is None:
        if is_dry:
            say("nothing has changed: no message would be sent")
        return True
    all_sent = True
    for target, send in channels(config.notify):
        if is_dry:
            say(f"would {target}: {new.subject}")
            continue
        try:
            send(new)
        except NotSent as problem:
            again = f"send it again by arkaudit notify --run {run_id}"
            say(f"not notified ({target}): {problem}; {again}")
            all_sent = False
    if is_dry:
        print(new.text, end="")
    return all_sent


def _facts(frames: Frames, language: Language) -> dict[str, ArkFacts]:
    """Return the facts of a report about failing ARKs of a run, by ARK."""
    diagnoses = diagnosed_failures(frames).drop_duplicates("ark_id").set_index("ark_id")
    cited = frames.mentions[frames.mentions["ark_id"].isin(diagnoses.index)].sort_values(["document", "ordinal"])
    documents = cited.drop_duplicates(["ark_id", "document"]).groupby("ark_id")["document"].agg(tuple).to_dict()
    return {
        str(row["ark"]): ArkFacts(
            f"{language.gettext(CAUSE_NAMES[Cause(row['cause'])])} ({row['host']})", documents.get(ark_id, ())
        )
        for ark_id, row in diagnoses.iterrows()
    }


def send_news_again(config: Config, store_file: Path | None, run_id: int | None, *, is_dry: bool) -> bool:
    """Send the changes of a stored run, by default the newest; return True if all channels succeeded.

    Raises `extractors.model.errors.UserMistake` and `crawler.store.StoreError`.
    """
    store_file = store_file or config.store or Path("audit.db")
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    if not config.notify.is_wanted:
        raise UserMistake(_NO_TARGET)
    check_channels(config)
    with Store.open(store_file) as store:
        runs = store.run_ids()
    if not runs or (run_id is not None and run_id not in runs):
        raise UserMistake(f"{store_file} has no {f'run {run_id}' if runs else 'runs'}")
    return send_news(config, store_file, runs[-1] if run_id is None else run_id, is_dry=is_dry)
