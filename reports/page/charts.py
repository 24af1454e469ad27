"""The charts of a report, made from its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pandas as pd

from reports.languages import ENGLISH, Language
from reports.page.bars import by_naan, by_service
from reports.page.chart import Chart
from reports.page.flow import Ways, flow_of, ways_of
from reports.page.over_time import alive_of, curves_of, survival_of
from reports.services import ALL

__all__ = ["charts_in", "charts_of"]

_SURVIVAL_BY: Final = ("naan", "resolver")


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
