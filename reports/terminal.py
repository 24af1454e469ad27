"""A run in brief, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from crawler.observations import Family
from reports import overviews
from reports.ark_statuses import FAMILY_COLUMNS
from reports.audited import audited
from reports.display import escaped, shown
from reports.frames import Frames
from reports.summary import sentences, summary
from reports.tables import COUNT, SHARE, rows_of

#: The families, in words that leave room on a narrow terminal.
HEADINGS: Final[Mapping[Family, str]] = {
    Family.WORKS: "work",
    Family.FAILS: "fail",
    Family.UNREACHABLE: "no answer",
    Family.NOT_JUDGED: "not judged",
}


def main_table(frames: Frames) -> Table:
    """The NAANs with their ARKs by family, the greatest NAAN first; the share is of those that work or fail."""
    table = Table(title="ARKs by organization", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("NAAN", no_wrap=True)
    table.add_column("organization")
    for heading in ("ARKs", *HEADINGS.values(), "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    columns = ["naan", "organization", "arks", *FAMILY_COLUMNS.values(), "share_works"]
    for naan, organization, *counts, share in rows_of(overviews.naans(frames)[columns]):
        words = (Text(escaped(text or ""), no_wrap=True, overflow="ellipsis") for text in (naan, organization))
        table.add_row(*words, *(shown(count, COUNT) for count in counts), shown(share, SHARE))
    return table


def summary_lines(frames: Frames) -> list[str]:
    """Return what is reported, and the summary, in a few lines of plain words."""
    return [*(escaped(sentence) for sentence in audited(frames).sentences), *sentences(summary(frames))]
