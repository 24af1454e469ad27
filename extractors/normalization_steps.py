"""The steps that the specifications' normalizations are made of, one small function each, from a form to a form.

A form begins with the label, except in steps 1 and 2, which cut it out of its URL. Sections are those of
draft-kunze-ark-38 (2023) unless another draft is named; `extractors.normalize` puts the steps in order.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes

LABEL = re.compile(r"ark:/?", re.IGNORECASE | re.ASCII)
_RESOLVER_END = re.compile(r"/(?=ark:)", re.IGNORECASE | re.ASCII)
#: Numbers of a region or size in a URL of IIIF: ``130.0,274.0,1050.0,200.5``. Their periods begin no suffix.
_DECIMALS = re.compile(r"(?:pct:)?(?=[^,]*,)[0-9.,]+", re.ASCII)
_LABELS = re.compile(r"(?:ark:/*)+", re.IGNORECASE | re.ASCII)
_QUERY_OR_FRAGMENT = re.compile(r"[?#]")
_AFTER_PERCENT = re.compile(r"%[0-9A-Za-z]{1,2}")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_HYPHENS = re.compile("[-\N{HYPHEN}-\N{HORIZONTAL BAR}]")
_UNWRITABLE = re.compile(r"[^!-~]+")
_NON_ASCII = re.compile(r"[^\x00-\x7F]+")
_STRUCTURAL_RUN = re.compile(r"([/.])[/.]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_LETTERS_AND_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: What the 2020 scheme decodes in an ARK (section 4, ARK-unreserved), and the hyphen, which it then deletes.
_DECODED_IN_ARK = frozenset(_LETTERS_AND_DIGITS + "=~*+@_$" + "-")
#: What it decodes in query and fragment: the unreserved characters of RFC 3986.
_DECODED_IN_QUERY = frozenset(_LETTERS_AND_DIGITS + "-._~")


# -- the draft of 2023


def without_resolver(text: str) -> str:
    """Step 1: drop everything up to the slash before the first label; a label that comes first has no resolver.

    >>> without_resolver("https://example.org/rslvr/ark:12345/x6np1wh8k")
    'ark:12345/x6np1wh8k'
    """
    if LABEL.match(text):
        return text
    end = _RESOLVER_END.search(text)
    return text[end.end() :] if end else text


def without_query(text: str) -> str:
    """Step 2: drop everything from the first literal question mark; a fragment goes with it.

    The draft has no fragment step; HTTP and the 2020 URI scheme end an identifier at ``#``.

    >>> without_query("ark:12345/x5?info")
    'ark:12345/x5'
    """
    return _QUERY_OR_FRAGMENT.split(text, maxsplit=1)[0]


def with_modern_label(form: str) -> str:
    """Step 3: the first label, of either form and any case, becomes ``ark:``; one written twice is one.

    >>> with_modern_label("ARK:/12345/x5")
    'ark:12345/x5'
    """
    return _LABELS.sub("ark:", form, count=1)


def with_lower_naan(form: str) -> str:
    """Step 4: the NAAN in lower case.

    >>> with_lower_naan("ark:B5060/D1rp49")
    'ark:b5060/D1rp49'
    """
    naan, slash, name = form.partition("/")
    return naan.translate(_ASCII_LOWER) + slash + name


def with_upper_escapes(form: str) -> str:
    """Step 5: the two letters or digits after every percent sign in upper case, and no other character's case.

    >>> with_upper_escapes("ark:12345/x%7dx")
    'ark:12345/x%7Dx'
    """
    return _AFTER_PERCENT.sub(lambda escape: escape[0].upper(), form)


def without_hyphens(form: str) -> str:
    """Step 6: no hyphens, nor the hyphen-like U+2010 to U+2015: they are inert for comparison.

    >>> without_hyphens("ark:12345/x5-4-xz-321")
    'ark:12345/x54xz321'
    """
    return _HYPHENS.sub("", form)


def with_escaped_octets(form: str) -> str:
    """Return what the draft leaves open: raw characters outside ASCII, blanks and controls become UTF-8 escapes (3.1).

    >>> with_escaped_octets("ark:12345/4б")
    'ark:12345/4%D0%B1'
    """
    return _UNWRITABLE.sub(_escaped, form)


def with_clean_structure(form: str) -> str:
    """Step 8: ``/`` and ``.`` only between parts, and only one at a time.

    The slash behind the NAAN is protected: periods around the NAAN go first, or ``ark:12345./x`` would lose it.

    >>> with_clean_structure("ark:/12345./x5//c3./.")
    'ark:12345/x5/c3'
    """
    naan, slash, name = form.removeprefix("ark:").lstrip("/.").partition("/")
    naan = _STRUCTURAL_RUN.sub(r"\1", naan).strip(".")
    name = _STRUCTURAL_RUN.sub(r"\1", name).strip("/.")
    return f"ark:{naan}{slash}{name}"


def with_suffixes_last(form: str) -> str:
    """Step 9: every ``.variant`` that stands left of a ``/component`` moves to the end, in order.

    >>> with_suffixes_last("ark:12345/x.a/y.b/z.c")
    'ark:12345/x/y/z.c.a.b'
    >>> with_suffixes_last("ark:12345/x/130.0,274.5,9,9/full/0/native.jpg")
    'ark:12345/x/130.0,274.5,9,9/full/0/native.jpg'
    """
    naan, slash, name = form.partition("/")
    *components, last = name.split("/")
    split = [(each, "", "") if _DECIMALS.fullmatch(each) else each.partition(".") for each in components]
    kept = "/".join([base for base, _, _ in split] + [last])
    moved = "".join(dot + suffix for _, dot, suffix in split)
    return naan + slash + kept + moved


# -- the draft of 2005, where it differs (draft-kunze-ark-10, 2.7)


def without_query_alone(text: str) -> str:
    """The query goes, a ``#`` stays: it is a character of names (2.6).

    >>> without_query_alone("ark:/12345/x#5?info")
    'ark:/12345/x#5'
    """
    return text.partition("?")[0]


def with_lower_escapes(form: str) -> str:
    """The two letters or digits after every percent sign in lower case.

    >>> with_lower_escapes("ark:/12345/x%7Dx")
    'ark:/12345/x%7dx'
    """
    return _AFTER_PERCENT.sub(lambda escape: escape[0].lower(), form)


def without_ascii_hyphens(form: str) -> str:
    """No hyphens; hyphen-like characters are not mentioned before 2023.

    >>> without_ascii_hyphens("ark:/12025/65-4-xz-321")
    'ark:/12025/654xz321'
    """
    return form.replace("-", "")


def with_sorted_suffixes(form: str) -> str:
    """Every suffix once, in the order of code points; they stand last already (2020 scheme: 6, step 3.4).

    >>> with_sorted_suffixes("ark:12345/x.svg.en.svg")
    'ark:12345/x.en.svg'
    """
    naan, slash, name = form.partition("/")
    root, dot, suffixes = name.partition(".")
    return naan + slash + root + dot + ".".join(sorted(set(suffixes.split("."))))


def with_classic_label(form: str) -> str:
    """The label as it was in 2005, with its slash.

    >>> with_classic_label("ark:12025/654xz321")
    'ark:/12025/654xz321'
    """
    return LABEL.sub("ark:/", form, count=1)


# -- the URI scheme of 2020 (section 6)


def with_decoded_ark(form: str) -> str:
    """Step 3.1: escapes of characters that need none are decoded, and those of hyphens, which go next.

    >>> with_decoded_ark("ark:12345/%78%2D5%2Fc3")
    'ark:12345/x-5%2Fc3'
    """
    return _decoded(form, _DECODED_IN_ARK)


def with_decoded_query(tail: str) -> str:
    """Step 4: in query and fragment, escapes of unreserved characters (RFC 3986, 2.3) are decoded.

    >>> with_decoded_query("?%69nfo%3D")
    '?info%3D'
    """
    return _decoded(tail, _DECODED_IN_QUERY)


def with_escaped_non_ascii(form: str) -> str:
    """Step 3.3: characters outside ASCII become UTF-8 escapes.

    >>> with_escaped_non_ascii("ark:12345/4бф3х1")
    'ark:12345/4%D0%B1%D1%843%D1%851'
    """
    return _NON_ASCII.sub(_escaped, form)


def _escaped(raw: re.Match[str]) -> str:
    return quote_from_bytes(raw[0].encode("utf-8", "surrogatepass"), safe="")


def _decoded(text: str, characters: frozenset[str]) -> str:
    def character(escape: re.Match[str]) -> str:
        char = chr(int(escape[0][1:], 16))
        return char if char in characters else escape[0]

    return _ESCAPE.sub(character, text)
