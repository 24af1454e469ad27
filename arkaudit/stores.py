"""Look after a store: check it, export its runs, bring in those of another one."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from arkaudit.exits import EXIT_FINDING, say
from crawler.history.integrity import problems, unknown_words
from crawler.store import NotCopied, StoreDamaged
from crawler.store.database import unreadable_rows
from crawler.store.files import is_damage, is_ours, plain_copy, scratch_beside
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from reports.exports import ReportUnwritable
from reports.languages.display import counted, escaped
from reports.store.frames import read
from reports.store_export import export


def check_store(store_file: Path) -> None:
    """Say what is wrong with a store; ends with 1 if anything is. Raises `reports.store.frames.StoreUnreadable`."""
    try:
        damage = read(store_file, _problems)
    except StoreDamaged as failure:
        damage = [str(failure)]
    for problem in damage:
        sys.stdout.write(escaped(problem) + "\n")
    if damage:
        say(f"{store_file}: {len(damage)} {'problem' if len(damage) == 1 else 'problems'}")
        sys.exit(EXIT_FINDING)
    say(f"{store_file} is whole")


def export_store(store_file: Path, out: Path) -> None:
    """Write the runs of a store as Parquet. Raises `StoreUnreadable` and `reports.exports.ReportUnwritable`."""
    if out.exists() and not out.is_dir():
        raise ReportUnwritable(f"{out}: is not a folder")
    require_readable(store_file)
    done = export(store_file, out)
    unended = f", {done.unended} not ended yet" if done.unended else ""
    say(f"{_runs(done.written)} written to {out}, {done.unchanged} there already{unended}")


def import_store(other: Path, store_file: Path) -> None:
    """Bring the runs of another store into the store; *other* itself stays as it is.

    Raises `UserMistake` and `crawler.store.StoreError`.
    """
    if not other.is_file():
        raise UserMistake(f"there is no store at {other}")
    if store_file.exists() and other.samefile(store_file):
        raise UserMistake(f"{other} is the store itself")
    try:
        with scratch_beside(store_file) as folder:
            copy = folder / "other.db"
            plain_copy(other, copy)
            Store.open(copy).close()  # refuses a foreign one
            require_readable(copy, name=other)
            with Store.open(store_file) as store:
                done = store.bring_in(copy, at=datetime.now(UTC).isoformat(timespec="milliseconds"))
    except NotCopied as problem:
        if is_ours(other) and is_damage(problem.__cause__):
            raise StoreDamaged(f"{other}: can't be read: {problem.__cause__}") from None
        raise UserMistake(f"{other} can't be read: {problem}") from None
    unended = f", {done.unended} not ended there and left out" if done.unended else ""
    decided = f", and {counted(done.decisions, 'decision')}" if done.decisions else ""
    say(
        f"{_runs(done.brought)} brought into {store_file}, {done.known} there already{unended}{decided}"
    )


def _problems(connection: Connection) -> list[str]:
    """Return what is wrong with a store; its contradictions only where all of it can be read."""
    unreadable = list(unreadable_rows(connection))
    return [*unknown_words(connection), *unreadable] if unreadable else list(problems(connection))


def require_readable(store_file: Path, *, name: Path | None = None) -> None:
    """Raise `StoreDamaged` for a store that has a row which can't be read: it is not copied anywhere."""
    damage = read(store_file, lambda connection: next(unreadable_rows(connection), None))
    if damage:
        raise StoreDamaged(f"{name or store_file}: {damage}")


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
