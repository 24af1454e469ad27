"""Find the phrases of pages that replace an object: not found, withdrawn, restricted, out of order.

The words of a page never decide alone; `crawler.verdicts.access` weighs them together with the answer to the control.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from http import HTTPStatus
from itertools import chain
from unicodedata import east_asian_width

from crawler.answers.quirks import (
    NOTICE_CHARS,
    OPENING_CHARS,
    TITLE_PARTS,
    PhraseMatch,
    Phrases,
    bare,
    is_unfilled,
    plain,
    quirks,
)
from crawler.answers.withdrawals import ARK_OR_URL, Withdrawal, is_no_fact, is_one_of_several, sentences, withdrawals_in

#: Characters before words of absence, by which the sentences of two pages are compared.
_LEADING_WORDS = 40
#: Length of a page's first sentences, in characters.
FIRST_SENTENCES_CHARS = 700
#: A page with less text than this, without menus, has one message.
_FEW_WORDS_CHARS = 300
#: A longer text is more than a label for a missing value.
_LABEL_CHARS = 60
#: A page about an object has more letters than this in addition to its title, and a title more than its words of absence.
_FEW_WORDS_LETTERS = 20
#: Fewer letters than this before words of absence can't name an object.
_FEW_LETTERS = 6
#: A sentence that begins with more letters than this before words of absence is about something else.
_LEAD_LETTERS = 40
#: Separators between the title of a record and its site. Colons and dashes are left out: they begin subtitles.
_SITE_PARTS = re.compile(r"\s[|\N{MIDDLE DOT}\N{BULLET}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}]\s")
#: The rest of a word, in scripts with spaces between words: those before the ideographs, and Hangul.
_WORD_END = re.compile("[^\\W\\d_\N{CJK RADICAL REPEAT}-\N{YI RADICAL KE}]*")
#: The rest of a sentence that ends as a question.
_QUESTION = re.compile(
    "[^.!?\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]{0,60}"
    "[?\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]"
)
#: Limits for a statement about the page itself: characters before words of absence, words since the last sentence.
_PAGE_CHARS = 14
_LEAD_WORDS = 4
#: Characters before a phrase that may contain a word like "may".
_GUESS_CHARS = 24
#: French requests have the letters of the participle: "supprimez", "supprimer" and "supprimé".
_INFINITIVE_ENDING = re.compile(r"e(?:r|z|ns)\b")
#: The name of a host, between "the domain" and "is for sale".
_HOST = re.compile(r"(?<![\w.-])[\w-]++(?:\.[\w-]++)+")
#: The years of a site, not of an object.
_COPYRIGHT = re.compile(r"(?:\u00a9|\(c\)|copyright)[^\d.]{0,30}(?:\d{4}\W{0,3}){1,2}", re.IGNORECASE)
#: The class of an exception with its package, or a place in a source file, in plain form: signs of a failed program.
#: ``bioterror: a history`` is none.
_PROGRAM_ERROR = re.compile(
    r"(?<![\w.])(?:[a-z]\w*+\.){2,}+\w*(?:(?<=exception)|(?<=error))\b"
    r"|(?<![\w.])\w{3,40}(?:(?<!biot|bert|tert|ecot|rcot)error|exception)(?: at /|: )"
    r"|\b(?:view|class|module|template|table|column|function|method) \W?\w{1,40}[.\\:][\w.\\:/-]{0,60}[\]'\"`] "
    r"(?:was )?(?:not found|does(?:n't| not) exist)"
    r"|\b(?:enoent|eacces|emfile|eai_again|enotfound|econnrefused|econnreset|etimedout)\b|\(node:|\bgoroutine \d|panicked at '"
    r"|\.(?:java|kt|scala|cs|vb|php|py|r[bs]|m?js|e(?:js|rb)|ts|vue|p[lm]|cgi|go|[aj]spx?|inc|cfm|twig|phtml)(?::|\W{0,3}\s(?:on|at)\sline\s|\W{1,2}\sline\s|\sline\s)\d"
)
_ERROR_STATUS = re.compile(r"(?<!\w)[45]\d\d(?!\w)")
#: The reason phrases of errors, by status; the last ones are those of servers and of other versions of Python.
_REASON_PHRASES = (
    *((str(status.value), plain(status.phrase)) for status in HTTPStatus if status >= 400 and status != 404),
    ("401", "authorization required"),
    ("403", "access denied"),
    ("413", "content too large"),
    ("413", "payload too large"),
    ("413", "request entity too large"),
    ("414", "request-uri too long"),
    ("414", "uri too long"),
    ("416", "range not satisfiable"),
    ("422", "unprocessable"),
)
_SERVER_STATUS = re.compile(r"(?:http |error |status )*(?:50[0234]|52[0-6])(?: error)?")
#: The value of a variable that a program did not set, in place of a page or of its title.
_UNSET = frozenset({"undefined", "null", "nan", "[object object]", "[]", "{}"})
#: A year that is no port, postcode or version: "Under maintenance: locomotives, 1951".
OLD_YEAR = re.compile(r"(?<![\w.:/-])1[5-9]\d\d(?![\w:])")
#: A number of an object: a year, a shelf mark, an extent.
_LONG_NUMBER = re.compile(r"\d\d")
_CLAUSE_END = re.compile(
    "[.!?|:;\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}]|" + TITLE_PARTS.pattern
)
_404_TITLE = re.compile(r"\W*404\b(?!\s*+(?:-\s*+)?(?:p|pages|leaves)\b)")
#: A log-in title may continue for this number of letters.
_MORE_OF_TITLE = 25


@dataclass(frozen=True, eq=False)
class PageWords:
    """The parts of an answer that contain notices: its title, its first text, its headings."""

    title: str = ""
    text: str = ""
    headings: tuple[str, ...] = ()

    @cached_property
    def is_short(self) -> bool:
        """True if the text has fewer than `NOTICE_CHARS` characters, as that of a notice has."""
        return len(self.text) < NOTICE_CHARS

    @property
    def is_one_message(self) -> bool:
        """True if the text, without the title, has at most 300 characters, like one message."""
        return len(self.body) <= _FEW_WORDS_CHARS

    @cached_property
    def title_parts(self) -> tuple[str, ...]:
        """The parts of the title, usually of page and site."""
        return tuple(TITLE_PARTS.split(self.title))

    @cached_property
    def body(self) -> str:
        """The text without the title at the beginning."""
        return self.text.removeprefix(self.title)

    @cached_property
    def opening(self) -> str:
        """The beginning of the text, and the other headings, with full stops between them."""
        opening = self._with_stops(self.body[:OPENING_CHARS].lstrip())
        further_headings = (heading for heading in self.headings if heading not in opening)
        return ". ".join((opening, *further_headings))

    def _with_stops(self, text: str) -> str:
        """Return *text* with a full stop after each heading, and after its title before another sentence."""
        rest = text.removeprefix(self.title).lstrip()
        if rest[:1].isupper() and rest != text.lstrip():
            text = f"{self.title}. {rest}"
        for heading in self.headings:
            text = text.replace(heading, f"{heading}. ", 1)
        return text

    @cached_property
    def beginning(self) -> str:
        """The title and the opening, in plain form."""
        return plain(f"{self.title}. {self.opening}" if self.title else self.opening)

    @cached_property
    def _sentences(self) -> str:
        """The title, and as much of the text as a notice has, with a full stop after the title and each heading."""
        return f"{self.title}. {self._with_stops(self.text[:NOTICE_CHARS])}"

    @cached_property
    def notice(self) -> str:
        """The title and the first `NOTICE_CHARS` characters of the text, in plain form."""
        return plain(self._sentences)

    # -- absence

    @cached_property
    def is_closed_in_region(self) -> bool:
        """True if a short page says that its content is not shown in our region, and reports no other absence."""
        is_regional = self.is_short and quirks().regional.is_in_plain(self.notice)
        return is_regional and not quirks().not_found.is_in_plain(self.beginning)

    @cached_property
    def absence(self) -> str | None:
        """The first phrase such as "not found" in title or opening, with 40 characters before it; or None."""
        phrase = _absence_phrase(self.beginning)
        if phrase is None:
            return None
        return self.beginning[max(0, phrase.start - _LEADING_WORDS) : phrase.end]

    @cached_property
    def not_found_in_title(self) -> str | None:
        """The phrase in the title that reports an absence, or None. None also if the page is closed in our region."""
        return None if self.is_closed_in_region else says_not_found(self.title)

    @cached_property
    def not_found_in_opening(self) -> str | None:
        """The phrase in the opening that reports an absence, or None."""
        return says_not_found(self.opening)

    @cached_property
    def is_titled_by_word(self) -> bool:
        """True if the title is only a phrase of absence, such as "404"; records may have such titles too."""
        title = plain(self.title_parts[0])
        match = quirks().not_found.match(title)
        return title == "404" or (match is not None and match.end == len(title))

    @cached_property
    def is_absence_repeated(self) -> bool:
        """True if the opening still reports an absence after the first part of the title is removed from it."""
        rest = plain(self.opening).replace(plain(self.title_parts[0]), " ")
        return says_not_found(rest) is not None

    @cached_property
    def is_titled_absent(self) -> bool:
        """True if the title only reports that a page or an object was not found."""
        return is_notice(self.title)

    def says_more(self, own_text: str) -> bool:
        """Return True if *own_text*, the text or a part of it, has a digit and other words besides the title.

        The digit may be that of the year or shelf mark of a record that is called "Not found". The result is False if
        these words report an absence.
        """
        rest = self._text_beside_title(own_text)
        if not any(map(str.isdigit, rest)) or says_not_found(rest) is not None:
            return False
        return _letters_beside_absence(rest) > _FEW_LETTERS

    def says_only_in_title(self, words: str) -> bool:
        """Return True if the text has *words* at most in the title, and `says_more` holds for the text."""
        return words not in self._text_beside_title(self.text) and self.says_more(self.text)

    def says_other(self, own_text: str) -> bool:
        """Return True if *own_text*, the text or a part of it, has more than 20 letters besides the title."""
        return sum(map(str.isalpha, self._text_beside_title(own_text))) > _FEW_WORDS_LETTERS

    def message(self, own_text: str) -> str | None:
        """Return *own_text* (the text or a part of it) without the title, in plain form, if it is a message, or None.

        A message is short, has no table, and speaks of "this" object. Without a number in it and the title, it may also
        speak of a page or a request, or the page may have a `known_phrase`.
        """
        words, vocabulary = " ".join(self._text_beside_title(own_text).split()).strip(" |"), quirks().this_object
        if not self.is_one_message or not words or "|" in words:
            return None
        if vocabulary.this_object.search(words):
            return words
        is_about_request = vocabulary.page.is_in_plain(words) or vocabulary.requested.is_in_plain(words)
        numbered_text = words + ARK_OR_URL.sub(" ", self.title).replace("404", " ")
        is_message = is_about_request or self.known_phrase is not None
        return words if is_message and not any(map(str.isdigit, numbered_text)) else None

    def _text_beside_title(self, own_text: str) -> str:
        rest = plain(_COPYRIGHT.sub(" ", ARK_OR_URL.sub(" ", own_text))).replace(" 404 ", " ")
        for part in (self.title, *self.title_parts):
            rest = rest.replace(plain(part), " ")
        return rest

    @cached_property
    def is_all_absence(self) -> bool:
        """True if the text is short, and its first phrase of absence follows a noun for objects: "record not found"."""
        plain_text = plain(self.body)
        phrase = next(quirks().not_found.in_plain(plain_text), None)
        if phrase is None or len(plain_text) > _FEW_WORDS_CHARS:
            return False
        lead = plain_text[max(0, phrase.start - _LEADING_WORDS) : phrase.start]
        return quirks().this_object.object_nouns.is_in_plain(lead)

    @cached_property
    def is_only_fault(self) -> bool:
        """True if the text, without the title, is only a message such as "No record"."""
        body = self.body.strip()
        return 0 < len(body) <= _LABEL_CHARS and is_fault(body)

    @cached_property
    def is_loading(self) -> bool:
        """True if the title reports no error, and the other text is empty or only a message such as "Loading"."""
        if self.is_titled_absent or is_fault(self.title) or says_not_found(self.title):
            return False
        body, vocabulary = plain(self.body), quirks()
        if not any(map(str.isalnum, body)):
            return True
        if not vocabulary.loading.is_in_plain(body) or _absence_phrase(body) is not None or "404" in body:
            return False
        rest = _without_phrases(body, (vocabulary.loading, 0), (vocabulary.this_object.filler, 0))
        return sum(map(str.isalpha, rest)) <= 2 * _FEW_LETTERS

    @cached_property
    def known_phrase(self) -> str | None:
        """The first phrase in `notice` for an absence, a fault, a pause or a withdrawal, or None."""
        vocabulary = quirks()
        vocabularies = (
            vocabulary.not_found,
            vocabulary.not_available,
            vocabulary.no_longer,
            vocabulary.pauses_and_faults,
            vocabulary.words_of_withdrawal,
        )
        return next(filter(None, (phrases.first_in(self.notice) for phrases in vocabularies)), None)

    def guessed_withdrawal(self, own_text: str) -> str | None:
        """Return the first phrase of withdrawal, such as "removed", in *own_text* (a part of the text), or None.

        Its sentence is about the requested object, or guesses about "this" object: "This item may have been removed."
        None also if `says_more` holds for *own_text*.
        """
        object_words, withdrawal_phrases = quirks().this_object, quirks().words_of_withdrawal
        if self.says_more(own_text):
            return None
        for sentence in sentences(self._with_stops(own_text)):
            is_asked_for = object_words.requested.is_in_plain(sentence)
            if is_asked_for or object_words.this_object.search(sentence):
                candidates = (
                    phrase.words
                    for phrase in withdrawal_phrases.in_plain(sentence)
                    if is_asked_for or not _is_sure(sentence, phrase)
                )
                if words := next(candidates, None):
                    return words
        return None

    def has_no_known_phrase(self, own_text: str) -> bool:
        """Return True if `known_phrase` is None, and *own_text*, the text or a part of it, has more than a few letters."""
        return self.says_other(own_text) and self.known_phrase is None

    @cached_property
    def unused_host(self) -> str | None:
        """The phrase of a default page, such as "It works!", in the title or, on a short page, in the opening; or None."""
        return quirks().idle.first_in(plain(_HOST.sub(" ", self.beginning if self.is_short else self.title)))

    @cached_property
    def withdrawn(self) -> str | None:
        """The first definite words about a withdrawal at the beginning of the page, or None."""
        return sure_words(quirks().withdrawn, self.beginning)

    # -- faults and closed pages

    @property
    def is_unset(self) -> bool:
        """True if the whole text, or both title and first heading, are an unset variable, such as "undefined"."""
        names = {plain(part) for part in (self.title_parts[0], *self.headings[:1])}
        are_unset = all(is_unfilled(name) or name in _UNSET - {"null"} for name in names)
        return plain(self.text) in _UNSET or (len(self.headings) > 0 and are_unset)

    @cached_property
    def temporary_fault(self) -> str | None:
        """The phrase, program error or status that reports a fault or a pause of the site, or None.

        A phrase does not count on a page that also reports an absence.
        """
        return (
            self._words_unless_absent(quirks().pauses_and_faults)
            or self._program_error
            or self._outage
            or self._fault_as_name
        )

    @cached_property
    def pause(self) -> str | None:
        """The phrase that says that site or object are unavailable for a time, or None. None also if an absence is reported."""
        return self._words_unless_absent(quirks().pause)

    @property
    def _program_error(self) -> str | None:
        error = _PROGRAM_ERROR.search(self.beginning) if self.is_short else None
        return error[0] if error else None

    @property
    def _outage(self) -> str | None:
        """The error status in title or headings, or the phrase about a missing site or part of its software; or None.

        None also if the page is long, or has other numbers, as the record of an object has.
        """
        titles = (*self.title_parts[:1], *self.headings[:1])
        words = next(filter(_SERVER_STATUS.fullmatch, map(plain, titles)), None) or self._status_with_reason
        status = words[:3] if words else None
        if words is None and self.absence is None:
            absences = chain(
                quirks().not_found.in_plain(self.beginning), quirks().not_available.in_plain(self.beginning)
            )
            words = next((phrase.words for phrase in absences if _is_of_site(self.beginning, phrase)), None)
        if words is None or not self.is_short:
            return None
        rest = plain(self.body).replace(words, " ")
        return None if self.says_more(rest.replace(status, " ") if status else rest) else words

    @property
    def _fault_as_name(self) -> str | None:
        """The words of a fault, such as "Error", as title and first heading of a page that reports no absence; or None.

        None also if the page has a number, such as a year or shelf mark. It may be about an object with such a title.
        """
        name = plain(self.title_parts[0])
        if name not in map(plain, self.headings[:1]) or not is_fault(name):
            return None
        is_object = self.absence is not None or _LONG_NUMBER.search(self._text_beside_title(self.text)) is not None
        return None if is_object else name

    @property
    def _status_with_reason(self) -> str | None:
        """The error status and reason phrase in title or headings, such as "403 forbidden", or None. 404 does not count."""
        headline = plain(" ".join((self.title, *self.headings[:2])))
        statuses = frozenset(_ERROR_STATUS.findall(headline))
        return next(
            (f"{status} {phrase}" for status, phrase in _REASON_PHRASES if status in statuses and phrase in headline),
            None,
        )

    def _words_unless_absent(self, phrases: Phrases) -> str | None:
        if not self.is_short or quirks().not_found.is_in_plain(self.beginning):
            return None
        candidates = (
            phrase
            for phrase in phrases.in_plain(self.beginning)
            if _is_sure(self.beginning, phrase) and not self._is_after_object(self.beginning[: phrase.start])
        )
        statements = (phrase.words for phrase in candidates if not self.beginning.startswith("?", phrase.end))
        return next((words for words in statements if not self._is_title_of_old_object(words)), None)

    def _is_after_object(self, lead: str) -> bool:
        """Return True if the page names an object, and *lead*, the text before a notice, has more than title and headings."""
        for part in (self.title, *self.headings):
            lead = lead.replace(plain(part), " ")
        return sum(map(str.isalpha, lead)) > _LEAD_LETTERS / 2 and self._is_named()

    def _is_title_of_old_object(self, words: str) -> bool:
        """Return True if the text has a year before 2000, and the page names an object or has *words* only in the title."""
        return OLD_YEAR.search(self.text) is not None and (self._is_named() or self.says_only_in_title(words))

    @cached_property
    def fault_of_request(self) -> str | None:
        """The first phrase in `notice` that blames the request or the server's configuration, not the name; or None."""
        return quirks().about_request.phrase.first_in(self.notice)

    def reason_of_refusal(self, control: PageWords | None) -> str | None:
        """Return the first definite phrase of withdrawal or restriction that the page of *control* lacks, or None."""
        reasons = (quirks().withdrawn, quirks().restricted)
        return next(filter(None, (sure_words(phrases, self.notice, control) for phrases in reasons)), None)

    @cached_property
    def closed_until(self) -> str | None:
        """The words about the end of a closure: "until 1 May 2028"; None also on a page about programs or permissions."""
        until = quirks().closure.end.search(bare(self.notice))
        return until[0] if until and not quirks().check.refusing.is_in_plain(self.notice) else None

    @cached_property
    def is_titled_log_in(self) -> bool:
        """True if a part of the title begins or ends with a phrase such as "Log in", and has at most 25 other characters."""
        login = quirks().login
        return any(
            len(part) - (phrase.end - phrase.start) <= _MORE_OF_TITLE and (phrase.start == 0 or phrase.end == len(part))
            for part in TITLE_PARTS.split(plain(self.title))
            for phrase in chain(login.title.in_plain(part), login.choice.in_plain(part))
        )

    @property
    def is_choice_of_institution(self) -> bool:
        """True if the page has a log-in title, and asks for the institution of the reader."""
        asks = self.is_short and quirks().login.choice.is_in_plain(self._text_beside_title(self.text))
        return asks and self.is_titled_log_in

    # -- comparison with the control's page

    def first_absence(self, own_text: str, name: str, control: PageWords | None) -> str | None:
        """Return the phrase of absence in the first statement of *own_text* (the text without the site's), or None.

        A page about an object begins with the object; statements about its parts come later. Names of the object
        (*name*) and of the site, apologies, faults, and text that the *control*'s page has too are no statements. Headings
        are skipped too, but below them only the absence of "this" or the requested object counts.
        """
        if not self.is_short:
            return None
        control_text = f"{control.title} {control.text}" if control is not None else ""
        plain_control = plain(control_text)
        headings, is_headed = set(map(plain, self.headings)), False
        skipped_sentences = {plain(part) for part in self.headings if part in control_text}
        skipped_sentences.update(part for part in map(plain, self.title_parts) if not _is_report(part))
        is_named = self._is_named(control_text) or any(map(_absence_phrase, self._object_titles(control_text)))
        text = self._with_stops(ARK_OR_URL.sub(" ", own_text.removeprefix(self.title).strip().replace(name, " ")))
        for heading in self.headings:  # the end of the site's part may come before it
            text = text.replace(f" {heading}. ", f". {heading}. ", 1)
        text, plain_own = text.replace(" | ", ". "), plain(own_text)
        for sentence in sentences(text):
            if sentence in skipped_sentences:
                continue
            if sentence == "404":
                return sentence
            phrase = _absence_phrase(f"{sentence}?" if f"{sentence}?" in plain_own else sentence)
            if phrase is not None:
                rest = plain_own.replace(sentence, " ")
                is_report = self._is_about_request(sentence, phrase, rest, is_headed=is_headed, is_named=is_named)
                return phrase.words if is_report else None
            if quirks().pauses_and_faults.is_in_plain(sentence) or is_fault(sentence):
                continue
            if sentence.rstrip(" .") in plain_control:
                continue
            if _letters_beside_absence(sentence) > _FEW_LETTERS or OLD_YEAR.search(sentence):
                if sentence not in headings:
                    return None
                is_headed = True
        return None

    def _is_about_request(
        self, sentence: str, phrase: PhraseMatch, remainder: str, *, is_headed: bool, is_named: bool
    ) -> bool:
        """Return True if a sentence with words of absence is about the requested object, and not about a part of it.

        *remainder* is the text without the sentence. Below a heading that is not the object's name, "the page" is that of
        the site, and "the third page" one of the object.
        """
        object_words = quirks().this_object
        is_requested = object_words.requested.is_in_plain(sentence)
        is_about_this = is_requested or not is_headed or object_words.this_object.search(sentence) is not None
        if _letters_beside_absence(sentence[: phrase.start]) > (_LEAD_LETTERS if is_about_this else _FEW_LETTERS / 2):
            return False
        is_strong = quirks().not_found.is_in_plain(phrase.words) or object_words.page.is_in_plain(sentence)
        names_thing = is_about_this or object_words.object_nouns.is_in_plain(sentence[: phrase.end])
        if not names_thing or (not is_strong and self.says_more(remainder)):
            return False
        return is_requested or not is_named or not (_letters_beside_absence(sentence) or self.says_other(remainder))

    def _object_titles(self, control_text: str = "") -> list[str]:
        """Return the parts of the title that may name an object: not those in *control_text*, and no fault."""
        parts = (plain(part) for part in self.title_parts if part not in control_text and not is_fault(part))
        return [part for part in parts if _letters_beside_absence(part) > _FEW_LETTERS and not _is_report(part)]

    def _is_named(self, control_text: str = "") -> bool:
        """Return True if a heading contains a part of the title that may name an object (`_object_titles`)."""
        return any(title in plain(heading) for title in self._object_titles(control_text) for heading in self.headings)

    @cached_property
    def words_of_withdrawal(self) -> frozenset[str]:
        """The quoted words of each statement of a withdrawal in title, headings and the beginning of the text."""
        withdrawals = withdrawals_in(self.title, self.headings, self.text[:NOTICE_CHARS])
        return frozenset(withdrawal.words for withdrawal in withdrawals)

    @cached_property
    def sure_words_of_withdrawal(self) -> tuple[tuple[str, bool], ...]:
        """The definite phrases of withdrawal, such as "removed", in the notice.

        Each comes with True, or with False if its sentence makes it a condition, negation, wish or guess.
        """
        return tuple(
            (phrase.words, not is_no_fact(bare(sentence[: phrase.start])))
            for sentence in sentences(self._sentences)
            for phrase in quirks().words_of_withdrawal.in_plain(sentence)
            if _is_sure(sentence, phrase) and not _INFINITIVE_ENDING.match(sentence, phrase.end - 1)
        )

    def word_of_withdrawal(self, control: PageWords | None) -> str | None:
        """Return the first phrase that states a withdrawal as a fact, and that the page of *control* lacks; or None.

        Its sentence need not name the object.
        """
        control_words = {words for words, _ in control.sure_words_of_withdrawal} if control is not None else set()
        stated_words = (words for words, is_fact in self.sure_words_of_withdrawal if is_fact)
        return next((words for words in stated_words if words not in control_words), None)

    def withdrawals(self, own_text: str, name: str, control: PageWords | None) -> Iterator[Withdrawal]:
        """Return the statements of a withdrawal in title, headings and *own_text* that the page of *control* lacks.

        *name* is a name of the object. A statement that uses it is about the object.
        """
        control_words = frozenset() if control is None else control.words_of_withdrawal
        names = (*self.title_parts, *self.headings, name)
        first_sentences = own_text.removeprefix(self.title)[:FIRST_SENTENCES_CHARS]
        return withdrawals_in(self.title, self.headings, first_sentences, names=names, control_phrases=control_words)


