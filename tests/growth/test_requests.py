"""Requests with n and 4n of each thing, through all that reads, judges or writes them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.requests import write_request as encode_chat
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.requests import write_request as encode_responses
from clew.errors import ClewError
from clew.model.blocks import made
from clew.model.origin import Target
from clew.pipeline.project import project
from clew.pipeline.step import CacheRules, Facts, Options
from clew.pipeline.thinking.opened import CHANGED
from clew.pipeline.token_estimate import estimate
from clew.simulator.anthropic.judge.judging import static_violations
from clew.thinking.compliance import check
from clew.thinking.history import answers_of
from clew.thinking.seal import Seal, Sealer
from clew.wire.requests import messages_after_last_answer, parse
from clew.wire.splice import duplicate_keys
from clew.wire.strict_json import decode_json
from tests.build import GLM, OPUS, Scribe, assistant, raw, request, target, thinking, user
from tests.growth.requests import REQUESTS
from tests.growth.work import check_growth, each_with
from tests.properties.talks import spaced

N = 32
RESPONSES = ResponsesOptions(thought_text="content", missing="space", cache_marks=4, phases=True)
SEALER = Sealer({"k": b"s" * 32}, "k")

pytestmark = pytest.mark.slow


def _projected(raw: bytes, target: Target) -> None:
    with suppress(ClewError):
        projection = project(raw, target, Facts(options=Options(cache=CacheRules(), preserve_thinking=True)))
        estimate(projection.request)
        assert projection.body


def _translated(raw: bytes) -> None:
    with suppress(ClewError):
        projection = project(raw, target(GLM, dialect="openai-chat"))
        encode_chat(projection.request, ChatOptions())


def _as_items(raw: bytes) -> None:
    with suppress(ClewError):
        projection = project(raw, target(GLM, dialect="openai-responses"))
        encode_responses(projection.request, RESPONSES)


def _kept(raw: bytes) -> None:
    """What the store is given of a request."""
    with suppress(ClewError):
        request = parse(raw)
        messages_after_last_answer(request)
        answers_of(request.messages)


READERS: dict[str, Callable[[bytes], object]] = {
    "Claude": partial(_projected, target=target(OPUS)),
    "another realm": partial(_projected, target=target(GLM)),
    "another dialect": _translated,
    "items": _as_items,
    "store": _kept,
    "check": lambda raw: check(raw, thorough=True),
    "strict reader": lambda raw: (decode_json(raw), duplicate_keys(raw)),
    "simulator": lambda raw: static_violations(raw, {}),
}


@pytest.mark.parametrize(("repeated", "reader"), each_with(REQUESTS, READERS))
def test_a_request_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(REQUESTS[repeated], READERS[reader], N)


@pytest.mark.parametrize("sealed", [False, True], ids=["signed", "sealed"])
def test_thoughts_that_the_client_changed_cost_work_in_proportion(sealed: bool) -> None:
    """All of one answer, each put back from one recording."""
    maker = GLM if sealed else OPUS

    def held(n: int) -> tuple[bytes, Facts]:
        native = assistant(*[thinking(f"Hm {i}.", f"s{i}") for i in range(n)], "So.")
        seals = [SEALER.mint(Seal("local", GLM, "e1", i, b"s"), f"Hm {i}.") for i in range(n)]
        own = assistant(*[thinking(f"Hm {i}.", seals[i] if sealed else f"s{i}") for i in range(n)], "So.")
        asked, scribe = request(user("Hi")), Scribe()
        scribe.record(asked, asked, native, maker, held=[made(block) for block in own["content"]])
        facts = Facts(recordings=scribe.shelf, context=scribe.context, sealer=SEALER)
        return raw(user("Hi"), spaced(own), user("And?")), facts

    def project_changed(case: tuple[bytes, Facts]) -> None:
        changes = project(case[0], target(maker), case[1]).changes
        assert CHANGED in {change.why for change in changes}

    check_growth(held, project_changed, N)
