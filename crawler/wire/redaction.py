"""Remove secrets from the text of hosts, proxies and libraries, in whatever form they are repeated there. No I/O.

A secret may come back as it was sent, or encoded: in percent escapes, as form data, for JSON or HTML, in base64, in
UTF-16, or in a mixture of these. So it is searched in the text, and again in the text with its escapes
decoded, for as many levels as there are.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from html import unescape
from operator import itemgetter
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: The replacement for a secret.
HIDDEN = "[secret]"
#: The smallest length of a secret; shorter words may occur in any page by chance.
LEAST_CHARS = 6
#: The largest number of nested escapes that are decoded.
_LEVELS = 8
#: Longer bodies are searched in pieces of this size; their overlap can hold a secret.
_PIECE_BYTES, _OVERLAP_BYTES = 8 * 2**20, 2**16
#: The smallest part of a secret at the edge of an excerpt that is removed.
_LEAST_PIECE = 6
#: An escape that was cut at its end, and the largest number of characters that were cut from its beginning.
_CUT_OFF, _MOST_CUT = (re.compile(rb"(?:%[0-9a-fA-F]?|\\u?[0-9a-fA-F]{0,3}|&#?[0-9a-zA-Z]{0,8})\Z"), 6)

#: ``%2F``, ``\u002f``, ``\u{2f}``, ``\x2f``, ``&#47;``, ``&#x2F;``, ``&sol;``, and ``%u002F`` of old scripts.
_ESCAPE = re.compile(
    rb"%u([0-9a-fA-F]{4})|%([0-9a-fA-F]{2})"
    rb"|\\u\{0*([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})"
    rb"|&#0*([0-9]{1,7});?|&#[xX]0*([0-9a-fA-F]{1,6});?|&([a-zA-Z][a-zA-Z0-9]{1,30};?)"
)
#: Its groups for bytes, decimal numbers and names; all other groups are hexadecimal numbers of characters.
_BYTE_GROUPS, _DECIMAL, _NAMED = (2, 5), 6, 8


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes some secrets from bytes, text and records. Without secrets it is false, and changes nothing.

    >>> quiet = Redactor.for_secrets(["S3cr3t/42+x"])
    >>> quiet.text('?tok=S3cr3t%2F42%2Bx {"tok": "S3cr3t\\\\/42\\\\u002bx"} &#83;3cr3t&sol;42&plus;x')
    '?tok=[secret] {"tok": "[secret]"} [secret]'
    """

    words: tuple[str, ...] = ()

    @classmethod
    def for_secrets(cls, secrets: Iterable[str]) -> Redactor:
        """Return a redactor of *secrets*, without those of fewer than six characters."""
        words = (word for secret in secrets for word in (secret, _decode_text(secret)))
        kept = dict.fromkeys(word for word in words if len(word) >= LEAST_CHARS)
        return cls(tuple(sorted(kept, key=lambda word: (-len(word), word))))

    def __bool__(self) -> bool:
        return bool(self.words)

    def bytes(self, data: bytes) -> bytes:
        """Return *data* with each secret replaced."""
        if not self.words or not data:
            return data
        patterns = [pattern for word in self.words for pattern in _patterns(word)]
        spans: list[tuple[int, int]] = []
        for begin in range(0, len(data), _PIECE_BYTES):
            piece = data[begin : begin + _PIECE_BYTES + _OVERLAP_BYTES]
            for start, end in _spans(piece, patterns, _LEVELS):
                spans.append((begin + start, begin + end))
        return _replace_spans(data, sorted(spans)) if spans else data

    def text(self, text: str) -> str:
        """Return *text* with each secret replaced, and each part of one at its edges, where an excerpt was cut."""
        if not self.words or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        cleaned = self.bytes(data)
        words = [word.encode("utf-8", "surrogatepass") for word in self.words]
        spans = sorted(_pieces(cleaned, words, _LEVELS))
        cleaned = _replace_spans(cleaned, spans) if spans else cleaned
        return text if cleaned is data else cleaned.decode("utf-8", "replace")

    def record(self, value: T, *, kept: frozenset[str] = frozenset()) -> T:
        """Return a frozen record with the secrets in all its texts replaced, except in its own fields *kept*."""
        return cast("T", self._redact(value, kept)) if self.words else value

    def _redact(self, value: Any, kept: frozenset[str] = frozenset()) -> Any:
        if type(value) is str:  # values of enumerations hold no secrets
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            changed = {}
            for field in fields(value):
                if field.init and field.name not in kept:
                    old = getattr(value, field.name)
                    new = self._redact(old)
                    if new is not old and new != old:
                        changed[field.name] = new
            return replace(value, **changed) if changed else value
        if isinstance(value, Mapping):
            return {self._redact(key): self._redact(item) for key, item in value.items()}
        if type(value) in (tuple, list):
            cleaned = [self._redact(item) for item in value]
            is_same = all(new is old for new, old in zip(cleaned, value, strict=True))
            return value if is_same else type(value)(cleaned)
        return value


# -- search


