"""Gather the facts that show if an answer to an inflection describes the object.

The answer is compared with that for the object, and with that for a name that can't exist. Its redirects show if the
query was dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from crawler.answers.answer import STRUCTURED, are_incomparable, is_textual
from crawler.answers.claims import identifies_itself_in, subject_of
from crawler.answers.erc import QUESTIONS, missing_code, says_something
from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import ANY_ARK, last_part, likeness, same_answer, same_beginning, same_page
from crawler.answers.notices import is_fault, says_not_found
from crawler.answers.quirks import is_home_page, plain, quirks, without_marks
from crawler.answers.structured import kernel, kernel_keys
from crawler.model.observations import ChainEnd, Family, ObjectOutcome, Observation
from crawler.model.resolving import INFLECTIONS, SUCCESSES, same_host
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk

#: Questions that a page or a structured record must answer to be a description.
ENOUGH_ANSWERS = 3
#: A page at the object's address is the object's page if its sketch is at least this alike.
ENOUGH_LIKENESS = 0.9
#: Minimum length of an object's page in which words of its description are expected, in characters.
ENOUGH_TEXT = 60
#: A word that is not just an article; shorter in scripts in which a letter is a word, or half of one.
_WORD = re.compile(r"[^\W\d_\u2e80-\uffdc]{4,}|[\u2e80-\uffdc]{2}")
#: Characters of who and what whose words are searched for.
_MOST_ANSWER_CHARS = 500
_ORIGIN = re.compile(r"https?://[\w.-]+(?::\d{1,5})?(?![^/?#\s])", re.IGNORECASE)
#: The end of the address of a collection or a list. A longer address may be that of an item in it.
_COLLECTION_PATH = re.compile(r"/(?:collections?|fonds|series|sets?|browse|search)(?:/[^/?#\s]*)?/?\Z", re.IGNORECASE)
_IDENTIFYING_LABELS = frozenset({"where", "id", "@id", "identifier", "success", "pid", "ark", "_target"})


@dataclass(frozen=True, eq=False)
class MetadataFacts:
    """The facts of an answer to an inflection, compared with the answers for the object and the control."""

    answer: AnswerFacts
    object: AnswerFacts
    control: AnswerFacts | None = None
    """The answer to an inflection of a name that can't exist, at the same resolver."""
    changed_controls: Sequence[AnswerFacts] = ()
    """Answers to a repeated control that differ from its first answer."""
    outcome: ObjectOutcome = ObjectOutcome.RESOLVED
    """The outcome of the object. If it was not reached, a record for a name that can't exist makes any record doubtful."""
    copy_count: int = 0
    """The number of other objects with the same answer at another address of the host."""

    @property
    def inflection(self) -> str:
        """The inflection that was requested: ``?info``, ``??`` or ``?``."""
        return INFLECTIONS[self.answer.question]

    @property
    def is_repeated(self) -> bool:
        """True if other objects have the same record, and the record does not name this ARK or its base."""
        subject = self.answer.subject
        return self.copy_count > 0 and not (subject.named_in or subject.names_base)

    # -- the redirects

    @cached_property
    def dropped_at(self) -> str | None:
        """The URL of the hop whose redirect dropped the inflection, or None."""
        inflection, hops = self.inflection, self.answer.hops
        for hop, following in pairwise(hops):
            if hop.url.endswith(inflection) and inflection.strip("?") not in following.url.partition("?")[2]:
                return hop.url
            if inflection in ("?", "??") and hop.url.endswith(inflection) and "?" not in following.url:
                return hop.url
        return None

    @cached_property
    def leads_to_objects_address(self) -> bool:
        """True if the inflection redirects out of the web, to the same address as the object question."""
        is_out = self.answer.end is self.object.end is ChainEnd.NON_WEB
        return is_out and redirect_target(self.answer) == redirect_target(self.object)

    # -- the object again

    @cached_property
    def is_objects_again(self) -> bool:
        """True if the answer is the object's own answer, and not a record that only an inflection returns."""
        return self._may_be_page and is_object_again(self.answer, self.object)

    @property
    def _may_be_page(self) -> bool:
        """True if the answer may be the object's page: it is no ERC, or HTML, or has a title."""
        answer = self.answer
        return not self.is_erc or "html" in (answer.media_type or "") or bool(answer.title)

    @cached_property
    def adds_nothing_to_object(self) -> bool:
        """True if a page with the object's title labels no value (who, what, …) that the object's page does not label.

        A page without any labelled value must also have the URL of the object's page.
        """
        answer, object_answer, labels = self.answer, self.object, self.answer.labelled_questions
        if not answer.title or answer.title != object_answer.title:
            return False
        return labels <= self.object.labelled_questions and (bool(labels) or has_same_address(answer, object_answer))

    # -- the same answer for any name

    @cached_property
    def equals_control(self) -> bool:
        """True if the control, a name that can't exist, gets the same answer.

        If the object was not reached, also True if the control gets a record that names the control.
        """
        if self.control is None:
            return False
        record, control_record = self.answer.record, self.control.record
        if record is None:
            return same_answer(self.answer, self.control)
        names = (last_part(self.answer.asked_url), last_part(self.control.asked_url))
        if control_record is None or _impersonal_values(record, names) == _impersonal_values(control_record, names):
            return control_record is not None
        try:
            invented = Ark.parse(self.control.asked_url.partition("?")[0])
        except NotAnArk:
            return False
        return self.outcome.family is not Family.WORKS and subject_of(control_record, invented).named_in is not None

    # -- too little to compare

    @cached_property
    def may_be_objects_again(self) -> bool:
        """True if the answer has the URL of the object's answer, and too little arrived to compare the two."""
        answer, object_answer = self.answer, self.object
        is_comparable = self._may_be_page and self.object.is_success
        return is_comparable and has_same_address(answer, object_answer) and are_incomparable(answer, object_answer)

    @cached_property
    def may_equal_control(self) -> bool:
        """True if a name that can't exist gets a success too, and too little arrived to compare the two."""
        if self.control is None or not self.control.is_success:
            return False
        answer, control = self.answer, self.control
        if answer.record is None:
            return are_incomparable(answer, control)
        names = (last_part(answer.asked_url), last_part(control.asked_url))
        differences = set(_impersonal_values(control.record or {}, names)) - set(
            _impersonal_values(answer.record, names)
        )
        return not control.body_complete and len(differences) <= 1  # the last value may be cut

    # -- a description

    @property
    def is_erc(self) -> bool:
        """True if the record is an ERC."""
        return "erc" in (self.answer.record or {})

    @cached_property
    def structured_elements(self) -> Mapping[str, str]:
        """The elements of the record in all forms except ERC, by label."""
        elements: dict[str, str] = {}
        for kind in STRUCTURED:
            elements |= (self.answer.record or {}).get(kind, {})
        return elements

    @cached_property
    def answers(self) -> Mapping[str, str]:
        """The record's answers to who, what, when and where."""
        return (self.answer.record or {})["erc"] if self.is_erc else kernel(self.structured_elements)

    @cached_property
    def answered_questions(self) -> tuple[str, ...]:
        """The questions (who, what, when, where) that the record answers."""
        return tuple(question for question in QUESTIONS if says_something(self.answers.get(question, "")))

    @cached_property
    def informative_questions(self) -> tuple[str, ...]:
        """The answered questions other than ``where`` whose answer is no placeholder, such as "unknown" or "WHO"."""
        questions = (question for question in self.answered_questions if question != "where")
        return tuple(question for question in questions if not is_unknown(self.answers[question]))

    @property
    def is_record_of_object(self) -> bool:
        """True if the record answers who or what, and at least one answer is no placeholder.

        It also needs a second answer, the requested ARK, or the form of an ERC.
        """
        is_enough = self.is_erc or len(self.answered_questions) >= 2 or self.answer.subject.named_in
        return bool(is_enough and self.informative_questions) and not {"who", "what"}.isdisjoint(
            self.answered_questions
        )

    @cached_property
    def fault_in_title(self) -> str | None:
        """The title of the description, if the title only reports that there is no description; or None.

        None also if the record names this ARK and has the title of the object's page. A film may have such a title.
        """
        answers = self.answers if self.answer.record else self.labelled_answers
        if self.answer.subject.named_in and self.has_objects_title and self.outcome.family is Family.WORKS:
            return None
        title = answers.get("what", "")
        return title if is_fault(title) else None

    @cached_property
    def is_about_another(self) -> bool:
        """True if the record is not about the object that was reached.

        Such a record names another ARK that the object does not lead to. Or it names no ARK, and has the address of a
        home page, or an address and words that differ from the object's page. At the same host, only the address of a
        collection differs enough. A record with the title of the object's page is about the object.
        """
        subject = self.answer.subject
        if subject.named_in or subject.names_base:
            return False
        if self.is_of_site or self.has_objects_title:
            return self.is_of_site
        object_urls = [hop.url for hop in self.object.hops]
        if subject.other_ark:
            other_ark = Ark.parse(subject.other_ark)
            arks_on_way = {mention.ark.base for url in object_urls for mention in find_arks(url)}
            return other_ark.base not in arks_on_way and not identifies_itself_in(self.object.locations_of(other_ark))
        values = "\n".join((*self.answers.values(), *self.structured_elements.values()))
        named_origins = [origin[0] for origin in _ORIGIN.finditer(values)]
        where = self.answers.get("where", "")
        if any(same_host(origin, url) for origin in named_origins for url in object_urls):
            is_on_way = where.rstrip("/") in (url.rstrip("/") for url in object_urls)
            return _COLLECTION_PATH.search(where) is not None and not is_on_way and self._shares_no_word_of("what")
        page_text = plain(f"{self.object.title} {self.object.text}") if self.object.title else ""
        # RDF with another subject is about the object only if the page has its title.
        if _ORIGIN.match(self.structured_elements.get("@id", "")) and len(page_text) >= ENOUGH_TEXT:
            return plain(self.answers.get("what", "")) not in page_text
        has_address = _ORIGIN.search(where) if where else not self.is_erc
        return bool(has_address) and self._shares_no_word_of("who", "what")

    @property
    def is_of_site(self) -> bool:
        """True if a record that is no ERC has the home page of a site as address, and the object is not that page."""
        where, name = self.answers.get("where", ""), self.object.ark.name
        is_home = _ORIGIN.match(where) is not None and is_home_page(where, name)
        is_titled = plain(self.answers.get("what", "")) in plain(self.object.words.title_parts[0])
        return is_home and not self.is_erc and not is_titled and not is_home_page(self.object.final_url, name)

    def _shares_no_word_of(self, *questions: str) -> bool:
        """Return True if no word of the record's answers to *questions* is on the object's page.

        False if the page has little text, or text in another script.
        """
        title, text = self.object.title, self.object.text
        if not title or not text or len(text) < ENOUGH_TEXT:
            return False
        answer_text = " ".join(self.answers.get(question, "") for question in questions)
        words = _WORD.findall(plain(answer_text)[:_MOST_ANSWER_CHARS])
        page_text = plain(f"{title} {text}")
        is_comparable = bool(words) and is_latin("".join(words)) == is_latin(page_text)
        return is_comparable and not any(word in page_text for word in words)

    @cached_property
    def is_page_of_object(self) -> bool:
        """True if a page that differs from the object's and the control's page describes the object."""
        answer, labels = self.answer, self.answer.labelled_questions
        opening = plain(f"{answer.title or ''} {(answer.text or '')[:60]}")
        if says_not_found(opening) or answer.words.is_titled_log_in or quirks().results.is_in_plain(opening):
            return False
        answered = labels | ({"commitment"} & answer.facts.kernel_values.keys())
        # Pages of services have an author, a date and an address too: forms, reports, statistics.
        if len(answered) < ENOUGH_ANSWERS or "what" not in labels:
            return False
        is_named = answer.is_linked_to_ark or bool(answer.facts.locations_of(str(answer.ark)))
        status = self.control.status if self.control is not None else None
        is_refused = status is not None and status not in SUCCESSES
        # A home page describes no object, whichever ARK leads to it.
        is_particular = is_refused and answer.ark.name in answer.final_url
        return is_named or is_particular or answer.ark.name in (answer.text or "")

    @property
    def labelled_answers(self) -> dict[str, str]:
        """The page's labelled answers to who, what, when and where."""
        values = self.answer.facts.kernel_values
        return {question: values[question] for question in QUESTIONS if question in values}

    @property
    def has_objects_title(self) -> bool:
        """True if the record has the title of the object's page."""
        title, what = plain(self.object.title or ""), plain(self.answers.get("what", ""))
        return len(what) >= 5 and (what in title or (len(title) >= 5 and title in what))

    @property
    def unanswered_questions(self) -> list[str]:
        """The questions that the record does not answer, with the code for a missing value, if any: ``who (:unkn)``."""
        questions = []
        for question in QUESTIONS:
            code = missing_code(self.answers.get(question, ""))
            if question not in self.answered_questions:
                questions.append(f"{question} (:{code})" if code else question)
        return questions


