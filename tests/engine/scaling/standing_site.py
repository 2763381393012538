"""A site with two persons, an approved standing plan, and simulated metrics and nodes for `ScalingRun`."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from scaled_sites import write_site

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.signing import SigningKey
from sovctl.engine.scaling.loads import Load, Sample
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.site.site import Site
from sovctl.engine.standing_plan.requests import approve, request
from sovctl.engine.standing_plan.run import ScalingRun
from sovctl.support.errors import SovctlError

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LAST_DAY = date(2026, 12, 31)


def new_site(folder: Path, officer: SigningKey, **scaling: Any) -> Site:
    """Return the bench's site with one approver."""
    path = write_site(folder, approvers=[officer.public.vkey("officer.example")], **scaling)
    return Site.open(path, touches_nodes=False)


def approved_site(folder: Path, **scaling: Any) -> Site:
    """Return the site with an approved standing plan."""
    officer = SigningKey.generate()
    site = new_site(folder, officer, **scaling)
    request(site, expires=LAST_DAY, key=SigningKey.generate(), name="anna.example", now=NOW)
    approve(site, key=officer, now=NOW)
    return site


class SimulatedMetrics:
    """Samples with one load for all replicas of a pool; a pool without a load has no samples."""

    def __init__(self, loads: Mapping[str, Load]) -> None:
        self.loads = dict(loads)

    def samples(self, begin_s: float, end_s: float, step_s: float) -> list[Sample]:
        if not self.loads:
            raise SovctlError("Prometheus: no answer (URLError); no replica moves without metrics")
        found = {ReplicaId(pool, index): load for pool, load in self.loads.items() for index in range(16)}
        count = int((end_s - begin_s) / step_s)
        return [Sample(end_s - number * step_s, found) for number in range(count, -1, -1)]


class SimulatedNodes:
    """Replicas that are released and started as asked; see `fails` and `dies`.

    Args:
        fails: call that is not confirmed, such as `start code/4`.
        dies: call in which this process is killed.
    """

    def __init__(self, *, fails: str = "", dies: str = "") -> None:
        self.calls: list[str] = []
        self.fails, self.dies = fails, dies

    def release(self, replica: ReplicaId) -> None:
        self._call(f"release {replica}")

    def start(self, replica: ReplicaId) -> None:
        self._call(f"start {replica}")

    def _call(self, text: str) -> None:
        self.calls.append(text)
        if text == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if text == self.fails:
            raise SovctlError("node dgx-2 does not answer")


def records(site: Site) -> list[dict[str, Any]]:
    """Return the records of autoscaling in the ledger."""
    found = [each.record for each in LedgerReader(site.state.ledger).entries()]
    return [each for each in found if each["type"].startswith(("scaling-", "standing-plan"))]


def run_until_killed(folder: str, dies: str) -> None:
    """Run one decision with idle chat and busy code, in a process that is killed in a call."""
    site = Site.open(Path(folder) / "site.yaml", touches_nodes=False)
    metrics = SimulatedMetrics({"chat": Load(0.05, 0, 0), "code": Load(0.95, 9, 8)})
    ScalingRun(
        site, metrics=metrics, actuator=SimulatedNodes(dies=dies), clock=lambda: NOW + timedelta(minutes=1)
    ).once()
