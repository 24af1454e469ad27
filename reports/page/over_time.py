"""Charts over time: the share of ARKs that work, run by run, and survival by NAAN and by resolver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from crawler.history.ark_status import ArkState
from reports.languages import N_, Language
from reports.languages.display import escape_invisible
from reports.page.charts import FRAME, LEGEND, Chart, Numbers, colour
from reports.tables.definitions import in_order
from reports.tables.wording import FAILURE_TERMS


def alive_of(runs: pd.DataFrame, language: Language) -> Chart | None:
    """Return the chart of the share of ARKs that work after each run; None before the second run."""
    judged = runs[runs["share_working"].notna()]
    if len(judged) < 2:
        return None
    moments = [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in judged["started_at"]]
    lines = [
        (language.gettext("work"), "line-1", judged["share_working"], "solid"),
        (language.gettext("not confirmed broken"), "line-3", judged["share_not_broken"], "dashed"),
    ]
    first, last, foot = judged.iloc[0], judged.iloc[-1], axis_start(judged["share_working"])
    return Chart(
        "share-alive",
        language.gettext("Share still working, by run"),
        alive_words(len(judged), dict(first), dict(last), foot, language),
        300,
        {
            **_lines_frame([name for name, *_ in lines], foot),
            "useUTC": True,
            "xAxis": _time_axis(first["started_at"], last["started_at"], language),
            "series": [
                _line(name, tone, list(zip(moments, map(_round_share, values), strict=True)), dash)
                for name, tone, values, dash in lines
            ],
        },
        numbers=Numbers(
            language.gettext("The last {number} runs in numbers", number=_MOST_RUNS)
            if len(judged) > _MOST_RUNS
            else language.gettext("The runs in numbers"),
            (
                language.pgettext("over a column", "run"),
                language.gettext("began"),
                language.gettext("work"),
                language.gettext(FAILURE_TERMS[ArkState.FAILING]),
                language.gettext(FAILURE_TERMS[ArkState.CONFIRMED_BROKEN]),
                language.gettext("share that works"),
                language.gettext("remark"),
            ),
            tuple(_run_row(run, language) for _, run in judged.tail(_MOST_RUNS).iterrows()),
        ),
    )


def alive_words(runs: int, first: Mapping[str, Any], last: Mapping[str, Any], foot: float, language: Language) -> str:
    """Return the share of working links after the first and the last of *runs*, and the start of the axis, in words."""
    sentence = language.ngettext(
        "Lines over {number} run: the share of working links went from {before} after run {first} to {after} "
        "after run {last}; {rest} are not confirmed broken.",
        "Lines over {number} runs: the share of working links went from {before} after run {first} to "
        "{after} after run {last}; {rest} are not confirmed broken.",
        runs,
        before=share_of_links(first, language, "working"),
        first=str(first["run_id"]),
        after=share_of_links(last, language, "working"),
        last=str(last["run_id"]),
        rest=share_of_links(last, language, "working", "failing"),
    )
    return " ".join([sentence, *_foot_sentence(foot, language)])


def _time_axis(first: pd.Timestamp, last: pd.Timestamp, language: Language) -> dict[str, Any]:
    """Return an axis of days, or of minutes if the whole chart covers only a few days."""
    is_long = last - first >= pd.Timedelta(days=_FEW_DAYS)
    label, apart = (
        (language.day_pattern(), "1D") if is_long else (f"{language.day_pattern(has_year=False)} {{HH}}:{{mm}}", "1min")
    )
    return {
        "type": "time",
        **_AXIS,
        "minInterval": int(pd.Timedelta(apart).total_seconds() * 1000),
        "axisLabel": {**_AXIS["axisLabel"], "formatter": label},
    }


_FEW_DAYS = 3


def share_of_links(run: Mapping[str, Any], language: Language, *parts: str) -> str:
    """Return a share of the conclusive checks of a run, with its numerator and denominator."""
    of = sum(int(run[name]) for name in ("working", "failing", "confirmed_broken"))
    part = sum(int(run[name]) for name in parts)
    return language.gettext("{share} ({part} of {all})", share=_percent(part / of, language), part=part, all=of)


def _run_row(run: pd.Series, language: Language) -> tuple[str, ...]:
    counts = (language.number(int(run[name])) for name in ("working", "failing", "confirmed_broken"))
    remark = language.gettext("suspect: most hosts failed") if run["is_suspect"] else ""
    day = language.numeric_day(run["started_at"])
    return str(run["run_id"]), day, *counts, _percent(run["share_working"], language), remark


def survival_of(survival: pd.DataFrame, grouping: str, language: Language) -> Chart | None:
    """Return the survival curves of all ARKs and of the largest NAANs or resolvers.

    Return None if nothing was observed for a day. The numbers at risk are printed next to the chart, because a curve is
    less reliable the fewer ARKs are still observed.
    """
    whole = survival[survival["grouping"].eq("all")]
    if not whole["days"].gt(0).any():
        return None
    longest, most = int(whole["days"].max()), int(whole["at_risk"].max())
    of_group = survival[survival["grouping"].eq(grouping)]
    largest = in_order(of_group, "-at_risk", "group")["group"].unique()[:_MOST_CURVES]
    curves = {language.pgettext("a curve", "all"): whole}
    curves |= {escape_invisible(name): of_group[of_group["group"].eq(name)] for name in largest}
    days = sorted({round(longest * part / _TICKS) for part in range(_TICKS + 1)})
    foot = axis_start(pd.concat([rows["survival"] for rows in curves.values()]))
    tones = ["ink", *(f"line-{number}" for number in range(1, _MOST_CURVES + 1))]
    points_of_curves = (
        [(0, 1.0), *zip(map(int, rows["days"]), map(_round_share, rows["survival"]), strict=True)]
        for rows in curves.values()
    )
    never_worked = int(whole["never_worked"].max())
    left_out = language.ngettext(
        "{number} link that never worked is not included.",
        "{number} links that never worked are not included.",
        never_worked,
    )
    return Chart(
        f"survival-{grouping}",
        language.gettext(_SURVIVAL_TITLES[grouping]),
        " ".join(
            [
                _survival_sentence(curves, most, longest, language),
                *([left_out] if never_worked else []),
                *_foot_sentence(foot, language),
            ]
        ),
        320,
        {
            **_lines_frame(list(curves), foot),
            "xAxis": {
                "type": "value",
                "min": 0,
                "max": longest,
                "name": language.gettext("days since first seen working"),
                "nameLocation": "middle",
                "nameGap": 28,
                "nameTextStyle": {"color": colour("soft")},
                **_AXIS,
            },
            "series": [
                {**_line(name, tone, points, dash), "step": "end"}
                for name, tone, points, dash in zip(curves, tones, points_of_curves, _DASHES, strict=False)
            ],
        },
        numbers=Numbers(
            language.gettext("Links observed, and estimated share still working"),
            (
                "",
                *(language.ngettext("{number} day", "{number} days", day) for day in days),
                language.gettext("share still working ({confidence})", confidence=language.share(0.95, 0)),
            ),
            tuple(
                (name, *(language.number(_at_risk(rows, day)) for day in days), _end(rows, language))
                for name, rows in curves.items()
            ),
            is_open=True,
        ),
    )


_SURVIVAL_TITLES = {"naan": N_("Survival by NAAN"), "resolver": N_("Survival by resolver")}
#: Curves of one chart, in addition to that of all ARKs; and parts of its axis at which numbers at risk are printed.
_MOST_CURVES = 5
_TICKS = 3
_MOST_RUNS = 24
_DASHES = ("solid", "solid", "dashed", "dotted", "solid", "dashed")
_AXIS: Mapping[str, Any] = {
    "axisLabel": {"color": colour("ink"), "hideOverlap": True, "fontSize": 12},
    "axisLine": {"lineStyle": {"color": colour("soft")}},
    "splitLine": {"show": False},
}


def _at_risk(rows: pd.DataFrame, day: int) -> int:
    """Return how many were alive and still observed on a day."""
    return int(rows["at_risk"].where(rows["days"] >= day, 0).max())


def _end(rows: pd.DataFrame, language: Language) -> str:
    last = rows.iloc[-1]
    share = _percent(last["survival"], language)
    if pd.isna(last["low"]) or pd.isna(last["high"]):
        return share
    low, high = (language.decimals(100 * float(last[name]), 1) for name in ("low", "high"))
    return language.gettext("{share} ({low} to {high})", share=share, low=low, high=high)


def _survival_sentence(curves: Mapping[str, pd.DataFrame], most: int, longest: int, language: Language) -> str:
    return language.gettext(
        "Survival curve (Kaplan-Meier): share of {watched} still working, by days since first seen working, "
        "over {days}. At the end: {parts}.",
        watched=language.npgettext("share of", "{number} link", "{number} links", most),
        days=language.npgettext("over", "{number} day", "{number} days", longest),
        parts="; ".join(f"{name} {_percent(rows['survival'].iloc[-1], language)}" for name, rows in curves.items()),
    )


def axis_start(shares: Iterable[float]) -> float:
    """Return the start of an axis of shares: 0, unless all shares are so high that the lines would overlap.

    >>> axis_start([1.0, 0.993]), axis_start([0.98, 0.72]), axis_start([0.4])
    (0.95, 0.7, 0.0)
    """
    lowest = float(min(shares))
    return 0.0 if lowest < 0.5 else min(0.95, int(lowest * 20) / 20)


def _foot_sentence(foot: float, language: Language) -> Iterator[str]:
    if foot:
        yield language.gettext("The axis begins at {share}.", share=language.share(foot, 0))


def _lines_frame(names: Sequence[str], foot: float) -> dict[str, Any]:
    return {
        **FRAME,
        "grid": {"left": 4, "right": 24, "top": 40, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "legend": {**LEGEND, "data": list(names)},
        "yAxis": {
            "type": "value",
            "min": foot,
            "max": 1,
            "interval": round((1 - foot) / 5, 4),
            **_AXIS,
            "splitLine": {"lineStyle": {"color": colour("line")}},
            "percent": True,
        },
    }


def _line(name: str, tone: str, points: Sequence[Any], dash: str) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "data": [list(point) for point in points],
        "symbol": "circle",
        "symbolSize": 4,
        "showSymbol": len(points) <= _MOST_RUNS,
        "lineStyle": {"color": colour(tone), "width": 2, "type": dash},
        "itemStyle": {"color": colour(tone)},
        "emphasis": {"disabled": True},
    }


def _percent(share: Any, language: Language) -> str:
    return language.pgettext("a share", "unknown") if pd.isna(share) else language.share(float(share))


def _round_share(share: Any) -> float:
    return round(float(share), 4)
