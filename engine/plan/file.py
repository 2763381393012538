"""The plan file: what will change, bound by digests to what it was made from, and signed.

`apply` trusts none of it: it verifies the signature, gathers again, makes the plan again, and goes on only when the
two are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import BadSignature, SigningKey, VerifyKey, sign_document, verify_document
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError, PlanTampered

from ..resources.resource import Change
from .waves import Wave

FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """A whole plan.

    Args:
        created: UTC, `2026-11-21T09:00:00Z`.
        spec_sha256: of the site description's values.
        inputs_sha256: of locks, credentials and code: all that is not in site.yaml.
        facts_sha256: of what was observed, by node.
        simulated: True when any node has stand-in hardware.
    """

    site: str
    created: str
    sovctl_version: str
    spec_sha256: str
    inputs_sha256: str
    facts_sha256: Mapping[str, str]
    simulated: bool
    changes: tuple[Change, ...]
    waves: tuple[Wave, ...]

    def body(self) -> dict[str, Any]:
        """Plain values: what is signed."""
        return {
            "format": FORMAT,
            "site": self.site,
            "created": self.created,
            "sovctl_version": self.sovctl_version,
            "spec_sha256": self.spec_sha256,
            "inputs_sha256": self.inputs_sha256,
            "facts_sha256": dict(self.facts_sha256),
            "simulated": self.simulated,
            "changes": [change.to_json() for change in self.changes],
            "waves": [{"name": wave.name, "nodes": list(wave.nodes)} for wave in self.waves],
        }

    @property
    def sha256(self) -> str:
        """The plan's name in journal, ledger and evidence."""
        return digest(self.body())


def write(plan: Plan, path: Path, key: SigningKey) -> None:
    """Save a plan, signed; only its owner can read it."""
    body = plan.body()
    signed = {"plan": body, "sha256": plan.sha256, "signature": sign_document(body, key)}
    write_atomic(path, json.dumps(signed, indent=1, ensure_ascii=False) + "\n", mode=0o600)


def read(path: Path, key: VerifyKey) -> Plan:
    """A plan as `write` saved it.

    Raises:
        InputError: there is none, or it is no plan.
        PlanTampered: it is not what was signed.
    """
    try:
        signed = json.loads(path.read_text())
        body, sha256, signature = signed["plan"], signed["sha256"], signed["signature"]
    except FileNotFoundError:
        raise InputError("expected a plan, found none", where=str(path), hint="sovctl plan site.yaml") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PlanTampered("expected a plan file", where=str(path), hint="make a new one: sovctl plan") from None
    try:
        verify_document(body, signature, key)
        if digest(body) != sha256:
            raise BadSignature("digest")
        return _parse(body)
    except (BadSignature, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PlanTampered(
            "expected the plan that this controller signed, got an altered one",
            where=str(path),
            hint="nothing was changed; make a new one: sovctl plan",
        ) from None


def _parse(body: Mapping[str, Any]) -> Plan:
    if body["format"] != FORMAT:
        raise ValueError("format")
    names = ("site", "created", "sovctl_version", "spec_sha256", "inputs_sha256", "facts_sha256", "simulated")
    return Plan(
        **{name: body[name] for name in names},
        changes=tuple(Change.from_json(each) for each in body["changes"]),
        waves=tuple(Wave(each["name"], tuple(each["nodes"])) for each in body["waves"]),
    )
