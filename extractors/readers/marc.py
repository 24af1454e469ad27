"""MARC 21 and UNIMARC in their exchange format (ISO 2709): the fields that may name an ARK."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pymarc.marc8 import marc8_to_unicode

from extractors.mentions.labels import leads_to_document, may_hold_ark, with_label
from extractors.model.budget import as_time_allows
from extractors.model.decoding import first_bytes
from extractors.model.documents import Block, Finding, Reading, Role, value_block

MEDIA_TYPE = "application/marc"
MOST_BYTES = 64 * 2**20

_RECORD_END, _FIELD_END, _SUBFIELD = b"\x1d", b"\x1e", b"\x1f"
_LEADER_BYTES, _ENTRY_BYTES = 24, 12
_ENTRY = re.compile(rb"(?P<tag>[0-9A-Za-z]{3})(?P<length>[0-9]{4})(?P<start>[0-9]{5})")
_ENTRIES = re.compile(rb"(?:[0-9A-Za-z]{3}[0-9]{9})*+")

#: Fields with the type of the identifier in $2: Other Standard Identifier, and UNIMARC's equivalent.
_IDENTIFIER_TAGS = frozenset({"017", "024"})
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_IN_MARC8 = re.compile(rb"[\x1b\x80-\xff]")
#: Runs of three-byte characters (EACC) that end inside one; the decoder would print a warning.
_TORN_EACC = re.compile(rb"\x1b\$[,)-]?1(?:[^\x1b]{3})*+[^\x1b]{1,2}(?:\x1b|\Z)")

Field = tuple[str, bytes]


def read_marc(data: bytes) -> Reading:
    r"""Return the fields and subfields that may name an ARK, by tag and code, and the links in $u.

    A record with a wrong directory is split at its separators; other records are not affected.

    >>> fields = b"7 \x1faark:/12345/x5\x1f2ark\x1e"
    >>> reading = read_marc(b"00072nam a2200037 a 4500024002100000\x1e" + fields + b"\x1d")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', '024$a', 'ark:/12345/x5')]
    """
    data, findings = first_bytes(data, MOST_BYTES)
    blocks: list[Block] = []
    targets: list[str] = []
    malformed: list[int] = []
    *records, rest = data.split(_RECORD_END)
    for number, record in enumerate(as_time_allows((*records, rest), "record"), start=1):
        record = record.lstrip(b"\0\t\n\r\x1a ")
        if not record:
            continue
        fields = _fields(record)
        if fields is None or number > len(records):
            malformed.append(number)
        is_utf8 = record[9:10] == b"a"
        for tag, field in fields if fields is not None else _salvage_fields(record):
            blocks += _blocks(tag, field, is_utf8)
            targets += (_text(value, is_utf8) for code, value in _subfields(field) if code == "u")
    if malformed:
        detail = f"records with a wrong directory: {len(malformed)}, the first is record {malformed[0]}"
        findings.append(Finding("malformed-record", detail))
    links = tuple(dict.fromkeys(filter(leads_to_document, targets)))
    return Reading(MEDIA_TYPE, tuple(blocks), links, findings=tuple(findings))


def _fields(record: bytes) -> list[Field] | None:
    """Return tag and content of each field by the directory; None if the directory is wrong."""
    base = record[12:17]
    if not base.isdigit() or not _LEADER_BYTES < int(base) <= len(record):
        return None
    directory, body = record[_LEADER_BYTES : int(base)], record[int(base) :]
    if not directory.endswith(_FIELD_END) or len(directory) % _ENTRY_BYTES != 1:
        return None
    fields: list[Field] = []
    read = 0
    for at in range(0, len(directory) - 1, _ENTRY_BYTES):
        entry = _ENTRY.fullmatch(directory, at, at + _ENTRY_BYTES)
        if entry is None:
            return None
        start = int(entry["start"])
        field = body[start : start + int(entry["length"])]
        read += len(field)
        if field.find(_FIELD_END) != len(field) - 1 or read > len(body):  # a wrong length, or overlapping entries
            return None
        fields.append((entry["tag"].decode("ascii"), field[:-1]))
    return fields if read >= len(body.rstrip(b"\0\n\r ")) else None


def _salvage_fields(record: bytes) -> list[Field]:
    r"""Return the pieces between the separators, with tags if there are as many in the directory.

    >>> _salvage_fields(b"00000nam  2200000   4500856999900000024999900000\x1ex\x1ey\x1e")
    [('856', b'x'), ('024', b'y')]
    """
    head, *pieces = record.split(_FIELD_END)
    pieces = [piece for piece in pieces if piece.strip()]
    directory = _ENTRIES.match(head, _LEADER_BYTES) if len(head) >= _LEADER_BYTES else None
    if directory is None:
        return [("", piece) for piece in (head, *pieces)]
    entries = sorted(_ENTRY.finditer(directory[0]), key=lambda entry: int(entry["start"]))
    left_over = head[directory.end() :]
    if left_over or len(entries) != len(pieces):
        return [("", piece) for piece in (left_over, *pieces)]
    return [(entry["tag"].decode("ascii"), piece) for entry, piece in zip(entries, pieces, strict=True)]


def _blocks(tag: str, field: bytes, is_utf8: bool) -> Iterator[Block]:
    """Yield the values of a field that may name an ARK, or that the field declares to be ARKs."""
    if _SUBFIELD not in field:
        if may_hold_ark(field.decode("utf-8", "replace")):
            yield value_block(_text(field, is_utf8), tag, alone=Role.METADATA)
        return
    subfields = list(_subfields(field))
    is_ark = tag in _IDENTIFIER_TAGS and any(
        code == "2" and value.strip().lower() == b"ark" for code, value in subfields
    )
    for code, value in subfields:
        text = ""
        if is_ark and code == "a":
            text = with_label(_text(value, is_utf8)) or ""
        if not text and may_hold_ark(value.decode("utf-8", "replace")):
            text = _text(value, is_utf8)
        if text:
            yield value_block(text, f"{tag}${code}", alone=Role.LINK_TARGET if code == "u" else Role.METADATA)


def _subfields(field: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield code and value of each subfield; an unprintable code becomes a question mark."""
    for subfield in field.split(_SUBFIELD)[1:]:
        code = subfield[:1].decode("ascii", "replace")
        yield code if code.isprintable() else "?", subfield[1:]


def _text(value: bytes, is_utf8: bool) -> str:
    r"""Return a value as text, with a blank for each run of control characters, so that they still separate.

    >>> _text(b"caf\xc3\xa9\x07ark", True), _text(b"caf\xe2e", False), _text("café".encode(), False)
    ('café ark', 'café', 'café')
    """
    try:
        text = value.decode("utf-8")  # many records declare MARC-8 wrongly
        if is_utf8 or not _IN_MARC8.search(value) or not text.isascii():
            return _CONTROLS.sub(" ", text).strip()
    except UnicodeDecodeError:
        pass
    if is_utf8:
        text = value.decode("utf-8", "replace")
    elif _TORN_EACC.search(value):
        text = value.decode("ascii", "replace")
    else:
        # Blanks for control characters, which the decoder would drop.
        printable = bytes(byte if byte >= 0x20 or byte == 0x1B else 0x20 for byte in value)
        try:
            text = marc8_to_unicode(printable, hide_utf8_warnings=True)
        except (LookupError, ValueError, TypeError):
            text = printable.decode("ascii", "replace")
    return _CONTROLS.sub(" ", text).strip()
