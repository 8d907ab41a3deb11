"""The schema `clew`, as the list of steps that lead to it. A released step is never edited; a change is a new step.

All missing steps run in one transaction under an advisory lock, so that of several gateways that start together one does the
work and the others wait; a failure leaves the old schema. Nothing outside the schema is looked at or touched, and neither an
extension nor a superuser is needed. A step adds to what is there, so that gateways of the release before go on:
`state.reads_from` is the oldest version of clew's schema that may still write.

There are no foreign keys: a lost recording is no error (it ends a strand). Recordings are kept by their last use, which is
noted in a narrow table of its own, because a note in the recording itself would write its blocks again. Bodies are kept by
day and usage by month, in partitions that are dropped; what fits in none of these is in the default partition.
"""

from __future__ import annotations

from typing import Final

from clew.errors import SchemaTooNew, StoreError
from clew.store.postgres.database import PostgresDatabase

_LOCK: Final = 0x636C6577
"""`clew`: the advisory lock of the process that sets up the schema."""
LOCK_WAIT: Final = "5s"
"""That a step waits for tables that somebody reads, as a backup does. All turns of other gateways wait behind it meanwhile;
then it fails, and is tried again with the next connection."""

_S001: Final = """
CREATE TABLE clew.recordings (
    seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    principal text NOT NULL, id text NOT NULL, thread text NOT NULL, after text, followed text,
    created float8 NOT NULL,
    realm text NOT NULL, backend text NOT NULL, model text NOT NULL, account text NOT NULL,
    session text NOT NULL, agent text NOT NULL, whole smallint NOT NULL,
    place bytea NOT NULL, digest bytea NOT NULL, sum bytea NOT NULL, keys bytea NOT NULL, listed bytea,
    said bytea NOT NULL, blocks bytea NOT NULL,
    PRIMARY KEY (principal, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE clew.recordings ALTER COLUMN blocks SET STORAGE EXTERNAL, ALTER COLUMN said SET STORAGE EXTERNAL;

CREATE TABLE clew.uses (
    seq bigint PRIMARY KEY, used float8 NOT NULL, bytes bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX uses_by_time ON clew.uses (used);

CREATE TABLE clew.marks (
    principal text NOT NULL, kind text NOT NULL, hash bytea NOT NULL, recording bigint NOT NULL,
    backend text, made float8, seen float8,
    PRIMARY KEY (principal, kind, hash, recording)
) WITH (fillfactor = 90);
CREATE INDEX marks_by_recording ON clew.marks (recording);

CREATE TABLE clew.strangers (
    principal text NOT NULL, key bytea NOT NULL, seen float8 NOT NULL, PRIMARY KEY (principal, key)
);

CREATE TABLE clew.threads (
    principal text NOT NULL, id text COLLATE "C" NOT NULL, session text NOT NULL, agent text NOT NULL,
    title text NOT NULL, pin text NOT NULL DEFAULT '', created float8 NOT NULL, used float8 NOT NULL,
    PRIMARY KEY (principal, id)
) WITH (fillfactor = 80);
CREATE INDEX threads_by_headers ON clew.threads (principal, session, agent) WHERE session <> '';
CREATE INDEX threads_pinned ON clew.threads (principal) WHERE pin <> '';

CREATE TABLE clew.exchanges (
    seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    principal text NOT NULL, id text NOT NULL, thread text NOT NULL, started float8 NOT NULL, ended float8 NOT NULL,
    asked_model text NOT NULL, backend text NOT NULL, model text NOT NULL, session text NOT NULL, agent text NOT NULL,
    outcome text NOT NULL, status integer NOT NULL, first_byte float8, attempts integer NOT NULL, changes bytea NOT NULL,
    kind text NOT NULL, streamed smallint NOT NULL, stop_reason text NOT NULL, request_id text NOT NULL,
    heals integer NOT NULL, kept integer NOT NULL, tries bytea NOT NULL, recording text, asked bytea NOT NULL,
    readable smallint NOT NULL, process text NOT NULL, betas text NOT NULL, indexed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (principal, id)
);
CREATE INDEX exchanges_by_thread ON clew.exchanges (principal, thread, seq);
CREATE INDEX exchanges_by_order ON clew.exchanges (principal, seq);
CREATE INDEX exchanges_of_counts ON clew.exchanges (ended) WHERE kind <> 'messages';
CREATE INDEX exchanges_without_answer ON clew.exchanges (ended) WHERE kind = 'messages' AND recording IS NULL;
CREATE INDEX exchanges_to_index ON clew.exchanges (seq) WHERE kind = 'messages' AND NOT indexed;

CREATE TABLE clew.natives (
    principal text NOT NULL, exchange text NOT NULL, follows text, digest bytea NOT NULL, items bytea NOT NULL,
    answer bytea NOT NULL, hidden boolean NOT NULL DEFAULT false, PRIMARY KEY (principal, exchange)
);

CREATE TABLE clew.usage (
    principal text NOT NULL, exchange text NOT NULL, at float8 NOT NULL, backend text NOT NULL, model text NOT NULL,
    input bigint NOT NULL, output bigint NOT NULL, cache_read bigint NOT NULL, cache_written bigint NOT NULL,
    estimated smallint NOT NULL, thinking bigint,
    PRIMARY KEY (principal, exchange, at)
) PARTITION BY RANGE (at);
CREATE TABLE clew.usage_other PARTITION OF clew.usage DEFAULT;
CREATE INDEX usage_by_time ON clew.usage (principal, at);

CREATE TABLE clew.bodies (
    day integer NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, principal text NOT NULL, exchange text NOT NULL,
    at float8 NOT NULL, kept bytea NOT NULL, chain bigint, PRIMARY KEY (day, principal, exchange)
) PARTITION BY RANGE (day);
CREATE TABLE clew.bodies_other PARTITION OF clew.bodies DEFAULT;
CREATE INDEX bodies_by_order ON clew.bodies (principal, seq);
CREATE INDEX bodies_by_chain ON clew.bodies (chain) WHERE chain IS NOT NULL;
CREATE TABLE clew.pieces (
    day integer NOT NULL, seq bigint NOT NULL, content bytea NOT NULL, PRIMARY KEY (day, seq)
) PARTITION BY RANGE (day);
CREATE TABLE clew.pieces_other PARTITION OF clew.pieces DEFAULT;

CREATE TABLE clew.words (
    seq bigint PRIMARY KEY, principal text NOT NULL, asked text NOT NULL, answered text NOT NULL, found tsvector NOT NULL
);
CREATE INDEX words_found ON clew.words USING gin (found);

CREATE TABLE clew.settings (
    scope text NOT NULL, name text NOT NULL, value text NOT NULL, changed float8 NOT NULL, PRIMARY KEY (scope, name)
);
CREATE TABLE clew.forgotten (hash bytea PRIMARY KEY, at float8 NOT NULL);
CREATE TABLE clew.processes (id text PRIMARY KEY, until timestamptz NOT NULL);
"""

