"""Recognize servers, software, addresses and phrases of many languages by ``quirks.toml``."""

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
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, BeforeValidator, ConfigDict

from extractors.model.urls import split_url

#: A page with fewer characters of readable text than this is a notice, not the page of an object.
NOTICE_CHARS = 1_500
#: A longer text is no label of a value, in characters.
LABEL_CHARS = 60
#: Headings and first words are searched for in this number of characters.
OPENING_CHARS = 400


#: Fewer letters than this next to a sign of a challenge carry no other message.
_FEW_LETTERS = 12
#: A challenge without a known widget has at most this number of letters.
_FEW_SENTENCES = 300
#: Separators between the title of a page and the name of its site.
TITLE_PARTS = re.compile(
    r"\s[|:\N{EN DASH}\N{EM DASH}\N{MIDDLE DOT}\N{BULLET}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}-]\s"
)
_STATUS_PREFIX = re.compile(r"\A\W*(?:(?:http\s)?(?:error|status|fehler|erreur)\W*)?(?:[45]\d\d)?\W*")
#: The text that may come between the parts of a phrase.
_GAP = r"\b[^.!?;]{1,30}?"


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A phrase in a text, with its position in the plain form."""

    words: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Phrases:
    """Phrases of many languages. Case, accents and white space are ignored, and `` ... `` stands for a few words.

    >>> next(Phrases.from_texts(["nicht gefunden"]).all_in("Seite NICHT  gefunden"))
    PhraseMatch(words='nicht gefunden', start=6, end=20)
    >>> next(Phrases.from_texts(["niet ... vinden"]).all_in("Deze pagina kunnen we niet meer vinden")).words
    'niet meer vinden'
    >>> next(Phrases.from_texts(["bulunamad\N{LATIN SMALL LETTER DOTLESS I}"]).all_in("SAYFA BULUNAMADI")).words
    'bulunamadi'
    """

    phrases: tuple[str, ...]
    """The phrases without accents, longest first, so that the longest match wins."""

    @classmethod
    def from_texts(cls, phrases: Iterable[str]) -> Phrases:
        """Return an object that finds *phrases*; in scripts with spaces between words, only at the beginning of a word."""
        return cls(tuple(sorted(map(bare, phrases), key=len, reverse=True)))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _pattern_of(self.phrases)

    def match(self, text: str) -> PhraseMatch | None:
        """Return the phrase that *text* begins with, or None."""
        plain_text = plain(text)
        bare_text = bare(plain_text)
        match = self._pattern.match(bare_text)
        return PhraseMatch(plain_text[: match.end()], 0, match.end()) if match else None

    def all_in(self, text: str) -> Iterator[PhraseMatch]:
        """Return all phrases in *text*, in their order."""
        return self.in_plain(plain(text))

    def in_plain(self, text: str) -> Iterator[PhraseMatch]:
        """Return all phrases in a *text* in plain form."""
        bare_text = bare(text)
        for match in self._pattern.finditer(bare_text):
            yield PhraseMatch(text[match.start() : match.end()], match.start(), match.end())

    def first_in(self, text: str) -> str | None:
        """Return the words of the phrase that comes first in *text*, or None.

        *text* is in plain form (`plain`).
        """
        return next((phrase.words for phrase in self.in_plain(text)), None)

    def removed_from(self, text: str) -> str:
        """Return *text* without the phrases, and without accents."""
        return self._pattern.sub(" ", bare(plain(text)))

    def is_in_plain(self, text: str) -> bool:
        """Return True if a phrase is in a *text* in plain form."""
        return self._pattern.search(bare(text)) is not None


def _pattern_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of *phrases*; of several phrases at one position the first matches."""
    parted: list[Sequence[str]] = []
    unparted: list[Sequence[str]] = []
    for phrase in phrases:
        first_part, *later_parts = phrase.split(" ... ")
        characters = [*first_part, *(step for part in later_parts for step in (_GAP, *part))]
        (parted if phrase[0].islower() or phrase[0].isdigit() else unparted).append(characters)
    beginning = [rf"(?<![^\W_]){_prefix_pattern(parted)}"] if parted else []
    return re.compile("|".join([*beginning, *([_prefix_pattern(unparted)] if unparted else [])]) or r"(?!)")


