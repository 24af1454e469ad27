"""`Config`: all settings of a run, validated."""

from __future__ import annotations

import os
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.request import getproxies

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, model_validator

from arkaudit import __version__
from arkaudit.configuration.issue_address import IssueAddress
from arkaudit.configuration.setting_values import (
    AddressTexts,
    Contact,
    Cookies,
    CronExpression,
    FilePath,
    Header,
    Headers,
    IssueText,
    LanguageCode,
    NaanText,
    NamesLookedUp,
    PagesRendered,
    PageUrl,
    Pattern,
    ResolverUrl,
    RouteTexts,
    Seconds,
    SecondsOrNone,
    SeedTexts,
    ServiceUrl,
    TimeGateUrl,
    ZoneName,
    of_own_hosts,
    own_cookies,
    plain_values,
)
from arkaudit.hooks import merge, plugins
from crawler.history.ark_status import StatusPolicy
from crawler.history.rechecking import Intervals, RecheckPolicy
from crawler.model import defaults
from crawler.model.addresses import AddressGuard, Routes
from crawler.model.crawl_requests import Extent
from crawler.model.resolving import Patience
from crawler.politeness.pacing import Allowance, Allowances, is_own
from crawler.rendering import PageLimits, RenderOptions, find_browser
from crawler.sources.xml_sources import Selection
from crawler.wire.credentials import Credential, Credentials, proxy_credential
from extractors.model.urls import Origin


class Section(BaseModel):
    """A section of the configuration: unknown settings are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def check(self) -> None:
        """Look at what a run will use, without writing. Raises `UserMistake`."""


PluginSection = TypeVar("PluginSection", bound=Section)


class Politeness(Section):
    """Options for the load that hosts get."""

    delay: float = Field(defaults.INTERVAL_S, ge=0, le=3600)
    """Seconds between two requests to a host. Less than 1 applies to the operator's own hosts only, see `Host`."""
    timeout: float = Field(defaults.TIMEOUT_S, gt=0, le=3600)
    """Seconds for one request, from connecting to the last byte needed."""
    attempts: int = Field(defaults.ATTEMPTS, ge=1, le=10)
    """Number of attempts after a temporary failure (timeout, 429, 503 …), the first one included."""
    backoff: float = Field(defaults.BACKOFF_S, ge=0, le=3600)
    """Seconds before the second attempt; each further wait is twice as long."""
    longest_wait: float = Field(defaults.LONGEST_WAIT_S, ge=0, le=86400)
    """Longest pause (Retry-After) in seconds to wait for. A host whose robots.txt wants longer intervals (Crawl-delay,
    Request-rate) is not asked."""
    user_agent: Header | None = None
    """The whole User-Agent header."""
    contact: Contact | None = None
    """An e-mail address or URL of the operator; part of the User-Agent."""


class Host(Section):
    """Options for the operator's own host, named ``name``, ``name:port`` or ``scheme://name:port``."""

    interval: float = Field(defaults.INTERVAL_S, ge=0, le=3600)
    """Seconds between two requests."""
    concurrency: int = Field(1, ge=1, le=100)
    """Number of simultaneous requests."""
    headers: Headers = {}
    """Headers such as Authorization, sent only to this scheme (default https), name and port."""
    cookies: Cookies | FilePath = {}
    """Cookies, or a file of cookies as browsers, curl and wget write it (``cookies.txt``); sent only to this host."""


class Network(Section):
    """Options for connections."""

    connect_to: RouteTexts = []
    """Routes ``HOST:PORT=ADDR:PORT``: connect to the address instead; URL and Host header stay the same."""
    only_routed: bool = False
    """True to fail names without a route instead of looking them up."""
    ca_file: FilePath | None = None
    """Certificate authorities that the TLS probe trusts instead of the system's."""
    allow_addresses: AddressTexts = []
    """Private networks (CIDR) that may be reached."""


class Log(Section):
    """Options for the log of a command."""

    file: FilePath | None = None
    """The file to write to; standard error by default."""
    level: Literal["debug", "info", "warning", "error"] | None = None
    """Lowest level to log: by default ``warning``, with a file ``info``. ``debug`` logs each request."""
    format: Literal["text", "json"] = "text"


