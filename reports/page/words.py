"""The sentences that the page's scripts say: whole ones, with their places in braces, so that they can be translated.

What stands in the page before a script runs is in the template and in `reports.wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: By name: a sentence, or one for each form that a number asks for, as `Intl.PluralRules` calls them, of ``{count}``.
WORDS: Final[Mapping[str, str | Mapping[str, str]]] = {
    "any": "any",
    "any of several": "{values}",
    "choice": "{value} ({number})",
    "filters": "Filters of the table {table}",
    "search": "Search",
    "search hint": "words",
    "no row fits": "No row fits.",
    "no rows": "No rows.",
    "rows shown": "Rows _START_ to _END_ of _TOTAL_",
    "rows filtered": "(out of _MAX_)",
    "rows of arks": {"one": "{rows}: {number} ARK", "other": "{rows}: {number} ARKs"},
    "rows a page": "_MENU_ rows a page",
    "whole table": "Show all {number} rows",
    "more columns": "More columns: scroll sideways →",
    "not held": "This report holds nothing about this ARK.",
    "looking": "Looking …",
    "asked at": "Asked at",
    "not asked": "Not asked",
    "answered": "answered {status}",
    "answered again": "answered {status} (attempt {attempt})",
    "no answer": "no answer",
    "no answer again": "no answer (attempt {attempt})",
    "no answer because": "no answer: {error}",
    "no answer because again": "no answer: {error} (attempt {attempt})",
    "the way": "The way to the object",
    "what to do": "What to do",
    "all places": "All places with this cause",
    "life": "Its checks over time; the table below says the same",
    "checks": {"one": "{count} check so far", "other": "{count} checks so far"},
    "checks caption": "Its checks, the last one first",
    "cited": {"one": "Cited in {count} place", "other": "Cited in {count} places"},
    "cited caption": "Where it is cited, as written",
    "requests": {"one": "{count} request", "other": "{count} requests"},
    "requests caption": "Every request about it",
    "permalink": "Copy a link to this ARK",
    "copied": "Copied",
    "not copied": "It could not be copied: select the text.",
    "done": "{done} of {all} done",
}
