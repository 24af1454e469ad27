"""Read ``arkaudit.toml`` and merge command-line options into it, as one `Config` for each named audit."""

from __future__ import annotations

import re
import ssl
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_type_hints
from warnings import catch_warnings

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from arkaudit.configuration import setting_values, settings
from arkaudit.configuration.config import Config
from arkaudit.configuration.nearest_words import suggest_nearest
from arkaudit.configuration.setting_values import FOLDER
from arkaudit.configuration.settings import Section, Setting, Settings
from arkaudit.hooks import merge, plugins
from extractors.model.errors import UserMistake
from extractors.model.files import read_whole

#: Size limit of a file, which is read into memory.
MOST_BYTES = 16 * 2**20
#: Limit on nested tables. A copy or comparison of very deep ones would overflow the stack.
MOST_LEVELS = 50


class ConfigError(UserMistake):
    """Raised for an invalid configuration. The message is one line with the place and the fault."""


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Return the values of the TOML file at *path*; *what* is the kind of file, for messages. Raises `ConfigError`."""
    try:
        values = tomllib.loads(read_whole(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n"))
        if is_deep(values):
            raise ConfigError(f"{path} can't be read: its values are nested too deeply")
        return values
    except FileNotFoundError:
        raise ConfigError(f"there is no {what} at {path}") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None
    except OSError as problem:
        raise ConfigError(f"{path} can't be read: {problem.strerror}") from None
    except RecursionError:
        raise ConfigError(f"{path} can't be read: its values are nested too deeply") from None
    # For example text that is not UTF-8, or a number with more digits than Python converts.
    except ValueError as problem:
        raise ConfigError(f"{path} can't be read: {problem}") from None


def is_deep(values: object) -> bool:
    """Return True if tables and lists are nested deeper than `MOST_LEVELS`.

    >>> is_deep({"a": [{"b": 1}]})
    False
    """
    level: list[object] = [values]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


class _Model(Section, BaseModel):
    """What the models of all sections share: unknown settings are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.refuse()
        return self


@cache
def models() -> Mapping[str, Any]:
    """Return the pydantic model of each section by the name of its declaration, those of plug-ins in `Config`."""
    names = dict(vars(setting_values))
    plugged = plugins().hook.settings()
    for name, section in vars(settings).items():
        if isinstance(section, type) and issubclass(section, Section) and section is not Section:
            parts = [kinds[key] for kinds in plugged for key in kinds if Settings.__annotations__.get(key) == name]
            names[name] = _model(section, names, *parts)
    core = names["Settings"].model_fields
    sections = merge([{key: kinds[key] for key in kinds if key not in core} for kinds in plugged], "the section")
    return names | {"Config": _model(Config, names, **{name: _model(kind, names) for name, kind in sections.items()})}


def _model(section: type[Section], names: dict[str, Any], *parts: type[Section], **plugged: Any) -> Any:
    """Return the model of a *section* with the settings that *parts* add to it; their types are given by *names*.

    A section that needs a value may be absent.
    """
    bases = (*parts, section)
    hints = merge((get_type_hints(base, localns=names, include_extras=True) for base in bases), "the setting")
    fields: dict[str, Any] = {}
    for name, kind in (hints | plugged).items():
        row = next((getattr(base, name) for base in bases if hasattr(base, name)), ...)
        if isinstance(row, Setting):
            is_word = row.choices and not isinstance(row.default, Enum)
            limited = Field(row.default, alias=row.key, ge=row.ge, gt=row.gt, le=row.le)
            fields[name] = (Literal[row.choices] | None if is_word else kind, limited)
        elif row is ... and isinstance(kind, type) and issubclass(kind, BaseModel):
            needs_value = any(field.is_required() for field in kind.model_fields.values())
            fields[name] = (kind | None, None) if needs_value else (kind, kind())
        else:
            fields[name] = (kind, row)
    # It warns that the fields hide the attributes of the declaration.
    with catch_warnings(action="ignore"):
        return create_model(section.__name__, __base__=(*bases, _Model), **fields)


