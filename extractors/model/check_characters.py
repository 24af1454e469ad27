"""NOID check characters: offline evidence of a mistyped or badly joined ARK, and corrections.

Which part of an ARK a check character covers is local practice. A failure therefore counts only if the zone is known,
was learned from the given ARKs, or is declared by the user (draft-kunze-ark-38, 2 and 4.6).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import count, islice
from operator import mul

from extractors.model.ark import BETANUMERIC, Ark, shoulder_of

#: The alphabet of INIST (NAAN 67375): digits and upper-case consonants; 30 letters, so weaker than a prime number.
UPPER_CASE = "0123456789BCDFGHJKLMNPQRSTVWXZ"

#: Shorter names have no check character; a piece of a name passes by chance once in 29.
SHORTEST_CHECKED = 7
#: Number of distinct names of one shoulder from which on too few passes are evidence against check characters.
ENOUGH_NAMES = 20
#: Check characters are learned if this share of distinct names passes, and as many would pass by chance with at most
#: this probability: six of six, seven of eight, or 37 of 40 with three mistyped names. A lower share is no proof, since
#: it may be a mixture of names with and without check characters.
PASSING_SHARE = 0.875
BEYOND_CHANCE = 1e-8
#: Probability that a name made without a check character passes.
CHANCE = 1 / len(BETANUMERIC)
#: Probability of as many passes by chance, from which on the names count as made without check characters.
CHANCE_LEVEL = 0.01
#: A shoulder with few names takes its NAAN's zone if its names are this many times likelier with it than by chance.
LIKELIER = 20.0
_NAMES_AT_ONCE = 10_000


class Zone(StrEnum):
    """The part of an ARK that the check character covers, and the alphabet."""

    NAAN_AND_NAME = "naan-and-name"
    """``NAAN/name``, as in the specification."""
    NAME = "name"
    """The name alone."""
    UPPER_CASE = "naan-and-name-upper-case"
    """NAAN and name without the slash, in an alphabet of upper-case letters."""

    @property
    def alphabet(self) -> str:
        """The characters that count, in order; the check character is one of them."""
        return UPPER_CASE if self is Zone.UPPER_CASE else BETANUMERIC

    def covered_text(self, naan: str, stem: str) -> str:
        """Return the text that the check character of *stem*, a base name without its last character, covers."""
        match self:
            case Zone.NAAN_AND_NAME:
                return f"{naan}/{stem}"
            case Zone.NAME:
                return stem
            case Zone.UPPER_CASE:
                return naan + stem

    def passes(self, naan: str, name: str) -> bool:
        """Return True if the last character of *name* is the check character of the rest.

        >>> Zone.NAME.passes("12148", "btv1b8449691v"), Zone.UPPER_CASE.passes("67375", "6H6N49F7FRRQ")
        (True, True)
        """
        return len(name) > 1 and self.count_passing(naan, [name]) == 1

    def count_passing(self, naan: str, names: Iterable[str]) -> int:
        """Return the number of *names* (of at least two characters each) under one NAAN that pass.

        >>> Zone.NAME.count_passing("12148", ["btv1b8449691v", "btv1b8449691w"])
        1
        """
        alphabet = self.alphabet
        before, first = _weight_before_names(self, naan)
        passed = 0
        for name in names:
            if name[-1] in alphabet:
                ordinals = _ordinals(name, alphabet)
                total = before + _weighted_sum(ordinals[:-1], first)
                passed += total % len(alphabet) == ordinals[-1]
        return passed


class CheckCharacter(StrEnum):
    """The result of testing the last character of a base name."""

    PASSES = "passes"
    FAILS = "fails"
    NONE = "none"
    """Names of this shoulder have no check characters: they pass no more often than by chance."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckCharacterRule:
    """The zone of certain names (None: they have no check characters), with its evidence."""

    zone: Zone | None
    seen: int
    """Number of distinct names."""
    passed: int
    """Number of them that pass; without a zone, in the zone where most pass."""


Key = tuple[str, str | None]

