"""Pure: takes secrets out of what a host, a proxy or a library says, in whatever form they are repeated there.

A secret comes back as it was sent, but also percent-encoded, once or several times, as a form has it, escaped for JSON
or HTML, in base64, in UTF-16, or in a mixture of these. So each character is looked for in all of its spellings, and
then once more in the text as it reads when its escapes are decoded, as often as there are any.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from html.entities import html5
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: What replaces a secret.
HIDDEN = "[secret]"
#: Shorter words may be in any page by chance, and are not looked for.
LEAST_CHARS = 6
#: Escapes within escapes are decoded so often.
_LEVELS = 3
#: In longer bodies, which are no text, escapes are not decoded; each character is looked for in all of its spellings.
_MOST_DECODED = 8 * 2**20
#: Shorter pieces of what is cut off at the edge of an excerpt say nothing.
_LEAST_PIECE = 6
#: An escape of which the end, or some characters of the beginning, were cut off.
_CUT_OFF, _MOST_CUT = (
    re.compile(rb"(?:%[0-9a-fA-F]?|\\u?[0-9a-fA-F]{0,3}|&#?[0-9a-zA-Z]{0,8})\Z"),
    6,
)

_NAMES: dict[str, list[str]] = {}
for _name, _characters in html5.items():
    if len(_characters) == 1:
        _NAMES.setdefault(_characters, []).append(_name.rstrip(";"))

#: ``%2F``, ``\u002f``, ``\u{2f}``, ``\x2f``, ``\/``, ``&#47;``, ``&#x2F;``, ``&sol;``, and ``%u002F`` of old scripts.
_ESCAPE = re.compile(
    rb"%u([0-9a-fA-F]{4})|%([0-9a-fA-F]{2})"
    rb"|\\u\{0*([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\([/\"'\\])"
    rb"|&#0*([0-9]{1,7});?|&#[xX]0*([0-9a-fA-F]{1,6});?|&([a-zA-Z][a-zA-Z0-9]{1,30});"
)
#: Its groups; in all others are hexadecimal numbers of characters.
_BYTE_GROUPS, _SELF, _DECIMAL, _NAMED = (2, 5), 6, 7, 9


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes some secrets out of bytes, text and records. One without secrets is false, and changes nothing.

    >>> quiet = Redactor.of(["S3cr3t/42+x"])
    >>> quiet.text('?tok=S3cr3t%2F42%2Bx {"tok": "S3cr3t\\\\/42\\\\u002bx"} &#83;3cr3t&sol;42&plus;x')
    '?tok=[secret] {"tok": "[secret]"} [secret]'
    """

    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Redactor:
        """A redactor of *secrets*; those of fewer than six characters are left out."""
        words = (word for secret in secrets for word in (secret, _decoded_text(secret)))
        kept = dict.fromkeys(word for word in words if len(word) >= LEAST_CHARS)
        return cls(tuple(sorted(kept, key=lambda word: (-len(word), word))))

    def __bool__(self) -> bool:
        return bool(self.words)

    def bytes(self, data: bytes) -> bytes:
        """*data* with each secret replaced."""
        if not self.words or not data:
            return data
        spans = sorted(_spans(data, _patterns(self.words), _LEVELS))
        return _replaced(data, spans) if spans else data

    def text(self, text: str) -> str:
        """*text* with each secret replaced, and what of one is at its edge, where an excerpt was cut."""
        if not self.words or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        cleaned = self.bytes(data)
        words = [word.encode("utf-8", "surrogatepass") for word in self.words]
        spans = sorted(_pieces(cleaned, words, _LEVELS))
        cleaned = _replaced(cleaned, spans) if spans else cleaned
        return text if cleaned is data else cleaned.decode("utf-8", "replace")

    def record(self, value: T, *, kept: frozenset[str] = frozenset()) -> T:
        """A frozen record with each secret in its texts replaced, however deep; but for its own fields *kept*."""
        return cast("T", self._record_cleaned(value, kept)) if self.words else value

    def _cleaned(self, value: Any) -> Any:
        if type(value) is str:  # the words of an enumeration are ours
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._record_cleaned(value, frozenset())
        if isinstance(value, Mapping):
            return {self._cleaned(key): self._cleaned(item) for key, item in value.items()}
        if type(value) in (tuple, list):
            cleaned = [self._cleaned(item) for item in value]
            is_same = all(new is old for new, old in zip(cleaned, value, strict=True))
            return value if is_same else type(value)(cleaned)
        return value

    def _record_cleaned(self, value: Any, kept: frozenset[str]) -> Any:
        changed = {}
        for field in fields(value):
            if field.init and field.name not in kept:
                old = getattr(value, field.name)
                new = self._cleaned(old)
                if new is not old and new != old:
                    changed[field.name] = new
        return replace(value, **changed) if changed else value


