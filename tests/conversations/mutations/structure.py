"""Roles, places, calls and results, empty and blank content."""

from clew.model.facts import ModelFacts
from tests.build import Json, text, thinking, tool_result, tool_use
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()


def _takes_system_messages(facts: ModelFacts) -> bool:
    return facts.system_messages


# ── roles and places


@steps.breaks("R18.no-messages")
def say_nothing_at_all(move: Move) -> None:
    move.body["messages"] = []


@steps.breaks("R19.leading-system", fits=_takes_system_messages)
def let_the_system_begin(move: Move) -> None:
    move.messages.insert(0, {"role": "system", "content": move.pick("now", [])} | move.pick({}, {"output_config": None}))


@steps.breaks("R32.no-content", fits=_takes_system_messages)
def let_the_system_say_nothing(move: Move) -> None:
    move.messages.append({"role": "system", "content": move.pick("", [])})


@steps.breaks("R32.precedes-wrong-turn", fits=_takes_system_messages)
def let_the_system_speak_anywhere(move: Move) -> None:
    move.messages.insert(move.pick(*range(1, len(move.messages) + 1)), {"role": "system", "content": "now"})


@steps.breaks("R32.between-tool-use-and-result", fits=_takes_system_messages)
def let_the_system_interrupt_a_call(move: Move) -> None:
    calls = [
        n
        for n, each in enumerate(move.messages[:-1])
        if _has(each, "tool_use") and _has(move.messages[n + 1], "tool_result")
    ]
    move.messages.insert(move.pick(*calls) + 1, {"role": "system", "content": "now"})


@steps.breaks("R32.follows-wrong-turn", fits=_takes_system_messages)
def let_the_system_follow_the_assistant(move: Move) -> None:
    ends = [n for n, each in enumerate(move.messages) if each["role"] == "assistant"]
    move.messages.insert(move.pick(*ends) + 1, {"role": "system", "content": "now"})


@steps.breaks("R32.content-not-text", fits=_takes_system_messages)
def let_the_system_show_a_picture(move: Move) -> None:
    picture: Json = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}
    message = move.pick(*move.spoken_by("system"))
    move.as_list(message).append(move.pick(picture, thinking("hm"), tool_result("t1")))


@steps.breaks("R23.tool-result-in-assistant")
def let_the_assistant_answer_itself(move: Move) -> None:
    move.as_list(move.pick(*move.spoken_by("assistant"))).append(tool_result("t1"))


@steps.breaks("R23.thinking-in-user")
def let_the_user_think(move: Move) -> None:
    content = move.as_list(move.pick(*move.spoken_by("user")))
    content.insert(move.pick(0, len(content)), thinking("hm"))


@steps.breaks("R23.block-role")
def let_the_wrong_one_hold_it(move: Move) -> None:
    picture: Json = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}
    role, block = move.pick(("assistant", picture), ("user", tool_use("t1")))
    move.as_list(move.pick(*move.spoken_by(role))).append(block)


# ── calls and results


@steps.breaks("R25.ids-not-unique")
def use_an_id_twice(move: Move) -> None:
    calls = move.blocks("tool_use")
    move.need(len(calls) > 1)
    first = move.pick(*range(len(calls) - 1))
    calls[move.pick(*range(first + 1, len(calls)))]["id"] = calls[first]["id"]


@steps.breaks("R26.unanswered")
def forget_a_result(move: Move) -> None:
    message = move.with_blocks("tool_result")
    message["content"].remove(move.pick(*(each for each in message["content"] if each["type"] == "tool_result")))


@steps.breaks("R26.unanswered")
def speak_before_the_result(move: Move) -> None:
    move.with_blocks("tool_result")["content"].insert(0, text("well"))


@steps.breaks("R26.unanswered")
def call_at_the_end(move: Move) -> None:
    move.as_list(move.pick(*move.spoken_by("assistant"))).append(tool_use("t_new"))