class Harvest(Section):
    """Options that select the records to harvest from a repository, named like the arguments of OAI-PMH."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    prefix: str = "oai_dc"
    set: str | None = None
    since: str | None = Field(None, alias="from")
    until: str | None = None

    @property
    def selection(self) -> Selection:
        """The selection for the crawler."""
        return Selection(self.prefix, self.set, self.since, self.until)

    @model_validator(mode="after")
    def _is_selection(self) -> Self:
        self.selection  # noqa: B018  raises ValueError
        return self


class Crawl(Section):
    """Options for the extent of a crawl."""

    depth: int | None = Field(None, ge=0)
    """Number of links to follow from a seed; no limit by default."""
    max_pages: int | None = Field(None, ge=1)
    max_time: SecondsOrNone = Field(None, gt=0)
    """Maximum duration of a crawl, of `check` or of `recheck`, in seconds or as ``90m``, ``2h``. Requests in flight are
    still recorded.
    """
    scope: Extent = Extent.SITE
    """The part of a seed's site to crawl: its registered domain, its host, or its path."""
    include: list[Pattern] = []
    """Regular expressions. A link is followed only if its URL matches one of them."""
    exclude: list[Pattern] = []
    """Regular expressions. A link is not followed if its URL matches one of them."""
    content_hosts: list[str] = []
    """Hosts with documents of the site. Links of their pages are not followed."""
    ignore_nofollow: bool = False
    """True to follow links despite ``nofollow``, for the operator's own sites."""
    sitemaps: bool = True
    """True to read the sitemaps named in robots.txt."""
    oai: Harvest = Harvest()


class Resolve(Section):
    """Options for the requests about ARKs."""

    max_hops: int = Field(defaults.MAX_HOPS, ge=5, le=100)
    """Number of redirects in a chain; at least 5 (draft-castelan-ark-uri, 7.1.3)."""
    legacy_inflections: bool = True
    """True to request ``??`` and ``?`` if ``?info`` returned no metadata."""
    maptr: NamesLookedUp = False
    """True to look up resolvers missing in the registry in the DNS (NAPTR records under ark.arpa)."""
    direct: bool = False
    """True to request compact ARKs from the registry's target of their NAAN instead of the global resolver."""


class Memento(Section):
    """Options for the search for archived copies of failing ARKs, by the Memento protocol (RFC 7089)."""

    timegate: TimeGateUrl | None = None
    """The beginning of a TimeGate's URLs, such as ``https://web.archive.org/web/``. Without it, no archive is asked."""
    max_age: Seconds = Field(30 * 86_400.0, ge=0)
    """Seconds, or a text with a unit (``30d``), for which an answer of the archive is reused."""


class Render(Section):
    """Options for pages that need JavaScript: without it, an app shell looks the same for every name."""

    enabled: PagesRendered = False
    """True to render them in Chromium. Needs the extra ``render`` and an installed Chromium."""
    browser: Path | None = None
    """The Chromium executable; by default the first on the PATH."""
    max_requests: int = Field(PageLimits().requests, ge=1, le=1000)
    """Number of further requests that a page may make."""
    max_bytes: int = Field(PageLimits().bytes, ge=1)
    """Total size of the answers to those requests, as sent."""
    seconds: Seconds = Field(PageLimits().seconds, gt=0, le=600)
    """Time for the scripts of a page, without the time in which they wait for answers."""

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
        """The options for the crawler; None if rendering is off."""
        browser = find_browser(self.browser) if self.enabled else None
        limits = PageLimits(self.max_requests, self.max_bytes, self.seconds)
        return None if browser is None else RenderOptions(browser, limits)


class RecheckDays(Section):
    """Days between two checks of an ARK, by its state; None for the general value."""

    healthy: float | None = Field(None, ge=0, le=3650)
    failing: float | None = Field(None, ge=0, le=3650)
    """Also for the state ``flapping``."""
    confirmed_broken: float | None = Field(None, ge=0, le=3650)
    blocked: float | None = Field(None, ge=0, le=3650)
    undetermined: float | None = Field(None, ge=0, le=3650)


