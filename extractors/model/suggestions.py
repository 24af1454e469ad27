"""Suggestions where a check character fails: single edits that make it pass.

A suggestion is a guess for a reader to look at and for a resolver to confirm; it never replaces what was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from extractors.model.ark import Ark, Written, shoulder_of
from extractors.model.check_characters import KNOWN, CheckCharacter, Zone, Zones, check_character

#: Names longer than this are no minter's; their edits would be too many to try.
LONGEST_NAME = 40
#: Characters that are taken for one another, by eye or by text recognition.
LOOK_ALIKES = ("1lIi|", "0oOD", "5sS", "2zZ", "8bB", "6G", "9gq", "vu")


class Edit(StrEnum):
    """The kind of an edit, likeliest first: then the fewer such edits a name has, the less chance does."""

    MISSING_CHECK_CHARACTER = "missing-check-character"
    """The name ends without one: by far the most of the failures that were met in real texts (25 of 28)."""
    STRAY_CHARACTER = "stray-character"
    """A bracket, punctuation or other mark that no check character counts."""
    DOUBLED_CHARACTER = "doubled-character"
    LETTER_CASE = "letter-case"
    LOOK_ALIKE = "look-alike"
    """``l`` for ``1``, ``o`` for ``0``."""
    SWAPPED_CHARACTERS = "swapped-characters"
    """Two neighbours."""
    SURPLUS_CHARACTER = "surplus-character"
    WRONG_CHARACTER = "wrong-character"
    MISSING_CHARACTER = "missing-character"


#: Edits that nothing explains: they must leave a numbered name of its series.
_ODD_EDITS = (Edit.SURPLUS_CHARACTER, Edit.WRONG_CHARACTER, Edit.MISSING_CHARACTER)
_NUMBERED = re.compile(r"(?P<series>[a-z]+(?:[0-9][a-z]+)?)[0-9]{4,}[a-z]?\Z")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An ARK that may have been meant, and the one edit that leads to it."""

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
    """At most *limit* ARKs that differ from *ark* by one edit and pass, likeliest first; none where it doesn't fail.

    First come those that are elsewhere too (*is_seen*, of a normal form), then those with the fewest characters that
    no check character counts, then the order is that of `Edit`, then the place in the name. A digit is replaced by a
    digit and a letter by a letter, but for look-alikes; a numbered name keeps its series (bpt6k). *fits* says whether
    an ARK has the shape of its shoulder's names; those that don't are left out, as are those of another shoulder.

    >>> [(str(found.ark), found.edit.value) for found in suggestions(Ark.parse("ark:/12148/cb32895690"), limit=1)]
    [('ark:12148/cb32895690j', 'missing-check-character')]
    >>> of_thirteen = suggestions(Ark.parse("ark:/12148/btv1b8449961v"), fits=lambda ark: len(ark.name) == 13, limit=1)
    >>> [(str(found.ark), found.edit.value) for found in of_thirteen]
    [('ark:12148/btv1b8449691v', 'swapped-characters')]
    """
    if zones.check(ark) is not CheckCharacter.FAILS or len(ark.name) > LONGEST_NAME:
        return ()
    claim = zones.claim(ark.naan, ark.name)
    assert claim is not None
    zone = claim.zone
    assert zone is not None
    edits: dict[str, Edit] = {}
    for name, edit in _edited(ark.naan, ark.name, zone):
        if name in edits or not zone.passes(ark.naan, name):
            continue
        if _keeps_shoulder(name, ark.name) and _keeps_series(name, ark.name, edit):
            edits[name] = edit

    def rank(name: str) -> tuple[bool, int]:
        is_strange = is_seen is None or not is_seen(str(Ark(ark.naan, name)))
        return is_strange, sum(char not in zone.alphabet for char in name)

    ranked = (
        Suggestion(Ark(ark.naan, name, ark.qualifier), edits[name])
        for name in sorted(edits, key=rank)
    )
    return tuple(
        islice((candidate for candidate in ranked if fits is None or fits(candidate.ark)), limit)
    )


def _keeps_shoulder(name: str, written: str) -> bool:
    """Return whether *name* is of the shoulder of the one that was *written*, where that has one; case apart.

    >>> _keeps_shoulder("kt4199q42g", "kt4199q42"), _keeps_shoulder("kt199q42g", "kt4199q42g")
    (True, False)
    """
    shoulder = shoulder_of(written.lower())
    return shoulder is None or shoulder_of(name.lower()) == shoulder


