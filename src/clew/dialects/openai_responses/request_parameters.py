"""The small fields of a request: limits, sampling, who asks, thinking, the form of the answer; and its tools."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from clew.dialects.openai.effort import EffortFields, merged
from clew.dialects.openai.fields import INTEGER, RawObject, RawRequest, RequestChanges
from clew.dialects.openai.parameters import answer_schema, is_legal_name, is_strict, tool_name, tools_to_send
from clew.dialects.openai.schemas import ANY_OBJECT, schema_to_send
from clew.dialects.openai_responses.detail import ResponsesDetail
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.model.json import JsonObject, object_of, text_of

ENCRYPTED: Final = "reasoning.encrypted_content"

AT_MOST = "this backend allows at most {} tokens for an answer"
AT_LEAST = "this backend needs at least {} tokens"
NO_SAMPLING = "this backend does not take it"
NO_STOPS = "this API has no stop sequences"
NO_TOP_K = "this API has no top_k"
NO_SUMMARY = "this backend gives no summary of its thinking"


def max_tokens_of(parameters: RawObject, options: ResponsesOptions) -> int | None:
    """As many as the client asks for, within what the backend takes."""
    given = parameters.value("max_tokens", INTEGER)
    if given is None:
        return None
    most = min(given, options.most_tokens) if options.most_tokens else given
    return max(most, options.least_tokens)


def length_field(parameters: RawObject, options: ResponsesOptions, changes: RequestChanges) -> dict[str, object]:
    if (given := parameters.value("max_tokens", INTEGER)) is None:
        return {}
    sent = max_tokens_of(parameters, options)
    if sent == given:
        return {"max_output_tokens": parameters.fields["max_tokens"]}
    changes.add("max_tokens", "replaced", (AT_MOST if given > (sent or 0) else AT_LEAST).format(sent))
    return {"max_output_tokens": sent}


def sampling(parameters: RawObject, options: ResponsesOptions, changes: RequestChanges) -> dict[str, object]:
    """Each number as the client wrote it."""
    fields = parameters.fields
    if "top_k" in fields:
        changes.leave_out("top_k", NO_TOP_K)
    if "stop_sequences" in fields and fields["stop_sequences"] != Raw(b"[]"):
        changes.leave_out("stop_sequences", NO_STOPS)
    given = {name: fields[name] for name in ("temperature", "top_p") if name in fields}
    if not options.sampling:
        for name in given:
            changes.leave_out(name, NO_SAMPLING)
        return {}
    return dict(given)


def include_field(own: list[str], options: ResponsesOptions) -> list[str]:
    """What the answer is to hold besides: what the client wants, and what a thought is given back with."""
    wanted = [each for each in own if each != ENCRYPTED or options.encrypted]
    return wanted if ENCRYPTED in wanted or not options.encrypted else [*wanted, ENCRYPTED]


def reasoning_field(
    effort: EffortFields, shown: str, own: JsonObject, options: ResponsesOptions, changes: RequestChanges
) -> JsonObject:
    """`reasoning`: the effort, a summary, and what else a client of this dialect says there. `shown` is Anthropic's word for
    what is shown of the thoughts."""
    said = text_of(own.get("summary"))
    if said and not options.summary:
        changes.leave_out("reasoning.summary", NO_SUMMARY)
    summary = "" if not options.summary or effort.thinks is False else said
    if not summary and options.summary not in ("", "as asked") and effort.thinks is not False and shown != "omitted":
        summary = options.summary
    rest: JsonObject = {key: value for key, value in own.items() if key not in ("effort", "summary")}
    field = merged(rest, object_of(effort.fields.get("reasoning")))
    return field | ({"summary": summary} if summary else {})


def answer_format(parameters: RawObject, options: ResponsesOptions, changes: RequestChanges) -> dict[str, object] | None:
    """The schema that the answer must fit."""
    found = answer_schema(parameters, options, changes)
    return {"type": found} if found == "json_object" else found and {"type": "json_schema", **found}


# Tools. A client of this dialect has its tools sent as it offered them, where the backend knows their kinds. All others are
# functions.


UNKNOWN_KIND = "this backend does not know this kind of tool"


def may_go_as_offered(detail: ResponsesDetail, options: ResponsesOptions) -> bool:
    """Whether the backend knows every kind of tool that the client offers, and takes its name. (Functions can be renamed;
    others would no longer be what they are.)"""
    known = {
        "function": True,
        "custom": options.custom_tools,
        "namespace": options.namespaces,
        "additional_tools": options.namespaces,
    }
    if detail.tool_kinds <= {"function"} and not all(is_legal_name(tool.name) for tool in detail.tools.values()):
        return False
    return all(known.get(kind, options.own_items) for kind in detail.tool_kinds)


def write_tools(given: RawRequest, options: ResponsesOptions, changes: RequestChanges) -> list[dict[str, object]]:
    """The tools as functions."""
    functions: list[dict[str, object]] = []
    for tool in tools_to_send(given, changes):
        changes.leave_out_unknown(tool.path, tool.fields, {"type", "name", "description", "input_schema", "strict"})
        name = tool_name(tool.string("name"), f"{tool.path}.name", changes)
        function: dict[str, object] = {"type": "function", "name": name}
        if description := tool.string("description"):
            function["description"] = description
        schema, path = tool.fields.get("input_schema", ANY_OBJECT), f"{tool.path}.input_schema"
        function["parameters"] = schema_to_send(schema, path, options.validator, changes) or None
        function["strict"] = is_strict(tool, schema, options, changes)  # left out, the server would try to be strict
        functions.append(function)
    return functions
