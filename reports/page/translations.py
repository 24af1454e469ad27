"""The page in every language: one structure, and a list of texts that differ by language.

The page is rendered once, by a `Texts` object for all languages together. Where their texts differ, it inserts a mark.
Each language is then a set of texts for the marks, so that tags, rows and order are the same in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Any

from reports.languages import LANGUAGES, VOCABULARY, Forms, Language

#: Tags. Their attributes contain no ``<`` or ``>``: all values are escaped.
_TAG = re.compile(r"(<[^>]*>)")
#: Elements that are counted; browsers and extensions may add elements of the excluded kinds.
_COUNTED = re.compile(r"<(?!(?:script|style|link|meta)\b)[a-z]")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
#: A mark: the number of a text between control characters, which `escape_invisible` removes from text of the web.
_MARK = re.compile("\x02([0-9]+)\x03")


def _in_all(name: str) -> Callable[..., str]:
    """Return a method that calls the method *name* of each language; its arguments may contain marks."""

    def in_all(texts: Texts, *arguments: Any, **values: Any) -> str:
        return texts.mark(
            lambda each: getattr(each, name)(
                *texts.fill_marks(arguments, each.code), **texts.fill_marks(values, each.code)
            )
        )

    return in_all


@dataclass(frozen=True, slots=True, eq=False)
class Texts(Language):
    """All languages in one: a text that differs between languages becomes a mark.

    Its code is that of the language in which the page is written.
    """

    _texts: list[Mapping[str, str]] = field(default_factory=list)
    _marks: dict[tuple[str, ...], str] = field(default_factory=dict)

    def mark(self, text_in: Callable[[Language], str]) -> str:
        """Return a mark for the texts that *text_in* returns for each language, or the text if it is the same in all."""
        texts = {code: text_in(language) for code, language in LANGUAGES.items()}
        key = tuple(texts.values())
        if len(set(key)) == 1:
            return key[0]
        if key not in self._marks:
            self._marks[key] = f"\x02{len(self._texts)}\x03"
            self._texts.append(texts)
        return self._marks[key]

    def fill_marks(self, value: Any, code: str) -> Any:
        """Return *value* with the texts of a language in place of its marks, also in nested values."""
        if isinstance(value, str):
            return _MARK.sub(lambda mark: self._texts[int(mark[1])][code], value)
        if isinstance(value, Mapping):
            return {key: self.fill_marks(part, code) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill_marks(part, code) for part in value]
        return value

    gettext, pgettext = _in_all("gettext"), _in_all("pgettext")
    ngettext, npgettext = _in_all("ngettext"), _in_all("npgettext")
    number, decimals, share = _in_all("number"), _in_all("decimals"), _in_all("share")
    day, numeric_day, day_pattern = _in_all("day"), _in_all("numeric_day"), _in_all("day_pattern")

    def apply(self, function: Callable[[str], str], text: str) -> str:
        return self.mark(lambda each: function(self.fill_marks(text, each.code)))

    # -- the page

    def fill_page(self, html: str) -> str:
        """Return a piece of HTML with the texts of the page's own language."""
        return _MARK.sub(lambda mark: escape(self._texts[int(mark[1])][self.code]), html)

    def places(self, html: str) -> dict[str, dict[str, Any]]:
        """Return by language the texts that differ from the written page, by their positions in its *html*.

        ``texts`` has them by the number of the text among the texts that are not blank; ``attributes`` by the number of
        the element, and the attribute's name.
        """
        others: dict[str, dict[str, Any]] = {code: {"texts": {}, "attributes": {}} for code in LANGUAGES}
        element = text = -1
        for piece in _TAG.split(html):
            if piece.startswith("<"):
                element += bool(_COUNTED.match(piece))
                for name, value in _ATTRIBUTE.findall(piece) if "\x02" in piece else ():
                    for code, words in self._otherwise(value):
                        others[code]["attributes"].setdefault(element, {})[name] = words
            elif self.fill_marks(piece, self.code).strip():
                text += 1
                for code, words in self._otherwise(piece):
                    others[code]["texts"][text] = words.removeprefix("\n")
        return others

    def _otherwise(self, html: str) -> Iterator[tuple[str, str]]:
        """Yield the languages whose text differs from the written one, each with its text."""
        if "\x02" not in html:
            return
        plain = unescape(html)
        written = self.fill_marks(plain, self.code)
        for code in LANGUAGES:
            if (words := self.fill_marks(plain, code)) != written:
                yield code, words


def changes(written: Any, other: Any) -> list[list[Any]]:
    """Return the leaves of *other* that differ from those of *written*, each after its path.

    Both are plain values of the same shape.

    >>> changes({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]})
    [['a', 1, 'b', 'y']]
    """
    match written, other:
        case (Mapping(), Mapping()) if written.keys() == other.keys():
            steps: Iterable[Any] = written
        case (list() | tuple(), list() | tuple()) if len(written) == len(other):
            steps = range(len(written))
        case _:
            return [] if written == other else [[other]]
    return [[step, *leaf] for step in steps for leaf in changes(written[step], other[step])]


# The sentences of the page's scripts: complete, with placeholders in braces, so that they can be translated.

#: By name: a sentence, or its forms for ``{number}``.
WORDS: Mapping[str, str | Mapping[str, str]] = {
    "any of several": "{values}",
    "choice": "{value} ({number})",
    **VOCABULARY["script"],
}


def words_in(language: Language) -> Mapping[str, str | Mapping[str, str]]:
    """Return `WORDS` in a language."""
    return {
        name: language.gettext(words) if isinstance(words, str) else language.forms(Forms(**words))
        for name, words in WORDS.items()
    }
