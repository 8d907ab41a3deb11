"""The server of a vendor that speaks Responses: its key, its paths under any prefix, its models, its answers.

Beside the answers there are the token count, the compaction, and the answers that are kept (GET and DELETE). The models play
the same scripts as in the other dialects. Thoughts of the built-in model have a mark, by which they are known in any place.

Scripts and the model read the request as one of the Messages API: what was asked, offered and answered. Items that the model
made in a row are one message of the assistant, outputs in a row one message of results. A user's text right after results
joins them, since it does not open a new turn. A custom tool becomes one with a single text field.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest
from clew.model.json import JsonObject, JsonValue
from clew.simulator.answers import ModelAnswer, whole_block
from clew.simulator.fault_effects import apply_faults
from clew.simulator.identity import IdMaker, Ids, signing_key
from clew.simulator.interfaces import Account, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.openai_responses.blobs import BlobContent
from clew.simulator.openai_responses.items import OutputItem, output_steps
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES, OfferedTool, Path, PlacedItem, ResponsesCase
from clew.simulator.openai_responses.judge.judging import ResponsesVerdict, judge_responses
from clew.simulator.openai_responses.memory import GivenOutput, OutputMemory
from clew.simulator.openai_responses.response import WholeResponse, usage_of
from clew.simulator.openai_responses.stream import ResponsesErrors, events
from clew.simulator.openai_responses.vendors import ResponsesVendor, model_list, model_row, responses_vendors
from clew.simulator.openai_vendor import OpenaiModel, OpenaiServer, identity, model_request, text_blocks
from clew.simulator.player import PlayedTurn
from clew.simulator.steps import SSE_HEADERS, End, HeaderPairs, SendHead, Steps, json_reply, rule_headers, silences_of
from clew.simulator.values import as_dict, as_list, as_str, tokens_of_text
from clew.simulator.vendor_server import AccountRequest, SimulatorSettings, decoded, misuse

_LIMITS: Final[HeaderPairs] = (
    ("x-ratelimit-limit-requests", "5000"),
    ("x-ratelimit-remaining-requests", "4999"),
    ("x-ratelimit-limit-tokens", "800000"),
    ("x-ratelimit-remaining-tokens", "799000"),
)


class ResponsesModel(OpenaiModel):
    """Answers legal requests as the vendor's models would. It serves all models of a simulator."""

    def answer(self, case: ResponsesCase, *, ids: Ids, created: int) -> tuple[PlayedTurn, WholeResponse]:
        """Answer a legal request. Raises SettingsInvalid if it names an unknown scenario."""
        if case.compacts:
            # The conversation in short, which only the vendor can read
            item = compaction_item(case, ids)
            text = as_str(item["encrypted_content"])
            answer = ModelAnswer(items=(whole_block(item),), stop_reason="end_turn", output_tokens=tokens_of_text(text))
            played = PlayedTurn(answer=answer, scenario="compaction", turn=0)
        else:
            played = self.play(request_of(case), thinks=case.thinking, secret=case.memory.secret, ids=ids)
        cached = self.cached(case.segments(), owner=case.account, model=case.model, unit=case.vendor.unit)
        whole = WholeResponse(
            id=ids.item("resp", 0),
            created=created,
            case=case,
            steps=output_steps(played.answer, case, ids),
            stop_reason=played.answer.stop_reason,
            usage=usage_of(played.answer, case, cached),
        )
        return played, whole


def compaction_item(case: ResponsesCase, ids: Ids) -> JsonObject:
    """An item that stands for the whole conversation."""
    id_ = ids.item("cmp", 0)
    content = BlobContent(id=id_, model=case.model, text=f"A summary of {len(case.items)} items.")
    return {"id": id_, "type": "compaction", "encrypted_content": case.key.make(content, salt=id_)}


