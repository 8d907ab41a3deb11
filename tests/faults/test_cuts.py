"""Answers that break off: at any byte, in any way, a client is never shown an end that was none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clew.backends.row import Backend
from clew.dialects.shape import AnswerContext
from clew.errors import BackendBroken, BackendError
from clew.exchange.backend_dialect import backend_dialect
from clew.exchange.call import Call
from clew.exchange.commands import ExchangeCommand, LetGo, PassOn, Push, Take
from clew.exchange.streamed import AnswerReading, StreamedAnswer
from clew.model.http import ResponseHead
from clew.model.unfold import events_of
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.wire.sse import SseReader
from tests.counts import SOAK, examples
from tests.engine.gate import claude, other
from tests.engine.talk import Direct
from tests.faults.conftest import Gating
from tests.faults.scene import asked, endings, impatient, kept, question, story
from tests.manifest import proves
from tests.model.test_unfold import WHOLE
from tests.numbers import note
from tests.pipeline.stream.wearing import PLAIN, SEALED
from tests.properties.stream_strategies import wire_bytes

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)
HEAD = ResponseHead(200, ((b"content-type", b"text/event-stream"),))
SAID = [WHOLE["content"][place] for place in (0, 3, 5, 12)]
STREAM = wire_bytes(events_of({**WHOLE, "content": SAID}, chunk=3))
"""About 3,000 bytes: thinking, redacted thinking, text with characters of two and four bytes, a tool call."""


class CutAnswer:
    """A world in which a backend's answer ends after so many bytes: whole for anyone who only counts chunks, or broken."""

    def __init__(self, data: bytes, worn: ViewOptions, *, looks_whole: bool) -> None:
        self.data = data
        self.got = b""
        """What went to the client."""
        self.is_whole = False
        self.error: BackendError | None = None
        self._rest = data
        self._looks_whole = looks_whole
        reading = AnswerReading(
            backend="b",
            call=Call(body=b""),
            dialect=backend_dialect(Backend(name="b", url="http://127.0.0.1", realm="b"), "m"),
            view=ClientView(worn),
            context=AnswerContext(model=worn.model),
        )
        self._stream = StreamedAnswer(reading, within=60.0)

    def play(self) -> CutAnswer:
        """Drive the answer to its end."""
        work = self._pass()
        value: object = None
        error: BackendError | None = None
        try:
            while True:
                command = work.send(value) if error is None else work.throw(error)
                value = error = None
                try:
                    value = self._carry_out(command)
                except BackendError as broken:
                    error = broken
        except StopIteration:
            self.is_whole = True
        except BackendError as broken:
            self.error = broken
        self.kept = self._stream.heard(whole=False) if self._stream.begun and len(self.data) % 10 == 0 else None
        return self

    async def _pass(self) -> None:
        first = await self._stream.first(HEAD)
        assert isinstance(first, bytes)
        await Push(first)
        await self._stream.pass_on()

    def _carry_out(self, command: ExchangeCommand[Any]) -> object:
        match command:
            case Take():
                return self._take()
            case PassOn():
                return None if command.answer.ended else self._take()
            case Push():
                self.got += command.data
            case _:
                assert isinstance(command, LetGo)
        return None

    def _take(self) -> bytes:
        data, self._rest = self._rest, b""
        if not data and not self._looks_whole:
            raise BackendBroken("b: the connection was closed inside the body of the answer")
        return data

    def end(self) -> bytes:
        return self.got + self._stream.end


def events_in(raw: bytes) -> list[Any]:
    """Strictly: what is no JSON or no UTF-8 fails here, and so does an event without its end."""
    assert raw == b"" or raw.endswith(b"\n\n")
    reader = SseReader()
    return [json.loads(event.data.decode()) for event in reader.feed(raw)]


@proves("fault:U11")
@pytest.mark.parametrize("worn", [PLAIN, SEALED], ids=["plain", "sealed"])
@pytest.mark.parametrize("looks_whole", [True, False], ids=["ended", "broken"])
def test_at_every_byte_a_cut_is_a_failure(worn: ViewOptions, looks_whole: bool) -> None:
    """U11, 3.1: whole events alone, no end and no stop reason; nothing is settled that was not whole."""

    def played(places: list[int]) -> list[CutAnswer]:
        return [CutAnswer(STREAM[:place], worn, looks_whole=looks_whole).play() for place in places]

    last = len(STREAM) - 1 if looks_whole else len(STREAM)  # a whole line is no guess, though its empty line is missing
    step = 1 if SOAK or worn is PLAIN else 7
    *cuts, whole = played([*range(0, last, step), len(STREAM)])
    assert [told for told in cuts if told.error is None or told.is_whole] == []
    assert {told.kept.whole for told in cuts if told.kept} == {False}
    for got in {told.got for told in cuts}:
        assert [event for event in events_in(got) if event["type"] in ("message_delta", "message_stop")] == []
    assert (whole.is_whole, events_in(whole.end())[-1]) == (True, {"type": "message_stop"})
    assert len(STREAM) > 2800
    note("bytes at which a stream was cut in process", len(cuts))


