"""The driver: carries out what an exchange asks for, on sockets, pool, store and clock.

It sends the result of each command back into the exchange and goes on until a command has to wait; then it returns, and goes
on from whatever ends the wait: a read of the backend's connection, a write of the store, a timer, a thread. So nearly every
request is answered from inside the reads that bring its bytes, without a task. What ends a wait only says that there may be
news (`news`); whether the wait is over, the command itself looks (`_poll`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, ClassVar

from clew.engine import commands
from clew.engine.aside import LARGE, look_up, threads_for
from clew.engine.backend_call import BackendCall
from clew.engine.call import Call
from clew.engine.client_stream import ClientStream
from clew.engine.commands import EngineCommand
from clew.engine.exchange import ExchangeMachine
from clew.engine.failures import refuse, tell_in_stream
from clew.engine.open_turns import OpenTurns, ignore_result
from clew.engine.received_request import ReceivedRequest
from clew.engine.services import EngineServices
from clew.engine.states import ExchangeState
from clew.engine.token_learning import learn
from clew.engine.unasked import record_unasked
from clew.engine.waiting import WAITING, Alarm, Poll
from clew.errors import SettingsInvalid
from clew.http.responder import Responder
from clew.store.commits import call_when_over, commit_problem


class Driver:
    """Drives one exchange to its end. Holds the client's responder meanwhile."""

    _poll: Poll | None = None
    """Looks whether the command that waits is done."""
    _alarm: Alarm | None = None
    _work: Coroutine[EngineCommand[Any], Any, None]
    _is_running = False
    _over: asyncio.Future[None] | None = None
    """For the task that stands for the exchange once it was told to end."""

    def __init__(self, services: EngineServices, call: Call, client: Responder) -> None:
        self._services = services
        self._call = call
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._exchange = exchange = ExchangeMachine(services, call)
        self._backend = BackendCall(services.pool, self.news)
        self._open_turns = OpenTurns(services, exchange) if services.store is not None else None
        self._stream: ClientStream | None = None

    def begin(self) -> Awaitable[None] | None:
        """None if it is under way; else what is left to be awaited. Raises ClewError if the request cannot be read."""
        if not self._exchange.begins_at_once():
            return self._begin_in_thread()
        self._exchange.prepare()
        return self._answer_call()

    async def _begin_in_thread(self) -> None:
        """What takes a while is done in a thread, all in one go."""
        exchange = self._exchange
        try:
            await look_up(len(self._call.body), exchange.prepare, exchange.drop)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and exchange.is_read:
                await self._finish_with(exchange.leave("cut"))
            self._backend.news = lambda: None  # as in `_close`
            raise
        work = self._answer_call()
        if work is not None:
            await work

    def _answer_call(self) -> Awaitable[None] | None:
        received = self._exchange.unasked
        if received is not None and received.failure is not None:
            return self._turn_away(received, received.failure)
        self._client.hold(self)
        if self._exchange.notes.received.streams:
            seconds = self._exchange.notes.received.snapshot.settings.gateway.ping_seconds
            keep_alive = self._call.front.keep_alive
            self._stream = ClientStream(self._client, self._exchange.answering, seconds, keep_alive)
            self._stream.watch_silence()
        self._work = self._exchange.run()
        self._resume()
        return None

    async def _turn_away(self, received: ReceivedRequest, failure: SettingsInvalid) -> None:
        """No backend can be asked: that is kept, and the caller tells the client."""
        services = self._services
        at, has_store = services.wall(), services.store is not None
        await self._finish_with(record_unasked(self._exchange.id, received, failure, at, has_store=has_store))
        raise failure

    async def _finish_with(self, work: Coroutine[EngineCommand[Any], Any, None]) -> None:
        """Drive this to its end, for a task that waits for it."""
        self._over = self._loop.create_future()
        self._work = work
        self._resume()
        await self._over

    # What ends a wait.

    def news(self) -> None:
        """Something happened that the waiting command may have waited for."""
        if self._is_running or self._poll is None:
            return  # the caller that runs the exchange looks by itself
        try:
            value = self._poll()
        except Exception as error:
            self._resume(error=error)
        else:
            if value is not WAITING:
                self._resume(value)

    def cancel(self) -> None:
        """The client is gone, or the server ends: the backend stops at once. An answer that is whole and waits for the store
        has an end very soon, and a client that is there hears that instead."""
        self._over = self._loop.create_future()
        self._client.hand_over(self._until_over(self._over))
        if self._client.draining and self._exchange.state is ExchangeState.WHOLE:
            return
        self._exchange.drop()
        self._let_go()
        self._resume(error=commands.ServerEnds() if self._client.draining else commands.ClientGone())

    async def _until_over(self, over: asyncio.Future[None]) -> None:
        await over
        if not self._client.ended:  # nobody is there to be told an end
            self._client.abort()

    # Going on.

    def _resume(self, value: object = None, error: Exception | None = None) -> None:
        self._poll = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._is_running = True
        try:
            with self._client.in_one_piece():
                is_over = self._run(value, error)
            if is_over:
                self._end()
        except Exception as failure:
            self._fail(failure)
        finally:
            self._is_running = False

    def _run(self, value: object, error: Exception | None) -> bool:
        """Until a command has to wait. True when all is over."""
        work = self._work
        while value is not WAITING:
            try:
                command = work.send(value) if error is None else work.throw(error)
            except StopIteration:
                return True
            try:
                value, error = self._actions[type(command)](self, command), None
            except Exception as raised:
                value, error = None, raised
        return False

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
        self._let_go()
        self._backend.news = lambda: None  # a cycle would keep a body of megabytes until the garbage collector runs
        self._stop_open_turns()
        if self._stream is not None:
            self._stream.close()
            self._stream = None  # it knows us: nobody should wait for the garbage collector
        del self._work

    def _wait_for(self, poll: Poll) -> object:
        """The value, if it is there already."""
        value = poll()
        if value is WAITING:
            self._poll = poll
        return value

    def _ring(self, seconds: float) -> Alarm:
        self._alarm = Alarm(self._loop, seconds, self.news)
        return self._alarm

    # Commands: work and time.

    def _compute(self, command: commands.Compute[Any]) -> object:
        if command.size <= LARGE:
            return command.work()
        done = self._loop.run_in_executor(threads_for(command.size), command.work)
        done.add_done_callback(lambda _: self.news())
        return self._wait_for(lambda: done.result() if done.done() else WAITING)

    def _pause(self, command: commands.GiveWay) -> object:
        return self._wait_for(self._ring(0).poll)

    def _wait(self, command: commands.Sleep) -> object:
        return self._wait_for(self._ring(command.seconds).poll) if command.seconds > 0 else None

    # Commands: the backend.

    def _ask(self, command: commands.Ask) -> object:
        timeouts = self._exchange.notes.received.patience_with(command.route)
        return self._wait_for(self._backend.ask(self._call, command, timeouts))

    def _peek(self, command: commands.Peek) -> object:
        return self._wait_in_time(self._backend.peek(command.most), command.within)

    def _take(self, command: commands.Take) -> object:
        return self._wait_in_time(self._backend.take, command.within)

    def _wait_in_time(self, poll: Poll, within: float | None) -> object:
        """The value, if it is there already; else it may come so many seconds after the head, and no later."""
        value = self._wait_for(poll)
        if value is WAITING and within is not None:
            self._ring(max(0.0, self._backend.head_at + within - self._loop.time()))
            self._poll = partial(self._backend.in_time, poll, within)
        return value

    def _read_body(self, command: commands.ReadBody) -> object:
        return self._wait_for(self._backend.read_body(command.most))

    def _expect(self, command: commands.Expect) -> None:
        stream, turns = self._stream, self._open_turns
        if stream is not None and turns is not None:
            command.stream.refer_to(lambda: stream.secure(partial(turns.secure, command.stream)))

    def _pass_on(self, command: commands.PassOn) -> object:
        assert self._stream is not None
        stream = self._exchange.answering.stream
        if self._open_turns is not None and stream is not None:
            self._open_turns.watch(stream)
        return self._wait_for(self._backend.pass_on(command.answer, self._stream, hides=command.hides))

    def _let_go(self, command: commands.LetGo | None = None) -> None:
        if self._stream is not None:
            self._stream.leave_source()
        self._backend.let_go()

    # Commands: the client.

    def _push(self, command: commands.Push) -> None:
        assert self._stream is not None
        self._stream.push(command.data)

    def _finish(self, command: commands.Finish) -> None:
        assert self._stream is not None
        self._stream.finish(command.data)

    def _answer(self, command: commands.SendWhole) -> None:
        self._client.send(200, command.headers, command.body)

    def _refuse(self, command: commands.Refuse) -> None:
        if self._call.entry is not None:
            self._call.entry.failed(command.failure)
        if self._client.ended:
            return
        if not self._client.started:
            headers = self._exchange.answering.headers()
            refuse(self._client, command.failure, headers, self._exchange.id, self._call.front)
            return
        if self._stream is not None:
            self._stream.let_go()
        tell_in_stream(self._client, command.failure, self._call.front)

    # Commands: the store, and who else hears of it.

    def _commit(self, command: commands.Commit) -> object:
        assert self._services.store is not None
        self._stop_open_turns()
        seconds, alarm = self._services.commit_seconds, Alarm.silent(self.news)
        write = self._services.store.record(command.turn)
        call_when_over(write, seconds, alarm.ring)
        return self._wait_for(lambda: commit_problem(write, seconds) if alarm.has_rung else WAITING)

    def _keep(self, command: commands.Keep) -> None:
        assert self._services.store is not None
        self._stop_open_turns()
        self._services.store.record(command.turn).add_done_callback(ignore_result)

    def _stop_open_turns(self) -> None:
        if self._open_turns is not None:
            self._open_turns.stop()

    def _report(self, command: commands.ReportExchange) -> None:
        if command.problem is not None:
            self._services.unrecorded(self._exchange.id, command.problem)
        if command.was_kept:
            self._services.touch(self._call.principal, self._exchange.notes.received.request.messages)
        if self._call.entry is not None:
            self._call.entry.told(command.exchange, command.recording)
        self._services.tell(command.exchange, command.recording)

    def _cool_down(self, command: commands.CoolDown) -> None:
        self._services.learn(command.cooled, self._services.clock())

    def _learn_tokens(self, command: commands.LearnTokens) -> None:
        learn(self._services.token_counts, command.route, command.size, command.usage, lambda: command.going)

    _actions: ClassVar[Mapping[type, Callable[..., object]]] = {
        commands.Compute: _compute,
        commands.GiveWay: _pause,
        commands.Sleep: _wait,
        commands.Ask: _ask,
        commands.Peek: _peek,
        commands.Take: _take,
        commands.ReadBody: _read_body,
        commands.Expect: _expect,
        commands.PassOn: _pass_on,
        commands.LetGo: _let_go,
        commands.Push: _push,
        commands.Finish: _finish,
        commands.SendWhole: _answer,
        commands.Refuse: _refuse,
        commands.Commit: _commit,
        commands.Keep: _keep,
        commands.ReportExchange: _report,
        commands.CoolDown: _cool_down,
        commands.LearnTokens: _learn_tokens,
    }
    """How each command is carried out."""
