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


def read_toml(path: Path, *, file_kind: str) -> dict[str, Any]:
    """Return the values of the TOML file at *path*. Raises `ConfigError`, whose message calls the file *file_kind*."""
    try:
        values = tomllib.loads(read_whole(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n"))
        if is_deep(values):
            raise ConfigError(f"{path} can't be read: its values are nested too deeply")
        return values
    except FileNotFoundError:
        raise ConfigError(f"there is no {file_kind} at {path}") from None
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
    items: list[object] = [values]
    for _ in range(MOST_LEVELS):
        items = [
            item
            for value in items
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(items)


class _Model(Section, BaseModel):
    """The base class of the models of sections; unknown settings are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        self.refuse()
        return self


@cache
def models() -> Mapping[str, Any]:
    """Return the pydantic models by the name of the class that declares a section; sections of plug-ins are in `Config`."""
    types = dict(vars(setting_values))
    plugin_sections = plugins().hook.settings()
    for name, section in vars(settings).items():
        if isinstance(section, type) and issubclass(section, Section) and section is not Section:
            additions = [
                section_types[key]
                for section_types in plugin_sections
                for key in section_types
                if Settings.__annotations__.get(key) == name
            ]
            types[name] = _model(section, types, *additions)
    core_fields = types["Settings"].model_fields
    sections = merge(
        [
            {key: section_types[key] for key in section_types if key not in core_fields}
            for section_types in plugin_sections
        ],
        "the section",
    )
    return types | {"Config": _model(Config, types, **{name: _model(kind, types) for name, kind in sections.items()})}


def _model(section: type[Section], types: dict[str, Any], *additions: type[Section], **plugin_models: Any) -> Any:
    """Return the pydantic model of a *section*, with the settings of *additions* and the sections *plugin_models*.

    *types* resolves the names in annotations. A nested section with a required setting may be absent (None).
    """
    bases = (*additions, section)
    field_types = merge((get_type_hints(base, localns=types, include_extras=True) for base in bases), "the setting")
    fields: dict[str, Any] = {}
    for name, field_type in (field_types | plugin_models).items():
        default = next((getattr(base, name) for base in bases if hasattr(base, name)), ...)
        if isinstance(default, Setting):
            is_choice = default.choices and not isinstance(default.default, Enum)
            limited_field = Field(default.default, alias=default.key, ge=default.ge, gt=default.gt, le=default.le)
            fields[name] = (Literal[default.choices] | None if is_choice else field_type, limited_field)
        elif default is ... and isinstance(field_type, type) and issubclass(field_type, BaseModel):
            needs_value = any(field.is_required() for field in field_type.model_fields.values())
            fields[name] = (field_type | None, None) if needs_value else (field_type, field_type())
        else:
            fields[name] = (field_type, default)
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
    values = read_toml(path, file_kind="configuration")
    audit_tables = values.pop("audits", {})
    configs: dict[str | None, Config] = {None: _validate(values, overrides or {}, path)}
    if not isinstance(audit_tables, dict) or not all(isinstance(table, dict) for table in audit_tables.values()):
        raise ConfigError(f"{_file_prefix(path)}audits: must be tables, one for each named audit ([audits.NAME])")
    owners: dict[Path | None, str] = {}
    for name, own_values in audit_tables.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{_file_prefix(path)}audits: {name!r} is not a valid name: use letters, digits, - and _")
        audit_values = {"store": path.parent / f"{name}.db", **_merge(values, own_values), "name": name}
        configs[name] = _validate(audit_values, overrides or {}, path, within=("audits", name))
        # Each audit would take the documents of the other for removed.
        if (owner := owners.setdefault(configs[name].store, name)) != name:
            raise ConfigError(f"{_file_prefix(path)}audits.{name}: has the same store as {owner}; give each its own")
    return configs


def _merge(general_values: dict[str, Any], own_values: dict[str, Any]) -> dict[str, Any]:
    """Return *general_values* overridden by *own_values*; tables in both are merged."""
    merged_values = general_values | own_values
    for key in general_values.keys() & own_values.keys():
        if isinstance(general_values[key], dict) and isinstance(own_values[key], dict):
            merged_values[key] = _merge(general_values[key], own_values[key])
    return merged_values


def _validate(
    values: dict[str, Any], overrides: dict[str, Any], path: Path | None, *, within: tuple[str, ...] = ()
) -> Config:
    values = deepcopy(values)
    for name, value in overrides.items():
        *sections, key = name.split(".")
        table = values
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{_file_prefix(path)}{section}: must be a table")
        table[key] = value
    model: type[Config] = models()["Config"]
    try:
        config = model.model_validate(values, context={FOLDER: path.parent} if path else None)
    except ValidationError as problem:
        location, message = first_fault(problem, model)
        file_prefix = _file_prefix(path) if ".".join(location) not in overrides else ""
        setting = ".".join((*within, *location))
        raise ConfigError(f"{file_prefix}{setting}{': ' if setting else ''}{message}") from None
    if ca_file := config.network.ca_file:
        try:
            pem = read_whole(ca_file, MOST_BYTES).decode("ascii", "ignore")
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
        # Errors of ssl are OSErrors.
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise ConfigError(f"there is no file of certificates at {ca_file}: {reason}") from None
    return config


def first_fault(error: ValidationError, section: type[BaseModel]) -> tuple[list[str], str]:
    """Return the location of the first error in values of a *section*, and its message with the number of other errors.

    The location is a list of keys. A mistyped name comes first, since a required setting may only seem to be missing.
    """
    first_error, *other_errors = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    location = [str(part) for part in first_error["loc"] if part != "[key]"]
    message = first_error["msg"].removeprefix("Value error, ")
    if first_error["type"] == "extra_forbidden":
        suggestion = suggest_nearest(location[-1], _settings_of(section, location[:-1]))
        message = f"there is no such setting{suggestion}"
    elif first_error["type"] == "model_type":
        message = "must be a table"
    return location, message + (f" (and {len(other_errors)} more)" if other_errors else "")


def _settings_of(section: type[BaseModel], location: Sequence[str]) -> list[str]:
    """Return the names of the settings in the table at *location*, a path of keys within a section."""
    for name in location:
        inner_type = section.model_fields[name].annotation if name in section.model_fields else None
        while inner_type is not None and not (isinstance(inner_type, type) and issubclass(inner_type, BaseModel)):
            inner_type = next(reversed(get_args(inner_type)), None)
        section = inner_type or section
    return [field.alias or name for name, field in section.model_fields.items()]


def _file_prefix(path: Path | None) -> str:
    """Return the beginning of a message about the file at *path*, or "" for None."""
    return f"{path}: " if path else ""
