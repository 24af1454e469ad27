"""Seeds of a crawl, as the user names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path

from crawler.model.crawl_requests import SourceKind
from crawler.model.resolving import request_url
from crawler.wire.credentials import names_user, without_userinfo
from extractors.documents import document_name, files_in, hidden_finding
from extractors.find import scan
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.mentions.mention_reader import MOST_NAME_CHARS
from extractors.model.ark import Ark
from extractors.model.documents import Block, Finding, Role
from extractors.model.errors import SourceUnreadable, UserMistake
from extractors.model.files import is_folder, path_exists
from extractors.model.urls import is_web_url, split_url
from extractors.wraps.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of a crawl: URLs, and files of the local disk."""

    urls: tuple[str, ...]
    files: tuple[Path, ...]
    named_kinds: Mapping[str, SourceKind] = field(default_factory=dict)
    """The kind of a seed that the user gave by a prefix (``oai:https://…``), by URL or path."""
    named_files: frozenset[Path] = frozenset()
    """Files that were named directly, not by their folder."""
    folder_findings: Mapping[Path, Finding] = field(default_factory=dict)
    """Findings about named folders: one that is empty, or contains hidden files."""
    logs: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    """The logs of a server, by the patterns that name them (``log:/var/log/nginx/access.log*``)."""

    @property
    def names(self) -> list[str]:
        """The seeds as texts, as in the column ``seeds`` of the run."""
        logs = (f"{SourceKind.LOG}:{pattern}" for pattern in self.logs)
        return [*self.urls, *map(document_name, [*self.files, *map(Path, logs)])]

    @classmethod
    def parse(cls, texts: Iterable[str], *, takes_logs: bool = False) -> Seeds:
        """Return the seeds in *texts*; a folder gives all files in it, sorted.

        Logs are allowed only with *takes_logs*. A missing path is an unreadable file. Raises `UserMistake` if all are
        missing.
        """
        urls: list[str] = []
        files: list[Path] = []
        named_kinds: dict[str, SourceKind] = {}
        named_files: list[Path] = []
        folder_findings: dict[Path, Finding] = {}
        missing_paths: list[str] = []
        logs: dict[str, tuple[Path, ...]] = {}
        for text in texts:
            named_kind, location = split_prefix(text)
            if named_kind is SourceKind.LOG:
                if not takes_logs:
                    raise UserMistake("log: is for arkaudit run, crawl and check --from")
                logs[location] = logs_at(location)
            elif is_web_url(location):
                urls.append(_checked_url(location))
                named_kinds |= {location: named_kind} if named_kind else {}
            # An unset variable of a shell would name the current folder.
            elif not location.strip():
                raise UserMistake(f"empty seed: {text!r}")
            elif is_folder(path := Path(location)) and named_kind is None:
                hidden_names: list[str] = []
                try:
                    folder_files = sorted(files_in(path, hidden_names))
                except SourceUnreadable as problem:
                    raise UserMistake(str(problem)) from None
                files += folder_files
                if hidden_names:
                    folder_findings[path] = hidden_finding(hidden_names)
                elif not folder_files:
                    folder_findings[path] = Finding("empty", "there is no file in this folder")
            else:
                if not path_exists(path) or is_folder(path):
                    suggestion = f"; did you mean {url}?" if (url := _url_meant(location)) else ""
                    missing_paths.append(
                        f"neither an http(s) URL nor an existing file or folder: {location!r}{suggestion}"
                    )
                    if suggestion or named_kind:
                        raise UserMistake(missing_paths[-1])
                files.append(path)
                named_files.append(path)
                named_kinds |= {str(path): named_kind} if named_kind else {}
        if missing_paths and len(missing_paths) == len(urls) + len(files) + len(logs):
            raise UserMistake(missing_paths[0])
        return cls(tuple(urls), tuple(files), named_kinds, frozenset(named_files), folder_findings, logs)


def logs_at(pattern: str) -> tuple[Path, ...]:
    """Return the files that match a *pattern* with ``*``, sorted. Raises `UserMistake` without a match."""
    names = [pattern] if path_exists(Path(pattern)) else sorted(glob(pattern))  # noqa: PTH207 (paths may be absolute)
    files = tuple(path for path in map(Path, names) if not is_folder(path))
    if not files:
        raise UserMistake(f"there is no log at {pattern!r}")
    return files


def split_prefix(text: str) -> tuple[SourceKind | None, str]:
    """Return the kind of source in the prefix of a seed (None without a prefix), and the URL or path.

    >>> split_prefix("oai:https://library.example/oai"), split_prefix("https://library.example/"), split_prefix("c:/papers")
    ((<SourceKind.OAI: 'oai'>, 'https://library.example/oai'), (None, 'https://library.example/'), (None, 'c:/papers'))
    """
    prefix, colon, location = text.partition(":")
    if colon and prefix.lower() in set(SourceKind) and not path_exists(Path(text)):
        return SourceKind(prefix.lower()), location
    return None, text


def relative_to(folder: Path, text: str) -> str:
    """Return the seed in *text* with its path relative to *folder*.

    >>> relative_to(Path("/data"), "list:urls.txt"), relative_to(Path("/data"), "https://library.example/")
    ('list:/data/urls.txt', 'https://library.example/')
    """
    named_kind, location = split_prefix(text)
    if "://" in location:
        return text
    return f"{f'{named_kind}:' if named_kind else ''}{folder / location}"


