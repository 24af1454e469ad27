"""Normalization of ARKs: the steps of draft-kunze-ark-38, section 3.2, one small function each.

The nine steps of the draft are not idempotent when run once: a hyphen inside an escape, or an empty NAAN,
leaves something for a second pass. They are therefore repeated until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LABEL = re.compile(r"ark:/?", re.IGNORECASE)
_RESOLVER = re.compile(r"\A.*?/(?=ark:)", re.IGNORECASE | re.DOTALL)
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_STRUCTURAL_RUN = re.compile(r"([/.])[/.]+")
_HYPHENS = re.compile("[-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{HORIZONTAL BAR}]")


class NotAnArk(ValueError):
    """Raised by parsing and normalizing when a string holds no label, or nothing behind it."""


class NamespaceOnly(NotAnArk):
    """Raised when a string names a NAAN but no object under it (draft-kunze-ark-38, 2.4)."""


def without_resolver(ark: str) -> str:
    """Step 1: drop everything up to the slash before the first label.

    >>> without_resolver("https://example.org/rslvr/ark:12345/x6np1wh8k")
    'ark:12345/x6np1wh8k'
    """
    return _RESOLVER.sub("", ark, count=1)


def without_query(ark: str) -> str:
    """Step 2: drop everything from the first literal question mark; a fragment goes with it.

    The draft has no fragment step; HTTP and the 2020 URI scheme end an identifier at ``#``.

    >>> without_query("ark:12345/x5?info")
    'ark:12345/x5'
    """
    return re.split(r"[?#]", ark, maxsplit=1)[0]


def with_modern_label(ark: str) -> str:
    """Step 3: the first label, of either form and any case, becomes ``ark:``.

    >>> with_modern_label("ARK:/12345/x5")
    'ark:12345/x5'
    """
    return LABEL.sub("ark:", ark, count=1)


def with_lower_naan(ark: str) -> str:
    """Step 4: the NAAN in lower case.

    >>> with_lower_naan("ark:B5060/D1rp49")
    'ark:b5060/D1rp49'
    """
    naan, slash, name = ark.partition("/")
    return naan.lower() + slash + name


def with_upper_escapes(ark: str) -> str:
    """Step 5: the two characters behind every percent sign in upper case, and no other character's case.

    >>> with_upper_escapes("ark:12345/x%7dx")
    'ark:12345/x%7Dx'
    """
    return _ESCAPE.sub(lambda escape: escape[0].upper(), ark)


def without_hyphens(ark: str) -> str:
    """Step 6: no hyphens, nor the hyphen-like U+2010 to U+2015: they are inert for comparison.

    >>> without_hyphens("ark:12345/x5-4-xz-321")
    'ark:12345/x54xz321'
    """
    return _HYPHENS.sub("", ark)


def with_clean_structure(ark: str) -> str:
    """Step 8: ``/`` and ``.`` only between parts, and only one at a time.

    The slash behind the NAAN is protected: periods around the NAAN go first, or ``ark:12345./x`` would lose it.

    >>> with_clean_structure("ark:/12345./x5//c3./.")
    'ark:12345/x5/c3'
    """
    naan, slash, name = ark.removeprefix("ark:").lstrip("/.").partition("/")
    name = _STRUCTURAL_RUN.sub(r"\1", name).strip("/.")
    return f"ark:{naan.strip('.')}{slash}{name}"


def with_suffixes_last(ark: str) -> str:
    """Step 9: every ``.variant`` that stands left of a ``/component`` moves to the end, in order.

    >>> with_suffixes_last("ark:12345/x.a/y.b/z.c")
    'ark:12345/x/y/z.c.a.b'
    """
    naan, slash, name = ark.partition("/")
    *components, last = name.split("/")
    split = [component.partition(".") for component in components]
    kept = "/".join([base for base, _, _ in split] + [last])
    moved = "".join(dot + suffix for _, dot, suffix in split)
    return naan + slash + kept + moved


def with_escaped_octets(ark: str) -> str:
    """What the draft leaves open: raw characters outside ASCII, and controls, become UTF-8 escapes (3.1).

    >>> with_escaped_octets("ark:12345/4б")
    'ark:12345/4%D0%B1'
    """
    if ark.isascii() and ark.isprintable() and " " not in ark:
        return ark
    return "".join(
        char if "!" <= char <= "~" else "".join(f"%{octet:02X}" for octet in char.encode("utf-8", "surrogatepass"))
        for char in ark
    )


Step = Callable[[str], str]

#: Steps 1 and 2 cut the ARK out of its URL; step 7 (the inflection) is settled before step 2 drops the query.
CUT: tuple[Step, ...] = (without_resolver, without_query)
#: The remaining steps of the 2023 draft, in its order, repeated until nothing changes.
DRAFT_2023: tuple[Step, ...] = (
    with_modern_label,
    with_lower_naan,
    with_upper_escapes,
    without_hyphens,
    with_escaped_octets,
    with_clean_structure,
    with_suffixes_last,
)


def normalize(ark: str) -> str:
    """The normal form of *ark* under the 2023 draft: equal ARKs have equal normal forms.

    Raises `NotAnArk` when there is no label or nothing usable behind it, `NamespaceOnly` when a NAAN stands alone.
    Source: draft-kunze-ark-38, 3.2.

    >>> normalize("https://sneezy.dopey.com/ark:/12345/x54--xz32-1?info")
    'ark:12345/x54xz321'
    >>> normalize("ark:/12148/")
    Traceback (most recent call last):
    ...
    extractors.normalize.NamespaceOnly: a NAAN without a name: 'ark:/12148/'
    """
    form = ark
    for step in CUT:
        form = step(form)
    if not LABEL.match(form):
        raise NotAnArk(f"no ark: label: {ark!r}")
    previous = None
    while form != previous:
        previous = form
        for step in DRAFT_2023:
            form = step(form)
    naan, _, name = form.removeprefix("ark:").partition("/")
    if not naan:
        raise NotAnArk(f"no NAAN behind the label: {ark!r}")
    if not name:
        raise NamespaceOnly(f"a NAAN without a name: {ark!r}")
    return form
