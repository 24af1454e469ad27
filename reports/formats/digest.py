"""The digest of a run: the headline of its report, the changes, and the causes of failures by who can fix them.

`make_digest` computes it without I/O. It is written as Markdown, HTML, plain text or JSON, or as the text of an issue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from html import escape
from urllib.parse import quote

import pandas as pd
from markdown_it import MarkdownIt

from crawler.history.ark_status import EventKind
from crawler.model.observations import Family
from reports.languages import ENGLISH, N_, Forms, Language
from reports.languages.display import code, escape_invisible, escape_invisible_json, markdown_words
from reports.remediation.causes import ADVICE, Cause, Fault
from reports.tables.actions import affected_words, cause_key
from reports.tables.changes import FAILING, SEVERITY
from reports.tables.definitions import records_of, rows_of
from reports.tables.news import PROBLEM_KINDS, UNREAD, News, failures_after, news_of
from reports.tables.report_tables import Report
from reports.tables.summary import Summary, summarize
from reports.tables.wording import CAUSE_NAMES, CHANGE_NAMES

#: The kinds of news, the most serious first, with their headings; those of a first run, which compares with nothing.
HEADINGS = {
    **{kind: CHANGE_NAMES[kind] for kind in SEVERITY[:2]},
    Family.UNREACHABLE.value: N_("No answer, which is not link rot: check again"),
    **{kind: CHANGE_NAMES[kind] for kind in SEVERITY[2:]},
}
_FIRST_HEADINGS = HEADINGS | {FAILING: N_("Failing, not yet confirmed"), "new": N_("Cited in the documents")}
#: The number of ARKs of each kind, for the subject.
_COUNTS = {
    "confirmed": Forms("{number} confirmed broken", "{number} confirmed broken"),
    "failing": Forms("{number} failing", "{number} failing"),
    "unreachable": Forms("{number} without an answer", "{number} without an answer"),
    "moved": Forms("{number} moved", "{number} moved"),
    "changed": Forms("{number} changed", "{number} changed"),
    "gone": Forms("{number} no longer cited", "{number} no longer cited"),
    "new": Forms("{number} newly cited", "{number} newly cited"),
    "recovered": Forms("{number} recovered", "{number} recovered"),
}
_FIRST_COUNTS = _COUNTS | {"new": Forms("{number} cited", "{number} cited")}
#: The kinds of news that `failing` in the configuration selects.
_FAILING = frozenset({FAILING, Family.UNREACHABLE.value})
#: The headings of causes, by the party that can fix them.
_FIXERS = {
    Fault.CITATION: N_("To fix by the editors of the citing documents"),
    Fault.RESOLVER: N_("To fix by the operators of resolvers"),
    Fault.LANDING_HOST: N_("To fix by the holders of the objects"),
    Fault.NOBODY: N_("To check again"),
}
#: Number of causes in a digest, and of ARKs and documents for each.
MOST_CAUSES = 12
MOST_LISTED = 5
#: Longer texts from documents and hosts are cut.
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class ListedArk:
    """An ARK that the digest names below a kind of news or a cause, with the documents that cite it."""

    ark: str
    documents: tuple[str, ...]
    """The first documents that cite it."""
    more_documents: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NewsGroup:
    """A kind of news with its ARKs."""

    kind: str
    arks: int
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
    """ARKs of these that newly fail or give no answer."""
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
    """True if failures are confirmed, or unconfirmed ones were asked for and exist; an outage is neither."""
    page: str | None = None
    """The address of the report's page."""
    failures_sent: Mapping[str, str] = field(default_factory=dict)
    """The failing ARKs that the channel knows after this digest, with the kind of news."""

    @property
    def has_new_failures(self) -> bool:
        """True if ARKs newly fail, of the kinds that were asked for."""
        return self.has_failures and any(change.kind in (EventKind.CONFIRMED, FAILING) for change in self.changes)


