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
from functools import lru_cache
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
        return len(name) > 1 and check_character(self.covered(naan, name[:-1]), self.alphabet) == name[-1]


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

    @property
    def chance(self) -> float:
        """Return how likely so many names, or more, pass without there being check characters.

        >>> CheckCharacterRule(Zone.NAME, seen=20, passed=19).chance < 1e-25
        True
        """
        return chance_of(self.seen, self.passed)


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
    alphabet: bytes(max(0, alphabet.find(chr(octet))) for octet in range(256)) for alphabet in (BETANUMERIC, UPPER_CASE)
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


def _zones_passed(naan: str, name: str) -> Iterator[Zone]:
    """Return the zones in which *name* passes: as `Zone.passes` has it, in one look at each character.

    A NAAN and a slash before the name move every position by as much, and add what they add to any name of that NAAN.
    """
    last = name[-1:]
    if len(name) > 1 and last in BETANUMERIC:
        ordinals = _ordinals(name[:-1])
        weighed, letters, expected = sum(map(mul, ordinals, count(1))), len(BETANUMERIC), BETANUMERIC.index(last)
        before = f"{naan}/"
        if (_weight(before) + weighed + len(before) * sum(ordinals)) % letters == expected:
            yield Zone.NAAN_AND_NAME
        if weighed % letters == expected:
            yield Zone.NAME
    if last in UPPER_CASE and Zone.UPPER_CASE.passes(naan, name):
        yield Zone.UPPER_CASE


@lru_cache(maxsize=1_000)
def _weight(text: str) -> int:
    """Return positions times ordinals of *text*, in the alphabet of the specification."""
    return sum(map(mul, _ordinals(text), count(1)))


def _ordinals(text: str, alphabet: str = BETANUMERIC) -> bytes:
    """Return the ordinal of each character; those that don't count have 0."""
    return text.encode("ascii", "replace").translate(_ORDINALS[alphabet])


@dataclass(frozen=True, slots=True)
class _Tally:
    """The counts of names that pass, by zone."""

    seen: int
    passed: Mapping[Zone, int]

    @classmethod
    def of(cls, naan: str, names: Iterable[str]) -> _Tally:
        distinct = set(names)
        passed = Counter(zone for name in distinct for zone in _zones_passed(naan, name))
        return cls(len(distinct), {zone: passed[zone] for zone in Zone})

    @property
    def best(self) -> Zone:
        """The zone where most names pass; of equals the first, which is the specification's."""
        return max(self.passed, key=lambda zone: self.passed[zone])

    def claim(self) -> CheckCharacterRule | None:
        """Return what these names show: a zone, that there is none, or nothing."""
        passed = self.passed[self.best]
        if self.seen < ENOUGH_NAMES:
            return None
        if passed >= PASSING_SHARE * self.seen:
            return CheckCharacterRule(self.best, self.seen, passed)
        return CheckCharacterRule(None, self.seen, passed) if chance_of(self.seen, passed) >= CHANCE_LEVEL else None

    def supports(self, zone: Zone) -> bool:
        """Return whether these names are much likelier with check characters over *zone* than by chance."""
        passed = self.passed[zone]
        weight = passed * math.log(PASSING_SHARE / CHANCE)
        weight += (self.seen - passed) * math.log((1 - PASSING_SHARE) / (1 - CHANCE))
        return weight >= math.log(LIKELIER)


def learned_zones(arks: Iterable[Ark]) -> Mapping[Key, CheckCharacterRule]:
    """Return what *arks* show about check characters, by NAAN and primordinal shoulder (None: names without one).

    Only distinct base names count, and their order doesn't. A shoulder with too few names of its own takes the zone
    that all names of its NAAN show, if its own names support that.

    >>> arks = [Ark("12345", f"x6{number}" + check_character(f"12345/x6{number}")) for number in range(100, 120)]
    >>> learned_zones(arks)
    {('12345', 'x6'): CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, seen=20, passed=20)}
    """
    names: dict[str, dict[str | None, set[str]]] = defaultdict(lambda: defaultdict(set))
    for ark in arks:
        if len(ark.name) > 1:
            names[ark.naan][ark.shoulder].add(ark.name)
    return {(naan, shoulder): claim for naan in sorted(names) for shoulder, claim in _claims(naan, names[naan])}


