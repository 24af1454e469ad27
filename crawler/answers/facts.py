"""Gather the facts of one answer, for the next requests and for verdicts.

The next requests (`crawler.asking`) and the verdicts (`crawler.verdicts`) depend on these facts. Each fact is computed
once, when it is first needed. An observation from the store has the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from urllib.parse import unquote

from crawler.answers.answer import is_textual
from crawler.answers.claims import Subject, identifies_itself_in, linked_arks, statement_in, subject_of
from crawler.answers.erc import QUESTIONS, says_something
from crawler.answers.notices import PageWords, is_fault, sure_words
from crawler.answers.quirks import (
    error_page_address,
    is_error_page_path,
    is_home_page,
    is_log_in,
    is_search,
    is_sent_away,
    leads_back,
    quirks,
)
from crawler.answers.structured import kernel, kernel_keys
from crawler.model.observations import ChainEnd, ObjectOutcome, Observation, Question
from crawler.model.resolving import REFUSING_STATUSES, SUCCESSES, same_host
from extractors.model.ark import Ark
from extractors.model.urls import refresh_target, split_url

# -- the meaning of an HTTP status, or of the end of a chain without one, for the object (2020, 7.1.2)

#: The outcome of a chain without a last answer has the name of its end.
OUTCOME_OF_END: Mapping[ChainEnd, ObjectOutcome] = {
    end: ObjectOutcome(end.value) for end in ChainEnd if end is not ChainEnd.ANSWERED
}
#: Statuses of a resolver that does not know the name (2020, 7.1.2).
UNKNOWN_STATUSES = frozenset({400, 404, 410})
#: Successful statuses without a body.
BODILESS_STATUSES = frozenset({204, 304})
#: Ends after which no other request is sent to the same host.
SILENT_ENDS = frozenset({ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TIMEOUT, ChainEnd.TLS})
#: Ends that say nothing about the name, only that this way to it is closed.
DEAD_ENDS = SILENT_ENDS | {
    ChainEnd.RESET,
    ChainEnd.PROTOCOL_ERROR,
    ChainEnd.LOOP,
    ChainEnd.TOO_MANY_REDIRECTS,
    ChainEnd.BAD_REDIRECT,
}
#: Statuses of a host that requires a permission; 429 and 999 only keep programs away.
PERMISSION_STATUSES = REFUSING_STATUSES - {429, 999}

#: Statuses below 500 about the identifier. Others are about the request, and leave the object undetermined.
BROKEN_STATUSES = frozenset({400, 404, 410, 414})


def status_outcome(status: int) -> ObjectOutcome:
    """Return the outcome for the object that a last HTTP status means, before its page is read (2020, 7.1.2).

    >>> [status_outcome(status).value for status in (200, 404, 403, 503, 408, 405)]
    ['resolved', 'broken', 'blocked', 'server-error', 'timeout', 'undetermined']
    """
    if status in SUCCESSES:
        return ObjectOutcome.RESOLVED
    if status in REFUSING_STATUSES:
        return ObjectOutcome.BLOCKED
    if status == 408:
        return ObjectOutcome.TIMEOUT
    if status in BROKEN_STATUSES:
        return ObjectOutcome.BROKEN
    if 500 <= status < 600:
        return ObjectOutcome.SERVER_ERROR
    return ObjectOutcome.UNDETERMINED


#: Longer XML and JSON without letters have their values in attributes or numbers, and are not empty.
_EMPTY_DATA_BYTES = 2_000
#: The kernel elements that describe an object. A page with this number of them under labels is not an error page.
DESCRIBING = ("who", "what", "when")
ENOUGH_DESCRIBING = 2
_THUMP_STATUS = re.compile(r"\s*(?:\S+\s+)?(?P<code>\d{3})\b(?!\.)")
_TOMBSTONE_KEY = re.compile(r'"(?:tombstone|removal_reason)"\s?:\s?[{"]')
_LABEL_WORDS = "who|what|when|creator|author|title|date|publisher"
_LABELLED = re.compile(rf"\b(?P<label>{_LABEL_WORDS})\s*:\s*(?!(?:{_LABEL_WORDS}|where)\s*:)(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class AnswerFacts(Observation):
    """An observation with the facts of its answer; comparisons of several answers are in `object_facts` and
    `metadata_facts`.
    """

    @classmethod
    def from_observation(cls, observation: Observation) -> AnswerFacts:
        """Return *observation* as an object whose properties compute its facts when they are needed."""
        return cls(**{field.name: getattr(observation, field.name) for field in fields(Observation)})

    # -- the chain

    @cached_property
    def is_answered(self) -> bool:
        """True if the chain ended with an answer that has a status."""
        return self.end is ChainEnd.ANSWERED and self.status is not None

    @cached_property
    def is_success(self) -> bool:
        """True if the chain ended with a status of success."""
        return self.is_answered and self.status in SUCCESSES

    @property
    def is_reached(self) -> bool:
        """True if the chain succeeds by the reference algorithm (2020, 7.1.3), with any page."""
        return self.is_success or self.end is ChainEnd.NON_WEB

    @property
    def is_empty(self) -> bool:
        """True if a success has no bytes, only blanks, or only the value of an unset variable, such as "undefined".

        Pages whose labels have no values are empty too. So is short XML or JSON without letters and without a record,
        such as a number of hits.
        """
        media_type = self.media_type or ""
        if self.is_success and media_type == "text/plain" and self.text is not None and not self.text.strip():
            return True
        is_data = media_type.endswith(("xml", "json")) and not media_type.startswith(("image/", "application/xhtml"))
        is_short = (self.body_bytes or 0) <= _EMPTY_DATA_BYTES
        has_letters = self.text is None or any(map(str.isalpha, self.text))
        is_mere_number = is_data and is_short and not has_letters and not self.record
        if self.is_success and (self.words.is_unset or self.facts.is_unfilled or is_mere_number):
            return True
        is_read = self.body_complete and is_textual(self.media_type)
        is_declared = self.headers.get("Content-Length") == "0"
        has_no_bytes = (is_read and self.body_bytes == 0) or (is_declared and not self.body_bytes)
        return self.is_success and has_no_bytes and self.status not in BODILESS_STATUSES

    @property
    def only_refreshes(self) -> bool:
        """True if the answer is a page with hardly any text that refreshes to another address."""
        return self.refresh is not None and self.text is not None and not self.words.says_other(self.words.body)

    @property
    def is_unknown(self) -> bool:
        """True if the last status is 400, 404 or 410: the name is unknown (draft 2020, 7.1.2)."""
        return self.is_answered and self.status in UNKNOWN_STATUSES

    @property
    def is_failing(self) -> bool:
        """True if the answer shows a failure of its host, rather than anything about the name."""
        return self.end in DEAD_ENDS or self.outcome is ObjectOutcome.SERVER_ERROR

    @cached_property
    def is_from_resolver(self) -> bool:
        """True if the host of the first request, the resolver, also gave the last answer.

        A redirect to another scheme, or between a host and its ``www``, stays at the same resolver.
        """
        return not self.hops or same_host(self.hops[0].url, self.hops[-1].url)

    @property
    def is_redirected(self) -> bool:
        """True if the chain has redirects."""
        return len(self.hops) > 1

    @property
    def has_see_other(self) -> bool:
        """True if the chain has a 303: the answer is related to the object."""
        return any(hop.status == 303 for hop in self.hops)

    @cached_property
    def outcome(self) -> ObjectOutcome:
        """The outcome for the object by the status alone or, without a status, by the end of the chain."""
        if not self.is_answered:
            return OUTCOME_OF_END.get(self.end, ObjectOutcome.UNDETERMINED)
        return status_outcome(self.status or 0)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the last hop."""
        return self.hops[-1].headers if self.hops else {}

    @cached_property
    def thump_fault(self) -> int | None:
        """The THUMP-Status code (``0.6 404 Not Found``) of a success, if it is at least 400, or None (2023, 5.2)."""
        match = _THUMP_STATUS.match(self.headers.get("THUMP-Status", ""))
        code = int(match["code"]) if match else 0
        return code if self.is_success and code >= 400 else None

    # -- pages in place of the object

    @cached_property
    def challenge(self) -> str | None:
        """The name of the robot check in the answer's headers or page, unless the page describes an object.

        Some checks pass the page's Open Graph elements through for previews, so these do not count.
        """
        in_headers = quirks().challenge_in_headers(self.headers)
        locations = (location for location in self.own_locations if not location.startswith("og:"))
        describes = self.describes_object or self.is_record or identifies_itself_in(locations)
        return in_headers or (None if describes and self.is_success else self.facts.challenge)

    @cached_property
    def challenge_in_title(self) -> str | None:
        """The name of the robot check with the title of this short page, or None."""
        title = self.title if self.words.is_short else None
        return quirks().challenge_in_title(title) if title else None

    @cached_property
    def words(self) -> PageWords:
        """Title, text and headings of the page, in which notices are searched for."""
        return PageWords(self.title or "", self.text or "", self.facts.headings)

    @cached_property
    def asks_to_log_in(self) -> bool:
        """True if the answer is a log-in page, by two of three signs: address, title, a password field.

        A form that continues to a single sign-on without a click counts too, and so does a choice of institutions. Many
        landing pages have a password field, so a title counts only on a short page.
        """
        page = self.facts
        if page.signs_on and self.words.is_short:
            return True
        if self.is_redirected and is_log_in(self.final_url):
            # A script draws the form.
            is_shell = self.words.body == ""
            return self.words.is_titled_log_in or page.asks_password or is_shell
        is_form = page.asks_password and self.words.is_titled_log_in and self.words.is_short
        return (is_form or self.words.is_choice_of_institution) and not self.own_locations

    @property
    def refuses_access(self) -> bool:
        """True if the answer refuses access to programs, or is a robot check."""
        return self.outcome is ObjectOutcome.BLOCKED or self.challenge is not None

    @property
    def requires_permission(self) -> bool:
        """True if the host requires a permission or a log-in, rather than keeping programs away."""
        is_refusal = self.status in PERMISSION_STATUSES or self.asks_to_log_in
        return self.end is ChainEnd.ANSWERED and is_refusal and self.challenge is None

    @cached_property
    def refresh(self) -> str | None:
        """The target of a refresh, by header, meta element or script, that was not followed (`redirect_in_page`)."""
        return refresh_target(self.headers.get("Refresh", "")) or self.facts.refresh

    @cached_property
    def is_search(self) -> bool:
        """True if redirects led to a page of search results."""
        return self.is_redirected and is_search(self.final_url)

    @property
    def is_sent_away(self) -> bool:
        """True if a host on the way redirects to its own home page or search form, without the name, or to an error page."""
        if self.error_page_address is not None:
            return True
        # Scripts read the fragment.
        if not self.is_redirected or "#" in (self.hops[-2].location or ""):
            return False
        return is_sent_away([hop.url for hop in self.hops], self.ark.name)

    @property
    def leads_back(self) -> bool:
        """True if redirects end at a detour, such as a cookie check, whose address names the address to return to.

        A page that reports an absence is no detour.
        """
        return self.is_redirected and leads_back([hop.url for hop in self.hops]) and not self.signs_of_absence

    @cached_property
    def error_page_address(self) -> str | None:
        """Path and query at the end of redirects, if they are those of an error page, or None."""
        return error_page_address(self.final_url) if self.is_redirected else None

    @cached_property
    def signs_of_absence(self) -> tuple[str, ...]:
        """The signs, in words, that the answer is an error page. One sign alone means little."""
        signs, words = [], self.words
        title_words, opening_words = words.not_found_in_title, words.not_found_in_opening
        if title_words:
            signs.append(f"the page's title says {title_words!r}")
            has_more = words.is_titled_by_word or self.own_locations or words.says_more(words.body)
            if words.is_titled_absent and (words.is_absence_repeated or not has_more):
                signs.append("which is all of its text")
        if opening_words and opening_words != title_words:
            signs.append(f"the page's text says {opening_words!r}")
        if not signs and words.unused_host and not self.describes_object:
            signs.append(f"the page of the idle host says {words.unused_host!r}")
        if not signs and words.is_only_fault:
            signs.append(f"the page says only {words.body.strip()!r}")
        if not signs and words.withdrawn:
            signs.append(f"the page says {words.withdrawn!r}")
        if self.is_error_record:
            signs.append("the answer is an error record")
        if self.error_page_address:
            signs.append(f"the chain ends at {self.error_page_address!r}")
        elif self._ends_at_home_page:
            signs.append("the chain ends at the home page of a site")
        if self.refresh and is_error_page_path(self.refresh):
            signs.append(f"the page refreshes to {self.refresh!r}")
        return tuple(signs)

    @cached_property
    def is_generic_page(self) -> bool:
        """True if the host may send this page for any URL, or a short page without description reports an absence.

        A host does so if it is parked or idle, or if it redirects to its home page or a search.
        """
        if self.is_record or self.describes_object:
            return False
        if self.is_search and self.ark.name not in split_url(self.final_url).query:
            return True
        if not self.signs_of_absence:
            return False
        words = self.words
        if self._ends_at_home_page or words.is_titled_absent or words.is_only_fault:
            return True
        has_absence = words.unused_host is not None or quirks().not_found.is_in_plain(words.beginning)
        return words.is_short and has_absence

    @property
    def is_site(self) -> bool:
        """True if resolvers redirect directly to the home page of another host, as for the ARK of a web site."""
        ark_name, urls = self.ark.name, [hop.url for hop in self.hops]
        last_url_parts = split_url(urls[-1])
        host = last_url_parts.hostname.removeprefix("www.")
        # A waiting room has a query, and most parked domains have their host as the title.
        if last_url_parts.query or host in self.words.title.lower():
            return False
        is_straight = all(ark_name in url or is_home_page(url, ark_name) for url in urls)
        is_sign_alone = self._ends_at_home_page and len(self.signs_of_absence) == 1
        return is_straight and is_sign_alone and not same_host(urls[0], urls[-1])

    @property
    def _ends_at_home_page(self) -> bool:
        """True if redirects lead to the home page of a site, without the name in a fragment for its scripts.

        ``https://viewer.example/#/ark:/12148/btv1b84`` has it in the fragment.
        """
        if not self.is_redirected or not is_home_page(self.final_url, self.ark.name):
            return False
        fragment = (self.hops[-2].location or "").partition("#")[2]
        return self.ark.name not in unquote(fragment)

    @property
    def is_left_to_scripts(self) -> bool:
        """True if the page has no content, but scripts that may add it."""
        has_scripts = self.body_complete and self.facts.runs_scripts
        return has_scripts and not self.record and self.words.is_loading

    @property
    def temporary_fault(self) -> str | None:
        """The words that report a temporary fault or a pause of the site, on a page without a description; or None."""
        describes = self.facts.kernel_values or self.record
        return None if describes else self.words.temporary_fault

    @property
    def pause(self) -> str | None:
        """The words that report a pause of the site or object, if the page has no record or absence; or None."""
        return None if self.is_record else self.words.pause

    # -- the subject

    @cached_property
    def _linked_arks(self) -> tuple[Ark, ...]:
        return linked_arks(self.headers.get("Link", ""))

    @cached_property
    def _named_arks(self) -> tuple[tuple[Ark, str], ...]:
        page_arks = ((Ark.parse(text), location) for text, location in self.facts.arks)
        return (*((ark, "Link header") for ark in self._linked_arks), *page_arks)

    @cached_property
    def own_locations(self) -> tuple[str, ...]:
        """The locations (`locations_of`) of the requested ARK in the answer."""
        return self.locations_of(self.ark)

    def locations_of(self, ark: Ark) -> tuple[str, ...]:
        """Return the locations of ARKs with the base of *ark*: ``Link header``, ``canonical``, ``text``, a meta name, …"""
        locations = (location for named_ark, location in self._named_arks if named_ark.base == ark.base)
        return tuple(dict.fromkeys(locations))

    @cached_property
    def other_ark(self) -> str | None:
        """Another ARK by which the answer identifies itself, if it contains the requested ARK nowhere; or None."""
        if self.own_locations:
            return None
        return next((str(ark) for ark, location in self._named_arks if identifies_itself_in((location,))), None)

    @property
    def is_linked_to_ark(self) -> bool:
        """True if a Link header declares that it describes the requested ARK (2023, 5.2)."""
        return self.ark in self._linked_arks

    @cached_property
    def is_about_ark(self) -> bool:
        """True if the answer contains the requested ARK, or its name without NAAN (at least 5 characters)."""
        name = self.ark.name
        return bool(self.own_locations) or (len(name) >= 5 and name in (self.text or ""))

    @cached_property
    def subject(self) -> Subject:
        """The subject of the record, or an empty subject without a record."""
        record = self.record
        return Subject() if record is None else subject_of(record, self.ark, self._linked_arks)

    # -- the content

    @property
    def has_json_tombstone(self) -> bool:
        """True if the answer is JSON with a tombstone: a repository's record of a withdrawal, as in Invenio."""
        text = self.text or ""
        return text.startswith("{") and _TOMBSTONE_KEY.search(text) is not None

    @cached_property
    def may_be_explained(self) -> bool:
        """True if the answer is a 401, 403 or 451 with a reason, or a 410 that may report a withdrawal.

        The page of such a 410 has a word such as "withdrawn", or text without any known phrase.

        The control shows if these words are about the object.
        """
        words = self.words
        if self.is_answered and self.status in (401, 403, 451):
            regional = sure_words(quirks().regional, words.notice)
            return (words.reason_of_refusal(None) or words.closed_until or regional) is not None
        is_withdrawal_possible = words.word_of_withdrawal(None) is not None or words.has_no_known_phrase(words.body)
        return self.is_answered and self.status == 410 and is_withdrawal_possible

    @property
    def is_error_record(self) -> bool:
        """True if the record reports an error instead of a description."""
        return "error" in (self.record or {})

    @property
    def is_registry_entry(self) -> bool:
        """True if the answer is a resolver's own entry for a NAAN or shoulder."""
        return "registry" in (self.record or {})

    @property
    def is_record(self) -> bool:
        """True if the answer is a record that describes something."""
        return bool(self.record) and not self.is_error_record

    @cached_property
    def describes_object(self) -> bool:
        """True if a page labels enough of who, what and when to describe an object."""
        return len(self.facts.kernel_values.keys() & set(DESCRIBING)) >= ENOUGH_DESCRIBING

    @cached_property
    def describes_itself(self) -> bool:
        """True if a record with who and what names the requested ARK, or the ARK's own page describes an object."""
        if self.describes_object and identifies_itself_in(self.own_locations) and self.words.absence is None:
            return True
        if not self.is_record or self.subject.named_in is None:
            return False
        elements: dict[str, str] = {}
        for values in (self.record or {}).values():
            elements |= values
        who, what = (kernel(elements).get(question, "") for question in ("who", "what"))
        return says_something(who) and says_something(what) and not is_fault(what)

    @cached_property
    def labelled_questions(self) -> frozenset[str]:
        """The questions (``who``, ``what``, …) that a page answers under descriptive labels."""
        label_matches = _LABELLED.finditer(self.text or "")
        questions = {kernel_keys()[match["label"].lower()] for match in label_matches}
        structured_questions = self.facts.kernel_values.keys() & set(QUESTIONS)
        # The page's own structure distinguishes values from empty labels.
        return frozenset(structured_questions or questions)

    @cached_property
    def statement(self) -> Mapping[str, str] | None:
        """The statement of commitment in the record or on the page, by label (``what``, ``who``, …), or None."""
        return statement_in(self.record, self.text or "", self.facts.kernel_values.get("commitment"))

    @property
    def is_only_statement(self) -> bool:
        """True if a success is a statement of commitment without a description."""
        return self.is_success and set(self.record or ()) == {"erc-support"}


AnswersByQuestion = Mapping[Question, AnswerFacts]
"""The answers about one ARK at one URL."""