@steps.breaks("R27.unexpected-result")
def answer_what_was_not_asked(move: Move) -> None:
    content = move.as_list(move.pick(*move.spoken_by("user")))
    content.insert(move.pick(0, len(content)), tool_result("t_other"))


@steps.breaks("R28.result-repeated")
def answer_twice(move: Move) -> None:
    message = move.with_blocks("tool_result")
    message["content"].append(dict(move.pick(*(each for each in message["content"] if each["type"] == "tool_result"))))


@steps.breaks("R29.result-without-call")
def forget_the_servers_call(move: Move) -> None:
    message = move.with_blocks("server_tool_use", "mcp_tool_use")
    message["content"].remove(
        move.pick(*(each for each in message["content"] if each["type"] in ("server_tool_use", "mcp_tool_use")))
    )


@steps.breaks("R29.call-unfinished")
def forget_the_servers_result(move: Move) -> None:
    results = [each for each in move.all_blocks() if each["type"].endswith("_tool_result")]
    gone = move.pick(*results)
    for message in move.listed("assistant"):
        message["content"] = [each for each in message["content"] if each is not gone]


@steps.breaks("R29.tool-not-provided")
def call_a_tool_of_the_server_that_is_not_provided(move: Move) -> None:
    move.need(move.messages[-1]["role"] == "user")
    offered = [tool.get("name") for tool in move.body.get("tools", [])]
    name = move.pick(*(each for each in ("web_search", "web_fetch", "advisor", "code_execution") if each not in offered))
    call: Json = {"type": "server_tool_use", "id": "srvtoolu_new", "name": name, "input": {}}
    move.messages.append({"role": "assistant", "content": [call]})


# ── nothing, and next to nothing


@steps.breaks("R22.empty-text")
def add_an_empty_text(move: Move) -> None:
    content = move.as_list(move.pick(*move.spoken_by("user", "assistant", "system")))
    content.insert(move.pick(0, len(content)), text(""))


@steps.breaks("R22.empty-text-cached")
def mark_an_empty_text(move: Move) -> None:
    content = move.as_list(move.pick(*move.spoken_by("user", "assistant")))
    content.append(text("", cache_control=move.pick(None, {"type": "ephemeral"}, {"type": "ephemeral"})))


@steps.breaks("R22.blank-text")
def say_only_white_space(move: Move) -> None:
    move.pick(*move.messages)["content"] = move.pick(" ", "\n", [text(" ")], [text("\t"), text("\u00a0")])


@steps.breaks("R22.user-empty")
def let_the_user_say_nothing(move: Move) -> None:
    move.pick(*move.spoken_by("user"))["content"] = move.pick("", [])


@steps.breaks("R16.empty-text-cached")
def mark_an_empty_system_text(move: Move) -> None:
    move.body["system"] = [text("", cache_control={"type": "ephemeral"})]


@steps.breaks("R16.empty-text")
def add_an_empty_system_text(move: Move) -> None:
    move.body["system"] = [text("a"), text("")]


@steps.breaks("R16.blank-text")
def blank_the_system(move: Move) -> None:
    move.body["system"] = move.pick(" ", [text(" ")], [text("\n"), text(" ")])


@steps.breaks("R54.compaction-empty")
def empty_a_summary(move: Move) -> None:
    move.a_block("compaction")["content"] = ""


@steps.breaks("R64.image-too-large")
def show_too_large_a_picture(move: Move) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * (5 * 1024 * 1024 + 1)}
    picture = {"type": "image", "source": source}
    if move.pick(True, False):
        move.as_list(move.pick(*move.spoken_by("user"))).append(picture)
    else:
        move.a_block("tool_result")["content"] = [picture]


def _has(message: Json, kind: str) -> bool:
    return isinstance(message.get("content"), list) and any(block["type"] == kind for block in message["content"])


MUTATIONS = tuple(steps.mutations)
