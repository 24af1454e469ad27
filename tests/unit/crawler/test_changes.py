"""Differences between two checks of a working ARK, and differences that do not count."""

from datetime import UTC, datetime
from itertools import pairwise

from crawler.answers.likeness import sketch
from crawler.history.ark_status import (
    DatedVerdict,
    Event,
    EventKind,
    ObjectFeatures,
    commitment_to_compare,
    comparable_landing_url,
    compare,
    metadata_to_compare,
    step,
)
from crawler.model.outcomes import ObjectOutcome

WORDS = "the river has a bridge of seven arches that was built when the town was still inside its walls"


def words(known: ObjectFeatures, seen: ObjectFeatures) -> list[str]:
    """Return the changes that two checks in a row show."""
    after, differences = compare(known, known, seen, least_likeness=0.3)
    assert (after, differences) == (known, []), "one check proves no change"
    _, differences = compare(known, seen, seen, least_likeness=0.3)
    return [event.detail for event in differences]


def test_another_text_is_another_object_and_a_new_footer_is_not() -> None:
    page = sketch(WORDS)
    with_footer = sketch(WORDS + " imprint and privacy")
    other = sketch("domain names are for sale here and this one could be yours from today on")
    assert words(ObjectFeatures(sketch=page), ObjectFeatures(sketch=with_footer)) == []
    [told] = words(ObjectFeatures(sketch=page), ObjectFeatures(sketch=other))
    assert told == "object: 0% of its text is as it was"


def test_a_slow_drift_adds_up() -> None:
    others = [f"other{letter}" for letter in "abcdefghijklmnopqrs"]
    texts = [" ".join(others[:at] + WORDS.split()[at:]) for at in (0, 5, 10, 15)]
    one_by_one = (words(ObjectFeatures(sketch=sketch(a)), ObjectFeatures(sketch=sketch(b))) for a, b in pairwise(texts))
    assert not any(one_by_one)
    known = last = ObjectFeatures(sketch=sketch(texts[0]))
    told = []
    for text in texts[1:]:
        known, differences = compare(known, last, ObjectFeatures(sketch=sketch(text)), least_likeness=0.3)
        last = ObjectFeatures(sketch=sketch(text))
        told += differences
    assert len(told) == 1


def test_bytes_count_where_there_is_no_text() -> None:
    assert words(ObjectFeatures(digest="a"), ObjectFeatures(digest="b")) == ["object: its bytes are others"]
    assert words(ObjectFeatures(digest="a", sketch="0000000a"), ObjectFeatures(digest="b", sketch="0000000a")) == []
    assert words(ObjectFeatures(digest="a"), ObjectFeatures()) == []


def test_a_description_that_was_not_asked_for_has_not_been_lost() -> None:
    known = ObjectFeatures(description={"what": "A map"}, promise={"what": "Not Guaranteed"})
    assert compare(known, known, ObjectFeatures(), least_likeness=0.3) == (known, [])


def test_changed_words_of_metadata_are_reported() -> None:
    known = ObjectFeatures(
        description={"who": "A Library", "what": "A map"},
        promise={"who": "A Library", "what": "Permanent: Stable Content", "when": "2020"},
    )
    now = ObjectFeatures(
        description={"who": "A Library", "what": "A chart"},
        promise={"who": "Another", "what": "Not Guaranteed", "when": "2026"},
    )
    assert words(known, now) == [
        "metadata: what: 'A map', now 'A chart'",
        "commitment: who: 'A Library', now 'Another'",
        "commitment: what: 'Permanent: Stable Content', now 'Not Guaranteed'",
        "commitment: when: '2020', now '2026'",
    ]


def test_a_commitment_can_be_withdrawn_and_given() -> None:
    stated = ObjectFeatures(promise={"what": "Not Guaranteed"})
    assert words(stated, ObjectFeatures(promise=commitment_to_compare("absent", {}))) == ["commitment: given no more"]
    assert words(ObjectFeatures(promise={}), stated) == ["commitment: given now"]
    assert words(stated, ObjectFeatures(promise=commitment_to_compare("undetermined", {}))) == []


def test_records_without_erc_fields_are_compared_as_wholes() -> None:
    one, other = (
        metadata_to_compare("structured", {"license": "CC0", "size": 7}),
        metadata_to_compare("structured", {"size": 8}),
    )
    assert one != other
    assert one == metadata_to_compare("structured", {"size": 7, "license": "CC0"})


def test_what_varies_from_check_to_check_is_no_change() -> None:
    related = ("a bridge and its toll", "the mill in winter light", "portraits of seven bakers", "letters from the sea")
    checks = [
        ObjectFeatures(f"https://a.example/7?t=176{at}", sketch(f"{items} {items}s"), str(at), {"when": str(at)})
        for at, items in enumerate(related)
    ]
    status, told = None, list[Event]()
    for day, features in enumerate(checks):
        status, events = step(status, DatedVerdict(at(day), ObjectOutcome.RESOLVED, features=features))
        told += events
    assert [event.kind for event in told] == [EventKind.NEW]


def test_fault_of_one_check_is_no_loss_of_metadata() -> None:
    given, lost = ObjectFeatures(description={"what": "A map"}), ObjectFeatures(description={})
    for checks, expected in (
        ([given, lost, given, lost], []),
        ([given, lost, ObjectFeatures(), lost, lost, given, given], ["metadata: given no more", "metadata: given now"]),
    ):
        status, told = None, list[str]()
        for day, features in enumerate(checks):
            status, events = step(status, DatedVerdict(at(day), ObjectOutcome.RESOLVED, features=features))
            told += [event.detail for event in events if event.kind is EventKind.CHANGED]
        assert told == expected


def at(day: int) -> datetime:
    return datetime(2026, 1, 1 + day, tzinfo=UTC)


def test_non_url_is_its_own_place() -> None:
    assert comparable_landing_url("http://[broken/x") == "http://[broken/x"
    assert comparable_landing_url("urn:isbn:1") == "urn:isbn:1"
