"""The driver: carries out what an exchange asks for, on sockets, pool, store and clock.

It sends the result of each command back into the exchange and goes on until a command has to wait; then it returns. What
ends the wait (a read of a connection, a write of the store, a timer, a thread) only says that there may be news, and goes on
from there. So nearly every request is answered from inside the reads that bring its bytes, without a task. The bytes of a
stream pass without commands, one call for each read (`backend_call`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, ClassVar

from clew.engine.aside import threads_for
from clew.engine.backend_call import WAITING, BackendCall, Poll
from clew.engine.call_limits import CallLimits
from clew.engine.client_stream import ClientStream
from clew.engine.open_turns import OpenTurns, ignore_result
from clew.engine.preparing import Preparation
from clew.engine.process_commands import PROCESS_ACTIONS, ProcessCommands, TurnObserver
from clew.engine.services import EngineServices
from clew.errors import KeyForbidden, SettingsInvalid
from clew.exchange import commands
from clew.exchange.answering import record_unasked
from clew.exchange.call import Call
from clew.exchange.commands import ExchangeCommand
from clew.exchange.failures import refusal_reply, told_failure
from clew.exchange.inputs import ReceivedRequest
from clew.exchange.machine import ExchangeMachine
from clew.exchange.states import ExchangeState, Progress
from clew.http.responder import Responder
from clew.store.commits import call_when_done, commit_result


def _nothing() -> None:
    """What a command has come to that only lets others have a turn."""


class Driver(ProcessCommands, BackendCall):
    """Drives one exchange to its end, inside callbacks of the loop. Holds the client's responder meanwhile."""

    _work: Coroutine[ExchangeCommand[Any], Any, None]
    _timer: asyncio.Handle | None = None
    _is_running = False
    _limits: CallLimits | None = None
    _exchange: ExchangeMachine
    _progress: Progress
    """Of what is driven: it is told what time it is."""
    _over: asyncio.Future[None] | None = None
    """For the task that stands for the exchange once it was told to end."""
    _open_turns: OpenTurns | None = None
    _stream: ClientStream | None = None

    def __init__(
        self, services: EngineServices, call: Call, client: Responder, observer: TurnObserver | None = None
    ) -> None:
        ProcessCommands.__init__(self, services, call, call.entry.id if call.entry else services.new_id(), observer)
        BackendCall.__init__(self, services.pool)
        self._loop = asyncio.get_running_loop()
        self._client = client
        self.preparation = Preparation(services, call, self._id)
        if services.log is not None and services.log.shows_bodies:
            services.log.body(self._id, "asked", call.body)

    def begin(self) -> Awaitable[None] | None:
        """Begin with what was prepared. None if it is under way; else what is left to be awaited."""
        exchange, unasked = self.preparation.exchange, self.preparation.unasked
        if unasked is not None and unasked.failure is not None:
            return self._turn_away(unasked, unasked.failure)
        assert exchange is not None, "it is prepared before it begins"
        self._client.hold(self)
        self._exchange, self._progress, received = exchange, exchange.progress, exchange.notes.received
        self.trace = exchange.answering.trace
        if self._services.store is not None:
            self._open_turns = OpenTurns(self._services, exchange)
        if received.streams:
            options = received.options
            self._stream = ClientStream(self._client, exchange.answering, options.ping_seconds, is_eager=options.eager)
            self._stream.watch_silence()
        self._work, self._poll = exchange.run(), _nothing
        self.news()
        return None

    async def _turn_away(self, received: ReceivedRequest, failure: SettingsInvalid | KeyForbidden) -> None:
        """No backend can be asked: that is kept, and the caller tells the client."""
        services = self._services
        has_store, self._progress = services.store is not None, Progress(services.clock(), services.wall())
        await self._finish_with(record_unasked(self._id, received, failure, services.wall(), has_store=has_store))
        raise failure

    async def _finish_with(self, work: Coroutine[ExchangeCommand[Any], Any, None]) -> None:
        """Drive this to its end, for a task that waits for it."""
        self._over = self._loop.create_future()
        self._work, self._poll = work, _nothing
        self.news()
        await self._over

    async def leave(self) -> None:
        """The client is gone before the exchange began: keep what was prepared, if it was, as cut off."""
        if self.preparation.exchange is not None:
            self._exchange = self.preparation.exchange
            self._progress = self._exchange.progress
            await self._finish_with(self._exchange.leave("cut"))

    def cancel(self) -> None:
        """The client is gone, or the server ends: the backend stops, and so does work for an answer that has not begun."""
        self._over = self._loop.create_future()
        self._client.hand_over(self._until_over(self._over))
        error = self._exchange.interruption(draining=self._client.draining)
        if error is None:
            return
        if self._exchange.state in (ExchangeState.BEGUN, ExchangeState.ASKING):
            self.preparation.wanted.drop()
        self.let_go()
        self._resume(error=error)

    async def _until_over(self, over: asyncio.Future[None]) -> None:
        await over
        if not self._client.ended:  # nobody is there to be told an end
            self._client.abort()

    def news(self) -> None:
        """Something happened that the waiting command may have waited for: go on until a command has to wait."""
        if self._is_running or self._poll is None:
            return  # the caller that runs the commands looks by itself
        work, actions = self._work, self._actions
        step: Callable[[Any], ExchangeCommand[Any]] = work.send
        given: Any = None
        try:
            given = self._poll()
        except Exception as error:
            step, given = work.throw, error
        if given is WAITING:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._poll, self._timer, self._is_running = None, None, True
        self._progress.now, self._progress.wall = self._services.clock(), self._services.wall()
        try:
            with self._client.in_one_piece():
                while given is not WAITING:
                    try:
                        command = step(given)
                    except StopIteration:
                        break
                    action, step = actions[type(command)], work.send
                    try:
                        given = action(self, command)
                    except Exception as raised:
                        step, given = work.throw, raised
            if given is not WAITING:
                self._end()
        except Exception as failure:
            self._fail(failure)
        finally:
            self._is_running = False

    def _resume(self, value: object = None, error: Exception | None = None) -> None:
        """Go on, whatever the waiting command waited for."""

        def poll() -> object:
            if error is not None:
                raise error
            return value

        self._poll = poll
        self.news()

    def _end(self) -> None:
        self._close()
        if self._over is not None:
            self._over.set_result(None)
        else:
            self._client.release()

    def _fail(self, failure: Exception) -> None:
        """A fault of clew's own: the server that called logs it and tells the client."""

        async def fail() -> None:
            raise failure

        self._close()
        if self._over is not None:
            self._over.set_exception(failure)
        else:
            self._client.hand_over(fail())

    def _close(self) -> None:
        self._limits = self._limits and self._limits.close()  # it knows us
        self.end_call()
        if self._open_turns is not None:
            self._open_turns.stop()
        if self._stream is not None:
            self._stream.close()
            self._stream = None  # it knows us: nobody should wait for the garbage collector
        del self._work

    # Commands: work and time.

    def compute(self, command: commands.Compute[Any]) -> object:
        done = self._loop.run_in_executor(threads_for(command.size), command.work)
        done.add_done_callback(lambda _: self.news())
        return self._wait_for(lambda: done.result() if done.done() else WAITING)

    def give_way(self, command: commands.GiveWay) -> object:
        self._poll, self._timer = _nothing, self._loop.call_soon(self.news)
        return WAITING

    def sleep(self, command: commands.Sleep) -> object:
        if command.seconds <= 0:
            return None
        self._timer = self._loop.call_later(command.seconds, self._resume)
        return WAITING

    def wait_for_limits(self, command: commands.Reserve | commands.TakeSlot) -> object:
        self._limits = self._limits or CallLimits(self._services, self._call, self._id, self.news)
        return self._wait_for(self._limits.carry_out(command))

    # Commands: the backend.

    def take(self, command: commands.Take) -> object:
        """What is there already; else it may come so many seconds after the head, and no later."""
        poll, within = self._taken, command.within
        value = self._wait_for(poll)
        if value is WAITING and within is not None:
            self._timer = self._loop.call_at(self.head_at + within, self._time_out, poll, within)
        return value

    def _time_out(self, poll: Poll, within: float) -> None:
        """The time is up. The clock is not asked: a timer may run a moment early, and no other would follow."""
        self.news()  # what came in the same turn of the loop still counts
        if self._poll is poll:
            self._resume(error=self.no_content(within))

    def expect(self, command: commands.Expect) -> None:
        stream, turns = self._stream, self._open_turns
        if stream is not None and turns is not None:
            command.stream.refer_to(stream.secure(partial(turns.secure, command.stream)))

    def pass_on(self, command: commands.PassOn) -> object:
        assert self._stream is not None
        stream = self._exchange.answering.stream
        if self._open_turns is not None and stream is not None:
            self._open_turns.watch(stream)
        after_read = None if self.trace is None else self.log_blocks
        return self._wait_for(self._pour(command.answer, self._stream, hides=command.hides, after_read=after_read))

    def let_go(self, command: commands.LetGo | None = None) -> None:
        if self._stream is not None:
            self._stream.leave_source()
        self.end_call()
        if self._limits is not None:
            self._limits.leave_backend()

    # Commands: the client.

    def push(self, command: commands.Push) -> None:
        assert self._stream is not None
        if self.trace:
            self.log_blocks()
        self._stream.push(command.data, command.headers)

    def finish(self, command: commands.Finish) -> None:
        assert self._stream is not None
        self._stream.finish(command.data)

    def send_whole(self, command: commands.SendWhole) -> None:
        self._client.send(200, command.headers, command.body)

    def refuse(self, command: commands.Refuse) -> None:
        self.report_failure(command.failure)
        if self._client.ended:
            return
        front, answering = self._call.front, self._exchange.answering
        if not self._client.started:
            if self._stream is None or not front.is_told_in_stream(told_failure(command.failure)):
                self._client.send(*refusal_reply(command.failure, answering.headers(), self._id, front))
                return
            self._stream.open(answering.headers())
        if self._stream is not None:
            self._stream.let_go()
        self._client.push(answering.client_writer().write(told_failure(command.failure).event()))
        self._client.end()

    # Commands: the store, what the process knows, and who else hears of it.

    def commit(self, command: commands.Commit) -> object:
        """Waits for the write, or for as long as the end of an answer may wait for it (law 8)."""
        if self._open_turns is not None:
            self._open_turns.stop()
        write, seconds = self._services.record(self._id, command.turn), self._services.commit_seconds
        assert self._services.store is not None
        place = self._services.store.place
        self._poll = lambda: commit_result(write, seconds, place) if write.done() else WAITING
        self._timer = self._loop.call_later(seconds, lambda: self._resume(commit_result(write, seconds, place)))
        call_when_done(write, self._loop, self.news)
        return WAITING

    def keep(self, command: commands.Keep) -> None:
        if self._open_turns is not None:
            self._open_turns.stop()
        self._services.record(self._id, command.turn).add_done_callback(ignore_result)

    def filter_by_session(self, command: commands.FilterBySession) -> object:
        work = commands.Compute(len(self._call.body), partial(super().filter_by_session, command))
        return self.compute(work) if work.is_large else work.work()

    _actions: ClassVar[Mapping[type, Callable[..., object]]] = {
        **PROCESS_ACTIONS,
        commands.Compute: compute,
        commands.GiveWay: give_way,
        commands.Sleep: sleep,
        **dict.fromkeys((commands.Reserve, commands.TakeSlot), wait_for_limits),
        commands.Ask: BackendCall.ask,
        commands.Take: take,
        commands.ReadBody: BackendCall.read_body,
        commands.Expect: expect,
        commands.PassOn: pass_on,
        commands.LetGo: let_go,
        commands.Push: push,
        commands.Finish: finish,
        commands.SendWhole: send_whole,
        commands.Refuse: refuse,
        commands.Commit: commit,
        commands.Keep: keep,
        commands.FilterBySession: filter_by_session,
    }
    """How each command is carried out."""
