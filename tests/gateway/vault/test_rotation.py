"""Rotation of KEKs and wrapping keys on every store: while others write, cut off, done again, with a real token."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hardware_token import HardwareToken
from vault_homes import KEK, ONE, TOKEN, TTL_S, TWO, VALUE, Clock, Home, open_vault, with_vault

from sovctl.gateway.settings import VaultSettings
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault, VaultFailed, load_keks
from sovctl.gateway.vault.database.rows import Row
from sovctl.gateway.vault.database.store import Store
from sovctl.gateway.vault.encryption.keks import LocalKek
from sovctl.gateway.vault.rotation import Rotation
from sovctl.support.errors import InputError

NEW = LocalKek(bytes(range(50, 82)))
MANY = [Conversation("retail", f"{number:064x}", True) for number in range(700)]


async def _fill(vault: Vault) -> None:
    await asyncio.gather(*(vault.store(each, {TOKEN: each.key}) for each in MANY))


async def _read(vault: Vault) -> list[dict[str, str]]:
    return await asyncio.gather(*(vault.load(each) for each in MANY))


EVERYTHING = [{TOKEN: each.key} for each in MANY]


def test_after_a_rotation_the_old_kek_is_not_needed_and_opens_nothing(home: Home) -> None:
    with_vault(home, _fill)
    before = home.sql("SELECT wrapped FROM keys")
    steps: list[tuple[int, int]] = []

    async def rotate(vault: Vault) -> Rotation:
        return await vault.rotate(progress=lambda done, total: steps.append((done, total)))

    done = with_vault(home, rotate, keks=[NEW, KEK])
    assert done == Rotation(NEW.id, 3, rewrapped=700, destroyed=1, remaining=0)
    assert steps == [(200, 700), (400, 700), (600, 700), (700, 700)]
    assert with_vault(home, _read, keks=[NEW]) == EVERYTHING
    with pytest.raises(InputError, match="none of the KEKs opens this vault"):
        with_vault(home, _read)
    assert not {row[0] for row in before} & {row[0] for row in home.sql("SELECT wrapped FROM keys")}
    assert KEK.id not in str(home.sql("SELECT kek FROM keys"))


def test_a_rotation_that_is_done_changes_nothing(home: Home) -> None:
    with_vault(home, _fill)
    with_vault(home, lambda v: v.rotate(), keks=[NEW, KEK])
    before = home.sql("SELECT * FROM keys"), home.sql("SELECT * FROM pieces")
    done = with_vault(home, lambda v: v.rotate(), keks=[NEW, KEK])
    assert done == Rotation(NEW.id, 3, rewrapped=0, destroyed=0, remaining=0)
    assert (home.sql("SELECT * FROM keys"), home.sql("SELECT * FROM pieces")) == before


def test_a_new_wrapping_key_under_the_same_kek_when_asked_for(home: Home) -> None:
    with_vault(home, _fill)
    old = {row[0] for row in home.sql("SELECT keys FROM pieces")}
    done = with_vault(home, lambda v: v.rotate(renew=True))
    assert (done.rewrapped, done.destroyed) == (700, 1)
    assert not old & {row[0] for row in home.sql("SELECT keys FROM pieces")}
    assert with_vault(home, _read) == EVERYTHING


def test_what_was_erased_is_not_rewrapped_and_stays_erased(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {TOKEN: VALUE})
        await vault.drop(ONE)
        assert (await vault.rotate(renew=True)).rewrapped == 1
        assert await vault.load(ONE) == {}
        assert await vault.load(TWO) == {TOKEN: VALUE}

    with_vault(home, use)


def test_others_write_and_read_while_keys_are_rotated(home: Home) -> None:
    """Two gateways with both KEKs; each store that returned is found, under either order of the KEKs."""
    home.be_patient()  # four writers on a slow disk can make one of them wait for over a second

    async def use(vault: Vault) -> None:
        others = [await open_vault(home, keks=keks) for keks in ([KEK, NEW], [NEW, KEK])]
        written: dict[int, str] = {}

        async def write(lane: int, other: Vault) -> None:
            for number in range(lane, 400, 2):
                await other.store(MANY[number], {f"EMAIL_{number}": str(number)})
                assert await other.load(MANY[number]) == {TOKEN: MANY[number].key, f"EMAIL_{number}": str(number)}
                written[number] = str(number)

        writing = [asyncio.create_task(write(lane, other)) for lane, other in enumerate(others)]
        for _ in range(3):
            await vault.rotate(renew=True)
        await asyncio.gather(*writing)
        assert len(written) == 400
        await vault.rotate(renew=True)  # what was written under keys that are older by now
        assert {row[0] for row in home.sql("SELECT wrapping_key FROM pieces")} == {
            row[0] for row in home.sql("SELECT max(id) FROM keys WHERE purpose = 'wrap'")
        }
        for other in others:
            await other.close()

    with_vault(home, _fill)
    with_vault(home, use, keks=[NEW, KEK])
    found = with_vault(home, _read, keks=[NEW])
    assert all(values[TOKEN] == each.key for each, values in zip(MANY, found, strict=True))


class Overtaken:
    """A store where something happens once between the rows that were read and their reader."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, conversations: Sequence[bytes]) -> list[Row]:
        rows = await self._store.read(conversations)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return rows


