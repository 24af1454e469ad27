"""A run in brief, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from crawler.model.observations import Family
from reports.languages import ENGLISH, N_, Language
from reports.languages.display import escaped
from reports.store.frames import Frames
from reports.tables import overviews
from reports.tables.ark_statuses import FAMILY_COLUMNS
from reports.tables.definitions import COUNT, SHARE, rows_of
from reports.tables.headline import audited, counts_of, headline
from reports.tables.report_tables import Tables
from reports.tables.summary import sentences

#: The number of NAANs that are shown; all are in the table of the report.
MOST_NAANS = 5
#: The families, in words that fit on a narrow terminal.
HEADINGS = {
    Family.WORKS: N_("work"),
    Family.FAILS: N_("fail"),
    Family.UNREACHABLE: N_("no answer"),
    Family.NOT_JUDGED: N_("not judged"),
}


def main_table(frames: Frames, language: Language = ENGLISH) -> Table:
    """The greatest NAANs with their ARKs by family; the share is of those that work or fail."""
    title = language.gettext("ARKs by organization")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("NAAN", no_wrap=True)
    table.add_column(language.gettext("organization"))
    counted = (language.gettext(words) for words in HEADINGS.values())
    for heading in ("ARKs", *counted, language.gettext("share")):
        table.add_column(heading, justify="right", no_wrap=True)
    columns = ["naan", "organization", "arks", *FAMILY_COLUMNS.values(), "share_works"]
    naans = overviews.NAANS.of(frames)[columns]
    for naan, organization, *counts, share in rows_of(naans.head(MOST_NAANS)):
        words = (
            Text(escaped(text or ""), no_wrap=True, overflow="ellipsis")
            for text in (naan, organization)
        )
        table.add_row(
            *words,
            *(language.shown(count, COUNT) for count in counts),
            language.shown(share, SHARE),
        )
    rest = len(naans) - MOST_NAANS
    if rest > 0:
        table.add_row("", language.ngettext("and {number} more", "and {number} more", rest))
    return table


def summary_lines(
    frames: Frames, language: Language = ENGLISH, tables: Mapping[str, pd.DataFrame] | None = None
) -> list[str]:
    """Return the verdict, what it is about, and the summary, in a few lines of plain words.

    Of *tables*, where they are made already, those are taken that the verdict rests on.
    """
    used_tables = tables or Tables(frames)
    return [
        headline(counts_of(frames, used_tables), language),
        *(escaped(sentence) for sentence in audited(frames, language).sentences),
        *sentences(used_tables["summary"], language),
    ]


def place_sentence(path: Path, language: Language) -> str:
    """Return where a report is."""
    return language.gettext("the report is at {path}", path=path)
