"""The chart of where ARKs go: from the host that was asked to the one that answered last, and to what that came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import pandas as pd

from crawler.model.observations import Family, ObjectOutcome
from reports.languages import Language
from reports.languages.display import escaped
from reports.page.chart import Chart, Numbers, colour
from reports.tables.distinct import hosts_of
from reports.tables.wording import FAMILY_NAMES

_MOST_NODES = 8
_NODE_HEIGHT = 46
#: A name longer than this is cut in the picture; the numbers next to it have it whole.
_LONGEST_NAME = 44

Key = TypeVar("Key", bound=Hashable)
#: A node of the chart: its column, and the host or family; None for the other hosts of its column.
Node: TypeAlias = tuple[int, str | None]


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways that ARKs go, each different one once, in the order in which they first come; host names as they are."""

    starts: tuple[str, ...]
    """The host that was asked."""
    ends: tuple[str, ...]
    """The host that answered last; empty for none."""
    families: tuple[Family, ...]
    """What that came to."""
    urls: tuple[int, ...]
    """How many URLs went this way."""


def ways_of(arks: pd.DataFrame) -> Ways:
    """Return the ways of the ARKs that were asked: the same in every language."""
    asked = arks[arks["object"].notna() & arks["request_url"].notna() & arks["object"].ne(ObjectOutcome.SKIPPED)]
    ways = pd.DataFrame(
        {
            "start": hosts_of(asked["request_url"]),
            "end": hosts_of(asked["final_url"]).fillna(""),
            "family": asked["family"].astype("str"),
        }
    )
    counted = ways.groupby(["start", "end", "family"], sort=False).size().reset_index()
    starts, ends, families, urls = (tuple(counted[name].tolist()) for name in counted.columns)
    return Ways(starts, ends, tuple(map(Family, families)), urls)


def flow_of(ways: Ways, language: Language) -> Chart | None:
    """From the host that was asked to the host that answered last, and what that came to; None when none was asked.

    Which hosts are drawn, and in what order, goes by the hosts and their numbers: it is the same in every language.
    """
    if not ways.urls:
        return None
    first = _grouped([(0, escaped(host)) for host in ways.starts], ways.urls, (0, None))
    second = _grouped([(1, escaped(host)) for host in ways.ends], ways.urls, (1, None))
    third: list[Node] = [(2, family.value) for family in ways.families]
    links = _sums([*zip(first, second, strict=True), *zip(second, third, strict=True)], (*ways.urls, *ways.urls))
    first_sums, second_sums = _sums(first, ways.urls), _sums(second, ways.urls)
    nodes = sorted({node for link in links for node in link}, key=_in_order)
    names = {node: _name(node, language) for node in nodes}
    return Chart(
        "flow",
        language.gettext("Where ARKs go"),
        _flow_sentence(first_sums, second_sums, names, language),
        max(260, _NODE_HEIGHT * max(len(first_sums), len(second_sums))),
        {
            "animation": False,
            "textStyle": {"fontFamily": "inherit"},
            "tooltip": {"renderMode": "richText", "confine": True},
            "series": [
                {
                    "type": "sankey",
                    "top": 24,
                    "bottom": 8,
                    "nodeGap": 26,
                    "nodeWidth": 14,
                    "draggable": False,
                    "emphasis": {"focus": "adjacency"},
                    "label": {"color": colour("ink")},
                    "lineStyle": {"opacity": 0.35},
                    "data": [
                        {
                            "name": names[node],
                            "itemStyle": {"color": colour(_tone(node))},
                            "label": _label(node, names[node]),
                        }
                        for node in nodes
                    ],
                    "links": [
                        {
                            "source": names[source],
                            "target": names[target],
                            "value": links[source, target],
                            "lineStyle": {"color": colour(_tone(target))},
                        }
                        for source, target in sorted(links, key=_link_in_order)
                    ],
                }
            ],
        },
        numbers=Numbers(
            language.gettext("The flow in numbers"),
            (language.pgettext("a flow", "from"), language.pgettext("a flow", "to"), "URLs"),
            tuple(
                (names[source], names[target], language.number(links[source, target]))
                for source, target in sorted(links, key=lambda link: (-links[link], _link_in_order(link)))
            ),
        ),
    )


def _in_order(node: Node) -> tuple[int, bool, str]:
    column, value = node
    return column, value is None, value or ""


def _link_in_order(link: tuple[Node, Node]) -> tuple[tuple[int, bool, str], tuple[int, bool, str]]:
    return _in_order(link[0]), _in_order(link[1])


def _name(node: Node, language: Language) -> str:
    match node:
        case (0, None):
            return language.gettext("asked at others")
        case (0, host):
            return language.gettext("asked at {host}", host=host or language.pgettext("asked at", "no host"))
        case (1, None):
            return language.gettext("other hosts")
        case (1, host):
            return host or language.pgettext("host", "no answer")
    return language.gettext(FAMILY_NAMES[Family(_tone(node))])


def _tone(node: Node) -> str:
    column, value = node
    return str(value) if column == 2 else "host"


def _label(node: Node, name: str) -> dict[str, Any]:
    """The label of a node: at both ends next to the chart, in the middle above its node, on paper of its own."""
    short = {"formatter": f"{name[: _LONGEST_NAME - 1]}…"} if len(name) > _LONGEST_NAME else {}
    match node:
        case (0, _):
            return {"position": "left", **short}
        case (1, _):
            return {"position": "top", "distance": 3, "backgroundColor": colour("paper"), "padding": [1, 3], **short}
    return {"position": "right"}


def _sums(keys: Sequence[Key], numbers: Sequence[int]) -> Counter[Key]:
    """How much each of *keys* comes to, in the order in which they first come."""
    sums: Counter[Key] = Counter()
    for key, number in zip(keys, numbers, strict=True):
        sums[key] += number
    return sums


def _grouped(nodes: Sequence[Node], urls: Sequence[int], others: Node) -> list[Node]:
    """The nodes, those of the fewest URLs as one."""
    counts = _sums(nodes, urls)
    if len(counts) <= _MOST_NODES + 1:
        return [*nodes]
    kept = {node for node, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]}
    return [node if node in kept else others for node in nodes]


def _flow_sentence(first: Counter[Node], second: Counter[Node], names: Mapping[Node, str], language: Language) -> str:
    [(most_asked, asked)] = first.most_common(1)
    [(most_landed, landed)] = second.most_common(1)
    return language.ngettext(
        "Flow of {number} URL from the hosts that were asked to the hosts that answered last and to the result. "
        "Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        "Flow of {number} URLs from the hosts that were asked to the hosts that answered last and to the result. "
        "Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        first.total(),
        asked_at=names[most_asked],
        asked=asked,
        host=names[most_landed],
        landed=landed,
    )
