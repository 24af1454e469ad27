"""Decisions of people on known problems: their scope and duration; reports count them and raise the rest."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.config_files import ConfigError, load_audits
from arkaudit.upkeep.triage_file import load_triage, triage_text
from crawler.history.triage import (
    PARTICIPLES,
    Problem,
    TriageAction,
    TriageCheck,
    TriageDecision,
    TriageTarget,
    target_of,
    triage_effect,
)
from crawler.spiders.runs import judge_run
from crawler.store.store import Store
from extractors.model.ark import Ark
from reports.store.frames import load_frames
from reports.tables.news import news_of
from tests.loopback import ON_LOOPBACK, RawServer, check_rows, json_lines, reply, run_command
from tests.test_ark_status import BEGINNING, check, day, status_of
from tests.test_history import GUIDE, ONE, OTHER, audit, moment, seen
from tests.vectors import vectors

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
OTHER_PAGE = "http://library.example/other"


def decision(text: str) -> TriageDecision:
    """Return a decision as the vectors write it: ``ignore@1 until 40``, ``assign@2 anna``."""
    first, _, rest = text.partition(" ")
    action, _, at = first.partition("@")
    until = day(float(rest.removeprefix("until "))).date() if rest.startswith("until") else None
    return TriageDecision(
        TriageAction(action),
        TriageTarget.ARK,
        "ark:12x45/x5",
        day(float(at)),
        until=until,
        assignee=None if until else rest or None,
    )


@pytest.mark.parametrize("vector", vectors("triage"))
def test_scope_of_decisions_follows_vectors(vector: dict[str, Any]) -> None:
    checks = [check(text) for text in vector["checks"]]
    ark_status, _ = status_of(checks)
    assert ark_status is not None
    life = [TriageCheck(each.at, each.object) for each in checks]
    problem = Problem(life[-1], ark_status.state, ark_status.since, life)
    found = triage_effect(map(decision, vector["decisions"]), problem, life[-1].at.date())
    assert (PARTICIPLES[found.action] if found.action else None) == vector["treatment"], found.words
    assert vector.get("words", "") in found.words
    assert not found.words or vector.get("words") != ""
    assert found.assignee == vector.get("assignee")


@given(st.permutations(["acknowledge@1", "ignore@1 until 40", "assign@1 anna", "assign@2 bo", "acknowledge@8"]))
def test_order_of_decisions_does_not_matter(order: list[str]) -> None:
    life = [TriageCheck(day(number), check("0 broken").object) for number in (0, 3, 7, 50)]
    problem = Problem(life[-1], None, None, life)
    expected = triage_effect(map(decision, sorted(order)), problem, date(2026, 3, 1))
    assert triage_effect(map(decision, order), problem, date(2026, 3, 1)) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TriageTarget.ARK, "no ark"),
        (TriageTarget.HOST, ""),
        (TriageTarget.HOST, "*.example"),
        (TriageTarget.PATTERN, "ark:12148/x5"),
        (TriageTarget.PATTERN, "btv1*"),
        (TriageTarget.DOCUMENT, " "),
    ],
)
def test_empty_name_is_no_target(kind: TriageTarget, text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        target_of(kind, text)


# -- the file


FILE = """
[[acknowledge]]
ark = ["https://n2t.net/ark:/12148/btv1-b84", "ark:12148/x7"]

[[ignore]]
host = "old.example.org"
reason = "it moves"
until = 2027-01-01

