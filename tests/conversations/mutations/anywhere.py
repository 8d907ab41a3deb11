"""Steps that aim at nothing: any key, any value, any message; another model, version, beta."""

from collections.abc import Iterator
from typing import Any

from clew.model.facts import models
from tests.build import Json, text, thinking, tool_result, tool_use
from tests.conversations.asked import NEWER, OLDER
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()

OTHERS = (*models(), "qwen3-32b", "claude-opus-9", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
KINDS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**20,
    "",
    " ",
    "x",
    [],
    [None],
    {},
    {"type": "text"},
    "all",
    "auto",
)


def _objects(value: Any) -> Iterator[Json]:
    """Every object inside, the outermost first."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _lists(value: Any) -> Iterator[list[Any]]:
    for each in _objects(value):
        yield from (inner for inner in each.values() if isinstance(inner, list))


@steps.breaks()
def drop_any_key(move: Move) -> None:
    target = move.pick(*filter(None, _objects(move.body)))
    del target[move.pick(*target)]


@steps.breaks()
def replace_any_value(move: Move) -> None:
    target = move.pick(*filter(None, _objects(move.body)))
    target[move.pick(*target)] = move.pick(*KINDS)


@steps.breaks()
def add_any_key(move: Move) -> None:
    key = move.pick("x", "type", "cache_control", "citations", "signature", "id", "name", "text", "content", "display")
    move.pick(*_objects(move.body))[key] = move.pick(*KINDS, {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"})


@steps.breaks()
def replace_any_element(move: Move) -> None:
    target = move.pick(*filter(None, _lists(move.body)))
    target[move.pick(*range(len(target)))] = move.pick(*KINDS)


@steps.breaks()
def drop_any_element(move: Move) -> None:
    target = move.pick(*filter(None, _lists(move.body)))
    del target[move.pick(*range(len(target)))]


@steps.breaks()
def double_any_element(move: Move) -> None:
    target = move.pick(*filter(None, _lists(move.body)))
    k = move.pick(*range(len(target)))
    target.insert(move.pick(k, len(target)), target[k])


@steps.breaks()
def move_any_element(move: Move) -> None:
    target = move.pick(*(each for each in _lists(move.body) if len(each) > 1))
    target.insert(move.pick(*range(len(target) - 1)), target.pop(move.pick(*range(len(target)))))


@steps.breaks()
def turn_any_list_around(move: Move) -> None:
    move.pick(*(each for each in _lists(move.body) if len(each) > 1)).reverse()


@steps.breaks()
def insert_any_block(move: Move) -> None:
    content = move.as_list(move.pick(*move.messages))
    block = move.pick(text("a"), text(" "), text(""), thinking("hm"), thinking("", ""), tool_use("t_x"), tool_result("t_x"))
    content.insert(move.pick(*range(len(content) + 1)), block)


@steps.breaks()
def change_a_role(move: Move) -> None:
    move.pick(*move.messages)["role"] = move.pick("user", "assistant", "system")


@steps.breaks()
def join_two_messages(move: Move) -> None:
    move.need(len(move.messages) > 1)
    k = move.pick(*range(len(move.messages) - 1))
    after = move.messages.pop(k + 1)
    move.messages[k]["content"] = [*move.as_list(move.messages[k]), *move.as_list(after)]


@steps.breaks()
def split_a_message(move: Move) -> None:
    message = move.pick(*(each for each in move.listed("user", "assistant") if len(each["content"]) > 1))
    cut = move.pick(*range(len(message["content"]) + 1))
    rest = {"role": message["role"], "content": message["content"][cut:]}
    message["content"] = message["content"][:cut]
    move.messages.insert(move.messages.index(message) + 1, rest)


@steps.breaks()
def cut_the_history(move: Move) -> None:
    move.body["messages"] = move.pick(move.messages[: move.pick(*range(len(move.messages) + 1))], move.messages[1:])


@steps.breaks()
def change_the_model(move: Move) -> None:
    move.body["model"] = move.pick(*OTHERS)


@steps.breaks()
def change_the_version(move: Move) -> None:
    move.headers["anthropic-version"] = NEWER if move.headers["anthropic-version"] == OLDER else OLDER


@steps.breaks()
def drop_a_beta(move: Move) -> None:
    move.drop_beta(move.pick(*move.betas))


@steps.breaks()
def drop_all_betas(move: Move) -> None:
    move.headers.pop("anthropic-beta", None)


@steps.breaks()
def count_instead(move: Move) -> None:
    move.counting = not move.counting


@steps.breaks()
def change_thinking(move: Move) -> None:
    modes = ("adaptive", "disabled", "between_tools")
    move.body["thinking"] = move.pick({"type": "enabled", "budget_tokens": 1024}, *({"type": mode} for mode in modes))


@steps.breaks()
def leave_thinking_out(move: Move) -> None:
    move.need("thinking" in move.body)
    del move.body["thinking"]


@steps.breaks()
def change_effort(move: Move) -> None:
    move.body.setdefault("output_config", {})["effort"] = move.pick("low", "medium", "high", "xhigh", "max", None)


MUTATIONS = tuple(steps.mutations)
