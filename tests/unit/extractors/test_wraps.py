"""Does an ARK go on behind a line wrap? Each rule in both directions, and which one speaks first."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.find import Mention, find_arks, scan
from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import Anchor, Block, Role
from extractors.wraps.evidence import Evidence, Fit, Shapes
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import RULES, Wrap, WrapDecision, decide, is_numbered, slack_in_text
from tests.vectors import vectors

ROWS = vectors("wraps")
BY_NAME = {rule.__name__: rule for rule in RULES}
#: The order of the rules, with the possible decisions of each.
DIRECTIONS = {
    "nothing_follows": {"end"},
    "another_identifier": {"end"},
    "no_name_yet": {"join", "end"},
    "whole_elsewhere": {"join", "end"},
    "check_character_decides": {"join", "end"},
    "numbering_follows": {"end"},
    "date_follows": {"end"},
    "shape_decides": {"join", "end"},
    "qualifier_decides": {"join", "end"},
    "closing_mark_follows": {"join"},
    "hyphen_at_wrap": {"join"},
    "would_have_fitted": {"end"},
    "structure_follows": {"join", "end"},
    "structure_before": {"join", "end"},
    "word_follows": {"join", "end"},
    "mixed_token": {"join", "end"},
    "number_follows": {"join", "end"},
}


def wrap_of(row: Mapping[str, Any]) -> Wrap:
    """Return the place that a vector describes."""
    return Wrap(
        row["left"],
        row["right"],
        has_hyphen=row.get("hyphen", False),
        line_slack=row.get("room"),
        text_beyond=row.get("beyond", ""),
        is_paged=row.get("paged", False),
        is_numbered=row.get("numbered", False),
        closing_marks=row.get("closing", ""),
    )


def evidence_of(row: Mapping[str, Any]) -> Evidence:
    """The ARKs that a vector's document has whole."""
    return Evidence.from_arks(Ark.parse(written) for written in row.get("whole", ()))


def direction(decision: WrapDecision | None) -> str | None:
    return None if decision is None else "join" if decision.is_joined else "end"


@pytest.mark.parametrize("row", ROWS)
def test_a_rule_decides_or_passes_on_and_the_first_that_knows_decides(row: dict[str, Any]) -> None:
    wrap, evidence = wrap_of(row), evidence_of(row)
    decision = BY_NAME[row["rule"]](wrap, evidence)
    assert direction(decision) == row["decides"]
    if decision is not None:
        assert (decision.reason, decision.confidence.token) == (row["reason"], row["confidence"])
        assert isinstance(decision.reason, Reason)
    decisive = BY_NAME.get(row.get("decided_by", row["rule"]))
    if decisive is None:
        assert decide(wrap, evidence).reason == "no-evidence"
    else:
        assert decide(wrap, evidence) == decisive(wrap, evidence)


def test_rules_are_ordered_by_their_evidence() -> None:
    assert list(BY_NAME) == list(DIRECTIONS)


def test_each_rule_has_vectors_for_every_decision() -> None:
    said: dict[str, set[str | None]] = defaultdict(set)
    for parameter in ROWS:
        [row] = parameter.values
        assert isinstance(row, dict)
        said[row["rule"]].add(row["decides"])
    assert {rule: directions - {None} for rule, directions in said.items()} == DIRECTIONS
    assert all(None in directions for directions in said.values())


def test_every_reason_is_used_and_defined_for_readers() -> None:
    root = Path(__file__).parents[3]
    code = "".join(
        path.read_text("utf-8") for folder in ("extractors", "crawler") for path in (root / folder).rglob("*.py")
    )
    unused = [reason.name for reason in Reason if f"Reason.{reason.name}" not in code]
    assert unused == [], "a rule must give it: see extractors/wraps/rules.py"
    assert all(reason.meaning and re.fullmatch(r"[a-z]+(-[a-z]+)*", reason) for reason in Reason)


