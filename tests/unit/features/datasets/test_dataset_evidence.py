"""The evidence of a dataset, from the names of ARKs: the same as that of the ARKs themselves."""

import pickle
import random
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.datasets.evidence import DatasetEvidence, learn
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
    return list(evidence.whole_forms), evidence.shapes, evidence.qualifier_words, zones.learned


def evidence_of_documents(arks: Iterable[Ark]) -> DatasetEvidence:
    """Return what is learned from documents of one ARK each, in two parts."""
    names = [[str(ark).encode("utf-8", "surrogatepass")] for ark in arks]
    halves = (names[: len(names) // 2], names[len(names) // 2 :])
    return learn(pa.chunked_array([half], pa.list_(pa.binary())) for half in halves)


@given(ARKS)
def test_evidence_from_names_is_that_of_the_arks(arks: list[Ark]) -> None:
    evidence = evidence_of_documents(arks).evidence
    expected = Evidence.from_arks(arks, frozenset(ark for ark in arks if arks.count(ark) > 1))
    assert parts_of(evidence) == parts_of(expected)
    assert [ark in evidence.supported_arks for ark in arks] == [ark in expected.supported_arks for ark in arks]
    for form in [*map(str, arks), "ark:12148/b", "ark:"]:
        assert evidence.begins_whole_ark(form) == expected.begins_whole_ark(form)
    assert parts_of(pickle.loads(pickle.dumps(evidence))) == parts_of(evidence)
    assert all(Ark.of_normal_form(str(ark)) == ark for ark in arks)


@pytest.mark.parametrize("seed", range(12))
def test_learned_zones_do_not_depend_on_order(seed: int) -> None:
    chance = random.Random(seed)
    arks = {_random_ark(chance, seed) for _ in range(chance.choice([15, 40, 200]))}
    assert parts_of(evidence_of_documents(arks).evidence) == parts_of(Evidence.from_arks(arks))


def test_digest_tells_repeated_names_from_single_ones() -> None:
    ark = Ark("12148", "btv1b84")
    assert evidence_of_documents([ark]).digest != evidence_of_documents([ark] * 2).digest
    assert evidence_of_documents([ark] * 2).digest == evidence_of_documents([ark] * 3).digest


def test_names_are_merged_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    arks = [Ark("12148", f"btv1b{chance.randrange(300):05}") for _ in range(1_000)]
    whole = evidence_of_documents(arks)
    monkeypatch.setattr("arkaudit.features.datasets.evidence._BATCH_NAMES", 10)
    assert parts_of(evidence_of_documents(arks).evidence) == parts_of(whole.evidence)


def _random_ark(chance: random.Random, seed: int) -> Ark:
    """An ARK whose name mostly has a check character, under shoulders that have many names, or few."""
    naan = chance.choice(["12345", "67531"])
    stem = chance.choice(["x6", "x6", "x6", "k9", f"q{chance.randrange(5)}", "noshoulder"])
    stem += "".join(chance.choices(BETANUMERIC, k=chance.choice([6, 6, 6, 7])))
    zone = chance.choice(list(Zone)) if seed % 3 == 0 else Zone.NAME
    last = check_character(zone.covered_text(naan, stem), zone.alphabet)
    return Ark(naan, stem + (last if chance.random() < (0.97, 0.5, 0.9)[seed % 3] else chance.choice(BETANUMERIC)))


@pytest.mark.parametrize("count", [0, 3_000])
def test_evidence_is_sent_and_looked_up(count: int) -> None:
    arks = [Ark("76543", f"btv1b{number:05}", "/f1.item" if number % 7 == 0 else "") for number in range(count)]
    arks += arks[:5]
    sent = pickle.loads(pickle.dumps(evidence_of_documents(arks))).evidence
    assert parts_of(sent) == parts_of(Evidence.from_arks(arks))
    assert sent.has_whole_ark("ark:76543/btv1b00001") == (count > 0)
    assert not sent.has_whole_ark("ark:76543/btv1b0000")
    assert len(sent.whole_forms) == count
    documents = Counter(arks)
    assert [ark in sent.supported_arks for ark in arks] == [documents[ark] > 1 for ark in arks]
