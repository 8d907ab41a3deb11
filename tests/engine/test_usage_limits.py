"""Limits in a gateway: who is refused, in which words, and what is counted."""

import http.client
import json
import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.backends.prices import price_of
from clew.errors import StoreError
from clew.limits.ledger import CountedWindow
from clew.limits.limit import HOUR, micro_usd, read_limit, read_scope, window_at
from clew.limits.slots import Slots, SlotTicket
from clew.testing import Simulator
from clew.wire.events import encode_event
from tests.engine.chatting import telling
from tests.engine.conftest import Gating
from tests.engine.gate import KEY, Gate, claude, other
from tests.engine.test_untold_usage import STREAM as UNCOUNTED
from tests.engine.test_untold_usage import WHOLE as UNCOUNTED_WHOLE
from tests.engine.test_waits import messages_row
from tests.waiting import until

QUESTION = {"model": "claude-opus-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
CHAT = {"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "Hi"}]}
RESPONSES = {"model": "claude-opus-4-5", "input": "Hi"}


@pytest.fixture
def gate(gating: Gating, a: Simulator) -> Gate:
    return gating(claude(a, preset="anthropic"), others={"annas-key": "anna"})


def limit(gate: Gate, scope: str, amount: str, *, hard: bool = False) -> None:
    assert gate.store is not None
    gate.store.limits.set(read_limit(read_scope(scope), amount, hard=hard, made=time.time())).result(60)
    gate.engine.services.limits.look()


def used(gate: Gate, scope: str) -> tuple[int, int, int]:
    assert gate.store is not None
    start = window_at(time.time(), HOUR).start
    return tuple(gate.store.limits.totals(start)[CountedWindow(scope, HOUR, start)].own)


def reservations(gate: Gate) -> object:
    assert gate.store is not None
    with gate.store._readers.use() as connection:
        return connection.execute("SELECT count(*) FROM reservations").get


def test_a_request_above_its_limit_is_refused_and_nobody_is_asked(gate: Gate, a: Simulator) -> None:
    limit(gate, "principal:local", "2requests/1h")
    assert [gate.ask(QUESTION).status for _ in range(3)] == [200, 200, 429]
    assert len(a.journal()) == 2
    assert gate.ask(QUESTION, headers={"x-api-key": "annas-key"}).status == 200, "others have their own"


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/messages", QUESTION, {"type": "rate_limit_error"}),
        ("/v1/chat/completions", CHAT, {"type": "rate_limit_exceeded"}),
        ("/v1/responses", RESPONSES, {"type": "rate_limit_exceeded"}),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_the_refusal_is_in_the_clients_dialect_and_says_when_the_window_ends(
    gate: Gate, path: str, body: dict[str, Any], told: dict[str, str], streams: bool
) -> None:
    limit(gate, "principal:local", "0tokens/30d")
    answer = gate.ask({**body, "stream": streams}, path=path)
    assert answer.status == 429
    assert 0 < int(answer.headers["retry-after"]) <= 30 * 24 * HOUR
    assert answer.headers["x-should-retry"] == "false"
    error = answer.json["error"]
    assert "0 tokens per 30d" in error["message"]
    assert "the principal 'local'" in error["message"]
    assert error["type"] == told["type"] or error["code"] == told["type"]


def test_a_refusal_is_in_the_log_with_its_reason(gate: Gate) -> None:
    limit(gate, "principal:local", "0requests/1h")
    gate.ask(QUESTION)
    assert gate.store is not None
    store = gate.store
    until(lambda: store.exchanges("local"))
    (exchange,) = store.exchanges("local")
    assert (exchange.status, exchange.outcome, exchange.usage) == (429, "failed", None)
    assert exchange.tries[0].why.startswith("not asked: The limit of the principal 'local' is reached")


def test_money_is_counted_to_the_micro_dollar(gate: Gate) -> None:
    limit(gate, "principal:local", "100usd/1h")
    for _ in range(3):
        assert gate.ask(QUESTION).status == 200
    assert gate.store is not None
    found = gate.store.exchanges("local")
    row = gate.current.settings.backends["claude"]
    prices = [micro_usd(price_of(each.model, each.usage, row, each.ended) or 0) for each in found if each.usage]  # type: ignore[arg-type]
    assert [each.usage and each.usage.micro_usd for each in found] == prices
    assert prices[0] > 0
    tokens = sum(each.usage.prompt + each.usage.output for each in found if each.usage)
    assert used(gate, "principal:local") == (sum(prices), tokens, 3)


def test_a_hard_limit_reserves_the_most_that_a_request_can_use(gate: Gate, a: Simulator) -> None:
    limit(gate, "principal:local", "1000tokens/1h", hard=True)
    refused = gate.ask({**QUESTION, "max_tokens": 1001})
    assert refused.status == 429
    assert "leaves no room for this request, which may use" in refused.json["error"]["message"]
    assert list(a.journal()) == []
    assert gate.ask(QUESTION).status == 200
    spent = used(gate, "principal:local")
    assert 0 < spent[1] < 200
    assert reservations(gate) == 0, "settled with the turn"


def test_a_request_that_its_backend_refuses_gives_back_what_it_reserved(gating: Gating, simulators: Any) -> None:
    vendor = simulators()
    gate = gating(claude(vendor, preset="anthropic"))
    limit(gate, "principal:local", "1usd/1h", hard=True)
    assert gate.ask({**QUESTION, "messages": []}).status == 400
    until(lambda: reservations(gate) == 0)


def test_where_the_store_does_not_answer_a_hard_limit_refuses_and_a_soft_one_goes_on(
    gate: Gate, a: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may try again by itself: what is away is often back soon."""
    assert gate.store is not None
    limit(gate, "principal:anna", "5usd/1h")
    limit(gate, "principal:local", "5usd/1h", hard=True)

    def is_away(_: object) -> Future[None]:
        failed: Future[None] = Future()
        failed.set_exception(StoreError("away"))
        return failed

    monkeypatch.setattr(gate.store.limits, "reserve", is_away)
    refused = gate.ask(QUESTION)
    assert (refused.status, refused.headers["retry-after"]) == (429, "5")
    assert "x-should-retry" not in refused.headers
    assert "the store does not answer" in refused.json["error"]["message"]
    assert list(a.journal()) == []
    assert gate.ask(QUESTION, headers={"x-api-key": "annas-key"}).status == 200


def test_without_a_known_price_a_hard_limit_on_money_refuses_in_words(gating: Gating, a: Simulator) -> None:
    gate = gating(other(a, name="mine"))
    limit(gate, "principal:local", "5usd/1h", hard=True)
    answer = gate.ask(QUESTION)
    assert answer.status == 403
    assert "the price of claude-opus-4-5 at mine is not known" in answer.json["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert list(a.journal()) == []


@pytest.mark.parametrize("field", [{"speed": "fast"}, {"fallbacks": [{"model": "claude-opus-4-5"}]}])
def test_what_may_cost_more_than_the_list_price_is_refused_by_a_hard_limit_on_money_alone(
    gate: Gate, a: Simulator, field: dict[str, Any]
) -> None:
    (name,) = field
    limit(gate, "principal:local", "5000000tokens/1h", hard=True)
    limit(gate, "principal:anna", "5usd/1h", hard=True)
    refused = gate.ask({**QUESTION, **field}, headers={"x-api-key": "annas-key"})
    assert refused.status == 403
    assert f"its field `{name}` can make it cost more" in refused.json["error"]["message"]
    assert list(a.journal()) == []
    gate.ask({**QUESTION, **field})
    assert len(a.journal()) == 1, "where only tokens are counted, it goes to the backend"


@pytest.mark.parametrize("streams", [False, True])
def test_answers_of_a_backend_that_counts_nothing_reach_a_limit_too(gating: Gating, streams: bool) -> None:
    body = b"".join(map(encode_event, UNCOUNTED)) if streams else json.dumps(UNCOUNTED_WHOLE).encode()
    with telling(body, kind="text/event-stream" if streams else "application/json") as backend:
        gate = gating(messages_row("local", backend.url))
        limit(gate, "principal:local", "2requests/1h")
        answers = [gate.ask({**QUESTION, "stream": streams}) for _ in range(3)]
        assert [each.status for each in answers] == [200, 200, 429]
        _, tokens, requests = used(gate, "principal:local")
        assert requests == 2
        assert tokens >= 4, "estimates of the question and of the answer"


@pytest.mark.parametrize("streams", [False, True])
def test_a_client_that_leaves_before_its_answer_pays_for_its_question(gating: Gating, streams: bool) -> None:
    long = {**QUESTION, "stream": streams, "messages": [{"role": "user", "content": "lorem ipsum " * 2000}]}
    with telling(b"", math.inf) as backend:
        gate = gating(messages_row("local", backend.url))
        limit(gate, "principal:local", "9000tokens/1h", hard=True)
        connection = http.client.HTTPConnection(urlsplit(gate.url).netloc)
        connection.request("POST", "/v1/messages", json.dumps(long), {"x-api-key": KEY, "content-type": "application/json"})
        until(lambda: backend.asked)
        connection.close()
        assert gate.store is not None
        store = gate.store
        until(lambda: store.exchanges("local"))
        (exchange,) = store.exchanges("local")
        assert exchange.outcome == "cut"
        assert exchange.usage is not None and exchange.usage.estimated and exchange.usage.output == 0
        assert 3000 < used(gate, "principal:local")[1] == exchange.usage.input < 5000
        until(lambda: reservations(gate) == 0)
        assert gate.ask(long).status == 429


def test_a_rate_lets_some_through_at_once_and_names_the_wait(gate: Gate) -> None:
    limit(gate, "principal:local", "6requests/1m")
    statuses = [gate.ask(QUESTION) for _ in range(3)]
    refused = [each for each in statuses if each.status == 429]
    assert refused
    assert 0 < int(refused[0].headers["retry-after"]) <= 10
    assert "x-should-retry" not in refused[0].headers, "a client may try again by itself"


def test_counting_tokens_is_not_limited(gate: Gate) -> None:
    limit(gate, "principal:local", "0requests/1h")
    body = {name: QUESTION[name] for name in ("model", "messages")}
    assert gate.ask(body, path="/v1/messages/count_tokens").status == 200


def note_running(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many had a slot, each time that one was asked for."""
    seen: list[int] = []
    enter = Slots.enter

    def noted(slots: Slots, ticket: SlotTicket, most: int) -> bool:
        entered = enter(slots, ticket, most)
        seen.append(slots.running)
        return entered

    monkeypatch.setattr(Slots, "enter", noted)
    return seen


def test_a_caller_has_as_many_requests_at_once_as_it_may_and_the_others_wait(
    gating: Gating, simulators: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor = simulators()
    gate = gating(claude(vendor, preset="anthropic"))
    limit(gate, "principal:local", "1parallel")
    running = note_running(monkeypatch)
    with ThreadPoolExecutor(4) as threads:
        statuses = [each.status for each in threads.map(lambda _: gate.ask(QUESTION), range(4))]
    assert statuses == [200] * 4
    assert set(running) == {1}
    slots = gate.engine.services.parallel._slots["principal:local"]
    assert (slots.running, slots.waiting) == (0, 0)


def test_a_backend_gets_as_many_requests_at_once_as_it_takes(
    gating: Gating, simulators: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor = simulators()
    gate = gating(claude(vendor, max_parallel=2))
    running = note_running(monkeypatch)
    with ThreadPoolExecutor(6) as threads:
        statuses = [each.status for each in threads.map(lambda _: gate.ask(QUESTION), range(6))]
    assert statuses == [200] * 6
    assert set(running) <= {1, 2}
    slots = gate.engine.services.parallel._slots["backend:claude"]
    assert (slots.running, slots.waiting) == (0, 0)
