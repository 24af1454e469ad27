"""EPUB 2 and 3: the metadata of the package document, then its chapters in the order of the spine.

The chapters are read by `extractors.readers.markup.html`. The existing library, EbookLib, is under the AGPL.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import unquote

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.documents import Finding, Reading, Role
from extractors.readers.markup.html import read_html
from extractors.readers.office.package import (
    NEEDS_PASSWORD,
    Package,
    XmlElement,
    member_path,
    natural_order,
    printable_name,
)
from extractors.readers.running_text import RunningText

MEDIA_TYPE = "application/epub+zip"

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_SUFFIXES = (".xhtml", ".html", ".htm", ".xht")
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_NCX_TYPE = "application/x-dtbncx+xml"
#: Font obfuscation, which leaves the book readable.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read_epub(data: bytes) -> Reading:
    """Return metadata, chapters in reading order, and table of contents of a book. Never raises for damage.

    >>> read_epub(b"PK no such thing").findings
    (Finding(kind='unreadable', detail='not a ZIP archive, or damaged beyond repair'),)
    """
    package, text = Package(data), RunningText()
    # The package documents are listed in the container file; without one, they are all `.opf` members.
    rootfile_elements = (element for element in package.elements(_CONTAINER) if element.name == "rootfile")
    paths = dict.fromkeys(unquote(element.attributes.get("full-path", "")).lstrip("/") for element in rootfile_elements)
    rootfiles = [name for name in paths if name in package.members]
    rootfiles = rootfiles or [name for name in package.members if name.lower().endswith(".opf")]
    if package.members and not rootfiles:
        package.add_findings(Finding("unreadable", "it has no package document; all its pages were read"))
    titles: list[str] = []
    members: dict[str, bool] = {}
    """The members to read, with True for a chapter."""
    for rootfile in rootfiles:
        elements = package.elements(rootfile)
        titles += _read_metadata(text, elements)
        for member, is_chapter in _listed_members(package, posixpath.dirname(rootfile), elements):
            members.setdefault(member, is_chapter)
    for name in sorted(package.members, key=natural_order):
        if name.lower().endswith(_CHAPTER_SUFFIXES):
            members.setdefault(name, True)
    encrypted_members = set(_encrypted_members(package))
    for member, is_chapter in members.items():
        if member in encrypted_members:
            package.add_findings(NEEDS_PASSWORD)
        elif is_chapter:
            reading = read_html(package.read(member))
            text.add_part(reading, member)
            finding_prefix = f"{printable_name(member)}: "
            package.add_findings(
                *(replace(finding, detail=finding_prefix + finding.detail) for finding in reading.findings)
            )
        else:  # the table of contents of EPUB 2, which repeats the headings of the chapters
            for element in package.elements(member):
                text.add_value(element.text, f"{member}/{element.name}", Role.TEXT)
    findings = (*package.findings, *text.findings)
    return Reading(MEDIA_TYPE, tuple(text.blocks), text.targets, title="".join(titles[:1]), findings=findings)


def _encrypted_members(package: Package) -> Iterator[str]:
    algorithm = ""
    for element in package.elements(_ENCRYPTION):  # each entry has the method before the member
        if element.name == "EncryptedData":
            algorithm = ""
        elif element.name == "EncryptionMethod":
            algorithm = algorithm or element.attributes.get("Algorithm", "")
        elif element.name == "CipherReference" and algorithm not in _FONT_ALGORITHMS:
            yield unquote(element.attributes.get("URI", "")).lstrip("/")


def _read_metadata(text: RunningText, elements: list[XmlElement]) -> Iterator[str]:
    """Add the metadata of a package document, given by its *elements*, to *text*; yield the titles among them."""
    metadata_ids: set[int] = set()
    for element in elements:
        if element.name != "metadata" and id(element.parent) not in metadata_ids:
            continue
        metadata_ids.add(id(element))
        name, attributes = element.name, element.attributes
        href = attributes.get("href", "")
        values = (
            (attributes.get("name", name), attributes.get("content", "")),
            (name, href if may_hold_ark(href) else ""),
            (attributes.get("property", "") or name, element.text),
        )
        for location, value in values:
            text.add_value(value, f"opf/{location}")
            if location == "title" and value.strip():
                yield " ".join(value.split())


def _listed_members(package: Package, folder: str, elements: list[XmlElement]) -> Iterator[tuple[str, bool]]:
    """Yield the names of members with text, in the order of spine and manifest, and True for a chapter.

    *elements* are those of the package document, which is in *folder*.
    """
    items: dict[str, Mapping[str, str]] = {}
    for element in elements:
        if element.name == "item":
            items.setdefault(element.attributes.get("id", ""), element.attributes)
    spine = [element.attributes.get("idref", "") for element in elements if element.name == "itemref"]
    names = {name.lower(): name for name in package.members}
    for item in (*(items[key] for key in spine if key in items), *items.values()):
        media_type = item.get("media-type", "")
        member = member_path(folder, item.get("href", "").partition("#")[0])
        if member not in package.members:  # the case of references is often wrong
            member = names.get(member.lower(), "")
        if member and (media_type in _CHAPTER_TYPES or media_type == _NCX_TYPE):
            yield member, media_type != _NCX_TYPE
