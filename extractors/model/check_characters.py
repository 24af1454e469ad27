"""NOID check characters: offline evidence of a mistyped or badly joined ARK, and corrections.

Which part of an ARK a check character covers, its *zone*, is local practice. A failure therefore counts only if the
zone is in `KNOWN_RULES`, learned from other ARKs, or declared by the user (draft-kunze-ark-38, 2 and 4.6).
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
#: Minimum number of distinct names of one shoulder for the conclusion that they have no check characters.
ENOUGH_NAMES = 20
#: Check characters are learned if this share of distinct names passes, and as many would pass by chance with at most
#: this probability: six of six, seven of eight, or 37 of 40 with three mistyped names. A lower share is no proof, since
#: it may be a mixture of names with and without check characters.
PASSING_SHARE = 0.875
BEYOND_CHANCE = 1e-8
#: Probability that a name made without a check character passes.
CHANCE = 1 / len(BETANUMERIC)
#: Minimum probability of as many passes by chance for the conclusion that names have no check characters.
CHANCE_LEVEL = 0.01
#: A shoulder with few names takes its NAAN's zone if its names are this many times likelier with it than by chance.
LEAST_LIKELIHOOD_RATIO = 20.0
_NAMES_AT_ONCE = 10_000


class Zone(StrEnum):
    """The part of an ARK that its check character covers, with the alphabet."""

    NAAN_AND_NAME = "naan-and-name"
    """``NAAN/name``, as in the specification."""
    NAME = "name"
    """The name alone."""
    UPPER_CASE = "naan-and-name-upper-case"
    """NAAN and name without the slash, in an alphabet of upper-case letters."""

    @property
    def alphabet(self) -> str:
        """The characters with an ordinal, in order; the check character is one of them."""
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
        """Return True if the last character of the base name *name* is the check character of the rest.

        >>> Zone.NAME.passes("12148", "btv1b8449691v"), Zone.UPPER_CASE.passes("67375", "6H6N49F7FRRQ")
        (True, True)
        """
        return len(name) > 1 and self.passing_count(naan, [name]) == 1

    def passing_count(self, naan: str, names: Iterable[str]) -> int:
        """Return the number of base *names* under *naan*, all of two characters or more, that pass (`passes`).

        >>> Zone.NAME.passing_count("12148", ["btv1b8449691v", "btv1b8449691w"])
        1
        """
        alphabet = self.alphabet
        prefix_sum, first_position = _weight_before_names(self, naan)
        passing_count = 0
        for name in names:
            if name[-1] in alphabet:
                ordinals = _ordinals(name, alphabet)
                total = prefix_sum + _weighted_sum(ordinals[:-1], first_position)
                passing_count += total % len(alphabet) == ordinals[-1]
        return passing_count


class CheckCharacter(StrEnum):
    """The result of testing the last character of a base name."""

    PASSES = "passes"
    FAILS = "fails"
    NONE = "none"
    """Names like this have no check characters: they pass no more often than by chance, or the user declared it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckCharacterRule:
    """The zone of all names of a NAAN or shoulder, with its evidence."""

    zone: Zone | None
    """None if the names have no check characters."""
    name_count: int
    """Number of distinct names."""
    passing_count: int
    """Number of them that pass in the zone; without a zone, in the zone where most names pass."""


RuleKey = tuple[str, str | None]
"""NAAN, and beginning of the name; None for all names of the NAAN, or those without a shoulder."""

