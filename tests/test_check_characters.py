"""Check characters of many names at once say what they say one by one."""

from __future__ import annotations

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.check_characters import KNOWN_CLAIMS, UPPER_CASE, Zone, Zones, check_character
from reports.tables.check_characters import checked

NAANS = st.sampled_from(["12148", "13030", "67375", "10000", "b\N{LATIN SMALL LETTER E WITH ACUTE}7"])
NAMES = st.text(st.sampled_from(BETANUMERIC + UPPER_CASE + "-~\N{LATIN SMALL LETTER E WITH ACUTE}"), max_size=6)
#: Names by which claims are learned and held against those that are known: many of one shoulder, with and without.
MANY = [
    *(Ark("10000", f"x6{n}" + check_character(f"10000/x6{n}")) for n in range(100, 200)),
    *(Ark("10001", f"x6{n}") for n in range(1000, 1100)),
    *(Ark("67375", f"6H6{n}" + check_character(f"673756H6{n}", UPPER_CASE)) for n in range(100, 200)),
    *(Ark(naan, f"{beginning or 'b'}4{n}", "/f1") for (naan, beginning) in KNOWN_CLAIMS for n in range(3)),
    *(Ark(naan, beginning) for (naan, beginning) in KNOWN_CLAIMS if beginning),
    *(Ark("10000", name) for name in ("x6", "x", "", "x6100z", "x6100z", "caf\N{LATIN SMALL LETTER E WITH ACUTE}")),
]


@given(st.lists(st.builds(Ark, NAANS, NAMES, st.sampled_from(["", "/f1"]))))
@example([])
@example(MANY)
@example(MANY[:100])
def test_many_at_once_are_checked_as_one_by_one(arks: list[Ark]) -> None:
    frame = pd.DataFrame({"naan": [ark.naan for ark in arks], "name": [ark.name for ark in arks]}, dtype="str")
    zones, words = checked(frame)
    expected = Zones.of(arks)
    assert zones == expected
    assert list(zones.learned) == list(expected.learned)
    assert list(words) == [expected.check(ark).value for ark in arks]


def test_every_zone_is_among_what_is_learned_of_many() -> None:
    frame = pd.DataFrame({"naan": [ark.naan for ark in MANY], "name": [ark.name for ark in MANY]}, dtype="str")
    zones, words = checked(frame)
    assert {claim.zone for claim in zones.learned.values()} >= {None, Zone.NAAN_AND_NAME, Zone.UPPER_CASE}
    assert set(words) == {"passes", "fails", "none", "unknown"}
