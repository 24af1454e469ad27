"""Find sentences of a page about the withdrawal of its object, rather than of a part of the object.

The subject of such a sentence is the object: "This record was, on 12 March 2020, deleted". A portrait that was removed
from an album is part of a description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

from crawler.answers.quirks import bare, plain, quirks

#: Maximum number of characters between the object and the verb: a date, a reason, an agent.
_BETWEEN_CHARS = 110
#: Words after the object that belong to it: its name, its identifier, the person who requested it.
_NAMING = (
    r"(?:\s*[\(\[\"'\u00ab\u201e\u201c:,][^\)\]\"'\u00bb\u201d]{0,160}[\)\]\"'\u00bb\u201d,]|\s*@+"
    r"|\s+(?:you|we|that|which|identified|requested|named|called|entitled|titled|with|by|the|its|your|id|doi|ark|identifier|number|nr|no"
    r"|mit|der|die|das|dem|kennung|nummer|sie|angefordert\w*|avec|portant|l'identifiant|identifiant|demande\w*|con|identificador|numero"
    r"|solicitad\w*|richiest\w*|com|o|met|de|het|identificatie|gevraagde|have|are|looking|for|trying|to|access|question|in|under|\d+)\b){0,9}?"
)
#: The end of a sentence, not the full stop of a date or an abbreviation. Marks come first, because they are rare.
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|\Z)(?<!\b\d.)(?<!\b\d\d.)(?<!\b[A-Za-z].)(?<!\b[NnDMS][ro].)(?<!\bmrs.)|[\u3002\uff01\uff1f]"
)
ARK_OR_URL = re.compile(r"(?:https?://\S{0,500}?/)?ark:/?[^\s)\]\"'<>]+|https?://[^\s)\]\"'<>]+", re.IGNORECASE)
#: The beginning of a clause with another subject than the clause before it.
_CLAUSE = re.compile(r"[,;:|()\u2013\u2014-]|\b(?:that|dass|que|che|dat|att|at|het|что)\b")
#: A statement has at most this number of letters before its subject: "for legal reasons". More belong to a description.
_LEAD_LETTERS = 30
_TITLE_PART = re.compile(r"\s[|:\u2013\u2014\u00b7\u2022\u203a-]\s")
#: Signs that a withdrawal is not a fact: a condition, a negation, a wish, a rule.
_NO_FACT = re.compile(
    r"(?:\b(?:not|never|nicht|nie|kein\w*|pas|jamais|non|niet|nooit|inte|ikke|ikkje|nem|nao|nu|ne|не|нe|δεν|degil|ei|eivat"
    r"|be|werden|etre|ser|essere|worden zu|bli|blive)\b\s*(?:\w+\s+){0,2}\Z)"
    r"|\A\W*(?:if|when|whenever|should|unless|wenn|falls|sofern|si|se|cuando|quando|als|indien|om|hvis|jos|jesli|jezeli|pokud|ha|если|коли|eger|daca)\b"
)
#: The first half of a guess: "moved or", before "deleted".
_OR_BEFORE = re.compile(r"\b(?:or|oder|ou|o|of|eller|lub|albo|nebo|alebo|vagy|sau|или|або|veya|ya da|tai|ή)\s*\Z")
#: A sale from which a thing was withdrawn: this does not concern its record.
_SALE = re.compile(
    r"\b(?:(?:lot|los|lote|lotto|kavel)s?\s\d+|sale|auction|sotheby\w*|christie\w*|bonhams|drouot|auktion|versteigerung|vente|encheres"
    r"|adjug\w*|subasta|asta|leilao|veiling)\b"
)
#: Maximum distance of a sale before words of withdrawal, in characters.
_SALE_CHARS = 80
#: The history of a thing before it came to the collection, where it is now.
_PROVENANCE = re.compile(
    r"\b(?:bought|acquired|purchased|sold|donated|given to|bequeathed|presented to|erworben|angekauft|gekauft|verkauft"
    r"|acquis\w*|achet\w*|vendu\w*|adquirid\w*|comprad\w*|vendid\w*|acquistat\w*|vendut\w*|gekocht|verkocht|aangekocht)\b"
    r"|\b(?:until|till|bis|jusqu'en|hasta|fino al|ate|tot)\s(?:\w+\s){0,3}(?:1\d{3}|20[01]\d)\b"
)
_ALTERNATIVE = re.compile(
    r"\A[^.;:]{0,40}?(?:,|\b)\s*(?:or|oder|ou|eller|lub|albo|nebo|alebo|vagy|sau|или|або|veya|veja|tai|ή)\b"
    r"(?!\s(?:more|mehr|plus|mais))"
    r"|\A[^.;]{0,20}?\b(?:o|of|u)\s(?:mov|elim|camb|trasl|mod|borr|no\b|nunca|ha\b|spost|rimoss|canc|verpl|verw|gewijz|bestaat|nooit)"
)
#: "Removed to London".
_TO_A_PLACE = re.compile(r"\s(?:to|into|nach|vers|\u00e0|naar|till|til|do)\s(?:the\s)?[^\W\d_a-z]")
#: A position in a sentence where the object is not the withdrawn thing: "the cover of this book was removed".
_OF = re.compile(
    r"\b(?:of|in|from|on|to|for|with|by|about|within|inside|von|vom|im|aus|zu|zum|zur|bei|an|am|auf|de|du|des|d'|dans|en|sur|del|di|dal|nel"
    r"|della|do|da|no|na|van|uit|op|av|af|i|fra|fran|ur|z|ze|w|od|o|\u0438\u0437|\u0432|\u043e)\s?\Z"
)
_STATUS = re.compile(
    r"\A(?:\w+\s){0,2}(?:status|state|zustand|statut|estado|estat|stato|reason|grund|motif|raison|motivo|reden|toestand)[^:]{0,20}:\s*\Z"
)
#: Someone withdrew the thing that is named next.
_HAVING = re.compile(r"\b(?:have|has|had|avons|a|hemos|ha|abbiamo|he|heeft|hebben)\s(?:\w+\s)?\Z")
_BY_SOMEBODY = re.compile(
    r"\b(?:by|request|due|because|durch|wunsch|par|demande|por|peticion|pedido|richiesta|verzoek)\b"
)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A statement on a page that its object was withdrawn."""

    words: str
    names_object: bool
    """True if it names this very object, or says "this"."""
    is_bare: bool = False
    """True if it is a single word, not a sentence: things may have such titles."""
    place: str = "text"
    """``title``, ``heading`` or ``text``."""


