"""A report as files: the same bytes every time, whole or not at all, and safe to open in a spreadsheet."""

import csv
import io
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from filelock import lock_descriptor
from hypothesis import given, settings
from hypothesis import strategies as st

from arkaudit.configuration.config_files import load
from arkaudit.output.exits import exit_on
from arkaudit.output.output_rows import csv_line
from arkaudit.output.reporting import report_on
from extractors.model.errors import UserMistake
from reports.exports import FORMATS, ReportPaths, check_out, write_report
from reports.formats.table_files import csv_text
from reports.languages.display import neutralize_formula
from reports.store.frames import load_frames
from reports.tables.definitions import rows_of
from reports.tables.report_tables import TABLES, Report
from tests.report_world import write_world
from tests.vectors import vectors


def files(folder: Path) -> dict[str, bytes]:
    found: Iterator[Path] = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report, which had no parents before."""
    return tmp_path_factory.mktemp("written") / "a" / "report"


@pytest.fixture(scope="module")
def written(out: Path, report: Report) -> ReportPaths:
    return write_report(report, out)


def table_file(paths: ReportPaths, name: str) -> Path:
    """Return the CSV file of a table."""
    return next(path for path in paths.files if path.name == f"{name}.csv")


def test_a_report_is_a_page_and_a_file_for_each_table(written: ReportPaths, out: Path) -> None:
    expected = {"index.html", *(f"tables/{table.name}.csv" for table in TABLES)}
    assert set(files(out)) == expected
    assert written.index == out / "index.html"
    assert [*written.files] == [*(out / f"tables/{table.name}.csv" for table in TABLES), out / "index.html"]


def test_a_page_that_cannot_be_made_costs_the_page_alone(
    tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    write_report(report, out, ["html", "csv", "json"])

    def failing(report: Report, folder: Path) -> Iterator[None]:
        (folder / "index.html").write_bytes(b"<!DOCTYPE html>")
        yield
        raise ValueError("not the same tag in both languages")

    monkeypatch.setitem(FORMATS, "html", replace(FORMATS["html"], write=failing))
    paths = write_report(report, out, ["html", "csv", "json"])
    assert (paths.index, [str(problem) for problem in paths.failed.values()]) == (
        None,
        ["not the same tag in both languages"],
    )
    expected = {"report.json", *(f"tables/{table.name}.csv" for table in TABLES)}
    assert set(files(out)) == expected, "nor is an earlier page taken for that of this report"


def test_run_with_failed_page_sends_news_and_ends_with_3(
    world_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(report: Report, folder: Path) -> Iterator[None]:
        yield
        raise ValueError("not\nthe same")

    monkeypatch.setitem(FORMATS, "html", replace(FORMATS["html"], write=failing))
    reported = report_on(load(None, {}), world_store, tmp_path / "report", formats=["html", "csv"])
    [line] = [line for line in capsys.readouterr().err.splitlines() if "could not be made" in line]
    assert line.endswith("as html, which is a bug of arkaudit: ValueError: not the same")
    assert reported.tokens
    for fail_on, code in ((["confirmed-broken"], 3), (["broken"], 1)):
        with pytest.raises(SystemExit) as ending:
            exit_on(fail_on, reported.tokens, is_whole=reported.is_whole)
        assert ending.value.code == code


def test_a_file_is_utf8_with_lf_and_iso_moments(written: ReportPaths) -> None:
    naans = table_file(written, "naans").read_bytes()
    assert naans.startswith(b'"naan","organization","arks"')
    assert '"12148","Bibliothèque nationale de France",2,3,2,2,0,0,0,1,1,'.encode() in naans
    assert all(b"\r" not in path.read_bytes() for path in written.files if path.suffix == ".csv")
    hosts = pd.read_csv(table_file(written, "hosts"))
    assert set(hosts["first_at"]) == {"2026-11-20T10:00:00.123Z"}
    resolvers = list(csv.DictReader(table_file(written, "resolvers").open(encoding="utf-8", newline="")))
    assert [row["http_only"] for row in resolvers if row["role"] == "resolver"] == [
        "false", "false", "", "true", "false",
    ]  # fmt: skip


@pytest.mark.parametrize("vector", vectors("formulas"))
def test_cells_that_begin_like_a_formula_are_defused(vector: dict[str, Any]) -> None:
    assert neutralize_formula(vector["cell"]) == vector["written"]


#: Texts rich in the signs that spreadsheets interpret.
SIGNS = st.text(st.sampled_from("=+-@;\t\r\n\"', 1a\N{FULLWIDTH EQUALS SIGN}\N{NO-BREAK SPACE}"), max_size=12)


def formulas(text: str) -> list[str]:
    """Return the cells that begin like a formula if *text* is opened with each list separator."""
    splits = (csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for delimiter in ",;\t")
    cells = (cell.lstrip(" \t\r\n\N{NO-BREAK SPACE}") for split in splits for row in split for cell in row)
    signs = ("=", "+", "-", "@", "\N{FULLWIDTH EQUALS SIGN}")
    return [cell for cell in cells if cell.startswith(signs)]


@settings(max_examples=6 * settings.default.max_examples)
@given(st.lists(st.lists(SIGNS, min_size=2, max_size=2), min_size=1, max_size=3))
def test_no_cell_begins_like_a_formula_with_any_separator(rows: list[list[str]]) -> None:
    columns = {str(number): pd.Series(texts, dtype="str") for number, texts in enumerate(zip(*rows, strict=True))}
    assert formulas(csv_text(pd.DataFrame(columns))) == []
    assert formulas("".join(csv_line([neutralize_formula(cell) for cell in row]) for row in rows)) == []


TEXTS = SIGNS | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.none()


@given(st.lists(st.tuples(TEXTS, st.integers(-(2**40), 2**40) | st.none()), max_size=5))
def test_cell_text_survives_the_file(rows: list[tuple[str | None, int | None]]) -> None:
    table = pd.DataFrame(
        {
            "text": pd.Series([text for text, _ in rows], dtype="str"),
            "count": pd.Series([count for _, count in rows], dtype="Int64"),
        }
    )
    header, *read = csv.reader(io.StringIO(csv_text(table), newline=""))
    assert header == ["text", "count"]
    assert read == [
        [neutralize_formula(text or ""), "" if count is None else str(count)] for text, count in rows_of(table)
    ]


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path) -> None:
    store = write_world(tmp_path / "world.sqlite")
    with sqlite3.connect(store) as connection:
        connection.execute("""UPDATE verdict SET object_evidence = '["half of a character: \\ud83d"]'""")
    paths = write_report(load_frames(store), tmp_path / "report", ["csv"])
    assert r"half of a character: \ud83d" in table_file(paths, "arks").read_text("utf-8")


# -- into place, or not at all


def test_an_older_report_is_replaced_and_foreign_files_are_left_alone(tmp_path: Path, report: Report) -> None:
    out = tmp_path / "report"
    (out / "tables").mkdir(parents=True)
    (out / "index.html").write_text("old")
    (out / "tables" / "naans.csv").write_text("old")
    (out / "notes.txt").write_text("mine")
    (out / "tables" / "mine.csv").write_text("mine")
    write_report(report, out)
    found = files(out)
    assert found.pop("notes.txt") == found.pop("tables/mine.csv") == b"mine"
    assert b"old" not in found.values()
    assert len(found) == 1 + len(TABLES)


@pytest.mark.parametrize("place", ["letter", "letter/report"])
def test_a_file_where_a_folder_belongs_is_refused(tmp_path: Path, report: Report, place: str) -> None:
    (tmp_path / "letter").write_text("a letter")
    for refused in (lambda out: write_report(report, out), check_out):
        with pytest.raises(UserMistake, match="letter: is not a folder"):
            refused(tmp_path / place)
    assert files(tmp_path) == {"letter": b"a letter"}


@pytest.mark.parametrize("place", ["index.html/", "tables/naans.csv/", "tables"])
def test_obstacles_are_found_before_anything_is_written(tmp_path: Path, report: Report, place: str) -> None:
    out = tmp_path / "report"
    if place.endswith("/"):
        (out / place).mkdir(parents=True)
    else:
        out.mkdir()
        (out / place).write_text("a letter")
    before = files(out)
    with pytest.raises(UserMistake, match="folder"):
        write_report(report, out)
    assert files(out) == before


def test_a_folder_can_be_checked_before_there_is_anything_to_write(tmp_path: Path) -> None:
    check_out(tmp_path / "a" / "b")
    check_out(Path("relative"))
    assert files(tmp_path) == {}


@pytest.mark.parametrize("is_new", [True, False])
def test_when_the_disk_is_full_nothing_half_written_stays(
    tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    out = tmp_path / "report"
    if not is_new:
        out.mkdir()
        (out / "index.html").write_text("old")
    open_file = Path.open

    def until_full(path: Path, *arguments: Any) -> Any:
        return open_file(Path("/dev/full") if path.name == "citations.csv" else path, *arguments)

    monkeypatch.setattr(Path, "open", until_full)
    with pytest.raises(UserMistake, match="No space left on device"):
        write_report(report, out)
    assert list(tmp_path.rglob("*")) == ([] if is_new else [out, out / "index.html"])


def test_tables_on_the_page_and_in_files_are_the_same_tables(written: ReportPaths, report: Report) -> None:
    for name, table in report.tables.items():
        assert table_file(written, name).read_bytes() == csv_text(table).encode()


def test_files_of_a_killed_report_are_cleared_unless_in_use(tmp_path: Path, report: Report) -> None:
    for name in (".arkaudit-report-left", ".arkaudit-report-held", ".arkaudit-other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("half a p")
    held = os.open(tmp_path / ".arkaudit-report-held", os.O_RDONLY)
    try:
        assert lock_descriptor(held, blocking=False)
        write_report(report, tmp_path, ["csv"])
    finally:
        os.close(held)
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".arkaudit-other", ".arkaudit-report-held"]
