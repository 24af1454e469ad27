"""Make a dataset by one graph of Dask: read the parts, learn the evidence of all documents, decide the parts.

A part under its final name is done. So the same command, after a kill at any moment, makes only the missing parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.parts import PART_BYTES, Part, done_and_left, fingerprint
from arkaudit.features.datasets.passes import (
    PARTS,
    READ,
    DecidedPart,
    decide_part,
    evidence_in,
    parts_read,
    read_part,
    table_file,
)
from arkaudit.features.datasets.storage import OWN_FILE, SCRATCH, DatasetError, InputFile, Storage, reason_of
from arkaudit.output.exits import say
from arkaudit.output.progress import Progress
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.errors import UserMistake
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
    """Make the dataset of *files* in *storage* by the workers of *client*, and return its parts in order.

    Raises `DatasetError`, OSError if the storage fails, and `UserMistake`.
    """
    done, left = done_and_left(
        parts_read(storage), files, location=storage.location, part_bytes=part_bytes, declared=declared
    )
    if done:
        say(f"resuming: {len(done):,} of {count_noun(len(done) + len(left), 'part')} had been read")
    call = partial(call_as, fingerprint(declared), declared, dict(PLUGIN_FORMATS), storage.location)

    def submit(part: Part, function: Callable[..., Any], *arguments: Any) -> Future:
        # A new key each time, because a scheduler remembers failed ones.
        key = f"{part.files[0].name}-{uuid4().hex}"
        return client.submit(call, function, *arguments, key=key, retries=_RETRIES)

    folder = str(Path.cwd())
    reading = {submit(part, read_part, part, folder, declared): part for part in left}
    parts: dict[Any, Part] = {**done, **reading}
    in_order = sorted(parts, key=lambda read: parts[read].files[0].name)
    learned = client.submit(call, evidence_in, in_order, declared, pure=False)
    deciding = [submit(parts[read], decide_part, read, learned) for read in in_order]
    results: dict[Future, Any] = {}
    progress.stage("steps", len(reading) + len(deciding))
    for future, result in _answers([*reading, *deciding]):
        results[future] = result
        progress.show(len(results))
    made = [results[future] for future in deciding]
    with storage.scratch() as scratch:
        scratch.write_text("".join(f"{part.name}\n" for part in made))
        storage.put(scratch, PARTS)
    # Files of older inputs and of older evidence go. Files with foreign names stay.
    tables = [table.name for table in DATASET_TABLES]
    kept = {*done, *map(results.get, reading), *(table_file(table, part.name) for part in made for table in tables)}
    for place in (READ, SCRATCH, *tables):
        for name in storage.names(place):
            if f"{place}/{name}" not in kept and OWN_FILE.fullmatch(name):
                storage.remove(f"{place}/{name}")
    return made


def _answers(futures: Collection[Future]) -> Iterator[tuple[Future, Any]]:
    """Yield *futures* with their results as they come; the others go on if a part ends all workers that have it.

    Raises `DatasetError`, and `UserMistake` for workers of other versions.
    """
    from distributed import KilledWorker, as_completed

    lost: set[str] = set()
    for future, result in as_completed(futures, with_results=True, raise_errors=False):
        if future.status == "finished":
            yield future, result
        elif future.status != "error":
            raise DatasetError("the scheduler is gone")
        elif isinstance(problem := result[1], KilledWorker):
            lost.add(str(problem.task).rpartition("-")[0])
        elif isinstance(problem, UserMistake | ModuleNotFoundError):
            raise UserMistake(f"a worker of the cluster can't be used: {problem}")
        else:
            raise DatasetError(reason_of(problem))
    if lost:
        # A part that waited at a worker is lost with the part that ended it.
        raise DatasetError(f"all workers ended that had the parts that begin with {', '.join(sorted(lost))}")


def call_as(
    expected: tuple[str, ...],
    declared: Declared,
    formats: Mapping[str, DocumentFormat],
    location: str,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Call *function* with the storage at *location* and *arguments* in a worker, as the command would.

    The worker gets the *formats* of plug-ins. Raises `UserMistake` if the versions of the worker, with the *declared*
    check characters, differ from *expected*.
    """
    add_formats(formats)
    if fingerprint(declared) != expected:
        differing = "; ".join(sorted({*fingerprint(declared)}.difference(expected)))
        raise UserMistake(f"it has {differing}, unlike this command")
    return function(Storage(location), *arguments)
