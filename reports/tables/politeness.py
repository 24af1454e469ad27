"""The tables of what an audit has cost its hosts, and of what it left out on purpose."""

from __future__ import annotations

from typing import Final

import pandas as pd

from crawler.model.observations import ChainEnd, ObjectOutcome, Question
from crawler.sources.traps import WORDS, Rule, refused
from reports.store.frames import Frames
from reports.tables.definitions import COUNT, MOMENT, NUMBER, TEXT, TOKEN, Column, TableDefinition, rows_of
from reports.tables.distinct import host, hosts_of
from reports.tables.overviews import own, sent_hops

#: Findings that say that something was not read, or not to its end, or that the crawl ended before it was done.
LIMITS: Final = (
    *(
        "cut-off",
        "time-limit",
        "page-limit",
        "source-limit",
        "incomplete",
        "undecodable",
        "not-fetched",
        "nofollow-page",
    ),
    *("not-fetched", "nofollow-page", "max-pages", "max-time"),
)
_NOT_ASKED: Final = "its host seemed dead, or wanted to be left alone for longer than we wait; see requests.csv"
#: What a question is asked for; the others are about resolvers, not objects.
_PURPOSES: Final = {
    Question.OBJECT.value: "objects",
    **dict.fromkeys((Question.INFO.value, Question.DOUBLE.value, Question.SINGLE.value), "descriptions"),
}
_HELD_BACK: Final = {
    ObjectOutcome.SKIPPED: "examples and tests are recorded and never requested",
    ObjectOutcome.ROBOTS: "its robots.txt asks programs not to",
    ObjectOutcome.REFUSED_ADDRESS: "the address lies in a private network",
}


def hosts(frames: Frames) -> pd.DataFrame:
    """One row per host that was asked; ordered by requests, the most first, then by host."""
    hops = sent_hops(frames, ["question", *_OF_REQUEST])
    sent = pd.concat(
        [
            hops.assign(purpose=hops["question"].astype("str").map(_PURPOSES).fillna("controls")),
            _sent_fetches(frames.fetches).assign(purpose="documents"),
        ]
    )
    sent = sent.assign(host=hosts_of(sent["url"]), answered=sent["status"].notna())
    status = sent["status"].fillna(0)
    sent = sent.assign(
        **{name: sent["purpose"].eq(name) for name in ("documents", "objects", "descriptions", "controls")},
        refused=status.isin([401, 403, 407, 429, 451, 999]),
        server_errors=status.between(500, 599),
        no_answer=~sent["answered"],
        pauses_asked=sent["retry_after"].notna(),
    )
    rows = sent.groupby("host", as_index=False).agg(
        requests=("url", "size"),
        **{name: (name, "sum") for name in ("documents", "objects", "descriptions", "controls")},
        **{name: (name, "sum") for name in ("refused", "server_errors", "no_answer", "pauses_asked")},
        first_at=("at", "min"),
        last_at=("at", "max"),
        mean_s=("elapsed_s", "mean"),
    )
    rows = rows.assign(mean_s=rows["mean_s"].astype("Float64").round(3))
    # A host that was only asked for its robots.txt, or looked at for its certificate, was asked as well.
    rows = rows.merge(_treatment(frames), on="host", how="outer")
    rows = rows.merge(_kept_pauses(frames), on="host", how="left")
    count_names = [column.name for column in HOSTS.columns if column.type is COUNT and column.name != "all_requests"]
    rows = rows.assign(**{name: rows[name].fillna(0) for name in (*count_names, "paused_s")})
    # Stores of before 0.1 counted nothing else, and a kill may have cost what was counted in the last moment.
    rows = rows.assign(all_requests=rows[["all_requests", "requests"]].astype("Int64").max(axis=1))
    ordered = rows.sort_values(["requests", "host"], ascending=[False, True], ignore_index=True)
    return HOSTS.shaped(ordered)


def _kept_pauses(frames: Frames) -> pd.DataFrame:
    """One row per host that asked to be left alone: how often, and how long in all, that was kept."""
    kept = frames.pauses[frames.pauses["is_kept"].fillna(False)]
    rows = kept.assign(host=hosts_of(kept["host"])).groupby("host", as_index=False)
    return rows.agg(pauses_kept=("asked_s", "size"), paused_s=("asked_s", "sum"))


