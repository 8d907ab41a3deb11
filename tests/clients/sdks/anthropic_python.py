"""A tool conversation with `anthropic`, as its README shows it: stream, run the tools, send the whole message back.

It runs in the process of the tests: to import `anthropic` costs two seconds, and one conversation next to nothing.
"""

import subprocess
from pathlib import Path
from typing import Any

import anthropic

TOOL: Any = {
    "name": "run",
    "description": "Run a shell command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


def converse(given: dict[str, Any], home: Path) -> dict[str, list[Any]]:
    """`given` is {url, key, model, prompts}, and `whole` to have answers in one piece."""
    plain = anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(base_url=given["url"], api_key=given["key"], max_retries=0, http_client=plain) as client:
        heard, answers = _held(client, given, home)
    blocks = [block for message in heard for block in message.content]
    proofs = [block.signature if block.type == "thinking" else block.data for block in blocks if "thinking" in block.type]
    stops = [message.stop_reason for message in heard]
    shown = [[block.model_dump(mode="json") for block in message.content] for message in heard]
    return {"answers": answers, "proofs": proofs, "stops": stops, "blocks": shown}


def _held(client: anthropic.Anthropic, given: dict[str, Any], home: Path) -> tuple[list[Any], list[str]]:
    """Each message, and the last text for each prompt."""
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
                {"role": "user", "content": [result(block, home) for block in message.content if block.type == "tool_use"]}
            )
        answers.append("".join(block.text for block in message.content if block.type == "text"))
    return heard, answers


def answer(client: anthropic.Anthropic, given: dict[str, Any], messages: list[Any]) -> Any:
    thinking: Any = {"type": "adaptive", "display": "summarized"}
    asked = {"model": given["model"], "max_tokens": 4096, "thinking": thinking, "tools": [TOOL], "messages": messages}
    if given.get("whole"):
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def result(block: Any, home: Path) -> dict[str, str]:
    done = subprocess.run(block.input["command"], shell=True, cwd=home, check=True, capture_output=True, text=True)
    return {"type": "tool_result", "tool_use_id": block.id, "content": done.stdout}
