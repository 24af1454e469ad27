"""Pure: gather the facts of one answer, on which questions and verdicts rest alike.

What to ask next (`crawler.asking`) and the verdicts (`crawler.verdicts`) rest on these facts. Each is read
when it is first wanted, and once; an observation that comes from the store has the same facts again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from crawler.answers.answer import is_textual
from crawler.answers.claims import Subject, declares, linked_arks, statement_in, subject_of
from crawler.answers.erc import QUESTIONS, says_something
from crawler.answers.notices import PageWords, is_fault
from crawler.answers.quirks import (
    absent_address,
    is_absent_path,
    is_home_page,
    is_log_in,
    is_search,
    is_sent_away,
    quirks,
    refresh_target,
)
from crawler.answers.structured import KERNEL, kernel
from crawler.model.observations import Chain, ChainEnd, ObjectOutcome, Observation, Question
from crawler.model.resolving import REFUSING_STATUSES, SUCCESSES, same_host
from extractors.model.ark import Ark

# -- what an HTTP status, or the end of a chain without one, means for the object (2020, 7.1.2)

#: What a chain that got no last answer means for the object: the same words.
OUTCOME_OF_END: Mapping[ChainEnd, ObjectOutcome] = {
    end: ObjectOutcome(end.value) for end in ChainEnd if end is not ChainEnd.ANSWERED
}
#: Statuses by which a resolver says that it knows no such name (2020, 7.1.2).
NOT_FOUND = frozenset({400, 404, 410})
#: Statuses of success that come without a body.
WITHOUT_BODY = frozenset({204, 304})
#: Ends after which the same host is not asked in yet another way.
SILENT_ENDS = frozenset({ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TIMEOUT, ChainEnd.TLS})
#: Ends by which nothing is known of the name, only that this way to it is closed.
DEAD_ENDS = SILENT_ENDS | {
    ChainEnd.RESET,
    ChainEnd.PROTOCOL_ERROR,
    ChainEnd.LOOP,
    ChainEnd.TOO_MANY_REDIRECTS,
    ChainEnd.BAD_REDIRECT,
}
#: Statuses by which a host asks for a right that few have; 429 and 999 ask programs to stay away.
ASKING_FOR_A_RIGHT = REFUSING_STATUSES - {429, 999}

#: Statuses below 500 that speak of the identifier; others speak of the request, and leave the object undetermined.
SAYS_BROKEN = frozenset({400, 404, 410, 414})


def status_outcome(status: int) -> ObjectOutcome:
    """The outcome that a last HTTP status means for the object, before its page has been looked at (2020, 7.1.2).

    >>> [status_outcome(status).value for status in (200, 404, 403, 503, 408, 405)]
    ['resolved', 'broken', 'blocked', 'server-error', 'timeout', 'undetermined']
    """
    if status in SUCCESSES:
        return ObjectOutcome.RESOLVED
    if status in REFUSING_STATUSES:
        return ObjectOutcome.BLOCKED
    if status == 408:
        return ObjectOutcome.TIMEOUT
    if status in SAYS_BROKEN:
        return ObjectOutcome.BROKEN
    if 500 <= status < 600:
        return ObjectOutcome.SERVER_ERROR
    return ObjectOutcome.UNDETERMINED


#: Who, what, when: a page that answers so many of them under their labels is no page for what is not there.
TELLING = 2
_THUMP_STATUS = re.compile(r"\s*(?:\S+\s+)?(?P<code>\d{3})\b(?!\.)")
_TOMBSTONE_KEY = re.compile(r'"(?:tombstone|removal_reason)"\s?:\s?[{"]')
_LABEL_WORDS = "who|what|when|creator|author|title|date|publisher"
_LABELLED = re.compile(rf"\b(?P<label>{_LABEL_WORDS})\s*:\s*(?!(?:{_LABEL_WORDS}|where)\s*:)(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class AnswerFacts:
    """The facts of one answer by itself; those of several side by side are in `object_facts` and `metadata_facts`."""

    seen: Observation

    # -- the chain

    @property
    def ark(self) -> Ark:
        """The ARK that was asked about."""
        return self.seen.ark

    @property
    def hops(self) -> Chain:
        """The requests that led to it."""
        return self.seen.hops

    @property
    def asked_url(self) -> str:
        """The URL that was asked first."""
        return self.seen.asked_url

    @property
    def final_url(self) -> str:
        """The URL that the chain ended at."""
        return self.seen.final_url

    @property
    def end(self) -> ChainEnd:
        """How the chain ended."""
        return self.seen.end

    @property
    def status(self) -> int | None:
        """The status of the last hop."""
        return self.seen.status

    @property
    def text(self) -> str | None:
        """The beginning of its readable text."""
        return self.seen.text

    @property
    def kernel_values(self) -> Mapping[str, str]:
        """What is under its descriptive labels."""
        return self.seen.facts.kernel_values

    @property
    def record(self) -> Mapping[str, Any] | None:
        """What was parsed of it, where it is a record."""
        return self.seen.record

    @cached_property
    def is_answered(self) -> bool:
        """True if the chain came to an answer with a status."""
        return self.end is ChainEnd.ANSWERED and self.status is not None

    @cached_property
    def is_success(self) -> bool:
        """True if that status is one of success."""
        return self.is_answered and self.status in SUCCESSES

    @property
    def is_reached(self) -> bool:
        """True if the chain succeeds by the reference algorithm (2020, 7.1.3), whatever its page is worth."""
        return self.is_success or self.end is ChainEnd.NON_WEB

    @property
    def is_empty(self) -> bool:
        """True if it is a success with a body of no bytes: none came, or none is to come."""
        is_read = self.seen.body_complete and is_textual(self.seen.media_type)
        is_declared = self.headers.get("Content-Length") == "0"
        is_none = (is_read and self.seen.body_bytes == 0) or (is_declared and not self.seen.body_bytes)
        return self.is_success and is_none and self.status not in WITHOUT_BODY

    @property
    def only_refreshes(self) -> bool:
        """True if it is a page without a word of its own that refreshes to another place."""
        return self.refresh is not None and self.text is not None and not self.words.body.strip()

    @property
    def is_unknown(self) -> bool:
        """True if the answer is that no such name is known (2020, 7.1.2)."""
        return self.is_answered and self.status in NOT_FOUND

    @property
    def is_failing(self) -> bool:
        """True if it shows that its host is not up to answering, rather than anything about the name."""
        return self.end in DEAD_ENDS or self.outcome is ObjectOutcome.SERVER_ERROR

    @cached_property
    def is_resolvers_own(self) -> bool:
        """True if the host that was asked first has the last word too: what it says is said by the resolver.

        A redirect to another scheme, or between a host and its ``www``, leads to the same resolver.
        """
        return not self.hops or same_host(self.hops[0].url, self.hops[-1].url)

    @property
    def is_redirected(self) -> bool:
        """True if redirects led to it."""
        return len(self.hops) > 1

    @property
    def is_related(self) -> bool:
        """True if a 303 is on the way: what answers is related to what was asked for."""
        return any(hop.status == 303 for hop in self.hops)

    @cached_property
    def outcome(self) -> ObjectOutcome:
        """The outcome that its status alone, or its end, means."""
        if not self.is_answered:
            return OUTCOME_OF_END.get(self.end, ObjectOutcome.UNDETERMINED)
        return status_outcome(self.status or 0)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the last hop."""
        return self.hops[-1].headers if self.hops else {}

    @cached_property
    def thump_fault(self) -> int | None:
        """The code of a THUMP-Status header (``0.6 404 Not Found``), if it is a fault after a success (2023, 5.2)."""
        match = _THUMP_STATUS.match(self.headers.get("THUMP-Status", ""))
        code = int(match["code"]) if match else 0
        return code if self.is_success and code >= 400 else None

    # -- what is in the object's place

    @cached_property
    def challenge(self) -> str | None:
        """The known check for programs that it is, by its headers or its page, unless that describes an object.

        Some checks pass the Open Graph elements of the page through for previews: these say nothing.
        """
        in_headers = quirks().challenge_in_headers(self.headers)
        places = (where for where in self.own_places if not where.startswith("og:"))
        tells = self.tells_of_object or self.is_record or declares(places)
        return in_headers or (None if tells and self.is_success else self.seen.facts.challenge)

    @cached_property
    def challenge_in_title(self) -> str | None:
        """The check for programs that its title alone is that of."""
        title = self.seen.title if self.words.is_short else None
        return quirks().challenge_in_title(title) if title else None

    @cached_property
    def words(self) -> PageWords:
        """The words in which notices are found."""
        return PageWords(self.seen.title or "", self.text or "", self.seen.facts.headings)

    @cached_property
    def asks_to_log_in(self) -> bool:
        """True if it is a page to sign in, by two of three: its address, its title, a field for a password.

        A form that goes on to a single sign-on by itself is one, too. Many a landing page has such a field in a
        corner, so a title counts only on a page that says little else.
        """
        page = self.seen.facts
        if page.signs_on and self.words.is_short:
            return True
        if self.is_redirected and is_log_in(self.final_url):
            is_shell = self.words.body == ""  # a script draws the form
            return self.words.is_titled_log_in or page.asks_password or is_shell
        is_form = page.asks_password and self.words.is_titled_log_in and self.words.is_short
        return is_form and not self.own_places

    @property
    def asks_for_a_right(self) -> bool:
        """True if it refuses for want of a right that few have, rather than of fewer programs or fewer requests."""
        is_refusal = self.status in ASKING_FOR_A_RIGHT or self.asks_to_log_in
        return self.end is ChainEnd.ANSWERED and is_refusal and self.challenge is None

    @cached_property
    def refresh(self) -> str | None:
        """Return where it refreshes to, by a header or a meta element; browsers follow that, and we don't."""
        return refresh_target(self.headers.get("Refresh", "")) or self.seen.facts.refresh

    @cached_property
    def is_search(self) -> bool:
        """True if redirects led to a page of search results."""
        return self.is_redirected and is_search(self.final_url)

    @property
    def is_sent_away(self) -> bool:
        """True if a host on its way led to its own home page or search form, and forgot the name."""
        if not self.is_redirected or "#" in (self.hops[-2].location or ""):  # which scripts are to read
            return False
        return is_sent_away([hop.url for hop in self.hops], self.ark.name)

    @cached_property
    def absent_address(self) -> str | None:
        """The path at which redirects ended, if it says of itself that something is not there."""
        return absent_address(self.final_url) if self.is_redirected else None

    @cached_property
    def signs_of_absence(self) -> tuple[str, ...]:
        """Return why it looks like a page for things that are not there, each sign in words; one alone means little."""
        signs, words = [], self.words
        in_title, in_text = words.absence_in_title, words.absence_in_opening
        if in_title:
            signs.append(f"the page's title says {in_title!r}")
            is_more = words.is_titled_by_word or self.own_places or words.says_more(words.body)
            if words.is_titled_absent and (words.is_absence_repeated or not is_more):
                signs.append("which is all that it says")
        if in_text and in_text != in_title:
            signs.append(f"the page's text says {in_text!r}")
        if not signs and words.idle_host and not self.tells_of_object:
            signs.append(f"the page of its host says {words.idle_host!r}")
        if not signs and words.is_only_fault:
            signs.append(f"the page says only {words.body.strip()!r}")
        if not signs and words.withdrawn:
            signs.append(f"the page says {words.withdrawn!r}")
        if self.is_error_record:
            signs.append("what answers is a record of an error")
        if self.absent_address:
            signs.append(f"the chain ends at {self.absent_address!r}")
        elif self._ends_at_home_page:
            signs.append("the chain ends at the home page of a site")
        if self.refresh and is_absent_path(self.refresh):
            signs.append(f"the page refreshes to {self.refresh!r}")
        return tuple(signs)

    @cached_property
    def is_page_of_host(self) -> bool:
        """True if a sign of absence shows that its host answers anything so: it is parked, out of use, or led to its
        home page or a search; or if a short page that describes nothing says that nothing was found.
        """
        if self.is_record or self.tells_of_object:
            return False
        if self.is_search and self.ark.name not in urlsplit(self.final_url).query:
            return True
        if not self.signs_of_absence:
            return False
        words = self.words
        if self._ends_at_home_page or words.is_titled_absent or words.is_only_fault:
            return True
        says_so = words.idle_host is not None or quirks().not_found.is_in_plain(words.beginning)
        return words.is_short and says_so

    @property
    def is_site(self) -> bool:
        """True if resolvers led straight to the home page of another host, as the ARK of a web site does."""
        name, urls = self.ark.name, [hop.url for hop in self.hops]
        last = urlsplit(urls[-1])
        host = (last.hostname or "").removeprefix("www.")
        if last.query or host in self.words.title.lower():  # a waiting room; the title of most parked domains
            return False
        is_straight = all(name in url or is_home_page(url, name) for url in urls)
        is_sign_alone = self._ends_at_home_page and len(self.signs_of_absence) == 1
        return is_straight and is_sign_alone and not same_host(urls[0], urls[-1])

    @property
    def _ends_at_home_page(self) -> bool:
        """True if redirects lead to the home page of a site, without the name in a fragment for its scripts to read.

        As it is in ``https://viewer.example/#/ark:/12148/btv1b84``.
        """
        if not self.is_redirected or not is_home_page(self.final_url, self.ark.name):
            return False
        fragment = (self.hops[-2].location or "").partition("#")[2]
        return self.ark.name not in unquote(fragment)

    @property
    def is_left_to_scripts(self) -> bool:
        """True if it is a page that says nothing by itself, and has scripts that may."""
        runs = self.seen.body_complete and self.seen.facts.runs_scripts
        return runs and not self.record and self.words.is_loading

    @property
    def passing_fault(self) -> str | None:
        """The words by which a success speaks of a fault or a pause of its site, and of nothing else."""
        tells = self.kernel_values or self.record
        return None if tells else self.words.passing_fault

    @property
    def pause_of_site(self) -> str | None:
        """The words by which a not-found speaks of a pause of its whole site, and not of absence."""
        return None if self.record else self.words.pause_of_site

    # -- whose it is

    @cached_property
    def _linked(self) -> tuple[Ark, ...]:
        return linked_arks(self.headers.get("Link", ""))

    @cached_property
    def _named(self) -> tuple[tuple[Ark, str], ...]:
        on_page = ((Ark.parse(text), where) for text, where in self.seen.facts.arks)
        return (*((ark, "Link header") for ark in self._linked), *on_page)

    @cached_property
    def own_places(self) -> tuple[str, ...]:
        """Return where it names the ARK that was asked about, a part of it or what it is part of."""
        return self.places_of(self.ark)

    def places_of(self, ark: Ark) -> tuple[str, ...]:
        """Return where it names *ark*, a part of it or what it is part of: any spelling counts (2023, 3.2)."""
        places = (where for named, where in self._named if named.base == ark.base)
        return tuple(dict.fromkeys(places))

    @cached_property
    def other_ark(self) -> str | None:
        """Another ARK that it says it is about, when it names the one that was asked about nowhere."""
        if self.own_places:
            return None
        return next((str(ark) for ark, where in self._named if declares((where,))), None)

    @property
    def is_linked_to_ark(self) -> bool:
        """True if a Link header says that it describes the ARK that was asked about (2023, 5.2)."""
        return self.ark in self._linked

    @cached_property
    def is_about_ark(self) -> bool:
        """True if it names the ARK that was asked about, or its name alone."""
        name = self.ark.name
        return bool(self.own_places) or (len(name) >= 5 and name in (self.text or ""))

    @cached_property
    def subject(self) -> Subject:
        """The subject of its record; of none where it has no record."""
        record = self.record
        return Subject() if record is None else subject_of(record, self.ark, self._linked)

    # -- what it says

    @property
    def has_json_tombstone(self) -> bool:
        """True if it is JSON with a tombstone in it: a repository's record of what it has withdrawn, as Invenio's."""
        text = self.text or ""
        return text.startswith("{") and _TOMBSTONE_KEY.search(text) is not None

    @cached_property
    def may_be_explained(self) -> bool:
        """True if it is a 410 with a word of withdrawal: what a control gets shows whether that is about its object."""
        return self.is_answered and self.status == 410 and self.words.word_of_withdrawal(None) is not None

    @property
    def is_error_record(self) -> bool:
        """True if it is a record of an error."""
        return "error" in (self.record or {})

    @property
    def is_registry_entry(self) -> bool:
        """True if it is a resolver's own entry for a NAAN or shoulder."""
        return "registry" in (self.record or {})

    @property
    def is_record(self) -> bool:
        """True if it is a record that describes something."""
        return bool(self.record) and not self.is_error_record

    @cached_property
    def tells_of_object(self) -> bool:
        """True if a page answers enough of who, what and when under their labels to be an object's."""
        return len({"who", "what", "when"} & self.kernel_values.keys()) >= TELLING

    @cached_property
    def describes_itself(self) -> bool:
        """True if it has a record that names the ARK that was asked about, and says who made what."""
        if not self.is_record or self.subject.names_this is None:
            return False
        elements: dict[str, str] = {}
        for values in (self.record or {}).values():
            elements |= values
        who, what = (kernel(elements).get(question, "") for question in ("who", "what"))
        return says_something(who) and says_something(what) and not is_fault(what)

    @cached_property
    def labelled(self) -> frozenset[str]:
        """The questions that a page answers, under labels that people put before such answers."""
        labels = _LABELLED.finditer(self.text or "")
        questions = {KERNEL[word["label"].lower()] for word in labels}
        of_kernel = self.kernel_values.keys() & set(QUESTIONS)
        # the page's own structure distinguishes values from empty labels
        return frozenset(of_kernel or questions)

    @cached_property
    def statement(self) -> Mapping[str, str] | None:
        """The statement of commitment in it: a story of its own, a line of a record, or words on a page."""
        return statement_in(self.record, self.text or "", self.kernel_values.get("commitment"))

    @property
    def states_alone(self) -> bool:
        """True if it is a statement of commitment without a description next to it."""
        return self.is_success and set(self.record or ()) == {"erc-support"}


AnswersByQuestion = Mapping[Question, AnswerFacts]
"""The answers about one ARK at one URL."""
