"""EPUB: a real book, vectors that say why they are there, then books that are broken, locked or hostile."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.documents import Role
from extractors.readers import running_text
from extractors.readers.office.epub import read_epub
from tests.unit.extractors.packages import epub, zip_archive
from tests.unit.extractors.readings import assert_sound, damage, kinds, texts
from tests.vectors import FOLDER, vectors

BOOK = (Path(__file__).parents[2] / "fixtures" / "office" / "text.epub").read_bytes()
#: Content that LibreOffice leaves out of a book, or raises by a style sheet, which is not read.
NOT_IN_THE_BOOK = {"comment", "footer", "footnote mark", "header", "property"}


def test_every_ark_of_a_real_book_is_found_whole():
    reading = read_epub(BOOK)
    truth = json.loads((FOLDER / "office_fixtures.json").read_text("utf-8"))["text"]
    found = {mention.ark for block in reading.blocks for mention in find_arks(block.text)}
    assert {Ark.parse(row["ark"]) for row in truth if row["why"] not in NOT_IN_THE_BOOK} <= found
    assert (reading.title, reading.findings) == ("Sixty ARKs", ())


@pytest.mark.parametrize("vector", vectors("epub_reader"))
def test_epub_vector(vector):
    given_parts = {key: vector[key] for key in ("metadata", "spine", "others") if key in vector}
    reading = read_epub(epub(vector["chapters"], **given_parts))
    if "blocks" in vector:
        assert [[b.role.value, b.place, b.text] for b in reading.blocks] == vector["blocks"]
    assert list(reading.links) == vector.get("links", [])
    assert reading.title == vector.get("title", "")
    assert reading.findings == ()


def test_links_are_distinguished_across_chapters():
    chapter = "<p>At <a href='https://n2t.net/ark:/12148/{0}'>ark:/12148/{0}</a>.</p>"
    book = read_epub(epub({name: chapter.format(name) for name in "abc"}))
    targets = {block.link: block.text for block in book.blocks if block.role is Role.LINK_TARGET}
    anchored = [(block.text, anchor) for block in book.blocks for anchor in block.anchors]
    shown = [(targets[anchor.link], text[anchor.start : anchor.end]) for text, anchor in anchored]
    assert shown == [(f"https://n2t.net/ark:/12148/{name}", f"ark:/12148/{name}") for name in "abc"]


def test_without_a_package_document_all_pages_are_read_in_natural_order():
    pages = {f"text/ch{number}.xhtml": f"<p>ark:/12148/x{number}</p>" for number in (10, 9, 1)}
    reading = read_epub(zip_archive({"mimetype": "application/epub+zip", **pages}))
    assert texts(reading) == ["ark:/12148/x1", "ark:/12148/x9", "ark:/12148/x10"]
    assert kinds(reading) == ["unreadable"]


def test_a_broken_package_document_costs_nothing_but_its_end():
    broken = "<package><metadata><title>T</title></metadata><manifest><item id='b' href='b.xhtml'"
    reading = read_epub(epub({"a.xhtml": "<p>ark:/12148/one</p>"}, others={"EPUB/book.opf": broken}))
    assert (texts(reading), reading.title, kinds(reading)) == (["ark:/12148/one"], "T", ["malformed-markup"])


def test_a_locked_chapter_is_encrypted_and_the_others_are_read():
    method = "<EncryptionMethod Algorithm='http://www.w3.org/2001/04/xmlenc#aes128-cbc'/>"
    data = f"<EncryptedData>{method}<CipherReference URI='EPUB/a.xhtml'/></EncryptedData>"
    others = {"META-INF/encryption.xml": f"<encryption>{data}</encryption>"}
    reading = read_epub(epub({"a.xhtml": "\x05\x17" * 50, "b.xhtml": "<p>ark:/12148/two</p>"}, others=others))
    assert (texts(reading), kinds(reading)) == (["ark:/12148/two"], ["encrypted"])


def test_findings_name_their_chapter():
    garbled = "<html><p>d\xe9j\xe0 vu</p></html>".encode("latin-1")
    reading = read_epub(epub({"a.xhtml": ""}, others={"EPUB/a.xhtml": garbled}))
    assert [finding.kind for finding in reading.findings] == ["guessed-charset"]
    assert reading.findings[0].detail.startswith("EPUB/a.xhtml: ")


def test_a_book_of_too_many_pieces_is_read_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(running_text, "MOST_BLOCKS", 5)
    reading = read_epub(epub({"a.xhtml": "<p>ark:/12148/x</p>" * 4, "b.xhtml": "<p>ark:/12148/x</p>" * 4}))
    assert len(reading.blocks) == 5
    assert kinds(reading) == ["cut-off"]


@given(st.data())
def test_no_damage_to_a_real_book_raises(data):
    damaged = damage(data, BOOK)
    reading = read_epub(damaged)
    assert_sound(reading)
    assert reading.blocks or reading.findings
    assert read_epub(damaged) == reading
