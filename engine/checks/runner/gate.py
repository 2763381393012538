"""Health gate of `sovctl apply`: runs checks of the changed nodes between waves. FAIL and UNKNOWN block.

The resource types that changed on a node determine its checks (`CHECKS_OF`). A reboot, or another type that is not in
the table, requires all of them. A pool with a record of the planned model (`sovctl golden record`) is admitted only if
it renders messages as recorded, and its log probabilities are within the bands. A pool with `evaluation` in site.yaml
is admitted only after its evaluation on the node (`sovctl evaluate --on-node`), and one that declares tool calls only
if it calls tools by their schemas.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from sovctl.compliance.ledger.store import Ledger

from ...apply.availability.gate import GateResult
from ...site.site import Site
from ..definitions.pool import chat_template, tool_calls
from ..model.check import Expectation
from ..model.target import CheckTarget
from .build_context import build_context
from .circumstances import Circumstances
from .evidence import keep_of_gate
from .run import run
from .targets import choose, targets_of

_RECORDED = ("pool.chat-template", "pool.logprob-fingerprint")
_POOL = (
    "pool.flags-as-planned",
    "pool.probe-answers",
    "pool.tls-client-certificate-required",
    "pool.evaluation",
    "pool.tool-calls",
    *_RECORDED,
)
_GATEWAY = ("gateway.answers", "gateway.rejects-without-key")
# Without keys and accounts, which can differ for reasons other than the change.
_ACCESS = ("access.ssh-keys-only", "access.sshd-for-every-network")
_GPU = (
    "gpu.count",
    "gpu.ecc",
    "gpu.pcie-link",
    "gpu.persistence",
    "gpu.row-remap",
    "gpu.temperature",
    "nvlink.errors-zero",
    "nvlink.fabric-ready",
    "nvlink.links-active",
    "nvlink.peer-access",
    "nvlink.read-access",
)
"""Without checks that fail for other reasons than a change of software: topology, limits, logs, spare rows."""
_PERIMETER = (*_ACCESS, "perimeter.default-drop")
# Without environment-files, which hashes up to 10 GB.
_SOFTWARE = (
    "software.driver-exact",
    "software.fabric-manager-equals-driver",
    "software.packages-held",
    "software.sources-only-mirror",
)
_MIRROR = ("software.mirror-serves-snapshot",)

CHECKS_OF: Mapping[str, tuple[str, ...]] = {
    "repository": ("software.sources-only-mirror",),
    "mirror_snapshot": _MIRROR,
    "site_mirror": _MIRROR,
    "package": (*_SOFTWARE, *_GPU),
    "service": _GPU,
    "tuning": (),
    "clock": (),
    "perimeter": _PERIMETER,
    "credential": (*_POOL, *_GATEWAY),
    "environment": (*_POOL, *_GATEWAY),
    "model": _POOL,
    "pool": _POOL,
    "gateway": _GATEWAY,
    "retrieval": ("retrieval.*",),
    "monitoring": ("monitoring.rules-loaded",),
    "superseded_environment": (),
    "attributes": (),
    "hosts_file": (),
    "imex": _GPU,
    "administrator": _ACCESS,
    "sshd": _ACCESS,
}
"""Patterns of checks by resource type. Their probes are read-only and end within seconds. Clocks are not
checked, because chrony needs minutes after its start."""
ALL = (*_SOFTWARE, *_GPU, *_PERIMETER, *_POOL, *_GATEWAY)
ATTEMPTS = 3
PAUSE_S = 5.0
"""Between two attempts, seconds: services and counters need a moment after a restart (guess, 2026-11)."""


class CheckGate:
    """Runs the checks over ssh. A verdict that blocks is measured again, up to `ATTEMPTS` times.

    The results of every attempt are stored as evidence, also of those that failed.

    Args:
        ledger: of the site, open for writing.
        plan_sha256: digest of the plan that is applied.
        apply_run: id of the apply.
    """

    def __init__(self, site: Site, ledger: Ledger, plan_sha256: str, apply_run: str) -> None:
        self._site, self._ledger, self._applied = site, ledger, (plan_sha256, apply_run)

    def check(self, kinds: Mapping[str, Collection[str]]) -> GateResult:
        """Return the blocking verdicts by node, with check and reason, and the runs with all verdicts."""
        patterns = patterns_for(kind for of_node in kinds.values() for kind in of_node)
        blocking: dict[str, str] = {}
        runs: list[str] = []
        left = list(kinds) if patterns else []
        for attempt in range(ATTEMPTS):
            if not left:
                break
            if attempt:
                time.sleep(PAUSE_S)
            blocking, run_id = self._measure(left, patterns)
            runs += run_id
            left = [node for node in left if node in blocking]
        return GateResult(blocking, tuple(runs))

    def _measure(self, nodes: Collection[str], patterns: Collection[str]) -> tuple[dict[str, str], list[str]]:
        today = datetime.now(UTC).date()
        context = build_context(self._site, today=today)
        planned = {each.name: each.manifest_sha256 for each in context.context.spec.models}

        def only(target: CheckTarget) -> bool:
            return is_required(target, planned)

        if not any(map(only, choose(targets_of(context), nodes=nodes, checks=patterns))):
            return {}, []
        about = Circumstances.of(self._site, applied=self._applied)
        found = run(self._site, today=today, nodes=nodes, checks=patterns, only=only)
        run_id = keep_of_gate(self._site, found, self._ledger, about)
        if found.interrupted:
            raise KeyboardInterrupt
        blocking: dict[str, list[str]] = {}
        for target, result in zip(found.targets, found.results, strict=True):
            if result.verdict.blocks:
                blocking.setdefault(target.node, []).append(f"{target.check.id} {result.verdict}: {result.reason}")
        return {node: "; ".join(reasons[:3]) for node, reasons in blocking.items()}, [run_id]


def is_required(target: CheckTarget, planned: Mapping[str, str]) -> bool:
    """Return whether a wave measures a target: tool calls of pools that declare them, records of the planned model, and
    every other one.

    Args:
        planned: SHA-256 of the manifest by name of the model.
    """
    if isinstance(target.expectation, tool_calls.Expected):
        return target.expectation.is_declared
    return target.check.id not in _RECORDED or is_recorded(target.expectation, planned)


def is_recorded(expected: Expectation, planned: Mapping[str, str]) -> bool:
    """Return whether a pool has recorded messages and log probabilities of the planned model.

    A record of another model is older than an intended change of the model.

    Args:
        planned: SHA-256 of the manifest by name of the model.
    """
    if not isinstance(expected, chat_template.Expected) or expected.record is None:
        return False
    record = expected.record
    is_complete = bool(record.templates) and bool(record.fingerprint)
    return is_complete and record.binding.model_sha256 == planned.get(expected.model)


def patterns_for(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of the checks after changes of these resource types, each once; empty if none is required."""
    return tuple(dict.fromkeys(pattern for kind in kinds for pattern in CHECKS_OF.get(kind, ALL)))
