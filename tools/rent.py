#!/usr/bin/env python3
"""Show which rows of the table of ends pay their rent: what changes if a row is switched off.

    python tools/rent.py            print a line for each row; rows that change nothing are last
    python tools/rent.py NAME …     only these rows

A row changes a vector or a document of the corpus if any mention in it differs. The third column counts those in which
a mention becomes certain. That is bad if its ARK isn't there with all rows, or, in the corpus, if the truth doesn't have
it. Examples of rows don't count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from extractors.extraction import read_document
from extractors.find import scan
from extractors.mentions import endings
from extractors.mentions.endings import ENDINGS, SIGNS, UNSEEN, Ending
from extractors.mentions.fast_path import holds_no_label
from extractors.mentions.mention import Mention
from extractors.model.documents import Block, Role
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import Confidence
from tests.vectors import strings_in
from tools.corpus import score

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors"

#: What is compared of a mention: its ARK, its text, and the confidence in it.
Fact = tuple[str, str, Confidence]


@contextmanager
def without(row: Ending) -> Iterator[None]:
    """Switch off *row* of the table in the block."""
    with (
        patch.object(endings, "SIGNS", tuple(each for each in SIGNS if each is not row)),
        patch.object(endings, "ENDINGS", tuple(each for each in ENDINGS if each is not row)),
    ):
        yield


@dataclass(frozen=True)
class Text:
    """A vector or a document, and the ARKs that are in it, if known."""

    name: str
    blocks: tuple[Block, ...]
    arks: frozenset[str] | None = None

    def facts(self) -> list[Fact]:
        """Return the facts about the mentions in its blocks."""
        return [
            (score.identity(str(mention.ark)), mention.as_written, mention.confidence)
            for block in self.blocks
            for mention in scan(block, Evidence())
            if isinstance(mention, Mention)
        ]


@dataclass(frozen=True)
class Rent:
    """The changes without a row."""

    row: Ending
    vectors: int
    documents: int
    certain: int
    """Texts in which a mention becomes certain."""
    bad: int


def vectors() -> Iterator[Text]:
    """Yield the strings in all vectors that may hold a label, as texts, and as link targets if they have no blank."""
    found: dict[str, str] = {}
    for file in sorted(VECTORS.rglob("*.json")):
        for string in strings_in(json.loads(file.read_text("utf-8"))):
            found.setdefault(string, file.name)
    for file in sorted((VECTORS / "typeset").glob("*.txt")):
        for case in file.read_text("utf-8").split("\n# why: "):
            text = case.partition("\n")[2].partition("# arks")[0]
            found.setdefault(text.replace("⟦", "").replace("⟧", ""), file.name)
    for string, name in found.items():
        if not holds_no_label(string):
            yield Text(name, (Block(string),))
            if " " not in string:
                yield Text(name, (Block(string, Role.LINK_TARGET),))


def documents() -> Iterator[Text]:
    """Yield the documents of the corpus."""
    for document in (each for half in score.HALVES for each in score.documents(half)):
        reading = read_document(document.file.read_bytes(), name=document.file.name)
        yield Text(document.path, reading.blocks, document.arks)


class Recorder:
    """A pattern that records in which texts it occurs."""

    def __init__(self, pattern: Any, texts: set[int], current: list[int]) -> None:
        self.pattern = pattern
        self.texts = texts
        self.current = current

    def __getattr__(self, method: str) -> Any:
        """Return a method of the pattern that records each call with a result."""

        def call(*arguments: Any) -> Any:
            if self.pattern.search(*arguments):
                self.texts.add(self.current[0])
            return getattr(self.pattern, method)(*arguments)

        return call


def rents(rows: Sequence[Ending], texts: Sequence[Text]) -> Iterator[Rent]:
    """Yield the rent of each of *rows*; only *texts* in which its pattern occurs are read again."""
    current = [0]
    occurrences: dict[str, set[int]] = {row.name: set() for row in rows}
    facts = []

    def recorded(row: Ending) -> Ending:
        return replace(row, pattern=Recorder(row.pattern, occurrences[row.name], current)) if row in rows else row

    with (
        patch.object(endings, "SIGNS", tuple(map(recorded, SIGNS))),
        patch.object(endings, "ENDINGS", tuple(map(recorded, ENDINGS))),
    ):
        for current[0], text in enumerate(texts):
            facts.append(text.facts())
    for row in rows:
        changed = in_documents = certain = bad = 0
        with without(row):
            for at in sorted(occurrences[row.name]):
                text, before, after = texts[at], facts[at], texts[at].facts()
                changed += after != before and text.arks is None
                in_documents += after != before and text.arks is not None
                right = text.arks if text.arks is not None else {ark for ark, _, _ in before}
                new = {ark for ark, _, confidence in set(after) - set(before) if confidence is Confidence.CERTAIN}
                certain += bool(new)
                bad += not new <= right
        yield Rent(row, changed, in_documents, certain, bad)


def main(names: Sequence[str]) -> int:
    """Print the rent of the rows with these *names*, or of all; return 0."""
    texts = [*vectors(), *documents()]
    rows = [row for row in (*SIGNS, *ENDINGS) if not names or row.name in names]
    found = sorted(
        rents(rows, texts), key=lambda rent: (rent.bad, rent.certain, rent.documents, rent.vectors), reverse=True
    )
    print("vectors documents certain bad  seen  row")
    for rent in found:
        seen = "-" if rent.row.source == UNSEEN else "yes"
        print(f"{rent.vectors:7} {rent.documents:9} {rent.certain:7} {rent.bad:3}  {seen:4}  {rent.row.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
