"""From a question to its request, and from the end of the chain to an observation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawler.answers.answer import read_answer
from crawler.model.observations import ACCESS, CONFORMANCE, Observation, Question
from crawler.model.resolving import sendable
from crawler.spiders.conversation import Ask
from crawler.spiders.target_arguments import targets_in
from crawler.wire.flags import INCOMPLETE, STOPPED, incomplete
from crawler.wire.middlewares import chain_of
from extractors.ark import Ark
from extractors.normalize import NotAnArk

if TYPE_CHECKING:
    from scrapy.http import Response


#: What is less waits longer: what was begun is finished first, and conformance is looked at last.
_PRIORITY = {Question.OBJECT: 0, **dict.fromkeys(set(CONFORMANCE) - set(ACCESS), -1)}


def request_of(ask: Ask, callback: Callable[..., Any], errback: Callable[..., Any], *, body_limit: int) -> Request:
    """Return the request that puts a question; *callback* gets it as ``ask`` beside the answer."""
    return Request(
        sendable(ask.url),
        callback=callback,
        errback=errback,
        cb_kwargs={"ask": ask},
        dont_filter=True,  # two ARKs may land on one page, and a loop comes by twice
        priority=_PRIORITY.get(ask.question, 1),
        meta={"verbatim_url": True, "text_only": True, "body_limit": body_limit},
    )


def observe(ask: Ask, request: Request, response: Response | None) -> Observation:
    """Return the observation of an *ask*: the chain that *request* ended, and what its last answer says."""
    hops, end, detail = chain_of(request)
    body = b"" if response is None else response.body
    answer = read_answer(body, (hops[-1].headers.get("Content-Type") if hops else None), _asked_about(ask.ark, ask.url))
    return Observation(
        ark=ask.ark,
        request_url=ask.request_url,
        question=ask.question,
        asked_url=ask.url,
        hops=hops,
        end=end,
        detail=detail,
        attempt=ask.attempt,
        media_type=answer.media_type,
        title=answer.title,
        text=answer.text,
        body_bytes=None if response is None else len(body),
        body_sha256=hashlib.sha256(body).hexdigest() if body else None,
        body_complete=response is not None and not INCOMPLETE.intersection(response.flags),
        record=answer.record,
        similarity=answer.similarity,
        facts=answer.facts,
        remarks=() if response is None else _not_whole(response.flags, len(body)),
    )


def observations_of(response: Response) -> Iterator[Observation]:
    """Return what *response* says for the object of each ARK in the URL that it was asked for by."""
    request = response.request
    assert request is not None
    hops, _, _ = chain_of(request)
    url = hops[0].url if hops else request.url
    for ark, asked in targets_in([url], resolver=url)[0]:
        yield observe(Ask(ark, asked, Question.OBJECT, url), request, response)


def _asked_about(ark: Ark, asked: str) -> Ark:
    """The ARK that a URL asks about, a control's own where it holds one; else *ark*."""
    try:
        return Ark.parse(asked.partition("?")[0])
    except NotAnArk:
        return ark


def _not_whole(flags: Sequence[str], size: int) -> tuple[str, ...]:
    """Return what kept an answer from coming whole, but for our own having read enough of it."""
    return () if STOPPED in flags else tuple(f"not the whole answer: {each.detail}" for each in incomplete(flags, size))
