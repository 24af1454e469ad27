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
    from crawler.registry_update import REGISTRY_URL, update

    named = source or REGISTRY_URL
    if is_folder(Path(named)):
        raise UserMistake(f"{named!r} is a folder, not a file of the registry")
    seeds = Seeds.parse([named])
    path = seeds.urls[0] if seeds.urls else seeds.files[0]
    try:
        done = update(path, cache_folder(), now=datetime.now(UTC), settings=config.settings())
    except NotARegistry as refused:
        if isinstance(path, Path):
            raise UserMistake(str(refused)) from None
        end(EXIT_UNFINISHED, f"{refused}; the copy in the cache is unchanged")
    naans = {entry.naan for entry in done.registry.entries if entry.naan}
    shoulders = sum(bool(entry.shoulder) for entry in done.registry.entries)
    faulty = sum(bool(entry.faults) for entry in done.registry.entries)
    news = "a new copy" if done.changed else "no change"
    counts = f"{len(naans)} NAANs, {shoulders} shoulders, {faulty} records with faults"
    say(f"{news} of {_known_from(done.registry)}: {counts}")
    say(f"the copy is at {done.path}")


def show(asked: str, form: str) -> None:
    """Print the registry's entry for *asked*, or exit with 1 if there is none. Raises `UserMistake`."""
    try:
        naan, name = naan_and_name(asked)
    except NotAnArk:
        raise UserMistake(f"{asked!r} is neither a NAAN nor an ARK") from None
    registry = load_registry()
    if registry.warning:
        say(registry.warning)
    row = _row(asked, naan, name, registry, now=datetime.now(UTC))
    if form == "json":
        write_jsonl([row], sys.stdout)
    elif row["recorded"]:
        table = Table(show_header=False, highlight=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for heading, text in _lines(row):
            table.add_row(heading, Text(escape_invisible(text)))
        print_table(table)
    if not row["recorded"]:
        advice = "; run arkaudit registry update to fetch the whole registry"
        more = "" if registry.is_whole else advice
        say(f"NAAN {naan} is not in {_known_from(registry)}{more}")
        sys.exit(EXIT_FINDING)


def _row(asked: str, naan: str, name: str, registry: Registry, *, now: datetime) -> dict[str, Any]:
    """Return the registry's data about a NAAN and name as JSON values."""
    ark = Ark.parse(f"ark:{naan}/{name}") if name else None
    recorded = registry.entry(ark or naan)
    entry = recorded or RegistryEntry(naan)
    shared = SHARED_NAANS.get(naan)
    as_of = registry.dated or registry.fetched_at
    return {
        "asked": asked,
        "recorded": recorded is not None,
        "naan": naan,
        "shoulder": entry.shoulder or None,
        "organization": entry.organization,
        "native_name": entry.native_name,
        "acronym": entry.acronym,
        "shared_for": shared.purpose if shared else None,
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
            "age_days": max(0, (now - as_of).days) if as_of else None,
        },
    }


def _lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headings and texts of known data."""
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
        by = f" ({target['status']})" if target["status"] else ""
        yield "resolves to", target["template"] + by
    if row["leads_to"]:
        yield "this ARK leads to", row["leads_to"]
    practices = [PRACTICES.get(practice, practice) for practice in policy["practices"]]
    if promised := [text for text in (*practices, policy["url"]) if text]:
        yield "policy", "; ".join(promised)
    if row["shoulders"]:
        yield "shoulders", f"{len(row['shoulders'])}: {', '.join(row['shoulders'])}"
    for fault in row["faults"]:
        yield "fault in the record", fault
    age = f", {registry['age_days']} days old" if registry["age_days"] is not None else ""
    checked = f", asked {registry['checked_at'][:10]}" if registry["checked_at"] else ""
    dated = f", of {registry['dated'][:10]}" if registry["dated"] else ""
    yield "known from", f"{registry['source']}{dated}{age}{checked}"


def _known_from(registry: Registry) -> str:
    return f"{registry.title} ({registry.source})" if registry.is_whole else registry.title
