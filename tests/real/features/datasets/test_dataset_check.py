"""`arkaudit check --from DATASET`: the distinct ARKs of a dataset, checked and reported like those of a crawl."""

import csv
import gzip
import io
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arkaudit.features.datasets.documents import DatasetDocuments
from arkaudit.features.datasets.passes import PARTS
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from reports.languages.display import ColumnType
from reports.tables.definitions import TableDefinition
from reports.tables.report_tables import TABLES
from tests.real.features.datasets.dataset_world import make, record, rows_in
from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, outcomes, reply, run_command

_NAMES = ("btv1b8449691v", "bpt6k107371t")


def _answer(target: str) -> bytes:
    return reply(body="<title>A map</title>") if _NAMES[0] in target else reply("404 Not Found")


def test_each_ark_of_a_dataset_is_asked_for_once(tmp_path: Path) -> None:
    with RawServer(_answer) as server:
        for number in range(3):
            broken, whole = f"{_NAMES[1][:7]}\n{_NAMES[1][7:]}", _NAMES[1]
            text = f"{server.url}/ark:/12148/{_NAMES[0]} and ark:/12148/{broken}, ark:/12148/{whole}"
            (tmp_path / f"{number}.txt").write_text(text)
        make(tmp_path / "ds", [tmp_path / f"{number}.txt" for number in range(3)], part_bytes=10)
        assert len(rows_in(tmp_path / "ds", "mentions")) == 9
        rows = check_rows("--from", tmp_path / "ds", "--resolver", server.url, "--store", tmp_path / "audit.db")
        asked = [line.split()[1] for line in server.request_lines]
    assert [row["ark"] for row in rows] == [f"ark:12148/{name}" for name in sorted(_NAMES)]
    assert outcomes(rows) == ["broken", "resolved"]
    for name in _NAMES:
        assert asked.count(f"/ark:/12148/{name}") == 1
    assert (tmp_path / "audit.db").exists()


def test_unfinished_dataset_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_command("check", "--from", tmp_path / "empty")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a finished dataset" in done.stderr
    (tmp_path / "a.txt").write_text("no ARK in it")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    done = run_command("check", "--from", tmp_path / "ds")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no ARK in" in done.stderr
    (tmp_path / "ds" / PARTS).unlink()
    done = run_command("check", "--from", tmp_path / "ds")
    assert "is not a finished dataset" in done.stderr


# -- the documents of a dataset, compared with a run over them


#: Measures of the summary that count the row about an archive itself, which a dataset doesn't have.
_COUNTS_ARCHIVES = {"documents", "documents read"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: Tables without a row for these documents.
_EMPTY = {"known", "inventory"}
_CUT = "bpt6k10888m"


@dataclass(frozen=True)
class CheckedDocuments:
    """Documents that were audited by `run`, and as a dataset."""

    folder: Path
    url: str
    check: subprocess.CompletedProcess[str]
    requests_of_run: list[str]
    requests_of_check: list[str]

    def command(self, store: str) -> tuple[str | Path, ...]:
        """Return the arguments of the check with a store."""
        at_once = ("--attempts", "1", "--resolver", self.url)
        return ("check", "--from", self.folder / "ds", "--store", self.folder / store, *at_once, *ON_LOOPBACK)

    def table(self, report: str, name: str) -> bytes:
        return (self.folder / report / "tables" / f"{name}.csv").read_bytes()

    def rows(self, report: str, definition: TableDefinition) -> list[dict[str, str]]:
        """Return the rows of a table without times and the row about an archive itself, which only a `run` has.

        Measures that count it are left out, too.
        """
        left_out = {column.name for column in definition.columns if column.varies or column.type is ColumnType.MOMENT}
        rows = csv.DictReader(io.StringIO(_DATE.sub("", self.table(report, definition.name).decode())))
        archive = f"{self.folder}/papers/web.warc.gz"
        return [
            {name: value for name, value in row.items() if name not in left_out}
            for row in rows
            if row.get("document") != archive and row.get("measure") not in _COUNTS_ARCHIVES
        ]


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckedDocuments]:
    folder = tmp_path_factory.mktemp("checked")
    with RawServer(_answer) as server:
        _write(folder / "papers", server.url)
        at_once = ("--attempts", "1", "--resolver", server.url, *ON_LOOPBACK)
        report = ("--format", "csv", "--out")
        _done("run", folder / "papers", "--store", folder / "run.db", *report, folder / "run", *at_once)
        asked = len(server.request_lines)
        _done("dataset", "make", folder / "papers", "--out", folder / "ds", "--part-size", "1")
        of_dataset = ("--from", folder / "ds", "--store", folder / "ds.db")
        check = _done("check", *of_dataset, *at_once)
        _done("report", "--store", folder / "ds.db", *report, folder / "check")
        lines = server.request_lines
        yield CheckedDocuments(folder, server.url, check, lines[:asked], lines[asked:])


