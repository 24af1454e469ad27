"""BibTeX and BibLaTeX: the fields of each entry that may name an ARK; what is malformed costs as little as it can."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractors.document_model import Finding, Reading, Role
from extractors.readers.latex import raw_argument, write_latex
from extractors.readers.plain import decode
from extractors.readers.running_text import RunningText
from extractors.readers.values import labelled, may_name_ark

MEDIA_TYPE = "application/x-bibtex"
MOST_BYTES = 64 * 2**20

_ENTRY = re.compile(r"@[ \t]*+(?P<type>[A-Za-z]++)\s*+[{(]")
_KEY = re.compile(r"\s*+(?P<key>[^\s,{}()=\"]{0,200}+)\s*+(?=[,})])")
_FIELD = re.compile(r"[\s,]*+(?P<name>[^\s=,{}()\"#@]{1,100}+)\s*+=\s*+")
_END = re.compile(r"[\s,]*+(?:[})]|\Z)")
#: Where an entry with a fault in it can be read again: at a field, at its end, or at the next entry.
_RESUMPTION = re.compile(r"(?m:^)[ \t]*+(?=[A-Za-z][\w-]{0,99}+[ \t]*+=|@)|(?=[})])")
_BARE_PART = re.compile(r"[^\s,#{}()\"@=]++")
_HASH = re.compile(r"\s*+#\s*+")
_IN_PART = re.compile(
    r"""
      (?P<next_entry> \n [ \t]*+ @ [ \t]*+ [A-Za-z]++ [ \t]*+ [{(] )
    | [^\\{}"\n]++ | \\.
    | (?P<open> \{ ) | (?P<close> \} ) | (?P<quote> " )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)

#: Fields that hold a URL, and fields that hold another identifier, which BibLaTeX doesn't typeset as prose either.
_LINK_FIELDS = frozenset({"ee", "link", "pdf", "url"})
_IDENTIFIER_FIELDS = frozenset({"ark", "doi", "eid", "eprint", "file", "identifier", "pid", "urn"})
#: Fields that say of which kind the identifier in ``eprint`` is.
_EPRINT_TYPES = frozenset({"archiveprefix", "eprinttype"})

Fields = list[tuple[str, str]]


def read_bibtex(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return what each field says about ARKs, under key and field; *charset* is what the sender declared, if anything.

    >>> reading = read_bibtex(b"@misc{map, eprint = {12148/btv1b8449691v}, eprinttype = {ark}}")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', 'map/eprint', 'ark:12148/btv1b8449691v')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("cut-off", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset)
    findings += decoded.findings
    bibliography = _Bibliography(decoded.text.replace("\r\n", "\n"))
    bibliography.read()
    out = bibliography.out
    out.close()
    if bibliography.malformed:
        keys = bibliography.malformed
        findings.append(Finding("malformed-entry", f"entries with a fault: {len(keys)}, the first is {keys[0]!r}"))
    return Reading(MEDIA_TYPE, tuple(out.blocks), out.targets, findings=(*findings, *out.findings))


class _Bibliography:
    """Reads a source entry by entry; what stands outside of entries is a comment, and read as text."""

    def __init__(self, source: str) -> None:
        self.out = RunningText()
        self.malformed: list[str] = []
        self._source = source
        self._pos = 0
        self._macros: dict[str, str] = {}
        self._has_fault = False
        self._expanded_chars = 0

    def read(self) -> None:
        """Read it to its end."""
        while entry := _ENTRY.search(self._source, self._pos):
            self._add_text(self._source[self._pos : entry.start()], "")
            self._pos = entry.end()
            self._has_fault = False
            match entry["type"].lower():
                case "comment":
                    continue
                case "string":
                    key = "@string"
                    for name, value in self._fields(key):
                        self._macros[name] = value
                case "preamble":
                    key = "@preamble"
                    self._value()
                case _:
                    key = self._key()
                    self._add_entry(key, list(self._fields(key)))
            if self._has_fault:
                self.malformed.append(key)
        self._add_text(self._source[self._pos :], "")

    def _key(self) -> str:
        key = _KEY.match(self._source, self._pos)
        if key is None:
            return ""
        self._pos = key.end()
        return key["key"]

    def _fields(self, key: str) -> Iterator[tuple[str, str]]:
        """The fields of the entry that begins here; its end, or where the next one begins, is then reached."""
        while True:
            if field := _FIELD.match(self._source, self._pos):
                self._pos = field.end()
                yield field["name"].lower(), self._value()
            elif end := _END.match(self._source, self._pos):
                self._has_fault |= end.end() == len(self._source) and self._source[-1] not in "})"
                self._pos = end.end()
                return
            elif self._skip_fault(key):
                return

    def _skip_fault(self, key: str) -> bool:
        """Go on where the entry can be read again; what is passed over is read as text. Whether the entry ends here."""
        self._has_fault = True
        found = _RESUMPTION.search(self._source, self._pos)
        stop = found.end() if found else len(self._source)
        stop = max(stop, min(self._pos + 1, len(self._source)))
        self._add_text(self._source[self._pos : stop], key)
        self._pos = stop
        return self._source.startswith("@", stop)

    def _value(self) -> str:
        """The value that begins here: parts in braces, in quotes, or the names of macros, joined by ``#``."""
        parts: list[str] = []
        while True:
            opening = self._source[self._pos : self._pos + 1]
            if opening in ("{", '"'):
                parts.append(self._delimited_part(opening))
            elif bare := _BARE_PART.match(self._source, self._pos):
                parts.append(self._macro(bare[0]))
                self._pos = bare.end()
            else:
                self._has_fault = True
            joint = _HASH.match(self._source, self._pos)
            if joint is None:
                return "".join(parts)
            self._pos = joint.end()

    def _macro(self, name: str) -> str:
        """Return what the macro *name* stands for; numbers stand for themselves, and so do names that nobody
        defined.
        """
        value = self._macros.get(name.lower(), name)
        self._expanded_chars += len(value)
        if self._expanded_chars <= MOST_BYTES:
            return value
        self._has_fault = True  # macros of macros double as often as a stranger likes
        return name

    def _delimited_part(self, opening: str) -> str:
        """Return what stands in braces or quotes, as far as they are closed, or as the next entry begins."""
        start = pos = self._pos + 1
        depth = 0
        while token := _IN_PART.match(self._source, pos):
            if token["next_entry"]:
                break
            pos = token.end()
            if token["open"]:
                depth += 1
            elif token["close"] and depth == 0 and opening == '"':
                pos = token.start()  # the end of the entry: the quote was never closed
                break
            elif (token["close"] and depth == 0) or (token["quote"] and depth == 0 and opening == '"'):
                self._pos = pos
                return self._source[start : token.start()]
            elif token["close"]:
                depth -= 1
        self._has_fault = True
        self._pos = pos
        return self._source[start:pos]

    def _add_entry(self, key: str, fields: Fields) -> None:
        is_ark = any(name in _EPRINT_TYPES and value.strip("{} \n").lower() == "ark" for name, value in fields)
        for name, value in fields:
            place = f"{key}/{name}"
            if name in _LINK_FIELDS or name.startswith("bdsk-url"):
                if target := _verbatim(value):
                    self.out.add_link(target, place)
            elif name in _IDENTIFIER_FIELDS:
                identifier = _verbatim(value)
                if name == "ark" or (name == "eprint" and is_ark):
                    identifier = labelled(identifier) or identifier
                if may_name_ark(identifier):
                    self.out.add_value(identifier, place, Role.METADATA)
            elif name not in _EPRINT_TYPES:
                self._add_text(value, place)

    def _add_text(self, value: str, place: str) -> None:
        if may_name_ark(value) or "\\url" in value or "\\href" in value:
            write_latex(value, self.out, place=place, has_comments=False)


def _verbatim(value: str) -> str:
    r"""A value that is no prose, its escapes undone; an editor may have wrapped it.

    >>> _verbatim("\\url{https://n2t.net/ark:/12345/\n    x\\_5}")
    'https://n2t.net/ark:/12345/\nx_5'
    """
    return raw_argument("{" + value + "}", line_end="\n")[0].strip()
