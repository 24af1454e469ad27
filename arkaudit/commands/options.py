"""Options that several commands share, and their conversion to a `Config`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arkaudit.configuration.nearest_words import suggest_nearest
from arkaudit.output.exits import NEVER, errors
from crawler.model import defaults
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)

flag = partial(click.option, is_flag=True)
repeatable = partial(click.option, multiple=True)
file_option = partial(click.option, type=FILE)
config_option = partial(file_option, "-c", "--config", "config_file")
store_file_option = partial(file_option, "--store", "store_file")

optional_config_option = config_option(help="The configuration (arkaudit.toml).")
"""The option of commands that may read a configuration."""
required_config_option = config_option(required=True, help="The configuration.")
"""The option of commands that need a configuration."""
audits_option = config_option(
    default=Path("arkaudit.toml"), show_default=True, help="The configuration with the audits."
)
"""The option of commands about the named audits of a configuration."""


class SettingOption(click.Option):
    """An option that overrides a setting, such as ``politeness.delay``. The help of long commands lists it in a group."""

    def __init__(self, names: Sequence[str], *, setting: str, group: str, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.setting = setting
        self.group = group


def setting_option(group: str, setting: str, *names: str, **attributes: Any) -> Callable[[Any], Any]:
    """Return the decorator for the option of a setting. By default, its name is the last part of that of the setting."""
    names = names or ("--" + setting.rpartition(".")[2].replace("_", "-"),)
    return click.option(*names, cls=SettingOption, setting=setting, group=group, **attributes)


_request = partial(setting_option, "Requests")
_network = partial(setting_option, "Network")
_log = partial(setting_option, "Messages and log")
_crawling = partial(setting_option, "Crawling")
_repeated: dict[str, Any] = {"multiple": True}
_switch: dict[str, Any] = {"is_flag": True, "default": None}

_RESOLVER = _request("resolver", help=f"Resolver for compact ARKs.  [default: {defaults.GLOBAL_RESOLVER}]")
_DIRECT = _request(
    "resolve.direct", **_switch, help="Request compact ARKs from the NAAN registry's target of their NAAN."
)
_REQUESTS = (
    _RESOLVER,
    _request(
        "politeness.delay",
        type=float,
        help="Seconds between two requests to a host; less than 1 only for your own.  "
        f"[default: {defaults.INTERVAL_S:g}]",
    ),
    _request("politeness.timeout", type=float, help=f"Seconds for one request.  [default: {defaults.TIMEOUT_S:g}]"),
    _request(
        "politeness.attempts",
        type=int,
        help=f"Number of attempts after a temporary failure.  [default: {defaults.ATTEMPTS}]",
    ),
    _request(
        "politeness.backoff",
        type=float,
        help=f"Seconds before the second attempt, doubled for each.  [default: {defaults.BACKOFF_S:g}]",
    ),
    _request(
        "politeness.longest_wait",
        type=float,
        help=f"Longest pause to grant a host, in seconds.  [default: {defaults.LONGEST_WAIT_S:g}]",
    ),
    _DIRECT,
    _request("resolve.max_hops", type=int, help=f"Redirects in a chain.  [default: {defaults.MAX_HOPS}]"),
    _request("politeness.user_agent", help="The whole User-Agent header, instead of arkaudit's."),
    _request("politeness.contact", help="Your e-mail address or URL for operators of hosts; part of the User-Agent."),
    _network(
        "network.connect_to",
        **_repeated,
        metavar="HOST:PORT=ADDR:PORT",
        help="Connect to ADDR:PORT instead of HOST:PORT; URL and Host header stay the same. Repeatable.",
    ),
    _network("network.only_routed", **_switch, help="Only connect to hosts given by --connect-to."),
    _network("network.ca_file", type=FILE, help="Certificate authorities to trust."),
    _network(
        "network.allow_addresses",
        "--allow-address",
        **_repeated,
        metavar="CIDR",
        help="A private network that may be reached. Repeatable.",
    ),
    _log(
        "log.file", "--log-file", type=click.Path(path_type=Path, dir_okay=False), help="Append the log to this file."
    ),
    _log(
        "log.level",
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="Lowest level to log; debug logs each request.  [default: warning; info in a file]",
    ),
    _log(
        "log.format", "--log-format", type=click.Choice(["text", "json"]), help="One line per event.  [default: text]"
    ),
)
#: The value of --format for all formats.
EVERY = "all"

#: Groups in the help of long commands, in their order, with options that override no setting; all others come first.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Crawling": (),
    "Requests": (),
    "Network": (),
    "Report": ("out", "formats", "lang", "naans", "documents", "only", "since", "run_id"),
    "Messages and log": ("verbose", "quiet", "color"),
}


class GroupedCommand(click.Command):
    """A command whose help groups options by subject and lists the tokens of --fail-on."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of options."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *_GROUPS)}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                groups[_group_of(param)].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if any(param.name == "fail_on" for param in self.params):
            from reports.tables.wording import SEVERITY

            with formatter.section("Tokens of --fail-on, the most severe of each kind first"):
                formatter.write_dl([(kind, ", ".join(tokens)) for kind, tokens in SEVERITY.items()])


