"""Values of structured data: which may name an ARK, and whether a value is one identifier or prose."""

from __future__ import annotations

import re

from extractors.mentions.label_spellings import may_hold_ark
from extractors.model.documents import Block, Role

#: Every spelling of the label holds one of these (`extractors.mentions.labels`); most values hold none.
_SIGN = re.compile(r"[:\N{FULLWIDTH COLON}%\\&+_]")
_NAAN_AND_NAME = re.compile(r"/?(?P<compact>[0-9a-z]{5,16}/[0-9A-Za-z]\S*)", re.ASCII)


def may_name_ark(value: str) -> bool:
    """As `may_hold_ark`, and quick to say no, as it mostly does for the values of structured data.

    >>> list(filter(may_name_ark, ["info:ark/12345/x5", "%61rk%3A/12345/x5", "Noah's Ark", "dark: a bookmark"]))
    ['info:ark/12345/x5', '%61rk%3A/12345/x5']
    """
    return _SIGN.search(value) is not None and may_hold_ark(value)


def value_block(value: str, location: str, *, alone: Role = Role.STRUCTURED_DATA) -> Block:
    """The block of one value: *alone* if it is a single word, else prose, in which a line may wrap.

    >>> value_block("ark:/12345/x5", "/@id").role.value, value_block("see ark:/12345/x5", "/note").role.value
    ('structured-data', 'text')
    """
    stripped = value.strip()
    is_prose = len(stripped.split(maxsplit=1)) > 1
    return Block(stripped, Role.TEXT if is_prose else alone, place=location)


def labelled(value: str) -> str | None:
    """*value* with the label that the field around it says in its stead, or None for what is no NAAN and name.

    >>> labelled("12148/btv1b8449691v"), labelled("https://n2t.net/ark:/12148/btv1b8449691v")
    ('ark:12148/btv1b8449691v', None)
    """
    compact = _NAAN_AND_NAME.fullmatch(value.strip())
    return f"ark:{compact['compact']}" if compact else None
