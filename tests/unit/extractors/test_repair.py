"""Tapes: damage of typesetting to characters is undone, and every character keeps its source position."""

import unicodedata
from itertools import pairwise
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.offset_map import ODD_BLANK, PARAGRAPH, WRAP, offset_map
from tests.vectors import vectors

EVERY_CHARACTER = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
#: Unicode's own list, and the additions of the project; without the hyphen itself.
DASHES = regex.findall(r"[[\p{Dash}\N{HYPHEN BULLET}]--\-]", EVERY_CHARACTER, regex.VERSION1)
INVISIBLE = regex.findall(r"\p{Default_Ignorable_Code_Point}", EVERY_CHARACTER)
BLANKS = regex.findall(r"[\p{Zs}--\ ]", EVERY_CHARACTER, regex.VERSION1)
LINE_BREAKS = [
    "\n", "\r\n", "\r", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\N{LINE SEPARATOR}", "\N{PARAGRAPH SEPARATOR}",
]  # fmt: skip


def named_params(chars: list[str]) -> list[object]:
    """Parameters whose ids are the characters' names."""
    return [pytest.param(char, id=f"U+{ord(char[0]):04X} {unicodedata.name(char[0], '')}".strip()) for char in chars]


@pytest.mark.parametrize("dash", named_params(DASHES))
def test_every_dash_is_a_hyphen(dash: str) -> None:
    assert offset_map(f"btv1b84{dash}49").text == "btv1b84-49"
    [inside] = find_arks(f"see ark:/67531/metadc1{dash}07835 there")
    [at_end] = find_arks(f"see ark:/67531/metadc1{dash}\n07835 there")
    assert str(inside.ark) == str(at_end.ark) == "ark:67531/metadc107835"
    assert "look-alike hyphen" in inside.repairs
    assert inside.repaired == "ark:/67531/metadc1-07835"
    assert at_end.repaired == "ark:/67531/metadc107835"


@pytest.mark.parametrize("dash", named_params([dash for dash in DASHES if ord(dash) < 0x10000]))
def test_every_dash_may_be_an_entity(dash: str) -> None:
    for entity in (f"&#{ord(dash)};", f"&#x{ord(dash):x};", f"&#X{ord(dash):04X};"):
        [mention] = find_arks(f"see ark:/67531/metadc1{entity}07835 there")
        assert str(mention.ark) == "ark:67531/metadc107835", entity


@pytest.mark.parametrize("dash", named_params([dash for dash in DASHES if dash.encode()[0] in (0xE2, 0xEF)]))
def test_every_dash_of_punctuation_may_be_percent_encoded(dash: str) -> None:
    percent = "".join(f"%{octet:02X}" for octet in dash.encode())
    for escaped in (percent, percent.lower(), percent.replace("%", "%25")):
        [mention] = find_arks(f"see ark:/67531/metadc1{escaped}07835 there")
        assert str(mention.ark) == "ark:67531/metadc107835", escaped


@pytest.mark.parametrize(
    "escape",
    ["%C2%AD", "%c2%ad", "%25C2%25AD", "%E2%80%8B", "%E2%80%90", "%E2%80%93", "%E2%88%92", "%EF%BB%BF", "%E2%81%A0",
     "&shy;", "&hyphen;", "&dash;", "&#173;", "&#xAD;", "&#8208;", "&#x2010;", "&#8203;", "\\-"],
)  # fmt: skip
def test_an_escaped_look_alike_anywhere_in_a_name_changes_nothing(escape: str) -> None:
    name = "metadc107835"
    for at in range(1, len(name)):
        [mention] = find_arks(f"see ark:/67531/{name[:at]}{escape}{name[at:]} there")
        assert str(mention.ark) == "ark:67531/metadc107835", at
        assert mention.as_written == f"ark:/67531/{name[:at]}{escape}{name[at:]}"


def test_invisible_characters_are_removed() -> None:
    for char in INVISIBLE:
        assert offset_map(f"ar{char}k").text == "ark", ascii(char)


@pytest.mark.parametrize("char", named_params([char for char in INVISIBLE if ord(char) < 0x10000]))
def test_invisible_characters_change_no_ark(char: str) -> None:
    for at in range(1, len("ark:/67531/metadc107835")):
        written = "ark:/67531/metadc107835"
        [mention] = find_arks(f"see {written[:at]}{char}{written[at:]} there")
        assert (str(mention.ark), mention.repaired) == ("ark:67531/metadc107835", written)
        assert mention.spans == ((4, 4 + at), (5 + at, 4 + len(written) + 1))
        assert mention.repairs == ("soft hyphen" if char == "\N{SOFT HYPHEN}" else "invisible character",)


@pytest.mark.parametrize("blank", named_params(BLANKS))
def test_every_blank_but_the_space_is_an_odd_one(blank: str) -> None:
    assert offset_map(f"ark{blank}:").text == f"ark{ODD_BLANK}:"
    assert [mention.repairs for mention in find_arks(f"ark{blank}:/12148/btv1b8449691v")] == [("blank in the label",)]
    assert [str(mention.ark) for mention in find_arks(f"ark:/67531/metadc2846{blank}1898")] == ["ark:67531/metadc2846"]


