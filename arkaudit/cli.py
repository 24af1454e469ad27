"""The command-line interface: groups, start and exit codes. Each command is imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pkgutil import resolve_name

import click

from arkaudit import __version__
from arkaudit.hooks import add_formats, merge, plugins
from arkaudit.output.exits import (
    EXIT_FINDING,
    INTERRUPTED,
    end,
    end_for,
    flush_results,
    handle_signals,
    open_streams,
    quiet,
    survived,
)
from extractors.model.errors import EXIT_INTERRUPTED, EXIT_MISTAKE, EXIT_UNFINISHED, UserMistake


def with_output_options(command: click.Command) -> click.Command:
    """Add ``--quiet`` and ``--color`` to a command, or to each command of a group."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            with_output_options(subcommand)
    elif not any(option.name == "color" for option in command.params):
        command.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_be_quiet,
                help="Print only results, warnings and errors.",
            ),
            click.Option(
                ["--color"],
                type=click.Choice(list(_VARIABLES)),
                default="auto",
                show_default=True,
                expose_value=False,
                is_eager=True,
                callback=_choose_color,
                help="Colours; auto: on a terminal, unless NO_COLOR is set.",
            ),
        ]
    return command


#: Environment variables for rich and click. TTY_INTERACTIVE=0 keeps progress bars out of a coloured log.
_VARIABLES: dict[str, dict[str, str]] = {
    "auto": {},
    "always": {"FORCE_COLOR": "1", "TTY_INTERACTIVE": "0"},
    "never": {"NO_COLOR": "1"},
}


def _be_quiet(_: click.Context, __: click.Parameter, is_on: bool) -> None:
    quiet.is_on = is_on


def _choose_color(_: click.Context, __: click.Parameter, color: str) -> None:
    if color != "auto":
        for variable in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(variable, None)
    os.environ.update(_VARIABLES[color])


#: Commands of the core: the module in `arkaudit.commands`, and the line in the list of commands.
_COMMANDS = {
    "check": ("check_command", "Check the three services of ARKs: object, metadata, commitment."),
    "crawl": ("audit_command", "Crawl documents and record the ARKs that they cite."),
    "extract": ("extract_command", "Find and repair the ARKs that documents cite."),
    "known": ("known_command", "Add to the list of known problems, or check it."),
    "notify": ("schedule_command", "Notify people of the changes that a run found."),
    "recheck": ("recheck_command", "Check ARKs of a store again: those that are due, or a selection."),
    "report": ("report_command", "Write tables and a page from a store."),
    "run": ("audit_command", "Run a whole audit: crawl, resolve, report."),
    "schedule": ("schedule_command", "Run the audits of a configuration when they are due."),
}


class LazyGroup(click.Group):
    """The commands of the core and of plug-ins. A command is imported when it is called, not to list it."""

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, str]]:
        """``module:function`` and the line of help by the name of a command. Raises `UserMistake` for a bad plug-in."""
        core_entries = {
            name: (f"arkaudit.commands.{module}:{name}", line) for name, (module, line) in _COMMANDS.items()
        }
        return merge([core_entries, *plugins().hook.commands()], "the command")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in alphabetical order."""
        return sorted(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command named *cmd_name*, or return None."""
        if cmd_name not in self.entries:
            return None
        command: click.Command = resolve_name(self.entries[cmd_name][0])
        return with_output_options(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands to *formatter* without importing the commands."""
        named_commands = {name: click.Command(name, short_help=line) for name, (_, line) in self.entries.items()}
        click.Group(commands=named_commands).format_commands(ctx, formatter)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="arkaudit")
def cli() -> None:
    """Find ARKs in documents, resolve them, and report which of them persist.

    \b
    arkaudit extract report.pdf                   find the ARKs that a document cites
    arkaudit check ark:12148/btv1b8449691v        check the three services of one ARK
    arkaudit run https://www.example.org/ --out report
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with *arguments* (None: those of the process), and exit.

    Exit codes: 0 done; 1 done, with a finding at or above ``--fail-on``; 2 the user's mistake; 3 unfinished, or all
    seeds are unreadable; 130 interrupted.
    """
    open_streams()
    handle_signals()
    try:
        try:
            add_formats()
            cli.main(arguments, prog_name="arkaudit", standalone_mode=False)
        finally:
            flush_results()
    except click.exceptions.NoArgsIsHelpError as help_request:
        click.echo(help_request.ctx.get_help() if help_request.ctx else "", err=True)
        sys.exit(EXIT_MISTAKE)
    except click.ClickException as mistake:
        end(EXIT_MISTAKE, mistake.format_message().replace("\n", " "))
    except UserMistake as mistake:
        end(EXIT_MISTAKE, str(mistake))
    except (KeyboardInterrupt, click.Abort):
        end(EXIT_INTERRUPTED, INTERRUPTED)
    except SystemExit as exit_request:
        if survived and exit_request.code in (None, 0, EXIT_FINDING):
            sys.exit(EXIT_UNFINISHED)
        raise
    except Exception as failure:
        end_for(failure)
    if survived:
        sys.exit(EXIT_UNFINISHED)
