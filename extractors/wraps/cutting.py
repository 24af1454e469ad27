"""Whether the lines of a text cut its ARKs, told by those about which there is no doubt."""

from __future__ import annotations

from collections.abc import Iterable

import regex

from extractors.documents import Role
from extractors.mentions.mention import Mention
from extractors.wraps.by_names import CHECK_CHARACTER, LINK_GOES_ON, NO_NAME_YET, WHOLE_ELSEWHERE
from extractors.wraps.evidence import Cutting
from extractors.wraps.wrap import Confidence

#: So many mentions in a text without a cut show that it cuts none.
_ENOUGH = 8
#: One cut at least in so many, if names are cut wherever the line ends.
_AT_MOST_ONE_IN = 40
_CUT = regex.compile(
    r"(?P<before>[^\s>])(?P<hyphen>[-\p{Pd}\N{SOFT HYPHEN}]?)[ \t>]*(?:\r\n|[\n\r\v\f])[\s>]*(?P<behind>\S)"
)
_DELIMITERS = "/.:=?&_-~%"
#: Rules that leave little doubt, and don't look at other cuts.
_SURE = frozenset({CHECK_CHARACTER, LINK_GOES_ON, NO_NAME_YET, WHOLE_ELSEWHERE})


def cutting_of(mentions: Iterable[Mention]) -> Cutting:
    """What the lines of a text do to the ARKs in it.

    >>> from extractors.find import find_arks
    >>> cutting_of(find_arks("See ark:/121\\n48/btv1b8449691v here.")).value
    'anywhere'
    """
    seen = at_delimiters = anywhere = 0
    for mention in mentions:
        if mention.role is not Role.TEXT:
            continue
        seen += 1
        if mention.confidence is Confidence.CERTAIN or mention.reason in _SURE:
            for cut in _CUT.finditer(mention.as_written):
                if cut["hyphen"]:
                    continue
                if cut["before"] in _DELIMITERS or cut["behind"] in _DELIMITERS:
                    at_delimiters += 1
                else:
                    anywhere += 1
    if anywhere * _AT_MOST_ONE_IN > seen:
        return Cutting.ANYWHERE
    if at_delimiters:
        return Cutting.AT_DELIMITERS if seen >= _ENOUGH else Cutting.UNKNOWN
    return Cutting.NOWHERE if seen >= _ENOUGH and not anywhere else Cutting.UNKNOWN
