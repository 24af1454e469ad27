"""Reports on disks that refuse: read-only folders, stores on read-only media, no memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from extractors.model.errors import UserMistake
from reports.exports import write_report
from reports.store.frames import load_frames
from reports.tables.report_tables import Report
from tests.real.loopback import RawServer, check_rows, reply, run_command
from tests.real.read_only import read_only
from tests.report_world import write_world
from tests.unit.reports import test_report_exports
from tests.unit.reports.test_report_exports import files
from tests.unit.reports.test_report_frames import in_wal_mode

out = test_report_exports.out


@pytest.mark.parametrize("place", [".", "report"], ids=["the folder above", "the folder itself"])
def test_a_read_only_folder_is_refused(tmp_path: Path, report: Report, place: str) -> None:
    archive = tmp_path / "archive"
    out = archive / "report"
    archive.mkdir()
    if place == "report":
        out.mkdir()
    with read_only(archive / place), pytest.raises(UserMistake, match="can't be written"):
        write_report(report, out)
    assert files(archive) == {}


def test_report_without_memory_leaves_no_folder_of_its_own(tmp_path: Path) -> None:
    script = f"""
import resource
from pathlib import Path
from reports.exports import staging_folder

with staging_folder(Path({str(tmp_path / "out")!r})) as folder:
    for number in range(3):
        (folder / str(number) / "tables").mkdir(parents=True)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**22, -1))
    taken = [None] * 10**5
    for length in (2**18, 2**12, 2**8, 64, 16):
        try:
            while True:
                taken.append(bytearray(length))
        except MemoryError:
            pass
    raise MemoryError
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MemoryError" in done.stderr
    assert not list((tmp_path / "out").glob(".arkaudit-report-*"))


def test_a_store_in_wal_mode_is_read_from_a_medium_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    path = write_world(folder / "world.sqlite")
    in_wal_mode(path).close()
    with read_only(folder):
        assert len(load_frames(path).verdicts) == 9
    assert [file.name for file in folder.iterdir()] == ["world.sqlite"]


@pytest.mark.promise
def test_report_writes_targets_that_an_inventory_takes(tmp_path: Path) -> None:
    store, out = tmp_path / "audit.db", tmp_path / "report"
    names = ["x5a", "x5b", "x5c"]

    def site(target: str) -> bytes:
        _, place, name = target.split("/")
        if name not in names:
            return reply("404 Not Found")
        return reply("301 Moved Permanently", location=f"/new/{name}") if place == "old" else reply(body=f"<p>{name}")

    with RawServer(site) as landing:

        def resolve(target: str) -> bytes:
            name = target.rpartition("/")[2].partition("?")[0]
            there = f"http://localhost:{landing.port}/old/{name}"
            return reply("302 Found", location=there) if name in names else reply("404 Not Found")

        with RawServer(resolve) as server:
            routed = f"--connect-to=localhost:{landing.port}=127.0.0.1:{landing.port}"
            check_rows("--store", store, routed, *(f"{server.url}/ark:/12x45/{name}" for name in names))
    report = ("report", "--store", store, "--format", "csv")
    assert run_command(*report, "--targets-for", "ezid").returncode == 2
    done = run_command(*report, "--targets-for", "ezid", "--out", out)
    assert "targets.csv has new targets for 3 ARKs" in done.stderr
    [_, row, *_] = (out / "targets.csv").read_text().splitlines()
    assert row.startswith("ark:/12x45/x5a,http://localhost:")
    assert row.endswith("/new/x5a")
    done = run_command(*report, "--inventory", out / "targets.csv", "--out", out)
    assert done.returncode == 0, done.stderr
