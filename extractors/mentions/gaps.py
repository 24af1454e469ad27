"""Build an ARK from its pieces, and decide whether it continues over a line wrap, a blank or a dash."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import regex

from extractors.mentions.confidence import Notes
from extractors.mentions.open_ends import interruptions_of
from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import Block, Role
from extractors.model.offset_map import ODD_BLANK, RIGHT_TO_LEFT, WRAP, OffsetMap
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import (
    Confidence,
    Rule,
    Wrap,
    WrapDecision,
    another_identifier,
    check_character_decides,
    decide,
    first_decision,
    is_next_item,
    is_numbered,
    lacks_hyphen,
    nothing_follows,
    range_follows,
    shape_decides,
    slack_in_text,
    whole_elsewhere,
    word_follows,
)

# The characters of an ARK, with their offsets in the repaired text.

#: Escapes of characters that would end an ARK in prose: blanks, quotation marks, brackets, bars, punctuation.
_ESCAPED_TAIL = re.compile(r"%(?:25)*(?:2[012789CEce]|3[A-CEa-ce]|[57][B-Db-d]|60)")

#: ARKs mapped to file names. Pairtree (draft-kunze-pairtree-01, 3) writes ``=`` for a slash, ``+`` for a
#: colon and ``,`` for a period: ``ark+=12148=btv1b8``; in file names it is ``ark_12148_btv1b8``.
_WORD = re.compile(r"[0-9A-Za-z]{1,255}")
_PAIRTREE_NAME = re.compile(r"[0-9A-Za-z=+,~*@_$-]{1,255}")
#: A name of FamilySearch, with its type: ``3_1_S3HY-6PR3-4VC`` for ``3:1:S3HY-6PR3-4VC``.
_FAMILY_FILE = re.compile(r"[1-9]_[1-9]_[0-9A-Z]{4}(?:-[0-9A-Z]{1,4}){1,3}")
_PAIRTREE = str.maketrans("=+,", "/:.")

Piece = tuple[str, int, int]
"""Plain characters of an ARK or one escape, with their start and end in the repaired text."""


@dataclass(slots=True)
class ArkBuilder:
    """The characters of an ARK that were read, in order, with their offsets in the repaired text."""

    offsets: OffsetMap
    pieces: list[Piece] = field(default_factory=list)

    def add(self, chars: str, start: int, end: int) -> None:
        """Add the piece *chars* from *start* to *end* of the repaired text: plain characters, or one whole escape."""
        self.pieces.append((chars, start, end))

    @property
    def chars(self) -> str:
        """The characters of all pieces, from the NAAN on."""
        return "".join([piece[0] for piece in self.pieces])

    @property
    def name(self) -> str:
        """The characters of name and qualifier."""
        return self.chars.partition("/")[2]

    def has_slashes(self, count: int) -> bool:
        """Return True if `chars` has *count* slashes or more: the first ends the NAAN, the second the name."""
        return self.chars.count("/") >= count

    @property
    def end(self) -> int:
        """The end of the last character in the repaired text."""
        return self.pieces[-1][2]

    @property
    def last(self) -> str:
        """The last character; empty without pieces."""
        return self.pieces[-1][0][-1:] if self.pieces else ""

    def ends_with(self, char: str) -> bool:
        """Return True if *char* is the last character."""
        return bool(self.pieces) and self.pieces[-1][0].endswith(char)

    def cut(self, count: int) -> None:
        """Remove the last *count* characters, from as many pieces as needed."""
        while count > 0:
            last_chars, start, end = self.pieces.pop()
            if len(last_chars) > count:
                self.pieces.append((last_chars[:-count], start, end - count))
            count -= len(last_chars)

    def strip(self, removed_chars: str) -> None:
        """Remove all characters in *removed_chars*, and escapes of blanks and punctuation, from the end."""
        while self.pieces:
            last_chars = self.pieces[-1][0]
            remaining = "" if _ESCAPED_TAIL.fullmatch(last_chars) else last_chars.rstrip(removed_chars)
            if remaining == last_chars:
                return
            self.cut(len(last_chars) - len(remaining))

    def spans(self, start: int, label_end: int) -> tuple[tuple[int, int], ...]:
        """Return start and end in the source of the mention, several pairs if it has gaps.

        In the repaired text, resolver and label are between *start* and *label_end*.
        """
        ranges = [(start, label_end), *(piece[1:] for piece in self.pieces)]
        spans: list[tuple[int, int]] = []
        for first, last in (span for stretch in ranges for span in self.offsets.source_spans(*stretch)):
            if first == last:  # only removed characters
                continue
            if spans and first <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
            else:
                spans.append((first, last))
        return tuple(spans)


def mapped_ark(text: str, start: int, *, is_file_name: bool) -> list[Piece]:
    """Return NAAN, slash and name of the ARK in a file name or pairtree with its NAAN at *start*; empty without one.

    >>> [chars for chars, _, _ in mapped_ark("ark+=13030=xt12t3,pdf", 5, is_file_name=False)]
    ['13030', '/', 'xt12t3.pdf']
    """
    separator, name_pattern = ("_", _WORD) if is_file_name else ("=", _PAIRTREE_NAME)
    naan = _WORD.match(text, start)
    if not naan or not text.startswith(separator, naan.end()):
        return []
    is_familysearch = is_file_name and naan[0] == "61903"
    name = (_FAMILY_FILE if is_familysearch else name_pattern).match(text, naan.end() + 1)
    if not name:
        return []
    chars: str = name[0].replace("_", ":") if is_file_name else name[0].translate(_PAIRTREE)
    return [(naan[0], *naan.span()), ("/", naan.end(), naan.end() + 1), (chars, *name.span())]


_TOKEN = regex.compile(rf"[^\s{ODD_BLANK}<>\"“”‘«»|\\^`{{}}\[\]()]*")
_BEYOND_CHARS = 12
_LONGEST_WORD = 300
#: The look-alikes of a hyphen that are also punctuation.
_DASHES = "\N{EN DASH}\N{EM DASH}\N{HORIZONTAL BAR}"
_DASH_RULES = (another_identifier, whole_elsewhere, range_follows, check_character_decides, shape_decides, word_follows)
#: Between two strings that C, Python and gettext join, but not between rows of data: ``"ark:/12148/btv1"``, ``"b84"``.
_BETWEEN_LITERALS = re.compile(r"""(["'])\n\1(?=[^\s"',0-9/.]*+[0-9/.][^"']*+\1(?!,\1))""")
#: A possible rest of a name after a no-break space.
_REST_OF_NAME = regex.compile(r"(?=[^\s]*\d)[\p{L}\d/=_.-]")
_NEAR_CHARS = 100
_OWN_HYPHENS = re.compile(r"-|[0-9]:[0-9]:")
#: A piece of a name after a wrong blank; a single consonant may be a check character.
_NAME_PIECE = re.compile(r"(?=[a-z]*[0-9]|[^\saeiouy](?![0-9A-Za-z]))[0-9a-z]{1,40}(?![0-9A-Za-z])")
#: Wrong blanks between a NAAN and its name, perhaps around the slash; words and years have fewer letters or digits.
_BLANKS_BEFORE_NAME = re.compile(
    rf"[ {ODD_BLANK}](?:(?P<slash>/)[ {ODD_BLANK}]?)?"
    r"(?P<name>(?=[0-9]*[a-z])(?=[a-z]*[0-9][0-9a-z]*[0-9])[0-9a-z]{6,40})(?![0-9A-Za-z-])"
)
#: Maximum number of gaps in an ARK: no typesetter breaks an identifier over more lines.
_MOST_GAPS = 8
#: Lines of a text whose pages someone numbered are ragged.
_RAGGED_CHARS = 12


class Gaps:
    """Decides whether one ARK continues over gaps (a line wrap, a blank, a dash), and adds the decisions to *notes*.

    *label* is the label as repaired, *target_ark* the ARK in the target of the mention's link; an ARK before
    *bracket_end* continues over any line end. *closing_marks* are `Wrap.closing_marks`.
    """

    def __init__(
        self,
        label: str,
        builder: ArkBuilder,
        block: Block,
        evidence: Evidence,
        notes: Notes,
        *,
        target_ark: Ark | None,
        is_encoded: bool,
        bracket_end: int,
        closing_marks: str,
    ) -> None:
        self.reached_end = False
        """True if the last token reached the end of the repaired text, so that more text may change the decision."""
        self._label = label
        self._builder = builder
        self._block = block
        self._offsets = builder.offsets
        self._text = builder.offsets.text
        self._evidence = evidence
        self._notes = notes
        self._target_ark = target_ark
        self._is_encoded = is_encoded
        self._bracket_end = bracket_end
        self._closing_marks = closing_marks

    def end_of_gap(self, pos: int) -> int:
        """Return the offset after the wrap or blank at *pos* if the ARK continues after it, else *pos*."""
        if self._text[pos] == WRAP:
            return pos + 1 if self._continues_after_wrap(pos) else pos
        end = self._end_of_wrong_blank(pos)
        if end == pos and self._text[pos] == ODD_BLANK:
            wrap = self._wrap(pos)
            is_clear = not _REST_OF_NAME.match(wrap.right) or "\t" in self._offsets.written_at(pos)
            confidence = Confidence.CERTAIN if is_clear else Confidence.LIKELY
            self._note_decision(WrapDecision(False, Reason.ENDS_AT_SPACE, confidence), wrap)
        return end

    def _continues_after_wrap(self, pos: int) -> bool:
        """Return True if the ARK continues after the wrap at *pos*, and note the decision and its repairs.

        If the ARK continues, a hyphen that a typesetter added there is removed from it.
        """
        if len(self._notes.decisions) >= _MOST_GAPS:
            return False
        wrap, source_offset = self._wrap(pos), self._offsets.source_offset(pos)
        is_line_end_only = self._is_line_end_only(pos)
        if is_line_end_only and not wrap.has_hyphen and is_next_item(self._block.text, source_offset):
            return False
        is_next_number = is_line_end_only and is_numbered(self._block.text, source_offset)
        wrap = replace(wrap, is_numbered=is_next_number, is_interrupted=not is_line_end_only)
        decision = self._decision_at_wrap(wrap, pos)
        if RIGHT_TO_LEFT.search(self._text, max(0, pos - _NEAR_CHARS), pos + _NEAR_CHARS):
            self._notes.mark_likely(Reason.RIGHT_TO_LEFT_LINE_END)
            self._notes.note_alternative(wrap.left if decision.is_joined else wrap.left + wrap.right)
        self._notes.is_beyond_name |= wrap.is_beyond_name and decision.reason != Reason.ENDS_BEFORE_OTHER_TEXT
        self._note_decision(decision, wrap)
        if decision.is_joined:
            self._notes.note_repair("line wrap")
            self._cut_hyphen_of(wrap)
            if not wrap.has_hyphen and lacks_hyphen(wrap):
                self._builder.add("-", pos, pos)
        return decision.is_joined

    def _cut_hyphen_of(self, wrap: Wrap) -> None:
        """Remove the hyphen before *wrap* from the ARK, if a typesetter added it.

        The hyphen stays in names that have hyphens: UUIDs, and FamilySearch names such as ``1:1:CVLH-SJ7``.
        """
        if wrap.has_hyphen and not _OWN_HYPHENS.search(self._builder.name[:-1] + wrap.next_part):
            self._builder.cut(1)
            self._notes.note_repair("hyphen at line wrap")

    def _end_of_wrong_blank(self, pos: int) -> int:
        """Return the offset after a blank at *pos* that was inserted by mistake; *pos* for any other blank.

        A blank before the name is a mistake if the text after it looks like a name. A blank within the name is one if the
        check character passes only without it.
        """
        builder, zones = self._builder, self._evidence.zones
        if not builder.chars:
            return pos
        if builder.name:
            wrap = self._wrap(pos)
            decision = check_character_decides(wrap, self._evidence) if _NAME_PIECE.match(self._text, pos + 1) else None
            if decision is None or not decision.is_joined or decision.confidence is not Confidence.CERTAIN:
                return pos
            self._notes.note_alternative(wrap.left)
            self._cut_hyphen_of(wrap)
            end = pos + 1
        else:
            blanks = _BLANKS_BEFORE_NAME.match(self._text, pos)
            if blanks is None or (blanks["slash"] is None) is not builder.ends_with("/"):
                return pos
            naan = builder.chars.rstrip("/")
            if zones.check(Ark(naan, blanks["name"])) is CheckCharacter.FAILS:
                return pos
            if blanks["slash"]:
                builder.add("/", *blanks.span("slash"))
            end = blanks.start("name")
        self._notes.note_repair("blank")
        self._notes.mark_likely(Reason.SPACE_IN_NAME)
        return end

    def end_at_dash(self, start: int, end: int) -> int:
        """Return where the ARK ends between *start* and *end*: at the first dash that is punctuation, else at *end*.

        Other dashes are hyphens of the ARK that a typesetter changed.
        """
        text = self._text
        for dash in self._offsets.repair_offsets("look-alike hyphen", start, end):
            is_dash = self._offsets.written_at(dash) in _DASHES
            if not is_dash or not (self._builder.name or "/" in text[start:dash]):
                continue
            text_before = self._label + self._builder.chars + text[start:dash]
            next_char = text[dash + 1 : dash + 2]
            if next_char in ("", WRAP):  # a hyphen at a line end, unless the sentence continues after it
                decision = self._decision_before_word(text_before, dash + 2)
                if decision is not None:
                    other_form = text_before + _TOKEN.match(text, dash + 2)[0]
                    self._notes.note_decision(decision, other_form=other_form)
                    return dash
                continue
            if len(self._notes.decisions) >= _MOST_GAPS or not next_char.isalnum():
                return dash
            if not self._continues_at(text_before, dash + 1, Reason.DASH_FOR_HYPHEN):
                return dash
        return end

    def end_of_literals(self, pos: int) -> int:
        """Return the offset after the marks of two strings at *pos* if the ARK continues in the second, else *pos*."""
        marks = _BETWEEN_LITERALS.match(self._text, pos)
        if marks is None:
            return pos
        is_joined = self._continues_at(self._label + self._builder.chars, marks.end(), Reason.STRING_LITERALS)
        return marks.end() if is_joined else pos

    def _continues_at(self, left: str, word_start: int, unsure_reason: Reason) -> bool:
        """Return True if the ARK *left* continues at *word_start*, after a dash or other sign; note a doubtful decision.

        If no rule decides, the ARK is likely to continue, with *unsure_reason* as the reason.
        """
        wrap = self._wrap_at_dash(left, word_start)
        self._notes.is_beyond_name |= wrap.is_beyond_name
        unsure_decision = WrapDecision(True, unsure_reason, Confidence.LIKELY)
        decision = self._first_decision(_DASH_RULES, wrap) or unsure_decision
        if not (decision.is_joined and decision.confidence is Confidence.CERTAIN):
            self._note_decision(decision, wrap)
        return decision.is_joined

    def _note_decision(self, decision: WrapDecision, wrap: Wrap) -> None:
        other_form = wrap.left if decision.is_joined else wrap.left + wrap.right
        self._notes.note_decision(decision, other_form=other_form)

    def _decision_before_word(self, left: str, word_start: int) -> WrapDecision | None:
        """Return the decision that the ARK *left* ends before the text at *word_start*; None if it may continue."""
        rules = (whole_elsewhere, check_character_decides, word_follows)
        decision = self._first_decision(rules, self._wrap_at_dash(left, word_start))
        return decision if decision is not None and not decision.is_joined else None

    def _wrap_at_dash(self, left: str, word_start: int) -> Wrap:
        """Return the dash between the ARK *left* and the word at *word_start* as a `Wrap`, like the end of a full line."""
        right = _TOKEN.match(self._text, word_start, word_start + _LONGEST_WORD)[0]
        return Wrap(left, right, has_hyphen=False, line_slack=0)

    def _decision_at_wrap(self, wrap: Wrap, pos: int) -> WrapDecision:
        if pos < self._bracket_end:
            return WrapDecision(True, Reason.IN_BRACKETS)
        if self._block.role in (Role.LINK_TARGET, Role.LINK_ANNOTATION):
            decision = self._first_decision((nothing_follows, another_identifier), wrap)
            return decision or WrapDecision(True, Reason.LINE_END_IN_LINK_TARGET)
        return decide(wrap, self._evidence)

    def _first_decision(self, rules: tuple[Rule, ...], wrap: Wrap) -> WrapDecision | None:
        return first_decision(rules, wrap, self._evidence)

    def _wrap(self, pos: int) -> Wrap:
        """Return the text on both sides of the line end or blank at *pos*, as the rules of wraps need it."""
        text = self._text
        has_hyphen = self._builder.ends_with("-")
        token = _TOKEN.match(text, pos + 1)
        if token.end() == len(text):
            self.reached_end = True
        wrap = Wrap(
            left=self._label + (self._builder.chars[:-1] if has_hyphen else self._builder.chars),
            right=unquote(token[0]) if self._is_encoded else token[0],
            has_hyphen=has_hyphen,
            line_slack=self._line_slack(pos) if text[pos] == WRAP else None,
            text_beyond=text[token.end() : token.end() + _BEYOND_CHARS],
            is_paged=self._block.page is not None,
            closing_marks=self._closing_marks,
            is_continued=text[pos] == WRAP and self._block.text.endswith("\\", 0, self._offsets.source_offset(pos)),
        )
        is_link_cut = wrap.is_paged and self._target_ark is not None and self._target_ark == wrap.ark
        return replace(wrap, is_link_cut=True) if is_link_cut else wrap

    def _is_line_end_only(self, pos: int) -> bool:
        """Return True if the wrap at *pos* is a line end without an interruption."""
        return self._offsets.source_offset(pos) not in interruptions_of(self._block)

    def _line_slack(self, pos: int) -> float | None:
        """Return the number of further characters that fit in the line that ends at *pos*; None if unknown."""
        block, source_offset = self._block, self._offsets.source_offset(pos)
        if block.page is None and not block.line_slack:
            slack = slack_in_text(block.text, source_offset)
            return slack if slack is None or self._is_line_end_only(pos) else max(0, slack - _RAGGED_CHARS)
        index = bisect_left(block.line_slack, (source_offset,))
        if index < len(block.line_slack) and block.line_slack[index][0] <= source_offset + 2:
            return block.line_slack[index][1]
        return None
