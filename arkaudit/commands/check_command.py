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
from arkaudit.output.exits import also_in, check_total, end_interrupted, exit_on, hint_after_check, print_ending, say
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
    output_format: str,
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
    referers_by_url = _requests_in_logs(from_file, config)
    lines_by_number = {} if source is not None or referers_by_url else lines_of(from_file)
    inventory_arks = _arks_of_inventory(inventory, selection)
    texts = [text for line in (*arks, *lines_by_number.values()) for text in split_arks(line)]
    texts += [*referers_by_url, *inventory_arks]
    if source is not None and (arks or inventory is not None):
        raise UserMistake(f"{from_file} is checked alone: check other ARKs by another command")
    if not texts and not (source is not None and source.has_arks):
        if from_file == "-" and inventory is None:
            say("nothing to check: there is no ARK on standard input")
            return
        empty_inputs = " and ".join(str(file) for file in (from_file, inventory) if file is not None)
        selection_words = f" of {selection.words}" if selection else ""
        reason = f"there is no ARK in {empty_inputs}{selection_words}"
        if not empty_inputs:
            reason = "give ARKs, --from FILE or --inventory FILE; arkaudit recheck checks the ARKs of a store again"
        raise UserMistake(f"nothing to check: {reason}")
    if dry_run:
        from arkaudit.audits.checking import targets
        from arkaudit.audits.forecast import print_forecast_of_arks

        print_forecast_of_arks(targets(texts, config) if source is None else source.targets(config.resolver), config)
        return
    from arkaudit.audits.checking import check_lines, check_source

    if source is not None:
        result = check_source(source, config, store_file, resume=resume)
    else:
        places_by_text: defaultdict[str, list[str]] = defaultdict(list, referers_by_url)
        for number, line in lines_by_number.items():
            for text in split_arks(line):
                places_by_text[text].append(f"{from_file}:{number}")
        for text in inventory_arks:
            places_by_text[text].append(str(inventory))
        result = check_lines(texts, config, store_file, places_by_text=places_by_text, resume=resume)
    print_check(result, output_format, store_file, config_file)
    exit_on(fail_on, result.tokens, store_file=store_file)


def print_check(result: CheckResult, output_format: str, store_file: Path | None, config_file: Path | None) -> None:
    """Print the verdicts of a check as ``table`` or ``jsonl``, then its problems and totals as messages.

    Exits with 3 or 130 if the check was interrupted.
    """
    from arkaudit.output.output_rows import print_verdicts, write_jsonl

    with also_in(store_file):
        if output_format == "table":
            from rich.console import Console

            print_verdicts(result.rows, Console())
        else:
            write_jsonl(result.rows, sys.stdout)
    if result.interruption is not None:
        end_interrupted(is_resumable=store_file is not None, is_by_time=result.interruption.is_by_time)
    total_words = check_total(
        (outcome.family for outcome in result.outcomes.values()), result.lines_without_ark_count, result.known_count
    )
    hint = hint_after_check(result.first_failing, store_file, config_file)
    print_ending(result.faults, result.fault_count, total_words, hint)


def _requests_in_logs(from_file: str | None, config: Config) -> dict[str, list[str]]:
    """Return the referring pages (with numbers of requests) by the URLs of ARKs in logs, the most requested URL first.

    *from_file* is the value of ``--from``; without the prefix ``log:`` the result is empty.
    """
    from crawler.model.crawl_requests import SourceKind
    from crawler.spiders.seeds import logs_at, split_prefix

    source_kind, pattern = split_prefix(from_file or "")
    if source_kind is not SourceKind.LOG:
        return {}
    from arkaudit.audits.audit import logged_requests

    requests_by_url: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in logged_requests({pattern: logs_at(pattern)}, config).records():
        for citation in record.mentions:
            requests_by_url[citation.request_url][record.url] += citation.requests.asked or 0
    if not requests_by_url:
        raise UserMistake(f"nothing to check: there is no request for an ARK in {from_file}")
    frequent_first = sorted(requests_by_url.items(), key=lambda item: -item[1].total())
    return {url: [f"{referer} ({count})" for referer, count in pages.most_common()] for url, pages in frequent_first}


def _arks_of_inventory(path: Path | None, selection: ArkSelection) -> list[str]:
    """Return the selected ARKs of the inventory at *path*; none without a path."""
    if path is None:
        return []
    from reports.store.inventory import read_inventory

    return [ark for ark in read_inventory(path)["ark"] if selection.names(ark, ark.partition(":")[2].partition("/")[0])]


def selection_of(
    chosen_naans: tuple[str, ...], prefixes: tuple[str, ...], hosts: tuple[str, ...], arks: tuple[str, ...] = ()
) -> ArkSelection:
    """Return the selection of ARKs by NAAN, beginning of the ARK, host of the request URL, and ARK.

    Raises `UserMistake` for a text that is no ARK.
    """
    from crawler.history.rechecking import ArkSelection
    from extractors.model.ark import Ark, normal_prefix

    try:
        beginnings = tuple(map(normal_prefix, prefixes))
        normal_arks = tuple(str(Ark.parse(ark)) for ark in arks)
    except ValueError as problem:
        raise UserMistake(str(problem)) from None
    return ArkSelection(
        tuple(naan.lower() for naan in chosen_naans), beginnings, tuple(host.lower() for host in hosts), normal_arks
    )
