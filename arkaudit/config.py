"""``arkaudit.toml`` and the options of the command become one validated `Config`."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

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
from arkaudit.seeds import relative_to
from crawler.addresses import AddressGuard, Routes
from crawler.attempts import Patience
from crawler.controls import ENOUGH_NAMES
from crawler.credentials import Credential, Credentials, Origin, names_user
from crawler.scope import Extent
from crawler.sources.oai_pmh import Selection

#: Without any delay, Scrapy's downloader takes all that is queued for a host at once, whatever the concurrency.
_LEAST_DELAY_S = 0.001

HOME = "https://pypi.org/project/arkaudit/"


_HOST = re.compile(r"(?:https?://)?(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that belong to the connection, or that something else of the configuration is for.
_NOT_OURS = frozenset({"connection", "content-length", "cookie", "host", "proxy-authorization", "transfer-encoding"})


class ConfigError(Exception):
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


def _printable(text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ValueError("must be printable ASCII: it is sent as a header")
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as fault:
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
        Origin.named(name)
    return {name.lower(): told for name, told in hosts.items()}


#: A value that is never shown: pydantic prints asterisks.
Secret = Annotated[SecretStr, BeforeValidator(_secret), AfterValidator(_sendable_secret)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Politeness(_Section):
    """How hosts are treated."""

    delay: float = Field(1.0, ge=0, le=3600)
    """Seconds between two requests to a host; less only for hosts of one's own."""
    timeout: float = Field(30.0, gt=0, le=3600)
    """Seconds for one request, from connecting to the last byte that is needed."""
    attempts: int = Field(3, ge=1, le=10)
    """How often a question is put at most, where the failure may pass: a timeout, 429, 503 …"""
    backoff: float = Field(2.0, ge=0, le=3600)
    """Seconds before the second attempt; each further wait is twice as long."""
    longest_wait: float = Field(60.0, ge=0, le=86400)
    """Seconds; a host that asks for a longer pause (Retry-After) is not asked again in this run."""
    user_agent: Header | None = None
    contact: Header | None = None
    """An address or URL where the operator can be reached; part of the User-Agent."""


class Host(_Section):
    """How a host of one's own is treated; it is named by ``name``, ``name:port`` or ``scheme://name:port``."""

    headers: Annotated[dict[str, Secret], AfterValidator(_header_names)] = {}
    """Headers that it asks for, such as Authorization; sent to this scheme (https, by default), name and port only."""
    cookies: Annotated[dict[str, Secret], AfterValidator(_cookie_names)] = {}
    """Cookies that it asks for, likewise."""


class Network(_Section):
    """Where connections go."""

    connect_to: Annotated[list[str], AfterValidator(_routes)] = []
    """``HOST:PORT=ADDR:PORT``: connect there instead; URL and Host header stay."""
    only_routed: bool = False
    """A name that has no route fails, and is not looked up."""
    ca_file: Path | None = None
    """Certificates of authorities that the TLS probe trusts instead of the system's."""
    allow_addresses: Annotated[list[str], AfterValidator(_networks)] = []
    """Networks (CIDR) among the private ones that may be reached."""


class Log(_Section):
    """What is written down while a command works."""

    file: Path | None = None
    """Where to; without it, on standard error."""
    level: Literal["debug", "info", "warning", "error"] | None = None
    """The least that is: by default warnings, and with a file info. With debug, each request."""
    format: Literal["text", "json"] = "text"


class Harvest(_Section):
    """Which records of a repository are harvested, in the arguments of OAI-PMH."""

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
    """How far a crawl goes."""

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
    def included(self) -> tuple[re.Pattern[str], ...]:
        """`include`, compiled."""
        return tuple(map(re.compile, self.include))

    @property
    def excluded(self) -> tuple[re.Pattern[str], ...]:
        """`exclude`, compiled."""
        return tuple(map(re.compile, self.exclude))


class Resolve(_Section):
    """How ARKs are asked about."""

    max_hops: int = Field(20, ge=5, le=100)
    """Redirects in a chain; at least 5 (draft-castelan-ark-uri, 7.1.3)."""
    legacy_inflections: bool = True
    """Whether ``??`` and ``?`` are asked where ``?info`` gave nothing."""
    conformance: bool = True
    """Whether a resolver is asked for one ARK of a shoulder in other forms, which it must treat alike."""
    conformance_from: int = Field(ENOUGH_NAMES, ge=1)
    """How many ARKs of a shoulder it takes for that: it costs at most eight questions a resolver and shoulder."""
    maptr: bool = False
    """Whether resolvers that the registry doesn't know are looked up in the DNS (NAPTR records under ark.arpa)."""
    direct: bool = False
    """Whether what would be asked of the global resolver, compact ARKs above all, is asked of the registry's target."""


class Config(_Section):
    """Everything that a run can be told."""

    seeds: list[str] = []
    store: Path | None = None
    out: Path | None = None
    resolver: Annotated[str, AfterValidator(_http_url)] = "https://n2t.net/"
    politeness: Politeness = Politeness()
    network: Network = Network()
    hosts: Annotated[dict[str, Host], AfterValidator(_hosts)] = {}
    """Hosts of one's own."""
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    log: Log = Log()

    @property
    def user_agent(self) -> str:
        """What hosts are told of who asks."""
        if self.politeness.user_agent:
            return self.politeness.user_agent
        contact = f"; {self.politeness.contact}" if self.politeness.contact else ""
        return f"arkaudit/{__version__} (+{HOME}{contact})"

    @property
    def patience(self) -> Patience:
        """How often a question is put, and how long that may take."""
        polite = self.politeness
        return Patience(polite.attempts, polite.backoff, polite.longest_wait)

    @property
    def credentials(self) -> Credentials:
        """What hosts of one's own are sent besides."""
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

    def settings(self) -> dict[str, Any]:
        """The settings of Scrapy that follow from it."""
        network = self.network
        return {
            "USER_AGENT": self.user_agent,
            "ROBOTSTXT_USER_AGENT": "arkaudit",
            "DOWNLOAD_DELAY": max(self.politeness.delay, _LEAST_DELAY_S),
            "DOWNLOAD_TIMEOUT": self.politeness.timeout,
            # A proxy would look names up for us, and be reached in place of the routes.
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
        }


def load(path: Path | None, overrides: dict[str, Any]) -> Config:
    """The configuration in the file at *path*, if any, with *overrides* (dotted names) over it.

    Paths in the file are relative to the file. Raises `ConfigError`.

    >>> load(None, {"politeness.delay": 0}).politeness.delay
    0.0
    >>> load(None, {"politeness.delay": -1})
    Traceback (most recent call last):
    ...
    arkaudit.config.ConfigError: politeness.delay: Input should be greater than or equal to 0
    """
    values = _file_values(path) if path else {}
    for name, value in overrides.items():
        *sections, key = name.split(".")
        inner = values
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{path}: {section}: must be a table")
        inner[key] = value
    try:
        config = Config.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        words = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{f'{path}: ' if path else ''}{place}: {words}") from None
    if config.network.ca_file and not config.network.ca_file.is_file():
        raise ConfigError(f"there is no file of certificates at {config.network.ca_file}")
    return config


def _file_values(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration at {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} can't be read: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None
    folder = path.parent
    for section, key in ((None, "store"), (None, "out"), ("network", "ca_file"), ("log", "file")):
        inner = values.get(section, {}) if section else values
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            inner[key] = folder / inner[key]
    if isinstance(values.get("seeds"), list):
        values["seeds"] = [relative_to(folder, seed) if isinstance(seed, str) else seed for seed in values["seeds"]]
    return values
