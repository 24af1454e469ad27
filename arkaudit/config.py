"""``arkaudit.toml`` and the options of the command become one validated `Config`."""

from __future__ import annotations

import os
import re
from copy import deepcopy
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies

import regex
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from arkaudit import __version__
from arkaudit.config_lines import line_of
from arkaudit.near_words import question_for_nearest
from arkaudit.schedules.moments import Schedule
from arkaudit.toml_files import TomlUnreadable, read_toml
from crawler.addresses import AddressGuard, Routes
from crawler.asking.controls import ENOUGH_NAMES
from crawler.attempts import Patience
from crawler.history.ark_status import StatusPolicy
from crawler.history.rechecking import Intervals, RecheckPolicy
from crawler.politeness.pacing import Allowance, Allowances, is_own
from crawler.resolving import url_fault
from crawler.scope import Extent
from crawler.seeds import relative_to
from crawler.sources.oai_pmh import Selection
from crawler.sources.patterns import LinkPatterns
from crawler.verdicts.closed import ClosedCollection
from crawler.wire.credentials import Credential, Credentials, Origin, names_user, of_proxy
from crawler.wire.log_in_forms import LogIn
from extractors.normalize import NotAnArk
from extractors.shared_errors import UserMistake
from reports.languages import WORDS as LANGUAGE_WORDS

HOME = "https://pypi.org/project/arkaudit/"


