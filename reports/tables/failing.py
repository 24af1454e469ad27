"""Find every ARK that was not reached as cited, and diagnose its cause with `reports.remediation.causes`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import itemgetter

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import Family, ObjectOutcome, Question
from crawler.verdicts.verdict import WAYS
from extractors.model.ark import Ark
from extractors.model.urls import authority_of
from reports.remediation.causes import Failure, diagnose, pattern
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import BEST_OBJECT, families, is_among, last_answers
from reports.tables.definitions import PAIR, hosts_of, in_order, map_distinct, map_parsed, records_of, rows_of
from reports.tables.listings import check_characters

#: The columns that group failures by cause. An ARK has one cause, so that the causes' numbers of ARKs add up.
_CAUSE_COLUMNS = ["cause", "fault", "host", "pattern", "rule"]
_DIAGNOSIS_COLUMNS = [*_CAUSE_COLUMNS, "should_be", "because"]
_VERDICT_COLUMNS = [
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
    """Return one row per ARK and URL that was not reached as cited, with the attributes of its `Diagnosis`; unsorted.

    The URL fails, gives no answer, or the object was reached in another way. All URLs of an ARK have one cause.
    """
    verdicts = _judged_verdicts(frames)
    failing = verdicts[~verdicts["family"].isin([Family.WORKS, Family.NOT_JUDGED]) | verdicts["way"].notna()]
    # An address that holds another one is that of an archive or a proxy.
    is_inner = verdicts["request_url"].str.count("://").gt(1)
    working = verdicts[verdicts["family"].eq(Family.WORKS) & verdicts["way"].isna() & ~is_inner]
    working = in_order(working[["ark", "naan", "request_url"]], "ark", "request_url")
    evidence = _with_evidence(frames, verdicts, failing, working)
    evidence = evidence.rename(columns={"object": "outcome", "last_status": "status"})
    failures = records_of(evidence[[field.name for field in fields(Failure)]])
    diagnoses = [diagnose(Failure(**failure)) for failure in failures]
    columns = {name: [getattr(diagnosis, name) for diagnosis in diagnoses] for name in _DIAGNOSIS_COLUMNS}
    causes = pd.DataFrame(columns, index=failing.index).astype("str")
    rows = pd.concat([failing[_VERDICT_COLUMNS], causes], axis="columns").reset_index(drop=True)
    return rows.drop(columns=_CAUSE_COLUMNS).merge(_main_causes(rows), on="ark_id", how="left")[list(rows.columns)]


def _main_causes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per ARK with the cause to show at all its URLs: that at the URL with the best outcome."""
    ranked_rows = in_order(rows.astype({"object": BEST_OBJECT}), "object", "request_url")
    return ranked_rows.drop_duplicates("ark_id")[["ark_id", *_CAUSE_COLUMNS]]


def _judged_verdicts(frames: Frames) -> pd.DataFrame:
    """Return the verdicts with the end of the chain (`last_url`, `last_status`) and the other way to the object.

    `way` is a value of `WAYS` or missing. `has_lasted`: enough checks over time failed to exclude an outage.
    """
    answers = last_answers(frames, [Question.OBJECT, *WAYS]).astype({"question": "str"})
    chain_ends = answers.loc[answers["question"].eq(Question.OBJECT), [*PAIR, "final_url", "status"]]
    chain_ends = chain_ends.rename(columns={"final_url": "last_url", "status": "last_status"})
    ways = answers[[*PAIR, "question", "asked_url"]].rename(columns={"question": "way", "asked_url": "way_url"})
    last_good = frames.last_good.rename(columns={"good_url": "last_good_url", "good_at": "last_good_at"})
    rows = frames.verdicts[[*PAIR, "ark", "naan", "object", "object_evidence"]]
    rows = rows.assign(
        family=families(rows["object"]),
        way=map_distinct(frames.verdicts["remarks"], _way),
        meant=map_parsed(frames.verdicts["did_you_mean"], itemgetter("ark")),
    )
    rows = rows.merge(chain_ends, on=PAIR, how="left").merge(ways, on=[*PAIR, "way"], how="left")
    rows = rows.merge(frames.latest[[*PAIR, "state"]], on=PAIR, how="left")
    rows = rows.merge(check_characters(frames), on="ark_id", how="left").merge(last_good, on="ark_id", how="left")
    return rows.assign(
        last_url=rows["last_url"].fillna(rows["request_url"]),
        has_lasted=rows["state"].eq(ArkState.CONFIRMED_BROKEN).fillna(False) | is_among(rows, _lasting_detours(frames)),
    )


def _lasting_detours(frames: Frames) -> pd.DataFrame:
    """Return the ARKs and URLs whose outcome was ``works-elsewhere`` for as many checks and days as confirm a failure.

    The result is empty if *frames* has no timeline, as for a run that another is compared with.
    """
    timeline = frames.timeline
    checks = timeline.checks
    is_elsewhere = checks["object"].eq(ObjectOutcome.WORKS_ELSEWHERE)
    works_here = families(checks["object"]).eq(Family.WORKS) & ~is_elsewhere
    spells = works_here.groupby(checks["pair"]).cumsum()
    last_detours = checks[is_elsewhere & spells.eq(spells.groupby(checks["pair"]).transform("max"))]
    spans = last_detours.groupby("pair")["started_at"].agg(["size", "min", "max"])
    policy = timeline.policy
    has_lasted = spans["size"].ge(policy.strikes) & (spans["max"] - spans["min"]).ge(pd.Timedelta(days=policy.days))
    lasting_pairs = spans.index[has_lasted]
    return frames.latest.loc[frames.latest["latest_id"].isin(lasting_pairs) if len(lasting_pairs) else [], PAIR]


