"""A real headless Chromium, spoken to in the DevTools protocol through two pipes: no port, no driver."""

import atexit
import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from arkaudit.features.rendering.section import find_browser
from tests.real.waiting import wait_until

#: The file descriptors that Chromium reads commands from and writes answers to.
COMMANDS_FD, ANSWERS_FD = 3, 4
P = ParamSpec("P")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    browser = find_browser()
    return None if browser is None else str(browser)


class Browser:
    """A Chromium, and the messages of all its pages."""

    def __init__(self, path: str, profile: Path) -> None:
        commands_read, self._commands = os.pipe()
        self._answers, answers_write = os.pipe()

        def give_pipes() -> None:
            spare = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (commands_read, answers_write)]
            for end, place in zip(spare, (COMMANDS_FD, ANSWERS_FD), strict=True):
                os.dup2(end, place)

        self._process = subprocess.Popen(
            [path, *_FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=give_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_read)
        os.close(answers_write)
        self._unread = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the result of one command of the protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self) -> dict[str, Any]:
        """Wait for the next message; keep it if it is an event."""
        while b"\0" not in self._unread:
            received = os.read(self._answers, 1 << 16)
            assert received, "Chromium went away"
            self._unread += received
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def close(self) -> None:
        """End Chromium: it exits when the pipe of its commands is closed."""
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)


class Page:
    """One open page: its console, its requests, and the values of expressions in it."""

    def __init__(self, browser: Browser, context: str) -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of one command of the protocol, given to this page."""
        return self._browser.call(method, self._session, **params)

    @property
    def _events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def open(self, file: Path, *, width: int = 1280, height: int = 900, fragment: str = "") -> None:
        """Show *file*, at *fragment*, in a window of this size, loaded to the end, pictures too."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._load("about:blank")  # or another fragment of the same page would not load it again
        self._load(file.resolve().as_uri() + fragment)

    def _load(self, url: str) -> None:
        self._browser.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._browser.receive()

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def settled(self, promise: str) -> Any:
        """Return the value of a promise in the page; fail the test if it is rejected."""
        answer = self.call("Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true in the page."""
        wait_until(lambda: self.value(condition), condition)

    def press(self, key: str, code: int, text: str | None = None) -> None:
        """Press and release a key, as a person would."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    @property
    def complaints(self) -> list[str]:
        """Return the messages of the console, the log and the security policy since the page was opened."""
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


@cache
def running_browser() -> Browser:
    """Return the one Chromium of this process, which ends with it."""
    path = chromium()
    assert path is not None, "there is no Chromium here"
    profile = tempfile.TemporaryDirectory(prefix="arkaudit-browser-", ignore_cleanup_errors=True)
    browser = Browser(path, Path(profile.name))
    atexit.register(profile.cleanup)
    atexit.register(browser.close)
    return browser


@contextmanager
def browser_page() -> Iterator[Page]:
    """Yield a page with a storage of its own, which is gone afterwards."""
    browser = running_browser()
    context: str = browser.call("Target.createBrowserContext")["browserContextId"]
    try:
        yield Page(browser, context)
    finally:
        browser.call("Target.disposeBrowserContext", browserContextId=context)


#: A page of the browser, and the path of the report that it opens.
PageAndReport = tuple[Page, Path]


def needs_browser(test: Callable[P, None]) -> Callable[P, None]:
    """Mark a test that opens a page in a browser, and skip it without one."""
    return pytest.mark.browser(pytest.mark.skipif(chromium() is None, reason="no Chromium here")(test))


AXE = (Path(__file__).parents[1] / "vendor" / "axe.min.js").read_text("utf-8")


def barriers(browser: Page) -> list[tuple[str, str]]:
    """Return the rules of axe-core that the page breaks, each with the first element that does."""
    browser.value(AXE + "; null")
    rules = json.dumps(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
    found = browser.settled(
        f"axe.run(document, {{runOnly: {rules}}}).then(result => result.violations.map(each => "
        "[each.id, each.nodes[0].html.slice(0, 200)]))"
    )
    return [(str(name), str(html)) for name, html in found]
