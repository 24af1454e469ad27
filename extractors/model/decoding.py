"""Decode the bytes of documents to characters."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

from w3lib.encoding import read_bom, resolve_encoding

from extractors.model.documents import Finding

#: Codecs of Python that are no charsets of documents: they escape ASCII, take quadratic time, or depend on the machine.
_NOT_CHARSETS = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
#: Maximum number of characters of a charset's name.
_LONGEST_NAME = 40

#: Charsets that encode ASCII with NULs. Text without NULs would decode as Chinese.
_WIDE_CHARSETS = ("utf-16", "utf-32")

_SAMPLE_BYTES = 4096

#: Number of bytes that show the format of a document; a document of this size is decoded only once.
BEGINNING_BYTES = 16 * 2**10


def first_bytes(data: bytes, most_bytes: int) -> tuple[bytes, list[Finding]]:
    """Return the first *most_bytes* bytes of *data*, with a finding if *data* has more; else *data*, and no finding."""
    if len(data) <= most_bytes:
        return data, []
    return data[:most_bytes], [Finding("cut-off", f"only the first {most_bytes} of {len(data)} bytes were read")]


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The decoded characters of a document."""

    text: str
    charset: str
    """The name of the Python codec that decoded them."""
    is_guess: bool = False
    """True if no declared charset fitted, nor UTF-8."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One finding if the charset is a guess, else empty."""
        if not self.is_guess:
            return ()
        return (Finding("guessed-charset", f"no declared charset fits; read as {self.charset}"),)


def decode(data: bytes, *declared_charsets: str | None) -> DecodedText:
    r"""Return the characters of *data*, by its byte order mark, else the first of *declared_charsets* that fits, else UTF-8.

    If no charset fits, the first is used if it decodes more non-ASCII characters than it garbles, else windows-1252,
    with U+FFFD for undecodable bytes.

    >>> decode(b"\xef\xbb\xbfark:", "latin-1")
    DecodedText(text='ark:', charset='utf-8', is_guess=False)
    >>> decode(b"d\xe9j\xe0 vu")
    DecodedText(text='déjà vu', charset='cp1252', is_guess=True)
    """
    bom_codec, bom = read_bom(data)
    if bom_codec is not None and bom is not None:
        return DecodedText(data[len(bom) :].decode(bom_codec, "replace"), bom_codec)
    charsets = [
        charset
        for charset in map(text_codec, (utf16_order(data), *declared_charsets, "utf-8"))
        if charset is not None and not (charset.startswith(_WIDE_CHARSETS) and 0 not in data)
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
    garbled_count = text.count("\N{REPLACEMENT CHARACTER}")
    non_ascii_count = len(text) - len(text.encode("ascii", "ignore"))
    if 2 * garbled_count < non_ascii_count:
        return DecodedText(text, charsets[0], is_guess=True)
    return DecodedText(data.decode("cp1252", "replace"), "cp1252", is_guess=True)


def text_of(data: bytes, most_bytes: int, *declared_charsets: str | None) -> tuple[str, list[Finding]]:
    """Return the characters of the first *most_bytes* bytes of *data*, by `decode`, and the findings about both."""
    data, findings = first_bytes(data, most_bytes)
    decoded = decode(data, *declared_charsets)
    return decoded.text, [*findings, *decoded.findings]


def whole_characters(text: str) -> str:
    r"""Return *text* with surrogate pairs joined, and U+FFFD for lone surrogates, which JSON can represent (``\ud800``).

    >>> whole_characters("\ud83d\ude00 \ud800") == "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@lru_cache(maxsize=8)
def decode_beginning(data: bytes, declared_charset: str | None) -> DecodedText:
    """Return `decode` of *data*, the first bytes of a document; cached, because several callers need the result."""
    return decode(data, declared_charset)


def utf16_order(data: bytes) -> str | None:
    r"""Return the codec of UTF-16 without a byte order mark, by the NULs of Western text; None for other data.

    >>> utf16_order("ark:/12345/x5".encode("utf-16-be"))
    'utf-16-be'
    >>> utf16_order(b"ark:/12345/x5")
    """
    sample = data[:_SAMPLE_BYTES]
    if 0 not in sample:
        return None
    even_nuls, odd_nuls = sample[0::2].count(0), sample[1::2].count(0)
    if len(sample) < 4 or 10 * max(even_nuls, odd_nuls) < 3 * (len(sample) // 2):
        return None
    if 10 * min(even_nuls, odd_nuls) > max(even_nuls, odd_nuls):  # NULs on both sides: UTF-32 or binary
        return None
    return "utf-16-be" if even_nuls > odd_nuls else "utf-16-le"


@lru_cache(maxsize=256)
def text_codec(charset_name: str | None) -> str | None:
    """Return the Python codec of the charset that has this name on the Web (``latin1`` is windows-1252 there).

    None for other names, and for codecs that don't decode bytes to text or are not used for documents.

    >>> text_codec("ISO-8859-1"), text_codec("rot13"), text_codec("no-such-thing"), text_codec("idna")
    ('cp1252', None, None, None)
    """
    name = charset_name.strip() if charset_name else ""
    if not name or len(name) > _LONGEST_NAME or not name.isascii() or not name.isprintable():
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
_REFERENCE_IN_BYTES = re.compile(_REFERENCE.encode("ascii"), re.VERBOSE | re.DOTALL)
_REFERENCE_IN_TEXT = re.compile(_REFERENCE, re.VERBOSE | re.DOTALL | re.ASCII)
#: Not a character either, but reported as a fault and read as U+FFFD, REPLACEMENT CHARACTER.
_INVALID_REFERENCE = "&#x110000;"
_UTF_16_SURROGATES = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


def without_surrogates(data: bytes) -> bytes:
    """Return *data*, an XML document, with invalid references in place of those to surrogates: parsers report these.

    >>> without_surrogates(b"<a>&#xD800;&#57343;&#xE000;<![CDATA[&#xD800;]]></a>")
    b'<a>&#x110000;&#x110000;&#xE000;<![CDATA[&#xD800;]]></a>'
    """
    encoding = _UTF_16_SURROGATES.get(data[:2])
    if encoding is None and b"&#" not in data:  # the usual case
        return data
    if encoding is None:
        return _REFERENCE_IN_BYTES.sub(lambda reference: reference["literal"] or _INVALID_REFERENCE.encode(), data)
    text = data.decode(encoding, "surrogatepass" if len(data) % 2 == 0 else "ignore")
    repaired_text = _REFERENCE_IN_TEXT.sub(lambda reference: reference["literal"] or _INVALID_REFERENCE, text)
    return data if repaired_text == text else repaired_text.encode(encoding, "surrogatepass")
