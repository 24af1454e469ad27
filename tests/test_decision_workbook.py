"""Decisions in the workbook of a report: written as a sheet, edited by people and programs, and read back."""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from arkaudit.commands.triage_command import triage
from arkaudit.upkeep.decision_workbook import read_decisions
from crawler.history.triage import TriageAction, TriageDecision, TriageTarget
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from reports.exports import write_report
from reports.formats.decision_sheet import HEADINGS, SheetDecision
from reports.store.frames import load_frames
from reports.tables.report_tables import Report
from tests.libreoffice import convert
from tests.test_history import audit, moment

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
#: The ARKs of the store, which fail. One has leading zeros in its name.
ARKS = [f"ark:12x45/{name}" for name in ("0012", "b2", "c3", "d4")]
GUIDE = "https://library.example/guide.html"
PLACES = {name: place for place, name in enumerate(HEADINGS, start=1)}


@pytest.fixture(scope="module")
def store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decisions") / "audit.db"
    urls = [f"https://a.example/{ark}" for ark in ARKS]
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: " ; ".join(urls)}, answers=dict.fromkeys(urls, 404))
    return path


@pytest.fixture(scope="module")
def workbook(store_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = Report.from_frames(load_frames(store_file))
    return write_report(report, tmp_path_factory.mktemp("report"), ["xlsx"]).files[0]


def edit(workbook: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """Return a copy of the workbook whose sheet of decisions was changed."""
    book = openpyxl.load_workbook(workbook)
    change(book["decisions"])
    book.save(folder / "report.xlsx")
    return folder / "report.xlsx"


def fill(sheet: Any, row: int, **values: Any) -> None:
    for name, value in values.items():
        sheet.cell(row, PLACES[name]).value = value


def decided(sheet: Any) -> None:
    """Fill in one decision of each kind."""
    fill(sheet, 2, decision="keep", remark="007")
    fill(sheet, 3, decision="Replace ", remark="=1+1")
    sheet.cell(3, PLACES["remark"]).data_type = "s"
    fill(sheet, 4, decision="ignore", until=date(2027, 1, 31), remark="moves")


def assert_decided(decisions: tuple[TriageDecision, ...]) -> None:
    acknowledge, ignore = TriageAction.ACKNOWLEDGE, TriageAction.IGNORE
    assert [(each.action, each.kind, each.target, each.reason, each.until) for each in decisions] == [
        (acknowledge, TriageTarget.ARK, ARKS[0], "007", None),
        (acknowledge, TriageTarget.ARK, ARKS[1], "to be replaced: =1+1", None),
        (ignore, TriageTarget.ARK, ARKS[2], "moves", date(2027, 1, 31)),
    ]


def test_decisions_are_read_back(workbook: Path, tmp_path: Path) -> None:
    content = read_decisions(edit(workbook, tmp_path, decided), now=NOW)
    assert_decided(content.decisions)
    assert content.remarks == ()
    assert read_decisions(workbook, now=NOW).decisions == (), "nobody has decided anything"
    sheet = openpyxl.load_workbook(workbook)["decisions"]
    [validation] = sheet.data_validations.dataValidation
    assert validation.formula1 == f'"{",".join(SheetDecision)}"'
    assert f"{validation.sqref}" == "I2:I5"


def test_decisions_survive_libreoffice_if_it_is_installed(workbook: Path, tmp_path: Path) -> None:
    given = edit(workbook, tmp_path, decided)
    saved = given
    for form in ("ods", "xlsx"):
        saved = convert(saved, form, tmp_path / form) or saved
    content = read_decisions(saved, now=NOW)
    assert_decided(content.decisions)
    assert content.decisions == read_decisions(given, now=NOW).decisions, "the moments are the same"


def delete_column(sheet: Any) -> None:
    sheet.delete_cols(PLACES["remark"])


def set_cells(**values: Any) -> Callable[[Any], None]:
    return lambda sheet: fill(sheet, 2, **values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sheet: fill(sheet, 1, decision="Decisions"), "has no column 'decision'; did you mean 'decisions'?"),
        (delete_column, "has no column 'remark'"),
        (lambda sheet: fill(sheet, 1, cause="Decision"), "has two columns 'decision'"),
        (lambda sheet: setattr(sheet, "title", "Sheet1"), "has no sheet 'decisions'; it has: Sheet1, summary"),
        (set_cells(decision="kep"), "row 2: there is no decision 'kep'; did you mean 'keep'?"),
        (set_cells(decision="?"), "there is no decision '?'; write keep, replace, ignore or nothing"),
        (set_cells(decision="ignore", remark="x"), "row 2: ignore needs a day in 'until' and a remark"),
        (set_cells(decision="ignore", until=date(2027, 1, 1)), "ignore needs a day in 'until' and a remark"),
        (set_cells(decision="ignore", until="1.2.2027", remark="x"), "'1.2.2027' is no day: write it as 2027-01-31"),
        (set_cells(decision="ignore", until=44000, remark="x"), "44000 is no day"),
        (set_cells(decision="ignore", until="2026-12-01", remark="x"), "2026-12-01 is not in the future"),
        (set_cells(decision="keep", until="2027-01-01"), "keep has no day: delete 2027-01-01, or write ignore"),
        (set_cells(decision="keep", remark="=1+1"), "row 2: remark is a formula: write its value instead"),
        (set_cells(decision="keep", ark="a note"), "'a note' is not an ARK"),
        (set_cells(decision="keep", checked_at="soon"), "checked at is no moment; take the row from a new report"),
    ],
)
def test_mistake_in_the_workbook_is_one_line(
    workbook: Path, tmp_path: Path, change: Callable[[Any], None], words: str
) -> None:
    with pytest.raises(UserMistake) as raised:
        read_decisions(edit(workbook, tmp_path, change), now=NOW)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def copy_row(sheet: Any) -> None:
    decided(sheet)
    sheet.append([cell.value for cell in sheet[2]])


