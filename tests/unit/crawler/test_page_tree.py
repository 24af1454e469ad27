"""A page of any bytes is read: it has a tree of limited size, and its text is complete."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.answer_pages import read_page, redirect_in_page
from crawler.answers.own_part import own_part, parse_page
from tests.vectors import vectors

CHARSETS = st.sampled_from([None, None, "utf-8", "iso-8859-1", "no-such-charset", "ascii", "iso-2022-jp"])


@given(st.binary(max_size=60), CHARSETS)
def test_any_bytes_are_read(markup: bytes, charset: str | None) -> None:
    for page in (markup, b"<p>" + markup):
        read_page(page, charset)
        redirect_in_page(page, charset, "0;url=/item/7")


@pytest.mark.parametrize("markup", [b"", b" ", b"<!-- x -->", b"\x00", b"<![CDATA[", b"<html", b"\xff\xfe", b"</html>"])
def test_odd_bytes_are_a_page_with_little_in_it(markup: bytes) -> None:
    assert len(parse_page(markup, None).get_text()) < 2


@pytest.mark.parametrize("charset", ["iso-2022-jp", "no-such-charset", "undefined", None])
def test_page_in_another_charset_than_named_is_read(charset: str | None) -> None:
    page = parse_page("<p>Carte de l'\N{LATIN CAPITAL LETTER E WITH ACUTE}tat</html><p>de Lyon".encode(), charset)
    assert page.get_text("|") == "Carte de l'\N{LATIN CAPITAL LETTER E WITH ACUTE}tat|de Lyon"


@pytest.mark.parametrize("unit", ["<div>x", "<b>x", "<table><tr><td>x"])
def test_deep_page_keeps_its_text(unit: str) -> None:
    page = parse_page((unit * 8_000).encode(), None)
    assert page.get_text() == "x" * 8_000
    assert len(page.find_all(True)) < 300


@pytest.mark.parametrize("vector", vectors("own_parts"))
def test_own_part_leaves_out_parts_of_the_site(vector: dict[str, str]) -> None:
    assert own_part(parse_page(vector["markup"].encode(), None))[0] == vector["text"]


def test_deep_and_wide_page_keeps_its_text_in_few_elements() -> None:
    page = parse_page(b"<div>" * 200 + b"<p>x</p>" * 5_000, None)
    assert page.get_text() == "x" * 5_000
    assert len(page.find_all(True)) < 2_500
