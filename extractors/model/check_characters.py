"""NOID check characters: offline evidence of a mistyped or badly joined ARK (draft-kunze-ark-38, 2 and 4.6).

Which part of an ARK a check character covers is local practice: a zone is therefore a claim with evidence, and only
where one is known, or was learned from the ARKs at hand, may a failure speak.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from operator import mul

from extractors.model.ark import BETANUMERIC, Ark, shoulder_of

#: The alphabet of INIST (NAAN 67375): digits and upper-case consonants; 30 letters, so weaker than a prime number.
UPPER_CASE = "0123456789BCDFGHJKLMNPQRSTVWXZ"

#: So many distinct names of one shoulder make evidence, and so large a part of them must pass.
ENOUGH_NAMES = 20
PASSING_SHARE = 0.95
#: A name made without a check character passes by chance once in so many.
CHANCE = 1 / len(BETANUMERIC)
#: Where no fewer than this share of chance experiments gave as many passes, nothing but chance has been seen.
CHANCE_LEVEL = 0.01
#: A shoulder with fewer names takes its NAAN's zone if its own names are so many times likelier with it than by chance.
LIKELIER = 20.0


class Zone(StrEnum):
    """The part of an ARK that the check character is computed over, and its alphabet."""

    NAAN_AND_NAME = "naan-and-name"
    """``NAAN/name``, as the specification has it."""
    NAME = "name"
    """The name alone."""
    UPPER_CASE = "naan-and-name-upper-case"
    """NAAN and name without the slash, in an alphabet of upper-case letters."""

    @property
    def alphabet(self) -> str:
        """The letters that count, in their order; the check character is one of them."""
        return UPPER_CASE if self is Zone.UPPER_CASE else BETANUMERIC

    def covered(self, naan: str, stem: str) -> str:
        """Return what the check character of *stem*, a base name without its last character, is computed over."""
        match self:
            case Zone.NAAN_AND_NAME:
                return f"{naan}/{stem}"
            case Zone.NAME:
                return stem
            case Zone.UPPER_CASE:
                return naan + stem

    def passes(self, naan: str, name: str) -> bool:
        """Return whether the last character of *name* is the check character of the rest.

        >>> Zone.NAME.passes("12148", "btv1b8449691v"), Zone.UPPER_CASE.passes("67375", "6H6N49F7FRRQ")
        (True, True)
        """
        return (
            len(name) > 1
            and check_character(self.covered(naan, name[:-1]), self.alphabet) == name[-1]
        )


class CheckCharacter(StrEnum):
    """The result of testing the last character of a base name."""

    PASSES = "passes"
    FAILS = "fails"
    NONE = "none"
    """Names of this shoulder have no check characters: they pass as often as chance has it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckCharacterRule:
    """That certain names end in a check character over *zone*, or (with no zone) in none; and what it rests on."""

    zone: Zone | None
    seen: int
    """Distinct names."""
    passed: int
    """Those of them that pass; for no zone, in the zone where most do."""


Key = tuple[str, str | None]

