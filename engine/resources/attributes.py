"""Type, mode, owner and flags of the files and folders that sovctl writes on nodes.

An absent path is not a difference here: the resource that writes it reports it. This type is the first of a node,
because other roles cannot write an immutable file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sovctl.support.errors import SovctlError
from sovctl.support.package_files import package_folder, package_text

from ..facts.node import NodeFacts
from ..spec import Node
from ..spec.service_accounts import GATEWAY_UID, SECRETS_GID
from . import clock, perimeter, pool, swap_group, tuning
from .context import Context
from .credential import SECRETS, TLS, credentials_on
from .gateway import service as gateway
from .resource import Desired, State
from .resource_type import Query, ResourceType
from .serving.group import AGENT_PROGRAMS, agent_files, is_group
from .serving.node_files import FOLDER
from .serving.swap import PROGRAMS, sets_on
from .software import model, repository
from .software.environment import ROOT

PROGRAM = package_folder("engine/facts/probes") / "attributes_probe.py"
KIND = "attributes"
QUERY = "attributes"
_FILE = {"type": "file", "mode": "0644", "uid": 0, "gid": 0, "is_locked": False}
_FOLDER = {**_FILE, "type": "folder", "mode": "0755"}
_OWN_FOLDER = {**_FOLDER, "mode": "0750", "gid": SECRETS_GID}
_GROUP_FILE = {**_FILE, "gid": SECRETS_GID}

_EVERYWHERE: Mapping[str, Mapping[str, Any]] = {
    "/etc/apt/sources.list.d": _FOLDER,
    "/etc/apt/apt.conf.d": _FOLDER,
    "/etc/apt/keyrings": _FOLDER,
    "/etc/chrony": _FOLDER,
    "/etc/sysctl.d": _FOLDER,
    "/etc/security/limits.d": _FOLDER,
    "/etc/systemd/system": _FOLDER,
    ROOT: _FOLDER,
    model.STORE: _FOLDER,
    repository.SOURCE: _FILE,
    repository.KEY: _FILE,
    repository.POLICY: _FILE,
    tuning.SYSCTL_FILE: _FILE,
    tuning.LIMITS_FILE: _FILE,
    clock.FILE: _FILE,
    perimeter.FILE: _FILE,
}


def expected(context: Context, node: Node) -> dict[str, Mapping[str, Any]]:
    """Return the expected attributes by path, in the order of the plan."""
    found = dict(_EVERYWHERE)
    credentials = credentials_on(context, node)
    if credentials:
        found |= dict.fromkeys(("/etc/sovctl", TLS, SECRETS), _OWN_FOLDER)
    for each in credentials:
        # The credential itself has a row for mode and owner.
        found[each.path] = {"type": "file", "gid": SECRETS_GID, "is_locked": False}
    replicas = context.replicas_on(node)
    if replicas:
        found |= {FOLDER: _FOLDER, "/usr/local/lib/sovctl": _FOLDER, pool.PROBE: {**_FILE, "mode": "0755"}}
    for replica in replicas:
        name = pool.instance(replica)
        found[f"{FOLDER}/{name}.yaml"] = {**_GROUP_FILE, "mode": "0640"}
        units = (f"sovctl-pool-{name}.service", f"sovctl-probe-{name}.service", pool.probe_timer(name))
        found |= {f"/etc/systemd/system/{unit}": _GROUP_FILE for unit in units}
        found[f"{FOLDER}/{name}.probe.json"] = _GROUP_FILE
        if is_group(replica):
            found |= dict.fromkeys(agent_files(name), _GROUP_FILE)
            found |= {path: {**_FILE, "mode": "0755"} for path in AGENT_PROGRAMS}
    for swap_set in sets_on(context, node):
        found |= dict.fromkeys(swap_group.files(swap_set), _GROUP_FILE)
        found |= {path: {**_FILE, "mode": "0755"} for path in PROGRAMS}
    if context.serves_gateway(node):
        found[gateway.CONFIG] = {**_GROUP_FILE, "mode": "0640"}
        found[gateway.UNIT_FILE] = _FILE
        found[gateway.DATA] = {"type": "folder", "mode": "0700", "uid": GATEWAY_UID, "is_locked": False}
    return found


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    seen = _seen(facts) if facts else {}
    for path, state in expected(context, node).items():
        yield Desired(
            kind=KIND,
            name=path,
            state=state,
            why="only root may change what sovctl writes",
            variables={
                "path": path,
                "is_locked": bool(seen.get(path, {}).get("is_locked")),
                "is_replaced": seen.get(path, {}).get("type", state["type"]) != state["type"],
                **{key: state.get(key) for key in ("mode", "uid", "gid")},
            },
        )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    return _seen(facts).get(desired.name, desired.state)


def _seen(facts: NodeFacts) -> dict[str, dict[str, Any]]:
    try:
        return _parsed(facts.answer(QUERY))
    except (ValueError, AttributeError):
        raise SovctlError("the probe of file attributes printed no JSON document", where=f"node {facts.node}") from None


@lru_cache(maxsize=1)  # every path of a node reads the same document
def _parsed(text: str) -> dict[str, dict[str, Any]]:
    seen = json.loads(text)
    if not all(isinstance(each, dict) for each in seen.values()):
        raise ValueError("an object for each path")
    return dict(seen)


def _query(context: Context, node: Node) -> Query:
    return Query(commands={QUERY: ["python3", "-c", package_text(PROGRAM), *expected(context, node)]})


RESOURCE_TYPE = ResourceType(KIND, _expect, _observe, _query)
