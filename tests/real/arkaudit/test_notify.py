"""Notifications by a file, a command, a mail server and a webhook; repeated after a failure."""

import json
import sqlite3
import sys
from collections.abc import Iterator
from email import message_from_bytes
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from apprise.plugins.base import NotifyBase

from arkaudit.configuration.config_files import models
from extractors.model.errors import UserMistake
from tests.real.loopback import RawServer, reply, run_command
from tests.unit.arkaudit import test_notify
from tests.unit.arkaudit.test_notify import Audits, send

Config, Notify, ReportOptions = models()["Config"], models()["Notify"], models()["ReportOptions"]

broken_run = test_notify.broken_run


# -- the ways


class MailServer(Controller):
    """A real one, on a port that is free."""

    def _trigger_server(self) -> None:
        assert self.server is not None
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class Mailbox:
    """The handler of a mail server, which keeps the mails and may refuse them."""

    def __init__(self) -> None:
        self.mails: list[Any] = []
        self.refusals = 0

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refusals:
            self.refusals -= 1
            return "451 try again later"
        self.mails.append(message_from_bytes(envelope.content))
        return "250 OK"


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Mailbox, str]]:
    box = Mailbox()
    # Apprise waits 5.5 s between two mails to a server.
    monkeypatch.setattr(NotifyBase, "request_rate_per_sec", 0)

    def authenticate(server: Any, session: Any, envelope: Any, mechanism: Any, data: Any) -> AuthResult:
        is_known = isinstance(data, LoginPassword) and data.password == b"open sesame"
        return AuthResult(success=is_known, handled=False)  # the server answers

    server = MailServer(box, hostname="127.0.0.1", port=0, authenticator=authenticate, auth_require_tls=False)
    server.start()
    try:
        yield box, f"127.0.0.1:{server.port}"
    finally:
        server.stop()


def mail(server: str, *, user: str = "") -> Notify:
    who = f"{user}@" if user else ""
    to = "from=arkaudit@example.org&to=ada@example.org,bo@example.org&mode=insecure&retry=2&wait=0"
    return Notify(urls=[f"mailto://{who}{server}?{to}"])


def test_each_channel_gets_what_it_was_not_told_yet(mailbox: tuple[Mailbox, str], tmp_path: Path) -> None:
    box, server = mailbox
    news = tmp_path / "news.md"
    notify = mail(server).model_copy(update={"file": news})
    audits = Audits(tmp_path / "audit.db", notify)
    assert audits.run(0, 200)
    assert audits.run(1, 404)
    assert audits.run(4, 404)
    box.refusals = 100
    assert not audits.run(9, 404)
    assert (box.mails, news.read_text().count("Newly confirmed broken: 1")) == ([], 1)
    box.refusals = 0
    assert audits.run(10, 404)
    assert ["1 confirmed broken" in subject_of(sent) for sent in box.mails] == [True, True], "one for each recipient"
    assert "Already reported" not in text_of(box.mails[0])
    assert news.read_text().count("# theses") == 1, "this channel was told"
    box.refusals = 100
    assert not audits.run(11, 200)
    box.refusals = 0
    assert audits.run(12, 404)
    assert len(box.mails) == 2, "it failed again before the channel was told that it had recovered"
    assert news.read_text().count("# theses: 1 recovered") == 1
    assert audits.run(13, 200)
    assert ["1 recovered" in subject_of(sent) for sent in box.mails] == [False, False, True, True]
    assert news.read_text().count("# theses: 1 recovered") == 1, (
        "the failure of run 7 was not confirmed, so it was no news"
    )


def subject_of(sent: Any) -> str:
    return str(make_header(decode_header(sent["Subject"])))


def text_of(sent: Any) -> str:
    """Return the plain text of a mail."""
    text: str = sent.get_payload()[0].get_payload(decode=True).decode()
    return text


@pytest.mark.promise
def test_mail_names_broken_arks(mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int]) -> None:
    box, server = mailbox
    page = "https://library.example/arks/"
    assert send(Config(name="theses", notify=mail(server), report=ReportOptions(url=page)), *broken_run)
    assert {sent["To"] for sent in box.mails} == {"ada@example.org", "bo@example.org"}
    for sent in box.mails:
        assert "1 confirmed broken" in subject_of(sent)
        plain, html = (part.get_payload(decode=True).decode() for part in sent.get_payload())
        assert f"The report: {page}" in " ".join(plain.split()), "its readers see no links"
        assert "<samp>ark:12148/btv1b8449691v</samp>" in html
        assert "ark:12148/btv1b8449691v" in plain


def test_a_server_that_is_busy_is_asked_again(mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int]) -> None:
    box, server = mailbox
    box.refusals = 2
    assert send(Config(notify=mail(server)), *broken_run)
    assert len(box.mails) >= 1


def test_failed_notification_names_the_command_to_repeat_it(
    mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int], capsys: pytest.CaptureFixture[str]
) -> None:
    box, server = mailbox
    box.refusals = 100
    assert not send(Config(notify=mail(server), name="theses"), *broken_run)
    said = capsys.readouterr().err
    assert "not notified (send to mailto://" in said
    store_file, _ = broken_run
    again = f"arkaudit notify -c arkaudit.toml --audit theses --store {store_file}"
    assert f"the next run sends it, or by {again}" in said


