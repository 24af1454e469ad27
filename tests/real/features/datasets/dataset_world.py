"""Documents for datasets, the content of a dataset, and commands that make one and are killed at every step."""

import atexit
import gzip
import json
import os
import random
import shutil
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  Arrow would import it in each fork
import pyarrow.parquet as pq
from distributed import Client

from arkaudit.features.datasets import making
from arkaudit.features.datasets.cluster import local_client, require_dask
from arkaudit.features.datasets.making import make_parts
from arkaudit.features.datasets.passes import PARTS, DecidedPart
from arkaudit.features.datasets.storage import InputFile, Storage
from arkaudit.output.progress import Progress
from extractors.mentions.rows import ALL_COLUMNS

_LETTERS = "bcdfghjkmnpqrstvwxz0123456789"

Row = dict[str, Any]


def write_documents(folder: Path, count: int = 12, *, seed: int = 1) -> list[Path]:
    """Write documents; some break ARKs at line ends that are whole in others. One is a WARC file."""
    chance = random.Random(1)
    names = ["".join(chance.choices(_LETTERS, k=10)) for _ in range(12)]
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    texts = [_text(chance, names) for _ in range(count)]
    made = []
    for number, text in enumerate(texts[2:]):
        made.append(folder / f"{seed}-{number:03}.txt")
        made[-1].write_text(text)
    made.append(folder / f"{seed}-crawl.warc.gz")
    made[-1].write_bytes(b"".join(gzip.compress(record(f"http://b.example/{n}", texts[n])) for n in (0, 1, 0)))
    return made


def _text(chance: random.Random, names: list[str]) -> str:
    return " ".join(
        f"see ark:/12148/{name[:5]}{chance.choice(['', chr(10)])}{name[5:]} in the catalogue"
        for name in chance.choices(names, k=6)
    )


def record(url: str, text: str) -> bytes:
    """Return a record of a WARC file."""
    body = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


def rows_in(dataset: Path, table: str) -> list[Row]:
    """Return the rows of a table, part by part."""
    files = (dataset / table / f"{part}.parquet" for part in parts_in(dataset))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def parts_in(dataset: Path) -> list[str]:
    """Return the names of the parts of a finished dataset, in order."""
    return (dataset / PARTS).read_text().split()


def content_of(dataset: Path) -> dict[str, list[str]]:
    """Return all rows of a dataset, so that two can be compared."""
    return {table: sorted(map(str, rows_in(dataset, table))) for table in ("documents", "mentions", "findings")}


def extracted_rows(dataset: Path) -> list[Row]:
    """Return the mentions of a dataset as `arkaudit extract` prints them, by document."""
    rows = sorted(rows_in(dataset, "mentions"), key=lambda row: (row["document"], row["ordinal"]))
    return [{name: row[name] for name in ALL_COLUMNS} for row in rows]


def files_of(paths: list[Path]) -> list[InputFile]:
    """Return the files at *paths*, as a part has them."""
    return [InputFile(str(path), path.stat().st_size, "") for path in paths]


@cache
def client_here() -> Client:
    """Return the client of a Dask worker in this process."""
    require_dask()
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(local_client(1))


def make(
    out: Path | str, paths: list[Path] | list[InputFile], storage: Storage | None = None, *, part_bytes: int = 1_500
) -> list[DecidedPart]:
    """Make a dataset in this process, in small parts."""
    files = [path if isinstance(path, InputFile) else files_of([path])[0] for path in paths]
    return make_parts(storage or Storage(str(out)), client_here(), files, Progress(), part_bytes=part_bytes)


class _DyingStorage(Storage):
    """A storage whose process is gone before it changes something for the n-th time."""

    def __init__(self, folder: Path, dies_at: int) -> None:
        super().__init__(str(folder))
        self._left = dies_at

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(9)

    def put(self, scratch: Path, name: str) -> None:
        self._step()
        super().put(scratch, name)

    def remove(self, name: str) -> None:
        self._step()
        super().remove(name)


def main(folder: Path, papers: Path) -> None:
    """Make datasets in processes that end at a step, then in others that go on; print the results.

    At each step one process ends, and another one finishes. Each process of the last dataset ends one step later
    than the process before.
    """
    paths = sorted(papers.iterdir())
    # In another process, as a fork has no other threads.
    assert not _ends_at(folder / "whole", paths, 0)
    expected = content_of(folder / "whole")
    wrong, step = [], 1
    while _ends_at(folder / "ds", paths, step):
        assert not _ends_at(folder / "ds", paths, 0)
        if content_of(folder / "ds") != expected:
            wrong.append(step)
        shutil.rmtree(folder / "ds")
        step += 1
    deaths = 0
    while _ends_at(folder / "last", paths, deaths + 1):
        deaths += 1
    if content_of(folder / "last") != expected:
        wrong.append(-deaths)
    print(json.dumps({"steps": step - 1, "deaths": deaths, "wrong": wrong}))


def _ends_at(out: Path, paths: list[Path], step: int) -> bool:
    """Make a dataset in another process; returns whether it has ended at that step, and not come to its end."""
    child = os.fork()
    if not child:
        storage = _DyingStorage(out, step)
        making.Storage = lambda _: storage  # type: ignore[assignment, misc]
        make(out, paths, storage)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9), code
    return code == 9


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
