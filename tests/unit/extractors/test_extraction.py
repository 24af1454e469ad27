"""A whole document: its complete ARKs settle its broken ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.extraction import extraction_of, whole_arks
from extractors.mentions.mention import relative_resolvers
from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter, check_character
from extractors.wraps.evidence import Evidence, Fit, Shapes
from extractors.wraps.rules import Confidence
from tests.vectors import vectors

names = st.text("0123456789bcdfgk", min_size=6, max_size=10).flatmap(
    lambda stem: st.sampled_from([f"b{stem}", f"b{stem}" + check_character(f"b{stem}")])
)
WHOLE = "ark:/76543/pf1kq8x, ark:/76543/pf2m3zv and ark:/76543/pf9tt4w are intact. "


def arks(text: str) -> list[str]:
    return [str(mention.ark) for mention in extraction_of(text.encode(), name="a.txt").mentions]


def test_a_shape_is_learned_from_three_names_that_agree_and_from_no_fewer() -> None:
    names = [Ark("76543", name) for name in ("pf1kq8x", "pf2m3zv", "pf9tt4w")]
    assert Shapes.learn(names[:2]).fit(names[2]) is None
    assert Shapes.learn([*names, Ark("76543", "pf12")]).fit(names[0]) is None
    learned = Shapes.learn(names)
    assert learned.fit(Ark("76543", "pf7zzzz")) is Fit.FITS
    assert learned.fit(Ark("76543", "pf7")) is Fit.TOO_SHORT
    assert learned.fit(Ark("76543", "pf7zzzz2019")) is Fit.TOO_LONG
    assert learned.fit(Ark("76543", "qt7zzzz")) is None


def test_the_shape_of_whole_names_joins_a_broken_one() -> None:
    assert arks(WHOLE + "Only ark:/76543/pf5\nqqqq is broken.")[-1] == "ark:76543/pf5qqqq"


def test_the_shape_of_whole_names_keeps_the_next_line_out() -> None:
    assert arks(WHOLE + "It ends here: ark:/76543/pf5qqqq\n4to is a size.")[-1] == "ark:76543/pf5qqqq"


def test_a_link_target_settles_its_broken_text() -> None:
    page = "<a href='https://n2t.net/ark:/76543/pf5qqqq'>ark:/76543/pf5<br>qqqq</a>"
    mentions = extraction_of(page.encode(), name="a.html").mentions
    assert {str(mention.ark) for mention in mentions} == {"ark:76543/pf5qqqq"}
    assert {mention.role.value for mention in mentions} == {"link-target", "text"}


def test_a_namespace_is_a_finding_and_no_mention() -> None:
    extraction = extraction_of(b"All names begin with ark:/12148/ here.", name="a.txt")
    assert extraction.mentions == ()
    assert [finding.kind for finding in extraction.findings] == ["namespace-mention"]


def test_a_line_of_metadata_ends_an_ark_as_a_line_of_text_does() -> None:
    page = "<meta name='description' content='Scans: ark:/76543/x5abc\nThe letters'>"
    assert [str(mention.ark) for mention in extraction_of(page.encode(), name="a.html").mentions] == ["ark:76543/x5abc"]


@pytest.mark.parametrize("vector", vectors("documents"))
def test_a_document_gives_its_arks(vector: dict[str, Any]) -> None:
    extraction = extraction_of(vector["source"].encode(), name=vector["name"])
    described = [
        (str(mention.ark), mention.confidence.token, mention.repaired, list(map(str, mention.alternatives)))
        for mention in extraction.mentions
    ]
    expected = vector["arks"]
    if "findings" in vector:
        assert [finding.detail for finding in extraction.findings] == vector["findings"]
    assert [list(row[: len(claims)]) for row, claims in zip(described, expected, strict=True)] == expected


def test_address_relative_to_its_scheme_takes_that_of_its_page() -> None:
    extraction = extraction_of(b"<a href='//r.example:8080/q/ark:/12148/bpt6k40719286'>map</a>", name="a.html")
    for scheme in ("http", "https"):
        resolvers = relative_resolvers(extraction.mentions, extraction.reading, f"{scheme}://page.example/a")
        assert list(resolvers) == [f"{scheme}://r.example:8080/q/"]


@given(st.lists(st.tuples(names, st.sampled_from(["", "\n", "-\n", ", ", "\n14 ", "Maps ", "\\\n"])), max_size=6))
def test_failing_name_is_never_certain_and_never_evidence(parts: list[tuple[str, str]]) -> None:
    text = " ".join(f"see ark:/12148/{name}{end}{name[-2:]}" for name, end in parts)
    extraction = extraction_of(text.encode(), name="a.txt")
    for mention in extraction.mentions:
        if mention.check is CheckCharacter.FAILS:
            assert mention.confidence < Confidence.CERTAIN
            assert mention.ark not in whole_arks(extraction.mentions)
            assert not Evidence.from_arks([mention.ark]).has_whole_ark(str(mention.ark))


@pytest.mark.parametrize("vector", vectors("lines"))
def test_mention_of_a_text_has_its_line(vector: dict[str, Any]) -> None:
    extraction = extraction_of(vector["text"].encode(), name=vector["name"])
    assert [mention.line for mention in extraction.mentions] == vector["lines"]
