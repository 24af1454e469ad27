"""Requests on the wire, read from raw sockets: a guard of the download handler's private seam."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, outcomes, reply, run_command, select
from tests.vectors import vectors

PAGE = reply(body="<title>An object</title>")

#: Parts of a found ARK, which must arrive as found.
ODD = (
    "ark:/12x45/a%7db", "ark:/12x45/a%7Db", "ark:/12x45/a//b", "ark:/12x45/a/./b",
    "ark:/12x45/a/%2e%2E/b", "ark:/12x45/=~*+@_$b", "ARK:12x45/b", "ark:12x45/1:1:C4H8-2DW2", "ark://12x45/x-y",
)  # fmt: skip


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(params=["http", "https"])
def server(request: pytest.FixtureRequest, authority: trustme.CA) -> Iterator[RawServer]:
    tls = authority.issue_cert("127.0.0.1") if request.param == "https" else None
    with RawServer(lambda _: PAGE, tls=tls) as running:
        yield running


@pytest.mark.promise
def test_every_inflection_arrives_as_it_was_asked(server: RawServer) -> None:
    check_rows(f"{server.url}/ark:/12x45/x5")
    assert [target for target in server.targets if target.partition("?")[0].endswith("/x5")] == [
        "/ark:/12x45/x5", "/ark:/12x45/x5?info", "/ark:/12x45/x5??", "/ark:/12x45/x5?",
    ]  # fmt: skip


def test_odd_characters_arrive_as_they_were_found(server: RawServer) -> None:
    rows = check_rows(*(f"{server.url}/{ark}" for ark in ODD))
    found = [row["asked"] for row in rows if row["ark"]]
    assert len(found) == len(ODD)
    for ark in ODD:
        assert {f"/{ark}", f"/{ark}?info", f"/{ark}?"} <= set(server.targets)


def test_a_location_is_followed_byte_for_byte() -> None:
    def respond(target: str) -> bytes:
        return (
            PAGE
            if target.startswith("/land")
            else reply("302 Found", Location=f"/land/./x%7d{target.partition('x5')[2]}")
        )

    with RawServer(respond) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert [hop["location"] for hop in row["hops"]] == ["/land/./x%7d", None]
        landed = [target for target in server.targets if target.startswith("/land/./x%7d")]
        assert {"/land/./x%7d?info", "/land/./x%7d??", "/land/./x%7d?"} <= set(landed)


HEADS = vectors("damaged_heads")


@pytest.fixture(scope="module", params=["http", "https"])
def heads_read(
    request: pytest.FixtureRequest, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Any, ...]]:
    """Return outcome, status of the last hop and ARKs of a page after each head, by the number of the head."""

    def respond(target: str) -> bytes:
        body = b"<title>An object</title><p>ark:/12148/bpt6k107371t"
        [odd] = HEADS[int(target[1:])].values
        status, *lines = odd["head"]
        text, times = odd.get("bulk", ("", 0))
        more = [f"X-Bulk: {text * times}"] if times else []
        text = "\r\n".join([status, *more, *lines, "Connection: close", "", ""])
        return text.replace("{length}", str(len(body))).encode("latin-1") + body

    store = tmp_path_factory.mktemp("heads") / "a.db"
    tls = authority.issue_cert("127.0.0.1") if request.param == "https" else None
    with RawServer(respond, tls=tls) as server:
        urls = [f"{server.url}/{number}" for number in range(len(HEADS))]
        done = run_command("crawl", *ON_LOOPBACK, "--no-sitemaps", *urls, "--store", store)
        assert done.returncode == 0, done.stderr
    rows = select(
        store,
        "select url, outcome, status, (select count(*) from mention m where m.document_id = d.document_id)"
        " from document d",
    )
    return {url.rpartition("/")[2]: tuple(rest) for url, *rest in rows}


@pytest.mark.parametrize("number", [pytest.param(n, id=each.id) for n, each in enumerate(HEADS)])
def test_a_damaged_head_costs_neither_the_status_nor_the_page(
    number: int, heads_read: dict[str, tuple[Any, ...]]
) -> None:
    assert heads_read[str(number)] == ("read", 200, 1)


def test_a_proxy_is_given_the_whole_url_with_its_question_mark() -> None:
    with RawServer(lambda _: PAGE) as proxy:
        # Without --only-routed: a proxy resolves names, so that option disables proxies.
        done = run_command(
            "check", "--delay", "0", "--allow-address", "127.0.0.0/8", "http://resolver.example/ark:/12x45/x5",
            http_proxy=proxy.url,
        )  # fmt: skip
        asked = [line.split(" ")[1] for line in proxy.request_lines]
        assert "http://resolver.example/ark:/12x45/x5?" in asked
        assert "http://resolver.example/ark:/12x45/x5?info" in asked
    assert min(later - earlier for earlier, later in pairwise(proxy.times)) >= 0.75, "it is not an own host"
    assert done.stderr.count("give an address by --contact") == 1
    assert done.stderr.count("shorter ones are only for your own hosts") == 1


def test_a_route_leaves_url_and_host_header_as_written(authority: trustme.CA, ca_file: Path) -> None:
    with RawServer(lambda _: PAGE, tls=authority.issue_cert("n2t.net")) as server:
        [row] = check_rows(
            "--connect-to", f"n2t.net:443=127.0.0.1:{server.port}", "--ca-file", ca_file, "ark:/12x45/x5"
        )
        assert row["final_url"] == "https://n2t.net/ark:/12x45/x5"
        assert all("Host: n2t.net\r\n" in head for head in server.heads)


def test_a_name_without_a_route_fails_closed() -> None:
    [row] = check_rows("https://n2t.net/ark:/12x45/x5")
    assert outcomes([row]) == ["refused-address"]
    assert row["requests"] == 0


@pytest.mark.parametrize("number", [12345, 99999])
@pytest.mark.promise
def test_examples_and_tests_are_never_requested(number: int) -> None:
    with RawServer(lambda _: PAGE) as server:
        rows = check_rows(f"{server.url}/ark:/{number}/x5", f"{server.url}/ARK:{number}/x5-6")
        assert outcomes(rows) == ["skipped", "skipped"]
        assert server.request_lines == []


@pytest.mark.promise
def test_robots_txt_is_obeyed_and_is_no_failure() -> None:
    with RawServer(
        lambda _: PAGE, robots=reply(body="User-agent: *\nDisallow: /*?", media_type="text/plain")
    ) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert row["metadata"]["outcome"] == "blocked"
        assert server.targets[0] == "/ark:/12x45/x5"
        assert not any("?" in target for target in server.targets)


@pytest.mark.promise
def test_requests_identify_the_client() -> None:
    with RawServer(lambda _: PAGE) as server:
        check_rows("--contact", "auditor@library.example", f"{server.url}/ark:/12x45/x5")
        assert all("auditor@library.example" in head and "User-Agent: arkaudit/" in head for head in server.heads)
