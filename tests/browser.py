"""A real headless Chromium, spoken to in the DevTools protocol through two pipes: no port, no driver."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crawler.rendering import find_browser

#: The file descriptors that Chromium reads commands from and writes answers to.
COMMANDS_FD, ANSWERS_FD = 3, 4
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    """The path of a Chromium, if there is one."""
    browser = find_browser()
    return None if browser is None else str(browser)


class Page:
    """One open page: what it says in the console, and what an expression is worth in it."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._unread = b""
        self._count = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one command of the protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            received = os.read(self._answers, 1 << 16)
            assert received, "Chromium went away"
            self._unread += received
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._events.append(message)
        return message

    def open(self, file: Path, *, width: int = 1280, height: int = 900, fragment: str = "") -> None:
        """Show *file*, at *fragment*, in a window of this size, loaded to the end, pictures too."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._load("about:blank")  # or another fragment of the same page would not load it again
        self._load(file.resolve().as_uri() + fragment)

    def _load(self, url: str) -> None:
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._next()

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is worth in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def settled(self, promise: str) -> Any:
        """What a promise in the page comes to; fails the test if it is rejected."""
        answer = self.call("Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, condition: str, *, patience_s: float = 30.0) -> None:
        """Wait until a JavaScript expression is true in the page."""
        deadline = time.monotonic() + patience_s
        while not self.value(condition):
            assert time.monotonic() < deadline, f"never came true: {condition}"
            time.sleep(0.02)

    def press(self, key: str, code: int, text: str | None = None) -> None:
        """Press and release a key, as a person would."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    @property
    def complaints(self) -> list[str]:
        """Whatever the console, the log and the security policy have said since the page was opened."""
        said = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"]) for event in self._events if event["method"] in said]

    @property
    def requested_urls(self) -> list[str]:
        """Every URL that the page asked for since it was opened, itself included, embedded data not."""
        sent = (
            event["params"]["request"]["url"]
            for event in self._events
            if event["method"] == "Network.requestWillBeSent"
        )
        return [url for url in sent if not url.startswith("data:")]


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """A page in a Chromium of its own, which is gone afterwards."""
    path = chromium()
    assert path is not None, "there is no Chromium here"
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()

    def give_pipes() -> None:
        spare = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (commands_read, answers_write)]
        for end, place in zip(spare, (COMMANDS_FD, ANSWERS_FD), strict=True):
            os.dup2(end, place)

    process = subprocess.Popen(
        [path, *_FLAGS, f"--user-data-dir={profile}"],
        preexec_fn=give_pipes,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands_read)
    os.close(answers_write)
    try:
        yield Page(commands_write, answers_read)
    finally:
        os.close(commands_write)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(answers_read)
