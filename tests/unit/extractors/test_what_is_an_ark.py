"""ARKs and texts that only look like one: templates, queries, shoulders, escapes, a label without its colon."""

from typing import Any

import pytest

from extractors.extraction import extraction_of
from extractors.model.ark import Ark, Remark
from extractors.model.check_characters import KNOWN_ZONES, CheckCharacter
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("no_arks"))
def test_templates_queries_and_shoulders_are_no_arks(vector: dict[str, Any]) -> None:
    for document in (vector["text"], f"<p>{vector['text'].replace('&', '&amp;').replace('<', '&lt;')}</p>"):
        read = extraction_of(document.encode(), name="a.html" if document.startswith("<p>") else "a.txt")
        assert [str(mention.ark) for mention in read.mentions] == vector["arks"]


@pytest.mark.parametrize("vector", vectors("malformed_arks"))
def test_a_label_without_its_colon_is_a_finding(vector: dict[str, Any]) -> None:
    read = extraction_of(vector["document"].encode())
    assert [each.detail for each in read.findings if each.kind == "malformed-ark"] == vector["malformed"]
    assert not any("/ark/" in mention.as_written for mention in read.mentions)


@pytest.mark.parametrize("vector", vectors("escaped_arks"))
def test_an_escaped_ark_ends_with_its_escapes(vector: dict[str, Any]) -> None:
    [mention] = extraction_of(vector["text"].encode(), name="a.txt").mentions
    assert str(mention.ark) == vector["ark"]
    assert (Remark.URL_GOES_ON in mention.remarks) is vector["goes_on"]


@pytest.mark.parametrize("name", ["c7", "p9", "kt", "qt"])
def test_the_check_character_of_a_bare_shoulder_is_never_asked_for(name: str) -> None:
    naan = "99166" if name == "p9" else "13030"
    read = extraction_of(f"ark:/{naan}/{name}".encode(), name="a.txt")
    assert read.mentions == ()
    assert [finding.kind for finding in read.findings] == ["namespace-mention"]
    assert KNOWN_ZONES.check(Ark(naan, name)) is CheckCharacter.UNKNOWN
