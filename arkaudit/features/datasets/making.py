"""Make or resume a dataset for `arkaudit dataset make`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from arkaudit.features.datasets.cluster import local_client, remote_client, require_dask
from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.graph import make_parts
from arkaudit.features.datasets.parts import parts_of
from arkaudit.features.datasets.passes import PARTS
from arkaudit.features.datasets.storage import DatasetError, InputFile, Storage, is_object, network_errors, objects_at
from arkaudit.output.exits import command, end, end_unread, say
from arkaudit.output.progress import Progress
from crawler.spiders.seeds import Seeds
from extractors.documents import document_name, unwritable_reason
from extractors.model.check_characters import Declared
from extractors.model.documents import Finding
from extractors.model.errors import EXIT_UNFINISHED, UserMistake
from reports.hints import next_words
from reports.languages.display import count_noun


def inputs_of(places: Iterable[str], out: str) -> tuple[list[InputFile], Mapping[Path, Finding]]:
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

    It is made by *workers*: a number of processes of this machine, or the address of a Dask scheduler. *declared* are
    the user's check characters. Raises
    `UserMistake`, and OSError for an unusable folder; exits with 3 if the dataset could not be finished, or no document
    is readable.
    """
    require_dask()
    if not is_object(out) and (why := unwritable_reason(Path(out))) is not None:
        raise UserMistake(why)
    files, folders = inputs_of(places, out)
    for folder, finding in folders.items():
        say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
    if not files:
        end_unread("nothing", ())
    with network_errors(out):
        storage = Storage(out)
        _check_place(storage)
    if workers.isdecimal():
        # A worker process takes longer to start than a small part to read.
        parts = len(parts_of(files, part_bytes=part_bytes))
        connected = local_client(min(int(workers), parts))
    else:
        connected = remote_client(workers)
    with connected as client, _alone_in(out), Progress() as progress:
        try:
            made = make_parts(storage, client, files, progress, part_bytes=part_bytes, declared=declared)
        except (DatasetError, OSError) as problem:
            end(EXIT_UNFINISHED, f"the dataset is not finished: {problem}; the same command resumes it")
    documents, arks = sum(part.documents for part in made), sum(part.mentions for part in made)
    unreadable = sum(part.unreadable for part in made)
    mentions = count_noun(arks, "mention of an ARK", "mentions of ARKs")
    say(f"{out}: {count_noun(documents, 'document')}, {mentions}, {count_noun(len(made), 'part')}")
    if unreadable:
        say(f"{count_noun(unreadable, 'document')} could not be read (reasons: table findings)")
    if arks:
        check = command("check", "--from", out, "--store", "audit.db", "--contact", "you@example.org")
        say(next_words(check))
    if 0 < unreadable == documents:
        end_unread("nothing", ())


def _check_place(storage: Storage) -> None:
    """Raise `UserMistake` if the place holds other files than a dataset, apart from hidden ones."""
    own = {PARTS, "work", *(table.name for table in DATASET_TABLES)}
    if not own.issuperset(name for name in storage.names("") if not name.startswith(".")):
        raise UserMistake(f"{storage.location} is neither empty nor a dataset")


@contextmanager
def _alone_in(out: str) -> Iterator[None]:
    """Lock the folder against other commands, also of other machines; object storage has no locks."""
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
