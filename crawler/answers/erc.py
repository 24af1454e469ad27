"""Read Electronic Resource Citations in ANVL (draft-kunze-ark-10, 7): values, dates, elements, segments, records.

A value is ``[flags] (:code) , data``: each part is optional, in this order, only at the start (7.5). The reader accepts
the output of real systems. It raises nothing and skips lines that are not elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from crawler.answers.quirks import is_unfilled, quirks, without_marks

#: Codes for a missing value. ``etal`` occurs in names and is not one of them.
CODES_OF_MISSING = ("unac", "unal", "unap", "unas", "unav", "unkn", "none", "null", "tba")
#: The code for a value at another address. Without the address it is a missing value.
CODE_ELSEWHERE = "at"
#: Codes that declare that there is no value; the others leave it open.
CODES_OF_NO_VALUE = frozenset({"unap", "unal"})

_FLAGS = re.compile(r"\[[^\]\s]{0,40}\](?=\s*\S)")
_CODE = re.compile(r"\(:(?P<code>[a-z0-9]{1,16})\)\s*", re.IGNORECASE)
#: Codes without brackets, as some software sends them. Then they are the whole value.
_NAKED_CODE = re.compile(rf":(?P<code>{'|'.join(CODES_OF_MISSING)}|at|etal)\Z", re.IGNORECASE)
_ENCODED_TOKEN = re.compile(r"%[!%._{}]|\s+|[^%\s]+|%")
_DECODED_SIGNS = {"%!": "|", "%%": "%", "%.": ",", "%_": ""}


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an element, in readable form."""

    text: str
    """The decoded data in natural word order."""
    code: str | None = None
    """The controlled code before the text, without its brackets; `text` then explains the code, or is empty."""

    @property
    def code_of_missing(self) -> str | None:
        """`code` if it stands for a missing value, or None."""
        is_elsewhere = self.code == CODE_ELSEWHERE and not self.text
        return self.code if self.code in CODES_OF_MISSING or is_elsewhere else None

    def __str__(self) -> str:
        code_text = f"(:{self.code})" if self.code else ""
        return f"{code_text} {self.text}".strip()


def parse_value(written: str) -> Value:
    """Parse one unfolded value.

    >>> parse_value("(:unkn) Anonymous")
    Value(text='Anonymous', code='unkn')
    >>> parse_value(", van Gogh, Vincent")
    Value(text='Vincent van Gogh', code=None)
    """
    remainder = written.strip()
    if flags := _FLAGS.match(remainder):
        remainder = remainder[flags.end() :].lstrip()
    code = _CODE.match(remainder) or _NAKED_CODE.match(remainder)
    if code:
        remainder = remainder[code.end() :]
    sort_friendly = remainder.startswith(",") and len(remainder) > 1
    data = remainder[1:].strip() if sort_friendly else remainder.strip()
    return Value(decode(natural_order(data)) if sort_friendly else decode(data), code["code"].lower() if code else None)


def natural_order(sort_friendly: str) -> str:
    """Return a sort-friendly value in natural word order (draft-kunze-ark-10, 7.5).

    The six published examples allow this rule: with a comma at the end, all parts are reversed; otherwise the last part
    moves to the front.

    >>> natural_order("Howell, III, PhD, 1922-1987, Thurston")
    'Thurston Howell, III, PhD, 1922-1987'
    >>> natural_order("McCartney, Paul, Sir,")
    'Sir Paul McCartney'
    """
    name_parts = [part.strip() for part in sort_friendly.split(",")]
    if len(name_parts) == 1:
        return name_parts[0]
    if name_parts[-1] == "":
        return " ".join(reversed(name_parts[:-1]))
    return f"{name_parts[-1]} {', '.join(name_parts[:-1])}"


def decode(text: str) -> str:
    """Return *text* with the escapes of ANVL decoded; percent escapes of URLs stay (draft-kunze-ark-10, 7.6).

    >>> decode("100%% %! more%. %5F"), decode("http://a.b/node%{ ? db = foo %}")
    ('100% | more, %5F', 'http://a.b/node?db=foo')
    """
    if "%" not in text:
        return text
    decoded_parts: list[str] = []
    is_in_web_address, last_end = False, text.rfind("%}")
    for token in _ENCODED_TOKEN.finditer(text):
        written = token[0]
        if written == "%{" and not is_in_web_address and token.start() < last_end:
            is_in_web_address = True
        elif written == "%}" and is_in_web_address:
            is_in_web_address = False
        elif not (is_in_web_address and written.isspace()):
            decoded_parts.append(_DECODED_SIGNS.get(written, written))
    return "".join(decoded_parts)