class Recheck(RecheckDays):
    """Options for the intervals between checks, and for the confirmation of failures."""

    naan: dict[str, RecheckDays] = {}
    host: dict[str, RecheckDays] = {}
    """Intervals by the host of the request URL. They take precedence over those of the NAAN."""
    strikes: int = Field(StatusPolicy().strikes, ge=1, le=100)
    """Number of failures, without a good answer between them, that confirm a failure."""
    strike_days: float = Field(StatusPolicy().days, ge=0, le=3650)
    """Days that these failures must span."""

    @property
    def intervals(self) -> RecheckPolicy:
        """The intervals between checks, by state, NAAN and host."""
        by_naan = {name: _set_days(days) for name, days in self.naan.items()}
        by_host = {name: _set_days(days) for name, days in self.host.items()}
        return RecheckPolicy(Intervals(**_set_days(self)), by_naan, by_host)

    @property
    def status_policy(self) -> StatusPolicy:
        """The condition under which a failure is confirmed."""
        return StatusPolicy(strikes=self.strikes, days=self.strike_days)


def _set_days(days: RecheckDays) -> dict[str, float]:
    values = ((name, getattr(days, name)) for name in RecheckDays.model_fields)
    return {name: value for name, value in values if value is not None}


class Notify(Section):
    """Options for notifications about changes after a run."""

    on: list[Literal["confirmed", "failing", "recovered", "moved", "changed", "new", "gone"]] = [
        "confirmed",
        "recovered",
        "moved",
        "changed",
    ]
    """Events to report; a run without any sends nothing. ``confirmed`` is a confirmed failure, ``failing`` a first one."""
    file: FilePath | None = None
    """A file to append the news to."""
    command: list[str] = []
    """A command that reads the news from standard input and the subject from ARKAUDIT_SUBJECT."""
    urls: list[ServiceUrl] = []
    """Apprise URLs of services; ``$NAME`` is an environment variable."""
    format: Literal["markdown", "html", "text", "json"] | None = None
    """The format of the news; by default Markdown for file and command, and the best one for each service."""
    monthly: bool = False
    """True to send the news of the first run of each month even if nothing has changed."""
    issue: IssueText | None = None
    """A repository whose issue lists the failing ARKs: ``github:owner/repo`` or ``gitlab:group/project``. The token is
    in GITHUB_TOKEN or GITLAB_TOKEN."""

    @property
    def is_wanted(self) -> bool:
        """True if news have a destination: a file, a command, a URL or an issue."""
        return bool(self.file or self.command or self.urls or self.issue)

    @property
    def variables(self) -> list[str]:
        """Names of the environment variables with secrets: those in the URLs, and the token for the issue."""
        token = [IssueAddress.parse(self.issue).token_variable] if self.issue else []
        return [*(name for url in self.urls for name in Template(url).get_identifiers()), *token]


class ReportOptions(Section):
    """Options for the texts of a report."""

    url: PageUrl | None = None
    """The public address of the page, to which news link. Without it, news have no links."""
    lang: LanguageCode = None
    """The language of the page, letters, Markdown and summary: a code, or ``auto``. By default English; the page adapts
    to the reader's browser."""


class KnownList(Section):
    """Options for known problems."""

    file: FilePath | None = None
    """The list of known problems (``known.csv``), which is read when results are reported."""


class NaanNames(Section):
    """The user's declaration about all names of a NAAN."""

    check_character: StrictBool
    """True if each name ends with a check character, as NOID makes them; False if none does."""


