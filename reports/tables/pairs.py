"""The table of ARKs that belong together: duplicates, and whole objects with their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pandas as pd

from crawler.model.observations import Family
from extractors.model.ark import Ark
from extractors.model.normalize import Profile
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import FAMILY_COLUMNS, ark_statuses, families
from reports.tables.definitions import (
    TableDefinition,
    bases_of,
    count_column,
    in_order,
    rows_of,
    text_column,
    token_column,
    truth_column,
)

#: The kind of a group, the value that its members share, and the members.
Group: TypeAlias = tuple[str, str, list[str]]

#: Number of ARKs or URLs named in a row; the other tables list all.
MOST_NAMED = 10
_PROFILES = {Profile.DRAFT_2005: "the draft of 2005", Profile.SCHEME_2020: "the URI scheme of 2020"}


def groups(frames: Frames) -> pd.DataFrame:
    """Return one row per group; whole objects that fail come first, then the largest groups."""
    arks = ark_statuses(frames)["ark"]
    candidates = arks[arks.str.contains(MAY_BE_EQUAL, regex=True)]
    pairs = [*_unequal(frames), *equal_elsewhere(candidates)]
    named = [dict(zip(("kind", "shared", "members"), pair, strict=True)) for pair in pairs]
    names = [column.name for column in GROUPS.columns]
    table = pd.DataFrame([*named, *_wholes(frames)], columns=[*names, "is_amiss"]).astype(
        {"members": "object", "is_amiss": "boolean"}
    )
    table = table.fillna({"is_amiss": False}).assign(
        size=table["members"].map(len), members=table["members"].map(lambda members: JOINT.join(members[:MOST_NAMED]))
    )
    return in_order(table, "kind", "-is_amiss", "-size", "shared")


def _unequal(frames: Frames) -> Iterator[Group]:
    """Yield the objects to which several ARKs were redirected, and the ARKs that led to several objects."""
    works = families(frames.verdicts["object"]).eq(Family.WORKS)
    is_landed = works & frames.verdicts["final_url"].notna() & frames.verdicts["hop_count"].gt(0)
    landed = frames.verdicts.loc[is_landed, ["ark", "final_url"]].drop_duplicates()
    by_base = landed[["final_url"]].assign(base=bases_of(landed["ark"])).drop_duplicates()
    shared = by_base[by_base["final_url"].duplicated(keep=False)]
    for url, bases in shared.groupby("final_url")["base"]:
        yield "one-object", str(url), sorted(bases)
    split = landed[landed["ark"].duplicated(keep=False)]
    for ark, urls in split.groupby("ark")["final_url"]:
        places = {url.partition("://")[2].removeprefix("www."): url for url in sorted(urls)}
        if len(places) > 1:
            yield "two-objects", str(ark), sorted(places.values())


#: Characters that occur in every ARK that another specification may treat as equal to a second one.
MAY_BE_EQUAL = "[.%#~]"


def equal_elsewhere(arks: Iterable[str]) -> Iterator[Group]:
    """Yield groups of *arks*, in normal form, that an older or newer specification treats as one: kind, form, members."""
    candidates = [Ark.parse(ark) for ark in arks]
    for profile, title in _PROFILES.items():
        forms: dict[str, set[str]] = {}
        for ark in candidates:
            form = ark.form_under(profile)
            if form is not None:
                forms.setdefault(form, set()).add(str(ark))
        for form, members in forms.items():
            if len(members) > 1:
                yield f"equal in {title}", form, sorted(members)


def _wholes(frames: Frames) -> Iterator[dict[str, Any]]:
    """Yield every whole object with parts that are cited or judged."""
    ark_states = ark_statuses(frames)
    family = dict(rows_of(ark_states[["ark", "family"]]))
    outcome = dict(rows_of(ark_states[["ark", "object"]]))
    parts: dict[str, list[str]] = {}
    for ark in ark_states["ark"][ark_states["ark"].str.count("/|[.]") > 1]:
        for whole in Ark.parse(ark).implied_arks:
            parts.setdefault(str(whole), []).append(ark)
    for form, members in parts.items():
        counts = Counter(family[member] for member in members)
        yield {
            "kind": "whole",
            "shared": form,
            "members": sorted(members),
            "object": outcome.get(form),
            "is_cited": form in family,
            "is_amiss": family.get(form) == Family.FAILS,
            **{column: counts[family_] for family_, column in FAMILY_COLUMNS.items()},
        }


GROUPS = TableDefinition(
    "groups",
    "ARKs that belong together",
    "One row per group. Several ARKs that end at one URL may be one object, or share a page; one ARK that "
    "ends at several URLs may be two objects, or one with two addresses. These are not errors by themselves. "
    "A whole is an ARK with cited parts or variants: the form of a part implies that the whole exists "
    "(draft-kunze-ark-38, 2.5). Wholes that fail come first.",
    groups,
    (
        token_column(
            "kind",
            "one-object (several ARKs end there), two-objects (it ends at several URLs), equal in a text, or whole",
        ),
        text_column(
            "shared", "final URL of several ARKs, ARK with several final URLs, form that ARKs share, or ARK of a whole"
        ),
        count_column("size", "number of ARKs or URLs", "ARKs or URLs"),
        text_column("members", "the ARKs or URLs; 10 at most"),
        token_column("object", "best outcome of the object service; empty if not requested"),
        truth_column("is_cited", "true if the whole itself is cited or was requested"),
        count_column("works", "parts that work", "ARKs"),
        count_column("fails", "parts that fail", "ARKs"),
        count_column("unreachable", "parts whose server gave no answer today", "ARKs"),
        count_column("not_judged", "parts that were not judged", "ARKs"),
    ),
)
