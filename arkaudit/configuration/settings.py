"""The table of all settings: each is declared once, with its type, default, limits, help and option.

Each command reads it for its options, so it imports nothing that is slow: types that validate are names in
`setting_values`. `config_files.models` makes the models that read a configuration.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from inspect import formatannotation
from string import Template
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from crawler.model import defaults
from crawler.model.crawl_requests import Extent
from reports.languages import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Annotated

    from pydantic import AfterValidator, BaseModel

    from arkaudit.configuration.setting_values import (
        AddressTexts,
        Contact,
        Cookies,
        CronExpression,
        Days,
        FilePath,
        Header,
        Headers,
        LanguageCode,
        NaanText,
        NamesLookedUp,
        PageUrl,
        Pattern,
        ResolverUrl,
        RouteTexts,
        Seconds,
        SeedTexts,
        ServiceUrl,
        StrictBool,
        TimeGateUrl,
        ZoneName,
        validated_hosts,
    )
    from arkaudit.hooks import Channel
else:
    BaseModel = object


class Setting(NamedTuple):
    """The declaration of a setting, whose name and type are given by the attribute of the section."""

    default: Any
    """The value if none is given; `...` if one must be given."""
    help: str = ""
    """The effect of the setting, with its unit; for ``--help`` and ``docs/configuration.md``."""
    option: str = ""
    """The option that overrides the setting; empty if there is none."""
    metavar: str | None = None
    choices: Sequence[str] = ()
    """All possible values, if these are a few words."""
    ge: Any = None
    gt: Any = None
    le: Any = None
    unset: str = ""
    """The meaning of the default None, in words."""
    scrapy: str = ""
    """The Scrapy setting that gets the value; empty if none does."""
    key: str | None = None
    """The name in the file, if that is a keyword of Python."""
    type: str = ""
    """The annotation of the attribute, in `TABLE`."""


#: A `Setting` that type checkers take for the value of its attribute.
setting = cast("Callable[..., Any]", Setting)


class Section(BaseModel):
    """A section of the configuration. Type checkers see the model that `config_files.models` makes of it."""

    @property
    def determines_requests(self) -> bool:
        """True if a run with other values of the section sends other requests, so that it can't resume this run."""
        return False

    def refuse(self) -> None:
        """Raise ValueError if the values contradict each other, or need a program that is missing."""

    def check(self) -> None:
        """Raise `UserMistake` if a file, program or variable that a run needs is missing; nothing is written."""

    def variables(self) -> Iterable[str]:
        """Return the names of environment variables whose values are secrets."""
        return ()

    def channels(self) -> Iterable[Channel]:
        """Return the configured destinations of news after a run. Raises `UserMistake`."""
        return ()

    def forecast_notes(self) -> Iterable[str]:
        """Return sentences about requests of a run that ``--dry-run`` can't count."""
        return ()


class Politeness(Section):
    """Options for the load that hosts get."""

    delay: float = setting(
        defaults.INTERVAL_S,
        "Seconds between two requests to a host; less than 1 only for your own.",
        "--delay",
        ge=0,
        le=3600,
        scrapy="ARKAUDIT_INTERVAL",
    )
    timeout: float = setting(
        defaults.TIMEOUT_S, "Seconds for one request.", "--timeout", gt=0, le=3600, scrapy="DOWNLOAD_TIMEOUT"
    )
    attempts: int = setting(
        defaults.ATTEMPTS,
        "Number of attempts at a request that fails temporarily (timeout, 429, 503 …), the first one included.",
        "--attempts",
        ge=1,
        le=10,
        scrapy="ARKAUDIT_ATTEMPTS",
    )
    backoff: float = setting(
        defaults.BACKOFF_S,
        "Seconds before the second attempt, doubled for each.",
        "--backoff",
        ge=0,
        le=3600,
        scrapy="ARKAUDIT_BACKOFF",
    )
    longest_wait: float = setting(
        defaults.LONGEST_WAIT_S,
        "Longest pause to grant a host, in seconds; hosts that want more are not asked.",
        "--longest-wait",
        ge=0,
        le=86400,
        scrapy="ARKAUDIT_LONGEST_WAIT",
    )
    user_agent: Header | None = setting(None, "The whole User-Agent header, instead of arkaudit's.", "--user-agent")
    contact: Contact | None = setting(
        None, "Your e-mail address or URL for operators of hosts; part of the User-Agent.", "--contact"
    )


class Host(Section):
    """Options for the operator's own host, named ``name``, ``name:port`` or ``scheme://name:port``."""

    interval: float = setting(defaults.INTERVAL_S, "Seconds between two requests.", ge=0, le=3600)
    concurrency: int = setting(1, "Number of simultaneous requests.", ge=1, le=100)
    headers: Headers = {}
    """Sent to this scheme (default https), name and port only (docs/security.md)."""
    cookies: Cookies | FilePath = {}
    """Or a file of cookies: "cookies.txt"."""