def digest_of(
    report: Report,
    audit: str,
    *,
    page: str | None,
    kinds: Collection[str],
    failures_sent: Mapping[str, str] | None = None,
    last_run: int | None = None,
) -> Digest:
    """Return the digest of the one run in *report*, with news of *kinds* since `news_of` the *last_run*."""
    tables = report.tables
    news = news_of(report.frames, failures_sent=failures_sent, last_run=last_run)
    summary, cited = summarize(report.frames, tables), report.frames.mentions[["ark", "document"]]
    return make_digest(
        audit,
        news,
        summary,
        tables["causes"],
        tables["failures"],
        cited,
        page=page,
        kinds=kinds,
        failures_sent=failures_sent or {},
    )


def make_digest(
    audit: str,
    news: News,
    summary: Summary,
    causes: pd.DataFrame,
    failures: pd.DataFrame,
    cited: pd.DataFrame,
    *,
    page: str | None,
    kinds: Collection[str],
    failures_sent: Mapping[str, str],
) -> Digest:
    """Return the digest of a run from its news and the tables of its report; *cited* has ARKs and their documents.

    *failures_sent* are the failing ARKs in earlier news of the channel, with the kind of news.
    """
    wanted = {*kinds, *(_FAILING if FAILING in kinds else ())}
    details: dict[str, dict[str, str]] = {kind: {} for kind in HEADINGS}
    for item in news.items:
        details[item.kind].setdefault(item.ark, item.detail)
    fresh = {ark for kind in wanted.intersection(PROBLEM_KINDS) for ark in details[kind]}
    listed = {kind: [*details[kind]][:MOST_LISTED] for kind in details if kind in wanted.difference(PROBLEM_KINDS)}
    places = _places(cited, {ark for arks in listed.values() for ark in arks})
    changes = tuple(
        NewsGroup(kind, len(arks), tuple(_listed(ark, places, arks[ark]) for ark in listed.get(kind, ())))
        for kind, arks in details.items()
        if kind in wanted and arks
    )
    is_failure = causes["fault"].ne(Fault.NOBODY) & causes["failing_since"].notna()
    return Digest(
        audit,
        news,
        summary,
        changes,
        _causes(causes, failures, fresh),
        max(0, len(causes) - MOST_CAUSES),
        bool(causes["confirmed_broken"].gt(0).any())
        or bool(FAILING in kinds and not news.suspect and is_failure.any()),
        page,
        failures_after(failures_sent, news, wanted),
    )


def _causes(causes: pd.DataFrame, failures: pd.DataFrame, fresh: Collection[str]) -> tuple[DigestCause, ...]:
    """Return the first causes, those with ARKs in *fresh* before others, in the order of the report."""
    arks = failures[["number", "ark"]].drop_duplicates()
    arks = arks.assign(is_old=~arks["ark"].isin(fresh)).sort_values(["number", "is_old"], kind="stable")
    new_arks = dict(rows_of((~arks["is_old"]).groupby(arks["number"]).sum().reset_index()))
    by_news = sorted(causes["number"], key=lambda number: (not new_arks[number], number))
    chosen = causes[causes["number"].isin(by_news[:MOST_CAUSES])].sort_values("number")
    arks = arks[arks["number"].isin(chosen["number"])].groupby("number").head(MOST_LISTED)
    places = _places(failures, {*arks["ark"]})
    listed = {
        number: tuple(_listed(ark, places) for ark in of_cause) for number, of_cause in arks.groupby("number")["ark"]
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
            listed=listed[row["number"]],
        )
        for row in records_of(chosen)
    )


