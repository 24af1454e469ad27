"""The Kaplan-Meier estimator: how many are still alive after so many days, when not all were watched as long."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

#: Of the normal distribution: 95 % lie within so many deviations.
_Z: Final = 1.959963984540054


def kaplan_meier(lives: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per group and day on which somebody died or was last seen; ordered by group and day.

    *lives* has a row a subject: the columns *by*, `days` watched, and `died`, whether it was death that ended them.
    Those last seen on a day are at risk on it. The bounds (95 %) are of the log-log kind with Greenwood's variance;
    they are empty where nobody has died yet, or all have (Kaplan and Meier 1958; Kalbfleisch and Prentice 1980).

    >>> lives = pd.DataFrame({"g": "a", "days": [1, 2, 2, 3], "died": [True, True, False, False]})
    >>> kaplan_meier(lives, ["g"])[["days", "at_risk", "failed", "survival"]].values.tolist()
    [[1.0, 4.0, 1.0, 0.75], [2.0, 3.0, 1.0, 0.5], [3.0, 1.0, 0.0, 0.5]]
    """
    counted = lives.assign(subjects=1, failed=lives["died"].astype("int64"))
    rows = counted.groupby([*by, "days"], observed=True)[["subjects", "failed"]].sum().reset_index()
    groups = rows.groupby(by, observed=True, sort=False)
    at_risk = groups["subjects"].transform("sum") - groups["subjects"].cumsum() + rows["subjects"]
    failed = rows["failed"]
    rows = rows.assign(at_risk=at_risk, censored=rows["subjects"] - failed, survived=1 - failed / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows["variance"] = failed / (at_risk * (at_risk - failed))
        groups = rows.groupby(by, observed=True, sort=False)
        survival = groups["survived"].cumprod()
        log = np.log(survival)
        spread = _Z * np.sqrt(groups["variance"].cumsum()) / log
        low, high = survival ** np.exp(-spread), survival ** np.exp(spread)
    is_open = (survival < 1) & (survival > 0)
    rows = rows.assign(survival=survival, low=low.where(is_open), high=high.where(is_open))
    return rows[[*by, "days", "at_risk", "failed", "censored", "survival", "low", "high"]]


def median_days(curves: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per group of `kaplan_meier`: the first day on which no more than half are alive; empty if never."""
    reached = curves[curves["survival"] <= 0.5].groupby(by, observed=True, as_index=False)
    return curves[by].drop_duplicates().merge(reached.agg(median=("days", "min")), on=by, how="left")
