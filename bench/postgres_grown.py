"""How a store in PostgreSQL grows: `make bench-postgres-grown` (OPTIONS="100000 1000000": these numbers of recordings).

Rows are copies of a turn that the store itself recorded, with names, hashes and times of their own, made by the server: so
tables and indexes are as they would be. Content is shorter than an agent's, since it takes room in proportion and nothing
else. Then what a gateway does is timed at each size. A million recordings need 10 GB of disk for a while.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any

import psycopg
from tests.postgres import PostgresServer, private_server
from tests.store.turns import NOON, conversation, recorded, turn

from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.partitions import make_partitions
from clew.store.postgres.search import text_vector
from clew.store.postgres.store import PostgresStore
from clew.store.postgres.writer import VACUUM
from clew.store.values import DAY, Lookup, Retention

TURNS = 50
"""Of a thread."""
WORDS = 20_000
"""Different ones, of which each turn has a hundred."""
STEP = 50_000
CONTENT = "x" * 1600
NOTHING = Retention(age=None, bytes=None, usage_age=None)
LARGE = Retention(age=None, bytes=1 << 50, usage_age=None)

_MANY = """
WITH new AS (SELECT n, 'g' || n AS id, 'thread ' || n / {turns} AS thread, {noon} - n * 60.0 AS at
        FROM generate_series({first}, {last}) AS numbers (n)),
    said AS (INSERT INTO clew.recordings (principal, id, thread, after, followed, created, realm, backend, model, account,
            session, agent, whole, place, digest, sum, keys, listed, said, blocks)
        SELECT principal, new.id, new.thread, CASE WHEN n % {turns} > 0 THEN 'g' || n - 1 END,
            CASE WHEN n % {turns} > 0 THEN 'g' || n - 1 END, new.at, realm, backend, model, account, new.thread, agent,
            whole, sha256(('place' || n)::bytea), sha256(('digest' || n)::bytea), sum, keys, listed, said, blocks
        FROM new, clew.recordings WHERE recordings.id = 'template' RETURNING seq, id),
    used AS (INSERT INTO clew.uses (seq, used, bytes) SELECT seq, new.at, 6000 FROM said JOIN new USING (id)),
    marked AS (INSERT INTO clew.marks (principal, kind, hash, recording, backend, made)
        SELECT marks.principal, kind, sha256((kind || new.n)::bytea), said.seq, marks.backend, new.at
        FROM said JOIN new USING (id), clew.marks
        WHERE marks.recording = (SELECT seq FROM clew.recordings WHERE id = 'template')),
    threads AS (INSERT INTO clew.threads (principal, id, session, agent, title, created, used)
        SELECT 'local', thread, thread, '', 'A title of some words', min(at), max(at) FROM new GROUP BY thread
        ON CONFLICT DO NOTHING),
    counted AS (INSERT INTO clew.usage (principal, exchange, at, backend, model, input, output, cache_read, cache_written,
            estimated, thinking, micro_usd, key_name, thread_id, agent_id)
        SELECT usage.principal, 'x-' || new.id, new.at, backend, model, input, output, cache_read, cache_written,
            estimated, thinking, micro_usd, key_name, new.thread, agent_id
        FROM new, clew.usage WHERE usage.exchange = 'x-template'),
    asked AS (INSERT INTO clew.exchanges (principal, id, thread, started, ended, asked_model, backend, model, session, agent,
            outcome, status, first_byte, attempts, changes, kind, streamed, stop_reason, request_id, heals, kept, tries,
            recording, asked, readable, process, betas, dialect, indexed)
        SELECT principal, 'x-' || new.id, new.thread, new.at - 2, new.at, asked_model, backend, model, new.thread, agent,
            outcome, status, first_byte, attempts, changes, kind, streamed, stop_reason, 'req_' || md5(n::text), heals, kept,
            tries, new.id, asked, readable, process, betas, dialect, true
        FROM new, clew.exchanges WHERE exchanges.id = 'x-template' RETURNING seq)
INSERT INTO clew.words (seq, principal, asked, answered, found)
SELECT seq, 'local', 'What was asked, in some words.', 'What was answered, in some more words than that.', vector
FROM asked JOIN vectors ON vectors.number = asked.seq % (SELECT count(*) FROM vectors)
"""
_SIZES = """
SELECT relname, pg_table_size(oid), pg_indexes_size(oid), greatest(reltuples, 0)::bigint FROM pg_class
WHERE relnamespace = 'clew'::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) > 200000
ORDER BY pg_total_relation_size(oid) DESC
"""
_INDEXES = """
SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relnamespace = 'clew'::regnamespace AND relkind = 'i'
    AND pg_relation_size(oid) > 200000 ORDER BY 2 DESC LIMIT 12
