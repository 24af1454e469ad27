"""Make or resume a dataset for `arkaudit dataset make`, and verify one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from arkaudit.features.datasets.cluster import local_client, remote_client, require_dask
from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.graph import DatasetMaker, FinishedDataset
from arkaudit.features.datasets.manifest import MANIFEST, damage_in, manifest_in
from arkaudit.features.datasets.parts import FolderFinding, parts_of
from arkaudit.features.datasets.passes import READ
from arkaudit.features.datasets.storage import (
    SCRATCH,
    DatasetError,
    InputFile,
    Storage,
    is_object,
    network_errors,
    objects_at,
)
from arkaudit.output.exits import EXIT_FINDING, command, end, say
from arkaudit.output.progress import Progress
from crawler.spiders.seeds import Seeds
from extractors.documents import TRIAL_PREFIX, document_name, unwritable_reason
from extractors.model.errors import EXIT_UNFINISHED, UserMistake
from reports.hints import next_words
from reports.languages.display import count_noun


def inputs_of(places: Iterable[str], out: str) -> tuple[list[InputFile], list[FolderFinding]]:
    """Return the files in *places*, except those of the dataset *out* itself, and findings about their folders.

    Raises `UserMistake`.
    """
    places = list(places)
    seeds = Seeds.parse(name for name in places if not is_object(name))
    if seeds.urls:
        raise UserMistake(f"a dataset is made of files, not of URLs: {seeds.urls[0]}")
    own = Path(out).resolve()
    below = f"{out.rstrip('/')}/"
    objects = (file for name in places if is_object(name) for file in objects_at(name))
    files = {file.name: file for file in objects if not file.name.startswith(below)}
    for path in seeds.files:
        if own not in path.resolve().parents:
            try:
                stat = path.stat()
                files[str(path)] = InputFile(str(path), stat.st_size, str(stat.st_mtime_ns))
            except OSError as problem:
                # It becomes a row with this reason.
                files[str(path)] = InputFile(str(path), 0, str(problem.strerror))
    folders = [(document_name(folder), finding) for folder, finding in seeds.folder_findings.items()]
    return list(files.values()), folders


_LOCK = "work/lock"


def print_amount(places: Sequence[str], out: str, *, part_bytes: int) -> None:
    """Print the number and the size of the files that a command would read."""
    files, _ = inputs_of(places, out)
    parts = count_noun(len(parts_of(files, part_bytes=part_bytes)), "part")
    print(f"{count_noun(len(files), 'file')}, {sum(file.size for file in files) / 1e6:,.1f} MB, {parts}")


def make_dataset(places: Sequence[str], out: str, *, workers: str, part_bytes: int) -> FinishedDataset:
    """Make the dataset *out* from the files in *places*, and show progress.

    It is made by *workers*: a number of processes of this machine, or the address of a Dask scheduler. Raises
    `UserMistake`, and OSError for an unusable folder; exits with 3 if the dataset could not be finished.
    """
    require_dask()
    if not is_object(out) and (why := unwritable_reason(Path(out))) is not None:
        raise UserMistake(why)
    files, folders = inputs_of(places, out)
    with network_errors(out):
        storage = Storage(out)
        _check_place(storage)
    if workers.isdecimal():
        # A worker process takes longer to start than a small part to read.
        parts = len(parts_of(files, part_bytes=part_bytes))
        connected = local_client(max(1, min(int(workers), parts)))
    else:
        connected = remote_client(workers)
    with connected as client, _alone_in(out), Progress() as progress:
        try:
            made = DatasetMaker(storage, client, progress).make(files, folders, part_bytes=part_bytes)
        except (DatasetError, OSError) as problem:
            end(EXIT_UNFINISHED, f"the dataset is not finished: {problem}; the same command resumes it")
    for folder, finding in folders:
        say(f"{folder}: {finding.kind}: {finding.detail}")
    tables = made.manifest.tables
    mentions = count_noun(tables["mentions"].rows, "mention of an ARK", "mentions of ARKs")
    documents = count_noun(tables["documents"].rows, "document")
    say(f"{out}: {documents}, {mentions}, {count_noun(len(tables['documents'].files), 'part')}")
    if made.unreadable:
        names = ", ".join(made.first_unreadable)
        say(f"{count_noun(made.unreadable, 'document')} could not be read (reasons: table findings): {names}")
    if tables["mentions"].rows:
        check = command("check", "--from", out, "--store", "audit.db", "--contact", "you@example.org")
        say(next_words(check))
    return made


def check_dataset(folder: str) -> None:
    """Print missing and damaged files of the dataset at *folder*; exit with 1 if any. Raises `UserMistake`."""
    with network_errors(folder):
        storage = Storage(folder)
        manifest = manifest_in(storage)
        damage = list(damage_in(storage, manifest))
    for line in damage:
        print(line)
    if damage:
        say(f"{folder}: {count_noun(len(damage), 'file')} missing or damaged; repeat the command that made the dataset")
        sys.exit(EXIT_FINDING)
    files = sum(len(table.files) for table in manifest.tables.values())
    say(f"{folder} is unchanged: {count_noun(files, 'file')}")


def _check_place(storage: Storage) -> None:
    """Raise `UserMistake` if the place holds other files than a dataset, or a folder of it is a symbolic link."""
    tables = [table.name for table in DATASET_TABLES]
    # A command that was killed early leaves a folder with this prefix.
    there = {name for name in storage.names("") if not name.startswith(TRIAL_PREFIX)}
    work = {f"work/{name}" for name in storage.names("work")}
    own = {MANIFEST, "work/", *(f"{table}/" for table in tables)}
    if not there <= own or (there and not work & {_LOCK, f"{READ}/"}) or not work <= {_LOCK, f"{READ}/", f"{SCRATCH}/"}:
        raise UserMistake(f"{storage.location} is neither empty nor a dataset")
    for name in ("work", READ, SCRATCH, *tables):
        if not is_object(storage.location) and Path(storage.location, name).is_symlink():
            raise UserMistake(f"{storage.location}/{name} is a link, which a dataset must not contain")


@contextmanager
def _alone_in(out: str) -> Iterator[None]:
    """Lock the folder against other commands, also of other machines; object storage has no locks."""
    if is_object(out):
        yield
        return
    path = Path(out, _LOCK)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, timeout=0):
            yield
    except Timeout:
        raise UserMistake(f"{out} is being made by another command") from None
