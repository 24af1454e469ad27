"""The overview of all audits: a page and feeds that agree with the reports, from sound and faulty stores."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from lxml import etree

from arkaudit.configuration.config_files import load_audits
from arkaudit.features.overview.feed import atom_feed
from arkaudit.features.overview.status import ArkChange, AuditRow, AuditStatus
from arkaudit.features.overview.writing import write_overview
from arkaudit.schedules.last_run import FOLDER, LastRunFile
from crawler.store.store import Store
from reports.exports import write_report
from reports.languages import LANGUAGES
from reports.store.frames import load_frames
from reports.tables.summary import Summary
from tests.report_world import write_store
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

CONFIGURATION = """
[audits.theses]
schedule = "0 3 * * *"
out = "site/theses"
[audits.maps]
schedule = "0 3 * * MON"
[audits.new]
[audits.damaged]
[audits.old]
"""


ATOM = "{http://www.w3.org/2005/Atom}"


def add_run(store_file: Path, day: int, status: int) -> None:
    with Store.open(store_file) as store:
        audit(store, day, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: status, OTHER: 200})


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a configuration with an audit of six runs, one of one run, and three without a result."""
    folder = tmp_path_factory.mktemp("audits")
    for day, status in ((0, 200), (30, 200), (60, 404), (90, 404), (120, 404), (150, 200)):
        add_run(folder / "theses.db", day, status)
    add_run(folder / "maps.db", 149, 404)
    (folder / "damaged.db").write_bytes(b"no store")
    write_store(folder / "old.db", {}, version=1)
    write_report(load_frames(folder / "theses.db"), folder / "site" / "theses", ["html"])
    (folder / "arkaudit.toml").write_text(CONFIGURATION)
    return folder / "arkaudit.toml"


@pytest.fixture(scope="module")
def site(config: Path) -> Path:
    assert write(config) == 2
    return config.parent / "site"


def write(config: Path, now: datetime = NOW) -> int:
    return write_overview(load_audits(config), config, config.parent / "site", now)


def rows_of(site: Path) -> dict[str, str]:
    rows = BeautifulSoup((site / "index.html").read_text("utf-8"), "html.parser").select("tbody tr")
    return {str(row["id"]): row.get_text(" ", strip=True) for row in rows}


@pytest.mark.slow
def test_page_and_overview_agree(site: Path) -> None:
    page = BeautifulSoup((site / "theses" / "index.html").read_text("utf-8"), "html.parser")
    headline = page.select(".lede")[0].text
    assert headline == "Both judged ARKs work; nothing to act on; none confirmed broken and 1 recovered since 1 May."
    row = rows_of(site)["theses"]
    assert headline in row
    assert "since 1 May. 100.0 % (2 of 2)" in row, "the share is the last of its trend"
    assert "went from 100.0 % (2 of 2) after run 1 to 100.0 % (2 of 2) after run 6" in row
    assert "2026-05-31 00:00 UTC 1 day ago" in row
    assert "Recovered: ark:12x45/x5 , 2026-05-31" in row
    assert "Report : theses" in row


def test_audits_without_a_result_have_a_reason(config: Path, site: Path) -> None:
    rows = rows_of(site)
    assert "It has not run yet." in rows["new"]
    assert "damaged.db: can't be read as a store of arkaudit" in rows["damaged"]
    assert "old.db" in rows["old"]
    assert not (site / "new" / "feed.atom").exists()
    for name, said in (("new", "Its first run is under way."), ("theses", "A new run is under way.")):
        with LastRunFile(config.parent / FOLDER, name).turn(due=None):
            write(config)
        assert said in rows_of(site)[name]
    write(config)


def test_overview_of_the_same_stores_is_the_same(config: Path, site: Path) -> None:
    files = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.name == "feed.atom"}
    page = (site / "index.html").read_bytes()
    for status in (config.parent / FOLDER).glob("*.status.json"):
        status.write_bytes(b"[]\nno status")
    write(config)
    assert (site / "index.html").read_bytes() == page
    assert {path: path.stat().st_mtime_ns for path in files} == files, "unchanged files are not written again"


