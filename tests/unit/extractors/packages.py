"""Packages for tests: ZIP archives of a few members, whole or damaged as a test wants them."""

import re
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO

OFFICE = "http://schemas.openxmlformats.org"
WORD = f"{OFFICE}/wordprocessingml/2006/main"
_PREFIXES = {
    "a": f"{OFFICE}/drawingml/2006/main",
    "b": f"{OFFICE}/officeDocument/2006/bibliography",
    "c": f"{OFFICE}/drawingml/2006/chart",
    "cp": f"{OFFICE}/package/2006/metadata/core-properties",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dgm": f"{OFFICE}/drawingml/2006/diagram",
    "loext": "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0",
    "mc": f"{OFFICE}/markup-compatibility/2006",
    "r": f"{OFFICE}/officeDocument/2006/relationships",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "vt": f"{OFFICE}/officeDocument/2006/docPropsVTypes",
    "wp": f"{OFFICE}/drawingml/2006/wordprocessingDrawing",
    "xdr": f"{OFFICE}/drawingml/2006/spreadsheetDrawing",
    "xlink": "http://www.w3.org/1999/xlink",
} | {
    name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
    for name in ("manifest", "meta", "office", "presentation", "style", "table", "text")
}


def zip_archive(
    members: Mapping[str, bytes | str] | Iterable[tuple[str, bytes | str]], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return an archive of these members, in order."""
    pairs = members.items() if isinstance(members, Mapping) else members
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in pairs:
            archive.writestr(name, content)
    return file.getvalue()


def add_namespaces(markup: str, *, w: str = WORD) -> str:
    """Return *markup* with the namespaces of all prefixes declared on its root element."""
    namespaces = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in (_PREFIXES | {"w": w}).items())
    return re.sub(r"^<[\w:]+", rf"\g<0> {namespaces}", markup)


def docx(
    body: str,
    *,
    parts: Mapping[str, str] | None = None,
    relations: Mapping[str, tuple[str, str]] | None = None,
    w: str = WORD,
) -> bytes:
    """A Word document with this content of its body, other parts, and relations: id to kind and target."""
    related = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/officeDocument/2006/relationships/{kind}" Target="{target}"'
        ' TargetMode="External"/>'
        for key, (kind, target) in (relations or {}).items()
    )
    members = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": f"<Relationships>{related}</Relationships>",
        **(parts or {}),
    }
    return zip_archive({name: add_namespaces(markup, w=w) for name, markup in members.items()})


def odt(body: str, *, meta: str = "", styles: str = "", flat: bool = False) -> bytes:
    """An OpenDocument file with this content, in a package or flat."""
    parts = {
        "meta.xml": f"<office:meta>{meta}</office:meta>",
        "styles.xml": f"<office:master-styles>{styles}</office:master-styles>",
        "content.xml": f"<office:body>{body}</office:body>",
    }
    if flat:
        return add_namespaces(f"<office:document>{''.join(parts.values())}</office:document>").encode()
    whole = {name: f"<office:document>{markup}</office:document>" for name, markup in parts.items()}
    return zip_archive(
        {"mimetype": "application/vnd.oasis.opendocument.text"} | {n: add_namespaces(m) for n, m in whole.items()}
    )


def xlsx(sheet: str, *, parts: Mapping[str, str] | None = None) -> bytes:
    """An Excel workbook whose first sheet is called Cover."""
    members = {
        "xl/workbook.xml": '<workbook><sheets><sheet name="Cover" r:id="s1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="s1" Type="x/worksheet"'
        ' Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": sheet,
        **(parts or {}),
    }
    return zip_archive({name: add_namespaces(markup) for name, markup in members.items()})


def epub(
    chapters: Mapping[str, str],
    *,
    metadata: str = "",
    spine: Iterable[str] | None = None,
    others: Mapping[str, bytes | str] | None = None,
) -> bytes:
    """Return a book with these chapters, file name to body; by default all of them are in the spine, in order."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    references = "".join(f'<itemref idref="{name}"/>' for name in (chapters if spine is None else spine))
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="EPUB/book.opf"/></rootfiles></container>',
        "EPUB/book.opf": add_namespaces(
            f"<package><metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{references}</spine></package>"
        ),
        **{
            f"EPUB/{name}": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
            for name, body in chapters.items()
        },
    }
    return zip_archive(members | dict(others or {}))
