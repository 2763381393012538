"""Attacks on the database with the role of the service, as after an SQL injection: free SQL, without the claim key.

Each attacker has a session of the role `sovctl_retrieval`, and valid claims of a caller without the group `board`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson
import pytest
from retrieval_database import DIGEST, RetrievalDatabase, caller, put, vector

from sovctl.gateway.retrieval.claim import Claim, ClaimSigner
from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.values import Groups
from sovctl.support.secret_files import read_key

TABLES = (
    *("chunk", "collection", "directory", "document", "installation", "member_group", "membership", "migration"),
    *("model", "vector_table", "vectors_1_1", "vectors_2_1"),
)
PATHS = ("search_exact", "search_graph")
DENIED = asyncpg.InsufficientPrivilegeError
HIDDEN = "hidden merger"


@dataclass
class Attack:
    """A database with one document of `board` and one of `staff`, a session of the attacker, and one of a superuser."""

    store: Store
    session: asyncpg.Connection[Any]
    superuser: asyncpg.Connection[Any]
    signer: ClaimSigner
    key: bytes

    def claim(self, *groups: str, age_s: float = 0, collection: str = "handbook", subject: str = "sso:anna") -> Claim:
        """Return a claim that the service would sign."""
        return self.signer.search(caller(*groups, subject=subject), collection, now=time.time() - age_s)

    def signed(self, **content: object) -> Claim:
        """Return a claim with the site's key and any content."""
        payload = orjson.dumps(content)
        mac = hmac.new(self.key, b"sovctl-retrieval-claim-v1\n" + payload, hashlib.sha256).digest()
        return Claim(payload.decode(), mac)

    async def texts(self, claim: Claim, path: str = "search_exact") -> list[str]:
        """Return the texts that a search returns."""
        query = str(vector(0))
        rows = await self.session.fetch(
            f"SELECT content FROM retrieval.{path}($1, $2, $3, $4, 10)",
            claim.payload,
            claim.mac,
            DIGEST,
            query,
        )
        return sorted(row["content"] for row in rows)

    async def is_denied(self, statement: str, *arguments: object) -> None:
        """Run a statement that must be denied."""
        with pytest.raises(DENIED):
            await self.session.execute(statement, *arguments)


@pytest.fixture
def attack(database: RetrievalDatabase) -> Callable[[Callable[[Attack], Awaitable[None]]], None]:
    """Runs an attack."""

    def run(use: Callable[[Attack], Awaitable[None]]) -> None:
        async def prepared(store: Store) -> None:
            await put(store, "merger", ["board"], texts=(HIDDEN,))
            await put(store, "canteen", ["staff"], texts=("open at noon",))
            session, superuser = await database.connect(), await database.connect("sovctl")
            key = read_key(database.settings.claim_key_file)
            try:
                made = Attack(store, session, superuser, ClaimSigner(key, store.identity), key)
                assert await made.texts(made.claim("board")) == [HIDDEN]  # the data is there
                await use(made)
                assert await made.texts(made.claim("staff")) == ["open at noon"]
            finally:
                await session.close()
                await superuser.close()

        database.with_store(prepared)

    return run


Run = Callable[[Callable[[Attack], Awaitable[None]]], None]


