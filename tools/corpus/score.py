#!/usr/bin/env python3
"""Precision and recall of extraction over the labelled corpus, by half, group, kind, language and kind of NAANs.

    python tools/corpus/score.py                  print the figures
    python tools/corpus/score.py --show 50        also print 50 misses and false finds with their text (only of dev)
    python tools/corpus/score.py --raise-floors   raise the floors in floors.toml to the figures reached

ARKs are compared without resolver, label form, query, fragment, hyphens and final structural characters. Each distinct
ARK of a document counts once.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from extractors.extraction import extraction_of, whole_arks, with_evidence
from extractors.mentions.mention import Mention
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import Confidence

HERE = Path(__file__).resolve().parent
FLOORS = HERE / "floors.toml"
HALVES = ("dev", "held-out")
#: Difference from which a floor should be raised.
SLACK = 0.005

#: Classes of breaks, by kind of document. Confidence must be calibrated in each class.
BREAK_CLASSES = {
    "comments": re.compile("comments"),
    "gutters": re.compile("gutter|lineno"),
    "letterspacing": re.compile("letterspaced"),
    "marks": re.compile("marks|footnotes"),
    "narrow columns": re.compile("narrow|columns"),
    "page ends": re.compile("paged|pages"),
    "soft hyphens": re.compile("soft|discretionary"),
    "tables": re.compile("table|break-all"),
}
_LABEL = re.compile(r"ark:/?", re.IGNORECASE)


@dataclass(frozen=True)
class Document:
    """A document of the corpus and the truth about it."""

    half: str
    path: str
    kind: str
    language: str
    naans: str
    arks: frozenset[str]
    """Identities of the ARKs that the document cites."""
    followers: Mapping[str, str]
    """The kind of text behind an ARK, in documents about that."""

    @property
    def group(self) -> str:
        """The group of the document: ``plain``, ``negatives``, ``html``, ``pdf``, ``layout`` or ``false-friends``."""
        return self.path.partition("/")[0]

    @property
    def file(self) -> Path:
        """The path of the file."""
        return HERE / self.half / "documents" / self.path

    @property
    def break_class(self) -> str:
        """The class of its breaks or, if there is none, its group."""
        return next((name for name, kinds in BREAK_CLASSES.items() if kinds.search(self.kind)), self.group)

    @cached_property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """Table and row of each figure in which the document counts."""
        of_kind = f"{self.group} {self.kind}"
        # The languages of this group are not balanced.
        if self.group == "layout":
            return (("group", self.group), ("kind", of_kind))
        return (
            ("group", self.group),
            ("kind", of_kind),
            ("language", self.language),
            ("naans", f"{self.group} {self.naans}"),
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of ARKs: true ones, found ones, and found ones that are right."""

    right: int = 0
    found: int = 0
    true: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.right + other.right, self.found + other.found, self.true + other.true)

    @property
    def precision(self) -> float:
        """The share of found ARKs that are right; 1 without found ARKs."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of true ARKs that were found; 1 without true ARKs."""
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 without true or found ARKs.

        >>> Tally(right=3, found=4, true=5).f1
        0.6666666666666666
        """
        return 2 * self.right / (self.found + self.true) if self.found + self.true else 1.0


Figures = Mapping[str, Mapping[str, Tally]]


def identity(ark: str) -> str:
    """Return the form in which ARKs are compared.

    >>> identity("https://n2t.net/ARK:/B5937/d1-x/c2.?lang=fr")
    'ark:b5937/d1x/c2'
    """
    label = _LABEL.search(ark)
    if label is None:
        return ark
    naan, _, name = re.split(r"[?#]", ark[label.end() :])[0].replace("-", "").partition("/")
    return f"ark:{naan.lower()}/{name.strip('/.')}"


def documents(half: str) -> list[Document]:
    """Return the documents of one half, in the order of the file of truth."""
    lines = (HERE / half / "truth.jsonl").read_text("utf-8").splitlines()
    return [_document(half, json.loads(line)) for line in lines]


def _document(half: str, row: Mapping[str, object]) -> Document:
    arks = [identity(ark) for ark in _strings(row["arks"])]
    followers = dict(zip(arks, _strings(row.get("followed by", [])), strict=False))
    path, kind, language, naans = (str(row[key]) for key in ("document", "kind", "language", "naans"))
    return Document(half, path, kind, language, naans, frozenset(arks), followers)


def _strings(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(each) for each in value]


def mentions_in(corpus: Iterable[Document]) -> dict[str, tuple[Mention, ...]]:
    """Return the mentions of each document by path, decided as by ``arkaudit extract``."""
    read = {document.path: extraction_of(document.file.read_bytes(), name=document.file.name) for document in corpus}
    evidence = Evidence.from_arks(ark for extraction in read.values() for ark in whole_arks(extraction.mentions))
    return {path: with_evidence(each.mentions, each.unresolved, evidence) for path, each in read.items()}


def identities(mentions: Mapping[str, tuple[Mention, ...]]) -> dict[str, set[str]]:
    """Return the identities of *mentions*, by document."""
    return {path: {identity(str(mention.ark)) for mention in found} for path, found in mentions.items()}


def calibration(corpus: Iterable[Document], mentions: Mapping[str, tuple[Mention, ...]]) -> dict[str, tuple[int, int]]:
    """Return the numbers of wrong mentions and of all mentions by confidence, without false friends."""
    counts = {confidence.token: (0, 0) for confidence in sorted(Confidence, reverse=True)}
    for document in corpus:
        if document.group == "false-friends":
            continue
        for mention in mentions[document.path]:
            wrong, all_ = counts[mention.confidence.token]
            is_wrong = identity(str(mention.ark)) not in document.arks
            counts[mention.confidence.token] = wrong + is_wrong, all_ + 1
    return counts


def calibration_by_class(
    corpus: Iterable[Document], mentions: Mapping[str, tuple[Mention, ...]]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the calibration of each class of breaks."""
    classes: dict[str, list[Document]] = defaultdict(list)
    for document in corpus:
        if document.group != "false-friends":
            classes[document.break_class].append(document)
    return {name: calibration(of_class, mentions) for name, of_class in sorted(classes.items())}


