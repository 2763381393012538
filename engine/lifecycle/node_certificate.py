"""The certificate of a node: which parts were tested, with which results, and until when it is valid. Pure.

    document = certificate(...)                       # unsigned
    signed = signed_by(document, key)                 # {"certificate": ..., "signature": {"keyid", "sig"}}
    problems(signed, key.public, now=now)             # empty if it is valid

It names the parts by slot, model, serial number and firmware: `changed_parts` of a later inventory void it. The results
name the digests of the outputs, which are in the site's evidence, so that an auditor can compare them offline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.signing import BadSignature, SigningKey, VerifyKey, sign_document, verify_document
from sovctl.support.errors import InputError

from ..facts.inventory import Inventory, Part
from ..spec.verify import LimitWaiver

FORMAT = "sovctl node certificate v1"
_FIELDS = {"format", "site", "node", "platform", "level", "issued", "expires", "simulated", "is_sanitized", "run",
           "fingerprint", "parts", "results", "waivers"}  # fmt: skip
_LISTS = ("parts", "results", "waivers")


def certificate(
    *,
    site: str,
    node: str,
    platform: str,
    level: str,
    run: str,
    inventory: Inventory,
    evidence: Sequence[Evidence],
    now: datetime,
    valid: timedelta,
    waivers: Sequence[LimitWaiver] = (),
) -> dict[str, Any]:
    """Return the certificate of a node. It ends with the first waiver.

    Args:
        evidence: of the node, from one run.
        now: UTC.
        waivers: of site.yaml, for limits of the checks.
    """
    ends = [datetime.fromisoformat(f"{each.expires}T23:59:59+00:00") for each in waivers]
    return {
        "format": FORMAT,
        "site": site,
        "node": node,
        "platform": platform,
        "level": level,
        "issued": _text(now),
        "expires": _text(min([now + valid, *ends])),
        "simulated": any(each.simulated for each in evidence),
        "is_sanitized": False,
        "run": run,
        "fingerprint": inventory.fingerprint,
        "parts": [asdict(part) for part in inventory.parts],
        "results": [
            {
                "check": each.check_id,
                "version": each.check_version,
                "target": each.target,
                "verdict": each.verdict.value,
                "output_sha256": each.raw_sha256,
            }
            for each in sorted(evidence, key=lambda each: (each.check_id, each.target))
        ],
        "waivers": [each.model_dump(mode="json") for each in waivers],
    }


def signed_by(document: Mapping[str, Any], key: SigningKey) -> dict[str, Any]:
    """Return the certificate with its signature."""
    return {"certificate": dict(document), "signature": sign_document(document, key)}


def problems(signed: Mapping[str, Any], key: VerifyKey, *, now: datetime) -> list[str]:
    """Return the reasons why a certificate is not valid at `now`; empty if it is.

    Raises:
        InputError: the document is not a certificate.
    """
    document = document_of(signed)
    found: list[str] = []
    try:
        verify_document(document, signed["signature"], key)
    except BadSignature as error:
        found.append(str(error))
    if not document["is_sanitized"] and inventory_of(document).fingerprint != document["fingerprint"]:
        found.append("the fingerprint is not that of the parts")
    issued, expires = (datetime.fromisoformat(document[name]) for name in ("issued", "expires"))
    if now < issued:
        found.append(f"issued in the future, on {document['issued']}")
    if now >= expires:
        found.append(f"expired on {document['expires']}")
    found += [
        f"{each['check']} of {each['target']}: {each['verdict']}"
        for each in document["results"]
        if each["verdict"] not in ("PASS", "WARN", "N/A")
    ]
    return found


def document_of(signed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate in a signed document.

    Raises:
        InputError: it has another form.
    """
    document = signed.get("certificate")
    signature = signed.get("signature")
    if not (isinstance(document, dict) and isinstance(signature, dict)) or document.get("format") != FORMAT:
        raise InputError(f"expected a signed document {FORMAT!r}, got another one")
    if set(document) != _FIELDS or not all(isinstance(document[name], list) for name in _LISTS):
        raise InputError(f"expected the fields {', '.join(sorted(_FIELDS))}, got {', '.join(sorted(document))}")
    try:
        for name in ("issued", "expires"):
            datetime.fromisoformat(document[name])
        inventory_of(document)
        rows = [{"check", "version", "target", "verdict", "output_sha256"} == set(each) for each in document["results"]]
    except (TypeError, ValueError):
        raise InputError("expected times, parts and results of a certificate, got others") from None
    if not all(rows) or not document["results"]:
        raise InputError("expected results with check, version, target, verdict and digest, got others")
    return document


def inventory_of(document: Mapping[str, Any]) -> Inventory:
    """Return the parts of a certificate."""
    return Inventory(tuple(Part(**part) for part in document["parts"]))


def changed_parts(certified: Inventory, present: Inventory) -> Iterator[str]:
    """Yield each difference between the certified parts and those of a later inventory."""
    before = {(part.kind, part.place): part for part in certified.parts}
    after = {(part.kind, part.place): part for part in present.parts}
    for kind, place in sorted(before.keys() | after.keys()):
        name = f"{kind} {place}".strip()
        one, other = before.get((kind, place)), after.get((kind, place))
        if one is None or other is None:
            yield f"{name}: {'new' if one is None else 'absent'}"
            continue
        for field in ("model", "serial", "firmware"):
            if getattr(one, field) != getattr(other, field):
                yield f"{name}: {field} {getattr(one, field)} -> {getattr(other, field)}"


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
