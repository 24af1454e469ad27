"""Gather the facts that show if an object was reached, from its answer and the answer to a control.

A control is a request for a name that can't exist, at the same resolver. An answer that it gets too proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property

from crawler.answers.answer import are_incomparable
from crawler.answers.claims import identifies_itself_in
from crawler.answers.facts import DESCRIBING, UNKNOWN_STATUSES, AnswerFacts, AnswersByQuestion
from crawler.answers.likeness import (
    differs_at_random,
    has_nothing_of_its_own,
    last_part,
    own_words,
    same_answer,
    same_page,
)
from crawler.answers.notices import OLD_YEAR, PageWords, says_not_found, sure_words
from crawler.answers.quirks import NOTICE_CHARS, OPENING_CHARS, plain, quirks
from crawler.answers.withdrawals import Withdrawal, sentences, speaks_of_withdrawal
from crawler.model.observations import ACCESS, ObjectOutcome
from crawler.model.resolving import path_of_resolver, same_host
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL, NotAnArk
from extractors.model.urls import authority_of, split_url

#: This number of other ARKs at the same URL supports another sign. It proves nothing: one page may serve many objects.
MANY_NEIGHBOURS = 2
#: A page with words of absence is doubted if the host describes this number of other objects.
ENOUGH_DESCRIBED_ARKS = 2
#: Outcomes of a host that refuses a name that can't exist.
_REFUSED = (ObjectOutcome.BROKEN, ObjectOutcome.SERVER_ERROR)


#: The year of a withdrawal within a sentence: "withdrawn by its owner on 2 May 2016".
_YEAR = re.compile(r"[^.;|\u00a9]{0,120}?\b(?:19|20)\d\d\b")
#: The usual offer of a file: "Download PDF (412 kB)".
_FILE = re.compile(r"\bpdf\b|\bepub\b|\d\s?(?:[kmg]i?b|[kmg]o)\b")
_PARTS = re.compile(r"[.,;()!?](?=\s|\Z)|(?<=\s)\(")
_TOMBSTONE = re.compile(r"/tombstones?(?:/|\.\w+\Z|\Z)", re.IGNORECASE)
#: Separators in the title of a tombstone: those of any title, and a colon after a label ("Withdrawn: a dataset").
_TOMBSTONE_PARTS = re.compile(r"(?:(?<!\s)\s++)?+[|:\u2013\u2014\u00b7]\s|\s-\s|\s:|\Z")
#: Maximum distance between words about a region and the thing that is not shown there.
_BEFORE_CHARS = 60


def equal_control(answer: AnswerFacts, controls: Sequence[AnswerFacts]) -> AnswerFacts | None:
    """Return the first of *controls* (answers to a repeated control) that is the same as *answer*, or None.

    Two log-in pages count as the same.
    """
    return next(
        (
            control
            for control in controls
            if (answer.asks_to_log_in and control.asks_to_log_in) or same_answer(answer, control)
        ),
        None,
    )


class ControlContrast(StrEnum):
    """The reply to a name that can't exist, compared with a successful answer."""

    THE_SAME = "the same page"
    ANOTHER = "another page"
    AT_RANDOM = "a different page for each name"
    """Another page, as for a second name that can't exist: the host makes up pages, which prove nothing."""
    NO_OTHER = "a page that differs no more than two copies of the object's page"
    """Another page, but the object's page changes as much: only news or advertisements differ."""
    NOT_COMPARED = "a success that can't be compared"
    """Too little of one of the answers arrived to compare them, so the success proves nothing."""
    REFUSED_THERE = "refused by the host that answers"
    """The host that answers for the object reports missing names, so its success counts."""
    REFUSED_BEFORE = "refused on the way to it"
    """The resolver knows its names. The host that it redirects to may still be unknown."""
    NOTHING = "nothing"
    """The control was not requested, or got no answer."""


class Signs(Enum):
    """The number of signs that a page is an error page."""

    NONE = 0
    ONE = 1
    SEVERAL = 2


