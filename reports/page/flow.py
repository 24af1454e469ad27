"""The chart of where ARKs go: from the host that was asked to the one that answered last, and to what that came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pandas as pd

from crawler.observations import Family, ObjectOutcome
from reports.display import escaped
from reports.distinct import hosts_of
from reports.languages import Language
from reports.page.chart import Chart, Numbers, colour
from reports.wording import FAMILY_NAMES

_MOST_NODES: Final = 8
_NODE_HEIGHT: Final = 46
#: A name longer than this is cut in the picture; the numbers beside it have it whole.
_LONGEST_NAME: Final = 44

Key = TypeVar("Key", bound=Hashable)


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
    each = pd.DataFrame(
        {
            "start": hosts_of(asked["request_url"]),
            "end": hosts_of(asked["final_url"]).fillna(""),
            "family": asked["family"].astype("str"),
        }
    )
    counted = each.groupby(["start", "end", "family"], sort=False).size().reset_index()
    starts, ends, families, urls = (tuple(counted[name].tolist()) for name in counted.columns)
    return Ways(starts, ends, tuple(map(Family, families)), urls)


def flow_of(ways: Ways, language: Language) -> Chart | None:
    """From the host that was asked to the host that answered last, and what that came to; None when none was asked."""
    if not ways.urls:
        return None
    nowhere = language.pgettext("host", "no answer")
    names = {family: language.gettext(name) for family, name in FAMILY_NAMES.items()}
    first = _grouped(
        [_asked_at(host, language) for host in ways.starts], ways.urls, language.gettext("asked at others")
    )
    second = _grouped([escaped(host) or nowhere for host in ways.ends], ways.urls, language.gettext("other hosts"))
    third = [names[family] for family in ways.families]
    links = _sums([*zip(first, second, strict=True), *zip(second, third, strict=True)], (*ways.urls, *ways.urls))
    first_sums, second_sums = _sums(first, ways.urls), _sums(second, ways.urls)
    tones = {names[family]: family.value for family in Family}
    nodes = sorted({name for link in links for name in link}, key=lambda name: (name in tones, name))
    return Chart(
        "flow",
        language.gettext("Where ARKs go"),
        _flow_sentence(first_sums, second_sums, language),
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
                            "name": name,
                            "itemStyle": {"color": colour(tones.get(name, "host"))},
                            "label": _label(name, first_sums, tones),
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


def _label(name: str, first: Container[str], tones: Mapping[str, str]) -> dict[str, Any]:
    """The label of a node: beside the chart at both ends, and in the middle above its node, on paper of its own."""
    short = {"formatter": f"{name[: _LONGEST_NAME - 1]}…"} if len(name) > _LONGEST_NAME else {}
    if name in tones:
        return {"position": "right"}
    if name in first:
        return {"position": "left", **short}
    return {"position": "top", "distance": 3, "backgroundColor": colour("paper"), "padding": [1, 3], **short}


def _most_first(link: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -link[1], link[0]


def _sums(keys: Sequence[Key], numbers: Sequence[int]) -> Counter[Key]:
    """How much each of *keys* comes to, in the order in which they first come."""
    found: Counter[Key] = Counter()
    for key, number in zip(keys, numbers, strict=True):
        found[key] += number
    return found


def _grouped(names: Sequence[str], urls: Sequence[int], others: str) -> list[str]:
    """The names, those of the fewest URLs as one."""
    counts = _sums(names, urls)
    kept = {name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]}
    return [name if name in kept or len(counts) <= _MOST_NODES + 1 else others for name in names]


def _asked_at(host: str, language: Language) -> str:
    return language.gettext("asked at {host}", host=escaped(host) or language.pgettext("asked at", "no host"))


def _flow_sentence(first: Counter[str], second: Counter[str], language: Language) -> str:
    [(most_asked, asked)] = first.most_common(1)
    [(most_landed, landed)] = second.most_common(1)
    return language.ngettext(
        "Flow of {number} URL from the hosts that were asked to the hosts that answered last and to what that came to. "
        "Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        "Flow of {number} URLs from the hosts that were asked to the hosts that answered last and to what that came "
        "to. Most were {asked_at} ({asked}); most ended at {host} ({landed}).",
        first.total(),
        asked_at=most_asked,
        asked=asked,
        host=most_landed,
        landed=landed,
    )
