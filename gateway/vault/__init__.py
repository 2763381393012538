"""Where originals wait for their tokens to come back, sealed. Nothing in it can be read without the KEK.

    KEK             outside the database: a file, an environment variable or a hardware token      `keks`
    wrapping key    a new one every day, wrapped under the KEK                                      `wrapping`
    ring            the data keys of what one request added, wrapped under the wrapping key         `sealing`
    data key        seals one value: AES-256-GCM, bound to tenant, conversation and token

Conversations and tenants stand in the database as keyed digests, values under data keys of their own; so whatever is
erased is erased by destroying its keys, in every copy of the rows. `Vault.store` returns when the rows are on the
disk; requests that wait together share one commit.

    vault = await open_vault(settings.vault, load_keks(settings.vault))
    await vault.store(conversation, {"IBAN_...": "DE89 ..."})
    await vault.load(conversation)
    await vault.close()
"""

from .encryption.errors import Superseded, VaultFailed
from .opening import load_keks, open_vault
from .vault import Vault

__all__ = ["Superseded", "Vault", "VaultFailed", "load_keks", "open_vault"]