def _treatment(frames: Frames) -> pd.DataFrame:
    """One row per host: everything that went there, the intervals that were kept, and why it was given up, if so."""
    was_asked = frames.traffic["requests"].fillna(0).gt(0) | frames.traffic["given_up"].notna()
    rows = frames.traffic[was_asked].assign(host=hosts_of(frames.traffic["host"])).groupby("host", as_index=False)
    return rows.agg(
        all_requests=("requests", "sum"),
        interval_s=("interval_s", "max"),
        crawl_delay_s=("crawl_delay_s", "max"),
        given_up=("given_up", "first"),
    )


def _sent_fetches(fetches: pd.DataFrame) -> pd.DataFrame:
    """The requests for documents that went out: all but those that robots.txt or our own guard held back."""
    held_back = fetches["outcome"].isin([ObjectOutcome.ROBOTS, ObjectOutcome.REFUSED_ADDRESS])
    return fetches.loc[fetches["url"].notna() & ~(held_back & fetches["status"].isna()), _OF_REQUEST]


_OF_REQUEST: Final = ["url", "status", "retry_after", "at", "elapsed_s"]


def left_out(frames: Frames) -> pd.DataFrame:
    """One row per reason and place; ordered by reason, then by number, the greatest first, then by place."""
    parts = [_skipped_arks(frames), _skipped_documents(frames), _limits(frames), _not_asked(frames)]
    counted = pd.concat([*(part.assign(count=1) for part in parts), _refused_links(frames)], ignore_index=True)
    rows = counted.groupby(["reason", "what", "place", "note"], as_index=False).agg(
        number=("count", "sum"), example=("example", "min")
    )
    ordered = rows.sort_values(
        ["reason", "what", "number", "place"], ascending=[True, True, False, True], ignore_index=True
    )
    return LEFT_OUT.shaped(ordered)


_OF_ANSWER: Final = ["chain_end", "status", "body_complete", "asked_url", "final_url"]
_LEFT_OUT: Final = ["reason", "what", "place", "example", "note"]


def _skipped_arks(frames: Frames) -> pd.DataFrame:
    """ARKs that were not requested, by NAAN where that is the reason, else by host."""
    rows = own(frames, frames.verdicts[["run_id", "naan", "request_url", "object"]])
    rows = rows[rows["object"].isin(list(_HELD_BACK))]
    is_example = rows["object"].eq(ObjectOutcome.SKIPPED)
    by_host = hosts_of(rows["request_url"])
    return _left_out_rows(
        rows["object"].astype("str"), "ARK", ("NAAN " + rows["naan"]).where(is_example, by_host), rows["request_url"]
    )


def _skipped_documents(frames: Frames) -> pd.DataFrame:
    rows = frames.documents[frames.documents["outcome"].isin(list(_HELD_BACK))]
    return _left_out_rows(rows["outcome"].astype("str"), "document", hosts_of(rows["url"]), rows["url"])


def _left_out_rows(reasons: pd.Series, what: str, places: pd.Series, examples: pd.Series) -> pd.DataFrame:
    notes = reasons.map({str(outcome): note for outcome, note in _HELD_BACK.items()})
    columns = {"reason": reasons, "what": what, "place": places, "example": examples, "note": notes}
    return pd.DataFrame(columns, columns=_LEFT_OUT).astype("str")


def _limits(frames: Frames) -> pd.DataFrame:
    """Documents that were not read to their end, answers that were cut, chains that were given up."""
    findings = frames.findings[frames.findings["kind"].isin(LIMITS)]
    limits = pd.DataFrame(
        {
            "reason": findings["kind"],
            "what": "document",
            "place": hosts_of(findings["subject"]),
            "example": findings["subject"],
            "note": "see findings.csv",
        },
        columns=_LEFT_OUT,
    )
    asked = own(frames, frames.observations[["run_id", *_OF_ANSWER]])
    cut = asked[~asked["body_complete"] & asked["status"].notna()]
    given_up = asked[asked["chain_end"].eq(ChainEnd.TOO_MANY_REDIRECTS)]
    parts = [limits]
    for rows, reason, note in (
        (cut, "body-limit", "the answer was read only in part"),
        (given_up, "redirect-limit", "more redirects than would be followed"),
    ):
        parts.append(
            pd.DataFrame(
                {
                    "reason": reason,
                    "what": "answer",
                    "place": hosts_of(rows["final_url"]),
                    "example": rows["asked_url"],
                    "note": note,
                },
                columns=_LEFT_OUT,
            )
        )
    return pd.concat([part.astype("str") for part in parts])


