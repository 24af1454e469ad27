"""What is known of servers, software and languages, read once from ``quirks.toml``; it supports judgements as data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

#: A page with fewer characters of readable text than this is a notice and not an object's page.
NOTICE_CHARS = 1_500
#: So far into a page's text its headings and first words are looked for.
OPENING_CHARS = 400


@dataclass(frozen=True, slots=True)
class Challenge:
    """A page that is shown to programs instead of the answer, by its signs."""

    name: str
    headers: tuple[tuple[str, str], ...]
    """Names, and parts of their values, both in lower case."""
    titles: tuple[str, ...]
    texts: tuple[str, ...]
    markup: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostQuirk:
    """A host whose answers with certain statuses need a reason beside them."""

    host: str
    statuses: frozenset[int]
    reason: str


@dataclass(frozen=True, slots=True)
class Quirks:
    """All that ``quirks.toml`` says."""

    challenges: tuple[Challenge, ...]
    not_found: re.Pattern[str]
    withdrawn: re.Pattern[str]
    restricted: re.Pattern[str]
    login_paths: re.Pattern[str]
    login_hosts: frozenset[str]
    login_titles: re.Pattern[str]
    placeholder_words: frozenset[str]
    placeholder_phrases: tuple[str, ...]
    placeholder_guarantors: frozenset[str]
    labels: Mapping[str, str]
    """A label of a descriptive page, in lower case, and the kernel's name for its question."""
    hosts: tuple[HostQuirk, ...]

    def challenge_in_headers(self, headers: Mapping[str, str]) -> str | None:
        """The challenge that a hop's headers name, if one."""
        told = {name.lower(): value.lower() for name, value in headers.items()}
        for challenge in self.challenges:
            if any(name in told and part in told[name] for name, part in challenge.headers):
                return challenge.name
        return None

    def challenge_in_page(self, markup: str, title: str | None, text: str) -> str | None:
        """The challenge that a page is, if one: by its source, its title or, where it has few words, its text.

        >>> quirks().challenge_in_page("", "Just a moment...", "Enable JavaScript")
        'Cloudflare'
        """
        source, heading, words = markup.lower(), plain(title or ""), plain(text[:NOTICE_CHARS])
        is_notice = len(text) < NOTICE_CHARS
        for challenge in self.challenges:
            if any(part in heading for part in challenge.titles) and is_notice:
                return challenge.name
            if is_notice and any(part in words for part in challenge.texts):
                return challenge.name
            if is_notice and any(part in source for part in challenge.markup):
                return challenge.name
        return None

    def host_reason(self, host: str, status: int) -> str | None:
        """What is known of a status at a host, if anything."""
        return next((quirk.reason for quirk in self.hosts if quirk.host == host and status in quirk.statuses), None)


@cache
def quirks() -> Quirks:
    """What the file in this package says; a test keeps it well formed."""
    told = tomllib.loads(files("crawler").joinpath("quirks.toml").read_text("utf-8"))
    placeholder, login = told["placeholder"], told["login"]
    return Quirks(
        challenges=tuple(_challenge(row) for row in told["challenge"]),
        not_found=_any_of(phrase for phrases in told["not_found"].values() for phrase in phrases),
        withdrawn=_any_of(told["explained"]["withdrawn"]),
        restricted=_any_of(told["explained"]["restricted"]),
        login_paths=re.compile("(?:" + "|".join(map(re.escape, login["path"])) + ")(?![a-z])"),
        login_hosts=frozenset(login["host"]),
        login_titles=_any_of(login["title"]),
        placeholder_words=frozenset(placeholder["word"]),
        placeholder_phrases=tuple(placeholder["phrase"]),
        placeholder_guarantors=frozenset(placeholder["who"]),
        labels={label: question for question, labels in told["labels"].items() for label in labels},
        hosts=tuple(HostQuirk(row["host"], frozenset(row["status"]), row["reason"]) for row in told["host"]),
    )


def plain(text: str) -> str:
    """*text* as phrases are compared: lower case, white space folded, apostrophes straight.

    >>> plain("Just  a\\nMoment\N{RIGHT SINGLE QUOTATION MARK}s")
    "just a moment's"
    """
    return " ".join(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())


def _challenge(row: Mapping[str, Any]) -> Challenge:
    headers = (header.partition(":") for header in row.get("header", ()))
    return Challenge(
        row["name"],
        tuple((name.strip().lower(), part.strip().lower()) for name, _, part in headers),
        *(tuple(row.get(sign, ())) for sign in ("title", "text", "markup")),
    )


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Finds any of *phrases* in plain text, at the beginning of a word in scripts that part words by spaces."""
    parted: list[str] = []
    unparted: list[str] = []
    for phrase in sorted(phrases, key=len, reverse=True):
        (parted if phrase[0].islower() or phrase[0].isdigit() else unparted).append(re.escape(phrase))
    return re.compile("|".join([rf"(?<![^\W_])(?:{'|'.join(parted)})", *unparted]))
