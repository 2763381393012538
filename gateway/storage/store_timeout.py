"""Stall timeouts of ledger, vault and limits; logs the store that stalls and its recovery."""

from __future__ import annotations

import logging

from sovctl.support.stall_timeout import StallTimeout

from ..telemetry import log


def store_stall_timeout(store: str, disk_timeout_s: float) -> StallTimeout:
    """Return the timeout of one store.

    Args:
        store: its name, as in `/readyz`.
        disk_timeout_s: from the settings.
    """

    def tell(is_hung: bool) -> None:
        if is_hung:
            log.event("store does not answer", level=logging.ERROR, store=store, after_s=disk_timeout_s)
        else:
            log.event("store answers again", store=store)

    return StallTimeout(disk_timeout_s, on_change=tell)
