"""Key rotation without downtime: wraps every ring under a new wrapping key, which is wrapped under the current KEK.

Gateways continue to run: they write under the new wrapping key as soon as it exists, and read under both. Rings are
wrapped again in small batches, one transaction each. An interrupted rotation continues where it stopped when it is
started again; a finished one changes nothing. At the end the old wrapping keys are destroyed: copies of the database
without the table `keys` cannot be opened after that, even with the KEK.

    done = await rotate(store, keys, now=..., renew=False, progress=print)
    done.rewrapped, done.remaining
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from .database.rows import RingRewrap, Row
from .database.store import Store
from .encryption.errors import VaultFailed, WrappingKeyGone, WrappingKeyRetired
from .encryption.sealing import entropy_bytes, rewrapped
from .wrapping import VaultKeys

_AT_ONCE = 200  # pieces in one transaction, about 5 ms: gateways write in between


@dataclass(frozen=True)
class Rotation:
    """Result of a rotation."""

    kek: str
    """Id of the current KEK."""
    wrapping_key: int
    rewrapped: int
    """Number of pieces whose ring was wrapped again."""
    destroyed: int
    """Number of destroyed wrapping keys."""
    remaining: int
    """Pieces under older wrapping keys; 0 unless another rotation ran concurrently."""


async def rotate(
    store: Store, keys: VaultKeys, *, now: int, renew: bool, progress: Callable[[int, int], None]
) -> Rotation:
    """Wrap everything under the current wrapping key, and that key under the current KEK.

    Args:
        renew: create a new wrapping key even if the current one is wrapped under the current KEK.
        progress: called after each batch with the number of finished pieces and of all pieces.

    Raises:
        VaultFailed: the database or a hardware token failed; finished batches are kept, so start it again.
    """
    await keys.adopt_kek(now)
    if renew:
        await keys.begin(now)
    total, done = await store.count_stale(keys.current), 0
    while rows := await store.stale(keys.current, limit=_AT_ONCE):
        try:
            done += await store.rewrite([await _rewrapped(row, keys) for row in rows], wrapping_key=keys.current)
        except (WrappingKeyRetired, WrappingKeyGone):  # a concurrent rotation created a newer key: use that one
            await keys.refresh()
        progress(done, max(total, done))
    destroyed = await store.remove_keys()
    await store.forget_copies()
    await keys.refresh()
    return Rotation(keys.kek_id, keys.current, done, len(destroyed), await store.count_stale(keys.current))


async def _rewrapped(row: Row, keys: VaultKeys) -> RingRewrap:
    assert row.keys is not None  # rows without keys have no wrapping key
    old, new = await keys.cipher(row.wrapping_key), keys.ciphers[keys.current]
    try:
        ring = rewrapped(row.keys, place=row.place, old=old, new=new, entropy=os.urandom(entropy_bytes(0)))
    except VaultFailed as error:
        raise VaultFailed(
            f"the keys of conversation {row.conversation.hex()} were altered",
            hint="it cannot be decrypted: erase that conversation, and start the rotation again",
        ) from error
    return RingRewrap(row._replace(keys=ring, wrapping_key=keys.current), row.keys)
