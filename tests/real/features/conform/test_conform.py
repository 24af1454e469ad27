"""Conformance of resolvers: one that does all, and others that break one requirement each, over real sockets."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arkaudit.features.conform.requirements import requirements
from tests.real.features.conform.conforming_resolver import ARK, GONE, HYPHENATED, NAAN, NAME, Resolver, resolver
from tests.real.interrupted import Command
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.real.waiting import wait_until
from tests.unit.features.conform.test_conform import TOGETHER

ASK = ("--ark", ARK, "--gone", f"ark:{NAAN}/{GONE}", *ON_LOOPBACK)


def outcomes(tested: Resolver, *arguments: str, ask: Sequence[str] = ASK) -> dict[str, Any]:
    words = ("conform", tested.url, *ask, *tested.options, "--format", "json", *arguments)
    done = run_command(*words)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["requirements"]}


@pytest.mark.promise
def test_a_resolver_that_does_all_passes() -> None:
    with resolver() as tested:
        rows = outcomes(tested, "--own")
    assert {row["outcome"] for row in rows.values()} == {"passes"}


def unmet(rows: dict[str, Any], *others: str) -> dict[str, list[str]]:
    """Return the reasons of rows that fail, warn, or have one of *others* as their outcome."""
    wanted = ("fails", "warns", *others)
    return {name: row["reasons"] for name, row in rows.items() if row["outcome"] in wanted}


@pytest.mark.parametrize("broken", TOGETHER)
def test_broken_requirement_fails_only_its_own_row(broken: str) -> None:
    names = broken.split()
    with resolver(*names) as tested:
        rows = outcomes(tested, *(["--own"] if broken == "rate" else []))
    level = {row.name: row.level for row in requirements()}
    expected = {name: {"MUST": "fails", "SHOULD": "warns", "MAY": "not-applicable"}[level[name]] for name in names}
    assert {name: rows[name]["outcome"] for name in names} == expected
    assert unmet(rows).keys() <= set(names), "other rows show no fault; some can no longer be judged"


@pytest.mark.parametrize("written", [f"ark:/{NAAN}/{HYPHENATED}", f"https://n2t.net/ARK:{NAAN.upper()}/{NAME}"])
def test_an_ark_is_asked_for_as_it_is_written(written: str) -> None:
    with resolver() as tested:
        rows = outcomes(tested, ask=("--ark", written, *ON_LOOPBACK))
    assert unmet(rows, "not-applicable") == {}


@pytest.mark.parametrize("only", [[], ["--only", "3"]], ids=["all", "a section"])
def test_resolver_of_one_form_of_the_label_fails_for_that_alone(only: list[str]) -> None:
    with resolver("label-forms") as tested:
        rows = outcomes(tested, *only, ask=("--ark", f"ark:/{NAAN}/{NAME}", *ON_LOOPBACK))
    assert set(unmet(rows)) == (set() if only else {"label-forms"})
    assert not unmet(rows, "not-asked").keys() - {"label-forms", "tombstone", "rate"}


def test_resolver_that_refuses_each_request_is_not_judged() -> None:
    with RawServer(lambda _: reply("403 Forbidden")) as server:
        done = run_command("conform", f"{server.url}/", "--ark", ARK, "--fail", *ON_LOOPBACK)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{server.url}/ refused each request: answered 403" in done.stderr


def test_a_resolver_that_knows_the_hyphenated_name_alone_fails_for_that_alone() -> None:
    with resolver("hyphens of stored names") as tested:
        rows = outcomes(tested, ask=("--ark", f"ark:{NAAN}/{HYPHENATED}", *ON_LOOPBACK))
    assert set(unmet(rows)) == {"hyphens"}


def test_earlier_answers_of_another_resolver_are_compared(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text(f"{ARK}\nark:{NAAN}/{GONE}\nark:{NAAN}/b7nothing\n")
    with resolver(host="old.archives.test") as old, resolver("description") as new:
        words = ("conform", new.url, "--against", old.url, "--from", names, *ON_LOOPBACK)
        done = run_command(*words, *old.options, *new.options, "--format", "json")
    rows = json.loads(done.stdout)["names"]
    assert [(row["ark"], row["subject"]) for row in rows] == [
        (ARK, "metadata"), (f"ark:{NAAN}/{GONE}", "same"), (f"ark:{NAAN}/b7nothing", "same"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param([], "127.0.0.1 is a loopback address; --allow-address", id="a private address"),
        pytest.param([*ON_LOOPBACK], "refused the connection", id="nothing listens"),
    ],
)
def test_a_resolver_that_answers_nothing_passes_no_test(options: list[str], words: str) -> None:
    url = "http://127.0.0.1:9/"
    done = run_command("conform", url, "--ark", ARK, "--fail", "--only", "5", *options)
    assert done.returncode == 3
    assert f"{url} answered nothing: " in done.stderr
    assert done.stdout == ""
    assert words in done.stderr


def test_silent_resolver_differs_from_an_answering_one() -> None:
    with resolver() as tested:
        words = ("conform", tested.url, "--against", "http://127.0.0.1:9/", "--ark", ARK, "--fail")
        done = run_command(*words, *tested.options, *ON_LOOPBACK)
    assert done.returncode == 3
    assert f"{ARK}: refused by the old resolver, 200 by the new one" in done.stderr


def test_recorded_questions_are_not_asked_again(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    with resolver() as tested:
        first = outcomes(tested, "--store", store)
        count = len(tested.asked)
        assert outcomes(tested, "--store", store, "--resume") == first
        assert len(tested.asked) == count > 30


def test_a_hundred_names_are_asked_for_also_when_the_test_is_killed_among_them(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    with resolver() as tested:
        words = ("conform", tested.url, *ASK, *tested.options, "--own", "--store", store)
        with Command(words) as running:
            wait_until(lambda: len(tested.asked) > 70, "some of the names")
            running.kill()
        rows = outcomes(tested, "--own", "--store", store, "--resume")
    assert rows["rate"]["reasons"] == ["name 100 of 100 answered 404"]


def test_each_format_has_the_share_and_the_faults(tmp_path: Path) -> None:
    with resolver("hyphens") as tested:
        words = ("conform", tested.url, *ASK, *tested.options, "--fail", "--store", tmp_path / "a.db")
        assert run_command(*words).returncode == 1
        for form in ("text", "junit", "html", "md"):
            done = run_command(*words, "--resume", "--format", form)
            assert done.returncode == 1, done.stderr
            if form != "junit":
                assert "42 of 43 requirements met" in done.stdout
            assert "A hyphen in the name makes another ARK" in done.stdout
            if form == "junit":
                ElementTree.fromstring(done.stdout)
                assert 'encoding="UTF-8"' in done.stdout, "and not the encoding of the locale"
