"""The options that several verbs share, and how they become a `Config`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arkaudit.exits import NEVER, errors, question_for_nearest

if TYPE_CHECKING:
    from arkaudit.config import Config

Command = TypeVar("Command", bound=Callable[..., Any])

#: A path that a user names.
FILE = click.Path(path_type=Path)

flag = partial(click.option, is_flag=True)
repeatable = partial(click.option, multiple=True)
file_option = partial(click.option, type=FILE)
config_option = partial(file_option, "-c", "--config", "config_file")
store_file_option = partial(file_option, "--store", "store_file")

_CONFIG = config_option(help="The configuration (arkaudit.toml).")
required_config_option = config_option(required=True, help="The configuration.")
"""The option for commands that do nothing without a configuration."""
_RESOLVER = click.option("--resolver", help="Resolver for compact ARKs.  [default: https://n2t.net/]")
_DIRECT = flag("--direct", default=None, help="Ask for compact ARKs where the NAAN registry says, not at the resolver.")
_REQUESTS = (
    _RESOLVER,
    click.option(
        "--delay",
        type=float,
        help="Seconds between two requests to a host; less than 1 to your own only.  [default: 1]",
    ),
    click.option("--timeout", type=float, help="Seconds for one request.  [default: 30]"),
    click.option("--attempts", type=int, help="Times a question is put, where the failure may pass.  [default: 3]"),
    click.option("--backoff", type=float, help="Seconds before the second attempt, doubled for each.  [default: 2]"),
    click.option("--longest-wait", type=float, help="Longest pause to grant a host, in seconds.  [default: 60]"),
    _DIRECT,
    click.option("--max-hops", type=int, help="Redirects in a chain.  [default: 20]"),
    click.option("--user-agent", help="The whole User-Agent header, instead of ours."),
    click.option("--contact", help="Where hosts can reach you (address or URL); part of the User-Agent."),
    repeatable(
        "--connect-to",
        metavar="HOST:PORT=ADDR:PORT",
        help="Connect there instead; URL and Host header stay. Repeatable.",
    ),
    flag("--only-routed", default=None, help="Fail names that have no --connect-to, without looking them up."),
    file_option("--ca-file", help="Certificates of authorities to trust."),
    repeatable("--allow-address", metavar="CIDR", help="A private network that may be reached. Repeatable."),
    click.option(
        "--log-file", type=click.Path(path_type=Path, dir_okay=False), help="Write down here what happens, and append."
    ),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="The least to write down; debug has each request.  [default: warning; info in a file]",
    ),
    click.option("--log-format", type=click.Choice(["text", "json"]), help="One line an event.  [default: text]"),
)
#: The word of --format for all of them.
EVERY = "all"

#: The values of the configuration whose options are not called as they are.
_RENAMED = {
    "allow_address": "network.allow_addresses",
    "log_file": "log.file",
    "log_level": "log.level",
    "log_format": "log.format",
    "oai_prefix": "crawl.oai.prefix",
    "oai_set": "crawl.oai.set",
    "oai_from": "crawl.oai.from",
    "oai_until": "crawl.oai.until",
}


#: The options of long commands by what they are about, in this order; what is in none is about the command itself.
_GROUPS = {
    "What is crawled": (
        *("depth", "max_pages", "max_time", "scope", "include", "exclude", "content_hosts", "ignore_nofollow"),
        *("sitemaps", "oai_prefix", "oai_set", "oai_from", "oai_until", "access_log_format"),
    ),
    "How hosts are asked": (
        *("resolver", "direct", "delay", "timeout", "attempts", "backoff", "longest_wait", "max_hops"),
        *("user_agent", "contact"),
    ),
    "Network": ("connect_to", "only_routed", "ca_file", "allow_address"),
    "The report": ("out", "formats", "lang", "inventory", "naans", "documents", "only", "since", "run_id"),
    "What is said, and the log": ("verbose", "quiet", "color", "log_file", "log_level", "log_format"),
}


class GroupedCommand(click.Command):
    """A command whose help has its options by what they are about, and the tokens of --fail-on by themselves."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *_GROUPS)}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                titles = (title for title, names in _GROUPS.items() if param.name in names)
                groups[next(titles, "Options")].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if any(param.name == "fail_on" for param in self.params):
            from reports.tables.wording import SEVERITY

            with formatter.section("Tokens of --fail-on, the gravest of each kind first"):
                formatter.write_dl([(kind, ", ".join(tokens)) for kind, tokens in SEVERITY.items()])


