"""Secrets of proxies and services in texts of the configuration."""

import io
import logging
import sys
from pathlib import Path

import pytest
from rich.console import Console

from arkaudit.configuration.config_files import load
from arkaudit.output import logs
from arkaudit.output.exits import say


def test_secrets_of_proxies_and_of_a_service_are_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("http_proxy", "http://me:pr0xy%2Fsesame@127.0.0.1:9")
    monkeypatch.setenv("MAIL_PASSWORD", "m4il/open+sesame")
    service = "mailto://me:$MAIL_PASSWORD@mail.example?to=a@b.example"
    config = load(None, {"notify.urls": [service], "log.file": tmp_path / "a.log"})
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("platform.platform", lambda: "a platform")  # the real one may start `uname`
    shown_on_console = io.StringIO()
    console = Console(file=shown_on_console)
    logs.start_log(config, lambda: console)
    try:
        for told in ("m4il/open+sesame", "m4il%2Fopen%2Bsesame", "pr0xy/sesame", "pr0xy%2Fsesame"):
            say(f"not notified (mail): 535 {told} is wrong")
            logging.getLogger("crawler.test").warning("535 %s is wrong", told)
        sys.excepthook(ValueError, ValueError("m4il/open+sesame"), None)
    finally:
        logs.start_log(load(None, {}), lambda: Console(file=io.StringIO()))
    shown = capsys.readouterr().err + (tmp_path / "a.log").read_text() + shown_on_console.getvalue()
    assert shown.count("[secret]") >= 13
    assert "sesame" not in shown
