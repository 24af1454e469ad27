"""Decide which question about an ARK to ask next, given the answers so far, with as few questions as needed. No I/O."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from urllib.parse import unquote

from crawler.answers.facts import SILENT_ENDS, AnswerFacts, AnswersByQuestion
from crawler.answers.object_facts import ObjectFacts
from crawler.asking.probes import resolver_or_host
from crawler.model.observations import ACCESS, ChainEnd, Observation, Question
from crawler.model.resolving import (
    INFLECTIONS,
    PASSING_STATUSES,
    asked_url,
    label_of,
    request_url,
    resolver_of,
    same_host,
    with_other_label,
)
from extractors.model.ark import Ark
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL
from extractors.model.urls import origin_of

# -- the location of a resolver on its host, from ``/.well-known/ark`` (draft-kunze-ark-40, 3.4)


_PATH = re.compile(r"/(?:[\x21-\x7e]{0,2000}/)?\Z")


def resolver_path(answer: Observation) -> str | None:
    """Return the path of the resolver that a host's answer states, one line of plain text between slashes, or None."""
    if answer.end is not ChainEnd.ANSWERED or answer.status != 200 or answer.media_type not in ("text/plain", None):
        return None
    words = (answer.text or "").split()
    is_path = len(words) == 1 and _PATH.match(words[0]) and not {"?", "#"} & set(words[0])
    return words[0] if is_path else None


def at_path(url: str, path: str) -> str | None:
    """Return *url* with its resolver under *path* of the host; None if it is already there, or the URL has no label.

    >>> at_path("https://journal.example/ark:/12148/x5", "/index.php/ids/")
    'https://journal.example/index.php/ids/ark:/12148/x5'
    >>> at_path("https://journal.example/index.php/ids/ark:/12148/x5", "/index.php/ids/") is None
    True
    """
    label = LABEL.search(url)
    if label is None:
        return None
    origin = origin_of(url)
    is_there = resolver_or_host(url)[len(origin) :] == path
    return None if is_there else f"{origin}{path}{url[label.start() :]}"


@dataclass(frozen=True, slots=True)
class FallbackUrls:
    """URLs to request an ARK from if the written resolver doesn't know it or doesn't answer."""

    at_registry: str | None = None
    """The registry's target, if it is on another host than the first URL."""
    at_global: str | None = None
    """The URL at the global resolver, if that is another one."""
    is_target: bool = False
    """True if the first URL is the registry's own target."""
    needs_path: bool = False
    """True if the location of the resolver can only be learned from its host."""

    @classmethod
    def for_ark(cls, ark: Ark, url: str, *, registry: Registry, global_resolver: str) -> FallbackUrls:
        """Return the fallback URLs of *ark*, which is first requested at *url*.

        >>> FallbackUrls.for_ark(Ark.parse("ark:12148/x5"), "https://gone.example/ark:/12148/x5", registry=Registry.builtin(),
        ...           global_resolver="https://n2t.net/").at_global
        'https://n2t.net/ark:/12148/x5'
        """
        target = registry.target(ark)
        label = LABEL.search(url)
        compact = url[label.start() :] if label else str(ark)
        at_global = request_url(compact, None, global_resolver)
        return cls(
            at_registry=None if target is None or same_host(target, url) else target,
            at_global=None if same_host(at_global, url) and resolver_of(at_global) == resolver_of(url) else at_global,
            is_target=target is not None and same_host(target, url),
            needs_path=target is None and label is not None and not same_host(at_global, url),
        )


@dataclass(frozen=True, slots=True)
class AskingContext:
    """Facts that decide the next question: from answers about this ARK, and about others of the same resolver."""

    described: bool = False
    """True if an answer describes the object."""
    stated: bool = False
    """True if an answer states a commitment."""
    legacy: bool = True
    """True if ``??`` and ``?`` may be asked."""
    says_no_more: bool = False
    """True if ``??`` at this resolver and shoulder stated no commitment that the record at ``?info`` lacked."""
    own_path: str | None = None
    """The path of the resolver as stated by its host, or None."""
    has_asked_path: bool = False
    """True if the host was asked for that path."""
    is_soft: bool = False
    """True if a name that can't exist gets the same success as the object, so that the page shows no object."""
    control: AnswerFacts | None = None
    """The answer for a name that can't exist."""
    takes_label: bool = False
    """True if the host at `label_authority` has answered for another ARK with this label form."""


