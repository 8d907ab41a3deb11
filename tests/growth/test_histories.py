"""Kept conversations with n and 4n of each thing, through all that keeps, shows, exports or reads them."""

import asyncio
import logging
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from msgspec import Struct
from starlette.requests import Request

from clew.admin import exchanges as exchange_routes
from clew.admin import threads as thread_routes
from clew.admin.access import AdminAccess
from clew.admin.feed import Feed
from clew.admin.metrics import Metrics
from clew.admin.routing import Endpoint
from clew.admin.services import AdminServices
from clew.chat.formats import FORMATS, Format, ImportContext, NumberedLine
from clew.chat.request import history_of
from clew.chat.turns import StoredTurn, Tree
from clew.chat.ui.messages import ui_messages
from clew.cli import main
from clew.engine.hub import Hub
from clew.engine.log.lines import TRACE, as_json, line_of
from clew.engine.log.request_log import RequestLog
from clew.exchange.redact import Redactor
from clew.model.recording import Shelf
from clew.model.turn import TurnRecord
from clew.settings.home import Home
from clew.settings.values import LogSettings
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Passage, Thread
from clew.thinking.seal import Sealer
from clew.web import chat_page, exchange_page, health, now_page, thread_page, threads_page, usage
from tests.admin.booth import present
from tests.cli.homes import CONFIG
from tests.growth.agents import run_agent
from tests.growth.histories import HISTORIES
from tests.growth.work import check_growth, each_with
from tests.store.turns import NOON

N = 24
SEALER = Sealer({"k": b"s" * 32}, "k")

T = TypeVar("T")

pytestmark = pytest.mark.slow


class Kept(Struct, frozen=True):
    """A home with a store that has these turns."""

    root: Path
    turns: Sequence[TurnRecord]

    @property
    def thread(self) -> Thread:
        return Thread(
            id="t",
            principal="local",
            session="",
            agent="",
            title="A",
            pin="",
            created=NOON,
            used=NOON,
            turns=len(self.turns),
        )


def _keep(turns: Sequence[TurnRecord], root: Path) -> None:
    with SqliteStore(Home(root).make().root / "clew.db") as store:
        for each in turns:
            store.record(each).result(120)


def _recorded(kept: Kept) -> None:
    """In a store of its own, and deleted from it."""
    with tempfile.TemporaryDirectory() as root, SqliteStore(Home(Path(root) / "h").make().root / "clew.db") as store:
        for each in kept.turns:
            store.record(each).result(120)
        store.forget("local", "t", at=NOON + 1e6, agents=True).result(120)


def _read(kept: Kept) -> None:
    with SqliteStore(kept.root / "clew.db") as store:
        for each in store.threads("local", limit=1000):
            store.thread("local", each.id)
        store.tree("local", "t")
        store.sibling_threads("local", "t")
        found = {each.id: each for each in store.exchanges("local", thread="t", limit=1000)}
        tree = Tree(StoredTurn(passage, found.get(passage.exchange)) for passage in store.passages("local", "t"))
        tree.line(tree.newest)
        tree.attempts()


def _in_a_chat(kept: Kept) -> None:
    """The messages of a front end, and the next request."""
    tree = Tree(_spots(kept))
    line = tree.line(tree.newest)
    ui_messages(line, SEALER, lambda spots: {})
    list(history_of(line, SEALER))


def _spots(kept: Kept) -> list[StoredTurn]:
    return [StoredTurn(_passage(each), each.exchange) for each in kept.turns]


def _passage(turn: TurnRecord) -> Passage:
    return Passage(exchange=turn.exchange.id, at=turn.exchange.started, asked=turn.asked, recording=turn.recording)


def _asked_agent(kept: Kept) -> None:
    run_agent(_spots(kept), lambda agent: agent.stream("And now?"))


def _resumed_agent(kept: Kept) -> None:
    run_agent(_spots(kept), lambda agent: agent.resume())


def _searched(kept: Kept) -> None:
    with SqliteStore(kept.root / "clew.db") as store:
        store.search("local", "well", limit=1000)
        store.statistics("local", backend="claude", now=NOON)
        store.usage_totals("local")
        store.days("local", since=0.0)


def _verified(kept: Kept) -> None:
    with SqliteStore(kept.root / "clew.db") as store:
        store.verify()


