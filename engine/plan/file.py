"""The plan file: signed, and bound to its inputs by digests.

`apply` verifies the signature, gathers facts and computes the changes again. It fails if they differ from the plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import BadSignature, SigningKey, VerifyKey, sign_document, verify_document
from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError, PlanTampered

from ..resources.resource import Change
from .scope import EVERYTHING, Scope
from .support import Refusal
from .unmanaged import Unmanaged
from .waves import Wave

FORMAT = 3
LIMIT_BYTES = 256 << 20
"""Largest plan file, bytes. Estimate for a new site of 1,024 nodes: 30 changes of 1.6 kB on each, 50 MB."""


@dataclass(frozen=True)
class Plan:
    """A plan.

    Args:
        created: UTC, `2026-11-21T09:00:00Z`.
        spec_sha256: of the values of site.yaml.
        inputs_sha256: of the inputs outside site.yaml: locks, credentials and code.
        facts_sha256: of the observed states, by node.
        scope: of `--limit` and `--target`; other nodes and resources are not planned.
        unknown: reason by node that could not be observed, or shares a replica with such a node; not planned.
        simulated: True if a node has simulated hardware.
        refusals: reasons why this plan cannot be applied.
        unmanaged: things on nodes that apply does not change.
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
    refusals: tuple[Refusal, ...] = ()
    scope: Scope = EVERYTHING
    unknown: Mapping[str, str] = field(default_factory=dict)
    unmanaged: tuple[Unmanaged, ...] = ()

    def body(self) -> dict[str, Any]:
        """Return the signed content as plain values."""
        return {
            "format": FORMAT,
            "site": self.site,
            "created": self.created,
            "sovctl_version": self.sovctl_version,
            "spec_sha256": self.spec_sha256,
            "inputs_sha256": self.inputs_sha256,
            "facts_sha256": dict(self.facts_sha256),
            "simulated": self.simulated,
            "scope": self.scope.to_json(),
            "unknown": dict(self.unknown),
            "changes": [change.to_json() for change in self.changes],
            "waves": [wave.to_json() for wave in self.waves],
            "refusals": [each.to_json() for each in self.refusals],
            "unmanaged": [each.to_json() for each in self.unmanaged],
        }

    @property
    def sha256(self) -> str:
        """Digest that identifies the plan in journal, ledger and evidence."""
        return digest(self.body())


def encode(plan: Plan, key: SigningKey) -> bytes:
    """Sign a plan, and return the content of its file."""
    body = plan.body()
    signed = {"plan": body, "sha256": plan.sha256, "signature": sign_document(body, key)}
    return (json.dumps(signed, indent=1, ensure_ascii=False) + "\n").encode()


def write(plan: Plan, path: Path, key: SigningKey) -> None:
    """Sign a plan and save it with mode 0600."""
    write_atomic(path, encode(plan, key), mode=0o600)


def read(path: Path, key: VerifyKey) -> Plan:
    """Return a plan that `write` saved.

    Raises:
        InputError: the file does not exist, is not a regular file, or is too large.
        PlanTampered: the file is not a plan, or the signature does not match.
    """
    try:
        signed = json.loads(read_bounded(path, LIMIT_BYTES))
        body, sha256, signature = signed["plan"], signed["sha256"], signed["signature"]
    except FileNotFoundError:
        raise InputError("no plan found", where=str(path), hint="sovctl plan site.yaml") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PlanTampered("not a plan file", where=str(path), hint="create a new plan: sovctl plan") from None
    try:
        verify_document(body, signature, key)
        if digest(body) != sha256:
            raise BadSignature("digest")
        return _parse(body)
    except (BadSignature, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PlanTampered(
            "the plan was altered: its signature by this controller is invalid",
            where=str(path),
            hint="no node was changed; create a new plan: sovctl plan",
        ) from None


def _parse(body: Mapping[str, Any]) -> Plan:
    if body["format"] != FORMAT:
        raise ValueError("format")
    names = ("site", "created", "sovctl_version", "spec_sha256", "inputs_sha256", "facts_sha256", "simulated")
    return Plan(
        **{name: body[name] for name in names},
        changes=tuple(Change.from_json(each) for each in body["changes"]),
        waves=tuple(Wave.from_json(each) for each in body["waves"]),
        refusals=tuple(Refusal(each["node"], each["message"], each["hint"]) for each in body["refusals"]),
        scope=Scope.from_json(body["scope"]),
        unknown={str(name): str(reason) for name, reason in body["unknown"].items()},
        unmanaged=tuple(Unmanaged.from_json(each) for each in body["unmanaged"]),
    )
