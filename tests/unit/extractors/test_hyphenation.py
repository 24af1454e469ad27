"""The other way to read a hyphen at a line's end names the same ARK, and is found only where there is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.verdicts.readings import other_hyphenation
from extractors.model.ark import Ark

NAMES = st.text("0123456789bcdfghjkmnpqrstvwxz", min_size=1, max_size=8)
HYPHENS = st.sampled_from("-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{EN DASH}")
WRAPS = st.sampled_from(["\n", "\r\n", " \n ", "\r\n    "])


@given(st.lists(NAMES, min_size=2, max_size=4), HYPHENS, WRAPS, st.booleans())
def test_both_hyphenations_are_one_ark_and_each_is_the_others_other(
    parts: list[str], hyphen: str, wrap: str, is_kept: bool
) -> None:
    written = "https://r.example/ark:/12x45/" + f"{hyphen}{wrap}".join(parts)
    repaired = "https://r.example/ark:/12x45/" + ("-" if is_kept else "").join(parts)
    other = other_hyphenation(written, repaired)
    assert other is not None
    assert other.count("-") == (0 if is_kept else len(parts) - 1)
    assert Ark.parse(other) == Ark.parse(repaired)
    assert other_hyphenation(written, other) == repaired


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_hyphenation_gives_an_answer_and_no_foreign_ark(written: str, repaired: str) -> None:
    other = other_hyphenation(f"ark:/12x45/{written}", f"ark:/12x45/{repaired}")
    assert other is None or other.replace("-", "") == f"ark:/12x45/{repaired}".replace("-", "")


@pytest.mark.parametrize(
    ("written", "repaired"),
    [
        pytest.param("ark:/12x45/x5-7w", "ark:/12x45/x5-7w", id="no line ends"),
        pytest.param("ark:/12x45/x5\n7w", "ark:/12x45/x57w", id="no hyphen"),
        pytest.param("ark:/12x45/x5\N{SOFT HYPHEN}\n7w", "ark:/12x45/x57w", id="a soft hyphen"),
        pytest.param("http://r-\nx.org/ark:/12x45/x57w", "http://r-x.org/ark:/12x45/x57w", id="in the host"),
        pytest.param("ark:/12x-\n45/x57w", "ark:/12x45/x57w", id="in the NAAN"),
        pytest.param("ark:/12x45/x5-\n7w", "ark:/12x45/x5", id="more was repaired"),
        pytest.param("x5-\n7w", "x57w", id="no label"),
    ],
)
def test_where_there_is_no_other(written: str, repaired: str) -> None:
    assert other_hyphenation(written, repaired) is None
