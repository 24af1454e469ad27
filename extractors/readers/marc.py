"""MARC 21 and UNIMARC in their exchange format (ISO 2709): the fields that may name an ARK."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from pymarc.marc8 import marc8_to_unicode

from extractors.mentions.possible_labels import may_hold_ark, with_label
from extractors.model.budget import as_time_allows
from extractors.model.decoding import first_bytes
from extractors.model.documents import Block, Finding, Reading, Role, value_block
from extractors.model.urls import leads_to_document

MEDIA_TYPE = "application/marc"
MOST_BYTES = 64 * 2**20

_RECORD_END, _FIELD_END, _SUBFIELD = b"\x1d", b"\x1e", b"\x1f"
_LEADER_BYTES = 24
_DIRECTORY_ENTRY = re.compile(rb"(?P<tag>[0-9A-Za-z]{3})(?P<length>[0-9]{4})(?P<start>[0-9]{5})")

#: Fields with the type of the identifier in $2: Other Standard Identifier, and UNIMARC's equivalent.
_IDENTIFIER_TAGS = frozenset({"017", "024"})
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
#: Runs of three-byte characters (EACC) that end inside one; the decoder would print a warning.
_TRUNCATED_EACC = re.compile(rb"\x1b\$[,)-]?1(?:[^\x1b]{3})*+[^\x1b]{1,2}(?:\x1b|\Z)")

Field = tuple[str, bytes]


def read_marc(data: bytes) -> Reading:
    r"""Return the fields and subfields of MARC records that may name an ARK, by tag and code, and the links in $u.

    >>> fields = b"7 \x1faark:/12345/x5\x1f2ark\x1e"
    >>> reading = read_marc(b"00072nam a2200037 a 4500024002100000\x1e" + fields + b"\x1d")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', '024$a', 'ark:/12345/x5')]
    """
    data, findings = first_bytes(data, MOST_BYTES)
    blocks: list[Block] = []
    targets: list[str] = []
    malformed_numbers: list[int] = []
    *records, unended_record = data.split(_RECORD_END)
    for number, record in enumerate(as_time_allows((*records, unended_record), "record"), start=1):
        record = record.strip(b"\0\t\n\r\x1a ")
        if not record:
            continue
        fields, is_sound = _fields(record)
        if not is_sound or number > len(records):
            malformed_numbers.append(number)
        is_utf8 = record[9:10] == b"a"
        for tag, field in fields:
            blocks += _blocks(tag, field, is_utf8)
            targets += (_text(value, is_utf8) for code, value in _subfields(field) if code == "u")
    if malformed_numbers:
        detail = f"records with a wrong directory: {len(malformed_numbers)}, the first is record {malformed_numbers[0]}"
        findings.append(Finding("malformed-record", detail))
    links = tuple(dict.fromkeys(filter(leads_to_document, targets)))
    return Reading(MEDIA_TYPE, tuple(blocks), links, findings=tuple(findings))


def _fields(record: bytes) -> tuple[list[Field], bool]:
    r"""Return tag and content of the fields of *record*, and True if its directory agrees with their separators.

    Separators show where fields end. The directory may be older than a conversion of characters, and its lengths wrong.
    It only gives the tags, if it has an entry for each field; otherwise, tags are empty.

    >>> _fields(b"00000nam  2200049   4500856999900000024999900000\x1ex\x1ey\x1e")
    ([('856', b'x'), ('024', b'y')], False)
    """
    head, *contents = record.removesuffix(_FIELD_END).split(_FIELD_END)
    entries = sorted(_DIRECTORY_ENTRY.finditer(head, _LEADER_BYTES), key=lambda entry: int(entry["start"]))
    if len(entries) != len(contents):
        return [("", content) for content in (head, *contents)], False
    expected_entries, start = [], 0
    for entry, content in zip(entries, contents, strict=True):
        expected_entries.append(b"%b%04d%05d" % (entry["tag"], len(content) + 1, start))
        start += len(content) + 1
    is_sound = [entry[0] for entry in entries] == expected_entries and record[12:17] == b"%05d" % (len(head) + 1)
    return [(entry["tag"].decode("ascii"), content) for entry, content in zip(entries, contents, strict=True)], is_sound


def _blocks(tag: str, field: bytes, is_utf8: bool) -> Iterator[Block]:
    """Yield the values of *field*, which has this *tag*, that may name an ARK, or are one by the type ``ark`` in $2."""
    if _SUBFIELD not in field:
        if may_hold_ark(field.decode("utf-8", "replace")):
            yield value_block(_text(field, is_utf8), tag, single_word_role=Role.METADATA)
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
            yield value_block(
                text, f"{tag}${code}", single_word_role=Role.LINK_TARGET if code == "u" else Role.METADATA
            )


def _subfields(field: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield code and value of the subfields of *field*; an unprintable code becomes a question mark."""
    for subfield in field.split(_SUBFIELD)[1:]:
        code = subfield[:1].decode("ascii", "replace")
        yield code if code.isprintable() else "?", subfield[1:]


def _text(value: bytes, is_utf8: bool) -> str:
    r"""Return *value* as text, with a blank for successive control characters.

    Unless *is_utf8*, its encoding is UTF-8 or MARC-8, whichever fits.

    >>> _text(b"caf\xc3\xa9\x07ark", True), _text(b"caf\xe2e", False), _text("café".encode(), False)
    ('café ark', 'café', 'café')
    """
    if not is_utf8 and _is_marc8(value):
        # Blanks for control characters, which the decoder would drop.
        printable = bytes(byte if byte >= 0x20 or byte == 0x1B else 0x20 for byte in value)
        with contextlib.suppress(LookupError, ValueError, TypeError):
            return _CONTROLS.sub(" ", marc8_to_unicode(printable, hide_utf8_warnings=True)).strip()
    return _CONTROLS.sub(" ", value.decode("utf-8", "replace")).strip()


def _is_marc8(value: bytes) -> bool:
    """Return False if *value* is UTF-8 in spite of its record, or ends within a character of MARC-8."""
    try:
        is_utf8 = not value.decode("utf-8").isascii() or b"\x1b" not in value
    except UnicodeDecodeError:
        is_utf8 = False
    return not is_utf8 and not _TRUNCATED_EACC.search(value)
