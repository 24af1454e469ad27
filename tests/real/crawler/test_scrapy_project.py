"""The spiders run by Scrapy's own commands, in our project and in a foreign one with arkaudit installed."""

import json
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from itemadapter import ItemAdapter
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from crawler.process import command_settings
from crawler.spiders.items import CheckedArk, Citation
from tests.real.loopback import RawServer, clean_environment, read_csv, reply, run_command, select
from tests.real.waiting import PATIENCE_S, wait_until

#: The command of Scrapy, which has the folder in which it works on its path.
SCRAPY = "import sys; sys.path.insert(0, ''); from scrapy.cmdline import execute; execute()"
OURS = Path(__file__).parents[3]
HOST = "library.example"
#: A foreign project, with a spider, a pipeline and values of its own.
FOREIGN = {
    "scrapy.cfg": "[settings]\ndefault = papers.settings\n",
    "papers/__init__.py": "",
    "papers/settings.py": """
BOT_NAME = "papers"
SPIDER_MODULES = ["papers.spiders", "crawler.spiders.arks_spider", "crawler.spiders.documents_spider"]
USER_AGENT = "papers (+https://papers.example/)"
ITEM_PIPELINES = {"papers.pipelines.Seen": 300}
ARKAUDIT_INTERVAL = 0
""",
    "papers/pipelines.py": """
class Seen:
    def __init__(self, crawler):
        self.crawler = crawler
    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)
    def process_item(self, item):
        self.crawler.stats.inc_value(f"seen/{type(item).__name__}")
        return item
""",
    "papers/spiders/__init__.py": "",
    "papers/spiders/own.py": """
import scrapy
class Own(scrapy.Spider):
    name = "own"
""",
}


EVERYWHERE = ["ours", "foreign", "with the add-on"]