# -- which evidence outweighs which


@pytest.mark.parametrize("row", vectors("wrap_evidence"))
def test_the_stronger_evidence_decides(row: dict[str, Any]) -> None:
    assert decide(wrap_of(row), evidence_of(row)).is_joined is row["joins"]


# -- evidence

names = st.from_regex(r"[bcdfgh]{0,2}[0-9][0-9bcdfghjkmnpqrstvwxz]{2,6}", fullmatch=True)
arks = st.builds(Ark, st.sampled_from(["12148", "13960", "76543"]), names, st.sampled_from(["", "/f1.item", ".pdf"]))


@given(st.lists(arks, max_size=30), st.randoms(use_true_random=False))
def test_evidence_does_not_depend_on_order_or_repetition(seen: list[Ark], random: Any) -> None:
    again = [*seen, *seen[:3]]
    random.shuffle(again)
    assert Evidence.from_arks(again) == Evidence.from_arks(seen)


@given(st.lists(arks, max_size=20), arks)
def test_whole_arks_are_found_by_each_of_their_prefixes(seen: list[Ark], other: Ark) -> None:
    evidence = Evidence.from_arks(seen)
    for ark in (*seen, other):
        is_evidence = evidence.zones.check(ark) is not CheckCharacter.FAILS
        assert evidence.has_whole_ark(str(ark)) is (ark in seen and is_evidence)
    assert all(evidence.begins_whole_ark(str(ark)[: 9 + len(ark.name) // 2]) for ark in seen)
    assert evidence.begins_whole_ark(str(other)) is any(str(ark).startswith(str(other)) for ark in seen)


def test_a_zone_learned_from_whole_names_decides_a_wrap_under_an_unknown_naan() -> None:
    """Names under a NAAN of no table, minted with a check character over NAAN and name."""
    minted = [Ark("76543", stem + _check_character(f"76543/{stem}")) for stem in _stems(40)]
    broken, *whole = minted
    text = f"see ark:/76543/{broken.name[:4]}\n{broken.name[4:]} there"
    [unknown] = find_arks(text)
    [learned] = find_arks(text, evidence=replace(Evidence.from_arks(whole), shapes=Shapes()))
    assert (learned.ark, learned.reason) == (broken, "check-character")
    assert unknown.reason != "check-character"


def _stems(count: int) -> list[str]:
    return [f"x{digit}{BETANUMERIC[at % 29]}{BETANUMERIC[(7 * at + 3) % 29]}{digit}k" for at, digit in
            ((at, at % 10) for at in range(count))]  # fmt: skip


def _check_character(text: str) -> str:
    """Return NOID's check character by its definition: position by ordinal, modulo 29."""
    return BETANUMERIC[sum(at * max(0, BETANUMERIC.find(char)) for at, char in enumerate(text, 1)) % 29]


@pytest.mark.parametrize("vector", vectors("name_shapes"))
def test_shapes_are_learned_from_names_that_agree(vector: dict[str, Any]) -> None:
    learned = Shapes.learn([Ark("76543", each) for each in vector["whole"]])
    fit, name = vector["fit"], Ark("76543", vector["name"])
    assert learned.fit(name) is (Fit[fit.upper()] if fit else None)
    assert learned.allows(name) is (fit in (None, "fits"))


def test_the_words_of_other_arks_qualifiers_are_learned() -> None:
    text = "see ark:/67531/metadc2846/front\nispiece there"
    [unknown] = find_arks(text)
    [known] = find_arks(text, evidence=Evidence.from_arks([Ark.parse("ark:67531/metadc107835/frontispiece")]))
    assert str(unknown.ark) == "ark:67531/metadc2846/front"
    assert str(known.ark) == "ark:67531/metadc2846/frontispiece"


def test_ark_over_three_lines_is_joined_by_a_whole_occurrence() -> None:
    [mention] = find_arks(
        "see ark:/67531/metadc1\n07\n835 leaves", evidence=Evidence.from_arks([Ark.parse("ark:67531/metadc107835")])
    )
    assert (str(mention.ark), mention.confidence.token) == ("ark:67531/metadc107835", "likely")


# -- the evidence of links, as scanning has it

LINKED = Ark.parse("ark:67531/metadc107835")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("https://n2t.net/ark:/67531/metadc107\n835 leaves", id="join"),
        pytest.param("https://n2t.net/ark:/67531/metadc107835\n19 leaves", id="end"),
        pytest.param("https://n2t.net/ark:/67531/metadc107-\n835 leaves", id="join at a hyphen"),
    ],
)
def test_a_links_own_target_decides(text: str) -> None:
    block = Block(text, anchors=(Anchor(0, len("https://n2t.net/ark:/67531/metadc107835"), 3),))
    [mention] = scan(block, Evidence.from_arks([LINKED]), {3: LINKED})
    assert isinstance(mention, Mention)
    assert (mention.ark, mention.confidence.token, mention.link) == (LINKED, "certain", 3)


def test_neighbouring_link_is_no_evidence() -> None:
    text = "the scan: ark:/67531/metadc107\n8x5 here"
    block = Block(text, anchors=(Anchor(0, 8, 3), Anchor(len(text) - 4, len(text), 3)))
    [mention] = scan(block, Evidence(), {3: LINKED})
    assert isinstance(mention, Mention)
    assert mention.link is None
    assert mention.reason == "letters-and-digits-follow"


@pytest.mark.parametrize("role", [Role.LINK_TARGET, Role.LINK_ANNOTATION])
def test_a_line_wrap_in_a_link_target_is_no_end(role: Role) -> None:
    [mention] = scan(Block("https://n2t.net/ark:/67531/metadc107\n  which", role), Evidence())
    assert isinstance(mention, Mention)
    assert str(mention.ark) == "ark:67531/metadc107which"


# -- geometry, where the page is known


@pytest.mark.parametrize(
    ("line_slack", "ark"),
    [
        pytest.param(0.4, "ark:67531/metadc1078x5", id="a full line"),
        pytest.param(12.0, "ark:67531/metadc107", id="a line with room"),
    ],
)
def test_on_a_page_the_room_in_the_line_decides(line_slack: float, ark: str) -> None:
    text = "it is ark:/67531/metadc107\n8x5 there"
    [mention] = scan(Block(text, page=3, line_slack=((text.index("\n"), line_slack),)), Evidence())
    assert isinstance(mention, Mention)
    assert (str(mention.ark), mention.page) == (ark, 3)


@given(st.text(BETANUMERIC, min_size=4, max_size=12), st.data())
def test_any_break_of_a_name_with_a_whole_occurrence_is_repaired(stem: str, data: st.DataObject) -> None:
    ark = Ark("76543", "x5" + stem)
    at = data.draw(st.integers(1, len(ark.name) - 1))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\n    ", "-\n", "\N{SOFT HYPHEN}\n", "\N{HYPHEN}\n", "\ufffe"]))
    [mention] = find_arks(
        f"see ark:/76543/{ark.name[:at]}{end}{ark.name[at:]} there", evidence=Evidence.from_arks([ark])
    )
    assert mention.ark == ark
    assert "line wrap" in mention.repairs


@pytest.mark.parametrize("vector", vectors("line_numbers"))
def test_a_number_may_continue_the_numbering_of_its_neighbours(vector: dict[str, Any]) -> None:
    text = vector["text"]
    assert is_numbered(text.replace("|", ""), text.index("|")) is vector["expected"]


@pytest.mark.parametrize("vector", vectors("line_slack"))
def test_slack_of_a_line_is_measured_at_its_neighbours(vector: dict[str, Any]) -> None:
    text = vector["text"]
    assert slack_in_text(text.replace("|", ""), text.index("|")) == vector["expected"]
