"""Erasure on every store: what was erased opens with no key, in no copy; the rest stays; nothing goes unrecorded."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest
from vault_homes import KEK, ONE, TOKEN, TTL_S, TWO, VALUE, Clock, Home, open_vault, with_vault

from sovctl.gateway.commands.vault_erase import account
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Superseded, Vault, VaultFailed
from sovctl.gateway.vault.database.erasures import ABANDONED_AFTER_S, CLAIM_TIMEOUT_S, Erasure, chained

IBAN, SPELLED = "DE89370400440532013000", "DE89 3704 0044 0532 0130 00"
ANNA, PLACE = {TOKEN: VALUE, "IBAN_0": SPELLED}, {"ADDRESS_0": "Kanzleistrasse 4"}
ABOUT = {TOKEN: [VALUE], "IBAN_0": [IBAN, SPELLED], "ADDRESS_0": ["Kanzleistrasse 4"]}
GROUP = Conversation("group", "7" * 64, True)
MANY = [Conversation("retail", f"{number:064x}", True) for number in range(450)]


async def _fill(vault: Vault) -> None:
    """Anna and a place in ONE, in two pieces; Anna in TWO; and in another tenant."""
    await vault.store(ONE, ANNA, subjects=ABOUT)
    await vault.store(ONE, PLACE, subjects=ABOUT)
    await vault.store(TWO, {**PLACE, TOKEN: VALUE}, subjects=ABOUT)
    await vault.store(GROUP, ANNA, subjects=ABOUT)


async def _subject(vault: Vault, *values: str, tenant: str = "retail") -> Erasure:
    return await vault.eraser.erase(vault.eraser.subject(tenant, values), by="dpo")


async def _records(vault: Vault) -> list[Erasure]:
    """What a gateway would tell the ledger now."""
    told: list[Erasure] = []

    async def record(erasure: Erasure) -> None:
        told.append(erasure)

    await vault.record_erasures(record)
    return told


def _rings(home: Home, *conversations: Conversation) -> list[bytes]:
    rows = home.sql("SELECT conversation, keys FROM pieces WHERE keys IS NOT NULL ORDER BY conversation, seq")
    return [keys for conversation, keys in rows if conversation.hex() in {each.key for each in conversations}]


def test_a_conversation_is_gone_and_its_record_says_which_keys(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await _fill(vault)
        rings = _rings(home, ONE)
        erasure = await vault.eraser.erase(vault.eraser.conversation(ONE.key), by="dpo")
        assert await vault.load(ONE) == {}
        assert await vault.load(TWO) == {**PLACE, TOKEN: VALUE}
        assert erasure == Erasure(
            erasure.id, 1_000_000, "dpo", "conversation", ONE.key, 1, 2, 3, chained("", rings), 1, True
        )
        assert await _records(vault) == [erasure]
        assert await vault.is_recorded(erasure)
        assert await _records(vault) == []

    with_vault(home, use)


def test_what_hand_offs_hold_goes_with_their_conversation(home: Home) -> None:
    async def use(vault: Vault) -> None:
        beside = ONE.related_location("hand-offs")
        for place in (ONE, beside, TWO.related_location("hand-offs")):
            await vault.store(place, ANNA, subjects=ABOUT)
        erasure = await vault.eraser.erase(vault.eraser.conversation(ONE.key), by="dpo")
        assert (erasure.conversations, erasure.data_keys) == (2, 4)
        assert [await vault.load(place) for place in (ONE, beside)] == [{}, {}]
        assert await vault.load(TWO.related_location("hand-offs")) == ANNA

    with_vault(home, use)


@pytest.mark.parametrize("spelling", [IBAN, SPELLED, "de89-3704-0044-0532-0130-00", "ＤＥ89370400440532013000"])
def test_a_value_is_found_in_any_spelling(home: Home, spelling: str) -> None:
    async def use(vault: Vault) -> None:
        await _fill(vault)
        assert (await _subject(vault, spelling)).data_keys == 1
        assert await vault.load(ONE) == {TOKEN: VALUE, **PLACE}

    with_vault(home, use)


def test_a_person_is_gone_from_every_conversation_of_a_tenant_and_nobody_else_is(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await _fill(vault)
        rings = [_rings(home, ONE)[0], *_rings(home, TWO)]
        erasure = await _subject(vault, SPELLED, "ANNA@example.com", "never@example.com")
        assert await vault.load(ONE) == PLACE
        assert await vault.load(TWO) == PLACE
        assert await vault.load(GROUP) == ANNA
        assert (erasure.scope, erasure.conversations, erasure.rings, erasure.data_keys) == ("subject", 2, 2, 3)
        assert erasure.destroyed_sha256 == chained("", rings)
        again = await _subject(vault, "never@example.com", IBAN, VALUE)
        assert (again.conversations, again.rings, again.data_keys, again.destroyed_sha256) == (0, 0, 0, "")
        assert again.scope_digest == erasure.scope_digest  # so an auditor can ask again whether it was this person
        assert set(await _records(vault)) == {erasure, again}

    with_vault(home, use)
    assert with_vault(home, lambda v: v.load(ONE)) == PLACE


def test_a_value_that_is_about_two_people_goes_with_either(home: Home) -> None:
    link = {"URL_0": "https://x.example/?a=anna@example.com&b=bob@example.com"}
    about = {"URL_0": ["anna@example.com", "bob@example.com"]}

    async def use(vault: Vault) -> None:
        await vault.store(ONE, link, subjects=about)
        assert (await _subject(vault, "bob@example.com")).data_keys == 1
        assert await vault.load(ONE) == {}

    with_vault(home, use)


def test_a_tenant_is_gone_and_the_others_stay(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await _fill(vault)
        await asyncio.gather(*(vault.store(each, {TOKEN: each.key}) for each in MANY))
        erasure = await vault.eraser.erase(vault.eraser.tenant("retail"), by="dpo")
        assert (erasure.scope, erasure.conversations, erasure.rings, erasure.data_keys) == ("tenant", 452, 453, 455)
        assert all(found == {} for found in await asyncio.gather(*(vault.load(each) for each in [ONE, TWO, *MANY])))
        assert await vault.load(GROUP) == ANNA
        assert "retail" not in str(erasure)

    with_vault(home, use)


def test_a_subject_is_looked_for_in_more_than_one_batch(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await asyncio.gather(*(vault.store(e, {TOKEN: VALUE, "X_0": e.key}, subjects=ABOUT) for e in MANY))
        erasure = await _subject(vault, VALUE)
        assert (erasure.conversations, erasure.rings, erasure.data_keys) == (450, 450, 450)
        loaded = await asyncio.gather(*(vault.load(each) for each in MANY))
        assert loaded == [{"X_0": each.key} for each in MANY]

    with_vault(home, use)


@pytest.mark.parametrize("scope", ["conversation", "subject", "tenant"])
def test_a_copy_from_before_opens_with_no_key_that_is_left(home: Home, scope: str) -> None:
    """The rows of a backup are put back; keys, KEK and everything else of today are there."""

    async def use(vault: Vault) -> None:
        await _fill(vault)
        columns = "wrapping_key, keys, subjects, sealed, generation, expires_at"
        backup = home.sql(f"SELECT conversation, seq, {columns} FROM pieces")
        scopes = {
            "conversation": vault.eraser.conversation(ONE.key),
            "subject": vault.eraser.subject("retail", [VALUE]),
            "tenant": vault.eraser.tenant("retail"),
        }
        await vault.eraser.erase(scopes[scope], by="dpo")
        for conversation, seq, *values in backup:
            assignments = columns.replace(",", " = ?,") + " = ?"
            home.sql(f"UPDATE pieces SET {assignments} WHERE conversation = ? AND seq = ?", *values, conversation, seq)
        restored = await open_vault(home)
        with pytest.raises(VaultFailed):
            await restored.load(ONE)
        await restored.close()

    with_vault(home, use)


@pytest.mark.parametrize("scope", ["conversation", "subject", "tenant"])
def test_every_gateway_forgets_and_makes_new_tokens(home: Home, scope: str) -> None:
    async def use(vault: Vault) -> None:
        others = [await open_vault(home) for _ in range(2)]
        await _fill(vault)
        for other in others:
            assert (await other.load(ONE))[TOKEN] == VALUE
        scopes = {
            "conversation": vault.eraser.conversation(ONE.key),
            "subject": vault.eraser.subject("retail", [VALUE]),
            "tenant": vault.eraser.tenant("retail"),
        }
        await vault.eraser.erase(scopes[scope], by="dpo")
        for other in others:
            assert TOKEN not in await other.load(ONE)
            with pytest.raises(Superseded) as caught:
                await other.store(ONE, {TOKEN: VALUE}, subjects=ABOUT)
            assert caught.value.generation == other.generation(ONE) == 1
        await others[0].store(ONE, {"EMAIL_ANEW": VALUE}, subjects=ABOUT, generation=1)
        assert (await others[1].load(ONE))["EMAIL_ANEW"] == VALUE
        assert TOKEN not in await others[1].load(ONE)
        for other in others:
            await other.close()

    with_vault(home, use)


def test_erasing_while_others_store_rotate_and_erase(home: Home) -> None:
    """Whoever stored before an erasure began is erased; whoever stored after it, or somebody else, is not."""
    home.be_patient()

    async def use(vault: Vault) -> None:
        others = [await open_vault(home) for _ in range(2)]
        generations = dict.fromkeys(MANY[:60], 0)
        await asyncio.gather(*(others[0].store(e, {"X_0": "stays", TOKEN: VALUE}, subjects=ABOUT) for e in generations))

        async def write(other: Vault, name: str) -> None:
            for number, each in enumerate(generations):
                for _ in range(9):
                    try:
                        generation = other.generation(each)
                        await other.store(each, {f"Y_{name}_{number}_{generation}": "more"}, generation=generation)
                        break
                    except Superseded:
                        continue

        writing = [asyncio.create_task(write(other, str(n))) for n, other in enumerate(others)]
        erasures = await asyncio.gather(
            _subject(vault, VALUE), _subject(others[0], VALUE), others[1].rotate(renew=True)
        )
        await asyncio.gather(*writing)
        assert erasures[0].data_keys + erasures[1].data_keys == 60
        for each in generations:
            found = await vault.load(each)
            assert TOKEN not in found
            assert found["X_0"] == "stays"
            assert sum(token.startswith("Y_") for token in found) == 2
        for other in others:
            await other.close()

    with_vault(home, use)


_ERASE = """
import asyncio, sys
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault.encryption.keks import LocalKek

