"""Encrypted store of the values that tokens replace. Without a KEK no value can be read.

    KEK             outside the database: a file, an environment variable or a hardware token      `encryption.keks`
    wrapping key    a new one every day, wrapped under the KEK                                      `wrapping`
    ring            the data keys of one request's values, wrapped under the wrapping key           `encryption.sealing`
    data key        encrypts one value: AES-256-GCM, bound to tenant, conversation and token

The database contains keyed digests of conversations and tenants, and values under their own data keys. Erasure destroys
these keys, so it also applies to every copy of the rows. `Vault.store` returns when the rows are durable; concurrent
requests share one commit.

    vault = await open_vault(settings.vault, load_keks(settings.vault))
    await vault.store(conversation, {"IBAN_...": "DE89 ..."})
    await vault.load(conversation)
    await vault.close()
"""

from .encryption.errors import Superseded, VaultFailed
from .opening import load_keks, open_vault
from .vault import Vault

__all__ = ["Superseded", "Vault", "VaultFailed", "load_keks", "open_vault"]
