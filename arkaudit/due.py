"""Find the ARKs of a store that are due to be checked again; nothing is sent, and no more is loaded than that needs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.triage_commands import apply_to, triage_of
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import KnownArk, due, in_turn, next_due_at
from crawler.history.triaging import KnownSelection
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from crawler.store.store import Store
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    pass


def due_now(
    store_file: Path,
    config: Config,
    *,
    selection: KnownSelection | None = None,
    limit: int | None = None,
    is_dry: bool = False,
) -> list[KnownArk]:
    """Return what is due in the store, in the order in which to ask; at most *limit*. Says how much that is.

    Of a *selection*, nothing else is.

    What a configuration decides about status and known problems is kept in the store first, unless *is_dry*.

    Raises `extractors.model.errors.UserMistake` where there is no store, and
    `crawler.store.StoreError`.
    """
    intervals, now = config.recheck.intervals, datetime.now(UTC)
    known_arks = _known_arks(store_file, config, selection or KnownSelection(), now, is_dry=is_dry)
    due_arks = _objects(due(known_arks, intervals, now))
    if due_arks:
        some = f", {limit} of them now" if limit is not None and limit < len(due_arks) else ""
        say(f"{len(due_arks)} due in {store_file}{some}")
        return due_arks[:limit]
    following = next_due_at(known_arks, intervals, now)
    say(
        f"nothing is due in {store_file}"
        + (f" before {following:%Y-%m-%d %H:%M} UTC" if following else "")
    )
    return []


def selected_now(
    store_file: Path,
    config: Config,
    selection: KnownSelection,
    *,
    limit: int | None = None,
    is_dry: bool = False,
) -> list[KnownArk]:
    """Return all that the store knows of a *selection*, due or not, in the order in which to ask; at most *limit*.

    Raises `extractors.model.errors.UserMistake` where there is nothing, and as `due_now`.
    """
    known_arks = _known_arks(store_file, config, selection, datetime.now(UTC), is_dry=is_dry)
    due_arks = _objects(
        in_turn(known_ark for known_ark in known_arks if known_ark.state is not ArkState.SKIPPED)
    )
    if not due_arks:
        raise UserMistake(f"{store_file} knows nothing to check of {selection.words}")
    some = f", {limit} of them now" if limit is not None and limit < len(due_arks) else ""
    say(f"{len(due_arks)} known in {store_file} of {selection.words}{some}")
    return due_arks[:limit]


def _known_arks(
    store_file: Path, config: Config, selection: KnownSelection, now: datetime, *, is_dry: bool
) -> list[KnownArk]:
    """The ARKs of a store that are selected, when what a configuration decides of them has been kept there."""
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    given = triage_of(config, now=now)
    with Store.open(store_file) as store:
        if not is_dry:
            store.set_status_policy(config.recheck.status_policy)
            if given is not None:
                apply_to(store, given)
        return [known_ark for known_ark in store.known_arks() if selection.holds(known_ark)]


def _objects(known_arks: list[KnownArk]) -> list[KnownArk]:
    """Those of *known_arks* that name more than a NAAN or a shoulder."""
    if not known_arks:
        return []
    registry = load_registry(cache_folder())
    return [
        known_ark for known_ark in known_arks if not registry.names_only(Ark.parse(known_ark.ark))
    ]
