-- Tables of the retrieval service, version 1. `migration.py` runs this file once, as the superuser.
--
-- Roles:
--   sovctl_retrieval_owner    owns tables and the functions that write; no login. Row-level security is forced, so a
--                             statement of the owner sees no row unless one of its functions has set `sovctl.mode`.
--   sovctl_retrieval_reader   owns the functions that search; no login. Its rows are those of the groups in
--                             `sovctl.groups` and `sovctl.denied`, which only these functions set, from a verified
--                             claim (`policies.sql`).
--   sovctl_retrieval          role of the service. It may execute the functions of `functions.sql`, and has no other
--                             right: `sovctl.mode` and `sovctl.groups` are settings, not credentials.

CREATE SCHEMA retrieval AUTHORIZATION sovctl_retrieval_owner;
SET LOCAL ROLE sovctl_retrieval_owner;
SET LOCAL search_path = retrieval, pg_catalog;

CREATE TABLE migration (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- One row: the identity that claims must name, and the key of their HMAC.
CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    claim_key bytea NOT NULL CHECK (octet_length(claim_key) = 32)
);

CREATE TABLE member_group (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- Export of the site's directory. Without a row in `directory`, groups of the gateway's JWS are used as they are.
CREATE TABLE directory (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    loaded_at timestamptz NOT NULL
);
CREATE TABLE membership (
    subject text NOT NULL,
    member_group integer NOT NULL REFERENCES member_group,
    PRIMARY KEY (subject, member_group)
);

CREATE TABLE collection (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    tenants text[] -- NULL: every tenant of the gateway
);

CREATE TABLE model (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    digest text NOT NULL UNIQUE CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    dimensions integer NOT NULL
);

-- Vectors of one model in one collection are a table of their own (`vectors.sql`).
CREATE TABLE vector_table (
    collection integer NOT NULL REFERENCES collection,
    model integer NOT NULL REFERENCES model,
    name text NOT NULL UNIQUE,
    PRIMARY KEY (collection, model)
);

CREATE TABLE document (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    collection integer NOT NULL REFERENCES collection,
    source_id text NOT NULL,
    title text NOT NULL,
    version text NOT NULL,
    extractor text NOT NULL,
    extracted_sha256 text NOT NULL,
    allow integer[] NOT NULL,
    deny integer[] NOT NULL,
    chunks integer NOT NULL,
    UNIQUE (collection, source_id)
);
CREATE INDEX document_allow ON document USING gin (allow);

CREATE TABLE chunk (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document uuid NOT NULL REFERENCES document ON DELETE CASCADE,
    ordinal integer NOT NULL,
    page integer,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    language text NOT NULL,
    identifier text NOT NULL,
    text text NOT NULL,
    UNIQUE (document, ordinal)
);

DO $$
DECLARE each text;
BEGIN
    FOREACH each IN ARRAY ARRAY['migration', 'installation', 'member_group', 'directory', 'membership', 'collection',
                                'model', 'vector_table', 'document', 'chunk'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', each);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', each);
        EXECUTE format('CREATE POLICY manage ON %I TO sovctl_retrieval_owner
                        USING (current_setting(''sovctl.mode'', true) = ''manage'')
                        WITH CHECK (current_setting(''sovctl.mode'', true) = ''manage'')', each);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA retrieval TO sovctl_retrieval_reader, sovctl_retrieval;
GRANT SELECT ON document, chunk TO sovctl_retrieval_reader;
RESET ROLE;
