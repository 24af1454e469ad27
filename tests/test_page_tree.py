"""The tree of a page is that of Beautiful Soup, whatever the page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from bs4.element import CData, NavigableString
from bs4.exceptions import ParserRejectedMarkup
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.page_tree import Element, Text, parsed
from tests.vectors import vectors

PIECES = [
    "<pre>", "</pre>", "<table>", "<tr>", "<td>", "</table>", "<script>", "</script>", "<!--", "-->", "<p>", "<b>",
    "</b>", "<title>", "</title>", "<template>", "</template>", "<noscript>", "</noscript>", "<ruby>", "<rt>x</rt>",
    "<rp>", "<select>", "<textarea>\n\n</textarea>", "<![CDATA[x]]>", "<?php echo ?>", "<!doctype html>",
    "<dc:title>", "</dc:title>", "<frameset>", '<svg xmlns="http://www.w3.org/2000/svg" xlink:href=x>',
    "<div {a}b=1 a=1 a=2 class='x  y'>", "</div>", "<meta charset=utf-16>",
    "<meta http-equiv=content-type content='text/html; charset=latin1'>", "\x00", "&nbsp;", "&#0;", "&amp;",
    " \n\t ", "\n", "</body>", "<html lang=en>", "</html>", "<a rel='canonical  cite-as' href=ark:/12148/x5>",
    "<dl><dt>Who<dd>Rossi", "<style>", "</style>", "<p hidden>", "<br/>", "</br>", "</p>", "<", ">",
    "\N{LATIN SMALL LETTER E WITH ACUTE}", "\ufeff", "<x-y z>", "<input type=password>",
]  # fmt: skip
MARKUP = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=24).map("".join)
CHARSETS = st.sampled_from([None, None, "utf-8", "iso-8859-1", "utf-16", "no-such-charset", "ascii"])


def flat(element: Element, depth: int = 0) -> Iterator[tuple[int, str, Any]]:
    """What an element holds: each node with its depth, its name or text, and its attributes or whether it is shown."""
    for node in element.contents:
        assert node.parent is element
        if isinstance(node, Text):
            yield depth, str(node) if node.is_shown else "", node.is_shown
        else:
            yield depth, node.name, {name: " ".join(value.split()) for name, value in node.attributes.items()}
            yield from flat(node, depth + 1)


def soup_flat(tag: Tag, depth: int = 0) -> Iterator[tuple[int, str, Any]]:
    for node in tag.contents:
        if isinstance(node, Tag):
            attributes = {
                str(name): " ".join((value if isinstance(value, str) else " ".join(value)).split())
                for name, value in node.attrs.items()
            }
            yield depth, node.name, attributes
            yield from soup_flat(node, depth + 1)
        else:
            is_shown = type(node) in (NavigableString, CData)
            yield depth, str(node) if is_shown else "", is_shown


def soup_of(markup: bytes, charset: str | None) -> BeautifulSoup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BeautifulSoup(markup, "lxml", from_encoding=charset)


def assert_same(markup: bytes, charset: str | None) -> None:
    try:
        soup = soup_of(markup, charset)
    except ParserRejectedMarkup:
        with pytest.raises(ParserRejectedMarkup):
            parsed(markup, charset)
        return
    page = parsed(markup, charset)
    assert list(flat(page)) == list(soup_flat(soup))
    assert list(page.texts) == list(soup.strings)
    first = soup.find("p")
    if isinstance(first, Tag):
        [own, *_] = [node for node in page.descendants if node.name == "p"]
        assert isinstance(own, Element)
        following, expected = own.next_element(), first.find_next_sibling()
        assert (following and following.name) == (expected.name if isinstance(expected, Tag) else None)
    for hidden in soup.find_all(["script", "style", "template", "noscript"]):
        hidden.decompose()
    page.remove_all("script", "style", "template", "noscript")
    assert list(flat(page)) == list(soup_flat(soup))


@given(MARKUP, CHARSETS)
def test_any_markup(markup: str, charset: str | None) -> None:
    assert_same(markup.encode("utf-8", "replace"), charset)


@given(st.binary(max_size=60), CHARSETS)
def test_any_bytes(markup: bytes, charset: str | None) -> None:
    assert_same(markup, charset)


@pytest.mark.parametrize("vector", vectors("pages"))
def test_the_pages_of_the_vectors(vector: dict[str, Any]) -> None:
    assert_same(str(vector["markup"]).encode(), None)


def test_thousands_of_elements_that_are_left_out_take_no_time_of_their_own() -> None:
    page = parsed(b"<p>Map" + b"<script>x</script>" * 7_000, None)
    page.remove_all("script")
    assert "".join(page.texts) == "Map"


def test_elements_in_elements_without_an_end() -> None:
    page = parsed(b"<div>" * 20_000 + b"Map", None)
    assert "".join(page.texts) == "Map"
