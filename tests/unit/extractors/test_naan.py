"""The NAAN registry as a value: its copies, even dirty ones, and the target that it gives for an ARK."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.ark import Ark
from extractors.model.naan import (
    SHARED_NAANS,
    WELL_KNOWN_NAANS,
    NotARegistry,
    Registry,
    RegistryEntry,
    ResolverTarget,
    naan_and_name,
    read_registry,
)
from extractors.model.normalize import NotAnArk
from tests.vectors import vectors

#: One complete record, which makes a copy count as a registry.
WHOLE = {
    "what": "67531",
    "who": {"name": "A Library"},
    "target": {"url": "https://library.example.edu/ark:/${content}"},
}


def registry_of(*records: Any, metadata: Any = None) -> Registry:
    document = {"metadata": metadata, "data": [*records, WHOLE]}
    return read_registry(json.dumps(document).encode(), source="a test")


@pytest.mark.parametrize("vector", vectors("naan_records"))
def test_record_is_kept_in_any_state(vector: dict[str, Any]) -> None:
    registry = registry_of(vector["record"])
    entry = registry.entries[0]
    assert (entry.key, entry.organization) == (vector["key"], vector["organization"])
    assert list(entry.faults) == vector["faults"]
    if "since" in vector:
        assert entry.since == (date.fromisoformat(vector["since"]) if vector["since"] else None)
    if "practices" in vector:
        assert list(entry.policy.practices) == vector["practices"]
    if "ark" in vector:
        ark = Ark.parse(vector["ark"])
        assert registry.entry(ark) is entry
        assert registry.target(ark) == vector["leads_to"]


@pytest.mark.parametrize(
    ("metadata", "dated"),
    [
        ({"updated": "2024-11-07T16:48:32+00:00", "created_date": "2020-01-01"}, datetime(2024, 11, 7, 16, 48, 32)),
        ({"date_modified": "2026-01-02T03:04:05+02:00", "date_created": "2020-01-01"}, datetime(2026, 1, 2, 1, 4, 5)),
        ({"modified_date": None, "created_date": "2020-01-01"}, datetime(2020, 1, 1)),
        ({"updated": "soon"}, None),
        (None, None),
        ("2024", None),
    ],
)
def test_registry_date_is_read_from_either_field(metadata: Any, dated: datetime | None) -> None:
    assert registry_of(metadata=metadata).dated == (dated.replace(tzinfo=UTC) if dated else None)


def test_the_longest_shoulder_comes_first_and_then_the_naan() -> None:
    records = [{"what": what, "who": {"name": what}} for what in ("99152/p0", "99152", "99152/p01", "99152/q9")]
    registry = registry_of(*records)
    asked = ("ark:/99152/p012/x", "ark:/99152/p0-2", "ark:/99152/p", "ark:/99152/P01", "99152/q9.pdf", "99153/p0", "!")
    found = [registry.entry(text) for text in asked]
    assert [entry and entry.key for entry in found] == [
        "99152/p01", "99152/p0", "99152", "99152", "99152/q9", None, None,
    ]  # fmt: skip
    assert [each.shoulder for each in registry.shoulders("99152")] == ["p0", "p01", "q9"]
    assert registry.shoulders("67531") == ()


def test_of_two_records_about_the_same_the_later_holds() -> None:
    registry = registry_of({"what": "54321", "who": {"name": "before"}}, {"what": "54321", "who": {"name": "after"}})
    entry = registry.entry("54321")
    assert entry is not None
    assert entry.organization == "after"


def test_a_whole_shoulder_names_no_object() -> None:
    registry = registry_of({"what": "99152/p0"}, {"what": "99152"})
    asked = [Ark.parse(f"ark:/99152/{name}") for name in ("p0", "p-0", "p01", "p0/x", "q")]
    assert [registry.is_shoulder(ark) for ark in asked] == [True, True, False, False, False]


def test_an_unregistered_naan_is_a_remark_with_the_age_of_the_registry() -> None:
    registry = registry_of(metadata={"updated": "2024-11-07T16:48:32+00:00"})
    assert registry.unregistered_remark("54321") == "NAAN 54321 is not in the NAAN registry of 2024-11-07"
    assert registry.unregistered_remark("67531") is None
    assert [registry.unregistered_remark(naan) for naan in SHARED_NAANS] == [None] * 4


def test_without_a_copy_the_well_known_naans_are_known_and_no_other_is_called_unregistered() -> None:
    registry = Registry.builtin()
    assert all(registry.knows(naan) for naan in (*SHARED_NAANS, *WELL_KNOWN_NAANS))
    assert not registry.knows("54321")
    assert registry.unregistered_remark("54321") is None
    assert registry.target(Ark.parse("ark:/12148/btv1b84")) is None


def test_the_first_target_without_a_fault_is_where_an_ark_leads() -> None:
    targets = (ResolverTarget("https:///x/${content}"), ResolverTarget("https://b.example.org/${content}"))
    registry = Registry((RegistryEntry("54321", targets=targets),), "a test")
    assert registry.target(Ark.parse("ark:54321/x5")) == "https://b.example.org/54321/x5"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"<!DOCTYPE html><title>Please log in</title>", "no JSON"),
        (b'{"data": [{"what": "12148"', "JSON that can't be read"),
        (b"[" * 100_000, "JSON that can't be read"),
        (b'{"data": ' + b"[" * 900 + b"]" * 900 + b"}", "no record in it has a NAAN"),
        (b'{"error": "try later"}', "JSON, but without a list of records"),
        (b'[{"what": "12148"}]', "JSON, but without a list of records"),
        (b'{"data": []}', "no record in it has a NAAN"),
        (b'{"data": [{"id": 1}, null, "12148"]}', "no record in it has a NAAN"),
        (b'{"data": [' + b"9" * 5000 + b"]}", "JSON that can't be read"),
    ],
)
def test_malformed_registry_is_refused_with_the_reason(data: bytes, fault: str) -> None:
    with pytest.raises(NotARegistry, match=fault):
        read_registry(data, source="a test")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le"])
def test_the_encodings_of_json_are_read(encoding: str) -> None:
    text = json.dumps({"data": [{"what": "12148", "who": {"name": "Bibliothèque"}}]}, ensure_ascii=False)
    assert read_registry(text.encode(encoding), source="a test").entries[0].organization == "Bibliothèque"


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("12148", ("12148", "")),
        (" 12148/ ", ("12148", "")),
        ("12148/btv1-b84.f1", ("12148", "btv1b84.f1")),
        ("https://n2t.net/ark:/B5060/d8?info", ("b5060", "d8")),
        ("ark:12148/?info", ("12148", "")),
    ],
)
def test_a_naan_is_found_with_or_without_label_resolver_and_name(text: str, means: tuple[str, str]) -> None:
    assert naan_and_name(text) == means


@pytest.mark.parametrize("text", ["", "ark:/", "hello world", "https://example.org/", "ark:/../", "é"])
def test_text_without_a_naan_is_refused(text: str) -> None:
    with pytest.raises(NotAnArk):
        naan_and_name(text)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("what", "naan", "shoulder", "where", "target", "when", "who", "na_policy", "test_identifier", "rtype", "new")
RECORDS = st.dictionaries(st.sampled_from(FIELDS), ANY_JSON) | ANY_JSON
TEMPLATES = st.lists(
    st.sampled_from(
        [
            "https://", "//", "/", "x.org", "\n", "https://x.org/", "$", "${", "}", "content", "pid", "?", "#", "[",
            "@", ":", " ",
        ]
    )
    | st.text(max_size=3)
).map("".join)  # fmt: skip


@given(st.lists(RECORDS, max_size=4), ANY_JSON)
def test_any_records_give_as_many_entries(records: list[Any], metadata: Any) -> None:
    assert len(registry_of(*records, metadata=metadata).entries) == len(records) + 1


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_registry_or_refused(data: bytes) -> None:
    for beginning in (b"", b'{"data": ', b"12345: http://example.org/\n "):
        with suppress(NotARegistry):
            assert read_registry(beginning + data, source="a test").entries


@given(TEMPLATES)
def test_target_leads_to_its_host_or_has_a_fault(template: str) -> None:
    target = ResolverTarget(template)
    url = target.url(Ark.parse("ark:/54321/x5.pdf"), "x5")
    assert (url is None) == (target.fault is not None)
    if url is not None:
        assert url.startswith(("http://", "https://"))
        assert url.isascii()
        assert url.isprintable()
        assert " " not in url
        assert "$" not in url.split("/")[2]


def test_a_copy_that_is_made_to_be_slow_is_looked_up_all_the_same() -> None:
    registry = Registry(tuple(RegistryEntry("54321", "x" * length) for length in range(1, 2_000)), "a test")
    assert registry.entry(Ark.parse("ark:/54321/" + "x" * 1_500 + "5")) is registry.entries[1_499]
