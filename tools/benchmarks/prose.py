"""Random prose from a seed, so that each run measures the same text."""

from __future__ import annotations

from random import Random

from extractors.model.ark import BETANUMERIC
from extractors.model.check_characters import check_character

_WORDS = [
    "the",
    "collection",
    "of",
    "the",
    "museum",
    "was",
    "moved",
    "to",
    "its",
    "new",
    "rooms",
    "after",
    "the",
    "flood",
    "and",
    "every",
    "box",
    "was",
    "opened",
    "listed",
    "and",
    "photographed",
    "before",
    "it",
    "went",
    "on",
    "to",
    "the",
    "shelves",
    "where",
    "readers",
    "may",
    "ask",
    "for",
    "it",
    "by",
    "the",
    "number",
    "on",
    "its",
    "card",
]
_RESOLVERS = ("https://n2t.net/", "https://gallica.bnf.fr/", "", "")
_NAANS = ("12148", "13030", "67531", "99166", "81985")
_LINE_CHARS = 76


def prose(chars: int, *, seed: int, colons: bool = True) -> str:
    """Return *chars* characters of English-like sentences in lines of 76; about every ninth ends with a colon."""
    random = Random(seed)
    pieces: list[str] = []
    size = line = 0
    while size < chars:
        sentence = " ".join(random.choices(_WORDS, k=random.randint(6, 18))).capitalize()
        sentence += random.choice("........:" if colons else ".")
        for word in sentence.split():
            if line + len(word) > _LINE_CHARS:
                pieces.append("\n")
                line = 0
            elif line:
                pieces.append(" ")
            pieces.append(word)
            line += len(word) + 1
            size += len(word) + 1
    return "".join(pieces)


def with_arks(chars: int, *, every: int, seed: int) -> str:
    """Return prose with an ARK after each *every* characters."""
    random = Random(seed)
    text = prose(chars, seed=seed)
    return "".join(f"{text[at : at + every]} {_ark(random)} " for at in range(0, len(text), every))


def _ark(random: Random) -> str:
    # With its check character, as names under 12148 have: one without counts as mistyped, and is read more slowly.
    name = "".join(random.choices(BETANUMERIC, k=11))
    name += check_character(name)
    slash = random.choice(("/", ""))
    return f"{random.choice(_RESOLVERS)}ark:{slash}{random.choice(_NAANS)}/{name}{random.choice(('', '/f29.item'))}"