#: Names of audits, which are also names of files.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def load(path: Path | None, overrides: dict[str, Any], *, audit: str | None = None) -> Config:
    """Return the configuration in the file at *path* (or that of its named *audit*) with *overrides* by dotted name.

    All named audits of the file are validated. Paths in it are relative to its folder. Raises `ConfigError`.

    >>> load(None, {"politeness.delay": 0}).politeness.delay
    0.0
    >>> load(None, {"politeness.delay": -1})
    Traceback (most recent call last):
    ...
    arkaudit.configuration.config_files.ConfigError: politeness.delay: Input should be greater than or equal to 0
    """
    audits = load_audits(path, overrides) if path else {}
    if audit is None:
        return audits[None] if path else _validate({}, overrides, None)
    if audit not in audits:
        names = ", ".join(name for name in audits if name) or "none"
        raise ConfigError(f"{path or 'without a configuration'}: no audit is named {audit!r}; there are: {names}")
    return audits[audit]


def load_audits(path: Path, overrides: dict[str, Any] | None = None) -> dict[str | None, Config]:
    """Return the named audits of a file in order, and its general configuration under None. Raises `ConfigError`.

    The values of a named audit override the general ones.
    """
    values = read_toml(path, what="configuration")
    named = values.pop("audits", {})
    configs: dict[str | None, Config] = {None: _validate(values, overrides or {}, path)}
    if not isinstance(named, dict) or not all(isinstance(table, dict) for table in named.values()):
        raise ConfigError(f"{_at(path)}audits: must be tables, one for each named audit ([audits.NAME])")
    owners: dict[Path | None, str] = {}
    for name, own in named.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{_at(path)}audits: {name!r} is not a valid name: use letters, digits, - and _")
        inner = {"store": path.parent / f"{name}.db", **_merge(values, own), "name": name}
        configs[name] = _validate(inner, overrides or {}, path, within=("audits", name))
        # Each audit would take the documents of the other for removed.
        if (owner := owners.setdefault(configs[name].store, name)) != name:
            raise ConfigError(f"{_at(path)}audits.{name}: has the same store as {owner}; give each its own")
    return configs


def _merge(general: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Merge *own* values into *general* ones, table by table."""
    both = general | own
    for key in general.keys() & own.keys():
        if isinstance(general[key], dict) and isinstance(own[key], dict):
            both[key] = _merge(general[key], own[key])
    return both


def _validate(
    values: dict[str, Any], overrides: dict[str, Any], path: Path | None, *, within: tuple[str, ...] = ()
) -> Config:
    values = deepcopy(values)
    for name, value in overrides.items():
        *sections, key = name.split(".")
        inner = values
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{_at(path)}{section}: must be a table")
        inner[key] = value
    model: type[Config] = models()["Config"]
    try:
        config = model.model_validate(values, context={FOLDER: path.parent} if path else None)
    except ValidationError as problem:
        location, words = first_fault(problem, model)
        at = _at(path) if ".".join(location) not in overrides else ""
        setting = ".".join((*within, *location))
        raise ConfigError(f"{at}{setting}{': ' if setting else ''}{words}") from None
    if ca_file := config.network.ca_file:
        try:
            pem = read_whole(ca_file, MOST_BYTES).decode("ascii", "ignore")
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
        # Errors of ssl are OSErrors.
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise ConfigError(f"there is no file of certificates at {ca_file}: {why}") from None
    return config


def first_fault(problem: ValidationError, section: type[BaseModel]) -> tuple[list[str], str]:
    """Return the location of the first fault of a *section*, and a message about it and the number of others.

    A mistyped name comes before others, since a required setting may only seem to be missing.
    """
    first, *others = sorted(problem.errors(), key=lambda error: error["type"] != "extra_forbidden")
    location = [str(part) for part in first["loc"] if part != "[key]"]
    words = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        near = suggest_nearest(location[-1], _settings_of(section, location[:-1]))
        words = f"there is no such setting{near}"
    elif first["type"] == "model_type":
        words = "must be a table"
    return location, words + (f" (and {len(others)} more)" if others else "")


def _settings_of(section: type[BaseModel], location: Sequence[str]) -> list[str]:
    """Return the names of the settings at *location* in a section."""
    for name in location:
        inner = section.model_fields[name].annotation if name in section.model_fields else None
        while inner is not None and not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            inner = next(reversed(get_args(inner)), None)
        section = inner or section
    return [field.alias or name for name, field in section.model_fields.items()]


def _at(path: Path | None) -> str:
    """Return the beginning of a message about a file."""
    return f"{path}: " if path else ""
