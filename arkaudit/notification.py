"""Sends what is new, tries again what fails, and keeps what could not be sent for the next time."""

from __future__ import annotations

import json
import os
import smtplib
import ssl
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Final, Protocol

import tenacity

from arkaudit.config import Config, Email, Notify
from arkaudit.exits import say
from crawler.history.news import News, NewsItem
from crawler.observations import Family
from crawler.storage.store import Store
from extractors.shared_errors import ArkauditError, UserMistake
from reports.ark_statuses import ark_statuses
from reports.display import escaped
from reports.frames import load_frames
from reports.remediation.causes import Cause
from reports.remediation.failing import diagnosed_failures
from reports.wording import CAUSE_NAMES

# Pure: from the news of a run to the message about it, new trouble first. ARKs are counted as in the report.


#: The kinds of news in the order of their gravity, each with its heading.
HEADINGS: Final = {
    "broke": "Broken, confirmed by several checks over days",
    "failing": "Fails, not yet confirmed",
    "silent": "Gave no answer, which is not link rot: ask again",
    "moved": "Lands elsewhere than before",
    "changed": "Changed",
    "gone": "No longer cited",
    "new": "New in the documents",
    "recovered": "Works again",
}
#: What somebody wants to hear of who wants to hear of failures that nothing has confirmed.
_FAILING: Final = frozenset({"failing", "silent"})
#: So many ARKs of a kind are listed; the report has them all.
MOST_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Message:
    """The message that is sent; the text is Markdown."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class ArkFacts:
    """The facts of a report about an ARK that was not reached as cited."""

    family: Family
    """What the best outcome of its URLs amounts to."""
    cause: str
    """Why it fails, in words, with the host."""
    documents: tuple[str, ...] = ()


def message(
    news: News,
    *,
    kinds: Collection[str],
    audit: str,
    report: str | None = None,
    facts: Mapping[str, ArkFacts] | None = None,
) -> Message | None:
    """Return the message for people who want to hear of *kinds*; None where there is nothing new for them.

    *facts* are what the report says of ARKs that fail; one that works at another of its URLs does not fail.
    """
    known = facts or {}
    wanted = {*kinds, *(_FAILING if "failing" in kinds else ())}
    chosen: dict[str, dict[str, list[NewsItem]]] = {kind: {} for kind in HEADINGS if kind in wanted}
    for item in news.items:
        kind = _kind(item, known.get(item.ark))
        if kind in chosen:
            chosen[kind].setdefault(item.ark, []).append(item)
    chosen = {kind: arks for kind, arks in chosen.items() if arks}
    if not chosen:
        return None
    names = {"new": "cited"} if news.is_first else {}
    headings = {**HEADINGS, **({"new": "Cited in the documents"} if news.is_first else {})}
    counts = ", ".join(f"{len(arks)} {names.get(kind, kind)}" for kind, arks in chosen.items())
    run = f"run {news.run_id}, {news.at[:16]} UTC"
    begins = f"The first audit ({run}):" if news.is_first else f"What this audit has changed ({run}):"
    lines = [f"# {escaped(audit)}: {counts}", "", begins]
    for kind, arks in chosen.items():
        lines += ["", f"## {headings[kind]} ({len(arks)})", ""]
        lines += [_line(items, known.get(ark), report) for ark, items in [*arks.items()][:MOST_LISTED]]
        if len(arks) > MOST_LISTED:
            lines.append(f"- and {len(arks) - MOST_LISTED} more, in the report")
    lines.append("")
    if news.known_problems:
        lines.append(f"Known before and unchanged: {_count(news.known_problems, 'ARK')} with problems.")
    if news.triaged:
        lines.append(f"{news.triaged}.")
    if news.suspect:
        lines.append(f"Failures of this run count for nothing: {escaped(news.suspect)}.")
    if report:
        lines.append(f"The report: {escaped(report)}")
    return Message(f"arkaudit: {escaped(audit)}: {counts}", "\n".join(lines).rstrip() + "\n")


def _kind(item: NewsItem, facts: ArkFacts | None) -> str:
    """Return under which heading an item belongs; none for an ARK that fails at one of its URLs only."""
    if item.kind not in ("broke", "failing") or facts is None:
        return item.kind
    if facts.family is Family.UNREACHABLE:
        return item.kind if item.kind == "broke" else "silent"
    return item.kind if facts.family is Family.FAILS else ""


def _line(items: Sequence[NewsItem], facts: ArkFacts | None, report: str | None) -> str:
    """One ARK in a line. What comes from the world is code, so that no Markdown or link of theirs has effect."""
    first, *others = items
    urls = f" and {_count(len(others), 'other URL')}" if others else ""
    citations = sum(item.citations for item in items)
    cited = f", cited {_count(citations, 'time')}" if citations else ""
    documents = facts.documents if facts else ()
    if documents:
        more = f" and {_count(len(documents) - 1, 'other document')}" if len(documents) > 1 else ""
        cited += f" in {_code(documents[0])}{more}"
    detail = f": {_code(first.detail)}" if first.detail else ""
    cause = f"; {_code(facts.cause)}" if facts and first.kind in ("broke", "failing") else ""
    place = f"; see {_code(f'{report}#ark={first.ark}')}" if report else ""
    return f"- {_code(first.ark)} at {_code(first.request_url)}{urls}{cited}{detail}{cause}{place}"


def _code(text: str) -> str:
    """Markdown code that says *text*, whatever is in it.

    >>> _code("a`b")
    '`` a`b ``'
    """
    shown = escaped(text).replace("\n", " ")
    fence = "`"
    while fence in shown:
        fence += "`"
    return f"{fence} {shown} {fence}" if len(fence) > 1 else f"`{shown}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# The ways by which a message leaves: a file, a command, a mail server. Each either takes it or says why not.


#: For one attempt: a command to end, a mail server to answer.
PATIENCE_S = 60.0


class NotSent(ArkauditError):
    """Raised by a channel that could not deliver; another attempt may succeed."""


class Channel(Protocol):
    """A way by which messages leave."""

    @property
    def name(self) -> str:
        """Return what distinguishes it, also in the outbox."""

    @property
    def target(self) -> str:
        """Return where it leads, in words for people; no secret."""

    def send(self, message: Message) -> None:
        """Deliver, or raise `NotSent`."""


@dataclass(frozen=True, slots=True)
class ToFile:
    """Adds each message to the end of a file."""

    path: Path
    name = "file"

    @property
    def target(self) -> str:
        return f"add to {self.path}"

    def send(self, message: Message) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(message.text + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise NotSent(f"{self.path} can't be written: {problem.strerror}") from None


@dataclass(frozen=True, slots=True)
class ToCommand:
    """Runs a program that gets the message on its standard input; no shell reads any of it."""

    command: tuple[str, ...]
    name = "command"

    @property
    def target(self) -> str:
        return f"run {self.command[0]}"

    def send(self, message: Message) -> None:
        try:
            subprocess.run(
                self.command,
                input=message.text.encode(),
                env=os.environ | {"ARKAUDIT_SUBJECT": message.subject},
                check=True,
                timeout=PATIENCE_S,
            )
        except subprocess.CalledProcessError as problem:
            raise NotSent(f"{self.command[0]} ended with {problem.returncode}") from None
        except subprocess.TimeoutExpired:
            raise NotSent(f"{self.command[0]} did not end within {PATIENCE_S:g} s") from None
        except OSError as problem:
            raise NotSent(f"{self.command[0]} can't be run: {problem.strerror}") from None


@dataclass(frozen=True, slots=True)
class ToMail:
    """Hands the message to a mail server."""

    email: Email
    name = "email"

    @property
    def target(self) -> str:
        return f"mail to {', '.join(self.email.to)} through {self.email.smtp}"

    def send(self, message: Message) -> None:
        mail = EmailMessage()
        mail["Subject"] = " ".join(message.subject.split())
        mail["From"] = self.email.sender
        mail["To"] = ", ".join(self.email.to)
        mail.set_content(message.text)
        try:
            with self._server() as server:
                server.send_message(mail)
        except (OSError, smtplib.SMTPException) as problem:
            raise NotSent(f"{self.email.smtp}: {problem}") from None

    def _server(self) -> smtplib.SMTP:
        host, _, port = self.email.smtp.rpartition(":")
        host = host.strip("[]")
        if self.email.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                host, int(port), timeout=PATIENCE_S, context=ssl.create_default_context()
            )
        else:
            server = smtplib.SMTP(host, int(port), timeout=PATIENCE_S)
        try:
            if self.email.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if self.email.user is not None:
                server.login(self.email.user, self._password())
        except BaseException:
            server.close()
            raise
        return server

    def _password(self) -> str:
        variable = self.email.password_env or ""
        password = os.environ.get(variable)
        if password is None:
            raise NotSent(f"no password for {self.email.user} in the environment variable {variable!r}")
        return password


def channels(notify: Notify) -> Iterator[Channel]:
    """The ways that a configuration names."""
    if notify.file is not None:
        yield ToFile(notify.file)
    if notify.command:
        yield ToCommand(tuple(notify.command))
    if notify.email is not None:
        yield ToMail(notify.email)


#: The folder of messages that could not be sent yet, beside the store.
OUTBOX = ".arkaudit-outbox"
ATTEMPTS = 3
FIRST_WAIT_S = 2.0


def tell(config: Config, store_file: Path, run_id: int, *, is_dry: bool = False, wait_s: float = FIRST_WAIT_S) -> bool:
    """Tell all that the configuration names what a run has changed; returns whether everybody has heard.

    What could not be sent earlier goes first. With *is_dry* it only says what would be sent, and to whom.
    """
    ways = list(channels(config.notify))
    with Store.open(store_file) as store:
        news = store.news(run_id)
    new = message(
        news,
        kinds=config.notify.on,
        audit=config.name or store_file.stem,
        report=str(config.out / "index.html") if config.out else None,
        facts=_facts(store_file, run_id) if any(item.kind in ("broke", "failing") for item in news.items) else {},
    )
    if is_dry:
        _tell_what_would_be(new, ways)
        return True
    outbox = Outbox(store_file.parent / OUTBOX / store_file.name)
    all_sent = True
    for way in ways:
        waiting = dict(outbox.waiting(way)) | ({f"run-{run_id:09d}": new} if new else {})
        for position, (key, text) in enumerate(waiting.items()):
            try:
                _sent(way, text, wait_s)
            except NotSent as problem:
                say(f"not told ({way.target}): {problem}; it is kept and sent the next time")
                all_sent = False
                for later in list(waiting.items())[position:]:  # in their order, or not at all
                    outbox.keep(way, *later)
                break
            outbox.forget(way, key)
    return all_sent


def _facts(store_file: Path, run_id: int) -> dict[str, ArkFacts]:
    """What a report on the run says of its ARKs that were not reached as cited, by their names."""
    frames = load_frames(store_file, run_id=run_id)
    statuses = ark_statuses(frames)[["ark_id", "ark", "family"]].set_index("ark_id")
    diagnoses = diagnosed_failures(frames).drop_duplicates("ark_id").set_index("ark_id")
    cited = frames.mentions[frames.mentions["ark_id"].isin(diagnoses.index)].sort_values(["document", "ordinal"])
    documents = cited.drop_duplicates(["ark_id", "document"]).groupby("ark_id")["document"].agg(tuple).to_dict()
    return {
        str(row["ark"]): ArkFacts(
            Family(str(statuses.at[ark_id, "family"])),
            f"{CAUSE_NAMES[Cause(row['cause'])]} ({row['host']})",
            documents.get(ark_id, ()),
        )
        for ark_id, row in diagnoses.iterrows()
        if ark_id in statuses.index
    }


def tell_of(config: Config, store_file: Path | None, run_id: int | None, *, is_dry: bool) -> bool:
    """Tell of a run of a store that is there, the newest by default; returns whether everybody has heard.

    Raises `extractors.shared_errors.UserMistake` and `crawler.storage.store_errors.StoreError`.
    """
    store_file = store_file or config.store or Path("audit.db")
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    if not config.notify.is_wanted:
        raise UserMistake("the configuration names nobody to tell: see [notify]")
    with Store.open(store_file) as store:
        runs = store.run_ids()
    if not runs or (run_id is not None and run_id not in runs):
        raise UserMistake(f"{store_file} has no run {run_id}" if runs else f"{store_file} has no runs")
    return tell(config, store_file, runs[-1] if run_id is None else run_id, is_dry=is_dry)


def _sent(way: Channel, text: Message, wait_s: float) -> None:
    """Send, with further attempts where that fails. Raises `NotSent` after the last."""
    tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(NotSent),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(multiplier=wait_s),
        reraise=True,
    )(way.send, text)


def _tell_what_would_be(new: Message | None, ways: Sequence[Channel]) -> None:
    if new is None:
        say("nothing has changed, so nobody would be told")
        return
    for way in ways:
        say(f"would {way.target}: {new.subject}")
    print(new.text, end="")


class Outbox:
    """Messages that could not be sent yet, each a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def waiting(self, way: Channel) -> list[tuple[str, Message]]:
        """Return what waits for this way, oldest first, each with its key."""
        found = []
        for file in sorted(self._folder.glob(f"{way.name}-*.json")):
            try:
                stored = json.loads(file.read_text("utf-8"))
                found.append((file.stem.removeprefix(f"{way.name}-"), Message(**stored)))
            except (OSError, ValueError, TypeError) as problem:
                say(f"{file} is no message that waits to be sent, and was left as it is: {problem}")
        return found

    def keep(self, way: Channel, key: str, text: Message) -> None:
        """Keep a message for the next time."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file(way, key).write_text(json.dumps(asdict(text)), "utf-8")
        except OSError as problem:
            say(f"and could not be kept in {self._folder}: {problem.strerror}")

    def forget(self, way: Channel, key: str) -> None:
        """It has been sent."""
        self._file(way, key).unlink(missing_ok=True)

    def _file(self, way: Channel, key: str) -> Path:
        return self._folder / f"{way.name}-{key}.json"
