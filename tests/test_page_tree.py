"""The texts and elements of a page are those of Beautiful Soup."""

import warnings
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from crawler.answers.answer_pages import parse_page, texts
from tests.vectors import vectors

PIECES = [
    "<pre>", "</pre>", "<table>", "<tr>", "<td>", "</table>", "<p>", "<b>", "</b>", "<!-- a -->", "<script>x</script>",
    "<select>", "<ruby>", "<br/>", "</br>", "</p>", "<", ">", "<x-y z>", "<input type=password>", "<p hidden>",
    "<dc:title>", "</dc:title>", '<svg xmlns="http://www.w3.org/2000/svg" xlink:href=x>', "&nbsp;", "&#0;", "&amp;",
    "<div {a}b=1 a=1 a=2 class='x  y'>", "</div>", " \n\t ", "\n", "</body>", "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "<a rel='canonical  cite-as' href=ark:/12148/x5>", "<dl><dt>Who<dd>Rossi", "A map",
]  # fmt: skip
MARKUP = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
CHARSETS = st.sampled_from([None, None, "utf-8", "iso-8859-1", "no-such-charset", "ascii"])


def assert_same(markup: bytes, charset: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(markup, "lxml", from_encoding=charset)
    page = parse_page(markup, charset)
    hidden = ("script", "style", "template", "noscript", "rt", "rp")
    for tag in soup.find_all(hidden):
        tag.decompose()
    etree.strip_elements(page, *hidden, with_tail=False)
    assert "\n".join(texts(page)).split() == "\n".join(soup.strings).split()
    assert [tag.tag for tag in page.iter("*")][1:] == [tag.name for tag in soup.find_all(True)][1:]


@given(MARKUP, CHARSETS)
def test_any_markup(markup: str, charset: str | None) -> None:
    assert_same(f"<p>{markup}".encode(), charset)


@pytest.mark.parametrize("vector", vectors("pages"))
def test_the_pages_of_the_vectors(vector: dict[str, Any]) -> None:
    assert_same(str(vector["markup"]).encode(), None)


def test_text_after_the_end_of_a_page_is_shown() -> None:
    assert texts(parse_page(b"<html><body><p>A map</body></html><p>of Lyon", None)) == ["A map", "of Lyon"]


@pytest.mark.parametrize("markup", [b"", b" ", b"<!-- x -->", b"\x00", b"<![CDATA[", b"<html", b"\xff\xfe", b"</html>"])
def test_odd_bytes_are_a_page_with_little_in_it(markup: bytes) -> None:
    assert len("".join(texts(parse_page(markup, None)))) < 2


@given(st.binary(max_size=60), CHARSETS)
def test_any_bytes(markup: bytes, charset: str | None) -> None:
    assert texts(parse_page(markup, charset)) is not None


def test_elements_in_elements_without_an_end() -> None:
    page = parse_page(b"Map" + b"<div>" * 20_000, None)
    assert "".join(texts(page)) == "Map"
