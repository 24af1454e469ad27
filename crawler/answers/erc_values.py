"""Pure: the value of an ERC element becomes what people read: its code, its natural word order, its characters.

A value is ``[flags] (:code) , data``: each part is optional, in this order, only at the start (draft-kunze-ark-10,
7.5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from crawler.answers.quirks import without_marks

#: Codes for a value that is missing, and what they say; ``etal`` is in for names and is none of them.
MISSING: Mapping[str, str] = {
    "unac": "temporarily inaccessible",
    "unal": "suppressed on purpose",
    "unap": "not applicable",
    "unas": "not assigned",
    "unav": "unavailable indefinitely",
    "unkn": "unknown",
    "none": "never had a value, never will",
    "null": "explicitly empty",
    "tba": "to be assigned or announced later",
}
#: The code that says where the value is; without that, it says nothing.
ELSEWHERE = "at"
#: Codes that say on purpose that there is nothing, where others say that someone may come to know.
ON_PURPOSE = frozenset({"unap", "unal"})

#: What programs write where a value is missing.
NOTHING = frozenset({"none", "null", "nil", "n/a", "nan", "undefined", "not available", "not specified", "unspecified"})

_FLAGS = re.compile(r"\[[^\]\s]{0,40}\](?=\s*\S)")
_CODE = re.compile(r"\(:(?P<code>[a-z0-9]{1,16})\)\s*", re.IGNORECASE)
#: Codes as some software sends them, without their brackets: then they are all of the value.
_NAKED_CODE = re.compile(rf":(?P<code>{'|'.join(MISSING)}|at|etal)\Z", re.IGNORECASE)
_ENCODED = re.compile(r"%[!%._{}]|\s+|[^%\s]+|%")
_DECODED = {"%!": "|", "%%": "%", "%.": ",", "%_": ""}


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an element, as people read it."""

    text: str
    """The data in natural word order, decoded."""
    code: str | None = None
    """The controlled code before it, without its brackets; `text` is then its wording, often empty."""
    sort_text: str | None = None
    """The data as it is sorted, where the value says that it is sort-friendly."""

    @property
    def missing(self) -> str | None:
        """The code when it says that there is no value; None for a value, and for a code that means one."""
        is_elsewhere = self.code == ELSEWHERE and not self.text
        return self.code if self.code in MISSING or is_elsewhere else None

    def __str__(self) -> str:
        marked = f"(:{self.code})" if self.code else ""
        return f"{marked} {self.text}".strip()


def parse_value(written: str) -> Value:
    """The value that *written* is: unfolded, and one of those between the pipes.

    >>> parse_value("(:unkn) Anonymous")
    Value(text='Anonymous', code='unkn', sort_text=None)
    >>> parse_value(", van Gogh, Vincent")
    Value(text='Vincent van Gogh', code=None, sort_text='van Gogh, Vincent')
    """
    rest = written.strip()
    if flags := _FLAGS.match(rest):
        rest = rest[flags.end() :].lstrip()
    code = _CODE.match(rest) or _NAKED_CODE.match(rest)
    if code:
        rest = rest[code.end() :]
    sort_friendly = rest.startswith(",") and len(rest) > 1
    data = rest[1:].strip() if sort_friendly else rest.strip()
    return Value(
        decoded(natural_order(data)) if sort_friendly else decoded(data),
        code["code"].lower() if code else None,
        decoded(data.rstrip(", ")) if sort_friendly else None,
    )


def natural_order(sort_friendly: str) -> str:
    """Return what comes after a leading comma, in the order in which people say it (2005, 7.5).

    The six published examples allow this rule: with a comma at the end too, all parts are turned round; otherwise the
    last part comes to the front.

    >>> natural_order("Howell, III, PhD, 1922-1987, Thurston")
    'Thurston Howell, III, PhD, 1922-1987'
    >>> natural_order("McCartney, Paul, Sir,")
    'Sir Paul McCartney'
    """
    parts = [part.strip() for part in sort_friendly.split(",")]
    if len(parts) == 1:
        return parts[0]
    if parts[-1] == "":
        return " ".join(reversed(parts[:-1]))
    return f"{parts[-1]} {', '.join(parts[:-1])}"