def test_no_table_is_readable_or_writable(attack: Run) -> None:
    async def use(on: Attack) -> None:
        listed = await on.superuser.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'retrieval'::regnamespace AND relkind = 'r'"
        )
        assert {row["relname"] for row in listed} == set(TABLES)
        for settings in (
            "SELECT 1",
            "SET sovctl.groups = '{1,2}'; SET sovctl.denied = '{}'",
            "SET sovctl.mode = 'manage'",
        ):
            await on.session.execute(settings)
            for table in TABLES:
                for statement in (
                    "SELECT * FROM retrieval.{}",
                    "SELECT count(*) FROM retrieval.{}",
                    "COPY retrieval.{} TO STDOUT",
                    "COPY (SELECT * FROM retrieval.{}) TO STDOUT",
                    "INSERT INTO retrieval.{} DEFAULT VALUES",
                    "DELETE FROM retrieval.{}",
                    "TRUNCATE retrieval.{}",
                    "DO $$ BEGIN LOCK TABLE retrieval.{}; END $$",
                    "EXPLAIN SELECT * FROM retrieval.{}",
                    "ALTER TABLE retrieval.{} NO FORCE ROW LEVEL SECURITY",
                    "CREATE POLICY mine ON retrieval.{} USING (true)",
                    "CREATE INDEX ON retrieval.{} ((1))",
                    "CREATE RULE mine AS ON SELECT TO retrieval.{} DO INSTEAD SELECT 1",
                    "CREATE VIEW public.mine AS SELECT * FROM retrieval.{}",
                ):
                    await on.is_denied(statement.format(table))

    attack(use)


def test_settings_give_no_group(attack: Run) -> None:
    async def use(on: Attack) -> None:
        await on.session.execute("SET sovctl.groups = '{1,2,3}'; SET sovctl.denied = '{}'; SET sovctl.mode = 'manage'")
        for path in PATHS:
            assert await on.texts(on.claim(), path) == []
            assert await on.texts(on.claim("staff"), path) == ["open at noon"]
        async with on.session.transaction():
            await on.session.execute("SET LOCAL sovctl.groups = '{1,2,3}'")
            assert await on.texts(on.claim("staff")) == ["open at noon"]
        await on.session.execute("RESET ALL; SET row_security = off")
        with pytest.raises(DENIED, match="would be affected by row-level security"):
            await on.texts(on.claim("staff"))
        await on.session.execute("RESET ALL")
        # The groups of a search are not left in the session.
        await on.texts(on.claim("board"))
        assert await on.session.fetchval("SELECT current_setting('sovctl.groups', true)") in (None, "")

    attack(use)


def test_no_other_role_can_be_taken(attack: Run) -> None:
    async def use(on: Attack) -> None:
        for role in ("sovctl_retrieval_owner", "sovctl_retrieval_reader", "sovctl"):
            for statement in (
                f"SET ROLE {role}",
                f"SET SESSION AUTHORIZATION {role}",
                f"GRANT {role} TO sovctl_retrieval",
                f"ALTER ROLE {role} LOGIN",
            ):
                await on.is_denied(statement)
        for statement in (
            "ALTER ROLE sovctl_retrieval BYPASSRLS",
            "ALTER ROLE sovctl_retrieval SUPERUSER",
            "CREATE ROLE mine",
            "SELECT pg_read_file('pg_hba.conf')",
            "SELECT lo_export(1, '/tmp/x')",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "LOAD 'auto_explain'",
            "SELECT pg_reload_conf()",
            "ALTER SYSTEM SET log_statement = 'all'",
            "SET log_statement = 'all'",
            "SET session_replication_role = replica",
        ):
            await on.is_denied(statement)

    attack(use)


def test_owner_and_reader_see_nothing_without_their_functions(attack: Run) -> None:
    async def use(on: Attack) -> None:
        for role, tables in (("owner", TABLES), ("reader", ("document", "chunk", "vectors_1_1"))):
            await on.superuser.execute(f"SET ROLE sovctl_retrieval_{role}")
            for table in tables:
                assert await on.superuser.fetchval(f"SELECT count(*) FROM retrieval.{table}") == 0, (role, table)
                await on.superuser.execute("SET row_security = off")
                with pytest.raises(DENIED):  # an error, and no bypass
                    await on.superuser.fetch(f"SELECT * FROM retrieval.{table}")
                await on.superuser.execute("SET row_security = on")
            await on.superuser.execute("RESET ROLE")

    attack(use)


