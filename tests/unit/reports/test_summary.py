"""The verdict in one sentence: all its forms, with the numbers of the tables."""

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.audits.resuming import RunPlan
from arkaudit.configuration.config_files import load
from arkaudit.features.living_issue.issue import section_text
from arkaudit.output.reporting import summary_lines
from crawler.model.observations import Family
from crawler.store.store import Store
from reports.formats.digest import FORMATS, HEADINGS, digest_of
from reports.formats.json_document import json_report
from reports.formats.markdown_report import markdown
from reports.languages import LANGUAGES, LanguageChoice
from reports.languages.display import escape_markdown
from reports.store.frames import Frames, load_frames
from reports.tables.definitions import rows_of
from reports.tables.news import news_of
from reports.tables.report_tables import Report, Tables
from reports.tables.summary import Summary, summarize
from tests.report_world import page
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("headlines"))
def test_the_verdict_is_a_sentence(vector: dict[str, Any]) -> None:
    days = {name: date.fromisoformat(value) for name, value in vector["counts"].items() if name in ("day", "since")}
    assert Summary(**{**vector["counts"], **days}).headline() == vector["says"]


@given(*(st.integers(0, 5) for _ in range(5)))
def test_every_verdict_names_its_denominator_in_correct_number(
    works: int, fails: int, unreachable: int, not_judged: int, causes: int
) -> None:
    summary = Summary(works, fails, unreachable, not_judged, causes)
    said = summary.headline()
    assert said.endswith(".")
    assert not re.search(r"\b1 (?:causes|ARKs)\b|\b1 of \d+ judged ARKs fail\b", said)
    if works + fails > 2:
        assert str(summary.judged) in said


def test_the_numbers_are_those_of_the_tables(frames: Frames, tables: Tables) -> None:
    summary = summarize(frames, tables)
    assert replace(summary, measures={}, scope={}) == Summary(3, 1, 1, 4, causes=2, day=date(2026, 11, 20))


def test_the_subject_has_the_findings_about_the_whole_run(frames: Frames, tables: Tables) -> None:
    crawl = {"subject": "this crawl", "kind": "max-pages", "detail": "stopped at 10 documents (--max-pages)"}
    of_naan = {"subject": "NAAN 12x45", "kind": "unregistered-naan", "detail": "NAAN 12x45 is not in the registry"}
    findings = pd.concat([frames.findings, pd.DataFrame([crawl, of_naan])], ignore_index=True)
    said = summarize(replace(frames, findings=findings), tables).scope_sentences()
    assert [sentence for sentence in said if sentence not in summarize(frames, tables).scope_sentences()] == [
        "this crawl: stopped at 10 documents (--max-pages)."
    ]


def test_the_limits_are_the_settings_of_the_crawl_that_are_given(
    frames: Frames, tables: Tables, tmp_path: Path
) -> None:
    text = '[crawl]\ndepth = 0\nmax_pages = 9\n[crawl.oai]\nset = "maps"\nfrom = "2026-01-01"\nuntil = "2026-02-01"\n'
    (tmp_path / "arkaudit.toml").write_text(text)
    plan = RunPlan.from_command(["https://library.example/"], load(tmp_path / "arkaudit.toml", {}))
    scope = summarize(replace(frames, run=frames.run.assign(plan=[plan.json])), tables).facts()["scope"]
    assert scope == [
        "links within the site of a seed",
        "up to 0 links deep",
        "at most 9 documents",
        "the set maps",
        "records since 2026-01-01",
        "records until 2026-02-01",
    ]


def test_it_is_compared_with_the_run_before_or_with_the_one_that_was_chosen(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        for day, status in ((0, 200), (30, 200), (60, 404), (90, 404), (120, 404), (150, 200)):
            audit(store, day, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: status, OTHER: 200})
    frames = load_frames(path)
    said = summarize(frames, Tables(frames)).headline()
    assert said == "Both judged ARKs work; nothing to act on; none confirmed broken and 1 recovered since 1 May."
    [recovery] = rows_of(Tables(frames)["changes"][["event", "ark", "failed_with"]])
    assert recovery[::2] == ("recovered", "broken")
    frames = load_frames(path, since=2)
    rows = Tables(frames)["summary"].set_index("measure")[["value", "compared", "change"]]
    assert rows.loc["ARKs by status: healthy"].tolist() == [2, 2, 0]
    said = summarize(frames, Tables(frames)).headline()
    assert said == "Both judged ARKs work; nothing to act on; 1 confirmed broken and 1 recovered since 31 January."


def test_every_rendering_of_a_store_has_the_numbers_and_sentences_of_its_summary(report: Report) -> None:
    limits = {"crawl.scope": "site", "crawl.include": ["a\u202eb"]}
    plan = {"seeds": ["https://library.example/\u202e"], "settings": limits}
    frames = replace(report.frames, run=report.frames.run.assign(plan=[plan]))
    summary = summarize(frames, report.tables)
    told = json.loads(json_report(Report(frames, report.tables)))
    assert told["audit"]["sentences"] == summary.scope_sentences()
    assert told["audit"]["scope"] == ["links within the site of a seed", "only URLs that match a[U+202E]b"]
    measures = {row["measure"]: row["value"] for row in told["tables"]["summary"]["rows"]}
    assert measures == summary.measures
    assert [measures[f"ARKs: {family}"] for family in Family] == [3, 1, 1, 4]
    assert (summary.arks, summary.judged) == (measures["ARKs"], 4)
    html = page(frames, report.tables)
    assert "[U+0002]" not in html
    soup = BeautifulSoup(html, "html.parser")
    tiles = {tile["class"][-1]: tile.select_one("dd").text for tile in soup.select(".tile")}  # type: ignore[union-attr]
    assert [tiles[family] for family in Family] == ["3", "1", "1", "4"]
    assert [node.text for node in soup.select(".audited")] == summary.scope_sentences()[1:]
    digest = digest_of(Report(frames, report.tables), "theses", news_of(frames), page=None, kinds=HEADINGS)
    counts = json.loads(FORMATS["json"](digest))["counts"]
    assert [counts[name] for name in ("works", "fails", "unreachable", "not_judged")] == [3, 1, 1, 4]
    for language in LANGUAGES.values():
        headline, *others = summary_lines(summary, language)
        texts = [form(digest, language) for name, form in FORMATS.items() if name != "html"]
        texts.append(section_text(digest, language))
        brief = markdown(Report(frames, report.tables, language_choice=LanguageChoice(language)))
        for text in (*texts, brief, html):
            assert headline in text
        for sentence in (*others, summary.title(language)):
            assert escape_markdown(sentence) in brief or sentence in brief
            assert sentence in soup.text or _in_script(sentence) in html


def _in_script(text: str) -> str:
    """Return a text as the scripts of a page hold it."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("&", "\\u0026")
