"""``arkaudit.toml`` and the options of the command become one validated `Config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, Self
from urllib.request import getproxies

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from arkaudit import __version__
from arkaudit.setting_values import (
    AccessLogFormat,
    AddressTexts,
    ArkBeginning,
    Cookies,
    CronExpression,
    DirectoryUrl,
    FormFields,
    Header,
    Headers,
    KeyFile,
    LanguageCode,
    NamesLookedUp,
    PagesRendered,
    PageUrl,
    Pattern,
    ResolverUrl,
    RouteTexts,
    Seconds,
    SecondsOrNone,
    ServiceUrl,
    TimeGateUrl,
    ZoneName,
    of_own_hosts,
)
from crawler.asking.probes import ENOUGH_NAMES
from crawler.history.ark_status import StatusPolicy
from crawler.history.rechecking import Intervals, RecheckPolicy
from crawler.model.addresses import AddressGuard, Routes
from crawler.model.crawl_requests import Extent
from crawler.model.resolving import Patience
from crawler.politeness.pacing import Allowance, Allowances, is_own
from crawler.rendering import PageLimits, RenderOptions, find_browser
from crawler.sources.xml_sources import Selection
from crawler.verdicts.verdict import ClosedCollection
from crawler.wire.credentials import Credential, Credentials, LogIn, Origin, of_proxy
from crawler.wire.identity import RequestSigner, read_key

HOME = "https://pypi.org/project/arkaudit/"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Politeness(_Section):
    """Options for the treatment of hosts."""

    delay: float = Field(1.0, ge=0, le=3600)
    """Seconds between two requests to a host; less than one holds for hosts of one's own only, see `Host`."""
    timeout: float = Field(30.0, gt=0, le=3600)
    """Seconds for one request, from connecting to the last byte that is needed."""
    attempts: int = Field(3, ge=1, le=10)
    """How often a question is put at most, where the failure may pass: a timeout, 429, 503 …"""
    backoff: float = Field(2.0, ge=0, le=3600)
    """Seconds before the second attempt; each further wait is twice as long."""
    longest_wait: float = Field(60.0, ge=0, le=86400)
    """Seconds; a host that asks for a longer pause (Retry-After) is not waited for, and one whose robots.txt wants
    longer intervals (Crawl-delay, Request-rate) is not asked."""
    user_agent: Header | None = None
    contact: Header | None = None
    """An address or URL where the operator can be reached; part of the User-Agent."""


class Identity(_Section):
    """Options for signed requests, by which hosts can verify who asks (RFC 9421, Web Bot Auth)."""

    key: KeyFile
    """The private key, in a file that `arkaudit identity new` makes; it needs the extra ``identity``."""
    agent: DirectoryUrl
    """The https address at which hosts have its public key; sent as Signature-Agent."""

    @property
    def signer(self) -> RequestSigner:
        """The signer of requests. Raises `crawler.wire.identity.KeyUnusable` where the file is gone."""
        return RequestSigner(read_key(self.key), self.agent)


class Success(_Section):
    """The signs that a log-in has worked; all that are given must hold."""

    status: int | None = Field(None, ge=100, le=599)
    """The status of the answer to the form: 302, for most."""
    cookie: str | None = None
    """The name of a cookie that it sets."""
    text: str | None = Field(None, min_length=1)
    """Words of the page that comes then, after a redirect on the same host too."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say what shows success: status, cookie or text")
        return self


class LogInForm(_Section):
    """Options for the log-in form of a host of one's own."""

    url: PageUrl
    """The page with the form, on this host."""
    fields: FormFields = Field(min_length=1)
    """By the names that they have in the form: a text, or what is secret in the environment, ``{ env = "NAME" }``."""
    success: Success


class Host(_Section):
    """Options for a host of one's own; it is named by ``name``, ``name:port`` or ``scheme://name:port``."""

    interval: float = Field(1.0, ge=0, le=3600)
    """Seconds between two requests."""
    concurrency: int = Field(1, ge=1, le=100)
    """How many requests may be under way at a time."""
    headers: Headers = {}
    """Headers that it asks for, such as Authorization; sent to this scheme (https, by default), name and port only."""
    cookies: Cookies = {}
    """Cookies that it asks for, likewise."""
    login: LogInForm | None = None
    """A form to log in by, once a run, before anything is asked."""


class Network(_Section):
    """Options for where connections go."""

    connect_to: RouteTexts = []
    """``HOST:PORT=ADDR:PORT``: connect there instead; URL and Host header stay."""
    only_routed: bool = False
    """A name that has no route fails, and is not looked up."""
    ca_file: Path | None = None
    """Certificates of authorities that the TLS probe trusts instead of the system's."""
    allow_addresses: AddressTexts = []
    """Networks (CIDR) among the private ones that may be reached."""


