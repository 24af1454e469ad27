"""Docstrings, comments, messages and pages are plain English, and what they say of the code is so."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("arkaudit", "crawler", "extractors", "reports")
#: Phrases that make a reader look for the thing that is meant, and how many of 1,000 words may be one.
LIMITS = {
    "a clause instead of a name": (r"\bwhat\b(?! (?:if|is this|are)\b)(?![^.!\n]{0,80}\?)", 2.0),
    "of which": (r"\b(?:of|by|to|in|with|from|on|over|for|behind|at) (?:which|whom)\b", 1.0),
    "nothing as a thing": (r"\b(?-i:none)\b|\bnothing but\b|\bno more than\b", 1.2),
    "nobody": (r"\b(?:nobody|no one|somebody|someone|anybody|whoever|anyone|whom)\b", 0.3),
    "so many": (r"\bso (?:many|much|often|far|long)\b", 0.2),
    "telling": (r"\b(?:told|tells?|stands?|said|says|heard|hears)\b", 1.0),
    "old words": (r"\b(?:amiss|afresh|anew|likewise|besides|beside|hence|graver|gravest|heed\w*)\b", 0.3),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def functions() -> Iterator[tuple[str, Function, str]]:
    """Yield place, function and docstring."""
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, Function) and (words := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node, words


def prose_of(path: Path) -> Iterator[str]:
    """Yield docstrings without their examples, comments, and strings of several words; the lines of a page."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        yield re.sub(r"`[^`]*`", "", re.sub(r"(?s)```.*?```", "", text))
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1:
            yield re.sub(r"(?m)^\s*(?:>>>|\.\.\.).*$", "", node.value)
    yield from re.findall(r"(?m)(?:^ *|  )(#.*)$", text)


PLACES = {
    "code": modules(),
    "pages": sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]),
    "tests": sorted((ROOT / "tests").rglob("*.py")),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_phrases_that_hide_their_subject_are_rare(place: str) -> None:
    text = "\n".join(text for path in PLACES[place] if path.name != "test_prose.py" for text in prose_of(path))
    words = len(re.findall(r"[A-Za-z']+", text))
    rates = {
        name: 1000 * len(re.findall(pattern, text, re.IGNORECASE)) / words for name, (pattern, _) in LIMITS.items()
    }
    assert {name: round(rate, 2) for name, rate in rates.items() if rate > LIMITS[name][1]} == {}


def test_docstring_speaks_of_a_result_only_if_there_is_one() -> None:
    wrong = [
        place
        for place, node, words in functions()
        if words.startswith("Return ") and isinstance(node.returns, ast.Constant) and node.returns.value is None
    ]
    assert wrong == []


def test_parameters_in_docstrings_exist() -> None:
    wrong = []
    for place, node, words in functions():
        given = node.args
        names = {arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        names |= {arg.arg for arg in (given.vararg, given.kwarg) if arg}
        summary = words.partition(">>>")[0]
        wrong += [
            f"{place}: *{name}*"
            for name in re.findall(r"(?<![\w*`])\*([a-z_]+)\*(?![\w*])", summary)
            if name not in names
        ]
    assert wrong == []
