"""Find why an ARK fails at a URL, who can fix it, and the right citation.

The functions take plain values and return a `Diagnosis`; they do no I/O. A cause claims no more than the answers of one
run show: an outage is not link rot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote_to_bytes

from crawler.model.observations import Family, ObjectOutcome, Question
from extractors.model.urls import authority_of, split_url
from reports.languages import N_, VOCABULARY


class Cause(StrEnum):
    """The cause of an ARK's failure, as far as one run shows."""

    LABEL_FORM = "label-form"
    """A host accepts only one form of the label, although both are equivalent (draft-kunze-ark-38, 3.2)."""
    HYPHENS = "hyphens"
    """A host treats hyphens as part of the name, although they are insignificant (draft-kunze-ark-38, 3.2)."""
    MOVED_RESOLVER = "moved-resolver"
    """The cited resolver fails, and another one works."""
    MISTYPED = "mistyped"
    """The check character is wrong, which shows that the cited ARK was never assigned."""
    CUT_SHORT = "cut-short"
    """The ARK is the beginning of another cited ARK that works."""
    RUN_ON = "run-on"
    """The ARK is another cited ARK that works, followed by extra text."""
    UNKNOWN_PART = "unknown-part"
    """The ARK of the whole object works, and the ARK of this part does not."""
    REFUSED_HERE = "refused-here"
    """The same ARK works at another URL where it is cited."""
    DEAD_HOST = "dead-host"
    """The host has given no usable answer to any ARK over several runs and days."""
    UNREACHABLE_HOST = "unreachable-host"
    """The host gave no usable answer to any ARK of this run: an outage, unless it lasts."""
    PASSING = "passing"
    """The host answers for other ARKs, but not for this one: possibly temporary."""
    LOOP = "loop"
    """The redirects form a loop, or there are too many."""
    BAD_REDIRECT = "bad-redirect"
    """The redirect target is not a usable address."""
    CHANGED_PATH = "changed-path"
    """Every ARK that is redirected to addresses of this pattern fails there: the site has changed its paths."""
    UNKNOWN_NAAN = "unknown-naan"
    """The resolver resolves no ARK of this NAAN."""
    WITHDRAWN = "withdrawn"
    """The object is permanently gone (410)."""
    MISSING_PAGE = "missing-page"
    """The resolver knows the ARK, but the target page is missing."""
    UNKNOWN_NAME = "unknown-name"
    """The resolver resolves other ARKs of the NAAN, but not this one."""


class Fault(StrEnum):
    """The party that can start the repair."""

    CITATION = "citation"
    """The editors of the document: it cites something that was not assigned."""
    RESOLVER = "resolver"
    """The operators of the resolver, or the maintainers of its targets."""
    LANDING_HOST = "landing-host"
    """The institution that holds the object: its pages have moved or are gone."""
    ORGANIZATION = "organization"
    """The organization of the NAAN: it knows where its ARKs resolve."""
    NOBODY = "nobody"
    """No repair yet: check again first."""


