"""Extraction reaches its floors on the labelled corpus, and the labels of the corpus are true."""

import html
import importlib.util
import re
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tools" / "corpus"


def script(name: str) -> ModuleType:
    """Return a script of the corpus as a module: its folder is no package."""
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", CORPUS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


score = script("score")
DOCUMENTS = {half: score.documents(half) for half in score.HALVES}
FLOORS = [
    pytest.param(half, table, row, floor, id=f"{half} {table} {row}")
    for half, tables in score.floors().items()
    for table, rows in tables.items()
    for row, floor in rows.items()
]


@cache
def figures_of(half: str) -> Any:
    corpus = DOCUMENTS[half]
    return score.figures(corpus, score.identities(mentions(half)))


@cache
def mentions(half: str) -> Any:
    return score.mentions_in(DOCUMENTS[half])


@pytest.mark.parametrize(("half", "table", "row", "floor"), FLOORS)
def test_extraction_reaches_its_floor(half: str, table: str, row: str, floor: float) -> None:
    tally = figures_of(half)[table][row]
    quality = f"precision {tally.precision:.4f}, recall {tally.recall:.4f} over {tally.true} ARKs"
    assert tally.f1 >= floor, f"F1 {tally.f1:.4f} is {floor - tally.f1:.4f} below its floor of {floor:.4f}: {quality}"
    if tally.f1 > floor + score.SLACK:
        warnings.warn(f"{half} {table} {row}: F1 {tally.f1:.4f}, floor {floor:.4f}; raise it", stacklevel=1)


@pytest.mark.parametrize(("confidence", "at_most"), [("certain", 1 / 200), ("likely", 1 / 20)])
def test_confidence_matches_the_error_rate(confidence: str, at_most: float) -> None:
    both = [score.calibration(DOCUMENTS[half], mentions(half))[confidence] for half in score.HALVES]
    wrong, all_ = (sum(counts) for counts in zip(*both, strict=True))
    assert all_ > 500
    assert wrong / all_ <= at_most, f"{wrong} of {all_} are wrong"


@pytest.mark.parametrize("break_class", sorted(score.BREAK_CLASSES))
def test_confidence_is_right_in_each_class_of_breaks(break_class: str) -> None:
    both = [score.calibration_by_class(DOCUMENTS[half], mentions(half))[break_class] for half in score.HALVES]
    for confidence, at_most in (("certain", 1 / 200), ("likely", 1 / 20)):
        wrong, all_ = (sum(counts[confidence][at] for counts in both) for at in (0, 1))
        assert all_ >= 10, confidence
        assert wrong <= at_most * all_, f"{confidence}: {wrong} of {all_} are wrong"


def test_certainty_near_breaks_and_marks_is_justified() -> None:
    kinds = re.compile("marks|letterspaced|narrow|columns|gutter|soft-blank|comments|weasyprint-pages")
    for half, documents in DOCUMENTS.items():
        awkward = [document for document in documents if kinds.search(document.kind)]
        counts = score.calibration(awkward, mentions(half))
        assert counts["certain"][0] == 0
        assert counts["likely"][1] > 50


def test_each_figure_has_a_floor() -> None:
    figures = {half: {table: set(rows) for table, rows in figures_of(half).items()} for half in score.HALVES}
    assert figures == {
        half: {table: set(rows) for table, rows in tables.items()} for half, tables in score.floors().items()
    }


def test_floors_only_rise() -> None:
    tallies = {"better": score.Tally(9, 10, 10), "worse": score.Tally(5, 10, 10), "new": score.Tally(2, 3, 3)}
    assert score.raise_floors({"better": 0.8, "worse": 0.8, "gone": 0.5}, tallies) == {
        "better": 0.9,
        "worse": 0.8,
        "new": 0.6666,
    }


@pytest.mark.parametrize(
    ("written", "identity"),
    [
        ("https://n2t.net/ark:/12148/btv1-b84?lang=fr", "ark:12148/btv1b84"),
        ("ARK:B5937/d1/c2.", "ark:b5937/d1/c2"),
        ("ark:12148/btv1b84/f2.item", "ark:12148/btv1b84/f2.item"),
        ("ark:85533/aB=1_x", "ark:85533/aB=1_x"),
    ],
)
def test_identities_are_compared(written: str, identity: str) -> None:
    assert score.identity(written) == identity


def test_truth_covers_each_document() -> None:
    for half, documents in DOCUMENTS.items():
        folder = CORPUS / half / "documents"
        on_disk = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
        assert on_disk == {document.path for document in documents}


@pytest.mark.parametrize("half", score.HALVES)
def test_each_text_and_page_holds_the_ark_that_the_truth_has(half: str) -> None:
    """The letters and digits of each ARK, broken or not, appear in their order."""
    for document in DOCUMENTS[half]:
        if document.file.suffix == ".pdf":
            continue
        text = document.file.read_text("utf-8", errors="replace")
        text = html.unescape(re.sub(r"%[0-9A-F]{2}|</?(?:wbr|b)>", " ", text))
        if document.kind == "gutter":
            text = re.sub(r"(?m)^ *[0-9]+  ", "", text)
        if document.kind == "table-bars":
            text = "".join(line[25:47] for line in text.splitlines() if line.startswith("|"))
        if document.kind == "table-blanks":
            text = "".join(line[:28] for line in text.splitlines())
        if document.kind == "paged":
            text = re.sub(r"\n\n\d+\n\f[^\n]*\n\n", "\n", text)
        lost = {ark for ark in document.arks if bare(ark.removeprefix("ark:")) not in bare(text)}
        assert not lost, f"{document.path}: {lost}"


def bare(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def test_no_two_documents_share_an_ark() -> None:
    """A whole ARK would settle breaks in another document."""
    cited = Counter(ark for documents in DOCUMENTS.values() for document in documents for ark in document.arks)
    assert [ark for ark, count in cited.items() if count > 1] == []


def test_nothing_knows_the_unseen_naans() -> None:
    documents = [document for documents in DOCUMENTS.values() for document in documents]
    naans = {
        known: {ark[4:].partition("/")[0] for each in documents if each.naans == known for ark in each.arks}
        for known in ("known", "unseen")
    }
    assert len(naans["unseen"]) >= 8
    assert not naans["known"] & naans["unseen"]
    word = re.compile(rf"\b(?:{'|'.join(sorted(naans['unseen']))})\b")
    for path in sorted((ROOT / "extractors").rglob("*.*")):
        if path.suffix in {".py", ".json", ".toml", ".csv", ".txt"}:
            assert not word.search(path.read_text("utf-8")), path


def test_its_extent() -> None:
    arks: Counter[str] = Counter()
    for documents in DOCUMENTS.values():
        for document in documents:
            arks[document.group] += len(document.arks)
            arks[document.language] += len(document.arks)
    assert arks["plain"] >= 2000
    assert arks["negatives"] >= 1000
    assert arks["pdf"] >= 400
    assert arks["false-friends"] >= 60
    assert min(arks[language] for language in ("en", "fr", "de", "es")) >= 800
