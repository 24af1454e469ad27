"""Decode bytes to characters: the first step of every reader of text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

from w3lib.encoding import read_bom, resolve_encoding

from extractors.model.documents import Finding

#: Codecs of Python that are no charsets of documents: they escape ASCII, take quadratic time, or depend on the machine.
_NOT_CHARSETS = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
#: Maximum length of a charset's name.
_NAME_CHARS = 40

#: Charsets that encode ASCII with NULs. Text without NULs would decode as Chinese.
_WIDE = ("utf-16", "utf-32")

_SAMPLE_BYTES = 4096

#: Number of bytes that show the format of a document; a document of this size is decoded only once.
BEGINNING_BYTES = 16 * 2**10


def first_bytes(data: bytes, most: int) -> tuple[bytes, list[Finding]]:
    """Return at most *most* bytes of *data*, and a finding if there are more."""
    if len(data) <= most:
        return data, []
    return data[:most], [Finding("cut-off", f"only the first {most} of {len(data)} bytes were read")]


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The characters of a document, and the charset."""

    text: str
    charset: str
    is_guess: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding if the charset is a guess."""
        if not self.is_guess:
            return ()
        return (Finding("guessed-charset", f"no declared charset fits; read as {self.charset}"),)


def decode(data: bytes, *declared: str | None) -> DecodedText:
    r"""Return the characters of *data*, by its byte order mark, else the first of *declared* that fits, else UTF-8.

    If none fits, the first is used if it decodes more than it garbles, else windows-1252, with U+FFFD for undecodable
    bytes.

    >>> decode(b"\xef\xbb\xbfark:", "latin-1")
    DecodedText(text='ark:', charset='utf-8', is_guess=False)
    >>> decode(b"d\xe9j\xe0 vu")
    DecodedText(text='déjà vu', charset='cp1252', is_guess=True)
    """
    marked, mark = read_bom(data)
    if marked is not None and mark is not None:
        return DecodedText(data[len(mark) :].decode(marked, "replace"), marked)
    charsets = [
        charset
        for charset in map(text_codec, (utf16_order(data), *declared, "utf-8"))
        if charset is not None and not (charset.startswith(_WIDE) and 0 not in data)
    ]
    for charset in charsets:
        decoder = codecs.getincrementaldecoder(charset)()
        try:
            text = decoder.decode(data)
        except UnicodeError:
            continue
        # An incomplete character at the end of such text is dropped, but "voil\xe0" is not truncated UTF-8.
        if not (decoder.getstate()[0] and text.isascii()):
            return DecodedText(text, charset)
    # A single bad byte must not garble every accent of a page.
    text = data.decode(charsets[0], "replace")
    garbled = text.count("\N{REPLACEMENT CHARACTER}")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    if 2 * garbled < beyond_ascii:
        return DecodedText(text, charsets[0], is_guess=True)
    return DecodedText(data.decode("cp1252", "replace"), "cp1252", is_guess=True)


def text_of(data: bytes, most: int, *declared: str | None) -> tuple[str, list[Finding]]:
    """Return the characters of at most *most* bytes of *data*, by `decode`, and findings."""
    data, findings = first_bytes(data, most)
    decoded = decode(data, *declared)
    return decoded.text, [*findings, *decoded.findings]


def whole_characters(text: str) -> str:
    r"""Return *text* with surrogate pairs joined, and U+FFFD for lone surrogates, which JSON can represent (``\ud800``).

    >>> whole_characters("\ud83d\ude00 \ud800") == "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@lru_cache(maxsize=8)
def decode_beginning(data: bytes, declared: str | None) -> DecodedText:
    """Return `decode` of the first bytes of a document; cached, because several callers need it."""
    return decode(data, declared)


def utf16_order(data: bytes) -> str | None:
    r"""Return the byte order of UTF-16 without a mark, as Western text and markup show it; None for other data.

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
    if 10 * min(even, odd) > max(even, odd):  # NULs on both sides: UTF-32 or binary
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


@lru_cache(maxsize=256)
def text_codec(label: str | None) -> str | None:
    """Return the codec for a charset's name *label* as on the Web (``latin1`` is windows-1252 there).

    None for other names: only codecs from bytes to text that occur in documents count.

    >>> text_codec("ISO-8859-1"), text_codec("rot13"), text_codec("no-such-thing"), text_codec("idna")
    ('cp1252', None, None, None)
    """
    name = label.strip() if label else ""
    if not name or len(name) > _NAME_CHARS or not name.isascii() or not name.isprintable():
        return None
    codec = resolve_encoding(name)
    if codec is None or codec.replace("_", "-") in _NOT_CHARSETS:
        return None
    try:
        b"a".decode(codec, "replace")
    except (LookupError, ValueError):  # a codec from bytes to bytes, or from text to text
        return None
    return codec


#: References to surrogates, which are not characters.
_REFERENCE = r"""
    (?P<literal> <!\[CDATA\[ .*? (?: \]\]> | \Z ) )
    | &\# (?: x0* [Dd][89A-Fa-f][0-9A-Fa-f]{2} | 0* (?: 5529[6-9] | 55[3-9]\d\d | 56\d{3} | 57[0-2]\d\d | 573[0-3]\d
        | 5734[0-3] ) ) ;
"""
_IN_OCTETS = re.compile(_REFERENCE.encode("ascii"), re.VERBOSE | re.DOTALL)
_IN_TEXT = re.compile(_REFERENCE, re.VERBOSE | re.DOTALL | re.ASCII)
#: Not a character either, but reported as a fault and read as U+FFFD, REPLACEMENT CHARACTER.
_OUT_OF_BOUNDS = "&#x110000;"
_UTF_16_SURROGATES = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


def without_surrogates(data: bytes) -> bytes:
    """Replace references to surrogates in XML, so that the parser treats them as faults.

    >>> without_surrogates(b"<a>&#xD800;&#57343;&#xE000;<![CDATA[&#xD800;]]></a>")
    b'<a>&#x110000;&#x110000;&#xE000;<![CDATA[&#xD800;]]></a>'
    """
    encoding = _UTF_16_SURROGATES.get(data[:2])
    if encoding is None and b"&#" not in data:  # the usual case
        return data
    if encoding is None:
        return _IN_OCTETS.sub(lambda reference: reference["literal"] or _OUT_OF_BOUNDS.encode(), data)
    text = data.decode(encoding, "surrogatepass" if len(data) % 2 == 0 else "ignore")
    mended = _IN_TEXT.sub(lambda reference: reference["literal"] or _OUT_OF_BOUNDS, text)
    return data if mended == text else mended.encode(encoding, "surrogatepass")
