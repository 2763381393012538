"""Errors of the ledger."""

from __future__ import annotations

from sovctl.support.errors import SovctlError


class LedgerDamaged(SovctlError):
    """The entries differ from the signed checkpoint. Appends are refused."""


class LedgerUnwritable(SovctlError):
    """An entry could not be made durable. The caller must not perform the action it records."""


class WitnessRefused(SovctlError):
    """The witness refuses to sign, because the checkpoint is inconsistent with the last one it signed."""
