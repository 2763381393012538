"""Group commit: many requests share one fsync, nobody is told a lie, a refusing disk stops everybody."""

from __future__ import annotations

import asyncio
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.ledger.checkpoint import Checkpoint
from sovctl.compliance.ledger.errors import LedgerUnwritable
from sovctl.compliance.ledger.group import GroupCommit
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey
from sovctl.support.errors import InputError
from sovctl.support.stall_timeout import StallTimeout

KEY = SigningKey.generate()


class CountingLedger(Ledger):
    """A real ledger that counts its batches."""

    batches = 0

    def append_encoded(self, entries: object) -> range:
        self.batches += 1
        return super().append_encoded(entries)  # type: ignore[arg-type]


def opened(directory: Path) -> CountingLedger:
    ledger = CountingLedger.open(directory, origin="sovctl.site/test", key=KEY)
    assert isinstance(ledger, CountingLedger)
    return ledger


@contextmanager
def small_files(limit_bytes: int) -> Iterator[None]:
    """Make write(2) fail past `limit_bytes` as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_queue_depth_counts_records_that_are_not_durable(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        with opened(tmp_path) as ledger:
            async with GroupCommit(ledger, max_batch=2) as group:
                futures = [group.append_encoded(b'{"type":"x"}') for _ in range(5)]
                await asyncio.sleep(0)  # two are in the batch that is written
                before = group.queue_depth
                await asyncio.gather(*futures)
                return before, group.queue_depth

    assert asyncio.run(run()) == (5, 0)


def test_concurrent_requests_get_their_own_index_and_share_batches(tmp_path: Path) -> None:
    async def run() -> list[int]:
        async with GroupCommit(ledger, max_batch=64) as group:
            return list(await asyncio.gather(*(group.append({"number": number}) for number in range(500))))

    with opened(tmp_path) as ledger:
        indices = asyncio.run(run())
        assert sorted(indices) == list(range(500))
        assert ledger.batches <= 10  # 500 / 64 rounded up, and the first one may be short
        by_index = {entry.leaf_index: entry.record["number"] for entry in LedgerReader(tmp_path).entries()}
        assert [by_index[index] for index in indices] == list(range(500))
    assert verify_ledger(tmp_path).is_whole


def test_an_entry_is_on_the_disk_when_append_returns(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger) as group:
            for number in range(20):
                index = await group.append({"number": number})
                assert [e.record["number"] for e in LedgerReader(tmp_path).entries(start=index)] == [number]

    with opened(tmp_path) as ledger:
        asyncio.run(run())


def test_a_record_that_is_too_large_fails_alone(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger) as group:
            results = await asyncio.gather(
                group.append({"a": 1}),
                group.append({"a": "x" * 70_000}),
                group.append({"a": 2}),
                return_exceptions=True,
            )
        assert [type(result) for result in results] == [int, InputError, int]

    with opened(tmp_path) as ledger:
        asyncio.run(run())


def test_a_refusing_disk_fails_every_request_and_later_ones_pass(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger) as group:
            with small_files(100):
                results = await asyncio.gather(
                    *(group.append({"number": number, "text": "x" * 100}) for number in range(30)),
                    return_exceptions=True,
                )
            assert {type(result) for result in results} == {LedgerUnwritable}
            assert await group.append({"number": 30}) == 0

    with opened(tmp_path) as ledger:
        asyncio.run(run())
    assert [entry.record for entry in LedgerReader(tmp_path).entries()] == [{"number": 30}]


def test_a_request_that_gave_up_does_not_hold_the_others(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger) as group:
            tasks = [asyncio.create_task(group.append({"number": number})) for number in range(10)]
            await asyncio.sleep(0)
            tasks[3].cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results].count(int) == 9

    with opened(tmp_path) as ledger:
        asyncio.run(run())


def test_refuses_more_than_may_wait_and_everything_after_close(tmp_path: Path) -> None:
    async def run() -> None:
        group = GroupCommit(ledger, max_waiting=4)
        results = await asyncio.gather(*(group.append({"n": n}) for n in range(6)), return_exceptions=True)
        assert [type(result) for result in results].count(LedgerUnwritable) == 2
        await group.close()
        with pytest.raises(LedgerUnwritable, match="closing"):
            await group.append({"n": 7})

    with opened(tmp_path) as ledger:
        asyncio.run(run())


def test_silence_is_followed_by_a_checkpoint(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger, checkpoint_after_s=0.01) as group:
            await group.append({"n": 1})
            deadline = time.monotonic() + 60
            while LedgerReader(tmp_path).checkpoint.size != 1:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.005)

    with opened(tmp_path) as ledger:
        asyncio.run(run())


def test_a_group_that_was_never_used_closes(tmp_path: Path) -> None:
    async def run() -> None:
        async with GroupCommit(ledger):
            pass

    with opened(tmp_path) as ledger:
        asyncio.run(run())


class HangingLedger(CountingLedger):
    """A real ledger whose disk hangs until it is let go."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def append_encoded(self, entries: object) -> range:
        self.hang()
        return super().append_encoded(entries)

    def hang(self) -> None:
        self.begun.set()
        self.goes_on.wait(60)


