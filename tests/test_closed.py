"""Collections that are meant to be closed: to be refused there is as expected, and no proof of an object by itself."""

from pathlib import Path
from typing import Any

import pytest

from arkaudit.configuration.config_files import ConfigError, load
from crawler.model.observations import Question
from crawler.verdicts.verdict import ClosedCollection, VerdictContext, closed_for, judge
from extractors.model.ark import Ark
from tests.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command
from tests.test_verdict import URL, facts

CLOSED = ClosedCollection.parse("12x45/x5", "on site only")


def judge_object(
    answer: dict[str, Any], control: dict[str, Any] | None, closed: ClosedCollection | None = CLOSED
) -> Any:
    seen = None if control is None else facts(Question.CONTROL, {"asked": URL + "zz", **control})
    answers = {Question.OBJECT: facts(Question.OBJECT, answer)}
    return judge(answers, context=VerdictContext(control=seen, closed=closed)).object


@pytest.mark.parametrize("status", [401, 403, 407, 451])
def test_a_refusal_where_others_are_not_found_shows_that_the_object_is_there(status: int) -> None:
    verdict = judge_object({"chain": [status]}, {"chain": [404]})
    assert verdict.outcome == "explained"
    assert "it belongs to a collection that is closed on purpose: on site only" in verdict.evidence
    assert judge_object({"chain": [status]}, {"chain": [404]}, None).outcome == "blocked"


def test_general_refusal_stays_blocked_and_marked_as_expected() -> None:
    verdict = judge_object({"chain": [403]}, {"chain": [403]})
    assert verdict.outcome == "blocked"
    assert "closed on purpose" in verdict.evidence[1]
    assert verdict.evidence[2].endswith("so nothing shows that the object exists")
    assert judge_object({"chain": [403]}, None).outcome == "blocked"


@pytest.mark.parametrize("answer", [{"chain": [404]}, {"chain": [429]}, {"chain": [999]}, {"end": "timeout"}])
def test_answers_without_refusal_are_judged_as_usual(answer: dict[str, Any]) -> None:
    assert judge_object(answer, {"chain": [404]}) == judge_object(answer, {"chain": [404]}, None)


def test_the_longest_beginning_counts() -> None:
    naan, shoulder = (ClosedCollection.parse("98765", "all"), ClosedCollection.parse("ark:/98765/k3", "some"))
    assert closed_for(Ark.parse("ark:98765/k3x7"), [naan, shoulder]) == shoulder
    assert closed_for(Ark.parse("ark:98765/b3x7"), [naan, shoulder]) == naan
    assert closed_for(Ark.parse("ark:98764/k3x7"), [naan, shoulder]) is None


@pytest.mark.parametrize("arks", ["", "hello world", "ark:/"])
def test_malformed_list_of_closed_arks_is_a_mistake(arks: str, tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(f"[[closed]]\narks = '{arks}'\n")
    with pytest.raises(ConfigError, match=r"closed\.0\.arks: .* is neither a NAAN nor"):
        load(tmp_path / "arkaudit.toml", {})


def test_it_is_configured_in_a_file_and_costs_a_closed_place_one_question_more(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text("[[closed]]\narks = '98765/k3'\nreason = 'in the reading room'\n")

    def respond(target: str) -> bytes:
        is_held = target.partition("?")[0].rpartition("/")[2] in ("k3x7", "k3x8", "b5y7")
        return reply("403 Forbidden") if is_held else reply("404 Not Found")

    with RawServer(respond) as server:
        arks = [f"{server.url}/ark:/98765/{name}" for name in ("k3x7", "k3x8", "k3gone", "b5y7")]
        done = run_command("check", *ON_LOOPBACK, "-c", tmp_path / "arkaudit.toml", *arks)
        assert done.returncode == 0, done.stderr
        asked = {url.rpartition("/")[2] for url in arks}
        invented = [each for each in server.targets if each.partition("?")[0].rpartition("/")[2] not in asked]
    rows = json_lines(done.stdout)
    assert [row["object"]["outcome"] for row in rows] == ["explained", "explained", "broken", "blocked"]
    assert any("in the reading room" in words for words in rows[0]["object"]["evidence"])
    controls = [target for target in invented if "ark:" in target]
    assert len(controls) == 1, "one control for each shoulder, only for ARKs that are meant to be closed"
    assert rows[1]["rests_on"] == [f"{server.url}{controls[0]}"]
