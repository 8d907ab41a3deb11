"""A tool conversation with `anthropic`, as its README shows it: stream, run the tools, send the whole message back.

Standard input: {url, key, model, prompts}, and `whole` to have answers in one piece. Standard output: {answers, proofs, stops,
blocks}.
"""

import json
import subprocess
import sys
from typing import Any

import anthropic

TOOL: Any = {
    "name": "run",
    "description": "Run a shell command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


def main() -> None:
    given = json.load(sys.stdin)
    client = anthropic.Anthropic(base_url=given["url"], api_key=given["key"], max_retries=0)
    messages: list[Any] = []
    heard: list[Any] = []
    answers: list[str] = []
    for prompt in given["prompts"]:
        messages.append({"role": "user", "content": prompt})
        while True:
            message = answer(client, given, messages)
            heard.append(message)
            messages.append({"role": "assistant", "content": message.content})
            if message.stop_reason != "tool_use":
                break
            messages.append(
                {"role": "user", "content": [result(block) for block in message.content if block.type == "tool_use"]}
            )
        answers.append("".join(block.text for block in message.content if block.type == "text"))
    blocks = [block for message in heard for block in message.content]
    proofs = [block.signature if block.type == "thinking" else block.data for block in blocks if "thinking" in block.type]
    stops = [message.stop_reason for message in heard]
    shown = [[block.model_dump(mode="json") for block in message.content] for message in heard]
    json.dump({"answers": answers, "proofs": proofs, "stops": stops, "blocks": shown}, sys.stdout)


def answer(client: anthropic.Anthropic, given: dict[str, Any], messages: list[Any]) -> Any:
    thinking: Any = {"type": "adaptive", "display": "summarized"}
    asked = {"model": given["model"], "max_tokens": 4096, "thinking": thinking, "tools": [TOOL], "messages": messages}
    if given.get("whole"):
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def result(block: Any) -> dict[str, str]:
    done = subprocess.run(block.input["command"], shell=True, check=True, capture_output=True, text=True)
    return {"type": "tool_result", "tool_use_id": block.id, "content": done.stdout}


main()
