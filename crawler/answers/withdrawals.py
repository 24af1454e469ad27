"""Find sentences of a page about the withdrawal of its object, rather than of a part of the object.

The subject of such a sentence is the object: "This record was, on 12 March 2020, deleted". A portrait that was removed
from an album is part of a description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

from crawler.answers.quirks import TITLE_PARTS, bare, plain, quirks

#: Maximum number of characters between the object and the verb: a date, a reason, an agent.
_BETWEEN_CHARS = 110
#: The end of a sentence, not the full stop of a date or an abbreviation. Marks come first, because they are rare.
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|\Z)(?<!\b\d.)(?<!\b\d\d.)(?<!\b[A-Za-z].)(?<!\b[NnDMS][ro].)(?<!\bmrs.)|[\u3002\uff01\uff1f]"
)
ARK_OR_URL = re.compile(r"(?:https?://\S{0,500}?/)?ark:/?[^\s)\]\"'<>]+|https?://[^\s)\]\"'<>]+", re.IGNORECASE)
#: A statement has at most this number of letters before its subject: "for legal reasons". More belong to a description.
_LEAD_LETTERS = 30
#: Maximum distance of a sale before words of withdrawal, in characters.
_SALE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A statement on a page that its object was withdrawn."""

    words: str
    names_object: bool
    """True if the statement names this very object, or says "this"."""
    is_bare: bool = False
    """True if the statement is only a verb, such as "Withdrawn". The title of a thing may be such a word too."""
    part: str = "text"
    """The part of the page with the statement: ``title``, ``heading`` or ``text``."""


def withdrawals_in(
    title: str, headings: Sequence[str], text: str, *, names: Iterable[str] = (), control_phrases: Iterable[str] = ()
) -> Iterator[Withdrawal]:
    """Yield the statements on a page that its object was withdrawn; *names* are names of the object.

    Statements whose words are in *control_phrases* are left out. These are on the page for a name that can't exist.

    >>> [withdrawal.words for withdrawal in withdrawals_in("Record", (), "Datensatz wurde am 12. M\u00e4rz 2020 gel\u00f6scht.")]
    ['datensatz wurde am 12. m\u00e4rz 2020 gel\u00f6scht']
    >>> list(withdrawals_in("Album", (), "The portrait was removed in 1920 at the request of the heirs."))
    []
    """
    control_words = set(control_phrases)
    object_names = [name for name in names if len(name) >= 8 and not speaks_of_withdrawal(name)]
    previous_sentence = ""
    for sentence, part in _sentences(title, headings, text):
        for name in object_names:
            sentence = sentence.replace(name, "@@")
        withdrawal = _withdrawal_in(ARK_OR_URL.sub("@@", sentence))
        is_sold, previous_sentence = _patterns().sale.search(bare(plain(previous_sentence[-_SALE_CHARS:]))), sentence
        if withdrawal is not None and is_sold and not withdrawal.names_object:
            continue
        if withdrawal is not None and withdrawal.words not in control_words:
            yield replace(withdrawal, part=part)


def _sentences(title: str, headings: Sequence[str], text: str) -> Iterator[tuple[str, str]]:
    """Return parts of the title, headings, and sentences of *text*, each with ``title``, ``heading`` or ``text``."""
    yield from ((title_part, "title") for title_part in TITLE_PARTS.split(title) if title_part.strip())
    yield from ((heading, "heading") for heading in headings)
    for heading in headings:
        text = text.replace(heading, ". ", 1)
    yield from ((part.strip(), "text") for part in _SENTENCE_END.split(text) if part.strip())


@lru_cache(maxsize=2048)  # the pages of a site share many sentences
def _withdrawal_in(sentence: str) -> Withdrawal | None:
    """Return the statement in *sentence* that the object was withdrawn, or None. ``@@`` stands for its name or URL."""
    plain_sentence = plain(sentence)
    folded_sentence = " ".join(sentence.split())
    plain_text, patterns = bare(plain_sentence), _patterns()
    for match in patterns.verb.finditer(plain_text):
        words_before, words_after = plain_text[: match.start()], plain_text[match.end() :]
        if is_no_fact(words_before):
            continue
        if (
            is_one_of_several(plain_sentence[match.end() :])
            or patterns.provenance.search(words_after)
            or patterns.sale.search(words_before[-_SALE_CHARS:])
        ):
            continue
        if patterns.having.search(words_before) and (object_ := patterns.at_once.match(words_after)):
            quoted_words = plain_sentence[match.start() : match.end() + object_.end()]
            return Withdrawal(quoted_words, names_object=bool(object_["this"]))
        context = words_before[-_BETWEEN_CHARS:] + match[0] + words_after[:40]
        if patterns.to_a_place.match(bare(folded_sentence[match.end() :])) or patterns.removed_from_place.search(
            context
        ):
            continue
        subject = patterns.subject.search(words_before[-_BETWEEN_CHARS - 240 :])
        if subject is None and (words_before.strip(" -|:,") == "" or patterns.status.match(words_before)):
            is_bare = patterns.noun_at_once.match(words_after) is None
            if patterns.goes_on.match(words_after) or not is_bare:
                quoted_words = plain_sentence[match.start() : match.end()]
                return Withdrawal(quoted_words, names_object=False, is_bare=is_bare)
            continue
        if subject is None:
            continue
        start = max(0, len(words_before) - _BETWEEN_CHARS - 240) + subject.start("object")
        if not subject["it"] and patterns.position.search(plain_text[:start]):
            continue
        is_certain = bool(subject["this"] or subject["it"])
        if not subject["this"] and sum(map(str.isalpha, patterns.clause.split(plain_text[:start])[-1])) > _LEAD_LETTERS:
            continue
        if not is_certain and not subject["the"] and not _stands_alone(folded_sentence, start):
            continue
        return Withdrawal(plain_sentence[start : match.end()].replace("@@", "\N{HORIZONTAL ELLIPSIS}"), is_certain)
    return None


