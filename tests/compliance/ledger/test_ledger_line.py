"""Lines: records of several processes in one ledger, none lost, none told durable that is not."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.ledger.errors import LedgerUnwritable
from sovctl.compliance.ledger.format import MAX_RECORD_BYTES
from sovctl.compliance.ledger.line import LineSender, LineWriter, line
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.record import encode_record
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey
from sovctl.support.stall_timeout import StallTimeout

KEY = SigningKey.generate()


@contextmanager
def writing_process(directory: Path, ends: list[socket.socket], worker_ends: list[socket.socket]) -> Iterator[int]:
    """A process that writes the ledger until all its lines are closed."""
    pid = os.fork()
    if pid == 0:
        for end in worker_ends:
            end.close()
        with Ledger.open(directory, origin="sovctl.site/test", key=KEY) as ledger:
            writer, open_ends = LineWriter(ledger), list(ends)
            while open_ends:
                ready, _, _ = select.select(open_ends, [], [])
                for end in list(ready):
                    if not end.recv(1, socket.MSG_PEEK):
                        open_ends.remove(end)
                        ready.remove(end)
                writer.answer(ready)
        os._exit(0)
    for end in ends:
        end.close()
    yield pid
    for end in worker_ends:
        end.close()
    os.waitpid(pid, 0)


def test_records_of_many_workers_meet_in_one_ledger(tmp_path: Path) -> None:
    pairs = [line() for _ in range(3)]
    worker_ends, writer_ends = [a for a, _ in pairs], [b for _, b in pairs]

    async def run() -> list[int]:
        senders = [LineSender(end) for end in worker_ends]
        indices = await asyncio.gather(
            *(sender.append({"worker": w, "number": n}) for w, sender in enumerate(senders) for n in range(400))
        )
        await asyncio.gather(*(sender.check() for sender in senders))
        for sender in senders:
            await sender.close()
        return list(indices)

    with writing_process(tmp_path, writer_ends, worker_ends):
        indices = asyncio.run(run())
    assert sorted(indices) == list(range(1200))
    records = [dict(entry.record) for entry in LedgerReader(tmp_path).entries()]
    for index, place in enumerate(indices):
        assert records[place] == {"worker": index // 400, "number": index % 400}
    assert verify_ledger(tmp_path, key=("sovctl.site/test", KEY.public)).is_whole


def test_the_largest_records_fit(tmp_path: Path) -> None:
    worker_end, writer_end = line()
    largest = encode_record({"x": "y" * (MAX_RECORD_BYTES - 8)})
    assert len(largest) == MAX_RECORD_BYTES

    async def run() -> list[int]:
        sender = LineSender(worker_end)
        return list(await asyncio.gather(*(sender.append_encoded(largest) for _ in range(8))))

    with writing_process(tmp_path, [writer_end], [worker_end]):
        assert asyncio.run(run()) == list(range(8))


def test_a_ledger_that_refuses_is_an_error_for_everybody_who_waits(tmp_path: Path) -> None:
    worker_end, writer_end = line()
    with Ledger.open(tmp_path, origin="sovctl.site/test", key=KEY) as ledger:
        writer = LineWriter(ledger)
    # The ledger is closed now, as after a failed fsync: nothing can be written.

    async def run() -> list[Any]:
        sender = LineSender(worker_end)
        asyncio.get_running_loop().add_reader(writer_end.fileno(), writer.answer, [writer_end])
        return await asyncio.gather(
            *(sender.append({"n": n}) for n in range(5)), sender.check(), return_exceptions=True
        )

    outcomes = asyncio.run(run())
    assert [type(outcome) for outcome in outcomes] == [LedgerUnwritable] * 6
    assert "closed" in str(outcomes[0])
    for end in (worker_end, writer_end):
        end.close()


def test_a_record_that_is_durable_is_told_so_though_another_asks_for_a_signature_in_vain(tmp_path: Path) -> None:
    (appends, writer_of_appends), (checks, writer_of_checks) = line(), line()
    with Ledger.open(tmp_path, origin="sovctl.site/test", key=KEY) as ledger:
        signed = (tmp_path / "checkpoint").read_bytes()
        (tmp_path / "checkpoint").unlink()
        (tmp_path / "checkpoint").mkdir()  # no file can take its place
        data = encode_record({"n": 1})
        appends.send(b"A" + len(data).to_bytes(4) + data)
        checks.send(b"C")
        assert LineWriter(ledger).answer([writer_of_appends, writer_of_checks])
        assert appends.recv(100) == b"K" + bytes(8)
        assert checks.recv(100).startswith(b"Ecannot write checkpoint")
        (tmp_path / "checkpoint").rmdir()
        (tmp_path / "checkpoint").write_bytes(signed)
    for end in (appends, writer_of_appends, checks, writer_of_checks):
        end.close()


def test_a_writer_that_dies_is_an_error_now_and_later(tmp_path: Path) -> None:
    worker_end, writer_end = line()
    heard = []

    async def run() -> None:
        sender = LineSender(worker_end, on_broken=lambda: heard.append("broken"))
        waiting = asyncio.gather(sender.append({"n": 1}), sender.append({"n": 2}), return_exceptions=True)
        await asyncio.sleep(0)
        writer_end.close()
        assert [type(outcome) for outcome in await waiting] == [LedgerUnwritable] * 2
        with pytest.raises(LedgerUnwritable, match="has ended"):
            await sender.append({"n": 3})
        with pytest.raises(LedgerUnwritable, match="has ended"):
            await sender.check()

    asyncio.run(run())
    assert heard == ["broken"]


def test_more_records_than_may_wait_are_refused() -> None:
    worker_end, writer_end = line()

    async def run() -> None:
        sender = LineSender(worker_end, max_waiting=3)
        waiting = [sender.append_encoded(b"{}") for _ in range(5)]
        refused = [each for each in waiting if each.done()]
        assert len(refused) == 2
        for each in refused:
            assert isinstance(each.exception(), LedgerUnwritable)
        writer_end.close()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(run())


def test_a_writer_that_hangs_fails_whoever_waits_and_is_believed_again_once_it_answers(tmp_path: Path) -> None:
    stall_timeout = StallTimeout(0.05)
    worker_end, writer_end = line()

    async def run(writer: LineWriter) -> list[int]:
        sender = LineSender(worker_end, stall_timeout=stall_timeout)

        async def answered() -> None:
            await asyncio.to_thread(select.select, [writer_end], [], [], 60)
            writer.answer([writer_end])

        waiting = [asyncio.create_task(sender.append({"number": 0}))]
        await asyncio.to_thread(select.select, [writer_end], [], [], 60)
        waiting.append(asyncio.create_task(sender.append({"number": 1})))  # behind the batch that hangs
        for each in waiting:
            with pytest.raises(LedgerUnwritable, match="has not answered"):
                await each
        with pytest.raises(LedgerUnwritable, match="has not answered"):
            await sender.append({"number": 2})  # at once: it does not wait for the watch
        checking = asyncio.create_task(sender.check())  # waits behind the batch that hangs
        await answered()
        await answered()
        await checking
        stall_timeout.timeout_s = 60
        last, _ = await asyncio.gather(sender.append({"number": 3}), answered())
        await sender.close()
        return [last]

    with Ledger.open(tmp_path, origin="sovctl.site/test", key=KEY) as ledger:
        assert asyncio.run(run(LineWriter(ledger))) == [1]  # the first one was written all the same
    writer_end.close()
    assert [dict(entry.record)["number"] for entry in LedgerReader(tmp_path).entries()] == [0, 3]
