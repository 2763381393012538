"""certificate.pool-lasts: every server of a pool presents the current certificate of its node."""

from __future__ import annotations

from collections.abc import Iterator

from ....resources.pool import instance
from ....spec import Node
from ...model.check import Method, Severity
from ...model.check_context import CheckContext
from ._certificates import Expected
from ._served import ServedCertificateCheck


class PoolLasts(ServedCertificateCheck):
    id, version, method = "certificate.pool-lasts", 1, Method.TEST
    title = "every server of a pool presents a valid certificate"
    controls = ("sc-12", "sc-17", "sc-8.1")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which restart servers with an outdated certificate"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica with an API server on the node."""
        for replica in site.context.serving_on(node):
            if node.name in replica.endpoints:
                subject, address = instance(replica), str(node.address)
                yield Expected(subject=subject, today=site.today, address=address, port=replica.port)
