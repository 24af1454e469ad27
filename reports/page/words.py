"""The sentences that the page's scripts say: whole ones, with their places in braces, so that they can be translated.

What stands in the page before a script runs is in the template and in `reports.wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reports.languages import N_, Forms, Language

#: By name: a sentence, or one for each form that ``{number}`` asks for.
WORDS: Final[Mapping[str, str | Forms]] = {
    "any": N_("any"),
    "any of several": "{values}",
    "choice": "{value} ({number})",
    "filters": N_("Filters of the table {table}"),
    "to sort": N_(": press to sort"),
    "to reverse": N_(": press to turn the order round"),
    "to unsort": N_(": press for the order of the report"),
    "first page": N_("First page"),
    "last page": N_("Last page"),
    "next page": N_("Next page"),
    "previous page": N_("Previous page"),
    "search": N_("Search"),
    "search hint": N_("words"),
    "no row fits": N_("No row fits."),
    "no rows": N_("No rows."),
    "rows shown": N_("Rows _START_ to _END_ of _TOTAL_"),
    "rows filtered": N_("(out of _MAX_)"),
    "rows of arks": Forms("{rows}: {number} ARK", "{rows}: {number} ARKs"),
    "rows a page": N_("_MENU_ rows per page"),
    "whole table": N_("Show all {number} rows"),
    "more columns": N_("More columns: scroll sideways →"),
    "not held": N_("This report holds nothing about this ARK."),
    "looking": N_("Looking …"),
    "asked at": N_("Asked at"),
    "not asked": N_("Not asked"),
    "answered": N_("answered {status}"),
    "answered again": N_("answered {status} (attempt {attempt})"),
    "no answer": N_("no answer"),
    "no answer again": N_("no answer (attempt {attempt})"),
    "no answer because": N_("no answer: {error}"),
    "no answer because again": N_("no answer: {error} (attempt {attempt})"),
    "the way": N_("The way to the object"),
    "what to do": N_("What to do"),
    "all places": N_("All places with this cause"),
    "life": N_("Its checks over time; the table below says the same"),
    "checks": Forms("{number} check so far", "{number} checks so far"),
    "checks caption": N_("Its checks, the last one first"),
    "cited": Forms("Cited in {number} place", "Cited in {number} places"),
    "cited caption": N_("Where it is cited, as written"),
    "requests": Forms("{number} request", "{number} requests"),
    "requests caption": N_("Every request about it"),
    "permalink": N_("Copy a link to this ARK"),
    "copied": N_("Copied"),
    "not copied": N_("It could not be copied: select the text."),
    "true": N_("yes"),
    "false": N_("no"),
    "done": N_("{done} of {all} done"),
}


def words_in(language: Language) -> Mapping[str, str | Mapping[str, str]]:
    """The same in a language."""
    return {
        name: language.forms(words) if isinstance(words, Forms) else language.gettext(words)
        for name, words in WORDS.items()
    }
