"""The server of a vendor that speaks Chat Completions: its key, its paths under any prefix, its models, its answers.

The models play the same scripts as in the other dialect. Scripts and the built-in model read requests of the Messages API,
so the chat request is translated for them: what was asked, offered and answered. The answer is written in the vendor's
form. Thoughts of the built-in model have a mark, so that they are recognised in any place.
"""

from __future__ import annotations

import time

import msgspec

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest
from clew.model.json import JsonObject, JsonValue
from clew.simulator.error_shapes import ShapedErrors
from clew.simulator.fault_effects import apply_faults
from clew.simulator.identity import IdMaker, Ids, signing_key
from clew.simulator.interfaces import Account, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.openai_chat.completion import (
    Completion,
    chunks,
    completion,
    draft_of,
    message_of,
    reasoning_field,
    usage_of,
)
from clew.simulator.openai_chat.judge.case import CHAT_RULES, ChatCase, IndexedMessage, answer_limit, calls_of, text_of
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory, GivenAnswer, prompt_segments, prompt_tokens
from clew.simulator.openai_chat.vendors import ChatVendor, chat_vendors, model_list, model_row
from clew.simulator.openai_vendor import OpenaiModel, OpenaiServer, identity, model_request, text_blocks
from clew.simulator.player import PlayedTurn
from clew.simulator.steps import SSE_HEADERS, End, SendHead, Steps, json_reply, silences_of
from clew.simulator.values import as_dict, as_list, as_str
from clew.simulator.vendor_server import AccountRequest, SimulatorSettings, decoded, misuse


class ChatErrors(ShapedErrors):
    """How one vendor writes errors and keep-alives inside a stream."""

    def __init__(self, vendor: ChatVendor) -> None:
        super().__init__(CHAT_RULES, vendor)
        self._vendor = vendor

    @property
    def ping(self) -> bytes:
        return f": {self._vendor.chunks.comment or 'keep-alive'}\n\n".encode()

    def event(self, fault: str, message: str, form: str = "", before: Steps = ()) -> bytes:
        """A fault on demand, inside a stream that began with 200."""
        error = self.fault(fault, message, self.status(fault))
        value = self._shape(error)
        if self._vendor.envelope == "openrouter":
            value = {
                "id": "gen-sim",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "",
                "provider": "",
                "error": {"code": error.status, "message": error.message},
                "choices": [
                    {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "native_finish_reason": "error"}
                ],
            }
        return b"data: " + msgspec.json.encode(value) + b"\n\n"


class ChatModel(OpenaiModel):
    """Answers legal requests as the vendor's models would. It serves all models of a simulator."""

    def answer(self, case: ChatCase, *, account: str, ids: Ids, created: int) -> tuple[PlayedTurn, Completion]:
        """Answer a legal request. Raises SettingsInvalid if it names an unknown scenario."""
        played = self.play(_request_of(case), thinks=case.thinking, secret=case.memory.secret, ids=ids)
        draft, vendor = draft_of(played.answer, case, ids.message), case.vendor
        cached = self.cached(prompt_segments(case.body), owner=account, model=case.model, unit=vendor.numbers.unit)
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


def _request_of(case: ChatCase) -> JsonObject:
    """The request as one of the Messages API."""
    body, stop = case.body, case.body.get("stop")
    functions = [as_dict(as_dict(tool).get("function")) for tool in as_list(body.get("tools"))]
    request = model_request(
        body,
        model=case.model,
        limit=answer_limit(body) or None,
        messages=_messages(case.messages),
        tools=[(function.get("name"), as_dict(function.get("parameters"))) for function in functions],
        chosen=as_str(as_dict(as_dict(body.get("tool_choice")).get("function")).get("name")),
        schema=as_dict(as_dict(body.get("response_format")).get("json_schema")).get("schema"),
    )
    return {**request, "stop_sequences": [stop] if isinstance(stop, str) else as_list(stop)}


def _messages(chat_messages: tuple[IndexedMessage, ...]) -> list[JsonValue]:
    """A user's text right after tool results joins their message, since it does not open a new turn."""
    messages: list[JsonValue] = []
    in_results = False
    for each in chat_messages:
        content = each.message.get("content")
        is_result = each.role == "tool"
        blocks: list[JsonValue] = (
            [{"type": "tool_result", "content": text_of(content)}] if is_result else text_blocks(content)
        )
        if each.role == "assistant":
            blocks += [{"type": "tool_use", "id": call.get("id")} for call in calls_of(each.message)]
        role = {"assistant": "assistant", "user": "user", "tool": "user"}.get(each.role, "system")
        if in_results and role == "user":
            as_list(as_dict(messages[-1])["content"]).extend(blocks)
            continue
        in_results = is_result
        messages.append({"role": role, "content": blocks})
    return messages


# The server.


class ChatServer(OpenaiServer[ChatVendor]):
    """One vendor that speaks Chat Completions."""

    main_path = "/v1/chat/completions"
    ending = "/chat/completions"

    def __init__(self, settings: SimulatorSettings) -> None:
        vendor = chat_vendors()[settings.kind]
        self._model = ChatModel(scenario=settings.scenario, seed=settings.seed)
        self._memory = AnswerMemory(signing_key(settings.kind, settings.seed, settings.realm))
        ids, parts = IdMaker(settings.seed, vendor.tool_ids), (self._model, self._memory)
        super().__init__(settings, vendor, ids, CHAT_RULES, ChatErrors(vendor), parts)

    def model_list(self) -> JsonObject:
        return model_list(self.vendor, self.settings.kind)

    def model_row(self, name: str) -> JsonObject | None:
        return model_row(name, self.vendor, self.settings.kind) if self.vendor.traits_of(name) else None

    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        if isinstance(account, VendorRefusal):
            return self.write_refusal(account, entry, identity(ids))
        if request.method != "POST" or not request.path.endswith(self.ending):
            return self.answer_about_models(request, ids, entry)
        chat = decoded(request)
        if isinstance(chat, VendorRefusal):
            return self.write_refusal(chat, entry, identity(ids))
        verdict = judge_chat(chat.body, vendor=self.vendor, stance=self.settings.stance, memory=self._memory)
        entry.record_thinking([piece.as_json() for piece in verdict.thinking], verdict.violation)
        if verdict.violation is not None or verdict.case is None:
            assert verdict.violation is not None, "a legal request has a case"
            maker = verdict.case.traits.maker if verdict.case else ""
            return self.write_refusal(verdict.violation, entry, identity(ids), verdict.names, maker)
        try:
            return self._play_model(AccountRequest(request=request, account=account, ids=ids, entry=entry), verdict.case)
        except SettingsInvalid as error:
            return self.write_refusal(misuse("sim.scenario", str(error)), entry, identity(ids))

    def _play_model(self, visit: AccountRequest, case: ChatCase) -> Steps:
        played, whole = self._model.answer(case, account=visit.account.name, ids=visit.ids, created=int(time.time()))
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
