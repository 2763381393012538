"""Environment of the server process: offline mode, and the GPUs assigned to the rank."""

from __future__ import annotations

from ...placement import Rank, Replica
from ...spec import Pool
from ...spec.serving.cpu_list import cpus_of
from ..context import Context
from ..host.mps import client_environment
from .kv_transfer import transfer_environment
from .names import instance
from .profile import VARIABLES
from .routes import PROGRAM, VARIABLE, served_routes

CACHES = "/var/lib/sovctl/vllm"
"""Folder of the private state folders of servers; `StateDirectory=` of the unit, mode 0700."""
MIG_INSTANCE = "SOVCTL_MIG_INSTANCE"
"""Name of the MIG instance of a server. The launcher sets CUDA_VISIBLE_DEVICES to the present UUID of the instance."""


def environment(context: Context, replica: Replica, rank: Rank) -> dict[str, str]:
    """Return the variables that the unit sets, by name."""
    address = str(context.spec.node(rank.node).address)
    pool = context.pool(replica.pool)
    chosen = {name: each.value for name, each in VARIABLES.items() if isinstance(each.value, str)}
    chosen |= {
        "VLLM_CACHE_ROOT": f"{CACHES}/{instance(replica)}/cache",
        "VLLM_HOST_IP": address,  # if unset, vLLM looks up the route to 8.8.8.8
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "120",  # longer than the gateway keeps idle connections
    }
    if pool.swap_group is None:
        chosen |= {VARIABLE: ",".join(served_routes(context, pool)), "PYTHONPATH": PROGRAM.rpartition("/")[0]}
    else:
        chosen["VLLM_SERVER_DEV_MODE"] = "1"  # /sleep and /wake_up, on a Unix socket that the proxy does not pass
    if (slice_ := context.mig_instance(rank)) is not None:
        chosen[MIG_INSTANCE] = slice_.name
    chosen |= transfer_environment(context, replica, context.spec.node(rank.node))
    if context.spec.software.engine == "vllm-cpu":
        # One core per rank, because automatic binding fails an assertion on a machine with one NUMA node. Ranks on
        # several nodes of a lab would all have the same core.
        chosen["VLLM_CPU_OMP_THREADS_BIND"] = "nobind" if len(replica.ranks) > 1 else _cores(pool, len(rank.gpus))
        chosen["OMP_NUM_THREADS"] = "1"
        # Nodes have no compiler. A pipeline sets the backend instead (`CPU_PIPELINE` in flags.py).
        if pool.pipeline_parallel_size == 1:
            chosen["TORCH_COMPILE_DISABLE"] = "1"
    elif pool.mps is not None:
        chosen |= client_environment(pool.mps, context.gpu_indices(rank)[0])
    elif context.mig_instance(rank) is None:
        chosen["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu in context.gpu_indices(rank))
        if len(replica.ranks) > 1:
            chosen["NCCL_DEBUG"] = "INFO"  # logs the transport at the start (`pool.fabric-transport`)
            if context.spec.roce is not None:
                chosen["NCCL_IB_GID_INDEX"] = str(context.spec.roce.gid_index)
    return chosen


def _cores(pool: Pool, ranks: int) -> str:
    """Return one core for each rank in the form of vLLM: those of `cpu_affinity`, repeated if there are fewer."""
    cores = sorted(cpus_of(pool.cpu_affinity)) if pool.cpu_affinity else range(ranks)
    return "|".join(str(cores[index % len(cores)]) for index in range(ranks))