_S002: Final = """
ALTER TABLE clew.state ADD COLUMN generation bigint NOT NULL DEFAULT 1, ADD COLUMN seal_key text NOT NULL DEFAULT '';
ALTER TABLE clew.processes ADD COLUMN name text NOT NULL DEFAULT '', ADD COLUMN machine text NOT NULL DEFAULT '',
    ADD COLUMN pid integer NOT NULL DEFAULT 0, ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN version text NOT NULL DEFAULT '', ADD COLUMN config text NOT NULL DEFAULT '',
    ADD COLUMN active text NOT NULL DEFAULT '', ADD COLUMN problem text NOT NULL DEFAULT '',
    ADD COLUMN taken bigint NOT NULL DEFAULT 0;
ALTER TABLE clew.exchanges ADD COLUMN xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX exchanges_by_transaction ON clew.exchanges (principal, xid, seq);
"""
"""Gateways know of each other: a number that rises with each change that all of them take over, who they are, and the order
in which exchanges became visible (numbers of rows are given out before their transaction ends)."""

_S003: Final = """
ALTER TABLE clew.usage ADD COLUMN micro_usd bigint, ADD COLUMN key_name text NOT NULL DEFAULT '',
    ADD COLUMN thread_id text NOT NULL DEFAULT '', ADD COLUMN agent_id text NOT NULL DEFAULT '';
CREATE TABLE clew.keys (
    kid text PRIMARY KEY, name text NOT NULL, hash text NOT NULL, principal text NOT NULL, team text NOT NULL,
    rights text NOT NULL, made float8 NOT NULL, made_by text NOT NULL, expires float8, replaced_by text NOT NULL,
    last_used float8
);
CREATE TABLE clew.limits (
    scope text NOT NULL, unit text NOT NULL, seconds bigint NOT NULL, cap bigint NOT NULL, hard smallint NOT NULL,
    made float8 NOT NULL, made_by text NOT NULL, PRIMARY KEY (scope, unit, seconds)
);
CREATE TABLE clew.spent (
    scope text NOT NULL, seconds bigint NOT NULL, start bigint NOT NULL, shard text NOT NULL, micro_usd bigint NOT NULL,
    tokens bigint NOT NULL, requests bigint NOT NULL, PRIMARY KEY (scope, seconds, start, shard)
) WITH (fillfactor = 70);
CREATE TABLE clew.reservations (
    exchange text NOT NULL, scope text NOT NULL, seconds bigint NOT NULL, start bigint NOT NULL, process text NOT NULL,
    micro_usd bigint NOT NULL, tokens bigint NOT NULL, requests bigint NOT NULL, PRIMARY KEY (exchange, scope, seconds)
);
CREATE INDEX reservations_by_scope ON clew.reservations (scope);
CREATE TABLE clew.audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at float8 NOT NULL, who text NOT NULL, what text NOT NULL,
    target text NOT NULL, before text NOT NULL, after text NOT NULL
);
"""

