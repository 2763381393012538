"""Checks of rights in the database, as the role of the service: what it may do, and that forged claims are refused."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from ..claim import ClaimSigner
from ..settings import RetrievalSettings
from ..values import Caller
from .failures import ClaimRefused
from .store import Store

ENTRY_POINTS = (
    "delete_document",
    "documents",
    "identity",
    "put_document",
    "put_vectors",
    "search_exact",
    "search_graph",
    "set_directory",
    "set_groups",
    "unembedded",
    "visible",
)
"""Functions that the service may execute (functions.sql)."""

_QUERIES = {
    "the service's role has no attribute that bypasses rights, and is in no other role": """
        SELECT NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole)
               AND NOT EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid)
        FROM pg_roles r WHERE rolname = current_user""",
    "owner and reader cannot log in and bypass no row-level security": """
        SELECT count(*) = 2 AND NOT bool_or(rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole)
        FROM pg_roles WHERE rolname IN ('sovctl_retrieval_owner', 'sovctl_retrieval_reader')""",
    "row-level security is enabled and forced on every table": """
        SELECT count(*) > 0 AND bool_and(relrowsecurity AND relforcerowsecurity)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
              AND n.nspname NOT LIKE 'pg\\_toast%'""",
    "the service's role has no right on a table": """
        SELECT bool_and(NOT has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                        AND NOT has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
        FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace = 'retrieval'::regnamespace""",
    "the service's role can create nothing": """
        SELECT NOT has_database_privilege(current_database(), 'CREATE, TEMPORARY')
               AND bool_and(NOT has_schema_privilege(n.oid, 'CREATE')) FROM pg_namespace n""",
    "the service's role can execute the entry points only": """
        SELECT array_agg(proname::text ORDER BY proname::text COLLATE "C") = $1::text[]
               AND bool_and(prosecdef AND array_to_string(proconfig, ' ') LIKE '%search_path=pg_catalog, pg_temp%')
        FROM pg_proc WHERE pronamespace = 'retrieval'::regnamespace AND has_function_privilege(oid, 'EXECUTE')""",
}


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """Result of one check."""

    name: str
    is_passed: bool


async def check_database(settings: RetrievalSettings) -> list[DatabaseCheck]:
    """Run all checks.

    Raises:
        InputError, DatabaseUnavailable: the database does not answer, or refuses a claim of the service.
    """
    store = await Store.open(settings)
    try:
        await store.check()
        results = [DatabaseCheck("the database accepts a claim of the service", True)]
        for name, query in _QUERIES.items():
            results.append(
                DatabaseCheck(name, bool(await store.catalog(query, *([ENTRY_POINTS] if "$1" in query else []))))
            )
        results.append(DatabaseCheck("the database refuses a forged claim", await _refuses_forged(store, settings)))
        return results
    finally:
        await store.close()


async def _refuses_forged(store: Store, settings: RetrievalSettings) -> bool:
    forged = ClaimSigner(secrets.token_bytes(32), store.identity).search(
        Caller("", "", frozenset()), settings.collections[0].name, now=time.time()
    )
    try:
        await store.visible(forged)
    except ClaimRefused:
        return True
    return False
