"""A tool conversation with LangChain's ChatOpenAI: stream, run the tools, send the messages back.

Standard input: {url, key, model, prompts, api}; standard output: {answers, proofs, stops}. `api` is `chat`, `responses`, or
`stored`, where each request names the answer before it.
"""

import json
import subprocess
import sys
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

GIVEN = json.load(sys.stdin)
WAYS: dict[str, dict[str, Any]] = {
    "chat": {"use_responses_api": False, "reasoning_effort": "medium"},
    "responses": {
        "use_responses_api": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto"},
    },
    "stored": {
        "use_responses_api": True,
        "use_previous_response_id": True,
        "reasoning": {"effort": "medium", "summary": "auto"},
    },
}


@tool
def run(command: str) -> str:
    """Run a shell command."""
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def answer(model: Any, messages: list[BaseMessage]) -> AIMessage:
    whole: AIMessageChunk | None = None
    for chunk in model.stream(messages):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return whole


def main() -> None:
    address: Any = {"base_url": f"{GIVEN['url']}/v1", "api_key": GIVEN["key"]}
    model = ChatOpenAI(model=GIVEN["model"], **address, **WAYS[GIVEN["api"]]).bind_tools([run])
    said: dict[str, list[Any]] = {"answers": [], "proofs": [], "stops": []}
    messages: list[BaseMessage] = []
    for prompt in GIVEN["prompts"]:
        messages.append(HumanMessage(prompt))
        messages.append(answer(model, messages))
        while messages[-1].tool_calls:
            messages += [ToolMessage(run.invoke(call["args"]), tool_call_id=call["id"]) for call in messages[-1].tool_calls]
            messages.append(answer(model, messages))
        said["answers"].append(messages[-1].text)
    contents = [message.content for message in messages if isinstance(message.content, list)]
    said["proofs"] = [part["encrypted_content"] for parts in contents for part in parts if part.get("type") == "reasoning"]
    json.dump(said, sys.stdout)


main()
