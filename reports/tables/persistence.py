"""Persistence over time: share working by run, survival, failures and recoveries, and a statement.

A subject is an ARK at one URL, a *pair*. Inconclusive checks (blocked, a fault of arkaudit, a suspect run) are left
out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import DESCRIBED, CommitmentOutcome, Family
from extractors.model.urls import authority_of, split_url
from reports.languages import ENGLISH
from reports.languages.templates import macros
from reports.store.frames import Frames, Timeline
from reports.tables.ark_statuses import BEST_STATE, families, share
from reports.tables.definitions import map_distinct, records_of, side_by_side

# The Kaplan-Meier estimator of survival, for subjects that were observed for different times.


#: The 97.5 % quantile of the normal distribution: 95 % lie within this many standard deviations.
_NORMAL_QUANTILE = 1.959963984540054


def kaplan_meier(lifetimes: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return one row per group and day on which a subject died or was last observed; ordered by group and day.

    *lifetimes* has one row per subject: the columns *by*, `days` observed, and `died`, False if the observation ended
    before. Subjects last observed on a day are at risk on that day. The bounds (95 %) are of the log-log kind with
    Greenwood's variance; they are missing before the first death and after the last subject's (Kaplan and Meier 1958;
    Kalbfleisch and Prentice 1980).

    >>> lifetimes = pd.DataFrame({"g": "a", "days": [1, 2, 2, 3], "died": [True, True, False, False]})
    >>> kaplan_meier(lifetimes, ["g"])[["days", "at_risk", "failed", "survival"]].values.tolist()
    [[1.0, 4.0, 1.0, 0.75], [2.0, 3.0, 1.0, 0.5], [3.0, 1.0, 0.0, 0.5]]
    """
    subjects = lifetimes.assign(subjects=1, failed=lifetimes["died"].astype("int64"))
    rows = subjects.groupby([*by, "days"], observed=True)[["subjects", "failed"]].sum().reset_index()
    groups = rows.groupby(by, observed=True, sort=False)
    at_risk = groups["subjects"].transform("sum") - groups["subjects"].cumsum() + rows["subjects"]
    failed = rows["failed"]
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = rows.assign(survived=1 - failed / at_risk, variance=failed / (at_risk * (at_risk - failed)))
        groups = rows.groupby(by, observed=True, sort=False)
        survival = groups["survived"].cumprod()
        spread = _NORMAL_QUANTILE * np.sqrt(groups["variance"].cumsum()) / np.log(survival)
        low, high = survival ** np.exp(-spread), survival ** np.exp(spread)
    has_bounds = (survival < 1) & (survival > 0)
    return rows[[*by, "days"]].assign(
        at_risk=at_risk,
        failed=failed,
        censored=rows["subjects"] - failed,
        survival=survival,
        low=low.where(has_bounds),
        high=high.where(has_bounds),
    )