class ResponsesServer(OpenaiServer[ResponsesVendor]):
    """One vendor that speaks Responses."""

    main_path = "/v1/responses"
    ending = "/responses"

    def __init__(self, settings: SimulatorSettings) -> None:
        vendor = responses_vendors()[settings.kind]
        self._model = ResponsesModel(scenario=settings.scenario, seed=settings.seed)
        self._memory = OutputMemory(signing_key(settings.kind, settings.seed, settings.realm))
        self._responses_errors = errors = ResponsesErrors(vendor)
        ids, parts = IdMaker(settings.seed, "call"), (self._model, self._memory)
        super().__init__(settings, vendor, ids, RESPONSES_RULES, errors, parts)

    def model_list(self) -> JsonObject:
        return model_list(self.vendor, self.settings.kind)

    def model_row(self, name: str) -> JsonObject | None:
        return model_row(name, self.settings.kind) if self.vendor.traits_of(name) else None

    # Paths.

    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        if isinstance(account, VendorRefusal):
            return self.write_refusal(account, entry, identity(ids))
        visit = AccountRequest(request=request, account=account, ids=ids, entry=entry)
        name = request.path.rpartition("/")[2]
        match request.method:
            case "POST" if request.path.endswith(self.ending):
                verdict = self._judge(visit, "/responses")
                if verdict.violation is not None or verdict.case is None:
                    return self._write_violation(visit, verdict)
                try:
                    return self._play_model(visit, verdict.case)
                except SettingsInvalid as error:
                    return self.write_refusal(misuse("sim.scenario", str(error)), entry, identity(ids))
            case "POST" if name in self.vendor.serves and request.path.endswith(f"{self.ending}/{name}"):
                return self._count(visit) if name == "input_tokens" else self._compact(visit)
            case "GET" if request.path.endswith(self.ending) and request.header("upgrade"):
                return self.write_refusal(self.refusal("websocket"), entry, identity(ids))
            case "GET" | "DELETE" if request.path.endswith(f"{self.ending}/{name}"):
                found = self._memory.kept(account.name, name)
                if found is None:
                    return self.write_refusal(self.refusal("response-unknown", id=name), entry, identity(ids))
                if request.method == "GET":
                    return json_reply(found.response, identity(ids))
                self._memory.delete(account.name, name)
                return json_reply({"id": name, "object": "response", "deleted": True}, identity(ids))
            case _:
                return self.answer_about_models(request, ids, entry)

    def _judge(self, visit: AccountRequest, path: Path) -> ResponsesVerdict:
        request = decoded(visit.request)
        if isinstance(request, VendorRefusal):
            return ResponsesVerdict(violation=request)
        verdict = judge_responses(
            request.body,
            vendor=self.vendor,
            stance=self.settings.stance,
            memory=self._memory,
            account=visit.account.name,
            path=path,
        )
        visit.entry.record_thinking([item.as_json() for item in verdict.thinking], verdict.violation)
        return verdict

    def _count(self, visit: AccountRequest) -> Steps:
        verdict = self._judge(visit, "/responses/input_tokens")
        if verdict.violation is not None or verdict.case is None:
            return self._write_violation(visit, verdict)
        counted = {"object": "response.input_tokens", "input_tokens": verdict.case.tokens}
        return json_reply(counted, identity(visit.ids))

    def _compact(self, visit: AccountRequest) -> Steps:
        verdict = self._judge(visit, "/responses/compact")
        if verdict.violation is not None or verdict.case is None:
            return self._write_violation(visit, verdict)
        case, item = verdict.case, compaction_item(verdict.case, visit.ids)
        users = [each.item for each in case.items if each.item.get("role") == "user"]
        answer = ModelAnswer(
            items=(), stop_reason="end_turn", output_tokens=tokens_of_text(as_str(item["encrypted_content"]))
        )
        compaction = {
            "id": visit.ids.item("resp", 0),
            "object": "response.compaction",
            "created_at": int(time.time()),
            "output": [*users, item],
            "usage": usage_of(answer, case, 0),
        }
        return json_reply(compaction, identity(visit.ids))

    # Answers.

    def _play_model(self, visit: AccountRequest, case: ResponsesCase) -> Steps:
        played, whole = self._model.answer(case, ids=visit.ids, created=int(time.time()))
        stream = self.settings.stance.answers_in_stream(case.body)
        visit.entry.record_answer(played, id=whole.id, model=case.model, stop=whole.status, stream=stream)
        thoughts = {as_str(step.item.get("id")): step.thought for step in whole.steps if isinstance(step, OutputItem)}
        self._memory.record(case.account, GivenOutput(model=case.model, items=whole.items, thoughts=thoughts))
        if case.stores:
            items = (*(each.item for each in case.items), *whole.items)
            self._memory.keep(case.account, whole.ended(), items)
        headers = (*identity(visit.ids), *_LIMITS)
        if stream:
            steps: Steps = (SendHead(200, (*SSE_HEADERS, *headers)), *events(whole), End())
        else:
            steps = (*silences_of(played.answer), *json_reply(whole.ended(), headers))
        return apply_faults(played.answer.faults, steps, visit.ids.request, self._errors)

    # Refusals.

    def _write_violation(self, visit: AccountRequest, verdict: ResponsesVerdict) -> Steps:
        refusal, case = verdict.violation, verdict.case
        assert refusal is not None, "a legal request is answered"
        overflow = refusal.rule == "responses.too-long" and self.vendor.stream.overflow
        if overflow and case is not None and self.settings.stance.answers_in_stream(case.body):
            visit.entry.record_refusal(refusal)
            whole = WholeResponse(
                id=visit.ids.item("resp", 0), created=int(time.time()), case=case, steps=(), stop_reason="", usage=None
            )
            head = SendHead(200, (*SSE_HEADERS, *identity(visit.ids), *rule_headers(refusal)))
            return (head, *self._responses_errors.refusal_events(refusal, whole.begun()), End())
        maker = case.traits.maker if case else ""
        return self.write_refusal(refusal, visit.entry, identity(visit.ids), verdict.names, maker)


