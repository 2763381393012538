"""What only a server can do to a vault: be somebody else, be away, die, come back, be slow."""

from __future__ import annotations

import asyncio
import gc
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from postgresql_server import DATABASE, PASSWORD, PostgresqlServer
from vault_homes import ONE, TOKEN, TWO, VALUE, PostgresqlHome, open_vault, with_vault

from sovctl.gateway.settings import PostgresqlSettings
from sovctl.gateway.storage.postgresql import Address, _parsed
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault, VaultFailed
from sovctl.support.errors import InputError


@pytest.fixture(autouse=True)
def sockets_are_collected() -> Iterator[None]:
    """asyncpg leaves the sockets of a server that dies to the collector; in the next test they would be an error."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def _store(vault: Vault) -> None:
    await vault.store(ONE, {TOKEN: VALUE})


async def _answers_again(vault: Vault) -> None:
    """There is a pause between two attempts to connect."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await vault.check()
            except VaultFailed:
                await asyncio.sleep(0.05)


def test_a_server_that_cannot_prove_its_name_gets_nothing(postgresql_home: PostgresqlHome, pki: Any) -> None:
    """The certificate names 127.0.0.1 only; and to the system's authorities our server is a stranger."""
    log = postgresql_home.server.folder / "log"
    for change in ({"host": "localhost"}, {"ca_file": None}, {"ca_file": str(pki.client_certificate_file)}):
        before = log.read_text()
        settings = dict(postgresql_home.settings)
        postgresql_home.settings |= change
        with pytest.raises(VaultFailed, match="a certificate that does not verify"):
            with_vault(postgresql_home, _store)
        postgresql_home.settings = settings
        assert "password" not in log.read_text()[len(before) :]


def test_a_wrong_password_is_one_clear_error_without_it(postgresql_home: PostgresqlHome) -> None:
    postgresql_home.password_file.write_text("not-the-password")
    with pytest.raises(VaultFailed, match=r"InvalidPasswordError \(SQLSTATE 28P01\)") as caught:
        with_vault(postgresql_home, _store)
    assert "not-the-password" not in f"{caught.value!r} {caught.value} {caught.value.hint}"


def test_secrets_that_others_may_read_are_refused(postgresql_home: PostgresqlHome) -> None:
    postgresql_home.password_file.chmod(0o640)
    with pytest.raises(InputError, match="0640"):
        with_vault(postgresql_home, _store)


def test_a_socket_of_this_host_needs_no_certificate(postgresql_home: PostgresqlHome) -> None:
    folder = str(postgresql_home.server.folder)
    postgresql_home.settings |= {"host": folder, "ca_file": None, "password_file": None}
    with_vault(postgresql_home, _store)
    assert with_vault(postgresql_home, lambda v: v.load(ONE)) == {TOKEN: VALUE}


def test_a_dsn_file_says_the_same(postgresql_home: PostgresqlHome, tmp_path: Path) -> None:
    dsn_file, ca_file = tmp_path / "dsn", postgresql_home.settings["ca_file"]
    port = postgresql_home.server.port
    dsn_file.write_text(f"postgresql://sovctl:{quote(PASSWORD)}@127.0.0.1:{port}/{DATABASE}?sslmode=verify-full\n")
    dsn_file.chmod(0o600)
    postgresql_home.settings = {"dsn_file": str(dsn_file), "ca_file": ca_file}
    with_vault(postgresql_home, _store)
    address = Address.of(PostgresqlSettings.model_validate(postgresql_home.settings))
    assert PASSWORD not in f"{address!r} {address}"


