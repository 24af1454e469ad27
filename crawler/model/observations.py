"""Questions and answers as frozen records, and the closed vocabularies of questions and ends of chains.

The values of the enums are the exact strings in the store, in JSON and in tables. New ones may be added, but these keep
their meaning. The vocabularies of verdicts, from `crawler.model.outcomes`, are available here too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Generic, Self, TypeVar

from crawler.model.crawl_requests import CrawlRequest, Outlinks
from crawler.model.outcomes import DESCRIBED as DESCRIBED
from crawler.model.outcomes import FAMILY_OF as FAMILY_OF
from crawler.model.outcomes import SEVERITY as SEVERITY
from crawler.model.outcomes import CommitmentOutcome as CommitmentOutcome
from crawler.model.outcomes import DocumentOutcome as DocumentOutcome
from crawler.model.outcomes import Family as Family
from crawler.model.outcomes import MetadataOutcome as MetadataOutcome
from crawler.model.outcomes import ObjectOutcome as ObjectOutcome
from extractors.find import UnresolvedMention
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.documents import Finding


def now() -> str:
    """Return the current time as `moment` writes it."""
    return moment(datetime.now(UTC))


def moment(at: datetime) -> str:
    """Return the time *at* as the store keeps it: ISO 8601 in UTC, in milliseconds.

    >>> moment(datetime.fromisoformat("2026-11-21T10:00:00.5+00:00"))
    '2026-11-21T10:00:00.500+00:00'
    """
    return at.isoformat(timespec="milliseconds")


# -- mentions, as they are in the store


class DecidedOn(IntEnum):
    """The basis of the decision in a mention's row. If a mention has several rows, the highest value counts."""

    READ = 1
    """Its own document."""
    TOGETHER = 2
    """All documents of the run."""
    SETTLED = 3
    """The answers of resolvers about its readings."""


@dataclass(frozen=True, slots=True)
class StoredMention:
    """A mention in the store."""

    document_id: int
    ordinal: int
    """Number of the mention in its document, from 1."""
    request_url: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class StoredUnresolvedMention(StoredMention):
    """A mention that was not certain from its document alone."""

    unresolved: UnresolvedMention


# -- questions and answers

OutcomeT = TypeVar("OutcomeT", bound=StrEnum)


class Question(StrEnum):
    """A question about an ARK, asked once per run and request URL."""

    OBJECT = "object"
    INFO = "?info"
    DOUBLE = "??"
    SINGLE = "?"
    HYPHENS = "hyphens"
    """The object again, without hyphens in its name: some resolvers treat them as part of it."""
    NO_SLASH = "no trailing slash"
    """The object again, without the final slash of its URL, which does not change the ARK."""
    OTHER_LABEL = "other label form"
    """The object again, with ``ark:`` for ``ark:/`` or the reverse: some resolvers know only one form."""
    PLAIN = "other label form, plain"
    """The same, also without hyphens and slash, if no single change helped."""
    WELL_KNOWN = "well-known"
    """The path of this host's resolver, as the host states it (``/.well-known/ark``); once per host."""
    AT_PATH = "at own path"
    """The object again, under the path that the host names."""
    AT_REGISTRY = "at registry"
    """The object again, at the registry's target for its NAAN or shoulder, if the resolver in the citation fails."""
    AT_GLOBAL = "at global"
    """The object again, at the global resolver, if the resolver in the citation fails."""
    CONFIRMED = "confirmed at global"
    """The object of a compact ARK at the global resolver, after the registry's target did not know it."""
    CONTROL = "control"
    CONTROL_ELSEWHERE = "control elsewhere"
    """A name that can't exist, requested at another resolver where the object was reached."""
    CONTROL_AGAIN = "control again"
    """The name that can't exist once more, after several objects got the same answer, which it did not get at first."""
    CONTROL_OTHER = "other control"
    """A second name that can't exist, after the first got another page than the object. Both should be alike."""
    CONTROL_LANDING = "control landing"
    """A name that can't exist at the landing host, about which the resolver's control says nothing."""
    CONTROL_EVERY_PART = "control landing, every part"
    """The same with every part of the address changed, if changing one part got the object's page.

    The landing host may ignore that one part.
    """
    CONTROL_INFO = "control ?info"
    RENDERED = "rendered"
    """The object again, rendered by a browser, if the answer is an app shell (``[render]``)."""
    CONTROL_RENDERED = "control rendered"
    """A control with an app shell as answer, rendered by a browser."""
    UPPER_LABEL = "upper-case label"
    EXTRA_HYPHEN = "extra hyphen"
    DOUBLED_SLASH = "doubled slash"
    TRAILING_SLASH = "trailing slash"
    TRAILING_DOT = "trailing dot"
    UNKNOWN_QUALIFIER = "unknown qualifier"
    QUALIFIED_INFO = "qualified ?info"
    LONG_NAME = "255 characters"
    OTHER_CASE_NAAN = "NAAN in the other case"
    LONG_NAAN = "NAAN of 16 octets"
    OTHER_NAAN = "unknown NAAN"
    LOOK_ALIKE = "hyphen look-alike"
    OTHER_CASE = "name in the other case"
    NEEDLESS_ESCAPE = "needless escape"
    ODD_OCTETS = "odd octets"
    OVER_LONG = "4,000 characters"
    QUERY = "query"
    HEAD = "HEAD"
    ACCEPT = "unheard-of type"
    FROM_SCRIPT = "?info for a script"
    PLAIN_HTTP = "plain http"
    FRONT_PAGE = "front page"
    RATE = "one of a hundred names"
    TOMBSTONE = "tombstone"
    """The object of an ARK that is known to be gone, in a conformance test."""
    POLICY_LINK = "policy link"
    """The URL of the full statement of a commitment, requested once per run; it has no ARK of its own."""


