"""Update the catalogues of translations: ``python -m tools.catalogues``.

It extracts every sentence of a report from code and template into each ``.po`` file. New sentences have no translation
yet, and unused ones are removed.
"""

from __future__ import annotations

import io
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from reports.languages import FOLDER, NAMES

#: Languages with a catalogue; English is in the code.
TRANSLATED: Final = tuple(code for code in NAMES if code != "en")
#: Files with sentences, and Babel's methods to extract them.
_SOURCES: Final = {
    "reports": [("**.py", "python"), ("**.j2", "jinja2"), ("**.toml", "tools.catalogues:extract_declared")],
    "arkaudit/features/overview": [("**.py", "python"), ("**.j2", "jinja2")],
    "arkaudit/output": [("reporting.py", "python"), ("hints.py", "python")],
    "arkaudit/features/living_issue": [("**.py", "python")],
}
#: The fields of declarations that are texts for readers.
_TEXTS: Final = ("title", "caption", "nothing", "meaning", "unit", "answers")
#: The field of a vocabulary that is a token.
_TOKEN: Final = "fault"
#: A fixed creation date, so that files do not change without a reason.
_BEGUN: Final = datetime(2026, 11, 23, tzinfo=UTC)


def extract_sentences() -> Catalog:
    """Return the catalogue of all sentences in code and template."""
    catalogue = Catalog(project="arkaudit", charset="utf-8")
    for folder, methods in _SOURCES.items():
        for name, _, message, comments, context in extract_from_dir(
            FOLDER.parent.parent / folder, methods, comment_tags=["Translators:"], strip_comment_tags=True
        ):
            place = (f"{folder}/{name}", 0)
            catalogue.add(message, locations=[place], auto_comments=comments, context=context)
    return catalogue


def extract_declared(
    file: BinaryIO, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[tuple[int, str, str | tuple[str, str], Sequence[str]]]:
    """Yield the texts for readers in the declarations of tables, or the words of vocabularies, for Babel."""
    declared = tomllib.load(file)
    yield from _sentences_in(list(declared.values()), _TEXTS if "shared" in declared else None)


def _sentences_in(
    declared: Any, texts: Collection[str] | None
) -> Iterator[tuple[int, str, str | tuple[str, str], Sequence[str]]]:
    """Yield the sentences in nested values: fields with names in *texts*, or all but `_TOKEN`."""
    match declared:
        case {"one": one, "many": many}:
            yield 0, "ngettext", (one, many), []
        case dict():
            for name, value in declared.items():
                if not isinstance(value, str):
                    yield from _sentences_in(value, texts)
                elif name in texts if texts else name != _TOKEN:
                    yield 0, "gettext", value, []
        case list():
            for part in declared:
                yield from _sentences_in(part, texts)


def load_catalogue(code: str) -> Catalog:
    """Return the stored catalogue of a language."""
    path = FOLDER / f"{code}.po"
    if not path.exists():
        return Catalog(locale=code, project="arkaudit", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=code)


def text_of(catalogue: Catalog) -> bytes:
    """Return a catalogue as a ``.po`` file; the same sentences give the same bytes."""
    catalogue.creation_date = catalogue.revision_date = _BEGUN
    for message in catalogue:
        message.locations = sorted({(name, 0) for name, _ in message.locations})
    sink = io.BytesIO()
    write_po(sink, catalogue, width=100, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    return sink.getvalue()


def update_catalogue(code: str) -> Catalog:
    """Return the catalogue of a language with exactly the sentences in use."""
    catalogue = load_catalogue(code)
    catalogue.update(extract_sentences(), no_fuzzy_matching=True)
    return catalogue


def untranslated_sentences(catalogue: Catalog) -> list[Message]:
    """Return the sentences without a translation, or without one of its forms."""
    return [message for message in catalogue if message.id and not all(_strings(message))]


def _strings(message: Message) -> tuple[str, ...]:
    string = message.string
    return tuple(string) if isinstance(string, list | tuple) else (string or "",)


def main(folder: Path = FOLDER) -> None:
    """Update every catalogue, and print the number of untranslated sentences."""
    for code in TRANSLATED:
        catalogue = update_catalogue(code)
        (folder / f"{code}.po").write_bytes(text_of(catalogue))
        print(
            f"{code}: {len(catalogue)} sentences, {len(untranslated_sentences(catalogue))} to translate",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