def test_forged_expired_and_foreign_claims_are_refused(attack: Run) -> None:
    async def use(on: Attack) -> None:
        good, now = on.claim("staff"), time.time()
        content = orjson.loads(good.payload)
        refused = {
            "another key": ClaimSigner(b"k" * 32, on.store.identity).search(caller("board"), "handbook", now=now),
            "another payload": Claim(good.payload.replace("staff", "board"), good.mac),
            "no mac": Claim(good.payload, b""),
            "half a mac": Claim(good.payload, good.mac[:16]),
            "longer": Claim(good.payload + " ", good.mac),
            "empty": Claim("", hmac.new(on.key, b"", hashlib.sha256).digest()),
            "without context": Claim(good.payload, hmac.new(on.key, good.payload.encode(), hashlib.sha256).digest()),
            "expired": on.claim("board", age_s=16),
            "from the future": on.claim("board", age_s=-10),
            "another database": ClaimSigner(on.key, "00000000-0000-0000-0000-000000000000").search(
                caller("board"), "handbook", now=now
            ),
            "a claim to manage": on.signer.manage("handbook", now=now),
            "a claim of the directory": on.signer.directory(now=now),
            "valid for a day": on.signed(**{**content, "groups": ["board"], "expires": now + 86_400}),
            "without expiry": on.signed(**{k: v for k, v in content.items() if k != "expires"}),
            "without database": on.signed(**{k: v for k, v in content.items() if k != "database"}),
        }
        for name, claim in refused.items():
            for path in PATHS:
                with pytest.raises(DENIED, match="claim refused"):
                    await _searched(on, name, claim, path)
        for mac, payload in ((None, good.payload), (good.mac, None)):
            with pytest.raises(DENIED, match="claim refused"):
                await on.session.fetch(
                    "SELECT * FROM retrieval.search_exact($1, $2, $3, '[1]', 10)", payload, mac, DIGEST
                )

    attack(use)


async def _searched(on: Attack, name: str, claim: Claim, path: str) -> None:
    texts = await on.texts(claim, path)
    pytest.fail(f"{name}: accepted, with {len(texts)} texts")


def test_a_claim_to_search_writes_nothing(attack: Run) -> None:
    async def use(on: Attack) -> None:
        calls = (
            "put_document($1, $2, 's', 't', 'v', 'e', 'x', '{staff}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
            "put_vectors($1, $2, 'd', '{}', '{}', 's')",
            "unembedded($1, $2, 'd', 5)",
            "delete_document($1, $2, 'merger')",
            "set_groups($1, $2, 'merger', '{staff}', '{}')",
            """set_directory($1, $2, '{"board": ["sso:anna"]}')""",
            "documents($1, $2)",
        )
        others = {
            "search": on.claim("board", "staff"),
            "directory": on.signer.directory(now=time.time()),
            "manage": on.signer.manage("handbook", now=time.time()),
        }
        for call in calls:
            right = "directory" if "set_directory" in call else "manage"
            for action, claim in others.items():
                if action != right:
                    with pytest.raises(DENIED, match="claim refused"):
                        await on.session.fetch(f"SELECT * FROM retrieval.{call}", claim.payload, claim.mac)

    attack(use)


def test_internal_functions_are_closed(attack: Run) -> None:
    async def use(on: Attack) -> None:
        await on.is_denied("SELECT retrieval.verified('', '', 'search')")
        await on.is_denied("SELECT retrieval.opened('', '', '')")
        await on.is_denied("SELECT retrieval.nearest('', '', '', '', 1, 1)")
        await on.is_denied("SELECT retrieval.group_numbers('{board}')")
        await on.is_denied("SELECT retrieval.managed('', '')")
        source = await on.session.fetch("SELECT prosrc FROM pg_proc WHERE pronamespace = 'retrieval'::regnamespace")
        assert all(on.key.hex() not in row["prosrc"] for row in source)

    attack(use)


