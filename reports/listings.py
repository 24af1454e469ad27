"""The tables that list: one row an ARK and URL, a citation, a finding, a request. They trace every count."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import pandas as pd

from crawler.observations import Family
from extractors.ark import Ark
from extractors.checkchar import CheckCharacter, Zones
from extractors.suggestions import suggestions
from extractors.wraps.shapes import Shapes
from reports.ark_statuses import ark_statuses, cited_urls
from reports.columns import JOINT, joined
from reports.frames import Frames
from reports.wording import naan_policy_words

#: Who needs attention comes first.
ATTENTION: Final = (Family.FAILS, Family.UNREACHABLE, Family.NOT_JUDGED, Family.WORKS)


_ARKS: Final = [
    *("ark", "naan", "request_url", "object", "family", "state", "since", "judged_at", "metadata", "commitment"),
    *("permanence", "guarantor", "naan_policy", "final_url", "hop_count", "request_count", "rests_on", "citations"),
    *("documents", "first_document", "check", "suggestions", "did_you_mean"),
    *("object_evidence", "metadata_evidence", "commitment_evidence", "remarks"),
]
_CITATIONS: Final = [
    *("document", "citation", "page", "place", "role", "as_written", "ark", "repaired", "repairs", "confidence"),
    *("reason", "alternatives", "spelling", "request_url", "object"),
]
_FINDINGS: Final = ["subject", "kind", "detail"]
_REQUESTS: Final = [
    *("ark", "request_url", "question", "attempt", "hop"),
    *("url", "status", "location", "error", "at", "elapsed_s"),
]


def arks(frames: Frames) -> pd.DataFrame:
    """One row an ARK and URL that was cited or asked; ordered fails, unreachable, not judged, works.

    Inside these by the number of citations, the greatest first, then by ARK and URL.
    """
    standing = frames.latest[["ark_id", "request_url", "state", "since"]]
    rows = cited_urls(frames).merge(standing, on=["ark_id", "request_url"], how="left")
    promises = rows["commitment_parsed"]
    checks = checks_of(frames)
    rows = rows.assign(
        check=rows["ark"].map(lambda ark: checks[ark][0]).astype("str"),
        suggestions=rows["ark"].map(lambda ark: checks[ark][1]).astype("str"),
        permanence=promises.map(_permanence).astype("str"),
        guarantor=promises.map(_guarantor).astype("str"),
        naan_policy=rows["naan_policy"].map(_naan_policy).astype("str"),
        did_you_mean=rows["did_you_mean"].map(_meant).astype("str"),
        attention=rows["family"].map(ATTENTION.index).astype("Int64"),
    )
    order = {"attention": True, "citations": False, "ark": True, "request_url": True}
    return rows.sort_values(list(order), ascending=list(order.values()), ignore_index=True)[_ARKS]


def citations(frames: Frames) -> pd.DataFrame:
    """One row a mention; ordered by document, then as they stand in it."""
    outcomes = frames.verdicts[["ark_id", "request_url", "object"]]
    rows = frames.mentions.merge(outcomes, on=["ark_id", "request_url"], how="left")
    rows = rows.rename(columns={"remarks": "spelling"})
    return rows.sort_values(["document", "ordinal"], ignore_index=True)[_CITATIONS]


def findings(frames: Frames) -> pd.DataFrame:
    """One row a finding; ordered by subject, kind and detail."""
    return frames.findings[_FINDINGS].sort_values(_FINDINGS, ignore_index=True)


def requests(frames: Frames) -> pd.DataFrame:
    """One row a hop of a question about an ARK; ordered by ARK, URL, question, attempt and hop."""
    rows = frames.hops.rename(columns={"ordinal": "hop"})[_REQUESTS]
    return rows.sort_values(["ark", "request_url", "question", "attempt", "hop"], ignore_index=True)


@lru_cache(maxsize=2)
def checks_of(frames: Frames) -> Mapping[str, tuple[str, str]]:
    """Return what the check character of each ARK says in the light of all of them, and what may have been meant."""
    parsed = {form: Ark.parse(form) for form in sorted(ark_statuses(frames)["ark"])}
    zones = Zones.of(parsed.values())
    checks = {form: zones.check(ark) for form, ark in parsed.items()}
    shapes = Shapes.learned(parsed.values()) if CheckCharacter.FAILS in checks.values() else Shapes()

    def meant_by(form: str) -> str:
        found = suggestions(parsed[form], zones=zones, fits=shapes.allows, is_seen=parsed.__contains__)
        return JOINT.join(str(suggestion.ark) for suggestion in found)

    return {
        form: (check.value, meant_by(form) if check is CheckCharacter.FAILS else "") for form, check in checks.items()
    }


def _permanence(promise: Any) -> str | None:
    """Return what a parsed commitment says of permanence: that field, or the *what* of an erc-support."""
    return _said(promise, "permanence", "what")


def _guarantor(promise: Any) -> str | None:
    """Return who makes a parsed commitment."""
    return _said(promise, "guarantor", "who")


def _naan_policy(policy: Any) -> str | None:
    return naan_policy_words(policy) if isinstance(policy, Mapping) and policy else None


def _meant(meant: Any) -> str | None:
    """The ARK that was probably meant."""
    return meant["ark"] if isinstance(meant, Mapping) else None


def _said(promise: Any, *names: str) -> str | None:
    if not isinstance(promise, Mapping):
        return None
    fields = {str(name).lower(): value for name, value in promise.items()}
    return next((joined(fields[name]) for name in names if fields.get(name)), None)