def speaks_of_withdrawal(part: str) -> bool:
    """Return True if a part of a sentence has a verb for withdrawn things: "the PDF was deleted"."""
    return _patterns().verb.search(bare(plain(part))) is not None


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of a text, in plain form."""
    return (plain(part) for part in _SENTENCE_END.split(text) if part.strip())


def is_no_fact(words_before: str) -> bool:
    """Return True if the words before a word of withdrawal make it a condition, a negation, a wish or a guess.

    >>> is_no_fact("this record was not "), is_no_fact("this record was ")
    (True, False)
    """
    return _patterns().no_fact.search(words_before) is not None


def is_one_of_several(words_after: str) -> bool:
    """Return True if the words after a word of withdrawal make it one of several guesses: "deleted or moved".

    >>> is_one_of_several(", had its name changed, or is unavailable"), is_one_of_several(" by the author or an heir")
    (True, False)
    """
    following = plain(words_after[:80])
    following = following if words_after[:1].strip() else f" {following}"
    return bool(_patterns().guess_after.match(following)) and not _patterns().by_somebody.search(bare(following[:40]))


def _stands_alone(folded_sentence: str, start: int) -> bool:
    """Return True if a noun without an article begins a statement: "Datensatz wurde", not "one item was"."""
    previous_word = folded_sentence[:start].rstrip(" \"'(").rpartition(" ")[2]
    if not previous_word:
        return True
    if not folded_sentence[start : start + 1].isupper() or previous_word.lower() in _patterns().some:
        return False
    return not previous_word.isalpha() or previous_word[:1].isupper()


class _WithdrawalPhrases:
    """Patterns for parts of a sentence without accents, compiled when needed: few pages need all.

    The words are those of `[withdrawal]` in ``quirks.toml``, by their function in the sentence.
    """

    def __init__(self, sections: Mapping[str, Any]) -> None:
        self.some = frozenset(_word_list(sections["some"]))
        self._alternations = {key: _alternatives(_word_list(section), bare) for key, section in sections.items()}
        # Vietnamese "t\u00e0i" is not the Finnish word for "or".
        self._alternations["or_after"] = _alternatives(sections["or_after"])
        self._alternations["not_wished"] = "".join(rf"(?<!\b{wish} )" for wish in map(bare, sections["wish"]))
        self._alternations["this"] = self._fill(r"(?P<this>\b(?:%(this)s)\s?(?:\w+\s){0,2}?(?:%(noun)s)\w{0,3}\b)")
        self._alternations["the"] = self._fill(
            r"(?P<the>\b(?:%(the)s)\s?(?:(?:%(asked)s)\w{0,4}\s)?(?:%(noun)s)\w{0,3}\b)"
        )

    def _fill(self, pattern: str) -> str:
        """Return a pattern with the words of sections in place of their names, such as ``%(noun)s``."""
        return pattern % self._alternations

    def _compile(self, pattern: str) -> re.Pattern[str]:
        return re.compile(self._fill(pattern))

    @cached_property
    def verb(self) -> re.Pattern[str]:
        """Verbs for withdrawn objects."""
        return self._compile(r"(?<![^\W_])(?:%(gone)s)[^\W\d_]{0,3}(?![^\W_])")

    @cached_property
    def subject(self) -> re.Pattern[str]:
        """The object before a verb, such as "this record", with only a name, time, reason or agent after it."""
        object_ = r"(?P<object>(?<!\w)%(this)s|(?<!\w)%(the)s|(?P<it>@@)|(?P<one>\b(?:%(noun)s)\w{0,2}\b))"
        quoted = r"[\(\[\"'\u00ab\u201e\u201c:,][^\)\]\"'\u00bb\u201d]{0,160}[\)\]\"'\u00bb\u201d,]"
        naming = rf"(?:\s*{quoted}|\s*@+|\s+(?:%(naming)s|\d+)\b){{0,9}}?"
        within = rf"(?:(?!\b(?:%(relative)s)\b)[^;:!?|]){{0,{_BETWEEN_CHARS}}}"
        between = rf"(?:\s*(?:\b(?:%(aux)s)\b)?(?:[\s,]+(?:%(starter)s|\d){within})?)"
        return self._compile(rf"{object_}{naming}{between}[\s,]*\Z")

    @cached_property
    def removed_from_place(self) -> re.Pattern[str]:
        """The removal from a place in the world, as of an altar from its church."""
        return self._compile(
            r"(?:%(not_wished)s\b(?:%(out_of)s)\s+|(?:%(gone)s)\w{0,3}\s(?:(?:%(out_of_after_verb)s)\b|de l'|dall')\s?)"
            r"(?:(?:%(place_article)s)\s)?+(?!(?:\w+\s){0,2}\w*(?:%(system)s|us\b|here\b))\w+"
        )

    @cached_property
    def goes_on(self) -> re.Pattern[str]:
        """The end of the sentence after the verb, or a time, reason or agent."""
        return self._compile(r"\A\W*(?:\Z|@|\d|[.:;,(\u2013-]|(?:%(goes_on)s)\b)")

    @cached_property
    def noun_at_once(self) -> re.Pattern[str]:
        """A noun for the object, directly after the verb, that ends the sentence."""
        return self._compile(r"\A\s(?:%(noun)s|%(page)s)\w{0,3}\s*\Z")

    @cached_property
    def at_once(self) -> re.Pattern[str]:
        """The object directly after the verb: "have removed this item"."""
        return self._compile(r"\A\s(?:%(this)s|%(the)s)")

    @cached_property
    def no_fact(self) -> re.Pattern[str]:
        """The words before a verb that make it a negation, a wish, a rule, a condition or a guess."""
        return self._compile(
            r"\b(?:%(no_fact)s)\b\s*(?:\w+\s+){0,2}\Z|\A\W*(?:%(condition)s)\b|\b(?:%(or_before)s)\s*\Z"
        )

    @cached_property
    def guess_after(self) -> re.Pattern[str]:
        """The words after a verb that name another possibility: "or moved"."""
        return self._compile(
            r"\A[^.;:]{0,40}?(?:,|\b)\s*(?:%(or_after)s)\b(?!\s(?:%(no_or_after)s))"
            r"|\A[^.;]{0,20}?\b(?:%(or_verb)s)\s(?:%(or_verb_stem)s)\b"
        )

    @cached_property
    def by_somebody(self) -> re.Pattern[str]:
        """An agent or a reason after a verb."""
        return self._compile(r"\b(?:%(by_somebody)s)\b")

    @cached_property
    def sale(self) -> re.Pattern[str]:
        """A sale, or a lot of it: a thing withdrawn from a sale is still described."""
        return self._compile(r"\b(?:(?:%(lot)s)s?\s\d+|%(sale)s)\b")

    @cached_property
    def provenance(self) -> re.Pattern[str]:
        """The history of a thing before it came to the collection: a sale, a gift, the end of a time in the past."""
        return self._compile(r"\b(?:%(provenance)s)\b|\b(?:%(until)s)\s(?:\w+\s){0,3}(?:1\d{3}|20[01]\d)\b")

    @cached_property
    def position(self) -> re.Pattern[str]:
        """A preposition before the object. It shows that only a part was withdrawn, as "of" in "a page of this album"."""
        return self._compile(r"\b(?:%(preposition)s)\s?\Z")

    @cached_property
    def status(self) -> re.Pattern[str]:
        """The label of a status or a reason before the verb."""
        return self._compile(r"\A(?:\w+\s){0,2}(?:%(status)s)[^:]{0,20}:\s*\Z")

    @cached_property
    def having(self) -> re.Pattern[str]:
        """The auxiliary verb before an active verb, as "have" in "we have removed this item"."""
        return self._compile(r"\b(?:%(having)s)\s(?:\w+\s)?\Z")

    @cached_property
    def to_a_place(self) -> re.Pattern[str]:
        """A direction after the verb, with the capital letter of a place: "removed to London"."""
        return self._compile(r"\s(?:%(to_a_place)s)\s(?:the\s)?[^\W\d_a-z]")

    @cached_property
    def clause(self) -> re.Pattern[str]:
        """The beginning of a clause that may have another subject: a comma, a bracket or a conjunction."""
        return self._compile(r"[,;:|()\u2013\u2014-]|\b(?:%(clause)s)\b")


def _alternatives(phrases: Iterable[str], fold: Callable[[str], str] = str) -> str:
    """Return a pattern that matches any of *phrases* in plain form, the longest first. A star in a phrase is any ending."""
    escaped = (re.escape(fold(plain(phrase))).replace(r"\*", r"\w*") for phrase in phrases)
    return "|".join(sorted(escaped, key=len, reverse=True))


@cache
def _patterns() -> _WithdrawalPhrases:
    return _WithdrawalPhrases(quirks().withdrawal)


def _word_list(section: Any) -> Iterable[str]:
    return [word for words in section.values() for word in words] if isinstance(section, Mapping) else section
