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
_COMMON_WORDS = 6
#: Words at the end of a truncated text that may be cut too; and the minimum number of words to compare.
_CUT_WORDS = 2
_ENOUGH_WORDS = 3
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
    phrases = set(map(" ".join, zip(*(words[offset:] for offset in range(length)), strict=False)))
    hashes = nsmallest(SKETCH_HASHES, {zlib.crc32(phrase.encode("utf-8", "replace")) for phrase in phrases})
    return "".join(f"{phrase_hash:08x}" for phrase_hash in hashes)


def likeness(one_sketch: str, other_sketch: str) -> float:
    """Return an estimate of the share of common phrases of two texts, from 0 to 1, by their sketches.

    >>> likeness("0000000a0000000b", "0000000a0000000c")
    0.3333333333333333
    """
    sketches = (one_sketch, other_sketch)
    first_hashes, second_hashes = (
        {text[offset : offset + 8] for offset in range(0, len(text), 8)} for text in sketches
    )
    smallest = set(sorted(first_hashes | second_hashes)[:SKETCH_HASHES])
    return len(smallest & first_hashes & second_hashes) / len(smallest) if smallest else 1.0


def same_page(text: str | None, other_text: str | None, *names: str) -> bool:
    """Return True if two texts are the same without ARKs and the given *names*.

    Numbers count little, because times and counters change. The rest of a truncated text is unknown.

    >>> same_page("Nothing at ark:/1/x5", "Nothing at ark:/1/zzz")
    True
    >>> same_page("Record of a map of Lyon, 1784", "Nothing here")
    False
    """
    first_folded, second_folded = (_NUMBER.sub("0", _without_names(part or "", names)) for part in (text, other_text))
    if not first_folded or not second_folded:
        return first_folded == second_folded
    if min(len(text or ""), len(other_text or "")) >= TEXT_LIMIT:
        return False
    differing = set(_WORD.findall(first_folded)) ^ set(_WORD.findall(second_folded))
    return len(differing) <= FEW_WORDS and fuzz.ratio(first_folded, second_folded) >= SAME_PAGE


def own_words(answer: Observation, control: Observation | None) -> str:
    """Return the text of *answer* without the beginning and end that it shares with a control's page at the same host.

    These parts belong to the site. A few of their words are kept on both sides, because sentences may begin alike. The
    titles, which may differ, are compared apart.
    """
    text = answer.text or ""
    if control is None or not control.text or authority_of(answer.final_url) != authority_of(control.final_url):
        return text
    are_titles_apart = bool(answer.title and control.title and answer.title != control.title)
    title, other_title = (answer.title or "", control.title or "") if are_titles_apart else ("", "")
    words, control_words = text.removeprefix(title).split(), control.text.removeprefix(other_title).split()
    if words == control_words:
        return text
    common_start = common_length(words, control_words)
    common_end = common_length(words[common_start:][::-1], control_words[common_start:][::-1])
    own_end = len(words) - max(0, common_end - _COMMON_WORDS)
    lead_words, remaining_words = (
        words[max(0, common_start - _COMMON_WORDS) : common_start],
        words[common_start:own_end],
    )
    # A sentence ends with the site's part. Scripts without blanks between words have no capitals.
    if (
        lead_words
        and remaining_words
        and (remaining_words[0][:1].isupper() or "\u2e80" <= remaining_words[0] < "\ua000")
    ):
        lead_words = [*lead_words, "."]
    return " ".join([*title.split(), *lead_words, *remaining_words])


def has_nothing_of_its_own(
    answer: Observation, controls: Sequence[Observation], further_answers: Iterable[Observation]
) -> bool:
    """Return True if copies of the page differ, and hardly any of their common words are missing on all *controls*' pages.

    The copies are those of *further_answers*, about the same object, that come from the address of *answer*. Without
    copies, the result is False.
    """
    url_without_query = answer.final_url.partition("?")[0]
    names = tuple(name for page in (answer, *controls) for name in (page.asked_url, last_part(page.asked_url)))
    page_copies = [other for other in further_answers if _is_page_copy(other, answer, url_without_query)]
    if not page_copies:
        return False
    page_words, copy_words = _word_set(answer, names), []
    for other in page_copies:
        words = _word_set(other, names)
        if other.title == answer.title if answer.title else len(page_words & words) > FEW_WORDS:
            copy_words.append(words)
    stable_words = page_words.intersection(*copy_words)
    changes = any(len(page_words ^ words) > FEW_WORDS for words in copy_words)
    return changes and len(stable_words.difference(*(_word_set(control, names) for control in controls))) <= FEW_WORDS


