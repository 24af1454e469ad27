"""Text goes in, mentions of ARKs come out, each with its places in the source and the repairs that were made.

A label is looked for with the damage that typesetting does to it; from there the ARK is read forward, character by
character, over line wraps where the evidence says so (`extractors.wraps`), and its resolver backward
(`extractors.resolver`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import regex

from extractors.ark import Ark
from extractors.checkchar import Check, check
from extractors.documents import Block, Role
from extractors.normalize import NotAnArk
from extractors.repair import ODD_BLANK, PARAGRAPH, WRAP, Tape, tape_of
from extractors.resolver import resolver_before
from extractors.wraps import (
    Confidence,
    Decision,
    Evidence,
    Wrap,
    another_identifier,
    check_character_decides,
    decide,
    no_name_yet,
    nothing_follows,
    whole_elsewhere,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """An ARK found in a document; what was written, what we made of it, and how sure we are stand side by side."""

    ark: Ark
    as_written: str
    spans: tuple[tuple[int, int], ...]
    """Code points in the reader's block; several where the ARK goes on behind a gap."""
    repaired: str
    """Whole again, hyphens, label form and resolver as found: this is what is sent."""
    resolver: str | None
    """The URL before the label, with its final slash; none for a compact ARK."""
    inflection: str
    """``?info``, ``??``, ``?`` or nothing; belongs to the mention, not to identity."""
    role: Role
    page: int | None
    place: str
    context: str
    repairs: tuple[str, ...]
    confidence: Confidence
    reason: str
    """The rule behind the least sure decision."""
    alternatives: tuple[str, ...]
    """Normal forms that the other decisions would have given."""


@dataclass(frozen=True, slots=True)
class NamespaceMention:
    """A NAAN alone (``ark:/12148/``): recorded, but no ARK, and never resolved."""

    as_written: str
    span: tuple[int, int]
    context: str


#: The reason of a mention about which nothing had to be decided.
STANDS_WHOLE = "stands whole"