def _write(papers: Path, url: str) -> None:
    """Write documents with ARKs that are whole, cut at a line end, mistyped, or examples, and archived pages."""
    papers.mkdir()
    fine, gone = _NAMES
    texts = {
        "a.txt": f"see {url}/ark:/12148/{fine} and ark:/12148/{gone[:7]}\n{gone[7:]} there, ark:12345/x5",
        "b.txt": f"ark:/12148/{gone} once, ark:/12148/{gone}x wrong; ark:/99999/fk4 and http://doi.org/ark:/12148/{gone}",
        "cut.txt": f"see ark:/76543/pf5\nb4x there, ark:/12148/{_CUT[:6]}\n    {_CUT[6:]} and ark:/76543/qq7 of it",
        "part.txt": f"{url}/ark:/12148/{fine}/f1.item",
        "item.txt": _far_below("see ark:/76543/pf5\n    b4x there", "see ark:/76543/qq8\n    gg there"),
        "whole.txt": "it is ark:/76543/pf5b4x here, ark:/76543/qq7gg as well",
        "c.html": f"<title>T</title><a href='/ark:/12148/{fine}'>x</a>",
        "none.txt": "nothing",
        "bad.pdf": "%PDF-1.4 broken",
    }
    for name, text in texts.items():
        (papers / name).write_text(text)
    pages = {
        f"{url}/x/page": f"<p><a href='../ark:/12148/{_CUT}'>x</a>",
        "http://b.example/x/y": f"<base href='{url}/sub/'><a href='a/../b/ark:/12148/{_CUT}'>x</a>",
    }
    held = (record(page, html).replace(b"text/plain", b"text/html ") for page, html in pages.items())
    (papers / "web.warc.gz").write_bytes(b"".join(map(gzip.compress, held)))


def _far_below(*items: str) -> str:
    """Return a list with *items* last: its first numbers are above the text that is kept around a mention."""
    above = "".join(f"{number}.  kept since long ago, of which it is said that\n" for number in range(1, 5))
    lines = "    the plates of it are kept in the tower and seen\n" * 60
    return above + lines + "".join(f"5.  kept in the hall and to be seen, {item}\n" for item in items)


