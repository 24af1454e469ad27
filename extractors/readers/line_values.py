"""Formats with one value per line: vCard, iCalendar and LDIF, which fold long lines; web shortcuts; GEDCOM."""

from __future__ import annotations

import base64
import contextlib
import quopri
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from extractors.mentions.labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import text_of
from extractors.model.documents import Block, Reading, Role, value_block

MOST_BYTES = 64 * 2**20

_LINE = re.compile(r"[^\r\n]++")
#: Names of links, in any of these formats.
_LINKS = frozenset({"ATTACH", "LABELEDURI", "SOURCE", "URL", "WWW"})

_FOLD = re.compile(rb"(?:\r\n?|\n)[ \t]")
#: vCard 2.1 folds at a blank, which is kept; its later versions fold anywhere.
_FOLDS_AT_BLANKS = re.compile(rb"^VERSION:2\.1\s", re.IGNORECASE | re.MULTILINE)
#: A value in quoted-printable, including the lines joined by a final equals sign.
_QUOTED_PRINTABLE = re.compile(rb"QUOTED-PRINTABLE(?:[^\r\n]*+(?<==)\r?\n)*+[^\r\n]*+", re.IGNORECASE)
_SOFT_BREAK = re.compile(rb"=\r?\n")
_NAMED_VALUE = re.compile(
    r"(?:\w+\.)?(?P<name>[\w-]++)(?P<parameters>(?:;(?:[^:;\"]++|\"[^\"]*+\")*+|\[[^=]*+)*+)(?:=|:(?P<base64>:)?)(?P<value>.*+)"
)
_ESCAPED = re.compile(r"\\(.)")

_GEDCOM_LINE = re.compile(r"[ \t]*+(?P<level>[0-9]{1,2}) ++(?:@[^@]++@ ++)?(?P<tag>\w++)(?: (?P<value>.*+))?")


def read_line_values(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the values that may name an ARK in vCards and calendars (RFC 6350, RFC 5545), LDIF (RFC 2849), shortcuts.

    Lines are unfolded before decoding, because a fold may split a character.

    >>> read_line_values(b"BEGIN:VCARD\r\nNOTE:ark:/12345/\r\n x5\\, at home\r\nEND:VCARD").blocks[0].text
    'ark:/12345/x5, at home'
    """
    unfolded = _QUOTED_PRINTABLE.sub(lambda value: _SOFT_BREAK.sub(b"", value[0]), data)
    unfolded = _FOLD.sub(b" " if _FOLDS_AT_BLANKS.search(data) else b"", unfolded)
    return _read_lines(unfolded, charset, "text/directory", _named_values)


def read_gedcom(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the values of genealogical records that may name an ARK (GEDCOM 5.5.1 and 7).

    CONC continues inside a word, CONT on a new line. Some programs drop a blank before CONC, so that a name over one is
    not certain by itself.

    >>> read_gedcom(b"0 HEAD\n1 NOTE see ark:/12345/\n2 CONC x5\n2 CONT there").blocks[0].text
    'see ark:/12345/x5\nthere'
    """
    return _read_lines(data, charset, "text/vnd.familysearch.gedcom", _gedcom_values)


def _read_lines(
    data: bytes, charset: str | None, media_type: str, blocks_of: Callable[[Iterable[str]], Iterator[Block]]
) -> Reading:
    """Return the reading with the blocks that *blocks_of* makes from the lines of a document."""
    text, findings = text_of(data, MOST_BYTES, charset)
    lines = (line[0] for line in as_time_allows(_LINE.finditer(text), "line"))
    blocks = tuple(block for block in blocks_of(lines) if may_hold_ark(block.text))
    return Reading(media_type, blocks, findings=tuple(findings))


def _named_values(lines: Iterable[str]) -> Iterator[Block]:
    for line in lines:
        parts = _NAMED_VALUE.match(line)
        if parts is None:
            yield _block(line, "")
            continue
        value = _ESCAPED.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], parts["value"])
        if parts["base64"]:
            encoded = value.strip()
            with contextlib.suppress(ValueError):  # not base64, or letters that are not ASCII
                value = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8", "replace")
        elif "QUOTED-PRINTABLE" in parts["parameters"].upper():
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
        yield _block(line[: parts.start("value")], parts["name"])  # a parameter may hold a URL
        yield _block(value, parts["name"])


def _block(value: str, name: str) -> Block:
    return value_block(value, name, alone=Role.LINK_TARGET if name.upper() in _LINKS else Role.METADATA)


def _gedcom_values(lines: Iterable[str]) -> Iterator[Block]:
    path, text, seams = [""], "", list[int]()
    for line in (*lines, "0 TRLR"):
        parts = _GEDCOM_LINE.match(line)
        tag = parts["tag"] if parts else "CONT"  # some programs write raw line breaks
        content = (parts["value"] or "" if parts else line).replace("@@", "@")
        if tag == "CONC":
            if text[-1:].strip() and content[:1].strip():
                seams.append(len(text))
            text += content
        elif tag == "CONT":
            text += f"\n{content}"
        elif parts:
            yield replace(_block(text, "/".join(path)), seams=tuple(seams))
            path = [*path[: int(parts["level"])], tag]
            text, seams = content.lstrip(), []
