"""Normalization of ARKs under three specifications, each a tuple of steps in the order of its text.

The drafts' steps are not idempotent when run once: a hyphen inside an escape, or an empty NAAN, leaves something for
a second pass. They are therefore repeated until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from extractors.normalization_steps import (
    LABEL,
    with_classic_label,
    with_clean_structure,
    with_decoded_ark,
    with_decoded_query,
    with_escaped_non_ascii,
    with_escaped_octets,
    with_lower_escapes,
    with_lower_naan,
    with_modern_label,
    with_sorted_suffixes,
    with_suffixes_last,
    with_upper_escapes,
    without_ascii_hyphens,
    without_hyphens,
    without_query,
    without_query_alone,
    without_resolver,
)
from extractors.shared_errors import ArkauditError

__all__ = [
    "CLEAN",
    "LABEL",
    "Misplaced",
    "MisplacedSuffix",
    "NamespaceOnly",
    "NotAnArk",
    "Profile",
    "normalize",
    "without_hyphens",
    "without_query",
    "without_resolver",
]


class NotAnArk(ArkauditError, ValueError):
    """Raised by parsing and normalizing when a string holds no label, or nothing behind it."""


class NamespaceOnly(NotAnArk):
    """Raised when a string names a NAAN but no object under it (draft-kunze-ark-38, 2.4)."""


class MisplacedSuffix(NotAnArk):
    """Raised on request when a ``.suffix`` stands left of a ``/component`` (draft-kunze-ark-38, 3.2, step 9)."""


class Profile(StrEnum):
    """A specification's rules on when two ARKs are one."""

    DRAFT_2023 = "draft-2023"
    """draft-kunze-ark-38, 3.2: the default, and identity in the store."""
    DRAFT_2005 = "draft-2005"
    """draft-kunze-ark-10, 2.7."""
    SCHEME_2020 = "scheme-2020"
    """The ARK URI scheme, section 6; defined only for strings that fit its grammar."""


class Misplaced(StrEnum):
    """The treatment of a ``.suffix`` left of a ``/component``: the drafts allow both."""

    MOVE = "move"
    REFUSE = "refuse"


Step = Callable[[str], str]

#: The first steps cut the ARK out of its URL. Step 7 of 2023 (the inflection) is settled before step 2 drops the query.
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
#: The steps of 2020 for query and fragment, which stay.
QUERY_STEPS_2020: tuple[Step, ...] = (with_decoded_query, with_escaped_non_ascii, with_upper_escapes)

#: What the steps of 2023 leave as it is, but for the label's slash: nothing to lower, remove, escape or move.
CLEAN = re.compile(
    r"""
    ark:/?
    (?P<naan>      [0-9a-z]++ )
    /
    (?P<name>      [!"$&-,0->@-~]++ )               # visible ASCII but # % - . / ?
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
#: Section 4. Its NAAN has no hyphens, its section 7.1.1 has: they are allowed here.
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
#: Of a string that is refused, so much stands in the message.
_SHOWN_CHARS = 200
_ANY_CASE_LABEL = re.compile("ark:", re.IGNORECASE | re.ASCII)
#: IRIs must not hold them (RFC 3987, 4.1, and what Unicode has added since).
_BIDI_CONTROL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def normalize(ark: str, profile: Profile = Profile.DRAFT_2023, *, misplaced: Misplaced = Misplaced.MOVE) -> str:
    """The normal form of *ark* under *profile*: equal ARKs have equal normal forms.

    Raises `NotAnArk` when there is no label or nothing usable behind it, or the string doesn't fit the grammar of
    2020; `NamespaceOnly` when a NAAN stands alone; `MisplacedSuffix` when such suffixes are to be refused.
    Sources: draft-kunze-ark-38, 3.2; draft-kunze-ark-10, 2.7; ARK URI scheme, 6.

    >>> normalize("https://sneezy.dopey.com/ark:/12345/x54--xz32-1?info")
    'ark:12345/x54xz321'
    >>> normalize("ark:12345/x.svg.en", Profile.DRAFT_2005)
    'ark:/12345/x.en.svg'
    >>> normalize("ark:/12148/")
    Traceback (most recent call last):
    ...
    extractors.normalize.NamespaceOnly: a NAAN without a name: 'ark:/12148/'
    """
    if profile is Profile.DRAFT_2023 and CLEAN.fullmatch(ark):
        return "ark:" + ark[5:] if ark[4] == "/" else ark
    form = _through(ark, CUT[profile])
    if profile is Profile.SCHEME_2020:
        return _normalized_2020(ark, form)
    label = LABEL.match(form)
    if not label:
        raise NotAnArk(f"no ark: label: {_shown(ark)}")
    if profile is Profile.DRAFT_2023:
        without_any = "ark:" + form[label.end() :].replace("-", "")
        if CLEAN.fullmatch(without_any):
            return "ark:" + without_any[5:] if without_any[4] == "/" else without_any
    form = _settled(form, profile, misplaced)
    naan, _, name = form[LABEL.match(form).end() :].partition("/")  # type: ignore[union-attr]
    if not naan:
        raise NotAnArk(f"no NAAN behind the label: {_shown(ark)}")
    if not name:
        raise NamespaceOnly(f"a NAAN without a name: {_shown(ark)}")
    return form


def _through(form: str, steps: tuple[Step, ...]) -> str:
    for step in steps:
        form = step(form)
    return form


def _settled(form: str, profile: Profile, misplaced: Misplaced) -> str:
    """*form* after the profile's steps, repeated until nothing changes."""
    steps = STEPS[profile]
    if misplaced is Misplaced.REFUSE:
        steps = tuple(step for step in steps if step is not with_suffixes_last)
    previous = None
    while form != previous:
        previous = form
        form = _through(form, steps)
    if misplaced is Misplaced.REFUSE and with_suffixes_last(form) != form:
        raise MisplacedSuffix(f"a suffix left of a component: {_shown(form)}")
    return form


def _normalized_2020(ark: str, form: str) -> str:
    label = _ANY_CASE_LABEL.match(form)
    if not label:
        raise NotAnArk(f"no ark: label: {_shown(ark)}")
    extended = _SCHEME_2020.fullmatch("ark:" + form[label.end() :])
    if not extended or _BIDI_CONTROL.search(form):
        raise NotAnArk(f"not an ARK under the scheme of 2020: {_shown(ark)}")
    basic = _settled(extended["basic"], Profile.SCHEME_2020, Misplaced.MOVE)
    if not _SCHEME_2020.fullmatch(basic):  # nothing was left of a part, or its NAAN hid a character that is none
        raise NotAnArk(f"not an ARK under the scheme of 2020: {_shown(ark)}")
    return basic + _through(extended["tail"], QUERY_STEPS_2020)


def _shown(ark: str) -> str:
    return repr(ark if len(ark) <= _SHOWN_CHARS else ark[:_SHOWN_CHARS] + "…")