def is_notice(title: str) -> bool:
    """Return True if a part of a title only reports that a page or an object was not found.

    >>> is_notice("Page not found | Harbour Libraries"), is_notice("Paradise Not Found: a novel")
    (True, False)
    """
    for part in TITLE_PARTS.split(plain(title)):
        if _absence_phrase(part) is None and not re.search(r"\b404\b", part):
            continue
        rest = _without_phrases(part, *_words_of_absence(), (quirks().this_object.filler, 0))
        if not any(map(str.isalpha, rest)):
            return True
    return False


def is_fault(title: str) -> bool:
    """Return True if a part of the title of a record consists of words for an absence or a fault.

    >>> [is_fault(title) for title in ("Record not found", "No metadata | Harbour", "Error : a novel")]
    [True, True, False]
    """
    parts = _SITE_PARTS.split(plain(ARK_OR_URL.sub(" ", title)))
    return any(all(map(_is_fault, TITLE_PARTS.split(part))) for part in parts if part)


def _is_fault(part: str) -> bool:
    """Return True if a *part* of a title is nothing but the report of a fault, a pause or an absence."""
    if is_notice(part):
        return True
    vocabulary, title_phrases = quirks(), quirks().fault_title.phrase
    faults = (vocabulary.pauses_and_faults, title_phrases, vocabulary.not_found, vocabulary.not_available)
    if not any(phrases.is_in_plain(part) for phrases in faults):
        return False
    ignorable_phrases = (vocabulary.fault_title.beside, vocabulary.this_object.filler, vocabulary.saying)
    removed = [(phrases, 0) for phrases in (*faults, *ignorable_phrases)]
    return not any(map(str.isalpha, _without_phrases(part, *removed, *_words_of_absence()[2:])))


