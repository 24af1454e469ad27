"""Baselines: a CI job fails only for problems that it has not accepted."""

from pathlib import Path
from typing import Any

import pytest

from arkaudit.output.baseline import DEFAULT_FAIL_ON, RunResults, Subject, compare, read_baseline, write_baseline
from extractors.model.errors import UserMistake
from tests.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("baselines"))
def test_only_problems_that_a_baseline_lacks_are_new(vector: dict[str, Any], tmp_path: Path) -> None:
    outcomes = {Subject(url=name): tokens[0] for name, tokens in vector["found"].items()}
    known, gone = vector.get("known", ()), vector.get("gone", ())
    raised = [(Subject(url=name), token) for name, tokens in vector["found"].items() for token in tokens]
    found = RunResults(outcomes, [(one, token) for one, token in raised if one.url not in known])
    accepted = {Subject(url=name): problem for name, problem in vector["accepted"].items()}
    fail_on = vector.get("fail_on", DEFAULT_FAIL_ON)
    done = compare(accepted, found, fail_on, lambda one: one.url in gone)
    names = {part: [one.url for one in getattr(done, part)] for part in ("new", "fixed", "open")}
    assert names == {part: vector.get(part, []) for part in names}
    if "written" in vector:
        assert [one.url for one in done.written] == vector["written"]
    write_baseline(done.written, tmp_path / "b.json")
    assert read_baseline(tmp_path / "b.json") == done.written
    assert not compare(done.written, found, fail_on, lambda _: False).new


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2, "problems": []}', '{"version": 1, "problems": [{"ark": 1, "problem": "broken"}]}',
     '{"version": 1, "problems": [{"ark": "a", "problem": "fine"}]}', '{"version": 1, "problems": [{"problem": "dns"}]}',
     '{"version": 1, "problems": [{"arc": "a", "problem": "dns"}]}', "[" * 100_000, "\udcff"],
)  # fmt: skip
def test_a_broken_baseline_is_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserMistake, match=r"is not a baseline: .+; make one by --write-baseline") as raised:
        read_baseline(file)
    assert "\n" not in str(raised.value)


def site(target: str) -> bytes:
    if target == "/":
        return reply(body="<title>Maps</title><p><a href='/ark:/12x45/a'>a</a> <a href='/ark:/12x45/gone'>gone</a>")
    return reply(body="<title>a</title>") if target.startswith("/ark:/12x45/a") else reply("404 Not Found")


@pytest.mark.promise
def test_run_check_and_extract_fail_only_for_new_problems(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("see ark:/12148/btv1b8449691w\n")
    mistyped, b = ("extract", "a.txt", "-q", "--format", "none"), ("--baseline", "b.json")

    def code(*words: str | Path) -> tuple[int, str]:
        done = run_command(*words, folder=tmp_path)
        return done.returncode, done.stderr

    assert code(*mistyped, *b) == (2, "arkaudit: b.json can't be read: No such file or directory\n")
    assert code(*mistyped, "--write-baseline", "b.json")[0] == 0
    text = (tmp_path / "b.json").read_text()
    entry = '{"document": "a.txt", "ark": "ark:/12148/btv1b8449691w", "problem": "mistyped"}'
    assert text == f'{{"version": 1, "problems": [\n{entry}\n]}}\n'
    assert code(*mistyped, *b) == (0, "")
    (tmp_path / "a.txt").write_text("see ark:/12148/btv1b8449691x\n")
    new, said = code("extract", "a.txt", "--format", "none", *b)
    assert (new, "fixed, remove it from b.json: a.txt: ark:/12148/btv1b8449691w: mistyped" in said) == (1, True)
    assert "a.txt:1: ark:/12148/btv1b8449691x: its check character is wrong" in said
    with RawServer(site) as server:
        run = ("run", f"{server.url}/", "--store", "a.db", "--no-resume", *ON_LOOPBACK)
        check = ("check", f"{server.url}/ark:/12x45/gone", f"{server.url}/ark:/12x45/lost", *ON_LOOPBACK)
        assert code(*run, "--write-baseline", "b.json")[0] == 0
        assert code(*run, *b)[0] == 0
        new, said = code(*check, *b, "-q")
        assert (new, said) == (1, f"arkaudit: new, not in b.json: {server.url}/ark:/12x45/lost: broken\n")
        (tmp_path / "b.json").write_text('{"version": 1, "problems": []}')
        assert code(*run, *b)[0] == 1
        ignore = ("triage", "ignore", "--pattern", "ark:12x45/*", "--until", "2999-01-01", "--reason", "moves")
        assert code(*ignore, "--store", "a.db")[0] == 0
        for words in (run, (*check, "--store", "a.db")):
            new, said = code(*words, *b)
            assert (new, "b.json: 0 new" in said) == (0, True), said
