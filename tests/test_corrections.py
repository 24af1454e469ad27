"""Corrections proposed to editors and keepers of resolvers: only certain ones, place by place."""

from pathlib import Path
from typing import Any

import pytest

from crawler.model import schema
from crawler.model.observations import Family
from extractors.model.documents import Role
from reports.exports import write_report
from reports.languages import LANGUAGES
from reports.remediation.causes import Cause
from reports.remediation.correcting import _LAYOUT, _WRONG, ONE_FAULT, Place, correction
from reports.store.frames import load_frames
from reports.store.inventory import read_inventory
from reports.store.known_problems import read_known
from reports.tables.definitions import rows_of
from reports.tables.report_tables import Tables
from tests.loopback import read_csv
from tests.report_world import (
    BPT,
    BTV_AT_GALLICA,
    BTV_AT_N2T,
    GUIDE,
    LANDING,
    LIST,
    MUSEUM,
    ark_row,
    hop,
    mention_row,
    observation_row,
    write_store,
    write_world,
)
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("corrections"))
def test_each_place_has_one_correction_at_most(vector: dict[str, Any]) -> None:
    meant_ark, meant_url = vector.get("meant", (None, None))
    cause = Cause(vector["cause"]) if "cause" in vector else None
    place = Place(
        as_written=vector["as_written"], repaired=vector.get("repaired", vector["as_written"]),
        role=Role(vector.get("role", "text")), repairs=tuple(vector.get("repairs", ())),
        is_ambiguous=vector.get("ambiguous", False), has_resolver=vector.get("resolver", True),
        family=Family(vector["family"]), cause=cause, works_at=vector.get("works_at"), meant_ark=meant_ark,
        meant_url=meant_url,
    )  # fmt: skip
    found = correction(place)
    assert (found.correct if found else None) == vector["correct"]
    assert (found.why if found else None) == vector.get("kind")
    assert found is None or found.because


def test_the_table_has_the_places_in_the_order_of_the_documents(tmp_path: Path) -> None:
    tables = Tables(load_frames(write_world(tmp_path / "world.db")))
    table = tables["corrections"]
    meant = f"{MUSEUM[:-1]}8"
    assert list(rows_of(table[["document", "as_written", "correct", "why"]])) == [
        (GUIDE, MUSEUM, meant, "did-you-mean"),
        (LIST, BTV_AT_GALLICA, BTV_AT_N2T, "other-resolver"),
        (LIST, MUSEUM, meant, "did-you-mean"),
    ]
    assert BPT not in set(table["correct"]), "a line break in running text is no fault"


def test_known_problems_get_no_correction(tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    known.write_text("what,state\nark:53355/cl010120339,broken\n")
    frames = load_frames(write_world(tmp_path / "world.db"), known_list=read_known(known))
    assert list(Tables(frames)["corrections"]["as_written"]) == [BTV_AT_GALLICA]


def test_no_correction_can_run_in_a_spreadsheet(tmp_path: Path) -> None:
    url = "https://gallica.example/ark:/12148/bpt6k107371t"
    store = write_store(
        tmp_path / "evil.db",
        {
            schema.run: [{"run_id": 2}],
            schema.ark: [ark_row(1, "ark:12148/bpt6k107371t")],
            schema.document: [{"document_id": 1, "run_id": 2, "url": GUIDE}],
            schema.mention: [
                mention_row(
                    1, 0, 1, url, as_written='=HYPERLINK("http://evil.example/")', repairs=["invisible character"],
                    context="@SUM(A1)",
                )
            ],
            schema.observation: [observation_row(1, url, "object", [hop(url)])],
            schema.verdict: [{"ark_id": 1, "request_url": url, "object": "resolved", "final_url": url}],
        },
    )  # fmt: skip
    paths = write_report(load_frames(store), tmp_path / "out", ["csv"])
    [row] = read_csv(paths.tables["corrections"])
    assert (row["as_written"], row["context"]) == ('\'=HYPERLINK("http://evil.example/")', "'@SUM(A1)")
    assert row["correct"] == url


def test_resolver_correction_names_old_and_new_target(tmp_path: Path) -> None:
    ours = tmp_path / "ours.csv"
    ours.write_text(f"ark,url\nark:12148/btv1b8449691v,{LANDING}\n")
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=read_inventory(ours))
    table = Tables(frames)["arks"]
    rows = {
        row[0]: row[1:]
        for row in rows_of(table[["request_url", "last_good_url", "final_url", "object", "status", "expected_url"]])
    }
    assert rows[BTV_AT_N2T] == (None, LANDING, "resolved", 200, LANDING)
    assert rows[BTV_AT_GALLICA] == (None, BTV_AT_GALLICA, "broken", 404, LANDING)
    assert rows[MUSEUM] == (None, MUSEUM, "broken", 404, None)


@pytest.mark.parametrize("repair", [*_WRONG, *_LAYOUT])
def test_reason_of_a_correction_is_translated(repair: str) -> None:
    place = Place("ark:/12148/x-\n5", "ark:/12148/x5", Role.LINK_TARGET, (repair,), family=Family.WORKS)
    found = correction(place)
    assert found is not None
    assert found.because in ONE_FAULT
    said = {language.gettext(found.because) for language in LANGUAGES.values()}
    assert len(said) == len(LANGUAGES)
