"""Was it the hosts or our own network? When a run is suspect, exactly."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.history.ark_status import Contact, assess, contacts_of
from tests.vectors import vectors


def contact(text: str) -> Contact:
    host, what = text.split()
    found = Contact(host)
    setattr(found, what, 1)
    return found


@pytest.mark.parametrize("vector", vectors("outages"))
def test_a_run_is_suspect_or_not(vector: dict[str, Any]) -> None:
    found = assess([contact(text) for text in vector["hosts"]], vector.get("misses", {}))
    assert found.is_suspect == vector["suspect"], found
    assert bool(found.reason) == found.is_suspect


HOSTS = st.lists(
    st.builds(Contact, st.text("abc", min_size=1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    unique_by=lambda each: each.host,
)


@given(HOSTS, st.dictionaries(st.text("abc", min_size=1), st.integers(0, 3)))
def test_one_more_host_that_answers_never_makes_a_run_suspect(hosts: list[Contact], misses: dict[str, int]) -> None:
    more = [*hosts, Contact("another", answered=1)]
    assert assess(hosts, misses).is_suspect or not assess(more, misses).is_suspect


def hop(url: str, status: int | None = 200, at: str = "2026-01-01") -> dict[str, Any]:
    return {"url": url, "status": status, "at": at}


def test_contacts_are_counted_by_host_along_the_chains() -> None:
    met = contacts_of(
        [
            ("timeout", [hop("https://n2t.net/x", 302), hop("http://slow.example/x", None)]),
            ("answered", [hop("https://n2t.net/y", 302), hop("http://slow.example:80/y", 503, "2026-01-02")]),
            ("refused", [hop("http://other.example:8080/", None)]),
        ]
    )
    assert {host: (each.answered, each.met, each.silent) for host, each in met.items()} == {
        "n2t.net": (2, 0, 0),
        "slow.example": (1, 0, 1),
        "other.example:8080": (0, 1, 0),
    }
    assert (met["slow.example"].first_at, met["slow.example"].last_at) == ("2026-01-01", "2026-01-02")
    assert met["slow.example"].failure == "timeout"


@pytest.mark.parametrize("end", ["robots", "refused-address", "skipped", "undetermined"])
def test_unsent_requests_show_no_outage(end: str) -> None:
    assert contacts_of([(end, [hop("http://held.example/", None)])]) == {}


def test_a_file_has_no_host() -> None:
    assert contacts_of([("read", [hop("papers/a.pdf", 200)]), ("read", [])]) == {}
