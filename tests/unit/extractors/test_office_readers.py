"""Office documents: real ones, then vectors that say why they are there, then damage and malice."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.extraction import read_document
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.documents import Role
from extractors.readers import running_text
from extractors.readers.office import office_reader as office
from extractors.readers.office.office_reader import read_docx, read_odp, read_ods, read_odt, read_pptx, read_xlsx
from tests.unit.extractors.packages import WORD, add_namespaces, docx, odt, xlsx, zip_archive
from tests.unit.extractors.readings import assert_sound, damage, kinds, texts
from tests.vectors import FOLDER, vectors

FIXTURES = Path(__file__).parents[2] / "fixtures" / "office"

READERS = {
    "text.docx": read_docx,
    "text.odt": read_odt,
    "text.fodt": read_odt,
    "inventory.xlsx": read_xlsx,
    "inventory.fods": read_ods,
    "slides.pptx": read_pptx,
    "slides.fodp": read_odp,
}


TRUTH = json.loads((FOLDER / "office_fixtures.json").read_text("utf-8"))


def places_by_ark(reading):
    places = {}
    for block in reading.blocks:
        for mention in find_arks(block.text):
            places.setdefault(mention.ark, set()).add(block.place)
    return places


@pytest.mark.parametrize("name", READERS)
def test_every_ark_of_a_real_document_is_found_whole_and_no_other(name):
    reading = READERS[name]((FIXTURES / name).read_bytes())
    truth = TRUTH[name.partition(".")[0]]
    found = places_by_ark(reading)
    assert found.keys() == {Ark.parse(row["ark"]) for row in truth}
    for row in truth:
        if "place" in row:
            assert row["place"] in found[Ark.parse(row["ark"])]
    assert reading.findings == ()


@pytest.mark.parametrize("name", ["text.docx", "text.odt"])
def test_places_of_arks_in_a_text_document(name):
    reading = READERS[name]((FIXTURES / name).read_bytes())
    found = places_by_ark(reading)
    places = {}
    for row in TRUTH["text"]:
        places.setdefault(row["why"], set()).update(
            place.rstrip("0123456789") for place in found[Ark.parse(row["ark"])]
        )
    prefix = "custom" if name == "text.docx" else "meta"
    inside = {"plain", "split over runs", "soft hyphens", "fixed hyphens", "linked", "linked from words", "table"}
    assert places == {why: {"body"} for why in inside | {"text box", "footnote mark"}} | {
        "footnote": {"footnote:"},
        "endnote": {"endnote:"},
        "comment": {"comment:"},
        "header": {"header"},
        "footer": {"footer"},
        "property": {f"{prefix}/Source"},
    }
    assert reading.title == "Sixty ARKs"


def check(reading, vector):
    assert [[b.role.value, b.place, b.text] for b in reading.blocks] == vector["blocks"]
    targets = {block.link: block.text for block in reading.blocks if block.link is not None}
    assert len(targets) == sum(block.role is Role.LINK_TARGET for block in reading.blocks)  # each has its number
    anchors = [(block, anchor) for block in reading.blocks for anchor in block.anchors]
    shown = [[targets[anchor.link], block.text[anchor.start : anchor.end]] for block, anchor in anchors]
    assert shown == vector.get("anchors", [])
    assert list(reading.links) == vector.get("links", [])
    assert reading.title == vector.get("title", "")
    assert reading.base == vector.get("base")
    assert reading.findings == ()


@pytest.mark.parametrize("vector", vectors("docx_reader"))
def test_docx_vector(vector):
    document = docx(
        vector["body"], parts=vector.get("parts"), relations=vector.get("relations"), w=vector.get("namespace", WORD)
    )
    check(read_docx(document), vector)


@pytest.mark.parametrize("flat", [False, True], ids=["package", "flat"])
@pytest.mark.parametrize("vector", vectors("opendocument_reader"))
def test_opendocument_vector(vector, flat):
    document = odt(vector["body"], meta=vector.get("meta", ""), styles=vector.get("styles", ""), flat=flat)
    check(read_odt(document), vector)


@pytest.mark.parametrize("vector", vectors("xlsx_reader"))
def test_xlsx_vector(vector):
    check(read_xlsx(xlsx(vector["body"], parts=vector.get("parts"))), vector)


PARAGRAPH = "<w:p><w:r><w:t>ark:/12148/x5</w:t></w:r></w:p>"


def test_run_of_a_slide_with_its_own_format_separates_an_ark_from_a_number():
    runs = (
        "<a:r><a:rPr lang='en' i='1'/><a:t>see ark:/57458/r0ws2</a:t></a:r>"
        "<a:r><a:rPr lang='de' dirty='0'/><a:t>14. A, ark:/57458/r0ws</a:t></a:r>"
        "<a:r><a:rPr lang='en' err='1'/><a:t>315. The, </a:t></a:r>"
        "<a:fld><a:t>ark:/57458/r0ws4/</a:t></a:fld><a:r><a:t>1936</a:t></a:r>"
    )
    slide = add_namespaces(f"<sld><a:p>{runs}</a:p></sld>")
    reading = read_pptx(zip_archive({"ppt/slides/slide1.xml": slide}))
    assert texts(reading) == ["see ark:/57458/r0ws2\n14. A, ark:/57458/r0ws315. The, ark:/57458/r0ws4/ 1936"]


def test_body_is_recognized_by_its_root_element():
    members = {"word\\document2.xml": add_namespaces(f"<w:document>{PARAGRAPH}</w:document>")}  # and with backslashes
    assert texts(read_docx(zip_archive(members))) == ["ark:/12148/x5"]


def test_a_part_in_utf_16_is_read():
    markup = '<?xml version="1.0" encoding="UTF-16"?>' + add_namespaces(f"<w:document>{PARAGRAPH}</w:document>")
    assert texts(read_docx(zip_archive({"word/document.xml": markup.encode("utf-16")}))) == ["ark:/12148/x5"]


def test_archive_without_a_document_is_reported():
    for read, missing in {read_docx: "body", read_pptx: "slides", read_xlsx: "sheets", read_odt: "content"}.items():
        reading = read(zip_archive({"a.txt": "x"}))
        assert [(each.kind, each.detail) for each in reading.findings] == [("unreadable", f"it has no {missing}")]


def test_malformed_markup_is_read_as_far_as_it_goes():
    reading = read_docx(zip_archive({"word/document.xml": add_namespaces(f"<w:document>{PARAGRAPH}<w:p><w:r><w:t>on")}))
    assert texts(reading) == ["ark:/12148/x5", "on"]
    assert kinds(reading) == ["malformed-markup"]
    assert reading.findings[0].detail.startswith("word/document.xml: ")


def test_damaged_relations_cost_only_the_links():
    parts = {"word/_rels/document.xml.rels": "<Relationships><Relationship Id='r1' Type='hyperlink' Target='http://a"}
    reading = read_docx(docx(f"{PARAGRAPH}<w:hyperlink r:id='r1'>{PARAGRAPH}</w:hyperlink>", parts=parts))
    assert texts(reading) == ["ark:/12148/x5"] * 2
    assert kinds(reading) == ["malformed-markup"]


@pytest.mark.parametrize("depth", [100, 300, 100_000])
def test_deep_nesting_is_read_or_reported(depth):
    reading = read_docx(docx(PARAGRAPH + "<w:sdt>" * depth + PARAGRAPH + "</w:sdt>" * depth))
    assert texts(reading)[0] == "ark:/12148/x5"
    assert len(texts(reading)) == 2 or kinds(reading) == ["cut-off"]


def test_a_billion_laughs_are_not_laughed():
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    laughs = f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]>'
    body = add_namespaces(f"<w:document>{PARAGRAPH}<w:p><w:r><w:t>&l9;</w:t></w:r></w:p></w:document>")
    reading = read_docx(zip_archive({"word/document.xml": laughs + body}))
    assert texts(reading)[0] == "ark:/12148/x5"
    assert kinds(reading) == ["cut-off"]


def test_no_file_of_this_machine_is_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("ark:/12148/secret")
    doctype = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    body = add_namespaces(f"<w:document>{PARAGRAPH}<w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:document>")
    assert texts(read_docx(zip_archive({"word/document.xml": doctype + body}))) == ["ark:/12148/x5"]


def test_one_long_string_in_every_cell_is_shown_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(running_text, "MOST_CHARS", 1_000)
    cells = "".join(f"<c r='A{row}' t='s'><v>0</v></c>" for row in range(1, 100))
    strings = {"xl/sharedStrings.xml": f"<sst><si><t>{'x' * 300}</t></si></sst>"}
    reading = read_xlsx(xlsx(f"<worksheet>{cells}</worksheet>", parts=strings))
    assert len(reading.blocks) == 3
    assert kinds(reading) == ["cut-off"]


def test_paragraphs_without_end_are_read_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(running_text, "MOST_BLOCKS", 10)
    reading = read_docx(docx(PARAGRAPH * 50))
    assert len(reading.blocks) == 10
    assert kinds(reading) == ["cut-off"]


def test_an_opendocument_file_under_a_password_is_encrypted_and_no_text():
    entry = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    manifest = add_namespaces(f"<manifest:manifest>{entry}</manifest:manifest>")
    reading = read_odt(zip_archive({"META-INF/manifest.xml": manifest, "content.xml": b"\x8f\x13\x07" * 50}))
    assert kinds(reading) == ["encrypted"]
    assert reading.blocks == ()


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    for read in READERS.values():
        for package in (data, b"PK\x03\x04" + data):
            reading = read(package)
            assert_sound(reading)
            assert reading.findings


@given(st.data())
def test_no_damage_to_a_real_document_raises(data):
    name = data.draw(st.sampled_from(["text.docx", "inventory.xlsx", "slides.fodp"]))
    reading = READERS[name](damage(data, (FIXTURES / name).read_bytes()))
    assert_sound(reading)
    assert reading.blocks or reading.findings


ELEMENTS = [
    "p r t hyperlink fldSimple del ins pPr rPr txbxContent footnote br tab instrText",
    "text:p text:span text:a text:note text:note-body office:annotation table:table table:table-row table:table-cell",
]


FIELD_CHARACTERS = [f'<w:fldChar w:fldCharType="{kind}"/>' for kind in ("begin", "separate", "end")]

WORD_PIECES = ["x", *FIELD_CHARACTERS, "<w:vertAlign w:val='superscript'/>"]


WORD_PIECES += [f"<{slash}w:{name}>" for name in ELEMENTS[0].split() for slash in ("", "/")]


ODF_PIECES = ["x", " ", "<text:s/>", "<office:spreadsheet>", "<office:meta>"]


ODF_PIECES += [f"<{slash}{name}>" for name in ELEMENTS[1].split() for slash in ("", "/")]


@given(st.lists(st.sampled_from(WORD_PIECES), max_size=40))
def test_any_order_of_the_elements_of_word_is_a_document(pieces):
    reading = read_docx(docx("".join(pieces)))
    assert all(0 <= a.start < a.end <= len(b.text) for b in reading.blocks for a in b.anchors)


@given(st.lists(st.sampled_from(ODF_PIECES), max_size=40))
def test_any_order_of_the_elements_of_opendocument_is_a_document(pieces):
    reading = read_odt(odt("".join(pieces)))
    assert all(0 <= a.start < a.end <= len(b.text) for b in reading.blocks for a in b.anchors)


ARK = "ark:/12148/btv1b8449691v"


@given(st.lists(st.tuples(st.integers(1, len(ARK) - 1), st.sampled_from(["run", "soft", "proof"])), max_size=6))
def test_an_ark_is_whole_wherever_runs_and_soft_hyphens_part_it(cuts):
    between = {"run": "</w:t></w:r><w:r><w:t>", "soft": "</w:t><w:softHyphen/><w:t>"}
    between["proof"] = "</w:t></w:r><w:proofErr w:type='spellStart'/><w:r><w:t>"
    written = ARK
    for place, kind in sorted(cuts, reverse=True):
        written = written[:place] + between[kind] + written[place:]
    [block] = read_docx(docx(f"<w:p><w:r><w:t>{written}</w:t></w:r></w:p>")).blocks
    [mention] = find_arks(block.text)
    assert mention.ark == Ark.parse(ARK)


def test_the_media_types():
    assert office.DOCX.endswith("wordprocessingml.document")
    assert read_odt(odt("<text:p>x</text:p>")).media_type == office.ODT
    assert read_ods(odt("<text:p>x</text:p>")).media_type == office.ODS


def test_an_office_document_with_a_password_is_called_that():
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1016)
    [plain] = read_document(ole + "WordDocument".encode("utf-16-le"), name="a.docx").findings
    [encrypted] = read_document(ole + "EncryptedPackage".encode("utf-16-le"), name="a.docx").findings
    assert (plain.kind, encrypted.kind) == ("unknown-format", "encrypted")