# -- finding


def _spans(
    data: bytes, patterns: Iterable[re.Pattern[bytes]], levels: int
) -> Iterator[tuple[int, int]]:
    """Return where secrets are in *data*, and in what its escapes decode to."""
    for pattern in patterns:
        yield from (match.span() for match in pattern.finditer(data))
    if levels and len(data) <= _MOST_DECODED:
        decoded = _decoded(data)
        if decoded is not None:
            for start, end in _spans(decoded.data, patterns, levels - 1):
                yield decoded.source(start, end)


def _pieces(data: bytes, words: Sequence[bytes], levels: int) -> Iterator[tuple[int, int]]:
    """Return where *data*, or what its escapes decode to, begins with the end of one of *words*, or ends with its
    beginning.

    What of an escape was cut in two there belongs to it.
    """
    if HIDDEN.encode() not in (data[: len(HIDDEN)], data[-len(HIDDEN) :]):
        cut = _CUT_OFF.search(data, max(len(data) - 12, 0))
        ends = {len(data), cut.start() if cut else len(data)}
        for word in words:
            for size in range(len(word) - 1, _LEAST_PIECE - 1, -1):
                yield from (
                    (end - size, len(data)) for end in ends if data.endswith(word[:size], 0, end)
                )
                yield from (
                    (0, at + size) for at in range(_MOST_CUT) if data.startswith(word[-size:], at)
                )
    decoded = _decoded(data) if levels else None
    if decoded is not None:
        for start, end in _pieces(decoded.data, words, levels - 1):
            yield decoded.source(start, end)


