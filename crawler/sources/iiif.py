"""Pure: collections and manifests of the IIIF Presentation API, versions 2 and 3.

A collection leads to its manifests, one by one or by further collections; a manifest to what it is about (``related``,
``homepage``), to what describes it (``seeAlso``) and to other forms of it (``rendering``, mostly a PDF). Images, their
services, canvases, annotations and what a manifest is part of lead nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crawler.model.listing import ListedItem, SourceKind, SourceReading
from crawler.sources.link_targets import absolute
from extractors.model.decoding import decode
from extractors.model.documents import Finding

#: What is looked at to recognize a JSON document of IIIF.
_CONTEXT = b"iiif.io/api/presentation/"
_HEAD_BYTES = 2**14
#: Where documents are named, in this order; the first two are pages, and a manifest may have several of each.
_ABOUT = ("homepage", "related", "rendering", "seeAlso")
_MEMBERS = ("collections", "manifests", "members", "items")
_NO_DOCUMENT_TYPES = ("image/", "audio/", "video/")
MOST_ITEMS = 50_000


def may_be_iiif(data: bytes) -> bool:
    """Return whether a JSON document names the context of the Presentation API near its beginning."""
    return _CONTEXT in data[:_HEAD_BYTES].replace(b"\\/", b"/")


def read_iiif(data: bytes, *, url: str) -> SourceReading | None:
    """Return what the collection or manifest at *url* leads to; None for any other JSON.

    >>> manifest = b'{"@context": "http://iiif.io/api/presentation/3/context.json", "type": "Manifest",'
    >>> read = read_iiif(manifest + b' "rendering": [{"id": "/x.pdf"}]}', url="https://a.example/m.json")
    >>> [item.url for item in read.items]
    ['https://a.example/x.pdf']
    """
    try:
        resource = json.loads(decode(data).text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(resource, dict) or "iiif.io/api/presentation/" not in str(resource.get("@context", "")):
        return None
    kind = _kind(resource)
    if kind not in ("Collection", "Manifest"):
        return None
    further = dict.fromkeys(_joined(url, _members(resource, "Collection"))) if kind == "Collection" else {}
    listed = dict.fromkeys(_joined(url, _members(resource, "Manifest"))) if kind == "Collection" else {}
    about = dict.fromkeys(_joined(url, _about(resource)))
    items = [*listed, *(item for item in about if item not in listed)]
    findings = []
    if len(items) > MOST_ITEMS:
        findings.append(Finding("source-limit", f"only the first {MOST_ITEMS} of {len(items)} manifests are asked for"))
    if kind == "Collection" and not items and not further:
        findings.append(Finding("empty-source", "this collection lists nothing"))
    return SourceReading(
        SourceKind.IIIF, tuple(map(ListedItem, items[:MOST_ITEMS])), tuple(further), findings=tuple(findings)
    )


def _members(collection: dict[str, Any], kind: str) -> Iterator[Any]:
    """The addresses of the members of a *kind*, at whatever level they are within; and where the list goes on."""
    pending = [collection]
    while pending:
        within = pending.pop(0)
        for key in _MEMBERS:
            for member in _several(within.get(key)):
                if not isinstance(member, dict):
                    is_of_kind = key == ("collections" if kind == "Collection" else "manifests")
                    yield member if is_of_kind else None
                    continue
                if (_kind(member) or _KIND_OF_KEY.get(key)) == kind:
                    yield _id(member)
                if _kind(member) == "Collection" and any(other in member for other in _MEMBERS):
                    pending.append(member)  # written out in place
    if kind == "Collection":
        yield from (_id(page) for key in ("first", "next") for page in _several(collection.get(key)))


_KIND_OF_KEY = {"collections": "Collection", "manifests": "Manifest"}


def _about(resource: dict[str, Any]) -> Iterator[Any]:
    sequences = [related for related in _several(resource.get("sequences")) if isinstance(related, dict)]  # version 2
    for part in (resource, *sequences):
        for key in _ABOUT:
            for related in _several(part.get(key)):
                media_type = str(related.get("format", "")) if isinstance(related, dict) else ""
                if not media_type.startswith(_NO_DOCUMENT_TYPES):
                    yield _id(related)


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _id(value: Any) -> Any:
    return value.get("id") or value.get("@id") if isinstance(value, dict) else value


def _kind(value: dict[str, Any]) -> str:
    """The type without the prefix that it has in version 2: ``Collection``, ``Manifest`` …"""
    type_name = value.get("type") or value.get("@type")
    return type_name.removeprefix("sc:") if isinstance(type_name, str) else ""


def _joined(url: str, targets: Iterator[Any]) -> Iterator[str]:
    for target in targets:
        absolute_url = absolute(url, target) if isinstance(target, str) else None
        if absolute_url is not None:
            yield absolute_url
