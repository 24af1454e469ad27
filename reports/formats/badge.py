"""A badge for a web page with the share of judged ARKs that resolve, and the month: SVG, and JSON for shields.io."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from reports.languages import ENGLISH, Language
from reports.tables.headline import Counts, counts_of, share_words
from reports.tables.report_tables import Report


@dataclass(frozen=True, slots=True)
class Badge:
    """The text and colour of a badge."""

    message: str
    colour: str
    """Six hexadecimal digits; white text is readable on it."""
    label: str = "ARKs"
    """The left part of the badge."""


def badge(counts: Counts, language: Language = ENGLISH, *, is_suspect: bool = False) -> Badge:
    """Return the badge of a report in the given language.

    A suspect run proves nothing, and ARKs without an answer count for neither side.

    >>> from datetime import date
    >>> badge(Counts(works=48, fails=7, unreachable=2, day=date(2026, 11, 23))).message
    '87 % resolving, Nov 2026'
    """
    label = language.gettext("ARKs")
    when = f", {language.month(counts.day)}" if counts.day else ""
    if is_suspect or not counts.judged:
        return Badge(language.gettext("not judged") + when, _UNSURE, label)
    return Badge(share_words(counts, language) + when, FINE if not counts.fails else AMISS, label)


FINE, AMISS, _UNSURE = "005a8c", "a84300", "5a6068"


def endpoint(of: Badge) -> Mapping[str, Any]:
    """Return the JSON object for a badge of shields.io (https://shields.io/badges/endpoint-badge).

    >>> endpoint(Badge("100 % resolving", "005a8c"))
    {'schemaVersion': 1, 'label': 'ARKs', 'message': '100 % resolving', 'color': '005a8c'}
    """
    return {"schemaVersion": 1, "label": of.label, "message": of.message, "color": of.colour}


#: Widths of characters in Verdana at 11 pixels, in tenths of a pixel; the text is fitted to them.
_WIDTHS = {
    " ": 39,
    "\N{NO-BREAK SPACE}": 39,
    ",": 40,
    ".": 40,
    "%": 118,
    "l": 30,
    "i": 30,
    "t": 43,
    "r": 47,
    "s": 57,
    "J": 50,
}
_USUAL_WIDTH = 70


def svg(of: Badge) -> str:
    """Return the badge as a self-contained SVG image with alternative text."""
    tenths = (sum(_WIDTHS.get(char, _USUAL_WIDTH) for char in text) for text in (of.label, of.message))
    left, right = (round(width / 10) + 12 for width in tenths)
    words = escape(f"{of.label}: {of.message}")
    font = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{words}">'
        f"<title>{words}</title>"
        f'<rect width="{left + right}" height="20" rx="3" fill="#3d434b"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" fill="#{of.colour}"/>'
        f'<g {font}><text x="6" y="14" textLength="{left - 12}">{escape(of.label)}</text>'
        f'<text x="{left + 6}" y="14" textLength="{right - 12}">{escape(of.message)}</text></g></svg>\n'
    )


def badge_files(report: Report) -> tuple[str, str]:
    """Return the badge of a report as SVG, and as JSON for shields.io."""
    is_suspect = bool(report.frames.run["is_suspect"].fillna(False).any())
    of = badge(counts_of(report.frames, report.tables), report.language_choice.language, is_suspect=is_suspect)
    return svg(of), json.dumps(endpoint(of), indent=2) + "\n"
