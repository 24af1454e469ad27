"""The command `check`."""

from __future__ import annotations

import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import (
    GroupedCommand,
    access_log_option,
    config_of,
    dry_run_option,
    fail_on_option,
    flag,
    inventory_option,
    repeatable,
    request_options,
    resume_option,
    store_file_option,
)
from arkaudit.output.exits import after_check, also_in, check_total, end_interrupted, exit_on, print_ending, say
from extractors.model.errors import UserMistake
from extractors.model.files import is_file, is_folder

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config
    from arkaudit.datasets.documents import DatasetDocuments
    from crawler.history.rechecking import KnownArk
    from crawler.history.triaging import KnownSelection


@click.command(cls=GroupedCommand)
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    metavar="FILE|DATASET|LOG",
    help="Read ARKs from a file (one per line), a dataset (arkaudit extract --out) or an access log (log:FILE).",
)
@access_log_option
@inventory_option
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "table"]), help="[default: jsonl; plain text with --explain]"
)
@flag("--explain", help="Explain each step: the request, its answer, and the meaning of the answer.")
@flag("--conformance", help="Also request one ARK of each resolver in up to ten other spellings.")
@dry_run_option
@store_file_option(help="Keep every request and answer in this file.")
@resume_option
@flag("--due", help="Check the ARKs of the store that are due, longest ago first.  [store: audit.db]")
@repeatable("--naan", "chosen_naans", metavar="NAAN", help="Check the ARKs of the store under this NAAN. Repeatable.")
@repeatable("--prefix", "prefixes", metavar="ARK", help="Check those that begin with this. Repeatable.")
@repeatable("--host", "hosts", metavar="HOST", help="Check those whose request URL has this host. Repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="With --due, --naan …: maximum number of ARKs.")
@fail_on_option
@request_options
def check(
    arks: tuple[str, ...],
    from_file: str | None,
    inventory: Path | None,
    form: str | None,
    explain: bool,
    conformance: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    due: bool,
    chosen_naans: tuple[str, ...],
    prefixes: tuple[str, ...],
    hosts: tuple[str, ...],
    limit: int | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Resolve ARKs and test the three services: the object, its metadata, the provider's commitment.

    \b
    arkaudit check ark:12148/btv1b8449691v
    arkaudit check ark:12148/btv1b8449691v --explain --conformance
    arkaudit check --from arks.txt --format table --store audit.db
    arkaudit check --from dataset/ --store audit.db
    arkaudit check --inventory ours.csv --store audit.db
    arkaudit check --due --store audit.db -c arkaudit.toml
    arkaudit check --naan 12148 --store audit.db
    arkaudit check --inventory ours.csv --prefix ark:12148/bpt6
    """  # fmt: skip
    from crawler.spiders.seeds import split_arks

    if explain and form == "table":
        advice = "give --explain alone, or with --format jsonl"
        raise UserMistake(f"a table has no explanations: {advice}")
    config = config_of(config_file, {**options, "conformance": conformance, "conformance_from": 1})
    dataset = _dataset(from_file)
    selection = _selection(chosen_naans, prefixes, hosts)
    logged = _requests_in_logs(from_file, config)
    from_lines = {} if dataset is not None or logged else lines_of(from_file)
    listed = _arks_of_inventory(inventory, selection)
    asked = [text for given in (*arks, *from_lines.values()) for text in split_arks(given)]
    asked += [*logged, *listed]
    of_store = due or (bool(selection) and inventory is None)
    if of_store and (asked or dataset is not None):
        takes = "--due takes its" if due else "--naan, --prefix and --host take their"
        raise UserMistake(f"{takes} ARKs from the store: name no others")
    if selection and inventory is not None and (arks or from_file is not None or hosts):
        if hosts:
            raise UserMistake("--host selects ARKs of a store, not of an inventory")
        raise UserMistake("--naan and --prefix select from the inventory: name no other ARKs")
    if dataset is not None and (arks or inventory is not None):
        raise UserMistake(f"{from_file} is a dataset: check other ARKs by another command")
    if not of_store and not asked and not (dataset is not None and dataset.has_arks):
        empty = " and ".join(str(file) for file in (from_file, inventory) if file is not None)
        of_these = f" of {selection.words}" if selection else ""
        why = f"there is no ARK in {empty}{of_these}"
        if not empty:
            why = "give ARKs, --from FILE, --inventory FILE, or --due"
        raise UserMistake(f"nothing to check: {why}")
    if of_store:
        store_file = store_file or config.store or Path("audit.db")
        again = _arks_to_check(store_file, config, selection, is_due=due, limit=limit, is_dry=dry_run)
        if not again:
            return
    if dry_run:
        from arkaudit.audits.forecast import print_check_forecast, print_dataset_forecast, print_due_forecast

        if dataset is not None:
            print_dataset_forecast(dataset, config)
        else:
            print_due_forecast(again, config) if of_store else print_check_forecast(asked, config)
        return
    from rich.console import Console

    from arkaudit.audits.checking import check_dataset_arks, check_lines, recheck_arks
    from arkaudit.output.explaining import print_explanations
    from arkaudit.output.output_rows import print_verdicts, write_jsonl
    from arkaudit.upkeep.triage_file import report_idle_in

    if of_store:
        assert store_file is not None
        done = recheck_arks(again, config, store_file, explain=explain)
    elif dataset is not None:
        done = check_dataset_arks(dataset, config, store_file, explain=explain, resume=resume)
    else:
        lines: defaultdict[str, list[str]] = defaultdict(list, logged)
        for number, line in from_lines.items():
            for text in split_arks(line):
                lines[text].append(f"{from_file}:{number}")
        for text in listed:
            lines[text].append(str(inventory))
        done = check_lines(asked, config, store_file, lines=lines, explain=explain, resume=resume)
    with also_in(store_file):
        if form == "table":
            print_verdicts(done.rows, Console())
        elif explain and form is None:
            print_explanations(done.rows, Console())
        else:
            write_jsonl(done.rows, sys.stdout)
    if done.was_interrupted:
        end_interrupted(can_go_on=store_file is not None)
    if store_file is not None:
        report_idle_in(store_file, config)
    total = check_total(done.families, done.lines_without_ark, done.known)
    hint = after_check(done.first_failing, store_file, config_file, is_explained=explain)
    print_ending(done.faults, done.fault_count, total, hint)
    exit_on(fail_on, done.raised)


def _dataset(source: str | None) -> DatasetDocuments | None:
    """Return the dataset at *source*, or None if it is a file or a log."""
    if source is None or not ("://" in source or is_folder(Path(source))):
        return None
    from arkaudit.datasets.documents import DatasetDocuments

    return DatasetDocuments.at(source)


def _requests_in_logs(source: str | None, config: Config) -> dict[str, list[str]]:
    """Return the request URLs of ARKs in logs, the most frequent first, with the referring pages of each."""
    from crawler.model.crawl_requests import SourceKind
    from crawler.spiders.seeds import logs_at, split_prefix

    order, pattern = split_prefix(source or "")
    if order is not SourceKind.LOG:
        return {}
    from arkaudit.audits.audit import logged_requests

    asked = logged_requests({pattern: logs_at(pattern)}, config).requested_urls()
    if not asked:
        raise UserMistake(f"nothing to check: there is no request for an ARK in {source}")
    return asked


def lines_of(source: str | None) -> dict[int, str]:
    """Return the non-empty lines of a file, or of standard input, by line number. Raises `UserMistake`."""
    if source is None:
        return {}
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8-sig", "replace")
    except OSError as problem:
        raise UserMistake(f"{source} can't be read: {problem.strerror}") from None
    numbered = enumerate(map(str.strip, text.splitlines()), start=1)
    return {number: line for number, line in numbered if line}


def _arks_of_inventory(path: Path | None, selection: KnownSelection) -> list[str]:
    """Return the selected ARKs of an inventory."""
    if path is None:
        return []
    from arkaudit.output.reporting import load_inventory

    listed = load_inventory(path)
    assert listed is not None
    return [ark for ark in listed["ark"] if selection.names(ark, ark.partition(":")[2].partition("/")[0])]


def _selection(naans: tuple[str, ...], prefixes: tuple[str, ...], hosts: tuple[str, ...]) -> KnownSelection:
    from crawler.history.triaging import KnownSelection, beginning_of

    try:
        beginnings = tuple(map(beginning_of, prefixes))
    except ValueError as problem:
        raise UserMistake(str(problem)) from None
    return KnownSelection(tuple(naan.lower() for naan in naans), beginnings, tuple(host.lower() for host in hosts))


def _arks_to_check(
    store_file: Path, config: Config, selection: KnownSelection, *, is_due: bool, limit: int | None, is_dry: bool
) -> list[KnownArk]:
    """Return at most *limit* ARKs of a *selection* in the store to check, in order, and print their number.

    With *is_due* only those that are due. Unless *is_dry*, the policy and triage decisions of the configuration are
    stored first. Raises `UserMistake` if there is no store or the selection is empty, and `crawler.store.StoreError`.
    """
    from arkaudit.upkeep.triage_file import apply_to, triage_of
    from crawler.history.ark_status import ArkState
    from crawler.history.rechecking import due_arks, interleave_hosts, next_due_at, without_times_ahead
    from crawler.model.registry import cache_folder
    from crawler.model.registry import load as load_registry
    from crawler.store.store import Store
    from extractors.model.ark import Ark

    intervals, now = config.recheck.intervals, datetime.now(UTC)
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    given = triage_of(config, now=now)
    with Store.open(store_file) as store:
        if not is_dry:
            store.set_status_policy(config.recheck.status_policy)
            if given is not None:
                apply_to(store, given)
        known_arks = [without_times_ahead(one, now) for one in store.known_arks() if selection.holds(one)]
    asked_about = (one for one in known_arks if one.state is not ArkState.SKIPPED)
    chosen = due_arks(known_arks, intervals, now) if is_due else interleave_hosts(asked_about)
    # Mentions of a NAAN or a shoulder are never checked.
    if chosen:
        registry = load_registry(cache_folder())
        chosen = [one for one in chosen if not registry.names_only(Ark.parse(one.ark))]
    if chosen:
        some = f", {limit} of them now" if limit is not None and limit < len(chosen) else ""
        what = f"due in {store_file}" if is_due else f"known in {store_file} of {selection.words}"
        say(f"{len(chosen)} {what}{some}")
        return chosen[:limit]
    if not is_due:
        raise UserMistake(f"{store_file} has no ARKs to check of {selection.words}")
    following = next_due_at(known_arks, intervals, now)
    before = f" before {following:%Y-%m-%d %H:%M} UTC" if following else ""
    say(f"no ARK is due in {store_file}{before}")
    return []
