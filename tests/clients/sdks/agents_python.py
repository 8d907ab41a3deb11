"""A tool conversation with OpenAI's Agents SDK, which runs the tools and the loop by itself.

Standard input: {url, key, model, prompts, api}; standard output: {answers, proofs, stops}. `api` is `chat`, `responses` (items
go back whole) or `stored` (each request names the answer before it).
"""

import asyncio
import json
import subprocess
import sys
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

GIVEN = json.load(sys.stdin)


@function_tool
async def run(command: str) -> str:
    """Run a shell command."""
    done = await asyncio.to_thread(subprocess.run, command, shell=True, check=True, capture_output=True, text=True)
    return done.stdout


def agent() -> Agent[Any]:
    client = AsyncOpenAI(base_url=f"{GIVEN['url']}/v1", api_key=GIVEN["key"])
    kind = OpenAIChatCompletionsModel if GIVEN["api"] == "chat" else OpenAIResponsesModel
    settings = ModelSettings(reasoning=Reasoning(effort="medium", summary="auto"))
    if GIVEN["api"] == "responses":
        settings = settings.resolve(ModelSettings(store=False, response_include=["reasoning.encrypted_content"]))
    return Agent(name="one", model=kind(GIVEN["model"], client), model_settings=settings, tools=[run])


async def main() -> None:
    set_tracing_disabled(True)
    said: dict[str, list[Any]] = {"answers": [], "proofs": [], "stops": []}
    one, items, previous = agent(), [], None
    for prompt in GIVEN["prompts"]:
        given = [*items, {"role": "user", "content": prompt}]
        stored = {"previous_response_id": previous, "auto_previous_response_id": True} if GIVEN["api"] == "stored" else {}
        result = Runner.run_streamed(one, given, max_turns=20, **stored)
        async for _ in result.stream_events():
            pass
        heard = [item for response in result.raw_responses for item in response.output]
        said["proofs"] += [item.encrypted_content for item in heard if item.type == "reasoning"]
        said["answers"].append(result.final_output)
        items = [] if stored else result.to_input_list()
        previous = result.last_response_id
    json.dump(said, sys.stdout)


asyncio.run(main())