def next_question(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, *, first_url: str
) -> Question | None:
    """Return the next question after *answers*, or None if further answers would change nothing.

    The object comes first. If its own resolver doesn't know it, equal spellings follow (2023, 3.2). After these, or if
    the resolver is dead, follow the registry's target and the global resolver: ARKs are meant to survive a change of
    the name mapping authority (2023, 3.4). If the object was reached, its metadata is requested; the legacy
    forms only if ``?info`` gave no record (2023, 5.1.2). ``??`` is also asked after a record without a commitment,
    because only a genuine answer shows that there is none.
    """
    if Question.OBJECT not in answers:
        return Question.OBJECT
    reached = reached_answer(answers)
    asked = answers[Question.OBJECT]
    if reached is None:
        # A resolver that explains that an object is gone may still have its metadata.
        is_gone = asked.is_answered and asked.status == 410
        is_known = is_gone and ObjectFacts(asked, context.control).explanation is not None
        elsewhere = None if is_known else _next_access(answers, context, fallbacks, first_url)
        if elsewhere is not None:
            return elsewhere
        is_closed = asked.is_answered and not asked.is_unknown and not asked.is_failing
        is_described = Question.INFO in answers
        return Question.INFO if (is_known or is_closed) and not is_described else None
    if reached is asked:
        if _is_open(Question.HYPHENS, answers, first_url) and seems_absent(reached):
            return Question.HYPHENS
        if context.is_soft and (elsewhere := next_resolver(answers, fallbacks)) is not None:
            return elsewhere
    # a target of the registry with a query of its own can't be inflected
    return None if "?" in reached.asked_url else _next_inflection(answers, context)


def seems_absent(answer: AnswerFacts) -> bool:
    """Return True if an answer is a success whose page may say that the name is unknown; a control decides later."""
    if not answer.is_reached:
        return False
    facts = ObjectFacts(answer)
    if not facts.signs or facts.is_particular:
        return False
    return not (facts.withdrawal or facts.tombstone or facts.regional)


def _next_access(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, first_url: str
) -> Question | None:
    """Return the question that requests the object in the next way: another spelling, path or resolver.

    None if the object was reached, or if no way is left.
    """
    asked = answers[Question.OBJECT]
    if not (asked.is_unknown or asked.is_failing):
        return None
    if asked.is_unknown and (spelling := _next_spelling(answers, context, first_url)) is not None:
        return spelling
    if not asked.is_resolvers_own:  # a host that only passes the ARK on, such as a moved one, need not know it
        is_passed_on = _was_received(_written_ark(first_url).rstrip("/"), asked)
        return next_resolver(answers, fallbacks) if is_passed_on else None
    if asked.is_unknown:
        if fallbacks.needs_path and not context.has_asked_path:
            return Question.WELL_KNOWN
        if context.own_path and Question.AT_PATH not in answers and at_path(first_url, context.own_path):
            return Question.AT_PATH
    if fallbacks.at_registry and Question.AT_REGISTRY not in answers:
        return Question.AT_REGISTRY
    if fallbacks.at_global and not {Question.AT_GLOBAL, Question.CONFIRMED} & set(answers):
        return Question.CONFIRMED if fallbacks.is_target and asked.is_unknown else Question.AT_GLOBAL
    return None


def next_resolver(answers: AnswersByQuestion, fallbacks: FallbackUrls) -> Question | None:
    """Return the question to the registry's target or the global resolver, unless the chain has passed it, or None."""
    if fallbacks.is_target:
        return None
    hops = answers[Question.OBJECT].hops
    for question, resolver in (
        (Question.AT_REGISTRY, fallbacks.at_registry),
        (Question.AT_GLOBAL, fallbacks.at_global),
    ):
        is_open = resolver and question not in answers
        if is_open and not any(same_host(resolver or "", hop.url) for hop in hops):
            return question
    return None


def _next_spelling(answers: AnswersByQuestion, context: AskingContext, first_url: str) -> Question | None:
    """Return the question with the next equal spelling of *first_url* (2023, 3.2) that may help, or None."""
    asked, written = answers[Question.OBJECT], _written_ark(first_url)
    if not written:
        return None
    name = LABEL.sub("", written, count=1).partition("/")[2]
    if _is_open(Question.NO_SLASH, answers, first_url) and _was_received(name, asked):
        return Question.NO_SLASH
    if _is_open(Question.HYPHENS, answers, first_url) and _was_received(name.rstrip("/"), asked):
        return Question.HYPHENS
    if context.takes_label or not _was_received(written.rstrip("/"), asked):
        return None
    if Question.OTHER_LABEL not in answers:
        return Question.OTHER_LABEL
    is_changed_twice = bool({Question.NO_SLASH, Question.HYPHENS} & set(answers))
    return Question.PLAIN if is_changed_twice and Question.PLAIN not in answers else None


def _is_open(spelling: Question, answers: AnswersByQuestion, first_url: str) -> bool:
    return spelling not in answers and asked_url(first_url, spelling) != first_url


def _written_ark(first_url: str) -> str:
    """Return the ARK in a request URL as written, from its label on; empty if the URL has no label."""
    label = LABEL.search(first_url)
    return unquote(first_url[label.start() :].partition("?")[0]) if label else ""


