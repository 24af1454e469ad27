"""Markdown, reStructuredText, LaTeX, BibTeX, CSV, JSON, RTF, GEDCOM: vectors, limits, hostile input."""

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.extraction import extraction_of, read_document, reader_of
from extractors.model.formats import FORMATS, Format, format_of
from extractors.readers import escaped_text, gedcom, plain, structured_data
from extractors.readers.markup import markdown
from extractors.readers.office import rtf
from tests.growth import LINEAR, growth, seconds
from tests.unit.extractors.readings import kinds
from tests.vectors import vectors

SUFFIXES = ("md", "rst", "tex", "bib", "csv", "json", "jsonl", "ged", "rtf")
FORMAT_OF = {suffix: format_of(b"x", name=f"a.{suffix}") for suffix in SUFFIXES}
READERS = {suffix: reader_of(kind) for suffix, kind in FORMAT_OF.items()}
#: In a vector: this text may be anything; only the mentions in it matter.
ANY_TEXT = "\0any"


def texts(reading):
    return [block.text for block in reading.blocks]


def visible_links(reading):
    return [block.text[anchor.start : anchor.end] for block in reading.blocks for anchor in block.anchors]


def test_every_text_format_has_its_suffix_here_and_a_vector():
    plain = {kind for kind, declared in FORMATS.items() if declared.is_sent_as_plain}
    assert set(FORMAT_OF.values()) == {*plain, Format.RTF}
    assert [suffix for suffix in SUFFIXES if not SOURCES[suffix]] == []


@pytest.mark.parametrize("vector", vectors("text_formats"))
def test_vector(vector):
    reading = read_document(vector["source"].encode(), name=vector["name"])
    blocks = [[block.role.value, block.place, block.text] for block in reading.blocks]
    expected = vector["blocks"]
    assert len(blocks) == len(expected)
    assert [got for got, want in zip(blocks, expected, strict=True) if want[2] != ANY_TEXT] == [
        want for want in expected if want[2] != ANY_TEXT
    ]
    assert list(reading.links) == vector.get("links", [])
    assert reading.title == vector.get("title", "")
    assert kinds(reading) == vector.get("findings", [])
    if "linked" in vector:
        assert visible_links(reading) == vector["linked"]


@pytest.mark.parametrize("vector", [vector for vector in vectors("text_formats") if "arks" in vector.values[0]])
def test_arks_of_a_vector(vector):
    mentions = extraction_of(vector["source"].encode(), name=vector["name"]).mentions
    assert [str(mention.ark) for mention in mentions] == vector["arks"]
    if "confidence" in vector:
        assert [mention.confidence.token for mention in mentions] == vector["confidence"]


@pytest.mark.parametrize("suffix", ["md", "rst", "tex"])
def test_an_anchor_leads_to_the_target_of_its_number(suffix):
    sources = {
        "md": "[ark:/12345/x5](https://n2t.net/ark:/12345/x5) [ark:/12345/x6](https://n2t.net/ark:/12345/x6)",
        "rst": "`ark:/12345/x5 <https://n2t.net/ark:/12345/x5>`_ `ark:/12345/x6 <https://n2t.net/ark:/12345/x6>`_",
        "tex": r"\href{https://n2t.net/ark:/12345/x5}{ark:/12345/x5} \href{https://n2t.net/ark:/12345/x6}{ark:/12345/x6}",
    }
    blocks = READERS[suffix](sources[suffix].encode()).blocks
    targets = {block.link: block.text for block in blocks if block.link is not None}
    shown = {
        targets[anchor.link]: block.text[anchor.start : anchor.end] for block in blocks for anchor in block.anchors
    }
    assert shown == {f"https://n2t.net/ark:/12345/{name}": f"ark:/12345/{name}" for name in ("x5", "x6")}


@pytest.mark.parametrize("suffix", sorted(READERS.keys() - {"rtf"}))
def test_a_declared_charset_is_used(suffix):
    sources = {"csv": '"é: ark:/12345/x5"', "json": '["é: ark:/12345/x5"]', "jsonl": '["é: ark:/12345/x5"]'}
    sources["ged"] = "1 NOTE é: ark:/12345/x5"
    source = sources.get(suffix, "@misc{k, note={é: ark:/12345/x5}}" if suffix == "bib" else "é: ark:/12345/x5")
    reading = READERS[suffix](source.encode("cp1252"), charset="iso-8859-1")
    assert texts(reading) == ["é: ark:/12345/x5"]
    assert reading.findings == ()


