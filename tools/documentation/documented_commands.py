"""The command-line interface with all commands imported, for its documentation.

`python -m tools.documentation.documented_commands DIR` writes manual pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from textwrap import indent

import click
from click_man.core import write_man_pages

from arkaudit import __version__
from arkaudit.cli import cli as lazy

_CONTEXT = click.Context(lazy, info_name="arkaudit")

#: `arkaudit` as an ordinary group.
cli = click.Group(
    "arkaudit",
    help=lazy.help,
    params=list(lazy.params),
    short_help="find ARKs in documents, resolve them, and report which of them persist",
    context_settings=lazy.context_settings,
    commands={name: command for name in lazy.list_commands(_CONTEXT) if (command := lazy.get_command(_CONTEXT, name))},
)


def one_a_line(text: str) -> str:
    r"""Return the help of a command with each example as a paragraph, because manual pages join lines.

    >>> one_a_line("Do it.\n\n\b\narkaudit a\narkaudit b")
    'Do it.\n\narkaudit a\n\narkaudit b'
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join("\n\n".join(each.split("\n")[1:]) if each.startswith("\b\n") else each for each in paragraphs)


def as_code(text: str) -> str:
    r"""Return the help of a command with its examples as a Markdown code block.

    >>> as_code("Do it.\n\n\b\narkaudit a\narkaudit b")
    'Do it.\n\n    arkaudit a\n    arkaudit b'
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(indent(each[2:], "    ") if each.startswith("\b\n") else each for each in paragraphs)


def reshape(shaped: Callable[[str], str]) -> None:
    """Convert the help of every command by *shaped*."""
    waiting: list[click.Command] = [cli]
    while waiting:
        command = waiting.pop()
        command.help = shaped(cleandoc(command.help or ""))
        waiting.extend(getattr(command, "commands", {}).values())


def main() -> None:
    """Write a manual page for each command into the given folder."""
    [folder] = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    reshape(one_a_line)
    write_man_pages("arkaudit", cli, version=__version__, target_dir=folder)


if __name__ == "__main__":
    main()
