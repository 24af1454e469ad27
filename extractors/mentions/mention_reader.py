"""Read a mention forward from its label, over line wraps if the evidence supports it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

import regex

from extractors.mentions.confidence import Notes, confidence_in
from extractors.mentions.endings import (
    LETTER_FOR_ZERO,
    Effect,
    ends_and_doubts,
    is_plain,
    marked_text,
    may_end_in_digits,
    row_at_sign,
    start_of_no_ark,
)
from extractors.mentions.gaps import ArkBuilder, Gaps, mapped_ark
from extractors.mentions.mention import Mention, NamespaceMention, is_cut_from
from extractors.mentions.open_ends import may_go_on_below
from extractors.mentions.resolvers import WrittenResolver, resolver_before
from extractors.model.ark import BETANUMERIC, Ark, Remark
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import Block, Role
from extractors.model.normalize import NotAnArk
from extractors.model.offset_map import ODD_BLANK, PARAGRAPH, RIGHT_TO_LEFT, WRAP, OffsetMap
from extractors.wraps.evidence import Evidence, Fit
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import OTHER_SCRIPT, Confidence, WrapDecision, ark_of, may_be_rest

#: All NAANs of the registry have five digits; the draft allows more, and betanumeric ones (2.3).
_NAAN = re.compile(rf"(?!\d{{4}}-\d\d-\d\d\Z)(?=[a-z]*[0-9])(?:[{BETANUMERIC}]-*){{5,16}}\Z", re.IGNORECASE)
_ARK_CHARS = re.compile(r"[0-9A-Za-z=~*+@_./-]+")
_ENCODED_ARK_CHARS = re.compile(r"[0-9A-Za-z=~*@_.-]+")
_NAME_CHAR = regex.compile(r"[\p{L}\p{M}\p{Nd}--\p{Lm}]", regex.VERSION1)
#: The number of a footnote after a zero-width space; several are possible line breaks.
_SPACED_MARK = re.compile("(?P<name>[^\\u200b]*[0-9A-Za-z])\\u200b[0-9]{1,3}\\Z")
_ESCAPE = re.compile(r"%(?:25)*[0-9A-Fa-f]{2}")
_ENCODED_SLASH = re.compile(r"[0-9]{5}%(?:25)*2[Ff]")
#: A height of IIIF, after a comma.
_WIDTH = re.compile("[0-9]{1,6}/")
_INFLECTION = re.compile(r"\?info(?![\w=&%])|\?\?(?!\?)")
_BARE_INFLECTION = re.compile(r"\?(?=\Z|#)")
_FRAGMENT = regex.compile(rf"(?:\?[^\s{ODD_BLANK}#<>\"]*)?#(?P<fragment>[^\s{ODD_BLANK}<>\"”»]*)")
_ELLIPSIS = re.compile(r"\[?(?:\.{3}|…)")
_BRACKETED = re.compile(rf"(?:[^\s<>\"]*+{WRAP}){{1,3}}+[^\s<>\"]*+>")
_WRAP_AHEAD = re.compile(rf"-?{WRAP}")
_CLOSING_MARKS = {"(": ")", "[": "]", '"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‘": "’"}
_LEADS_TO_LABEL = regex.compile(r"(?:(?<![\p{L}\p{N}])ark|https?)\Z", regex.IGNORECASE)
_GLUED_LABEL = re.compile(r"/?[0-9]{5}/")
#: A name without a letter or digit is a piece of a query or of a pattern: ``ark:12148/+``, ``ark:12148/*``.
_SOME_NAME = regex.compile(r"[\p{L}\p{N}]")
_DIRECTIVE_BEHIND = re.compile(r"[sdi](?![0-9A-Za-z])|\(")
_GAPS = frozenset((WRAP, " ", ODD_BLANK))
_STRING_MARKS = "\"'"
_MARKUP_CHARS = "*_~$=@+"
_FINAL_PUNCTUATION = "./-:,!"
#: A slash at the end of a URL, perhaps before final punctuation.
_SLASH = re.compile(r"/[.:,!]*")
_VISIBLE = re.compile("[^ \r\n\N{ZERO WIDTH SPACE}\N{WORD JOINER}]")
CONTEXT_CHARS = 60
#: A longer name with its qualifier is not an ARK: its URL would exceed `URL_LIMIT`.
MOST_NAME_CHARS = 2**13
_LONGEST_BLANK = 1000
#: Maximum number of ends by the table, one after another, such as a word after a number.
_MOST_ENDS = 8
#: Number of characters after an ARK that may affect its end: ``ark:/12345/``, ``?info``, ``https:``.
_LOOK_AHEAD = 16


class MentionReader:
    """Reads the mention with *label*, a match in the repaired text of *offsets*, which are of *block*.

    *arks_by_link* maps link numbers to the ARKs in link targets.
    """

    def __init__(
        self,
        block: Block,
        offsets: OffsetMap,
        label: regex.Match[str],
        evidence: Evidence,
        arks_by_link: Mapping[int, Ark],
    ) -> None:
        self._is_at_end = False
        self._block = block
        self._offsets = offsets
        self._text = offsets.text
        self._evidence = evidence
        self._zones = evidence.zones
        self._label = label
        colon, slashes = label["colon"] or ":", label["slashes"] or ""
        self._mapped = label["mapped"]
        self._is_encoded = "%" in colon or "%" in slashes or _ENCODED_SLASH.match(self._text, label.end()) is not None
        word = unquote(re.sub("%(?:25)+", "%", label["word"])).replace("-", "").replace(WRAP, "")
        self._written_label = word + ":" + "/" * (slashes.count("/") + len(re.findall("%(?:25)*2[fF]", slashes)))
        self._builder = ArkBuilder(offsets)
        self._notes = Notes()
        self._inflection = ""
        self._fragment = ""
        self._fragment_end = 0
        self._slash = ""
        """The final slash of a URL, which is part of the request."""
        start = label.start()
        self._resolver = (
            WrittenResolver(None, start)
            if self._mapped
            else resolver_before(self._text, start, evidence.resolver_addresses)
        )
        self._start = self._resolver.start
        self._link = block.link_at(offsets.source_offset(start))
        self._target_ark = arks_by_link.get(self._link) if self._link is not None else None
        self._gaps = Gaps(
            self._written_label, self._builder, block, evidence, self._notes,
            target_ark=self._target_ark, is_encoded=self._is_encoded, bracket_end=self._bracket_end(),
            closing_marks=_CLOSING_MARKS.get(self._text[max(0, self._start - 2) : self._start].rstrip()[-1:], ""),
        )  # fmt: skip
        if self._resolver.repair:
            self._notes.note_repair(self._resolver.repair)
        if self._resolver.repair == "blank":
            self._notes.mark_likely(Reason.SPACE_IN_HOST)

    def _bracket_end(self) -> int:
        """Return the offset at which angle brackets around the URL end; 0 without brackets.

        A line end within them doesn't end the URL (RFC 3986, appendix C).
        """
        is_open = self._text.endswith(("<", "<URL:"), 0, self._start)
        brackets = _BRACKETED.match(self._text, self._label.end()) if is_open else None
        return brackets.end() if brackets else 0

    @property
    def reached_end(self) -> bool:
        """True if the text ended before the ARK did, so that the ARK must be read again in a longer piece of the block."""
        return self._is_at_end or self._gaps.reached_end

    def read(self) -> Mention | NamespaceMention | None:
        """Return the mention of an ARK, or of a NAAN without a usable name; None if neither follows the label."""
        end = self._read_file_name() if self._mapped else self._read_forward(self._label.end())
        last_end = max(end, self._fragment_end)
        is_near_end = len(self._text) - last_end < _LOOK_AHEAD
        # Blanks only are perhaps a line end.
        self._is_at_end = is_near_end or not self._text[last_end : last_end + _LONGEST_BLANK].strip(" ")
        url_goes_on = self._is_encoded and re.match(r"/\w", self._text[end : end + 2]) is not None
        self._drop_surroundings()
        naan, slash, name = self._builder.chars.partition("/")
        if not _NAAN.match(naan):
            return None
        if not name:
            return self._namespace(slash) if len(naan) == 5 and not self._mapped else None
        if name.startswith("/") and "\\" in self._block.text[slice(*self._source_range())]:  # s/ark:\/12148\//x/ of sed
            return None
        if not _SOME_NAME.search(unquote(name.lstrip("/").partition("/")[0])):
            return self._namespace(slash)
        needs_table = not is_plain(self._builder.chars, self._text, self._builder.end)
        if needs_table and not self._cut_by_table():
            return None
        name = self._builder.name
        if len(name) > MOST_NAME_CHARS:
            return self._namespace(slash, is_overlong=True)
        try:
            ark = self._read_at_seams(Ark.parse(f"ark:{naan}/{name}"))
        except NotAnArk:
            return self._namespace(slash)
        if self._zones.is_shoulder(ark):
            return self._namespace(slash)
        if needs_table or may_end_in_digits(ark, self._zones.check(ark)):
            for _ in range(_MOST_ENDS):
                previous_ark, ark = ark, self._end_by_table(ark)
                if ark == previous_ark:
                    break
        if _ELLIPSIS.match(self._text, self._builder.end) and self._zones.check(ark) is not CheckCharacter.PASSES:
            namespace = self._namespace(slash) if any(map(str.isdigit, ark.name)) and self._target_ark is None else None
            return replace(namespace, is_shortened=True) if namespace else None
        return self._mention(ark, url_goes_on=url_goes_on)

    # -- reading forward

    def _read_forward(self, pos: int) -> int:
        """Add the characters of the ARK from *pos* on, over gaps and signs; return the offset after them."""
        text, chars_pattern = self._text, _ENCODED_ARK_CHARS if self._is_encoded else _ARK_CHARS
        limit = min(len(text), pos + 2 * MOST_NAME_CHARS)
        while pos < limit:
            plain_chars = chars_pattern.match(text, pos, limit)
            if plain_chars:
                end = self._gaps.end_at_dash(pos, plain_chars.end()) if self._offsets.changes else plain_chars.end()
                self._builder.add(text[pos:end], pos, end)
                pos = end
                if end < plain_chars.end():
                    break
                continue
            if sign := row_at_sign(self._block, text, pos):
                row, sign_end = sign
                if row.effect is Effect.ENDS_BEFORE:
                    break
                self._notes.note_repair(row.name)
            elif text[pos] in _GAPS:
                sign_end = pos if self._ends_with_markup() else self._end_of_gap(pos)
            elif text[pos] in _STRING_MARKS:
                sign_end = self._gaps.end_of_literals(pos)
            else:
                sign_end = self._end_of_sign(pos)
            if sign_end == pos:
                break
            pos = sign_end
        return pos

    def _end_of_gap(self, pos: int) -> int:
        """Return the offset after the gap at *pos* if the ARK continues after it, else *pos*."""
        if self._text[pos] == ODD_BLANK and self._offsets.written_at(pos) == "%20" and self._is_in_qualifier():
            self._builder.add("%20", pos, pos + 1)  # in a search or a file name
            return pos + 1
        return self._gaps.end_of_gap(pos)

    def _end_of_sign(self, pos: int) -> int:
        """Add the character or escape at *pos* to the ARK if it is part of it; return the offset after it, else *pos*.

        At a question mark or ``#``, the inflection and fragment are set.
        """
        char, width = self._text[pos], 1
        if char == "%":
            escape = _ESCAPE.match(self._text, pos)
            char, width = (escape[0], len(escape[0])) if escape else ("%", 1)
            if self._is_encoded and escape and int(escape[0][-2:], 16) < 0x80:
                char = unquote("%" + escape[0][-2:])
        if char in "?#":
            self._note_query(pos)
            return pos
        if char == ":" and self._label_begins(pos + width):
            return pos
        if not self._belongs_to_ark(char, pos + width, raw=width == 1):
            return pos
        self._builder.add(char, pos, pos + width)
        return pos + width

    def _belongs_to_ark(self, char: str, char_end: int, *, raw: bool) -> bool:
        """Return True if *char*, which ends at the offset *char_end* and is no plain character of a name, is part of the ARK.

        *raw* is False if it is written as an escape.
        """
        builder = self._builder
        next_char = self._text[char_end : char_end + 1]
        if char[0] == "%":
            return len(char) > 1 or _DIRECTIVE_BEHIND.match(self._text, char_end) is not None
        if raw and char in ("/", "+"):  # end an encoded ARK in another URL, where "+" is a blank
            is_label_encoded = any(end - start == 1 for chars, start, end in builder.pieces if chars == "/")
            is_outer = builder.has_slashes(1) and not builder.ends_with("/") if char == "/" else self._is_encoded
            return not is_outer or is_label_encoded
        if char == "$" or _ARK_CHARS.match(char):
            return True
        if _NAME_CHAR.match(char):
            is_other_script = OTHER_SCRIPT.match(char) and builder.last.isalnum()
            return not (is_other_script and builder.name.isascii() and bool(builder.name))
        if char == ":":
            char_after_colon = self._text[char_end + 1 : char_end + 2] if next_char == "-" else next_char
            return char_after_colon.isalnum() or _WRAP_AHEAD.match(self._text, char_end) is not None
        if char == ",":
            return builder.has_slashes(2) and (  # regions and sizes of IIIF: 0,0,100,100/!200,200 600,/0 /,600/
                (next_char.isdigit() and builder.last.isdigit())
                or (builder.ends_with("/") and _WIDTH.match(self._text, char_end) is not None)
                or (next_char == "/" and builder.last.isdigit())
            )
        if char == "!":
            return next_char.isdigit() and builder.ends_with("/")
        return False

    def _is_in_qualifier(self) -> bool:
        """Return True if the characters read include the beginning of a qualifier; a period at their end is none."""
        builder = self._builder
        return builder.has_slashes(2) or ("." in builder.name and not builder.ends_with("."))

    def _ends_with_markup(self) -> bool:
        """Return True if the ARK ends with a character of markup, as in ``_see ark:/12148/btv1b84_``.

        It is doubled, or the same character before the ARK opens the marked text.
        """
        mark = self._builder.last
        if not mark or mark not in _MARKUP_CHARS:
            return False
        if self._builder.ends_with(2 * mark):
            return True
        text_before = self._text[max(0, self._start - CONTEXT_CHARS) : self._start].rpartition(PARAGRAPH)[2]
        return re.search(rf"(?<![\w/]){re.escape(mark)}+(?=\S|\Z)", text_before) is not None

    def _label_begins(self, char_end: int) -> bool:
        """Return True if the colon before *char_end* ends another label or a URL scheme that was read as part of the ARK.

        The letters of the label or scheme are then removed from the ARK.
        """
        builder = self._builder
        last_chars = builder.pieces[-1][0] if builder.pieces else ""
        label_or_scheme = _LEADS_TO_LABEL.search(last_chars)
        if last_chars[-3:].lower() == "ark" and builder.name[3:] and _GLUED_LABEL.match(self._text, char_end):
            builder.cut(3)
        elif label_or_scheme and (label_or_scheme[0].lower() == "ark" or self._text.startswith("//", char_end)):
            builder.cut(len(label_or_scheme[0]))
        else:
            return False
        builder.strip(_MARKUP_CHARS)
        return True

    def _note_query(self, pos: int) -> None:
        """Set the inflection and the fragment at *pos*; any other query is not part of the mention."""
        query = _INFLECTION.match(self._text, pos)
        if query is None and self._block.role is not Role.TEXT:
            query = _BARE_INFLECTION.match(self._text, pos)
        if query:
            self._inflection = query[0]
            if self._block.role is Role.TEXT and query[0] == "??":
                self._notes.mark_likely(Reason.QUESTION_MARKS_IN_PROSE)
        fragment = _FRAGMENT.match(self._text, pos)
        if fragment:
            self._fragment = fragment["fragment"].rstrip(".,;:!?)]'")
            self._fragment_end = fragment.end()

    def _read_file_name(self) -> int:
        """Read an ARK in a file name or pairtree; return the offset after it, or after its label if there is no ARK."""
        is_file_name = self._mapped == "_"
        self._builder.pieces = mapped_ark(self._text, self._label.end(), is_file_name=is_file_name)
        self._written_label = "ark:/"
        self._notes.note_repair("file name" if is_file_name else "pairtree")
        self._notes.mark_likely(Reason.FILE_NAME)
        return self._builder.end if self._builder.pieces else int(self._label.end())

    # -- where it ends

    def _drop_surroundings(self) -> None:
        """Remove characters of the surrounding prose: final punctuation, and markup that was opened before."""
        chars = self._builder.chars
        name = chars.rstrip(_FINAL_PUNCTUATION)
        if "/" in name and self._is_urls_slash(chars[len(name) :]):
            is_target = self._block.role is Role.LINK_TARGET
            if surplus := len(chars) - len(name) - is_target:
                self._builder.cut(surplus)
            self._slash = "" if is_target else "/"  # in a text it may be punctuation, not a part of the ARK
            return
        self._builder.strip(_FINAL_PUNCTUATION)
        if self._ends_with_markup():
            self._builder.strip(_FINAL_PUNCTUATION + self._builder.last)

    def _is_urls_slash(self, tail: str) -> bool:
        """Return True if *tail* begins with the final slash of a URL or link target, which is requested with it.

        The slash doesn't change the ARK (draft-kunze-ark-38, 4.1), but some resolvers need it.
        """
        is_url = self._resolver.url is not None or self._block.role is Role.LINK_TARGET
        next_char = self._text[self._builder.end : self._builder.end + 1]
        return is_url and _SLASH.fullmatch(tail) is not None and next_char not in ("{", "<", "[", "(", "%", "$")

    def _marked_text(self) -> tuple[str, int]:
        """Return the marked text (`marked_text`) of the characters read, and the offset of its first mark."""
        address = (self._resolver.url or "") + self._written_label
        start = self._offsets.source_offset(self._start)
        return marked_text(self._block, start, address, self._builder.chars, self._text, self._builder.end)

    def _cut_by_table(self) -> bool:
        """Cut the characters read at the first part that a `NO_ARK` row matches, such as a placeholder.

        Return False if no ARK is left.
        """
        text, start = self._marked_text()
        while (no_ark_start := start_of_no_ark(self._block, text, start)) is not None:
            chars = self._builder.chars
            stem = chars[: max(0, no_ark_start - start - 1)]
            stem_end = max(stem.rfind("/"), stem.rfind("."))
            if stem_end > chars.find("/"):
                stem = stem[:stem_end]
            elif self._target_ark is not None or not self._zones.confirms(ark_of(f"ark:{stem}")):
                return False  # the citation may be in the link's target
            if stem == chars:
                return True
            self._builder.cut(len(chars) - len(stem))
            text, start = self._marked_text()
        return True

    def _end_by_table(self, ark: Ark) -> Ark:
        """Return *ark*, shortened by the first row of `ENDINGS` that ends it, or unchanged.

        Rows before that one make the ARK likely, with an alternative for each.
        """
        chars, is_whole = self._builder.chars, self._target_ark == ark or self._evidence.has_whole_ark(str(ark))
        fit = self._evidence.shapes.fit
        for row, length, shorter, ends in ends_and_doubts(self._block, *self._marked_text(), ark, self._zones):
            if shorter is None:
                self._notes.mark_likely(row.reason, has_other_doubt=length < len(chars))
                self._note_doubt_beyond_name(ark)
            elif is_whole or (fit(ark) is Fit.FITS and fit(shorter) is not Fit.FITS):
                continue
            elif not ends:
                self._notes.mark_likely(row.reason)
                self._notes.note_alternative(self._written_label + chars[:length])
            else:
                self._builder.cut(len(chars) - length)
                self._notes.is_beyond_name |= shorter.name == ark.name or row.needs_check
                reason = row.reason if row.effect is Effect.ENDS_BEFORE else Reason.ATTACHED_WORD_REMOVED
                decision = WrapDecision(False, reason, Confidence.LIKELY)
                self._notes.note_decision(decision, other_form=self._written_label + chars)
                return shorter
        return ark

    def _read_at_seams(self, ark: Ark) -> Ark:
        """Return *ark*, or its part before a seam (`Block.seams`) if the check character of only that part passes.

        The parts before the other seams are added as alternatives. A zero-width space before a number is a seam, too.
        """
        text, start, end = self._block.text, self._offsets.source_offset(self._label.start()), self._source_range()[1]
        seams = self._block.seams if self._block.page is None else ()
        seams = seams[bisect_right(seams, start) : bisect_left(seams, end)]
        if spaced_mark := _SPACED_MARK.match(text, start, end):
            seams = (*seams, spaced_mark.end("name"))
            self._notes.decisions.append(WrapDecision(True, Reason.SPACE_IN_NAME, Confidence.LIKELY))
        for seam in seams:
            part_ark = ark_of(text[start:seam])
            if (
                part_ark is not None
                and self._zones.check(ark) is CheckCharacter.FAILS
                and self._zones.confirms(part_ark)
            ):
                while self._offsets.source_end(self._builder.end) > seam:
                    self._builder.cut(1)
                return part_ark
            self._notes.note_alternative(text[start:seam])
        return ark

    # -- the result

    def _namespace(self, slash: str, *, is_overlong: bool = False) -> NamespaceMention | None:
        if not slash and not self._label["slashes"] and self._block.role is not Role.TEXT:
            return None
        start, end = self._source_range()
        shown_end = min(end, start + CONTEXT_CHARS) if is_overlong else end
        text, context = self._block.text[start:shown_end], self._block.context(start, shown_end)
        return NamespaceMention(text, (start, end), context, is_overlong=is_overlong)

    def _mention(self, ark: Ark, *, url_goes_on: bool) -> Mention:
        """Return the mention of *ark* that was read, with all repairs, the confidence and its reason."""
        block, notes = self._block, self._notes
        start, end = self._source_range()
        label_text = self._label[0]
        for repair, is_made in (
            ("line wrap", WRAP in label_text),
            ("blank in the label", " " in label_text or ODD_BLANK in label_text),
            ("percent-encoding", self._is_encoded),
        ):
            if is_made:
                notes.note_repair(repair)
        if self._offsets.changes:
            for repair in self._offsets.repairs(self._start, self._builder.end):
                notes.note_repair(repair)
        self._note_form(ark, start, end)
        self._note_surroundings(ark, start, end)
        confidence, reason = confidence_in(ark, notes, self._evidence, block, self._target_ark)
        is_open = confidence is not Confidence.CERTAIN or reason is notes.reason
        return Mention(
            ark=ark,
            as_written=block.text[start:end],
            spans=self._builder.spans(self._start, self._label.end()),
            repaired=(self._resolver.url or "") + self._written_label + self._builder.chars + self._slash,
            resolver=self._resolver.url,
            inflection=self._inflection,
            role=block.role,
            page=block.page_at(start),
            place=block.place,
            context=block.context(start, end),
            repairs=tuple(notes.repairs),
            confidence=confidence,
            reason=reason,
            alternatives=tuple(form for other_ark, form in notes.alternatives.items() if other_ark != ark and is_open),
            fragment=self._fragment,
            link=self._link,
            remarks=(Remark.URL_GOES_ON,) if url_goes_on else (),
        )

    def _note_form(self, ark: Ark, start: int, end: int) -> None:
        """Add the doubts about the form of *ark*, at *start* to *end* of the block, that no row of `ENDINGS` covers."""
        block, notes = self._block, self._notes
        label_text = self._label[0]
        if not self._label["slashes"] and label_text[-1] in _GAPS:
            notes.mark_likely(Reason.SPACE_AFTER_LABEL)
        near_range = max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS
        if self._is_on_page() and RIGHT_TO_LEFT.search(block.text, *near_range):
            notes.mark_likely(Reason.RIGHT_TO_LEFT_PAGE)
        zero_ark = Ark(ark.naan, LETTER_FOR_ZERO.sub("0", ark.name), ark.qualifier)
        if zero_ark != ark and self._zones.check(zero_ark) is self._zones.check(ark) is CheckCharacter.PASSES:
            notes.mark_likely(Reason.LETTER_FOR_ZERO)
            notes.note_alternative(str(zero_ark))
        if self._written_label.isupper() and (ark.name + ark.qualifier).isupper():  # names are case-sensitive
            notes.mark_likely(Reason.ALL_CAPITALS)
            notes.note_alternative(str(ark).lower())

    def _note_surroundings(self, ark: Ark, start: int, end: int) -> None:
        """Add the doubts about *ark* that its page, unit (such as a cell), link, check character and resolver give.

        *start* and *end* are its offsets in the block.
        """
        block, notes = self._block, self._notes
        seams = block.seams
        for reason, is_doubtful in (
            (
                Reason.GAPS_ON_PAGE,
                bisect_left(seams, start) < bisect_right(seams, end + 1),
            ),  # in it or directly after it
            (Reason.RECOGNIZED_TEXT, block.is_recognized),
            (Reason.ENDS_AT_PAGE_END, self._is_on_page() and not _VISIBLE.search(block.text, end)),
            (Reason.ENDS_AT_UNIT_END, self._may_go_on_elsewhere(end)),
            (Reason.LINK_TARGET_LONGER, self._target_ark is not None and is_cut_from(ark, self._target_ark)),
        ):
            if is_doubtful:
                notes.mark_likely(reason, has_other_doubt=False)
                self._note_doubt_beyond_name(ark)
        if "page break" in notes.repairs or any(start < page_break < end for page_break in block.page_breaks):
            notes.mark_likely(Reason.CONTINUES_ON_NEXT_PAGE, has_other_doubt=False)
        if self._zones.check(ark) is CheckCharacter.FAILS:
            notes.mark_likely(Reason.CHECK_CHARACTER_FAILS)
        if self._resolver.is_doubtful:
            notes.mark_likely(Reason.LINE_END_IN_RESOLVER)

    def _note_doubt_beyond_name(self, ark: Ark) -> None:
        """Note that no check character settles a doubt about the end of *ark*, if its qualifier has begun."""
        has_qualifier = bool(ark.qualifier) or self._text.startswith(("/", "-"), self._builder.end)
        self._notes.is_beyond_name |= has_qualifier

    def _is_on_page(self) -> bool:
        """Return True for the text of a page; other blocks of pages are single values."""
        return self._block.page is not None and self._block.role is Role.TEXT

    def _may_go_on_elsewhere(self, end: int) -> bool:
        """Return True if the next cell or box, or a paragraph below *end*, may be the rest of the ARK that ends at *end*."""
        next_unit = self._block.following if self._block.is_blank_after(end) else ""
        return may_be_rest(next_unit) or (self._block.role is Role.TEXT and may_go_on_below(self._block.text, end))

    def _source_range(self) -> tuple[int, int]:
        end = self._builder.end if self._builder.pieces else self._label.end()
        return self._offsets.source_offset(self._start), self._offsets.source_end(end)