"""


def milliseconds(action: Callable[[int], Any], count: int) -> str:
    """Middle and 99th percentile of so many calls."""
    taken: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        action(number)
        taken.append((time.perf_counter() - began) * 1e3)
    taken.sort()
    return f"p50 {median(taken):.2f} ms, p99 {taken[int(len(taken) * 0.99) - 1]:.2f} ms"


def grow(server: PostgresServer, url: str, first: int, last: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        for start in range(first, last, STEP):
            numbers = {"turns": TURNS, "noon": NOON, "first": start, "last": min(start + STEP, last) - 1}
            connection.execute(_MANY.format(**numbers).encode())
            print(f"  {min(start + STEP, last):,} recordings", file=sys.stderr, flush=True)
        began = time.perf_counter()
        connection.execute("VACUUM ANALYZE")
        print(f"vacuum of everything, nothing deleted: {time.perf_counter() - began:.1f} s")


def leave_vectors(url: str) -> None:
    chance = Random(20261118)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE vectors (number int PRIMARY KEY, vector tsvector)")
        for number in range(2000):
            words = " ".join(f"word{int(WORDS ** chance.random())}" for _ in range(100))
            connection.execute("INSERT INTO vectors VALUES (%s, %s::tsvector)", (number, text_vector(words[:300], words)))


def tell_sizes(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        whole = 0
        for name, table, indexes, _ in connection.execute(_SIZES.encode()):
            whole += table + indexes
            print(f"  {name:20} {table / count:8.0f} bytes a recording, indexes {indexes / count:6.0f}")
        print(f"  all                  {whole / count:8.0f} bytes a recording, {whole / 1e9:.2f} GB")
        for name, size in connection.execute(_INDEXES.encode()):
            print(f"    {name:28} {size / count:6.1f} bytes a recording")


def tell_times(url: str, count: int) -> None:
    chance = Random(count)
    threads = [chance.randrange(count // TURNS) for _ in range(300)]
    with PostgresStore(url) as store, psycopg.connect(url, autocommit=True) as connection:
        keys = [key_of(connection, number * TURNS + TURNS - 1) for number in threads]
        new = [turn(recorded(f"n{number}", words=CONTENT, thread=f"new {count}"), at=NOON) for number in range(500)]
        old = Retention(age=count * 60.0 * 0.99, bytes=None, usage_age=None)
        actions: dict[str, tuple[Callable[[int], Any], int]] = {
            "a thread of another gateway, 50 answers": (lambda at: store.gather(lookup(keys[at])), 300),
            "a turn": (lambda at: store.record(new[at]).result(60), 500),
            "list of threads": (lambda _: store.threads("local", limit=100), 50),
            "what was said in a thread": (lambda at: store.passages("local", f"thread {threads[at]}"), 100),
            "search of a rare word": (lambda _: store.search("local", "word19999"), 20),
            "search of two usual words": (lambda _: store.search("local", "word1 word2"), 5),
            "totals of usage of a day": (lambda _: store.usage_totals("local", since=NOON - DAY), 10),
            "totals of all usage": (lambda _: store.usage_totals("local"), 3),
            "size": (lambda _: store.size(), 5),
            "retention that finds nothing": (lambda _: retain(store, NOTHING), 20),
            "the same with a limit of size": (lambda _: retain(store, LARGE), 5),
            "a step of retention": (lambda _: retain(store, old), 50),
        }
        for name, (action, times) in actions.items():
            print(f"  {name}: {milliseconds(action, times)}", flush=True)
        began = time.perf_counter()
        connection.execute(VACUUM.encode())
        print(f"  vacuum after 1,000 deletions: {time.perf_counter() - began:.2f} s")


def key_of(connection: psycopg.Connection[Any], number: int) -> bytes:
    find = "SELECT hash FROM clew.marks JOIN clew.recordings ON seq = recording WHERE id = %s AND kind = 'key'"
    found = connection.execute(find, (f"g{number}",)).fetchone()
    assert found is not None
    return bytes(found[0])


def lookup(key: bytes) -> Lookup:
    return Lookup(principal="local", keys=(key,), links=TURNS)


def retain(store: PostgresStore, retention: Retention) -> int:
    return store.apply_retention(retention, now=NOON).result(600)


def tell_drop(url: str) -> None:
    """A day of bodies: 20,000 of 20 KB each."""
    with psycopg.connect(url, autocommit=True) as connection:
        database = PostgresDatabase(url)
        make_partitions(database, NOON)
        connection.execute(
            "INSERT INTO clew.bodies (day, principal, exchange, at, kept) SELECT %s, 'local', 'b' || n, %s, "
            "(SELECT string_agg(sha256((n || ' ' || part)::text::bytea), '') FROM generate_series(1, 640) AS parts (part)) "
            "FROM generate_series(1, 20000) AS numbers (n)",
            (int(NOON // DAY), NOON),
        )
        began = time.perf_counter()
        connection.execute(f"DROP TABLE clew.bodies_{int(NOON // DAY)}".encode())
        print(f"dropping a day of 20,000 bodies of 20 KB: {(time.perf_counter() - began) * 1e3:.0f} ms")
        database.close()


def main(counts: list[int]) -> None:
    settings = {"shared_buffers": "128MB", "max_wal_size": "1GB", "fsync": "on"}
    with private_server(**settings) as server:
        url = server.create()
        with PostgresStore(url) as store:
            store.record(turn(recorded("template", words=CONTENT), at=NOON)).result(60)
            for each in conversation(3):
                store.record(turn(each)).result(60)
        leave_vectors(url)
        tell_drop(url)
        done = 0
        for count in counts:
            grow(server, url, done, count)
            print(f"{count:,} recordings")
            tell_sizes(url, count)
            tell_times(url, count)
            done = count


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [100_000, 1_000_000])