_GAP = r"(?:-?\n)?"  # a wrap, as a tape has it
_BLANK = rf"[\ {ODD_BLANK}]"
_LABEL = regex.compile(
    rf"""
    (?: (?<! [\p{{L}}\p{{N}}] ) | (?<= % [0-9a-f]{{2}} ) )
    (?P<word> a {_GAP} r {_GAP} k ) {_GAP}
    {_BLANK}?                                  # French typography: a thin space before the colon
    (?P<colon> : | %3a )
    (?P<slashes> (?: {_GAP} [\n\ {ODD_BLANK}]{{0,2}} (?: / | %2f ) ){{0,3}} )
    {_GAP} {_BLANK}?
    (?= [0-9a-z] )
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
#: A cheap look at the source before it is put on tape: a k, then soon a colon in one of its spellings.
_CANDIDATE = regex.compile(r"[kK\uFF2B\uFF4B][^\p{L}\p{N}]{0,8}?(?:[:\uFF1A]|%3[aA])")
_NAAN = regex.compile(r"(?=[a-z]*[0-9])[0-9a-z]{4,16}(?:-[0-9a-z]+)*\Z", regex.IGNORECASE)
_NAME_CHAR = regex.compile(r"[\p{L}\p{M}\p{N}=~*+@_$./-]")
_ESCAPE = regex.compile(r"%[0-9A-Fa-f]{2}")
_TOKEN = regex.compile(rf"[^\s{ODD_BLANK}<>\"“”‘«»|\\^`{{}}\[\]()]*")
_INFLECTION = regex.compile(r"\?info(?![\w=&%])|\?\?(?!\?)")
_BARE_INFLECTION = regex.compile(r"\?\Z")
_ELLIPSIS = regex.compile(r"\.{3}|…")
_NEXT_IDENTIFIER = regex.compile(r"ark:|https?:", regex.IGNORECASE)
_WRAP_AHEAD = regex.compile(rf"-?{WRAP}")
_LABEL_INSIDE = regex.compile(r"(?r)(?<![\p{L}\p{N}])ark\Z", regex.IGNORECASE)
_MARKUP_RUN = "*_~$"
_CONTEXT_CHARS = 60
_NEAR_CHARS = 600
_NEIGHBOUR_LINES = 6
#: No typesetter breaks an identifier over more lines; a text that seems to is not one.
_MOST_WRAPS = 8


def find_arks(text: str, *, evidence: Evidence | None = None) -> list[Mention]:
    """All ARKs in running *text*, in the order of their labels. Never raises, whatever the text.

    >>> [mention] = find_arks("The scan (see ark:/12148/bpt6k10\\n7371t).")
    >>> str(mention.ark), mention.repairs, mention.confidence.token
    ('ark:12148/bpt6k107371t', ('line wrap',), 'certain')
    """
    block = Block(text)
    return [found for found in scan(block, evidence or Evidence()) if isinstance(found, Mention)]


def scan(block: Block, evidence: Evidence) -> Iterator[Mention | NamespaceMention]:
    """All mentions of ARKs and of bare NAANs in one *block*, in the order of their labels."""
    if not _CANDIDATE.search(block.text):
        return
    tape = tape_of(block.text)
    for label in _LABEL.finditer(tape.text):
        found = _Reader(block, tape, label, evidence).read()
        if found is not None:
            yield found


class _Reader:
    """Reads one mention from its label on."""

    def __init__(self, block: Block, tape: Tape, label: regex.Match[str], evidence: Evidence) -> None:
        self.block = block
        self.tape = tape
        self.evidence = evidence
        self.label = label
        self.encoded = "%" in label["colon"] or "%" in label["slashes"]
        slashes = unquote(label["slashes"])
        self.written_label = label["word"].replace("-", "").replace(WRAP, "") + ":" + "/" * slashes.count("/")
        self.chars: list[str] = []
        self.offsets: list[tuple[int, int]] = []
        self.repairs: list[str] = []
        self.decisions: list[Decision] = []
        self.alternatives: list[str] = []
        self.inflection = ""
        self.written = resolver_before(tape.text, label.start())
        self.start = self.written.start
        if self.written.wrapped:
            self.repairs.append("line wrap")

    def read(self) -> Mention | NamespaceMention | None:
        """The mention at this label, a NAAN alone, or nothing when the label is a false friend."""
        end = self._read_forward(self.label.end())
        self._drop_tail()
        naan, slash, name = "".join(self.chars).partition("/")
        if not _NAAN.match(naan):
            return None
        if not name:
            return self._namespace(slash) if len(naan) == 5 else None
        if not slash or self._is_template(end):
            return None
        try:
            ark = Ark.parse("ark:" + "".join(self.chars))
        except NotAnArk:
            return self._namespace(slash)
        if _ELLIPSIS.match(self._rest()) and check(ark) is not Check.PASSES:
            return None
        return self._mention(ark)

    def _read_forward(self, pos: int) -> int:
        text = self.tape.text
        while pos < len(text):
            char, width = text[pos], 1
            if char in (WRAP, ODD_BLANK):
                if len(self.decisions) >= _MOST_WRAPS or not self._goes_on(pos):
                    break
                pos += 1
                continue
            if char == "%":
                escape = _ESCAPE.match(text, pos)
                char, width = (escape[0], 3) if escape else ("%", 1)
                if self.encoded and escape and int(escape[0][1:], 16) < 0x80:
                    char = unquote(escape[0])
            if char == "?":
                self._note_inflection(pos)
                break
            if char in (":", "%3A", "%3a") and self._label_begins():
                break
            if not self._belongs(char, pos + width, raw=width == 1):
                break
            self.chars.append(char)
            self.offsets.append((pos, pos + width))
            pos += width
        return pos

    def _belongs(self, char: str, after: int, *, raw: bool) -> bool:
        """Whether *char* is part of the ARK, given what stands at *after*."""
        text = self.tape.text
        following = text[after : after + 1]
        if char[0] == "%":
            return True
        if char == "/" and raw and self.encoded and "/" in self.chars and self.chars[-1] != "/":
            return False  # the outer URL goes on behind an encoded ARK
        if _NAME_CHAR.match(char):
            return True
        if char == ":":
            if _WRAP_AHEAD.match(text, after):
                return True
            return following.isalnum() and not _NEXT_IDENTIFIER.match(text, after)
        if char == ",":
            return following.isdigit() and self.chars[-1:] != [] and self.chars[-1].isdigit()
        if char == "!":
            return following.isdigit() and self.chars[-1:] == ["/"]
        return False

    def _label_begins(self) -> bool:
        """Whether another label ends here; it and what leads to it are then given back."""
        last = "".join(self.chars[-4:])
        if not _LABEL_INSIDE.search(last) or len(self.chars) < 4:
            return False
        del self.chars[-3:], self.offsets[-3:]
        return True

    def _goes_on(self, pos: int) -> bool:
        """Whether the ARK goes on behind the wrap or odd blank at *pos*; the decision is kept."""
        text = self.tape.text
        hyphen = self.chars[-1:] == ["-"]
        left = self.written_label + "".join(self.chars[:-1] if hyphen else self.chars)
        token = _TOKEN.match(text, pos + 1)
        right = unquote(token[0]) if self.encoded and token else (token[0] if token else "")
        wrap = Wrap(left, right, hyphen, self._line_is_full(pos))
        is_wrap = text[pos] == WRAP
        if is_wrap and self.block.role in (Role.LINK_TARGET, Role.LINK_ANNOTATION):
            ended = nothing_follows(wrap, self.evidence) or another_identifier(wrap, self.evidence)
            decision = ended or Decision(True, "a line wrap in a link target")
        elif is_wrap:
            decision = decide(wrap, self.evidence)
        else:
            rules = (no_name_yet, whole_elsewhere, check_character_decides)
            decided = (rule(wrap, self.evidence) for rule in rules)
            decision = next((d for d in decided if d is not None), Decision(False, "a blank"))
        self.decisions.append(decision)
        if decision.confidence is not Confidence.CERTAIN:
            self._note_alternative(left if decision.join else left + right)
        if decision.join:
            self._note_repair("line wrap" if is_wrap else "no-break space")
            if hyphen and not self._is_own_hyphen():
                self.chars.pop()
                self.offsets.pop()
                self._note_repair("hyphen at line wrap")
        return decision.join

    def _is_own_hyphen(self) -> bool:
        """Whether a hyphen at a wrap is the name's own: names such as UUIDs that have others keep theirs."""
        return "-" in "".join(self.chars[:-1]).partition("/")[2]

    def _line_is_full(self, pos: int) -> bool | None:
        """Whether the line that ends at *pos* is as long as the longest around it; None where that means nothing."""
        if self.block.page is not None:
            return None
        text = self.tape.text
        *before, line = text[max(0, pos - _NEAR_CHARS) : pos].split(WRAP)
        after = text[pos + 1 : pos + 1 + _NEAR_CHARS].split(WRAP)[:-1]
        neighbours = (*before[1:][-_NEIGHBOUR_LINES:], *after[:_NEIGHBOUR_LINES])
        widths = [len(neighbour) for neighbour in neighbours if PARAGRAPH not in neighbour]
        return len(line) >= max(widths) - 1 if len(widths) >= 2 else None

    def _note_inflection(self, pos: int) -> None:
        text = self.tape.text
        found = _INFLECTION.match(text, pos)
        if found is None and self.block.role is not Role.TEXT:
            found = _BARE_INFLECTION.match(text, pos)
        if found:
            self.inflection = found[0]
            if self.block.role is Role.TEXT and found[0] == "??":
                self.decisions.append(Decision(False, "two question marks in prose", Confidence.LIKELY))

    def _drop_tail(self) -> None:
        """Drop what belongs to the prose around: final punctuation, and markup that also stands before."""
        before = self.tape.text[self.start - 1 : self.start]
        marks = before if before and before in _MARKUP_RUN else ""
        while self.chars and self.chars[-1] in "./-:,!" + marks:
            self.chars.pop()
            self.offsets.pop()

    def _rest(self) -> str:
        end = self.offsets[-1][1]
        return self.tape.text[end : end + 3]

    def _is_template(self, end: int) -> bool:
        """Whether a placeholder stands where the name should go on: ``ark:/67531/{id}``, ``ark:/12345/x5$…``."""
        return self.tape.text[end : end + 1] in ("{", "<", "[") and self.chars[-1] in "/=$"

    # -- what was found

    def _namespace(self, slash: str) -> NamespaceMention | None:
        if not slash and not self.label["slashes"] and self.block.role is not Role.TEXT:
            return None
        start, end = self._source_range()
        return NamespaceMention(self.block.text[start:end], (start, end), self._context(start, end))

    def _mention(self, ark: Ark) -> Mention:
        start, end = self._source_range()
        label_gap = self.tape.text[self.label.start() : self.label.end()]
        if WRAP in label_gap:
            self._note_repair("line wrap")
        if " " in label_gap or ODD_BLANK in label_gap:
            self._note_repair("blank in the label")
        if self.encoded:
            self._note_repair("percent-encoding")
        for repair in self.tape.repairs(self.start, self.offsets[-1][1]):
            self._note_repair(repair)
        weakest = min(self.decisions, key=lambda decision: decision.confidence, default=None)
        return Mention(
            ark=ark,
            as_written=self.block.text[start:end],
            spans=self._spans(),
            repaired=(self.written.url or "") + self.written_label + "".join(self.chars),
            resolver=self.written.url,
            inflection=self.inflection,
            role=self.block.role,
            page=self.block.page,
            place=self.block.place,
            context=self._context(start, end),
            repairs=tuple(self.repairs),
            confidence=weakest.confidence if weakest else Confidence.CERTAIN,
            reason=weakest.rule if weakest else STANDS_WHOLE,
            alternatives=tuple(form for form in self.alternatives if form != str(ark)),
        )

    def _source_range(self) -> tuple[int, int]:
        last = self.offsets[-1][1] if self.offsets else self.label.end()
        return self.tape.source_offset(self.start), self.tape.source_end(last)

    def _spans(self) -> tuple[tuple[int, int], ...]:
        """The source ranges of resolver, label and every kept character, adjacent ones joined."""
        pieces = [(self.start, self.label.end()), *self.offsets]
        spans: list[tuple[int, int]] = []
        for piece_start, piece_end in pieces:
            start, end = self.tape.source_offset(piece_start), self.tape.source_end(piece_end)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return tuple(spans)

    def _context(self, start: int, end: int) -> str:
        around = self.block.text[max(0, start - _CONTEXT_CHARS) : end + _CONTEXT_CHARS]
        return " ".join(around.split())

    def _note_repair(self, repair: str) -> None:
        if repair not in self.repairs:
            self.repairs.append(repair)

    def _note_alternative(self, form: str) -> None:
        try:
            other = str(Ark.parse(form.rstrip(".,;:!?)")))
        except NotAnArk:
            return
        if other not in self.alternatives:
            self.alternatives.append(other)