#: Beginnings of mistyped URLs: ``htp://``, ``https:/``, ``https//``, or none.
_MISTYPED = re.compile(
    r"(?:(?P<scheme>h?t{1,3}ps?)(?::/{0,3}|/{2,3}))?(?P<rest>(?:[\w-]+\.)+[a-z]{2,}(?::[0-9]+)?(?:/.*)?)", re.IGNORECASE
)
#: Suffixes of files; some are top-level domains too.
_FILE_ENDING = re.compile(r"\.(?:pdf|txt|html?|zip|csv|xml|json|md|docx?|odt|warc|gz)$", re.IGNORECASE)


def _url_meant(text: str) -> str | None:
    """Return the URL that was probably meant by an invalid *text*, or None if *text* looks like a file.

    >>> _url_meant("www.example.org"), _url_meant("htp://example.org/a"), _url_meant("thesis.pdf")
    ('https://www.example.org', 'http://example.org/a', None)
    """
    match = _MISTYPED.fullmatch(text)
    if match is None or (match["scheme"] is None and "/" not in text and _FILE_ENDING.search(text)):
        return None
    scheme = "http" if match["scheme"] and not match["scheme"].lower().endswith("s") else "https"
    return f"{scheme}://{match['rest']}"


def _checked_url(text: str) -> str:
    if names_user(text):
        advice = "put them into a [hosts] section of the configuration"
        raise UserMistake(f"credentials in a URL are never sent, {advice}: {without_userinfo(text)!r}")
    parts = split_url(text)
    if parts.hostname and parts.port != 0:
        return text
    raise UserMistake(f"not a valid URL: {text!r}")


# -- the ARKs that a user names, one per line, with the URL that requests each object

#: A NAAN and a name, as in tables without the label: "12148/btv1b8449691v". A DOI has a dot.
_WITHOUT_LABEL = re.compile(r"/?(?P<ark>\d\w{4}/\w\S*)")
#: Separators between two ARKs of one line; another ARK in a URL's query belongs to the first.
_ARK_SEPARATOR = re.compile(r"\s|^[\"')\]>]*[,;|]+[\"'(\[<]*$")
_SEPARATOR = re.compile(r"\s+|,(?=ark:|https?:)", re.IGNORECASE)


def mention_in(text: str) -> Mention | str:
    """Return the mention of an ARK in a line of input, or a message without a subject, such as "holds no ARK"."""
    hits = list(scan(Block(text.strip(), Role.LINK_TARGET), Evidence()))
    mention = next((hit for hit in hits if isinstance(hit, Mention)), None)
    if mention is not None:
        return mention
    if any(isinstance(hit, NamespaceMention) and hit.is_overlong for hit in hits):
        return f"has a name of more than {MOST_NAME_CHARS:,} characters"
    if any(isinstance(hit, NamespaceMention) and not hit.is_shortened for hit in hits):
        return "names a NAAN or shoulder, not an object"
    if unlabelled := _WITHOUT_LABEL.fullmatch(text.strip()):
        return f"holds no ARK: write ark: before it (ark:{unlabelled['ark']})"
    return "holds no ARK"


def split_arks(line: str) -> list[str]:
    """Return a line of input, or each of its ARKs if it contains several.

    An ARK in the query of a URL belongs to that URL.

    >>> split_arks("ark:/12148/bpt6k1; https://n2t.net/ark:/12x45/x5 (the second)")
    ['ark:/12148/bpt6k1', 'https://n2t.net/ark:/12x45/x5']
    >>> split_arks('"ark:/12148/bpt6k1","ark:/12148/bpt6k2"')
    ['ark:/12148/bpt6k1', 'ark:/12148/bpt6k2']
    >>> split_arks("https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6")
    ['https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6']
    """
    texts, end = [], None
    for mention in scan(Block(line, Role.LINK_TARGET), Evidence()):
        if isinstance(mention, Mention):
            if end is None or _ARK_SEPARATOR.search(line[end : mention.spans[0][0]]):
                texts.append(mention.repaired)
            end = mention.spans[-1][1]
    return texts if len(texts) > 1 else [line]


def words_of(text: str) -> list[str]:
    """Return the ARKs and URLs in *text*, separated by blanks, or by commas before an ARK or URL.

    >>> words_of("ark:12148/btv1b8449691v,https://n2t.net/ark:/12x45/x5 ark:12x45/a,b")
    ['ark:12148/btv1b8449691v', 'https://n2t.net/ark:/12x45/x5', 'ark:12x45/a,b']
    """
    return [word for word in _SEPARATOR.split(text) if word]


def targets_in(texts: Iterable[str], *, resolver: str) -> tuple[list[tuple[Ark, str]], list[str]]:
    """Return the distinct pairs of ARK and request URL in *texts*, and messages about texts without an ARK."""
    targets: dict[tuple[Ark, str], None] = {}
    faults: list[str] = []
    for text in texts:
        mention = mention_in(text)
        if isinstance(mention, Mention):
            targets[mention.ark, request_url(mention.repaired, mention.resolver, resolver)] = None
        else:
            faults.append(f"{text!r} {mention}")
    return list(targets), faults
