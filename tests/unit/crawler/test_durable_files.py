"""Durable writes: a file is complete or absent, and names stay in their folder."""

from pathlib import Path

import pytest

from crawler.model.durable_files import durable_file


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), durable_file(path) as file:
        file.writelines([b"half of", None])  # type: ignore[list-item]
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a.json", b"old")]


def test_new_file_replaces_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    with durable_file(path, replaces=False, mode=0o600) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), durable_file(path, replaces=False) as file:
        file.write(b"second")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"first", 0o600)
    with durable_file(path) as file:
        file.write(b"third")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a.key", b"third")]
