"""The tables of actions: failures by cause, so that one fix repairs many, and their places with corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from crawler.history.ark_status import ArkState
from reports.languages.display import escape_invisible
from reports.remediation.causes import ADVICE, Fault, grade
from reports.store.frames import Frames
from reports.tables.ark_statuses import archived_copies
from reports.tables.definitions import PAIR, in_order, records_of, rows_of, tally
from reports.tables.failing import diagnosed_failures
from reports.tables.known import with_known

#: The key of a cause: the party that can fix it, and the host or rule to fix.
_GROUP = ["cause", "fault", "host", "rule"]


def causes(frames: Frames) -> pd.DataFrame:
    """Return one row per cause, fault, host and rule, without known problems.

    The order is that of `number`: by ARKs, confirmed ones counted twice; outages last.
    """
    rows, contacts_by_naan = failures(frames), contacts(frames)
    rows = rows[rows["known"].isna()]
    table = rows.groupby(_GROUP).agg(
        number=("number", "first"),
        citations=("citation_id", "nunique"),
        documents=("document_id", "nunique"),
        arks=("ark_id", "nunique"),
        confirmed_broken=("confirmed_ark", "nunique"),
        failing_since=("first_strike_at", "min"),
        naan=("naan", lambda naans: sorted(naans.unique())),
        example_ark=("ark", "first"),
        example_url=("request_url", "first"),
        example_document=("document", "first"),
        pattern=("pattern", _common_text),
        suggested=("suggested", "sum"),
        should_be=("should_be", _common_text),
        because=("because", _common_text),
        evidence=("object_evidence", "first"),
    )
    table = table.assign(outcomes=tally(rows, _GROUP, "object", most=3)).reset_index()
    ages = frames.run["started_at"].max() - table["failing_since"]
    table = table.assign(days=ages.dt.total_seconds().div(86_400).fillna(0))
    grade_columns = ["fault", "citations", "arks", "confirmed_broken", "days"]
    is_suggested_for_all = table["suggested"].eq(table["arks"])
    return table.assign(
        should_be=table["should_be"].where(is_suggested_for_all),
        because=table["because"].where(is_suggested_for_all),
        grade=[
            grade(Fault(fault), citations=citations, arks=arks, confirmed=confirmed, days=days).value
            for fault, citations, arks, confirmed, days in rows_of(table[grade_columns])
        ],
        advice=[ADVICE[cause] for cause in table["cause"]],
        assigned_by=table["naan"].map(partial(_contact_words, contacts_by_naan)),
        naans=table["naan"].map(", ".join),
    )


def cause_key(row: Mapping[str, Any]) -> str:
    """Return the text that identifies the cause of a *row* of the table of causes in every report on a store."""
    return escape_invisible("|".join(row[column] or "" for column in _GROUP))


def causes_of(frames: Frames, ark: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return, for each URL at which *ark* fails, its row in the table of causes and its first row in that of failures.

    Known problems are left out, because they have no cause in that table.
    """
    rows = failures(frames)
    rows = rows[rows["ark"].eq(ark) & rows["known"].isna()].drop_duplicates("request_url")
    cause_by_number = {row["number"]: row for row in records_of(causes(frames))} if len(rows) else {}
    return {row["request_url"]: (cause_by_number[row["number"]], row) for row in records_of(rows)}


def arks_of_cause(frames: Frames, key: str) -> frozenset[tuple[str, str]]:
    """Return the (ARK, URL) pairs that fail by one cause.

    *key* is a `cause_key`, for the cause at one host, or the value of a `Cause`, for that cause at all hosts.
    """
    rows = records_of(diagnosed_failures(frames)[[*_GROUP, "ark", "request_url"]])
    return frozenset((row["ark"], row["request_url"]) for row in rows if key in (cause_key(row), row["cause"]))


def _common_text(texts: pd.Series) -> str | None:
    """Return the text that all rows share; None if they differ."""
    return str(texts.iloc[0]) if texts.notna().all() and texts.nunique() == 1 else None


@lru_cache(maxsize=2)
def failures(frames: Frames) -> pd.DataFrame:
    """Return one row per failing ARK, URL and citing place; sorted by the number of its cause, known problems last."""
    citing_places = frames.mentions.drop(columns=["ark", "naan"])
    rows = diagnosed_failures(frames)
    for frame in (citing_places, archived_copies(frames), frames.latest[[*PAIR, "state", "first_strike_at"]]):
        rows = rows.merge(frame, on=PAIR, how="left")
    rows = with_known(frames, rows)
    known_rows, rows = rows[rows["known"].notna()], rows[rows["known"].isna()]
    # The weight of an ARK in its cause, on one of its rows: 2 if its failure is confirmed, else 1.
    is_first = ~rows.duplicated([*_GROUP, "ark_id"])
    is_confirmed = rows["state"].eq(ArkState.CONFIRMED_BROKEN).fillna(False)
    weight = is_first * (1 + is_confirmed.astype("int64"))
    has_correction = rows["should_be"].notna().groupby([rows[name] for name in [*_GROUP, "ark_id"]]).transform("all")
    rows = rows.assign(confirmed_ark=rows["ark_id"].where(is_confirmed), weight=weight)
    rows = rows.assign(suggested=(is_first & has_correction).astype("Int64"))
    cause_sizes = rows.groupby(_GROUP).agg(citations=("citation_id", "nunique"), weight=("weight", "sum")).reset_index()
    cause_sizes = cause_sizes.assign(is_outage=cause_sizes["fault"].eq(Fault.NOBODY))
    cause_sizes = in_order(cause_sizes, "is_outage", "-weight", "-citations", *_GROUP)
    rows = rows.merge(cause_sizes[_GROUP].assign(number=cause_sizes.index + 1), on=_GROUP)
    rows = pd.concat([rows.astype({"number": "Int64"}), known_rows], ignore_index=True)
    return in_order(rows, "number", "ark", "document", "ordinal", "request_url")


def _contact_words(contacts_by_naan: Mapping[str, tuple[str, str]], naans: Iterable[str]) -> str | None:
    """Return the organizations of *naans* and their addresses as one text, at most three; None without any."""
    named_contacts = [contacts_by_naan[naan] for naan in sorted(naans) if naan in contacts_by_naan]
    return "; ".join(f"{who} ({address})" if address else who for who, address in named_contacts[:3]) or None


def contacts(frames: Frames) -> Mapping[str, tuple[str, str]]:
    """Return (organization, contact address or empty text) by NAAN, from the registry."""
    return {
        naan: (organization, contact or "")
        for naan, organization, contact in rows_of(frames.registered[["naan", "organization", "contact"]])
        if organization
    }
