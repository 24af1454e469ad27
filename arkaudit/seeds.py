"""Where a crawl begins, as the user named it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from crawler.sources.listing import SourceKind
from crawler.wire.credentials import masked, names_user
from extractors.document_model import Finding

#: Hidden files of a folder that are named one by one.
_MOST_NAMES = 5


class UserMistake(Exception):
    """Raised for what the user can put right: one clear line."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a crawl begins: URLs, and files of the local disk."""

    urls: tuple[str, ...]
    files: tuple[Path, ...]
    orders: Mapping[str, SourceKind] = field(default_factory=dict)
    """How seeds are to be read, by URL or path, where a prefix says so (``oai:https://…``)."""
    named_files: frozenset[Path] = frozenset()
    """Files that were named themselves, and not a folder that holds them."""
    folder_findings: Mapping[Path, Finding] = field(default_factory=dict)
    """What was noticed about folders that were named: one that is empty, or holds hidden files."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Seeds:
        """The seeds that *texts* name; a folder stands for all files in it, sorted. Raises `UserMistake`."""
        urls: list[str] = []
        files: list[Path] = []
        orders: dict[str, SourceKind] = {}
        named: list[Path] = []
        folder_findings: dict[Path, Finding] = {}
        for text in texts:
            order, place = ordered(text)
            if place.lower().startswith(("http://", "https://")):
                urls.append(_checked_url(place))
                orders |= {place: order} if order else {}
            elif not place.strip():  # as of a shell's variable that isn't set; a path would be the current folder
                raise UserMistake(f"a seed that names nothing: {text!r}")
            elif (path := Path(place)).is_dir() and order is None:
                passed_over: list[str] = []
                found = sorted(_files_in(path, passed_over))
                files += found
                if passed_over:
                    folder_findings[path] = _hidden(passed_over)
                elif not found:
                    folder_findings[path] = Finding("empty", "there is no file in this folder")
            elif path.exists() and not path.is_dir():
                files.append(path)
                named.append(path)
                orders |= {str(path): order} if order else {}
            else:
                raise UserMistake(f"neither an http(s) URL nor an existing file or folder: {place!r}")
        return cls(tuple(urls), tuple(files), orders, frozenset(named), folder_findings)


def ordered(text: str) -> tuple[SourceKind | None, str]:
    """How the seed in *text* is to be read, if it says so, and the place that it names.

    >>> ordered("oai:https://library.example/oai"), ordered("https://library.example/"), ordered("c:/papers")
    ((<SourceKind.OAI: 'oai'>, 'https://library.example/oai'), (None, 'https://library.example/'), (None, 'c:/papers'))
    """
    prefix, colon, place = text.partition(":")
    if colon and prefix.lower() in set(SourceKind) and not Path(text).exists():
        return SourceKind(prefix.lower()), place
    return None, text


def relative_to(folder: Path, text: str) -> str:
    """The seed in *text* with a path in it taken from *folder*.

    >>> relative_to(Path("/data"), "list:urls.txt"), relative_to(Path("/data"), "https://library.example/")
    ('list:/data/urls.txt', 'https://library.example/')
    """
    order, place = ordered(text)
    if "://" in place:
        return text
    return f"{f'{order}:' if order else ''}{folder / place}"


def _checked_url(text: str) -> str:
    if names_user(text):
        advice = "they belong into a [hosts] section of the configuration"
        raise UserMistake(f"credentials in a URL are sent to nobody, {advice}: {masked(text)!r}")
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0):
            return text
    except ValueError:
        pass
    raise UserMistake(f"not a URL that can be asked for: {text!r}")


def _hidden(names: Sequence[str]) -> Finding:
    """The finding about hidden files and folders.

    >>> _hidden([".git", ".a", ".b", ".c", ".d", ".e"]).detail
    'hidden, and not read unless they are named: .a, .b, .c, .d, .e and 1 more'
    """
    first = sorted(names)[:_MOST_NAMES]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return Finding("members-skipped", f"hidden, and not read unless they are named: {', '.join(first)}{more}")


def _files_in(folder: Path, hidden: list[str]) -> Iterator[Path]:
    """The files in a folder and below it; a folder below that can't be read stands for its own.

    Those whose names begin with a dot, and what is in such folders, are not among them, but go to *hidden*.

    Raises `UserMistake` when *folder* itself can't be read.
    """
    unreadable: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unreadable.append):
        hidden += [os.path.relpath(Path(place, name), folder) for name in (*folders, *names) if name.startswith(".")]
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (path for name in names if not name.startswith(".") and _may_be_file(path := Path(place, name)))
    for problem in unreadable:
        if Path(problem.filename) == folder:
            raise UserMistake(f"{folder} can't be read: {problem.strerror}")
        yield Path(problem.filename)


def _may_be_file(path: Path) -> bool:
    """Whether it is a file; where we may not know, the row about it will tell."""
    try:
        return path.is_file()
    except PermissionError:
        return True