def withdrawals_in(
    title: str, headings: Sequence[str], text: str, *, names: Iterable[str] = (), of_control: Iterable[str] = ()
) -> Iterator[Withdrawal]:
    """Return the sentences of a page that report the withdrawal of its object; *names* are names of the object.

    *of_control* are words in the answer for a name that can't exist, which do not count.

    >>> [each.words for each in withdrawals_in("Record", (), "Datensatz wurde am 12. M\u00e4rz 2020 gel\u00f6scht.")]
    ['datensatz wurde am 12. m\u00e4rz 2020 gel\u00f6scht']
    >>> list(withdrawals_in("Album", (), "The portrait was removed in 1920 at the request of the heirs."))
    []
    """
    control_words = set(of_control)
    calling = [name for name in names if len(name) >= 8 and not speaks_of_withdrawal(name)]
    before = ""
    for sentence, where in _sentences(title, headings, text):
        for name in calling:
            sentence = sentence.replace(name, "@@")
        withdrawal = _said_in(ARK_OR_URL.sub("@@", sentence))
        is_sold, before = _SALE.search(bare(plain(before[-_SALE_CHARS:]))), sentence
        if withdrawal is not None and is_sold and not withdrawal.names_object:
            continue
        if withdrawal is not None and withdrawal.words not in control_words:
            yield replace(withdrawal, place=where)