#: Rules by NAAN and first two characters of the name (None: all names). The names were counted in public repositories;
#: most failures are visibly truncated. Left out for lack of evidence: 87278 (19 of 22 pass), 88435 (74 of 91), 67375
#: (72 of 72 in the upper-case zone, but none of 6 in its vocabulary P66).
KNOWN_RULES: Mapping[Key, CheckCharacterRule] = {
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
#: The user's declarations: True for each NAAN whose names have check characters, False if they have none.
Declared = Mapping[str, bool]
NOTHING_DECLARED: Declared = {}
#: Further shoulders. Alone they name no object: ``"ark:/53355/cl" <> number``.
SHOULDERS = frozenset(
    {
        ("13030", "qt"),
        ("13030", "hb"),
        ("13030", "d3"),
        ("99152", "p0"),
        ("99152", "h4"),
        ("99999", "fk4"),
        ("87278", "s6"),
        ("21547", "p1"),
        ("12148", "bpt6k"),
        ("12148", "btv1b"),
        ("12148", "cb"),
        ("53355", "cl"),
        ("67531", "metadc"),
        ("67531", "metapth"),
    }
)
#: A type of FamilySearch, which begins each of its names: ``1:1`` for a person in a record, ``3:1`` for an image.
_FAMILY_TYPE = re.compile("[1-9](?::[1-9])?")

#: The ordinal of each octet; 0 for other characters.
_ORDINALS = {
    alphabet: bytes(max(0, alphabet.find(chr(octet))) for octet in range(256)) for alphabet in (BETANUMERIC, UPPER_CASE)
}


def check_character(covered: str, alphabet: str = BETANUMERIC) -> str:
    """Return the NOID check character over *covered*: positions times ordinals, modulo the size of the alphabet.

    >>> check_character("13030/xf93gt2")
    'q'
    """
    return alphabet[_weighted_sum(_ordinals(covered, alphabet)) % len(alphabet)]


def chance_of(names: int, passed: int) -> float:
    """Return the probability that at least *passed* of *names* pass by chance: the tail of the binomial distribution.

    1.0 if no more pass than expected by chance.

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
    for number in range(passed, names):  # above the mean the terms decrease
        term *= (names - number) / (number + 1) * CHANCE / (1 - CHANCE)
        total += term
        if term <= total * 1e-15:
            break
    return min(total, 1.0)


@lru_cache
def _weight_before_names(zone: Zone, naan: str) -> tuple[int, int]:
    """Return the weighted sum of the text before each name of a NAAN, and the position of a name's first character."""
    prefix = zone.covered_text(naan, "")
    return _weighted_sum(_ordinals(prefix, zone.alphabet)), len(prefix) + 1


def _weighted_sum(ordinals: Iterable[int], first: int = 1) -> int:
    """Return the sum of *ordinals* times their positions, counted from *first*."""
    return sum(map(mul, ordinals, count(first)))


def _ordinals(text: str, alphabet: str) -> bytes:
    """Return the ordinal of each character; 0 for characters outside the alphabet."""
    return text.encode("ascii", "replace").translate(_ORDINALS[alphabet])


@dataclass(slots=True)
class _Tally:
    """The number of names, and of those that pass in each zone."""

    seen: int = 0
    passed: Counter[Zone] = field(default_factory=Counter)

    def add(self, naan: str, names: Sequence[str]) -> None:
        """Count *names* under one NAAN."""
        self.seen += len(names)
        for zone in Zone:
            self.passed[zone] += zone.count_passing(naan, names)

    def rule(self) -> CheckCharacterRule | None:
        """Return the rule that these names show; None if they show nothing."""
        zone = max(Zone, key=lambda zone: self.passed[zone])  # in a tie the first one, that of the specification
        passed = self.passed[zone]
        if passed >= PASSING_SHARE * self.seen and chance_of(self.seen, passed) <= BEYOND_CHANCE:
            return CheckCharacterRule(zone, self.seen, passed)
        is_chance = self.seen >= ENOUGH_NAMES and chance_of(self.seen, passed) >= CHANCE_LEVEL
        return CheckCharacterRule(None, self.seen, passed) if is_chance else None

    def supports(self, zone: Zone) -> bool:
        """Return True if these names are much likelier with check characters over *zone* than by chance."""
        passed = self.passed[zone]
        weight = passed * math.log(PASSING_SHARE / CHANCE)
        weight += (self.seen - passed) * math.log((1 - PASSING_SHARE) / (1 - CHANCE))
        return weight >= math.log(LIKELIER)


def learn_zones(bases: Iterable[Ark]) -> Mapping[Key, CheckCharacterRule]:
    """Return the rules that distinct ARKs without qualifiers show, by NAAN and primordinal shoulder (or None).

    Their order doesn't matter. A shoulder with too few names takes the zone of all names of its NAAN, if its own names
    support that.

    >>> arks = [Ark("12345", f"x6{number}" + check_character(f"12345/x6{number}")) for number in range(100, 120)]
    >>> learn_zones(arks)
    {('12345', 'x6'): CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, seen=20, passed=20)}
    """
    tallies: dict[str, dict[str | None, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
    rest = iter(bases)
    while some := list(islice(rest, _NAMES_AT_ONCE)):
        names: dict[Key, list[str]] = defaultdict(list)
        for base in some:
            if len(base.name) > 1:
                names[base.naan, base.shoulder].append(base.name)
        for (naan, shoulder), alike in names.items():
            tallies[naan][shoulder].add(naan, alike)
    return {(naan, shoulder): rule for naan in sorted(tallies) for shoulder, rule in _rules(tallies[naan])}


def _rules(tallies: Mapping[str | None, _Tally]) -> Iterator[tuple[str | None, CheckCharacterRule]]:
    """Yield the rules that the names of one NAAN show, by shoulder."""
    of_all = _Tally()
    for tally in tallies.values():
        of_all.seen += tally.seen
        of_all.passed.update(tally.passed)
    general = of_all.rule()
    for shoulder, tally in sorted(tallies.items(), key=lambda item: item[0] or ""):
        rule = tally.rule()
        if rule is None and tally.seen < ENOUGH_NAMES and general and general.zone and tally.supports(general.zone):
            rule = general
        if rule is not None:
            yield shoulder, rule


@dataclass(frozen=True, slots=True)
class Zones:
    """Known rules about check characters, those learned from the given ARKs, and the user's declarations.

    If two rules apply to a name, the one with more evidence wins, unless a declaration contradicts it.
    """

    learned: Mapping[Key, CheckCharacterRule] = field(default_factory=dict)
    """By NAAN and primordinal shoulder."""
    declared: Declared = field(default_factory=dict)

    @classmethod
    def from_arks(cls, arks: Iterable[Ark], declared: Declared = NOTHING_DECLARED) -> Zones:
        """Return the known and *declared* rules together with those that *arks* show."""
        return cls(learn_zones(dict.fromkeys(ark.base for ark in arks)), declared)

    def rule_for(self, naan: str, name: str) -> CheckCharacterRule | None:
        """Return the rule for a name; None if there is none.

        A declared check character covers the part that is known or learned, otherwise NAAN and name.

        >>> Zones().rule_for("13030", "kt4199q42g")
        CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, seen=36, passed=35)
        >>> Zones(declared={"67531": True}).rule_for("67531", "metadc107835").zone
        <Zone.NAAN_AND_NAME: 'naan-and-name'>
        """
        learned = self.learned.get((naan, shoulder_of(name))) if self.learned else None
        rule = KNOWN_RULES.get((naan, name[:2])) or KNOWN_RULES.get((naan, None))
        if learned is not None and (rule is None or rule.seen <= learned.seen):
            rule = learned
        has_check = self.declared.get(naan)
        if has_check is None or (rule is not None and has_check == (rule.zone is not None)):
            return rule
        return CheckCharacterRule(Zone.NAAN_AND_NAME if has_check else None, 0, 0)

    def names_shoulder(self, ark: Ark) -> bool:
        """Return True if *ark* is only a known shoulder, so that it names no object.

        >>> Zones().names_shoulder(Ark.parse("ark:/13030/c7")), Zones().names_shoulder(Ark.parse("ark:/13030/c7x5"))
        (True, False)
        """
        if ark.qualifier:
            return False
        key = ark.naan, ark.name
        is_type = ark.naan == "61903" and _FAMILY_TYPE.fullmatch(ark.name) is not None
        return is_type or key in SHOULDERS or key in KNOWN_RULES or key in self.learned

    def check(self, ark: Ark) -> CheckCharacter:
        """Return the result of testing the last character of the base name, if a rule applies."""
        rule = self.rule_for(ark.naan, ark.name)
        if rule is None or len(ark.name) < 2 or self.names_shoulder(Ark(ark.naan, ark.name)):
            return CheckCharacter.UNKNOWN
        if rule.zone is None:
            return CheckCharacter.NONE
        return CheckCharacter.PASSES if rule.zone.passes(ark.naan, ark.name) else CheckCharacter.FAILS

    def confirms(self, ark: Ark | None) -> bool:
        """Return True if the check character of *ark* passes, and its name is so long that this is no chance.

        >>> Zones().confirms(Ark.parse("ark:/12148/bpt6k107371t")), Zones().confirms(Ark.parse("ark:/12148/bpt6"))
        (True, False)
        """
        return ark is not None and len(ark.name) >= SHORTEST_CHECKED and self.check(ark) is CheckCharacter.PASSES


#: The rules that are known before any ARK is read.
KNOWN = Zones()


# Suggestions for a failing check character: single edits that make it pass. A suggestion is for a person to check and
# a resolver to confirm; it never replaces the text as written.

#: Longer names come from no minter, and have too many edits to try.
LONGEST_NAME = 40
#: Characters that readers or text recognition confuse.
LOOK_ALIKES = ("1lIi|", "0oOD", "5sS", "2zZ", "8bB", "6G", "9gq", "vu")


class Edit(StrEnum):
    """The kind of an edit, likeliest first: with fewer possible edits of a kind, a pass by chance is rarer."""

    MISSING_CHECK_CHARACTER = "missing-check-character"
    """The check character is missing: by far the most frequent failure in real texts (25 of 28)."""
    STRAY_CHARACTER = "stray-character"
    """A bracket, punctuation or other mark outside the alphabet."""
    DOUBLED_CHARACTER = "doubled-character"
    LETTER_CASE = "letter-case"
    LOOK_ALIKE = "look-alike"
    """``l`` for ``1``, ``o`` for ``0``."""
    SWAPPED_CHARACTERS = "swapped-characters"
    """Two neighbours."""
    SURPLUS_CHARACTER = "surplus-character"
    WRONG_CHARACTER = "wrong-character"
    MISSING_CHARACTER = "missing-character"


#: Edits without an obvious cause: they must keep a numbered name in its series.
_ODD_EDITS = (Edit.SURPLUS_CHARACTER, Edit.WRONG_CHARACTER, Edit.MISSING_CHARACTER)
_NUMBERED = re.compile(r"(?P<series>[a-z]+(?:[0-9][a-z]+)?)[0-9]{4,}[a-z]?\Z")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An ARK that may be meant, and the single edit that leads to it."""

    ark: Ark
    edit: Edit


def suggestions(
    ark: Ark,
    *,
    zones: Zones = KNOWN,
    fits: Callable[[Ark], bool] | None = None,
    is_seen: Callable[[str], bool] | None = None,
    limit: int = 5,
) -> tuple[Suggestion, ...]:
    """Return at most *limit* ARKs one edit away from *ark* that pass, likeliest first; empty if *ark* doesn't fail.

    ARKs seen elsewhere come first (*is_seen*, of a normal form), then those with the fewest characters outside the
    alphabet, in the order of `Edit` and of the place in the name. Digits are replaced by digits and letters by letters,
    except look-alikes; a numbered name keeps its series (bpt6k). ARKs of another shoulder, or for which *fits* returns
    False, are left out.

    >>> [(str(found.ark), found.edit.value) for found in suggestions(Ark.parse("ark:/12148/cb32895690"), limit=1)]
    [('ark:12148/cb32895690j', 'missing-check-character')]
    >>> of_thirteen = suggestions(Ark.parse("ark:/12148/btv1b8449961v"), fits=lambda ark: len(ark.name) == 13, limit=1)
    >>> [(str(found.ark), found.edit.value) for found in of_thirteen]
    [('ark:12148/btv1b8449691v', 'swapped-characters')]
    """
    if zones.check(ark) is not CheckCharacter.FAILS or len(ark.name) > LONGEST_NAME:
        return ()
    rule = zones.rule_for(ark.naan, ark.name)
    assert rule is not None
    zone = rule.zone
    assert zone is not None
    edits: dict[str, Edit] = {}
    for name, edit in _single_edits(ark.naan, ark.name, zone):
        if name in edits or not zone.passes(ark.naan, name):
            continue
        if _keeps_series(name, ark.name, edit):
            edits[name] = edit

    def rank(name: str) -> tuple[bool, int]:
        is_strange = is_seen is None or not is_seen(str(Ark(ark.naan, name)))
        return is_strange, sum(char not in zone.alphabet for char in name)

    ranked = (Suggestion(Ark(ark.naan, name, ark.qualifier), edits[name]) for name in sorted(edits, key=rank))
    return tuple(islice((candidate for candidate in ranked if fits is None or fits(candidate.ark)), limit))


def _keeps_series(name: str, written: str, edit: Edit) -> bool:
    """Return True if *name* keeps the shoulder and series of the *written* name, ignoring case.

    A look-alike may hide the series; appending a check character is always allowed.

    >>> edit = Edit.MISSING_CHECK_CHARACTER
    >>> _keeps_series("kt4199q42g", "kt4199q42", edit), _keeps_series("kt199q42g", "kt4199q42g", edit)
    (True, False)
    """
    shoulder, series = shoulder_of(written.lower()), series_of(written)
    if shoulder is not None and shoulder_of(name.lower()) != shoulder:
        return False
    if series is None or edit is Edit.MISSING_CHECK_CHARACTER:
        return True
    return series_of(name) == series if edit in _ODD_EDITS else series_of(name) is not None


def series_of(name: str) -> str | None:
    """Return the letters, perhaps with one digit, at the beginning of a numbered name; None for other names.

    After them come digits only, and perhaps a final letter.

    >>> series_of("bpt6k8301661f"), series_of("cb32895690j"), series_of("cb219g3518"), series_of("kt4199q42g")
    ('bpt6k', 'cb', None, None)
    """
    numbered = _NUMBERED.match(name.lower())
    return numbered["series"] if numbered else None


def _single_edits(naan: str, name: str, zone: Zone) -> Iterator[tuple[str, Edit]]:
    """Yield the single edits of *name*, in the order of `Edit`; not all of them pass."""
    yield (name + check_character(zone.covered_text(naan, name), zone.alphabet), Edit.MISSING_CHECK_CHARACTER)
    places = range(len(name))
    removed = [name[:at] + name[at + 1 :] for at in places]
    yield from ((removed[at], Edit.STRAY_CHARACTER) for at in places if not name[at].isalnum())
    yield from ((removed[at], Edit.DOUBLED_CHARACTER) for at in places[:-1] if name[at] == name[at + 1])
    yield name.upper() if zone is Zone.UPPER_CASE else name.lower(), Edit.LETTER_CASE
    for at in places:
        group = next((group for group in LOOK_ALIKES if name[at] in group), "")
        yield from ((name[:at] + char + name[at + 1 :], Edit.LOOK_ALIKE) for char in group if char in zone.alphabet)
    for at in places[:-1]:
        yield name[:at] + name[at + 1] + name[at] + name[at + 2 :], Edit.SWAPPED_CHARACTERS
    yield from ((removed[at], Edit.SURPLUS_CHARACTER) for at in places)
    for at in places:
        for char in _passing_between(zone, naan, name[:at], name[at + 1 :]):
            if at == len(name) - 1 or char.isdigit() == name[at].isdigit():  # else it would be a look-alike
                yield name[:at] + char + name[at + 1 :], Edit.WRONG_CHARACTER
    for at in range(len(name) + 1):
        for char in _passing_between(zone, naan, name[:at], name[at:]):
            yield name[:at] + char + name[at:], Edit.MISSING_CHARACTER


def _passing_between(zone: Zone, naan: str, before: str, after: str) -> list[str]:
    """Return the characters that, between *before* and *after*, make the check character right.

    >>> _passing_between(Zone.NAME, "12148", "btv1b84", "9691v")
    ['4']
    """
    alphabet = zone.alphabet
    if not after:
        return [check_character(zone.covered_text(naan, before), alphabet)]
    without = check_character(zone.covered_text(naan, before + alphabet[0] + after[:-1]), alphabet)
    difference = alphabet.find(after[-1]) - alphabet.index(without)
    position = len(zone.covered_text(naan, before)) + 1
    if after[-1] not in alphabet:
        return []
    return [char for ordinal, char in enumerate(alphabet) if (position * ordinal - difference) % len(alphabet) == 0]
