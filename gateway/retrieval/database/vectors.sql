-- Vectors of one model in one collection. `migration.py` replaces {table}, {model} and {dimensions}, which are numbers.
-- Allow and deny lists are copies of the document's, so that the index scan filters without a join.

SET LOCAL ROLE sovctl_retrieval_owner;
SET LOCAL search_path = retrieval, pg_catalog, public;

CREATE TABLE {table} (
    chunk bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE,
    document uuid NOT NULL REFERENCES document ON DELETE CASCADE,
    model integer NOT NULL DEFAULT {model} REFERENCES model CHECK (model = {model}),
    allow integer[] NOT NULL,
    deny integer[] NOT NULL,
    embedding halfvec({dimensions}) NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE main; -- in the row: a search reads every vector
CREATE INDEX {table}_document ON {table} (document);
-- Pending entries of a GIN index would make a search slow, and vacuum is not its cure during ingestion.
CREATE INDEX {table}_allow ON {table} USING gin (allow) WITH (fastupdate = off);
-- m and ef_construction: defaults of pgvector 0.8.
CREATE INDEX {table}_graph ON {table} USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 64);

ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY manage ON {table} TO sovctl_retrieval_owner
    USING (current_setting('sovctl.mode', true) = 'manage')
    WITH CHECK (current_setting('sovctl.mode', true) = 'manage');
GRANT SELECT ON {table} TO sovctl_retrieval_reader;
RESET ROLE;
