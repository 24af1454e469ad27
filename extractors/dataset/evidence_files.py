"""The evidence of a whole dataset, as files: what stands whole in it, and what its names have in common."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from extractors.ark import Ark
from extractors.checkchar import CheckCharacterRule, Zone, Zones, zones_of_distinct
from extractors.dataset.sorted_names import SortedNames, column_of, joined, read_names
from extractors.wraps.evidence import Evidence
from extractors.wraps.qualifiers import qualifier_words
from extractors.wraps.shapes import Shape, Shapes

#: The files of the evidence.
NAMES_FILE: Final = "whole.arrow"
LEARNED_FILE: Final = "learned.json"

_BASE = re.compile(r"[^/.]*")
#: ARKs of which the bases are gathered before those that were there already are dropped.
_AT_ONCE = 100_000
_DIGEST_DIGITS = 16


def digest_of(column: pa.LargeBinaryArray) -> str:
    """Return what names the evidence that a sorted column of normal forms gives.

    >>> digest_of(pa.array([b"ark:1/a"], pa.large_binary()))
    'da1824647c6a125b'
    """
    digest = hashlib.sha256()
    for start in range(0, len(column), _AT_ONCE):
        digest.update(b"".join(name.as_py() + b"\n" for name in column[start : start + _AT_ONCE]))
    return digest.hexdigest()[:_DIGEST_DIGITS]


def evidence_of(names: SortedNames) -> Evidence:
    """Return what `Evidence.of` gives for the same ARKs, without all of them as objects at the same time.

    >>> arks = [Ark("12148", "btv1b84", "/f1.item"), Ark("12148", "btv1b84")]
    >>> found, expected = evidence_of(SortedNames.of(map(str, arks))), Evidence.of(arks)
    >>> list(found.whole) == list(expected.whole), found.qualifiers == expected.qualifiers
    (True, True)
    """
    others = SortedNames.of_column(joined(_bases_of_qualified(names)))
    return Evidence(
        names,
        Shapes.of_distinct(_bases(names, others)),
        qualifier_words(_arks(names)),
        zones=Zones(zones_of_distinct(_bases(names, others))),
    )


def ark_in_normal_form(text: str) -> Ark:
    """Return the ARK whose normal form is *text*.

    >>> ark_in_normal_form("ark:12148/btv1b84/f1.item")
    Ark(naan='12148', name='btv1b84', qualifier='/f1.item')
    """
    naan, _, rest = text.removeprefix("ark:").partition("/")
    base = _BASE.match(rest)
    assert base is not None
    return Ark(naan, base[0], rest[base.end() :])


def learned_json(evidence: Evidence) -> bytes:
    """Return all of *evidence* but its names, as JSON."""
    shapes, zones = evidence.shapes, evidence.zones
    learned = {
        "shapes_by_kind": [[*kind, *_shape_json(shape)] for kind, shape in shapes.by_kind.items()],
        "shapes_by_naan": [[naan, *_shape_json(shape)] for naan, shape in shapes.by_naan.items()],
        "qualifiers": sorted(evidence.qualifiers),
        "check_characters": [
            [naan, shoulder, rule.zone, rule.seen, rule.passed] for (naan, shoulder), rule in zones.learned.items()
        ],
    }
    return json.dumps(learned).encode()


def read_evidence(names_file: Path, learned: bytes) -> Evidence:
    """Return the evidence that is kept in a file of names, mapped to memory, and as JSON."""
    kept = json.loads(learned)
    rules = {
        (naan, shoulder): CheckCharacterRule(Zone(zone) if zone else None, seen, passed)
        for naan, shoulder, zone, seen, passed in kept["check_characters"]
    }
    return Evidence(
        SortedNames.of_column(read_names(names_file)),
        Shapes(
            {(naan, letters): _shape_of(shape) for naan, letters, *shape in kept["shapes_by_kind"]},
            {naan: _shape_of(shape) for naan, *shape in kept["shapes_by_naan"]},
        ),
        frozenset(kept["qualifiers"]),
        zones=Zones(rules),
    )


def _bases_of_qualified(names: SortedNames) -> Iterator[pa.LargeBinaryArray]:
    """The normal forms of those of *names* that have a qualifier, without it, some at a time."""
    for start in range(0, len(names), _AT_ONCE):
        arks = map(ark_in_normal_form, names[start : start + _AT_ONCE])
        yield column_of(str(ark.base) for ark in arks if ark.qualifier)


def _bases(names: SortedNames, others: SortedNames) -> Iterator[Ark]:
    """The distinct ARKs without qualifiers: those among *names*, and those of *others* that are not among these."""
    yield from (ark for ark in _arks(names) if not ark.qualifier)
    whole = Evidence(names)
    yield from (ark_in_normal_form(other) for other in others if not whole.holds(other))


def _arks(names: Sequence[str]) -> Iterator[Ark]:
    return (ark_in_normal_form(names[place]) for place in range(len(names)))


def _shape_json(shape: Shape) -> list[Any]:
    return [sorted(shape.lengths), sorted(shape.sorts), shape.names]


def _shape_of(kept: Sequence[Any]) -> Shape:
    lengths, sorts, names = kept
    return Shape(frozenset(lengths), frozenset(sorts), names)
