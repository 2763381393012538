"""Error of a lock that cannot be made: every reason together."""

from __future__ import annotations

from collections.abc import Sequence

from sovctl.support.errors import ExitCode, SovctlError


class LockRefused(SovctlError):
    """The lock is not closed, or its use is not permitted. No file was written.

    Args:
        reasons: one line each.
    """

    exit_code = ExitCode.FAILURE

    def __init__(self, reasons: Sequence[str], *, hint: str, where: str = "") -> None:
        self.reasons = tuple(reasons)
        shown = "; ".join(self.reasons[:20])
        more = f"; and {len(self.reasons) - 20} more" if len(self.reasons) > 20 else ""
        super().__init__(f"the lock is refused: {shown}{more}", hint=hint, where=where)
