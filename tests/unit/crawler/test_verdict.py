"""The decision table: from answers to a verdict, without a network."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from crawler.answers.answer import read_answer
from crawler.answers.facts import OUTCOME_OF_END, AnswerFacts, status_outcome
from crawler.answers.metadata_facts import MetadataFacts
from crawler.answers.object_facts import ControlContrast, ObjectFacts, Signs
from crawler.answers.page_copies import page_digest
from crawler.model.observations import (
    ACCESS,
    DESCRIBED,
    FAMILY_OF,
    SEVERITY,
    ChainEnd,
    Family,
    Hop,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    Question,
    Rendering,
    Verdict,
)
from crawler.model.resolving import SUCCESSES
from crawler.verdicts.access import OBJECT_RULES, WORTH
from crawler.verdicts.commitment import COMMITMENT_RULES, CommitmentFacts
from crawler.verdicts.inflection import METADATA_RULES
from crawler.verdicts.rules import RuleTable, VerdictRule
from crawler.verdicts.verdict import WAYS, VerdictContext, judge, skipped_verdict
from extractors.model.ark import Ark
from tests.vectors import vectors

URL = "https://r.example/ark:12x45/x5"
ELSEWHERE = {
    Question.AT_GLOBAL: "https://global.example/ark:12x45/x5",
    Question.CONFIRMED: "https://global.example/ark:12x45/x5",
    Question.AT_REGISTRY: "https://registered.example/ark:12x45/x5",
}
CONTROLS = {
    "control": Question.CONTROL,
    "control_landing": Question.CONTROL_LANDING,
    "control_other": Question.CONTROL_OTHER,
    "control_info": Question.CONTROL_INFO,
    "control_rendered": Question.CONTROL_RENDERED,
}


def observation(question: Question, told: dict[str, Any], url: str = URL) -> Observation:
    """Return an observation from a vector's few words; by default one answer of 200."""
    inflection = question.value if question.value.startswith("?") else ""
    ark = Ark.parse(url)
    asked = told.get("asked", ELSEWHERE.get(question, url) + inflection)
    if "end" in told:
        hop = Hop(asked, "GET", "", None, error=told["end"], location=told.get("location"))
        return Observation(ark, url, question, asked, (hop,), ChainEnd(told["end"]), attempt=told.get("attempt", 1))
    chain = told.get("chain", [200])
    urls = told.get("urls", [asked, *(f"https://land.example/{number}" for number in range(1, len(chain)))])
    headers = told.get("headers", {})
    faults = told.get("certificates", [None] * len(chain))
    hops = tuple(
        Hop(url, "GET", "", status, headers=headers, certificate_fault=fault)
        for url, status, fault in zip(urls, chain, faults, strict=True)
    )
    body = told.get("body", "").encode(told.get("encoding", "utf-8"))
    answer = read_answer(
        body, told.get("type", "text/plain"), Ark.parse(asked.partition("?")[0]) if "ark:" in asked else None
    )
    titles = (answer.title or "", *answer.facts.headings)
    is_page = chain[-1] in SUCCESSES and told.get("complete", True)
    return Observation(
        ark, url, question, asked, hops, ChainEnd.ANSWERED,
        attempt=told.get("attempt", 1),
        media_type=told.get("type", "text/html"),
        title=told.get("title", answer.title),
        text=told.get("text", answer.text),
        body_bytes=told.get("bytes", len(body) if "body" in told else None),
        body_complete=told.get("complete", True),
        record=answer.record,
        similarity=answer.similarity,
        page_digest=page_digest(titles, answer.text or "", answer.references, urls[-1], ark) if is_page else None,
        facts=answer.facts,
        rendering=Rendering(**{"browser": "Chromium 1", **told["rendering"]}) if "rendering" in told else None,
    )  # fmt: skip


def facts(question: Question, told: dict[str, Any], url: str = URL) -> AnswerFacts:
    """Return the facts of such an observation."""
    return AnswerFacts.from_observation(observation(question, told, url))


def verdict_on(vector: dict[str, Any]) -> Verdict:
    """Return the verdict on a vector."""
    url = vector.get("url", URL)
    answers = {Question(name): facts(Question(name), told, url) for name, told in vector["answers"].items()}
    controls: dict[str, Any] = {
        name: facts(question, vector[name], url) for name, question in CONTROLS.items() if name in vector
    }
    if "control_other" in controls:
        controls["second_controls"] = [controls.pop("control_other")]
    return judge(
        answers,
        context=VerdictContext(
            **controls,
            repeated_controls=[facts(Question.CONTROL_AGAIN, told, url) for told in vector.get("controls_again", [])],
            neighbour_count=vector.get("neighbours", 0),
            copies_by_digest={
                answers[question].page_digest or "": vector[name]
                for name, question in (("copies", Question.OBJECT), ("record_copies", Question.INFO))
                if name in vector
            },
            described_arks=vector.get("described", ()),
            earlier_attempts=[observation(Question(name), told, url) for name, told in vector.get("earlier", [])],
        ),
    )