class Config(Section):
    """All settings of a run."""

    name: str | None = None
    """The name of a named audit."""
    schedule: CronExpression | None = None
    """The times of a named audit: a cron expression of five fields."""
    timezone: ZoneName | None = None
    """The time zone of the schedule; UTC by default."""
    seeds: SeedTexts = []
    jobs: int | None = Field(None, ge=1, le=256)
    """Number of processes that read documents and answers; by default the number of cores."""
    store: FilePath | None = None
    out: FilePath | None = None
    inventory: FilePath | None = None
    """A CSV of the institution's own ARKs, which a report compares with the cited ones."""
    resolver: ResolverUrl = defaults.GLOBAL_RESOLVER
    politeness: Politeness = Politeness()
    network: Network = Network()
    hosts: Annotated[dict[str, Host], AfterValidator(of_own_hosts)] = {}
    """The operator's own hosts."""
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    log: Log = Log()
    memento: Memento = Memento()
    render: Render = Render()
    recheck: Recheck = Recheck()
    naans: dict[NaanText, NaanNames] = {}
    notify: Notify = Notify()
    report: ReportOptions = ReportOptions()
    known: KnownList = KnownList()

    def check(self) -> None:
        """Look at what the sections of plug-ins will use in a run. Raises `UserMistake`."""
        for name in type(self).model_fields:
            if isinstance(section := getattr(self, name), Section):
                section.check()

    @property
    def check_characters(self) -> dict[str, bool]:
        """The declarations for `extractors.model.check_characters.declare`."""
        return {naan: names.check_character for naan, names in self.naans.items()}

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        if self.politeness.user_agent:
            return self.politeness.user_agent
        contact = self.politeness.contact
        return f"arkaudit/{__version__}" + (f" ({'+' if '://' in contact else ''}{contact})" if contact else "")

    @property
    def patience(self) -> Patience:
        """Number of attempts and the waits between them."""
        polite = self.politeness
        return Patience(polite.attempts, polite.backoff, polite.longest_wait)

    @property
    def credentials(self) -> Credentials:
        """Headers and cookies for the operator's own hosts."""
        return Credentials(
            {
                Origin.from_name(name): Credential(plain_values(host.headers), own_cookies(name, host.cookies))
                for name, host in self.hosts.items()
                if host.headers or host.cookies
            }
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets to redact: of the operator's own hosts, of proxies, and of notification services."""
        proxies = [secret for url in getproxies().values() for secret in proxy_credential(url).secrets]
        services = [os.environ[name] for name in self.notify.variables if os.environ.get(name)]
        return (*self.credentials.secrets, *proxies, *services)

    @property
    def is_anonymous(self) -> bool:
        """True if requests name no contact."""
        return not (self.politeness.contact or self.politeness.user_agent)

    def allowance(self, host: str) -> Allowance:
        """Return the configured rate for *host* (scheme, name and port), which the host may lower later."""
        hosts = {name: Allowance(own.interval, own.concurrency) for name, own in self.hosts.items()}
        return Allowances(self.politeness.delay, hosts).for_host(host, is_own=self.owns(host))

    def owns(self, host: str) -> bool:
        """Return True if *host* is the operator's own: under ``hosts``, routed, or an allowed private address."""
        routes = Routes.parse(self.network.connect_to, only=self.network.only_routed)
        guard = AddressGuard.for_networks(self.network.allow_addresses)
        named = Allowances(hosts=dict.fromkeys(self.hosts, Allowance())).find_by_name(host)
        return named is not None or is_own(host, routes, guard)

    def section(self, kind: type[PluginSection]) -> PluginSection | None:
        """Return the section of this type, which a plug-in declares by the hook `settings`; None if it is not given."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return next((value for value in values if isinstance(value, kind)), None)

    def settings(self) -> dict[str, Any]:
        """Return the Scrapy settings for this configuration, those of plug-ins included."""
        network = self.network
        return {
            "USER_AGENT": self.user_agent,
            "ROBOTSTXT_USER_AGENT": "arkaudit",
            "ARKAUDIT_INTERVAL": self.politeness.delay,
            "ARKAUDIT_HOSTS": {
                name: host.model_dump(include={"interval", "concurrency"}) for name, host in self.hosts.items()
            },
            "DOWNLOAD_TIMEOUT": self.politeness.timeout,
            # A proxy looks names up itself, and would be reached instead of the routes.
            "HTTPPROXY_ENABLED": not network.only_routed,
            "ARKAUDIT_CONNECT_TO": network.connect_to,
            "ARKAUDIT_ONLY_ROUTED": network.only_routed,
            "ARKAUDIT_ALLOW_ADDRESSES": network.allow_addresses,
            "ARKAUDIT_CA_FILE": str(network.ca_file) if network.ca_file else None,
            "ARKAUDIT_CREDENTIALS": self.credentials,
            "ARKAUDIT_MAX_HOPS": self.resolve.max_hops,
            "ARKAUDIT_ATTEMPTS": self.politeness.attempts,
            "ARKAUDIT_BACKOFF": self.politeness.backoff,
            "ARKAUDIT_LONGEST_WAIT": self.politeness.longest_wait,
            **merge(plugins().hook.scrapy_settings(config=self), "the Scrapy setting"),
        }
