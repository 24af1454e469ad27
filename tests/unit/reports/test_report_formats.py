"""Every format from one definition: its content, readable by other programs, without anything that can run."""

import gc
import io
import json
import random
import sqlite3
import tomllib
import weakref
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import jsonschema
import lxml.etree
import markdown_it
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest

from reports.exports import FORMATS, ReportFormat, text_of, write_formats, write_report
from reports.formats.markdown_report import _cell, markdown
from reports.formats.table_files import LONGEST_CELL
from reports.languages import ENGLISH
from reports.store.frames import Frames, load_frames
from reports.tables.definitions import Column, ColumnType, rows_of
from reports.tables.filters import Choice
from reports.tables.report_tables import DEFINITIONS, TABLES, Report
from reports.tables.wording import FORMAT_MODULES
from reports.tables.wording import FORMATS as NAMED
from tests.report_world import GUIDE, LIST, MUSEUM, write_store

HERE = Path(__file__).parents[2]
ROOT = HERE.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return Report.from_frames(load_frames(write_store(tmp_path_factory.mktemp("empty") / "empty.sqlite", {})))


def content(report: Report, name: str) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        write_formats(report, {name: FORMATS[name]}, Path(folder), kept_tables=report.tables)
        return {path: Path(folder, path).read_bytes() for path in FORMATS[name].paths}


def test_written_tables_are_released_from_memory(frames: Frames, tmp_path: Path) -> None:
    report = Report.from_frames(frames)
    made: dict[str, weakref.ref[pd.DataFrame]] = {}

    def watch(report: Report, folder: Path) -> Iterator[None]:
        for definition in TABLES:
            made[definition.name] = weakref.ref(report.tables[definition.name])
            yield

    formats = {name: FORMATS[name] for name in ("csv", "sarif")}
    write_formats(report, {"watching": ReportFormat((), watch), **formats}, tmp_path, ["naans"])
    gc.collect()
    left = {name for name, table in made.items() if table() is not None} - {"inventory"}  # cached
    assert list(made) == [table.name for table in TABLES]
    assert left == {"naans", *FORMATS["sarif"].needs} == {"naans", "failures"}
    assert report.tables["arks"].equals(DEFINITIONS["arks"].table(report.frames))


def test_csv_for_excel_begins_with_a_byte_order_mark(report: Report) -> None:
    plain, marked = content(report, "csv"), content(report, "csv-bom")
    assert [*marked.values()] == [b"\xef\xbb\xbf" + data for data in plain.values()]


def test_every_named_format_writes_its_files(report: Report, tmp_path: Path) -> None:
    assert list(FORMATS) == list(NAMED), "reports/exports.py and reports/tables/wording.py name the same formats"
    paths = write_report(report, tmp_path / "report", list(FORMATS))
    write_formats = {path.relative_to(tmp_path / "report").as_posix() for path in paths.files}
    assert write_formats == {place for form in FORMATS.values() for place in form.paths}
    assert all(path.stat().st_size for path in paths.files)


@pytest.mark.parametrize("name", NAMED)
def test_a_format_is_documented_and_its_library_is_an_extra(name: str) -> None:
    assert f"| `{name}` |" in (DOCS / "reports.md").read_text("utf-8"), "add its row to docs/reports.md"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert name in extras or name not in FORMAT_MODULES, "add the extra of its library to pyproject.toml"


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_store_has_a_report_in_every_format(empty: Report, name: str) -> None:
    assert set(content(empty, name)) == set(FORMATS[name].paths)


def test_renderings_are_identical_for_any_row_order(report: Report, world_store: Path, tmp_path: Path) -> None:
    other = Report.from_frames(load_frames(shuffle(world_store, tmp_path / world_store.name, 1)))
    for name in ("csv", "json", "html"):
        assert content(other, name) == content(report, name), name