def _prefix_pattern(phrases: Sequence[Sequence[str]]) -> str:
    """Return the alternation of *phrases*, given in characters and gaps, with common beginnings written once.

    The order changes only between phrases that continue with different characters, so each match stays the same.
    """
    if len(phrases) == 1:
        return "".join(step if step == _GAP else re.escape(step) for step in phrases[0])
    alternatives: list[str] = []
    by_first: dict[str, list[Sequence[str]]] = {}
    for phrase in [*phrases, None]:
        if phrase and phrase[0] != _GAP:
            by_first.setdefault(phrase[0], []).append(phrase[1:])
            continue
        alternatives += [re.escape(first) + _prefix_pattern(continuations) for first, continuations in by_first.items()]
        by_first.clear()
        if phrase is not None:
            alternatives.append(_GAP + _prefix_pattern([phrase[1:]]) if phrase else "")
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


def _phrases(section: Mapping[str, Any] | Iterable[str]) -> Phrases:
    """Return the phrases in a list, or in the lists of several languages."""
    if not isinstance(section, Mapping):
        return Phrases.from_texts(section)
    lists = (phrases for phrases in section.values() if isinstance(phrases, list))
    return Phrases.from_texts(chain.from_iterable(lists))


PhraseList = Annotated[Phrases, BeforeValidator(_phrases)]


