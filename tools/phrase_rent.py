#!/usr/bin/env python3
"""Show which phrases of ``quirks.toml`` pay their rent: the vectors that fail if a phrase is switched off.

    python tools/phrase_rent.py             the phrases without a source
    python tools/phrase_rent.py TABLE …     all phrases of these tables

The number counts the vectors whose test fails; phrases that change nothing are last.
"""

from __future__ import annotations

import functools
import gc
import html
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawler.answers import quirks as quirks_module
from crawler.answers.quirks import Quirks, bare, plain, quirks
from tests.phrase_sources import UNSEEN, Phrase, declared, phrases_in, quirks_content
from tests.unit.crawler import test_verdict
from tests.vectors import rows, strings_in

TESTS = Path(__file__).resolve().parents[1] / "tests" / "unit" / "crawler"
_TAG = re.compile(r"<[^<>]*>")
#: The name of a host, which the program leaves out before it looks for words about a parked domain.
_HOST = re.compile(r"\S+\.\w{2,}\S*\s?")
#: What separates the parts of a phrase: other words, the value of a header, any ending.
_BETWEEN = re.compile(r" \.\.\. |: |\*")


@dataclass(frozen=True)
class Case:
    """A vector with the function that tests it, and its text."""

    why: str
    test: Callable[[Any], None]
    vector: Mapping[str, Any]
    text: str

    def has(self, phrase: str) -> bool:
        """Return True if all parts of *phrase* are in the text."""
        return all(bare(plain(part)) in self.text for part in _BETWEEN.split(phrase))

    def fails(self) -> bool:
        """Return True if the test of the vector fails now."""
        try:
            self.test(self.vector)
        except AssertionError:
            return True
        return False


def cases() -> Iterator[Case]:
    """Yield the vectors of the crawler whose test needs nothing else."""
    for file in sorted(TESTS.glob("test_*.py")):
        module = importlib.import_module(f"tests.unit.crawler.{file.stem}")
        for test in vars(module).values():
            if not isinstance(test, FunctionType) or test.__code__.co_argcount != 1:
                continue
            for mark in getattr(test, "pytestmark", ()):
                if mark.args[:1] == ("vector",):
                    for row in mark.args[1]:
                        yield Case(row.id, test, row.values[0], _text(row.values[0]))


def _text(vector: object) -> str:
    """Return the strings of a vector, with and without markup and hosts, in the form for comparing phrases."""
    written = html.unescape(" ".join(strings_in(vector)))
    apart = _TAG.sub(" ", written)
    return bare(plain(" ".join((written, _TAG.sub("", written), apart, _HOST.sub("", apart)))))


class JudgedOnDemand(dict[str, Any]):
    """The verdicts on vectors by their reasons, each judged when a test asks for it."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = {vector["why"]: vector for vector in rows("verdicts")}

    def __missing__(self, why: str) -> Any:
        """Return the verdict on a vector, without keeping it."""
        return test_verdict.verdict_on(self.vectors[why])


@contextmanager
def switched_off(content: Mapping[str, Any], phrase: Phrase) -> Iterator[None]:
    """Switch off *phrase* in the block."""
    table, words = phrase
    variant = Quirks(**{**content, table: _without(content[table], words)})
    fields = {name: getattr(variant if name == table else quirks(), name) for name in Quirks.model_fields}
    with patch.object(quirks_module, "Quirks", lambda **_: Quirks.model_construct(**fields)):
        _forget()
        quirks()
    yield
    _forget()


def _without(value: Any, phrase: str) -> Any:
    if isinstance(value, list):
        return [_without(part, phrase) for part in value if part != phrase]
    if isinstance(value, Mapping):
        return {name: _without(part, phrase) for name, part in value.items()}
    return value


def _forget() -> None:
    """Clear the caches of the crawler."""
    for cache in gc.get_objects():
        if isinstance(cache, functools._lru_cache_wrapper) and str(cache.__module__).startswith("crawler."):
            cache.cache_clear()


def rents(phrases: Sequence[Phrase]) -> Iterator[tuple[Phrase, list[str]]]:
    """Yield each of *phrases* with the reasons of the vectors that fail without it."""
    content, everything = quirks_content(), list(cases())
    with patch.object(test_verdict, "judgements", lambda: (JudgedOnDemand(), None)):
        for phrase in phrases:
            affected = [case for case in everything if case.has(phrase[1])]
            if not affected:
                yield phrase, []
                continue
            with switched_off(content, phrase):
                yield phrase, [case.why for case in affected if case.fails()]


def main(tables: Sequence[str]) -> int:
    """Print the rent of the phrases of these *tables*, or of those without a source; return 0."""
    if tables:
        phrases = [phrase for phrase in phrases_in(quirks_content()) if phrase[0] in tables]
    else:
        phrases = [phrase for source, phrase in declared() if source == UNSEEN]
    for (table, words), failing in sorted(rents(phrases), key=lambda rent: len(rent[1]), reverse=True):
        print(f"{len(failing):3}  {table}: {words}  {failing[0] if failing else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
