"""Pure: pages that stand in an object's place: not found, withdrawn, restricted, log in, a check for programs.

What a page looks like never makes a verdict alone; `crawler.verdicts.access` weighs it with what a control was told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from crawler.answers.likeness import own_words
from crawler.answers.quirks import NOTICE_CHARS, OPENING_CHARS, PhraseMatch, Phrases, plain, quirks
from crawler.answers.subject import own_places
from crawler.answers.withdrawals import Withdrawal, is_one_of_several, withdrawals_in
from crawler.observations import Observation

_NOT_FOUND_PATH = re.compile(
    r"/(?:404|(?:page|item|object|record|ark)?[-_]?not[-_]?found|errors?|missing|no[-_]?results?)(?:\.\w+)?/?\Z",
    re.IGNORECASE,
)
_NOT_FOUND_QUERY = re.compile(
    r"(?:\A|[&=])(?:404|(?:page|item|ark)?[-_+]?not[-_+]?found|unknown|missing)(?:&|\Z)", re.IGNORECASE
)
#: So many characters before words of absence tell whether two pages say them in one sentence.
_LEADING_WORDS = 40
#: So much of a page's own text are its first sentences.
FIRST_SENTENCES_CHARS = 700
#: A page with no more text than this, menus left out, says one thing.
_FEW_WORDS_CHARS = 300
#: So many letters before words of absence name no object.
_FEW_LETTERS = 6
_ARK = re.compile(r"(?:https?://\S{0,500}?/)?ark:/?[^\s)\]\"'<>]+|https?://[^\s)\]\"'<>]+", re.IGNORECASE)
_TITLE_PARTS = re.compile(
    r"\s[|:\N{EN DASH}\N{EM DASH}\N{MIDDLE DOT}\N{BULLET}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}-]\s"
)
#: What is left of a word in scripts that part words by spaces: those before the ideographs, and Hangul.
_WORD_END = re.compile("[^\\W\\d_\N{CJK RADICAL REPEAT}-\N{YI RADICAL KE}]*")
#: The rest of a sentence that ends as a question.
_ASKED = re.compile(
    "[^.!?\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]{0,60}"
    "[?\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]"
)
#: Within so many characters before a phrase stands the word that makes it a guess.
_GUESS_CHARS = 24
_SEARCH_PATH = re.compile(
    r"/(?:search\w*|find|results?|discover|recherche\w*|suche\w*|trefferliste|busca\w*|b[uú]squeda|ricerca|pesquisa|zoeken"
    r"|s[oö]k|haku|szukaj|hledat|kereses|query|browse)(?:\.\w+)?(?:/|\Z)",
    re.IGNORECASE,
)
_REFRESH = re.compile(
    r"""\s*+\d*+(?:\.\d*+)?\s*+(?:[;,]\s*+(?:url\s*+=)?|url\s*+=)\s*+['"]?(?P<url>[^'"\s][^'"]*)""", re.IGNORECASE
)
_ROOT_PATH = re.compile(r"/?(?:index\.\w+|home/?|default\.aspx?)?\Z", re.IGNORECASE)
_404_TITLE = re.compile(r"\W*404\b(?!\s*-?\s*(?:p|pages|leaves)\b)")
#: A title is that of a page to log in when it begins so and has little more to say.
_MORE_OF_TITLE = 25


def challenge_of(answer: Observation) -> str | None:
    """The known bot challenge that an answer is, by its headers or its page."""
    headers = answer.hops[-1].headers if answer.hops else {}
    return quirks().challenge_in_headers(headers) or answer.facts.challenge


def asks_to_log_in(answer: Observation) -> bool:
    """Whether what answered is a page to sign in, by two of three: its address, its title, a field for a password.

    A form that goes on to a single sign-on by itself is one, too.
    Many a landing page has such a field in a corner, so a title counts only on a page that says little else.
    """
    parts = urlsplit(answer.final_url)
    if answer.facts.signs_on and len(answer.text or "") < NOTICE_CHARS:
        return True
    first_label = (parts.hostname or "").partition(".")[0]
    is_led_there = len(answer.hops) > 1 and bool(
        quirks().login_paths.search(parts.path.lower()) or first_label in quirks().login_hosts
    )
    is_titled = any(_is_login_title(part) for part in _TITLE_PARTS.split(plain(answer.title or "")))
    if is_led_there:
        is_shell = (answer.text or "").removeprefix(answer.title or "") == ""  # a script draws the form
        return is_titled or answer.facts.asks_password or is_shell
    is_notice = len(answer.text or "") < NOTICE_CHARS and not own_places(answer, answer.ark)
    return answer.facts.asks_password and is_titled and is_notice


def _is_login_title(title: str) -> bool:
    found = quirks().login_titles.match(title)
    return found is not None and len(title) - found.end <= _MORE_OF_TITLE


def signs_of_absence(answer: Observation) -> tuple[str, ...]:
    """Why a page looks like one for things that are not there, each sign in words; one alone means little."""
    signs = []
    in_title = says_not_found(answer.title or "")
    in_text = says_not_found(_opening(answer))
    if in_title:
        signs.append(f"the page's title says {in_title!r}")
        if is_notice(answer.title or ""):
            signs.append("which is all that it says")
    if in_text and in_text != in_title:
        signs.append(f"the page's text says {in_text!r}")
    if not signs and (removed := _sure(quirks().withdrawn, f"{answer.title or ''} {_opening(answer)}", None)):
        signs.append(f"the page says {removed!r}")
    if "error" in (answer.record or {}):
        signs.append("what answers is a record of an error")
    if place := place_of_absence(answer):
        signs.append(place)
    elif len(answer.hops) > 1 and _is_home_page(answer):
        signs.append("the chain ends at the home page of a site")
    refresh = refresh_of(answer)
    if refresh and _NOT_FOUND_PATH.search(refresh.partition("?")[0]):
        signs.append(f"the page refreshes to {refresh!r}")
    return tuple(signs)


def is_notice(title: str) -> bool:
    """Whether a part of a title says that a page or an object is not there, and nothing besides.

    >>> is_notice("Page not found | Harbour Libraries"), is_notice("Paradise Not PhraseMatch: a novel")
    (True, False)
    """
    known = quirks()
    for part in _TITLE_PARTS.split(plain(title)):
        if _absence(part) is None and not re.search(r"\b404\b", part):
            continue
        rest = part
        for phrases, most in ((known.not_found, 9), (known.not_available, 9), (known.things, 3), (known.fillers, 0)):
            rest = _without(phrases, rest, most_of_ending=most)
        if not any(map(str.isalpha, rest)):
            return True
    return False


def _without(phrases: Phrases, text: str, *, most_of_ending: int) -> str:
    """*text* without *phrases*, each with the ending of its last word, as long as that is a short one."""
    rest = plain(text)
    for found in reversed(list(phrases.all_in(rest))):
        ending = _WORD_END.match(rest, found.end)
        end = ending.end() if ending else found.end
        if end - found.end <= most_of_ending:
            rest = f"{rest[: found.start]} {rest[end:]}"
    return rest


def says_nothing_else(answer: Observation) -> bool:
    """Whether a page says in few words that some page or object is not there, and names no ARK of its own."""
    told = plain((answer.text or "").removeprefix(answer.title or ""))
    found = quirks().not_found.search(told)
    if found is None or len(told) > _FEW_WORDS_CHARS or own_places(answer, answer.ark):
        return False
    return quirks().things.search(told[max(0, found.start - _LEADING_WORDS) : found.start]) is not None


def only_says_absence(answer: Observation, control: Observation | None = None) -> str | None:
    """The words by which a short page says at once that what was asked for is not there, if it says little else.

    A page of an object begins with the object: what it says of a part of it comes later.
    """
    if answer.record and "error" not in answer.record:
        return None
    text = own_words(answer, control).removeprefix(answer.title or "").strip()
    if len(text) > _FEW_WORDS_CHARS or len({"who", "what", "when"} & answer.facts.told.keys()) >= 2:
        return None
    told = plain(_ARK.sub(" ", text.replace(answer.ark.name, " ")))
    found = _absence(told)
    if found is None:
        return _is_said_in_title(answer, told)
    parts = (*_TITLE_PARTS.split(answer.title or ""), *answer.facts.headings)
    if any(_absence(part) is not None and _beside_absence(part) > _FEW_LETTERS for part in parts):
        return None  # "Ms. 404 Not Found in the Catalogue of 1911" is what an object is called
    crawl_request = told[: found.start]
    for part in parts:
        if control is not None and part in f"{control.title} {control.text}":  # the site's name
            crawl_request = crawl_request.replace(plain(part), " ")
    return found.words if _beside_absence(crawl_request) <= _FEW_LETTERS else None


def _beside_absence(text: str) -> int:
    """How many letters a text has beside words of absence, of what is absent, and those between."""
    rest, known = text, quirks()
    for phrases, most in ((known.not_found, 9), (known.not_available, 9), (known.things, 3)):
        rest = _without(phrases, rest, most_of_ending=most)
    for phrases in (known.fillers, known.saying):
        rest = _without(phrases, rest, most_of_ending=0)
    return sum(map(str.isalpha, rest))


def _is_said_in_title(answer: Observation, told: str) -> str | None:
    """The words of absence in a title that says nothing else, over a page that is as good as empty."""
    title = answer.title or ""
    return says_not_found(title) if is_notice(title) and sum(map(str.isalpha, told)) <= _FEW_LETTERS else None


def place_of_absence(answer: Observation) -> str | None:
    """What an address at which redirects ended says of things that are not there, if anything."""
    if len(answer.hops) < 2:
        return None
    parts = urlsplit(answer.final_url)
    is_telling = _NOT_FOUND_PATH.search(parts.path) or _NOT_FOUND_QUERY.search(parts.query)
    return f"the chain ends at {parts.path + ('?' + parts.query if parts.query else '')!r}" if is_telling else None


def _is_home_page(answer: Observation) -> bool:
    parts = urlsplit(answer.final_url)
    return bool(_ROOT_PATH.match(parts.path)) and answer.ark.name not in parts.query


def words_of_absence(answer: Observation) -> str | None:
    """By what words a page says at its beginning that something is not there, with what leads to them."""
    told = plain(f"{answer.title or ''} {_opening(answer)}")
    found = _absence(told)
    return told[max(0, found.start - _LEADING_WORDS) : found.end] if found else None


@lru_cache(maxsize=512)  # of one answer it is asked several times, and all phrases of all languages take their time
def _absence(text: str) -> PhraseMatch | None:
    """The first words of absence in *text* that are no offer of help: "can't find it? Ask us" stands on any page."""
    told = plain(text)
    found = (each for each in quirks().not_found.all_in(told) if not _ASKED.match(told, each.end))
    return next(found, None) or (None if quirks().passing.search(told) else quirks().not_available.search(told))


def passing_fault(answer: Observation) -> str | None:
    """The words by which a successful page speaks of a fault or a pause of its site, and of nothing else."""
    if len(answer.text or "") >= NOTICE_CHARS or answer.facts.told or answer.record:
        return None
    said = f"{answer.title or ''} {_opening(answer)}"
    found = quirks().passing.search(said)
    return found.words if found and not quirks().not_found.search(said) else None


def fault_of_request(answer: Observation) -> str | None:
    """The words by which a refusal speaks of the request or of the server's set-up, and not of the name."""
    found = quirks().about_request.search(f"{answer.title or ''} {(answer.text or '')[:NOTICE_CHARS]}")
    return found.words if found else None


