"""Prometheus, Alertmanager and exporters of nodes and GPUs: programs of packages with files and units of sovctl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ...spec.service_accounts import MONITORING_UID, MONITORING_USER
from ..context import ROLES, Context, render
from ..credential import CERTIFICATES
from ..orphan import UNITS, orphan
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..services.daemon import PACKAGE_LIST, started_after
from .places import FOLDER, TEXTFILES
from .services import OWN_FILES, PROGRAM, MonitoringService, services_on

KIND = "monitoring"
PREFIX = "sovctl-monitoring-"
_UNIT_FILE = re.compile(rf"{UNITS}{PREFIX}(?P<name>[a-z-]+)\.service")


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    services = services_on(context, node)
    wanted = {each.name for each in services}
    for path in sorted(facts.files if facts else ()):
        found = _UNIT_FILE.fullmatch(path)
        if found and found["name"] not in wanted:
            why = "site.yaml has no such service of monitoring on this node; its data stay"
            yield orphan(KIND, found["name"], [*OWN_FILES.get(found["name"], ()), path], why=why, risk=Risk.SERVICE)
    for each in services:
        variables = _variables(each)
        yield Desired(
            kind=KIND,
            name=each.name,
            state={
                **{_key(file.path): sha256_hex(file.text) for file in each.files},
                **({"program_sha256": _program_sha256(each.program)} if each.program else {}),
                "unit_sha256": sha256_hex(render(KIND, "unit.service.j2", item={"name": each.name, **variables})),
                "active": "active",
                "enabled": "enabled",
                "runs_what_is_written": True,
            },
            why=_why(each),
            variables=variables,
            risk=Risk.SERVICE,
            minutes=0.2,
        )


def _why(service: MonitoringService) -> str:
    if service.is_of_lock:
        return f"{service.package} of the driver lock, with files from site.yaml"
    if service.package:
        return f"{service.package} of the distribution, with files from site.yaml"
    return "clock, disks, certificates and ledger of the node as metrics"


def _program_sha256(name: str) -> str:
    return sha256_hex((ROLES / KIND / "files" / name).read_bytes())


def _variables(service: MonitoringService) -> dict[str, object]:
    return {
        "unit": service.unit,
        "package": service.package,
        "package_unit": service.package_unit or service.package,
        "program": service.program,
        "program_path": PROGRAM,
        "command": " ".join(service.argv),
        "user": "root" if service.program else MONITORING_USER,
        "uid": 0 if service.program else MONITORING_UID,
        "data": service.data,
        "textfiles": TEXTFILES,
        "files": [{"path": each.path, "text": each.text, "check": each.check} for each in service.files],
        "url": service.url,
    }


def _key(path: str) -> str:
    """Return the key of a file in the state, such as `rules_sha256`."""
    return f"{PurePosixPath(path).stem.replace('-', '_')}_sha256"


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    unit_name = f"{PREFIX}{desired.name}"
    unit_file, unit = f"{UNITS}{unit_name}.service", facts.units.get(unit_name)
    if facts.sha256(unit_file) is None:
        return None
    is_own = bool(desired.variables["program"])
    paths = [each["path"] for each in desired.variables["files"]]
    inputs = [unit_file, *paths, *(each.path for each in CERTIFICATES)]
    inputs.append(PACKAGE_LIST.format(package=desired.variables["package"]) if not is_own else PROGRAM)
    return {
        **{_key(path): facts.sha256(path) for path in paths},
        **({"program_sha256": facts.sha256(PROGRAM)} if is_own else {}),
        "unit_sha256": facts.sha256(unit_file),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, inputs),
    }


def _query(context: Context, node: Node) -> Query:
    services = services_on(context, node)
    # Paths without a wildcard are known to the survey of unmanaged files.
    files = [f"{UNITS}{each.unit}.service" for each in services]
    files += [file.path for each in services for file in each.files]
    lists = [PACKAGE_LIST.format(package=each.package) for each in services if each.package]
    return Query(
        hash=(f"{UNITS}{PREFIX}*", f"{FOLDER}/*", PROGRAM, *files, *lists, *(each.path for each in CERTIFICATES)),
        units=tuple(f"{PREFIX}{name}" for name in OWN_FILES),
    )


RESOURCE_TYPE = ResourceType(KIND, _expect, _observe, _query)