@pytest.fixture
def size(simulators: StartSimulator) -> int:
    """Bytes in the answer to the question."""
    whole = simulators(realm="a")
    return len(asking(whole))


def asking(simulator: Simulator) -> bytes:
    """The question, put to a backend without any gateway."""
    return Direct(simulator).ask(question()).raw


def offsets(size: int) -> Iterator[int]:
    step = max(1, size // examples(12, soak=size))
    return iter(range(1, size, step))


@proves("fault:U11")
@pytest.mark.parametrize("how", ["fin", "rst", "end"])
@pytest.mark.parametrize("backend", [claude, other])
def test_a_cut_reaches_client_and_store_as_one_story(
    gating: Gating, a: Simulator, size: int, how: str, backend: Any
) -> None:
    """U11 through the sockets: a status where nothing was said yet, else an error event; and never a whole turn."""
    gate = gating(backend(a, "claude"), **impatient(retry=ONCE))
    places = list(offsets(size - 1))
    for place in places:
        a.fault(f"cut at={place} how={how}")
    answers = [gate.ask(question()) for _ in places]
    assert [place for place, answer in zip(places, answers, strict=True) if story(answer) != "error"] == []
    assert all(events_in(answer.raw) for answer in answers if answer.status == 200)
    assert asked(a) == [len(places)]
    assert {answer.status for answer in answers} == {200, 502}
    told = [{200: "cut", 502: "failed"}[answer.status] for answer in answers]
    assert [exchange.outcome for exchange in kept(gate, len(places))] == told
    assert story(gate.ask(question())) == "whole"


@proves("fault:U12")
@pytest.mark.parametrize("fault", ["cut before=message_stop how={how}", "cut before=message_delta how={how}"])
@pytest.mark.parametrize("how", ["fin", "rst", "end"])
def test_an_answer_without_its_end_event_is_a_failure(gating: Gating, a: Simulator, fault: str, how: str) -> None:
    """U12: however complete it looks. The client has all the words, an error, and no stop reason."""
    gate = gating(claude(a), **impatient())
    a.fault(fault.format(how=how))
    answer = gate.ask(question())
    assert (story(answer), "message_delta" in answer.kinds, "content_block_stop" in answer.kinds) == ("error", False, True)
    assert asked(a) == [1]
    [exchange] = kept(gate)
    assert (exchange.outcome, exchange.usage and exchange.usage.estimated) == ("cut", True)


@proves("fault:U12")
def test_what_came_before_a_cut_is_kept_and_the_talk_goes_on(gating: Gating, a: Simulator) -> None:
    """3.5: whole blocks of an answer that is not whole are recorded as that; asking again works."""
    gate = gating(claude(a), **impatient())
    a.fault("cut before=message_stop how=end")
    gate.ask(question())
    [exchange] = kept(gate)
    recording = gate.store.recordings("local").by_id(exchange.id)
    assert recording is not None
    assert recording.whole is False
    assert story(gate.ask(question())) == "whole"
    assert endings(a) == ["whole", "whole"], "the backend's own view of a body that it ended early"


@proves("fault:U13")
@pytest.mark.parametrize("fault", ["drip 1", "drip 7", "lump", "stall 0.2 after=3"])
@pytest.mark.parametrize("backend", [claude, other])
def test_pieces_of_any_size_are_one_answer(gating: Gating, simulators: StartSimulator, fault: str, backend: Any) -> None:
    """U13: byte for byte what comes at the usual pace, whether it is passed on or dressed."""
    well, odd = simulators(realm="a"), simulators(realm="a")
    odd.fault(fault)
    gate = gating(backend(well, "well"), backend(odd, "odd"), **impatient())
    usual = gate.ask(question()).raw
    gate.use("odd")
    assert without_seal(gate.ask(question()).raw) == without_seal(usual)
    if backend is claude:
        assert usual == asking(simulators(realm="a"))
    assert [exchange.outcome for exchange in kept(gate, 2)] == ["whole", "whole"]


def without_seal(raw: bytes) -> list[Any]:
    """A seal names its exchange, so no two are alike."""
    events = events_in(raw)
    for event in events:
        delta = event.get("delta", {})
        if delta.get("signature", "").startswith("clew1."):
            delta["signature"] = "clew1."
    return events
