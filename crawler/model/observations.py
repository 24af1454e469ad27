"""Questions and answers as frozen records, and the closed vocabularies of questions and ends of chains.

The values of the enums are the exact strings in the store, in JSON and in tables; new ones may be added, but these
keep their meaning. The vocabularies of what is judged, in `crawler.model.outcomes`, can be had here as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Generic, TypeVar

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
    """This moment, as rows have it."""
    return moment(datetime.now(UTC))


def moment(at: datetime) -> str:
    """A moment, as rows have it.

    >>> moment(datetime.fromisoformat("2026-11-21T10:00:00.5+00:00"))
    '2026-11-21T10:00:00.500+00:00'
    """
    return at.isoformat(timespec="milliseconds")


# -- mentions, as they are in the store


class DecidedOn(IntEnum):
    """The basis on which a mention's row was decided; of several rows about one mention the last counts."""

    READ = 1
    """On its document."""
    TOGETHER = 2
    """On all documents of the run."""
    SETTLED = 3
    """On what resolvers answered about its readings."""


@dataclass(frozen=True, slots=True)
class KeptMention:
    """A mention and its place in the store."""

    document_id: int
    ordinal: int
    request_url: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class KeptUnresolvedMention(KeptMention):
    """A mention that wasn't certain when its document was read."""

    unresolved: UnresolvedMention


# -- questions and answers

OutcomeT = TypeVar("OutcomeT", ObjectOutcome, MetadataOutcome, CommitmentOutcome)


class Question(StrEnum):
    """A question about an ARK, each asked once a run and request URL."""

    OBJECT = "object"
    INFO = "?info"
    DOUBLE = "??"
    SINGLE = "?"
    HYPHENS = "hyphens"
    """The object again, without the hyphens of its name: some resolvers take them for part of it."""
    NO_SLASH = "no trailing slash"
    """The object again, without the slash that its URL was written with: it makes no other ARK."""
    OTHER_LABEL = "other label form"
    """The object again, with ``ark:`` for ``ark:/`` or the other way round: some resolvers know only one of them."""
    PLAIN = "other label form, plain"
    """The same without hyphens and slash as well, when no change alone has helped."""
    WELL_KNOWN = "well-known"
    """Under which path the resolver of this host is, by its own word (``/.well-known/ark``); once a host."""
    AT_PATH = "at own path"
    """The object again, under the path that the host itself names."""
    AT_REGISTRY = "at registry"
    """The object again, at the registry's target for its NAAN or shoulder, when the resolver as written fails."""
    AT_GLOBAL = "at global"
    """The object again, at the global resolver, when the resolver as written fails."""
    CONFIRMED = "confirmed at global"
    """The object of a compact ARK at the global resolver, after the registry's target, asked directly, knew none."""
    CONTROL = "control"
    CONTROL_ELSEWHERE = "control elsewhere"
    """The same at another place, where the success of the resolver as written was held against its own control."""
    CONTROL_AGAIN = "control again"
    """The control once more, after several objects had got one answer that the first control had not."""
    CONTROL_OTHER = "other control"
    """Another name that can't exist, where the first got another page than the object: two of them are to be alike."""
    CONTROL_LANDING = "control landing"
    """A name that can't exist at the host where redirects have led, of which the resolver's control says nothing."""
    CONTROL_INFO = "control ?info"
    RENDERED = "rendered"
    """The object again where an app shell answers, shown by a browser (``[render]``)."""
    CONTROL_RENDERED = "control rendered"
    """A control that an app shell answers too, shown by a browser."""
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
    """The URL where a provider states its commitment in full, asked once a run; no ARK of its own."""


#: Questions that ask for the object itself, the first that works deciding; the later ones only when it fails.
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
#: Questions about the resolver, asked once a resolver and shoulder: does it treat equal ARKs alike? (2020, 7.1)
CONFORMANCE = (
    Question.OTHER_LABEL,
    Question.UPPER_LABEL,
    Question.HYPHENS,
    Question.EXTRA_HYPHEN,
    Question.DOUBLED_SLASH,
    Question.TRAILING_SLASH,
    Question.TRAILING_DOT,
    Question.UNKNOWN_QUALIFIER,
    Question.QUALIFIED_INFO,
    Question.LONG_NAME,
)