def test_rows_may_be_sorted_deleted_and_doubled(workbook: Path, tmp_path: Path) -> None:
    def change(sheet: Any) -> None:
        copy_row(sheet)
        fill(sheet, 5, remark="ask Anna")
        sheet.delete_rows(4)

    content = read_decisions(edit(workbook, tmp_path, change), now=NOW)
    assert [each.target for each in content.decisions] == ARKS[:2]
    assert [remark.partition("report.xlsx")[2] for remark in content.remarks] == [
        ", row 4: no decision, so its remark is left out",
        ", row 5: repeats row 2",
        ": 1 of 4 rows are missing (3); nothing is decided about them",
    ]

    def contradict(sheet: Any) -> None:
        copy_row(sheet)
        fill(sheet, 6, decision="replace")

    with pytest.raises(UserMistake, match="row 6: another decision about ark:12x45/0012 than in row 2"):
        read_decisions(edit(workbook, tmp_path, contradict), now=NOW)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"a,b\n", None])
def test_other_files_are_no_workbooks(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "report.xlsx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserMistake, match=r"is not an Excel workbook|can't be read"):
        read_decisions(path, now=NOW)


def test_damaged_workbook_is_one_line(workbook: Path, tmp_path: Path) -> None:
    data = bytearray(workbook.read_bytes())
    at = data.index(b"xl/workbook.xml") + 40
    data[at : at + 99] = b"\xff" * 99
    (tmp_path / "report.xlsx").write_bytes(data)
    with pytest.raises(UserMistake, match=r"is not an Excel workbook, or it is damaged: .*decompressing"):
        read_decisions(tmp_path / "report.xlsx", now=NOW)


def test_command_imports_decisions_about_the_state_of_the_workbook(
    store_file: Path, workbook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copy(store_file, tmp_path / "audit.db")
    urls = [f"https://a.example/{ark}" for ark in ARKS]
    with Store.open(copy) as store:
        for day in (4, 9):
            run_id = audit(store, day, documents={GUIDE: " ; ".join(urls)}, answers=dict.fromkeys(urls, 404))
    arguments = ["import", str(edit(workbook, tmp_path, set_cells(decision="keep"))), "--store", str(copy)]
    triage.main(arguments, standalone_mode=False)
    assert "1 decision of" in capsys.readouterr().err
    with Store.open(copy) as store:
        [(_, url), state] = store.triaged_arks(run_id).popitem()
        assert (url, state.is_known) == (urls[0], False), "it was confirmed after the report"
        assert [each.at.isoformat(timespec="milliseconds") for each in store.decisions()] == [moment(0)]
