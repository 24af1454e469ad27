"""Where a crawl begins, as the user named it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from crawler.credentials import masked


class UserMistake(Exception):
    """Raised for what the user can put right: one clear line."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a crawl begins: URLs, and files of the local disk."""

    urls: tuple[str, ...]
    files: tuple[Path, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Seeds:
        """The seeds that *texts* name; a folder stands for all files in it, sorted. Raises `UserMistake`."""
        urls: list[str] = []
        files: list[Path] = []
        for text in texts:
            if text.lower().startswith(("http://", "https://")):
                urls.append(_checked_url(text))
            elif (path := Path(text)).is_dir():
                files += sorted(inner for inner in path.rglob("*") if inner.is_file() and not _is_hidden(inner, path))
            elif path.exists():
                files.append(path)
            else:
                raise UserMistake(f"neither an http(s) URL nor an existing file or folder: {text!r}")
        return cls(tuple(urls), tuple(files))


def _checked_url(text: str) -> str:
    if masked(text) != text:
        advice = "they belong into a [hosts] section of the configuration"
        raise UserMistake(f"credentials in a URL are sent to nobody, {advice}: {masked(text)!r}")
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0):
            return text
    except ValueError:
        pass
    raise UserMistake(f"not a URL that can be asked for: {text!r}")


def _is_hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)
