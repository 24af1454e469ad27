"""Keep one issue on GitHub or GitLab up to date: opened when ARKs fail, closed when none fails any more.

A hidden mark in the text of the issue names the audit, so that there is never a second issue. The text outside of the
marks belongs to people, and so do the ticks of the check-list.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

from arkaudit.features.living_issue.address import IssueAddress
from arkaudit.output import exits
from extractors.model.errors import ArkauditError
from extractors.model.urls import join_url, split_url
from reports.formats.digest import Digest, as_check_list, as_markdown
from reports.languages import Language
from reports.languages.display import escape_invisible

#: Time limits in seconds for connecting, and for each part of an answer.
_PATIENCE_S = (10.0, 30.0)
#: Number of pages of a list, with 100 issues each, and of redirects in a chain.
_MOST_PAGES = 1_000
_MOST_REDIRECTS = 5
#: Characters that GitHub stores as the text of an issue or comment; GitLab stores more.
MOST_CHARS = 65_000
#: Bytes of an answer.
MOST_BYTES = 2**24
#: Characters of an answer that a message quotes.
_LONGEST_REASON = 200
#: The marks are lines of their own: text from documents never begins a line.
_BEGIN = re.compile(r"^<!-- arkaudit:begin audit=(?P<audit>\S+)(?P<closed> closed)? -->[ \r]*$", re.MULTILINE)
_END = re.compile(r"^<!-- arkaudit:end -->[ \r]*$", re.MULTILINE)
_TICKED = re.compile(r"^[ ]*[-*] \[[xX]\] .*<!-- cause ([0-9a-f]{12}) -->[ \r]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LivingIssue:
    """The issue about an audit, as last read."""

    url: str
    """The URL of the issue in the API."""
    body: str
    is_open: bool
    section: IssueSection


@dataclass(frozen=True, slots=True)
class IssueSection:
    """The part of an issue's text that arkaudit wrote at its last update."""

    span: tuple[int, int]
    """Start and end of the part in the text, with the marks."""
    was_closed: bool
    """True if the last update closed the issue."""
    ticked_causes: frozenset[str]
    """The causes that people have ticked since the last update, by `DigestCause.id`."""

    @classmethod
    def find(cls, body: str, audit: str) -> IssueSection | None:
        """Return the part about *audit* in *body*, the text of an issue, or None.

        If people deleted the mark at its end, the part is only the mark at its beginning, so that all text after it stays.
        """
        begin_mark = next((mark for mark in _BEGIN.finditer(body) if mark["audit"] == quote(audit, safe="")), None)
        if begin_mark is None:
            return None
        span = (begin_mark.start(), (_END.search(body, begin_mark.end()) or begin_mark).end())
        ticked = frozenset(_TICKED.findall(body[slice(*span)]))
        return cls(span, bool(begin_mark["closed"]), ticked)


def section_text(
    digest: Digest, language: Language, *, ticked: frozenset[str] = frozenset(), limit: int = MOST_CHARS
) -> str:
    """Return the part of an issue's text that arkaudit writes, between the marks of its begin and end.

    The boxes of the causes in *ticked* are ticked. ARKs and causes are left out to stay within *limit* characters.
    """
    state = " closed" if digest.news.is_clear else ""
    begin = f"<!-- arkaudit:begin audit={quote(digest.audit, safe='')}{state} -->"
    note = language.gettext("arkaudit updates this part after each audit. Ticks, and text outside of it, stay.")
    section_end = f"\n_{note}_\n<!-- arkaudit:end -->"
    return f"{begin}\n{as_check_list(digest, language, ticked=ticked, limit=limit - len(begin) - len(section_end))}{section_end}"