def test_a_replayed_claim_ends_with_the_revocation(attack: Run) -> None:
    async def use(on: Attack) -> None:
        claims = {path: on.claim("board", "staff") for path in PATHS}
        for path, claim in claims.items():
            assert await on.texts(claim, path) == [HIDDEN, "open at noon"]
        await on.store.set_directory({"staff": ["sso:anna"], "board": ["sso:bert"]})
        for path, claim in claims.items():
            assert await on.texts(claim, path) == ["open at noon"]
        await on.store.set_directory({"staff": ["sso:anna"], "board": ["sso:anna"]})
        await on.store.set_groups("handbook", "merger", Groups(frozenset({"board"}), frozenset({"staff"})))
        for path, claim in claims.items():
            assert await on.texts(claim, path) == ["open at noon"]
        await on.store.set_groups("handbook", "merger", Groups(frozenset({"board"})))
        await on.store.delete("handbook", "merger")
        for path, claim in claims.items():
            assert await on.texts(claim, path) == ["open at noon"]

    attack(use)


def test_a_group_of_deny_applies_if_token_or_directory_states_it(attack: Run) -> None:
    async def use(on: Attack) -> None:
        await on.store.set_groups("handbook", "merger", Groups(frozenset({"board"}), frozenset({"contractors"})))
        members = {"board": ["sso:anna"], "staff": ["sso:anna"]}
        for path in PATHS:
            # Without an export, only the token states groups.
            assert await on.texts(on.claim("board"), path) == [HIDDEN]
            assert await on.texts(on.claim("board", "contractors"), path) == []
        for contractors, claimed, expected in (
            ([], ("board",), [HIDDEN]),
            (["sso:anna"], ("board",), []),  # the token conceals the group
            ([], ("board", "contractors"), []),  # the export lacks it
            (["sso:anna"], ("board", "contractors"), []),
            (["sso:bert"], ("board",), [HIDDEN]),
            (["sso:anna"], (), []),  # a group of the export alone gives nothing
        ):
            await on.store.set_directory({**members, "contractors": contractors})
            for path in PATHS:
                assert await on.texts(on.claim(*claimed), path) == expected, (contractors, claimed)
            assert (await on.store.visible(on.claim(*claimed)))[0] == len(expected)

    attack(use)


def test_policies_of_an_older_database_are_replaced(database: RetrievalDatabase) -> None:
    database.psql(
        "DROP POLICY read ON retrieval.document; DROP POLICY read ON retrieval.vectors_1_1;"
        "CREATE POLICY read ON retrieval.document FOR SELECT TO sovctl_retrieval_reader USING (true);"
        "CREATE POLICY read ON retrieval.vectors_1_1 FOR SELECT TO sovctl_retrieval_reader USING (true);"
        "DELETE FROM retrieval.migration WHERE name = 'policies.sql'"
    )
    assert asyncio.run(database.migrate())
    permissive = "SELECT count(*) FROM pg_policies WHERE schemaname = 'retrieval' AND qual = 'true'"
    assert int(database.psql(permissive)) == 0
    policies = "SELECT count(*) FROM pg_policies WHERE policyname = 'read' AND qual LIKE '%sovctl.denied%'"
    assert int(database.psql(policies)) == 3  # the documents, and vectors of two collections
    assert not asyncio.run(database.migrate())


def test_an_old_snapshot_gives_no_access_after_a_revocation(attack: Run) -> None:
    async def use(on: Attack) -> None:
        for isolation in ("repeatable_read", "serializable"):
            async with on.session.transaction(isolation=isolation):
                await on.session.fetchval("SELECT count(*) FROM pg_class")  # takes the snapshot
                with pytest.raises(DENIED, match="claim refused"):
                    async with on.session.transaction():
                        await on.texts(on.claim("board"))
        claim = on.claim("board")
        async with on.session.transaction():
            assert await on.texts(claim) == [HIDDEN]
            await on.store.set_groups("handbook", "merger", Groups(frozenset({"nobody"})))
            assert await on.texts(claim) == []

    attack(use)


