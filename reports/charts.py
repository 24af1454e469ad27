"""Charts as SVG text, drawn from tables: the same table gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crawler.observations import FAMILY_OF, Family, ObjectOutcome
from reports.display import escaped
from reports.standing import FAMILY_COLUMNS
from reports.words import FAMILY_NAMES, counted


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart, as SVG text."""

    name: str
    title: str
    alt: str
    """A sentence that says what the chart shows."""
    svg: str


#: After Okabe and Ito, for people of every colour vision; with the ink that is legible on each.
COLOURS: Final[Mapping[Family, tuple[str, str]]] = {
    Family.WORKS: ("#0072b2", "#ffffff"),
    Family.FAILS: ("#d55e00", "#000000"),
    Family.UNREACHABLE: ("#f0c05a", "#1b1b1b"),
    Family.NOT_JUDGED: ("#c9c9c9", "#1b1b1b"),
}
_INK = "#1b1b1b"
_STYLE: Final[Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "arkaudit",
    "text.color": _INK,
    "text.parse_math": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
_WIDTH_IN = 7.6
_MOST_NAANS = 12
_LONGEST_NAME = 30
#: A segment narrower than this part of the longest bar has no room for its number.
_ROOM_FOR_NUMBER = 0.045


@contextmanager
def _style() -> Iterator[None]:
    """Our style over matplotlib's defaults, whatever the user has configured."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def charts_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Chart, ...]:
    """The charts of a report; none when there is no ARK to draw."""
    if tables["naans"].empty:
        return ()
    charts = [by_naan(tables["naans"])]
    if not tables["services"].empty:
        charts.append(by_service(tables["services"]))
    return tuple(charts)


def by_naan(naans: pd.DataFrame) -> Chart:
    """ARKs by NAAN and family: one bar a NAAN, the greatest on top, the small ones together."""
    bars = _bars(naans)
    with _style():
        figure = Figure(figsize=(_WIDTH_IN, 1.0 + 0.36 * len(bars)), layout="constrained")
        axes = figure.add_subplot()
        _draw_stacks(axes, bars)
        figure.legend(loc="outside upper left", ncols=len(FAMILY_COLUMNS), frameon=False, borderpad=0)
        svg = _svg(figure)
    return Chart("arks-by-naan", "ARKs by organization", _naan_sentence(naans), svg)


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


def _draw_stacks(axes: Axes, bars: pd.DataFrame) -> None:
    places = range(len(bars))
    longest = int(bars.sum(axis="columns").max())
    begins = pd.Series(0, index=bars.index)
    for family, column in FAMILY_COLUMNS.items():
        colour, ink = COLOURS[family]
        widths = bars[column]
        axes.barh(places, widths, left=begins, color=colour, label=FAMILY_NAMES[family], height=0.7)
        for place, begin, width in zip(places, begins, widths, strict=True):
            if width > _ROOM_FOR_NUMBER * longest:
                axes.text(begin + width / 2, place, f"{width:,}", color=ink, ha="center", va="center")
        begins = begins + widths
    for place, total in zip(places, begins, strict=True):
        axes.text(total + longest * 0.01, place, f"{total:,}", va="center", fontweight="bold")
    axes.set_yticks(list(places), list(bars.index))
    axes.set_xlim(0, longest * 1.08)
    _lay_out(axes, len(bars))


def by_service(services: pd.DataFrame) -> Chart:
    """How many ARKs have each of the three services, and what else was answered: one panel a service."""
    panels = {str(service): rows for service, rows in services.groupby("service", sort=False)}
    heights = [len(rows) + 1 for rows in panels.values()]
    with _style():
        figure = Figure(figsize=(_WIDTH_IN, 0.3 + 0.3 * sum(heights)), layout="constrained")
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (service, rows) in zip(all_axes, panels.items(), strict=True):
            _draw_answers(axes, service, rows)
        svg = _svg(figure)
    return Chart("services", "The three services of an ARK", _service_sentence(panels), svg)


def _draw_answers(axes: Axes, service: str, rows: pd.DataFrame) -> None:
    places = range(len(rows))
    arks = rows["arks"].astype("int64")
    families = [
        _family(service, outcome, given=given) for outcome, given in zip(rows["outcome"], rows["given"], strict=True)
    ]
    axes.barh(places, arks, color=[COLOURS[family][0] for family in families], height=0.7)
    for place, count, given in zip(places, arks, rows["given"], strict=True):
        weight = "bold" if given else "normal"
        axes.annotate(f"{count:,}", (count, place), (4, 0), textcoords="offset points", va="center", fontweight=weight)
    axes.set_yticks(list(places), list(rows["outcome"]))
    title = f"{service.capitalize()}: given for {_given(rows):,} of {counted(int(arks.sum()), 'ARK')}"
    axes.set_title(title, loc="left", size=10.5, fontweight="bold")
    axes.margins(x=0.08)
    _lay_out(axes, len(rows))


def _family(service: str, outcome: str, *, given: bool) -> Family:
    """The colour of an answer: an object outcome by its family, any other by whether the service is given."""
    if service == "object":
        return FAMILY_OF[ObjectOutcome(outcome)]
    return Family.WORKS if given else Family.NOT_JUDGED


def _lay_out(axes: Axes, bar_count: int) -> None:
    """First bar on top, no air above or below, and no frame: the numbers stand at the bars."""
    axes.set_ylim(bar_count - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xticks([])


def _svg(figure: Figure) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": "arkaudit"})
    return file.getvalue()


def _naan_sentence(naans: pd.DataFrame) -> str:
    counts = ", ".join(
        f"{int(naans[column].sum()):,} {FAMILY_NAMES[family]}" for family, column in FAMILY_COLUMNS.items()
    )
    arks, largest = int(naans["arks"].sum()), naans.iloc[0]
    return (
        f"Stacked bars of {counted(arks, 'ARK')} under {counted(len(naans), 'NAAN')}: {counts}. "
        f"The NAAN with most ARKs is {escaped(largest['naan'])}, with {largest['arks']:,}."
    )


def _service_sentence(panels: Mapping[str, pd.DataFrame]) -> str:
    parts = [f"{service} {_given(rows):,} of {int(rows['arks'].sum()):,}" for service, rows in panels.items()]
    return f"Bars of how many ARKs give each service, and what the others answered: {', '.join(parts)}."


def _given(rows: pd.DataFrame) -> int:
    """Of the ARKs of one service, those that give it."""
    return int(rows.loc[rows["given"], "arks"].sum())