def _done(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    done = run_command(*arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("definition", TABLES, ids=lambda definition: str(definition.name))
def test_tables_of_a_checked_dataset_are_those_of_a_run(audits: CheckedDocuments, definition: TableDefinition) -> None:
    of_check, of_run = (audits.rows(report, definition) for report in ("check", "run"))
    assert of_check == of_run
    assert of_run or definition.name in _EMPTY


def test_decisions_across_documents_are_reported_for_a_dataset(audits: CheckedDocuments) -> None:
    rows = csv.DictReader(io.StringIO(audits.table("check", "citations").decode()))
    again = {(Path(row["document"]).name, row["ark"], row["as_written"]) for row in rows if row["again"] == "true"}
    assert again == {
        ("cut.txt", "ark:76543/pf5b4x", "ark:/76543/pf5\nb4x"),
        ("item.txt", "ark:76543/pf5b4x", "ark:/76543/pf5\nb4x"),
    }


def test_all_citations_of_a_dataset_are_reported(audits: CheckedDocuments) -> None:
    rows = list(csv.DictReader(io.StringIO(audits.table("check", "citations").decode())))
    assert len(rows) == len(rows_in(audits.folder / "ds", "mentions"))


def test_dataset_check_asks_the_same_as_a_run(audits: CheckedDocuments) -> None:
    assert sorted(audits.requests_of_check) == sorted(audits.requests_of_run)


def test_ending_names_documents_that_cite_failing_arks(audits: CheckedDocuments) -> None:
    said = audits.check.stderr
    papers = audits.folder / "papers"
    assert f"ark:12148/{_NAMES[1]} fails (broken), cited in {papers}/a.txt; {papers}/b.txt\n" in said
    assert (
        f"ark:12148/{_CUT} fails (broken), cited in {papers}/cut.txt; {papers}/web.warc.gz!/{audits.url}/x/page\n"
        in said
    )


def test_a_relative_link_is_asked_for_where_it_leads(audits: CheckedDocuments) -> None:
    asked = {line.split()[1] for line in audits.requests_of_check}
    assert {f"/ark:/12148/{_CUT}", f"/sub/b/ark:/12148/{_CUT}"} <= asked
    requested = {row["requested"] for row in rows_in(audits.folder / "ds", "mentions")}
    assert {f"/ark:/12148/{_CUT}", f"{audits.url}/sub/b/ark:/12148/{_CUT}"} <= requested


def test_report_names_the_checked_dataset(audits: CheckedDocuments) -> None:
    done = _done("report", "--store", audits.folder / "ds.db", "--format", "md", "--out", "-")
    assert f"Audit of {audits.folder / 'ds'}: run 1 (check)" in done.stdout


def test_a_check_that_was_killed_while_it_took_documents_goes_on(audits: CheckedDocuments) -> None:
    with Store.open(audits.folder / "ds.db") as store:
        [done] = store.runs("check")
    with Store.open(audits.folder / "killed.db") as store:
        begun = {"command": "check", "at": done.started_at, "version": "0", "resolver": audits.url, "user_agent": ""}
        run_id = store.begin_run(**begun, seeds=[str(audits.folder / "ds")], plan=done.plan)  # type: ignore[arg-type]
        records = list(DatasetDocuments.at(str(audits.folder / "ds")).records(audits.url))
        store.record(run_id, records[:3])
    again = _done(*audits.command("killed.db"))
    assert f"resuming run {run_id}" in again.stderr
    _done("report", "--store", audits.folder / "killed.db", "--format", "csv", "--out", audits.folder / "killed")
    for name in ("citations", "documents"):
        assert audits.table("killed", name) == audits.table("check", name)


def test_finished_check_repeats_its_output(audits: CheckedDocuments) -> None:
    again = _done(*audits.command("ds.db"), "--resume")
    assert "no requests are left" in again.stderr
    assert again.stdout == audits.check.stdout
    faults = [line for line in audits.check.stderr.splitlines() if " fails " in line]
    assert [line for line in again.stderr.splitlines() if " fails " in line] == faults


def flip_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_bytes(b"no Parquet"), flip_bit], ids=["gone", "no Parquet", "bit"]
)
def test_damaged_dataset_is_one_line(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    [mentions] = (tmp_path / "ds" / "mentions").iterdir()
    damage(mentions)
    check = ["check", "--from", tmp_path / "ds", *ON_LOOPBACK]
    for command in (check, [*check, "--dry-run"]):
        done = run_command(*command)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"can't be read: mentions/{mentions.name}: " in done.stderr


#: Cells that arkaudit never writes, by their column.
_FOREIGN = {"role": "x", "decided": 7, "confidence": "x", "ark": "nothing", "spelling": ["x"], "spans": [[1]]}


def dataset_with(folder: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> DatasetDocuments:
    """Return a dataset of one ARK with the rows of *table* changed."""
    (folder / "a.txt").write_text("ark:/12148/btv1b8449691v")
    make(folder / "ds", [folder / "a.txt"])
    [path] = (folder / "ds" / table).iterdir()
    pq.write_table(change(pq.read_table(path)), path)
    return DatasetDocuments.at(str(folder / "ds"))


@pytest.mark.parametrize("column", [*_FOREIGN, "outcome"])
def test_dataset_with_foreign_values_is_one_line(tmp_path: Path, column: str) -> None:
    def change(rows: pa.Table) -> pa.Table:
        field = rows.schema.field(column)
        cells = pa.array([_FOREIGN.get(column, "x")] * rows.num_rows, field.type)
        return rows.set_column(rows.schema.get_field_index(column), field, cells)

    dataset = dataset_with(tmp_path, "documents" if column == "outcome" else "mentions", change)
    with pytest.raises(UserMistake, match="can't be read: "):
        list(dataset.records("https://r.example/"))
    if column == "ark":
        with pytest.raises(UserMistake, match="can't be read: "):
            dataset.targets("https://r.example/")


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.drop_columns("ark"),
        lambda rows: rows.set_column(rows.schema.get_field_index("page"), "page", pa.array(["x"], pa.string())),
    ],
    ids=["without", "of another type"],
)
def test_dataset_with_other_columns_is_one_line(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    with pytest.raises(UserMistake, match="can't be read: mentions/"):
        list(dataset_with(tmp_path, "mentions", change).records("https://r.example/"))


@pytest.mark.parametrize("content", [b"\xff\x00", b"../../a", b"[" * 1_000])
def test_malformed_list_of_parts_is_a_mistake(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    (tmp_path / "ds" / PARTS).write_bytes(content)
    done = run_command("check", "--from", tmp_path / "ds", "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "can't be read: " in done.stderr


def test_a_dataset_is_checked_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    done = run_command("check", "ark:12148/x5", "--from", tmp_path / "ds")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is checked alone" in done.stderr