class Log(_Section):
    """Options for the log of a command."""

    file: Path | None = None
    """Where to; without it, on standard error."""
    level: Literal["debug", "info", "warning", "error"] | None = None
    """The least that is: by default warnings, and with a file info. With debug, each request."""
    format: Literal["text", "json"] = "text"


class Harvest(_Section):
    """Options that select the records of a repository to harvest, in the arguments of OAI-PMH."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    prefix: str = "oai_dc"
    set: str | None = None
    since: str | None = Field(None, alias="from")
    until: str | None = None

    @property
    def selection(self) -> Selection:
        """The same, as it is asked for."""
        return Selection(self.prefix, self.set, self.since, self.until)

    @model_validator(mode="after")
    def _is_selection(self) -> Self:
        self.selection  # noqa: B018  raises ValueError
        return self


class Crawl(_Section):
    """Options for how far a crawl goes."""

    depth: int | None = Field(None, ge=0)
    max_pages: int | None = Field(None, ge=1)
    max_time: SecondsOrNone = Field(None, gt=0)
    """Seconds; as text also with a unit: ``90m``, ``2h``. What is in flight then is still recorded."""
    scope: Extent = Extent.SITE
    """How much of a seed's site is crawled: its registered domain, its host, or its path."""
    include: list[Pattern] = []
    """Regular expressions: a link is followed only if one of them is found in its URL."""
    exclude: list[Pattern] = []
    """Regular expressions: a link is not followed if one of them is found in its URL."""
    content_hosts: list[str] = []
    """Hosts that hold documents of the site; pages there are not crawled further."""
    ignore_nofollow: bool = False
    """Whether pages and links that ask not to be followed are followed: for one's own sites."""
    sitemaps: bool = True
    """Whether the sitemaps are read that the robots.txt of a site names."""
    oai: Harvest = Harvest()
    access_log_format: AccessLogFormat | None = None
    """How lines of ``log:`` are written, in the words of Apache or nginx; without it as they mostly are."""


class Resolve(_Section):
    """Options for the questions about ARKs."""

    max_hops: int = Field(20, ge=5, le=100)
    """Redirects in a chain; at least 5 (draft-castelan-ark-uri, 7.1.3)."""
    legacy_inflections: bool = True
    """Whether ``??`` and ``?`` are asked where ``?info`` gave nothing."""
    conformance: bool = True
    """Whether a resolver is asked for one ARK of a shoulder in other forms, which it must treat alike."""
    conformance_from: int = Field(ENOUGH_NAMES, ge=1)
    """How many ARKs of a shoulder it takes for that; it costs at most ten questions, of four shoulders a resolver."""
    maptr: NamesLookedUp = False
    """Whether resolvers that the registry doesn't know are looked up in the DNS (NAPTR records under ark.arpa)."""
    direct: bool = False
    """Whether what would be asked of the global resolver, compact ARKs above all, is asked of the registry's target."""


class Memento(_Section):
    """Options for archived copies of what ARKs led to that fail, by the Memento protocol (RFC 7089)."""

    timegate: TimeGateUrl | None = None
    """The address of a TimeGate, after which a URL is put: ``https://web.archive.org/web/``. Without it no archive is
    asked."""
    max_age: Seconds = Field(30 * 86_400.0, ge=0)
    """Seconds, or with a unit (``30d``), for which what an archive has answered is not asked again."""


class Render(_Section):
    """Options for pages that only a browser shows: those of app shells, which are the same for any name without it."""

    enabled: PagesRendered = False
    """Whether a Chromium shows them; it needs the extra ``render`` and an installed Chromium."""
    browser: Path | None = None
    """The Chromium to be used; without it the first that is found on the PATH."""
    max_requests: int = Field(PageLimits().requests, ge=1, le=1000)
    """What a page may ask for, besides itself."""
    max_bytes: int = Field(PageLimits().bytes, ge=1)
    """Of all that, as it is sent."""
    seconds: Seconds = Field(PageLimits().seconds, gt=0, le=600)
    """For which its scripts may work, without the time in which they wait for what they have asked for."""

    @model_validator(mode="after")
    def _has_browser(self) -> Self:
        if self.enabled and find_browser(self.browser) is None:
            where = f"at {self.browser}"
            if self.browser is None:
                where = "on the PATH: name one as render.browser"
            raise ValueError(f"there is no Chromium {where}")
        return self

    @property
    def options(self) -> RenderOptions | None:
        """The same, as the crawler takes it; None where nothing is rendered."""
        browser = find_browser(self.browser) if self.enabled else None
        limits = PageLimits(self.max_requests, self.max_bytes, self.seconds)
        return None if browser is None else RenderOptions(browser, limits)


