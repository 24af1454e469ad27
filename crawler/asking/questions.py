"""Decide which question about an ARK to ask next, given the answers so far, with as few questions as needed. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from crawler.answers.facts import SILENT_ENDS, AnswerFacts, AnswersByQuestion
from crawler.answers.object_facts import ObjectFacts, reached_answer, seems_absent
from crawler.answers.probes import resolver_or_host
from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import PASSING_STATUSES, asked_url, request_url, resolver_of, same_host, with_other_label
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


Request = tuple[Question, str]
"""A question, and the URL that asks it."""


def next_question(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, *, first_url: str
) -> Request | None:
    """Return the next question after *answers* with its URL, or None if further answers would change nothing.

    The object comes first. If its own resolver doesn't know it, equal spellings follow (2023, 3.2). After these, or if
    the resolver is dead, follow the registry's target and the global resolver: ARKs are meant to survive a change of
    the name mapping authority (2023, 3.4). If the object was reached, its metadata is requested; the legacy
    forms only if ``?info`` gave no record (2023, 5.1.2). ``??`` is also asked after a record without a commitment,
    because only a genuine answer shows that there is none.
    """
    requests = _useful_requests(answers, context, fallbacks, first_url)
    return next((request for request in requests if request[0] not in answers), None)


def _useful_requests(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, first_url: str
) -> Iterator[Request]:
    """Yield the questions whose answers may change a verdict, in order, including those with an answer."""
    yield Question.OBJECT, first_url
    asked, reached = answers[Question.OBJECT], reached_answer(answers)
    if reached is None:
        # A resolver that explains that an object is gone may still have its metadata.
        is_gone = asked.is_answered and asked.status == 410
        is_known = is_gone and ObjectFacts(asked, context.control).explanation is not None
        if not is_known and (asked.is_unknown or asked.is_failing):
            yield from _further_access(asked, answers, context, fallbacks, first_url)
        if is_known or (asked.is_answered and not asked.is_unknown and not asked.is_failing):
            yield Question.INFO, asked_url(first_url, Question.INFO)
        return
    if reached is asked:
        if seems_absent(reached):
            yield from _in_spelling(Question.HYPHENS, first_url)
        if context.is_soft:
            yield from _unvisited_resolvers(asked, fallbacks)
    # A target of the registry with a query of its own can't be inflected.
    if "?" not in reached.asked_url:
        for question in _useful_inflections(answers, context):
            yield question, asked_url(reached.asked_url, question)


def _further_access(
    asked: AnswerFacts, answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, first_url: str
) -> Iterator[Request]:
    """Yield the requests for an object that was not reached: in other spellings, at another path or resolver."""
    if asked.is_unknown:
        yield from _spellings(asked, answers, context, first_url)
    if not asked.is_resolvers_own:  # a host that only passes the ARK on, such as a moved one, need not know it
        if _was_received(_written_ark(first_url).rstrip("/"), asked):
            yield from _unvisited_resolvers(asked, fallbacks)
        return
    if asked.is_unknown:
        if fallbacks.needs_path and not context.has_asked_path:
            yield Question.WELL_KNOWN, f"{origin_of(first_url)}/.well-known/ark"
        if context.own_path and (moved := at_path(first_url, context.own_path)):
            yield Question.AT_PATH, moved
    if fallbacks.at_registry:
        yield Question.AT_REGISTRY, fallbacks.at_registry
    if fallbacks.at_global:
        is_confirmed = fallbacks.is_target and asked.is_unknown
        yield Question.CONFIRMED if is_confirmed else Question.AT_GLOBAL, fallbacks.at_global


def _unvisited_resolvers(asked: AnswerFacts, fallbacks: FallbackUrls) -> Iterator[Request]:
    """Yield the requests to the registry's target and the global resolver, unless the chain has passed them."""
    if fallbacks.is_target:
        return
    for question, url in ((Question.AT_REGISTRY, fallbacks.at_registry), (Question.AT_GLOBAL, fallbacks.at_global)):
        if url is not None and not any(same_host(url, hop.url) for hop in asked.hops):
            yield question, url


def _spellings(
    asked: AnswerFacts, answers: AnswersByQuestion, context: AskingContext, first_url: str
) -> Iterator[Request]:
    """Yield the equal spellings of *first_url* (2023, 3.2) that may help."""
    written = _written_ark(first_url)
    if not written:
        return
    name = LABEL.sub("", written, count=1).partition("/")[2]
    spelled = asked_url(first_url, Question.NO_SLASH) if Question.NO_SLASH in answers else first_url
    if _was_received(name, asked):
        yield from _in_spelling(Question.NO_SLASH, first_url)
    if _was_received(name.rstrip("/"), asked):
        yield from _in_spelling(Question.HYPHENS, spelled)
    if context.takes_label or not _was_received(written.rstrip("/"), asked):
        return
    yield Question.OTHER_LABEL, with_other_label(first_url)
    if not answers.keys().isdisjoint((Question.NO_SLASH, Question.HYPHENS)):
        yield Question.PLAIN, asked_url(with_other_label(spelled), Question.HYPHENS)


def _in_spelling(spelling: Question, url: str) -> Iterator[Request]:
    """Yield *url* in another spelling, if that differs."""
    respelled = asked_url(url, spelling)
    if respelled != url:
        yield spelling, respelled


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


def _useful_inflections(answers: AnswersByQuestion, context: AskingContext) -> Iterator[Question]:
    yield Question.INFO
    info = answers[Question.INFO]
    is_silent = info.end in SILENT_ENDS or info.status in PASSING_STATUSES
    if not context.legacy or is_silent or (context.described and (context.stated or context.says_no_more)):
        return
    yield Question.DOUBLE
    if not context.described:
        yield Question.SINGLE
