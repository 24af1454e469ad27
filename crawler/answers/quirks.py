"""Know servers, software, addresses and phrases of languages by ``quirks.toml``: judgements as data, read once."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict

#: A page with fewer characters of readable text than this is a notice and not an object's page.
NOTICE_CHARS = 1_500
#: So far into a page's text its headings and first words are looked for.
OPENING_CHARS = 400


#: So many letters next to a sign of a challenge say nothing else.
_FEW_LETTERS = 12
#: A check without a known widget has no more letters.
_FEW_SENTENCES = 300
#: Separators between the title of a page and the name of its site.
TITLE_PARTS = re.compile(
    r"\s[|:\N{EN DASH}\N{EM DASH}\N{MIDDLE DOT}\N{BULLET}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}-]\s"
)
_STATUS = re.compile(r"\A\W*(?:(?:http\s)?(?:error|status|fehler|erreur)\W*)?(?:[45]\d\d)?\W*")
#: What may be between the parts of a phrase.
_GAP = r"\b[^.!?]{1,30}?"


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """Words that were found in a text, and where in its plain form."""

    words: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Phrases:
    """Phrases of many languages; case, accents and white space make no difference, and `` ... `` is a few words.

    >>> next(Phrases.of(["nicht gefunden"]).all_in("Seite NICHT  gefunden"))
    PhraseMatch(words='nicht gefunden', start=6, end=20)
    >>> next(Phrases.of(["niet ... vinden"]).all_in("Deze pagina kunnen we niet meer vinden")).words
    'niet meer vinden'
    >>> next(Phrases.of(["bulunamad\N{LATIN SMALL LETTER DOTLESS I}"]).all_in("SAYFA BULUNAMADI")).words
    'bulunamadi'
    """

    phrases: tuple[str, ...]
    """Without accents, and the longest first: of two that begin at one place, that one is found."""

    @classmethod
    def of(cls, phrases: Iterable[str]) -> Phrases:
        """Finds any of *phrases*, at the beginning of a word in scripts that part words by spaces."""
        return cls(tuple(sorted(map(bare, phrases), key=len, reverse=True)))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _any_of(self.phrases)

    def match(self, text: str) -> PhraseMatch | None:
        """The phrase that *text* begins with."""
        plain_text = plain(text)
        bare_text = bare(plain_text)
        match = self._pattern.match(bare_text)
        return PhraseMatch(plain_text[: match.end()], 0, match.end()) if match else None

    def all_in(self, text: str) -> Iterator[PhraseMatch]:
        """All of the phrases in *text*, in their order."""
        return self.in_plain(plain(text))

    def in_plain(self, text: str) -> Iterator[PhraseMatch]:
        """All of the phrases in a *text* that is in plain form already."""
        bare_text = bare(text)
        for match in self._pattern.finditer(bare_text):
            yield PhraseMatch(text[match.start() : match.end()], match.start(), match.end())

    def first_in(self, text: str) -> str | None:
        """The words of the first of the phrases in a *text* that is in plain form already."""
        return next((phrase.words for phrase in self.in_plain(text)), None)

    def is_in_plain(self, text: str) -> bool:
        """Return whether one of the phrases is in a *text* that is in plain form already."""
        return self._pattern.search(bare(text)) is not None


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """The pattern of any of *phrases*; of several at one place it finds the first."""
    parted: list[Sequence[str]] = []
    unparted: list[Sequence[str]] = []
    for phrase in phrases:
        first, *others = phrase.split(" ... ")
        steps = [*first, *(step for part in others for step in (_GAP, *part))]
        (parted if phrase[0].islower() or phrase[0].isdigit() else unparted).append(steps)
    beginning = [rf"(?<![^\W_]){_tree(parted)}"] if parted else []
    return re.compile("|".join([*beginning, *([_tree(unparted)] if unparted else [])]) or r"(?!)")


def _tree(phrases: Iterable[Sequence[str]]) -> str:
    """The alternation of *phrases*, each in characters and gaps, with what they begin with alike written once.

    Only phrases that continue with different characters change places: no text continues with both.
    """
    ways: list[str] = []
    by_first: dict[str, list[Sequence[str]]] = {}
    for phrase in [*phrases, None]:
        if phrase and phrase[0] != _GAP:
            by_first.setdefault(phrase[0], []).append(phrase[1:])
            continue
        ways += [re.escape(first) + _tree(rest) for first, rest in by_first.items()]
        by_first.clear()
        if phrase is not None:
            ways.append(_GAP + _tree([phrase[1:]]) if phrase else "")
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _phrases(section: Mapping[str, Any] | Iterable[str]) -> Phrases:
    """The phrases in a list, or in the lists of several languages."""
    if not isinstance(section, Mapping):
        return Phrases.of(section)
    lists = (phrases for phrases in section.values() if isinstance(phrases, list))
    return Phrases.of(chain.from_iterable(lists))


PhraseList = Annotated[Phrases, BeforeValidator(_phrases)]


class _Section(BaseModel):
    """A part of ``quirks.toml``, under its names there."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