def is_latin(text: str) -> bool:
    """Return True if most letters of a text are Latin.

    >>> is_latin("Ada Rossi"), is_latin("\N{GREEK CAPITAL LETTER ALPHA}\N{GREEK SMALL LETTER DELTA}")
    (True, False)
    """
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(character < "\u0250" for character in letters) >= len(letters)


def is_unknown(value: str) -> bool:
    """Return True if a value is a word for unknown, or the name of a question that a template left.

    >>> is_unknown("[Unknown]"), is_unknown("WHO"), is_unknown("Unknown woman")
    (True, True, False)
    """
    word = without_marks(plain(value))
    return word in kernel_keys() or word in quirks().unknown.word


def redirect_target(answer: Observation) -> str:
    """Return the target of the last redirect of *answer*, or else the detail of its end."""
    return (answer.hops[-1].location if answer.hops else None) or answer.detail


def is_object_again(answer: Observation, object_answer: Observation) -> bool:
    """Return True if *answer* repeats *object_answer*: the same body, nearly the same text or, if not text, the same address."""
    if answer.body_sha256 and answer.body_sha256 == object_answer.body_sha256:
        return True
    if answer.text and (answer.text, answer.title) == (object_answer.text, object_answer.title):
        return True
    is_at_its_place = has_same_address(answer, object_answer)
    is_same_type = answer.media_type == object_answer.media_type
    if answer.text is None or object_answer.text is None:
        return is_same_type and is_at_its_place and not is_textual(answer.media_type)
    without_query = (answer.asked_url, answer.asked_url.partition("?")[0])
    is_cut = not (answer.body_complete and object_answer.body_complete)
    if is_at_its_place and is_cut and same_beginning(answer, object_answer, *without_query):
        return True
    if is_at_its_place and is_same_type:
        sketches = (answer.similarity, object_answer.similarity)
        is_alike = None not in sketches and likeness(*map(str, sketches)) >= ENOUGH_LIKENESS
        if is_alike or same_answer(answer, object_answer):
            return True
        if same_page(answer.text, object_answer.text) or _contains_page(answer, object_answer):
            return True
    return bool(answer.text) and same_page(answer.text, object_answer.text, *without_query)


def has_same_address(answer: Observation, object_answer: Observation) -> bool:
    """Return True if two answers have the same final URL, without queries."""
    return answer.final_url.partition("?")[0] == object_answer.final_url.partition("?")[0]


def _impersonal_values(record: Mapping[str, Mapping[str, str]], names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return segment, label and value of each element of *record* except identifiers, sorted.

    The values are without *names*, ARKs and digits.
    """

    def nameless(value: str) -> str:
        for name in names:
            value = value.replace(name, "") if name else value
        return value

    return sorted(
        (segment, label, " ".join(re.sub(r"\d+", "", ANY_ARK.sub("", nameless(value))).split()))
        for segment, labels in record.items()
        for label, value in labels.items()
        if label not in _IDENTIFYING_LABELS and segment != "set"
    )


def _contains_page(answer: Observation, object_answer: Observation) -> bool:
    """Return True if a page has the title, the record, the labelled answers and all words of the object's page."""
    pages = (answer, object_answer)
    own_values, object_values = ((page.title, page.record, page.facts.kernel_values) for page in pages)
    words, object_words = (set(_WORD.findall(plain(page.text or ""))) for page in pages)
    return own_values == object_values and bool(answer.record) and bool(object_words) and object_words <= words
