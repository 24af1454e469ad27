"""A second resolver that we did not write: CERTIC's ARK server, as it is, on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.real.crawler.ark_server import NAAN, PYTHON, ArkServer
from tests.real.loopback import RawServer, check_rows, outcomes, reply

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="make ark-server sets up the server")
PAGES = {
    f"/item/{number}": f"<title>Plan of the {place}</title><h1>Plan of the {place}</h1><p>Ink on paper, 1784.</p>"
    for number, place in ((7, "harbour"), (8, "market"))
}


@dataclass(frozen=True)
class ServedArks:
    """The command's output on the server's ARKs, and the requests that reached their targets."""

    rows: list[dict[str, Any]]
    names: list[str]
    landed: list[str]


@pytest.fixture(scope="module")
def served_arks() -> Iterator[ServedArks]:
    with RawServer(lambda target: reply(body=PAGES[target]) if target in PAGES else reply("404 Not Found")) as landing:
        described = {"who": "Rossi, Ada", "what": "Plan of the harbour", "when": "1784", "where": "Livorno"}
        unknown = dict.fromkeys(described, "")
        rows = [
            {"ark_location": f"{landing.url}/item/{number}", **told} for number, told in ((7, described), (8, unknown))
        ]
        with ArkServer(rows) as server:
            resolver = f"http://127.0.0.1:{server.port}"
            asked = [f"{resolver}/ark:/{name}" for name in server.names]
            asked += [f"{resolver}/ark:/{NAAN}/0000000000", asked[0].replace("ark:/", "ark:")]
            yield ServedArks(check_rows(*asked), server.names, list(landing.targets))


def test_objects_resolve_and_missing_ones_are_broken(served_arks: ServedArks) -> None:
    assert len(served_arks.names) == 2
    assert outcomes(served_arks.rows) == ["resolved", "resolved", "broken", "resolved"]


def test_the_query_is_lost_in_the_redirect_and_the_bare_inflection_is_answered(served_arks: ServedArks) -> None:
    described, empty = served_arks.rows[0]["metadata"], served_arks.rows[1]["metadata"]
    assert described["outcome"] == "structured"
    assert any("?info was lost in the redirect" in words for words in described["evidence"])
    assert any(words.startswith("? returned application/json with who, what, when") for words in described["evidence"])
    assert empty["outcome"] == "query-dropped"
    assert all("?info" not in target for target in served_arks.landed)


def test_an_answer_to_the_bare_inflection_shows_no_absence_of_a_commitment(served_arks: ServedArks) -> None:
    assert outcomes(served_arks.rows, "commitment") == ["undetermined", "undetermined", "not-asked", "undetermined"]


def test_it_knows_the_old_label_only(served_arks: ServedArks) -> None:
    assert "the resolver knows only the other form of the label" in served_arks.rows[3]["remarks"]