_HOST = re.compile(r"(?:https?://)?(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that belong to the connection, or that something else of the configuration is for.
_NOT_OURS = frozenset({"connection", "content-length", "cookie", "host", "proxy-authorization", "transfer-encoding"})
#: Named audits have files of their names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ConfigError(UserMistake):
    """Raised for a configuration that can't be used: one line that says what is wrong, and where."""


def _routes(texts: list[str]) -> list[str]:
    Routes.parse(texts)
    return texts


def _networks(texts: list[str]) -> list[str]:
    AddressGuard.allowing(texts)
    return texts


def _http_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_plain = bool(parts.hostname) and parts.port != 0 and not set(text) & set("?#")
    except ValueError:
        is_plain = False
    if names_user(text):
        raise ValueError("credentials in a URL are sent to nobody; they belong into a [hosts] section")
    if not is_plain or parts.scheme.lower() not in ("http", "https"):
        raise ValueError(f"not the http or https URL of a resolver: {text!r}")
    return text


def _http_page(text: str) -> str:
    fault = (
        url_fault(text) if text.lower().startswith(("http://", "https://")) else "not the http or https URL of a page"
    )
    if names_user(text) or fault:
        raise ValueError("credentials in a URL are sent to nobody" if names_user(text) else f"{fault}: {text!r}")
    return text


def _timegate(text: str) -> str:
    try:
        return _http_url(text)
    except ValueError as problem:
        raise ValueError(str(problem).replace("URL of a resolver", "URL of a TimeGate")) from None


def _host_and_port(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(f"not HOST:PORT: {text!r}")
    return text


def _cron(text: str) -> str:
    Schedule.parse(text)
    return text


def _zone(name: str) -> str:
    Schedule.parse("0 0 * * *", name)
    return name


def _printable(text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ValueError("must be printable ASCII: it is sent as a header")
    return text


def _pattern(text: str) -> str:
    try:
        LinkPatterns([text])
    except (regex.error, RecursionError) as fault:
        raise ValueError(f"not a regular expression: {text!r} ({fault})") from None
    return text


def _seconds(value: object) -> object:
    """A duration in seconds, as a number or with a unit.

    >>> _seconds("90m"), _seconds("2h"), _seconds(30)
    (5400.0, 7200.0, 30)
    """
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, str) and found is None:
        raise ValueError(f"neither seconds nor a duration such as 90m or 2h: {value!r}")
    return value if found is None else float(found["number"]) * _UNITS[found["unit"] or "s"]


_DURATION = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(?P<unit>[smhd]?)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _beginning(text: str) -> str:
    try:
        ClosedCollection.of(text)
    except NotAnArk:
        raise ValueError(f"neither a NAAN nor the beginning of ARKs: {text!r}") from None
    return text


def _language(word: str | None) -> str | None:
    if word is not None and word not in LANGUAGE_WORDS:
        near = question_for_nearest(word, LANGUAGE_WORDS) or f"; there are: {', '.join(LANGUAGE_WORDS)}"
        raise ValueError(f"there is no language {word!r}{near}")
    return word


def _looked_up(is_wanted: bool) -> bool:
    if is_wanted and find_spec("dns") is None:
        raise ValueError("needs dnspython: pip install 'arkaudit[dns]'")
    return is_wanted


Header = Annotated[str, AfterValidator(_printable)]
Pattern = Annotated[str, AfterValidator(_pattern)]


def _secret(value: Any) -> Any:
    """The value itself, or that of the environment variable which it names (``{ env = "TOKEN" }``)."""
    if not isinstance(value, dict):
        return value
    match value:
        case {"env": str(name), **others} if not others:
            if name not in os.environ:
                raise ValueError(f"there is no environment variable {name}")
            return os.environ[name]
    raise ValueError('neither a text nor { env = "NAME" }')


def _sendable_secret(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value or value.strip() != value or not value.isprintable() or not value.isascii():
        raise ValueError("what is sent as a header must be printable ASCII, with nothing blank around it")
    return secret


def _header_names(headers: dict[str, Any]) -> dict[str, Any]:
    for name in headers:
        if not _TOKEN.fullmatch(name) or name.lower() in _NOT_OURS:
            raise ValueError(f"not a header that can be given: {name!r}")
    return headers


def _cookie_names(cookies: dict[str, Any]) -> dict[str, Any]:
    for name, value in cookies.items():
        if not _TOKEN.fullmatch(name) or set(value.get_secret_value()) & set(' ";,\\'):
            raise ValueError(f"not a cookie that can be sent: {name!r}")
    return cookies


def _hosts(hosts: dict[str, Any]) -> dict[str, Any]:
    for name in hosts:
        if not _HOST.fullmatch(name):
            raise ValueError(f"not a host: {name!r}; a name, with its port or scheme where need be")
        login = hosts[name].login
        if login is not None and Origin.of(login.url) != Origin.named(name):
            raise ValueError(f"{name}: its form stands at another host, or by another scheme: {login.url}")
    return {name.lower(): settings for name, settings in hosts.items()}


def _form_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if not any(isinstance(value, SecretStr) for value in fields.values()):
        raise ValueError('none of them is secret: a password is named by its environment variable, { env = "NAME" }')
    return fields


def _form_field(value: Any) -> Any:
    """A value that may be shown, or the secret in the environment variable that it names."""
    return value if isinstance(value, str) else SecretStr(_secret(value))


#: A value that is never shown: pydantic prints asterisks.
Secret = Annotated[SecretStr, BeforeValidator(_secret), AfterValidator(_sendable_secret)]


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


class Success(_Section):
    """What tells that a log-in has worked; all that are given must hold."""

    status: int | None = Field(None, ge=100, le=599)
    """The status of the answer to the form: 302, for most."""
    cookie: str | None = None
    """The name of a cookie that it sets."""
    text: str | None = Field(None, min_length=1)
    """Words of the page that comes then, behind a redirect on the same host too."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say what tells success: status, cookie or text")
        return self


class LogInForm(_Section):
    """Options for the log-in form of a host of one's own."""

    url: Annotated[str, AfterValidator(_http_page)]
    """The page with the form, on this host."""
    fields: Annotated[
        dict[str, Annotated[str | SecretStr, Field(union_mode="left_to_right"), BeforeValidator(_form_field)]],
        AfterValidator(_form_fields),
    ] = Field(min_length=1)
    """By the names that they have in the form: a text, or what is secret in the environment, ``{ env = "NAME" }``."""
    success: Success


class Host(_Section):
    """Options for a host of one's own; it is named by ``name``, ``name:port`` or ``scheme://name:port``."""

    interval: float = Field(1.0, ge=0, le=3600)
    """Seconds between two requests."""
    concurrency: int = Field(1, ge=1, le=100)
    """How many requests may be under way at a time."""
    headers: Annotated[dict[str, Secret], AfterValidator(_header_names)] = {}
    """Headers that it asks for, such as Authorization; sent to this scheme (https, by default), name and port only."""
    cookies: Annotated[dict[str, Secret], AfterValidator(_cookie_names)] = {}
    """Cookies that it asks for, likewise."""
    login: LogInForm | None = None
    """A form to log in by, once a run, before anything is asked."""


class Network(_Section):
    """Options for where connections go."""

    connect_to: Annotated[list[str], AfterValidator(_routes)] = []
    """``HOST:PORT=ADDR:PORT``: connect there instead; URL and Host header stay."""
    only_routed: bool = False
    """A name that has no route fails, and is not looked up."""
    ca_file: Path | None = None
    """Certificates of authorities that the TLS probe trusts instead of the system's."""
    allow_addresses: Annotated[list[str], AfterValidator(_networks)] = []
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
    max_time: Annotated[float | None, BeforeValidator(_seconds)] = Field(None, gt=0)
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

    @property
    def included(self) -> LinkPatterns:
        """`include`, compiled."""
        return LinkPatterns(self.include)

    @property
    def excluded(self) -> LinkPatterns:
        """`exclude`, compiled."""
        return LinkPatterns(self.exclude)


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
    maptr: Annotated[bool, AfterValidator(_looked_up)] = False
    """Whether resolvers that the registry doesn't know are looked up in the DNS (NAPTR records under ark.arpa)."""
    direct: bool = False
    """Whether what would be asked of the global resolver, compact ARKs above all, is asked of the registry's target."""


class Memento(_Section):
    """Options for archived copies of what ARKs led to that fail, by the Memento protocol (RFC 7089)."""

    timegate: Annotated[str, AfterValidator(_timegate)] | None = None
    """The address of a TimeGate, behind which a URL is put: ``https://web.archive.org/web/``. Without it no archive is
    asked."""
    max_age: Annotated[float, BeforeValidator(_seconds)] = Field(30 * 86_400.0, ge=0)
    """Seconds, or with a unit (``30d``), for which what an archive has answered is not asked again."""


class Closed(_Section):
    """A collection that is meant to be closed: to be refused there is what its keepers intend."""

    arks: Annotated[str, AfterValidator(_beginning)]
    """A NAAN, or a NAAN and the beginning of names: ``98765`` or ``98765/k3``."""
    reason: str = ""
    """Why nobody is let in, for the report."""


class RecheckDays(_Section):
    """Days between two checks of an ARK, by its state; None for what stands in general."""

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
        by_naan, by_host = ({name: _given(days) for name, days in each.items()} for each in (self.naan, self.host))
        return RecheckPolicy(replace(Intervals(), **_given(self)), by_naan, by_host)

    @property
    def status_policy(self) -> StatusPolicy:
        """Return when a failure is confirmed."""
        return StatusPolicy(strikes=self.strikes, days=self.strike_days)


def _given(days: RecheckDays) -> dict[str, float]:
    return {name: value for name in RecheckDays.model_fields if (value := getattr(days, name)) is not None}


class Email(_Section):
    """A mail server that takes notifications, and to whom they go."""

    smtp: Annotated[str, AfterValidator(_host_and_port)]
    """``HOST:PORT``."""
    to: list[str] = Field(min_length=1)
    sender: str
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password_env: str | None = None
    """The environment variable that holds the password; it stands in no file."""


class Notify(_Section):
    """Options for who is notified of changes, once a run has ended."""

    on: list[Literal["broke", "failing", "recovered", "moved", "changed", "new", "gone"]] = [
        "broke",
        "recovered",
        "moved",
        "changed",
    ]
    """What is news; a run without any notifies nobody. ``broke`` is a confirmed failure, ``failing`` a first one."""
    file: Path | None = None
    """News are added to the end of this file."""
    command: list[str] = []
    """Gets the news on its standard input, and their subject in ARKAUDIT_SUBJECT."""
    email: Email | None = None

    @property
    def is_wanted(self) -> bool:
        """True if there is anybody to notify."""
        return bool(self.file or self.command or self.email)


class ReportOptions(_Section):
    """Options for what people read of a report."""

    lang: Annotated[str | None, AfterValidator(_language)] = None
    """The language of the page, the letters, Markdown and the summary: a code, or ``auto``; without it English, and
    for the page that of the reader's browser."""


class Config(_Section):
    """All settings of a run."""

    name: str | None = None
    """Of a named audit."""
    schedule: Annotated[str, AfterValidator(_cron)] | None = None
    """When a named audit runs: a cron expression of five fields."""
    timezone: Annotated[str, AfterValidator(_zone)] | None = None
    """In which the schedule is read; UTC by default."""
    seeds: list[str] = []
    jobs: int | None = Field(None, ge=1, le=256)
    """Processes that read local documents; as many as there are cores, by default. The results are the same."""
    store: Path | None = None
    out: Path | None = None
    triage: Path | None = None
    """A file of decisions about known problems (`arkaudit triage`)."""
    inventory: Path | None = None
    """A CSV of the institution's own ARKs, which a report is held against."""
    resolver: Annotated[str, AfterValidator(_http_url)] = "https://n2t.net/"
    politeness: Politeness = Politeness()
    network: Network = Network()
    hosts: Annotated[dict[str, Host], AfterValidator(_hosts)] = {}
    """Hosts of one's own."""
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    log: Log = Log()
    memento: Memento = Memento()
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
                Origin.named(name): Credential(
                    {header: secret.get_secret_value() for header, secret in host.headers.items()},
                    {cookie: secret.get_secret_value() for cookie, secret in host.cookies.items()},
                )
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
        """The words that nobody is shown: of hosts of one's own, of the proxies on the way, and of the mail server."""
        proxies = [secret for url in getproxies().values() for secret in of_proxy(url).secrets]
        email = self.notify.email
        password = os.environ.get(email.password_env, "") if email and email.password_env else ""
        mail = (password, f"\0{email.user or ''}\0{password}") if email and password else ()
        fields = [secret for log_in in self.log_ins for secret in log_in.secrets]
        return (*self.credentials.secrets, *fields, *proxies, *mail)

    @property
    def is_anonymous(self) -> bool:
        """True if hosts do not learn how to reach whoever asks."""
        return not (self.politeness.contact or self.politeness.user_agent)

    def allowance(self, host: str) -> Allowance:
        """Return how *host* (scheme, name and port) may be asked, before it has said anything itself."""
        hosts = {name: Allowance(own.interval, own.concurrency) for name, own in self.hosts.items()}
        return Allowances(self.politeness.delay, hosts).of(host, is_own=self.owns(host))

    def owns(self, host: str) -> bool:
        """Return whether *host* is the operator's own: it is named, routed, or a private address that is allowed."""
        routes = Routes.parse(self.network.connect_to, only=self.network.only_routed)
        guard = AddressGuard.allowing(self.network.allow_addresses)
        return Allowances(hosts=dict.fromkeys(self.hosts, Allowance())).named(host) is not None or is_own(
            host, routes, guard
        )

    @property
    def closed_collections(self) -> tuple[ClosedCollection, ...]:
        """The collections that are meant to be closed."""
        return tuple(ClosedCollection.of(each.arks, each.reason) for each in self.closed)

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
            "ARKAUDIT_MAX_HOPS": self.resolve.max_hops,
            "ARKAUDIT_ATTEMPTS": self.politeness.attempts,
            "ARKAUDIT_BACKOFF": self.politeness.backoff,
            "ARKAUDIT_LONGEST_WAIT": self.politeness.longest_wait,
        }


def _log_in(name: str, form: LogInForm) -> LogIn:
    values = {
        field: value.get_secret_value() if isinstance(value, SecretStr) else value
        for field, value in form.fields.items()
    }
    secrets = tuple(value.get_secret_value() for value in form.fields.values() if isinstance(value, SecretStr))
    tells = form.success
    return LogIn(Origin.named(name), form.url, values, secrets, tells.status, tells.cookie, tells.text)


def load(path: Path | None, overrides: dict[str, Any], *, audit: str | None = None) -> Config:
    """The configuration in the file at *path*, if any, with *overrides* (dotted names) over it; or of a named *audit*.

    The file is validated as a whole, its named audits included. Paths in it are relative to it. Raises `ConfigError`.

    >>> load(None, {"politeness.delay": 0}).politeness.delay
    0.0
    >>> load(None, {"politeness.delay": -1})
    Traceback (most recent call last):
    ...
    arkaudit.config.ConfigError: politeness.delay: Input should be greater than or equal to 0
    """
    audits = load_audits(path, overrides) if path else {}
    if audit is None:
        return audits[None] if path else _validated({}, overrides, "", None)
    if audit not in audits:
        known = ", ".join(name for name in audits if name) or "none"
        raise ConfigError(f"{path or 'without a configuration'}: no audit is named {audit!r}; there are: {known}")
    return audits[audit]


def load_audits(path: Path, overrides: dict[str, Any] | None = None) -> dict[str | None, Config]:
    """Every named audit of a configuration, in its order; under None what stands for all. Raises `ConfigError`.

    A named audit has the values of the file's top, and its own over them.
    """
    text, values = _file_values(path)
    named = values.pop("audits", {})
    found: dict[str | None, Config] = {None: _validated(values, overrides or {}, text, path)}
    if not isinstance(named, dict) or not all(isinstance(each, dict) for each in named.values()):
        raise ConfigError(f"{_at(text, path, ('audits',))}audits: must be tables, one for each named audit")
    for name, own in named.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{_at(text, path, ('audits', name))}audits: a name is of letters, digits, - and _: {name!r}"
            )
        inner = {"store": path.parent / f"{name}.db", **_merged(values, own), "name": name}
        found[name] = _validated(inner, overrides or {}, text, path, within=("audits", name))
    _refuse_shared_stores(found, text, path)
    return found


def _merged(general: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """*own* values over *general* ones, table by table."""
    both = general | own
    for key in general.keys() & own.keys():
        if isinstance(general[key], dict) and isinstance(own[key], dict):
            both[key] = _merged(general[key], own[key])
    return both


def _validated(
    values: dict[str, Any],
    overrides: dict[str, Any],
    text: str,
    path: Path | None,
    *,
    within: tuple[str, ...] = (),
) -> Config:
    values = deepcopy(values)
    for name, value in overrides.items():
        *sections, key = name.split(".")
        inner = values
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{_at(text, path, (*within, section))}{section}: must be a table")
        inner[key] = value
    try:
        config = Config.model_validate(values)
    except ValidationError as problem:
        first, *others = problem.errors()
        place = tuple(str(part) for part in first["loc"])
        words = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            words = f"there is no such setting{question_for_nearest(place[-1], _settings_of(place[:-1]))}"
        at = _at(text, path, (*within, *place)) if ".".join(place) not in overrides else ""
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{at}{'.'.join((*within, *place))}{': ' if place or within else ''}{words}{more}") from None
    if config.network.ca_file and not config.network.ca_file.is_file():
        raise ConfigError(f"there is no file of certificates at {config.network.ca_file}")
    return config


def _settings_of(place: tuple[str, ...]) -> list[str]:
    """The names of the settings in the section at *place*; of hosts and the like, those of each."""
    section: type[BaseModel] = Config
    for name in place:
        inner = section.model_fields[name].annotation if name in section.model_fields else None
        while inner is not None and not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            inner = next(reversed(get_args(inner)), None)
        section = inner or section
    return [each.alias or name for name, each in section.model_fields.items()]


def _refuse_shared_stores(audits: dict[str | None, Config], text: str, path: Path) -> None:
    """Two audits in one store would each take the other's documents for gone."""
    owners: dict[Path | None, str] = {}
    for name, config in audits.items():
        if name is not None and (other := owners.setdefault(config.store, name)) != name:
            at = _at(text, path, ("audits", name, "store"))
            raise ConfigError(f"{at}audits.{name}: has the same store as {other}; give each its own")


def _at(text: str, path: Path | None, keys: tuple[str, ...]) -> str:
    """The place of a value in the file, as the beginning of a message."""
    if path is None:
        return ""
    line = line_of(text, keys)
    return f"{path}:{line}: " if line else f"{path}: "


def _file_values(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text, values = read_toml(path, what="configuration")
    except TomlUnreadable as problem:
        raise ConfigError(str(problem)) from None
    audits = values.get("audits", {})
    named = [each for each in audits.values() if isinstance(each, dict)] if isinstance(audits, dict) else []
    for tables in (values, *named):
        _relative_to(path.parent, tables)
    return text, values


#: The values that are paths: their tables, and their keys.
_PATHS = (
    *((None, key) for key in ("store", "out", "triage", "inventory")),
    *(("network", "ca_file"), ("notify", "file"), ("log", "file")),
)


def _relative_to(folder: Path, values: dict[str, Any]) -> None:
    """Lead the paths among *values* from the folder of the file that they stand in."""
    for section, key in _PATHS:
        inner = values.get(section, {}) if section else values
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            inner[key] = folder / inner[key]
    if isinstance(values.get("seeds"), list):
        values["seeds"] = [relative_to(folder, seed) if isinstance(seed, str) else seed for seed in values["seeds"]]
