"""Costs of an audit for its hosts, and their treatment: pauses, dead hosts, hosts that refuse programs."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from crawler.model import schema
from crawler.model.observations import Question
from crawler.verdicts.verdict import judge
from reports.formats.markdown_report import markdown
from reports.store.frames import Frames, load_frames
from reports.tables.report_tables import DEFINITIONS, Report
from tests.report_world import GUIDE, MOMENT, ark_row, hop, mention_row, observation_row, page, write_store
from tests.unit.crawler.test_verdict import facts

ONE, DEAD = "https://n2t.net/ark:12148/x5", "https://dead.example/ark:12148/x6"
DEAD_WORDS = "not asked: no answer 6 times in a row"


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    unsent = hop(DEAD, None, sent=False, error=DEAD_WORDS)
    return load_frames(
        write_store(
            tmp_path_factory.mktemp("audit") / "audit.db",
            {
                schema.run: [{"run_id": 1}, {"run_id": 2}],
                schema.document: [{"document_id": 1, "run_id": 2, "url": GUIDE}],
                schema.ark: [ark_row(1, "ark:12148/x5"), ark_row(2, "ark:12148/x6")],
                schema.observation: [
                    observation_row(1, ONE, "object", [hop(ONE, 429, headers={"Retry-After": "7"})]),
                    observation_row(1, ONE, "object", [hop(ONE)], attempt=2),
                    observation_row(2, DEAD, "object", [hop(DEAD, None)]),
                    observation_row(2, DEAD, "?info", [unsent]),
                ],
                schema.pause: [
                    pause(1, "https://n2t.net", 7.0, is_kept=True),
                    pause(2, "http://n2t.net", 5.5, is_kept=True),
                    pause(3, "https://n2t.net", 86_400.0, is_kept=False),
                    pause(4, "https://n2t.net", 60.0, is_kept=True, run_id=1),
                ],
                schema.host_traffic: [
                    traffic("https://n2t.net", requests=9, interval_s=1.0, crawl_delay_s=5.0),
                    traffic("http://n2t.net", requests=2, interval_s=2.0),
                    traffic("https://dead.example", requests=6, interval_s=1.0, given_up=DEAD_WORDS),
                ],
            },
        )
    )


def pause(number: int, host: str, asked_s: float, *, is_kept: bool, run_id: int = 2) -> dict[str, Any]:
    of = {"run_id": run_id, "url": f"{host}/{number}", "at": MOMENT}
    return {"host": host, "asked_s": asked_s, "is_kept": is_kept, **of}


def traffic(host: str, **others: Any) -> dict[str, Any]:
    return {"run_id": 2, "host": host, "failures": 0, **others}


def told_of(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    rows = table[list(columns)].astype("object")
    return list(rows.where(table[list(columns)].notna(), None).itertuples(index=False, name=None))


def test_pauses_are_summed_by_host_over_schemes(frames: Frames) -> None:
    columns = ("host", "requests", "pauses_asked", "pauses_kept", "paused_s")
    assert told_of(DEFINITIONS["hosts"].table(frames), *columns) == [
        ("n2t.net", 2, 1, 2, 12.5),
        ("dead.example", 1, 0, 0, 0.0),
    ]


def test_host_row_has_treatment_and_reason_of_giving_up(frames: Frames) -> None:
    columns = ("host", "all_requests", "interval_s", "crawl_delay_s", "given_up")
    assert told_of(DEFINITIONS["hosts"].table(frames), *columns) == [
        ("n2t.net", 11, 2.0, 5.0, None),
        ("dead.example", 6, 1.0, None, DEAD_WORDS),
    ]


def test_old_run_without_these_records_has_empty_table(frames: Frames) -> None:
    nothing = {name: getattr(frames, name).head(0) for name in ("hops", "fetches", "pauses", "traffic")}
    assert DEFINITIONS["hosts"].table(replace(frames, **nothing)).empty


# -- hosts that keep programs out

LANDING, RESOLVER = "https://closed.example/view/", "https://n2t.net/ark:12148/"


@pytest.fixture(scope="module")
def blocked_frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Four ARKs whose host blocks arkaudit; one works elsewhere, and a later check of one is blocked again."""

    def observations(name: str, ark_id: int, status: int, run_id: int = 1) -> dict[str, Any]:
        url = RESOLVER + name
        hops = [hop(url, 302), hop(LANDING + name, status)]
        return observation_row(ark_id, url, "object", hops, run_id=run_id)

    def verdict(name: str, ark_id: int, run_id: int = 1, evidence: str = "a 403") -> dict[str, Any]:
        judged = {"object": "blocked", "object_evidence": [evidence]}
        url = {"request_url": RESOLVER + name, "final_url": LANDING + name}
        return {"ark_id": ark_id, "run_id": run_id, **url, **judged}

    works = {"ark_id": 4, "run_id": 1, "request_url": ONE, "object": "resolved", "final_url": ONE}
    challenge = {"chain": [503], "headers": {"cf-mitigated": "challenge"}, "type": "text/html", "body": "x"}
    judged = judge({Question.OBJECT: facts(Question.OBJECT, challenge)})
    by_check = "; ".join(judged.object.evidence)  # in the words of its rule
    rows: dict[Any, list[dict[str, Any]]] = {
        schema.run: [{"run_id": 1, "command": "run"}, {"run_id": 2, "command": "check"}],
        schema.document: [{"document_id": 1, "run_id": 1, "url": GUIDE}],
        schema.ark: [ark_row(number, f"ark:12148/x{number}") for number in range(1, 5)],
        schema.mention: [mention_row(1, number, number, f"{RESOLVER}x{number}") for number in range(1, 5)],
        schema.observation: [
            observations("x1", 1, 403, 2),
            *(observations(f"x{number}", number, 403) for number in (1, 2, 4)),
            observations("x3", 3, 200),
        ],
        schema.verdict: [
            verdict("x1", 1),
            verdict("x2", 2),
            verdict("x3", 3, evidence=by_check),
            verdict("x4", 4),
            works,
            verdict("x1", 1, 2),
        ],
    }
    return load_frames(write_store(tmp_path_factory.mktemp("closed") / "closed.db", rows), run_id=1)


def test_blocking_host_has_attempts_and_unjudged_arks(blocked_frames: Frames) -> None:
    columns = ("host", "arks_not_judged", "tried")
    rows = told_of(DEFINITIONS["hosts"].table(blocked_frames), *columns)
    assert [row for row in rows if row[1]] == [("closed.example", 3, "2 answered 403, 1 a robot check: Cloudflare")]


def test_the_page_counts_urls_whose_hosts_refuse_programs(blocked_frames: Frames) -> None:
    shown = page(blocked_frames, Report.from_frames(blocked_frames).tables)
    soup = BeautifulSoup(shown, "html.parser")
    [told] = (item for item in soup.select("main li") if item.a and "URLs whose hosts refuse programs" in item.a.text)
    urls, host = told.select("a")
    assert (urls["href"], urls.text[:6]) == ("#arks?object=blocked", "4 URLs")
    assert (host["href"], host.text) == ("#hosts?host=closed.example", "closed.example")
    assert "3 ARKs not judged (2 answered 403, 1 a robot check: Cloudflare)" in told.text
    assert "| closed.example | 3 | 2 answered 403" in markdown(Report.from_frames(blocked_frames))