def _logged(kept: Kept) -> None:
    """With every line that a log can have."""
    lines: list[str] = []
    logger = logging.Logger("growth", level=TRACE)
    logger.addHandler(_Lines(lines))
    log = RequestLog(LogSettings(level="trace", debug=True, thinking_text=True), logger=logger)
    for each in kept.turns:
        log.decided(each.exchange.id, each.exchange.changes, [])
        log.finished(each.exchange, each.recording)
    assert len(lines) >= len(kept.turns)


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(line_of(record, redact=Redactor(), form=as_json, pretty=False))


def _written(kept: Kept, format: Format) -> None:
    """As an export, and read again where that can be."""
    raw = b"".join(format.write(kept.thread, kept.turns))
    reading = ImportContext(principal="local", known=Shelf(), thread_of=lambda *_: None, at=0.0)
    if format.read is not None:
        list(format.read([NumberedLine(i, line) for i, line in enumerate(raw.splitlines(), 1)], reading))


def _printed(kept: Kept, *arguments: str) -> None:
    (kept.root / "clew.toml").write_text(CONFIG.replace("${A_KEY_THAT_NOBODY_SET}", "k"))
    (kept.root / "clew.toml").chmod(0o600)
    done = CliRunner(env={"CLEW_HOME": str(kept.root), "HOME": str(kept.root), "TZ": "UTC"}).invoke(main, arguments)
    assert done.exit_code in (0, 1), done.output


class _Desk(AdminServices):
    """Reads where it is asked, so that the work is counted."""

    async def read(self, work: Callable[[], T]) -> T:
        return work()


def _shown(kept: Kept, endpoint: Endpoint, query: str = "", id: str = "t") -> None:
    home = Home(kept.root)
    with ExitStack() as stack:
        store = stack.enter_context(SqliteStore(kept.root / "clew.db"))
        current = present(home, store)
        feed = Feed(Hub(), store, lambda: ("local",), current, finished=lambda exchange: None)
        desk = _Desk(
            current=current, store=store, home=home, access=AdminAccess(), feed=feed, metrics=Metrics(), planes=lambda: ()
        )
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/x",
            "query_string": query.encode(),
            "headers": [],
            "path_params": {"id": id},
        }
        asyncio.run(_ended(endpoint, desk, Request(scope)))


async def _ended(endpoint: Endpoint, desk: AdminServices, request: Request) -> None:
    await endpoint(desk, request)


READERS: dict[str, Callable[[Kept], object]] = {
    "thread page": partial(_shown, endpoint=thread_page.page_thread),
    "clew show": lambda kept: _printed(kept, "show", "t", "--thinking", "--asides"),
    "chat": _in_a_chat,
    "store": _read,
    "log lines": _logged,
    "recording": _recorded,
    "thread page as sent": partial(_shown, endpoint=thread_page.page_thread, query="as=glm"),
    **{f"export {format.name}": partial(_written, format=format) for format in FORMATS.values()},
    "clew show --as": lambda kept: _printed(kept, "show", "t", "--as", "glm"),
    "search": _searched,
    "chat page": partial(_shown, endpoint=chat_page.page_chat),
    "exchange page": partial(_shown, endpoint=exchange_page.page_exchange, id="r0"),
    "verify": _verified,
    "clew show --search": lambda kept: _printed(kept, "show", "--search", "well"),
    "threads page": partial(_shown, endpoint=threads_page.page_threads),
    "threads page with words": partial(_shown, endpoint=threads_page.page_threads, query="q=well"),
    "now": partial(_shown, endpoint=now_page.page_now),
    "usage page": partial(_shown, endpoint=usage.page_usage),
    "backends page": partial(_shown, endpoint=health.page_backends),
    "clew log": lambda kept: _printed(kept, "log", "-n", "1000"),
    "list of exchanges": partial(_shown, endpoint=exchange_routes.exchanges, query="limit=1000"),
    "list of threads": partial(_shown, endpoint=thread_routes.threads, query="limit=1000"),
    "thread": partial(_shown, endpoint=thread_routes.thread),
    "exchange": partial(_shown, endpoint=exchange_routes.exchange, id="r0"),
    "agent that is asked": _asked_agent,
    "agent that resumes": _resumed_agent,
    "clew show --json": lambda kept: _printed(kept, "show", "t", "--json"),
}


@pytest.mark.parametrize(("repeated", "reader"), each_with(HISTORIES, READERS))
def test_a_history_costs_work_in_proportion(repeated: str, reader: str, tmp_path: Path) -> None:
    def make(n: int) -> Kept:
        kept = Kept(tmp_path / str(n), HISTORIES[repeated](n))
        _keep(kept.turns, kept.root)
        return kept

    check_growth(make, READERS[reader], N)
