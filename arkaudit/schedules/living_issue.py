"""Keep one issue on GitHub or GitLab up to date: opened when ARKs fail, closed when none fails any more.

A hidden mark in the text of the issue names the audit, so that there is never a second issue. The text outside of the
marks belongs to people, and so do the ticks of the check-list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from arkaudit.configuration.issue_address import IssueAddress
from extractors.model.errors import ArkauditError
from reports.formats.digest import Digest, as_markdown, issue_text
from reports.languages import Language
from reports.languages.display import escape_invisible

if TYPE_CHECKING:
    from requests import Response

#: Time limits in seconds for connecting, and for each part of an answer.
_PATIENCE_S = (10.0, 30.0)
#: Number of pages of a list, with 100 issues each, and of redirects in a chain.
_MOST_PAGES = 1_000
_MOST_REDIRECTS = 5
#: Characters that GitHub stores as the text of an issue or comment; GitLab stores more.
MOST_CHARS = 65_000
#: Characters of an answer that a message quotes.
_LONGEST_REASON = 200
#: The marks are lines of their own: text from documents never begins a line.
_BEGIN = re.compile(
    r"^<!-- arkaudit:begin audit=(?P<audit>\S+) run=(?P<run>[0-9]{1,18}) at=(?P<at>[0-9T:-]+)(?P<closed> closed)? -->"
    r"[ \r]*$",
    re.MULTILINE,
)
_END = re.compile(r"^<!-- arkaudit:end -->[ \r]*$", re.MULTILINE)
_TICKED = re.compile(r"^[ ]*[-*] \[[xX]\] .*<!-- cause ([0-9a-f]{12}) -->[ \r]*$", re.MULTILINE)

#: Returns the digest with the changes since an earlier run, given by number and start, or None if it is not known.
DigestSince = Callable[[int, str], Digest | None]


class NotSent(ArkauditError):
    """Raised by a channel that could not deliver a message."""


@dataclass(frozen=True, slots=True)
class LivingIssue:
    """The issue about an audit."""

    url: str
    """Its address in the API."""
    body: str
    is_open: bool
    section: IssueSection


@dataclass(frozen=True, slots=True)
class IssueSection:
    """The part of an issue's text that arkaudit wrote at its last update."""

    span: tuple[int, int]
    """Its place in the text, with the marks."""
    run_id: int
    at: str
    """The start of that run in ISO 8601."""
    was_closed: bool
    """True if that update closed the issue."""
    ticked: frozenset[str]
    """The causes that people have ticked since, by `DigestCause.id`."""

    @classmethod
    def find(cls, body: str, audit: str) -> IssueSection | None:
        """Return the part about *audit*, or None.

        If the second mark was deleted, the part ends at the first, so that all text after it stays.
        """
        begin = next((found for found in _BEGIN.finditer(body) if found["audit"] == quote(audit, safe="")), None)
        if begin is None:
            return None
        span = (begin.start(), (_END.search(body, begin.end()) or begin).end())
        ticked = frozenset(_TICKED.findall(body[slice(*span)]))
        return cls(span, int(begin["run"]), begin["at"], bool(begin["closed"]), ticked)


def section_text(
    digest: Digest, language: Language, *, ticked: frozenset[str] = frozenset(), limit: int = MOST_CHARS
) -> str:
    """Return the part of an issue's text that arkaudit writes, between the marks of its begin and end.

    The boxes of the causes in *ticked* are ticked. ARKs and causes are left out to stay within *limit* characters.
    """
    audit, run = quote(digest.audit, safe=""), digest.news.run_id
    state = " closed" if digest.news.is_clear else ""
    begin = f"<!-- arkaudit:begin audit={audit} run={run} at={digest.news.at}{state} -->"
    note = language.gettext("arkaudit updates this part after each audit. Ticks, and text outside of it, stay.")
    rest = f"\n_{note}_\n<!-- arkaudit:end -->"
    return f"{begin}\n{issue_text(digest, language, ticked=ticked, limit=limit - len(begin) - len(rest))}{rest}"


def keep_issue(address: str, digest_since: DigestSince, digest: Digest, language: Language) -> None:
    """Open, update, close or reopen the issue of an audit; comment on changes. Raises `NotSent`.

    A closed issue is opened again for new failures only. If earlier updates failed, the comment has the changes since
    the last one that succeeded.
    """
    tracker = _Tracker(IssueAddress.parse(address))
    issue = tracker.find(digest.audit)
    if issue is None:
        if digest.has_failures:
            title = language.gettext("ARKs that fail: {audit}", audit=escape_invisible(digest.audit))
            tracker.send("POST", tracker.url, title=title, **{tracker.text: section_text(digest, language)})
        return
    last = issue.section
    # The issue shows a later run: this one is sent again.
    if last.at > digest.news.at:
        return
    if last.at == digest.news.at:
        changes = None
    elif last.run_id == digest.news.compared_run:
        changes = digest
    else:
        changes = digest_since(last.run_id, last.at)
    is_new = last.was_closed or (changes is not None and changes.has_new_failures)
    reopens = not issue.is_open and digest.has_failures and is_new
    if not (issue.is_open or reopens):
        return
    if changes is not None and changes.changes:
        comment = as_markdown(replace(changes, causes=(), more_causes=0), language, limit=MOST_CHARS)
        tracker.send("POST", f"{issue.url}/{tracker.comments}", body=comment)
    begin, end = last.span
    rest = len(issue.body) - (end - begin)
    body = section_text(digest, language, ticked=last.ticked, limit=MOST_CHARS - rest)
    change = tracker.reopen if reopens else tracker.close if digest.news.is_clear else {}
    tracker.send(tracker.update, issue.url, **{tracker.text: issue.body[:begin] + body + issue.body[end:]}, **change)


