"""Requests with n and 4n of each thing, through all that reads, judges or writes them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from clew.dialects.anthropic.requests import around_messages, messages_after_last_answer, parse
from clew.dialects.openai_chat.request.requests import encode as encode_chat
from clew.dialects.openai_chat.wire import Wire
from clew.errors import ClewError
from clew.model.target import Target
from clew.pipeline.options import CacheRules, Options
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.pipeline.token_estimate import estimate
from clew.simulator.judge.judging import static_violations
from clew.thinking.compliance import check
from clew.thinking.history import answers_of
from clew.wire.body import decode_json
from clew.wire.splice import duplicate_keys
from tests.build import GLM, OPUS, target
from tests.growth.requests import REQUESTS
from tests.growth.work import check_growth

N = 32

pytestmark = pytest.mark.slow


def _projected(raw: bytes, target: Target) -> None:
    with suppress(ClewError):
        projection = project(raw, target, Facts(options=Options(cache=CacheRules(), preserve_thinking=True)))
        estimate(projection.request)
        assert projection.body


def _translated(raw: bytes) -> None:
    with suppress(ClewError):
        projection = project(raw, target(GLM, dialect="openai-chat"))
        encode_chat(projection.request, Wire())


def _kept(raw: bytes) -> None:
    """What the store is given of a request."""
    with suppress(ClewError):
        request = parse(raw)
        messages_after_last_answer(request)
        answers_of(request.messages)
        around_messages(raw)


READERS: dict[str, Callable[[bytes], object]] = {
    "Claude": partial(_projected, target=target(OPUS)),
    "another realm": partial(_projected, target=target(GLM)),
    "another dialect": _translated,
    "store": _kept,
    "check": lambda raw: check(raw, thorough=True),
    "strict reader": lambda raw: (decode_json(raw), duplicate_keys(raw)),
    "simulator": lambda raw: static_violations(raw, {}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("repeated", REQUESTS)
def test_a_request_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(REQUESTS[repeated], READERS[reader], N)
