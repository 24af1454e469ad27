"""The overview of all named audits: a page, and for each audit a feed of its changes."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

from arkaudit import __version__
from arkaudit.configuration.config import Config
from arkaudit.configuration.schedule import Schedule
from arkaudit.features.overview.feed import FEED, atom_feed
from arkaudit.features.overview.page import overview_page
from arkaudit.features.overview.status import AuditRow, AuditStatus, status_of
from arkaudit.output.exits import code_of, say
from arkaudit.schedules.last_run import FOLDER, LastRunFile
from crawler.model.durable_files import durable_file
from crawler.model.registry import COPY, cache_folder, load_registry
from crawler.store.files import real_path
from extractors.model.errors import EXIT_UNFINISHED, ArkauditError, UserMistake
from extractors.model.files import is_file, path_exists
from reports.exports import INDEX, staging_folder
from reports.store.frames import load_frames
from reports.store.store_reading import stamp_at_rest
from reports.tables.report_tables import Report

logger = logging.getLogger(__name__)


def write_overview(audits: Mapping[str | None, Config], config_file: Path, out: Path, now: datetime) -> int:
    """Write the overview of all named *audits* into the folder *out*; return the exit code.

    An audit without a result is a row with the reason. The code is 2 or 3 if a store can't be read, else 0. Raises
    `UserMistake` if no audit has a name.
    """
    named_audits = {name: config for name, config in audits.items() if name is not None}
    if not named_audits:
        raise UserMistake(f"{config_file} has no named audit: see [audits.NAME]")
    code = 0
    # One process at a time, so that the last one has read the newest results. Without the folder, there is no lock.
    lock = FileLock(config_file.parent / FOLDER / ".overview.lock")
    with ExitStack() as stack:
        stack.callback(lock.release)
        with suppress(OSError):
            lock.acquire()
        folder = stack.enter_context(staging_folder(out))
        rows = []
        for name, config in named_audits.items():
            row, row_code = _row_of(name, config, config_file, out)
            code = max(code, row_code)
            if row.fault:
                say(f"{name}: {row.fault}", level=logging.ERROR)
            elif row.is_running or row.status is None:
                state = "a run is under way, the last result stays" if row.is_running else "has no run yet"
                say(f"{name}: {state}")
            rows.append(row)
            if row.status is not None:
                language = config.language_choice.language
                feed = atom_feed(name, row.status, config.report.url, language)
                _write_changed({FEED: feed}, folder / name, out / name)
        _write_changed({INDEX: overview_page(rows, now, audits[None].language_choice)}, folder, out)
    return code


def _write_changed(texts: Mapping[str, str], folder: Path, old_folder: Path) -> None:
    """Write *texts* by file name into *folder*, except those that are in *old_folder* already."""
    for name, text in texts.items():
        data = text.encode("utf-8", "backslashreplace")
        if not (is_file(old_folder / name) and (old_folder / name).read_bytes() == data):
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)


def _row_of(name: str, config: Config, config_file: Path, out: Path) -> tuple[AuditRow, int]:
    """Return the row of the audit *name*, and the exit code: 2 or 3 if its store can't be read, else 0."""
    status, late_after, is_running, fault, code = None, None, False, "", 0
    # Without access to the lock, the store still shows the last result.
    with suppress(UserMistake, OSError):
        is_running = LastRunFile(config_file.parent / FOLDER, name).is_running()
    try:
        status = _status(name, config, config_file, is_running=is_running)
    except ArkauditError as problem:
        # The page may be public, and a path is not.
        store = str(config.store)
        fault, code = str(problem).replace(store, Path(store).name), code_of(problem)
    # One store must not hide the others.
    except Exception as bug:
        logger.critical("this is a bug", exc_info=bug)
        fault, code = f"can't be read, which is a bug of arkaudit: {type(bug).__name__}: {bug}", EXIT_UNFINISHED
    if status is not None and config.schedule is not None:
        late_after = Schedule.parse(config.schedule, config.timezone).late_after(status.checked_at)
    report = config.report.url
    if report is None and config.out is not None and is_file(config.out / INDEX):
        report = quote(os.path.relpath(config.out / INDEX, out))
    return AuditRow(name, status, fault, is_running, late_after, report), code


# -- Statuses are kept, because to read 200 stores takes a minute, and a large one takes as long.


def _status(name: str, config: Config, config_file: Path, *, is_running: bool) -> AuditStatus | None:
    """Return the status of an audit, stored or from its store; None if the audit has no result yet."""
    store = config.store or Path("audit.db")
    if not path_exists(store):
        return None
    key = status_key(store, config.known.file)
    with suppress(OSError, ValueError):
        stored_key, stored_status = _status_file(name, config_file).read_bytes().split(b"\n", 1)
        # A run in progress changes the store all the time, but not the last result.
        if is_running or (key is not None and json.loads(stored_key) == key):
            return AuditStatus.parse(stored_status)
    frames = load_frames(
        store, registry=load_registry(), known_list=config.known_list, declared=config.check_characters
    )
    report = Report.from_frames(frames)
    status = status_of(report, store)
    if status is not None and is_running and "unfinished" in status.caveats:
        return None
    if status is not None and key is not None and key == status_key(store, config.known.file):
        store_status(name, config_file, key, status)
    return status


def status_key(store: Path, known_file: Path | None) -> list[object] | None:
    """Return a value that changes with the data of a status: the store, the registry and the list of known problems.

    Returns None while another process may be writing to the store.
    """
    store_stamp = stamp_at_rest(real_path(store))
    files = (file for file in (cache_folder() / COPY, known_file) if file is not None)
    change_times = [file.stat().st_mtime_ns if is_file(file) else None for file in files]
    return None if store_stamp is None else [__version__, *store_stamp, *change_times]


def store_status(name: str, config_file: Path, key: list[object], status: AuditStatus) -> None:
    """Write the status of the audit *name* to a file with its *key* (`status_key`); failures are ignored."""
    with suppress(OSError), durable_file(_status_file(name, config_file)) as file:
        file.write(json.dumps(key).encode() + b"\n" + status.dump())


def _status_file(name: str, config_file: Path) -> Path:
    return config_file.parent / FOLDER / f"{name}.status.json"
