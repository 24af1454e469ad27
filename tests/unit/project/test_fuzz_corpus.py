"""The seeds and the finds of fuzzing, run through the same targets without atheris."""

from pathlib import Path

import pytest

from tools.fuzzing.__main__ import NAMES
from tools.fuzzing.targets import TARGETS

CORPUS = Path(__file__).parents[3] / "tools" / "fuzzing" / "corpus"
CASES = sorted(each for each in CORPUS.rglob("*") if each.is_file())


@pytest.mark.parametrize("case", CASES, ids=[f"{each.parent.name}-{each.name}" for each in CASES])
def test_a_target_keeps_its_promises(case: Path) -> None:
    TARGETS[case.parent.name](case.read_bytes())


def test_each_target_has_beginnings() -> None:
    assert {each.parent.name for each in CASES} == set(TARGETS) == set(NAMES)
