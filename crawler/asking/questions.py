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


_RESOLVER_PATH = re.compile(r"/(?:[\x21-\x7e]{0,2000}/)?\Z")


def resolver_path(answer: Observation) -> str | None:
    """Return the path of the resolver from a host's *answer* for ``/.well-known/ark``, such as ``/ids/``, or None."""
    if answer.end is not ChainEnd.ANSWERED or answer.status != 200 or answer.media_type not in ("text/plain", None):
        return None
    lines = (answer.text or "").split()
    is_path = len(lines) == 1 and _RESOLVER_PATH.match(lines[0]) and not {"?", "#"} & set(lines[0])
    return lines[0] if is_path else None


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
    is_at_path = resolver_or_host(url)[len(origin) :] == path
    return None if is_at_path else f"{origin}{path}{url[label.start() :]}"


@dataclass(frozen=True, slots=True)
class FallbackUrls:
    """URLs to request an ARK from if the written resolver doesn't know it or doesn't answer."""

    at_registry: str | None = None
    """The registry's target, if it is on another host than the first URL."""
    at_global: str | None = None
    """The URL at the global resolver, if that is another one."""
    is_target: bool = False
    """True if the first URL is at the registry's target."""
    needs_path: bool = False
    """True if neither registry nor global resolver gives another URL, and the host may name the path of its resolver."""

    @classmethod
    def for_ark(cls, ark: Ark, url: str, *, registry: Registry, global_resolver: str) -> FallbackUrls:
        """Return the fallback URLs of *ark*, which is first requested at *url*.

        >>> FallbackUrls.for_ark(Ark.parse("ark:12148/x5"), "https://gone.example/ark:/12148/x5", registry=Registry.builtin(),
        ...           global_resolver="https://n2t.net/").at_global
        'https://n2t.net/ark:/12148/x5'
        """
        registry_target = registry.target(ark)
        label = LABEL.search(url)
        compact = url[label.start() :] if label else str(ark)
        at_global = request_url(compact, None, global_resolver)
        return cls(
            at_registry=None if registry_target is None or same_host(registry_target, url) else registry_target,
            at_global=None if same_host(at_global, url) and resolver_of(at_global) == resolver_of(url) else at_global,
            is_target=registry_target is not None and same_host(registry_target, url),
            needs_path=registry_target is None and label is not None and not same_host(at_global, url),
        )


@dataclass(frozen=True, slots=True)
class AskingContext:
    """Facts that decide the next question: from answers about this ARK, and about others of the same resolver."""

    is_described: bool = False
    """True if an answer describes the object."""
    is_commitment_stated: bool = False
    """True if an answer states a commitment."""
    allows_legacy: bool = True
    """True if ``??`` and ``?`` may be asked."""
    adds_no_commitment: bool = False
    """True if ``??`` stated no commitment for another ARK of this resolver and shoulder, whose record had none."""
    own_path: str | None = None
    """The path of the resolver as stated by its host, or None."""
    has_asked_path: bool = False
    """True if the host was asked for the path of its resolver."""
    is_soft_404: bool = False
    """True if a name that can't exist gets the same success as the object, so that the page shows no object."""
    control: AnswerFacts | None = None
    """The answer for a name that can't exist, or None."""
    accepts_label_form: bool = False
    """True if the host at `label_authority` has answered for another ARK with this label form."""


Request = tuple[Question, str]
"""A question, and the URL that asks it."""


def next_question(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, *, first_url: str
) -> Request | None:
    """Return the next question after *answers* and the URL that asks it, or None if no answer would change a verdict.

    The object comes first. If its own resolver doesn't know it, equal spellings follow (2023, 3.2). After these, or if
    the resolver is dead, follow the registry's target and the global resolver: ARKs are meant to survive a change of
    the name mapping authority (2023, 3.4). If the object was reached, its metadata is requested; the legacy
    forms only if ``?info`` gave no record (2023, 5.1.2). ``??`` is also asked after a record without a commitment.
    Only the answer to ``??`` can show that there is none.
    """
    requests = _useful_requests(answers, context, fallbacks, first_url)
    return next((request for request in requests if request[0] not in answers), None)


def _useful_requests(
    answers: AnswersByQuestion, context: AskingContext, fallbacks: FallbackUrls, first_url: str
) -> Iterator[Request]:
    """Yield the questions whose answers may change a verdict, in order, including those with an answer."""
    yield Question.OBJECT, first_url
    object_answer, best_answer = answers[Question.OBJECT], reached_answer(answers)
    if best_answer is None:
        # A resolver that explains that an object is gone may still have its metadata.
        is_gone = object_answer.is_answered and object_answer.status == 410
        is_explained = is_gone and ObjectFacts(object_answer, context.control).explanation is not None
        if not is_explained and (object_answer.is_unknown or object_answer.is_failing):
            yield from _further_access_requests(object_answer, answers, context, fallbacks, first_url)
        if is_explained or (
            object_answer.is_answered and not object_answer.is_unknown and not object_answer.is_failing
        ):
            yield Question.INFO, asked_url(first_url, Question.INFO)
        return
    if best_answer is object_answer:
        if seems_absent(best_answer):
            yield from _respelled_requests(Question.HYPHENS, first_url)
        if context.is_soft_404:
            yield from _unvisited_resolver_requests(object_answer, fallbacks)
    # A target of the registry with a query of its own can't be inflected.
    if "?" not in best_answer.asked_url:
        for question in _useful_inflections(answers, context):
            yield question, asked_url(best_answer.asked_url, question)


