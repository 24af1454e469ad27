"""Normalization of ARKs under three specifications, each a tuple of steps in the order of its text.

One pass of the drafts' steps is not idempotent: a hyphen inside an escape, or an empty NAAN, changes the result of a
second pass. The steps are therefore repeated until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from urllib.parse import quote_from_bytes

from extractors.model.errors import ArkauditError

# The steps of the normalizations, each a small function from a form to a form.


LABEL = re.compile(r"ark:/?", re.IGNORECASE | re.ASCII)
_RESOLVER_END = re.compile(r"/(?=ark:)", re.IGNORECASE | re.ASCII)
#: Numbers of a region or size in a IIIF URL: ``130.0,274.0,1050.0,200.5``. Their periods begin no suffix.
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
#: Characters that the 2020 scheme decodes in an ARK (section 4, ARK-unreserved), and the hyphen, which it then deletes.
_DECODED_IN_ARK = frozenset(_LETTERS_AND_DIGITS + "=~*+@_$" + "-")
#: Characters that it decodes in query and fragment: the unreserved characters of RFC 3986.
_DECODED_IN_QUERY = frozenset(_LETTERS_AND_DIGITS + "-._~")


# -- the draft of 2023


def without_resolver(text: str) -> str:
    """Step 1: remove everything up to the slash before the first label; a label at the beginning has no resolver.

    >>> without_resolver("https://example.org/rslvr/ark:12345/x6np1wh8k")
    'ark:12345/x6np1wh8k'
    """
    if LABEL.match(text):
        return text
    end = _RESOLVER_END.search(text)
    return text[end.end() :] if end else text


def without_query(text: str) -> str:
    """Step 2: remove the query, from the first literal question mark, and the fragment.

    The draft has no fragment step; HTTP and the 2020 URI scheme end an identifier at ``#``.

    >>> without_query("ark:12345/x5?info")
    'ark:12345/x5'
    """
    return _QUERY_OR_FRAGMENT.split(text, maxsplit=1)[0]


def with_modern_label(form: str) -> str:
    """Step 3: convert the first label, in either form and any case, to ``ark:``; a doubled label counts as one.

    >>> with_modern_label("ARK:/12345/x5")
    'ark:12345/x5'
    """
    return _LABELS.sub("ark:", form, count=1)


def with_lower_naan(form: str) -> str:
    """Step 4: convert the NAAN to lower case.

    >>> with_lower_naan("ark:B5060/D1rp49")
    'ark:b5060/D1rp49'
    """
    naan, slash, name = form.partition("/")
    return naan.translate(_ASCII_LOWER) + slash + name


def with_upper_escapes(form: str) -> str:
    """Step 5: convert the two letters or digits after every percent sign to upper case, and no other character.

    >>> with_upper_escapes("ark:12345/x%7dx")
    'ark:12345/x%7Dx'
    """
    return _AFTER_PERCENT.sub(lambda escape: escape[0].upper(), form)


def without_hyphens(form: str) -> str:
    """Step 6: remove hyphens and the hyphen-like U+2010 to U+2015, which don't count in comparison.

    >>> without_hyphens("ark:12345/x5-4-xz-321")
    'ark:12345/x54xz321'
    """
    return _HYPHENS.sub("", form)


def with_escaped_octets(form: str) -> str:
    """Escape raw non-ASCII characters, blanks and controls as UTF-8 (3.1); the draft's steps leave this open.

    >>> with_escaped_octets("ark:12345/4б")
    'ark:12345/4%D0%B1'
    """
    return _UNWRITABLE.sub(_escape, form)


def with_clean_structure(form: str) -> str:
    """Step 8: keep ``/`` and ``.`` only between parts, and one at a time.

    The slash after the NAAN is protected: periods around the NAAN go first, or ``ark:12345./x`` would lose it.

    >>> with_clean_structure("ark:/12345./x5//c3./.")
    'ark:12345/x5/c3'
    """
    naan, slash, name = form.removeprefix("ark:").lstrip("/.").partition("/")
    naan = _STRUCTURAL_RUN.sub(r"\1", naan).strip(".")
    name = _STRUCTURAL_RUN.sub(r"\1", name).strip("/.")
    return f"ark:{naan}{slash}{name}"


def with_suffixes_last(form: str) -> str:
    """Step 9: move every ``.variant`` that is left of a ``/component`` to the end, in order.

    >>> with_suffixes_last("ark:12345/x.a/y.b/z.c")
    'ark:12345/x/y/z.c.a.b'
    >>> with_suffixes_last("ark:12345/x/130.0,274.5,9,9/full/0/native.jpg")
    'ark:12345/x/130.0,274.5,9,9/full/0/native.jpg'
    """
    naan, slash, name = form.partition("/")
    *components, last = name.split("/")
    split = [
        (component, "", "") if _DECIMALS.fullmatch(component) else component.partition(".") for component in components
    ]
    kept = "/".join([base for base, _, _ in split] + [last])
    moved = "".join(dot + suffix for _, dot, suffix in split)
    return naan + slash + kept + moved


# -- the draft of 2005, where it differs (draft-kunze-ark-10, 2.7)


def without_query_alone(text: str) -> str:
    """Remove the query but not ``#``, which is a character of names (2.6).

    >>> without_query_alone("ark:/12345/x#5?info")
    'ark:/12345/x#5'
    """
    return text.partition("?")[0]


def with_lower_escapes(form: str) -> str:
    """Convert the two letters or digits after every percent sign to lower case.

    >>> with_lower_escapes("ark:/12345/x%7Dx")
    'ark:/12345/x%7dx'
    """
    return _AFTER_PERCENT.sub(lambda escape: escape[0].lower(), form)


def without_ascii_hyphens(form: str) -> str:
    """Remove hyphens; hyphen-like characters are not mentioned before 2023.

    >>> without_ascii_hyphens("ark:/12025/65-4-xz-321")
    'ark:/12025/654xz321'
    """
    return form.replace("-", "")


def with_sorted_suffixes(form: str) -> str:
    """Sort the suffixes by code point, without duplicates; they are last already (2020 scheme: 6, step 3.4).

    >>> with_sorted_suffixes("ark:12345/x.svg.en.svg")
    'ark:12345/x.en.svg'
    """
    naan, slash, name = form.partition("/")
    root, dot, suffixes = name.partition(".")
    return naan + slash + root + dot + ".".join(sorted(set(suffixes.split("."))))


def with_classic_label(form: str) -> str:
    """Convert the label to its form of 2005, with a slash.

    >>> with_classic_label("ark:12025/654xz321")
    'ark:/12025/654xz321'
    """
    return LABEL.sub("ark:/", form, count=1)


# -- the URI scheme of 2020 (section 6)


def with_decoded_ark(form: str) -> str:
    """Step 3.1: decode escapes of characters that need none, and of hyphens, which the next step removes.

    >>> with_decoded_ark("ark:12345/%78%2D5%2Fc3")
    'ark:12345/x-5%2Fc3'
    """
    return _decode(form, _DECODED_IN_ARK)


def with_decoded_query(tail: str) -> str:
    """Step 4: decode escapes of unreserved characters (RFC 3986, 2.3) in query and fragment.

    >>> with_decoded_query("?%69nfo%3D")
    '?info%3D'
    """
    return _decode(tail, _DECODED_IN_QUERY)


def with_escaped_non_ascii(form: str) -> str:
    """Step 3.3: escape characters outside ASCII as UTF-8.

    >>> with_escaped_non_ascii("ark:12345/4бф3х1")
    'ark:12345/4%D0%B1%D1%843%D1%851'
    """
    return _NON_ASCII.sub(_escape, form)


def _escape(raw: re.Match[str]) -> str:
    return quote_from_bytes(raw[0].encode("utf-8", "surrogatepass"), safe="")


def _decode(text: str, characters: frozenset[str]) -> str:
    def character(escape: re.Match[str]) -> str:
        char = chr(int(escape[0][1:], 16))
        return char if char in characters else escape[0]

    return _ESCAPE.sub(character, text)


class NotAnArk(ArkauditError, ValueError):
    """Raised by parsing and normalizing if a string has no label, or nothing after it."""


class NamespaceOnly(NotAnArk):
    """Raised if a string names a NAAN but no object under it (draft-kunze-ark-38, 2.4)."""


class Profile(StrEnum):
    """The rules of a specification for the equality of ARKs."""

    DRAFT_2023 = "draft-2023"
    """draft-kunze-ark-38, 3.2: the default, and identity in the store."""
    DRAFT_2005 = "draft-2005"
    """draft-kunze-ark-10, 2.7."""
    SCHEME_2020 = "scheme-2020"
    """The ARK URI scheme, section 6; defined only for strings of its grammar."""


Step = Callable[[str], str]

#: The first steps extract the ARK from its URL. Step 7 of 2023 (the inflection) is done before step 2 drops the query.
CUT: Mapping[Profile, tuple[Step, ...]] = {
    Profile.DRAFT_2023: (without_resolver, without_query),
    Profile.DRAFT_2005: (without_resolver, without_query_alone),
    Profile.SCHEME_2020: (without_resolver,),
}
#: The remaining steps, in the order of each text, repeated until nothing changes.
STEPS: Mapping[Profile, tuple[Step, ...]] = {
    Profile.DRAFT_2023: (
        with_modern_label,
        with_lower_naan,
        with_upper_escapes,
        without_hyphens,
        with_escaped_octets,
        with_clean_structure,
        with_suffixes_last,
    ),
    Profile.DRAFT_2005: (
        with_modern_label,
        with_lower_escapes,
        without_ascii_hyphens,
        with_escaped_octets,
        with_clean_structure,
        with_suffixes_last,
        with_sorted_suffixes,
        with_classic_label,
    ),
    Profile.SCHEME_2020: (
        with_modern_label,
        with_decoded_ark,
        without_ascii_hyphens,
        with_escaped_non_ascii,
        with_upper_escapes,
        with_sorted_suffixes,
    ),
}
#: The steps of 2020 for query and fragment, which are kept.
QUERY_STEPS_2020: tuple[Step, ...] = (with_decoded_query, with_escaped_non_ascii, with_upper_escapes)

#: ARKs that the steps of 2023 don't change, except for the slash of the label.
CLEAN = re.compile(
    r"""
    ark:/?
    (?P<naan>      [0-9a-z]++ )
    /
    (?P<name>      [!"$&-,0->@-~]++ )               # visible ASCII without # % - . / ?
    (?P<qualifier> (?: / [!"$&-,0->@-~]++ )*+ (?: \. [!"$&-,0->@-~]++ )*+ )
    """,
    re.VERBOSE,
)

_UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16 | (0x1000 if plane == 0xE else 0))}-{chr(plane << 16 | 0xFFFD)}" for plane in range(1, 0xF)
)
_IPRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_NAME_2020 = rf"(?: [0-9A-Za-z=~*+@_$\-{_UCSCHAR}] | %[0-9A-Fa-f]{{2}} )++"
_QUERY_2020 = rf"[0-9A-Za-z\-._~!$&'()*+,;=:@/?{_UCSCHAR}"
#: Section 4. Its NAAN has no hyphens, but section 7.1.1 has: they are allowed here.
_SCHEME_2020 = re.compile(
    rf"""
    (?P<basic>
        ark:/?+
        (?: [0-9bcdfghjkmnpqrstvwxz\-] | %[0-9A-Fa-f]{{2}} )++
        / {_NAME_2020} (?: / {_NAME_2020} )*+ (?: \. {_NAME_2020} )*+
    )
    (?P<tail>
        (?: \? (?: {_QUERY_2020}{_IPRIVATE}] | %[0-9A-Fa-f]{{2}} )*+ )?+
        (?: \# (?: {_QUERY_2020}] | %[0-9A-Fa-f]{{2}} )*+ )?+
    )
    """,
    re.VERBOSE,
)
#: Maximum number of characters of a rejected string in a message.
_SHOWN_CHARS = 200
_ANY_CASE_LABEL = re.compile("ark:", re.IGNORECASE | re.ASCII)
#: Forbidden in IRIs (RFC 3987, 4.1, and later additions of Unicode).
_BIDI_CONTROL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def normalize(ark: str, profile: Profile = Profile.DRAFT_2023) -> str:
    """Return the normal form of *ark* under *profile*: equal ARKs have equal normal forms.

    Raises `NotAnArk` if there is no label or nothing usable after it, or if the string doesn't fit the grammar of 2020;
    `NamespaceOnly` for a NAAN alone.
    Sources: draft-kunze-ark-38, 3.2; draft-kunze-ark-10, 2.7; ARK URI scheme, 6.

    >>> normalize("https://sneezy.dopey.com/ark:/12345/x54--xz32-1?info")
    'ark:12345/x54xz321'
    >>> normalize("ark:12345/x.svg.en", Profile.DRAFT_2005)
    'ark:/12345/x.en.svg'
    >>> normalize("ark:/12148/")
    Traceback (most recent call last):
    ...
    extractors.model.normalize.NamespaceOnly: a NAAN without a name: 'ark:/12148/'
    """
    if profile is Profile.DRAFT_2023 and CLEAN.fullmatch(ark):
        return "ark:" + ark[5:] if ark[4] == "/" else ark
    form = _apply_steps(ark, CUT[profile])
    if profile is Profile.SCHEME_2020:
        return _normalize_2020(ark, form)
    label = LABEL.match(form)
    if not label:
        raise NotAnArk(f"no ark: label: {_quote(ark)}")
    form = _repeat_steps(form, STEPS[profile])
    naan, _, name = form[LABEL.match(form).end() :].partition("/")  # type: ignore[union-attr]
    if not naan:
        raise NotAnArk(f"no NAAN after the label: {_quote(ark)}")
    if not name:
        raise NamespaceOnly(f"a NAAN without a name: {_quote(ark)}")
    return form


def with_hyphens(ark: str) -> str:
    """Return the normal form of *ark* with its hyphens, which some resolvers need.

    >>> with_hyphens("ark:/61903/1:1:KX9W-TM2?x")
    'ark:61903/1:1:KX9W-TM2'
    """
    steps = tuple(step for step in STEPS[Profile.DRAFT_2023] if step is not without_hyphens)
    return _repeat_steps(_apply_steps(ark, CUT[Profile.DRAFT_2023]), steps)


def _apply_steps(form: str, steps: tuple[Step, ...]) -> str:
    for step in steps:
        form = step(form)
    return form


def _repeat_steps(form: str, steps: tuple[Step, ...]) -> str:
    """Return *form* after *steps*, repeated until nothing changes."""
    previous = None
    while form != previous:
        previous = form
        form = _apply_steps(form, steps)
    return form


def _normalize_2020(ark: str, form: str) -> str:
    label = _ANY_CASE_LABEL.match(form)
    if not label:
        raise NotAnArk(f"no ark: label: {_quote(ark)}")
    extended = _SCHEME_2020.fullmatch("ark:" + form[label.end() :])
    if not extended or _BIDI_CONTROL.search(form):
        raise NotAnArk(f"not an ARK under the scheme of 2020: {_quote(ark)}")
    basic = _repeat_steps(extended["basic"], STEPS[Profile.SCHEME_2020])
    if not _SCHEME_2020.fullmatch(basic):  # a part became empty, or the NAAN contained an escape that is not allowed
        raise NotAnArk(f"not an ARK under the scheme of 2020: {_quote(ark)}")
    return basic + _apply_steps(extended["tail"], QUERY_STEPS_2020)


def _quote(ark: str) -> str:
    return repr(ark if len(ark) <= _SHOWN_CHARS else ark[:_SHOWN_CHARS] + "…")