def test_a_schema_of_another_version_is_refused(postgresql_home: PostgresqlHome) -> None:
    with_vault(postgresql_home, _store)
    postgresql_home.sql("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(InputError, match="expected a vault of version 3, got 99"):
        with_vault(postgresql_home, _store)


def test_a_restarted_server_is_no_failure(postgresql_home: PostgresqlHome) -> None:
    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        postgresql_home.server.kill()
        postgresql_home.server.start()
        await vault.store(TWO, {TOKEN: "other"})
        assert await vault.load(ONE) == {TOKEN: VALUE}
        await vault.check()

    with_vault(postgresql_home, use)


def test_with_the_server_down_nothing_is_acknowledged_and_what_was_is_kept(postgresql_home: PostgresqlHome) -> None:
    acknowledged: list[int] = []
    said: list[str] = []

    def conversation(number: int) -> Conversation:
        return Conversation("retail", f"{number:064x}", True)

    async def use(vault: Vault) -> None:
        loop, kill = asyncio.get_running_loop(), asyncio.Event()

        async def fill(lane: int) -> None:
            for number in itertools.count(lane, 4):
                try:
                    await vault.store(conversation(number), {TOKEN: f"value {number}"})
                except VaultFailed as error:
                    said.append(str(error))
                    return
                acknowledged.append(number)
                if len(acknowledged) == 200:
                    kill.set()

        async def end_it() -> None:
            await kill.wait()
            await loop.run_in_executor(None, postgresql_home.server.kill)

        await asyncio.gather(end_it(), *(fill(lane) for lane in range(4)))
        for doomed in (vault.load(ONE), vault.check(), vault.store(ONE, {TOKEN: VALUE})):
            with pytest.raises(VaultFailed, match="the database does not answer"):
                await doomed
        postgresql_home.server.start()
        await _answers_again(vault)
        for number in acknowledged:
            assert await vault.load(conversation(number)) == {TOKEN: f"value {number}"}
        await vault.store(ONE, {TOKEN: VALUE})

    with_vault(postgresql_home, use)
    assert len(acknowledged) >= 200
    assert len(said) == 4
    assert "value" not in str(said)


def test_a_locked_vault_fails_in_time_and_recovers(postgresql_home: PostgresqlHome) -> None:
    postgresql_home.settings["statement_timeout_s"] = 0.3

    async def use(vault: Vault) -> None:
        await vault.store(ONE, {TOKEN: VALUE})
        other = await asyncpg.connect(
            host=str(postgresql_home.server.folder), port=postgresql_home.server.port, user="sovctl",
            database=DATABASE, ssl=False,
        )  # fmt: skip
        async with other.transaction():
            await other.execute("LOCK TABLE sovctl_vault.keys, sovctl_vault.meta")
            for doomed in (vault.store(ONE, {"EMAIL_NEW": "x"}), vault.store(ONE, {TOKEN: VALUE}), vault.check()):
                with pytest.raises(VaultFailed, match=r"LockNotAvailableError|QueryCanceledError"):
                    await doomed
            assert await vault.load(ONE) == {TOKEN: VALUE}
        await other.close()
        await vault.store(ONE, {"EMAIL_NEW": "x"})
        assert await vault.load(ONE) == {TOKEN: VALUE, "EMAIL_NEW": "x"}

    with_vault(postgresql_home, use)


def test_what_waits_when_it_is_closed_is_still_kept(postgresql_home: PostgresqlHome) -> None:
    many = [Conversation("retail", f"{number:064x}", True) for number in range(600)]

    async def use() -> None:
        vault = await open_vault(postgresql_home)
        waiting = [asyncio.ensure_future(vault.store(each, {TOKEN: VALUE})) for each in many]
        await asyncio.sleep(0)
        await vault.close()
        await vault.close()
        await asyncio.gather(*waiting)
        with pytest.raises(VaultFailed):
            await vault.load(ONE)

    asyncio.run(use())
    assert postgresql_home.sql("SELECT count(*) FROM pieces") == [(len(many),)]


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(text, text, text, st.sampled_from(["db.site.example", "10.0.0.7", "[2001:db8::7]"]), st.integers(1, 65_535))
def test_a_dsn_is_read_as_it_was_meant(user: str, password: str, database: str, host: str, port: int) -> None:
    place = f"{host}:{port},{host}" if port % 2 else host
    dsn = f"postgresql://{quote(user, '')}:{quote(password, '')}@{place}/{quote(database, '')}"
    hosts, ports = ((host.strip("[]"),) * 2, (port, 5432)) if port % 2 else ((host.strip("[]"),), (5432,))
    assert _parsed("dsn", dsn) == (hosts, ports, database, user, password)


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("mysql://u:hush@h/d", "expected postgresql://"),
        ("postgresql://h/d", "expected postgresql://"),
        ("postgresql://u:hush@h", "expected postgresql://"),
        ("postgresql://u:hush@h:x/d", "expected postgresql://"),
        ("postgresql://u:hush@h/d?sslmode=require", "unsupported sslmode"),
        ("postgresql://u:hush@h/d?sslmode=disable", "unsupported sslmode"),
        ("postgresql://u:hush@h/d?options=-cfsync%3Doff", "unsupported options: options"),
        ("hush", "expected postgresql://"),
    ],
)
def test_another_dsn_is_refused_and_never_repeated(dsn: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        _parsed("/run/dsn", dsn)
    assert str(caught.value).startswith(f"/run/dsn: {message}") or message in str(caught.value)
    assert "hush" not in str(caught.value)


def test_the_server_is_a_real_one(postgresql: PostgresqlServer) -> None:
    assert "PostgreSQL" in postgresql.psql("SELECT version()")
    assert postgresql.psql("SHOW fsync").strip() == "on"