def decoded(text: str) -> str:
    """The characters that an encoding protects, in one pass; percent escapes of the web stay as they are (2005, 7.6).

    >>> decoded("100%% %! more%. %5F"), decoded("http://a.b/node%{ ? db = foo %}")
    ('100% | more, %5F', 'http://a.b/node?db=foo')
    """
    if "%" not in text:
        return text
    out: list[str] = []
    inside, last_end = False, text.rfind("%}")
    for token in _ENCODED.finditer(text):
        written = token[0]
        if written == "%{" and not inside and token.start() < last_end:
            inside = True
        elif written == "%}" and inside:
            inside = False
        elif not (inside and written.isspace()):
            out.append(_DECODED.get(written, written))
    return "".join(out)


#: All of a value is a variable of a template, or what JavaScript writes for an object.
_UNFILLED = re.compile(
    r"(?:[$#@]?\{{1,3}\s*[\w.:| -]{1,80}\}{1,3}|%[A-Za-z][\w.-]{0,80}%|<%.{1,80}%>|\[object [A-Z]\w{0,30}\])\Z"
)


def missing_code(value: str) -> str | None:
    """The code when a displayed value is one for "there is none", with or without words after it; else None.

    >>> missing_code("(:unkn) Anonymous"), missing_code("(:etal)"), missing_code("1952")
    ('unkn', None, None)
    """
    return parse_value(value).missing


def says_something(value: str) -> bool:
    """Return whether a value is more than a code for what is missing, or a program's or a form's word for nothing.

    >>> [says_something(value) for value in ("Rossi, Ada", "(:unkn) Anonymous", ":unav", "None", "\N{EN DASH}")]
    [True, False, False, False, False]

    Nor is it the name of a value that a program was to put there.

    >>> [says_something(value) for value in ("{author}", "${dc.title}", "{{ date }}", "%AUTHOR%", "[object Object]")]
    [False, False, False, False, False]
    """
    if _UNFILLED.match(value.strip()):
        return False
    bare = without_marks(value).lower()
    return bare != "" and bare not in NOTHING and missing_code(value) is None


# Pure: dates as ERCs write them (TEMPER): years, days and seconds, in lists and ranges (draft-kunze-ark-10, 7.6).

#: ISO 8601: a month, not the end of a range of years, is twelve or less, a day by standing after a month.
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
#: Members of a list that are read; no one lists more.
_MOST_MEMBERS = 200


@dataclass(frozen=True, slots=True)
class Dates:
    """Points and ranges in time, each as its first and last moment in normal form."""

    spans: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ",".join(first if first == last else f"{first}-{last}" for first, last in self.spans)


@lru_cache(maxsize=4096)  # many records of one holder speak of the same days
def parse_dates(written: str) -> Dates | None:
    """The dates that *written* is, or None when it is none: much that is under ``when`` is free text.

    >>> str(parse_dates("2000 12 29 23 59 55")), str(parse_dates("1952, 1958-1967, 1985"))
    ('20001229235955', '1952,1958-1967,1985')
    >>> str(parse_dates("2008-12-03T10:00:00Z")), parse_dates("before the flood")
    ('20081203100000', None)
    """
    members = written.split(",", _MOST_MEMBERS)
    spans = [_span(member) for member in members]
    spans_there = tuple(span for span in spans if span is not None)
    return Dates(spans_there) if len(spans_there) == len(spans) else None


def _span(member: str) -> tuple[str, str] | None:
    iso = _ISO.fullmatch(member.strip())
    if iso and _possible(iso.groupdict()):
        parts = (iso[name] for name in ("year", "month", "day", "hour", "minute", "second"))
        point = "".join(part for part in parts if part)
        return point, point
    squeezed = "".join(member.split())
    first, hyphen, last = squeezed.partition("-")
    points = [first, last] if hyphen else [first, first]
    matches = [_POINT.fullmatch(point_match) for point_match in points]
    if all(point_match is not None and _possible(point_match.groupdict()) for point_match in matches):
        return (points[0], points[1]) if points[0] <= points[1] else None
    return None


def _possible(parts: dict[str, str | None]) -> bool:
    """Return whether no part is larger than it can be; ``00`` is a part that no one knows."""
    return all(int(parts.get(name) or 0) <= highest for name, highest in _HIGHEST.items())
