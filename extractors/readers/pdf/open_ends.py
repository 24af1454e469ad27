"""Texts that end in the middle of a URL or an ARK, as far as one can say before anything is joined."""

from __future__ import annotations

import re

from extractors.readers.pdf.geometry import LINE_END_HYPHEN

_LINE_BREAK = re.compile(rf"[\r\n]+|{LINE_END_HYPHEN}")
_INVISIBLE = re.compile("[\N{ZERO WIDTH SPACE}\N{WORD JOINER}\N{ZERO WIDTH NON-JOINER}]+")
_HYPHENS = "-\N{HYPHEN}"
_LABEL = re.compile(r"https?:|ark:", re.IGNORECASE)
_BEGUN = re.compile(r"https?:|ark:|\A:/", re.IGNORECASE)  # French: a space before the colon
_LABEL_BEGUN = re.compile(r"(?:\A|[\W_])(a|ar|ark|h|ht|htt|http|https)\Z", re.IGNORECASE)
_COLON_OR_BEGIN = re.compile(
    rf":|(?<![^\W_])(?:a|ar|ark|h|ht|htt|https?)-?\s*(?:[\r\n{LINE_END_HYPHEN}]|\Z)", re.IGNORECASE
)
_TAIL_CHARS = 300
_HEAD_CHARS = 12
_LAST_LINES = 5  # of a page: a running foot of a few lines may follow its text


def is_open(text: str) -> bool:
    r"""Return whether *text* ends within a URL or an ARK, or with letters that a label may begin with.

    >>> is_open("see https:"), is_open("see ark:/12345/\r\nx5"), is_open("see ark:/12345/x5 and")
    (True, True, False)
    """
    return _is_open(_last_word(_lines(text)))


def open_lines(page: str) -> list[int]:
    r"""Return how many lines from its end the text of a *page* is open, as far as a running foot may follow there.

    >>> open_lines("see ark:/12345/\r\n12\r\nin press")
    [1, 2]
    """
    if not _COLON_OR_BEGIN.search(page, max(0, len(page) - _TAIL_CHARS)):
        return []
    lines = _lines(page)
    counts = range(min(_LAST_LINES, len(lines)))
    return [after for after in counts if _is_open(_last_word(lines[: len(lines) - after]))]


def goes_on(text: str, following: str) -> bool:
    """Return whether what is open at the end of *text* may go on in *following*; a label that is begun must end there.

    >>> goes_on("see ar", "k:/12345/x5"), goes_on("is a", "word"), goes_on("ark:/12345/x", "word")
    (True, False, True)
    """
    word = _last_word(_lines(text))
    begun = _LABEL_BEGUN.search(word)
    if begun is None or _BEGUN.search(word):
        return bool(following)
    return _LABEL.match(begun[1] + "".join(_lines(following[:_HEAD_CHARS]))) is not None


def _is_open(word: str) -> bool:
    return _BEGUN.search(word) is not None or _LABEL_BEGUN.search(word) is not None


def _lines(text: str) -> list[str]:
    """The last lines of a text, without what is invisible, and without the hyphens at their ends."""
    visible = _INVISIBLE.sub("", text[-_TAIL_CHARS:])
    return [line.rstrip().rstrip(_HYPHENS) for line in _LINE_BREAK.split(visible.rstrip())]


def _last_word(lines: list[str]) -> str:
    """The word in which the last line ends; where that is all of it, with the one before it."""
    pieces = []
    for line in reversed(lines):
        pieces.append(line[line.rfind(" ") + 1 :])
        if " " in line:
            break
    return "".join(reversed(pieces))
