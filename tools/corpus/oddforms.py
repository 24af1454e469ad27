"""ARKs in odd spellings on one line: encodings, other schemes, French spaces, full width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from urllib.parse import quote

from documents import Document
from names import Citation
from prose import Prose

_WIDE = {ord(char): ord(char) + 0xFEE0 for char in "ark:/"}


def _bare(citation: Citation) -> str:
    return citation.ark.removeprefix("ark:")


_FORMS: tuple[Callable[[Citation], str], ...] = (
    lambda each: f"https://www.example.org/?id={quote('ark:/' + _bare(each), safe='')}&view=1up",
    lambda each: f"ark\N{NO-BREAK SPACE}:/{_bare(each)}",
    lambda each: f"ark\N{NARROW NO-BREAK SPACE}: /{_bare(each)}",
    lambda each: f"ark: /{_bare(each)}",
    lambda each: f"ark://{_bare(each)}",
    lambda each: f"info:ark/{_bare(each)}",
    lambda each: f"https://n2t.net/urn:ark:/{_bare(each)}",
    lambda each: f"oai:example.org:catalogue/ark:/{_bare(each)}",
    lambda each: f"loc.ark:/{_bare(each)}",
    lambda each: "ark:/".translate(_WIDE) + _bare(each),
    lambda each: f"a\N{SOFT HYPHEN}rk:\N{ZERO WIDTH SPACE}/{_bare(each)}",
    lambda each: f"ARK:{_bare(each)}?info",
    lambda each: f"<ark:/{_bare(each)}>",
    lambda each: f"ark: ark:/{_bare(each)}",
    lambda each: '"' + f"ark:/{_bare(each)}".replace("/", "\\/") + '"',
    lambda each: "ark:/" + _bare(each).replace("_", "\\_"),
)


def odd_forms(half: str, source: Iterator[Citation]) -> Document:
    """Return a text with two ARKs in each odd form."""
    random = Random(f"{half} odd forms")
    language = {"dev": "fr", "held-out": "en"}[half]
    prose = Prose(language, half, random)
    lines, arks = [], []
    for form in _FORMS * 2:
        citation = next(source)
        lines.append(f"{prose.sentence()} {form(citation)} ; {prose.sentence()}")
        arks.append(citation.ark)
    text = "\n\n".join(lines) + "\n"
    return Document(f"plain/odd-forms-{language}.txt", "odd-forms", language, "known", text.encode(), tuple(arks))
