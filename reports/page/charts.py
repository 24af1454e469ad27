"""The charts of a report, from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import pandas as pd

from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from reports.languages import N_, Language
from reports.languages.display import escape_invisible
from reports.tables.ark_statuses import FAMILY_COLUMNS
from reports.tables.wording import FAMILY_COUNTS, FAMILY_NAMES

_MOST_NAANS = 14
#: Longer names are cut between words; the table has the full name.
_LONGEST_NAME = 90


# -- ARKs by NAAN


def by_naan(naans: pd.DataFrame, language: Language) -> Chart:
    """Return the chart of ARKs by NAAN and family: one bar per NAAN, the largest on top, small ones combined."""
    names = {family: language.gettext(name) for family, name in FAMILY_NAMES.items()}
    bars = _bars(naans, language)
    totals = bars.sum(axis="columns")
    return Chart(
        "arks-by-naan",
        language.gettext("ARKs by organization"),
        _naan_sentence(naans, language),
        _height(len(bars), has_legend=True),
        {
            **FRAME,
            "legend": {**LEGEND, "data": list(names.values())},
            "xAxis": {"type": "value", "show": False, "max": max(1, int(totals.max()))},
            "yAxis": _names(list(bars.index)),
            "series": [
                *(
                    _stack(names[family], family.value, bars[column], int(totals.max()), language)
                    for family, column in FAMILY_COLUMNS.items()
                ),
                _totals(totals, language),
            ],
        },
        leads_to="naan",
        widest_number=language.number(int(totals.max())),
    )


def _height(bars: int, *, has_legend: bool = False) -> int:
    """Return the height of a chart with *bars* bars whose names fit on one line; the page grows it for longer names."""
    return (LEGEND_HEIGHT if has_legend else 0) + 16 + ROW_HEIGHT * bars


def _bars(naans: pd.DataFrame, language: Language) -> pd.DataFrame:
    """Return one labelled row per bar: the largest NAANs, and all others as one."""
    columns = list(FAMILY_COLUMNS.values())
    named = zip(naans["naan"], naans["organization"].fillna(""), strict=True)
    labels = [f"{_shorten_name(escape_invisible(name))} {escape_invisible(naan)}".strip() for naan, name in named]
    rows = naans[columns].astype("int64").set_axis(labels, axis="index")
    if len(rows) <= _MOST_NAANS:
        return rows
    kept, rest = rows.iloc[: _MOST_NAANS - 1], rows.iloc[_MOST_NAANS - 1 :]
    others = language.ngettext("{number} other NAAN", "{number} other NAANs", len(rest))
    return pd.concat([kept, pd.DataFrame([rest.sum()], index=[others])])


def _shorten_name(name: str) -> str:
    """Return a name of limited length, cut between words if possible.

    >>> _shorten_name("x" * 200) == "x" * 89 + "…", _shorten_name("Centre " * 20).endswith("Centre …"), _shorten_name("")
    (True, True, '')
    """
    if len(name) <= _LONGEST_NAME:
        return name
    cut = shorten(name, _LONGEST_NAME, placeholder=" …")
    return cut if len(cut) > 2 else f"{name[: _LONGEST_NAME - 1]}…"


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "category",
        "data": list(names),
        "inverse": True,
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"color": colour("ink"), "interval": 0},
    }


def _stack(name: str, tone: str, values: pd.Series, longest: int, language: Language) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "stack": "all",
        "barWidth": 15,
        "data": [
            {
                "value": value,
                "label": {
                    # Show the number only if it fits into its part of the bar.
                    "show": value > (0.04 + 0.02 * len(f"{value:,}")) * longest,
                    "formatter": language.number(value),
                },
            }
            for value in map(int, values)
        ],
        "itemStyle": {"color": colour(tone)},
        "label": {"color": colour(f"{tone}-on"), "position": "inside"},
        "emphasis": {"disabled": True},
    }


def _totals(totals: pd.Series, language: Language) -> dict[str, Any]:
    """Return the total of each bar as a label on a bar of length 0 after it."""
    return {
        "type": "bar",
        "name": language.gettext("in all"),
        "stack": "all",
        "data": [
            {"value": 0, "label": {"show": True, "formatter": language.number(total)}} for total in map(int, totals)
        ],
        "label": {"position": "right", "color": colour("ink"), "fontWeight": "bold"},
        "tooltip": {"show": False},
        "legendHoverLink": False,
        "silent": True,
    }


def _naan_sentence(naans: pd.DataFrame, language: Language) -> str:
    counts = ", ".join(
        language.counted(FAMILY_COUNTS[family], int(naans[column].sum())) for family, column in FAMILY_COLUMNS.items()
    )
    arks, largest = int(naans["arks"].sum()), naans.iloc[0]
    sentences = [
        language.gettext(
            "Stacked bars of {arks} under {naans}: {counts}.",
            arks=language.npgettext("bars of", "{number} ARK", "{number} ARKs", arks),
            naans=language.npgettext("under", "{number} NAAN", "{number} NAANs", len(naans)),
            counts=counts,
        ),
        language.gettext(
            "The NAAN with most ARKs is {naan}, with {number}.",
            naan=escape_invisible(largest["naan"]),
            number=int(largest["arks"]),
        ),
    ]
    return " ".join(sentences)


# -- the three services


def by_service(services: pd.DataFrame, language: Language) -> tuple[Chart, ...]:
    """Return one chart per service: how many ARKs provide it, and the other answers, all on one scale."""
    most = max(1, int(services["arks"].max()))
    return tuple(_service(str(name), rows, most, language) for name, rows in services.groupby("service", sort=False))


_SERVICE_TITLES = {
    "object": N_("The object: results of the redirects"),
    "metadata": N_("The metadata: answers to ?info"),
    "commitment": N_("The commitment: statements of the providers"),
}


def _service(service: str, rows: pd.DataFrame, most: int, language: Language) -> Chart:
    given, asked = int(rows.loc[rows["given"], "arks"].sum()), int(rows["arks"].sum())
    bars = list(zip(rows["outcome"], map(int, rows["arks"]), rows["given"], strict=True))
    answers = "; ".join(f"{outcome} {language.number(arks)}" for outcome, arks, _ in bars)
    return Chart(
        f"service-{service}",
        language.gettext(_SERVICE_TITLES[service]),
        language.ngettext(
            "{number} of {arks} provides this. Answers: {answers}.",
            "{number} of {arks} provide this. Answers: {answers}.",
            given,
            arks=language.npgettext("so many of", "{number} ARK", "{number} ARKs", asked),
            answers=answers,
        ),
        _height(len(bars)),
        {
            **FRAME,
            "grid": {**FRAME["grid"], "top": 4},
            "xAxis": {"type": "value", "show": False, "max": most},
            "yAxis": _names([str(outcome) for outcome, *_ in bars]),
            "series": [
                {
                    "type": "bar",
                    "name": "ARKs",
                    "barWidth": 15,
                    "data": [
                        {
                            "value": arks,
                            "itemStyle": {"color": colour(_family(service, str(outcome), given=is_given).value)},
                            "label": {"formatter": language.number(arks)},
                        }
                        for outcome, arks, is_given in bars
                    ],
                    "label": {"show": True, "position": "right", "color": colour("ink")},
                    "emphasis": {"disabled": True},
                }
            ],
        },
        widest_number=language.number(most),
    )


def _family(service: str, outcome: str, *, given: bool) -> Family:
    """Return the family whose colour an answer has: by its object outcome, or by whether the service is provided."""
    if service == "object":
        return FAMILY_OF[ObjectOutcome(outcome)]
    return Family.WORKS if given else Family.NOT_JUDGED


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a chart as a small table next to it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_open: bool = False
    """True if the numbers are essential to the chart, so that they are always shown."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: the options of the library, and a sentence with the same content."""

    name: str
    title: str
    alt: str
    height: int
    """In CSS pixels, if each name fits on one line; the page grows it for more."""
    option: Mapping[str, Any]
    """The option object of ECharts, with named colours: ``{"colour": "works"}``."""
    leads_to: str | None = None
    """The column of the table of ARKs that a click on a bar filters, if any."""
    numbers: Numbers | None = None
    """The numbers of the chart, if no table of the report has them in this form."""
    widest_number: str = ""
    """The widest of the numbers at the ends of bars, for which space is reserved."""


def colour(name: str) -> dict[str, str]:
    """Return a placeholder for the colour *name*, which the page fills in."""
    return {"colour": name}


#: Heights of the parts of a chart, in CSS pixels.
ROW_HEIGHT = 27
LEGEND_HEIGHT = 30
#: A legend above a chart; the page breaks it into as many lines as it needs.
LEGEND = {"top": 0, "left": 0, "itemWidth": 14, "itemHeight": 12, "itemGap": 16, "textStyle": {"color": colour("ink")}}
#: Options common to all charts of bars and lines.
FRAME: Mapping[str, Any] = {
    "animation": False,
    "textStyle": {"fontFamily": "inherit"},
    "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}, "renderMode": "richText", "confine": True},
    "grid": {"left": 4, "right": 12, "top": LEGEND_HEIGHT + 6, "bottom": 4, "containLabel": True},
}