def progress(done):
    print(done, flush=True)
    sys.stdin.readline()

async def main():
    vault = await Vault.open(await store(), [LocalKek(bytes(range(32)))], ttl_s=1600, clock=lambda: 1_000_000.0)
    await vault.eraser.erase(vault.eraser.tenant("retail"), by="dpo", progress=progress)

asyncio.run(main())
"""


def test_an_erasure_that_was_killed_is_recorded_as_far_as_it_came_and_goes_on(home: Home) -> None:
    clock = Clock()

    async def fill(vault: Vault) -> None:
        await asyncio.gather(*(vault.store(each, {TOKEN: VALUE}) for each in MANY))

    with_vault(home, fill)
    rings = _rings(home, *MANY)
    with subprocess.Popen(
        [sys.executable, "-c", home.script() + _ERASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as erasing:
        assert erasing.stdin is not None
        assert erasing.stdout is not None
        assert erasing.stdout.readline() == "100\n"
        erasing.stdin.write("\n")
        erasing.stdin.flush()
        assert erasing.stdout.readline() == "200\n"
        os.kill(erasing.pid, signal.SIGKILL)

    async def use(vault: Vault) -> None:
        loaded = await asyncio.gather(*(vault.load(each) for each in MANY))
        assert loaded == [{}] * 200 + [{TOKEN: VALUE}] * 250
        assert await _records(vault) == []  # it might be going on
        clock.now += ABANDONED_AFTER_S + 1
        (cut_off,) = await _records(vault)
        assert (cut_off.conversations, cut_off.rings, cut_off.is_complete) == (200, 200, False)
        whole = await vault.eraser.erase(vault.eraser.tenant("retail"), by="dpo")
        assert (whole.conversations, whole.is_complete, whole.wrapping_keys) == (250, True, 1)
        assert chained(chained("", rings[:100]), rings[100:200]) == cut_off.destroyed_sha256

    with_vault(home, use, clock=clock)


def test_a_ledger_that_is_away_gets_the_record_later_and_from_one(home: Home) -> None:
    clock = Clock()

    async def fails(_: Erasure) -> None:
        raise OSError("disk full")

    async def use(vault: Vault) -> None:
        await _fill(vault)
        other = await open_vault(home, clock=clock)
        erasure = await _subject(vault, VALUE)
        with pytest.raises(OSError, match="disk full"):
            await vault.record_erasures(fails)
        assert not await vault.is_recorded(erasure)
        assert await _records(other) == []  # claimed: nobody else writes it meanwhile
        clock.now += CLAIM_TIMEOUT_S
        assert await _records(other) == [erasure]
        assert await _records(vault) == []
        await other.close()

    with_vault(home, use, clock=clock)


def test_what_is_erased_stays_erased_when_the_rest_can_not_be_rewrapped(home: Home) -> None:
    async def use(vault: Vault) -> None:
        await _fill(vault)
        home.sql("UPDATE pieces SET keys = sealed WHERE conversation = ?", bytes.fromhex(GROUP.key))
        with pytest.raises(VaultFailed, match=GROUP.key):
            await _subject(vault, VALUE)
        assert await vault.load(TWO) == PLACE
        (record,) = await _records(vault)
        assert (record.data_keys, record.wrapping_keys, record.is_complete) == (2, 0, True)

    with_vault(home, use)


def test_a_vault_of_the_version_before_gets_a_place_for_erasures(home: Home) -> None:
    with_vault(home, _fill)
    home.sql("DROP TABLE erasures")
    older = (
        "PRAGMA user_version = 2"
        if hasattr(home, "path")
        else "UPDATE meta SET value = '2' WHERE name = 'schema_version'"
    )
    home.sql(older)

    async def use(vault: Vault) -> None:
        assert (await _subject(vault, VALUE)).data_keys == 2
        assert await vault.load(ONE) == {"IBAN_0": SPELLED, **PLACE}

    with_vault(home, use)


def test_a_subject_that_is_erased_begins_no_conversation_anew_until_it_expires(home: Home) -> None:
    clock = Clock()

    async def use(vault: Vault) -> None:
        await _fill(vault)
        await _subject(vault, VALUE)
        clock.now += TTL_S
        await vault.purge_expired()
        with pytest.raises(Superseded):
            await vault.store(ONE, {TOKEN: VALUE})

    with_vault(home, use, clock=clock)


def test_nothing_of_a_person_is_in_what_is_kept_about_an_erasure(home: Home) -> None:
    async def use(vault: Vault) -> Sequence[Erasure]:
        await _fill(vault)
        return [
            await _subject(vault, VALUE, SPELLED),
            await vault.eraser.erase(vault.eraser.conversation(TWO.key), by="dpo"),
            await vault.eraser.erase(vault.eraser.tenant("group"), by="dpo"),
        ]

    for erasure in with_vault(home, use):
        assert not [each for each in (VALUE, IBAN, "retail", "group") if each in str(erasure)]
    dump = home.dump().lower()
    assert not [each for each in (VALUE, IBAN.lower(), "retail") if each.encode() in dump]
    assert KEK.id.encode() in dump


def test_an_erasure_is_not_taken_for_cut_off_because_its_database_was_away_for_a_moment(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sovctl.gateway.vault.erasing._TOUCH_EVERY_S", 0.001)

    async def use(vault: Vault) -> None:
        heard, touched = asyncio.Event(), 0

        async def touch(_erasure_id: str, *, now: int) -> None:
            nonlocal touched
            touched += 1
            if touched == 1:
                raise VaultFailed(f"away at {now}")
            heard.set()

        monkeypatch.setattr(vault.eraser._store.erasures, "touch", touch)
        async with vault.eraser._keep_alive("0" * 32):
            await asyncio.wait_for(heard.wait(), 60)

    with_vault(home, use)


def test_who_asks_for_an_erasure_has_a_name_or_at_least_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert account()
    monkeypatch.setattr(os, "getuid", lambda: 4_294_000_000)  # as in a container whose users nobody listed
    assert account() == "4294000000"
