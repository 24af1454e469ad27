"""The evidence of a dataset, from a file of names: the same as that of the ARKs themselves."""

import pickle
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.datasets.evidence import digest_of, evidence_of, read_evidence, write_evidence
from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.check_characters import Zone, check_character
from extractors.wraps.evidence import Evidence

_NAMES = st.one_of(
    st.text("btv1k9é\ud800", min_size=1, max_size=6),
    st.builds(lambda stem: f"x6{stem}" + check_character(f"12345/x6{stem}"), st.integers(0, 200)),
)
_QUALIFIERS = st.sampled_from(["", "", "/f1.item", ".pdf", "/plan.Dumas"])
ARKS = st.lists(st.builds(Ark, st.sampled_from(["12345", "12148", "b5"]), _NAMES, _QUALIFIERS), max_size=60)


def names_table(names: Iterable[str]) -> pa.Table:
    """Return a table with a row for each distinct name, in order, and a flag that is 1 if *names* repeat it."""
    counts = Counter(name.encode("utf-8", "surrogatepass") for name in names)
    encoded = sorted(counts)
    flags = [int(counts[name] > 1) for name in encoded]
    return pa.table({"name": pa.array(encoded, pa.large_binary()), "repeated": pa.array(flags, pa.uint8())})


def parts_of(evidence: Evidence) -> tuple[object, ...]:
    zones = evidence.zones
    return list(evidence.whole), evidence.shapes, evidence.qualifiers, zones.learned, zones.known


def learned(arks: Iterable[Ark]) -> tuple[pa.Table, Evidence]:
    """Return the names of ARKs as a table, and their evidence."""
    arks = list(arks)
    names = names_table(map(str, arks))
    return names, evidence_of(names, names_table(str(ark.base) for ark in arks))


@given(ARKS)
def test_evidence_from_names_is_that_of_the_arks(arks: list[Ark]) -> None:
    _, evidence = learned(arks)
    expected = Evidence.from_arks(arks, frozenset(ark for ark in arks if arks.count(ark) > 1))
    assert parts_of(evidence) == parts_of(expected)
    assert [ark in evidence.supported for ark in arks] == [ark in expected.supported for ark in arks]
    for form in [*map(str, arks), "ark:12148/b", "ark:"]:
        assert evidence.begins_whole_ark(form) == expected.begins_whole_ark(form)
    assert parts_of(pickle.loads(pickle.dumps(evidence))) == parts_of(evidence)
    assert all(Ark.of_normal_form(str(ark)) == ark for ark in arks)


@pytest.mark.parametrize("seed", range(12))
def test_learned_zones_do_not_depend_on_order(seed: int) -> None:
    chance = random.Random(seed)
    arks = {_random_ark(chance, seed) for _ in range(chance.choice([15, 40, 200]))}
    assert parts_of(learned(arks)[1]) == parts_of(Evidence.from_arks(arks))


def test_digest_tells_repeated_names_from_single_ones() -> None:
    assert digest_of(names_table(["ark:1/a"])) != digest_of(names_table(["ark:1/a"] * 2))


def _random_ark(chance: random.Random, seed: int) -> Ark:
    """An ARK whose name mostly has a check character, under shoulders that have many names, or few."""
    naan = chance.choice(["12345", "67531"])
    stem = chance.choice(["x6", "x6", "x6", "k9", f"q{chance.randrange(5)}", "noshoulder"])
    stem += "".join(chance.choices(BETANUMERIC, k=chance.choice([6, 6, 6, 7])))
    zone = chance.choice(list(Zone)) if seed % 3 == 0 else Zone.NAME
    last = check_character(zone.covered_text(naan, stem), zone.alphabet)
    return Ark(naan, stem + (last if chance.random() < (0.97, 0.5, 0.9)[seed % 3] else chance.choice(BETANUMERIC)))


@pytest.mark.parametrize("count", [0, 3_000])
def test_a_file_of_evidence_is_mapped_and_looked_up(tmp_path: Path, count: int) -> None:
    arks = [Ark("76543", f"btv1b{number:05}", "/f1.item" if number % 7 == 0 else "") for number in range(count)]
    arks += arks[:5]
    names, evidence = learned(arks)
    write_evidence(names, evidence, tmp_path / "evidence.arrow")
    kept = read_evidence(tmp_path / "evidence.arrow")
    assert parts_of(kept) == parts_of(Evidence.from_arks(arks))
    assert kept.holds("ark:76543/btv1b00001") == (count > 0)
    assert not kept.holds("ark:76543/btv1b0000")
    assert len(kept.whole) == count
    assert [ark in kept.supported for ark in arks] == [arks.count(ark) > 1 for ark in arks]
