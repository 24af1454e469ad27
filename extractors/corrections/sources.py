"""The source of a document: its parts, the places where a written text stands in them, and edits that keep the rest."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from io import BytesIO
from operator import attrgetter
from zipfile import ZipFile

from w3lib.encoding import read_bom

from extractors.corrections.proposals import Edit
from extractors.model.decoding import decode
from extractors.model.errors import ArkauditError
from extractors.model.formats import FORMATS, Format, format_of, package_format
from extractors.model.offset_map import Change, OffsetMap
from extractors.readers.escaped_text import LATEX_CHARACTERS
from extractors.readers.office.package import Package
from extractors.readers.plain import HUNK


class Unfixable(ArkauditError):
    """Raised if a document can't be corrected, with the reason as message."""


class NotEditable(Unfixable):
    """Raised for a format that is only read."""


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """A replacement of bytes in a part of a document."""

    part: str
    """A member of a package; empty for a document without parts."""
    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class _Syntax:
    """The tokens of a format that stand for other characters than themselves."""

    tokens: re.Pattern[str] | None
    text_of: Callable[[str], str] = str
    tags: re.Pattern[str] | None = None
    """The tokens outside of attributes, with tags."""
    escape: Callable[[str], str] = str
    """Escapes a new text."""


_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,30});"
_TAG = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|\]\]>|<[/!?A-Za-z][^<>]*>"
#: Elements without content that readers take for characters, by their local names.
_CHARACTERS = {
    "br": "\n", "cr": "\n", "lb": "\n", "break": "\n", "line-break": "\n", "pb": "\n", "cb": "\n", "s": " ", "tab": "\t",
    "noBreakHyphen": "\N{NON-BREAKING HYPHEN}", "softHyphen": "\N{SOFT HYPHEN}",
}  # fmt: skip
_ELEMENT = re.compile(r"<(?:[\w.-]++:)?([\w.-]++)[^<>]*?(/?)>")
_TEX = (
    r"%\r?\n[ \t]*|\\discretionary(?:\{[^{}\n]*\}){2}\{[^{}\n]*\}|\\[A-Za-z]+\*?(?:\{\}|[ \t]+)?|\\[^A-Za-z\r\n]|[{}]"
)


def _text_of_markup(token: str) -> str:
    if token.startswith("&"):
        return html.unescape(token)
    element = _ELEMENT.fullmatch(token)
    return _CHARACTERS.get(element[1], "") if element and (element[2] or element[1].lower() == "br") else ""


def _text_of_tex(token: str) -> str:
    if token == "\\\\":
        return "\n"
    if token.startswith("\\discretionary"):
        return token[token.rindex("{") + 1 : -1]
    name = token.strip("\\{} \t")
    return LATEX_CHARACTERS.get(name, "") if name.isalpha() else "" if token[0] in "%{}" or name == "-" else name


_MARKUP = _Syntax(re.compile(_ENTITY), _text_of_markup, re.compile(f"{_ENTITY}|{_TAG}", re.DOTALL), html.escape)
_MARKDOWN = _Syntax(
    re.compile(rf"{_ENTITY}|\\[!-/:-@\[-`{{-~]"),
    lambda token: token[1:] if token[0] == "\\" else _text_of_markup(token),
    re.compile(rf"{_ENTITY}|\\[!-/:-@\[-`{{-~]|{_TAG}", re.DOTALL),
)
_SYNTAXES: Mapping[Format, _Syntax] = {
    Format.HTML: _MARKUP,
    Format.XML: _MARKUP,
    Format.MARKDOWN: _MARKDOWN,
    Format.RESTRUCTURED: _Syntax(re.compile(r"\\[!-/:-@\[-`{-~]"), lambda token: token[1:]),
    Format.LATEX: _Syntax(re.compile(_TEX), _text_of_tex, escape=partial(re.sub, r"(?<!\\)([%#&_])", r"\\\1")),
    Format.BIBTEX: _Syntax(re.compile(_TEX), _text_of_tex),
    Format.TABULAR: _Syntax(None),
    Format.PLAIN: _Syntax(None),
    **dict.fromkeys(
        (Format.JSON, Format.JSON_LINES),
        _Syntax(
            re.compile(r"\\u[0-9A-Fa-f]{4}|\\[\"\\/bfnrt]"),
            lambda token: str(json.loads(f'"{token}"')),
            escape=lambda text: json.dumps(text)[1:-1],
        ),
    ),
    **dict.fromkeys((each for each in FORMATS if FORMATS[each].is_package), _MARKUP),
}
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_XML_PART = re.compile(r"\.(?:xml|rels|x?html?|opf|ncx|vml)\Z", re.IGNORECASE)
_SIGNATURES = re.compile(r"_xmlsignatures/|META-INF/(?:documentsignatures|signatures)\.xml")
_HUNK = re.compile(HUNK.pattern.encode(), re.MULTILINE)
_RUN_CHARACTER = re.compile(r"<((?:[\w.-]+:)?)noBreakHyphen\b[^<>]*/>")
_TEXT_BEGINS = re.compile(r"<((?:[\w.-]+:)?t)(?: [^<>]*)?>")
_LINK = re.compile(r"<a\s[^<>]*?\bhref\s*=\s*(?P<target>\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)[^<>]*>", re.IGNORECASE)
_VERSION = "data-versionurl"
#: What may follow a citation in running text, after which a text can be added.
_AFTER_TEXT = re.compile(r"[\s.,;:!?)<]|\Z")
#: Beginning with a digit, because plain words have none and would take most of the time.
_NUMBER = re.compile("[0-9][0-9A-Za-z]*+")
#: Characters around a number that may belong to the same ARK, with their markup.
_AROUND = 2_000
_LONGEST_TAG = 2**16
_PIECE = re.compile(r"\s+|\S+")