@dataclass(frozen=True, eq=False)
class ObjectFacts:
    """The facts of an answer for an object, compared with the answers to controls; each is computed once."""

    answer: AnswerFacts
    control: AnswerFacts | None = None
    neighbour_count: int = 0
    """The number of other ARKs that ended at the same URL in this run."""
    further_answers: Sequence[AnswerFacts] = ()
    """Further answers at the object's address, which show how much its page changes."""
    second_controls: Sequence[AnswerFacts] = ()
    """Answers to second names that can't exist."""
    changed_controls: Sequence[AnswerFacts] = ()
    """Answers to a repeated control that differ from its first answer."""
    copy_count: int = 0
    """The number of other objects whose pages, at other addresses of the host, say and show the same."""
    described_arks: Sequence[str] = ()
    """ARKs of other objects that pages of the host describe; a few, if there are many."""

    @property
    def _control_words(self) -> PageWords | None:
        return self.control.words if self.control is not None else None

    @cached_property
    def control_contrast(self) -> ControlContrast:
        """The reply to the control, compared with the object's answer."""
        answer, control = self.answer, self.control
        if control is None or not control.is_answered:
            return ControlContrast.NOTHING
        if not control.is_success:
            if control.outcome not in _REFUSED:
                return ControlContrast.NOTHING
            if self._shares_text(control, lambda page: page.text or ""):
                return ControlContrast.THE_SAME
            return ControlContrast.REFUSED_THERE if self._reaches(control) else ControlContrast.REFUSED_BEFORE
        if self._is_answered_alike(control):
            return ControlContrast.THE_SAME
        if are_incomparable(answer, control):
            return ControlContrast.NOT_COMPARED
        if any(map(self._is_made_up, self.second_controls)):
            return ControlContrast.AT_RANDOM
        controls = [
            answer_to_control
            for answer_to_control in (control, *self.second_controls)
            if answer_to_control.text is not None
        ]
        is_own = not has_nothing_of_its_own(answer, controls, self.further_answers)
        return ControlContrast.ANOTHER if is_own else ControlContrast.NO_OTHER

    def _shares_text(self, control: AnswerFacts, text_of: Callable[[AnswerFacts], str]) -> bool:
        """Return True if *text_of* the page and of the *control*'s page differ at most in the name.

        False for a text of a few letters.
        """
        own_text, control_text = (
            text_of(page).replace(last_part(page.asked_url), "") for page in (self.answer, control)
        )
        return own_text == control_text and self.answer.words.says_other(own_text)

    @property
    def has_body_for_missing_names(self) -> bool:
        """True if a page of text alone and the page that refuses a name that can't exist differ at most in title and name."""
        if self.control is None or not self._is_text_beside_refusal:
            return False
        return self._shares_text(self.control, lambda page: page.words.body.strip())

    @property
    def _is_text_beside_refusal(self) -> bool:
        """True if the page is text alone, without a description, and a name that can't exist is answered 400, 404 or 410."""
        page, control = self.answer.facts, self.control
        is_text = page.is_only_text and not page.runs_scripts and not page.asks_password and not self.answer.is_record
        is_undescribed = not page.kernel_values and not self.declares_itself
        return control is not None and control.status in UNKNOWN_STATUSES and is_text and is_undescribed

    def _reaches(self, control: AnswerFacts) -> bool:
        """Return True if the *control* got its answer where the object did, not from a resolver before it.

        A resolver may be a part of its host: ``/ark:/12148/x5`` redirects to ``/item/7``.
        """
        url, control_url = self.answer.final_url, control.final_url
        is_resolver_answer = self.answer.is_redirected and LABEL.search(control_url) is not None
        is_before = is_resolver_answer and path_of_resolver(url) != path_of_resolver(control_url)
        return authority_of(url) == authority_of(control_url) and not is_before

    def _is_answered_alike(self, control: AnswerFacts) -> bool:
        """Return True if the control got the same answer, or both pages report an absence in the same sentence.

        Two searches of one site with results are alike too, because such a site searches for unknown names.
        """
        if same_answer(self.answer, control):
            return True
        if self.answer.describes_object and self.answer.facts.kernel_values != control.facts.kernel_values:
            return False
        if self.answer.words.is_titled_absent and self.answer.words.says_more(self.own_words):
            return False  # an object may be called so
        absence, other_absence = self.answer.words.absence, control.words.absence
        if absence is None and other_absence is None:
            is_same_address = self.answer.final_url.partition("?")[0] == control.final_url.partition("?")[0]
            return self.answer.is_search and control.is_search and is_same_address
        if absence is None or other_absence is None:
            return False
        return same_page(absence, other_absence, last_part(self.answer.asked_url), last_part(control.asked_url))

    def _is_made_up(self, second_control: AnswerFacts) -> bool:
        """Return True if two controls got pages that differ from each other as much as from the object's page."""
        control = self.control
        if control is None or not same_host(second_control.asked_url, control.asked_url):
            return False
        if not second_control.is_success or ObjectFacts(second_control, control)._is_answered_alike(control):
            return False
        return differs_at_random(self.answer, control, second_control)

    @cached_property
    def general_answer(self) -> AnswerFacts | None:
        """The answer that the resolver came to give for every name, such as a log-in page, or None.

        The control, a name that can't exist, got it when it was requested again. If no repetition got a usable answer,
        the first one counts. It needs another object with the same final URL, or a log-in page for the object.
        """
        answer = self.answer
        equal_answer = equal_control(answer, self.changed_controls)
        if equal_answer is not None:
            return equal_answer
        if not self.neighbour_count and not answer.asks_to_log_in:
            return None
        has_usable_answer = any(
            repeated_control.is_success or repeated_control.outcome in _REFUSED
            for repeated_control in self.changed_controls
        )
        return None if has_usable_answer else next(iter(self.changed_controls), None)

    @property
    def is_repeated(self) -> bool:
        """True if other objects have this page at other addresses, and it is no app shell."""
        return self.copy_count > 0 and not self.answer.is_left_to_scripts

    @property
    def _is_undescribed(self) -> bool:
        """True if the page is short, and has neither a record nor a labelled value."""
        answer = self.answer
        return answer.words.is_short and not answer.is_record and not answer.facts.kernel_values

    @property
    def notice_among_described(self) -> str | None:
        """The words of absence on a short page without any description, at a host that describes other objects; or None."""
        words = self.answer.words
        if not self._is_undescribed or len(self.described_arks) < ENOUGH_DESCRIBED_ARKS:
            return None
        return words.known_phrase or quirks().tombstone.first_in(plain(". ".join((words.title, *words.headings))))

    @property
    def only_message(self) -> str | None:
        """The words of a page that consists of a message: no labelled value, media or link; or None."""
        answer = self.answer
        is_bare = answer.facts.is_only_text and self._is_undescribed and not answer.is_left_to_scripts
        return answer.words.message(self.own_words) if is_bare and not answer.is_site else None

    @property
    def reason_in_message(self) -> str | None:
        """The part of `only_message` that says why the object is withdrawn or restricted, or None."""
        if self.only_message is None or not self._speaks_of_object:
            return None
        return self.answer.words.reason_of_refusal(self._control_words)

    @property
    def guessed_withdrawal(self) -> str | None:
        """The words of a possible withdrawal on a short page without any description, or None."""
        return self.answer.words.guessed_withdrawal(self.own_words) if self._is_undescribed else None

    @property
    def is_refused_for_control(self) -> bool:
        """True if a name that can't exist is refused."""
        return self.control_contrast in (ControlContrast.REFUSED_THERE, ControlContrast.REFUSED_BEFORE)

    @property
    def asks_any_visitor_to_log_in(self) -> bool:
        """True if the answer is a log-in page.

        Also True if the page has few words and a password field, and is the same for any name.
        """
        answer = self.answer
        is_form = answer.facts.asks_password and answer.words.is_one_message and not self.signs
        is_everybodys = is_form and self.control_contrast is ControlContrast.THE_SAME and not self.is_particular
        return answer.asks_to_log_in or is_everybodys

    @cached_property
    def challenge(self) -> str | None:
        """The name of the robot check in place of the page, or None.

        It is recognized by its own signs, by a title that the control's page has too, or by the address of a detour.
        """
        answer, control = self.answer, self.control
        if answer.challenge or control is None:
            return answer.challenge
        paths = {page.final_url.partition("?")[0] for page in (answer, control)}
        if answer.leads_back and control.leads_back and len(paths) == 1:
            return "a page on the way to any object"
        title = answer.challenge_in_title
        return title if control.challenge_in_title == title and not self.declares_itself else None

    # -- the subject of the page

    @cached_property
    def unechoed_own_locations(self) -> tuple[str, ...]:
        """The locations of the requested ARK on the page, except those where the control's page names the control."""
        own_locations = self.answer.own_locations
        if self.control is None or not own_locations:
            return own_locations
        try:
            echoed_locations = self.control.locations_of(Ark.parse(self.control.asked_url))
        except NotAnArk:
            echoed_locations = ()
        return tuple(location for location in own_locations if location not in echoed_locations)

    @cached_property
    def declares_itself(self) -> bool:
        """True if the page has its own ARK where pages identify themselves, such as a canonical link."""
        return identifies_itself_in(self.unechoed_own_locations)

    @cached_property
    def is_particular(self) -> bool:
        """True if the page declares this ARK (`declares_itself`), or has another description than the control's page.

        A description does not count if the host makes up a page for each name.
        """
        values = self.answer.facts.kernel_values
        control_values = self.control.facts.kernel_values if self.control is not None else {}
        is_described = self.answer.describes_object and values != control_values
        return self.declares_itself or (is_described and self.control_contrast is not ControlContrast.AT_RANDOM)

    # -- error pages

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """Sentences that the answer may be an error page: those of the answer alone, and one by comparison with the control."""
        signs, words = self.answer.signs_of_absence, self.answer.words
        if (
            self.control_contrast is ControlContrast.THE_SAME
            and self._is_text_beside_refusal
            and self.control is not None
        ):
            return (*signs, f"that name gets it with the status {self.control.status}")
        if not signs or self.answer.own_locations or self.control_contrast is not ControlContrast.REFUSED_BEFORE:
            return signs
        if not words.is_all_absence or words.says_more(words.body):
            return signs
        return (*signs, "the page reports this about the requested object, and has little other text")

    @cached_property
    def worth_key(self) -> tuple[ControlContrast, Signs, bool]:
        """The key of the table `WORTH`.

        It is how the page differs from the control's, how many signs of absence it has, and if it is this ARK's own.
        """
        return self.control_contrast, self.weight_of_signs, self.is_particular

    @property
    def weight_of_signs(self) -> Signs:
        """The number of `signs`: none, one or several. Two other ARKs at the same URL make one sign several."""
        if not self.signs:
            return Signs.NONE
        is_supported = len(self.signs) > 1 or self.neighbour_count >= MANY_NEIGHBOURS
        return Signs.SEVERAL if is_supported else Signs.ONE

    @cached_property
    def own_words(self) -> str:
        """The page's text without the beginning and end that it shares with the control's page at the same host."""
        return own_words(self.answer, self.control)

    @property
    def is_site(self) -> bool:
        """True if the resolver redirects this object alone, and no unknown name, to the home page of another host.

        The other answers of that host say nothing about its home page.
        """
        return (
            self.control_contrast is ControlContrast.REFUSED_BEFORE and self.answer.is_site and not self.neighbour_count
        )

    @property
    def is_page_of_unknown_host(self) -> bool:
        """True if no control reached the answering host, and the ARK is not that of a site."""
        answer = self.answer
        if self.is_site:
            return False
        may_be_general = answer.is_redirected or answer.words.is_titled_absent or answer.words.unused_host is not None
        return may_be_general and self.control_contrast in (ControlContrast.REFUSED_BEFORE, ControlContrast.NOTHING)

    @cached_property
    def only_absence(self) -> str | None:
        """The phrase in the title or the first statement of the page that reports an absence, or None.

        A title such as "404" may be that of an object. It is skipped if the control is refused or gets another page,
        and the text has more than the title.
        """
        if self.answer.is_record or self.answer.describes_object:
            return None
        words = self.answer.words
        if words.is_only_fault:
            return words.body.strip()
        is_idle = words.is_short and not words.says_more(self.own_words) and not self.is_page_of_unknown_host
        if is_idle and words.unused_host:
            return words.unused_host
        is_compared = self.control_contrast in (ControlContrast.REFUSED_THERE, ControlContrast.ANOTHER)
        without_name = self.own_words.replace(self.answer.ark.name, " ")
        may_be_title = words.is_titled_by_word and is_compared and words.says_more(without_name)
        if words.is_titled_absent and not may_be_title:
            return words.not_found_in_title
        return words.first_absence(self.own_words, self.answer.ark.name, self._control_words)

    # -- explanations of the object's absence

    @cached_property
    def withdrawal(self) -> str | None:
        """The words near the beginning of a success that explain the withdrawal of its object, or None.

        On a page that describes an object, only two statements count: in its title or headings, or about "this" object in
        its first sentences. Others may be about a part of the object. Words on the control's page do not count.
        """
        answer, text = self.answer, self.own_words
        is_long, describes = len(text) >= NOTICE_CHARS, answer.is_record or answer.describes_object
        withdrawals = tuple(answer.words.withdrawals(text, answer.ark.name, self._control_words))
        values = answer.facts.kernel_values
        title_of_object = plain(values.get("what", answer.title or "")) if values.keys() & set(DESCRIBING) else ""
        is_repeated = {"title", "text"} <= {withdrawal.part for withdrawal in withdrawals if not withdrawal.is_bare}
        for withdrawal in withdrawals:
            words = withdrawal.words
            if withdrawal.is_bare and not self._is_confirmed(words):
                continue
            if self._is_standard(words) or self._is_retraction(words):
                continue
            if words in title_of_object:
                continue
            if withdrawal.names_object:
                return words
            is_first = withdrawal.part in ("title", "heading")
            if is_long or (describes and not is_first):
                continue
            if self.control_contrast is ControlContrast.REFUSED_THERE or self._speaks_of_object or is_repeated:
                return words
        return None if is_long or describes else self._unanalysed_withdrawal

    @cached_property
    def withdrawal_in_heading(self) -> str | None:
        """The words of a withdrawal in title or headings of a short page, or None.

        None also if the page has an old year, or is about a standard or an article with its file.
        """
        answer = self.answer
        withdrawals = answer.words.withdrawals(self.own_words, answer.ark.name, self._control_words)
        words = next((withdrawal.words for withdrawal in withdrawals if withdrawal.part != "text"), None)
        if words is None or answer.is_record or not answer.words.is_short or OLD_YEAR.search(answer.words.text):
            return None
        return None if self._is_standard(words) or self._is_retraction(words) else words

    @property
    def _unanalysed_withdrawal(self) -> str | None:
        """The words of a withdrawal in a language whose sentences are not analysed, on a page about this object; or None."""
        if not self._speaks_of_object:
            return None
        parts = (self.answer.words.title, self.own_words[:OPENING_CHARS])
        return next(
            filter(None, (sure_words(quirks().unanalysed_withdrawals, part, self._control_words) for part in parts)),
            None,
        )

    def _is_confirmed(self, word: str) -> bool:
        """Return True if the page has words of absence besides *word*, which alone may be an object's title."""
        rest, vocabulary = plain(self.own_words).replace(word, " "), quirks()
        further_phrases = (vocabulary.tombstone, vocabulary.not_found, vocabulary.not_available)
        return any(phrases.is_in_plain(rest) for phrases in further_phrases)

    def _is_retraction(self, words: str) -> bool:
        """Return True if *words* report a retracted article whose file is still available."""
        text, vocabulary = plain(self.own_words), quirks()
        if any(phrases.is_in_plain(text) for phrases in (vocabulary.not_available, vocabulary.not_found)):
            return False
        file_offers = filter(_FILE.search, _PARTS.split(text))
        offers_file = any(not speaks_of_withdrawal(part) for part in file_offers)
        return offers_file and vocabulary.retracted.is_in_plain(words)

    def _is_standard(self, words: str) -> bool:
        """Return True if *words* report that a standard, such as one of ISO, was withdrawn; its record stays."""
        return quirks().standard.is_withdrawn(words, (self.answer.title or "", *self.answer.facts.headings))

    @cached_property
    def tombstone(self) -> str | None:
        """The address, title or sentence by which a success has the form of a repository's tombstone, or None.

        An example is a page at ``/tombstone/id/ark:/12148/btv1b84`` with the title "EZID : unavailable :".
        """
        return self._unavailable or self._tombstone_by_form

    @property
    def _unavailable(self) -> str | None:
        """The words that "this" object is not available, on a page whose title or first heading reports an absence."""
        words, vocabulary = self.answer.words, quirks()
        titles = (words.title, *words.headings[:1])
        knows_name = self.control_contrast in (ControlContrast.REFUSED_THERE, ControlContrast.ANOTHER)
        if not knows_name or not words.is_short or self.is_particular or not any(map(says_not_found, titles)):
            return None
        for sentence in sentences(self.own_words):
            for this in vocabulary.this_object.this_object.finditer(sentence):
                absence = next(vocabulary.not_available.in_plain(sentence[this.end() :]), None)
                if absence and absence.start < _BEFORE_CHARS // 3:
                    return sentence[this.start() : this.end() + absence.end]
        return None

    @property
    def _tombstone_by_form(self) -> str | None:
        answer, phrases = self.answer, quirks().tombstone
        parts = [plain(part).strip() for part in _TOMBSTONE_PARTS.split(answer.title or "")]
        matches = ((part, phrases.match(part)) for part in parts)
        titled = next((part for part, match in matches if match and match.end == len(part)), None)
        path = split_url(answer.final_url).path if answer.is_redirected else ""
        says_so = titled or (answer.words.is_short and phrases.is_in_plain(answer.words.notice))
        if says_so and _TOMBSTONE.search(path):
            return path
        if titled is None or len(parts) == 1 or not answer.own_locations:
            return None
        if not self._is_confirmed(titled) and answer.words.says_other(self.own_words):
            return None  # the title of a picture
        describes = answer.describes_object or answer.is_record or self._is_retraction(titled)
        return None if describes else answer.title

    @cached_property
    def regional(self) -> str | None:
        """The words that forbid showing the object, not the whole site, in our region, or None."""
        answer = self.answer
        if not answer.words.is_short or answer.is_record or answer.describes_object:
            return None
        words = sure_words(quirks().regional, answer.words.notice, self._control_words)
        before = answer.words.notice.partition(words)[0][-_BEFORE_CHARS:] if words else ""
        is_title = words is not None and answer.words.says_only_in_title(words)
        return None if is_title or quirks().site.is_in_plain(before) else words

    @property
    def _speaks_of_object(self) -> bool:
        return self.answer.is_about_ark or quirks().this_object.this_object.search(plain(self.own_words)) is not None

    @cached_property
    def claimed_withdrawal(self) -> str | None:
        """The words by which a not-found page reports that "this" object is withdrawn, or closed in our region, or None."""
        claims = (withdrawal.words for withdrawal in self._withdrawals() if withdrawal.names_object)
        if words := next(claims, None) or self.regional or self._unanalysed_withdrawal:
            return words
        is_controls = self.control is not None and self.control.has_json_tombstone
        return "tombstone" if self.answer.has_json_tombstone and not is_controls else None

    def _withdrawals(self) -> Iterator[Withdrawal]:
        """Return the statements of a withdrawal in title, headings and the first `NOTICE_CHARS` characters of the text."""
        words = self.answer.words
        beginning = words.text[:NOTICE_CHARS]
        return words.withdrawals(beginning, self.answer.ark.name, self._control_words)

    @property
    def _is_claim_about_this_alone(self) -> bool:
        """True if the host also answered the control, without these words, or if the words have a year."""
        control, host = self.control, authority_of(self.answer.final_url)
        there = control.final_url if control is not None and control.is_answered else None
        if there is not None and authority_of(there) == host:
            return True
        claim = self.claimed_withdrawal or ""
        _, _, rest = self.answer.words.notice.partition(claim)
        return bool(_YEAR.search(claim) or _YEAR.match(rest))

    @property
    def _is_of_this_alone(self) -> bool:
        """True if the host answers with another status for a name that can't exist."""
        control = self.control
        if control is None or self.control_contrast not in (ControlContrast.REFUSED_THERE, ControlContrast.ANOTHER):
            return False
        return self._reaches(control) and control.status != self.answer.status

    @property
    def is_in_unknown_language(self) -> bool:
        """True if only this name gets this refusal, and its page has text without any known phrase."""
        return self._is_of_this_alone and self.answer.words.has_no_known_phrase(self.own_words)

    @cached_property
    def explanation(self) -> str | None:
        """The words by which a refusal explains itself for this object, or None (2023, 5.1)."""
        answer, words = self.answer, self.answer.words
        is_404 = answer.status == 404
        if is_404 and self.claimed_withdrawal and self._is_claim_about_this_alone:
            return self.claimed_withdrawal
        word = words.word_of_withdrawal(self._control_words) if answer.status == 410 else None
        if word and self._is_of_this_alone:
            return word
        if not is_404 and (self.regional or answer.has_json_tombstone):
            return self.regional or "tombstone"
        is_this = not is_404 and quirks().this_object.this_object.search(words.notice) is not None
        if not (answer.is_about_ark or is_this or (self._is_of_this_alone and not is_404)):
            return None
        for withdrawal in self._withdrawals():
            return withdrawal.words
        control = self._control_words
        reason = words.reason_of_refusal(control)
        if reason or not self._is_of_this_alone or control is None or words.closed_until == control.closed_until:
            return reason
        return words.closed_until


# -- the answer that counts


def seems_absent(answer: AnswerFacts) -> bool:
    """Return True if a success has signs of an error page, and neither names its ARK nor explains an absence."""
    if not answer.is_reached:
        return False
    facts = ObjectFacts(answer)
    if not facts.signs or facts.is_particular:
        return False
    return not (facts.withdrawal or facts.tombstone or facts.regional)


def reached_answer(answers: AnswersByQuestion) -> AnswerFacts | None:
    """Return the answer that reached the object by the first way of `ACCESS`, or None.

    An answer that may be an error page (`seems_absent`) counts only if there is no other.
    """
    successes = [answers[way] for way in ACCESS if way in answers and answers[way].is_reached]
    if len(successes) < 2:
        return successes[0] if successes else None
    return next((success for success in successes if not seems_absent(success)), successes[0])
