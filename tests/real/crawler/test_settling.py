"""Doubtful and mistyped ARKs over real sockets: which reading lives is found out, kept, and shown."""

import os
import re
import signal
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from crawler.model.observations import CitedMention, DocumentOutcome, DocumentRecord, Hop
from crawler.spiders import runs
from crawler.spiders.runs import judge_run, settle_readings
from crawler.store.store import Store
from extractors.find import find_arks
from extractors.wraps.reasons import Reason
from reports.store.frames import load_frames
from tests.real.interrupted import Command, counts, tables
from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, explained_rows, read_csv, reply, run_command, select
from tests.unit.crawler.test_history import GUIDE, events, moment, seen

HONEST = frozenset({"n3kp7w", "n4kp", "mapsbook", "h5-7w", "0002-779b6e"})
"""The names that NAAN 12x45 has; its resolver takes hyphens for part of them."""


def page(name: str) -> bytes:
    scan = zlib.crc32(name.encode())  # pages that differ by the name alone prove nothing
    return reply(body=f"<title>Sheet {name}</title><p>The harbour of {name}, with soundings. <img src='/{scan}.png'>")


def is_passed(known: str, name: str) -> bool:
    """Return True if a resolver takes *name* for a known name with something after it.

    A control is longer than the name in the letter. Its characters follow from the port of the server: one in four
    hundred begins like the known name.
    """
    return name.startswith(known) and len(name) <= len(known) + 2


def respond(target: str) -> bytes | None:
    """Answer for three authorities: an honest one, one with 200 for all, and one that passes unknown names on."""
    found = re.fullmatch(r"/(?:ark:/?)(?P<naan>12x4[4-9])/(?P<name>[^?]*)(?P<query>\?.*)?", target)
    if found is None:
        return page(target) if target == "/items/p9kp" else reply("404 Not Found")
    naan, name = found["naan"], found["name"]
    if naan == "12x45":
        return page(name) if name in HONEST else reply("404 Not Found")
    if naan == "12x46":
        return page(name) if name == "s5kp" else reply(body="<title>Page not found</title><p>It is not there.")
    if naan == "12x49":
        if name in ("t5", "t5-7w"):
            return page(name) if name == "t5-7w" else reply("404 Not Found")
        return reply("302 Found", Location=f"http://landing.example/{name}")
    if naan == "12x47":
        return reply("302 Found", Location="/items/p9kp") if is_passed("p9kp", name) else reply("404 Not Found")
    if naan == "12x44":
        return page(f"ark:/12x44/{name}") if is_passed("e5kp", name) else reply("404 Not Found")
    return reply("403 Forbidden")


#: The text in the letter, and its reading that works; None if no reading works or is certain.
WORLDS = {
    "only the longer form lives, which was likelier": ("12x45/n3kp\n7w", "12x45/n3kp7w"),
    "only the shorter form lives": ("12x45/n4kp\n7w", "12x45/n4kp"),
    "only the longer form lives, which was less likely": ("12x45/maps\nbook", "12x45/mapsbook"),
    "the resolver wants the hyphen at the line's end": ("12x45/h5-\n7w", "12x45/h5-7w"),
    "the resolver wants the other hyphens only": ("12x45/0002-779b-\n6e", "12x45/0002-779b6e"),
    "the longer form gets a soft 404": ("12x46/s5kp\n7w", "12x46/s5kp"),
    "the reading without the hyphen gets a soft 404": ("12x49/t5-\n7w", "12x49/t5-7w"),
    "surplus text is passed through": ("12x47/p9kp\n7w", "12x47/p9kp"),
    "surplus text is passed through, and repeated on the page": ("12x44/e5kp\n7w", "12x44/e5kp"),
    "none lives": ("12x45/q5kp\n7w", None),
    "it stays open": ("12x48/b5kp\n7w", None),
}


def welcome(target: str) -> bytes:
    """Answer any name with a welcome: only the answer to an impossible name shows that this is no success."""
    time.sleep(0 if target == "/t57w" else 0.5)  # and that comes last
    return reply(body="<title>Not found</title><p>Welcome to the library.")


