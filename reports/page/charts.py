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
from reports.display import escaped
from reports.overviews import host
from reports.standing import FAMILY_COLUMNS
from reports.words import FAMILY_NAMES, counted

_MOST_NAANS: Final = 14
_MOST_NODES: Final = 8
_LONGEST_NAME: Final = 30
_ROW_HEIGHT: Final = 30


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


def charts_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Chart, ...]:
    """The charts of a report; none when there is no ARK to draw."""
    if tables["naans"].empty:
        return ()
    charts = [by_naan(tables["naans"])]
    if not tables["services"].empty:
        charts.append(by_service(tables["services"]))
    flow = flow_of(tables["arks"])
    return (*charts, flow) if flow else tuple(charts)


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
    """One row a bar, labelled: the greatest NAANs, and the others as one."""
    columns = list(FAMILY_COLUMNS.values())
    rows = naans[columns].astype("int64").set_axis(_labels(naans), axis="index")
    if len(rows) <= _MOST_NAANS:
        return rows
    rest = rows.iloc[_MOST_NAANS - 1 :]
    other = pd.DataFrame([rest.sum()], index=[counted(len(rest), "other NAAN")])
    return pd.concat([rows.iloc[: _MOST_NAANS - 1], other])


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
            {"value": value, "label": {"show": value > 0.06 * longest and value > 0}} for value in map(int, values)
        ],
        "itemStyle": {"color": colour(tone)},
        "label": {"color": colour(f"{tone}-on"), "position": "inside"},
        "emphasis": {"disabled": True},
    }


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
    return (
        f"Stacked bars of {counted(arks, 'ARK')} under {counted(len(naans), 'NAAN')}: {counts}. "
        f"The NAAN with most ARKs is {escaped(largest['naan'])}, with {largest['arks']:,}."
    )


# -- the three services


def by_service(services: pd.DataFrame) -> Chart:
    """How many ARKs have each of the three services, and what else was answered: one bar an answer."""
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
                        {"value": value, "itemStyle": {"color": colour(tone)}}
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
    first = _grouped(
        [f"asked at {escaped(name) or 'no host'}" for name in asked["request_url"].map(host)], "asked at others"
    )
    landed = asked["final_url"].map(host, na_action="ignore").fillna("")
    second = _grouped([escaped(name) or "no answer" for name in landed], "other hosts")
    third = [FAMILY_NAMES[Family(str(family))] for family in asked["family"]]
    links = Counter((*zip(first, second, strict=True), *zip(second, third, strict=True)))
    tones = {FAMILY_NAMES[family]: family.value for family in Family}
    nodes = sorted({name for link in links for name in link}, key=lambda name: (name in tones, name))
    return Chart(
        "flow",
        "Where ARKs go",
        _flow_sentence(first, second),
        max(260, 34 * max(len(set(first)), len(set(second)))),
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
                    "nodeGap": 12,
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
    )


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