class ChainEnd(StrEnum):
    """The end of a chain of hops, before anything is judged."""

    ANSWERED = "answered"
    """The last hop has a status that is not followed any further."""
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
    """A redirect leads to an example or test ARK, which is never requested."""
    UNDETERMINED = "undetermined"
    """A failure of a kind that no one has named yet; its text is kept."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One request and what came back for it.

    `location` is the header as received; `error` the failure's own words when there was no answer.
    """

    url: str
    method: str
    at: str
    """The moment of the answer or failure, ISO 8601 in UTC, in milliseconds."""
    status: int | None = None
    location: str | None = None
    address: str | None = None
    elapsed_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    sent: bool = True
    """Whether anything went out for it: not where robots.txt, our own guard or a dead host kept us from asking, nor
    where a rendered page was given the script that another page had asked for before."""
    body_bytes: int | None = None
    """The size of what was read of the body, as it came over the wire."""
    body_sha256: str | None = None
    """The digest of that; none for an empty body."""

    @property
    def json(self) -> dict[str, Any]:
        """The same as it is in JSON."""
        return {name: getattr(self, name) for name in _HOP_FIELDS} | {"headers": dict(self.headers)}


#: The requests that led from a question to its answer, redirects included.
Chain = tuple[Hop, ...]
_HOP_FIELDS = tuple(column.name for column in fields(Hop))


@dataclass(frozen=True, slots=True)
class Rendering:
    """The course of one rendering of a page by a browser."""

    browser: str
    """Name and version."""
    requests: tuple[Hop, ...] = ()
    """What the page asked for and was given, redirects included, in the order in which it came."""
    lacking: tuple[str, ...] = ()
    """What it asked for and didn't get, each with the reason: it may show something else than it would in a browser."""
    left_out: int = 0
    """How much it asked for that bears on no text: pictures, styles, fonts, frames, what counts visitors."""
    fault: str | None = None
    """Why it came to no end, or to none that holds."""

    @property
    def is_whole(self) -> bool:
        """True if the page shows what it would show in a browser."""
        return self.fault is None and not self.lacking


#: Characters that are kept of one value that a stranger has written; and of all values of one record.
VALUE_CHARS, RECORD_CHARS = 2**13, 2**16
#: ARKs of one page that are kept; a list of a thousand parts is about none of them.
MOST_ARKS = 60


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts that a body states, read when it came, so that no body need be kept."""

    arks: tuple[tuple[str, str], ...] = ()
    """ARKs in normal form and where each is: ``canonical``, ``cite-as``, ``DC.identifier``, ``text`` …"""
    canonical: str | None = None
    refresh: str | None = None
    """Where a ``<meta http-equiv=refresh>`` leads; it is recorded and judged, never followed."""
    challenge: str | None = None
    """Which known bot challenge the markup is; its name in ``quirks.toml``."""
    asks_password: bool = False
    """Whether the page has a field for a password."""
    runs_scripts: bool = False
    """Whether the page has scripts: a browser may show something else than what is in it."""
    signs_on: bool = False
    """Whether the page is a form that goes on to a single sign-on by itself."""
    headings: tuple[str, ...] = ()
    """The first headings of the page's own part."""
    kernel_values: Mapping[str, str] = field(default_factory=dict)
    """The values under descriptive labels of the page, by the kernel's names for these; ``commitment`` among them."""

    def places_of(self, ark: str) -> tuple[str, ...]:
        """Return where the page names *ark*, a normal form; empty when it doesn't."""
        return tuple(where for named_ark, where in self.arks if named_ark == ark)