@dataclass(frozen=True)
class Letter:
    """One audit of a letter with every world in it."""

    url: str
    store: Path
    tables: Path
    targets: list[str]
    said: str

    def mention(self, world: str) -> tuple[Any, ...]:
        """Return the last decision on the mention in a document: URL, reason, confidence, and evidence."""
        query = "select request_url, reason, confidence, decided from mention natural join document where url like ?"
        found: list[tuple[Any, ...]] = select(self.store, f"{query} order by decided", (f"%/{world}.txt",))
        return found[-1]

    def table(self, name: str) -> list[dict[str, str]]:
        return read_csv(self.tables / f"{name}.csv")


@pytest.fixture(scope="module")
def letter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Letter]:
    folder = tmp_path_factory.mktemp("letter")
    (folder / "letters").mkdir()
    with RawServer(respond) as server, RawServer(welcome) as landing:
        for world, (written, _) in WORLDS.items():
            (folder / "letters" / f"{world}.txt").write_text(f"See {server.url}/ark:/{written} and more")
        done = run_command(
            "run", *ON_LOOPBACK, f"--connect-to=landing.example:80=127.0.0.1:{landing.port}", folder / "letters",
            "--store", folder / "a.db", "--out", folder / "report",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield Letter(server.url, folder / "a.db", folder / "report" / "tables", server.targets, done.stdout)


@pytest.mark.parametrize("world", WORLDS)
def test_mention_becomes_the_working_reading(world: str, letter: Letter) -> None:
    living = WORLDS[world][1]
    url, reason, confidence, decided = letter.mention(world)
    if living is None:
        assert (reason == Reason.READING_WORKS, decided) == (False, 1)
        return
    assert (url, reason, decided) == (f"{letter.url}/ark:/{living}", Reason.READING_WORKS, 3)
    assert confidence in ("likely", "certain")


@pytest.mark.parametrize("living", [living for _, living in WORLDS.values() if living])
def test_working_reading_is_judged_in_full_and_others_are_no_arks(living: str, letter: Letter) -> None:
    rows = [row for row in letter.table("arks") if row["request_url"].endswith(f"/ark:/{living}")]
    assert [(row["object"], row["citations"]) for row in rows] == [("resolved", "1")]
    assert rows[0]["metadata"] != "not-asked"


def test_nothing_else_was_cited(letter: Letter) -> None:
    assert len(letter.table("arks")) == len(WORLDS)
    assert {row["measure"]: row["value"] for row in letter.table("summary")}["ARKs"] == str(len(WORLDS))
    assert f"of {len(WORLDS)} ARKs" in letter.said


def test_every_asked_reading_is_reported_with_its_requests(letter: Letter) -> None:
    found = select(letter.store, "select subject, kind, detail from finding")
    told = {subject: (kind, detail) for subject, kind, detail in found}
    assert told["ark:12x45/n3kp7w"] == ("settled-reading", "ark:12x45/n3kp7w works; ark:12x45/n3kp does not work")
    assert told["ark:12x45/n4kp7w"] == ("settled-reading", "ark:12x45/n4kp works; ark:12x45/n4kp7w does not work")
    assert told["ark:12x45/h57w"][1].startswith("ark:12x45/h5-7w works; ark:12x45/h57w does not work")
    assert "the resolver ignores the extra characters" in told["ark:12x47/p9kp7w"][1]
    assert told["ark:12x46/s5kp7w"][1] == "ark:12x46/s5kp works; ark:12x46/s5kp7w does not work"
    assert told["ark:12x45/q5kp7w"][0] == "unsettled-reading"
    assert "ark:12x48/b5kp7w" not in told, "one answer settles nothing"
    [remarks] = [row["remarks"] for row in letter.table("arks") if row["ark"] == "ark:12x45/q5kp7w"]
    assert "unsettled-reading: " in remarks
    requested = set(load_frames(letter.store).hops["url"])
    for name in ("12x45/n4kp7w", "12x45/n4kp", "12x46/s5kp7w", "12x45/h57w", "12x45/h5-7w"):
        assert f"{letter.url}/ark:/{name}" in requested


def test_no_reading_costs_more_than_its_questions(letter: Letter) -> None:
    objects = [target for target in letter.targets if "?" not in target and "/ark:/12x45/q5kp" in target]
    assert sorted(objects) == ["/ark:/12x45/q5kp", "/ark:/12x45/q5kp7w"]
    assert not [target for target in letter.targets if target.endswith("/ark:/12x48/b5kp")]


def test_settling_twice_changes_nothing(letter: Letter) -> None:
    mentions = "select * from mention order by mention_id"
    before = select(letter.store, mentions)
    with Store.open(letter.store) as store:
        settle_readings(store, 1)
    assert select(letter.store, mentions) == before


# -- mistyped ARKs

#: The rows of a check, its store, and the request targets.
Mistyped = tuple[list[dict[str, Any]], Path, list[str]]


@pytest.fixture(scope="module")
def mistyped_output(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mistyped]:
    """Return the explained rows of a check of a correct ARK and two mistyped ones, one close to a working ARK."""

    def known(target: str) -> bytes:
        name = next((name for name in ("btv1b8449691v", "cb11954832z") if name in target), None)
        return page(name) if name else reply("404 Not Found")

    store = tmp_path_factory.mktemp("mistyped") / "a.db"
    with RawServer(known) as server:
        # btv1b8449961v is btv1b8449691v with two characters swapped; nothing that lives is near bpt6k1073711.
        names = ("btv1b8449961v", "bpt6k1073711", "cb11954832z")
        urls = [f"{server.url}/ark:/12148/{name}" for name in names]
        check_rows("--store", store, *urls)
        explained = explained_rows(store, urls)
        yield [explained[url] for url in urls], store, server.targets


def test_working_neighbour_is_suggested_with_reasons(mistyped_output: Mistyped) -> None:
    [row, other, alive], _, _ = mistyped_output
    assert row["object"]["outcome"] == "broken"
    assert row["did_you_mean"]["ark"] == "ark:12148/btv1b8449691v"
    assert row["did_you_mean"]["url"] in row["rests_on"]
    assert any("answered 200" in words for words in row["did_you_mean"]["evidence"])
    assert (other["object"]["outcome"], other["did_you_mean"]) == ("broken", None)
    assert (alive["object"]["outcome"], alive["did_you_mean"]) == ("resolved", None)


def test_the_explanation_shows_the_question_and_asks_did_you_mean(mistyped_output: Mistyped) -> None:
    told = mistyped_output[0][0]["explanation"]
    steps = {step["url"]: step for step in told if "asked" in step}
    [url] = [url for url in steps if url.endswith("/btv1b8449691v")]
    assert "may have been meant" in steps[url]["asked"]
    assert any(each.get("conclusion", "").startswith("Did you mean ark:12148/btv1b8449691v?") for each in told)


def test_the_table_for_people_asks_it_too() -> None:
    def known(target: str) -> bytes:
        return page("7") if "btv1b8449691v" in target else reply("404 Not Found")

    with RawServer(known) as server:
        done = run_command(
            "check", *ON_LOOPBACK, "--format", "table", f"{server.url}/ark:/12148/btv1b8449961v", COLUMNS="400"
        )
    assert "did you mean ark:12148/btv1b8449691v?" in done.stdout


def test_a_suggestion_is_asked_for_its_object_alone_and_not_many_are(mistyped_output: Mistyped) -> None:
    targets = mistyped_output[2]
    assert [target for target in targets if "btv1b8449691v" in target] == ["/ark:/12148/btv1b8449691v"]
    guesses = {target for target in targets if "bpt6k" in target and "?" not in target}
    assert len(guesses - {"/ark:/12148/bpt6k1073711", "/ark:12148/bpt6k1073711"}) <= 2


def test_the_report_lists_what_was_probably_meant(mistyped_output: Mistyped, tmp_path: Path) -> None:
    done = run_command("report", "--store", mistyped_output[1], "--out", tmp_path, "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = read_csv(tmp_path / "tables" / "arks.csv")
    meant = {row["ark"]: row["did_you_mean"] for row in rows}
    assert meant["ark:12148/btv1b8449961v"] == "ark:12148/btv1b8449691v"
    assert [row["ark"] for row in rows if "did-you-mean: " in row["remarks"]] == ["ark:12148/btv1b8449961v"]
    assert len(rows) == 3


# -- killed at the end of a run, while conclusions are drawn from the answers


def killed_after(function: str) -> None:
    """Let this process be killed, as by a power cut, as soon as a function of `runs` is done."""
    original = getattr(runs, function)

    def killed(*arguments: Any, **named: Any) -> None:
        original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(runs, function, killed)


class Letters(NamedTuple):
    """A run over letters that nothing disturbed."""

    command: list[str | Path]
    server: RawServer
    asked: list[str]
    counts: dict[str, int]
    tables: dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Letters]:
    folder = tmp_path_factory.mktemp("undisturbed")
    for world, (written, _) in WORLDS.items():  # but for the one of two hosts: who answers first may differ there
        if "12x49" in written:
            continue
        (folder / f"{world}.txt").write_text(f"See http://r.example/ark:/{written} and more")
    with RawServer(respond) as server:
        route = f"--connect-to=r.example:80=127.0.0.1:{server.port}"
        command: list[str | Path] = ["run", *ON_LOOPBACK, route, folder]
        store = folder.with_suffix(".db")
        done = run_command(*command, "--store", store)
        assert done.returncode == 0, done.stderr
        yield Letters(command, server, server.targets, counts(store), tables(store))


@pytest.mark.parametrize("ending", ["decide_unresolved", "settle_readings", "judge_run"])
def test_a_run_that_is_killed_at_its_end_finds_out_the_same(ending: str, letters: Letters, tmp_path: Path) -> None:
    before = len(letters.server.targets)
    command = [*letters.command, "--store", tmp_path / "a.db"]
    with Command(command, first=partial(killed_after, ending)) as running:
        assert running.exit_code() == -signal.SIGKILL, running.errors
    done = run_command(*command)
    assert done.returncode == 0, done.stderr
    asked = letters.server.targets[before:]
    assert sorted(asked) == sorted(letters.asked), "nothing is asked twice, nothing else is asked"
    assert counts(tmp_path / "a.db") == letters.counts
    found = tables(tmp_path / "a.db")
    for table, expected in letters.tables.items():
        pd.testing.assert_frame_equal(found[table], expected, obj=table)


# -- a reading that was established stays, whatever later runs hear

SHORT, LONG = "http://a.example/ark:/76543/pf5", "http://a.example/ark:/76543/pf5b4x"
DOUBTFUL = f"see {SHORT}\nb4x there"


def settled_run(store: Store, day: float, text: str, answers: dict[str, int | None], page: str = GUIDE) -> list[str]:
    """Return the URLs that a run cites after its answers have settled what is doubtful in one page."""
    about = {"version": "0", "resolver": "https://n2t.net/", "user_agent": "t", "seeds": [page]}
    run_id = store.begin_run(command="run", at=moment(day), **about)
    mentions = tuple(CitedMention(each, each.repaired) for each in find_arks(text))
    hops = (Hop(page, "GET", moment(day), 200),)
    store.record(run_id, [DocumentRecord(page, None, moment(day), DocumentOutcome.READ, hops=hops, mentions=mentions)])
    store.record(run_id, [seen(url, day, status) for url, status in answers.items()])
    settle_readings(store, run_id)
    judge_run(store, run_id, store.cited_targets(run_id))
    store.end_run(run_id, at=moment(day), state="finished")
    return [url for _, url in store.cited_targets(run_id)]


@pytest.mark.parametrize(
    ("why", "text", "answers", "cited"),
    [
        ("no reading lives now", DOUBTFUL, {SHORT: 404, LONG: 404}, SHORT),
        ("the host is silent now", DOUBTFUL, {SHORT: None, LONG: None}, SHORT),
        ("only the likelier one was asked", DOUBTFUL, {LONG: 404}, SHORT),
        ("nothing was asked", DOUBTFUL, {}, SHORT),
        ("the other one lives now", DOUBTFUL, {SHORT: 404, LONG: 200}, LONG),
        ("the document has another reading now", f"see {LONG} there", {LONG: 404}, LONG),
    ],
)
def test_an_established_reading_is_kept_until_another_lives(
    why: str, text: str, answers: dict[str, int | None], cited: str
) -> None:
    with Store.open(None) as store:
        assert settled_run(store, 0, DOUBTFUL, {SHORT: 200, LONG: 404}) == [SHORT]
        assert settled_run(store, 7, text, answers) == [cited], why
        if cited == SHORT:
            assert settled_run(store, 14, DOUBTFUL, {SHORT: 404, LONG: 404}, page=f"{GUIDE}/moved") == [SHORT]
            assert {event for _, _, event in events(store)} <= {"new", "moved"}, (
                "nothing is gone, and nothing else is new"
            )
            assert len([event for _, _, event in events(store) if event == "new"]) == 1
