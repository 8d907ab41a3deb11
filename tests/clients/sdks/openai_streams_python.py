"""Streams with `openai`: each prompt is a conversation of its own, and what the SDK made of the stream is told.

Standard input: {url, key, model, prompts}; standard output: a list of {status, output}, or {error}.
"""

import json
import sys
from typing import Any

from openai import OpenAI, OpenAIError

GIVEN = json.load(sys.stdin)
CLIENT = OpenAI(base_url=f"{GIVEN['url']}/v1", api_key=GIVEN["key"], max_retries=0)
TOOLS = [{"type": "function", "name": name, "parameters": None, "strict": False} for name in GIVEN["tools"]]


def heard(prompt: str) -> Any:
    asked: Any = {"model": GIVEN["model"], "input": prompt, "tools": TOOLS, "store": False}
    try:
        with CLIENT.responses.stream(**asked, reasoning={"effort": "medium", "summary": "auto"}) as stream:
            events = list(stream)
            # The SDK itself raises for a response that is incomplete.
            cut = events[-1].type == "response.incomplete"
            response = events[-1].response if cut else stream.get_final_response()
    except (OpenAIError, RuntimeError) as error:
        return {"error": str(error)}
    assert response.output_text == "".join(event.delta for event in events if event.type == "response.output_text.delta")
    return {"status": response.status, "output": [item.model_dump() for item in response.output]}


json.dump([heard(prompt) for prompt in GIVEN["prompts"]], sys.stdout)
