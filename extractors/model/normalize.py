"""Normalization of ARKs, a tuple of steps in the order of draft-kunze-ark-38, 3.2.

One pass of the steps is not idempotent: a hyphen inside an escape, or an empty NAAN, changes the result of a
second pass. The steps are therefore repeated until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote_from_bytes

from extractors.model.errors import ArkauditError

# The steps of normalization, from the form of an ARK after the step before to its next form.


LABEL = re.compile(r"ark:/?", re.IGNORECASE | re.ASCII)
_RESOLVER_END = re.compile(r"/(?=ark:)", re.IGNORECASE | re.ASCII)
#: Numbers of a region or size in a IIIF URL: ``130.0,274.0,1050.0,200.5``. Their periods begin no suffix.
_DECIMALS = re.compile(r"(?:pct:)?(?=[^,]*,)[0-9.,]+", re.ASCII)
_LABELS = re.compile(r"(?:ark:/*)+", re.IGNORECASE | re.ASCII)
_QUERY_OR_FRAGMENT = re.compile(r"[?#]")
_AFTER_PERCENT = re.compile(r"%[0-9A-Za-z]{1,2}")
_HYPHENS = re.compile("[-\N{HYPHEN}-\N{HORIZONTAL BAR}]")
_UNWRITABLE = re.compile(r"[^!-~]+")
_STRUCTURAL_RUN = re.compile(r"([/.])[/.]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


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
    """Escape raw non-ASCII characters, blanks and controls as UTF-8 (draft-kunze-ark-38, 3.1), which no step mentions.

    >>> with_escaped_octets("ark:12345/4б")
    'ark:12345/4%D0%B1'
    """
    return _UNWRITABLE.sub(_escape, form)


def with_clean_structure(form: str) -> str:
    """Step 8: remove ``/`` and ``.`` at the beginning and end, and all but the first of several together.

    Periods around the NAAN are removed first, or ``ark:12345./x`` would lose the slash after it.

    >>> with_clean_structure("ark:/12345./x5//c3./.")
    'ark:12345/x5/c3'
    """
    naan, slash, name = form.removeprefix("ark:").lstrip("/.").partition("/")
    naan = _STRUCTURAL_RUN.sub(r"\1", naan).strip(".")
    name = _STRUCTURAL_RUN.sub(r"\1", name).strip("/.")
    return f"ark:{naan}{slash}{name}"


def with_suffixes_last(form: str) -> str:
    """Step 9: move every ``.variant`` before a ``/component`` to the end, in order; decimals of IIIF stay.

    >>> with_suffixes_last("ark:12345/x.a/y.b/z.c")
    'ark:12345/x/y/z.c.a.b'
    >>> with_suffixes_last("ark:12345/x/130.0,274.5,9,9/full/0/native.jpg")
    'ark:12345/x/130.0,274.5,9,9/full/0/native.jpg'
    """
    naan, slash, name = form.partition("/")
    *components, last_component = name.split("/")
    split_components = [
        (component, "", "") if _DECIMALS.fullmatch(component) else component.partition(".") for component in components
    ]
    components_form = "/".join([base for base, _, _ in split_components] + [last_component])
    suffixes_form = "".join(dot + suffix for _, dot, suffix in split_components)
    return naan + slash + components_form + suffixes_form


def _escape(raw: re.Match[str]) -> str:
    return quote_from_bytes(raw[0].encode("utf-8", "surrogatepass"), safe="")


class NotAnArk(ArkauditError, ValueError):
    """Raised by parsing and normalizing for a string without a label, NAAN or name."""


class NamespaceOnly(NotAnArk):
    """Raised for a string with a NAAN but without a name (draft-kunze-ark-38, 2.4)."""


Step = Callable[[str], str]

#: The first steps extract the ARK from its URL. Step 7 (the inflection) is done before step 2 drops the query.
CUT_STEPS: tuple[Step, ...] = (without_resolver, without_query)
#: The remaining steps, in the order of the draft, repeated until nothing changes.
STEPS: tuple[Step, ...] = (
    with_modern_label,
    with_lower_naan,
    with_upper_escapes,
    without_hyphens,
    with_escaped_octets,
    with_clean_structure,
    with_suffixes_last,
)

#: ARKs that the steps don't change, except for the slash of the label.
CLEAN_ARK = re.compile(
    r"""
    ark:/?
    (?P<naan>      [0-9a-z]++ )
    /
    (?P<name>      [!"$&-,0->@-~]++ )               # visible ASCII without # % - . / ?
    (?P<qualifier> (?: / [!"$&-,0->@-~]++ )*+ (?: \. [!"$&-,0->@-~]++ )*+ )
    """,
    re.VERBOSE,
)

#: Maximum number of characters of a rejected string in a message.
_SHOWN_CHARS = 200


def normalize(text: str) -> str:
    """Return the normal form of the ARK *text*: equal ARKs have equal normal forms (draft-kunze-ark-38, 3.2).

    Raises `NotAnArk` if there is no label or no NAAN after it, and `NamespaceOnly` for a NAAN without a name.

    >>> normalize("https://sneezy.dopey.com/ark:/12345/x54--xz32-1?info")
    'ark:12345/x54xz321'
    >>> normalize("ark:/12148/")
    Traceback (most recent call last):
    ...
    extractors.model.normalize.NamespaceOnly: a NAAN without a name: 'ark:/12148/'
    """
    if CLEAN_ARK.fullmatch(text):
        return "ark:" + text[5:] if text[4] == "/" else text
    form = _apply_steps(text, CUT_STEPS)
    label = LABEL.match(form)
    if not label:
        raise NotAnArk(f"no ark: label: {_quote(text)}")
    form = _repeat_steps(form, STEPS)
    naan, _, name = form[LABEL.match(form).end() :].partition("/")  # type: ignore[union-attr]
    if not naan:
        raise NotAnArk(f"no NAAN after the label: {_quote(text)}")
    if not name:
        raise NamespaceOnly(f"a NAAN without a name: {_quote(text)}")
    return form


def with_hyphens(text: str) -> str:
    """Return the normal form of the ARK *text*, but with its hyphens, which some resolvers need.

    >>> with_hyphens("ark:/61903/1:1:KX9W-TM2?x")
    'ark:61903/1:1:KX9W-TM2'
    """
    steps = tuple(step for step in STEPS if step is not without_hyphens)
    return _repeat_steps(_apply_steps(text, CUT_STEPS), steps)


def _apply_steps(form: str, steps: tuple[Step, ...]) -> str:
    for step in steps:
        form = step(form)
    return form


def _repeat_steps(form: str, steps: tuple[Step, ...]) -> str:
    """Return *form* after repeating *steps* until nothing changes."""
    previous_form = None
    while form != previous_form:
        previous_form = form
        form = _apply_steps(form, steps)
    return form


def _quote(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
