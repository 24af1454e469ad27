"""The charts of a report: their data, and a sentence with the same content. `charts.js` draws them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import pandas as pd

from reports.languages import VOCABULARY, Language
from reports.languages.display import escape_invisible
from reports.languages.templates import macros
from reports.page.shown_tables import TONES
from reports.store.frames import Frames
from reports.tables.ark_statuses import FAMILY_COLUMNS
from reports.tables.definitions import in_order, records_of
from reports.tables.persistence import runs
from reports.tables.wording import FAMILY_NAMES

#: The tables with charts, in the order of the charts.
CHART_TABLES = ("naans", "services", "survival")
_TITLES = VOCABULARY["chart"]
_MOST_NAANS = 14
#: Longer names are cut between words; the table has the full name.
_LONGEST_NAME = 90
#: Runs in the numbers of a chart; curves besides that of all ARKs; parts of its axis at which numbers at risk are printed.
MOST_RUNS = 24
_MOST_CURVES = 5
_TICKS = 3


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: what `charts.js` draws, and a sentence with the same content."""

    name: str
    title: str
    alt: str
    drawing: Mapping[str, Any]
    """The texts, numbers and names of colours."""
    numbers: Mapping[str, Any] | None = None
    """The numbers to print next to the chart; None if a table of the report has them in this form."""


def charts_of(name: str, table: pd.DataFrame, frames: Frames, language: Language) -> Iterator[Chart]:
    """Yield the charts of the table *name*; none for tables outside `CHART_TABLES`."""
    charts: Iterable[Chart | None] = ()
    match name:
        case "naans" if len(table):
            charts = (naan_chart(table, language),)
        case "services":
            charts = service_charts(table[table["service"].ne("level")], language)
        case "survival":
            curves = (survival_chart(table, group, language) for group in ("naan", "resolver"))
            charts = (share_alive_chart(runs(frames.timeline), language), *curves)
    yield from (chart for chart in charts if chart is not None)


def chart_macros(language: Language) -> Any:
    """Return the macros with the sentences of charts."""
    return macros("charts.txt.j2", "reports.page", language)


def _chart(name: str, alt: Any, language: Language, drawing: Mapping[str, Any], **numbers: Any) -> Chart:
    return Chart(name, language.gettext(_TITLES[name]), str(alt), drawing, numbers or None)


def naan_chart(naans: pd.DataFrame, language: Language) -> Chart:
    """Return the chart of ARKs by NAAN and family: one bar per NAAN, the largest on top, small ones combined."""
    bars = _bars(naans, language)
    series = [
        {"name": language.gettext(FAMILY_NAMES[family]), "tone": family.value, "values": bars[column].tolist()}
        for family, column in FAMILY_COLUMNS.items()
    ]
    totals = naans[["arks", *FAMILY_COLUMNS.values()]].sum()
    alt = chart_macros(language).naans(totals, len(naans), naans.iloc[0])
    largest_total = int(bars.sum(axis="columns").max())
    return _chart(
        "arks-by-naan",
        alt,
        language,
        {"names": [*bars.index], "series": series, "most": largest_total, "leads_to": "naan"},
    )


def _bars(naans: pd.DataFrame, language: Language) -> pd.DataFrame:
    """Return one row per bar, indexed by label, with the columns of families; small NAANs share the last row."""
    naan_names = zip(naans["naan"], naans["organization"].fillna(""), strict=True)
    labels = [f"{_shorten_name(escape_invisible(name))} {escape_invisible(naan)}".strip() for naan, name in naan_names]
    rows = naans[[*FAMILY_COLUMNS.values()]].astype("int64").set_axis(labels, axis="index")
    if len(rows) <= _MOST_NAANS:
        return rows
    largest_naans, small_naans = rows.iloc[: _MOST_NAANS - 1], rows.iloc[_MOST_NAANS - 1 :]
    others_label = language.ngettext("{number} other NAAN", "{number} other NAANs", len(small_naans))
    return pd.concat([largest_naans, pd.DataFrame([small_naans.sum()], index=[others_label])])


def _shorten_name(name: str) -> str:
    """Return a name of limited length, cut between words if possible.

    >>> _shorten_name("x" * 200) == "x" * 89 + "…", _shorten_name("Centre " * 20).endswith("Centre …"), _shorten_name("")
    (True, True, '')
    """
    if len(name) <= _LONGEST_NAME:
        return name
    short_name = shorten(name, _LONGEST_NAME, placeholder=" …")
    return short_name if len(short_name) > 2 else f"{name[: _LONGEST_NAME - 1]}…"


