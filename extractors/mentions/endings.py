"""The table of ends and shapes of names: special cases around and in an ARK that the general rules don't explain.

Each row has a pattern, its effect, and the blocks in which it holds. Its example shows the effect, and its
counter-example doesn't: both are tests. `tools/rent.py` lists the rows that change no result.

The patterns of `ENDINGS` are searched in a *marked text*: the characters of an ARK after its label, in ``⟨⟩``, between
the texts before and after them: ``see ark:/⟨12148/bpt6k10⟩.12 Then``. Those of `SIGNS` are tried during reading, at
a sign in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice

import regex

from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter, Zones
from extractors.model.documents import Block, Role
from extractors.model.offset_map import ODD_BLANK
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import ark_of

#: The source of a row that prevents a wrong ARK, but was seen in no public file.
UNSEEN = "unseen"


class Effect(Enum):
    """The effect of a row on the ARK."""

    NO_ARK = "no ARK"
    """The text is not an ARK if the match is in its name; a match in its qualifier ends the ARK before that part."""
    ENDS_BEFORE = "ends before"
    """The ARK ends before the match, unless check characters decide otherwise."""
    LIKELY = "likely"
    """The ARK is likely at most. If the match is in it, it may end before the match."""
    PASSED_OVER = "passed over"
    """The match is a gap within the ARK."""


def is_text(block: Block) -> bool:
    """Return True for running text."""
    return block.role is Role.TEXT


def is_text_or_data(block: Block) -> bool:
    """Return True for running text and structured data."""
    return block.role in (Role.TEXT, Role.STRUCTURED_DATA)


@dataclass(frozen=True, slots=True)
class Ending:
    """A row of the table: a special case, with the pattern that finds it and its effect on the ARK."""

    name: str
    effect: Effect
    pattern: re.Pattern[str] | regex.Pattern[str]
    example: str
    """A text with ``⟦⟧`` around its mentions, which shows the effect."""
    counter_example: str
    """A similar text without the effect."""
    source: str = UNSEEN
    """The public file, product or specification with such a case."""
    reason: Reason = Reason.COMPLETE
    applies_to: Callable[[Block], bool] = lambda _: True
    needs_check: bool = False
    """True if the row applies only if the check character of the shorter name passes."""

    def ends(self, ark: Ark, shorter_ark: Ark, zones: Zones) -> bool | None:
        """Return True if the row shortens *ark* to *shorter_ark*, False if it only makes *ark* likely at most.

        None if the row has no effect. If the base names differ, their check characters count: for example, there is no
        effect if only that of *ark* passes.
        """
        is_covered = shorter_ark.name != ark.name
        passes = is_covered and zones.confirms(shorter_ark)
        is_whole = is_covered and zones.confirms(ark)
        if (self.needs_check or is_whole) and not passes:
            return None
        return self.effect is Effect.ENDS_BEFORE or (passes and not (self.needs_check and is_whole))


#: The characters of a marked text before its mention, and after it.
_BEFORE_CHARS, _BEHIND_CHARS = 64, 100


def marked_text(block: Block, start: int, address: str, chars: str, text: str, end: int) -> tuple[str, int]:
    """Return the marked text of an ARK that begins at *start* in *block*, and the offset of its first mark.

    *address* is its resolver and label. *chars* are its characters, which end at *end* in the repaired *text*.

    >>> text = "see ark:/12148/x5 there"
    >>> marked_text(Block(text), 4, "ark:/", "12148/x5", text, 17)
    ('see ark:/⟨12148/x5⟩ there', 9)
    """
    text_before = block.text[max(0, start - _BEFORE_CHARS) : start] + address
    return f"{text_before}⟨{chars}⟩{text[end : end + _BEHIND_CHARS]}", len(text_before)


#: Maximum number of matches of a row: no name of an archive has more.
_MOST_MATCHES = 16
#: A letter that counts as zero in check characters, where a zero may be meant.
LETTER_FOR_ZERO = re.compile("[oOD](?:(?<=[0-9].)|(?=[0-9]))")


#: The end of a word of a sentence, directly before the mention and its label.
_PROSE = r"\p{L}\p{Ll},?\s(?:\S*/)?ark:/*⟨"
_PROSE_OR_HEADING = r"\p{L}\p{Ll}\s?[,:;]?\s[(\[\"“]?(?:\S*/)?ark:/*⟨"
_VARIABLE = r"(?:\w+[_-])?(?:id|i|n|x|no|nr|num|number|name|page|folio|vue|view|ark|noid|code|identifier)"
_NEXT_SENTENCE = r"(?:,[0-9]{1,3})*[ \n][\p{Ps}\p{Pi}\"']?\p{Lu}"
_NUMBER_OF_NOTE = r"[0-9]{1,3}(?:-[0-9]{1,3})?⟩"
_OPERATOR = r"(?:[+&.]|\|\||\.\.)"

#: Tried at a sign where a name may end, during reading.
SIGNS: tuple[Ending, ...] = (
    Ending(
        "subfield of MARC",
        Effect.ENDS_BEFORE,
        regex.compile(
            r"[$ǂ](?=[0-9a-z])(?<=(?:[$‡ǂ|][0-9a-z] ?(?:\([^()$]*\))?|(?<!\S)[0-9\\#_]{2}[$‡ǂ][0-9a-z][^\n$]{1,200})"
            r"(?:https?://\S*)?ark:[^\s$ǂ]*.)"
        ),
        "=856 41$u⟦https://gallica.bnf.fr/ark:/12148/bpt6k107371t⟧$yNotice",
        "the map ⟦ark:/67531/x5$b⟧ there",
        source="MARC 21 Format for Bibliographic Data, 024 and 856, as text",
        applies_to=is_text,
    ),
    Ending(
        "subfield of Aleph",
        Effect.ENDS_BEFORE,
        re.compile(r"\$\$"),
        "024 7 ⟦ark:/67531/metadc107835⟧$$2ark",
        "⟦ark:/67531/metadc107835$b⟧ there",
        source="Ex Libris Aleph, sequential format",
    ),
    Ending(
        "typography in a wrong encoding",
        Effect.ENDS_BEFORE,
        re.compile(f"â[€\x80]|Â[\x80-\xbf {ODD_BLANK}]"),
        "⟦ark:/67531/metadc107835⟧â€™s map",
        "⟦ark:/67531/metâge⟧ there",
    ),
    Ending(
        "type of a file",
        Effect.ENDS_BEFORE,
        re.compile(r":(?:URL|PDF|PostScript|HTML)(?![\w-])"),
        "file = {⟦ark:/67531/metadc107835/f12.item⟧:URL}",
        "⟦ark:/67531/metadc107835:URLS⟧ there",
        source="JabRef, field `file` of BibTeX entries",
    ),
    Ending(
        "blank before a colon",
        Effect.PASSED_OVER,
        regex.compile(rf"[ {ODD_BLANK}](?=:\w)(?<=[kK][ {ODD_BLANK}]:[^\n]{{1,80}})"),
        "voir ⟦ark :/61903/1 :1 :MM6X-FGZ⟧",
        "voir ⟦ark:/67531/metadc107835⟧ :12",
        source="labelled corpus, odd forms",
    ),
)

#: Searched in the marked text, in this order: no ARK, ends, doubts.
ENDINGS: tuple[Ending, ...] = (
    Ending(
        "host and port",
        Effect.NO_ARK,
        regex.compile(r"(?<=(?://|[^\s@]@)(?:[\w-]{1,63}\.){0,4}(?:[\w-]{1,63}[.-])?ark:)⟨"),
        "http://ark:80801/path/x5 and ssh user@ark:22000/home/x5",
        "⟦http://n2t.net/ark:80801/x5⟧",
        source="ark-console README (-e ARK_ENGINE_URL=http://ark:8080)",
    ),
    Ending(
        "placeholder of equal letters",
        Effect.NO_ARK,
        re.compile(
            r"⟨[^/⟩]{1,40}/(?:[0-9]:[0-9]:)?(?:[xX]{3,}(?:-[xX]+)*|[nN]{4,}|[0-9a-z]{1,8}(?:x{4,}|X{4,}|N{4,})[0-9]{0,3})(?=[/.⟩])"
        ),
        "picarones import iiif https://gallica.bnf.fr/ark:/12148/xxx/manifest.json",
        "⟦ark:/67531/xxl⟧",
        source="maribakulj/Picarones, README (import iiif …/ark:/12148/xxx/manifest.json)",
    ),
    Ending(
        "word for a name",
        Effect.NO_ARK,
        re.compile(
            r"⟨[^/⟩]{1,40}/(?:(?:[A-Za-z]{1,6}[_-]?)?(?:ARK|ID|NAME|CODE|NOID|IDENTIFIER)(?:[_-]?[A-Z]{2,10})?"
            r"|(?:ark|your|my|the|some|base)?[_-]?(?:[Nn]ame|[Ii][dD]|[Cc]ode|[Ii]dentifier)|(?:your|my)[_-][A-Za-z_-]+"
            r"|[Nn]om(?:e|bre)?|[Ii]dentifi(?:ant|cador|cativo)|[Kk]ennung|[Nn]aam|(?:tc|ud)p[46]?)(?=[/.⟩])"
        ),
        "ark:/67531/NAME, ark:/67531/arkName.thumbnail, ark:/67531/your-name-here, ark:27015/udp",
        "⟦ark:/67531/names⟧",
    ),
    Ending(
        "wild-cards within a part",
        Effect.NO_ARK,
        re.compile(r"\*\*|___|(?<=[/.][a-z])(?:[XN]{2,}|[xn]{3,})(?![0-9A-Za-z])"),
        "⟦ark:/67531/metadc107835⟧/fNNN.item",
        "⟦ark:/67531/metadc107835/f12.item⟧",
    ),
    Ending(
        "wild-cards after a letter",
        Effect.NO_ARK,
        re.compile(r"(?<=[/.])[A-Za-z]⟩(?:\*\*|___|\?{3}|\[?(?:\.{3}|…))"),
        "⟦ark:/67531/metadc107835⟧/f*** and ⟦ark:/67531/metadc107835⟧/f[...]",
        "⟦ark:/67531/metadc107835/f⟧ there",
    ),
    Ending(
        "parameter of a route",
        Effect.NO_ARK,
        re.compile(r"(?<=/)(?:[:*][A-Za-z]\w*|@+[A-Za-z]\w*@*|_[A-Z_]+_)(?=[/.⟩])|(?<=\.)\*(?=[0-9A-Za-z])"),
        "⟦ark:/12148/bpt6k107371t⟧/:id/manifest.json and ark:/67531/:id",
        "⟦ark:/61903/1:1:KX9W-TM2⟧",
    ),
    Ending(
        "variable with a dollar sign",
        Effect.NO_ARK,
        re.compile(rf"(?<=[/.])\$[A-Za-z_]\w*|\$(?i:{_VARIABLE}\b|[0-9]⟩)"),
        "⟦ark:/67531/metadc107835/m1⟧/$page and ark:/67531/$id/f1",
        "⟦ark:/67531/x5$b⟧",
        source="public programs for Gallica (https://gallica.bnf.fr/ark:/12148/${ark}/texteBrut)",
    ),
    Ending(
        "directive of a format",
        Effect.NO_ARK,
        re.compile(r"%(?:0[0-9]?)?[sdi](?![0-9A-Za-z])|%⟩\("),
        "⟦ark:/67531/metadc107835⟧/p%03d.jpg and ark:/67531/metadc%d",
        "⟦ark:/67531/x5%C3%A9⟧",
        source="public programs for Gallica (https://gallica.bnf.fr/ark:/12148/%s/f%s.item)",
    ),
    Ending(
        "variable in brackets",
        Effect.NO_ARK,
        regex.compile(
            r"[$#%]?⟩[-:]?(?:[$#]?\{(?![.#/]|:[ .#]|(?:code|color|noformat|panel|quote)\})[^{}\s]{0,40}\}"
            r"|\{[{%](?!-?\s?(?:/|(?:end|endif|endfor|endblock|else|elif|elseif)\b)|\w+\s?(?:\s\w|\|\s?(?:\d|\w+=)))"
            rf"|<{_VARIABLE}>|(?<=⟨[^/⟩]{{1,40}}/[^/.⟩]{{0,5}}⟩|[^⟩]/[^⟩]*[/.][^/.⟩]?⟩)\[{_VARIABLE}\])",
            regex.IGNORECASE,
        ),
        "⟦ark:/12148/bpt6k107371t⟧/f{n}.highres and ark:/67531/metadc{id} and ark:/67531/x5<id>",
        "⟦ark:/67531/metadc107835⟧{.class} and ⟦ark:/67531/metadc107835⟧[no]",
        source="public programs for Gallica (https://gallica.bnf.fr/ark:/12148/{ark}/f{page})",
    ),
    Ending(
        "range, list or number of a part",
        Effect.NO_ARK,
        re.compile(
            rf"(?<=[/.][a-z])⟩(?:##|\((?i:{_VARIABLE})\)|\[[0-9]+-)|⟩#{{4}}|⟩\([\w.-]{{1,80}}\|[\w.|-]{{1,80}}\)"
        ),
        "⟦ark:/21547/x5tk8⟧/f(1|2) and ark:/21547/x5tk(8|9) and ⟦ark:/21547/x5tk9⟧/f[1-20].jpeg",
        "⟦ark:/21547/x5tk7⟧[3-5] and ⟦ark:/21547/x5tk6⟧(2)",
    ),
    Ending(
        "regular expression",
        Effect.NO_ARK,
        re.compile(r"⟩(?:\((?:\?[:P<]|\[|\\|\.[*+])|\[\^?(?:0-9|[A-Za-z]-[A-Za-z]|\\[dw])|\\[dw][+*{\[\\])"),
        "re.search('ark:/53355/cl([0-9]+)') and ark:/88435/dc[0-9]{6} and ark:/88435/dc\\d+",
        "⟦ark:/67531/metadc107835⟧[3] and ⟦ark:/67531/metadc107836⟧(2)",
        source='public programs for Gallica (re.search(r"ark:/12148/(cc[0-9a-z]+)"))',
    ),
    Ending(
        "beginning of names",
        Effect.NO_ARK,
        regex.compile(
            r"(?<!\*(?:\S*/)?ark:/*)⟨[^/⟩]{1,40}/(?:[^/⟩]{0,5}|[^/0-9⟩]*)(?:\*+⟩|⟩(?:\.?\*|%(?=[\"'])"
            rf"|[\"']\s?(?:{_OPERATOR}\s?[A-Za-z$_@(]|,\s?(?:[?$@]|\w+\())))|⟨[^/⟩]{{1,40}}/[^/⟩]+⟩\?{{4}}"
        ),
        "'ark:/53355/cla*' and 'ark:/53355/clb%' and \"ark:/67531/cb\" + number and ark:/53355/cl0100?????",
        "'⟦ark:/53355/clb⟧'",
        source="public programs that join identifiers of Wikidata (P268) to https://catalogue.bnf.fr/ark:/12148/cb",
    ),
    Ending(
        "text of a query",
        Effect.NO_ARK,
        re.compile(r"⟨[^/⟩]{1,40}/%(?:25)*(?:2[0-2789]|3[CE]|7[BD])", re.IGNORECASE),
        "?q=ark:67531/%28dc.subject+all",
        "?q=⟦ark:67531/dc.subject+all⟧",
    ),
    Ending(
        "text shortened in its middle",
        Effect.NO_ARK,
        re.compile(r"\.{3}(?=[^⟩.])"),
        "https://collections.louvre.fr/ark:/53355/cl01...ge/12",
        "⟦https://collections.louvre.fr/ark:/53355/cl01..ge/12⟧",
    ),
    Ending(
        "footnote of AsciiDoc",
        Effect.ENDS_BEFORE,
        re.compile(r"(?<=[0-9A-Za-z])footnote(?:ref)?⟩:\["),
        "see ⟦ark:/67531/metadc107835⟧footnote:[12 leaves]",
        "see ⟦ark:/67531/metadc107835footnote⟧ there",
        source="AsciiDoc Language Documentation, footnote macro",
        reason=Reason.ATTACHED_WORD_REMOVED,
        applies_to=is_text,
    ),
    Ending(
        "star of a note",
        Effect.ENDS_BEFORE,
        re.compile(r"(?<!\*)\*+[./:,!-]{0,9}⟩"),
        "see ⟦ark:/67531/metadc107835⟧* there",
        "see ⟦ark:/67531/metadc1*07835⟧ there",
        reason=Reason.MARKUP_AT_END,
        applies_to=is_text,
    ),
    Ending(
        "next sentence without a blank",
        Effect.ENDS_BEFORE,
        regex.compile(rf"\.(?=[A-Z][a-z]+⟩)(?<={_PROSE_OR_HEADING}[^/⟩]{{1,40}}/[^⟩]*[0-9][^⟩]*\.)"),
        "see ⟦ark:/67531/metadc107835⟧.The map",
        "see ⟦ark:/67531/metadc107835.pdf⟧ there",
        reason=Reason.ATTACHED_WORD_REMOVED,
        applies_to=is_text,
    ),
    Ending(
        "suffix after a colon",
        Effect.ENDS_BEFORE,
        regex.compile(rf":(?=\p{{Ll}}{{1,4}}⟩)(?<={_PROSE}[^/⟩]{{1,40}}/(?=[^⟩]*[0-9])[^⟩]{{3,}}[0-9A-Za-z]:)"),
        "osoitteessa ⟦ark:/21547/x5tk9⟧:ssa",
        "osoitteessa ⟦ark:/21547/x5tk9:ssass⟧",
        reason=Reason.ATTACHED_WORD_REMOVED,
        applies_to=is_text,
    ),
    Ending(
        "digits of a note at a valid name",
        Effect.LIKELY,
        regex.compile(rf"(?=[0-9]{{1,3}}⟩)(?<={_PROSE_OR_HEADING}[^⟩]+)"),
        "see ⟦ark:/12148/bpt6k107371t16⟧ there",
        "id,⟦ark:/12148/bpt6k107371t16⟧,x",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
        needs_check=True,
    ),
    Ending(
        "capitalized word at a name",
        Effect.LIKELY,
        regex.compile(r"(?=[A-Z][a-z]{2,}⟩)(?<=⟨[^/⟩]{1,40}/(?:(?=[a-z]*[0-9])[0-9a-z]{4,}|[^/.⟩]{3,}[0-9]))"),
        "⟦ark:/21198/z1r7mb64Voir⟧ la suite",
        "⟦ark:/21198/z1r7mb64Vo⟧ la suite",
        source="labelled corpus, tables of plain text",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
    ),
    Ending(
        "capitals at a name in small letters",
        Effect.LIKELY,
        regex.compile(r"(?<![A-Z])(?=[A-Z]{3,}⟩)(?<=⟨[^/⟩]{1,40}/(?=[a-z]*[0-9])[0-9a-z]{4,})"),
        "⟦ark:/21198/z1r7mb64ISBN⟧ 978",
        "⟦ark:/21198/Z1R7MB64ISBN⟧ 978",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
    ),
    Ending(
        "word after a hyphen",
        Effect.LIKELY,
        regex.compile(
            r"-(?=[a-z]{3,}⟩)(?<=⟨[^/⟩]{1,40}/(?=[a-z]*[0-9])[0-9a-z]{4,}-)"
            rf"|-(?=\p{{Lu}}?\p{{Ll}}+⟩)(?<={_PROSE}[^/⟩]{{1,40}}/(?=[^⟩]*[0-9])[^⟩]{{3,}}[0-9A-Za-z]-)"
        ),
        "the ⟦ark:/67531/metapth304825-based⟧ viewer",
        "the ⟦ark:/67531/uva-lib⟧ viewer",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
    ),
    Ending(
        "capitalized word after a full stop",
        Effect.LIKELY,
        regex.compile(r"\.(?=[A-Z][a-z]+⟩)(?<=⟨[^/⟩]{1,40}/[^⟩]*[0-9][^⟩]*\.)"),
        "| ⟦ark:/67531/metadc107838.See⟧ |",
        "| ⟦ark:/67531/metadc107838.see⟧ |",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
    ),
    Ending(
        "number after a full stop",
        Effect.LIKELY,
        regex.compile(
            rf"\.(?={_NUMBER_OF_NOTE}{_NEXT_SENTENCE})|\.(?={_NUMBER_OF_NOTE}(?:\f|\s*\n\s*\n|\s*\Z))(?<={_PROSE}[^⟩]*\.)"
        ),
        "described in ⟦ark:/13030/kttzswwssm.1⟧ It was rebound",
        "described in ⟦ark:/13030/kttzswwssm.1⟧ and elsewhere",
        reason=Reason.ATTACHED_WORD_KEPT,
        applies_to=is_text,
    ),
    Ending(
        "number after a colon",
        Effect.LIKELY,
        regex.compile(r":(?=[0-9])(?<=⟨(?:[^⟩]*[0-9A-Za-z]{4}|[^/⟩]{1,40}/[^⟩]*/[^⟩]*):)"),
        "⟦ark:/67531/metadc107835:12⟧ there",
        "⟦ark:/61903/1:1:KX9W-TM2⟧ there",
        reason=Reason.NUMBER_AFTER_COLON,
    ),
    Ending(
        "mark of markup at the end",
        Effect.LIKELY,
        re.compile(r"(?<![*_~$=@+])[*_~$=@+]+⟩"),
        "see ⟦ark:/67531/metadc107835=⟧ there",
        "see _⟦ark:/67531/metadc107835⟧_ there",
        reason=Reason.MARKUP_AT_END,
        applies_to=is_text,
    ),
    Ending(
        "dash of two hyphens",
        Effect.LIKELY,
        regex.compile(r"-{2,3}(?=\p{L}{2,}⟩)(?<=⟨[^/⟩]{1,40}/[^⟩]*[\p{L}\p{Nd}]-{2,3})"),
        "It is ⟦ark:/67531/metadc2846--and⟧ so on",
        "It is ⟦ark:/12345/x54--xz32-1⟧ here",
        reason=Reason.HYPHENS_FOR_DASH,
        applies_to=is_text,
    ),
    Ending(
        "slash before the next cell of a row",
        Effect.LIKELY,
        re.compile(r"⟩/[ \t]+[0-9]{1,5}\s*(?:\n|\Z)"),
        "⟦https://n2t.net/ark:/67531/metadc107835⟧/ 12\nf2.plan",
        "⟦https://n2t.net/ark:/67531/metadc107835⟧/ 12 maps\nf2.plan",
        source="html2text, tables with a column of numbers",
        reason=Reason.ENDS_AT_UNIT_END,
        applies_to=is_text,
    ),
    Ending(
        "hyphen before a blank",
        Effect.LIKELY,
        re.compile("⟩- "),
        "see ⟦ark:/67531/metadc107⟧- 835 here",
        "see ⟦ark:/67531/metadc107⟧ - 835 here",
        reason=Reason.HYPHEN_AT_END,
        applies_to=is_text,
    ),
    Ending(
        "string joined to more",
        Effect.LIKELY,
        re.compile(
            rf"⟩[-./:]?[\"'](?:\s?{_OPERATOR}\s?[A-Za-z$_@(]|,\s?(?:[?$@]|\w+\()|[\s+.&\\|_]{{1,80}}[A-Za-z]{{0,2}}[\"']"
            r"(?!https?:|ark:)[\w/.=&~-]|,\s{0,80}[\"'](?!(?:1\d|20)\d\d[\"'])(?=[^\"']*[0-9])[0-9a-z/.=_-]{1,80}[\"'])"
        ),
        "url = '⟦ark:/67531/metadc1078⟧' + page",
        "url = '⟦ark:/67531/metadc1078⟧'; page",
        reason=Reason.STRING_LITERALS,
    ),
    Ending(
        "unusual NAAN",
        Effect.LIKELY,
        re.compile(r"⟨(?!(?:[0-9]-*){5}/)"),
        "⟦ark:/b5060/d8rz4q⟧ there",
        "⟦ark:/15060/d8rz4q⟧ there",
        source="NAAN registry: all have five digits",
        reason=Reason.UNUSUAL_NAAN,
    ),
    Ending(
        "name without all its characters",
        Effect.LIKELY,
        re.compile(
            r"⟨(?:[^/⟩]{1,40}/(?:[0-9]?[0-9a-f]{8}-[0-9a-f]{4}-(?:[0-9a-f]{4}-){0,2}[0-9a-f]{0,11}|[0-9]:[0-9]:[0-9A-Z]{1,4})"
            r"|67375/[0-9A-Z]{1,3}(?:-?[0-9A-Z]{1,8}-?)?)(?=[/.⟩])"
        ),
        "⟦ark:/65665/39ff155e-091a-46⟧ 91-a50d",
        "⟦ark:/65665/39ff155e-091a-4691-a50d-935b5110ec8b⟧",
        source="names of the Smithsonian (UUIDs), FamilySearch and INIST",
        reason=Reason.INCOMPLETE_NAME,
    ),
    Ending(
        "short name or path of a port",
        Effect.LIKELY,
        regex.compile(
            r"(?<=(?:^|[^/])(?i:ark):/*)⟨[^/⟩]{1,40}/(?:[0-9]{1,3}|[^\W\d_]{1,3})⟩|(?<=(?:^|[^/])(?i:ark):)⟨[0-9]{5}/"
            r"(?:(?=[b-df-hj-np-tv-xz]*[aeiouy])[a-z]{2,}|[0-9]+(?:00|=[0-9]+))[/.⟩]"
        ),
        "scrape ⟦ark:19090/metrics⟧",
        "⟦https://n2t.net/ark:/27015/u5⟧",
        reason=Reason.SHORT_NAME,
        applies_to=is_text_or_data,
    ),
)


#: Characters of an ARK, and those after it, to which no row applies but that about digits. Most ARKs are so.
_PLAIN = re.compile(
    r"""
    (?! 67375/ | .* (?: [xX]{3} | [nN]{3} | [XN]{2} | __ | /_ | \.[A-Z0-9] | [A-Z](?:[a-z]{2,}|[A-Z]{2})\Z | footnote ) )
    [0-9]{5} /
    (?: [0-9]?[0-9a-f]{8} - (?: [0-9a-f]{4} - ){3} [0-9a-f]{12} (?! [0-9A-Za-z-] )
      | (?= [0-9=~+_]* [A-Za-z] ) (?= [A-Za-z=~+_]* [0-9] ) [0-9A-Za-z=~+_]{5,}
    )
    (?: [/.] [0-9A-Za-z=~+_]+ )* (?<= [0-9A-Za-z] ) \Z
    """,
    re.VERBOSE,
)
_PLAIN_BEHIND = re.compile(r"\.?(?:[\s,;)\]>|`}]|\Z)")


def is_plain(chars: str, text: str, end: int) -> bool:
    """Return True if no row, except that about digits, applies to the *chars* of an ARK, which end at *end* of *text*.

    >>> is_plain("12148/btv1b84/f1.item", "", 0), is_plain("12148/xxxxx", "", 0), is_plain("12148/btv1b8", "{id}", 0)
    (True, False, False)
    """
    return _PLAIN.match(chars) is not None and _PLAIN_BEHIND.match(text, end) is not None


def may_end_in_digits(ark: Ark, check: CheckCharacter) -> bool:
    """Return True if digits at the end of *ark* may be the number of a footnote directly after its name.

    This is known only for names with check characters; *check* is the result for *ark*.
    """
    return check in (CheckCharacter.PASSES, CheckCharacter.FAILS) and not ark.qualifier and ark.name[-1].isdigit()


def row_at_sign(block: Block, text: str, pos: int) -> tuple[Ending, int] | None:
    """Return the first row of `SIGNS` that matches at *pos*, and the offset after its match; None if no row matches.

    *text* is the repaired text of *block*.
    """
    for row in SIGNS:
        if (match := row.pattern.match(text, pos)) and row.applies_to(block):
            return row, match.end()
    return None


def start_of_no_ark(block: Block, text: str, start: int) -> int | None:
    """Return the offset in *text* where the first row of `ENDINGS` with the effect `NO_ARK` matches, or None.

    In *text*, ``⟨`` at *start* and ``⟩`` enclose the ARK. A match must begin in the ARK or directly after it.
    """
    mark_end = text.index("⟩", start)
    for row in ENDINGS:
        if row.effect is Effect.NO_ARK and row.applies_to(block):
            match = row.pattern.search(text, start)
            if match and match.start() <= mark_end:
                return int(match.start())
    return None


def ends_and_doubts(
    block: Block, text: str, start: int, ark: Ark, zones: Zones
) -> Iterator[tuple[Ending, int, Ark | None, bool]]:
    """Yield the rows that end *ark* or make it doubtful, each as a tuple; the first mark of the marked *text* is at *start*.

    After the row, the tuple has the number of the ARK's characters before the match. Then come the shorter ARK that they
    form (None if they form none), and True if *ark* ends with them.
    """
    ark_start, mark_end = start + 1, text.index("⟩", start)
    for row in ENDINGS:
        if row.effect is Effect.NO_ARK or not row.applies_to(block):
            continue
        for match in islice(row.pattern.finditer(text, start), _MOST_MATCHES):
            match_start = match.start()
            if match_start > mark_end:
                break
            shorter_ark = ark_of(f"ark:{text[ark_start:match_start]}") if ark_start < match_start < mark_end else None
            is_end = (None if row.needs_check else False) if shorter_ark is None else row.ends(ark, shorter_ark, zones)
            if is_end is not None:
                yield row, match_start - ark_start, shorter_ark, is_end
