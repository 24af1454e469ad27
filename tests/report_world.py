"""A small world for the report tests: stores written row by row, and one audit with a bit of everything."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import URL, Connection, Table, create_engine

from crawler.model import schema
from crawler.store.database import row_of
from extractors.find import find_arks
from extractors.model.ark import Ark
from reports.page.document import page_pieces
from reports.store.frames import Frames
from reports.tables.report_tables import Report

MOMENT = "2026-11-20T10:00:00.123+00:00"
RIGHT_TO_LEFT_OVERRIDE = "\N{RIGHT-TO-LEFT OVERRIDE}"

RUN = {
    "command": "crawl",
    "started_at": MOMENT,
    "ended_at": "2026-11-20T10:05:00.000+00:00",
    "state": "finished",
    "version": "0.1.0",
    "resolver": "https://n2t.net/",
    "user_agent": "arkaudit/0.1 (+https://library.example/bot)",
    "seeds": ["https://library.example/guide.html"],
}
DOCUMENT = {
    "run_id": 2,
    "fetched_at": MOMENT,
    "outcome": "read",
    "status": 200,
    "media_type": "text/html",
    "hops": [{}],
}
MENTION = row_of(
    find_arks("ark:88435/x5")[0], schema.mention, confidence="certain", context="", spans=[[0, 10]], decided=1
)
VERDICT = {
    "run_id": 2,
    "object_evidence": [],
    "metadata": "not-asked",
    "metadata_evidence": [],
    "metadata_parsed": {},
    "commitment": "not-asked",
    "commitment_evidence": [],
    "commitment_parsed": {},
    "hop_count": 0,
    "request_count": 1,
    "rests_on": [],
    "did_you_mean": None,
    "naan_policy": {},
    "remarks": [],
}
OBSERVATION = {"run_id": 2, "attempt": 1, "at": MOMENT, "detail": "", "body_complete": True, "facts": {}, "remarks": []}

GUIDE = "https://library.example/guide.html"
CLOSED = "https://library.example/closed.pdf"
LIST = "https://library.example/list.pdf"
BTV_AT_N2T = "https://n2t.net/ark:/12148/btv1b8449691v"
BTV_AT_GALLICA = "https://gallica.example/ark:/12148/btv1b8449691v"
BPT = "https://gallica.example/ark:/12148/bpt6k107371t"
MUSEUM = "http://museum.example/ark:/53355/cl010120339"
SLOW = "https://slow.example/ark:/13960/t2s47dp7t"
GUARDED = "https://guarded.example/ark:/61903/1:1:C4H8-2DW2"
EXAMPLE = "https://n2t.net/ark:12345/x6np1wh8k"
TRIAL = "https://n2t.net/ark:/99999/fk4ks86n31"
TERM = "https://n2t.net/ark:/99152/p0v"
LANDING = "https://gallica.example/view/449691"


def write_store(path: Path, rows: Mapping[Table, Sequence[Mapping[str, Any]]], *, version: int | None = None) -> Path:
    """Return a store at *path* that holds *rows*, each completed with the table's defaults above."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        schema.tables.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {schema.SCHEMA_VERSION if version is None else version}")
        for table, values in rows.items():
            _insert(connection, table, values)
        connection.commit()
    engine.dispose()
    return path


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    defaults: Mapping[str, Mapping[str, Any]] = {
        "run": RUN,
        "document": DOCUMENT,
        "mention": MENTION,
        "verdict": VERDICT,
        "observation": OBSERVATION,
    }
    for row in rows:
        values = {**defaults.get(table.name, {}), **row}
        connection.execute(table.insert().values(values))


def ark_row(ark_id: int, text: str) -> dict[str, Any]:
    ark = Ark.parse(text)
    return {
        "ark_id": ark_id,
        "ark": str(ark),
        "naan": ark.naan,
        "shoulder": ark.shoulder,
        "name": ark.name,
        "qualifier": ark.qualifier,
    }