def pause_of_site(answer: Observation) -> str | None:
    """The words by which a short page that finds nothing speaks of a pause of its whole site, and not of absence."""
    if len(answer.text or "") >= NOTICE_CHARS or answer.record:
        return None
    said = f"{answer.title or ''} {_opening(answer)}"
    found = quirks().pause.search(said)
    return found.words if found and not quirks().not_found.search(said) else None


def is_search(answer: Observation) -> bool:
    """Whether redirects led to a page of search results: many sites search for what they don't know."""
    return len(answer.hops) > 1 and bool(_SEARCH_PATH.search(urlsplit(answer.final_url).path))


def _opening(answer: Observation) -> str:
    """What a page says first, or in its headings."""
    opening = (answer.text or "").removeprefix(answer.title or "")[:OPENING_CHARS]
    return ". ".join([opening, *(each for each in answer.facts.headings if each not in opening)])


def refresh_target(value: str) -> str | None:
    """Where a refresh leads, by the value of its header or meta element; None for one that reloads the page.

    >>> refresh_target("5; URL='/item/7'"), refresh_target("30")
    ('/item/7', None)
    """
    found = _REFRESH.match(value)
    return found["url"].strip() if found else None


def refresh_of(answer: Observation) -> str | None:
    """Where a page refreshes to, by a header or a meta element; browsers follow that, and we don't."""
    header = answer.hops[-1].headers.get("Refresh", "") if answer.hops else ""
    return refresh_target(header) or answer.facts.refresh


