"""Find every ARK that was not reached as cited, and diagnose its cause with `reports.remediation.causes`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import lru_cache

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import Family, ObjectOutcome, Question
from crawler.verdicts.verdict import WAYS
from extractors.model.ark import Ark
from extractors.model.urls import authority_of
from reports.remediation.causes import Failure, diagnose, pattern
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import BEST_OBJECT, ark_statuses, families, is_among, last_answers
from reports.tables.definitions import PAIR, hosts_of, in_order, map_distinct, records_of, rows_of
from reports.tables.listings import check_characters

#: What groups failures by cause; an ARK has one cause, so that the causes' numbers of ARKs add up.
_OF_CAUSE = ["cause", "fault", "host", "pattern", "rule"]
_OF_DIAGNOSIS = [*_OF_CAUSE, "should_be", "because"]
_KNOWN = [
    "ark_id",
    "ark",
    "naan",
    "request_url",
    "last_url",
    "object",
    "family",
    "object_evidence",
    "last_good_url",
    "last_good_at",
]


@lru_cache(maxsize=2)
def diagnosed_failures(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that fails or gives no answer, and per ARK reached in another way, with its `Diagnosis`.

    All URLs of an ARK have one cause. The rows are unsorted.
    """
    judged = _judged_verdicts(frames)
    failing = judged[~judged["family"].isin([Family.WORKS, Family.NOT_JUDGED]) | judged["way"].notna()]
    # An address that holds another one is that of an archive or a proxy.
    is_inner = judged["request_url"].str.count("://").gt(1)
    fine = judged[judged["family"].eq(Family.WORKS) & judged["way"].isna() & ~is_inner]
    fine = in_order(fine[["ark", "naan", "request_url"]], "ark", "request_url")
    of_failure = _with_evidence(frames, judged, failing, fine)
    of_failure = of_failure.rename(columns={"object": "outcome", "last_status": "status"})
    failures = records_of(of_failure[[field.name for field in fields(Failure)]])
    diagnoses = [diagnose(Failure(**failure)) for failure in failures]
    columns = {name: [getattr(diagnosis, name) for diagnosis in diagnoses] for name in _OF_DIAGNOSIS}
    causes = pd.DataFrame(columns, index=failing.index).astype("str")
    rows = pd.concat([failing[_KNOWN], causes], axis="columns").reset_index(drop=True)
    return rows.drop(columns=_OF_CAUSE).merge(_main_causes(rows), on="ark_id", how="left")[list(rows.columns)]


def _main_causes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per ARK with the cause at the URL of its best outcome, which counts for all its URLs."""
    ranked = in_order(rows.astype({"object": BEST_OBJECT}), "object", "request_url")
    return ranked.drop_duplicates("ark_id")[["ark_id", *_OF_CAUSE]]


def former_causes(frames: Frames) -> pd.DataFrame:
    """Return the cause of each failure of a run, for `load_frames`; nothing of the run is kept."""
    causes = diagnosed_failures(frames)[[*PAIR, "cause"]]
    for function in (diagnosed_failures, check_characters, ark_statuses):
        function.cache_clear()
    return causes


def _judged_verdicts(frames: Frames) -> pd.DataFrame:
    """Return the verdicts with the end of the object's chain and the way that reached the object."""
    answers = last_answers(frames, [Question.OBJECT, *WAYS]).astype({"question": "str"})
    chain = answers.loc[answers["question"].eq(Question.OBJECT), [*PAIR, "final_url", "status"]]
    chain = chain.rename(columns={"final_url": "last_url", "status": "last_status"})
    ways = answers[[*PAIR, "question", "asked_url"]].rename(columns={"question": "way", "asked_url": "way_url"})
    good = frames.last_good.rename(columns={"good_url": "last_good_url", "good_at": "last_good_at"})
    rows = frames.verdicts[[*PAIR, "ark", "naan", "object", "object_evidence"]]
    rows = rows.assign(family=families(rows["object"]), way=map_distinct(frames.verdicts["remarks"], _way))
    rows = rows.merge(chain, on=PAIR, how="left").merge(ways, on=[*PAIR, "way"], how="left")
    rows = rows.merge(frames.latest[[*PAIR, "state"]], on=PAIR, how="left")
    rows = rows.merge(check_characters(frames), on="ark_id", how="left").merge(good, on="ark_id", how="left")
    return rows.assign(
        last_url=rows["last_url"].fillna(rows["request_url"]),
        has_lasted=rows["state"].eq(ArkState.CONFIRMED_BROKEN).fillna(False) | is_among(rows, _lasting_detours(frames)),
    )


