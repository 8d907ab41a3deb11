"""What a worker tells its parent: read as it was written, and added up."""

import os

from clew.gateway.workers import WorkerReport, change_reporter, merge_health, read_report
from clew.store.values import Health


def test_what_waits_is_added_up_and_the_worst_speaks_for_all() -> None:
    fine = Health(waiting=1, wal_bytes=70, skipped=2)
    slow = Health(state="degraded", why="it is locked", waiting=3, wal_bytes=70)
    full = Health(state="read-only", why="the disk is full", warning="its log is long", skipped=1)
    assert merge_health([fine]) == fine
    assert merge_health([fine, slow, full]) == Health(
        state="read-only", why="the disk is full", warning="its log is long", waiting=4, wal_bytes=70, skipped=3
    )


def test_what_is_no_report_is_passed_over() -> None:
    assert [read_report(line) for line in (b"a library says hello\n", b"[]\n", b'{"running": "x"}\n')] == [None] * 3


def test_only_news_are_told_and_a_parent_that_does_not_read_holds_nobody_up() -> None:
    """What it did not take is told again, once it reads."""
    theirs, ours = os.pipe()
    found = [
        WorkerReport(),
        WorkerReport(running=6),
        WorkerReport(running=7),
        WorkerReport(running=7),
        WorkerReport(running=7),
        WorkerReport(running=8),
    ]
    report = change_reporter(iter(found).__next__, ours)
    try:
        report()
        report()
        assert read_report(os.read(theirs, 4096)) == WorkerReport(running=6)
        filled = _fill(ours)
        report()
        assert os.read(theirs, filled).strip() == b""
        report()
        assert read_report(os.read(theirs, 4096)) == WorkerReport(running=7)
        report()
        report()
        assert read_report(os.read(theirs, 4096)) == WorkerReport(running=8)
    finally:
        os.close(ours)
        os.close(theirs)


def _fill(pipe: int) -> int:
    filled = 0
    while True:
        try:
            filled += os.write(pipe, b" " * 4096)
        except BlockingIOError:
            return filled