@pytest.mark.parametrize("what", ["load", "erase"])
def test_rows_whose_wrapping_key_was_destroyed_on_their_way_are_read_again(home: Home, what: str) -> None:
    async def use(other: Vault) -> None:
        store = Overtaken(await home.store())
        vault = await Vault.open(store, [KEK], ttl_s=TTL_S, clock=Clock())  # type: ignore[arg-type]
        await other.store(ONE, {TOKEN: VALUE, "X_0": "stays"}, subjects={TOKEN: [VALUE]})

        async def meanwhile() -> None:
            await other.rotate(renew=True)
            await vault.store(TWO, {TOKEN: VALUE})  # so that it learns of the new keys

        store.meanwhile = meanwhile
        if what == "load":
            assert await vault.load(ONE) == {TOKEN: VALUE, "X_0": "stays"}
        else:
            await vault.eraser.erase(vault.eraser.subject("retail", [VALUE]), by="dpo")
            assert await vault.load(ONE) == {"X_0": "stays"}
        assert store.meanwhile is None
        await vault.close()

    with_vault(home, use)


_ROTATE = """
import asyncio, sys
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault.encryption.keks import LocalKek

def progress(done, total):
    print(done, total, flush=True)
    sys.stdin.readline()

async def main():
    keks = [LocalKek(bytes(range(50, 82))), LocalKek(bytes(range(32)))]
    vault = await Vault.open(await store(), keks, ttl_s=1600, clock=lambda: 1_000_000.0)
    await vault.rotate(progress=progress)

asyncio.run(main())
"""


@pytest.mark.parametrize("steps", [1, 3])
def test_a_rotation_that_was_killed_harms_nothing_and_goes_on(home: Home, steps: int) -> None:
    with_vault(home, _fill)
    command = [sys.executable, "-c", home.script() + _ROTATE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as rotating:
        assert rotating.stdin is not None
        assert rotating.stdout is not None
        for step in range(1, steps + 1):
            assert rotating.stdout.readline().split() == [str(200 * step), "700"]
            if step < steps:
                rotating.stdin.write("\n")
                rotating.stdin.flush()
        os.kill(rotating.pid, signal.SIGKILL)
    assert with_vault(home, _read, keks=[KEK, NEW]) == EVERYTHING
    with pytest.raises(InputError):  # half of it stands under a KEK that is not there: nothing is guessed
        with_vault(home, _read, keks=[NEW])
    done = with_vault(home, lambda v: v.rotate(), keks=[NEW, KEK])
    assert (done.rewrapped, done.destroyed, done.remaining) == (700 - 200 * steps, 1, 0)
    assert with_vault(home, _read, keks=[NEW]) == EVERYTHING


def test_a_ring_that_was_altered_stops_the_rotation_and_says_which(home: Home) -> None:
    with_vault(home, _fill)
    home.sql("UPDATE pieces SET keys = sealed WHERE conversation = ?", bytes.fromhex(MANY[5].key))
    with pytest.raises(VaultFailed, match=MANY[5].key) as caught:
        with_vault(home, lambda v: v.rotate(renew=True))
    assert "erase that conversation" in caught.value.hint
    with_vault(home, lambda v: v.drop(MANY[5]))
    assert with_vault(home, lambda v: v.rotate()).remaining == 0
    assert with_vault(home, _read) == [{} if n == 5 else each for n, each in enumerate(EVERYTHING)]


def test_a_gateway_without_the_new_kek_stores_nothing_and_says_why(home: Home) -> None:
    async def use(vault: Vault) -> None:
        other = await open_vault(home, keks=[KEK])
        await other.store(ONE, {TOKEN: VALUE})
        await vault.rotate()
        with pytest.raises(VaultFailed, match="wrapped under a KEK that this gateway does not have") as caught:
            await other.store(TWO, {TOKEN: VALUE})
        assert "before `vault rotate`" in caught.value.hint
        await other.close()

    with_vault(home, _fill)
    with_vault(home, use, keks=[NEW, KEK])


def test_keys_move_from_a_file_into_a_token_and_to_another(home: Home, hardware_token: HardwareToken) -> None:
    def in_token(label: str, mechanism: str) -> dict[str, object]:
        return {"pkcs11": hardware_token.settings(label, mechanism=mechanism)}

    settings = [in_token("kek", "aes-gcm"), in_token("another", "aes-key-wrap")]
    first, second = load_keks(VaultSettings.model_validate({"path": "/nowhere", "kek": settings}))
    with_vault(home, _fill)
    with_vault(home, lambda v: v.rotate(), keks=[first, KEK])
    assert with_vault(home, _read, keks=[first]) == EVERYTHING
    with_vault(home, lambda v: v.rotate(), keks=[second, first])
    assert with_vault(home, _read, keks=[second]) == EVERYTHING


def test_status_counts_what_stands_under_which_key(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await _fill(vault)
        clock.now += TTL_S / 2
        await vault.renew_keys()
        await vault.store(Conversation("retail", "9" * 64, True, key_version=7), {TOKEN: VALUE})
        status = await vault.status()
        assert status["kek"] == KEK.id
        assert [(key["purpose"], key["kek"], key["is_current"]) for key in status["keys"]] == [
            ("wrap", KEK.id, True),
            ("index", KEK.id, True),
        ]
        assert status["keys"][0]["pieces"] == 701
        assert status["keys"][0]["age_s"] == TTL_S / 2
        assert status["conversations_by_token_key_version"] == {"1": 700, "7": 1}
        clock.now += TTL_S / 2
        assert (await vault.status())["conversations_by_token_key_version"] == {"7": 1}

    with_vault(home, use, clock=clock)
