"""The NAAN registry from servers on loopback: cached, revalidated, and never replaced by less."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from arkaudit.features.registry.updates import UserMistake
from crawler.model.registry import REGISTRY_LIMIT, load_registry
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command
from tests.unit.features.registry import test_registry
from tests.unit.features.registry.test_registry import NEW, OLD, files, put
from tests.vectors import vectors

cache = test_registry.cache

ETAG = '"5d8c72a5edda8d6a:0"'

UPDATE = ("registry", "update", *ON_LOOPBACK)

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def answer(body: str = NEW) -> bytes:
    return reply(body=body, media_type="application/json", ETag=ETAG, Last_Modified="Fri, 02 Jan 2026 00:00:00 GMT")


def fetch(url: str, folder: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return run_command(*UPDATE, *options, url, ARKAUDIT_CACHE=str(folder))


def show(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("registry", "show", *arguments, ARKAUDIT_CACHE=str(folder))


# -- fetching


@pytest.mark.promise
def test_registry_url_is_cached_and_revalidated(tmp_path: Path) -> None:
    answers: Iterator[bytes] = iter([answer(), reply("304 Not Modified", ETag=ETAG), answer(OLD)])
    with RawServer(lambda target: next(answers)) as server:
        url = f"{server.url}/naan_records.json"
        first, second, third = (fetch(url, tmp_path) for _ in range(3))
    assert [done.returncode for done in (first, second, third)] == [0, 0, 0], first.stderr
    assert "a new copy of the NAAN registry of 2026-01-02" in first.stderr
    assert "2 NAANs, 1 shoulders" in first.stderr
    assert "no change" in second.stderr
    assert "a new copy" in third.stderr
    heads = [head for head in server.heads if "robots.txt" not in head.partition("\r\n")[0]]
    conditions = [("If-None-Match: " + ETAG in head, "If-Modified-Since: Fri, 02 Jan" in head) for head in heads]
    assert conditions == [(False, False), (True, True), (True, True)]
    registry = load_registry(tmp_path)
    assert (registry.source, registry.knows("54321"), registry.knows("54322")) == (url, True, False)


def test_not_modified_says_when_the_copy_was_last_known_to_be_current(tmp_path: Path) -> None:
    answers = iter([answer(), reply("304 Not Modified")])
    with RawServer(lambda target: next(answers)) as server:
        fetch(server.url, tmp_path)
        fetched_at, copy = load_registry(tmp_path).fetched_at, files(tmp_path)["naan-registry"]
        fetch(server.url, tmp_path)
    assert fetched_at is not None
    checked_at = load_registry(tmp_path).fetched_at
    assert checked_at is not None
    assert checked_at > fetched_at
    assert files(tmp_path)["naan-registry"] == copy


def test_redirects_are_followed_and_the_conditions_with_them(tmp_path: Path) -> None:
    answers = {
        "/naan_records.json": reply("301 Moved Permanently", Location="/moved/to"),
        "/moved/to": reply("302 Found", Location="here"),
        "/moved/here": answer(),
    }
    with RawServer(lambda target: answers[target]) as server:
        url = f"{server.url}/naan_records.json"
        assert fetch(url, tmp_path).returncode == 0
        assert server.targets == ["/naan_records.json", "/moved/to", "/moved/here"]
        answers["/moved/here"] = reply("304 Not Modified")
        assert "no change" in fetch(url, tmp_path).stderr
        assert f"If-None-Match: {ETAG}" in server.heads[-1]
    assert load_registry(tmp_path).source == url


def gzip_reply(body: bytes, whole: int = 0) -> bytes:
    packed = gzip.compress(body)
    head = f"Content-Encoding: gzip\r\nContent-Length: {whole or len(packed)}\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}Connection: close\r\n\r\n".encode() + packed


def test_a_compressed_registry_is_read(tmp_path: Path) -> None:
    with RawServer(lambda target: gzip_reply(NEW.encode())) as server:
        assert fetch(server.url, tmp_path).returncode == 0
    assert load_registry(tmp_path).knows("54322")


def slowly(target: str) -> bytes:
    time.sleep(3)
    return answer()


REFUSED: list[tuple[str, Callable[[str], bytes | None], str]] = [
    (
        "a captive portal's page",
        lambda _: reply(body="<!DOCTYPE html><form>Log in</form>"),
        "no JSON: it begins with '<!DOCTYPE html>",
    ),
    ("an empty answer", lambda _: reply(body=""), "it is empty"),
    ("a server error, with a registry", lambda _: answer().replace(b"200 OK", b"500 Oops"), "answered 500"),
    ("a 404", lambda _: reply("404 Not Found"), "answered 404"),
    ("a part that was not requested", lambda _: answer().replace(b"200 OK", b"206 Partial"), "answered 206"),
    ("a body cut off before its length", lambda _: answer()[:-20], "the connection broke off"),
    ("a body cut off inside its compression", lambda _: gzip_reply(NEW.encode())[:-20], "the connection broke off"),
    ("a body cut off that claims no length", lambda _: HEAD + NEW[:-9].encode(), "JSON that can't be read"),
    ("nothing at all", lambda _: None, "reset"),
    ("not modified, to an unconditional request", lambda _: reply("304 Not Modified"), "answered 304"),
    ("a redirect to a file", lambda _: reply("302 Found", Location="file:///etc/passwd"), "non-web"),
    ("a redirect to itself", lambda _: reply("302 Found", Location="/"), "loop"),
    ("a body that grows too large", lambda _: gzip_reply(b" " * (REGISTRY_LIMIT + 1)), "or grows too large"),
    ("a body that is too large", lambda _: HEAD + b" " * (REGISTRY_LIMIT + 9), "more than 67108864 bytes"),
    ("an answer that does not come", slowly, "timeout"),
]  # fmt: skip


@pytest.mark.parametrize(("respond", "reason"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_malformed_registry_never_replaces_the_copy(
    respond: Callable[[str], bytes | None], reason: str, cache: Path
) -> None:
    before = files(cache)
    with RawServer(respond) as server:
        done = fetch(f"{server.url}/", cache, "--timeout", "1" if respond is slowly else "60")
    assert done.returncode == 3
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert files(cache) == before


def test_robots_are_obeyed(cache: Path) -> None:
    with RawServer(lambda target: answer(), robots=reply(body="User-agent: *\nDisallow: /\n")) as server:
        done = fetch(server.url, cache)
    assert (done.returncode, server.targets) == (3, [])
    assert "robots" in done.stderr


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    ca = trustme.CA()
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    other = trustme.CA().cert_pem.bytes()
    path.write_bytes(other + ca.cert_pem.bytes())
    return ca, path


def route_to(server: RawServer) -> tuple[str, str]:
    return "--connect-to", f"registry.example.org:443=127.0.0.1:{server.port}"


def test_a_registry_is_believed_only_from_a_host_with_a_trusted_certificate(
    tmp_path: Path, authority: tuple[trustme.CA, Path]
) -> None:
    ca, ca_file = authority
    with RawServer(lambda target: answer(), tls=ca.issue_cert("registry.example.org")) as server:
        url = "https://registry.example.org/naan_records.json"
        untrusted = fetch(url, tmp_path, *route_to(server))
        assert (untrusted.returncode, server.targets) == (3, [])
        assert "tls: " in untrusted.stderr
        trusted = fetch(url, tmp_path, *route_to(server), "--ca-file", ca_file)
        assert trusted.returncode == 0, trusted.stderr
    with RawServer(lambda target: answer(), tls=ca.issue_cert("other.example.org")) as server:
        assert fetch(url, tmp_path, *route_to(server), "--ca-file", ca_file).returncode == 3
        assert server.targets == []


def test_a_redirect_away_from_https_is_not_believed(cache: Path, authority: tuple[trustme.CA, Path]) -> None:
    ca, ca_file = authority
    before = files(cache)
    with (
        RawServer(lambda target: answer()) as plain,
        RawServer(
            lambda target: reply("302 Found", Location=f"{plain.url}/x"), tls=ca.issue_cert("registry.example.org")
        ) as server,
    ):
        done = fetch("https://registry.example.org/", cache, *route_to(server), "--ca-file", ca_file)
    assert done.returncode == 3
    assert f"a redirect from https to {plain.url}/x" in done.stderr
    assert files(cache) == before


def test_another_url_is_asked_without_the_conditions_of_the_first(tmp_path: Path) -> None:
    with RawServer(lambda target: answer()) as server:
        for path in ("/one", "/two"):
            fetch(server.url + path, tmp_path)
            assert "If-None-Match" not in server.heads[-1]


def test_edited_copy_is_fetched_again(tmp_path: Path) -> None:
    with RawServer(lambda target: answer()) as server:
        fetch(server.url, tmp_path)
        (tmp_path / "naan-registry").write_text(OLD, "utf-8")
        assert load_registry(tmp_path).source == str(tmp_path / "naan-registry")
        assert load_registry(tmp_path).fetched_at is None
        done = fetch(server.url, tmp_path)
    assert "If-None-Match" not in server.heads[-1]
    assert "a new copy" in done.stderr
    assert load_registry(tmp_path).knows("54322")


KILLED_AT = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from arkaudit.features.registry import updates

def killed(*arguments, **more):
    os.kill(os.getpid(), signal.SIGKILL)

owner, name = {"fsync": (os, "fsync"), "replace": (Path, "replace")}[sys.argv[1]]
setattr(owner, name, killed)
updates.update(Path(sys.argv[2]), Path(sys.argv[3]), now=datetime.now(UTC), settings={})
"""


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_between_writing_and_renaming_leaves_the_old_copy(moment: str, cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "new.json"
    source.write_text(NEW, "utf-8")
    before = load_registry(cache)
    done = subprocess.run([sys.executable, "-c", KILLED_AT, moment, source, cache], check=False)
    assert done.returncode == -9
    assert load_registry(cache) == before
    put(source, cache)
    assert load_registry(cache).knows("54322")


def test_unwritable_cache_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "new.json"
    source.write_text(NEW, "utf-8")
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(UserMistake, match="can't be written"):
        put(source, tmp_path / "file")
    done = run_command("registry", "update", source, ARKAUDIT_CACHE=str(tmp_path / "file" / "cache"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("damage", [b"", b"\x00" * 4096, OLD[:-1].encode()], ids=["empty", "zeros", "cut off"])
def test_a_damaged_copy_is_one_line_and_the_built_in_table_answers(damage: bytes, cache: Path) -> None:
    (cache / "naan-registry").write_bytes(damage)
    registry = load_registry(cache)
    assert registry.source == "built in"
    assert registry.warning is not None
    assert "can't be used" in registry.warning
    done = show(cache, "12148")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "arkaudit registry update" in done.stderr
    assert "nationale de France" in done.stdout


# -- the command


@pytest.mark.parametrize("verb", [(), ("update",), ("show",)])
def test_the_verbs_have_help_with_an_example(verb: tuple[str, ...]) -> None:
    done = run_command("registry", *verb, "--help")
    assert done.returncode == 0
    assert done.stdout.count(" ".join(("arkaudit registry", *verb))) > 1


def test_show_prints_record_and_age(cache: Path) -> None:
    done = run_command("registry", "show", "54321", ARKAUDIT_CACHE=str(cache), COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    for known in (
        "Archive 54321; AR; not for profit", "2011-03-08", "https://ark.example.org/ark:/${content} (302)",
        "names are never re-assigned; names carry a check character", "of 2026-01-02", "days old", "old.json",
    ):  # fmt: skip
        assert known in done.stdout


def test_show_as_json_has_the_url_that_an_ark_leads_to(cache: Path) -> None:
    done = show(cache, "https://n2t.net/ark:/54321/x5-4?info", "--format", "json")
    row: dict[str, Any] = json_lines(done.stdout)[0]
    assert done.returncode == 0
    assert set(row) == {
        "asked", "recorded", "naan", "shoulder", "organization", "native_name", "acronym", "shared_for", "since",
        "where", "targets", "leads_to", "policy", "test_ark", "shoulders", "faults", "registry",
    }  # fmt: skip
    assert row["leads_to"] == "https://ark.example.org/ark:/54321/x54"
    assert (row["organization"], row["since"], row["policy"]["practices"]) == (
        "Archive 54321",
        "2011-03-08",
        ["NR", "CC"],
    )
    assert row["registry"]["checked_at"] == "2026-03-04T05:06:07+00:00"


def test_show_of_a_shoulder_names_no_object(tmp_path: Path) -> None:
    source = tmp_path / "new.json"
    source.write_text(NEW, "utf-8")
    put(source, tmp_path)
    [shoulder] = json_lines(show(tmp_path, "54322/q1", "--format", "json").stdout)
    [naan] = json_lines(show(tmp_path, "54322", "--format", "json").stdout)
    assert (shoulder["shoulder"], shoulder["leads_to"], shoulder["shoulders"]) == ("q1", None, [])
    assert (naan["shoulder"], naan["shoulders"]) == (None, ["q1"])


def test_show_of_unknown_naan_ends_with_one(cache: Path, tmp_path: Path) -> None:
    done = show(cache, "ark:/54399/x", "--format", "json")
    assert (done.returncode, json_lines(done.stdout)[0]["recorded"]) == (1, False)
    assert "NAAN 54399 is not in the NAAN registry of 2026-01-02" in done.stderr
    without = show(tmp_path / "nothing", "54399")
    assert (without.returncode, without.stdout) == (1, "")
    assert "built in" in without.stderr


def test_show_reports_faults_of_a_record(tmp_path: Path) -> None:
    source = tmp_path / "faulty.json"
    record = {"what": "54321", "who": {"name": "A\u202eB"}, "target": {"url": "https:///example.org/${content}"}}
    source.write_text(json.dumps({"data": [record]}), "utf-8")
    put(source, tmp_path)
    done = run_command("registry", "show", "54321", ARKAUDIT_CACHE=str(tmp_path), COLUMNS="200")
    assert "no host: https:///example.org/${content}" in done.stdout
    assert "A[U+202E]B" in done.stdout


@pytest.mark.parametrize("vector", vectors("registry_mistakes"))
def test_a_mistake_is_one_line_and_ends_with_two(vector: dict[str, Any], tmp_path: Path) -> None:
    done = run_command("registry", *vector["arguments"], ARKAUDIT_CACHE=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("arkaudit: ")
    assert list(tmp_path.iterdir()) == []
