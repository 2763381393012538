"""What the vault promises, on every store: durable when it says so, unreadable at rest, gone when erased."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import sys

import pytest
from vault_homes import KEK, ONE, TOKEN, TTL_S, TWO, VALUE, Clock, Home, open_vault, with_vault

from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Superseded, Vault, VaultFailed
from sovctl.gateway.vault.encryption.keks import LocalKek
from sovctl.support.errors import InputError

SUBJECTS = {TOKEN: [VALUE]}


async def _store(vault: Vault) -> None:
    await vault.store(ONE, {TOKEN: VALUE}, subjects=SUBJECTS)


def test_what_was_stored_is_there_after_a_restart(home: Home) -> None:
    with_vault(home, _store)
    assert with_vault(home, lambda v: v.load(ONE)) == {TOKEN: VALUE}


def test_nothing_in_a_dump_can_be_read(home: Home) -> None:
    values = {TOKEN: VALUE, "IBAN_0": "DE89370400440532013000", "PERSON_0": "Mr. Ola Nordmann", "PHONE_0": "Ёлка 7"}
    about = {token: [value] for token, value in values.items()}
    one = ONE._replace(tenant="kestrel")  # other tests use the other tenants in the same database, for quotas

    async def use(vault: Vault) -> bytes:
        await vault.store(one, values, subjects=about)
        return home.dump()  # while it is open: the write-ahead log too

    hidden = {
        form
        for secret in ("anna@", "DE8937", "Nordmann", "Ёлка", TOKEN, "kestrel")
        for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "unicode_escape")
        for data in (secret.encode(encoding),)
        for form in (data.lower(), data.hex().encode(), base64.b64encode(data).lower())
    }
    for content in (with_vault(home, use), home.dump()):
        assert bytes.fromhex(one.key) in content  # the search looks in the right place
        content = content.lower()
        assert not [form for form in hidden if form in content]


def test_conversations_do_not_see_each_other(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(TWO, {TOKEN: "other"})
        assert await vault.load(ONE) == {TOKEN: VALUE}
        assert await vault.load(TWO) == {TOKEN: "other"}

    with_vault(home, use)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE pieces SET sealed = (SELECT sealed FROM pieces WHERE conversation = ?) WHERE conversation = ?",
        "UPDATE pieces SET keys = (SELECT keys FROM pieces WHERE conversation = ?) WHERE conversation = ?",
        "UPDATE pieces SET sealed = keys WHERE conversation <> ? AND conversation = ?",
        "UPDATE pieces SET seq = 7 WHERE conversation <> ? AND conversation = ? AND seq = 1",
    ],
)
def test_rows_that_were_moved_or_changed_do_not_open(home: Home, change: str) -> None:
    async def fill(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE, {"EMAIL_SECOND": "second"})
        await vault.store(TWO, {TOKEN: "other"})

    with_vault(home, fill)
    home.sql(change, bytes.fromhex(TWO.key), bytes.fromhex(ONE.key))

    async def use(vault: Vault) -> None:
        asked = await asyncio.gather(vault.load(ONE), vault.load(TWO), return_exceptions=True)
        assert isinstance(asked[0], VaultFailed)
        assert VALUE not in str(asked[0])
        assert asked[1] == {TOKEN: "other"}  # whoever asked together with it is not harmed
        stored = await asyncio.gather(
            vault.store(ONE, {"EMAIL_NEW": "x"}), vault.store(TWO, {"EMAIL_NEW": "x"}), return_exceptions=True
        )
        assert isinstance(stored[0], VaultFailed)
        assert stored[1] is None

    with_vault(home, use)


def test_the_same_conversation_key_of_another_tenant_does_not_open(home: Home) -> None:
    with_vault(home, _store)
    with pytest.raises(VaultFailed):
        with_vault(home, lambda v: v.load(ONE._replace(tenant="group")))


def test_another_key_is_refused_before_anything_is_written(home: Home) -> None:
    with_vault(home, _store)
    before = home.sql("SELECT * FROM keys")
    with pytest.raises(InputError, match="none of the KEKs opens this vault") as caught:
        with_vault(home, _store, keks=[LocalKek(bytes(32))])
    assert "backup" in caught.value.hint
    assert home.sql("SELECT * FROM keys") == before


def test_a_conversation_expires_after_its_last_use(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        clock.now += TTL_S * 0.6
        await vault.store(ONE, {"EMAIL_SECOND": "b"})
        clock.now += TTL_S * 0.6
        assert set(await vault.load(ONE)) == {TOKEN, "EMAIL_SECOND"}
        assert await vault.purge_expired() == 0
        clock.now += TTL_S * 0.4
        assert await vault.load(ONE) == {}
        assert await vault.purge_expired() == 1
        await vault.store(ONE, {"EMAIL_THIRD": "c"})
        assert await vault.load(ONE) == {"EMAIL_THIRD": "c"}

    with_vault(home, use, clock=clock)


def test_what_expired_but_was_not_yet_purged_begins_anew(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE, {"EMAIL_SECOND": "b"})
        clock.now += TTL_S
        for known in (vault, await open_vault(home, clock=clock)):  # one that remembers it and one that does not
            await known.store(ONE, {"EMAIL_THIRD": "c"})
            assert await known.load(ONE) == {"EMAIL_THIRD": "c"}
            clock.now += TTL_S
            if known is not vault:
                await known.close()

    with_vault(home, use, clock=clock)


def test_a_turn_that_says_nothing_new_writes_nothing_until_it_must(home: Home) -> None:
    clock = Clock()

    def expiry() -> int:
        return int(home.sql("SELECT expires_at FROM pieces WHERE seq = 0")[0][0])

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        begun = expiry()
        clock.now += TTL_S / 16 - 1
        await vault.store(ONE, {TOKEN: VALUE})
        assert expiry() == begun
        clock.now += 2
        await vault.store(ONE, {TOKEN: VALUE})
        assert expiry() == begun + TTL_S / 16 + 1
        assert len(home.sql("SELECT 1 FROM pieces")) == 1

    with_vault(home, use, clock=clock)


def test_a_process_that_knows_nothing_adds_only_what_is_new(home: Home) -> None:
    with_vault(home, _store)

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE, "EMAIL_SECOND": "b"})
        assert await vault.load(ONE) == {TOKEN: VALUE, "EMAIL_SECOND": "b"}

    with_vault(home, use)
    assert with_vault(home, lambda v: v.load(ONE)) == {TOKEN: VALUE, "EMAIL_SECOND": "b"}
    assert len(home.sql("SELECT 1 FROM pieces")) == 2


def test_purging_much_is_done_in_small_batches_and_takes_only_what_expired(home: Home) -> None:
    clock = Clock()
    old = [Conversation("retail", f"{number:064x}", False) for number in range(700)]

    async def use(vault: Vault) -> None:
        await asyncio.gather(*(vault.store(each, {TOKEN: VALUE}) for each in old))
        clock.now += TTL_S
        await vault.store(ONE, {TOKEN: VALUE})
        assert await vault.purge_expired() == len(old)
        assert await vault.load(ONE) == {TOKEN: VALUE}
        assert len(home.sql("SELECT 1 FROM pieces")) == 1

    with_vault(home, use, clock=clock)


def test_erasing_leaves_neither_key_nor_value_behind(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE, {"EMAIL_SECOND": "b"})
        await vault.store(TWO, {"EMAIL_OTHER": "stays"})
        assert await vault.drop(ONE) == 2
        assert await vault.load(ONE) == {}
        assert await vault.load(TWO) == {"EMAIL_OTHER": "stays"}
        rows = home.sql("SELECT keys, subjects, sealed FROM pieces WHERE conversation = ?", bytes.fromhex(ONE.key))
        assert rows == [(None, None, None)]

    with_vault(home, use)


@pytest.mark.parametrize("knows", [True, False], ids=["same process", "another process"])
def test_tokens_made_before_an_erasure_are_never_stored_again(home: Home, knows: bool) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        eraser = vault if knows else await open_vault(home, clock=clock)
        await eraser.drop(ONE)
        with pytest.raises(Superseded) as caught:
            await vault.store(ONE, {TOKEN: VALUE})
        assert caught.value.generation == vault.generation(ONE) == 1
        assert await vault.load(ONE) == {}
        await vault.store(ONE, {"EMAIL_ANEW": VALUE}, generation=1)
        assert await vault.load(ONE) == {"EMAIL_ANEW": VALUE}
        # Not even after the new ones expired: what was erased stays superseded as long as anybody may remember it.
        clock.now += TTL_S
        await vault.purge_expired()
        with pytest.raises(Superseded):
            await vault.store(ONE, {TOKEN: VALUE})
        if not knows:
            await eraser.close()

    with_vault(home, use, clock=clock)


def test_a_generation_that_nobody_remembers_is_refused(home: Home) -> None:
    async def use(vault: Vault) -> None:
        with pytest.raises(Superseded) as caught:
            await vault.store(ONE, {TOKEN: VALUE}, generation=3)
        assert caught.value.generation == 0

    with_vault(home, use)


def test_one_token_never_gets_a_second_value(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        await vault.store(ONE, {TOKEN: VALUE})
        with pytest.raises(VaultFailed):
            await vault.store(ONE, {"EMAIL_NEW": "x", TOKEN: "another"})
        at_once = await asyncio.gather(
            vault.store(TWO, {TOKEN: "one"}), vault.store(TWO, {TOKEN: "two"}), return_exceptions=True
        )
        assert at_once[0] is None
        assert isinstance(at_once[1], VaultFailed)
        assert await vault.load(ONE) == {TOKEN: VALUE}
        assert await vault.load(TWO) == {TOKEN: "one"}

    with_vault(home, use)


def test_many_requests_at_once_are_all_kept(home: Home) -> None:
    many = [Conversation("retail", f"{number % 100:064x}", False) for number in range(300)]

    async def use(vault: Vault) -> None:
        await asyncio.gather(*(vault.store(each, {f"EMAIL_{n}": each.key}) for n, each in enumerate(many)))

    with_vault(home, use)

    async def read(vault: Vault) -> list[dict[str, str]]:
        return await asyncio.gather(*(vault.load(each) for each in many[:100]))

    expected = [{f"EMAIL_{n}": many[n].key for n in (i, i + 100, i + 200)} for i in range(100)]
    assert with_vault(home, read) == expected


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 70])
def test_what_begins_together_is_kept_also_where_another_process_began_some_of_it(home: Home, count: int) -> None:
    many = [Conversation("retail", f"{number:064x}", False) for number in range(count)]

    async def use(vault: Vault) -> list[dict[str, str]]:
        other = await open_vault(home)
        await asyncio.gather(*(other.store(each, {"EMAIL_OTHER": each.key}) for each in many[::3]))
        await asyncio.gather(*(vault.store(each, {TOKEN: each.key}) for each in many))
        found = await asyncio.gather(*(other.load(each) for each in many))
        await other.close()
        return found

    expected = [{TOKEN: each.key} | ({} if n % 3 else {"EMAIL_OTHER": each.key}) for n, each in enumerate(many)]
    assert with_vault(home, use) == expected
    assert len(home.sql("SELECT 1 FROM pieces")) == sum(map(len, expected))


def test_a_new_wrapping_key_opens_the_old_rows_too(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        other = await open_vault(home, clock=clock)
        assert not await vault.renew_keys()
        clock.now += 86_400
        assert await vault.renew_keys()
        assert not await other.renew_keys()  # it was renewed just now, elsewhere
        await other.store(TWO, {TOKEN: "other"})
        await vault.store(TWO, {"EMAIL_SECOND": "b"})
        assert await vault.load(TWO) == {TOKEN: "other", "EMAIL_SECOND": "b"}
        await other.close()

    with_vault(home, use, clock=clock)
    assert {
        key
        for (key,) in home.sql(
            "SELECT DISTINCT wrapping_key FROM pieces WHERE conversation = ?", bytes.fromhex(TWO.key)
        )
    } == {3}


def test_a_process_with_an_outdated_wrapping_key_takes_the_new_one(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        other = await open_vault(home, clock=clock)
        clock.now += 86_400
        assert await other.renew_keys()
        await vault.store(ONE, {TOKEN: VALUE})
        assert await other.load(ONE) == {TOKEN: VALUE}
        await other.close()

    with_vault(home, use, clock=clock)
    retired = {key for (key,) in home.sql("SELECT id FROM keys WHERE is_retired")}
    assert retired
    assert not retired & {key for (key,) in home.sql("SELECT wrapping_key FROM pieces")}


def test_a_caller_that_gives_up_harms_nobody(home: Home) -> None:
    async def use(vault: Vault) -> None:
        impatient = vault.store(ONE, {TOKEN: VALUE})
        patient = vault.store(TWO, {TOKEN: VALUE})
        await asyncio.sleep(0)
        impatient.cancel()
        await patient
        assert await vault.load(TWO) == {TOKEN: VALUE}
        assert await vault.load(ONE) in ({}, {TOKEN: VALUE})

    with_vault(home, use)


def test_which_of_its_names_a_conversation_goes_on_under(home: Home) -> None:
    clock = Clock()
    new = Conversation("retail", "3" * 64, True, key_version=2)

    async def use(vault: Vault) -> None:
        other = await open_vault(home, clock=clock)
        assert await vault.living([new, ONE, TWO]) is None
        await other.store(TWO, {TOKEN: VALUE})
        assert await vault.living([new, ONE, TWO]) == TWO
        await other.store(ONE, {TOKEN: VALUE})
        assert await vault.living([new, ONE, TWO]) == ONE
        await vault.store(new, {TOKEN: VALUE})
        assert await vault.living([new, ONE, TWO]) == new
        await other.drop(ONE)
        assert await vault.living([Conversation("retail", "4" * 64, True), ONE, TWO]) == TWO
        clock.now += TTL_S
        assert await vault.living([new, ONE, TWO]) is None
        await other.close()

    with_vault(home, use, clock=clock)


_WRITER = """
import asyncio, sys
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault.encryption.keks import LocalKek

