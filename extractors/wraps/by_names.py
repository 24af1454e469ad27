"""Rules that look at the ARK: what leaves no choice, what stands elsewhere in the document, what names look like."""

from __future__ import annotations

import regex

from extractors.ark import Ark
from extractors.checkchar import CheckCharacter
from extractors.wraps.evidence import Evidence
from extractors.wraps.qualifiers import completes_word
from extractors.wraps.shapes import Fit, kind_of
from extractors.wraps.wrap import Confidence, Wrap, WrapDecision

#: The rules whose names others ask for.
ANOTHER_BEGINS = "another identifier begins"
CHECK_CHARACTER = "check character"
HYPHEN = "hyphen at the wrap"
LINK_ENDS = "its own link ends here"
LINK_GOES_ON = "its own link goes on"
NO_NAME_YET = "no name yet"
NOTHING_FOLLOWS = "nothing that an ARK could hold follows"
SHAPE = "the shape of its kind"
WHOLE_ELSEWHERE = "stands whole elsewhere"

#: No name that has a check character is shorter; a piece of one passes by chance once in 29.
SHORTEST_CHECKED = 7

_ARK_LIKE = regex.compile(r"[\p{L}\p{Nd}/.=_~%+@$*?-]|:[\p{L}\p{Nd}]")
_LIST_MARK = regex.compile(r"[-*\p{Pd}\N{BULLET}\N{MIDDLE DOT}]+\Z")
_OTHER_SCRIPT = regex.compile(r"[\p{L}--\p{Latin}]", regex.VERSION1)
_ALPHANUMERIC = regex.compile(r"[\p{L}\p{Nd}]")
_NEW_IDENTIFIER = regex.compile(
    r"(?:\d{0,3}(?:https?|ftp|ark|doi|urn|hdl|info|isbn|issn|mailto):|www\.|10\.\d{4,}/)", regex.IGNORECASE
)
_WORD = regex.compile(r"\p{L}+(?:['’-]\p{L}+)*[.,;:!?)\]»”’\"']*\Z")
_WRITTEN_PARTS = regex.compile(r"ark:/*[^/]*/+[^/.]*(?P<qualifier>.*)\Z", regex.IGNORECASE | regex.DOTALL)


def nothing_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left.isascii() and _OTHER_SCRIPT.match(wrap.right):
        return WrapDecision(False, NOTHING_FOLLOWS, Confidence.LIKELY)
    if not wrap.right or not _ARK_LIKE.match(wrap.right) or not _ALPHANUMERIC.search(wrap.right):
        is_clear = not wrap.is_paged and (_LIST_MARK.match(wrap.right) or not (wrap.right or wrap.beyond))
        return WrapDecision(False, NOTHING_FOLLOWS, Confidence.CERTAIN if is_clear else Confidence.LIKELY)
    return None


def another_identifier(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if _NEW_IDENTIFIER.match(wrap.right):
        return WrapDecision(False, ANOTHER_BEGINS, Confidence.LIKELY if wrap.is_paged else Confidence.CERTAIN)
    return None


def cell_ends(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    """Decide that an ARK ends with its cell: a number in the next one is no part of it."""
    if not wrap.in_another_cell or wrap.linked is not None:
        return None
    if wrap.joined is not None and evidence.holds(str(wrap.joined)):
        return None
    return WrapDecision(False, "its cell ends here", Confidence.LIKELY)


def no_name_yet(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    if wrap.ark:
        return None
    if wrap.joined is not None and evidence.holds(str(wrap.joined)):
        return WrapDecision(True, WHOLE_ELSEWHERE)
    if _WORD.match(wrap.right) and not wrap.hyphen:
        return WrapDecision(False, "no name, and a word follows", Confidence.LIKELY)
    return WrapDecision(True, NO_NAME_YET, Confidence.LIKELY)


def link_decides(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.linked is None:
        return None
    linked = str(wrap.linked)
    left, joined = wrap.ark, wrap.joined
    if joined is not None and str(joined) != str(left) and (joined == wrap.linked or _may_go_on(wrap, linked)):
        return WrapDecision(True, LINK_GOES_ON)
    if left is not None and linked.startswith(str(left)):
        return WrapDecision(False, LINK_ENDS if left == wrap.linked else "its own link goes on otherwise")
    return None


def _may_go_on(wrap: Wrap, linked: str) -> bool:
    """Return whether the name may go on behind one more wrap, as *linked* does."""
    return wrap.is_wrapped_again and linked.startswith(str(wrap.joined))


def whole_elsewhere(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None:
        return None
    ends, goes_on = evidence.holds(str(left)), joined != left and evidence.holds(str(joined))
    if ends and goes_on:  # both stand whole elsewhere: other evidence decides
        return None
    if goes_on or (joined != left and not ends and wrap.is_wrapped_again and evidence.begins_one(str(joined))):
        return WrapDecision(True, WHOLE_ELSEWHERE)
    if ends and not wrap.is_at_delimiter:
        return WrapDecision(False, WHOLE_ELSEWHERE)
    return None


def check_character_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None or left.name == joined.name:
        return None
    match evidence.zones.check(left), evidence.zones.check(joined):
        case CheckCharacter.FAILS, CheckCharacter.PASSES:
            return WrapDecision(True, CHECK_CHARACTER)
        case CheckCharacter.PASSES, CheckCharacter.FAILS if not wrap.hyphen and not _may_pass_by_chance(wrap, left):
            return WrapDecision(False, CHECK_CHARACTER)
    return None


def _may_pass_by_chance(wrap: Wrap, left: Ark) -> bool:
    """Return whether a name that passes may be but a piece: bpt6 does, and fails with what the next line adds."""
    return wrap.is_wrapped_again and len(left.name) < SHORTEST_CHECKED


def shape_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None or left.name == joined.name:
        return None
    match evidence.shapes.fit(left, kind=kind_of(joined)), evidence.shapes.fit(joined):
        case Fit.TOO_SHORT, Fit.FITS:
            return WrapDecision(True, SHAPE, Confidence.LIKELY)
        case Fit.FITS, Fit.TOO_LONG | Fit.STRANGE if not wrap.hyphen:
            return WrapDecision(False, SHAPE, Confidence.LIKELY)
    return None


def qualifier_decides(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    written = _WRITTEN_PARTS.match(wrap.left)
    if not written or not written["qualifier"]:
        return None
    completed = completes_word(written["qualifier"], wrap.next_part, evidence.qualifiers)
    if completed is None or (not completed and wrap.hyphen):
        return None
    return WrapDecision(completed, "the words of qualifiers", Confidence.LIKELY)


def hyphen_at_wrap(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    return WrapDecision(True, HYPHEN, Confidence.LIKELY) if wrap.hyphen else None
