"""LaTeX, BibTeX and reStructuredText: text with escapes, and links with a target and a shown text.

One pattern for each format decodes escapes inside ARKs and finds the links; nothing is executed.
"""

from __future__ import annotations

import re

from extractors.mentions.possible_labels import may_hold_ark, with_label
from extractors.model.decoding import text_of
from extractors.model.documents import Finding, Reading, Role
from extractors.readers.running_text import RunningText

LATEX_TYPE = "application/x-tex"
BIBTEX_TYPE = "application/x-bibtex"
RESTRUCTURED_TYPE = "text/x-rst"
MOST_BYTES = 16 * 2**20

_GROUP = r"(?: [^{}\\\n] | \\. | \n (?!\s*\n) | \{ (?: [^{}\\] | \\. ){0,500}+ \} ){0,2000}+"
_LATEX_TOKEN = re.compile(
    rf"""
      (?P<text> [^\\%{{}}~$"]++ )
    | (?P<comment> % [^\n]*+ (?: \n [ \t]*+ (?!\n) )? )
    | \\ (?: (?P<is_link> b?url ) | nolinkurl | path ) [ ]? \{{ (?P<url> {_GROUP} ) \}}
    | \\href \s* (?: \[ [^\]\n]{{0,200}} \] )? \{{ (?P<href> {_GROUP} ) \}} \s* %?\s* (?P<shown> \{{ )?
    | \\ (?: verb | lstinline | path ) \*? (?P<delimiter> [^\w\s*{{] ) (?P<verbatim> [^\n]{{0,2000}}? ) (?P=delimiter)
    | \\begin \{{ (?P<raw> (?i:verbatim) \*? | lstlisting | minted | comment ) \}}
         (?P<listing> .{{0,5000}}? ) \\end \{{ (?P=raw) \}}
    | \\discretionary \{{ [^{{}}\n]{{0,20}} \}} \{{ [^{{}}\n]{{0,20}} \}} \{{ (?P<unbroken> [^{{}}\n]{{0,20}} ) \}}
    | \\ (?: hspace \*? \{{ 0 [a-z]{{2}} \}} | (?: penalty | hskip ) \s? -? [0-9.]++ (?: [a-z]{{2}} )? [ ]? )
    | \\ (?P<named> textunderscore | textasciitilde | textendash | textemdash | textbackslash | slash | colon | hyp ) \b
         (?: \{{\}} | [ \t]++ )?
    | \\ (?P<structure> begin | end | label ) \s? \{{ [^{{}}\n]{{0,200}} \}}
    | \\ (?P<word> [A-Za-z@]++ ) \*? [ \t]*+ (?: \n [ \t]*+ (?!\n) )? (?: \[ (?P<option> [^\]{{}}\n]{{0,200}} ) \] )?
         (?P<argument> \{{ )?
    | \\ (?P<symbol> . )
    | (?<=\w) " (?P<shorthand> [-=~"|] ) (?=\w)
    | \$ (?P<in_math> [-_/] | \\sim[ ]? | \\_ ) \$
    | (?P<open> \{{ ) | (?P<close> \}} )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Commands for a character.
LATEX_CHARACTERS = {
    "textunderscore": "_", "textasciitilde": "~", "textendash": "\N{EN DASH}", "textemdash": "\N{EM DASH}",
    "textbackslash": "\\", "slash": "/", "colon": ":", "hyp": "-",
}  # fmt: skip
#: Commands in a URL that represent a character, commands without output, and commands of the author.
_COMMAND = re.compile(
    rf"\\(?:(?P<named>{'|'.join(LATEX_CHARACTERS)})(?![A-Za-z])(?:\{{\}}|\s+)?|char`\\?(?P<char>.)"
    r"|discretionary\{[^{}]*\}\{[^{}]*\}\{(?P<unbroken>[^{}]*)\}|[hv]space\*?\{[^{}]*\}"
    r"|(?:penalty|hskip)\s?(?:-?[0-9.]+(?:[a-z]{2})?|\\[A-Za-z]+) ?"
    r"|(?:\w*break\[\d\]|(?:url|\w*break|string|protect|relax)(?![A-Za-z]))\s*|(?P<unknown>[A-Za-z]{2,}))"
)
#: Inline commands; the text in their braces belongs to the line.
_INLINE_COMMAND = re.compile(
    r"text(?!super|sub)\w+|emph|uline|underline|[mh]box|allowbreak|nobreak|nolinebreak|relax|protect|string|leavevmode|noindent"
    r"|bf\w*|it\w*|rm\w*|tt\w*|normalfont|tiny|\w*size|small|large|detokenize"
)
_TITLE = re.compile(rf"\\title \s* \{{ ( {_GROUP} ) \}}", re.VERBOSE)
_MARKUP = re.compile(r"\\[A-Za-z]+\s*|[{}]")
_SYMBOL_TEXTS = {"\\": "\n", ",": "\N{NARROW NO-BREAK SPACE}", **dict.fromkeys("-/@'`^\"=.", "")}

_ESCAPE = re.compile(r"\\(?:\s|(.)|\Z)", re.DOTALL)
_RESTRUCTURED_TOKEN = re.compile(
    r"""
      (?P<text> [^\\`._:]++ )
    | (?P<role> : [a-z][a-z-]{0,30} : ) (?=`)
    | (?m:^) [ \t]*+ (?: \.\. [ ] _ [^:\n]{1,200} : | __ ) [ \t]++
         (?P<target> \S [^\n]*+ (?: \n [ \t]++ \S [^\n]*+ )*+ )
    | `` (?P<literal> [^`\n]++ ) ``
    | ` (?P<shown> [^`<>]{0,2000}? ) \s* < (?P<url> [^`<>]{1,2000} ) > ` __?
    | ` (?P<phrase> [^`]{1,2000}? ) ` __?(?!\w)
    | \\ (?P<symbol> . )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)

_ENTRY = re.compile(r"@[ \t]*+[A-Za-z]++\s*+[{(]\s*+(?P<key>[^\s,{}()=\"]{0,200}+)\s*+,?")
_FIELD = re.compile(
    rf"""(?P<name> [A-Za-z][\w-]{{0,99}} ) \s*+ = \s*+
    (?: \{{ (?P<braced> {_GROUP} ) \}} | " (?P<quoted> [^"]{{0,5000}}+ ) " | (?P<bare> [^\s,{{}}"]++ ) )""",
    re.VERBOSE,
)
_LINK_FIELD = re.compile(r"ee|link|pdf|url|bdsk-url.*")
_IDENTIFIER_FIELDS = frozenset({"ark", "doi", "eid", "eprint", "file", "identifier", "pid", "urn"})
_ARK_TYPE = re.compile(r"(?:archiveprefix|eprinttype)\s*=\s*[{\"]+\s*ark\s*[}\"]", re.IGNORECASE)


def read_latex(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the text of a LaTeX source as one block, and its links; *charset* is the declared encoding.

    >>> source = rb"See \href{https://n2t.net/ark:/12345/x\_5}{\texttt{ark:/12345/x\_%" + b"\n  5}}."
    >>> [(block.role.value, block.place, block.text) for block in read_latex(source).blocks]
    [('link-target', '\\href', 'https://n2t.net/ark:/12345/x_5'), ('text', '', 'See ark:/12345/x_5.')]
    """
    source, findings = _decoded_source(data, charset)
    text = RunningText()
    _write_latex(source, text, "")
    title = _TITLE.search(source)
    return _reading_of(LATEX_TYPE, text, findings, title=" ".join(_MARKUP.sub("", title[1]).split()) if title else "")


def read_restructured(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the text of a reStructuredText source as one block, and its links.

    *charset* is the declared encoding.

    >>> reading = read_restructured(b"See `the map <https://n2t.net/ark:/12345/x5>`_,\nor ark:/12345/x\\_6.")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', '`<>`_', 'https://n2t.net/ark:/12345/x5'), ('text', '', 'See the map,\nor ark:/12345/x_6.')]
    """
    source, findings = _decoded_source(data, charset)
    text = RunningText()
    text.begin("")
    for token in _RESTRUCTURED_TOKEN.finditer(source):
        if token["target"]:
            text.add_link("".join(_unescape(token["target"]).split()), ".. _:")
        elif token["url"]:
            target = "".join(_unescape(token["url"]).split())
            text.open_link(link := text.add_link(target, "`<>`_"))
            text.write(_unescape(token["shown"]) or target)
            text.close_link(link)
        elif token["role"]:
            text.write(" ")
        else:
            text.write(token["symbol"].strip() if token["symbol"] else token["literal"] or token["phrase"] or token[0])
    text.end()
    return _reading_of(RESTRUCTURED_TYPE, text, findings)


def read_bibtex(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the values of BibTeX fields that may hold an ARK, by key and field.

    *charset* is the declared encoding.

    >>> reading = read_bibtex(b"@misc{map, eprint = {12148/btv1b8449691v}, eprinttype = {ark}}")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', 'map/eprint', 'ark:12148/btv1b8449691v')]
    """
    source, findings = _decoded_source(data, charset)
    text = RunningText()
    entries = [*_ENTRY.finditer(source)]
    ends = [*(entry.start() for entry in entries), len(source)]
    _write_prose(source[: ends[0]], "", text)
    for entry, end in zip(entries, ends[1:], strict=True):
        key, body = entry["key"], source[entry.end() : end]
        is_ark = _ARK_TYPE.search(body) is not None
        for field in _FIELD.finditer(body):
            name = field["name"].lower()
            value, location = field["braced"] or field["quoted"] or field["bare"] or "", f"{key}/{name}"
            if _LINK_FIELD.fullmatch(name):
                if target := _target(value, "\n"):
                    text.add_link(target, location)
            elif name in _IDENTIFIER_FIELDS:
                identifier = _target(value)
                if name == "ark" or (name == "eprint" and is_ark):
                    identifier = with_label(identifier) or identifier
                if may_hold_ark(identifier):
                    text.add_value(identifier, location, Role.METADATA)
            else:
                _write_prose(value, location, text)
        _write_prose(_FIELD.sub("\n", body), key, text)
    return _reading_of(BIBTEX_TYPE, text, findings)


def _decoded_source(data: bytes, charset: str | None) -> tuple[str, list[Finding]]:
    """Return the text of *data*, up to `MOST_BYTES`, with ``\\n`` as line ends, and findings about its decoding."""
    text, findings = text_of(data, MOST_BYTES, charset)
    return text.replace("\r\n", "\n").replace("\r", "\n"), findings


def _reading_of(media_type: str, text: RunningText, findings: list[Finding], *, title: str = "") -> Reading:
    text.close()
    return Reading(media_type, tuple(text.blocks), text.targets, title=title, findings=(*findings, *text.findings))


def _unescape(source: str) -> str:
    r"""Return *source* without the backslashes of its escapes, and without escaped blanks.

    >>> _unescape(r"x\_5"), _unescape("x\\ 5")
    ('x_5', 'x5')
    """
    return _ESCAPE.sub(r"\1", source)


def _target(source: str, line_end: str = "") -> str:
    r"""Return the URL in a LaTeX *source*, without escapes and braces; *line_end* replaces line ends with the indent.

    >>> _target("https://n2t.net/ark\\%3A/12345/%\n  x{\\_}5")
    'https://n2t.net/ark%3A/12345/x_5'
    """

    def replacement(command: re.Match[str]) -> str:
        if command["unknown"]:  # a variable: not a part of the name
            return f"${{{command['unknown']}}}"
        return LATEX_CHARACTERS.get(command["named"]) or command["char"] or command["unbroken"] or ""

    without_commands = _COMMAND.sub(replacement, source)
    without_line_ends = re.sub(r"%?(?:(?<![ \t])[ \t]++)?+\n[ \t]*+", line_end, without_commands)
    return re.sub(r"(\$\{\w+\})|[{}]", r"\1", _unescape(without_line_ends)).strip()


def _write_latex(source: str, text: RunningText, location: str) -> None:
    """Write the visible text of a LaTeX *source* as a paragraph of *text*, at *location*, and its links."""
    open_groups: list[tuple[str, int | None]] = []
    text.begin(location)

    def open_group(closing_text: str, link: int | None = None) -> None:
        open_groups.append((closing_text, link))
        if link is not None:
            text.open_link(link)
        text.begin_element()

    def close_group() -> None:
        closing_text, link = open_groups.pop()
        text.end_element()
        if link is not None:
            text.close_link(link)
        text.write(closing_text)

    for token in _LATEX_TOKEN.finditer(source):
        if token["url"] is not None:
            target = _target(token["url"])
            link = text.add_link(target, f"{location}\\url") if target and token["is_link"] else None
            open_group("", link)
            text.write(target)
            close_group()
        elif token["href"] is not None:
            link = text.add_link(_target(token["href"]), f"{location}\\href")
            if token["shown"]:
                open_group("", link)
        elif token["open"]:
            open_group("")
        elif token["close"]:
            if open_groups:
                close_group()
        elif token["word"]:
            is_break = token["word"] in ("linebreak", "newline", "break")
            separator = "\n" if is_break else "" if _INLINE_COMMAND.fullmatch(token["word"]) else " "
            text.write(separator)
            if token["option"] and may_hold_ark(token["option"]):  # \item[ark:/…], \cite[see ark:/…]{key}
                text.write(f"{_target(token['option'])} ")
            if token["argument"]:
                open_group(separator)
        elif token["structure"]:
            text.write("\n\n")
        elif symbol := token["symbol"]:
            text.write(_SYMBOL_TEXTS.get(symbol, symbol))
        else:
            text.write(_visible_text(token))
    while open_groups:
        close_group()
    text.end()


def _visible_text(token: re.Match[str]) -> str:
    """Return the visible characters of *token*, a match of `_LATEX_TOKEN` that is no command with text."""
    if token["comment"] or token["raw"] == "comment":
        return ""
    if token["named"]:
        return LATEX_CHARACTERS[token["named"]]
    if token["shorthand"]:  # of babel, for German and other languages: `"-` is a place for a hyphen, `"=` a hyphen
        return "-" if token["shorthand"] in "=~" else ""
    if token["in_math"]:
        return "~" if "sim" in token["in_math"] else token["in_math"][-1]
    visible_texts = (token[name] for name in ("text", "verbatim", "listing", "unbroken") if token[name] is not None)
    return next(visible_texts, {"~": "\N{NO-BREAK SPACE}", "$": " "}.get(token[0], token["other"] or ""))


def _write_prose(value: str, location: str, text: RunningText) -> None:
    if may_hold_ark(value) or "\\url" in value or "\\href" in value:
        _write_latex(re.sub(r"(?<!\\)%", r"\\%", value), text, location)
