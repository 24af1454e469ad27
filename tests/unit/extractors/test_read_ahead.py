"""Concurrent iterators give their items in the order in which the iterators began."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.spiders.document_reading import read_ahead


async def counted(name: int, pauses: list[int]) -> AsyncIterator[tuple[int, int]]:
    for number, pause in enumerate(pauses):
        for _ in range(pause):
            await asyncio.sleep(0)
        yield name, number


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=8), st.integers(1, 4), st.integers(1, 4))
def test_items_come_in_the_order_of_their_iterators(pauses: list[list[int]], most: int, waiting: int) -> None:
    tasks: set[asyncio.Task[None]] = set()

    async def begun() -> AsyncIterator[AsyncIterator[tuple[int, int]]]:
        for name, each in enumerate(pauses):
            yield read_ahead(counted(name, each), waiting, tasks)

    async def read() -> list[tuple[int, int]]:
        return [item async for items in read_ahead(begun(), most, tasks) async for item in items]

    expected = [(name, number) for name, each in enumerate(pauses) for number in range(len(each))]
    assert asyncio.run(read()) == expected


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_failure_comes_after_earlier_items(fails_at: int) -> None:
    async def failing() -> AsyncIterator[int]:
        for number in range(3):
            if number == fails_at:
                raise OSError("the disk is gone")
            yield number

    got: list[int] = []

    async def read() -> None:
        async for item in read_ahead(failing(), 5, set()):
            got.append(item)

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(read())
    assert got == list(range(fails_at))


def test_no_more_is_read_before_it_is_asked_for_than_may_wait() -> None:
    read: list[int] = []

    async def numbers() -> AsyncIterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    async def wait() -> None:
        tasks: set[asyncio.Task[None]] = set()
        read_ahead(numbers(), 3, tasks)
        for _ in range(50):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()

    asyncio.run(wait())
    assert read == [0, 1, 2, 3], "three wait, and the next has no place yet"
