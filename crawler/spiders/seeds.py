"""Seeds of a crawl, as the user named them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from crawler.model.listing import SourceKind
from crawler.model.resolving import request_url
from crawler.wire.credentials import masked, names_user
from extractors.documents import files_in, hidden_finding
from extractors.find import scan
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.model.ark import Ark
from extractors.model.documents import Block, Finding, Role
from extractors.model.errors import SourceUnreadable, UserMistake
from extractors.wraps.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of a crawl: URLs, and files of the local disk."""

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
        """The seeds that *texts* name; a folder stands for all files in it, sorted.

        A path that names nothing is a file that can't be read. Raises `UserMistake` when there are no others.
        """
        urls: list[str] = []
        files: list[Path] = []
        orders: dict[str, SourceKind] = {}
        named: list[Path] = []
        folder_findings: dict[Path, Finding] = {}
        missing: list[str] = []
        for text in texts:
            order, place = ordered(text)
            if place.lower().startswith(("http://", "https://")):
                urls.append(_checked_url(place))
                orders |= {place: order} if order else {}
            elif not place.strip():  # as of a shell's variable that isn't set; a path would be the current folder
                raise UserMistake(f"a seed that names nothing: {text!r}")
            elif (path := Path(place)).is_dir() and order is None:
                passed_over: list[str] = []
                found = _sorted_files(path, passed_over)
                files += found
                if passed_over:
                    folder_findings[path] = hidden_finding(passed_over)
                elif not found:
                    folder_findings[path] = Finding("empty", "there is no file in this folder")
            else:
                if not path.exists() or path.is_dir():
                    meant = f"; did you mean {url}?" if (url := _url_meant(place)) else ""
                    missing.append(f"neither an http(s) URL nor an existing file or folder: {place!r}{meant}")
                    if meant or order:  # which is no document among others
                        raise UserMistake(missing[-1])
                files.append(path)
                named.append(path)
                orders |= {str(path): order} if order else {}
        if missing and len(missing) == len(urls) + len(files):
            raise UserMistake(missing[0])
        return cls(tuple(urls), tuple(files), orders, frozenset(named), folder_findings)


def ordered(text: str) -> tuple[SourceKind | None, str]:
    """Return how the seed in *text* is to be read, if it says so, and the place that it names.

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


#: What may stand before a URL that was mistyped: ``htp://``, ``https:/``, ``https//``, or nothing.
_MISTYPED = re.compile(
    r"(?:(?P<scheme>h?t{1,3}ps?)(?::/{0,3}|/{2,3}))?(?P<rest>(?:[\w-]+\.)+[a-z]{2,}(?::[0-9]+)?(?:/.*)?)", re.IGNORECASE
)
#: Endings of files, of which some are those of domains as well.
_FILE_ENDING = re.compile(r"\.(?:pdf|txt|html?|zip|csv|xml|json|md|docx?|odt|warc|gz)$", re.IGNORECASE)


def _url_meant(place: str) -> str | None:
    """The URL that somebody may have meant with *place*, which is none; None for what looks like a file.

    >>> _url_meant("www.example.org"), _url_meant("htp://example.org/a"), _url_meant("thesis.pdf")
    ('https://www.example.org', 'http://example.org/a', None)
    """
    found = _MISTYPED.fullmatch(place)
    if found is None or (found["scheme"] is None and "/" not in place and _FILE_ENDING.search(place)):
        return None
    scheme = "http" if found["scheme"] and not found["scheme"].lower().endswith("s") else "https"
    return f"{scheme}://{found['rest']}"


def _checked_url(text: str) -> str:
    if names_user(text):
        advice = "they belong into a [hosts] section of the configuration"
        raise UserMistake(f"credentials in a URL are never sent, {advice}: {masked(text)!r}")
    try:
        parts = urlsplit(text)
        if parts.hostname and (parts.port is None or parts.port > 0):
            return text
    except ValueError:
        pass
    raise UserMistake(f"not a URL that can be asked for: {text!r}")


def _sorted_files(folder: Path, hidden: list[str]) -> list[Path]:
    try:
        return sorted(files_in(folder, hidden))
    except SourceUnreadable as problem:
        raise UserMistake(str(problem)) from None


# The ARKs that a user names, each in a line of its own, with the URL that asks for its object.

#: What stands between two ARKs of one line, and not between one and another that its query names.
_APART = re.compile(r"\s|^[\"')\]>]*[,;|]+[\"'(\[<]*$")
_BETWEEN = re.compile(r"\s+|,(?=ark:|https?:)", re.IGNORECASE)


def mention_in(text: str) -> Mention | str:
    """Return the ARK of a line of input, or why it holds none."""
    found = list(scan(Block(text.strip(), Role.LINK_TARGET), Evidence()))
    mention = next((each for each in found if isinstance(each, Mention)), None)
    if mention is not None:
        return mention
    if any(isinstance(each, NamespaceMention) for each in found):
        return "names a NAAN or shoulder, not an object"
    return "holds no ARK"


def parted(line: str) -> list[str]:
    """Return a line of input, or each of its ARKs where it holds several.

    An ARK that a URL names in its query is part of that.

    >>> parted("ark:/12148/bpt6k1; https://n2t.net/ark:/12x45/x5 (the second)")
    ['ark:/12148/bpt6k1', 'https://n2t.net/ark:/12x45/x5']
    >>> parted('"ark:/12148/bpt6k1","ark:/12148/bpt6k2"')
    ['ark:/12148/bpt6k1', 'ark:/12148/bpt6k2']
    >>> parted("https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6")
    ['https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6']
    """
    texts, end = [], None
    for each in scan(Block(line, Role.LINK_TARGET), Evidence()):
        if isinstance(each, Mention):
            if end is None or _APART.search(line[end : each.spans[0][0]]):
                texts.append(each.repaired)
            end = each.spans[-1][1]
    return texts if len(texts) > 1 else [line]


def words_of(text: str) -> list[str]:
    """Split ARKs and URLs that stand in one text, between blanks, or commas where the next begins.

    >>> words_of("ark:12148/btv1b8449691v,https://n2t.net/ark:/12x45/x5 ark:12x45/a,b")
    ['ark:12148/btv1b8449691v', 'https://n2t.net/ark:/12x45/x5', 'ark:12x45/a,b']
    """
    return [each for each in _BETWEEN.split(text) if each]


def targets_in(texts: Iterable[str], *, resolver: str) -> tuple[list[tuple[Ark, str]], list[str]]:
    """Return the ARKs in *texts*, each once with the URL that asks for it, and why the other texts hold none."""
    targets: dict[tuple[Ark, str], None] = {}
    faults: list[str] = []
    for text in texts:
        found = mention_in(text)
        if isinstance(found, Mention):
            targets[found.ark, request_url(found.repaired, found.resolver, resolver)] = None
        else:
            faults.append(f"{text!r} {found}")
    return list(targets), faults
