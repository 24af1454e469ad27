"""The packaging of Office Open XML (ECMA-376, part 2): how its parts relate, and what is said of the whole."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from extractors.mentions.label_spellings import may_hold_ark
from extractors.model.documents import Role
from extractors.readers.office.package import Package
from extractors.readers.office.xml_events import EventTarget, Leaf, Leaves, local_name, root_name
from extractors.readers.running_text import RunningText

_MOST_RELATIONS = 200_000
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """From a part to another one, or to something outside of the package."""

    target: str
    """As written if external, else the name of a member."""
    is_external: bool
    kind: str
    """The last piece of its type: ``hyperlink``, ``image``, ``attachedTemplate`` …"""


def parts_by_root(package: Package) -> dict[str, str]:
    """The XML members and the local names of their root elements, in natural order of their names.

    What a part is can be seen in itself. By the standard its name is free, the relations lead to it and
    ``[Content_Types].xml`` says what it is; in a damaged package both may be lost.
    """
    names = (name for name in package.names if name.lower().endswith(".xml"))
    return {name: root_name(package.head(name)) for name in sorted(names, key=natural_order)}


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """A key by which ``slide10`` comes after ``slide9``.

    >>> sorted(["s10", "s9", "a"], key=natural_order)
    ['a', 's9', 's10']
    """
    pieces = enumerate(_DIGITS.split(name))
    return tuple((int(piece[:18]), piece) if index % 2 else (0, piece) for index, piece in pieces)


def number_of(name: str) -> str:
    """The number at the end of a part's name, if it has one.

    >>> number_of("word/header2.xml"), number_of("word/kopf.xml")
    ('2', '')
    """
    digits = _DIGITS.findall(posixpath.basename(name))
    return digits[-1] if digits else ""


def relations_of(package: Package, part: str) -> Mapping[str, Relation]:
    """The relations of a part by their ids; none if it has none."""
    folder, name = posixpath.split(part)
    relations = _Relations(folder)
    package.parse(posixpath.join(folder, "_rels", f"{name}.rels"), relations)
    return relations.found


class _Relations(EventTarget):
    """Takes the events of a relationships part."""

    def __init__(self, folder: str) -> None:
        self.found: dict[str, Relation] = {}
        self._folder = folder

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A relation has no content: all of it is in its attributes."""
        target = attributes.get("Target", "").strip()
        if local_name(tag) != "Relationship" or not target or len(self.found) >= _MOST_RELATIONS:
            return
        kind = attributes.get("Type", "").rpartition("/")[2]
        is_external = attributes.get("TargetMode", "").lower() == "external" or kind == "hyperlink"
        if not is_external:
            target = posixpath.normpath(posixpath.join("/", self._folder, unquote(target))).lstrip("/")
        self.found[attributes.get("Id", "")] = Relation(target, is_external, kind)


def add_unused_targets(text: RunningText, relations: Mapping[str, Relation], used: set[str], location: str) -> None:
    """Return what is linked without visible text: the links of pictures, linked files, and what an editor forgot."""
    for identifier, relation in relations.items():
        if identifier in used or not relation.is_external:
            continue
        if relation.kind == "hyperlink" or may_hold_ark(relation.target):
            text.add_link(relation.target, location, leads_on=relation.kind == "hyperlink")


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that a document states of itself."""

    title: str = ""
    base: str | None = None
    """The base of its relative links."""


def read_properties(package: Package, text: RunningText, roots: Mapping[str, str]) -> Properties:
    """Core, custom and extended properties; their values become metadata of *text*."""
    title, base = "", None
    for name, root in roots.items():
        if root == "coreProperties":
            for leaf in _leaves(package, name):
                text.add_value(leaf.text, f"core/{leaf.name}")
                title = title or (" ".join(leaf.text.split()) if leaf.name == "title" else "")
        elif root == "Properties":
            for leaf in _leaves(package, name):
                if leaf.within:
                    text.add_value(leaf.text, f"custom/{leaf.within}")
                elif leaf.name == "HyperlinkBase":
                    base = leaf.text
    return Properties(title, base)


def read_custom_xml(package: Package, text: RunningText, roots: Mapping[str, str]) -> None:
    """The data with a document, such as the sources of its bibliography, where they may hold an ARK."""
    for name in roots:
        if name.lower().startswith("customxml/item"):
            for leaf in _leaves(package, name):
                if may_hold_ark(leaf.text):
                    text.add_value(leaf.text, f"{name}/{leaf.name}", Role.STRUCTURED_DATA)


def _leaves(package: Package, name: str) -> list[Leaf]:
    leaves = Leaves()
    package.parse(name, leaves)
    return leaves.found
