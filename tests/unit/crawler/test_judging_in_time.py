"""An ARK that takes too long to judge is undetermined with that reason, and delays no other."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from arkaudit.features.conform import requirements
from arkaudit.features.conform.plan import NamedArk
from arkaudit.features.conform.requirements import NOT_COMPARED, RequirementOutcome, compare, results
from arkaudit.features.explain import explanation as explaining
from arkaudit.features.explain.explanation import explanation
from crawler.answers.facts import AnswerFacts
from crawler.asking import conversation
from crawler.asking.conversation import Conversation, FinishedTarget
from crawler.asking.target import QuestionToSend
from crawler.model.observations import RECORD_CHARS, VALUE_CHARS, Hop, ObjectOutcome, Observation, PageFacts, Question
from crawler.spiders.runs import RunJudge
from crawler.verdicts.answer_sets import AnswerSets
from crawler.verdicts.readings import CandidateReading
from crawler.verdicts.verdict import TOO_LONG_TO_JUDGE, judge
from extractors.model.budget import OverBudget
from tests.unit.crawler.test_conversation import RULES, target
from tests.unit.crawler.test_replaying import observation_of

ARK, URL = target("x5")


class Endless(Mapping[str, str]):
    """Values without an end, like a pattern that takes exponential time."""

    def __getitem__(self, key: str) -> str:
        while True:
            pass

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        while True:
            pass


def endless(question: Question = Question.OBJECT, url: str = URL) -> Observation:
    hop = Hop(url, "GET", "2026-11-21T10:00:00.000+00:00", 200)
    seen = observation_of(QuestionToSend(ARK, URL, question, url), (hop,), "<title>A map</title>Ink on paper")
    return replace(seen, facts=replace(seen.facts, kernel_values=Endless()))


def test_verdict_that_takes_too_long_is_undetermined() -> None:
    answer_sets = AnswerSets.from_observations([endless()])
    run_judge = RunJudge(AnswerSets.from_observations([]), None, [(ARK, URL)], {}, {})
    verdict = run_judge.verdict(run_judge.case(ARK, URL), answer_sets)
    assert verdict is not None
    assert verdict.object.outcome is ObjectOutcome.UNDETERMINED
    assert TOO_LONG_TO_JUDGE in verdict.object.evidence[0]


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (requirements, explaining):
        monkeypatch.setattr(module, "JUDGING_CPU_S", 0.2)


@pytest.mark.usefixtures("short_limit")
def test_conformance_of_other_arks_is_tested() -> None:
    answers = [endless(), endless(Question.CONTROL), endless(Question.INFO)]
    sound = [replace(each, facts=PageFacts(), request_url=f"{URL}6") for each in answers]
    alone, beside = (list(results(some)) for some in (sound, [*answers, *sound]))
    judged = (RequirementOutcome.FAILS, RequirementOutcome.WARNS, RequirementOutcome.PASSES)
    assert {each.outcome for each in alone} >= set(judged)
    assert [each for each in beside if each.outcome in judged] == [each for each in alone if each.outcome in judged]
    assert TOO_LONG_TO_JUDGE in {reason for each in results(answers) for reason in each.reasons}


@pytest.mark.usefixtures("short_limit")
def test_comparison_and_explanation_that_take_too_long_say_so() -> None:
    missing = replace(endless(), hops=(Hop(URL, "GET", "2026-11-21T10:00:00.000+00:00", 404, headers=Endless()),))
    place = URL.partition("ark:")[0]
    [row] = compare([missing], [NamedArk(ARK, URL.removeprefix(place))], old_resolver=place, new_resolver=place)
    assert (row.subject, row.new) == (NOT_COMPARED, TOO_LONG_TO_JUDGE)
    verdict = judge({Question.OBJECT: AnswerFacts.from_observation(endless().unread("x"))})
    parts = explanation(verdict, [missing])
    assert [list(part) for part in parts] == [["short"], *[["conclusion"]] * 4]
    assert "CPU time" in parts[-1]["conclusion"]


def test_conversation_ends_with_an_answer_that_takes_too_long_and_goes_on_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversation, "JUDGING_CPU_S", 0.2)
    other = target("x57")
    talk = Conversation(lambda: [(ARK, URL), other], RULES, {URL: (CandidateReading(*target("x57w")),)})
    [ask] = talk.begin(ARK, URL)
    [waiting] = talk.begin(*other)
    assert isinstance(ask, QuestionToSend)
    assert isinstance(waiting, QuestionToSend)
    [control] = talk.on_answer(endless())
    assert isinstance(control, QuestionToSend)
    assert talk.on_answer(observation_of(waiting, endless().hops, "<title>A map</title>Ink on paper")) == []
    with pytest.raises(OverBudget):
        talk.on_answer(observation_of(control, (Hop(control.url, "GET", "", 404),)))
    finished, following = talk.go_on()
    assert finished == FinishedTarget(URL)
    assert isinstance(following, QuestionToSend)
    assert following.request_url == other[1]


def test_observation_within_limits_keeps_no_long_value() -> None:
    long = "x" * (VALUE_CHARS + 1)
    seen = replace(
        endless(),
        hops=(Hop(URL, "GET", "", 200, headers={"Link": long}),),
        title=long,
        record={"erc": {f"label{number}": long for number in range(20)}},
        facts=PageFacts(arks=((long, "text"), ("ark:1/x", long)), canonical=long, headings=(long,)),
    ).within_limits()
    assert seen.hops[0].headers["Link"] == seen.title == seen.facts.headings[0] == long[:-1]
    assert seen.facts.arks == (("ark:1/x", long[:-1]),)
    assert seen.facts.canonical is None
    assert seen.record is not None
    assert sum(map(len, seen.record["erc"].values())) <= RECORD_CHARS
    assert seen.remarks == (f"only the first {RECORD_CHARS:,} characters of its record were kept",)
    assert seen.within_limits() == seen