class Grade(StrEnum):
    """The urgency of a cause."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    WAIT = "wait"
    """The host gave no answer, which may be an outage: check again before anything else."""


#: Numbers of citations or ARKs from which a cause is more urgent.
_SIZE_STEPS = (5, 50)
#: A cause that lasts this number of days is more urgent.
_OLD_DAYS = 30


def grade(fault: Fault, *, citations: int, arks: int, confirmed: int, days: float) -> Grade:
    """Return the urgency of a cause by its size, certainty and age.

    *confirmed* of its *arks* are confirmed broken, and *days* is the age of its oldest failure.

    >>> grade(Fault.RESOLVER, citations=5, arks=1, confirmed=0, days=0).value
    'medium'
    >>> grade(Fault.RESOLVER, citations=5, arks=1, confirmed=1, days=31).value
    'high'
    """
    if fault is Fault.NOBODY:
        return Grade.WAIT
    size = sum(max(citations, arks) >= step for step in _SIZE_STEPS)
    points = size + (2 * confirmed >= arks) + (days >= _OLD_DAYS)
    return Grade.HIGH if points >= 3 else Grade.MEDIUM if points else Grade.LOW


_CAUSE_WORDS = VOCABULARY["cause"]
#: The party to contact first.
FAULT_OF = {cause: Fault(_CAUSE_WORDS[cause]["fault"]) for cause in Cause}
#: Causes at the host that gave the last answer, which need not be the cited resolver.
_CAUSES_AT_LAST_HOST = (Cause.DEAD_HOST, Cause.LOOP, Cause.LABEL_FORM, Cause.HYPHENS)
ADVICE = {cause: _CAUSE_WORDS[cause]["advice"] for cause in Cause}

#: The cause that follows if the object was reached in another way than as written.
_BY_WAY: Mapping[str | None, Cause] = {
    Question.OTHER_LABEL: Cause.LABEL_FORM,
    Question.HYPHENS: Cause.HYPHENS,
    Question.PLAIN: Cause.REFUSED_HERE,
    Question.NO_SLASH: Cause.REFUSED_HERE,
    Question.AT_PATH: Cause.MOVED_RESOLVER,
    Question.AT_REGISTRY: Cause.MOVED_RESOLVER,
    Question.AT_GLOBAL: Cause.MOVED_RESOLVER,
    Question.CONFIRMED: Cause.MOVED_RESOLVER,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """An ARK that was not reached as cited: its URL, its outcome and the evidence of the run about it."""

    ark: str
    """The ARK in normal form."""
    request_url: str
    outcome: str
    last_url: str
    """The URL of the last request of the object's chain, whether or not it was answered."""
    status: int | None = None
    way: str | None = None
    """The question, such as without hyphens, that reached the object instead; None if none did or none was needed."""
    way_url: str | None = None
    """The URL requested in that way."""
    check: str = "unknown"
    """The state of its check character, as in the column `check`."""
    has_lasted: bool = False
    """True if it failed as cited over enough checks and days to exclude an outage."""
    # Evidence from other ARKs of the run.
    works_at: str | None = None
    """Another URL of the same ARK that works."""
    longer: str | None = None
    """A cited ARK that works and begins with this one."""
    shorter: str | None = None
    """A cited ARK that works, and whose name is the beginning of the name of this one."""
    whole: str | None = None
    """The ARK of the whole object, or of a larger part, if it works."""
    host_answers: bool = True
    """True if the host at the end of the chain gave an answer about at least one ARK of the run."""
    naan_known: bool = True
    """True if the first host led at least one ARK of this NAAN to an object."""
    pattern_works: bool = True
    """True if at least one ARK that is redirected to an address of the same `pattern` works."""
    pattern_count: int = 1
    """Number of ARKs redirected to addresses of this pattern."""
    meant: str | None = None
    """An ARK that works, and was requested because the author probably wanted to cite it."""
    suggestion: str | None = None
    """A cited ARK that works and resembles this one, if the check character of this one is wrong."""
    living_url: str | None = None
    """A URL that works now, and at which the redirects of this ARK ended in an earlier run."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of a failure: its cause, the party to contact, and the right citation."""

    cause: Cause
    fault: Fault
    host: str
    """The host to repair."""
    pattern: str
    """The ARK, host address, or result of `pattern` that one repair would fix."""
    should_be: str | None = None
    """The text that the document should cite instead, if known."""
    because: str | None = None
    """The evidence for `should_be`."""

    @property
    def rule(self) -> str:
        """Return `pattern` with ``{naan}`` in place of the NAAN: the rule for redirects that one repair would change.

        Empty unless the cause is `CHANGED_PATH`.

        >>> Diagnosis(Cause.CHANGED_PATH, Fault.LANDING_HOST, "l.example", "https://l.example/ark:/12148/{name}").rule
        'https://l.example/ark:/{naan}/{name}'
        """
        return _ANY_NAAN.sub(r"\1{naan}/", self.pattern) if self.cause is Cause.CHANGED_PATH else ""