def _words_of_absence() -> tuple[tuple[Phrases, int], ...]:
    """Return phrases for absences, absent things and requests, with the maximum number of letters of an ending."""
    vocabulary = quirks()
    object_phrases = (vocabulary.this_object.object_nouns, 3), (vocabulary.this_object.requested, 6)
    return ((vocabulary.not_found, 9), (vocabulary.not_available, 9), *object_phrases)


def _without_phrases(text: str, *phrases_and_limits: tuple[Phrases, int]) -> str:
    """Return *text* in plain form without phrases, such as "not found".

    A phrase may be the beginning of a longer word. Then it is removed with the rest of the word, or kept if the rest has
    more letters than the limit beside its phrases.
    """
    rest = plain(text)
    for phrases, longest_ending in phrases_and_limits:
        for phrase in reversed(list(phrases.in_plain(rest))):
            ending = _WORD_END.match(rest, phrase.end)
            end = ending.end() if ending else phrase.end
            if end - phrase.end <= longest_ending:
                rest = f"{rest[: phrase.start]} {rest[end:]}"
        rest = plain(rest)
    return rest


def _letters_beside_absence(text: str) -> int:
    """Return the number of letters in a text, without words of absence, of absent things, and function words.

    A wide letter counts as three, because a title in Chinese may have only four.
    """
    function_words = ((phrases, 0) for phrases in (quirks().this_object.filler, quirks().saying))
    rest = _without_phrases(text, *_words_of_absence(), *function_words)
    return sum(3 if east_asian_width(letter) in "WF" else 1 for letter in rest if letter.isalpha())


