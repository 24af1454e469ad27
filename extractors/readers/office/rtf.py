"""Rich Text Format, as written by Word, LibreOffice, WordPad and TextEdit (RTF 1.9.1).

The existing library, striprtf, drops footnotes and takes quadratic time for links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import first_bytes, text_codec
from extractors.model.documents import Finding, Reading, Role
from extractors.readers.office.open_xml import hyperlink_target
from extractors.readers.running_text import RunningText

MEDIA_TYPE = "application/rtf"
MOST_BYTES = 64 * 2**20
_MOST_DEPTH = 1_000

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?[0-9]{1,10})? ?|\\'(?P<byte>[0-9A-Fa-f]{2})|\\(?P<symbol>.)"
    rb"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+|\\)",
    re.DOTALL,
)
_CHARACTERS = dict(
    zip(
        r"\ { } ~ - _ tab line lbr softline page bullet emdash endash lquote rquote ldblquote rdblquote".split(),  # noqa: SIM905
        "\\{}\u00a0\u00ad\u2011\t\n\n\n\f\u2022\u2014\u2013\u2018\u2019\u201c\u201d",
        strict=True,
    )
)
#: The end of a paragraph, or of a piece of one, such as the mark of a note. A backslash at a line end is one.
_ENDING_WORDS = frozenset({*"par cell nestcell row nestrow sect column chftn chatn".split(), "\n", "\r"})  # noqa: SIM905
#: Visible properties of characters, and the result of a field.
_FORMATS = frozenset("b caps cf cs f fldrslt fs highlight i scaps strike ul ulnone".split())  # noqa: SIM905
#: Groups with a separate text.
_STORY_GROUPS = frozenset(
    "annotation footer footerf footerl footerr footnote header headerf headerl headerr shptxt".split()  # noqa: SIM905
)
#: Groups with a property of the document.
_VALUE_GROUPS = frozenset({"doccomm", "hlinkbase", "keywords", "staticval", "subject", "title"})
#: Groups without text of the document. Groups that begin with an asterisk have none either, unless they are known.
_SKIPPED_GROUPS = frozenset("colortbl fonttbl info listtext pict pntext shprslt stylesheet tc xe".split())  # noqa: SIM905
_READ_GROUPS = _STORY_GROUPS | _VALUE_GROUPS | {"fldinst"}


@dataclass(slots=True)
class _Group:
    """The state of a group; a nested group begins with a copy."""

    kind: str = ""
    """The control word of its destination, if that matters at the end of the group."""
    story: str = "p"
    """The location of its paragraphs: the control word of a separate text, such as ``footnote``."""
    is_skipped: bool = False
    is_apart: bool = False
    """True for a raised footnote mark."""
    is_hidden: bool = False
    format: frozenset[str] = frozenset()
    """Its visible properties."""
    fallback_chars: int = 1
    """Number of characters after a Unicode character that represent it for old programs."""
    value: list[str] | None = None
    """The pieces of hidden text: a field's code, or a property of the document."""
    link: int | None = None


def read_rtf(data: bytes) -> Reading:
    r"""Return the paragraphs, notes, links and properties of an RTF document.

    >>> read_rtf(rb"{\rtf1 See {\b ark:/13030/ft2ds}{\i vh392}\par}").blocks[0].text
    'See ark:/13030/ft2dsvh392'
    """
    data, findings = first_bytes(data, MOST_BYTES)
    document = _Document()
    for token in as_time_allows(_tokens(data), "token"):
        document.read(token)
        if document.text.is_full:
            break
    text = document.close()
    findings += text.findings
    return Reading(MEDIA_TYPE, tuple(text.blocks), text.targets, findings=tuple(findings))


def _tokens(data: bytes) -> Iterator[re.Match[bytes]]:
    pos = 0
    while token := _TOKEN.match(data, pos):
        yield token
        pos = token.end()
        if token["word"] == b"bin":
            pos += max(0, int(token["number"] or 0))