def _replaced(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, end in spans:
        hidden = HIDDEN.encode()
        if (end - start) <= 3 * data.count(
            0, start, end
        ):  # UTF-16: the least byte of each pair comes first, or last
            is_little = start % 2 == 0
            start, end = (start, end + 1) if is_little else (start - 1, end)
            hidden = HIDDEN.encode("utf-16-le" if is_little else "utf-16-be")
        if start >= at:
            pieces += (data[at:start], hidden)
        at = max(at, end)
    return b"".join((*pieces, data[at:]))


# -- decoding


@dataclass(frozen=True, slots=True)
class _Decoded:
    """The bytes that escapes mean, and where each of them came from."""

    data: bytes
    starts: list[int]
    """Where pieces begin in `data`; one that means an escape, or one that was copied."""
    sources: list[tuple[int, int]]
    """The pieces of the source, in the same order."""

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return what of the source the bytes from *start* to *end* mean; an escape is never cut."""
        first, last = (bisect_right(self.starts, at) - 1 for at in (start, end - 1))
        begin, until = self.sources[first]
        if until - begin == self._size(first):
            begin += start - self.starts[first]
        last_begin, finish = self.sources[last]
        if finish - last_begin == self._size(last):
            finish = last_begin + end - self.starts[last]
        return begin, finish

    def _size(self, piece: int) -> int:
        after = self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.data)
        return after - self.starts[piece]


def _decoded(data: bytes) -> _Decoded | None:
    """*data* with its escapes decoded once; None where it has none. UTF-16 loses its zeros, for a start."""
    pattern = re.compile(rb"\x00") if 0 < len(data) <= 3 * data.count(0) else _ESCAPE
    pieces: list[bytes] = []
    starts: list[int] = []
    sources: list[tuple[int, int]] = []
    size = at = 0
    for match in pattern.finditer(data):
        stands_for = b"" if pattern is not _ESCAPE else _meant(match)
        if stands_for is None:
            continue
        for piece, start, end in (
            (data[at : match.start()], at, match.start()),
            (stands_for, *match.span()),
        ):
            if piece:
                pieces.append(piece)
                starts.append(size)
                sources.append((start, end))
                size += len(piece)
        at = match.end()
    if not at:
        return None
    if at < len(data):
        pieces.append(data[at:])
        starts.append(size)
        sources.append((at, len(data)))
    return _Decoded(b"".join(pieces), starts, sources)


def _meant(escape: re.Match[bytes]) -> bytes | None:
    """Return what an escape means, in UTF-8; None where it is none."""
    group = cast("int", escape.lastindex)
    value = escape[group]
    if group in _BYTE_GROUPS:
        return bytes.fromhex(value.decode())
    if group == _SELF:
        return value
    if group == _NAMED:
        named = html5.get(f"{value.decode()};") or html5.get(value.decode())
        return None if named is None else named.encode()
    number = int(value) if group == _DECIMAL else int(value, 16)
    return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else None


def _decoded_text(text: str) -> str:
    """*text* with all of its escapes decoded: so a secret that has some reads where someone has decoded it."""
    data = text.encode("utf-8", "surrogatepass")
    for _ in range(_LEVELS):
        decoded = _decoded(data)
        if decoded is None:
            break
        data = decoded.data
    return data.decode("utf-8", "replace")


# -- spellings


@lru_cache(maxsize=64)
def _patterns(words: tuple[str, ...]) -> tuple[re.Pattern[bytes], ...]:
    """Return what finds *words* in bytes, in all of their spellings."""
    return tuple(dict.fromkeys(pattern for word in words for pattern in _patterns_of(word)))


@lru_cache(maxsize=256)
def _patterns_of(word: str) -> tuple[re.Pattern[bytes], ...]:
    """Return the same for one word: of a session that changes with each answer only the new value is made anew."""
    spelled = b"".join(_spellings(character) for character in word)
    in_hex = b"".join(map(_hex, word.encode("utf-8", "surrogatepass")))
    return tuple(re.compile(form) for form in dict.fromkeys((spelled, *_in_base64(word), in_hex)))


def _spellings(character: str) -> bytes:
    r"""A pattern of all forms of one character, each of which begins with a literal, so that `re` skips quickly.

    >>> import re
    >>> slash = re.compile(_spellings("/"))
    >>> all(slash.fullmatch(each) for each in [rb"/", rb"\/", b"%2f", b"%25252F", rb"\u002F", b"&#x2f;", b"&amp;sol;"])
    True
    """
    number = ord(character)
    encoded = dict.fromkeys([character.encode("utf-8", "surrogatepass"), *_in_one_byte(character)])
    forms = [re.escape(encoded_form) for encoded_form in encoded]
    forms += [
        b"".join(b"%%(?:25)*%s" % _hex(byte) for byte in encoded_form) for encoded_form in encoded
    ]
    units = character.encode("utf-16-be", "surrogatepass")
    for mark in (rb"\\\\*u", b"%(?:25)*u"):
        forms.append(
            b"".join(mark + _hex(units[at]) + _hex(units[at + 1]) for at in range(0, len(units), 2))
        )
    forms.append(rb"\\\\*u\{0*%s\}" % _any_case(b"%x" % number))
    if number < 0x100:
        forms.append(rb"\\\\*x%s" % _hex(number))
    if not character.isalnum():
        forms.append(rb"\\\\*" + re.escape(character.encode("utf-8", "surrogatepass")))
    names = b"".join(b"|" + re.escape(name.encode()) for name in _NAMES.get(character, ()))
    forms.append(b"&(?:amp;)*(?:#0*%d|#[xX]0*%s%s);?" % (number, _any_case(b"%x" % number), names))
    if character in " +":  # each means the other where a form was encoded, or decoded
        forms += [
            rb" ",
            rb"\+",
            b"%(?:25)*20",
            b"%(?:25)*2[bB]",
            rb"\\\\*u00(?:20|2[bB])",
            rb"[\t\r\n]",
            b"&nbsp;?",
        ]
    return b"(?:" + b"|".join(dict.fromkeys(forms)) + b")"


def _in_one_byte(text: str) -> Iterator[bytes]:
    """Return *text* in the character sets that have one byte a character, where they have all of it."""
    for encoding in ("latin-1", "cp1252"):
        try:
            yield text.encode(encoding)
        except UnicodeEncodeError:
            continue


def _hex(byte: int) -> bytes:
    return _any_case(b"%02x" % byte)


def _any_case(digits: bytes) -> bytes:
    letters = (
        b"[%c%c]" % (digit, digit - 32) if digit >= ord("a") else b"%c" % digit for digit in digits
    )
    return b"".join(letters)


def _in_base64(word: str) -> Iterator[bytes]:
    """Return what *word* makes certain of a base64 text that holds it, at each of three places within a group
    of four.
    """
    for data in dict.fromkeys([word.encode("utf-8", "surrogatepass"), *_in_one_byte(word)]):
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data + bytes(2)).decode()
            # A character has six bits: those whose bits are all of the word are certain.
            core = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            yield rb"(?:\\?[\r\n][ \t]?)*".join(map(_base64_spelling, core))


def _base64_spelling(character: str) -> bytes:
    match character:
        case "+":
            return rb"(?:\+| |-|%(?:25)*2[bB])"
        case "/":
            return rb"(?:/|_|\\/|%(?:25)*2[fF])"
    return character.encode()
