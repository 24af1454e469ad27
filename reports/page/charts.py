"""Charts as plain data for the library that draws them, made from tables: the same tables give the same charts.

A colour is named by what it stands for; the page fills it in for light, dark and print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from crawler.observations import FAMILY_OF, Family, ObjectOutcome
from reports.ark_statuses import FAMILY_COLUMNS
from reports.display import counted, escaped
from reports.distinct import hosts_of, mapped, values_of
from reports.wording import FAMILY_NAMES

_MOST_NAANS: Final = 14
_MOST_NODES: Final = 8
_LONGEST_NAME: Final = 30
_ROW_HEIGHT: Final = 30


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a chart as a small table beside it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_open: bool = False
    """Whether they belong to what the chart says, so that they are always shown."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: what the library draws, and a sentence that says the same."""

    name: str
    title: str
    alt: str
    height: int
    """In CSS pixels."""
    option: Mapping[str, Any]
    """As ECharts takes it, but for colours: ``{"colour": "works"}``."""
    leads_to: str | None = None
    """The column of the table of ARKs by which a click on a bar filters, if it does."""
    numbers: Numbers | None = None
    """What it is drawn from, where no table of the report says it as it is drawn."""


def charts_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Chart, ...]:
    """The charts of a report; none when there is no ARK to draw."""
    if tables["naans"].empty:
        return ()
    services = tables["services"]
    drawn = (
        by_naan(tables["naans"]),
        None if services.empty else by_service(services),
        flow_of(tables["arks"]),
        alive_of(tables["runs"]),
        *(survival_of(tables["survival"], grouping) for grouping in ("naan", "resolver")),
    )
    return tuple(chart for chart in drawn if chart)


def colour(name: str) -> dict[str, str]:
    """The colour that stands for *name*, as the page will fill it in."""
    return {"colour": name}


# -- ARKs by NAAN


def by_naan(naans: pd.DataFrame) -> Chart:
    """ARKs by NAAN and family: one bar a NAAN, the greatest on top, the small ones together."""
    bars = _bars(naans)
    totals = bars.sum(axis="columns")
    return Chart(
        "arks-by-naan",
        "ARKs by organization",
        _naan_sentence(naans),
        70 + _ROW_HEIGHT * len(bars),
        {
            **_FRAME,
            "legend": {
                "top": 0,
                "left": 0,
                "data": list(FAMILY_NAMES.values()),
                "textStyle": {"color": colour("ink")},
            },
            "xAxis": {"type": "value", "show": False, "max": int(totals.max() * 1.12) + 1},
            "yAxis": _names(list(bars.index)),
            "series": [
                *(
                    _stack(FAMILY_NAMES[family], family.value, bars[column], int(totals.max()))
                    for family, column in FAMILY_COLUMNS.items()
                ),
                _totals(totals),
            ],
        },
        leads_to="naan",
    )


def _bars(naans: pd.DataFrame) -> pd.DataFrame:
    """One row a bar, labelled: the greatest NAANs, and the others as one, unless that would dwarf them."""
    columns = list(FAMILY_COLUMNS.values())
    rows = naans[columns].astype("int64").set_axis(_labels(naans), axis="index")
    if len(rows) <= _MOST_NAANS:
        return rows
    kept, rest = rows.iloc[: _MOST_NAANS - 1], rows.iloc[_MOST_NAANS - 1 :]
    if rest.sum().sum() > 2 * kept.iloc[0].sum():  # beside such a bar the others would be too short to read
        return kept
    return pd.concat([kept, pd.DataFrame([rest.sum()], index=[counted(len(rest), "other NAAN")])])


def _labels(naans: pd.DataFrame) -> list[str]:
    names = zip(naans["naan"], naans["organization"].fillna(""), strict=True)
    return [f"{_shortened(escaped(organization))} {escaped(naan)}".strip() for naan, organization in names]


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


_FRAME: Final[Mapping[str, Any]] = {
    "animation": False,
    "textStyle": {"fontFamily": "inherit"},
    "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}, "renderMode": "richText", "confine": True},
    "grid": {"left": 4, "right": 12, "top": 40, "bottom": 4, "containLabel": True},
}


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "category",
        "data": list(names),
        "inverse": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"color": colour("ink"), "interval": 0},
    }


def _stack(name: str, tone: str, values: pd.Series, longest: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "stack": "all",
        "barWidth": "68%",
        "data": [
            {"value": value, "label": {"show": _has_room(value, longest), "formatter": f"{value:,}"}}
            for value in map(int, values)
        ],
        "itemStyle": {"color": colour(tone)},
        "label": {"color": colour(f"{tone}-on"), "position": "inside"},
        "emphasis": {"disabled": True},
    }


def _has_room(value: int, longest: int) -> bool:
    """Return whether a number can be read inside its part of a bar."""
    return value > (0.04 + 0.02 * len(f"{value:,}")) * longest