class Network(Section):
    """Options for connections."""

    connect_to: RouteTexts = setting(
        [],
        "Connect to ADDR:PORT instead of HOST:PORT; URL and Host header stay the same.",
        "--connect-to",
        metavar="HOST:PORT=ADDR:PORT",
        scrapy="ARKAUDIT_CONNECT_TO",
    )
    only_routed: bool = setting(
        False, "Only connect to hosts given by --connect-to.", "--only-routed", scrapy="ARKAUDIT_ONLY_ROUTED"
    )
    ca_file: FilePath | None = setting(
        None,
        "Authorities that sign for hosts with credentials and the NAAN registry, instead of the system's.",
        "--ca-file",
        scrapy="ARKAUDIT_CA_FILE",
    )
    allow_addresses: AddressTexts = setting(
        [],
        "A private network that may be reached.",
        "--allow-address",
        metavar="CIDR",
        scrapy="ARKAUDIT_ALLOW_ADDRESSES",
    )


class Log(Section):
    """Options for the log of a command."""

    file: FilePath | None = setting(None, "Append the log to this file.", "--log-file", unset="standard error")
    level: str | None = setting(
        None,
        "Lowest level to log; debug logs each request.",
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        unset="warning; info in a file",
    )
    format: str = setting("text", "One line per event.", "--log-format", choices=("text", "json"))


class Harvest(Section):
    """Options that select the records to harvest from a repository, named like the arguments of OAI-PMH."""

    prefix: str = setting("oai_dc", "Metadata format to harvest by OAI-PMH.", "--oai-prefix", metavar="PREFIX")
    set: str | None = setting(None, "Harvest only this set.", "--oai-set", metavar="SET")
    since: str | None = setting(
        None, "Harvest records changed since this date.", "--oai-from", metavar="DATE", key="from"
    )
    until: str | None = setting(None, "Harvest records changed until this date.", "--oai-until", metavar="DATE")

    def refuse(self) -> None:
        """Raise ValueError for dates that OAI-PMH does not allow."""
        from crawler.sources.xml_sources import Selection

        Selection(**self.model_dump())


class Crawl(Section):
    """Options for the extent of a crawl."""

    depth: int | None = setting(None, "Links to follow from a seed.", "--depth", ge=0, unset="no limit")
    max_pages: int | None = setting(
        None, "Maximum number of documents to fetch.", "--max-pages", ge=1, unset="no limit"
    )
    max_time: Seconds | None = setting(
        None,
        "Maximum duration of a crawl, check or recheck, such as 90m, 2h.",
        "--max-time",
        metavar="DURATION",
        gt=0,
        unset="no limit",
    )
    scope: Extent = setting(
        Extent.SITE,
        "Follow links within a seed's registered domain, its host, or its path.",
        "--scope",
        choices=tuple(Extent),
    )
    include: list[Pattern] = setting([], "Follow only links whose URL matches this.", "--include", metavar="REGEX")
    exclude: list[Pattern] = setting([], "Do not follow links whose URL matches this.", "--exclude", metavar="REGEX")
    content_hosts: list[str] = setting(
        [],
        "Also fetch documents of the site from this host, without following links there.",
        "--content-host",
        metavar="HOST",
    )
    ignore_nofollow: bool = setting(False, "Follow links despite nofollow, on your own site.", "--ignore-nofollow")
    sitemaps: bool = setting(True, "Read the sitemaps that a site's robots.txt names.", "--sitemaps/--no-sitemaps")
    oai: Harvest

    @property
    def determines_requests(self) -> bool:
        """True: see `Section.determines_requests`."""
        return True


class Resolve(Section):
    """Options for the requests about ARKs."""

    direct: bool = setting(False, "Request compact ARKs from the NAAN registry's target of their NAAN.", "--direct")
    # At least 5: draft-castelan-ark-uri, 7.1.3.
    max_hops: int = setting(
        defaults.MAX_HOPS, "Redirects in a chain.", "--max-hops", ge=5, le=100, scrapy="ARKAUDIT_MAX_HOPS"
    )
    legacy_inflections: bool = True
    """Request ?? and ? if ?info returns nothing."""
    maptr: NamesLookedUp = False
    """Look up resolvers in the DNS as well; needs the extra `dns` (docs/usage.md)."""

    @property
    def determines_requests(self) -> bool:
        """True: see `Section.determines_requests`."""
        return True


class Memento(Section):
    """Options for the search for archived copies of failing ARKs, by the Memento protocol (RFC 7089)."""

    timegate: TimeGateUrl | None = None
    """The beginning of a TimeGate's URLs; without it, no archive is asked."""
    max_age: Seconds = setting(30 * 86_400.0, "Age at which an answer is requested again.", ge=0)


class RecheckDays(Section):
    """Days between two checks of an ARK, by its state; None for the general value."""

    healthy: Days | None = None
    failing: Days | None = None
    """Also while flapping."""
    confirmed_broken: Days | None = None
    blocked: Days | None = None
    undetermined: Days | None = None


