-- Rows that the search functions see. `migration.py` runs this file again if it changed, or if a vector table is new.
--
-- `allow` needs a group in `sovctl.groups`. A group in `sovctl.denied` that is in `deny` hides the row. An unset setting
-- hides every row: it has no group, and `NOT deny && NULL` is not true.
--
-- The settings are in sub-selects, which are evaluated once for a statement instead of once for each row. The planner
-- then has no estimate of the groups; the search functions select the scan instead (functions.sql).

DO $$
DECLARE each regclass;
BEGIN
    FOR each IN SELECT 'retrieval.document'::regclass
                UNION ALL SELECT ('retrieval.' || quote_ident(name))::regclass FROM retrieval.vector_table LOOP
        EXECUTE format('DROP POLICY IF EXISTS read ON %s', each);
        EXECUTE format('CREATE POLICY read ON %s FOR SELECT TO sovctl_retrieval_reader USING (
            allow && (SELECT nullif(current_setting(''sovctl.groups'', true), '''')::integer[])
            AND NOT deny && (SELECT nullif(current_setting(''sovctl.denied'', true), '''')::integer[]))', each);
    END LOOP;
END
$$;
DROP POLICY IF EXISTS read ON retrieval.chunk;
CREATE POLICY read ON retrieval.chunk FOR SELECT TO sovctl_retrieval_reader
    USING (EXISTS (SELECT FROM retrieval.document WHERE document.id = chunk.document)); -- its policy applies