# -- Limits


@pytest.mark.parametrize(
    ("module", "suffix", "line"),
    [
        pytest.param(escaped_text, "rst", b"ark:/12345/x5\n", id="reStructuredText"),
        pytest.param(escaped_text, "tex", b"ark:/12345/x5\n", id="LaTeX"),
        pytest.param(escaped_text, "bib", b"@misc{k, note={ark:/12345/x5}}\n", id="BibTeX"),
        pytest.param(gedcom, "ged", b"0 NOTE ark:/12345/x5\n", id="GEDCOM"),
        pytest.param(rtf, "rtf", b"ark:/12345/x5\\par ", id="RTF"),
        pytest.param(structured_data, "csv", b"x,ark:/12345/x5\n", id="CSV"),
        pytest.param(structured_data, "jsonl", b'["ark:/12345/x5"]\n', id="JSON Lines"),
    ],
)
def test_limit_is_reported(monkeypatch, module, suffix, line):
    monkeypatch.setattr(module, "MOST_BYTES", 3 * len(line))
    reading = READERS[suffix](4 * line)
    assert "".join(texts(reading)).count("ark:/12345/x5") == 3
    assert kinds(reading) == ["cut-off"]


def test_plain_text_has_a_limit_too(monkeypatch):
    monkeypatch.setattr(plain, "MOST_BYTES", 4)
    reading = plain.read_plain(b"ark:/12345/x5")
    assert (texts(reading), kinds(reading)) == (["ark:"], ["cut-off"])


def test_a_book_in_markdown_is_read_as_text(monkeypatch):
    monkeypatch.setattr(markdown, "MOST_BYTES", 20)
    reading = markdown.read_markdown(b"See [it](https://n2t.net/ark:/12345/x5).")
    assert texts(reading) == ["See [it](https://n2t.net/ark:/12345/x5)."]
    assert (reading.media_type, kinds(reading)) == ("text/markdown", ["read-as-text"])


def test_a_long_target_referred_to_often_is_no_bomb():
    source = b"[a]: https://n2t.net/ark:/12345/" + b"x" * 10_000 + b"\n\n" + b"[a] " * 10_000
    reading = markdown.read_markdown(source)
    assert kinds(reading) == ["read-as-text"]
    assert sum(map(len, texts(reading))) <= len(source)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":['])
def test_json_of_any_depth(opening):
    closing = {ord("["): b"]", ord("{"): b"}"}
    ends = b"".join(closing[byte] for byte in reversed(opening) if byte in closing)
    reading = structured_data.read_json(opening * 100_000 + b'"ark:/12345/x5"' + ends * 100_000)
    assert texts(reading) == ["ark:/12345/x5"]
    assert len(reading.blocks[0].place) < 1000
    assert reading.findings == ()


def test_json_that_only_opens_is_text():
    reading = structured_data.read_json(b'["ark:/12345/x5",' + b"[" * 100_000)
    assert kinds(reading) == ["malformed-json"]
    assert "ark:/12345/x5" in texts(reading)[0]


def test_a_long_key_is_not_repeated_with_every_value_below_it():
    reading = structured_data.read_json(b'{"' + b"k" * 10_000 + b'": ["ark:/12345/x5", "ark:/12345/x6"]}')
    assert texts(reading) == ["ark:/12345/x5", "ark:/12345/x6"]
    assert max(len(block.place) for block in reading.blocks) < 1000


def test_a_field_beyond_the_limit_of_the_csv_module():
    reading = structured_data.read_tabular(b"a,b\n" + b"x" * 200_000 + b",ark:/12345/x5\n1,ark:/12345/x6\n")
    assert [(block.place, block.text) for block in reading.blocks] == [
        ("row:2/column:b", "ark:/12345/x5"),
        ("row:3/column:b", "ark:/12345/x6"),
    ]