@dataclass(frozen=True, slots=True)
class Observation:
    """One question asked of the world and its answer; unique by run, request URL, question and attempt."""

    ark: Ark
    """The ARK that the question is about."""
    request_url: str
    """The URL of the object question that this belongs to: ARK and resolver as found, without inflection."""
    question: Question
    asked_url: str
    """The URL whose target was sent first, byte for byte: `request_url` with the inflection, or the control's."""
    hops: Chain
    end: ChainEnd
    detail: str = ""
    """The words for how the chain ended, where there are any."""
    attempt: int = 1
    """Which try this was; the one with the highest number is the answer."""
    media_type: str | None = None
    title: str | None = None
    text: str | None = None
    """The beginning of the answer's readable text, white space folded: evidence, and what answers are compared by."""
    body_bytes: int | None = None
    body_sha256: str | None = None
    body_complete: bool = True
    record: Mapping[str, Any] | None = None
    """What was parsed from a metadata answer: segments of an ERC, or the JSON object."""
    similarity: str | None = None
    """A sketch of the whole readable text: two answers can be compared without their bodies."""
    facts: PageFacts = field(default_factory=PageFacts)
    remarks: tuple[str, ...] = ()
    rendering: Rendering | None = None
    """How the page came about that is described here, where a browser has shown it."""

    def within_limits(self) -> Observation:
        """Return it with no more of each value than is kept; a remark says if its record had more.

        Whatever reads it later, also from a store that somebody else has written, sees no long values.
        """
        facts, record = self.facts, _cut_record(self.record)
        remark = f"only the first {RECORD_CHARS:,} characters of its record were kept"
        is_known = record == self.record or remark in self.remarks
        return replace(
            self,
            hops=tuple(map(_cut_hop, self.hops)),
            title=_cut(self.title),
            text=_cut(self.text),
            record=record,
            facts=replace(
                facts,
                # one that was cut would name something else
                arks=tuple(
                    (ark, place[:VALUE_CHARS]) for ark, place in facts.arks[:MOST_ARKS] if len(ark) <= VALUE_CHARS
                ),
                canonical=_unless_long(facts.canonical),
                refresh=_unless_long(facts.refresh),
                headings=tuple(heading[:VALUE_CHARS] for heading in facts.headings),
                kernel_values=(_cut_record({"": facts.kernel_values}) or {}).get("", {}),
            ),
            remarks=self.remarks if is_known else (*self.remarks, remark),
        )

    def unread(self, reason: str) -> Observation:
        """Return it as an answer of which nothing is known but that it came, and why."""
        return replace(
            self,
            hops=tuple(replace(hop, headers={}) for hop in self.hops),
            end=ChainEnd.UNDETERMINED,
            detail=f"the answer was not read: {reason}",
            title=None,
            text=None,
            record=None,
            similarity=None,
            facts=PageFacts(),
        )

    @property
    def status(self) -> int | None:
        """The HTTP status of the last hop, or none when it got no answer."""
        return self.hops[-1].status if self.hops else None

    @property
    def final_url(self) -> str:
        """The URL that the chain ended at."""
        return self.hops[-1].url if self.hops else self.asked_url

    @property
    def at(self) -> str:
        """Return when the chain ended."""
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
    """The first `RECORD_CHARS` characters of a record: its stories in their order, none of their values long.

    >>> _cut_record({"erc": {"who": "Rossi", "what": "x" * 10_000}})["erc"]["what"] == "x" * VALUE_CHARS
    True
    """
    if record is None:
        return None
    kept: dict[str, dict[str, Any]] = {}
    left = RECORD_CHARS
    for kind, story in record.items():
        kept[kind] = {}
        for label, value in story.items() if isinstance(story, Mapping) else [("", story)]:
            text = value if isinstance(value, str) else json.dumps(value)
            left -= len(label) + min(len(text), VALUE_CHARS)
            if left < 0:
                return kept
            kept[kind][label] = text[:VALUE_CHARS]
    return kept


@dataclass(frozen=True, slots=True)
class LoggedRequests:
    """The requests that a mention counts, in a log of the server that was asked; none for any other mention."""

    asked: int | None = None
    """How often people asked."""
    asked_by_robots: int | None = None
    answered: int | None = None
    """The status of the answers."""


