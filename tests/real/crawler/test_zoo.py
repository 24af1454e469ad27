"""Every animal of the zoo gets the verdict that it deserves, and every verdict the requests that led to it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome
from tests.real.crawler.zoo import Animal, animals
from tests.real.crawler.zoo_visit import SERVICES, Visit, visit_zoo
from tests.real.loopback import select

#: All look at one visit, which takes 20 s of CPU.
pytestmark = pytest.mark.promise

ANIMALS = animals()
#: Outcomes that no server on loopback can bring about.
NOT_OF_A_SERVER = {ObjectOutcome.INVALID, ObjectOutcome.TIMEOUT}


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visit_zoo(ANIMALS, tmp_path_factory.mktemp("zoo")) as visit:
        yield visit


def animal_param(animal: Animal) -> Any:
    """Return the animal as a parameter, expected to fail if arkaudit has a known fault here."""
    marks = [pytest.mark.xfail(strict=True, reason=animal.known)] if animal.known else []
    return pytest.param(animal, id=f"{animal.name}: {animal.why}", marks=marks)


@pytest.mark.parametrize("animal", [animal_param(animal) for animal in ANIMALS])
def test_verdict(animal: Animal, visit: Visit) -> None:
    row = visit.rows[animal.url]
    wrong = [
        f"{service} is {row[service]['outcome']}, not {getattr(animal, service)}: {row[service]['evidence']}"
        for service in SERVICES
        if row[service]["outcome"] not in getattr(animal, service).split("|")
    ]
    assert not wrong
    assert row["object"]["evidence"], "a verdict without a reason"
    words = " ".join([*row["remarks"], *(words for service in SERVICES for words in row[service]["evidence"])])
    assert [each for each in animal.says if each not in words] == []
    assert [each for each in animal.unsaid if each in words] == []
    if animal.final is not None:
        assert row["final_url"] == animal.final
    asked = [seen.target for seen in visit.requests if seen.host in animal.hosts]
    assert not set(animal.never) & set(asked)
    if animal.at_most is not None:
        assert asked.count("/" + animal.ark) <= animal.at_most


def test_every_ark_has_a_verdict_in_the_order_asked(visit: Visit) -> None:
    assert len(ANIMALS) >= 60
    assert len({animal.url for animal in ANIMALS}) == len(ANIMALS)
    assert set(visit.rows) == {animal.url for animal in ANIMALS}
    for row in visit.rows.values():
        for service in SERVICES:
            assert row[service]["outcome"], row["asked"]


def test_the_zoo_shows_every_outcome() -> None:
    for service, outcomes in (
        ("object", ObjectOutcome),
        ("metadata", MetadataOutcome),
        ("commitment", CommitmentOutcome),
    ):
        shown = {token for animal in ANIMALS for token in getattr(animal, service).split("|")}
        assert shown >= {str(outcome) for outcome in outcomes} - {str(each) for each in NOT_OF_A_SERVER}


def test_the_store_has_the_requests_that_were_sent_and_no_others(visit: Visit) -> None:
    recorded, unanswered = set(), set()
    asked = select(visit.store, "select request_url, hops from observation")
    assert set(select(visit.store, "select request_url from verdict")) <= {(url,) for url, _ in asked}
    for hop in (hop for _, hops in asked for hop in json.loads(hops)):
        (recorded if hop["status"] else unanswered).add((urlsplit(hop["url"]).hostname, _target(hop["url"])))
    sent = {(seen.host, seen.target) for seen in visit.requests}
    assert recorded <= sent
    assert sent <= recorded | unanswered


def _target(url: str) -> str:
    rest = url.split("://", 1)[1]
    return "/" + rest.partition("/")[2]


def test_objects_are_asked_for_by_get(visit: Visit) -> None:
    assert {seen.method for seen in visit.requests} == {"GET"}
