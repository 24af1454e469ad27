"""The command `recheck`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.check_command import print_check, selection_of
from arkaudit.commands.options import (
    GroupedCommand,
    audit_option,
    config_of,
    dry_run_option,
    fail_on_option,
    flag,
    repeatable,
    request_options,
    setting_options,
    store_file_option,
    verdict_format_option,
)
from arkaudit.output.exits import exit_on, say
from extractors.model.errors import UserMistake
from extractors.model.files import is_file
from reports.languages.display import count_noun

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config
    from crawler.history.rechecking import ArkSelection, KnownArk


@click.command(cls=GroupedCommand)
@store_file_option(help="The store with the ARKs.  [default: audit.db]")
@flag("--due", help="Check only ARKs that are due, longest ago first.  [default if nothing else is selected]")
@repeatable("--naan", "chosen_naans", metavar="NAAN", help="Check the ARKs under this NAAN. Repeatable.")
@repeatable("--prefix", "prefixes", metavar="ARK", help="Check the ARKs that begin with this. Repeatable.")
@repeatable("--host", "hosts", metavar="HOST", help="Check the ARKs whose request URL has this host. Repeatable.")
@repeatable("--ark", "named_arks", metavar="ARK", help="Check this ARK. Repeatable.")
@repeatable(
    "--cause",
    "causes",
    metavar="KEY",
    help="Check the ARKs that fail by this cause, whose key each card of the page shows; a cause alone, such as "
    "dead-host, means all hosts. Repeatable.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of ARKs.")
@verdict_format_option
@dry_run_option
@fail_on_option
@setting_options("known")
@audit_option
@setting_options("crawl.max_time")
@request_options
def recheck(
    store_file: Path | None,
    due: bool,
    chosen_naans: tuple[str, ...],
    prefixes: tuple[str, ...],
    hosts: tuple[str, ...],
    named_arks: tuple[str, ...],
    causes: tuple[str, ...],
    limit: int | None,
    output_format: str,
    dry_run: bool,
    fail_on: tuple[str, ...],
    audit: str | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Check ARKs of a store again: those that are due, or a selection.

    \b
    arkaudit recheck -c arkaudit.toml --audit theses
    arkaudit recheck --store audit.db --naan 12148
    arkaudit recheck --store audit.db --host old.example.org --limit 100
    arkaudit recheck --store audit.db --ark ark:12148/btv1b8449691v
    """  # fmt: skip
    config = config_of(config_file, options, audit=audit)
    config.known_list  # noqa: B018  raises UserMistake before anything is sent
    selection = selection_of(chosen_naans, prefixes, hosts, named_arks)
    store_file = store_file or config.store or Path("audit.db")
    if causes:
        selection = replace(selection, causes=_arks_of_causes(store_file, causes))
    arks = _arks_to_check(store_file, config, selection, is_due=due or not selection, limit=limit, is_dry=dry_run)
    if not arks:
        return
    if dry_run:
        from arkaudit.audits.forecast import print_forecast_of_arks
        from extractors.model.ark import Ark

        print_forecast_of_arks([(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in arks], config)
        return
    from arkaudit.audits.checking import recheck_arks, recovered_arks

    result = recheck_arks(arks, config, store_file)
    print_check(result, output_format, store_file, config_file)
    working_arks = recovered_arks(arks, result.outcomes)
    for working_ark in working_arks[:_MOST_SHOWN]:
        say(f"works again: {working_ark.ark}, at {working_ark.request_url}")
    if len(working_arks) > _MOST_SHOWN:
        say(f"works again: {count_noun(len(working_arks) - _MOST_SHOWN, 'more ARK')}")
    exit_on(fail_on, result.tokens, store_file=store_file)


#: Number of recovered ARKs that are printed one by one.
_MOST_SHOWN = 10


def _arks_of_causes(store_file: Path, causes: Sequence[str]) -> dict[str, frozenset[tuple[str, str]]]:
    """Return the ARKs with URLs that fail now, by the key of their cause. Raises `UserMistake` for a cause without any."""
    from reports.store.frames import load_frames
    from reports.tables.actions import arks_of_cause

    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    frames = load_frames(store_file)
    arks_by_cause = {key: arks_of_cause(frames, key) for key in causes}
    for key, cause_arks in arks_by_cause.items():
        if not cause_arks:
            raise UserMistake(f"{store_file} has no ARK that fails by the cause {key!r}; the report lists the causes")
    return arks_by_cause


def _arks_to_check(
    store_file: Path, config: Config, selection: ArkSelection, *, is_due: bool, limit: int | None, is_dry: bool
) -> list[KnownArk]:
    """Return at most *limit* ARKs to check, in this order, and print how many there are in all.

    These are the ARKs of a *selection* in the store, or with *is_due* those of them that are due. Unless *is_dry*, the
    status policy of *config* is stored. Raises `UserMistake` if there is no store or no ARK is selected, and
    `crawler.store.StoreError`.
    """
    from crawler.history.ark_status import ArkState
    from crawler.history.rechecking import due_arks, interleave_hosts, without_times_ahead
    from crawler.model.registry import load_registry
    from crawler.store.store import Store
    from extractors.model.ark import Ark

    policy, now = config.recheck_policy, datetime.now(UTC)
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    with Store.open(store_file) as store:
        if not is_dry:
            store.set_status_policy(config.status_policy)
        selected_arks = filter(selection.holds, store.known_arks()) if selection else store.known_arks()
        known_arks = [without_times_ahead(known_ark, now) for known_ark in selected_arks]
    next_due_time = None
    if is_due:
        chosen_arks, next_due_time = due_arks(known_arks, policy, now)
    else:
        chosen_arks = interleave_hosts(known_ark for known_ark in known_arks if known_ark.state is not ArkState.SKIPPED)
    # Mentions of a NAAN or a shoulder are never checked.
    if chosen_arks:
        registry = load_registry()
        chosen_arks = [known_ark for known_ark in chosen_arks if not registry.is_shoulder(Ark.parse(known_ark.ark))]
    if chosen_arks:
        limit_words = f", {limit} of them now" if limit is not None and limit < len(chosen_arks) else ""
        description = f"due in {store_file}" if is_due else f"known in {store_file} of {selection.words}"
        say(f"{len(chosen_arks)} {description}{limit_words}")
        return chosen_arks[:limit]
    if not is_due:
        raise UserMistake(f"{store_file} has no ARKs to check of {selection.words}")
    until_words = f" before {next_due_time:%Y-%m-%d %H:%M} UTC" if next_due_time else ""
    say(f"no ARK is due in {store_file}{until_words}")
    return []