def test_groups_and_links_in_latex_nest_without_end():
    reading = escaped_text.read_latex(rb"\href{https://n2t.net/ark:/12345/x5}{" * 20_000 + b"ark:/12345/x6")
    assert texts(reading)[-1] == "ark:/12345/x6"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "piece"),
    [
        pytest.param(suffix, piece, id=f"{suffix} {piece!r}")
        for suffix, pieces in {
            "md": ["[a](", "![", "`a", "*a **a ", "<a ", "> ", "-\n", "[a]: b\n", "|a", "&", "\\"],
            "rst": ["`", "``", "`a", "`a <", "_", "a_ ", "`a\\`", ".. _a: b\n", ".. _", "__ a\n", "\n ", " "],
            "tex": ["{", "}", "\\url{", "\\href{a}{", "\\verb|a", "\\begin{verbatim}", "\\begin{comment}", "%\n", '"'],
            "bib": ["@", "@a{", "@a{b,c={", '@a{b,c="', "@a{b,c=d#", "a=", "\n#", "\n@a{b,c={\\url{", "@comment{"],
            "csv": ['"', '",', '"a"b,', '"\n', 'a,"b\n', "\r"],
            "json": ["[", '{"a":', '["ark:/12345/x",', '"', "\\", "ark"],
            "jsonl": ["[", "{\n", '"ark:/1\n', "\n"],
            "ged": ["1 CONC ark:", "1 @", "1 ", "0 A\n", "\n", "  1"],
            "rtf": ["{", "}", "{}", "\\'e9", "\\u8217 ", "\\", "{\\footnote ", "\\field", "a\\par ", "\\bin2 ", "\\*"],
        }.items()
        for piece in pieces
    ],
)
def test_time_grows_with_the_length_and_not_its_square(suffix, piece):
    def read_text(length):
        READERS[suffix](piece.encode() * (length // len(piece)))

    length = 5_000
    while seconds(partial(read_text, length)) < (0.05 if length < 20_000 else 0.005) and length < 200_000:
        length *= 2
    assert growth(read_text, length) < LINEAR


# -- Whatever the bytes

SOURCES = {
    suffix: [
        vector.values[0]["source"] for vector in vectors("text_formats") if vector.values[0]["name"].endswith(suffix)
    ]
    for suffix in READERS
}
SPECIALS = [
    *"{}[]()<>`'\"\\%@#,:;_*=|~$&/^-.\n\r\t \0\x02\x1eé\N{SOFT HYPHEN}\ud800",
    *["ark:/12345/x5", "\\url{", "\\href{", "\\begin{", "\\u003a", "\\ud800", "```"],
    *(".. _a: ", "\\footnote ", "\\u-10179 ", "1 CONC ", "=\r\n "),
]


@st.composite
def mutate(draw, sources):
    """Return a valid source after a few changes that a transfer, an editor or malice may make."""
    text = draw(st.sampled_from(sources))
    rng = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 6))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 2, 10]))
        text = text[:start] + draw(st.sampled_from(["", text[end : end + 20], *SPECIALS])) + text[end:]
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("suffix", READERS)
@given(data=st.data())
def test_no_bytes_raise_and_what_is_read_holds_together(suffix, data):
    source = data.draw(mutate(SOURCES[suffix]) | st.binary() | st.lists(st.sampled_from(SPECIALS)).map(join_pieces))
    reading = READERS[suffix](source)
    numbers = {block.link for block in reading.blocks if block.link is not None}
    for block in reading.blocks:
        block.text.encode()
        block.place.encode()
        offsets = [offset for anchor in block.anchors for offset in (anchor.start, anchor.end)]
        assert offsets == sorted(offsets)
        assert not offsets or (offsets[0] >= 0 and offsets[-1] <= len(block.text))
        assert {anchor.link for anchor in block.anchors} <= numbers


def join_pieces(pieces):
    return "".join(pieces).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("fence", ["```", "~~~~", "   ```"])
def test_the_line_that_opens_a_fence_is_read(fence):
    source = (
        f'Text\n\n{fence}{{.python ref="ark:/13030/c7abc"}} see ark:/12148/btv1b8\nark:/13030/x5\n{fence.strip()}\n'
    )
    read = extraction_of(source.encode(), name="a.md")
    assert [(str(mention.ark), mention.place) for mention in read.mentions] == [
        ("ark:13030/c7abc", "fence"),
        ("ark:12148/btv1b8", "fence"),
        ("ark:13030/x5", "pre"),
    ]