@dataclass
class _Part:
    """A part of a document as characters."""

    name: str
    data: bytes
    syntax: _Syntax
    text: str = ""
    charset: str = "utf-8"
    mark: bytes = b""
    _last: tuple[int, int] = (0, 0)
    _whole: dict[bool, OffsetMap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declared = _DECLARED.search(self.data[:1024]) if self.syntax.tags else None
        self.charset = decode(self.data, declared[1].decode() if declared else None).charset
        self.mark = read_bom(self.data)[1] or b""
        try:
            self.text = self.data[len(self.mark) :].decode(self.charset, "surrogateescape")
            is_kept = self.mark + self.bytes_of(self.text) == self.data
        except UnicodeError:
            is_kept = False
        if not is_kept:
            raise Unfixable(f"its encoding ({self.charset}) can't be kept")

    def bytes_of(self, text: str) -> bytes:
        """Return *text* in the charset of the part."""
        return text.encode(self.charset, "surrogateescape")

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The offsets of each number."""
        starts: dict[str, list[int]] = {}
        for number in _NUMBER.finditer(self.text):
            starts.setdefault(number[0], []).append(number.start())
        return starts

    def windows(self, written: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges around the rarest number of *written*."""
        start = end = -1
        starts = filter(None, map(self._numbers.get, _NUMBER.findall(written)))
        for at in min(starts, key=len, default=()):
            if end < 0 or at - _AROUND > end:
                if end >= 0:
                    yield start, end
                start = max(0, at - _AROUND)
                for opening, closing in (("<", ">"), ("<!--", "-->")) if self.syntax.tags else ():
                    first = max(0, start - _LONGEST_TAG)
                    begins = self.text.rfind(opening, first, start)
                    start = begins if begins > self.text.rfind(closing, first, start) else start
            end = min(len(self.text), at + _AROUND)
        if end >= 0:
            yield start, end

    def byte_offset(self, at: int) -> int:
        """Return the offset in bytes of a character, counted from the last one that was asked for."""
        last, offset = self._last
        offset += len(self.bytes_of(self.text[last:at])) - len(self.bytes_of(self.text[at:last]))
        self._last = at, offset
        return len(self.mark) + offset

    def offset_map(self, start: int, end: int, *, with_tags: bool) -> OffsetMap:
        """Return the characters that readers see in a range, with or without the tags."""
        tokens = self.syntax.tokens if with_tags else self.syntax.tags or self.syntax.tokens
        pieces: list[str] = []
        changes: list[Change] = []
        done, length = start, 0
        for token in tokens.finditer(self.text, start, end) if tokens else ():
            shown = self.syntax.text_of(token[0])
            pieces += (self.text[done : token.start()], shown)
            length += token.start() - done
            changes.append(Change(length, len(shown), token.start(), token.end(), None))
            length += len(shown)
            done = token.end()
        pieces.append(self.text[done:end])
        starts = tuple([change.start for change in changes])
        return OffsetMap(self.text, "".join(pieces), tuple(changes), starts, start)

    def whole_map(self, *, with_tags: bool) -> OffsetMap:
        """Return the characters of the whole part."""
        if with_tags not in self._whole:
            self._whole[with_tags] = self.offset_map(0, len(self.text), with_tags=with_tags)
        return self._whole[with_tags]


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a written text stands."""

    part: _Part
    offsets: OffsetMap
    starts: Sequence[int]
    """For each character of the written text, where it begins in the text of *offsets*."""
    ends: Sequence[int]

    @property
    def start(self) -> int:
        """The offset of the written text in its part."""
        return self.offsets.source_offset(self.starts[0])

    def byte_edits(self, edits: Iterable[Edit]) -> Iterator[ByteEdit]:
        """Yield the edits of the source that make *edits* of the written text; tags inside stay."""
        for edit in edits:
            if edit.start < edit.end:
                spans = self.offsets.source_spans(self.starts[edit.start], self.ends[edit.end - 1])
            else:
                at = self.offsets.source_end(self.ends[edit.start - 1]) if edit.start else self.start
                spans = [(at, at)]
            text = self.part.syntax.escape(edit.text)
            for start, end in spans:
                if text and (character := _RUN_CHARACTER.fullmatch(self.part.text, start, end)):
                    text = f"<{character[1]}t>{text}</{character[1]}t>"
                if "wbr" not in self.part.text[start:end]:
                    yield self._byte_edit(start, end, text)
                text = ""

    def additions(self, copy: tuple[str, str], *, is_text: bool) -> Iterator[ByteEdit]:
        """Yield the edit that cites an archived copy (URL and date) as text or by a Robust Link, unless it is there.

        Raises `Unfixable` if there is no place for it.
        """
        text, (url, date) = self.part.text, copy
        link = None if is_text else _LINK.match(text, max(0, text.rfind("<", 0, self.start)))
        link = link if link and self.start < link.end() else None
        at, new = self.offsets.source_end(self.ends[-1]), self.part.syntax.escape(f" (archived at {url})")
        is_there = _VERSION in link[0] if link else text.startswith(new, at)
        if link:
            # robustlinks.mementoweb.org/spec: the link keeps its target.
            version = f'{_VERSION}="{html.escape(url)}" data-versiondate="{date}"'
            at, new = link.start() + 2, f" data-originalurl={link['target']} {version}"
        elif not is_text or text.startswith("](", self.start - 2) or not _AFTER_TEXT.match(text, at):
            raise Unfixable("an archived copy can't be cited at this place")
        if not is_there:
            yield self._byte_edit(at, at, new)

    def _byte_edit(self, start: int, end: int, text: str) -> ByteEdit:
        part = self.part
        if not text:
            start, end = _with_ends_of_text(part.text, start, end)
        try:
            new = text.encode(part.charset)
        except UnicodeError:
            raise Unfixable(f"its encoding ({part.charset}) has no {text!r}") from None
        return ByteEdit(part.name, part.byte_offset(start), part.byte_offset(end), new)


def _with_ends_of_text(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of an element of a Word run, with the ends of the texts around it, so that they become one text.

    >>> _with_ends_of_text("<w:t>a</w:t><w:br/><w:t>b</w:t>", 12, 19)
    (6, 24)
    """
    after = _TEXT_BEGINS.match(text, end) if text.startswith("<", start) else None
    close = f"</{after[1]}>" if after else ""
    if not after or not text.endswith(close, 0, start):
        return start, end
    begins = text.rfind(f"<{after[1]}", 0, start - len(close))
    is_alike = after[0] in (text[begins : text.find(">", begins) + 1], f"<{after[1]}>")
    return (start - len(close), after.end()) if is_alike else (start, end)


class Source:
    """The source of one document. Raises `Unfixable` for a format whose bytes can't be changed safely."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        package = package_format(data)
        self.is_package = package is not None
        """True for a document with parts."""
        its_format = package or format_of(data, name=name)
        syntax = _SYNTAXES.get(its_format)
        if syntax is None:
            raise NotEditable(f"{FORMATS[its_format].title} files can't be corrected in place")
        if its_format is Format.PLAIN and _HUNK.search(data):
            raise NotEditable("a diff can't be corrected: its lines must match other files")
        self._syntax = syntax

    @cached_property
    def _parts(self) -> list[_Part]:
        if not self.is_package:
            return [_Part("", self._data, self._syntax)]
        package = Package(self._data)
        if any(map(_SIGNATURES.match, package.names)):
            raise Unfixable("it is signed, and a correction would break the signature")
        names = [name for name in package.names if _XML_PART.search(name)]
        parts = [_Part(name, package.read(name), self._syntax) for name in names]
        # A part that was not read as a whole must not be written.
        if package.findings:
            raise Unfixable(f"it is a damaged package: {package.findings[0].detail}")
        return parts

    def places(self, written: str, *, is_text: bool) -> list[Place]:
        """Return the places where *written* stands, in order: in running text, else in attributes or values."""
        shown = self._find(written, with_tags=False)
        if is_text or self._syntax.tags is None:
            return shown
        in_text = {(place.part.name, place.start) for place in shown}
        inside = [
            place for place in self._find(written, with_tags=True) if (place.part.name, place.start) not in in_text
        ]
        return inside or shown

    def _find(self, written: str, *, with_tags: bool) -> list[Place]:
        """Return all places of *written*, where gaps may have other blanks; if possible those that are no part of more."""
        pieces = _PIECE.findall(written)
        pattern = re.compile("".join(r"(\s++)" if piece.isspace() else f"({re.escape(piece)})" for piece in pieces))
        places: dict[tuple[str, int], tuple[Place, bool]] = {}
        for part in self._parts:
            self._add_places(
                places,
                part,
                pieces,
                pattern,
                (part.offset_map(*window, with_tags=with_tags) for window in part.windows(written)),
            )
        for part in () if places else self._parts:
            self._add_places(places, part, pieces, pattern, [part.whole_map(with_tags=with_tags)])
        return [place for place, is_part in places.values() if not is_part] or [place for place, _ in places.values()]

    @staticmethod
    def _add_places(
        places: dict[tuple[str, int], tuple[Place, bool]],
        part: _Part,
        pieces: Sequence[str],
        pattern: re.Pattern[str],
        maps: Iterable[OffsetMap],
    ) -> None:
        """Add the places in a part, each with True if it is a part of a longer word or URL."""
        for offsets in maps:
            for found in pattern.finditer(offsets.text):
                starts: list[int] = []
                ends: list[int] = []
                for group, piece in enumerate(pieces, start=1):
                    first, last = found.span(group)
                    starts += [first] * len(piece) if piece.isspace() else range(first, last)
                    ends += [last] * len(piece) if piece.isspace() else range(first + 1, last + 1)
                place = Place(part, offsets, starts, ends)
                before, after = offsets.text[: found.start()][-1:], offsets.text[found.end() : found.end() + 1]
                is_part = after.isalnum() or ("://" in found[0] and (before == "/" or before.isalnum()))
                places[part.name, place.start] = (place, is_part)

    def apply(self, edits: Iterable[ByteEdit]) -> bytes:
        """Return the document after *edits*; all other bytes are the same."""
        by_part: dict[str, list[ByteEdit]] = {}
        for edit in sorted(set(edits), key=lambda edit: (edit.part, edit.start)):
            if (others := by_part.setdefault(edit.part, [])) and others[-1].end > edit.start:
                raise Unfixable("two corrections overlap")
            others.append(edit)
        changed = {part.name: splice(part.data, by_part[part.name]) for part in self._parts if part.name in by_part}
        return _changed_package(self._data, changed) if self.is_package else changed.get("", self._data)


def _changed_package(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return the package *data* with new content for the members in *changed*, by name; the others keep their bytes."""
    package = BytesIO()
    with ZipFile(BytesIO(data)) as old, ZipFile(package, "w") as new:
        new.comment = old.comment
        members = sorted(old.infolist(), key=attrgetter("header_offset"))
        ends = [*(member.header_offset for member in members), old.start_dir][1:]
        for member, end in zip(members, ends, strict=True):
            if member.filename in changed:
                new.writestr(member, changed[member.filename])
                continue
            # Copied as stored: nothing is decompressed, and damage stays as it is.
            start, member.header_offset = member.header_offset, package.tell()
            package.write(data[start:end])
            new.filelist.append(member)
            new.start_dir = package.tell()
    return package.getvalue()


def splice(data: bytes, edits: Iterable[ByteEdit], start: int = 0) -> bytes:
    """Return *data* from *start* on, after *edits*, which are in order."""
    pieces: list[bytes] = []
    for edit in edits:
        pieces += (data[start : edit.start], edit.new)
        start = edit.end
    return b"".join((*pieces, data[start:]))