class _Section(BaseModel):
    """A section of ``quirks.toml``, with the same names."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


class Challenge(_Section):
    """The signs of a robot check; a single sign in the right part of the answer is enough."""

    name: str
    header: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    markup: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    """Parts of the source that count on a page without words."""


class ChallengeWords(_Section):
    """Further signs of a challenge page."""

    word: PhraseList
    refusing: PhraseList
    no: tuple[str, ...]
    """Words that deny."""
    robot: tuple[str, ...]
    widget: tuple[str, ...]
    back: frozenset[str]
    """Parameters with the address to which a check leads back."""

    @cached_property
    def no_robot(self) -> re.Pattern[str]:
        """A pattern for plain text: a word that denies, up to three short words, a robot."""
        return re.compile(rf"\b(?:{'|'.join(self.no)})\s(?:\w{{1,8}}\s){{0,3}}(?:{'|'.join(self.robot)})\b")

    def is_about_people(self, text: str) -> bool:
        """Return True if a text in plain form asks for people, or denies robots: "non sia un robot"."""
        return self.word.is_in_plain(text) or self.no_robot.search(text) is not None


class ObjectWords(_Section):
    """Words of a page for the requested object, or for pages in general."""

    this: tuple[str, ...]
    object: tuple[str, ...]
    phrase: tuple[str, ...]
    page: PhraseList
    asking: PhraseList
    """Beginnings of a question."""
    filler: PhraseList
    """Words of a title without further meaning."""
    requested: PhraseList
    """Stems of words for the object that a visitor asked for."""
    saying: PhraseList
    """Words around the words of absence: auxiliary verbs, "this", "the"."""

    @cached_property
    def this_object(self) -> re.Pattern[str]:
        """A pattern for plain text that finds the words for the requested object."""
        this, objects, phrases = ("|".join(map(re.escape, words)) for words in (self.this, self.object, self.phrase))
        return re.compile(rf"(?<![^\W_])(?:(?:{this})\s?(?:{objects})|{phrases})")

    @cached_property
    def object_nouns(self) -> Phrases:
        """Words for things that may be absent: pages, addresses, objects."""
        return Phrases.from_texts((*self.object, *self.page.phrases))


class RequestWords(_Section):
    """Words about the request. Such a refusal is not about the name."""

    phrase: PhraseList


class Standards(_Section):
    """Words by which the withdrawal of a standard, whose record stays, is recognized."""

    body: tuple[str, ...]
    """Abbreviations of organizations, before the number of a standard."""
    record: PhraseList

    @cached_property
    def number(self) -> re.Pattern[str]:
        """The number of a standard at the beginning of a title: "ISO 9:1968", "DIN EN 4321"."""
        return re.compile(rf"(?:(?:{'|'.join(self.body)})[/ -]?){{1,4}}[A-Z]{{0,2}}[ -]?\d")

    def is_withdrawn(self, words: str, titles: Iterable[str]) -> bool:
        """Return True if *words* about a withdrawal are about a standard: one of *titles* begins with "ISO 8601" or the like.

        Words about the record of the standard in a catalogue do not count.
        """
        return not self.record.is_in_plain(words) and any(map(self.number.match, titles))


class Addresses(_Section):
    """Words in the addresses at the end of redirects for missing objects, without their extension: ``/search.php``."""

    absent: tuple[str, ...]
    """The last part of the path of an error page; a hyphen may be missing."""
    absent_query: tuple[str, ...]
    """A parameter or a value in the query of an error page."""
    fault: tuple[str, ...]
    """A parameter of an error page, with any value."""
    search: tuple[str, ...]
    search_stem: tuple[str, ...]
    """The beginnings of a part of the path of a search."""
    home: tuple[str, ...]
    """The last part of the path of a home page."""

    @cached_property
    def error_page_path(self) -> re.Pattern[str]:
        """A pattern for the path of an error page."""
        return re.compile(rf"/(?:{_alternation(self.absent)})(?:\.\w+)?/?\Z", re.IGNORECASE)

    @cached_property
    def error_page_parameter(self) -> re.Pattern[str]:
        """A pattern for the query of an error page."""
        alternatives = rf"{_alternation(self.absent_query)}|(?:{_alternation(self.fault)})=[^&]*"
        return re.compile(rf"(?:\A|[&=])(?:{alternatives})(?:&|\Z)", re.IGNORECASE)

    @cached_property
    def search_path(self) -> re.Pattern[str]:
        """A pattern for a part of the path of a search."""
        stems = "|".join(rf"{stem}\w*" for stem in self.search_stem)
        return re.compile(rf"/(?:{'|'.join(self.search)}|{stems})(?:\.\w+)?(?=/|\Z)", re.IGNORECASE)

    @cached_property
    def root_path(self) -> re.Pattern[str]:
        """A pattern for the path of a home page, perhaps after a language."""
        return re.compile(
            rf"/?(?:[a-z]{{2}}(?:[-_][a-z]{{2}})?/)?(?:index\.\w+|default\.aspx?|(?:{'|'.join(self.home)})/?)?\Z",
            re.IGNORECASE,
        )


def _alternation(words: Iterable[str]) -> str:
    """Return an alternation of *words*, in which a hyphen may be missing, or be a low line or a plus sign."""
    return "|".join(word.replace("-", "[-_+]?") for word in words)


class LogIn(_Section):
    """Signs of a log-in page."""

    path: tuple[str, ...]
    host: frozenset[str]
    title: PhraseList
    choice: PhraseList
    """Words of a page that asks for the institution of the reader."""

    @cached_property
    def paths(self) -> re.Pattern[str]:
        """A pattern for the path of a log-in page, in lower case."""
        return re.compile("(?:" + "|".join(map(re.escape, self.path)) + ")(?![a-z])")


class Placeholder(_Section):
    """Default texts of a template, a program or an empty form in place of a commitment."""

    word: frozenset[str]
    phrase: tuple[str, ...]
    beginning: tuple[str, ...]
    """Beginnings of notes, and of messages of a program."""
    who: frozenset[str]


class Promise(_Section):
    """Words of a promise about an object and its identifier, and of texts that look like one."""

    permanence: PhraseList
    """Words of a promise, also next to words about use."""
    commitment: PhraseList
    """Words of a promise that also occur in licences."""
    use: PhraseList
    """Words of a licence, or about rights."""
    time: PhraseList
    """Further words of a short promise."""
    statement: Annotated[tuple[str, ...], BeforeValidator(lambda words: tuple(map(bare, words)))]
    """Parts of labels of statements, without accents."""
    other: PhraseList
    """Words that look like a promise about an object, and are about something else."""

    def is_label(self, label: str) -> bool:
        """Return True if a label in plain form is that of a statement about permanence: "persistence policy"."""
        is_statement = len(label) <= LABEL_CHARS and any(part in bare(label) for part in self.statement)
        return is_statement and self.permanence.is_in_plain(label)


class Template(_Section):
    """Words of a form or a template that nobody filled in."""

    sign: frozenset[str]
    filler: frozenset[str]
    whole: frozenset[str]
    """Whole texts."""
    phrase: tuple[str, ...]
    """Beginnings of texts."""


class FaultTitle(_Section):
    """Texts of a program in place of a record's title, if it has no record."""

    phrase: PhraseList
    beside: PhraseList


