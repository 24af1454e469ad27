"""Update the copy of the NAAN registry, and show its entries."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from arkaudit.configuration.config import Config
from arkaudit.output.exits import EXIT_FINDING, end, say
from arkaudit.output.output_rows import print_table, write_jsonl
from crawler.model.registry import cache_folder, load_registry
from crawler.spiders.seeds import Seeds
from extractors.model.ark import Ark
from extractors.model.errors import EXIT_UNFINISHED, UserMistake
from extractors.model.files import is_folder
from extractors.model.naan import SHARED_NAANS, NotARegistry, Registry, RegistryEntry, naan_and_name
from extractors.model.normalize import NotAnArk
from reports.languages.display import escape_invisible
from reports.tables.wording import PRACTICES

_ORGANIZATIONS = {"NP": "not for profit", "FP": "for profit"}


def update_copy(source: str | None, config: Config) -> None:
    """Update the copy in the user's cache from *source*, by default the public registry, and print the result.

    Exits with 3 if the URL has no usable registry. Raises `UserMistake` for an unusable file or cache.
    """
    from arkaudit.features.registry.updates import REGISTRY_URL, update

    location = source or REGISTRY_URL
    if is_folder(Path(location)):
        raise UserMistake(f"{location!r} is a folder, not a file of the registry")
    seeds = Seeds.parse([location])
    registry_place = seeds.urls[0] if seeds.urls else seeds.files[0]
    try:
        update_result = update(registry_place, cache_folder(), now=datetime.now(UTC), settings=config.settings())
    except NotARegistry as problem:
        if isinstance(registry_place, Path):
            raise UserMistake(str(problem)) from None
        end(EXIT_UNFINISHED, f"{problem}; the copy in the cache is unchanged")
    naans = {entry.naan for entry in update_result.registry.entries if entry.naan}
    shoulder_count = sum(bool(entry.shoulder) for entry in update_result.registry.entries)
    faulty_count = sum(bool(entry.faults) for entry in update_result.registry.entries)
    result_words = "a new copy" if update_result.changed else "no change"
    count_words = f"{len(naans)} NAANs, {shoulder_count} shoulders, {faulty_count} records with faults"
    say(f"{result_words} of {_registry_description(update_result.registry)}: {count_words}")
    say(f"the copy is at {update_result.path}")


def show(query: str, output_format: str) -> None:
    """Print the registry's entry for *query*, a NAAN, a NAAN with a shoulder, or an ARK, as ``table`` or ``json``.

    Exits with 1 if there is none. Raises `UserMistake` for another text.
    """
    try:
        naan, name = naan_and_name(query)
    except NotAnArk:
        raise UserMistake(f"{query!r} is neither a NAAN nor an ARK") from None
    registry = load_registry()
    if registry.warning:
        say(registry.warning)
    row = _row(query, naan, name, registry, now=datetime.now(UTC))
    if output_format == "json":
        write_jsonl([row], sys.stdout)
    elif row["recorded"]:
        table = Table(show_header=False, highlight=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for heading, text in _lines(row):
            table.add_row(heading, Text(escape_invisible(text)))
        print_table(table)
    if not row["recorded"]:
        advice = "" if registry.is_whole else "; run arkaudit registry update to fetch the whole registry"
        say(f"NAAN {naan} is not in {_registry_description(registry)}{advice}")
        sys.exit(EXIT_FINDING)


def _row(query: str, naan: str, name: str, registry: Registry, *, now: datetime) -> dict[str, Any]:
    """Return the registry's entry for *naan*, or for the shoulder of *name*, as JSON values."""
    ark = Ark.parse(f"ark:{naan}/{name}") if name else None
    recorded_entry = registry.entry(ark or naan)
    entry = recorded_entry or RegistryEntry(naan)
    shared_naan = SHARED_NAANS.get(naan)
    copy_time = registry.dated or registry.fetched_at
    return {
        "asked": query,
        "recorded": recorded_entry is not None,
        "naan": naan,
        "shoulder": entry.shoulder or None,
        "organization": entry.organization,
        "native_name": entry.native_name,
        "acronym": entry.acronym,
        "shared_for": shared_naan.purpose if shared_naan else None,
        "since": entry.since.isoformat() if entry.since else None,
        "where": entry.where,
        "targets": [
            {"template": record.template, "status": record.status, "fault": record.fault} for record in entry.targets
        ],
        "leads_to": registry.target(ark) if ark and not registry.is_shoulder(ark) else None,
        "policy": asdict(entry.policy),
        "test_ark": entry.test_ark,
        "shoulders": [] if entry.shoulder else [record.shoulder for record in registry.shoulders(naan)],
        "faults": list(entry.faults),
        "registry": {
            "source": registry.source,
            "dated": registry.dated.isoformat() if registry.dated else None,
            "checked_at": registry.fetched_at.isoformat(timespec="seconds") if registry.fetched_at else None,
            "age_days": max(0, (now - copy_time).days) if copy_time else None,
        },
    }


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield headings and texts of a table from the result of `_row`, without missing values."""
    policy, registry = row["policy"], row["registry"]
    yield "NAAN", row["naan"]
    if row["shoulder"]:
        yield "shoulder", row["shoulder"]
    names = [row["organization"], row["native_name"], row["acronym"], _ORGANIZATIONS.get(policy["org_type"])]
    yield "organization", "; ".join(name for name in names if name) or "not recorded"
    for heading, key in (("shared NAAN, for", "shared_for"), ("since", "since"), ("address", "where")):
        if row[key]:
            yield heading, row[key]
    for target in row["targets"]:
        status_words = f" ({target['status']})" if target["status"] else ""
        yield "resolves to", target["template"] + status_words
    if row["leads_to"]:
        yield "this ARK leads to", row["leads_to"]
    practices = [PRACTICES.get(practice, practice) for practice in policy["practices"]]
    if policy_texts := [text for text in (*practices, policy["url"]) if text]:
        yield "policy", "; ".join(policy_texts)
    if row["shoulders"]:
        yield "shoulders", f"{len(row['shoulders'])}: {', '.join(row['shoulders'])}"
    for fault in row["faults"]:
        yield "fault in the record", fault
    age_words = f", {registry['age_days']} days old" if registry["age_days"] is not None else ""
    check_words = f", asked {registry['checked_at'][:10]}" if registry["checked_at"] else ""
    date_words = f", of {registry['dated'][:10]}" if registry["dated"] else ""
    yield "known from", f"{registry['source']}{date_words}{age_words}{check_words}"


def _registry_description(registry: Registry) -> str:
    return f"{registry.title} ({registry.source})" if registry.is_whole else registry.title
