"""Commitments to persons on every store: one per person until the salt is destroyed, and none can be guessed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

from vault_homes import ONE, TOKEN, TTL_S, VALUE, Clock, Home, open_vault, with_vault

from sovctl.gateway.audit.subjects import Subjects
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault

NAME, OTHER = "idp:anna@example.com", "idp:5f1c"
KEEP_S = 86_400
MANY = [Conversation("retail", f"{number:064x}", True) for number in range(120)]


def subjects(vault: Vault) -> Subjects:
    return Subjects(vault, keep_s=KEEP_S)


def test_every_process_has_the_same_commitment_also_if_all_begin_together(home: Home) -> None:
    async def use(vault: Vault) -> None:
        others = [await open_vault(home) for _ in range(4)]
        found = await asyncio.gather(*(subjects(each).commitment(NAME) for each in (vault, *others)))
        assert len(set(found)) == 1
        assert found[0] in await subjects(vault).known(NAME)
        assert await subjects(vault).commitment(OTHER) != found[0]
        assert await subjects(vault).known("idp:nobody") == []
        for each in others:
            await each.close()

    with_vault(home, use)
    assert NAME.encode() not in home.dump()


def test_a_destroyed_salt_gives_another_commitment_and_takes_the_conversations_with_it(home: Home) -> None:
    async def use(vault: Vault) -> None:
        one = subjects(vault)
        before = await one.commitment(NAME)
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE.related_location("hand-offs"), {"said ho-1": "[]"})
        await vault.store(MANY[7], {TOKEN: VALUE})
        erasure = await vault.eraser.erase(vault.eraser.principal([ONE], one.place(NAME)), by="dpo")
        assert (erasure.scope, erasure.conversations, erasure.data_keys, erasure.is_complete) == (
            "principal",
            3,
            3,
            True,
        )
        assert await subjects(vault).known(NAME) == []
        assert await vault.load(ONE) == {}
        assert await vault.load(MANY[7]) == {TOKEN: VALUE}
        assert await subjects(vault).commitment(NAME) != before
        again = await vault.eraser.erase(vault.eraser.principal([ONE], one.place("idp:nobody")), by="dpo")
        assert (again.conversations, again.scope_digest) != (1, erasure.scope_digest)

    with_vault(home, use)


def test_a_salt_outlives_conversations_and_ends_after_its_retention(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        before = await subjects(vault).commitment(NAME)
        clock.now += 2 * TTL_S
        assert await subjects(vault).commitment(NAME) == before
        clock.now += KEEP_S - TTL_S  # the use in between renewed it only after a part of its lifetime
        await subjects(vault).commitment(NAME)
        clock.now += KEEP_S + 1
        assert await subjects(vault).known(NAME) == []

    with_vault(home, use, clock=clock)


_ERASE = """
import asyncio, sys
from sovctl.gateway.audit.subjects import Subjects
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault.encryption.keks import LocalKek

def progress(done):
    print(done, flush=True)
    sys.stdin.readline()

async def main():
    vault = await Vault.open(await store(), [LocalKek(bytes(range(32)))], ttl_s=1600, clock=lambda: 1_000_000.0)
    many = [Conversation("retail", f"{number:064x}", True) for number in range(120)]
    place = Subjects(vault, keep_s=86_400).place("idp:anna@example.com")
    await vault.eraser.erase(vault.eraser.principal(many, place), by="dpo", progress=progress)

asyncio.run(main())
"""


def test_a_killed_erasure_is_continued_because_the_salt_is_destroyed_last(home: Home) -> None:
    async def fill(vault: Vault) -> None:
        await subjects(vault).commitment(NAME)
        await asyncio.gather(*(vault.store(each, {TOKEN: VALUE}) for each in MANY))

    with_vault(home, fill)
    with subprocess.Popen(
        [sys.executable, "-c", home.script() + _ERASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as erasing:
        assert erasing.stdout is not None
        assert erasing.stdout.readline() == "100\n"
        os.kill(erasing.pid, signal.SIGKILL)

    async def use(vault: Vault) -> None:
        one = subjects(vault)
        assert len(await one.known(NAME)) == 1
        assert (await vault.load(MANY[0]), await vault.load(MANY[-1])) == ({}, {TOKEN: VALUE})
        rest = await vault.eraser.erase(vault.eraser.principal(MANY, one.place(NAME)), by="dpo")
        assert (rest.conversations, rest.is_complete) == (71, True)  # 50 of 120 were erased; the salt is one more
        assert await one.known(NAME) == []

    with_vault(home, use)
