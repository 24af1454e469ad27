"""`arkaudit fix`: what it proposes, that a break is undone byte for byte, and that no file is ever lost."""

import json
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from arkaudit.audits.fixing import FixedFile, Wanted, fixed_files
from extractors.corrections.proposals import OPTIONAL, Kind

CASES = json.loads((Path(__file__).parent / "vectors" / "fixes.json").read_text("utf-8"))

#: Documents of each format around a citation.
DOCUMENTS: Mapping[str, str] = {
    "letter.txt": "Voir @ (BnF).\nLa suite.\n",
    "letter.md": "# Lettre\n\nVoir *@* (BnF), [là](https://example.org/).\n",
    "page.html": "<!doctype html><meta charset=utf-8><!-- @ --><p>Voir <i>@</i> (BnF).\n",
    "tei.xml": '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><p>Voir @ (BnF).</p></body></text></TEI>',
    "ead.xml": "<ead><archdesc><scopecontent><p>Voir @ (BnF).</p></scopecontent></archdesc></ead>",
    "jats.xml": "<article><body><sec><p>Voir <italic>@</italic> (BnF).</p></sec></body></article>",
    "thesis.tex": "\\documentclass{article}\n\\begin{document}\nVoir \\emph{@} (BnF).\n\\end{document}\n",
    "refs.bib": "@misc{carte, note = {Voir @ (BnF)}}\n".replace("@misc", "\0misc"),
    "refs.ris": "TY  - BOOK\r\nTI  - Carte\r\nN1  - Voir @ (BnF)\r\nER  - \r\n",
    "table.csv": 'titre,note\r\nCarte,"Voir @ (BnF)"\r\n',
    "data.json": '{"note": "Voir @ (BnF)"}',
    "book.ipynb": '{"cells": [{"cell_type": "markdown", "source": ["Voir @ (BnF)\\n"]}], "nbformat": 4}',
    "chapter.docx": "Voir @ (BnF).",
    "chapter.odt": "Voir @ (BnF).",
    "list.xlsx": "Voir @ (BnF).",
}
#: What breaks a citation, and what it was before.
BREAKS = {
    "line break": ("ark:/12148/bpt6k10\n7371t", "ark:/12148/bpt6k107371t"),
    "line break in a URL": (
        "https://gallica.bnf.fr/\nark:/12148/bpt6k107371t",
        "https://gallica.bnf.fr/ark:/12148/bpt6k107371t",
    ),
    "soft hyphen": ("ark:/12148/bpt6k10\N{SOFT HYPHEN}7371t", "ark:/12148/bpt6k107371t"),
    "dash": ("ark:/12148/bpt6k10\N{EN DASH}7371t", "ark:/12148/bpt6k10-7371t"),
    "zero width": ("ark:/12148/bpt6k10\N{ZERO WIDTH SPACE}7371t", "ark:/12148/bpt6k107371t"),
    "full width": ("ark\N{FULLWIDTH COLON}/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
    "blank": ("ark :/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
}
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
PARTS: Mapping[str, Mapping[str, str]] = {
    ".docx": {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
        f'Id="r1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>@</w:t></w:r></w:p></w:body></w:document>',
    },
    ".odt": {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_OFFICE}:manifest:1.0"><m:file-entry m:full-path="/" '
        'm:media-type="application/vnd.oasis.opendocument.text"/><m:file-entry m:full-path="content.xml" '
        'm:media-type="text/xml"/></m:manifest>',
        "content.xml": f'<o:document-content xmlns:o="{_OFFICE}:office:1.0" xmlns:text="{_OFFICE}:text:1.0" o:version="1.2">'
        "<o:body><o:text><text:p>@</text:p></o:text></o:body></o:document-content>",
    },
    ".xlsx": {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATIONS}"><sheets><sheet name="A" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>@</t></is>'
        "</c></row></sheetData></worksheet>",
    },
}  # fmt: skip
#: A line break in the markup of a format.
LINE_BREAKS = {".docx": "</w:t><w:br/><w:t>", ".odt": "<text:line-break/>"}


def document(name: str, citation: str) -> bytes:
    """Return a document with *citation* as its format writes it."""
    suffix = Path(name).suffix
    if suffix in (".json", ".ipynb"):
        citation = json.dumps(citation)[1:-1]
    text = DOCUMENTS[name].replace("@", citation.replace("\n", LINE_BREAKS.get(suffix, "\n"))).replace("\0", "@")
    if suffix not in PARTS:
        return text.encode()
    package = BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        for member, content in PARTS[suffix].items():
            method = zipfile.ZIP_STORED if member == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(member), content.replace("@", text), method)
    return package.getvalue()


def corrected(
    folder: Path, documents: Mapping[str, bytes], *, likely: bool = False
) -> dict[str, tuple[bytes, FixedFile]]:
    """Return each document after its corrections, and the corrections."""
    for name, data in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    wanted = Wanted(set(Kind) - OPTIONAL, likely)
    files = {str(file.path): file for file in fixed_files([folder / name for name in documents], wanted, jobs=1)}
    of_name = {name: files.get(str(folder / name), FixedFile(folder)) for name in documents}
    return {
        name: (file.new_data(documents[name]) if file.corrections else documents[name], file)
        for name, file in of_name.items()
    }


def as_bytes(case: dict[str, Any], key: str) -> bytes:
    return bytes(case[key].encode(case.get("charset", "utf-8")))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, FixedFile]]:
    """Return all broken documents after their corrections, read together."""
    documents = {
        f"{kind}/{name}": document(name, written) for kind, (written, _) in BREAKS.items() for name in DOCUMENTS
    }
    documents |= {f"{number}/{case['name']}": as_bytes(case, "before") for number, case in enumerate(CASES)}
    return corrected(tmp_path_factory.mktemp("broken"), documents)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("kind", BREAKS)
def test_fix_restores_the_document_before_the_break(
    broken: dict[str, tuple[bytes, FixedFile]], kind: str, name: str
) -> None:
    fixed, file = broken[f"{kind}/{name}"]
    before = document(name, BREAKS[kind][1])
    if name == "page.html":  # its comment is no citation, and stays
        before = before.replace(BREAKS[kind][1].encode(), BREAKS[kind][0].encode(), 1)
    assert fixed == before, file.others


@pytest.mark.parametrize(("number", "case"), enumerate(CASES), ids=[case["why"] for case in CASES])
def test_fix_case(broken: dict[str, tuple[bytes, FixedFile]], number: int, case: dict[str, Any]) -> None:
    fixed, file = broken[f"{number}/{case['name']}"]
    assert fixed == as_bytes(case, "after" if "after" in case else "before"), file.others
    if "refusal" in case:
        assert case["refusal"] in [file.problem, *(one.refusal for one in file.others)]
