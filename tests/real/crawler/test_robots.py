"""robots.txt as RFC 9309 has it, also where it can't be had."""

import codecs
import gzip
import threading

import brotli
import pytest

from tests.real.loopback import RawServer, check_rows, outcomes, reply
from tests.unit.crawler.test_robots import _large_rules

PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")

FORBIDDING = reply(body="User-agent: *\nDisallow: /", media_type="text/plain")


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden", "410 Gone"])
def test_without_rules_everything_may_be_asked(status: str) -> None:
    with RawServer(lambda _: PAGE, robots=reply(status, body="User-agent: *\nDisallow: /")) as server:
        check_rows(f"{server.url}/ark:/12x45/x5")
        assert "/ark:/12x45/x5" in server.targets


@pytest.mark.parametrize(
    ("status", "times"),
    [("500 Internal Server Error", 1), ("503 Service Unavailable", 3), ("429 Too Many Requests", 3)],
)
def test_rules_that_can_not_be_had_forbid_everything_for_now(status: str, times: int) -> None:
    with RawServer(lambda _: PAGE, robots=reply(status)) as server:
        rows = check_rows(*(f"{server.url}/ark:/12x45/{name}" for name in ("x5", "y6")))
        assert server.targets == []
        assert len(server.request_lines) == times
    assert outcomes(rows) == ["robots", "robots"]
    assert f"answered {status[:3]}" in rows[0]["hops"][-1]["error"]


def test_rules_that_come_at_the_second_attempt_are_obeyed() -> None:
    class RecoveringServer(RawServer):
        @property
        def _robots(self) -> bytes:
            return reply("503 Service Unavailable") if len(self.request_lines) < 2 else FORBIDDING

        @_robots.setter
        def _robots(self, _: bytes) -> None:
            return

    with RecoveringServer(lambda _: PAGE) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert server.targets == []
    assert outcomes([row]) == ["robots"]
    assert "robots.txt forbids it" in row["hops"][-1]["error"]


def test_a_host_without_an_answer_is_observed_as_that() -> None:
    lock, asked = threading.Lock(), 0

    class Silent(RawServer):
        @property
        def _robots(self) -> bytes | None:
            nonlocal asked
            with lock:
                asked += 1
            return None

        @_robots.setter
        def _robots(self, _: bytes) -> None:
            return

    with Silent(lambda _: PAGE) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert server.targets == []
    assert outcomes([row]) == ["reset"]
    assert "when asked for robots.txt: the host hung up" in row["hops"][-1]["error"]
    assert asked >= 3, "each attempt asks for the rules again"


@pytest.mark.parametrize("name", ["arkaudit/0.1", "ArkAudit/9 (+https://pypi.org/project/arkaudit/)", "arkaudit*"])
def test_robots_rules_for_the_logged_name_are_obeyed(name: str) -> None:
    rules = reply(body=f"User-agent: *\r\nAllow: /\r\n\r\nUser-Agent: {name}\r\nDisallow: /", media_type="text/plain")
    with RawServer(lambda _: PAGE, robots=rules) as server:
        assert outcomes(check_rows(f"{server.url}/ark:/12x45/x5")) == ["robots"]
        assert server.targets == []


def test_rules_behind_a_redirect_count() -> None:
    with RawServer(lambda _: FORBIDDING) as rules:
        moved = reply("301 Moved Permanently", Location=f"{rules.url}/rules.txt")
        with RawServer(lambda _: PAGE, robots=moved) as server:
            [row] = check_rows(f"{server.url}/ark:/12x45/x5")
            assert server.targets == []
    assert outcomes([row]) == ["robots"]


_RULES = "User-agent: *\nDisallow: /"

_GZIP = "Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (_RULES.encode("utf-16"), ""), (codecs.BOM_UTF16_BE + _RULES.encode("utf-16-be"), ""),
        (_RULES.encode("utf-16-le"), ""), (_RULES.encode("utf-16-be"), ""), (_RULES.encode("utf-32"), ""),
        (_RULES.encode("utf-8-sig"), ""), (_RULES.encode(), _GZIP), (_RULES.encode("utf-16"), _GZIP),
        (brotli.compress(_RULES.encode()), _GZIP.replace("gzip", "br")),
        (gzip.compress(_RULES.encode("utf-16")), _GZIP),
        (gzip.compress(_RULES.encode()), ""),
    ],
    ids=["UTF-16", "UTF-16, big first", "UTF-16 unmarked", "UTF-16 unmarked, big first", "UTF-32", "UTF-8, marked",
         "gzip only declared", "UTF-16, gzip only declared", "Brotli", "UTF-16 in gzip", "gzip undeclared"],
)  # fmt: skip
def test_rules_are_obeyed_however_they_are_encoded(body: bytes, lines: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{lines}Connection: close\r\n\r\n"
    with RawServer(lambda _: PAGE, robots=head.encode() + body) as server:
        rows = check_rows(f"{server.url}/ark:/12x45/x5")
        assert server.targets == []
    assert outcomes(rows) == ["robots"]


@pytest.mark.parametrize(
    "status", ["301 Moved Permanently", "302 Found", "429 Too Many Requests", "503 Service Unavailable"]
)
@pytest.mark.parametrize("wish", ["9999999999", "9" * 400, "Fri, 31 Dec 99999 23:59:59 GMT"])
def test_endless_retry_after_is_obeyed(status: str, wish: str) -> None:
    answer = reply(status, Retry_After=wish, **({"Location": "/landed"} if status[0] == "3" else {}))
    with RawServer(lambda target: PAGE if target == "/landed" else answer) as server:
        check_rows(f"{server.url}/ark:/12x45/x5", f"{server.url}/ark:/12x45/x6")
        assert len(server.targets) == 1
        assert "/landed" not in server.targets


def test_a_host_with_crowded_rules_is_audited() -> None:
    robots = reply(body=_large_rules(4000).decode(), media_type="text/plain")
    with RawServer(lambda _: PAGE, robots=robots) as server:
        rows = check_rows(f"{server.url}/ark:/12x45/x5", f"{server.url}/7000/ark:/12x45/x5")
        assert "/ark:/12x45/x5" in server.targets
    assert outcomes(rows)[1] == "robots"
