"""Do what `history` does: show the life of one ARK, to people and to programs."""

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
from crawler.storage.store import bring_up_to_date
from extractors.ark import Ark
from extractors.normalize import NotAnArk
from extractors.shared_errors import UserMistake
from reports.display import escaped
from reports.life import SPARKS, Checked, Life, LifeAtUrl, life


def show(asked: str, store_file: Path, form: str, console: Console) -> None:
    """Print the life of the ARK that is *asked* about; ends with 1 when the store has never seen it.

    Raises `UserMistake`, `crawler.storage.store_errors.StoreUnopenable`, `reports.frames.StoreUnreadable`, and what
    `arkaudit.output_rows.write` raises.
    """
    try:
        ark = Ark.parse(asked)
    except NotAnArk:
        raise UserMistake(f"not an ARK: {escaped(repr(asked))}") from None
    bring_up_to_date(store_file)
    found = life(store_file, ark)
    if found is None:
        say(escaped(f"{store_file} has never seen {ark}"))
        sys.exit(EXIT_FINDING)
    if form == "json":
        write(json.dumps(as_row(found), ensure_ascii=False, indent=2) + "\n", sys.stdout)
        return
    is_unicode = (console.encoding or "").lower().startswith("utf")
    with whole(console):
        for line in lines(found, is_unicode=is_unicode):
            console.print(escaped(line), highlight=False, markup=False, soft_wrap=True)


def as_row(found: Life) -> dict[str, Any]:
    """The life as plain values, the spark lines included."""
    row = asdict(found)
    for url, at_url in zip(row["urls"], found.urls, strict=True):
        url["spark"] = at_url.spark(is_unicode=False)
    return row


def lines(found: Life, *, is_unicode: bool) -> Iterator[str]:
    """The life in lines for people."""
    yield found.ark
    yield ""
    if not found.citations:
        yield "No document cites it."
    for cited in found.citations:
        count = "1 citation" if cited.citations == 1 else f"{cited.citations} citations"
        span = (
            _day(cited.first_at)
            if _day(cited.first_at) == _day(cited.last_at)
            else (f"{_day(cited.first_at)} to {_day(cited.last_at)}")
        )
        yield f"cited in {cited.document}: {count}, {span}"
    for at_url in found.urls:
        yield ""
        yield from _at_url(at_url, is_unicode=is_unicode)
    signs = ", ".join(f"{sparks[not is_unicode]} {family}" for family, sparks in SPARKS.items())
    yield ""
    yield f"({signs})"


def _at_url(found: LifeAtUrl, *, is_unicode: bool) -> Iterator[str]:
    yield found.request_url
    yield f"  {found.state} since {_day(found.since)}: {found.reason}"
    if found.gone_at:
        yield f"  gone from the documents since {_day(found.gone_at)}"
    if found.checks:
        yield f"  {found.spark(is_unicode=is_unicode)}"
    before = [None, *(check.state for check in found.checks)]
    lines = [(check.at, 0, _checked(check, was)) for was, check in zip(before, found.checks, strict=False)]
    lines += [(event.at, 1, f"  {event.event}{f': {event.detail}' if event.detail else ''}") for event in found.events]
    lines += [(each.at, 2, f"  {each.detail}") for each in found.decisions]
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
