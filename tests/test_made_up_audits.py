"""Made-up audits: whatever hosts answer, there is a report, in all languages, whose parts agree with each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawler.observations import Family
from reports.languages import LANGUAGES
from reports.page.flow import Ways, flow_of

#: Many hosts for few numbers, so that many have equal ones; empty for no answer.
HOSTS = st.sampled_from(["", *(f"{letter}.example" for letter in "abcdefgopqrsuvwxyz")])


@given(
    st.lists(
        st.tuples(HOSTS, HOSTS, st.sampled_from(Family), st.integers(1, 2)),
        min_size=1,
        max_size=40,
        unique_by=lambda way: way[:3],
    )
)
def test_the_same_ways_are_drawn_in_every_language(ways: list[tuple[str, str, Family, int]]) -> None:
    charts = [flow_of(Ways(*map(tuple, zip(*ways, strict=True))), language) for language in LANGUAGES.values()]
    drawn = []
    for chart in charts:
        assert chart is not None
        assert chart.numbers is not None
        [series] = chart.option["series"]
        places = {node["name"]: at for at, node in enumerate(series["data"])}
        assert len(places) == len(series["data"])
        links = [(places[link["source"]], places[link["target"]], link["value"]) for link in series["links"]]
        rows = [(places[source], places[target], value) for source, target, value in chart.numbers.rows]
        drawn.append((chart.height, links, rows))
    assert all(each == drawn[0] for each in drawn)