#: Rules by NAAN and first two characters of the name (None: all names). The names were counted in public repositories;
#: most failures are visibly truncated. Left out for lack of evidence: 87278 (19 of 22 pass), 88435 (74 of 91), 67375
#: (72 of 72 in the upper-case zone, but none of 6 in its vocabulary P66).
KNOWN_RULES: Mapping[RuleKey, CheckCharacterRule] = {
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
#: The user's declarations by NAAN: True if its names have check characters, False if they have none.
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
    """Return the NOID check character over the text *covered*.

    The sum of positions times ordinals in *alphabet*, modulo the size of the alphabet, is the ordinal of the result.

    >>> check_character("13030/xf93gt2")
    'q'
    """
    return alphabet[_weighted_sum(_ordinals(covered, alphabet)) % len(alphabet)]


def chance_of(name_count: int, passing_count: int) -> float:
    """Return the probability that at least *passing_count* of *name_count* names pass by chance.

    This is the tail of the binomial distribution; 1.0 if no more names pass than expected by chance.

    >>> round(chance_of(20, 3), 3), chance_of(22_494, 728)
    (0.03, 1.0)
    """
    if passing_count <= name_count * CHANCE:
        return 1.0
    log_term = (
        math.lgamma(name_count + 1)
        - math.lgamma(passing_count + 1)
        - math.lgamma(name_count - passing_count + 1)
        + passing_count * math.log(CHANCE)
        + (name_count - passing_count) * math.log1p(-CHANCE)
    )
    term = total = math.exp(log_term)
    for smaller_count in range(passing_count, name_count):  # above the mean the terms decrease
        term *= (name_count - smaller_count) / (smaller_count + 1) * CHANCE / (1 - CHANCE)
        total += term
        if term <= total * 1e-15:
            break
    return min(total, 1.0)


@lru_cache
def _weight_before_names(zone: Zone, naan: str) -> tuple[int, int]:
    """Return the weighted sum of the text before a name of *naan*, and the position of the name's first character."""
    prefix = zone.covered_text(naan, "")
    return _weighted_sum(_ordinals(prefix, zone.alphabet)), len(prefix) + 1


def _weighted_sum(ordinals: Iterable[int], first_position: int = 1) -> int:
    """Return the sum of *ordinals* times their positions, counted from *first_position*."""
    return sum(map(mul, ordinals, count(first_position)))


def _ordinals(text: str, alphabet: str) -> bytes:
    """Return the ordinals in *alphabet* of the characters of *text*; 0 for characters outside the alphabet."""
    return text.encode("ascii", "replace").translate(_ORDINALS[alphabet])


@dataclass(slots=True)
class _Tally:
    """The number of names of one shoulder, and of those that pass, by zone."""

    name_count: int = 0
    passing_counts: Counter[Zone] = field(default_factory=Counter)

    def add(self, naan: str, names: Sequence[str]) -> None:
        """Add *names* under *naan* to the counts."""
        self.name_count += len(names)
        for zone in Zone:
            self.passing_counts[zone] += zone.passing_count(naan, names)

    def rule(self) -> CheckCharacterRule | None:
        """Return the rule that the counted names show; None if the counts may be chance."""
        # In a tie the first zone, that of the specification.
        zone = max(Zone, key=lambda zone: self.passing_counts[zone])
        passing_count = self.passing_counts[zone]
        chance = chance_of(self.name_count, passing_count)
        if passing_count >= PASSING_SHARE * self.name_count and chance <= BEYOND_CHANCE:
            return CheckCharacterRule(zone, self.name_count, passing_count)
        is_chance = self.name_count >= ENOUGH_NAMES and chance >= CHANCE_LEVEL
        return CheckCharacterRule(None, self.name_count, passing_count) if is_chance else None

    def supports(self, zone: Zone) -> bool:
        """Return True if the counts are much likelier with check characters over *zone* than by chance."""
        passing_count = self.passing_counts[zone]
        log_ratio = passing_count * math.log(PASSING_SHARE / CHANCE)
        log_ratio += (self.name_count - passing_count) * math.log((1 - PASSING_SHARE) / (1 - CHANCE))
        return log_ratio >= math.log(LEAST_LIKELIHOOD_RATIO)


def learn_zones(base_arks: Iterable[Ark]) -> Mapping[RuleKey, CheckCharacterRule]:
    """Return the rules that *base_arks*, distinct and without qualifiers, show, by NAAN and shoulder (or None).

    The order of *base_arks* doesn't matter. A shoulder with too few names takes the zone of all names of its NAAN, if
    its own names support that zone.

    >>> arks = [Ark("12345", f"x6{number}" + check_character(f"12345/x6{number}")) for number in range(100, 120)]
    >>> learn_zones(arks)
    {('12345', 'x6'): CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, name_count=20, passing_count=20)}
    """
    tallies: dict[str, dict[str | None, _Tally]] = defaultdict(lambda: defaultdict(_Tally))
    remaining_arks = iter(base_arks)
    while batch := list(islice(remaining_arks, _NAMES_AT_ONCE)):
        names_by_shoulder: dict[RuleKey, list[str]] = defaultdict(list)
        for base_ark in batch:
            if len(base_ark.name) > 1:
                names_by_shoulder[base_ark.naan, base_ark.shoulder].append(base_ark.name)
        for (naan, shoulder), batch_names in names_by_shoulder.items():
            tallies[naan][shoulder].add(naan, batch_names)
    return {(naan, shoulder): rule for naan in sorted(tallies) for shoulder, rule in _rules(tallies[naan])}


def _rules(tallies: Mapping[str | None, _Tally]) -> Iterator[tuple[str | None, CheckCharacterRule]]:
    """Yield the shoulders of one NAAN (None: names without one) with their rules; *tallies* are by shoulder."""
    total = _Tally()
    for tally in tallies.values():
        total.name_count += tally.name_count
        total.passing_counts.update(tally.passing_counts)
    naan_rule = total.rule()
    for shoulder, tally in sorted(tallies.items(), key=lambda item: item[0] or ""):
        rule = tally.rule()
        if rule is None and tally.name_count < ENOUGH_NAMES and naan_rule and naan_rule.zone:
            rule = naan_rule if tally.supports(naan_rule.zone) else None
        if rule is not None:
            yield shoulder, rule


@dataclass(frozen=True, slots=True)
class Zones:
    """The rules about check characters: `KNOWN_RULES`, those learned from ARKs, and the user's declarations.

    If two rules apply to a name, the one from more names wins, unless a declaration contradicts it.
    """

    learned: Mapping[RuleKey, CheckCharacterRule] = field(default_factory=dict)
    """Rules of `learn_zones`, by NAAN and primordinal shoulder."""
    declared: Declared = field(default_factory=dict)

    @classmethod
    def from_arks(cls, arks: Iterable[Ark], declared: Declared = NOTHING_DECLARED) -> Zones:
        """Return the known rules, those that *arks* show, and the *declared* ones."""
        return cls(learn_zones(dict.fromkeys(ark.base for ark in arks)), declared)

    def rule_for(self, naan: str, name: str) -> CheckCharacterRule | None:
        """Return the rule for the base name *name* under *naan*; None if no rule applies.

        If the user declared check characters for *naan*, they cover the zone of a known or learned rule, or else NAAN and
        name.

        >>> Zones().rule_for("13030", "kt4199q42g")
        CheckCharacterRule(zone=<Zone.NAAN_AND_NAME: 'naan-and-name'>, name_count=36, passing_count=35)
        >>> Zones(declared={"67531": True}).rule_for("67531", "metadc107835").zone
        <Zone.NAAN_AND_NAME: 'naan-and-name'>
        """
        learned_rule = self.learned.get((naan, shoulder_of(name))) if self.learned else None
        rule = KNOWN_RULES.get((naan, name[:2])) or KNOWN_RULES.get((naan, None))
        if learned_rule is not None and (rule is None or rule.name_count <= learned_rule.name_count):
            rule = learned_rule
        is_declared = self.declared.get(naan)
        if is_declared is None or (rule is not None and is_declared == (rule.zone is not None)):
            return rule
        return CheckCharacterRule(Zone.NAAN_AND_NAME if is_declared else None, 0, 0)

    def is_shoulder(self, ark: Ark) -> bool:
        """Return True if *ark* consists of NAAN and a shoulder of `SHOULDERS` or a rule, so that it names no object.

        >>> Zones().is_shoulder(Ark.parse("ark:/13030/c7")), Zones().is_shoulder(Ark.parse("ark:/13030/c7x5"))
        (True, False)
        """
        if ark.qualifier:
            return False
        key = ark.naan, ark.name
        is_family_type = ark.naan == "61903" and _FAMILY_TYPE.fullmatch(ark.name) is not None
        return is_family_type or key in SHOULDERS or key in KNOWN_RULES or key in self.learned

    def check(self, ark: Ark) -> CheckCharacter:
        """Return the result of testing the last character of the base name of *ark*."""
        rule = self.rule_for(ark.naan, ark.name)
        if rule is None or len(ark.name) < 2 or self.is_shoulder(Ark(ark.naan, ark.name)):
            return CheckCharacter.UNKNOWN
        if rule.zone is None:
            return CheckCharacter.NONE
        return CheckCharacter.PASSES if rule.zone.passes(ark.naan, ark.name) else CheckCharacter.FAILS

    def confirms(self, ark: Ark | None) -> bool:
        """Return True if the check character of *ark* passes, and its name has at least `SHORTEST_CHECKED` characters.

        >>> Zones().confirms(Ark.parse("ark:/12148/bpt6k107371t")), Zones().confirms(Ark.parse("ark:/12148/bpt6"))
        (True, False)
        """
        return ark is not None and len(ark.name) >= SHORTEST_CHECKED and self.check(ark) is CheckCharacter.PASSES


#: `KNOWN_RULES`, without learned rules or declarations.
KNOWN_ZONES = Zones()


# Suggestions for a failing check character: single edits that make it pass. A suggestion is for a person to check and
# a resolver to confirm; it never replaces the text as written.

#: Longer names come from no minter, and have too many edits to try.
LONGEST_NAME = 40
#: Characters that readers or text recognition confuse.
LOOK_ALIKES = ("1lIi|", "0oOD", "5sS", "2zZ", "8bB", "6G", "9gq", "vu")


class Edit(StrEnum):
    """The error that an edit corrects, the likeliest first.

    The fewer edits of a kind are possible, the rarer one of them passes by chance.
    """

    MISSING_CHECK_CHARACTER = "missing-check-character"
    """The check character is missing: by far the most frequent failure in real texts (25 of 28)."""
    STRAY_CHARACTER = "stray-character"
    """A bracket, punctuation or other mark outside the alphabet."""
    DOUBLED_CHARACTER = "doubled-character"
    LETTER_CASE = "letter-case"
    LOOK_ALIKE = "look-alike"
    """``l`` for ``1``, ``o`` for ``0``."""
    SWAPPED_CHARACTERS = "swapped-characters"
    """Two neighbours are swapped."""
    SURPLUS_CHARACTER = "surplus-character"
    WRONG_CHARACTER = "wrong-character"
    MISSING_CHARACTER = "missing-character"


#: Edits without an obvious cause: they must keep a numbered name in its series.
_ODD_EDITS = (Edit.SURPLUS_CHARACTER, Edit.WRONG_CHARACTER, Edit.MISSING_CHARACTER)
_NUMBERED = re.compile(r"(?P<series>[a-z]+(?:[0-9][a-z]+)?)[0-9]{4,}[a-z]?\Z")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An ARK whose check character passes, and the single edit that gives it."""

    ark: Ark
    edit: Edit


def suggestions(
    ark: Ark,
    *,
    zones: Zones = KNOWN_ZONES,
    is_allowed: Callable[[Ark], bool] | None = None,
    occurs_elsewhere: Callable[[str], bool] | None = None,
    limit: int = 5,
) -> tuple[Suggestion, ...]:
    """Return at most *limit* ARKs one edit away from *ark* that pass, likeliest first; empty if *ark* doesn't fail.

    First come ARKs for whose normal form *occurs_elsewhere* returns True, then those with the fewest characters outside
    the alphabet, in the order of `Edit` and of the offset in the name. Digits are replaced by digits and letters by
    letters, except look-alikes; a numbered name keeps its series (bpt6k). ARKs of another shoulder, or for which
    *is_allowed* returns False, are left out.

    >>> [(str(candidate.ark), candidate.edit.value) for candidate in suggestions(Ark("12148", "cb32895690"), limit=1)]
    [('ark:12148/cb32895690j', 'missing-check-character')]
    >>> swapped = suggestions(Ark("12148", "btv1b8449961v"), is_allowed=lambda ark: len(ark.name) == 13, limit=1)
    >>> [(str(candidate.ark), candidate.edit.value) for candidate in swapped]
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
        if _is_of_same_series(name, ark.name, edit):
            edits[name] = edit

    def rank(name: str) -> tuple[bool, int]:
        is_new = occurs_elsewhere is None or not occurs_elsewhere(str(Ark(ark.naan, name)))
        return is_new, sum(char not in zone.alphabet for char in name)

    ranked = (Suggestion(Ark(ark.naan, name, ark.qualifier), edits[name]) for name in sorted(edits, key=rank))
    return tuple(islice((candidate for candidate in ranked if is_allowed is None or is_allowed(candidate.ark)), limit))


def _is_of_same_series(name: str, written_name: str, edit: Edit) -> bool:
    """Return True if *name* keeps the shoulder and series of *written_name* after *edit*, ignoring case.

    A look-alike may hide the series; a missing check character changes none.

    >>> edit = Edit.MISSING_CHECK_CHARACTER
    >>> _is_of_same_series("kt4199q42g", "kt4199q42", edit), _is_of_same_series("kt199q42g", "kt4199q42g", edit)
    (True, False)
    """
    shoulder, series = shoulder_of(written_name.lower()), series_of(written_name)
    if shoulder is not None and shoulder_of(name.lower()) != shoulder:
        return False
    if series is None or edit is Edit.MISSING_CHECK_CHARACTER:
        return True
    return series_of(name) == series if edit in _ODD_EDITS else series_of(name) is not None


def series_of(name: str) -> str | None:
    """Return the beginning of a numbered *name*: letters, perhaps with one digit between them; None for other names.

    In a numbered name only digits, at least four, follow the beginning, and perhaps a final letter.

    >>> series_of("bpt6k8301661f"), series_of("cb32895690j"), series_of("cb219g3518"), series_of("kt4199q42g")
    ('bpt6k', 'cb', None, None)
    """
    numbered = _NUMBERED.match(name.lower())
    return numbered["series"] if numbered else None


def _single_edits(naan: str, name: str, zone: Zone) -> Iterator[tuple[str, Edit]]:
    """Yield the names one edit away from *name*, with the edit, in the order of `Edit`; not all of them pass."""
    yield (name + check_character(zone.covered_text(naan, name), zone.alphabet), Edit.MISSING_CHECK_CHARACTER)
    offsets = range(len(name))
    shortened = [name[:offset] + name[offset + 1 :] for offset in offsets]
    yield from ((shortened[offset], Edit.STRAY_CHARACTER) for offset in offsets if not name[offset].isalnum())
    yield from (
        (shortened[offset], Edit.DOUBLED_CHARACTER) for offset in offsets[:-1] if name[offset] == name[offset + 1]
    )
    yield name.upper() if zone is Zone.UPPER_CASE else name.lower(), Edit.LETTER_CASE
    for offset in offsets:
        group = next((group for group in LOOK_ALIKES if name[offset] in group), "")
        yield from (
            (name[:offset] + char + name[offset + 1 :], Edit.LOOK_ALIKE) for char in group if char in zone.alphabet
        )
    for offset in offsets[:-1]:
        yield name[:offset] + name[offset + 1] + name[offset] + name[offset + 2 :], Edit.SWAPPED_CHARACTERS
    yield from ((shortened[offset], Edit.SURPLUS_CHARACTER) for offset in offsets)
    for offset in offsets:
        for char in _passing_between(zone, naan, name[:offset], name[offset + 1 :]):
            if offset == len(name) - 1 or char.isdigit() == name[offset].isdigit():  # else it would be a look-alike
                yield name[:offset] + char + name[offset + 1 :], Edit.WRONG_CHARACTER
    for offset in range(len(name) + 1):
        for char in _passing_between(zone, naan, name[:offset], name[offset:]):
            yield name[:offset] + char + name[offset:], Edit.MISSING_CHARACTER


def _passing_between(zone: Zone, naan: str, stem_before: str, text_after: str) -> list[str]:
    """Return the characters that make the check character right, inserted between *stem_before* and *text_after*.

    >>> _passing_between(Zone.NAME, "12148", "btv1b84", "9691v")
    ['4']
    """
    alphabet = zone.alphabet
    if not text_after:
        return [check_character(zone.covered_text(naan, stem_before), alphabet)]
    passing_char = check_character(zone.covered_text(naan, stem_before + alphabet[0] + text_after[:-1]), alphabet)
    difference = alphabet.find(text_after[-1]) - alphabet.index(passing_char)
    position = len(zone.covered_text(naan, stem_before)) + 1
    if text_after[-1] not in alphabet:
        return []
    return [char for ordinal, char in enumerate(alphabet) if (position * ordinal - difference) % len(alphabet) == 0]
