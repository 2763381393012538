"""Writes the packet of a node for a repair service: a ZIP archive with pseudonyms for names, addresses and serials.

certificate.json     the certificate, signed again, because pseudonyms change its content
results.json         check, verdict and reason of every result of the node
outputs/CHECK.txt    outputs of the checks of hardware
"""

from __future__ import annotations

import io
import json
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sovctl.compliance.evidence.runs import read_raw
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.signing import load_or_create
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ...lifecycle import certificate_store
from ...lifecycle.evidence import is_hardware, node_of
from ...lifecycle.node_certificate import signed_by
from ...lifecycle.sanitized import sanitized
from .node_certificates import Issuer

SECRET_BYTES = 32
TIME = (2026, 1, 1, 0, 0, 0)
"""Time of all files in the archive, so that equal contents give equal bytes."""


def write(issuer: Issuer, node: str, run: str, stored: Sequence[StoredEvidence], out: Path) -> int:
    """Write the packet, and return the number of outputs.

    Raises:
        InputError: the run has no result of the node.
        NotSanitized: an original value would be left.
    """
    own = [each.evidence for each in stored if node_of(each.evidence) == node]
    if not own:
        raise InputError(f"expected results of node {node}, got none", where=f"run {run}", hint="sovctl verify")
    values, secret = list(_values(issuer, stored)), _secret(issuer.root)

    def clean(text: str) -> str:
        return sanitized(text, values=values, secret=secret)

    files: dict[str, str] = {}
    path = issuer.root / certificate_store.FOLDER / f"{node}.json"
    if path.exists():
        document = json.loads(clean(json.dumps(certificate_store.read(path)["certificate"])))
        key = load_or_create(issuer.root / "keys" / "ledger.key")
        copy = document | {"is_sanitized": True, "waivers": [each["limit"] for each in document["waivers"]]}
        files["certificate.json"] = json.dumps(signed_by(copy, key), indent=1) + "\n"
    rows = [{"check": e.check_id, "target": e.target, "verdict": e.verdict.value, "reason": e.reason} for e in own]
    files["results.json"] = clean(json.dumps(rows, indent=1)) + "\n"
    hardware = [each for each in own if is_hardware(each.check_id) or each.check_id.startswith("node.")]
    for each in hardware:
        raw = read_raw(issuer.root / "evidence", each.raw_sha256).decode("utf-8", "replace")
        files[f"outputs/{each.check_id}.txt"] = clean(raw)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(zipfile.ZipInfo(name, TIME), text)
    write_atomic(out, archive.getvalue(), mode=0o600)
    return len(hardware)


def _values(issuer: Issuer, stored: Sequence[StoredEvidence]) -> Iterator[tuple[str, str]]:
    """Yield all originals of the site: names and addresses, and serial numbers of all nodes."""
    yield "site", issuer.spec.site.name
    for _, node in issuer.spec.nodes():  # no output of a node has the name of its group
        yield "node", node.name
        yield "address", str(node.address)
    for waiver in issuer.spec.verify.waivers:
        yield "person", waiver.requested_by
        yield "person", waiver.approved_by
        yield "reference", waiver.reference
    for inventory in issuer.inventories(stored).values():
        for part in inventory.parts:
            yield "serial", part.serial or ""


def _secret(root: Path) -> bytes:
    """Return the secret of the site's pseudonyms; create it at the first use."""
    path = root / "keys" / "pseudonym.key"
    if not path.exists():
        write_atomic(path, secrets.token_bytes(SECRET_BYTES), mode=0o600)
    return path.read_bytes()
