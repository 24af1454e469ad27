"""Documents that were not read: walls, pauses and cut bodies are named, and change nothing about what is cited."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crawler.answers.interstitials import interstitial_in
from tests.real.library import Page, Web
from tests.real.loopback import ON_LOOPBACK, reply, run_command, select
from tests.vectors import vectors

SITE = "http://library.example/"
ARKS = tuple(f"http://ark.example/ark:/12x45/map{number}" for number in range(1, 4))


def guide(*arks: str) -> str:
    return f"<title>Guide</title><p>{'Maps of the town, with notes on each. ' * 9}{' '.join(arks)}"


PAGES: Mapping[str, Page] = {
    "/": f"<title>Library</title>{guide()}<a href=/one>one</a> <a href=/two>two</a>",
    "/one": guide(ARKS[0]),
    "/two": guide(ARKS[1]),
    "/login": "<title>Log in</title><form><input type=password></form>",
}
WALL = '<title>Making sure you\'re not a bot!</title><script id="anubis_challenge"></script><p>Loading...'
PAUSED = "<title>Library</title><h1>Under maintenance</h1><p>We are back on Monday."
CUT = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\nConnection: close\r\n\r\n<p>Half a page"


class Audits:
    """Audits of one library, one after the other, with other answers of its pages."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "a.db"

    def run(self, *arguments: str, **changed: Page) -> "subprocess.CompletedProcess[str]":
        pages = PAGES | {f"/{name.replace('entry', '')}": page for name, page in changed.items()}

        def object_page(target: str) -> Page:
            return f"<title>{target}</title>A map" if "/map" in target and "?" not in target else None

        with Web({"library.example": pages, "ark.example": object_page}) as web:
            options = (*ON_LOOPBACK, *web.routes, "--attempts", "1", "--no-resume", "--store", str(self.store))
            return run_command("run", SITE, *options, *arguments)

    def events(self) -> list[tuple[str, str]]:
        query = "select event, substr(request_url, -4) from event where event in ('gone', 'new') order by event_id"
        return select(self.store, query)

    def outcomes(self) -> dict[str, str]:
        rows = select(self.store, "select url, outcome from document where run_id = (select max(run_id) from run)")
        return {url.removeprefix("http://library.example"): outcome for url, outcome in rows}


FIRST = [("new", "map1"), ("new", "map2")]


@pytest.mark.parametrize(
    ("page", "outcome"),
    [
        pytest.param(WALL, "blocked", id="a robot check"),
        pytest.param(PAUSED, "paused", id="maintenance"),
        pytest.param(CUT, "incomplete", id="a body that was cut off"),
        pytest.param(reply("503 Service Unavailable"), "server-error", id="an outage"),
        pytest.param(reply("302 Found", Location="/login"), "blocked", id="a log-in"),
    ],
)
def test_ark_of_a_document_that_was_not_read_stays_cited(page: Page, outcome: str, tmp_path: Path) -> None:
    audits = Audits(tmp_path)
    assert audits.run().returncode == 0
    done = audits.run("--fail-on", "gone", one=page)
    assert done.returncode == 0, done.stderr
    assert audits.outcomes()["/one"] == outcome
    assert f"1 document was not read, or not whole: {SITE}one ({outcome})." in " ".join(done.stdout.split())
    assert audits.run("--fail-on", "gone").returncode == 0
    assert audits.events() == FIRST


def test_entry_page_that_fails_hides_no_page_behind_it(tmp_path: Path) -> None:
    audits = Audits(tmp_path)
    audits.run()
    done = audits.run("--fail-on", "gone", entry=reply("503 Service Unavailable"))
    assert done.returncode == 3, done.stderr
    assert "no seed could be read" in done.stderr
    assert audits.outcomes() == {"/": "server-error", "/one": "read", "/two": "read"}
    assert audits.events() == FIRST


def test_page_without_a_link_is_requested_and_gone_with_its_arks_if_it_answers_404(tmp_path: Path) -> None:
    audits = Audits(tmp_path)
    audits.run()
    alone = f"<title>Library</title>{guide()}<a href=/two>two</a>"
    audits.run(entry=alone)
    assert audits.outcomes()["/one"] == "read"
    assert audits.events() == FIRST
    assert audits.run("--fail-on", "gone", entry=alone, one=None).returncode == 1
    assert audits.events() == [*FIRST, ("gone", "map1")]


def test_page_read_without_its_ark_lets_it_be_gone(tmp_path: Path) -> None:
    audits = Audits(tmp_path)
    audits.run()
    audits.run(one=guide(ARKS[2]))
    assert audits.events() == [*FIRST, ("new", "map3"), ("gone", "map1")]


def test_audit_of_a_walled_site_ends_with_3_and_says_so(tmp_path: Path) -> None:
    done = Audits(tmp_path).run(entry=WALL)
    assert done.returncode == 3
    assert f"1 document was not read, or not whole: {SITE} (blocked)." in " ".join(done.stdout.split())
    assert "no seed could be read" in done.stderr
    assert "the answer is a robot check: Anubis" in done.stderr


def test_old_failures_are_not_new_after_a_run_that_read_nothing(tmp_path: Path) -> None:
    audits = Audits(tmp_path)
    gone = ARKS[0].replace("map1", "lost1")
    audits.run(one=guide(gone))
    audits.run(entry=WALL, one=WALL, two=WALL)
    done = audits.run(one=guide(gone))
    assert "newly failing" not in done.stdout, done.stdout
    audits.run(one=WALL)
    done = audits.run(one=guide(gone))
    assert "newly failing" not in done.stdout, done.stdout


@pytest.mark.parametrize("vector", vectors("interstitials"))
def test_page_in_place_of_a_document_is_recognized(vector: Mapping[str, Any]) -> None:
    source = f"<title>{vector['title']}</title><body>{vector['body']}"
    page = interstitial_in(vector["title"], vector.get("links", 0), source.encode())
    assert (page and page.outcome) == vector["outcome"]
