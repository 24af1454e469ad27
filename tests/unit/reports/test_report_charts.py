"""The charts over time of several runs: their data, their sentences, and the numbers next to them."""

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from crawler.store.store import Store
from reports.languages import ENGLISH
from reports.page.charts import CHART_TABLES, Chart, charts_of, share_alive_chart, survival_chart
from reports.store.frames import Frames, load_frames
from reports.tables.persistence import runs
from reports.tables.report_tables import Tables
from tests.report_world import page
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Two ARKs that work; a month later one of them is gone, and is confirmed to be in the fourth run."""
    path = tmp_path_factory.mktemp("years") / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 200})
        for day in (30, 33, 38):
            audit(store, day, answers={ONE: 404, OTHER: 200}, seeds=[])
        audit(store, 46, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 404, OTHER: 200})
    return load_frames(path)


@pytest.fixture(scope="module")
def charts(frames: Frames) -> dict[str, Chart]:
    tables = Tables(frames)
    return {chart.name: chart for name in CHART_TABLES for chart in charts_of(name, tables[name], frames, ENGLISH)}


def test_the_share_alive_is_that_of_the_runs(charts: dict[str, Chart]) -> None:
    chart = charts["share-alive"]
    assert [share for _, share in chart.drawing["lines"][0]["points"]] == [1.0, 0.5, 0.5, 0.5, 0.5]
    assert [share for _, share in chart.drawing["lines"][1]["points"]] == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert "went from 100.0 % (2 of 2) after run 1 to 50.0 % (1 of 2) after run 5; " in chart.alt
    assert "50.0 % (1 of 2) are not confirmed broken." in chart.alt


def test_a_survival_curve_stands_beside_its_numbers_at_risk(charts: dict[str, Chart]) -> None:
    chart = charts["survival-naan"]
    assert chart.drawing["lines"][0] == {"name": "all", "points": [(0, 1.0), (30, 0.5), (46, 0.5)]}
    assert "(Kaplan-Meier): share of 2 links still working" in chart.alt
    assert "At the end: all 50.0 %" in chart.alt


def test_single_check_has_no_curve(frames: Frames) -> None:
    tables = Tables(frames)
    assert share_alive_chart(runs(frames.timeline).head(1), ENGLISH) is None
    assert survival_chart(tables["survival"].assign(days=0), "naan", ENGLISH) is None
    assert survival_chart(tables["survival"].head(0), "resolver", ENGLISH) is None


def test_only_the_greatest_groups_are_drawn(frames: Frames) -> None:
    survival = Tables(frames)["survival"]
    one = survival[survival["grouping"].eq("naan")]
    many = [one.assign(group=str(10_000 + number), at_risk=one["at_risk"] + number) for number in range(9)]
    chart = survival_chart(pd.concat([survival, *many]), "naan", ENGLISH)
    assert chart is not None
    assert [line["name"] for line in chart.drawing["lines"]] == ["all", "10008", "10007", "10006", "10005", "10004"]


@pytest.mark.parametrize(
    ("lowest", "foot"),
    [
        pytest.param(0.993, 0.95, id="an axis does not begin so high that a hair's breadth looks like ruin"),
        pytest.param(0.72, 0.7, id="an axis begins where there is something to see"),
        pytest.param(0.49, 0.0, id="where half is lost the axis begins at nothing"),
    ],
)
def test_axis_without_zero_is_marked(frames: Frames, lowest: float, foot: float) -> None:
    survival = Tables(frames)["survival"]
    curves = survival.assign(survival=survival["survival"].clip(lower=lowest))
    chart = survival_chart(curves, "resolver", ENGLISH)
    assert chart is not None
    assert chart.drawing["foot"] == foot
    assert (f"The axis begins at {100 * foot:.0f} %." in chart.alt) == (foot > 0)


def test_numbers_at_risk_stand_on_the_page(frames: Frames) -> None:
    soup = BeautifulSoup(page(frames, Tables(frames)), "html.parser")
    at_risk = [cell.text for cell in soup.select(".chart-survival-naan > .numbers tr > *")]
    assert at_risk[:6] == ["", "0 days", "15 days", "31 days", "46 days", "share still working (95 %)"]
    assert at_risk[6:11] == ["all", "2", "2", "1", "1"]
    runs = [cell.text for cell in soup.select(".chart-share-alive tr:last-child > *")]
    assert runs[-7:] == ["5", "2026-02-16", "1", "0", "1", "50.0 %", ""]
