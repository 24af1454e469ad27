"""A chart as plain data for the library that draws it: the same tables give the same charts.

A colour is named by its meaning; the page fills it in for light, dark and print.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a chart as a small table next to it."""

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
    """In CSS pixels, where each name fits on one line; the page grows for more."""
    option: Mapping[str, Any]
    """As ECharts takes it, but for colours: ``{"colour": "works"}``."""
    leads_to: str | None = None
    """The column of the table of ARKs by which a click on a bar filters, if it does."""
    numbers: Numbers | None = None
    """What it is drawn from, where no table of the report says it as it is drawn."""
    widest_number: str = ""
    """Of the numbers at the ends of bars: space is kept for it."""


def colour(name: str) -> dict[str, str]:
    """The colour of this *name*, which the page fills in."""
    return {"colour": name}


#: Heights of the parts of a chart, in CSS pixels.
ROW_HEIGHT = 27
LEGEND_HEIGHT = 30
#: A legend above a chart; the page breaks it into as many lines as it needs.
LEGEND = {
    "top": 0,
    "left": 0,
    "itemWidth": 14,
    "itemHeight": 12,
    "itemGap": 16,
    "textStyle": {"color": colour("ink")},
}
#: What all charts of bars and lines have in common.
FRAME: Mapping[str, Any] = {
    "animation": False,
    "textStyle": {"fontFamily": "inherit"},
    "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}, "renderMode": "richText", "confine": True},
    "grid": {"left": 4, "right": 12, "top": LEGEND_HEIGHT + 6, "bottom": 4, "containLabel": True},
}
