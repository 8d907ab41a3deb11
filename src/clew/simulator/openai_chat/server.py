"""The server of a vendor that speaks Chat Completions: its key, its paths under any prefix, its models, its answers.

The models play the same scripts as in the other dialect. Scripts and the built-in model read requests of the Messages API,
so the chat request is translated for them: what was asked, offered and answered. The answer is written in the vendor's
form. Thoughts of the built-in model have a mark, so that they are recognised in any place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest
from clew.model.json import JsonObject, JsonValue
from clew.simulator.fault_effects import apply_faults
from clew.simulator.identity import IdMaker, Ids, signing_key
from clew.simulator.interfaces import Account, Prompt, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.marks import add_mark
from clew.simulator.openai_chat.completion import (
    Completion,
    chunks,
    completion,
    draft_of,
    message_of,
    reasoning_field,
    usage_of,
)
from clew.simulator.openai_chat.errors import ChatErrors
from clew.simulator.openai_chat.judge.case import (
    CHAT_RULES,
    ChatCase,
    IndexedMessage,
    answer_limit,
    calls_of,
    text_of,
)
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory, GivenAnswer, prompt_segments, prompt_tokens
from clew.simulator.openai_chat.vendors import ChatVendor, chat_vendors, model_list, model_row
from clew.simulator.openai_server import ForgetfulPart, OpenaiServer, identity
from clew.simulator.player import PlayedTurn
from clew.simulator.prefix_cache import PrefixCache
from clew.simulator.steps import SSE_HEADERS, End, SendHead, Steps, json_reply, silences_of
from clew.simulator.values import as_dict, as_list, as_str
from clew.simulator.vendor_server import AccountRequest, ScriptedModel, SimulatorSettings, decoded, misuse

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
        cached = self._cache.use(prompt_segments(case.body), owner=account, model=case.model, unit=vendor.numbers.unit)
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


# The server.


class ChatServer(OpenaiServer):
    """One vendor that speaks Chat Completions. `now` counts seconds since the epoch."""

    main_path = "/v1/chat/completions"
    ending = "/chat/completions"

    def __init__(self, settings: SimulatorSettings, *, now: Callable[[], float] = time.time) -> None:
        self.vendor = chat_vendors()[settings.kind]
        super().__init__(settings, IdMaker(settings.seed, self.vendor.tool_ids), CHAT_RULES, ChatErrors(self.vendor), now)
        self._model = ChatModel(scenario=settings.scenario, seed=settings.seed)
        self._memory = AnswerMemory(signing_key(settings.kind, settings.seed, settings.realm))

    @property
    def row(self) -> ChatVendor:
        return self.vendor

    def parts(self) -> tuple[ForgetfulPart, ...]:
        return self._model, self._memory

    def model_list(self) -> JsonObject:
        return model_list(self.vendor, self.settings.kind)

    def model_row(self, name: str) -> JsonObject | None:
        return model_row(name, self.vendor, self.settings.kind) if self.vendor.traits_of(name) else None

    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        if isinstance(account, VendorRefusal):
            return self.write_refusal(account, entry, identity(ids))
        if request.method == "POST" and request.path.endswith(self.ending):
            return self._complete(AccountRequest(request=request, account=account, ids=ids, entry=entry))
        return self.answer_about_models(request, ids, entry)

    def _complete(self, visit: AccountRequest) -> Steps:
        request = decoded(visit.request)
        if isinstance(request, VendorRefusal):
            return self.write_refusal(request, visit.entry, identity(visit.ids))
        verdict = judge_chat(request.body, vendor=self.vendor, stance=self.settings.stance, memory=self._memory)
        visit.entry.record_thinking([piece.as_json() for piece in verdict.thinking], verdict.violation)
        if verdict.violation is not None or verdict.case is None:
            assert verdict.violation is not None, "a legal request has a case"
            maker = verdict.case.traits.maker if verdict.case else ""
            return self.write_refusal(verdict.violation, visit.entry, identity(visit.ids), verdict.names, maker)
        try:
            return self._play_model(visit, verdict.case)
        except SettingsInvalid as error:
            return self.write_refusal(misuse("sim.scenario", str(error)), visit.entry, identity(visit.ids))

    def _play_model(self, visit: AccountRequest, case: ChatCase) -> Steps:
        played, whole = self._model.answer(case, account=visit.account.name, ids=visit.ids, created=int(self._now()))
        answer = played.answer
        stream = self.settings.stance.answers_in_stream(case.body)
        visit.entry.record_answer(played, id=whole.id, model=whole.model, stop=whole.finish, stream=stream)
        given = GivenAnswer(
            model=case.model,
            reasoning=whole.draft.reasoning,
            message=whole.message,
            field=reasoning_field(whole.draft, case),
        )
        self._memory.record(given, whole.draft.text)
        headers = identity(visit.ids)
        if stream:
            steps: Steps = (SendHead(200, (*SSE_HEADERS, *headers)), *chunks(whole), End())
        else:
            steps = (*silences_of(answer), *json_reply(completion(whole), headers))
        return apply_faults(answer.faults, steps, visit.ids.request, self._errors)
