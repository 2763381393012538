"""fabric.no-missing-links: every node has its compute ports on the fabric, and no planned or usual uplink is absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....fabric.cabling import compare
from ....fabric.findings import missing_uplinks, unset_names
from ....fabric.names import adapter_name
from ....fabric.topology import Fabric
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ._fabric_check import Expected, FabricCheck


class NoMissingLinks(FabricCheck):
    id, version, method = "fabric.no-missing-links", 1, Method.TEST
    title = "no link of the fabric is missing"
    controls = ("cm-8", "si-13")
    severity = Severity.HIGH
    remedy = "check cable and both ports of the link; `sovctl fabric diff` lists the missing links"

    def judge_fabric(self, fabric: Fabric, expected: Expected) -> Judgement:
        """Fail for missing adapters, planned links, and uplinks that most leaves have.

        A node with missing adapters is UNKNOWN while adapters without a name could be its own.
        """
        findings = list(_adapter_findings(fabric, expected))
        if expected.plan:
            missing = compare(expected.plan, fabric).missing
            findings += [
                failed(f"a link from {each.one} to {each.other} (line {each.line})", "none") for each in missing
            ]
        else:
            findings += [
                failed(f"{each.usual} uplinks of {each.leaf}", f"{each.found}; few to {', '.join(each.lacks) or 'all'}")
                for each in missing_uplinks(fabric)
            ]
        return worst(findings, otherwise=f"expected no missing link, got {len(fabric.links)} links")


def _adapter_findings(fabric: Fabric, expected: Expected) -> Iterator[Judgement]:
    if not expected.adapters:
        yield unknown("compute ports of the site's nodes", "none in the catalogue or site.yaml")
    names = (adapter_name(each.description) for each in fabric.adapters)
    found = Counter(name.host.partition(".")[0] for name in names if name is not None)
    unnamed = {each.guid for each in unset_names(fabric)} & {each.guid for each in fabric.adapters}
    for host, count in expected.adapters:
        if found[host] < count and unnamed:
            yield unknown(f"{count} adapters of {host}", f"{found[host]}, and {len(unnamed)} adapters without a name")
        elif found[host] < count:
            yield failed(f"{count} adapters of {host} on the fabric", str(found[host]))
