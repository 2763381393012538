"""site.ledger-verifies: `sovctl audit verify` finds no damage in the site's ledger."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.check import Method, Severity
from ...model.check_context import CheckContext
from ...probes.ledger_check import Expected, LedgerCheck


class SiteLedgerVerifies(LedgerCheck):
    id, version, method = "site.ledger-verifies", 1, Method.TEST
    title = "the site's ledger is complete and unaltered"
    controls = ("au-10", "au-9", "au-9.3")
    severity = Severity.CRITICAL
    remedy = "keep the ledger as it is, and compare it with the copies of its witnesses"

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect a valid ledger in the site's state folder."""
        yield Expected(
            program=site.controller.program,
            directory=site.controller.ledger,
            origin=f"sovctl.{site.context.spec.site.name}/site",
        )
