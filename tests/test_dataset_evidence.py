"""The evidence of a dataset, from a file of names: the same as that of the ARKs themselves."""

import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.datasets import evidence as evidence_module
from arkaudit.datasets.evidence import (
    SortedNames,
    column_of,
    evidence_of,
    learned_json,
    merge_columns,
    read_evidence,
    read_names,
    write_names,
)
from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.check_characters import Zone, check_character
from extractors.wraps.evidence import Evidence

_NAMES = st.one_of(
    st.text("btv1k9é\ud800", min_size=1, max_size=6),
    st.builds(lambda stem: f"x6{stem}" + check_character(f"12345/x6{stem}"), st.integers(0, 200)),
)
_QUALIFIERS = st.sampled_from(["", "", "/f1.item", ".pdf", "/plan.Dumas"])
ARKS = st.lists(st.builds(Ark, st.sampled_from(["12345", "12148", "b5"]), _NAMES, _QUALIFIERS), max_size=60)


def parts_of(evidence: Evidence) -> tuple[object, ...]:
    zones = evidence.zones
    return list(evidence.whole), evidence.shapes, evidence.qualifiers, zones.learned, zones.known


@given(ARKS, st.randoms())
def test_evidence_from_names_is_that_of_the_arks(arks: list[Ark], chance: random.Random) -> None:
    columns = [column_of(map(str, chance.sample(arks, len(arks) // 2))), column_of(map(str, arks))]
    names = SortedNames.of_column(merge_columns(columns))
    expected = Evidence.of(arks)
    assert parts_of(evidence_of(names)) == parts_of(expected)
    for form in [*map(str, arks), "ark:12148/b", "ark:"]:
        assert evidence_of(names).begins_whole_ark(form) == expected.begins_whole_ark(form)


@pytest.mark.parametrize("seed", range(12))
def test_learned_zones_do_not_depend_on_order(seed: int) -> None:
    chance = random.Random(seed)
    arks = {_random_ark(chance, seed) for _ in range(chance.choice([15, 40, 200]))}
    names = SortedNames.of(map(str, arks))
    assert parts_of(evidence_of(names)) == parts_of(Evidence.of(arks))


def _random_ark(chance: random.Random, seed: int) -> Ark:
    """An ARK whose name mostly has a check character, under shoulders that have many names, or few."""
    naan = chance.choice(["12345", "67531"])
    stem = chance.choice(["x6", "x6", "x6", "k9", f"q{chance.randrange(5)}", "noshoulder"])
    stem += "".join(chance.choices(BETANUMERIC, k=chance.choice([6, 6, 6, 7])))
    zone = chance.choice(list(Zone)) if seed % 3 == 0 else Zone.NAME
    last = check_character(zone.covered_text(naan, stem), zone.alphabet)
    return Ark(naan, stem + (last if chance.random() < (0.97, 0.5, 0.9)[seed % 3] else chance.choice(BETANUMERIC)))


@given(ARKS)
def test_evidence_is_kept_whole(arks: list[Ark]) -> None:
    names = SortedNames.of(map(str, arks))
    evidence = evidence_of(names)
    assert list(pickle.loads(pickle.dumps(names))) == list(names)
    assert all(Ark.of_normal_form(str(ark)) == ark for ark in arks)
    assert learned_json(evidence) == learned_json(Evidence.of(arks))


def test_a_file_of_names_is_mapped_and_looked_up(tmp_path: Path) -> None:
    arks = [Ark("76543", f"btv1b{number:05}", "/f1.item" if number % 7 == 0 else "") for number in range(3_000)]
    column = column_of(map(str, arks))
    write_names(column, tmp_path / "whole.arrow")
    kept = read_evidence(tmp_path / "whole.arrow", learned_json(evidence_of(SortedNames.of_column(column))))
    assert parts_of(kept) == parts_of(Evidence.of(arks))
    assert kept.holds("ark:76543/btv1b00001")
    assert not kept.holds("ark:76543/btv1b0000")
    assert len(read_names(tmp_path / "whole.arrow")) == 3_000


def test_many_columns_are_joined_range_by_range(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    names = [f"ark:12148/{chance.randrange(3_000)}" for _ in range(6_000)] + [
        "ark:1/é",
        "ark:1/\ud800",
        "ark:1/\U00010000",
    ]
    for limits in ((1, 2, 3, 7), (400, 1_000, 3, 100), (2**26, 5, 16, 250_000)):
        for name, limit in zip(
            ("GATHERED_BYTES", "GATHERED_COLUMNS", "MERGED_COLUMNS", "MERGED_NAMES"), limits, strict=True
        ):
            monkeypatch.setattr(evidence_module, f"_{name}", limit)
        chance.shuffle(names)
        columns = [column_of(names[start : start + 50]) for start in range(0, len(names), 50)]
        assert list(SortedNames.of_column(merge_columns(columns))) == sorted(set(names))


def test_no_names_give_no_evidence(tmp_path: Path) -> None:
    write_names(column_of([]), tmp_path / "whole.arrow")
    kept = read_evidence(tmp_path / "whole.arrow", learned_json(Evidence.of([])))
    assert parts_of(kept) == parts_of(Evidence.of([]))
    assert list(merge_columns([])) == []