class Closure(_Section):
    """Words for the end of a closure: "until 1 May 2028"."""

    until: tuple[str, ...]
    until_number: tuple[str, ...]
    """Words that have this meaning only directly before a number."""

    @cached_property
    def end(self) -> re.Pattern[str]:
        """A pattern that finds "until … 20XX" in text without accents (`bare`), but not a range such as "1998 to 2026"."""
        until, until_number = ("|".join(map(re.escape, map(bare, words))) for words in (self.until, self.until_number))
        return re.compile(
            rf"(?<!\d )\b(?:{until}|(?:{until_number})(?= \d))\b[^;|]{{0,30}}?\b20\d\d\b"
            r"|(?<!\d)20\d\d\u5e74[^\u3002]{0,12}\u307e\u3067"
        )


class HostQuirk(_Section):
    """A host with a known reason for certain statuses."""

    host: str
    status: frozenset[int]
    reason: str


class Names(_Section):
    """Words, or names of hosts."""

    word: frozenset[str] = frozenset()
    host: tuple[str, ...] = ()


class Quirks(_Section):
    """The content of ``quirks.toml``."""

    challenge: tuple[Challenge, ...]
    check: ChallengeWords
    not_found: PhraseList
    not_available: PhraseList
    no_longer: PhraseList
    """Phrases that report an absence less surely, because they may be about a part of an existing object."""
    site: PhraseList
    """Words for a whole site, whose outage proves nothing about an object."""
    idle: PhraseList
    """Words of hosts that serve no content of their own."""
    this_object: ObjectWords
    unsure: PhraseList
    cannot: PhraseList
    """Denials that contain a word of guesses: "no se puede" contains "puede"."""
    pause: PhraseList
    """Words about maintenance, or about a pause of the site or of an object."""
    faults: PhraseList
    """Words about temporary faults of programs."""
    about_request: RequestWords
    withdrawn: PhraseList
    withdrawal: Mapping[str, Any]
    """The words of a sentence about a withdrawal, by their function in it."""
    gone: PhraseList
    regional: PhraseList
    """Words about content that may not be shown in our region."""
    tombstone: PhraseList
    standard: Standards
    retracted: PhraseList
    """Words for retracted articles, whose file may still be offered."""
    restricted: PhraseList
    closure: Closure
    address: Addresses
    login: LogIn
    placeholder: Placeholder
    template: Template
    promise: Promise
    fault_title: FaultTitle
    loading: PhraseList
    results: PhraseList
    """Titles of pages of search results."""
    passing: Names
    """Words before a number that changes with each request, such as a counter of visitors."""
    nothing: Names
    """Words of programs for a missing value."""
    unknown: Names
    labels: Mapping[str, tuple[str, ...]]
    host: tuple[HostQuirk, ...]
    route: Names
    """Words in paths that name a kind of page, and no object."""
    visitor_counters: Names
    """Hosts that count the visitors of other sites."""

    @cached_property
    def question_of_label(self) -> Mapping[str, str]:
        """The element (``who``, …, ``commitment``) that a label on a page means, by the label in lower case."""
        return {label: question for question, labels in self.labels.items() for label in labels}

    @cached_property
    def label_words(self) -> frozenset[str]:
        """The words in labels of descriptive pages, in lower case."""
        return frozenset(word for label in self.question_of_label for word in _LETTERS.findall(label))

    def question_of(self, label: str) -> str | None:
        """Return the element (``who``, …, ``commitment``) that a *label* in plain form means, or None."""
        return self.question_of_label.get(label) or ("commitment" if self.promise.is_label(label) else None)

    @cached_property
    def pauses_and_faults(self) -> Phrases:
        """Words about a pause or a temporary fault."""
        return Phrases.from_texts((*self.pause.phrases, *self.faults.phrases))

    @cached_property
    def saying(self) -> Phrases:
        """Words around the words of absence: auxiliary verbs, "this", "the"."""
        further_words = (word for key in ("aux", "this", "the", "noun") for word in self.withdrawal[key])
        return Phrases.from_texts((*self.this_object.saying.phrases, *further_words))

    @cached_property
    def unanalysed_withdrawals(self) -> Phrases:
        """Words of withdrawal that `crawler.answers.withdrawals` can't analyse, for lack of a grammar."""
        gone = [bare(part) for parts in self.withdrawal["gone"].values() for part in parts]
        return Phrases.from_texts(
            phrase for phrase in self.withdrawn.phrases if not any(part in phrase for part in gone)
        )

    @cached_property
    def words_of_withdrawal(self) -> Phrases:
        """Words of withdrawal, for any withdrawn thing."""
        parts = chain.from_iterable(self.withdrawal["gone"].values())
        return Phrases.from_texts((*parts, *self.withdrawn.phrases, *self.gone.phrases))

    def challenge_in_headers(self, headers: Mapping[str, str]) -> str | None:
        """Return the name of the challenge in the headers of a hop, or None."""
        values = {header_name.lower(): value.lower() for header_name, value in headers.items()}
        for challenge in self.challenge:
            for header in challenge.header:
                header_name, _, value_part = header.lower().partition(":")
                if header_name in values and value_part.strip() in values[header_name]:
                    return challenge.name
        return None

    def challenge_in_page(self, markup: str, title: str | None, text: str, unshown: str = "") -> str | None:
        """Return the name of the robot check on a short page, by its source (*markup*), title and text, or None.

        Some checks have their words in *unshown* text, for scripts or for browsers without them.

        >>> quirks().challenge_in_page("", "Just a moment...", "Enable JavaScript")
        'Cloudflare'
        >>> quirks().challenge_in_page("", "Access denied", "Access denied A novel by Ada Rossi, 1998") is None
        True
        """
        if len(text) >= NOTICE_CHARS:
            return None
        source, heading, words = markup.lower(), plain(title or ""), plain(text)
        for challenge in self.challenge:
            source_parts = challenge.markup if words else challenge.markup + challenge.blank
            if any(part in source for part in source_parts):
                return challenge.name
        body = words.replace(heading, " ") if heading else words
        by_title = self.challenge_in_title(heading)
        if by_title and self._says_no_more(body, TITLE_PARTS.split(heading)[0]):
            return by_title
        # The text of the page may be about such widgets.
        is_checked = any(source.count(part) > words.count(part) for part in self.check.widget)
        # Pages about objects have a number: a year, a shelf mark, an extent.
        is_notice = _letter_count(words) <= _FEW_SENTENCES and not any(map(str.isdigit, words))
        for challenge in self.challenge:
            challenge_phrases = [part for part in challenge.text if part in words and part not in heading]
            if challenge_phrases and (
                by_title or is_checked or is_notice or self._says_no_more(words, challenge_phrases[0])
            ):
                return challenge.name
        is_refusal = self.check.refusing.is_in_plain(plain(f"{body} {unshown}"))
        is_script = "<script" in source and is_refusal and _letter_count(body) <= _FEW_SENTENCES
        is_puzzle = (is_checked or is_script) and self.check.is_about_people(plain(f"{heading} {words} {unshown}"))
        return "a puzzle for people" if is_puzzle else None

    def speaks_of_check(self, text: str) -> bool:
        """Return True if a text is almost empty, or has words about a check, permissions, browsers or programs."""
        words = plain(text)
        has_challenge_phrase = any(part in words for challenge in self.challenge for part in challenge.text)
        return has_challenge_phrase or self._says_no_more(words, "")

    def challenge_in_title(self, title: str) -> str | None:
        """Return the name of the challenge whose title is a whole part of *title*, except a status and "error".

        >>> quirks().challenge_in_title("Access denied | Library")
        'a refusal'
        >>> quirks().challenge_in_title("Access denied: a novel") is None
        True
        """
        parts = [plain(title), *TITLE_PARTS.split(plain(title))]
        for challenge in self.challenge:
            if any(_is_whole_part(part, phrase) for part in parts for phrase in challenge.title):
                return challenge.name
        return None

    def _says_no_more(self, body: str, phrase: str) -> bool:
        """Return True if the rest of a text is almost empty, or about permissions, browsers or programs."""
        rest = body.replace(phrase, " ") if phrase else body
        is_almost_empty = _letter_count(rest) <= _FEW_LETTERS
        return is_almost_empty or self.check.refusing.is_in_plain(rest) or self.check.is_about_people(rest)

    def host_reason(self, host: str, status: int) -> str | None:
        """Return what *status* means at *host* by ``quirks.toml``, or None for a host that is not listed there."""
        reasons = (quirk.reason for quirk in self.host if quirk.host == host and status in quirk.status)
        return next(reasons, None)