@pytest.mark.parametrize("line_break", named_params(LINE_BREAKS))
def test_every_line_break_with_the_blanks_around_it_is_one_wrap(line_break: str) -> None:
    offsets = offset_map(f"a \t{line_break}\t b")
    assert offsets.text == f"a{WRAP}b"
    assert (offsets.source_offset(1), offsets.source_end(2)) == (1, 5 + len(line_break))
    assert offset_map(f"a{line_break} {line_break}b").text == f"a{PARAGRAPH}b"


def test_every_full_width_character_is_the_one_of_ascii() -> None:
    for char in map(chr, range(0xFF01, 0xFF5F)):
        assert offset_map(char).text == unicodedata.normalize("NFKC", char)


@pytest.mark.parametrize("vector", vectors("tapes"))
def test_tape_text_follows_from_source(vector: dict[str, Any]) -> None:
    assert offset_map(vector["source"]).text == vector["text"]


pieces_of_text = st.lists(
    st.sampled_from(
        ["a", "b", "1", " ", "  ", "\n", "\r\n", "-", "-\n", "\N{SOFT HYPHEN}", "\N{SOFT HYPHEN}\n", "\ufffe", "\x02",
         "\N{EN DASH}", "\N{ZERO WIDTH SPACE}", "\N{NO-BREAK SPACE}", "%E2%80%90", "%0A", "%20", "&shy;", "&#58;",
         "\\_", "\\u003a", "\N{FULLWIDTH COLON}", "> ", "\f", "\n12\n\f", "Head\n\n", "\ud800"]
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(pieces_of_text)
@example("ar\N{SOFT HYPHEN}\N{ZERO WIDTH SPACE}k")
def test_each_character_of_a_tape_knows_its_place(source: str) -> None:
    offsets = offset_map(source)
    places = [(offsets.source_offset(at), offsets.source_end(at + 1)) for at in range(len(offsets.text))]
    assert all(0 <= start < end <= len(source) for start, end in places)
    for (start, end), (following, _) in pairwise(places):
        assert start <= following
        assert end <= following or start == following  # two characters may share one place: a hyphen and its wrap
    changed = {at for change in offsets.changes for at in range(change.start, change.start + change.length)}
    for at, (start, end) in enumerate(places):
        if at not in changed:
            assert source[start:end] == offsets.text[at]


@given(pieces_of_text, st.data())
def test_a_tape_of_a_piece_is_a_piece_of_the_tape(source: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    offsets = offset_map(source, start, end)
    assert all(
        start <= offsets.source_offset(at) < offsets.source_end(at + 1) <= end for at in range(len(offsets.text))
    )


@given(pieces_of_text)
def test_nothing_odd_is_left_on_a_tape(source: str) -> None:
    odd = regex.compile(
        r"[[\p{Dash}--\-]\p{Default_Ignorable_Code_Point}\uFF01-\uFF5E\x02\uFFFE\r\t\v\x85]", regex.VERSION1
    )
    assert not odd.search(offset_map("a" + source).text)


@given(st.text(max_size=60))
def test_any_text_has_a_tape(source: str) -> None:
    offsets = offset_map(source)
    assert offsets.source_spans(0, len(offsets.text))[0][0] >= 0
    assert all(change.source_start < change.source_end for change in offsets.changes)


typeset = st.sampled_from(
    ["-", "\N{HYPHEN}", "\N{NON-BREAKING HYPHEN}", "\N{FIGURE DASH}", "\N{MINUS SIGN}", "\N{SOFT HYPHEN}",
     "\N{ZERO WIDTH SPACE}", "\N{ZERO WIDTH NON-JOINER}", "\N{WORD JOINER}", "\N{ZERO WIDTH NO-BREAK SPACE}",
     "\N{SMALL HYPHEN-MINUS}", "\N{FULLWIDTH HYPHEN-MINUS}", "\N{HYPHEN BULLET}", "\N{LEFT-TO-RIGHT MARK}"]
)  # fmt: skip
betanumeric_names = st.from_regex(
    r"[bcdfghjkmnpqrstvwxz][0-9][0-9bcdfghjkmnpqrstvwxz]{4,14}(?:/f[1-9]\.item)?", fullmatch=True
)


@given(betanumeric_names, st.lists(st.tuples(st.integers(1, 40), typeset), min_size=1, max_size=5))
def test_hyphens_look_alikes_and_invisible_characters_inside_a_name_change_nothing(
    name: str, inserted: list[tuple[int, str]]
) -> None:
    written = name
    for at, char in inserted:
        place = at % (len(written) - 1) + 1
        written = written[:place] + char + written[place:]
    [mention] = find_arks(f"It is ark:/67531/{written}, there.")
    assert mention.ark == Ark.parse(f"ark:/67531/{name}")
    assert mention.as_written == f"ark:/67531/{written}"