class Challenge(_Section):
    """A page that is shown to programs instead of the answer, by its signs."""

    name: str
    header: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    markup: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    """Parts of the source that count where a page has no word."""


class ChallengeWords(_Section):
    """What else is on a page that is a challenge."""

    word: PhraseList
    refusing: PhraseList
    widget: tuple[str, ...]


class ObjectWords(_Section):
    """How a page speaks of what was asked for, or of pages at all."""

    this: tuple[str, ...]
    object: tuple[str, ...]
    phrase: tuple[str, ...]
    page: PhraseList
    asking: PhraseList
    """How a question begins."""
    filler: PhraseList
    """What else a title may say without saying more."""
    saying: PhraseList
    """Words around the words of absence: auxiliary verbs, "this", "the"."""

    @cached_property
    def this_object(self) -> re.Pattern[str]:
        """In plain text: how a page speaks of the one object that was asked for."""
        this, objects, phrases = ("|".join(map(re.escape, words)) for words in (self.this, self.object, self.phrase))
        return re.compile(rf"(?<![^\W_])(?:(?:{this})\s?(?:{objects})|{phrases})")

    @cached_property
    def things(self) -> Phrases:
        """What may not be there: pages, addresses, objects."""
        return Phrases.of((*self.object, *self.page.phrases))


class RequestWords(_Section):
    """Words about the request, or about the whole site: nothing is refused by name then."""

    phrase: PhraseList
    pause: PhraseList


class LogIn(_Section):
    """Signs of a page to log in."""

    path: tuple[str, ...]
    host: frozenset[str]
    title: PhraseList

    @cached_property
    def paths(self) -> re.Pattern[str]:
        """Parts of its address, in lower case."""
        return re.compile("(?:" + "|".join(map(re.escape, self.path)) + ")(?![a-z])")


class Placeholder(_Section):
    """What a template, a program or an empty form leaves where a commitment was to be."""

    word: frozenset[str]
    phrase: tuple[str, ...]
    who: frozenset[str]


class FaultTitle(_Section):
    """What a program writes where a record has its title, when it has no record."""

    phrase: PhraseList
    beside: PhraseList


class HostQuirk(_Section):
    """A host whose answers with certain statuses need a further reason."""

    host: str
    status: frozenset[int]
    reason: str


class Names(_Section):
    """Words, or names of hosts."""

    word: frozenset[str] = frozenset()
    host: tuple[str, ...] = ()


