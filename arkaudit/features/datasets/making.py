"""Make or resume a dataset by one graph of Dask: read the parts, learn the evidence of all documents, decide the parts.

A part under its final name is done. So the same command, after a kill at any moment, makes only the missing parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from filelock import FileLock, Timeout

from arkaudit.features.datasets.cluster import local_client, remote_client, require_dask
from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.parts import PART_BYTES, Part, fingerprint, parts_of, split_parts
from arkaudit.features.datasets.passes import (
    PARTS,
    READ,
    DecidedPart,
    decide_part,
    done_parts_in,
    evidence_in,
    read_part,
    table_file,
)
from arkaudit.features.datasets.storage import (
    OWN_FILE,
    SCRATCH,
    DatasetError,
    InputFile,
    Storage,
    is_object,
    network_errors,
    objects_at,
    reason_of,
)
from arkaudit.output.exits import command, end, end_unread, say
from arkaudit.output.hints import next_words
from arkaudit.output.progress import Progress
from crawler.spiders.seeds import Seeds
from extractors.documents import document_name, unwritable_reason
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import Finding
from extractors.model.errors import EXIT_UNFINISHED, UserMistake
from extractors.model.formats import PLUGIN_FORMATS, DocumentFormat, add_formats
from reports.languages.display import count_noun

if TYPE_CHECKING:
    from distributed import Client, Future


#: Number of times that a part is tried again if its storage fails.
_RETRIES = 2


def make_parts(
    storage: Storage,
    client: Client,
    files: Collection[InputFile],
    progress: Progress,
    *,
    part_bytes: int = PART_BYTES,
    declared: Declared = NOTHING_DECLARED,
) -> list[DecidedPart]:
    """Make the dataset of *files* in *storage* by the workers of *client*, and return its parts in order of names.

    Raises `DatasetError`, OSError if the storage fails, and `UserMistake`.
    """
    done_parts, open_parts = split_parts(
        done_parts_in(storage), files, location=storage.location, part_bytes=part_bytes, declared=declared
    )
    if done_parts:
        say(f"resuming: {len(done_parts):,} of {count_noun(len(done_parts) + len(open_parts), 'part')} had been read")
    call = partial(call_in_worker, fingerprint(declared), declared, dict(PLUGIN_FORMATS), storage.location)

    def submit(part: Part, function: Callable[..., Any], *arguments: Any) -> Future:
        # A new key each time, because a scheduler remembers failed ones.
        key = f"{part.files[0].name}-{uuid4().hex}"
        return client.submit(call, function, *arguments, key=key, retries=_RETRIES)

    folder = str(Path.cwd())
    parts_by_future = {submit(part, read_part, part, folder, declared): part for part in open_parts}
    parts_by_key: dict[Any, Part] = {**done_parts, **parts_by_future}
    ordered_keys = sorted(parts_by_key, key=lambda key: parts_by_key[key].files[0].name)
    evidence = client.submit(call, evidence_in, ordered_keys, declared, pure=False)
    decide_futures = [submit(parts_by_key[key], decide_part, key, evidence) for key in ordered_keys]
    results: dict[Future, Any] = {}
    progress.stage("steps", len(parts_by_future) + len(decide_futures))
    for future, result in _answers([*parts_by_future, *decide_futures]):
        results[future] = result
        progress.show(len(results))
    decided_parts = [results[future] for future in decide_futures]
    with storage.scratch() as scratch:
        scratch.write_text("".join(f"{part.name}\n" for part in decided_parts))
        storage.put(scratch, PARTS)
    # Files of older inputs and of older evidence go. Files with foreign names stay.
    table_names = [table.name for table in DATASET_TABLES]
    kept_files = {
        *done_parts,
        *map(results.get, parts_by_future),
        *(table_file(table, part.name) for part in decided_parts for table in table_names),
    }
    for subfolder in (READ, SCRATCH, *table_names):
        for name in storage.names(subfolder):
            if f"{subfolder}/{name}" not in kept_files and OWN_FILE.fullmatch(name):
                storage.remove(f"{subfolder}/{name}")
    return decided_parts


def _answers(futures: Collection[Future]) -> Iterator[tuple[Future, Any]]:
    """Yield *futures* with their results in order of completion, also after a part has ended all workers that had it.

    Raises `DatasetError`, and `UserMistake` for workers of other versions.
    """
    from distributed import KilledWorker, as_completed

    lost_parts: set[str] = set()
    for future, result in as_completed(futures, with_results=True, raise_errors=False):
        if future.status == "finished":
            yield future, result
        elif future.status != "error":
            raise DatasetError("the scheduler is gone")
        elif isinstance(problem := result[1], KilledWorker):
            lost_parts.add(str(problem.task).rpartition("-")[0])
        elif isinstance(problem, UserMistake | ModuleNotFoundError):
            raise UserMistake(f"a worker of the cluster can't be used: {problem}")
        else:
            raise DatasetError(reason_of(problem))
    if lost_parts:
        # A part that waited at a worker is lost with the part that ended it.
        raise DatasetError(f"all workers ended that had the parts that begin with {', '.join(sorted(lost_parts))}")


def call_in_worker(
    expected_fingerprint: tuple[str, ...],
    declared: Declared,
    formats: Mapping[str, DocumentFormat],
    location: str,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Return the result of *function*, called in a worker with the storage at *location* and *arguments*.

    The worker gets the *formats* of plug-ins. Raises `UserMistake` if its `fingerprint`, with the *declared* check
    characters, differs from *expected_fingerprint*.
    """
    add_formats(formats)
    if fingerprint(declared) != expected_fingerprint:
        differences = "; ".join(sorted({*fingerprint(declared)}.difference(expected_fingerprint)))
        raise UserMistake(f"it has {differences}, unlike this command")
    return function(Storage(location), *arguments)


