"""How exchanges are found: by an index, whatever the size of the store."""

from clew.store.sqlite import queries
from clew.store.sqlite.store import SqliteStore


def test_the_last_few_are_found_without_sorting_all(store: SqliteStore) -> None:
    """A follower and a page ask for them again and again, also in a store of years."""

    def plan(statement: str) -> list[str]:
        with store._readers.use() as connection:
            bindings = {"principal": "", "thread": "", "after": "", "limit": 1}
            return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]

    of_thread = f"{queries._BY_INDEX} AND thread = :thread"
    plans = [plan(start + end) for start in (queries._BY_TIME, of_thread) for end in (queries._LAST, queries._NEXT)]
    assert [step for steps in plans for step in steps if "TEMP B-TREE" in step] == []
    assert [steps[0] for steps in plans] == [
        "SCAN exchanges",
        "SEARCH exchanges USING INTEGER PRIMARY KEY (rowid>?)",
        "SEARCH exchanges USING INDEX exchanges_by_thread (principal=? AND thread=?)",
        "SEARCH exchanges USING INDEX exchanges_by_thread (principal=? AND thread=? AND rowid>?)",
    ]
