"""What the catalogues hold: every sentence of a report, taken from the code and the template; for those who translate.

``python -m deploy.catalogues`` brings each ``.po`` file up to date: new sentences stand there without a
translation, and those that are said no more are gone.
"""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.pofile import read_po, write_po

from reports.languages import FOLDER, NAMES

#: The languages that have a file; English stands in the code.
TRANSLATED: Final = tuple(code for code in NAMES if code != "en")
#: Where sentences stand, and how they are read there.
_SOURCES: Final = {"reports": [("**.py", "python"), ("**.j2", "jinja2")], "arkaudit": [("reporting.py", "python")]}
#: What is given a sentence, besides what gettext itself knows: where among its arguments that stands.
_KEYWORDS: Final = (
    {**DEFAULT_KEYWORDS, "Forms": (1, 2), "TableDefinition": (2,)},
    {"TableDefinition": (3,)},
    {
        f"{kind}_column": (2,)
        for kind in ["text", "token", "url", "naan", "ark", "count", "number", "share", "truth", "moment"]
    },
)
#: A file says when it was begun; a newer day would change it, and say nothing.
_BEGUN: Final = datetime(2026, 11, 23, tzinfo=UTC)


def extracted() -> Catalog:
    """Every sentence that the code and the template have to say."""
    catalogue = Catalog(project="arkaudit", charset="utf-8")
    for keywords, (folder, methods) in product(_KEYWORDS, _SOURCES.items()):
        for name, _, message, comments, context in extract_from_dir(
            FOLDER.parent.parent / folder,
            methods,
            keywords=keywords,
            comment_tags=["Translators:"],
            strip_comment_tags=True,
        ):
            place = (f"{folder}/{name}", 0)
            catalogue.add(message, locations=[place], auto_comments=comments, context=context)
    return catalogue


def kept(code: str) -> Catalog:
    """The catalogue of a language as it is kept."""
    path = FOLDER / f"{code}.po"
    if not path.exists():
        return Catalog(locale=code, project="arkaudit", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=code)


def text_of(catalogue: Catalog) -> bytes:
    """A catalogue as a file: the same sentences give the same bytes."""
    catalogue.creation_date = catalogue.revision_date = _BEGUN
    for message in catalogue:
        message.locations = sorted({(name, 0) for name, _ in message.locations})
    sink = io.BytesIO()
    write_po(sink, catalogue, width=100, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
    return sink.getvalue()


def updated(code: str) -> Catalog:
    """The catalogue of a language with every sentence, and no other."""
    catalogue = kept(code)
    catalogue.update(extracted(), no_fuzzy_matching=True)
    return catalogue


def untranslated(catalogue: Catalog) -> list[Message]:
    """The sentences, but for the header, that lack a translation, or a form of it."""
    return [message for message in catalogue if message.id and not all(_strings(message))]


def _strings(message: Message) -> tuple[str, ...]:
    string = message.string
    return tuple(string) if isinstance(string, list | tuple) else (string or "",)


def main(folder: Path = FOLDER) -> None:
    """Bring every catalogue up to date, and tell what is to be translated."""
    for code in TRANSLATED:
        catalogue = updated(code)
        (folder / f"{code}.po").write_bytes(text_of(catalogue))
        print(f"{code}: {len(catalogue)} sentences, {len(untranslated(catalogue))} to translate", file=sys.stderr)


if __name__ == "__main__":
    main()