def says_not_found(text: str) -> str | None:
    """The words by which a title or an opening says that something is not there, in one of many languages.

    >>> says_not_found("Seite nicht gefunden"), says_not_found("404 | Library"), says_not_found("Ms. 404")
    ('nicht gefunden', '404', None)
    """
    found = _absence(text)
    if found:
        return found.words
    folded = plain(text)
    number = _404_TITLE.match(folded) if len(folded) < 120 else None
    return number[0].strip() if number else None


def withdrawal(answer: Observation, control: Observation | None = None, *, is_told_apart: bool = False) -> str | None:
    """Why a successful page is an explanation of the object's absence, if it is one: it says so at once, of the object.

    A page that describes an object is a record, whatever became of a part of it, unless its title or a heading says
    so, or its first sentences of "this" object. What the *control* was told in the same words is no explanation;
    *is_told_apart* says that names which can't exist are refused where the object is.
    """
    text = own_words(answer, control)
    is_long, describes = len(text) >= NOTICE_CHARS, _describes(answer)
    for each in _withdrawals(answer, control, text):
        is_first = each.place in ("title", "heading")
        if (describes or is_long) and not (each.names_object or (is_first and not is_long)):
            continue
        if each.names_object or is_told_apart or _is_about(answer) or quirks().this_object.search(plain(text)):
            return _gone(each.words)
    if is_long or describes:
        return None
    words = _sure(quirks().elsewise, answer.title or "", control) or _sure(
        quirks().elsewise, text[:OPENING_CHARS], control
    )
    about = _is_about(answer) or quirks().this_object.search(plain(text))
    return _gone(words) if words and about else None


