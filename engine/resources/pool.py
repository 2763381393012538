"""Pools: one systemd unit for each rank of a replica, with the flags of site.yaml, and a probe of the head rank.

The ranks of a replica on several nodes are started by an agent on each node.

The state has one key for each flag of the file, so that a plan names a flag that was changed on the node. The
`running_` keys are those of the process itself: its flags, variables and engine, as the kernel has them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import yaml

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.package_files import package_text

from ..catalog.engines import ENGINES, Engine
from ..catalog.engines.vllm import VLLM
from ..facts.node import NodeFacts
from ..facts.processes import UnitProcess, parse_processes, probe_command
from ..placement import Replica
from ..spec import Node, Pool
from ..spec.serving.prefill import Transport
from .context import ROLES, Context, render
from .credential import CERTIFICATES, TLS
from .fabric import expected_fabric
from .host import mps
from .host.gpu_modes import DEVICES, devices
from .orphan import orphan
from .resource import Desired, Risk, State
from .resource_type import Query, ResourceType
from .services.daemon import started_after
from .serving.command_line import added_variables, given_flags, planned_flags
from .serving.engines import environment, flags
from .serving.environment import MIG_INSTANCE
from .serving.flags import SHUTDOWN_TIMEOUT_S
from .serving.group import (
    AGENT_PROGRAMS,
    RDMA_ADAPTERS,
    RDMA_COMMAND,
    agent_unit,
    expected_agent,
    group_of,
    is_group,
    needs_rdma,
    observed_agent,
)
from .serving.names import instance as instance
from .serving.names import unit_name as unit_name
from .serving.node_files import FOLDER, UNITS, joint_sha256
from .serving.probe_request import probe_request
from .serving.proxy import expected_proxy, needs_proxy, observed_proxy, proxy_of, proxy_unit
from .serving.routes import PROGRAM as ROUTES
from .serving.start_time import start_minutes, start_timeout_s
from .serving.swap import SET_FILES, set_name
from .software.environment import folder, stamp
from .software.model import STORE

PROBE = "/usr/local/lib/sovctl/probe"
LAUNCHER = "/usr/local/lib/sovctl/serve"
PROCESSES = "pool_processes"
"""Name of the command that observes the servers' processes."""
PROBE_TEMPLATES = ("probe.json.j2", "probe.service.j2", "probe.timer.j2")
DPKG_LISTS = ("/var/lib/dpkg/info/nvidia-driver-cuda", "/var/lib/dpkg/info/nvidia-utils-")
"""Prefixes of the driver's `<package>.list` files on Debian and on Ubuntu. dpkg writes them when it unpacks, so a pool
must start after that."""
START_TIMEOUT_S = 900
HOME = "/var/lib/sovctl/vllm"
"""State folder of the account of engines; `StateDirectory=` of the unit."""
_PROBED = {"probe": "active", "probe_at_boot": "enabled"}
_UNPROBED = {"probe": "inactive", "probe_at_boot": "disabled"}
"""The agent of a swap group probes the pool that is awake."""


def api_node(replica: Replica, node: Node) -> str:
    """Return the name of the node whose API server a node's rank uses: its own, or that of rank 0."""
    return node.name if node.name in replica.endpoints else replica.head


def api_urls(context: Context, replica: Replica) -> list[str]:
    """Return the base URL of each API server of a replica, by rank."""
    return [f"https://{context.spec.node(name).address}:{replica.port}/v1" for name in replica.endpoints]


def probe_timer(name: str) -> str:
    """Return the systemd timer of the probe of a replica, by the replica's `instance` name."""
    return f"sovctl-probe-{name}.timer"


