"""Verify, the part about turns: that what belongs together is there together.

An exchange leads to its recording and its thread, a recording to its exchange, bodies to theirs. The index of words has
every turn up to its newest, with exactly the words that the turn has, and no other. (Whether the index itself agrees with
the copy that it was made from, SQLite's own check says.)
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.errors import RecordCorrupt
from clew.store.sqlite.changes import changes_of
from clew.store.sqlite.database import Database
from clew.store.sqlite.words import indexed
from clew.store.values import Fault

__all__ = ["faults_of_turns"]

_LINKS = {
    "no exchange leads to this recording": """
        SELECT id FROM recordings WHERE (principal, thread, id) NOT IN (SELECT principal, thread, recording FROM turns
            WHERE recording IS NOT NULL)""",
    "its recording is not there": """
        SELECT exchange FROM turns WHERE recording IS NOT NULL AND NOT EXISTS (SELECT 1 FROM recordings AS said
            WHERE said.principal = turns.principal AND said.id = turns.recording)""",
    "its thread is not there": """
        SELECT exchange FROM turns WHERE NOT EXISTS (SELECT 1 FROM threads
            WHERE threads.principal = turns.principal AND threads.id = turns.thread)""",
    "these bodies belong to no exchange": """
        SELECT exchange FROM bodies WHERE NOT EXISTS (SELECT 1 FROM exchanges
            WHERE exchanges.principal = bodies.principal AND exchanges.id = bodies.exchange)""",
    "it was forgotten, and is not without words": """
        SELECT id FROM exchanges WHERE kind = 'forgotten' AND (thread <> '' OR recording IS NOT NULL OR asked <> x'90'
            OR EXISTS (SELECT 1 FROM bodies WHERE bodies.principal = exchanges.principal AND exchange = id))""",
    "the index of words has a turn that is not there": """
        SELECT '' FROM words WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.seq = words.rowid)""",
}
_WORDS = """
SELECT exchanges.id, words.rowid, words.asked, words.answered, readable, exchanges.asked, said FROM exchanges
LEFT JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
LEFT JOIN words ON words.rowid = exchanges.seq
WHERE kind = 'messages' AND exchanges.seq <= (SELECT rowid FROM words ORDER BY rowid DESC LIMIT 1)
"""


def faults_of_turns(connection: Database) -> Iterator[Fault]:
    for what, statement in _LINKS.items():
        for (name,) in connection.execute(statement):
            yield Fault(str(name), what)
    yield from _of_changes(connection)
    for id, row, asked, answered, *columns in connection.execute(_WORDS):
        if row is None:
            yield Fault(str(id), "it is not in the index of words")
        elif (asked, answered) != indexed(tuple(columns)):
            yield Fault(str(id), "its words in the index are not those that were said")


def _of_changes(connection: Database) -> Iterator[Fault]:
    for id, kept in connection.execute("SELECT id, changes FROM exchanges"):
        assert isinstance(kept, bytes)
        try:
            changes_of(kept)
        except RecordCorrupt as error:
            yield Fault(str(id), str(error))