class Quirks(_Section):
    """All that ``quirks.toml`` says."""

    challenge: tuple[Challenge, ...]
    check: ChallengeWords
    not_found: PhraseList
    not_available: PhraseList
    """Weaker words: much that is there has a part that is not."""
    idle: PhraseList
    """Of hosts that serve nothing of their own."""
    this_object: ObjectWords
    unsure: PhraseList
    passing: PhraseList
    about_request: RequestWords
    withdrawn: PhraseList
    withdrawal: Mapping[str, Any]
    """The words with which a sentence says that an object is gone, by their parts in it."""
    gone: PhraseList
    regional: PhraseList
    """Of what may not be shown where we are."""
    tombstone: PhraseList
    restricted: PhraseList
    login: LogIn
    placeholder: Placeholder
    fault_title: FaultTitle
    loading: PhraseList
    unknown: Names
    labels: Mapping[str, tuple[str, ...]]
    host: tuple[HostQuirk, ...]
    visitor_counters: Names
    """Hosts that count the visitors of other sites."""

    @cached_property
    def question_of_label(self) -> Mapping[str, str]:
        """The kernel's name for the question of each label of a descriptive page, in lower case."""
        return {label: question for question, labels in self.labels.items() for label in labels}

    @cached_property
    def saying(self) -> Phrases:
        """Words around the words of absence: auxiliary verbs, "this", "the"."""
        around = (word for key in ("aux", "this", "the", "noun") for word in self.withdrawal[key])
        return Phrases.of((*self.this_object.saying.phrases, *around))

    @cached_property
    def elsewise(self) -> Phrases:
        """Words of withdrawal that `crawler.answers.withdrawals` does not take apart, for want of words or for their
        script.
        """
        gone = [bare(part) for parts in self.withdrawal["gone"].values() for part in parts]
        return Phrases.of(phrase for phrase in self.withdrawn.phrases if not any(part in phrase for part in gone))

    @cached_property
    def words_of_withdrawal(self) -> Phrases:
        """Words of withdrawal, whatever was withdrawn."""
        parts = chain.from_iterable(self.withdrawal["gone"].values())
        return Phrases.of((*parts, *self.withdrawn.phrases, *self.gone.phrases))

    def challenge_in_headers(self, headers: Mapping[str, str]) -> str | None:
        """The challenge that a hop's headers name, if one."""
        values = {name.lower(): value.lower() for name, value in headers.items()}
        for challenge in self.challenge:
            for header in challenge.header:
                name, _, part = header.lower().partition(":")
                if name in values and part.strip() in values[name]:
                    return challenge.name
        return None

    def challenge_in_page(self, markup: str, title: str | None, text: str) -> str | None:
        """The challenge that a page is, if one: by its source or, where it has few words, its title and its text.

        >>> quirks().challenge_in_page("", "Just a moment...", "Enable JavaScript")
        'Cloudflare'
        >>> quirks().challenge_in_page("", "Access denied", "Access denied A novel by Ada Rossi, 1998") is None
        True
        """
        if len(text) >= NOTICE_CHARS:
            return None
        source, heading, words = markup.lower(), plain(title or ""), plain(text)
        for challenge in self.challenge:
            signs = challenge.markup if words else challenge.markup + challenge.blank
            if any(part in source for part in signs):
                return challenge.name
        body = words.replace(heading, " ") if heading else words
        by_title = self.challenge_in_title(heading)
        if by_title and self._says_no_more(body, TITLE_PARTS.split(heading)[0]):
            return by_title
        for challenge in self.challenge:
            said = [part for part in challenge.text if part in words and part not in heading]
            if said and self._says_no_more(words, said[0]):
                return challenge.name
        is_checked = any(part in source for part in self.check.widget)
        is_script = "<script" in source and self.check.refusing.is_in_plain(body) and _letters(body) <= _FEW_SENTENCES
        is_puzzle = (is_checked or is_script) and self.check.word.is_in_plain(f"{heading} {words}")
        return "a puzzle for people" if is_puzzle else None

    def speaks_of_check(self, text: str) -> bool:
        """Return whether a text says hardly anything, or speaks of a check, of permissions, browsers and programs."""
        words = plain(text)
        is_said = any(part in words for challenge in self.challenge for part in challenge.text)
        return is_said or self._says_no_more(words, "")

    def challenge_in_title(self, title: str) -> str | None:
        """The challenge whose title is all that a part of *title* says, but for a status and "error".

        >>> quirks().challenge_in_title("Access denied | Library")
        'a refusal'
        >>> quirks().challenge_in_title("Access denied: a novel") is None
        True
        """
        parts = [plain(title), *TITLE_PARTS.split(plain(title))]
        for challenge in self.challenge:
            if any(_is_all(part, phrase) for part in parts for phrase in challenge.title):
                return challenge.name
        return None

    def _says_no_more(self, body: str, said: str) -> bool:
        """Return whether a text says hardly anything besides, or speaks of permissions, browsers and programs."""
        rest = body.replace(said, " ") if said else body
        is_all = _letters(rest) <= _FEW_LETTERS
        return is_all or self.check.refusing.is_in_plain(rest) or self.check.word.is_in_plain(rest)

    def host_reason(self, host: str, status: int) -> str | None:
        """Return what is known of a status at a host, if anything."""
        known = (quirk.reason for quirk in self.host if quirk.host == host and status in quirk.status)
        return next(known, None)


