"""Rules that look at how the lines around are made, and at what they do to other ARKs."""

from __future__ import annotations

import regex

from extractors.wraps.evidence import Cutting, Evidence
from extractors.wraps.layout import Habit
from extractors.wraps.wrap import Confidence, Wrap, WrapDecision

#: What may be a word, and a year: other rules know more of them.
_WORD = regex.compile(
    r"(?=\p{L}*[aeiouyAEIOUYà-üÀ-Ü])\p{L}{2,}+(?!\d)|\p{L}{3,}+(?!\d)|\p{Lu}\p{Ll}|(?:1[5-9]|20)\d\d\b"
)
#: No measure, initial or mark of an item.
_NAME_LIKE = regex.compile(r"[\p{L}\d]+(?![.)])")


def blanks_decide(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    """Return where a tool keeps the blank at which it breaks, its absence shows that a word was cut."""
    if wrap.line.habit not in (Habit.COLUMN, Habit.KEEPS_BLANKS):
        return None
    if wrap.line.blank:
        return WrapDecision(False, "a blank stands beside the line break", Confidence.LIKELY)
    return WrapDecision(wrap.is_full, "lines are cut at a column, or behind a blank", Confidence.LIKELY)


def comment_ends(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    """Decide that an ARK ends with its comment or quotation: ``# See ark:/99999/fk4/``, and below it ``x64 = 1``."""
    return WrapDecision(False, "its comment ends here", Confidence.LIKELY) if wrap.line.ends_comment else None


def author_ends_lines(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.line.habit is Habit.AUTHOR:
        return WrapDecision(False, "nothing was wrapped here", Confidence.LIKELY)
    return None


def would_have_fitted(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    blank = 1 if wrap.line.habit is not Habit.UNKNOWN else 2  # characters differ in width where geometry measures
    if wrap.line.line_slack is not None and wrap.line.line_slack >= blank + len(wrap.right):
        confidence = Confidence.AMBIGUOUS if wrap.in_table else Confidence.LIKELY
        return WrapDecision(False, "what follows would have fitted in the line", confidence)
    return None


def line_has_room(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    """A tool that cuts names cuts them at its column; on a printed page they may be cut wherever the author allowed."""
    if wrap.line.habit is Habit.WORDS and (wrap.line.line_slack or 0) > 1 and not wrap.is_at_delimiter:
        return WrapDecision(False, "the line has room", Confidence.LIKELY)
    return None


def names_are_cut(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    """Return where others are cut wherever the line ends, a full line hardly ends with its ARK; a word tells that it
    does.
    """
    is_measured = wrap.is_paged or wrap.in_column
    if not is_measured or evidence.cutting is not Cutting.ANYWHERE or not wrap.is_full or wrap.is_at_delimiter:
        return None
    if _WORD.match(wrap.right) or not _NAME_LIKE.match(wrap.right):
        return None
    return WrapDecision(True, "lines cut names in this text", Confidence.LIKELY)


def names_are_not_cut(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    """Return where many names stand and none is surely cut, or only at delimiters, this one hardly is.

    One that fills a line of its own on a page may be all the same: it had room nowhere.
    """
    if wrap.is_paged and wrap.fills_line and wrap.is_full:
        return None
    if evidence.cutting is Cutting.NOWHERE:
        return WrapDecision(False, "lines cut no ARK in this text", Confidence.LIKELY)
    if evidence.cutting is Cutting.AT_DELIMITERS and not wrap.is_at_delimiter:
        return WrapDecision(False, "lines cut no name in this text", Confidence.LIKELY)
    return None
