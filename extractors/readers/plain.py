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
_SPLIT_LABEL = re.compile(r"""(?:"[ \r\n+.&\\_]{1,40}"|'[ \r\n+.&\\_]{1,40}')(?=(?P<rest>r?k?):/?[0-9]{5}/)""")


#: An empty line between two lines, with the first character of the second.
_DOUBLE_BREAK = re.compile(r"(?<=[^\r\n])\r?\n\r?\n(?P<start>[^\r\n])")
#: Line ends for each empty line in a double-spaced text: two, and a few more after paragraphs and titles.
_MOST_BREAKS_A_LINE = 2.2
#: Characters from which the spacing is recognized, the least number of lines, and the share that begins with a small letter.
_SAMPLE_CHARS, _FEWEST_LINES, _LOWERCASE_SHARE = 20_000, 12, 0.4


def read_plain(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the text of a file as one block (none if blank); *charset* is the declared encoding.

    >>> read_plain(b"see ark:/12148/btv1b84-\r\n49691v").blocks[0].text
    'see ark:/12148/btv1b84-\r\n49691v'
    """
    data, findings = first_bytes(data, MOST_BYTES)
    decoded = decode_beginning(data, charset) if len(data) <= BEGINNING_BYTES else decode(data, charset)
    text = _without_signs(decoded.text) if HUNK.search(decoded.text) else decoded.text
    text = single_spaced(_SPLIT_LABEL.sub(_join_label, text))
    blocks = (Block(text),) if text.strip() else ()
    return Reading(MEDIA_TYPE, blocks, findings=(*findings, *decoded.findings))


def _join_label(literals: re.Match[str]) -> str:
    """Return the text in place of *literals*, a match of `_SPLIT_LABEL`: empty if they split a label, else the match."""
    beginning = "ark"[: 3 - len(literals["rest"])]
    is_label = literals.string.endswith(beginning, 0, literals.start())
    return "" if is_label and "ark".endswith(literals["rest"]) else literals[0]


def single_spaced(text: str) -> str:
    r"""Return a double-spaced *text* with one line end after each line, ``\r\n`` in place of ``\n\n``; others unchanged.

    In such a text, an empty line follows each line. It ends no paragraph, because many lines begin with a small letter.

    >>> typed = "the scan of the map is at\n\nark:/12148/btv1b84\n\n49691v, in\n\nthe library\n\n"
    >>> single_spaced(typed * 5).count("\r\n"), single_spaced("A map.\n\nAnother map.\n\n" * 9).count("\r\n")
    (19, 0)
    """
    if text.count("\n") > _MOST_BREAKS_A_LINE * (text.count("\n\n") + text.count("\n\r\n")):
        return text
    starts = [match["start"] for match in _DOUBLE_BREAK.finditer(text, 0, _SAMPLE_CHARS)]
    is_double_spaced = len(starts) >= _FEWEST_LINES and sum(map(str.islower, starts)) >= len(starts) * _LOWERCASE_SHARE
    return _DOUBLE_BREAK.sub("\r\n\\g<start>", text) if is_double_spaced else text


def _without_signs(diff: str) -> str:
    r"""Return the lines of a *diff* without their signs; an empty line separates lines with different signs.

    >>> _without_signs("@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
    '@@ -1,2 +1,2 @@\n\none\n\ntwo\n\nthree\n'
    """
    lines, last_sign = [], ""
    for line in diff.splitlines(keepends=True):
        sign = line[0] if line[0] in " +-" and not line.startswith(("+++ ", "--- ")) else "@"
        lines += [*(["\n"] if last_sign and sign != last_sign else []), line[1:] if sign != "@" else line]
        last_sign = sign
    return "".join(lines)