#: Requests for the object itself. The first that works decides; the later ones are sent only if it fails.
ACCESS = (
    Question.OBJECT,
    Question.NO_SLASH,
    Question.HYPHENS,
    Question.OTHER_LABEL,
    Question.PLAIN,
    Question.CONFIRMED,
    Question.AT_PATH,
    Question.AT_REGISTRY,
    Question.AT_GLOBAL,
)


class ChainEnd(StrEnum):
    """The end of a chain of hops, before any verdict."""

    ANSWERED = "answered"
    """The last hop has a status that is not followed."""
    NON_WEB = "non-web"
    LOOP = "loop"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BAD_REDIRECT = "bad-redirect"
    DNS = "dns"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    RESET = "reset"
    TLS = "tls"
    PROTOCOL_ERROR = "protocol-error"
    ROBOTS = "robots"
    REFUSED_ADDRESS = "refused-address"
    SKIPPED = "skipped"
    """A redirect to an example or test ARK, which is never requested."""
    INVALID = "invalid"
    """The URL is malformed, so nothing was requested."""
    UNDETERMINED = "undetermined"
    """A failure of another kind; its text is kept."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One request and its answer.

    `location` is the header as received, or the target of a page that does nothing but refresh.
    `error` is the message of the failure if there was no answer.
    """

    url: str
    method: str
    at: str
    """The time of the answer or failure, ISO 8601 in UTC, in milliseconds."""
    status: int | None = None
    location: str | None = None
    address: str | None = None
    elapsed_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    sent: bool = True
    """False if nothing was sent: robots.txt, the address guard or a dead host prevented it, or a cache had the answer."""
    body_bytes: int | None = None
    """The size of the part of the body that was read, as transferred."""
    body_sha256: str | None = None
    """The digest of that part; None for an empty body."""
    certificate_fault: str | None = None
    """The fault of the host's certificate in words, such as "has expired"; None without one, or by plain http."""

    @property
    def json(self) -> dict[str, Any]:
        """The hop in the form of JSON."""
        return {name: getattr(self, name) for name in _HOP_FIELDS} | {"headers": dict(self.headers)}


#: The requests from a question to its answer, with redirects.
Chain = tuple[Hop, ...]
_HOP_FIELDS = tuple(hop_field.name for hop_field in fields(Hop))


