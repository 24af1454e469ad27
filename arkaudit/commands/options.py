"""Options that several commands share, and their conversion to a `Config`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arkaudit.configuration.nearest_words import suggest_nearest
from arkaudit.configuration.settings import TABLE, Setting, settings_in
from arkaudit.hooks import plugins
from arkaudit.output.exits import NEVER, errors
from extractors.model.errors import UserMistake
from reports.languages import WORDS

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
    """The option of a setting, whose value has the name of the setting, such as ``politeness.delay``."""

    def __init__(self, names: Sequence[str], *, setting: str, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.name = setting


def setting_options(*prefixes: str, **attributes: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of settings: *prefixes* are names of settings or of whole sections."""

    def decorate(command: Command) -> Command:
        for prefix in reversed(prefixes):
            for name, row in reversed(TABLE.items()):
                if row.option and f"{name}.".startswith(f"{prefix}."):
                    command = _setting_option(name, row, **attributes)(command)
        return command

    return decorate


def added_options(section: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of the settings that plug-ins add to a *section* of the core."""
    section_models = (models[section] for models in plugins().hook.settings() if section in models)
    named_settings = [
        row for section_model in section_models for row in settings_in(section_model, f"{section}.") if row[1].option
    ]
    return with_options(*(_setting_option(name, row) for name, row in named_settings))


def _setting_option(name: str, setting: Setting, **attributes: Any) -> Callable[[Command], Command]:
    return click.option(setting.option, cls=SettingOption, setting=name, **_attributes(setting) | attributes)


#: Attributes of the option of a setting by the first word of its type; text has none.
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "bool": {"is_flag": True, "default": None},
    "float": {"type": float},
    "int": {"type": int},
    "FilePath": {"type": FILE},
}


def _attributes(setting: Setting) -> dict[str, Any]:
    """Return the keyword arguments of `click.Option` for a setting."""
    attributes: dict[str, Any] = {"metavar": setting.metavar, **_KINDS.get(setting.type.partition(" ")[0], {})}
    if setting.choices:
        attributes["type"] = click.Choice([*map(str, setting.choices)])
    help_text, default = setting.help, setting.unset or setting.default
    if isinstance(default, list):
        attributes["multiple"] = True
        help_text += " Repeatable."
    elif default:
        default_words = "yes" if default is True else f"{default:g}" if isinstance(default, float) else default
        help_text += f"  [default: {default_words}]"
    return attributes | {"help": help_text}


#: The value of --format for all formats.
EVERY = "all"

#: Groups in the help of long commands, in their order, with sections and other options; all others come first.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Crawling": ("crawl",),
    "Requests": ("resolver", "politeness", "resolve"),
    "Network": ("network",),
    "Report": ("out", "formats", "report", "naans", "documents", "only", "since", "run_id", "known", "inventory"),
    "Messages and log": ("log", "verbose", "quiet", "color"),
}


class GroupedCommand(click.Command):
    """A command whose help groups options by subject and lists the tokens of --fail-on."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options to *formatter*, grouped by subject, and the tokens of ``--fail-on`` if the command has it."""
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
    section = str(option.name).partition(".")[0]
    return next((title for title, names in _GROUPS.items() if section in names), "Options")


class WordChoice(click.Choice[str]):
    """A choice among many words; the message about a mistyped word suggests the nearest instead of listing all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return *value* if it is a choice. Raises `click.BadParameter`."""
        words = tuple(map(str, self.choices))
        if value in words:
            return str(value)
        all_choices = f"; choose from {', '.join(words)}"
        suggestion = suggest_nearest(str(value), words) or all_choices
        raise click.BadParameter(f"there is no {value!r}{suggestion}", ctx, param)


def _level(_: click.Context, __: click.Parameter, times: int) -> str | None:
    return (None, "info", "debug")[min(times, 2)]


_VERBOSE = click.option(
    "-v", "--verbose", count=True, callback=_level, help="Log more: -v for --log-level info, -vv for debug."
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds *options* to a command, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


request_options = with_options(
    optional_config_option, setting_options("resolver", "politeness", "resolve", "network", "log"), _VERBOSE
)
"""Adds the options of every command that sends requests."""
asking_options = with_options(
    optional_config_option, setting_options("politeness", "resolve.max_hops", "network", "log"), _VERBOSE
)
"""Adds the options of `request_options`, except those that choose the resolver."""
jobs_option = setting_options("jobs", type=click.IntRange(TABLE["jobs"].ge, TABLE["jobs"].le))
"""The option for the number of processes that read documents."""
crawl_options = with_options(jobs_option, setting_options("crawl"))
"""Adds the options of commands that follow links."""


from_places_option = click.option(
    "--from",
    "from_file",
    metavar="FILE",
    help="Read the names of documents from a file, or from standard input (-), one per line; it may be compressed "
    "(.gz).",
)
"""The option for a file that names documents."""


def lines_of(from_file: str | None, *, errors: str = "replace") -> dict[int, str]:
    """Return the non-empty lines of a file, or of standard input (``-``), by line number; none if *from_file* is None.

    The file may be compressed by gzip. If it has NUL characters, these end the lines, as in the output of ``git diff
    -z``, and blanks are not stripped. *errors* is that of `bytes.decode`. Raises `UserMistake` if it can't be read.
    """
    import gzip
    import zlib

    from extractors.archives.compression import SIGNATURES, Compression

    if from_file is None:
        return {}
    try:
        data = sys.stdin.buffer.read() if from_file == "-" else Path(from_file).read_bytes()
        is_compressed = data.startswith(SIGNATURES[Compression.GZIP])
        text = (gzip.decompress(data) if is_compressed else data).decode("utf-8-sig", errors)
    except (OSError, EOFError, zlib.error) as problem:
        raise UserMistake(f"{from_file} can't be read: {getattr(problem, 'strerror', None) or problem}") from None
    lines = text.split("\0") if "\0" in text else map(str.strip, text.splitlines())
    return {number: line for number, line in enumerate(lines, start=1) if line}


def listed_places(from_file: str | None) -> list[str]:
    """Return the names of documents in a file, or on standard input (``-``), one per line; none if *from_file* is None.

    Undecodable bytes become surrogates, as in `os.fsdecode`. Raises `UserMistake` for an unreadable or empty file.
    """
    places = list(lines_of(from_file, errors="surrogateescape").values())
    if from_file not in (None, "-") and not places:
        raise UserMistake(f"{from_file} is empty")
    return places


resume_option = click.option(
    "--resume/--no-resume",
    default=None,
    help="Resume the last run, or begin a new one.  [default: resume if the same command did not finish]",
)
"""The option to resume an unfinished run."""
dry_run_option = flag("--dry-run", help="Print the number and duration of requests to each host without sending any.")
"""The option to print a forecast instead of sending requests."""
table_option = click.option(
    "--format", "output_format", type=click.Choice(["table", "json"]), default="table", show_default=True
)
"""The option to print a table or JSON."""


verdict_format_option = click.option(
    "--format", "output_format", type=click.Choice(["jsonl", "table"]), default="jsonl", show_default=True
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


def format_option(command: Command) -> Command:
    """Add the option for the formats of a report."""
    from reports.tables.wording import DEFAULT_FORMATS, FORMAT_MODULES, FORMATS

    def choose(_: click.Context, __: click.Parameter, given_names: tuple[str, ...]) -> tuple[str, ...]:
        if EVERY not in given_names:
            return given_names or DEFAULT_FORMATS
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


lang_option = setting_options("report.lang", type=WordChoice(WORDS))
"""The option for the language of a report."""


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
    """Return the configuration in a file, or of its named *audit*, with values of *options* by name of setting.

    Options with the value None or ``()`` are not given. Starts the log, too. Raises
    `arkaudit.configuration.config_files.ConfigError`.
    """
    from arkaudit.configuration.config_files import load
    from arkaudit.output import logs

    given_settings = {name: value for name, value in options.items() if value not in (None, ())}
    if level := given_settings.pop("verbose", None):
        given_settings.setdefault("log.level", level)
    config = load(config_file, given_settings, audit=audit)
    logs.start_log(config, errors)
    return config
