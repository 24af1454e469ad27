"""The chart of where ARKs go: from the host that was asked to the one that answered last, and to what that came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from crawler.observations import Family, ObjectOutcome
from reports.display import escaped
from reports.distinct import hosts_of, mapped, values_of
from reports.languages import Language
from reports.page.chart import Chart, Numbers, colour
from reports.wording import FAMILY_NAMES

_MOST_NODES: Final = 8
_NODE_HEIGHT: Final = 46
#: A name longer than this is cut in the picture; the numbers beside it have it whole.
_LONGEST_NAME: Final = 44


def flow_of(arks: pd.DataFrame, language: Language) -> Chart | None:
    """From the host that was asked to the host that answered last, and what that came to; None when none was asked."""
    asked = arks[arks["object"].notna() & arks["request_url"].notna() & arks["object"].ne(ObjectOutcome.SKIPPED)]
    if asked.empty:
        return None
    starts = mapped(hosts_of(asked["request_url"]), lambda name: _asked_at(name, language))
    nowhere = language.pgettext("host", "no answer")
    ends = mapped(hosts_of(asked["final_url"]).fillna(""), lambda name: escaped(name) or nowhere)
    names = {family: language.gettext(name) for family, name in FAMILY_NAMES.items()}
    first = _grouped(values_of(starts), language.gettext("asked at others"))
    second = _grouped(values_of(ends), language.gettext("other hosts"))
    third = values_of(mapped(asked["family"], lambda family: names[Family(family)]))
    links = Counter((*zip(first, second, strict=True), *zip(second, third, strict=True)))
    tones = {names[family]: family.value for family in Family}
    nodes = sorted({name for link in links for name in link}, key=lambda name: (name in tones, name))
    return Chart(
        "flow",
        language.gettext("Where ARKs go"),
        _flow_sentence(first, second, language),
        max(260, _NODE_HEIGHT * max(len(set(first)), len(set(second)))),
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
                            "name": name,
                            "itemStyle": {"color": colour(tones.get(name, "host"))},
                            "label": _label(name, first, tones),
                        }
                        for name in nodes
                    ],
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
            language.gettext("The flow in numbers"),
            (language.pgettext("a flow", "from"), language.pgettext("a flow", "to"), "URLs"),
            tuple(
                (source, target, language.number(value))
                for (source, target), value in sorted(links.items(), key=_most_first)
            ),
        ),
    )


def _label(name: str, first: Sequence[str], tones: Mapping[str, str]) -> dict[str, Any]:
    """The label of a node: beside the chart at both ends, and in the middle above its node, on paper of its own."""
    short = {"formatter": f"{name[: _LONGEST_NAME - 1]}…"} if len(name) > _LONGEST_NAME else {}
    if name in tones:
        return {"position": "right"}
    if name in first:
        return {"position": "left", **short}
    return {"position": "top", "distance": 3, "backgroundColor": colour("paper"), "padding": [1, 3], **short}


def _most_first(link: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -link[1], link[0]


def _grouped(names: Sequence[str], others: str) -> list[str]:
    """The names, the rarer ones as one."""
    counts = Counter(names)
    kept = {name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]}
    return [name if name in kept or len(counts) <= _MOST_NODES + 1 else others for name in names]


def _asked_at(host: str, language: Language) -> str:
    return language.gettext("asked at {host}", host=escaped(host) or language.pgettext("asked at", "no host"))


def _flow_sentence(first: Sequence[str], second: Sequence[str], language: Language) -> str:
    [(most_asked, asked)] = Counter(first).most_common(1)
    [(most_landed, landed)] = Counter(second).most_common(1)
    return language.ngettext(
        "Flow of {number} URL from the hosts that were asked to the hosts that answered last and to what that came to. "
        "Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        "Flow of {number} URLs from the hosts that were asked to the hosts that answered last and to what that came "
        "to. Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        len(first),
        asked_at=most_asked,
        asked=asked,
        host=most_landed,
        landed=landed,
    )
