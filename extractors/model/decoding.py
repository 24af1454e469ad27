"""From bytes to characters: the step that every reader of text begins with."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import lru_cache

from w3lib.encoding import read_bom, resolve_encoding

from extractors.model.documents import Finding

#: Codecs of Python that no document is written in: they re-spell ASCII, or take quadratic time.
_NOT_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})

#: Charsets that spell ASCII with NULs. Text without one would decode all the same, as Chinese.
_WIDE = ("utf-16", "utf-32")

_SAMPLE_BYTES = 4096

#: So many bytes of a document say its format; what is no longer is decoded only once.
BEGINNING_BYTES = 16 * 2**10


def first_bytes(data: bytes, most: int) -> tuple[bytes, list[Finding]]:
    """Return *data* up to a limit, and a finding if that is not all."""
    if len(data) <= most:
        return data, []
    return data[:most], [Finding("cut-off", f"only the first {most} of {len(data)} bytes were read")]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The characters of a document, and how sure we are of them."""

    text: str
    charset: str
    is_guess: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what a reader must know: nothing, or that the charset is our guess."""
        if not self.is_guess:
            return ()
        return (Finding("guessed-charset", f"no declared charset fits; read as {self.charset}"),)


def decode(data: bytes, *declared: str | None) -> Decoded:
    r"""The characters of *data*: by its byte order mark, else the first of *declared* that fits, else UTF-8.

    What fits nothing is read by the likeliest charset, with U+FFFD for what that one can't decode.

    >>> decode(b"\xef\xbb\xbfark:", "latin-1")
    Decoded(text='ark:', charset='utf-8', is_guess=False)
    >>> decode(b"d\xe9j\xe0 vu")
    Decoded(text='déjà vu', charset='cp1252', is_guess=True)
    """
    marked, mark = read_bom(data)
    if marked is not None and mark is not None:
        return Decoded(data[len(mark) :].decode(marked, "replace"), marked)
    charsets = [
        charset
        for charset in map(_charset, (utf16_order(data), *declared, "utf-8"))
        if charset is not None and not (charset.startswith(_WIDE) and 0 not in data)
    ]
    for charset in charsets:
        text = _exact_text(data, charset)
        if text is not None:
            return Decoded(text, charset)
    return _best_guess(data, charsets[0])


def text_of(data: bytes, most: int, *declared: str | None) -> tuple[str, list[Finding]]:
    """Return the characters of *data* up to *most* bytes, as `decode` has them, and what a reader must know of them."""
    data, findings = first_bytes(data, most)
    decoded = decode(data, *declared)
    return decoded.text, [*findings, *decoded.findings]


@lru_cache(maxsize=8)
def decode_beginning(data: bytes, declared: str | None) -> Decoded:
    """Return what `decode` does, of a few bytes: it is asked for several times of one document."""
    return decode(data, declared)


def utf16_order(data: bytes) -> str | None:
    r"""The byte order of UTF-16 without a mark, which shows in Western text and in all markup; else None.

    >>> utf16_order("ark:/12345/x5".encode("utf-16-be"))
    'utf-16-be'
    >>> utf16_order(b"ark:/12345/x5")
    """
    sample = data[:_SAMPLE_BYTES]
    if 0 not in sample:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if len(sample) < 4 or 10 * max(even, odd) < 3 * (len(sample) // 2):
        return None
    if 10 * min(even, odd) > max(even, odd):  # NULs on both sides: UTF-32, or no text at all
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


@lru_cache(maxsize=256)
def _charset(label: str | None) -> str | None:
    """The codec that the Web means by *label* (``latin1`` is windows-1252 there), or None for no charset.

    >>> _charset("ISO-8859-1"), _charset("rot13"), _charset("no-such-thing")
    ('cp1252', None, None)
    """
    codec = resolve_encoding(label.strip()) if label and label.isascii() and label.isprintable() else None
    if codec is None or codec.replace("_", "-") in _NOT_CHARSETS:
        return None
    try:
        b"a".decode(codec, "replace")
    except (LookupError, ValueError):  # a codec from bytes to bytes, or from text to text
        return None
    return codec


def _exact_text(data: bytes, charset: str) -> str | None:
    """*data* decoded without a fault, or None. A character cut off at the end of such text is dropped."""
    decoder = codecs.getincrementaldecoder(charset)()
    try:
        text = decoder.decode(data)
    except UnicodeError:
        return None
    is_cut_off = bool(decoder.getstate()[0])
    return None if is_cut_off and text.isascii() else text  # "voil\xe0" is no UTF-8 that was cut off


def _best_guess(data: bytes, charset: str) -> Decoded:
    """*data* by *charset* if that decodes more than it garbles, else by windows-1252.

    One stray byte must not turn every accent of a page into mojibake.
    """
    text = data.decode(charset, "replace")
    garbled = text.count("\N{REPLACEMENT CHARACTER}")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    if 2 * garbled < beyond_ascii:
        return Decoded(text, charset, is_guess=True)
    return Decoded(data.decode("cp1252", "replace"), "cp1252", is_guess=True)
