"""ARKs in the forms that file systems take: ``ark+=12148=btv1b8`` of pairtrees, ``ark_12148_btv1b8`` of file names.

Pairtree (draft-kunze-pairtree-01, 3) writes ``=`` for a slash, ``+`` for a colon and ``,`` for a period.
"""

from __future__ import annotations

import re

from extractors.mentions.pieces import Piece

_WORD = re.compile(r"[0-9A-Za-z]{1,255}")
_PAIRTREE_NAME = re.compile(r"[0-9A-Za-z=+,~*@_$-]{1,255}")
_PAIRTREE = str.maketrans("=+,", "/:.")


def mapped_ark(text: str, start: int, *, is_file_name: bool) -> list[Piece]:
    """NAAN, slash and name of the mapped ARK whose NAAN begins at *start*; nothing where none does.

    >>> [chars for chars, _, _ in mapped_ark("ark+=13030=xt12t3,pdf", 5, is_file_name=False)]
    ['13030', '/', 'xt12t3.pdf']
    """
    separator, names = ("_", _WORD) if is_file_name else ("=", _PAIRTREE_NAME)
    naan = _WORD.match(text, start)
    if not naan or not text.startswith(separator, naan.end()):
        return []
    name = names.match(text, naan.end() + 1)
    if not name:
        return []
    chars: str = name[0] if is_file_name else name[0].translate(_PAIRTREE)
    return [(naan[0], *naan.span()), ("/", naan.end(), naan.end() + 1), (chars, *name.span())]