def _further_access_requests(
    object_answer: AnswerFacts,
    answers: AnswersByQuestion,
    context: AskingContext,
    fallbacks: FallbackUrls,
    first_url: str,
) -> Iterator[Request]:
    """Yield the requests for an object after its first answer failed: in other spellings, at another path or resolver."""
    if object_answer.is_unknown:
        yield from _spelling_requests(object_answer, answers, context, first_url)
    if not object_answer.is_from_resolver:  # a host that only passes the ARK on, such as a moved one, need not know it
        if _was_received(_written_ark(first_url).rstrip("/"), object_answer):
            yield from _unvisited_resolver_requests(object_answer, fallbacks)
        return
    if object_answer.is_unknown:
        if fallbacks.needs_path and not context.has_asked_path:
            yield Question.WELL_KNOWN, f"{origin_of(first_url)}/.well-known/ark"
        if context.own_path and (url_at_path := at_path(first_url, context.own_path)):
            yield Question.AT_PATH, url_at_path
    if fallbacks.at_registry:
        yield Question.AT_REGISTRY, fallbacks.at_registry
    if fallbacks.at_global:
        is_confirmed = fallbacks.is_target and object_answer.is_unknown
        yield Question.CONFIRMED if is_confirmed else Question.AT_GLOBAL, fallbacks.at_global


def _unvisited_resolver_requests(object_answer: AnswerFacts, fallbacks: FallbackUrls) -> Iterator[Request]:
    """Yield the requests to the registry's target and the global resolver, unless the chain has passed them."""
    if fallbacks.is_target:
        return
    for question, url in ((Question.AT_REGISTRY, fallbacks.at_registry), (Question.AT_GLOBAL, fallbacks.at_global)):
        if url is not None and not any(same_host(url, hop.url) for hop in object_answer.hops):
            yield question, url


def _spelling_requests(
    object_answer: AnswerFacts, answers: AnswersByQuestion, context: AskingContext, first_url: str
) -> Iterator[Request]:
    """Yield the equal spellings of *first_url* (2023, 3.2) that may help."""
    written_ark = _written_ark(first_url)
    if not written_ark:
        return
    name = LABEL.sub("", written_ark, count=1).partition("/")[2]
    respelled_url = asked_url(first_url, Question.NO_SLASH) if Question.NO_SLASH in answers else first_url
    if _was_received(name, object_answer):
        yield from _respelled_requests(Question.NO_SLASH, first_url)
    if _was_received(name.rstrip("/"), object_answer):
        yield from _respelled_requests(Question.HYPHENS, respelled_url)
    if context.accepts_label_form or not _was_received(written_ark.rstrip("/"), object_answer):
        return
    yield Question.OTHER_LABEL, with_other_label(first_url)
    if not answers.keys().isdisjoint((Question.NO_SLASH, Question.HYPHENS)):
        yield Question.PLAIN, asked_url(with_other_label(respelled_url), Question.HYPHENS)


def _respelled_requests(spelling: Question, url: str) -> Iterator[Request]:
    """Yield the question *spelling* with *url* in that spelling, or nothing if it does not differ."""
    respelled = asked_url(url, spelling)
    if respelled != url:
        yield spelling, respelled


def _written_ark(first_url: str) -> str:
    """Return the ARK in a request URL as written, from its label on; empty if the URL has no label."""
    label = LABEL.search(first_url)
    return unquote(first_url[label.start() :].partition("?")[0]) if label else ""


def label_authority(first_url: str, answer: AnswerFacts | None) -> str:
    """Return the URL, up to the label, of the host that accepts or rejects the label form of *first_url*.

    This is the resolver, or the host to which the resolver passes the ARK on unchanged, by the *answer* for the object.
    """
    if answer is None or answer.is_from_resolver or not _was_received(_written_ark(first_url).rstrip("/"), answer):
        return resolver_or_host(first_url)
    return resolver_or_host(answer.final_url)


def _was_received(part: str, answer: AnswerFacts) -> bool:
    """Return True if the host of an *answer* was asked for *part* of the ARK as written. The resolver always was.

    Most resolvers pass an ARK on unchanged, so that the next host fails on its spelling: n2t.net/ark:/13960/t58d-0dn7n
    leads to archive.org/ark:/13960/t58d-0dn7n, which knows t58d0dn7n.
    """
    return answer.is_from_resolver or (bool(part) and part in unquote(answer.final_url))


def _useful_inflections(answers: AnswersByQuestion, context: AskingContext) -> Iterator[Question]:
    yield Question.INFO
    info_answer = answers[Question.INFO]
    is_silent = info_answer.end in SILENT_ENDS or info_answer.status in PASSING_STATUSES
    if not context.allows_legacy or is_silent:
        return
    if context.is_described and (context.is_commitment_stated or context.adds_no_commitment):
        return
    yield Question.DOUBLE
    if not context.is_described:
        yield Question.SINGLE
