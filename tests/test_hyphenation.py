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
        ("ark:/12x45/x5-7w", "ark:/12x45/x5-7w"),
        ("ark:/12x45/x5\n7w", "ark:/12x45/x57w"),
        ("ark:/12x45/x5\N{SOFT HYPHEN}\n7w", "ark:/12x45/x57w"),
        ("http://r-\nx.example/ark:/12x45/x57w", "http://r-x.example/ark:/12x45/x57w"),
        ("ark:/12x-\n45/x57w", "ark:/12x45/x57w"),
        ("ark:/12x45/x5-\n7w", "ark:/12x45/x5"),
        ("x5-\n7w", "x57w"),
    ],
    ids=[
        "no line ends", "no hyphen", "a soft hyphen", "in the host", "in the NAAN", "more was repaired", "no label",
    ],
)  # fmt: skip
def test_where_there_is_no_other(written: str, repaired: str) -> None:
    assert other_hyphenation(written, repaired) is None
