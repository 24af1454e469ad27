"""The library for scripts and notebooks: its public names, errors, frames and tables."""

import importlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import arkaudit.errors
from arkaudit import ArkauditError, find_arks, load_report
from arkaudit.hooks import FEATURES
from reports.tables.report_tables import TABLES, UserMistake

PACKAGES = ("arkaudit", "crawler", "extractors", "reports")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there_and_described(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ == sorted(package.__all__)
    for each in package.__all__:
        value = getattr(package, each)
        assert each in dir(package)
        assert isinstance(value, tuple) or value.__doc__
        assert each in (package.__doc__ or ""), f"{name} does not describe {each}"


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=["None", "NaN", "NA"])
def test_a_missing_value_of_a_column_has_no_arks(missing: Any) -> None:
    assert find_arks(missing) == []


@pytest.mark.parametrize("value", [b"ark:/12148/bpt6k107371t", 12148, ["ark:/12148/bpt6k107371t"]])
def test_non_text_is_a_clear_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"find_arks takes text, not (bytes|int|list)"):
        find_arks(value)


def test_a_report_is_frames_and_tables(world_store: Path, tmp_path: Path) -> None:
    audit = load_report(world_store)
    assert audit.arks.groupby("naan").size()["12148"] == 2
    for table in TABLES:
        assert list(audit.table(table.name).columns) == [column.name for column in table.columns]
    assert "9 ARKs, 9 verdicts" in repr(audit)
    with pytest.raises(UserMistake, match="did you mean 'naans'"):
        audit.table("naan")
    with pytest.raises(UserMistake, match="there are: summary"):
        audit.table("xxxxxxx")
    with pytest.raises(ArkauditError):
        load_report(tmp_path / "none.db")


def test_the_tree_of_errors_is_as_drawn() -> None:
    """Each error that derives from the base appears in the drawing, below its parent."""
    drawn: list[tuple[int, str]] = []
    for line in (arkaudit.errors.__doc__ or "").splitlines():
        depth = max(line.find("├──"), line.find("└──"))
        if depth >= 0:
            drawn.append((depth, line.strip(" │├└─").split()[0].rstrip(",")))
    parents: dict[str, str] = {}
    for at, (depth, name) in enumerate(drawn):
        above = [each for other, each in drawn[:at] if other < depth]
        parents[name] = above[-1] if above else "ArkauditError"
    for name, parent in parents.items():
        error = getattr(arkaudit.errors, name)
        assert error.__bases__[0].__name__ == parent, name
    assert set(parents) | {"ArkauditError"} == set(arkaudit.errors.__all__)

    def below(error: type) -> set[str]:
        """Return the names of an error and of those derived from it, without errors of features."""
        own = set() if error.__module__.startswith(FEATURES) else {error.__name__}
        return own.union(*map(below, error.__subclasses__()))

    # Caught where they are raised.
    internal = {"NotSent", "OutputClosed"}
    assert below(ArkauditError) - internal == set(arkaudit.errors.__all__)
