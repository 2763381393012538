"""Unmanaged things on nodes: files, programs, libraries, units, cron entries, users, listeners, processes and routes of
neither a package nor sovctl, package files that differ from their package, and another host name or time zone. Also
what changed on a node since the last apply, compared with its baseline.

They are a section of the plan. Apply never removes them: with `unmanaged: refuse` it fails until they are gone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sovctl.support.errors import SovctlError
from sovctl.support.package_files import package_folder, package_text

from ..catalog.operating_systems import load_generated_files
from ..catalog.privileged_programs import load_privileged_programs
from ..facts.node import NodeFacts
from ..facts.survey import Thing, parse_survey
from ..facts.unreadable import Unreadable
from ..resources.attributes import expected
from ..resources.context import Context
from ..resources.host import kernel
from ..resources.resource import Change
from ..resources.resource_type import Query
from ..resources.services.unit import full_name
from ..spec import Node
from ..spec.service_accounts import SERVICE_USERS
from . import baseline

PROGRAM = package_folder("engine/facts/probes") / "survey_probe.py"
ACCOUNTS_PROGRAM = package_folder("engine/facts/probes") / "accounts_probe.py"
PROGRAMS_PROGRAM = package_folder("engine/facts/probes") / "programs_probe.py"
RUNNING_PROGRAM = package_folder("engine/facts/probes") / "running_probe.py"
QUERY, ACCOUNTS_QUERY = "unmanaged", "unmanaged-accounts"
PROGRAMS_QUERY, RUNNING_QUERY = "unmanaged-programs", "unmanaged-running"
QUERIES = (QUERY, ACCOUNTS_QUERY, PROGRAMS_QUERY, RUNNING_QUERY)
"""Names of the surveys."""
BOOT_OPTION = "boot option"
LISTENING_UNITS = ("ssh.service", "sshd.service", "chrony.service", "systemd-resolved.service")
"""Units of every node that may listen, in addition to those that sovctl manages."""
PROGRAMS = (
    *("/usr/bin/python3", "/usr/bin/dpkg", "/usr/bin/apt-get", "/usr/bin/apt-mark", "/usr/bin/systemctl"),
    *("/usr/bin/ss", "/usr/sbin/nft", "/usr/sbin/sshd", "/usr/bin/sudo", "/usr/sbin/sysctl", "/usr/sbin/chronyd"),
    *("/usr/bin/chronyc", "/usr/bin/sha256sum", "/usr/bin/find", "/usr/bin/nvidia-smi", "/usr/bin/nv-fabricmanager"),
    *("/usr/bin/nvidia-persistenced", "/usr/bin/dcgmi", "/usr/bin/ip", "/usr/lib/systemd/systemd", "/usr/bin/bash"),
    *("/usr/bin/dash", "/usr/bin/login", "/usr/sbin/runuser"),
)
"""Programs whose output or behaviour a plan, a check or an apply relies on; their packages are verified."""


@dataclass(frozen=True, order=True)
class Unmanaged:
    """One unmanaged thing.

    Args:
        kind: `file`, `program`, `unit`, `cron`, `listener`, `user`, `preload`, `access`, `package source`,
            `changed package file`, `boot option`, `library`, `privileged program`, `login variable`, `process`,
            `route`, `host name`, `time zone`, or since the last apply `changed file`, `account`, `package hold`,
            `address`, `service variable`, `mount`, `routing rule` or `kernel setting`.
        name: path, address, user name, destination of a route, host name, package, or name of a variable.
        detail: reason for the reader.
    """

    node: str
    kind: str
    name: str
    detail: str

    @property
    def id(self) -> str:
        """`node/kind/name`, unique in a plan."""
        return f"{self.node}/{self.kind}/{self.name}"

    def to_json(self) -> dict[str, str]:
        """Return plain values for the plan file."""
        return {"id": self.id, "node": self.node, "kind": self.kind, "name": self.name, "detail": self.detail}

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Unmanaged:
        """Return the thing that `to_json` wrote."""
        return cls(**{key: value[key] for key in ("node", "kind", "name", "detail")})


def commands(context: Context, node: Node, queries: Iterable[Query]) -> dict[str, list[str]]:
    """Return the commands of the surveys, by name.

    Args:
        queries: of all resource types on the node. A path without a wildcard is known.
    """
    queries = list(queries)
    paths = {path for query in queries for path in (*query.hash, *query.read) if "*" not in path}
    known = sorted(path for path in paths | set(expected(context, node)) if path.startswith(("/etc", "/usr")))
    request = {
        "known": known,
        "units": [*LISTENING_UNITS, *sorted({full_name(unit) for query in queries for unit in query.units})],
        "programs": list(PROGRAMS),
        "generated": [[each.os, each.pattern] for each in load_generated_files()],
    }
    programs = {
        "known": known,
        "privileged": [[each.pattern, each.rights] for each in load_privileged_programs()],
    }
    spec = context.spec
    zone = spec.sizing.autoscaling.timezone
    running = {
        "known": known,
        "node": node.name,
        "zones": [] if zone == "UTC" else [zone],
        "accounts": list(SERVICE_USERS),
    }
    accounts = {
        "accounts": [*SERVICE_USERS, *(each.name for each in spec.host.administrators)],
        "login": spec.access.user,
        "keys": [context.access_key] if context.access_key else [],
    }
    surveys = (
        (QUERY, PROGRAM, request),
        (ACCOUNTS_QUERY, ACCOUNTS_PROGRAM, accounts),
        (PROGRAMS_QUERY, PROGRAMS_PROGRAM, programs),
        (RUNNING_QUERY, RUNNING_PROGRAM, running),
    )
    found = {name: ["python3", "-c", package_text(path), json.dumps(values)] for name, path, values in surveys}
    return found | (
        {baseline.QUERY: baseline.comparison(context, node, queries)} if node.name in context.baselines else {}
    )


def unmanaged_on(context: Context, facts: NodeFacts, changes: Iterable[Change]) -> Iterator[Unmanaged]:
    """Yield the unmanaged things of a node; things in `unmanaged_allowed`, or removed by a change, are omitted.

    Args:
        changes: planned changes of the node.
    """
    changes = list(changes)
    planned = {
        str(path)
        for change in changes
        for key in ("files", "other_files")
        for path in (change.before or {}).get(key, ())
    }
    things = [*_things(facts), *_boot_options(context, facts)]
    has_row = {thing.name for thing in things} | {change.name for change in changes}
    things += [thing for thing in baseline.differences(context, facts) if not _is_shown(thing.name, has_row)]
    for kind, name, detail in things:
        is_allowed = any(fnmatchcase(name, pattern) for pattern in context.spec.unmanaged_allowed)
        if not is_allowed and name not in planned and not _is_planned_source(name):
            yield Unmanaged(facts.node, kind, name, detail)


def _boot_options(context: Context, facts: NodeFacts) -> Iterator[Thing]:
    if not facts.is_container:  # it has the command line of its host
        planned = kernel.boot_options(context, context.spec.node(facts.node))
        yield from (Thing(BOOT_OPTION, *each) for each in kernel.other_boot_options(facts, planned))


def _things(facts: NodeFacts) -> Iterator[Thing]:
    for query in QUERIES:
        try:
            yield from parse_survey(facts.answer(query))
        except Unreadable as error:
            raise SovctlError(error.message, where=f"node {facts.node}: {query}") from None


def _is_shown(name: str, names: Collection[str]) -> bool:
    """Return whether another row shows a thing, or a file in a new folder."""
    return name in names or any(each.startswith(f"{name}/") for each in names)


def _is_planned_source(name: str) -> bool:
    """Return whether `repository` moves the file away."""
    return name.startswith("/etc/apt/sources.list") and name.endswith((".list", ".sources"))
