"""certificate.gateway-lasts: the gateway presents the current certificate of its node."""

from __future__ import annotations

from collections.abc import Iterator

from ....spec import Node
from ...model.check import Method, Severity
from ...model.check_context import CheckContext
from ._certificates import Expected
from ._served import ServedCertificateCheck


class GatewayLasts(ServedCertificateCheck):
    id, version, method = "certificate.gateway-lasts", 1, Method.TEST
    title = "the gateway presents a valid certificate"
    controls = ("sc-12", "sc-17", "sc-8.1")
    severity = Severity.HIGH
    remedy = "restart the gateway with `systemctl restart sovctl-gateway`, so that it reads the current certificate"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node on which the gateway serves."""
        if site.context.serves_gateway(node):
            yield Expected(today=site.today, address=str(node.address), port=site.context.gateway.port)
