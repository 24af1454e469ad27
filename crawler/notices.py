"""Pure: pages that stand in an object's place: not found, withdrawn, restricted, log in, a check for programs.

What a page looks like never makes a verdict alone; `crawler.access` weighs it with what a control was told.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from crawler.observations import Observation
from crawler.pages import refresh_target
from crawler.quirks import NOTICE_CHARS, OPENING_CHARS, plain, quirks
from crawler.subject import own_places
from extractors.ark import Ark

_NOT_FOUND_PATH = re.compile(
    r"/(?:404|(?:page|item|object|record|ark)?[-_]?not[-_]?found|errors?|missing|no[-_]?results?)(?:\.\w+)?/?\Z",
    re.IGNORECASE,
)
_NOT_FOUND_QUERY = re.compile(
    r"(?:\A|[&=])(?:404|(?:page|item|ark)?[-_+]?not[-_+]?found|unknown|missing)(?:&|\Z)", re.IGNORECASE
)
#: So many characters before words of absence tell whether two pages say them in one sentence.
_LEADING_WORDS = 40
_ROOT_PATH = re.compile(r"/?(?:index\.\w+|home/?|default\.aspx?)?\Z", re.IGNORECASE)
_404_TITLE = re.compile(r"\W*404\b(?!\s*-?\s*(?:p|pages|leaves)\b)")
#: A title is that of a page to log in when it begins so and has little more to say.
_MORE_OF_TITLE = 25
_THIS_OBJECT = re.compile(
    r"\b(?:this|ce|cet|cette|dieses?r?|este|esta|questo|questa|dit|deze|este|detta|denne) "
    r"(?:item|object|document|book|record|work|thesis|image|file|collection|dataset|material|resource|objet|livre|œuvre"
    r"|objekt|dokument|buch|werk|documento|objeto|libro|oggetto|opera|boek|verk)"
)


def challenge_of(answer: Observation) -> str | None:
    """The known bot challenge that an answer is, by its headers or its page."""
    headers = answer.hops[-1].headers if answer.hops else {}
    return quirks().challenge_in_headers(headers) or answer.facts.challenge


def asks_to_log_in(answer: Observation) -> bool:
    """Whether what answered is a page to sign in, by two of three: its address, its title, a field for a password.

    Many a landing page has such a field in a corner, so a title counts only on a page that says little else.
    """
    parts = urlsplit(answer.final_url)
    first_label = (parts.hostname or "").partition(".")[0]
    is_led_there = len(answer.hops) > 1 and bool(
        quirks().login_paths.search(parts.path.lower()) or first_label in quirks().login_hosts
    )
    is_titled = any(
        _is_login_title(part)
        for part in re.split(r"\s[|:\N{EN DASH}\N{EM DASH}\N{MIDDLE DOT}-]\s", plain(answer.title or ""))
    )
    if is_led_there:
        return is_titled or answer.facts.asks_password
    is_notice = len(answer.text or "") < NOTICE_CHARS and not own_places(answer, Ark.parse(answer.ark))
    return answer.facts.asks_password and is_titled and is_notice


def _is_login_title(title: str) -> bool:
    found = quirks().login_titles.match(title)
    return found is not None and len(title) - found.end() <= _MORE_OF_TITLE


def signs_of_absence(answer: Observation) -> tuple[str, ...]:
    """Why a page looks like one for things that are not there, each sign in words; one alone means little."""
    signs = []
    in_title = says_not_found(answer.title or "")
    opening = (answer.text or "").removeprefix(answer.title or "")[:OPENING_CHARS]
    in_text = says_not_found(opening)
    if in_title:
        signs.append(f"the page's title says {in_title!r}")
    if in_text and in_text != in_title:
        signs.append(f"the page's text says {in_text!r}")
    if "error" in (answer.record or {}):
        signs.append("what answers is a record of an error")
    if len(answer.hops) > 1 and (place := _telling_place(answer)):
        signs.append(place)
    refresh = refresh_of(answer)
    if refresh and _NOT_FOUND_PATH.search(refresh.partition("?")[0]):
        signs.append(f"the page refreshes to {refresh!r}")
    return tuple(signs)


def _telling_place(answer: Observation) -> str | None:
    """What the address says at which a chain of redirects ended, if anything."""
    parts = urlsplit(answer.final_url)
    if _NOT_FOUND_PATH.search(parts.path) or _NOT_FOUND_QUERY.search(parts.query):
        return f"the chain ends at {parts.path + ('?' + parts.query if parts.query else '')!r}"
    names_it = Ark.parse(answer.ark).name in parts.query
    return "the chain ends at the home page of a site" if _ROOT_PATH.match(parts.path) and not names_it else None


def words_of_absence(answer: Observation) -> str | None:
    """By what words a page says at its beginning that something is not there, with what leads to them."""
    told = plain(f"{answer.title or ''} {(answer.text or '').removeprefix(answer.title or '')[:OPENING_CHARS]}")
    found = quirks().not_found.search(told)
    return told[max(0, found.start() - _LEADING_WORDS) : found.end()] if found else None


def refresh_of(answer: Observation) -> str | None:
    """Where a page refreshes to, by a header or a meta element; browsers follow that, and we don't."""
    header = answer.hops[-1].headers.get("Refresh", "") if answer.hops else ""
    return refresh_target(header) or answer.facts.refresh


def says_not_found(text: str) -> str | None:
    """The words by which a title or an opening says that something is not there, in one of many languages.

    >>> says_not_found("Seite nicht gefunden"), says_not_found("404 | Library"), says_not_found("Ms. 404")
    ('nicht gefunden', '404', None)
    """
    folded = plain(text)
    found = quirks().not_found.search(folded) or (_404_TITLE.match(folded) if len(folded) < 120 else None)
    return found[0].strip() if found else None


def withdrawal(answer: Observation) -> str | None:
    """Why a successful page is an explanation of the object's absence, if it is one: short, and saying so at once."""
    title, text = plain(answer.title or ""), plain((answer.text or "")[:NOTICE_CHARS])
    if len(answer.text or "") >= NOTICE_CHARS:
        return None
    found = quirks().withdrawn.search(title) or quirks().withdrawn.search(text[:OPENING_CHARS])
    about = _is_about(answer) or _THIS_OBJECT.search(text)
    return f"the page explains that the object is not there any more: {found[0]!r}" if found and about else None


def explained_refusal(answer: Observation) -> str | None:
    """Why a refusal honours the access service, if it does: it explains, and speaks of this object (2023, 5.1)."""
    told = plain(f"{answer.title or ''} {(answer.text or '')[:NOTICE_CHARS]}")
    is_about = _is_about(answer) or (answer.status != 404 and _THIS_OBJECT.search(told) is not None)
    found = quirks().withdrawn.search(told) or quirks().restricted.search(told)
    if not found or not is_about:
        return None
    return f"the answer explains why this object can't be had: {found[0]!r}"


def _is_about(answer: Observation) -> bool:
    """Whether a page names the ARK that was asked for, or its name alone."""
    ark = Ark.parse(answer.ark)
    return bool(own_places(answer, ark)) or (len(ark.name) >= 5 and ark.name in (answer.text or ""))