@cache
def judgements() -> tuple[dict[str, Verdict], Counter[tuple[str, str]]]:
    """Judge every vector once: its verdict by its reason, and how often each rule of each table decided."""
    decided: Counter[tuple[str, str]] = Counter()
    first_rule = RuleTable.first_rule

    def first_counted(table: RuleTable[Any, Any], facts: Any) -> VerdictRule[Any, Any]:
        rule = first_rule(table, facts)
        decided[table.title, rule.when] += 1
        return rule

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RuleTable, "first_rule", first_counted)
        return {row.values[0]["why"]: verdict_on(row.values[0]) for row in vectors("verdicts")}, decided


@pytest.mark.parametrize("vector", vectors("verdicts"))
def test_verdict(vector: dict[str, Any]) -> None:
    verdict = judgements()[0][vector["why"]]
    told = {service: getattr(verdict, service).outcome for service in ("object", "metadata", "commitment")}
    assert told == {service: vector[service] for service in told}
    assert verdict.object.evidence, "a verdict without a reason"
    words = [*verdict.object.evidence, *verdict.metadata.evidence, *verdict.commitment.evidence, *verdict.remarks]
    assert [each for each in vector.get("says", []) if not any(each in sentence for sentence in words)] == []
    assert [each for each in vector.get("never_says", []) if any(each in sentence for sentence in words)] == []
    for service, parsed in vector.get("parsed", {}).items():
        assert getattr(verdict, service).parsed == parsed


def test_judging_again_gives_the_same() -> None:
    verdicts, _ = judgements()
    assert {row.values[0]["why"]: verdict_on(row.values[0]) for row in vectors("verdicts")} == verdicts


def test_every_success_has_a_judgement() -> None:
    assert set(WORTH) == set(product(ControlContrast, Signs, (False, True)))
    assert set(WORTH.values()) == {ObjectOutcome.RESOLVED, ObjectOutcome.SOFT_404, ObjectOutcome.UNDETERMINED}


@pytest.mark.parametrize("declares", [False, True])
@pytest.mark.parametrize("told", ControlContrast)
def test_more_signs_of_absence_never_make_a_success_worth_more(told: ControlContrast, declares: bool) -> None:
    worth = {ObjectOutcome.RESOLVED: 2, ObjectOutcome.UNDETERMINED: 1, ObjectOutcome.SOFT_404: 0}
    row = [worth[WORTH[told, signs, declares]] for signs in Signs]
    assert row == sorted(row, reverse=True) or told is ControlContrast.THE_SAME


def test_every_way_to_an_object_has_words() -> None:
    assert set(WAYS) == set(ACCESS) - {Question.OBJECT}


def test_every_case_of_answer_control_and_inflection_has_a_verdict() -> None:
    """The full product of possible answers: every combination has a verdict, a reason and a request."""
    object_answers: list[dict[str, Any]] = [
        *(
            {"chain": [status]}
            for status in (200, 204, 206, 300, 304, 400, 401, 403, 404, 410, 418, 451, 500, 503, 999)
        ),
        *({"end": end.value} for end in ChainEnd if end is not ChainEnd.ANSWERED),
        {"type": "text/html", "body": "<title>Page not found</title>"},
        {"body": "", "complete": False},
        {"type": "application/json", "body": '{"prefix": "12x45", "target": "https://r.example/${content}"}'},
    ]
    inflected: list[dict[str, Any] | None] = [
        None,
        {"chain": [200], "body": "erc:\nwho: A\nwhat: B\n"},
        {"chain": [404]},
        {"end": "timeout"},
        {"type": "text/html", "body": "<p>Who: A<p>What: B<p>When: 1"},
    ]
    controls: list[dict[str, Any] | None] = [None, {"chain": [200]}, {"chain": [404]}, {"end": "dns"}]
    objects = [facts(Question.OBJECT, told) for told in object_answers]
    infos = [told and facts(Question.INFO, told) for told in inflected]
    seen_controls = [told and facts(Question.CONTROL, {"asked": URL + "zz", **told}) for told in controls]
    of_ways = [(None, None), *((way, facts(way, {"text": "An item"})) for way in WAYS)]
    for first, (way, at_way), second, seen in product(objects, of_ways, infos, seen_controls):
        answers = {Question.OBJECT: first}
        if way is not None and at_way is not None:
            answers[way] = at_way
        if second is not None:
            answers[Question.INFO] = second
        verdict = judge(answers, context=VerdictContext(control=seen))
        assert verdict.object.evidence
        assert verdict.metadata.evidence
        assert verdict.object.outcome in set(ObjectOutcome)
        assert verdict.metadata.outcome in set(MetadataOutcome)
        assert (verdict.metadata.outcome == "not-asked") == (second is None)
        family = FAMILY_OF[ObjectOutcome(OBJECT_RULES.judge(ObjectFacts(answers[Question.OBJECT], seen)).outcome)]
        if way is not None and family in (Family.FAILS, Family.UNREACHABLE):
            assert FAMILY_OF[ObjectOutcome(verdict.object.outcome)] is Family.WORKS