def diagnose(failure: Failure) -> Diagnosis:
    """Return the diagnosis of *failure*, with the first cause that fits.

    >>> url = "https://m.example/ark:/53355/cl010"
    >>> diagnose(Failure("ark:53355/cl010", url, ObjectOutcome.BROKEN, url, 404, naan_known=False)).cause.value
    'unknown-naan'
    """
    cause = _cause(failure)
    fault = FAULT_OF[cause]
    first_host, last_host = authority_of(failure.request_url), authority_of(failure.last_url)
    if cause in _CAUSES_AT_LAST_HOST and last_host != first_host:
        fault = Fault.LANDING_HOST
    is_at_last_host = fault is Fault.LANDING_HOST or cause in (Cause.UNREACHABLE_HOST, Cause.PASSING)
    url = failure.last_url if is_at_last_host else failure.request_url
    host = authority_of(url)
    if cause in (Cause.DEAD_HOST, Cause.UNREACHABLE_HOST, Cause.PASSING):
        address_pattern = f"{split_url(url).scheme}://{host}/" if host else url
    else:
        address_pattern = failure.ark if FAULT_OF[cause] is Fault.CITATION else pattern(url, failure.ark)
    return Diagnosis(cause, fault, host, address_pattern, *_correction(failure, cause))


def _cause(failure: Failure) -> Cause:
    """Return the first cause that fits the evidence."""
    # An answer that may be another one tomorrow gives no reason to change a citation.
    may_pass = (failure.status is None or failure.status >= 500) and not failure.has_lasted
    if failure.way in _BY_WAY and not may_pass:
        return _BY_WAY[failure.way]
    if failure.way is not None or ObjectOutcome(failure.outcome).family is Family.UNREACHABLE:
        if failure.works_at and not may_pass:
            return Cause.REFUSED_HERE
        if failure.host_answers:
            return Cause.PASSING
        return Cause.DEAD_HOST if failure.has_lasted else Cause.UNREACHABLE_HOST
    if failure.check == "fails":
        return Cause.MISTYPED
    if failure.longer:
        return Cause.CUT_SHORT
    if failure.shorter:
        return Cause.RUN_ON
    if failure.works_at:
        return _cause_of_spelling(failure.request_url, failure.works_at)
    if failure.whole:
        return Cause.UNKNOWN_PART
    if failure.outcome in (ObjectOutcome.LOOP, ObjectOutcome.TOO_MANY_REDIRECTS):
        return Cause.LOOP
    if failure.outcome == ObjectOutcome.BAD_REDIRECT:
        return Cause.BAD_REDIRECT
    # The host that gave a negative answer, and its answers for other ARKs.
    if failure.status == 410:
        return Cause.WITHDRAWN
    if authority_of(failure.request_url) != authority_of(failure.last_url):
        has_changed_path = not failure.pattern_works and failure.pattern_count > 1
        return Cause.CHANGED_PATH if has_changed_path else Cause.MISSING_PAGE
    return Cause.UNKNOWN_NAME if failure.naan_known else Cause.UNKNOWN_NAAN


def _cause_of_spelling(failing_url: str, working_url: str) -> Cause:
    """Return the cause that explains why *failing_url* of an ARK fails while *working_url* of the same ARK works.

    >>> _cause_of_spelling("https://n2t.net/ark:/13960/t58d-0dn7n", "https://n2t.net/ark:/13960/t58d0dn7n").value
    'hyphens'
    """
    if failing_url.replace("ark:/", "ark:") == working_url.replace("ark:/", "ark:"):
        return Cause.LABEL_FORM
    if failing_url.replace("-", "") == working_url.replace("-", ""):
        return Cause.HYPHENS
    return Cause.REFUSED_HERE


