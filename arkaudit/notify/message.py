"""Pure: from the news of a run to the message about it, new trouble first. ARKs are counted as in the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from crawler.history.news import News, NewsItem
from crawler.observations import Family
from reports.display import escaped

#: The kinds of news in the order of their gravity, each with its heading.
HEADINGS: Final = {
    "broke": "Broken, confirmed by several checks over days",
    "failing": "Fails, not yet confirmed",
    "silent": "Gave no answer, which is not link rot: ask again",
    "moved": "Lands elsewhere than before",
    "changed": "Changed",
    "gone": "No longer cited",
    "new": "New in the documents",
    "recovered": "Works again",
}
#: What somebody wants to hear of who wants to hear of failures that nothing has confirmed.
_FAILING: Final = frozenset({"failing", "silent"})
#: So many ARKs of a kind are listed; the report has them all.
MOST_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Message:
    """The message that is sent; the text is Markdown."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class ArkFacts:
    """The facts of a report about an ARK that was not reached as cited."""

    family: Family
    """What the best outcome of its URLs amounts to."""
    cause: str
    """Why it fails, in words, with the host."""
    documents: tuple[str, ...] = ()


def message(
    news: News,
    *,
    kinds: Collection[str],
    audit: str,
    report: str | None = None,
    facts: Mapping[str, ArkFacts] | None = None,
) -> Message | None:
    """Return the message for people who want to hear of *kinds*; None where there is nothing new for them.

    *facts* are what the report says of ARKs that fail; one that works at another of its URLs does not fail.
    """
    known = facts or {}
    wanted = {*kinds, *(_FAILING if "failing" in kinds else ())}
    chosen: dict[str, dict[str, list[NewsItem]]] = {kind: {} for kind in HEADINGS if kind in wanted}
    for item in news.items:
        kind = _kind(item, known.get(item.ark))
        if kind in chosen:
            chosen[kind].setdefault(item.ark, []).append(item)
    chosen = {kind: arks for kind, arks in chosen.items() if arks}
    if not chosen:
        return None
    names = {"new": "cited"} if news.is_first else {}
    headings = {**HEADINGS, **({"new": "Cited in the documents"} if news.is_first else {})}
    counts = ", ".join(f"{len(arks)} {names.get(kind, kind)}" for kind, arks in chosen.items())
    run = f"run {news.run_id}, {news.at[:16]} UTC"
    begins = f"The first audit ({run}):" if news.is_first else f"What this audit has changed ({run}):"
    lines = [f"# {escaped(audit)}: {counts}", "", begins]
    for kind, arks in chosen.items():
        lines += ["", f"## {headings[kind]} ({len(arks)})", ""]
        lines += [_line(items, known.get(ark), report) for ark, items in [*arks.items()][:MOST_LISTED]]
        if len(arks) > MOST_LISTED:
            lines.append(f"- and {len(arks) - MOST_LISTED} more, in the report")
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


def _kind(item: NewsItem, facts: ArkFacts | None) -> str:
    """Return under which heading an item belongs; none for an ARK that fails at one of its URLs only."""
    if item.kind not in ("broke", "failing") or facts is None:
        return item.kind
    if facts.family is Family.UNREACHABLE:
        return item.kind if item.kind == "broke" else "silent"
    return item.kind if facts.family is Family.FAILS else ""


def _line(items: Sequence[NewsItem], facts: ArkFacts | None, report: str | None) -> str:
    """One ARK in a line. What comes from the world is code, so that no Markdown or link of theirs has effect."""
    first, *others = items
    urls = f" and {_count(len(others), 'other URL')}" if others else ""
    citations = sum(item.citations for item in items)
    cited = f", cited {_count(citations, 'time')}" if citations else ""
    documents = facts.documents if facts else ()
    if documents:
        more = f" and {_count(len(documents) - 1, 'other document')}" if len(documents) > 1 else ""
        cited += f" in {_code(documents[0])}{more}"
    detail = f": {_code(first.detail)}" if first.detail else ""
    cause = f"; {_code(facts.cause)}" if facts and first.kind in ("broke", "failing") else ""
    place = f"; see {_code(f'{report}#ark={first.ark}')}" if report else ""
    return f"- {_code(first.ark)} at {_code(first.request_url)}{urls}{cited}{detail}{cause}{place}"


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