@dataclass(frozen=True, slots=True)
class Rendering:
    """The rendering of a page by a browser."""

    browser: str
    """Name and version."""
    requests: tuple[Hop, ...] = ()
    """The requests of the page that were answered, with redirects, in order."""
    lacking: tuple[str, ...] = ()
    """The requests of the page that were not answered, each with the reason. A browser might show another page."""
    left_out: int = 0
    """The number of requests that do not affect text: pictures, styles, fonts, frames, visitor counters."""
    fault: str | None = None
    """The reason why the rendering did not finish, or is not valid."""

    @property
    def is_whole(self) -> bool:
        """True if the page is the same as in any browser."""
        return self.fault is None and not self.lacking


#: Maximum number of characters of one foreign value, and of all values of one record.
VALUE_CHARS, RECORD_CHARS = 2**13, 2**16
#: Maximum number of ARKs of one page that are kept; a list of a thousand parts is about none of them.
MOST_ARKS = 60


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a body shows about its page, extracted on arrival, so that no body needs to be kept."""

    arks: tuple[tuple[str, str], ...] = ()
    """ARKs in normal form with their places: ``canonical``, ``cite-as``, ``DC.identifier``, ``text`` …"""
    canonical: str | None = None
    refresh: str | None = None
    """The target of a ``<meta http-equiv=refresh>``, or of a script that leads to a home page, that was not followed."""
    challenge: str | None = None
    """The name of the robot check in ``quirks.toml`` that the markup matches."""
    asks_password: bool = False
    """True if the page has a password field."""
    runs_scripts: bool = False
    """True if the page has scripts, so that a browser may show something else."""
    signs_on: bool = False
    """True if the page is a form that continues to a single sign-on without a click."""
    is_unfilled: bool = False
    """True if the page has nothing but the site's parts, or labels for an author, a title or a date without values."""
    is_only_text: bool = False
    """True if the part that other pages of the site lack has no media, and no links except to home or search."""
    headings: tuple[str, ...] = ()
    """The first headings of the page's own part."""
    kernel_values: Mapping[str, str] = field(default_factory=dict)
    """Values under labels of the page such as "Author", by kernel element (``who``, ``what`` …) or ``commitment``."""

    def locations_of(self, ark: str) -> tuple[str, ...]:
        """Return the places where the page names *ark* (a normal form), as in `arks`; empty if it does not."""
        return tuple(where for named_ark, where in self.arks if named_ark == ark)


@dataclass(frozen=True, slots=True)
class Observation:
    """One question and its answer; unique by run, request URL, question and attempt."""

    ark: Ark
    """The ARK that the question is about."""
    request_url: str
    """The URL that requests the object of the ARK, at the resolver as found and without inflection."""
    question: Question
    asked_url: str
    """The URL of the first request, byte for byte: `request_url` with the inflection, or the control's."""
    hops: Chain
    end: ChainEnd
    detail: str = ""
    """A message about the end of the chain, such as that of a failure; may be empty."""
    attempt: int = 1
    """The number of this attempt; the highest one is the answer."""
    media_type: str | None = None
    title: str | None = None
    text: str | None = None
    """The beginning of the readable text, with folded white space, as evidence and for comparisons."""
    body_bytes: int | None = None
    body_sha256: str | None = None
    body_complete: bool = True
    record: Mapping[str, Any] | None = None
    """The parsed metadata: the stories of an ERC, each with its elements, or the JSON object."""
    similarity: str | None = None
    """A sketch of the whole readable text, for comparing answers without their bodies."""
    page_digest: str | None = None
    """A digest of what a page says and shows, for comparing the pages of a host (`crawler.answers.page_copies`)."""
    facts: PageFacts = field(default_factory=PageFacts)
    remarks: tuple[str, ...] = ()
    rendering: Rendering | None = None
    """The rendering of this page, if a browser rendered it."""

    def within_limits(self) -> Observation:
        """Return the observation with each value cut to its limit, and a remark if its record was longer.

        The limits bound the memory of later readers, also of a foreign store.
        """
        facts, record = self.facts, _cut_record(self.record)
        remark = f"only the first {RECORD_CHARS:,} characters of its record were kept"
        has_remark = record == self.record or remark in self.remarks
        return replace(
            self,
            hops=tuple(map(_cut_hop, self.hops)),
            title=_cut(self.title),
            text=_cut(self.text),
            record=record,
            facts=replace(
                facts,
                # A truncated ARK would be another ARK.
                arks=tuple(
                    (ark, location[:VALUE_CHARS]) for ark, location in facts.arks[:MOST_ARKS] if len(ark) <= VALUE_CHARS
                ),
                canonical=_unless_long(facts.canonical),
                refresh=_unless_long(facts.refresh),
                headings=tuple(heading[:VALUE_CHARS] for heading in facts.headings),
                kernel_values=(_cut_record({"": facts.kernel_values}) or {}).get("", {}),
            ),
            remarks=self.remarks if has_remark else (*self.remarks, remark),
        )

    def unread(self, reason: str) -> Self:
        """Return the observation as an answer without content, with the *reason* why it was not read."""
        return replace(
            self,
            hops=tuple(replace(hop, headers={}) for hop in self.hops),
            end=ChainEnd.UNDETERMINED,
            detail=f"the answer was not read: {reason}",
            title=None,
            text=None,
            record=None,
            similarity=None,
            page_digest=None,
            facts=PageFacts(),
        )

    @property
    def status(self) -> int | None:
        """The HTTP status of the last hop, or None without an answer."""
        return self.hops[-1].status if self.hops else None

    @property
    def final_url(self) -> str:
        """The URL at the end of the chain."""
        return self.hops[-1].url if self.hops else self.asked_url

    @property
    def at(self) -> str:
        """The time of the last answer or failure, ISO 8601 in UTC."""
        return self.hops[-1].at if self.hops else ""


