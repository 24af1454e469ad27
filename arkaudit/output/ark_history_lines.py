"""The history of one ARK as lines for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console

from arkaudit.output.output_rows import whole
from reports.ark_history import SPARKS, ArkCheck, ArkHistory, UrlHistory
from reports.languages.display import escape_invisible


def print_history(history: ArkHistory, console: Console) -> None:
    """Print a history, and an empty line. Raises `OutputClosed` and `OutputUnwritable`."""
    is_unicode = (console.encoding or "").lower().startswith("utf")
    with whole(console):
        for line in (*lines(history, is_unicode=is_unicode), ""):
            console.print(escape_invisible(line), highlight=False, markup=False, soft_wrap=True)


def as_row(history: ArkHistory) -> dict[str, Any]:
    """Return the history as JSON values, with spark lines."""
    row = asdict(history)
    for url, at_url in zip(row["urls"], history.urls, strict=True):
        url["spark"] = at_url.spark(is_unicode=False)
    return row


def lines(history: ArkHistory, *, is_unicode: bool) -> Iterator[str]:
    """Yield the lines about a history for people."""
    yield history.ark
    yield ""
    if not history.citations:
        yield "No document cites it."
    for cited in history.citations:
        count = "1 citation" if cited.citations == 1 else f"{cited.citations} citations"
        days = dict.fromkeys(map(_day, (cited.first_at, cited.last_at)))
        yield f"cited in {cited.document}: {count}, {' to '.join(days)}"
    for at_url in history.urls:
        yield ""
        yield from _at_url(at_url, is_unicode=is_unicode)
    signs = ", ".join(f"{sparks[not is_unicode]} {family}" for family, sparks in SPARKS.items())
    yield ""
    yield f"({signs})"


def _at_url(history: UrlHistory, *, is_unicode: bool) -> Iterator[str]:
    yield history.request_url
    yield f"  {history.state} since {_day(history.since)}: {history.reason}"
    if history.gone_at:
        yield f"  no longer cited since {_day(history.gone_at)}"
    if history.checks:
        yield f"  {history.spark(is_unicode=is_unicode)}"
    lines, state = [], None
    for check in history.checks:
        lines.append((check.at, 0, _check_words(check, state)))
        state = check.state
    for event in history.events:
        lines.append((event.at, 1, f"  {': '.join(filter(None, (event.event, event.detail)))}"))
    for at, _, words in sorted(lines):
        yield f"  {at[:16].replace('T', ' ')}  {words}"


def _check_words(check: ArkCheck, was: str | None) -> str:
    state = check.state if was in (None, check.state) else f"{was} > {check.state}"
    status = f" {check.status}" if check.status is not None else ""
    suspect = " [in a suspect run]" if check.is_suspect else ""
    landed = f"  {check.final_url}" if check.final_url else ""
    words = f"  ({check.words})" if check.words else ""
    return f"{state}: {check.object}{status}{suspect}{landed}{words}"


def _day(at: str) -> str:
    return at[:10]
