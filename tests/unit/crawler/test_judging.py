"""From a run's observations to verdicts and findings: attempts, controls of the right shoulder, neighbours."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.page_copies import page_digest
from crawler.model.observations import Observation, Question, Verdict
from crawler.spiders.runs import judge_run, verdicts_of_run
from crawler.store.store import Store
from crawler.verdicts.remarks import own_findings
from extractors.find import find_arks
from extractors.model.ark import Ark
from tests.unit.crawler.test_verdict import URL, facts, observation
from tests.vectors import vectors

R = "https://r.example/"

AT = "2026-11-21T00:00:00.000+00:00"


def about(ark: str, question: Question = Question.OBJECT, **told: Any) -> Observation:
    made = observation(question, told, R + ark)
    return replace(made, hops=tuple(replace(hop, at=AT) for hop in made.hops))


def target(ark: str) -> tuple[Ark, str]:
    return Ark.parse(ark), R + ark


def verdicts(targets: Iterable[tuple[Ark, str]], seen: Iterable[Observation]) -> list[Verdict]:
    with Store.open(None) as store:
        run = begin_run(store)
        store.record(run, seen)
        return list(verdicts_of_run(store, run, targets))


def begin_run(store: Store, plan: dict[str, Any] | None = None) -> int:
    return store.begin_run(command="x", at=AT, version="", resolver="", user_agent="", seeds=[], plan=plan)


def test_last_attempt_counts_in_any_order() -> None:
    attempts = [replace(about("ark:12x45/x5", chain=[status]), attempt=n) for n, status in ((2, 200), (1, 503))]
    [verdict] = verdicts([target("ark:12x45/x5")], attempts)
    assert (verdict.object.outcome, verdict.requests) == ("resolved", 2)
    assert "requested 2 times within a second; before: 503" in verdict.object.evidence


def test_the_control_of_the_own_shoulder_counts() -> None:
    viewer = {"text": "Loading the viewer"}
    seen = [
        about("ark:12x45/x51", **viewer),
        about("ark:12x45/k51", **viewer),
        about("ark:12x45/x51", Question.CONTROL, chain=[404], asked=R + "ark:12x45/x5zzz"),
        about("ark:12x45/k51", Question.CONTROL, **viewer, asked=R + "ark:12x45/k5zzz"),
    ]
    outcomes = [each.object.outcome for each in verdicts([target("ark:12x45/x51"), target("ark:12x45/k51")], seen)]
    assert outcomes == ["resolved", "undetermined"]


def test_control_of_another_resolver_or_naan_does_not_count() -> None:
    viewer = {"text": "Loading the viewer"}
    seen = [
        about("ark:12x45/x51", **viewer),
        about("ark:12x45/x51", Question.CONTROL, **viewer, asked="https://other.example/ark:12x45/x5zzz"),
        about("ark:12x46/x51", Question.CONTROL, **viewer, asked=R + "ark:12x46/x5zzz"),
    ]
    [verdict] = verdicts([target("ark:12x45/x51")], seen)
    assert verdict.object.outcome == "resolved"


def test_example_naans_are_skipped_and_unasked_arks_have_no_verdict() -> None:
    judged = list(verdicts([target("ark:12345/x5"), target("ark:12x45/x5")], []))
    assert [(str(each.ark), each.object.outcome) for each in judged] == [("ark:12345/x5", "skipped")]


def test_policy_page_is_reported_with_every_commitment_that_names_it() -> None:
    record = (
        "erc: A | B | 1784 | {ark}\nerc-support: Library | Not Guaranteed | 2019 03 04 | https://r.example/policy\n"
    )
    arks = ["ark:12x45/x5", "ark:12x45/x7"]
    seen = [about(ark, text="Map") for ark in arks]
    seen += [about(ark, Question.INFO, body=record.format(ark=ark)) for ark in arks]
    seen.append(about(arks[0], Question.POLICY_LINK, chain=[404], asked="https://r.example/policy"))
    for verdict in verdicts(map(target, arks), seen):
        assert verdict.commitment.outcome == "stated"
        assert verdict.commitment.evidence[-1] == "the full statement at https://r.example/policy answers 404"
        assert (verdict.commitment.parsed["since"], verdict.metadata.parsed["dates"]) == ("20190304", "1784")
        assert verdict.requests == 2


def landing_hop(ark: str, url: str, **told: Any) -> Observation:
    return about(ark, chain=[302, 200], urls=[R + ark, url], **told)


def test_arks_that_land_together_and_parts_of_one_object_work() -> None:
    volume = "https://land.example/volume"
    arks = ["ark:12x45/x5", "ark:12x45/x7", "ark:12x45/x7/f1"]
    judged = list(verdicts(map(target, arks), [landing_hop(ark, volume, text="Maps") for ark in arks]))
    assert [each.object.outcome for each in judged] == ["resolved"] * 3
    assert all("1 other ARK ends at the same URL" in each.object.evidence for each in judged)


@pytest.mark.parametrize("vector", vectors("repeated_pages"))
def test_page_of_several_objects_at_several_addresses_proves_nothing(vector: dict[str, Any]) -> None:
    seen = []
    for number, letter in zip((31, 32), ("amber", "blue"), strict=True):
        ark = f"ark:12x45/x5{letter}{number}"
        words = {"number": number, "letter": letter, "ark": ark, "name": ark.rpartition("/")[2]}
        body, url = vector["page"], vector.get("url", "https://land.example/item/{number}")
        for word, value in words.items():
            body, url = (text.replace(f"{{{word}}}", str(value)) for text in (body, url))
        media_type = "text/html" if body.startswith("<") else "text/plain"
        seen.append(landing_hop(ark, url, body=body, type=media_type))
    controls = [about(str(seen[0].ark), Question.CONTROL, chain=[404], asked=R + "ark:12x45/x5zzz")]
    judged = verdicts([target(str(one.ark)) for one in seen], [*seen, *controls])
    expected = "undetermined" if vector["copies"] else "resolved"
    assert {verdict.object.outcome for verdict in judged} == {expected}


def test_copies_are_the_other_objects_with_the_page_at_another_address() -> None:
    places = {"ark:12x45/x5": 1, "ark:12x45/x7": 1, "ark:12x45/x9": 2, "ark:12x45/x9/f1": 3, "ark:12x45/y1": 4}
    seen = [
        landing_hop(ark, f"https://land.example/item/{place}", body="Mera vem tulk", type="text/plain")
        for ark, place in places.items()
    ]
    seen += [about(ark, Question.CONTROL, chain=[404], asked=R + "ark:12x45/x5zzz") for ark in list(places)[:1]]
    evidence = [" ".join(verdict.object.evidence) for verdict in verdicts(map(target, places), seen)]
    assert [re.findall(r"for other objects \((\d)\)", text) for text in evidence] == [["2"], ["2"], ["3"], ["3"], ["3"]]


def test_store_and_facts_agree_on_which_pages_describe_an_object() -> None:
    described = set()
    with Store.open(None) as store:
        for row in vectors("verdicts"):
            vector = row.values[0]
            answer = facts(Question.OBJECT, vector["answers"]["object"], vector.get("url", URL))
            run = begin_run(store)
            store.record(run, [answer])
            pages = store.reached_pages(run).values()
            assert [page.describes for page in pages] == [
                answer.is_record or answer.describes_object
            ] * answer.is_success
            described |= {page.describes for page in pages}
    assert described == {True, False}


def test_parts_of_one_object_are_not_several_described_objects() -> None:
    record = "<title>Atlas</title><dl><dt>Creator<dd>Rossi<dt>Date<dd>1784</dl>"
    pages = {
        "x5": record,
        "x5/f1": record,
        "x5/f2": record,
        "x7": "<title>Haven</title><img src=/7.jpg><p>Dit blad is niet langer hier.",
    }
    seen = [
        landing_hop(f"ark:12x45/{name}", f"https://land.example/{name}", type="text/html", body=page)
        for name, page in pages.items()
    ]
    assert {verdict.object.outcome for verdict in verdicts([target(str(one.ark)) for one in seen], seen)} == {
        "resolved"
    }


def test_page_without_description_among_described_pages_proves_nothing() -> None:
    record = "<title>{0}</title><h1>{0}</h1><dl><dt>Creator<dd>Rossi<dt>Date<dd>1784</dl>"
    bare = "<title>Haven</title><h1>{0}</h1><img src=/7.jpg><p>Dit object maakt niet langer deel uit van de collectie."
    hosts = {"x": (record, record, bare), "y": (record, bare)}
    seen = []
    for host, pages in hosts.items():
        for number, page in enumerate(pages):
            url = f"https://{host}.example/{number}"
            seen.append(landing_hop(f"ark:12x45/{host}{number}", url, type="text/html", body=page.format(number)))
    judged = verdicts([target(str(one.ark)) for one in seen], seen)
    doubted = [verdict.ark.name for verdict in judged if verdict.object.outcome == "undetermined"]
    assert doubted == ["x2"]


@pytest.mark.parametrize("root", ["https://land.example", "https://land.example/"])
@pytest.mark.parametrize("reference", ["/media/{n}.jpg", "/image?id={n}", "/download?file=/pdf/{n}.pdf", "a/{n}.png"])
def test_pages_that_differ_by_query_and_picture_are_no_copies(root: str, reference: str) -> None:
    digests = {
        page_digest(["Photograph"], "Studio Lind.", [reference.format(n=n)], f"{root}?id={n}", Ark("12x45", f"x{n}"))
        for n in "789"
    }
    assert len(digests) == 3


def test_parts_of_one_object_are_no_copies_of_its_page() -> None:
    arks = ["ark:12x45/x5", "ark:12x45/x5/f1", "ark:12x45/x5/f2"]
    seen = [landing_hop(ark, f"https://land.example/{ark[9:]}", text="Mera", body="Mera vem tulk") for ark in arks]
    assert {one.page_digest for one in seen} == {seen[0].page_digest}
    assert {verdict.object.outcome for verdict in verdicts(map(target, arks), seen)} == {"resolved"}


def test_a_record_and_a_page_that_are_another_arks() -> None:
    record = "erc:\nwho: A\nwhat: B\nwhen: 1\nwhere: https://r.example/ark:/12x45/qq9\n"
    page = "<title>Letters</title><link rel=canonical href='/ark:/12x45/qq7'>"
    seen = [about("ark:12x45/x5", type="text/html", body=page), about("ark:12x45/x5", Question.INFO, body=record)]
    [verdict] = verdicts([target("ark:12x45/x5")], seen)
    findings = list(own_findings(verdict))
    assert [each.kind for each in findings] == ["foreign-record", "page-of-another"]
    assert [each.detail.rsplit(" ", 1)[-1] for each in findings] == ["ark:12x45/qq9", "ark:12x45/qq7"]


def test_record_with_an_about_field_is_its_own() -> None:
    record = (
        "erc:\nwho: Rossi, Ada\nwhat: Chart of the coast\nwhen: 1784\nwhere: ark:12x45/x5\nabout: ark:12x45/harbours\n"
    )
    seen = [about("ark:12x45/x5"), about("ark:12x45/x5", Question.INFO, body=record)]
    [verdict] = verdicts([target("ark:12x45/x5")], seen)
    assert not list(own_findings(verdict))


def test_judging_a_store_again_gives_the_same(tmp_path: Path) -> None:
    body = "<title>Map</title><link rel=canonical href='/ark:/12x45/x5'><p>Who: Rossi"
    targets = [target("ark:12x45/x5")]
    seen = [about("ark:12x45/x5", type="text/html", body=body, certificates=["has expired"])]
    with Store.open(tmp_path / "store.sqlite") as store:
        run = begin_run(store)
        store.record(run, seen)
        assert list(store.observations(run)) == [seen[0]]
        first, again = list[Verdict](), list[Verdict]()
        judge_run(store, run, targets, on_verdict=first.append)
        judge_run(store, run, targets, on_verdict=again.append)
    assert first == again == verdicts(targets, seen)
    assert first[0].object.evidence[1] == "the page names this ARK (canonical)"
    assert first[0].remarks == ("the certificate of r.example has expired",)


@given(st.from_regex(r"ark:/?[0-9a-z]{1,9}/[0-9A-Za-z]{1,40}", fullmatch=True))
def test_a_plain_ark_of_a_record_is_that_ark_without_looking_for_it(where: str) -> None:
    own = Ark.parse(where)
    assert not any(own.base != mention.ark.base for mention in find_arks(where)[:1])


def test_interrupted_judging_keeps_its_batches_and_resumes_to_the_same(tmp_path: Path) -> None:
    names = ["ark:12x45/x5", *(f"ark:99999/x{number}" for number in range(1200)), "ark:12x45/k7"]
    targets = [target(name) for name in names]
    landed = [landing_hop(names[place], "https://land.example/volume", text="Maps") for place in (0, -1)]
    kept: list[int] = []

    def judge_interrupted(path: Path, *interrupts: int) -> tuple[dict[str, list[Any]], int]:
        """Return the rows of a run that is judged until no interruption is left, and the steps of the last judging."""
        with Store.open(path) as store:
            run = begin_run(store, plan={})
            store.record(run, landed)
            for most in (*interrupts, len(targets)):
                count = 0

                def on_progress(most: int = most) -> None:
                    nonlocal count
                    count += 1
                    if count > most:
                        raise KeyboardInterrupt

                recorded = store.begin_verdicts(run, "the same")
                try:
                    judge_run(store, run, targets, recorded=recorded, on_progress=on_progress)
                    store.end_run(run, at=AT, state="finished")
                except KeyboardInterrupt:
                    kept.append(len(store.begin_verdicts(run, "the same")))
                    store.end_run(run, at=AT, state="interrupted")
                    store.mark_resumed(run)
            with store.read_connection() as connection:
                rows = {
                    table: [tuple(row) for row in connection.exec_driver_sql(f"select * from {table}")]
                    for table in ("verdict", "finding", "latest", "event", "contact", "assessment")
                }
        return rows, count

    whole, every = judge_interrupted(tmp_path / "whole.db")
    resumed, few = judge_interrupted(tmp_path / "resumed.db", 1100, 50)
    assert (every, few, kept) == (1202, 202, [1000, 1000])
    assert resumed == whole


def test_verdicts_on_another_basis_are_judged_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        run = begin_run(store, plan={})
        assert store.begin_verdicts(run, "one") == frozenset()
        judge_run(store, run, [target("ark:99999/x")], recorded=frozenset())
        assert store.begin_verdicts(run, "one") == {f"{R}ark:99999/x"}
        store.record(run, [about("ark:12x45/x5")])
        assert store.begin_verdicts(run, "one") == frozenset(), "more was observed"


def test_two_arks_of_one_address_are_no_copies_with_an_inflection() -> None:
    page = {"type": "text/html", "body": "<title>Fire order</title><p>Broadsheet."}
    address = "https://land.example/item/7"
    seen = [landing_hop(ark, address, **page) for ark in ("ark:12x45/x5", "ark:12x46/x5")]
    asked = ["https://r.example/ark:12x45/x5?info", f"{address}?info"]
    info = about("ark:12x45/x5", Question.INFO, chain=[302, 200], urls=asked, **page)
    assert {
        verdict.object.outcome for verdict in verdicts(map(target, ("ark:12x45/x5", "ark:12x46/x5")), [*seen, info])
    } == {"resolved"}
