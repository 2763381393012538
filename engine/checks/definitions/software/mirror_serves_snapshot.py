"""software.mirror-serves-snapshot: each mirror serves the selected snapshot over TLS, and neither listings nor uploads.

A node asks every mirror, a mirror node only itself, because mirrors change one after the other. Equal manifests mean
equal files: MANIFEST has the SHA-256 of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....resources.credential import TLS
from ....resources.mirror import urls
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command

_REFUSALS = frozenset({"http 403", "http 404", "http 405"})


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `site.yaml: mirror`, and the selected snapshot."""

    mirrors: tuple[str, ...]
    """Address and port of each, such as `10.77.0.21:8444`."""
    snapshot: str
    manifest_sha256: str
    ca_file: str
    """On the node."""


class MirrorServesSnapshot(Check[Expected]):
    id, version, method = "software.mirror-serves-snapshot", 1, Method.TEST
    title = "each mirror serves the selected snapshot over TLS, without listings and uploads"
    controls = ("cm-14", "sc-8", "si-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; on the mirror node: `journalctl -u sovctl-mirror`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node of a site with a mirror and a selected snapshot."""
        mirror, chosen = site.context.spec.mirror, site.context.snapshot
        if mirror is None or chosen is None:
            return
        is_own = site.context.is_mirror(node)
        names = [node.name] if is_own else mirror.nodes
        yield Expected(
            mirrors=tuple(f"{site.context.spec.node(name).address}:{mirror.port}" for name in names),
            snapshot=chosen.id,
            manifest_sha256=chosen.manifest_sha256,
            ca_file=f"{TLS}/ca.pem" if is_own else urls.CA,
        )

    def probe(self, expected: Expected) -> Probe:
        """Get MANIFEST and the folder of the snapshot, and try to put a file."""
        command = python_command("mirror_client", expected.ca_file, expected.snapshot, *expected.mirrors)
        return Probe({"mirrors": command}, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every mirror serves the manifest of the snapshot, and refuses the other requests."""
        text = parse_sections(output).text("mirrors")
        try:
            rows = {str(row["mirror"]): row for row in map(json.loads, text.splitlines())}
            answers = {name: tuple(str(rows[name][key]) for key in ("manifest", "listing", "upload")) for name in rows}
        except MALFORMED:
            raise Unreadable("one JSON line per mirror", text, where="mirror_client") from None
        findings: list[Judgement] = []
        for name in expected.mirrors:
            if name not in answers:
                findings.append(unknown(f"an answer of {name}", "none"))
                continue
            manifest, listing, upload = answers[name]
            if manifest != expected.manifest_sha256:
                wanted = f"snapshot {expected.snapshot} ({expected.manifest_sha256[:12]}) of {name}"
                findings.append(failed(wanted, excerpt(manifest)))
            for what, answer in (("listing", listing), ("upload", upload)):
                if answer not in _REFUSALS:
                    is_answer = answer.startswith("http ")
                    findings.append((failed if is_answer else unknown)(f"no {what} by {name}", excerpt(answer)))
        return worst(findings, otherwise=f"expected snapshot {expected.snapshot}, got it of {', '.join(answers)}")
