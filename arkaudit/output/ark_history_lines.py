"""The history of one ARK as text for people, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from arkaudit.output.output_rows import whole
from reports.ark_history import SPARKS, ArkHistory
from reports.languages.templates import template


def print_history(history: ArkHistory, console: Console) -> None:
    """Print a history, and an empty line. Raises `OutputClosed` and `OutputUnwritable`."""
    is_unicode = (console.encoding or "").lower().startswith("utf")
    with whole(console):
        console.print(history_text(history, is_unicode=is_unicode), highlight=False, markup=False, soft_wrap=True)


def as_row(history: ArkHistory) -> dict[str, Any]:
    """Return the history as JSON values, with spark lines."""
    row = asdict(history)
    for url, at_url in zip(row["urls"], history.urls, strict=True):
        url["spark"] = at_url.spark(is_unicode=False)
    return row


def history_text(history: ArkHistory, *, is_unicode: bool) -> str:
    """Return the history for people, one line for each document, check and event."""
    whole_text = template("history.txt.j2", "arkaudit.output")
    return whole_text.render(history=history, is_unicode=is_unicode, sparks=SPARKS)
