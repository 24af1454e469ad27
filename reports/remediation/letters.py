"""Letters to those who can repair a cause: what was seen and when, and what would help, in plain words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from crawler.observations import ObjectOutcome
from reports.display import counted, escaped
from reports.headline import day_words
from reports.remediation.causes import Cause, Fault
from reports.wording import OBJECT_MEANINGS

#: ARKs that a letter names; how many more there are it says.
MOST_NAMED: Final = 12
#: Documents that it names of each.
_MOST_DOCUMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """One ARK that was not reached as cited."""

    ark: str
    """Normal form."""
    url: str
    """What was asked."""
    outcome: ObjectOutcome
    day: date | None = None
    """When."""
    documents: tuple[str, ...] = ()
    """Those that cite it."""
    should_be: str = ""
    """What would be right, if that is known."""
    archived_copy: str = ""
    """Where an archive has a copy of what it led to."""
    archived_on: date | None = None
    """When that was captured."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter to copy."""

    subject: str
    body: str


def letter(cause: Cause, fault: Fault, host: str, seen: Sequence[Seen], count: int) -> Letter:
    """The letter about a *cause* to whom its *fault* says: to a *host*, or to those who edit the citing documents.

    Of so many ARKs as *count* says, *seen* has the first.

    What comes from the web is spelled out where it could not be seen, and is in no way marked up.

    >>> one = Seen("ark:12148/btv1b84", "https://n.example/ark:/12148/btv1b84", ObjectOutcome.LOOP, date(2026, 11, 23))
    >>> letter(Cause.LOOP, Fault.RESOLVER, "n.example", [one], 1).subject
    'An ARK cannot be reached at n.example'
    """
    arks = list(dict.fromkeys(each.ark for each in seen))[:MOST_NAMED]
    is_for_editors = fault is Fault.CITATION
    subject = _form(_CITED_SUBJECT if is_for_editors else _SUBJECT, count, host)
    opening = _form(_CITED_OPENING if is_for_editors else _OPENING, count, host)
    more = count - len(arks)
    parts = [
        "Dear editors," if is_for_editors else "Dear colleagues,",
        f"{opening} {_MEANING}",
        *("\n".join(_told(each)) for each in seen if each.ark in arks),
        *([f"And {counted(more, 'more ARK')}: we gladly send the list."] if more > 0 else []),
        REQUESTS[cause],
        "We gladly send what was asked and answered, request by request. Thank you for your help.",
    ]
    return Letter(subject, "\n\n".join(parts) + "\n")


#: For one ARK, and for many.
_SUBJECT: Final = ("An ARK cannot be reached at {host}", "{count:,} ARKs cannot be reached at {host}")
_CITED_SUBJECT: Final = ("A cited ARK needs a correction", "{count:,} cited ARKs need a correction")
_MEANING: Final = (
    "An ARK is a persistent identifier: it should lead to its object, or to words about what has become of it."
)
_OPENING: Final = (
    "An ARK did not lead to its object when we asked for it at {host}.",
    "{count:,} ARKs did not lead to their objects when we asked for them at {host}.",
)
_CITED_OPENING: Final = (
    "An ARK that your documents cite did not lead to its object, and the citation seems to be the cause.",
    "{count:,} ARKs that your documents cite did not lead to their objects, and the citations seem to be the cause.",
)


def _form(forms: tuple[str, str], count: int, host: str) -> str:
    return forms[count != 1].format(count=count, host=escaped(host) or "its address")


def _told(seen: Seen) -> Iterator[str]:
    yield escaped(seen.ark)
    yield f"  asked at {escaped(seen.url)}"
    meaning = OBJECT_MEANINGS[seen.outcome]
    yield f"  on {day_words(seen.day)}: {meaning}" if seen.day else f"  {meaning}"
    if seen.documents:
        named = " and ".join(map(escaped, seen.documents[:_MOST_DOCUMENTS]))
        more = len(seen.documents) - _MOST_DOCUMENTS
        yield f"  cited in {named}, and in {counted(more, 'other document')}" if more > 0 else f"  cited in {named}"
    if seen.should_be:
        yield f"  it should probably be {escaped(seen.should_be)}"
    if seen.archived_copy and seen.archived_on:
        copy = escaped(seen.archived_copy)
        yield f"  an archive has a copy of what it led to, of {day_words(seen.archived_on)}: {copy}"


#: What would help, said to whoever can do it.
REQUESTS: Final[Mapping[Cause, str]] = {
    Cause.LABEL_FORM: "Could your resolver accept ark: and ark:/ alike? Both forms of the label mean the same.",
    Cause.HYPHENS: "Could your resolver ignore hyphens? In an ARK they have no meaning.",
    Cause.MOVED_RESOLVER: (
        "Another resolver knows these ARKs. Could the old address redirect there, so that what was cited keeps working?"
    ),
    Cause.MISTYPED: "Could you compare these with their sources? The check character shows a typing error.",
    Cause.CUT_SHORT: "Could you complete these citations? Longer ARKs that begin like them work.",
    Cause.RUN_ON: "Could you shorten these citations? Something that is not part of the ARK is glued to its end.",
    Cause.UNKNOWN_PART: (
        "The whole object can be reached, these parts of it can not. Were they renamed, or are they gone?"
    ),
    Cause.REFUSED_HERE: "The same ARKs work at another address. Could this one redirect there?",
    Cause.DEAD_HOST: "The host has given no answer for some time. Is there another one that knows these ARKs?",
    Cause.SILENT_HOST: ("It may have been an outage. If the host is to stay silent, which other one knows these ARKs?"),
    Cause.PASSING: "It may have been an outage: the host answers for other ARKs. Could you look at these?",
    Cause.LOOP: "The redirects lead in a circle. Could you correct where they lead?",
    Cause.BAD_REDIRECT: "The redirects lead to no usable address. Could you correct where they lead?",
    Cause.CHANGED_PATH: (
        "All that lead to addresses of this form fail: the paths of the site seem to have changed. One redirect from "
        "the old form to the new one would repair all of them."
    ),
    Cause.UNKNOWN_NAAN: (
        "The resolver led no ARK of this NAAN to its object. Should it know them? If not, which resolver does?"
    ),
    Cause.WITHDRAWN: (
        "The objects seem to be withdrawn. Could the ARKs lead to a page that says so, and why? Then the citations "
        "keep their meaning."
    ),
    Cause.MISSING_PAGE: (
        "The resolver knows these ARKs, but the pages that they lead to are not there. Where are they now? With the "
        "new addresses the resolver can be corrected."
    ),
    Cause.UNKNOWN_NAME: (
        "The resolver knows other ARKs of this NAAN, and not these. Should it know them, or were they never assigned?"
    ),
}