def service_charts(services: pd.DataFrame, language: Language) -> Iterator[Chart]:
    """Yield one chart per service with the number of ARKs for each answer; all charts have the same scale."""
    for service, rows in services.groupby("service", sort=False):
        provided_count = rows.loc[rows["given"], "arks"].sum()
        alt = chart_macros(language).service(list(records_of(rows)), provided_count, rows["arks"].sum())
        tones = rows["outcome"].map(TONES).tolist()
        series = [{"name": "ARKs", "tones": tones, "values": rows["arks"].tolist()}]
        largest_count = int(services["arks"].max())
        drawing = {"names": rows["outcome"].tolist(), "series": series, "most": largest_count}
        yield _chart(f"service-{service}", alt, language, drawing)


def share_alive_chart(run_shares: pd.DataFrame, language: Language) -> Chart | None:
    """Return the chart of the share of ARKs that work after each run; None with fewer than two judged runs.

    *run_shares* is the result of `persistence.runs`.
    """
    judged_runs = run_shares[run_shares["share_working"].notna()]
    if len(judged_runs) < 2:
        return None
    rows, axis_minimum = list(records_of(judged_runs)), axis_start(judged_runs["share_working"])
    moments = judged_runs["started_at"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    names_by_column = {
        "share_working": language.gettext("work"),
        "share_not_broken": language.gettext("not confirmed broken"),
    }
    lines = [
        {"name": name, "points": _points(moments, judged_runs[column])} for column, name in names_by_column.items()
    ]
    alt = chart_macros(language).runs(len(rows), rows[0], rows[-1], axis_minimum)
    drawing = {"lines": lines, "foot": axis_minimum}
    return _chart("share-alive", alt, language, drawing, runs=rows[-MOST_RUNS:], is_cut=len(rows) > MOST_RUNS)


def survival_chart(survival: pd.DataFrame, grouping: str, language: Language) -> Chart | None:
    """Return the survival curves of all ARKs and of the largest NAANs or resolvers.

    Return None if nothing was observed for a day. The numbers at risk are printed next to the chart, because a curve is
    less reliable the fewer ARKs are still observed.
    """
    curve_of_all = survival[survival["grouping"].eq("all")]
    if not curve_of_all["days"].gt(0).any():
        return None
    last_day = int(curve_of_all["days"].max())
    curves_of_grouping = survival[survival["grouping"].eq(grouping)]
    largest_groups = in_order(curves_of_grouping, "-at_risk", "group")["group"].unique()[:_MOST_CURVES]
    curves = {language.pgettext("a curve", "all"): curve_of_all}
    curves |= {
        escape_invisible(name): curves_of_grouping[curves_of_grouping["group"].eq(name)] for name in largest_groups
    }
    last_survival = {name: rows["survival"].iloc[-1] for name, rows in curves.items()}
    axis_minimum = axis_start(pd.concat([rows["survival"] for rows in curves.values()]))
    lines = [
        {"name": name, "points": [(0, 1.0), *_points(rows["days"], rows["survival"])]} for name, rows in curves.items()
    ]
    alt = chart_macros(language).survival(
        last_survival, curve_of_all["at_risk"].max(), last_day, curve_of_all["never_worked"].max(), axis_minimum
    )
    days = sorted({round(last_day * part / _TICKS) for part in range(_TICKS + 1)})
    return _chart(
        f"survival-{grouping}",
        alt,
        language,
        {
            "lines": lines,
            "foot": axis_minimum,
            "days": last_day,
            "axis": language.gettext("days since first seen working"),
        },
        days=days,
        curves={
            name: {
                "at_risk": [int(rows["at_risk"].where(rows["days"] >= day, 0).max()) for day in days],
                **next(records_of(rows.tail(1)[["survival", "low", "high"]])),
            }
            for name, rows in curves.items()
        },
    )


def axis_start(shares: Iterable[float]) -> float:
    """Return the start of an axis of shares: 0, unless all shares are so high that the lines would overlap.

    >>> axis_start([1.0, 0.993]), axis_start([0.98, 0.72]), axis_start([0.4])
    (0.95, 0.7, 0.0)
    """
    smallest_share = float(min(shares))
    return 0.0 if smallest_share < 0.5 else min(0.95, int(smallest_share * 20) / 20)


def _points(positions: pd.Series, shares: pd.Series) -> list[tuple[Any, float]]:
    return list(zip(positions.tolist(), shares.round(4).tolist(), strict=True))
