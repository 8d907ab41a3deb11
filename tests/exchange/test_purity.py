"""Nothing that an exchange holds can read a clock, draw a number, log, wait, or reach a socket or a store."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import pytest
from msgspec import structs

from clew.engine.services import EngineServices
from clew.exchange.machine import ExchangeMachine
from clew.model.http import ResponseHead
from clew.store.sqlite.store import SqliteStore
from clew.upstream.pool import Pool
from tests.exchange.world import BUSY, FACTS, HEAD, World

DOES_IO = (
    *(asyncio.AbstractEventLoop, asyncio.Future, io.IOBase, logging.Logger, socket.socket, threading.Thread),
    *(type(threading.Lock()), type(threading.RLock()), EngineServices, Pool, SqliteStore),
)
FUNCTIONS = {time.time, time.monotonic, time.perf_counter, random.random, os.urandom, time.sleep}


def reachable(root: object) -> Iterator[object]:
    """Every object that this one holds, and what those hold: also what a method, a closure or a default holds, but not what
    belongs to a whole class or module."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen[id(each)] = each
        yield each
        if isinstance(each, FunctionType):
            waiting += [*(each.__closure__ or ()), *(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
        elif isinstance(each, MethodType):
            waiting += [each.__self__, each.__func__]
        else:
            waiting += gc.get_referents(each)


def offences(machine: ExchangeMachine) -> list[object]:
    """What does I/O when it is asked."""
    return [
        each
        for each in reachable(machine)
        if isinstance(each, DOES_IO) or (isinstance(each, BuiltinFunctionType) and each in FUNCTIONS)
    ]


@pytest.mark.parametrize("heads", [[HEAD], [BUSY, HEAD], [ResponseHead(400, ())]], ids=["whole", "retried", "refused"])
def test_an_exchange_is_given_no_object_that_does_io(heads: list[ResponseHead]) -> None:
    facts = structs.replace(FACTS, logs_bodies=True, logs_decisions=True)
    world = World(heads=iter(heads), facts=facts)
    assert offences(world.exchange) == []
    world.play()
    assert offences(world.exchange) == []
    assert sum(1 for _ in reachable(world.exchange)) > 200


@pytest.mark.parametrize("held", [time.time, threading.Lock(), logging.getLogger("x"), [lambda now=time.monotonic: now]])
def test_such_an_object_is_found(held: object) -> None:
    world = World()
    setattr(world.exchange.notes.received.call, "headers", {"x": held})  # noqa: B010  # a type would not allow it
    assert len(offences(world.exchange)) >= 1
