"""What can be wrong with a ledger."""

from __future__ import annotations

from sovctl.support.errors import SovctlError


class LedgerDamaged(SovctlError):
    """The ledger is not what was signed. Nothing is appended to such a ledger."""


class LedgerUnwritable(SovctlError):
    """An entry could not be made durable. Whoever needed it recorded must not go on."""


class WitnessRefused(SovctlError):
    """A witness does not sign: what it is shown does not extend what it saw before."""
