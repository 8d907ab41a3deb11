"""A tool conversation with `openai`, as its README shows it: stream, run the tools, send back what came.

Standard input: {url, key, model, prompts, api}; standard output: {answers, proofs, stops}. `api` is `chat`, `responses`, or
`stored`, where each request names the answer before it and sends only what is new. `whole` asks for answers in one piece.
"""

import json
import subprocess
import sys
from typing import Any

from openai import OpenAI

GIVEN = json.load(sys.stdin)
CLIENT = OpenAI(base_url=f"{GIVEN['url']}/v1", api_key=GIVEN["key"])
SAID: dict[str, list[Any]] = {"answers": [], "proofs": [], "stops": []}
SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
    "additionalProperties": False,
}
TOOL = {"name": "run", "description": "Run a shell command.", "parameters": SCHEMA, "strict": True}


def run(arguments: str) -> str:
    command = json.loads(arguments)["command"]
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def completion(messages: list[Any]) -> Any:
    asked: Any = {"model": GIVEN["model"], "messages": messages, "tools": [{"type": "function", "function": TOOL}]}
    asked["reasoning_effort"] = "medium"
    if GIVEN.get("whole"):
        return CLIENT.chat.completions.create(**asked)
    with CLIENT.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


def chat() -> None:
    messages: list[Any] = []
    for prompt in GIVEN["prompts"]:
        messages.append({"role": "user", "content": prompt})
        while True:
            [choice] = completion(messages).choices
            message = choice.message.model_dump()
            messages.append(message)
            SAID["proofs"].append(message.get("reasoning_content") or "")
            SAID["stops"].append(choice.finish_reason)
            if choice.finish_reason != "tool_calls":
                break
            for call in choice.message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": run(call.function.arguments)})
        SAID["answers"].append(message["content"])


def response(given: list[Any], previous: str | None) -> Any:
    asked: Any = {"model": GIVEN["model"], "input": given, "tools": [{"type": "function", **TOOL}]}
    asked["reasoning"] = {"effort": "medium", "summary": "auto"}
    if GIVEN["api"] == "stored":
        asked["previous_response_id"] = previous
    else:
        asked |= {"store": False, "include": ["reasoning.encrypted_content"]}
    if GIVEN.get("whole"):
        return CLIENT.responses.create(**asked)
    with CLIENT.responses.stream(**asked) as stream:
        return stream.get_final_response()


def responses() -> None:
    given: list[Any] = []
    previous: str | None = None
    for prompt in GIVEN["prompts"]:
        given.append({"role": "user", "content": prompt})
        while True:
            heard = response(given, previous)
            previous = heard.id
            given = [] if GIVEN["api"] == "stored" else [*given, *heard.output]
            SAID["proofs"] += [item.encrypted_content for item in heard.output if item.type == "reasoning"]
            SAID["stops"].append(heard.status)
            calls = [item for item in heard.output if item.type == "function_call"]
            if not calls:
                break
            for call in calls:
                given.append({"type": "function_call_output", "call_id": call.call_id, "output": run(call.arguments)})
        SAID["answers"].append(heard.output_text)


chat() if GIVEN["api"] == "chat" else responses()
json.dump(SAID, sys.stdout)