def keep_issue(address: str, digest: Digest, language: Language) -> None:
    """Open, update, close or reopen the issue at *address* about an audit; comment on changes. Raises `ArkauditError`.

    Only new failures reopen a closed issue. If no earlier run was reported, no failure counts as new.
    """
    tracker = _Tracker(IssueAddress.parse(address))
    issue = tracker.find(digest.audit)
    if issue is None:
        if digest.has_failures:
            title = language.gettext("ARKs that fail: {audit}", audit=escape_invisible(digest.audit))
            tracker.send("POST", tracker.url, title=title, **{tracker.text: section_text(digest, language)})
        return
    old_section, has_memory = issue.section, digest.news.compared_run is not None
    is_new = old_section.was_closed or (has_memory and digest.has_new_failures)
    reopens = not issue.is_open and digest.has_failures and is_new
    if not (issue.is_open or reopens):
        return
    if has_memory and digest.changes:
        comment = as_markdown(replace(digest, causes=(), more_causes=0), language, limit=MOST_CHARS)
        tracker.send("POST", f"{issue.url}/{tracker.comments}", body=comment)
    begin, end = old_section.span
    other_length = len(issue.body) - (end - begin)
    section = section_text(digest, language, ticked=old_section.ticked_causes, limit=MOST_CHARS - other_length)
    change = tracker.reopen if reopens else tracker.close if digest.news.is_clear else {}
    tracker.send(tracker.update, issue.url, **{tracker.text: issue.body[:begin] + section + issue.body[end:]}, **change)


class _Tracker:
    """The issues of a repository, through the REST interface of GitHub or GitLab."""

    def __init__(self, address: IssueAddress) -> None:
        self._address = address
        self.url = address.issues_url()
        """The URL of the issues, after redirects."""
        self._token = os.environ.get(address.token_variable, "")
        if not self._token:
            raise ArkauditError(f"set the environment variable {address.token_variable}")
        is_github = address.service == "github"
        self.is_github = is_github
        self._user_url = f"{address.api_url()}/user"
        self._author, self._login = ("user", "login") if is_github else ("author", "username")
        self.text = "body" if is_github else "description"
        self.comments = "comments" if is_github else "notes"
        self.update = "PATCH" if is_github else "PUT"
        self.close = {"state": "closed"} if is_github else {"state_event": "close"}
        self.reopen = {"state": "open"} if is_github else {"state_event": "reopen"}
        self._query = "state=all&sort=created&direction=asc" if is_github else "order_by=created_at&sort=asc"
        self._number = "number" if is_github else "iid"

    def find(self, audit: str) -> LivingIssue | None:
        """Return the oldest issue about *audit* that was opened by the account of the token, or None."""
        account = self._account()
        for row in self._issues():
            author = row.get(self._author)
            # GitHub lists pull requests, too.
            if not isinstance(author, dict) or "pull_request" in row:
                continue
            # Only apps that the owner of a repository has installed there can open issues in it.
            is_own = author.get(self._login) == account if account else author.get("type") == "Bot"
            body = str(row.get(self.text) or "").replace("\r\n", "\n")
            section = IssueSection.find(body, audit) if is_own else None
            if section:
                is_open = str(row.get("state")).startswith("open")
                return LivingIssue(f"{self.url}/{row.get(self._number)}", body, is_open, section)
        return None

    def _account(self) -> str | None:
        """Return the name of the account that the token belongs to; None for the token of an app."""
        answer = self._follow("GET", self._user_url)
        if answer.status == 403 and self.is_github and not _is_limited(answer):
            return None
        values = self._require_success(answer).json_value()
        name = values.get(self._login) if isinstance(values, dict) else None
        if not isinstance(name, str) or not name:
            raise ArkauditError(f"{answer.host} did not name the account of the token")
        return name

    def _issues(self) -> Iterator[Mapping[str, Any]]:
        """Yield all issues as JSON objects, the oldest first, so that a new issue does not shift the pages."""
        url: str | None = f"{self.url}?{self._query}&per_page=100"
        for _ in range(_MOST_PAGES):
            if url is None:
                return
            answer = self.send("GET", url)
            rows, url = answer.json_value(), answer.next_url
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ArkauditError(f"{answer.host} did not answer with a list of issues")
            # GitLab follows a renamed project for this method only.
            self.url = answer.url.partition("?")[0]
            yield from rows
        raise ArkauditError(f"{self._address} has too many issues to look for ours")

    def send(self, method: str, url: str, **values: str) -> _Answer:
        """Send a request with *values* as its JSON body, and return the answer. Raises `ArkauditError` unless it is a success."""
        return self._require_success(self._follow(method, url, values))

    def _follow(self, method: str, url: str, values: Mapping[str, str] | None = None) -> _Answer:
        """Return the answer to a request, of any status, after the redirects of a repository that was renamed.

        The token is never sent to another host. Raises `ArkauditError`.
        """
        for _ in range(_MOST_REDIRECTS):
            answer = self._fetch(method, url, values)
            if not 300 <= answer.status < 400 or "Location" not in answer.headers:
                return answer
            next_url = join_url(url, answer.headers["Location"])
            if next_url is None:
                raise ArkauditError(f"{answer.host} names a malformed address")
            url = next_url
        raise ArkauditError(f"{self._address}: the redirects form a loop")

    def _require_success(self, answer: _Answer) -> _Answer:
        if not 200 <= answer.status < 300:
            raise ArkauditError(_reason(answer, self._address, datetime.now(UTC)))
        return answer

    def _fetch(self, method: str, url: str, values: Mapping[str, str] | None = None) -> _Answer:
        """Return the answer to one request, at most `MOST_BYTES` long. Raises `ArkauditError`."""
        import requests
        from urllib3.exceptions import HTTPError

        def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers["Authorization"] = f"Bearer {self._token}"
            return request

        parts, tracker_parts = split_url(url), split_url(self.url)
        if (parts.scheme, parts.netloc) != (tracker_parts.scheme, tracker_parts.netloc):
            raise ArkauditError(f"{self._address} has moved to {parts.netloc}: correct notify.issue")
        try:
            with requests.Session() as session:
                # A proxy would see the token of a request to loopback without TLS.
                session.trust_env = parts.scheme == "https"
                # A compressed answer could be of any length.
                session.headers["Accept-Encoding"] = "identity"
                answer = session.request(
                    method,
                    url,
                    json=values or None,
                    auth=authorize,
                    timeout=_PATIENCE_S,
                    allow_redirects=False,
                    stream=True,
                )
                data = answer.raw.read(MOST_BYTES + 1, decode_content=False)
                next_url = answer.links.get("next", {}).get("url")
        except requests.Timeout:
            raise ArkauditError(f"{parts.netloc} did not answer in time") from None
        except (requests.RequestException, OSError, HTTPException, HTTPError) as problem:
            raise ArkauditError(f"{parts.netloc} can't be reached: {type(problem).__name__}") from None
        # Requests reads the address of a redirect even if it does not follow it.
        except ValueError:
            raise ArkauditError(f"{tracker_parts.netloc} names a malformed address") from None
        if len(data) > MOST_BYTES:
            raise ArkauditError(f"the answer of {parts.netloc} is longer than {MOST_BYTES} bytes")
        return _Answer(url, answer.status_code, answer.headers, data, next_url and join_url(url, next_url))


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of a tracker."""

    url: str
    status: int
    headers: Mapping[str, str]
    data: bytes
    next_url: str | None

    @property
    def host(self) -> str:
        return split_url(self.url).netloc

    def json_value(self) -> Any:
        """Return the JSON value in the answer; None if it is not JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            return None