class Closed(_Section):
    """A collection that is meant to be closed: to be refused there is what its keepers intend."""

    arks: ArkBeginning
    """A NAAN, or a NAAN and the beginning of names: ``98765`` or ``98765/k3``."""
    reason: str = ""
    """Why no one is let in, for the report."""


class RecheckDays(_Section):
    """Days between two checks of an ARK, by its state; None for the general value."""

    healthy: float | None = Field(None, ge=0, le=3650)
    failing: float | None = Field(None, ge=0, le=3650)
    """Of flapping ones, too."""
    confirmed_broken: float | None = Field(None, ge=0, le=3650)
    blocked: float | None = Field(None, ge=0, le=3650)
    undetermined: float | None = Field(None, ge=0, le=3650)


class Recheck(RecheckDays):
    """Options for when ARKs are checked again, and when a failure is confirmed."""

    naan: dict[str, RecheckDays] = {}
    host: dict[str, RecheckDays] = {}
    """By the host that is asked first; it weighs more than the NAAN."""
    strikes: int = Field(StatusPolicy().strikes, ge=1, le=100)
    """So many failures, without a good answer between them,"""
    strike_days: float = Field(StatusPolicy().days, ge=0, le=3650)
    """over so many days are confirmed."""

    @property
    def intervals(self) -> RecheckPolicy:
        """Return how often what is checked."""
        by_naan = {name: _given(days) for name, days in self.naan.items()}
        by_host = {name: _given(days) for name, days in self.host.items()}
        return RecheckPolicy(Intervals(**_given(self)), by_naan, by_host)

    @property
    def status_policy(self) -> StatusPolicy:
        """Return when a failure is confirmed."""
        return StatusPolicy(strikes=self.strikes, days=self.strike_days)


def _given(days: RecheckDays) -> dict[str, float]:
    values = ((name, getattr(days, name)) for name in RecheckDays.model_fields)
    return {name: value for name, value in values if value is not None}


class Notify(_Section):
    """Options for who is notified of changes, once a run has ended."""

    on: list[Literal["broke", "failing", "recovered", "moved", "changed", "new", "gone"]] = [
        "broke",
        "recovered",
        "moved",
        "changed",
    ]
    """What is news; a run without any notifies no one. ``broke`` is a confirmed failure, ``failing`` a first one."""
    file: Path | None = None
    """News are added to the end of this file."""
    command: list[str] = []
    """Gets the news on its standard input, and their subject in ARKAUDIT_SUBJECT."""
    urls: list[ServiceUrl] = []
    """Addresses of services, as Apprise writes them; ``$NAME`` is a variable of the environment."""

    @property
    def is_wanted(self) -> bool:
        """True if there is anyone to notify."""
        return bool(self.file or self.command or self.urls)

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that hold what is secret in the addresses."""
        return [name for url in self.urls for name in Template(url).get_identifiers()]


class ReportOptions(_Section):
    """Options for what people read of a report."""

    lang: LanguageCode = None
    """The language of the page, the letters, Markdown and the summary: a code, or ``auto``; without it English, and
    for the page that of the reader's browser."""