@dataclass(frozen=True, slots=True)
class CitedMention:
    """A mention, and the URL that asks for its object."""

    mention: Mention
    request_url: str
    unresolved: UnresolvedMention | None = None
    """What it was decided on, where other documents may decide it otherwise."""
    decided: DecidedOn = DecidedOn.READ
    requests: LoggedRequests = LoggedRequests()


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document that was asked for: what came, what it holds, and what went wrong with it."""

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
    leads: tuple[CrawlRequest, ...] = ()
    """Where it leads, as far as the crawl follows: put on the frontier in the transaction that records the document."""
    settles: str | None = None
    """The entry of the frontier that has its outcome with this row, by `CrawlRequest.canonical`."""
    listed: str | None = None
    """The digest of what it has listed, if it is a source; kept with the entry that it settles."""
    outlinks: tuple[Outlinks, ...] = ()
    """All links that are followed from here, also those to what was known already."""
    led_to: str | None = None
    """The name of the document that its redirects have led to, where that has a row of its own."""
    led_by: DocumentRecord | None = None
    """The row about the URL of which redirects have led here first: recorded in the same transaction."""

    @property
    def rows(self) -> tuple[DocumentRecord, ...]:
        """Return what is recorded together: this row, and the one about what has led here."""
        return (self,) if self.led_by is None else (self.led_by, self)

    @property
    def status(self) -> int | None:
        """The HTTP status of the last hop, or redirect; none for a file or when there was no answer."""
        own = [hop for hop in self.hops if self.led_to is None or hop.location is not None]
        return own[-1].status if own else None

    @property
    def final_url(self) -> str:
        """Return where the document was in the end."""
        return self.led_to or (self.hops[-1].url if self.hops else self.url)


#: Why a certificate was not seen, where it was a question of time: asked again, it may be seen.
NOT_IN_TIME = "not in time"


@dataclass(frozen=True, slots=True)
class TlsResult:
    """The result of a verifying handshake with a host; resolution is observed apart from it."""

    host: str
    port: int
    trusted: bool | None
    """None when the probe itself could not be made."""
    reason: str
    """``ok``, ``expired``, ``not-yet-valid``, ``self-signed``, ``unknown-issuer``, ``wrong-host`` or the words."""
    at: str
    """The moment of the handshake, ISO 8601 in UTC; before the run began, where one of the same day was taken over."""
    means: str = ""
    """Whose authorities were trusted, and by which route the host was reached: only like results are taken over."""

    @property
    def is_late(self) -> bool:
        """True if no certificate was seen for want of time, which says nothing of it."""
        return self.trusted is None and self.reason == f"not probed: {NOT_IN_TIME}"


@dataclass(frozen=True, slots=True)
class Pause:
    """A host that was asked too fast, or is too busy, wants to be left alone (Retry-After)."""

    host: str
    """Scheme, name and port."""
    url: str
    """The request that was answered so."""
    at: str
    asked_s: float
    """For how many seconds."""
    is_kept: bool
    """Whether that is within our patience; otherwise the host was not asked again, unless there was time anyway."""


@dataclass(frozen=True, slots=True)
class HostTraffic:
    """The traffic to a host in a run, requests for robots.txt and looks at its certificate included."""

    host: str
    requests: int
    failures: int
    """How many of them got no answer."""
    interval_s: float
    """Seconds between two requests, as far as nothing slowed us down."""
    crawl_delay_s: float | None = None
    """The interval that its robots.txt wants."""
    given_up: str | None = None
    """Why it was not asked any more."""


@dataclass(frozen=True, slots=True)
class ServiceVerdict(Generic[OutcomeT]):
    """The judgement about one service, with the sentences that support it."""

    outcome: OutcomeT
    evidence: tuple[str, ...] = ()
    parsed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Meant:
    """An ARK that was probably meant, where another one was written: it lives."""

    ark: Ark
    url: str
    """The URL that asked for it."""
    evidence: tuple[str, ...]

    @property
    def json(self) -> dict[str, Any]:
        """The same as it is in JSON."""
        return {"ark": str(self.ark), "url": self.url, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The three ARK services of one ARK at one request URL (draft-kunze-ark-38, 5.1)."""

    ark: Ark
    request_url: str
    object: ServiceVerdict[ObjectOutcome]
    metadata: ServiceVerdict[MetadataOutcome]
    commitment: ServiceVerdict[CommitmentOutcome]
    final_url: str | None = None
    hops: Chain = ()
    """The chain of the request for the object."""
    requests: int = 0
    """Sent about this ARK at this URL: every attempt and every redirect."""
    remarks: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    """What was asked for others as well, by the URL asked first: controls, policies, a host's path, other readings."""
    did_you_mean: Meant | None = None
    naan_policy: Mapping[str, Any] = field(default_factory=dict)
    """What the NAAN registry says of the policy of those who assign such names; empty where it says nothing."""

    def __repr__(self) -> str:
        services = ", ".join(str(service.outcome) for service in (self.object, self.metadata, self.commitment))
        return f"<Verdict {self.ark} at {self.request_url}: {services}>"