@pytest.fixture(params=EVERYWHERE)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the folder of a `scrapy.cfg`."""
    if request.param == "ours":
        return OURS
    return foreign_project(tmp_path, has_addon=request.param != "foreign")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    return foreign_project(tmp_path, has_addon=True)


def foreign_project(tmp_path: Path, *, has_addon: bool) -> Path:
    """Write the foreign project, and return its folder."""
    more = 'ADDONS = {"crawler.addon.GuardedDownloads": 300}\n' if has_addon else ""
    for name, text in (FOREIGN | {"papers/settings.py": FOREIGN["papers/settings.py"] + more}).items():
        (tmp_path / "foreign" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "foreign" / name).write_text(text)
    return tmp_path / "foreign"


@pytest.fixture
def site() -> Iterator[RawServer]:
    def respond(target: str) -> bytes:
        path = target.partition("?")[0]
        if path == "/":
            return reply(
                body="<a href='/page'>page</a> See ark:/12148/btv1b84-\n49691v <a href='/ark:/12x45/x5'>map</a>"
            )
        if path == "/page":
            return reply(body="ark:/12148/bpt6k107371t")
        if path == "/ark:/12x45/x5":
            return reply(body="<title>An object</title><p>Forty leaves, with drawings; ark:/12x45/x5")
        return reply("404 Not Found", "<p>There is no such thing")

    with RawServer(respond) as server:
        yield server


def scrapy(project: Path, site: RawServer, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    settings = {
        "ARKAUDIT_ALLOW_ADDRESSES": "127.0.0.0/8",
        "ARKAUDIT_ONLY_ROUTED": "1",
        "ARKAUDIT_CONNECT_TO": f"{HOST}:80=127.0.0.1:{site.port}",
        "ARKAUDIT_INTERVAL": "0",
        "ARKAUDIT_BACKOFF": "0",
    }
    options = [each for name, value in settings.items() for each in ("-s", f"{name}={value}")]
    done = run_command(*arguments, *options, program=SCRAPY, folder=project)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


def citations(file: Path) -> set[tuple[str, str]]:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {(row["document"].removeprefix(f"http://{HOST}"), row["ark"]) for row in rows}


CITED = {
    ("/", "ark:12148/btv1b8449691v"), ("/", "ark:12x45/x5"), ("/page", "ark:12148/bpt6k107371t"),
    ("/ark:/12x45/x5", "ark:12x45/x5"),
}  # fmt: skip


def test_the_spiders_are_listed(project: Path, site: RawServer) -> None:
    listed = scrapy(project, site, "list").stdout.split()
    assert listed == ["arks", "documents", *(["own"] if project != OURS else [])]


def test_a_crawl_gives_its_citations_to_a_feed_and_keeps_the_run_in_a_store(
    project: Path, site: RawServer, tmp_path: Path
) -> None:
    feed, store = tmp_path / "citations.jsonl", tmp_path / "audit.db"
    seeds = f"seeds=http://{HOST}/"
    done = scrapy(project, site, "crawl", "documents", "-a", seeds, "-O", feed, "-s", f"ARKAUDIT_STORE={store}")
    assert citations(feed) == CITED
    assert "'finish_reason': 'finished'" in done.stderr
    assert "'downloader/request_count': 4" in done.stderr, "robots.txt and three documents"
    if project != OURS:
        assert "'seen/Citation': 4" in done.stderr, "their pipelines go on"
        assert all("user-agent: papers" in head.lower() for head in site.heads)
    assert select(store, "select command, state from run") == [("crawl", "finished")]
    assert select(store, "select count(*) from document")[0] == (3,)
    assert select(store, "select count(*) from mention where decided = 1")[0] == (4,)


@pytest.mark.promise
def test_a_check_gives_its_verdicts_to_a_feed(project: Path, site: RawServer, tmp_path: Path) -> None:
    feed = tmp_path / "verdicts.csv"
    arks = f"arks=http://{HOST}/ark:/12x45/x5,http://{HOST}/ark:/12x45/b7 ark:/12345/x5"
    scrapy(project, site, "crawl", "arks", "-a", arks, "-O", feed)
    rows = read_csv(feed)
    assert [(row["ark"], row["object"]) for row in rows] == [
        ("ark:12x45/x5", "resolved"), ("ark:12x45/b7", "broken"), ("ark:12345/x5", "skipped"),
    ]  # fmt: skip
    assert [target.partition("?")[1:] for target in site.targets if target.endswith("x5?")] == [("?", "")]


def test_ctrl_c_gives_the_verdicts_that_have_all_their_answers(foreign: Path, tmp_path: Path) -> None:
    released = threading.Event()

    def after_the_signal(_: str) -> bytes:
        released.wait(PATIENCE_S)
        return reply(body="<p>It came late.")

    answered = [f"http://a.example/ark:/12x45/x{number}" for number in (5, 6)]
    waiting = [f"http://b.example/ark:/12x45/b{number}" for number in (1, 2, 3)]
    feed, store = tmp_path / "verdicts.jsonl", tmp_path / "audit.db"

    def at_once(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        is_there = name in ("x5", "x6")
        return reply(body=f"<title>{name}</title><p>{target}: forty leaves") if is_there else reply("404 Not Found")

    with RawServer(at_once) as quick, RawServer(after_the_signal) as slow:
        routes = f"a.example:80=127.0.0.1:{quick.port},b.example:80=127.0.0.1:{slow.port}"
        settings = {"ARKAUDIT_CONNECT_TO": routes, "ARKAUDIT_ONLY_ROUTED": 1, "ARKAUDIT_STORE": store}
        options = [each for name, value in settings.items() for each in ("-s", f"{name}={value}")]
        arks = f"arks={' '.join((*answered, *waiting))} ark:/12345/x5"
        command = [sys.executable, "-m", "scrapy", "crawl", "arks", "-a", arks, "-O", str(feed), *options]
        log = tmp_path / "log"
        with (
            log.open("wb") as errors,
            subprocess.Popen(command, cwd=foreign, env=clean_environment(), stderr=errors) as running,
        ):
            try:
                wait_until(lambda: slow.targets and answered_urls(store) == set(answered), "answers of the quick host")
                running.send_signal(signal.SIGINT)
                wait_until(lambda: "shutting down gracefully" in log.read_text("utf-8"), "the signal's effect")
                released.set()
                running.wait(PATIENCE_S)
            finally:
                running.kill()
        assert len(slow.targets) == 1, "waiting requests are not sent any more"
    assert "Traceback" not in log.read_text("utf-8")
    rows = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    assert [(row["request_url"], row["object"]) for row in rows] == [
        *((url, "resolved") for url in answered), ("https://n2t.net/ark:/12345/x5", "skipped"),
    ]  # fmt: skip
    assert select(store, "select state from run") == [("interrupted",)]
    assert select(store, "select count(*) from verdict")[0] == (3,)


def answered_urls(store: Path) -> set[str]:
    """Return the URLs in a store whose questions have all been answered."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(store)) as raw, suppress(sqlite3.OperationalError):  # not made yet
        return {url for (url,) in raw.execute("select url from frontier where state = 'done'")}
    return set()


