-- Functions of the retrieval service, the only access to its tables. `migration.py` runs this file again if it changed.
--
-- Each function that the service may execute takes a claim and its HMAC (claim.py), and refuses an invalid one with the
-- same error (42501, "claim refused"). `search_path` is fixed and ends with pg_temp; operators and types of extensions
-- are qualified. A setting that a function makes ends with it, because each has a SET clause.

-- The payload of a valid claim.
CREATE OR REPLACE FUNCTION retrieval.verified(claim text, mac bytea, wanted text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    found retrieval.installation;
    payload jsonb;
    now_s double precision := extract(epoch FROM clock_timestamp());
BEGIN
    SELECT * INTO found FROM retrieval.installation;
    -- Both sides are hashed with the key, so that the time of the comparison reveals nothing about the HMAC. Another
    -- isolation level would read a snapshot from before a revocation.
    IF found.identity IS NOT NULL AND octet_length(claim) <= 262144
       AND current_setting('transaction_isolation') = 'read committed' AND
       public.hmac(mac, found.claim_key, 'sha256') = public.hmac(
           public.hmac(convert_to(E'sovctl-retrieval-claim-v1\n' || claim, 'UTF8'), found.claim_key, 'sha256'),
           found.claim_key, 'sha256')
    THEN
        payload := claim::jsonb;
        IF payload->>'database' = found.identity::text AND payload->>'action' = wanted
           AND (payload->>'issued')::double precision <= now_s + 2
           AND (payload->>'expires')::double precision > now_s
           AND (payload->>'expires')::double precision - (payload->>'issued')::double precision <= 30
        THEN
            RETURN payload;
        END IF;
    END IF;
    RAISE EXCEPTION 'claim refused' USING ERRCODE = '42501';
END
$$;

-- Vector table and groups of a search. The table is NULL if collection, tenant or model is unknown. With a directory
-- export, `allow` is compared with the groups of the claim of which the subject is a member, and `deny` with the groups
-- of either: a group that only one of both states takes rights, and gives none.
DROP FUNCTION IF EXISTS retrieval.opened(text, bytea, text);
CREATE FUNCTION retrieval.opened(
    claim text, mac bytea, model_digest text, OUT collection integer, OUT vectors text, OUT groups integer[],
    OUT denied integer[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    payload jsonb := retrieval.verified(claim, mac, 'search');
BEGIN
    SELECT c.id, v.name INTO collection, vectors
    FROM retrieval.collection c
    LEFT JOIN (retrieval.vector_table v JOIN retrieval.model m ON m.id = v.model AND m.digest = model_digest)
        ON v.collection = c.id
    WHERE c.name = payload->>'collection' AND (c.tenants IS NULL OR payload->>'tenant' = ANY (c.tenants));
    WITH claimed AS (SELECT g.id FROM retrieval.member_group g
                     WHERE g.name IN (SELECT jsonb_array_elements_text(payload->'groups'))),
         member AS (SELECT s.member_group AS id FROM retrieval.membership s WHERE s.subject = payload->>'subject')
    SELECT ARRAY(SELECT id FROM claimed
                 WHERE NOT EXISTS (SELECT FROM retrieval.directory) OR id IN (SELECT id FROM member)),
           ARRAY(SELECT id FROM claimed UNION SELECT id FROM member)
    INTO groups, denied;
END
$$;

-- Chunks of the collection that the caller may read, and an estimate of all its chunks. The service selects the search
-- path by them; `total` never leaves the service. It is NULL before the first ANALYZE.
CREATE OR REPLACE FUNCTION retrieval.visible(
    claim text, mac bytea, model_digest text, OUT visible bigint, OUT total bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.groups = '{}' SET sovctl.denied = '{}' SET jit = off SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    target record;
BEGIN
    SELECT * INTO target FROM retrieval.opened(claim, mac, model_digest);
    PERFORM set_config('sovctl.groups', target.groups::text, true);
    PERFORM set_config('sovctl.denied', target.denied::text, true);
    SELECT coalesce(sum(d.chunks), 0) INTO visible FROM retrieval.document d WHERE d.collection = target.collection;
    SELECT nullif(c.reltuples, -1)::bigint INTO total
    FROM pg_class c WHERE c.oid = to_regclass('retrieval.' || quote_ident(target.vectors));
END
$$;

-- Chunks nearest to a query. Runs as the caller, which is one of the two functions below: they set the planner.
CREATE OR REPLACE FUNCTION retrieval.nearest(
    claim text, mac bytea, model_digest text, query text, candidates integer, k integer)
RETURNS TABLE (chunk_id text, document_id uuid, source_id text, title text, version text, page integer,
               start_offset integer, end_offset integer, language text, content text, distance double precision,
               extractor text)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
SET search_path = pg_catalog, pg_temp SET sovctl.groups = '{}' SET sovctl.denied = '{}' AS $$
DECLARE
    target record;
BEGIN
    SELECT * INTO target FROM retrieval.opened(claim, mac, model_digest);
    IF target.vectors IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('sovctl.groups', target.groups::text, true);
    PERFORM set_config('sovctl.denied', target.denied::text, true);
    -- EXECUTE plans at each call, with the settings and groups of this call. The outer ORDER BY sorts the candidates
    -- again, because a relaxed scan returns them approximately in order. `document` and `chunk` have their own
    -- policies, so an outdated copy of a list in the vector table shows nothing.
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (
             SELECT v.chunk, v.embedding OPERATOR(public.<=>) $1 AS distance
             FROM retrieval.%I v ORDER BY v.embedding OPERATOR(public.<=>) $1 LIMIT $2)
         SELECT c.identifier, d.id, d.source_id, d.title, d.version, c.page, c.start_offset, c.end_offset, c.language,
                c.text, n.distance, d.extractor
         FROM nearest n JOIN retrieval.chunk c ON c.id = n.chunk JOIN retrieval.document d ON d.id = c.document
         ORDER BY n.distance, c.id LIMIT $3', target.vectors)
    USING query::public.halfvec, candidates, k;
END
$$;

-- Exact: permitted rows by the GIN index, and a sort. Distinct from the graph search, because a prepared statement would
-- keep its plan after SET.
CREATE OR REPLACE FUNCTION retrieval.search_exact(claim text, mac bytea, model_digest text, query text, k integer)
RETURNS TABLE (chunk_id text, document_id uuid, source_id text, title text, version text, page integer,
               start_offset integer, end_offset integer, language text, content text, distance double precision,
               extractor text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_indexscan = off SET jit = off
SET max_parallel_workers_per_gather = 0 SET work_mem = '64MB' AS $$
BEGIN
    RETURN QUERY SELECT * FROM retrieval.nearest(claim, mac, model_digest, query, k, k);
END
$$;

-- Approximate: iterative scan of the HNSW graph. It ends after `max_scan_tuples` also with fewer than k rows.
-- Values: services.md 2.2, trial of 2026-11-23 with 200,000 chunks.
CREATE OR REPLACE FUNCTION retrieval.search_graph(claim text, mac bytea, model_digest text, query text, k integer)
RETURNS TABLE (chunk_id text, document_id uuid, source_id text, title text, version text, page integer,
               start_offset integer, end_offset integer, language text, content text, distance double precision,
               extractor text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET jit = off SET max_parallel_workers_per_gather = 0
SET hnsw.ef_search = 100 SET hnsw.iterative_scan = relaxed_order SET hnsw.max_scan_tuples = 200000
SET hnsw.scan_mem_multiplier = 8 AS $$
BEGIN
    RETURN QUERY SELECT * FROM retrieval.nearest(claim, mac, model_digest, query, 4 * k, k);
END
$$;

-- Numbers of groups; unknown ones are added.
CREATE OR REPLACE FUNCTION retrieval.group_numbers(names text[]) RETURNS integer[]
LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO retrieval.member_group (name) SELECT DISTINCT unnest(names) ON CONFLICT (name) DO NOTHING;
    RETURN coalesce((SELECT array_agg(id ORDER BY id) FROM retrieval.member_group WHERE name = ANY (names)), '{}');
END
$$;

-- Number of the collection in a claim to manage; no row, no management.
CREATE OR REPLACE FUNCTION retrieval.managed(claim text, mac bytea) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payload jsonb := retrieval.verified(claim, mac, 'manage');
    found integer := (SELECT id FROM retrieval.collection WHERE name = payload->>'collection');
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION 'unknown collection' USING ERRCODE = 'P0002';
    END IF;
    RETURN found;
END
$$;

-- Replaces a document and its chunks. Vectors follow with `put_vectors` in the same transaction.
CREATE OR REPLACE FUNCTION retrieval.put_document(
    claim text, mac bytea, source text, title text, version text, extractor text, extracted_sha256 text,
    allow text[], deny text[], pages integer[], starts integer[], ends integer[], languages text[],
    identifiers text[], texts text[]) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
#variable_conflict use_column
DECLARE
    target integer := retrieval.managed(claim, mac);
    made uuid;
BEGIN
    PERFORM pg_advisory_xact_lock(target, hashtext(source)); -- one writer of a document at a time
    DELETE FROM retrieval.document d WHERE d.collection = target AND d.source_id = source RETURNING d.id INTO made;
    INSERT INTO retrieval.document (id, collection, source_id, title, version, extractor, extracted_sha256, allow, deny,
                                    chunks)
    VALUES (coalesce(made, gen_random_uuid()), target, source, put_document.title, put_document.version,
            put_document.extractor, put_document.extracted_sha256, retrieval.group_numbers(put_document.allow),
            retrieval.group_numbers(put_document.deny), cardinality(texts))
    RETURNING id INTO made;
    INSERT INTO retrieval.chunk (document, ordinal, page, start_offset, end_offset, language, identifier, text)
    SELECT made, each.ordinal - 1, each.page, each.starts, each.ends, each.language, each.identifier, each.text
    FROM unnest(pages, starts, ends, languages, identifiers, texts)
         WITH ORDINALITY AS each(page, starts, ends, language, identifier, text, ordinal);
    RETURN made;
END
$$;

-- Adds vectors of one model to chunks of the collection. Existing vectors stay.
CREATE OR REPLACE FUNCTION retrieval.put_vectors(
    claim text, mac bytea, model_digest text, identifiers text[], vectors text[], source text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    target integer := retrieval.managed(claim, mac);
    destination text := (SELECT v.name FROM retrieval.vector_table v JOIN retrieval.model m ON m.id = v.model
                         WHERE v.collection = target AND m.digest = model_digest);
    added bigint;
BEGIN
    IF destination IS NULL THEN
        RAISE EXCEPTION 'unknown model' USING ERRCODE = 'P0002';
    END IF;
    -- Locks the document, so that its lists do not change between this copy and the end of the transaction.
    PERFORM FROM retrieval.document d WHERE d.collection = target AND d.source_id = source FOR UPDATE;
    EXECUTE format(
        'INSERT INTO retrieval.%I (chunk, document, allow, deny, embedding)
         SELECT c.id, d.id, d.allow, d.deny, each.vector::public.halfvec
         FROM unnest($1::text[], $2::text[]) AS each(identifier, vector)
         JOIN retrieval.document d ON d.collection = $3 AND d.source_id = $4
         JOIN retrieval.chunk c ON c.document = d.id AND c.identifier = each.identifier
         ON CONFLICT (chunk) DO NOTHING', destination)
    USING identifiers, vectors, target, source;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END
$$;

-- Chunks without a vector of this model, for a new embedding model.
CREATE OR REPLACE FUNCTION retrieval.unembedded(claim text, mac bytea, model_digest text, most integer)
RETURNS TABLE (source_id text, identifier text, content text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    target integer := retrieval.managed(claim, mac);
    destination text := (SELECT v.name FROM retrieval.vector_table v JOIN retrieval.model m ON m.id = v.model
                         WHERE v.collection = target AND m.digest = model_digest);
BEGIN
    IF destination IS NULL THEN
        RAISE EXCEPTION 'unknown model' USING ERRCODE = 'P0002';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT d.source_id, c.identifier, c.text
         FROM retrieval.document d JOIN retrieval.chunk c ON c.document = d.id
         WHERE d.collection = $1 AND NOT EXISTS (SELECT FROM retrieval.%I v WHERE v.chunk = c.id)
         ORDER BY c.id LIMIT $2', destination)
    USING target, most;
END
$$;

CREATE OR REPLACE FUNCTION retrieval.delete_document(claim text, mac bytea, source text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    target integer := retrieval.managed(claim, mac);
BEGIN
    DELETE FROM retrieval.document d WHERE d.collection = target AND d.source_id = source;
    RETURN FOUND;
END
$$;

-- Replaces the lists of a document and their copies in every vector table.
CREATE OR REPLACE FUNCTION retrieval.set_groups(claim text, mac bytea, source text, allowed text[], denied text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    target integer := retrieval.managed(claim, mac);
    changed retrieval.document;
    each text;
BEGIN
    UPDATE retrieval.document d
    SET allow = retrieval.group_numbers(allowed), deny = retrieval.group_numbers(denied)
    WHERE d.collection = target AND d.source_id = source RETURNING * INTO changed;
    IF changed.id IS NULL THEN
        RETURN false;
    END IF;
    FOR each IN SELECT v.name FROM retrieval.vector_table v WHERE v.collection = target LOOP
        EXECUTE format('UPDATE retrieval.%I SET allow = $1, deny = $2 WHERE document = $3', each)
        USING changed.allow, changed.deny, changed.id;
    END LOOP;
    RETURN true;
END
$$;

-- Replaces the directory export: {"GROUP": ["SUBJECT", ...]}.
CREATE OR REPLACE FUNCTION retrieval.set_directory(claim text, mac bytea, export jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    members bigint;
BEGIN
    PERFORM retrieval.verified(claim, mac, 'directory');
    PERFORM pg_advisory_xact_lock(hashtext('retrieval.directory'));
    PERFORM retrieval.group_numbers(ARRAY(SELECT jsonb_object_keys(export)));
    DELETE FROM retrieval.membership;
    INSERT INTO retrieval.membership (subject, member_group)
    SELECT DISTINCT member.subject, g.id
    FROM jsonb_each(export) AS each(name, subjects)
    CROSS JOIN LATERAL jsonb_array_elements_text(each.subjects) AS member(subject)
    JOIN retrieval.member_group g ON g.name = each.name;
    GET DIAGNOSTICS members = ROW_COUNT;
    INSERT INTO retrieval.directory (loaded_at) VALUES (now())
    ON CONFLICT (only_row) DO UPDATE SET loaded_at = excluded.loaded_at;
    RETURN members;
END
$$;

-- Documents of the collection, for reconciliation with the source.
CREATE OR REPLACE FUNCTION retrieval.documents(claim text, mac bytea)
RETURNS TABLE (document_id uuid, source_id text, title text, version text, extractor text, extracted_sha256 text,
               chunks integer, allow text[], deny text[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$
DECLARE
    target integer := retrieval.managed(claim, mac);
BEGIN
    RETURN QUERY SELECT d.id, d.source_id, d.title, d.version, d.extractor, d.extracted_sha256, d.chunks,
        ARRAY(SELECT g.name FROM retrieval.member_group g WHERE g.id = ANY (d.allow) ORDER BY g.name),
        ARRAY(SELECT g.name FROM retrieval.member_group g WHERE g.id = ANY (d.deny) ORDER BY g.name)
    FROM retrieval.document d WHERE d.collection = target ORDER BY d.source_id;
END
$$;

-- Identity of this database, which claims must name. Not a secret.
CREATE OR REPLACE FUNCTION retrieval.identity() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET sovctl.mode = 'manage' AS $$ SELECT identity FROM retrieval.installation $$;

-- Owners and rights: the service may execute these functions, and nothing else.
DO $$
DECLARE
    each record;
    entry_points text[] := ARRAY['visible', 'search_exact', 'search_graph', 'put_document', 'put_vectors', 'unembedded',
                                 'delete_document', 'set_groups', 'set_directory', 'documents', 'identity'];
    searches text[] := ARRAY['visible', 'search_exact', 'search_graph'];
    of_reader text[] := ARRAY['opened', 'nearest'];
BEGIN
    FOR each IN SELECT p.oid::regprocedure AS signature, p.proname AS name FROM pg_proc p
                WHERE p.pronamespace = 'retrieval'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO %I', each.signature, CASE
            WHEN each.name = ANY (searches) THEN 'sovctl_retrieval_reader' ELSE 'sovctl_retrieval_owner' END);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', each.signature);
        IF each.name = ANY (of_reader) THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO sovctl_retrieval_reader', each.signature);
        END IF;
        IF each.name = ANY (entry_points) THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO sovctl_retrieval', each.signature);
        END IF;
    END LOOP;
END
$$;
