"""Help of the commands: an example in each, options in groups, one option for one thing."""

import re
import shlex
from collections.abc import Iterator
from itertools import dropwhile, groupby
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from arkaudit.cli import cli

ROOT = Path(__file__).parents[3]

PAGES = {path.name: path.read_text("utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
DOCUMENTATION = "".join(PAGES.values())


@pytest.mark.parametrize("verb", cli.list_commands(click.Context(cli)))
def test_every_command_has_help_with_an_example_and_is_documented(verb: str) -> None:
    done = CliRunner().invoke(cli, [verb, "--help"], prog_name="arkaudit")
    assert done.exit_code == 0
    has_example = f"arkaudit {verb}" in done.output.replace(f"Usage: arkaudit {verb}", "", 1)
    assert has_example, "give an example in the docstring of the command"
    assert f"arkaudit {verb}" in DOCUMENTATION, "show it in docs/usage.md"


def test_the_help_of_a_run_has_its_options_in_groups_and_the_tokens_by_themselves() -> None:
    text = CliRunner().invoke(cli, ["run", "--help"], terminal_width=100).output
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Options:", "Crawling:", "Requests:", "Network:", "Report:", "Messages and log:",
        "Tokens of --fail-on, the most severe of each kind first:",
    ]  # fmt: skip
    [option] = [block for block in text.split("\n  --") if block.startswith("fail-on")]
    assert "soft-404" not in option
    assert "soft-404" in text[text.index(headings[-1]) :]


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


EVERY = dict(commands(cli))


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_these_options_once(name: str) -> None:
    given = [option for parameter in EVERY[name].params for option in parameter.opts]
    for option in ("-q", "--quiet", "--color"):
        assert given.count(option) == 1, option


def documented_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the page and the arguments of each `arkaudit` in the console blocks; test_plugins.py runs those of plug-ins."""
    for page in sorted(PAGES.keys() - {"plugins.md"}):
        for block in re.findall(r"^```console\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
                lexer.whitespace_split = True
                for _, group in groupby(lexer, lambda word: word[:1] in tuple("|&;<>()")):
                    # In `docker compose exec arkaudit arkaudit schedule list` the last one is the command.
                    arguments = [*dropwhile(lambda word: word != "arkaudit", group)]
                    if arguments:
                        yield page, [word for word in arguments if word != "arkaudit"]


@pytest.mark.parametrize(("page", "arguments"), [*documented_commands()])
def test_documented_command_has_these_options_and_choices(page: str, arguments: list[str]) -> None:
    command: click.Command = cli
    while isinstance(command, click.Group) and not arguments[0].startswith("-"):
        found = command.get_command(click.Context(command), arguments.pop(0))
        assert found is not None
        command = found
    context = click.Context(command)
    values, _, _ = command.make_parser(context).parse_args(arguments)
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice) and parameter.name in values:
            parameter.type_cast_value(context, values[parameter.name])
