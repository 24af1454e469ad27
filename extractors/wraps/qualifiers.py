"""The words that qualifiers are made of: components and variants that many resolvers share, and those of the audit."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable

import regex

from extractors.ark import Ark

#: Behind a period these end a name: what Python's own table knows as file suffixes, and a few of libraries.
FILE_SUFFIXES = frozenset(
    suffix.removeprefix(".")
    for known in mimetypes.MimeTypes(filenames=()).types_map
    for suffix in known
) | {"djvu", "jp2", "jpx", "jsonld", "md", "mets", "mods", "ocr", "rdf", "rst", "tei", "ttl", "yml"}  # fmt: skip

#: The viewers of Gallica (BnF, "Syntaxe des URLs"), IIIF's image and presentation interfaces, UNT's and Merritt's.
WORDS = frozenset(
    """
    item image images planchecontact texteImage texteBrut texte thumbnail highres medres lowres zoom vocal double
    date liste manifest info canvas sequence range annotation full max default native color gray bitonal square pct
    high med low res small large print citation opengraph producer system README metadata content download
    """.split()  # noqa: SIM905 (as a list, forty lines)
)

_DELIMITERS = "/._=~:"
_PART = regex.compile(rf"[^{_DELIMITERS}]+")
_LAST_PART = regex.compile(rf"[^{_DELIMITERS}]*\Z")
_FIRST_PART = regex.compile(rf"[^{_DELIMITERS}]*")
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")


def qualifier_words(arks: Iterable[Ark]) -> frozenset[str]:
    """The words in the qualifiers of *arks*, all of them seen whole; numbers and single letters are none.

    >>> sorted(qualifier_words([Ark.parse("ark:12148/bpt6k1/f42.image.r=Dumas")]))
    ['Dumas', 'image']
    """
    return frozenset(
        part for ark in arks if ark.qualifier for part in _PART.findall(ark.qualifier) if _TWO_LETTERS.search(part)
    )


def completes_word(qualifier: str, following: str, learned: frozenset[str]) -> bool | None:
    """Return whether *following* completes the last word of a *qualifier* as written; False where that is complete
    already.

    None where neither is a known word. *qualifier* begins at its first delimiter.

    >>> completes_word("/f42.plan", "checontact", frozenset()), completes_word("/f42.item", "300dpi", frozenset())
    (True, False)
    >>> completes_word("/c3.", "part", frozenset()) is None
    True
    """
    last, first = _LAST_PART.search(qualifier)[0], _FIRST_PART.match(following)[0]
    delimiter = qualifier[-len(last) - 1 : len(qualifier) - len(last)]

    def is_known(word: str) -> bool:
        if word in WORDS or word in learned:
            return True
        return delimiter == "." and len(word) > 1 and (word in FILE_SUFFIXES or word.swapcase() in FILE_SUFFIXES)

    if first and is_known(last + first):
        return True
    if last and first and len(last) > 1 and is_known(last):
        return False
    return None