def _is_limited(answer: _Answer) -> bool:
    headers = answer.headers
    is_spent = "0" in (headers.get("X-RateLimit-Remaining"), headers.get("RateLimit-Remaining"))
    return answer.status == 429 or (answer.status == 403 and (is_spent or "Retry-After" in headers))


def _reason(answer: _Answer, address: IssueAddress, now: datetime) -> str:
    """Return the reason why a tracker refused a request, in words."""
    status, host = answer.status, answer.host
    if _is_limited(answer):
        limit_end = _end_of_limit(answer.headers, now)
        return f"{host} limits the requests{f' until {limit_end:%Y-%m-%d %H:%M} UTC' if limit_end else ''} ({status})"
    if status == 401:
        return f"{host} does not accept the token in {address.token_variable} (401)"
    if status == 403:
        return f"the token in {address.token_variable} may not write issues of {address} (403)"
    if status in (404, 410):
        return f"{address} does not exist, has no issues, or the token may not read it ({status})"
    if status >= 500:
        return f"{host} has a fault ({status})"
    message = " ".join(answer.data.decode("utf-8", "replace").split())
    return f"{host} refused it ({status}): {exits.redact(message)[:_LONGEST_REASON]}"


def _end_of_limit(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Return the end of a rate limit from the headers of an answer, or None if they lack it.

    >>> _end_of_limit({"Retry-After": "60"}, datetime(2026, 11, 1, tzinfo=UTC)).minute
    1
    """
    retry_after = headers.get("Retry-After", "")
    reset_time = headers.get("X-RateLimit-Reset") or headers.get("RateLimit-Reset") or ""
    if retry_after.isdecimal() and len(retry_after) < 8:
        return now + timedelta(seconds=int(retry_after))
    if reset_time.isdecimal() and len(reset_time) < 12:
        return datetime.fromtimestamp(int(reset_time), UTC)
    return None
