"""Commands on a disk that fails or loses power, each in a fork of one process, which preloads `faults.c`.

Run by `tests/real/features/datasets/test_disk_faults.py`; prints the faults found, as JSON.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from arkaudit.__main__ import main as command
from arkaudit.features.datasets.passes import PARTS
from arkaudit.features.datasets.storage import DatasetError
from tests.real.features.datasets.dataset_world import content_of, make
from tests.real.preloaded import IMPORTED

#: Number of changes of each scenario that fail in turn, from the first to the last.
FAILING = 2
#: Number of changes of each scenario after which the power fails in turn.
LOSSES = 2
_ERRORS = (errno.EIO, errno.ENOSPC)
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command that changes files, and the state that must follow whichever change fails."""

    name: str
    change: Callable[[Path], None]
    """Works in a folder of its own."""
    content: Callable[[Path], Any]
    """Returns the content of the folder in a form that can be compared."""
    wrong: Callable[[Path, Any], str | None]
    """Returns the faults of a folder after a failure, given the content after a run without failures."""
    prepare: Callable[[Path], None] = lambda folder: None
    """Makes the initial content of the folder."""


# -- actions


def crawl(folder: Path) -> None:
    arkaudit("crawl", str(folder.parent / "papers"), "--store", str(folder / "a.db"), "--only-routed", "--jobs", "1")


def dataset(folder: Path) -> None:
    # In this process, because faults are of one process.
    try:
        make(folder / "ds", sorted((folder.parent / "papers").iterdir()))
    except (DatasetError, OSError):
        sys.exit(3)


def report(folder: Path) -> None:
    arkaudit("report", "--store", str(folder.parent / "made.db"), "--format", "csv", "--out", str(folder / "out"))


def write_letters(folder: Path) -> None:
    for name in ("a.txt", "b.html", "c.tex"):
        (folder / name).write_text(f"see ark:/12148/bpt6k10\n7371t in {name}\n")


def fix(folder: Path) -> None:
    arkaudit("fix", str(folder), "--apply", "--jobs", "1")


def arkaudit(*arguments: str) -> None:
    sys.argv = ["arkaudit", *arguments]
    command()


# -- results


def store_content(folder: Path) -> Any:
    """Return the rows of a store without their times; None if there is no store."""
    import sqlite3

    if not (folder / "a.db").exists():
        return None
    with sqlite3.connect(f"file:{folder / 'a.db'}?mode=ro", uri=True) as raw:
        queries = (
            "select distinct url, outcome, body_sha256 from document order by 1",
            "select distinct as_written, reason, request_url from mention order by 1, 2, 3",
        )
        return [raw.execute(query).fetchall() for query in queries]


def store_wrong(folder: Path, _: Any) -> str | None:
    if not (folder / "a.db").exists():
        return None
    said, code = run_in_fork(partial(arkaudit, "store", "check", "--store", str(folder / "a.db")))
    return None if code in (0, 2) and "Traceback" not in said else f"store check: {code} {said[-300:]}"


def dataset_wrong(folder: Path, whole: Any) -> str | None:
    if (folder / "ds" / PARTS).exists() and content_of(folder / "ds") != whole:
        return "a finished dataset is damaged"
    return None


def report_content(folder: Path) -> Any:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def report_wrong(folder: Path, whole: Any) -> str | None:
    there = {name: data for name, data in report_content(folder).items() if name in whole}
    torn = [name for name, data in there.items() if data != whole[name]]
    return f"torn files of the report: {torn[:3]}" if torn else None


def letters(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in ("a.txt", "b.html", "c.tex")}


def letters_wrong(folder: Path, whole: dict[str, str]) -> str | None:
    former = {name: text.replace("107371t", "10\n7371t") for name, text in whole.items()}
    lost = [name for name, text in letters(folder).items() if text not in (whole[name], former[name])]
    return f"lost: {lost}" if lost else None


SCENARIOS = [
    Scenario("store", crawl, store_content, store_wrong),
    Scenario("dataset", dataset, lambda folder: content_of(folder / "ds"), dataset_wrong),
    Scenario("report", report, report_content, report_wrong),
    Scenario("fix", fix, letters, letters_wrong, write_letters),
]


# -- how it fails


