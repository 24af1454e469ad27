"""Check characters: the arithmetic, the zones that are known, and those that are learned."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.check_characters import (
    CHANCE_LEVEL,
    ENOUGH_NAMES,
    KNOWN_RULES,
    KNOWN_ZONES,
    PASSING_SHARE,
    CheckCharacter,
    CheckCharacterRule,
    Zone,
    Zones,
    chance_of,
    check_character,
)
from tests.vectors import vectors


def with_check(zone: Zone, naan: str, stem: str) -> Ark:
    """Return the ARK of *stem* with its check character."""
    return Ark(naan, stem + check_character(zone.covered_text(naan, stem), zone.alphabet))


def mint_names(zone: Zone, naan: str, shoulder: str, count: int, seed: int = 0) -> list[Ark]:
    """Return *count* distinct names of one shoulder, all with their check character."""
    pick = random.Random(seed)
    stems: set[str] = set()
    while len(stems) < count:
        stems.add(shoulder + "".join(pick.choice(zone.alphabet) for _ in range(7)))
    return [with_check(zone, naan, stem) for stem in sorted(stems)]


def without_check(naan: str, shoulder: str, count: int) -> list[Ark]:
    """Return names in sequence, as a counter makes them."""
    return [Ark(naan, f"{shoulder}{number:06}") for number in range(count)]


def mistype(ark: Ark) -> Ark:
    """Return the ARK with one wrong character in its name."""
    return Ark(ark.naan, ark.name[:3] + ("b" if ark.name[3] != "b" else "c") + ark.name[4:])


@pytest.mark.parametrize("vector", vectors("checkchar"))
def test_check_character_over_a_zone(vector: dict[str, Any]) -> None:
    assert Zone(vector["zone"]).passes(vector["naan"], vector["name"]) is vector["passes"]


@pytest.mark.parametrize("vector", vectors("known_zones"))
def test_zones_known_without_learning(vector: dict[str, Any]) -> None:
    assert Zones(declared=vector.get("declared", {})).check(Ark.parse(vector["ark"])).value == vector["check"]


@given(st.sampled_from([Zone.NAAN_AND_NAME, Zone.NAME]), st.text(BETANUMERIC, min_size=3, max_size=20), st.data())
def test_a_check_character_sees_any_wrong_character(zone: Zone, stem: str, data: st.DataObject) -> None:
    whole = with_check(zone, "12148", stem).name
    assert zone.passes("12148", whole)
    at = data.draw(st.integers(0, len(whole) - 1).filter(lambda at: (at + 7) % 29 and (at + 1) % 29))
    other = data.draw(st.sampled_from(BETANUMERIC).filter(lambda char: char != whole[at]))
    assert not zone.passes("12148", whole[:at] + other + whole[at + 1 :])


@given(st.sampled_from([Zone.NAAN_AND_NAME, Zone.NAME]), st.text(BETANUMERIC, min_size=3, max_size=20), st.data())
def test_a_check_character_sees_neighbours_swapped(zone: Zone, stem: str, data: st.DataObject) -> None:
    whole = with_check(zone, "12148", stem).name
    at = data.draw(st.integers(0, len(stem) - 2))
    swapped = whole[:at] + whole[at + 1] + whole[at] + whole[at + 2 :]
    assert zone.passes("12148", swapped) is (swapped == whole)


def test_known_starts_are_as_long_as_they_are_looked_up() -> None:
    assert all(start is None or len(start) == 2 for _, start in KNOWN_RULES)


def test_known_zones_are_those_of_the_claims() -> None:
    assert KNOWN_RULES
    assert all(
        KNOWN_ZONES.rule_for(naan, f"{start or ''}0000000") is rule for (naan, start), rule in KNOWN_RULES.items()
    )


@pytest.mark.parametrize("rule", KNOWN_RULES.values(), ids=map(str, KNOWN_RULES))
def test_no_known_claim_can_be_chance(rule: CheckCharacterRule) -> None:
    assert chance_of(rule.name_count, rule.passing_count) < 1e-10


def test_the_chance_of_few_names_is_the_binomial_tail() -> None:
    at_least_one = 1 - (28 / 29) ** 3
    assert chance_of(3, 1) == pytest.approx(at_least_one)
    assert chance_of(3, 3) == pytest.approx((1 / 29) ** 3)
    assert chance_of(29 * 1000, 1000) == 1.0
    assert 0.001 < chance_of(29 * 1000, 1060) < 0.05
    assert chance_of(1_000_000, 990_000) == 0.0


@pytest.mark.parametrize("zone", Zone)
def test_a_zone_is_learned_from_enough_names(zone: Zone) -> None:
    arks = mint_names(zone, "54321", "4", ENOUGH_NAMES)
    assert Zones.from_arks(arks).learned == {("54321", "4"): CheckCharacterRule(zone, ENOUGH_NAMES, ENOUGH_NAMES)}
    zones = Zones.from_arks(arks)
    fresh = with_check(zone, "54321", "4BCDF" if zone is Zone.UPPER_CASE else "4bcdf")
    assert zones.check(fresh) is CheckCharacter.PASSES
    assert zones.check(mistype(fresh)) is CheckCharacter.FAILS
    assert KNOWN_ZONES.check(fresh) is CheckCharacter.UNKNOWN
    assert replace(zones, declared={"54321": True}).rule_for("54321", fresh.name) == zones.rule_for("54321", fresh.name)
    assert replace(zones, declared={"54321": False}).check(mistype(fresh)) is CheckCharacter.NONE


@pytest.mark.parametrize(("names", "typos"), [(6, 0), (8, 1), (40, 3), (40, 5)])
def test_zone_is_learned_from_a_bibliography_with_typos(names: int, typos: int) -> None:
    arks = mint_names(Zone.NAME, "54321", "x5", names)
    zones = Zones.from_arks([*map(mistype, arks[:typos]), *arks[typos:]])
    assert [zones.check(mistype(ark)) for ark in arks[:typos]] == [CheckCharacter.FAILS] * typos
    assert zones.learned["54321", "x5"] == CheckCharacterRule(Zone.NAME, names, names - typos)


@pytest.mark.parametrize(("names", "typos"), [(5, 0), (7, 1), (22, 3), (40, 6)])
def test_too_few_passing_names_teach_nothing(names: int, typos: int) -> None:
    arks = mint_names(Zone.NAME, "54321", "x5", names)
    assert Zones.from_arks([*map(mistype, arks[:typos]), *arks[typos:]]).learned == {}


def test_the_same_name_again_teaches_nothing_more() -> None:
    few = mint_names(Zone.NAME, "54321", "x5", 5)
    parts = [Ark(ark.naan, ark.name, "/f1.item") for ark in few]
    assert Zones.from_arks(few * 3 + parts).learned == {}


def test_mistyped_names_are_tolerated_up_to_the_share() -> None:
    arks = mint_names(Zone.NAME, "54321", "x5", 100)
    allowed = int(100 * (1 - PASSING_SHARE))
    spoilt = [*map(mistype, arks[:allowed]), *arks[allowed:]]
    assert Zones.from_arks(spoilt).learned["54321", "x5"] == CheckCharacterRule(Zone.NAME, 100, 100 - allowed)
    one_more = [*map(mistype, arks[: allowed + 1]), *arks[allowed + 1 :]]
    assert Zones.from_arks(one_more).learned == {}


def test_names_at_chance_level_have_no_check_characters() -> None:
    arks = without_check("67531", "metadc", 200)
    zones = Zones.from_arks(arks)
    rule = zones.rule_for("67531", "metadc107835")
    assert rule is not None
    assert rule.zone is None
    assert chance_of(rule.name_count, rule.passing_count) >= CHANCE_LEVEL
    assert {zones.check(ark) for ark in arks} == {CheckCharacter.NONE}
    assert CheckCharacter.NONE not in {replace(zones, declared={"67531": True}).check(ark) for ark in arks}


def test_a_mixture_of_both_teaches_nothing() -> None:
    arks = mint_names(Zone.NAME, "54321", "x5", 50) + without_check("54321", "x5", 50)
    assert Zones.from_arks(arks).learned == {}


def test_shoulders_are_learned_apart() -> None:
    arks = mint_names(Zone.NAAN_AND_NAME, "54321", "x5", 30) + without_check("54321", "qt0", 30)
    zones = Zones.from_arks(arks)
    assert {zones.check(ark) for ark in arks[:30]} == {CheckCharacter.PASSES}
    assert {zones.check(ark) for ark in arks[30:]} == {CheckCharacter.NONE}


def test_a_small_shoulder_takes_the_zone_of_its_naan_if_its_own_names_support_it() -> None:
    arks = [ark for digit in range(10) for ark in mint_names(Zone.NAAN_AND_NAME, "54321", f"t{digit}", 4)]
    zones = Zones.from_arks(arks)
    assert zones.rule_for("54321", "t7xxxx") == CheckCharacterRule(Zone.NAAN_AND_NAME, 40, 40)
    assert zones.check(mistype(arks[0])) is CheckCharacter.FAILS
    assert zones.check(Ark("54321", "qt0dd8d1c2")) is CheckCharacter.UNKNOWN


def test_a_small_shoulder_without_check_characters_is_not_taken_along() -> None:
    arks = mint_names(Zone.NAAN_AND_NAME, "54321", "x5", 200) + without_check("54321", "qt0", 2)
    assert set(Zones.from_arks(arks).learned) == {("54321", "x5")}


@given(st.data())
def test_the_order_of_the_arks_teaches_nothing(data: st.DataObject) -> None:
    arks = mint_names(Zone.NAAN_AND_NAME, "54321", "x5", 25) + mint_names(Zone.NAME, "54321", "t1", 3)
    arks += without_check("54321", "qt0", 30) + without_check("12148", "b", 25)
    shuffled = data.draw(st.permutations(arks))
    assert list(Zones.from_arks(shuffled).learned.items()) == list(Zones.from_arks(arks).learned.items())


def test_of_two_claims_the_one_with_more_names_speaks() -> None:
    invented = [Ark("12148", f"bpt6k{number}x") for number in range(1000, 1040)]
    zones = Zones.from_arks(invented)
    assert zones.learned["12148", "bpt6"].zone is None
    assert zones.check(Ark.parse("ark:/12148/bpt6k107371t")) is CheckCharacter.PASSES
    no_longer = Zones.from_arks(without_check("13030", "c7", 60))
    assert no_longer.check(Ark("13030", "c7000001")) is CheckCharacter.NONE


@given(st.lists(st.builds(Ark, st.sampled_from(["1", "%C3"]), st.text(min_size=1, max_size=5)), max_size=30))
def test_learning_from_anything_never_fails(arks: list[Ark]) -> None:
    zones = Zones.from_arks(arks)
    assert all(zones.check(ark) in CheckCharacter for ark in arks)
