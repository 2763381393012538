-- Written by sovctl. Roles of retrieval, its database and extensions; running it again changes nothing.
-- Neither role bypasses row level security. The owner of the tables cannot log in, and the service owns nothing.
SELECT format('CREATE ROLE %I NOINHERIT', name)
  FROM (VALUES ('sovctl_retrieval_owner'), ('sovctl_retrieval_reader'), ('sovctl_retrieval')) AS wanted(name)
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE sovctl_retrieval_owner NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
ALTER ROLE sovctl_retrieval_reader NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
ALTER ROLE sovctl_retrieval LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
SELECT format('REVOKE %I FROM sovctl_retrieval', granted.rolname) FROM pg_auth_members
  JOIN pg_roles AS granted ON granted.oid = roleid JOIN pg_roles AS member ON member.oid = pg_auth_members.member
  WHERE member.rolname = 'sovctl_retrieval' \gexec
-- The message of an error can quote a text: invalid input syntax for type integer: "...". The service logs its SQLSTATE.
ALTER ROLE sovctl_retrieval SET log_min_messages = 'log';
SELECT 'CREATE DATABASE sovctl_retrieval OWNER sovctl_retrieval_owner'
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'sovctl_retrieval') \gexec
REVOKE ALL ON DATABASE sovctl_retrieval FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
GRANT CONNECT ON DATABASE sovctl_retrieval TO sovctl_retrieval;
\connect sovctl_retrieval
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE EXTENSION IF NOT EXISTS vector;
ALTER EXTENSION vector UPDATE;