class WordChoice(click.Choice[str]):
    """A choice among so many words that a mistyped one is answered with the nearest of them, not with all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word that *value* is."""
        words = tuple(map(str, self.choices))
        if value in words:
            return str(value)
        others = f", but one of {', '.join(words)} must be given"
        near = question_for_nearest(str(value), words) or others
        raise click.BadParameter(f"there is no {value!r}{near}", ctx, param)


#: Where it is kept how much a command is to say of what it does.
_LEVEL = f"{__name__}.level"


def _be_verbose(context: click.Context, _: click.Parameter, times: int) -> None:
    if times:
        context.meta[_LEVEL] = "info" if times == 1 else "debug"


def asked_level() -> str | None:
    """The least level of what is written down of a run by `--verbose`; None where it was not given."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_LEVEL)


_VERBOSE = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=_be_verbose,
    help="Say more of what happens: --log-level info; -vv: debug.",
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return what adds *options* to a command, in their order."""

    def added(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


request_options = with_options(_CONFIG, *_REQUESTS, _VERBOSE)
"""Adds the options for how and whom to ask: for every command that sends requests."""
asking_options = with_options(
    _CONFIG, *(option for option in _REQUESTS if option not in (_RESOLVER, _DIRECT)), _VERBOSE
)
"""Adds those for how to ask: for commands that are told whom."""


def crawl_options(command: Command) -> Command:
    """Add the options for how far to go: for commands that follow links."""
    from crawler.model.crawl_requests import Extent

    options = (
        click.option("--depth", type=int, help="Links to follow from a seed.  [default: no limit]"),
        click.option("--max-pages", type=int, help="Documents to fetch at most.  [default: no limit]"),
        click.option(
            "--max-time", metavar="DURATION", help="End the crawl after so long: 90m, 2h.  [default: no limit]"
        ),
        click.option(
            "--scope",
            type=click.Choice([extent.value for extent in Extent]),
            help="Follow links within a seed's registered domain, its host, or its path.  [default: site]",
        ),
        repeatable("--include", metavar="REGEX", help="Follow only links whose URL holds this. Repeatable."),
        repeatable("--exclude", metavar="REGEX", help="Follow no link whose URL holds this. Repeatable."),
        repeatable(
            "--content-host",
            "content_hosts",
            metavar="HOST",
            help="Fetch documents of the site from this host as well; pages there lead nowhere. Repeatable.",
        ),
        flag("--ignore-nofollow", default=None, help="Follow what asks not to be: on one's own site."),
        click.option(
            "--sitemaps/--no-sitemaps",
            default=None,
            help="Read the sitemaps that a site's robots.txt names.  [default: yes]",
        ),
        click.option(
            "--oai-prefix", metavar="PREFIX", help="Metadata format to harvest by OAI-PMH.  [default: oai_dc]"
        ),
        click.option("--oai-set", metavar="SET", help="Harvest this set only."),
        click.option("--oai-from", metavar="DATE", help="Harvest records that changed since then."),
        click.option("--oai-until", metavar="DATE", help="Harvest records that changed until then."),
    )
    return with_options(jobs_option, *options, access_log_option)(command)


jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Processes that read documents; the results are the same.  [default: as many as there are cores]",
)
"""The option for the number of processes that read documents."""


