"""Control daemons of CUDA MPS: one for each GPU of an MPS group, part of the resource type `gpu_modes`.

Never run on a GPU. Sources: NVIDIA, Multi-Process Service (docs.nvidia.com/deploy/mps, read 2026-11-29), and
nvidia-cuda-mps-control(1) of driver 580.

- One daemon for each GPU, because after a fault a daemon accepts no client until all its clients ended, also those of
  its other GPUs.
- The GPU is in the compute mode EXCLUSIVE_PROCESS: CUDA of a client that does not reach the daemon would otherwise run
  without MPS and its limits.
- The daemon numbers its GPUs from 0, so that its clients have `CUDA_VISIBLE_DEVICES=0`.
- Daemon and clients have the same user: a server of MPS has the clients of one user.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ...spec.serving.mps import Mps
from ..context import Context, render
from ..orphan import orphan
from ..resource import Desired, Risk, State

PREFIX = "mps-"
"""Beginning of the names of these resources; the index of the GPU follows."""
_WHY = "pools of one tenant share the GPU by CUDA MPS; a fault of one server can end all of them. Never run on a GPU"


def unit_name(gpu: int) -> str:
    """Return the systemd unit of the daemon of a GPU, without suffix; also the name of its runtime and log folder."""
    return f"sovctl-mps-{gpu}"


def unit_file(gpu: int) -> str:
    """Return the path of the daemon's unit."""
    return f"/etc/systemd/system/{unit_name(gpu)}.service"


def client_environment(mps: Mps, gpu: int) -> dict[str, str]:
    """Return the variables of a server that uses a GPU by MPS.

    Args:
        gpu: index on the node.
    """
    return {
        "CUDA_VISIBLE_DEVICES": "0",
        "CUDA_MPS_PIPE_DIRECTORY": f"/run/{unit_name(gpu)}",
        "CUDA_MPS_LOG_DIRECTORY": f"/var/log/{unit_name(gpu)}",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(mps.active_thread_percentage),
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={mps.device_memory_gib}G",
    }


def pools_by_gpu(context: Context, node: Node) -> dict[int, list[str]]:
    """Return the pools of each GPU of a node that is shared by MPS: by GPU, pools in the order of site.yaml."""
    found: dict[int, list[str]] = {}
    for replica in context.serving_on(node):
        if context.pool(replica.pool).mps is not None:
            for rank in replica.ranks:
                for gpu in context.gpu_indices(rank):
                    found.setdefault(gpu, []).append(replica.pool)
    return dict(sorted(found.items()))


def expected(context: Context, node: Node) -> Iterator[Desired]:
    """Yield the daemon of each shared GPU."""
    for gpu, pools in pools_by_gpu(context, node).items():
        name = f"{PREFIX}{gpu}"
        unit = render("gpu_modes", "mps.service.j2", item={"gpu": gpu, "unit": unit_name(gpu), "pools": pools})
        yield Desired(
            kind="gpu_modes",
            name=name,
            state={"unit_sha256": sha256_hex(unit), "active": "active", "enabled": "enabled"},
            why=f"{', '.join(pools)}: {_WHY}",
            variables={"gpu": gpu, "unit": unit_name(gpu), "pools": pools},
            risk=Risk.WORKLOAD,
            minutes=0.2,
        )


def orphans(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    """Yield the daemons of GPUs without an MPS group; first, because their GPU is in an exclusive mode."""
    if facts is None:
        return
    wanted = pools_by_gpu(context, node)
    for gpu in range(context.platform(node).gpus):
        if gpu not in wanted and facts.sha256(unit_file(gpu)) is not None:
            why = "no pool of site.yaml shares the GPU by MPS"
            yield orphan("gpu_modes", f"{PREFIX}{gpu}", [unit_file(gpu)], why=why, risk=Risk.WORKLOAD)


def observed(facts: NodeFacts, desired: Desired) -> State | None:
    """Return the observed state of a daemon; None without its unit file."""
    gpu = int(desired.variables["gpu"])
    sha256, unit = facts.sha256(unit_file(gpu)), facts.units.get(unit_name(gpu))
    if sha256 is None:
        return None
    return {
        "unit_sha256": sha256,
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
    }
