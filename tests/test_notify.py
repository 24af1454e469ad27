"""Notifications of changes by a run: by a file, a command, a real mail server; repeated after a failure."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.config import Config, Notify
from arkaudit.schedules.notification import HEADINGS, MOST_LISTED, ArkFacts, _code, message, send_news
from crawler.model.observations import MetadataOutcome, ObjectOutcome, ServiceVerdict, Verdict
from crawler.store.store import Store
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from reports.tables.news import News, NewsItem
from tests.loopback import RawServer, reply, run_command

URL = "https://n2t.net/ark:12148/btv1b8449691v"


def item(kind: str, *, ark: str = "ark:12148/btv1b8449691v", detail: str = "", citations: int = 0) -> NewsItem:
    return NewsItem(kind, ark, f"https://n2t.net/{ark}", detail, citations)


def news(*items: NewsItem, known: int = 0, suspect: str = "") -> News:
    return News(7, "2026-11-21T10:00:00.000+00:00", items, known, suspect)


def test_new_problems_come_first_and_known_ones_are_counted() -> None:
    told = message(
        news(item("new"), item("confirmed", citations=3), item("recovered"), known=12), kinds=HEADINGS, audit="theses"
    )
    assert told is not None
    assert told.subject == "arkaudit: theses: 1 confirmed broken, 1 newly cited, 1 recovered"
    assert told.text.index("Confirmed broken") < told.text.index("Newly cited")
    assert "cited 3 times" in told.text
    assert "Already reported: 12 ARKs with problems." in told.text


def test_an_ark_counts_once_as_in_the_report_with_its_document_its_cause_and_a_link_into_the_page() -> None:
    broken, unreachable = "ark:12148/x1", "ark:12148/x3"
    facts = {
        broken: ArkFacts("the resolver knows no ARK of this NAAN (r.example)", ("a.pdf", "b.pdf")),
        unreachable: ArkFacts("the host gives no answer (s.example)"),
    }
    other = NewsItem("failing", broken, f"https://r.example/{broken}", "", 2)
    said = message(
        news(item("failing", ark=broken, citations=1), other, item("unreachable", ark=unreachable)),
        kinds=["failing"],
        audit="theses",
        report="report/index.html",
        facts=facts,
    )
    assert said is not None
    assert said.subject == "arkaudit: theses: 1 failing, 1 without an answer"
    assert "cited 3 times in `a.pdf` and 1 other document" in said.text
    assert "`the resolver knows no ARK of this NAAN (r.example)`; see `report/index.html#ark=ark:12148/x1`" in said.text


def test_in_a_first_run_nothing_is_new() -> None:
    first = replace(news(item("new"), item("failing")), is_first=True)
    said = message(first, kinds=HEADINGS, audit="theses")
    assert said is not None
    assert "The first audit (run 7, " in said.text
    assert said.subject == "arkaudit: theses: 1 failing, 1 cited"
    assert "new" not in said.text.lower()


def test_unchanged_run_sends_no_notification() -> None:
    assert message(news(known=12), kinds=HEADINGS, audit="theses") is None
    assert message(news(item("new")), kinds=["confirmed"], audit="theses") is None


def test_long_list_is_cut_with_a_remark() -> None:
    told = message(
        news(*(item("confirmed", ark=f"ark:12148/x{at}") for at in range(MOST_LISTED + 3))),
        kinds=["confirmed"],
        audit="theses",
    )
    assert told is not None
    assert told.text.count("- `ark:") == MOST_LISTED
    assert "- and 3 more, in the report" in told.text


def test_suspect_run_is_marked_in_news() -> None:
    told = message(news(item("new"), suspect="9 of 10 hosts gave no answer"), kinds=["new"], audit="theses")
    assert told is not None
    assert "confirms no failure: 9 of 10 hosts gave no answer" in told.text


@given(st.text())
def test_foreign_text_has_no_effect_as_markdown(text: str) -> None:
    from markdown_it import MarkdownIt

    shown = _code(text)
    assert "\n" not in shown
    (inline,) = MarkdownIt().parseInline(shown)
    assert [child.type for child in inline.children or []] == ["code_inline"] or not text.strip()


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
def mailbox() -> Iterator[tuple[Mailbox, str]]:
    box = Mailbox()

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


@pytest.fixture
def broken_run(tmp_path: Path) -> tuple[Path, int]:
    """Return a store whose last run has confirmed that an ARK is broken: it failed three times in eight days."""
    path = tmp_path / "theses.db"
    nothing = ServiceVerdict(MetadataOutcome.NOT_ASKED)
    with Store.open(path) as store:
        for day, outcome in (("12", "resolved"), ("13", "broken"), ("17", "broken"), ("21", "broken")):
            at = f"2026-11-{day}T10:00:00.000+00:00"
            run_id = store.begin_run(command="run", at=at, version="0", resolver="", user_agent="", seeds=[])
            found = ServiceVerdict(ObjectOutcome(outcome))
            store.record_verdicts(
                run_id, [Verdict(Ark.parse("ark:12148/btv1b8449691v"), URL, found, nothing, nothing, URL, (), 1)]
            )
            store.end_run(run_id, at=at, state="finished")
    return path, run_id


@pytest.mark.promise
def test_mail_names_broken_arks(mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int]) -> None:
    box, server = mailbox
    assert send_news(Config(name="theses", notify=mail(server)), *broken_run)
    assert {sent["To"] for sent in box.mails} == {"ada@example.org", "bo@example.org"}
    for sent in box.mails:
        assert "1 confirmed broken" in str(make_header(decode_header(sent["Subject"])))
        assert "ark:12148/btv1b8449691v" in sent.as_string()


def test_a_server_that_is_busy_is_asked_again(mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int]) -> None:
    box, server = mailbox
    box.refusals = 2
    assert send_news(Config(notify=mail(server)), *broken_run)
    assert len(box.mails) >= 1


def test_failed_notification_names_the_command_to_repeat_it(
    mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int], capsys: pytest.CaptureFixture[str]
) -> None:
    box, server = mailbox
    box.refusals = 100
    assert not send_news(Config(notify=mail(server)), *broken_run)
    said = capsys.readouterr().err
    assert "not notified (send to mailto://" in said
    assert "arkaudit notify --run 4" in said


def test_a_password_comes_from_the_environment_and_is_never_shown(
    mailbox: tuple[Mailbox, str],
    broken_run: tuple[Path, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    box, server = mailbox
    config = Config(notify=mail(server, user="arkaudit:$MAIL_PASSWORD"))
    assert not send_news(config, *broken_run)
    assert "set the environment variable MAIL_PASSWORD" in capsys.readouterr().err
    monkeypatch.setenv("MAIL_PASSWORD", "wrong one")
    assert not send_news(config, *broken_run)
    assert "wrong" not in capsys.readouterr().err
    monkeypatch.setenv("MAIL_PASSWORD", "open sesame")
    assert send_news(config, *broken_run)
    assert len(box.mails) == 2


def test_a_service_that_is_not_known_is_a_mistake_of_the_user(broken_run: tuple[Path, int]) -> None:
    with pytest.raises(UserMistake, match="Apprise knows no service 'pigeon'"):
        send_news(Config(notify=Notify(urls=["pigeon://loft"])), *broken_run)


def test_a_command_gets_the_news_and_a_file_keeps_them(broken_run: tuple[Path, int], tmp_path: Path) -> None:
    script = "import os, sys; open('news', 'w').write(os.environ['ARKAUDIT_SUBJECT'] + sys.stdin.read())"
    command = [sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}); {script}"]
    assert send_news(Config(notify=Notify(command=command, file=tmp_path / "news.md")), *broken_run)
    assert "1 confirmed broken" in (tmp_path / "news").read_text()
    assert (tmp_path / "news.md").read_text().count("Confirmed broken, by") == 1


def test_one_way_that_fails_does_not_keep_another_from_hearing(
    broken_run: tuple[Path, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notify = Notify(command=["/no/such/program"], file=tmp_path / "news.md")
    assert not send_news(Config(notify=notify), *broken_run)
    assert "/no/such/program can't be run" in capsys.readouterr().err
    assert (tmp_path / "news.md").exists()


def test_dry_run_sends_no_notification(
    mailbox: tuple[Mailbox, str], broken_run: tuple[Path, int], capsys: pytest.CaptureFixture[str]
) -> None:
    box, smtp = mailbox
    assert send_news(Config(notify=mail(smtp)), *broken_run, is_dry=True)
    said = capsys.readouterr()
    assert "would send to mailto://" in said.err
    assert "ada%40example.org" in said.err
    assert "Confirmed broken, by" in said.out
    assert box.mails == []


def test_run_notifies_at_its_end_and_notify_repeats_it(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("404 Not Found", body="<title>Not found</title>")) as server:
        (tmp_path / "theses.txt").write_text(f"{server.url}/ark:/12148/x1")
        config = tmp_path / "arkaudit.toml"
        config.write_text(
            "seeds = ['theses.txt']\nstore = 'a.db'\n[politeness]\ndelay = 0\nbackoff = 0\ncontact = 'x@example.org'\n"
            "[network]\nonly_routed = true\nallow_addresses = ['127.0.0.0/8']\n"
            "[notify]\nfile = 'news.md'\non = ['failing']\n"
        )
        first = run_command("run", "-c", config)
        assert first.returncode == 0, first.stderr
    assert (tmp_path / "news.md").read_text().count("Failing, not yet confirmed") == 1
    again = run_command("notify", "-c", config, "--dry-run")
    assert (again.returncode, again.stdout.count("Failing, not yet confirmed")) == (0, 1)
    for arguments, said in ((("--run", "9"), "has no run 9"), (("--store", tmp_path / "b.db"), "there is no store")):
        refused = run_command("notify", "-c", config, *arguments)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert said in refused.stderr
