"""Display of text and values: every character visible, numbers readable, no formula that a spreadsheet would run.

Light to import: the command line uses it for single lines.
"""

from __future__ import annotations

import json
import re
import unicodedata
from enum import StrEnum


class ColumnType(StrEnum):
    """The type of a published column; it decides how files and the page format its cells."""

    TEXT = "text"
    TOKEN = "token"
    """A word of a closed vocabulary."""
    NAAN = "NAAN"
    ARK = "ARK"
    URL = "URL"
    COUNT = "count"
    NUMBER = "number"
    SHARE = "share"
    """A fraction from 0 to 1."""
    TRUTH = "truth"
    MOMENT = "moment"


def escape_invisible(text: str) -> str:
    """Return the text with every invisible or misleading character spelled out.

    These are control, formatting (bidirectional, zero-width), surrogate, private and unassigned characters, and line
    and paragraph separators. Spaces of any width stay.

    >>> print(escape_invisible("invoice\\u202efdp.exe"), escape_invisible("ark:/12148/btv1b84-\\n49691v"))
    invoice[U+202E]fdp.exe ark:/12148/btv1b84-[U+000A]49691v
    """
    if text.isprintable():
        return text
    return "".join(char if _is_visible(char) else f"[U+{ord(char):04X}]" for char in text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def escape_invisible_json(text: str) -> str:
    """Return an equivalent JSON text without invisible or misleading characters.

    >>> print(escape_invisible_json('{"title": "\u202ecafé"}'))
    {"title": "\\u202ecafé"}
    """
    if text.isprintable():
        return text
    return "".join(char if _is_visible(char) else json.dumps(char)[1:-1] for char in text)


#: The beginning of a formula, after the places where a cell may begin. A spreadsheet whose list separator is a semicolon
#: (French, German) or a tab splits our cells there, and at line breaks. Blanks, controls and quotation marks before the
#: sign may be dropped, and full-width signs count as plain ones. Python and RE2 read the pattern alike.
_CELL_START = r'((?:^|[;\t\n\r])[\x00-\x08\x0b\x0c\x0e-\x20"' + "\N{NO-BREAK SPACE}\N{ZERO WIDTH NO-BREAK SPACE}]*)"
_SIGN = "([-=+@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}])"
FORMULA = _CELL_START + _SIGN
NEUTRALIZED_FORMULA = r"\1'\2"
_FORMULA, _NEUTRALIZED = re.compile(FORMULA), re.compile(f"{_CELL_START}'{_SIGN}")


def neutralize_formula(cell: str) -> str:
    """Return the cell with an apostrophe before each sign that would begin a formula.

    A text that is a negative number is no exception: with the next cell, ``-3,5+f()`` is a formula where a comma is decimal.

    >>> neutralize_formula("=HYPERLINK(1)"), neutralize_formula("-3.5"), neutralize_formula("a=b"), neutralize_formula("a;=b")
    ("'=HYPERLINK(1)", "'-3.5", 'a=b', "a;'=b")
    """
    return _FORMULA.sub(NEUTRALIZED_FORMULA, cell)


def restore_formula(cell: str) -> str:
    """Return the cell without the apostrophes that `neutralize_formula` has added.

    >>> restore_formula("'=HYPERLINK(1)"), restore_formula("a;'=b"), restore_formula("it's")
    ('=HYPERLINK(1)', 'a;=b', "it's")
    """
    return _NEUTRALIZED.sub(r"\1\2", cell)


def link(text: str) -> str | None:
    """Return *text* if it is a safe link target: an http or https URL without invisible characters; otherwise None.

    >>> link("https://n2t.net/ark:12148/x5"), link("javascript:alert(1)"), link("file:///etc/passwd")
    ('https://n2t.net/ark:12148/x5', None, None)
    """
    is_web = text.lower().startswith(("http://", "https://"))
    return text if is_web and text == escape_invisible(text) else None


#: Headings that do not follow from the name of the column.
_HEADINGS = {"family": "family of the URL", "ark_family": "family of the ARK"}
_WORDS = {"ark": "ARK", "arks": "ARKs", "http": "HTTP", "naan": "NAAN", "url": "URL"}


def heading(name: str) -> str:
    """Return the heading of a column from its name.

    >>> heading("request_url"), heading("share_works")
    ('request URL', 'share works')
    """
    return _HEADINGS.get(name) or " ".join(_WORDS.get(word, word) for word in name.split("_"))


def count_noun(number: int, singular: str, plural: str | None = None) -> str:
    """Return *number* with its noun, whose plural by default ends with s.

    >>> count_noun(1, "ARK"), count_noun(2, "ARK"), count_noun(0, "reply", "replies"), count_noun(12345, "ARK")
    ('1 ARK', '2 ARKs', '0 replies', '12,345 ARKs')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """Return a duration as text: in s, min, h or days.

    >>> [duration(seconds) for seconds in (0, 0.5, 90, 5400, 200_000)]
    ['0 s', '0.5 s', '90 s', '90 min', '56 h']
    """
    for unit, size, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 259_200)):
        if seconds < limit:
            return f"{seconds / size:.{0 if seconds >= 10 or seconds == int(seconds) else 1}f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def code(text: str) -> str:
    """Return *text* as a code span in Markdown, with a fence longer than any in the text.

    >>> code("a`b"), code("`")
    ('``a`b``', '`` ` ``')
    """
    longest_run = max((len(backticks) for backticks in re.findall("`+", text)), default=0)
    fence = "`" * (longest_run + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


#: Text without any markup in Markdown, and without mentions of users.
_UNMARKED_TEXT = re.compile(r"[A-Za-z0-9À-ſ \u00A0\u202F,.:;()'’“”„«»¿¡?/%–-]*")


def escape_markdown(text: str) -> str:
    """Return visible *text* for Markdown, as a code span if it could contain markup or notify users.

    >>> escape_markdown("Maps (2026)"), escape_markdown("@ada")
    ('Maps (2026)', '`@ada`')
    """
    return text if _UNMARKED_TEXT.fullmatch(text) else code(text)