class Config(_Section):
    """All settings of a run."""

    name: str | None = None
    """Of a named audit."""
    schedule: CronExpression | None = None
    """When a named audit runs: a cron expression of five fields."""
    timezone: ZoneName | None = None
    """In which the schedule is read; UTC by default."""
    seeds: list[str] = []
    jobs: int | None = Field(None, ge=1, le=256)
    """Processes that read documents and answers; as many as there are cores, by default. The results are the same."""
    store: Path | None = None
    out: Path | None = None
    triage: Path | None = None
    """A file of decisions about known problems (`arkaudit triage`)."""
    inventory: Path | None = None
    """A CSV of the institution's own ARKs, which a report is held against."""
    resolver: ResolverUrl = "https://n2t.net/"
    politeness: Politeness = Politeness()
    identity: Identity | None = None
    network: Network = Network()
    hosts: Annotated[dict[str, Host], AfterValidator(of_own_hosts)] = {}
    """Hosts of one's own."""
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    log: Log = Log()
    memento: Memento = Memento()
    render: Render = Render()
    closed: list[Closed] = []
    recheck: Recheck = Recheck()
    notify: Notify = Notify()
    report: ReportOptions = ReportOptions()

    @property
    def user_agent(self) -> str:
        """Return the User-Agent header: what hosts learn of who asks."""
        if self.politeness.user_agent:
            return self.politeness.user_agent
        contact = f"; {self.politeness.contact}" if self.politeness.contact else ""
        return f"arkaudit/{__version__} (+{HOME}{contact})"

    @property
    def patience(self) -> Patience:
        """Return how often a question is put, and how long that may take."""
        polite = self.politeness
        return Patience(polite.attempts, polite.backoff, polite.longest_wait)

    @property
    def credentials(self) -> Credentials:
        """Return what hosts of one's own are sent besides."""
        return Credentials(
            {
                Origin.named(name): Credential(_shown(host.headers), _shown(host.cookies))
                for name, host in self.hosts.items()
                if host.headers or host.cookies
            }
        )

    @property
    def log_ins(self) -> tuple[LogIn, ...]:
        """Return how to log in at hosts of one's own."""
        return tuple(_log_in(name, host.login) for name, host in self.hosts.items() if host.login is not None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The words that are never shown: of the user's own hosts, of proxies, and of services for notification."""
        proxies = [secret for url in getproxies().values() for secret in of_proxy(url).secrets]
        services = [os.environ[name] for name in self.notify.variables if os.environ.get(name)]
        fields = [secret for log_in in self.log_ins for secret in log_in.secrets]
        return (*self.credentials.secrets, *fields, *proxies, *services)

    @property
    def is_anonymous(self) -> bool:
        """True if hosts do not learn how to reach the user."""
        return not (self.politeness.contact or self.politeness.user_agent)

    def allowance(self, host: str) -> Allowance:
        """Return how *host* (scheme, name and port) may be asked, before it has said anything itself."""
        hosts = {name: Allowance(own.interval, own.concurrency) for name, own in self.hosts.items()}
        return Allowances(self.politeness.delay, hosts).of(host, is_own=self.owns(host))

    def owns(self, host: str) -> bool:
        """Return whether *host* is the operator's own: it is named, routed, or a private address that is allowed."""
        routes = Routes.parse(self.network.connect_to, only=self.network.only_routed)
        guard = AddressGuard.allowing(self.network.allow_addresses)
        named = Allowances(hosts=dict.fromkeys(self.hosts, Allowance())).named(host)
        return named is not None or is_own(host, routes, guard)

    @property
    def closed_collections(self) -> tuple[ClosedCollection, ...]:
        """The collections that are meant to be closed."""
        return tuple(ClosedCollection.of(collection.arks, collection.reason) for collection in self.closed)

    def settings(self) -> dict[str, Any]:
        """The settings of Scrapy that follow from it."""
        network = self.network
        return {
            "USER_AGENT": self.user_agent,
            "ROBOTSTXT_USER_AGENT": "arkaudit",
            "ARKAUDIT_INTERVAL": self.politeness.delay,
            "ARKAUDIT_HOSTS": {
                name: host.model_dump(include={"interval", "concurrency"}) for name, host in self.hosts.items()
            },
            "DOWNLOAD_TIMEOUT": self.politeness.timeout,
            # A proxy would look names up for us, and be reached in place of the routes.
            "HTTPPROXY_ENABLED": not network.only_routed,
            "ARKAUDIT_CONNECT_TO": network.connect_to,
            "ARKAUDIT_ONLY_ROUTED": network.only_routed,
            "ARKAUDIT_ALLOW_ADDRESSES": network.allow_addresses,
            "ARKAUDIT_CA_FILE": str(network.ca_file) if network.ca_file else None,
            "ARKAUDIT_CREDENTIALS": self.credentials,
            "ARKAUDIT_LOG_INS": self.log_ins,
            "ARKAUDIT_SIGNER": self.identity.signer if self.identity else None,
            "ARKAUDIT_MAX_HOPS": self.resolve.max_hops,
            "ARKAUDIT_ATTEMPTS": self.politeness.attempts,
            "ARKAUDIT_BACKOFF": self.politeness.backoff,
            "ARKAUDIT_LONGEST_WAIT": self.politeness.longest_wait,
        }


def _log_in(name: str, form: LogInForm) -> LogIn:
    values, signs = _shown(form.fields), form.success
    secrets = tuple(values[field] for field, value in form.fields.items() if isinstance(value, SecretStr))
    return LogIn(Origin.named(name), form.url, values, secrets, signs.status, signs.cookie, signs.text)


def _shown(values: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """The values themselves, what is secret among them."""
    return {name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in values.items()}
