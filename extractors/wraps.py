"""Does the ARK go on behind a line wrap? A cascade of rules, in order of the strength of their evidence.

Each rule looks at one wrap and decides, or leaves it to the next. The order and the reliability of the rules come
from a study of some eleven thousand wraps made by real typesetters; the rule that decided is kept with the mention.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import regex

from extractors.ark import Ark
from extractors.checkchar import Check, check
from extractors.normalize import NotAnArk
from extractors.shapes import Fit, Shapes


class Confidence(IntEnum):
    """How sure we are of a mention; the least sure of its decisions counts."""

    AMBIGUOUS = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def token(self) -> str:
        """The string in the store and in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of ARKs before a text is read."""

    whole: tuple[str, ...] = ()
    """Normal forms, sorted, from link targets, annotations and metadata, which no typesetter breaks."""
    shapes: Shapes = field(default_factory=Shapes)
    """What names of each kind look like, learned from those that no line breaks."""

    @classmethod
    def of(cls, arks: Iterable[Ark], *, shapes: Shapes | None = None) -> Evidence:
        """The evidence that *arks*, seen whole, give for those that may be broken."""
        return cls(tuple(sorted({str(ark) for ark in arks})), shapes or Shapes())

    def begins_one(self, form: str) -> bool:
        """Whether *form* is the beginning of an ARK that stands whole elsewhere.

        >>> Evidence.of([Ark.parse("ark:12148/bpt6k107371t")]).begins_one("ark:12148/bpt6k10")
        True
        """
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at].startswith(form)

    def holds(self, form: str) -> bool:
        """Whether *form* itself stands whole elsewhere."""
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at] == form


@dataclass(frozen=True, slots=True)
class Wrap:
    """One place where an ARK may go on."""

    left: str
    """What was read so far, from the label on: ``ark:/12148/bpt6k10``; without a hyphen at the wrap."""
    right: str
    """The next token, up to a blank or a character that no ARK has."""
    hyphen: bool
    """Whether a hyphen, of any kind, stands directly before the wrap."""
    line_is_full: bool | None = None
    """Whether the line is as long as the longest around it; unknown where columns are not characters."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the ARK goes on, by which rule, and how surely."""

    join: bool
    rule: str
    confidence: Confidence = Confidence.CERTAIN


Rule = Callable[[Wrap, Evidence], Decision | None]

_ARK_LIKE = regex.compile(r"[\p{L}\p{N}/.=_~%+@$*?-]|:[\p{L}\p{N}]")
_NEW_IDENTIFIER = regex.compile(r"(?:https?:|www\.|ark:|doi:|urn:|hdl:|info:)", regex.IGNORECASE)
_WORD = regex.compile(r"\p{L}+(?:['’-]\p{L}+)*[.,;:!?)\]»”’\"']*\Z")
_MIXED = regex.compile(r"(?=.*\d)(?=.*\p{L})")
_LIST_MARK = regex.compile(r"(?:\d{1,3}|\p{L})[.)]\Z")
_ORDINAL_OR_UNIT = regex.compile(
    r"\d+(?:st|nd|rd|th|er|re|e|[eè]me|o|a|px|pt|mm|cm|m|km|kg|g|kb|mb|gb|s|min|h)[.,;:)]*\Z",
    regex.IGNORECASE,
)
_YEAR = regex.compile(r"(?:1[4-9]|20)\d\d[.,;:)]*\Z")
_LEAD = regex.compile(r"[\p{L}\p{N}/.=_~%+@$*:-]*")
_SENTENCE_START = regex.compile(r"\p{Lu}\p{L}*\d*\p{L}*[,;:]?\Z|(?:1[4-9]|20)\d\d[.,;:)]*\Z")
_SENTENCE_END = regex.compile(r"[.,;:!?'\"]+\Z")


def _form(text: str) -> Ark | None:
    try:
        return Ark.parse(text)
    except NotAnArk:
        return None


def nothing_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if not wrap.right or not _ARK_LIKE.match(wrap.right):
        return Decision(False, "nothing that an ARK could hold follows")
    return None


def another_identifier(wrap: Wrap, _: Evidence) -> Decision | None:
    if _NEW_IDENTIFIER.match(wrap.right):
        return Decision(False, "another identifier begins")
    return None


def no_name_yet(wrap: Wrap, _: Evidence) -> Decision | None:
    if _form(wrap.left):
        return None
    if _WORD.match(wrap.right) and not wrap.hyphen:
        return Decision(False, "no name, and a word follows", Confidence.LIKELY)
    return Decision(True, "no name yet")


def whole_elsewhere(wrap: Wrap, evidence: Evidence) -> Decision | None:
    left, joined = _form(wrap.left), _form(wrap.left + _lead(wrap.right))
    if left is None or joined is None:
        return None
    if str(joined) != str(left) and evidence.begins_one(str(joined)):
        return Decision(True, "stands whole elsewhere in the document")
    if evidence.holds(str(left)):
        return Decision(False, "stands whole elsewhere in the document")
    return None


