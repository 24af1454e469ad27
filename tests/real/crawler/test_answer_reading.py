"""Answers are read in a process with a budget: an answer that exceeds it is lost alone."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from crawler.answers.answer import Answer, read_answer
from crawler.answers.answer_reading import MOST_OVERRUNS, AnswerReader, ReadingStopped, UnreadBody
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, cpu_limit

ARK = Ark.parse("ark:98765/x12")
ERC = b"erc:\nwho: Rossi, Ada\nwhat: A map\nwhen: 1784\nwhere: ark:98765/x12\n"


def burn_or_read(bodies: Sequence[UnreadBody]) -> list[Answer]:
    """Take all time, take all memory or kill the process if the body says so; else read it."""
    for body, _, _ in bodies:
        while body == b"time":
            pass
        if body == b"memory":
            bytearray(2**40)
        if body == b"stack":
            raise RecursionError("too deep")
    return [read_answer(*body) for body in bodies]


def read_all(*bodies: bytes, host: str = "a.example") -> list[Answer]:
    """Return the readings of *bodies* that come at once, by a reader with a second of CPU time."""

    async def read() -> list[Answer]:
        reader = AnswerReader(burn_or_read, cpu_s=1, inline_bytes=0)
        reading = (reader.read(body, "text/plain", ARK, host=host) for body in bodies)
        try:
            return await asyncio.gather(*reading)
        finally:
            reader.close()

    return asyncio.run(read())


def test_answer_from_the_process_is_the_same_as_from_here() -> None:
    page = "<title>A map</title><link rel=canonical href='/ark:98765/x12'><dl><dt>Who<dd>Rossi"
    for body, media_type in ((ERC, "text/plain"), (page.encode(), "text/html"), (b"", None)):

        async def read(body: bytes = body, media_type: str | None = media_type) -> Answer:
            reader = AnswerReader(inline_bytes=0)
            try:
                return await reader.read(body, media_type, ARK, host="a.example")
            finally:
                reader.close()

        assert asyncio.run(read()) == read_answer(body, media_type, ARK)


def test_answers_over_their_budget_cost_only_themselves_until_their_host_is_given_up() -> None:
    read = read_all(ERC, b"time", ERC, b"memory", b"stack", b"memory", ERC)
    assert read[0] == read[2] == read_answer(ERC, "text/plain", ARK)
    assert [answer.fault for answer in read[1:]] == [
        "that took more than 1 s of CPU time",
        None,
        "that took more than 1024 MiB of memory",
        "its reader failed (RecursionError: too deep)",
        *[f"{MOST_OVERRUNS} answers of a.example took too much time or memory before"] * 2,
    ]


def test_short_answer_is_read_here_unless_that_takes_long() -> None:
    async def answers_of(reader: AnswerReader, *bodies: bytes) -> list[Answer]:
        try:
            return [await reader.read(body, "text/plain", ARK, host="a.example") for body in bodies]
        finally:
            reader.close()

    # No other process could import this function.
    here = AnswerReader(lambda bodies: [read_answer(*body) for body in bodies])
    assert asyncio.run(answers_of(here, ERC)) == [read_answer(ERC, "text/plain", ARK)]
    slow, deep = asyncio.run(answers_of(AnswerReader(burn_or_read, cpu_s=1), b"time", b"stack"))
    assert (slow.fault or "").startswith("that took more than 1 s")
    assert (deep.fault or "").startswith("its reader failed")


def test_reader_ends_at_once_in_the_middle_of_an_answer() -> None:
    async def stop() -> float:
        reader = AnswerReader(burn_or_read, cpu_s=600, inline_bytes=0)
        await reader.read(ERC, "text/plain", ARK, host="a.example")  # it has started
        reading = [
            asyncio.ensure_future(reader.read(body, "text/plain", ARK, host="a.example")) for body in (b"time", ERC)
        ]
        await asyncio.sleep(0)
        spent_s = time.process_time()
        reader.stop()
        for begun in reading:
            with pytest.raises(ReadingStopped):
                await begun
        return time.process_time() - spent_s

    assert asyncio.run(stop()) < 5


def test_cpu_limit_interrupts_long_work() -> None:
    def spin() -> None:
        with cpu_limit(0.1):
            while True:
                pass

    with pytest.raises(OverBudget):
        spin()
    with cpu_limit(0.1):
        pass