@lru_cache(maxsize=512)  # the pages of a site repeat titles and headings
def _absence_phrase(text: str) -> PhraseMatch | None:
    """Return the first words of absence in *text* that are not an offer of help, such as "can't find it? Ask us"."""
    plain_text = plain(text)
    for phrase in quirks().not_found.in_plain(plain_text):
        if not _is_offer(plain_text, phrase) and not _is_of_site(plain_text, phrase):
            return phrase
    if any(phrases.is_in_plain(plain_text) for phrases in (quirks().pauses_and_faults, quirks().regional)):
        return None
    weak_phrases = quirks().not_available.in_plain(plain_text)
    return next((phrase for phrase in weak_phrases if not _is_of_site(plain_text, phrase)), None)


def _is_report(part: str) -> bool:
    """Return True if a part of a title reports an absent thing: "resource record not found", not "paradise not found"."""
    phrase = _absence_phrase(part)
    if phrase is None or _letters_beside_absence(part) > _FEW_WORDS_LETTERS:
        return False
    rest = part.replace(phrase.words, " ")
    return _without_phrases(rest, (quirks().this_object.object_nouns, 3)) != plain(rest)


def _is_of_site(plain_text: str, phrase: PhraseMatch) -> bool:
    """Return True if the clause around a phrase of absence names a site or a part of its software, and no page or object.

    The subject is before the words, in them, or after a verb: "session not found", "can't find the database".
    """
    end = phrase.end + (_LEADING_WORDS if phrase.words.endswith(("find", "locate")) else 0)
    *_, lead = _CLAUSE_END.split(plain_text[max(0, phrase.start - _LEADING_WORDS) : phrase.start])
    clause = plain(lead + _CLAUSE_END.split(plain_text[phrase.start : end])[0])
    without_sites = _without_phrases(clause, (quirks().site, _LEADING_WORDS))
    return without_sites != clause and not quirks().this_object.object_nouns.is_in_plain(without_sites)


