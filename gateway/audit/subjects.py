"""Commitments to persons: the ledger names a person as HMAC(salt, name), with a random salt for each person.

- The vault stores the salts, each under its own data key, for as long as the ledger keeps its entries.
- Without the salt, a commitment cannot be computed from the name. Erasing the salt unlinks the person's entries.
- A request needs no HMAC and no query while its person is in the cache. The vault is asked again after `_CACHED_S`.
- The ledger names clients with API keys and certificates as the settings do; these names are of applications.

    subjects = Subjects(vault, keep_s=86400 * 365)
    await subjects.commitment("idp:5f1c")      # 64 hex digits
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from ..settings.ledger import LedgerSettings
from ..tokens.conversation import Conversation
from ..vault import Superseded, Vault

SALT_BYTES = 32
DEFAULT_KEEP_S = 3650 * 86_400
"""Lifetime of a salt after its last use if the ledger has no retention."""
_PURPOSE = "subject"
_CACHED_S = 30.0  # chosen; after an erasure, a running gateway uses the old commitment for at most this time
_MAX_CACHED = 16_384  # persons; 3 MB
_NAME = "salt"  # first word of the names of salts in the vault; names of tokens contain no space


class Subjects:
    """The persons of one gateway.

    Args:
        keep_s: seconds after its last use for which a salt is stored; the retention of the ledger.
        monotonic: returns seconds that never go back.
    """

    def __init__(self, vault: Vault, *, keep_s: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._vault = vault
        self._keep_s = keep_s
        self._monotonic = monotonic
        self._cached: dict[str, tuple[str, float]] = {}

    @classmethod
    def of(cls, vault: Vault, ledger: LedgerSettings) -> Subjects:
        """Return the persons of a gateway with these settings."""
        days = ledger.retention_days
        return cls(vault, keep_s=DEFAULT_KEEP_S if days is None else max(1, days) * 86_400)

    def place(self, name: str) -> Conversation:
        """Return the location of a person's salts in the vault. It does not depend on the tenant and the token keys."""
        return self._vault.location(_PURPOSE, name)

    async def commitment(self, name: str) -> str:
        """Return the commitment to a person in new entries. The salt is durable on return.

        Raises:
            VaultFailed: the salt cannot be read or stored.
        """
        found, until = self._cached.get(name, ("", 0.0))
        if self._monotonic() < until:
            return found
        place = self.place(name)
        salts = await self._salts(place)
        fresh = {} if salts else {f"{_NAME} {secrets.token_hex(8)}": secrets.token_hex(SALT_BYTES)}
        await self._store(place, fresh)  # without a new salt, this renews the lifetime when it is due
        # If several processes store a salt at the same time, the first salt in the order of the vault counts.
        salts = salts or await self._salts(place)
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        commitment = _commitment(salts[0], name)
        self._cached[name] = commitment, self._monotonic() + _CACHED_S
        return commitment

    async def known(self, name: str) -> list[str]:
        """Return all commitments to a person that entries can have; empty without a salt.

        Raises:
            VaultFailed: the salts cannot be read.
        """
        return [_commitment(salt, name) for salt in await self._salts(self.place(name))]

    async def _salts(self, place: Conversation) -> list[bytes]:
        values = await self._vault.load(place)
        return [bytes.fromhex(value) for name, value in values.items() if name.startswith(_NAME)]

    async def _store(self, place: Conversation, values: dict[str, str]) -> None:
        for _ in range(2):  # the second time after an erasure
            try:
                generation = self._vault.generation(place)
                return await self._vault.store(place, values, generation=generation, keep_s=self._keep_s)
            except Superseded:
                continue
        raise Superseded(self._vault.generation(place))


def _commitment(salt: bytes, name: str) -> str:
    return hmac.digest(salt, b"sovctl subject v1\0" + name.encode(), hashlib.sha256).hex()
