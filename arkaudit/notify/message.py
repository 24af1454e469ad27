"""Pure: from the news of a run to the message about it, new trouble first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from crawler.history.news import News, NewsItem
from reports.display import escaped

#: The kinds of news in the order of their gravity, each with its heading.
HEADINGS: Final = {
    "broke": "Broken, confirmed by several checks over days",
    "failing": "Fails, not yet confirmed",
    "moved": "Lands elsewhere than before",
    "changed": "Changed",
    "gone": "No longer cited",
    "new": "New in the documents",
    "recovered": "Works again",
}
#: So many ARKs of a kind are listed; the report has them all.
MOST_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Message:
    """The message that is sent; the text is Markdown."""

    subject: str
    text: str


def message(news: News, *, kinds: Collection[str], audit: str, report: str | None = None) -> Message | None:
    """Return the message for people who want to hear of *kinds*; None where there is nothing new for them."""
    chosen = {kind: [item for item in news.items if item.kind == kind] for kind in HEADINGS if kind in kinds}
    chosen = {kind: items for kind, items in chosen.items() if items}
    if not chosen:
        return None
    counts = ", ".join(f"{len(items)} {kind}" for kind, items in chosen.items())
    lines = [f"# {escaped(audit)}: {counts}", "", f"New since the last run (run {news.run_id}, {news.at[:16]} UTC):"]
    for kind, items in chosen.items():
        lines += ["", f"## {HEADINGS[kind]} ({len(items)})", "", *map(_line, items[:MOST_LISTED])]
        if len(items) > MOST_LISTED:
            lines.append(f"- and {len(items) - MOST_LISTED} more, in the report")
    lines.append("")
    if news.known_problems:
        lines.append(f"Known before and unchanged: {_count(news.known_problems, 'ARK')} with problems.")
    if news.triaged:
        lines.append(f"{news.triaged}.")
    if news.suspect:
        lines.append(f"Failures of this run count for nothing: {escaped(news.suspect)}.")
    if report:
        lines.append(f"The report: {escaped(report)}")
    return Message(f"arkaudit: {escaped(audit)}: {counts}", "\n".join(lines).rstrip() + "\n")


def _line(item: NewsItem) -> str:
    """One ARK in a line. What comes from the world is code, so that no Markdown or link of theirs has effect."""
    cited = f", cited {_count(item.citations, 'time')}" if item.citations else ""
    detail = f": {_code(item.detail)}" if item.detail else ""
    return f"- {_code(item.ark)} at {_code(item.request_url)}{cited}{detail}"


def _code(text: str) -> str:
    """Markdown code that says *text*, whatever is in it.

    >>> _code("a`b")
    '`` a`b ``'
    """
    shown = escaped(text).replace("\n", " ")
    fence = "`"
    while fence in shown:
        fence += "`"
    return f"{fence} {shown} {fence}" if len(fence) > 1 else f"`{shown}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
