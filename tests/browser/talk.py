"""A client that talks through the gateway while a browser looks: the official SDK, as a user would use it."""

from typing import Any

import anthropic

from tests.gateway.served import KEY, Served

MODEL = "claude-opus-5-5"
WEATHER = {
    "name": "weather",
    "description": "The weather of a town.",
    "input_schema": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
}


class Talk:
    """One conversation. It sends back all that it got, thinking too."""

    def __init__(self, gateway: Served, *, session: str = "", agent: str = "", tools: bool = False) -> None:
        headers = {"x-claude-code-session-id": session} if session else {}
        headers |= {"x-claude-code-agent-id": agent} if agent else {}
        self.client = anthropic.Anthropic(base_url=gateway.url, api_key=KEY, max_retries=0, default_headers=headers)
        self.messages: list[Any] = []
        self._more = {"tools": [WEATHER]} if tools else {}

    def say(self, words: Any) -> Any:
        """The answer, streamed to its end."""
        self.messages.append({"role": "user", "content": words})
        thinking: Any = {"type": "adaptive", "display": "summarized"}
        with self.client.messages.stream(
            model=MODEL, max_tokens=4000, thinking=thinking, messages=self.messages, **self._more
        ) as stream:
            answer = stream.get_final_message()
        self.messages.append({"role": "assistant", "content": answer.content})
        return answer

    def bring(self, answer: Any, words: str) -> Any:
        """What the tools gave back."""
        calls = [block for block in answer.content if block.type == "tool_use"]
        return self.say([{"type": "tool_result", "tool_use_id": call.id, "content": words} for call in calls])

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