def test_answers_of_a_second_resolver_are_compared_with_its_own_object() -> None:
    page = {
        "type": "text/html",
        "body": "<title>A</title><p>A long page about the notebook of Ada Rossi, forty leaves.",
    }
    answers = {
        Question.OBJECT: facts(Question.OBJECT, {"end": "refused"}),
        Question.AT_GLOBAL: facts(Question.AT_GLOBAL, page),
        Question.INFO: facts(Question.INFO, {**page, "asked": ELSEWHERE[Question.AT_GLOBAL] + "?info"}),
    }
    verdict = judge(answers)
    assert (verdict.object.outcome, verdict.metadata.outcome) == ("works-elsewhere", "query-ignored")
    assert verdict.final_url == ELSEWHERE[Question.AT_GLOBAL]


def test_an_answer_can_be_judged_while_others_are_still_to_come() -> None:
    answer = facts(Question.INFO, {"body": "erc: A | B | 1952 | ark:12x45/x5\nerc-support:\nwhat: Not Guaranteed\n"})
    metadata = METADATA_RULES.judge(MetadataFacts(answer, facts(Question.OBJECT, {})))
    assert metadata.outcome in DESCRIBED
    assert COMMITMENT_RULES.judge(CommitmentFacts({Question.INFO: answer}, (Question.INFO,))).outcome == "stated"


def test_attempts_are_counted_and_reported() -> None:
    first = observation(Question.OBJECT, {"end": "timeout"})
    second = replace(observation(Question.OBJECT, {"chain": [503]}), attempt=2)
    third = replace(observation(Question.OBJECT, {"text": "An item"}), attempt=3)
    verdict = judge(
        {Question.OBJECT: AnswerFacts.from_observation(third)}, context=VerdictContext(earlier_attempts=(first, second))
    )
    assert verdict.requests == 3
    assert "requested 3 times; before: timeout, 503" in verdict.object.evidence


def test_every_end_of_a_chain_has_an_outcome() -> None:
    assert set(OUTCOME_OF_END) == set(ChainEnd) - {ChainEnd.ANSWERED}


def test_every_outcome_has_a_family_and_failures_a_severity() -> None:
    assert set(FAMILY_OF) == set(ObjectOutcome)
    unworking = {outcome for outcome, family in FAMILY_OF.items() if family is not Family.WORKS}
    assert set(SEVERITY) == unworking - {ObjectOutcome.SKIPPED}
    assert len(set(SEVERITY)) == len(SEVERITY)


def test_every_status_has_an_outcome_and_only_success_works() -> None:
    working = {status for status in range(100, 1000) if FAMILY_OF[status_outcome(status)] is Family.WORKS}
    assert working == {200, 203, 204, 206, 226, 300, 304}


def test_a_skipped_ark_cost_nothing_and_says_why() -> None:
    verdict = skipped_verdict(Ark.parse("ark:12345/x5"), URL, "NAAN 12345 is for examples")
    assert (verdict.object.outcome, verdict.requests, verdict.hops) == ("skipped", 0, ())
    assert verdict.object.evidence == ("NAAN 12345 is for examples",)


def test_the_hyphens_of_a_name_are_named_as_the_resolvers_fault() -> None:
    answers = {
        Question.OBJECT: facts(Question.OBJECT, {"chain": [404]}),
        Question.HYPHENS: facts(Question.HYPHENS, {"text": "x", "asked": URL}),
    }
    assert judge(answers).remarks == ("the resolver treats hyphens as part of the name",)
