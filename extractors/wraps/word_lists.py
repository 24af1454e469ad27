"""Is this a word? The word lists of seven languages, each read only when a text of that language asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

import regex

#: Words that tell a language: frequent, short, and rarely used in the others.
_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the and of to is in that was with for by from are which this be or not has it",
        "fr": "le la les des et est dans une du au que qui pour sur par avec ce plus sont ne",
        "de": "der die das und ist den dem von zu mit des ein eine für auf im nicht als auch wird",
        "es": "el los las y en una del que por con para se su al es como más fue lo este",
        "it": "il di che e la per un una con non sono del della nel gli alla le da si dei",
        "pt": "o os as e do da que em um uma com para não por se na no ao mais dos",
        "nl": "de het een en van is in dat op te zijn met voor niet aan er om ook naar bij",
    }.items()
}
_WORD = regex.compile(r"\p{L}+")
_NEAR_CHARS = 2000
#: Without a sign of any language, that of most texts about ARKs.
_DEFAULT = "en"


def is_word(token: str, around: str) -> bool:
    """Return whether *token*, letters only, is a word of the language in which the text *around* it is written.

    >>> is_word("ouvrages", "les ouvrages sont dans la réserve"), is_word("btvq", "les ouvrages sont dans la réserve")
    (True, False)
    """
    parts = _WORD.findall(token.lower())
    return bool(parts) and any(all(part in _word_list(language) for part in parts) for language in languages(around))


@lru_cache(maxsize=16)
def languages(text: str) -> tuple[str, ...]:
    """The languages that *text* seems to be in, the likeliest first; two where it may be either.

    >>> languages("Die Handschrift ist in der Bibliothek")
    ('de',)
    """
    words = Counter(word.lower() for word in _WORD.findall(text[: 2 * _NEAR_CHARS]))
    scores = {language: sum(words[word] for word in own) for language, own in _FUNCTION_WORDS.items()}
    best = max(scores.values())
    if best == 0:
        return (_DEFAULT,)
    return tuple(sorted((each for each in scores if 2 * scores[each] >= best), key=lambda each: -scores[each]))[:2]


@cache
def _word_list(language: str) -> frozenset[str]:
    from spellchecker import SpellChecker  # takes longer than many a document

    words: Mapping[str, int] = SpellChecker(language=language).word_frequency.dictionary
    return frozenset(words)
