"""A maker gets its own tool ids back; everybody else gets the safe ones that the client has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.blocks import made
from clew.model.origin import Origin
from clew.pipeline.step import Facts
from clew.pipeline.tool_calls import maker_ids
from clew.thinking.recognise import Context
from clew.wire.requests import encode, parse
from tests.build import GLM, OPUS, Json, Scribe, assistant, raw, request, sent, target, text, tool_result, tool_use, user
from tests.counts import examples

KIMI = Origin(realm="kimi", backend="kimi", model="kimi-k3", account="me")


class Talk:
    """A tool conversation with one maker, as the client holds it and as the maker said it."""

    def __init__(self, *answers: list[str], origin: Origin = GLM, principal: str = "local") -> None:
        self.scribe = Scribe(principal=principal)
        self.held: list[Json] = [user("Begin.")]
        self.own: list[Json] = [user("Begin.")]
        for number, ids in enumerate(answers):
            safe = [f"toolu_{number}_{place}" for place, _ in enumerate(ids)]
            self._answer([tool_use(id) for id in ids], [tool_use(id) for id in safe], origin)
            self.held.append(user(*(tool_result(id, f"r{id}") for id in safe), text("Go on.")))
            mine = [own or held for own, held in zip(ids, safe, strict=True)]
            self.own.append(
                user(*(tool_result(id, f"r{held}") for id, held in zip(mine, safe, strict=True)), text("Go on."))
            )

    def _answer(self, own: list[Json], held: list[Json], origin: Origin) -> None:
        asked = request(*self.held)
        self.scribe.record(asked, asked, assistant(*own), origin, held=[made(json.dumps(block).encode()) for block in held])
        self.held.append(assistant(*held))
        self.own.append(assistant(*({**mine, "id": mine["id"] or safe["id"]} for mine, safe in zip(own, held, strict=True))))

    @property
    def facts(self) -> Facts:
        return Facts(recordings=self.scribe.shelf, context=self.scribe.context)


def test_the_maker_gets_its_own_ids_in_calls_and_results() -> None:
    """Law 1: what is put on for the client comes off again."""
    talk = Talk(["call_0", "call_1"], ["call_0"])
    going, changes = maker_ids(request(*talk.held), target(GLM), talk.facts)
    assert sent(going) == talk.own
    assert changes == ()


@pytest.mark.parametrize("reader", [OPUS, KIMI], ids=["Claude", "another"])
def test_everybody_else_gets_the_safe_ones(reader: Origin) -> None:
    talk = Talk(["call_0"], ["call_0"])
    asked = request(*talk.held)
    assert maker_ids(asked, target(reader), talk.facts) == (asked, ())


def test_another_principal_finds_nothing() -> None:
    talk = Talk(["call_0"])
    asked = request(*talk.held)
    other = Facts(recordings=talk.scribe.shelf, context=Context(principal="somebody"))
    assert maker_ids(asked, target(GLM), other) == (asked, ())


def test_an_empty_id_is_no_id_and_the_safe_one_stays() -> None:
    talk = Talk(["", "functions.Bash:3"])
    going, _ = maker_ids(request(*talk.held), target(GLM), talk.facts)
    assert sent(going) == talk.own


def test_calls_that_nobody_recorded_keep_their_ids_beside_those_that_somebody_did() -> None:
    talk = Talk(["call_0"])
    more = [assistant(tool_use("toolu_elsewhere")), user(tool_result("toolu_elsewhere"))]
    going, _ = maker_ids(request(*talk.held, *more), target(GLM), talk.facts)
    assert sent(going) == [*talk.own, *more]


def test_server_tools_between_do_not_shift_the_ids() -> None:
    search: Json = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    scribe = Scribe()
    asked = request(user("Begin."))
    own = assistant(search, tool_use("call_0"))
    held = [search, tool_use("toolu_safe")]
    scribe.record(asked, asked, own, GLM, held=[made(json.dumps(block).encode()) for block in held])
    facts = Facts(recordings=scribe.shelf, context=scribe.context)
    going, _ = maker_ids(request(user("Begin."), assistant(*held)), target(GLM), facts)
    assert sent(going) == [user("Begin."), own]


def test_only_the_ids_change_in_the_bytes() -> None:
    """Law 5: every block that holds no such id, and all else of those that do."""
    talk = Talk(["call_0"])
    asked = raw(*talk.held).replace(b'"input": {}', b'"input"  :  {"n": 1.0, "s": "\\u0041"}')
    going, _ = maker_ids(parse(asked), target(GLM), talk.facts)
    wanted = asked.replace(b'"toolu_0_0"', b'"call_0"')
    assert encode(going).replace(b"},{", b"}, {") == wanted


ids = st.lists(
    st.lists(st.sampled_from(["call_0", "call_1", "functions.Bash:3", "", "x"]), min_size=1, max_size=3), max_size=4
)


@given(answers=ids, reader=st.sampled_from([GLM, KIMI, OPUS]))
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_it_is_pure_idempotent_and_the_same_for_what_came_before(answers: list[list[str]], reader: Origin) -> None:
    """Laws 2 and 3."""
    talk = Talk(*answers)
    asked = request(*talk.held)
    once, _ = maker_ids(asked, target(reader), talk.facts)
    assert encode(asked) == raw(*talk.held)
    assert sent(once) == (talk.own if reader is GLM else talk.held)
    assert sent(maker_ids(once, target(reader), talk.facts)[0]) == sent(once)
    for end in range(1, len(talk.held), 2):
        shorter, _ = maker_ids(request(*talk.held[:end]), target(reader), talk.facts)
        assert sent(shorter) == sent(once)[:end]