def _totals(totals: pd.Series) -> dict[str, Any]:
    """The sum of each bar, written behind it: a bar of no length of its own."""
    return {
        "type": "bar",
        "name": "in all",
        "stack": "all",
        "data": [{"value": 0, "label": {"show": True, "formatter": f"{total:,}"}} for total in map(int, totals)],
        "label": {"position": "right", "color": colour("ink"), "fontWeight": "bold"},
        "tooltip": {"show": False},
        "legendHoverLink": False,
        "silent": True,
    }


def _naan_sentence(naans: pd.DataFrame) -> str:
    counts = ", ".join(
        f"{int(naans[column].sum()):,} {FAMILY_NAMES[family]}" for family, column in FAMILY_COLUMNS.items()
    )
    arks, largest = int(naans["arks"].sum()), naans.iloc[0]
    undrawn = arks - int(_bars(naans).sum().sum())
    return (
        f"Stacked bars of {counted(arks, 'ARK')} under {counted(len(naans), 'NAAN')}: {counts}. "
        f"The NAAN with most ARKs is {escaped(largest['naan'])}, with {largest['arks']:,}."
        + (f" The smaller NAANs, with {counted(undrawn, 'ARK')} together, are not drawn." if undrawn else "")
    )


# -- the three services


def by_service(services: pd.DataFrame) -> Chart:
    """Return how many ARKs have each of the three services, and what else was answered: one bar an answer."""
    names, values, tones = [], [], []
    for service, rows in services.groupby("service", sort=False):
        for outcome, arks, given in zip(rows["outcome"], rows["arks"], rows["given"], strict=True):
            names.append(f"{service}: {outcome}")
            values.append(int(arks))
            tones.append(_family(str(service), outcome, given=given).value)
    return Chart(
        "services",
        "The three services of an ARK",
        _service_sentence(services),
        20 + 26 * len(names),
        {
            **_FRAME,
            "grid": {**_FRAME["grid"], "top": 4, "right": 60},
            "xAxis": {"type": "value", "show": False},
            "yAxis": _names(names),
            "series": [
                {
                    "type": "bar",
                    "name": "ARKs",
                    "barWidth": "68%",
                    "data": [
                        {
                            "value": value,
                            "itemStyle": {"color": colour(tone)},
                            "label": {"formatter": f"{value:,}"},
                        }
                        for value, tone in zip(values, tones, strict=True)
                    ],
                    "label": {"show": True, "position": "right", "color": colour("ink")},
                    "emphasis": {"disabled": True},
                }
            ],
        },
    )


def _family(service: str, outcome: str, *, given: bool) -> Family:
    """The colour of an answer: an object outcome by its family, any other by whether the service is given."""
    if service == "object":
        return FAMILY_OF[ObjectOutcome(outcome)]
    return Family.WORKS if given else Family.NOT_JUDGED


def _service_sentence(services: pd.DataFrame) -> str:
    parts = [
        f"{service} {int(rows.loc[rows['given'], 'arks'].sum()):,} of {int(rows['arks'].sum()):,}"
        for service, rows in services.groupby("service", sort=False)
    ]
    return f"Bars of how many ARKs give each service, and what the others answered: {', '.join(parts)}."


# -- where ARKs go


def flow_of(arks: pd.DataFrame) -> Chart | None:
    """From the host that was asked to the host that answered last, and what that came to; None when none was asked."""
    asked = arks[arks["object"].notna() & arks["request_url"].notna() & arks["object"].ne(ObjectOutcome.SKIPPED)]
    if asked.empty:
        return None
    starts = mapped(hosts_of(asked["request_url"]), lambda name: f"asked at {escaped(name) or 'no host'}")
    ends = mapped(hosts_of(asked["final_url"]).fillna(""), lambda name: escaped(name) or "no answer")
    first = _grouped(values_of(starts), "asked at others")
    second = _grouped(values_of(ends), "other hosts")
    third = values_of(mapped(asked["family"], lambda family: FAMILY_NAMES[Family(family)]))
    links = Counter((*zip(first, second, strict=True), *zip(second, third, strict=True)))
    tones = {FAMILY_NAMES[family]: family.value for family in Family}
    nodes = sorted({name for link in links for name in link}, key=lambda name: (name in tones, name))
    return Chart(
        "flow",
        "Where ARKs go",
        _flow_sentence(first, second),
        max(260, 36 * max(len(set(first)), len(set(second)))),
        {
            "animation": False,
            "textStyle": {"fontFamily": "inherit"},
            "tooltip": {"renderMode": "richText", "confine": True},
            "series": [
                {
                    "type": "sankey",
                    "left": 4,
                    "right": 130,
                    "top": 8,
                    "bottom": 8,
                    "nodeGap": 16,
                    "draggable": False,
                    "emphasis": {"focus": "adjacency"},
                    "label": {"color": colour("ink")},
                    "lineStyle": {"opacity": 0.35},
                    "data": [{"name": name, "itemStyle": {"color": colour(tones.get(name, "host"))}} for name in nodes],
                    "links": [
                        {
                            "source": source,
                            "target": target,
                            "value": value,
                            "lineStyle": {"color": colour(tones.get(target, "host"))},
                        }
                        for (source, target), value in sorted(links.items())
                    ],
                }
            ],
        },
        numbers=Numbers(
            "The flow in numbers",
            ("from", "to", "URLs"),
            tuple((source, target, f"{value:,}") for (source, target), value in sorted(links.items(), key=_most_first)),
        ),
    )


