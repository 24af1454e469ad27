"""What commands say about hard links and obstacles next to a store."""

import os
from pathlib import Path

import pytest

from crawler.store import StoreUnopenable
from crawler.store.store import Store
from tests.real.loopback import run_command
from tests.unit.crawler import test_foreign_stores

store = test_foreign_stores.store


def test_hard_link_is_refused_in_one_line(store: Path, tmp_path: Path) -> None:
    os.link(store, tmp_path / "b.db")
    for verb in (("report",), ("explain", "ark:1/x"), ("store", "check")):
        done = run_command(*verb, "--store", tmp_path / "b.db")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "has 2 names on its disk (hard links)" in done.stderr
    with pytest.raises(StoreUnopenable):
        Store.open(store)


def test_obstacle_is_one_line_of_the_command(store: Path, tmp_path: Path) -> None:
    (tmp_path / "a.db-wal").symlink_to("/dev/zero")
    for verb in (("report",), ("recheck",)):
        done = run_command(*verb, "--store", store)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