def _lasting_detours(frames: Frames) -> pd.DataFrame:
    """Return the ARKs and URLs that worked only elsewhere over as many checks and days as confirm a failure.

    A run that another is compared with has no timeline, and so none of them.
    """
    timeline = frames.timeline
    checks = timeline.checks
    is_elsewhere = checks["object"].eq(ObjectOutcome.WORKS_ELSEWHERE)
    works_here = families(checks["object"]).eq(Family.WORKS) & ~is_elsewhere
    spell = works_here.groupby(checks["pair"]).cumsum()
    last = checks[is_elsewhere & spell.eq(spell.groupby(checks["pair"]).transform("max"))]
    spans = last.groupby("pair")["started_at"].agg(["size", "min", "max"])
    policy = timeline.policy
    has_lasted = spans["size"].ge(policy.strikes) & (spans["max"] - spans["min"]).ge(pd.Timedelta(days=policy.days))
    lasting = spans.index[has_lasted]
    return frames.latest.loc[frames.latest["latest_id"].isin(lasting) if len(lasting) else [], PAIR]


def _way(remarks: str) -> str | None:
    """Return the other way that reached the object, from the remarks of the verdict, or None."""
    # A remark may contain the separator.
    joined = f"{JOINT}{remarks}{JOINT}"
    return next((way.value for way, (_, remark) in WAYS.items() if f"{JOINT}{remark}{JOINT}" in joined), None)


def _with_evidence(frames: Frames, judged: pd.DataFrame, failing: pd.DataFrame, fine: pd.DataFrame) -> pd.DataFrame:
    """Return the *failing* rows with the evidence that other ARKs of the run give, in the fields of `Failure`."""
    working = dict(rows_of(fine[["ark", "request_url"]]))
    is_working, sorted_arks = working.__contains__, sorted(working)
    answered = frames.hops.loc[frames.hops["status"].lt(500).fillna(False), "url"]
    known_naans = set(zip(hosts_of(fine["request_url"]), fine["naan"], strict=True))

    is_led_on = hosts_of(judged["request_url"]).ne(hosts_of(judged["last_url"]))
    led_on = judged.loc[is_led_on, ["ark", "last_url", "family"]]
    led_to = _patterns(led_on[led_on["family"].eq(Family.FAILS)])
    led_well = led_on[led_on["family"].eq(Family.WORKS)]
    places = {authority_of(address) for address in led_to.unique()}
    # Unless a pattern has a wildcard in its host, only addresses at these hosts can match.
    if not any("{name}" in host for host in places):
        led_well = led_well[hosts_of(led_well["last_url"]).isin(places)]

    # Suggestions of check characters and earlier runs, as far as they worked in this audit.
    suggestions = failing["suggestions"].dropna().str.split(JOINT).explode()
    meant = {proposal["ark"] for proposal in frames.verdicts["did_you_mean"] if isinstance(proposal, dict)}
    works, earlier = judged["family"].eq(Family.WORKS), failing["last_good_url"]
    ended = pd.concat([judged.loc[works, "last_url"], judged.loc[works, "request_url"]])
    has_moved = earlier.isin(ended[ended.isin(earlier.dropna())]) & ~earlier.isin(failing["last_url"])

    arks = {ark: Ark.parse(ark) for ark in failing["ark"].unique()}
    asked = zip(hosts_of(failing["request_url"]), failing["naan"], strict=True)
    return failing.assign(
        works_at=map_distinct(failing["ark"], working.get),
        longer=map_distinct(failing["ark"], lambda ark: _longer(ark, sorted_arks)),
        shorter=map_distinct(failing["ark"], lambda ark: next(filter(is_working, _beginnings(arks[ark])), None)),
        whole=map_distinct(
            failing["ark"], lambda ark: next(filter(is_working, map(str, arks[ark].implied_arks)), None)
        ),
        host_answers=hosts_of(failing["last_url"]).isin(hosts_of(answered).unique()),
        naan_known=[pair in known_naans for pair in asked],
        pattern_works=led_to.isin(_patterns(led_well).unique()),
        pattern_count=led_to.map(dict(led_to.value_counts())).astype("Int64"),
        suggestion=suggestions[suggestions.isin({*working, *meant}.intersection(suggestions))].groupby(level=0).first(),
        living_url=earlier.where(has_moved),
    )


def _beginnings(ark: Ark) -> Iterator[str]:
    """Yield the ARKs whose name is a beginning of the name of *ark*, the longest first."""
    return (f"ark:{ark.naan}/{ark.name[:length]}" for length in range(len(ark.name) - 1, 0, -1))


def _longer(ark: str, sorted_arks: Sequence[str]) -> str | None:
    """Return the one working ARK that continues *ark* inside its name, or None if there are several."""
    longer: list[str] = []
    for index in range(bisect_left(sorted_arks, ark), len(sorted_arks)):
        candidate = sorted_arks[index]
        if not candidate.startswith(ark) or len(longer) > 1:
            break
        if candidate != ark and candidate[len(ark)] not in "/.":
            longer.append(candidate)
    return longer[0] if len(longer) == 1 else None


def _patterns(led_on: pd.DataFrame) -> pd.Series:
    """Return the pattern of each address to which ARKs were redirected."""
    patterns = [pattern(url, ark) for ark, url in rows_of(led_on[["ark", "last_url"]])]
    return pd.Series(patterns, index=led_on.index, dtype="str")
