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

from reports.languages import LANGUAGES, VOCABULARY, Language

#: Tags. Their attributes contain no ``<`` or ``>``: all values are escaped.
_TAG = re.compile(r"(<[^>]*>)")
#: Elements that are counted; browsers and extensions may add elements of the excluded kinds.
_COUNTED = re.compile(r"<(?!(?:script|style|link|meta)\b)[a-z]")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
#: A mark: the number of a text between control characters, which `escape_invisible` removes from text of the web.
_MARK = re.compile("\x02([0-9]+)\x03")


def _marked_method(name: str) -> Callable[..., str]:
    """Return a method that marks the results of the method *name* of all languages; its arguments may contain marks."""

    def marked_method(texts: Texts, *arguments: Any, **values: Any) -> str:
        return texts.mark(
            lambda language: getattr(language, name)(
                *texts.fill_marks(arguments, language.code), **texts.fill_marks(values, language.code)
            )
        )

    return marked_method


@dataclass(frozen=True, slots=True, eq=False)
class Texts(Language):
    """All languages in one: a text that differs between languages becomes a mark.

    Its code is that of the language in which the page is written.
    """

    _texts: list[Mapping[str, str]] = field(default_factory=list)
    _marks: dict[tuple[str, ...], str] = field(default_factory=dict)

    def mark(self, text_in: Callable[[Language], str]) -> str:
        """Return a mark for the texts that *text_in* returns for the languages, or the text itself if all are equal."""
        texts = {code: text_in(language) for code, language in LANGUAGES.items()}
        key = tuple(texts.values())
        if len(set(key)) == 1:
            return key[0]
        if key not in self._marks:
            self._marks[key] = f"\x02{len(self._texts)}\x03"
            self._texts.append(texts)
        return self._marks[key]

    def fill_marks(self, value: Any, code: str) -> Any:
        """Return *value* with texts in place of its marks, in the language with this *code*.

        *value* is a text, or nested mappings and lists.
        """
        if isinstance(value, str):
            return _MARK.sub(lambda mark: self._texts[int(mark[1])][code], value)
        if isinstance(value, Mapping):
            return {key: self.fill_marks(part, code) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill_marks(part, code) for part in value]
        return value

    gettext, pgettext = _marked_method("gettext"), _marked_method("pgettext")
    ngettext, npgettext = _marked_method("ngettext"), _marked_method("npgettext")
    number, decimals, share = _marked_method("number"), _marked_method("decimals"), _marked_method("share")
    day, numeric_day, day_pattern = _marked_method("day"), _marked_method("numeric_day"), _marked_method("day_pattern")

    def apply(self, function: Callable[[str], str], text: str) -> str:
        return self.mark(lambda language: function(self.fill_marks(text, language.code)))

    # -- the page

    def fill_page(self, html: str) -> str:
        """Return *html* with the escaped texts of the page's own language in place of the marks."""
        return _MARK.sub(lambda mark: escape(self._texts[int(mark[1])][self.code]), html)

    def places(self, html: str) -> dict[str, dict[str, Any]]:
        """Return, by language code, the texts of *html* that differ from those in the page's own language.

        ``texts`` has the texts by index among the texts that are not blank; ``attributes`` by index of the element and
        by the attribute's name. Indexes begin with 0.
        """
        texts_by_language: dict[str, dict[str, Any]] = {code: {"texts": {}, "attributes": {}} for code in LANGUAGES}
        element_index = text_index = -1
        for piece in _TAG.split(html):
            if piece.startswith("<"):
                element_index += bool(_COUNTED.match(piece))
                for name, value in _ATTRIBUTE.findall(piece) if "\x02" in piece else ():
                    for code, words in self._otherwise(value):
                        texts_by_language[code]["attributes"].setdefault(element_index, {})[name] = words
            elif self.fill_marks(piece, self.code).strip():
                text_index += 1
                for code, words in self._otherwise(piece):
                    texts_by_language[code]["texts"][text_index] = words.removeprefix("\n")
        return texts_by_language

    def _otherwise(self, html: str) -> Iterator[tuple[str, str]]:
        """Yield (language code, text) for each language whose text for a piece of *html* differs from the page's own."""
        if "\x02" not in html:
            return
        text = unescape(html)
        own_text = self.fill_marks(text, self.code)
        for code in LANGUAGES:
            if (other_text := self.fill_marks(text, code)) != own_text:
                yield code, other_text


def changes(old: Any, new: Any) -> list[list[Any]]:
    """Return the leaves of *new* that differ from those of *old*, each as a list: its path, then the leaf.

    Both are plain values of the same shape.

    >>> changes({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]})
    [['a', 1, 'b', 'y']]
    """
    match old, new:
        case (Mapping(), Mapping()) if old.keys() == new.keys():
            steps: Iterable[Any] = old
        case (list() | tuple(), list() | tuple()) if len(old) == len(new):
            steps = range(len(old))
        case _:
            return [] if old == new else [[new]]
    return [[step, *leaf] for step in steps for leaf in changes(old[step], new[step])]


# The sentences of the page's scripts: complete, with placeholders in braces, so that they can be translated.

#: By name: a sentence, or its forms for ``{number}``.
WORDS: Mapping[str, str | Mapping[str, str]] = {
    "any of several": "{values}",
    "choice": "{value} ({number})",
    **VOCABULARY["script"],
}


def script_texts(language: Language) -> Mapping[str, str | Mapping[str, str]]:
    """Return `WORDS` in *language*: sentences, or their forms by CLDR name."""
    return {
        name: language.gettext(words) if isinstance(words, str) else language.forms(words)
        for name, words in WORDS.items()
    }