def missing_code(value: str) -> str | None:
    """Return the code for a missing value at the beginning of a displayed value, or None.

    >>> missing_code("(:unkn) Anonymous"), missing_code("(:etal)"), missing_code("1952")
    ('unkn', None, None)
    """
    return parse_value(value).code_of_missing


def says_something(value: str) -> bool:
    """Return True if a value is more than a code for a missing value, or a word for nothing.

    >>> [says_something(value) for value in ("Rossi, Ada", "(:unkn) Anonymous", ":unav", "None", "\N{EN DASH}")]
    [True, False, False, False, False]

    The name of a value that a program did not fill in does not count either.

    >>> [says_something(value) for value in ("{author}", "${dc.title}", "{{ date }}", "%AUTHOR%", "[object Object]")]
    [False, False, False, False, False]
    """
    if is_unfilled(value):
        return False
    bare_value = without_marks(value).lower()
    return bare_value != "" and bare_value not in quirks().nothing.word and missing_code(value) is None


# -- dates as ERCs write them (TEMPER): years, days and seconds, in lists and ranges (draft-kunze-ark-10, 7.6)

#: ISO 8601. A month is at most 12, to distinguish it from the end of a range of years; a day follows a month.
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
_POINT_IN_TIME = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)?)?)?)?)?",
    re.ASCII,
)
_HIGHEST_PARTS = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 60}
#: Maximum number of members of a list that are read.
_MOST_MEMBERS = 200


@lru_cache(maxsize=4096)  # the records of one holder share many dates
def parse_dates(written: str) -> str | None:
    """Return the dates in *written* in normal form, points and ranges, or None for other text.

    >>> parse_dates("2000 12 29 23 59 55"), parse_dates("1952, 1958-1967, 1985")
    ('20001229235955', '1952,1958-1967,1985')
    >>> parse_dates("2008-12-03T10:00:00Z"), parse_dates("before the flood")
    ('20081203100000', None)
    """
    spans = [_normal_date(member) for member in written.split(",", _MOST_MEMBERS)]
    return None if None in spans else ",".join(filter(None, spans))


def _normal_date(member: str) -> str | None:
    """Return a point in time or a range in digits, such as ``1958-1967``; None for other text."""
    iso = _ISO.fullmatch(member.strip())
    if iso and _is_possible(iso.groupdict()):
        return "".join(filter(None, iso.groups()))
    without_blanks = "".join(member.split())
    first, hyphen, last = without_blanks.partition("-")
    for point in (first, last) if hyphen else (first,):
        match = _POINT_IN_TIME.fullmatch(point)
        if match is None or not _is_possible(match.groupdict()):
            return None
    if hyphen and first > last:
        return None
    return first if first == last or not hyphen else without_blanks


def _is_possible(parts: dict[str, str | None]) -> bool:
    """Return True if no part of a date is larger than its maximum; ``00`` is an unknown part."""
    return all(int(parts.get(name) or 0) <= highest for name, highest in _HIGHEST_PARTS.items())


# -- records


#: Segments of a record as in the store: label to displayed value, several values separated by a pipe.
Record = dict[str, dict[str, str]]

#: The four questions that every story answers, in order.
QUESTIONS = ("who", "what", "when", "where")
#: Maximum number of lines, and of values of one element, that are read.
MOST_LINES = 5_000
MOST_VALUES = 500
#: Maximum number of records of a set that are searched for the requested one.
MOST_RECORDS = 200
#: Maximum depth of nested blocks that are read.
_MOST_NESTED = 4