def median_days(curves: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return one row per group of `kaplan_meier`: `median`, the first day with at most half alive, or missing."""
    below_half = curves[curves["survival"] <= 0.5].groupby(by, observed=True, as_index=False)
    return curves[by].drop_duplicates().merge(below_half.agg(median=("days", "min")), on=by, how="left")


_GROUP = ["grouping", "group"]
ALL = "all"
_GROUPINGS = (ALL, "naan", "resolver", "documents")
#: The states of ARKs whose checks tell whether they work; an outage of today is one failure of many.
_FOLLOWED = (ArkState.HEALTHY, ArkState.FLAPPING, ArkState.FAILING, ArkState.CONFIRMED_BROKEN)


# -- checks and spells of failure


@lru_cache(maxsize=2)
def conclusive_checks(timeline: Timeline) -> pd.DataFrame:
    """Return the checks that either work or are a strike, with the columns `works`, `at` and `spell`.

    `spell` is the number of successes of the pair so far, so that successive failures have the same number.
    """
    check_families = families(timeline.checks["object"])
    works = check_families.eq(Family.WORKS)
    strikes = check_families.isin([Family.FAILS, Family.UNREACHABLE]) & ~timeline.checks["is_suspect"]
    checks = timeline.checks.assign(works=works).rename(columns={"started_at": "at"})[works | strikes]
    return checks.assign(spell=checks.groupby("pair")["works"].cumsum())


@lru_cache(maxsize=2)
def failure_spells(timeline: Timeline) -> pd.DataFrame:
    """Return one row per pair and spell, an unbroken series of failures.

    The columns have the first and last strike, their number, the time of recovery if any, and `confirmed`.
    """
    checks = conclusive_checks(timeline)
    spell_key = ["pair", "spell"]
    failures = checks[~checks["works"]].groupby(spell_key, as_index=False)
    rows = failures.agg(first_at=("at", "min"), last_at=("at", "max"), strikes=("at", "size"))
    successes = checks.loc[checks["works"], [*spell_key, "at"]].rename(columns={"at": "recovered_at"})
    rows = rows.merge(successes.assign(spell=successes["spell"] - 1), on=spell_key, how="left")
    is_long = _days(rows["last_at"] - rows["first_at"]) >= timeline.policy.days
    return rows.assign(confirmed=is_long & rows["strikes"].ge(timeline.policy.strikes))


@lru_cache(maxsize=2)
def link_lifetimes(timeline: Timeline) -> pd.DataFrame:
    """Return one row per pair that ever worked: days from its first success to its death, or to its last success.

    A pair dies with the first strike of its first confirmed spell after a success. Later checks do not count.
    """
    checks = conclusive_checks(timeline)
    deaths = failure_spells(timeline).query("confirmed and spell > 0").groupby("pair")["first_at"].min()
    successes = checks[checks["works"]].join(deaths.rename("died_at"), on="pair")
    living_successes = successes[~(successes["at"] >= successes["died_at"])]
    rows = living_successes.groupby("pair", as_index=False).agg(
        born=("at", "min"), last=("at", "max"), died_at=("died_at", "first")
    )
    ends = rows["died_at"].fillna(rows["last"])
    return rows[["pair"]].assign(days=_days(ends - rows["born"]), died=rows["died_at"].notna())


def _days(spans: pd.Series) -> pd.Series:
    days: pd.Series = spans.dt.total_seconds() / 86_400
    return days


def _in_groups(rows: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    """Return each of *rows* (by `pair`) three times: in the group of all pairs, of its NAAN and of its resolver."""
    named_rows = rows.join(timeline.standings.set_index("pair")[["naan", "host"]].astype("str"), on="pair")
    values_by_grouping: dict[str, Any] = {ALL: ALL, "naan": named_rows["naan"], "resolver": named_rows["host"]}
    parts = [named_rows.assign(grouping=grouping, group=group) for grouping, group in values_by_grouping.items()]
    return pd.concat(parts, ignore_index=True).drop(columns=["naan", "host"])


# -- tables


def runs(timeline: Timeline) -> pd.DataFrame:
    """Return one row per run, in order: numbers and shares of pairs by their last conclusive check until that run.

    The columns are `working`, `failing`, `confirmed_broken`, `share_working` and `share_not_broken`.
    """
    checks = conclusive_checks(timeline)
    failures = checks[~checks["works"]]
    spells = failures.groupby(["pair", "spell"])
    is_long = _days(failures["at"] - spells["at"].transform("min")) >= timeline.policy.days
    status = pd.Series("working", index=checks.index)
    status[failures.index] = "failing"
    status[failures.index[is_long & (spells.cumcount() + 1).ge(timeline.policy.strikes)]] = "confirmed_broken"
    previous_status = status.groupby(checks["pair"]).shift()
    change = pd.crosstab(checks["run"], status).sub(pd.crosstab(checks["run"], previous_status), fill_value=0)
    states = ["working", "failing", "confirmed_broken"]
    counts = change.fillna(0).reindex(index=timeline.runs.index, columns=states, fill_value=0).cumsum().astype("int64")
    not_broken, conclusive = counts["working"] + counts["failing"], counts.sum(axis="columns")
    shares = {"share_working": share(counts["working"], conclusive), "share_not_broken": share(not_broken, conclusive)}
    return timeline.runs.join(counts.assign(**shares))


def survival(frames: Frames) -> pd.DataFrame:
    """Return one row per group and day of its survival curve; ordered all, NAANs, resolvers, each by group and day."""
    lifetimes = link_lifetimes(frames.timeline)
    lifetimes = lifetimes.assign(days=lifetimes["days"].round().astype("int64"))
    failures = failure_spells(frames.timeline)
    never_working_pairs = failures.loc[~failures["pair"].isin(lifetimes["pair"]), ["pair"]].drop_duplicates()
    never_worked = _in_groups(never_working_pairs, frames.timeline).groupby(_GROUP).size().rename("never_worked")
    curves = kaplan_meier(_in_groups(lifetimes, frames.timeline), _GROUP).join(never_worked, on=_GROUP)
    return curves.assign(never_worked=curves["never_worked"].fillna(0))


def _durations(timeline: Timeline) -> pd.DataFrame:
    """Return one row per group: number of failures, and median days to failure and to recovery."""
    # A spell is treated as a lifetime that ends with recovery, or is still going on when last seen.
    rows = failure_spells(timeline)
    ends = rows["recovered_at"].fillna(rows["last_at"])
    recoveries = rows[["pair", "confirmed"]].assign(
        days=_days(ends - rows["first_at"]), died=rows["recovered_at"].notna()
    )
    lifetimes, recoveries_by_group = _in_groups(link_lifetimes(timeline), timeline), _in_groups(recoveries, timeline)
    counts = lifetimes.groupby(_GROUP, as_index=False).agg(watched=("pair", "size"), died=("died", "sum"))
    spell_counts = recoveries_by_group.groupby(_GROUP, as_index=False).agg(
        spells=("pair", "size"), confirmed=("confirmed", "sum"), recovered=("died", "sum")
    )
    table = side_by_side(_GROUP, counts, spell_counts).fillna(0)
    for rows, column in ((lifetimes, "days_to_failure"), (recoveries_by_group, "days_to_recovery")):
        medians = median_days(kaplan_meier(rows, _GROUP), _GROUP).rename(columns={"median": column})
        table = table.merge(medians, on=_GROUP, how="left")
    return table


def _best_states(timeline: Timeline) -> pd.DataFrame:
    """Return one row per ARK that is still cited, or was only checked: best state, services, first and last check."""
    rows = timeline.standings[timeline.standings["gone_at"].isna()]
    works = rows["state"].eq(ArkState.HEALTHY)
    rows = rows.assign(
        state=rows["state"].astype(BEST_STATE),
        described=rows["metadata"].isin(DESCRIBED) & works,
        committed=rows["commitment"].eq(CommitmentOutcome.STATED) & works,
        permanent=rows["level"].astype("str").str.startswith("Permanent").fillna(False).astype("bool") & works,
    )
    return rows.groupby("ark_id", as_index=False).agg(
        naan=("naan", "first"),
        state=("state", "min"),
        described=("described", "max"),
        committed=("committed", "max"),
        permanent=("permanent", "max"),
        first_at=("first_seen_at", "min"),
        last_at=("checked_at", "max"),
    )


def section(document: str) -> str:
    """Return the section of a document: host and first path segment of a URL, or the folder of a file.

    >>> section("https://library.example/maps/vaux/1.html"), section("https://library.example/guide.html")
    ('library.example/maps/', 'library.example/')
    >>> section("papers/thesis.pdf"), section("https://[broken/x")
    ('papers/', 'https://[broken/')
    """
    parts = split_url(document)
    if parts.scheme not in ("http", "https") or parts.fault is not None:
        return document.rpartition("/")[0] + "/"
    first, slash, _ = parts.path.lstrip("/").partition("/")
    return f"{authority_of(document)}/{first}/" if slash else f"{authority_of(document)}/"


def persistence(frames: Frames) -> pd.DataFrame:
    """Return one row per set of ARKs, with a sentence: all, each NAAN, each resolver, each section of documents."""
    best_states = _best_states(frames.timeline)
    states = {state.replace("-", "_"): best_states["state"].eq(state) for state in ArkState}
    best_states = best_states.assign(
        followed=best_states["state"].isin(_FOLLOWED), resolving=states.pop("healthy"), **states
    )
    sections = frames.mentions[["ark_id"]].assign(group=map_distinct(frames.mentions["document"], section))
    parts = [
        best_states.assign(grouping=ALL, group=ALL),
        best_states.assign(grouping="naan", group=best_states["naan"].astype("str")),
        best_states.merge(sections.drop_duplicates(), on="ark_id").assign(grouping="documents"),
    ]
    groups = pd.concat(parts, ignore_index=True).groupby(_GROUP, sort=False)
    counts = groups[["followed", "resolving", *states, "described", "committed", "permanent"]].sum()
    table = counts.assign(
        arks=groups.size(),
        first_at=groups["first_at"].min(),
        last_at=groups["last_at"].max(),
        share_resolving=share(counts["resolving"], counts["followed"]),
        share_described=share(counts["described"], counts["resolving"]),
        share_committed=share(counts["committed"], counts["resolving"]),
    ).reset_index()
    statement = macros("persistence.txt.j2", "reports.tables", ENGLISH).statement
    table = table.assign(statement=[str(statement(row)) for row in records_of(table)])
    table = side_by_side(_GROUP, table, _durations(frames.timeline))
    return table.assign(rank=table["grouping"].map(_GROUPINGS.index))
