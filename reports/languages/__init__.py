"""The languages of a report: sentences from catalogues, and numbers and dates in local form.

English is in the code, and in `vocabulary.toml`. Each other language is a gettext catalogue next to this module
(`fr.po` …); Babel reads it when it is first needed, so that installation compiles nothing.
"""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from numbers import Integral
from pathlib import Path
from typing import Any

from reports.languages.display import ColumnType, escape_invisible

FOLDER = Path(__file__).parent
#: The words for tokens, by vocabulary; and other sentences of a report by name.
VOCABULARY: Mapping[str, Mapping[str, Any]] = tomllib.loads((FOLDER / "vocabulary.toml").read_text("utf-8"))
#: Every language by its code, with its own name for itself. The first is that of the code.
NAMES = {"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español"}
#: The value of `--lang` for the reader's language: that of the browser, or of the terminal's environment.
AUTO = "auto"
#: The values of `--lang`.
WORDS = (*NAMES, AUTO)


# The tools for gettext look for this name.
def N_(sentence: str) -> str:
    """Mark *sentence* in a table for translation; a `Language` translates it later."""
    return sentence


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its sentences, and its form of numbers and dates."""

    code: str

    @property
    def name(self) -> str:
        """The language's own name."""
        return NAMES[self.code]

    # -- sentences; the methods have the usual names, so that Babel finds their arguments

    def gettext(self, sentence: str, /, **values: Any) -> str:
        """Return the translated *sentence* with *values* in its placeholders; integers are formatted.

        >>> ENGLISH.gettext("{done} of {all} done", done=1200, all="many")
        '1,200 of many done'
        """
        return self._fill(self._catalogue.gettext(sentence) if sentence else "", values)

    def pgettext(self, context: str, sentence: str, /, **values: Any) -> str:
        """Return the translation of *sentence* in *context*, which tells homonyms apart; filled like `gettext`."""
        return self._fill(self._catalogue.pgettext(context, sentence), values)

    def ngettext(self, one: str, many: str, number: int, /, **values: Any) -> str:
        """Return the singular or plural for *number*, which also fills ``{number}``.

        >>> ENGLISH.ngettext("{number} ARK", "{number} ARKs", 1), ENGLISH.ngettext("{number} ARK", "{number} ARKs", 0)
        ('1 ARK', '0 ARKs')
        """
        return self._fill(self._catalogue.ngettext(one, many, int(number)), {"number": number, **values})

    def npgettext(self, context: str, one: str, many: str, number: int, /, **values: Any) -> str:
        """Return the singular or plural for *number* in *context*, which tells homonyms apart."""
        return self._fill(self._catalogue.npgettext(context, one, many, int(number)), {"number": number, **values})

    def counted(self, forms: Mapping[str, str], number: int, /) -> str:
        """Return the singular or plural for *number*; *forms* are `one` and `many` of the vocabulary."""
        one, many = forms["one"], forms["many"]
        return self.ngettext(one, many, number)

    def apply(self, function: Callable[[str], str], text: str) -> str:
        """Return the result of *function* for *text*, which is in this language; `Texts` calls it for each language."""
        return function(text)

    def forms(self, forms: Mapping[str, str]) -> Mapping[str, str]:
        """Return the translated *forms* with placeholders, by their CLDR names: ``one`` and ``other``."""
        one, many = forms["one"], forms["many"]
        return {name: self._catalogue.ngettext(one, many, number) for name, number in (("one", 1), ("other", 2))}

    def place(self, document: str, page: int | None, line: int | None = None) -> str:
        """Return a document with a page (from 1) or a line (from 1) in it, as editors and terminals open it.

        >>> ENGLISH.place("thesis.pdf", 12), ENGLISH.place("notes.md", None, 7), ENGLISH.place("https://a.example/", None)
        ('thesis.pdf, p. 12', 'notes.md:7', 'https://a.example/')
        """
        if page is None:
            return document if line is None or "://" in document else f"{document}:{line}"
        return self.gettext("{document}, p. {page}", document=document, page=str(page))

    @property
    def _catalogue(self) -> NullTranslations:
        return _catalogue(self.code)

    def _fill(self, sentence: str, values: Mapping[str, Any]) -> str:
        """Return *sentence* with *values* in its placeholders; integers are formatted. Braces in a value stay."""
        if not values:
            return sentence
        return sentence.format_map(
            {
                name: self.number(int(value)) if isinstance(value, Integral) else str(value)
                for name, value in values.items()
            }
        )

    # -- values

    def number(self, value: int) -> str:
        """Return a whole number with separators.

        >>> LANGUAGES["en"].number(12345), LANGUAGES["de"].number(12345), LANGUAGES["es"].number(1234)
        ('12,345', '12.345', '1234')
        """
        return self._group_digits(Decimal(int(value)), 0)

    def decimals(self, value: float, places: int) -> str:
        """Return a number with *places* digits after its point; halves are rounded away from 0, as in the scripts."""
        return self._group_digits(Decimal(float(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP), places)

    def share(self, value: float, places: int = 1) -> str:
        """Return a fraction from 0 to 1 as a percentage.

        >>> LANGUAGES["en"].share(0.5), LANGUAGES["fr"].share(0.875)
        ('50.0 %', '87,5\\xa0%')
        """
        space = " " if self.code == "en" else "\N{NO-BREAK SPACE}"
        return f"{self.decimals(100 * value, places)}{space}%"

    def _group_digits(self, value: Decimal, places: int) -> str:
        return f"{value:,.{places}f}" if self.code == "en" else _group_digits(self.code, str(value), places)

    def day(self, day: date, *, compared_with: date | None = None) -> str:
        """Return a day in words, without the year if *compared_with* is in the same year.

        >>> ENGLISH.day(date(2026, 11, 1)), ENGLISH.day(date(2026, 11, 1), compared_with=date(2026, 11, 23))
        ('1 November 2026', '1 November')
        >>> [LANGUAGES[code].day(date(2026, 11, 1)) for code in ("fr", "de", "es")]
        ['1er novembre 2026', '1. November 2026', '1 de noviembre de 2026']
        """
        from babel.dates import format_date, format_skeleton

        locale = "en_GB" if self.code == "en" else self.code
        is_same_year = compared_with is not None and day.year == compared_with.year
        text = format_skeleton("MMMMd", day, locale=locale) if is_same_year else format_date(day, "long", locale=locale)
        return f"1er{text[1:]}" if self.code == "fr" and day.day == 1 else text

    def moment(self, moment: datetime) -> str:
        """Return a UTC time in digits, to the second."""
        return f"{self.numeric_day(moment)} {moment:%H:%M:%S} UTC"

    def numeric_day(self, day: date) -> str:
        """Return a day in digits, in the order of the language.

        >>> [language.numeric_day(date(2026, 11, 1)) for language in LANGUAGES.values()]
        ['2026-11-01', '01/11/2026', '01.11.2026', '01/11/2026']
        """
        digits = {"yyyy": f"{day.year:04}", "MM": f"{day.month:02}", "dd": f"{day.day:02}"}
        return self.day_pattern().format_map(digits)

    def day_pattern(self) -> str:
        """Return the pattern of a day in digits, ``{dd}/{MM}/{yyyy}``, which the page's scripts use as well."""
        return _DAYS[self.code]

    def format_cell(self, value: Any, kind: ColumnType) -> str:
        """Return a cell for readers; an empty text for None.

        >>> ENGLISH.format_cell(12345, ColumnType.COUNT), ENGLISH.format_cell(0.5, ColumnType.SHARE)
        ('12,345', '50.0 %')
        """
        if value is None:
            return ""
        match kind:
            case ColumnType.COUNT:
                return self.number(value)
            case ColumnType.SHARE:
                return self.share(value)
            case ColumnType.NUMBER:
                return self.decimals(value, 2)
            case ColumnType.TRUTH:
                return self.gettext("yes") if value else self.gettext("no")
            case ColumnType.MOMENT:
                return self.moment(value)
        return escape_invisible(str(value))


#: The smallest number with separators, in languages that write shorter ones without (CLDR, minimumGroupingDigits).
_LEAST_GROUPED = {"es": 10_000}
#: Days in digits. English conventions contradict each other, so it uses ISO 8601.
_DAYS = {"en": "{yyyy}-{MM}-{dd}", "fr": "{dd}/{MM}/{yyyy}", "de": "{dd}.{MM}.{yyyy}", "es": "{dd}/{MM}/{yyyy}"}

LANGUAGES = {code: Language(code) for code in NAMES}
ENGLISH = LANGUAGES["en"]


@lru_cache(maxsize=20_000)
def _group_digits(code: str, number: str, places: int) -> str:
    """Return a decimal *number* with separators and *places* digits after its point, in the language *code*.

    Cached, because the same few numbers recur and Babel is slow.
    """
    from babel.numbers import format_decimal

    is_grouped = abs(Decimal(number)) >= _LEAST_GROUPED.get(code, 0)
    pattern = f"{'#,##' if is_grouped else ''}0{'.' + '0' * places if places else ''}"
    return format_decimal(Decimal(number), pattern, locale=code)


@cache
def _catalogue(code: str) -> NullTranslations:
    """Return the compiled catalogue of the language *code*; an empty one for English."""
    if code == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with (FOLDER / f"{code}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=code))
    compiled.seek(0)
    return GNUTranslations(compiled)


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """The language of a report, and whether the user chose it."""

    language: Language = ENGLISH
    is_asked_for: bool = False
    """True if the user chose it; else the page follows the reader's browser if it has that language."""

    @classmethod
    def parse(cls, word: str | None) -> LanguageChoice:
        """Return the choice for a value of `--lang` or the configuration: a code, `AUTO`, or None."""
        if word == AUTO:
            return cls(language_of_environment())
        return cls() if word is None else cls(LANGUAGES[word], is_asked_for=True)


def language_of_environment(environment: Mapping[str, str] | None = None) -> Language:
    """Return the first language of `LANGUAGES` that gettext's variables in *environment* name, or English.

    By default *environment* is that of the process.

    >>> language_of_environment({"LANG": "de_AT.UTF-8"}).code
    'de'
    >>> language_of_environment({"LC_ALL": "C", "LANG": "fr"}).code
    'en'
    """
    variables = os.environ if environment is None else environment
    language_names = next(filter(None, map(variables.get, ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))), "")
    codes = (re.split("[_.@]", name)[0].lower() for name in language_names.split(":"))
    return next((LANGUAGES[code] for code in codes if code in LANGUAGES), ENGLISH)