class _Tracker:
    """The issues of a repository, through the REST interface of GitHub or GitLab."""

    def __init__(self, address: IssueAddress) -> None:
        self._address = address
        self.url = address.issues_url()
        """The address of the issues, after redirects."""
        self._token = os.environ.get(address.token_variable, "")
        if not self._token:
            raise NotSent(f"set the environment variable {address.token_variable}")
        is_github = address.service == "github"
        self.text = "body" if is_github else "description"
        self.comments = "comments" if is_github else "notes"
        self.update = "PATCH" if is_github else "PUT"
        self.close = {"state": "closed"} if is_github else {"state_event": "close"}
        self.reopen = {"state": "open"} if is_github else {"state_event": "reopen"}
        self._query = "state=all&sort=created&direction=asc" if is_github else "order_by=created_at&sort=asc"
        self._number = "number" if is_github else "iid"

    def find(self, audit: str) -> LivingIssue | None:
        """Return the oldest issue about an audit, or None."""
        for row in self._rows():
            body = str(row.get(self.text) or "").replace("\r\n", "\n")
            found = IssueSection.find(body, audit)
            # GitHub lists pull requests, too.
            if found and "pull_request" not in row:
                is_open = str(row.get("state")).startswith("open")
                return LivingIssue(f"{self.url}/{row.get(self._number)}", body, is_open, found)
        return None

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield all issues, the oldest first, so that new issues do not move others to another page."""
        url: str | None = f"{self.url}?{self._query}&per_page=100"
        for _ in range(_MOST_PAGES):
            if url is None:
                return
            answer = self.send("GET", url)
            following = answer.links.get("next", {}).get("url")
            try:
                rows, url = answer.json(), following and urljoin(answer.url, following)
            except ValueError:
                rows = None
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise NotSent(f"{urlsplit(self.url).netloc} did not answer with a list of issues")
            # GitLab follows a renamed project for this method only.
            self.url = answer.url.partition("?")[0]
            yield from rows
        raise NotSent(f"{self._address} has too many issues to look for ours")

    def send(self, method: str, url: str, **values: str) -> Response:
        """Return the answer to a request. Raises `NotSent` for anything but a success.

        A repository that was renamed is followed, but the token is never sent to another host.
        """
        import requests

        def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers["Authorization"] = f"Bearer {self._token}"
            return request

        for _ in range(_MOST_REDIRECTS):
            parts, own = urlsplit(url), urlsplit(self.url)
            if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
                raise NotSent(f"{self._address} has moved to {parts.netloc}: correct notify.issue")
            try:
                answer = requests.request(
                    method, url, json=values or None, auth=authorize, timeout=_PATIENCE_S, allow_redirects=False
                )
            except requests.Timeout:
                raise NotSent(f"{parts.netloc} did not answer in time") from None
            except requests.RequestException as problem:
                raise NotSent(f"{parts.netloc} can't be reached: {type(problem).__name__}") from None
            # Requests reads the address of a redirect even if it does not follow it.
            except ValueError:
                raise NotSent(f"{parts.netloc} names a malformed address") from None
            if answer.ok and not answer.is_redirect:
                return answer
            if not answer.is_redirect:
                raise NotSent(_reason(answer, self._address, datetime.now(UTC)))
            url = urljoin(url, answer.headers["Location"])
        raise NotSent(f"{self._address}: the redirects form a loop")


def _reason(answer: Response, address: IssueAddress, now: datetime) -> str:
    """Return the reason of a refusal in words."""
    status, host = answer.status_code, urlsplit(answer.url).netloc
    headers = answer.headers
    is_spent = "0" in (headers.get("X-RateLimit-Remaining"), headers.get("RateLimit-Remaining"))
    if status == 429 or (status == 403 and (is_spent or "Retry-After" in headers)):
        until = _end_of_limit(headers, now)
        return f"{host} limits the requests{f' until {until:%Y-%m-%d %H:%M} UTC' if until else ''} ({status})"
    if status == 401:
        return f"{host} does not accept the token in {address.token_variable} (401)"
    if status == 403:
        return f"the token in {address.token_variable} may not write issues of {address} (403)"
    if status in (404, 410):
        return f"{address} does not exist, has no issues, or the token may not read it ({status})"
    if status >= 500:
        return f"{host} has a fault ({status})"
    return f"{host} refused it ({status}): {' '.join(answer.text.split())[:_LONGEST_REASON]}"


def _end_of_limit(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Return the end of a rate limit, or None if the answer does not name it.

    >>> _end_of_limit({"Retry-After": "60"}, datetime(2026, 11, 1, tzinfo=UTC)).minute
    1
    """
    after = headers.get("Retry-After", "")
    reset = headers.get("X-RateLimit-Reset") or headers.get("RateLimit-Reset") or ""
    if after.isdecimal() and len(after) < 8:
        return now + timedelta(seconds=int(after))
    if reset.isdecimal() and len(reset) < 12:
        return datetime.fromtimestamp(int(reset), UTC)
    return None
