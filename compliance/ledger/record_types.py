"""Types of ledger records that sovctl writes, for completion and documentation. A reader accepts other types."""

from __future__ import annotations

RECORD_TYPES = {
    "apply-failed": "a wave of an apply failed",
    "apply-finished": "an apply ended",
    "apply-interrupted": "an apply was interrupted by the operator",
    "apply-started": "an apply began",
    "apply-step": "a line of the journal of an apply",
    "apply-wave": "a wave of an apply was proven",
    "audit-read": "a person read entries",
    "authority-installed": "the issuing authority of a ceremony was installed",
    "bmc-action": "media, boot source or power of a node were changed over its management controller",
    "bundle-approved": "a second person approved a bundle",
    "bundle-opened": "the import of a bundle began",
    "bundle-published": "the files of a bundle were published",
    "bundle-received": "all chunks of a bundle arrived",
    "bundle-rejected": "a person rejected a bundle",
    "bundle-scanned": "the files of a bundle were scanned",
    "bundle-verified": "the files of a bundle have their SHA-256",
    "documents": "a folder of documents was published",
    "evidence": "the result of a check",
    "foreign-evidence": "results of another tool were imported",
    "gateway.admin": "an operator acted on the operator page",
    "gateway.answer": "an answer ended",
    "gateway.erased": "keys of the vault were destroyed",
    "gateway.fallback": "a request was sent to a second upstream",
    "gateway.handoff": "a hand-off was resolved, delivered, or expired",
    "gateway.heartbeat": "the gateway writes",
    "gateway.policy": "settings of the gateway were changed",
    "gateway.request": "a request was sent or refused",
    "gateway.stale-read": "a server counted reads of its KV cache after their lease",
    "gateway.start": "the gateway began to serve",
    "gateway.stop": "the gateway ended",
    "gather": "facts of nodes were gathered",
    "golden-tokens-recorded": "tokens of a pool were recorded",
    "heartbeat": "the controller writes",
    "host-key-enrolled": "the host key of a node was accepted",
    "key-rotated": "the key of the ledger was replaced",
    "node-breaker": "the circuit breaker opened or was reset",
    "node-event": "the state of a node changed",
    "node-removed": "a removed node left the registry",
    "node-seed": "the installer seed of a node was written or erased",
    "plan": "a plan was saved",
    "pruned": "content of entries was removed",
    "recovered": "a killed writer's entries were adopted",
    "report": "a report was published",
    "report-signed": "a person signed a report",
    "scaling-alert": "pools of autoscaling with missing metrics or GPUs changed",
    "scaling-failed": "a step of autoscaling was not confirmed",
    "scaling-move": "a move of autoscaling began",
    "scaling-moved": "steps of autoscaling were confirmed",
    "standing-plan": "a standing plan of autoscaling was requested",
    "standing-plan-approved": "a second person approved a standing plan",
    "standing-plan-revoked": "a standing plan was revoked",
    "waivers": "the waivers in effect changed",
}
"""Sentence by type."""


def complete(incomplete: str) -> list[tuple[str, str]]:
    """Return the types that begin with the typed text, with their sentences."""
    return [(name, text) for name, text in RECORD_TYPES.items() if name.startswith(incomplete)]
