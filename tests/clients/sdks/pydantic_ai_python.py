"""A tool conversation with pydantic-ai, which runs the tools and the loop by itself.

Standard input: {url, key, model, prompts, api}; standard output: {answers, proofs, stops}. `api` is `chat`, `responses`, or
`stored`, where each request names the answer before it.
"""

import json
import subprocess
import sys
from collections.abc import AsyncIterable
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelResponse, ThinkingPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

GIVEN = json.load(sys.stdin)
SETTINGS: dict[str, Any] = {"openai_reasoning_effort": "medium"}
if GIVEN["api"] != "chat":
    SETTINGS["openai_reasoning_summary"] = "auto"
if GIVEN["api"] == "responses":
    SETTINGS["openai_store"] = False
if GIVEN["api"] == "stored":
    SETTINGS["openai_previous_response_id"] = "auto"


def run(command: str) -> str:
    """Run a shell command."""
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


async def watch(context: RunContext[Any], events: AsyncIterable[Any]) -> None:
    """With somebody who watches it, it streams."""
    async for _ in events:
        pass


def main() -> None:
    provider = OpenAIProvider(base_url=f"{GIVEN['url']}/v1", api_key=GIVEN["key"])
    kind = OpenAIChatModel if GIVEN["api"] == "chat" else OpenAIResponsesModel
    agent = Agent(kind(GIVEN["model"], provider=provider), tools=[run], model_settings=SETTINGS)
    said: dict[str, list[Any]] = {"answers": [], "proofs": [], "stops": []}
    history: list[Any] = []
    for prompt in GIVEN["prompts"]:
        result = agent.run_sync(prompt, message_history=history, event_stream_handler=watch)
        history = result.all_messages()
        said["answers"].append(result.output)
    answers = [message for message in history if isinstance(message, ModelResponse)]
    said["proofs"] = [part.signature for each in answers for part in each.parts if isinstance(part, ThinkingPart)]
    said["stops"] = [message.finish_reason for message in answers]
    json.dump(said, sys.stdout)


main()
