"""Hooks: what a feature or an installed package can add to the program, by pluggy. docs/plugins.md shows a plug-in.

A plug-in is a module with functions that are named like hooks and marked by `hookimpl`. Features are plug-ins by their
place in `arkaudit.features`; an installed package names its module under the entry point group ``arkaudit``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, TypeVar

import pluggy

from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config, Section
    from crawler.model.observations import DocumentRecord
    from extractors.model.ark import Ark
    from extractors.model.documents import Finding
    from extractors.model.formats import DocumentFormat
    from reports.formats.digest import Digest
    from reports.languages import Language

Value = TypeVar("Value")

#: The name of the project for pluggy, and the group of entry points.
PROJECT = "arkaudit"
FEATURES = "arkaudit.features"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def commands() -> Mapping[str, tuple[str, str]]:
    """Return commands by name: the click command as ``module:function``, and its line in ``arkaudit --help``.

    The module is imported when its command is called::

        @hookimpl
        def commands():
            return {"count": ("arkaudit_count.command:count", "Count the ARKs of a store by year.")}
    """


@hookspec
def settings() -> Mapping[str, type[Section]]:
    """Return sections of the configuration by name. A section with the name of one of the core adds settings to it.

    The `channels` of a section get the news after a run. `Config.section` returns the values of a section::

    from arkaudit.configuration.settings import Section, setting

    class Count(Section):
        years: int = setting(5, "Number of years.", ge=1)

    @hookimpl
    def settings():
        return {"count": Count}
    """


@hookspec
def scrapy_settings(config: Config) -> Mapping[str, object]:
    """Return Scrapy settings for each run with *config*, which override the settings of arkaudit::

    @hookimpl
    def scrapy_settings(config):
        return {"ARKAUDIT_SIGNER": Signer(config.section(Identity))}
    """


@dataclass(frozen=True, slots=True)
class Channel:
    """A destination of the news after a run; the `channels` of a section yield those that are configured."""

    words: str
    """The action in messages, such as ``post to https://chat.example``, without secrets."""
    target: str
    """The destination as configured, which may hold a secret; the key under which the store keeps the last news."""
    deliver: Callable[[Digest, Language], None]
    """Delivers a digest, or raises `ArkauditError`. The next run sends what could not be delivered."""
    is_updated: bool = False
    """True if the channel gets the digest of each run, and not only changes."""


class ArkSource(Protocol):
    """Documents that were read before, with the ARKs that they cite."""

    @property
    def place(self) -> str:
        """The value of ``check --from``, as the user wrote it."""

    @property
    def digest(self) -> str:
        """A text that identifies the content. A check resumes an unfinished check of the same content."""

    @property
    def has_arks(self) -> bool:
        """True if any document cites an ARK."""

    @property
    def notes(self) -> Sequence[tuple[str, Finding]]:
        """Subjects (names of documents) with findings about them, complete after `records` has ended."""

    def targets(self, resolver: str) -> Sequence[tuple[Ark, str]]:
        """Return distinct ARKs with their request URLs, sorted; ARKs cited without a resolver get *resolver*."""

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Yield the documents with their citations."""


@hookspec(firstresult=True)
def ark_sources(place: str) -> ArkSource | None:
    """Return the documents at *place*, the value of ``check --from``; None if it is not of this plug-in's kind::

    @hookimpl
    def ark_sources(place):
        return Shelf(place) if place.startswith("shelf:") else None
    """


@hookspec
def document_formats() -> Mapping[str, DocumentFormat]:
    """Return document formats by name, which are recognized by media type and file name::

    @hookimpl
    def document_formats():
        return {"wiki": DocumentFormat("Wikitext", "arkaudit_wiki.reader:read_wiki", ".wiki")}
    """


@hookspec
def report_formats() -> Mapping[str, tuple[str, str]]:
    """Return report formats by name: the meaning for ``--help``, and the ``module:name`` of a `reports.exports.ReportFormat`::

    @hookimpl
    def report_formats():
        return {"rss": ("a feed of the failing ARKs", "arkaudit_rss.feed:RSS")}
    """


@hookspec
def after_run(config: Config, config_file: Path) -> None:
    """Act after a scheduled run of the audit *config*, which *config_file* configures. Exceptions change no exit code::

    @hookimpl
    def after_run(config, config_file):
        subprocess.run(["rsync", "-a", f"{config.out}/", "web.example:/srv/audits"])
    """


@cache
def plugins() -> pluggy.PluginManager:
    """Return the plug-ins: the features and the installed packages. Raises `UserMistake` for one that can't be loaded."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    for feature in iter_modules(import_module(FEATURES).__path__, f"{FEATURES}."):
        manager.register(import_module(feature.name), feature.name)
    if _may_be_installed():
        _register_installed(manager)
    return manager


def _may_be_installed() -> bool:
    """Return True if a package in `sys.path` may have a plug-in; `importlib.metadata` would double the time of a start."""
    entry_point_files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    return any(f"[{PROJECT}]" in file.read_text("utf-8", "replace") for file in entry_point_files)


def _register_installed(manager: pluggy.PluginManager) -> None:
    """Register the plug-ins of installed packages. Raises `UserMistake` for one that can't be loaded."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=PROJECT):
        try:
            manager.register(entry.load(), entry.name)
            manager.check_pending()
        # Whatever a foreign module raises.
        except Exception as problem:
            package = entry.dist.name if entry.dist is not None else entry.value
            raise UserMistake(
                f"the plug-in {entry.name} of the package {package} can't be loaded "
                f"({type(problem).__name__}: {problem}): update it, or uninstall it (pip uninstall {package})"
            ) from problem


def add_formats() -> None:
    """Add the document and report formats of plug-ins. Raises `UserMistake` if two formats have the same name."""
    documents = merge(plugins().hook.document_formats(), "the document format")
    reports = merge(plugins().hook.report_formats(), "the report format")
    # Imported only with such plug-ins: most starts need neither.
    try:
        if documents:
            from extractors.model.formats import add_formats

            add_formats(documents)
        if reports:
            from reports.tables.wording import add_report_formats

            add_report_formats(reports)
    except ValueError as clash:
        raise UserMistake(f"{clash}: uninstall the plug-in that has it") from None


def merge(mappings: Iterable[Mapping[str, Value]], kind: str) -> dict[str, Value]:
    """Return the union of *mappings* from arkaudit and plug-ins.

    Raises `UserMistake` if two have the same key; *kind* names the keys in the message, such as ``the command``.
    """
    union: dict[str, Value] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            if name in union:
                raise UserMistake(f"{kind} {name!r} is there twice: uninstall the plug-in that has it")
            union[name] = value
    return union
