"""The ARKs of a store that are due to be checked again. It asks nobody, and loads no more than it needs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.triage_commands import apply_to, triage_of
from crawler.history.rechecking import KnownArk, due, next_due_at
from crawler.registry import cache_folder
from crawler.registry import load as load_registry
from crawler.storage.store import Store
from extractors.ark import Ark
from extractors.shared_errors import UserMistake


def due_now(store_file: Path, config: Config, *, limit: int | None = None, is_dry: bool = False) -> list[KnownArk]:
    """Return what is due in the store, in the order in which to ask; at most *limit*. Says how much that is.

    What a configuration decides about status and known problems is kept in the store first, unless *is_dry*.

    Raises `extractors.shared_errors.UserMistake` where there is no store, and
    `crawler.storage.store_errors.StoreError`.
    """
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    intervals, now = config.recheck.intervals, datetime.now(UTC)
    given = triage_of(config, now=now)
    with Store.open(store_file) as store:
        if not is_dry:
            store.set_status_policy(config.recheck.status_policy)
            if given is not None:
                apply_to(store, given)
        known = list(store.known_arks())
    found = due(known, intervals, now)
    if found:
        registry = load_registry(cache_folder())
        found = [each for each in found if not registry.names_only(Ark.parse(each.ark))]
    if found:
        some = f", {limit} of them now" if limit is not None and limit < len(found) else ""
        say(f"{len(found)} due in {store_file}{some}")
        return found[:limit]
    following = next_due_at(known, intervals, now)
    say(f"nothing is due in {store_file}" + (f" before {following:%Y-%m-%d %H:%M} UTC" if following else ""))
    return []