def label_authority(first_url: str, answer: AnswerFacts | None) -> str:
    """Return the URL, up to the label, of the host that accepts or rejects the label form of *first_url*.

    It is the resolver, or the host that it passes the ARK on to unchanged.

    *answer* is that to the object question, if it was asked.
    """
    if answer is None or answer.is_resolvers_own or not _was_received(_written_ark(first_url).rstrip("/"), answer):
        return resolver_or_host(first_url)
    return resolver_or_host(answer.final_url)


def _was_received(part: str, answer: AnswerFacts) -> bool:
    """Return True if a host that gave an answer had received that *part* of an ARK as written.

    Most resolvers pass an ARK on unchanged, so that the next host fails on its spelling: n2t.net/ark:/13960/t58d-0dn7n
    leads to archive.org/ark:/13960/t58d-0dn7n, which knows t58d0dn7n.
    """
    return answer.is_resolvers_own or (bool(part) and part in unquote(answer.final_url))


def _next_inflection(answers: AnswersByQuestion, context: AskingContext) -> Question | None:
    if Question.INFO not in answers:
        return Question.INFO
    info = answers[Question.INFO]
    is_silent = info.end in SILENT_ENDS or info.status in PASSING_STATUSES
    if not context.legacy or is_silent:
        return None
    if context.described and (context.stated or context.says_no_more):
        return None
    legacy = (Question.DOUBLE,) if context.described else (Question.DOUBLE, Question.SINGLE)
    return next((question for question in legacy if question not in answers), None)


def question_url(
    question: Question,
    first_url: str,
    answers: AnswersByQuestion,
    fallbacks: FallbackUrls,
    *,
    own_path: str | None = None,
) -> str:
    """Return the URL for *question*: inflections are asked where the object was reached.

    >>> question_url(Question.INFO, "https://n2t.net/ark:/12148/x5", {}, FallbackUrls())
    'https://n2t.net/ark:/12148/x5?info'
    """
    if question is Question.AT_REGISTRY and fallbacks.at_registry:
        return fallbacks.at_registry
    if question in (Question.AT_GLOBAL, Question.CONFIRMED) and fallbacks.at_global:
        return fallbacks.at_global
    if question is Question.AT_PATH and own_path and (moved := at_path(first_url, own_path)):
        return moved
    if question is Question.WELL_KNOWN:
        return f"{origin_of(first_url)}/.well-known/ark"
    spelled = asked_url(first_url, Question.NO_SLASH) if Question.NO_SLASH in answers else first_url
    if question is Question.HYPHENS:
        return asked_url(spelled, question)
    if question is Question.OTHER_LABEL:
        return with_other_label(first_url)
    if question is Question.PLAIN:
        return asked_url(with_other_label(spelled), Question.HYPHENS)
    if question in INFLECTIONS and question is not Question.OBJECT:
        reached = reached_answer(answers)
        return asked_url(first_url if reached is None else reached.asked_url, question)
    return asked_url(first_url, question)


def reached_answer(answers: AnswersByQuestion) -> AnswerFacts | None:
    """Return the answer that reached the object by the preferred way, or None.

    A success that may say that the name is unknown comes after one that does not.
    """
    successes = [answers[way] for way in ACCESS if way in answers and answers[way].is_reached]
    if len(successes) < 2:
        return successes[0] if successes else None
    return next((success for success in successes if not seems_absent(success)), successes[0])


# -- the forms of the label that hosts accept, ``ark:`` or ``ark:/``, as learned in a run

#: The number of failures with the other form after which a host counts as indifferent to the form.
TRIES = 3


@dataclass(slots=True)
class LabelForms:
    """The label forms that hosts have accepted, and the attempts with others."""

    _taken: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _tried: Counter[tuple[str, str]] = field(default_factory=Counter)

    def on_answer(self, answer: AnswerFacts) -> None:
        """Note the label form that reached an object, for its resolver and for the host it was passed on to."""
        if answer.is_reached:
            asked = answer.asked_url
            for resolver in {resolver_or_host(asked), label_authority(asked, answer)}:
                self._taken[resolver].add(label_of(asked))

    def note_attempt(self, url: str, answer: AnswerFacts | None) -> None:
        """Count a request with the other form of the label, sent because of *answer* at *url*."""
        self._tried[label_authority(url, answer), label_of(url)] += 1

    def is_settled(self, url: str, answer: AnswerFacts | None) -> bool:
        """Return True if another form than that of *url* can't help: the host accepts this one, or is indifferent."""
        resolver, label = label_authority(url, answer), label_of(url)
        taken = self._taken.get(resolver) or set[str]()
        return label in taken or (not taken and self._tried[resolver, label] >= TRIES)