def test_a_disk_that_hangs_fails_whoever_waits_and_is_believed_again_once_it_answers(tmp_path: Path) -> None:
    stall_timeout = StallTimeout(0.05)

    async def run(ledger: HangingLedger) -> int:
        async with GroupCommit(ledger, stall_timeout=stall_timeout) as group:
            waiting = [asyncio.create_task(group.append({"number": 0}))]
            await asyncio.to_thread(ledger.begun.wait, 60)
            waiting.append(asyncio.create_task(group.append({"number": 1})))  # behind the batch that hangs
            for each in waiting:
                with pytest.raises(LedgerUnwritable, match="has not answered"):
                    await each
            with pytest.raises(LedgerUnwritable, match="has not answered"):
                await group.append({"number": 2})  # at once: it does not wait for the watch
            stall_timeout.timeout_s = 60
            ledger.goes_on.set()
            await group.check()
            return await group.append({"number": 3})

    with HangingLedger.open(tmp_path, origin="sovctl.site/test", key=KEY) as ledger:
        assert isinstance(ledger, HangingLedger)
        assert asyncio.run(run(ledger)) == 1  # the first one was written all the same
    assert [dict(entry.record)["number"] for entry in LedgerReader(tmp_path).entries()] == [0, 3]


class HangingCheckpoint(HangingLedger):
    """Its disk hangs when a checkpoint is signed."""

    def append_encoded(self, entries: object) -> range:
        return CountingLedger.append_encoded(self, entries)

    def checkpoint(self) -> Checkpoint:
        self.hang()
        return super().checkpoint()


def test_a_disk_that_hangs_while_a_checkpoint_is_signed_fails_whoever_comes_meanwhile(tmp_path: Path) -> None:
    stall_timeout = StallTimeout(0.05)

    async def run(ledger: HangingLedger) -> int:
        async with GroupCommit(ledger, checkpoint_after_s=0.01, stall_timeout=stall_timeout) as group:
            with suppress(LedgerUnwritable):  # where the real disk is as slow as that
                await group.append({"number": 0})
            await asyncio.to_thread(ledger.begun.wait, 60)
            with pytest.raises(LedgerUnwritable, match="has not answered"):
                await group.append({"number": 1})
            stall_timeout.timeout_s = 60
            ledger.goes_on.set()
            await group.check()
            return await group.append({"number": 2})

    with HangingCheckpoint.open(tmp_path, origin="sovctl.site/test", key=KEY) as ledger:
        assert isinstance(ledger, HangingCheckpoint)
        assert asyncio.run(run(ledger)) == 1