def check_character_decides(wrap: Wrap, _: Evidence) -> Decision | None:
    left, joined = _form(wrap.left), _form(wrap.left + _lead(wrap.right))
    if left is None or joined is None or left.name == joined.name:
        return None
    match check(left), check(joined):
        case Check.FAILS, Check.PASSES:
            return Decision(True, "check character")
        case Check.PASSES, Check.FAILS if not wrap.hyphen:
            return Decision(False, "check character")
    return None


def shape_decides(wrap: Wrap, evidence: Evidence) -> Decision | None:
    left, joined = _form(wrap.left), _form(wrap.left + _lead(wrap.right))
    if left is None or joined is None or left.name == joined.name:
        return None
    match evidence.shapes.fit(left), evidence.shapes.fit(joined):
        case Fit.TOO_SHORT, Fit.FITS:
            return Decision(True, "the shape of its kind", Confidence.LIKELY)
        case Fit.FITS, Fit.TOO_LONG if not wrap.hyphen:
            return Decision(False, "the shape of its kind", Confidence.LIKELY)
    return None


def hyphen_at_wrap(wrap: Wrap, _: Evidence) -> Decision | None:
    return Decision(True, "hyphen at the wrap", Confidence.LIKELY) if wrap.hyphen else None


def list_mark(wrap: Wrap, _: Evidence) -> Decision | None:
    if _LIST_MARK.match(wrap.right):
        return Decision(False, "a list mark follows", Confidence.AMBIGUOUS)
    return None


def structure_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if regex.match(r"[/.=:][\p{L}\p{N}]", wrap.right):
        return Decision(True, "the next line begins with a delimiter", Confidence.LIKELY)
    return None


def structure_before(wrap: Wrap, _: Evidence) -> Decision | None:
    if wrap.left[-1:] not in "/.=_:~+@":
        return None
    ends_sentence = wrap.left.endswith(".") and _SENTENCE_START.match(wrap.right)
    if ends_sentence or _WORD.match(wrap.right):
        return Decision(False, "a delimiter, then a word", Confidence.LIKELY)
    return Decision(True, "the line ends with a delimiter", Confidence.LIKELY)


def word_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if _WORD.match(wrap.right):
        return Decision(False, "a word follows", Confidence.LIKELY)
    return None


def measure_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if _ORDINAL_OR_UNIT.match(wrap.right):
        return Decision(False, "an ordinal or a measure follows", Confidence.LIKELY)
    return None


def mixed_token(wrap: Wrap, _: Evidence) -> Decision | None:
    if not _MIXED.match(wrap.right):
        return None
    if wrap.line_is_full is False:
        return Decision(False, "a short line", Confidence.AMBIGUOUS)
    return Decision(True, "letters and digits follow", Confidence.LIKELY)


def number_follows(wrap: Wrap, _: Evidence) -> Decision | None:
    if not regex.match(r"\d+[.,;:)]*\Z", wrap.right):
        return None
    if _YEAR.match(wrap.right) or not wrap.line_is_full:
        return Decision(False, "a number follows", Confidence.AMBIGUOUS)
    return Decision(True, "a number follows a full line", Confidence.AMBIGUOUS)


def otherwise(_: Wrap, __: Evidence) -> Decision:
    return Decision(False, "no evidence that it goes on", Confidence.AMBIGUOUS)


#: In order: what is certain, the document's own evidence, arithmetic, typography, words, and last the guesses.
RULES: tuple[Rule, ...] = (
    nothing_follows,
    another_identifier,
    no_name_yet,
    whole_elsewhere,
    check_character_decides,
    shape_decides,
    hyphen_at_wrap,
    list_mark,
    structure_follows,
    structure_before,
    word_follows,
    measure_follows,
    mixed_token,
    number_follows,
    otherwise,
)


def decide(wrap: Wrap, evidence: Evidence) -> Decision:
    """Whether the ARK goes on behind *wrap*, by the first rule that knows.

    >>> decide(Wrap("ark:/12148/bpt6k10", "7371t", hyphen=False), Evidence())
    Decision(join=True, rule='check character', confidence=<Confidence.CERTAIN: 3>)
    >>> decide(Wrap("ark:/12148/bpt6k107371t", "and", hyphen=False), Evidence()).join
    False
    """
    for rule in RULES:
        decision = rule(wrap, evidence)
        if decision is not None:
            return decision
    raise AssertionError("the last rule always decides")


def _lead(right: str) -> str:
    """*right* without the punctuation that would end a sentence.

    >>> _lead("7371t).")
    '7371t'
    """
    lead = _LEAD.match(right)[0]
    return str(_SENTENCE_END.sub("", lead))