def _gone(words: str) -> str:
    return f"the page explains that the object is not there any more: {words!r}"


def _withdrawals(answer: Observation, control: Observation | None, text: str) -> Iterator[Withdrawal]:
    """What a page's title, headings and first sentences say of a withdrawal that a control's don't."""
    ark = answer.ark
    parts = _TITLE_PARTS.split(answer.title or "")
    to_control = set()
    if control is not None:
        told = withdrawals_in(control.title or "", control.facts.headings, (control.text or "")[:NOTICE_CHARS])
        to_control = {each.words for each in told}
    return withdrawals_in(
        answer.title or "",
        answer.facts.headings,
        text.removeprefix(answer.title or "")[:FIRST_SENTENCES_CHARS],
        names=(*parts, *answer.facts.headings, ark.name),
        told=to_control,
    )


def _describes(answer: Observation) -> bool:
    """Whether a page answers two of who, what and when under their labels, or is a record: then it is the object's."""
    is_record = bool(answer.record) and "error" not in (answer.record or {})
    return is_record or len({"who", "what", "when"} & answer.facts.told.keys()) >= 2


def explained_refusal(answer: Observation, control: Observation | None = None) -> str | None:
    """Why a refusal honours the access service, if it does: it explains, and speaks of this object (2023, 5.1)."""
    told = plain(f"{answer.title or ''} {(answer.text or '')[:NOTICE_CHARS]}")
    is_about = _is_about(answer) or (answer.status != 404 and quirks().this_object.search(told) is not None)
    if not is_about:
        return None
    said = next(_withdrawals(answer, control, (answer.text or "")[:NOTICE_CHARS]), None)
    words = (
        said.words if said else _sure(quirks().withdrawn, told, control) or _sure(quirks().restricted, told, control)
    )
    if not words:
        return None
    return f"the answer explains why this object can't be had: {words!r}"


def _sure(phrases: Phrases, text: str, control: Observation | None) -> str | None:
    """The first of *phrases* in *text* that is no guess, and that an invented name was not told as well."""
    told = plain(text)
    to_control = {found.words for found in phrases.all_in(control.text or "")} if control is not None else set()
    for found in phrases.all_in(told):
        before = plain(told[max(0, found.start - _GUESS_CHARS) : found.start]) + " "
        is_guess = any(before[guess.end] == " " for guess in quirks().unsure.all_in(before))
        is_guess = is_guess or is_one_of_several(told[found.end :])
        if found.words not in to_control and not is_guess:
            return found.words
    return None


def _is_about(answer: Observation) -> bool:
    """Whether a page names the ARK that was asked for, or its name alone."""
    ark = answer.ark
    return bool(own_places(answer, ark)) or (len(ark.name) >= 5 and ark.name in (answer.text or ""))
