"""Settings of PostgreSQL for retrieval, the query that observes them, and its roles.

Sources: documentation of PostgreSQL 15, chapters 20 (settings) and 21 (pg_hba.conf, user name maps), read 2026-11-29.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...facts.unreadable import MALFORMED
from ...spec.retrieval import Retrieval
from ...spec.service_accounts import RETRIEVAL_USER
from .places import DATABASE, FOLDER, OWNER, READER, ROLE, SOCKETS, SUPERUSER

HEAD = "# Written by sovctl from site.yaml (retrieval). Do not edit: the next apply overwrites it.\n"
CONFIG, HBA, IDENT = f"{FOLDER}/postgresql.conf", f"{FOLDER}/pg_hba.conf", f"{FOLDER}/pg_ident.conf"
_PAGE_KIB = 8
_MAP = "sovctl"
ATTRIBUTES = ("rolcanlogin", "rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication")


def settings(retrieval: Retrieval) -> dict[str, str]:
    """Return the settings, by name, in the units of `pg_settings`: pages of 8 KiB, and KiB."""
    return {
        "listen_addresses": "",
        "unix_socket_directories": SOCKETS,
        "max_connections": "64",
        "shared_buffers": str(retrieval.shared_buffers_mib * 1024 // _PAGE_KIB),
        "maintenance_work_mem": str(retrieval.maintenance_work_mem_mib * 1024),
        "huge_pages": "try",  # huge pages only if vm.nr_hugepages reserves them
        "row_security": "on",
        # A plan for all parameters hides the groups of the caller from the planner.
        "plan_cache_mode": "force_custom_plan",
        # Statements and their parameters contain texts of documents and questions, which no log may contain.
        "log_statement": "none",
        "log_min_error_statement": "panic",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_error_verbosity": "terse",
        "logging_collector": "off",
    }


def files(retrieval: Retrieval, data: str) -> dict[str, str]:
    """Return the texts of the files of PostgreSQL, by path.

    Args:
        data: folder of the database.
    """
    places = {"data_directory": data, "hba_file": HBA, "ident_file": IDENT}
    lines = [f"{name} = '{value}'" for name, value in {**places, **settings(retrieval)}.items()]
    allowed = [(DATABASE, ROLE), ("all", SUPERUSER)]
    hba = [f"local {database} {role} peer map={_MAP}" for database, role in allowed]
    users = [(SUPERUSER, SUPERUSER), ("root", SUPERUSER), (RETRIEVAL_USER, ROLE)]
    ident = [f"{_MAP} {user} {role}" for user, role in users]
    texts = {CONFIG: lines, HBA: hba, IDENT: ident}
    return {path: HEAD + "\n".join(rows) + "\n" for path, rows in texts.items()}


ROLE_SETTINGS = ["log_min_messages=log"]
"""Settings of the role of the service (roles.sql). The message of an error can quote a text, so its errors are not
logged; only a superuser can change this. Errors of PostgreSQL's own processes are logged."""
EXPECTED_ROLES: dict[str, list[str]] = {ROLE: ["rolcanlogin"], OWNER: [], READER: []}
"""Attributes of the roles: none bypasses row level security, and only that of the service can log in. `migrate` of the
service creates them too."""
QUERY = """\
SELECT json_build_object(
  'settings', (SELECT json_object_agg(name, setting) FROM pg_settings
    WHERE source = 'configuration file' AND name <> 'primary_conninfo'),
  'extensions', (SELECT json_object_agg(extname, extversion) FROM pg_extension),
  'roles', (SELECT json_object_agg(rolname, to_json(pg_roles)) FROM pg_roles
    WHERE rolname !~ '^pg_' AND rolname <> 'postgres'),
  'role_settings', (SELECT to_json(rolconfig) FROM pg_roles WHERE rolname = 'sovctl_retrieval'),
  'members', (SELECT count(*) FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = member
    WHERE rolname = 'sovctl_retrieval'),
  'unforced', (SELECT json_agg(relname ORDER BY relname)
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema')
      AND NOT (relrowsecurity AND relforcerowsecurity)))"""
"""One row with a JSON object: settings of the files, extensions, roles that PostgreSQL does not create itself,
settings and memberships of the role of the service, and tables whose row level security is not forced."""
COMMAND = (
    *("psql", "--no-psqlrc", "--tuples-only", "--no-align", f"--host={SOCKETS}", f"--username={SUPERUSER}"),
    *(f"--dbname={DATABASE}", f"--command={QUERY}"),
)


def observed(text: str, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return the observed part of the state; every value is None if the database did not answer.

    Args:
        text: output of `COMMAND`.
        wanted: settings.
    """
    try:
        found = json.loads(text)
        return {
            "settings": {name: found["settings"].get(name) for name in wanted},
            "pgvector": (found["extensions"] or {}).get("vector"),
            "roles": {
                name: [each for each in ATTRIBUTES if attributes[each]]
                for name, attributes in (found["roles"] or {}).items()
            },
            "role_settings": found["role_settings"] or [],
            "memberships": found["members"],
            "tables_without_forced_rls": found["unforced"] or [],
        }
    except MALFORMED:
        names = ("settings", "pgvector", "roles", "role_settings", "memberships", "tables_without_forced_rls")
        return dict.fromkeys(names)
