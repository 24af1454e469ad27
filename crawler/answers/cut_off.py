"""Pure: what can be told of two answers, of which one at least was cut off, that are not seen to be the same?"""

from __future__ import annotations

from crawler.answers.answer import is_textual
from crawler.model.observations import Observation

#: Of a page that was cut off before so many words nobody knows whether it is another one.
FEW_CAME = 12


def nobody_can_tell(one: Observation, other: Observation) -> bool:
    """Return whether so little came of two answers that they may be one, though they don't look alike.

    How much comes before the time is up is chance, so that less of an answer may only ever tell less: that two pages
    are cut off at different places makes no two pages of them.
    """
    if one.body_complete and other.body_complete:
        return False
    if one.media_type and other.media_type and one.media_type != other.media_type:
        return False
    if one.text is None and other.text is None and not is_textual(one.media_type):
        return not _differ_in_length(one, other) and one.body_bytes != other.body_bytes
    return _is_little(one) or _is_little(other)


def _is_little(answer: Observation) -> bool:
    return not answer.body_complete and len((answer.text or "").split()) < FEW_CAME


def _differ_in_length(one: Observation, other: Observation) -> bool:
    """Return whether two bodies that were not read are of different lengths, whatever came of them."""
    declared = [each.hops[-1].headers.get("Content-Length") for each in (one, other) if each.hops]
    if len(declared) == 2 and None not in declared:
        return declared[0] != declared[1]
    return any(
        whole.body_complete and (cut.body_bytes or 0) > (whole.body_bytes or 0)
        for cut, whole in ((one, other), (other, one))
    )