def _keeps_series(name: str, written: str, edit: Edit) -> bool:
    """Return whether *name* is of the series of the one that was *written*, where that is a numbered one.

    A look-alike may have hidden the series, and to append a check character is always worth a try.
    """
    series = series_of(written)
    if series is None or edit is Edit.MISSING_CHECK_CHARACTER:
        return True
    return series_of(name) == series if edit in _ODD_EDITS else series_of(name) is not None


def series_of(name: str) -> str | None:
    """Return the letters, perhaps with one digit, that a numbered name begins with; None where it is of another form.

    Its numbers hold no letters but the last character, which may be one.

    >>> series_of("bpt6k8301661f"), series_of("cb32895690j"), series_of("cb219g3518"), series_of("kt4199q42g")
    ('bpt6k', 'cb', None, None)
    """
    numbered = _NUMBERED.match(name.lower())
    return numbered["series"] if numbered else None


def lower_case_form(written: str, ark: Ark) -> Ark | None:
    """Return what *ark* may have been before everything about it was set in capitals; None where that isn't so.

    Names are case-sensitive: the form is an alternative to ask about, never a correction (ARK FAQ).

    >>> str(lower_case_form("ARK:/12148/BTV1B8449691V", Ark.parse("ARK:/12148/BTV1B8449691V")))
    'ark:12148/btv1b8449691v'
    >>> lower_case_form("ark:/67375/6H6-N49F7FRR-Q", Ark.parse("ark:/67375/6H6-N49F7FRR-Q")) is None
    True
    """
    label = parts.label if (parts := Written.of(written)) else ""
    return (
        Ark.parse(str(ark).lower())
        if label.isupper() and (ark.name + ark.qualifier).isupper()
        else None
    )


def _edited(naan: str, name: str, zone: Zone) -> Iterator[tuple[str, Edit]]:
    """The single edits of *name*, in the order of `Edit` and, within one, of likelihood; some of them pass."""
    yield (
        name + check_character(zone.covered(naan, name), zone.alphabet),
        Edit.MISSING_CHECK_CHARACTER,
    )
    places = range(len(name))
    removed = [name[:at] + name[at + 1 :] for at in places]
    yield from ((removed[at], Edit.STRAY_CHARACTER) for at in places if not name[at].isalnum())
    yield from (
        (removed[at], Edit.DOUBLED_CHARACTER) for at in places[:-1] if name[at] == name[at + 1]
    )
    yield name.upper() if zone is Zone.UPPER_CASE else name.lower(), Edit.LETTER_CASE
    for at in places:
        group = next((group for group in LOOK_ALIKES if name[at] in group), "")
        yield from (
            (name[:at] + char + name[at + 1 :], Edit.LOOK_ALIKE)
            for char in group
            if char in zone.alphabet
        )
    for at in places[:-1]:
        yield name[:at] + name[at + 1] + name[at] + name[at + 2 :], Edit.SWAPPED_CHARACTERS
    yield from ((removed[at], Edit.SURPLUS_CHARACTER) for at in places)
    for at in places:
        for char in _passing_between(zone, naan, name[:at], name[at + 1 :]):
            if (
                at == len(name) - 1 or char.isdigit() == name[at].isdigit()
            ):  # else it would be a look-alike
                yield name[:at] + char + name[at + 1 :], Edit.WRONG_CHARACTER
    for at in range(len(name) + 1):
        for char in _passing_between(zone, naan, name[:at], name[at:]):
            yield name[:at] + char + name[at:], Edit.MISSING_CHARACTER


def _passing_between(zone: Zone, naan: str, before: str, after: str) -> list[str]:
    """The characters that, between *before* and *after*, make the check character right.

    >>> _passing_between(Zone.NAME, "12148", "btv1b84", "9691v")
    ['4']
    """
    alphabet = zone.alphabet
    if not after:
        return [check_character(zone.covered(naan, before), alphabet)]
    without = check_character(zone.covered(naan, before + alphabet[0] + after[:-1]), alphabet)
    difference = alphabet.find(after[-1]) - alphabet.index(without)
    position = len(zone.covered(naan, before)) + 1
    if after[-1] not in alphabet:
        return []
    return [
        char
        for ordinal, char in enumerate(alphabet)
        if (position * ordinal - difference) % len(alphabet) == 0
    ]