def _is_offer(plain_text: str, phrase: PhraseMatch) -> bool:
    """Return True if words of absence belong to a question that offers help, without a statement before it.

    "Can't find it? Ask us" is an offer; "Page not found Did you follow a link?" is not.
    """
    question = _QUESTION.match(plain_text, phrase.end)
    if question is None or quirks().this_object.asking.is_in_plain(question[0]):
        return False
    lead = plain_text[max(0, phrase.start - _PAGE_CHARS) : phrase.start]
    sentence = plain_text[: phrase.start].rpartition(".")[2]
    return not (quirks().this_object.page.is_in_plain(lead) and sentence.count(" ") <= _LEAD_WORDS)


def says_not_found(text: str) -> str | None:
    """Return the words of a title or an opening that report an absence, in one of many languages.

    >>> says_not_found("Seite nicht gefunden"), says_not_found("404 | Library"), says_not_found("Ms. 404")
    ('nicht gefunden', '404', None)
    """
    phrase = _absence_phrase(text)
    if phrase:
        return phrase.words
    plain_text = plain(text)
    status_match = _404_TITLE.match(plain_text) if len(plain_text) < 120 else None
    return status_match[0].strip() if status_match else None


def sure_words(phrases: Phrases, text: str, control: PageWords | None = None) -> str | None:
    """Return the first of *phrases* in *text* that is no guess (`_is_sure`), and not on the *control*'s page, or None."""
    plain_text = plain(text)
    control_parts = (control.notice, control.text) if control else ()
    control_phrases = {phrase.words for part in control_parts for phrase in phrases.all_in(part)}
    sure_phrases = (phrase.words for phrase in phrases.in_plain(plain_text) if _is_sure(plain_text, phrase))
    return next((words for words in sure_phrases if words not in control_phrases), None)


def _is_sure(plain_text: str, phrase: PhraseMatch) -> bool:
    """Return True if a phrase is definite, unlike "may have been removed" or "removed, or renamed"."""
    words_before = (
        f"{_without_phrases(plain_text[max(0, phrase.start - _GUESS_CHARS) : phrase.start], (quirks().cannot, 0))} "
    )
    guess_phrases = quirks().unsure.all_in(words_before)
    # "K\u00f6nnte" is a guess, and "konnte" is none.
    is_guess = any(words_before[guess.end] == " " and guess.words != "konnte" for guess in guess_phrases)
    return not is_guess and not is_one_of_several(plain_text[phrase.end :])