def test_a_password_comes_from_the_environment_and_is_never_shown(
    mailbox: tuple[Mailbox, str],
    broken_run: tuple[Path, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    box, server = mailbox
    config = Config(notify=mail(server, user="arkaudit:$MAIL_PASSWORD"))
    assert not send(config, *broken_run)
    assert "set the environment variable MAIL_PASSWORD" in capsys.readouterr().err
    monkeypatch.setenv("MAIL_PASSWORD", "wrong one")
    assert not send(config, *broken_run)
    assert "wrong" not in capsys.readouterr().err
    monkeypatch.setenv("MAIL_PASSWORD", "open sesame")
    assert send(config, *broken_run)
    assert len(box.mails) == 2


def test_a_command_gets_the_news_and_a_file_keeps_them(broken_run: tuple[Path, int], tmp_path: Path) -> None:
    script = "import os, sys; open('news', 'w').write(os.environ['ARKAUDIT_SUBJECT'] + sys.stdin.read())"
    command = [sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}); {script}"]
    assert send(Config(notify=Notify(command=command, file=tmp_path / "news.md")), *broken_run)
    assert "1 confirmed broken" in (tmp_path / "news").read_text()
    assert (tmp_path / "news.md").read_text().count("- Newly confirmed broken: 1") == 1


def test_webhook_and_file_get_json_and_the_first_run_of_a_month_may_be_reported(
    broken_run: tuple[Path, int], tmp_path: Path
) -> None:
    path, last = broken_run
    with RawServer(lambda _: reply()) as server:
        notify = Notify(urls=[f"json://127.0.0.1:{server.port}/"], file=tmp_path / "news.jsonl", format="json")
        assert send(Config(notify=notify), path, last)
        assert server.request_lines == ["POST / HTTP/1.1"]
    [line] = (tmp_path / "news.jsonl").read_text().splitlines()
    assert json.loads(line)["changes"][0]["arks"] == json.loads(line)["counts"]["confirmed"] == 1
    monthly = Notify(file=tmp_path / "news.md", monthly=True)
    for run_id in (1, 2):
        assert send(Config(notify=monthly), path, run_id)
    assert (tmp_path / "news.md").read_text().count("# theses: nothing has changed") == 1


def test_one_way_that_fails_does_not_keep_another_from_hearing(
    broken_run: tuple[Path, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notify = Notify(command=["/no/such/program"], file=tmp_path / "news.md")
    assert not send(Config(notify=notify), *broken_run)
    assert "/no/such/program can't be run" in capsys.readouterr().err
    assert (tmp_path / "news.md").exists()


def test_dry_run_sends_no_notification(
    mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int], capsys: pytest.CaptureFixture[str]
) -> None:
    box, smtp = mailbox
    assert send(Config(notify=mail(smtp)), *broken_run, is_dry=True)
    said = capsys.readouterr()
    assert "would send to mailto://" in said.err
    assert "ada%40example.org" in said.err
    assert "- Newly confirmed broken: 1" in said.out
    assert box.mails == []


def test_run_notifies_at_its_end_and_notify_repeats_it(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("404 Not Found", body="<title>Not found</title>")) as server:
        (tmp_path / "theses.txt").write_text(f"A\n\n{server.url}/ark:/12148/x1")
        config = tmp_path / "arkaudit.toml"
        config.write_text(
            "seeds = ['theses.txt']\nstore = 'a.db'\n[politeness]\ndelay = 0\nbackoff = 0\ncontact = 'x@example.org'\n"
            "[network]\nonly_routed = true\nallow_addresses = ['127.0.0.0/8']\n"
            "[notify]\nfile = 'news.md'\non = ['failing']\n"
        )
        first = run_command("run", "-c", config, "--out", tmp_path / "out", "--format", "sarif", "--format", "md")
        assert first.returncode == 0, first.stderr
    assert "theses.txt:3" in first.stderr, "terminals open a file at its line"
    assert "theses.txt:3" in (tmp_path / "out" / "report.md").read_text()
    [run] = json.loads((tmp_path / "out" / "report.sarif").read_text())["runs"]
    [location] = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert location["region"] == {"startLine": 3}
    assert (tmp_path / "news.md").read_text().count("Failing, not yet confirmed") == 1
    refused = run_command("run", f"{server.url}/", "-c", config, "--store", tmp_path / "unread.db")
    assert (refused.returncode, (tmp_path / "news.md").read_text().count("could read no document")) == (3, 2)
    run_command("check", "ark:/12345/x1", "--store", tmp_path / "a.db")
    again = run_command("notify", "-c", config, "--dry-run")
    assert (again.returncode, again.stdout, "it has the news up to run 1" in again.stderr) == (0, "", True)
    with sqlite3.connect(tmp_path / "a.db") as store:
        store.execute("delete from delivery")
    again = run_command("notify", "-c", config, "--dry-run")
    assert (again.returncode, again.stdout.count("Failing, not yet confirmed")) == (0, 1)
    for arguments, said in ((("--run", "9"), "has no run 9"), (("--store", tmp_path / "b.db"), "there is no store")):
        refused = run_command("notify", "-c", config, *arguments)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert said in refused.stderr


def test_a_service_that_is_not_known_is_a_mistake_of_the_user(broken_run: tuple[Path, int]) -> None:
    with pytest.raises(UserMistake, match="Apprise knows no service 'pigeon'"):
        send(Config(notify=Notify(urls=["pigeon://loft"])), *broken_run)