def mention_row(document_id: int, ordinal: int, ark_id: int, request_url: str | None, **others: Any) -> dict[str, Any]:
    written = request_url or "ark:88435/x5"
    return {
        "document_id": document_id,
        "ordinal": ordinal,
        "citation": ordinal + 1,
        "ark_id": ark_id,
        "as_written": written,
        "repaired": written,
        "request_url": request_url,
        **others,
    }


def observation_row(
    ark_id: int, request_url: str, question: str, hops: list[dict[str, Any]], **others: Any
) -> dict[str, Any]:
    ended = hops[-1]
    return {
        "ark_id": ark_id,
        "request_url": request_url,
        "question": question,
        "asked_url": hops[0]["url"],
        "chain_end": "answered",
        "status": ended.get("status"),
        "final_url": ended["url"],
        "hop_count": len(hops) - 1,
        "hops": hops,
        **others,
    }


def hop(url: str, status: int | None = 200, **others: Any) -> dict[str, Any]:
    return {"url": url, "method": "GET", "status": status, "at": MOMENT, "elapsed_s": 0.25, "headers": {}, **others}


def page(frames: Frames, tables: Mapping[str, pd.DataFrame], **options: Any) -> str:
    """Return the page of a report as HTML."""
    return b"".join(filter(None, page_pieces(Report(frames, tables, **options)))).decode()