#: Claims by NAAN and the two characters that names begin with, None for all of them. The names were counted in public
#: repositories; most of the few that fail are visibly cut short. Left out for want of evidence: 87278 (19 of 22
#: pass), 88435 (74 of 91), 67375 (72 of 72 in the zone for upper case, but none of 6 in its vocabulary P66).
KNOWN_CLAIMS: Mapping[Key, CheckCharacterRule] = {
    ("12148", None): CheckCharacterRule(Zone.NAME, 98_580, 98_575),
    ("29072", None): CheckCharacterRule(Zone.NAME, 22_494, 22_494),
    ("13960", None): CheckCharacterRule(Zone.NAAN_AND_NAME, 46, 45),
    ("99166", "p9"): CheckCharacterRule(Zone.NAAN_AND_NAME, 38, 38),
    ("99166", "w6"): CheckCharacterRule(Zone.NAAN_AND_NAME, 9, 8),
    ("13030", "m5"): CheckCharacterRule(Zone.NAAN_AND_NAME, 31, 31),
    ("13030", "c7"): CheckCharacterRule(Zone.NAAN_AND_NAME, 11, 11),
    ("13030", "c8"): CheckCharacterRule(Zone.NAAN_AND_NAME, 9, 9),
    ("13030", "kt"): CheckCharacterRule(Zone.NAAN_AND_NAME, 36, 35),
    ("13030", "ft"): CheckCharacterRule(Zone.NAAN_AND_NAME, 11, 11),
    ("13030", "tf"): CheckCharacterRule(Zone.NAAN_AND_NAME, 24, 24),
}
#: Shoulders of which nothing is known about check characters, or that their names have none.
SHOULDERS = frozenset(
    {
        ("13030", "qt"),
        ("13030", "hb"),
        ("13030", "d3"),
        ("99152", "p0"),
        ("99152", "h4"),
        ("87278", "s6"),
        ("21547", "p1"),
    }
)

#: The ordinal of each octet: of characters that don't count, and of what is no ASCII, 0.
_ORDINALS = {
    alphabet: bytes(max(0, alphabet.find(chr(octet))) for octet in range(256))
    for alphabet in (BETANUMERIC, UPPER_CASE)
}


def check_character(covered: str, alphabet: str = BETANUMERIC) -> str:
    """The NOID check character over *covered*: positions times ordinals, modulo the alphabet; others count 0.

    >>> check_character("13030/xf93gt2")
    'q'
    """
    return alphabet[sum(map(mul, _ordinals(covered, alphabet), count(1))) % len(alphabet)]


def chance_of(names: int, passed: int) -> float:
    """The probability that *passed* or more of so many *names* pass by chance: the tail of the binomial distribution.

    It is given as 1 where no more pass than chance lets expect.

    >>> round(chance_of(20, 3), 3), chance_of(22_494, 728)
    (0.03, 1.0)
    """
    if passed <= names * CHANCE:
        return 1.0
    log_term = (
        math.lgamma(names + 1)
        - math.lgamma(passed + 1)
        - math.lgamma(names - passed + 1)
        + passed * math.log(CHANCE)
        + (names - passed) * math.log1p(-CHANCE)
    )
    term = total = math.exp(log_term)
    for number in range(passed, names):  # above the mean each term is smaller than the one before
        term *= (names - number) / (number + 1) * CHANCE / (1 - CHANCE)
        total += term
        if term <= total * 1e-15:
            break
    return min(total, 1.0)


def _ordinals(text: str, alphabet: str) -> bytes:
    """Return the ordinal of each character; those that don't count have 0."""
    return text.encode("ascii", "replace").translate(_ORDINALS[alphabet])


@dataclass(slots=True)
class _Tally:
    """The counts of names, and of those that pass, by zone."""

    seen: int = 0
    passed: Counter[Zone] = field(default_factory=Counter)

    def add(self, naan: str, name: str) -> None:
        """Count one more name."""
        self.seen += 1
        self.passed.update(zone for zone in Zone if zone.passes(naan, name))

    def claim(self) -> CheckCharacterRule | None:
        """Return what these names show: a zone, that there is none, or nothing."""
        if self.seen < ENOUGH_NAMES:
            return None
        zone = max(
            Zone, key=lambda zone: self.passed[zone]
        )  # of equals the first, which is the specification's
        passed = self.passed[zone]
        if passed >= PASSING_SHARE * self.seen:
            return CheckCharacterRule(zone, self.seen, passed)
        return (
            CheckCharacterRule(None, self.seen, passed)
            if chance_of(self.seen, passed) >= CHANCE_LEVEL
            else None
        )

    def supports(self, zone: Zone) -> bool:
        """Return whether these names are much likelier with check characters over *zone* than by chance."""
        passed = self.passed[zone]
        weight = passed * math.log(PASSING_SHARE / CHANCE)
        weight += (self.seen - passed) * math.log((1 - PASSING_SHARE) / (1 - CHANCE))
        return weight >= math.log(LIKELIER)