_S004: Final = "ALTER TABLE clew.exchanges ADD COLUMN dialect text NOT NULL DEFAULT 'anthropic';"
"""What the client speaks."""

_S005: Final = "ALTER TABLE clew.usage ADD COLUMN team_name text NOT NULL DEFAULT '';"
"""A team's sums stay as they are when one of its keys is removed, or moved to another team."""

_S006: Final = """
ALTER TABLE clew.exchanges ADD COLUMN client text NOT NULL DEFAULT '';
ALTER TABLE clew.usage ADD COLUMN client_name text NOT NULL DEFAULT '';
"""
"""The program that asked. Many programs speak the same dialect."""

STEPS: Final = (_S001, _S002, _S003, _S004, _S005, _S006)
NEWEST: Final = len(STEPS)

_STATE: Final = """
CREATE SCHEMA IF NOT EXISTS clew;
CREATE TABLE IF NOT EXISTS clew.state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), schema integer NOT NULL, reads_from integer NOT NULL
);
INSERT INTO clew.state (schema, reads_from) VALUES (0, 0) ON CONFLICT DO NOTHING;
"""
_TABLES: Final = """
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'clew' AND relkind = 'r'
"""
"""By the tables themselves: `to_regclass` may answer from before another process made them."""
_VERSION: Final = "SELECT schema, reads_from FROM clew.state"


def schema_version(database: PostgresDatabase) -> int | None:
    """The version of clew's schema in the database; None if it has none."""
    if "state" not in {name for (name,) in database.rows(_TABLES)}:
        return None
    version = database.value(_VERSION)
    return version if isinstance(version, int) else 0


def migrate(database: PostgresDatabase, where: str) -> None:
    """Bring the schema to the present version. Raises SchemaTooNew, StoreError and psycopg.Error."""
    if schema_version(database) == NEWEST:
        return
    with database.connection.transaction():
        database.rows("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if schema_version(database) is None:
            for (foreign,) in database.rows(_TABLES):
                raise StoreError(f"{where} has a schema `clew` of another program (with {foreign}): name another database")
            database.run_script(_STATE)
        version = schema_version(database) or 0
        if version > NEWEST:
            _check_readable(database, where, version)
            return
        database.run_script(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        for step in STEPS[version:]:
            database.run_script(step)
        database.run("UPDATE clew.state SET schema = $1", NEWEST)


def _check_readable(database: PostgresDatabase, where: str, version: int) -> None:
    """A newer clew may have added things, and still let this one write."""
    found = database.row(_VERSION)
    oldest = found[1] if found else version
    if not isinstance(oldest, int) or oldest > NEWEST:
        known = f"this one knows up to {NEWEST}: update clew"
        raise SchemaTooNew(f"{where} has schema {version}, written by a newer clew; {known}")