@pytest.mark.parametrize(("hours", "is_late"), [(-24, False), (0, True)])
def test_check_that_is_late_by_half_an_interval_is_overdue(site: Path, config: Path, hours: int, is_late: bool) -> None:
    write(config, NOW + timedelta(hours=hours))
    soup = BeautifulSoup((site / "index.html").read_text("utf-8"), "html.parser")
    assert [bool(soup.select(f"#{name}.late")) for name in ("theses", "maps")] == [is_late, False]


def test_feed_is_valid_and_its_ids_stay(config: Path, site: Path) -> None:
    before = entries(site / "theses" / "feed.atom")
    assert list(before.values()) == ["Recovered: ark:12x45/x5", "Newly confirmed broken: ark:12x45/x5"]
    feed = (site / "maps" / "feed.atom").read_bytes()
    assert entries(site / "maps" / "feed.atom") == {}, "a first run has nothing to compare with"
    add_run(config.parent / "maps.db", 151, 200)
    write(config)
    assert entries(site / "theses" / "feed.atom") == before
    assert list(entries(site / "maps" / "feed.atom").values()) == ["Recovered: ark:12x45/x5"]
    assert etree.fromstring(feed).findtext(f"{ATOM}id") == etree.parse(site / "maps" / "feed.atom").findtext(
        f"{ATOM}id"
    )


def test_ark_at_two_urls_changes_once(tmp_path: Path) -> None:
    both = f"see {ONE} and {ONE.replace('ark:/', 'ark:')}"
    with Store.open(tmp_path / "audit.db") as store:
        for day, status in ((0, 200), (30, 404), (60, 404), (90, 404)):
            answers = dict.fromkeys((ONE, ONE.replace("ark:/", "ark:")), status)
            audit(store, day, documents={GUIDE: both}, answers=answers)
    (tmp_path / "arkaudit.toml").write_text("[audits.one]\nstore = 'audit.db'\n")
    write(tmp_path / "arkaudit.toml")
    assert list(entries(tmp_path / "site" / "one" / "feed.atom").values()) == ["Newly confirmed broken: ark:12x45/x5"]


def entries(file: Path) -> dict[str, str]:
    """Return the titles of a feed by id, after a check of the elements that RFC 4287 requires."""
    root = etree.fromstring(file.read_bytes())
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    assert [link.get("href") for link in root.iterfind(f"{ATOM}link") if link.get("rel") == "self"] == [file.name]
    found = {}
    for element in (root, *root.iter(f"{ATOM}entry")):
        for tag in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{tag}")) == 1
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", element.findtext(f"{ATOM}id") or "")
        assert datetime.fromisoformat(element.findtext(f"{ATOM}updated") or "").tzinfo is not None
        if element is not root:
            assert element.find(f"{ATOM}content") is not None
            found[element.findtext(f"{ATOM}id") or ""] = element.findtext(f"{ATOM}title") or ""
    assert len(found) == len(root.findall(f"{ATOM}entry"))
    return found


def test_hostile_texts_stay_texts() -> None:
    evil = "</title><script>\x00\u202e&"
    change = ArkChange("urn:uuid:0", "moved", f"ark:1/{evil}", f"http://a.example/{evil}", evil, NOW)
    status = AuditStatus("urn:uuid:1", 1, NOW, Summary(works=1), (), (), (change,))
    assert AuditStatus.parse(status.dump()) == status
    root = etree.fromstring(atom_feed("x", status, "https://a.example/r/", LANGUAGES["fr"]).encode())
    shown = "</title><script>[U+0000][U+202E]&"
    [entry] = root.iter(f"{ATOM}entry")
    assert (entry.findtext(f"{ATOM}title") or "").endswith(shown)
    assert entry.find(f"{ATOM}link").get("href").startswith("https://a.example/r/#ark=ark%3A1%2F%3C%2Ftitle")  # type: ignore[union-attr]
    from arkaudit.features.overview.page import overview_page
    from reports.languages import LanguageChoice

    unread = replace(status, summary=Summary(), caveats=("unread",))
    rows = [AuditRow("x", status), AuditRow("y", fault=evil), AuditRow("z", unread)]
    html = overview_page(rows, NOW, LanguageChoice())
    soup = BeautifulSoup(html, "html.parser")
    assert soup.select(".lede")[0].text == "3 audits: 0 with failing ARKs, 2 without a result"
    assert len(soup.select("script")) == 4
    assert shown in soup.select("#x")[0].text
    assert shown in soup.select("#y")[0].text
