"""Compare two answers without their bodies: by digest, by text, or by a sketch of the whole text."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import pairwise, takewhile

import regex
from rapidfuzz import fuzz

from crawler.model.observations import ChainEnd, Observation
from crawler.model.resolving import SUCCESSES
from extractors.model.urls import authority_of, split_url

#: Characters of readable text that are kept with an observation, as evidence and for comparisons.
TEXT_LIMIT = 8_000
#: Texts at least this alike (in percent) are the same page with another name in it,
SAME_PAGE = 95.0
#: unless they differ in more words than this: a long frame around a short record makes all pages of a site alike.
FEW_WORDS = 3
#: Hashes in a sketch. The share of common hashes is about the share of common phrases.
SKETCH_HASHES = 32
#: Phrases of this many words are hashed.
_PHRASE_WORDS = 3
#: Common words of two pages that may belong to their own sentences.
_KEPT_WORDS = 6
#: Words at the end of a truncated text that may be cut too; and the minimum number of words to compare.
_CUT_WORDS = 2
_TELLING_WORDS = 3
#: Sketches at least this alike are of the same page; one of thirty-two hashes may differ.
SAME_SKETCH = 0.96

#: An answer that differs this many times more from two controls than they from each other is of another kind.
_MUCH_MORE = 3

_NUMBER = re.compile(r"\d{2,}")
#: An ARK or the URL of one. The regex module finds it faster. White space is that of Python.
ANY_ARK = regex.compile(r"(?:https?://[^\s\x1c-\x1f]{0,500}?/)?ark:/?[^\s\x1c-\x1f]+", regex.IGNORECASE)
#: A word; in scripts without spaces between words (Thai, Lao, Burmese, Khmer, East Asian), a character.
_WORD = re.compile(
    "[\N{THAI CHARACTER KO KAI}-\N{LAO DIGIT NINE}\N{MYANMAR LETTER KA}-\N{MYANMAR LETTER SHWE PALAUNG SHA}"
    "\N{KHMER LETTER KA}-\N{KHMER SIGN ATTHACAN}\N{HIRAGANA LETTER SMALL A}-\N{KATAKANA LETTER SMALL RO}"
    "\N{CJK UNIFIED IDEOGRAPH-3400}-\N{CJK UNIFIED IDEOGRAPH-9FFF}]"
    r"|[^\W\d_]{2,}"
)


def sketch(text: str) -> str | None:
    """Return a similarity signature: the smallest hashes of the text's phrases, in hexadecimal; None without words.

    ARKs, numbers and times are ignored, so a page that only repeats the request keeps its sketch.

    >>> one = sketch("Nothing is known here of ark:/1/x5, asked for at 10:15")
    >>> one is not None and one == sketch("Nothing is known here of ark:/1/zzz, asked for at 11:47")
    True
    """
    words = _WORD.findall(ANY_ARK.sub(" ", text).lower())
    if not words:
        return None
    length = min(_PHRASE_WORDS, len(words))
    phrases = set(map(" ".join, zip(*(words[at:] for at in range(length)), strict=False)))
    hashes = nsmallest(SKETCH_HASHES, {zlib.crc32(phrase.encode("utf-8", "replace")) for phrase in phrases})
    return "".join(f"{value:08x}" for value in hashes)


def likeness(one: str, other: str) -> float:
    """Return an estimate of the share of common phrases of two sketched texts, from 0 to 1.

    >>> likeness("0000000a0000000b", "0000000a0000000c")
    0.3333333333333333
    """
    first, second = ({sketch_[at : at + 8] for at in range(0, len(sketch_), 8)} for sketch_ in (one, other))
    smallest = set(sorted(first | second)[:SKETCH_HASHES])
    return len(smallest & first & second) / len(smallest) if smallest else 1.0


def same_page(one: str | None, other: str | None, *names: str) -> bool:
    """Return True if two texts are the same without ARKs and the given *names*.

    Numbers count little, because times and counters change. The rest of a truncated text is unknown.

    >>> same_page("Nothing at ark:/1/x5", "Nothing at ark:/1/zzz")
    True
    >>> same_page("Record of a map of Lyon, 1784", "Nothing here")
    False
    """
    first, second = (_NUMBER.sub("0", _without_names(text or "", names)) for text in (one, other))
    if not first or not second:
        return first == second
    if min(len(one or ""), len(other or "")) >= TEXT_LIMIT:
        return False
    differing = set(_WORD.findall(first)) ^ set(_WORD.findall(second))
    return len(differing) <= FEW_WORDS and fuzz.ratio(first, second) >= SAME_PAGE


def own_words(answer: Observation, control: Observation | None) -> str:
    """Return the text of a page without the common beginning and end of a control's page at the same host.

    These parts belong to the site. A few of their words are kept on both sides, because sentences may begin alike. The
    titles, which may differ, are compared apart.
    """
    text = answer.text or ""
    if control is None or not control.text or authority_of(answer.final_url) != authority_of(control.final_url):
        return text
    are_titles_apart = bool(answer.title and control.title and answer.title != control.title)
    title, other_title = (answer.title or "", control.title or "") if are_titles_apart else ("", "")
    mine, theirs = text.removeprefix(title).split(), control.text.removeprefix(other_title).split()
    if mine == theirs:
        return text
    before = common_length(mine, theirs)
    after = common_length(mine[before:][::-1], theirs[before:][::-1])
    end = len(mine) - max(0, after - _KEPT_WORDS)
    kept, own = mine[max(0, before - _KEPT_WORDS) : before], mine[before:end]
    # A sentence ends with the site's part. Scripts without blanks between words have no capitals.
    if kept and own and (own[0][:1].isupper() or "\u2e80" <= own[0] < "\ua000"):
        kept = [*kept, "."]
    return " ".join([*title.split(), *kept, *own])


def has_nothing_of_its_own(answer: Observation, controls: Sequence[Observation], again: Iterable[Observation]) -> bool:
    """Return True if the stable part of a changing page is also in the pages of *controls*.

    *again* are further answers about the same object; those at its own address are copies of the page.
    """
    url_without_query = answer.final_url.partition("?")[0]
    names = tuple(name for page in (answer, *controls) for name in (page.asked_url, last_part(page.asked_url)))
    once_more = [other for other in again if _is_once_more(other, answer, url_without_query)]
    if not once_more:
        return False
    first, others = _words_in(answer, names), []
    for other in once_more:
        words = _words_in(other, names)
        if other.title == answer.title if answer.title else len(first & words) > FEW_WORDS:
            others.append(words)
    kept = first.intersection(*others)
    changes = any(len(first ^ words) > FEW_WORDS for words in others)
    return changes and len(kept.difference(*(_words_in(control, names) for control in controls))) <= FEW_WORDS


def differs_at_random(answer: Observation, control: Observation, other: Observation) -> bool:
    """Return True if two controls share no more with each other than each shares with *answer* by chance.

    Pages for unknown names share title and heading, or first or last sentences, that the object's page lacks, although
    news, times and counters differ. Pages that are made up for each name share nothing. A page with the title and the
    heading of both controls differs from them by news alone.
    """
    pages = (answer, control, other)
    name, *others = ((page.title, page.facts.headings[:1]) for page in pages)
    if others[0] == others[1] and any(others[0]):
        if name != others[0]:
            return False
        if all(name):
            return True
    names = tuple(name for page in pages for name in (page.asked_url, last_part(page.asked_url)))
    own, first, second = (_steady_words(page, names) for page in pages)
    between = len(set(first) ^ set(second))
    if not between or _MUCH_MORE * between < min(len(set(own) ^ set(first)), len(set(own) ^ set(second))):
        return False
    phrases, of_first, of_second = (set(pairwise(words)) for words in (own, first, second))
    begin, end = common_length(first, second), common_length(first[::-1], second[::-1])
    if len({*pairwise(first[:begin]), *pairwise(first[len(first) - end :])} - phrases) > FEW_WORDS:
        return False
    in_common = of_first & of_second - phrases
    by_chance = max(len(phrases & of_first - of_second), len(phrases & of_second - of_first))
    return len(in_common) <= 2 * by_chance + FEW_WORDS


def _steady_words(answer: Observation, names: tuple[str, ...]) -> list[str]:
    """Return the words of a page without digits, which are in times, counters and keys."""
    text = _without_names(answer.text or "", names).lower()
    return [word for part in text.split() if not any(map(str.isdigit, part)) for word in _WORD.findall(part)]


def _is_once_more(other: Observation, answer: Observation, url_without_query: str) -> bool:
    is_there = _succeeds(other) and other.final_url.partition("?")[0] == url_without_query
    is_page = bool(other.text) and other.record is None and other.media_type == answer.media_type
    return is_there and is_page and other.facts.kernel_values == answer.facts.kernel_values


def _succeeds(answer: Observation) -> bool:
    return answer.end is ChainEnd.ANSWERED and answer.status in SUCCESSES


def _words_in(answer: Observation, names: tuple[str, ...]) -> set[str]:
    return set(_WORD.findall(_without_names(f"{answer.title or ''} {answer.text or ''}", names).lower()))


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of common members at the beginning of two texts or lists of words."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def same_answer(one: Observation, other: Observation) -> bool:
    """Return True if two successful answers are one: the same body, the same address, or the same text except names.

    Unread parts of a body prove nothing.
    """
    if not (_succeeds(one) and _succeeds(other)):
        return False
    if one.body_sha256 is not None and one.body_sha256 == other.body_sha256:
        return True
    are_whole = one.body_complete and other.body_complete
    are_empty = are_whole and one.body_bytes == other.body_bytes == 0
    # The query counts, because it often names the object.
    is_one_place = len(one.hops) > 1 and len(other.hops) > 1 and one.final_url == other.final_url
    if are_empty or is_one_place:
        return True
    if one.text is None or other.text is None:
        return _same_unread(one, other)
    names = (one.asked_url, other.asked_url, last_part(one.asked_url), last_part(other.asked_url))
    if not are_whole and same_beginning(one, other, *names):
        return True
    if min(len(one.text), len(other.text)) >= TEXT_LIMIT:
        sketches = (one.similarity, other.similarity)
        return None not in sketches and likeness(*map(str, sketches)) >= SAME_SKETCH
    return same_page(one.text, other.text, *names)


def same_beginning(one: Observation, other: Observation, *names: str) -> bool:
    """Return True if two answers, at least one cut off, are the same as far as both arrived, except for names.

    The last words of the shorter one may be cut.
    """
    words, other_words = (_without_names(each.text or "", names).split() for each in (one, other))
    shorter, longer = sorted((words, other_words), key=len)
    if one.body_complete != other.body_complete:
        cut = other_words if one.body_complete else words
        if len(cut) > len(shorter):
            return False  # the complete one ends where the other continues
    kept = shorter[: len(shorter) - _CUT_WORDS]
    return len(kept) >= _TELLING_WORDS and longer[: len(kept)] == kept


def last_part(url: str) -> str:
    """Return the last segment of a URL's path, usually a name.

    >>> last_part("https://n2t.net/ark:/12148/btv1b84?info")
    'btv1b84'
    """
    return split_url(url).path.rpartition("/")[2]


def _same_unread(one: Observation, other: Observation) -> bool:
    """Return True if two unread bodies, such as pictures, are the same by their headers."""
    first, second = (observation.hops[-1].headers for observation in (one, other))
    names = [name for name in ("Content-Type", "Content-Length", "Last-Modified") if name in first]
    are_unread = one.text is other.text is None and "Content-Length" in names
    return are_unread and all(first[name] == second.get(name) for name in names)


def _without_names(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        if name:
            text = text.replace(name, " ")
    return " ".join(ANY_ARK.sub(" ", text).split())
