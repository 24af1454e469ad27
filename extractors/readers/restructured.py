"""reStructuredText: its text with line breaks as written, and the targets of its hyperlinks apart from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from extractors.document_model import Finding, Reading
from extractors.readers.plain import decode
from extractors.readers.running_text import RunningText

MEDIA_TYPE = "text/x-rst"
MOST_BYTES = 16 * 2**20

_TARGET = re.compile(
    r"""
    ^ [ \t]*+ (?: \.\. [ ]+ _ (?: ` (?P<phrase> [^`\n]++ ) ` | (?P<name> (?: [^`:\\\n] | \\. | :(?!\s) )++ ) ) : | __ )
    [ \t]++ (?P<target> \S [^\n]*+ (?: \n [ \t]++ \S [^\n]*+ )*+ )   # a long URL goes on in indented lines
    (?: \n | \Z )
    """,
    re.VERBOSE | re.MULTILINE,
)
_TOKEN = re.compile(
    r"""
      (?P<text>     [^\\`_]++ )
    | `` (?P<literal> (?: [^`\n] | `(?!`) | \n (?![ \t]*+\n) )++ ) ``
    | (?<! [\w`] ) ` (?![\s`]) (?P<phrase> (?: [^`\\\n] | \\. | \n (?![ \t]*+\n) )++ ) ` (?P<marks> _{0,2} )
    | (?P<reference> _ ) (?! \w )
    | \\ (?P<escaped> . )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_EMBEDDED = re.compile(r"(?P<label>.*?)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)
_MOST_PHRASE_CHARS = 4000
_LAST_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[.+:_-](?=[A-Za-z0-9]))*\Z")
_MOST_WORD_CHARS = 100
_ESCAPE = re.compile(r"\\(?:\s|(.)|\Z)", re.DOTALL)


def read_restructured(data: bytes, *, charset: str | None = None) -> Reading:
    r"""The text as one block, and its links; *charset* is what the sender declared, if anything.

    >>> reading = read_restructured(b"See `the map <https://n2t.net/ark:/12345/x5>`_,\nor ark:/12345/x\\_6.")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', '`<>`_', 'https://n2t.net/ark:/12345/x5'), ('text', '', 'See the map,\nor ark:/12345/x_6.')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("cut-off", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset)
    findings += decoded.findings
    text = decoded.text.replace("\r\n", "\n")
    out = RunningText()
    numbers: dict[str, int] = {}
    anonymous: list[int] = []
    for definition in _TARGET.finditer(text):
        target = _unescaped(definition["target"]).strip("`")
        if target.endswith("_"):  # such a one leads to another name
            continue
        number = out.add_link(target, ".. _:")
        name = _name(definition["phrase"] or definition["name"] or "_")
        if name == "_":
            anonymous.append(number)
        else:
            numbers[name] = number
    out.begin("")
    _Writer(numbers, anonymous, out).write(_TARGET.sub("\n", text))
    out.end()
    out.close()
    return Reading(MEDIA_TYPE, tuple(out.blocks), out.targets, findings=(*findings, *out.findings))


class _Writer:
    """Writes what a text shows, with the links that it refers to: by their names, or one anonymous after the other."""

    def __init__(self, numbers: Mapping[str, int], anonymous: Iterable[int], out: RunningText) -> None:
        self._numbers = numbers
        self._anonymous = iter(anonymous)
        self._out = out

    def write(self, text: str) -> None:
        """Write all of *text*."""
        pos = 0
        while pos < len(text):
            token = _TOKEN.match(text, pos)
            assert token is not None  # any character is a token
            pos = token.end()
            match token.lastgroup:
                case "text" if text.startswith("_", pos):
                    self._write_run(token["text"])
                case "marks":
                    self._write_phrase(token["phrase"], token["marks"])
                case "escaped":
                    self._out.write("" if token["escaped"].isspace() else token["escaped"])
                case kind:
                    self._out.write(token[kind or 0])

    def _write_run(self, run: str) -> None:
        """Write text without markup; where its last word is the name of a link, it refers to it: ``word_``."""
        word = _LAST_WORD.search(run, max(0, len(run) - _MOST_WORD_CHARS))
        number = self._numbers.get(_name(word[0])) if word else None
        if word is None or number is None:
            self._out.write(run)
            return
        self._out.write(run[: word.start()])
        self._write_link(word[0], number)

    def _write_phrase(self, phrase: str, marks: str) -> None:
        """Write what stands in backquotes: a link with its target in it, the name of one, or the text of a role."""
        embedded = _EMBEDDED.match(phrase) if marks and len(phrase) <= _MOST_PHRASE_CHARS else None
        if embedded:
            target = _unescaped(embedded["target"])
            number = self._numbers.get(_name(target[:-1])) if target.endswith("_") else None
            if number is None:
                number = self._out.add_link(target, "`<>`_")
            self._write_link(_ESCAPE.sub(r"\1", embedded["label"]) or target, number)
            return
        number = None
        if marks:
            number = next(self._anonymous, None) if marks == "__" else self._numbers.get(_name(phrase))
        shown = _ESCAPE.sub(r"\1", phrase)
        if number is None:
            self._out.write(f"`{shown}`{marks}")
        else:
            self._write_link(shown, number)

    def _write_link(self, shown: str, number: int) -> None:
        self._out.open_link(number)
        self._out.write(shown)
        self._out.close_link(number)


def _name(written: str) -> str:
    """A reference name as the format compares it.

    >>> _name("The\\n Map")
    'the map'
    """
    return " ".join(_ESCAPE.sub(r"\1", written).lower().split())


def _unescaped(target: str) -> str:
    r"""A target without the blanks and line breaks in it, which mean nothing there, and its escapes undone.

    >>> _unescaped("https://n2t.net/ark:/12345/\n   x\\_5")
    'https://n2t.net/ark:/12345/x_5'
    """
    return "".join(_ESCAPE.sub(r"\1", target).split())
