"""``arkaudit.toml`` and the options of the command become one validated `Config`."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from arkaudit import __version__
from crawler.addresses import AddressGuard, Routes
from crawler.attempts import Patience
from crawler.controls import ENOUGH_NAMES
from crawler.history.standing import Policy
from crawler.rechecking import Intervals, RecheckPolicy

#: Without any delay, Scrapy's downloader takes all that is queued for a host at once, whatever the concurrency.
_LEAST_DELAY_S = 0.001

HOME = "https://pypi.org/project/arkaudit/"


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
    if not is_plain or parts.scheme.lower() not in ("http", "https"):
        raise ValueError(f"not the http or https URL of a resolver: {text!r}")
    return text


def _printable(text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ValueError("must be printable ASCII: it is sent as a header")
    return text


Header = Annotated[str, AfterValidator(_printable)]


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


class Crawl(_Section):
    """How far a crawl goes."""

    depth: int | None = Field(None, ge=0)
    max_pages: int | None = Field(None, ge=1)


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


class RecheckDays(_Section):
    """Days between two checks of an ARK, by its state; None for what stands in general."""

    healthy: float | None = Field(None, ge=0, le=3650)
    failing: float | None = Field(None, ge=0, le=3650)
    """Of flapping ones, too."""
    confirmed_broken: float | None = Field(None, ge=0, le=3650)
    blocked: float | None = Field(None, ge=0, le=3650)
    undetermined: float | None = Field(None, ge=0, le=3650)


class Recheck(RecheckDays):
    """When ARKs are checked again, and when a failure is confirmed."""

    naan: dict[str, RecheckDays] = {}
    host: dict[str, RecheckDays] = {}
    """By the host that is asked first; it weighs more than the NAAN."""
    strikes: int = Field(Policy().strikes, ge=1, le=100)
    """So many failures, without a good answer between them,"""
    strike_days: float = Field(Policy().days, ge=0, le=3650)
    """over so many days are confirmed."""

    @property
    def intervals(self) -> RecheckPolicy:
        """How often what is checked."""
        by_naan, by_host = ({name: _given(days) for name, days in each.items()} for each in (self.naan, self.host))
        return RecheckPolicy(replace(Intervals(), **_given(self)), by_naan, by_host)

    @property
    def standing(self) -> Policy:
        """When a failure is confirmed."""
        return Policy(strikes=self.strikes, days=self.strike_days)


def _given(days: RecheckDays) -> dict[str, float]:
    return {name: value for name in RecheckDays.model_fields if (value := getattr(days, name)) is not None}


class Config(_Section):
    """Everything that a run can be told."""

    seeds: list[str] = []
    store: Path | None = None
    out: Path | None = None
    resolver: Annotated[str, AfterValidator(_http_url)] = "https://n2t.net/"
    politeness: Politeness = Politeness()
    network: Network = Network()
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    recheck: Recheck = Recheck()

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
    for section, key in ((None, "store"), (None, "out"), ("network", "ca_file")):
        inner = values.get(section, {}) if section else values
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            inner[key] = folder / inner[key]
    if isinstance(values.get("seeds"), list):
        values["seeds"] = [
            seed if not isinstance(seed, str) or "://" in seed else str(folder / seed) for seed in values["seeds"]
        ]
    return values
