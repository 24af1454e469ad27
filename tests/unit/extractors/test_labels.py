"""Places of labels: the cheap scan misses no label that the patterns after it would find."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.find import Mention, NamespaceMention, find_arks, scan
from extractors.mentions.labels import label_signs
from extractors.model.documents import Block, Role
from extractors.wraps.evidence import Evidence
from tests.vectors import vectors

COLONS = [":", "\N{FULLWIDTH COLON}", "%3A", "%3a", "%253A", "%25253a", "&#58;", "&#x3a;", "&#X3A;", "&colon;",
          "\\u003a", "\\u003A", "\\:"]  # fmt: skip
SLASHES = ["", "/", "//", "\N{FULLWIDTH SOLIDUS}", "&#47;", "&#x2F;", "&sol;", "\\/", "\\u002f"]
ENCODED_SLASHES = ["%2F", "%2f", "%252F"]
BEFORE_COLON = ["", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{THIN SPACE}", "\n", "-\n", "\r\n",
                "\N{SOFT HYPHEN}", "\N{ZERO WIDTH SPACE}", "\N{SOFT HYPHEN}\n", "&shy;"]  # fmt: skip
WORDS = ["ark", "ARK", "Ark", "a\nrk", "ar-\nk", "a\N{SOFT HYPHEN}rk", "ar\N{ZERO WIDTH SPACE}k", "&#97;rk",
         "\N{FULLWIDTH LATIN SMALL LETTER A}\N{FULLWIDTH LATIN SMALL LETTER R}\N{FULLWIDTH LATIN SMALL LETTER K}",
         "\\u0061rk"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS, ids=ascii)
@pytest.mark.parametrize("colon", COLONS, ids=ascii)
def test_every_spelling_of_the_label_is_found(word: str, colon: str) -> None:
    for before, slash in product(BEFORE_COLON, SLASHES if "%" not in colon else [*SLASHES, *ENCODED_SLASHES]):
        if "%2" in slash and "%" not in colon:
            continue
        text = f"see {word}{before}{colon}{slash}12148/btv1b8449691v there"
        assert list(label_signs(text)), ascii(text)
        assert [str(mention.ark) for mention in find_arks(text)] == ["ark:12148/btv1b8449691v"], ascii(text)


@pytest.mark.parametrize("vector", vectors("label_signs"))
def test_signs_of_labels(vector: dict[str, Any]) -> None:
    assert list(label_signs(vector["text"])) == vector["signs"]


@given(st.text(st.sampled_from("kKo:xX%23aA&#58;\\u+=_1/\N{FULLWIDTH COLON} \n"), max_size=80), st.integers(0, 200))
def test_signs_are_the_same_where_colons_are_many(text: str, more: int) -> None:
    dense = text + "x:" * (151 + more)
    at_end = len(text)
    assert [at for at in label_signs(dense) if at < at_end - 5] == [at for at in label_signs(text) if at < at_end - 5]


@given(st.text(max_size=200))
def test_colons_are_found_in_order_and_once(text: str) -> None:
    signs = list(label_signs(text))
    assert signs == sorted(set(signs))
    assert all(0 <= at < len(text) for at in signs)


@pytest.mark.parametrize(
    "before", ["", " ", "(", "/", ".", "~", "=", "?", "\n", '"', "«", "-", "|", ";", "\t", "1", "12"]
)
def test_text_allowed_before_a_label(before: str) -> None:
    assert [str(mention.ark) for mention in find_arks(f"{before}ark:/12148/btv1b8449691v")] == [
        "ark:12148/btv1b8449691v"
    ]


@pytest.mark.parametrize("before", ["d", "bulw", "Denm", "é", "K", "1234", "x1", "_b", "ö"])
def test_letters_before_a_label_make_another_word(before: str) -> None:
    assert find_arks(f"the {before}ark:/12148/btv1b8449691v") == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("all names begin with ark:/12148/ there", "ark:/12148", id="with a slash at the end"),
        pytest.param("our NAAN is ark:12148.", "ark:12148", id="in the new form"),
        pytest.param("at https://n2t.net/ark:/12148/", "https://n2t.net/ark:/12148", id="with a resolver"),
        pytest.param("ark:/12148/{name}", "ark:/12148", id="before a placeholder"),
        pytest.param("ark:/12148/<name>", "ark:/12148", id="before a placeholder in angle brackets"),
        pytest.param("ark:/12148/...", "ark:/12148", id="before an ellipsis"),
        pytest.param("ark:/12148/--", "ark:/12148", id="before hyphens, which are nothing"),
    ],
)
def test_a_naan_alone_is_recorded_as_that(text: str, written: str) -> None:
    [found] = scan(Block(text), Evidence())
    assert isinstance(found, NamespaceMention)
    assert found.as_written == written == text[slice(*found.span)]


@pytest.mark.parametrize("text", ["ark:/1214", "ark:/", "ark:/x", "ark:/123456/", "Ark: 1898", "ark:/abcde/"])
def test_texts_without_a_naan(text: str) -> None:
    assert list(scan(Block(text), Evidence())) == []


@pytest.mark.parametrize("role", Role)
def test_an_ark_is_found_in_every_part_of_a_document(role: Role) -> None:
    [mention] = scan(Block("https://n2t.net/ark:/12148/btv1b8449691v", role, place="a/@href"), Evidence())
    assert isinstance(mention, Mention)
    assert (str(mention.ark), mention.role, mention.place) == ("ark:12148/btv1b8449691v", role, "a/@href")


@pytest.mark.parametrize("vector", vectors("written_resolvers"))
def test_the_resolver_that_is_written_before(vector: dict[str, Any]) -> None:
    [mention] = find_arks(vector["text"])
    assert (str(mention.ark), mention.resolver) == ("ark:67531/x5", vector["resolver"])
    assert mention.repaired == (vector["resolver"] or "") + "ark:/67531/x5"
