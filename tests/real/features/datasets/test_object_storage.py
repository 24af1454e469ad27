"""Datasets on object storage, over HTTP on loopback: the rows of local files, whatever fails."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.passes import PARTS
from arkaudit.features.datasets.storage import Storage, bucket_files, objects_at
from extractors.model.errors import UserMistake
from tests.real.features.datasets.dataset_world import content_of, make, write_documents
from tests.real.loopback import run_command

_SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"


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
    bucket_files.cache_clear()
    files = boto3.client("s3")
    files.create_bucket(Bucket="bucket")
    yield files
    server.stop()
    bucket_files.cache_clear()


def put_documents(files: Any, folder: Path) -> list[Path]:
    """Write documents to the disk and to the bucket; return their paths."""
    paths = write_documents(folder)
    for path in paths:
        files.upload_file(str(path), "bucket", f"papers/{path.name}")
    return paths


def keys_in(files: Any, prefix: str) -> list[str]:
    return [entry["Key"] for entry in files.list_objects_v2(Bucket="bucket", Prefix=prefix).get("Contents", ())]


def content_at(files: Any, key: str) -> bytes:
    content: bytes = files.get_object(Bucket="bucket", Key=key)["Body"].read()
    return content


def make_there(places: list[str], out: str) -> None:
    make(out, [file for place in places for file in objects_at(place)])


def rows_there(files: Any, folder: str, tmp_path: Path) -> dict[str, list[str]]:
    """Return all rows of a dataset in the bucket, with the names of local files."""
    copy = tmp_path / "copy"
    parts = content_at(files, f"{folder}/{PARTS}").decode().split()
    for name in (PARTS, *(f"{table.name}/{part}.parquet" for table in DATASET_TABLES for part in parts)):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(content_at(files, f"{folder}/{name}"))
    return content_of(copy)


def test_objects_make_the_rows_of_files(tmp_path: Path, bucket: Any) -> None:
    paths = put_documents(bucket, tmp_path / "papers")
    make(tmp_path / "here", paths)
    make_there([f"s3://bucket/papers/{path.name}" for path in paths], "s3://bucket/ds")
    found = rows_there(bucket, "ds", tmp_path)
    local = content_of(tmp_path / "here")
    for rows in local.values():
        rows[:] = sorted(row.replace(f"{tmp_path}/", "s3://bucket/") for row in rows)
    assert found == local
    before = bucket.list_objects_v2(Bucket="bucket", Prefix="ds/work/read")["Contents"]
    make_there(["s3://bucket/papers/"], "s3://bucket/ds")
    assert bucket.list_objects_v2(Bucket="bucket", Prefix="ds/work/read")["Contents"] == before
    assert not [name for name in keys_in(bucket, "ds") if _SECRET.encode() in content_at(bucket, name)]


def test_storage_on_objects_has_files_and_folders(bucket: Any) -> None:
    storage = Storage("s3://bucket/ds/")
    with storage.scratch() as scratch:
        scratch.write_bytes(b"first")
        storage.put(scratch, "work/a.json")
    assert (storage.names("work"), storage.names(""), storage.names("none")) == (["a.json"], ["work"], [])
    assert storage.open("work/a.json").read() == b"first"
    storage.remove("work/a.json")
    storage.remove("work/a.json")
    with pytest.raises(FileNotFoundError):
        storage.open("work/a.json")


def test_a_command_reads_and_writes_there(tmp_path: Path, bucket: Any) -> None:
    put_documents(bucket, tmp_path / "papers")
    (tmp_path / "list").write_text("s3://bucket/papers/1-000.txt\ns3://bucket/papers/1-001.txt\n")
    command = ("dataset", "make", "--from", tmp_path / "list", "--out", "s3://bucket/ds")
    done = run_command(*command)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 2), done.stderr
    assert "next: arkaudit check --from s3://bucket/ds" in done.stderr
    assert len(rows_there(bucket, "ds", tmp_path)["documents"]) == 2
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
        ("s3://key:secret@bucket/a", "from the environment"),
        ("s3:///a", "name a bucket"),
        ("s3://bucket/none.gz", "there is no object at"),
    ],
)
def test_a_place_that_names_nothing_is_a_mistake(bucket: Any, place: str, said: str) -> None:
    with pytest.raises(UserMistake, match=said):
        objects_at(place)
