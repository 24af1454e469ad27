"""The main job, end to end: real documents, a real resolver, odd ones, over real sockets on loopback."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from crawler.model.registry import CACHE_VARIABLE
from crawler.model.resolving import request_target
from extractors.extraction import extraction_of
from extractors.model.ark import Ark
from tests.real.browser import browser_page, needs_browser
from tests.real.loopback import select
from tests.real.reports.test_page_navigation import MOST_PX, WIDTHS, below_bar_px, click, links_of
from tests.real.reports.test_report_page import sheets
from tests.real.waiting import PATIENCE_S
from tests.unit.reports.test_cards import contradictions
from tests.vectors import FOLDER
from tools.demo.show import closing_words, configuration, opening_words
from tools.demo.web import LoopbackWeb
from tools.documentation.demo_examples import examples

SITE = Path(__file__).parents[3] / "tools" / "demo" / "site"
TRUTH: dict[str, Any] = json.loads((FOLDER / "demo_site.json").read_text("utf-8"))["documents"]

#: Outcome of each host of the loopback web, for every ARK.
EXPECTED = {
    "digital.library.unt.edu": ("resolved", "erc", "stated"),
    "gallica.bnf.fr": ("resolved", "query-ignored", "undetermined"),
    "catalogue.bnf.fr": ("resolved", "query-ignored", "undetermined"),
    "ark.archive.org": ("resolved", "query-dropped", "undetermined"),
    "missing.example": ("broken", "not-asked", "not-asked"),
    "withdrawn.example": ("broken", "not-asked", "not-asked"),
    "circle.example": ("loop", "not-asked", "not-asked"),
    "slow.example": ("timeout", "not-asked", "not-asked"),
    "pretend.example": ("soft-404", "query-ignored", "undetermined"),
    "guarded.example": ("blocked", "blocked", "undetermined"),
    "plain.example": ("resolved", "html", "placeholder"),
}


@dataclass(frozen=True)
class DemoRun:
    """The demo's run: its output, its store, its report, and the requests to the hosts."""

    output: str
    said: str
    store: Path
    report: Path
    requests: list[tuple[str, str]]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return select(self.store, query)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRun]:
    folder = tmp_path_factory.mktemp("demo")
    with LoopbackWeb() as web:
        patient = configuration(web, folder / "audit.db").replace("timeout = 4.0", "timeout = 8")
        assert "timeout = 8" in patient, "on a busy machine, hosts that are not slow may need more than 4 s"
        (folder / "arkaudit.toml").write_text(patient, "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "arkaudit", "run", "-c", "arkaudit.toml", "--out", "report"],
            cwd=folder, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S,
            env={**os.environ, CACHE_VARIABLE: str(folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield DemoRun(done.stdout, done.stderr, folder / "audit.db", folder / "report", list(web.requests))


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_every_ark_of_a_real_document_is_found_whole_and_none_is_invented(name: str) -> None:
    mentions = extraction_of((SITE / name).read_bytes(), name=name).mentions
    assert {str(mention.ark) for mention in mentions} == {entry["ark"] for entry in TRUTH[name]["arks"]}


def test_the_documents_are_what_the_demo_promises() -> None:
    arks = {entry["ark"] for document in TRUTH.values() for entry in document["arks"]}
    assert len(arks) >= 60
    assert sum(name.endswith(".pdf") for name in TRUTH) >= 3
    repairs = {
        repair
        for name in TRUTH
        for mention in extraction_of((SITE / name).read_bytes(), name=name).mentions
        for repair in mention.repairs
    }
    assert repairs >= {
        "line wrap", "hyphen at line wrap", "look-alike hyphen", "soft hyphen", "blank in the label",
        "percent-encoding",
    }  # fmt: skip


def test_crawl_reaches_every_document_and_finds_its_arks(demo: DemoRun) -> None:
    found = defaultdict(set)
    for url, ark in demo.rows("select url, ark from mention join document using (document_id) join ark using (ark_id)"):
        found[urlsplit(url).path.rpartition("/")[2] or "index.html"].add(ark)
    assert dict(found) == {name: {entry["ark"] for entry in document["arks"]} for name, document in TRUTH.items()}


def test_each_host_gets_the_verdict_that_it_deserves(demo: DemoRun) -> None:
    verdicts = demo.rows("select request_url, object, metadata, commitment from verdict where object != 'skipped'")
    judged = [(urlsplit(url).hostname, services) for url, *services in verdicts]
    assert {host for host, _ in judged} >= set(EXPECTED)
    wrong = [(host, services) for host, services in judged if host in EXPECTED and tuple(services) != EXPECTED[host]]
    assert wrong == []


def test_every_cited_ark_has_a_verdict_and_every_verdict_its_requests(demo: DemoRun) -> None:
    cited = set(demo.rows("select distinct ark_id, request_url from mention"))
    judged = set(demo.rows("select ark_id, request_url from verdict"))
    assert judged == cited
    untraced = demo.rows(
        "select request_url from verdict v where object != 'skipped' and not exists"
        " (select 1 from observation o where o.request_url = v.request_url and o.question = 'object')"
    )
    assert untraced == []


def test_recorded_requests_equal_those_received_by_hosts(demo: DemoRun) -> None:
    told = []
    for (hops,) in [*demo.rows("select hops from observation"), *demo.rows("select hops from document")]:
        for hop in json.loads(hops):
            told.append((urlsplit(hop["url"]).hostname, request_target(hop["url"])))
    # arklet's server decodes and rebuilds request targets, so its log shows no bare question mark.
    heard = [(host, target) for host, target in demo.requests if target != "/robots.txt" and host != "ark.archive.org"]
    assert sorted(heard) == sorted(ask for ask in told if ask[0] != "ark.archive.org")


def test_examples_and_tests_are_recorded_and_never_requested(demo: DemoRun) -> None:
    skipped = demo.rows("select distinct ark from verdict join ark using (ark_id) where object = 'skipped'")
    assert {Ark.parse(ark).naan for (ark,) in skipped} == {"12345", "99999"}
    assert not any("12345" in target or "99999" in target for _, target in demo.requests)


def test_the_main_table_is_printed_and_the_page_holds_the_chart(demo: DemoRun) -> None:
    assert "NAAN" in demo.output
    page = (demo.report / "index.html").read_text("utf-8")
    assert 'id="picture-arks-by-naan"' in page
    assert {path.name for path in (demo.report / "tables").iterdir()} >= {
        "naans.csv", "resolvers.csv", "documents.csv", "arks.csv",
    }  # fmt: skip


def test_demo_output_fits_on_a_screen_and_names_failures(demo: DemoRun) -> None:
    out = demo.report.parent
    ended = demo.said.splitlines()
    printed = [*opening_words(out).splitlines(), *demo.output.splitlines(), *ended, *closing_words(out).splitlines()]
    assert len(printed) < 40
    failing = [line for line in ended if " fails (" in line]
    assert len(failing) == 7
    assert all(", cited in https://library.example/" in line for line in failing)
    assert any(re.search(r"\.pdf, p\. \d", line) for line in failing)
    assert ended[-2].removeprefix("arkaudit: ").startswith("7 of 55 judged ARKs fail; 2 gave no answer today")
    assert ended[-1] == "arkaudit: the report is at report/index.html"


def test_the_report_counts_the_arks_that_the_documents_cite_and_no_others(demo: DemoRun) -> None:
    with (demo.report / "tables" / "naans.csv").open(encoding="utf-8-sig") as table:
        counted = sum(int(row["arks"]) for row in csv.DictReader(table))
    assert counted == len({entry["ark"] for document in TRUTH.values() for entry in document["arks"]})


def test_no_letter_of_the_demo_contradicts_itself(demo: DemoRun) -> None:
    soup = BeautifulSoup((demo.report / "index.html").read_text("utf-8"), "html.parser")
    letters = [area.text for area in soup.select("textarea")]
    assert len(letters) > 5
    assert not [(contradictions(text), text) for text in letters if contradictions(text)]


EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"

#: The others also report unreachable hosts, in words that depend on the time of the requests.
ALWAYS_THE_SAME = ("naans.csv", "citations.csv", "documents.csv", "services.csv")


def test_the_report_is_the_one_in_the_documentation(demo: DemoRun) -> None:
    found = examples(demo.store)
    written = {path.name: path.read_bytes().decode() for path in EXAMPLES.iterdir() if path.name != "README.md"}
    advice = "if it is meant to be otherwise: make examples"
    assert found.keys() == written.keys(), advice
    for name in ALWAYS_THE_SAME:
        assert found[name] == written[name], f"{name}: {advice}"


def test_the_causes_are_those_that_the_hosts_were_made_for(demo: DemoRun) -> None:
    causes = pd.read_csv(demo.report / "tables" / "causes.csv")
    assert (
        dict(zip(causes["host"], causes["cause"], strict=True)).items()
        >= {
            "missing.example": "unknown-naan",
            "withdrawn.example": "withdrawn",
            "circle.example": "loop",
            "slow.example": "unreachable-host",
            "pretend.example": "unknown-naan",
        }.items()
    )
    assert not causes["host"].eq("guarded.example").any(), "a blocked ARK is not broken"


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_every_link_of_the_report_arrives_also_where_all_tables_are_open(
    demo: DemoRun, tmp_path: Path, width: int
) -> None:
    with browser_page() as browser:
        browser.open(demo.report / "index.html", width=width)
        browser.value("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        links = links_of(browser)
        assert {"#failures?number=1", "#arks?ark_family=fails", "#the-audit"} <= set(links)
        for link in links:
            click(browser, link)
            assert 0 <= below_bar_px(browser, link) <= MOST_PX, link
        assert browser.complaints == []


@needs_browser
def test_the_report_of_the_demo_is_printed_on_a_dozen_sheets_and_parts_nothing(demo: DemoRun, tmp_path: Path) -> None:
    with browser_page() as browser:
        browser.open(demo.report / "index.html")
        printed = sheets(browser)
    assert len(printed) <= 12
    titles = headings(demo.report / "index.html")
    assert len(titles) >= 5
    for sheet in printed:
        last = sheet.strip().splitlines()[-1].strip()
        assert last not in titles, sheet  # a heading at the foot of a sheet, apart from its section
    cards = next(sheet for sheet in printed if "To act on" in sheet)
    assert "The resolver resolves no ARK of this NAAN".lower() in cards.lower()


def headings(index: Path) -> list[str]:
    """Return the headings of the page."""
    soup = BeautifulSoup(index.read_text("utf-8"), "html.parser")
    return [heading.get_text(strip=True) for heading in soup.select("main h2, main h3, figcaption")]


# -- the pages that show how it is used


def page_blocks(page: str, language: str) -> list[str]:
    """Return the blocks of code in one language in a page of the documentation."""
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def reader(demo: DemoRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a reader who follows a page, after the step `make demo`."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(demo.report, folder / "demo-report")
    shutil.copy(demo.store, folder / "demo-report" / "audit.db")
    return folder


DEMO = "make demo"
DOCS = Path(__file__).parents[3] / "docs"


def follow(folder: Path, page: str) -> str:
    """Run the commands of a page literally, except the demo, which has run; return their output."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    printed = []
    for block in page_blocks(page, "console"):
        for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            if command == DEMO:
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (command, done.stderr)
            printed.append(done.stdout)
    return "\n".join(printed)


def test_the_tutorial_can_be_followed(reader: Path) -> None:
    [configuration_file] = page_blocks("tutorial.md", "toml")
    (reader / "arkaudit.toml").write_text(configuration_file, "utf-8")
    printed = follow(reader, "tutorial.md")
    for seen in ("line wrap", "ark:12148/btv1b8449691v", "ark:88435/br86b3576", "slow.example", "ours"):
        assert seen in printed


def test_examples_of_pandas_duckdb_and_datasette_work(reader: Path) -> None:
    printed = follow(reader, "analysis.md")
    assert '"object":"resolved"' in printed.replace(": ", ":")
    for block in page_blocks("analysis.md", "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=reader, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) > 3
