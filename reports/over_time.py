"""The tables over time: what each of `reports.persistence` publishes."""

from __future__ import annotations

from typing import Final

from crawler.history.ark_status import ArkState
from reports import persistence
from reports.definitions import (
    ARKS_COLUMN,
    COUNT,
    MOMENT,
    NAAN_COLUMN,
    NUMBER,
    SHARE,
    TEXT,
    TOKEN,
    TRUTH,
    Column,
    TableDefinition,
)

_GROUPING: Final = Column("grouping", TOKEN, "what the rows are grouped by: all, naan or resolver")
_GROUP: Final = Column("group", TEXT, "the group: all, a NAAN, or the host that is asked first")
_STATES: Final = tuple(
    Column(state.value.replace("-", "_"), COUNT, f"ARKs that are {state.value}", "ARKs") for state in ArkState
)

STANDINGS: Final = TableDefinition(
    "standings",
    "Standing",
    "One row a NAAN. How its ARKs stand after all checks up to this run: failing ones are not yet confirmed, and one "
    "bad day is no link rot. An ARK that was asked at several URLs counts once, with its best status; those that "
    "no document cites any more are left out.",
    persistence.statuses,
    (NAAN_COLUMN, ARKS_COLUMN, *_STATES),
)

RUNS: Final = TableDefinition(
    "runs",
    "Run by run",
    "One row a run up to this one. What it checked itself, and how all ARKs known by then stood at their last check "
    "that proved something. Failures in a suspect run, in which most hosts failed, are held against nobody.",
    persistence.runs,
    (
        Column("run_id", COUNT, "number of the run", "number"),
        Column("started_at", MOMENT, "moment at which it began", "UTC"),
        Column("command", TOKEN, "verb that made it"),
        Column("state", TOKEN, "running, finished, interrupted or failed"),
        Column("suspect", TRUTH, "whether most hosts failed in it"),
        Column("reason", TEXT, "why it is suspect; empty when it is not"),
        Column("checked", COUNT, "ARKs at a URL that it judged", "ARKs at a URL"),
        Column("works", COUNT, "of these, those that worked", "ARKs at a URL"),
        Column("fails", COUNT, "of these, those that failed", "ARKs at a URL"),
        Column("unreachable", COUNT, "of these, those whose server gave no answer", "ARKs at a URL"),
        Column("not_judged", COUNT, "of these, those that could not be judged", "ARKs at a URL"),
        Column("working", COUNT, "known by then, and working at their last proof", "ARKs at a URL"),
        Column("failing", COUNT, "known by then, and failing, not yet confirmed", "ARKs at a URL"),
        Column("confirmed_broken", COUNT, "known by then, and confirmed broken", "ARKs at a URL"),
        Column("share_working", SHARE, "working / (working + failing + confirmed_broken)", "1"),
        Column("share_not_broken", SHARE, "(working + failing) / (working + failing + confirmed_broken)", "1"),
    ),
)

SURVIVAL: Final = TableDefinition(
    "survival",
    "Survival",
    "One row a group and day: the Kaplan-Meier estimate of the share that is still alive so many days after it was "
    "first seen to work. A subject is an ARK at one URL; it dies with the first failure of those that confirmed it, "
    "and else was last seen alive when it last worked. What never worked while we watched is not in it.",
    persistence.survival,
    (
        _GROUPING,
        _GROUP,
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

RECOVERIES: Final = TableDefinition(
    "recoveries",
    "Failures and recoveries",
    "One row a group. How long until an ARK is broken, and how long until one that fails works again: medians of the "
    "Kaplan-Meier estimate, empty where not half came to that.",
    persistence.recoveries,
    (
        _GROUPING,
        _GROUP,
        Column("watched", COUNT, "ARKs at a URL that were seen to work at least once", "ARKs at a URL"),
        Column("died", COUNT, "of these, those that were confirmed broken later", "ARKs at a URL"),
        Column("days_to_failure", NUMBER, "median time from first working to the first failure of that", "days"),
        Column("spells", COUNT, "spells of failures, however short", "spells"),
        Column("confirmed", COUNT, "of these, those that lasted long enough to be confirmed", "spells"),
        Column("recovered", COUNT, "of these spells, those after which it worked again", "spells"),
        Column("days_to_recovery", NUMBER, "median time from the first failure of a spell to working again", "days"),
    ),
)

OUTAGES: Final = TableDefinition(
    "outages",
    "Outages of hosts",
    "One row an outage: runs, one after the other, in which a host gave no HTTP answer at all, suspect runs left "
    "out; the last to begin first. It may have been longer than it was seen.",
    persistence.outages,
    (
        Column("host", TEXT, "host, with its port unless that goes without saying"),
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
    "Persistence statement",
    "One row a set of ARKs: all, by NAAN, and by section of the documents that cite them in this run. An ARK counts "
    "once, with its best status. Permanent is only what its provider calls so.",
    persistence.persistence,
    (
        Column("grouping", TOKEN, "what the rows are grouped by: all, naan or documents"),
        Column("group", TEXT, "the set: all, a NAAN, or host and first folder of the documents"),
        ARKS_COLUMN,
        Column("judged", COUNT, "ARKs that are healthy, flapping, failing or confirmed broken", "ARKs"),
        Column("resolving", COUNT, "ARKs that are healthy", "ARKs"),
        Column("share_resolving", SHARE, "resolving / judged; empty when none is judged", "1"),
        Column("described", COUNT, "of those that resolve, those that were described when asked", "ARKs"),
        Column("share_described", SHARE, "described / resolving; empty when none resolves", "1"),
        Column("committed", COUNT, "of those that resolve, those with a stated commitment", "ARKs"),
        Column("share_committed", SHARE, "committed / resolving; empty when none resolves", "1"),
        Column("permanent", COUNT, "of those, those that the commitment calls permanent", "ARKs"),
        Column("confirmed_broken", COUNT, "ARKs that are confirmed broken", "ARKs"),
        Column("first_at", MOMENT, "moment at which the first of them was first seen", "UTC"),
        Column("last_at", MOMENT, "moment of the last check of any of them", "UTC"),
        Column("statement", TEXT, "the row in sentences"),
    ),
)

OVER_TIME: Final = (STANDINGS, RUNS, SURVIVAL, RECOVERIES, OUTAGES, PERSISTENCE)