def _group_of(option: click.Option) -> str:
    """Return the title of the group in which the help lists an option."""
    if isinstance(option, SettingOption):
        return option.group
    return next((title for title, names in _GROUPS.items() if option.name in names), "Options")


class WordChoice(click.Choice[str]):
    """A choice among many words: the message about a mistyped one suggests the nearest instead of listing all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return *value* if it is a choice."""
        words = tuple(map(str, self.choices))
        if value in words:
            return str(value)
        others = f"; choose from {', '.join(words)}"
        near = suggest_nearest(str(value), words) or others
        raise click.BadParameter(f"there is no {value!r}{near}", ctx, param)


#: Key of the log level in click's context.
_LEVEL = f"{__name__}.level"


def _be_verbose(context: click.Context, _: click.Parameter, times: int) -> None:
    if times:
        context.meta[_LEVEL] = "info" if times == 1 else "debug"


def asked_level() -> str | None:
    """Return the log level that `--verbose` asks for, or None."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_LEVEL)


_VERBOSE = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=_be_verbose,
    help="Log more: -v for --log-level info, -vv for debug.",
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds *options* to a command, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


max_time_option = _crawling(
    "crawl.max_time", metavar="DURATION", help="Maximum duration, such as 90m, 2h.  [default: no limit]"
)
"""The option for the duration of a crawl or a check."""
request_options = with_options(optional_config_option, *_REQUESTS, _VERBOSE)
"""Adds the options of every command that sends requests."""
asking_options = with_options(
    optional_config_option, *(option for option in _REQUESTS if option not in (_RESOLVER, _DIRECT)), _VERBOSE
)
"""Adds these options except those that choose the resolver."""


def crawl_options(command: Command) -> Command:
    """Add the options of commands that follow links."""
    from crawler.model.crawl_requests import Extent

    options = (
        _crawling("crawl.depth", type=int, help="Links to follow from a seed.  [default: no limit]"),
        _crawling("crawl.max_pages", type=int, help="Maximum number of documents to fetch.  [default: no limit]"),
        max_time_option,
        _crawling(
            "crawl.scope",
            type=click.Choice([extent.value for extent in Extent]),
            help="Follow links within a seed's registered domain, its host, or its path.  [default: site]",
        ),
        _crawling(
            "crawl.include", **_repeated, metavar="REGEX", help="Follow only links whose URL matches this. Repeatable."
        ),
        _crawling(
            "crawl.exclude",
            **_repeated,
            metavar="REGEX",
            help="Do not follow links whose URL matches this. Repeatable.",
        ),
        _crawling(
            "crawl.content_hosts",
            "--content-host",
            **_repeated,
            metavar="HOST",
            help="Also fetch documents of the site from this host, without following links there. Repeatable.",
        ),
        _crawling("crawl.ignore_nofollow", **_switch, help="Follow links despite nofollow, on your own site."),
        _crawling(
            "crawl.sitemaps",
            "--sitemaps/--no-sitemaps",
            default=None,
            help="Read the sitemaps that a site's robots.txt names.  [default: yes]",
        ),
        _crawling(
            "crawl.oai.prefix",
            "--oai-prefix",
            metavar="PREFIX",
            help="Metadata format to harvest by OAI-PMH.  [default: oai_dc]",
        ),
        _crawling("crawl.oai.set", "--oai-set", metavar="SET", help="Harvest only this set."),
        _crawling("crawl.oai.from", "--oai-from", metavar="DATE", help="Harvest records changed since this date."),
        _crawling("crawl.oai.until", "--oai-until", metavar="DATE", help="Harvest records changed until this date."),
    )
    return with_options(jobs_option, *options)(command)


jobs_option = setting_option(
    "Options",
    "jobs",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Number of processes that read documents; results don't depend on it.  [default: number of cores]",
)
"""The option for the number of processes that read documents."""


from_places_option = click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read the names of documents from a file, one per line; it may be compressed (.gz).",
)
"""The option for a file that names documents."""


def listed_places(path: Path) -> list[str]:
    """Return the non-empty lines of a file, which may be compressed by gzip. Raises `UserMistake`."""
    import gzip
    import zlib

    from extractors.archives.compression import SIGNATURES, Compression

    try:
        data = path.read_bytes()
        is_packed = data.startswith(SIGNATURES[Compression.GZIP])
        text = (gzip.decompress(data) if is_packed else data).decode("utf-8-sig", "surrogateescape")
    except (OSError, EOFError, zlib.error) as problem:
        raise UserMistake(f"{path} can't be read: {getattr(problem, 'strerror', None) or problem}") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise UserMistake(f"{path} is empty")
    return lines


resume_option = click.option(
    "--resume/--no-resume",
    default=None,
    help="Resume the last run, or begin a new one.  [default: resume if the same command did not finish]",
)
"""The option to resume an unfinished run."""
dry_run_option = flag("--dry-run", help="Print the number and duration of requests to each host without sending any.")
"""The option to print a forecast instead of sending requests."""
table_option = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
"""The option to print a table or JSON."""


verdict_format_option = click.option(
    "--format", "form", type=click.Choice(["jsonl", "table"]), default="jsonl", show_default=True
)
"""The option for the output of a check."""


def fail_on_option(command: Command) -> Command:
    """Add the option for the outcomes that cause exit code 1."""
    from reports.tables.wording import TOKENS

    return repeatable(
        "--fail-on",
        type=WordChoice([NEVER, *TOKENS]),
        metavar="TOKEN",
        help="Exit with 1 if an ARK or document has this outcome, or a more severe one of its kind. Known problems "
        "(--known) do not count. Repeatable.",
    )(command)


known_option = setting_option(
    "Report",
    "known.file",
    "--known",
    type=FILE,
    metavar="FILE",
    help="A list of known problems as CSV: columns what, state, reason, until, who (arkaudit known add).",
)
"""The option for the list of known problems."""


def format_option(command: Command) -> Command:
    """Add the option for the formats of a report."""
    from reports.tables.wording import DEFAULT_FORMATS, FORMAT_MODULES, FORMATS

    def choose(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        if EVERY not in given:
            return given or DEFAULT_FORMATS
        modules = {name: FORMAT_MODULES.get(name, "reports") for name in FORMATS}
        # Only formats whose modules are installed.
        return tuple(name for name, module in modules.items() if find_spec(module) is not None)

    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in FORMATS.items())
    return repeatable(
        "--format",
        "formats",
        type=click.Choice([*FORMATS, EVERY]),
        callback=choose,
        metavar="FORMAT",
        help=f"Repeatable.  [default: {' and '.join(DEFAULT_FORMATS)}]  {meanings}; {EVERY}.",
    )(command)


def lang_option(command: Command) -> Command:
    """Add the option for the language of a report."""
    from reports.languages import NAMES, WORDS

    named = ", ".join(f"{code} ({name})" for code, name in NAMES.items())
    return click.option(
        "--lang",
        type=WordChoice(WORDS),
        metavar="LANG",
        help=f"Language of the page, the letters, Markdown and the summary: {named}, or auto for that of your "
        "environment. Machine-readable output is not translated.  [default: en; the page adapts to the browser]",
    )(command)


inventory_option = setting_option(
    "Report",
    "inventory",
    type=FILE,
    metavar="FILE",
    help="Your own ARKs as CSV: columns ark, expected_url, title, collection; only ark is required.",
)
"""The option for the institution's own list of its ARKs."""


