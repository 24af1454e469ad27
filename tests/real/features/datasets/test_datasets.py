"""Datasets: the rows of `arkaudit extract`, whatever is killed, and whatever comes later."""

import gzip
import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.passes import READ
from extractors.mentions.rows import ColumnKind
from extractors.processes.worker import WorkerExecutor
from tests.real.features.datasets.dataset_world import (
    content_of,
    extracted_rows,
    make,
    parts_in,
    rows_in,
    write_documents,
)
from tests.real.loopback import run_command

P = ParamSpec("P")
R = TypeVar("R")
ROOT = Path(__file__).parents[4]


def test_rows_are_those_of_extract_over_the_corpus(tmp_path: Path) -> None:
    jobs = "2"
    documents = ROOT / "tools" / "corpus" / "dev" / "documents"
    places = [documents / name for name in ("html", "negatives")]
    places += [path for name in ("plain", "layout", "pdf") for path in sorted((documents / name).iterdir())[::8]]
    (tmp_path / "large.txt").write_text("ark:/12148/btv1b8449691v\n" + "words " * 180_000)  # for another part
    places += [tmp_path / "large.txt", ROOT / "tests" / "fixtures" / "password.pdf"]
    findings = tmp_path / "findings.jsonl"
    extracted = run_command("extract", "--jobs", jobs, "--findings", findings, *places)
    done = run_command("dataset", "make", "--workers", jobs, "--part-size", "1", "--out", tmp_path / "ds", *places)
    assert (extracted.returncode, done.returncode, done.stdout) == (0, 0, "")
    expected = [json.loads(line) for line in extracted.stdout.splitlines()]
    rows = extracted_rows(tmp_path / "ds")
    assert len(rows) > 1_000
    assert rows == sorted(expected, key=lambda row: row["document"])  # stable: the order within a document stays
    said = [json.loads(line) for line in findings.read_text().splitlines()]
    found = rows_in(tmp_path / "ds", "findings")
    keys = ("document", "kind", "detail")
    assert sorted([row[key] for key in keys] for row in found) == sorted([row[key] for key in keys] for row in said)
    documents = rows_in(tmp_path / "ds", "documents")
    assert [row["document"] for row in documents if row["outcome"] == "unreadable"] == [str(places[-1])]
    assert "1 document could not be read" in done.stderr
    assert len(parts_in(tmp_path / "ds")) > 1


def test_columns_match_the_data_dictionary(tmp_path: Path) -> None:
    make(tmp_path / "ds", write_documents(tmp_path / "papers"))
    types = {
        ColumnKind.TEXT: pa.string(),
        ColumnKind.NUMBER: pa.int32(),
        ColumnKind.LARGE_NUMBER: pa.int64(),
        ColumnKind.TEXTS: pa.list_(pa.string()),
        ColumnKind.PAIRS: pa.list_(pa.list_(pa.int32())),
    }
    for table in DATASET_TABLES:
        expected = [(column.name, types[column.kind], column.is_optional) for column in table.columns]
        for path in (tmp_path / "ds" / table.name).iterdir():
            schema = pq.read_schema(path)
            found = [(field.name, field.type, field.nullable) for field in schema]
            assert [(name, str(kind), null) for name, kind, null in found] == [
                (name, str(kind).replace("item", "element"), null) for name, kind, null in expected
            ]


