"""Every row of a report leads to its requests, and every request to its purpose."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reports.page.document import REQUESTS
from reports.store.frames import load_frames
from reports.tables.definitions import records_of
from tests.real.loopback import ON_LOOPBACK, RawServer, explained_rows, read_csv, reply, run_command, select

RECORD = "erc:\nwho: Rossi, Ada\nwhat: Notebook {name}\nwhen: 1952\nwhere: ark:/12x45/{name}\n"
SUPPORT = "erc-support:\nwho: A library\nwhat: Permanent: Stable Content\nwhen: 2020\nwhere: {where}\n"
NAMES = ("b5one", "b5two", "b5busy", "b5gone", "b5bare", "b5test", "b5long", "b5odd")
#: Policy addresses in some records, which are never requested.
NO_POLICIES = {
    "b5test": "https://n2t.net/ark:/99999/policy",
    "b5long": f"https://library.example/{'z' * 5000}",
    "b5odd": "http://[library",
}
REGISTERED = {
    "what": "98765",
    "where": "https://library.example/",
    "target": {"url": "https://library.example/ark:/${content}", "http_code": 302},
    "when": "2020-01-01T00:00:00+00:00",
    "who": {"name": "A library", "acronym": None},
    "na_policy": {
        "orgtype": "NP",
        "policy": "NR, OP",
        "tenure": "2020",
        "policy_url": "https://library.example/naming",
    },
}


@dataclass(frozen=True)
class Audit:
    """One check of a few ARKs at one resolver, and its report."""

    url: str
    policy: RawServer
    server: RawServer
    rows: dict[str, dict[str, Any]]
    store: Path
    tables: Path

    def table(self, name: str) -> list[dict[str, str]]:
        return read_csv(self.tables / f"{name}.csv")

    def steps(self, name: str) -> list[dict[str, Any]]:
        return [step for step in self.rows[name]["explanation"] if "asked" in step]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    folder = tmp_path_factory.mktemp("tracing")
    (folder / "records.json").write_text(json.dumps({"metadata": {}, "data": [REGISTERED]}))
    cache = {"ARKAUDIT_CACHE": str(folder / "cache")}
    assert run_command("registry", "update", folder / "records.json", **cache).returncode == 0
    asked: Counter[str] = Counter()

    def respond(target: str) -> bytes:
        asked[target] += 1
        name = target.partition("?")[0].rpartition("/")[2]
        if target.endswith("b5busy") and asked[target] < 3:
            return reply("503 Service Unavailable")
        if name not in NAMES or name == "b5gone":
            return reply("404 Not Found")
        if not target.endswith("?info"):
            return reply(body=f"<title>Notebook {name}</title><p>Forty leaves of {name}.")
        where = NO_POLICIES.get(name, f"{policy.url}/policy#part")
        support = "" if name == "b5bare" else f"\n{SUPPORT.format(where=where)}"
        return reply(body=RECORD.format(name=name).replace("12x45", "98765") + support, media_type="text/plain")

    with RawServer(lambda _: reply(body="<title>Our promise</title>")) as policy, RawServer(respond) as server:
        urls = {name: f"{server.url}/ark:/98765/{name}" for name in NAMES}
        options = ("--backoff", "0.6", "--store", folder / "a.db")
        done = run_command("check", *ON_LOOPBACK, *options, *urls.values(), **cache)
        assert done.returncode == 0, done.stderr
        told = run_command("report", "--store", folder / "a.db", "--out", folder / "report", "--format", "csv")
        assert told.returncode == 0, told.stderr
        explained = explained_rows(folder / "a.db", urls.values())
        rows = {name: explained[url] for name, url in urls.items()}
        yield Audit(server.url, policy, server, rows, folder / "a.db", folder / "report" / "tables")


def requests_of(audit: Audit) -> list[dict[str, Any]]:
    return list(records_of(REQUESTS.table(load_frames(audit.store))))


def sent_requests(audit: Audit) -> list[dict[str, Any]]:
    """Return the requests of the report except those that our own rules held back."""
    return [row for row in requests_of(audit) if "has no route" not in (row["error"] or "")]


def test_an_arks_own_requests_are_those_of_its_url_every_attempt_of_them(audit: Audit) -> None:
    forms = ("upper-case label", "extra hyphen", "doubled slash", "trailing slash", "trailing dot", "unknown qualifier",
             "qualified ?info", "255 characters", "other label form")  # fmt: skip
    shared = ("control", "control ?info", "policy link", "well-known")
    own: Counter[str] = Counter()
    for row in sent_requests(audit):
        is_form = row["question"] in forms and not row["request_url"].endswith("b5gone")
        if row["question"] not in shared and not is_form:
            own[row["request_url"]] += 1
    counted = {row["request_url"]: int(row["request_count"]) for row in audit.table("arks")}
    assert counted == dict(own)
    assert {name: audit.rows[name]["requests"] for name in NAMES} == {
        name: counted[f"{audit.url}/ark:/98765/{name}"] for name in NAMES
    }


def test_further_evidence_of_a_verdict_is_among_the_requests(audit: Audit) -> None:
    requested = {row["url"] for row in requests_of(audit)}
    for row in audit.table("arks"):
        rests_on = [url.partition("#")[0] for url in row["rests_on"].split("; ") if url]
        assert set(rests_on) <= requested
        assert rests_on or row["object"] == "skipped"
    assert audit.rows["b5one"]["rests_on"] == audit.rows["b5two"]["rests_on"]


def test_every_request_that_was_sent_is_in_the_table_as_often(audit: Audit) -> None:
    arrived = Counter(f"{audit.url}{target}" for target in audit.server.targets)
    arrived.update(f"{audit.policy.url}{target}" for target in audit.policy.targets)
    assert Counter(row["url"] for row in sent_requests(audit)) == arrived


def test_a_final_verdict_names_how_often_and_for_how_long_it_asked(audit: Audit) -> None:
    busy, gone = (audit.rows[name]["object"]["evidence"] for name in ("b5busy", "b5gone"))
    [words] = [each for each in busy if each.startswith("requested")]
    assert re.fullmatch(r"requested 3 times over \d+ s; before: 503, 503", words)
    assert "requested once" in gone


def test_policy_is_requested_once_and_reported_with_every_commitment(audit: Audit) -> None:
    assert audit.policy.targets == ["/policy"]
    for name in ("b5one", "b5two", "b5busy"):
        words = audit.rows[name]["commitment"]["evidence"]
        assert words[-1] == f"the full statement at {audit.policy.url}/policy#part answers 200"
        [step] = [step for step in audit.steps(name) if "the full promise" in step["asked"]]
        assert step["url"] == f"{audit.policy.url}/policy#part"
    assert not [step for step in audit.steps("b5bare") if "the full promise" in step["asked"]]
    evidence = {row["ark"]: row["commitment_evidence"] for row in audit.table("arks")}
    assert "/policy#part answers 200" in evidence["ark:98765/b5two"]


def test_a_policy_that_is_a_test_ark_or_no_address_is_never_asked_for(audit: Audit) -> None:
    for name in NO_POLICIES:
        meant = "placeholder" if name == "b5test" else "stated"
        assert audit.rows[name]["commitment"]["outcome"] == meant
    asked = select(audit.store, "select asked_url from observation where question = 'policy link'")
    assert asked == [(f"{audit.policy.url}/policy#part",)]


@pytest.mark.promise
def test_explanation_lists_every_request_of_a_verdict(audit: Audit) -> None:
    for name in NAMES:
        told = {step["url"] for step in audit.steps(name)}
        assert set(audit.rows[name]["rests_on"]) <= told
    assert len([step for step in audit.steps("b5busy") if step["url"].endswith("b5busy")]) == 3
    assert "attempt 3" in [step for step in audit.steps("b5busy") if step["url"].endswith("b5busy")][-1]["asked"]


def test_registry_policy_is_reported_with_the_commitment(audit: Audit) -> None:
    row = audit.rows["b5bare"]
    assert row["commitment"]["outcome"] == "absent"
    assert row["naan_policy"] == {
        "of": "98765",
        "organization": "A library",
        "practices": ["NR", "OP"],
        "org_type": "NP",
        "url": "https://library.example/naming",
    }
    words = "A library, for 98765: names are never re-assigned, names are opaque, as stated at https://library.example/naming"
    told = [part["conclusion"] for part in row["explanation"] if "conclusion" in part]
    assert [each for each in told if words in each and "not a promise for this object" in each]
    assert [row["policy"] for row in audit.table("naans")] == [words]