@cache
def quirks() -> Quirks:
    """Return what the file in this package says; a test keeps it well formed."""
    return Quirks(**tomllib.loads(files("crawler.answers").joinpath("quirks.toml").read_text("utf-8")))


def without_marks(text: str) -> str:
    """*text* without what is neither letter nor digit around it; in time that its length allows.

    >>> without_marks(" [Unknown]. "), without_marks("...")
    ('Unknown', '')
    """
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return text[start:end]


def plain(text: str) -> str:
    """*text* as people compare phrases: lower case, white space folded, apostrophes straight, letters composed.

    >>> plain("Just  a\\nMoment\N{RIGHT SINGLE QUOTATION MARK}s")
    "just a moment's"
    """
    if text.isascii():
        return " ".join(text.lower().split())
    straight = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    composed = unicodedata.normalize("NFC", straight)
    lower = composed.replace("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "i").lower()
    return " ".join(lower.split())


class _Bare(dict[int, str]):
    """Letters without the marks that many leave out, one for one; those of Indic scripts are no such marks."""

    def __missing__(self, letter: int) -> str:
        parts = unicodedata.normalize("NFD", chr(letter))
        without = re.sub("[\N{COMBINING GRAVE ACCENT}-\N{COMBINING LATIN SMALL LETTER X}]", "", parts)
        bare = unicodedata.normalize("NFC", without)
        self[letter] = bare if len(bare) == 1 else chr(letter)
        return self[letter]


_BARE = _Bare({ord("\N{LATIN SMALL LETTER DOTLESS I}"): "i"})


def bare(text: str) -> str:
    """*text* without accents, as long as it was."""
    return text if text.isascii() else text.translate(_BARE)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _is_all(part: str, phrase: str) -> bool:
    """Return whether a part of a title says a *phrase* and no more: perhaps a status before it, a mark after it."""
    rest = part[_STATUS.match(part).end() :] if not part.startswith(phrase) else part  # type: ignore[union-attr]
    if not rest.startswith(phrase):
        return False
    ending = rest[len(phrase) :]
    return not any(map(str.isalnum, ending))


# -- the addresses at which redirects end for what is not there: error pages, searches, log-ins, home pages


_NOT_FOUND_PATH = re.compile(
    r"/(?:404|(?:page|item|object|record|ark)?[-_]?not[-_]?found|errors?|missing|no[-_]?results?)(?:\.\w+)?/?\Z",
    re.IGNORECASE,
)
_NOT_FOUND_QUERY = re.compile(
    r"(?:\A|[&=])(?:404|(?:page|item|ark)?[-_+]?not[-_+]?found|unknown|missing)(?:&|\Z)", re.IGNORECASE
)
_SEARCH = (
    r"/(?:search\w*|find|results?|discover|recherche\w*|suche\w*|trefferliste|busca\w*|b[uú]squeda|ricerca|pesquisa|zoeken"
    r"|s[oö]k|haku|szukaj|hledat|kereses|query|browse)(?:\.\w+)?"
)
_SEARCH_PATH = re.compile(rf"{_SEARCH}(?:/|\Z)", re.IGNORECASE)
_SEARCH_FORM = re.compile(rf"{_SEARCH}/?\Z", re.IGNORECASE)
_ROOT_PATH = re.compile(
    r"/?(?:[a-z]{2}(?:[-_][a-z]{2})?/)?(?:index\.\w+|default\.aspx?|(?:home|homepage|accueil|startseite|inicio|portada|welcome)/?)?\Z",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?:[a-z]+:)?//(?:[^/?#@]*@)?(?P<host>[^/?#:]+)", re.IGNORECASE)
_REFRESH = re.compile(
    r"""\s*+\d*+(?:\.\d*+)?\s*+(?:[;,]\s*+(?:url\s*+=)?|url\s*+=)\s*+['"]?(?P<url>[^'"\s][^'"]*)""", re.IGNORECASE
)


def absent_address(url: str) -> str | None:
    """The path and query of a URL that says of itself that something is not there; None of any other.

    >>> absent_address("https://library.example/page-not-found"), absent_address("https://library.example/item/404x")
    ('/page-not-found', None)
    """
    parts = urlsplit(url)
    if _NOT_FOUND_PATH.search(parts.path) or _NOT_FOUND_QUERY.search(parts.query):
        return parts.path + ("?" + parts.query if parts.query else "")
    return None


def is_absent_path(url: str) -> bool:
    """Return whether the path of a URL, or of a reference, says that something is not there; queries are not
    looked at.
    """
    return _NOT_FOUND_PATH.search(url.partition("?")[0]) is not None


def is_search(url: str) -> bool:
    """Return whether a URL is that of search results: many sites search for what they don't know.

    >>> is_search("https://library.example/search?q=x5"), is_search("https://library.example/research/x5")
    (True, False)
    """
    return _SEARCH_PATH.search(urlsplit(url).path) is not None


def is_home_page(url: str, name: str) -> bool:
    """Return whether a URL is the home page of a site, and doesn't hold *name* in its query."""
    parts = urlsplit(url)
    return bool(_ROOT_PATH.match(parts.path)) and name not in parts.query


def is_sent_away(urls: Sequence[str], name: str) -> bool:
    """Return whether a host that was asked for more leads to its own home page or search form, and forgets *name*.

    A resolver that leads to the home page of another host may mean that: an ARK can name a site. A query may hold
    what the host calls the object.

    >>> is_sent_away(["https://library.example/item/7", "https://library.example/"], "x5")
    True
    >>> is_sent_away(["https://resolver.example/ark:/12148/x5", "https://site.example/"], "x5")
    False
    >>> is_sent_away(["https://library.example/ark:/12148/x5", "https://library.example/index.php?id=7"], "x5")
    False
    """
    *before, last = map(urlsplit, urls)
    is_general = bool(_ROOT_PATH.match(last.path)) or _SEARCH_FORM.search(last.path) is not None
    if not is_general or last.query or last.fragment or name in unquote(last.path):
        return False
    return any(parts.hostname == last.hostname and not _ROOT_PATH.match(parts.path) for parts in before)


def is_log_in(url: str) -> bool:
    """Return whether a URL is where people log in, by its path or its host.

    >>> is_log_in("https://library.example/login?next=x5"), is_log_in("https://library.example/catalogue")
    (True, False)
    """
    parts, login = urlsplit(url), quirks().login
    first_label = (parts.hostname or "").partition(".")[0]
    return first_label in login.host or login.paths.search(parts.path.lower()) is not None


def is_visitor_counter(url: str) -> bool:
    """Return whether a URL, or a reference, is of a host that counts the visitors of others.

    >>> is_visitor_counter("//www.google-analytics.com/analytics.js"), is_visitor_counter("/app.js")
    (True, False)
    """
    host = _HOST.match(url)
    name = host["host"].lower() if host else ""
    return f".{name}".endswith(tuple(f".{counter}" for counter in quirks().visitor_counters.host))


def refresh_target(value: str) -> str | None:
    """Return where a refresh leads, by the value of its header or meta element; None for one that reloads the page.

    >>> refresh_target("5; URL='/item/7'"), refresh_target("30")
    ('/item/7', None)
    """
    match = _REFRESH.match(value)
    return match["url"].strip() if match else None