def write_world(path: Path) -> Path:
    """Write three runs: an old one, the reported one, and one that has just begun.

    Nine ARKs: one cited at two URLs (works at one, fails at the other), one repaired, one that fails, one
    without an answer, one refused to programs, two skipped, a term, and one ambiguous that was never asked.
    """
    return write_store(
        path,
        {
            schema.run: [{"run_id": 1}, {"run_id": 2}, {"run_id": 3, "ended_at": None, "state": "running"}],
            schema.ark: [
                ark_row(number, text)
                for number, text in enumerate(
                    [
                        "ark:12148/btv1b8449691v", "ark:12148/bpt6k107371t", "ark:53355/cl010120339",
                        "ark:13960/t2s47dp7t", "ark:61903/1:1:C4H82DW2", "ark:12345/x6np1wh8k", "ark:99999/fk4ks86n31",
                        "ark:99152/p0v", "ark:88435/x5", "ark:29072/old",
                    ],
                    start=1,
                )
            ],
            schema.document: [
                {"document_id": 1, "run_id": 1, "url": GUIDE, "title": "as it was"},
                {"document_id": 2, "url": GUIDE, "title": "<script>alert('guide')</script>"},
                {
                    "document_id": 3,
                    "url": LIST,
                    "found_on": GUIDE,
                    "title": '=HYPERLINK("http://evil.example/")',
                    "media_type": "application/pdf",
                },
                {"document_id": 4, "url": CLOSED, "outcome": "unreadable", "media_type": "application/pdf"},
                {
                    "document_id": 5,
                    "url": "https://gone.example/",
                    "outcome": "dns",
                    "status": None,
                    "media_type": None,
                },
            ],
            schema.finding: [
                {
                    "run_id": 2,
                    "document_id": 2,
                    "subject": GUIDE,
                    "kind": "namespace-mention",
                    "detail": "'ark:/12148/' names a NAAN, not an object",
                },
                {"run_id": 2, "document_id": 4, "subject": CLOSED, "kind": "encrypted", "detail": "needs a password"},
            ],
            schema.mention: [
                mention_row(1, 0, 10, "https://n2t.net/ark:29072/old"),
                mention_row(2, 0, 1, BTV_AT_N2T, role="link-target", place="a/@href"),
                mention_row(2, 1, 3, MUSEUM),
                mention_row(2, 2, 4, SLOW),
                mention_row(2, 3, 5, GUARDED),
                mention_row(2, 4, 6, EXAMPLE),
                mention_row(2, 5, 7, TRIAL),
                mention_row(2, 6, 8, TERM, role="metadata", place="meta/@content"),
                mention_row(3, 0, 1, BTV_AT_GALLICA, page=1),
                mention_row(
                    3,
                    1,
                    2,
                    BPT,
                    page=2,
                    as_written="https://gallica.example/ark:/12148/bpt6k10\n7371t",
                    repairs=["line wrap"],
                    confidence="likely",
                ),
                mention_row(3, 2, 3, MUSEUM, page=2),
                mention_row(3, 3, 9, None, page=3, confidence="ambiguous", alternatives=["ark:88435/x5y"]),
            ],
            schema.observation: [
                observation_row(
                    1,
                    BTV_AT_N2T,
                    "object",
                    [hop(BTV_AT_N2T, 302, location=LANDING), hop(LANDING, headers={"Content-Type": "text/html"})],
                ),
                observation_row(1, BTV_AT_N2T, "?info", [hop(f"{BTV_AT_N2T}?info")]),
                observation_row(1, BTV_AT_GALLICA, "object", [hop(BTV_AT_GALLICA, 404)]),
                observation_row(2, BPT, "object", [hop(BPT)]),
                observation_row(3, MUSEUM, "object", [hop(MUSEUM, 404)]),
                observation_row(4, SLOW, "object", [hop(SLOW, None, error="30 s passed")], chain_end="timeout"),
                observation_row(5, GUARDED, "object", [hop(GUARDED, None, error="/ark:/")], chain_end="robots"),
                observation_row(8, TERM, "object", [hop(TERM)]),
            ],
            schema.verdict: [
                {
                    "ark_id": 1,
                    "request_url": BTV_AT_N2T,
                    "object": "resolved",
                    "object_evidence": ["200 after one redirect"],
                    "metadata": "erc",
                    "commitment": "stated",
                    "commitment_evidence": ["an erc-support block", "with a rating"],
                    "commitment_parsed": {"who": "The Library", "what": "Permanent: Stable Content"},
                    "final_url": LANDING,
                    "hop_count": 1,
                    "request_count": 3,
                    "rests_on": [f"{BTV_AT_N2T}x", f"{BTV_AT_N2T}y"],
                    "naan_policy": {
                        "of": "12148",
                        "organization": "Bibliothèque nationale de France",
                        "practices": ["NR", "OP"],
                        "org_type": "NP",
                        "url": None,
                    },
                },
                {
                    "ark_id": 1,
                    "request_url": BTV_AT_GALLICA,
                    "object": "broken",
                    "object_evidence": [f"https://gallica.example/{'x' * 120} answered 404"],
                    "final_url": BTV_AT_GALLICA,
                },
                {
                    "ark_id": 2,
                    "request_url": BPT,
                    "object": "resolved",
                    "metadata": "query-ignored",
                    "commitment": "absent",
                    "final_url": BPT,
                },
                {
                    "ark_id": 3,
                    "request_url": MUSEUM,
                    "object": "broken",
                    "object_evidence": [f"the page is titled {RIGHT_TO_LEFT_OVERRIDE}dnuof toN"],
                    "final_url": MUSEUM,
                    "rests_on": [f"{MUSEUM[:-1]}8"],
                    "did_you_mean": {"ark": "ark:53355/cl010120338", "url": f"{MUSEUM[:-1]}8", "evidence": []},
                    "remarks": ["unregistered NAAN"],
                },
                {"ark_id": 4, "request_url": SLOW, "object": "timeout"},
                {"ark_id": 5, "request_url": GUARDED, "object": "robots", "metadata": "blocked", "request_count": 0},
                {"ark_id": 6, "request_url": EXAMPLE, "object": "skipped", "request_count": 0},
                {"ark_id": 7, "request_url": TRIAL, "object": "skipped", "request_count": 0},
                {
                    "ark_id": 8,
                    "request_url": TERM,
                    "object": "resolved",
                    "metadata": "structured",
                    "commitment": "placeholder",
                    "final_url": TERM,
                },
            ],
        },
    )  # fmt: skip
