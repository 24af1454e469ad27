"""Pure: gather the facts that show whether an object was reached: of its answer, next to those of a control's answer.

A control is a name that can't exist, asked for at the same resolver. What it gets too proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property
from urllib.parse import urlsplit

from crawler.answers.answer import nobody_can_tell
from crawler.answers.claims import declares
from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import (
    differs_at_random,
    has_nothing_of_its_own,
    last_part,
    own_words,
    same_answer,
    same_page,
)
from crawler.answers.notices import PageWords, sure_words
from crawler.answers.quirks import NOTICE_CHARS, OPENING_CHARS, bare, plain, quirks
from crawler.answers.withdrawals import Withdrawal, speaks_of_withdrawal
from crawler.model.observations import ObjectOutcome
from crawler.model.resolving import same_host
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from extractors.model.urls import authority_of

#: So many other ARKs that land on one URL are a sign, though never a proof: one page may mean many objects.
MANY_NEIGHBOURS = 2
#: Outcomes by which a host refuses a name that can't exist.
_REFUSED = (ObjectOutcome.BROKEN, ObjectOutcome.SERVER_ERROR)


#: The number of a standard, as "ISO 9:1968" or "DIN EN 4321"; standards are withdrawn when others take their place.
_STANDARD = re.compile(
    r"(?:(?:ISO|IEC|DIN|EN|BS|ANSI|ASTM|NF|UNE|UNI|NEN|SS|SFS|JIS|IEEE|ITU|GOST|\u0413\u041e\u0421\u0422)[/ -]?)+"
    r"[A-Z]{0,2}[ -]?\d"
)
#: The year of a withdrawal, within the words of a sentence: "withdrawn by its owner on 2 May 2016".
_YEAR = re.compile(r"[^.;|\u00a9]{0,120}?\b(?:19|20)\d\d\b")
#: What is retracted, in bare letters, and how a page offers a file: "Download PDF (412 kB)".
_ARTICLE = re.compile(r"retract|\b(?:article|paper|preprint|artikel|articulo|articolo|artigo)\b")
_FILE = re.compile(r"\bpdf\b|\bepub\b|\d\s?(?:[kmg]i?b|[kmg]o)\b")
_PARTS = re.compile(r"[.,;()!?](?=\s|\Z)|(?<=\s)\(")
_RECORD = re.compile(r"record|item|entry|datensatz|eintrag|notice|registro|scheda")
_TOMBSTONE = re.compile(r"/tombstones?(?:/|\.\w+\Z|\Z)", re.IGNORECASE)
#: Separators in the title of a tombstone: those of any title, and a colon after a label ("Withdrawn: a dataset").
_TOMBSTONE_PARTS = re.compile(r"(?:(?<!\s)\s++)?+[|:\u2013\u2014\u00b7]\s|\s-\s|\s:|\Z")
#: So far before words of a region is what is not shown there.
_BEFORE_CHARS = 60
_SITE = re.compile(
    r"\b(?:(?:web|this |our |ce |notre )site|service|platform|portal|seite|angebot|dienst|sitio|sito|plataforma)\b"
)


def wall_before(answer: AnswerFacts, controls: Sequence[AnswerFacts]) -> AnswerFacts | None:
    """Return the answer to a control, asked again, that is the same as *answer*, or asks to log in as well."""
    return next(
        (
            control
            for control in controls
            if (answer.asks_to_log_in and control.asks_to_log_in) or same_answer(answer.seen, control.seen)
        ),
        None,
    )


class ControlContrast(StrEnum):
    """The reply to a name that can't exist, next to a successful answer."""

    THE_SAME = "the same page"
    ANOTHER = "another page"
    AT_RANDOM = "another page, as each name gets"
    """Another page, as a second name that can't exist got: pages are made up for names, and say nothing of them."""
    NO_OTHER = "a page that differs no more than the object's own does each time"
    """Another page, as the object's own is each time: only news or advertisements differ."""
    NOT_COMPARED = "a success that can't be compared"
    """Of it, or of the answer, so little came that they may be one page: that success means nothing here."""
    REFUSED_THERE = "refused by the host that answers"
    """The host that answers for the object says what it does not know: its success means something."""
    REFUSED_BEFORE = "refused on the way to it"
    """The resolver knows its names; about the host that it leads to, this says nothing."""
    NOTHING = "nothing"
    """It was not asked, or got no answer."""


class Signs(Enum):
    """The number of signs that a page is one for things that are not there."""

    NONE = 0
    ONE = 1
    SEVERAL = 2


