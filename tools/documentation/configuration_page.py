"""Write the comments of the example in ``docs/configuration.md`` from the table of settings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from arkaudit.configuration.config_files import models
from arkaudit.configuration.settings import Section, Setting

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
#: The column of comments, and the longest line.
_COLUMN, _MOST_CHARS = 25, 120
_HEADING = re.compile(r"\[(?P<name>[^]]+)\]")
_SETTING = re.compile(r"(?P<key>\w+) = (?P<value>(?:\"[^\"]*\"|[^#\"])*)")


def page() -> str:
    """Return the page, with the comment of each setting in the example."""
    before, example, after = re.split(r"(?<=```toml\n)|(?=```\n\nA declared)", PAGE.read_text("utf-8"))
    return before + "".join(_lines(example)) + after


def _lines(example: str) -> list[str]:
    section: Any = models()["Config"]
    lines: list[str] = []
    for line in example.splitlines():
        if heading := _HEADING.match(line):
            section = _section(re.findall(r'"[^"]*"|[^.]+', heading["name"]))
        elif row := _SETTING.match(line):
            lines += _commented(row[0].strip(), _words(section, row["key"]))
            continue
        # The rest of a comment is written anew.
        if not line.startswith(" "):
            lines.append(f"{line}\n")
    return lines


def _section(names: list[str]) -> type[BaseModel]:
    """Return the model of a table in the file; a name that the user chooses is left out."""
    section: Any = models()["Config"]
    for name in names:
        field = section.model_fields.get(name)
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        section = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), section)
    return section


def _words(section: type[BaseModel], key: str) -> str:
    """Return the comment on a setting: its help, its choices, and what no value means."""
    name = next((name for name, field in section.model_fields.items() if key in (name, field.alias)), key)
    row = getattr(section, name, None)
    declared = row if isinstance(row, Setting) else Setting(row, _docstrings(section).get(name, ""))
    words = declared.help.rstrip(".")
    if not re.match(r"[A-Z]{2,}\b", words):
        words = words[:1].lower() + words[1:]
    listed = (declared.metavar, "…") if isinstance(row, Setting) and row.default == [] else declared.choices
    if listed:
        words += f" ({', '.join(map(str, listed))})"
    default = declared.unset or (declared.default if declared.choices else "")
    return words + (f"; default: {default}" if default else "")


def _docstrings(section: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of the attributes of the declaration of a section, in one line."""
    texts: dict[str, str] = {}
    for declaration in section.__mro__:
        if declaration.__module__.startswith("arkaudit.") and declaration not in (section, Section):
            body = ast.parse(textwrap.dedent(inspect.getsource(declaration))).body[0].body
            for attribute, text in pairwise(body):
                if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr):
                    texts[attribute.target.id] = " ".join(text.value.value.split())
    return texts


def _commented(line: str, words: str) -> list[str]:
    """Return the line of a setting with its comment, in as many lines as it needs."""
    if not words:
        return [f"{line}\n"]
    column = max(_COLUMN, len(line) + 2)
    first, *others = textwrap.wrap(words, _MOST_CHARS - column - 2, break_long_words=False)
    return [f"{line:<{column}}# {first}\n", *(f"{'':<{column}}# {rest}\n" for rest in others)]