@cache
def quirks() -> Quirks:
    """Return the content of ``quirks.toml`` in this package. A test checks its form."""
    return Quirks(**tomllib.loads(files("crawler.answers").joinpath("quirks.toml").read_text("utf-8")))


#: A variable of a template or of a program that was not filled in: of Mustache and its relatives, printf, PHP, JSP,
#: XSLT; or JavaScript's text for an object.
_VARIABLE = re.compile(
    r"""
    [$\#@]? \{{1,3} [\w\s.:|$>'"()\[\]/%-]{1,80} \}{1,3}
    | \[\[ [\w\s.:-]{1,80} \]\]
    | % (?: \d\$ )? [sd]\b | % \( \w{1,80} \) [sd] | % [A-Za-z][\w.-]{0,80} %
    | <% .{1,200}? %> | <\? .{1,200}? (?: \?> | \Z )
    | </? [a-z][\w:.-]{0,40} (?: \s[^<>]{0,200}=[^<>]{0,200} )? \s? /?>
    | (?<!\w) \$!? [a-z_]\w{0,40} (?: (?:->|\.|\[['"]?) \w{1,40} (?:['"]?\])? ){0,3}
    | \[object\ [A-Za-z]\w{0,30}\]
    """,
    re.VERBOSE | re.DOTALL,
)