def test_source_and_record_locate_a_document(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    write_documents(papers)
    make(tmp_path / "ds", sorted(papers.iterdir()))
    rows = [row for row in rows_in(tmp_path / "ds", "documents") if row["record"]]
    source = str(papers / "1-crawl.warc.gz")
    assert [(row["document"], row["source"], row["record"], row["url"]) for row in rows] == [
        (f"{source}!/http://b.example/0", source, "http://b.example/0", "http://b.example/0"),
        (f"{source}!/http://b.example/1", source, "http://b.example/1", "http://b.example/1"),
        (f"{source}!/http://b.example/0 (2)", source, "http://b.example/0 (2)", "http://b.example/0"),
    ]
    whole = [row for row in rows_in(tmp_path / "ds", "documents") if not row["record"]]
    assert whole
    assert all(row["document"] == row["source"] and row["url"] is None for row in whole)
    for table in ("documents", "mentions", "findings"):
        named = {row["document"]: (row["source"], row["record"]) for row in rows_in(tmp_path / "ds", "documents")}
        assert all(named[row["document"]] == (row["source"], row["record"]) for row in rows_in(tmp_path / "ds", table))


def test_a_process_that_ends_at_any_step_changes_nothing(tmp_path: Path) -> None:
    write_documents(tmp_path / "papers", 6)  # two parts
    command = [
        sys.executable,
        "-m",
        "tests.real.features.datasets.dataset_world",
        str(tmp_path),
        str(tmp_path / "papers"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["wrong"] == []
    assert result["steps"] > 8
    assert result["deaths"] > 5


@pytest.mark.promise
def test_new_inputs_repeat_the_second_pass_only(tmp_path: Path) -> None:
    first, second = write_documents(tmp_path / "a", seed=1), write_documents(tmp_path / "b", seed=2)
    make(tmp_path / "ds", first)
    records = {path: path.stat().st_ino for path in (tmp_path / "ds" / READ).iterdir()}
    make(tmp_path / "ds", [*second, *first])
    assert {path: path.stat().st_ino for path in records} == records
    make(tmp_path / "whole", [*first, *second])
    assert content_of(tmp_path / "ds") == content_of(tmp_path / "whole")
    for table in ("documents", "mentions", "findings"):
        assert sorted(path.stem for path in (tmp_path / "ds" / table).iterdir()) == sorted(parts_in(tmp_path / "ds"))


def test_files_of_another_attempt_go(tmp_path: Path) -> None:
    paths = write_documents(tmp_path / "papers")
    make(tmp_path / "ds", paths)
    strays = [tmp_path / "ds" / folder / "0123456789abcdef.parquet" for folder in ("mentions", "work/scratch")]
    for stray in strays:
        stray.write_bytes(b"half a fi")
    make(tmp_path / "ds", paths)
    assert not any(stray.exists() for stray in strays)


def test_a_list_names_files_and_may_be_compressed(tmp_path: Path) -> None:
    paths = write_documents(tmp_path / "papers")
    (tmp_path / "list.gz").write_bytes(gzip.compress("\n".join(map(str, [*paths, ""])).encode()))
    listed = run_command("dataset", "make", "--from", tmp_path / "list.gz", "--out", tmp_path / "ds")
    named = run_command("dataset", "make", tmp_path / "papers", "--out", tmp_path / "other")
    assert (listed.returncode, named.returncode) == (0, 0)
    assert content_of(tmp_path / "ds") == content_of(tmp_path / "other")


def test_a_dataset_in_a_folder_that_is_read_is_not_read(tmp_path: Path) -> None:
    write_documents(tmp_path)
    for _ in range(2):
        assert run_command("dataset", "make", tmp_path, "--out", tmp_path / "ds").returncode == 0
        assert all("/ds/" not in row["document"] for row in rows_in(tmp_path / "ds", "documents"))


def test_lone_surrogates_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(r'{"note": "\ud800 see ark:/12148/btv1b8449691v \udc00"}')
    make(tmp_path / "ds", [tmp_path / "a.json"])
    [row] = rows_in(tmp_path / "ds", "mentions")
    extracted = json.loads(run_command("extract", tmp_path / "a.json").stdout)
    assert row["context"] == extracted["context"].encode("utf-8", "backslashreplace").decode()


def test_each_table_has_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing here")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    assert (rows_in(tmp_path / "ds", "mentions"), rows_in(tmp_path / "ds", "findings")) == ([], [])
    assert [row["outcome"] for row in rows_in(tmp_path / "ds", "documents")] == ["read"]


def test_hidden_files_of_a_folder_are_reported(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    write_documents(papers, 3)
    (papers / ".hidden").write_text("ark:/12148/btv1b8449691v")
    done = run_command("dataset", "make", papers, "--out", tmp_path / "ds")
    assert f"{papers}: members-skipped: " in done.stderr
    assert rows_in(tmp_path / "ds", "findings") == []


def test_an_empty_folder_ends_as_it_does_without_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_command("dataset", "make", tmp_path / "empty", "--out", tmp_path / "ds")
    first, *_, last = done.stderr.splitlines()
    assert first == f"arkaudit: {tmp_path}/empty: empty: there is no file in this folder"
    assert (done.returncode, last) == (3, "arkaudit: nothing could be read")


def test_only_unreadable_input_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    done = run_command("dataset", "make", tmp_path / "a.pdf", "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "arkaudit: nothing could be read")
    assert [row["outcome"] for row in rows_in(tmp_path / "ds", "documents")] == ["unreadable"]


def _mistakes(tmp_path: Path) -> dict[str, tuple[list[str | Path], str]]:
    paper, ds = tmp_path / "a.txt", tmp_path / "ds"
    return {
        "nothing is named": (["--out", ds], "nothing to read"),
        "an empty list": ([paper, "--from", tmp_path / "empty", "--out", ds], "is empty"),
        "a list that is not there": (["--from", tmp_path / "gone", "--out", ds], "can't be read"),
        "a list that is no gzip": (["--from", tmp_path / "bad.gz", "--out", ds], "can't be read"),
        "a URL": (["https://b.example/a", "--out", ds], "not of URLs"),
        "standard input": (["-", "--out", ds], "neither"),
        "no place": ([paper], "--out"),
        "a folder with other files": ([paper, "--out", tmp_path / "full"], "is neither empty nor a dataset"),
        "a file": ([paper, "--out", paper], "is not a folder"),
        "a file that is not there": ([tmp_path / "gone", "--out", ds], "neither"),
    }


@pytest.mark.parametrize("case", _mistakes(Path()))
def test_a_mistake_is_one_line_and_nothing_is_written(tmp_path: Path, case: str) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "bad.gz").write_bytes(b"\x1f\x8b\x08no")
    other = tmp_path / "full" / "other"
    other.parent.mkdir()
    other.write_text("mine")
    arguments, said = _mistakes(tmp_path)[case]
    done = run_command("dataset", "make", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert not (tmp_path / "ds").exists()
    assert list((tmp_path / "full").rglob("*")) == [other]


def test_a_file_that_has_changed_is_read_again_and_no_other(tmp_path: Path) -> None:
    papers = write_documents(tmp_path / "papers")
    make(tmp_path / "ds", papers)
    records = {path: path.stat().st_ino for path in (tmp_path / "ds" / READ).iterdir()}
    papers[0].write_text(f"{papers[0].read_text()} and ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", papers)
    make(tmp_path / "whole", papers)
    assert content_of(tmp_path / "ds") == content_of(tmp_path / "whole")
    assert any(row["ark"] == "ark:12148/btv1b8449691v" for row in rows_in(tmp_path / "ds", "mentions"))
    [gone] = [path for path, number in records.items() if not path.exists() or path.stat().st_ino != number]
    assert len(records) > 2, gone


@pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "not named"])
def test_a_command_without_a_file_of_the_dataset_is_a_mistake(tmp_path: Path, is_removed: bool) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for name in ("a.txt", "b.txt"):
        (papers / name).write_text("see ark:/12148/btv1b8449691v")
    assert run_command("dataset", "make", papers, "--out", tmp_path / "ds").returncode == 0
    before = content_of(tmp_path / "ds")
    if is_removed:
        (papers / "b.txt").unlink()
    named = papers if is_removed else papers / "a.txt"
    done = run_command("dataset", "make", named, "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{papers / 'b.txt'} is in {tmp_path / 'ds'}, but the command does not name it" in done.stderr
    assert content_of(tmp_path / "ds") == before


def test_one_command_at_a_time_makes_a_dataset(tmp_path: Path) -> None:
    from filelock import FileLock

    (tmp_path / "a.txt").write_text("text")
    for left_by_a_kill in ("work", ".arkaudit-k2x9"):
        (tmp_path / "ds" / left_by_a_kill).mkdir(parents=True)
    with FileLock(tmp_path / "ds" / "work" / "lock"):
        done = run_command("dataset", "make", tmp_path / "a.txt", "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is being made by another command" in done.stderr
    assert run_command("dataset", "make", tmp_path / "a.txt", "--out", tmp_path / "ds").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits for files")
def test_storage_failure_is_one_line_and_resumable(tmp_path: Path) -> None:
    import resource

    chance = random.Random(1)
    arks = (f"ark:/12148/b{''.join(chance.choices('bcdfghjkmnpqrstvwxz', k=9))}" for _ in range(300))
    (tmp_path / "a.txt").write_text(" and ".join(arks))
    command = ("dataset", "make", tmp_path / "a.txt", "--out", tmp_path / "ds", "--workers", "1")
    done = run_command(*command, first=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2**13, 2**13)))
    [said] = done.stderr.splitlines()
    assert done.returncode == 3, done.stderr
    assert said.startswith("arkaudit: the dataset is not finished: OSError: ")
    assert said.endswith("; the same command resumes it")
    assert not list((tmp_path / "ds").rglob("*.parquet"))
    assert run_command(*command).returncode == 0
    assert len(rows_in(tmp_path / "ds", "mentions")) == 300


# -- damage, and foreign files


@pytest.mark.parametrize("files", ["mentions/*", "documents/*", "work/read/*"])
def test_missing_parts_are_made_again(tmp_path: Path, files: str) -> None:
    paths = write_documents(tmp_path / "papers")
    make(tmp_path / "ds", paths)
    expected = content_of(tmp_path / "ds")
    for path in sorted((tmp_path / "ds").glob(files))[:2]:
        path.unlink()
    make(tmp_path / "ds", paths)
    assert content_of(tmp_path / "ds") == expected


def test_foreign_files_stay(tmp_path: Path) -> None:
    paths = write_documents(tmp_path / "papers")
    make(tmp_path / "ds", paths)
    foreign = [tmp_path / "ds" / name for name in ("mentions/notes.txt", "work/read/mine.json", "work/scratch/draft")]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (tmp_path / "more.txt").write_text("see ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [*paths, tmp_path / "more.txt"])
    assert [path.read_text() for path in foreign] == ["mine"] * 3


def test_a_read_file_of_an_unknown_part_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("see ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    content = content_of(tmp_path / "ds")
    [path] = (tmp_path / "ds" / READ).iterdir()
    rows = pq.read_table(path)
    path.unlink()
    unknown = path.with_name("0123456789abcdef.parquet")
    pq.write_table(rows.slice(0, 0).replace_schema_metadata({"part": '{"files": 1}'}), unknown)
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    assert content_of(tmp_path / "ds") == content


class KilledWorkers(WorkerExecutor):
    """Processes that are killed at the given calls."""

    kills = 0

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        self.kills -= 1
        if self.kills >= 0:
            return super().submit(signal.raise_signal, signal.SIGKILL)  # type: ignore[arg-type]
        return super().submit(fn, *args, **kwargs)


def test_a_document_whose_process_was_killed_is_read_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "tools" / "demo" / "site" / "flood-marks.pdf", tmp_path / "a.pdf")
    with KilledWorkers(1) as killing:
        monkeypatch.setattr("arkaudit.features.datasets.passes.document_process", lambda: killing)
        killing.kills = 1
        [made] = make(tmp_path / "ds", [tmp_path / "a.pdf"])
        assert made.unreadable == 1
        assert [row["kind"] for row in rows_in(tmp_path / "ds", "findings")] == ["parser-killed"]
        [made] = make(tmp_path / "ds", [tmp_path / "a.pdf"])
    assert made.unreadable == 0
    assert len(rows_in(tmp_path / "ds", "mentions")) > 5
    assert [row["outcome"] for row in rows_in(tmp_path / "ds", "documents")] == ["read"]
