"""Make or resume a dataset for `arkaudit dataset make`, and verify one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from arkaudit.datasets.build import DATASET_FILES, DatasetMaker, Engine, FinishedDataset, PartWorker
from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.connection import require_duckdb
from arkaudit.datasets.passes import EVIDENCE, READ
from arkaudit.datasets.plan import PLANS, FolderFinding, Part, Plan, damage_in, fingerprint, manifest_in, parts_of
from arkaudit.datasets.storage import SCRATCH, InputFile, Storage, is_object, objects_of, open_storage
from arkaudit.output.exits import EXIT_FINDING, EXIT_UNFINISHED, after_dataset, end, say
from arkaudit.output.progress import Progress
from crawler.spiders.seeds import Seeds
from extractors.documents import TRIAL_PREFIX, document_name, unwritable_reason
from extractors.model.errors import DatasetError, UserMistake
from reports.languages.display import count_noun

#: Bytes (compressed) that a core reads per second, by suffix of the file name; the first match counts. Rates of WARC and
#: WET files were measured in November 2026 on one core of a server; the others are guesses. Other names count as PDF.
_RATES = (
    ((".wet.gz",), 11e6),
    ((".warc.gz",), 8e6),
    ((".warc",), 35e6),
    ((".gz", ".zip", ".zst", ".xz", ".bz2"), 6e6),
    ((".txt", ".md", ".xml", ".json", ".jsonl", ".csv", ".html", ".htm"), 15e6),
)
_OTHER_RATE = 6e6


def inputs_of(places: Iterable[str], out: str) -> tuple[list[InputFile], list[FolderFinding]]:
    """Return the files in *places*, except those of the dataset *out* itself, and findings about their folders.

    Raises `UserMistake`.
    """
    places = list(places)
    objects = [name for name in places if is_object(name)]
    seeds = Seeds.parse(name for name in places if not is_object(name))
    if seeds.urls:
        raise UserMistake(f"a dataset is made of files, not of URLs: {seeds.urls[0]}")
    own = Path(out).resolve()
    below = f"{out.rstrip('/')}/"
    files = [file for file in objects_of(objects) if not file.name.startswith(below)]
    for path in seeds.files:
        if own not in path.resolve().parents:
            try:
                stat = path.stat()
                files.append(InputFile(str(path), stat.st_size, str(stat.st_mtime_ns)))
            except OSError as problem:
                # It becomes a row with this reason.
                files.append(InputFile(str(path), 0, str(problem.strerror)))
    folders = [(document_name(folder), finding) for folder, finding in seeds.folder_findings.items()]
    return files, folders


def estimate(parts: Sequence[Part]) -> str:
    """Return a phrase with the number of files, bytes and parts, and the estimated time to read them.

    >>> estimate([Part("p000001", (InputFile("a.wet.gz", 110_000_000, ""),))])
    '1 file, 110.0 MB, 1 part, about 0.003 hours of one core'
    """
    files = [file for part in parts for file in part.files]
    size = sum(file.size for file in files)
    seconds = 0.0
    for file in files:
        fitting = (rate for ends, rate in _RATES if file.name.lower().endswith(ends))
        seconds += file.size / next(fitting, _OTHER_RATE)
    hours = seconds / 3600
    amount = f"{count_noun(len(files), 'file')}, {size / 1e6:,.1f} MB, {count_noun(len(parts), 'part')}"
    return f"{amount}, about {hours:.{0 if hours >= 10 else 1 if hours >= 0.1 else 3}f} hours of one core"


_LOCK = "work/lock"


def print_amount(places: Sequence[str], out: str, *, part_bytes: int) -> None:
    """Print the amount of data that a command would read."""
    files, _ = inputs_of(places, out)
    print(estimate(parts_of(files, part_bytes=part_bytes)))


def make_dataset(
    places: Sequence[str], out: str, *, jobs: int, workers: str | None, part_bytes: int
) -> FinishedDataset:
    """Make the dataset *out* from the files in *places*, and show progress.

    It is made in this process, with *jobs* others for documents, or by *workers*: a number of Dask workers, or the
    address of a scheduler. Raises `UserMistake`, and OSError for an unusable folder; exits with 3 if parts failed.
    """
    require_duckdb()
    if not is_object(out) and (why := unwritable_reason(Path(out))) is not None:
        raise UserMistake(why)
    files, folders = inputs_of(places, out)
    storage = open_storage(out)
    _check_place(storage)
    with _engine(workers, jobs) as engine, _alone_in(out), Progress() as progress:
        try:
            plan = Plan(storage, fingerprint())
            plan.extend(files, folders, places=places, part_bytes=part_bytes)
            made = DatasetMaker(plan, engine, progress).make()
        except (DatasetError, OSError) as problem:
            end(EXIT_UNFINISHED, f"the dataset is not finished: {problem}; the same command resumes it")
    for folder, finding in folders:
        say(f"{folder}: {finding.kind}: {finding.detail}")
    tables = made.manifest.tables
    mentions = count_noun(tables["mentions"].rows, "mention of an ARK", "mentions of ARKs")
    documents = count_noun(tables["documents"].rows, "document")
    say(f"{out}: {documents}, {mentions}, {count_noun(made.manifest.parts, 'part')}")
    if made.unreadable:
        names = ", ".join(made.first_unreadable)
        say(f"{count_noun(made.unreadable, 'document')} could not be read (reasons: table findings): {names}")
    if tables["mentions"].rows:
        say(after_dataset(out))
    return made


def check_dataset(folder: str) -> None:
    """Print missing and damaged files of the dataset at *folder*; exit with 1 if any. Raises `UserMistake`."""
    storage = open_storage(folder)
    manifest = manifest_in(storage)
    damage = list(damage_in(storage, manifest))
    for line in damage:
        print(line)
    if damage:
        say(f"{folder}: {count_noun(len(damage), 'file')} missing or damaged; repeat the command that made the dataset")
        sys.exit(EXIT_FINDING)
    files = sum(len(table.files) for table in manifest.tables.values())
    say(f"{folder} is unchanged: {count_noun(files, 'file')}")


def _engine(workers: str | None, jobs: int) -> AbstractContextManager[Engine]:
    if workers is None:
        return PartWorker(jobs)
    from arkaudit.datasets.cluster import local_engine, remote_engine

    return local_engine(int(workers)) if workers.isdecimal() else remote_engine(workers)


def _check_place(storage: Storage) -> None:
    """Raise `UserMistake` if the place holds other files than a dataset, or a folder of it is a symbolic link."""
    # A command that was killed before it had a plan leaves these.
    is_empty = (
        all(name == "work/" or (name.startswith(TRIAL_PREFIX) and name.endswith("/")) for name in storage.names(""))
        and set(storage.names("work")) <= {"lock", "scratch/", "plans/"}
        and all(map(DATASET_FILES.fullmatch, storage.names(SCRATCH)))
    )
    if not storage.names(PLANS) and not is_empty:
        raise UserMistake(f"{storage.place} is neither empty nor a dataset")
    for name in ("work", PLANS, READ, EVIDENCE, SCRATCH, *(table.name for table in DATASET_TABLES)):
        if not is_object(storage.place) and Path(storage.place, name).is_symlink():
            raise UserMistake(f"{storage.place}/{name} is a link, which a dataset must not contain")


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