def shuffle(store: Path, to: Path, seed: int) -> Path:
    """Return a copy of a store with its rows numbered in another order."""
    chance = random.Random(seed)
    write_store(to, {})
    with sqlite3.connect(store) as source, sqlite3.connect(to) as target:
        source.row_factory = sqlite3.Row
        numbers: dict[str, dict[int, int]] = {}
        for table, key in (("run", None),
                           ("ark", "ark_id"), ("document", "document_id"), ("finding", "finding_id"),
                           ("mention", "mention_id"), ("observation", "observation_id"),
                           ("verdict", "verdict_id")):  # fmt: skip
            rows = [dict(row) for row in source.execute(f"SELECT * FROM {table}")]
            if key is not None:
                given = [row[key] for row in rows]
                numbers[key] = dict(zip(given, chance.sample(given, len(given)), strict=True))
            for row in rows:
                for name, known in numbers.items():
                    if row.get(name) is not None:
                        row[name] = known[row[name]]
                places = ", ".join("?" for _ in row)
                target.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))
    return to


# -- JSON


def test_the_json_keeps_to_the_published_schema(report: Report, empty: Report) -> None:
    published = json.loads((DOCS / "report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    validator = jsonschema.Draft202012Validator(published, format_checker=jsonschema.FormatChecker())
    for each in (report, empty):
        validator.validate(json.loads(text_of(each, "json")))


def test_a_cell_of_the_wrong_type_would_be_noticed(report: Report) -> None:
    published = json.loads((DOCS / "report.schema.json").read_text("utf-8"))
    told = json.loads(text_of(report, "json"))
    told["tables"]["naans"]["rows"][0]["arks"] = "two"
    with pytest.raises(jsonschema.ValidationError, match="'two'"):
        jsonschema.validate(told, published)


def test_the_json_holds_every_row_as_it_is(report: Report) -> None:
    told = json.loads(text_of(report, "json"))
    naans = told["tables"]["naans"]["rows"]
    assert naans[0]["organization"] == "Bibliothèque nationale de France"
    assert naans[1]["share_works"] is None
    assert told["tables"]["hosts"]["rows"][0]["first_at"] == "2026-11-20T10:00:00.123Z"
    assert {name: len(table["rows"]) for name, table in told["tables"].items()} == {
        name: len(table) for name, table in report.tables.items()
    }


# -- Markdown


def test_the_markdown_is_tables_that_a_reader_of_markdown_sees_as_such(report: Report) -> None:
    text = markdown(report)
    html = markdown_it.MarkdownIt("commonmark").enable("table").render(text)
    tables = pd.read_html(io.StringIO(html))
    assert "# Which ARKs persist? https://library.example/guide.html, 2026-11-20" in text.splitlines()
    assert any("unknown-naan" in table.astype("str").to_numpy() for table in tables)
    assert "<script" not in html.replace("&lt;script", "")


@pytest.mark.parametrize("evil", ["a|b", "`", "``x`", "![x](http://evil.example/)", "@everyone #1", "<img src=x>"])
def test_web_text_is_code_in_markdown(evil: str) -> None:
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    html = parser.render(f"| a |\n|---|\n| {_cell(evil, Column('document', ColumnType.URL, ''), ENGLISH)} |\n")
    [cell] = pd.read_html(io.StringIO(html))[0]["a"]
    assert cell.strip() == evil.strip()
    assert "<code>" in html
    assert "<img" not in html


def test_partial_report_names_its_selection(report: Report) -> None:
    part = Report(report.frames, report.tables, Choice(naans=("12148",)))
    assert "A part of the audit: `NAAN 12148`." in markdown(part)


# -- XLSX and Parquet


@pytest.fixture(scope="module")
def book(report: Report) -> Any:
    [data] = content(report, "xlsx").values()
    return openpyxl.load_workbook(io.BytesIO(data))


def test_the_workbook_has_a_sheet_a_table_with_a_header_that_stays_and_filters(book: Any) -> None:
    assert book.sheetnames == [table.name for table in TABLES]
    for sheet, table in zip(book.worksheets, TABLES, strict=True):
        assert sheet.freeze_panes == "B2"
        assert sheet.auto_filter.ref.startswith("A1:")
        assert [cell.comment.text.strip() for cell in sheet[1]] == [
            f"{column.meaning}{f' ({column.unit})' if column.unit else ''}" for column in table.columns
        ]


def test_no_cell_of_the_workbook_is_a_formula_or_a_link(book: Any, report: Report) -> None:
    for sheet in book.worksheets:
        assert not [cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f" or cell.hyperlink]
    titles = [row[1].value for row in book["documents"].iter_rows(min_row=2)]
    assert '=HYPERLINK("http://evil.example/")' in titles


def test_workbook_equals_the_tables(book: Any, report: Report) -> None:
    rows = [tuple(cell.value for cell in row) for row in book["naans"].iter_rows(min_row=2)]
    assert rows == list(rows_of(report.tables["naans"]))
    at = list(report.tables["hosts"].columns).index("first_at")
    assert next(book["hosts"].iter_rows(min_row=2))[at].is_date


def test_oversized_cell_text_is_cut_with_a_remark(report: Report) -> None:
    long = report.tables["documents"].assign(findings="x" * (LONGEST_CELL + 1))
    cut = Report(report.frames, {**report.tables, "documents": long})
    [data] = content(cut, "xlsx").values()
    [*_, last] = next(openpyxl.load_workbook(io.BytesIO(data))["documents"].iter_rows(min_row=2, max_row=2))
    value = last.value
    assert len(value) <= LONGEST_CELL
    assert value.endswith("(cut)")


def test_parquet_has_the_types_and_meanings_of_the_definitions(report: Report) -> None:
    files = content(report, "parquet")
    for table in TABLES:
        read = pq.read_table(io.BytesIO(files[f"parquet/{table.name}.parquet"]))
        assert read.column_names == [column.name for column in table.columns]
        assert read.num_rows == len(report.tables[table.name])
        for column, field in zip(table.columns, read.schema, strict=True):
            assert field.metadata[b"meaning"].decode() == column.meaning
            if column.type is ColumnType.COUNT:
                assert str(field.type) == "int64"
    naans = pq.read_table(io.BytesIO(files["parquet/naans.parquet"])).to_pylist()
    assert naans[0]["organization"] == "Bibliothèque nationale de France"


# -- CI


def test_junit_is_of_the_shape_that_ci_services_read(report: Report, empty: Report) -> None:
    shape = lxml.etree.XMLSchema(lxml.etree.parse(str(HERE / "fixtures" / "junit.xsd")))
    for each in (report, empty):
        shape.assertValid(lxml.etree.fromstring(text_of(each, "junit").encode()))


def test_junit_separates_failures_errors_and_skipped(report: Report) -> None:
    root = ElementTree.fromstring(text_of(report, "junit"))
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {GUIDE, LIST}
    assert {name: suites[LIST].get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "2", "errors": "0", "skipped": "1",
    }  # fmt: skip
    assert {name: suites[GUIDE].get(name) for name in ("failures", "errors")} == {"failures": "1", "errors": "1"}
    assert root.get("tests") == "11"
    [failure] = [case for case in suites[GUIDE] if case.find("failure") is not None]
    assert failure.get("name") == f"ark:53355/cl010120339 at {MUSEUM}"
    assert "[U+202E]" in (failure.findtext("failure") or "")


def test_sarif_keeps_to_its_schema(report: Report, empty: Report) -> None:
    published = json.loads((HERE / "vendor" / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))
    for each in (report, empty):
        jsonschema.validate(json.loads(text_of(each, "sarif")), published)


def test_sarif_has_a_result_for_each_place_to_correct(report: Report) -> None:
    [run] = json.loads(text_of(report, "sarif"))["runs"]
    failures = report.tables["failures"]
    assert [result["ruleId"] for result in run["results"]] == failures["cause"].tolist()
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    [moved] = [result for result in run["results"] if result["ruleId"] == "refused-here"]
    assert moved["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == LIST
    assert moved["properties"]["should_be"] in moved["message"]["text"]
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == len(run["results"])