def _spans(data: bytes, patterns: Iterable[re.Pattern[bytes]], levels: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets in *data*, and in the text that its escapes decode to."""
    for pattern in patterns:
        yield from (match.span() for match in pattern.finditer(data))
    decoded = _decode(data) if levels else None
    if decoded is not None:
        for start, end in _spans(decoded.data, patterns, levels - 1):
            yield decoded.source(start, end)


def _pieces(data: bytes, words: Sequence[bytes], levels: int) -> Iterator[tuple[int, int]]:
    """Yield the spans at the edges of *data*, or of its decoded text, that are parts of *words*.

    An escape that was cut at the edge is included.
    """
    if HIDDEN.encode() not in (data[: len(HIDDEN)], data[-len(HIDDEN) :]):
        cut = _CUT_OFF.search(data, max(len(data) - 12, 0))
        ends = {len(data), cut.start() if cut else len(data)}
        for word in words:
            for size in range(len(word) - 1, _LEAST_PIECE - 1, -1):
                yield from ((end - size, len(data)) for end in ends if data.endswith(word[:size], 0, end))
                yield from ((0, at + size) for at in range(_MOST_CUT) if data.startswith(word[-size:], at))
    decoded = _decode(data) if levels else None
    if decoded is not None:
        for start, end in _pieces(decoded.data, words, levels - 1):
            yield decoded.source(start, end)


def _replace_spans(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, end in spans:
        hidden = HIDDEN.encode()
        if (end - start) <= 3 * data.count(0, start, end):  # UTF-16: the low byte of each pair comes first or last
            is_little = start % 2 == 0
            start, end = (start, end + 1) if is_little else (start - 1, end)
            hidden = HIDDEN.encode("utf-16-le" if is_little else "utf-16-be")
        if start >= at:
            pieces += (data[at:start], hidden)
        at = max(at, end)
    return b"".join((*pieces, data[at:]))


# -- decoding


@dataclass(frozen=True, slots=True)
class _DecodedText:
    """Decoded bytes, with their positions in the source."""

    data: bytes
    escapes: list[tuple[int, int, int, int]]
    """For each escape, its beginning and end in `data`, then in the source."""

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the source of the bytes from *start* to *end*; an escape is never cut."""
        return self._span_of(start)[0], self._span_of(end - 1)[1]

    def _span_of(self, at: int) -> tuple[int, int]:
        """Return the span in the source of the byte *at* a position."""
        before = bisect_right(self.escapes, at, key=itemgetter(0)) - 1
        if before < 0:
            return at, at + 1
        _, end, source_start, source_end = self.escapes[before]
        if at < end:
            return source_start, source_end
        source = source_end + at - end
        return source, source + 1


def _decode(data: bytes) -> _DecodedText | None:
    """Return *data* with its escapes decoded once, or None if it has none. UTF-16 first loses its zeros."""
    is_utf16 = 0 < len(data) <= 3 * data.count(0)
    pieces: list[bytes] = []
    escapes: list[tuple[int, int, int, int]] = []
    size = at = 0
    for match in re.finditer(rb"\x00+" if is_utf16 else _ESCAPE, data):
        stands_for = b"" if is_utf16 else _decode_escape(match)
        if stands_for is None:
            continue
        start, end = match.span()
        size += start - at
        escapes.append((size, size + len(stands_for), start, end))
        pieces += (data[at:start], stands_for)
        size += len(stands_for)
        at = end
    return _DecodedText(b"".join((*pieces, data[at:])), escapes) if escapes else None


def _decode_escape(escape: re.Match[bytes]) -> bytes | None:
    """Return the bytes of an escape in UTF-8, or None if it is not an escape."""
    group = cast("int", escape.lastindex)
    value = escape[group]
    if group in _BYTE_GROUPS:
        return bytes.fromhex(value.decode())
    if group == _NAMED:
        written = escape[0].decode()
        named = unescape(written)  # with or without a semicolon, as browsers take it
        return None if named == written else named.encode("utf-8", "surrogatepass")
    number = int(value) if group == _DECIMAL else int(value, 16)
    return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else None


def _decode_text(text: str) -> str:
    """Return *text* with all its escapes decoded, as it reads if a host has decoded it."""
    data = text.encode("utf-8", "surrogatepass")
    for _ in range(_LEVELS):
        decoded = _decode(data)
        if decoded is None:
            break
        data = decoded.data
    return data.decode("utf-8", "replace")


# -- spellings


@lru_cache(maxsize=256)
def _patterns(word: str) -> tuple[re.Pattern[bytes], ...]:
    """Return the patterns that find *word* in bytes, in all its spellings."""
    spelled = rb"\\*".join(map(_spellings, word))  # JSON may have backslashes in between
    in_hex = b"(?i:%s)" % word.encode("utf-8", "surrogatepass").hex().encode()
    return tuple(re.compile(form) for form in dict.fromkeys((spelled, *_in_base64(word), in_hex)))


def _spellings(character: str) -> bytes:
    """Return a pattern for all forms of one character except escapes, which are decoded before."""
    if character in " +":  # form encoding exchanges these two
        return rb"(?:[ +\t\r\n\xa0]|\xc2\xa0)"
    encoded = [character.encode("utf-8", "surrogatepass"), *_in_one_byte(character)]
    return b"(?:%s)" % b"|".join(map(re.escape, dict.fromkeys(encoded)))


def _in_one_byte(text: str) -> Iterator[bytes]:
    """Yield *text* in the single-byte character sets that can encode it."""
    for encoding in ("latin-1", "cp1252"):
        try:
            yield text.encode(encoding)
        except UnicodeEncodeError:
            continue


def _in_base64(word: str) -> Iterator[bytes]:
    """Yield patterns for the base64 text that is certain wherever *word* is encoded, at each offset in a group."""
    for data in dict.fromkeys([word.encode("utf-8", "surrogatepass"), *_in_one_byte(word)]):
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data + bytes(2)).decode()
            # A base64 character has six bits: it is certain if all of them belong to the word.
            core = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            spelled = (_BASE64.get(character, character.encode()) for character in core)
            yield rb"(?:\\?[\r\n][ \t]?)*".join(spelled)


#: Alternative spellings of base64 characters, in forms, URLs and JSON.
_BASE64 = {"+": rb"[+ -]", "/": rb"\\?[/_]"}