def run_in_fork(work: Callable[[], object]) -> tuple[str, int]:
    """Run *work* in a fork; return its standard error and its exit code."""
    said_from, said_to = os.pipe()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(said_to, 2)
        os.dup2(nothing, 1)
        code = 0
        try:
            work()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException as error:
            import traceback

            os.write(2, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
            code = 70
        os._exit(code)
    os.close(said_to)
    with open(said_from, "rb") as pipe:  # noqa: PTH123  a descriptor
        said = pipe.read().decode("utf-8", "replace")
    return said, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def arm_fault(
    change: Callable[[Path], None], folder: Path, *, log: Path | None = None, at: int = 0, error: int = 0
) -> None:
    """Change *folder*; the change number *at* fails with *error*, and *log* gets all that are made."""
    _LIBC.fault_arm(str(folder).encode(), str(log).encode() if log else None, at, error)
    try:
        change(folder)
    finally:
        if log:
            log.with_suffix(".count").write_text(str(_LIBC.fault_changes()))


def failures(scenario: Scenario, place: Path) -> Iterator[str]:
    """Let each change of a scenario fail in turn; then repeat the action, which must complete the content."""
    first = fresh(place, scenario)
    before = {str(path): path.read_bytes() for path in first.iterdir()}
    log = place / f"{scenario.name}.log"
    said, code = run_in_fork(partial(arm_fault, scenario.change, first, log=log))
    whole, changes = scenario.content(first), int(log.with_suffix(".count").read_text())
    if code != 0:
        yield f"{scenario.name}: undisturbed it ends with {code}: {said[-300:]}"
        return
    tried = sorted({1 + round(step * (changes - 1) / FAILING) for step in range(FAILING + 1)})
    for number in tried:
        error = _ERRORS[number % 2]
        name = f"{scenario.name}, change {number} of {changes} fails with {errno.errorcode[error]}"
        folder = fresh(place, scenario)
        said, code = run_in_fork(partial(arm_fault, scenario.change, folder, at=number, error=error))
        if code not in (0, 2, 3) or "Traceback" in said:
            yield f"{name}: it ends with {code}: {said[-600:]}"
        yield from after(scenario, folder, whole, name)
    for number, state in enumerate(states(log, LOSSES, before)):
        name = f"{scenario.name}, the power fails, {number} of {LOSSES}"
        folder = fresh(place)
        state.restore(folder)
        if number == LOSSES - 1 and scenario.content(folder) != whole:
            yield f"{name}: it had ended with 0, and something is lost"
        yield from after(scenario, folder, whole, name)


def after(scenario: Scenario, folder: Path, whole: Any, name: str) -> Iterator[str]:
    wrong = scenario.wrong(folder, whole)
    if wrong is not None:
        yield f"{name}: {wrong}"
    said, code = run_in_fork(partial(scenario.change, folder))
    if code != 0:
        yield f"{name}: once more it ends with {code}: {said[-600:]}"
    elif scenario.content(folder) != whole:
        yield f"{name}: once more it comes to something else"


def fresh(place: Path, scenario: Scenario | None = None) -> Path:
    """Return a new folder with the initial content of a scenario; its name is always the same, as logs need."""
    folder = place / "disk"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if scenario is not None:
        scenario.prepare(folder)
    return folder


# -- files after a power failure: the synced content


@dataclass(slots=True)
class Disk:
    """Files according to the log of changes, and the content that is synced."""

    names: dict[str, int] = field(default_factory=dict)
    safe_names: dict[str, int] = field(default_factory=dict)
    contents: dict[int, bytearray] = field(default_factory=dict)
    safe_contents: dict[int, bytes] = field(default_factory=dict)
    _next: int = 0

    def apply(self, kind: str, path: str, other: str, offset: int, data: bytes) -> None:
        if kind == "c" or (kind in "wt" and path not in self.names):
            self._next += 1
            self.names[path] = self._next
            self.contents[self._next] = bytearray()
        if kind == "w":
            content = self.contents[self.names[path]]
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
        elif kind == "t":
            content = self.contents[self.names[path]]
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        elif kind == "s":
            if path in self.names:
                self.safe_contents[self.names[path]] = bytes(self.contents[self.names[path]])
            else:  # a folder
                inside = {
                    name
                    for name in (*self.names, *self.safe_names)
                    if os.path.dirname(name) == path  # noqa: PTH120
                }
                for name in inside:
                    self.safe_names.pop(name, None)
                    if name in self.names:
                        self.safe_names[name] = self.names[name]
        elif kind in "rl":
            if path in self.names:
                self.names[other] = self.names.pop(path) if kind == "r" else self.names[path]
        elif kind == "u":
            self.names.pop(path, None)

    def kept(self) -> State:
        """Return the files after the power failure."""
        return State({name: self.safe_contents.get(inode, b"") for name, inode in self.safe_names.items()})


@dataclass(frozen=True, slots=True)
class State:
    """Files, by the names that they had in the log."""

    files: dict[str, bytes]

    def restore(self, folder: Path) -> None:
        for name, data in self.files.items():
            path = Path(name)
            if path.is_relative_to(folder):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)


def states(log: Path, count: int, before: Mapping[str, bytes]) -> Iterator[State]:
    changes = list(read_log(log.read_bytes()))
    disk = Disk()
    for path, data in before.items():
        for change in (("w", path, "", 0, data), ("s", path, "", 0, b""), ("s", str(Path(path).parent), "", 0, b"")):
            disk.apply(*change)
    wanted = {round((step + 1) * len(changes) / count) for step in range(count)}
    for number, change in enumerate(changes, 1):
        disk.apply(*change)
        if number in wanted:
            yield disk.kept()


def read_log(data: bytes) -> Iterator[tuple[str, str, str, int, bytes]]:
    at, head = 0, struct.Struct("=c3Iq")
    while at < len(data):
        kind, path, other, size, offset = head.unpack_from(data, at)
        at += head.size
        texts = []
        for length in (path, other):
            texts.append(data[at : at + length].decode())
            at += length
        yield kind.decode(), texts[0], texts[1], offset, data[at : at + size]
        at += size


def main() -> None:
    for module in IMPORTED:  # once, and not in each fork
        import_module(module)
    gc.freeze()
    found = [line for scenario in SCENARIOS for line in failures(scenario, Path(sys.argv[1]))]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
