"""Pure: dates as ERCs write them (TEMPER): years, days and seconds, in lists and ranges (draft-kunze-ark-10, 7.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

#: ISO 8601: a month, not the end of a range of years, is twelve or less, a day by standing behind a month.
_ISO = re.compile(
    r"""
    (?P<year>\d{4}) - (?P<month>\d{2})
    (?: - (?P<day>\d{2})
        (?: [T\ ] (?P<hour>\d{2}) :? (?P<minute>\d{2}) (?: :? (?P<second>\d{2}) (?:[.,]\d+)? )?
            (?: Z | [+-]\d{2}:?\d{2} )?
        )?
    )?
    """,
    re.VERBOSE | re.ASCII,
)
_POINT = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)?)?)?)?)?",
    re.ASCII,
)
_HIGHEST = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 60}
#: Members of a list that are read; nobody lists more.
_MOST_MEMBERS = 200


@dataclass(frozen=True, slots=True)
class Dates:
    """Points and ranges in time, each as its first and last moment in normal form."""

    spans: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ",".join(first if first == last else f"{first}-{last}" for first, last in self.spans)


@lru_cache(maxsize=4096)  # many records of one holder tell of the same days
def parse_dates(written: str) -> Dates | None:
    """The dates that *written* is, or None when it is none: much that stands under ``when`` is free text.

    >>> str(parse_dates("2000 12 29 23 59 55")), str(parse_dates("1952, 1958-1967, 1985"))
    ('20001229235955', '1952,1958-1967,1985')
    >>> str(parse_dates("2008-12-03T10:00:00Z")), parse_dates("before the flood")
    ('20081203100000', None)
    """
    members = written.split(",", _MOST_MEMBERS)
    spans = [_span(member) for member in members]
    found = tuple(span for span in spans if span is not None)
    return Dates(found) if len(found) == len(spans) else None


def _span(member: str) -> tuple[str, str] | None:
    iso = _ISO.fullmatch(member.strip())
    if iso and _possible(iso.groupdict()):
        parts = (iso[name] for name in ("year", "month", "day", "hour", "minute", "second"))
        point = "".join(part for part in parts if part)
        return point, point
    squeezed = "".join(member.split())
    first, hyphen, last = squeezed.partition("-")
    points = [first, last] if hyphen else [first, first]
    found = [_POINT.fullmatch(each) for each in points]
    if all(each is not None and _possible(each.groupdict()) for each in found):
        return (points[0], points[1]) if points[0] <= points[1] else None
    return None


def _possible(parts: dict[str, str | None]) -> bool:
    """Return whether no part is larger than it can be; ``00`` is a part that nobody knows."""
    return all(int(parts.get(name) or 0) <= highest for name, highest in _HIGHEST.items())
