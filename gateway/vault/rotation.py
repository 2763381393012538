"""Rotation without downtime: everything under a new wrapping key, which stands under the current KEK.

Gateways go on meanwhile: they write under the new wrapping key as soon as there is one, and read under both. Rings are
wrapped anew in small batches, each its own transaction, so a rotation that was cut off goes on where it was when it is
started again, and one that is finished changes nothing. In the end the old wrapping keys are destroyed: copies of the
database without the table `keys` can't be opened any more, whatever KEK is kept.

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
    """What a rotation did."""

    kek: str
    """Id of the KEK under which everything stands now."""
    wrapping_key: int
    rewrapped: int
    """Pieces whose ring was wrapped anew."""
    destroyed: int
    """Wrapping keys that are gone."""
    remaining: int
    """Pieces under older wrapping keys; 0 unless another rotation went on at the same time."""


async def rotate(
    store: Store, keys: VaultKeys, *, now: int, renew: bool, progress: Callable[[int, int], None]
) -> Rotation:
    """Bring everything under the current wrapping key, after seeing to it that it stands under the current KEK.

    Args:
        renew: begin a new wrapping key even if the current one stands under the current KEK.
        progress: called with pieces done and pieces in all, after each batch.

    Raises:
        VaultFailed: the database or a token can't be used; what was done stays done, start it again.
    """
    await keys.adopt_kek(now)
    if renew:
        await keys.begin(now)
    total, done = await store.count_stale(keys.current), 0
    while rows := await store.stale(keys.current, limit=_AT_ONCE):
        try:
            done += await store.rewrite([await _rewrapped(row, keys) for row in rows], wrapping_key=keys.current)
        except (WrappingKeyRetired, WrappingKeyGone):  # another rotation was faster: its newer key it shall be
            await keys.refresh()
        progress(done, max(total, done))
    destroyed = await store.remove_keys()
    await store.forget_copies()
    await keys.refresh()
    return Rotation(keys.kek_id, keys.current, done, len(destroyed), await store.count_stale(keys.current))


async def _rewrapped(row: Row, keys: VaultKeys) -> RingRewrap:
    assert row.keys is not None  # rows without keys stand under no wrapping key
    old, new = await keys.cipher(row.wrapping_key), keys.ciphers[keys.current]
    try:
        ring = rewrapped(row.keys, place=row.place, old=old, new=new, entropy=os.urandom(entropy_bytes(0)))
    except VaultFailed as error:
        raise VaultFailed(
            f"expected a ring that opens, got an altered one in conversation {row.conversation.hex()}",
            hint="nobody can read it any more: erase that conversation, and start the rotation again",
        ) from error
    return RingRewrap(row._replace(keys=ring, wrapping_key=keys.current), row.keys)
