"""Show the life of one ARK, to people and to programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from arkaudit.exits import EXIT_FINDING, say
from arkaudit.output_rows import whole, write
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from extractors.model.normalize import NotAnArk
from reports.ark_history import SPARKS, Checked, Life, LifeAtUrl, life
from reports.languages.display import escaped


def show(ark: str, store_file: Path, form: str) -> None:
    """Print the life of an ARK; ends with 1 when the store has never seen it.

    Raises `UserMistake`, `crawler.store.StoreUnopenable`, `reports.store.frames.StoreUnreadable`, and what
    `arkaudit.output_rows.write` raises.
    """
    try:
        meant = Ark.parse(ark)
    except NotAnArk:
        raise UserMistake(f"not an ARK: {escaped(repr(ark))}") from None
    history = life(store_file, meant)
    if history is None:
        say(escaped(f"{store_file} has never seen {meant}"))
        sys.exit(EXIT_FINDING)
    if form == "json":
        write(json.dumps(as_row(history), ensure_ascii=False, indent=2) + "\n", sys.stdout)
        return
    console = Console()
    is_unicode = (console.encoding or "").lower().startswith("utf")
    with whole(console):
        for line in lines(history, is_unicode=is_unicode):
            console.print(escaped(line), highlight=False, markup=False, soft_wrap=True)


def as_row(history: Life) -> dict[str, Any]:
    """The life as plain values, the spark lines included."""
    row = asdict(history)
    for url, at_url in zip(row["urls"], history.urls, strict=True):
        url["spark"] = at_url.spark(is_unicode=False)
    return row


def lines(history: Life, *, is_unicode: bool) -> Iterator[str]:
    """The life in lines for people."""
    yield history.ark
    yield ""
    if not history.citations:
        yield "No document cites it."
    for cited in history.citations:
        count = "1 citation" if cited.citations == 1 else f"{cited.citations} citations"
        span = (
            _day(cited.first_at)
            if _day(cited.first_at) == _day(cited.last_at)
            else (f"{_day(cited.first_at)} to {_day(cited.last_at)}")
        )
        yield f"cited in {cited.document}: {count}, {span}"
    for at_url in history.urls:
        yield ""
        yield from _at_url(at_url, is_unicode=is_unicode)
    signs = ", ".join(f"{sparks[not is_unicode]} {family}" for family, sparks in SPARKS.items())
    yield ""
    yield f"({signs})"


def _at_url(history: LifeAtUrl, *, is_unicode: bool) -> Iterator[str]:
    yield history.request_url
    yield f"  {history.state} since {_day(history.since)}: {history.reason}"
    if history.gone_at:
        yield f"  gone from the documents since {_day(history.gone_at)}"
    if history.checks:
        yield f"  {history.spark(is_unicode=is_unicode)}"
    before = [None, *(check.state for check in history.checks)]
    lines = [(check.at, 0, _checked(check, was)) for was, check in zip(before, history.checks, strict=False)]
    lines += [
        (event.at, 1, f"  {event.event}{f': {event.detail}' if event.detail else ''}") for event in history.events
    ]
    lines += [(decision.at, 2, f"  {decision.detail}") for decision in history.decisions]
    for at, _, words in sorted(lines):
        yield f"  {at[:16].replace('T', ' ')}  {words}"


def _checked(check: Checked, was: str | None) -> str:
    state = check.state if was in (None, check.state) else f"{was} > {check.state}"
    status = f" {check.status}" if check.status is not None else ""
    suspect = " [in a suspect run]" if check.is_suspect else ""
    landed = f"  {check.final_url}" if check.final_url else ""
    words = f"  ({check.words})" if check.words else ""
    return f"{state}: {check.object}{status}{suspect}{landed}{words}"


def _day(at: str) -> str:
    return at[:10]
