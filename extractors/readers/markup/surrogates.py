"""References to halves of a surrogate pair, which are no characters.

libxml2 passes over the fault and keeps the half, and lxml can then give no text, nor any attribute, that holds it.
"""

from __future__ import annotations

import re

_REFERENCE = r"""
    (?P<literal> <!\[CDATA\[ .*? (?: \]\]> | \Z ) )
    | &\# (?: x0* [Dd][89A-Fa-f][0-9A-Fa-f]{2} | 0* (?: 5529[6-9] | 55[3-9]\d\d | 56\d{3} | 57[0-2]\d\d | 573[0-3]\d
        | 5734[0-3] ) ) ;
"""
_IN_OCTETS = re.compile(_REFERENCE.encode("ascii"), re.VERBOSE | re.DOTALL)
_IN_TEXT = re.compile(_REFERENCE, re.VERBOSE | re.DOTALL | re.ASCII)
#: What is no character either, and reported as a fault, but read as U+FFFD, REPLACEMENT CHARACTER.
_OUT_OF_BOUNDS = "&#x110000;"
_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


def without_surrogates(data: bytes) -> bytes:
    """XML that can be read where references to surrogates stand in it: they are a fault like any other.

    >>> without_surrogates(b"<a>&#xD800;&#57343;&#xE000;<![CDATA[&#xD800;]]></a>")
    b'<a>&#x110000;&#x110000;&#xE000;<![CDATA[&#xD800;]]></a>'
    """
    encoding = _UTF_16.get(data[:2])
    if encoding is None and b"&#" not in data:  # most
        return data
    if encoding is None:
        return _IN_OCTETS.sub(lambda found: found["literal"] or _OUT_OF_BOUNDS.encode(), data)
    text = data.decode(encoding, "surrogatepass" if len(data) % 2 == 0 else "ignore")
    mended = _IN_TEXT.sub(lambda found: found["literal"] or _OUT_OF_BOUNDS, text)
    return data if mended == text else mended.encode(encoding, "surrogatepass")
