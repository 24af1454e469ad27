"""The decision whether the lines of a text cut its ARKs, by those about which there is no doubt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice

import regex

from extractors.document_model import Block, Role
from extractors.mentions.mention import Mention
from extractors.wraps.by_names import CHECK_CHARACTER, HYPHEN, LINK_GOES_ON, NO_NAME_YET, WHOLE_ELSEWHERE
from extractors.wraps.evidence import Cutting
from extractors.wraps.layout import line_end
from extractors.wraps.wrap import Confidence

#: So many ARKs that could have been cut, and weren't, show that none is.
_ENOUGH = 4
#: One cut at least in so many, if names are cut wherever the line ends.
_AT_MOST_ONE_IN = 40
#: Characters that still had room in a line: a tool that cuts would have filled it.
_ROOM = 3
_CUT = regex.compile(
    r"(?P<before>[^\s>])(?P<hyphen>[-\p{Pd}\N{SOFT HYPHEN}]?)[ \t>]*(?P<end>\r\n|[\n\r\v\f])[\s>]*(?P<behind>\S)"
)
_BREAK_BEFORE = regex.compile(r"(?r)(?P<end>\r\n|\n)[ \t>]*[^\s\w]?\Z")
_DELIMITERS = "/.:=?&_-~%"
#: Rules that leave little doubt, and don't look at other cuts.
_SURE = frozenset({CHECK_CHARACTER, HYPHEN, LINK_GOES_ON, NO_NAME_YET, WHOLE_ELSEWHERE})
_NEAR_CHARS = 20
_MOST = 300  # of the mentions of a block: each may ask how the lines around it are made


def cutting_of(block: Block, mentions: Iterable[Mention]) -> Cutting:
    """Return what the lines of *block* do to the *mentions* in it.

    An ARK that was moved to the next line as a whole speaks against cuts only where the line before had room for its
    beginning; a cut at a delimiter against cuts in names, only where there was room for more of the name; and names
    that are cut with a hyphen against cuts without.

    >>> from extractors.find import find_arks
    >>> text = "See ark:/121\\n48/btv1b8449691v here."
    >>> cutting_of(Block(text), find_arks(text)).value
    'anywhere'
    """
    moved = with_room = at_delimiters = hyphens = anywhere = 0
    if block.role is not Role.TEXT:
        return Cutting.UNKNOWN
    in_cells = bool(block.jumps)  # an ARK begins its cell for another reason than to stand whole
    for mention in islice(mentions, _MOST):
        start = mention.spans[0][0]
        before = _BREAK_BEFORE.search(block.text, max(0, start - _NEAR_CHARS), start)
        moved += before is not None and _room(block, before.start("end")) >= _ROOM
        if mention.confidence is not Confidence.CERTAIN and mention.reason not in _SURE:
            continue
        for cut in _CUT.finditer(block.text, start, mention.spans[-1][1]):
            if cut["hyphen"]:
                hyphens += "hyphen at line wrap" in mention.repairs  # else it may be one of the name's own
            elif cut["before"] in _DELIMITERS or cut["behind"] in _DELIMITERS:
                at_delimiters += 1
                with_room += _room(block, cut.start("end")) >= _ROOM
            else:
                anywhere += 1
    if anywhere and (in_cells or anywhere * _AT_MOST_ONE_IN > moved + with_room):
        return Cutting.ANYWHERE
    if in_cells or moved + with_room + hyphens < _ENOUGH:
        return Cutting.UNKNOWN
    return Cutting.AT_DELIMITERS if at_delimiters or hyphens else Cutting.NOWHERE


def _room(block: Block, at: int) -> float:
    """Return how many characters would still have fitted into the line that ends at *at*; 0 if that isn't known."""
    if block.page is None and not block.line_slack:
        return line_end(block.text, at).line_slack or 0
    index = bisect_left(block.line_slack, (at,))
    return block.line_slack[index][1] if index < len(block.line_slack) and block.line_slack[index][0] <= at + 2 else 0