class Recheck(RecheckDays):
    """Options for the intervals between checks, and for the confirmation of failures."""

    naan: dict[str, RecheckDays] = {}
    host: dict[str, RecheckDays] = {}
    """Intervals by the host of the request URL; these take precedence."""
    strikes: int = setting(
        defaults.STRIKES, "Number of failures, without a good answer between them, that confirm one.", ge=1, le=100
    )
    strike_days: Days = defaults.STRIKE_DAYS
    """Days that these failures must span."""


class Notify(Section):
    """Options for notifications about changes after a run."""

    on: list[Literal["confirmed", "failing", "recovered", "moved", "changed", "new", "gone"]] = [
        "confirmed",
        "recovered",
        "moved",
        "changed",
    ]
    """Events to report; a run without any sends nothing. `confirmed` is a confirmed failure, `failing` a first one."""
    file: FilePath | None = None
    """A file to append the news to."""
    command: list[str] = []
    """Reads the news from standard input, and the subject from ARKAUDIT_SUBJECT."""
    urls: list[ServiceUrl] = []
    """Apprise URLs of services; $NAME is an environment variable."""
    format: Literal["markdown", "html", "text", "json"] | None = None
    """Or markdown, html, json; default: Markdown for file and command, and the best one for each service."""
    monthly: bool = False
    """Also in the first run of each month without changes."""

    def check(self) -> None:
        """Raise `UserMistake` for a missing program or variable, or a file that can't be written."""
        from shutil import which

        from extractors.model.errors import UserMistake
        from extractors.model.files import is_folder, path_exists

        file = self.file
        if self.command and which(self.command[0]) is None:
            raise UserMistake(f"notify.command: there is no program {self.command[0]!r} that can be run")
        if file is not None and (is_folder(file) or not os.access(file if path_exists(file) else file.parent, os.W_OK)):
            raise UserMistake(f"notify.file: {file} {'is a folder' if is_folder(file) else 'cannot be written'}")
        missing_variables = [name for name in self.variables() if not os.environ.get(name)]
        if missing_variables:
            raise UserMistake(f"notify: set the environment variable {', '.join(missing_variables)}")

    def variables(self) -> Iterator[str]:
        """Yield the names of the environment variables in the URLs of services."""
        for url in self.urls:
            yield from Template(url).get_identifiers()


class ReportOptions(Section):
    """Options for the texts of a report."""

    url: PageUrl | None = None
    """Public address of the page, for links in news."""
    lang: LanguageCode | None = setting(
        None,
        "Language of the page, the letters, Markdown and the summary: "
        f"{', '.join(f'{code} ({name})' for code, name in NAMES.items())}, or auto for that of your environment. "
        "Machine-readable output is not translated.",
        "--lang",
        "LANG",
        unset="en; the page adapts to the browser",
    )


class KnownList(Section):
    """Options for known problems."""

    file: FilePath | None = setting(
        None,
        "A list of known problems as CSV: columns what, state, reason, until, who (arkaudit known add).",
        "--known",
        metavar="FILE",
    )


class NaanNames(Section):
    """The user's declaration about all names of a NAAN."""

    check_character: StrictBool
    """Each name ends with a check character (NOID); false: none does."""


class Settings(Section):
    """All settings of a run."""

    name: str | None = None
    """The name of a named audit."""
    schedule: CronExpression | None = None
    """The times of a named audit: a cron expression of five fields."""
    timezone: ZoneName | None = None
    """The time zone of the schedule; UTC by default."""
    seeds: SeedTexts = []
    jobs: int | None = setting(
        None,
        "Number of processes that read documents; results don't depend on it.",
        "--jobs",
        metavar="N",
        ge=1,
        le=256,
        unset="number of cores",
    )
    store: FilePath | None = None
    out: FilePath | None = setting(None, "Write the report into this folder.", "--out")
    inventory: FilePath | None = setting(
        None,
        "Your own ARKs as CSV: columns ark, expected_url, title, collection; only ark is required.",
        "--inventory",
        metavar="FILE",
    )
    resolver: ResolverUrl = setting(
        defaults.GLOBAL_RESOLVER, "Resolver for compact ARKs.", "--resolver", scrapy="ARKAUDIT_RESOLVER"
    )
    politeness: Politeness
    network: Network
    hosts: Annotated[dict[str, Host], AfterValidator(validated_hosts)] = {}
    crawl: Crawl
    resolve: Resolve
    log: Log
    memento: Memento
    recheck: Recheck
    naans: dict[NaanText, NaanNames] = {}
    notify: Notify
    report: ReportOptions
    known: KnownList


def settings_in(section: type[Section], prefix: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield dotted names and declarations, made by `setting`, of a section and of its nested sections."""
    for name, annotation in section.__annotations__.items():
        declaration = vars(section).get(name)
        if isinstance(declaration, Setting):
            # A plug-in may have types instead of their names.
            type_name = annotation if isinstance(annotation, str) else formatannotation(annotation)
            yield f"{prefix}{declaration.key or name}", declaration._replace(type=type_name)
        elif annotation in globals():
            yield from settings_in(globals()[annotation], f"{prefix}{name}.")


#: All settings with an option, limits or a Scrapy setting by dotted name; tables with keys of the user are left out.
TABLE = dict(settings_in(Settings))
