"""Base error of vault, quota store and hand-off queue."""

from __future__ import annotations

from sovctl.support.errors import SovctlError


class StorageFailed(SovctlError):
    """A database or file of the gateway is unreadable, unwritable or unreachable."""
