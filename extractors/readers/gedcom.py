"""GEDCOM, the exchange format of genealogical programs: records of lines with a level, a tag and a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import text_of
from extractors.model.documents import Block, Reading, Role, value_block

MOST_BYTES = 64 * 2**20

_LINE = re.compile(r"[^\r\n]++")
_LINE_PARTS = re.compile(r"[ \t]*+(?P<level>[0-9]{1,2}) ++(?:@[^@]++@ ++)?(?P<tag>\w++)(?: (?P<value>.*+))?")


def read_gedcom(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the values of genealogical records that may name an ARK (GEDCOM 5.5.1 and 7).

    *charset* is the declared encoding. CONC continues inside a word, CONT on a new line. Some programs drop a
    blank before CONC; therefore its offset is one of the block's `seams`.

    >>> read_gedcom(b"0 HEAD\n1 NOTE see ark:/12345/\n2 CONC x5\n2 CONT there").blocks[0].text
    'see ark:/12345/x5\nthere'
    """
    text, findings = text_of(data, MOST_BYTES, charset)
    lines = (line[0] for line in as_time_allows(_LINE.finditer(text), "line"))
    blocks = tuple(block for block in _value_blocks(lines) if may_hold_ark(block.text))
    return Reading("text/vnd.familysearch.gedcom", blocks, findings=tuple(findings))


def _value_blocks(lines: Iterable[str]) -> Iterator[Block]:
    """Yield a block for each value, joined from its continuation lines; its place is the path of its tags."""
    path, text, seams = [""], "", list[int]()
    for line in (*lines, "0 TRLR"):
        parts = _LINE_PARTS.match(line)
        tag = parts["tag"] if parts else "CONT"  # some programs write raw line breaks
        content = (parts["value"] or "" if parts else line).replace("@@", "@")
        if tag == "CONC":
            if text[-1:].strip() and content[:1].strip():
                seams.append(len(text))
            text += content
        elif tag == "CONT":
            text += f"\n{content}"
        elif parts:
            yield replace(value_block(text, "/".join(path), single_word_role=Role.METADATA), seams=tuple(seams))
            path = [*path[: int(parts["level"])], tag]
            text, seams = content.lstrip(), []
