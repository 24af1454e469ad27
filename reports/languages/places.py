"""Places in documents, for people."""

from __future__ import annotations

from reports.languages import ENGLISH, Language


def place_words(document: str, page: int | None, line: int | None = None, language: Language = ENGLISH) -> str:
    """Return a place in a document; editors and terminals open a file at its line.

    >>> place_words("thesis.pdf", 12), place_words("notes.md", None, 7), place_words("https://library.example/", None)
    ('thesis.pdf, p. 12', 'notes.md:7', 'https://library.example/')
    """
    if page is None:
        return document if line is None or "://" in document else f"{document}:{line}"
    return language.gettext("{document}, p. {page}", document=document, page=str(page))