async def main(name, most):
    vault = await Vault.open(await store(), [LocalKek(bytes(range(32)))], ttl_s=1600, clock=lambda: 1_000_000.0)
    async def fill(lane):
        for number in range(most):
            conversation = Conversation("retail", f"{number % 7:064x}", True)
            await vault.store(conversation, {f"EMAIL_{name}_{lane}_{number}": f"value {number}"})
            print(lane, number, flush=True)
    await asyncio.gather(*(fill(lane) for lane in range(3)))
    await vault.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def _start_writer(home: Home, name: str, most: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", home.script() + _WRITER, name, str(most)], stdout=subprocess.PIPE, text=True
    )


async def _everything(vault: Vault) -> dict[str, str]:
    found: dict[str, str] = {}
    for number in range(7):
        found |= await vault.load(Conversation("retail", f"{number:064x}", True))
    return found


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(home: Home) -> None:
    with _start_writer(home, "killed", 100_000) as writer:
        assert writer.stdout is not None
        seen = [writer.stdout.readline().split() for _ in range(150)]
        os.kill(writer.pid, signal.SIGKILL)
        seen += [line.split() for line in writer.stdout.read().splitlines()]
    acknowledged = [line for line in seen if len(line) == 2]
    assert len(acknowledged) >= 150
    found = with_vault(home, _everything)
    for lane, number in acknowledged:
        assert found[f"EMAIL_killed_{lane}_{number}"] == f"value {number}"


def test_several_processes_write_to_the_same_conversations(home: Home) -> None:
    """They also make the vault together: none of them waits for another to have done it."""
    writers = [_start_writer(home, str(number), 40) for number in range(3)]
    for writer in writers:
        with writer:
            assert writer.stdout is not None
            assert len(writer.stdout.read().splitlines()) == 120
        assert writer.returncode == 0
    found = with_vault(home, _everything)
    expected = {f"EMAIL_{p}_{lane}_{n}": f"value {n}" for p in range(3) for lane in range(3) for n in range(40)}
    assert found == expected
    assert KEK.id.encode() in home.dump()
