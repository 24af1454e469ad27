"""Plain text, parts of a diff, and labels split over string literals."""

from __future__ import annotations

import re

from extractors.model.decoding import BEGINNING_BYTES, decode, decode_beginning, first_bytes
from extractors.model.documents import Block, Reading

MEDIA_TYPE = "text/plain"
MOST_BYTES = 256 * 2**20


#: A hunk of a unified diff; its lines begin with a sign (blank, plus or minus).
HUNK = re.compile(r"^@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@", re.MULTILINE)


#: Between two literals of one string that split a label: ``"https://n2t.net/ark" ":/12148/btv1b84"``.
_PARTED_LABEL = re.compile(r"""(?:"[ \r\n+.&\\_]{1,40}"|'[ \r\n+.&\\_]{1,40}')(?=(?P<rest>r?k?):/?[0-9]{5}/)""")


def read_plain(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the text as one block, with its line breaks unchanged; *charset* is the declared one.

    >>> read_plain(b"see ark:/12148/btv1b84-\r\n49691v").blocks[0].text
    'see ark:/12148/btv1b84-\r\n49691v'
    """
    data, findings = first_bytes(data, MOST_BYTES)
    decoded = decode_beginning(data, charset) if len(data) <= BEGINNING_BYTES else decode(data, charset)
    text = _without_signs(decoded.text) if HUNK.search(decoded.text) else decoded.text
    text = _PARTED_LABEL.sub(_join_label, text)
    blocks = (Block(text),) if text.strip() else ()
    return Reading(MEDIA_TYPE, blocks, findings=(*findings, *decoded.findings))


def _join_label(literals: re.Match[str]) -> str:
    """Return an empty string if a label is split between two literals, so that they are joined; else no change."""
    beginning = "ark"[: 3 - len(literals["rest"])]
    is_label = literals.string.endswith(beginning, 0, literals.start())
    return "" if is_label and "ark".endswith(literals["rest"]) else literals[0]


def _without_signs(diff: str) -> str:
    r"""Return the lines of a *diff* without their signs; an empty line separates lines with different signs.

    >>> _without_signs("@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
    '@@ -1,2 +1,2 @@\n\none\n\ntwo\n\nthree\n'
    """
    lines, last = [], ""
    for line in diff.splitlines(keepends=True):
        sign = line[0] if line[0] in " +-" and not line.startswith(("+++ ", "--- ")) else "@"
        lines += [*(["\n"] if last and sign != last else []), line[1:] if sign != "@" else line]
        last = sign
    return "".join(lines)
