"""Releases and starts replicas on nodes.

- Every call is idempotent, because a run repeats the step that a crash interrupted.
- A replica is stopped only after every gateway confirmed its drain and no request runs in it.
- A replica gets traffic again only after it answered a request of its probe.
- Without a confirmation, the call raises, and the caller treats the GPUs of the replica as held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sovctl.support.errors import InputError, SovctlError

from ..apply.availability.drain import Drainer, GatewayDrainer
from ..apply.remote import Answer, run_on
from ..placement import Replica
from ..plan.serving import Server
from ..resources.pool import START_TIMEOUT_S, instance, probe_timer, unit_name
from ..resources.serving.node_files import FOLDER
from ..scaling.positions import ReplicaId
from ..site.site import Site
from ..spec.scaling import IdleState

REASON = "sovctl scaling"
_PROBE = "/usr/local/lib/sovctl/probe"
_STOP_S = 180.0


class Actuator(Protocol):
    """Releases and starts replicas."""

    def release(self, replica: ReplicaId) -> None:
        """Drain a replica on all gateways, then make it idle. Its GPUs are free on return.

        Raises:
            SovctlError: not confirmed; the replica may still hold its GPUs.
        """

    def start(self, replica: ReplicaId) -> None:
        """Start a replica, wait until it answers, then give it traffic.

        Raises:
            SovctlError: not confirmed; the replica may hold its GPUs.
        """


RunOn = Callable[[str, Sequence[str], float], Answer]
"""Runs a command as root on a node: name of the node, words, seconds."""


class NodeActuator:
    """Stops and starts the systemd units of replicas that `sovctl apply` deployed.

    Args:
        gateways: nodes whose gateway serves.
    """

    def __init__(
        self, replicas: Mapping[ReplicaId, Replica], *, gateways: Sequence[str], drainer: Drainer, run: RunOn
    ) -> None:
        self._replicas, self._gateways, self._drainer, self._run = replicas, gateways, drainer, run

    @classmethod
    def of(cls, site: Site) -> NodeActuator:
        """Return the actuator of a site with a section `scaling`.

        Raises:
            InputError: the section has replicas that no apply deploys, that sleep, or that are on several nodes.
        """
        context = site.context()
        replicas = {ReplicaId(each.pool, each.index): each for each in context.replicas}
        _check(site, replicas)

        def run(node: str, argv: Sequence[str], timeout_s: float) -> Answer:
            return run_on(site.spec, site.folder, [node], argv, timeout_s=timeout_s)[node]

        gateways = [node.name for node in context.gateway_nodes]
        return cls(replicas, gateways=gateways, drainer=GatewayDrainer(site, context, reason=REASON), run=run)

    def release(self, replica: ReplicaId) -> None:
        """Drain, stop the probe and the unit, and require that it is inactive."""
        here, server = self._replicas[replica], self._server(replica)
        found = self._drainer.drain([server], gateways=self._gateways)
        if found.unable or found.running:
            reason = "a gateway cannot drain" if found.unable else f"{found.running[server]} requests still run"
            raise SovctlError(f"{replica}: {reason}", hint="it serves on; try again, or raise rollout.drain_timeout_s")
        unit = f"{unit_name(here)}.service"
        self._on_node(here, ["systemctl", "stop", probe_timer(instance(here)), unit], timeout_s=_STOP_S)
        active = ["systemctl", "show", "--property=ActiveState", "--value", unit]
        state = self._on_node(here, active, timeout_s=30.0).strip()
        if state not in ("inactive", "failed"):
            raise SovctlError(f"{replica}: expected an inactive unit, got {state}", where=here.head)

    def start(self, replica: ReplicaId) -> None:
        """Start the unit, wait for its first answer, start the probe, and end the drain."""
        here = self._replicas[replica]
        unit, name = f"{unit_name(here)}.service", instance(here)
        self._on_node(here, ["systemctl", "start", unit], timeout_s=60.0)
        probe = [_PROBE, f"--config={FOLDER}/{name}.probe.json", f"--unit={unit}", f"--wait={START_TIMEOUT_S}"]
        self._on_node(here, probe, timeout_s=START_TIMEOUT_S + 90.0)
        self._on_node(here, ["systemctl", "start", probe_timer(name)], timeout_s=60.0)
        self._drainer.undrain([self._server(replica)], gateways=self._gateways)

    def _server(self, replica: ReplicaId) -> Server:
        return Server(replica.pool, instance(self._replicas[replica]))

    def _on_node(self, replica: Replica, argv: Sequence[str], *, timeout_s: float) -> str:
        answer = self._run(replica.head, argv, timeout_s)
        if answer.code != 0:
            reason = answer.error.splitlines()[0] if answer.error else f"exit code {answer.code}"
            raise SovctlError(f"{instance(replica)}: {argv[0]}: {reason}", where=replica.head)
        return answer.output


def _check(site: Site, replicas: Mapping[ReplicaId, Replica]) -> None:
    assert site.spec.scaling is not None
    for index, each in enumerate(site.spec.scaling.pools):
        own = [replica for replica in replicas.values() if replica.pool == each.pool]
        where = f"scaling.pools[{index}]"
        if each.maximum_replicas > len(own):
            raise InputError(
                f"expected at most {len(own)}, the deployed replicas, got {each.maximum_replicas}",
                where=f"{where}.maximum_replicas",
                hint="`sovctl apply` deploys no replicas above `replicas` yet; --dry-run decides about them",
            )
        if each.idle is not IdleState.STOPPED:
            raise InputError(
                "this version stops and starts replicas only", where=f"{where}.idle", hint="remove it, or use --dry-run"
            )
        if any(len(replica.ranks) > 1 for replica in own):
            raise InputError(
                "replicas on several nodes are restarted by their group, and not scaled", where=where, hint="remove it"
            )
