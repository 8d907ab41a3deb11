"""The small fields of a request: limits, sampling, who asks, thinking, and the form of the answer."""

from __future__ import annotations

import hashlib
from typing import Final

from msgspec import Raw

from clew.dialects.openai.effort import EffortFields, merged
from clew.dialects.openai.fields import INTEGER, RawObject, RequestChanges
from clew.dialects.openai.tool_schemas import is_closed, schema_to_send
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.errors import RequestInvalid, Unrepresentable
from clew.model.json import JsonObject, object_of, text_of

ENCRYPTED: Final = "reasoning.encrypted_content"
SCHEMA_NAME: Final = "answer"
"""A schema must have a name; the client gave none."""

AT_MOST = "this backend says at most {} tokens at once"
AT_LEAST = "this backend takes no fewer than {} tokens"
NO_SAMPLING = "this backend does not take it"
NO_STOPS = "this API has no stop sequences"
NO_TOP_K = "this API has no top_k"
NOT_TOLD = "this backend is not told who asks"
TOO_LONG = "longer than this backend takes; its SHA-256 stands for it"
NO_SCHEMA = "this backend does not take a schema for its answer"
NOT_HELD = "it is asked for, not held to: that takes objects that require all their properties and allow no others"
ANY_JSON = "this backend promises JSON, but not this schema"
NO_SUMMARY = "this backend gives no summary of its thoughts"


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


def user_field(parameters: RawObject, options: ResponsesOptions, changes: RequestChanges) -> dict[str, object]:
    """Who asks. A long name (Claude Code's holds a device and a session) goes as its hash."""
    metadata = parameters.object("metadata")
    changes.leave_out_unknown("metadata", metadata.fields, {"user_id"})
    name = metadata.string("user_id")
    if name and not options.user:
        changes.leave_out("metadata.user_id", NOT_TOLD)
    if not name or not options.user:
        return {}
    if len(name) > options.user_length:
        changes.add("metadata.user_id", "replaced", TOO_LONG)
        name = hashlib.sha256(name.encode()).hexdigest()[: options.user_length]
    return {options.user: name}


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
    config = parameters.object("output_config")
    changes.leave_out_unknown("output_config", config.fields, {"effort", "format"})
    form = config.object("format")
    if not form.fields:
        return None
    changes.leave_out_unknown(form.path, form.fields, {"type", "schema"})
    if form.type != "json_schema":
        raise Unrepresentable(f"{form.path}: an answer of type {form.type!r} cannot be asked of this backend")
    if options.schema == "none":
        changes.leave_out(form.path, NO_SCHEMA)
        return None
    if options.schema == "json_object":
        changes.add(form.path, "replaced", ANY_JSON)
        return {"type": "json_object"}
    path = f"{form.path}.schema"
    if "schema" not in form.fields:
        raise RequestInvalid(f"{path}: Field required", path=path)
    given = form.fields["schema"]
    schema = schema_to_send(given, path, options.validator, changes) or {"type": "object"}
    strict = is_closed(given, path)
    if not strict:
        changes.add(path, "replaced", NOT_HELD)
    return {"type": "json_schema", "name": SCHEMA_NAME, "schema": schema, "strict": strict}
