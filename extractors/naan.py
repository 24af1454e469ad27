"""What is known about NAANs without asking anybody: the four shared ones, and a few well-known organizations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedNaan:
    """A NAAN under which anybody may assign names (draft-kunze-ark-38, table 2)."""

    naan: str
    purpose: str
    expected_to_resolve: str
    long_term_reference: bool


SHARED_NAANS: Mapping[str, SharedNaan] = {
    shared.naan: shared
    for shared in (
        SharedNaan("12345", "examples in documentation", "maybe", False),
        SharedNaan("99152", "terms of vocabularies and ontologies", "yes", True),
        SharedNaan("99166", "people, groups and institutions as agents", "yes", True),
        SharedNaan("99999", "tests, development and experiments", "maybe", False),
    )
}

#: Organizations behind well-known NAANs: public facts, for reports made without a copy of the registry.
WELL_KNOWN_NAANS: Mapping[str, str] = {
    "12148": "Bibliothèque nationale de France",
    "13030": "California Digital Library",
    "13960": "Internet Archive",
    "27927": "Portico",
    "29072": "University of Oxford, Bodleian Libraries",
    "53355": "Musée du Louvre",
    "61903": "FamilySearch",
    "65665": "Smithsonian Institution",
    "67375": "INIST-CNRS",
    "67531": "University of North Texas Libraries",
    "81055": "British Library",
    "87278": "University of Utah",
    "88435": "Princeton University Library",
}
