"""Why an ARK fails and whose fault that is: a table of cases, and properties of all of them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import (
    FAMILY_OF,
    Family,
    MetadataOutcome,
    ObjectOutcome,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.store.store import Store
from crawler.verdicts.verdict import WAYS
from extractors.model.ark import Ark
from reports.languages import VOCABULARY
from reports.remediation.causes import ADVICE, FAULT_OF, Cause, Failure, Fault, diagnose, pattern
from reports.store.frames import load_frames
from reports.tables.failing import diagnosed_failures
from reports.tables.report_tables import Tables
from tests.growth import LINEAR, growth
from tests.unit.crawler.test_history import audit
from tests.vectors import vectors

URL = "https://r.example/ark:/12148/x5"


def failure(**told: Any) -> Failure:
    known = {"ark": "ark:12148/x5", "request_url": URL, "outcome": "broken", "last_url": URL, "status": 404, **told}
    return Failure(**known)


@pytest.mark.parametrize("vector", vectors("causes"))
def test_a_failure_has_the_cause_the_fault_and_the_repair(vector: dict[str, Any]) -> None:
    told = diagnose(failure(**vector.get("failure", {}), **vector.get("around", {})))
    assert (told.cause.value, told.fault.value) == (vector["cause"], vector["fault"])
    assert told.should_be == vector.get("should_be", told.should_be if "should_be" not in vector else None)
    assert told.host == vector.get("host", told.host)
    assert told.pattern == vector.get("pattern", told.pattern)
    assert bool(told.because) == (told.should_be is not None)


def test_name_is_looked_for_in_linear_time() -> None:
    assert growth(lambda size: pattern(f"http://l.example/-{'a' * size}", f"ark:12148/{'a' * size}b"), 4000) < LINEAR


def test_every_cause_occurs_among_the_cases() -> None:
    assert {row.values[0]["cause"] for row in vectors("causes")} == {cause.value for cause in Cause}


def test_every_cause_has_a_fault_an_advice_and_a_name_and_every_way_a_cause() -> None:
    assert list(FAULT_OF) == list(Cause)
    assert set(ADVICE) == set(VOCABULARY["cause"]) == set(Cause)
    assert set(VOCABULARY["fault"]) == set(Fault)
    for cause, advice in ADVICE.items():
        assert ("organization" in advice) == (FAULT_OF[cause] is Fault.ORGANIZATION), "ask whom the card names"
    for way in WAYS:
        told = diagnose(failure(outcome="resolved", way=way.value, way_url=URL))
        assert told.fault is Fault.RESOLVER


outcomes = st.sampled_from(
    [outcome for outcome, family in FAMILY_OF.items() if family in (Family.FAILS, Family.UNREACHABLE)]
)
failures = st.builds(
    Failure,
    ark=st.sampled_from(["ark:12148/x5", "ark:61903/1:1:C4H82DW2", "ark:1/a.b/c", "no ARK"]),
    request_url=st.sampled_from([URL, "http://[broken/", "", "https://l.example/?q=x5#f"]),
    outcome=outcomes,
    last_url=st.sampled_from([URL, "https://l.example/old/x5", "http://[broken/", "", "mailto:x@y"]),
    status=st.sampled_from([None, 200, 302, 404, 410, 503]),
    check=st.sampled_from(["passes", "fails", "none", "unknown"]),
    suggestion=st.sampled_from([None, "ark:12148/x6"]),
    living_url=st.sampled_from([None, "https://l.example/x5"]),
    has_lasted=st.booleans(),
    works_at=st.sampled_from([None, "https://n2t.net/ark:/12148/x5"]),
    longer=st.sampled_from([None, "ark:12148/x5abc"]),
    shorter=st.sampled_from([None, "ark:12148/x"]),
    whole=st.sampled_from([None, "ark:12148/x5"]),
    host_answers=st.booleans(),
    naan_known=st.booleans(),
    pattern_works=st.booleans(),
    pattern_count=st.integers(0, 9),
)


@given(failures)
def test_no_answer_is_nobodys_fault_until_it_has_lasted_or_another_address_works(failed: Failure) -> None:
    told = diagnose(failed)
    if ObjectOutcome(failed.outcome).family is Family.UNREACHABLE and not failed.has_lasted and not failed.works_at:
        assert told.fault is Fault.NOBODY
    if told.fault is Fault.CITATION:
        assert ObjectOutcome(failed.outcome).family is Family.FAILS


@given(st.text(max_size=40), st.text(max_size=20))
def test_a_pattern_is_made_of_any_text(url: str, ark: str) -> None:
    assert isinstance(pattern(url, ark), str)


def test_only_suggestion_that_was_seen_working_is_proposed(tmp_path: Path) -> None:
    written, meant = "https://r.example/ark:/12148/btv1b8449691w", "https://r.example/ark:/12148/btv1b8449691v"
    proposed = []
    for name, urls in (("one", [written]), ("both", [written, meant])):
        with Store.open(tmp_path / f"{name}.db") as store:
            text = {"https://library.example/": f"see {' and '.join(urls)}"}
            audit(store, 0, documents=text, answers={written: 404, **dict.fromkeys(urls[1:], 200)})
        tables = Tables(load_frames(tmp_path / f"{name}.db"))
        assert "ark:12148/btv1b8449691v" in tables["arks"].set_index("request_url")["suggestions"][written]
        proposed.append(tables["failures"]["should_be"].fillna("").tolist())
    assert proposed == [[""], ["ark:12148/btv1b8449691v"]]


def test_detour_counts_as_lasting_after_several_checks_over_days(tmp_path: Path) -> None:
    nothing = ServiceVerdict(MetadataOutcome.NOT_ASKED)
    found = ServiceVerdict(ObjectOutcome.WORKS_ELSEWHERE)
    remark = WAYS[Question.AT_GLOBAL][1]
    causes = []
    with Store.open(tmp_path / "audit.db") as store:
        for day in (1, 2, 5, 12):
            at = f"2026-11-{day:02}T10:00:00.000+00:00"
            run_id = store.begin_run(command="run", at=at, version="0", resolver="", user_agent="", seeds=[])
            outcome = found if day > 1 else ServiceVerdict(ObjectOutcome.RESOLVED)
            remarks = (remark,) if day > 1 else ()
            ark = Ark.parse("ark:12148/x5")
            store.record_verdicts(run_id, [Verdict(ark, URL, outcome, nothing, nothing, URL, remarks=remarks)])
            store.end_run(run_id, at=at, state="finished")
            frames = load_frames(tmp_path / "audit.db", run_id=run_id)
            causes.append([*diagnosed_failures(frames)["cause"]])
    assert causes == [[], ["unreachable-host"], ["unreachable-host"], ["moved-resolver"]]
