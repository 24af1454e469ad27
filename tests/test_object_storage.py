"""Datasets on object storage, over HTTP on loopback: the rows of local files, whatever fails."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from arkaudit.datasets.build import DatasetMaker, PartWorker
from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.plan import manifest_in
from arkaudit.datasets.storage import ObjectStorage, objects_of, open_object, open_storage
from extractors.model.errors import DatasetError, UserMistake
from tests.cutting_proxy import cut_connections
from tests.dataset_world import content_of, make, plan_of, write_documents
from tests.loopback import run_command
from tests.waiting import PATIENCE_S

_SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
ROOT = Path(__file__).parent.parent


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield the client of a bucket for one test."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    told = {
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": _SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    reset = urllib.request.Request(f"http://127.0.0.1:{port}/moto-api/reset", method="POST")
    urllib.request.urlopen(reset, timeout=30).close()  # all servers of a process have the same buckets
    files = _forgetful()
    files.mkdir("bucket")
    yield files
    server.stop()
    _forgetful()


def _forgetful() -> Any:
    """Return a client without a cache from other tests."""
    from arkaudit.datasets import storage

    fsspec.filesystem("s3").clear_instance_cache()
    storage.object_files.cache_clear()
    return fsspec.filesystem("s3", use_listings_cache=False)


def put_documents(files: Any, folder: Path) -> list[Path]:
    """Write documents to the disk and to the bucket; return their paths."""
    paths = write_documents(folder)
    for path in paths:
        files.put_file(str(path), f"bucket/papers/{path.name}")
    return paths


def make_there(places: list[str], out: str, *, part_bytes: int = 1_500) -> None:
    plan = plan_of(open_storage(out), objects_of(places), part_bytes=part_bytes)
    with PartWorker(1) as worker:
        DatasetMaker(plan, worker).make()


def rows_there(out: str, tmp_path: Path) -> dict[str, list[str]]:
    """Return all rows of a dataset in the bucket, with the names of local files."""
    storage = open_storage(out)
    folder = tmp_path / "copy"
    manifest = manifest_in(storage)
    for table in DATASET_TABLES:
        for name in manifest.tables[table.name].files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with storage.local(name) as path:
                (folder / name).write_bytes(path.read_bytes())
    (folder / "manifest.json").write_bytes(manifest.to_bytes())
    return content_of(folder)


def test_objects_make_the_rows_of_files(tmp_path: Path, bucket: Any) -> None:
    paths = put_documents(bucket, tmp_path / "papers")
    make(tmp_path / "here", paths)
    make_there(["s3://bucket/papers/*.txt", "s3://bucket/papers/1-crawl.warc.gz"], "s3://bucket/ds")
    found = rows_there("s3://bucket/ds", tmp_path)
    local = content_of(tmp_path / "here")
    for rows in local.values():
        rows[:] = sorted(row.replace(f"{tmp_path}/", "s3://bucket/") for row in rows)
    assert found == local
    before = bucket.ls("bucket/ds/work/read", detail=False)
    make_there(["s3://bucket/papers/"], "s3://bucket/ds")
    assert bucket.ls("bucket/ds/work/read", detail=False) == before
    assert not [name for name in bucket.find("bucket/ds") if _SECRET.encode() in bucket.cat_file(name)]


def test_first_writer_of_an_object_wins(bucket: Any) -> None:
    storage = ObjectStorage("s3://bucket/ds")
    assert storage.create("work/a.json", b"first")
    assert not storage.create("work/a.json", b"second")
    assert storage.create("work/a.json", b"first")  # asked once more, for its answer got lost
    assert storage.read("work/a.json") == b"first"
    assert (storage.names("work"), storage.names(""), storage.names("none")) == (["a.json"], ["work/"], [])
    assert storage.digest("work/a.json") == hashlib.sha256(b"first").hexdigest()
    storage.remove("work/a.json")
    assert (storage.read("work/a.json"), storage.digest("work/a.json")) == (None, None)


def _read_on(bucket: Any, place: str) -> None:
    """Read an object that vanishes meanwhile, as a reader of archives does, for which a failure is damage."""
    with open_object(place) as stream:
        assert stream.read(4) == b"PK\x03\x04"
        bucket.rm_file(place)
        with contextlib.suppress(Exception):
            stream.seek(39_000_000)
            stream.read(10)


def test_network_failures_are_no_damage(bucket: Any) -> None:
    bucket.pipe_file("bucket/a.zip", b"PK\x03\x04" + bytes(40_000_000))
    with pytest.raises(DatasetError, match="could not be read to its end"):
        _read_on(bucket, "s3://bucket/a.zip")


@pytest.mark.parametrize("cuts", [1, 1_000])
def test_a_connection_that_is_lost_in_a_file_is_tried_again_and_no_damage(
    tmp_path: Path, bucket: Any, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    paths = put_documents(bucket, tmp_path / "papers")
    make(tmp_path / "here", paths)
    local = content_of(tmp_path / "here")
    for rows in local.values():
        rows[:] = sorted(row.replace(f"{tmp_path}/", "s3://bucket/") for row in rows)
    server = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    assert server.port is not None
    with cut_connections(server.port, r"/papers/1-crawl\.warc\.gz", cuts=cuts) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.own_port}")
        _forgetful()
        if cuts > 1:
            with pytest.raises(DatasetError, match="could not be read to its end"):
                make_there(["s3://bucket/papers/"], "s3://bucket/ds")
            with pytest.raises(UserMistake):
                manifest_in(open_storage("s3://bucket/ds"))
            proxy.cuts = 0
        make_there(["s3://bucket/papers/"], "s3://bucket/ds")
        assert proxy.cut
        assert rows_there("s3://bucket/ds", tmp_path) == local
        _forgetful()


def test_a_command_reads_and_writes_there(tmp_path: Path, bucket: Any) -> None:
    put_documents(bucket, tmp_path / "papers")
    (tmp_path / "list").write_text("s3://bucket/papers/1-000.txt\ns3://bucket/papers/1-001.txt\n")
    command = ("dataset", "make", "--from", tmp_path / "list", "--out", "s3://bucket/ds")
    done = run_command(*command)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 2), done.stderr
    assert "next: arkaudit check --from s3://bucket/ds" in done.stderr
    assert len(rows_there("s3://bucket/ds", tmp_path)["documents"]) == 2
    dry = ("check", "--from", "s3://bucket/ds", "--dry-run")
    done = run_command(*dry)
    assert (done.returncode, done.stderr) == (0, "")
    assert "n2t.net" in done.stdout
    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    done = run_command(*command, **nowhere)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert _SECRET not in done.stderr
    done = run_command(*dry, **nowhere)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3://key:secret@bucket/a", "into the environment"),
        ("s3:///a", "no bucket"),
        ("s3://bucket/none.gz", "there is no object at"),
        ("s3://bucket/*.gz", "there is no object at"),
    ],
)
def test_a_place_that_names_nothing_is_a_mistake(bucket: Any, place: str, said: str) -> None:
    with pytest.raises(UserMistake, match=said):
        objects_of([place])


def test_a_manifest_has_no_secret_and_no_endpoint(tmp_path: Path, bucket: Any) -> None:
    put_documents(bucket, tmp_path / "papers")
    make_there(["s3://bucket/papers/"], "s3://bucket/ds")
    manifest = bucket.cat_file("bucket/ds/manifest.json").decode()
    assert json.loads(manifest)["inputs"]["files"] == 11
    assert "127.0.0.1" not in manifest


def test_a_report_on_objects_is_that_on_files(tmp_path: Path, bucket: Any) -> None:
    put_documents(bucket, tmp_path / "papers")
    make_there(["s3://bucket/papers/"], "s3://bucket/ds")
    bucket.get("bucket/ds", str(tmp_path / "ds"), recursive=True)
    for place, out in (("s3://bucket/ds/", "there"), (str(tmp_path / "ds"), "here")):
        done = run_command("report", "--dataset", place, "--out", tmp_path / out, "--format", "csv")
        assert done.returncode == 0, done.stderr
    tables = [
        {path.name: path.read_bytes() for path in (tmp_path / out / "tables").iterdir()} for out in ("there", "here")
    ]
    assert tables[0] == tables[1]
    bucket.rm_file(next(name for name in bucket.find("bucket/ds/mentions")))
    command = [sys.executable, "-m", "arkaudit", "report", "--dataset", "s3://bucket/ds"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