class _Document:
    """Reads the tokens of a document, and writes its visible text to a `RunningText`."""

    def __init__(self) -> None:
        self.text = RunningText()
        self.text.begin("p")
        self._groups = [_Group()]
        self._charset = "cp1252"
        self._pending_bytes: list[bytes] = []
        """Pieces of text that aren't decoded yet: a character may need several escapes."""
        self._chars_to_skip = 0
        self._is_starred = self._is_apart = self._is_hidden = False

    def close(self) -> RunningText:
        """End all open groups and return the text."""
        self._write_pending()
        while len(self._groups) > 1:
            self._end_group()
        self.text.close()
        return self.text

    def read(self, token: re.Match[bytes]) -> None:
        """Read *token*, a match of `_TOKEN`."""
        if token["text"] or token["byte"]:
            chars = token["text"] or bytes.fromhex(token["byte"].decode())
            if not self._groups[-1].is_skipped:
                self._pending_bytes.append(chars[self._chars_to_skip :])
            self._chars_to_skip = max(0, self._chars_to_skip - len(chars))
        elif token["brace"]:
            self._write_pending()
            self._chars_to_skip = 0
            if token["brace"] == b"}":
                self._end_group()
            elif len(self._groups) > _MOST_DEPTH:
                self.text.findings = (Finding("cut-off", f"not read beyond {_MOST_DEPTH} groups within one another"),)
            else:
                self._groups.append(replace(self._groups[-1], kind="", link=None))
        elif token["symbol"] == b"*":
            self._is_starred = True
        elif token["word"] or token["symbol"]:
            self._write_pending()
            word, number = (token["word"] or token["symbol"]).decode("latin-1"), int(token["number"] or -1)
            if self._chars_to_skip and word != "u":
                self._chars_to_skip -= 1
            elif word == "u":
                self._chars_to_skip = self._groups[-1].fallback_chars
                # A lone surrogate is not a character.
                self._write(chr(number % 0x10000).encode("utf-8", "replace").decode())
            elif word in _CHARACTERS:
                self._write(_CHARACTERS[word])
            else:
                self._read_control_word(word, number)
            self._is_starred = False

    def _read_control_word(self, word: str, number: int) -> None:
        """Read a control word, such as a destination, a format or the end of a paragraph; *number* is -1 without one."""
        group = self._groups[-1]
        if word in _SKIPPED_GROUPS or (self._is_starred and word not in _READ_GROUPS):
            group.is_skipped = True
        elif word in _STORY_GROUPS:
            self.text.set_apart()
            self.text.begin(word)
            group.kind = group.story = word
            group.is_skipped = self._is_apart = group.is_apart = False
        elif word in _VALUE_GROUPS or word == "fldinst":
            group.kind, group.value, group.is_skipped = word, [], False
        elif word == "field":
            group.kind = word
        elif word in _ENDING_WORDS and not (group.is_skipped or group.value):
            self.text.end()
            self.text.begin(group.story)
        elif word in ("super", "up", "plain", "nosupersub"):
            group.is_apart = number != 0 and word in ("super", "up")
            group.is_hidden &= word != "plain"
            group.format = frozenset() if word == "plain" else group.format
        elif word == "v":
            group.is_hidden = number != 0
        elif word in _FORMATS:
            other_formats = {format_name for format_name in group.format if format_name.split()[0] != word}
            group.format = frozenset(other_formats if number == 0 else {*other_formats, f"{word} {number}"})
        elif word == "deleted":
            group.is_skipped = number != 0
        elif word == "uc":
            group.fallback_chars = max(0, number)
        elif word == "ansicpg":
            self._charset = text_codec(f"cp{number}") or self._charset

    def _end_group(self) -> None:
        """End the innermost group: its link, its note, or its value outside the text."""
        if len(self._groups) == 1:
            return
        group = self._groups.pop()
        if group.kind in _STORY_GROUPS:
            self.text.end()
            self._is_apart = False
        elif group.kind == "field" and group.link is not None:
            self.text.close_link(group.link)
        elif group.kind and group.value is not None:
            # The link target of a field, or data of a reference manager.
            value = "".join(group.value)
            field = next((outer for outer in reversed(self._groups) if outer.kind == "field"), None)
            target = hyperlink_target(value) if group.kind == "fldinst" else ""
            if target and field is not None and field.link is None:
                field.link = self.text.add_link(target, field.story)
                self.text.open_link(field.link)
            elif may_hold_ark(value):
                role = Role.STRUCTURED_DATA if group.kind == "fldinst" else Role.METADATA
                self.text.add_value(value.strip(), group.kind, role)

    def _write_pending(self) -> None:
        if self._pending_bytes:
            text = b"".join(self._pending_bytes).decode(self._charset, "replace")
            self._pending_bytes.clear()
            self._write(text)

    def _write(self, text: str) -> None:
        """Write *text* in the format of the innermost group, or add it to the value of the group."""
        group = self._groups[-1]
        if not text or group.is_skipped:
            return
        if group.value is not None:
            group.value.append(text)
            return
        if group.is_hidden != self._is_hidden:  # it may be within a name
            self._is_hidden = group.is_hidden
            if self._is_hidden:
                self.text.begin(group.story)
            else:
                self.text.end()
        if group.is_apart != self._is_apart:
            self.text.set_apart()
            self._is_apart = group.is_apart
        self.text.set_format(group.format)
        self.text.write(text)