def _sentences(title: str, headings: Sequence[str], text: str) -> Iterator[tuple[str, str]]:
    """Return the parts of a title, the headings, and the sentences between them, with their places."""
    yield from ((part, "title") for part in _TITLE_PART.split(title) if part.strip())
    yield from ((heading, "heading") for heading in headings)
    for heading in headings:
        text = text.replace(heading, ". ", 1)
    yield from ((part.strip(), "text") for part in _SENTENCE_END.split(text) if part.strip())


@lru_cache(maxsize=2048)  # the pages of a site share many sentences
def _said_in(sentence: str) -> Withdrawal | None:
    """Return the object's withdrawal in a sentence, or None. The sentence has ``@@`` for each name of the object."""
    shown = plain(sentence)
    capitals = " ".join(sentence.split())
    plain_text, words = bare(shown), _words()
    for match in words.verb.finditer(plain_text):
        lead, rest = plain_text[: match.start()], plain_text[match.end() :]
        if is_no_fact(lead):
            continue
        if is_one_of_several(shown[match.end() :]) or _PROVENANCE.search(rest) or _SALE.search(lead[-_SALE_CHARS:]):
            continue
        if _HAVING.search(lead) and (object_ := words.at_once.match(rest)):
            said = shown[match.start() : match.end() + object_.end()]
            return Withdrawal(said, names_object=bool(object_["this"]))
        around = lead[-_BETWEEN_CHARS:] + match[0] + rest[:40]
        if _TO_A_PLACE.match(capitals[match.end() :]) or words.elsewhere.search(around):
            continue
        subject = words.subject.search(lead[-_BETWEEN_CHARS - 240 :])
        if subject is None and (lead.strip(" -|:,") == "" or _STATUS.match(lead)):
            is_bare = words.noun_at_once.match(rest) is None
            if words.goes_on.match(rest) or not is_bare:
                said = shown[match.start() : match.end()]
                return Withdrawal(said, names_object=False, is_bare=is_bare)
            continue
        if subject is None:
            continue
        start = max(0, len(lead) - _BETWEEN_CHARS - 240) + subject.start("object")
        if not subject["it"] and _OF.search(plain_text[:start]):
            continue
        is_certain = bool(subject["this"] or subject["it"])
        if not subject["this"] and sum(map(str.isalpha, _CLAUSE.split(plain_text[:start])[-1])) > _LEAD_LETTERS:
            continue
        if not is_certain and not subject["the"] and not _stands_alone(capitals, start):
            continue
        return Withdrawal(shown[start : match.end()].replace("@@", "it"), is_certain)
    return None


