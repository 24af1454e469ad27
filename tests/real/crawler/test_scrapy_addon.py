"""A foreign spider, with our add-on and our middleware in its project."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.real.crawler.test_scrapy_project import SCRAPY
from tests.real.library import pdf
from tests.real.loopback import RawServer, reply, run_command

HOST = "library.example"
SPIDER = """
import scrapy

class Own(scrapy.Spider):
    name = "own"
    custom_settings = {settings}

    async def start(self):
        for url in {urls}:
            yield scrapy.Request(url, errback=self.failed, meta={{"verbatim_url": True}})

    def parse(self, response):
        from crawler.addon import hops_of
        yield {{"url": response.url, "hops": [(hop.url, hop.status) for hop in hops_of(response)]}}

    def failed(self, failure):
        yield {{"failed": failure.request.url, "why": type(failure.value).__name__}}
"""
ADDON = {"ADDONS": {"crawler.addon.GuardedDownloads": 300}}
MIDDLEWARE = {"SPIDER_MIDDLEWARES": {"crawler.ark_citations.ArkCitations": 950}}


@dataclass
class Library:
    """A host that keeps count of how many requests it has at a time."""

    server: RawServer | None = None
    at_once: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, target: str) -> bytes:
        with self.lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        time.sleep(0.05)  # long enough for another to come, if one were sent
        with self.lock:
            self.at_once -= 1
        match target:
            case "/old":
                return reply("302 Found", Location="/new")
            case "/new":
                return reply(body="<p>See <a href='https://n2t.net/ark:/12148/btv1b8449691v'>the map</a>.")
            case "/paper.pdf":
                return reply(body=pdf("ark:/12148/bpt6k107371t")[0].decode("latin-1"), media_type="application/pdf")
            case "/ark:/12x45/x5?" | "/ark:/12x45/x5??":
                return reply(body="<p>It was asked.")
            case "/long":
                return reply(body="<p>See ark:/12148/bpt6k107371t", Content_Length="9" * 23)
        return reply("404 Not Found")


@pytest.fixture
def library() -> Iterator[Library]:
    host = Library()
    robots = reply(body="User-agent: *\nDisallow: /private", media_type="text/plain")
    with RawServer(host.answer, robots=robots) as server:
        host.server = server
        yield host


def crawl(library: Library, folder: Path, *urls: str, **settings: object) -> tuple[list[dict[str, object]], str]:
    """Run the spider; return its items and Scrapy's log."""
    assert library.server is not None
    given = {
        "ARKAUDIT_CONNECT_TO": [f"{HOST}:80=127.0.0.1:{library.server.port}"],
        "ARKAUDIT_ONLY_ROUTED": True,
        "ARKAUDIT_INTERVAL": 0,
        "ROBOTSTXT_OBEY": True,
        **settings,
    }
    (folder / "own.py").write_text(SPIDER.format(settings=given, urls=urls))
    done = run_command("runspider", "own.py", "-O", "items.jsonl", program=SCRAPY, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()], done.stderr


@pytest.mark.promise
def test_foreign_spider_finds_arks_and_asks_politely(library: Library, tmp_path: Path) -> None:
    assert library.server is not None
    paths = ("/old", "/paper.pdf", "/ark:/12x45/x5?", "/ark:/12x45/x5??", "/private", "/gone")
    urls = [f"http://{HOST}{path}" for path in paths]
    inside = f"http://127.0.0.1:{library.server.port}/inside"
    items, log = crawl(library, tmp_path, *urls, inside, **ADDON, **MIDDLEWARE)

    assert sorted(library.server.targets) == sorted([*paths[:4], "/new", "/gone"]), "byte for byte, and not /private"
    assert library.most == 1, "one request at a time"
    hops = {str(item["url"]): item["hops"] for item in items if "hops" in item}
    assert hops[f"http://{HOST}/new"] == [[f"http://{HOST}/old", 302], [f"http://{HOST}/new", 200]]
    assert hops.keys() == {f"http://{HOST}{path}" for path in ("/new", *paths[1:4])}
    failed = {str(item["failed"]): item["why"] for item in items if "failed" in item}
    assert failed == {
        inside: "RobotsUnreachable", f"http://{HOST}/private": "RobotsForbidden", f"http://{HOST}/gone": "HttpError",
    }  # fmt: skip
    cited = {(str(item["document"]).removeprefix(f"http://{HOST}"), item["ark"]) for item in items if "ark" in item}
    assert cited == {("/new", "ark:12148/btv1b8449691v"), ("/paper.pdf", "ark:12148/bpt6k107371t")}
    assert "'arkaudit/citations': 2" in log


def test_the_middleware_alone_finds_arks_with_scrapys_own_requests(library: Library, tmp_path: Path) -> None:
    assert library.server is not None
    url = f"http://127.0.0.1:{library.server.port}"
    items, _ = crawl(library, tmp_path, f"{url}/old", **MIDDLEWARE)
    assert [(item["document"], item["ark"]) for item in items if "ark" in item] == [
        (f"{url}/new", "ark:12148/btv1b8449691v")
    ]
    assert [item["hops"] for item in items if "hops" in item] == [[]]


def test_the_add_on_alone_adds_no_items(library: Library, tmp_path: Path) -> None:
    items, _ = crawl(library, tmp_path, f"http://{HOST}/new", **ADDON)
    assert [list(item) for item in items] == [["url", "hops"]]


def test_a_length_beyond_all_measure_costs_no_answer(library: Library, tmp_path: Path) -> None:
    items, _ = crawl(library, tmp_path, f"http://{HOST}/long", **ADDON)
    assert [item["hops"] for item in items] == [[[f"http://{HOST}/long", 200]]]


def test_a_project_that_does_not_obey_robots_is_left_to_itself(library: Library, tmp_path: Path) -> None:
    assert library.server is not None
    crawl(library, tmp_path, f"http://{HOST}/private", ROBOTSTXT_OBEY=False, **ADDON)
    assert library.server.targets == ["/private"]


def test_an_address_inside_is_not_connected_to(library: Library, tmp_path: Path) -> None:
    assert library.server is not None
    inside = [f"http://127.0.0.1:{library.server.port}/inside", "http://[::1]/", "http://169.254.169.254/latest"]
    items, _ = crawl(library, tmp_path, *inside, ROBOTSTXT_OBEY=False, **ADDON)
    assert {str(item["failed"]): item["why"] for item in items} == dict.fromkeys(inside, "AddressRefused")
    assert library.server.targets == []


@pytest.mark.parametrize("setting", [ADDON, MIDDLEWARE], ids=["add-on", "middleware"])
def test_the_documentation_shows_what_was_tried_here(setting: dict[str, dict[str, int]]) -> None:
    page = Path(__file__).parents[3] / "docs" / "scrapy.md"
    [(name, value)] = setting.items()
    assert f"{name} = {json.dumps(value)}\n" in page.read_text("utf-8")