#: Marks before the name of a variable.
_MARKS = ("_", "@", "#", "%", "$", "[", "{")
#: Words, of which a name such as ``TITLE_HERE`` or ``dc.title`` has several.
_LETTERS = re.compile(r"[^\W\d_]+")


def is_unfilled(value: str) -> bool:
    """Return True if a text consists of variables of a template, or of its words for a value: "Insert title here".

    >>> [is_unfilled(text) for text in ("%(title)s", "<?php echo $title; ?>", "{{ last }}, {{ first }}", "<title>")]
    [True, True, True, True]
    >>> [is_unfilled(text) for text in ("100 % silk", "Ada <Rossi>", "", "$100 bills", "{A map}, 1784")]
    [False, False, False, False, False]
    >>> [is_unfilled(text) for text in ("TITLE_HERE", "Insert the author's name", "dc.date", "Your Name", "Here lies")]
    [True, True, True, False, False]
    """
    remainder = _VARIABLE.sub("", value)
    if remainder != value:
        return not any(map(str.isalnum, remainder))
    return _is_template_text(plain(value))


def _is_template_text(text: str) -> bool:
    """Return True if a text in plain form is that of a template, such as "insert title here" or ``__title__``.

    It has a sign of a template ("insert", or marks around it), a label such as "title", and otherwise only filler.
    """
    template, labels = quirks().template, quirks().label_words
    bare_text = without_marks(text)
    if bare_text in template.whole or text.startswith(template.phrase):
        return True
    if text.startswith(_MARKS) and bare_text in quirks().question_of_label:
        return True
    words = set(_LETTERS.findall(text.replace("'s", "")))
    further_words = words - template.sign
    return further_words != words and not further_words.isdisjoint(labels) and further_words <= template.filler | labels