def speaks_of_withdrawal(part: str) -> bool:
    """Return True if a part of a sentence has a verb for withdrawn things: "the PDF was deleted"."""
    return _words().verb.search(bare(plain(part))) is not None


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of a text, in plain form."""
    return (plain(part) for part in _SENTENCE_END.split(text) if part.strip())


def is_no_fact(lead: str) -> bool:
    """Return True if the words before a word of withdrawal make it a condition, a negation, a wish or a guess.

    >>> is_no_fact("this record was not "), is_no_fact("this record was ")
    (True, False)
    """
    return bool(_NO_FACT.search(lead) or _OR_BEFORE.search(lead))


def is_one_of_several(rest: str) -> bool:
    """Return True if the words after a word of withdrawal make it one of several guesses: "deleted or moved".

    >>> is_one_of_several(", had its name changed, or is unavailable"), is_one_of_several(" by the author or an heir")
    (True, False)
    """
    following = plain(rest[:80])
    following = following if rest[:1].strip() else f" {following}"
    return bool(_ALTERNATIVE.match(following)) and not _BY_SOMEBODY.search(bare(following[:40]))


def _stands_alone(capitals: str, start: int) -> bool:
    """Return True if a noun without an article begins a statement: "Datensatz wurde", not "one item was"."""
    before = capitals[:start].rstrip(" \"'(").rpartition(" ")[2]
    if not before:
        return True
    if not capitals[start : start + 1].isupper() or before.lower() in _words().some:
        return False
    return not before.isalpha() or before[:1].isupper()


class _WithdrawalPhrases:
    """Patterns for parts of a sentence about a withdrawal. Each is compiled when it is needed: few pages need all."""

    def __init__(self, sections: Mapping[str, Any]) -> None:
        self.some = frozenset(_flat(sections["some"]))
        self._ways = {}
        for key, section in sections.items():
            escaped = (re.escape(bare(plain(phrase))) for phrase in _flat(section))
            self._ways[key] = "|".join(sorted(escaped, key=len, reverse=True))
        ways = self._ways
        self._nouns = rf"(?:{ways['noun']})"
        self._this = rf"(?P<this>\b(?:{ways['this']})\s?(?:\w+\s){{0,2}}?{self._nouns}\w{{0,3}}\b)"
        self._the = rf"(?P<the>\b(?:{ways['the']})\s?(?:(?:{ways['asked']})\w{{0,4}}\s)?{self._nouns}\w{{0,3}}\b)"

    @cached_property
    def verb(self) -> re.Pattern[str]:
        """Verbs for withdrawn objects."""
        return re.compile(rf"(?<![^\W_])(?:{self._ways['gone']})[^\W\d_]{{0,3}}(?![^\W_])")

    @cached_property
    def subject(self) -> re.Pattern[str]:
        """The object, followed only by time, reason and agent up to the end."""
        ways = self._ways
        parts = rf"(?:{ways['starter']}|\d)"
        one = rf"(?P<one>\b{self._nouns}\w{{0,2}}\b)"
        within = rf"(?:(?!\b(?:{ways['relative']})\b)[^;:!?|]){{0,{_BETWEEN_CHARS}}}"
        between = rf"(?:\s*(?:\b(?:{ways['aux']})\b)?(?:[\s,]+{parts}{within})?)"
        object_ = rf"(?P<object>(?<!\w){self._this}|(?<!\w){self._the}|(?P<it>@@)|{one})"
        return re.compile(rf"{object_}{_NAMING}{between}[\s,]*\Z")

    @cached_property
    def elsewhere(self) -> re.Pattern[str]:
        """The removal from a place in the world, as of an altar from its church."""
        wishes = ("request", "\u00f8nske", "krav", "anmodning", "begaran", "begaering", "wunsch")
        not_from_a_person = "".join(rf"(?<!\b{wish} )" for wish in wishes)
        out_of = (
            rf"(?:{not_from_a_person}\b(?:from|aus|vom|uit|fra|fran|ur|из)\s+"
            rf"|(?:{self._ways['gone']})\w{{0,3}}\s(?:(?:de la|del|du|des|de|da|do|dal|dalla)\b|de l'|dall')\s?)"
        )
        return re.compile(
            rf"{out_of}(?:(?:the|this|our|its|der|dem|den|diese[rmn]|unsere[rmn]|het|onze|la|le|el|il|o|notre|nuestr[oa]"
            rf"|nossa|nosso)\s)?+(?!(?:\w+\s){{0,2}}\w*(?:{self._ways['system']}|us\b|here\b))\w+"
        )

    @cached_property
    def goes_on(self) -> re.Pattern[str]:
        """The end of the sentence after the verb, or a time, reason or agent."""
        after = "at|on|by|from|since|due|for|in|am|auf|durch|von|aus|le|a|par|por|su|da|op|door"
        return re.compile(rf"\A\W*(?:\Z|@|\d|[.:;,(\u2013-]|(?:{after})\b)")

    @cached_property
    def noun_at_once(self) -> re.Pattern[str]:
        """A noun for the object, directly after the verb, that ends the sentence."""
        return re.compile(rf"\A\s(?:{self._nouns}|page|notice|seite)\w{{0,3}}\s*\Z")

    @cached_property
    def at_once(self) -> re.Pattern[str]:
        """The object directly after the verb: "have removed this item"."""
        return re.compile(rf"\A\s(?:{self._this}|{self._the})")


@cache
def _words() -> _WithdrawalPhrases:
    return _WithdrawalPhrases(quirks().withdrawal)


def _flat(section: Any) -> Iterable[str]:
    return [word for words in section.values() for word in words] if isinstance(section, Mapping) else section