def test_nothing_can_be_created_and_search_path_changes_nothing(attack: Run) -> None:
    async def use(on: Attack) -> None:
        for statement in (
            "CREATE SCHEMA evil",
            "CREATE TEMP TABLE document (id int)",
            "CREATE TABLE public.document (id int)",
            "CREATE TABLE retrieval.mine (id int)",
            "CREATE FUNCTION public.hmac(text, text, text) RETURNS bytea LANGUAGE sql AS 'SELECT ''''::bytea'",
            "CREATE FUNCTION pg_temp.hmac(bytea, bytea, text) RETURNS bytea LANGUAGE sql AS 'SELECT ''''::bytea'",
            "CREATE FUNCTION retrieval.search_exact(text) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE OPERATOR public.<=> (leftarg = int, rightarg = int, function = int4eq)",
            "CREATE OR REPLACE FUNCTION retrieval.identity() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
            "ALTER FUNCTION retrieval.verified(text, bytea, text) SET search_path = public",
            "CREATE EXTENSION pg_trgm",
            "CREATE TYPE public.halfvec AS (x int)",
        ):
            await on.is_denied(statement)

    attack(use)


def test_shadowing_objects_of_another_schema_are_not_used(attack: Run) -> None:
    """The attacker found a schema in which it may create, and the right to temporary tables."""

    async def use(on: Attack) -> None:
        name = await on.superuser.fetchval("SELECT quote_ident(current_database())")
        await on.superuser.execute(
            f"CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO sovctl_retrieval;"
            f"GRANT TEMPORARY ON DATABASE {name} TO sovctl_retrieval"
        )
        try:
            for schema in ("evil", "pg_temp"):
                await on.session.execute(
                    f"CREATE TABLE {schema}.document AS SELECT 1 AS id;"
                    f"CREATE TABLE {schema}.installation AS SELECT 'x'::text AS identity, '\\x00'::bytea AS claim_key;"
                    f"CREATE FUNCTION {schema}.hmac(bytea, bytea, text) RETURNS bytea LANGUAGE sql"
                    f" AS $$ SELECT '\\x00'::bytea $$;"
                    f"CREATE FUNCTION {schema}.convert_to(text, name) RETURNS bytea LANGUAGE sql"
                    f" AS $$ SELECT '\\x00'::bytea $$;"
                    f"CREATE FUNCTION {schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql"
                    f" AS $$ SELECT 'epoch'::timestamptz $$;"
                    f"CREATE FUNCTION {schema}.always(integer[], integer[]) RETURNS boolean LANGUAGE sql"
                    f" AS $$ SELECT true $$;"
                    f"CREATE OPERATOR {schema}.&& (leftarg = integer[], rightarg = integer[],"
                    f" function = {schema}.always)"
                )
                await on.session.execute(f"SET search_path = {schema}, public, pg_catalog")
                for path in PATHS:
                    assert await on.texts(on.claim("staff"), path) == ["open at noon"]
                forged = Claim(on.claim("board").payload, b"\0")
                for claim in (forged, on.claim("board", age_s=60)):
                    with pytest.raises(DENIED, match="claim refused"):
                        await on.texts(claim)
                await on.session.execute("RESET search_path")
        finally:
            await on.session.execute("DISCARD TEMP")
            await on.superuser.execute(
                f"DROP SCHEMA evil CASCADE; REVOKE TEMPORARY ON DATABASE {name} FROM sovctl_retrieval"
            )

    attack(use)