def variables_of(context: Context, node: Node, replica: Replica) -> dict[str, Any]:
    """Return the variables of the role for the rank of a replica on a node."""
    rank = next(rank for rank in replica.ranks if rank.node == node.name)
    pool, serves_api = context.pool(replica.pool), node.name in replica.endpoints
    return {
        "unit": unit_name(replica),
        "engine": _engine(context),
        "flags": flags(context, replica, rank),
        "environment": environment(context, replica, rank),
        "serves_api": serves_api,
        "url": f"https://{context.spec.node(api_node(replica, node)).address}:{replica.port}/v1",
        "model": pool.model,
        "probe": probe_request(context, pool),
        "weights": weights(pool),
        "group": group_of(context, replica, rank, weights(pool)),
        "swap": set_name(context, replica) or "",
        "proxy": proxy_of(context, node, replica) if serves_api else {},
        "fabric": expected_fabric(context.platform(node)),
        "cpu_affinity": pool.cpu_affinity or "",
        **({"keeps_mps_segments": True} if mps.pools_by_gpu(context, node) else {}),
        "start_timeout_s": max(START_TIMEOUT_S, start_timeout_s(context, replica)),
        "stop_timeout_s": SHUTDOWN_TIMEOUT_S + 30,
    }


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    # Orphans first, because they may occupy the port or the GPUs of a new replica.
    serving = context.serving_on(node)
    wanted = {instance(replica): is_group(replica) for replica in serving}
    sets = {name for each in serving if (name := set_name(context, each))}
    yield from _orphans(facts, wanted, sets, has_proxies=needs_proxy(context))
    for replica in serving:
        name, pool = instance(replica), context.pool(replica.pool)
        variables = variables_of(context, node, replica)
        chosen, assigned = variables["flags"], variables["environment"]
        item = {"name": name, **variables}
        unit_text = render("pool", "unit.service.j2", item=item)
        probe = [render("pool", template, item=item) for template in PROBE_TEMPLATES]
        probe.append(package_text(ROLES / "pool" / "files" / "probe"))
        launcher = package_text(ROLES / "pool" / "files" / "serve")
        routes = package_text(ROLES / "pool" / "files" / ROUTES.rpartition("/")[2])
        yield Desired(
            kind="pool",
            name=name,
            state={
                **chosen,
                "unit_sha256": sha256_hex(unit_text),
                "launcher_sha256": sha256_hex(launcher),
                **({"routes_sha256": sha256_hex(routes)} if "middleware" in chosen else {}),
                "probe_sha256": joint_sha256(sha256_hex(text) for text in probe),
                "active": "active",
                # The agent of a group, or of a swap group, starts it.
                "enabled": "disabled" if is_group(replica) or pool.swap_group else "enabled",
                "runs_what_is_written": True,
                **(expected_agent(item) if is_group(replica) else {}),
                **(expected_proxy(item) if variables["proxy"] else {}),
                "running_flags": list(planned_flags(chosen, context.engine)),
                "running_environment": _assignments(assigned),
                "running_engine": [folder(context, node, context.engine.environment, facts)],
                **(_PROBED if variables["serves_api"] and not pool.swap_group else {}),
                **(_UNPROBED if pool.swap_group else {}),
            },
            why=_why(pool, replica),
            variables=variables,
            risk=Risk.WORKLOAD,
            minutes=start_minutes(context, replica),
        )


def _why(pool: Pool, replica: Replica) -> str:
    kind = "tensor"
    if pool.data_parallel_size > 1:
        kind = "data and expert" if pool.enable_expert_parallel else "data"
    words = f"{pool.model}, {pool.gpus_per_stage} GPUs by {kind} parallelism"
    if pool.nodes_per_stage > 1:
        words += f" over {pool.nodes_per_stage} nodes: each layer waits for their network"
        words += "; experts over several nodes were not run with sovctl" if pool.enable_expert_parallel else ""
    why = words + (f", {len(replica.ranks)} nodes by pipeline" if len(replica.ranks) > pool.nodes_per_stage else "")
    if pool.mps is not None:
        why += f"; shares its GPU by MPS in group {pool.mps.group} of tenant {pool.mps.tenant}"
    if pool.prefill is None:
        return why
    network = "over RDMA" if pool.prefill.transport is Transport.RDMA else "over TCP, an exception of the lab"
    return f"{why}; prefill by {pool.prefill.pool} {network}"


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    config_file, unit_file = _files(desired.name)
    text = facts.texts.get(config_file)
    unit, timer = facts.units.get(desired.variables["unit"]), facts.units.get(probe_timer(desired.name))
    if text is None:
        return None
    try:
        written = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # also numbers of thousands of digits
        written = {}
    observed = dict(written) if isinstance(written, dict) else {}
    engine = ENGINES[desired.variables["engine"]["name"]]
    built = stamp(engine.environment)
    loaded = [
        config_file,
        unit_file,
        built,
        *([ROUTES] if "middleware" in observed else []),
        *map(_verified, desired.variables["weights"]),
    ]
    if not desired.variables["swap"]:  # its proxy loads them
        loaded += [credential.path for credential in CERTIFICATES]
    loaded += [path for path in facts.files if path.startswith(DPKG_LISTS)]
    process = parse_processes(facts.answer(PROCESSES)).get(f"{desired.variables['unit']}.service")
    return {
        **observed,
        "unit_sha256": facts.sha256(unit_file),
        "launcher_sha256": facts.sha256(LAUNCHER),
        **({"routes_sha256": facts.sha256(ROUTES)} if "middleware" in desired.variables["flags"] else {}),
        "probe_sha256": joint_sha256(facts.sha256(path) for path in probe_files(desired.name)),
        "probe": timer.active if timer else None,
        "probe_at_boot": timer.enabled if timer else None,
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, loaded),
        **(observed_agent(facts, desired.name) if desired.variables["group"] else {}),
        **(observed_proxy(facts, desired.name, built) if desired.variables["proxy"] else {}),
        **_running(
            process,
            engine,
            desired.variables["environment"],
            is_group=bool(desired.variables["group"]),
            mig=devices(facts),
        ),
    }