@dataclass(frozen=True, eq=False)
class ObjectFacts:
    """The facts of an answer for an object next to those of the control's; each is read once."""

    answer: AnswerFacts
    control: AnswerFacts | None = None
    neighbours: int = 0
    """How many other ARKs ended at the same URL in this run."""
    again: Sequence[AnswerFacts] = ()
    """Further answers at the object's place: how it differs from itself."""
    others: Sequence[AnswerFacts] = ()
    """Answers to second names that can't exist."""
    changed_controls: Sequence[AnswerFacts] = ()
    """Answers to a control that was asked again, and did not get what it had got before."""

    @property
    def _control_words(self) -> PageWords | None:
        return self.control.words if self.control is not None else None

    @cached_property
    def reply(self) -> ControlContrast:
        """The reply to the control."""
        answer, control = self.answer, self.control
        if control is None or not control.is_answered:
            return ControlContrast.NOTHING
        if not control.is_success:
            if control.outcome not in _REFUSED:
                return ControlContrast.NOTHING
            host, other_host = (authority_of(one.final_url) for one in (answer, control))
            is_there = host == other_host
            return ControlContrast.REFUSED_THERE if is_there else ControlContrast.REFUSED_BEFORE
        if self._is_answered_alike(control):
            return ControlContrast.THE_SAME
        if nobody_can_tell(answer.seen, control.seen):
            return ControlContrast.NOT_COMPARED
        if any(map(self._is_made_up, self.others)):
            return ControlContrast.AT_RANDOM
        again = [other.seen for other in self.again]
        is_own = not has_nothing_of_its_own(answer.seen, control.seen, again)
        return ControlContrast.ANOTHER if is_own else ControlContrast.NO_OTHER

    def _is_answered_alike(self, control: AnswerFacts) -> bool:
        """Return whether the control got the same answer, or both a page that says in one sentence that it isn't there.

        Two searches of one site, which both found something, are alike too: what is unknown there is searched for.
        """
        one, other = self.answer.seen, control.seen
        if same_answer(one, other):
            return True
        absence, other_absence = self.answer.words.absence, control.words.absence
        if absence is None and other_absence is None:
            is_one_place = one.final_url.partition("?")[0] == other.final_url.partition("?")[0]
            return self.answer.is_search and control.is_search and is_one_place
        if absence is None or other_absence is None:
            return False
        return same_page(absence, other_absence, last_part(one.asked_url), last_part(other.asked_url))

    def _is_made_up(self, other: AnswerFacts) -> bool:
        """Return whether a second control got a page that is as different from the first one's as the object's is."""
        control = self.control
        if control is None or not same_host(other.asked_url, control.asked_url):
            return False
        if not other.is_success or ObjectFacts(other, control)._is_answered_alike(control):
            return False
        return differs_at_random(self.answer.seen, control.seen, other.seen)

    @cached_property
    def wall(self) -> AnswerFacts | None:
        """The answer to a control asked again that shows a wall before all objects; None without one.

        One without a telling answer shows it if other objects share this answer, or it asks to log in.
        """
        answer = self.answer
        wall = wall_before(answer, self.changed_controls)
        if wall is not None:
            return wall
        if not self.neighbours and not answer.asks_to_log_in:
            return None
        is_told = any(one.is_success or one.outcome in _REFUSED for one in self.changed_controls)
        return None if is_told else next(iter(self.changed_controls), None)

    @property
    def is_told_apart(self) -> bool:
        """True if a name that can't exist is refused."""
        return self.reply in (ControlContrast.REFUSED_THERE, ControlContrast.REFUSED_BEFORE)

    @cached_property
    def challenge(self) -> str | None:
        """The known check for programs that it is, by itself or because the control has the same title of one."""
        if self.answer.challenge:
            return self.answer.challenge
        title = self.answer.challenge_in_title
        is_everybodys = self.control is not None and self.control.challenge_in_title == title
        return title if is_everybodys and not self.declares_itself else None

    # -- whose page it is

    @cached_property
    def knows_itself(self) -> tuple[str, ...]:
        """Return where it names its own ARK; what a page does for a name that can't exist too is an echo."""
        places = self.answer.own_places
        if self.control is None or not places:
            return places
        try:
            echoed = self.control.places_of(Ark.parse(self.control.asked_url))
        except NotAnArk:
            echoed = ()
        return tuple(where for where in places if where not in echoed)

    @cached_property
    def declares_itself(self) -> bool:
        """True if it names its own ARK where a page says what it is."""
        return declares(self.knows_itself)

    @cached_property
    def is_particular(self) -> bool:
        """True if it says that it is its ARK's, or speaks of an object, where the control's page does not."""
        values = self.answer.kernel_values
        told_to_control = self.control.kernel_values if self.control is not None else {}
        is_described = self.answer.tells_of_object and values != told_to_control
        return self.declares_itself or (is_described and self.reply is not ControlContrast.AT_RANDOM)

    # -- whether it is a page for what is not there

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """Return why it looks like a page for what is not there."""
        signs, words = self.answer.signs_of_absence, self.answer.words
        if not signs or self.answer.own_places or self.reply is not ControlContrast.REFUSED_BEFORE:
            return signs  # or nothing is known of the landing host
        if not words.is_all_absence or words.says_more(words.body):
            return signs
        return (*signs, "the page says so of what was asked for, and hardly anything else")

    @cached_property
    def case(self) -> tuple[ControlContrast, Signs, bool]:
        """The reply to the control, the weight of the signs of absence, and whether it says that it is its ARK's."""
        return self.reply, self.weight_of_signs, self.is_particular

    @property
    def weight_of_signs(self) -> Signs:
        """Return how much the signs weigh; many other ARKs at its place support another sign."""
        if not self.signs:
            return Signs.NONE
        is_supported = len(self.signs) > 1 or self.neighbours >= MANY_NEIGHBOURS
        return Signs.SEVERAL if is_supported else Signs.ONE

    @cached_property
    def own_words(self) -> str:
        """Its text without what the control's page at the same host begins and ends with."""
        return own_words(self.answer.seen, self.control.seen if self.control is not None else None)

    @property
    def is_site(self) -> bool:
        """True if the resolver leads for this object alone, and for no unknown name, to the home page of another host.

        What else that host answers says nothing of its home page.
        """
        return self.reply is ControlContrast.REFUSED_BEFORE and self.answer.is_site and not self.neighbours

    @property
    def is_page_of_unknown_host(self) -> bool:
        """True if the reply to the control says nothing of the host that answers, and no ARK of a site leads there."""
        answer = self.answer
        if self.is_site:
            return False
        is_moved = answer.is_redirected or answer.words.is_titled_absent or answer.words.idle_host is not None
        return is_moved and self.reply in (ControlContrast.REFUSED_BEFORE, ControlContrast.NOTHING)

    @cached_property
    def only_absence(self) -> str | None:
        """The words by which it says at once that what was asked for is not there, if it says little else."""
        if self.answer.is_record or self.answer.tells_of_object:
            return None
        return self.answer.words.only_absence(self.own_words, self.answer.ark.name, self._control_words)

    @cached_property
    def is_called_absent(self) -> bool:
        """True if its title says that nothing is there, and nothing shows that an object is called so.

        An object is where the control is refused or gets another page, and this one has more to say than its title.
        """
        words = self.answer.words
        is_compared = self.reply in (ControlContrast.REFUSED_THERE, ControlContrast.ANOTHER)
        return words.is_titled_absent and not (is_compared and words.says_more(self.own_words))

    # -- whether it explains the object's absence

    @cached_property
    def withdrawal(self) -> str | None:
        """Return why a success explains that its object is there no more, if it does: it says so at once, of the
        object.

        A page that describes an object is a record, whatever became of a part of it, unless its title or a heading
        says so, or its first sentences of "this" object. What the control's page has in the same words is none.
        """
        answer, text = self.answer, self.own_words
        is_long, describes = len(text) >= NOTICE_CHARS, answer.is_record or answer.tells_of_object
        for withdrawal in answer.words.withdrawals(text, answer.ark.name, self._control_words):
            words = withdrawal.words
            if withdrawal.is_bare and not self._is_confirmed(words):
                continue
            if self._is_standard(words) or self._is_retraction(words):
                continue
            if withdrawal.names_object:
                return words
            is_first = withdrawal.place in ("title", "heading")
            if is_long or (describes and not is_first):
                continue
            if self.reply is ControlContrast.REFUSED_THERE or self._speaks_of_object:
                return words
        if is_long or describes or not self._speaks_of_object:
            return None
        elsewise, control = quirks().elsewise, self._control_words
        places = (answer.words.title, text[:OPENING_CHARS])
        return next(filter(None, (sure_words(elsewise, place, control) for place in places)), None)

    def _is_confirmed(self, word: str) -> bool:
        """Return whether a page says more of a withdrawal than one *word*, which may be what its object is called."""
        rest, vocabulary = plain(self.own_words).replace(word, " "), quirks()
        further = (vocabulary.tombstone, vocabulary.not_found, vocabulary.not_available)
        return any(phrases.is_in_plain(rest) for phrases in further)

    def _is_retraction(self, words: str) -> bool:
        """Return whether *words* say that an article was retracted whose file is there: it can be had."""
        text, vocabulary = plain(self.own_words), quirks()
        if any(one.is_in_plain(text) for one in (vocabulary.not_available, vocabulary.not_found)):
            return False
        files = filter(_FILE.search, _PARTS.split(text))
        offers_one = any(not speaks_of_withdrawal(part) for part in files)
        return offers_one and _ARTICLE.search(bare(words)) is not None

    def _is_standard(self, words: str) -> bool:
        """Return whether the page is of a standard, and *words* say that the standard was withdrawn, not its record."""
        title = self.answer.seen.title or ""
        headings = self.answer.seen.facts.headings
        return _RECORD.search(words) is None and any(map(_STANDARD.match, (title, *headings)))

    @cached_property
    def tombstone(self) -> str | None:
        """Return by what form a success is a repository's page for what it keeps no more: its address, its title.

        As ``/tombstone/id/ark:/12148/btv1b84``, with the title "EZID : unavailable :", whatever the reason is called.
        """
        answer, phrases = self.answer, quirks().tombstone
        parts = [plain(part).strip() for part in _TOMBSTONE_PARTS.split(answer.seen.title or "")]
        matches = ((part, phrases.match(part)) for part in parts)
        titled = next((part for part, match in matches if match and match.end == len(part)), None)
        path = urlsplit(answer.final_url).path if answer.is_redirected else ""
        says_so = titled or (answer.words.is_short and phrases.is_in_plain(answer.words.notice))
        if says_so and _TOMBSTONE.search(path):
            return path
        if titled is None or len(parts) == 1 or not answer.own_places:
            return None
        if not self._is_confirmed(titled) and answer.words.says_other(self.own_words):
            return None  # what a picture is called
        tells = answer.tells_of_object or answer.is_record or self._is_retraction(titled)
        return None if tells else answer.seen.title

    @cached_property
    def regional(self) -> str | None:
        """The words by which it says that what was asked for may not be shown where we are: that, and not all of its
        site.
        """
        answer = self.answer
        if not answer.words.is_short or answer.is_record or answer.tells_of_object:
            return None
        words = sure_words(quirks().regional, answer.words.notice, self._control_words)
        before = answer.words.notice.partition(words)[0][-_BEFORE_CHARS:] if words else ""
        return None if _SITE.search(before) else words

    @property
    def _speaks_of_object(self) -> bool:
        return self.answer.is_about_ark or quirks().this_object.this_object.search(plain(self.own_words)) is not None

    @cached_property
    def claim(self) -> str | None:
        """The words by which a page for what is not found says of "this" object that it was withdrawn, if it does."""
        claims = (one.words for one in self._withdrawals() if one.names_object)
        if words := next(claims, None):
            return words
        is_controls = self.control is not None and self.control.has_json_tombstone
        return "tombstone" if self.answer.has_json_tombstone and not is_controls else None

    def _withdrawals(self) -> Iterator[Withdrawal]:
        """The sentences on a withdrawal in as much of its text as a notice has."""
        words = self.answer.words
        beginning = words.text[:NOTICE_CHARS]
        return words.withdrawals(beginning, self.answer.ark.name, self._control_words)

    @property
    def _is_claim_of_this_alone(self) -> bool:
        """True if the host says something else to the control, or says with a date when it was withdrawn."""
        control, host = self.control, authority_of(self.answer.final_url)
        there = control.final_url if control is not None and control.is_answered else None
        if there is not None and authority_of(there) == host:
            return True
        claim = self.claim or ""
        _, _, rest = self.answer.words.notice.partition(claim)
        return bool(_YEAR.search(claim) or _YEAR.match(rest))

    @cached_property
    def explanation(self) -> str | None:
        """The words by which a refusal explains itself, if it does, and speaks of this object (2023, 5.1)."""
        answer, words = self.answer, self.answer.words
        is_404 = answer.status == 404
        if is_404 and self.claim and self._is_claim_of_this_alone:
            return self.claim
        word = words.word_of_withdrawal(self._control_words) if answer.status == 410 else None
        if word and self.reply is ControlContrast.REFUSED_THERE and self.control and self.control.status != 410:
            return word
        if not is_404 and (self.regional or answer.has_json_tombstone):
            return self.regional or "tombstone"
        is_this = not is_404 and quirks().this_object.this_object.search(words.notice) is not None
        if not (answer.is_about_ark or is_this):
            return None
        for withdrawal in self._withdrawals():
            return withdrawal.words
        control = self._control_words
        is_withdrawn = sure_words(quirks().withdrawn, words.notice, control)
        return is_withdrawn or sure_words(quirks().restricted, words.notice, control)