def _most_first(link: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -link[1], link[0]


def _grouped(names: Sequence[str], others: str) -> list[str]:
    """The names, the rarer ones as one."""
    counts = Counter(names)
    kept = {name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]}
    return [name if name in kept or len(counts) <= _MOST_NODES + 1 else others for name in names]


def _flow_sentence(first: Sequence[str], second: Sequence[str]) -> str:
    [(most_asked, asked)] = Counter(first).most_common(1)
    [(most_landed, landed)] = Counter(second).most_common(1)
    return (
        f"Flow of {counted(len(first), 'URL')} from the hosts that were asked to the hosts that answered last and to "
        f"what that came to. Most were {most_asked} ({asked:,}); most ended at {most_landed} ({landed:,})."
    )


# -- over time


def alive_of(runs: pd.DataFrame) -> Chart | None:
    """The share of ARKs that work, and that are not confirmed broken, after each run; None before the second run."""
    known = runs[runs["share_working"].notna()]
    if len(known) < 2:
        return None
    moments = [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in known["started_at"]]
    lines = [
        ("work", "line-1", known["share_working"], "solid"),
        ("not confirmed broken", "line-3", known["share_not_broken"], "dashed"),
    ]
    first, last, foot = known.iloc[0], known.iloc[-1], _foot(known["share_working"])
    return Chart(
        "share-alive",
        "Share alive by run",
        f"Lines over {counted(len(known), 'run')}: the share of ARKs that work went from "
        f"{_percent(first['share_working'])} after run {first['run_id']} to {_percent(last['share_working'])} after "
        f"run {last['run_id']}; "
        f"{_percent(last['share_not_broken'])} are not confirmed broken.{_foot_sentence(foot)}",
        300,
        {
            **_lines_frame([name for name, *_ in lines], foot),
            "useUTC": True,
            "xAxis": {"type": "time", **_AXIS, "axisLabel": {**_AXIS["axisLabel"], "formatter": "{yyyy}-{MM}-{dd}"}},
            "series": [
                _line(name, tone, list(zip(moments, map(_rounded, values), strict=True)), dash)
                for name, tone, values, dash in lines
            ],
        },
        numbers=Numbers(
            f"The last {_MOST_RUNS} runs in numbers" if len(known) > _MOST_RUNS else "The runs in numbers",
            ("run", "began", "work", "fail, not yet confirmed", "confirmed broken", "share that works", "remark"),
            tuple(_run_row(run) for _, run in known.tail(_MOST_RUNS).iterrows()),
        ),
    )


def _run_row(run: pd.Series) -> tuple[str, ...]:
    counts = (f"{run[name]:,}" for name in ("working", "failing", "confirmed_broken"))
    remark = "suspect: most hosts failed" if run["suspect"] else ""
    return str(run["run_id"]), f"{run['started_at']:%Y-%m-%d}", *counts, _percent(run["share_working"]), remark


def survival_of(survival: pd.DataFrame, grouping: str) -> Chart | None:
    """The survival curves of the greatest NAANs or resolvers, and of all; None where nothing was watched for a day.

    Beside it the numbers at risk: a curve says less and less, the fewer are still watched.
    """
    curves = _curves(survival, grouping)
    longest = max((int(rows["days"].max()) for rows in curves.values()), default=0)
    if longest < 1:
        return None
    title = {"naan": "Survival by NAAN", "resolver": "Survival by resolver"}[grouping]
    days = sorted({round(longest * part / _TICKS) for part in range(_TICKS + 1)})
    foot = _foot(pd.concat([rows["survival"] for rows in curves.values()]))
    tones = ["ink", *(f"line-{number}" for number in range(1, _MOST_CURVES + 1))]
    return Chart(
        f"survival-{grouping}",
        title,
        _survival_sentence(curves, longest) + _foot_sentence(foot),
        320,
        {
            **_lines_frame(list(curves), foot),
            "xAxis": {
                "type": "value",
                "min": 0,
                "max": longest,
                "name": "days since it was first seen to work",
                "nameLocation": "middle",
                "nameGap": 28,
                "nameTextStyle": {"color": colour("soft")},
                **_AXIS,
            },
            "series": [
                {**_line(name, tone, [[0, 1.0], *_points(rows)], dash), "step": "end"}
                for (name, rows), tone, dash in zip(curves.items(), tones, _DASHES, strict=False)
            ],
        },
        numbers=Numbers(
            "At risk, and estimated share alive",
            ("", *(f"{counted(day, 'day')}" for day in days), "share alive (95 %)"),
            tuple((name, *(f"{_at_risk(rows, day):,}" for day in days), _end(rows)) for name, rows in curves.items()),
            is_open=True,
        ),
    )