def _engine(context: Context) -> dict[str, str]:
    """Return the parts of the unit that depend on the engine. `command` is empty for vLLM, the launcher's default."""
    engine = context.engine
    is_vllm = engine.environment == VLLM.environment
    return {
        "name": engine.name,
        "title": engine.title,
        "program": engine.program,
        "command": "" if is_vllm else " ".join(engine.command_line("{model}")),
        "working_folder": f"{engine.root}/{engine.working_folder}" if engine.working_folder else HOME,
    }


def _running(
    process: UnitProcess | None, engine: Engine, planned: Mapping[str, str], *, is_group: bool, mig: Mapping[str, str]
) -> State:
    """Return the state of the server's process; None for every key without a process.

    Args:
        mig: present UUIDs of MIG instances by name. The launcher sets that of the planned instance; another UUID is a
            difference.
    """
    if process is None:
        return dict.fromkeys(("running_flags", "running_environment", "running_engine"))
    given, uuid = given_flags(process.argv, engine), mig.get(planned.get(MIG_INSTANCE, ""))
    chosen = {name: process.environment[name] for name in planned if name in process.environment}
    added = added_variables(process.environment, planned, is_group=is_group)
    return {
        "running_flags": list(given) if given is not None else [" ".join(process.argv)],
        "running_environment": sorted(
            [*_assignments(chosen), *(each for each in added if each != f"CUDA_VISIBLE_DEVICES={uuid}")]
        ),
        "running_engine": list(process.folders),
    }


def _assignments(variables: Mapping[str, str]) -> list[str]:
    return sorted(f"{name}={value}" for name, value in variables.items())


def _files(name: str) -> tuple[str, str]:
    return f"{FOLDER}/{name}.yaml", f"{UNITS}/sovctl-pool-{name}.service"


def probe_files(name: str) -> tuple[str, ...]:
    """Return the paths on a node of a probe: settings, service and timer (order of `PROBE_TEMPLATES`), program."""
    return (
        f"{FOLDER}/{name}.probe.json",
        f"{UNITS}/sovctl-probe-{name}.service",
        f"{UNITS}/{probe_timer(name)}",
        PROBE,
    )


def weights(pool: Pool) -> list[str]:
    """Return the folders of the model store that a server of a pool loads."""
    drafts = [pool.draft_model] if pool.draft_model else []
    return [pool.model, *drafts, *(adapter.name for adapter in pool.adapters)]


def _verified(name: str) -> str:
    return f"{STORE}/{name}/.verified"


_NAME = r"(?P<name>[a-z][a-z0-9-]*(?:\.[0-9]+)?)"

AGENT_FILES = (
    re.compile(rf"{UNITS}/sovctl-group-{_NAME}\.service"),
    re.compile(rf"{FOLDER}/{_NAME}\.group\.json"),
)
"""Files of the agent of a rank, in the order of removal: it is stopped first, because it starts the rank again."""
PROXY_FILES = (
    re.compile(rf"{UNITS}/sovctl-proxy-{_NAME}\.service"),
    re.compile(rf"{FOLDER}/{_NAME}\.nginx\.conf"),
)
"""Files of the proxy of a server, in the order of removal."""
OWN_FILES = (
    *AGENT_FILES,
    *PROXY_FILES,
    re.compile(rf"{FOLDER}/{_NAME}\.probe\.json"),
    re.compile(rf"{FOLDER}/{_NAME}\.yaml"),
    re.compile(rf"{UNITS}/sovctl-probe-{_NAME}\.timer"),
    re.compile(rf"{UNITS}/sovctl-probe-{_NAME}\.service"),
    re.compile(rf"{UNITS}/sovctl-pool-{_NAME}\.service"),
)
"""Files of a replica, in the order of removal. The unit is last, so that a new plan resumes an interrupted one."""

