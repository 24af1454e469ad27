"""Pure: what differs between two checks in which an ARK worked: where it lands, what is there, what is said of it.

What one of the two checks could not see is no difference: a description that was not asked for has not been lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from crawler.answers.likeness import likeness
from crawler.history.outages import host_of
from crawler.model.observations import DESCRIBED, CommitmentOutcome, MetadataOutcome

#: What a description and a commitment are compared by, where they have it.
_TOLD = ("who", "what", "when")
#: Characters of a value that are kept for comparing.
_KEPT = 200
#: Outcomes that show that there is no description of the object; others that don't describe it leave that open.
_UNDESCRIBED = frozenset(
    {
        MetadataOutcome.REGISTRY_LEVEL,
        MetadataOutcome.QUERY_IGNORED,
        MetadataOutcome.QUERY_DROPPED,
        MetadataOutcome.ANSWERS_ANYTHING,
        MetadataOutcome.UNSUPPORTED,
    }
)
_UNSTATED = frozenset({CommitmentOutcome.PLACEHOLDER, CommitmentOutcome.ABSENT})
#: Parameters that name a visit and not an object.
_VISITS = re.compile(r"(?:j|php|asp)?_?sess(?:ion)?_?id|sid|utm_\w+|_ga|timestamp|nonce|cfid|cftoken", re.IGNORECASE)

MetadataValues = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """The observed features of an object that works; None for those not observed."""

    landing: str | None = None
    sketch: str | None = None
    """`crawler.answers.likeness.sketch` of the whole readable text."""
    digest: str | None = None
    """Of the whole body, in hexadecimal; none for a body that was not read to its end."""
    description: MetadataValues | None = None
    """Empty where the provider does not describe the object."""
    promise: MetadataValues | None = None
    """Empty where the provider states no commitment."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is otherwise than before, in words."""

    is_place: bool
    words: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The differences, and the features that the next check is compared with."""

    known: Seen
    differences: tuple[Difference, ...] = field(default=())


def described(outcome: str, parsed: Mapping[str, Any]) -> MetadataValues | None:
    """Return what a metadata verdict tells to compare by; empty for no description, None where that is not known.

    >>> described("erc", {"who": "A  Library", "what": "A map", "where": "x"}), described("blocked", {})
    ({'who': 'A Library', 'what': 'A map'}, None)
    """
    if outcome in DESCRIBED:
        return _metadata_values(parsed)
    return {} if outcome in _UNDESCRIBED else None


def promised(outcome: str, parsed: Mapping[str, Any]) -> MetadataValues | None:
    """Return what a commitment verdict tells to compare by: its words, its guarantor, its date.

    >>> promised("stated", {"who": "A Library", "what": "Not Guaranteed"}), promised("absent", {})
    ({'who': 'A Library', 'what': 'Not Guaranteed'}, {})
    """
    if outcome == CommitmentOutcome.STATED:
        return _metadata_values(parsed)
    return {} if outcome in _UNSTATED else None


def place(url: str) -> str:
    """A landing URL as a place: without its scheme, its default port, a trailing slash, a fragment and session names.

    >>> place("http://A.example:80/view/7/?sid=9&page=2"), place("https://a.example/view/7?page=2")
    ('a.example/view/7?page=2', 'a.example/view/7?page=2')
    """
    host = host_of(url)
    if host is None:
        return url
    parts = urlsplit(url)
    path = re.sub(r";jsessionid=[^/;]*", "", parts.path, flags=re.IGNORECASE).rstrip("/")
    query = sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _VISITS.fullmatch(k))
    named = "&".join(f"{key}={value}" for key, value in query)
    return f"{host}{path}{'?' if named else ''}{named}"


def compared(known: Seen, seen: Seen, *, least_likeness: float) -> Compared:
    """Return what differs between what was *known* of a working ARK and what is *seen* of it now.

    Texts differ when they are less alike than *least_likeness*. They are held against the text that was known first
    or that the last difference brought, so that a slow drift adds up.
    """
    differences: list[Difference] = []
    after = known
    if seen.landing is not None:
        if known.landing not in (None, seen.landing) and place(known.landing or "") != place(seen.landing):
            differences.append(Difference(True, f"from {known.landing} to {seen.landing}"))
        after = replace(after, landing=seen.landing)
    words = _other_object(known, seen, least_likeness)
    if words:
        differences.append(Difference(False, f"object: {words}"))
    if words or (known.sketch is None and known.digest is None):
        after = replace(after, sketch=seen.sketch, digest=seen.digest)
    for name, before, now in (
        ("metadata", known.description, seen.description),
        ("commitment", known.promise, seen.promise),
    ):
        if before is not None and now is not None:
            differences += [Difference(False, f"{name}: {each}") for each in _other_words(before, now)]
    after = replace(
        after,
        description=known.description if seen.description is None else seen.description,
        promise=known.promise if seen.promise is None else seen.promise,
    )
    return Compared(after, tuple(differences))


def _other_object(known: Seen, seen: Seen, least_likeness: float) -> str | None:
    if known.digest is not None and known.digest == seen.digest:
        return None
    if known.sketch is not None and seen.sketch is not None:
        share = likeness(known.sketch, seen.sketch)
        return f"{share:.0%} of its text is as it was" if share < least_likeness else None
    if known.sketch is None and seen.sketch is None and known.digest and seen.digest:
        return "its bytes are others"
    return None


def _other_words(before: MetadataValues, now: MetadataValues) -> Iterator[str]:
    if not before or not now:
        if before:
            yield "given no more"
        elif now:
            yield "given now"
        return
    for name in dict.fromkeys((*before, *now)):
        one, other = before.get(name, ""), now.get(name, "")
        if one != other:
            yield f"{name}: {one!r}, now {other!r}"


def _metadata_values(parsed: Mapping[str, Any]) -> MetadataValues:
    values = {name: _folded(parsed[name]) for name in _TOLD if parsed.get(name)}
    if values:
        return values
    whole = sha256(repr(sorted((key, _folded(value)) for key, value in parsed.items())).encode("utf-8", "replace"))
    return {"record": whole.hexdigest()[:16]}


def _folded(value: Any) -> str:
    return " ".join(str(value).split())[:_KEPT]