#: Curves of one chart besides that of all; parts of its axis that numbers at risk are printed for.
_MOST_CURVES: Final = 5
_TICKS: Final = 3
_MOST_RUNS: Final = 24
_DASHES: Final = ("solid", "solid", "dashed", "dotted", "solid", "dashed")
_AXIS: Final[Mapping[str, Any]] = {
    "axisLabel": {"color": colour("ink"), "hideOverlap": True, "fontSize": 12},
    "axisLine": {"lineStyle": {"color": colour("soft")}},
    "splitLine": {"show": False},
}


def _curves(survival: pd.DataFrame, grouping: str) -> dict[str, pd.DataFrame]:
    """The rows of all, and of the groups with most subjects, by the name that a reader knows them by."""
    chosen = survival[survival["grouping"].isin(["all", grouping])]
    groups = {(str(kind), str(name)): rows for (kind, name), rows in chosen.groupby(["grouping", "group"])}
    sizes = {key: -int(rows["at_risk"].max()) for key, rows in groups.items() if key[0] == grouping}
    greatest = sorted(sizes, key=lambda key: (sizes[key], key))[:_MOST_CURVES]
    whole = [key for key in groups if key[0] == "all"]
    return {"all" if key[0] == "all" else escaped(key[1]): groups[key] for key in (*whole, *greatest)}


def _points(rows: pd.DataFrame) -> list[list[float]]:
    return [[int(day), _rounded(share)] for day, share in zip(rows["days"], rows["survival"], strict=True)]


def _at_risk(rows: pd.DataFrame, day: int) -> int:
    """Return how many were alive and still watched on a day."""
    later = rows[rows["days"] >= day]
    return 0 if later.empty else int(later["at_risk"].iloc[0])


def _end(rows: pd.DataFrame) -> str:
    last = rows.iloc[-1]
    if pd.isna(last["low"]) or pd.isna(last["high"]):
        return _percent(last["survival"])
    return f"{_percent(last['survival'])} ({100 * last['low']:.1f} to {100 * last['high']:.1f})"


def _survival_sentence(curves: Mapping[str, pd.DataFrame], longest: int) -> str:
    parts = "; ".join(f"{name} {_percent(rows['survival'].iloc[-1])}" for name, rows in curves.items())
    return (
        f"Falling steps: the estimated share (Kaplan-Meier) of ARKs still alive so many days after each was first seen "
        f"to work, over {counted(longest, 'day')}. At the end: {parts}."
    )


def _foot(shares: pd.Series) -> float:
    """Return where an axis of shares begins: at 0, unless all of them lie so high that nothing could be distinguished.

    >>> _foot(pd.Series([1.0, 0.993])), _foot(pd.Series([0.98, 0.72])), _foot(pd.Series([0.4]))
    (0.95, 0.7, 0.0)
    """
    lowest = float(shares.min())
    return 0.0 if lowest < 0.5 else min(0.95, int(lowest * 20) / 20)


def _foot_sentence(foot: float) -> str:
    return f" The axis begins at {100 * foot:.0f} %." if foot else ""


def _lines_frame(names: Sequence[str], foot: float) -> dict[str, Any]:
    return {
        **_FRAME,
        "grid": {"left": 4, "right": 24, "top": 40, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "legend": {"top": 0, "left": 0, "type": "scroll", "data": list(names), "textStyle": {"color": colour("ink")}},
        "yAxis": {
            "type": "value",
            "min": foot,
            "max": 1,
            "interval": round((1 - foot) / 5, 4),
            **_AXIS,
            "splitLine": {"lineStyle": {"color": colour("line")}},
            "percent": True,
        },
    }


def _line(name: str, tone: str, points: Sequence[Any], dash: str) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "data": [list(point) for point in points],
        "symbol": "circle",
        "symbolSize": 4,
        "showSymbol": len(points) <= _MOST_RUNS,
        "lineStyle": {"color": colour(tone), "width": 2, "type": dash},
        "itemStyle": {"color": colour(tone)},
        "emphasis": {"disabled": True},
    }


def _percent(share: Any) -> str:
    return "unknown" if pd.isna(share) else f"{100 * float(share):.1f} %"


def _rounded(share: Any) -> float:
    return round(float(share), 4)
