"""``arkaudit.toml`` and the options of the command become one validated `Config`."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from arkaudit import __version__
from arkaudit.config_lines import line_of
from arkaudit.schedules.moments import Schedule
from crawler.addresses import AddressGuard, Routes
from crawler.attempts import Patience
from crawler.controls import ENOUGH_NAMES
from crawler.history.standing import Policy
from crawler.rechecking import Intervals, RecheckPolicy

#: Without any delay, Scrapy's downloader takes all that is queued for a host at once, whatever the concurrency.
_LEAST_DELAY_S = 0.001

HOME = "https://pypi.org/project/arkaudit/"


#: Named audits have files of their names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


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
    """Who is told what has changed, once a run has ended."""

    on: list[Literal["broke", "failing", "recovered", "moved", "changed", "new", "gone"]] = [
        "broke",
        "recovered",
        "moved",
        "changed",
    ]
    """What is news; a run without any tells nobody. ``broke`` is a confirmed failure, ``failing`` a first one."""
    file: Path | None = None
    """News are added to the end of this file."""
    command: list[str] = []
    """Gets the news on its standard input, and their subject in ARKAUDIT_SUBJECT."""
    email: Email | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self.file or self.command or self.email)


class Config(_Section):
    """Everything that a run can be told."""

    name: str | None = None
    """Of a named audit."""
    schedule: Annotated[str, AfterValidator(_cron)] | None = None
    """When a named audit runs: a cron expression of five fields."""
    timezone: Annotated[str, AfterValidator(_zone)] | None = None
    """In which the schedule is read; UTC by default."""
    seeds: list[str] = []
    store: Path | None = None
    out: Path | None = None
    resolver: Annotated[str, AfterValidator(_http_url)] = "https://n2t.net/"
    politeness: Politeness = Politeness()
    network: Network = Network()
    crawl: Crawl = Crawl()
    resolve: Resolve = Resolve()
    recheck: Recheck = Recheck()
    notify: Notify = Notify()

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
        at = _at(text, path, (*within, *place)) if ".".join(place) not in overrides else ""
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{at}{'.'.join((*within, *place))}{': ' if place or within else ''}{words}{more}") from None
    if config.network.ca_file and not config.network.ca_file.is_file():
        raise ConfigError(f"there is no file of certificates at {config.network.ca_file}")
    return config


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
        text = path.read_text("utf-8")
        values = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration at {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} can't be read: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None
    audits = values.get("audits", {})
    named = [each for each in audits.values() if isinstance(each, dict)] if isinstance(audits, dict) else []
    for tables in (values, *named):
        _relative_to(path.parent, tables)
    return text, values


def _relative_to(folder: Path, values: dict[str, Any]) -> None:
    """Lead the paths among *values* from the folder of the file that they stand in."""
    for section, key in ((None, "store"), (None, "out"), ("network", "ca_file"), ("notify", "file")):
        inner = values.get(section, {}) if section else values
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            inner[key] = folder / inner[key]
    if isinstance(values.get("seeds"), list):
        values["seeds"] = [
            seed if not isinstance(seed, str) or "://" in seed else str(folder / seed) for seed in values["seeds"]
        ]
