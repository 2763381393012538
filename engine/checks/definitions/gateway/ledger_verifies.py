"""gateway.ledger-verifies: `sovctl audit verify` finds no damage in the gateway's audit ledger."""

from __future__ import annotations

from collections.abc import Iterator

from ....resources.gateway.service import DATA
from ....resources.software.environment import GATEWAY, ROOT
from ....spec import Node
from ...model.check import Method, Severity
from ...model.check_context import CheckContext
from ...probes.ledger_check import Expected, LedgerCheck


class GatewayLedgerVerifies(LedgerCheck):
    id, version, method = "gateway.ledger-verifies", 1, Method.TEST
    title = "the gateway's audit ledger is complete and unaltered"
    controls = ("au-10", "au-9", "au-9.3")
    severity = Severity.CRITICAL
    remedy = "keep the ledger as it is, and compare it with the copies of its witnesses"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Gateway nodes."""
        if site.context.is_gateway(node):
            yield Expected(
                program=f"{ROOT}/{GATEWAY}/bin/sovctl",
                directory=f"{DATA}/ledger",
                origin=f"sovctl.{site.context.spec.site.name}/gateway",
            )