def inputs_of(places: Iterable[str], out: str) -> tuple[list[InputFile], Mapping[Path, Finding]]:
    """Return the files in *places*, except those of the dataset *out* itself, and findings about folders in *places*.

    Raises `UserMistake` for a missing place or a URL.
    """
    places = list(places)
    seeds = Seeds.parse(name for name in places if not is_object(name))
    if seeds.urls:
        raise UserMistake(f"a dataset is made of files, not of URLs: {seeds.urls[0]}")
    own_folder = Path(out).resolve()
    own_prefix = f"{out.rstrip('/')}/"
    objects = (file for name in places if is_object(name) for file in objects_at(name))
    files = {file.name: file for file in objects if not file.name.startswith(own_prefix)}
    for path in seeds.files:
        if own_folder not in path.resolve().parents:
            name = str(path)
            try:
                stat = path.stat()
                files[name] = InputFile(name, stat.st_size, str(stat.st_mtime_ns))
            except OSError as problem:
                # It becomes a row with this reason.
                files[name] = InputFile(name, 0, str(problem.strerror))
    return list(files.values()), seeds.folder_findings


def make_dataset(places: Sequence[str], out: str, *, workers: str, part_bytes: int, declared: Declared) -> None:
    """Make the dataset *out* from the files in *places*, and show progress.

    *workers* is a number of processes of this machine, or the address of a Dask scheduler. *declared* are the user's
    check characters by NAAN. Raises `UserMistake`, and OSError for an unusable folder. Exits with 3 if the dataset
    could not be finished, or no document is readable.
    """
    require_dask()
    if not is_object(out) and (reason := unwritable_reason(Path(out))) is not None:
        raise UserMistake(reason)
    files, folder_findings = inputs_of(places, out)
    for folder, finding in folder_findings.items():
        say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
    if not files:
        end_unread("nothing", ())
    with network_errors(out):
        storage = Storage(out)
        _check_place(storage)
    if workers.isdecimal():
        # A worker process takes longer to start than a small part to read.
        parts = len(parts_of(files, part_bytes=part_bytes))
        client_context = local_client(min(int(workers), parts))
    else:
        client_context = remote_client(workers)
    with client_context as client, _alone_in(out), Progress() as progress:
        try:
            decided_parts = make_parts(storage, client, files, progress, part_bytes=part_bytes, declared=declared)
        except (DatasetError, OSError) as problem:
            end(EXIT_UNFINISHED, f"the dataset is not finished: {problem}; the same command resumes it")
    document_count = sum(part.documents for part in decided_parts)
    mention_count = sum(part.mentions for part in decided_parts)
    unreadable_count = sum(part.unreadable for part in decided_parts)
    mention_words = count_noun(mention_count, "mention of an ARK", "mentions of ARKs")
    say(f"{out}: {count_noun(document_count, 'document')}, {mention_words}, {count_noun(len(decided_parts), 'part')}")
    if unreadable_count:
        say(f"{count_noun(unreadable_count, 'document')} could not be read (reasons: table findings)")
    if mention_count:
        check_command = command("check", "--from", out, "--store", "audit.db", "--contact", "you@example.org")
        say(next_words(check_command))
    if 0 < unreadable_count == document_count:
        end_unread("nothing", ())


def _check_place(storage: Storage) -> None:
    """Raise `UserMistake` if *storage* has files other than those of a dataset; hidden files are ignored."""
    own_names = {PARTS, "work", *(table.name for table in DATASET_TABLES)}
    if not own_names.issuperset(name for name in storage.names("") if not name.startswith(".")):
        raise UserMistake(f"{storage.location} is neither empty nor a dataset")


@contextmanager
def _alone_in(out: str) -> Iterator[None]:
    """Lock the folder *out* during the ``with`` block, also for other machines; object storage has no locks."""
    if is_object(out):
        yield
        return
    path = Path(out, "work/lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, timeout=0):
            yield
    except Timeout:
        raise UserMistake(f"{out} is being made by another command") from None
