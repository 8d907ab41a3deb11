"""The simulated models of a chat vendor: the same scripts and the same built-in model as in the other dialect.

Scripts and the built-in model read requests of the Messages API, so the chat request is translated for them: what was
asked, offered and answered. Nothing here decides what is legal. The turn is played within what the request allows, and the
answer is written in the vendor's form. Thoughts of the built-in model have a mark, so that they are recognised in any
place.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.identity import Ids
from clew.simulator.interfaces import Prompt
from clew.simulator.openai_chat.completion import Completion, draft_of, message_of, usage_of
from clew.simulator.openai_chat.judge.case import ChatCase, IndexedMessage, answer_limit, calls_of, text_of
from clew.simulator.openai_chat.memory import PrefixCache, add_mark, prompt_tokens
from clew.simulator.player import PlayedTurn, ScriptedModel
from clew.simulator.values import as_dict, as_list, as_str

_DEFAULT_LIMIT: Final = 4096
_CHOICES: Final[dict[str, str]] = {"none": "none", "auto": "auto", "required": "any", "any": "any"}


class ChatModel:
    """All models of one simulator."""

    def __init__(self, *, scenario: str, seed: int) -> None:
        self._model = ScriptedModel(scenario=scenario, seed=seed)
        self._cache = PrefixCache()

    def answer(self, case: ChatCase, *, account: str, ids: Ids, created: int) -> tuple[PlayedTurn, Completion]:
        """Answer a legal request. Raises SettingsInvalid if it names an unknown scenario."""
        prompt = Prompt(thinking="adaptive" if case.thinking else "off", interleaved=True)
        mark = partial(add_mark, case.memory.secret)
        request = _messages_request(case)
        played = self._model.play(request, prompt=prompt, signer=None, ids=ids, empty_delta=False, mark=mark)
        draft, vendor = draft_of(played.answer, case, ids.message), case.vendor
        cached = self._cache.use(case.body, owner=account, unit=vendor.numbers.unit)
        completion = Completion(
            id=vendor.completion_id + ids.message.removeprefix("msg_01"),
            model=case.model,
            created=created,
            vendor=vendor,
            draft=draft,
            message=message_of(draft, case),
            stop_reason=played.answer.stop_reason,
            usage=usage_of(played.answer, prompt_tokens(case.body), cached, vendor.numbers),
            usage_asked=as_dict(case.body.get("stream_options")).get("include_usage") is True,
        )
        return played, completion

    def reset(self) -> None:
        self._cache.reset()


# The request as one of the Messages API.


def _messages_request(case: ChatCase) -> JsonObject:
    stop = case.body.get("stop")
    request: JsonObject = {
        "model": case.model,
        "max_tokens": answer_limit(case.body) or _DEFAULT_LIMIT,
        "messages": _messages(case.messages),
        "tools": [
            {"name": function.get("name"), "input_schema": as_dict(function.get("parameters")) or {"type": "object"}}
            for function in (as_dict(as_dict(tool).get("function")) for tool in as_list(case.body.get("tools")))
        ],
        "stop_sequences": [stop] if isinstance(stop, str) else as_list(stop),
    }
    choice = _tool_choice(case.body)
    schema = as_dict(as_dict(case.body.get("response_format")).get("json_schema")).get("schema")
    if choice:
        request["tool_choice"] = choice
    if isinstance(schema, dict):
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return request


def _messages(chat_messages: tuple[IndexedMessage, ...]) -> list[JsonValue]:
    """A user's text right after tool results joins their message, since it does not open a new turn."""
    messages: list[JsonValue] = []
    in_results = False
    for each in chat_messages:
        message = _message(each)
        if in_results and message["role"] == "user":
            as_list(as_dict(messages[-1])["content"]).extend(as_list(message["content"]))
            continue
        in_results = each.role == "tool"
        messages.append(message)
    return messages


def _message(each: IndexedMessage) -> JsonObject:
    content = each.message.get("content")
    match each.role:
        case "tool":
            result: JsonObject = {"type": "tool_result", "content": text_of(content)}
            return {"role": "user", "content": [result]}
        case "assistant":
            calls: list[JsonValue] = [{"type": "tool_use", "id": call.get("id")} for call in calls_of(each.message)]
            return {"role": "assistant", "content": [*_texts(content), *calls]}
        case "user":
            return {"role": "user", "content": _texts(content)}
        case _:
            return {"role": "system", "content": _texts(content)}


def _texts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = (as_dict(part) for part in as_list(content))
    return [{"type": "text", "text": part.get("text")} for part in parts if "text" in part]


def _tool_choice(body: JsonObject) -> JsonObject:
    given = body.get("tool_choice")
    single: JsonObject = {"disable_parallel_tool_use": True} if body.get("parallel_tool_calls") is False else {}
    if isinstance(given, str):
        return {"type": _CHOICES.get(given, "auto"), **single}
    name = as_str(as_dict(as_dict(given).get("function")).get("name"))
    if name:
        return {"type": "tool", "name": name, **single}
    return {"type": "auto", **single} if single else {}
