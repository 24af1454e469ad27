"""New targets for a resolver, from the redirects of landing sites."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.remediation.targets import TargetMove, same_object, target_moves, targets_text
from reports.store.frames import load_frames
from reports.store.inventory import read_inventory
from reports.tables.definitions import rows_of
from reports.tables.report_tables import Tables
from tests.report_world import BTV_AT_GALLICA, BTV_AT_N2T, LANDING, MUSEUM, write_world
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("targets"))
def test_only_permanent_moves_of_single_pages_are_proposed(vector: dict[str, Any]) -> None:
    moves = target_moves((ark, [(url, status) for url, status in hops]) for ark, hops in vector["chains"])
    assert [[one.ark, one.present_target, one.proposed_target] for one in moves] == vector["moves"]


@pytest.mark.parametrize("vector", vectors("same_objects"))
def test_urls_of_one_object_are_recognized(vector: dict[str, Any]) -> None:
    assert same_object(vector["one"], vector["other"]) == vector["is_same"]


URLS = r"https?://[a-z]{1,5}\.example(:[0-9]{2,4})?(/[a-z0-9%~._-]{0,6}){0,3}(\?[a-z]=[0-9])?"


@given(st.from_regex(URLS, fullmatch=True))
def test_any_url_is_the_same_object_by_the_other_scheme_and_with_a_fragment(url: str) -> None:
    assert same_object(url, url)
    assert same_object(url, f"{url}#page=2")
    if ":" not in url.partition("://")[2]:
        other = url.replace("https:", "http:") if url.startswith("https:") else url.replace("http:", "https:")
        assert same_object(url, other)


def test_layouts_are_those_of_ezid_and_arklet() -> None:
    moves = [TargetMove("ark:12148/x", "https://m.example/old", "https://m.example/new,1", "why")]
    assert targets_text(moves, "ezid") == '_id,_target\nark:/12148/x,"https://m.example/new,1"\n'
    assert targets_text(moves, "arklet") == 'ark,url\nark:12148/x,"https://m.example/new,1"\n'
    assert targets_text(moves, "table").startswith("ark,present_target,proposed_target,evidence\n")


@pytest.mark.parametrize("layout", ["ezid", "arklet", "table"])
def test_target_is_written_exactly_unless_a_spreadsheet_might_run_it(layout: str) -> None:
    [exact, call] = (f"https://m.example/new;{end}" for end in ("@id", "=HYPERLINK(1)"))
    moves = [TargetMove("ark:12148/x", "https://m.example/old", new, "why") for new in (exact, call)]
    text = targets_text(moves, layout)
    assert exact in text
    assert (call in text) == (layout != "table")


def test_table_of_arks_has_the_old_the_present_and_the_expected_target(tmp_path: Path) -> None:
    ours = tmp_path / "inventory.csv"
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


def test_places_to_fix_have_what_was_probably_meant(tmp_path: Path) -> None:
    table = Tables(load_frames(write_world(tmp_path / "world.db")))["failures"]
    meant = {row for row in rows_of(table[["ark", "should_be", "because"]]) if row[1]}
    assert ("ark:53355/cl010120339", "ark:53355/cl010120338", "it was probably meant, and works") in meant