def learned_zones(bases: Iterable[Ark]) -> Mapping[Key, CheckCharacterRule]:
    """Return what distinct ARKs without qualifiers show, by NAAN and primordinal shoulder (None: names without one).

    Their order changes nothing. A shoulder with too few names of its own takes the zone that all names of its NAAN
    show, if its own names support that.

    >>> arks = [Ark("12345", f"x6{number}" + check_character(f"12345/x6{number}")) for number in range(100, 120)]
    >>> learned_zones(arks)
    {('12345', 'x6'): CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, seen=20, passed=20)}
    """
    tallies: dict[str, dict[str | None, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
    for base in bases:
        if len(base.name) > 1:
            tallies[base.naan][base.shoulder].add(base.naan, base.name)
    return {
        (naan, shoulder): claim
        for naan in sorted(tallies)
        for shoulder, claim in _claims(tallies[naan])
    }


def _claims(
    tallies: Mapping[str | None, _Tally],
) -> Iterator[tuple[str | None, CheckCharacterRule]]:
    """The claims that the names of one NAAN make, by shoulder."""
    of_all = _Tally()
    for tally in tallies.values():
        of_all.seen += tally.seen
        of_all.passed.update(tally.passed)
    general = of_all.claim()
    for shoulder, tally in sorted(tallies.items(), key=lambda item: item[0] or ""):
        claim = tally.claim()
        if tally.seen < ENOUGH_NAMES and general and general.zone and tally.supports(general.zone):
            claim = general
        if claim is not None:
            yield shoulder, claim


@dataclass(frozen=True, slots=True)
class Zones:
    """The knowledge about check characters, and what the ARKs at hand have shown.

    Of two claims about a name, the one that rests on more names speaks.
    """

    learned: Mapping[Key, CheckCharacterRule] = field(default_factory=dict)
    """By NAAN and primordinal shoulder."""
    known: Mapping[Key, CheckCharacterRule] = field(default_factory=lambda: KNOWN_CLAIMS)
    """By NAAN and the two characters that a name begins with; None for every name."""

    @classmethod
    def of(cls, arks: Iterable[Ark]) -> Zones:
        """The known claims together with those that *arks* show."""
        return cls(learned_zones(dict.fromkeys(ark.base for ark in arks)))

    def claim(self, naan: str, name: str) -> CheckCharacterRule | None:
        """The claim about names like this one, or none.

        >>> Zones().claim("13030", "kt4199q42g")
        CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, seen=36, passed=35)
        """
        learned = self.learned.get((naan, shoulder_of(name))) if self.learned else None
        rule = self.known.get((naan, name[:2])) or self.known.get((naan, None))
        if learned is None or rule is None:
            return learned or rule
        return rule if rule.seen > learned.seen else learned

    def names_shoulder(self, ark: Ark) -> bool:
        """Return whether *ark* is wholly a shoulder under which names are known to be assigned, and so names no object.

        >>> Zones().names_shoulder(Ark.parse("ark:/13030/c7")), Zones().names_shoulder(Ark.parse("ark:/13030/c7x5"))
        (True, False)
        """
        if ark.qualifier:
            return False
        key = ark.naan, ark.name
        return key in SHOULDERS or key in self.known or key in self.learned

    def check(self, ark: Ark) -> CheckCharacter:
        """Return whether the base name's last character is its check character, where a claim allows to say."""
        claim = self.claim(ark.naan, ark.name)
        if claim is None or len(ark.name) < 2 or self.names_shoulder(Ark(ark.naan, ark.name)):
            return CheckCharacter.UNKNOWN
        if claim.zone is None:
            return CheckCharacter.NONE
        return (
            CheckCharacter.PASSES if claim.zone.passes(ark.naan, ark.name) else CheckCharacter.FAILS
        )


#: What is known of check characters before any ARK is read.
KNOWN = Zones()