def _not_asked(frames: Frames) -> pd.DataFrame:
    """Questions that were not sent, since nothing is sent to a host that seems dead or wants to be left alone."""
    hops = own(frames, frames.hops[["run_id", "sent", "url"]])
    unsent = hops[~hops["sent"].fillna(True).astype(bool)]
    columns = {
        "reason": "not-asked",
        "what": "question",
        "place": hosts_of(unsent["url"]),
        "example": unsent["url"],
        "note": _NOT_ASKED,
    }
    return pd.DataFrame(columns, columns=_LEFT_OUT, index=unsent.index).astype("str")


def _refused_links(frames: Frames) -> pd.DataFrame:
    """Links that a crawl could have followed for ever, or was asked not to follow, by the host of their page."""
    findings = frames.findings
    rows = [
        (kind, "link", host(subject), said[1], WORDS[Rule(kind)], said[0])
        for kind, subject, detail in rows_of(findings[["kind", "subject", "detail"]])
        if (said := refused(kind, detail))
    ]
    return pd.DataFrame(rows, columns=[*_LEFT_OUT, "count"]).astype(
        dict.fromkeys(_LEFT_OUT, "str") | {"count": "int64"}
    )


HOSTS: Final = TableDefinition(
    "hosts",
    "What hosts were asked",
    "One row per host that anything was sent to: how many requests it got, redirects included, and what for; how it "
    "was treated, and how it answered.",
    hosts,
    (
        Column("host", TEXT, "host that was asked, with its port unless it is the default one"),
        Column(
            "requests",
            COUNT,
            "requests that went out to it, without robots.txt and certificate probes",
            "requests",
            varies=True,
        ),
        Column("documents", COUNT, "of these, for documents", "requests"),
        Column("objects", COUNT, "of these, for the objects of ARKs as cited", "requests", varies=True),
        Column("descriptions", COUNT, "of these, with ?info, ?? or ?", "requests", varies=True),
        Column(
            "controls",
            COUNT,
            "of these, for names that can't exist, and for other ways and spellings",
            "requests",
            varies=True,
        ),
        Column(
            "refused", COUNT, "answers that keep programs out: 401, 403, 407, 429, 451 or 999", "requests", varies=True
        ),
        Column("server_errors", COUNT, "answers from 500 to 599", "requests", varies=True),
        Column("no_answer", COUNT, "requests without an answer", "requests", varies=True),
        Column("pauses_asked", COUNT, "answers with Retry-After", "requests", varies=True),
        Column(
            "pauses_kept", COUNT, "how often requests to it were paused for as long as it asked", "pauses", varies=True
        ),
        Column("paused_s", NUMBER, "how long these pauses were in all, as asked", "seconds", varies=True),
        Column(
            "all_requests",
            COUNT,
            "all that went there, also for robots.txt and its certificate, and by a process that was killed",
            "requests",
            varies=True,
        ),
        Column("interval_s", NUMBER, "least time that was kept between two requests, back-off apart", "seconds"),
        Column(
            "crawl_delay_s", NUMBER, "interval that its robots.txt asks for; empty when it asks for none", "seconds"
        ),
        Column("given_up", TEXT, "why it was not asked any more; empty when it was", varies=True),
        Column("first_at", MOMENT, "moment of its first answer or failure", "UTC", varies=True),
        Column("last_at", MOMENT, "moment of its last one", "UTC", varies=True),
        Column("mean_s", NUMBER, "mean time from a request to its answer", "seconds", varies=True),
    ),
)

LEFT_OUT: Final = TableDefinition(
    "left_out",
    "What was left out, and why",
    "One row per reason and place: what was not requested, not followed, not read to its end, or given up.",
    left_out,
    (
        Column("reason", TOKEN, "why: an object outcome, the limit that was hit, or the rule that refused a link"),
        Column("what", TOKEN, "ARK, document, answer, question or link"),
        Column("place", TEXT, "NAAN or host; of a link, the host of its page"),
        Column("number", COUNT, "how many there are", "ARKs, documents, answers, questions or links"),
        Column("example", TEXT, "one of them"),
        Column("note", TEXT, "the reason in words"),
    ),
)