FORMER_PROBE = "former.probe"
"""Name of the orphan with the former files of probes. No replica has it, because theirs have a number after the dot."""
FORMER_PROBE_PROGRAM = "/usr/local/lib/sovctl/canary"
FORMER_PROBE_FILES = (
    re.compile(rf"{UNITS}/sovctl-canary-{_NAME}\.timer"),
    re.compile(rf"{UNITS}/sovctl-canary-{_NAME}\.service"),
    re.compile(rf"{FOLDER}/{_NAME}\.canary\.json"),
    re.compile(re.escape(FORMER_PROBE_PROGRAM)),
)
"""Files of probes as sovctl 0.1.0 names them, in the order of removal."""


def _orphans(
    facts: NodeFacts | None, wanted: Mapping[str, bool], wanted_sets: Collection[str], *, has_proxies: bool
) -> Iterator[Desired]:
    """Return the former files of probes, the replicas with files on the node that are not wanted, and stale agents
    and proxies.

    Args:
        wanted: whether each wanted replica is a group, by its `instance` name.
        wanted_sets: names of the swap groups on the node.
        has_proxies: whether the replicas have proxies.
    """
    paths = sorted(facts.files if facts else ())
    if former := [path for pattern in FORMER_PROBE_FILES for path in paths if pattern.fullmatch(path)]:
        yield orphan("pool", FORMER_PROBE, former, why="probes of pools have other file names now")
    found = _by_name(OWN_FILES, paths)
    for name in sorted(found.keys() - wanted):
        yield orphan("pool", name, found[name], why="site.yaml has no such pool on this node", risk=Risk.WORKLOAD)
    sets = _by_name(SET_FILES, paths)
    for name in sorted(sets.keys() - wanted_sets):
        # A pool can have the name of the set.
        why = "site.yaml has no such swap group on this node"
        yield orphan("pool", f"{name}.swap", sets[name], why=why, risk=Risk.WORKLOAD)
    agents = _by_name(AGENT_FILES, paths)
    for name in sorted(name for name in agents.keys() & wanted if not wanted[name]):
        # No replica has the name, because theirs have a number after the dot.
        why = "the replica is on one node now"
        yield orphan("pool", f"{name}.group", agents[name], why=why, risk=Risk.WORKLOAD)
    proxies = {} if has_proxies else _by_name(PROXY_FILES, paths)
    for name in sorted(proxies.keys() & wanted):
        why = "the engine requires client certificates itself"
        yield orphan("pool", f"{name}.proxy", proxies[name], why=why, risk=Risk.WORKLOAD)


def _by_name(patterns: Iterable[re.Pattern[str]], paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        for path in paths:
            if match := pattern.fullmatch(path):
                found.setdefault(match["name"], []).append(path)
    return found


def _query(context: Context, node: Node) -> Query:
    replicas = context.replicas_on(node)
    return Query(
        hash=(
            f"{FOLDER}/*",
            f"{UNITS}/sovctl-pool-*",
            f"{UNITS}/sovctl-probe-*",
            f"{UNITS}/sovctl-group-*",
            f"{UNITS}/sovctl-swap-*",
            f"{UNITS}/sovctl-swapproxy-*",
            f"{UNITS}/sovctl-proxy-*",
            f"{UNITS}/sovctl-canary-*",
            PROBE,
            LAUNCHER,
            ROUTES,
            *AGENT_PROGRAMS,
            FORMER_PROBE_PROGRAM,
            *(f"{prefix}*.list" for prefix in DPKG_LISTS),
            stamp(context.engine.environment),
            f"{TLS}/*",
            *(_verified(name) for each in replicas for name in weights(context.pool(each.pool))),
        ),
        read=(
            *(f"{FOLDER}/{instance(each)}.yaml" for each in replicas),
            *([DEVICES] if context.mig_devices(node) else []),
        ),
        units=tuple(
            unit
            for each in replicas
            for unit in (
                unit_name(each),
                probe_timer(instance(each)),
                agent_unit(instance(each)),
                *([proxy_unit(instance(each))] if needs_proxy(context) else []),
            )
        ),
        commands={
            **({PROCESSES: probe_command([f"{unit_name(each)}.service" for each in replicas])} if replicas else {}),
            **({RDMA_ADAPTERS: RDMA_COMMAND} if any(needs_rdma(context, each) for each in replicas) else {}),
        },
    )


RESOURCE_TYPE = ResourceType("pool", _expect, _observe, _query)
