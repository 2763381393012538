"""PostgreSQL of retrieval: a cluster of its own, with a unit, settings and roles of sovctl.

The unit of the distribution listens on TCP; it is disabled. Programs and pgvector are packages.
"""

from __future__ import annotations

from typing import Any

from sovctl.support.canonical_json import sha256_hex

from ...catalog.operating_systems import supported
from ...facts.node import NodeFacts
from ...spec.retrieval import Retrieval
from ..context import render
from ..orphan import UNITS
from ..resource import Desired, Risk, State
from ..services.daemon import started_after
from . import postgresql
from .places import DATABASE_UNIT, EXAMPLE_POSTGRESQL, FOLDER, PACKAGES, PGVECTOR

KIND, NAME = "retrieval", "database"
UNIT_FILE = f"{UNITS}{DATABASE_UNIT}.service"
_KEYS = {
    postgresql.CONFIG: "config_sha256",
    postgresql.HBA: "hba_sha256",
    postgresql.IDENT: "ident_sha256",
    UNIT_FILE: "unit_sha256",
}
FILES = tuple(_KEYS)
"""Files of the database on the node; the unit is the last one."""
ROLES_FILE = f"{FOLDER}/roles.sql"
PROBE = "retrieval-database"
"""Name of the query in the request to the probe."""
PACKAGE_LISTS = "/var/lib/dpkg/info/postgresql-*.list"


def version(facts: NodeFacts | None) -> int | None:
    """Return the major version of PostgreSQL of a node's operating system; None if it has no packages for retrieval."""
    if facts is None:
        return EXAMPLE_POSTGRESQL
    row = supported(facts.system)
    names = row.engine_packages.get(PACKAGES, ()) if row else ()
    return int(names[0].removeprefix("postgresql-")) if names else None


def desired(retrieval: Retrieval, facts: NodeFacts | None) -> Desired | None:
    """Return the database of a node; None if its operating system has no packages for it."""
    major = version(facts)
    if major is None:
        return None
    data = f"{retrieval.data}/postgresql-{major}"
    variables: dict[str, Any] = {
        "unit": DATABASE_UNIT,
        "data": data,
        "programs": f"/usr/lib/postgresql/{major}/bin",
        "files": [{"path": path, "text": text} for path, text in postgresql.files(retrieval, data).items()],
    }
    texts = {each["path"]: each["text"] for each in variables["files"]}
    texts[UNIT_FILE] = render(KIND, "database.service.j2", item=variables)
    return Desired(
        kind=KIND,
        name=NAME,
        state={
            **{_KEYS[path]: sha256_hex(text) for path, text in texts.items()},
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
            "settings": postgresql.settings(retrieval),
            "pgvector": PGVECTOR,
            "roles": postgresql.EXPECTED_ROLES,
            "role_settings": postgresql.ROLE_SETTINGS,
            "memberships": 0,
            "tables_without_forced_rls": [],
        },
        why=f"PostgreSQL {major} with pgvector for {len(retrieval.collections)} collections; on a Unix socket only",
        variables=variables,
        risk=Risk.SERVICE,
        minutes=0.3,
    )


def observe(facts: NodeFacts, wanted: Desired) -> State | None:
    """Return the observed state of the database; None without its unit."""
    if facts.sha256(UNIT_FILE) is None:
        return None
    unit = facts.units.get(DATABASE_UNIT)
    lists = [path for path in facts.files if path.startswith("/var/lib/dpkg/info/postgresql-")]
    return {
        **{key: facts.sha256(path) for path, key in _KEYS.items()},
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, [*FILES, *lists]),
        **postgresql.observed(facts.answer(PROBE, may_fail=True), (wanted.state or {})["settings"]),
    }
