"""The rules in their order: the first that knows decides, and stands with the mention.

The order is that of the strength of the evidence, as measured on some ten thousand wraps made by real typesetters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from extractors.wraps import by_lines, by_names, by_words
from extractors.wraps.evidence import Evidence
from extractors.wraps.layout import LineEnd
from extractors.wraps.wrap import Wrap, WrapDecision

Rule = Callable[[Wrap, Evidence], WrapDecision | None]

#: What leaves no choice, the document's own evidence, arithmetic, and what names and qualifiers look like.
RULES_OF_NAMES: tuple[Rule, ...] = (
    by_names.nothing_follows,
    by_names.another_identifier,
    by_names.no_name_yet,
    by_names.cell_ends,
    by_names.link_decides,
    by_names.whole_elsewhere,
    by_names.check_character_decides,
    by_names.shape_decides,
    by_names.qualifier_decides,
    by_names.hyphen_at_wrap,
)
#: How the lines are made, the words that follow, and at last the guesses.
RULES_OF_LINES: tuple[Rule, ...] = (
    by_lines.comment_ends,
    by_lines.blanks_decide,
    by_lines.author_ends_lines,
    by_lines.would_have_fitted,
    by_lines.line_has_room,
    by_lines.names_are_cut,
    by_lines.names_are_not_cut,
    by_words.footnote_follows,
    by_words.list_mark,
    by_words.structure_follows,
    by_words.value_missing,
    by_words.structure_before,
    by_words.measure_follows,
    by_words.word_follows,
    by_words.path_follows,
    by_words.check_character_missing,
    by_words.mixed_token,
    by_words.number_follows,
    by_words.otherwise,
)


def decide(wrap: Wrap, evidence: Evidence, *, line_end: Callable[[], LineEnd] = LineEnd) -> WrapDecision:
    """Return whether the ARK goes on behind *wrap*, by the first rule that knows; *line_end* is asked only where it
    matters.

    >>> decide(Wrap("ark:/12148/bpt6k10", "7371t", hyphen=False), Evidence())
    WrapDecision(join=True, rule='check character', confidence=<Confidence.CERTAIN: 3>)
    >>> decide(Wrap("ark:/12148/bpt6k107371t", "and", hyphen=False), Evidence()).join
    False
    """
    for rule in RULES_OF_NAMES:
        decision = rule(wrap, evidence)
        if decision is not None:
            return decision
    wrap = replace(wrap, line=line_end())
    for rule in RULES_OF_LINES:
        decision = rule(wrap, evidence)
        if decision is not None:
            return decision
    raise AssertionError("the last rule always decides")
