"""Check characters of a hundred thousand names at once, as `extractors.model.check_characters` has them, by arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from extractors.model.ark import BETANUMERIC
from extractors.model.check_characters import SHOULDERS, UPPER_CASE, CheckCharacter, Zone, Zones, zones_of_counts
from reports.tables.distinct import arrow_texts

#: Zones in the order of the columns of what passes.
_ZONES: Final = tuple(Zone)
#: A primordinal shoulder, as `extractors.model.ark.shoulder_of` has it.
_SHOULDER: Final = r"\A(?P<shoulder>[bcdfghjkmnpqrstvwxz]*[0-9])"
#: The place of each octet in an alphabet, -1 for those that are not in it.
_PLACES: Final = {
    alphabet: np.array([alphabet.find(chr(octet)) for octet in range(256)]) for alphabet in (BETANUMERIC, UPPER_CASE)
}

Flags = np.ndarray[Any, np.dtype[np.bool_]]


def checked(arks: pd.DataFrame) -> tuple[Zones, pd.Series]:
    """Return what *arks* show about check characters, and what that says of each: a word of `CheckCharacter`.

    *arks* has the columns naan and name, the base name. It is what `Zones.of` and `Zones.check` say of each.
    """
    naans, names = arks["naan"].astype("str"), arks["name"].astype("str")
    texts = arrow_texts(names)
    ark_names = pd.DataFrame(
        {
            "naan": naans.to_numpy(),
            "shoulder": pc.struct_field(pc.extract_regex(texts, _SHOULDER), "shoulder").to_numpy(zero_copy_only=False),
            "beginning": pc.utf8_slice_codeunits(texts, 0, 2).to_numpy(zero_copy_only=False),
            "name": names.to_numpy(),
        }
    )
    is_long = pc.greater(pc.utf8_length(texts), 1).to_numpy(zero_copy_only=False)
    passes = _passes(naans, names, is_long)
    zones = Zones(zones_of_counts(*_counts(ark_names, passes, is_long)))
    claimed = _claimed(zones, ark_names)
    fits = np.append(passes, np.zeros((len(ark_names), 2), bool), axis=1)[np.arange(len(ark_names)), claimed]
    words = np.where(claimed == _NO_ZONE, CheckCharacter.NONE.value, np.where(fits, *_PASSES_OR_FAILS)).astype("object")
    words[(claimed == _NO_CLAIM) | ~is_long | _is_shoulder(zones, ark_names)] = CheckCharacter.UNKNOWN.value
    return zones, pd.Series(words, index=arks.index, dtype="str")


_NO_ZONE, _NO_CLAIM = len(_ZONES), len(_ZONES) + 1
_PASSES_OR_FAILS: Final = (CheckCharacter.PASSES.value, CheckCharacter.FAILS.value)


def _passes(naans: pd.Series, names: pd.Series, is_long: Flags) -> Flags:
    """Return one row per name and one column a zone: whether the name passes in it, as `Zone.passes` has it."""
    passes = np.zeros((len(names), len(_ZONES)), bool)
    texts = arrow_texts(names)
    is_plain = is_long & pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)
    plain = texts.filter(pa.array(is_plain))
    codes, different = pd.factorize(naans[is_plain])
    for number, zone in enumerate(_ZONES):
        before = [zone.covered(naan, "") for naan in different]
        passes[is_plain, number] = _fit(plain, zone.alphabet, before, codes)
    for row in np.flatnonzero(is_long & ~is_plain):
        passes[row] = [zone.passes(naans.iloc[row], names.iloc[row]) for zone in _ZONES]
    return passes


def _fit(names: pa.Array, alphabet: str, before: list[str], codes: np.ndarray[Any, Any]) -> Flags:
    """Return whether the last character of each of *names* is the check character of the rest after a text *before*.

    A text before a name moves every position by its length, and adds what it adds to any name: positions times
    ordinals, whose sum is the check character, modulo the alphabet. *names* are of ASCII and longer than a character.
    """
    if not len(names):
        return np.zeros(0, bool)
    offsets = np.frombuffer(names.buffers()[1], np.int64)[names.offset : names.offset + len(names) + 1]
    octets = np.frombuffer(names.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    begins, ends = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    places = _PLACES[alphabet][octets]
    ordinals = np.maximum(places, 0)
    positions = np.arange(1, len(octets) + 1) - np.repeat(begins, ends - begins)
    summed, weighed = (np.concatenate([[0], np.cumsum(weights)]) for weights in (ordinals, ordinals * positions))
    lasts = ends - 1
    moved, added = (
        np.array([number(text) for text in before])[codes] for number in (len, lambda text: _weight(text, alphabet))
    )
    total = added + weighed[lasts] - weighed[begins] + moved * (summed[lasts] - summed[begins])
    fits: Flags = total % len(alphabet) == places[lasts]
    return fits


def _weight(text: str, alphabet: str) -> int:
    """Return positions times ordinals of *text*."""
    return sum(position * max(0, alphabet.find(char)) for position, char in enumerate(text, 1))


def _counts(
    names: pd.DataFrame, passes: Flags, is_long: Flags
) -> tuple[Mapping[str, Mapping[str | None, int]], Mapping[tuple[str, str | None], Mapping[Zone, int]]]:
    """Return how many different names there are of each NAAN and shoulder, and how many pass in each zone."""
    flags = pd.DataFrame(passes, index=names.index)
    different = pd.concat([names, flags], axis="columns")[is_long].drop_duplicates(["naan", "name"])
    groups = different.groupby(["naan", "shoulder"], dropna=False, sort=False)
    by_shoulder: dict[str, dict[str | None, int]] = defaultdict(dict)
    passed = {}
    sums = groups[list(flags.columns)].sum()
    for (naan, group), number, counts in zip(sums.index, groups.size(), sums.to_numpy(), strict=True):
        shoulder = None if pd.isna(group) else group
        by_shoulder[naan][shoulder] = int(number)
        passed[naan, shoulder] = dict(zip(_ZONES, map(int, counts), strict=True))
    return by_shoulder, passed


def _claimed(zones: Zones, names: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return the zone of each name by its place, or `_NO_ZONE`, or `_NO_CLAIM`: the same for all that begin alike."""
    groups = names.groupby(["naan", "shoulder", "beginning"], dropna=False, sort=False)
    numbers = groups.ngroup().to_numpy()
    firsts = groups[["name"]].head(1).index.to_numpy()
    claims = np.full(len(firsts), _NO_CLAIM)
    for naan, name, number in zip(names["naan"][firsts], names["name"][firsts], numbers[firsts], strict=True):
        claim = zones.claim(naan, name)
        if claim is not None:
            claims[number] = _NO_ZONE if claim.zone is None else _ZONES.index(claim.zone)
    return claims[numbers]


def _is_shoulder(zones: Zones, names: pd.DataFrame) -> Flags:
    """Return whether each name is wholly a shoulder: see `Zones.names_shoulder`."""
    keys = {*SHOULDERS, *zones.known, *zones.learned}
    wholes = [f"{naan}/{shoulder}" for naan, shoulder in keys if shoulder is not None]
    return (names["naan"] + "/" + names["name"]).isin(wholes).to_numpy()