def test_statistics_plans_and_leaky_functions_show_no_hidden_row(attack: Run) -> None:
    async def use(on: Attack) -> None:
        await on.superuser.execute("ANALYZE")
        assert await on.superuser.fetchval("SELECT count(*) FROM pg_stats WHERE schemaname = 'retrieval'") > 0
        for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
            assert await on.session.fetchval(f"SELECT count(*) FROM {view} WHERE schemaname = 'retrieval'") == 0
        await on.is_denied("SELECT * FROM pg_statistic")

        await on.superuser.execute(
            "CREATE FUNCTION public.leaky(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
            " $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$"
        )
        seen: list[str] = []
        on.session.add_log_listener(lambda _, message: seen.append(str(message)))
        on.superuser.add_log_listener(lambda _, message: seen.append(str(message)))
        try:
            claim = on.claim("staff")
            query = "retrieval.search_exact($1, $2, $3, $4, 10)"
            arguments = (claim.payload, claim.mac, DIGEST, str(vector(0)))
            await on.session.fetch(f"SELECT * FROM {query} WHERE public.leaky(content)", *arguments)
            plan = await on.session.fetch(
                f"EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM {query} WHERE public.leaky(content)", *arguments
            )
            assert not any("document" in row[0].replace("document_id", "") for row in plan)
            # Also the reader's own statements: the policy is a security barrier.
            numbers = await on.superuser.fetchval(
                "SELECT array_agg(id) FROM retrieval.member_group WHERE name = 'staff'"
            )
            await on.superuser.execute("SET ROLE sovctl_retrieval_reader")
            for name in ("groups", "denied"):
                await on.superuser.execute(f"SELECT set_config('sovctl.{name}', $1::integer[]::text, false)", numbers)
            for table, column in (("document", "title"), ("chunk", "text")):
                await on.superuser.fetch(f"SELECT * FROM retrieval.{table} WHERE public.leaky({column})")
            await on.superuser.execute("RESET ROLE")
        finally:
            await on.superuser.execute("RESET ALL; RESET ROLE; DROP FUNCTION public.leaky(text)")
        await asyncio.sleep(0)
        assert any("open at noon" in message for message in seen)
        assert any("Title of canteen" in message for message in seen)
        assert not any("merger" in message for message in seen)

    attack(use)


def test_a_prepared_statement_uses_the_groups_of_each_call(attack: Run) -> None:
    async def use(on: Attack) -> None:
        await on.session.execute("SET plan_cache_mode = force_generic_plan")
        for path in PATHS:
            prepared = await on.session.prepare(f"SELECT content FROM retrieval.{path}($1, $2, $3, $4, 10)")
            for turn in range(8):  # PostgreSQL changes to a generic plan after five
                group, expected = (("board", HIDDEN), ("staff", "open at noon"))[turn % 2]
                claim = on.claim(group)
                rows = await prepared.fetch(claim.payload, claim.mac, DIGEST, str(vector(0)))
                assert [row["content"] for row in rows] == [expected]
            await on.session.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
            claim = on.claim()
            assert await prepared.fetch(claim.payload, claim.mac, DIGEST, str(vector(0))) == []
            await on.session.execute("RESET enable_indexscan; RESET enable_bitmapscan")

    attack(use)


def test_errors_have_no_text_of_documents(attack: Run) -> None:
    async def use(on: Attack) -> None:
        claim = on.claim("staff")
        for query in ("[1]", "no vector", "[" + "1," * 8 + "1]"):
            with pytest.raises(asyncpg.PostgresError) as refused:
                await on.session.fetch(
                    "SELECT * FROM retrieval.search_exact($1, $2, $3, $4, 10)", claim.payload, claim.mac, DIGEST, query
                )
            assert "merger" not in str(refused.value.as_dict())

    attack(use)


def test_hidden_rows_change_no_answer(attack: Run) -> None:
    async def use(on: Attack) -> None:
        stranger, unknown = on.claim("strangers"), on.claim("strangers", collection="none-such")
        before = [await on.texts(each, path) for each in (stranger, unknown) for path in PATHS]
        for number in range(20):
            await put(on.store, f"hidden-{number}", ["board"], texts=(HIDDEN,))
        after = [await on.texts(each, path) for each in (stranger, unknown) for path in PATHS]
        assert before == after == [[]] * 4
        assert (await on.store.visible(stranger))[0] == 0

    attack(use)
