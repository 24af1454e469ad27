"""Office documents: Office Open XML and OpenDocument, read part by part.

No library is complete. Of the 63 ARKs in ``tests/fixtures/office/text.docx``, python-docx 1.2 shows 35, without text
boxes and footnotes. docx2python 3.7 shows 57, but merges note marks with them, drops soft hyphens and repeats text
boxes, so that offsets are wrong. Openpyxl has no links when it streams, and needs a whole tree otherwise. All lack
limits for bombs. Packages are therefore opened by `zipfile` and `zlib` (`package`), and their parts are read as events
of lxml.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.documents import Finding, Reading, Role
from extractors.readers.office.open_xml import MarkupPart, SheetPart, raised_styles
from extractors.readers.office.opendocument import OpenDocumentPart
from extractors.readers.office.package import (
    NEEDS_PASSWORD,
    Package,
    natural_order,
    relations_of,
    root_name,
    send_events,
    trailing_number,
)
from extractors.readers.running_text import RunningText

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"

#: Root elements of the parts with text, in reading order, and the names of their places.
_TEXT_PARTS = {
    "document": "body",
    "footnotes": "footnotes",
    "endnotes": "endnotes",
    "comments": "comments",
    "hdr": "header",
    "ftr": "footer",
    "dataModel": "diagram",
    "chartSpace": "chart",
}
_SLIDE_PARTS = {"sld": "slide", "notes": "notes", "dataModel": "diagram", "chartSpace": "chart"}
_DRAWING_PARTS = {"wsDr": "drawing", "chartSpace": "chart"}
_SINGLE_PARTS = frozenset({"document", "footnotes", "endnotes", "comments"})
_SHEET_NOTES = frozenset({"comments", "ThreadedComments"})

_ZIP_SIGNATURE = b"PK"
_MANIFEST = "META-INF/manifest.xml"


def read_docx(data: bytes) -> Reading:
    """Return a Word document: body, notes, comments, headers, text boxes, links and properties. Never raises.

    >>> read_docx(b"PK no such thing").findings
    (Finding(kind='unreadable', detail='not a ZIP archive, or damaged beyond repair'),)
    """
    return _read_markup(data, DOCX, _TEXT_PARTS, "body")


def read_pptx(data: bytes) -> Reading:
    """Return a PowerPoint presentation: slides, their notes, links and properties. Never raises."""
    return _read_markup(data, PPTX, _SLIDE_PARTS, "slides")


def read_xlsx(data: bytes) -> Reading:
    """Return an Excel workbook: cells with a string at ``Sheet1!B12``, links, comments, properties. Never raises."""
    package, text = Package(data), RunningText()
    roots = root_names(package)
    properties = read_properties(package, text, roots)
    shared_texts = RunningText()
    for name in _parts_with_root(roots, "sst"):
        package.parse(name, SheetPart(shared_texts, "", {}, {}))
    strings = {block.place: block.text for block in shared_texts.blocks}
    sheet_names: dict[str, str] = {}
    for workbook in _parts_with_root(roots, "workbook"):
        relations = relations_of(package, workbook)
        for element in package.elements(workbook):
            relation = relations.get(element.attributes.get("id", "")) if element.name == "sheet" else None
            if relation is not None:
                sheet_names[relation.target] = element.attributes.get("name", "")
    for name in _parts_with_root(roots, "worksheet"):
        # Sheets that the workbook doesn't list are named after their files.
        sheet_names.setdefault(name, posixpath.basename(name).removesuffix(".xml"))
    sheets = [name for name in sheet_names if roots.get(name) == "worksheet"]
    for name in sheets:
        _read_sheet(package, text, name, sheet_names[name], strings, roots)
    return _reading_of(XLSX, package, text, properties, "" if sheets else "sheets")


def read_odt(data: bytes) -> Reading:
    """Return an OpenDocument text, packaged or flat: body, notes, comments, headers, links, metadata. Never raises.

    >>> flat = '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" %s>%s'
    >>> text = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    >>> read_odt((flat % (text, "<text:p>ark:/12148/<text:span>x5</text:span></text:p>")).encode()).blocks[0].text
    'ark:/12148/x5'
    """
    return _read_opendocument(data, ODT)


def read_ods(data: bytes) -> Reading:
    """Return an OpenDocument spreadsheet, packaged or flat: cells with text at ``Sheet1!B12``. Never raises."""
    return _read_opendocument(data, ODS)


def read_odp(data: bytes) -> Reading:
    """Return an OpenDocument presentation, packaged or flat: slides, their notes, links, metadata. Never raises."""
    return _read_opendocument(data, ODP)


# -- Office Open XML


def _read_markup(data: bytes, media_type: str, locations: Mapping[str, str], main_part: str) -> Reading:
    """Return a text document or presentation; *locations* maps root elements of parts to locations of their text.

    The first of *locations* is for the main part. *main_part* is a phrase for it in the finding that it is missing.
    """
    package, text = Package(data), RunningText()
    roots = root_names(package)
    properties = read_properties(package, text, roots)
    raised_style_ids = {
        style for name in _parts_with_root(roots, "styles") for style in raised_styles(package.elements(name))
    }
    for root, prefix in locations.items():
        for name in _parts_with_root(roots, root):
            location = prefix if root in _SINGLE_PARTS else prefix + trailing_number(name)
            package.parse(name, MarkupPart(text, location, relations_of(package, name), raised_style_ids))
    read_custom_xml(package, text, roots)
    is_missing = next(iter(locations)) not in roots.values()
    return _reading_of(media_type, package, text, properties, main_part if is_missing else "")


def _read_sheet(
    package: Package, text: RunningText, name: str, sheet: str, strings: Mapping[str, str], roots: Mapping[str, str]
) -> None:
    """Add the text of the member *name*, a sheet called *sheet*, with its drawings and comments, to *text*.

    *strings* are the shared strings by number; *roots* is from `root_names`.
    """
    relations = relations_of(package, name)
    package.parse(name, SheetPart(text, sheet, relations, strings))
    related_parts = {relation.target for relation in relations.values() if not relation.is_external}
    for member in sorted(related_parts & roots.keys(), key=natural_order):
        if roots[member] in _SHEET_NOTES:
            package.parse(member, SheetPart(text, sheet, {}, strings))
        elif roots[member] in _DRAWING_PARTS:
            location = f"{sheet}/{_DRAWING_PARTS[roots[member]]}"
            package.parse(member, MarkupPart(text, location, relations_of(package, member)))


def _parts_with_root(roots: Mapping[str, str], wanted_root: str) -> list[str]:
    return [name for name, root in roots.items() if root == wanted_root]


# -- OpenDocument


def _read_opendocument(data: bytes, media_type: str) -> Reading:
    text = RunningText()
    part = OpenDocumentPart(text)
    if not data.startswith(_ZIP_SIGNATURE) and b"opendocument" in data[:4096]:
        findings = send_events(data, part)
        links = text.targets
        return Reading(media_type, tuple(text.blocks), links, title=part.title, findings=findings + text.findings)
    package = Package(data)
    encrypted_members = {
        element.parent.attributes.get("full-path", "")
        for element in package.elements(_MANIFEST)
        if element.name == "encryption-data" and element.parent is not None
    }
    if encrypted_members:
        package.add_findings(NEEDS_PASSWORD)
    # Metadata, then styles, which define raised text, then content, then that of embedded objects.
    embedded_contents = [name for name in package.members if name.endswith("/content.xml")]
    for name in ("meta.xml", "styles.xml", "content.xml", *embedded_contents):
        if name not in encrypted_members:
            package.parse(name, part)
    is_missing = "content.xml" not in package.members and not encrypted_members
    return _reading_of(media_type, package, text, (part.title, None), "content" if is_missing else "")


# -- the packaging of Office Open XML (ECMA-376, part 2): properties and relations


def root_names(package: Package) -> dict[str, str]:
    """Return the local name of the root element of each XML member, by the member's name and in their `natural_order`.

    The root element shows the role of a part. By the standard, the relations and ``[Content_Types].xml`` define it, but
    in a damaged package both may be lost.
    """
    names = (name for name in package.members if name.lower().endswith(".xml"))
    return {name: root_name(package.head(name)) for name in sorted(names, key=natural_order)}


#: The title of a document, and the base of its relative links.
Properties = tuple[str, str | None]


def read_properties(package: Package, text: RunningText, roots: Mapping[str, str]) -> Properties:
    """Return title and base; add the values of core and custom properties to *text* as metadata.

    *roots* is from `root_names`.
    """
    title, base = "", None
    for name, root in roots.items():
        if root not in ("coreProperties", "Properties"):
            continue
        for element in filter(lambda element: element.text, package.elements(name)):
            custom = element.parent.attributes.get("name") if element.parent else None
            if root == "coreProperties":
                text.add_value(element.text, f"core/{element.name}")
                title = title or (" ".join(element.text.split()) if element.name == "title" else "")
            elif custom:
                text.add_value(element.text, f"custom/{custom}")
            elif element.name == "HyperlinkBase":
                base = element.text
    return title, base


def read_custom_xml(package: Package, text: RunningText, roots: Mapping[str, str]) -> None:
    """Add the values of custom XML that may hold an ARK, such as a bibliography's sources, to *text*.

    *roots* is from `root_names`.
    """
    for name in roots:
        if name.lower().startswith("customxml/item"):
            for element in package.elements(name):
                if may_hold_ark(element.text):
                    text.add_value(element.text, f"{name}/{element.name}", Role.STRUCTURED_DATA)


# -- both


def _reading_of(
    media_type: str, package: Package, text: RunningText, properties: Properties, missing_part: str = ""
) -> Reading:
    """Return the content of a document; *missing_part* names its main part if the package has none, else is empty."""
    if missing_part and package.members:
        package.add_findings(Finding("unreadable", f"it has no {missing_part}"))
    title, base = properties
    findings = (*package.findings, *text.findings)
    return Reading(media_type, tuple(text.blocks), text.targets, base, title, findings=findings)
