"""Where the phrases of ``quirks.toml`` were seen: ``vectors/phrase_sources.toml``, which the program never reads."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tests.vectors import FOLDER

#: A phrase, after the name of its table.
Phrase = tuple[str, str]
#: The parts of the file that are no sources.
UNSEEN, ORDINARY = "unseen", "ordinary"
#: Keys of a table that hold no phrases.
_NO_PHRASES = frozenset({"name", "reason", "since", "status"})


def quirks_content() -> dict[str, Any]:
    """Return the content of ``quirks.toml``."""
    return tomllib.loads(files("crawler.answers").joinpath("quirks.toml").read_text("utf-8"))


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "phrase_sources.toml").read_text("utf-8"))


def ordinary_lists() -> frozenset[str]:
    """Return the names of the lists of ordinary words, such as ``withdrawal.this``: a dictionary is their source."""
    return frozenset(f"{table}.{name}" for table, names in _content()[ORDINARY].items() for name in names)


def declared() -> list[tuple[str, Phrase]]:
    """Return each source, or `UNSEEN`, with a phrase that it has."""
    return [
        (source, (table, phrase))
        for source, tables in _content().items()
        if source != ORDINARY
        for table, phrases in tables.items()
        for phrase in phrases
    ]


def phrases_in(content: Mapping[str, Any]) -> list[Phrase]:
    """Return the phrases that need a source in the content of ``quirks.toml``, each once."""
    return list(
        dict.fromkeys(
            (table, phrase)
            for table, value in content.items()
            for name, phrases in _lists(table, value)
            if name not in ordinary_lists()
            for phrase in phrases
        )
    )


def _lists(name: str, value: object) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of phrases in a table with their names: ``not_found.en``, ``challenge.title``."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "host" and isinstance(part, str):
                yield name, [part]
            elif key not in _NO_PHRASES:
                yield from _lists(f"{name}.{key}", part)
    elif isinstance(value, list) and all(isinstance(part, str) for part in value):
        yield name, value
    elif isinstance(value, list):
        for part in value:
            yield from _lists(name, part)
