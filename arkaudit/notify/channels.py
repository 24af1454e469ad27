"""The ways by which a message leaves: a file, a command, a mail server. Each either takes it or says why not."""

from __future__ import annotations

import os
import smtplib
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Protocol

from arkaudit.config import Email, Notify
from arkaudit.notify.message import Message
from extractors.shared_errors import ArkauditError

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