def without_marks(text: str) -> str:
    """Return *text* without surrounding characters that are not letters or digits, in linear time.

    >>> without_marks(" [Unknown]. "), without_marks("...")
    ('Unknown', '')
    """
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return text[start:end]


#: The vowel marks of Arabic, which few texts have, are removed.
_PLAIN = {
    ord("\N{RIGHT SINGLE QUOTATION MARK}"): "'",
    ord("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}"): "i",
    **dict.fromkeys(range(0x64B, 0x653)),
}


def plain(text: str) -> str:
    """Return *text* in the form for comparing phrases: lower case, folded white space, straight apostrophes, composed
    letters.

    >>> plain("Just  a\\nMoment\N{RIGHT SINGLE QUOTATION MARK}s")
    "just a moment's"
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFC", text).translate(_PLAIN).lower().split())


class _Bare(dict[int, str]):
    """A map from letters (code points) to letters without accents. Marks of Indic scripts stay."""

    def __missing__(self, letter: int) -> str:
        parts = unicodedata.normalize("NFD", chr(letter))
        without = re.sub("[\N{COMBINING GRAVE ACCENT}-\N{COMBINING LATIN SMALL LETTER X}]", "", parts)
        bare = unicodedata.normalize("NFC", without)
        self[letter] = bare if len(bare) == 1 else chr(letter)
        return self[letter]


#: The dotless i; and the Arabic letters for yeh and kaf, with which Persian is also written.
_BARE = _Bare(zip(map(ord, "\u0131\u064a\u0643"), "i\u06cc\u06a9", strict=True))


def bare(text: str) -> str:
    """Return *text* without accents, with the same length."""
    return text if text.isascii() else text.translate(_BARE)


def _letter_count(text: str) -> int:
    return sum(map(str.isalpha, text))


def _is_whole_part(part: str, phrase: str) -> bool:
    """Return True if *part* is only *phrase*, with an optional status before and punctuation after the phrase."""
    without_status = part[_STATUS_PREFIX.match(part).end() :] if not part.startswith(phrase) else part  # type: ignore[union-attr]
    if not without_status.startswith(phrase):
        return False
    ending = without_status[len(phrase) :]
    return not any(map(str.isalnum, ending))


# -- addresses at the end of redirects for missing objects: error pages, searches, log-ins, home pages


_HOST = re.compile(r"(?:[a-z]+:)?//(?:[^/?#@]*@)?(?P<host>[^/?#:]+)", re.IGNORECASE)


def error_page_address(url: str) -> str | None:
    """Return the path and query of a URL if they are those of an error page, or None.

    >>> error_page_address("https://library.example/page-not-found"), error_page_address("https://library.example/item/404x")
    ('/page-not-found', None)
    """
    parts, patterns = split_url(url), quirks().address
    if patterns.error_page_path.search(parts.path) or patterns.error_page_parameter.search(parts.query):
        return parts.path + ("?" + parts.query if parts.query else "")
    return None


def is_error_page_path(url: str) -> bool:
    """Return True if the path of a URL or of a reference is that of an error page, whatever its query."""
    return quirks().address.error_page_path.search(url.partition("?")[0]) is not None


def is_search(url: str) -> bool:
    """Return True if a URL is that of search results: many sites search for unknown names.

    >>> is_search("https://library.example/search?q=x5"), is_search("https://library.example/research/x5")
    (True, False)
    """
    return quirks().address.search_path.search(split_url(url).path) is not None


def is_home_page(url: str, name: str) -> bool:
    """Return True if a URL is the home page of a site, without *name* in its query."""
    parts = split_url(url)
    return quirks().address.root_path.match(parts.path) is not None and name not in parts.query


def is_sent_away(urls: Sequence[str], name: str) -> bool:
    """Return True if the chain *urls* ends at a home page or search form that has no *name*, and comes from that host.

    A resolver may redirect to the home page of another host on purpose, because an ARK can name a site. A query may
    contain the host's own name for the object.

    >>> is_sent_away(["https://library.example/item/7", "https://library.example/"], "x5")
    True
    >>> is_sent_away(["https://resolver.example/ark:/12148/x5", "https://site.example/"], "x5")
    False
    >>> is_sent_away(["https://library.example/ark:/12148/x5", "https://library.example/index.php?id=7"], "x5")
    False
    """
    *previous_urls, last_url = map(split_url, urls)
    root_pattern, path = quirks().address.root_path, last_url.path.rstrip("/")
    is_search_form = any(part.end() == len(path) for part in quirks().address.search_path.finditer(path))
    is_general = is_search_form or root_pattern.match(last_url.path) is not None
    may_name_object = bool(parse_qsl(last_url.query)) or any(map(str.isdigit, last_url.query))
    if not is_general or may_name_object or last_url.fragment or name in unquote(last_url.path):
        return False
    return any(parts.hostname == last_url.hostname and not root_pattern.match(parts.path) for parts in previous_urls)


def leads_back(urls: Sequence[str]) -> bool:
    """Return True if the last redirect stays at its host, and the new address has the one before in its query.

    >>> leads_back(["https://library.example/item/7", "https://library.example/challenge?dest=%2Fitem%2F7"])
    True
    >>> leads_back(["https://library.example/ark:/12148/x5", "https://library.example/viewer?ark=ark:/12148/x5"])
    False
    """
    previous_url, last_url = map(split_url, urls[-2:])
    values = (split_url(value).path for key, value in parse_qsl(last_url.query) if key.lower() in quirks().check.back)
    return previous_url.hostname == last_url.hostname and previous_url.path.rstrip("/") in {
        unquote(value).rstrip("/") for value in values
    }


def is_log_in(url: str) -> bool:
    """Return True if a URL is that of a log-in page, by its path or its host.

    >>> is_log_in("https://library.example/login?next=x5"), is_log_in("https://library.example/catalogue")
    (True, False)
    """
    parts, login = split_url(url), quirks().login
    first_label = parts.hostname.partition(".")[0]
    return first_label in login.host or login.paths.search(parts.path.lower()) is not None


def is_visitor_counter(url: str) -> bool:
    """Return True if a URL, absolute or relative, is at a host that counts the visitors of other sites.

    >>> is_visitor_counter("//www.google-analytics.com/analytics.js"), is_visitor_counter("/app.js")
    (True, False)
    """
    host = _HOST.match(url)
    name = host["host"].lower() if host else ""
    return f".{name}".endswith(tuple(f".{counter}" for counter in quirks().visitor_counters.host))