def _cut(value: str | None) -> str | None:
    return value if value is None else value[:VALUE_CHARS]


def _unless_long(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_CHARS else None


def _cut_hop(hop: Hop) -> Hop:
    if max(map(len, hop.headers.values()), default=0) <= VALUE_CHARS:
        return hop
    return replace(hop, headers={name: value[:VALUE_CHARS] for name, value in hop.headers.items()})


def _cut_record(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return *record* with each value cut to `VALUE_CHARS`, and only as many of its elements as fit in `RECORD_CHARS`.

    >>> _cut_record({"erc": {"who": "Rossi", "what": "x" * 10_000}})["erc"]["what"] == "x" * VALUE_CHARS
    True
    """
    if record is None:
        return None
    kept_stories: dict[str, dict[str, Any]] = {}
    chars_left = RECORD_CHARS
    for kind, story in record.items():
        kept_stories[kind] = {}
        for label, value in story.items() if isinstance(story, Mapping) else [("", story)]:
            text = value if isinstance(value, str) else json.dumps(value)
            chars_left -= len(label) + min(len(text), VALUE_CHARS)
            if chars_left < 0:
                return kept_stories
            kept_stories[kind][label] = text[:VALUE_CHARS]
    return kept_stories


@dataclass(frozen=True, slots=True)
class LoggedRequests:
    """The requests that a mention in a server's log counts; both None for other mentions."""

    asked: int | None = None
    """The number of requests."""
    answered: int | None = None
    """The HTTP status of the answers."""


@dataclass(frozen=True, slots=True)
class CitedMention:
    """A mention, and the URL that requests its object."""

    mention: Mention
    request_url: str
    unresolved: UnresolvedMention | None = None
    """The basis of the decision, if other documents may change it."""
    decided: DecidedOn = DecidedOn.READ
    requests: LoggedRequests = LoggedRequests()


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document that was requested: the answer, its content, and any faults."""

    url: str
    found_on: str | None
    fetched_at: str
    outcome: DocumentOutcome | ObjectOutcome
    hops: Chain = ()
    media_type: str | None = None
    title: str = ""
    body_bytes: int | None = None
    body_sha256: str | None = None
    mentions: tuple[CitedMention, ...] = ()
    findings: tuple[Finding, ...] = ()
    new_requests: tuple[CrawlRequest, ...] = ()
    """The links that the crawl follows, added to the frontier in the transaction that records the document."""
    settles: str | None = None
    """`CrawlRequest.canonical` of the frontier entry that this row completes; None if it completes none."""
    listed: str | None = None
    """`GateResult.listed`, if the document is a source; stored with the completed entry, for a resumed crawl."""
    outlinks: tuple[Outlinks, ...] = ()
    """All followed links, also those to documents that the crawl requests anyway."""
    led_to: str | None = None
    """The URL of the document at the end of its redirects, if that has a row of its own."""
    redirected_from: DocumentRecord | None = None
    """The row of the first URL that redirected to this document, recorded in the same transaction."""

    @property
    def rows(self) -> tuple[DocumentRecord, ...]:
        """The rows that are recorded together: this row, and the one about the redirecting URL."""
        return (self,) if self.redirected_from is None else (self.redirected_from, self)

    @property
    def status(self) -> int | None:
        """The HTTP status of the last hop or redirect; None for a file or without an answer."""
        own_hops = [hop for hop in self.hops if self.led_to is None or hop.location is not None]
        return own_hops[-1].status if own_hops else None

    @property
    def final_url(self) -> str:
        """The final address of the document."""
        return self.led_to or (self.hops[-1].url if self.hops else self.url)


@dataclass(frozen=True, slots=True)
class Pause:
    """A host's request for a pause (Retry-After)."""

    host: str
    """Scheme, name and port."""
    url: str
    """The URL of the request with this answer."""
    at: str
    asked_s: float
    """The length of the pause, in seconds."""
    is_kept: bool
    """True if it is within arkaudit's patience. Otherwise the host is not contacted again, unless the time has passed
    anyway.
    """


@dataclass(frozen=True, slots=True)
class HostTraffic:
    """The traffic to a host in a run, with robots.txt."""

    host: str
    requests: int
    failures: int
    """The number of requests without an answer."""
    interval_s: float
    """Seconds between two requests, without back-off."""
    crawl_delay_s: float | None = None
    """The interval that its robots.txt wants."""
    given_up: str | None = None
    """The reason why it was not contacted any more."""


@dataclass(frozen=True, slots=True)
class ServiceVerdict(Generic[OutcomeT]):
    """The outcome of one service, with the sentences that support it."""

    outcome: OutcomeT
    evidence: tuple[str, ...] = ()
    parsed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntendedArk:
    """An ARK that works, and that the author of a faulty citation probably wanted to write."""

    ark: Ark
    url: str
    """The URL that requested it."""
    evidence: tuple[str, ...]

    @property
    def json(self) -> dict[str, Any]:
        """The ARK in the form of JSON."""
        return {"ark": str(self.ark), "url": self.url, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on the three services of one ARK at one request URL (draft-kunze-ark-38, 5.1)."""

    ark: Ark
    request_url: str
    object: ServiceVerdict[ObjectOutcome]
    metadata: ServiceVerdict[MetadataOutcome]
    commitment: ServiceVerdict[CommitmentOutcome]
    final_url: str | None = None
    hops: Chain = ()
    """The chain of the request for the object."""
    requests: int = 0
    """The number of requests about this ARK at this URL: every attempt and every redirect."""
    remarks: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    """Shared answers that it depends on, by the first URL requested: controls, policies, a host's path, other readings.
    """
    did_you_mean: IntendedArk | None = None
    naan_policy: Mapping[str, Any] = field(default_factory=dict)
    """The policy of the assigner of such names in the NAAN registry; may be empty."""

    def __repr__(self) -> str:
        services = ", ".join(str(service.outcome) for service in (self.object, self.metadata, self.commitment))
        return f"<Verdict {self.ark} at {self.request_url}: {services}>"


@dataclass(frozen=True, slots=True)
class Problem:
    """An outcome that may need action: of an ARK at one URL, or of a document."""

    outcome: str
    ark: str = ""
    """The ARK in normal form; empty for a document."""
    hosts: frozenset[str] = frozenset()
    """The host that receives the first request, and those where chains of redirects end."""
    documents: tuple[str, ...] = ()
    """The documents that cite the ARK, or the document itself."""