def choice_options(command: Command) -> Command:
    """Add the options that select a part of a run for a report."""
    from reports.tables.wording import ONLY

    return with_options(
        repeatable("--naan", "naans", help="Only ARKs under this NAAN. Repeatable."),
        repeatable(
            "--document",
            "documents",
            metavar="URL|PATTERN",
            help="Only documents whose address begins with this, or matches a pattern with *. Repeatable.",
        ),
        repeatable(
            "--only",
            type=WordChoice(ONLY),
            metavar="TOKEN",
            help="Only ARKs with this outcome, family, state, event or cause. Repeatable.",
        ),
    )(command)


audit_option = click.option("--audit", metavar="NAME", help="A named audit of the configuration.")
"""The option for one of the configuration's named audits."""
store_option = store_file_option(default=Path("audit.db"), show_default=True)
"""The option for the store that a command reads."""


def config_of(config_file: Path | None, options: dict[str, Any], *, audit: str | None = None) -> Config:
    """Return the configuration from a file (or its named *audit*), overridden by *options*.

    It starts the log and declares the check characters for this process. Raises
    `arkaudit.configuration.config_files.ConfigError`.
    """
    from arkaudit.configuration.config_files import load
    from arkaudit.output import logs
    from extractors.model.check_characters import declare

    if options.get("log_level") is None:
        options = {**options, "log_level": asked_level()}
    settings = {
        option.name: option.setting
        for option in click.get_current_context().command.params
        if isinstance(option, SettingOption)
    }
    values = {
        settings.get(name, name): list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if value is not None and value != ()
    }
    config = load(config_file, values, audit=audit)
    declare(config.check_characters)
    logs.start(config, errors)
    return config
