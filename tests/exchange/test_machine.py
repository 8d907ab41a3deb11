"""The machine of an exchange, driven by hand: no loop, no socket, no sleep. A test says what each command comes to."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec import structs

from clew.engine.snapshot import Snapshot
from clew.errors import BackendBroken, BackendUnreachable, StoreError
from clew.exchange import commands
from clew.exchange.backend_dialect import refused_with
from clew.exchange.call import Call, OwnTurn
from clew.exchange.commands import ClientGone, ServerEnds
from clew.exchange.states import FOLLOWS, ExchangeState
from clew.model.events import StreamFailed
from clew.model.http import ResponseHead
from clew.pipeline.attempts import CoolDowns
from tests.build import assistant, text, thinking, user
from tests.engine.questions import EVENTS, OPUS, question, snapshot, sse
from tests.exchange.world import BODY, BUSY, FACTS, HEAD, WAITS, World, at

RETRIED = [ExchangeState.BEGUN, ExchangeState.ASKING] * 2
WHOLE = [ExchangeState.PASSING, ExchangeState.WHOLE, ExchangeState.OVER]
END = b'data: {"type":"message_stop"}\n\n'


def test_an_answer_is_whole_kept_and_then_ended() -> None:
    """Law 8: what carries the stop reason goes out after the store has the turn, and once."""
    world = World().play()
    assert world.states == [ExchangeState.BEGUN, ExchangeState.ASKING, *WHOLE]
    assert (world.kept, [each.exchange.outcome for each in world.reports]) == (["whole"], ["whole"])
    assert world.said.index("Commit") < world.said.index("ReportExchange") < world.said.index("Finish")
    assert world.got.endswith(END)
    assert world.said.index("LetGo") < world.said.index("Commit")  # another exchange may have the connection meanwhile


def test_a_store_that_cannot_have_the_turn_costs_no_answer() -> None:
    world = World(problem=StoreError("no room", file="x")).play()
    assert world.got.endswith(END)
    assert [str(each.problem) for each in world.reports] == ["no room"]


@pytest.mark.parametrize("error", [ClientGone, ServerEnds])
def test_whatever_it_waits_for_an_exchange_that_must_end_is_told_of_once(error: Callable[[], BaseException]) -> None:
    """At every command that waits: nothing is kept twice, nothing is lost that was whole, and no end is invented."""
    usual = World().play()
    last = usual.said.index("GiveWay") if error is ServerEnds else len(usual.said)  # what is whole is ended by the server
    places = [place for place, name in enumerate(usual.said[:last]) if name in WAITS]
    assert len(places) > 2
    for place in places:
        name = usual.said[place]
        world = World().play(at(place, error))
        assert world.states[-1] is ExchangeState.OVER, name
        outcomes = [each.exchange.outcome for each in world.reports]
        assert (len(outcomes), len(world.kept)) == (1, 1), (name, outcomes, world.kept)
        assert b"message_stop" not in world.got, name
        is_whole = place >= usual.said.index("GiveWay")
        assert outcomes == (["whole"] if is_whole else ["cut"]), name


def test_a_server_that_ends_cuts_every_answer_but_one_that_only_waits_for_the_store() -> None:
    machine = World().exchange
    for state, ends in zip([ExchangeState.ASKING, *WHOLE[:2]], [ServerEnds, ServerEnds, None], strict=True):
        machine.progress.enter(state)
        assert isinstance(machine.interruption(draining=False), ClientGone)
        found = machine.interruption(draining=True)
        assert found is None if ends is None else isinstance(found, ends)


def test_a_try_that_fails_is_followed_by_another_and_only_before_the_first_content() -> None:
    unreachable = BackendUnreachable("127.0.0.1:9: Connection refused")
    world = World(heads=iter([unreachable, HEAD])).play()
    assert (world.states, world.asked) == ([*RETRIED, *WHOLE], ["b", "spare"])
    broken = World().play(at(World().play().said.index("PassOn"), lambda: BackendUnreachable("127.0.0.1:9: gone")))
    assert (broken.said.count("Ask"), len(broken.failures), broken.kept) == (1, 1, ["cut"])
    assert b"message_stop" not in broken.got


def test_an_error_before_the_first_content_is_a_refusal_and_another_backend_is_asked() -> None:
    failed = sse({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    world = World(heads=iter([HEAD, HEAD]), body=sse(EVENTS[0]) + failed)

    def answer_next(_: int) -> None:
        if world.asked == ["b", "spare"] and not world.got:
            world.rest = BODY

    world.play(answer_next)
    assert (world.asked, world.states) == (["b", "spare"], [*RETRIED, *WHOLE])
    assert b"overloaded" not in world.got


def test_the_wait_that_a_backend_asks_for_is_slept_and_the_same_one_is_asked_again() -> None:
    """On a clock of its own: half a minute passes at once."""
    limited = ResponseHead(429, ((b"retry-after", b"20"),))
    world = World(heads=iter([limited, HEAD]), snapshot=_patient()).play()
    assert (world.slept, world.asked) == ([20.0], ["b", "b"])
    [report] = world.reports
    assert report.exchange.ended - report.exchange.started == 20.0
    assert [each.status for each in report.exchange.tries] == [429, 200]


def test_without_such_a_word_the_wait_is_a_part_of_one_that_doubles() -> None:
    world = World(heads=iter([BUSY, BUSY, HEAD]), snapshot=_patient()).play()
    assert world.slept == [0.25, 0.5]  # half of 0.5 and of 1 s: the world's chance is a half each time


def _patient() -> Snapshot:
    """Settings with two retries and one backend."""
    found = snapshot()
    settings = structs.replace(found.settings, failover=(), retry=type(found.settings.retry)(retries=2))
    return structs.replace(found, settings=settings, exchange=structs.replace(found.exchange, retry=settings.retry))


def test_a_backend_that_failed_for_good_is_left_alone_from_then_on() -> None:
    world = World(heads=iter([BUSY, BUSY])).play()
    [cool] = [each for each in world.learnt if isinstance(each, commands.CoolDown)]
    assert {backend for backend, _ in cool.cooled.until} == {"b", "spare"}
    assert all(moment == world.now + 10.0 for moment in cool.cooled.until.values())
    assert ([each.status for each in world.failures], world.kept) == ([529], ["refused"])


def test_a_backend_that_cools_down_is_not_asked_first() -> None:
    route = World().exchange.notes.route.candidate
    facts = structs.replace(FACTS, cool_downs=CoolDowns({(route.backend, route.key): 60.0}))
    world = World(facts=facts).play()
    assert world.asked == ["spare"]


def test_times_are_those_that_the_driver_sets() -> None:
    world = World(seconds=0.5).play()
    [report] = world.reports
    exchange = report.exchange
    until = world.said.index("Commit")
    assert exchange.started == 1_000_005.0
    assert 1_000_005.0 + 0.5 * (until - 3) <= exchange.ended <= 1_000_005.0 + 0.5 * until
    assert exchange.first_byte is not None
    assert exchange.first_byte <= 0.5 * world.said.index("Push")


def test_a_request_that_is_refused_for_its_thinking_is_repaired_and_sent_again() -> None:
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"
    refused = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).encode()
    said = [user("hi"), assistant(thinking("Hm.", signature="c2ln"), text("yes")), user("go on")]
    body = json.dumps({"model": OPUS, "messages": said, "max_tokens": 9, "stream": True}).encode()
    world = World(heads=iter([ResponseHead(400, ()), HEAD]), words=refused, call=Call(body=body)).play()
    [report] = world.reports
    assert (world.asked, report.exchange.heals, report.exchange.outcome) == (["b", "b"], 1, "whole")
    assert [change.step for change in report.exchange.changes] == ["heal"]
    assert world.got.endswith(END)


def test_an_answer_that_breaks_off_has_no_end_and_is_kept_as_cut() -> None:
    world = World(body=b"".join(map(sse, EVENTS[:7]))).play()
    assert (world.kept, [type(each) for each in world.failures]) == (["cut"], [BackendBroken])
    assert b"message_stop" not in world.got


def test_a_caller_that_keeps_its_own_conversation_hears_who_answers_before_the_first_content() -> None:
    entry = OwnTurn(id="x1", thread="t", asked=())
    world = World(call=Call(body=question("hi", stream=True), entry=entry)).play()
    assert world.said.index("ReportAnswering") < world.said.index("Push")
    [told] = [each for each in world.learnt if isinstance(each, commands.ReportAnswering)]
    assert (told.backend, told.model) == ("b", OPUS)


def test_bodies_and_decisions_are_commands_where_they_are_logged() -> None:
    world = World(facts=structs.replace(FACTS, logs_bodies=True, logs_decisions=True)).play()
    assert [each.which for each in world.learnt if isinstance(each, commands.LogBody)] == ["sent", "answered"]
    assert "LogDecisions" in world.said
    assert not {"LogBody", "LogDecisions"} & set(World().play().said)


def test_secrets_are_not_kept_in_what_a_backend_said() -> None:
    error = BackendUnreachable("127.0.0.1:9: a-known-secret was refused")
    world = World(heads=iter([error, error])).play()
    [report] = world.reports
    assert all("a-known-secret" not in each.why and "[redacted]" in each.why for each in report.exchange.tries)


def test_every_state_leads_to_the_end() -> None:
    assert all(ExchangeState.OVER in after for state, after in FOLLOWS.items() if state is not ExchangeState.OVER)
    assert set(FOLLOWS) == set(ExchangeState)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("rate_limit_error", 429),
        ("overloaded_error", 529),
        ("conflict_error", 409),
        ("api_error", 500),
        ("new", 500),
        (7, 500),
    ],
)
def test_an_error_has_the_status_of_its_type(kind: str | int, status: int) -> None:
    """The vendor's table of errors, read backwards."""
    refused = refused_with(StreamFailed({"type": kind, "message": "no"}))

    assert (refused.status, refused.headers) == (status, ())