_FREEFORM: Final[Mapping[str, str]] = {
    "exec": "text('hello')",
    "apply_patch": "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n",
}
"""What the model writes for custom tools with a language of their own."""


def request_of(case: ResponsesCase) -> JsonObject:
    """The request in the form that the model takes."""
    body, wanted = case.body, as_str(as_dict(case.body.get("tool_choice")).get("name"))
    return model_request(
        body,
        model=case.model,
        limit=body.get("max_output_tokens"),
        messages=_messages(case.items),
        tools=[(name, _schema(tool)) for name, tool in case.tools.items()],
        chosen=next((name for name, tool in case.tools.items() if tool.name == wanted), "") if wanted else "",
        schema=as_dict(as_dict(body.get("text")).get("format")).get("schema"),
    )


def _messages(items: tuple[PlacedItem, ...]) -> list[JsonValue]:
    messages: list[JsonValue] = []
    last = ""
    for each in items:
        content: list[JsonValue] = []
        if each.kind.endswith("_output"):
            content = [{"type": "tool_result", "content": text_blocks(each.item.get("output"))}]
        elif each.kind == "message":
            content = text_blocks(each.item.get("content"))
        elif "call_id" in each.item:
            content = [{"type": "tool_use", "id": each.item.get("call_id")}]
        role = _role(each)
        if messages and role == last and role in ("assistant", "results"):
            as_list(as_dict(messages[-1])["content"]).extend(content)
        elif last == "results" and role == "user":
            as_list(as_dict(messages[-1])["content"]).extend(content)
            continue
        elif role:
            messages.append({"role": "user" if role == "results" else role, "content": content})
        last = role or last
    return messages


def _role(each: PlacedItem) -> str:
    """ "" for items that say nothing to the model."""
    if each.is_models and each.kind != "compaction":
        return "assistant"
    if each.kind.endswith("_output"):
        return "results"
    if each.kind == "message":
        return "user" if each.item.get("role") == "user" else "system"
    return ""


def _schema(tool: OfferedTool) -> JsonObject:
    if tool.kind == "function":
        return as_dict(tool.tool.get("parameters"))
    written: JsonObject = {"type": "string", "default": _FREEFORM.get(tool.name, "hello")}
    return {"type": "object", "properties": {"input": written}, "required": ["input"]}