def _claims(naan: str, names: Mapping[str | None, set[str]]) -> Iterator[tuple[str | None, CheckCharacterRule]]:
    if sum(map(len, names.values())) < ENOUGH_NAMES:  # as in most documents: nothing comes of counting
        return
    shoulders = sorted(names, key=lambda key: key or "")
    if not any(_most_pass(naan, names, zone) for zone in Zone):  # a shoulder with few names takes no zone
        shoulders = [shoulder for shoulder in shoulders if len(names[shoulder]) >= ENOUGH_NAMES]
    yield from _claims_of({shoulder: _Tally.of(naan, names[shoulder]) for shoulder in shoulders})


def _claims_of(tallies: Mapping[str | None, _Tally]) -> Iterator[tuple[str | None, CheckCharacterRule]]:
    """The claims that the names of one NAAN make, by shoulder; those with few names take what all of them show."""
    of_all = _Tally(
        sum(tally.seen for tally in tallies.values()),
        {zone: sum(tally.passed[zone] for tally in tallies.values()) for zone in Zone},
    ).claim()
    for shoulder, tally in tallies.items():
        claim = tally.claim()
        if claim is None and tally.seen < ENOUGH_NAMES and of_all and of_all.zone and tally.supports(of_all.zone):
            claim = of_all
        if claim is not None:
            yield shoulder, claim


def zones_of_distinct(bases: Iterable[Ark]) -> Mapping[Key, CheckCharacterRule]:
    """Return the same of distinct ARKs without qualifiers, in memory that grows with their shoulders only.

    >>> arks = [Ark("12345", f"x6{number}" + check_character(f"12345/x6{number}")) for number in range(100, 120)]
    >>> zones_of_distinct(arks) == learned_zones(arks)
    True
    """
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    passed: dict[tuple[str, str | None], Counter[Zone]] = defaultdict(Counter)
    for base in bases:
        if len(base.name) > 1:
            counts[base.naan][base.shoulder] += 1
            passed[base.naan, base.shoulder].update(_zones_passed(base.naan, base.name))
    return zones_of_counts(counts, passed)


def zones_of_counts(
    counts: Mapping[str, Mapping[str | None, int]], passed: Mapping[tuple[str, str | None], Mapping[Zone, int]]
) -> Mapping[Key, CheckCharacterRule]:
    """Return the same of *counts* of names by NAAN and shoulder, and of those that *passed* in each zone.

    A shoulder of which nothing has passed need not be among those, nor a zone.
    """
    claims: dict[Key, CheckCharacterRule] = {}
    for naan in sorted(counts):
        tallies = {
            shoulder: _Tally(number, {zone: passed.get((naan, shoulder), {}).get(zone, 0) for zone in Zone})
            for shoulder, number in sorted(counts[naan].items(), key=lambda item: item[0] or "")
        }
        claims |= {(naan, shoulder): claim for shoulder, claim in _claims_of(_that_count(tallies))}
    return claims


def _that_count(tallies: Mapping[str | None, _Tally]) -> Mapping[str | None, _Tally]:
    """Those of the shoulders of a NAAN of which something can be said: see `_claims`."""
    total = sum(tally.seen for tally in tallies.values())
    if total < ENOUGH_NAMES:
        return {}
    if any(sum(tally.passed[zone] for tally in tallies.values()) >= PASSING_SHARE * total for zone in Zone):
        return tallies
    return {shoulder: tally for shoulder, tally in tallies.items() if tally.seen >= ENOUGH_NAMES}


def _most_pass(naan: str, names: Mapping[str | None, set[str]], zone: Zone) -> bool:
    """Return whether enough of all *names* pass in *zone* for a claim about them; looks no further than it must."""
    passing = total = sum(map(len, names.values()))
    for of_shoulder in names.values():
        for name in of_shoulder:
            passing -= not zone.passes(naan, name)
            if passing < PASSING_SHARE * total:
                return False
    return True


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
        return cls(learned_zones(arks))

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

    def zone_of(self, naan: str, name: str) -> Zone | None:
        """The zone that is claimed for names like this one, or none."""
        claim = self.claim(naan, name)
        return claim.zone if claim else None

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
        return CheckCharacter.PASSES if claim.zone.passes(ark.naan, ark.name) else CheckCharacter.FAILS


KNOWN = Zones()


def zone_of(naan: str, name: str, zones: Zones = KNOWN) -> Zone | None:
    """The zone for names like this one, or none.

    >>> zone_of("13030", "qt1234abcd") is None
    True
    """
    return zones.zone_of(naan, name)


def check(ark: Ark, zones: Zones = KNOWN) -> CheckCharacter:
    """Return whether the base name's last character is its check character, where a zone is known.

    >>> check(Ark.parse("ark:/12148/btv1b8449691v/f29")).value
    'passes'
    >>> check(Ark.parse("ark:/12148/btv1b8449961v")).value
    'fails'
    """
    return zones.check(ark)
