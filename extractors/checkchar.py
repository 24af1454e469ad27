"""NOID check characters: offline evidence of a mistyped or badly joined ARK (draft-kunze-ark-38, 2 and 4.6).

Which part of an ARK a check character covers is local practice: a zone is therefore a claim with evidence, and only
a known zone may speak.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from extractors.ark import BETANUMERIC, Ark


class Zone(StrEnum):
    """What the check character is computed over."""

    NAAN_AND_NAME = "naan-and-name"
    NAME = "name"


class Check(StrEnum):
    """What the last character of a base name says."""

    PASSES = "passes"
    FAILS = "fails"
    UNKNOWN = "unknown"


#: Zones by NAAN, or by NAAN and shoulder where only some shoulders have one. Evidence: 98,575 of 98,580 names of
#: 12148 and all 22,494 of 29072 pass over the name alone; 99166 (232 of 245), 13960 (36 of 36 not made by hand) and
#: 87278 (5 of 5) over NAAN and name, as the specification has it; of 13030 only these shoulders do (39 of 48).
KNOWN_ZONES: Mapping[tuple[str, str | None], Zone] = {
    ("12148", None): Zone.NAME,
    ("29072", None): Zone.NAME,
    ("13960", None): Zone.NAAN_AND_NAME,
    ("87278", None): Zone.NAAN_AND_NAME,
    ("99166", None): Zone.NAAN_AND_NAME,
    ("13030", "m5"): Zone.NAAN_AND_NAME,
    ("13030", "c7"): Zone.NAAN_AND_NAME,
    ("13030", "kt"): Zone.NAAN_AND_NAME,
    ("13030", "ft"): Zone.NAAN_AND_NAME,
}


def check_character(covered: str) -> str:
    """The NOID check character over *covered*: positions times ordinals, modulo 29; unknown characters count 0.

    >>> check_character("13030/xf93gt2")
    'q'
    """
    total = sum(position * max(BETANUMERIC.find(char), 0) for position, char in enumerate(covered, start=1))
    return BETANUMERIC[total % len(BETANUMERIC)]


def zone_of(naan: str, name: str) -> Zone | None:
    """The zone that is known for names like this one, or none.

    >>> zone_of("13030", "qt1234abcd") is None
    True
    """
    for (known_naan, start), zone in KNOWN_ZONES.items():
        if known_naan == naan and (start is None or name.startswith(start)):
            return zone
    return None


def check(ark: Ark) -> Check:
    """Whether the base name's last character is its check character, where a zone is known.

    >>> check(Ark.parse("ark:/12148/btv1b8449691v/f29")).value
    'passes'
    >>> check(Ark.parse("ark:/12148/btv1b8449961v")).value
    'fails'
    """
    zone = zone_of(ark.naan, ark.name)
    if zone is None or len(ark.name) < 2:
        return Check.UNKNOWN
    covered = ark.name[:-1] if zone is Zone.NAME else f"{ark.naan}/{ark.name[:-1]}"
    return Check.PASSES if check_character(covered) == ark.name[-1] else Check.FAILS
