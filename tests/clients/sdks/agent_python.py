"""A tool conversation with `claude-agent-sdk`: its own Claude Code, and a tool that lives in this process.

Standard input: {url, key, model, prompts}, and `models` to change to before each prompt. Standard output: {answers, proofs,
stops}.
"""

import asyncio
import json
import subprocess
import sys
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    ThinkingBlock,
    create_sdk_mcp_server,
    tool,
)


@tool("run", "Run a shell command.", {"command": str})
async def run(given: dict[str, Any]) -> dict[str, Any]:
    done = await asyncio.to_thread(subprocess.run, given["command"], shell=True, check=True, capture_output=True, text=True)
    return {"content": [{"type": "text", "text": done.stdout}]}


async def main() -> None:
    given = json.load(sys.stdin)
    options = ClaudeAgentOptions(
        model=given["model"],
        mcp_servers={"shell": create_sdk_mcp_server("shell", tools=[run])},
        allowed_tools=["mcp__shell__run"],
        env={"ANTHROPIC_BASE_URL": given["url"], "ANTHROPIC_AUTH_TOKEN": given["key"], "ENABLE_TOOL_SEARCH": "false"},
    )
    said: dict[str, list[Any]] = {"answers": [], "proofs": [], "stops": []}
    async with ClaudeSDKClient(options) as client:
        for turn, prompt in enumerate(given["prompts"]):
            if "models" in given:
                await client.set_model(given["models"][turn])
            await client.query(prompt)
            async for message in client.receive_response():
                hear(message, said)
    json.dump(said, sys.stdout)


def hear(message: object, said: dict[str, list[Any]]) -> None:
    if isinstance(message, AssistantMessage):
        said["proofs"] += [block.signature for block in message.content if isinstance(block, ThinkingBlock)]
    if isinstance(message, ResultMessage):
        said["answers"].append(message.result)
        said["stops"].append(message.subtype)


asyncio.run(main())