def _places(cited: pd.DataFrame, arks: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the documents that cite *arks*, by ARK."""
    rows = cited.loc[cited["ark"].isin(arks), ["ark", "document"]].dropna().drop_duplicates()
    return {str(ark): tuple(documents) for ark, documents in rows.sort_values("document").groupby("ark")["document"]}


def _listed(ark: str, places: Mapping[str, tuple[str, ...]], detail: str = "") -> ListedArk:
    documents = places.get(ark, ())
    return ListedArk(ark, documents[:MOST_LISTED], len(documents[MOST_LISTED:]), detail)


def subject(digest: Digest, language: Language = ENGLISH) -> str:
    """Return the subject of a message: the number of ARKs of each kind of news."""
    return f"arkaudit: {escape_invisible(digest.audit)}: {_counted(digest, language)}"


def _counted(digest: Digest, language: Language) -> str:
    counts = _COUNTS if digest.news.compared_run else _FIRST_COUNTS
    words = (language.counted(counts[each.kind], each.arks) for each in digest.changes)
    return ", ".join(words) or language.gettext(UNREAD if digest.news.is_unread else "nothing has changed")


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes a digest as lines of Markdown, or of plain text."""

    digest: Digest
    language: Language
    is_markdown: bool = True
    most_listed: int = MOST_LISTED
    """Number of ARKs listed for each cause and change."""
    ticked: Collection[str] | None = None
    """The causes of a check-list that are done, by `DigestCause.id`; None for a list without boxes."""

    def message(self) -> Iterator[str]:
        """Yield the lines of a message: headline, changes, what still fails, causes."""
        digest, language = self.digest, self.language
        title = f"{self._words(digest.audit)}: {_counted(digest, language)}"
        run = {"run": str(digest.news.run_id), "at": f"{digest.news.at[:16].replace('T', ' ')} UTC"}
        yield self._heading(title, 1)
        yield ""
        yield self._strong(digest.summary.headline(language))
        yield ""
        if digest.page:
            # Readers of plain text see no links.
            address = f"<{self._page()}>" if self.is_markdown else self._page()
            yield language.gettext("The report: {page}", page=address)
            yield ""
        if digest.news.is_unread:
            yield language.gettext(UNREAD)
        elif not digest.changes:
            yield language.gettext("No change since the last audit (run {run}, {at}).", **run)
        elif digest.news.compared_run:
            yield language.gettext("Changes since the last message (run {run}, {at}):", **run)
        else:
            yield language.gettext("The first message (run {run}, {at}):", **run)
        yield ""
        headings = HEADINGS if digest.news.compared_run else _FIRST_HEADINGS
        for change in digest.changes:
            yield f"- {self._named(language.gettext(headings[change.kind]), language.number(change.arks))}"
            if change.kind not in PROBLEM_KINDS:
                yield from self._arks(change.listed, change.arks)
        yield from self._notes()
        yield from self._causes()

    def issue(self) -> Iterator[str]:
        """Yield the lines of an issue: headline, what was not judged, causes with boxes."""
        yield self._strong(self.digest.summary.headline(self.language))
        yield ""
        yield from self._notes()
        yield from self._causes()

    def _notes(self) -> Iterator[str]:
        news, language = self.digest.news, self.language
        if news.known_problems:
            words = language.ngettext(
                "Already reported: {number} ARK with problems.",
                "Already reported: {number} ARKs with problems.",
                news.known_problems,
            )
            yield f"- {words}"
        if news.unchecked:
            words = language.ngettext(
                "{number} ARK that failed before was not checked this time.",
                "{number} ARKs that failed before were not checked this time.",
                news.unchecked,
            )
            yield f"- {words}"
        if news.suspect:
            why = language.gettext("This run confirms no failure: {why}.", why=self._words(news.suspect))
            yield f"- {why}"

    def _causes(self) -> Iterator[str]:
        for fault, heading in _FIXERS.items():
            causes = [cause for cause in self.digest.causes if cause.fault is fault]
            if causes:
                yield ""
                yield self._heading(self.language.gettext(heading), 2)
                yield ""
            for cause in causes:
                yield self._cause(cause)
                yield from self._arks(cause.listed, cause.arks)
        if self.digest.more_causes:
            more = self.digest.more_causes
            yield ""
            yield self.language.ngettext(
                "and {number} more cause, in the report", "and {number} more causes, in the report", more
            )

    def _cause(self, cause: DigestCause) -> str:
        language = self.language
        words = self._strong(language.gettext(CAUSE_NAMES[cause.cause]))
        if cause.host:
            words += f" ({self._foreign(cause.host)})"
        words = self._named(words, affected_words(cause.citations, cause.arks, cause.documents, language))
        if cause.new_arks:
            words += ", " + language.ngettext("{number} of them new", "{number} of them new", cause.new_arks)
        words += f". {language.gettext(ADVICE[cause.cause])}"
        if self.digest.page:
            words += " " + self._link(language.gettext("See the report"), "cause", cause.key)
        if self.ticked is None:
            return f"- {words}"
        return f"- [{'x' if cause.id in self.ticked else ' '}] {words} <!-- cause {cause.id} -->"

    def _arks(self, listed: Iterable[ListedArk], arks: int) -> Iterator[str]:
        language = self.language
        shown = [*listed][: self.most_listed]
        for each in shown:
            words = (
                self._link(self._foreign(each.ark), "ark", each.ark) if self.digest.page else self._foreign(each.ark)
            )
            if each.documents:
                words += " " + language.gettext("in {document}", document=self._foreign(each.documents[0]))
            if more := len(each.documents[1:]) + each.more_documents:
                words += " " + language.ngettext("and {number} other document", "and {number} other documents", more)
            if each.detail:
                words = self._named(words, self._foreign(each.detail))
            yield f"  - {words}"
        if more := arks - len(shown) if shown else 0:
            words = language.ngettext("and {number} more, in the report", "and {number} more, in the report", more)
            yield f"  - {words}"

    def _heading(self, text: str, level: int) -> str:
        return f"{'#' * level} {text}" if self.is_markdown else text

    def _named(self, name: str, words: str) -> str:
        return self.language.gettext("{name}: {words}", name=name, words=words)

    def _strong(self, text: str) -> str:
        return f"**{text}**" if self.is_markdown else text

    def _foreign(self, text: str) -> str:
        """Return a text from a document or a host, on one line and without effect as markup."""
        shown = escape_invisible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
        return code(shown) if self.is_markdown else shown

    def _words(self, text: str) -> str:
        """Return stored words, on one line and without effect as markup."""
        shown = escape_invisible(text)
        return markdown_words(shown) if self.is_markdown else shown

    def _page(self) -> str:
        return quote((self.digest.page or "").partition("#")[0], safe="%/:?@!$&'()*+,;=~[]")

    def _link(self, text: str, name: str, value: str) -> str:
        address = f"{self._page()}#{name}={quote(value, safe=':/')}"
        return f"[{text}](<{address}>)" if self.is_markdown else f"{text} ({address})"


def as_markdown(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message in Markdown; text from documents and hosts is in code spans."""
    return _fitting(_Writer(digest, language), _Writer.message, limit)


def as_text(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message in plain text."""
    return _fitting(_Writer(digest, language, is_markdown=False), _Writer.message, limit)


def as_html(digest: Digest, language: Language = ENGLISH, *, limit: int | None = None) -> str:
    """Return a message as an HTML page in light and dark colours."""
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
    """Return the digest as one line of JSON, with its subject and headline in words."""
    words = {"subject": subject(digest, language), "headline": digest.summary.headline(language)}
    values = asdict(replace(digest, news=replace(digest.news, items=()), failures_sent={}))
    # The changes list these ARKs.
    del values["news"]["items"], values["failures_sent"], values["summary"]["measures"], values["summary"]["scope"]
    values = {"counts" if name == "summary" else name: value for name, value in values.items()}
    values["counts"]["known"] = digest.summary.known
    return escape_invisible_json(json.dumps(words | values, ensure_ascii=False, default=str)) + "\n"


#: The formats of a message.
FORMATS = {"markdown": as_markdown, "html": as_html, "text": as_text, "json": as_json}


def issue_text(digest: Digest, language: Language, *, ticked: Collection[str], limit: int) -> str:
    """Return the check-list of an issue in Markdown; the boxes of the causes in *ticked* are ticked."""
    return _fitting(_Writer(digest, language, ticked=ticked), _Writer.issue, limit)


def _fitting(writer: _Writer, lines: Callable[[_Writer], Iterator[str]], limit: int | None) -> str:
    """Return the text with as many ARKs as fit into *limit* characters, or else without causes."""
    for most in (MOST_LISTED, 1, 0):
        text = _joined(lines(replace(writer, most_listed=most)))
        if limit is None or len(text) <= limit:
            return text
    more = writer.digest.more_causes + len(writer.digest.causes)
    brief = replace(writer.digest, causes=(), more_causes=more)
    return _joined(lines(replace(writer, digest=brief, most_listed=0)))


def _joined(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"