_LABEL = re.compile(
    r"""
    \|? (?P<label> (?: (?: dc | dcterms ) : )? [^\W\d] [\w./ -]{0,63}? ) (?: \s*+ \( h\d{1,3} \) )? \s*+ :    # "who(h1)"
    (?: \s++ | $ | (?<= who:|hat:|hen:|ere:|erc: ) (?!//) )     # only labels that can't be prose go without a blank
    (?P<value> .*+ ) \Z
    """,
    re.VERBOSE,
)
_SEGMENT = re.compile(r"erc(?:-[a-z]+)?|(?:about|support|meta)-erc", re.IGNORECASE)
_DOTTED = re.compile(r"(?P<segment>erc(?:-[a-z]+)?)\.(?P<label>\w[\w/]*)\Z")
#: The beginning of an element within the value of a segment's label.
_INNER_BREAK = re.compile(r"%0D|%0A|\s(?=(?:what|when|where)\s*:\s)", re.IGNORECASE)
#: Escapes of EZID in the values of its answers.
EZID_ESCAPE = re.compile(r"%(?:25|0A|0D|3A)", re.IGNORECASE)
_PREFIX = re.compile(r"(?:dc|dcterms|datacite|dublincore)[.:]", re.IGNORECASE)
#: The numbers of the four questions (draft-kunze-ark-10, 7), as labels: "h1: Gibbon, Edward".
_NUMBERED = {f"h{number}": question for number, question in enumerate(QUESTIONS, 1)}
#: Other labels of stories and their questions (DCMI Kernel Metadata, 2007): "support-erc", "support-who", "h21".
_STORY_KINDS = {f"{story}-erc": f"erc-{story}" for story in ("about", "support", "meta")}
_STORY_LABELS = {
    label: f"{kind}.{question}"
    for tens, (name, kind) in enumerate(_STORY_KINDS.items(), 1)
    for number, question in enumerate(QUESTIONS, 1)
    for label in (f"{name.removesuffix('erc')}{question}", f"h{tens}{number}")
}
_OTHER_LABELS = frozenset({"how", "policy", "commitment", "success", "set", "here", "naa", "note"})
#: The Dublin Core elements that answer the questions of two stories (7.4); a guarantor's story has none.
_DUBLIN_CORE: Mapping[str, Mapping[str, str]] = {
    "erc": {
        "creator": "who", "contributor": "who", "publisher": "who", "title": "what", "date": "when",
        "publicationyear": "when",
        "identifier": "where",
    },
    "erc-about": {
        "subject": "what", "temporal": "when", "coverage/temporal": "when", "spatial": "where",
        "coverage/spatial": "where",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a story."""

    label: str
    """The label as it was sent."""
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The label without qualifier and vocabulary, in lower case."""
        return _PREFIX.sub("", self.label).partition("/")[0].strip().lower()

    @property
    def qualifier(self) -> str:
        """The qualifier of the label, ``published`` in ``who/published``, or an empty text."""
        return self.label.partition("/")[2].strip()

    @property
    def is_local(self) -> bool:
        """True if the provider has defined label or qualifier itself. Such terms begin with a capital (7.4)."""
        return self.label[:1].isupper() or self.qualifier[:1].isupper()

    @property
    def code_of_missing(self) -> str | None:
        """The code of the first value if all values are missing, or None."""
        codes = [value.code_of_missing for value in self.values]
        return codes[0] if codes and all(codes) else None

    def __str__(self) -> str:
        return " | ".join(str(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Segment:
    """One story (part) of an ERC: of the object's expression, its content, its support, or of the record itself."""

    kind: str
    """``erc``, ``erc-about``, ``erc-support``, ``erc-from`` or another; ``set`` for a THUMP header (2005, 6)."""
    elements: tuple[Element, ...]

    def answer(self, question: str) -> Element | None:
        """Return the element that answers one of the four questions, or None.

        A plain label comes before a qualified or local one, these before Dublin Core, and a creator before a publisher.
        """
        for element in self.elements:
            if element.label == question:
                return element
        named_elements = [element for element in self.elements if element.name == question]
        if named_elements:
            return min(named_elements, key=lambda element: element.is_local)
        for name, answered_question in _DUBLIN_CORE.get(self.kind, {}).items():
            for element in self.elements if answered_question == question else ():
                if name in (element.name, f"{element.name}/{element.qualifier.lower()}"):
                    return element
        return None

    @property
    def answered_questions(self) -> set[str]:
        """The questions that this story answers, except those with a code for a missing value."""
        answers = ((question, self.answer(question)) for question in QUESTIONS)
        return {question for question, element in answers if element and str(element) and not element.code_of_missing}

    def display(self) -> dict[str, str]:
        """Return the answers to the four questions, then the other elements under their own labels, in readable form."""
        answers = {question: element for question in QUESTIONS if (element := self.answer(question))}
        displayed_values = {question: str(element) for question, element in answers.items()}
        for element in self.elements:
            if not any(element is answer for answer in answers.values()):
                displayed_values.setdefault(element.name, str(element))
        return displayed_values


@dataclass(frozen=True, slots=True)
class Erc:
    """An Electronic Resource Citation: its stories in order."""

    segments: tuple[Segment, ...]

    @property
    def anchoring_story(self) -> Segment | None:
        """The story of the object's expression, which identifies the subject of the record (7.3)."""
        return next((segment for segment in self.segments if segment.kind == "erc"), None)

    def display(self) -> Record:
        """Return the stories as stored: by kind, with displayed values by label. Of two stories of a kind the first counts."""
        displayed_segments: Record = {}
        for segment in self.segments:
            displayed_segments.setdefault(segment.kind, segment.display())
        return displayed_segments


def parse_erc(text: str) -> Erc | None:
    """Return the record in *text*, or None, because many texts contain colons.

    A record with an opening ``erc`` needs one element. A stub must answer three of the four questions, or two in an
    answer of EZID in another profile.

    >>> erc = parse_erc("erc: Gibbon, Edward | The Decline and Fall | (:unav) | http://www.ccel.org/g/gibbon/")
    >>> erc.anchoring_story.display()["what"], sorted(erc.anchoring_story.answered_questions)
    ('The Decline and Fall', ['what', 'where', 'who'])
    """
    return next(iter(parse_ercs(text)), None)


def parse_ercs(text: str) -> tuple[Erc, ...]:
    """Return the records in *text*: one, or those of a set (2005, 6), each with the header of the set.

    >>> [erc.anchoring_story.display()["what"] for erc in parse_ercs("erc: A | One | 1 | x\\n\\nerc: B | Two | 2 | y")]
    ['One', 'Two']
    """
    current_builder = _Builder()
    builders = [current_builder]
    is_ezid = text.lstrip().startswith("success:")
    for label, value in elements(text):
        value = EZID_ESCAPE.sub(lambda match: unquote(match[0]), value) if is_ezid and label != "erc" else value
        if current_builder.begins_another(label) and len(builders) < MOST_RECORDS:
            current_builder = current_builder.next_builder()
            builders.append(current_builder)
        current_builder.add(label, value)
    return tuple(erc for segment_builder in builders if (erc := segment_builder.record()) is not None)


class _Builder:
    """Assigns the elements of one record to its segments."""

    def __init__(self) -> None:
        self._segments: dict[str, list[Element]] = {}
        self._open_kind = "erc"
        self._is_opened = False
        self._is_over = False

    def begins_another(self, label: str) -> bool:
        """Return True if an element opens the next record of a set."""
        return label.lower() == "erc" and bool(self._segments.get("erc"))

    def next_builder(self) -> _Builder:
        """Return a builder for the next record of the same set."""
        builder = _Builder()
        if "set" in self._segments:
            builder._segments["set"] = self._segments["set"]
        return builder

    def add(self, label: str, value: str) -> None:
        """Add the element with *label* and *value* to its story, begin a story, or note the end of the record."""
        if label == "":
            # After a blank line, only segments and questions without an answer continue the record.
            self._is_over = self._is_opened and any(self._segments.values())
            return
        dotted = _DOTTED.match(_STORY_LABELS.get(label.lower(), label) if self._is_opened else label)
        if dotted:
            self._is_opened = True
            self._add_element(dotted["segment"], dotted["label"], value)
        elif _SEGMENT.fullmatch(label):
            self._open(_STORY_KINDS.get(label.lower(), label.lower()), value)
        elif label == "set":
            self._add_unlabelled("set", value, QUESTIONS)
        elif label == "here" and "set" in self._segments:
            self._add_unlabelled("set", value, ("here", "first", "total"))
        elif label == "naa" and not value:
            self._open_kind, self._is_opened = "naa", True
            self._segments.setdefault("naa", [])
        elif not self._is_over or (label in QUESTIONS and label not in self._labels()):
            self._add_element(self._open_kind, label, value)

    def _labels(self) -> set[str]:
        return {element.label for element in self._segments.get(self._open_kind, ())}

    def _open(self, kind: str, value: str) -> None:
        """Begin the story of a *kind*, such as ``erc``, with the unlabelled or escaped elements in *value*."""
        if kind == "erc" and self._segments.get("erc"):
            self._is_over = True  # a record beyond the limit
            return
        self._open_kind, self._is_opened, self._is_over = kind, True, False
        self._segments.setdefault(kind, [])
        if re.match(r"who\s*:", value):
            # A whole record in one escaped value, as EZID's profile allows.
            for inner, inner_value in elements(_INNER_BREAK.sub("\n", value)):
                self.add(inner, inner_value)
        elif value:
            self._add_unlabelled(kind, value, QUESTIONS)

    def _add_unlabelled(self, kind: str, value: str, labels: Iterable[str]) -> None:
        """Add the values of the abbreviated form, which have no labels, in their order (7.3)."""
        for label, part in zip(labels, value.split("|"), strict=False):
            self._segments.setdefault(kind, []).append(Element(label, (parse_value(part),)))

    def _add_element(self, kind: str, label: str, value: str) -> None:
        label = _NUMBERED.get(label, label) if self._is_opened else label
        element = Element(label, _values(label, value))
        is_known = kind in self._segments or element.name in _KNOWN_NAMES
        if is_known:
            self._segments.setdefault(kind, []).append(element)

    def record(self) -> Erc | None:
        """Return the record, or None if its elements are too few to be one."""
        segments = tuple(_without_repeats(kind, elements) for kind, elements in self._segments.items() if elements)
        erc = Erc(segments)
        anchoring_story = erc.anchoring_story
        if self._is_opened:
            return erc if any(segment.kind != "set" for segment in segments) else None
        answered_questions = anchoring_story.answered_questions if anchoring_story else set()
        is_ezid = any(element.name == "success" for element in self._segments.get("erc", ()))
        return erc if len(answered_questions) >= (2 if is_ezid else 3) else None


_KNOWN_NAMES = frozenset({*QUESTIONS, *_OTHER_LABELS, *(name for names in _DUBLIN_CORE.values() for name in names)})


def _values(label: str, value: str) -> tuple[Value, ...]:
    """Return the values between pipes, or one value after a label with the end ``json`` or ``xml`` (draft-kunze-ark-38, 5.3)."""
    if label.lower().endswith(("json", "xml")):
        return (Value(decode(value)),)
    return tuple(parse_value(part) for part in value.split("|", MOST_VALUES))


def _without_repeats(kind: str, elements: Iterable[Element]) -> Segment:
    """Return the story *kind* with *elements*: values by label. The values of a repeated label are joined."""
    merged: dict[str, Element] = {}
    for element in elements:
        previous_element = merged.get(element.label)
        merged[element.label] = (
            Element(element.label, previous_element.values + element.values) if previous_element else element
        )
    return Segment(kind, tuple(merged.values()))


def elements(text: str, nesting: int = 0) -> Iterator[tuple[str, str]]:
    """Return pairs of label and unfolded value; two empty texts for a blank line, nothing for a comment (7.1).

    An indented block of elements below a label without a value belongs to that label.

    >>> list(elements("dc:\\n  title: A map:\\n    a study\\n  date: 1784"))
    [('dc.title', 'A map: a study'), ('dc.date', '1784')]
    """
    label, parts = "", [""]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n", MOST_LINES)[:MOST_LINES]
    for line in lines:
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t") and label and line.strip():
            parts.append(line)
            continue
        if label:
            yield from _unfold(label, parts, nesting)
        label, parts = "", [""]
        if not line.strip():
            yield "", ""
        elif match := _LABEL.match(line):
            label, parts = match["label"], [match["value"].strip()]
    if label:
        yield from _unfold(label, parts, nesting)


def _unfold(label: str, parts: Sequence[str], nesting: int) -> Iterator[tuple[str, str]]:
    """Return the element of a label and its lines, or the elements of the block below it."""
    value, *lines = parts
    inner_elements = (
        [] if value or nesting >= _MOST_NESTED or Element(label, ()).name in _KNOWN_NAMES else _block(lines, nesting)
    )
    is_segment = _SEGMENT.fullmatch(label) is not None
    if not inner_elements or is_segment:
        yield label, "" if inner_elements else " ".join(filter(None, map(str.strip, parts)))
    for inner_label, inner_value in inner_elements:
        yield inner_label if is_segment else f"{label}.{inner_label.rpartition('.')[2]}", inner_value


def _block(lines: Sequence[str], nesting: int) -> list[tuple[str, str]]:
    """Return the labels and values in indented *lines*, the block of one element.

    Empty if no label is that of a known element: the lines are then a text with colons.
    """
    if not lines or not _LABEL.match(lines[0].strip()):
        return []
    indent_chars = len(lines[0]) - len(lines[0].lstrip())
    unindented_lines = (line[indent_chars:] if not line[:indent_chars].strip() else line.lstrip() for line in lines)
    inner_elements = [(label, value) for label, value in elements("\n".join(unindented_lines), nesting + 1) if label]
    return inner_elements if any(Element(label, ()).name in _KNOWN_NAMES for label, _ in inner_elements) else []
