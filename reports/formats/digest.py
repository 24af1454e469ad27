"""The digest of a run: the headline of its report, the changes, and the causes of failures by who can fix them.

It is written as Markdown, HTML, plain text or JSON, or as a check-list of causes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import quote

import pandas as pd
from markdown_it import MarkdownIt

from crawler.history.ark_status import EventKind
from crawler.model.observations import Family
from reports.languages import ENGLISH, N_, Language
from reports.languages.display import escape_invisible, escape_invisible_json
from reports.languages.templates import macros
from reports.remediation.causes import Cause, Fault
from reports.tables.actions import cause_key
from reports.tables.changes import FAILING, SEVERITY
from reports.tables.definitions import records_of, rows_of
from reports.tables.news import PROBLEM_KINDS, UNREAD, News, failures_after
from reports.tables.report_tables import Report
from reports.tables.summary import Summary
from reports.tables.wording import CHANGE_NAMES

#: The kinds of news, the most serious first, with their headings.
HEADINGS = {
    **{kind: CHANGE_NAMES[kind] for kind in SEVERITY[:2]},
    Family.UNREACHABLE.value: N_("No answer, which is not link rot: check again"),
    **{kind: CHANGE_NAMES[kind] for kind in SEVERITY[2:]},
}
#: The kinds of news that `failing` in the configuration selects.
_FAILING_KINDS = frozenset({FAILING, Family.UNREACHABLE.value})
#: Largest number of causes in a digest, and of ARKs and documents for each cause.
MOST_CAUSES = 12
MOST_LISTED = 5


@dataclass(frozen=True, slots=True)
class ListedArk:
    """An ARK that the digest names below a kind of news or a cause, with the documents that cite it."""

    ark: str
    documents: tuple[str, ...]
    """The first documents that cite the ARK, at most `MOST_LISTED`."""
    more_documents: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NewsGroup:
    """A kind of news with its ARKs."""

    kind: str
    """One of `HEADINGS`."""
    arks: int
    """Number of all ARKs with this kind of news."""
    listed: tuple[ListedArk, ...]


@dataclass(frozen=True, slots=True)
class DigestCause:
    """A cause of failures, as in the report's table of causes."""

    key: str
    cause: Cause
    fault: Fault
    host: str
    citations: int
    documents: int
    arks: int
    new_arks: int
    """Number of its ARKs that newly fail or give no answer."""
    listed: tuple[ListedArk, ...]

    @property
    def id(self) -> str:
        """A short text that identifies the cause in every report on a store."""
        return sha256(self.key.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Digest:
    """The news of a run, by cause."""

    audit: str
    news: News
    summary: Summary
    changes: tuple[NewsGroup, ...]
    """The kinds of news that were asked for, the most severe first."""
    causes: tuple[DigestCause, ...]
    more_causes: int = 0
    has_failures: bool = False
    """True if there are confirmed failures, or unconfirmed ones and these were asked for. An outage is neither."""
    page: str | None = None
    """The address of the report's page."""
    failures_sent: Mapping[str, str] = field(default_factory=dict)
    """The kind of the last news that the channel will have had about each failing ARK, when it has got this digest."""

    @property
    def has_new_failures(self) -> bool:
        """True if ARKs newly fail, of the kinds that were asked for."""
        return self.has_failures and any(change.kind in (EventKind.CONFIRMED, FAILING) for change in self.changes)


def digest_of(
    report: Report,
    audit: str,
    news: News,
    *,
    page: str | None,
    kinds: Collection[str],
    failures_sent: Mapping[str, str] | None = None,
) -> Digest:
    """Return the digest of the one run in *report*, with the *news* of *kinds*.

    *audit* is the name of the audit, and *page* the URL of the report page. *failures_sent* has the kind of the last
    news of the channel by failing ARK.
    """
    causes, failures = report.tables["causes"], report.tables["failures"]
    wanted_kinds = {*kinds, *(_FAILING_KINDS if FAILING in kinds else ())}
    details_by_kind: dict[str, dict[str, str]] = {kind: {} for kind in HEADINGS}
    for item in news.items:
        details_by_kind[item.kind].setdefault(item.ark, item.detail)
    new_problem_arks = {ark for kind in wanted_kinds.intersection(PROBLEM_KINDS) for ark in details_by_kind[kind]}
    listed_arks = {
        kind: [*details_by_kind[kind]][:MOST_LISTED]
        for kind in details_by_kind
        if kind in wanted_kinds.difference(PROBLEM_KINDS)
    }
    documents_by_ark = _documents_by_ark(report.frames.mentions, {ark for arks in listed_arks.values() for ark in arks})
    changes = tuple(
        NewsGroup(
            kind, len(arks), tuple(_listed_ark(ark, documents_by_ark, arks[ark]) for ark in listed_arks.get(kind, ()))
        )
        for kind, arks in details_by_kind.items()
        if kind in wanted_kinds and arks
    )
    is_failure = causes["fault"].ne(Fault.NOBODY) & causes["failing_since"].notna()
    return Digest(
        audit,
        news,
        report.summary,
        changes,
        _causes(causes, failures, new_problem_arks),
        max(0, len(causes) - MOST_CAUSES),
        bool(causes["confirmed_broken"].gt(0).any())
        or bool(FAILING in kinds and not news.suspect and is_failure.any()),
        page,
        failures_after(failures_sent or {}, news, wanted_kinds),
    )


def _causes(causes: pd.DataFrame, failures: pd.DataFrame, new_problem_arks: Collection[str]) -> tuple[DigestCause, ...]:
    """Return at most `MOST_CAUSES` causes, in the order of the report.

    Causes with ARKs in *new_problem_arks* are chosen first.
    """
    arks = failures[["number", "ark"]].drop_duplicates()
    arks = arks.assign(is_old=~arks["ark"].isin(new_problem_arks)).sort_values(["number", "is_old"], kind="stable")
    new_arks = dict(rows_of((~arks["is_old"]).groupby(arks["number"]).sum().reset_index()))
    ranked_numbers = sorted(causes["number"], key=lambda number: (not new_arks[number], number))
    chosen_causes = causes[causes["number"].isin(ranked_numbers[:MOST_CAUSES])].sort_values("number")
    arks = arks[arks["number"].isin(chosen_causes["number"])].groupby("number").head(MOST_LISTED)
    documents_by_ark = _documents_by_ark(failures, {*arks["ark"]})
    listed_arks = {
        number: tuple(_listed_ark(ark, documents_by_ark) for ark in of_cause)
        for number, of_cause in arks.groupby("number")["ark"]
    }
    return tuple(
        DigestCause(
            cause_key(row),
            Cause(row["cause"]),
            Fault(row["fault"]),
            row["host"] or "",
            row["citations"],
            row["documents"],
            row["arks"],
            new_arks=int(new_arks[row["number"]]),
            listed=listed_arks[row["number"]],
        )
        for row in records_of(chosen_causes)
    )


def _documents_by_ark(mentions: pd.DataFrame, arks: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the sorted documents that cite an ARK in *mentions*, by ARK; only for *arks*."""
    rows = mentions.loc[mentions["ark"].isin(arks), ["ark", "document"]].dropna().drop_duplicates()
    return {str(ark): tuple(documents) for ark, documents in rows.sort_values("document").groupby("ark")["document"]}


def _listed_ark(ark: str, documents_by_ark: Mapping[str, tuple[str, ...]], detail: str = "") -> ListedArk:
    documents = documents_by_ark.get(ark, ())
    return ListedArk(ark, documents[:MOST_LISTED], len(documents[MOST_LISTED:]), detail)


def subject(digest: Digest, language: Language = ENGLISH) -> str:
    """Return the subject of a message: the number of ARKs of each kind of news."""
    return f"arkaudit: {escape_invisible(digest.audit)}: {_digest_macros(digest, language).counted()}"


def _digest_macros(
    digest: Digest,
    language: Language,
    *,
    is_markdown: bool = True,
    most_listed: int = MOST_LISTED,
    ticked: Collection[str] | None = None,
) -> Any:
    """Return the macros of a digest: lines of Markdown, or of plain text.

    *most_listed* is the number of ARKs for each cause and change. *ticked* are the causes of a check-list that are done,
    by `DigestCause.id`, or None for a list without boxes.
    """
    return macros(
        "digest.txt.j2",
        "reports.formats",
        language,
        digest=digest,
        is_markdown=is_markdown,
        most_listed=most_listed,
        ticked=ticked,
        address=quote((digest.page or "").partition("#")[0], safe="%/:?@!$&'()*+,;=~[]"),
        quoted=partial(quote, safe=":/"),
        kinds=HEADINGS,
        unread=UNREAD,
    )


def _text(macro: str, digest: Digest, language: Language, limit: int | None, **options: Any) -> str:
    """Return the text of *macro* with as many ARKs as fit into *limit* characters; None means no limit.

    If even a text without ARKs is too long, causes are left out.
    """
    digest_without_causes = replace(digest, causes=(), more_causes=digest.more_causes + len(digest.causes))
    text = ""
    for shown_digest, most_listed in ((digest, MOST_LISTED), (digest, 1), (digest, 0), (digest_without_causes, 0)):
        words = getattr(_digest_macros(shown_digest, language, most_listed=most_listed, **options), macro)()
        text = re.sub(r"\n{3,}", "\n\n", words).strip() + "\n"
        if limit is None or len(text) <= limit:
            break
    return text


def as_markdown(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message in Markdown of at most *limit* characters; text from the web is in code spans."""
    return _text("message", digest, language, limit)


def as_text(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message in plain text of at most *limit* characters."""
    return _text("message", digest, language, limit, is_markdown=False)


def as_html(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message as an HTML page in light and dark colours, from Markdown of at most half of *limit* characters."""
    body = MarkdownIt("commonmark", {"html": False}).render(as_markdown(digest, language, limit=limit and limit // 2))
    # Apprise derives the text part of a mail from the page, and would put each <code> on a line of its own.
    body = body.replace("<code>", "<samp>").replace("</code>", "</samp>")
    return (
        f'<!DOCTYPE html>\n<html lang="{language.code}"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(subject(digest, language))}</title></head>\n"
        f'<body style="font-family: sans-serif; max-width: 48em">\n{body}</body></html>\n'
    )


def as_json(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return the digest as one line of JSON, with its subject and headline as sentences; *limit* is ignored."""
    sentences = {"subject": subject(digest, language), "headline": digest.summary.headline(language)}
    values = asdict(replace(digest, news=replace(digest.news, items=()), failures_sent={}))
    # The changes list these ARKs.
    del values["news"]["items"], values["failures_sent"], values["summary"]["measures"], values["summary"]["scope"]
    values = {"counts" if name == "summary" else name: value for name, value in values.items()}
    values["counts"]["known"] = digest.summary.known
    return escape_invisible_json(json.dumps(sentences | values, ensure_ascii=False, default=str)) + "\n"


#: The formats of a message.
FORMATS = {"markdown": as_markdown, "html": as_html, "text": as_text, "json": as_json}


def as_check_list(digest: Digest, language: Language, *, ticked: Collection[str], limit: int) -> str:
    """Return the causes as a check-list in Markdown of at most *limit* characters; those with ids in *ticked* are ticked."""
    return _text("check_list", digest, language, limit, ticked=ticked)
