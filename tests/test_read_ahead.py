"""Iterators that run at a time give their items in the order in which they were begun."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.read_ahead import ReadAhead
from tests.loopback import run_command
from tests.test_two_passes import members


async def counted(name: int, pauses: list[int]) -> AsyncIterator[tuple[int, int]]:
    for number, pause in enumerate(pauses):
        for _ in range(pause):
            await asyncio.sleep(0)
        yield name, number


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8), st.integers(1, 4))
def test_items_come_in_the_order_of_their_iterators(pauses: list[list[int]], most: int) -> None:
    async def read() -> list[tuple[int, int]]:
        ahead: ReadAhead[tuple[int, int]] = ReadAhead(most)

        async def begin() -> None:
            for name, each in enumerate(pauses):
                await ahead.begin(counted(name, each))
            await ahead.end()

        return [item async for item in ahead.items(begin())]

    expected = [(name, number) for name, each in enumerate(pauses) for number in range(len(each))]
    assert asyncio.run(read()) == expected


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_a_failure_comes_out_behind_what_came_before(fails_at: int) -> None:
    async def failing(name: int) -> AsyncIterator[int]:
        yield name
        if name == fails_at:
            raise OSError("the disk is gone")
        yield name

    got: list[int] = []

    async def read() -> None:
        ahead: ReadAhead[int] = ReadAhead(3)

        async def begin() -> None:
            for name in range(3):
                await ahead.begin(failing(name))
            await ahead.end()

        async for item in ahead.items(begin()):
            got.append(item)

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(read())
    assert got == [name for name in range(fails_at) for _ in range(2)] + [fails_at]


def test_what_is_put_between_does_not_wait_for_a_slow_iterator() -> None:
    async def read() -> list[str]:
        ahead: ReadAhead[str] = ReadAhead(2)
        goes_on = asyncio.Event()

        async def slow() -> AsyncIterator[str]:
            await goes_on.wait()
            yield "slow"

        async def begin() -> None:
            await ahead.begin(slow())
            assert ahead.is_reading
            await ahead.put("between")
            goes_on.set()
            await ahead.end()
            assert not ahead.is_reading

        return [item async for item in ahead.items(begin())]

    assert asyncio.run(read()) == ["between", "slow"]


def test_a_crawl_of_files_keeps_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for each in members(60):
        (folder / each.name).write_bytes(each.data)
    (folder / "041-empty.txt").write_bytes(b"")
    (folder / "042.pdf").write_bytes(b"%PDF-1.7 which it is not")
    kept = []
    for jobs in ("1", "3"):
        store = tmp_path / f"{jobs}.db"
        done = run_command("crawl", "--jobs", jobs, "--store", store, folder)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(store) as connection:
            kept.append(
                [
                    connection.execute("SELECT url, outcome, body_sha256, media_type FROM document").fetchall(),
                    connection.execute("SELECT document_id, ark_id, as_written, reason, spans FROM mention").fetchall(),
                    connection.execute("SELECT document_id, kind, detail FROM finding").fetchall(),
                ]
            )
    assert kept[0] == kept[1]
    assert len(kept[0][0]) == 62
    assert len(kept[0][1]) > 500
