"""LaTeX source: what it will show, its line breaks kept, and where it links to; read by a tokenizer, never executed."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from extractors.document_model import Finding, Reading
from extractors.readers.plain import decode
from extractors.readers.running_text import RunningText

MEDIA_TYPE = "application/x-tex"
MOST_BYTES = 16 * 2**20

_TOKEN = re.compile(
    r"""
      (?P<text>    [^\\%{}~$&"]++ )
    | (?P<comment> % [^\n]*+ (?: \n [ \t]*+ )? )      # swallows the end of its line, and the indent of the next
    | \\ (?: penalty | hskip | kern | mskip ) [ =]{0,3} -? [0-9.]++ (?: [a-z]{2} )?+
         (?: [ ] (?: plus | minus ) [ ] -? [0-9.]++ (?: [a-z]{2,5} )?+ ){0,2} [ ]?  (?P<glue>)
    | \\hspace \*? \{ 0 [a-z]{2} \}                    # a place where a line may break
    | \\discretionary \{[^{}\n]{0,20}\} \{[^{}\n]{0,20}\} \{ (?P<unbroken> [^{}\n]{0,20} ) \}
    | \\ (?: verb | lstinline ) \*? (?P<delimiter> [!-),-/:-@^_`|~+] ) (?P<verbatim> [^\n]{0,2000}? ) (?P=delimiter)
    | \\ (?P<word> [A-Za-z@]++ ) \*? (?: [ \t]++ (?: \n [ \t]*+ (?!\n) )? | \n [ \t]*+ (?!\n) )?
    | \\ (?P<symbol> . )
    | (?P<open> \{ ) | (?P<close> \} )
    | \$ (?P<in_math> [-_/] | \\sim[ ]? | \\_ ) \$    # how a tilde or a hyphen used to be written in URLs
    | (?<= [0-9A-Za-z/] ) " (?P<shorthand> [-=~"] ) (?= [0-9A-Za-z/] )    # of babel
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_RAW = re.compile(
    r"""
      (?P<text> [^\\{}%\n]++ )
    | \\ (?P<word> [A-Za-z@]++ ) [ \t]*+
    | \\ (?P<symbol> . )
    | (?P<open> \{ ) | (?P<close> \} )
    | (?P<paragraph> \n [ \t]*+ \n )
    | (?P<end_of_line> %? [ \t]*+ \n [ \t]*+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPTION = re.compile(r"\[[^\[\]{}\n]{0,200}\](?=\{)")
_DROPPED_ARGUMENT = re.compile(r"\{[^{}\n]{0,200}\}")
_ENVIRONMENT = re.compile(r"\{([A-Za-z]{1,40}\*?)\}")
_LETTER = re.compile(r"\{\\?(?P<in_group>[A-Za-z])\}|\\?(?P<letter>[A-Za-z])|(?P<nothing>\{\})")
_SPACE_BEFORE_GROUP = re.compile(r"(?:[ \t]|%[^\n]*\n)*+(?:\n[ \t]*+)?(?=\{)")

#: Commands that are a character, or what they do to a line.
_CHARACTERS = {
    "textunderscore": "_", "textasciitilde": "~", "sim": "~", "textasciicircum": "^", "slash": "/", "colon": ":",
    "textendash": "\N{EN DASH}", "textemdash": "\N{EM DASH}", "textbackslash": "\\", "textquotesingle": "'",
    "hyp": "-", "textless": "<", "textgreater": ">", "textbar": "|", "textdollar": "$", "lbrack": "[", "rbrack": "]",
    "ldots": "...", "dots": "...", "textellipsis": "...", "ss": "ß", "ae": "æ", "oe": "œ", "AE": "Æ", "OE": "Œ",
    "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "i", "j": "j", "guillemotleft": "«",
    "guillemotright": "»", "og": "« ", "fg": " »", "newline": "\n", "linebreak": "\n", "tabularnewline": "\n",
    "par": "\n\n",
}  # fmt: skip
#: Commands that leave a line as it is; what is in their braces is part of it.
_WITHIN = frozenset(
    """
    allowbreak nobreak nolinebreak null relax unskip ignorespaces protect string leavevmode noindent
    text textbf textit textmd textnormal textrm textsc textsf textsl texttt textup emph underline uline
    mbox hbox makebox fbox lowercase uppercase MakeLowercase MakeUppercase textcolor foreignlanguage detokenize
    bf em it rm sc sf sl tt bfseries itshape mdseries normalfont rmfamily scshape sffamily slshape ttfamily
    upshape tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge color c v u H k r
    """.split()  # noqa: SIM905 (as a list, fifty lines)
)
_DROP_FIRST = frozenset({"textcolor", "color", "foreignlanguage", "label", "hspace", "vspace", "begin", "end"})
#: Commands whose text stands apart from the text around it.
_APART = frozenset(
    """
    author begin bibitem caption chapter date end footnote footnotetext item maketitle paragraph part section
    subparagraph subsection subsubsection thanks title
    """.split()  # noqa: SIM905
)
_LINKS = frozenset({"url", "burl", "href"})
_URLS = _LINKS | {"nolinkurl", "path"}
_RAW_ENVIRONMENTS = frozenset({"verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "filecontents", "comment"})

_ACCENTS = {
    "'": "\N{COMBINING ACUTE ACCENT}",
    "`": "\N{COMBINING GRAVE ACCENT}",
    "^": "\N{COMBINING CIRCUMFLEX ACCENT}",
    '"': "\N{COMBINING DIAERESIS}",
    "~": "\N{COMBINING TILDE}",
    "=": "\N{COMBINING MACRON}",
    ".": "\N{COMBINING DOT ABOVE}",
}
_SYMBOLS = {"-": "", "/": "", "@": "", ",": "\N{NARROW NO-BREAK SPACE}", "\\": "\n", "(": " ", ")": " "}
_THEMSELVES = frozenset("_%#&${}")
_SHORTHANDS = {"-": "", '"': "", "~": "-", "=": "-"}


@dataclass(frozen=True, slots=True)
class _Group:
    """An open brace, and what closes it."""

    closing: str = ""
    """What the end of the group puts between it and what follows."""
    link: int | None = None
    is_title: bool = False


def read_latex(data: bytes, *, charset: str | None = None) -> Reading:
    r"""The text of a LaTeX source as one block, and its links; *charset* is what the sender declared, if anything.

    >>> source = rb"See \href{https://n2t.net/ark:/12345/x\_5}{\texttt{ark:/12345/x\_%" + b"\n  5}}."
    >>> [(block.role.value, block.place, block.text) for block in read_latex(source).blocks]
    [('link-target', '\\href', 'https://n2t.net/ark:/12345/x_5'), ('text', '', 'See ark:/12345/x_5.')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("cut-off", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset)
    findings += decoded.findings
    out = RunningText()
    title = write_latex(decoded.text, out)
    out.close()
    return Reading(MEDIA_TYPE, tuple(out.blocks), out.targets, title=title, findings=(*findings, *out.findings))


def write_latex(source: str, out: RunningText, *, place: str = "", has_comments: bool = True) -> str:
    """Write what *source* shows as a paragraph of *out*, and its links; return its title, if it states one."""
    reader = _Reader(source.replace("\r\n", "\n").replace("\r", "\n"), out, place, has_comments)
    out.begin(place)
    reader.read()
    out.end()
    return " ".join("".join(reader.title).split())


def raw_argument(source: str, start: int = 0, *, line_end: str = "") -> tuple[str, int]:
    r"""A URL in braces, its escapes undone, as far as the brace that closes or the end of the paragraph; and the end.

    No blank is part of a URL; *line_end* is what to make of a line's end and the indent behind it.

    >>> raw_argument(r"{https://n2t.net/ark%3A/12345/x{\_}5\%2F}.")
    ('https://n2t.net/ark%3A/12345/x_5%2F', 41)
    """
    pieces: list[str] = []
    pos, depth = start, 0
    while pos < len(source):
        token = _RAW.match(source, pos)
        assert token is not None  # any character is a token
        if token["paragraph"]:
            break
        pos = token.end()
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
            if depth <= 0:
                break
        elif token["word"]:
            pieces.append(_CHARACTERS.get(token["word"], "").strip("\n"))
        elif token["symbol"]:
            pieces.append("" if token["symbol"] in "-/\n" else token["symbol"])
        else:
            pieces.append(line_end if token["end_of_line"] else token[0])
    return "".join(pieces), pos


class _Reader:
    """Reads a source token by token; groups are a stack of ours, so that no depth is too deep."""

    def __init__(self, source: str, out: RunningText, place: str, has_comments: bool) -> None:
        self.title: list[str] = []
        self._source = source
        self._out = out
        self._place = place
        self._has_comments = has_comments
        self._groups: list[_Group] = []
        self._titles_open = 0
        self._never_ending: set[str] = set()

    def read(self) -> None:
        """Read it to its end."""
        pos = 0
        while pos < len(self._source):
            token = _TOKEN.match(self._source, pos)
            assert token is not None  # any character is a token
            pos = self._read_token(token)
        for group in reversed(self._groups):
            self._leave(group)

    def _read_token(self, token: re.Match[str]) -> int:
        """Write what *token* shows; return where the next one begins."""
        end = token.end()
        kind = token.lastgroup
        match kind:
            case "text" | "verbatim" | "unbroken":
                self._write(token[kind])
            case "comment":
                return self._comment(token)
            case "word":
                return self._command(token["word"], end)
            case "symbol":
                return self._symbol(token["symbol"], end)
            case "open":
                self._groups.append(_Group())
            case "close":
                return self._close(end)
            case "in_math":
                self._write("~" if "sim" in token["in_math"] else token["in_math"][-1])
            case "shorthand":
                self._write(_SHORTHANDS[token["shorthand"]])
            case "other":
                self._write("\N{NO-BREAK SPACE}" if token[0] == "~" else '"' if token[0] == '"' else " ")
        return end

    def _write(self, text: str) -> None:
        self._out.write(text)
        if self._titles_open:
            self.title.append(text)

    def _comment(self, token: re.Match[str]) -> int:
        if not self._has_comments:
            self._write("%")
            return token.start() + 1
        if self._source.startswith("\n", token.end()):  # an empty line is a paragraph's end, also behind a comment
            self._write("\n")
        return token.end()

    def _symbol(self, symbol: str, end: int) -> int:
        if symbol in _THEMSELVES:
            self._write(symbol)
        elif symbol in _ACCENTS and (letter := _LETTER.match(self._source, end)):
            base = letter["in_group"] or letter["letter"]
            self._write(unicodedata.normalize("NFC", base + _ACCENTS[symbol]) if base else symbol)
            return letter.end()
        else:
            self._write(_SYMBOLS.get(symbol, " "))
        return end

    def _command(self, word: str, end: int) -> int:
        if word in _URLS:
            return self._url(word, end)
        if word == "begin" and (environment := _ENVIRONMENT.match(self._source, end)):
            end = self._verbatim(environment[1], end)
        if word in _CHARACTERS:
            self._write(_CHARACTERS[word])
            return end + 2 if self._source.startswith("{}", end) else end
        closing = "" if word in _WITHIN else "\n\n" if word in _APART else " "
        self._write(closing)
        if option := _OPTION.match(self._source, end):
            end = option.end()
        if word in _DROP_FIRST and (dropped := _DROPPED_ARGUMENT.match(self._source, end)):
            end = dropped.end()
        if self._source.startswith("{", end):
            self._enter(_Group(closing, is_title=word == "title"))
            end += 1
        return end

    def _verbatim(self, environment: str, end: int) -> int:
        """Write an environment in which no command is one; return where it ends, or *end* if it is none or doesn't."""
        if environment not in _RAW_ENVIRONMENTS or environment in self._never_ending:
            return end
        stop = self._source.find(f"\\end{{{environment}}}", end)
        if stop < 0:
            self._never_ending.add(environment)
            return end
        if environment != "comment":
            self._write("\n\n" + self._source[end + len(environment) + 2 : stop])
        return stop + len("\\end")

    def _url(self, word: str, end: int) -> int:
        if option := _OPTION.match(self._source, end):
            end = option.end()
        delimiter = self._source[end : end + 1]
        if delimiter == "{":
            target, end = raw_argument(self._source, end)
        elif delimiter in ("|", "!", "+") and (stop := self._source.find(delimiter, end + 1, end + 2000)) > 0:
            target, end = self._source[end + 1 : stop], stop + 1
        else:
            self._write(" ")
            return end
        target = target.strip()
        link = self._out.add_link(target, f"{self._place}\\{word}") if word in _LINKS and target else None
        if word == "href":
            before = _SPACE_BEFORE_GROUP.match(self._source, end)
            if before is not None:
                self._enter(_Group(link=link))
                end = before.end() + 1
            return end
        group = _Group(link=link)
        self._enter(group)
        self._write(target)
        self._leave(self._groups.pop())
        return end

    def _enter(self, group: _Group) -> None:
        self._groups.append(group)
        self._titles_open += group.is_title
        if group.link is not None:
            self._out.open_link(group.link)

    def _leave(self, group: _Group) -> None:
        self._titles_open -= group.is_title
        if group.link is not None:
            self._out.close_link(group.link)
        self._write(group.closing)

    def _close(self, end: int) -> int:
        if not self._groups:
            return end
        group = self._groups.pop()
        self._leave(group)
        if group.closing and self._source.startswith("{", end):  # a further argument of the same command
            self._enter(_Group(group.closing))
            end += 1
        return end