def interval(part: int, whole: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for the share *part* of *whole*.

    >>> low, high = interval(1, 200)
    >>> f"{low:.4f} to {high:.4f}"
    '0.0009 to 0.0278'
    """
    if not whole:
        return 0.0, 1.0
    z, share = 1.96, part / whole
    middle = share + z * z / (2 * whole)
    margin = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    return max(0.0, (middle - margin) / (1 + z * z / whole)), (middle + margin) / (1 + z * z / whole)


def figures(corpus: list[Document], found: Mapping[str, set[str]]) -> Figures:
    """Return all figures of *corpus*, by table and row."""
    tallies: dict[str, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    for document in corpus:
        got = found[document.path]
        tally = Tally(len(got & document.arks), len(got), len(document.arks))
        for table, row in document.figures:
            tallies[table][row] += tally
    return {table: dict(sorted(rows.items())) for table, rows in tallies.items()}


def floors() -> dict[str, dict[str, dict[str, float]]]:
    """Return the F1 that each figure must reach, by half, table and row."""
    return tomllib.loads(FLOORS.read_text("utf-8")) if FLOORS.exists() else {}


def raise_floors(known: Mapping[str, float], reached: Mapping[str, Tally]) -> dict[str, float]:
    """Return the floors of one table, raised to the figures *reached* (rounded down) and never lowered."""
    return {row: max(known.get(row, 0.0), math.floor(tally.f1 * 10_000) / 10_000) for row, tally in reached.items()}


def floors_text(all_floors: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the content of ``floors.toml``."""
    lines = [
        "# F1 that extraction must reach on the labelled corpus. Floors only rise:",
        "# tools/corpus/score.py --raise-floors",
    ]
    for half, tables in all_floors.items():
        for table, rows in tables.items():
            lines += ["", f"[{half}.{table}]"]
            lines += [f"{json.dumps(row)} = {floor:.4f}" for row, floor in rows.items()]
    return "\n".join(lines) + "\n"


def misses(corpus: list[Document], found: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a line for each missed ARK, with its place in the text, and for each false find."""
    for document in corpus:
        got = found[document.path]
        text = "" if document.path.endswith(".pdf") else document.file.read_text("utf-8", errors="replace")
        for ark in sorted(document.arks - got):
            before = f" [before: {document.followers[ark]}]" if ark in document.followers else ""
            yield f"missed {document.path}: {ark}{before}{_standing_there(text, ark)}"
        for ark in sorted(got - document.arks):
            yield f"false  {document.path}: {ark}"


def _standing_there(text: str, ark: str) -> str:
    """Return the part of *text* that holds *ark*, maybe broken, with the text around it."""
    bare = ark.removeprefix("ark:")
    place = re.search(r"[^\w/]{0,8}?".join(re.escape(char) for char in bare), text, re.IGNORECASE)
    return f"\n         {text[max(place.start() - 12, 0) : place.end() + 24]!r}" if place else ""


def _print_figures(half: str, reached: Figures) -> None:
    for table, rows in reached.items():
        print(f"{half}, by {table}")
        for row, tally in rows.items():
            quality = f"P {tally.precision:.4f}  R {tally.recall:.4f}  F1 {tally.f1:.4f}"
            print(f"  {row:28} {quality}  ({tally.true} ARKs, {tally.found} found)")


def _print_calibration(half: str, counts: Mapping[str, tuple[int, int]]) -> None:
    print(f"{half}, by confidence: wrong")
    for token, (wrong, all_) in counts.items():
        low, high = interval(wrong, all_)
        share = wrong / all_ if all_ else 0.0
        print(f"  {token:28} {wrong} of {all_}: {share:.2%} (95 %: {low:.2%} to {high:.2%})")


def _print_calibration_by_class(half: str, classes: Mapping[str, Mapping[str, tuple[int, int]]]) -> None:
    print(f"{half}, by class of break and confidence: wrong")
    for name, counts in classes.items():
        shares = []
        for token, (wrong, all_) in counts.items():
            low, high = interval(wrong, all_)
            shares.append(f"{token} {wrong} of {all_} ({low:.1%} to {high:.1%})")
        print(f"  {name:16} {'  '.join(shares)}")


def _print_followers(corpus: list[Document], found: Mapping[str, set[str]]) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for document in corpus:
        for ark, follower in document.followers.items():
            tallies[follower] += Tally(ark in found[document.path], 0, 1)
    print("negatives, by what follows: ARKs found whole")
    for follower, tally in sorted(tallies.items(), key=lambda each: each[1].recall):
        print(f"  {follower:28} R {tally.recall:.4f}  ({tally.true})")


def main() -> int:
    """Print the figures, do the tasks of the options, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N misses and false finds of dev")
    parser.add_argument("--raise-floors", action="store_true", help="write floors.toml; no floor is lowered")
    asked = parser.parse_args()
    known = floors()
    new: dict[str, dict[str, dict[str, float]]] = {}
    for half in HALVES:
        corpus = documents(half)
        mentions = mentions_in(corpus)
        found = identities(mentions)
        reached = figures(corpus, found)
        _print_figures(half, reached)
        _print_followers(corpus, found)
        _print_calibration(half, calibration(corpus, mentions))
        _print_calibration_by_class(half, calibration_by_class(corpus, mentions))
        new[half] = {table: raise_floors(known.get(half, {}).get(table, {}), rows) for table, rows in reached.items()}
        if half == "dev":
            for line, _ in zip(misses(corpus, found), range(asked.show), strict=False):
                print(line)
    if asked.raise_floors:
        FLOORS.write_text(floors_text(new), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