@pytest.mark.parametrize("project", ["ours", "with the add-on"], indirect=True)
def test_a_shell_has_what_a_guarded_request_was_answered(project: Path, site: RawServer) -> None:
    shown = scrapy(project, site, "shell", f"http://{HOST}/page", "-c", "response.status, response.text", "--nolog")
    assert shown.stdout.strip() == "(200, 'ark:/12148/bpt6k107371t')"


def test_parse_shows_what_a_page_cites(project: Path, site: RawServer) -> None:
    shown = scrapy(project, site, "parse", f"http://{HOST}/page", "--spider", "documents", "--nolog", "--nocolour")
    assert "'ark': 'ark:12148/bpt6k107371t'" in shown.stdout


def test_parse_shows_what_an_answer_says_of_an_ark(project: Path, site: RawServer) -> None:
    url = f"http://{HOST}/ark:/12x45/x5"
    shown = scrapy(project, site, "parse", url, "--spider", "arks", "--nolog", "--nocolour")
    assert "'title': 'An object'" in shown.stdout


def test_a_feed_has_other_items_if_it_says_so(site: RawServer, tmp_path: Path) -> None:
    feed = tmp_path / "documents.jsonl"
    feeds = {str(feed): {"format": "jsonlines", "item_classes": ["crawler.model.observations.DocumentRecord"]}}
    scrapy(OURS, site, "crawl", "documents", "-a", f"seeds=http://{HOST}/", "-s", f"FEEDS={json.dumps(feeds)}")
    rows = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    assert sorted(row["url"] for row in rows) == [f"http://{HOST}/{path}" for path in ("", "ark:/12x45/x5", "page")]


def test_depth_limit_and_files_are_as_everywhere(site: RawServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/bpt6k107371t")
    feed = tmp_path / "c.jsonl"
    seeds = f"seeds=http://{HOST}/page {tmp_path / 'a.txt'}"
    scrapy(OURS, site, "crawl", "documents", "-a", seeds, "-s", "DEPTH_LIMIT=1", "-O", feed)
    assert citations(feed) == {(place, "ark:12148/bpt6k107371t") for place in ("/page", str(tmp_path / "a.txt"))}


def test_the_commands_of_the_documentation_work(foreign: Path, site: RawServer) -> None:
    text = (OURS / "docs" / "scrapy.md").read_text("utf-8").replace("https://www.example.org/", f"http://{HOST}/")
    commands = [shlex.split(line)[2:] for line in text.splitlines() if line.startswith("$ scrapy ")]
    assert len(commands) > 5
    for command in commands:
        scrapy(foreign, site, *command)
    assert citations(foreign / "citations.jsonl") == CITED
    assert (foreign / "verdicts.csv").read_text("utf-8").count("\n") == 3
    assert (foreign / "audit.db").exists()


ITEMS: list[Any] = [
    Citation("a", "ark:12148/x5", "ark:/12148/x5", "https://n2t.net/ark:/12148/x5", remarks=["classic-label"]),
    CheckedArk("ark:12148/x5", "u", "resolved", ["200"], "not-asked", [], "not-asked", [], None, 1, [], None),
]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)
def test_an_item_is_one_for_scrapy(item: Any) -> None:
    adapter = ItemAdapter(item)
    assert adapter["ark"] == "ark:12148/x5"
    assert all(isinstance(value, str | int | list | None) for value in adapter.values())


@pytest.mark.parametrize("components", ["DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES"])
def test_the_command_runs_what_the_project_runs_in_the_same_order(components: str) -> None:
    project = Settings()
    project.setmodule("crawler.spiders.settings", priority="project")
    switched_off = {"RetryMiddleware", "HttpCacheMiddleware", "DownloaderStats"}  # the last by the command alone
    assert not project.getbool("RETRY_ENABLED")
    assert not project.getbool("HTTPCACHE_ENABLED")
    of_project, of_command = (
        [load_object(each) for each in build_component_list(settings.get_component_priority_dict_with_base(components))]
        for settings in (project, command_settings({}))
    )
    assert of_command == [each for each in of_project if each.__name__ not in switched_off]
