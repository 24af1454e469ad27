"""Persistence over time: share alive by run, survival, failures and recoveries, outages, and a statement of it all.

A subject is an ARK at one URL, a *pair*. Checks that prove nothing (blocked, ours, in a suspect run) are left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import DESCRIBED, FAMILY_OF, CommitmentOutcome, Family
from reports.languages import N_
from reports.store.frames import Frames
from reports.store.timelines import Timeline
from reports.tables.definitions import (
    ARKS_COLUMN,
    COUNT,
    MOMENT,
    NUMBER,
    SHARE,
    TEXT,
    TOKEN,
    TRUTH,
    Column,
    TableDefinition,
)
from reports.tables.distinct import mapped
from reports.tables.places import section

# The Kaplan-Meier estimator: how many are still alive after so many days, when not all were watched as long.


#: Of the normal distribution: 95 % lie within so many deviations.
_Z: Final = 1.959963984540054


def kaplan_meier(lives: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per group and day on which a subject died or was last seen; ordered by group and day.

    *lives* has a row a subject: the columns *by*, `days` watched, and `died`, whether it was death that ended them.
    Those last seen on a day are at risk on it. The bounds (95 %) are of the log-log kind with Greenwood's variance;
    they are empty where none has died yet, or all have (Kaplan and Meier 1958; Kalbfleisch and Prentice 1980).

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


_GROUP: Final = ["grouping", "group"]
ALL: Final = "all"
_GROUPINGS: Final = (ALL, "naan", "resolver", "documents")
#: Of several URLs of an ARK, the state that counts: one that works is enough, one that is open keeps hope.
BEST_FIRST: Final = (
    ArkState.HEALTHY,
    ArkState.FLAPPING,
    ArkState.BLOCKED,
    ArkState.UNDETERMINED,
    ArkState.FAILING,
    ArkState.CONFIRMED_BROKEN,
    ArkState.SKIPPED,
)
#: The states that `persistence` counts under their own names; those that are healthy resolve.
_OTHER_STATES: Final = {
    ArkState.FAILING: N_("ARKs that are failing"),
    ArkState.CONFIRMED_BROKEN: N_("ARKs that are confirmed broken"),
    ArkState.FLAPPING: N_("ARKs that are flapping"),
    ArkState.BLOCKED: N_("ARKs that are blocked"),
    ArkState.SKIPPED: N_("ARKs that are skipped"),
    ArkState.UNDETERMINED: N_("ARKs that are undetermined"),
}
_JUDGED: Final = (ArkState.HEALTHY, ArkState.FLAPPING, ArkState.FAILING, ArkState.CONFIRMED_BROKEN)


# -- checks and spells


@lru_cache(maxsize=2)
def proofs(timeline: Timeline) -> pd.DataFrame:
    """The checks that prove something: `works` or a strike; with `at` and the `spell` since it worked last."""
    family = timeline.checks["object"].cat.rename_categories(str).astype("str").map(_FAMILY)
    suspect = _of_run(timeline, timeline.checks, "is_suspect")
    works = family.eq(Family.WORKS)
    strikes = family.isin([Family.FAILS, Family.UNREACHABLE]) & ~suspect
    proving = timeline.checks[works | strikes].assign(works=works, at=_of_run(timeline, timeline.checks, "started_at"))
    return proving.assign(spell=proving.groupby("pair")["works"].cumsum())


def _of_run(timeline: Timeline, rows: pd.DataFrame, column: str) -> pd.Series:
    """Return what the run of each row has in a column."""
    return pd.Series(timeline.runs[column].take(rows["run"].to_numpy()).array, index=rows.index)


_FAMILY: Final = {str(outcome): family for outcome, family in FAMILY_OF.items()}


@lru_cache(maxsize=2)
def spells(timeline: Timeline) -> pd.DataFrame:
    """One row per spell of failures: pair, first and last strike, strikes, when it worked again, whether confirmed."""
    checks = proofs(timeline)
    failures = checks[~checks["works"]].groupby(["pair", "spell"], as_index=False)
    rows = failures.agg(first_at=("at", "min"), last_at=("at", "max"), strikes=("at", "size"))
    again = checks[checks["works"]].groupby(["pair", "spell"], as_index=False).agg(recovered_at=("at", "min"))
    again = again.assign(spell=again["spell"] - 1)
    rows = rows.merge(again, on=["pair", "spell"], how="left")
    long_enough = (rows["last_at"] - rows["first_at"]).dt.total_seconds() >= timeline.policy.days * 86_400
    return rows.assign(confirmed=long_enough & rows["strikes"].ge(timeline.policy.strikes))


@lru_cache(maxsize=2)
def lives(timeline: Timeline) -> pd.DataFrame:
    """One row per pair that ever worked: days from its first good check to its death, or to its last good check.

    It died with the first strike of a spell that was confirmed; what came after that is a matter of recovery.
    """
    checks = proofs(timeline)
    good = checks[checks["works"]].groupby("pair").agg(born=("at", "min"))
    dead = spells(timeline).query("confirmed and spell > 0").groupby("pair")["first_at"].min()
    rows = good.assign(died_at=dead)
    good_checks = checks[checks["works"]].join(rows["died_at"], on="pair")
    alive = (
        good_checks[good_checks["died_at"].isna() | (good_checks["at"] < good_checks["died_at"])]
        .groupby("pair")["at"]
        .max()
    )
    rows = rows.assign(last=alive, died=rows["died_at"].notna()).reset_index()
    until = rows["died_at"].where(rows["died"], rows["last"])
    return rows.assign(days=_days(until - rows["born"]))[["pair", "days", "died"]]


def _days(spans: pd.Series) -> pd.Series:
    days: pd.Series = spans.dt.total_seconds() / 86_400
    return days


def _grouped(rows: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    """Each row of a pair three times: in the group of all, of its NAAN and of its resolver."""
    owners = timeline.standings.set_index("pair")[["naan", "host"]]
    owned = rows.join(owners, on="pair")
    return pd.concat(
        [
            owned.assign(grouping=ALL, group=ALL),
            owned.assign(grouping="naan", group=owned["naan"].astype("str")),
            owned.assign(grouping="resolver", group=owned["host"].astype("str")),
        ],
        ignore_index=True,
    ).drop(columns=["naan", "host"])


# -- tables


def runs(frames: Frames) -> pd.DataFrame:
    """One row per run, in order: what it checked, and how all ARKs known by then stood after it."""
    timeline = frames.timeline
    table = timeline.runs.reset_index(names="run")
    family = timeline.checks["object"].astype("str").map(_FAMILY)
    counts = pd.crosstab(timeline.checks["run"], family).reindex(index=table["run"], columns=list(Family), fill_value=0)
    checked: dict[str, Any] = {str(family).replace("-", "_"): counts[family].to_numpy() for family in Family}
    stood = _stood(timeline, len(table))
    alive, failing, broken = (stood[name] for name in ("working", "failing", "confirmed_broken"))
    proved = alive + failing + broken
    table = table.assign(
        checked=counts.sum(axis=1).to_numpy(),
        **checked,
        **{str(name): stood[name] for name in stood},
        share_working=(alive / proved).where(proved > 0),
        share_not_broken=((alive + failing) / proved).where(proved > 0),
    ).rename(columns={"is_suspect": "suspect"})
    return RUNS.shaped(table)


def _stood(timeline: Timeline, run_count: int) -> pd.DataFrame:
    """By run, how many pairs worked at their last proof, were failing, or were confirmed broken."""
    checks = proofs(timeline)
    strikes = (
        checks.groupby(["pair", "spell"])["works"].transform(lambda works: 0)
        if checks.empty
        else ((~checks["works"]).groupby([checks["pair"], checks["spell"]]).cumsum())
    )
    first = checks["at"].where(~checks["works"]).groupby([checks["pair"], checks["spell"]]).transform("min")
    is_long = (checks["at"] - first).dt.total_seconds() >= timeline.policy.days * 86_400
    confirmed = ~checks["works"] & is_long & strikes.ge(timeline.policy.strikes)
    status = (
        pd.Series("failing", index=checks.index).mask(checks["works"], "working").mask(confirmed, "confirmed_broken")
    )
    before = status.groupby(checks["pair"]).shift()
    steps = {}
    for name in ("working", "failing", "confirmed_broken"):
        change = status.eq(name).astype("int64") - before.eq(name).astype("int64")
        by_run = change.groupby(checks["run"]).sum()
        steps[name] = by_run.reindex(range(run_count), fill_value=0).cumsum().to_numpy()
    return pd.DataFrame(steps)


def survival(frames: Frames) -> pd.DataFrame:
    """One row per group and day of its survival curve; ordered all, NAANs, resolvers, each by group and day."""
    watched = lives(frames.timeline)
    curves = kaplan_meier(
        _grouped(watched.assign(days=watched["days"].round().astype("int64")), frames.timeline), _GROUP
    )
    return SURVIVAL.shaped(curves)


def _lasting(timeline: Timeline) -> pd.DataFrame:
    """One row per group: how many failed, after how long, and how long it took to recover."""
    watched, failed = _grouped(lives(timeline), timeline), _grouped(_recoveries(timeline), timeline)
    counts = watched.groupby(_GROUP, as_index=False).agg(watched=("pair", "size"), died=("died", "sum"))
    spelled = failed.groupby(_GROUP, as_index=False).agg(
        spells=("pair", "size"), confirmed=("confirmed", "sum"), recovered=("died", "sum")
    )
    table = pd.concat([rows.set_index(_GROUP) for rows in (counts, spelled)], axis="columns").fillna(0).reset_index()
    for rows, column in ((watched, "days_to_failure"), (failed, "days_to_recovery")):
        medians = median_days(kaplan_meier(rows, _GROUP), _GROUP).rename(columns={"median": column})
        table = table.merge(medians, on=_GROUP, how="left")
    return table


def _recoveries(timeline: Timeline) -> pd.DataFrame:
    """Spells as lives of another kind: they end with recovery, or are still going on when last seen."""
    rows = spells(timeline)
    recovered = rows["recovered_at"].notna()
    until = rows["recovered_at"].where(recovered, rows["last_at"])
    return rows.assign(days=_days(until - rows["first_at"]), died=recovered)[["pair", "days", "died", "confirmed"]]


def outages(frames: Frames) -> pd.DataFrame:
    """One row per outage of a host: runs, one after the other, in which it gave no answer; the last to begin first."""
    timeline = frames.timeline
    contacts = timeline.contacts[~_of_run(timeline, timeline.contacts, "is_suspect")]
    contacts = contacts.assign(host=contacts["host"].astype("str"), up=contacts["answered"] > 0)
    contacts = contacts.assign(spell=contacts.groupby("host")["up"].cumsum())
    spelled = contacts[~contacts["up"]].groupby(["host", "spell"], as_index=False)
    rows = spelled.agg(
        since=("first_at", "min"), last_at=("last_at", "max"), runs=("run", "size"), failure=("failure", "last")
    )
    again = contacts[contacts["up"]][["host", "spell", "first_at"]].rename(columns={"first_at": "until"})
    rows = rows.merge(again.assign(spell=again["spell"] - 1), on=["host", "spell"], how="left")
    rows = rows.assign(is_over=rows["until"].notna(), days=_days(rows["last_at"] - rows["since"]))
    rows = rows.sort_values(["since", "host"], ascending=[False, True], ignore_index=True)
    return OUTAGES.shaped(rows)


@lru_cache(maxsize=1)
def _best(timeline: Timeline) -> pd.DataFrame:
    """One row per ARK that is still cited or was only ever checked: its best state, and what is said of it."""
    rows = timeline.standings
    rows = rows[rows["gone_at"].isna()]
    ranks = np.array([BEST_FIRST.index(ArkState(state)) for state in rows["state"].cat.categories])
    works = rows["state"].eq(ArkState.HEALTHY)
    rows = rows.assign(
        rank=ranks[rows["state"].cat.codes],
        described=rows["metadata"].isin(DESCRIBED) & works,
        committed=rows["commitment"].eq(CommitmentOutcome.STATED) & works,
        permanent=rows["level"].astype("str").str.startswith("Permanent").fillna(False).astype("bool") & works,
    )
    best = rows.groupby("ark_id", as_index=False).agg(
        ark=("ark", "first"),
        naan=("naan", "first"),
        rank=("rank", "min"),
        described=("described", "max"),
        committed=("committed", "max"),
        permanent=("permanent", "max"),
        first_at=("first_seen_at", "min"),
        last_at=("checked_at", "max"),
    )
    states = np.array([state.value for state in BEST_FIRST], dtype="object")
    return best.assign(state=pd.Series(states[best["rank"]], dtype="str"))


def persistence(frames: Frames) -> pd.DataFrame:
    """One row per set of ARKs: all, each NAAN, each resolver, each section of the documents; with a statement."""
    best = _best(frames.timeline)
    sections = frames.mentions[["ark_id", "document"]].drop_duplicates()
    sections = sections.assign(group=mapped(sections["document"], section))[["ark_id", "group"]].drop_duplicates()
    cited = best.merge(sections, on="ark_id", how="inner")
    sets = pd.concat(
        [
            best.assign(grouping=ALL, group=ALL),
            best.assign(grouping="naan", group=best["naan"].astype("str")),
            cited.assign(grouping="documents"),
        ],
        ignore_index=True,
    )
    judged = sets["state"].isin(_JUDGED)
    resolving = sets["state"].eq(ArkState.HEALTHY)
    by_state = {_column_of(state): sets["state"].eq(state) for state in _OTHER_STATES}
    sets = sets.assign(judged=judged, resolving=resolving, **by_state)
    counted = ["judged", "resolving", *by_state, "described", "committed", "permanent"]
    groups = sets.groupby(_GROUP, sort=False)
    table = (
        groups[counted]
        .sum()
        .assign(arks=groups.size(), first_at=groups["first_at"].min(), last_at=groups["last_at"].max())
    )
    table = table.assign(
        share_resolving=_share(table["resolving"], table["judged"]),
        share_described=_share(table["described"], table["resolving"]),
        share_committed=_share(table["committed"], table["resolving"]),
    ).reset_index()
    table = table.assign(statement=[_statement(row) for row in table.itertuples(index=False)])
    lasting = _lasting(frames.timeline)
    table = pd.concat([rows.set_index(_GROUP) for rows in (table, lasting)], axis="columns").reset_index()
    table = table.assign(order=table["grouping"].map(_GROUPINGS.index))
    table = table.sort_values(["order", "arks", "group"], ascending=[True, False, True], ignore_index=True)
    return PERSISTENCE.shaped(table)


def _column_of(state: ArkState) -> str:
    return state.value.replace("-", "_")


def _share(part: pd.Series, whole: pd.Series) -> pd.Series:
    return (part / whole).where(whole > 0)


def _statement(row: object) -> str:
    """The row in sentences that a funder can read; "permanent" only where a provider says so."""
    value = row.__getattribute__
    dates = ""
    if pd.notna(value("last_at")):
        dates = f" between {value('first_at'):%Y-%m-%d} and {value('last_at'):%Y-%m-%d}"
    judged, resolving, open_ = value("judged"), value("resolving"), value("arks") - value("judged")
    if not judged:
        return f"None of {value('arks'):,} ARKs could be judged{dates}."
    said = f"Of {judged:,} ARKs that could be judged{dates}, {resolving:,} ({resolving / judged:.1%}) resolve"
    said += f" and {value('confirmed_broken'):,} are confirmed broken."
    if resolving:
        described, committed = (
            f"{value(name):,} ({value(name) / resolving:.1%})" for name in ("described", "committed")
        )
        said += f" Of those that resolve, {described} are described and {committed} come with a stated commitment;"
        said += f" their providers call {value('permanent'):,} of them permanent."
    return said + (f" {open_:,} more could not be judged." if open_ else "")


# -- definitions

_GROUPING: Final = Column("grouping", TOKEN, "what the rows are grouped by: all, naan or resolver")
_GROUP_COLUMN: Final = Column("group", TEXT, "the group: all, a NAAN, or the host that is asked first")
RUNS: Final = TableDefinition(
    "runs",
    "Run by run",
    "One row per run up to this one. What it checked itself, and the status of all ARKs known by then at their last "
    "conclusive check. Failures in a suspect run, in which most hosts failed, do not count against any ARK.",
    runs,
    (
        Column("run_id", COUNT, "number of the run", "number"),
        Column("started_at", MOMENT, "moment at which it began", "UTC"),
        Column("command", TOKEN, "command that started it"),
        Column("state", TOKEN, "running, finished, interrupted or failed"),
        Column("suspect", TRUTH, "whether most hosts failed in it"),
        Column("reason", TEXT, "why it is suspect; empty when it is not"),
        Column("checked", COUNT, "ARKs at a URL that it judged", "ARKs at a URL"),
        Column("works", COUNT, "of these, those that worked", "ARKs at a URL"),
        Column("fails", COUNT, "of these, those that failed", "ARKs at a URL"),
        Column("unreachable", COUNT, "of these, those whose server gave no answer", "ARKs at a URL"),
        Column("not_judged", COUNT, "of these, those that could not be judged", "ARKs at a URL"),
        Column("working", COUNT, "known by then, and working at their last conclusive check", "ARKs at a URL"),
        Column("failing", COUNT, "known by then, and failing, not yet confirmed", "ARKs at a URL"),
        Column("confirmed_broken", COUNT, "known by then, and confirmed broken", "ARKs at a URL"),
        Column("share_working", SHARE, "working / (working + failing + confirmed_broken)", "1"),
        Column("share_not_broken", SHARE, "(working + failing) / (working + failing + confirmed_broken)", "1"),
    ),
)

SURVIVAL: Final = TableDefinition(
    "survival",
    "Survival",
    "One row per group and day: the Kaplan-Meier estimate of the share that is still alive so many days after it "
    "was first seen to work. A subject is an ARK at one URL; it dies with the first failure of those that confirmed "
    "it, and else was last seen alive when it last worked. What never worked during our checks is not included.",
    survival,
    (
        _GROUPING,
        _GROUP_COLUMN,
        Column("days", COUNT, "time since it was first seen to work", "days"),
        Column("at_risk", COUNT, "subjects alive and still watched on that day", "ARKs at a URL"),
        Column("failed", COUNT, "subjects that died on that day", "ARKs at a URL"),
        Column("censored", COUNT, "subjects last seen alive on that day", "ARKs at a URL"),
        Column("survival", SHARE, "estimated share still alive after that day", "1"),
        Column("low", SHARE, "lower bound of it (95 %, log-log); empty before the first death", "1"),
        Column("high", SHARE, "upper bound of it", "1"),
    ),
    is_listing=True,
)

OUTAGES: Final = TableDefinition(
    "outages",
    "Outages of hosts",
    "One row per outage: runs, one after the other, in which a host gave no HTTP answer at all, suspect runs left "
    "out; the last to begin first. It may have been longer than it was seen.",
    outages,
    (
        Column("host", TEXT, "host, with its port unless it is the default one"),
        Column("since", MOMENT, "moment of its first failure", "UTC"),
        Column("last_at", MOMENT, "moment of the last failure that was seen", "UTC"),
        Column("until", MOMENT, "moment at which it was first seen to answer again; empty when it was not", "UTC"),
        Column("is_over", TRUTH, "whether it has answered again"),
        Column("runs", COUNT, "runs that saw it", "runs"),
        Column("days", NUMBER, "time from the first failure to the last that was seen", "days"),
        Column("failure", TOKEN, "how it failed last"),
    ),
)

PERSISTENCE: Final = TableDefinition(
    "persistence",
    "Persistence",
    "One row per set of ARKs: all, by NAAN, by resolver, and by section of the documents that cite them in this run. "
    "An ARK counts once, with its best status; those that no document cites any longer are left out. Failures and "
    "recoveries count ARKs at a URL; their times are medians of the Kaplan-Meier estimate, empty where fewer than half "
    "failed or recovered. Permanent is only what its provider calls so.",
    persistence,
    (
        Column("grouping", TOKEN, "what the rows are grouped by: all, naan, resolver or documents"),
        Column("group", TEXT, "the set: all, a NAAN, the host that is asked first, or a section of the documents"),
        ARKS_COLUMN,
        Column("judged", COUNT, "ARKs that are healthy, flapping, failing or confirmed broken", "ARKs"),
        Column("resolving", COUNT, "ARKs that are healthy", "ARKs"),
        Column("share_resolving", SHARE, "resolving / judged; empty when none is judged", "1"),
        Column("described", COUNT, "of those that resolve, those that were described when asked", "ARKs"),
        Column("share_described", SHARE, "described / resolving; empty when none resolves", "1"),
        Column("committed", COUNT, "of those that resolve, those with a stated commitment", "ARKs"),
        Column("share_committed", SHARE, "committed / resolving; empty when none resolves", "1"),
        Column("permanent", COUNT, "of those, those that the commitment calls permanent", "ARKs"),
        *(Column(_column_of(state), COUNT, meaning, "ARKs") for state, meaning in _OTHER_STATES.items()),
        Column("first_at", MOMENT, "moment at which the first of them was first seen", "UTC"),
        Column("last_at", MOMENT, "moment of the last check of any of them", "UTC"),
        Column("watched", COUNT, "ARKs at a URL that were seen to work at least once", "ARKs at a URL"),
        Column("died", COUNT, "of these, those that were confirmed broken later", "ARKs at a URL"),
        Column("days_to_failure", NUMBER, "median time from first working to the first failure of that", "days"),
        Column("spells", COUNT, "spells of failures, however short", "spells"),
        Column("confirmed", COUNT, "of these, those that lasted long enough to be confirmed", "spells"),
        Column("recovered", COUNT, "of these spells, those after which it worked again", "spells"),
        Column("days_to_recovery", NUMBER, "median time from the first failure of a spell to working again", "days"),
        Column("statement", TEXT, "the row in sentences"),
    ),
)

OVER_TIME: Final = (RUNS, SURVIVAL, OUTAGES, PERSISTENCE)
