"""The options of every command about what it shows."""

from __future__ import annotations

import os

import click

from arkaudit.exits import quiet


def with_output_options(command: click.Command) -> click.Command:
    """Return the command with these options; those below a group have them, not the group."""
    from arkaudit.options import WordChoice

    if isinstance(command, click.Group):
        for each in command.commands.values():
            with_output_options(each)
    elif not any(option.name == "color" for option in command.params):
        command.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_be_quiet,
                help="Say nothing but results, warnings and errors.",
            ),
            click.Option(
                ["--color"],
                type=WordChoice(list(_VARIABLES)),
                default="auto",
                show_default=True,
                expose_value=False,
                is_eager=True,
                callback=_choose_color,
                help="Colours; auto: on a terminal, unless NO_COLOR is set.",
            ),
        ]
    return command


#: What the libraries that write for us go by. Colours alone make nothing a terminal: a log gets no moving bar.
_VARIABLES: dict[str, dict[str, str]] = {
    "auto": {},
    "always": {"FORCE_COLOR": "1", "TTY_INTERACTIVE": "0"},
    "never": {"NO_COLOR": "1"},
}


def _be_quiet(_: click.Context, __: click.Parameter, is_on: bool) -> None:
    quiet.is_on = is_on


def _choose_color(_: click.Context, __: click.Parameter, when: str) -> None:
    if when != "auto":
        for variable in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(variable, None)
    os.environ.update(_VARIABLES[when])