def differs_at_random(answer: Observation, control: Observation, second_control: Observation) -> bool:
    """Return True if the pages of two controls are hardly more alike than each is to the page of *answer*.

    Pages for unknown names share title and heading, or first or last sentences, that the object's page lacks, although
    news, times and counters differ. Pages that are made up for each name share nothing. If all three
    pages have the same title and first heading, the result is True.
    """
    pages = (answer, control, second_control)
    own_headline, *control_headlines = ((page.title, page.facts.headings[:1]) for page in pages)
    if control_headlines[0] == control_headlines[1] and any(control_headlines[0]):
        if own_headline != control_headlines[0]:
            return False
        if all(own_headline):
            return True
    names = tuple(name for page in pages for name in (page.asked_url, last_part(page.asked_url)))
    object_words, first_words, second_words = (_steady_words(page, names) for page in pages)
    control_distance = len(set(first_words) ^ set(second_words))
    if not control_distance or _MUCH_MORE * control_distance < min(
        len(set(object_words) ^ set(first_words)), len(set(object_words) ^ set(second_words))
    ):
        return False
    own_phrases, control_phrases, second_phrases = (
        set(pairwise(words)) for words in (object_words, first_words, second_words)
    )
    common_start, common_end = (
        common_length(first_words, second_words),
        common_length(first_words[::-1], second_words[::-1]),
    )
    if (
        len(
            {*pairwise(first_words[:common_start]), *pairwise(first_words[len(first_words) - common_end :])}
            - own_phrases
        )
        > FEW_WORDS
    ):
        return False
    shared_phrases = control_phrases & second_phrases - own_phrases
    chance_phrases = max(
        len(own_phrases & control_phrases - second_phrases), len(own_phrases & second_phrases - control_phrases)
    )
    return len(shared_phrases) <= 2 * chance_phrases + FEW_WORDS


def _steady_words(answer: Observation, names: tuple[str, ...]) -> list[str]:
    """Return the words of a page, except *names* and those with digits, which are in times, counters and keys."""
    text = _without_names(answer.text or "", names).lower()
    return [word for part in text.split() if not any(map(str.isdigit, part)) for word in _WORD.findall(part)]


def _is_page_copy(other: Observation, answer: Observation, url_without_query: str) -> bool:
    is_at_address = _succeeds(other) and other.final_url.partition("?")[0] == url_without_query
    is_page = bool(other.text) and other.record is None and other.media_type == answer.media_type
    return is_at_address and is_page and other.facts.kernel_values == answer.facts.kernel_values


def _succeeds(answer: Observation) -> bool:
    return answer.end is ChainEnd.ANSWERED and answer.status in SUCCESSES


def _word_set(answer: Observation, names: tuple[str, ...]) -> set[str]:
    return set(_WORD.findall(_without_names(f"{answer.title or ''} {answer.text or ''}", names).lower()))


def common_length(sequence: Sequence[str], other_sequence: Sequence[str]) -> int:
    """Return the number of equal members (characters or words) at the beginning of two sequences."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sequence, other_sequence, strict=False)))


def same_answer(answer: Observation, other_answer: Observation) -> bool:
    """Return True if two successes are the same: by body, by the address after redirects, or by text except for names.

    Unread parts of a body prove nothing.
    """
    if not (_succeeds(answer) and _succeeds(other_answer)):
        return False
    if answer.body_sha256 is not None and answer.body_sha256 == other_answer.body_sha256:
        return True
    are_whole = answer.body_complete and other_answer.body_complete
    are_empty = are_whole and answer.body_bytes == other_answer.body_bytes == 0
    # The query counts, because it often names the object.
    is_same_address = len(answer.hops) > 1 and len(other_answer.hops) > 1 and answer.final_url == other_answer.final_url
    if are_empty or is_same_address:
        return True
    if answer.text is None or other_answer.text is None:
        return _are_same_unread(answer, other_answer)
    names = (answer.asked_url, other_answer.asked_url, last_part(answer.asked_url), last_part(other_answer.asked_url))
    if not are_whole and same_beginning(answer, other_answer, *names):
        return True
    if min(len(answer.text), len(other_answer.text)) >= TEXT_LIMIT:
        sketches = (answer.similarity, other_answer.similarity)
        return None not in sketches and likeness(*map(str, sketches)) >= SAME_SKETCH
    return same_page(answer.text, other_answer.text, *names)


def same_beginning(answer: Observation, other_answer: Observation, *names: str) -> bool:
    """Return True if two answers, one or both cut off, begin with the same words, except for *names*.

    The last words of the shorter one may be cut.
    """
    words, other_words = (_without_names(page.text or "", names).split() for page in (answer, other_answer))
    shorter, longer = sorted((words, other_words), key=len)
    if answer.body_complete != other_answer.body_complete:
        cut_words = other_words if answer.body_complete else words
        if len(cut_words) > len(shorter):
            return False  # the complete one ends where the other continues
    compared_words = shorter[: len(shorter) - _CUT_WORDS]
    return len(compared_words) >= _ENOUGH_WORDS and longer[: len(compared_words)] == compared_words


def last_part(url: str) -> str:
    """Return the last segment of a URL's path, usually a name.

    >>> last_part("https://n2t.net/ark:/12148/btv1b84?info")
    'btv1b84'
    """
    return split_url(url).path.rpartition("/")[2]


def _are_same_unread(answer: Observation, other_answer: Observation) -> bool:
    """Return True if two unread bodies, such as pictures, are the same by their headers."""
    headers, other_headers = (observation.hops[-1].headers for observation in (answer, other_answer))
    names = [name for name in ("Content-Type", "Content-Length", "Last-Modified") if name in headers]
    are_unread = answer.text is other_answer.text is None and "Content-Length" in names
    return are_unread and all(headers[name] == other_headers.get(name) for name in names)


def _without_names(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        if name:
            text = text.replace(name, " ")
    return " ".join(ANY_ARK.sub(" ", text).split())
