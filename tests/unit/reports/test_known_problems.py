"""The list of known problems: its rows and its file."""

import csv
import io
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import Problem
from extractors.model.errors import UserMistake
from reports.languages.display import FORMULA
from reports.store.known_problems import (
    COLUMNS,
    STATES,
    KnownFile,
    KnownProblems,
    addition,
    read_known,
    read_known_file,
    rows_to_add,
    selection_of,
    stale_rows,
)
from tests.real.loopback import read_csv
from tests.vectors import vectors

TODAY = date(2026, 11, 28)

HEADINGS = ",".join(COLUMNS)


def known_of(rows: list[str], folder: Path) -> KnownProblems:
    path = folder / "k.csv"
    path.write_text("\n".join((HEADINGS, *rows)), "utf-8")
    return read_known(path)


def problem_of(values: dict[str, Any]) -> Problem:
    hosts, documents = frozenset(values.get("hosts", ())), tuple(values.get("documents", ()))
    return Problem(values["outcome"], values.get("ark", ""), hosts, documents)


@pytest.mark.parametrize("vector", vectors("known_problems"))
def test_rows_accept_what_they_name_until_it_gets_worse(vector: dict[str, Any], tmp_path: Path) -> None:
    known, problem = known_of(vector["rows"], tmp_path), problem_of(vector["problem"])
    accepting = known.accepting(problem, TODAY)
    assert known.accepts(problem, TODAY) is vector["known"]
    assert sorted(name for name in accepting if name is not None) == vector.get("in", [])
    if "line" in vector:
        assert accepting[None].line == vector["line"]
    if "stale" in vector:
        assert {str(row.line): words for row, words in stale_rows(known, [problem], TODAY)} == vector["stale"]


@pytest.mark.parametrize("vector", vectors("known_files"))
def test_lists_are_read_as_spreadsheets_save_them(vector: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_bytes(vector["text"].encode())
    if "fault" in vector:
        with pytest.raises(UserMistake) as raised:
            read_known(tmp_path / "k.csv")
        assert str(raised.value).removeprefix(f"{tmp_path}/").startswith(vector["fault"])
        assert "\n" not in str(raised.value)
        return
    [row] = read_known(tmp_path / "k.csv").rows
    until = str(row.until) if row.until else None
    assert [row.what, row.state, row.reason, until, row.who] == vector["row"]


def test_every_row_is_over_or_matches_or_is_named(tmp_path: Path) -> None:
    known = known_of(["ark:12148/x5,broken", "host:old.example,timeout", "document:gone.pdf,unreadable"], tmp_path)
    named = {row.line: words for row, words in stale_rows(known, [], TODAY)}
    assert named == dict.fromkeys((2, 3, 4), "matches no problem")


CELL = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(str.strip).filter(lambda text: "'" not in text)
)


@given(
    rows=st.lists(st.tuples(st.sampled_from(STATES), CELL, CELL), min_size=1, max_size=4),
    delimiter=st.sampled_from(",;\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
    is_ended=st.booleans(),
)
def test_added_rows_read_back_and_no_spreadsheet_executes_them(rows, delimiter, newline, is_ended, tmp_path_factory):
    path = tmp_path_factory.mktemp("known") / "k.csv"
    columns = ("reason", "", "what", "state", "who")
    names = ("reason", "our own", "what", "state", "who")
    before = delimiter.join(names) + newline + delimiter.join(("r", '"=1;+1"', "ark:12148/x9", "dns", "w"))
    path.write_bytes((before + newline * is_ended).encode())
    file = read_known_file(path)
    assert file.columns == columns
    values = [
        {
            "what": "document:a.pdf" if state == "unreadable" else "ark:12148/x5",
            "state": state,
            "reason": reason,
            "who": who,
        }
        for state, reason, who in rows
    ]
    added = addition(file, values, path)
    path.write_bytes(path.read_bytes() + added.encode())
    assert path.read_bytes().startswith(before.encode())
    first, *read = read_known(path).rows
    assert (first.what, first.reason, first.who) == ("ark:12148/x9", "r", "w")
    assert [(row.state, row.reason, row.who) for row in read] == rows
    import regex

    for cells in csv.reader(io.StringIO(added, newline=""), delimiter=delimiter):
        assert not any(regex.search(FORMULA, cell) for cell in cells)


def test_rows_to_add_are_what_fails_and_is_not_accepted(tmp_path: Path) -> None:
    problems = [
        Problem("broken", "ark:12148/x5", frozenset({"old.example"}), ("a.html",)),
        Problem("timeout", "ark:12148/x5", frozenset({"slow.example"}), ("a.html",)),
        Problem("blocked", "ark:12148/x6", frozenset({"old.example"}), ("a.html",)),
        Problem("dns", "ark:12148/x7", frozenset({"old.example"}), ("b.html",)),
        Problem("unreadable", documents=("c.pdf",)),
    ]
    nothing, rows = selection_of(()), rows_to_add
    every = [("ark:12148/x5", "broken"), ("ark:12148/x7", "dns"), ("document:c.pdf", "unreadable")]
    assert rows(problems, nothing, KnownProblems(), TODAY) == every
    known = known_of([f"{what},{state}" for what, state in every], tmp_path)
    assert rows(problems, nothing, known, TODAY) == [], "a second time nothing is added"
    assert all(known.accepts(problem, TODAY) for problem in problems if problem.outcome != "blocked")
    assert rows(problems, nothing, known_of(["ark:12148/x7,blocked"], tmp_path), TODAY)[1] == ("ark:12148/x7", "dns")
    assert rows(problems, selection_of(["host:OLD.example"]), KnownProblems(), TODAY) == [
        ("host:old.example", "broken")
    ]
    assert rows(problems, selection_of(["ark:/12148/x6"]), KnownProblems(), TODAY) == [("ark:12148/x6", "blocked")]
    assert rows(problems, selection_of(["ark:12148/x*"]), KnownProblems(), TODAY) == [("ark:12148/x*", "broken")]
    of_documents = selection_of(["document:a.html", "document:c"])
    found = rows(problems, of_documents, KnownProblems(), TODAY)
    assert found == [("document:a.html", "broken"), ("document:c", "unreadable")]
    assert rows(problems, of_documents, known_of([",".join(row) for row in found], tmp_path), TODAY) == []
    with pytest.raises(UserMistake, match="nothing fails that 'ark:12148/x8' matches"):
        rows(problems, selection_of(["ark:12148/x8"]), KnownProblems(), TODAY)


def test_a_reason_needs_a_column(tmp_path: Path) -> None:
    file = KnownFile("what,state\n", ("what", "state"))
    row = {"what": "ark:12148/x5", "state": "broken", "reason": "", "until": "", "who": ""}
    assert addition(file, [row], tmp_path) == "ark:12148/x5,broken\n"
    with pytest.raises(UserMistake, match="has no column reason: add it"):
        addition(file, [row | {"reason": "r"}], tmp_path)


def rows(out: Path, table: str) -> list[dict[str, str]]:
    return read_csv(out / "tables" / f"{table}.csv")