[[assign]]
document = "https://www.example.org/theses/"
to = "anna@example.org"
at = 2026-11-01
"""


def test_a_file_is_decisions_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "triage.toml"
    path.write_text(FILE)
    told = load_triage(path, now=NOW)
    assert [(each.action, each.target, each.at, each.until, each.assignee) for each in told.decisions] == [
        ("acknowledge", "ark:12148/btv1b84", NOW, None, None),
        ("acknowledge", "ark:12148/x7", NOW, None, None),
        ("ignore", "old.example.org", NOW, date(2027, 1, 1), None),
        ("assign", "https://www.example.org/theses/", datetime(2026, 11, 1, tzinfo=UTC), None, "anna@example.org"),
    ]
    assert all(each.from_file for each in told.decisions)


def test_decisions_do_not_cover_the_future(tmp_path: Path) -> None:
    path = tmp_path / "triage.toml"
    path.write_text('[[acknowledge]]\nark = "ark:1/x5"\nat = 2026-11-22T20:00:00\n')
    assert [each.at for each in load_triage(path, now=NOW).decisions] == [NOW]


@pytest.mark.parametrize("vector", vectors("triage_mistakes"))
def test_mistake_in_the_file_names_its_entry(tmp_path: Path, vector: dict[str, Any]) -> None:
    path = tmp_path / "triage.toml"
    path.write_text(vector["text"])
    with pytest.raises(ConfigError) as told:
        load_triage(path, now=NOW)
    assert str(told.value).startswith(f"{path}: ")
    assert vector["words"] in str(told.value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(
    st.lists(
        st.tuples(st.sampled_from([*TriageAction]), TEXTS, TEXTS), unique_by=lambda told: (told[0], told[1].strip())
    )
)
def test_exported_decisions_are_read_back(tmp_path_factory: pytest.TempPathFactory, told: list[Any]) -> None:
    path = tmp_path_factory.mktemp("triage") / "triage.toml"
    made = [
        TriageDecision(
            action,
            TriageTarget.DOCUMENT,
            name.strip(),
            NOW,
            words,
            date(2027, 1, 1) if action is TriageAction.IGNORE else None,
            words if action is TriageAction.ASSIGN else None,
            from_file=True,
        )
        for action, name, words in sorted(told, key=lambda each: [*TriageAction].index(each[0]))
        if name.strip()
    ]
    path.write_text(triage_text(made), "utf-8", newline="")
    assert list(load_triage(path, now=NOW).decisions) == made


def test_reapplied_file_changes_only_removed_entries(tmp_path: Path) -> None:
    path = tmp_path / "triage.toml"
    path.write_text(FILE)
    with Store.open(tmp_path / "audit.db") as store:
        by_hand = TriageDecision(TriageAction.ACKNOWLEDGE, TriageTarget.HOST, "a.example", NOW)
        store.decide([by_hand])
        first = load_triage(path, now=NOW)
        assert store.decide_by_file(first.decisions, at=first.at) == (4, 0)
        later = load_triage(path, now=NOW + timedelta(days=9))
        assert store.decide_by_file(later.decisions, at=later.at) == (0, 0)
        assert {each.at for each in store.decisions() if each.action is TriageAction.ACKNOWLEDGE} == {NOW}
        path.write_text(FILE.replace(', "ark:12148/x7"', "").replace("it moves", "it moves in spring"))
        last = load_triage(path, now=NOW + timedelta(days=9))
        assert store.decide_by_file(last.decisions, at=last.at) == (1, 1)
        kept = store.decisions()
    assert by_hand in kept
    assert [(each.target, each.reason) for each in kept if each.action is TriageAction.IGNORE] == [
        ("old.example.org", "it moves in spring")
    ]


def test_a_named_audit_has_a_file_of_its_own(tmp_path: Path) -> None:
    config = tmp_path / "arkaudit.toml"
    config.write_text(
        'triage = "all.toml"\ninventory = "own.csv"\n[audits.theses]\ntriage = "theses.toml"\n[audits.maps]\n'
    )
    named = load_audits(config)
    assert [named[name].triage for name in (None, "theses", "maps")] == [
        tmp_path / "all.toml",
        tmp_path / "theses.toml",
        tmp_path / "all.toml",
    ]
    assert named["maps"].inventory == tmp_path / "own.csv"


# -- in a store


def state_of(store: Store, run_id: int) -> dict[str, tuple[bool, str]]:
    return {url: (each.is_known, each.whole.words) for (_, url), each in store.triaged_arks(run_id).items()}


def ignore(kind: TriageTarget, target: str, until: date = date(2026, 6, 1)) -> TriageDecision:
    return TriageDecision(TriageAction.IGNORE, kind, target_of(kind, target), BEGINNING, "it moves", until)


@pytest.mark.parametrize(
    ("kind", "target", "covered"),
    [
        (TriageTarget.ARK, "ark:/12x45/x-5", [ONE]),
        (TriageTarget.PATTERN, "ark:12x45/*", [ONE, OTHER]),
        (TriageTarget.PATTERN, f"{OTHER[:-1]}*", [OTHER]),
        (TriageTarget.HOST, "http://a.example/", [ONE]),
        (TriageTarget.DOCUMENT, GUIDE, [ONE]),
        (TriageTarget.DOCUMENT, "http://*", [ONE, OTHER]),
        (TriageTarget.DOCUMENT, "http://nowhere.example/", []),
    ],
)
def test_arks_are_meant_by_name_pattern_host_or_document(
    kind: TriageTarget, target: str, covered: Sequence[str]
) -> None:
    with Store.open(None) as store:
        store.decide([ignore(kind, target)])
        pages = {GUIDE: f"see {ONE}", OTHER_PAGE: f"see {OTHER}"}
        run_id = audit(store, 3, documents=pages, answers={ONE: 404, OTHER: 404})
        known = [url for url, (is_known, _) in state_of(store, run_id).items() if is_known]
        assert sorted(known) == sorted(covered)


def test_a_document_that_is_ignored_leaves_the_others_that_cite_the_same() -> None:
    with Store.open(None) as store:
        store.decide([ignore(TriageTarget.DOCUMENT, GUIDE)])
        pages = {GUIDE: f"see {ONE}", OTHER_PAGE: f"see {ONE}"}
        run_id = audit(store, 3, documents=pages, answers={ONE: 404, OTHER: 200})
        [treated] = store.triaged_arks(run_id).values()
        assert not treated.is_known
        assert {url: each.action for url, each in treated.in_documents.items()} == {GUIDE: "ignore", OTHER_PAGE: None}
        later = audit(store, 9, documents={GUIDE: f"see {ONE}"}, answers={ONE: 404, OTHER: 200})
        assert [each.is_known for each in store.triaged_arks(later).values()] == [True]
        alone = audit(store, 12, answers={ONE: 404, OTHER: 200}, seeds=[])
        assert [each.is_known for each in store.triaged_arks(alone).values()] == [True], "by the last run that cites it"


def test_news_count_known_problems_without_listing_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store.open(path) as store:
        pages = {GUIDE: f"see {ONE} and {OTHER}"}
        audit(store, 0, documents=pages, answers={ONE: 404, OTHER: 404})
        store.decide(
            [
                TriageDecision(TriageAction.ACKNOWLEDGE, TriageTarget.ARK, "ark:12x45/x5", day(1)),
                ignore(TriageTarget.ARK, "ark:12x45/x7"),
            ]
        )
        second = audit(store, 3, documents=pages, answers={ONE: 404, OTHER: 404})
        told = news_of(load_frames(path, run_id=second))
        assert (told.items, told.known_problems, told.triaged) == (
            (),
            0,
            "2 known: 1 acknowledged, 1 ignored until 2026-06-01.",
        )
        third = audit(store, 8, documents=pages, answers={ONE: 404, OTHER: 404})
        told = news_of(load_frames(path, run_id=third))
        assert [(item.kind, item.ark) for item in told.items] == [("confirmed", "ark:12x45/x5")], "it got worse"
        assert told.triaged == "1 known: 1 ignored until 2026-06-01."
        late = audit(store, 160, documents=pages, answers={ONE: 404, OTHER: 404})
        assert news_of(load_frames(path, run_id=late)).triaged == ""


def test_problem_after_a_decision_is_not_covered() -> None:
    with Store.open(None) as store:
        audit(store, 0, answers={ONE: 200, OTHER: 404})
        store.decide([TriageDecision(TriageAction.ACKNOWLEDGE, TriageTarget.PATTERN, "ark:12x45/*", day(3))])
        about = {"version": "0", "resolver": "https://n2t.net/", "user_agent": "t", "seeds": [GUIDE]}
        run_id = store.begin_run(command="run", at=moment(2), **about)
        store.record(run_id, [seen(ONE, 5, 404), seen(OTHER, 5, 404)])
        judge_run(store, run_id, [(Ark.parse(url), url) for url in (ONE, OTHER)])
        store.end_run(run_id, at=moment(6), state="finished")
        assert {url: is_known for url, (is_known, _) in state_of(store, run_id).items()} == {ONE: False, OTHER: True}
        assert "it worked then" in state_of(store, run_id)[ONE][1]


def test_an_ark_that_fails_at_two_urls_is_one_known_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store.open(path) as store:
        twin = ONE.replace("//", "//www.")
        pages, answers = {GUIDE: f"see {ONE} and {twin}"}, {ONE: 404, twin: 404}
        audit(store, 0, documents=pages, answers=answers)
        second = audit(store, 1, documents=pages, answers=answers)
        assert news_of(load_frames(path, run_id=second)).known_problems == 1
        store.decide([TriageDecision(TriageAction.ACKNOWLEDGE, TriageTarget.ARK, "ark:12x45/x5", day(2))])
        third = audit(store, 3, documents=pages, answers=answers)
        told = news_of(load_frames(path, run_id=third))
        assert (told.items, told.known_problems, told.triaged) == ((), 0, "1 known: 1 acknowledged.")


# -- the command


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 404, OTHER: 404})
    return path


@pytest.mark.promise
def test_the_verbs_decide_list_export_and_forget(store_path: Path) -> None:
    done = run_command("triage", "acknowledge", "ark:/12x45/x5", "--reason", "withdrawn", "--store", store_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "acknowledged: 1 ARK of" in done.stderr
    assert "1 of them with problems" in done.stderr
    for words in (
        ("ignore", "--host", "b.example", "--until", "2199-01-01", "--reason", "it moves"),
        ("assign", "--pattern", "ark:12x45/*", "--to", "anna"),
        ("recheck", "--document", GUIDE),
    ):
        assert run_command("triage", *words, "--store", store_path).returncode == 0
    rows = json.loads(run_command("triage", "list", "--format", "json", "--store", store_path).stdout)
    assert [(row["action"], row["kind"], row["arks"], row["to"]) for row in rows] == [
        ("acknowledge", "ark", 1, None),
        ("ignore", "host", 1, None),
        ("assign", "pattern", 2, "anna"),
        ("recheck", "document", 2, None),
    ]
    assert "withdrawn" in run_command("triage", "list", "--store", store_path, COLUMNS="160").stdout
    file = store_path.with_name("triage.toml")
    assert run_command("triage", "export", "--out", file, "--store", store_path).returncode == 0
    assert run_command("triage", "forget", "ark:12x45/x5", "--store", store_path).returncode == 0
    assert len(json.loads(run_command("triage", "list", "--format", "json", "--store", store_path).stdout)) == 3
    done = run_command("triage", "apply", file, "--store", store_path)
    assert (done.returncode, "4 decisions in the file" in done.stderr) == (0, True), done.stderr
    again = json.loads(run_command("triage", "list", "--format", "json", "--store", store_path).stdout)
    assert [{**row, "from_file": False} for row in again] == rows


def test_history_lists_decisions(store_path: Path) -> None:
    decide = ("triage", "ignore", "--host", "a.example", "--until", "2199-01-01", "--reason", "it moves")
    assert run_command(*decide, "--store", store_path).returncode == 0
    told = run_command("explain", "ark:12x45/x5", "--store", store_path).stdout
    assert told.count("ignored until 2199-01-01 by host a.example: it moves") == 1
    row = json.loads(run_command("explain", "ark:12x45/x7", "--store", store_path, "--format", "jsonl").stdout)
    assert row["urls"][0]["decisions"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("acknowledge",),
        ("acknowledge", "no ark"),
        ("acknowledge", "--host", "*"),
        ("ignore", "ark:1/x5", "--until", "2199-01-01"),
        ("ignore", "ark:1/x5", "--until", "2199-01-01", "--reason", " "),
        ("ignore", "ark:1/x5", "--until", "2020-01-01", "--reason", "r"),
        ("ignore", "ark:1/x5", "--until", "soon", "--reason", "r"),
        ("ignore", "ark:1/x5", "--until", f"{datetime.now(UTC):%Y-%m-%d}", "--reason", "r"),
        ("assign", "ark:1/x5"),
        ("assign", "ark:1/x5", "--to", " "),
        ("forget", "ark:1/x5"),
        ("apply", "nothing.toml"),
        ("list", "--store", "nothing.db"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_decided(store_path: Path, words: Sequence[str]) -> None:
    before = store_path.read_bytes()
    store = () if "--store" in words else ("--store", store_path)
    done = run_command("triage", *words, *store)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert store_path.read_bytes() == before


def test_requested_recheck_is_due_once_and_first(tmp_path: Path) -> None:
    store = tmp_path / "audit.db"
    with RawServer(lambda target: reply(body=f"<p>an object, {target}")) as server:
        urls = [f"{server.url}/ark:/12x45/{name}" for name in ("x5", "x7")]
        check_rows("--store", store, *urls)
        assert run_command("recheck", "--store", store, *ON_LOOPBACK).stdout == ""
        assert run_command("triage", "recheck", "ark:12x45/x7", "--store", store).returncode == 0
        done = run_command("recheck", "--store", store, *ON_LOOPBACK)
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12x45/x7"], done.stderr
        assert json.loads(run_command("triage", "list", "--format", "json", "--store", store).stdout) == []
        assert run_command("recheck", "--store", store, *ON_LOOPBACK).stdout == ""


def test_a_request_for_a_check_in_a_file_is_met_once_however_often_the_file_is_read(tmp_path: Path) -> None:
    store, config = tmp_path / "audit.db", tmp_path / "arkaudit.toml"
    config.write_text('triage = "triage.toml"\n')
    (tmp_path / "triage.toml").write_text('[[recheck]]\nark = "ark:12x45/x7"\n')
    with RawServer(lambda target: reply(body=f"<p>an object, {target}")) as server:
        check_rows("--store", store, f"{server.url}/ark:/12x45/x7")
        due = ("recheck", "--store", store, "-c", config, *ON_LOOPBACK)
        assert len(json_lines(run_command(*due).stdout)) == 1
        assert run_command(*due).stdout == ""
        (tmp_path / "triage.toml").write_text('[[recheck]]\nark = "x7"\n')
        done = run_command(*due)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert f"{tmp_path / 'triage.toml'}: recheck.0" in done.stderr
