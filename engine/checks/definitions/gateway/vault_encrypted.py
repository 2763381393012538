"""gateway.vault-encrypted: tokenized identifiers cannot be read in the vault's files."""

from __future__ import annotations

from collections.abc import Iterator

from ....resources.gateway.service import DATA
from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ._gateway_check import Expected, GatewayCheck, gateway_request, single_row


class VaultEncrypted(GatewayCheck):
    id, version, method = "gateway.vault-encrypted", 1, Method.TEST
    title = "tokenized identifiers are not readable in the vault's files"
    controls = ("sc-28", "sc-28.1")
    severity = Severity.CRITICAL
    remedy = "stop the gateway; check owner and mode of the vault, then run `sovctl plan` and `sovctl apply`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Gateway nodes of a site with a model name that prefers a cloud."""
        yield from (each for each in super().expect(site, node) if each.cloud_model is not None)

    def probe(self, expected: Expected) -> Probe:
        """Send invented identifiers to the cloud model, and search for them in the vault's files."""
        return gateway_request(expected, "sealed_values", expected.cloud_model or "", f"{DATA}/vault.db")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the vault has more rows and no readable copy, and no file that other users may read."""
        row = single_row(output)
        if row.get("status") != 200 or row.get("route") != "cloud":
            return unknown(
                f"a tokenized request for {expected.cloud_model}",
                f"status {row.get('status')} from {row.get('route')}; no value was encrypted",
            )
        before, after, copies = row.get("rows_before"), row.get("rows_after"), row.get("copies")
        if not isinstance(before, int) or not isinstance(after, int) or not isinstance(copies, int):
            return unknown("counts of rows and of readable copies", "none")
        findings: list[Judgement] = []
        if after <= before:
            findings.append(unknown(f"more than {before} rows after the request", str(after)))
        if copies:
            findings.append(failed("0 readable copies of the identifiers in the vault's files", str(copies)))
        if not isinstance(row.get("open_files"), list):
            findings.append(unknown("permissions of the vault's files", "none"))
        findings += [failed(f"{file} not readable for other users", "readable") for file in row.get("open_files") or ()]
        return worst(
            findings, otherwise=f"expected encrypted identifiers, got {after - before} more rows and no readable copy"
        )
