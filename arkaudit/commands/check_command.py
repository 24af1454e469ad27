"""The command `check`."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import (
    GroupedCommand,
    config_of,
    dry_run_option,
    fail_on_option,
    lines_of,
    repeatable,
    request_options,
    resume_option,
    setting_options,
    store_file_option,
    verdict_format_option,
)
from arkaudit.hooks import ArkSource, plugins
from arkaudit.output.exits import after_check, also_in, check_total, end_interrupted, exit_on, print_ending, say
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from arkaudit.audits.checking import CheckResult
    from arkaudit.configuration.config import Config
    from crawler.history.rechecking import ArkSelection


@click.command(cls=GroupedCommand)
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    metavar="FILE|LOG|…",
    help="Read ARKs from a file (one per line), an access log (log:FILE) or documents that were read before.",
)
@setting_options("inventory")
@verdict_format_option
@dry_run_option
@store_file_option(help="Keep every request and answer in this file.")
@resume_option
@repeatable("--naan", "chosen_naans", metavar="NAAN", help="With --inventory: only ARKs under this NAAN. Repeatable.")
@repeatable("--prefix", "prefixes", metavar="ARK", help="With --inventory: only ARKs that begin so. Repeatable.")
@fail_on_option
@setting_options("known", "crawl.max_time")
@request_options
def check(
    arks: tuple[str, ...],
    from_file: str | None,
    inventory: Path | None,
    form: str,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    chosen_naans: tuple[str, ...],
    prefixes: tuple[str, ...],
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Resolve ARKs and test the three services: the object, its metadata, the provider's commitment.

    \b
    arkaudit check ark:12148/btv1b8449691v
    arkaudit check --from arks.txt --format table --store audit.db
    arkaudit check --inventory inventory.csv --store audit.db
    arkaudit check --inventory inventory.csv --prefix ark:12148/bpt6
    """  # fmt: skip
    from crawler.spiders.seeds import split_arks

    config = config_of(config_file, options)
    config.known_list  # noqa: B018  raises UserMistake before anything is sent
    source: ArkSource | None = plugins().hook.ark_sources(place=from_file) if from_file is not None else None
    selection = selection_of(chosen_naans, prefixes, ())
    if selection and (inventory is None or arks or from_file is not None):
        raise UserMistake("--naan and --prefix select from an --inventory alone; arkaudit recheck selects from a store")
    logged = _requests_in_logs(from_file, config)
    from_lines = {} if source is not None or logged else lines_of(from_file)
    listed = _arks_of_inventory(inventory, selection)
    asked = [text for given in (*arks, *from_lines.values()) for text in split_arks(given)]
    asked += [*logged, *listed]
    if source is not None and (arks or inventory is not None):
        raise UserMistake(f"{from_file} is checked alone: check other ARKs by another command")
    if not asked and not (source is not None and source.has_arks):
        if from_file == "-" and inventory is None:
            say("nothing to check: there is no ARK on standard input")
            return
        empty = " and ".join(str(file) for file in (from_file, inventory) if file is not None)
        of_these = f" of {selection.words}" if selection else ""
        why = f"there is no ARK in {empty}{of_these}"
        if not empty:
            why = "give ARKs, --from FILE or --inventory FILE; arkaudit recheck checks the ARKs of a store again"
        raise UserMistake(f"nothing to check: {why}")
    if dry_run:
        from arkaudit.audits.checking import targets
        from arkaudit.audits.forecast import print_forecast_of_arks

        print_forecast_of_arks(targets(asked, config) if source is None else source.targets(config.resolver), config)
        return
    from arkaudit.audits.checking import check_lines, check_source

    if source is not None:
        done = check_source(source, config, store_file, resume=resume)
    else:
        lines: defaultdict[str, list[str]] = defaultdict(list, logged)
        for number, line in from_lines.items():
            for text in split_arks(line):
                lines[text].append(f"{from_file}:{number}")
        for text in listed:
            lines[text].append(str(inventory))
        done = check_lines(asked, config, store_file, lines=lines, resume=resume)
    print_check(done, form, store_file, config_file)
    exit_on(fail_on, done.tokens)


def print_check(done: CheckResult, form: str, store_file: Path | None, config_file: Path | None) -> None:
    """Print the verdicts of a check, and how it ended."""
    from arkaudit.output.output_rows import print_verdicts, write_jsonl

    with also_in(store_file):
        if form == "table":
            from rich.console import Console

            print_verdicts(done.rows, Console())
        else:
            write_jsonl(done.rows, sys.stdout)
    if done.interruption is not None:
        end_interrupted(can_go_on=store_file is not None, is_by_time=done.interruption.is_by_time)
    total = check_total(
        (outcome.family for outcome in done.outcomes.values()), done.lines_without_ark, done.known_count
    )
    hint = after_check(done.first_failing, store_file, config_file)
    print_ending(done.faults, done.fault_count, total, hint)


def _requests_in_logs(source: str | None, config: Config) -> dict[str, list[str]]:
    """Return the request URLs of ARKs in logs, the most frequent first, with the referring pages of each."""
    from crawler.model.crawl_requests import SourceKind
    from crawler.spiders.seeds import logs_at, split_prefix

    order, pattern = split_prefix(source or "")
    if order is not SourceKind.LOG:
        return {}
    from arkaudit.audits.audit import logged_requests

    asked: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in logged_requests({pattern: logs_at(pattern)}, config).records():
        for cited in record.mentions:
            asked[cited.request_url][record.url] += cited.requests.asked or 0
    if not asked:
        raise UserMistake(f"nothing to check: there is no request for an ARK in {source}")
    by_frequency = sorted(asked.items(), key=lambda item: -item[1].total())
    return {url: [f"{page} ({count})" for page, count in pages.most_common()] for url, pages in by_frequency}


def _arks_of_inventory(path: Path | None, selection: ArkSelection) -> list[str]:
    """Return the selected ARKs of an inventory."""
    if path is None:
        return []
    from reports.store.inventory import read_inventory

    return [ark for ark in read_inventory(path)["ark"] if selection.names(ark, ark.partition(":")[2].partition("/")[0])]


def selection_of(
    naans: tuple[str, ...], prefixes: tuple[str, ...], hosts: tuple[str, ...], arks: tuple[str, ...] = ()
) -> ArkSelection:
    """Return the selection of ARKs by NAAN, beginning, host of the request URL, and name. Raises `UserMistake`."""
    from crawler.history.rechecking import ArkSelection
    from extractors.model.ark import Ark, normal_prefix

    try:
        beginnings = tuple(map(normal_prefix, prefixes))
        named = tuple(str(Ark.parse(ark)) for ark in arks)
    except ValueError as problem:
        raise UserMistake(str(problem)) from None
    return ArkSelection(tuple(naan.lower() for naan in naans), beginnings, tuple(host.lower() for host in hosts), named)