def _way(remarks: str) -> str | None:
    """Return the question in `WAYS` whose remark is among the *remarks* of a verdict, or None."""
    # A remark may contain the separator.
    joined = f"{JOINT}{remarks}{JOINT}"
    return next((way.value for way, (_, remark) in WAYS.items() if f"{JOINT}{remark}{JOINT}" in joined), None)


def _with_evidence(
    frames: Frames, verdicts: pd.DataFrame, failing: pd.DataFrame, working: pd.DataFrame
) -> pd.DataFrame:
    """Return the *failing* rows with the evidence of other ARKs, in columns named like the fields of `Failure`.

    *verdicts* are all verdicts of the run, and *working* those that work as cited.
    """
    url_by_ark = dict(rows_of(working[["ark", "request_url"]]))
    works, sorted_arks = url_by_ark.__contains__, sorted(url_by_ark)
    answered_urls = frames.hops.loc[frames.hops["status"].lt(500).fillna(False), "url"]
    working_naans = set(zip(hosts_of(working["request_url"]), working["naan"], strict=True))

    is_redirected = hosts_of(verdicts["request_url"]).ne(hosts_of(verdicts["last_url"]))
    redirected = verdicts.loc[is_redirected, ["ark", "last_url", "family"]]
    failing_patterns = _patterns(redirected[redirected["family"].eq(Family.FAILS)])
    working_redirects = redirected[redirected["family"].eq(Family.WORKS)]
    pattern_hosts = {authority_of(address) for address in failing_patterns.unique()}
    # Unless a pattern has a wildcard in its host, only addresses at these hosts can match.
    if not any("{name}" in host for host in pattern_hosts):
        working_redirects = working_redirects[hosts_of(working_redirects["last_url"]).isin(pattern_hosts)]

    # Suggestions of check characters, and targets of earlier runs, as far as they worked in this audit.
    suggestions = failing["suggestions"].dropna().str.split(JOINT).explode()
    is_good, last_good_urls = verdicts["family"].eq(Family.WORKS), failing["last_good_url"]
    working_urls = pd.concat([verdicts.loc[is_good, "last_url"], verdicts.loc[is_good, "request_url"]])
    has_moved = last_good_urls.isin(working_urls[working_urls.isin(last_good_urls.dropna())]) & ~last_good_urls.isin(
        failing["last_url"]
    )

    arks = {ark: Ark.parse(ark) for ark in failing["ark"].unique()}
    host_naan_pairs = zip(hosts_of(failing["request_url"]), failing["naan"], strict=True)
    return failing.assign(
        works_at=map_distinct(failing["ark"], url_by_ark.get),
        longer=map_distinct(failing["ark"], lambda ark: _longer_ark(ark, sorted_arks)),
        shorter=map_distinct(failing["ark"], lambda ark: next(filter(works, _beginnings(arks[ark])), None)),
        whole=map_distinct(failing["ark"], lambda ark: next(filter(works, map(str, arks[ark].implied_arks)), None)),
        host_answers=hosts_of(failing["last_url"]).isin(hosts_of(answered_urls).unique()),
        naan_known=[pair in working_naans for pair in host_naan_pairs],
        pattern_works=failing_patterns.isin(_patterns(working_redirects).unique()),
        pattern_count=failing_patterns.map(dict(failing_patterns.value_counts())).astype("Int64"),
        suggestion=suggestions[suggestions.isin(url_by_ark)].groupby(level=0).first(),
        living_url=last_good_urls.where(has_moved),
    )


def _beginnings(ark: Ark) -> Iterator[str]:
    """Yield the ARKs whose name is a beginning of the name of *ark*, the longest first."""
    return (f"ark:{ark.naan}/{ark.name[:length]}" for length in range(len(ark.name) - 1, 0, -1))


def _longer_ark(ark: str, sorted_arks: Sequence[str]) -> str | None:
    """Return the one of *sorted_arks* that is *ark* with more characters of the name, not with a qualifier.

    None if there is no such ARK, or more than one.
    """
    longer_arks: list[str] = []
    for index in range(bisect_left(sorted_arks, ark), len(sorted_arks)):
        candidate = sorted_arks[index]
        if not candidate.startswith(ark) or len(longer_arks) > 1:
            break
        if candidate != ark and candidate[len(ark)] not in "/.":
            longer_arks.append(candidate)
    return longer_arks[0] if len(longer_arks) == 1 else None


def _patterns(redirected: pd.DataFrame) -> pd.Series:
    """Return the `pattern` of the last URL of each row."""
    patterns = [pattern(url, ark) for ark, url in rows_of(redirected[["ark", "last_url"]])]
    return pd.Series(patterns, index=redirected.index, dtype="str")
