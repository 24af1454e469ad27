"""Find ARKs in documents, repair them, resolve them, and report which persist: a command, and a library.

    >>> from arkaudit import Ark, extract, find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\\n7371t")
    >>> mention
    <Mention ark:12148/bpt6k107371t, certain: line wrap>

Each name is imported when it is first used: `find_arks` brings neither Scrapy nor pandas along.

- `find_arks(text)`: all ARKs in running text.
- `extract(source)`: the documents in files, folders, archives or bytes, with what they cite.
- `check(ark)`: the verdict on the object, its metadata and its commitment.
- `load_report(store)`: the frames and tables of an audit.
- `Ark`, `Mention`, `Document`, `Verdict`, `Frames`: their values.
- `ArkauditError`: the base of all errors; `arkaudit.errors` draws their tree.

The same names, and more, are in `extractors`, `crawler` and `reports`. What is not in `__all__` is private.
"""

from typing import TYPE_CHECKING, Any

from arkaudit.own_packages import import_own_packages

if TYPE_CHECKING:
    from arkaudit.check_process import check
    from crawler.observations import Verdict
    from extractors.ark import Ark
    from extractors.documents import Document, extract
    from extractors.find import find_arks
    from extractors.mentions.mention import Mention
    from extractors.shared_errors import ArkauditError
    from reports.frames import Frames
    from reports.load import load_report

__version__ = "0.1.0"

__all__ = [
    "Ark",
    "ArkauditError",
    "Document",
    "Frames",
    "Mention",
    "Verdict",
    "check",
    "extract",
    "find_arks",
    "load_report",
]

_HOMES = {
    "Ark": "extractors.ark",
    "ArkauditError": "extractors.shared_errors",
    "Document": "extractors.documents",
    "Frames": "reports.frames",
    "Mention": "extractors.mentions.mention",
    "Verdict": "crawler.observations",
    "check": "arkaudit.check_process",
    "extract": "extractors.documents",
    "find_arks": "extractors.find",
    "load_report": "reports.load",
}


import_own_packages()


def __getattr__(name: str) -> Any:
    from extractors.lazy import lazy_names

    return lazy_names(__name__, _HOMES)[0](name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
