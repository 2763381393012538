"""Where a test's vault lives: the same tests run on every store.

with_vault(home, lambda vault: vault.store(ONE, {TOKEN: VALUE}))
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

import asyncpg
from postgresql_server import DATABASE, PASSWORD, PostgresqlServer

from sovctl.gateway.settings import PostgresqlSettings
from sovctl.gateway.storage.postgresql import Address
from sovctl.gateway.tokens.conversation import Conversation
from sovctl.gateway.vault import Vault
from sovctl.gateway.vault.database.postgresql_store import SCHEMA, PostgresqlStore
from sovctl.gateway.vault.database.sqlite_file import BUSY_TIMEOUT_S
from sovctl.gateway.vault.database.sqlite_store import SqliteStore
from sovctl.gateway.vault.database.store import Store
from sovctl.gateway.vault.encryption.keks import Kek, LocalKek

KEK = LocalKek(bytes(range(32)))
VALUE, TOKEN = "anna@example.com", "EMAIL_0123456789ABCDEF"
ONE, TWO = Conversation("retail", "1" * 64, True), Conversation("retail", "2" * 64, True)
TTL_S = 1600
PATIENCE_S = 60.0  # of one statement, or a wait for somebody else's
Result = TypeVar("Result")


class Clock:
    """Time as an argument."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Home(Protocol):
    """A place for one vault."""

    def be_patient(self) -> None:
        """Wait for others as the commands do that rotate and erase."""

    async def store(self) -> Store:
        """Open the store, or make it."""

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement beside the vault, with `?` for values."""

    def dump(self) -> bytes:
        """Everything that a thief would find."""

    def script(self) -> str:
        """Python lines that define `async def store()`, for another process."""

    def place(self) -> dict[str, Any]:
        """The part of a gateway's `vault` settings that says where it is."""


class SqliteHome:
    """A folder with a vault's file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "vault/vault.db"
        self.busy_timeout_s = BUSY_TIMEOUT_S

    def be_patient(self) -> None:
        """See `Home.be_patient`."""
        self.busy_timeout_s = PATIENCE_S

    async def store(self) -> Store:
        return SqliteStore.open(self.path, busy_timeout_s=self.busy_timeout_s)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(self.path)
        try:
            rows = database.execute(statement, values).fetchall()
            database.commit()
        finally:
            database.close()
        return rows

    def dump(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.path.parent.iterdir()))

    def script(self) -> str:
        return (
            "from pathlib import Path\n"
            "from sovctl.gateway.vault.database.sqlite_store import SqliteStore\n"
            f"async def store(): return SqliteStore.open(Path({str(self.path)!r}))\n"
        )

    def place(self) -> dict[str, Any]:
        return {"path": str(self.path)}


class PostgresqlHome:
    """A database with a vault's schema."""

    def __init__(self, server: PostgresqlServer, folder: Path) -> None:
        self.server = server
        self.password_file = folder / "password"
        self.password_file.write_text(PASSWORD)
        self.password_file.chmod(0o600)
        self.settings: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": server.port,
            "database": DATABASE,
            "password_file": str(self.password_file),
            "ca_file": str(server.ca_file),
        }

    def be_patient(self) -> None:
        """See `Home.be_patient`."""
        self.settings["statement_timeout_s"] = PATIENCE_S

    async def store(self) -> Store:
        return await PostgresqlStore.open(Address.of(PostgresqlSettings.model_validate(self.settings)))

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(
                host=str(self.server.folder),
                port=self.server.port,
                user="sovctl",
                database=DATABASE,
                ssl=False,
                server_settings={"search_path": SCHEMA},
            )
            try:
                numbered = "".join(
                    f"{part}${number}" for number, part in enumerate(statement.split("?"), start=1)
                ).removesuffix(f"${statement.count('?') + 1}")
                return [tuple(row) for row in await connection.fetch(numbered, *values)]
            finally:
                await connection.close()

        # Tests call this inside of a running loop too.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, run()).result()

    def dump(self) -> bytes:
        return self.server.dump()

    def script(self) -> str:
        return (
            "from sovctl.gateway.settings import PostgresqlSettings\n"
            "from sovctl.gateway.storage.postgresql import Address\n"
            "from sovctl.gateway.vault.database.postgresql_store import PostgresqlStore\n"
            f"settings = PostgresqlSettings.model_validate({self.settings!r})\n"
            "async def store(): return await PostgresqlStore.open(Address.of(settings))\n"
        )

    def place(self) -> dict[str, Any]:
        return {"postgresql": self.settings}


def with_vault(
    home: Home,
    use: Callable[[Vault], Awaitable[Result]],
    *,
    clock: Callable[[], float] | None = None,
    keks: Sequence[Kek] = (KEK,),
) -> Result:
    """Open the vault, use it, close it."""

    async def main() -> Result:
        vault = await open_vault(home, clock=clock, keks=keks)
        try:
            return await use(vault)
        finally:
            await vault.close()

    return asyncio.run(main())


async def open_vault(home: Home, *, clock: Callable[[], float] | None = None, keks: Sequence[Kek] = (KEK,)) -> Vault:
    """The vault of a home."""
    return await Vault.open(await home.store(), keks, ttl_s=TTL_S, clock=clock or Clock())
