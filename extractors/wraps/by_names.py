"""Rules that look at the ARK: what leaves no choice, what stands elsewhere in the document, what names look like."""

from __future__ import annotations

import regex

from extractors.checkchar import Check
from extractors.wraps.evidence import Evidence
from extractors.wraps.qualifiers import completes_word
from extractors.wraps.shapes import Fit, kind_of
from extractors.wraps.wrap import Confidence, Decision, Wrap

_ARK_LIKE = regex.compile(r"[\p{L}\p{Nd}/.=_~%+@$*?-]|:[\p{L}\p{Nd}]")
_ALPHANUMERIC = regex.compile(r"[\p{L}\p{Nd}]")
_NEW_IDENTIFIER = regex.compile(
    r"(?:\d{0,3}(?:https?|ftp|ark|doi|urn|hdl|info|isbn|issn|mailto):|www\.|10\.\d{4,}/)", regex.IGNORECASE
)
_WORD = regex.compile(r"\p{L}+(?:['’-]\p{L}+)*[.,;:!?)\]»”’\"']*\Z")
_WRITTEN_PARTS = regex.compile(r"ark:/*[^/]*/+[^/.]*(?P<qualifier>.*)\Z", regex.IGNORECASE | regex.DOTALL)


def nothing_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if not wrap.right or not _ARK_LIKE.match(wrap.right) or not _ALPHANUMERIC.search(wrap.right):
        return Decision(False, "nothing that an ARK could hold follows")
    return None


def another_identifier(wrap: Wrap, _: Evidence) -> Decision | None:
    if _NEW_IDENTIFIER.match(wrap.right):
        return Decision(False, "another identifier begins")
    return None


def no_name_yet(wrap: Wrap, evidence: Evidence) -> Decision | None:
    if wrap.ark:
        return None
    if wrap.joined is not None and evidence.holds(str(wrap.joined)):
        return Decision(True, "stands whole elsewhere")
    if _WORD.match(wrap.right) and not wrap.hyphen:
        return Decision(False, "no name, and a word follows", Confidence.LIKELY)
    return Decision(True, "no name yet")


def link_decides(wrap: Wrap, _: Evidence) -> Decision | None:
    if wrap.linked is None:
        return None
    linked = str(wrap.linked)
    left, joined = wrap.ark, wrap.joined
    if joined is not None and str(joined) != str(left) and (joined == wrap.linked or _may_go_on(wrap, linked)):
        return Decision(True, "its own link goes on")
    if left is not None and linked.startswith(str(left)):
        return Decision(False, "its own link ends here" if left == wrap.linked else "its own link goes on otherwise")
    return None


def _may_go_on(wrap: Wrap, linked: str) -> bool:
    """Whether the name may go on behind one more wrap, as *linked* does."""
    return wrap.is_wrapped_again and linked.startswith(str(wrap.joined))


def whole_elsewhere(wrap: Wrap, evidence: Evidence) -> Decision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None:
        return None
    ends, goes_on = evidence.holds(str(left)), joined != left and evidence.holds(str(joined))
    if ends and goes_on:  # both stand whole elsewhere: other evidence decides
        return None
    if goes_on or (joined != left and not ends and wrap.is_wrapped_again and evidence.begins_one(str(joined))):
        return Decision(True, "stands whole elsewhere")
    if ends and not wrap.is_at_delimiter:
        return Decision(False, "stands whole elsewhere")
    return None


def check_character_decides(wrap: Wrap, evidence: Evidence) -> Decision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None or left.name == joined.name:
        return None
    match evidence.zones.check(left), evidence.zones.check(joined):
        case Check.FAILS, Check.PASSES:
            return Decision(True, "check character")
        case Check.PASSES, Check.FAILS if not wrap.hyphen:
            return Decision(False, "check character")
    return None


def shape_decides(wrap: Wrap, evidence: Evidence) -> Decision | None:
    left, joined = wrap.ark, wrap.joined
    if left is None or joined is None or left.name == joined.name:
        return None
    match evidence.shapes.fit(left, kind=kind_of(joined)), evidence.shapes.fit(joined):
        case Fit.TOO_SHORT, Fit.FITS:
            return Decision(True, "the shape of its kind", Confidence.LIKELY)
        case Fit.FITS, Fit.TOO_LONG | Fit.STRANGE if not wrap.hyphen:
            return Decision(False, "the shape of its kind", Confidence.LIKELY)
    return None


def qualifier_decides(wrap: Wrap, evidence: Evidence) -> Decision | None:
    written = _WRITTEN_PARTS.match(wrap.left)
    if not written or not written["qualifier"]:
        return None
    completed = completes_word(written["qualifier"], wrap.lead, evidence.qualifiers)
    if completed is None or (not completed and wrap.hyphen):
        return None
    return Decision(completed, "the words of qualifiers", Confidence.LIKELY)


def hyphen_at_wrap(wrap: Wrap, _: Evidence) -> Decision | None:
    return Decision(True, "hyphen at the wrap", Confidence.LIKELY) if wrap.hyphen else None