access_log_option = click.option(
    "--access-log-format",
    metavar="FORMAT",
    help="How lines of log: are written, in the words of Apache or nginx.  [default: combined or common; Caddy's JSON]",
)
"""The option for the format of logs that are read for requests."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


resume_option = click.option(
    "--resume/--no-resume",
    default=None,
    help="Resume the last run, or begin a new one.  [default: resume if the same command did not finish]",
)
"""The option to resume a run that did not finish."""
dry_run_option = flag("--dry-run", help="Say which hosts would be asked, how much and for how long, and send nothing.")
"""The option to print only what would be done."""
table_option = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
"""The option for a table, or the same for programs."""


def fail_on_option(command: Command) -> Command:
    """Add the option for when to end with exit code 1."""
    from reports.tables.wording import TOKENS

    return repeatable(
        "--fail-on",
        type=WordChoice([NEVER, *TOKENS]),
        metavar="TOKEN",
        help="Exit with 1 when an ARK or a document has come to this, or to something graver of its kind; "
        "what is known (arkaudit triage) does not count. Repeatable.",
    )(command)


def format_option(command: Command) -> Command:
    """Add the option for which files a report is made of."""
    from reports.tables.wording import DEFAULT_FORMATS, FORMAT_MODULES, FORMATS

    def chosen(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        if EVERY not in given:
            return given or DEFAULT_FORMATS
        modules = {name: FORMAT_MODULES.get(name, "reports") for name in FORMATS}
        # those that this installation can write
        return tuple(name for name, module in modules.items() if find_spec(module) is not None)

    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in FORMATS.items())
    return repeatable(
        "--format",
        "formats",
        type=click.Choice([*FORMATS, EVERY]),
        callback=chosen,
        metavar="FORMAT",
        help=f"Repeatable.  [default: {' and '.join(DEFAULT_FORMATS)}]  {meanings}; {EVERY}.",
    )(command)


def lang_option(command: Command) -> Command:
    """Add the option for the language of what people read."""
    from reports.languages import NAMES, WORDS

    named = ", ".join(f"{code} ({name})" for code, name in NAMES.items())
    return click.option(
        "--lang",
        type=WordChoice(WORDS),
        metavar="LANG",
        help=f"Language of the page, the letters, Markdown and the summary: {named}, or auto, that of your "
        "environment; what programs read is in none.  [default: en; the page goes by the browser]",
    )(command)


inventory_option = file_option(
    "--inventory",
    metavar="FILE",
    help="Your own ARKs, as CSV: columns ark, expected_url, title, collection, closed; only ark is needed.",
)
"""The option for the institution's own list of its ARKs."""


def choice_options(command: Command) -> Command:
    """Add the options for which part of a run to report."""
    from reports.tables.wording import ONLY

    return with_options(
        repeatable("--naan", "naans", help="Only ARKs under this NAAN. Repeatable."),
        repeatable(
            "--document",
            "documents",
            metavar="URL|PATTERN",
            help="Only documents whose address begins so, or fits a pattern with *. Repeatable.",
        ),
        repeatable(
            "--only",
            type=WordChoice(ONLY),
            metavar="TOKEN",
            help="Only ARKs with this outcome, family, state, event or cause. Repeatable.",
        ),
    )(command)


audit_option = click.option("--audit", metavar="NAME", help="The audit of this name in the configuration.")
"""The option for one of the configuration's named audits."""
store_option = store_file_option(default=Path("audit.db"), show_default=True)
"""The option for the store that a command reads."""


def config_of(config_file: Path | None, options: dict[str, Any], *, audit: str | None = None) -> Config:
    """The configuration that a file and the given *options* make, or that of a named *audit*; an option wins.

    What happens is written down as it says, from now on. Raises `arkaudit.config_files.ConfigError`.
    """
    from arkaudit import logs
    from arkaudit.config import Crawl, Network, Politeness, Resolve
    from arkaudit.config_files import load

    if options.get("log_level") is None:
        options = {**options, "log_level": asked_level()}
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if value is not None and value != ()
    }
    names = {
        name: f"{section.__name__.lower()}.{name}"
        for section in (Politeness, Resolve, Network, Crawl)
        for name in section.model_fields
    } | _RENAMED
    values = {names.get(name, name): value for name, value in given.items()}
    config = load(config_file, values, audit=audit)
    logs.start(config, errors)
    return config
