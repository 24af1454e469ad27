"""Archived copies in a run: a real archive (pywb), archives that are down or hostile, and the report on them."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.exports import write_report
from reports.page.cards import action_cards
from reports.store.frames import load_frames
from reports.tables.report_tables import Tables
from tests.real.crawler.pywb_server import PYTHON, ArchivedPage, Pywb
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.unit.reports.test_cards import facts_of

needs_pywb = pytest.mark.skipif(not PYTHON.exists(), reason="make pywb sets up the archive")
MAP = "<title>Plan of the harbour</title><h1>Plan of the harbour</h1><p>Ink on paper, 1784."
ITEM = "http://lib.example/item/x12"
GONE = reply("404 Not Found", body="<title>Not found</title><p>Sorry, no such item.")


class World:
    """A resolver that leads to a library, both on loopback, and the command that asks them."""

    def __init__(self, folder: Path) -> None:
        self.works = False
        self.folder = folder
        self.store = folder / "audit.db"
        self.archive: RawServer | None = None

    def resolver(self, target: str) -> bytes:
        if target == "/ark:/12148/x12" or (target == "/ark:/12148/y7" and self.works):
            return reply("302 Found", Location=ITEM)
        return GONE

    def library(self, target: str) -> bytes:
        return reply(body=MAP) if self.works and target == "/item/x12" else GONE

    def check(self, url: str, timegate: str | None, *more: str, max_age: str = "30d") -> dict[str, Any]:
        [row] = self.check_all([url], timegate, *more, max_age=max_age)
        return row

    def check_all(
        self, urls: list[str], timegate: str | None, *more: str, max_age: str = "30d"
    ) -> list[dict[str, Any]]:
        configured = self.folder / "arkaudit.toml"
        wanted = f'[memento]\ntimegate = "{timegate}"\nmax_age = "{max_age}"\n' if timegate else ""
        configured.write_text(wanted, "utf-8")
        done = run_command(
            "check", *ON_LOOPBACK, *more, *self.routes, *urls, "-c", configured, "--store", self.store, "--no-resume"
        )
        assert done.returncode == 0, done.stderr
        return json_lines(done.stdout)

    routes: tuple[str, ...] = ()
    base: str = ""

    @property
    def url(self) -> str:
        return f"{self.base}/ark:/12148/x12"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    with RawServer(made.resolver) as resolver, RawServer(made.library) as library:
        made.routes = (f"--connect-to=lib.example:80=127.0.0.1:{library.port}",)
        made.base = resolver.url
        yield made


def captures(*years: int, good_until: int) -> list[ArchivedPage]:
    return [
        ArchivedPage(ITEM, f"{year}-03-04T05:06:07Z", MAP, "200 OK" if year <= good_until else "404 Not Found")
        for year in years
    ]


# -- with a real archive


@needs_pywb
@pytest.mark.parametrize(
    "how", [{}, {"framed": True}, {"redirecting": True}], ids=["in place", "framed", "redirecting"]
)
def test_one_request_gets_a_capture_of_a_real_archive(world: World, how: dict[str, bool]) -> None:
    with Pywb(captures(2012, 2014, 2018, good_until=2018), **how) as archive:
        row, other = world.check_all([world.url, f"{world.base}/ark:/12148/z1"], archive.timegate)
        copy, none = row["archived_copy"], other["archived_copy"]
        assert (copy["outcome"], copy["captured_at"][:4], copy["original_url"]) == ("captured", "2018", ITEM)
        assert copy["url"].startswith(archive.timegate)
        assert ("(not opened)" in copy["reason"]) == ("framed" in how)
        assert (none["outcome"], none["reason"]) == ("no-capture", "no capture")
        assert [row["object"]["outcome"], other["object"]["outcome"]] == ["broken", "broken"]
        hops = [json.loads(str(each)) for (each,) in select(world.store, "select hops from memento")]
        assert sorted(map(len, hops)) == [1, 2 if "redirecting" in how else 1]
        asked = sorted(
            hop["url"].removeprefix(archive.timegate[: -len("/library/")]) for chain in hops for hop in chain
        )
        assert asked == sorted(each for each in archive.requests if "robots.txt" not in each)


@needs_pywb
def test_captured_error_is_not_offered(world: World) -> None:
    with Pywb(captures(2018, 2022, good_until=2018)) as archive:
        copy = world.check(world.url, archive.timegate)["archived_copy"]
    assert (copy["outcome"], copy["url"]) == ("no-capture", None)
    assert copy["reason"] == "the capture of 2022-03-04 is not good: it answers 404"


@needs_pywb
def test_captured_redirect_is_followed(world: World) -> None:
    """Of an ARK whose resolver knows it no more, an archive has the redirect of former times."""
    asked = f"{world.base}/ark:/12148/y7"
    kept = [ArchivedPage(asked, "2015-03-04T05:06:00Z", "", "302 Found", location=ITEM)]
    with Pywb([*kept, *captures(2015, good_until=2015)]) as archive:
        copy = world.check(asked, archive.timegate)["archived_copy"]
    assert (copy["outcome"], copy["captured_at"][:4], copy["original_url"]) == ("captured", "2015", ITEM)


@needs_pywb
def test_archive_is_asked_for_the_day_of_the_last_success(world: World) -> None:
    """The resolver knows the ARK no more: only an earlier run of the store knows where it led."""
    asked = f"{world.base}/ark:/12148/y7"
    world.works = True
    assert world.check(asked, None)["object"]["outcome"] == "resolved"
    world.works = False
    with sqlite3.connect(world.store) as raw:
        raw.execute("update run set started_at = '2019-06-01T00:00:00.000+00:00'")
    with Pywb(captures(2018, 2019, 2021, 2025, good_until=2025)) as archive:
        copy = world.check(asked, archive.timegate)["archived_copy"]
    assert (copy["captured_at"][:4], copy["original_url"]) == ("2019", ITEM)
    assert copy["reason"] == "captured on 2019-03-04, while the ARK worked (until 2019-06-01 at least)"
    assert select(world.store, "select wanted_at from memento") == [("2019-06-01T00:00:00.000+00:00",)]


# -- with archives that are no good


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(lambda _: None, "no usable answer: reset", id="it hangs up"),
        pytest.param(lambda _: reply("503 Service Unavailable"), "no usable answer: it answered 503", id="it is busy"),
        pytest.param(lambda _: reply("403 Forbidden"), "no usable answer: it answered 403", id="it refuses us"),
        pytest.param(lambda target: reply("302 Found", Location=target), "no usable answer: loop", id="it leads in a circle"),
        pytest.param(lambda _: reply("302 Found", Location="http://10.0.0.1/"), "no usable answer: refused-address", id="in"),
        pytest.param(lambda _: reply(body=MAP), "no usable answer: its answer names no capture", id="it is no archive"),
        pytest.param(
            lambda _: reply(body=MAP, Memento_Datetime="garbage", Link="<" * 9000), "no usable answer", id="it says nonsense"
        ),
        pytest.param(lambda _: reply("404 Not Found"), "no capture", id="it has nothing"),
    ],
)  # fmt: skip
def test_hostile_archive_gives_a_row_and_changes_no_verdict(
    world: World, answer: Callable[[str], bytes | None], reason: str
) -> None:
    with RawServer(answer) as archive:
        row = world.check(world.url, f"{archive.url}/web/")
        assert all(target.startswith("/web/http://") for target in archive.targets)
    assert row["archived_copy"]["reason"].startswith(reason)
    assert row["archived_copy"]["url"] is None
    assert [row[service]["outcome"] for service in ("object", "metadata", "commitment")] == [
        *("broken", "not-asked", "not-asked")
    ]
    traffic = dict(select(world.store, "select host, requests from host_traffic "))
    assert traffic[archive.url] >= 2  # robots.txt, too


def test_an_archive_that_forbids_programs_is_not_asked(world: World) -> None:
    rules = reply(body="User-agent: *\nDisallow: /web/", media_type="text/plain")
    with RawServer(lambda _: reply(body=MAP), robots=rules) as archive:
        row = world.check(world.url, f"{archive.url}/web/")
        assert archive.targets == []
    assert row["archived_copy"]["reason"].startswith("no usable answer: robots")


def test_an_archive_at_a_private_address_is_not_asked(world: World) -> None:
    row = world.check(world.url, "http://10.11.12.13/web/")
    assert row["archived_copy"]["reason"].startswith("no usable answer: refused-address")
    assert row["object"]["outcome"] == "broken"


def test_archive_is_asked_about_failing_arks_only(world: World) -> None:
    world.works = True
    with RawServer(lambda _: GONE) as archive:
        found = world.check_all(
            [world.url, "https://n2t.net/ark:/12345/x5", "https://n2t.net/ark:/99999/fk4x5"], f"{archive.url}/"
        )
        assert archive.request_lines == []
    assert [row["archived_copy"] for row in found] == [None, None, None]


def test_an_answer_is_kept_for_as_long_as_it_holds(world: World) -> None:
    answers = [reply("503 Service Unavailable"), reply("404 Not Found")]
    with RawServer(lambda _: answers[0]) as archive:
        timegate = f"{archive.url}/"

        def check_once(**how: str) -> tuple[int, dict[str, Any]]:
            before = len(archive.targets)
            row = world.check(world.url, timegate, "--attempts=1", **how)
            return len(archive.targets) - before, row["archived_copy"]

        assert check_once()[1]["outcome"] == "no-answer"
        del answers[0]
        count, copy = check_once()
        assert (count, copy["outcome"]) == (1, "no-capture")  # no answer is asked for again
        count, copy = check_once()
        assert (count, copy["outcome"]) == (0, "no-capture")
        assert check_once(max_age="0")[0] == 1


def test_temporary_failure_is_retried_and_recorded(world: World) -> None:
    answers = iter([reply("503 Service Unavailable", Retry_After="0")])
    with RawServer(lambda _: next(answers, reply("404 Not Found"))) as archive:
        row = world.check(world.url, f"{archive.url}/")
    assert row["archived_copy"]["outcome"] == "no-capture"
    [(hops,)] = select(world.store, "select hops from memento")
    assert [hop["status"] for hop in json.loads(str(hops))] == [503, 404]


def test_a_secret_of_a_host_goes_to_no_archive_and_into_no_row(world: World) -> None:
    secret = "open-sesame-4711"
    with RawServer(lambda _: reply("404 Not Found", Link=f'<{secret}>; rel="original"')) as archive:
        (world.folder / "arkaudit.toml").write_text(
            f'[memento]\ntimegate = "{archive.url}/"\n'
            f'[hosts."{world.base}"]\nheaders = {{ X-Key = {{ env = "KEY" }} }}\n'
            f'[hosts."{archive.url}"]\nheaders = {{ X-Own = {{ env = "KEY" }} }}\n'
        )
        done = run_command(
            "check", *ON_LOOPBACK, *world.routes, world.url, "-c", world.folder / "arkaudit.toml",
            "--store", world.store, KEY=secret,
        )  # fmt: skip
        assert any("X-Own" in head for head in archive.heads)
        assert not any("X-Key" in head for head in archive.heads)
    assert secret not in done.stdout + done.stderr
    for file in world.folder.iterdir():
        assert file.name == "arkaudit.toml" or secret.encode() not in file.read_bytes()
    assert select(world.store, "select outcome from memento") == [("no-capture",)]


def test_a_run_that_is_interrupted_there_keeps_its_verdicts_and_goes_on(world: World) -> None:
    urls = [world.url, *(f"{world.base}/ark:/12148/q{number}" for number in range(3))]
    with RawServer(lambda _: reply("404 Not Found")) as archive:
        world.check_all(urls, f"{archive.url}/")
        asked = len(archive.targets)
        with sqlite3.connect(world.store) as raw:  # as a kill leaves it when two are answered
            raw.execute("update run set state = 'running', ended_at = null")
            last = "select request_url from memento order by memento_id desc limit 2"
            raw.execute(f"update frontier set state = 'claimed' where spider = 'mementos' and url in ({last})")
            raw.execute(
                "delete from memento where memento_id in (select memento_id from memento order by 1 desc limit 2)"
            )
        done = run_command(
            "check", *ON_LOOPBACK, *world.routes, *urls, "-c", world.folder / "arkaudit.toml", "--store", world.store
        )
        assert "resuming run 1" in done.stderr
        assert len(archive.targets) - asked == 2
    assert select(world.store, "select count(*), count(distinct request_url) from memento") == [(4, 4)]
    assert select(world.store, "select state, count(*) from run group by 1") == [("finished", 1)]


@pytest.mark.parametrize(
    ("timegate", "words"),
    [
        pytest.param("web.archive.org/web/", "not the http or https URL of a TimeGate", id="no scheme"),
        pytest.param("https://me:pw@archive.example/", "credentials in a URL", id="with a password"),
    ],
)
def test_malformed_timegate_is_one_line(tmp_path: Path, timegate: str, words: str) -> None:
    configured = tmp_path / "arkaudit.toml"
    configured.write_text(f'[memento]\ntimegate = "{timegate}"\n')
    done = run_command("check", "ark:12148/x5", "-c", configured)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert words in done.stderr
    assert "me:pw" not in done.stderr


# -- in the report


@needs_pywb
def test_the_report_shows_copies_in_cards_letters_and_tables(world: World) -> None:
    page = f"<p>A map: <a href='{world.base}/ark:/12148/x12'>ARK</a>, and {world.base}/ark:/12148/nq3."
    with RawServer(lambda _: reply(body=page)) as site, Pywb(captures(2018, good_until=2018)) as archive:
        configured = world.folder / "arkaudit.toml"
        configured.write_text(f'[memento]\ntimegate = "{archive.timegate}"\n')
        done = run_command(
            "run", f"{site.url}/", *ON_LOOPBACK, *world.routes, "-c", configured, "--store", world.store,
            "--out", world.folder / "report",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "archived copies: 2 of 2" in done.stderr
        copy = f"{archive.timegate}20180304050607/{ITEM}"
    frames = load_frames(world.store)
    tables = Tables(frames)
    arks = tables["arks"].set_index("ark")
    assert arks.loc["ark:12148/x12", "archived_copy"] == copy
    assert arks.loc["ark:12148/nq3", "archive"] == "no capture"
    assert set(tables["failures"]["archived_copy"].dropna()) == {copy}
    cards = action_cards(frames, tables, 10)
    assert [facts["Archived copy"][1] for facts in map(facts_of, cards) if "Archived copy" in facts] == [copy]
    assert any(
        f"a web archive has a copy of the object, from 4 March 2018: {copy}" in card.letter.body for card in cards
    )
    write_report(frames, world.folder / "again")
    assert copy in (world.folder / "again" / "index.html").read_text("utf-8")
