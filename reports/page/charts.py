"""The charts of a report, made from its tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.languages import ENGLISH, Language
from reports.page.bars import by_naan, by_service
from reports.page.chart import Chart
from reports.page.flow import flow_of
from reports.page.over_time import alive_of, survival_of

__all__ = ["charts_of"]


def charts_of(tables: Mapping[str, pd.DataFrame], language: Language = ENGLISH) -> tuple[Chart, ...]:
    """The charts of a report; none when there is no ARK to draw."""
    if tables["naans"].empty:
        return ()
    services = tables["services"]
    drawn = (
        by_naan(tables["naans"], language),
        *(() if services.empty else by_service(services, language)),
        flow_of(tables["arks"], language),
        alive_of(tables["runs"], language),
        *(survival_of(tables["survival"], grouping, language) for grouping in ("naan", "resolver")),
    )
    return tuple(chart for chart in drawn if chart)
