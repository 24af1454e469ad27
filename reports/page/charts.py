"""The charts of a report, made from its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

import pandas as pd

from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from reports.languages import ENGLISH, N_, Language
from reports.languages.display import escaped
from reports.page.chart import FRAME, LEGEND, LEGEND_HEIGHT, ROW_HEIGHT, Chart, colour
from reports.page.flow import Ways, flow_of, ways_of
from reports.page.over_time import alive_of, curves_of, survival_of
from reports.tables.ark_statuses import FAMILY_COLUMNS
from reports.tables.services import ALL
from reports.tables.wording import FAMILY_COUNTS, FAMILY_NAMES

_MOST_NAANS = 14
#: A name longer than this is cut at the end of a word; the table has it whole.
_LONGEST_NAME = 90


# -- ARKs by NAAN


def by_naan(naans: pd.DataFrame, language: Language) -> Chart:
    """ARKs by NAAN and family: one bar a NAAN, the greatest on top, the small ones together."""
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
    """The height of a chart of so many bars whose names need one line each; where they need more, it grows."""
    return (LEGEND_HEIGHT if has_legend else 0) + 16 + ROW_HEIGHT * bars


def _bars(naans: pd.DataFrame, language: Language) -> pd.DataFrame:
    """One row per bar, labelled: the greatest NAANs, and the others as one."""
    columns = list(FAMILY_COLUMNS.values())
    rows = naans[columns].astype("int64").set_axis(_labels(naans), axis="index")
    if len(rows) <= _MOST_NAANS:
        return rows
    kept, rest = rows.iloc[: _MOST_NAANS - 1], rows.iloc[_MOST_NAANS - 1 :]
    others = language.ngettext("{number} other NAAN", "{number} other NAANs", len(rest))
    return pd.concat([kept, pd.DataFrame([rest.sum()], index=[others])])


def _labels(naans: pd.DataFrame) -> list[str]:
    names = zip(naans["naan"], naans["organization"].fillna(""), strict=True)
    return [f"{_shortened(escaped(organization))} {escaped(naan)}".strip() for naan, organization in names]


def _shortened(name: str) -> str:
    """A name that is not too long, cut between words where it has any.

    >>> _shortened("x" * 200) == "x" * 89 + "…", _shortened("Centre " * 20).endswith("Centre …"), _shortened("")
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
            {"value": value, "label": {"show": _has_room(value, longest), "formatter": language.number(value)}}
            for value in map(int, values)
        ],
        "itemStyle": {"color": colour(tone)},
        "label": {"color": colour(f"{tone}-on"), "position": "inside"},
        "emphasis": {"disabled": True},
    }


def _has_room(value: int, longest: int) -> bool:
    """Return whether a number can be read inside its part of a bar."""
    return value > (0.04 + 0.02 * len(f"{value:,}")) * longest


def _totals(totals: pd.Series, language: Language) -> dict[str, Any]:
    """The sum of each bar, written after it: a bar of no length of its own."""
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
        language.ngettext(FAMILY_COUNTS[family].one, FAMILY_COUNTS[family].many, int(naans[column].sum()))
        for family, column in FAMILY_COLUMNS.items()
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
            naan=escaped(largest["naan"]),
            number=int(largest["arks"]),
        ),
    ]
    return " ".join(sentences)


# -- the three services


def by_service(services: pd.DataFrame, language: Language) -> tuple[Chart, ...]:
    """Return for each service how many ARKs give it, and what the others answered: small multiples, of one scale."""
    most = max(1, int(services["arks"].max()))
    return tuple(_service(str(name), rows, most, language) for name, rows in services.groupby("service", sort=False))


_SERVICE_TITLES = {
    "object": N_("The object: what ARKs lead to"),
    "metadata": N_("The description: what ?info gives"),
    "commitment": N_("The commitment: what is promised"),
}


def _service(service: str, rows: pd.DataFrame, most: int, language: Language) -> Chart:
    given, asked = int(rows.loc[rows["given"], "arks"].sum()), int(rows["arks"].sum())
    bars = list(zip(rows["outcome"], map(int, rows["arks"]), rows["given"], strict=True))
    answers = "; ".join(f"{outcome} {language.number(arks)}" for outcome, arks, _ in bars)
    return Chart(
        f"service-{service}",
        language.gettext(_SERVICE_TITLES[service]),
        language.ngettext(
            "{number} of {arks} gives this service. Bars of the answers: {answers}.",
            "{number} of {arks} give this service. Bars of the answers: {answers}.",
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
    """The colour of an answer: an object outcome by its family, any other by whether the service is given."""
    if service == "object":
        return FAMILY_OF[ObjectOutcome(outcome)]
    return Family.WORKS if given else Family.NOT_JUDGED


__all__ = ["charts_in", "charts_of"]

_SURVIVAL_BY = ("naan", "resolver")


def charts_of(tables: Mapping[str, pd.DataFrame], language: Language = ENGLISH) -> tuple[Chart, ...]:
    """The charts of a report; none when there is no ARK to draw."""
    return charts_in([language], tables, ways_of(tables["arks"]))[language]


def charts_in(
    languages: Sequence[Language], tables: Mapping[str, pd.DataFrame], ways: Ways
) -> Mapping[Language, tuple[Chart, ...]]:
    """The same in each language, with the *ways* of all ARKs. What long tables come to is counted once."""
    if tables["naans"].empty:
        return dict.fromkeys(languages, ())
    services = tables["services"]
    services = services[services["grouping"].eq(ALL) & services["service"].ne("level")]
    curves = {grouping: curves_of(tables["survival"], grouping) for grouping in _SURVIVAL_BY}

    def drawn(language: Language) -> Iterator[Chart | None]:
        yield by_naan(tables["naans"], language)
        yield from () if services.empty else by_service(services, language)
        yield flow_of(ways, language)
        yield alive_of(tables["runs"], language)
        yield from (survival_of(curves[grouping], grouping, language) for grouping in _SURVIVAL_BY)

    return {language: tuple(chart for chart in drawn(language) if chart) for language in languages}
