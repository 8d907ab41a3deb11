"""Functions of either kind: a coroutine runs on the loop, a plain function in a thread that nobody has to wait for.

The loop's own executor is joined when the loop ends, and a tool that hangs would hold that up for good. These threads are
daemons: whoever stops waiting leaves them behind.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn, ParamSpec, TypeVar, cast

__all__ = ["called"]

P = ParamSpec("P")
T = TypeVar("T")


async def called(function: Callable[P, T | Awaitable[T]], *args: P.args, **given: P.kwargs) -> T:
    """What the function gives, awaited if it has to be. Raises what it raises."""
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        value = function(*args, **given)
    else:
        value = await _in_thread(partial(function, *args, **given))
    return await cast(Awaitable[T], value) if inspect.isawaitable(value) else cast(T, value)


async def _in_thread(function: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], T]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        outcome = _outcome(partial(context.run, function))
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(lambda: done.done() or done.set_result(outcome))

    threading.Thread(target=work, name="clew-tool", daemon=True).start()
    return (await done)()


def _outcome(function: Callable[[], T]) -> Callable[[], T]:
    """What it gave or raised, to be had in another thread."""
    try:
        value = function()
    except StopIteration as error:  # no future can hold it
        return partial(_raise, RuntimeError(f"StopIteration: {error}"))
    except Exception as error:
        return partial(_raise, error)
    except BaseException as error:  # SystemExit would end the loop of whoever waits
        return partial(_raise, RuntimeError(f"{type(error).__name__}: {error}"))
    return lambda: value


def _raise(error: Exception) -> NoReturn:
    raise error
