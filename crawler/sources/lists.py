"""Pure: a list of URLs, one a line, as a file or as a sitemap in plain text; ARKs may stand in it as well.

A line that cites an ARK is no lead: the list is a document like any other, and the ARK one of its mentions, which is
resolved. ``list:`` before the seed orders that even such URLs are fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawler.model.listing import ListedItem, SourceKind, SourceReading
from crawler.sources.link_targets import absolute
from extractors.document_model import Finding
from extractors.find import find_arks
from extractors.readers.plain import decode

_LINE = re.compile(r"(?:https?://\S+|(?:\S+/)?ark:/?\S+)", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)
#: What is looked at before a whole text is: most texts aren't lists, and say so at once.
_HEAD_BYTES = 2**12


def is_list(data: bytes) -> bool:
    """Return whether a text holds nothing but URLs and ARKs, one a line, at least one of them a URL; ``#`` begins a
    comment.

    >>> is_list(b"# ours\\nhttp://a.example/x\\n\\nark:/12148/btv1b8\\n"), is_list(b"See http://a.example/x")
    (True, False)
    """
    head = data[:_HEAD_BYTES].rpartition(b"\n")[0] if len(data) > _HEAD_BYTES else data
    if not all(map(_LINE.fullmatch, _lines(head))):
        return False
    lines = list(_lines(data))
    return all(map(_LINE.fullmatch, lines)) and any(map(_URL.match, lines))


def read_list(data: bytes, *, url: str, is_ordered: bool = False) -> SourceReading:
    """The URLs of a list; *is_ordered* says that the user has called it one, so that ARKs in it are fetched as well.

    >>> read = read_list(b"http://a.example/x\\nhttps://n2t.net/ark:/12148/btv1b8", url="urls.txt")
    >>> [item.url for item in read.items]
    ['http://a.example/x']
    """
    lines = dict.fromkeys(line for line in _lines(data) if _URL.match(line) and _LINE.fullmatch(line))
    urls = [line for line in lines if is_ordered or not any(find_arks(line))]
    found = dict.fromkeys(found for line in urls if (found := absolute(url, line)) is not None)
    odd = sum(1 for line in _lines(data) if not _LINE.fullmatch(line))
    findings = (Finding("odd-lines", f"lines that are neither a URL nor an ARK: {odd}"),) if odd else ()
    return SourceReading(SourceKind.LIST, tuple(map(ListedItem, found)), findings=findings)


def _lines(data: bytes) -> Iterator[str]:
    stripped = (line.strip() for line in decode(data).text.splitlines())
    return (line for line in stripped if line and not line.startswith("#"))
