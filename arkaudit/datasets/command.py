"""Do what `arkaudit extract --out` does: make a dataset of what documents cite, or resume one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from arkaudit import __version__
from arkaudit.datasets.build import OUR_NAMES, Engine, Listener, Made, Making, OneProcess, PartWorker
from arkaudit.datasets.first_pass import ReadRecord
from arkaudit.datasets.inputs import Inputs, estimate, inputs_of
from arkaudit.datasets.plan import PART_BYTES, Part, damage_in, fingerprint, manifest_in, parts_of, planned
from arkaudit.datasets.second_pass import DecidedRecord
from arkaudit.datasets.storage import SCRATCH, Storage, is_object, open_storage
from arkaudit.exits import EXIT_FINDING, EXIT_UNFINISHED, after_dataset, end, say
from arkaudit.progress import Progress
from extractors.documents import unwritable
from extractors.model.errors import PartsFailed, StorageFailed, UserMistake
from reports.languages.display import counted

#: Of how many documents it is said by name that they could not be read.
_MOST_NAMES = 3
_LOCK = "work/lock"


def tell_of_dataset(places: Sequence[str], out: str, *, part_bytes: int = PART_BYTES) -> None:
    """Say what there would be to read."""
    inputs = _inputs(places, out)
    print(estimate(parts_of(inputs.files, part_bytes=part_bytes)))


def make_dataset(
    places: Sequence[str], out: str, *, jobs: int, workers: str | None = None, part_bytes: int = PART_BYTES
) -> Made:
    """Make the dataset *out* of the files in *places*, and return what was made; says how far it is.

    It is made in this process, with *jobs* others for documents, or by *workers*: so many, or those of a scheduler.

    Raises `UserMistake`, and OSError where the folder fails; ends with 3 when parts could not be read for now.
    """
    if not is_object(out) and (why := unwritable(Path(out))) is not None:
        raise UserMistake(why)
    inputs = _inputs(places, out)
    storage = open_storage(out)
    _check_place(storage)
    with _engine(workers, jobs) as engine, _alone_in(out), DatasetProgress() as progress:
        made = _made(storage, inputs, engine, progress, part_bytes)
    for folder in inputs.folders:
        say(f"{folder.folder}: {folder.kind}: {folder.detail}")
    _tell(made, out)
    return made


def check_dataset(folder: str) -> None:
    """Print what is missing or damaged in the dataset at *folder*; exit with 1 if anything is. Raises `UserMistake`."""
    storage = open_storage(folder)
    try:
        damage = list(damage_in(storage))
        tables = manifest_in(storage).tables
    except StorageFailed as problem:
        end(EXIT_UNFINISHED, str(problem))
    for line in damage:
        print(line)
    if damage:
        say(f"{folder}: {counted(len(damage), 'file')} to be made again, by the command that made the dataset")
        sys.exit(EXIT_FINDING)
    say(f"{folder} is what was written: {counted(sum(len(table.files) for table in tables.values()), 'file')}")


def _inputs(places: Sequence[str], out: str) -> Inputs:
    try:
        return inputs_of(places, out)
    except StorageFailed as problem:
        end(EXIT_UNFINISHED, str(problem))


@contextmanager
def _engine(workers: str | None, jobs: int) -> Iterator[Engine]:
    if workers is None:
        with PartWorker(jobs) as worker:
            yield OneProcess(worker)
        return
    from arkaudit.datasets.cluster import local_engine, remote_engine

    with local_engine(int(workers)) if workers.isdecimal() else remote_engine(workers) as engine:
        yield engine


def _made(storage: Storage, inputs: Inputs, engine: Engine, progress: DatasetProgress, part_bytes: int) -> Made:
    try:
        parts = planned(storage, inputs.files, inputs.folders, made_by=fingerprint(__version__), part_bytes=part_bytes)
        return Making(storage, parts, engine, __version__, progress).made()
    except (PartsFailed, StorageFailed, OSError) as problem:  # a disk that is full, say
        end(EXIT_UNFINISHED, f"the dataset is not finished: {problem}; the same command resumes it")


def _tell(made: Made, out: str) -> None:
    tables = made.manifest.tables
    mentions = counted(tables["mentions"].rows, "mention of an ARK", "mentions of ARKs")
    say(f"{out}: {counted(tables['documents'].rows, 'document')}, {mentions}, {counted(made.manifest.parts, 'part')}")
    if made.unreadable:
        names = ", ".join(made.first_unreadable[:_MOST_NAMES])
        say(f"{counted(made.unreadable, 'document')} could not be read (the table findings says why): {names}")
    if tables["mentions"].rows:
        say(after_dataset(out))


def _check_place(storage: Storage) -> None:
    """Raise `UserMistake` where something else is than a dataset, or a folder of one is a link to another place."""
    try:
        is_other = not storage.names("work/plans") and not _is_empty(storage)
    except StorageFailed as problem:
        end(EXIT_UNFINISHED, str(problem))
    if is_other:
        raise UserMistake(f"{storage.place} is not empty, and no dataset")
    if not is_object(storage.place):
        folders = ("work", *(f"work/{name}" for name in storage.folders("work")), *storage.folders(""))
        for name in folders:
            if Path(storage.place, name).is_symlink():
                raise UserMistake(f"{storage.place}/{name} is a link: the folders of a dataset are its own")


def _is_empty(storage: Storage) -> bool:
    """Return whether nothing is there but what a command makes that was killed before it had a plan."""
    if storage.names("") or set(storage.folders("")) - {"work"}:
        return False
    in_work = set(storage.names("work")) | set(storage.folders("work"))
    return in_work <= {"lock", "scratch", "plans"} and all(map(OUR_NAMES.fullmatch, storage.names(SCRATCH)))


@contextmanager
def _alone_in(out: str) -> Iterator[None]:
    """Keep other commands of machines that see the same folder out of it; object storage has no locks."""
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


class DatasetProgress(Progress, Listener):
    """The progress of a dataset: the parts that were read and decided, and what could not be read."""

    def __init__(self) -> None:
        super().__init__()
        self._parts_done = self._bytes_done = self._mentions = self._unreadable = 0

    def planned(self, parts: Sequence[Part], done: Sequence[Part]) -> None:
        """All *parts* are known, and those that were *done* before."""
        self.stage("parts read", len(parts), done=len(done))
        self._parts_done, self._bytes_done = len(done), sum(part.size for part in done)
        if done:
            say(f"resuming: {len(done):,} of {counted(len(parts), 'part')} had been read")

    def read(self, part: Part, record: ReadRecord) -> None:
        """One more part was read."""
        self._parts_done += 1
        self._bytes_done += part.size
        self._mentions += record.mentions
        self._unreadable += record.unreadable
        mentions = counted(self._mentions, "mention of an ARK", "mentions of ARKs")
        unread = f", {counted(self._unreadable, 'document')} could not be read" if self._unreadable else ""
        self.show(self._parts_done, f", {self._bytes_done / 1e6:,.1f} MB, {mentions}{unread}")

    def set_back(self, part: Part, reason: str) -> None:
        """A part was lost or has failed."""
        say(f"part {part.key}: {reason}")

    def deciding(self, parts: int, done: int) -> None:
        """All were read; so many are decided now."""
        self.stage("parts decided", parts, done=done)
        self._parts_done = done

    def decided(self, record: DecidedRecord) -> None:
        """One more part was decided."""
        self._parts_done += 1
        self.show(self._parts_done)
