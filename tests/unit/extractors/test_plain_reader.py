"""Plain text, and how bytes become characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.extraction import extraction_of
from extractors.model.decoding import decode, utf16_order
from extractors.readers.plain import read_plain
from extractors.wraps.rules import Confidence

SAMPLE = "déjà \N{EN DASH} ark:/12148/btv1b84"


@pytest.mark.parametrize(
    ("data", "declared", "charset"),
    [
        pytest.param(SAMPLE.encode(), None, "utf-8", id="UTF-8"),
        pytest.param(SAMPLE.encode("utf-8-sig"), "latin-1", "utf-8", id="a byte order mark beats the header"),
        pytest.param(SAMPLE.encode("utf-16"), None, "utf-16-le", id="UTF-16 with a mark"),
        pytest.param(SAMPLE.encode("utf-32"), None, "utf-32-le", id="UTF-32 with a mark, no UTF-16 with NULs"),
        pytest.param(SAMPLE.encode("utf-16-be"), None, "utf-16-be", id="UTF-16 without a mark"),
        pytest.param(SAMPLE.encode("utf-16-le"), "utf-8", "utf-16-le", id="UTF-16 despite the header"),
        pytest.param(SAMPLE.encode("cp1252"), "ISO-8859-1", "cp1252", id="latin-1 means windows-1252"),
        pytest.param(SAMPLE.encode("cp1252"), "us-ascii", "cp1252", id="so does ASCII"),
        pytest.param(SAMPLE.encode(), "utf-16", "utf-8", id="no UTF-16 without a NUL"),
        pytest.param(SAMPLE.encode(), "rot13", "utf-8", id="a codec that is no charset"),
        pytest.param(SAMPLE.encode(), "hex", "utf-8", id="another"),
        pytest.param(SAMPLE.encode(), "unicode_escape", "utf-8", id="and another"),
        pytest.param(SAMPLE.encode(), "\0\N{SNOWMAN}", "utf-8", id="an unknown charset"),
        pytest.param(SAMPLE.encode(), "euc-jp", "utf-8", id="a declared charset that doesn't fit is passed over"),
        pytest.param(SAMPLE.encode() + b"\xe2\x80", None, "utf-8", id="a character cut off at the end"),
    ],
)
def test_sure_charset(data, declared, charset):
    decoded = decode(data, declared)
    assert (decoded.text, decoded.charset, decoded.is_guess) == (SAMPLE, charset, False)


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        pytest.param(SAMPLE.encode("cp1252"), None, SAMPLE, id="nothing declared"),
        pytest.param(SAMPLE.encode("cp1252"), "utf-8", SAMPLE, id="declared UTF-8, and wrong everywhere"),
        pytest.param(SAMPLE.encode() + b"\xff!", "utf-8", SAMPLE + "\N{REPLACEMENT CHARACTER}!", id="one stray byte"),
        pytest.param(b"voil\xe0", None, "voilà", id="the last letter might be the first byte of another"),
        pytest.param(b"\xe9\x81", None, "é\N{REPLACEMENT CHARACTER}", id="no charset has it all"),
    ],
)
def test_guessed_charset(data, declared, text):
    reading = read_plain(data, charset=declared)
    assert [block.text for block in reading.blocks] == [text]
    assert [finding.kind for finding in reading.findings] == ["guessed-charset"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r", "\f", "\N{LINE SEPARATOR}", "\N{NEXT LINE}"])
def test_line_breaks_are_untouched(newline):
    text = f" ark:/12148/btv1b-{newline}84 "
    assert read_plain(text.encode()).blocks[0].text == text


def test_blank_text_has_no_block():
    assert read_plain(b" \r\n").blocks == ()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=4))
def test_ascii_in_utf16_is_recognized_in_either_order(text):
    assert utf16_order(text.encode("utf-16-le")) == "utf-16-le"
    assert utf16_order(text.encode("utf-16-be")) == "utf-16-be"
    assert utf16_order(text.encode()) is None


@given(st.binary(), st.none() | st.text() | st.sampled_from(["utf-8", "utf-16", "shift_jis", "gb18030", "idna"]))
def test_no_bytes_raise_under_any_label(data, label):
    decoded = decode(data, label)
    decoded.text.encode()
    if data.isascii() and b"\0" not in data and label in (None, "utf-8"):
        assert decoded.text == data.decode()
    assert decode(data, label) == decoded


TYPED = """\
The photograph of the harbour, which was taken from the
roof of the mill, is kept as ark:/13030/m5f
qq7v24r in the county library. The second copy was made
from the same plate, but with another exposure, and is
kept in a private house. It has no number of its own, and
nobody has seen it since. The letters that belong to it
were given to the county in that year and stand
next to it. They name the photographer, who had come
from the coast, and two of the workers. A list of the
people on the roof was made much later, in pencil, by
somebody who knew them, and is not always right. See
the guide for what is known about this hand.
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_empty_line_after_each_line_ends_no_name(newline):
    [mention] = extraction_of((TYPED * 2).replace("\n", newline * 2).encode()).mentions[:1]
    assert (str(mention.ark), mention.confidence) == ("ark:13030/m5fqq7v24r", Confidence.CERTAIN)


def test_empty_line_between_paragraphs_ends_a_name():
    entries = "Photograph of the mill: ark:/13030/m5f\n\nqq7v24r is the number of the plate.\n\nSee the guide.\n\n" * 9
    assert {str(mention.ark) for mention in extraction_of(entries.encode()).mentions} == {"ark:13030/m5f"}