def _correction(failure: Failure, cause: Cause) -> tuple[str | None, str | None]:
    """Return the most certain text to cite instead, and a sentence with the evidence for it.

    Only texts that worked in this audit are proposed. (None, None) if there is none, or if the failure may be an outage.
    """
    if FAULT_OF[cause] is Fault.NOBODY:
        return None, None
    if failure.way is not None and failure.way_url:
        return failure.way_url, N_("it works there")
    if cause is Cause.CUT_SHORT:
        return failure.longer, N_("a longer ARK that is cited elsewhere works")
    if cause is Cause.RUN_ON:
        return failure.shorter, N_("the ARK without the extra text at its end is cited elsewhere and works")
    if cause is Cause.UNKNOWN_PART:
        return failure.whole, N_("the ARK of the whole object works")
    if failure.works_at:
        return failure.works_at, N_("the same ARK is cited there and works")
    if failure.meant:
        return failure.meant, N_("it was probably meant, and works")
    if failure.suggestion:
        return failure.suggestion, N_("one character differs, and the check character is valid")
    if failure.living_url:
        return failure.living_url, N_("it led there when it last worked")
    return None, None


def pattern(url: str, ark: str) -> str:
    """Return *url* with ``{name}`` for the name of *ark* (in normal form), so that URLs made by one rule are equal.

    If the URL contains neither the ARK nor its name, its last path segment becomes a wildcard.

    >>> pattern("https://gallica.example/ark:/12148/btv1b84.item", "ark:12148/btv1b84")
    'https://gallica.example/ark:/12148/{name}.item'
    >>> pattern("https://gallica.example/view/449691?lang=fr", "ark:12148/btv1b84")
    'https://gallica.example/view/*'
    """
    address = url.partition("#")[0]
    may_be_spelled = _MAY_BE_SPELLED.search(address)
    # In the normal form, the name ends where the qualifier begins.
    name_and_qualifier = ark.partition("/")[2]
    for name in filter(None, dict.fromkeys([name_and_qualifier, _QUALIFIER.split(name_and_qualifier, maxsplit=1)[0]])):
        prefix, spelling, suffix = address.partition(name)
        if not spelling and may_be_spelled:
            prefix, spelling, suffix = _find_spelling(address, name)
        if spelling:
            return f"{prefix}{{name}}{suffix}"
    return _with_wildcard(address)


#: The sign with which the qualifier of an ARK begins.
_QUALIFIER = re.compile("[/.]")
#: An octet that is percent-encoded, or one character.
_OCTETS = re.compile("%[0-9A-Fa-f]{2}|.", re.DOTALL)
#: Characters of a URL that show that a name may be spelled differently from the normal form.
_MAY_BE_SPELLED = re.compile("[-%A-Z]")


def _find_spelling(address: str, name: str) -> tuple[str, str, str]:
    """Split *address* around *name*, ignoring hyphens, case and percent-encoding; (*address*, "", "") if absent.

    >>> _find_spelling("/a/%62T-v1/x", "btv1")
    ('/a/', '%62T-v1', '/x')
    """
    octets, spans = _decoded_octets(address)
    wanted_octets, _ = _decoded_octets(name)
    index = octets.find(wanted_octets) if wanted_octets else -1
    if index < 0:
        return address, "", ""
    start, end = spans[index][0], spans[index + len(wanted_octets) - 1][1]
    return address[:start], address[start:end], address[end:]


def _decoded_octets(text: str) -> tuple[bytes, list[tuple[int, int]]]:
    """Return *text* in lower case, percent-decoded, without hyphens; and the span in *text* of each octet."""
    octets, spans = bytearray(), []
    for match in _OCTETS.finditer(text):
        octet = unquote_to_bytes(match[0].encode("utf-8", "surrogatepass")).lower()
        if octet != b"-":
            octets += octet
            spans += [match.span()] * len(octet)
    return bytes(octets), spans


def _with_wildcard(url: str) -> str:
    """Return *url* without query, with ``*`` for its last path segment."""
    path = url.partition("?")[0]
    return f"{path.rpartition('/')[0]}/*" if "/" in path.partition("://")[2] else path


#: The NAAN in an address pattern.
_ANY_NAAN = re.compile(r"(ark:/?)[0-9b-z]+/(?=.*\{name\})", re.IGNORECASE)
