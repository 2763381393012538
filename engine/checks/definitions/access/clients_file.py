"""access.clients-file: the clients file has the content of the last apply, and only the gateway can read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.permissions import parse_permissions, permissions_command
from ....facts.unreadable import Unreadable
from ....resources.credential import SECRETS
from ....resources.resource import CREATED_BY_APPLY
from ....spec import Node
from ....spec.service_accounts import GATEWAY_UID
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_FILE = f"{SECRETS}/gateway-clients.json"
_SHA256 = re.compile(r"^([0-9a-f]{64})  /")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Digest of the file on the controller; None before the first apply."""

    sha256: str | None


class ClientsFile(Check[Expected]):
    id, version, method = "access.clients-file", 1, Method.EXAMINE
    title = "the clients of the gateway are those of site.yaml"
    controls = ("ac-2", "ac-3", "ia-5")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; review requests of clients that site.yaml does not contain"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the nodes of the gateway."""
        if site.context.is_gateway(node):
            digest = site.context.clients_sha256
            yield Expected(sha256=None if digest == CREATED_BY_APPLY else digest)

    def probe(self, expected: Expected) -> Probe:
        """Print digest, owner and mode; the file contains hashes of keys, which are not printed."""
        return Probe.of(digest=f"sha256sum {_FILE}", permissions=permissions_command([_FILE]))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the digest is that of the controller, the owner the gateway, and the mode 0600."""
        sections = parse_sections(output)
        match = _SHA256.match(sections.text("digest"))
        if match is None:
            raise Unreadable("a SHA-256 digest", sections.text("digest"), where="sha256sum")
        got = parse_permissions(sections.text("permissions")).get(_FILE)
        findings = []
        if expected.sha256 is None:
            findings.append(unknown("the digest of the clients file", "none before the first apply"))
        elif match[1] != expected.sha256:
            findings.append(failed(f"clients file {expected.sha256[:12]}", match[1][:12]))
        if got is None:
            findings.append(unknown(f"owner and mode of {_FILE}", "no such file"))
        elif (got.mode, got.uid) != (0o600, GATEWAY_UID):
            findings.append(
                failed(f"{_FILE} with mode 0600 of user {GATEWAY_UID}", f"mode {got.mode:04o}, user {got.uid}")
            )
        return worst(findings, otherwise=f"expected the planned clients file, got {match[1][:12]}")
