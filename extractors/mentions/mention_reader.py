"""Read a mention forward from its label, over line wraps if the evidence supports it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

import regex

from extractors.mentions.gaps import ArkBuilder, Gaps, Notes, mapped_ark
from extractors.mentions.mention import Mention, NamespaceMention, is_cut_from
from extractors.mentions.open_ends import may_go_on_below
from extractors.mentions.resolvers import WrittenResolver, resolver_before
from extractors.model.ark import BETANUMERIC, Ark, Remark
from extractors.model.check_characters import CheckCharacter, Zones, lower_case_form
from extractors.model.documents import Block, Role
from extractors.model.normalize import NotAnArk
from extractors.model.offset_map import ODD_BLANK, PARAGRAPH, RIGHT_TO_LEFT, UNSPACED, WRAP, OffsetMap
from extractors.wraps.evidence import FILE_SUFFIXES, Evidence, dotted_form
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import OTHER_SCRIPT, SHORTEST_CHECKED, Confidence, WrapDecision, ark_of, may_be_rest

#: The place where a word may be glued to a name: ``bpt6k83669192Letters``, ``bpt6k83669192_f1``.
_GLUED_WORD = re.compile(r"[-A-Z_~*=+@:$%](?<=[0-9a-z].)(?:(?<=[A-Z])(?=[a-z])|(?<=-)(?=[A-Z][a-z])|(?<![-A-Z]))")
#: A word of a language with a name in it: ``s6x5nsjq-Seite``, ``s6x5nsjq-based``; in Hungarian and Basque, Finnish and
#: Swedish, a name with a suffix: ``s6x5nsjq-ban``, ``s6x5nsjq:n``.
COMPOUND = regex.compile(
    r"(?P<stem>(?=[a-z]*[0-9])[0-9a-z]{4,})-(?:(?P<noun>[A-Z])[a-z]{2,}|[a-z]{3,})"
    r"|(?P<stem>(?=.*[0-9]).{3,}[0-9A-Za-z])(?P<sign>-(?=\p{Lu}?\p{Ll}+\Z)|:(?=\p{Ll}{1,4}\Z))\p{L}+"
)
_WORD_AT_END = re.compile(r"(?P<stem>(?=[a-z]*[0-9])[0-9a-z]{4,}|.{3,}[0-9])[A-Z][a-z]{2,}")
#: All NAANs of the registry have five digits; the draft allows more, and betanumeric ones (2.3).
_NAAN = re.compile(rf"(?!\d{{4}}-\d\d-\d\d\Z)(?=[a-z]*[0-9])(?:[{BETANUMERIC}]-*){{5,16}}\Z", re.IGNORECASE)
_RUN = re.compile(r"(?:[0-9A-Za-z=~*+@_./-]|\$(?!\$[0-9a-z]))+")  # "$$2" begins a subfield of Aleph
_ENCODED_RUN = re.compile(r"(?:[0-9A-Za-z=~*@_.-]|\$(?!\$[0-9a-z]))+")
_RUN_WITHOUT_DOLLAR = re.compile(r"[0-9A-Za-z=~*+@_./-]+")
#: The sign of a MARC subfield before an ARK: ``$uhttps://…/ark:/…$yNotice``, or of a field: ``42$zSee …``.
_SUBFIELD = re.compile(r"(?:[$‡ǂ|][0-9a-z] ?(?:\([^()$]*\))?|(?<!\S)[0-9\\#_]{2}[$‡ǂ][0-9a-z][^\n]{1,200})\Z")
_SUBFIELD_CHARS = 210
#: Between two literals of one string, on two lines or joined: ``"ark:/12148/bpt6k10" + "7371t"``.
_LITERALS = re.compile(r"([\"'])(?P<between>[ \n+.,&\\_|]{1,40})(?:[fFrRuUbB]{1,2}(?=[\"']))?\1(?=[\w/.=&~-])")
#: The beginning of a call that joins its arguments: R, SQL, spreadsheets.
_JOINING_CALL = re.compile(r"(?:paste0|str_c|concat|concatenate)\(\s{0,40}[\"'][^\"'\n]{0,200}\Z", re.IGNORECASE)
_CALL_CHARS = 260
_NEXT_LITERAL = re.compile(r"([\"'])\s{0,80},\s{0,80}\1(?P<next>[^\"'\n]{1,80})")
_NAME_CHAR = regex.compile(r"[\p{L}\p{M}\p{Nd}--\p{Lm}]", regex.VERSION1)
#: Scripts without blanks between words: their letters after an ASCII name belong to the sentence.
_UNSPACED = regex.compile(UNSPACED)
#: The first character of a quote, a dash or a no-break space, in UTF-8 that was decoded as another encoding: ``â€™``.
_WRONGLY_DECODED = re.compile(f"â[€\x80]|Â[\x80-\xbf {ODD_BLANK}]")
#: A letter that counts as zero in check characters, where a zero may be meant.
LETTER_FOR_ZERO = re.compile("[oOD](?:(?<=[0-9].)|(?=[0-9]))")
#: A name that a word ``ark`` before a colon has, too: a port and its protocol, a number of sheets.
SHORT_NAME = re.compile(r"[0-9]{1,3}|[^\W\d_]{1,3}")
#: The path behind a host and its port, ``ark:19090/metrics``, or numbers: ``ark:15000/20000``.
PORT_PATH = re.compile(r"[0-9]{5}/(?:(?=[b-df-hj-np-tv-xz]*[aeiouy])[a-z]{2,}|[0-9]+(?:00|=[0-9]+))(?:[/.]|\Z)")
#: The first word of the next sentence without a blank before it, ``metadc107835.See``, or the number of a footnote after
#: the full stop: ``x5.12 Then``.
GLUED_SENTENCE = re.compile(r"\.(?:[A-Z][a-z]+|(?P<number>[0-9]{1,3}(?:-[0-9]{1,3})?))\Z")
#: The number of a footnote after a zero-width space; several are possible line breaks.
_SPACED_MARK = re.compile("(?P<name>[^\\u200b]*[0-9A-Za-z])\\u200b[0-9]{1,3}\\Z")
_NEXT_SENTENCE = regex.compile(r"(?:,[0-9]{1,3})*[ \n][\p{Ps}\p{Pi}\"']?\p{Lu}|\f|[ \n]*\Z")
_PROSE_BEFORE = regex.compile(r"\p{L}\p{Ll},?[ \n]\Z")
#: A dash in typewriting, e-mail and TeX, before a word.
_TYPEWRITTEN_DASH = regex.compile(r"(?<=[\p{L}\p{Nd}])-{2,3}\p{L}{2,}\Z")
#: A UUID (the Smithsonian writes a digit before it) or a name of FamilySearch or INIST with too few characters.
INCOMPLETE_NAME = re.compile(
    r"[^/]*/(?:[0-9]?[0-9a-f]{8}-[0-9a-f]{4}-(?:[0-9a-f]{4}-){0,2}[0-9a-f]{0,11}|[0-9]:[0-9]:[0-9A-Z]{1,4})(?=[/.]|\Z)"
    r"|67375/[0-9A-Z]{1,3}(?:-?[0-9A-Z]{1,8}-?)?(?=[/.]|\Z)"
)
_ESCAPE = re.compile(r"%(?:25)*[0-9A-Fa-f]{2}")
_ENCODED_SLASH = re.compile(r"[0-9]{5}%(?:25)*2[Ff]")
#: A height of IIIF, after a comma.
_WIDTH = re.compile("[0-9]{1,6}/")
_INFLECTION = re.compile(r"\?info(?![\w=&%])|\?\?(?!\?)")
_BARE_INFLECTION = re.compile(r"\?(?=\Z|#)")
_FRAGMENT = regex.compile(rf"(?:\?[^\s{ODD_BLANK}#<>\"]*)?#(?P<fragment>[^\s{ODD_BLANK}<>\"”»]*)")
_ELLIPSIS = re.compile(r"\[?(?:\.{3}|…)")
#: Signs after a letter that represent its number: ``f***``, ``f___``, ``f…``.
_WILDCARDS = re.compile(r"\*\*|___|\?{3}|\[?(?:\.{3}|…)")
#: A shortened text: ``ark:/53355/cl01...ge/12``.
_SHORTENED = re.compile(r"\.{3}|…")
#: File types that JabRef writes after a colon.
_FILE_TYPE = re.compile(r"(?:URL|PDF|PostScript|HTML)(?![\w-])")
#: More characters before a colon than in a FamilySearch name, such as ``1:1:``.
_LONG_PART = re.compile(r"[0-9A-Za-z]{4}\Z")
_NEXT_IDENTIFIER = re.compile(r"ark:|https?:", re.IGNORECASE)
_BRACKETED = re.compile(rf"(?:[^\s<>\"]*+{WRAP}){{1,3}}+[^\s<>\"]*+>")
_WRAP_AHEAD = re.compile(rf"-?{WRAP}")
_LEADS_TO_LABEL = regex.compile(r"(?:(?<![\p{L}\p{N}])ark|https?)\Z", regex.IGNORECASE)
_GLUED_LABEL = re.compile(r"/?[0-9]{5}/")
#: A placeholder instead of a name: ``xxxxx``, ``xxx-xxxxxxxx-x``, ``cbxxxx``, ``bbxxxxxx23``, ``ARKCODE``,
#: ``arkName``, ``your-id``; also after a type of FamilySearch; or the protocol of a port: ``ark:27015/udp``.
_PLACEHOLDER = re.compile(
    r"/(?:[0-9]:[0-9]:)?(?:[xX]{3,}(?:-[xX]+)*|[nN]{4,}|[0-9a-z]{1,8}(?:x{4,}|X{4,}|N{4,})[0-9]{0,3}|(?:[A-Za-z]{1,6}[_-]?)?(?:ARK|ID|NAME|CODE|NOID|IDENTIFIER)(?:[_-]?[A-Z]{2,10})?"
    r"|(?:ark|your|my|the|some|base)?[_-]?(?:[Nn]ame|[Ii][dD]|[Cc]ode|[Ii]dentifier)|(?:your|my)[_-][A-Za-z_-]+|ark[_-]id"
    r"|[Nn]om(?:e|bre)?|[Ii]dentifi(?:ant|cador|cativo)|[Kk]ennung|[Nn]aam|(?:tc|ud)p[46]?)(?=[/.]|\Z)"
)
_VARIABLE_NAME = r"(?:\w+[_-])?(?:id|i|n|x|no|nr|num|number|name|page|folio|vue|view|ark|noid|code|identifier)"
#: A variable of a program or template: ``/$key``, ``f$id``, ``btv1b$1``, ``f%03d``, ``/:id``, ``/*id``, ``/@@id@@``,
#: ``/_ID_``, ``f***``, ``fNNN``, ``.*rest``. ``$`` is a character of ARKs, too: ``x5$b``. The pattern begins with the
#: signs, to which `re` skips fast.
VARIABLE = re.compile(
    r"[*_XNxn$%:@](?:(?<=\*)\*|(?<=\.\*)(?=[0-9A-Za-z])|(?<=_)__|(?<=[/.][a-z].)(?:(?<=[XN])[XN]+|(?<=[xn])[xn]{2,})(?![0-9A-Za-z])|"
    rf"(?<=[/.]\$)[A-Za-z_]\w*|(?<=\$)(?:{_VARIABLE_NAME}\b|[0-9]\Z)|(?<=%)(?:0[0-9]?)?[sdi](?![0-9A-Za-z])"
    r"|(?<=/.)(?:(?<=[:*])[A-Za-z]\w*|(?<=@)@*[A-Za-z]\w*@*|(?<=_)[A-Z_]+_)(?=[/.]|\Z))"
)
#: A variable in brackets: ``{n}``, ``${i}``, ``{{ id }}``, ``<id>``, ``[id]``, ``%(name)s``,
#: ``{:08}``, ``f(n)``, ``f##``, ``f[1-20]`` of cURL, ``(8|9)``; ``{.class}`` and ``{: .class}`` are Markdown, and
#: ``{code}``, ``{{/code}}`` and ``{% endif %}`` end markup; ``{{dead link}}`` and ``{{sup|3}}`` are templates of wikis.
_VARIABLE_AFTER = re.compile(
    rf"[$#]?\{{(?![.#/]|:[ .#]|(?:code|color|noformat|panel|quote)\}})[^{{}}\s]{{0,40}}\}}"
    rf"|\{{[{{%](?!-?\s?(?:/|(?:end|endif|endfor|endblock|else|elif|elseif)\b)|\w+\s?(?:\s\w|\|\s?(?:\d|\w+=)))|<{_VARIABLE_NAME}>|\[{_VARIABLE_NAME}\]|(?<=%)\("
    rf"|(?<=[/.][a-z])(?:##|\({_VARIABLE_NAME}\)|\[[0-9]+-)|\#{{4}}|\([\w.-]{{1,80}}\|[\w.|-]{{1,80}}\)",
    re.IGNORECASE,
)
#: A regular expression that continues after the name: ``ark:/53355/cl([0-9]+)``, ``ark:/12148/(.*)``,
#: ``ark:/88435/dc[0-9]{6}``, ``ark:/88435/dc\d+``; ``[3]`` and ``[3-5]`` are notes.
_EXPRESSION = re.compile(r"\((?:\?[:P<]|\[|\\|\.[*+])|\[\^?(?:0-9|[A-Za-z]-[A-Za-z]|\\[dw])|\\[dw][+*{\[\\]")
#: Signs that the rest of a name varies: ``cl*``, ``cl.*``, ``'cl%'`` of SQL, ``cl01?????``, ``"cl" + number``,
#: ``'cl', ?id`` of SPARQL, ``'cl', lpad(…)``.
REST_VARIES = re.compile(r"\.?\*|%(?=[\"'])|\?{4}|[\"']\s?(?:(?:[+&.]|\|\||\.\.)\s?[A-Za-z$_@(]|,\s?(?:[?$@]|\w+\())")
#: The longest name before a star that is a pattern, whatever characters it has.
_LONGEST_STEM = 5
#: A name without a letter or digit is a piece of a query or of a pattern: ``ark:12148/+``, ``ark:12148/*``.
_SOME_NAME = regex.compile(r"[\p{L}\p{N}]")
#: The same for a name that begins with an escaped bracket, quote or blank: ``ark:12148/%28%28dc.subject``.
_QUERY_TEXT = re.compile(r"%(?:25)*(?:2[0-2789]|3[CE]|7[BD])", re.IGNORECASE)
#: A macro of AsciiDoc: ``metadc107835footnote:[12 leaves]``.
_FOOTNOTE_MACRO = re.compile(r"(?<=[0-9A-Za-z])footnote(?:ref)?\Z")
_BLANKS = f" {ODD_BLANK}"
_SPACED_LABEL = re.compile(rf"k[{_BLANKS}]:", re.IGNORECASE)
#: ``Ark: 1936/37`` is a ship's log.
_BLANK_BEHIND_COLON = re.compile(rf":[{_BLANKS}\n]")
_BEFORE_HOST = re.compile(r"(?://|[^\s@]@)(?:[\w-]{1,63}\.){0,4}(?:[\w-]{1,63}[.-])?\Z")
_HOST_CHARS = 100
_DIRECTIVE_BEHIND = re.compile(r"[sdi](?![0-9A-Za-z])|\(")
_QUOTES = frozenset("\"'")
_GAPS = frozenset((WRAP, " ", ODD_BLANK))
_MARKUP_RUN = "*_~$=@+"
_TAIL = "./-:,!"
#: A slash at the end of a URL, perhaps before final punctuation.
_SLASH = re.compile(r"/[.:,!]*")
_VISIBLE = re.compile("[^ \r\n\N{ZERO WIDTH SPACE}\N{WORD JOINER}]")
CONTEXT_CHARS = 60
#: A longer name with its qualifier is not an ARK: its URL would exceed `URL_LIMIT`.
MOST_NAME_CHARS = 2**13
_LONGEST_BLANK = 1000
#: Number of characters after an ARK that may affect its end: ``ark:/12345/``, ``?info``, ``https:``.
_LOOK_AHEAD = 16


class MentionReader:
    """Reads one mention from its label on."""

    def __init__(
        self, block: Block, offsets: OffsetMap, label: regex.Match[str], evidence: Evidence, linked: Mapping[int, Ark]
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
        self._url_goes_on = False
        self._slash = ""
        """The final slash of a URL, which is part of the request."""
        at = label.start()
        self._written = (
            WrittenResolver(None, at) if self._mapped else resolver_before(self._text, at, evidence.resolvers)
        )
        self._start = self._written.start
        self._is_subfield = _SUBFIELD.search(self._text, max(0, self._start - _SUBFIELD_CHARS), self._start) is not None
        self._link = block.link_at(offsets.source_offset(at))
        self._linked = linked.get(self._link) if self._link is not None else None
        self._gaps = Gaps(
            self._written_label, self._builder, block, evidence, self._notes,
            linked=self._linked, is_encoded=self._is_encoded, bracket_end=self._bracket_end(),
        )  # fmt: skip
        if self._written.repair:
            self._notes.note_repair(self._written.repair)
        if self._written.repair == "blank":
            self._notes.mark_likely(Reason.SPACE_IN_HOST)

    def _bracket_end(self) -> int:
        """Return the end of angle brackets around the URL, in which no line end has a meaning (RFC 3986, C); 0 if none."""
        is_open = self._text.endswith(("<", "<URL:"), 0, self._start)
        brackets = _BRACKETED.match(self._text, self._label.end()) if is_open else None
        return brackets.end() if brackets else 0

    @property
    def ran_out(self) -> bool:
        """True if the region ended before the ARK did, so that a longer one is needed."""
        return self._is_at_end or self._gaps.ran_out

    def read(self) -> Mention | NamespaceMention | None:
        """Return the mention at this label or a bare NAAN; None if the label is a false friend."""
        end = self._read_mapped() if self._mapped else self._read_forward(self._label.end())
        last = max(end, self._fragment_end)
        is_cut = len(self._text) - last < _LOOK_AHEAD
        self._is_at_end = is_cut or not self._text[last : last + _LONGEST_BLANK].strip(" ")  # perhaps a line end
        self._url_goes_on = self._is_encoded and re.match(r"/\w", self._text[end : end + 2]) is not None
        self._drop_tail()
        naan, slash, name = self._builder.chars.partition("/")
        if not _NAAN.match(naan):
            return None
        at = self._label.start()  # a host named ark: in http://ark:8080/ the NAAN is a port
        may_be_host = not self._label["slashes"] and not self._mapped
        if may_be_host and _BEFORE_HOST.search(self._text, max(0, at - _HOST_CHARS), at):
            return None
        if not name:
            return self._namespace(slash) if len(naan) == 5 and not self._mapped else None
        if name.startswith("/") and "\\" in self._block.text[slice(*self._source_range())]:  # s/ark:\/12148\//x/ of sed
            return None
        if not slash or self._is_template(end) or not self._has_name_before_variable(end):
            return None
        self._drop_glued_sentence()
        name = self._builder.name
        if len(name) > MOST_NAME_CHARS:
            return self._namespace(slash, is_overlong=True)
        if _QUERY_TEXT.match(name) or not _SOME_NAME.search(unquote(name.lstrip("/").partition("/")[0])):
            return self._namespace(slash)
        try:
            ark = self._read_at_seams(Ark.parse(f"ark:{naan}/{name}"))
        except NotAnArk:
            return self._namespace(slash)
        if self._zones.names_shoulder(ark):
            return self._namespace(slash)
        ark = self._without_glued_word(ark)
        if _ELLIPSIS.match(self._text, self._builder.end) and self._zones.check(ark) is not CheckCharacter.PASSES:
            shortened = self._namespace(slash) if any(map(str.isdigit, ark.name)) and self._linked is None else None
            return replace(shortened, is_shortened=True) if shortened else None
        return self._mention(ark)

    def _is_in_prose(self) -> bool:
        """Return True if a word of a sentence is directly before the mention."""
        return _PROSE_BEFORE.search(self._text, max(0, self._start - 4), self._start) is not None

    def _drop_glued_sentence(self) -> None:
        """Drop a word of the next sentence or the number of a footnote after a full stop, or note that it may be one."""
        chars, text = self._builder.chars, self._text
        glued = GLUED_SENTENCE.search(chars) if self._block.role is Role.TEXT and self._linked is None else None
        following = _NEXT_SENTENCE.match(text, self._builder.end)
        if glued is None:
            return
        has_digits = any(map(str.isdigit, self._builder.name[: -len(glued[0])]))
        if not has_digits and glued["number"] is None:
            return
        is_prose = self._is_in_prose()
        is_sentence = glued["number"] is None or bool(following and following[0].strip())
        written = self._written_label + chars
        whole = ark_of(written)
        if not (is_sentence or (is_prose and following)) or self._evidence.holds(str(whole)):
            return
        has_periods = "." in chars.removesuffix(glued[0])
        is_dotted = has_periods or (whole is not None and dotted_form(whole) in self._evidence.qualifiers)
        is_name = is_dotted if glued["number"] else glued[0][1:].lower() in FILE_SUFFIXES
        is_cut = is_prose and is_sentence and has_digits and not is_name
        if is_cut:
            self._builder.cut(len(glued[0]))
        reason = Reason.ATTACHED_WORD_REMOVED if is_cut else Reason.ATTACHED_WORD_KEPT
        otherwise = written if is_cut else written.removesuffix(glued[0])
        self._notes.is_beyond_name = True
        self._notes.note_decision(WrapDecision(not is_cut, reason, Confidence.LIKELY), otherwise=otherwise)

    def _read_at_seams(self, ark: Ark) -> Ark:
        """Return *ark*, or, if its check character fails, its part before a seam if that one's passes.

        The other parts are alternatives. One zero-width space before a number is a seam, too.
        """
        text, at, end = self._block.text, self._offsets.source_offset(self._label.start()), self._source_range()[1]
        seams = self._block.seams if self._block.page is None else ()
        seams = seams[bisect_right(seams, at) : bisect_left(seams, end)]
        if mark := _SPACED_MARK.match(text, at, end):
            seams = (*seams, mark.end("name"))
            self._notes.decisions.append(WrapDecision(True, Reason.SPACE_IN_NAME, Confidence.LIKELY))
        for seam in seams:
            part = ark_of(text[at:seam])
            fails = self._zones.check(ark) is CheckCharacter.FAILS
            if part is not None and fails and self._is_whole(f"{part.naan}/{part.name}"):
                while self._offsets.source_end(self._builder.end) > seam:
                    self._builder.cut(1)
                return part
            self._notes.note_alternative(text[at:seam])
        return ark

    def _without_glued_word(self, ark: Ark) -> Ark:
        """Return *ark* without a word glued to its name, if only the shorter name passes its check character."""
        shorter = shorter_names(ark, self._block, self._zones)
        compound = COMPOUND.fullmatch(self._builder.name) if self._block.role is Role.TEXT else None
        is_sure = False
        if compound is not None:
            stem = f"{ark.naan}/{compound['stem']}"
            read = ark_of(f"ark:{stem}")
            is_beyond_name = read is not None and read.name == ark.name  # no check character covers it
            is_whole = not is_beyond_name and self._is_whole(stem)
            may_be_suffix = self._zones.check(ark) is not CheckCharacter.PASSES or is_beyond_name
            may_be_suffix = may_be_suffix and (not compound["sign"] or self._is_in_prose())
            shorter, compound = ([read], compound) if read and (is_whole or may_be_suffix) else (shorter, None)
            is_sure = bool(compound and (is_whole or compound["noun"] or compound["sign"] == ":"))
        if not shorter or self._linked == ark or self._evidence.holds(str(ark)):
            return ark
        name = compound["stem"] if compound else shorter[0].name
        after = self._builder.name[len(name) :]
        is_word = self._builder.name.startswith(name) and _GLUED_WORD.match(name[-1] + after, 1) is not None
        if is_sure or (is_word and not compound and self._zones.check(shorter[0]) is CheckCharacter.PASSES):
            self._builder.cut(len(after))
            self._notes.note_decision(
                WrapDecision(False, Reason.ATTACHED_WORD_REMOVED, Confidence.LIKELY), otherwise=str(ark)
            )
            return shorter[0]
        self._notes.mark_likely(Reason.ATTACHED_WORD_KEPT)
        self._notes.note_alternative(str(shorter[0]))
        return ark

    # -- reading forward

    def _read_forward(self, pos: int) -> int:
        text, run = self._text, _ENCODED_RUN if self._is_encoded else _RUN
        if self._is_subfield:
            run = _RUN_WITHOUT_DOLLAR
        furthest = pos + 2 * MOST_NAME_CHARS
        while pos < min(len(text), furthest):
            plain = run.match(text, pos, furthest)
            if plain:
                end = plain.end()
                if self._offsets.changes:
                    end = self._gaps.end_at_dash(pos, end)
                self._builder.add(text[pos:end], pos, end)
                pos = end
                if end < plain.end():
                    break
                continue
            char, width = text[pos], 1
            if (
                (char in "$ǂ" and self._is_subfield)
                or text.startswith("$$", pos)
                or (char in _GAPS and self._ends_with_markup())
            ):
                break
            literals = _LITERALS.match(text, pos) if char in _QUOTES and self._block.role is Role.TEXT else None
            if literals:
                between = literals["between"].strip(" ")
                if "," in between and not _JOINING_CALL.search(text, max(0, self._start - _CALL_CHARS), self._start):
                    break
                if not self._gaps.continues_over_literals(literals.end(), between):
                    break
                pos = literals.end()
                continue
            if char in _BLANKS and self._is_spaced_colon(pos):
                self._notes.note_repair("blank before a colon")
                pos += 1
                continue
            if char in (WRAP, ODD_BLANK) or (char == " " and self._offsets.source_offset(pos) in self._block.seams):
                if char == ODD_BLANK and self._offsets.written_at(pos) == "%20" and self._is_in_qualifier():
                    self._builder.add("%20", pos, pos + 1)  # in a search or a file name
                elif not self._gaps.continues_after(pos):
                    break
                pos += 1
                continue
            if char == " " and self._gaps.continues_over_blank(pos):
                pos += 1
                continue
            if char == "%":
                escape = _ESCAPE.match(text, pos)
                char, width = (escape[0], len(escape[0])) if escape else ("%", 1)
                if self._is_encoded and escape and int(escape[0][-2:], 16) < 0x80:
                    char = unquote("%" + escape[0][-2:])
            if char in "?#":
                self._note_query(pos)
                break
            if char == ":" and self._label_begins(pos + width):
                break
            if not self._is_part_of_ark(char, pos + width, raw=width == 1):
                break
            self._builder.add(char, pos, pos + width)
            pos += width
        return pos

    def _is_part_of_ark(self, char: str, after: int, *, raw: bool) -> bool:
        """Return True if *char* is part of the ARK, given the text *after* it; not for plain characters of a name."""
        builder = self._builder
        following = self._text[after : after + 1]
        if char[0] == "%":
            return len(char) > 1 or _DIRECTIVE_BEHIND.match(self._text, after) is not None
        if raw and char in ("/", "+"):  # end an encoded ARK in another URL, where "+" is a blank
            is_label_encoded = any(end - start == 1 for chars, start, end in builder.found if chars == "/")
            is_outer = builder.has_slashes(1) and not builder.ends_with("/") if char == "/" else self._is_encoded
            return not is_outer or is_label_encoded
        if _RUN.match(char):
            return True
        if _NAME_CHAR.match(char):
            if _WRONGLY_DECODED.match(self._text, after - 1):
                return False
            is_other = _UNSPACED.match(char) or (builder.last.isalnum() and OTHER_SCRIPT.match(char))
            return not (is_other and builder.name.isascii() and bool(builder.name))
        if char == ":":
            if _WRAP_AHEAD.match(self._text, after):
                return True
            first = self._text[after + 1 : after + 2] if following == "-" else following
            if not first.isalnum() or _NEXT_IDENTIFIER.match(self._text, after) or self._is_whole_before_colon(after):
                return False
            if following.isdigit() and (builder.has_slashes(2) or _LONG_PART.search(builder.chars)):
                self._notes.mark_likely(Reason.NUMBER_AFTER_COLON)
                self._notes.note_alternative(self._written_label + builder.chars)
            return True
        if char == ",":
            return builder.has_slashes(2) and (  # regions and sizes of IIIF: 0,0,100,100/!200,200 600,/0 /,600/
                (following.isdigit() and builder.last.isdigit())
                or (builder.ends_with("/") and _WIDTH.match(self._text, after) is not None)
                or (following == "/" and builder.last.isdigit())
            )
        if char == "!":
            return following.isdigit() and builder.ends_with("/")
        return False

    def _is_in_qualifier(self) -> bool:
        """Return True if a qualifier, not a new sentence, has begun."""
        builder = self._builder
        return builder.has_slashes(2) or ("." in builder.name and not builder.ends_with("."))

    def _is_whole_before_colon(self, after: int) -> bool:
        """Return True if the name before a colon passes its check character, or a file type is *after* the colon.

        JabRef writes ``file = {ark:/12148/bpt6k107371t/f1.item:URL}``.
        """
        if self._builder.name.endswith("/pct"):  # a size of IIIF
            return False
        return self._is_whole(self._builder.chars) or _FILE_TYPE.match(self._text, after) is not None

    def _ends_with_markup(self) -> bool:
        """Return True if it ends with a mark of markup, doubled or opened before it: ``_see ark:/12148/btv1b84_``."""
        mark = self._builder.last
        if not mark or mark not in _MARKUP_RUN:
            return False
        if self._builder.ends_with(2 * mark):
            return True
        around = self._text[max(0, self._start - CONTEXT_CHARS) : self._start].rpartition(PARAGRAPH)[2]
        return re.search(rf"(?<![\w/]){re.escape(mark)}+(?=\S|\Z)", around) is not None

    def _is_spaced_colon(self, pos: int) -> bool:
        """Return True if the blank at *pos* before a colon is French typography, as it is in the label."""
        if self._text[pos + 1 : pos + 2] != ":" or not _SPACED_LABEL.search(self._label[0]):
            return False
        return self._text[pos + 2 : pos + 3].isalnum() and bool(self._builder.name)

    def _label_begins(self, after: int) -> bool:
        """Return True if the last characters read begin another label or URL; they are then removed."""
        builder = self._builder
        leads = _LEADS_TO_LABEL.search(builder.found[-1][0]) if builder.found else None
        if builder.chars[-3:].lower() == "ark" and builder.name[3:] and _GLUED_LABEL.match(self._text, after):
            builder.cut(3)
        elif leads and (leads[0].lower() == "ark" or self._text.startswith("//", after)):
            builder.cut(len(leads[0]))
        else:
            return False
        builder.strip(_MARKUP_RUN)
        return True

    def _note_query(self, pos: int) -> None:
        """Note an inflection and a fragment; any other query is not part of the ARK."""
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

    def _read_mapped(self) -> int:
        """Read an ARK mapped to a file name; return its end."""
        is_file_name = self._mapped == "_"
        self._builder.found = mapped_ark(self._text, self._label.end(), is_file_name=is_file_name)
        self._written_label = "ark:/"
        self._notes.note_repair("file name" if is_file_name else "pairtree")
        self._notes.mark_likely(Reason.FILE_NAME)
        return self._builder.end if self._builder.found else int(self._label.end())

    # -- the result

    def _drop_tail(self) -> None:
        """Drop characters of the surrounding prose: final punctuation, and markup that was opened before."""
        chars = self._builder.chars
        name = chars.rstrip(_TAIL)
        if "/" in name and self._is_urls_slash(chars[len(name) :]):
            is_target = self._block.role is Role.LINK_TARGET
            if surplus := len(chars) - len(name) - is_target:
                self._builder.cut(surplus)
            self._slash = "" if is_target else "/"  # in a text it may be punctuation, not a part of the ARK
            return
        self._builder.strip(_TAIL)
        macro = _FOOTNOTE_MACRO.search(chars)
        if macro and self._text.startswith(":[", self._builder.end):
            self._builder.cut(len(macro[0]))
        if self._ends_with_markup():
            self._builder.strip(_TAIL + self._builder.last)
        elif self._builder.last == "*" and self._block.role is Role.TEXT:  # of a note
            starred = self._written_label + self._builder.chars
            self._builder.strip(_TAIL + "*")
            self._notes.note_decision(WrapDecision(False, Reason.MARKUP_AT_END, Confidence.LIKELY), otherwise=starred)
            self._notes.is_beyond_name |= self._builder.has_slashes(2)

    def _is_urls_slash(self, tail: str) -> bool:
        """Return True if *tail* begins with the final slash of a URL or link target, which is requested with it.

        The slash doesn't change the ARK (2023, 4.1), but some resolvers need it.
        """
        is_url = self._written.url is not None or self._block.role is Role.LINK_TARGET
        after = self._text[self._builder.end : self._builder.end + 1]
        return is_url and _SLASH.fullmatch(tail) is not None and after not in ("{", "<", "[", "(", "%", "$")

    def _is_template(self, end: int) -> bool:
        """Return True if a placeholder replaces the name: ``ark:/67531/{id}``, ``ark:/12148/xxxxx``."""
        chars = self._builder.chars
        opened = self._text[end : end + 1] in ("{", "<", "[") and chars[-1] in "/="
        if _EXPRESSION.match(self._text, end) or self._is_pattern():
            return True
        return opened or is_placeholder(chars)

    def _has_name_before_variable(self, end: int) -> bool:
        """Return True if a whole name is before a variable; the part that contains the variable is removed.

        ``bpt6k107371t/f{n}.highres`` has one, ``bpt6k{id}`` and ``btv1b[...]`` have none.
        """
        chars = self._builder.chars
        if self._linked is not None and (_SHORTENED.search(chars) or _ELLIPSIS.match(self._text, end)):
            return False  # the citation is in the link's target
        inside = VARIABLE.search(chars, chars.find("/") + 1) or _SHORTENED.search(chars)
        tail = self._text[self._builder.end : end]
        if chars[-2] in "/." and chars[-1].isalpha() and _WILDCARDS.match(self._text, self._builder.end):
            inside = None
        elif inside is None:
            variable = _VARIABLE_AFTER.match(self._text, end)
            if variable is None or "/" in tail or "." in tail or (variable[0][0] == "[" and self._is_some_name(chars)):
                return True
        stem = chars[: inside.start()] if inside else chars.rstrip("$#%")
        cut = max(stem.rfind("/"), stem.rfind("."))
        if cut > chars.find("/"):
            stem = stem[:cut]
        elif not self._is_whole(stem):
            return False
        self._builder.cut(len(chars) - len(stem))
        return True

    def _is_some_name(self, chars: str) -> bool:
        """Return True if *chars* end with a word or a long name; a text of a link may be in brackets after it."""
        part = re.split("[/.]", chars)[-1]
        return len(part) > (1 if self._is_in_qualifier() else _LONGEST_STEM)

    def _is_whole(self, chars: str) -> bool:
        """Return True if *chars*, NAAN and name, have a passing check character."""
        read = ark_of(f"ark:{chars}")
        return (
            read is not None and len(read.name) >= SHORTEST_CHECKED and self._zones.check(read) is CheckCharacter.PASSES
        )

    def _is_pattern(self) -> bool:
        """Return True if a star or a variable after a few letters means all names with that beginning."""
        name, varies = self._builder.name, REST_VARIES.match(self._text, self._builder.end)
        stem = name.rstrip("*")
        start = self._offsets.source_offset(self._start)
        if not (stem != name or varies) or "/" in stem or self._block.text.endswith("*", 0, start):
            return False
        is_short = len(stem) <= _LONGEST_STEM or not any(map(str.isdigit, stem))
        return is_short or (varies is not None and varies[0][0] == "?")

    def _namespace(self, slash: str, *, is_overlong: bool = False) -> NamespaceMention | None:
        if not slash and not self._label["slashes"] and self._block.role is not Role.TEXT:
            return None
        start, end = self._source_range()
        shown = min(end, start + CONTEXT_CHARS) if is_overlong else end
        text, context = self._block.text[start:shown], self._block.context(start, shown)
        return NamespaceMention(text, (start, end), context, is_overlong=is_overlong)

    def _mention(self, ark: Ark) -> Mention:
        block, notes = self._block, self._notes
        start, end = self._source_range()
        label = self._label[0]
        for repair, is_made in (
            ("line wrap", WRAP in label),
            ("blank in the label", " " in label or ODD_BLANK in label),
            ("percent-encoding", self._is_encoded),
        ):
            if is_made:
                notes.note_repair(repair)
        if self._offsets.changes:
            for repair in self._offsets.repairs(self._start, self._builder.end):
                notes.note_repair(repair)
        chars = self._builder.chars
        is_page = block.page is not None and block.role is Role.TEXT  # other blocks are single values
        self._note_uncertainty(chars, ark, start, end, is_page=is_page)
        seams = block.seams
        if bisect_left(seams, start) < bisect_right(seams, end + 1):  # in the mention or directly after it
            notes.decisions.append(WrapDecision(False, Reason.GAPS_ON_PAGE, Confidence.LIKELY))
            notes.is_beyond_name |= bool(ark.qualifier)
        for reason, is_true in (
            (Reason.RECOGNIZED_TEXT, block.is_recognized),
            (Reason.ENDS_AT_PAGE_END, is_page and not _VISIBLE.search(block.text, end)),
            (Reason.ENDS_AT_UNIT_END, self._may_go_on_elsewhere(end)),
            (Reason.LINK_TARGET_LONGER, self._linked is not None and is_cut_from(ark, self._linked)),
        ):
            if is_true:
                notes.decisions.append(WrapDecision(False, reason, Confidence.LIKELY))
                notes.is_beyond_name |= bool(ark.qualifier)
        if "page break" in notes.repairs or any(start < at < end for at in block.page_breaks):
            notes.decisions.append(WrapDecision(True, Reason.CONTINUES_ON_NEXT_PAGE, Confidence.LIKELY))
        if self._zones.check(ark) is CheckCharacter.FAILS:
            notes.mark_likely(Reason.CHECK_CHARACTER_FAILS)
        if self._written.is_doubtful:
            notes.mark_likely(Reason.LINE_END_IN_RESOLVER)
        is_open = notes.confidence is Confidence.LIKELY and not notes.is_odd
        borne_out = self._supporting_reason(ark) if is_open else None
        return Mention(
            ark=ark,
            as_written=block.text[start:end],
            spans=self._builder.spans(self._start, self._label.end()),
            repaired=(self._written.url or "") + self._written_label + chars + self._slash,
            resolver=self._written.url,
            inflection=self._inflection,
            role=block.role,
            page=block.page_at(start),
            place=block.place,
            context=block.context(start, end),
            repairs=tuple(notes.repairs),
            confidence=Confidence.CERTAIN if borne_out else notes.confidence,
            reason=borne_out or notes.reason,
            alternatives=() if borne_out else tuple(form for other, form in notes.alternatives.items() if other != ark),
            fragment=self._fragment,
            link=self._link,
            remarks=(Remark.URL_GOES_ON,) if self._url_goes_on else (),
        )

    def _may_go_on_elsewhere(self, end: int) -> bool:
        """Return True if the block, or a literal in a list, ends with the ARK, and the next may be the rest of it."""
        following = self._block.following if self._block.is_blank_after(end) else ""
        if self._block.role is Role.TEXT:
            literal = _NEXT_LITERAL.match(self._block.text, end)
            following = literal["next"] if literal else following
        return may_be_rest(following) or (self._block.role is Role.TEXT and may_go_on_below(self._block.text, end))

    def _supporting_reason(self, ark: Ark) -> Reason | None:
        """Return the evidence that makes a likely *ark* certain, or None."""
        form = str(ark)
        is_link_cut = self._linked == ark and self._is_link_cut(ark)
        if self._linked == ark and not is_link_cut:
            return Reason.LINK_TARGET
        is_elsewhere = (
            not is_link_cut
            and self._evidence.holds(form)
            and self._evidence.supports(ark)
            and not self._block.is_recognized
        )
        if is_elsewhere and not any(self._evidence.holds(str(other)) for other in self._notes.alternatives):
            return Reason.COMPLETE_ELSEWHERE
        if len(ark.name) < SHORTEST_CHECKED:
            return None
        if self._notes.is_beyond_name or self._zones.check(ark) is not CheckCharacter.PASSES:
            return None
        is_open = any(self._zones.check(other) is CheckCharacter.PASSES for other in self._notes.alternatives)
        return None if is_open else Reason.CHECK_CHARACTER

    def _is_link_cut(self, ark: Ark) -> bool:
        """Return True if the annotation of a page, like its line, may end within the ARK: viewers link lines."""
        rests = (str(other).removeprefix(str(ark)) for other in self._notes.alternatives if is_cut_from(ark, other))
        return self._block.page is not None and any(not rest.isalpha() for rest in rests)

    def _note_uncertainty(self, chars: str, ark: Ark, start: int, end: int, *, is_page: bool) -> None:
        """Note other doubts: markup after the name, or a name in capitals (draft-kunze-ark-38, 3.1)."""
        if chars[-1] in _MARKUP_RUN and self._block.role is Role.TEXT:
            self._notes.mark_likely(Reason.MARKUP_AT_END)
            self._notes.note_alternative(self._written_label + chars.rstrip(_MARKUP_RUN))
        if _BLANK_BEHIND_COLON.search(self._label[0]) and not self._label["slashes"]:
            self._notes.mark_likely(Reason.SPACE_AFTER_LABEL)
        if is_page and RIGHT_TO_LEFT.search(self._block.text, max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS):
            self._notes.mark_likely(Reason.RIGHT_TO_LEFT_PAGE)
        if self._text.startswith("- ", self._builder.end) and self._block.role is Role.TEXT:
            self._notes.mark_likely(Reason.HYPHEN_AT_END)
        if not (len(ark.naan) == 5 and ark.naan.isdigit()):
            self._notes.mark_likely(Reason.UNUSUAL_NAAN)
        dash = _TYPEWRITTEN_DASH.search(chars) if self._block.role is Role.TEXT else None
        if dash and "/" in chars[: dash.start()]:
            self._notes.mark_likely(Reason.HYPHENS_FOR_DASH)
            self._notes.note_alternative(self._written_label + chars[: dash.start()])
        varies = REST_VARIES.match(self._text, self._builder.end)
        if varies and varies[0][0] in _QUOTES:
            self._notes.decisions.append(WrapDecision(False, Reason.STRING_LITERALS, Confidence.LIKELY))
        if INCOMPLETE_NAME.match(chars):
            self._notes.mark_likely(Reason.INCOMPLETE_NAME)
        is_bare = self._written.url is None and self._block.role in (Role.TEXT, Role.STRUCTURED_DATA)
        is_port = not self._label["slashes"] and PORT_PATH.match(chars)
        if is_bare and (is_port or SHORT_NAME.fullmatch(self._builder.name)):
            self._notes.mark_likely(Reason.SHORT_NAME)
        meant = Ark(ark.naan, LETTER_FOR_ZERO.sub("0", ark.name), ark.qualifier)
        if meant != ark and self._zones.check(meant) is self._zones.check(ark) is CheckCharacter.PASSES:
            self._notes.mark_likely(Reason.LETTER_FOR_ZERO)
            self._notes.note_alternative(str(meant))
        if self._written_label.isupper() and lower_case_form(self._written_label + chars, ark):
            self._notes.mark_likely(Reason.ALL_CAPITALS)
            self._notes.note_alternative(str(ark).lower())

    def _source_range(self) -> tuple[int, int]:
        last = self._builder.end if self._builder.found else self._label.end()
        return self._offsets.source_offset(self._start), self._offsets.source_end(last)


def shorter_names(ark: Ark, block: Block, zones: Zones) -> list[Ark]:
    """Return forms of *ark* without a glued, capitalized word that pass its check character, the likeliest first.

    On a page, where columns may touch, any shorter form counts. If names have no check character, the name before
    such a word counts, too, if its letters are small.

    >>> [str(each) for each in shorter_names(Ark.parse("ark:12148/bpt6k107371tMaps"), Block(""), Zones())]
    ['ark:12148/bpt6k107371t']
    """
    glued = [glued_word.start() for glued_word in _GLUED_WORD.finditer(ark.name)]
    if block.role is not Role.TEXT or not (glued or block.page is not None):
        return []
    check = zones.check(ark)
    if check is CheckCharacter.UNKNOWN and (glued_word := _WORD_AT_END.fullmatch(ark.name)):
        return [Ark(ark.naan, glued_word["stem"])]
    if check is not CheckCharacter.FAILS:
        return []
    ends = [*reversed(glued), *range(len(ark.name) - 1, 0, -1)] if block.page is not None else reversed(glued)
    shorter = (Ark(ark.naan, ark.name[:end]) for end in ends if end >= SHORTEST_CHECKED)
    return [other for other in shorter if zones.check(other) is CheckCharacter.PASSES]


def is_placeholder(chars: str) -> bool:
    """Return True if *chars*, NAAN and name, end in a placeholder.

    >>> is_placeholder("12148/xxxxx"), is_placeholder("12148/btv1b84")
    (True, False)
    """
    return _PLACEHOLDER.match(chars, chars.find("/")) is not None
